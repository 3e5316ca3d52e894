"""Whole passes that make routes: at which price, what does not wait for them, and when a series of them gives way."""

from collections.abc import Callable, Mapping
from concurrent.futures import Future
from typing import Any

import pytest

from actuators.lanes import Lane
from actuators.outcome import PREEMPTED, Applied, Failed
from reconciler.result import Result, exit_code
from tests.routes import gateway_of, pods_of
from tests.support.passes import (
    Milestones,
    PatientWriter,
    Run,
    a_run_of_joining_nodes,
    added,
    initialized,
    just_before_the_writes,
    outcomes,
    published,
    routed_nodes,
    routes_to,
    written,
)
from tests.support.simulators import Simulation

Simulate = Callable[..., Simulation]
POLL, ADD, NETWORK = "GET /v1/actions", "POST /v1/networks/7/actions/add_route", "GET /v1/networks/7"


@pytest.mark.parametrize(("nodes", "pages", "calls"), [(20, 1, 45), (100, 2, 210)])
def test_what_joining_nodes_cost(simulate: Simulate, nodes: int, pages: int, calls: int) -> None:
    """One pass makes all of it: a call and a poll a route, none of them refused. The next one reads each page of
    servers and the network once, and writes nothing."""
    run = a_run_of_joining_nodes(simulate, nodes)

    report = run.converge()

    assert report.result is Result.NO_CHANGES
    assert (run.sim.routes(), len(routed_nodes(run))) == (routes_to(nodes), nodes)
    sent = [f"{entry.method} {entry.path}" for entry in run.sim.sent_to_hetzner()]
    assert {what: sent.count(what) for what in sent} == {"GET /v1/servers": pages, NETWORK: 2, ADD: nodes, POLL: nodes}
    assert report.requests.hetzner == len(sent) <= calls
    assert all(entry.status < 400 for entry in (*run.sim.sent_to_hetzner(), *run.sim.sent_to_kubernetes()))

    run.sim.hetzner_proxy.journal.clear()
    run.sim.kubernetes_proxy.journal.clear()
    again = run.converge()

    assert (again.result, again.lines) == (Result.NO_CHANGES, ())
    assert sorted(entry.path for entry in run.sim.sent_to_hetzner()) == ["/v1/networks/7", *["/v1/servers"] * pages]
    assert {entry.method for entry in (*run.sim.sent_to_hetzner(), *run.sim.sent_to_kubernetes())} == {"GET"}


def test_no_node_waits_for_a_route(simulate: Simulate) -> None:
    """All are initialized while not one route was asked for yet, more of them than are written at once."""
    ears = Milestones(node_initialise=20)
    run = a_run_of_joining_nodes(simulate, 20, ears=ears)
    run.writer = PatientWriter(run.sim.hetzner_connection(), lambda _added: ears.await_all("node.initialise"))

    report = run.converge()

    assert set(outcomes(report).values()) == {Applied}
    assert len(initialized(run)) == len(run.sim.routes()) == 20


def test_load_balancers_go_first(simulate: Simulate) -> None:
    """They are made before the first route, and their addresses are published when one route has been made: so much of
    the series is for the first pass, and all else of it for the pass that publishes them."""
    ears = Milestones(node_initialise=5, service_status=3)
    run = a_run_of_joining_nodes(simulate, 5, services=3, ears=ears)
    run.writer = PatientWriter(
        run.sim.hetzner_connection(), lambda added: ears.await_all("service.status" if added else "node.initialise")
    )

    report = run.converge()

    assert report.result is Result.NO_CHANGES
    assert set(outcomes(report).values()) == {Applied}
    assert written(run) == ["POST load_balancers"] * 3 + ["POST add_route"] * 5
    assert all(published(run, f"web-{number}") for number in (1, 2, 3))
    assert (run.sim.routes(), len(routed_nodes(run)), run.ears.begun) == (routes_to(5), 5, 2)


