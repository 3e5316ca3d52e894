"""Call budgets for Hetzner's API: this product takes less than three quarters of the hourly allowance, whatever fails.
The rest is left to people and to other tools of the project.

A running controller has a bucket of a quarter of the allowance, which half of the allowance refills in an hour: a burst
of that size passes at once, and no hour has more than both together. The lower third of the bucket is reserved for
reads, because a pass that cannot read is worth nothing. A change begins when there is room above that for all of its
calls, or for a third of the bucket; what it needs beyond them, as trouble costs more, is sent all the same and repaid.
While one waits for room, passes are so far apart that the bucket fills. Runs of ``--once`` do not know of each
other and go by what Hetzner says is left.
"""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from actuators.http.errors import OverBudget

DEFAULT_LIMIT = 3600
"""Requests an hour that Hetzner grants a project unless its headers say otherwise."""
_LEAST_LIMIT = 240
"""Requests an hour below which nothing is shared out: a few passes use them up, and Hetzner's refusals pace these."""
_BURST = 0.245
_REFILL = 0.5
"""Shares of the allowance; what they lack to three quarters is for what is under way when an hour begins."""
_FOR_READING = 1 / 3
"""Share of a full bucket below which changes wait, all but one a pass."""
_ONE_MORE = 20
"""The most calls of that one change: a larger one would leave nothing to read with."""
_SPARED = 0.3
"""Share of the allowance that runs which end by themselves leave: a quarter, and what is under way by then."""
ONE_WRITE = 5
"""Calls that one write takes: a look before it, the write, and asking how it went."""


class CallBudget:
    """Shared by all calls over one connection. Safe to use from several threads."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        """``clock`` gives seconds and never goes back."""
        self._clock = clock
        self._lock = threading.Lock()
        self._limit = DEFAULT_LIMIT
        self._left = self._full
        self._at = clock()
        self._one_more = True
        self._waits_for = 0
        """The most calls of a change, or of a hold, that this pass had no room for."""
        self._set_aside: dict[int, int] = {}
        """Thread that carries out a change → the calls that are paid for and not sent yet."""

    def allow(self, limit: int) -> None:
        """Hetzner grants so many requests an hour. What was spent stays spent, up to all that the new bucket holds, and
        so does what was overdrawn."""
        with self._lock:
            self._refill()
            spent, overdrawn = self._full - self._left, min(0.0, self._left)
            self._limit = max(limit, _LEAST_LIMIT)
            self._left = max(overdrawn, self._full - spent)

    def spend(self) -> None:
        """Pay for a call that is about to be sent. Raises OverBudget when that is not to be; never in a thread that
        carries out a change, which pays what it lacks later."""
        with self._lock:
            self._refill()
            aside = self._set_aside.get(threading.get_ident())
            if aside:
                self._set_aside[threading.get_ident()] = aside - 1
                return
            if aside is None and self._left < 1:
                raise OverBudget(_WHY, retry_after_s=self._until(1))
            self._left -= 1

    def begin_pass(self) -> None:
        """A pass begins: one change of it may be sent however little is left."""
        with self._lock:
            self._one_more, self._waits_for = True, 0

    @contextmanager
    def begin_change(self, calls: int) -> Iterator[None]:
        """Set ``calls`` aside, or a third of the bucket where it takes more, for the one change that this thread makes
        inside the block; what is left of them comes back. Raises OverBudget, before anything is sent, when that has
        to wait."""
        with self._lock:
            self._refill()
            calls = min(calls, int(self._reserve))
            is_scarce = self._left < self._needed(calls)
            if is_scarce and not (self._one_more and calls <= min(self._left, _ONE_MORE)):
                self._waits_for = max(self._waits_for, calls)
                raise OverBudget(_WHY, retry_after_s=self._until(self._needed(calls)))
            self._one_more = self._one_more and not is_scarce
            self._left -= calls
            self._set_aside[threading.get_ident()] = calls
        try:
            yield
        finally:
            with self._lock:
                self._refill()
                self._left += self._set_aside.pop(threading.get_ident())

    def has_room(self, calls: int, promised: int = 0) -> bool:
        """Whether changes that take so many calls, or a third of the bucket, leave enough for reading, beside those
        that were ``promised`` room. What has none is waited for."""
        with self._lock:
            self._refill()
            calls = min(calls, int(self._reserve))
            if self._left >= self._reserve + promised + calls:
                return True
            self._waits_for = max(self._waits_for, calls + ONE_WRITE)
            return False

    def left(self) -> float:
        """Calls that could be sent at once."""
        with self._lock:
            self._refill()
            return max(0.0, self._left)

    def gap_s(self, reads: int) -> float:
        """Seconds from the start of a pass that reads so much to the next one, at least: 0 while there is enough."""
        with self._lock:
            self._refill()
            if self._left >= self._needed(max(self._waits_for, ONE_WRITE)):
                return 0.0
            is_filling = self._waits_for > ONE_WRITE  # what a pass takes flows in twice then
            cost = (reads + ONE_WRITE) * (1 + is_filling)
            return max(cost / self._per_s, self._until(min(reads + ONE_WRITE, self._full)))

    @property
    def _reserve(self) -> float:
        return self._full * _FOR_READING

    def _needed(self, calls: int) -> float:
        """What has to be left so that a change of so many calls begins: the first write of any may reach below."""
        return self._reserve + calls - ONE_WRITE

    @property
    def _full(self) -> float:
        return self._limit * _BURST

    @property
    def _per_s(self) -> float:
        return self._limit * _REFILL / 3600.0

    def _until(self, calls: float) -> float:
        """Seconds until so many calls are left."""
        return max(0.0, calls - self._left) / self._per_s

    def _refill(self) -> None:
        now = self._clock()
        self._left = min(self._full, self._left + max(0.0, now - self._at) * self._per_s)
        self._at = now


class SharedAllowance:
    """Shared by all runs that end by themselves, as under cron, and by all other users of the project."""

    def __init__(self, known: Callable[[], tuple[int, int] | None]) -> None:
        """``known`` gives how many requests Hetzner grants an hour and how many are left; None before it has said."""
        self._known = known

    @contextmanager
    def begin_change(self, _calls: int) -> Iterator[None]:
        """Carry out a change inside the block. Raises OverBudget, before anything is sent, when that has to wait."""
        wait_s = self._wait_s()
        if wait_s > 0:
            raise OverBudget(_WHY_SHARED, retry_after_s=wait_s)
        yield

    def has_room(self, _calls: int, _promised: int = 0) -> bool:
        """Whether changes may begin."""
        return self._wait_s() <= 0

    def _wait_s(self) -> float:
        limit, left = self._known() or (0, 0)
        return (limit * _SPARED - left) * 3600.0 / limit if limit >= _LEAST_LIMIT else 0.0


_WHY_SHARED = "the request was not sent: what is left of Hetzner's hourly allowance is kept for other clients"
_WHY = (
    "the request was not sent: this controller has used its share of Hetzner's hourly allowance; it goes on as that"
    " refills, or ask Hetzner for a higher limit"
)
