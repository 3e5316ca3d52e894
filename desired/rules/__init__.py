"""Rules: the rows of everything that is said of a decision, by the object that it is about.

Begin with ``rule``, then read the tables, of which each has the rows of what it is named after.
"""
