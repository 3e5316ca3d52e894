"""What whole passes tell of load balancers: events once, conditions when they say something new."""

from collections.abc import Callable
from typing import Any

import pytest

from actuators.outcome import Applied, Failed
from reconciler.result import Result
from tests.balancers import annotated
from tests.support.passes import Run, a_balanced_run, delete_service, just_before_the_writes
from tests.support.simulators import Simulation
from tests.support.world import SERVICES

Simulate = Callable[..., Simulation]
WRONG = annotated(health_check_interval="soon")
PATH = f"{SERVICES}/web"
READY, IN_SYNC = "LoadBalancerReady", "LoadBalancerInSync"
GOOD = {READY: ("True", "AddressPublished"), IN_SYNC: ("True", "InSync")}
BAD = {READY: ("True", "AddressPublished"), IN_SYNC: ("False", "InvalidAnnotation")}


def said(run: Run) -> list[str]:
    """Reasons of the events on Services that were heard since the last time."""
    heard, run.ears.events = run.ears.events, []
    return [event.reason for event in heard if event.subject.kind == "Service"]


def conditions(run: Run) -> dict[str, tuple[str, str]]:
    """Type → status and reason of the Service's conditions, as they truly are."""
    listed = run.sim.objects("services")["web"]["status"].get("conditions", [])
    found = {condition["type"]: (condition["status"], condition["reason"]) for condition in listed}
    assert len(found) == len(listed)
    return found


def patches(run: Run) -> list[str]:
    """Paths of what was written to the cluster since the last time, Events left out."""
    written = [entry.path for entry in run.sim.written()]
    run.sim.kubernetes_proxy.journal.clear()
    return written


def annotate(run: Run, annotations: dict[str, str | None]) -> None:
    """Let a person set annotations of the Service; null removes one."""
    run.sim.kubernetes_writer().patch(PATH, {"metadata": {"annotations": annotations}})
    run.sim.kubernetes_proxy.journal.clear()


@pytest.fixture
def served(simulate: Simulate) -> Run:
    """A Service whose load balancer was made in a pass before."""
    run = a_balanced_run(simulate)
    run.converge()
    said(run)
    patches(run)
    return run


def test_a_load_balancer_that_is_made(simulate: Simulate) -> None:
    """One event says so, whatever the number of passes; the conditions ride on the status, without a write of their
    own."""
    run = a_balanced_run(simulate)

    run.converge()

    assert said(run) == ["EnsuredLoadBalancer"]
    assert conditions(run) == GOOD
    assert [path for path in patches(run) if path.startswith(SERVICES)] == [f"{PATH}/status"] * 2


def test_something_wrong_is_written_once(served: Run) -> None:
    """A bad annotation is in the conditions after the pass that met it; further passes write nothing."""
    annotate(served, {**WRONG})

    served.converge()
    assert conditions(served) == BAD
    assert patches(served) == [f"{PATH}/status"]
    assert said(served) == ["InvalidAnnotation"]

    served.converge()
    assert patches(served) == []
    assert conditions(served) == BAD


def test_conditions_of_others_stay(served: Run) -> None:
    """What somebody else says of the Service is kept byte for byte."""
    theirs = {
        "type": "example.com/Audited",
        "status": "True",
        "observedGeneration": 3,
        "reason": "Checked",
        "message": "",
        "lastTransitionTime": "2027-01-01T00:00:00Z",
    }
    present = served.sim.objects("services")["web"]["status"]["conditions"]
    served.sim.kubernetes_writer().patch(f"{PATH}/status", {"status": {"conditions": [*present, theirs]}})
    annotate(served, {**WRONG})

    served.converge()

    assert theirs in served.sim.objects("services")["web"]["status"]["conditions"]
    assert conditions(served) == {**BAD, "example.com/Audited": ("True", "Checked")}


def test_a_stopped_pass_writes_no_condition(served: Run) -> None:
    annotate(served, {**WRONG})
    served.stop.set()

    served.converge()

    assert patches(served) == []


FAULTS: list[dict[str, Any]] = [
    {"kind": "status", "code": 409, "body": {"kind": "Status", "reason": "Conflict", "message": "moved on"}},
    {"kind": "status", "code": 403, "body": {"kind": "Status", "reason": "Forbidden", "message": "no"}},
]


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: str(fault["code"]))
def test_a_condition_that_is_lost(served: Run, fault: dict[str, Any]) -> None:
    """It is no failure of the pass, and the next one finds that it is still due."""
    annotate(served, {**WRONG})
    served.sim.spoil_kubernetes(**fault, method="PATCH", path=f"{PATH}/status")

    first = served.converge()
    assert conditions(served) == GOOD
    assert (first.errors, first.lines) == ((), ())

    served.converge()
    assert conditions(served) == BAD


def test_a_refusal_by_the_api(simulate: Simulate) -> None:
    """A creation that fails for good is a warning that goes on, and a condition that says why, written once."""
    run = a_balanced_run(simulate)
    error = {"error": {"code": "invalid_input", "message": "no such thing"}}
    run.sim.spoil_hetzner("status", method="POST", path="/v1/load_balancers", code=422, body=error, count=None)

    run.converge()
    assert said(run) == ["SyncLoadBalancerFailed"]
    assert conditions(run)[IN_SYNC] == ("False", "SyncFailed")
    patches(run)

    run.converge()
    assert patches(run) == []
    assert said(run) == ["SyncLoadBalancerFailed"]


def test_an_action_that_is_never_found_again(served: Run) -> None:
    """What the pass sees to be done afterwards is done: no failure, and no warning."""
    annotate(served, {**annotated(algorithm_type="least_connections")})
    served.sim.hetzner.set_faults([{"kind": "action_vanishes", "command": "change_algorithm"}])

    report = served.converge()

    assert [line.outcome for line in report.lines] == [Applied()]
    assert report.result is Result.NO_CHANGES
    assert said(served) == ["EnsuredLoadBalancer"]


def test_an_action_whose_end_cannot_be_seen(served: Run) -> None:
    """While the load balancers cannot be read nobody knows whether it was done, and so it is not said."""
    annotate(served, {**annotated(algorithm_type="least_connections")})
    served.sim.hetzner.set_faults([{"kind": "action_vanishes", "command": "change_algorithm"}])
    just_before_the_writes(
        served,
        lambda sim: sim.spoil_hetzner("status", method="GET", path="/v1/load_balancers", code=503, body="", count=None),
    )

    report = served.converge()

    assert [type(line.outcome) for line in report.outcomes(Failed)] == [Failed]
    assert said(served) == ["SyncLoadBalancerFailed"]


def test_a_status_that_could_not_be_published(simulate: Simulate) -> None:
    """A load balancer whose addresses nobody knows yet is not said to be ensured."""
    run = a_balanced_run(simulate)
    just_before_the_writes(
        run,
        lambda sim: sim.spoil_hetzner(
            "status", method="GET", path="/v1/load_balancers$", code=429, body="", count=None
        ),
    )

    run.converge()

    assert len(run.sim.balancers()) == 1
    assert said(run) == []


def test_a_load_balancer_that_is_let_go(served: Run) -> None:
    """A Service that is gone has heard of it: its last events are sent though it is not there any more."""
    delete_service(served.sim)

    served.converge()

    assert "web" not in served.sim.objects("services")
    assert said(served) == ["DeletedLoadBalancer"]
