"""Anchor and witnesses: whether the token's project is that of this cluster (guard ``project-anchor``).

A token of another project looks like a healthy, empty project: HTTP 200 and an empty list. No call of Hetzner's API
names the project, so the cluster's own Nodes have to be found in it. If no Node is Ready and none is found, a witness
has to be present, and nothing that this product wrote meanwhile is one.
"""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum

from desired.load_balancers.ownership import Ownership, ownership
from desired.load_balancers.published import published_addresses
from desired.model.load_balancer import CloudBalancer
from desired.model.remembered import MOST_REMEMBERED, NOTHING, Remembered
from desired.model.route import Route, route_key
from desired.model.service import Service
from desired.model.settings import Settings
from desired.model.snapshot import AddressType, Readiness, Snapshot
from desired.nodes.disruption import disruption_of
from desired.nodes.matching import cloud_nodes, is_ignored, nodes_of
from desired.nodes.node import is_uninitialized
from desired.routes.endpoints import destinations_of
from desired.section import Present, Unknown, Unmanaged
from desired.syntax.address import parse_ip
from desired.syntax.provider_id import Provider


class AnchorState(StrEnum):
    """The result of the anchor."""

    HOLDS = "holds"
    VIOLATED = "violated"
    UNDETERMINED = "undetermined"
    """Too little could be read to say."""
    UNFOUND = "unfound"
    """No Ready Node of ours, and none of our Nodes was found: only a witness can tell."""
    NONE = "none"
    """No Ready Node of ours: the cluster is new, or all of it is down and some of it was found."""


@dataclass(frozen=True, slots=True)
class Anchor:
    """Counts of a provider's Ready Nodes without a planned disruption, and of those that were found."""

    total: int
    found: int
    unknown: int
    unreadable: int = 0
    """Nodes that arrived and could not be read: they may be Ready, and not found."""
    nodes: int = 0
    """All our Nodes if none is Ready, or only those with a planned disruption; else 0."""
    present: int = 0
    """Those of them whose servers were found."""
    hidden: int = 0
    """Those of them of whose servers nothing can be said."""

    @property
    def needed(self) -> int:
        """At least half of them have to be found."""
        return (self.total + 1) // 2

    @property
    def is_certain(self) -> bool:
        """Whether at least half are found even if none of the unreadable ones is. Removals need it."""
        return self.found >= (self.total + self.unreadable + 1) // 2

    @property
    def state(self) -> AnchorState:
        """The result: whether the token sees this cluster's project."""
        if self.total == 0:
            return AnchorState.UNFOUND if self.nodes and not self.present else AnchorState.NONE
        if self.found >= self.needed:
            return AnchorState.HOLDS
        return AnchorState.VIOLATED if self.found + self.unknown < self.needed else AnchorState.UNDETERMINED


def anchor_of(provider: Provider, snapshot: Snapshot, settings: Settings) -> Anchor:
    """The anchor of a provider, over its Ready Nodes without a planned disruption: the servers of others may rightly be
    gone. The age of heartbeats does not matter: a server that is not found counts against the project, and one that is
    for it."""
    ours = [(node, snapshot.find(key)) for node, key in nodes_of(provider, snapshot, settings)]
    ready = [
        server for node, server in ours if node.ready is Readiness.TRUE and not disruption_of(node, snapshot, settings)
    ]
    servers, unreadable = ready or [server for _, server in ours], len(snapshot.nodes.unreadable)
    found = sum(isinstance(server, Present) for server in servers)
    unknown = sum(isinstance(server, Unknown) for server in servers)
    if ready:
        return Anchor(len(ready), found, unknown, unreadable)
    return Anchor(0, 0, 0, unreadable, nodes=len(ours), present=found, hidden=unknown)


def is_own_project(anchor: Anchor, snapshot: Snapshot, settings: Settings) -> bool:
    """Whether the project may be this cluster's, so that its lists may be relied on."""
    if anchor.state in (AnchorState.NONE, AnchorState.UNFOUND):
        return bool(witnesses(snapshot, settings))
    return anchor.state is AnchorState.HOLDS


