"""Loop: repeats passes, and decides when the next one begins: at its time, earlier when something calls for it, and at
once when the run is to end."""

import random
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from math import inf
from typing import Protocol

from actuators.outcome import GOES_ON, PREEMPTED, Applied, Failed, Pending
from desired.plan.change import Change, GuardName
from desired.plan.notes import Note
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


JITTER = 0.1
"""Share by which a pause is shortened at random, so that many clusters of one project do not read in step."""
GAVE_WAY = (PREEMPTED, GOES_ON)
"""Outcomes of what was left for another pass, and is no trouble."""
_FIRST_RETRY_S = 1.0
_SHORTEST_S = 0.5
LONGEST_RETRY_S = 60.0
LONGEST_S = 3600.0
"""The longest interval, if ``--interval`` does not ask for a longer one."""
_MOST_DOUBLINGS = 10
"""Retries are at most 17 minutes apart, however little is left of a shared limit."""


@dataclass(frozen=True, slots=True)
class Pace:
    """How long to wait after a pass, given how it went."""

    interval_s: float
    retry_in_s: float | None = None
    """When the first change that failed is worth another try; None when none has."""
    gap_s: float = 0.0
    """From the start of the pass to that of the next one, whatever calls for it: too few calls are left."""
    factor: float = 1.0
    """How many times longer than usual the interval is, as the project's rate limit is shared."""
    longest_retry_s: float = LONGEST_RETRY_S
    """After trouble that lasts, which takes no larger share of the rate limit than other passes."""
    jitter: float = JITTER
    """Share by which the interval is shortened at random."""
    draw: Callable[[], float] = random.random
    """Evenly from 0 to 1."""

    def pause_s(self, due_in_s: float | None) -> float:
        """Seconds until the next pass, of which ``due_in_s`` is what ``due_in_s`` has said: the shorter of that and the
        interval, shortened at random, and at least half a second, unless the interval is shorter."""
        interval_s = self.interval_s * (1 - self.jitter * self.draw())
        return max(min(interval_s, _SHORTEST_S), min(interval_s, inf if due_in_s is None else due_in_s))

    def due_in_s(self, report: Report, unlucky: int, gap_left_s: float = 0.0) -> float | None:
        """Seconds until the next pass that something else than the interval makes due; None when nothing does.
        ``unlucky`` counts the passes in a row, this one included, that went wrong and are worth repeating;
        ``gap_left_s`` is what is left of the gap after the start of this one.

        The shortest of these:

        - the next time at which a waiting change is due, but not before the gap is over, so that all that is due by
          then is done in one pass;
        - the next try of a change that failed, whatever the gap;
        - nothing, when the pass gave way;
        - after trouble the longer of 1 s, doubled with each unlucky pass up to ``longest_retry_s``, and what an API
          asked for.
        """
        waits = [] if self.retry_in_s is None else [self.retry_in_s]
        waits += [
            due_in_s if rule == GuardName.BACK_OFF else max(due_in_s, gap_left_s)
            for rule, due_in_s in ((line.change.decision.rule, line.change.decision.due_in_s) for line in report.lines)
            if due_in_s is not None
        ]
        if unlucky:
            backoff_s = min(self.longest_retry_s, _FIRST_RETRY_S * 2 ** min(unlucky - 1, _MOST_DOUBLINGS))
            waits.append(max(backoff_s * (1 - JITTER * self.draw()), *asked_for(report), 0.0))
        elif any(line.outcome in GAVE_WAY for line in report.lines):
            waits.append(0.0)
        return min(waits, default=None)


@dataclass(frozen=True, slots=True)
class Said:
    """The content of a report. The snapshot is left out: keeping it would double the memory of the next pass."""

    result: Result
    errors: tuple[str, ...]
    changes: tuple[Change, ...]
    notes: tuple[Note, ...]


def asked_for(report: Report) -> tuple[float, ...]:
    """Seconds that APIs asked for before another try, of each change that was not done."""
    undone = (line.outcome for line in report.lines if isinstance(line.outcome, Pending | Failed))
    return tuple(outcome.retry_after_s for outcome in undone if outcome.retry_after_s is not None)


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
    last: Said | None = None
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
    """Whether a pass is worth repeating soon: an error that may pass, or something that was overtaken. What failed is
    due at a time of its own."""
    return bool(report.obstacles) or report.result is Result.INCOMPLETE or has_pending(report)


def has_pending(report: Report) -> bool:
    """Whether a change was overtaken, and not only left for another pass."""
    return any(line.outcome not in GAVE_WAY for line in report.outcomes(Pending))


def said(report: Report) -> Said:
    """The part of a report that is compared with the next. That a wait is shorter by now is no news."""
    changes = (line.change for line in report.lines if not isinstance(line.outcome, Applied))
    timeless = tuple(change.ruled(replace(change.decision, due_in_s=None)) for change in changes)
    return Said(report.result, report.errors, timeless, report.notes)


def is_news(report: Report, last: Said | None) -> bool:
    """Whether a report says anything that the one before did not: a pass without changes is counted, not narrated."""
    return any(line.outcome is not None for line in report.lines) or said(report) != last
