"""Table of all metrics that are served: name, type, labels, meaning, and alarm.

The registry is filled and docs/metrics.md is written from it. Labels are bounded: none has the name of a Node or a
Service, nor an id, so that a cluster of thousands has as many series as a small one.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType

from reconciler.result import UPDATE_DNS

OURS = "hcloud_reconciler_"
"""Prefix of metrics that no other software serves. The others have the names, types and labels that dashboards know."""


class Sort(StrEnum):
    """Types of Prometheus."""

    COUNTER = "counter"
    GAUGE = "gauge"
    HISTOGRAM = "histogram"


@dataclass(frozen=True, slots=True)
class Alarm:
    """The condition under which a person should look. The chart's ``alerts.yaml`` has a rule of this name for each, and
    no other."""

    name: str
    when: str
    """In PromQL."""
    lasting: str
    """For how long it has to hold, as Prometheus writes it: what passes by itself alarms nobody. Of an increase at
    least the time that it is counted over, which one burst does not last."""


@dataclass(frozen=True, slots=True)
class Metric:
    """One row of the table. ``name`` is that of the samples, a counter's with ``_total``."""

    name: str
    sort: Sort
    meaning: str
    labels: tuple[str, ...] = ()
    alarm: Alarm | None = None
    """None: the metric is for dashboards."""
    buckets: tuple[float, ...] = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
    """Upper bounds of a histogram's, in seconds. These are the usual ones in Go, and so HCCM's."""


_PASS_BUCKETS = (0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 120.0, 300.0)
_JOINING_BUCKETS = (1.0, 2.0, 5.0, 10.0, 20.0, 30.0, 60.0, 120.0, 300.0, 600.0, 1800.0)
_STALE_INTERVALS, _STALE_S = 5, 300
"""And so many seconds at least: a pass with much to do, and the longest wait after trouble, are no reason to wake
anybody."""

