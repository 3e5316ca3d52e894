"""Simulated time that passes share with the lanes that they leave: it goes on only while the pass waits and all lanes
do, and things happen in it."""

import threading
from collections.abc import Callable, Mapping
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING

from actuators.apply import Actuator
from actuators.concurrency import Concurrency
from actuators.lanes import Lane, UnderWay
from desired.model.snapshot import Snapshot
from desired.plan.change import Change
from reconciler.sandbox.clock import SimulatedClock

if TYPE_CHECKING:
    from actuators.http.hetzner_actions import Actions

_LOOK_S = 0.2
_REAL_S = 0.0005


class SharedTime:
    """The time, who sleeps until when, and what happens then."""

    def __init__(self, clock: SimulatedClock) -> None:
        self.clock = clock
        self.under_way = UnderWay(Concurrency(clock=clock.timestamp), self.take)
        self.actions: Actions | None = None
        """Those that lanes wait for."""
        self._began = clock.timestamp()
        self._events: list[tuple[float, Callable[[], object]]] = []
        self._changed = threading.Condition()
        self._asleep: list[float] = []
        self._polls = 0
        self._running = 0
        self._is_over = False

    @property
    def now(self) -> float:
        """Seconds since the beginning."""
        return self.clock.timestamp() - self._began

    def at(self, seconds: float, happens: Callable[[], object]) -> None:
        """Let something happen so many seconds after the beginning."""
        self._events = sorted([*self._events, (seconds, happens)], key=lambda event: event[0])

    def attends(self, actuators: Mapping[str, Actuator]) -> Mapping[str, Actuator]:
        """The same actuators, of which it is known how many are at work."""
        return {kind: self._attended(actuator) for kind, actuator in actuators.items()}

    def sleep_of_poller(self, seconds: float) -> None:
        """Sleep as the one that asks for actions."""
        self._sleep(seconds, polls=1)

    def sleep(self, seconds: float) -> None:
        """Sleep between two tries."""
        self._sleep(seconds, polls=0)

    def take(self, ended: "SimpleQueue[Lane]") -> Lane | None:
        """Wait a moment for a lane to end, as a pass does."""
        until = self.now + _LOOK_S
        while True:
            if self._is_over:
                return ended.get(timeout=5.0)
            self._await_quiet(ended)
            try:
                return ended.get_nowait()
            except Empty:
                if self.now >= until:
                    return None
                self.advance_to(min([until, *self._asleep]))

    def end(self) -> None:
        """Wake whatever sleeps, for good."""
        with self._changed:
            self._is_over = True
            self._changed.notify_all()

    def rest(self, seconds: float) -> None:
        """Let the time pass between two passes, while lanes go on."""
        until = self.now + seconds
        while self.now < until:
            self._await_quiet(SimpleQueue())
            self.advance_to(min([until, *self._asleep]))

    def advance_to(self, moment: float) -> None:
        """Let the time pass until then, with all that happens meanwhile."""
        while self._events and self._events[0][0] <= moment:
            at, happens = self._events.pop(0)
            self._move_to(at)
            happens()
        self._move_to(moment)

    def _move_to(self, moment: float) -> None:
        with self._changed:
            self.clock.advance(max(0.0, moment - self.now))
            self._changed.notify_all()

    def _await_quiet(self, ended: "SimpleQueue[Lane]") -> None:
        for _ in range(10_000):
            with self._changed:
                waiting = self.actions.in_flight if self.actions is not None else 0
                is_polled = not waiting or self._polls
                due = any(until <= self.now for until in self._asleep)
                if not ended.empty() or (is_polled and not due and self._running <= waiting + self._tries):
                    return
            threading.Event().wait(_REAL_S)
        raise AssertionError("a lane neither sleeps nor ends")

    @property
    def _tries(self) -> int:
        return len(self._asleep) - self._polls

    def _sleep(self, seconds: float, polls: int) -> None:
        with self._changed:
            until = self.now + seconds
            self._asleep.append(until)
            self._polls += polls
            self._changed.wait_for(lambda: self._is_over or self.now >= until)
            self._polls -= polls
            self._asleep.remove(until)

    def _attended(self, actuator: Actuator) -> Actuator:
        def carry_out(change: Change, snapshot: Snapshot) -> None:
            with self._changed:
                self._running += 1
            try:
                actuator(change, snapshot)
            finally:
                with self._changed:
                    self._running -= 1

        return carry_out
