"""Pacing: pauses between the passes of a loop, by outcomes and requests of a pass; with ``--share-rate-limit`` by the
part of the project's rate limit that is left.

Each answer of Hetzner tells all clients of the project the same. Equal numbers make equal pauses, so that clusters get
equal shares without knowing of one another, and settle when all together use as much as refills.
"""

import random
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from math import inf

from actuators.outcome import GOES_ON, PREEMPTED, Failed, Pending
from desired.model.key import Key, ObjectKind
from desired.plan.change import GuardName
from desired.rules import guards as rows
from reconciler.config.config import Config
from reconciler.result import Report

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


def asked_for(report: Report) -> tuple[float, ...]:
    """Seconds that APIs asked for before another try, of each change that was not done."""
    undone = (line.outcome for line in report.lines if isinstance(line.outcome, Pending | Failed))
    return tuple(outcome.retry_after_s for outcome in undone if outcome.retry_after_s is not None)


ENOUGH = 0.5
"""Share of the limit above which pauses are as usual. A cluster that is alone does not come below three quarters: its
call budget is a quarter."""
KEPT = 0.05
"""Share of the limit that is kept for events and due times."""
LONGEST_FACTOR = 60.0
"""An hour, if a pass a minute is usual."""
_JITTER = 0.2
"""Share by which a longer pause is shortened at random: clients that were refused together come back apart."""
_NOTED_FROM, _NOTED_UNTIL = 3.0, 2.0


def pace_factor(left: float) -> float:
    """How many times longer pauses are while ``left``, from 0 to 1, is left of the rate limit: 1 to LONGEST_FACTOR."""
    return min(LONGEST_FACTOR, max(1.0, (ENOUGH - KEPT) / max(left - KEPT, 1e-9)))


@dataclass(slots=True)
class Pacing:
    """Pauses after passes. A pass costs the requests of the last one that had nothing to do."""

    config: Config
    reads: int = 0
    """Calls to Hetzner that a reading takes."""
    _is_noted: bool = field(default=False, init=False)

    def after(self, report: Report) -> Pace:
        """The pace after the pass with this report and its own requests."""
        if all(line.outcome is None for line in report.lines):
            self.reads = report.requests.hetzner
        usual_s, interval_s = self._intervals_s(report)
        factor = self._factor(report)
        if factor == 1.0:
            return Pace(usual_s)
        return Pace(interval_s, factor=interval_s / usual_s, longest_retry_s=LONGEST_RETRY_S * factor, jitter=_JITTER)

    def noted(self, report: Report) -> Report:
        """``report``, with a note if pauses are much longer than usual, until they are nearly as usual again."""
        usual_s, interval_s = self._intervals_s(report)
        self._is_noted = interval_s > usual_s * (_NOTED_UNTIL if self._is_noted else _NOTED_FROM)
        if not self._is_noted:
            return report
        note = rows.PACE.note(Key(ObjectKind.PROJECT, "cloud"), limit=report.requests.limit or 0)
        return replace(report, notes=(*report.notes, note))

    def _intervals_s(self, report: Report) -> tuple[float, float]:
        """Seconds between passes: as usual, and with what is left of the rate limit."""
        usual_s = self.config.interval_for(report.requests.limit or None, self.reads)
        return usual_s, min(usual_s * self._factor(report), max(usual_s, LONGEST_S))

    def _factor(self, report: Report) -> float:
        remaining, limit = report.requests.remaining, report.requests.limit
        if not self.config.shares_rate_limit or remaining is None or not limit:
            return 1.0
        return pace_factor(remaining / limit)
