"""Which route each pod CIDR needs, and what keeps it from having one."""

from collections.abc import Iterable
from dataclasses import replace
from datetime import timedelta
from ipaddress import IPv4Address, IPv4Network
from typing import Any

from desired.model.load_balancer import Attachment
from desired.model.route import Route
from desired.model.settings import Settings
from desired.model.snapshot import Node, Snapshot
from desired.routes.claims import FAILING, UNDECIDED, Ranges, RouteClaim, RouteStatus, why_impossible
from desired.section import Section
from desired.syntax.selector import parse_selector
from tests.balancers import a_balancer
from tests.builders import NOW, a_joining_node, a_lost_node, incomplete, nodes_of, servers_of
from tests.routes import (
    ROUTING,
    a_pod_network,
    a_pod_node,
    a_pod_server,
    a_route,
    a_routed_world,
    gateway_of,
    pods_of,
    routes_of,
)
from tests.support.route_decisions import claimed
from tests.support.rows import rows

NOWHERE = "10.0.0.201"
LOST, UNATTACHED = a_lost_node(pod_cidrs=(pods_of(),)), [a_pod_server(private_ips=())]
HIDDEN = {"nodes_section": replace(nodes_of(a_pod_node()), unreadable={"web-5": "no uid"})}
NAMELESS = {"nodes_section": incomplete(nodes_of(a_pod_node()), "1 Node could not be read, name included")}
SPARED = replace(ROUTING, ignore_nodes=parse_selector("example.com/spare"))


def only_claim(snapshot: Snapshot, settings: Settings = ROUTING) -> RouteClaim:
    """The claim of the only pod CIDR of Node web-1."""
    (claim,) = (claim for (name, _), claim in claimed(snapshot, settings).items() if name == "web-1")
    return claim


TWO = {"servers": [a_pod_server(), a_pod_server(2)]}
NAMESAKE = {"servers": [a_pod_server(), a_pod_server(2, name="web-1")]}
OURS = Section({42: a_balancer(attachments=(Attachment(4, IPv4Address("10.0.0.60")),))})


@rows("route parts expected", {
    "by-its-server": (a_route(), {}, "served pods-served"),
    "under-another-name": (a_route(), {"servers": [a_pod_server(name="renamed")]}, "served pods-served"),
    "alias": (a_route(1, "10.0.0.9"), {"servers": [a_pod_server(aliases=["10.0.0.9"])]}, "served pods-served"),
    "none": (None, {}, "missing pods-missing"),
    "the-default-route": (a_route("0.0.0.0/0", "10.0.0.77"), {}, "missing pods-missing"),
    "by-another-node": (a_route(1, 2), {"nodes": [a_pod_node(), a_pod_node(2)]}, "misled pods-misled"),
    "by-a-server-that-has-its-name": (a_route(1, 2), NAMESAKE, "misled pods-misled"),
    "by-our-load-balancer": (a_route(1, "10.0.0.60"), {"load_balancers": OURS}, "misled pods-misled"),
    "by-nobody": (a_route(1, NOWHERE), {}, "misled pods-misled-to-no-owner"),
})  # fmt: skip
def test_routes_of_a_node(route: Route | None, parts: dict[str, Any], expected: str) -> None:
    """The server of the providerID is compared with the gateway: names have no say, so that nothing flaps."""
    claim = only_claim(a_routed_world(routes=[route] if route else [], **{"members": []} | parts))
    assert f"{claim.status} {claim.decided.rule.name}" == expected
    assert claim.present == (route.gateway if route and str(route.destination) == pods_of() else None)
    assert (str(claim.gateway), claim.after) == (gateway_of(), ())


ASTRAY, JOINING = a_route(1, NOWHERE), [a_joining_node(pod_cidrs=(pods_of(),))]
UNREADABLE, UNREADABLE_AROUND = (routes_of(unreadable={text: "no gateway"}) for text in (pods_of(), "10.244.0.0/20"))


