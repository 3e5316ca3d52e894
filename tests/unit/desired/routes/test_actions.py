"""What becomes of each route that is there."""

from dataclasses import replace
from ipaddress import IPv4Address
from typing import Any

import pytest

from desired.model.load_balancer import Attachment
from desired.model.route import MemberKind, Route
from desired.model.settings import Settings
from desired.model.snapshot import Snapshot
from desired.routes.actions import GOING, RouteAction, RouteDecision
from desired.section import Section
from desired.syntax.selector import parse_selector
from tests.balancers import a_balancer
from tests.builders import a_lost_node, incomplete, nodes_of, servers_of
from tests.routes import (
    ROUTING,
    a_member,
    a_pod_node,
    a_pod_server,
    a_route,
    a_routed_world,
    members_of,
    pods_of,
)
from tests.support.route_decisions import decided

NODE, STRANGER = a_pod_node(), a_pod_server(8, aliases=["10.0.0.80"])
LOST = a_lost_node(pod_cidrs=(pods_of(),))
NAT, NOWHERE = "10.0.0.200", "10.0.0.201"
BALANCERS = Section({42: a_balancer(attachments=(Attachment(4, IPv4Address("10.0.0.60")),))})
SPARED = replace(ROUTING, ignore_nodes=parse_selector("example.com/spare"))
SPARE = {"example.com/spare": ""}


def a_mixed_world(*routes: Route, **parts: Any) -> Snapshot:
    """Node web-1, a server 8 that is no Node, a NAT gateway, a load balancer, and one address that nobody has."""
    whole: dict[str, Any] = {
        "nodes": [NODE],
        "servers": [a_pod_server(aliases=["10.0.0.50"]), STRANGER, a_pod_server(9, NAT, name="nat")],
        "members": [],
        "load_balancers": BALANCERS,
    }
    return a_routed_world(routes=routes, **whole | parts)


def fate_of(route: Route, snapshot: Snapshot, settings: Settings = ROUTING) -> RouteDecision:
    """What becomes of one of the snapshot's routes."""
    return decided(snapshot, settings)[str(route.destination)]


@pytest.mark.parametrize(
    ("route", "action", "why"),
    [
        pytest.param(a_route(1, 1), RouteAction.CLAIMED, "route-of-node", id="a-nodes-own"),
        pytest.param(a_route(1, NOWHERE), RouteAction.CLAIMED, "route-of-node", id="a-nodes-own-astray"),
        pytest.param(a_route(5, NOWHERE), RouteAction.DEAD, "route-to-no-owner", id="black-hole"),
        pytest.param(
            a_route("10.244.5.0/28", NOWHERE),
            RouteAction.DEAD,
            "route-to-no-owner",
            id="black-hole-of-any-size",
        ),
        pytest.param(
            a_route(5, 1),
            RouteAction.SUPERFLUOUS,
            "route-unneeded",
            id="no-nodes-pods-by-a-node",
        ),
        pytest.param(
            a_route("10.244.5.0/28", 1),
            RouteAction.SUPERFLUOUS,
            "route-unneeded",
            id="no-nodes-pods-by-a-node-of-any-size",
        ),
        pytest.param(
            a_route(5, 8),
            RouteAction.STRANGER,
            "route-unneeded",
            id="by-a-server-that-is-no-node",
        ),
        pytest.param(
            a_route("10.244.5.0/28", 8),
            RouteAction.FOREIGN,
            "route-of-other-size",
            id="by-a-server-that-is-no-node-of-another-size",
        ),
        pytest.param(a_route(5, "10.0.0.50"), RouteAction.FOREIGN, "route-to-other", id="by-an-alias"),
        pytest.param(
            a_route(5, "10.0.0.80"),
            RouteAction.FOREIGN,
            "route-to-other",
            id="by-a-strangers-alias",
        ),
        pytest.param(a_route(5, "10.0.0.60"), RouteAction.FOREIGN, "route-to-other", id="by-a-load-balancer"),
    ],
)
def test_routes_within_the_cluster_cidr(route: Route, action: RouteAction, why: str) -> None:
    """Who has the gateway decides whose the route is; what leads to nobody is a left-over of ours."""
    found = fate_of(route, a_mixed_world(route))
    assert (found.route, found.action, found.decided.rule.name) == (route, action, why)


