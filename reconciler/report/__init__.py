"""Reports of passes, and the results of other commands, as text, as documents and as Markdown. Nothing here decides or
computes a plan.

Begin with ``documents``, which says how a type becomes JSON, then read ``json_report`` and ``text_report``, and for the
fields of a change ``fields``. ``outline`` says what stands where in a text, ``folding`` which changes stand together;
``markdown`` shows the same on code hosts, and ``yaml_text`` writes documents as YAML. ``explanation_json``,
``explanation_text``, ``orphans`` and ``validation`` show the rest; ``terminal`` writes all of it at the width that it
has. The package ``page`` makes a page of a report, as HTML.
"""
