"""Pod CIDRs of Nodes: ``spec.podCIDRs``, at most one of each family (Kubernetes core/v1 NodeSpec).

Hetzner's private networks are IPv4-only, so that an IPv6 range never gets a route, and does not count for the Node's
condition.
"""

from collections.abc import Iterable
from functools import lru_cache
from ipaddress import IPv4Network, IPv6Network, ip_network

from desired.model.snapshot import Node
from desired.syntax.bounds import RANGE


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
