"""Clock on which the Lease is counted."""

import sys
import time

if sys.platform == "linux":

    def clock() -> float:
        """Seconds of a clock that is never set, and that go on while the machine sleeps: who wakes up must not believe
        that no time has passed."""
        return time.clock_gettime(time.CLOCK_BOOTTIME)

else:

    def clock() -> float:
        """Seconds of a clock that is never set."""
        return time.monotonic()
