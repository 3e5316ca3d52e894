"""The gauges that tell of the last pass: all of them change at once, so that no scrape sees half of it."""

from collections import Counter
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from prometheus_client.core import GaugeMetricFamily

from desired.change import NoteKind
from reconciler.result import Report
from reconciler.telemetry.metric_table import METRICS, OURS
from reconciler.telemetry.pass_figures import Samples, actions, blocked, left, limit_usage, succeeded

if TYPE_CHECKING:
    from desired.section import Section

COMPLETE = f"{OURS}snapshot_complete"
OBJECTS = f"{OURS}snapshot_objects"
ATTEMPT = f"{OURS}last_attempt_timestamp_seconds"
INTERVAL = f"{OURS}interval_seconds"
SUCCESS = f"{OURS}last_success_timestamp_seconds"
CHANGES = f"{OURS}plan_changes"
BLOCKED = f"{OURS}plan_blocked"
NOTES = f"{OURS}notes"
USAGE = f"{OURS}limit_usage_ratio"
LIMIT = f"{OURS}cloud_ratelimit_limit"
REMAINING = f"{OURS}cloud_ratelimit_remaining"
GAUGES = (COMPLETE, OBJECTS, ATTEMPT, SUCCESS, INTERVAL, CHANGES, BLOCKED, NOTES, USAGE, LIMIT, REMAINING)

NOTHING_YET: Mapping[str, Samples] = {}


def gauges(
    report: Report, now: float, interval_s: float, before: Mapping[str, Samples] = NOTHING_YET
) -> Mapping[str, Samples]:
    """Name → samples after this pass; ``before`` is what this returned for the last one, ``now`` seconds since 1970,
    ``interval_s`` the pause until the next one.

    A section that is not asked for any more goes. When nothing could be read, what was is kept but for what says so.
    """
    cost = report.cost
    found: dict[str, Samples] = {
        CHANGES: {**dict.fromkeys(actions(), 0.0), **left(report)},
        BLOCKED: {**dict.fromkeys(before.get(BLOCKED, {}), 0.0), **blocked(report)},
        INTERVAL: {(): interval_s},
        LIMIT: {} if cost.limit is None else {(): cost.limit},
        REMAINING: {} if cost.remaining is None else {(): cost.remaining},
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
    }
    return found | shown


class LastPass:
    """Collects them for a registry. Who does not lead has none: what its last pass found is not so any more."""

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
