"""Time that passes only while somebody waits."""

import threading
from collections.abc import Callable
from dataclasses import dataclass, field


@dataclass
class Clock:
    """The time, and what happens meanwhile."""

    now: float = 100.0
    events: dict[float, Callable[[], object]] = field(default_factory=dict)
    """When → what happens then."""

    def __call__(self) -> float:
        """Seconds."""
        return self.now

    def wait(self, event: threading.Event, seconds: float) -> None:
        """Let the time pass until the event is set."""
        end = self.now + seconds
        for moment in sorted(moment for moment in self.events if moment <= end):
            self.now = max(self.now, moment)
            self.events.pop(moment)()
            if event.is_set():
                return
        self.now = end
