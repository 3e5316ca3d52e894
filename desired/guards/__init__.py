"""Guards: rules that withhold changes of a plan, one module for each family, and the one judge.

Read ``facts`` (what a guard looks at and returns), then ``table`` (all of them), then ``judge``.
"""
