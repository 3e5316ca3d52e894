"""One pass: observe, plan, judge, apply, observe again, until there is nothing left that this pass can do.

``plan_once`` and ``explain_once`` only read; ``converge`` also acts. Whether a run may write is decided in
``reconciler.runtime``.
"""

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field, replace

from actuators.http.errors import ApiError, Denied, Throttled
from actuators.outcome import STOPPED, Applied, Failed, Outcome, Skipped
from desired.guards.anchor import witnesses
from desired.guards.filters import explain_strange_keys, restrict
from desired.guards.guard import GuardInput
from desired.guards.history import notes_on_suspended
from desired.guards.judge import ask_guards, judge
from desired.guards.loss import takes_targets
from desired.guards.settings_blast_radius import settings_change
from desired.load_balancers.prices import cost_of_cluster
from desired.load_balancers.wanted import matters
from desired.model.former_settings import FormerSettings
from desired.model.key import PLAN, Key, ObjectKind
from desired.model.price import Cost
from desired.model.route import route_key
from desired.model.settings import Settings
from desired.model.snapshot import Snapshot
from desired.plan.change import Change, GuardName, Hold, Plan, Verdict
from desired.plan.grants import Grant, Here, Source, by_hold
from desired.plan.notes import Note, NoteKind
from desired.plan.ordering import urgent
from desired.plan.setbacks import NO_SETBACKS, Setbacks
from desired.plan.suspended import SUSPENDED, trace_in
from desired.planner import DesiredState, compute_desired, diff
from desired.section import Absent, Present, Section, Unknown
from reconciler.config.flags import Detail
from reconciler.observe.approvals import observe_approvals
from reconciler.observe.kubernetes import observe_identity
from reconciler.observe.world import Observation, Readers, observe_again, observe_world
from reconciler.passes.agreement import Agreement
from reconciler.passes.attempts import Attempts, as_tried
from reconciler.passes.records import Ended, Records, unkept
from reconciler.passes.rounds import ApplyContext, JudgedPlan, apply_round, tell
from reconciler.result import Explained, Line, MonthlyCost, Report, Requests, is_incomplete
from reconciler.telemetry.announcements import MOST_EVENTS, at_most, on_pass, warnings
from reconciler.telemetry.conditions import conditions_due

ROUNDS = 3
"""How often a pass plans and applies: a round for what is known, one for what the first brought to light, one spare."""
_NEEDED = ("servers", "network")
"""Parts of an observation that every decision needs. Where another part is missing, only what is decided from that
waits."""
_PROOF = "members"
"""A part that is read only to prove that something may be removed: without it that stays, and nothing is wrong."""
_OF_CLUSTER = "services"
"""The part that is not read from Hetzner."""
_OF_ROBOT = "robot"
"""The part that has credentials of its own: without it, all that concerns Hetzner Cloud goes on."""


@dataclass(frozen=True, slots=True)
class PlanContext:
    """The context in which a pass plans: readers, settings, and where approvals are kept."""

    readers: Readers
    settings: Settings
    namespace: str
    flagged: tuple[Grant, ...] = ()
    """What ``--approve`` lets through in this run."""
    approve_flags: str = ""
    """What ``reconcile approve`` has to be given as well, to reach the same cluster and namespace."""
    setbacks: Callable[[], Setbacks] = Setbacks
    """What is held against changes in the pass that begins now, by the memory of a loop."""
    agreement: Agreement | None = None
    """What somebody has agreed to: a pass makes no other changes. None: nobody was asked."""
    detail: Detail = Detail.FOLDED
    """How much of a report its text tells."""
    next_step: str = ""
    """The command that does what a dry run plans; "" where there is none."""
    records: Records = field(default_factory=lambda: unkept(Settings()))
    """What is remembered from pass to pass; by default nothing is."""

    @property
    def only(self) -> tuple[str, ...]:
        """The keys that are looked at: as asked for, or else as when the plan was made that was agreed to."""
        return self.settings.only or (self.agreement.only if self.agreement else ())


