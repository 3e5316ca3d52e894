"""Actuators: one module for each kind of object, and ``http`` with the only HTTP in the product."""
