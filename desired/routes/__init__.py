"""The rules for routes to the pods of Nodes: which one each pod CIDR needs, and whose each one is that is there.

Read ``claims`` first, then ``desired``, then ``changes``.
"""
