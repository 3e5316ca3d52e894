"""How much trying again one API is worth: a lot while it answers, nothing while it does not.

A loop begins another pass soon anyhow. Without a bound, all that a pass reads side by side is tried five times each
against an API that is gone, pass after pass. gRPC throttles retries for the same reason (gRFC A6).
"""

import threading

MOST_IN_A_ROW = 10
"""Failures of all calls to an API, side by side or one after the other, until none is tried again: twice as many as a
pass begins to read side by side, so that a moment's trouble ends no pass. What is written, or confirmed, more of it at
once, can wait for the next one."""


class RetryBudget:
    """Shared by the calls over one connection. Safe to use from several threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._in_a_row = 0

    def failed(self) -> bool:
        """A call got no answer that tells anything. Whether it may be sent once more."""
        with self._lock:
            self._in_a_row += 1
            return self._in_a_row < MOST_IN_A_ROW

    def answered(self) -> None:
        """The API is there, whatever it said."""
        with self._lock:
            self._in_a_row = 0
