"""Who has an address of the network, and who is asked."""

from dataclasses import replace
from ipaddress import IPv4Address, IPv4Network
from typing import Any

from desired.model.load_balancer import Attachment, CloudBalancer
from desired.model.route import MemberKind, Route
from desired.model.settings import Controller, Settings
from desired.model.snapshot import AddressType, Node, NodeAddress, Server, Snapshot
from desired.routes.endpoints import node_endpoints
from desired.routes.owners import AddressHolding, AddressOwner, Gateways, RoutedNetwork, asks_for_members
from desired.section import Present, Section, Unknown
from desired.syntax.selector import parse_selector
from tests.balancers import a_balancer
from tests.builders import incomplete, servers_of
from tests.routes import (
    CLUSTER_CIDR,
    ROUTING,
    WITHOUT_RANGE,
    a_member,
    a_pod_network,
    a_pod_node,
    a_pod_server,
    a_route,
    a_routed_world,
    members_of,
    pods_of,
)
from tests.support.rows import rows

ADDRESS = "10.0.0.77"
SPARED = replace(ROUTING, ignore_nodes=parse_selector("example.com/spare"))
SPARE = {"example.com/spare": ""}
NOBODY = AddressOwner(AddressHolding.NO_OWNER, ADDRESS)
OURS = a_balancer(attachments=(Attachment(4, IPv4Address(ADDRESS)),))
BALANCED = a_balancer(cluster_uid=None, attachments=(Attachment(4, IPv4Address(ADDRESS)),))


def holder_of(snapshot: Snapshot, settings: Settings = SPARED) -> AddressOwner | tuple[AddressHolding, str]:
    """Who has 10.0.0.77."""
    endpoints = node_endpoints(snapshot, settings, {}, 4)
    found = RoutedNetwork(snapshot, a_pod_network(), CLUSTER_CIDR, endpoints).owner_of(IPv4Address(ADDRESS))
    return (found.holding, found.unknown.rule.name) if found.unknown else found


def world_of(*servers: Server, nodes: tuple[Node, ...] = (), **parts: Any) -> Snapshot:
    """These servers, in a network of which it was asked who its members are: nobody, unless told otherwise."""
    return a_routed_world(nodes, servers, [], **{"members": []} | parts)


def balanced(*balancers: CloudBalancer) -> Section[int, CloudBalancer]:
    return Section({balancer.id: balancer for balancer in balancers})


def unknown(row: str) -> tuple[AddressHolding, str]:
    return AddressHolding.UNKNOWN, row


def alias_of(server: int) -> AddressOwner:
    return AddressOwner(AddressHolding.ALIAS, f"alias address of server {server}")


def balancer(number: int) -> AddressOwner:
    return AddressOwner(AddressHolding.LOAD_BALANCER, f"load balancer {number}")


OUR_BALANCER = AddressOwner(AddressHolding.OUR_BALANCER, "load balancer 42")
OF_WEB_3 = AddressOwner(AddressHolding.NODE, "server 3 of Node web-3", "web-3")
STRANGER = AddressOwner(AddressHolding.SERVER, "server 3 (no Node of this cluster)")
THERE = a_member(ADDRESS, 3)
IGNORED = AddressOwner(AddressHolding.IGNORED, "server 3 (Node ignored)")
HAS, ELSEWHERE = a_pod_server(3, ADDRESS), replace(BALANCED, attachments=(Attachment(7, IPv4Address(ADDRESS)),))
A, B, WEB_3 = a_pod_node(3, name="a"), a_pod_node(3, name="b"), a_pod_node(3)


@rows("snapshot expected", {
    "a-nodes-server": (world_of(HAS, nodes=(WEB_3,)), OF_WEB_3),
    "of-two-nodes": (world_of(HAS, nodes=(B, A)), replace(OF_WEB_3, what="server 3 of Node a", node="a")),
    "a-server-that-is-no-node": (world_of(HAS), STRANGER),
    "an-ignored-nodes-server": (world_of(HAS, nodes=(replace(WEB_3, labels=SPARE),)), IGNORED),
    "of-two-nodes-one-ignored": (world_of(HAS, nodes=(A, replace(B, labels=SPARE))), IGNORED),
    "an-alias": (world_of(a_pod_server(3, aliases=[ADDRESS]), nodes=(WEB_3,)), alias_of(3)),
    "a-load-balancer": (world_of(load_balancers=balanced(BALANCED)), balancer(42)),
    "our-load-balancer": (world_of(load_balancers=balanced(OURS)), OUR_BALANCER),
    "a-load-balancer-of-an-unknown-cluster": (world_of(load_balancers=balanced(OURS), cluster_uid=Unknown("403")),
        balancer(42)),
    "in-another-network": (world_of(a_pod_server(3, ADDRESS, network_id=7)), NOBODY),
    "a-load-balancer-in-another-network": (world_of(load_balancers=balanced(ELSEWHERE)), NOBODY),
    "nobody": (world_of(), NOBODY),
})  # fmt: skip
def test_owners_by_the_lists(snapshot: Snapshot, expected: AddressOwner) -> None:
    """Servers and load balancers have their addresses, in this network, by the server and never by a name."""
    assert holder_of(snapshot) == expected


