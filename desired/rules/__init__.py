"""Rules: the rows of everything that is said of a decision, by the object that it is about.

Begin with ``rule``, then read the tables: ``guards``.
"""
