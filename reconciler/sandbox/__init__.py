"""Simulators of both APIs, for the demo, the tests and any client.

Nothing here imports the product, and of the product only ``reconciler.cli`` imports this package, lazily: a simulator
that shares code with what it judges proves nothing.
"""
