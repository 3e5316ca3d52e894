"""Waiting for actions: when they are asked for, how many at once, and what their ends mean."""

import json
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any
from urllib.parse import parse_qs

import pytest

from actuators.http.actions import Actions
from actuators.http.errors import ApiError, Broken, Busy, Denied, Invalid, Stopped, Throttled, Transient
from hcloud_sandbox.clock import SimulatedClock
from hcloud_sandbox.hetzner import HetznerOptions
from tests.support.objects import server
from tests.support.rows import rows
from tests.support.simulators import ImpatientStop, Simulate, Simulation
from tests.support.trouble import HETZNER_TROUBLE

WHAT = "reboot of web-1"
PATIENCE_S = 10.0


def until(holds: Callable[[], bool]) -> None:
    patience = 10_000
    while not holds() and patience:
        threading.Event().wait(0.001)
        patience -= 1


@dataclass
class Pace:
    """How the threads of a test wait: the simulated time goes on once so many actions were being waited for."""

    clock: SimulatedClock
    stop: threading.Event = field(default_factory=threading.Event)
    crowd: int = 1
    naps: list[float] = field(default_factory=list)
    happens: Callable[[float], None] = lambda _now: None
    """Called with the seconds since the start, whenever time has passed."""
    actions: Actions | None = None

    def __post_init__(self) -> None:
        self.started = self.clock.timestamp()

    @property
    def now(self) -> float:
        return self.clock.timestamp() - self.started

    def sleep(self, seconds: float) -> None:
        """Let the time pass, once everybody is there."""
        actions = self.actions
        assert actions is not None
        until(lambda: len(actions._in_flight) >= self.crowd)
        self.crowd = 0
        self.naps.append(seconds)
        self.clock.advance(seconds)
        self.happens(self.now)


@dataclass
class Stage:
    """Servers to reboot, and a poller."""

    sim: Simulation
    pace: Pace
    actions: Actions

    def announce(self, number: int) -> bytes:
        return self.sim.hetzner_writer().post(f"/servers/{number}/actions/reboot")

    def polls(self) -> list[list[int]]:
        return [
            [int(number) for number in parse_qs(entry.query)["id"]]
            for entry in self.sim.sent_to_hetzner()
            if entry.path == "/v1/actions"
        ]

    def until_in_flight(self, count: int) -> None:
        until(lambda: len(self.actions._in_flight) == count)

    @contextmanager
    def waiting(self, *answers: bytes) -> Iterator[list[Future[None]]]:
        self.pace.crowd = len(answers)
        with ThreadPoolExecutor(len(answers)) as pool:
            yield [pool.submit(self.actions.wait, answer, WHAT) for answer in answers]


def a_stage(simulate: Simulate, servers: int = 1, attempts: int = 2, **options: Any) -> Stage:
    project = {"servers": [server(number, f"web-{number}") for number in range(1, servers + 1)]}
    sim = simulate(project=project, options=HetznerOptions(**options))
    pace = Pace(sim.clock)
    reader = type(sim.hetzner_reader())(sim.hetzner_connection(read_only=True, attempts=attempts))
    actions = Actions(reader, pace.stop, clock=sim.clock.timestamp, sleep=pace.sleep)
    pace.actions = actions
    return Stage(sim, pace, actions)


@pytest.mark.parametrize(
    "answer", [b"", b"\n", b'{"action": null}', b'{"network": {"id": 1}}'], ids=["204", "blank", "null", "none"]
)
def test_an_answer_without_an_action(simulate: Simulate, answer: bytes) -> None:
    stage = a_stage(simulate)
    stage.actions.wait(answer, WHAT)
    assert stage.polls() == []


@pytest.mark.parametrize("answer", [b"<html>", b"[]", b'{"action": {"id": "x"}}', b'{"action": 1}'])
def test_an_announcement_that_cannot_be_read(simulate: Simulate, answer: bytes) -> None:
    stage = a_stage(simulate)
    with pytest.raises(Broken, match=f"^{WHAT}: the answer of the Hetzner API could not be read"):
        stage.actions.wait(answer, WHAT)


