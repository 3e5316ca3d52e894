"""What failed a moment ago and is not due yet is told like what was tried in this pass and failed.

Else its events and conditions would come and go with each try (``back-off``).
"""

from collections.abc import Collection

from actuators.outcome import Failed
from desired.change import ALLOWED, Change, Plan
from desired.patience_guards import suspension_of
from desired.snapshot import Snapshot
from desired.suspension import BACK_OFF
from reconciler.result import Line


def as_tried(plan: Plan, tried: Collection[Line], snapshot: Snapshot) -> tuple[Plan, tuple[Line, ...]]:
    """The judged ``plan`` as if what backs off were allowed, and what was ``tried``, as if that were among it."""
    if not snapshot.suspensions:
        return plan, tuple(tried)
    known = {line.change.key for line in tried}
    changes = tuple(_allowed(change) if change.ruling.rule == BACK_OFF else change for change in plan.changes)
    put_off = (
        Line(change, Failed(found.error, found.retry_after_s))
        for change in plan.changes
        if change.ruling.rule == BACK_OFF and change.key not in known
        if (found := suspension_of(change, snapshot)) is not None
    )
    return Plan(changes, plan.notes, plan.holds), (*tried, *put_off)


def _allowed(change: Change) -> Change:
    return change.ruled(ALLOWED)
