"""Bounds of an API's clock, from the ``Date`` headers of its answers and this process's monotonic clock."""

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC
from email.utils import parsedate_to_datetime

_RESOLUTION_S = 1.0
"""A ``Date`` has whole seconds: it is true until the next one begins."""


@dataclass(frozen=True, slots=True)
class ClockBounds:
    """Bounds of what a clock showed when the monotonic one stood at zero, in seconds since the epoch: at the earliest
    and at the latest. Of one that jumped between two answers the earliest is later than the latest."""

    earliest: float
    latest: float

    def ahead_of_s(self, other: "ClockBounds") -> float:
        """Seconds that this clock is ahead of the other for certain, negative when it is behind; 0 when they may be the
        same. Of a clock that jumped it is the answer that is farthest off."""
        ahead, behind = self.earliest - other.latest, other.earliest - self.latest
        return max(0.0, ahead) if ahead >= behind else -max(0.0, behind)

    @property
    def jump_s(self) -> float:
        """Seconds that answers of this clock were apart for certain."""
        return max(0.0, self.earliest - self.latest)


class Dates:
    """The times in the answers of one API since the last ``begin``. Safe to use from several threads."""

    def __init__(self, steady: Callable[[], float] = time.monotonic) -> None:
        self._lock = threading.Lock()
        self._steady = steady
        self._since_begun: ClockBounds | None = None
        self._last: ClockBounds | None = None

    @property
    def now(self) -> float:
        """The steady clock: when a request goes out."""
        return self._steady()

    def begin(self) -> None:
        """Forget all but the last answer, which stands until there is another."""
        with self._lock:
            self._since_begun = None

    def note(self, date: str | None, asked_at: float) -> None:
        """An answer to what was asked at ``asked_at`` has just arrived with this header; no time says nothing."""
        answered_at = self._steady()
        try:
            shown = parsedate_to_datetime(date or "").astimezone(UTC).timestamp()
        except (ValueError, TypeError, OverflowError):
            return
        found = ClockBounds(shown - answered_at, shown + _RESOLUTION_S - asked_at)
        with self._lock:
            seen = self._since_begun or found
            self._since_begun = ClockBounds(max(seen.earliest, found.earliest), min(seen.latest, found.latest))
            self._last = found

    @property
    def seen(self) -> ClockBounds | None:
        """The bounds of the API's clock; None before its first answer."""
        with self._lock:
            return self._since_begun or self._last
