"""Desired routes and conditions of a network, and notes on routes: what a person should know although nothing is done.

``desired_routes`` combines the rules of ``endpoints``, ``actions``, ``claims`` and ``conditions``.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from ipaddress import IPv4Network

from desired.model.key import Key, ObjectKind
from desired.model.route import MOST_ROUTES, UNROUTED, route_key
from desired.model.settings import Controller, Settings
from desired.model.snapshot import Network, Node, Snapshot
from desired.nodes.node import DesiredNode
from desired.plan.notes import Note, NoteKind
from desired.routes.actions import RouteAction, RouteDecision, present_routes, route_decisions
from desired.routes.address_owners import AddressOwners
from desired.routes.claims import RouteClaim, RouteStatus, claims_of
from desired.routes.conditions import DesiredCondition, condition_of, conditions_without_routes, desired_conditions
from desired.routes.endpoints import NodeEndpoint, covering, destinations_of, ipv6_of, malformed_of, node_endpoints
from desired.section import Present
from desired.syntax.bounds import shown_text

_KINDS = {
    RouteStatus.UNROUTABLE: NoteKind.UNROUTABLE,
    RouteStatus.OUTSIDE: NoteKind.CLUSTER_CIDR,
    RouteStatus.OVER_LIMIT: NoteKind.LIMIT,
    RouteStatus.UNKNOWN: NoteKind.UNKNOWN,
}
_NEARLY_FULL = MOST_ROUTES * 8 // 10
_SHOWN = 5


def notes_on_routes(
    snapshot: Snapshot,
    network: Network,
    endpoints: Collection[NodeEndpoint],
    claims: Collection[RouteClaim],
    decided: Mapping[IPv4Network, RouteDecision],
    mismatch: str | None,
) -> Iterator[Note]:
    """Notes on Nodes whose pods are unreachable, on routes that are left alone, and on the network as a whole."""
    yield from _on_nodes(endpoints, claims)
    yield from _on_foreign(snapshot, network, decided)
    key = Key(ObjectKind.NETWORK, network.id)
    ours = [endpoint for endpoint in endpoints if endpoint.is_ours]
    if mismatch is not None:
        yield Note(key, NoteKind.CLUSTER_CIDR, mismatch)
    only_new = [endpoint.node.name for endpoint in ours if not endpoint.node.pod_cidrs]
    if only_new and claims:  # where no Node has one, it is the network plug-in that gives pods their addresses
        yield Note(key, NoteKind.NO_POD_CIDR, f"{_named(only_new)} no pod CIDR yet, and so no route")
    dual = [endpoint.node.name for endpoint in ours if ipv6_of(endpoint.node)]
    if dual:
        text = f"{_named(dual)} IPv6 pod CIDRs: there are no routes for these, as private networks have IPv4 alone"
        yield Note(key, NoteKind.UNSUPPORTED, text)
    wanted = sum(claim.status in (RouteStatus.MISSING, RouteStatus.OVER_LIMIT) for claim in claims)
    leaves = len({destination for claim in claims for destination in claim.after})
    used = present_routes(snapshot).total
    if used + wanted - leaves >= _NEARLY_FULL:
        text = f"{used}/{MOST_ROUTES} routes are used, and {wanted} more wanted: a network takes no more than that"
        yield Note(key, NoteKind.LIMIT, text)


def _on_nodes(endpoints: Collection[NodeEndpoint], claims: Collection[RouteClaim]) -> Iterator[Note]:
    for claim in claims:
        if claim.status in _KINDS:
            yield Note(claim.endpoint.node.key, _KINDS[claim.status], _told(claim))
    for endpoint in endpoints:
        if endpoint.is_ours:
            for text in malformed_of(endpoint.node):
                yield Note(
                    endpoint.node.key,
                    NoteKind.UNROUTABLE,
                    f"pod CIDR {shown_text(text)} is no range, and gets no route",
                )


def _told(claim: RouteClaim) -> str:
    if claim.status is RouteStatus.UNKNOWN:
        return f"the route to pod CIDR {claim.destination} stays as it is: {claim.why}"
    if claim.status is not RouteStatus.OUTSIDE and str(claim.destination) not in claim.why:
        return f"no route to pod CIDR {claim.destination}: {claim.why}"
    return claim.why


def _on_foreign(snapshot: Snapshot, network: Network, decided: Mapping[IPv4Network, RouteDecision]) -> Iterator[Note]:
    for destination, found in decided.items():
        key = route_key(network.id, destination)
        if found.action is RouteAction.FOREIGN:
            yield Note(key, NoteKind.FOREIGN, f"left alone: {found.why}")
        elif found.action is RouteAction.UNCERTAIN:
            yield Note(key, NoteKind.UNKNOWN, f"left as it is: {found.why}")
    for text, why in present_routes(snapshot).unreadable.items():
        yield Note(route_key(network.id, text), NoteKind.FOREIGN, f"left alone: {why}")


def _on_missing_range(network: Network, nodes: Iterable[Node]) -> Iterator[Note]:
    """A note where Nodes have pod CIDRs, or are closed, and no cluster CIDR is given: what stays as it is, and both
    ways out."""
    nodes = tuple(nodes)
    pods, closed = covering(nodes), _closed(nodes)
    if pods is None and not closed:
        return
    still = f"; {_named(closed)} NetworkUnavailable=True of an earlier run, which keeps pods away" if closed else ""
    where = f" (the Nodes' pods are in {pods} so far)" if pods is not None else ""
    text = (
        "no pod routes are managed, as --cluster-cidr is not given: routes and NetworkUnavailable stay as they"
        f" are{still}; for routes give the cluster's pod CIDR{where}, without them set"
        " HCLOUD_NETWORK_ROUTES_ENABLED=false"
    )
    yield Note(Key(ObjectKind.NETWORK, network.id), NoteKind.CLUSTER_CIDR, text)


def _on_missing_network(nodes: Iterable[Node]) -> Iterator[Note]:
    """A note on each Node that an earlier run has closed to pods: without a network its condition stays."""
    text = (
        "NetworkUnavailable=True of an earlier run keeps pods away, and stays without HCLOUD_NETWORK: to have it taken"
        " away, run once with HCLOUD_NETWORK and HCLOUD_NETWORK_ROUTES_ENABLED=false"
    )
    for name in _closed(nodes):
        yield Note(Key(ObjectKind.NODE, name), NoteKind.CLUSTER_CIDR, text)


def _closed(nodes: Iterable[Node]) -> list[str]:
    """Names of the Nodes whose condition says that no route leads to them."""
    return [node.name for node in nodes if condition_of(node) == UNROUTED]


def _named(names: list[str]) -> str:
    """``Node a has``, ``Nodes a, b and 7 more have``."""
    if len(names) == 1:
        return f"Node {names[0]} has"
    rest = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    return f"Nodes {', '.join(names[:_SHOWN])}{rest} have"


@dataclass(frozen=True)
class DesiredRoutes:
    """The desired routes of the network and conditions of Nodes. Empty when no routes are managed."""

    network: Network | None = None
    endpoints: tuple[NodeEndpoint, ...] = ()
    """Of all Nodes that could be read, in the order of names."""
    claims: tuple[RouteClaim, ...] = ()
    """Of all pod CIDRs, in the order in which they get room."""
    decided: Mapping[IPv4Network, RouteDecision] = field(default_factory=dict)
    """Destination → the decision on the existing route."""
    conditions: Mapping[str, DesiredCondition] = field(default_factory=dict)
    """By the name of the Node."""
    mismatch: str | None = None
    """Why the configured cluster CIDR cannot be the cluster's, one sentence; None when it may be."""
    error: str | None = None
    """Why no routes are managed with this configuration, one sentence with the remedy; None when they are."""

    @cached_property
    def by_key(self) -> Mapping[str, RouteDecision]:
        """Key of a plan → the existing route."""
        network_id = self.network.id if self.network else 0
        return {route_key(network_id, destination): decided for destination, decided in self.decided.items()}


