"""Which route each pod CIDR needs, and what keeps it from having one."""

from dataclasses import replace
from ipaddress import IPv4Address, IPv4Network
from typing import Any

import pytest

from desired.model.load_balancer import Attachment
from desired.model.route import Route
from desired.model.settings import Settings
from desired.model.snapshot import Node, Snapshot
from desired.routes.claims import FAILING, UNDECIDED, Ranges, RouteClaim, RouteStatus, why_impossible
from desired.section import Section
from desired.syntax.selector import parse_selector
from tests.balancers import a_balancer
from tests.builders import a_joining_node, a_lost_node, incomplete, nodes_of, servers_of
from tests.routes import (
    ROUTING,
    a_member,
    a_pod_network,
    a_pod_node,
    a_pod_server,
    a_route,
    a_routed_world,
    gateway_of,
    members_of,
    pods_of,
    routes_of,
)
from tests.support.route_decisions import claimed

NOWHERE = "10.0.0.201"
LOST = a_lost_node(pod_cidrs=(pods_of(),))
HIDDEN = replace(nodes_of(a_pod_node()), unreadable={"web-5": "no uid"})
SPARED = replace(ROUTING, ignore_nodes=parse_selector("example.com/spare"))


def only_claim(snapshot: Snapshot, settings: Settings = ROUTING) -> RouteClaim:
    """The claim of the only pod CIDR of Node web-1."""
    (claim,) = (claim for (name, _), claim in claimed(snapshot, settings).items() if name == "web-1")
    return claim


def standings(snapshot: Snapshot, settings: Settings = ROUTING) -> dict[str, RouteStatus]:
    """Node → standing, of Nodes with one pod CIDR each."""
    return {name: claim.status for (name, _), claim in claimed(snapshot, settings).items()}


@pytest.mark.parametrize(
    ("route", "parts", "status", "why"),
    [
        pytest.param(a_route(), {}, RouteStatus.SERVED, "pods-served", id="by-its-server"),
        pytest.param(
            a_route(),
            {"servers": [a_pod_server(name="renamed")]},
            RouteStatus.SERVED,
            "pods-served",
            id="by-its-server-under-another-name",
        ),
        pytest.param(
            a_route(1, "10.0.0.3"),
            {"servers": [a_pod_server(1, "10.0.0.2", "10.0.0.3")]},
            RouteStatus.SERVED,
            "pods-served",
            id="by-its-second-address",
        ),
        pytest.param(
            a_route(1, "10.0.0.9"),
            {"servers": [a_pod_server(aliases=["10.0.0.9"])]},
            RouteStatus.SERVED,
            "pods-served",
            id="by-its-alias",
        ),
        pytest.param(None, {}, RouteStatus.MISSING, "pods-missing", id="none"),
        pytest.param(a_route(2), {}, RouteStatus.MISSING, "pods-missing", id="only-others"),
        pytest.param(
            a_route("0.0.0.0/0", "10.0.0.77"), {}, RouteStatus.MISSING, "pods-missing", id="the-default-route"
        ),
        pytest.param(
            a_route(1, 2),
            {"servers": [a_pod_server(), a_pod_server(2)]},
            RouteStatus.MISLED,
            "pods-misled",
            id="by-a-server-that-is-no-node",
        ),
        pytest.param(
            a_route(1, 2),
            {"nodes": [a_pod_node(), a_pod_node(2)]},
            RouteStatus.MISLED,
            "pods-misled",
            id="by-another-node",
        ),
        pytest.param(
            a_route(1, 2),
            {"servers": [a_pod_server(), a_pod_server(2, name="web-1")]},
            RouteStatus.MISLED,
            "pods-misled",
            id="by-a-server-that-has-its-name",
        ),
        pytest.param(a_route(1, NOWHERE), {}, RouteStatus.MISLED, "pods-misled-to-no-owner", id="by-nobody"),
        pytest.param(
            a_route(1, NOWHERE),
            {"nodes_section": HIDDEN},
            RouteStatus.MISLED,
            "pods-misled-to-no-owner",
            id="by-nobody-beside-a-hidden-node",
        ),
    ],
)
def test_routes_of_a_node(route: Route | None, parts: dict[str, Any], status: RouteStatus, why: str) -> None:
    """The server of the providerID is compared with the gateway: names have no say, so that nothing flaps."""
    claim = only_claim(a_routed_world(routes=[route] if route else [], **{"members": []} | parts))
    assert (claim.status, claim.decided.rule.name) == (status, why)
    assert claim.present == (route.gateway if route and str(route.destination) == pods_of() else None)
    assert str(claim.gateway) == gateway_of()
    assert claim.after == ()


