"""Who waits for the lead: alive whatever comes of it, ready as soon as it has seen that another process leads."""

import threading
from collections.abc import Callable
from functools import partial

import pytest

from actuators.http.errors import ApiError, Conflict, Denied, Transient
from actuators.wire.lease import LeaseClaim
from desired.model.settings import Settings
from hcloud_sandbox.hetzner.simulator import HetznerSimulator
from reconciler.page.live import LivePage
from reconciler.result import Report
from reconciler.standby import SettingsCheck, Standby
from reconciler.telemetry.health import LoopHealth
from reconciler.telemetry.serving import Request
from tests.support.leases import NAME, THEIRS, LeaseInMemory, Replica, Timeline, nothing
from tests.support.objects import NETWORK
from tests.support.passes import Run
from tests.support.simulators import Simulation

Simulate = Callable[..., Simulation]
INTERVAL_S, TIMEOUT_S = 1.0, 1.0
ALLOWED_S = 3 * INTERVAL_S + 10 * TIMEOUT_S
"""After so much silence the loop counts as hung: sooner than any wait in here ends."""
OK = "[+]snapshot ok"


class Waiter:
    """A process that waits for the lead, and what its probes say each second."""

    def __init__(self, claim: LeaseClaim | None, why_unusable: str = "") -> None:
        self.leases, self.timeline = LeaseInMemory(claim), Timeline()
        self.replica = Replica(self.leases, self.timeline)
        self.health = LoopHealth(interval_s=INTERVAL_S, request_timeout_s=TIMEOUT_S, clock=self.timeline.clock)
        self.page = LivePage()
        self.standby = Standby(self.replica.elector, self.health, self.page, lambda: self.health.checked(why_unusable))
        self.ready: list[str] = []
        self.alive: set[str] = set()

    def waits(self, seconds: float) -> bool:
        """Let it wait for so long; whether it leads then. Whoever holds the Lease renews it all the while."""
        self.timeline.every(1.0, int(seconds), self._probe)
        self.timeline.after(seconds + 0.5, self.replica.stop.set)
        return self.standby.wait(self.replica.stop)

    def has_trouble(self, error: ApiError, *calls: str) -> None:
        def answer(call: str) -> None:
            if call in calls:
                raise error

        self.leases.before = answer

    def _probe(self) -> None:
        if self.leases.lease is not None:
            self.leases.renew()
        self.ready.append(self.health.readiness()[1].line)
        self.alive.add(self.health.liveness()[1].line)


def _failed(why: str) -> str:
    return f"[-]snapshot failed: {why}"


@pytest.mark.parametrize(
    ("claim", "error", "call", "line"),
    [
        pytest.param(THEIRS, Transient("no answer"), "read", "no answer", id="nobody answers"),
        pytest.param(THEIRS, Denied("no right"), "read", "no right", id="no right to look"),
        pytest.param(None, Denied("no right"), "create", "no right", id="no right to make one"),
        pytest.param(None, Conflict("there is one"), "create", "there is one", id="another one was quicker"),
    ],
)
def test_who_has_seen_no_leader_is_not_ready(claim: LeaseClaim | None, error: ApiError, call: str, line: str) -> None:
    """A rollout must not take the leader away for it; the probe says what is wrong with the Lease, for as long as it
    goes on, and no restart mends that."""
    waiter = Waiter(claim)
    waiter.has_trouble(error, call)

    assert not waiter.waits(5 * ALLOWED_S)

    assert set(waiter.ready) == {_failed(f"the Lease {NAME} could not be acquired: {line}")}
    assert waiter.alive == {"[+]loop ok"}


def test_who_has_seen_another_one_lead_is_ready() -> None:
    waiter = Waiter(THEIRS)

    assert not waiter.waits(5 * ALLOWED_S)

    assert (set(waiter.ready), waiter.alive) == ({OK}, {"[+]loop ok"})


def test_who_stands_by_with_settings_that_cannot_work_is_not_ready() -> None:
    """A rolling update would take the leader away for it."""
    waiter = Waiter(THEIRS, "the project has no network of that name")

    assert not waiter.waits(5 * ALLOWED_S)

    assert (set(waiter.ready), waiter.alive) == ({_failed("the project has no network of that name")}, {"[+]loop ok"})


class Minutes(threading.Event):
    """A stop that is waited for without waiting: after each wait comes the next thing that happens, then the end."""

    def __init__(self, *happens: Callable[[], object]) -> None:
        super().__init__()
        self.happens = [*happens, self.set]

    def wait(self, timeout: float | None = None) -> bool:  # noqa: ARG002 - no time passes
        self.happens.pop(0)()
        return self.is_set()