def desired_routes(
    snapshot: Snapshot, settings: Settings, nodes: Mapping[str, DesiredNode], failed: Collection[str] = ()
) -> tuple[DesiredRoutes, tuple[Note, ...]]:
    """The desired routes, and notes on them. ``nodes`` are names with what the Nodes should be, ``failed`` keys
    of changes that were refused.

    Nothing is decided while the network is not known: the snapshot says itself that it could not be read. What is not
    given switches nothing off: without HCLOUD_NETWORK or ``--cluster-cidr`` conditions stay, as with HCCM.
    """
    if Controller.ROUTE not in settings.controllers:
        return DesiredRoutes(), ()
    if settings.network is None:
        return DesiredRoutes(), tuple(_on_missing_network(snapshot.nodes))
    if not settings.routes:
        return DesiredRoutes(conditions=conditions_without_routes(snapshot, settings)), ()
    network = snapshot.network.value if isinstance(snapshot.network, Present) else None
    if network is None:
        return DesiredRoutes(), ()
    cluster_cidr = settings.routed_range
    if cluster_cidr is None:
        return DesiredRoutes(), tuple(_on_missing_range(network, snapshot.nodes))
    if snapshot.routes is None:
        return DesiredRoutes(), ()
    error = why_covering(cluster_cidr, network, snapshot.nodes)
    if error is not None:
        return DesiredRoutes(error=error), ()
    endpoints = node_endpoints(snapshot, settings, nodes, network.id)
    holders = AddressOwners(snapshot, network.id, endpoints)
    actions = route_decisions(snapshot, cluster_cidr, endpoints, holders)
    claims = claims_of(snapshot, cluster_cidr, network, endpoints, actions, holders)
    conditions = desired_conditions(endpoints, claims, network.id, failed)
    mismatch = why_mismatched(cluster_cidr, snapshot.nodes)
    desired = DesiredRoutes(network, endpoints, claims, actions, conditions, mismatch)
    return desired, tuple(notes_on_routes(snapshot, network, endpoints, claims, actions, mismatch))


