"""Two replicas, or a replica and a run from cron, on a real API server: one of them writes, whatever happens to it."""

import json
import signal
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from actuators.outcome import PREEMPTED
from tests.support.apiserver import ApiServer
from tests.support.replicas import (
    DURATION_S,
    LEASE,
    LEASES,
    TAKEOVER_S,
    Replica,
    change_lease,
    holder,
    lease,
    now,
    once_quiet,
    replicas,
    taken_over_after,
    turns,
    written_out_of_term,
)
from tests.support.sampling import sample
from tests.support.schemas import published
from tests.support.stage import Stage, wait_for

SIZE = 7
"""Nodes that get a route each, one after the other: enough to be interrupted."""
BEFORE = 3
"""So many of them are there when something happens."""


def _slow(seconds: float, count: int | None = None) -> dict[str, Any]:
    """Hetzner takes its time for the next so many changes."""
    return {"kind": "delay", "method": "POST", "path": ".*/actions/", "seconds": seconds, "count": count}


LOOP = ("run", "--interval", "30s", "--request-timeout", "2s", "--output", "json")
ONCE = ("--once", "--output", "json")
LEFT = ("nothing is written: this process does not hold the Lease", PREEMPTED.why)
Two = tuple[Replica, Replica]


@pytest.fixture
def stage(a_stage: Callable[..., Stage]) -> Stage:
    """The stage with an empty cluster and an empty project, whose actions have ended when they are answered."""
    return a_stage(action_s=0.0)


@pytest.fixture
def two(stage: Stage, api_server: ApiServer) -> Iterator[Two]:
    """Two replicas that are still to be started."""
    with replicas(stage, api_server.ca_file, "one", "two") as (one, other):
        yield one, other


def _lead_and_stand_by(stage: Stage, two: Two, *faults: dict[str, Any]) -> Two:
    """The first one leads, the second one stands by, and there is work to be done; Hetzner has these faults for the
    first one, and is slow for both.

    The second one is kept from the Lease until the first one has it: it is up by then.
    """
    leading, standby = two
    stage.have_pods(SIZE)
    leading.hetzner.set_faults([*faults, _slow(0.3)])
    standby.hetzner.set_faults([_slow(0.1)])
    standby.kubernetes.set_faults([{"kind": "status", "code": 503, "path": LEASES, "count": None}])
    standby.start(*LOOP)
    wait_for(lambda: bool(standby.kubernetes.journal.entries()), "the standby to be up")
    leading.start(*LOOP)
    leading.waits_for_lead()
    standby.kubernetes.clear_faults()
    wait_for(standby.has_looked, "the second one to stand by")
    return leading, standby


def _is_at_work(replica: Replica) -> bool:
    return len([write for write in replica.writes() if write.path.endswith("/add_route")]) >= BEFORE


def _is_converged(stage: Stage) -> bool:
    return len(stage.routes()) == len(stage.nodes())


def _reports(replica: Replica) -> list[dict[str, Any]]:
    """The reports of a loop."""
    whole = replica.stdout.splitlines(keepends=True)
    return [json.loads(line) for line in whole if line.endswith("\n")]


def _left(replica: Replica) -> list[str]:
    """The changes that it had planned, and left since another one leads: refused, or not begun any more."""
    changes = [change for report in _reports(replica) for change in report["changes"] if change["outcome"]]
    return [change["key"] for change in changes if any(why in change["outcome"].get("why", "") for why in LEFT)]


def test_one_passes_and_the_other_stands_by_and_asks_hetzner_for_its_network_once(stage: Stage, two: Two) -> None:
    """The standby answers its probes and reads the Lease, and of Hetzner the network of its settings, without which it
    would not be ready; with leader election as it is by default."""
    leading, standby = _lead_and_stand_by(stage, two)

    wait_for(lambda: _is_converged(stage), "all routes")
    wait_for(lambda: leading.probe("readyz") == 200, "the leader to be ready")
    wait_for(lambda: standby.probe("readyz") == 200, "the standby to be ready")

    assert (leading.probe("livez"), standby.probe("livez")) == (200, 200)
    assert [entry.path for entry in standby.hetzner.journal.entries()] == ["/v1/networks"]
    assert {entry.path for entry in standby.kubernetes.journal.entries() if entry.method == "GET"} == {LEASE}
    assert standby.writes() == []
    held = f"the Lease kube-system/cloud-controller-manager is held by {holder(stage)}, for {DURATION_S} s"
    assert f"standing by: {held} from each renewal" in standby.stderr
    assert written_out_of_term(*two) == []


def test_kill_9_on_the_leader_at_work(stage: Stage, two: Two) -> None:
    """The other one leads when the Lease has run out, and does the rest."""
    killed, heir = _lead_and_stand_by(stage, two)
    wait_for(lambda: _is_at_work(killed), "the leader at work")

    moment = now()
    killed.send(signal.SIGKILL)

    assert taken_over_after(moment, heir) <= TAKEOVER_S
    wait_for(lambda: _is_converged(stage), "the rest of the routes")
    assert turns(*two) == ["one", "two"]
    assert written_out_of_term(*two) == []