def witnesses(snapshot: Snapshot, settings: Settings) -> Mapping[str, str]:
    """The witnesses of the project if no Node is Ready: witness → one word on it.

    | Witness | Condition |
    |---|---|
    | server of a Node of ours | none |
    | server of a joining Node | has its name, and the public address that its kubelet reports |
    | load balancer with our cluster's label or an existing Service's UID | that Service publishes its address (*) |
    | configured network | was given by its id, as a name may exist twice |
    | remembered network or load balancer | none; then no other load balancer is one, as it was made since |
    | route to pods of a Node of ours | by that Node's own address, and nothing contradicts |

    (*) If no Node is ours yet, the labels alone are enough.

    Only witnesses from the first pass of a chain count: a later one may be the work of this very chain.
    """
    seen = dict(_witnesses(snapshot, settings))
    if snapshot.at_first is None:
        return seen
    return {key: word for key, word in seen.items() if key in snapshot.at_first}


def _witnesses(snapshot: Snapshot, settings: Settings) -> Iterator[tuple[str, str]]:
    is_newborn = True
    for node, server_id in cloud_nodes(snapshot, settings):
        is_newborn = False
        if isinstance(snapshot.servers.find(server_id), Present):
            yield node.key, "server"
    yield from ((key, "address") for key in _known_by_address(snapshot, settings))
    remembered = snapshot.remembered if isinstance(snapshot.remembered, Remembered) else NOTHING
    yield from _witnessing_balancers(snapshot, remembered, is_newborn=is_newborn)
    if isinstance(snapshot.network, Present) and snapshot.network.value:
        network_id = snapshot.network.value.id
        if (settings.network or "").lstrip("0") == str(network_id):  # a number may also be a network's name
            yield f"network/{network_id}", "network"
        elif remembered.network == network_id:
            yield f"network/{network_id}", "remembered network"
        if _remembers_nothing(snapshot) and not is_served_elsewhere(snapshot):
            for route in _routes_to_pods(snapshot, settings, network_id):
                yield route_key(network_id, route.destination), "route"


def _known_by_address(snapshot: Snapshot, settings: Settings) -> Iterator[str]:
    """Keys of the joining Nodes whose kubelets report a public address of the server of their name: no other project
    can have that.

    Only an InternalIP counts, which a kubelet has found on its own machine. An ExternalIP may be ours, and the
    annotation of ``--node-ip`` is as easily mistyped as any.
    """
    servers = {server.name: server for server in snapshot.servers}
    for node in snapshot.nodes:
        server = servers.get(node.name)
        is_joining = not node.provider_id and is_uninitialized(node) and not is_ignored(node, settings)
        if server is not None and is_joining and node.ready is not Readiness.UNKNOWN:
            reported = (parse_ip(entry.address) for entry in node.addresses if entry.type == AddressType.INTERNAL_IP)
            if any(address and server.has_public(address) for address in reported):
                yield node.key


def _witnessing_balancers(snapshot: Snapshot, remembered: Remembered, *, is_newborn: bool) -> Iterator[tuple[str, str]]:
    """The load balancers that are witnesses. If any is remembered, or the memory cannot be read, the others may have
    been made since the anchor last held: perhaps by an approval of one load balancer, not of the project."""
    services = {service.uid: service for service in snapshot.services or ()}
    for balancer in snapshot.load_balancers or ():
        if balancer.id in remembered.load_balancers:
            yield balancer.key, "remembered load balancer"
        elif not _remembers_nothing(snapshot) or not _is_ours(balancer, services, snapshot):
            continue
        elif is_newborn or _is_published(balancer, services):
            yield balancer.key, "load balancer"


def _remembers_nothing(snapshot: Snapshot) -> bool:
    """Whether the memory was not asked for, or is empty."""
    return snapshot.remembered in (None, NOTHING)


def _is_ours(balancer: CloudBalancer, uids: Collection[str], snapshot: Snapshot) -> bool:
    """Whether the labels name this cluster, or an existing Service if they name none."""
    owner = balancer.owner
    whose = ownership(owner.cluster_uid, snapshot)
    return owner.uid in uids if whose is Ownership.UNCLAIMED else whose is Ownership.OURS


