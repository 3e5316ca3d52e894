"""Judge: the one list of guards, the guard ``policy``, and how the results of all of them become one decision for each
change.

A guard looks at the whole plan and names what it withholds; it changes nothing."""

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import replace
from difflib import get_close_matches
from itertools import chain
from types import MappingProxyType

from desired.guards.absence_proof import absence_proof
from desired.guards.anchor import AnchorState
from desired.guards.facts import Facts, Guard, GuardResult
from desired.guards.history import back_off, flapping, quota
from desired.guards.load_balancers import (
    address_in_use,
    adoption,
    certificate_issuance,
    exposure,
    foreign_owner,
    ip_loss,
    listener_loss,
    undo_window,
)
from desired.guards.loss import target_floor
from desired.guards.nodes import address_blast_radius, node_blast_radius
from desired.guards.preconditions import (
    anchor_notes,
    clock_notes,
    clock_skew,
    controller_notes,
    incomplete_snapshot,
    other_controller,
    project_anchor,
    robot_anchor_notes,
)
from desired.guards.routes import cluster_cidr, route_blast_radius
from desired.guards.settings_blast_radius import settings_blast_radius, settings_notes
from desired.guards.silent_cluster import silent_cluster
from desired.guards.targets import target_health
from desired.load_balancers.changes import publishes_otherwise
from desired.load_balancers.conditions import service_conditions
from desired.load_balancers.desired import DesiredLoadBalancer
from desired.load_balancers.release import LoadBalancerRelease
from desired.model.key import PLAN, Key, ObjectKind, is_below
from desired.model.load_balancer import KNOWN_AFTER_APPLY
from desired.model.service import ServiceCondition
from desired.model.settings import Policy
from desired.model.snapshot import Snapshot
from desired.model.to_builtins import digest
from desired.plan.change import ALLOWED, Change, GuardDecision, GuardName, Hold, Plan, Verdict, with_advice
from desired.plan.kinds import ChangeKind, Verb
from desired.plan.notes import Note, NoteKind
from desired.section import Present, Unmanaged


def policy(facts: Facts) -> Iterator[GuardResult]:
    """Changes that the operator's policy excludes: everything under ``observe``, removals under ``upsert``."""
    withheld: Mapping[Policy, frozenset[Verb]] = {
        Policy.OBSERVE: frozenset(Verb),
        Policy.UPSERT: frozenset({Verb.REMOVE}),
        Policy.SYNC: frozenset(),
    }
    verbs = withheld[facts.settings.policy]
    keys = tuple(change.key for change in facts.plan.changes if change.verb in verbs)
    yield GuardResult(GuardName.POLICY, Verdict.WAITING, keys, f"policy {facts.settings.policy} does not apply it")


def withheld_at_first(facts: Facts) -> Iterator[GuardResult]:
    """What a person had to approve when the pass began, or what was refused, waits for the next one, whatever the guard
    says by now, and so does what ``--only`` kept back: what a pass changes itself, such as the providerID of a Node or
    the owner of a load balancer, is no reason to do what its plan did not show as done. Speaks under the name of the
    guard that withheld it."""
    why = (
        "it was withheld when this pass began, and what a pass changes itself proves nothing: the next one judges anew"
    )
    for key, rule in facts.setbacks.withheld.items():
        if key in facts.plan.by_key:
            yield GuardResult(rule, Verdict.WAITING, (key,), why, due_in_s=0.0)


GUARDS: Mapping[GuardName, Guard] = MappingProxyType(
    {
        GuardName.INCOMPLETE_SNAPSHOT: incomplete_snapshot,
        GuardName.OTHER_CONTROLLER: other_controller,
        GuardName.PROJECT_ANCHOR: project_anchor,
        GuardName.SILENT_CLUSTER: silent_cluster,
        GuardName.ABSENCE_PROOF: absence_proof,
        GuardName.CLOCK_SKEW: clock_skew,
        GuardName.NODE_BLAST_RADIUS: node_blast_radius,
        GuardName.SETTINGS_BLAST_RADIUS: settings_blast_radius,
        GuardName.ADDRESS_BLAST_RADIUS: address_blast_radius,
        GuardName.FOREIGN_OWNER: foreign_owner,
        GuardName.ADOPTION: adoption,
        GuardName.UNDO_WINDOW: undo_window,
        GuardName.IP_LOSS: ip_loss,
        GuardName.ADDRESS_IN_USE: address_in_use,
        GuardName.LISTENER_LOSS: listener_loss,
        GuardName.TARGET_FLOOR: target_floor,
        GuardName.TARGET_HEALTH: target_health,
        GuardName.EXPOSURE: exposure,
        GuardName.CERTIFICATE_ISSUANCE: certificate_issuance,
        GuardName.ROUTE_BLAST_RADIUS: route_blast_radius,
        GuardName.CLUSTER_CIDR: cluster_cidr,
        GuardName.FLAPPING: flapping,
        GuardName.BACK_OFF: back_off,
        GuardName.QUOTA: quota,
        GuardName.POLICY: policy,
    }
)
"""Rule → guard. Of two rules with equally heavy verdicts the earlier one is named."""


