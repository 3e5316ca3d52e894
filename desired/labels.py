"""Labels that a Node gets from its server (nodes-and-routes 3.1 and 4.4)."""

from collections.abc import Mapping

from desired.names import LABEL_INSTANCE_TYPE, LABEL_PROVIDED_BY, LABEL_REGION, LABEL_ZONE
from desired.snapshot import Server

_ZONES = {
    "nbg1": "nbg1-dc3",
    "hel1": "hel1-dc2",
    "fsn1": "fsn1-dc14",
    "ash": "ash-dc1",
    "hil": "hil-dc1",
    "sin": "sin-dc1",
}
"""Location → zone. Hetzner took the datacenter out of its API on 2026-07-01; volumes and affinity rules out there still
name the old values, so they are kept for the old locations. A newer location is its own zone."""

OWNED_LABELS = frozenset({*LABEL_INSTANCE_TYPE, *LABEL_ZONE, *LABEL_REGION, LABEL_PROVIDED_BY})
"""The label keys that HCCM writes; every other label is somebody else's and kept byte for byte."""


def zone_of(location: str) -> str:
    """The zone label's value for a Hetzner location."""
    return _ZONES.get(location, location)


def compute_labels(server: Server, current: Mapping[str, str], *, zone_labels: bool) -> Mapping[str, str]:
    """Owned label key → value that a Node on ``server`` gets when it is initialised.

    ``current`` are the Node's labels: instance type, zone and region are overwritten, a ``provided-by`` that somebody
    set is kept. What the server has no value for is not among the result, and stays on the Node as it is.
    """
    pairs = (
        (LABEL_INSTANCE_TYPE, server.type),
        (LABEL_ZONE, zone_of(server.location) if zone_labels else ""),
        (LABEL_REGION, server.location),
    )
    labels = {key: value for keys, value in pairs for key in keys if value}
    return labels | {LABEL_PROVIDED_BY: current.get(LABEL_PROVIDED_BY) or "cloud"}
