"""The rules for load balancers of Services: whose each one is, what it should be, and the steps that lead there.

Read ``ownership`` first, then ``desired``, then ``changes`` and ``parts``.
"""