@rows("route parts expected", {
    "a-hidden-node-may-have-it": (a_route(1, 2), TWO | HIDDEN, "unknown pods-of-unreadable-node"),
    "a-nameless-node-may-have-it": (a_route(1, 2), TWO | NAMELESS, "unknown pods-of-unreadable-node"),
    "not-asked": (ASTRAY, {"members": None}, "unknown owner-unasked"),
    "its-route-is-unreadable": (None, {"routes": UNREADABLE}, "unknown pods-route-unreadable"),
    "an-unreadable-route-in-the-way": (None, {"routes": UNREADABLE_AROUND}, "unknown pods-behind-unreadable"),
    "its-server-unknown": (a_route(), {"servers_section": incomplete(servers_of(), "429")}, "waiting node-unknown"),
    "its-server-gone": (a_route(), {"nodes": [LOST], "servers": []}, "waiting node-gone"),
    "joining-without-a-server": (None, {"nodes": JOINING, "servers": []}, "waiting node-uninitialized"),
    "joining-unattached": (None, {"nodes": JOINING, "servers": UNATTACHED}, "waiting unattached-joining"),
    "uncertain": (a_route("10.244.0.0/20", NOWHERE), {"members": None}, "unknown pods-behind-unknown"),
})  # fmt: skip
def test_claims_that_wait(route: Route | None, parts: dict[str, Any], expected: str) -> None:
    """What is not known yet is no failure, and nothing is changed for it."""
    claim = only_claim(a_routed_world(**{"members": [], "routes": [route] if route else [], **parts}))
    assert f"{claim.status} {claim.decided.rule.name}" == expected
    assert claim.status in UNDECIDED


BALANCERS = Section({42: a_balancer(cluster_uid=None, attachments=(Attachment(4, IPv4Address("10.0.0.60")),))})
ALIASED = [a_pod_server(), a_pod_server(2, aliases=["10.0.0.50"])]
NODE, OUTSIDE, IGNORED = a_pod_node(), a_pod_node(1, "10.245.1.0/24"), a_pod_node(2, labels={"example.com/spare": ""})
BALANCED, AROUND = a_route(1, "10.0.0.60"), {"network": a_pod_network("10.244.0.0/15")}


@rows("node route parts expected", {
    "not-attached": (NODE, a_route(), {"servers": UNATTACHED}, "unroutable unattached"),
    "outside-the-cluster-cidr": (OUTSIDE, None, {}, "outside pods-outside"),
    "around-the-cluster-cidr": (a_pod_node(1, "10.244.0.0/15"), None, {}, "outside pods-outside"),
    "a-subnet-around": (NODE, None, AROUND, "unroutable pods-in-subnet"),
    "by-a-load-balancer": (NODE, BALANCED, {"load_balancers": BALANCERS}, "unroutable pods-taken"),
    "by-an-ignored-node": (NODE, a_route(1, 2), {"nodes": [NODE, IGNORED]}, "unroutable pods-taken"),
    "foreign": (NODE, a_route("10.244.0.0/20", "10.0.0.50"), {"servers": ALIASED}, "unroutable pods-behind-other"),
    "around-all": (NODE, a_route("10.0.0.0/8", NOWHERE), {}, "unroutable pods-behind-other"),
})  # fmt: skip
def test_claims_that_fail(node: Node, route: Route | None, parts: dict[str, Any], expected: str) -> None:
    """Until a person mends it there is no route, none is tried, and what is in the way is left alone."""
    world = a_routed_world(routes=[route] if route else [], **{"nodes": [node], "members": []} | parts)
    claim = only_claim(world, SPARED)
    assert f"{claim.status} {claim.decided.rule.name}" == expected
    assert claim.status in FAILING


