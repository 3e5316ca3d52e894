"""Rules for Nodes: which server each has, and what it should be because of that.

Read ``matching`` first, then ``desired``; ``changes`` compares that with the present state.
"""
