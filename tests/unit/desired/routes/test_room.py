"""Which pod CIDRs get what room a network has, and what has to go before."""

from collections.abc import Iterable
from dataclasses import replace
from datetime import timedelta

import pytest

from desired.model.route import MOST_ROUTES, Route
from desired.model.snapshot import Node, Snapshot
from desired.routes.claims import FAILING, RouteStatus
from tests.builders import NOW
from tests.routes import a_pod_node, a_pod_server, a_route, a_routed_world, pods_of, routes_of
from tests.support.route_decisions import claimed

NOWHERE = "10.0.0.201"


def left_overs(count: int, gateway: str | int = NOWHERE, first: int = 100) -> list[Route]:
    """So many routes within the cluster CIDR to pods that no Node has."""
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


TWO = [a_pod_node(1), a_pod_node(2)]


@pytest.mark.parametrize(
    ("routes", "expected"),
    [
        pytest.param([foreign(97)], {"web-1": [], "web-2": []}, id="exactly-enough-room"),
        pytest.param([foreign(98)], {"web-1": [], "web-2": ["full"]}, id="room-for-one"),
        pytest.param([foreign(99)], {"web-1": ["full"], "web-2": ["full"]}, id="full"),
        pytest.param([foreign(100)], {"web-1": ["full"], "web-2": ["full"]}, id="one-too-many"),
        pytest.param([foreign(98), left_overs(1)], {"web-1": [pods_of(100)], "web-2": ["full"]}, id="one-dead"),
        pytest.param(
            [foreign(97), left_overs(1)], {"web-1": [], "web-2": [pods_of(100)]}, id="room-for-one-and-one-dead"
        ),
        pytest.param(
            [foreign(96), left_overs(1, 8), left_overs(1, 9, 110), left_overs(1, NOWHERE, 120)],
            {"web-1": [pods_of(120)], "web-2": [pods_of(110)]},
            id="dead-ones-first-then-superfluous-ones",
        ),
        pytest.param(
            [foreign(97), left_overs(1, 8), left_overs(1, NOWHERE, 120)],
            {"web-1": [pods_of(120)], "web-2": [pods_of(100)]},
            id="strangers-last",
        ),
        pytest.param(
            [foreign(99), left_overs(1)], {"web-1": ["full"], "web-2": ["full"]}, id="one-too-many-and-one-dead"
        ),
        pytest.param(
            [foreign(98), left_overs(2)],
            {"web-1": [pods_of(100), pods_of(101)], "web-2": ["full"]},
            id="one-too-many-and-two-dead",
        ),
        pytest.param(
            [foreign(98), [a_route("10.244.1.0/25", NOWHERE)]],
            {"web-1": ["10.244.1.0/25"], "web-2": ["full"]},
            id="one-in-the-way-makes-room-for-its-own",
        ),
        pytest.param(
            [foreign(98), [a_route("10.244.0.0/20", NOWHERE)]],
            {"web-1": ["10.244.0.0/20"], "web-2": ["full"]},
            id="one-in-the-way-of-two-makes-room-for-one",
        ),
        pytest.param(
            [foreign(97), [a_route("10.244.0.0/20", NOWHERE)], left_overs(1)],
            {"web-1": ["10.244.0.0/20"], "web-2": ["10.244.0.0/20", pods_of(100)]},
            id="one-in-the-way-of-two-and-one-dead",
        ),
        pytest.param(
            [foreign(97), [a_route("10.244.1.0/25", NOWHERE), a_route("10.244.1.128/25", 9)]],
            {"web-1": ["10.244.1.0/25", "10.244.1.128/25"], "web-2": ["full"]},
            id="two-in-the-way-of-one",
        ),
    ],
)
def test_a_full_network(routes: list[list[Route]], expected: dict[str, list[str]]) -> None:
    """A network takes 100 routes: that is counted before anything is tried, and what goes makes room, surest first."""
    assert after_of(a_crowded_world(TWO, *routes)) == expected


def test_what_could_not_be_read_takes_room() -> None:
    """Routes with a destination that nobody can read count like others."""
    world = a_crowded_world(TWO, foreign(97))
    hidden = routes_of(*(world.routes or ()), unreadable={"fd00::/64": "an IPv6 destination"})
    assert after_of(replace(world, routes=hidden)) == {"web-1": [], "web-2": ["full"]}


def test_older_nodes_come_first() -> None:
    """Who gets the last place does not change with the names: a Node keeps what it would have had."""
    young, old = a_pod_node(1), a_pod_node(2, created_at=NOW - timedelta(days=9))
    assert after_of(a_crowded_world([young, old], foreign(98))) == {"web-2": [], "web-1": ["full"]}


def test_over_the_limit() -> None:
    """The number is part of what is said."""
    claim = claimed(a_crowded_world(TWO, foreign(98)))["web-2", pods_of(2)]
    assert claim.why == f"the network has {MOST_ROUTES} of {MOST_ROUTES} routes, and takes no more"
    assert claim.status in FAILING


def test_a_swap_needs_no_room() -> None:
    """A gateway is changed in a full network as in any other."""
    world = a_crowded_world([a_pod_node(1)], foreign(98), [a_route(1, NOWHERE)])
    standings = {name: claim.status for (name, _), claim in claimed(world).items()}
    assert standings == {"web-1": RouteStatus.MISLED, "web-9": RouteStatus.SERVED}
