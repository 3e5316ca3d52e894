"""The rules between a plan and the routes, through whole plans."""

from dataclasses import replace
from ipaddress import IPv4Network
from typing import Any

import pytest

from desired.guards.blast_radius import cluster_cidr, route_blast_radius
from desired.model.route import UNROUTED, Route
from desired.model.snapshot import AddressType, NodeAddress, Readiness, Snapshot
from desired.plan.change import Plan, Verdict
from desired.rules.guards import ROUTE_OF_SERVER, ROUTE_OF_WRONG_SERVER, ROUTES_LOST
from desired.rules.routes import CIDR_MISMATCH
from desired.section import Absent
from tests.builders import a_change, a_lost_node, incomplete
from tests.routes import ROUTING, WITHOUT_RANGE, a_pod_node, a_pod_server, a_route, a_routed_world, gateway_of, pods_of
from tests.support.judging import facts_of
from tests.support.route_decisions import judged
from tests.support.rows import rows

NOWHERE = "10.0.0.201"
RADIUS, MISMATCH = "route-blast-radius", "cluster-cidr"
ALLOWED, HELD, WAITING = (Verdict.ALLOWED, None), (Verdict.HELD, RADIUS), (Verdict.WAITING, MISMATCH)


def key_of(number: int) -> str:
    return f"route/4/{pods_of(number)}"


def a_cluster(nodes: int, *routes: Route, **parts: Any) -> Snapshot:
    """So many Nodes with their routes, a server 90 that is no Node, and further routes."""
    population = [a_pod_node(number) for number in range(1, nodes + 1)]
    servers = [a_pod_server(number) for number in (*range(1, nodes + 1), 90)]
    own = [a_route(number) for number in range(1, nodes + 1)]
    return a_routed_world(population, servers, [*own, *routes], **{"members": []} | parts)


def verdicts(plan: Plan) -> dict[str, tuple[Verdict, str | None]]:
    return {change.key: (change.decision.verdict, change.decision.rule) for change in plan.changes}


def superfluous(count: int) -> list[Route]:
    return [a_route(200 + number, 1) for number in range(count)]


@pytest.mark.parametrize(("nodes", "going", "limit", "is_held"), [
    (1, 1, 1, False),
    (1, 2, 1, True),
    (5, 2, 1, True),
    (6, 2, 2, False),
    (8, 3, 2, True),
    (9, 3, 3, False),
    (30, 10, 10, False),
])  # fmt: skip
def test_how_many_may_go_at_once(nodes: int, going: int, limit: int, is_held: bool) -> None:
    """More than a quarter of the routes within the cluster CIDR go by an approval, all or none; one goes always."""
    plan = judged(a_cluster(nodes, *superfluous(going)))
    keys = [key_of(200 + number) for number in range(going)]
    assert verdicts(plan) == dict.fromkeys(keys, HELD if is_held else ALLOWED)
    why = ROUTES_LOST.says.format(lost=going, most=nodes + going, limit=limit, cidr="10.244.0.0/16")
    measured = [(hold.rule, hold.value, hold.limit, hold.keys, hold.why) for hold in plan.holds]
    assert measured == ([(RADIUS, str(going), str(limit), tuple(sorted(keys)), why)] if is_held else [])


@rows("further is_held", {
    "three-of-eleven": ([], True),
    "what-is-outside-does-not-count": ([a_route("192.168.0.0/24", NOWHERE)], True),
    "nor-what-is-around": ([a_route("0.0.0.0/0", 90), a_route("10.0.0.0/8", 90)], True),
    "a-black-hole-counts-among-all": ([a_route(240, NOWHERE)], False),
    "as-does-a-persons": ([a_route("10.244.240.0/28", 90)], False),
})  # fmt: skip
def test_of_how_many(further: list[Route], is_held: bool) -> None:
    """The routes within the cluster CIDR are the measure, whoever has made them."""
    plan = judged(a_cluster(8, *superfluous(3), *further))
    assert verdicts(plan)[key_of(200)] == (HELD if is_held else ALLOWED)


STRANGER = "server 90 (no Node of this cluster)"


def test_a_living_server_that_is_no_node() -> None:
    """Its route is held by itself, however many there are, and others go on; each is approved without the other."""
    world = a_cluster(9, a_route(210, 90), a_route(211, 90), a_route(200, 1))
    plan = judged(world)

    assert verdicts(plan) == {key_of(210): HELD, key_of(211): HELD, key_of(200): ALLOWED}
    first, second = sorted(plan.holds, key=lambda hold: hold.keys)
    assert [(hold.keys, hold.value, hold.limit) for hold in (first, second)] == [
        ((key_of(210),), "1", "0"),
        ((key_of(211),), "1", "0"),
    ]
    assert first.said == ROUTE_OF_SERVER.text(destination="10.244.210.0/24", server=STRANGER)
    assert verdicts(judged(world, approved={first.hash})) == verdicts(plan) | {key_of(210): ALLOWED}


