"""Routes of a private network, the members that have addresses in it, and a Node's condition about its routes."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from ipaddress import IPv4Address, IPv4Network
from types import MappingProxyType

from desired.model.key import Key, ObjectKind

MOST_ROUTES = 100
"""Routes that a network may have (Hetzner's limit)."""

DEFAULT_ROUTE = IPv4Network("0.0.0.0/0")
"""The destination that overlaps with no other one, and never leads to pods."""


@dataclass(frozen=True, slots=True, order=True)
class Route:
    """One route of a network: the destination is its identity, and there is one gateway to it."""

    destination: IPv4Network
    gateway: IPv4Address


def route_key(network_id: int, destination: IPv4Network | str) -> Key:
    """A route's key in plans, ``route/4711/10.244.1.0/24``. A destination that could not be read is named as it is
    written."""
    return Key(ObjectKind.ROUTE, network_id, destination)


class MemberKind(StrEnum):
    """Kinds of objects that may be attached to a network (Hetzner Cloud API, network members)."""

    SERVER = "server"
    LOAD_BALANCER = "load_balancer"


@dataclass(frozen=True, slots=True)
class Member:
    """Something that has addresses in a network, or is just getting or losing them."""

    kind: MemberKind
    id: int
    ip: IPv4Address
    alias_ips: tuple[IPv4Address, ...] = ()


CONDITION_NETWORK = "NetworkUnavailable"
"""Type of the Node condition that keeps pods away from a Node without a route: kube-controller-manager makes a taint
of it (Kubernetes core/v1 NodeNetworkUnavailable)."""


@dataclass(frozen=True, slots=True)
class NetworkCondition:
    """The condition ``NetworkUnavailable`` of a Node, as far as it says anything."""

    status: str
    reason: str

    @property
    def message(self) -> str:
        """HCCM's sentence for the reasons that are ours; "" for those of others."""
        return _MESSAGES.get(self.reason, "")

    @property
    def is_ours(self) -> bool:
        """Whether a route controller wrote it, and no network plug-in."""
        return self.reason in _MESSAGES


ROUTED = NetworkCondition("False", "RouteCreated")
"""There is a route for each IPv4 pod CIDR of the Node."""
UNROUTED = NetworkCondition("True", "NoRouteCreated")
"""There is one for which none could be made."""
_MESSAGES: Mapping[str, str] = MappingProxyType(
    {
        ROUTED.reason: "RouteController created a route",
        UNROUTED.reason: "RouteController failed to create a route",
    }
)