def judge(facts: Facts, approved: Collection[str] = ()) -> Plan:
    """The plan of ``facts`` with a decision on each change and its holds.

    ``approved`` are hashes of holds that a person approved: such a hold withholds nothing, other rules still do.
    Refused beats held beats waiting beats allowed; a withheld change withholds what depends on it.
    """
    plan, snapshot = facts.plan, facts.snapshot
    decisions: dict[str, GuardDecision] = {}
    holds: list[Hold] = []
    for result in chain.from_iterable(guard(facts) for guard in (*GUARDS.values(), withheld_at_first)):
        if not result.keys:
            continue
        if result.verdict is Verdict.HELD:
            hold = _hold(result, plan, snapshot, approved)
            holds.append(hold)
            if hold.approved:
                continue
        decision = GuardDecision(result.verdict, result.rule, with_advice(result.why, result.advice), result.due_in_s)
        for key in result.keys:
            if decision.verdict.weight > decisions.get(key, ALLOWED).verdict.weight:
                decisions[key] = decision
    ruled = _withhold_related(change.ruled(decisions.get(change.key, ALLOWED)) for change in plan.changes)
    return Plan(_with_conditions(_without_idle_statuses(ruled, facts), facts), _notes(facts), tuple(holds))


def withhold(plan: Plan, decisions: Mapping[str, GuardDecision]) -> Plan:
    """The judged plan, in which the allowed changes with these keys wait as well, and with them what they would lead
    to: a part of a plan must not do what the guards have let pass only as a part of all of it."""
    ruled = tuple(
        change.ruled(decisions[change.key])
        if change.key in decisions and change.decision.verdict is Verdict.ALLOWED
        else change
        for change in plan.changes
    )
    left_out = [change for change in ruled if change.decision.rule is GuardName.AGREED_PLAN]
    return replace(plan, changes=_withhold_related(_withhold_farewells(ruled, left_out, GuardName.AGREED_PLAN)))


def _notes(facts: Facts) -> tuple[Note, ...]:
    """The plan's notes, those on other controllers and on clocks, and the anchor's. What is not found in another
    project says nothing of a Node: then the anchor speaks for all of them."""
    witnesses = facts.witnesses if facts.anchor.state is AnchorState.UNFOUND else ()
    anchor = anchor_notes(facts.anchor, witnesses, facts.snapshot.remembered)
    notes = (note for note in facts.plan.notes if not anchor or note.kind is not NoteKind.UNMATCHED)
    robot = robot_anchor_notes(facts.robot_anchor)
    others = (*controller_notes(facts.snapshot), *clock_notes(facts.snapshot), *settings_notes(facts))
    return (*notes, *others, *anchor, *robot)


def restrict(plan: Plan, only: Collection[str]) -> Plan:
    """The part of a judged plan that concerns ``only``: each key, everything below it, and what serves it, as its load
    balancer serves a Service. A note says how much was left out.

    The plan is judged first, because a guard has to see all of it: no limit can be avoided by asking piece by piece.
    """
    if not only:
        return plan
    chosen = tuple(change for change in plan.changes if is_below(change.key, only) or change.owner in only)
    kept = {change.key for change in chosen}
    left = plan.by_key.keys() - kept
    others = (change for change in plan.changes if change.key in left)
    part = _withhold_farewells(tuple(_without_its_basis(change, left) for change in chosen), others, GuardName.ONLY)
    changes = _withhold_dependents(part)
    notes = tuple(note for note in plan.notes if note.row.is_of_the_whole or is_below(note.key, only))
    left_out = len(plan.changes) - len(changes)
    rest = "1 other change is" if left_out == 1 else f"{left_out} other changes are"
    scope = Note(PLAN, NoteKind.PARTIAL, f"only {', '.join(only)} is looked at; {rest} left out")
    holds = tuple(hold for hold in plan.holds if kept.intersection(hold.keys))
    return Plan(changes, (*notes, scope), holds)


