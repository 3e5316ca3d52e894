"""How many requests went out: what cost is asserted on in tests, and shown to people."""

import threading
from collections import Counter
from collections.abc import Callable, Mapping
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

Ended = Callable[[int | None], None]
"""Called once with the HTTP status of the answer; None when none came."""
Observe = Callable[[str, str], Ended]
"""Called with method and path just before a request goes out, each try anew; returns what is to hear of its end. Called
from several threads. The path is as it is sent: with ids, names and query."""


def ignore(_method: str, _path: str) -> Ended:
    """Watch nothing."""
    return _forget


def _forget(_status: int | None) -> None:
    return


def observed(ended: Ended, send: Callable[[], T], status_of: Callable[[T], int]) -> T:
    """What ``send`` returns. ``ended`` is told the status of that, or that there is none, whatever happens."""
    status: int | None = None
    try:
        answer = send()
        status = status_of(answer)
        return answer
    finally:
        ended(status)