def plan_once(plan_context: PlanContext) -> Report:
    """The plan of the present state. Sends only reads; never raises an ApiError."""
    try:
        observation = observe_world(plan_context.readers, plan_context.settings, plan_context.namespace)
    except ApiError as error:
        return Report(errors=(str(error),), requests=_requests(plan_context.readers))
    judged = _judge(plan_context, observation, plan_context.setbacks(), beside_controller=True)
    report = _report(plan_context, observation, judged)
    planned = [line.change for line in report.lines if line.change.decision.verdict is not Verdict.REFUSED]
    cost = _cost(plan_context, report, planned, observation.snapshot, may_ask=_is_reachable(observation))
    return replace(report, cost=cost, requests=_requests(plan_context.readers))


def explain_once(plan_context: PlanContext, key: Key) -> Explained:
    """Everything that decides now on the Node or Service with this key. Sends only reads; never raises an ApiError."""
    from desired.explain import explain_object  # noqa: PLC0415 - a pass need not pay for it

    try:
        observation = observe_world(plan_context.readers, plan_context.settings, plan_context.namespace)
    except ApiError as error:
        return Explained(key, Report(errors=(str(error),), requests=_requests(plan_context.readers)))
    judged = _judge(plan_context, observation, NO_SETBACKS, beside_controller=True)
    report = _report(plan_context, observation, judged)
    found = explain_object(
        key, observation.snapshot, plan_context.settings, judged.plan, judged.desired, judged.settings_change
    )
    if isinstance(found, str):
        errors, misconfigured = (*report.errors, found), (*report.misconfigured, found)
        return Explained(key, replace(report, errors=errors, misconfigured=misconfigured))
    return Explained(key, report, found)


def converge(plan_context: PlanContext, apply_context: ApplyContext) -> Report:
    """The report of a whole pass: what was applied, and what is left in a plan that was observed afterwards.

    Never raises an ApiError. If the state cannot be observed any more after a write, that is an error, and what was
    written is still in the report.
    """
    attempts = Attempts()
    observation: Observation | None = None
    judged: JudgedPlan | None = None
    first: Snapshot | None = None
    ended = apply_context.under_way.begin_pass()
    for change, outcome in ended:
        attempts.add(change, outcome)
    try:
        setbacks = plan_context.setbacks()
        observation = observe_world(plan_context.readers, plan_context.settings, plan_context.namespace)
        first = replace(observation.snapshot, nodes=Section())  # Nodes are read anew, and kept once
        for change, outcome in ended:
            tell(apply_context, observation.snapshot, change, outcome)
        judged = _judge(plan_context, observation, setbacks)
        if refused := _why_disagreed(plan_context, observation.snapshot, judged):
            report = _report(plan_context, observation, judged)
            return replace(report, errors=(*report.errors, refused))
        unneeded = _unneeded(plan_context, observation.snapshot, judged)
        strange = judged.strange  # what this pass removes was something when it began
        setbacks = replace(setbacks, withheld=_withheld(judged.plan))
        let_go: frozenset[int] = frozenset()
        for turn in range(ROUNDS):
            if fatal_errors(observation, judged.plan) or is_over(judged.plan, attempts, apply_context, turn):
                break
            if turn == 0:  # what a pass writes is no witness of whose project it is
                known = frozenset(witnesses(observation.snapshot, plan_context.settings))
                observation = replace(observation, snapshot=replace(observation.snapshot, at_first=known))
            is_last = turn == ROUNDS - 1
            kinds = apply_round(judged, observation.snapshot, apply_context, attempts, is_last=is_last)
            if _used(judged, attempts, GuardName.SETTINGS_BLAST_RADIUS):
                plan_context.records.settings.accept()  # what later rounds and passes do of it is asked no more
            let_go |= {change.cloud_id for change in _used(judged, attempts, GuardName.TARGET_FLOOR) if change.cloud_id}
            observation = observe_again(
                plan_context.readers, observation, plan_context.settings, kinds, is_last=is_last
            )
            judged = _judge(plan_context, observation, replace(setbacks, refused=attempts.failed))
        seen = _report(plan_context, observation, replace(judged, strange=strange))
        seen = replace(seen, notes=(*seen.notes, *unneeded))
        is_whole = not is_incomplete(seen)
        tried = attempts.as_seen(judged.plan, is_whole=is_whole)
        _tell(plan_context, apply_context, tried, first, observation.snapshot, judged)
    except ApiError as error:
        report = Report(lines=attempts.tried(), errors=(str(error),), requests=_requests(plan_context.readers))
        report = replace(report, cost=_cost_of_done(plan_context, report, first, may_ask=False))
        return replace(
            report,
            snapshot=observation.snapshot if observation else None,
            desired=judged.desired if judged else None,
            detail=plan_context.detail,
        )
    left = _left(attempts, observation, judged.plan, apply_context)
    report = replace(seen, lines=attempts.lines(judged.plan, left, is_whole=is_whole))
    may_ask = _is_reachable(observation) and not apply_context.stop.is_set()
    report = replace(report, cost=_cost_of_done(plan_context, report, first, may_ask=may_ask))
    plan_context.records.keep(_ended(plan_context, apply_context, report, seen, observation, tried, let_go, judged))
    return replace(report, requests=_requests(plan_context.readers))


