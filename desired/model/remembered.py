"""Memory of a cluster's project while its anchor holds: ids that exist in no other project; and of refused log-ins.

Any client that may write into the ConfigMap may name another project's ids, so that what is remembered is a witness and
no more: it never overrules Ready Nodes that are not found.
"""

from dataclasses import dataclass
from datetime import datetime

MOST_REMEMBERED = 100
"""Ids of load balancers that are remembered: any one of them is enough."""


@dataclass(frozen=True, slots=True)
class Remembered:
    """Ids that were seen in the cluster's own project."""

    network: int | None = None
    load_balancers: tuple[int, ...] = ()
    """Sorted, at most ``MOST_REMEMBERED``."""


NOTHING = Remembered()


@dataclass(frozen=True, slots=True)
class RefusedLogin:
    """One log-in that Robot refused."""

    tag: str
    """Four digits of a slow hash: they tell it from others, and do not tell the password."""
    at: datetime