def explain_strange_keys(plan: Plan, only: Collection[str], known: Collection[str]) -> tuple[str, ...]:
    """A sentence on each key of ``only`` that is no kind of object, and neither in the whole plan nor among ``known``,
    the keys of what was observed, each with what is nearest. A typing error in cron must not look like a converged
    cluster."""
    things = sorted({*plan.by_key, *known}) if only else ()
    strange = (key for key in only if key not in set(ObjectKind) and not _names_something(key, things))
    return tuple(f"--only {key} names nothing that was observed or planned{_nearest(key, things)}" for key in strange)


def _names_something(key: str, things: Collection[str]) -> bool:
    return any(is_below(thing, (key,)) or is_below(key, (thing,)) for thing in things)


def _nearest(key: str, things: Collection[str]) -> str:
    near = get_close_matches(key, things, n=3)
    return f"; nearest: {', '.join(near)}" if near else ""


def _without_its_basis(change: Change, left_out: Collection[str]) -> Change:
    """A change waits when something that has to be done first is left out."""
    missing = [key for key in change.depends_on if key in left_out]
    if not missing or change.decision.verdict is not Verdict.ALLOWED:
        return change
    return change.ruled(GuardDecision(Verdict.WAITING, GuardName.ONLY, f"comes after {missing[0]}, which is left out"))


def hold_hash(rule: str, changes: Collection[Change], snapshot: Snapshot) -> str:
    """The identity of a hold: cluster, rule, and what exactly is held, whatever else the plan has."""
    uid = snapshot.cluster_uid.value if isinstance(snapshot.cluster_uid, Present) else None
    held = sorted(
        ([change.kind, change.key, change.before, change.after] for change in changes), key=lambda row: row[:2]
    )
    return digest(uid, rule, held)


def _hold(result: GuardResult, plan: Plan, snapshot: Snapshot, approved: Collection[str]) -> Hold:
    digest_of_hold = hold_hash(result.rule, [plan.by_key[key] for key in result.keys], snapshot)
    return Hold(
        digest_of_hold,
        result.rule,
        result.value,
        result.limit,
        tuple(sorted(result.keys)),
        result.why,
        approved=digest_of_hold in approved,
        advice=result.advice,
        end=result.end,
    )


def _withhold_related(changes: Iterable[Change]) -> tuple[Change, ...]:
    """Withhold what may not be done without the changes that are withheld."""
    return _withhold_dependents(_withhold_preparations(_withhold_dependents(_withhold_moves(tuple(changes)))))


def _withhold_dependents(changes: tuple[Change, ...]) -> tuple[Change, ...]:
    """Withhold whatever depends, directly or not, on a change that is withheld."""
    by_key: dict[str, Change] = {change.key: change for change in changes}
    settled = False
    while not settled:
        settled = True
        for change, blocker in _blocked(tuple(by_key.values()), by_key):
            why = f"comes after {blocker.key}, which is {blocker.decision.verdict}"
            decision = replace(blocker.decision, verdict=Verdict.WAITING, why=why)
            by_key[change.key] = change.ruled(decision)
            settled = False
    return tuple(by_key.values())


def _withhold_moves(changes: tuple[Change, ...]) -> tuple[Change, ...]:
    """Withhold that a load balancer leaves a network while a target has to wait that would be added again from the next
    place: it would be lost for that time."""
    places = {change.key for change in changes if change.kind == ChangeKind.LB_NETWORK}
    late = {
        change.owner: change
        for change in changes
        if change.kind == ChangeKind.LB_TARGET
        and change.verb is Verb.ADD
        and change.decision.rule in (GuardName.BACK_OFF, GuardName.FLAPPING, GuardName.AGREED_PLAN)
        and places.intersection(change.depends_on)
    }

    def ruled(change: Change) -> Change:
        after = late.get(change.owner)
        leaves = change.kind == ChangeKind.LB_NETWORK and change.before is not None
        if after is None or not leaves or change.decision.verdict is not Verdict.ALLOWED:
            return change
        why = f"is made together with {after.key}, which is {after.decision.verdict}"
        return change.ruled(replace(after.decision, verdict=Verdict.WAITING, why=why))

    return tuple(map(ruled, changes))


