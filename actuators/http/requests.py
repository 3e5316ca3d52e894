"""Counters and observers of requests: their number is asserted in tests, reported, and exported as metrics.

``RequestCount`` counts by method. ``Observe`` hears of each request before it is sent and, by ``RequestEnded``, of its
status.
"""

import threading
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import TypeVar


class RequestCount:
    """Requests sent, retries included, by method. Safe to use from any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._sent: Counter[str] = Counter()

    def add(self, method: str) -> None:
        """Count one request just before it is sent."""
        with self._lock:
            self._sent[method] += 1

    def by_method(self) -> Mapping[str, int]:
        """Method → number of requests so far."""
        with self._lock:
            return dict(self._sent)

    @property
    def total(self) -> int:
        """All requests so far."""
        with self._lock:
            return self._sent.total()


T = TypeVar("T")

RequestEnded = Callable[[int | None], None]
"""Called once with the HTTP status of the answer; None when none came."""
Observe = Callable[[str, str], RequestEnded]
"""Called with method and path just before a request goes out, each try anew; returns what is to hear of its end. Called
from several threads. The path is as it is sent: with ids, names and query."""


def ignore(_method: str, _path: str) -> RequestEnded:
    """An observer that ignores everything."""
    return _forget


def _forget(_status: int | None) -> None:
    return


def observed(ended: RequestEnded, send: Callable[[], T], status_of: Callable[[T], int]) -> T:
    """Return what ``send`` returns. ``ended`` is told its status, or None if there is none, whatever happens."""
    status: int | None = None
    try:
        answer = send()
        status = status_of(answer)
        return answer
    finally:
        ended(status)


_current: ContextVar["tuple[RequestTrace, ...]"] = ContextVar("traces", default=())


@dataclass(slots=True)
class RequestTrace:
    """The ids of one change, in the order of its calls. Of a change that does not call Hetzner both are empty."""

    actions: list[int] = field(default_factory=list)
    correlations: list[str] = field(default_factory=list)
    """Of the answers to its writes, and to what was refused of its reads (header ``X-Correlation-Id``)."""


@contextmanager
def tracing() -> Iterator[RequestTrace]:
    """Collects the ids of what this thread does inside the block, as blocks around it do."""
    trace = RequestTrace()
    before = _current.set((*_current.get(), trace))
    try:
        yield trace
    finally:
        _current.reset(before)


def note_action(action_id: int) -> None:
    """An action began. Without effect where nothing collects."""
    for trace in _current.get():
        if action_id not in trace.actions:
            trace.actions.append(action_id)


def note_correlation(correlation_id: str | None) -> None:
    """An answer came. Without effect where nothing collects, and when the answer has no such id."""
    if correlation_id:
        for trace in _current.get():
            trace.correlations.append(correlation_id)
