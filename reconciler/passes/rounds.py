"""One round of a pass: applies what of a plan can be done now, and reports progress."""

import threading
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial
from typing import Protocol

from actuators.apply import Actuator, Pressure, apply
from actuators.http.errors import ApiError
from actuators.lanes import UnderWay
from actuators.outcome import Outcome, Skipped
from desired.guards.guard import SettingsChange
from desired.model.snapshot import Snapshot
from desired.plan.change import Change, Plan
from desired.plan.grants import Grant
from desired.plan.ordering import bridged
from desired.plan.setbacks import NO_SETBACKS, Setbacks
from desired.planner import DesiredState
from reconciler.passes.attempts import Attempts
from reconciler.telemetry.announcements import on_outcome
from reconciler.telemetry.conditions import Due
from reconciler.telemetry.events import Event


class Announcer(Protocol):
    """Takes events and sends them some time."""

    def send(self, event: Event, now: datetime) -> None:
        """Say what has just happened."""

    def announce(self, events: Collection[Event], now: datetime) -> None:
        """Say what holds after a pass."""


class ConditionWriter(Protocol):
    """Takes conditions of Services that no other write takes along."""

    def write(self, due: Collection[Due]) -> None:
        """Write them; one that cannot be written is lost without harm."""


class Progress(Protocol):
    """Hears of an apply while it goes on."""

    def begin(self, changes: Sequence[Change]) -> None:
        """These changes are about to be applied."""

    def done(self, change: Change, outcome: Outcome) -> None:
        """One of them came to an end."""

    def end(self) -> None:
        """All of them did."""


@dataclass(frozen=True, slots=True)
class ApplyContext:
    """The context in which a pass acts. A dry run has none."""

    actuators: Mapping[str, Actuator]
    use_up: Callable[[Collection[Grant], datetime], None]
    """Marks the stored grants of one hold as used; raises an ApiError when none of them counts any more."""
    events: Announcer
    progress: Progress
    stop: threading.Event
    conditions: ConditionWriter | None = None
    """None: conditions are only written together with the status."""
    is_called: Callable[[], bool] = lambda: False
    """Whether something has come up meanwhile that another pass should see: then this one gives way."""
    under_way: UnderWay = field(default_factory=partial(UnderWay, may_leave=False))
    """What passes have left, which goes on."""


@dataclass(frozen=True, slots=True)
class JudgedPlan:
    """A plan with verdicts, and what lets held changes of it pass."""

    plan: Plan
    """The part of it that may be looked at: with ``--only`` what was asked for, and allowed only what was agreed to."""
    desired: DesiredState
    """What the plan was made from."""
    granted: Mapping[str, Collection[Grant]] = field(default_factory=dict)
    """Hash of a hold → the grants of it that count now."""
    setbacks: Setbacks = NO_SETBACKS
    """What the changes had met before."""
    strange: tuple[str, ...] = ()
    """A sentence on each key of ``--only`` that names nothing."""
    whole: Plan = field(default_factory=Plan)
    """All of the plan, as its guards have judged it."""
    settings_change: SettingsChange | None = None
    """What follows from settings that differ from the former ones."""


def apply_round(
    judged: JudgedPlan, snapshot: Snapshot, apply_context: ApplyContext, attempts: Attempts, *, is_last: bool = False
) -> frozenset[str]:
    """Apply what can be done now, note in ``attempts`` how each change ended, and return the kinds that were tried.

    An approval that is needed is marked as used before, so that it counts once. The round gives way when another pass
    is called for, and a series of preemptible changes also when it alone keeps the next round from beginning. Approved
    changes are carried out completely, unless one of them does not end.
    """
    _use_up_approvals(judged, snapshot, apply_context, attempts)
    todo = bridged(attempts.todo(judged.plan), judged.plan)
    apply_context.progress.begin(todo)
    done = partial(tell, apply_context, snapshot)
    pressure = Pressure(
        apply_context.under_way,
        apply_context.is_called,
        is_awaited=not is_last and attempts.has_more(judged.plan),
        # An approval that is used up: what was left would have to be approved anew.
        bound=frozenset(key for hold in judged.plan.holds if hold.approved for key in hold.keys),
    )
    try:
        outcomes = apply(
            todo,
            snapshot,
            apply_context.actuators,
            stop=apply_context.stop,
            done=done,
            pressure=pressure,
            barred=attempts.barred,
        )
    finally:
        apply_context.progress.end()
    for change in todo:
        attempts.add(judged.plan.by_key[change.key], outcomes[change.key])
    ended = tuple(apply_context.under_way.ended())
    for change, outcome in ended:
        attempts.add(change, outcome)
        done(change, outcome)
    tried = [change for change in todo if not isinstance(outcomes[change.key], Skipped)]
    return frozenset(change.kind for change in (*tried, *(change for change, _ in ended)))


def tell(apply_context: ApplyContext, snapshot: Snapshot, change: Change, outcome: Outcome) -> None:
    """Say how a change has ended, or that it was left."""
    apply_context.progress.done(change, outcome)
    event = on_outcome(change, outcome, snapshot)
    if event is not None:
        apply_context.events.send(event, snapshot.taken_at)


def _use_up_approvals(judged: JudgedPlan, snapshot: Snapshot, apply_context: ApplyContext, attempts: Attempts) -> None:
    todo = attempts.todo(judged.plan)
    for hold in judged.plan.holds:
        grants = [grant for grant in judged.granted.get(hold.hash, ()) if grant.is_stored]
        held = [change for change in todo if change.key in hold.keys]
        if not grants or not held:
            continue
        kept_back = [change for change in held if apply_context.under_way.keeps_back(change)]
        if kept_back:
            for change in held:
                attempts.withdraw(change, f"{kept_back[0].owner} is still being changed; its approval is kept")
            continue
        try:
            apply_context.use_up(grants, snapshot.taken_at)
        except ApiError as error:
            for change in held:
                attempts.withdraw(change, f"its approval could not be marked as used: {error}")