def test_a_failure_without_a_word(simulate: Simulate) -> None:
    answer = b'{"action": {"id": 1, "command": "stop_server", "status": "error", "error": null}}'
    with pytest.raises(Invalid, match=r"the action stop_server failed: no reason given$"):
        a_stage(simulate).actions.wait(answer, WHAT)


def test_the_pauses_grow(simulate: Simulate) -> None:
    stage = a_stage(simulate, action_s=30.0)
    polled_at: dict[int, float] = {}
    stage.pace.happens = lambda now: polled_at.update({len(stage.polls()): now})
    stage.actions.wait(stage.announce(1), WHAT)
    pauses = [later - earlier for earlier, later in pairwise([0.0, *polled_at.values()])]
    assert pauses[:3] == pytest.approx([0.35, 0.35, 0.35])
    assert all(later >= earlier - 0.01 for earlier, later in pairwise(pauses))
    assert pauses[-1] == pytest.approx(5.0)
    assert len(pauses) <= 13
    assert stage.pace.now >= 30.0


@pytest.mark.parametrize(("count", "requests"), [(25, 1), (60, 3)])
def test_one_poll_for_all(simulate: Simulate, count: int, requests: int) -> None:
    stage = a_stage(simulate, count, action_s=0.3)
    answers = [stage.announce(number) for number in range(1, count + 1)]
    with stage.waiting(*answers) as threads:
        for thread in threads:
            thread.result(PATIENCE_S)
    polls = stage.polls()
    assert len(polls) == requests
    assert max(len(ids) for ids in polls) <= 25
    assert sorted(number for ids in polls for number in ids) == sorted(json.loads(a)["action"]["id"] for a in answers)
    assert len(stage.actions._in_flight) == 0


def test_each_is_told_when_its_own_action_has_ended(simulate: Simulate) -> None:
    stage = a_stage(simulate, 2, action_s_by_command={"reboot_server": 0.3, "stop_server": 8.0})
    slow = stage.sim.hetzner_writer().post("/servers/2/actions/poweroff")
    ended: list[str] = []

    def wait(answer: bytes, name: str) -> None:
        stage.actions.wait(answer, WHAT)
        ended.append(name)

    stage.pace.crowd = 2
    stage.pace.happens = lambda now: until(lambda: now < 0.5 or bool(ended))
    with ThreadPoolExecutor(2) as pool:
        both = [pool.submit(wait, slow, "slow"), pool.submit(wait, stage.announce(1), "fast")]
        for thread in both:
            thread.result(PATIENCE_S)

    assert ended == ["fast", "slow"]
    assert [len(ids) for ids in stage.polls()][:2] == [2, 1]


def test_a_newcomer_during_a_long_pause(simulate: Simulate) -> None:
    """It is asked for 0.35 s after it began, however long the pause is in which the others are; and so are they."""
    stage = a_stage(simulate, 2, action_s_by_command={"reboot_server": 0.3, "stop_server": 40.0})
    slow = stage.sim.hetzner_writer().post("/servers/2/actions/poweroff")
    began: list[float] = []
    polled: list[float] = []

    with ThreadPoolExecutor(2) as pool:

        def happens(now: float) -> None:
            if now > 30.0 and not began:
                began.append(now)
                stage.pace.crowd = 2
                threads.append(pool.submit(stage.actions.wait, stage.announce(1), WHAT))
            if began and not polled and len(stage.polls()[-1]) == 2:
                polled.append(now)

        stage.pace.happens = happens
        threads = [pool.submit(stage.actions.wait, slow, WHAT)]
        threads[0].result(PATIENCE_S)
        threads[1].result(PATIENCE_S)

    assert 0.3 <= polled[0] - began[0] <= 0.7
    assert sum(len(ids) == 2 for ids in stage.polls()) == 1


