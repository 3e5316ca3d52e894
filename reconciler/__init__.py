"""Runtime: reads both APIs, decides when to run a pass, and reports to people.

The desired state is computed in ``desired``; writes are made in ``actuators``.
"""

__version__ = "0.1.0"
