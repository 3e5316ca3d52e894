"""The metrics of a running controller: those of requests, of passes, of the lead and of the call budget."""

import re
import time
from collections.abc import Callable, Iterable
from functools import partial
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from prometheus_client import (
    CollectorRegistry,
    Counter,
    Gauge,
    GCCollector,
    Histogram,
    PlatformCollector,
    ProcessCollector,
    disable_created_metrics,
    make_wsgi_app,
)

from actuators.http.connection import Observe, RequestEnded
from actuators.http.robot import ENDPOINTS
from desired.plan.change import Change
from reconciler.result import Result
from reconciler.telemetry.metric_table import METRICS, OURS
from reconciler.telemetry.pass_logger import Measured
from reconciler.telemetry.pass_metrics import (
    OUTCOMES,
    ROUTE_SYNCS,
    SECTIONS,
    TRIGGERS,
    LastPass,
    actions,
    became,
    gauges,
    joining_delays,
    route_sync,
    section_of,
    trigger_of,
)

if TYPE_CHECKING:
    from wsgiref.types import WSGIApplication

_NUMBER = re.compile(r"\d+")
_METHODS = frozenset({"GET", "POST", "PUT", "PATCH", "DELETE", "WATCH"})


def hetzner_endpoint(path: str) -> str:
    """A path of Hetzner's with ``-`` for ids, as HCCM has it: ``/load_balancers/-/actions/add_target``."""
    return "/".join("-" if _NUMBER.fullmatch(part) else part for part in _bare(path).split("/"))


def kubernetes_endpoint(path: str) -> str:
    """A path of the API server's with ``-`` for names: ``/api/v1/namespaces/-/services/-/status``.

    After group and version a kind is always followed by a name (Kubernetes API concepts, resource URIs). What is no
    resource keeps its first segment.
    """
    parts = _bare(path).strip("/").split("/")
    head = {"api": 2, "apis": 3}.get(parts[0], 1)
    names = ("-" if place % 2 else part for place, part in enumerate(parts[head:]))
    return "/" + "/".join((*parts[:head], *(names if head > 1 else ())))


def _bare(path: str) -> str:
    return path.partition("?")[0]


def _observer(
    ended: Callable[[str, str, int | None, float], None],
    under_way: Callable[[int], None] = lambda _more: None,
    clock: Callable[[], float] = time.monotonic,
) -> Observe:
    """An observer that says of each request how it ended: method, path, status, and seconds by ``clock``. ``under_way``
    is told how many more there are, 1 or -1."""

    def began(method: str, path: str) -> RequestEnded:
        since = clock()
        under_way(1)

        def end(status: int | None) -> None:
            under_way(-1)
            ended(method, path, status, clock() - since)

        return end

    return began


def _method(method: str) -> str:
    return method if method in _METHODS else "other"


def _code(status: int | None, none: str) -> str:
    return none if status is None else str(status)


