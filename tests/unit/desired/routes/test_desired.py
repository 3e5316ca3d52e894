"""The routes of the private network as a whole, and when nothing at all is decided on them."""

from collections.abc import Mapping
from dataclasses import replace
from ipaddress import IPv4Network
from typing import Any

from desired.model.settings import Controller, Settings
from desired.model.snapshot import Node, Snapshot
from desired.plan.notes import NoteKind
from desired.routes.actions import RouteAction
from desired.routes.claims import RouteStatus
from desired.routes.desired import DesiredRoutes, why_covering, why_mismatched
from desired.section import Absent, Present, Unknown
from tests.builders import incomplete
from tests.routes import (
    CLUSTER_CIDR,
    ROUTING,
    WITHOUT_RANGE,
    a_pod_network,
    a_pod_node,
    a_pod_server,
    a_route,
    a_routed_world,
    pods_of,
    routes_of,
)
from tests.support.route_decisions import kinds_of, noted, routing
from tests.support.rows import rows

BOTH = [a_pod_node(1), a_pod_node(2)]


def test_a_world_in_order() -> None:
    """What is as it should be leaves nothing to do and nothing to say, whoever made it so."""
    world = a_routed_world(BOTH)
    assert kinds_of(world) == {}
    assert noted(world) == []


def test_all_in_one() -> None:
    """Places, claims, fates and conditions are of the same world."""
    routes = [a_route(1), a_route(9, "10.0.0.201"), a_route("192.168.0.0/24", 1)]
    found = routing(a_routed_world(BOTH, routes=routes, members=[]))

    assert found.network == a_pod_network()
    assert [endpoint.node.name for endpoint in found.endpoints] == ["web-1", "web-2"]
    assert [claim.status for claim in found.claims] == [RouteStatus.SERVED, RouteStatus.MISSING]
    assert {key: decided.action for key, decided in found.by_key.items()} == {
        "route/4/10.244.1.0/24": RouteAction.CLAIMED,
        "route/4/10.244.9.0/24": RouteAction.DEAD,
        "route/4/192.168.0.0/24": RouteAction.FOREIGN,
    }
    assert found.conditions.keys() == {"web-1", "web-2"}
    assert found.mismatch is None


def is_nothing(routes: DesiredRoutes) -> bool:
    return replace(routes, left=None, conditions={}) == DesiredRoutes()


NODE_ALONE = replace(ROUTING, controllers=frozenset({Controller.NODE}))


@rows("parts settings why", {
    "left-to-another-controller": ({}, NODE_ALONE, "controller-off"),
    "no-network-asked-for": ({}, replace(ROUTING, network=None), "routes-network-unset"),
    "no-such-network": ({"network": Absent(), "routes": None}, ROUTING, "routes-network-missing"),
    "network-unknown": ({"network": Unknown("500"), "routes": None}, ROUTING, "routes-network-unread"),
    "no-cluster-cidr": ({}, WITHOUT_RANGE, "routes-cidr-unset"),
    "routes-not-read": ({"routes": None}, ROUTING, "routes-unread"),
})  # fmt: skip
def test_nothing_is_decided(parts: Mapping[str, Any], settings: Settings, why: str) -> None:
    """Missing, renamed, of another project, or not read: no route is touched, and no Node is told anything."""
    found = routing(replace(a_routed_world(BOTH, routes=[]), **parts), settings)
    assert is_nothing(found)
    assert (found.conditions, found.left and found.left.rule.name) == ({}, why)


def test_switched_off() -> None:
    """Of routes nothing is left but what Nodes were told of them."""
    found = routing(a_routed_world(BOTH), replace(ROUTING, routes=False))
    assert is_nothing(found)
    assert found.conditions.keys() == {"web-1", "web-2"}


def test_another_network() -> None:
    """Addresses in other networks are no gateways in this one."""
    world = a_routed_world(BOTH, routes=[], network=a_pod_network(network_id=7))
    assert {claim.status for claim in routing(world).claims} == {RouteStatus.UNROUTABLE}
    assert {note[1] for note in noted(world)} == {NoteKind.UNROUTABLE}


WHOLE = a_routed_world(BOTH)


@rows("world", {
    "nodes": replace(WHOLE, nodes=incomplete(WHOLE.nodes)),
    "servers": replace(WHOLE, servers=incomplete(WHOLE.servers)),
    "routes": replace(WHOLE, routes=incomplete(WHOLE.routes or routes_of())),
})  # fmt: skip
def test_gaps_do_not_make_routes_superfluous(world: Snapshot) -> None:
    """What was read decides as before: a list with a gap takes nothing from what is there."""
    assert routing(world).by_key == routing(WHOLE).by_key
    assert kinds_of(world) == {}


