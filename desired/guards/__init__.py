"""Guards: rules that withhold changes of a plan, one module for each family, and the one judge.

Read ``guard`` first (what a guard looks at and returns), then ``judge`` (``GUARDS`` lists all of them).
"""