@rows(
    "code message expected",
    {
        "for its own sake": ("server_error", "it broke", Invalid),
        "conflict": ("conflict", "no", Busy),
        "locked": ("locked", "no", Busy),
        "of a lock, in words": ("action_failed", "cannot perform operation because server is locked", Busy),
    },
)
def test_actions_that_fail(simulate: Simulate, code: str, message: str, expected: type[ApiError]) -> None:
    stage = a_stage(simulate)
    stage.sim.hetzner.set_faults([{"kind": "action_fails", "code": code, "message": message}])
    with pytest.raises(ApiError) as raised:
        stage.actions.wait(stage.announce(1), WHAT)
    assert (type(raised.value), raised.value.code) == (expected, code)
    assert str(raised.value) == f"{WHAT}: the action reboot_server failed: {message} ({code})"


def test_an_action_that_vanishes(simulate: Simulate) -> None:
    """The API leaves unknown ids out without a word; what is missing twice in a row is not waited for any longer."""
    stage = a_stage(simulate, action_s=20.0)
    stage.sim.hetzner.set_faults([{"kind": "action_vanishes"}])
    with pytest.raises(Transient, match=rf"^{WHAT}: the action reboot_server was not found$"):
        stage.actions.wait(stage.announce(1), WHAT)
    assert stage.polls() == [[1], [1]]


def test_an_action_that_is_missing_once(simulate: Simulate) -> None:
    """A poll that lacks it may be answered by a machine that does not know it yet."""
    stage = a_stage(simulate, action_s=3.0)
    for skip in (0, 2):
        stage.sim.spoil_hetzner("status", path="/v1/actions", code=200, body={"actions": []}, skip=skip)
    stage.actions.wait(stage.announce(1), WHAT)
    assert stage.pace.now >= 3.0


@rows(
    "action_s said",
    {
        "it goes on and on": (3600.0, rf"^{WHAT}: the action reboot_server is still running after 60 s$"),
        "it ends at the last moment": (59.9, None),
        "nobody can say": (0.0, r"is still running after 60 s; Hetzner API .* GET /actions answers 500"),
    },
)
def test_after_a_minute_nobody_waits(simulate: Simulate, action_s: float, said: str | None) -> None:
    """What it does is said to be unknown, with the last trouble; it is asked for once more when the time is up."""
    options: dict[str, Any] = {"action_s": action_s} if action_s else {}
    stage = a_stage(simulate, **options)
    if not action_s:
        stage.sim.spoil_hetzner("status", path="/v1/actions", code=500, body="<html>", count=None)
    with pytest.raises(Transient, match=said) if said else nullcontext():
        stage.actions.wait(stage.announce(1), WHAT)
    assert stage.pace.now == pytest.approx(60.0, abs=0.5)
    assert not action_s or len(stage.polls()) <= 20


@pytest.mark.parametrize(("fault", "expected"), [case for case in HETZNER_TROUBLE if case[1] in (Transient, Throttled)])
def test_polls_that_fail_for_a_while(simulate: Simulate, fault: dict[str, Any], expected: type[ApiError]) -> None:
    stage = a_stage(simulate, action_s=2.0)
    stage.sim.spoil_hetzner("status", path="/v1/actions", count=5, **fault)
    stage.actions.wait(stage.announce(1), WHAT)
    assert len(stage.polls()) == 5 + 3
    assert stage.pace.now < 3.0


@pytest.mark.parametrize(("fault", "expected"), [case for case in HETZNER_TROUBLE if case[1] in (Denied, Broken)])
def test_polls_that_never_work(simulate: Simulate, fault: dict[str, Any], expected: type[ApiError]) -> None:
    """Without permission, or from something that is not Hetzner, nothing will be heard: all who wait are told."""
    stage = a_stage(simulate, 2)
    answers = [stage.announce(number) for number in (1, 2)]
    stage.sim.spoil_hetzner("status", path="/v1/actions", count=None, **fault)
    with stage.waiting(*answers) as threads:
        errors = [thread.exception(PATIENCE_S) for thread in threads]
    assert [type(error) for error in errors] == [expected, expected]
    assert errors[0] is not errors[1]


