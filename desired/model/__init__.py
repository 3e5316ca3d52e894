"""Values of a pass: what was observed of Kubernetes and of Hetzner, and the operator's settings.

Read ``desired.section`` first (present, absent, unknown), then ``snapshot``, then the objects of each API.
"""