class Checked:
    """A process that stands by, beside a project, and what its probe says after each question."""

    def __init__(self, simulate: Simulate, network: str | None = "net") -> None:
        self.sim = simulate(nodes=[], project={"networks": [{**NETWORK, "name": "net"}]})
        self.run = Run(self.sim, Settings(network=network))
        self.health = LoopHealth(interval_s=INTERVAL_S, request_timeout_s=TIMEOUT_S)
        self.health.standby()
        self.ready: list[str] = []

    def stands_by(self, *happens: Callable[[], object], renew: Callable[[], object] = lambda: None) -> list[str]:
        asks: list[Callable[[], object]] = []
        leader = Replica(LeaseInMemory(THEIRS), Timeline()).elector
        stop = Minutes(*(partial(self._probed, each) for each in happens))
        check = SettingsCheck(self.run.plan_context, self.health, leader, stop, lambda ask, _name: asks.append(ask))
        for _ in range(2):
            check.begin(renew)
            while asks:
                asks.pop(0)()
        return [*self.ready, self._line()]

    def _probed(self, happens: Callable[[], object]) -> None:
        self.ready.append(self._line())
        happens()

    def _line(self) -> str:
        return self.health.readiness()[1].line


@pytest.mark.parametrize("network", ["net", None])
def test_settings_that_can_work_are_asked_for_once(simulate: Simulate, network: str | None) -> None:
    checked = Checked(simulate, network)
    assert checked.stands_by() == [OK]
    assert len(checked.sim.sent_to_hetzner()) == 1


def test_settings_are_asked_for_until_they_can_work(simulate: Simulate) -> None:
    """A network that does not exist yet, and a token that was wrong: who stands by runs no pass that reads it again."""
    checked = Checked(simulate, "other")
    project = checked.sim.project.world()["hetzner"]
    made = {**project, "networks": [{**project["networks"][0], "name": "other"}]}
    lacking, ready = checked.stands_by(lambda: checked.sim.project.replace_world(made))
    assert "HCLOUD_NETWORK" in lacking
    assert ready == OK

    rotated = Checked(simulate)
    rotated.run.cloud.use_token("wrong")
    (refused, *_) = rotated.stands_by(lambda: None)
    assert "token" in refused
    assert rotated.stands_by(renew=lambda: rotated.run.cloud.use_token(HetznerSimulator.TOKEN))[-1] == OK


def test_it_is_ready_as_soon_as_it_has_seen_the_leader() -> None:
    waiter = Waiter(THEIRS)
    waiter.has_trouble(Transient("no answer"), "read")
    waiter.timeline.after(10.5, lambda: setattr(waiter.leases, "before", nothing))

    assert not waiter.waits(20.0)

    assert set(waiter.ready[:10]) == {_failed(f"the Lease {NAME} could not be acquired: no answer")}
    assert set(waiter.ready[12:]) == {OK}


@pytest.mark.parametrize("error", [Transient("no answer"), Denied("no right")], ids=["no answer", "no right"])
def test_it_stays_ready_while_the_lease_cannot_be_read(error: ApiError) -> None:
    """An API server that goes away for a while makes no replica unready, as with those who have read everything."""
    waiter = Waiter(THEIRS)
    waiter.timeline.after(5.5, lambda: waiter.has_trouble(error, "read"))

    assert not waiter.waits(5 * ALLOWED_S)

    assert (set(waiter.ready), waiter.alive) == ({OK}, {"[+]loop ok"})


@pytest.mark.parametrize(
    "happens",
    [lambda leases: leases.delete(), lambda leases: leases.put(THEIRS)],
    ids=["the Lease is deleted", "it is never renewed again"],
)
def test_who_leads_at_last_is_ready_once_it_has_read_everything(happens: Callable[[LeaseInMemory], object]) -> None:
    waiter = Waiter(THEIRS)
    waiter.timeline.after(3.0, lambda: happens(waiter.leases))

    assert waiter.standby.wait(waiter.replica.stop)

    assert waiter.health.readiness()[1].line == OK
    waiter.health.began()
    assert waiter.health.readiness()[1].line == _failed("no pass has ended yet")


def test_the_lease_is_no_trouble_any_more_to_who_leads() -> None:
    waiter = Waiter(None)
    waiter.has_trouble(Transient("no answer"), "read")
    waiter.timeline.after(9.0, lambda: setattr(waiter.leases, "before", nothing))

    assert waiter.waits(20.0)
    waiter.health.began()

    assert set(waiter.ready) == {_failed(f"the Lease {NAME} could not be acquired: no answer")}
    assert waiter.health.readiness()[1].line == _failed("no pass has ended yet")


def test_who_has_lost_the_lead_before_it_has_read_everything_is_not_ready() -> None:
    """It leads no more, and has not seen yet that another one does."""
    waiter = Waiter(None)
    assert waiter.standby.wait(waiter.replica.stop)
    waiter.health.began()
    waiter.has_trouble(Transient("no answer"), "read", "update")
    waiter.replica.keep()

    assert not waiter.waits(10.0)

    assert set(waiter.ready) == {_failed(f"the Lease {NAME} could not be acquired: no answer")}


def test_the_page_of_who_waits_names_who_leads() -> None:
    """And of who leads its own name, as soon as there is a pass to show."""
    waiter = Waiter(THEIRS)
    assert not waiter.waits(5)
    assert "this process stands by, and other-host_1 leads" in _page(waiter)

    waiter = Waiter(None)
    assert waiter.waits(5)
    waiter.page.ended(Report())
    assert waiter.replica.elector.identity in _page(waiter)


def _page(waiter: Waiter) -> str:
    return waiter.page.answer(Request(host="localhost")).body.decode()
