"""The running controller in simulated time, without ports: hours of passes in seconds, and when each call went out."""

import threading
from bisect import bisect_left
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from actuators.http.call_budget import CallBudget
from actuators.http.hetzner import HetznerConnection
from actuators.http.own_writes import OwnWrites
from actuators.http.retry import Retry, RetryBudget
from desired.model.settings import Settings
from reconciler.config.config import load_config
from reconciler.config.flags import Command
from reconciler.controller import Pacing, Passes
from reconciler.leader_election.leadership import NoElection
from reconciler.passes.history import History
from reconciler.passes.loop import Wake, run_loop
from reconciler.sandbox.clock import SimulatedClock
from reconciler.sandbox.hetzner import HetznerOptions, HetznerSimulator
from reconciler.sandbox.kubernetes import KubernetesSimulator
from reconciler.telemetry.health import LoopHealth
from reconciler.telemetry.pass_logger import Measured, Meter
from reconciler.triggers.relevance import EventFilter
from reconciler.triggers.running import Triggers
from tests.support.direct import DirectSimulation
from tests.support.passes import Run
from tests.support.shared_time import SharedTime
from tests.support.simulators import START

if TYPE_CHECKING:
    from reconciler.result import Report

HOUR_S = 3600.0


@dataclass
class SimulatedLoop:
    """A loop over a world: ``nodes`` and ``services`` as the API server has them, ``project`` as Hetzner does."""

    nodes: Sequence[Mapping[str, Any]]
    services: Sequence[Mapping[str, Any]]
    project: Mapping[str, Any]
    settings: Settings
    options: HetznerOptions = field(default_factory=lambda: HetznerOptions(action_s=0.0))
    calls_every_s: float | None = None
    """How often a watch calls for a pass; None: never."""
    is_budgeted: bool = True
    takes_time: bool = False
    """Whether actions and tries take simulated time, in which passes leave them."""

    def __post_init__(self) -> None:
        self.clock = SimulatedClock(source=START.timestamp)
        self.hetzner = HetznerSimulator(self.clock, self.options, world=self.project)
        world = {"nodes": self.nodes, "services": self.services}
        self.sim = DirectSimulation(self.hetzner, KubernetesSimulator(self.clock, world=world), self.clock)
        self.stop: threading.Event = _Pause(self)
        self.calls: list[tuple[float, str, str]] = []
        """When each call to Hetzner went out, its method and path."""
        self.reports: list[tuple[float, Report]] = []
        now = self.clock.timestamp
        self.history = History(now, lambda: 0.0)
        self.run = Run(self.sim, self.settings, history=self.history)
        connection = self._connection()
        self.budget = CallBudget(now)
        if self.is_budgeted:
            connection.budget = self.run.budget = self.budget
        connection.observe = self._noted
        connection._retry = Retry(self.sim.stop, budget=RetryBudget())
        self.time = SharedTime(self.clock)
        if self.takes_time:
            self.run.time = self.time
            connection._retry = Retry(self.sim.stop, budget=RetryBudget(), sleep=self.time.sleep)
        self.line = self.sim.hetzner_line

    def pass_hours(self, hours: float) -> None:
        """Let the controller run for so long."""
        now = self.clock.timestamp
        self._ends_at = now() + hours * HOUR_S
        self._called_at = now()
        self.stop.clear()
        self._wake = Wake(self.stop, clock=now, event=lambda: _Pause(self))
        self.run.is_called = self._wake.is_called
        if self.takes_time:
            self.time.at(hours * HOUR_S, self._end)
        passes = Passes(
            run=self.run.converge_alone,
            pacing=Pacing(load_config(Command.BARE, {}, {"HCLOUD_TOKEN": "t" * 64})),
            meter=Meter(now),
            health=LoopHealth(interval_s=60.0, request_timeout_s=1.0, clock=now),
            history=self.history,
            triggers=Triggers(EventFilter(lambda _: None, OwnWrites(), clock=now), {}),
            begins_to_watch=lambda: None,
            metrics=None,
            secrets=(),
            budget=self.budget,
        )

        def run_pass(why: str) -> Any:
            began = now()
            measured, pace = passes(why)
            self.reports.append((began, measured.report))
            return measured, replace(pace, draw=lambda: 0.0)

        run_loop(run_pass, stop=self.stop, publish=_ignore, wake=self._wake, leader=NoElection())

    def at(self, seconds: float, happens: Callable[[], object]) -> None:
        """Let something happen so many seconds after the beginning, which calls for a pass."""

        def happen() -> None:
            happens()
            self._wake.call("something changed")

        self.time.at(seconds, happen)

    def busiest_hour(self) -> int:
        """The most calls that any hour had."""
        moments = [moment for moment, _, _ in self.calls]
        return max(bisect_left(moments, moment + HOUR_S) - at for at, moment in enumerate(moments))

    def sent(self, method: str, path: str = "") -> list[float]:
        """When calls with this method, and with this end of their path, went out."""
        return [moment for moment, how, what in self.calls if how == method and what.partition("?")[0].endswith(path)]

    def _connection(self) -> HetznerConnection:
        return self.run.readers.hetzner._connection

    def _noted(self, method: str, path: str) -> Callable[[int | None], None]:
        self.calls.append((self.clock.timestamp(), method, path))
        return lambda _status: None

    def _end(self) -> None:
        self.run.stop.set()
        self.stop.set()
        self._wake.interrupt()
        self.time.end()

    def _pass_until(self, moment: float, event: threading.Event) -> None:
        left_s = moment - self.clock.timestamp()
        while left_s > 0 and not event.is_set():
            step_s = min(left_s, 0.5) if self.takes_time else left_s
            self.time.rest(step_s)
            left_s -= step_s

    def wait(self, event: threading.Event, seconds: float) -> None:
        """Let the time pass until somebody calls or the end has come."""
        ends_at = self.clock.timestamp() + seconds
        while self.clock.timestamp() < ends_at:
            next_call = ends_at if self.calls_every_s is None else self._called_at + self.calls_every_s
            self._pass_until(min(next_call, ends_at, self._ends_at), event)
            if self.clock.timestamp() >= self._ends_at:
                self.stop.set()
                self._wake.interrupt()
                return
            if self.calls_every_s is not None and self.clock.timestamp() >= next_call:
                self._called_at = next_call
                self._wake.call("a Node changed")
            if event.is_set():
                return


class _Pause(threading.Event):
    def __init__(self, loop: SimulatedLoop) -> None:
        super().__init__()
        self._loop = loop

    def wait(self, timeout: float | None = None) -> bool:
        self._loop.wait(self, timeout or 0.0)
        return self.is_set()


def _ignore(_measured: Measured) -> None:
    return
