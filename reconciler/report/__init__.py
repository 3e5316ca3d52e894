"""Reports of passes as text and JSON. Nothing here decides or computes a plan."""
