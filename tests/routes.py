"""Builders of pod routes: a network, Nodes with pod CIDRs, their servers in it, and a snapshot with all of it.

What has the number 3 is Node web-3 on server 3, with the gateway 10.0.0.4 and the pods 10.244.3.0/24.
"""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from ipaddress import IPv4Address, IPv4Network
from typing import Any

from desired.model.route import CONDITION_NETWORK, ROUTED, Member, MemberKind, NetworkCondition, Route
from desired.model.settings import Settings
from desired.model.snapshot import AddressType, Condition, Network, Node, NodeAddress, Server, Snapshot
from desired.routes.endpoints import destinations_of
from desired.section import Present, Section
from desired.syntax.provider_id import CloudID, parse_provider_id
from tests.builders import a_server, a_settled_node, a_snapshot

CLUSTER_CIDR = IPv4Network("10.244.0.0/16")
ROUTING = Settings(network="private", routes=True, cluster_cidr=CLUSTER_CIDR)
"""Settings with which routes are created, changed and removed."""
WITHOUT_RANGE = replace(ROUTING, cluster_cidr=None)
"""Settings without a cluster CIDR: no routes are managed."""


def pods_of(number: int = 1) -> str:
    """The pod CIDR of Node web-NUMBER."""
    return str(IPv4Network((int(CLUSTER_CIDR.network_address) + number * 256, 24)))


def gateway_of(number: int = 1) -> str:
    """The address of server NUMBER in the network."""
    return str(IPv4Address("10.0.0.1") + number)


def a_pod_network(*subnets: str, network_id: int = 4, name: str = "private") -> Network:
    """Network 4, 10.0.0.0/16 with the subnet 10.0.0.0/24 unless others are given."""
    ranges = tuple(map(IPv4Network, subnets or ("10.0.0.0/24",)))
    return Network(network_id, name, ranges, IPv4Network("10.0.0.0/16"))


def a_route(destination: str | int = 1, gateway: str | int | None = None) -> Route:
    """A route to the pods of a Node, by number or as text; by that Node's server unless another gateway is given, and
    by server 1 for a destination as text."""
    number = destination if isinstance(destination, int) else 1
    to = pods_of(destination) if isinstance(destination, int) else destination
    by = gateway if isinstance(gateway, str) else gateway_of(gateway or number)
    return Route(IPv4Network(to), IPv4Address(by))


def routes_of(*routes: Route, unreadable: Mapping[str, str] | None = None) -> Section[str, Route]:
    """All routes of a network; ``unreadable`` are destinations with why they could not be read."""
    items = {str(route.destination): route for route in routes}
    hidden = dict(unreadable or {})
    return Section(items, expected=len(items) + len(hidden), unreadable=hidden)


def a_member(ip: str, member_id: int = 99, kind: MemberKind = MemberKind.SERVER, *aliases: str) -> Member:
    """Something with an address in the network: a server, unless told otherwise."""
    return Member(kind, member_id, IPv4Address(ip), tuple(map(IPv4Address, aliases)))


def members_of(*members: Member) -> Section[int, Member]:
    """All members of a network."""
    return Section({int(member.ip): member for member in members}, expected=len(members))


def a_pod_node(
    number: int = 1, *pod_cidrs: str, says: NetworkCondition | None = ROUTED, name: str | None = None, **overrides: Any
) -> Node:
    """A Ready Node on ``a_pod_server(number)`` that needs nothing once there is a route to its pods.

    ``says`` is its condition NetworkUnavailable; None when nobody has written it. Without pods: ``pod_cidrs=()``.
    """
    name = name or f"web-{number}"
    node = a_settled_node(name, number)
    internal = NodeAddress(AddressType.INTERNAL_IP, gateway_of(number))
    network = (Condition(CONDITION_NETWORK, says.status, says.reason),) if says else ()
    routed: dict[str, Any] = {
        "pod_cidrs": pod_cidrs or (pods_of(number),),
        "addresses": (*node.addresses, internal),
        "conditions": (*node.conditions, *network),
    }
    return replace(node, **routed | overrides)


def a_pod_server(
    number: int = 1, *ips: str, aliases: Iterable[str] = (), network_id: int = 4, **overrides: Any
) -> Server:
    """Server web-NUMBER with one address in the network, or the ones given. Without any: ``private_ips=()``."""
    attached: dict[str, Any] = {
        "name": f"web-{number}",
        "private_ips": tuple((network_id, IPv4Address(ip)) for ip in ips or (gateway_of(number),)),
        "alias_ips": tuple((network_id, IPv4Address(ip)) for ip in aliases),
    }
    return a_server(number, **attached | overrides)


def a_routed_world(
    nodes: Iterable[Node] | None = None,
    servers: Iterable[Server] | None = None,
    routes: Iterable[Route] | Section[str, Route] | None = None,
    *,
    network: Network | None = None,
    members: Iterable[Member] | Section[int, Member] | None = None,
    **overrides: Any,
) -> Snapshot:
    """A snapshot of these, read whole but for sections that are given; unless told otherwise of the one Node web-1, of
    the Nodes' servers, and of a route to the pods of each. Without ``members`` nobody asked for them."""
    population = (a_pod_node(),) if nodes is None else tuple(nodes)
    fleet = tuple(_servers_of(population)) if servers is None else tuple(servers)
    there = tuple(_routes_to(population, fleet)) if routes is None else routes
    parts: dict[str, Any] = {
        "network": Present(network or a_pod_network()),
        "routes": there if isinstance(there, Section) else routes_of(*there),
        "members": members if members is None or isinstance(members, Section) else members_of(*members),
    }
    return a_snapshot(population, fleet, **parts | overrides)


def _servers_of(nodes: Iterable[Node]) -> Iterable[Server]:
    ids = {_server_id_of(node): node.name for node in reversed(tuple(nodes))}
    return (a_pod_server(server_id, name=name) for server_id, name in ids.items() if server_id is not None)


def _routes_to(nodes: Iterable[Node], servers: Iterable[Server]) -> Iterable[Route]:
    gateways = {server.id: server.private_ips[0][1] for server in servers if server.private_ips}
    return (
        Route(destination, gateways[server_id])
        for node in nodes
        if (server_id := _server_id_of(node)) in gateways
        for destination in destinations_of(node)
    )


def _server_id_of(node: Node) -> int | None:
    provider_id = parse_provider_id(node.provider_id or "")
    return provider_id.server_id if isinstance(provider_id, CloudID) else None
