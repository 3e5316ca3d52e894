"""The running controller in simulated time, without ports: hours of passes in seconds, and when each call went out."""

from bisect import bisect_left
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any

from actuators.http.call_budget import CallBudget
from actuators.http.hetzner import HetznerConnection
from actuators.http.own_writes import OwnWrites
from actuators.http.retry import RetryBudget
from desired.model.settings import Settings
from hcloud_sandbox.hetzner import HetznerOptions, HetznerSimulator
from kubernetes_double import KubernetesSimulator
from reconciler.config.config import load_config
from reconciler.config.options import Command
from reconciler.controller import Passes
from reconciler.leader_election.leadership import NoElection
from reconciler.passes.history import History
from reconciler.passes.loop import Wake, run_loop
from reconciler.passes.pacing import Pacing
from reconciler.telemetry.health import LoopHealth
from reconciler.telemetry.pass_logger import Measured, Meter, PassLogger
from reconciler.triggers.relevance import EventFilter
from reconciler.triggers.running import Triggers
from tests.support.cooperative import Scheduler
from tests.support.direct import DirectSimulation
from tests.support.passes import Run

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

    def __post_init__(self) -> None:
        self.scheduler = Scheduler(1)
        self.clock = clock = self.scheduler.clock
        self.concurrency = concurrency = self.scheduler.concurrency()
        self.hetzner = HetznerSimulator(clock, self.options, world=self.project)
        world = {"nodes": self.nodes, "services": self.services}
        cluster = KubernetesSimulator(clock, world=world)
        self.sim = DirectSimulation(self.hetzner, cluster, clock, stop=concurrency.event(), concurrency=concurrency)
        self.stop, self._has_ended = concurrency.event(), concurrency.event()
        self.calls: list[tuple[float, str, str]] = []
        """When each call to Hetzner went out, its method and path."""
        self.reports: list[tuple[float, Report]] = []
        self.history = History(clock.timestamp, lambda: 0.0)
        self.run = Run(self.sim, self.settings, history=self.history, scheduler=self.scheduler)
        connection = self._connection()
        self.budget = CallBudget(clock.timestamp)
        if self.is_budgeted:
            connection.budget = self.run.budget = self.budget
        connection.observe = self._noted
        connection._retry = replace(connection._retry, budget=RetryBudget())
        self.line = self.sim.hetzner_line

    def pass_hours(self, hours: float) -> None:
        """Let the controller run for so long, and then end."""
        for stop in (self.stop, self.run.stop):
            stop.clear()
        self._wake = Wake(self.stop, clock=self.clock.timestamp, event=self.concurrency.event)
        self.run.is_called = self._wake.is_called
        if self.calls_every_s is not None:
            self.scheduler.start_process("watch", partial(self._watch, self.calls_every_s))
        self.scheduler.start_process("controller", self._run)
        self.scheduler.sleep(hours * HOUR_S)
        for stop in (self.stop, self.run.stop):
            stop.set()
        self._wake.interrupt()
        self.scheduler.wait_until(self._has_ended.is_set)
        self.scheduler.close()

    def at(self, seconds: float, happens: Callable[[], object]) -> None:
        """Let something happen so many seconds after the beginning, which calls for a pass."""

        def happen() -> None:
            happens()
            self._wake.call("something changed")

        self.scheduler.at(seconds, happen)

    def _watch(self, every_s: float) -> None:
        while True:
            self.scheduler.sleep(every_s)
            self._wake.call("a Node changed")

    def _run(self) -> None:
        now = self.clock.timestamp
        passes = Passes(
            run=self.run.converge_alone,
            of_bug=repr,
            pacing=Pacing(load_config(Command.BARE, {}, {"HCLOUD_TOKEN": "t" * 64})),
            meter=Meter(now),
            narrator=PassLogger(clock=now),
            health=LoopHealth(interval_s=60.0, request_timeout_s=1.0, clock=now),
            history=self.history,
            triggers=Triggers(EventFilter(lambda _: None, OwnWrites(), clock=now), ()),
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

        self._has_ended.clear()
        run_loop(run_pass, stop=self.stop, publish=_ignore, wake=self._wake, leader=NoElection())
        self._has_ended.set()

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


def _ignore(_measured: Measured) -> None:
    return