def _withhold_farewells(changes: tuple[Change, ...], left_out: Iterable[Change], rule: GuardName) -> tuple[Change, ...]:
    """Withhold by this rule that a target goes while one that should come is ``left_out`` of the plan: ``target-floor``
    has counted on it, and ``target-health`` waits for none where nothing answers."""
    left = {
        change.owner: change for change in left_out if change.kind == ChangeKind.LB_TARGET and change.verb is Verb.ADD
    }

    def ruled(change: Change) -> Change:
        other = left.get(change.owner)
        goes = change.kind == ChangeKind.LB_TARGET and change.verb is Verb.REMOVE
        if other is None or not goes or change.decision.verdict is not Verdict.ALLOWED:
            return change
        why = f"stays until {other.key} comes, which is left out"
        return change.ruled(GuardDecision(Verdict.WAITING, rule, why))

    return tuple(map(ruled, changes))


def _withhold_preparations(changes: tuple[Change, ...]) -> tuple[Change, ...]:
    """Withhold what only prepares changes that are withheld: no finalizer is set for a load balancer that may not be
    created, and no certificate is requested that no port may use."""
    prepared: dict[str, list[Change]] = {}
    for change in changes:
        for key in change.depends_on:
            prepared.setdefault(key, []).append(change)

    def ruled(change: Change) -> Change:
        for_these = [after for after in prepared.get(change.key, ()) if after.kind in change.row.serves]
        withheld = [after for after in for_these if after.decision.verdict is not Verdict.ALLOWED]
        is_needed = change.decision.verdict is not Verdict.ALLOWED or not for_these or len(withheld) < len(for_these)
        return change if is_needed else _prepares_nothing(change, withheld[0])

    return tuple(map(ruled, changes))


def _prepares_nothing(change: Change, after: Change) -> Change:
    why = f"only prepares {after.key}, which is {after.decision.verdict}"
    return change.ruled(replace(after.decision, verdict=Verdict.WAITING, why=why))


def _without_idle_statuses(changes: tuple[Change, ...], facts: Facts) -> tuple[Change, ...]:
    """The changes without the status of a Service that waits for changes of its load balancer which are withheld, or
    were refused: as long as that stays as it is, what is published is right."""
    made: dict[Key, list[Change]] = {}
    for change in changes:
        if change.decision.verdict is Verdict.ALLOWED and change.key not in facts.setbacks.refused:
            made.setdefault(change.owner, []).append(change)

    def is_idle(change: Change) -> bool:
        lb = facts.desired.services.get(change.owner.name) if _awaits_parts(change) else None
        if not isinstance(lb, DesiredLoadBalancer) or lb.present is None:
            return False
        return not publishes_otherwise(lb, lb.present, made.get(change.owner, ()), lb.service.ingress)

    return tuple(change for change in changes if not is_idle(change))


def _awaits_parts(change: Change) -> bool:
    """Whether it is the status of a Service with a load balancer that is there, and will have something else."""
    is_allowed = change.decision.verdict is Verdict.ALLOWED
    is_to_come = change.kind is ChangeKind.SERVICE_STATUS and change.after is KNOWN_AFTER_APPLY
    return is_allowed and is_to_come and change.cloud_id is not None


def _with_conditions(changes: tuple[Change, ...], facts: Facts) -> tuple[Change, ...]:
    """Put a Service's conditions on the write of its status: they need no write of their own then."""
    by_owner: dict[str, list[Change]] = {}
    for change in changes:
        by_owner.setdefault(change.owner, []).append(change)
    return tuple(
        replace(change, rides=conditions_of(change.owner, by_owner[change.owner], facts))
        if change.kind == ChangeKind.SERVICE_STATUS
        else change
        for change in changes
    )


def conditions_of(key: Key, changes: Collection[Change], facts: Facts) -> tuple[ServiceCondition, ...]:
    """The desired conditions of the Service with this key, by its judged changes; empty for another key."""
    service = facts.snapshot.service(key)
    lb = None if service is None else facts.desired.services.get(service.id)
    if lb is None:
        return ()
    notes = facts.notes_by_key.get(key, ())
    return service_conditions(lb.service, lb.match, facts.snapshot, tuple(changes), notes, _hostname(lb))


def _hostname(lb: DesiredLoadBalancer | LoadBalancerRelease) -> str | None:
    """The hostname that a Service asks for, "" when none; None when that cannot be read."""
    if not isinstance(lb, DesiredLoadBalancer) or "hostname" in lb.unclear:
        return None
    return "" if isinstance(lb.options.hostname, Unmanaged) else lb.options.hostname


def _blocked(changes: tuple[Change, ...], by_key: dict[str, Change]) -> Iterator[tuple[Change, Change]]:
    for change in changes:
        if change.decision.verdict is not Verdict.ALLOWED:
            continue
        for key in change.depends_on:
            if key in by_key and by_key[key].decision.verdict is not Verdict.ALLOWED:
                yield change, by_key[key]
                break
