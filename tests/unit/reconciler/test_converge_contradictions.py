"""Whole passes in which Hetzner contradicts itself: a list that adds up lacks a server that a GET by its id finds."""

import json
from collections.abc import Callable, Mapping
from typing import Any

import pytest

from desired.plan.change import Verdict
from reconciler.result import Result
from tests.support.objects import joining_node, server, settled_node
from tests.support.passes import Run, initialized
from tests.support.simulators import Simulation, ago

NAMES = {number: f"web-{number:02}" for number in range(1, 11)}
HIDDEN = (1, 2, 3)
"""Servers that the list lacks. Only the third one is there."""


def world(simulate: Callable[..., Simulation], *others: Mapping[str, Any], **spec: Any) -> Run:
    """Ten Nodes: the servers of two are gone, and a third one is silent, whose server the list lacks."""
    nodes = [settled_node(name, number, "Unknown", since=ago(300)) for number, name in NAMES.items()]
    for node in nodes[:2]:
        node["spec"] |= spec
    project = {"servers": [server(number, name) for number, name in NAMES.items() if number not in (1, 2)]}
    run = Run(simulate(nodes=[*nodes, *others], project=project))
    listed = json.loads(run.sim.hetzner_reader().get("/servers"))
    listed["servers"] = [found for found in listed["servers"] if found["id"] not in HIDDEN]
    listed["meta"]["pagination"]["total_entries"] = len(listed["servers"])
    run.sim.spoil_hetzner("status", code=200, body=listed, path="/v1/servers$", count=None)
    run.sim.hetzner_proxy.journal.clear()
    return run


def asked(run: Run) -> list[str]:
    """What was asked of Hetzner since the last call."""
    paths = sorted(entry.path.removeprefix("/v1/") for entry in run.sim.sent_to_hetzner())
    run.sim.hetzner_proxy.journal.clear()
    return paths


@pytest.mark.parametrize("spec", [pytest.param({}, id="silent"), pytest.param({"unschedulable": True}, id="cordoned")])
def test_nobody_goes_beside_a_contradiction(simulate: Callable[..., Simulation], spec: dict[str, Any]) -> None:
    """A list that lacks what is there proves nothing of what else it lacks: no Node goes in that pass."""
    run = world(simulate, **spec)

    report = run.converge()

    assert report.snapshot is not None
    servers = report.snapshot.servers
    assert (servers.complete, servers.why_incomplete) == (False, "it lacks server 3, which a GET by its id finds")
    assert (report.result, sorted(run.sim.nodes())) == (Result.INCOMPLETE, list(NAMES.values()))
    assert [line for line in report.lines if line.change.decision.verdict is Verdict.ALLOWED] == []
    assert run.sim.sent_to_kubernetes("DELETE") == []
    assert asked(run) == ["servers", "servers/1", "servers/2", "servers/3"]


def test_a_contradiction_is_remembered(simulate: Callable[..., Simulation]) -> None:
    """The same list again is as little worth, without another question; once it is whole, those go that are gone."""
    run = world(simulate)
    run.converge()
    asked(run)

    run.sim.clock.advance(29)
    assert run.converge().result is Result.INCOMPLETE
    assert (asked(run), sorted(run.sim.nodes())) == (["servers"], list(NAMES.values()))

    run.sim.hetzner_proxy.clear_faults()
    assert run.converge().result is Result.NO_CHANGES
    assert sorted(run.sim.nodes()) == list(NAMES.values())[2:]


def test_who_joins_beside_a_contradiction(simulate: Callable[..., Simulation]) -> None:
    """A Node that joins by its name waits until the list is whole."""
    run = world(simulate, joining_node("late"))
    project = run.sim.hetzner.world()["hetzner"]
    run.sim.hetzner.replace_world({**project, "servers": [*project["servers"], server(11, "late")]})

    assert run.converge().result is Result.INCOMPLETE
    assert "late" not in initialized(run)

    run.sim.hetzner_proxy.clear_faults()
    run.converge()
    assert "late" in initialized(run)