_ROWS = (
    Metric(
        f"{OURS}passes_total",
        Sort.COUNTER,
        "passes by their result, the word of the report",
        ("result",),
        Alarm("HcloudReconcilerPassesFail", f'increase({OURS}passes_total{{result="error"}}[10m]) > 3', "10m"),
    ),
    Metric(f"{OURS}no_op_passes_total", Sort.COUNTER, "passes that found nothing to do and nothing to wait for"),
    Metric(f"{OURS}pass_triggers_total", Sort.COUNTER, "passes by what called for them", ("trigger",)),
    Metric(
        f"{OURS}pass_duration_seconds",
        Sort.HISTOGRAM,
        "how long a pass took, waiting for Hetzner's actions included",
        buckets=_PASS_BUCKETS,
    ),
    Metric(
        f"{OURS}last_attempt_timestamp_seconds",
        Sort.GAUGE,
        "when a pass last looked at the section, by this machine's clock",
        ("section",),
    ),
    Metric(
        f"{OURS}last_success_timestamp_seconds",
        Sort.GAUGE,
        "when a pass last read the section whole and none of its changes failed, by this machine's clock",
        ("section",),
        Alarm(
            "HcloudReconcilerStale",
            # Its age when it was scraped: with a short interval the time between scrapes alone would be an alarm.
            # An outage of Robot is told by HcloudReconcilerIncomplete: what it keeps waiting alarms no person.
            f"timestamp({OURS}last_success_timestamp_seconds) - {OURS}last_success_timestamp_seconds"
            '{section!="robot"}'
            f" > on (job, instance) group_left () clamp_min({_STALE_INTERVALS} * {OURS}interval_seconds, {_STALE_S})"
            f' and on (instance) (leader_election_master_status == 1 or {OURS}config_info{{policy="observe"}})',
            "2m",
        ),
    ),
    Metric(
        f"{OURS}interval_seconds",
        Sort.GAUGE,
        "pause between passes that nothing calls for, as chosen after the last pass",
    ),
    Metric(
        f"{OURS}pace_factor",
        Sort.GAUGE,
        "how many times longer than usual that pause is, as little of the project's rate limit is left; always 1"
        " without --share-rate-limit",
    ),
    Metric(
        f"{OURS}snapshot_complete",
        Sort.GAUGE,
        "1 when the last pass read the section whole, else 0",
        ("section",),
        # A process whose first pass has just been cut short has no other sample yet.
        Alarm("HcloudReconcilerIncomplete", f"max_over_time({OURS}snapshot_complete[10m]) == 0", "5m"),
    ),
    Metric(f"{OURS}snapshot_objects", Sort.GAUGE, "objects that the last pass found", ("section",)),
    Metric(
        f"{OURS}services",
        Sort.GAUGE,
        "Services with a load balancer, or that want one, by their state",
        ("state",),
        Alarm("HcloudReconcilerServiceDown", f'{OURS}services{{state="down"}} > 0', "5m"),
    ),
    Metric(
        f"{OURS}nodes",
        Sort.GAUGE,
        "Nodes that are looked after, by their state",
        ("state",),
    ),
    Metric(
        f"{OURS}objects_in_need",
        Sort.GAUGE,
        "Nodes and Services that do not get what they ask for until a person corrects them, such as a Node without a"
        " server, or a Service with a refused annotation",
        ("section",),
        Alarm("HcloudReconcilerNeedsAPerson", f"{OURS}objects_in_need > 0", "15m"),
    ),
    Metric(
        f"{OURS}listeners",
        Sort.GAUGE,
        "ports of load balancers by how many of their targets are healthy: all, some, none, or unknown where no result"
        " is there yet",
        ("health",),
    ),
    Metric(
        f"{OURS}targets",
        Sort.GAUGE,
        "targets of load balancers by the worst of their health checks: healthy, unhealthy or unknown",
        ("health",),
    ),
    Metric(
        "hcloud_load_balancer_target_healthy",
        Sort.GAUGE,
        "1 when no target of a load balancer fails a health check, else 0; Nodes without a pod of a Service with"
        " externalTrafficPolicy Local do not count, as they fail by design",
    ),
    Metric(
        f"{OURS}plan_changes",
        Sort.GAUGE,
        "differences that the last pass left, whatever keeps them; with policy observe, drift",
        ("section", "action"),
        Alarm("HcloudReconcilerDrift", f"sum by (section) ({OURS}plan_changes) > 0", "30m"),
    ),
    Metric(
        f"{OURS}plan_blocked",
        Sort.GAUGE,
        "changes that a rule withholds; verdict is waiting, held or refused",
        ("rule", "verdict"),
        Alarm("HcloudReconcilerHeld", f'{OURS}plan_blocked{{verdict=~"held|refused", rule!="policy"}} > 0', "10m"),
    ),
    Metric(
        f"{OURS}guard_violations_total", Sort.COUNTER, "holds that came up, each counted once while it lasts", ("rule",)
    ),
    Metric(
        f"{OURS}applied_total",
        Sort.COUNTER,
        "changes that were to be applied, by what became of them: applied, pending, skipped or failed",
        ("section", "action", "result"),
        Alarm(
            "HcloudReconcilerChangesFail",
            f'sum by (section) (increase({OURS}applied_total{{result="failed"}}[10m])) > 5',
            "10m",
        ),
    ),
    Metric(
        f"{OURS}oscillations_total",
        Sort.COUNTER,
        "times that the circuit breaker suspended a change that others had undone again and again",
        ("section",),
        # For as long as the change stays suspended.
        # Each is one of three times within ten minutes already, and then left alone for an hour.
        Alarm("HcloudReconcilerOscillates", f"sum by (section) (increase({OURS}oscillations_total[1h])) > 0", "5m"),
    ),
    Metric(
        f"{OURS}addresses_replaced_total",
        Sort.COUNTER,
        f"Services of which all published addresses were replaced: {UPDATE_DNS}",
    ),
    Metric(
        f"{OURS}notes",
        Sort.GAUGE,
        "what a person should know though nothing is done: orphan, ignored, foreign, unmatched and so on",
        ("kind",),
        Alarm("HcloudReconcilerWrongProject", f'{OURS}notes{{kind="project-anchor"}} > 0', "5m"),
    ),
    Metric(
        f"{OURS}limit_usage_ratio",
        Sort.GAUGE,
        "share of a limit of Hetzner's that is used up: routes of the network, and of the fullest load balancer its"
        " targets and its listeners",
        ("limit",),
        Alarm("HcloudReconcilerLimitNear", f"{OURS}limit_usage_ratio > 0.9", "10m"),
    ),
    Metric(
        "route_controller_route_sync_total",
        Sort.COUNTER,
        "passes that compared the network's routes with those that Nodes need, as the route controller of Kubernetes"
        " 1.37 counts them: trigger is node_change where a Node called for the pass, else periodic; outcome is error"
        " where the change of a route failed, changed where one was made or deleted, else noop",
        ("trigger", "outcome"),
    ),
    Metric(
        "route_controller_route_corrections_total",
        Sort.COUNTER,
        "those of them that no Node had called for and that made or deleted a route: what others had changed",
    ),
    Metric(
        f"{OURS}node_init_delay_seconds",
        Sort.HISTOGRAM,
        "from the creation of a Node to its being seen initialized, by the API server's clock",
        alarm=Alarm(
            "HcloudReconcilerNodesJoinSlowly",
            f"histogram_quantile(0.9, sum by (le) (rate({OURS}node_init_delay_seconds_bucket[30m]))) > 120",
            "10m",
        ),
        buckets=_JOINING_BUCKETS,
    ),
    Metric(
        f"{OURS}cloud_ratelimit_limit",
        Sort.GAUGE,
        "requests an hour that Hetzner grants the project, as last said",
    ),
    Metric(
        f"{OURS}cloud_ratelimit_remaining",
        Sort.GAUGE,
        "requests that Hetzner would take at once, as last said",
        alarm=Alarm(
            "HcloudReconcilerRateLimitNear",
            f"{OURS}cloud_ratelimit_remaining / {OURS}cloud_ratelimit_limit < 0.1",
            "5m",
        ),
    ),
    Metric(
        f"{OURS}call_budget_left",
        Sort.GAUGE,
        "calls to Hetzner that this process may send at once by its own budget, which holds less than a quarter of what"
        " Hetzner grants an hour; while less than a third of it is left most changes wait",
    ),
    Metric(
        f"{OURS}robot_requests_total",
        Sort.COUNTER,
        "requests to the Robot webservice, each try counted; endpoint has - for server numbers, code is error when no"
        " answer came",
        ("code", "endpoint"),
    ),
    Metric(
        f"{OURS}robot_request_duration_seconds",
        Sort.HISTOGRAM,
        "how long answers of the Robot webservice took",
        ("endpoint",),
    ),
    Metric(
        f"{OURS}robot_calls_left",
        Sort.GAUGE,
        "calls that this process may send now by its own share of what the Robot webservice allows an hour; 0 also"
        " while that refuses the credentials, or asks for silence. endpoint is server or reset",
        ("endpoint",),
    ),
    Metric(
        f"{OURS}kubernetes_requests_total",
        Sort.COUNTER,
        "requests to the API server, each try counted; endpoint has - for names, code is error when no answer came",
        ("code", "method", "endpoint"),
    ),
    Metric(
        f"{OURS}build_info",
        Sort.GAUGE,
        "always 1; the version is in the label",
        ("version",),
        Alarm("HcloudReconcilerAbsent", f"absent({OURS}build_info)", "10m"),
    ),
    Metric(f"{OURS}config_info", Sort.GAUGE, "always 1; what the process was told to do", ("policy", "mode")),
    Metric(
        "leader_election_master_status",
        Sort.GAUGE,
        "1 while this process leads by the Lease of that name, else 0, and no gauge tells of its last pass",
        ("name",),
        Alarm(
            "HcloudReconcilerHasNoLeader",
            # One that only looks takes no Lease, and says of itself that it leads.
            f'sum(leader_election_master_status and on (instance) {OURS}config_info{{policy!="observe"}}) != 1',
            "2m",
        ),
    ),
    Metric(
        "hcloud_api_requests_total",
        Sort.COUNTER,
        "requests to the Hetzner Cloud API, each try counted; api_endpoint has - for ids, code is error when no answer"
        " came",
        ("code", "method", "api_endpoint"),
        Alarm(
            "HcloudReconcilerHetznerFails",
            'sum(rate(hcloud_api_requests_total{code=~"error|4..|5..",code!="404"}[10m]))'
            " / sum(rate(hcloud_api_requests_total[10m])) > 0.5",
            "5m",
        ),
    ),
    Metric("hcloud_api_request_duration_seconds", Sort.HISTOGRAM, "how long answers of Hetzner took", ("method",)),
    Metric("hcloud_api_in_flight_requests", Sort.GAUGE, "requests to Hetzner that are under way"),
    Metric(
        "rest_client_requests_total",
        Sort.COUNTER,
        "requests to the API server, as other components of Kubernetes count them; code is <error> when no answer came",
        ("code", "method", "host"),
    ),
    Metric(
        "rest_client_request_duration_seconds",
        Sort.HISTOGRAM,
        "how long answers of the API server took; of a watch, until it began",
        ("verb", "host"),
    ),
)

METRICS: Mapping[str, Metric] = MappingProxyType({row.name: row for row in _ROWS})
"""Name → row."""
