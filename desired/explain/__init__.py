"""Explanations of one Node or Service: they read what the rules decided, and decide nothing.

Read ``objects`` first, then ``node`` and ``service``; a line is a ``fact``.
"""
