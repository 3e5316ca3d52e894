"""Metrics computed from passes: gauges of the last pass, which all change at once, so that no scrape sees half of it,
and the values that counters are increased by."""

import itertools
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import timedelta
from enum import Enum
from typing import TYPE_CHECKING, Any, NamedTuple

from prometheus_client.core import GaugeMetricFamily

from actuators.outcome import Applied, Failed, Outcome, Pending, Skipped
from desired.health.state import NodeState, PortState, ServiceState, States
from desired.model.key import ObjectKind
from desired.model.load_balancer import CloudBalancer, Health
from desired.model.route import MOST_ROUTES
from desired.model.snapshot import Snapshot
from desired.plan.change import Change, Verdict
from desired.plan.kinds import KINDS, ChangeKind
from desired.plan.notes import NoteKind
from reconciler.result import Report, needing_a_person
from reconciler.telemetry.metric_table import METRICS, OURS

if TYPE_CHECKING:
    from desired.section import Section

COMPLETE = f"{OURS}snapshot_complete"
OBJECTS = f"{OURS}snapshot_objects"
ATTEMPT = f"{OURS}last_attempt_timestamp_seconds"
INTERVAL = f"{OURS}interval_seconds"
PACE = f"{OURS}pace_factor"
SUCCESS = f"{OURS}last_success_timestamp_seconds"
CHANGES = f"{OURS}plan_changes"
BLOCKED = f"{OURS}plan_blocked"
NOTES = f"{OURS}notes"
USAGE = f"{OURS}limit_usage_ratio"
LIMIT = f"{OURS}cloud_ratelimit_limit"
REMAINING = f"{OURS}cloud_ratelimit_remaining"
SERVICES = f"{OURS}services"
NODES = f"{OURS}nodes"
IN_NEED = f"{OURS}objects_in_need"
LISTENERS = f"{OURS}listeners"
TARGETS = f"{OURS}targets"
HEALTHY = "hcloud_load_balancer_target_healthy"
GAUGES = (
    COMPLETE, OBJECTS, ATTEMPT, SUCCESS, INTERVAL, PACE, CHANGES, BLOCKED, NOTES, USAGE, LIMIT, REMAINING,
    SERVICES, NODES, IN_NEED, LISTENERS, TARGETS, HEALTHY,
)  # fmt: skip

Samples = Mapping[tuple[str, ...], float]
"""Values of the labels, in the table's order → value."""

NOTHING_YET: Mapping[str, Samples] = {}


def gauges(
    report: Report,
    now: float,
    interval_s: float,
    before: Mapping[str, Samples] = NOTHING_YET,
    *,
    pace_factor: float = 1.0,
) -> Mapping[str, Samples]:
    """Name → samples after this pass; ``before`` is what this returned for the last one, ``now`` seconds since 1970,
    ``interval_s`` the pause until the next one, ``pace_factor`` how many times longer than usual that is.

    A section that is not asked for any more goes. When nothing could be read, what was is kept but for what says so.
    """
    sent = report.requests
    found: dict[str, Samples] = {
        CHANGES: {**dict.fromkeys(actions(), 0.0), **left(report)},
        BLOCKED: {**dict.fromkeys(before.get(BLOCKED, {}), 0.0), **blocked(report)},
        INTERVAL: {(): interval_s},
        PACE: {(): pace_factor},
        LIMIT: {} if sent.limit is None else {(): sent.limit},
        REMAINING: {} if sent.remaining is None else {(): sent.remaining},
    }
    snapshot = report.snapshot
    if snapshot is None:
        names = before.get(COMPLETE) or {("nodes",): 0.0}
        unread: dict[str, Samples] = {COMPLETE: dict.fromkeys(names, 0.0), ATTEMPT: dict.fromkeys(names, now)}
        return {**before, **found, **unread}
    sections: Mapping[tuple[str, ...], Section[Any, Any]] = {
        (name,): section for name, section in snapshot.sections().items()
    }
    fine = succeeded(report)
    last = {labels: when for labels, when in before.get(SUCCESS, {}).items() if labels in sections}
    notes = Counter(note.kind for note in report.notes)
    shown: dict[str, Samples] = {
        COMPLETE: {labels: float(section.complete) for labels, section in sections.items()},
        OBJECTS: {labels: float(len(section)) for labels, section in sections.items()},
        ATTEMPT: dict.fromkeys(sections, now),
        SUCCESS: last | {labels: now for labels in sections if labels[0] in fine},
        NOTES: {(kind.value,): float(notes[kind]) for kind in NoteKind},
        USAGE: limit_usage(snapshot),
        IN_NEED: in_need(report),
        **health(report.states),
    }
    return found | shown


class LastPass:
    """Gauges of the last pass, as a collector of a registry. Without the lead there are none: what the last pass found
    may no longer hold."""

    def __init__(self) -> None:
        self.shown = NOTHING_YET
        self.leads: Callable[[], bool] = lambda: True

    def collect(self) -> list[GaugeMetricFamily]:
        """One family for each, without samples until there are any."""
        if not self.leads():
            self.shown = NOTHING_YET
        shown, families = self.shown, []
        for name in GAUGES:
            family = GaugeMetricFamily(name, METRICS[name].meaning, labels=METRICS[name].labels)
            for labels, value in sorted(shown.get(name, {}).items()):
                family.add_metric(labels, value)
            families.append(family)
        return families


SECTIONS: Mapping[ObjectKind, str] = {
    ObjectKind.NODE: "nodes",
    ObjectKind.SERVICE: "services",
    ObjectKind.LOAD_BALANCER: "load_balancers",
    ObjectKind.CERTIFICATE: "certificates",
    ObjectKind.ROUTE: "routes",
}
"""What a change is of → the section of the snapshot that has these objects."""
TRIGGERS = ("interval", "node", "service", "other")
"""Values of the label: triggers of passes are said in words for people, of which there are too many for it."""
OUTCOMES: Mapping[type[Outcome], str] = {
    Applied: "applied",
    Pending: "pending",
    Skipped: "skipped",
    Failed: "failed",
}


