"""Owners of addresses in the network: the owner of a route's gateway decides whether the route is ours.

A gateway is an address, and no API can be asked who had it. What stands for a GET by id, so that a dead route needs as
much proof as the Node or the target of its server:

1. No server and no load balancer that is listed has the address, in complete lists, nor has any member of the network,
   by its own complete list (``RoutedNetwork``).
2. Each Node that reports the address, or has the destination among its pod CIDRs, names its server by providerID: as
   far as the list lacks these servers, each is proven gone by a GET by its id (``Gateways``).
3. If no Node reports the address, as its Node is deleted already, the network itself says which servers are in it:
   of these, too, each one that the list lacks is proven gone. One that is there shows that the list is not whole, and
   nothing goes.

What is left is a server without a Node that three answers lack alike: the lists of servers and of members, and the
network's own ids. The first one of these that has it keeps the route.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from ipaddress import IPv4Address, IPv4Network

from desired.load_balancers.ownership import Ownership, ownership
from desired.model.load_balancer import CloudBalancer
from desired.model.route import Member, MemberKind, Route
from desired.model.settings import Settings
from desired.model.snapshot import Network, Node, Server, Snapshot
from desired.routes.endpoints import NodeEndpoint, Reach, destinations_of
from desired.rules import routes as rules
from desired.rules.rule import Plain, Reason, Rule
from desired.section import Present, Section, grouped
from desired.syntax.provider_id import CloudID, parse_provider_id


class AddressHolding(StrEnum):
    """The kind of owner that an address has."""

    NODE = "node"
    """The own address of a server that is a Node of ours."""
    SERVER = "server"
    """The own address of an existing server that is no Node."""
    IGNORED = "ignored"
    """The own address of a server whose Node the operator excludes."""
    ALIAS = "alias"
    """A further (alias) address of a server: it is used on purpose."""
    LOAD_BALANCER = "load-balancer"
    """A load balancer that is not labelled as this cluster's."""
    OUR_BALANCER = "our-load-balancer"
    """A load balancer of this cluster: it took the address of a server that is gone, and forwards no packets."""
    NO_OWNER = "no-owner"
    """Proven: nothing in the network has the address."""
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class AddressOwner:
    """The owner of an address."""

    holding: AddressHolding
    what: str
    """In words: ``server 12 of Node web-1``; the address itself if it has no owner, or its owner is not known."""
    node: str | None = None
    """Name of a Node of ours that is on the server; None for any other holder."""
    unknown: Reason | None = None
    """Why it is not known; None if it is."""

    @property
    def is_black_hole(self) -> bool:
        """Whether packets sent there reach nothing: a route that leads there is of use to no one."""
        return self.holding in (AddressHolding.NO_OWNER, AddressHolding.OUR_BALANCER)


@dataclass(frozen=True)
class RoutedNetwork:
    """The network whose routes are managed, and all that is known of its addresses and of the pods behind them."""

    snapshot: Snapshot
    network: Network
    cluster_cidr: IPv4Network
    """The range that is routed to pods."""
    endpoints: Sequence[NodeEndpoint]
    """Of all Nodes that could be read."""

    @property
    def routes(self) -> Section[str, Route]:
        """The existing routes; none if none were read."""
        return Section() if self.snapshot.routes is None else self.snapshot.routes

    @cached_property
    def claimants(self) -> Mapping[IPv4Network, Sequence[NodeEndpoint]]:
        """Pod CIDR → the endpoints of the Nodes that have it."""
        return grouped((cidr, endpoint) for endpoint in self.endpoints for cidr in destinations_of(endpoint.node))

    @cached_property
    def masks(self) -> frozenset[int]:
        """The prefix lengths that the cluster gives its Nodes: usually one; empty when no Node has an IPv4 range."""
        return frozenset(destination.prefixlen for destination in self.claimants)

    @cached_property
    def _listed(self) -> Mapping[IPv4Address, Server | CloudBalancer]:
        return listed_owners(self.snapshot, self.network)

    @cached_property
    def _by_server(self) -> Mapping[int | None, Sequence[NodeEndpoint]]:
        return grouped((endpoint.server_id, endpoint) for endpoint in self.endpoints)

    def owner_of(self, address: IPv4Address) -> AddressOwner:
        """The owner of the address. NO_OWNER only if the network's own list of members says so."""
        members, listed = self.snapshot.members, self._listed.get(address)
        if isinstance(listed, CloudBalancer):
            return self._balancer(listed)
        if listed is not None:
            is_own = (self.network.id, address) in listed.private_ips
            return self._server(listed.id) if is_own else _alias(listed.id)
        if members is None:
            return _unknown(rules.OWNER_UNASKED, address)
        found = next((member for member in members if address in (member.ip, *member.alias_ips)), None)
        if found is not None:
            return self._member(found, address)
        gap = members.why_incomplete or next(iter(members.unreadable.values()), None)
        if gap is not None:
            return _unknown(rules.OWNER_UNREADABLE, address, cause=gap)
        return AddressOwner(AddressHolding.NO_OWNER, str(address))

    def _member(self, member: Member, address: IPv4Address) -> AddressOwner:
        """One that the lists of servers and load balancers do not show: it is just being attached or detached, or its
        object could not be read."""
        if member.kind is MemberKind.LOAD_BALANCER:
            return AddressOwner(AddressHolding.LOAD_BALANCER, f"load balancer {member.id}")
        if address != member.ip:
            return _alias(member.id)
        if isinstance(self.snapshot.servers.find(member.id), Present):
            return self._server(member.id)
        return _unknown(rules.OWNER_UNLISTED, address, server=member.id)

    def _balancer(self, balancer: CloudBalancer) -> AddressOwner:
        is_ours = ownership(balancer.owner.cluster_uid, self.snapshot) is Ownership.OURS
        holding = AddressHolding.OUR_BALANCER if is_ours else AddressHolding.LOAD_BALANCER
        return AddressOwner(holding, f"load balancer {balancer.id}")

    def _server(self, server_id: int) -> AddressOwner:
        endpoints = self._by_server.get(server_id, ())
        ours = next((endpoint.node.name for endpoint in endpoints if endpoint.reach is not Reach.IGNORED), None)
        if any(endpoint.reach is Reach.IGNORED for endpoint in endpoints):
            return AddressOwner(AddressHolding.IGNORED, f"server {server_id} (Node ignored)")
        if ours is not None:
            return AddressOwner(AddressHolding.NODE, f"server {server_id} of Node {ours}", ours)
        return AddressOwner(AddressHolding.SERVER, f"server {server_id} (no Node of this cluster)")


