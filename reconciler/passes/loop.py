"""Loop: repeats passes, and decides when the next one begins: at its time, earlier when something calls for it, and at
once when the run is to end."""

import threading
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Protocol

from actuators.outcome import Applied, Pending
from reconciler.passes.pacing import GAVE_WAY, Pace
from reconciler.result import Report, Result
from reconciler.telemetry.pass_logger import Measured

GAP_S = 5.0
"""Minimum time from the start of a pass to that of the next one that is called for, or that begins because something
has waited for long enough: however many calls and due times there are, they cost one pass in each gap. What was
promised sooner keeps no gap: the interval, another try after trouble, the rest of a preempted series."""


class Wake:
    """Wake-up of the loop. Called by whatever learns of something that the next pass should see, and by the clock."""

    def __init__(
        self,
        stop: threading.Event,
        *,
        gap_s: float = GAP_S,
        clock: Callable[[], float] = time.monotonic,
        event: Callable[[], threading.Event] = threading.Event,
    ) -> None:
        """``event`` makes what is waited on. A thread that sets ``stop`` has to end a pause with ``interrupt``."""
        self._stop = stop
        self._gap_s = self._least_gap_s = gap_s
        self._clock = clock
        self._rung = event()
        self._ringing = threading.Lock()
        self._reasons: list[str] = []
        self._began_at = clock() - gap_s
        self._due_at: float | None = None

    def keep_gap(self, seconds: float) -> None:
        """Keep a gap of so many seconds after the start of the last pass, or the usual one when that is longer."""
        self._gap_s = max(self._least_gap_s, seconds)

    def begin(self, interval_s: float | None) -> str:
        """A pass has begun, and sees everything that it was called for. The next one is due after ``interval_s``
        seconds; None: not known.

        Returns what was the first to call for it; "" when nothing did.
        """
        with self._ringing:
            self._rung.clear()
            reasons, self._reasons = self._reasons, []
        self._began_at = self._clock()
        self._due_at = None if interval_s is None else self._began_at + interval_s
        return reasons[0] if reasons else ""

    def call(self, why: str) -> None:
        """Something has come up; ``why`` says what, in a few words for the log."""
        with self._ringing:
            if not self._reasons:
                self._reasons.append(why)
            self._rung.set()

    def interrupt(self) -> None:
        """End a pause, if there is one: the run has come to its end."""
        self._rung.set()

    def is_called(self) -> bool:
        """Whether another pass should begin: it was called for and the gap is over, or it is due."""
        now = self._clock()
        is_late = self._due_at is not None and now >= self._due_at
        return is_late or (bool(self._reasons) and now >= self._began_at + self._gap_s)

    @property
    def gap_left_s(self) -> float:
        """What is left of the gap after the start of the last pass, in seconds."""
        return max(0.0, self._began_at + self._gap_s - self._clock())

    def pause(self, seconds: float) -> None:
        """Wait for so long, and no longer than until the run ends or a pass is called for; a call does not shorten what
        is left of the gap after the last one. ``Pace`` chooses ``seconds``, and decides whether they respect the
        gap."""
        ends_at = self._clock() + seconds
        while not self._stop.is_set():
            now = self._clock()
            called_at = max(now, self._began_at + self._gap_s) if self._reasons else ends_at
            left_s = min(ends_at, called_at) - now
            if left_s <= 0:
                return
            (self._stop if self._reasons else self._rung).wait(left_s)


class Leader(Protocol):
    """The process that may act."""

    def wait(self, stop: threading.Event) -> bool:
        """Wait until this process may act. False: the run is to end first."""


def run_loop(
    run_pass: Callable[[str], tuple[Measured, Pace]],
    *,
    stop: threading.Event,
    publish: Callable[[Measured], None],
    wake: Wake,
    leader: Leader,
) -> None:
    """Run passes until ``stop`` is set, as long as this process is the leader. ``run_pass`` is told what called for the
    pass, "" when it was its time, and returns its result; ``publish`` gets each that says something new.

    A pass that fails is followed by another: only a signal ends the loop. One that takes longer than the interval finds
    ``wake`` called.
    """
    unlucky = 0
    last: object = None
    interval_s: float | None = None
    while leader.wait(stop):
        why = wake.begin(interval_s)
        ended, pace = run_pass(why)
        interval_s = pace.interval_s
        unlucky = unlucky + 1 if went_wrong(ended.report) else 0
        if is_news(ended.report, last):
            publish(ended)
        last = said(ended.report)
        wake.keep_gap(pace.gap_s)
        pause_s = pace.pause_s(pace.due_in_s(ended.report, unlucky, wake.gap_left_s))
        if pace.gap_s:
            pause_s = max(pause_s, wake.gap_left_s)
        del ended  # with the world in it, which the next pass needs the memory of
        wake.pause(pause_s)


def went_wrong(report: Report) -> bool:
    """Whether a pass is worth repeating soon: an error that may pass, or something that was overtaken, and not only
    left for another pass. What failed is due at a time of its own."""
    return (
        bool(report.obstacles)
        or report.result is Result.INCOMPLETE
        or any(line.outcome not in GAVE_WAY for line in report.outcomes(Pending))
    )


def said(report: Report) -> object:
    """The part of a report that is compared with the next, without the snapshot: keeping it would double the memory of
    the next pass. That a wait is shorter by now is no news."""
    changes = (line.change for line in report.lines if not isinstance(line.outcome, Applied))
    timeless = tuple(change.ruled(replace(change.decision, due_in_s=None)) for change in changes)
    return report.result, report.errors, timeless, report.notes


def is_news(report: Report, last: object) -> bool:
    """Whether a report says anything that the one before did not: a pass without changes is counted, not narrated."""
    return any(line.outcome is not None for line in report.lines) or said(report) != last