def test_one_request_of_several_that_fails(simulate: Simulate) -> None:
    stage = a_stage(simulate, 26, attempts=1)
    answers = [stage.announce(number) for number in range(1, 27)]
    stage.sim.spoil_hetzner("status", path="/v1/actions", code=500, body="<html>")
    with stage.waiting(*answers) as threads:
        assert [thread.exception(PATIENCE_S) for thread in threads] == [None] * 26
    assert len(stage.polls()) <= 4


def test_stopped_while_waiting(simulate: Simulate) -> None:
    stage = a_stage(simulate, 3, action_s=30.0)
    answers = [stage.announce(number) for number in (1, 2, 3)]
    stage.pace.happens = lambda now: stage.pace.stop.set() if now > 2.0 else None
    with stage.waiting(*answers) as threads:
        errors = [thread.exception(PATIENCE_S) for thread in threads]
    assert {str(error) for error in errors} == {f"{WHAT}: stopped while the action reboot_server was running"}
    assert {type(error) for error in errors} == {Stopped}
    assert stage.pace.now < 2.5
    assert stage.actions.is_stopped


def test_stopped_before(simulate: Simulate) -> None:
    stage = a_stage(simulate, 2, action_s_by_command={"reboot_server": 30.0, "stop_server": 0.0})
    stage.pace.stop.set()
    stage.actions.wait(stage.sim.hetzner_writer().post("/servers/2/actions/poweroff"), WHAT)
    with pytest.raises(Stopped):
        stage.actions.wait(stage.announce(1), WHAT)
    assert (stage.polls(), stage.pace.naps) == ([], [])


def test_waiting_until_something_is_seen(simulate: Simulate) -> None:
    stage = a_stage(simulate)
    stage.pace.crowd = 0
    stage.actions.wait_until(lambda: True, WHAT)
    assert stage.pace.naps == []
    stage.actions.wait_until(lambda: stage.pace.now > 3.0, WHAT)
    assert stage.pace.naps == pytest.approx([0.35, 0.35, 0.35, 0.525, 0.7875, 1.18125])


def test_waiting_for_something_that_is_never_seen(simulate: Simulate) -> None:
    stage = a_stage(simulate)
    stage.pace.crowd = 0
    with pytest.raises(Transient, match=rf"^{WHAT}: not confirmed after 20 s$"):
        stage.actions.wait_until(lambda: False, WHAT)
    stage.pace.stop.set()
    with pytest.raises(Stopped, match=rf"^{WHAT}: stopped before it was confirmed$"):
        stage.actions.wait_until(lambda: pytest.fail("asked after the stop"), WHAT)


def test_a_stop_event_that_nobody_waits_for(simulate: Simulate) -> None:
    stage = a_stage(simulate)
    stop = ImpatientStop()
    actions = Actions(stage.sim.hetzner_reader(), stop, clock=lambda: stage.sim.clock.timestamp() + sum(stop.waits))
    stage.announce(1)
    stage.sim.clock.advance(1)
    actions.wait(b'{"action": {"id": 1, "status": "running"}}', WHAT)
    assert sum(stop.waits) == pytest.approx(0.35)


@pytest.mark.parametrize(
    ("ago_s", "waits"), [(0.05, 0.3), (10.0, 0.175)], ids=["the way of the request", "a request that was sent again"]
)
def test_the_first_poll_counts_from_when_it_was_asked_for(simulate: Simulate, ago_s: float, waits: float) -> None:
    """The way of the request is part of the wait; one that was sent again and again is not polled at once for it."""
    stage = a_stage(simulate, action_s=0.1)
    stage.actions.wait(stage.announce(1), WHAT, asked_at=stage.actions.now - ago_s)
    assert sum(stage.pace.naps) == pytest.approx(waits, abs=1e-6)
    assert len(stage.polls()) == 1
