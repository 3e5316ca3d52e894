"""Annotations of Services: the one table of them, their grammar, and the checks of their values.

Read ``table`` first, then ``options``.
"""
