"""What a pass tells in Events and conditions, while it acts and at its end."""

from collections.abc import Collection, Mapping
from dataclasses import replace

from actuators.outcome import Failed, Outcome, Skipped
from desired.guards.history import bars_of, narrow_scope_of, scope_of, suspension_of
from desired.health.state import States
from desired.model.snapshot import Snapshot
from desired.plan.change import ALLOWED, Change, GuardName, Plan
from desired.plan.setbacks import Setbacks
from reconciler.passes.context import ApplyContext, PlanContext
from reconciler.passes.judging import JudgedPlan
from reconciler.result import Line
from reconciler.telemetry.announcements import (
    MOST_EVENTS,
    at_most,
    doubts_on_states,
    on_outcome,
    on_pass,
    warnings,
    warnings_on_states,
)


def tell_outcome(acting: ApplyContext, snapshot: Snapshot, change: Change, outcome: Outcome) -> None:
    """Say how a change has ended, or that it was left."""
    acting.progress.done(change, outcome)
    event = on_outcome(change, outcome, snapshot)
    if event is not None:
        acting.events.send(event, snapshot.taken_at)


def tell_of_pass(
    context: PlanContext,
    acting: ApplyContext,
    tried: tuple[Line, ...],
    first: Snapshot,
    judged: JudgedPlan,
    states: States,
) -> None:
    """Say in events what the pass did for Services, and what holds after it, first that one is down; the latter in
    conditions as well. A pass that is stopped writes none: the next one finds that they are still due."""
    facts = judged.facts
    plan, tried = as_tried(judged.plan, tried, facts.snapshot, facts.setbacks)
    done = tuple(on_pass(tried, first, plan))
    for event in done:
        acting.events.send(event, facts.snapshot.taken_at)
    held = warnings(plan, facts.snapshot, facts.desired, context.approve_flags, tried)
    ill = () if facts.settings.only else warnings_on_states(states, facts.snapshot)
    doubts = doubts_on_states(states, facts.snapshot)
    acting.events.announce((*at_most(MOST_EVENTS, (*ill, *held), done), *doubts), facts.snapshot.taken_at)
    if not acting.stop.is_set():
        told = replace(facts, plan=plan, settings=context.settings)
        acting.conditions.write(tuple(acting.conditions.due(told, tried, states)))
        acting.node_conditions.write(tuple(acting.node_conditions.due(told, tried)))


_TOLD = frozenset({GuardName.BACK_OFF, GuardName.QUOTA})


def as_tried(
    plan: Plan, tried: Collection[Line], snapshot: Snapshot, setbacks: Setbacks
) -> tuple[Plan, tuple[Line, ...]]:
    """The judged ``plan`` as if backed-off changes were allowed, and what was ``tried``, as if they were among it."""
    refused = {o.bars: o.error for o in (line.outcome for line in tried) if isinstance(o, Failed) and o.bars}
    tried = tuple(_as_refused(line, refused) for line in tried)
    if not setbacks.suspensions and not setbacks.bars:
        return plan, tried
    known = {line.change.key for line in tried}
    changes = tuple(change.ruled(ALLOWED) if change.decision.rule in _TOLD else change for change in plan.changes)
    barred = (
        Line(change, Failed(bars[0].error))
        for change in plan.changes
        if change.decision.rule == GuardName.QUOTA and change.key not in known and (bars := bars_of(change, setbacks))
    )
    backed_off = (
        Line(change, Failed(found.error, found.retry_after_s))
        for change in plan.changes
        if change.decision.rule == GuardName.BACK_OFF and change.key not in known
        if (found := suspension_of(change, snapshot, setbacks)) is not None
    )
    return Plan(changes, plan.notes, plan.holds), (*tried, *backed_off, *barred)


def _as_refused(line: Line, refused: Mapping[str, str]) -> Line:
    """A change that was not sent because Hetzner refuses others like it counts as refused for those who wait."""
    outcome, scopes = line.outcome, (scope_of(line.change), narrow_scope_of(line.change))
    if not isinstance(outcome, Skipped) or not outcome.is_final:
        return line
    return Line(line.change, Failed(next((refused[scope] for scope in scopes if scope in refused), outcome.reason)))
