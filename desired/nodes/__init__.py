"""Rules for Nodes: whose they are, which server each of them is, and what they should be.

Begin with ``node``, which decides on each Node; it asks ``matching``, ``labels`` and ``addresses``.
"""
