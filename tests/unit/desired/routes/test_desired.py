"""The routes of the private network as a whole, and when nothing at all is decided on them."""

from collections.abc import Mapping
from dataclasses import replace
from ipaddress import IPv4Network
from typing import Any

import pytest

from desired.model.settings import Controller, Settings
from desired.model.snapshot import Node, Snapshot
from desired.plan.notes import NoteKind
from desired.routes.actions import RouteAction
from desired.routes.claims import RouteStatus
from desired.routes.desired import DesiredRoutes, why_covering, why_mismatched
from desired.section import Absent, Present, Section, Unknown
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


NOTHING = DesiredRoutes()


@pytest.mark.parametrize(
    ("parts", "settings"),
    [
        pytest.param({}, replace(ROUTING, controllers=frozenset({Controller.NODE})), id="left-to-another-controller"),
        pytest.param({"network": Present(None), "routes": None}, ROUTING, id="no-network-asked-for"),
        pytest.param({"network": Absent(), "routes": None}, ROUTING, id="no-such-network"),
        pytest.param({"network": Unknown("500"), "routes": Section.missing("500")}, ROUTING, id="network-unknown"),
        pytest.param({"network": Unknown("500"), "routes": None}, ROUTING, id="network-unknown-and-nothing-read"),
        pytest.param({"routes": None}, ROUTING, id="routes-not-read"),
    ],
)
def test_nothing_is_decided(parts: Mapping[str, Any], settings: Settings) -> None:
    """Missing, renamed, of another project, or not read: no route is touched, and no Node is told anything."""
    assert routing(replace(a_routed_world(BOTH, routes=[]), **parts), settings) == NOTHING


def test_switched_off() -> None:
    """Of routes nothing is left but what Nodes were told of them."""
    found = routing(a_routed_world(BOTH), replace(ROUTING, routes=False))
    assert replace(found, conditions={}) == NOTHING
    assert found.conditions.keys() == {"web-1", "web-2"}


def test_another_network() -> None:
    """Addresses in other networks are no gateways in this one."""
    world = a_routed_world(BOTH, routes=[], network=a_pod_network(network_id=7))
    assert {claim.status for claim in routing(world).claims} == {RouteStatus.UNROUTABLE}
    assert {note[1] for note in noted(world)} == {NoteKind.UNROUTABLE}


WHOLE = a_routed_world(BOTH)


@pytest.mark.parametrize(
    "world",
    [
        pytest.param(replace(WHOLE, nodes=incomplete(WHOLE.nodes)), id="nodes"),
        pytest.param(replace(WHOLE, servers=incomplete(WHOLE.servers)), id="servers"),
        pytest.param(replace(WHOLE, routes=incomplete(WHOLE.routes or routes_of())), id="routes"),
    ],
)
def test_gaps_do_not_make_routes_superfluous(world: Snapshot) -> None:
    """What was read decides as before: a list with a gap takes nothing from what is there."""
    assert routing(world).by_key == routing(WHOLE).by_key
    assert kinds_of(world) == {}


NINE = IPv4Network("10.9.0.0/16")


def mismatch(named: str, verb: str) -> str:
    """The sentence, with who has pods elsewhere."""
    return (
        f"--cluster-cidr is 10.9.0.0/16, and {named} {verb} pods outside of it: no route is removed until one"
        " of the two is corrected"
    )


