"""A pass's report → text and JSON. Nothing here decides or computes a plan."""