class Gateways:
    """The addresses of the configured network: their owners by the lists, and their former owners by the Nodes."""

    def __init__(self, snapshot: Snapshot) -> None:
        self._snapshot = snapshot
        self._network = snapshot.network.value if isinstance(snapshot.network, Present) else None

    def is_held(self, gateway: IPv4Address) -> bool:
        """Whether a server or a load balancer that is listed has the address: then nothing is presumed to be gone."""
        return gateway in self._held

    def last_holders(self, gateway: IPv4Address, destination: IPv4Network) -> tuple[int, ...]:
        """Ids of the servers that no list shows and that may be behind the route, sorted; empty while the
        gateway has an owner by a list. If no Node of such a server reports the address, it may be any server of the
        network: a kubelet of another server is no witness."""
        if self.is_held(gateway):
            return ()
        reporting = self._unlisted(self._by_address.get(str(gateway), ()))
        others = self._network.server_ids if self._network is not None and not reporting else ()
        return tuple(sorted(reporting | self._unlisted({*self._by_pods.get(destination, ()), *others})))

    def _unlisted(self, server_ids: Collection[int]) -> set[int]:
        return {key for key in server_ids if not isinstance(self._snapshot.servers.find(key), Present)}

    @cached_property
    def _held(self) -> Collection[IPv4Address]:
        return listed_owners(self._snapshot, self._network) if self._network is not None else ()

    @cached_property
    def _by_address(self) -> Mapping[str, Collection[int]]:
        return grouped((each.address, server_id) for node, server_id in self._claims() for each in node.addresses)

    @cached_property
    def _by_pods(self) -> Mapping[IPv4Network, Collection[int]]:
        return grouped((cidr, server_id) for node, server_id in self._claims() for cidr in destinations_of(node))

    def _claims(self) -> Iterator[tuple[Node, int]]:
        """Every Node of the cloud with its server's id, ignored ones included: what they say is evidence too."""
        for node in self._snapshot.nodes:
            claim = parse_provider_id(node.provider_id or "")
            if isinstance(claim, CloudID):
                yield node, claim.server_id


def asks_for_members(snapshot: Snapshot, settings: Settings) -> bool:
    """Whether the members of the network have to be read: a route within the cluster CIDR leads to an address that no
    list shows, and may have to be removed."""
    cluster_cidr = settings.routed_range
    if cluster_cidr is None:
        return False
    network = snapshot.network.value if isinstance(snapshot.network, Present) else None
    if network is None or snapshot.routes is None:
        return False
    known = listed_owners(snapshot, network)
    return any(route.destination.subnet_of(cluster_cidr) and route.gateway not in known for route in snapshot.routes)


def listed_owners(snapshot: Snapshot, network: Network) -> Mapping[IPv4Address, Server | CloudBalancer]:
    """Address in the network → the listed server or load balancer that has it, aliases included; a server's own address
    counts before the alias of another."""
    balancers = {
        attachment.ip: balancer
        for balancer in snapshot.load_balancers or ()
        for attachment in balancer.attachments
        if attachment.network_id == network.id and isinstance(attachment.ip, IPv4Address)
    }
    aliases = {ip: server for server in snapshot.servers for at, ip in server.alias_ips if at == network.id}
    own = {ip: server for server in snapshot.servers for at, ip in server.private_ips if at == network.id}
    return {**balancers, **aliases, **own}


def _unknown(row: Rule, address: IPv4Address, **facts: Plain) -> AddressOwner:
    return AddressOwner(AddressHolding.UNKNOWN, str(address), unknown=row.because(address=str(address), **facts))


def _alias(server_id: int) -> AddressOwner:
    return AddressOwner(AddressHolding.ALIAS, f"alias address of server {server_id}")