def test_strangers_among_too_many() -> None:
    """Over the limit all that live are one hold, so that they are not approved piece by piece, nor one more with
    them."""
    world = a_cluster(1, *superfluous(2), a_route(210, 90))
    (hold,) = judged(world).holds
    assert (hold.keys, hold.value, hold.limit) == ((key_of(200), key_of(201), key_of(210)), "3", "1")
    assert set(verdicts(judged(world, approved={hold.hash})).values()) == {ALLOWED}
    more = a_cluster(1, *superfluous(3), a_route(210, 90))
    assert set(verdicts(judged(more, approved={hold.hash})).values()) == {HELD}


def test_black_holes_are_free() -> None:
    """What leads nowhere goes, be it all of them."""
    plan = judged(a_cluster(1, *(a_route(number, NOWHERE) for number in range(100, 110))))
    assert list(verdicts(plan).values()) == [ALLOWED] * 10


def test_replacements_are_free() -> None:
    """Every route of a cluster may get another gateway while it leads to its Nodes, or nowhere: they ask for it."""
    nodes = [a_pod_node(number) for number in range(1, 9)]
    servers = [a_pod_server(number) for number in range(1, 9)]
    routes = [a_route(number, NOWHERE if number == 8 else number + 1) for number in range(1, 9)]
    plan = judged(a_routed_world(nodes, servers, routes, members=[]))
    assert verdicts(plan) == {key_of(number): ALLOWED for number in range(1, 9)}
    assert {change.kind for change in plan.changes} == {"route.replace"}


@rows("numbers parts", {
    "one though a quarter may go": ([1], {}),
    "each by itself": ([1, 2, 3], {}),
    "members were not read": ([1], {"members": None}),
    "none": ([], {}),
})  # fmt: skip
def test_a_strangers_route_to_the_pods_of_a_node(numbers: list[int], parts: dict[str, Any]) -> None:
    """Another server gets the traffic today: it is taken away from it by an approval alone, and what the Nodes ask for
    besides goes on."""
    nodes = [a_pod_node(number) for number in range(1, 9)]
    servers = [a_pod_server(number) for number in (*range(1, 9), 90)]
    routes = [a_route(number, 90 if number in numbers else 8) for number in range(1, 8)] + [a_route(8)]

    plan = judged(a_routed_world(nodes, servers, routes, **{"members": []} | parts))

    assert verdicts(plan) == {key_of(number): HELD if number in numbers else ALLOWED for number in range(1, 8)}
    assert sorted((hold.keys, hold.value, hold.limit, hold.said) for hold in plan.holds) == [
        ((key_of(n),), "1", "0", ROUTE_OF_WRONG_SERVER.text(destination=pods_of(n), server=STRANGER, node=f"web-{n}"))
        for n in numbers
    ]


def test_a_swap_from_a_stranger_that_was_approved() -> None:
    """It passes, and the approval is of that route by that gateway."""
    nodes, servers = [a_pod_node(1)], [a_pod_server(1), a_pod_server(90), a_pod_server(91)]
    (hold,) = judged(a_routed_world(nodes, servers, [a_route(1, 90)])).holds
    approved = [judged(a_routed_world(nodes, servers, [a_route(1, by)]), approved={hold.hash}) for by in (90, 91)]
    assert [verdicts(plan) for plan in approved] == [{key_of(1): ALLOWED}, {key_of(1): HELD}]


def test_routes_of_lost_nodes_are_free() -> None:
    """Where the servers are gone their routes are black holes; the Nodes themselves have a rule of their own."""
    nodes = [a_pod_node(1), *(a_lost_node(f"web-{n}", n, pod_cidrs=(pods_of(n),)) for n in (2, 3, 4))]
    world = a_routed_world(nodes, [a_pod_server(1)], [a_route(n) for n in (1, 2, 3, 4)], members=[])
    found = verdicts(judged(replace(world, confirmations=dict.fromkeys((2, 3, 4), Absent()))))
    assert {key: found[key] for key in found if key.startswith("route/")} == {
        key_of(number): ALLOWED for number in (2, 3, 4)
    }


