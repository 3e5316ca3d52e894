"""Pacing: the pauses between the passes of a loop, by what a pass costs to read and, where it is asked for, by what is
left of the project's rate limit.

Each answer of Hetzner says what is left, and says the same to all clients of the project. Those that make their pauses
longer by the same rule, the less is left, get equal shares without knowing of one another, and settle where all of them
together use as much as refills:

| left | pause between passes | other passes |
|---|---|---|
| half or more | as without the rule | as without it |
| less | longer by half of the limit divided by what is left, ten times at most | the same |
| less than 10 % | likewise | 60 s apart at least |
| less than 5 %, or nothing | ten times, and then a pass only once there is more, or after an hour | the same |

An hour is the longest pause, unless the usual one is longer. Where a pass that something else than the interval called
for is refused, or leaves a change pending, others follow without that question, ten minutes apart in the end: the last
twentieth is for them.

``RateLimit-Reset`` is not waited for: it is when the bucket is full again, an hour after it was empty, and not when
there is enough.
"""

import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, replace

from desired.model.key import Key, ObjectKind
from desired.plan.notes import Note
from desired.rules import guards as rows
from reconciler.config.config import Config
from reconciler.passes.loop import LONGEST_RETRY_S, LONGEST_S, Pace
from reconciler.result import Report

ENOUGH = 0.5
"""Share of the limit above which pauses are as usual. A cluster that is alone does not come below three quarters: its
call budget is a quarter."""
LONGEST_FACTOR = 10.0
_GAP_BELOW, _GAP_S = 0.1, 60.0
_EVENTS_BELOW = 0.05
_JITTER = 0.2
"""Share by which a longer pause is shortened at random: clients that were refused together come back apart."""
_NOTED_FROM, _NOTED_TO = 3.0, 2.0
"""How many times longer pauses are when that is noted, and how many times they are when that ends."""
_OVER_S = 3600.0
"""How long use is measured over, as soon as so much is known: from pass to pass it is a matter of luck."""
_NEWS_FROM = 1.5
"""By how many times what is left, or what is used, has to be another one to be told anew."""


def pace_factor(left: float) -> float:
    """How many times longer pauses are while ``left``, from 0 to 1, is left of the rate limit: 1 to LONGEST_FACTOR."""
    return LONGEST_FACTOR if left <= ENOUGH / LONGEST_FACTOR else max(1.0, ENOUGH / left)


@dataclass(frozen=True, slots=True)
class _Use:
    """How the rate limit is used, as a note tells it."""

    limit: int
    left: float
    factor: float
    own: float
    """Requests an hour of this process."""
    total: float
    """And of all clients."""

    def is_much_like(self, other: "_Use") -> bool:
        """Whether telling both would be telling the same twice. Both are of one limit: of two nothing is measured."""
        pairs = ((self.left, other.left), (self.own, other.own), (self.total, other.total))
        is_same_row = (self.left < _EVENTS_BELOW) == (other.left < _EVENTS_BELOW)
        return is_same_row and all(max(pair) <= _NEWS_FROM * min(pair) for pair in pairs)

    def note(self) -> Note:
        """In round numbers, as it was so about the time when it was told first."""
        facts = {"limit": self.limit, "own": _rounded(self.own), "total": _rounded(self.total)}
        project = Key(ObjectKind.PROJECT, "cloud")
        if self.left < _EVENTS_BELOW:
            return rows.PACE_EVENTS_ONLY.note(project, **facts)
        return rows.PACE_SLOW.note(project, factor=int(self.factor), **facts)


@dataclass(frozen=True, slots=True)
class _Sight:
    """What was known of the rate limit at one moment."""

    at: float
    """In seconds of a clock that never goes back."""
    sent: int
    """Requests that this process had sent by then."""
    limit: int
    remaining: int
    used: float = 0.0
    """Requests that all clients have sent since the first that was kept, at least."""

    def counted_since(self, before: "_Sight") -> "_Sight":
        """This one, with what all clients have used, given the one right before it. A bucket that is full refills
        nothing: what could not come back was not used."""
        if self.limit != before.limit:
            return self
        refilled = min(self.limit * (self.at - before.at) / 3600.0, self.limit - before.remaining)
        return replace(self, used=before.used + before.remaining - self.remaining + refilled)

    def used_an_hour_since(self, before: "_Sight") -> tuple[float, float] | None:
        """Requests an hour since ``before``, of this process and of all clients; None where that cannot be told."""
        seconds = self.at - before.at
        if seconds <= 0 or self.limit != before.limit:
            return None
        own, total = self.sent - before.sent, self.used - before.used
        return own * 3600.0 / seconds, max(own, total) * 3600.0 / seconds


