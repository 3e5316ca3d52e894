"""Whole passes against both simulators over HTTP: what is planned, what is written, and what is said of it."""

import pytest

from actuators.outcome import Applied, Pending
from desired.settings import Policy, Settings
from reconciler.result import Result
from tests.support.objects import joining_node, settled_node
from tests.support.passes import NAMESPACE, Run, initialised

REFUSED_NODE = {"kind": "Status", "reason": "Forbidden", "message": "may not patch nodes"}


def test_a_dry_run_writes_nothing(joining: Run) -> None:
    """A plan has a change for each joining Node, and only reads were sent."""
    report = joining.plan()

    assert report.result is Result.CHANGES
    assert [line.change.key for line in report.lines] == ["node/web-1", "node/web-2"]
    assert initialised(joining) == []
    assert {entry.method for entry in joining.sim.sent_to_kubernetes()} == {"GET"}
    assert {entry.method for entry in joining.sim.sent_to_hetzner()} == {"GET"}


def test_a_plan_costs_as_many_requests_as_there_are_lists(joining: Run) -> None:
    """Nodes, namespace and servers are one request each, whatever is planned, and the report says so."""
    report = joining.plan()

    assert (report.cost.kubernetes, report.cost.hetzner) == (2, 1)
    assert (report.cost.remaining, report.cost.limit) == (3599, 3600)


def test_joining_nodes_are_initialised(joining: Run) -> None:
    """A pass initialises every joining Node, observes that nothing is left, and says what it did."""
    report = joining.converge()

    assert report.result is Result.NO_CHANGES
    assert [(line.change.key, line.outcome) for line in report.lines] == [
        ("node/web-1", Applied()),
        ("node/web-2", Applied()),
    ]
    assert initialised(joining) == ["web-1", "web-2"]
    assert {(event.node.name, event.reason) for event in joining.ears.events} == {
        ("web-1", "Synced"),
        ("web-2", "Synced"),
    }
    assert (joining.ears.begun, joining.ears.ended) == (1, 1)
    assert joining.ears.outcomes == {"node/web-1": Applied(), "node/web-2": Applied()}
    assert set(joining.ears.times) == {joining.sim.clock.now()}


def test_a_second_pass_has_nothing_to_do(joining: Run) -> None:
    """After a pass that converged the next one plans and writes nothing."""
    joining.converge()
    before = len(joining.sim.written())

    report = joining.converge()

    assert (report.result, report.lines) == (Result.NO_CHANGES, ())
    assert len(joining.sim.written()) == before
    assert report.cost.hetzner == 1


def test_only_what_was_asked_for(joining: Run) -> None:
    """``--only`` applies its keys alone, and a note says that there is more."""
    joining.settings = Settings(only=("node/web-2",))

    report = joining.converge()

    assert initialised(joining) == ["web-2"]
    assert [note.kind for note in report.notes] == ["partial"]


@pytest.mark.parametrize(("policy", "written"), [(Policy.OBSERVE, 0), (Policy.UPSERT, 2), (Policy.SYNC, 2)])
def test_policies(joining: Run, policy: Policy, written: int) -> None:
    """``observe`` writes nothing and says what waits; the others let Nodes join."""
    joining.settings = Settings(policy=policy)

    report = joining.converge()

    assert len(initialised(joining)) == written
    assert report.result is (Result.NO_CHANGES if written else Result.CHANGES)


def test_a_conflict_is_planned_again(joining: Run) -> None:
    """A Node that moved on between reading and writing is initialised in the next round of the same pass."""
    conflict = {"kind": "Status", "reason": "Conflict", "message": "the object has been modified"}
    joining.sim.spoil_kubernetes("status", method="PATCH", path="/api/v1/nodes/web-1", code=409, body=conflict)

    report = joining.converge()

    assert report.result is Result.NO_CHANGES
    assert {line.outcome for line in report.lines} == {Applied()}
    assert initialised(joining) == ["web-1", "web-2"]
    assert joining.ears.begun == 2


def test_rounds_come_to_an_end(joining: Run) -> None:
    """A Node that always moves on is tried three times, and is pending at the end."""
    conflict = {"kind": "Status", "reason": "Conflict", "message": "the object has been modified"}
    joining.sim.spoil_kubernetes(
        "status", method="PATCH", path="/api/v1/nodes/web-1", code=409, body=conflict, count=None
    )

    report = joining.converge()

    assert report.result is Result.PARTIAL
    assert [type(line.outcome) for line in report.lines] == [Pending, Applied]
    assert joining.ears.begun == 3
    assert initialised(joining) == ["web-2"]


@pytest.mark.parametrize("kind", ["executed_then_504", "executed_then_reset"])
@pytest.mark.parametrize("path", ["/api/v1/nodes/web-1/status", "/api/v1/nodes/web-1$"])
def test_a_write_whose_answer_got_lost(joining: Run, kind: str, path: str) -> None:
    """A write that was carried out unanswered leaves the Node initialised in the same pass, and nothing pending."""
    joining.sim.spoil_kubernetes(kind, method="PATCH", path=path)

    report = joining.converge()

    assert report.result is Result.NO_CHANGES
    assert initialised(joining) == ["web-1", "web-2"]


