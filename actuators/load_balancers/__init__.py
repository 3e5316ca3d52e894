"""Actuators of load balancers: one function for each kind of change. The list is in ``table``."""
