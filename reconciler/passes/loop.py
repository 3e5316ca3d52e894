"""Loop: repeats passes, and decides how long to pause between them."""

import random
import threading
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Protocol

from actuators.outcome import GAVE_WAY, Applied, Failed, Pending
from desired.plan.change import Change, GuardName, Note
from reconciler.result import Report, Result
from reconciler.telemetry.pass_logger import Measured
from reconciler.wake import Wake

JITTER = 0.1
"""Share by which a pause is shortened at random, so that many clusters of one project do not read in step."""
_FIRST_RETRY_S = 1.0
_SHORTEST_S = 0.5
_LONGEST_RETRY_S = 60.0
_MOST_DOUBLINGS = 10
"""More than enough to reach the longest retry; a night of trouble must not overflow a number."""


@dataclass(frozen=True, slots=True)
class Pace:
    """How long to wait after a pass, given how it went."""

    interval_s: float
    retry_in_s: float | None = None
    """When the first change that failed is worth another try; None when none has."""
    gap_s: float = 0.0
    """From the start of the pass to that of the next one, whatever calls for it: too few calls are left."""
    draw: Callable[[], float] = random.random
    """Evenly from 0 to 1."""

    def pause_s(self, report: Report, unlucky: int, gap_left_s: float = 0.0) -> float:
        """Seconds until the next pass. ``unlucky`` counts the passes in a row, this one included, that went wrong;
        ``gap_left_s`` is what is left of the gap after the start of this one.

        The interval, less up to a tenth; earlier when something that waits falls due, but then not before the gap is
        over, so that all that falls due by then is done in one pass: whoever waits for seconds or minutes can wait for
        the others. Regardless of the gap when something that failed is worth another try, at once when a long series
        gave way, or after trouble: 1 s, doubled with each unlucky pass up to a minute, or what an API asked for. Never
        less than half a second, unless the interval is.
        """
        interval_s = self.interval_s * (1 - JITTER * self.draw())
        waits = [interval_s, *([] if self.retry_in_s is None else [self.retry_in_s])]
        waits += [
            due_in_s if rule == GuardName.BACK_OFF else max(due_in_s, gap_left_s)
            for rule, due_in_s in ((line.change.decision.rule, line.change.decision.due_in_s) for line in report.lines)
            if due_in_s is not None
        ]
        if unlucky:
            backoff_s = min(_LONGEST_RETRY_S, _FIRST_RETRY_S * 2 ** min(unlucky - 1, _MOST_DOUBLINGS))
            waits.append(max(backoff_s * (1 - JITTER * self.draw()), *asked_for(report), 0.0))
        elif any(line.outcome == GAVE_WAY for line in report.lines):
            waits.append(0.0)
        return max(min(interval_s, _SHORTEST_S), min(waits))


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
    """Whoever may act."""

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
        ended, pace = run_pass(wake.begin(interval_s))
        interval_s = pace.interval_s
        unlucky = unlucky + 1 if went_wrong(ended.report) else 0
        if is_news(ended.report, last):
            publish(ended)
        last = said(ended.report)
        wake.keep_gap(pace.gap_s)
        pause_s = pace.pause_s(ended.report, unlucky, wake.gap_left_s)
        if pace.gap_s:
            pause_s = max(pause_s, wake.gap_left_s)
        del ended  # with the world in it, which the next pass needs the memory of
        wake.pause(pause_s)


def went_wrong(report: Report) -> bool:
    """Whether a pass is worth repeating soon: an error, or something that was overtaken. What failed is due at a time
    of its own."""
    return (
        bool(report.errors)
        or report.result is Result.INCOMPLETE
        or any(line.outcome != GAVE_WAY for line in report.outcomes(Pending))
    )


def said(report: Report) -> Said:
    """The part of a report that is compared with the next. That a wait is shorter by now is no news."""
    changes = (line.change for line in report.lines if not isinstance(line.outcome, Applied))
    timeless = tuple(change.ruled(replace(change.decision, due_in_s=None)) for change in changes)
    return Said(report.result, report.errors, timeless, report.notes)


def is_news(report: Report, last: Said | None) -> bool:
    """Whether a report says anything that the one before did not: a pass without changes is counted, not narrated."""
    return any(line.outcome is not None for line in report.lines) or said(report) != last
