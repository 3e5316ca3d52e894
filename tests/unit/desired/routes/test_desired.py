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


def is_nothing(routes: DesiredRoutes) -> bool:
    """Whether nothing is decided on routes."""
    return replace(routes, left=None, conditions={}) == DesiredRoutes()


@pytest.mark.parametrize(
    ("parts", "settings", "why"),
    [
        pytest.param(
            {},
            replace(ROUTING, controllers=frozenset({Controller.NODE})),
            "routes-controller-off",
            id="left-to-another-controller",
        ),
        pytest.param({}, replace(ROUTING, network=None), "routes-network-unset", id="no-network-asked-for"),
        pytest.param({"network": Absent(), "routes": None}, ROUTING, "routes-network-missing", id="no-such-network"),
        pytest.param(
            {"network": Unknown("500"), "routes": Section.missing("500")},
            ROUTING,
            "routes-network-unread",
            id="network-unknown",
        ),
        pytest.param(
            {"network": Unknown("500"), "routes": None},
            ROUTING,
            "routes-network-unread",
            id="network-unknown-and-nothing-read",
        ),
        pytest.param({}, WITHOUT_RANGE, "routes-cidr-unset", id="no-cluster-cidr"),
        pytest.param({"routes": None}, ROUTING, "routes-unread", id="routes-not-read"),
    ],
)
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


def mismatch(named: str) -> str:
    """The sentence, with who has pods elsewhere."""
    return (
        f"--cluster-cidr 10.9.0.0/16 does not have the pods of {named} in it, and no route is removed; correct"
        " --cluster-cidr or the Nodes' pod CIDRs"
    )


@pytest.mark.parametrize(
    ("cluster_cidr", "nodes", "expected"),
    [
        pytest.param(CLUSTER_CIDR, BOTH, None, id="all-inside"),
        pytest.param(NINE, [], None, id="no-nodes"),
        pytest.param(NINE, [a_pod_node(1, "fd00::/64"), a_pod_node(2, "pods")], None, id="no-ipv4"),
        pytest.param(NINE, [a_pod_node(1)], mismatch("web-1 (10.244.1.0/24)"), id="one-outside"),
        pytest.param(
            NINE,
            [a_pod_node(1, "10.9.1.0/24"), a_pod_node(2)],
            mismatch("web-2 (10.244.2.0/24)"),
            id="one-of-two",
        ),
        pytest.param(
            NINE,
            BOTH,
            mismatch("web-1 (10.244.1.0/24), web-2 (10.244.2.0/24)"),
            id="two-outside",
        ),
        pytest.param(
            NINE,
            [a_pod_node(number) for number in range(1, 6)],
            mismatch("web-1 (10.244.1.0/24), web-2 (10.244.2.0/24), web-3 (10.244.3.0/24) and 2 more"),
            id="many",
        ),
        pytest.param(NINE, [a_pod_node(1, "10.8.0.0/15")], mismatch("web-1 (10.8.0.0/15)"), id="around-it"),
        pytest.param(
            NINE,
            [a_pod_node(1, provider_id="hrobot://1")],
            mismatch("web-1 (10.244.1.0/24)"),
            id="whoever-the-node-is",
        ),
    ],
)
def test_mismatch(cluster_cidr: IPv4Network, nodes: list[Node], expected: str | None) -> None:
    """D15: a cluster CIDR that does not fit the Nodes is wrong, and nothing is removed on its word."""
    found = why_mismatched(cluster_cidr, nodes)
    assert (found.text if found else None) == expected


def test_a_mismatch_is_told_with_the_routes() -> None:
    """It is part of what was decided, so that the guard need not find it again."""
    world, wrong = a_routed_world([a_pod_node(1)]), replace(ROUTING, cluster_cidr=NINE)
    assert routing(world, wrong).mismatched == why_mismatched(NINE, [a_pod_node(1)])


def covers(cidr: str, subnet: str, pods: str = "") -> str:
    """The sentence; ``pods`` is where the Nodes have theirs."""
    return (
        f"--cluster-cidr {cidr} covers subnet {subnet} of network net (4), where pods cannot have addresses, and routes"
        " of others would count as the cluster's; set it to the range from which the cluster gives its Nodes pod CIDRs"
    ) + (f" (these are in {pods} so far)" if pods else "")


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

    covering = why_covering(given, network, nodes)
    assert (covering.text if covering else None) == expected
    world = replace(a_routed_world(nodes, routes=[a_route(9, "10.0.0.201")]), network=Present(network))
    found = routing(world, replace(ROUTING, cluster_cidr=given))
    assert (found.error, is_nothing(found)) == (expected, expected is not None)


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
