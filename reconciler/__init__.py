"""The shell: reads the world, decides when to run a pass, talks to people.

Everything that computes what should be lives in ``desired``; everything that writes lives in ``actuators``.
"""

__version__ = "0.1.0"
