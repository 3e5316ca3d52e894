"""Reports of passes, and the results of other commands, as text, as documents and as Markdown. Nothing here decides or
computes a plan.

Begin with ``view``, which is what ``text``, ``markdown`` and the page show of a report; ``folding`` says
which changes stand together, ``fields`` what differs between the two sides of one. ``documents`` says how a type
becomes JSON, and ``yaml_text`` writes the same as YAML. ``explanation``, ``orphans``, ``holds``, ``status`` and
``validation`` show the rest; ``terminal`` writes all of it at the width that it has.
"""
