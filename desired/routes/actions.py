"""Actions on existing routes: whether each is kept, removed, left alone, or decided by the Node of its pods."""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from ipaddress import IPv4Network

from desired.model.route import DEFAULT_ROUTE, Route
from desired.model.snapshot import Snapshot
from desired.routes.address_owners import AddressHolding, AddressOwner, AddressOwners
from desired.routes.endpoints import NodeEndpoint, Reach, destinations_of, node_masks
from desired.section import Section


class RouteAction(StrEnum):
    """Action on an existing route."""

    CLAIMED = "claimed"
    """It leads to a pod CIDR of a Node, which decides on it."""
    FOREIGN = "foreign"
    """Not ours, or not known to be."""
    UNCERTAIN = "uncertain"
    """Ours perhaps: the reading is incomplete."""
    DEAD = "dead"
    """Ours, and it leads nowhere: removed."""
    SUPERFLUOUS = "superfluous"
    """Ours, and it leads to a Node that does not have these pods: removed."""
    STRANGER = "stranger"
    """Ours by its range, and it leads to an existing server that is no Node: removed if a person approves it."""


GOING = frozenset({RouteAction.DEAD, RouteAction.SUPERFLUOUS, RouteAction.STRANGER})
"""Actions on routes that should not exist."""


@dataclass(frozen=True, slots=True)
class RouteDecision:
    """The decision on one existing route."""

    route: Route
    action: RouteAction
    why: str
    """One sentence for people: why it is left, or removed."""
    holder: AddressOwner | None = None
    """The owner of its gateway; None where that does not matter."""
    node: str | None = None
    """Name of the Node that has the pods, or else the gateway, of a route that goes; None when none has."""


def present_routes(snapshot: Snapshot) -> Section[str, Route]:
    """The existing routes; none where none were read."""
    return Section() if snapshot.routes is None else snapshot.routes


def route_decisions(
    snapshot: Snapshot, cluster_cidr: IPv4Network, endpoints: Iterable[NodeEndpoint], holders: AddressOwners
) -> Mapping[IPv4Network, RouteDecision]:
    """Destination → the decision on the route to it, in the order of destinations."""
    claimants: dict[IPv4Network, list[NodeEndpoint]] = {}
    for endpoint in endpoints:
        for destination in destinations_of(endpoint.node):
            claimants.setdefault(destination, []).append(endpoint)
    masks = node_masks(snapshot.nodes)
    routes = sorted(present_routes(snapshot), key=lambda route: route.destination)
    return {
        route.destination: _decided(route, claimants.get(route.destination, ()), snapshot, cluster_cidr, holders, masks)
        for route in routes
    }


def _decided(
    route: Route,
    claimants: Collection[NodeEndpoint],
    snapshot: Snapshot,
    cluster_cidr: IPv4Network,
    holders: AddressOwners,
    masks: Collection[int],
) -> RouteDecision:
    if route.destination == DEFAULT_ROUTE:  # also where it is within what somebody gave as the cluster CIDR
        return RouteDecision(route, RouteAction.FOREIGN, "it is the default route")
    # A server that has left the network may come back with its address, and then its route has to be there.
    if any(endpoint.reach is not Reach.GONE for endpoint in claimants):
        return RouteDecision(route, RouteAction.CLAIMED, "it leads to the pods of a Node")
    if not route.destination.subnet_of(cluster_cidr):
        action = RouteAction.CLAIMED if claimants else RouteAction.FOREIGN
        return RouteDecision(route, action, f"it is not within the cluster CIDR {cluster_cidr}")
    holder = holders.of(route.gateway)
    if holder.holding is AddressHolding.NOBODY:
        node = next((endpoint.node.name for endpoint in claimants), None)
        return RouteDecision(route, RouteAction.DEAD, f"it leads to {holder.what}", holder, node)
    if claimants:
        return RouteDecision(route, RouteAction.CLAIMED, "it leads to the pods of a Node", holder)
    return _unclaimed(route, holder, snapshot, masks)


def _unclaimed(route: Route, holder: AddressOwner, snapshot: Snapshot, masks: Collection[int]) -> RouteDecision:
    """A route within the cluster CIDR to pods that no Node has, with a gateway that somebody has."""
    leads = f"it leads to {holder.what}"
    if holder.holding is AddressHolding.UNKNOWN:
        return RouteDecision(route, RouteAction.UNCERTAIN, holder.what, holder)
    if holder.holding not in (AddressHolding.NODE, AddressHolding.SERVER):
        return RouteDecision(route, RouteAction.FOREIGN, leads, holder)
    if holder.holding is AddressHolding.SERVER and route.destination.prefixlen not in masks:
        why = f"{leads}, and no Node's pod CIDR is a /{route.destination.prefixlen}"
        return RouteDecision(route, RouteAction.FOREIGN, why, holder)
    if not masks:
        return RouteDecision(route, RouteAction.FOREIGN, f"{leads}, and no Node has a pod CIDR at all", holder)
    if snapshot.nodes.unreadable:
        names = ", ".join(sorted(snapshot.nodes.unreadable))
        return RouteDecision(
            route, RouteAction.UNCERTAIN, f"it may be of Node {names}, which could not be read", holder
        )
    action = RouteAction.SUPERFLUOUS if holder.holding is AddressHolding.NODE else RouteAction.STRANGER
    return RouteDecision(
        route, action, f"{leads}, and no Node has the pod CIDR {route.destination}", holder, holder.node
    )
