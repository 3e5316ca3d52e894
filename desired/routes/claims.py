"""Claims of Nodes on routes: for each pod CIDR the route that it needs, and how it stands with it.

``Ranges`` finds overlaps of many ranges without looking at each: thousands of pod CIDRs meet a hundred routes.
"""

from bisect import bisect_left, bisect_right
from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import cached_property
from ipaddress import IPv4Address, IPv4Network

from desired.model.load_balancer import PRIVATE_RANGES
from desired.model.route import DEFAULT_ROUTE, MOST_ROUTES
from desired.routes.actions import RouteAction, RouteDecision
from desired.routes.endpoints import NodeEndpoint, Reach, destinations_of, parse_pod_cidr
from desired.routes.owners import AddressHolding, AddressOwner, RoutedNetwork
from desired.rules import routes as rules
from desired.rules.rule import Decided, Plain

_BITS = 32


class Ranges:
    """A set of ranges. Two of them overlap only if one contains the other, as ranges do."""

    def __init__(self, ranges: Iterable[IPv4Network]) -> None:
        self._ordered = sorted(set(ranges))
        self._starts = [int(each.network_address) for each in self._ordered]
        self._by_place = {(int(each.network_address), each.prefixlen): each for each in self._ordered}
        self._lengths = sorted({each.prefixlen for each in self._ordered})

    def overlapping(self, wanted: IPv4Network) -> list[IPv4Network]:
        """The ranges that overlap with ``wanted``: first those that it is in, then those in it, in order."""
        first, last = int(wanted.network_address), int(wanted.broadcast_address)
        around = []
        for length in self._lengths:
            start = first >> (_BITS - length) << (_BITS - length)
            if length < wanted.prefixlen and start != first and (start, length) in self._by_place:
                around.append(self._by_place[start, length])
        return [*around, *self._ordered[bisect_left(self._starts, first) : bisect_right(self._starts, last)]]


_RESERVED = IPv4Address("172.31.1.1")


class RouteStatus(StrEnum):
    """The status of the route to one pod CIDR."""

    SERVED = "served"
    MISSING = "missing"
    """It has to be created."""
    MISLED = "misled"
    """It has to get another gateway."""
    WAITING = "waiting"
    """The Node is not initialized, or too little is known of it: all stays as it is."""
    UNKNOWN = "unknown"
    """Too little is known of the existing routes: all stays as it is."""
    UNROUTABLE = "unroutable"
    """There cannot be one until a person fixes what is wrong."""
    OUTSIDE = "outside"
    """There shall be none: the pod CIDR is not in the cluster's."""
    OVER_LIMIT = "over-limit"
    """The network takes no more."""


UNDECIDED = frozenset({RouteStatus.WAITING, RouteStatus.UNKNOWN})
"""Statuses from which nothing follows yet."""
FAILING = frozenset({RouteStatus.UNROUTABLE, RouteStatus.OUTSIDE, RouteStatus.OVER_LIMIT})
"""Statuses of pods that are unreachable, and will stay so."""


@dataclass(frozen=True, slots=True)
class RouteClaim:
    """One IPv4 pod CIDR of one Node."""

    endpoint: NodeEndpoint
    destination: IPv4Network
    decided: Decided[RouteStatus]
    present: IPv4Address | None = None
    """The gateway of the existing route to it; None when there is none."""
    holder: AddressOwner | None = None
    """The owner of that gateway, if the route leads elsewhere; None otherwise."""
    after: tuple[IPv4Network, ...] = ()
    """Destinations of the routes that have to go first."""

    @property
    def status(self) -> RouteStatus:
        """How it stands with the route."""
        return self.decided.value

    @property
    def why(self) -> str:
        """One sentence for people."""
        return self.decided.text

    @property
    def gateway(self) -> IPv4Address:
        """The gateway that the route should have. Raises IndexError for a Node that is not reached."""
        return self.endpoint.addresses[0]


