"""One round of a pass: applies what of a plan can be done now, and reports progress."""

from collections.abc import Sequence
from functools import partial

from actuators.apply import Pressure, apply
from actuators.http.errors import ApiError
from actuators.outcome import Skipped
from desired.plan.change import Change
from desired.plan.grants import Here
from desired.plan.ordering import bridged
from reconciler.passes.attempts import Attempts
from reconciler.passes.context import ApplyContext
from reconciler.passes.judging import JudgedPlan
from reconciler.passes.telling import tell_outcome


def apply_round(
    judged: JudgedPlan, acting: ApplyContext, attempts: Attempts, *, is_last: bool = False
) -> frozenset[str]:
    """Apply what can be done now, note in ``attempts`` how each change ended, and return the kinds that were tried.

    An approval that is needed is marked as used before, so that it counts once. The round gives way when another pass
    is called for, and a series of preemptible changes also when it alone keeps the next round from beginning. Approved
    changes are carried out completely, unless one of them does not end.
    """
    snapshot = judged.facts.snapshot
    _use_up_approvals(judged, acting, attempts)
    todo = bridged(attempts.todo(judged.plan), judged.plan)
    acting.progress.begin(todo)
    done = partial(tell_outcome, acting, snapshot)
    pressure = Pressure(
        acting.under_way,
        acting.is_called,
        is_awaited=not is_last and attempts.has_more(judged.plan),
        # What was approved together is made together: a load balancer is not left between two networks.
        bound=frozenset(key for hold in judged.plan.holds if hold.approved for key in hold.keys),
    )
    try:
        outcomes = apply(
            todo,
            snapshot,
            acting.actuators,
            stop=acting.stop,
            done=done,
            pressure=pressure,
            barred=attempts.barred,
        )
    finally:
        acting.progress.end()
    for change in todo:
        attempts.add(judged.plan.by_key[change.key], outcomes[change.key])
    ended = tuple(acting.under_way.ended())
    for change, outcome in ended:
        attempts.add(change, outcome)
        done(change, outcome)
    tried = [change for change in todo if not isinstance(outcomes[change.key], Skipped)]
    return frozenset(change.kind for change in (*tried, *(change for change, _ in ended)))


def _use_up_approvals(judged: JudgedPlan, acting: ApplyContext, attempts: Attempts) -> None:
    todo, promised = attempts.todo(judged.plan), list[Change]()
    for hold in judged.plan.holds:
        grants = [grant for grant in judged.granted.get(hold.hash, ()) if grant.is_stored]
        held = [change for change in todo if change.key in hold.keys]
        if not grants or not held:
            continue
        why = _why_kept(held, promised, judged, acting)
        if why is None:
            try:
                acting.approvals.use_up(grants, Here.of(judged.facts.snapshot), hold.names)
            except ApiError as error:
                why = f"its approval could not be marked as used: {error}"
        if why is None:
            promised += held
        else:
            for change in held:
                attempts.withdraw(change, why)


def _why_kept(
    held: Sequence[Change], promised: Sequence[Change], judged: JudgedPlan, acting: ApplyContext
) -> str | None:
    """The reason why an approval is not used for these changes in this pass, beside those that were ``promised`` room;
    None when it is."""
    kept_back = next((change for change in held if acting.under_way.keeps_back(change)), None)
    if kept_back is not None:
        return f"{kept_back.owner} is still being changed; its approval is kept"
    if not acting.have_room(held, promised, judged.facts.snapshot):
        return "the call budget has no room for it yet; its approval is kept"
    return None
