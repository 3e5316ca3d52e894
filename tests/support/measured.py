"""How long things take that are waited for: told at the end of a run, never asserted."""

import time
from collections.abc import Callable, Mapping

from tests.support.stage import wait_for

MEASURED = "measured"
"""The property of a test's report that has its figures."""
DEADLINE_S = 240.0
"""How long anything may take, on a machine that is busy with something else."""


class Stopwatch:
    """The times of one test, each from the last ``start``."""

    def __init__(self, record: Callable[[str, object], None]) -> None:
        self._record = record
        self._began = time.monotonic()

    def start(self) -> None:
        self._began = time.monotonic()

    def wait_for(
        self, events: Mapping[str, Callable[[], bool]], within_s: float = DEADLINE_S, *, every_s: float = 0.05
    ) -> None:
        """Return as soon as each of these has come about once, in whatever order; they are looked at so often. Raises
        AssertionError with those that did not within the deadline."""
        took: dict[str, float] = {}

        def all_came() -> bool:
            for name in events.keys() - took.keys():
                if events[name]():
                    took[name] = time.monotonic() - self._began
            return len(took) == len(events)

        try:
            wait_for(all_came, ", ".join(events), every_s, within_s=within_s)
        except AssertionError as late:
            missing = ", ".join(name for name in events if name not in took)
            raise AssertionError(f"{late}: still without {missing}") from None
        self.note(", ".join(f"{name} {took[name]:.1f} s" for name in sorted(took, key=took.__getitem__)))

    def note(self, figures: str) -> None:
        """Tell of something else that was measured."""
        self._record(MEASURED, figures)
