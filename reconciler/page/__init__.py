"""The page: what runs where, what would change and why it waits, as one HTML document without foreign parts.

``page`` has its contents. ``page.html`` is its template, with ``style.css`` in it and the policy that lets nothing else
in. ``map`` has the rows of Services, Nodes and routes. ``live`` answers requests while passes go on, and loads ``page``
with the first one.
"""
