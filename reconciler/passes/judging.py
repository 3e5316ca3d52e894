"""Judging of a world: what is wanted, what differs, and what of that may be done, with the word of people."""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field, replace

from desired.guards.absence import servers_to_confirm
from desired.guards.anchor import AnchorState, anchor_of, asks_for_memory, is_own_project
from desired.guards.filters import explain_strange_keys, filtered, restrict
from desired.guards.guard import GuardInput, GuardResult
from desired.guards.judge import ask_guards, judge
from desired.load_balancers.ownership import matters
from desired.model.key import PLAN, Key, ObjectKind
from desired.model.route import route_key
from desired.model.settings import Settings
from desired.model.snapshot import Snapshot
from desired.plan.change import GuardName, Hold, Plan, Verdict
from desired.plan.evidence import FRESH
from desired.plan.grants import Grant, Here, Source, by_hold
from desired.plan.notes import Note, NoteKind
from desired.plan.setbacks import Setbacks
from desired.planner import compute_desired, diff
from desired.rules.guards import SETTINGS_CHANGED
from desired.section import Present, Unknown
from desired.syntax.provider_id import Provider
from reconciler.observe.approvals import observe_approvals
from reconciler.observe.kubernetes import look_up_memory
from reconciler.observe.robot import RobotCache
from reconciler.observe.servers_by_id import MOST_AT_ONCE, Confirmer
from reconciler.observe.world import Observation, Readers, silent_robot_servers
from reconciler.passes.context import PlanContext
from reconciler.result import is_read


@dataclass(frozen=True, slots=True)
class JudgedPlan:
    """A plan with verdicts, and what lets held changes of it pass."""

    observation: Observation
    """What it was made from, with what was asked for because of it."""
    plan: Plan
    """The part of ``whole`` to look at: with ``--only`` the objects that were asked for."""
    facts: GuardInput
    """What it was made and judged from: what this run may make, before any guard spoke, and what it leaves out."""
    whole: Plan
    """All of the plan, as its guards have judged it."""
    results: tuple[GuardResult, ...] = ()
    """What each guard said of it."""
    granted: Mapping[str, Collection[Grant]] = field(default_factory=dict)
    """Hash of a hold → the grants of it that count now."""
    not_found: tuple[str, ...] = ()
    """A sentence on each key of ``--only`` that names nothing."""

    @property
    def names_left(self) -> frozenset[str]:
        """The names of the differences that used approvals go on to let pass."""
        return frozenset(name for grants in self.granted.values() for grant in grants for name in grant.left)

    @property
    def withheld(self) -> Mapping[str, GuardName]:
        """Key of each change that a person would have to approve or that is refused, or that comes after one, or after
        what ``--only`` leaves out → the guard that withholds it. What waits for anything else may become possible in a
        later pass."""
        decisions = {change.key: change.decision for change in self.plan.changes}
        stands = (Verdict.HELD, Verdict.REFUSED)
        rules = {each.rule for each in decisions.values() if each.verdict in stands}
        rules |= {GuardName.ONLY}
        return {key: each.rule for key, each in decisions.items() if each.rule is not None and each.rule in rules}


def judge_world(
    context: PlanContext, observation: Observation, setbacks: Setbacks, *, most: int = MOST_AT_ONCE
) -> JudgedPlan:
    """The judged plan of what was read, planned once more if an answer says more than the lists did. ``most`` servers
    on whose absence it rests are asked for by id, and what the cluster remembers of its project. Never raises an
    ApiError.

    No server is asked for twice in a chain, and those for which there was no room at first are asked for in its later
    passes. The plan that asks knows no answers: these must not decide which servers are still of interest. What is
    remembered is asked for first: it tells whether an answer is that of the cluster's own project.
    """
    readers, settings = context.readers, context.settings
    robot = observation.snapshot.robot
    unasked = replace(observation.snapshot, confirmations={}, robot=robot and replace(robot, confirmations={}))
    facts = _planned(context, observation, unasked, setbacks)
    if facts.snapshot.at_first is None:
        facts = replace(facts, snapshot=with_memory(readers, settings, facts.snapshot, context.namespace))
    snapshot = confirmed(readers.confirmer, facts.plan, facts.snapshot, settings, most)
    if readers.robot is not None and snapshot.robot is not None:
        snapshot = _with_fresh_list(readers.robot.cache, facts.plan, snapshot, settings)
        snapshot = confirmed(readers.robot.confirmer, facts.plan, snapshot, settings, most)
    if snapshot != facts.snapshot:
        facts = _planned(context, observation, snapshot, setbacks)
    return _judged(context, observation, context.history.with_peaks(facts))


def _planned(context: PlanContext, observation: Observation, snapshot: Snapshot, setbacks: Setbacks) -> GuardInput:
    """The desired state of ``snapshot``, and the changes that lead there."""
    settings = context.settings
    desired = compute_desired(snapshot, settings, setbacks, observation.matches)
    return GuardInput(diff(snapshot, desired, settings), snapshot, settings, desired, setbacks)


