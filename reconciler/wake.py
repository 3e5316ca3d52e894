"""Wake-up of the loop: decides when the next pass begins. At its time, earlier when something calls for it, and at once
when the run is to end."""

import threading
import time
from collections.abc import Callable

GAP_S = 5.0
"""Minimum time from the start of a pass to that of the next one that is called for, or that begins because something
has waited for long enough: however many calls and due times there are, they cost one pass in each gap. What was
promised sooner keeps no gap: the interval, another try after trouble, the rest of a preempted series."""


def _wait(event: threading.Event, seconds: float) -> object:
    return event.wait(seconds)


class Wake:
    """Wake-up of the loop. Called by whatever learns of something that the next pass should see, and by the clock."""

    def __init__(
        self,
        stop: threading.Event,
        *,
        gap_s: float = GAP_S,
        clock: Callable[[], float] = time.monotonic,
        wait: Callable[[threading.Event, float], object] = _wait,
    ) -> None:
        """``wait`` waits for an event, for so many seconds at most. Whoever sets ``stop`` has to end a pause with
        ``interrupt``."""
        self._stop = stop
        self._gap_s = self._least_gap_s = gap_s
        self._clock = clock
        self._wait = wait
        self._rung = threading.Event()
        self._ringing = threading.Lock()
        self._reasons: list[str] = []
        self._began_at = clock() - gap_s
        self._due_at: float | None = None

    def keep_gap(self, seconds: float) -> None:
        """Keep a gap of so many seconds after the start of the last pass, or the usual one when that is longer."""
        self._gap_s = max(self._least_gap_s, seconds)

    def begin(self, interval_s: float | None) -> str:
        """A pass has begun, and sees everything that it was called for. The next one is due after ``interval_s``
        seconds; None: nobody knows.

        Returns what was the first to call for it; "" when nobody did.
        """
        with self._ringing:
            self._rung.clear()
            reasons, self._reasons = self._reasons, []
        self._began_at = self._clock()
        self._due_at = None if interval_s is None else self._began_at + interval_s
        return reasons[0] if reasons else ""

    def call(self, why: str) -> None:
        """Something has come up; ``why`` says what, in a few words for the log."""
        with self._ringing:
            if not self._reasons:
                self._reasons.append(why)
            self._rung.set()

    def interrupt(self) -> None:
        """End a pause, if there is one: the run has come to its end."""
        self._rung.set()

    def is_called(self) -> bool:
        """Whether another pass should begin: somebody called and the gap is over, or it is due."""
        now = self._clock()
        is_late = self._due_at is not None and now >= self._due_at
        return is_late or (bool(self._reasons) and now >= self._began_at + self._gap_s)

    @property
    def gap_left_s(self) -> float:
        """What is left of the gap after the start of the last pass, in seconds."""
        return max(0.0, self._began_at + self._gap_s - self._clock())

    def pause(self, seconds: float) -> None:
        """Wait for so long, and no longer than until the run ends or a pass is called for; a call does not shorten what
        is left of the gap after the last one. ``seconds`` are the caller's to choose: what of them keeps the gap is
        for ``Pace`` to say."""
        ends_at = self._clock() + seconds
        while not self._stop.is_set():
            now = self._clock()
            called_at = max(now, self._began_at + self._gap_s) if self._reasons else ends_at
            left_s = min(ends_at, called_at) - now
            if left_s <= 0:
                return
            self._wait(self._stop if self._reasons else self._rung, left_s)
