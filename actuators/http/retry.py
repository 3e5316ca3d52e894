"""Retries of API calls: ``Retry`` repeats one call with ``Patience``, within the ``RetryBudget`` of its connection.

This is the only retry layer; those of both client libraries are bypassed.

| Error | Tried again |
|---|---|
| Throttled, Busy | always, as nothing was done: after the time for one call of the allowance, doubled each time |
| OverBudget | never: this process has used up its own call budget |
| Transient | if the call is repeatable and the retry budget allows it, with exponential back-off and full jitter |
| other errors | never |

The retry budget stops retries while an API is unreachable: a loop begins another pass soon anyway, and without a bound
every read of every pass would be tried five times. gRPC throttles retries for the same reason (gRFC A6).
"""

import logging
import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from tenacity import RetryCallState, Retrying, retry_if_exception
from tenacity.wait import wait_base, wait_exponential, wait_random, wait_random_exponential

from actuators.concurrency import THREADS, Concurrency
from actuators.http.errors import Busy, OverBudget, Stopped, Throttled, Transient

MOST_IN_A_ROW = 10
"""Consecutive failures of all calls to an API after which none is tried again: twice as many as a pass begins to read
in parallel, so that a moment's trouble ends no pass. Writes and confirmations, which are more at once, can wait for the
next pass."""


class RetryBudget:
    """A budget that the calls over one connection share. Safe to use from several threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._in_a_row = 0

    def failed(self) -> bool:
        """Count a call that got no answer. Returns whether it may be sent once more."""
        with self._lock:
            self._in_a_row += 1
            return self._in_a_row < MOST_IN_A_ROW

    def answered(self) -> None:
        """Count a call that the API answered, with whatever status."""
        with self._lock:
            self._in_a_row = 0


T = TypeVar("T")

_log = logging.getLogger("hcloud-reconciler.retry")


@dataclass(frozen=True, slots=True)
class Patience:
    """The limits of one call."""

    attempts: int = 5
    """Tries in all, the first included."""
    deadline_s: float = 30.0
    """No further try begins when it could only begin later than this."""
    first_wait_s: float = 0.25
    """Upper end of the first wait; the following ones double. The wait is drawn evenly from zero to that."""
    longest_wait_s: float = 8.0


PATIENT = Patience()
NO_PATIENCE = Patience(attempts=1)
"""For a call that must not be repeated, or is not worth it."""

_BUSY_FIRST_S = 0.5
"""The first wait for a busy object. A change of a load balancer or network takes one or two seconds, attaching one to
the other up to ten: five tries span about nine."""


class _HintedWait(wait_base):
    """Waits as long as the server asked for, doubled with each refusal; else exponential with full jitter.

    For a busy object the wait itself doubles, and only a part that is added to it is random.
    """

    def __init__(self, patience: Patience) -> None:
        self._unhinted = wait_random_exponential(multiplier=patience.first_wait_s, max=patience.longest_wait_s)
        self._busy = wait_exponential(_BUSY_FIRST_S, patience.longest_wait_s) + wait_random(0.0, _BUSY_FIRST_S)

    def __call__(self, retry_state: RetryCallState) -> float:
        error = retry_state.outcome.exception() if retry_state.outcome else None
        if isinstance(error, Throttled):
            return error.retry_after_s * 2.0 ** (retry_state.attempt_number - 1)
        if isinstance(error, Busy):
            return float(self._busy(retry_state))
        return float(self._unhinted(retry_state))


@dataclass(frozen=True, slots=True)
class Retry:
    """Repeats calls with ``patience`` until ``stop`` is set."""

    stop: threading.Event
    patience: Patience = PATIENT
    budget: RetryBudget | None = None
    """The budget for tries against an API that gives no answer; None sets no limit."""
    sleep: Callable[[float], object] | None = None
    """How to wait; None waits on the stop event. Tests pass their own."""
    concurrency: Concurrency = THREADS
    """Of the connection: what its callers wait with."""

    def wait(self, seconds: float) -> None:
        """Wait, or less when the stop event is set."""
        (self.sleep or self.stop.wait)(seconds)

    def call(self, attempt: Callable[[float], T], *, timeout_s: float, repeatable: bool = True) -> T:
        """Return the result of ``attempt``, which is given the seconds that it may take at most.

        Throttled and Busy are always tried again, since nothing was done, except for OverBudget. Transient is tried
        again only when the call is ``repeatable`` and the budget allows it, and never when it is Stopped. The last
        error is raised as it is. ``timeout_s`` is cut to what is left until the deadline.
        """
        clock = self.concurrency.clock
        started = clock()
        patience = self.patience
        last: list[BaseException] = []

        def worth_repeating(error: BaseException) -> bool:
            last[:] = [error]
            if isinstance(error, OverBudget) or self.stop.is_set():
                return False
            if isinstance(error, Throttled | Busy):
                self._answered()
                return True
            if isinstance(error, Stopped):
                return False
            if not isinstance(error, Transient):
                self._answered()
                return False
            may_pass = self.budget is None or self.budget.failed()
            return repeatable and may_pass

        def is_over(state: RetryCallState) -> bool:
            ends_at = clock() + state.upcoming_sleep
            return state.attempt_number >= patience.attempts or ends_at - started >= patience.deadline_s

        def pause(seconds: float) -> None:
            _log.info("trying again in %.1f s: %s", seconds, last[0])
            self.wait(seconds)
            if self.stop.is_set():  # tenacity would try once more, and that try may hang
                raise last[0]

        retrying = Retrying(
            retry=retry_if_exception(worth_repeating),
            wait=_HintedWait(patience),
            stop=is_over,
            sleep=pause,
            reraise=True,
        )

        # tenacity's own state is a reference cycle: a page in it would live until the next full collection.
        result: list[T] = []

        def bounded() -> None:
            left_s = patience.deadline_s - (clock() - started)
            result.append(attempt(max(0.1, min(timeout_s, left_s))))

        retrying(bounded)
        self._answered()
        return result.pop()

    def _answered(self) -> None:
        if self.budget is not None:
            self.budget.answered()
