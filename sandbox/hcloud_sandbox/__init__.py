"""Simulators of Hetzner's APIs and of a small Kubernetes, for demos, tests and any client.

Nothing here imports a program that is tried on them: a simulator that shares code with what it judges proves nothing.
"""

__version__ = "0.1.0"
