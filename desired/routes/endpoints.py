"""Endpoints of Nodes in the network: the address behind which each Node's pods are, and their pod CIDRs.

The address is that of the server that the providerID names, whatever that server is called. Pod CIDRs are
``spec.podCIDRs``, at most one of each family (Kubernetes core/v1 NodeSpec). Hetzner's private networks are IPv4-only,
so that an IPv6 range never gets a route, and does not count for the Node's condition."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache
from ipaddress import IPv4Address, IPv4Network, IPv6Network, ip_network

from desired.model.settings import Settings
from desired.model.snapshot import Node, Readiness, Server, Snapshot
from desired.nodes.matching import is_ignored
from desired.nodes.node import DesiredNode, UninitializedNode, is_uninitialized
from desired.rules import routes as rules
from desired.rules.rule import Decided
from desired.section import Absent, Unknown
from desired.syntax.bounds import LONGEST_RANGE
from desired.syntax.provider_id import CloudID, parse_provider_id


@lru_cache(maxsize=16_384)
def parse_pod_cidr(text: str) -> IPv4Network | IPv6Network | None:
    """The range that ``text`` means, bits of hosts in it left out (10.244.1.5/24 is 10.244.1.0/24); None when it means
    none: an address alone is no range."""
    if LONGEST_RANGE.is_exceeded(text) or "/" not in text:
        return None
    try:
        return ip_network(text, strict=False)
    except ValueError:
        return None


def destinations_of(node: Node) -> tuple[IPv4Network, ...]:
    """The IPv4 ranges of the Node's pods, each once, in the order in which they were assigned."""
    parsed = map(parse_pod_cidr, node.pod_cidrs)
    return tuple(dict.fromkeys(cidr for cidr in parsed if isinstance(cidr, IPv4Network)))


def ipv6_cidrs_of(node: Node) -> tuple[IPv6Network, ...]:
    """The IPv6 ranges of the Node's pods."""
    return tuple(cidr for cidr in map(parse_pod_cidr, node.pod_cidrs) if isinstance(cidr, IPv6Network))


def malformed_of(node: Node) -> tuple[str, ...]:
    """The entries that are no range at all."""
    return tuple(text for text in node.pod_cidrs if parse_pod_cidr(text) is None)


def covering(nodes: Iterable[Node]) -> IPv4Network | None:
    """The smallest range in which the IPv4 pods of all Nodes are; None when there are none.

    It is a lower bound of what the cluster was set up with, and so never decides that something is to go.
    """
    ranges = [destination for node in nodes for destination in destinations_of(node)]
    if not ranges:
        return None
    first = min(ranges, key=lambda cidr: cidr.network_address).network_address
    last = max(ranges, key=lambda cidr: cidr.broadcast_address).broadcast_address
    return IPv4Network((int(first), 32 - (int(first) ^ int(last)).bit_length()), strict=False)


class Reach(StrEnum):
    """Whether the pods of a Node can be reached through the network."""

    REACHED = "reached"
    UNATTACHED = "unattached"
    """Its server exists, and is not in the network."""
    WAITING = "waiting"
    """The Node is not initialized, or too little is known: existing routes stay as they are."""
    GONE = "gone"
    """Its server is gone."""
    ELSEWHERE = "elsewhere"
    """It has no server of this cloud."""
    IGNORED = "ignored"
    """The operator excludes it, and so its routes."""


@dataclass(frozen=True, slots=True)
class NodeEndpoint:
    """One Node in the network."""

    node: Node
    decided: Decided[Reach]
    server_id: int | None = None
    """None for one that has, or is to have, no server of this cloud."""
    addresses: tuple[IPv4Address, ...] = ()
    """The server's own ones in the network. The first is the gateway to the pods."""
    aliases: tuple[IPv4Address, ...] = ()
    """Further ones that lead to the same server."""
    joins: bool = False
    """Whether ``node.initialise`` is part of the same plan: the server is the one that the Node will have."""

    @property
    def reach(self) -> Reach:
        """Whether its pods can be reached."""
        return self.decided.value

    @property
    def pod_cidrs(self) -> tuple[IPv4Network | IPv6Network | str, ...]:
        """The ranges of its pods, each once, in the order in which they were assigned; as text what is no range."""
        return tuple(dict.fromkeys(parse_pod_cidr(text) or text for text in self.node.pod_cidrs))

    @property
    def is_ours(self) -> bool:
        """Whether the routes to the Node's pods are ours to manage."""
        return self.reach not in (Reach.ELSEWHERE, Reach.IGNORED)


def node_endpoints(
    snapshot: Snapshot, settings: Settings, nodes: Mapping[str, DesiredNode], network_id: int
) -> tuple[NodeEndpoint, ...]:
    """The endpoint of each Node that could be read, in the order of names. ``nodes`` are names with what the Nodes
    should be: that of a joining Node is its future server's."""
    return tuple(_place(node, nodes.get(node.name), snapshot, settings, network_id) for node in snapshot.nodes)


def _place(
    node: Node, desired: DesiredNode | None, snapshot: Snapshot, settings: Settings, network_id: int
) -> NodeEndpoint:
    claim = parse_provider_id(node.provider_id or "")
    server_id = claim.server_id if isinstance(claim, CloudID) else None
    if is_ignored(node, settings):
        return NodeEndpoint(node, Decided(Reach.IGNORED, rules.NODE_IGNORED), server_id)
    if isinstance(desired, UninitializedNode):
        return _on_server(node, desired.server, network_id, joins=True)
    if is_uninitialized(node):
        return NodeEndpoint(node, Decided(Reach.WAITING, rules.NODE_UNINITIALIZED), server_id)
    if server_id is None:
        return NodeEndpoint(node, Decided(Reach.ELSEWHERE, rules.NODE_ELSEWHERE))
    match snapshot.servers.find(server_id):
        case Absent():
            # The server is not gone while the kubelet on it reports: then the list is wrong.
            reach = Reach.WAITING if node.ready is Readiness.TRUE else Reach.GONE
            return NodeEndpoint(node, Decided(reach, rules.NODE_GONE, {"server": server_id}), server_id)
        case Unknown(cause):
            return NodeEndpoint(node, Decided(Reach.WAITING, rules.NODE_UNKNOWN, {"cause": cause}), server_id)
        case found:
            return _on_server(node, found.value, network_id)


def _on_server(node: Node, server: Server, network_id: int, *, joins: bool = False) -> NodeEndpoint:
    facts = {"server": server.id, "network": network_id}
    if "private_net" in server.missing:
        unknown = Decided(Reach.WAITING, rules.ADDRESSES_UNKNOWN, facts)
        return NodeEndpoint(node, unknown, server.id, joins=joins)
    addresses = tuple(ip for attached, ip in server.private_ips if attached == network_id)
    aliases = tuple(ip for attached, ip in server.alias_ips if attached == network_id)
    if addresses:
        reached = Decided(Reach.REACHED, rules.REACHED, {**facts, "address": str(addresses[0])})
        return NodeEndpoint(node, reached, server.id, addresses, aliases, joins)
    # A server may get its network while its kubelet registers: that is no trouble yet.
    unattached = (
        Decided(Reach.WAITING, rules.UNATTACHED_JOINING, facts)
        if joins
        else Decided(Reach.UNATTACHED, rules.UNATTACHED, facts)
    )
    return NodeEndpoint(node, unattached, server.id, joins=joins)