@pytest.mark.parametrize("after", [0, 1, 7])
def test_a_series_gives_way_to_a_wake_up(simulate: Simulate, after: int) -> None:
    """A pass that is called for elsewhere ends with the route that it is at, or its first one; the next pass goes on
    with the rest. Nodes are told of their routes as far as these are there."""
    run = a_run_of_joining_nodes(simulate, 12)
    run.is_called = lambda: added(run) >= after
    made = max(1, after)

    first = run.converge()

    assert first.result is Result.PARTIAL
    assert (len(run.sim.routes()), len(routed_nodes(run)), len(initialized(run))) == (made, made, 12)
    of_routes = [line.outcome for line in first.lines if line.change.key.startswith("route/")]
    assert sorted(of_routes, key=str) == [Applied()] * made + [PREEMPTED] * (12 - made)

    run.is_called = lambda: False
    second = run.converge()

    assert second.result is Result.NO_CHANGES
    assert (run.sim.routes(), len(routed_nodes(run)), added(run)) == (routes_to(12), 12, 12)


def test_a_route_refused_after_its_chain_is_told_at_once(simulate: Simulate) -> None:
    """It was left under way; the next chain's first plan knows its end, and no second pass has to close the Node."""
    run = a_run_of_joining_nodes(simulate, 1)
    (route,) = (line.change for line in run.plan().lines if line.change.kind == "route.create")
    lane = Lane.of(route)
    lane.future = Future()
    lane.future.set_result(Failed("no"))
    run.under_way.left = [lane]

    report = run.converge()

    assert (added(run), outcomes(report)[route.key], run.ears.begun) == (0, Failed, 1)
    (node,) = run.sim.nodes().values()
    assert ("NetworkUnavailable", "True") in {(each["type"], each["status"]) for each in node["status"]["conditions"]}


def test_a_node_that_leaves_while_its_routes_are_made_fails_nothing(simulate: Simulate) -> None:
    """Its condition cannot be written any more: it was overtaken, and ``--once`` exits with 0 for it."""
    run = a_run_of_joining_nodes(simulate, 3)
    run.converge()
    nodes = [_without_condition(node) for node in run.sim.nodes().values()]
    run.sim.kubernetes.replace_world({"nodes": nodes})
    just_before_the_writes(run, lambda sim: sim.kubernetes.replace_world({"nodes": nodes[1:]}))

    report = run.converge()

    assert (report.outcomes(Failed), exit_code(report, detailed=False)) == ((), 0)
    assert routed_nodes(run) == {"web-2", "web-3"}


def test_what_a_person_let_through_does_not_give_way(simulate: Simulate) -> None:
    """An approval counts once: were it cut short by a wake-up, the rest would have to be approved anew."""
    run = a_run_of_joining_nodes(simulate, 4)
    run.converge()
    _lead_more(run, {pods_of(number): gateway_of(1) for number in (100, 101, 102)})
    holds = run.plan().holds
    assert {hold.rule for hold in holds} == {"route-blast-radius", "silent-cluster"}  # none of the Nodes is Ready yet
    for hold in holds:
        run.approve(hold.hash)
    run.is_called = lambda: True

    report = run.converge()

    assert set(outcomes(report).values()) == {Applied}
    assert (report.result, run.sim.routes()) == (Result.NO_CHANGES, routes_to(4))


def _without_condition(node: dict[str, Any]) -> dict[str, Any]:
    kept = [each for each in node["status"]["conditions"] if each["type"] != "NetworkUnavailable"]
    return {**node, "status": {**node["status"], "conditions": kept}}


def _lead_more(run: Run, led: Mapping[str, str]) -> None:
    project = run.sim.hetzner.world()["hetzner"]
    (network,) = project["networks"]
    more = [{"destination": destination, "gateway": gateway} for destination, gateway in led.items()]
    run.sim.hetzner.replace_world({**project, "networks": [{**network, "routes": [*network["routes"], *more]}]})
