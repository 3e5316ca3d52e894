"""Desired routes and conditions of a network, and notes for a person on routes that nothing is done about.

``desired_routes`` combines the rules of ``endpoints``, ``actions``, ``claims`` and ``conditions``.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from ipaddress import IPv4Network

from desired.model.key import Key, ObjectKind
from desired.model.route import UNROUTED, route_key
from desired.model.settings import Controller, Settings
from desired.model.snapshot import Network, Node, Snapshot
from desired.nodes.node import DesiredNode
from desired.plan.notes import Note
from desired.routes.actions import RouteDecision, route_decisions
from desired.routes.claims import RouteClaim, RouteStatus, claims_of
from desired.routes.conditions import DesiredCondition, conditions_without_routes, desired_conditions
from desired.routes.endpoints import (
    NodeEndpoint,
    covering,
    destinations_of,
    ipv6_cidrs_of,
    malformed_of,
    node_endpoints,
)
from desired.routes.owners import RoutedNetwork
from desired.rules import routes as rules
from desired.rules.nodes import CONTROLLER_OFF
from desired.rules.rule import Decided, Plain, Reason
from desired.section import Present, Unknown
from desired.syntax.bounds import named, several, shown_text

_ERRORS = (rules.CIDR_COVERS_SUBNET, rules.CIDR_COVERS_SUBNET_OF_PODS)
"""Reasons for which the operator has to correct the configuration."""


def notes_on_routes(routed: RoutedNetwork, desired: "DesiredRoutes") -> Iterator[Note]:
    """Notes on Nodes whose pods are unreachable, on routes that are left alone, and on the network as a whole."""
    claims, ours = desired.claims, [endpoint.node for endpoint in desired.endpoints if endpoint.is_ours]
    said = [(claim.endpoint.node.key, claim.decided) for claim in claims]
    for node in ours:
        cidrs = ({"cidr": shown_text(text)} for text in malformed_of(node))
        said += ((node.key, Decided(RouteStatus.UNROUTABLE, rules.POD_CIDR_MALFORMED, facts)) for facts in cidrs)
    yield from (note for key, decided in said if (note := decided.note(key)))
    for route, found in desired.by_key.items():
        if note := found.decided.note(route):
            yield note
    for text, cause in routed.routes.unreadable.items():
        yield rules.ROUTE_UNREADABLE.note(route_key(routed.network.id, text), cause=cause)
    key = Key(ObjectKind.NETWORK, routed.network.id)
    if desired.mismatched is not None:
        yield desired.mismatched.note(key)
    only_new = [node.name for node in ours if not node.pod_cidrs]
    if only_new and claims:  # if no Node has one, the network plug-in gives pods their addresses
        yield rules.NODES_WITHOUT_PODS.note(key, nodes=named("Node", only_new))
    dual = [node.name for node in ours if ipv6_cidrs_of(node)]
    if dual:
        yield rules.NODES_OF_IPV6.note(key, nodes=named("Node", dual))


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
    mismatched: Reason | None = None
    """Why the configured cluster CIDR cannot be the cluster's; None when it may be."""
    left: Reason | None = None
    """Why no routes are managed; None when they are."""

    @property
    def mismatch(self) -> str | None:
        """The same as one sentence."""
        return self.mismatched.text if self.mismatched else None

    @property
    def error(self) -> str | None:
        """The mistake in the configuration because of which no routes are managed; None without one."""
        return self.left.text if self.left and self.left.rule in _ERRORS else None

    @cached_property
    def by_key(self) -> Mapping[Key, RouteDecision]:
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
    left, cluster_cidr = _why_left(snapshot, settings), settings.routed_range
    network = snapshot.network.value if isinstance(snapshot.network, Present) else None
    if left is not None or network is None or cluster_cidr is None:
        conditions = conditions_without_routes(snapshot, settings) if left and left.rule is rules.ROUTES_OFF else {}
        notes = tuple(_notes_without_routes(left, network, snapshot.nodes))
        return DesiredRoutes(conditions=conditions, left=left), notes
    endpoints = node_endpoints(snapshot, settings, nodes, network.id)
    routed = RoutedNetwork(snapshot, network, cluster_cidr, endpoints)
    decided = route_decisions(routed)
    claims = claims_of(routed, decided)
    conditions = desired_conditions(endpoints, claims, network.id, failed)
    mismatched = why_mismatched(cluster_cidr, snapshot.nodes)
    desired = DesiredRoutes(network, endpoints, claims, decided, conditions, mismatched)
    return desired, tuple(notes_on_routes(routed, desired))