class Pacing:
    """Pauses after passes, by what a pass costs to read: the requests of the last one that had nothing to do."""

    def __init__(
        self,
        config: Config,
        clock: Callable[[], float] = time.monotonic,
        ask: Callable[[], float | None] = lambda: None,
    ) -> None:
        """``clock`` gives seconds and never goes back; ``ask`` asks Hetzner by one request what share of
        the limit is left, from 0 to 1; None where it does not say."""
        self._config = config
        self._clock = clock
        self._ask = ask
        self._sent = self._reads = 0
        self._seen: deque[_Sight] = deque()
        """Those of the last hour, and the one before them."""
        self._told: _Use | None = None
        """What the note of the last pass had; None where there was none."""

    def after(self, report: Report) -> Pace:
        """The pace after the pass with this report."""
        before, self._sent = self._sent, report.requests.hetzner
        if all(line.outcome is None for line in report.lines):
            self._reads = self._sent - before
        pace = self._of(report.requests.limit or None)
        left = _share(report.requests.remaining, report.requests.limit)
        if not self._config.shares_rate_limit or left is None or left >= ENOUGH:
            return pace
        longer = self._longer(pace, left)
        return replace(
            longer,
            jitter=_JITTER,
            gap_s=_GAP_S if left < _GAP_BELOW else 0.0,
            has_room=self._has_room if left < _EVENTS_BELOW else None,
        )

    def noted(self, report: Report) -> Report:
        """``report`` with a note where pauses are much longer than usual, or only events are followed by a pass.
        Called once a pass."""
        sent, left = report.requests, _share(report.requests.remaining, report.requests.limit)
        if not self._config.shares_rate_limit or left is None:
            return report
        factor = self._longer(self._of(sent.limit), left).factor
        now = _Sight(self._clock(), sent.hetzner, sent.limit or 0, sent.remaining or 0)
        if self._seen:
            now = now.counted_since(self._seen[-1])
        used = now.used_an_hour_since(self._seen[0]) if self._seen else None
        self._keep(now)
        is_long = left < _EVENTS_BELOW or factor >= (_NOTED_FROM if self._told is None else _NOTED_TO)
        if used is None or not is_long:
            self._told = None
            return report
        found = _Use(now.limit, left, factor, *used)
        if self._told is None or not found.is_much_like(self._told):
            self._told = found
        return replace(report, notes=(*report.notes, self._told.note()))

    def _keep(self, now: _Sight) -> None:
        """Keep what is known now, and forget what is older than use is measured over, or of another limit."""
        self._seen.append(now)
        while len(self._seen) > 1 and (self._seen[0].limit != now.limit or now.at - self._seen[1].at >= _OVER_S):
            self._seen.popleft()

    @property
    def reads(self) -> int:
        """Calls to Hetzner that a reading takes."""
        return self._reads

    @property
    def at_first(self) -> Pace:
        """The pace before anything is known."""
        return self._of(None)

    def _of(self, limit: int | None) -> Pace:
        return Pace(self._config.interval_for(limit, self._reads))

    def _longer(self, pace: Pace, left: float) -> Pace:
        """The pace with the interval for that share: an hour at most, unless the usual one is longer. Where that is
        what keeps it from being longer, trouble still has its passes as far apart as elsewhere."""
        interval_s = min(pace.interval_s * pace_factor(left), max(pace.interval_s, LONGEST_S))
        return replace(
            pace,
            interval_s=interval_s,
            factor=interval_s / pace.interval_s,
            longest_retry_s=LONGEST_RETRY_S * pace_factor(left),
        )

    def _has_room(self) -> bool:
        """Whether there is enough for a pass that nothing calls for. What cannot be told is left to the pass."""
        found = self._ask()
        self._sent += 1  # none of what the next pass reads
        return found is None or found >= _EVENTS_BELOW


def _share(remaining: int | None, limit: int | None) -> float | None:
    return None if remaining is None or not limit else remaining / limit


def _rounded(number: float) -> int:
    """To two digits."""
    return int(float(f"{number:.2g}"))
