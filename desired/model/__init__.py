"""The values of a pass: what was observed of Kubernetes and of Hetzner, and what the operator has set.

Read ``desired.section`` first (present, absent, unknown), then ``snapshot``, then the objects of each API.
"""