@pytest.mark.parametrize(
    ("route", "parts", "status", "why"),
    [
        pytest.param(
            a_route(1, 2),
            {"servers": [a_pod_server(), a_pod_server(2)], "nodes_section": HIDDEN},
            RouteStatus.UNKNOWN,
            "pods-of-unreadable-node",
            id="a-hidden-node-may-have-it",
        ),
        pytest.param(
            a_route(1, 2),
            {
                "servers": [a_pod_server(), a_pod_server(2)],
                "nodes_section": incomplete(nodes_of(a_pod_node()), "1 Node could not be read, name included"),
            },
            RouteStatus.UNKNOWN,
            "pods-of-unreadable-node",
            id="a-nameless-node-may-have-it",
        ),
        pytest.param(
            a_route(1, NOWHERE),
            {"members": None},
            RouteStatus.UNKNOWN,
            "owner-unasked",
            id="not-asked",
        ),
        pytest.param(
            a_route(1, NOWHERE),
            {"members": incomplete(members_of(), "429")},
            RouteStatus.UNKNOWN,
            "owner-unreadable",
            id="members-incomplete",
        ),
        pytest.param(
            a_route(1, NOWHERE),
            {"members": [a_member(NOWHERE, 77)]},
            RouteStatus.UNKNOWN,
            "owner-unlisted",
            id="a-server-in-no-list",
        ),
        pytest.param(
            None,
            {"routes": routes_of(unreadable={pods_of(): "no gateway"})},
            RouteStatus.UNKNOWN,
            "pods-route-unreadable",
            id="its-route-is-unreadable",
        ),
        pytest.param(
            None,
            {"routes": routes_of(unreadable={"10.244.0.0/20": "no gateway"})},
            RouteStatus.UNKNOWN,
            "pods-behind-unreadable",
            id="an-unreadable-route-in-the-way",
        ),
        pytest.param(
            a_route(1, 1),
            {"servers_section": incomplete(servers_of(), "node-unknown")},
            RouteStatus.WAITING,
            "node-unknown",
            id="its-server-unknown",
        ),
        pytest.param(
            a_route(1, 1),
            {"nodes": [LOST], "servers": []},
            RouteStatus.WAITING,
            "node-gone",
            id="its-server-gone",
        ),
        pytest.param(
            None,
            {"nodes": [a_joining_node(pod_cidrs=(pods_of(),))], "servers": []},
            RouteStatus.WAITING,
            "node-uninitialized",
            id="joining-without-a-server",
        ),
        pytest.param(
            None,
            {"nodes": [a_joining_node(pod_cidrs=(pods_of(),))], "servers": [a_pod_server(private_ips=())]},
            RouteStatus.WAITING,
            "unattached-joining",
            id="joining-before-it-is-attached",
        ),
        pytest.param(
            a_route("10.244.0.0/20", NOWHERE),
            {"members": None},
            RouteStatus.UNKNOWN,
            "pods-behind-unknown",
            id="something-uncertain-in-the-way",
        ),
    ],
)
def test_what_has_to_wait(route: Route | None, parts: dict[str, Any], status: RouteStatus, why: str) -> None:
    """What is not known yet is no failure, and nothing is changed for it."""
    claim = only_claim(a_routed_world(**{"members": [], "routes": [route] if route else [], **parts}))
    assert (claim.status, claim.decided.rule.name) == (status, why)
    assert claim.status in UNDECIDED


BALANCERS = Section({42: a_balancer(attachments=(Attachment(4, IPv4Address("10.0.0.60")),))})
ALIASED = [a_pod_server(), a_pod_server(2, aliases=["10.0.0.50"])]


