"""Pauses of a loop while little is left of the project's rate limit: what is awaited, and what is not."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from itertools import pairwise

import pytest

from actuators.outcome import Failed, Pending
from reconciler.leader_election.leadership import NoElection
from reconciler.passes.loop import Pace, Wake, run_loop
from reconciler.result import Line, Report
from reconciler.telemetry.pass_logger import Measured
from tests.builders import a_change
from tests.support.simulated_time import Clock


@dataclass
class Loop:
    """Passes, on a clock that moves while the loop waits; each is followed by scarcity."""

    report: Report = field(default_factory=Report)
    retry_in_s: float | None = None
    passes: int = 2
    scarce_from: int = 1
    """The number of the first pass after which there is a question."""
    has_room: Iterable[bool] = ()
    """What is said each time that it is asked; after that, that there is none."""

    def __post_init__(self) -> None:
        self.clock = Clock()
        self.stop = self.clock.event()
        self.wake = Wake(self.stop, clock=self.clock, event=self.clock.event)
        self.asked: list[float] = []
        self.began: list[tuple[float, str]] = []
        self._answers = iter(self.has_room)

    def at(self, seconds: float, happens: Callable[[], object]) -> None:
        self.clock.events[100.0 + seconds] = happens

    def run(self) -> list[tuple[float, str]]:
        """When each pass began, and what called for it."""
        run_loop(self._pass, stop=self.stop, publish=lambda _: None, wake=self.wake, leader=NoElection())
        return self.began

    def _pass(self, why: str) -> tuple[Measured, Pace]:
        self.began.append((self.clock.now - 100.0, why))
        if len(self.began) == self.passes:
            self.stop.set()
        has_room = self._has_room if len(self.began) >= self.scarce_from else None
        pace = Pace(600.0, self.retry_in_s, 60.0, longest_retry_s=600.0, has_room=has_room, draw=lambda: 0.0)
        return Measured(self.report, 0.0, why), pace

    def _has_room(self) -> bool:
        self.asked.append(self.clock.now - 100.0)
        return next(self._answers, False)


def test_the_interval_asks_until_there_is_room() -> None:
    loop = Loop(has_room=(False, False, True))

    assert loop.run() == [(0.0, ""), (1800.0, "")]
    assert loop.asked == [600.0, 1200.0, 1800.0]


def test_after_an_hour_it_begins_in_any_case() -> None:
    loop = Loop()

    assert loop.run() == [(0.0, ""), (3600.0, "")]
    assert loop.asked == [600.0, 1200.0, 1800.0, 2400.0, 3000.0]


@pytest.mark.parametrize(
    ("called_at", "began_at"),
    [
        pytest.param(10.0, 60.0, id="a minute after the last pass"),
        pytest.param(300.0, 300.0, id="at once"),
        pytest.param(700.0, 700.0, id="while it asks"),
    ],
)
def test_what_is_called_for_begins_without_a_question(called_at: float, began_at: float) -> None:
    loop = Loop()
    loop.at(called_at, lambda: loop.wake.call("a Node changed"))

    assert loop.run() == [(0.0, ""), (began_at, "a Node changed")]
    assert loop.asked == [600.0] * (called_at > 600.0)


@pytest.mark.parametrize(
    ("retry_in_s", "began_at"),
    [
        pytest.param(3.0, 60.0, id="soon"),
        pytest.param(900.0, 900.0, id="after the interval"),
    ],
)
def test_what_is_due_begins_without_a_question(retry_in_s: float, began_at: float) -> None:
    """A write that failed, and a deletion that waits for its proof, have their time."""
    assert Loop(retry_in_s=retry_in_s).run() == [(0.0, ""), (began_at, "")]


REFUSED = Report(errors=("429",), is_throttled=True)
BROKEN = Report(errors=("a list stays incomplete",))
LOCKED = Report(lines=(Line(a_change(), Pending("locked", retry_after_s=10.0)),))


def test_trouble_does_not_repeat_what_only_the_interval_called_for() -> None:
    """A pass that was refused comes back when there is more, and not after a second."""
    loop = Loop(report=REFUSED, has_room=(False, True))

    assert loop.run() == [(0.0, ""), (1200.0, "")]


@pytest.mark.parametrize(
    ("report", "called"),
    [
        pytest.param(REFUSED, True, id="reading was refused"),
        pytest.param(LOCKED, True, id="a load balancer was busy"),
        pytest.param(LOCKED, False, id="and that was found at the interval"),
    ],
)
def test_what_was_called_for_is_tried_again_without_a_question(report: Report, called: bool) -> None:
    """A Service that was deleted does not wait an hour for another try because the first one was refused."""
    loop = Loop(report=report)
    if called:
        loop.wake.call("a Service changed")

    assert [began for began, _ in loop.run()] == [0.0, 60.0]


def test_what_was_due_is_tried_again_without_a_question() -> None:
    """The end of a wait, which nothing would call for once more."""
    loop = Loop(retry_in_s=900.0, passes=3)
    loop.at(899.0, lambda: setattr(loop, "report", REFUSED))
    loop.at(901.0, lambda: setattr(loop, "retry_in_s", None))

    assert loop.run() == [(0.0, ""), (900.0, ""), (960.0, "")]


def test_what_is_owed_stays_so_while_it_goes_wrong() -> None:
    """Though another pass began in between because there was room, and was refused like the first."""
    later = replace(REFUSED, lines=(Line(a_change(), Failed("503", retry_after_s=700.0)),))
    loop = Loop(report=later, has_room=(True, False), passes=3)
    loop.wake.call("a Service changed")

    assert [began for began, _ in loop.run()] == [0.0, 600.0, 1300.0]


@pytest.mark.parametrize(
    ("called_at", "began_at"),
    [
        pytest.param(0.0, [0.0, 60.0, 3660.0, 7260.0], id="with the trouble"),
        pytest.param(300.0, [0.0, 300.0, 360.0, 3960.0], id="after it"),
    ],
)
def test_trouble_that_lasts_asks_for_room_from_the_second_try(called_at: float, began_at: list[float]) -> None:
    """One event made every later pass of a list that stays incomplete one of its own: six an hour, and no question."""
    loop = Loop(report=BROKEN, passes=4)
    if called_at:
        loop.at(called_at, lambda: loop.wake.call("a Node changed"))
    else:
        loop.wake.call("a Node changed")

    assert [began for began, _ in loop.run()] == began_at
    assert len(loop.asked) >= 5


@pytest.mark.parametrize("report", [REFUSED, BROKEN], ids=["refused", "broken"])
def test_trouble_that_only_the_interval_found_owes_nothing(report: Report) -> None:
    """Its own retries, from when there was still room, were taken for what was due."""
    loop = Loop(report=report, passes=5, scarce_from=4)

    assert [began for began, _ in loop.run()] == [0.0, 60.0, 120.0, 180.0, 3780.0]


def test_a_refusal_after_other_trouble_is_owed_still() -> None:
    """The one repetition of what an event called for was refused: nothing was read for it yet."""
    loop = Loop(report=BROKEN, passes=4)
    loop.wake.call("a Service changed")
    loop.at(59.0, lambda: setattr(loop, "report", REFUSED))

    assert [began for began, _ in loop.run()] == [0.0, 60.0, 120.0, 180.0]


def test_tries_get_further_apart_up_to_the_interval() -> None:
    """So that they are not what keeps others from being answered."""
    loop = Loop(report=REFUSED, passes=14)
    loop.wake.call("a Service changed")
    began = [at for at, _ in loop.run()]

    gaps = [round(later - at) for at, later in pairwise(began)]
    assert gaps == [*[60] * 6, 64, 128, 256, 512, 600, 600, 600]


def test_a_run_that_ends_asks_nothing() -> None:
    loop = Loop()

    def end() -> None:
        loop.stop.set()
        loop.wake.interrupt()

    loop.at(630.0, end)

    loop.run()

    assert loop.asked == [600.0]