def _withheld(plan: Plan) -> Mapping[str, GuardName]:
    """Key of each change that a person would have to approve or that is refused, or that comes after one, or after what
    ``--only`` leaves out → the guard that withholds it. What waits for anything else may become possible in a later
    round."""
    decisions = {change.key: change.decision for change in plan.changes}
    stands = (Verdict.HELD, Verdict.REFUSED)
    rules = {each.rule for each in decisions.values() if each.verdict in stands} | {GuardName.ONLY}
    return {key: each.rule for key, each in decisions.items() if each.rule is not None and each.rule in rules}


def is_over(plan: Plan, attempts: Attempts, apply_context: ApplyContext, turn: int) -> bool:
    """Whether the pass ends before its round number ``turn``, from 0: it is stopped, there is nothing left to do, or
    something has come up and no urgent changes are left."""
    if apply_context.stop.is_set():
        return True
    todo = attempts.todo(plan)
    return not (urgent(todo) if turn and apply_context.is_called() else todo)


def _tell(
    plan_context: PlanContext,
    apply_context: ApplyContext,
    tried: tuple[Line, ...],
    first: Snapshot,
    last: Snapshot,
    judged: JudgedPlan,
) -> None:
    """Say in events what the pass did for Services, and what holds after it; the latter in conditions as well."""
    plan, tried = as_tried(judged.plan, tried, last, judged.setbacks)
    done = tuple(on_pass(tried, first, plan))
    for event in done:
        apply_context.events.send(event, last.taken_at)
    held = warnings(plan, last, judged.desired, judged.setbacks, plan_context.approve_flags, tried)
    apply_context.events.announce(tuple(at_most(MOST_EVENTS, held, done)), last.taken_at)
    if apply_context.conditions is not None and not apply_context.stop.is_set():
        apply_context.conditions.write(
            tuple(conditions_due(GuardInput(plan, last, plan_context.settings, judged.desired, judged.setbacks), tried))
        )


def _used(judged: JudgedPlan, attempts: Attempts, rule: GuardName) -> tuple[Change, ...]:
    """The changes of approved holds of this rule that were made, or tried."""
    approved = {key for hold in judged.plan.holds if hold.rule is rule and hold.approved for key in hold.keys}
    ended = attempts.tried() if approved else ()
    tried = (line.change for line in ended if isinstance(line.outcome, Applied | Failed))
    return tuple(change for change in tried if change.key in approved)


def _ended(
    plan_context: PlanContext,
    apply_context: ApplyContext,
    report: Report,
    seen: Report,
    observation: Observation,
    tried: Collection[Line],
    let_go: Collection[int],
    judged: JudgedPlan,
) -> Ended:
    """What is remembered of the pass: ``seen`` is the plan that is left, ``tried`` what was tried."""
    snapshot = observation.snapshot
    is_read = all(section.complete for section in snapshot.sections().values())
    is_sound = is_read and not isinstance(snapshot.network, Unknown) and not seen.obstacles
    return Ended(
        report,
        snapshot,
        [line.change for line in tried if isinstance(line.outcome, Applied)],
        let_go,
        judged.settings_change,
        is_sound=is_sound,
        is_whole=is_sound and not is_incomplete(seen),
        is_partial=apply_context.stop.is_set() or bool(plan_context.only),
    )