BROKEN = {"servers_section": replace(servers_of(), unreadable={8: "no name"})}


@rows("members parts expected", {
    "not-asked": (None, {}, unknown("owner-unasked")),
    "only-others": ([a_member("10.0.0.78")], {}, NOBODY),
    "a-load-balancer-in-no-list": ([a_member(ADDRESS, 8, MemberKind.LOAD_BALANCER)], {}, balancer(8)),
    "an-alias": ([a_member("10.0.0.9", 8, MemberKind.SERVER, "10.0.0.10", ADDRESS)], {}, alias_of(8)),
    "a-server-that-the-list-lacks": ([a_member(ADDRESS, 8)], {}, unknown("owner-unlisted")),
    "a-server-that-could-not-be-read": ([a_member(ADDRESS, 8)], BROKEN, unknown("owner-unlisted")),
    "attached-just-now": ([THERE], {"servers": [a_pod_server(3)], "nodes": [a_pod_node(3)]}, OF_WEB_3),
    "members-not-read": (Section.missing("403"), {}, unknown("owner-unreadable")),
    "an-unreadable-member": (replace(members_of(), unreadable={1: "no type"}), {}, unknown("owner-unreadable")),
    "found-beside-a-gap": (incomplete(members_of(THERE)), {"servers": [a_pod_server(3)]}, STRANGER),
    "a-gap-among-the-servers": ([], {"servers_section": incomplete(servers_of(), "429")}, NOBODY),
})  # fmt: skip
def test_owners_by_the_members(members: Any, parts: dict[str, Any], expected: AddressOwner | tuple[str, str]) -> None:
    """An address has no owner only when the network's own list, read whole, has none with it."""
    world = a_routed_world(**{"nodes": [], "servers": [], "routes": [], "members": members, **parts})
    assert holder_of(world) == expected


@rows("routes asks", {
    "no-routes": ([], False),
    "by-servers": ([a_route(1, 1), a_route("10.244.0.0/28", 1)], False),
    "by-an-alias": ([a_route(5, "10.0.0.9")], False),
    "by-whom-no-list-shows": ([a_route(5, ADDRESS)], True),
    "outside": ([a_route("10.245.0.0/24", ADDRESS)], False),
    "the-default-route": ([a_route("0.0.0.0/0", ADDRESS)], False),
})  # fmt: skip
def test_asking_for_members(routes: list[Route], asks: bool) -> None:
    """One more call is made only when a route that may have to go leads to an address that nobody seems to have."""
    world = a_routed_world([a_pod_node()], [a_pod_server(aliases=["10.0.0.9"])], routes)
    assert asks_for_members(world, ROUTING) is asks


BLACK_HOLE = a_routed_world(routes=[a_route(5, ADDRESS)])


@rows("snapshot settings", {
    "no-cluster-cidr-so-nothing-goes": (BLACK_HOLE, WITHOUT_RANGE),
    "controller-off": (BLACK_HOLE, replace(ROUTING, controllers=frozenset({Controller.NODE}))),
    "no-network-asked-for": (replace(BLACK_HOLE, network=Present(None)), ROUTING),
    "no-routes-read": (replace(BLACK_HOLE, routes=None), ROUTING),
})  # fmt: skip
def test_when_nobody_is_asked(snapshot: Snapshot, settings: Settings) -> None:
    """Where no route can go, nothing depends on the answer."""
    assert not asks_for_members(snapshot, settings)


@rows("reports pods network_has expected", {
    "of-the-node-that-reports-it": ([1], [], {5}, (1,)),
    "of-the-networks-servers-where-none-reports-it": ([], [2], {5}, (2, 5)),
    "without-a-network": ([], [2], None, (2,)),
    "a-listed-server-that-reports-it-is-no-witness": ([3], [], {3, 5}, (5,)),
})  # fmt: skip
def test_last_holders(reports: list[int], pods: list[int], network_has: set[int] | None, expected: tuple[int]) -> None:
    """Servers that no list shows and that may be behind a route, by their Nodes, else by the network."""
    published = (NodeAddress(AddressType.INTERNAL_IP, ADDRESS),)
    nodes = [a_pod_node(number, addresses=published) for number in reports]
    nodes += [a_pod_node(number, pods_of(5)) for number in pods]
    world = a_routed_world(nodes, [a_pod_server(3)], [])
    network = None if network_has is None else replace(a_pod_network(), server_ids=frozenset(network_has))
    gateways = Gateways(replace(world, network=Present(network)))
    assert gateways.last_holders(IPv4Address(ADDRESS), IPv4Network(pods_of(5))) == expected


def test_an_address_that_is_listed_has_no_last_holders() -> None:
    """Nothing is presumed to be gone while a server or a load balancer has it."""
    for world in (a_routed_world([], [a_pod_server(3, ADDRESS)]), world_of(load_balancers=balanced(BALANCED))):
        assert Gateways(world).is_held(IPv4Address(ADDRESS))
        assert Gateways(world).last_holders(IPv4Address(ADDRESS), IPv4Network(pods_of(5))) == ()
