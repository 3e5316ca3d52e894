"""Deleting a Node whose server is gone: only the very Node that was judged, and only while everything still holds."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from actuators.http.errors import ApiError, Broken, Conflict, Denied, Transient
from actuators.http.kubernetes import ApiAnswer
from actuators.nodes import delete
from desired.model.snapshot import Snapshot
from desired.plan.change import Change, LostNode
from desired.syntax.provider_id import Provider
from tests.support.harm_metal import metal
from tests.support.objects import condition, joining_node, server, settled_node
from tests.support.passes import planned
from tests.support.rows import rows
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


def carry_out(sim: Simulation, change: Change, snapshot: Snapshot) -> None:
    delete(sim.kubernetes_writer(), sim.kubernetes_reader(), sim.hetzner_reader(), sim.robot_reader(), change, snapshot)


def report_ready(sim: Simulation) -> None:
    """What a kubelet does that is back."""
    sim.kubernetes_writer().patch(f"{NODE}/status", {"status": {"conditions": [condition("Ready", "True")]}})


def register_again(sim: Simulation) -> str:
    """What a kubelet does after somebody deleted its Node; returns the new Node's uid."""
    uid = str(sim.nodes()["web-1"]["metadata"]["uid"])
    version = str(sim.nodes()["web-1"]["metadata"]["resourceVersion"])
    sim.kubernetes_writer().delete(NODE, uid=uid, version=version)
    sim.kubernetes_writer().create(NODES, joining_node("web-1"))
    sim.kubernetes_proxy.journal.clear()
    return str(sim.nodes()["web-1"]["metadata"]["uid"])


def test_a_lost_node_is_deleted(sim: Simulation) -> None:
    """The Node goes, and no other; it costs one question to each API and one write."""
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
    """A server that can be found by its id ends it before the cluster is even asked."""
    change, snapshot = lost(sim)
    sim.hetzner.replace_world({"servers": [server(1, "web-1"), server(2, "web-2")]})
    with pytest.raises(Broken, match=r"its list lacks server 1, but a GET by its id finds it$"):
        carry_out(sim, change, snapshot)
    assert "web-1" in sim.nodes()
    assert sim.sent_to_kubernetes() == []


@rows(
    "fault expected",
    {
        "down": ({"kind": "status", "code": 500, "body": "<html>"}, Transient),
        "no permission": (
            {"kind": "status", "code": 403, "body": {"error": {"code": "forbidden", "message": "no"}}},
            Denied,
        ),
        "a proxy's 404 is no absence": ({"kind": "status", "code": 404, "body": "<html>"}, Broken),
    },
)
def test_a_server_of_which_nothing_is_known(sim: Simulation, fault: dict[str, Any], expected: type[ApiError]) -> None:
    """Nothing but the API's own word for absence lets the Node go."""
    change, snapshot = lost(sim)
    sim.spoil_hetzner(**fault, count=None)
    with pytest.raises(ApiError) as raised:
        carry_out(sim, change, snapshot)
    assert type(raised.value) is expected
    assert "web-1" in sim.nodes()
    assert sim.sent_to_kubernetes() == []


def test_a_kubelet_that_reports_again(sim: Simulation) -> None:
    """A Node that is Ready by now is not even asked to go."""
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
    """When the last look tells nothing, the Node stays."""
    change, snapshot = lost(sim)
    sim.spoil_kubernetes("status", path=NODE, method="GET", code=200, body=body)
    with pytest.raises(Broken, match=r"^Node web-1: the API server's Node could not be read: "):
        carry_out(sim, change, snapshot)
    assert "web-1" in sim.nodes()


class _Meanwhile:
    """A reader of the cluster; right after its answer something happens."""

    def __init__(self, sim: Simulation, happens: Callable[[Simulation], Any]) -> None:
        self._sim = sim
        self._happens = happens

    def get(self, path: str) -> ApiAnswer:
        """The true answer, which is old news by the time that it arrives."""
        answer = self._sim.kubernetes_reader().get(path)
        self._happens(self._sim)
        return answer


@rows("happens", {"Ready": report_ready, "registered again": register_again})
def test_what_happens_after_the_last_look(sim: Simulation, happens: Callable[[Simulation], Any]) -> None:
    """The deletion itself carries what was judged, so that nothing slips in between the last look and it."""
    change, snapshot = lost(sim)

    with pytest.raises(Conflict):
        delete(
            sim.kubernetes_writer(),
            _Meanwhile(sim, happens),  # type: ignore[arg-type]
            sim.hetzner_reader(),
            sim.robot_reader(),
            change,
            snapshot,
        )

    assert "web-1" in sim.nodes()


def hold_back(sim: Simulation) -> None:
    sim.kubernetes_writer().patch(NODE, {"metadata": {"finalizers": ["example.com/drain"]}})


def test_a_node_with_a_finalizer(sim: Simulation) -> None:
    """The Node was asked to go, which is all that can be done: it lingers until its finalizer is gone."""
    hold_back(sim)
    carry_out(sim, *lost(sim))
    assert sim.nodes()["web-1"]["metadata"]["deletionTimestamp"] == ago(0)
