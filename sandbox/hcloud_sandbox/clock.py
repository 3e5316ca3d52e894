"""Clock that all simulators of a sandbox share."""

import time
from collections.abc import Callable
from datetime import MAXYEAR, UTC, datetime


class SimulatedClock:
    """Real time plus everything that was skipped with ``advance``.

    ``source`` returns seconds since the epoch; a test that wants time to stand still passes its own.
    """

    def __init__(self, source: Callable[[], float] = time.time) -> None:
        self._source = source
        self._skipped_s = 0.0

    def timestamp(self) -> float:
        """Seconds since the epoch, as the simulated world has it."""
        return self._source() + self._skipped_s

    def now(self) -> datetime:
        """The same instant as an aware datetime in UTC."""
        return datetime.fromtimestamp(self.timestamp(), UTC)

    def advance(self, seconds: float) -> None:
        """Let ``seconds`` pass at once. Raises ValueError for a negative number, as time does not go back, and for one
        that leads to no date."""
        if seconds < 0:
            raise ValueError(f"cannot advance by {seconds} s: time does not go back")
        try:
            datetime.fromtimestamp(self.timestamp() + seconds, UTC)
        except (ValueError, OverflowError, OSError) as error:
            raise ValueError(f"cannot advance by {seconds} s: dates end with the year {MAXYEAR}") from error
        self._skipped_s += seconds
