"""Annotations of Services: the one table of them, their grammar, and what is wrong or odd about values.

Read ``table`` first, then ``options``.
"""
