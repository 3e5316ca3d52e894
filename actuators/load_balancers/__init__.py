"""The actuators of load balancers: one function for each kind of change of the table in ``table``."""
