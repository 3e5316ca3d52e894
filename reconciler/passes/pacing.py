"""Pacing: the pauses between the passes of a loop, by what a pass costs to read."""

from reconciler.config.config import Config
from reconciler.passes.loop import Pace
from reconciler.result import Report


class Pacing:
    """Pauses after passes, by what a pass costs to read: the requests of the last one that had nothing to do."""

    def __init__(self, config: Config) -> None:
        self._config = config
        self._sent = self._reads = 0

    def after(self, report: Report) -> Pace:
        """The pace after the pass with this report."""
        before, self._sent = self._sent, report.requests.hetzner
        if all(line.outcome is None for line in report.lines):
            self._reads = self._sent - before
        return self._of(report.requests.limit or None)

    @property
    def reads(self) -> int:
        """Calls to Hetzner that a reading takes."""
        return self._reads

    @property
    def at_first(self) -> Pace:
        """The pace before anything is known."""
        return self._of(None)

    def _of(self, limit: int | None) -> Pace:
        return Pace(self._config.interval_for(limit, self._reads))
