"""What a person should know of routes although nothing is done about it."""

from collections.abc import Collection, Iterator, Mapping
from ipaddress import IPv4Network

from desired.bounds import shown_text
from desired.change import Note, NoteKind
from desired.route import MOST_ROUTES, route_key
from desired.routes.claims import Claim, Standing
from desired.routes.fates import Decided, Fate, present_routes
from desired.routes.places import Place
from desired.routes.pod_cidrs import covering, ipv6_of, malformed_of
from desired.settings import Settings
from desired.snapshot import Network, Snapshot

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
