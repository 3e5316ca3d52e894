"""How many passes a storm costs: of calls, and of things that fall due one after the other."""

from collections.abc import Callable, Collection
from dataclasses import dataclass, field, replace
from itertools import pairwise

import pytest

from desired.plan.change import GuardDecision, GuardName, Verdict
from reconciler.passes.loop import Wake
from reconciler.passes.pacing import Pace
from reconciler.result import Line, Report
from tests.builders import a_change, a_snapshot
from tests.support.leases import Timeline
from tests.support.looping import loop

GAP_S = 5.0
"""What is promised, whatever the code calls it."""
STORM = tuple(0.7 * number for number in range(1, 61))
"""Of 60 Nodes one every 0.7 s, for 42 s."""


@dataclass
class Storm:
    """A loop over passes of ``takes_s``, up to the end at 100 s; moments are seconds since its beginning."""

    interval_s: float = 3600.0
    takes_s: float = 0.0
    clock: Timeline = field(default_factory=lambda: Timeline(0.0))
    began: list[float] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.stop = self.clock.event()
        self.wake = Wake(self.stop, clock=self.clock.clock, event=self.clock.event)

    def passes(self, look: Callable[[float], Report], calls: Collection[float] = ()) -> list[float]:
        """When passes begin, of which each sees what there is to see by then. ``calls``: when somebody calls."""
        for moment in calls:
            self.clock.at(moment, self._call)
        self.clock.at(100.0, self._end)

        def run_pass(_why: str) -> Report:
            self.began.append(round(self.clock.now, 3))
            seen = look(self.clock.now)
            self.clock.advance(self.takes_s)
            return seen

        loop(run_pass, self.stop, pace=Pace(self.interval_s, draw=lambda: 0.0), wake=self.wake)
        return self.began

    def _call(self) -> None:
        self.wake.call("a Node changed")

    def _end(self) -> None:
        self.stop.set()
        self.wake.interrupt()


def due_at(moments: Collection[float], rule: str = "absence-proof") -> Callable[[float], Report]:
    """Changes that wait, each for its moment; one that was due when a pass began is done in it."""

    def look(now: float) -> Report:
        waits = (
            GuardDecision(Verdict.WAITING, GuardName(rule), "why", moment - now) for moment in moments if moment > now
        )
        return Report(snapshot=a_snapshot(), lines=tuple(Line(a_change(decision=decision)) for decision in waits))

    return look


def quiet(_now: float) -> Report:
    return Report(snapshot=a_snapshot())


@pytest.mark.parametrize("takes_s", [0.0, 0.2, 4.9, 7.0])
@pytest.mark.parametrize(
    ("look", "calls"),
    [
        pytest.param(quiet, STORM, id="calls"),
        pytest.param(due_at(STORM), (), id="due times"),
        pytest.param(due_at([moment + 20.0 for moment in STORM]), STORM, id="calls, and later due times"),
    ],
)
def test_a_storm(look: Callable[[float], Report], calls: Collection[float], takes_s: float) -> None:
    """Sixty Nodes whose readiness flips one after the other: at most one pass every five seconds, start to start, and
    the first of them without waiting for the interval."""
    began = Storm(takes_s=takes_s).passes(look, calls)

    assert min(later - earlier for earlier, later in pairwise(began)) >= GAP_S - 0.001
    assert len(began) <= 2 + 63.0 / GAP_S
    assert began[1] <= max(GAP_S, takes_s + STORM[0])


def test_all_that_falls_due_is_done_in_the_end() -> None:
    """The last pass begins within a gap of the last due time."""
    began = Storm().passes(due_at(STORM))

    assert STORM[-1] <= began[-1] <= STORM[-1] + GAP_S


@pytest.mark.parametrize(
    ("due", "began"),
    [
        pytest.param([20.0], [0.0, 20.0], id="a single one: at its time"),
        pytest.param([1.0, 4.0], [0.0, 5.0], id="two within the gap: together at its end"),
        pytest.param([20.0, 21.0, 24.0], [0.0, 20.0, 25.0], id="the first at its time, the others together"),
        pytest.param([20.0, 30.0], [0.0, 20.0, 30.0], id="far from each other: each at its time"),
    ],
)
def test_due_times(due: list[float], began: list[float]) -> None:
    assert Storm().passes(due_at(due)) == began


@pytest.mark.parametrize(
    ("look", "interval_s", "began"),
    [
        pytest.param(due_at([1.0, 3.0], GuardName.BACK_OFF), 3600.0, [0.0, 1.0, 3.0], id="another try of what failed"),
        pytest.param(due_at([40.0]), 30.0, [0.0, 30.0, 40.0, 70.0], id="the interval"),
        pytest.param(due_at(STORM), 30.0, None, id="never later than the interval"),
        pytest.param(due_at(STORM), 2.0, None, id="an interval shorter than the gap"),
    ],
)
def test_what_keeps_no_gap(look: Callable[[float], Report], interval_s: float, began: list[float] | None) -> None:
    """Tries of what failed, and an interval that somebody chose, are what they were without a storm."""
    found = Storm(interval_s=interval_s).passes(look)

    if began is not None:
        assert found == began
    assert max(later - earlier for earlier, later in pairwise(found)) <= interval_s


def test_trouble_amid_a_storm() -> None:
    waits = due_at(STORM)

    def look(now: float) -> Report:
        return replace(waits(now), errors=("no connection",)) if now < 7.0 else waits(now)

    assert Storm().passes(look)[:5] == [0.0, 1.0, 3.0, 7.0, 12.0]


def test_what_failed_is_tried_soon_amid_a_storm_of_calls() -> None:
    """Its next try comes after a second, and what was called for by then is seen in it; the gap begins anew."""
    tried = due_at([1.0], GuardName.BACK_OFF)

    assert Storm().passes(tried, STORM)[:4] == [0.0, 1.0, 6.0, 11.0]
