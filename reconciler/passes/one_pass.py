"""One pass: look, plan, judge, write. A pass that has written is followed by another at once: see ``chain``.

``plan_once`` and ``explain_once`` only read; ``converge`` is a chain of passes that act. Whether a run may write is
decided in ``reconciler.runtime``.
"""

from collections.abc import Callable
from dataclasses import replace
from functools import partial

from actuators.apply import Pressure, apply
from actuators.http.errors import ApiError
from actuators.outcome import STOPPED, Applied, Outcome, Skipped
from desired.health.state import States
from desired.model.key import Key, ObjectKind
from desired.model.settings import Policy
from desired.model.snapshot import Snapshot
from desired.plan.change import Change
from desired.plan.grants import Here
from desired.plan.ordering import bridged, urgent
from reconciler.observe.servers_by_id import MOST_AT_ONCE
from reconciler.observe.world import Observation, look, look_again
from reconciler.passes.approvals import strike, use_up
from reconciler.passes.chain import Chain
from reconciler.passes.context import ApplyContext, PlanContext
from reconciler.passes.judging import JudgedPlan, judge_world
from reconciler.passes.reporting import (
    as_tried,
    fatal_errors,
    is_reachable,
    report_of,
    report_of_error,
    with_cost,
    with_states,
)
from reconciler.result import Explained, Line, Report, is_incomplete
from reconciler.telemetry.announcements import (
    MOST_EVENTS,
    at_most,
    doubts_on_states,
    on_outcome,
    on_pass,
    warnings,
    warnings_on_states,
)


def plan_once(context: PlanContext) -> Report:
    """The plan of the present state. Sends only reads; never raises an ApiError."""
    try:
        observation = look(context.readers, context.settings, None if context.is_alone else context.namespace)
    except ApiError as error:
        return report_of_error(context, error)
    judged = judge_world(context, observation, context.history.setbacks())
    report = with_states(context, report_of(context, judged), judged)
    return with_cost(context, report, observation.snapshot, acts=False, may_ask=is_reachable(observation))


def explain_once(context: PlanContext, key: Key, *, is_kind_known: bool = True) -> Explained:
    """Everything that decides now on the Node or Service with this key; where its kind is not known, on the Service of
    this name if no Node has it. Sends only reads; never raises an ApiError."""
    from desired.explain import explain_object  # noqa: PLC0415 - a pass need not pay for it

    try:
        observation = look(context.readers, context.settings, context.namespace)
    except ApiError as error:
        return Explained(key, report_of_error(context, error))
    judged = judge_world(context, observation, context.history.setbacks())
    report = with_states(context, report_of(context, judged), judged)
    key = key if is_kind_known else _found(key, observation.snapshot)
    found = explain_object(key, judged.plan, judged.facts, judged.results, report.states)
    if isinstance(found, str):
        errors, misconfigured = (*report.errors, found), (*report.misconfigured, found)
        return Explained(key, replace(report, errors=errors, misconfigured=misconfigured))
    return Explained(key, report, found)


def _found(key: Key, snapshot: Snapshot) -> Key:
    """The key of the Node with this name, or else of the only Service, or that of ``default``; itself where none is
    found."""
    named = [service.key for service in snapshot.services or () if service.name == key.name]
    if snapshot.node(key) is not None or not named:
        return key
    first = Key(ObjectKind.SERVICE, f"default/{key.name}")
    return named[0] if len(named) == 1 else first


def converge(context: PlanContext, acting: ApplyContext) -> Report:
    """The report of a chain of passes: what was applied, and what is left in a plan that was observed afterwards.

    Never raises an ApiError. If the state cannot be observed any more after a write, that is an error, and what was
    written is still in the report.
    """
    if context.settings.policy is not Policy.OBSERVE:  # such a pass writes no record either
        context = replace(context, uses=acting.approvals)
    chain, judged = Chain(context.history.setbacks()), None
    for change, outcome in (ended := acting.under_way.begin_chain()):
        chain.add(change, outcome)
    try:
        observation = look(context.readers, context.settings, context.namespace)
        for change, outcome in ended:
            tell_outcome(acting, observation.snapshot, change, outcome)
        judged = judge_world(context, observation, chain.met)
        agreement, here = context.agreement, Here.of(judged.facts.snapshot)
        if refused := agreement.why_void(here) or agreement.why_inexact(judged.plan):
            report = with_states(context, report_of(context, judged), judged)
            return replace(report, errors=(*report.errors, refused))
        chain.begin(judged, agreement)
        while goes_on(judged, chain, acting):
            kinds = write(judged, chain, acting)
            observation = _look_again(context, judged, kinds)
            judged = None  # with the Nodes in it, which were read anew, and are kept once
            allowing = replace(context, flagged=(*context.flagged, *chain.grants))
            most = MOST_AT_ONCE if chain.may_write else 0  # after the last writes nothing would come of an answer
            judged = judge_world(allowing, observation, chain.met, most=most)
    except ApiError as error:
        context.history.let_go(chain.let_pass)
        return report_of_error(context, error, chain, judged)
    return _ended(context, acting, chain, judged)


