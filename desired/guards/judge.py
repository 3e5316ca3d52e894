"""Judge: the one list of guards, and how the results of all of them become one decision for each change.

A guard looks at the whole plan and names what it withholds; it changes nothing."""

from collections.abc import Collection, Iterable, Mapping
from itertools import chain
from types import MappingProxyType

from desired.guards.absence import absence_proof
from desired.guards.anchor import AnchorState
from desired.guards.evidence import clock_notes, clock_skew, controller_notes, incomplete_snapshot, other_controller
from desired.guards.facts import Facts, Guard, GuardResult
from desired.guards.filters import policy, withheld_at_first
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
from desired.guards.project import anchor_notes, project_anchor, robot_anchor_notes
from desired.guards.relations import propagate
from desired.guards.routes import cluster_cidr, route_blast_radius
from desired.guards.settings_blast_radius import settings_blast_radius, settings_notes
from desired.guards.silent_cluster import silent_cluster
from desired.guards.statuses import project_statuses
from desired.guards.targets import target_health
from desired.model.snapshot import Snapshot
from desired.model.to_builtins import digest
from desired.plan.change import ALLOWED, Change, GuardDecision, GuardName, Hold, Plan, Verdict, with_advice
from desired.plan.notes import Note, NoteKind
from desired.section import Present

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


def ask_guards(facts: Facts) -> tuple[GuardResult, ...]:
    """What each guard says of the plan, in the order of the guards; empty for one that withholds nothing."""
    found = chain.from_iterable(guard(facts) for guard in (*GUARDS.values(), withheld_at_first))
    return tuple(result for result in found if result.keys)


def judge(facts: Facts, approved: Collection[str] = (), results: Iterable[GuardResult] | None = None) -> Plan:
    """The plan of ``facts`` with a decision on each change and its holds.

    ``approved`` are hashes of holds that a person approved: such a hold withholds nothing, other rules still do.
    ``results`` are those of ``ask_guards``, where the guards were asked already. Refused beats held beats waiting beats
    allowed; a withheld change withholds what is related to it.
    """
    plan, snapshot = facts.plan, facts.snapshot
    decisions: dict[str, GuardDecision] = {}
    holds: list[Hold] = []
    for result in ask_guards(facts) if results is None else results:
        if result.verdict is Verdict.HELD:
            hold = _hold(result, plan, snapshot, approved)
            holds.append(hold)
            if hold.approved:
                continue
        decision = GuardDecision(result.verdict, result.rule, with_advice(result.why, result.advice), result.due_in_s)
        for key in result.keys:
            if decision.verdict.weight > decisions.get(key, ALLOWED).verdict.weight:
                decisions[key] = decision
    ruled = propagate(change.ruled(decisions.get(change.key, ALLOWED)) for change in plan.changes)
    return Plan(project_statuses(ruled, facts), _notes(facts), tuple(holds))


def _notes(facts: Facts) -> tuple[Note, ...]:
    """The plan's notes, those on other controllers and on clocks, and the anchor's. What is not found in another
    project says nothing of a Node: then the anchor speaks for all of them."""
    witnesses = facts.witnesses if facts.anchor.state is AnchorState.UNFOUND else ()
    anchor = anchor_notes(facts.anchor, witnesses, facts.snapshot.remembered)
    notes = (note for note in facts.plan.notes if not anchor or note.kind is not NoteKind.UNMATCHED)
    robot = robot_anchor_notes(facts.robot_anchor)
    others = (*controller_notes(facts.snapshot), *clock_notes(facts.snapshot), *settings_notes(facts))
    return (*notes, *others, *anchor, *robot)


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