def _left(
    attempts: Attempts, observation: Observation, plan: Plan, apply_context: ApplyContext
) -> Callable[[Change], Outcome | None]:
    """The outcome of a change that is allowed and was not carried out."""
    if apply_context.stop.is_set():
        return lambda _change: Skipped(STOPPED)
    if fatal_errors(observation, plan):
        return lambda _change: None
    return attempts.left(plan)


def fatal_errors(observation: Observation, plan: Plan) -> tuple[str, ...]:
    """The reason why nothing should be applied at all: wrong credentials, an unreachable API, a missing network.

    Empty for trouble that leaves part of the snapshot: the guards judge what depends on it. A network that is missing
    from what seems to be another project is no second error: the anchor reports that already.
    """
    failures = {part: observation.failures[part] for part in _NEEDED if part in observation.failures}
    errors = [
        str(error)
        for part, error in failures.items()
        if isinstance(error, Denied)
        or (part == "servers" and not observation.snapshot.servers and not isinstance(error, Throttled))
    ][:1]  # all parts are of one API: what keeps one from being read keeps the others
    if isinstance(observation.snapshot.network, Absent) and not any(n.kind is NoteKind.ANCHOR for n in plan.notes):
        errors.append(str(observation.failures["network"]))
    return tuple(errors)


def all_errors(observation: Observation, plan: Plan) -> tuple[str, ...]:
    """The reason why the run is an error: all that is fatal, and a missing permission to read.

    The latter stops only what would be decided from that part: Nodes are initialized without the permission to list
    Services.
    """
    failures = {part: error for part, error in observation.failures.items() if part not in (_PROOF, _OF_ROBOT)}
    denied = {part: str(error) for part, error in failures.items() if isinstance(error, Denied)}
    of_cluster = tuple(error for part, error in denied.items() if part == _OF_CLUSTER)
    of_cloud = tuple(error for part, error in denied.items() if part != _OF_CLUSTER)
    return (*(fatal_errors(observation, plan) or of_cloud[:1]), *of_cluster)


def _robot_errors(observation: Observation) -> tuple[str, ...]:
    """The error of credentials that Robot refuses: a person has to act, as nothing is asked with them any more."""
    error = observation.failures.get(_OF_ROBOT)
    return (str(error),) if isinstance(error, Denied) else ()


def _judge(
    plan_context: PlanContext, observation: Observation, setbacks: Setbacks, *, beside_controller: bool = False
) -> JudgedPlan:
    """The judged plan. ConfigMaps are read only when something is held, for approvals, or when something is planned
    ``beside_controller``, for what that has suspended: an idle pass asks nothing."""
    snapshot, memory = observation.snapshot, plan_context.records.settings
    former = memory.recall(snapshot)
    desired, plan, settings = _planned(plan_context.settings, former, observation, setbacks)
    if former is None and (plan.changes or any(note.kind is NoteKind.KEPT for note in plan.notes)):
        former = memory.recall(snapshot, is_planning=True)
        desired, plan, settings = _planned(plan_context.settings, former, observation, setbacks, (desired, plan))
    if any(map(takes_targets, plan.changes)):
        setbacks = replace(setbacks, peaks=plan_context.records.peaks.peaks(snapshot))
    changed = settings_change(plan, snapshot, settings, setbacks, former)
    facts = GuardInput(plan, snapshot, settings, desired, setbacks, changed)
    here, granted = Here.of(snapshot), by_hold(plan_context.flagged, Here.of(snapshot))
    results = ask_guards(facts)
    judged = judge(facts, granted.keys(), results)
    is_held = any(not hold.approved for hold in judged.holds)
    if is_held or (beside_controller and plan.changes):
        found, why = _stored(plan_context, plan, judged.holds, snapshot, beside_controller=beside_controller)
        granted = by_hold((*plan_context.flagged, *found), here)
        plan = replace(plan, notes=(*plan.notes, *why))
        judged = judge(replace(facts, plan=plan), granted.keys(), results)
    # What a saved plan was restricted to may have gone since, which is no typing error.
    strange = explain_strange_keys(judged, plan_context.settings.only, tuple(_known_keys(snapshot)))
    part = restrict(judged, plan_context.only)
    if plan_context.agreement is not None:
        part = plan_context.agreement.bind(part)
    if any(not section.complete for section in snapshot.sections().values()):  # it may be what could not be read
        part = replace(part, notes=(*part.notes, *(Note(PLAN, NoteKind.PARTIAL, text) for text in strange)))
        strange = ()
    return JudgedPlan(part, desired, granted, setbacks, strange, judged, changed)


