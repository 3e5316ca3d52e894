"""Controller in the cluster: passes for as long as this process leads, and everything that runs beside them.

A run that ends by itself does not import this.
"""

import logging
import threading
from collections.abc import Callable, Collection, Iterator
from contextlib import ExitStack, closing
from dataclasses import dataclass, field, replace
from functools import cache, partial
from typing import TYPE_CHECKING

from actuators.calls import have_room, within_budget
from actuators.http.call_budget import CallBudget
from actuators.http.errors import ApiError, Denied
from actuators.http.robot import RobotReader
from actuators.lanes import UnderWay
from desired.model.settings import Controller as Part
from reconciler import __version__
from reconciler.config.config import Config
from reconciler.page.live import HEADERS, LivePage
from reconciler.page.live import LIMITS as PAGE_LIMITS
from reconciler.passes.history import History
from reconciler.passes.loop import Wake, run_loop
from reconciler.passes.one_pass import converge
from reconciler.passes.pacing import Pace, Pacing
from reconciler.report.folding import described_fields
from reconciler.result import Report
from reconciler.rotating_secrets import RotatingSecret, rotating_login, rotating_token
from reconciler.runtime import Connections, Runtime
from reconciler.standby import SettingsCheck, Standby
from reconciler.telemetry.health import LoopHealth
from reconciler.telemetry.logs import Pairs, harmless, pairs
from reconciler.telemetry.metrics import Metrics
from reconciler.telemetry.pass_logger import Measured, Meter, PassLogger
from reconciler.telemetry.serving import serve, serve_page
from reconciler.triggers.relevance import WatchedKind
from reconciler.triggers.running import Triggers, watch_cluster

if TYPE_CHECKING:
    from desired.plan.change import Change

_log = logging.getLogger("hcloud-reconciler.controller")

_ASK_AGAIN_S = 60.0


@dataclass(frozen=True, slots=True)
class Passes:
    """Passes of a loop, and what each does for the next one and for observers."""

    run: Callable[[], Report]
    """A whole pass."""
    of_bug: Callable[[Exception], str]
    """The error of a pass that ends in a bug of ours, which must not end the loop."""
    pacing: Pacing
    meter: Meter
    narrator: PassLogger
    health: LoopHealth
    history: History
    triggers: Triggers
    begins_to_watch: Callable[[], None]
    """Only the first call does anything: a standby has nothing to watch for."""
    metrics: Metrics | None
    secrets: Collection[RotatingSecret]
    """Those that may be replaced between passes."""
    budget: CallBudget
    """Of calls to Hetzner."""
    under_way: UnderWay = field(default_factory=UnderWay)
    """What passes have left, which goes on."""
    publish: Callable[[Report, float | None], None] = lambda _report, _seconds: None
    """Writes the status down for people, where that is news."""
    page: LivePage | None = None
    """None when it is not served."""

    def renew_secrets(self) -> None:
        """Use what the files of secrets have by now: between passes alone, so by the thread that runs them."""
        # What goes on would write with a token of which no pass has seen yet whose project it is.
        for secret in () if self.under_way.goes_on else self.secrets:
            secret.refresh()

    def __call__(self, why: str) -> tuple[Measured, Pace]:
        """The report of the pass, and the pace after it."""
        self.renew_secrets()
        self.begins_to_watch()
        self.health.began()
        self.budget.begin_pass()
        if self.page is not None:
            self.page.began()
        self.meter.begin()
        try:
            report = self.run()
        except Exception as error:  # noqa: BLE001 - the last resort before the process dies
            report = Report(errors=(self.of_bug(error),))
        measured = self.meter.end(self.pacing.noted(report), why)
        report = measured.report
        suspended: tuple[Change, ...] = ()
        with harmless("history"):
            suspended = self.history.note(report)
        pace = replace(self.pacing.after(report), retry_in_s=self.history.due_in_s())
        pace = replace(pace, gap_s=self.budget.gap_s(self.pacing.reads))
        with harmless("triggers"):
            if report.snapshot is not None:
                self.triggers.settle(report.snapshot)
        with harmless("log"):
            self.narrator.look(report)
        with harmless("status"):
            self.publish(report, measured.seconds)
        with harmless("metrics"):
            if self.metrics is not None:
                self.metrics.passed(measured, pace.interval_s, suspended, pace_factor=pace.factor)
        with harmless("page"):
            if self.page is not None:
                self.page.ended(report)
        self.health.passed(report, pace.interval_s)
        return measured, pace


