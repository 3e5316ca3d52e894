"""Filters: what leaves changes out of a run whatever the guards say of them. These are the guard ``policy``, what was
withheld when the pass began, ``--only``, and a plan that was agreed to."""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace
from difflib import get_close_matches

from desired.guards.guard import GuardInput, GuardResult
from desired.guards.relations import propagate
from desired.model.key import PLAN, ObjectKind, is_below
from desired.model.settings import Policy
from desired.plan.change import GuardDecision, GuardName, Plan, Verdict
from desired.plan.kinds import Verb
from desired.rules.filters import EXCLUDED_BY_ONLY, ONLY_PART, UNKNOWN_KEY, UNKNOWN_KEY_NEAR
from desired.rules.guards import EXCLUDED_BY_POLICY, WITHHELD_BEFORE
from desired.syntax.bounds import counted


def policy(view: GuardInput) -> Iterator[GuardResult]:
    """Changes that the operator's policy excludes: everything under ``observe``, removals under ``upsert``."""
    withheld: Mapping[Policy, frozenset[Verb]] = {
        Policy.OBSERVE: frozenset(Verb),
        Policy.UPSERT: frozenset({Verb.REMOVE}),
        Policy.SYNC: frozenset(),
    }
    verbs = withheld[view.settings.policy]
    keys = [change.key for change in view.plan.changes if change.verb in verbs]
    yield GuardResult.of(EXCLUDED_BY_POLICY, keys, {"policy": view.settings.policy})


def withheld_at_first(view: GuardInput) -> Iterator[GuardResult]:
    """What a person had to approve when the pass began, or what was refused, waits for the next one, whatever the guard
    says by now, and so does what ``--only`` or an undo window kept back: what a pass changes itself, such as the
    providerID of a Node or the owner of a load balancer, is no reason to do what its plan did not show as done. Speaks
    under the name of the guard that withheld it."""
    for key, rule in view.setbacks.withheld.items():
        if key in view.plan.by_key:
            yield GuardResult.of(WITHHELD_BEFORE, (key,), guard=rule, due_in_s=0.0)


def withhold(plan: Plan, keys: Collection[str], decision: GuardDecision) -> Plan:
    """The judged plan, in which the allowed changes with these keys wait as well, and what is related to them: a part
    of a plan must not do what the guards have let pass only as a part of all of it."""
    left = {change.key for change in plan.allowed} & {*keys}
    changes = propagate(change.ruled(decision) if change.key in left else change for change in plan.changes)
    return replace(plan, changes=changes)


def restrict(plan: Plan, only: Collection[str]) -> Plan:
    """The part of a judged plan that concerns ``only``: each key, everything below it, and what serves it, as its load
    balancer serves a Service. A note says how much was left out.

    The plan is judged first, because a guard has to see all of it: no limit can be avoided by asking piece by piece.
    """
    if not only:
        return plan
    chosen = {change.key for change in plan.changes if is_below(change.key, only) or change.owner in only}
    keys = ", ".join(only)
    left_out = GuardDecision(Verdict.WAITING, GuardName.ONLY, EXCLUDED_BY_ONLY.text(keys=keys))
    ruled = propagate(change if change.key in chosen else change.ruled(left_out) for change in plan.changes)
    notes = tuple(note for note in plan.notes if note.row.is_of_the_whole or is_below(note.key, only))
    scope = ONLY_PART.note(PLAN, keys=keys, changes=counted(len(plan.changes) - len(chosen), "other change"))
    holds = tuple(hold for hold in plan.holds if chosen.intersection(hold.keys))
    return Plan(tuple(change for change in ruled if change.key in chosen), (*notes, scope), holds)


def explain_strange_keys(plan: Plan, only: Collection[str], known: Collection[str]) -> tuple[str, ...]:
    """A sentence on each key of ``only`` that is no kind of object, and neither in the whole plan nor among ``known``,
    the keys of what was observed, each with what is nearest. A typing error in cron must not look like a converged
    cluster."""
    things = sorted({*plan.by_key, *known}) if only else ()
    unknown = (key for key in only if key not in set(ObjectKind) and not _names_something(key, things))
    return tuple(_explain_unknown(key, things) for key in unknown)


def _names_something(key: str, things: Collection[str]) -> bool:
    return any(is_below(thing, (key,)) or is_below(key, (thing,)) for thing in things)


def _explain_unknown(key: str, things: Collection[str]) -> str:
    near = get_close_matches(key, things, n=3)
    return UNKNOWN_KEY_NEAR.text(key=key, keys=", ".join(near)) if near else UNKNOWN_KEY.text(key=key)