def _planned(
    settings: Settings,
    former: FormerSettings | Unknown | None,
    observation: Observation,
    setbacks: Setbacks,
    known: tuple[DesiredState, Plan] | None = None,
) -> tuple[DesiredState, Plan, Settings]:
    """The desired state and the plan, and the settings that they were made with, which know the former defaults.
    ``known`` is the same without these."""
    if isinstance(former, FormerSettings):
        settings = former.beside(settings)
    if known is not None and settings.former_defaults is None:
        return *known, settings
    matches = observation.matches if known is None else known[0].matches
    desired = compute_desired(observation.snapshot, settings, setbacks, matches)
    return desired, diff(observation.snapshot, desired, settings), settings


def why_void(plan_context: PlanContext) -> str | None:
    """The reason why this cluster is not the one, or this not the time, for which a plan was saved, by one request;
    None when it seems to be, or none is applied. A pass looks again. Raises an ApiError."""
    agreement = plan_context.agreement
    if agreement is None or agreement.grant.cluster is None:
        return None
    uid, now = observe_identity(plan_context.readers.kubernetes)
    return _why_void(agreement, Here(now, uid))


def _why_void(agreement: Agreement, here: Here) -> str | None:
    why = agreement.grant.why_void(here)
    return why and f"{agreement.name} {why}"


def _why_disagreed(plan_context: PlanContext, snapshot: Snapshot, judged: JudgedPlan) -> str | None:
    """The reason why nothing at all is done of what was agreed to; None when its changes are made."""
    agreement = plan_context.agreement
    if agreement is None:
        return None
    return _why_void(agreement, Here.of(snapshot)) or agreement.why_inexact(restrict(judged.whole, plan_context.only))


def _unneeded(plan_context: PlanContext, snapshot: Snapshot, judged: JudgedPlan) -> tuple[Note, ...]:
    """A note on what was agreed to and is not planned any more; what could not be read is not planned either."""
    is_whole = all(section.complete for section in snapshot.sections().values())
    return plan_context.agreement.unneeded(judged.whole) if plan_context.agreement and is_whole else ()


_OF_A_SERVICE = (ObjectKind.SERVICE, ObjectKind.LOAD_BALANCER, ObjectKind.CERTIFICATE)


def _known_keys(snapshot: Snapshot) -> Iterator[Key]:
    """Keys of all that was observed and may be changed, whatever is planned for it."""
    yield from (Key(ObjectKind.NODE, name) for name in (*snapshot.nodes.items, *snapshot.nodes.unreadable))
    network = snapshot.network.value if isinstance(snapshot.network, Present) else None
    if network is not None:
        yield Key(ObjectKind.NETWORK, network.id)
        yield from (route_key(network.id, route.destination) for route in snapshot.routes or ())
    if snapshot.services is None:
        return
    yield from (service.key for service in snapshot.services)
    balanced = (service.id for service in snapshot.services if matters(service))
    for name in (*balanced, *snapshot.services.unreadable):
        yield from (Key(kind, name) for kind in _OF_A_SERVICE)


def _stored(
    plan_context: PlanContext,
    plan: Plan,
    holds: Collection[Hold],
    snapshot: Snapshot,
    *,
    beside_controller: bool,
) -> tuple[tuple[Grant, ...], tuple[Note, ...]]:
    """The approvals in both ConfigMaps, and notes: on what could not be read, on approvals that are void although what
    they are of is held, and ``beside_controller`` on what that has suspended. Those from Git are read only when
    something is held."""
    is_held = any(not hold.approved for hold in holds)
    found = observe_approvals(plan_context.readers.kubernetes, plan_context.namespace, with_git=is_held)
    notes = _notes_on_suspended(found.data, plan, snapshot) if beside_controller else ()
    if found.unread and is_held:
        text = f"approvals could not be read, so none counts: {found.unread}"
        notes = (*notes, Note(PLAN, NoteKind.APPROVAL, text))
    if found.git_unread:
        text = f"approvals from Git could not be read, so none of these counts: {found.git_unread}"
        notes = (*notes, Note(PLAN, NoteKind.APPROVAL, text))
    return found.grants, (*notes, *_notes_on_void(found.grants, holds, Here.of(snapshot)))