def test_what_waits_for_a_held_removal_is_withheld() -> None:
    """A creation that needs the place waits, and so does the Node's condition."""
    foreign = [a_route(f"192.168.{number}.0/24", NOWHERE) for number in range(99)]
    world = a_routed_world(
        [a_pod_node(says=UNROUTED)], [a_pod_server(), a_pod_server(90)], [*foreign, a_route(210, 90)]
    )
    assert verdicts(judged(world)) == {
        key_of(210): HELD,
        key_of(1): (Verdict.WAITING, RADIUS),
        "node/web-1/network": (Verdict.WAITING, RADIUS),
    }


WRONG = replace(ROUTING, cluster_cidr=IPv4Network("10.244.128.0/17"))


@rows("gateway", {"nowhere": NOWHERE, "a Node": 1})
def test_a_cluster_cidr_that_cannot_be_right(gateway: str | int) -> None:
    """D15: nothing is removed on the word of a range that some Node's pods are not in, and that cannot be approved."""
    plan = judged(a_cluster(1, a_route(200, gateway)), WRONG)
    assert verdicts(plan) == {key_of(200): WAITING}
    mismatch = CIDR_MISMATCH.text(cidr="10.244.128.0/17", nodes="web-1 (10.244.1.0/24)")
    assert plan.changes[0].decision.why == mismatch
    assert plan.holds == ()


def test_a_mismatch_withholds_removals_alone() -> None:
    """What Nodes inside the range need is done."""
    nodes = [a_pod_node(1), a_pod_node(200), a_pod_node(201)]
    routes = [a_route(1), a_route(201, NOWHERE), a_route(210, NOWHERE)]
    plan = judged(a_routed_world(nodes, routes=routes, members=[]), WRONG)
    assert verdicts(plan) == {key_of(200): ALLOWED, key_of(201): ALLOWED, key_of(210): WAITING}


def test_held_outweighs_waiting() -> None:
    """Of both rules the one that a person can decide on is named, and an approval leaves the other."""
    world = a_cluster(1, *superfluous(2))
    plan = judged(world, WRONG)
    assert set(verdicts(plan).values()) == {HELD}
    approved = judged(world, WRONG, {hold.hash for hold in plan.holds})
    assert set(verdicts(approved).values()) == {WAITING}


@pytest.mark.parametrize("part", ["nodes", "servers", "routes"])
def test_gaps(part: str) -> None:
    """No route is created or removed while a list that decides on it has a gap; a swap needs what it read, and a
    route that leads to a server may be of a Node that was not read."""
    nodes = [a_pod_node(1), a_pod_node(2), a_pod_node(3)]
    whole = a_routed_world(nodes, routes=[a_route(1), a_route(2, 1), a_route(200, NOWHERE)], members=[])
    gap: Any = {part: incomplete(getattr(whole, part))}
    waiting = dict.fromkeys((key_of(3), key_of(200)), (Verdict.WAITING, "incomplete-snapshot"))
    swap = {} if part == "nodes" else {key_of(2): ALLOWED}
    assert verdicts(judged(replace(whole, **gap))) == swap | waiting


@rows("routes verdict", {
    "a-route-to-our-pods": ([a_route(1), a_route(200, NOWHERE)], ALLOWED),
    "no-witness": ([a_route(200, NOWHERE)], (Verdict.HELD, "project-anchor")),
})  # fmt: skip
def test_a_cluster_that_is_down(routes: list[Route], verdict: tuple[Verdict, str | None]) -> None:
    """With no Ready Node a removal needs something of this cluster in the project: a route to its pods by its own
    address is that."""
    down = a_lost_node(pod_cidrs=(pods_of(),), addresses=(NodeAddress(AddressType.INTERNAL_IP, gateway_of(1)),))
    world = a_routed_world([down], [a_pod_server(7)], routes, members=[])
    assert down.ready is not Readiness.TRUE
    assert verdicts(judged(world))[key_of(200)] == verdict


@pytest.mark.parametrize("guard", [route_blast_radius, cluster_cidr])
def test_nothing_to_say(guard: Any) -> None:
    """Without a cluster CIDR nothing goes, and other changes are none of these rules' business."""
    other = a_change("node/web-1/labels", "node.labels")
    stranger = a_change("route/4/10.244.99.0/24", "route.delete")
    for settings in (ROUTING, WITHOUT_RANGE):
        assert list(guard(facts_of(Plan((other,)), a_cluster(1, *superfluous(3)), settings))) == []
    assert list(guard(facts_of(Plan((stranger,)), a_cluster(1), WITHOUT_RANGE))) == []
