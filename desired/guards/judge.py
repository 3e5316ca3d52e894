"""Judge: how the results of all guards become one decision for each change.

A guard looks at all that this run may make, and names what it withholds; it changes nothing."""

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import replace
from itertools import chain

from desired.guards.evidence import clock_notes, controller_notes
from desired.guards.filters import withheld_at_first
from desired.guards.guard import HASHED, GuardInput, GuardResult, Named, read_name
from desired.guards.project import anchor_notes
from desired.guards.relations import propagate
from desired.guards.statuses import project_statuses, without_withheld
from desired.guards.table import GUARDS
from desired.model.snapshot import Snapshot
from desired.model.to_builtins import digest
from desired.plan.change import (
    ALLOWED,
    Change,
    GuardDecision,
    Hold,
    Plan,
    Verdict,
    with_advice,
)
from desired.plan.notes import Note, NoteKind
from desired.section import Present
from desired.syntax.provider_id import Provider


def ask_guards(view: GuardInput) -> tuple[GuardResult, ...]:
    """The results of all guards for the plan, in the order of the guards, without those that withhold no change."""
    found = chain.from_iterable(guard(view) for guard in (*(row.judge for row in GUARDS.values()), withheld_at_first))
    return tuple(result for result in found if result.keys)


def judge(view: GuardInput, approved: Collection[str] = (), results: Iterable[GuardResult] | None = None) -> Plan:
    """The plan of ``view`` with a decision on each change, also if it is left out of the run, and its holds.

    ``approved`` are hashes of holds that a person approved, and names of differences. Such a hold, and the guard of
    such a difference, do not withhold them; other rules still hold. ``results`` are those of ``ask_guards``, if the
    guards were asked already. Refused beats held beats waiting beats allowed; a withheld change withholds related ones.
    """
    plan = view.plan
    decisions: dict[str, GuardDecision] = {}
    holds: list[Hold] = []
    found = ask_guards(view) if results is None else results
    least = dict(sorted(map(read_name, approved), reverse=True))
    for result, hold in chain.from_iterable(_by_name(each, view, least) for each in found):
        if hold is not None:
            holds.append(hold)
            if hold.approved:
                continue
        decision = GuardDecision(result.verdict, result.guard, with_advice(result.why, result.advice), result.due_in_s)
        for key in result.keys:
            if decision.verdict.weight > decisions.get(key, ALLOWED).verdict.weight:
                decisions[key] = decision
    judged = (change.ruled(decisions.get(change.key, ALLOWED)) for change in plan.changes)
    ruled = propagate((*judged, *view.left_out))
    if (settled := without_withheld(ruled, view)) is not None:
        return judge(replace(view, plan=settled), approved)
    return Plan(project_statuses(ruled, view), _notes(view), tuple(holds))


def _by_name(
    result: GuardResult, view: GuardInput, approved: Mapping[str, int]
) -> Iterator[tuple[GuardResult, Hold | None]]:
    """The result with its hold, None if it holds nothing; in two if approvals name some of its changes."""
    plan, snapshot = view.plan, view.snapshot
    hold = _hold(result, plan, snapshot, approved) if result.verdict is Verdict.HELD else None
    may_pass = result.keys if approved and hold is not None and not hold.approved else ()
    named_by = {key: result.names_of(plan.by_key[key], snapshot) for key in may_pass}
    passed = [key for key, names in named_by.items() if _are_named(names, approved)]
    if not passed:
        yield result, hold
        return
    named = replace(result, keys=tuple(passed))
    if result.named is Named.DIFFERENCES:  # the guard tells of those that are left
        rest = GUARDS[result.guard].judge(view.without(passed))
    else:
        rest = [replace(result, keys=tuple(key for key in result.keys if key not in {*passed}))]
    yield from ((each, _hold(each, plan, snapshot, approved)) for each in (named, *rest))


def _are_named(names: Collection[str], approved: Mapping[str, int]) -> bool:
    """Whether there are names, and approvals name all of them, with as many left as would be or fewer."""
    return bool(names) and all(of in approved and left >= approved[of] for of, left in map(read_name, names))


def _notes(view: GuardInput) -> tuple[Note, ...]:
    """The plan's notes, those on other controllers and on clocks, and the anchor's. A server that is not found in
    another project proves nothing for a Node: then the anchor speaks for all Nodes."""
    project, account = anchor_notes(view, Provider.CLOUD), anchor_notes(view, Provider.ROBOT)
    notes = (note for note in view.plan.notes if not project or note.kind is not NoteKind.UNMATCHED)
    others = (*controller_notes(view.snapshot), *clock_notes(view.snapshot))
    return (*notes, *others, *project, *account)


def hold_hash(rule: str, changes: Collection[Change], snapshot: Snapshot) -> str:
    """The identity of a hold: cluster, rule, and the exact changes. Other changes of the plan do not count."""
    uid = snapshot.cluster_uid.value if isinstance(snapshot.cluster_uid, Present) else None
    held = sorted(
        ([change.kind, change.key, change.before, change.after] for change in changes), key=lambda row: row[:2]
    )
    return digest(HASHED, uid, rule, held)


def _hold(result: GuardResult, plan: Plan, snapshot: Snapshot, approved: Mapping[str, int]) -> Hold:
    names = tuple(sorted({name for key in result.keys for name in result.names_of(plan.by_key[key], snapshot)}))
    digest_of_hold = hold_hash(result.guard, [plan.by_key[key] for key in result.keys], snapshot)
    if result.named is Named.DIFFERENCES:
        digest_of_hold = digest(HASHED, result.guard, names)
    return Hold(
        digest_of_hold,
        result.guard,
        result.value,
        result.limit,
        tuple(sorted(result.keys)),
        result.why,
        approved=digest_of_hold in approved or _are_named(names, approved),
        advice=result.advice,
        end=result.end,
        names=names,
    )
