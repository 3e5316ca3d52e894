"""What people chose, as far as the core's rules look at it. The shell fills it from flags and environment."""

from dataclasses import dataclass
from enum import StrEnum


class AddressFamily(StrEnum):
    """``HCLOUD_INSTANCES_ADDRESS_FAMILY``: which public addresses a Node gets."""

    IPV4 = "ipv4"
    IPV6 = "ipv6"
    DUALSTACK = "dualstack"


class Policy(StrEnum):
    """What a pass may apply: nothing, everything but removals, everything."""

    OBSERVE = "observe"
    UPSERT = "upsert"
    SYNC = "sync"


class Controller(StrEnum):
    """The parts that ``--controllers`` switches on and off, by HCCM's short names."""

    NODE = "cloud-node"
    LIFECYCLE = "cloud-node-lifecycle"
    SERVICE = "service"
    ROUTE = "route"


@dataclass(frozen=True, slots=True)
class Settings:
    """Choices of the operator that change what is planned or what may be applied."""

    address_family: AddressFamily = AddressFamily.IPV4
    zone_labels: bool = True
    """``HCLOUD_INSTANCES_ZONE_LABEL_ENABLED``: False leaves the zone labels of cloud servers away."""
    network: str | None = None
    """``HCLOUD_NETWORK`` as given, an id or a name; None when no private network is used."""
    policy: Policy = Policy.SYNC
    controllers: frozenset[Controller] = frozenset(Controller)
    only: tuple[str, ...] = ()
    """Keys of ``--only``; a key stands for itself and everything below it. Empty means everything."""