@rows("destination why", {
    "ten": ("10.244.1.0/24", None),
    "beside-the-reserved-address": ("172.31.0.0/24", None),
    "just-outside": ("172.32.0.0/24", "pods-not-private"),
    "partly-private": ("8.0.0.0/5", "pods-not-private"),
    "with-the-reserved-address": ("172.31.1.0/24", "pods-reserved"),
    "around-a-subnet": ("10.1.0.0/16", "pods-in-subnet"),
})  # fmt: skip
def test_routes_that_hetzner_never_takes(destination: str, why: str | None) -> None:
    """Rules of the API that are known before it is asked."""
    subnets = Ranges(map(IPv4Network, ("10.0.0.0/24", "10.1.9.0/24")))
    found = why_impossible(IPv4Network(destination), subnets, 4)
    assert (found.rule.name if found else None) == why


TWINS = [a_pod_node(1), a_pod_node(2, pods_of(1))]


@rows("nodes routes expected", {
    "one-range-and-no-route": (TWINS, [], "unroutable unroutable"),
    "one-of-them-has-it": (TWINS, [a_route(1, 2)], "unroutable served"),
    "two-inside": ([NODE, a_pod_node(2, "10.244.0.0/22"), a_pod_node(3)], [], "unroutable unroutable unroutable"),
    "one-of-another-kind": ([NODE, a_pod_node(2, pods_of(1), provider_id="hrobot://2")], [], "unroutable"),
    "neighbours": ([a_pod_node(1, "10.244.1.0/25"), a_pod_node(2, "10.244.1.128/25")], [], "missing missing"),
})  # fmt: skip
def test_nodes_with_the_same_pods(nodes: list[Node], routes: list[Route], expected: str) -> None:
    """It is not known whose the pods are: no route is made nor taken away, and each is told of the other."""
    servers = [a_pod_server(number) for number in (1, 2, 3)]
    claims = claimed(a_routed_world(nodes, servers, routes, members=[]))
    assert " ".join(claim.status for claim in claims.values()) == expected


def test_rivals_are_named() -> None:
    """Each of two Nodes with the same pods is told of the other; a Node may be its own rival."""
    claims = claimed(a_routed_world(TWINS, routes=[]))
    named = {name: (claim.decided.rule.name, claim.decided.facts["node"]) for (name, _), claim in claims.items()}
    assert named == {"web-1": ("pods-of-two-nodes", "web-2"), "web-2": ("pods-of-two-nodes", "web-1")}
    own = claimed(a_routed_world([a_pod_node(1, pods_of(1), "10.244.1.0/25")], routes=[a_route(1)]))
    assert [claim.decided.rule.name for claim in own.values()] == ["pods-served", "pods-overlap"]


def test_ranges_within_each_other() -> None:
    """The wide ones come first."""
    nested = [IPv4Network(f"10.0.0.0/{length}") for length in (24, 8, 16)]
    assert Ranges(nested).overlapping(IPv4Network("10.0.0.128/25")) == [
        IPv4Network("10.0.0.0/8"),
        IPv4Network("10.0.0.0/16"),
        IPv4Network("10.0.0.0/24"),
    ]


def test_each_is_as_asking_all_of_them() -> None:
    """Short ways lead to the same place."""
    some = [IPv4Network((start << 26, length)) for start in range(0, 64, 3) for length in (6, 7, 9)]
    ranges = Ranges(some)
    for wanted in (IPv4Network((start << 24, length)) for start in range(256) for length in (8, 10, 32)):
        assert set(ranges.overlapping(wanted)) == {each for each in some if each.overlaps(wanted)}


def left_overs(count: int, gateway: str | int = NOWHERE, first: int = 100) -> list[Route]:
    return [a_route(number, gateway) for number in range(first, first + count)]


def foreign(count: int) -> list[Route]:
    """So many routes that are none of our business."""
    return [a_route(f"192.168.{number}.0/24", "10.0.0.77") for number in range(count)]


def a_crowded_world(nodes: Iterable[Node], *routes: list[Route]) -> Snapshot:
    """These Nodes, none of which has its route; server 8 is no Node, and server 9 is Node web-9, which has one."""
    population = [*nodes, a_pod_node(9)]
    servers = [a_pod_server(int((node.provider_id or "").removeprefix("hcloud://"))) for node in population]
    there = [a_route(9, 9), *(route for group in routes for route in group)]
    return a_routed_world(population, [*servers, a_pod_server(8)], there, members=[])


