"""Annotations of Services: the options that they ask for, their grammar, and the rules on their values.

Read ``options`` first, then ``reading`` and ``rules``.
"""
