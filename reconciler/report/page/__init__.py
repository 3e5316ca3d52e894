"""The page: what runs where, what would change and why it waits, as one HTML document without foreign parts.

Begin with ``model``, which says what stands on the page of a report, and is what tests compare with JSON. ``world_map``
has the part of it that shows what leads where. ``markup`` makes HTML that escapes by construction,
``drawing`` the two pictures, ``sections`` each part of the page, ``document`` the whole, with ``style.css`` and
``script.js`` in it and the policy that lets nothing else in. ``ring`` remembers the last passes.
"""
