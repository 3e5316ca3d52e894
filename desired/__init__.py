"""The planner: pure functions and frozen values, standard library only, no I/O, no clock, no logging, no randomness."""
