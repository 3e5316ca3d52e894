"""What a person should know of routes although nothing is done about it."""

from collections.abc import Mapping
from dataclasses import replace
from ipaddress import IPv4Network
from typing import Any

import pytest

from desired.model.route import UNROUTED, NetworkCondition, Route
from desired.model.settings import Controller, Settings
from desired.model.snapshot import Node, Snapshot
from desired.plan.notes import NoteKind
from desired.section import Absent, Present, Section, Unknown
from desired.syntax.selector import parse_selector
from tests.builders import a_joining_node, nodes_of
from tests.routes import (
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
from tests.support.route_decisions import noted

NETWORK, WEB_1 = "network/4", "node/web-1"
NOWHERE = "10.0.0.201"
V6 = "fd00:1::/64"


@pytest.mark.parametrize(
    ("node", "parts", "kind", "text"),
    [
        pytest.param(
            a_pod_node(),
            {"servers": [a_pod_server(private_ips=())]},
            NoteKind.UNROUTABLE,
            "server 1 is not attached to network 4",
            id="not-attached",
        ),
        pytest.param(
            a_pod_node(),
            {"network": a_pod_network("10.244.0.0/15")},
            NoteKind.UNROUTABLE,
            "pod CIDR 10.244.1.0/24 overlaps with subnet 10.244.0.0/15 of network 4",
            id="a-subnet-in-the-way",
        ),
        pytest.param(
            a_pod_node(),
            {"routes": [a_route(1, NOWHERE)]},
            NoteKind.UNKNOWN,
            "the owner of 10.0.0.201 was not asked for",
            id="who-has-the-gateway-is-unknown",
        ),
        pytest.param(
            a_pod_node(1, pods_of(1), "pods"),
            {"routes": [a_route(1)]},
            NoteKind.UNROUTABLE,
            "pod CIDR 'pods' is not a range, and gets no route",
            id="no-range",
        ),
    ],
)
def test_nodes_that_nobody_reaches(node: Node, parts: dict[str, Any], kind: NoteKind, text: str) -> None:
    """Whoever looks at the Node finds what has to be mended."""
    assert (WEB_1, kind, text) in noted(a_routed_world([node], **{"routes": []} | parts))


def test_pods_outside_the_cluster_cidr() -> None:
    """HCCM creates such a route and never cleans it up; here there is none, and both ends of it are told."""
    outside = "route CIDR 10.245.1.0/24 is not contained within cluster CIDR 10.244.0.0/16"
    mismatch = (
        "--cluster-cidr 10.244.0.0/16 does not have the pods of web-1 (10.245.1.0/24) in it, and no route is removed;"
        " correct --cluster-cidr or the Nodes' pod CIDRs"
    )
    assert noted(a_routed_world([a_pod_node(1, "10.245.1.0/24")], routes=[])) == [
        (NETWORK, NoteKind.CLUSTER_CIDR, mismatch),
        (WEB_1, NoteKind.CLUSTER_CIDR, outside),
    ]


def test_two_nodes_with_the_same_pods() -> None:
    """Each is told of the other."""
    world = a_routed_world([a_pod_node(1), a_pod_node(2, pods_of(1))], routes=[])
    as_well = "as well; give one of the two another"
    assert noted(world) == [
        (WEB_1, NoteKind.UNROUTABLE, f"pod CIDR 10.244.1.0/24 is that of Node web-2 {as_well}"),
        ("node/web-2", NoteKind.UNROUTABLE, f"pod CIDR 10.244.1.0/24 is that of Node web-1 {as_well}"),
    ]


@pytest.mark.parametrize(
    ("route", "parts", "kind", "text"),
    [
        pytest.param(a_route("0.0.0.0/0", "10.0.0.7"), {}, NoteKind.FOREIGN, "it is the default route", id="default"),
        pytest.param(
            a_route("192.168.0.0/24", 1),
            {},
            NoteKind.FOREIGN,
            "it is not within the cluster CIDR 10.244.0.0/16",
            id="outside",
        ),
        pytest.param(
            a_route(5, "10.0.0.9"),
            {"servers": [a_pod_server(aliases=["10.0.0.9"])]},
            NoteKind.FOREIGN,
            "it leads to an alias address of server 1",
            id="by-an-alias",
        ),
        pytest.param(
            a_route(5, NOWHERE),
            {},
            NoteKind.UNKNOWN,
            "the owner of 10.0.0.201 was not asked for",
            id="uncertain",
        ),
        pytest.param(
            a_route(5, 1),
            {"nodes_section": replace(nodes_of(a_pod_node()), unreadable={"web-5": "no uid"})},
            NoteKind.UNKNOWN,
            "it may be of Node web-5, which could not be read",
            id="perhaps-a-hidden-nodes",
        ),
    ],
)
def test_routes_that_are_left_alone(route: Route, parts: dict[str, Any], kind: NoteKind, text: str) -> None:
    """What is not touched is named with its reason, so that nobody wonders."""
    found = noted(a_routed_world(routes=[a_route(1), route], **parts))
    assert [note for note in found if note[0].startswith("route/")] == [(f"route/4/{route.destination}", kind, text)]


@pytest.mark.parametrize("routes", [[a_route(1)], []], ids=["beside-others", "alone"])
def test_routes_that_could_not_be_read(routes: list[Route]) -> None:
    """They are there, and nobody's business."""
    hidden = routes_of(*routes, unreadable={"fd00::/64": "an IPv6 destination"})
    assert noted(a_routed_world(routes=hidden)) == [
        ("route/4/fd00::/64", NoteKind.FOREIGN, "the route could not be read: an IPv6 destination")
    ]


@pytest.mark.parametrize(
    ("route", "members"),
    [
        pytest.param(a_route(1), None, id="a-nodes-own"),
        pytest.param(a_route(1, NOWHERE), [], id="a-nodes-own-astray"),
        pytest.param(a_route(5, NOWHERE), [], id="black-hole"),
        pytest.param(a_route(5, 1), None, id="superfluous"),
    ],
)
def test_what_is_changed_needs_no_note(route: Route, members: list[Any] | None) -> None:
    """A change says itself why it is wanted."""
    assert noted(a_routed_world(routes=[route], members=members)) == []


GIVE = (
    "no pod routes are managed, and NetworkUnavailable stays as it is: --cluster-cidr is not given (the Nodes' pods are"
    " in {pods}){still}; set --cluster-cidr to the cluster's pod CIDR, or HCLOUD_NETWORK_ROUTES_ENABLED=false"
)


@pytest.mark.parametrize(
    ("nodes", "expected"),
    [
        pytest.param([a_pod_node(1)], GIVE.format(pods="10.244.1.0/24", still=""), id="one"),
        pytest.param([a_pod_node(1), a_pod_node(2)], GIVE.format(pods="10.244.0.0/22", still=""), id="two"),
        pytest.param(
            [a_pod_node(1), a_pod_node(2, says=UNROUTED)],
            GIVE.format(pods="10.244.0.0/22", still=", and NetworkUnavailable=True keeps pods away from web-2"),
            id="one-that-was-closed",
        ),
        pytest.param(
            [a_pod_node(1, says=NetworkCondition("True", "CiliumIsDown"))],
            GIVE.format(pods="10.244.1.0/24", still=""),
            id="one-that-another-closed",
        ),
        pytest.param([a_pod_node(1, V6)], None, id="no-ipv4"),
    ],
)
def test_no_cluster_cidr(nodes: list[Node], expected: str | None) -> None:
    """One that is not given is told in one note, whatever is in the network: with what stays, with what the Nodes' pods
    say of it, and with both ways out."""
    world = a_routed_world(nodes, routes=[a_route(7, NOWHERE)])
    assert noted(world, WITHOUT_RANGE) == ([] if expected is None else [(NETWORK, NoteKind.CLUSTER_CIDR, expected)])


SPARED = replace(ROUTING, ignore_nodes=parse_selector("example.com/spare"))


@pytest.mark.parametrize(
    ("without", "expected"),
    [
        pytest.param([], None, id="none"),
        pytest.param([a_pod_node(2, pod_cidrs=())], "Node web-2 has no pod CIDR yet, and so no route", id="one"),
        pytest.param(
            [a_pod_node(n, pod_cidrs=()) for n in (3, 2)],
            "Nodes web-2, web-3 have no pod CIDR yet, and so no route",
            id="two",
        ),
        pytest.param(
            [a_pod_node(n, pod_cidrs=()) for n in range(2, 9)],
            "Nodes web-2, web-3, web-4 and 4 more have no pod CIDR yet, and so no route",
            id="many",
        ),
        pytest.param([a_joining_node("web-2")], "Node web-2 has no pod CIDR yet, and so no route", id="joining"),
        pytest.param([a_pod_node(2, pod_cidrs=(), provider_id="hrobot://2")], None, id="robot"),
        pytest.param([a_pod_node(2, pod_cidrs=(), labels={"example.com/spare": ""})], None, id="ignored"),
    ],
)
def test_no_pod_cidr(without: list[Node], expected: str | None) -> None:
    """Nodes without a range are told, once for all; where none has one, the network plug-in hands addresses out."""
    of_some, of_none = (noted(a_routed_world([*others, *without]), SPARED) for others in ([a_pod_node(1)], []))
    notes = [(key, text) for key, kind, text in of_some if kind is NoteKind.NO_POD_CIDR]
    assert notes == ([] if expected is None else [(NETWORK, expected)])
    assert NoteKind.NO_POD_CIDR not in {kind for _, kind, _ in of_none}


@pytest.mark.parametrize(
    ("nodes", "who"),
    [
        pytest.param([a_pod_node(1)], None, id="ipv4-alone"),
        pytest.param([a_pod_node(1, pods_of(1), V6)], "Node web-1 has", id="dual-stack"),
        pytest.param([a_pod_node(1, V6), a_pod_node(2, V6)], "Nodes web-1, web-2 have", id="ipv6-alone"),
        pytest.param([a_pod_node(1, V6, provider_id="aws://1")], None, id="anothers"),
    ],
)
def test_ipv6(nodes: list[Node], who: str | None) -> None:
    """IPv6 is noted, once for all Nodes, and never a failure."""
    text = f"{who} IPv6 pod CIDRs, for which there are no routes, as private networks have IPv4 alone"
    of_network = [note for note in noted(a_routed_world(nodes)) if note[0] == NETWORK]
    assert of_network == ([] if who is None else [(NETWORK, NoteKind.UNSUPPORTED, text)])


def foreign(count: int) -> list[Route]:
    """So many routes of others."""
    return [a_route(f"192.168.{number}.0/24", "10.0.0.77") for number in range(count)]


def used(present: int, wanted: int) -> str:
    """How full the network is."""
    return f"{present}/100 routes are used, and {wanted} more are wanted"


@pytest.mark.parametrize(
    ("routes", "expected"),
    [
        pytest.param(foreign(78), None, id="room-enough"),
        pytest.param(foreign(79), used(79, 1), id="nearly-full-with-what-is-wanted"),
        pytest.param([*foreign(78), a_route(1)], None, id="nearly-full-with-what-is-there"),
        pytest.param([*foreign(79), a_route(1)], used(80, 0), id="nearly-full"),
        pytest.param([*foreign(79), a_route("10.244.1.0/25", NOWHERE)], used(80, 1), id="one-goes-and-one-comes"),
        pytest.param([*foreign(78), a_route("10.244.1.0/25", NOWHERE)], None, id="room-enough-once-one-has-gone"),
        pytest.param([*foreign(99), a_route(1)], used(100, 0), id="full-and-all-are-there"),
        pytest.param(foreign(100), used(100, 1), id="full-and-one-is-missing"),
        pytest.param(foreign(101), used(101, 1), id="more-than-full"),
    ],
)
def test_the_limit(routes: list[Route], expected: str | None) -> None:
    """A network that is about to be full is told before the first call fails."""
    found = noted(a_routed_world(routes=routes, members=[]))
    said = [text for key, kind, text in found if kind is NoteKind.LIMIT and key == NETWORK]
    assert said == ([] if expected is None else [expected])


def test_over_the_limit() -> None:
    """The Node that gets no route is told as well."""
    found = noted(a_routed_world(routes=foreign(100)))
    text = "the network has 100 of 100 routes, and takes no more"
    assert (WEB_1, NoteKind.LIMIT, text) in found


WRONG = replace(ROUTING, cluster_cidr=IPv4Network("10.99.0.0/16"))


@pytest.mark.parametrize(
    ("parts", "settings"),
    [
        pytest.param({}, replace(WRONG, routes=False), id="switched-off"),
        pytest.param({}, replace(WRONG, controllers=frozenset({Controller.NODE})), id="left-to-others"),
        pytest.param({"network": Present(None)}, WRONG, id="no-network-asked-for"),
        pytest.param({"network": Absent()}, WRONG, id="no-such-network"),
        pytest.param({"network": Unknown("500"), "routes": Section.missing("500")}, WRONG, id="network-unknown"),
    ],
)
def test_nothing_is_said_where_nothing_is_looked_after(parts: Mapping[str, Any], settings: Settings) -> None:
    """Without a network to look after there is nothing to say of its routes."""
    snapshot: Snapshot = replace(a_routed_world([a_pod_node(1, "pods")]), **parts)
    of_routes = {NoteKind.UNROUTABLE, NoteKind.CLUSTER_CIDR, NoteKind.NO_POD_CIDR, NoteKind.LIMIT}
    assert [note for note in noted(snapshot, settings) if note[1] in of_routes] == []
