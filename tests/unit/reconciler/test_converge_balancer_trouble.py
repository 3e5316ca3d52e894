"""Whole passes in which load balancers cannot be had, or are left out: what is done all the same, and what is said."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from actuators.outcome import Applied, Failed, Pending, Skipped
from desired.section import Present
from reconciler.result import Result
from tests.support.balancer_stage import in_record
from tests.support.passes import BALANCER, SERVICE, Run, a_balanced_run, initialized, outcomes, published, written
from tests.support.simulators import Simulation
from tests.support.world import SERVICES

Simulate = Callable[..., Simulation]
FORBIDDEN = {"kind": "Status", "reason": "Forbidden", "message": "may not list services"}


def refuse(run: Run, code: int, word: str) -> None:
    body = {"error": {"code": word, "message": "no"}}
    run.sim.spoil_hetzner("status", method="POST", path="/v1/load_balancers$", code=code, body=body, count=None)


@pytest.mark.parametrize(
    ("code", "word", "outcome"),
    [
        pytest.param(412, "resource_limit_exceeded", Failed, id="no more of them"),
        pytest.param(403, "forbidden", Failed, id="a token that may not"),
        pytest.param(429, "rate_limit_exceeded", Pending, id="too many requests"),
        pytest.param(409, "conflict", Pending, id="busy"),
    ],
)
def test_a_failed_creation_stays_alone(simulate: Simulate, code: int, word: str, outcome: type) -> None:
    run = a_balanced_run(simulate)
    refuse(run, code, word)

    report = run.converge()

    assert report.result is (Result.BLOCKED if outcome is Failed else Result.PARTIAL)
    assert initialized(run) == ["web-1", "web-2"]
    assert outcomes(report) == {
        BALANCER: outcome,
        "node/web-2": Applied,
        f"{SERVICE}/finalizer": Applied,
        f"{SERVICE}/status": Skipped,
    }
    assert report.lines[-1].outcome == Skipped(f"blocked by {BALANCER} (not applied)")
    assert run.sim.balancers() == []
    said = {(event.subject.name, event.reason) for event in run.ears.events}
    assert (("web", "SyncLoadBalancerFailed") in said) is (outcome is Failed)


def test_the_api_server_takes_no_claim(simulate: Simulate) -> None:
    run = a_balanced_run(simulate)
    run.sim.spoil_kubernetes(
        "status", method="PATCH", path=f"{SERVICES}/web/status", code=403, body=FORBIDDEN, count=None
    )

    report = run.converge()

    assert report.result is Result.BLOCKED
    assert outcomes(report)[BALANCER] is Skipped
    assert (written(run), initialized(run)) == ([], ["web-1", "web-2"])


def test_services_that_may_not_be_listed(simulate: Simulate) -> None:
    """Without that right Nodes join all the same, and the run is an error that says which right is missing."""
    run = a_balanced_run(simulate)
    run.sim.spoil_kubernetes("status", path="/api/v1/services", code=403, body=FORBIDDEN, count=None)

    report = run.converge()

    assert report.result is Result.ERROR
    (error,) = report.errors
    assert error.endswith("GET /api/v1/services answers 403 may not list services")
    assert initialized(run) == ["web-1", "web-2"]
    assert (written(run), published(run)) == ([], [])


def test_load_balancers_that_may_not_be_listed(simulate: Simulate) -> None:
    """Nodes depend on servers alone: they join, nothing is made, and the run is an error."""
    run = a_balanced_run(simulate)
    denied = {"error": {"code": "forbidden", "message": "not for you"}}
    run.sim.spoil_hetzner("status", path="/v1/load_balancers$", code=403, body=denied, count=None)

    report = run.converge()

    assert report.result is Result.ERROR
    (error,) = report.errors
    assert "GET /load_balancers answers 403 not for you" in error
    assert initialized(run) == ["web-1", "web-2"]
    assert (written(run), published(run)) == ([], [])


def looks_for_balancers(run: Run) -> list[str]:
    """What was read of load balancers since the last time: the path, and the first word of the query."""
    entries = [entry for entry in run.sim.sent_to_hetzner() if entry.method == "GET" and "load_balancers" in entry.path]
    run.sim.hetzner_proxy.journal.clear()
    return [f"{entry.path.rpartition('/')[2]} {entry.query.partition('=')[0]}".strip() for entry in entries]


def test_a_load_balancer_that_lists_lack_joins_the_next_pass(simulate: Simulate) -> None:
    """The record has its id. The pass that finds it makes nothing; the next ones read it by its id, until a list has
    it, and serve it."""
    run = a_balanced_run(simulate)
    snapshot, (before,) = run.converge().snapshot, run.sim.balancers()
    assert snapshot is not None
    assert isinstance(snapshot.cluster_uid, Present)
    run.readers = replace(run.readers, unlisted=in_record(before["id"], cluster=snapshot.cluster_uid.value))
    run.sim.hetzner.set_faults([{"kind": "list_lacks", "path": "/load_balancers", "count": None}])
    looks_for_balancers(run)

    report = run.converge()

    assert (report.result, outcomes(report)[BALANCER], run.sim.balancers()) == (Result.PARTIAL, Pending, [before])
    by_id = str(before["id"])
    asked = ["load_balancers page", "load_balancers label_selector", "load_balancers name", by_id]
    assert looks_for_balancers(run) == [*asked, "load_balancers page"]

    assert run.converge().result is Result.NO_CHANGES
    assert looks_for_balancers(run) == ["load_balancers page", by_id]

    run.sim.hetzner.clear_faults()
    assert run.converge().result is Result.NO_CHANGES
    assert looks_for_balancers(run) == ["load_balancers page"]
