"""How many requests went out: what cost is asserted on in tests, and shown to people."""

import threading
from collections import Counter
from collections.abc import Mapping


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
