"""The routes of the private network as they should be: the rules of this package in one value."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from ipaddress import IPv4Network

from desired.change import Note
from desired.nodes import DesiredNode
from desired.route import route_key
from desired.routes.claims import Claim, claims_of
from desired.routes.conditions import DesiredCondition, conditions_without_routes, desired_conditions
from desired.routes.fates import Decided, fates_of
from desired.routes.holders import Holders
from desired.routes.notes import notes_on_routes
from desired.routes.places import Place, places_of
from desired.routes.pod_cidrs import destinations_of
from desired.section import Present
from desired.settings import Controller, Settings
from desired.snapshot import Network, Node, Snapshot


@dataclass(frozen=True)
class DesiredRoutes:
    """What should be in the network, and what Nodes should be told of it. Empty when there is nothing to look after."""

    network: Network | None = None
    places: tuple[Place, ...] = ()
    """Of all Nodes that could be read, in the order of names."""
    claims: tuple[Claim, ...] = ()
    """Of all pod CIDRs, in the order in which they get room."""
    decided: Mapping[IPv4Network, Decided] = field(default_factory=dict)
    """Destination → what becomes of the route that is there."""
    conditions: Mapping[str, DesiredCondition] = field(default_factory=dict)
    """By the name of the Node."""
    mismatch: str | None = None
    """Why the cluster CIDR that is given cannot be the cluster's, one sentence; None when it may be."""

    @cached_property
    def by_key(self) -> Mapping[str, Decided]:
        """Key of a plan → the route that is there."""
        network_id = self.network.id if self.network else 0
        return {route_key(network_id, destination): decided for destination, decided in self.decided.items()}


def desired_routes(
    snapshot: Snapshot, settings: Settings, nodes: Mapping[str, DesiredNode]
) -> tuple[DesiredRoutes, tuple[Note, ...]]:
    """The routes that should be there, and what a person should know of them. ``nodes`` are names with what the Nodes
    should be.

    Nothing is decided while the network is not known: that it could not be read is told with it.
    """
    if Controller.ROUTE not in settings.controllers:
        return DesiredRoutes(), ()
    if not settings.routes:
        return DesiredRoutes(conditions=conditions_without_routes(snapshot, settings)), ()
    network = snapshot.network.value if isinstance(snapshot.network, Present) else None
    if network is None or snapshot.routes is None:
        return DesiredRoutes(), ()
    places = places_of(snapshot, settings, nodes, network.id)
    holders = Holders(snapshot, network.id, places)
    fates = fates_of(snapshot, settings, places, holders)
    claims = claims_of(snapshot, settings, network, places, fates, holders)
    conditions = desired_conditions(places, claims, network.id, snapshot)
    mismatch = why_mismatched(settings.cluster_cidr, snapshot.nodes)
    desired = DesiredRoutes(network, places, claims, fates, conditions, mismatch)
    return desired, tuple(notes_on_routes(snapshot, settings, network, places, claims, fates, mismatch))


_SHOWN = 3


def why_mismatched(cluster_cidr: IPv4Network | None, nodes: Iterable[Node]) -> str | None:
    """Why ``cluster_cidr`` cannot be what the cluster gives its Nodes pods from: some have theirs elsewhere (D15 of
    user-wants.md). None when all of them fit, or none is given."""
    if cluster_cidr is None:
        return None
    outside = [
        f"{node.name} ({destination})"
        for node in nodes
        for destination in destinations_of(node)
        if not destination.subnet_of(cluster_cidr)
    ]
    if not outside:
        return None
    more = f" and {len(outside) - _SHOWN} more" if len(outside) > _SHOWN else ""
    word = "Node" if len(outside) == 1 else "Nodes"
    verb = "has its" if len(outside) == 1 else "have their"
    return (
        f"--cluster-cidr is {cluster_cidr}, and {word} {', '.join(outside[:_SHOWN])}{more} {verb} pods outside of it:"
        " no route is removed until one of the two is corrected"
    )