def section_of(change: Change) -> str:
    """The section of the snapshot that the change is about."""
    return SECTIONS[change.row.object]


def actions() -> Iterator[tuple[str, ...]]:
    """Each section with each class of change that there is for it."""
    pairs = {(SECTIONS[kind.object], verb.value) for kind in KINDS.values() for verb in kind.verbs}
    yield from sorted(pairs)


def trigger_of(why: str) -> str:
    """The label for the trigger of a pass, "" being its time."""
    words = why.lower().replace("/", " ").split()
    return next((word for word in words if word in TRIGGERS), "other") if words else "interval"


def left(report: Report) -> Samples:
    """(section, class) → how many differences the pass left."""
    undone = (line.change for line in report.lines if not isinstance(line.outcome, Applied))
    return _counted((section_of(change), change.verb.value) for change in undone)


def blocked(report: Report) -> Samples:
    """(rule, verdict) → how many changes it withholds."""
    rulings = (line.change.decision for line in report.lines if line.outcome is None)
    return _counted((r.rule or "", r.verdict.value) for r in rulings if r.verdict is not Verdict.ALLOWED)


def became(report: Report) -> Samples:
    """(section, class, outcome) → how many changes that were to be applied ended so."""
    return _counted(
        (section_of(line.change), line.change.verb.value, OUTCOMES[type(line.outcome)])
        for line in report.lines
        if line.outcome is not None
    )


def succeeded(report: Report) -> frozenset[str]:
    """Sections that were read completely, and of which no change failed."""
    if report.snapshot is None or report.obstacles:
        return frozenset()
    whole = {name for name, section in report.snapshot.sections().items() if section.complete}
    return frozenset(whole - {section_of(line.change) for line in report.outcomes(Failed)})


def joining_delays(report: Report) -> Iterator[timedelta]:
    """Time from its creation to its being seen initialized, of each Node that this pass initialized, by the API
    server's clock. A Node that is gone already is left out."""
    for line in report.outcomes(Applied):
        node = report.snapshot.node(line.change.owner) if report.snapshot else None
        if node is not None and report.snapshot and line.change.kind == ChangeKind.NODE_INITIALISE:
            yield max(timedelta(0), report.snapshot.taken_at - node.created_at)


class RouteSync(NamedTuple):
    """How Kubernetes' route controller counts a pass (KEP-5237): labels of ``route_controller_route_sync_total``."""

    trigger: str
    outcome: str

    @property
    def is_correction(self) -> bool:
        """Whether it mended routes that no change of a Node had made wrong."""
        return self == RouteSync("periodic", "changed")


ROUTE_SYNCS = tuple(map(RouteSync._make, itertools.product(("node_change", "periodic"), ("changed", "error", "noop"))))
"""All there are."""


def route_sync(trigger: str, report: Report) -> RouteSync | None:
    """The pass as one of these, ``trigger`` being what called for it; None where it looked at no routes."""
    if report.snapshot is None or report.snapshot.routes is None:
        return None
    ended = {type(line.outcome) for line in report.lines if line.change.row.object is ObjectKind.ROUTE}
    outcome = "error" if Failed in ended else "changed" if Applied in ended else "noop"
    return RouteSync("node_change" if trigger_of(trigger) == "node" else "periodic", outcome)


def limit_usage(snapshot: Snapshot) -> Samples:
    """(limit) → share of it that is used, 1 being all. What was not read is left out."""
    usage: dict[tuple[str, ...], float] = {}
    if snapshot.routes is not None:
        usage["routes",] = snapshot.routes.total / MOST_ROUTES
    if snapshot.load_balancers is not None:
        balancers = snapshot.load_balancers.items.values()
        usage["targets",] = max(map(_share_of_targets, balancers), default=0.0)
        usage["listeners",] = max(map(_share_of_listeners, balancers), default=0.0)
    return usage


def in_need(report: Report) -> Samples:
    """How many Nodes and Services need a person, 0 among them."""
    counts = Counter(key.kind for key in needing_a_person(report))
    return {(SECTIONS[kind],): float(counts[kind]) for kind in (ObjectKind.NODE, ObjectKind.SERVICE)}


def health(states: States) -> Mapping[str, Samples]:
    """How many Services and Nodes are in each state, and how the ports and targets of their load balancers are."""
    ports = [port for service in states.services for port in service.ports]
    checked = [found for service in states.services for found in service.targets]
    is_down = any(service.state is ServiceState.DOWN for service in states.services)
    return {
        SERVICES: _each(ServiceState, (service.state for service in states.services)),
        NODES: _each(NodeState, (node.state for node in states.nodes)),
        LISTENERS: _each(PortState, (port.state for port in ports)),
        TARGETS: _each(Health, checked),
        HEALTHY: {(): float(not any(port.failing for port in ports) and not is_down)} if ports or is_down else {},
    }


def _each(words: Iterable[Enum], found: Iterable[Enum]) -> Samples:
    """How often each word occurs, 0 among them."""
    counts = Counter(found)
    return {(str(word.value),): float(counts[word]) for word in words}


def _counted(keys: Iterable[tuple[str, ...]]) -> Samples:
    return {key: float(count) for key, count in Counter(keys).items()}


def _share_of_targets(balancer: CloudBalancer) -> float:
    return len(balancer.targets) / max(1, balancer.type.max_targets)


def _share_of_listeners(balancer: CloudBalancer) -> float:
    return len(balancer.spec.listeners) / max(1, balancer.type.max_services)
