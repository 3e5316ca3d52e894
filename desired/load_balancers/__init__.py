"""Rules for load balancers of Services: who owns each one, what it should be, and the changes that lead there.

Read ``ownership`` first, then ``desired`` and ``listeners``, then ``changes`` and ``parts``.
"""
