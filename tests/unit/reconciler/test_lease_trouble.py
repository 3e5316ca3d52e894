"""The election over real connections to an API in trouble: who is not sure to lead does not, and little is sent."""

from collections.abc import Callable
from typing import Any

import pytest

from actuators.http import kubernetes
from actuators.http.kubernetes import KubernetesReader, KubernetesWriter
from actuators.http.retry import NO_PATIENCE, Retry
from actuators.wire.lease import Leases
from reconciler.leader_election.elector import Elector
from reconciler.leader_election.leadership import LeadershipStatus, Timings
from tests.support.leases import NoThread, Timeline, Waiting
from tests.support.simulators import Simulation

REFUSED = {"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": "R", "message": "the reason why"}
GARBAGE = {"kind": "Lease", "metadata": {"resourceVersion": "1"}, "spec": {"holderIdentity": 5}}
TIMINGS = Timings(15.0, 10.0, 2.0)
TROUBLE: list[Any] = [
    pytest.param({"kind": "hang"}, id="no answer"),
    pytest.param({"kind": "half_open"}, id="silent in the middle of an answer"),
    pytest.param({"kind": "executed_then_504"}, id="executed, then 504"),
    *(
        pytest.param({"kind": "status", "code": code, "body": body}, id=name)
        for code, body, name in [
            (503, None, "503"),
            (403, REFUSED, "no right"),
            (404, "<html>", "a proxy's 404"),
            (409, REFUSED, "409 to everything"),
            (429, REFUSED, "throttled"),
            (200, "<html>", "no JSON"),
            (200, {}, "no Lease"),
            (200, GARBAGE, "a holder that is none"),
        ]
    ),
]


class Stage:
    """One process with a connection to the simulator, and the clock of the election."""

    def __init__(self, sim: Simulation) -> None:
        self.sim = sim
        self.timeline = Timeline()
        self.stop, self.closing = Waiting(self.timeline), Waiting(self.timeline)
        self.threads: list[NoThread] = []
        connection = kubernetes.connect(
            str(sim.kubeconfig()),
            user_agent="tests/1.0",
            retry=Retry(sim.stop, NO_PATIENCE),
            timeout_s=0.1,
            read_only=False,
        )
        leases = Leases(KubernetesReader(connection), KubernetesWriter(connection), "kube-system", "ccm")
        self.elector = Elector(
            leases,
            TIMINGS,
            identity="me",
            clock=self.timeline.clock,
            wall_clock=self.timeline.wall_clock,
            draw=lambda: 0.0,
            beside=self._beside,
            closing=self.closing,
        )

    def _beside(self, target: Callable[[], object], _name: str) -> NoThread:
        self.threads.append(NoThread(target))
        return self.threads[-1]

    def holder(self) -> str | None:
        """Who holds the Lease, as it truly is; None when there is none."""
        lease = self.sim.objects("leases").get("ccm")
        return None if lease is None else lease["spec"]["holderIdentity"]


@pytest.fixture
def stage(simulate: Callable[..., Simulation]) -> Stage:
    return Stage(simulate())


@pytest.mark.parametrize("fault", TROUBLE)
def test_nobody_comes_to_lead_in_trouble(stage: Stage, fault: dict[str, Any]) -> None:
    """Not even who may have written the Lease. When it is over the lead is had."""
    stage.sim.spoil_kubernetes(**fault, count=None)
    stage.timeline.after(7.0, stage.stop.set)

    assert not stage.elector.wait(stage.stop)

    assert not stage.elector.is_leader()
    assert len(stage.sim.sent_to_kubernetes()) <= 8  # in four tries
    stage.sim.kubernetes_proxy.clear_faults()
    stage.stop.clear()
    stage.timeline.after(20.0, stage.stop.set)
    assert stage.elector.wait(stage.stop)
    assert stage.holder() == "me"


@pytest.mark.parametrize("fault", TROUBLE)
def test_who_leads_stops_in_time(stage: Stage, fault: dict[str, Any]) -> None:
    """At the renew deadline at the latest, and with fewer than two requests a second."""
    assert stage.elector.wait(stage.stop)
    began = stage.timeline.now
    sent = len(stage.sim.sent_to_kubernetes())
    stage.sim.spoil_kubernetes(**fault, count=None)

    stage.threads[0].target()

    assert not stage.elector.is_leader()
    assert stage.timeline.now - began <= TIMINGS.renew_deadline_s
    assert len(stage.sim.sent_to_kubernetes()) - sent <= TIMINGS.renew_deadline_s


def test_a_refused_connection(stage: Stage) -> None:
    """An API server that is not there is asked once each retry period."""
    assert stage.elector.wait(stage.stop)
    stage.sim.kubernetes_proxy.stop()
    stage.threads[0].target()
    assert not stage.elector.is_leader()

    outcome = stage.elector.wait_until_leader(stage.stop)

    assert outcome.standing is LeadershipStatus.FAILED
    assert "does not answer" in outcome.why


def test_a_namespace_that_is_not_there(stage: Stage) -> None:
    """No waiting helps a single run, and the error names what is missing."""
    connection = stage.sim.kubernetes_connection(attempts=1)
    leases = Leases(KubernetesReader(connection), KubernetesWriter(connection), "nowhere", "ccm")
    elector = Elector(leases, TIMINGS, clock=stage.timeline.clock)

    outcome = elector.wait_until_leader(stage.stop)

    assert outcome.standing is LeadershipStatus.FAILED
    assert 'namespaces "nowhere" not found' in outcome.why
    assert stage.stop.waits == []
