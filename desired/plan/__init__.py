"""Plans: the table of kinds, a change, the order of changes, and approvals.

Read ``kinds`` first, then ``change``.
"""
