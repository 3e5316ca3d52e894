"""Whole passes over a Node whose server is deleted and whose volumes are attached: out of service, detached, gone."""

from collections.abc import Callable
from typing import Any

import pytest

from actuators.outcome import Failed
from desired.model.settings import ServerLoss, Settings
from desired.names import OUT_OF_SERVICE_DELETED, TAINT_OUT_OF_SERVICE
from reconciler.result import Result
from tests.support.objects import server, settled_node
from tests.support.passes import Run, just_before_the_writes
from tests.support.simulators import Simulation, ago

ON = Settings(out_of_service=frozenset({ServerLoss.DELETED}))
ATTACHMENTS = "/apis/storage.k8s.io/v1/volumeattachments"
OTHER = {"key": "example.com/a", "effect": "NoExecute", "value": "b", "timeAdded": "2026-07-01T00:00:00Z"}
UNREACHABLE = {"key": "node.kubernetes.io/unreachable", "effect": "NoExecute", "timeAdded": "2026-07-01T00:00:00Z"}
LOST = "web-1"


def attachment(node: str, name: str = "csi-1") -> dict[str, Any]:
    spec = {"attacher": "csi.hetzner.cloud", "nodeName": node, "source": {"persistentVolumeName": "pv-1"}}
    return {"apiVersion": "storage.k8s.io/v1", "kind": "VolumeAttachment", "metadata": {"name": name}, "spec": spec}


@pytest.fixture
def run(simulate: Callable[..., Simulation]) -> Run:
    """Four Nodes, of which the server of the first was deleted; a volume is attached to it."""
    lost = settled_node(LOST, 1, "Unknown", since=ago(300))
    lost["spec"]["taints"] = [OTHER, UNREACHABLE]
    servers = {number: f"web-{number}" for number in (2, 3, 4)}
    nodes = [lost, *(settled_node(name, number) for number, name in servers.items())]
    sim = simulate(nodes=nodes, project={"servers": [server(number, name) for number, name in servers.items()]})
    sim.to_cluster("POST", ATTACHMENTS, attachment(LOST))
    sim.forget()
    return Run(sim, ON)


def taints(run: Run) -> list[dict[str, str]]:
    found: list[dict[str, str]] = run.sim.nodes()[LOST]["spec"].get("taints", [])
    return found


def ours(run: Run) -> list[dict[str, str]]:
    return [taint for taint in taints(run) if taint["key"] == TAINT_OUT_OF_SERVICE]


def detach(run: Run) -> None:
    run.sim.to_cluster("DELETE", f"{ATTACHMENTS}/csi-1")


def lists(run: Run) -> int:
    found = sum(exchange.path.startswith(ATTACHMENTS) for exchange in run.sim.sent_to_kubernetes("GET"))
    run.sim.forget()
    return found


def test_tainted_detached_deleted(run: Run) -> None:
    """The taint comes with its time, beside all others; the Node goes in the first pass that finds nothing attached."""
    report = run.converge()

    now = run.sim.clock.now().strftime("%Y-%m-%dT%H:%M:%SZ")
    written = {"key": TAINT_OUT_OF_SERVICE, "value": OUT_OF_SERVICE_DELETED, "effect": "NoExecute", "timeAdded": now}
    assert taints(run) == [OTHER, UNREACHABLE, written]
    assert report.result is Result.CHANGES
    assert [event.reason for event in run.ears.events] == ["OutOfServiceTaintChanged"]

    run.sim.clock.advance(15)
    assert run.converge().result is Result.CHANGES
    detach(run)
    run.converge()
    assert LOST not in run.sim.nodes()


def test_an_approval_of_several(run: Run) -> None:
    """It is used by taints and deletions; what was tainted asks nobody again, and another loss does."""
    for number in (2, 3):
        run.sim.set_ready(f"web-{number}", ready="Unknown", since=ago(300))
        run.sim.remove_servers(number)
    run.sim.to_cluster("POST", ATTACHMENTS, attachment("web-2", "csi-2"))
    (hold,) = run.converge().holds
    assert hold.keys == (f"node/{LOST}/out-of-service", "node/web-2/out-of-service", "node/web-3")
    run.approve(hold.hash)

    assert run.converge().holds == ()
    assert set(run.sim.nodes()) == {LOST, "web-2", "web-4"}
    detach(run)
    assert Run(run.sim, ON).converge().holds == ()
    assert set(run.sim.nodes()) == {"web-2", "web-4"}
    run.sim.to_cluster("DELETE", f"{ATTACHMENTS}/csi-2")
    run.converge()

    assert list(run.sim.nodes()) == ["web-4"]


