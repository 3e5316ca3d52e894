"""Repeats passes: when the next one begins, and when there is none."""

import logging
import random
import threading
from collections.abc import Callable
from dataclasses import dataclass

from actuators.outcome import Failed, Pending
from reconciler.result import Report, Result, summary
from reconciler.telemetry.logs import pairs

_log = logging.getLogger("hcloud-reconciler.loop")

JITTER = 0.1
"""Share by which a pause is shortened at random, so that many clusters of one project do not read in step."""
_FIRST_RETRY_S = 1.0
_LONGEST_RETRY_S = 60.0


@dataclass(frozen=True, slots=True)
class Pace:
    """How long to wait after a pass, given how it went."""

    interval_s: float
    draw: Callable[[], float] = random.random
    """Evenly from 0 to 1."""

    def pause_s(self, report: Report, unlucky: int) -> float:
        """Seconds until the next pass. ``unlucky`` counts the passes in a row, this one included, that went wrong.

        The interval, less up to a tenth; earlier when something that waits falls due, or after trouble: 1 s, doubled
        with each unlucky pass up to a minute.
        """
        waits = [self.interval_s * (1 - JITTER * self.draw())]
        waits += [line.change.ruling.due_in_s for line in report.lines if line.change.ruling.due_in_s is not None]
        if unlucky:
            waits.append(min(_LONGEST_RETRY_S, _FIRST_RETRY_S * 2 ** (unlucky - 1)) * (1 + self.draw()) / 2)
        return max(0.0, min(waits))


def run_loop(
    run_pass: Callable[[], Report],
    *,
    pace: Callable[[Report], Pace],
    stop: threading.Event,
    publish: Callable[[Report], None],
) -> None:
    """Run passes until ``stop`` is set. ``publish`` gets the reports that say something new.

    A pass that fails is followed by another: only a signal ends the loop.
    """
    unlucky = 0
    last: Report | None = None
    while not stop.is_set():
        report = run_pass()
        unlucky = unlucky + 1 if went_wrong(report) else 0
        if is_news(report, last):
            publish(report)
            level = logging.INFO if not unlucky else logging.WARNING
            _log.log(level, "pass %s", pairs(result=report.result, errors=len(report.errors), **summary(report)))
        last = report
        stop.wait(pace(report).pause_s(report, unlucky))


def went_wrong(report: Report) -> bool:
    """Whether a pass is worth repeating soon: an error, or something that failed or was overtaken."""
    return (
        report.result in (Result.ERROR, Result.INCOMPLETE)
        or bool(report.outcomes(Failed))
        or bool(report.outcomes(Pending))
    )


def is_news(report: Report, last: Report | None) -> bool:
    """Whether a report says anything that the one before did not: a pass without changes is counted, not narrated."""
    if last is None or report.result is not last.result or report.errors != last.errors:
        return True
    if any(line.outcome is not None for line in report.lines):
        return True
    return [line.change for line in report.lines] != [line.change for line in last.lines] or report.notes != last.notes
