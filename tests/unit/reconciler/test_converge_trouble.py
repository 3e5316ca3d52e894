"""Passes in a world that answers badly, or not at all: what is written then, and what the result is."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from actuators.http.errors import Broken, Denied, Throttled, Transient
from actuators.outcome import Applied
from desired.model.settings import Settings
from desired.plan.change import Plan
from desired.section import Unknown
from reconciler.observe.world import Observation
from reconciler.page.page import network_of
from reconciler.passes.reporting import all_errors, fatal_errors
from reconciler.result import Result
from tests.builders import a_server, a_snapshot
from tests.support.objects import joining_node, server, settled_node
from tests.support.passes import Run, initialized
from tests.support.rows import rows
from tests.support.simulators import Simulation

REFUSED_NODE = {"kind": "Status", "reason": "Forbidden", "message": "may not read that"}


def test_a_missing_network(joining: Run) -> None:
    joining.settings = Settings(network="nett")

    report = joining.converge()

    assert report.result is Result.ERROR
    (error,) = report.errors
    assert error.startswith("HCLOUD_NETWORK is 'nett', and the project that HCLOUD_TOKEN belongs to has no network of")
    assert joining.sim.written() == []


def test_a_missing_network_of_another_project(elsewhere: Run) -> None:
    elsewhere.settings = Settings(network="net")

    report = elsewhere.converge()

    assert (report.result, report.errors) == (Result.BLOCKED, ())


HETZNER_TROUBLE = [
    pytest.param({"kind": "reset"}, Result.ERROR, id="no connection"),
    pytest.param({"kind": "status", "code": 503, "body": "<html>"}, Result.ERROR, id="down"),
    pytest.param({"kind": "status", "code": 200, "body": "<html>"}, Result.ERROR, id="a page of HTML"),
    pytest.param({"kind": "status", "code": 404, "body": "<html>"}, Result.ERROR, id="somebody else's server"),
    pytest.param(
        {"kind": "status", "code": 404, "body": {"error": {"code": "not_found", "message": "api route not found"}}},
        Result.ERROR,
        id="a wrong path in the endpoint",
    ),
    pytest.param(
        {"kind": "status", "code": 401, "body": {"error": {"code": "unauthorized", "message": "invalid token"}}},
        Result.ERROR,
        id="a wrong token",
    ),
    pytest.param(
        {"kind": "status", "code": 429, "body": {"error": {"code": "rate_limit_exceeded", "message": "slow down"}}},
        Result.INCOMPLETE,
        id="throttled",
    ),
]


EMPTY = {"servers": [], "meta": {"pagination": {"last_page": 1, "total_entries": 0}}}


@pytest.mark.parametrize(
    ("fault", "result"),
    [
        *HETZNER_TROUBLE,
        pytest.param({"kind": "status", "code": 200, "body": EMPTY}, Result.BLOCKED, id="an empty project"),
    ],
)
def test_no_node_goes_for_lack_of_a_list(
    simulate: Callable[..., Simulation], fault: dict[str, Any], result: Result
) -> None:
    """A Node that was silent for a year stays until somebody can say that its server is gone."""
    nodes = [settled_node("web-1", 1, "Unknown"), settled_node("web-2", 2)]
    run = Run(simulate(nodes=nodes, project={"servers": [server(2, "web-2")]}))
    run.sim.spoil_hetzner(**fault, path="/v1/servers$", count=None)

    report = run.converge()
    assert report.result is result
    assert sorted(run.sim.nodes()) == ["web-1", "web-2"]
    assert {entry.method for entry in run.sim.sent_to_hetzner()} == {"GET"}

    run.sim.hetzner_proxy.clear_faults()
    run.converge()
    assert sorted(run.sim.nodes()) == ["web-2"]


@pytest.mark.parametrize("fault", [{"kind": "reset"}, {"kind": "status", "code": 401, "body": "<html>"}])
def test_one_api_in_trouble_is_one_error(joining: Run, fault: dict[str, Any]) -> None:
    """Servers and network are of one API: what keeps both from being read is said once."""
    joining.settings = Settings(network="net")
    joining.sim.spoil_hetzner(**fault, count=None)

    report = joining.converge()

    assert report.result is Result.ERROR
    assert len(report.errors) == 1
    assert report.errors[0].startswith(f"Hetzner API {joining.sim.endpoint}")


def test_each_api_in_trouble_is_an_error() -> None:
    """A network that may not be read is an error by itself when the servers were read."""
    denied = Denied("no right to read networks")
    observation = Observation(a_snapshot(servers=[a_server()], network=Unknown("x")), {"network": denied})

    assert fatal_errors(observation, Plan()) == ("no right to read networks",)
    throttled = Throttled("slow down", retry_after_s=1.0)
    both = Observation(a_snapshot(network=Unknown("x")), {"servers": throttled, "network": denied})
    assert fatal_errors(both, Plan()) == ("no right to read networks",)


@pytest.mark.parametrize(
    ("parts", "fatal", "errors"),
    [
        pytest.param([], [], [], id="all well"),
        pytest.param(["servers"], ["servers"], ["servers"], id="servers: everything depends on them"),
        pytest.param(["network"], ["network"], ["network"], id="the network: every address depends on it"),
        pytest.param(["services"], [], ["services"], id="Services: Nodes can do without"),
        pytest.param(["load_balancers"], [], ["load_balancers"], id="load balancers: so they can"),
        pytest.param(["certificates"], [], ["certificates"], id="certificates"),
        pytest.param(["load_balancers", "certificates"], [], ["load_balancers"], id="one API is one error"),
        pytest.param(["load_balancers", "servers"], ["servers"], ["servers"], id="the one that is fatal"),
        pytest.param(["services", "servers"], ["servers"], ["servers", "services"], id="one of each API"),
        pytest.param(["services", "load_balancers"], [], ["load_balancers", "services"], id="of each, none fatal"),
    ],
)
def test_what_may_not_be_read(parts: list[str], fatal: list[str], errors: list[str]) -> None:
    """A missing right is always an error; it stops all only when everything is decided from what it hides."""
    denied = Observation(a_snapshot(servers=[a_server()]), {part: Denied(part) for part in parts})

    assert fatal_errors(denied, Plan()) == tuple(fatal)
    assert all_errors(denied, Plan()) == tuple(errors)


@pytest.mark.parametrize("part", ["services", "load_balancers", "certificates", "load_balancer_types"])
def test_trouble_that_passes_is_no_error(part: str) -> None:
    """What cannot be read just now makes a run incomplete at most."""
    for trouble in (Transient("down"), Throttled("slow down", retry_after_s=1.0), Broken("<html>")):
        observation = Observation(a_snapshot(servers=[a_server()]), {part: trouble})
        assert all_errors(observation, Plan()) == fatal_errors(observation, Plan()) == ()


@pytest.mark.parametrize(
    ("broken", "waiting"),
    [
        pytest.param({"server_type": None}, ["web-2"], id="its name can be read: only its Node waits"),
        pytest.param({"server_type": None, "name": 5}, ["web-1", "web-2"], id="no name: each match by name waits"),
        pytest.param({"server_type": None, "name": "other"}, ["web-2"], id="another name: its Node has no server"),
    ],
)
def test_one_unreadable_server(joining: Run, broken: dict[str, Any], waiting: list[str]) -> None:
    """A server that cannot be decoded holds up the Nodes that may be its own, and no other."""
    listed = json.loads(joining.sim.hetzner_reader().get("/servers"))
    listed["servers"][1] |= broken
    joining.sim.spoil_hetzner("status", code=200, body=listed, path="/v1/servers", count=None)

    report = joining.converge()

    unmatched = broken.get("name") == "other"
    assert report.result is (Result.BLOCKED if unmatched else Result.INCOMPLETE)
    assert [(note.key, note.kind) for note in report.notes] == [
        (f"node/{name}", "unmatched" if unmatched else "unknown") for name in waiting
    ]
    assert initialized(joining) == [name for name in ("web-1", "web-2") if name not in waiting]


def test_part_of_the_servers(simulate: Callable[..., Simulation]) -> None:
    servers = [server(number, f"web-{number}") for number in range(1, 61)]
    known = joining_node("named")
    known["spec"]["providerID"] = "hcloud://1"
    run = Run(simulate(nodes=[known, joining_node("web-2")], project={"servers": servers}))
    run.sim.spoil_hetzner("status", code=503, query="page=2&", count=None)

    report = run.converge()

    assert report.result is Result.INCOMPLETE
    assert initialized(run) == ["named"]


def test_a_token_that_is_withdrawn_while_reading(simulate: Callable[..., Simulation]) -> None:
    """A token that is denied halfway ends the pass with an error: what could be planned is not applied either."""
    known = joining_node("named")
    known["spec"]["providerID"] = "hcloud://1"
    servers = [server(number, f"web-{number}") for number in range(1, 61)]
    run = Run(simulate(nodes=[known], project={"servers": servers}))
    denied = {"error": {"code": "unauthorized", "message": "invalid token"}}
    run.sim.spoil_hetzner("status", code=401, body=denied, query="page=2&", count=None)

    report = run.converge()

    assert report.result is Result.ERROR
    assert [(line.change.key, line.outcome) for line in report.lines] == [("node/named", None)]
    assert run.sim.written() == []


API_SERVER_TROUBLE = {
    "no connection": {"kind": "reset"},
    "down": {"kind": "status", "code": 503},
    "a wrong token": {"kind": "status", "code": 401, "body": "Unauthorized"},
    "no right to list": {"kind": "status", "code": 403, "body": REFUSED_NODE},
    "a page of HTML": {"kind": "status", "code": 200, "body": "<html>"},
    "no list": {"kind": "status", "code": 200, "body": {"kind": "Status", "metadata": {}, "items": []}},
}


@rows("fault", API_SERVER_TROUBLE)
def test_trouble_with_the_api_server(joining: Run, fault: dict[str, Any]) -> None:
    """Without the Nodes nothing can be said: one error, in a dry run and in a pass."""
    joining.sim.spoil_kubernetes(**fault, count=None)

    for report in (joining.plan(), joining.converge()):
        assert report.result is Result.ERROR
        assert len(report.errors) == 1
        assert report.snapshot is None
        assert report.requests.kubernetes > 0


def test_what_read_nothing_names_the_network(joining: Run) -> None:
    """As one that could not be read: the head of a page would else say that none is used."""
    joining.settings = Settings(network="private")
    joining.sim.spoil_kubernetes("reset", count=None)

    assert [network_of(report) for report in (joining.plan(), joining.converge())] == 2 * ["private, not read"]


def test_the_api_server_goes_away_after_the_writes(joining: Run) -> None:
    joining.sim.spoil_kubernetes("reset", method="GET", path="/api/v1/nodes", skip=1, count=None)

    report = joining.converge()

    assert report.result is Result.ERROR
    assert {line.outcome for line in report.lines} == {Applied()}
    assert initialized(joining) == ["web-1", "web-2"]


def test_the_clusters_identity_is_not_needed_to_join(joining: Run) -> None:
    joining.sim.spoil_kubernetes("status", path="/api/v1/namespaces/kube-system$", code=403, body=REFUSED_NODE)

    assert joining.converge().result is Result.NO_CHANGES
    assert initialized(joining) == ["web-1", "web-2"]