@dataclass(frozen=True)
class RouteContext:
    """What decides on the route to a pod CIDR, besides its Node."""

    routed: RoutedNetwork
    decided: Mapping[IPv4Network, RouteDecision]
    """Destination → the decision on the existing route."""

    @cached_property
    def taken(self) -> Ranges:
        """Their destinations, without the default route, which is in no way."""
        return Ranges(self.decided.keys() - {DEFAULT_ROUTE})

    @cached_property
    def subnets(self) -> Ranges:
        """The network's."""
        return Ranges(self.routed.network.subnets)

    @cached_property
    def rivals(self) -> Mapping[tuple[str, IPv4Network], tuple[str, IPv4Network]]:
        """Node and destination → a Node with other pods in that range, another one or the same, and which these are."""
        return _rivals(self.routed.endpoints)

    def claim(self, endpoint: NodeEndpoint, destination: IPv4Network) -> RouteClaim:
        """The claim of a Node on the route to one of its pod CIDRs."""
        found = self.decided.get(destination)
        present = found.route.gateway if found else None
        facts: dict[str, Plain] = {
            "destination": str(destination),
            "server": endpoint.server_id or "",
            "node": endpoint.node.name,
        }
        decided = self._without_routes(endpoint, destination, present, facts)
        if decided is not None:
            return RouteClaim(endpoint, destination, decided, present)
        if found is not None:
            holder = found.holder or self.routed.owner_of(found.route.gateway)
            return RouteClaim(endpoint, destination, self._on_taken(holder, facts), present, holder)
        decided, after = self._on_free(destination, facts)
        return RouteClaim(endpoint, destination, decided, after=after)

    def _without_routes(
        self,
        endpoint: NodeEndpoint,
        destination: IPv4Network,
        present: IPv4Address | None,
        facts: Mapping[str, Plain],
    ) -> Decided[RouteStatus] | None:
        """The status that follows from the Node, its pod CIDR or an unreadable route; None if other routes decide."""
        cidr, network = self.routed.cluster_cidr, self.routed.network
        if endpoint.reach in (Reach.WAITING, Reach.GONE):
            return endpoint.decided.deciding(RouteStatus.WAITING)
        if endpoint.reach is Reach.UNATTACHED:
            return endpoint.decided.deciding(RouteStatus.UNROUTABLE)
        if present in (*endpoint.addresses, *endpoint.aliases):
            return Decided(RouteStatus.SERVED, rules.PODS_SERVED, {**facts, "address": str(present)})
        if not destination.subnet_of(cidr):
            return Decided(RouteStatus.OUTSIDE, rules.PODS_OUTSIDE, {**facts, "cidr": str(cidr)})
        rival = self.rivals.get((endpoint.node.name, destination))
        if rival is not None:
            row = rules.PODS_OF_TWO if rival[1] == destination else rules.PODS_OVERLAP
            return Decided(RouteStatus.UNROUTABLE, row, {**facts, "node": rival[0], "other": str(rival[1])})
        impossible = why_impossible(destination, self.subnets, network.id)
        return impossible or _unreadable_in(destination, self.routed.routes.unreadable)

    def _on_taken(self, holder: AddressOwner, facts: Mapping[str, Plain]) -> Decided[RouteStatus]:
        """How it stands when there is a route to the pods, and it leads to ``holder``. Any route may be that of a Node
        that could not be read."""
        nodes = self.routed.snapshot.nodes
        if holder.unknown is not None:
            return holder.unknown.deciding(RouteStatus.UNKNOWN)
        if (nodes.unreadable or not nodes.complete) and not holder.is_black_hole:
            return Decided(RouteStatus.UNKNOWN, rules.PODS_OF_UNREADABLE_NODE, facts)
        facts = {**facts, "owner": holder.what}
        if holder.holding is AddressHolding.NO_OWNER:
            return Decided(RouteStatus.MISLED, rules.PODS_MISLED_TO_NO_OWNER, facts)
        if holder.holding in (AddressHolding.NODE, AddressHolding.SERVER, AddressHolding.OUR_BALANCER):
            return Decided(RouteStatus.MISLED, rules.PODS_MISLED, facts)
        return Decided(RouteStatus.UNROUTABLE, rules.PODS_TAKEN, facts)

    def _on_free(
        self, destination: IPv4Network, facts: Mapping[str, Plain]
    ) -> tuple[Decided[RouteStatus], tuple[IPv4Network, ...]]:
        """How it stands when there is no route to the pods, and which routes have to go first; another one may overlap
        with theirs."""
        in_the_way = [self.decided[other] for other in self.taken.overlapping(destination)]
        stays = next((decided for decided in in_the_way if not decided.goes), None)
        if stays is None:
            after = tuple(each.route.destination for each in in_the_way)
            return Decided(RouteStatus.MISSING, rules.PODS_MISSING, facts), after
        facts = {**facts, "other": str(stays.route.destination), "gateway": str(stays.route.gateway)}
        if stays.action is RouteAction.UNCERTAIN:
            return Decided(RouteStatus.UNKNOWN, rules.PODS_BEHIND_UNKNOWN, facts), ()
        return Decided(RouteStatus.UNROUTABLE, rules.PODS_BEHIND_OTHER, facts), ()