def test_a_leader_that_is_stopped_at_work_writes_nothing_when_it_goes_on(stage: Stage, two: Two) -> None:
    """SIGSTOP in the middle of a series of routes, SIGCONT when the other one leads: the rest of the series is left to
    that one, and the process stands by, ready to lead again."""
    silent = {"kind": "hang", "method": "POST", "path": ".*/add_route"}
    frozen, heir = _lead_and_stand_by(stage, two, _slow(0.3, BEFORE), silent)
    heir.hetzner.clear_faults()
    heir.hetzner.set_faults([_slow(1.0)])  # there is still something to be done when the first one goes on
    wait_for(lambda: any(entry.status == 0 for entry in frozen.writes()), "a write without an answer")
    once_quiet(lambda: len(frozen.writes()), "what else it had to write")

    moment = now()
    frozen.send(signal.SIGSTOP)
    assert taken_over_after(moment, heir) <= TAKEOVER_S
    wait_for(lambda: bool(heir.writes()), "the other one at work")
    frozen.send(signal.SIGCONT)

    wait_for(lambda: bool(_left(frozen)), "a change that is left to the other one")
    wait_for(lambda: "standing by" in frozen.stderr.rpartition("no longer leading")[2], "the first one to stand by")
    wait_for(lambda: _is_converged(stage), "the rest of the routes")
    wait_for(lambda: frozen.probe("readyz") == 200, "the first one to be ready")
    assert (frozen.process.poll(), frozen.probe("livez")) == (None, 200)
    assert turns(*two) == ["one", "two"]

    moment = now()
    heir.send(signal.SIGKILL)
    assert taken_over_after(moment, frozen) <= TAKEOVER_S
    assert written_out_of_term(*two) == []


def test_a_leader_that_is_cut_off_from_the_api_server_alone_stops_before_the_other_one_begins(
    stage: Stage, two: Two
) -> None:
    """It still reaches Hetzner, and has routes to make there; it leaves them when its renewals stay away."""
    cut, heir = _lead_and_stand_by(stage, two, _slow(0.3, BEFORE), _slow(1.0))
    wait_for(lambda: _is_at_work(cut), "the leader at work")

    moment = now()
    cut.cut_off()

    assert taken_over_after(moment, heir) <= TAKEOVER_S
    wait_for(lambda: _is_converged(stage), "the rest of the routes")
    assert turns(*two) == ["one", "two"]
    assert any(write.at > moment for write in cut.writes()), "nothing shows that it was held back"
    wait_for(lambda: bool(_left(cut)), "a change that is left to the other one")
    assert (cut.process.poll(), cut.probe("livez")) == (None, 200)

    cut.kubernetes.clear_faults()
    wait_for(lambda: "standing by" in cut.stderr.rpartition("no longer leading")[2], "the first one to stand by")
    wait_for(lambda: cut.probe("readyz") == 200, "the first one to be ready")
    assert written_out_of_term(*two) == []


_ODD_HOLDER = "nobody \n\x1b[31m☃ " + "x" * 4000


@pytest.mark.parametrize(
    "spec",
    sample(
        [
            pytest.param(None, id="deleted"),
            pytest.param({"holderIdentity": "somebody-else"}, id="taken over by hand"),
            pytest.param({"holderIdentity": _ODD_HOLDER, "leaseDurationSeconds": 2}, id="a holder that is no name"),
            pytest.param({"leaseDurationSeconds": None, "renewTime": None, "acquireTime": None}, id="without times"),
            pytest.param(
                {
                    "holderIdentity": "from the past",
                    "acquireTime": "0001-01-01T00:00:00.000000Z",
                    "renewTime": "0001-01-01T00:00:00.000000Z",
                    "leaseTransitions": 2147483647,
                },
                id="numbers and times at their limits",
            ),
            pytest.param(
                {
                    "holderIdentity": "from the future",
                    "acquireTime": "9999-12-31T23:59:59.999999Z",
                    "renewTime": "9999-12-31T23:59:59.999999Z",
                },
                id="renewed in the year 9999",
            ),
        ],
        "the Lease by hand",
        least=2,
    ),
)
def test_what_somebody_does_to_the_lease_by_hand(stage: Stage, two: Two, spec: Mapping[str, Any] | None) -> None:
    """One of the two leads again in time, never both, and all is done in the end.

    Not in here: to take the holder out, or to shorten the duration below the renew deadline, says that the Lease is
    free, and whoever held it learns of that with its next renewal only.
    """
    leading, _ = _lead_and_stand_by(stage, two)
    wait_for(lambda: _is_at_work(leading), "the leader at work")

    if spec is None:
        stage.cluster.request("DELETE", LEASE)
    else:
        change_lease(stage, spec)
    moment = now()

    assert taken_over_after(moment, *two) <= TAKEOVER_S
    wait_for(lambda: _is_converged(stage), "the rest of the routes")
    assert written_out_of_term(*two) == []
    assert [replica.process.poll() for replica in two] == [None, None]
    assert "Traceback" not in leading.stderr