@pytest.mark.parametrize("gateway", [1, 8, NAT, NOWHERE], ids=["a-node", "a-stranger", "nat", "nobody"])
@pytest.mark.parametrize(
    "destination",
    [
        pytest.param("10.0.0.0/8", id="one-around-both-ends"),
        pytest.param("10.244.0.0/15", id="one-around-the-first-end"),
        pytest.param("10.244.0.0/14", id="one-around-both-ends-narrowly"),
        pytest.param("10.245.0.0/24", id="the-next-range"),
        pytest.param("10.243.255.0/24", id="the-range-before"),
        pytest.param("10.96.0.0/12", id="services-of-the-cluster"),
        pytest.param("192.168.7.0/24", id="an-office"),
    ],
)
def test_hccm_deletes_routes_outside(destination: str, gateway: str | int) -> None:
    """HCCM looks at the two end addresses alone, and deletes 10.244.0.0/15: only what is inside the range is ours."""
    route = a_route(destination, gateway)
    found = fate_of(route, a_mixed_world(route))
    assert (found.action, found.decided.rule.name) == (RouteAction.FOREIGN, "route-outside")


@pytest.mark.parametrize("gateway", [1, 8, NAT, NOWHERE], ids=["a-node", "a-stranger", "nat", "nobody"])
def test_the_default_route(gateway: str | int) -> None:
    """It is a person's way out to the internet, whatever it leads to."""
    route = a_route("0.0.0.0/0", gateway)
    found = fate_of(route, a_mixed_world(route))
    assert (found.action, found.decided.rule.name) == (RouteAction.FOREIGN, "default-route")


@pytest.mark.parametrize(
    "route",
    [
        pytest.param(a_route(200, "10.0.0.50"), id="by-an-alias-of-a-node"),
        pytest.param(a_route(200, "10.0.0.80"), id="by-an-alias-of-another-server"),
        pytest.param(a_route(200, "10.0.0.60"), id="by-a-load-balancer"),
        pytest.param(a_route("10.244.200.0/28", NAT), id="by-a-living-server-that-is-no-node"),
        pytest.param(a_route("10.244.128.0/17", NAT), id="half-the-range-by-a-living-server-that-is-no-node"),
    ],
)
def test_hccm_deletes_routes_of_users_inside(route: Route) -> None:
    """HCCM deletes what a person routes inside the pod range: with a living gateway of another kind it is theirs."""
    assert fate_of(route, a_mixed_world(route)).action is RouteAction.FOREIGN


def test_hccm_deletes_routes_by_servers_that_are_no_nodes() -> None:
    """By its looks a living server's route may be a Node's that left the cluster: it never goes by itself."""
    route = a_route(200, NAT)
    assert fate_of(route, a_mixed_world(route)).action is RouteAction.STRANGER


@pytest.mark.parametrize(
    ("route", "parts", "action", "why"),
    [
        pytest.param(
            a_route(5, NOWHERE),
            {"members": None},
            RouteAction.UNCERTAIN,
            "owner-unasked",
            id="members-not-asked",
        ),
        pytest.param(
            a_route(5, NOWHERE),
            {"members": incomplete(members_of(), "429")},
            RouteAction.UNCERTAIN,
            "owner-unreadable",
            id="members-incomplete",
        ),
        pytest.param(
            a_route(5, NOWHERE),
            {"members": replace(members_of(), unreadable={1: "no type"})},
            RouteAction.UNCERTAIN,
            "owner-unreadable",
            id="a-member-unreadable",
        ),
        pytest.param(
            a_route(5, NOWHERE),
            {"members": [a_member(NOWHERE, 77)]},
            RouteAction.UNCERTAIN,
            "owner-unlisted",
            id="by-a-server-in-no-list",
        ),
        pytest.param(
            a_route(5, NOWHERE),
            {"members": [a_member(NOWHERE, 77, MemberKind.LOAD_BALANCER)]},
            RouteAction.FOREIGN,
            "route-to-other",
            id="by-a-load-balancer-in-no-list",
        ),
        pytest.param(
            a_route(5, 1),
            {"servers_section": incomplete(servers_of(), "node-unknown")},
            RouteAction.DEAD,
            "route-to-no-owner",
            id="servers-incomplete-and-no-member",
        ),
        pytest.param(
            a_route(5, 1),
            {"nodes_section": replace(nodes_of(NODE), unreadable={"web-5": "no uid"})},
            RouteAction.UNCERTAIN,
            "route-of-unreadable-node",
            id="a-hidden-node-and-a-nodes-gateway",
        ),
        pytest.param(
            a_route(5, 8),
            {"nodes_section": replace(nodes_of(NODE), unreadable={"web-9": "no uid", "web-5": "no uid"})},
            RouteAction.UNCERTAIN,
            "route-of-unreadable-node",
            id="hidden-nodes-and-a-strangers-gateway",
        ),
        pytest.param(
            a_route(5, NOWHERE),
            {"nodes_section": replace(nodes_of(NODE), unreadable={"web-5": "no uid"})},
            RouteAction.DEAD,
            "route-to-no-owner",
            id="a-hidden-node-and-nobody",
        ),
        pytest.param(
            a_route(5, 8),
            {"nodes": []},
            RouteAction.FOREIGN,
            "route-of-other-size",
            id="no-node-says-what-the-mask-is",
        ),
        pytest.param(
            a_route(5, 1),
            {"nodes": [a_pod_node(pod_cidrs=())]},
            RouteAction.FOREIGN,
            "route-without-pods",
            id="by-a-node-where-no-node-has-pods",
        ),
    ],
)
def test_what_is_not_known(route: Route, parts: dict[str, Any], action: RouteAction, why: str) -> None:
    """Unknown is not absent: what could not be read may be the one whose route it is."""
    found = fate_of(route, a_mixed_world(route, **parts))
    assert (found.action, found.decided.rule.name) == (action, why)