class Metrics:
    """All metrics. Safe to be scraped while passes run."""

    def __init__(
        self, *, version: str, policy: str, mode: str, lease: str, clock: Callable[[], float] = time.time
    ) -> None:
        """``lease`` is the name of the Lease, ``clock`` this machine's, in seconds since 1970."""
        disable_created_metrics()  # type: ignore[no-untyped-call] # a second series beside each counter, of no use
        self.registry = CollectorRegistry()
        for collector in (ProcessCollector, GCCollector, PlatformCollector):
            collector(registry=self.registry)
        self._clock = clock
        self._holds: frozenset[str] = frozenset()
        self._last_pass = LastPass()
        self.registry.register(self._last_pass)
        self._gauge(f"{OURS}build_info").labels(version).set(1)
        self._gauge(f"{OURS}config_info").labels(policy, mode).set(1)
        self._leads = self._gauge("leader_election_master_status").labels(lease)
        self._calls_left = self._gauge(f"{OURS}call_budget_left")
        self._passes = self._counter(f"{OURS}passes_total")
        self._idle = self._counter(f"{OURS}no_op_passes_total")
        self._triggers = self._counter(f"{OURS}pass_triggers_total")
        self._durations = self._histogram(f"{OURS}pass_duration_seconds")
        self._violations = self._counter(f"{OURS}guard_violations_total")
        self._applied = self._counter(f"{OURS}applied_total")
        self._oscillations = self._counter(f"{OURS}oscillations_total")
        self._replaced = self._counter(f"{OURS}addresses_replaced_total")
        self._route_syncs = self._counter("route_controller_route_sync_total")
        self._route_corrections = self._counter("route_controller_route_corrections_total")
        self._delays = self._histogram(f"{OURS}node_init_delay_seconds")
        self._hetzner = self._counter("hcloud_api_requests_total")
        self._hetzner_seconds = self._histogram("hcloud_api_request_duration_seconds")
        self._hetzner_in_flight = self._gauge("hcloud_api_in_flight_requests")
        self._robot = self._counter(f"{OURS}robot_requests_total")
        self._robot_seconds = self._histogram(f"{OURS}robot_request_duration_seconds")
        self._robot_calls_left = self._gauge(f"{OURS}robot_calls_left")
        self._kubernetes = self._counter(f"{OURS}kubernetes_requests_total")
        self._clients = self._counter("rest_client_requests_total")
        self._clients_seconds = self._histogram("rest_client_request_duration_seconds")
        self._begin_at_zero()

    def of_hetzner(self) -> Observe:
        """The observer of a connection to Hetzner."""

        def ended(method: str, path: str, status: int | None, seconds: float) -> None:
            verb = _method(method).lower()
            self._hetzner.labels(_code(status, "error"), verb, hetzner_endpoint(path)).inc()
            self._hetzner_seconds.labels(verb).observe(seconds)

        return _observer(ended, self._hetzner_in_flight.inc)

    def of_robot(self, left: Callable[[str], float]) -> Observe:
        """The observer of a connection to the Robot webservice. From now on ``left`` is asked, at each scrape and from
        its thread, how many calls are left to an endpoint."""
        for endpoint in ENDPOINTS:
            self._robot_calls_left.labels(endpoint).set_function(partial(left, endpoint))

        def ended(_method: str, path: str, status: int | None, seconds: float) -> None:
            endpoint = hetzner_endpoint(path)
            self._robot.labels(_code(status, "error"), endpoint).inc()
            self._robot_seconds.labels(endpoint).observe(seconds)

        return _observer(ended)

    def of_kubernetes(self, url: str) -> Observe:
        """The observer of a connection to the API server at this URL. Its host and port are the label, without the
        scheme, as client-go has it."""
        host = urlsplit(url).netloc or url

        def ended(method: str, path: str, status: int | None, seconds: float) -> None:
            verb = _method(method)
            self._kubernetes.labels(_code(status, "error"), verb, kubernetes_endpoint(path)).inc()
            self._clients.labels(_code(status, "<error>"), verb, host).inc()
            self._clients_seconds.labels(verb, host).observe(seconds)

        return _observer(ended)

    def follow(self, leads: Callable[[], bool]) -> None:
        """Ask this from now on, at each scrape and from its thread, whether this process leads."""
        self._last_pass.leads = leads
        self._leads.set_function(lambda: float(leads()))

    def follow_budget(self, left: Callable[[], float]) -> None:
        """Ask this from now on, at each scrape and from its thread, how many calls to Hetzner are left."""
        self._calls_left.set_function(left)

    def passed(
        self, measured: Measured, interval_s: float, suspended: Iterable[Change] = (), *, pace_factor: float = 1.0
    ) -> None:
        """Record a pass that has ended; ``interval_s`` is the pause after it, ``pace_factor`` how many times longer
        than usual that is, ``suspended`` the changes that ``flapping`` suspends from now on."""
        report = measured.report
        self._passes.labels(report.result.value).inc()
        self._triggers.labels(trigger_of(measured.trigger)).inc()
        self._durations.observe(measured.seconds)
        if report.result in (Result.NO_CHANGES, Result.BLOCKED) and not report.lines:
            self._idle.inc()
        for labels, count in became(report).items():
            self._applied.labels(*labels).inc(count)
        for hold in report.holds:
            if hold.hash not in self._holds:
                self._violations.labels(hold.rule).inc()
        self._holds = frozenset(hold.hash for hold in report.holds)
        if (sync := route_sync(measured.trigger, report)) is not None:
            self._route_syncs.labels(*sync).inc()
            self._route_corrections.inc(sync.is_correction)
        for delay in joining_delays(report):
            self._delays.observe(delay.total_seconds())
        self._replaced.inc(sum(1 for _ in report.replacements()))
        for change in suspended:
            self._oscillations.labels(section_of(change)).inc()
        self._last_pass.shown = gauges(
            report, self._clock(), interval_s, self._last_pass.shown, pace_factor=pace_factor
        )

    def application(self) -> "WSGIApplication":
        """The WSGI application of prometheus-client, which answers scrapes in the format that a client prefers."""
        return make_wsgi_app(self.registry)

    def _begin_at_zero(self) -> None:
        """Set counters of what has not happened yet to 0, so that its first time is seen as an increase."""
        for result in Result:
            self._passes.labels(result.value)
        for trigger in TRIGGERS:
            self._triggers.labels(trigger)
        for sync in ROUTE_SYNCS:
            self._route_syncs.labels(*sync)
        for section in SECTIONS.values():
            self._oscillations.labels(section)
        for section, action in actions():
            for outcome in OUTCOMES.values():
                self._applied.labels(section, action, outcome)

    def _counter(self, name: str) -> Counter:
        row = METRICS[name]
        return Counter(row.name, row.meaning, row.labels, registry=self.registry)

    def _gauge(self, name: str) -> Gauge:
        row = METRICS[name]
        return Gauge(row.name, row.meaning, row.labels, registry=self.registry)

    def _histogram(self, name: str) -> Histogram:
        row = METRICS[name]
        return Histogram(row.name, row.meaning, row.labels, registry=self.registry, buckets=row.buckets)