def after_of(snapshot: Snapshot) -> dict[str, list[str]]:
    """Node → destinations of the routes that its own waits for; "full" for one that is over the limit."""
    return {
        name: ["full"] if claim.status is RouteStatus.OVER_LIMIT else [str(gone) for gone in claim.after]
        for (name, _), claim in claimed(snapshot).items()
        if name != "web-9"
    }


BOTH = [a_pod_node(1), a_pod_node(2)]
FULL = ["full"]
WAYS = [a_route("10.244.1.0/25", NOWHERE)], [a_route("10.244.0.0/20", NOWHERE)]
HALVES = [a_route("10.244.1.0/25", NOWHERE), a_route("10.244.1.128/25", 9)]
DEAD, STRANGE, SPARE = left_overs(1, NOWHERE, 120), left_overs(1, 8), left_overs(1, 9, 110)


@rows("routes web_1 web_2", {
    "exactly-enough-room": ([foreign(97)], [], []),
    "room-for-one": ([foreign(98)], [], FULL),
    "one-dead": ([foreign(98), left_overs(1)], [pods_of(100)], FULL),
    "room-for-one-and-one-dead": ([foreign(97), left_overs(1)], [], [pods_of(100)]),
    "dead-ones-first-then-superfluous-ones": ([foreign(96), STRANGE, SPARE, DEAD], [pods_of(120)], [pods_of(110)]),
    "strangers-last": ([foreign(97), STRANGE, DEAD], [pods_of(120)], [pods_of(100)]),
    "one-too-many-and-two-dead": ([foreign(98), left_overs(2)], [pods_of(100), pods_of(101)], FULL),
    "one-in-the-way-makes-room-for-its-own": ([foreign(98), WAYS[0]], ["10.244.1.0/25"], FULL),
    "one-in-the-way-of-two-makes-room-for-one": ([foreign(98), WAYS[1]], ["10.244.0.0/20"], FULL),
    "one-in-the-way-of-two-and-one-dead": ([foreign(97), WAYS[1], left_overs(1)], ["10.244.0.0/20"],
        ["10.244.0.0/20", pods_of(100)]),
    "two-in-the-way-of-one": ([foreign(97), HALVES], ["10.244.1.0/25", "10.244.1.128/25"], FULL),
})  # fmt: skip
def test_a_full_network(routes: list[list[Route]], web_1: list[str], web_2: list[str]) -> None:
    """A network takes 100 routes: that is counted before anything is tried, and what goes makes room, surest first."""
    assert after_of(a_crowded_world(BOTH, *routes)) == {"web-1": web_1, "web-2": web_2}


def test_unread_routes_take_room() -> None:
    """Routes with a destination that nobody can read count like others."""
    world = a_crowded_world(BOTH, foreign(97))
    hidden = routes_of(*(world.routes or ()), unreadable={"fd00::/64": "an IPv6 destination"})
    assert after_of(replace(world, routes=hidden)) == {"web-1": [], "web-2": ["full"]}


def test_older_nodes_come_first() -> None:
    """Who gets the last place does not change with the names: a Node keeps what it would have had."""
    young, old = a_pod_node(1), a_pod_node(2, created_at=NOW - timedelta(days=9))
    assert after_of(a_crowded_world([young, old], foreign(98))) == {"web-2": [], "web-1": ["full"]}


def test_a_swap_needs_no_room() -> None:
    """A gateway is changed in a full network as in any other."""
    world = a_crowded_world([a_pod_node(1)], foreign(98), [a_route(1, NOWHERE)])
    standings = {name: claim.status for (name, _), claim in claimed(world).items()}
    assert standings == {"web-1": RouteStatus.MISLED, "web-9": RouteStatus.SERVED}