@pytest.mark.parametrize(
    ("route", "parts", "action", "node"),
    [
        pytest.param(
            a_route(1, 1), {"nodes": [LOST], "servers": []}, RouteAction.DEAD, "web-1", id="its-server-is-gone"
        ),
        pytest.param(
            a_route(1, 8),
            {"nodes": [LOST], "servers": [STRANGER]},
            RouteAction.CLAIMED,
            None,
            id="gone-and-led-elsewhere",
        ),
        pytest.param(
            a_route(1, 1),
            {"nodes": [a_pod_node()], "servers": []},
            RouteAction.CLAIMED,
            None,
            id="its-server-is-gone-and-its-kubelet-reports",
        ),
        pytest.param(
            a_route(1, 1),
            {"servers": [a_pod_server(private_ips=())]},
            RouteAction.CLAIMED,
            None,
            id="its-server-left-the-network-and-may-come-back",
        ),
        pytest.param(
            a_route(1, 1),
            {"nodes": [LOST, a_pod_node(2, pods_of(1))], "servers": [a_pod_server(2)]},
            RouteAction.CLAIMED,
            None,
            id="gone-but-another-has-the-pods",
        ),
        pytest.param(
            a_route(1, NOWHERE),
            {"nodes": [a_pod_node(provider_id="hrobot://1")]},
            RouteAction.CLAIMED,
            None,
            id="a-robots",
        ),
        pytest.param(
            a_route(1, NOWHERE), {"nodes": [a_pod_node(labels=SPARE)]}, RouteAction.CLAIMED, None, id="an-ignored-nodes"
        ),
        pytest.param(
            a_route(5, 1),
            {"nodes": [a_pod_node(labels=SPARE), a_pod_node(2)]},
            RouteAction.FOREIGN,
            None,
            id="by-an-ignored-node",
        ),
        pytest.param(a_route(5, 1), {}, RouteAction.SUPERFLUOUS, "web-1", id="by-a-node-that-has-other-pods"),
        pytest.param(a_route(5, 8), {}, RouteAction.STRANGER, None, id="by-no-node"),
        pytest.param(a_route(5, NOWHERE), {}, RouteAction.DEAD, None, id="of-no-node-by-nobody"),
        pytest.param(
            a_route("10.245.1.0/24", NOWHERE),
            {"nodes": [replace(LOST, pod_cidrs=("10.245.1.0/24",))], "servers": []},
            RouteAction.CLAIMED,
            None,
            id="of-a-lost-node-outside-the-cluster-cidr",
        ),
    ],
)
def test_routes_of_nodes(route: Route, parts: dict[str, Any], action: RouteAction, node: str | None) -> None:
    """A Node keeps the route to its pods as long as anybody may reach them; then it is a black hole like others."""
    found = fate_of(route, a_mixed_world(route, **parts), SPARED)
    assert (found.action, found.node) == (action, node)


def test_every_route_has_its_fate() -> None:
    """All of them are decided, in the order of destinations, and only what is ours goes."""
    routes = [a_route("0.0.0.0/0", NAT), a_route(10, NOWHERE), a_route(9, 8), a_route(5, 1), a_route(1, 1)]
    actions = {name: found.action for name, found in decided(a_mixed_world(*routes)).items()}
    expected = {
        "0.0.0.0/0": RouteAction.FOREIGN,
        pods_of(1): RouteAction.CLAIMED,
        pods_of(5): RouteAction.SUPERFLUOUS,
        pods_of(9): RouteAction.STRANGER,
        pods_of(10): RouteAction.DEAD,
    }
    assert list(actions.items()) == list(expected.items())
    assert frozenset(RouteAction) - {RouteAction.CLAIMED, RouteAction.FOREIGN, RouteAction.UNCERTAIN} == GOING
