"""Deleting a Node whose server is gone: only the very Node that was judged, and only while everything still holds."""

from dataclasses import replace
from typing import Any

import pytest

from actuators.http.errors import Broken, Conflict
from desired.model.snapshot import Snapshot
from desired.plan.change import Change, LostNode
from desired.syntax.provider_id import Provider
from tests.support.balancer_stage import carry_out
from tests.support.harm_metal import metal
from tests.support.objects import condition, server, settled_node
from tests.support.passes import planned
from tests.support.simulators import Simulate, Simulation, ago

NODES = "/api/v1/nodes"
NODE = f"{NODES}/web-1"


@pytest.fixture
def sim(simulate: Simulate) -> Simulation:
    """A silent Node whose server is gone, and one in order."""
    return simulate(
        nodes=[settled_node("web-1", 1, "Unknown", since=ago(300)), settled_node("web-2", 2)],
        project={"servers": [server(2, "web-2")]},
    )


def lost(sim: Simulation) -> tuple[Change, Snapshot]:
    """The deletion that the world asks for, and the snapshot from which it was planned."""
    return planned(sim, "node.delete")


def report_ready(sim: Simulation) -> None:
    """What a kubelet does that is back."""
    sim.kubernetes_writer().patch(f"{NODE}/status", {"status": {"conditions": [condition("Ready", "True")]}})


def test_a_lost_node_is_deleted(sim: Simulation) -> None:
    others = {name: node for name, node in sim.nodes().items() if name != "web-1"}
    carry_out(sim, *lost(sim))
    assert sim.nodes() == others
    assert [entry.path for entry in sim.sent_to_hetzner()] == ["/v1/servers/1"]
    assert [(entry.method, entry.path) for entry in sim.sent_to_kubernetes()] == [("GET", NODE), ("DELETE", NODE)]


def test_a_node_without_any_condition(sim: Simulation) -> None:
    """A Node of which its kubelet never said anything does not report."""
    sim.kubernetes_writer().patch(f"{NODE}/status", {"status": {"conditions": None}})
    carry_out(sim, *lost(sim))
    assert "web-1" not in sim.nodes()


def test_a_server_that_is_there_after_all(sim: Simulation) -> None:
    change, snapshot = lost(sim)
    sim.hetzner.replace_world({"servers": [server(1, "web-1"), server(2, "web-2")]})
    with pytest.raises(Broken, match=r"its list lacks server 1, but a GET by its id finds it$"):
        carry_out(sim, change, snapshot)
    assert "web-1" in sim.nodes()
    assert sim.sent_to_kubernetes() == []


def test_a_server_of_which_nothing_is_known(sim: Simulation) -> None:
    """Nothing but the API's own word for absence lets the Node go."""
    change, snapshot = lost(sim)
    sim.spoil_hetzner("status", code=404, body="<html>", count=None)
    with pytest.raises(Broken):
        carry_out(sim, change, snapshot)
    assert "web-1" in sim.nodes()
    assert sim.sent_to_kubernetes() == []


def test_a_kubelet_that_reports_again(sim: Simulation) -> None:
    change, snapshot = lost(sim)
    report_ready(sim)
    sim.kubernetes_proxy.journal.clear()
    with pytest.raises(Conflict, match=r"^Node web-1 is Ready again$"):
        carry_out(sim, change, snapshot)
    assert "web-1" in sim.nodes()
    assert sim.written() == []


def test_a_dedicated_server_is_asked_for_at_robot(simulate: Simulate) -> None:
    """Robot has it. Hetzner Cloud, which knows no server of that number, proves nothing."""
    nodes = [settled_node("web-1", 1, "Unknown", since=ago(300)), settled_node("web-2", 2)]
    sim = simulate(nodes=nodes, project={"servers": [server(2, "web-2")]}, robot=[metal(61, "web-1")])
    change, snapshot = lost(sim)
    assert isinstance(change.before, LostNode)
    proof = replace(change.before.proof, provider=Provider.ROBOT, server_id=61)
    with pytest.raises(Broken, match="GET by its id finds it"):
        carry_out(sim, replace(change, before=replace(change.before, proof=proof)), snapshot)
    assert {"web-1", "web-2"} <= sim.nodes().keys()


@pytest.mark.parametrize("body", ["<html>", {"status": {"conditions": 5}}, {"status": {"conditions": [{}]}}])
def test_a_node_that_cannot_be_read(sim: Simulation, body: Any) -> None:
    change, snapshot = lost(sim)
    sim.spoil_kubernetes("status", path=NODE, method="GET", code=200, body=body)
    with pytest.raises(Broken, match=r"^Node web-1: the API server's Node could not be read: "):
        carry_out(sim, change, snapshot)
    assert "web-1" in sim.nodes()
