"""What failed a moment ago and is not due yet is told like what was tried in this pass and failed.

Else its events and conditions would come and go with each try (``back-off``), or each turn (``quota``).
"""

from collections.abc import Collection, Mapping

from actuators.outcome import Failed, Skipped
from desired.guards.history import QUOTA, bars_of, narrow_scope_of, scope_of, suspension_of
from desired.model.snapshot import Snapshot
from desired.model.suspension import BACK_OFF
from desired.plan.change import ALLOWED, Change, Plan
from reconciler.result import Line

_TOLD = frozenset({BACK_OFF, QUOTA})


def as_tried(plan: Plan, tried: Collection[Line], snapshot: Snapshot) -> tuple[Plan, tuple[Line, ...]]:
    """The judged ``plan`` as if what backs off were allowed, and what was ``tried``, as if that were among it."""
    refused = {o.bars: o.error for o in (line.outcome for line in tried) if isinstance(o, Failed) and o.bars}
    tried = tuple(_as_refused(line, refused) for line in tried)
    if not snapshot.suspensions and not snapshot.bars:
        return plan, tried
    known = {line.change.key for line in tried}
    changes = tuple(_allowed(change) if change.decision.rule in _TOLD else change for change in plan.changes)
    barred = (
        Line(change, Failed(bars[0].error))
        for change in plan.changes
        if change.decision.rule == QUOTA and change.key not in known and (bars := bars_of(change, snapshot))
    )
    put_off = (
        Line(change, Failed(found.error, found.retry_after_s))
        for change in plan.changes
        if change.decision.rule == BACK_OFF and change.key not in known
        if (found := suspension_of(change, snapshot)) is not None
    )
    return Plan(changes, plan.notes, plan.holds), (*tried, *put_off, *barred)


def _as_refused(line: Line, refused: Mapping[str, str]) -> Line:
    """What was not sent because Hetzner refuses its like has failed as they have, for those who wait for it."""
    outcome, scopes = line.outcome, (scope_of(line.change), narrow_scope_of(line.change))
    if not isinstance(outcome, Skipped) or not outcome.is_final:
        return line
    return Line(line.change, Failed(next((refused[scope] for scope in scopes if scope in refused), outcome.reason)))


def _allowed(change: Change) -> Change:
    return change.ruled(ALLOWED)
