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
from desired.section import Absent, Unknown
from desired.syntax.bounds import RANGE
from desired.syntax.provider_id import CloudID, parse_provider_id


@lru_cache(maxsize=16_384)
def parse_pod_cidr(text: str) -> IPv4Network | IPv6Network | None:
    """The range that ``text`` means, bits of hosts in it left out (10.244.1.5/24 is 10.244.1.0/24); None when it means
    none: an address alone is no range."""
    if RANGE.is_exceeded(text) or "/" not in text:
        return None
    try:
        return ip_network(text, strict=False)
    except ValueError:
        return None


def destinations_of(node: Node) -> tuple[IPv4Network, ...]:
    """The IPv4 ranges of the Node's pods, each once, in the order in which they were assigned."""
    parsed = map(parse_pod_cidr, node.pod_cidrs)
    return tuple(dict.fromkeys(cidr for cidr in parsed if isinstance(cidr, IPv4Network)))


def ipv6_of(node: Node) -> tuple[IPv6Network, ...]:
    """The IPv6 ranges of the Node's pods."""
    return tuple(cidr for cidr in map(parse_pod_cidr, node.pod_cidrs) if isinstance(cidr, IPv6Network))


def malformed_of(node: Node) -> tuple[str, ...]:
    """The entries that are no range at all."""
    return tuple(text for text in node.pod_cidrs if parse_pod_cidr(text) is None)


def node_masks(nodes: Iterable[Node]) -> frozenset[int]:
    """The prefix lengths that the cluster gives its Nodes: usually one; empty when no Node has an IPv4 range."""
    return frozenset(destination.prefixlen for node in nodes for destination in destinations_of(node))


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
    reach: Reach
    why: str = ""
    """One sentence for people, "" for a Node that is reached. It names no Node."""
    server_id: int | None = None
    """None for one that has, or is to have, no server of this cloud."""
    addresses: tuple[IPv4Address, ...] = ()
    """The server's own ones in the network. The first is the gateway to the pods."""
    aliases: tuple[IPv4Address, ...] = ()
    """Further ones that lead to the same server."""
    joins: bool = False
    """Whether ``node.initialise`` is part of the same plan: the server is the one that the Node will have."""

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
        return NodeEndpoint(node, Reach.IGNORED, "ignored by --ignore-nodes", server_id)
    if isinstance(desired, UninitializedNode):
        return _on_server(node, desired.server, network_id, joins=True)
    if is_uninitialized(node):
        return NodeEndpoint(node, Reach.WAITING, "the Node is not initialized", server_id)
    if server_id is None:
        return NodeEndpoint(node, Reach.ELSEWHERE, "its providerID names no server of Hetzner Cloud")
    match snapshot.servers.find(server_id):
        case Absent():
            return _without_server(node, server_id)
        case Unknown(why):
            return NodeEndpoint(node, Reach.WAITING, why, server_id)
        case found:
            return _on_server(node, found.value, network_id)


def _on_server(node: Node, server: Server, network_id: int, *, joins: bool = False) -> NodeEndpoint:
    if "private_net" in server.missing:
        why = f"the API did not say which private addresses server {server.id} has"
        return NodeEndpoint(node, Reach.WAITING, why, server.id, joins=joins)
    addresses = tuple(ip for attached, ip in server.private_ips if attached == network_id)
    aliases = tuple(ip for attached, ip in server.alias_ips if attached == network_id)
    if addresses:
        return NodeEndpoint(node, Reach.REACHED, "", server.id, addresses, aliases, joins)
    why = f"server {server.id} is not attached to network {network_id}"
    # A server may get its network while its kubelet registers: that is no trouble yet.
    return NodeEndpoint(node, Reach.WAITING if joins else Reach.UNATTACHED, why, server.id, joins=joins)


def _without_server(node: Node, server_id: int) -> NodeEndpoint:
    """The endpoint of a Node whose server the list lacks. The server is not gone while the kubelet on it reports: then
    the list is wrong."""
    why = f"no server of the project has the id {server_id}"
    return NodeEndpoint(node, Reach.WAITING if node.ready is Readiness.TRUE else Reach.GONE, why, server_id)