@pytest.mark.parametrize(
    ("node", "route", "parts", "status", "why"),
    [
        pytest.param(
            a_pod_node(),
            a_route(1, 1),
            {"servers": [a_pod_server(private_ips=())]},
            RouteStatus.UNROUTABLE,
            "unattached",
            id="not-attached",
        ),
        pytest.param(
            a_pod_node(1, "10.245.1.0/24"),
            None,
            {},
            RouteStatus.OUTSIDE,
            "pods-outside",
            id="outside-the-cluster-cidr",
        ),
        pytest.param(
            a_pod_node(1, "10.244.0.0/15"),
            None,
            {},
            RouteStatus.OUTSIDE,
            "pods-outside",
            id="around-the-cluster-cidr",
        ),
        pytest.param(
            a_pod_node(1, "10.245.1.0/24"),
            a_route("10.245.1.0/24", NOWHERE),
            {},
            RouteStatus.OUTSIDE,
            "pods-outside",
            id="outside-and-led-astray",
        ),
        pytest.param(
            a_pod_node(),
            None,
            {"network": a_pod_network("10.244.0.0/15")},
            RouteStatus.UNROUTABLE,
            "pods-in-subnet",
            id="a-subnet-around",
        ),
        pytest.param(
            a_pod_node(),
            a_route(1, "10.0.0.60"),
            {"load_balancers": BALANCERS},
            RouteStatus.UNROUTABLE,
            "pods-taken",
            id="by-a-load-balancer",
        ),
        pytest.param(
            a_pod_node(),
            a_route(1, "10.0.0.50"),
            {"servers": ALIASED},
            RouteStatus.UNROUTABLE,
            "pods-taken",
            id="by-anothers-alias",
        ),
        pytest.param(
            a_pod_node(),
            a_route(1, 2),
            {"nodes": [a_pod_node(), a_pod_node(2, labels={"example.com/spare": ""})]},
            RouteStatus.UNROUTABLE,
            "pods-taken",
            id="by-an-ignored-node",
        ),
        pytest.param(
            a_pod_node(),
            a_route("10.244.0.0/20", "10.0.0.50"),
            {"servers": ALIASED},
            RouteStatus.UNROUTABLE,
            "pods-behind-other",
            id="a-foreign-route-in-the-way",
        ),
        pytest.param(
            a_pod_node(),
            a_route("10.0.0.0/8", NOWHERE),
            {},
            RouteStatus.UNROUTABLE,
            "pods-behind-other",
            id="a-route-around-the-cluster-cidr",
        ),
    ],
)
def test_what_cannot_be_routed(
    node: Node, route: Route | None, parts: dict[str, Any], status: RouteStatus, why: str
) -> None:
    """Until a person mends it there is no route, none is tried, and what is in the way is left alone."""
    world = a_routed_world(routes=[route] if route else [], **{"nodes": [node], "members": []} | parts)
    claim = only_claim(world, SPARED)
    assert (claim.status, claim.decided.rule.name) == (status, why)
    assert claim.status in FAILING


@pytest.mark.parametrize(
    ("destination", "why"),
    [
        pytest.param("10.244.1.0/24", None, id="ten"),
        pytest.param("172.16.0.0/24", None, id="first-of-the-second-range"),
        pytest.param("172.31.0.0/24", None, id="beside-the-reserved-address"),
        pytest.param("192.168.255.0/24", None, id="last-of-the-third-range"),
        pytest.param("10.9.0.0/24", None, id="outside-of-the-network"),
        pytest.param(
            "100.64.0.0/24",
            "pods-not-private",
            id="shared-addresses",
        ),
        pytest.param(
            "172.32.0.0/24",
            "pods-not-private",
            id="just-outside",
        ),
        pytest.param(
            "8.0.0.0/5",
            "pods-not-private",
            id="partly-private",
        ),
        pytest.param(
            "172.31.1.0/24",
            "pods-reserved",
            id="with-the-reserved-address",
        ),
        pytest.param("10.0.0.0/24", "pods-in-subnet", id="subnet"),
        pytest.param("10.1.0.0/16", "pods-in-subnet", id="around-a-subnet"),
    ],
)
def test_what_hetzner_never_takes(destination: str, why: str | None) -> None:
    """Rules of the API that are known before it is asked."""
    subnets = Ranges(map(IPv4Network, ("10.0.0.0/24", "10.1.9.0/24")))
    found = why_impossible(IPv4Network(destination), subnets, 4)
    assert (found.rule.name if found else None) == why


TWINS = [a_pod_node(1), a_pod_node(2, pods_of(1))]
CONTESTED = "pod CIDR 10.244.1.0/24 is that of Node web-2 as well; give one of the two another"


