"""Memory of a cluster's project while its anchor holds: ids that exist in no other project.

It is kept in the product's ConfigMap, key ``anchor``, as JSON with a version and the cluster's UID. Whoever may write
there may name another project's ids, so that what is remembered is a witness and no more: it never overrules Ready
Nodes that are not found. A value that we would not write, or of another cluster, remembers nothing.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from desired.model.record import format_record, parse_record

KEY = "anchor"
"""In the ConfigMap."""
MOST = 100
"""Ids of load balancers that are remembered: any one of them is enough."""
_LONGEST = 4096
"""Characters that are looked at; ``MOST`` ids of 19 digits take 2,300."""
_LARGEST_ID = 2**63 - 1


@dataclass(frozen=True, slots=True)
class Remembered:
    """Ids that were seen in the cluster's own project."""

    network: int | None = None
    load_balancers: tuple[int, ...] = ()
    """Sorted, at most ``MOST``."""


NOTHING = Remembered()


def format_remembered(remembered: Remembered, cluster_uid: str) -> str:
    """The value in the ConfigMap."""
    fields = {"network": remembered.network, "load_balancers": list(remembered.load_balancers)}
    return format_record(cluster_uid, fields)


def parse_remembered(text: str | None, cluster_uid: str) -> Remembered:
    """Parse the value in the ConfigMap; NOTHING where it is missing, malformed, too long or of another cluster."""
    return parse_record(text, cluster_uid, _LONGEST, _remembered) or NOTHING


def _remembered(fields: Mapping[str, Any]) -> Remembered:
    network = None if fields["network"] is None else _id(fields["network"])
    found = tuple(sorted({_id(value) for value in fields["load_balancers"]}))
    return Remembered(network, found[:MOST])


def _id(value: object) -> int:
    """An id of Hetzner's. Raises ValueError for anything else."""
    if type(value) is not int or not 0 < value <= _LARGEST_ID:
        raise ValueError(f"{value!r} is no id")
    return value