def run_controller(
    runtime: Runtime,
    connections: Connections,
    config: Config,
    stop: threading.Event,
    *,
    wake: Wake,
    of_bug: Callable[[Exception], str],
    publish: Callable[[Report], object],
) -> None:
    """Run passes until ``stop`` is set. ``of_bug`` is the error of a pass that ends in one, ``publish`` gets what is
    news.

    Raises ConfigurationError when probes, or the page, cannot be served.
    """
    concurrency = runtime.concurrency
    clock = concurrency.clock
    connections.leader.when_lost(runtime.plan_context.readers.left.forget)
    connections.leader.when_lost(lambda: wake.call("the lead was lost"))
    interval_s = config.interval_for(None, 0)
    health = LoopHealth(interval_s=interval_s, request_timeout_s=config.request_timeout_s, clock=clock)
    narrator, history = PassLogger(clock=clock, describe=described_fields), History(clock, interval_s=interval_s)
    kinds = [WatchedKind.NODE, *([WatchedKind.SERVICE] if Part.SERVICE in config.settings.controllers else [])]
    triggers = watch_cluster(runtime.plan_context.readers.kubernetes, wake.call, kinds)
    plan_context = replace(runtime.plan_context, history=history)
    budget = connections.cloud.budget = CallBudget(clock)
    robot = plan_context.readers.robot.cache.reader if plan_context.readers.robot else None
    metrics = _metrics(connections, budget, robot, config) if config.metrics_address is not None else None
    connections.cloud.observe = health.follow(connections.cloud.observe)
    connections.cluster.observe = health.follow(connections.cluster.observe)
    if robot is not None:
        robot.observe = health.follow(robot.observe)
    apply_context = replace(
        connections.apply_context,
        actuators=health.attend(
            narrator.attends(within_budget(connections.apply_context.actuators, budget.begin_change))
        ),
        progress=narrator,
        is_called=wake.is_called,
        have_room=partial(have_room, budget.has_room),
        under_way=UnderWay(concurrency),
    )
    passes = Passes(
        run=partial(converge, plan_context, apply_context),
        of_bug=of_bug,
        pacing=Pacing(config),
        meter=Meter(clock),
        narrator=narrator,
        health=health,
        history=history,
        triggers=triggers,
        begins_to_watch=cache(triggers.start),
        metrics=metrics,
        secrets=tuple(_secrets(runtime, connections, config)),
        budget=budget,
        under_way=apply_context.under_way,
        publish=plan_context.records.status.keep,
        page=LivePage(config.ui_hosts) if config.ui_address else None,
    )

    def tell(ended: Measured) -> None:
        with harmless("log"):
            narrator.passed(ended)
        publish(ended.report)

    with ExitStack() as beside:
        scraped = metrics.application() if metrics else None
        beside.enter_context(closing(serve(health, config.health_address, scraped, config.metrics_address)))
        if passes.page is not None and config.ui_address is not None:
            beside.enter_context(closing(serve_page(passes.page.answer, config.ui_address, HEADERS, PAGE_LIMITS)))
        beside.callback(triggers.stop)
        _log.info("started %s", _start_of(config))
        # Beside the first pass: an API server that takes its time must not keep probes waiting.
        concurrency.start(partial(_name_gaps, connections.permission_gaps, stop), "permissions")
        wake.call("the start")
        check = SettingsCheck(runtime.plan_context, health, connections.leader, stop, concurrency.start)
        standby = Standby(connections.leader, health, passes.page, partial(check.begin, passes.renew_secrets))
        run_loop(passes, stop=stop, publish=tell, wake=wake, leader=standby)
    _log.info("stopped")


def _start_of(config: Config) -> Pairs:
    """What the controller runs with, as far as it decides what is done."""
    settings = config.settings
    return pairs(
        version=__version__,
        policy=settings.policy,
        controllers=",".join(sorted(settings.controllers)),
        network=settings.network or "none",
        cluster_cidr=str(settings.cluster_cidr or "none"),
        routes=settings.routes,
        robot=settings.robot,
    )


def _name_gaps(gaps: Callable[[threading.Event], Iterator[str]], stop: threading.Event) -> None:
    """Log each missing permission once. What cannot be asked for is asked for every minute, until ``stop`` is set."""
    told: set[str] = set()
    with harmless("permissions"):
        while not stop.is_set():
            try:
                for gap in gaps(stop):
                    if gap not in told:
                        told.add(gap)
                        _log.warning("permission missing %s", pairs(gap=gap))
            except ApiError as error:
                if str(error) not in told:
                    told.add(str(error))
                    _log.warning("permissions could not be asked for %s", pairs(why=error))
                if isinstance(error, Denied):  # no permission: that lasts
                    return
            else:
                return
            stop.wait(_ASK_AGAIN_S)


def _metrics(connections: Connections, budget: CallBudget, robot: RobotReader | None, config: Config) -> Metrics:
    """Metrics that watch all connections, the lead and the call budget."""
    metrics = Metrics(version=__version__, policy=config.settings.policy, mode=config.mode, lease=config.lease_name)
    connections.cloud.observe = metrics.of_hetzner()
    connections.cluster.observe = metrics.of_kubernetes(connections.cluster.host)
    if robot is not None:
        robot.observe = metrics.of_robot(robot.left)
    metrics.follow(connections.leader.is_leader)
    metrics.follow_budget(budget.left)
    return metrics


def _secrets(runtime: Runtime, connections: Connections, config: Config) -> Iterator[RotatingSecret]:
    """What is read from files, and read again. What was remembered under other credentials is forgotten: it may be of
    another project, or account."""
    readers = runtime.plan_context.readers

    def use_token(token: str) -> None:
        connections.cloud.use_token(token)
        readers.confirmer.forget()
        readers.primary_ips.forget()
        readers.unlisted.forget()

    if config.token_file is not None:
        yield rotating_token(config.token_file, config.token, use_token)
    if config.robot_login is not None and config.robot_files and readers.robot is not None:
        yield rotating_login(config.robot_files, config.robot_login, readers.robot.use_login)
