"""Whole passes against both simulators over HTTP: what is planned, what is written, and what is said of it."""

from email.utils import format_datetime

import pytest

from actuators.http.retry import PATIENT
from actuators.nodes import NODE_ACTUATORS, NodeTask
from actuators.outcome import NOT_SEEN, STOPPED, Applied, Failed, Pending, Skipped
from desired.model.settings import Policy, Settings
from reconciler.result import Requests, Result
from tests.support.passes import Run, initialized
from tests.support.rows import rows

NOTHING_LEFT_OUT = "limited to node/web-2 by --only; 0 other changes left out"


def test_a_dry_run_writes_nothing(joining: Run) -> None:
    """A plan has a change for each joining Node, and costs one read of each list."""
    report = joining.plan()

    assert report.result is Result.CHANGES
    assert [line.change.key for line in report.lines] == ["node/web-1", "node/web-2"]
    assert initialized(joining) == []
    assert {entry.method for entry in joining.sim.sent_to_kubernetes()} == {"GET"}
    assert {entry.method for entry in joining.sim.sent_to_hetzner()} == {"GET"}
    assert report.requests == Requests(5, 1, 3599, 3600)


def test_joining_nodes_are_initialised(joining: Run) -> None:
    report = joining.converge()

    assert report.result is Result.NO_CHANGES
    assert [(line.change.key, line.outcome) for line in report.lines] == [
        ("node/web-1", Applied()),
        ("node/web-2", Applied()),
    ]
    assert initialized(joining) == ["web-1", "web-2"]
    assert {(event.subject.name, event.reason) for event in joining.ears.events} == {
        ("web-1", "Synced"),
        ("web-2", "Synced"),
    }
    assert (joining.ears.begun, joining.ears.ended) == (1, 1)
    assert joining.ears.outcomes == {"node/web-1": Applied(), "node/web-2": Applied()}
    assert set(joining.ears.times) == {joining.sim.clock.now()}


def test_only_a_node_that_could_not_be_read(joining: Run) -> None:
    """A Node that arrived and could not be decoded was observed: its key is not unknown."""
    joining.converge()
    nodes = [*joining.sim.nodes().values()]
    del nodes[1]["metadata"]["uid"]
    body = {"kind": "NodeList", "apiVersion": "v1", "metadata": {"resourceVersion": "1"}, "items": nodes}
    date = format_datetime(joining.sim.clock.now(), usegmt=True)
    joining.sim.spoil_kubernetes("status", path="/api/v1/nodes$", code=200, body=body, headers={"Date": date})
    joining.settings = Settings(only=("node/web-2",))

    report = joining.plan()

    assert [(note.key, note.kind) for note in report.notes] == [("node/web-2", "unreadable"), ("plan", "partial")]
    assert report.notes[1].text == NOTHING_LEFT_OUT
    assert report.result is Result.INCOMPLETE


def test_only_a_key_that_nobody_knows(joining: Run) -> None:
    """A typing error is an error, with what may have been meant; what the other keys name is done."""
    error = "--only node/wbe-2: no such object; nearest: node/web-2, node/web-1"
    joining.settings = Settings(only=("node/wbe-2",))

    assert (joining.plan().errors, joining.plan().result) == ((error,), Result.ERROR)
    assert joining.converge().errors == (error,)
    assert joining.sim.written() == []

    joining.settings = Settings(only=("node/wbe-2", "node/web-1"))

    report = joining.converge()

    assert (report.errors, report.obstacles, report.result) == ((error,), (), Result.ERROR)
    assert [line.change.key for line in report.outcomes(Applied)] == ["node/web-1"]


def test_a_pass_that_only_observes_writes_nothing(joining: Run) -> None:
    joining.settings = Settings(policy=Policy.OBSERVE)

    assert joining.converge().result is Result.CHANGES
    assert joining.sim.written() == []


def test_rounds_come_to_an_end(joining: Run) -> None:
    conflict = {"kind": "Status", "reason": "Conflict", "message": "the object has been modified"}
    joining.sim.spoil_kubernetes(
        "status", method="PATCH", path="/api/v1/nodes/web-1", code=409, body=conflict, count=None
    )

    report = joining.converge()

    assert report.result is Result.PARTIAL
    assert [type(line.outcome) for line in report.lines] == [Pending, Applied]
    assert joining.ears.begun == 3
    assert initialized(joining) == ["web-2"]


