"""Watches, judge and connection together, against the simulator: what wakes the loop, and how soon."""

import json
import queue
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import pytest

from actuators.http.kubernetes import KubernetesReader, KubernetesWriter
from actuators.wire.node import NODES
from actuators.wire.service import SERVICES
from desired.model.snapshot import Snapshot
from reconciler.triggers import Triggers, WatchedKind, watch_cluster
from tests.builders import a_snapshot
from tests.support.objects import condition, joining_node, settled_node
from tests.support.simulators import Simulation

SOON_S = 60.0
"""More than enough on any machine; nothing here waits for it but a test that fails."""


@dataclass
class Stage:
    """Running watches, and a client that is somebody else."""

    sim: Simulation
    triggers: Triggers
    reader: KubernetesReader
    ours: KubernetesWriter
    theirs: KubernetesWriter
    woken: "queue.Queue[str]"

    def next(self) -> str:
        return self.woken.get(timeout=SOON_S)

    def snapshot(self) -> Snapshot:
        nodes, _ = NODES.observe(self.reader)
        services, _ = SERVICES.observe(self.reader)
        return a_snapshot(nodes_section=nodes, services=services)

    def label(self, writer: KubernetesWriter, name: str, value: str) -> None:
        writer.patch(f"{NODES.path}/{name}", {"metadata": {"labels": {"example.com/team": value}}})

    def flush(self) -> str:
        """A change that certainly wakes: whatever came before it has been judged by then."""
        self.theirs.create(NODES.path, joining_node("the-end"))
        return self.next()


@pytest.fixture
def silence_s() -> float:
    return 60.0


@pytest.fixture
def stage(simulate: Callable[..., Simulation], silence_s: float) -> Iterator[Stage]:
    sim = simulate(nodes=[settled_node("web-1", 1), settled_node("web-2", 2)])
    sim.stop = threading.Event()  # type: ignore[assignment]
    connection = sim.kubernetes_connection()
    woken: queue.Queue[str] = queue.Queue()
    reader = KubernetesReader(connection)
    triggers = watch_cluster(reader, woken.put, tuple(WatchedKind), silence_s=silence_s)
    triggers.start(SOON_S)
    stage = Stage(sim, triggers, reader, KubernetesWriter(connection), sim.kubernetes_writer(), woken)
    triggers.settle(stage.snapshot())
    yield stage
    triggers.stop()


def test_a_node_joins(stage: Stage) -> None:
    stage.theirs.create(NODES.path, joining_node("web-3"))
    assert stage.next() == "node/web-3 is new"


def test_a_node_goes(stage: Stage) -> None:
    """A DELETED event has the whole object; that it is gone is what counts."""
    meta = stage.sim.nodes()["web-1"]["metadata"]
    stage.theirs.delete(f"{NODES.path}/web-1", uid=meta["uid"], version=meta["resourceVersion"])
    assert stage.next() == "node/web-1 is gone"


def test_heartbeats(stage: Stage) -> None:
    for beat in range(200):
        beating = {**condition("Ready", "True"), "lastHeartbeatTime": f"2026-02-01T00:{beat // 60:02}:{beat % 60:02}Z"}
        stage.theirs.patch(f"{NODES.path}/web-1/status", {"status": {"conditions": [beating]}})

    assert stage.flush() == "node/the-end is new"


def test_our_own_writes(stage: Stage) -> None:
    """Those over the product's own connection wake nobody, the same from elsewhere would."""
    stage.label(stage.ours, "web-1", "red")
    meta = stage.sim.nodes()["web-2"]["metadata"]
    stage.ours.delete(f"{NODES.path}/web-2", uid=meta["uid"], version=meta["resourceVersion"])

    assert stage.flush() == "node/the-end is new"


@pytest.mark.parametrize("silence_s", [0.5])
@pytest.mark.parametrize(
    ("fault", "may_begin_anew"),
    [
        pytest.param({"kind": "half_open"}, False, id="half-open"),
        pytest.param({"kind": "reset"}, False, id="reset"),
        pytest.param({"kind": "hang"}, False, id="silent at the opening"),
        pytest.param({"kind": "status", "code": 503}, False, id="unavailable"),
        pytest.param({"kind": "status", "code": 200, "body": ""}, False, id="closes at once"),
        pytest.param({"kind": "status", "code": 200, "body": "{}\n"}, True, id="no event"),
        pytest.param({"kind": "status", "code": 200, "body": "<html></html>"}, True, id="another server's page"),
        pytest.param({"kind": "status", "code": 410, "body": {"kind": "Status"}}, True, id="gone"),
    ],
)
def test_nothing_is_lost(stage: Stage, fault: dict[str, Any], may_begin_anew: bool) -> None:
    """A change that happens while a watch is broken wakes all the same: through the next one, or because that began
    anew."""
    # The open watch has to come to its end first: half a second of silence does that.
    stage.sim.spoil_kubernetes(**fault, path=NODES.path, query="watch=true")
    if fault["kind"] != "half_open":
        stage.sim.spoil_kubernetes("half_open", path=NODES.path, query="watch=true")
    stage.label(stage.theirs, "web-1", "red")

    assert stage.next() in {"node/web-1 changed", *["the watch of nodes began anew"] * may_begin_anew}


def test_an_end_that_misses_nothing(stage: Stage) -> None:
    """The server ends each watch every few minutes: the next one goes on where that stopped."""
    stage.sim.clock.advance(301)
    stage.label(stage.theirs, "web-1", "red")

    assert stage.next() in {"node/web-1 changed", "the watch of nodes began anew"}


def test_a_stop_ends_all_threads(stage: Stage) -> None:
    stage.triggers.stop()

    names = {thread.name for thread in threading.enumerate()}
    assert not names & {"watch-nodes", "watch-services", "judge"}


def test_before_anything_is_started(simulate: Callable[..., Simulation]) -> None:
    """Nothing is sent; what was never started can be stopped."""
    sim = simulate()
    triggers = watch_cluster(sim.kubernetes_reader(), lambda _why: None, tuple(WatchedKind))
    triggers.stop()

    assert sim.sent_to_kubernetes() == []


def test_what_a_watch_costs(stage: Stage) -> None:
    """One object of a list and one watch for each kind; the rest is what passes send. Both are open by the time that a
    change of each wakes."""
    stage.flush()
    ports = [{"name": "http", "port": 80, "protocol": "TCP"}]
    web = {"metadata": {"name": "web"}, "spec": {"type": "LoadBalancer", "ports": ports}}
    stage.theirs.create("/api/v1/namespaces/default/services", web)
    assert stage.next() == "service/default/web is new"
    asked = [(entry.path, json.dumps(entry.query)) for entry in stage.sim.sent_to_kubernetes("GET")]
    assert sum('limit=1"' in query for _, query in asked) == 2
    assert sum("watch=true" in query for _, query in asked) == 2