def goes_on(judged: JudgedPlan, chain: Chain, acting: ApplyContext) -> bool:
    """Whether the pass with this plan writes, and calls the next one. It does not if the run is stopped, if nothing is
    left to do, or if something has come up and no urgent changes are left."""
    if not chain.may_write or acting.stop.is_set() or fatal_errors(judged.observation, judged.plan):
        return False
    todo = chain.todo(judged.plan)
    return bool(urgent(todo) if chain.writes and acting.is_called() else todo)


def _look_again(context: PlanContext, judged: JudgedPlan, kinds: frozenset[str]) -> Observation:
    """What is there after a pass with changes of these ``kinds``. What the chain has written is no witness of whose
    project it is. Raises an ApiError when Nodes cannot be read."""
    before = judged.observation
    if before.snapshot.at_first is None:
        before = replace(before, snapshot=replace(before.snapshot, at_first=frozenset(judged.facts.witnesses)))
    return look_again(context.readers, before, context.settings, kinds)


def write(judged: JudgedPlan, chain: Chain, acting: ApplyContext) -> frozenset[str]:
    """Apply what can be done now, keep in the ``chain`` how each change ended, and return the kinds that were tried.

    An approval that is needed is marked as used before, so that it counts once. The pass gives way when another one is
    called for, and a series of preemptible changes also when it alone keeps the chain's next pass from beginning.
    Approved changes are carried out completely, unless one of them does not end.
    """
    chain.writes += 1
    snapshot = judged.facts.snapshot
    use_up(judged, acting, chain)
    todo = bridged(chain.todo(judged.plan), judged.plan)
    acting.progress.begin(todo)
    done = partial(tell_outcome, acting, snapshot)
    pressure = Pressure(
        acting.under_way,
        acting.is_called,
        is_awaited=chain.may_write and chain.has_more(judged.plan),
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
            barred=chain.barred,
        )
    finally:
        acting.progress.end()
    for change in todo:
        chain.add(judged.plan.by_key[change.key], outcomes[change.key])
    ended = tuple(acting.under_way.ended())
    for change, outcome in ended:
        chain.add(change, outcome)
        done(change, outcome)
    chain.add_approved(judged)
    tried = [change for change in todo if not isinstance(outcomes[change.key], Skipped)]
    return frozenset(change.kind for change in (*tried, *(change for change, _ in ended)))


def _ended(context: PlanContext, acting: ApplyContext, chain: Chain, judged: JudgedPlan) -> Report:
    """The report of a chain whose last pass has this plan; all of it is told and remembered."""
    seen = report_of(context, replace(judged, not_found=chain.not_found))
    seen = replace(seen, notes=(*seen.notes, *chain.notes))
    is_whole = not is_incomplete(seen)
    tried = chain.attempted(judged.plan if is_whole else None)
    lines = chain.lines(judged.plan, _left(chain, judged, acting), is_whole=is_whole)
    report = with_states(context, replace(seen, lines=lines), judged)
    tell_of_pass(context, acting, tried, chain.first or judged.facts.snapshot, judged, report.states)
    if is_whole and context.uses is not None:
        strike(chain, judged, context, acting)
    context.history.let_go(chain.let_pass)
    is_stopped = acting.stop.is_set()
    if not is_stopped and not context.only:
        has_changed = any(isinstance(line.outcome, Applied) for line in tried)
        context.records.project.keep(judged.facts.snapshot, has_changed=has_changed)
    may_ask = is_reachable(judged.observation) and not is_stopped
    return with_cost(context, report, chain.first, acts=True, may_ask=may_ask)


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
    held = warnings(plan, facts.snapshot, facts.desired, context.blank.approve_flags, tried)
    ill = () if facts.settings.only else warnings_on_states(states, facts.snapshot)
    doubts = doubts_on_states(states, facts.snapshot)
    acting.events.announce((*at_most(MOST_EVENTS, (*ill, *held), done), *doubts), facts.snapshot.taken_at)
    if not acting.stop.is_set():
        told = replace(facts, plan=plan, settings=context.settings)
        acting.conditions.write(tuple(acting.conditions.due(told, tried, states)))
        acting.node_conditions.write(tuple(acting.node_conditions.due(told, tried)))


def _left(chain: Chain, judged: JudgedPlan, acting: ApplyContext) -> Callable[[Change], Outcome | None]:
    """The outcome of a change that is allowed and was not carried out."""
    if acting.stop.is_set():
        return lambda _change: Skipped(STOPPED)
    if fatal_errors(judged.observation, judged.plan):
        return lambda _change: None
    return chain.left(judged.plan)
