"""The rules between a plan and the routes, through whole plans."""

from dataclasses import replace
from ipaddress import IPv4Network
from typing import Any

import pytest

from desired.guards.blast_radius import cluster_cidr, route_blast_radius
from desired.model.route import Route
from desired.model.snapshot import Snapshot
from desired.plan.change import Plan, Verdict
from desired.rules.guards import ROUTE_OF_SERVER, ROUTE_OF_WRONG_SERVER, ROUTES_LOST
from desired.rules.routes import CIDR_MISMATCH
from tests.builders import a_change
from tests.routes import ROUTING, WITHOUT_RANGE, a_pod_node, a_pod_server, a_route, a_routed_world, pods_of
from tests.support.balancer_verdicts import verdicts
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
    plan = judged(a_cluster(8, *superfluous(3), *further))
    assert verdicts(plan)[key_of(200)] == (HELD if is_held else ALLOWED)


STRANGER = "server 90 (no Node of this cluster)"


def test_a_living_server_that_is_no_node() -> None:
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
    world = a_cluster(1, *superfluous(2), a_route(210, 90))
    (hold,) = judged(world).holds
    assert (hold.keys, hold.value, hold.limit) == ((key_of(200), key_of(201), key_of(210)), "3", "1")
    assert set(verdicts(judged(world, approved={hold.hash})).values()) == {ALLOWED}
    more = a_cluster(1, *superfluous(3), a_route(210, 90))
    assert set(verdicts(judged(more, approved={hold.hash})).values()) == {HELD}


@rows("numbers parts", {
    "one though a quarter may go": ([1], {}),
    "each by itself": ([1, 2, 3], {}),
    "none": ([], {}),
})  # fmt: skip
def test_a_strangers_route_to_the_pods_of_a_node(numbers: list[int], parts: dict[str, Any]) -> None:
    nodes = [a_pod_node(number) for number in range(1, 9)]
    servers = [a_pod_server(number) for number in (*range(1, 9), 90)]
    routes = [a_route(number, 90 if number in numbers else 8) for number in range(1, 8)] + [a_route(8)]

    plan = judged(a_routed_world(nodes, servers, routes, **{"members": []} | parts))

    assert verdicts(plan) == {key_of(number): HELD if number in numbers else ALLOWED for number in range(1, 8)}
    assert sorted((hold.keys, hold.value, hold.limit, hold.said) for hold in plan.holds) == [
        ((key_of(n),), "1", "0", ROUTE_OF_WRONG_SERVER.text(destination=pods_of(n), server=STRANGER, node=f"web-{n}"))
        for n in numbers
    ]


WRONG = replace(ROUTING, cluster_cidr=IPv4Network("10.244.128.0/17"))


@rows("gateway", {"nowhere": NOWHERE, "a Node": 1})
def test_a_cluster_cidr_that_cannot_be_right(gateway: str | int) -> None:
    """D15: nothing is removed on the word of a range that some Node's pods are not in, and that cannot be approved."""
    plan = judged(a_cluster(1, a_route(200, gateway)), WRONG)
    assert verdicts(plan) == {key_of(200): WAITING}
    mismatch = CIDR_MISMATCH.text(cidr="10.244.128.0/17", nodes="web-1 (10.244.1.0/24)")
    assert plan.changes[0].decision.why == mismatch
    assert plan.holds == ()


@pytest.mark.parametrize("guard", [route_blast_radius, cluster_cidr])
def test_nothing_to_say(guard: Any) -> None:
    other = a_change("node/web-1/labels", "node.labels")
    stranger = a_change("route/4/10.244.99.0/24", "route.delete")
    for settings in (ROUTING, WITHOUT_RANGE):
        assert list(guard(facts_of(Plan((other,)), a_cluster(1, *superfluous(3)), settings))) == []
    assert list(guard(facts_of(Plan((stranger,)), a_cluster(1), WITHOUT_RANGE))) == []
