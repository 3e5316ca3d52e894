"""The guards: what withholds changes of a plan, one module a family, and the one judge.

Read ``facts`` (what a guard looks at and says), then ``table`` (all of them), then ``judge``.
"""