NINE = IPv4Network("10.9.0.0/16")


@rows("cluster_cidr nodes named", {
    "all-inside": (CLUSTER_CIDR, BOTH, None),
    "no-ipv4": (NINE, [a_pod_node(1, "fd00::/64"), a_pod_node(2, "pods")], None),
    "one-of-two": (NINE, [a_pod_node(1, "10.9.1.0/24"), a_pod_node(2)], "web-2 (10.244.2.0/24)"),
    "around-it": (NINE, [a_pod_node(1, "10.8.0.0/15")], "web-1 (10.8.0.0/15)"),
    "of-any-provider": (NINE, [a_pod_node(1, provider_id="hrobot://1")], "web-1 (10.244.1.0/24)"),
})  # fmt: skip
def test_mismatch(cluster_cidr: IPv4Network, nodes: list[Node], named: str | None) -> None:
    """D15: a cluster CIDR that does not fit the Nodes is wrong, and nothing is removed on its word."""
    found = why_mismatched(cluster_cidr, nodes)
    assert (found.facts["nodes"] if found else None) == named


def test_a_mismatch_of_many_nodes_names_three() -> None:
    """The others are counted."""
    found = why_mismatched(NINE, [a_pod_node(number) for number in range(1, 6)])
    assert found is not None
    assert found.text.startswith(
        "--cluster-cidr 10.9.0.0/16 does not contain the pods of web-1 (10.244.1.0/24), web-2 ("
    )
    assert "web-3 (10.244.3.0/24) and 2 more (no route" in found.text


def test_a_mismatch_is_told_with_the_routes() -> None:
    """It is part of what was decided, so that the guard need not find it again."""
    world, wrong = a_routed_world([a_pod_node(1)]), replace(ROUTING, cluster_cidr=NINE)
    assert routing(world, wrong).mismatched == why_mismatched(NINE, [a_pod_node(1)])


@rows("cluster_cidr subnets nodes covered", {
    "beside the subnet": ("10.244.0.0/16", ["10.0.0.0/24"], BOTH, None),
    "within a subnet, where Hetzner takes no route": ("10.244.0.0/16", ["10.0.0.0/8"], BOTH, None),
    "no subnet": ("10.0.0.0/8", [], BOTH, None),
    "the network": ("10.0.0.0/8", ["10.0.0.0/24"], BOTH, "10.0.0.0/24"),
    "the subnet itself": ("10.0.0.0/24", ["10.0.0.0/24"], [], "10.0.0.0/24"),
    "one of several": ("10.244.0.0/16", ["10.0.0.0/24", "10.244.255.0/24"], [], "10.244.255.0/24"),
})  # fmt: skip
def test_a_cluster_cidr_over_a_subnet(
    cluster_cidr: str, subnets: list[str], nodes: list[Node], covered: str | None
) -> None:
    """Nothing is decided on any route or condition: whose they are could not be told."""
    network = replace(a_pod_network(), name="net", subnets=tuple(map(IPv4Network, subnets)))
    given = IPv4Network(cluster_cidr)

    found = why_covering(given, network, nodes)
    assert (found.facts["subnet"] if found else None) == covered
    assert not found or found.facts.get("pods") == ("10.244.0.0/22" if nodes else None)
    world = replace(a_routed_world(nodes, routes=[a_route(9, "10.0.0.201")]), network=Present(network))
    routes = routing(world, replace(ROUTING, cluster_cidr=given))
    assert (routes.error, is_nothing(routes)) == (found.text if found else None, covered is not None)


def test_the_order_of_the_input_does_not_matter() -> None:
    """The same world in another order is the same decision."""
    nodes = [a_pod_node(number) for number in range(1, 6)]
    servers = [a_pod_server(number) for number in range(1, 6)]
    routes = [a_route(1, 2), a_route(2, 2), *(a_route(number, "10.0.0.201") for number in (3, 9))]
    forwards = a_routed_world(nodes, servers, routes, members=[])
    backwards = a_routed_world(nodes[::-1], servers[::-1], routes[::-1], members=[])
    assert routing(backwards) == routing(forwards)
    assert list(routing(backwards).decided) == list(routing(forwards).decided)
    assert kinds_of(forwards)[f"route/4/{pods_of(9)}"] == "route.delete"