def test_after_a_clean_stop_the_other_one_leads_within_two_seconds(stage: Stage, two: Two) -> None:
    """SIGTERM at work: the write under way is finished, the Lease is given back, and the exit code is 0."""
    leaving, heir = _lead_and_stand_by(stage, two)
    wait_for(lambda: _is_at_work(leaving), "the leader at work")

    moment = now()
    leaving.send(signal.SIGTERM)
    assert leaving.ends() == 0
    assert taken_over_after(max(entry.at for entry in leaving.claims()), heir) <= 2.0
    assert taken_over_after(moment, heir) <= 2.0 + DURATION_S

    wait_for(lambda: _is_converged(stage), "the rest of the routes")
    assert turns(*two) == ["one", "two"]
    assert written_out_of_term(*two) == []


def test_a_standby_that_is_stopped_leaves_the_lease_alone(stage: Stage, two: Two) -> None:
    """SIGTERM on who stands by: exit code 0 at once, and the other one leads on."""
    leading, standby = _lead_and_stand_by(stage, two)
    before = holder(stage)

    standby.send(signal.SIGTERM)

    assert standby.ends() == 0
    assert standby.claims() == []
    assert holder(stage) == before
    assert leading.process.poll() is None


def test_once_beside_a_live_leader_is_not_leader(stage: Stage, two: Two) -> None:
    """Exit code 1, one line on stderr that names the holder, a report that is valid, and nothing written or asked of
    Hetzner."""
    leading, single = two
    stage.have_pods(2)
    leading.start(*LOOP)
    leading.waits_for_lead()

    single.start(*ONCE)

    assert single.ends() == 1
    report = json.loads(single.stdout)
    Draft202012Validator(published("schema.json")).validate(report)
    assert report["result"] == "not_leader"
    (line,) = single.stderr.splitlines()
    assert line.startswith("reconcile: error: ")
    assert holder(stage) in line
    assert (single.writes(), single.claims(), single.hetzner.journal.entries()) == ([], [], [])


def test_once_after_a_leader_that_died_waits_for_its_lease_to_run_out(stage: Stage, two: Two) -> None:
    """It converges then, in time, and gives the Lease back, so that the next one starts at once."""
    dead, single = two
    dead.start(*LOOP)
    dead.waits_for_lead()
    dead.send(signal.SIGKILL)
    dead.ends()
    stage.have_pods(2)

    moment = now()
    single.start(*ONCE)
    assert taken_over_after(moment, single) <= TAKEOVER_S
    assert single.ends() == 0
    assert json.loads(single.stdout)["result"] == "no_changes"
    assert _is_converged(stage)
    assert (lease(stage) or {})["holderIdentity"] == ""
    assert written_out_of_term(*two) == []

    single.kubernetes.journal.clear()
    single.start(*ONCE)
    assert single.ends() == 0
    lookings = [entry for entry in single.kubernetes.journal.entries() if entry.path == LEASE and entry.method == "GET"]
    assert len(lookings) == 1, "it had to wait for the Lease"


def test_of_two_runs_from_cron_at_the_same_moment_one_works_at_a_time(stage: Stage, two: Two) -> None:
    """The other one is not the leader, or runs after it; both end, and all is done."""
    stage.have_pods(SIZE)
    for replica in two:
        replica.hetzner.set_faults([_slow(0.3)])

    for replica in two:
        replica.start(*ONCE)
    ends = {replica.name: (replica.ends(), json.loads(replica.stdout)["result"]) for replica in two}

    assert set(ends.values()) <= {(0, "no_changes"), (1, "not_leader")}
    assert (0, "no_changes") in ends.values()
    assert _is_converged(stage)
    assert len(turns(*two)) <= 2
    assert written_out_of_term(*two) == []


@pytest.mark.parametrize(
    "arguments",
    [("--dry-run",), ("--once", "--policy", "observe")],
    ids=["a dry run", "a single run that observes"],
)
def test_who_writes_nothing_needs_no_lease(stage: Stage, two: Two, arguments: tuple[str, ...]) -> None:
    """It says what it would do beside a live leader, and the Lease is not even read."""
    leading, plan_context = two
    leading.start("run", "--interval", "1h", "--configure-cloud-routes=false", "--output", "json")
    leading.waits_for_lead()
    stage.have_pods(2)

    plan_context.start(*arguments, "--output", "json")

    assert plan_context.ends() == 0
    assert json.loads(plan_context.stdout)["result"] == "changes"
    assert not any("leases" in entry.path for entry in plan_context.kubernetes.journal.entries())
    assert plan_context.writes() == []
