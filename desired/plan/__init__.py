"""What a plan is made of: the table of kinds, a change, its order, and what a person approves.

Read ``kinds`` first, then ``change``.
"""