def _notes_on_void(found: Collection[Grant], holds: Collection[Hold], here: Here) -> Iterator[Note]:
    """A note on each approval of a hold that exists and does not count: somebody believes that it does. Where another
    one of the same hold counts nobody waits for it."""
    waiting = {hold.hash for hold in holds} - by_hold(found, here).keys()
    for approval in found:
        if approval.of in waiting and (why := approval.why_void(here)) is not None:
            source = " in Git" if approval.source is Source.GIT else ""
            text = f"the approval of {approval.of} by {approval.by}{source} {why}"
            yield Note(PLAN, NoteKind.APPROVAL, text)


def _notes_on_suspended(data: Mapping[str, str], plan: Plan, snapshot: Snapshot) -> tuple[Note, ...]:
    """A note on each planned change that the running controller leaves alone, as far as the ConfigMap tells."""
    uid = snapshot.cluster_uid
    if not isinstance(uid, Present):
        return ()
    return notes_on_suspended(plan, snapshot, trace_in(data.get(SUSPENDED.key), uid.value, snapshot.taken_at))


def _report(plan_context: PlanContext, observation: Observation, judged: JudgedPlan) -> Report:
    """The report of a plan of which nothing was applied. A cluster CIDR that cannot be is an error that stops routes
    alone, credentials that Robot refuses one that stops its servers' Nodes alone, and a key of ``--only`` that names
    nothing one that stops nothing."""
    plan, routes = judged.plan, judged.desired.routes
    misconfigured = (*filter(None, [routes.error]), *_robot_errors(observation), *judged.strange)
    return Report(
        snapshot=observation.snapshot,
        lines=tuple(map(Line, plan.changes)),
        notes=plan.notes,
        holds=tuple(hold for hold in plan.holds if not hold.approved),
        errors=(*all_errors(observation, plan), *misconfigured),
        misconfigured=misconfigured,
        requests=_requests(plan_context.readers),
        approve_flags=plan_context.approve_flags,
        detail=plan_context.detail,
        next_step=plan_context.next_step,
        settings=plan_context.settings,
        desired=judged.desired,
    )


def _is_reachable(observation: Observation) -> bool:
    """Whether nothing that is read from Hetzner has just failed."""
    return observation.failures.keys() <= {_OF_CLUSTER, _OF_ROBOT}


def _cost_of_done(plan_context: PlanContext, report: Report, before: Snapshot | None, *, may_ask: bool) -> MonthlyCost:
    """What the changes that were applied make of the price of what there was ``before``."""
    done = [line.change for line in report.outcomes(Applied)]
    return MonthlyCost() if before is None else _cost(plan_context, report, done, before, may_ask=may_ask)


def _cost(
    plan_context: PlanContext, report: Report, changes: Collection[Change], before: Snapshot, *, may_ask: bool
) -> MonthlyCost:
    """What these changes of the report make of the price of what there was ``before``. The currency is asked for only
    where the report shows a price."""
    readers = plan_context.readers
    if not any(line.change.cost for line in report.lines):
        return MonthlyCost()
    currency = readers.currency.look_up(readers.hetzner, before.taken_at, may_ask=may_ask)
    costs = [change.cost for change in changes if change.cost is not None]
    if not costs:
        return MonthlyCost(currency)
    return MonthlyCost(currency, sum(costs, Cost()), cost_of_cluster(changes, before))


def _requests(readers: Readers) -> Requests:
    limit = readers.hetzner.rate_limit
    return Requests(
        readers.kubernetes.requests.total,
        readers.hetzner.requests.total,
        limit.remaining if limit else None,
        limit.limit if limit else None,
        readers.robot.cache.reader.requests.total if readers.robot else None,
    )
