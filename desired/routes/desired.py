"""What a person should know of routes although nothing is done about it."""

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from ipaddress import IPv4Network

from desired.model.route import MOST_ROUTES, route_key
from desired.model.settings import Controller, Settings
from desired.model.snapshot import Network, Node, Snapshot
from desired.nodes.desired import DesiredNode
from desired.plan.change import Note, NoteKind
from desired.routes.actions import Decided, Fate, fates_of, present_routes
from desired.routes.address_owners import Holders
from desired.routes.claims import Claim, Standing, claims_of
from desired.routes.conditions import DesiredCondition, conditions_without_routes, desired_conditions
from desired.routes.endpoints import Place, places_of
from desired.routes.pod_cidrs import covering, destinations_of, ipv6_of, malformed_of
from desired.section import Present
from desired.syntax.bounds import shown_text

_KINDS = {
    Standing.UNROUTABLE: NoteKind.UNROUTABLE,
    Standing.OUTSIDE: NoteKind.CLUSTER_CIDR,
    Standing.OVER_LIMIT: NoteKind.LIMIT,
    Standing.UNKNOWN: NoteKind.UNKNOWN,
}
_NEARLY_FULL = MOST_ROUTES * 8 // 10
_SHOWN = 5


def notes_on_routes(
    snapshot: Snapshot,
    settings: Settings,
    network: Network,
    places: Collection[Place],
    claims: Collection[Claim],
    decided: Mapping[IPv4Network, Decided],
    mismatch: str | None,
) -> Iterator[Note]:
    """Notes on Nodes whose pods are not reached, on routes that are left alone, and on the network as a whole."""
    yield from _on_nodes(places, claims)
    yield from _on_foreign(snapshot, network, decided)
    key = f"network/{network.id}"
    ours = [place for place in places if place.is_ours]
    if mismatch is not None:
        yield Note(key, NoteKind.CLUSTER_CIDR, mismatch)
    if settings.cluster_cidr is None and (cidr := covering(snapshot.nodes)) is not None:
        yield Note(key, NoteKind.CLUSTER_CIDR, _without_cluster_cidr(cidr))
    only_new = [place.node.name for place in ours if not place.node.pod_cidrs]
    if only_new and claims:  # where no Node has one, it is the network plug-in that gives pods their addresses
        yield Note(key, NoteKind.NO_POD_CIDR, f"{_named(only_new)} no pod CIDR yet, and so no route")
    dual = [place.node.name for place in ours if ipv6_of(place.node)]
    if dual:
        text = f"{_named(dual)} IPv6 pod CIDRs: there are no routes for these, as private networks have IPv4 alone"
        yield Note(key, NoteKind.UNSUPPORTED, text)
    wanted = sum(claim.standing in (Standing.MISSING, Standing.OVER_LIMIT) for claim in claims)
    leaves = len({destination for claim in claims for destination in claim.after})
    used = present_routes(snapshot).total
    if used + wanted - leaves >= _NEARLY_FULL:
        text = f"{used}/{MOST_ROUTES} routes are used, and {wanted} more wanted: a network takes no more than that"
        yield Note(key, NoteKind.LIMIT, text)


def _on_nodes(places: Collection[Place], claims: Collection[Claim]) -> Iterator[Note]:
    for claim in claims:
        if claim.standing in _KINDS:
            yield Note(claim.place.node.key, _KINDS[claim.standing], _told(claim))
    for place in places:
        if place.is_ours:
            for text in malformed_of(place.node):
                yield Note(
                    place.node.key, NoteKind.UNROUTABLE, f"pod CIDR {shown_text(text)} is no range, and gets no route"
                )


def _told(claim: Claim) -> str:
    if claim.standing is Standing.UNKNOWN:
        return f"the route to pod CIDR {claim.destination} stays as it is: {claim.why}"
    if claim.standing is not Standing.OUTSIDE and str(claim.destination) not in claim.why:
        return f"no route to pod CIDR {claim.destination}: {claim.why}"
    return claim.why


def _on_foreign(snapshot: Snapshot, network: Network, decided: Mapping[IPv4Network, Decided]) -> Iterator[Note]:
    for destination, found in decided.items():
        key = route_key(network.id, destination)
        if found.fate is Fate.FOREIGN:
            yield Note(key, NoteKind.FOREIGN, f"left alone: {found.why}")
        elif found.fate is Fate.UNCERTAIN:
            yield Note(key, NoteKind.UNKNOWN, f"left as it is: {found.why}")
    for text, why in present_routes(snapshot).unreadable.items():
        yield Note(f"route/{network.id}/{text}", NoteKind.FOREIGN, f"left alone: {why}")


def _without_cluster_cidr(pods: IPv4Network) -> str:
    return (
        "--cluster-cidr is not given, so that routes are only created, never changed or removed: give the cluster's;"
        f" the Nodes' pods are in {pods} so far"
    )


def _named(names: list[str]) -> str:
    """``Node a has``, ``Nodes a, b and 7 more have``."""
    if len(names) == 1:
        return f"Node {names[0]} has"
    rest = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    return f"Nodes {', '.join(names[:_SHOWN])}{rest} have"


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


_TOLD = 3


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
    more = f" and {len(outside) - _TOLD} more" if len(outside) > _TOLD else ""
    word = "Node" if len(outside) == 1 else "Nodes"
    verb = "has its" if len(outside) == 1 else "have their"
    return (
        f"--cluster-cidr is {cluster_cidr}, and {word} {', '.join(outside[:_TOLD])}{more} {verb} pods outside of it:"
        " no route is removed until one of the two is corrected"
    )
