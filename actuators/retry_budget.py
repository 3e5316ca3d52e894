"""How much trying again one API is worth: a lot while most calls go through, nothing while none does.

A loop begins another pass soon anyhow. Without a bound, all that a pass reads side by side is tried five times each
against an API that is gone, pass after pass. The idea is gRPC's retry throttling (gRFC A6).
"""

import threading

_MOST = 20
_LEAST = 10
"""As many failures in a row as leave room for one more try of all that a pass reads side by side, and then no more."""


class RetryBudget:
    """Shared by all calls to one API. Safe to use from several threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._left = _MOST

    def failed(self) -> None:
        """A call got no answer that is one."""
        with self._lock:
            self._left = max(0, self._left - 1)

    def went_through(self) -> None:
        """A call was answered."""
        with self._lock:
            self._left = min(_MOST, self._left + 1)

    @property
    def allows_another_try(self) -> bool:
        """Whether a call that failed may be sent once more."""
        with self._lock:
            return self._left > _LEAST
