"""What the report of a pass comes to in numbers. Pure."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from datetime import timedelta

from actuators.outcome import Applied, Failed, Outcome, Pending, Skipped
from desired.change import Change, Verdict
from desired.kinds import KINDS
from desired.load_balancer import CloudBalancer
from desired.route import MOST_ROUTES
from desired.snapshot import Snapshot
from reconciler.result import Report

Samples = Mapping[tuple[str, ...], float]
"""Values of the labels, in the table's order → value."""

SECTIONS: Mapping[str, str] = {
    "node": "nodes",
    "service": "services",
    "lb": "load_balancers",
    "certificate": "certificates",
    "route": "routes",
}
"""First part of a kind's name → the section of the snapshot whose objects it changes."""
TRIGGERS = ("interval", "node", "service", "other")
"""Values of the label: what calls for passes is said in words for people, which are too many for it."""
OUTCOMES: Mapping[type[Outcome], str] = {
    Applied: "applied",
    Pending: "pending",
    Skipped: "skipped",
    Failed: "failed",
}


def section_of(change: Change) -> str:
    """The section of the snapshot that the change is about."""
    return SECTIONS[change.kind.partition(".")[0]]


def actions() -> Iterator[tuple[str, ...]]:
    """Each section with each class of change that there is for it."""
    pairs = {(SECTIONS[kind.name.partition(".")[0]], verb.value) for kind in KINDS.values() for verb in kind.verbs}
    yield from sorted(pairs)


def trigger_of(why: str) -> str:
    """The label for what called for a pass, "" being its time."""
    words = why.lower().replace("/", " ").split()
    return next((word for word in words if word in TRIGGERS), "other") if words else "interval"


def left(report: Report) -> Samples:
    """(section, class) → how many differences the pass left."""
    undone = (line.change for line in report.lines if not isinstance(line.outcome, Applied))
    return _counted((section_of(change), change.verb.value) for change in undone)


def blocked(report: Report) -> Samples:
    """(rule, verdict) → how many changes it withholds."""
    rulings = (line.change.ruling for line in report.lines if line.outcome is None)
    return _counted((r.rule or "", r.verdict.value) for r in rulings if r.verdict is not Verdict.ALLOWED)


def became(report: Report) -> Samples:
    """(section, class, outcome) → how many changes that were to be applied ended so."""
    return _counted(
        (section_of(line.change), line.change.verb.value, OUTCOMES[type(line.outcome)])
        for line in report.lines
        if line.outcome is not None
    )


def succeeded(report: Report) -> frozenset[str]:
    """Sections that were read whole, and of which no change failed."""
    if report.snapshot is None or report.errors:
        return frozenset()
    whole = {name for name, section in report.snapshot.sections().items() if section.complete}
    return frozenset(whole - {section_of(line.change) for line in report.outcomes(Failed)})


def joining_delays(report: Report) -> Iterator[timedelta]:
    """From its creation to its being seen initialised, of each Node that this pass initialised, by the API server's
    clock. A Node that is gone already is left out."""
    for line in report.outcomes(Applied):
        node = report.snapshot.node(line.change.owner) if report.snapshot else None
        if node is not None and report.snapshot and line.change.kind == "node.initialise":
            yield max(timedelta(0), report.snapshot.taken_at - node.created_at)


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


def _counted(keys: Iterable[tuple[str, ...]]) -> Samples:
    return {key: float(count) for key, count in Counter(keys).items()}


def _share_of_targets(balancer: CloudBalancer) -> float:
    return len(balancer.targets) / max(1, balancer.type.max_targets)


def _share_of_listeners(balancer: CloudBalancer) -> float:
    return len(balancer.spec.listeners) / max(1, balancer.type.max_services)