def test_what_somebody_else_did_meanwhile_is_done(joining: Run) -> None:
    other = Run(joining.sim)
    conflict = {"kind": "Status", "reason": "Conflict", "message": "the object has been modified"}
    joining.sim.spoil_kubernetes("status", method="PATCH", code=409, body=conflict, count=2)
    joining.ears.end = other.converge  # type: ignore[method-assign, assignment]

    report = joining.converge()

    assert report.result is Result.NO_CHANGES
    assert report.lines == ()


def test_a_change_that_does_not_show(joining: Run) -> None:
    """What was applied and is still planned has not settled: it is not applied again, and is pending."""
    nodes = [*joining.sim.nodes().values()]
    body = {"kind": "NodeList", "apiVersion": "v1", "metadata": {"resourceVersion": "1"}, "items": nodes}
    date = format_datetime(joining.sim.clock.now(), usegmt=True)
    joining.sim.spoil_kubernetes(
        "status", method="GET", path="/api/v1/nodes$", code=200, body=body, headers={"Date": date}, count=None
    )

    report = joining.converge()

    assert report.result is Result.PARTIAL
    assert {line.outcome for line in report.lines} == {NOT_SEEN}
    assert len(joining.sim.written()) == 4


def test_stopped_before_it_began(joining: Run) -> None:
    """A run that is told to stop applies nothing more, and says what is left."""
    joining.stop.set()

    report = joining.converge()

    assert report.result is Result.PARTIAL
    assert [(line.change.key, line.outcome) for line in report.lines] == [
        ("node/web-1", Skipped(STOPPED)),
        ("node/web-2", Skipped(STOPPED)),
    ]
    assert joining.sim.written() == []


def test_stopped_between_rounds(joining: Run) -> None:
    conflict = {"kind": "Status", "reason": "Conflict", "message": "the object has been modified"}
    joining.sim.spoil_kubernetes("status", method="PATCH", path="/api/v1/nodes/web-1", code=409, body=conflict)
    joining.ears.end = joining.stop.set  # type: ignore[method-assign]

    report = joining.converge()

    assert report.result is Result.PARTIAL
    assert [type(line.outcome) for line in report.lines] == [Pending, Applied]
    assert joining.ears.begun == 1


@rows(
    "code sent",
    {"down: as often as patience has it": (503, PATIENT.attempts), "denied: once": (403, 1), "refused: once": (422, 1)},
)
def test_what_failed_is_not_tried_again_in_the_pass(joining: Run, code: int, sent: int) -> None:
    refused = {"kind": "Status", "reason": "Refused", "message": "no"}
    conflict = {"kind": "Status", "reason": "Conflict", "message": "the object has been modified"}
    joining.sim.kubernetes_proxy.set_faults(
        [
            {
                "kind": "status",
                "method": "PATCH",
                "path": "/api/v1/nodes/web-1",
                "code": code,
                "body": refused,
                "count": None,
            },
            {
                "kind": "status",
                "method": "PATCH",
                "path": "/api/v1/nodes/web-2",
                "code": 409,
                "body": conflict,
                "count": 1,
            },
        ]
    )

    report = joining.converge()

    assert report.result is (Result.PARTIAL if code == 503 else Result.BLOCKED)
    assert [type(line.outcome) for line in report.lines] == [Failed, Applied]
    assert joining.ears.begun == 2
    assert len([entry for entry in joining.sim.written() if "/web-1" in entry.path]) == sent


def test_a_bug_in_one_change_leaves_the_others_done(joining: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def stumble(task: NodeTask) -> None:
        if task.change.key == "node/web-1":
            raise ZeroDivisionError("division by zero")
        NODE_ACTUATORS[task.change.kind](task)

    monkeypatch.setattr("reconciler.runtime.NODE_ACTUATORS", {**NODE_ACTUATORS, "node.initialise": stumble})

    report = joining.converge()

    assert report.result is Result.BLOCKED
    assert report.lines[0].outcome == Failed("internal error, ZeroDivisionError: division by zero")
    assert initialized(joining) == ["web-2"]