def test_switched_off_in_between(run: Run) -> None:
    """The taint has its effect; the deletion still waits for it, and no longer."""
    run.converge()
    off = Run(run.sim, Settings())
    off.converge()
    assert LOST in run.sim.nodes()
    detach(run)
    off.converge()
    assert LOST not in run.sim.nodes()


def test_without_permission(run: Run) -> None:
    body = {"kind": "Status", "status": "Failure", "reason": "Forbidden", "code": 403, "message": "may not list"}
    run.sim.spoil_kubernetes("status", method="GET", path=ATTACHMENTS, code=403, body=body, count=None)

    planned = run.plan()
    run.converge()

    (note,) = [note.text for note in planned.notes if note.kind == "out-of-service"]
    assert "allow list on volumeattachments.storage.k8s.io" in note
    assert LOST not in run.sim.nodes()


def test_a_server_that_is_there_after_all(run: Run) -> None:
    just_before_the_writes(run, lambda sim: sim.add_servers(server(1, LOST)))
    report = run.converge()
    assert ours(run) == []
    assert LOST in run.sim.nodes()
    assert any(isinstance(line.outcome, Failed) for line in report.lines)


def test_a_server_that_comes_back(run: Run) -> None:
    """The taint goes once it is a minute old, the server runs, unlocked, and nothing is attached; not before."""
    run.converge()
    run.sim.add_servers(server(1, LOST))
    for status, locked, wait_s, is_detached in (
        ("running", False, 59, False),
        ("running", False, 10, False),
        ("off", False, 0, True),
        ("running", True, 0, False),
    ):
        run.sim.change_servers(1, status=status, locked=locked)
        run.sim.clock.advance(wait_s)
        if is_detached:
            detach(run)
        run.converge()
        assert len(ours(run)) == 1
    run.sim.change_servers(1, locked=False)
    Run(run.sim, Settings()).converge()
    assert ours(run) == []
    assert {taint["key"] for taint in taints(run)} == {OTHER["key"], UNREACHABLE["key"]}
    run.sim.forget()
    assert (run.converge().lines, run.sim.written()) == ((), [])


@pytest.mark.parametrize("happens", [
    lambda sim: sim.change_servers(1, status="off"),
    lambda sim: sim.change_servers(1, locked=True),
    lambda sim: sim.remove_servers(1),
], ids=["it stops", "it is locked", "it goes"])  # fmt: skip
def test_a_server_that_differs_just_before_the_write(run: Run, happens: Callable[[Simulation], None]) -> None:
    """The list is a moment old: the GET decides, and nothing has failed."""
    run.converge()
    run.sim.add_servers(server(1, LOST))
    detach(run)
    run.sim.clock.advance(60)
    just_before_the_writes(run, happens)
    report = run.converge()
    assert len(ours(run)) == 1
    assert not any(isinstance(line.outcome, Failed) for line in report.lines)


def test_a_node_that_registers_again(run: Run) -> None:
    """It is another Node, on another server, and gets no taint, although the old attachment names it."""
    run.converge()
    run.sim.to_cluster("DELETE", f"/api/v1/nodes/{LOST}")
    run.sim.add_servers(server(9, LOST))
    run.sim.to_cluster("POST", "/api/v1/nodes", settled_node(LOST, 9))
    run.converge()
    assert ours(run) == []


def test_what_it_costs(run: Run) -> None:
    """VolumeAttachments are read while a Node is lost or tainted, once a reading; never of a cluster in order, and
    never where nobody asked for it."""
    assert Run(run.sim, Settings()).plan().result is Result.CHANGES
    assert lists(run) == 0
    run.plan()
    assert lists(run) == 1
    run.converge()
    detach(run)
    run.converge()
    assert LOST not in run.sim.nodes()
    lists(run)
    assert run.converge().lines == ()
    assert lists(run) == 0


def test_a_crash_between_the_two(run: Run) -> None:
    """Two minutes after the taint the Node goes all the same: the next process counts by the taint's own time."""
    run.ears.end = run.stop.set  # type: ignore[method-assign]
    run.converge()
    assert len(ours(run)) == 1
    run.sim.clock.advance(119)
    Run(run.sim, ON).converge()
    assert LOST in run.sim.nodes()
    run.sim.clock.advance(1)
    Run(run.sim, ON).converge()
    assert LOST not in run.sim.nodes()
