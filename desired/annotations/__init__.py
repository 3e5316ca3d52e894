"""Annotations of Services: the options that they ask for, their grammar, and what cannot be together.

Read ``options`` first, then ``reading`` and ``combinations``.
"""
