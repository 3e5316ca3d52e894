"""What makes a pass come to its end early, and the next one begin at once."""

import threading
import time
from collections.abc import Callable


class Wake:
    """Called by whoever learns of something that the next pass should see, and by the clock."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._called = threading.Event()
        self._due_at: float | None = None

    def begin(self, interval_s: float | None) -> None:
        """A pass has begun, and sees everything that it was called for. The next one is due after ``interval_s``
        seconds; None: nobody knows."""
        self._called.clear()
        self._due_at = None if interval_s is None else self._clock() + interval_s

    def call(self) -> None:
        """Something has come up."""
        self._called.set()

    def is_called(self) -> bool:
        """Whether another pass should begin: somebody called, or it is due."""
        return self._called.is_set() or (self._due_at is not None and self._clock() >= self._due_at)
