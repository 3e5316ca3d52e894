"""Two processes on a real API server: one of them writes, whatever happens to it.

``tests/unit/reconciler/test_replicas.py`` has the rest, on virtual time.
"""

import signal
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.support.apiserver import ApiServer
from tests.support.replicas import (
    DURATION_S,
    LEASES,
    TAKEOVER_S,
    Replica,
    change_lease,
    now,
    replicas,
    taken_over_after,
    turns,
    written_out_of_term,
)
from tests.support.stage import Stage, wait_for

SIZE = 7
"""Nodes that get a route each, one after the other: enough to be interrupted."""
BEFORE = 3
"""So many of them are there when something happens."""


def _slow(seconds: float) -> dict[str, Any]:
    """Hetzner takes its time for changes."""
    return {"kind": "delay", "method": "POST", "path": ".*/actions/", "seconds": seconds, "count": None}


LOOP = ("run", "--interval", "30s", "--request-timeout", "2s")
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


def _lead_and_stand_by(stage: Stage, two: Two) -> Two:
    """The first one leads, the second one stands by, and there is work to be done; Hetzner is slow.

    The second one is kept from the Lease until the first one has it: it is up by then.
    """
    leading, standby = two
    stage.have_pods(SIZE)
    leading.hetzner.set_faults([_slow(0.3)])
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


def test_a_lease_that_somebody_takes_by_hand(stage: Stage, two: Two) -> None:
    """One process leads again in time, never both, and all is done in the end."""
    leading, _ = _lead_and_stand_by(stage, two)
    wait_for(lambda: _is_at_work(leading), "the leader at work")

    change_lease(stage, {"holderIdentity": "somebody-else"})
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