def test_what_somebody_else_did_meanwhile_is_done(joining: Run) -> None:
    """A change that was overtaken, and is not needed any more, is neither pending nor a failure."""
    other = Run(joining.sim)
    conflict = {"kind": "Status", "reason": "Conflict", "message": "the object has been modified"}
    joining.sim.spoil_kubernetes("status", method="PATCH", code=409, body=conflict, count=2)
    joining.ears.end = other.converge  # type: ignore[method-assign, assignment]

    report = joining.converge()

    assert report.result is Result.NO_CHANGES
    assert report.lines == ()


def test_a_failure_stays_with_its_node(joining: Run) -> None:
    """A Node that may not be written fails alone, with its own reason, and an event for it."""
    joining.sim.spoil_kubernetes(
        "status", method="PATCH", path="/api/v1/nodes/web-1", code=403, body=REFUSED_NODE, count=None
    )

    report = joining.converge()

    assert report.result is Result.PARTIAL
    assert initialised(joining) == ["web-2"]
    assert ("web-1", "InitialisationFailed") in {(event.node.name, event.reason) for event in joining.ears.events}


def test_nothing_applied_is_an_error(joining: Run) -> None:
    """When every write fails the run is an error."""
    joining.sim.spoil_kubernetes("status", method="PATCH", code=403, body=REFUSED_NODE, count=None)

    assert joining.converge().result is Result.ERROR


def test_a_change_that_does_not_show(joining: Run) -> None:
    """What was applied and is still planned has not settled: it is not applied again, and is pending."""
    joining.sim.kubernetes.set_faults([{"kind": "visible_late", "seconds": 3600, "count": 4}])

    report = joining.converge()

    assert report.result is Result.PARTIAL
    assert {line.outcome for line in report.lines} == {Pending("applied, and not yet seen in the world")}
    assert len(joining.sim.written()) == 4


def test_stopped_before_it_began(joining: Run) -> None:
    """A run that is told to stop applies nothing more, and says what is left."""
    joining.stop.set()

    report = joining.converge()

    assert report.result is Result.CHANGES
    assert joining.sim.written() == []


def test_a_violated_anchor_writes_nothing(elsewhere: Run) -> None:
    """A token of another project holds everything derived from it, with a note, a hold and an event."""
    report = elsewhere.converge()

    assert report.result is Result.REFUSED
    assert elsewhere.sim.written() == []
    assert initialised(elsewhere) == ["old-1", "old-2"]
    assert [hold.rule for hold in report.holds] == ["project-anchor"]
    assert report.holds[0].keys == ("node/web-1",)
    assert ("web-1", "ChangeHeld") in {(event.node.name, event.reason) for event in elsewhere.ears.events}


def test_an_approval_counts_once(elsewhere: Run) -> None:
    """An approved hold passes, its approval is used up before the write, and a second pass finds it void."""
    (hold,) = elsewhere.plan().holds
    elsewhere.approve(hold.hash)

    report = elsewhere.converge()

    assert "web-1" in initialised(elsewhere)
    assert report.holds == ()
    paths = [entry.path for entry in elsewhere.sim.written()]
    assert paths == [
        f"/api/v1/namespaces/{NAMESPACE}/configmaps/hcloud-reconciler",
        "/api/v1/nodes/web-1/status",
        "/api/v1/nodes/web-1",
    ]
    elsewhere.sim.kubernetes.replace_world(
        {
            "nodes": [joining_node("web-1"), settled_node("old-1", 98), settled_node("old-2", 99)],
            "configmaps": list(elsewhere.sim.objects("configmaps").values()),
            "namespaces": list(elsewhere.sim.objects("namespaces").values()),
        }
    )
    again = elsewhere.converge()
    assert again.result is Result.REFUSED
    assert [held.hash for held in again.holds] == [hold.hash]


def test_an_approval_that_cannot_be_used_up_approves_nothing(elsewhere: Run) -> None:
    """When the approval cannot be marked as used, nothing that it covers is written."""
    (hold,) = elsewhere.plan().holds
    elsewhere.approve(hold.hash)
    elsewhere.sim.spoil_kubernetes("status", method="PATCH", path=".*configmaps", code=403, body=REFUSED_NODE)

    report = elsewhere.converge()

    assert report.result is Result.REFUSED
    assert "web-1" not in initialised(elsewhere)
    assert "its approval could not be marked as used" in str(report.lines[0].outcome)


def test_an_expired_approval_approves_nothing(elsewhere: Run) -> None:
    """After an hour an approval is void."""
    (hold,) = elsewhere.plan().holds
    elsewhere.approve(hold.hash)
    elsewhere.sim.clock.advance(3601)

    assert elsewhere.converge().result is Result.REFUSED
    assert elsewhere.sim.written() == []


def test_approvals_that_cannot_be_read(elsewhere: Run) -> None:
    """Without the right to read the ConfigMap nothing is approved, and a note says why."""
    elsewhere.sim.spoil_kubernetes("status", path=".*configmaps", code=403, body=REFUSED_NODE)

    report = elsewhere.plan()

    assert report.result is Result.REFUSED
    assert "permission" in {note.kind for note in report.notes}


def test_an_approval_on_the_command_line(elsewhere: Run) -> None:
    """``--approve`` lets a hold pass in this run, without any ConfigMap."""
    elsewhere.approved = (elsewhere.plan().holds[0].hash,)

    elsewhere.converge()

    assert "web-1" in initialised(elsewhere)
    assert elsewhere.sim.objects("configmaps") == {}