def _with_fresh_list(cache: RobotCache, plan: Plan, snapshot: Snapshot, settings: Settings) -> Snapshot:
    """``snapshot`` with a list of Robot servers that is fresh enough to prove an absence, if ``plan`` rests on one.
    Whether its servers are on was asked in this pass."""
    is_fresh = snapshot.robot is None or snapshot.robot.age <= FRESH
    if is_fresh or not servers_to_confirm(plan, snapshot, settings, Provider.ROBOT):
        return snapshot
    silent = silent_robot_servers(snapshot, settings)
    return replace(snapshot, robot=cache.with_power(cache.read(FRESH).account, silent, most=0))


def with_memory(readers: Readers, settings: Settings, snapshot: Snapshot, namespace: str) -> Snapshot:
    """``snapshot`` with what the cluster remembers of its project, where nothing else identifies the project; else as
    it is, without a request."""
    if not asks_for_memory(snapshot, settings):
        return snapshot
    return replace(snapshot, remembered=look_up_memory(readers.kubernetes, namespace, snapshot.cluster_uid))


def confirmed(
    confirmer: Confirmer, plan: Plan, snapshot: Snapshot, settings: Settings, most: int = MOST_AT_ONCE
) -> Snapshot:
    """``snapshot`` with what is known by id of the servers on whose absence ``plan`` rests; ``most`` of them are asked
    for. What was said by another project counts for nothing."""
    wanted = servers_to_confirm(plan, snapshot, settings, confirmer.provider)
    is_own = bool(wanted) and _is_own(confirmer, snapshot, settings)
    return confirmer.confirm(snapshot, wanted, most, in_own_project=is_own)


def _is_own(confirmer: Confirmer, snapshot: Snapshot, settings: Settings) -> bool:
    """Whether the project, or the account, may be this cluster's."""
    anchor = anchor_of(confirmer.provider, snapshot, settings)
    if confirmer.provider is Provider.CLOUD:
        return is_own_project(anchor, snapshot, settings)
    return anchor.state in (AnchorState.HOLDS, AnchorState.NONE)


def _judged(context: PlanContext, observation: Observation, facts: GuardInput) -> JudgedPlan:
    """The verdicts on a plan. ConfigMaps are read for approvals only when something is held: an idle pass asks
    nothing."""
    facts = filtered(facts, context.only, context.agreement.left_out(facts.plan))
    snapshot, here = facts.snapshot, Here.of(facts.snapshot)
    observation = replace(observation, snapshot=snapshot)
    passing = [grant for grant in context.flagged if not grant.is_stored]
    granted, results = by_hold(passing, here), ask_guards(facts)
    whole = judge(facts, granted.keys(), results)
    if any(not hold.approved for hold in whole.holds):
        stored, notes = _stored(context, facts, whole.holds)
        if stored and not context.as_unapproved:
            granted = by_hold((*passing, *stored), here)
            whole = judge(facts, granted.keys(), results)
        whole = replace(whole, notes=(*whole.notes, *notes))
    if says := context.records.status.changed_settings(snapshot, is_planning=bool(whole.changes)):
        whole = replace(whole, notes=(*whole.notes, SETTINGS_CHANGED.note(PLAN, settings=says)))
    # What a saved plan was restricted to may have gone since, which is no typing error.
    not_found = explain_strange_keys(whole, context.settings.only, tuple(_known_keys(snapshot)))
    part = context.agreement.noted(restrict(whole, context.only))
    if not is_read(snapshot):  # it may be what could not be read
        part = replace(part, notes=(*part.notes, *(Note(PLAN, NoteKind.PARTIAL, text) for text in not_found)))
        not_found = ()
    return JudgedPlan(observation, part, facts, whole, results, granted, not_found)


def _stored(
    context: PlanContext, facts: GuardInput, holds: Collection[Hold]
) -> tuple[tuple[Grant, ...], tuple[Note, ...]]:
    """The approvals of people and of this run, and notes on what could not be read, and on approvals that are void
    although what they are of is held."""
    here = Here.of(facts.snapshot)
    found = observe_approvals(context.readers.kubernetes, context.namespace, here.cluster)
    given = (*found.given, *(grant for grant in context.flagged if grant.is_stored))
    is_unread, unread = isinstance(found.record, Unknown), ""
    if context.uses is not None:
        found = replace(found, record=context.uses.known(found.record, here))
    if found.unread:
        unread = f"approvals could not be read, so none counts: {found.unread}"
    if isinstance(found.record, Unknown) and (given or is_unread):  # without a ConfigMap nothing may be approved yet
        unread = f"no approval counts: {found.record.why}"
    grants = found.judged(given)
    notes = (Note(PLAN, NoteKind.APPROVAL, unread),) if unread else ()
    return grants, (*notes, *_notes_on_void(grants, holds, here))


def _notes_on_void(found: Collection[Grant], holds: Collection[Hold], here: Here) -> Iterator[Note]:
    """A note on each approval of a hold that exists and does not count, as its giver may believe that it does; none
    where another one of the same hold counts."""
    waiting = {hold.hash for hold in holds} - by_hold(found, here).keys()
    for approval in found:
        if approval.of in waiting and (why := approval.why_void(here)) is not None:
            by = "--approve" if approval.source is Source.FLAG else approval.approver
            text = f"the approval of {approval.of} by {by} {why}"
            yield Note(PLAN, NoteKind.APPROVAL, text)


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
    balanced = (service.id for service in snapshot.services if matters(service, snapshot.serving))
    for name in (*balanced, *snapshot.services.unreadable):
        yield from (Key(kind, name) for kind in _OF_A_SERVICE)