def claims_of(routed: RoutedNetwork, decided: Mapping[IPv4Network, RouteDecision]) -> tuple[RouteClaim, ...]:
    """A claim for each IPv4 pod CIDR of each Node that is ours, older Nodes first: that is the order in which they get
    what room the network has."""
    context = RouteContext(routed, decided)
    ours = sorted(
        (endpoint for endpoint in routed.endpoints if endpoint.is_ours),
        key=lambda endpoint: (endpoint.node.created_at, endpoint.node.name),
    )
    claims = [
        context.claim(endpoint, destination) for endpoint in ours for destination in destinations_of(endpoint.node)
    ]
    return _within_limit(claims, decided, MOST_ROUTES - routed.routes.total)


def _unreadable_in(destination: IPv4Network, unreadable: Mapping[str, str]) -> Decided[RouteStatus] | None:
    """The reason why nothing can be said of a range: the route to it, or one that overlaps with it, is unreadable."""
    for text, why in unreadable.items():
        other, facts = parse_pod_cidr(text), {"destination": str(destination), "cause": why}
        if other == destination:
            return Decided(RouteStatus.UNKNOWN, rules.PODS_ROUTE_UNREADABLE, facts)
        if isinstance(other, IPv4Network) and other != DEFAULT_ROUTE and other.overlaps(destination):
            return Decided(RouteStatus.UNKNOWN, rules.PODS_BEHIND_UNREADABLE, {**facts, "other": str(other)})
    return None


def why_impossible(destination: IPv4Network, subnets: Ranges, network_id: int) -> Decided[RouteStatus] | None:
    """The reason why Hetzner accepts no route to a range in a network with these subnets (Hetzner Cloud API,
    ``add_route``); None when it may."""
    facts: dict[str, Plain] = {"destination": str(destination), "network": network_id, "address": str(_RESERVED)}
    if not any(destination.subnet_of(private) for private in PRIVATE_RANGES):
        return Decided(RouteStatus.UNROUTABLE, rules.PODS_NOT_PRIVATE, facts)
    if _RESERVED in destination:
        return Decided(RouteStatus.UNROUTABLE, rules.PODS_RESERVED, facts)
    overlapping = subnets.overlapping(destination)
    if overlapping:
        return Decided(RouteStatus.UNROUTABLE, rules.PODS_IN_SUBNET, {**facts, "subnet": str(overlapping[0])})
    return None


def _within_limit(
    claims: Sequence[RouteClaim], actions: Mapping[IPv4Network, RouteDecision], room: int
) -> tuple[RouteClaim, ...]:
    """``claims`` as far as the network has ``room``: then each creation waits for the removal of a route, dead ones
    first, and what has none to wait for is over the limit. One that takes the place of a route in its way needs no
    other."""
    # None is free already, the others once a route has gone.
    slots = deque[IPv4Network | None]([None] * max(0, room))
    in_the_way = {destination for claim in claims for destination in claim.after}
    for action in (RouteAction.DEAD, RouteAction.SUPERFLUOUS, RouteAction.STRANGER):
        slots += (gone for gone, decided in actions.items() if decided.action is action and gone not in in_the_way)
    # Of a network that has more than fit, some go before anything comes.
    surplus = [slots.popleft() for _ in range(min(-room, len(slots)))]

    def placed(claim: RouteClaim) -> RouteClaim:
        own = next((destination for destination in claim.after if destination in in_the_way), None)
        if own is not None:
            in_the_way.remove(own)
            taken: tuple[IPv4Network | None, ...] = ()
        elif slots:
            taken = (slots.popleft(),)
        else:
            full = Decided(RouteStatus.OVER_LIMIT, rules.PODS_OVER_LIMIT, {"most": MOST_ROUTES})
            return replace(claim, decided=full, after=())
        gone = (destination for destination in (*surplus, *taken) if destination is not None)
        return replace(claim, after=(*claim.after, *gone))

    return tuple(placed(claim) if claim.status is RouteStatus.MISSING else claim for claim in claims)


def _rivals(endpoints: Iterable[NodeEndpoint]) -> Mapping[tuple[str, IPv4Network], tuple[str, IPv4Network]]:
    """Node and destination → the Node with other pods in that range, and these. Sorted by where they begin, ranges
    that overlap contain each other, so that only those that are still open have to be looked at."""
    ranges = sorted(
        ((destination, endpoint.node.name) for endpoint in endpoints for destination in destinations_of(endpoint.node)),
        key=lambda pair: (int(pair[0].network_address), pair[0].prefixlen, pair[1]),
    )
    found: dict[tuple[str, IPv4Network], tuple[str, IPv4Network]] = {}
    open_ones: list[tuple[IPv4Network, str]] = []
    for destination, name in ranges:
        open_ones = [pair for pair in open_ones if pair[0].broadcast_address >= destination.network_address]
        for other, owner in open_ones:
            found.setdefault((name, destination), (owner, other))
            found.setdefault((owner, other), (name, destination))
        open_ones.append((destination, name))
    return found
