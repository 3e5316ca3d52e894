"""Memory of a cluster's project while its anchor holds: ids that exist in no other project.

Any client that may write into the ConfigMap may name another project's ids, so that what is remembered is a witness and
no more: it never overrules Ready Nodes that are not found.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from desired.model.record import Format

MOST_REMEMBERED = 100
"""Ids of load balancers that are remembered: any one of them is enough."""
_LARGEST_ID = 2**63 - 1


@dataclass(frozen=True, slots=True)
class Remembered:
    """Ids that were seen in the cluster's own project."""

    network: int | None = None
    load_balancers: tuple[int, ...] = ()
    """Sorted, at most ``MOST_REMEMBERED``."""


NOTHING = Remembered()


def _fields(remembered: Remembered) -> Mapping[str, object]:
    return {"network": remembered.network, "load_balancers": list(remembered.load_balancers)}


def _remembered(fields: Mapping[str, Any]) -> Remembered:
    network = None if fields["network"] is None else _id(fields["network"])
    found = tuple(sorted({_id(value) for value in fields["load_balancers"]}))
    return Remembered(network, found[:MOST_REMEMBERED])


def _id(value: object) -> int:
    """An id of Hetzner's. Raises ValueError for anything else."""
    if type(value) is not int or not 0 < value <= _LARGEST_ID:
        raise ValueError(f"{value!r} is no id")
    return value


ANCHOR = Format("anchor", 4096, _fields, _remembered)
"""``MOST_REMEMBERED`` ids of 19 digits take 2,300 characters."""