def _why_left(snapshot: Snapshot, settings: Settings) -> Reason | None:
    """The reason why no routes are managed; None when they are."""
    if Controller.ROUTE not in settings.controllers:
        return CONTROLLER_OFF.because(controller=Controller.ROUTE)
    if settings.network is None:
        return rules.ROUTES_NETWORK_UNSET.because()
    if not settings.routes:
        return rules.ROUTES_OFF.because()
    match snapshot.network:
        case Unknown(cause):
            return rules.NETWORK_UNREAD.because(cause=cause)
        case Present(Network() as network):
            pass
        case _:
            return rules.NETWORK_MISSING.because(network=settings.network)
    if settings.routed_range is None:
        return rules.CIDR_UNSET.because()
    if snapshot.routes is None:
        return rules.ROUTES_UNREAD.because()
    return why_covering(settings.routed_range, network, snapshot.nodes)


def _notes_without_routes(left: Reason | None, network: Network | None, nodes: Iterable[Node]) -> Iterator[Note]:
    """What stays as it is without HCLOUD_NETWORK or a cluster CIDR, and the ways out: Nodes may have pod CIDRs, or be
    closed to pods by an earlier run."""
    nodes = tuple(nodes)
    closed = [node.name for node in nodes if node.network_condition == UNROUTED]
    row = left.rule if left is not None else None
    if row is rules.ROUTES_NETWORK_UNSET:
        yield from (rules.NETWORK_NEEDED_TO_OPEN.note(Key(ObjectKind.NODE, name)) for name in closed)
    elif row is rules.CIDR_UNSET and network is not None:
        pods = covering(nodes)
        key, facts = Key(ObjectKind.NETWORK, network.id), {"pods": str(pods), "nodes": named("Node", closed)}
        if closed:
            needed = rules.CIDR_NEEDED_TO_OPEN if pods is None else rules.CIDR_NEEDED_TO_OPEN_FOR_PODS
            yield needed.note(key, **facts)
        elif pods is not None:
            yield rules.CIDR_NEEDED_FOR_PODS.note(key, **facts)


def why_covering(cluster_cidr: IPv4Network, network: Network, nodes: Iterable[Node]) -> Reason | None:
    """The reason why ``cluster_cidr`` cannot be the cluster's with this network: it covers a subnet, where servers have
    their addresses and no pod can have one, and routes of others within it would count as the cluster's. None when it
    covers none. (A range inside of a subnet endangers no route: Hetzner accepts none there.)"""
    covered = next((subnet for subnet in network.subnets if subnet.subnet_of(cluster_cidr)), None)
    if covered is None:
        return None
    pods = covering(nodes)
    facts: dict[str, Plain] = {
        "cidr": str(cluster_cidr),
        "subnet": str(covered),
        "name": network.name,
        "network": network.id,
    }
    if pods is None:
        return rules.CIDR_COVERS_SUBNET.because(**facts)
    return rules.CIDR_COVERS_SUBNET_OF_PODS.because(**facts, pods=str(pods))


def why_mismatched(cluster_cidr: IPv4Network, nodes: Iterable[Node]) -> Reason | None:
    """The reason why ``cluster_cidr`` cannot be the range from which the cluster gives its Nodes pod CIDRs: some have
    theirs elsewhere. None when all of them fit."""
    outside = [
        f"{node.name} ({destination})"
        for node in nodes
        for destination in destinations_of(node)
        if not destination.subnet_of(cluster_cidr)
    ]
    return rules.CIDR_MISMATCH.because(cidr=str(cluster_cidr), nodes=str(several(outside))) if outside else None
