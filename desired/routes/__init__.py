"""Rules for routes to the pods of Nodes: which one each pod CIDR needs, and who owns each existing one.

Read ``claims`` first, then ``desired``, then ``changes``.
"""