@pytest.mark.parametrize(
    ("cluster_cidr", "nodes", "expected"),
    [
        pytest.param(CLUSTER_CIDR, BOTH, None, id="all-inside"),
        pytest.param(NINE, [], None, id="no-nodes"),
        pytest.param(NINE, [a_pod_node(1, "fd00::/64"), a_pod_node(2, "pods")], None, id="no-ipv4"),
        pytest.param(NINE, [a_pod_node(1)], mismatch("Node web-1 (10.244.1.0/24)", "has its"), id="one-outside"),
        pytest.param(
            NINE,
            [a_pod_node(1, "10.9.1.0/24"), a_pod_node(2)],
            mismatch("Node web-2 (10.244.2.0/24)", "has its"),
            id="one-of-two",
        ),
        pytest.param(
            NINE,
            BOTH,
            mismatch("Nodes web-1 (10.244.1.0/24), web-2 (10.244.2.0/24)", "have their"),
            id="two-outside",
        ),
        pytest.param(
            NINE,
            [a_pod_node(number) for number in range(1, 6)],
            mismatch(
                "Nodes web-1 (10.244.1.0/24), web-2 (10.244.2.0/24), web-3 (10.244.3.0/24) and 2 more", "have their"
            ),
            id="many",
        ),
        pytest.param(
            NINE, [a_pod_node(1, "10.8.0.0/15")], mismatch("Node web-1 (10.8.0.0/15)", "has its"), id="around-it"
        ),
        pytest.param(
            NINE,
            [a_pod_node(1, provider_id="hrobot://1")],
            mismatch("Node web-1 (10.244.1.0/24)", "has its"),
            id="whoever-the-node-is",
        ),
    ],
)
def test_mismatch(cluster_cidr: IPv4Network, nodes: list[Node], expected: str | None) -> None:
    """D15: a cluster CIDR that does not fit the Nodes is wrong, and nothing is removed on its word."""
    assert why_mismatched(cluster_cidr, nodes) == expected


def test_a_mismatch_is_told_with_the_routes() -> None:
    """It is part of what was decided, so that the guard need not find it again."""
    world, wrong = a_routed_world([a_pod_node(1)]), replace(ROUTING, cluster_cidr=NINE)
    assert routing(world, wrong).mismatch == why_mismatched(NINE, [a_pod_node(1)])
    assert routing(world, WITHOUT_RANGE) == DesiredRoutes()


def covers(cidr: str, subnet: str, pods: str = "") -> str:
    """The sentence; ``pods`` is where the Nodes have theirs."""
    return (
        f"--cluster-cidr is {cidr}, which covers subnet {subnet} of network net (4): no pod can have an address there,"
        " and routes of others would count as the cluster's. No route is created, changed or removed until it is the"
        " range from which the cluster gives its Nodes pod CIDRs"
    ) + (f"; the Nodes' pods are in {pods} so far" if pods else "")


@pytest.mark.parametrize(
    ("cluster_cidr", "subnets", "nodes", "expected"),
    [
        pytest.param("10.244.0.0/16", ["10.0.0.0/24"], BOTH, None, id="beside the subnet"),
        pytest.param("10.244.0.0/16", ["10.0.0.0/8"], BOTH, None, id="within a subnet, where Hetzner takes no route"),
        pytest.param("10.0.0.0/8", [], BOTH, None, id="no subnet"),
        pytest.param(
            "10.0.0.0/8", ["10.0.0.0/24"], BOTH, covers("10.0.0.0/8", "10.0.0.0/24", "10.244.0.0/22"), id="the network"
        ),
        pytest.param("10.0.0.0/24", ["10.0.0.0/24"], [], covers("10.0.0.0/24", "10.0.0.0/24"), id="the subnet itself"),
        pytest.param(
            "10.244.0.0/16",
            ["10.0.0.0/24", "10.244.255.0/24"],
            [],
            covers("10.244.0.0/16", "10.244.255.0/24"),
            id="one of several",
        ),
    ],
)
def test_a_cluster_cidr_over_a_subnet(
    cluster_cidr: str, subnets: list[str], nodes: list[Node], expected: str | None
) -> None:
    """Nothing is decided on any route or condition: whose they are could not be told."""
    network = replace(a_pod_network(), name="net", subnets=tuple(map(IPv4Network, subnets)))
    given = IPv4Network(cluster_cidr)

    assert why_covering(given, network, nodes) == expected
    world = replace(a_routed_world(nodes, routes=[a_route(9, "10.0.0.201")]), network=Present(network))
    found = routing(world, replace(ROUTING, cluster_cidr=given))
    assert (found == DesiredRoutes(error=expected)) is (expected is not None)


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