@pytest.mark.parametrize(
    ("nodes", "routes", "expected"),
    [
        pytest.param(
            TWINS, [], {"web-1": RouteStatus.UNROUTABLE, "web-2": RouteStatus.UNROUTABLE}, id="one-range-and-no-route"
        ),
        pytest.param(
            TWINS,
            [a_route(1, 2)],
            {"web-1": RouteStatus.UNROUTABLE, "web-2": RouteStatus.SERVED},
            id="one-of-them-has-it",
        ),
        pytest.param(
            [a_pod_node(1), a_pod_node(2, "10.244.1.128/25")],
            [],
            {"web-1": RouteStatus.UNROUTABLE, "web-2": RouteStatus.UNROUTABLE},
            id="one-inside-another",
        ),
        pytest.param(
            [a_pod_node(1), a_pod_node(2, "10.244.0.0/22"), a_pod_node(3)],
            [],
            dict.fromkeys(["web-1", "web-2", "web-3"], RouteStatus.UNROUTABLE),
            id="two-inside-another",
        ),
        pytest.param(
            [a_pod_node(1), a_pod_node(2, pods_of(1), provider_id="hrobot://2")],
            [],
            {"web-1": RouteStatus.UNROUTABLE},
            id="one-of-another-kind",
        ),
        pytest.param(
            [a_pod_node(1, "10.244.1.0/25"), a_pod_node(2, "10.244.1.128/25")],
            [],
            {"web-1": RouteStatus.MISSING, "web-2": RouteStatus.MISSING},
            id="neighbours",
        ),
    ],
)
def test_nodes_with_the_same_pods(nodes: list[Node], routes: list[Route], expected: dict[str, RouteStatus]) -> None:
    """Nobody can tell whose the pods are: no route is made nor taken away, and each is told of the other."""
    servers = [a_pod_server(number) for number in (1, 2, 3)]
    world = a_routed_world(nodes, servers, routes, members=[])
    assert standings(world) == expected


def test_a_node_that_overlaps_with_itself() -> None:
    """Of two ranges, one inside the other, the network takes one route: the one that is there stays."""
    node = a_pod_node(1, pods_of(1), "10.244.1.0/25")
    claims = claimed(a_routed_world([node], routes=[a_route(1)]))
    assert [claim.status for claim in claims.values()] == [RouteStatus.SERVED, RouteStatus.UNROUTABLE]
    assert claims["web-1", "10.244.1.0/25"].why == (
        "pod CIDR 10.244.1.0/25 overlaps with 10.244.1.0/24 of Node web-1; change one of the two"
    )


def test_rivals_are_named() -> None:
    """Each of two Nodes with the same pods is told of the other."""
    claims = claimed(a_routed_world(TWINS, routes=[]))
    assert {name: claim.why for (name, _), claim in claims.items()} == {
        "web-1": CONTESTED,
        "web-2": CONTESTED.replace("web-2", "web-1"),
    }


@pytest.mark.parametrize(
    ("pod_cidrs", "destinations"),
    [
        pytest.param((), [], id="none"),
        pytest.param((pods_of(1), pods_of(9)), [pods_of(1), pods_of(9)], id="two"),
        pytest.param((pods_of(1), "fd00::/64"), [pods_of(1)], id="dual-stack"),
        pytest.param(("fd00::/64",), [], id="ipv6-alone"),
        pytest.param(("pods", pods_of(1)), [pods_of(1)], id="beside-an-invalid-one"),
        pytest.param(("10.244.1.5/24",), [pods_of(1)], id="bits-of-hosts"),
        pytest.param((pods_of(1), "10.244.1.5/24"), [pods_of(1)], id="the-same-twice"),
    ],
)
def test_claims_of_a_node(pod_cidrs: tuple[str, ...], destinations: list[str]) -> None:
    """A Node claims each IPv4 range of its pods, once, and nothing for any other."""
    world = a_routed_world([a_pod_node(pod_cidrs=pod_cidrs)], routes=[])
    assert [destination for _, destination in claimed(world)] == destinations


@pytest.mark.parametrize(
    "overrides",
    [
        pytest.param({"provider_id": "hrobot://1"}, id="robot"),
        pytest.param({"provider_id": "aws://1"}, id="another-cloud"),
        pytest.param({"provider_id": None}, id="unclaimed"),
        pytest.param({"labels": {"example.com/spare": ""}}, id="ignored"),
    ],
)
def test_nodes_without_a_claim(overrides: dict[str, Any]) -> None:
    """What is not ours gets no routes."""
    assert claimed(a_routed_world([a_pod_node(**overrides)], [a_pod_server()], []), SPARED) == {}
