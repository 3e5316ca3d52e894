"""Actions on existing routes: whether each is kept, removed, left alone, or decided by the Node of its pods."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from ipaddress import IPv4Network

from desired.model.route import DEFAULT_ROUTE, Route
from desired.model.snapshot import Snapshot
from desired.routes.endpoints import Reach
from desired.routes.owners import AddressHolding, AddressOwner, RoutedNetwork
from desired.rules import routes as rules
from desired.rules.rule import Decided, Plain
from desired.syntax.bounds import named


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
    decided: Decided[RouteAction]
    holder: AddressOwner | None = None
    """The owner of its gateway; None if that does not matter."""
    node: str | None = None
    """Name of the Node that has the pods, or else the gateway, of a route that goes; None when none has."""

    @property
    def action(self) -> RouteAction:
        """What becomes of it."""
        return self.decided.value

    @property
    def goes(self) -> bool:
        """Whether it should not exist."""
        return self.action in GOING

    @property
    def why(self) -> str:
        """One sentence for people: why it is left, or removed."""
        return self.decided.text


def route_decisions(routed: RoutedNetwork) -> Mapping[IPv4Network, RouteDecision]:
    """Destination → the decision on the route to it, in the order of destinations."""
    routes = sorted(routed.routes, key=lambda route: route.destination)
    return {route.destination: _decided(route, routed) for route in routes}


def _decided(route: Route, routed: RoutedNetwork) -> RouteDecision:
    claimants, nodes = routed.claimants.get(route.destination, ()), routed.snapshot.nodes
    if route.destination == DEFAULT_ROUTE:  # also if it is within the configured cluster CIDR
        return RouteDecision(route, Decided(RouteAction.FOREIGN, rules.ROUTE_BY_DEFAULT))
    # A server that has left the network may come back with its address, and then its route has to be there.
    if any(endpoint.reach is not Reach.GONE for endpoint in claimants):
        return RouteDecision(route, Decided(RouteAction.CLAIMED, rules.ROUTE_OF_NODE))
    if not route.destination.subnet_of(routed.cluster_cidr):
        facts = {"cidr": str(routed.cluster_cidr)}
        if claimants:
            return RouteDecision(route, Decided(RouteAction.CLAIMED, rules.ROUTE_OUTSIDE_OF_NODE, facts))
        return RouteDecision(route, Decided(RouteAction.FOREIGN, rules.ROUTE_OUTSIDE, facts))
    holder = routed.owner_of(route.gateway)
    if holder.is_black_hole and (claimants or not nodes.unreadable):
        node = next((endpoint.node.name for endpoint in claimants), None)
        is_free = holder.holding is AddressHolding.NO_OWNER
        row = rules.ROUTE_TO_NO_OWNER if is_free else rules.ROUTE_TO_OUR_BALANCER
        dead = Decided(RouteAction.DEAD, row, {"owner": holder.what})
        return RouteDecision(route, dead, holder, node)
    if claimants:
        return RouteDecision(route, Decided(RouteAction.CLAIMED, rules.ROUTE_OF_NODE), holder)
    decided = _unclaimed(route, holder, routed)
    return RouteDecision(route, decided, holder, holder.node if decided.value in GOING else None)


def _unclaimed(route: Route, holder: AddressOwner, routed: RoutedNetwork) -> Decided[RouteAction]:
    """A route within the cluster CIDR to pods that no Node has, by a gateway that has an owner, or that a Node may have
    that could not be read."""
    facts: dict[str, Plain] = {
        "owner": holder.what,
        "size": route.destination.prefixlen,
        "destination": str(route.destination),
    }
    if holder.unknown is not None:
        return holder.unknown.deciding(RouteAction.UNCERTAIN)
    if holder.is_black_hole:
        return _of_unreadable(routed.snapshot)
    if holder.holding not in (AddressHolding.NODE, AddressHolding.SERVER):
        return Decided(RouteAction.FOREIGN, rules.ROUTE_TO_OTHER, facts)
    if holder.holding is AddressHolding.SERVER and route.destination.prefixlen not in routed.masks:
        return Decided(RouteAction.FOREIGN, rules.ROUTE_OF_OTHER_SIZE, facts)
    if not routed.masks:
        return Decided(RouteAction.FOREIGN, rules.ROUTE_WITHOUT_PODS, facts)
    if routed.snapshot.nodes.unreadable:
        return _of_unreadable(routed.snapshot)
    action = RouteAction.SUPERFLUOUS if holder.holding is AddressHolding.NODE else RouteAction.STRANGER
    return Decided(action, rules.ROUTE_UNNEEDED, facts)


def _of_unreadable(snapshot: Snapshot) -> Decided[RouteAction]:
    """A Node that could not be read may have the pods."""
    nodes = {"nodes": named("Node", sorted(snapshot.nodes.unreadable))}
    return Decided(RouteAction.UNCERTAIN, rules.ROUTE_OF_UNREADABLE_NODE, nodes)
