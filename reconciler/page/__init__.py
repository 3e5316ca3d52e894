"""The page: what runs where, what would change and why it waits, as one HTML document without foreign parts.

``page`` says what is on it, and ``page.html`` is its template, with ``style.css`` and ``script.js`` in it and the
policy that lets nothing else in. ``map`` says what leads where, ``bands`` which rows of it are folded, ``picture`` how
it is drawn; ``ring`` remembers the last passes, and ``live`` answers requests while passes go on: it loads ``page``
with the first one.
"""
