"""Simulators of the clouds' and the cluster's APIs, for the demo, the tests and anybody's client.

Nothing here imports the product, and of the product only ``reconciler.cli`` imports this package, lazily: a simulator
that shares code with what it judges proves nothing.
"""
