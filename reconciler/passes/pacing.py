"""Pacing: pauses between the passes of a loop, by the requests of a pass; with ``--share-rate-limit`` by the part
of the project's rate limit that is left.

Each answer of Hetzner tells all clients of the project the same. Equal numbers make equal pauses, so that clusters get
equal shares without knowing of one another, and settle when all together use as much as refills.
"""

from dataclasses import dataclass, field, replace

from desired.model.key import Key, ObjectKind
from desired.rules import guards as rows
from reconciler.config.config import Config
from reconciler.passes.loop import LONGEST_RETRY_S, LONGEST_S, Pace
from reconciler.result import Report

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
    _sent: int = field(default=0, init=False)
    _is_noted: bool = field(default=False, init=False)

    def after(self, report: Report) -> Pace:
        """The pace after the pass with this report."""
        before, self._sent = self._sent, report.requests.hetzner
        if all(line.outcome is None for line in report.lines):
            self.reads = self._sent - before
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

    @property
    def at_first(self) -> Pace:
        """The pace before anything is known."""
        return Pace(self.config.interval_for(None, 0))

    def _intervals_s(self, report: Report) -> tuple[float, float]:
        """Seconds between passes: as usual, and with what is left of the rate limit."""
        usual_s = self.config.interval_for(report.requests.limit or None, self.reads)
        return usual_s, min(usual_s * self._factor(report), max(usual_s, LONGEST_S))

    def _factor(self, report: Report) -> float:
        remaining, limit = report.requests.remaining, report.requests.limit
        if not self.config.shares_rate_limit or remaining is None or not limit:
            return 1.0
        return pace_factor(remaining / limit)