def _is_published(balancer: CloudBalancer, services: Mapping[str, Service]) -> bool:
    """Whether its Service publishes an address that no other load balancer has: the public one if there is one, since
    private networks are alike."""
    service = services.get(balancer.owner.uid or "")
    published = published_addresses(service) if service else frozenset()
    public = {balancer.ipv4, balancer.ipv6} - {None} if balancer.spec.public_interface is True else set()
    private = {place.ip for place in balancer.attachments if not isinstance(place.ip, Unmanaged)}
    return not published.isdisjoint(public or private)


def is_served_elsewhere(snapshot: Snapshot) -> bool:
    """Whether Services publish an address or a name of ours, and the project has a load balancer of none of them: then
    they are served in another one. False after a partial reading.

    Theirs is one with their label, as one has that was adopted by its name, or with a public address that they publish;
    private networks and names are alike. Addresses of Nodes are none of ours: k3s' servicelb publishes them, and sets
    the same finalizer."""
    balancers = snapshot.load_balancers
    if balancers is None or not balancers.is_whole:
        return False
    of_nodes = {*map(parse_ip, snapshot.node_addresses)} - {None}
    publishing = [
        service
        for service in snapshot.services or ()
        if snapshot.serving.wants(service)
        and service.is_claimed
        and any(entry.hostname or (entry.ip and parse_ip(entry.ip) not in of_nodes) for entry in service.ingress)
    ]
    labels = {balancer.owner.uid for balancer in balancers}
    there = {address for balancer in balancers for address in (balancer.ipv4, balancer.ipv6)}
    return bool(publishing) and not any(
        service.uid in labels or not published_addresses(service).isdisjoint(there) for service in publishing
    )


def _routes_to_pods(snapshot: Snapshot, settings: Settings, network_id: int) -> Iterator[Route]:
    """Routes by addresses of our Nodes that no server has any more, if all could be read. Projects made from one
    template have the same routes, so that they count only while nothing else is known: a server of ours is a witness
    itself, as is the memory, and all others contradict."""
    servers = snapshot.servers
    if not servers.is_whole:
        return
    places = (place for server in servers for place in (*server.private_ips, *server.alias_ips))
    held = {ip for attached, ip in places if attached == network_id}
    gateways = {
        destination: {address.address for address in node.addresses if address.type == AddressType.INTERNAL_IP}
        for node, _ in cloud_nodes(snapshot, settings)
        for destination in destinations_of(node)
    }
    for route in snapshot.routes or ():
        if str(route.gateway) in gateways.get(route.destination, ()) and route.gateway not in held:
            yield route


def asks_for_memory(snapshot: Snapshot, settings: Settings) -> bool:
    """Whether the memory of the cluster can make a difference: no server of a Node, no network by its id and no
    address identifies the project, and there is something to lose or to be written. A load balancer may have been made
    since."""
    anchor = anchor_of(Provider.CLOUD, snapshot, settings)
    if anchor.total or anchor.present:
        return False
    found = witnesses(snapshot, settings)
    if not {"network", "address"}.isdisjoint(found.values()) or (found and not anchor.nodes):
        return False
    return bool(anchor.nodes or snapshot.load_balancers or snapshot.routes)


def to_remember(snapshot: Snapshot, before: Remembered) -> Remembered:
    """The ids to remember of a reading in which the anchor holds. Unread ids stay as ``before``, and so do all while a
    Service with a finalizer has no load balancer in the list: the list may be short."""
    network = snapshot.network.value if isinstance(snapshot.network, Present) else None
    kept = before if network is None else replace(before, network=network.id)
    section = snapshot.load_balancers
    if section is None:
        return kept
    services = snapshot.services or ()
    uids = {service.uid for service in services}
    ids = {balancer.id for balancer in section if _is_ours(balancer, uids, snapshot)}
    labels = {balancer.owner.uid for balancer in section}
    if not section.is_whole or any(each.is_claimed and each.uid not in labels for each in services):
        ids |= {*before.load_balancers}
    return replace(kept, load_balancers=tuple(sorted(ids)[:MOST_REMEMBERED]))
