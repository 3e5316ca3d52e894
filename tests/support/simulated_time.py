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
    waits: list[float] = field(default_factory=list)
    """How long somebody would have waited, each time."""

    def __call__(self) -> float:
        return self.now

    def event(self) -> threading.Event:
        """An event on whose waits time passes."""
        return _Event(self)

    def pass_time(self, seconds: float, is_over: Callable[[], bool] = lambda: False) -> None:
        end = self.now + seconds
        for moment in sorted(moment for moment in self.events if moment <= end):
            self.now = max(self.now, moment)
            self.events.pop(moment)()
            if is_over():
                return
        self.now = end


class _Event(threading.Event):
    def __init__(self, clock: Clock) -> None:
        super().__init__()
        self._clock = clock

    def wait(self, timeout: float | None = None) -> bool:
        assert timeout is not None, "waits for ever"
        self._clock.waits.append(round(timeout, 3))
        self._clock.pass_time(timeout, self.is_set)
        return self.is_set()