def why_covering(cluster_cidr: IPv4Network, network: Network, nodes: Iterable[Node]) -> str | None:
    """The reason why ``cluster_cidr`` cannot be the cluster's with this network: it covers a subnet, where servers have
    their addresses and no pod can have one, and routes of others within it would count as the cluster's. None when it
    covers none. (A range inside of a subnet endangers no route: Hetzner accepts none there.)"""
    covered = next((subnet for subnet in network.subnets if subnet.subnet_of(cluster_cidr)), None)
    if covered is None:
        return None
    pods = covering(nodes)
    hint = f"; the Nodes' pods are in {pods} so far" if pods is not None else ""
    return (
        f"--cluster-cidr is {cluster_cidr}, which covers subnet {covered} of network {network.name} ({network.id}): no"
        " pod can have an address there, and routes of others would count as the cluster's. No route is created,"
        f" changed or removed until it is the range from which the cluster gives its Nodes pod CIDRs{hint}"
    )


_TOLD = 3


def why_mismatched(cluster_cidr: IPv4Network, nodes: Iterable[Node]) -> str | None:
    """The reason why ``cluster_cidr`` cannot be the range from which the cluster gives its Nodes pod CIDRs: some have
    theirs elsewhere. None when all of them fit."""
    outside = [
        f"{node.name} ({destination})"
        for node in nodes
        for destination in destinations_of(node)
        if not destination.subnet_of(cluster_cidr)
    ]
    if not outside:
        return None
    more = f" and {len(outside) - _TOLD} more" if len(outside) > _TOLD else ""
    word = "Node" if len(outside) == 1 else "Nodes"
    verb = "has its" if len(outside) == 1 else "have their"
    return (
        f"--cluster-cidr is {cluster_cidr}, and {word} {', '.join(outside[:_TOLD])}{more} {verb} pods outside of it:"
        " no route is removed until one of the two is corrected"
    )
