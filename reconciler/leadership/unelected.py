"""The lead without a Lease, of a process that is alone (``--leader-elect=false``)."""

import threading
from collections.abc import Callable

from reconciler.leadership.leadership import Look, Outcome, Standing


class Unelected:
    """Always leads. Implements ``Leadership``."""

    @property
    def last_look(self) -> Look:
        """There is no Lease, and so nobody else's."""
        return Look()

    def wait(self, stop: threading.Event) -> bool:
        """Whether the run goes on."""
        return not stop.is_set()

    def wait_until_leader(self, stop: threading.Event) -> Outcome:
        """LEADING, at once."""
        return Outcome(Standing.STOPPED if stop.is_set() else Standing.LEADING)

    def is_leader(self) -> bool:
        """True."""
        return True

    def may_write(self) -> None:
        """Let every write pass."""

    def when_lost(self, call: Callable[[], object]) -> None:
        """It never is."""

    def close(self, *, release: bool = True) -> None:
        """There is nothing to give back."""
