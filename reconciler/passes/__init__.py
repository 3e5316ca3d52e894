"""Passes, and what is remembered from one to the next.

Read ``converge`` first (observe, plan, judge, apply, observe again), then ``rounds``, then ``loop``.
"""
