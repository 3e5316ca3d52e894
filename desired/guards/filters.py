"""Filters leave changes out of a run, whatever the guards decide: the guard ``policy``, the changes that the first
pass of a chain withheld, ``--only``, and a plan that was agreed to.

The last two, and ``upsert``, come before the guards: these judge as if a change that is left out were not made.
"""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace
from difflib import get_close_matches
from types import MappingProxyType

from desired.guards.guard import GuardInput, GuardResult
from desired.guards.relations import propagate
from desired.model.key import PLAN, ObjectKind, is_below
from desired.model.settings import Policy
from desired.plan.change import ALLOWED, Change, GuardDecision, GuardName, Plan, Verdict
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
    """Changes that the first pass of a chain held, refused or left out by ``--only`` wait for the next chain, whatever
    the guard decides by now. The chain may have ended the reason itself, such as the providerID of a Node or the owner
    of a load balancer, and its first plan did not show them as done. Results have the name of the guard that withheld
    them."""
    for key, rule in view.setbacks.withheld.items():
        if key in view.plan.by_key:
            yield GuardResult.of(WITHHELD_BEFORE, (key,), guard=rule, due_in_s=0.0)


def filtered(
    view: GuardInput, only: Collection[str] = (), unagreed: Mapping[str, GuardDecision] = MappingProxyType({})
) -> GuardInput:
    """The input without left-out changes and those that need them: left out by ``--only``, as ``unagreed``, and by
    policy ``upsert``, as an approval would not make a removal. ``observe`` leaves out nothing here, so that all holds
    are shown."""
    found = dict(unagreed)
    if view.settings.policy is Policy.UPSERT:
        for result in policy(view):
            found |= dict.fromkeys(result.keys, GuardDecision(result.verdict, result.guard, result.why))
    if only:
        by_only = GuardDecision(Verdict.WAITING, GuardName.ONLY, EXCLUDED_BY_ONLY.text(keys=", ".join(only)))
        found |= {change.key: by_only for change in view.plan.changes if not _is_chosen(change, only)}
    if not found:
        return view
    ruled = propagate(change.ruled(found.get(change.key, ALLOWED)) for change in view.plan.changes)
    made = tuple(change for change in ruled if change.decision is ALLOWED)
    left_out = tuple(change for change in ruled if change.decision is not ALLOWED)
    return replace(view, plan=replace(view.plan, changes=made), left_out=left_out)


def _is_chosen(change: Change, only: Collection[str]) -> bool:
    """Whether it concerns ``only``: one of these keys, something below, or the load balancer that serves a Service."""
    return is_below(change.key, only) or change.owner in only


def restrict(plan: Plan, only: Collection[str]) -> Plan:
    """The part of a judged plan that concerns ``only``, with a note on how much was left out."""
    if not only:
        return plan
    chosen = {change.key: change for change in plan.changes if _is_chosen(change, only)}
    left_out = counted(len(plan.changes) - len(chosen), "other change")
    notes = tuple(note for note in plan.notes if note.row.is_of_the_whole or is_below(note.key, only))
    scope = ONLY_PART.note(PLAN, keys=", ".join(only), changes=left_out)
    holds = tuple(hold for hold in plan.holds if not chosen.keys().isdisjoint(hold.keys))
    return Plan(tuple(chosen.values()), (*notes, scope), holds)


def explain_strange_keys(plan: Plan, only: Collection[str], known: Collection[str]) -> tuple[str, ...]:
    """A sentence on each key of ``only`` that is no kind of object, and neither in the whole plan nor among ``known``,
    the keys of observed objects, each with the nearest ones. A typing error in cron must not look like a converged
    cluster."""
    things = sorted({*plan.by_key, *known}) if only else ()
    unknown = (key for key in only if key not in set(ObjectKind) and not _names_something(key, things))
    return tuple(_explain_unknown(key, things) for key in unknown)


def _names_something(key: str, things: Collection[str]) -> bool:
    return any(is_below(thing, (key,)) or is_below(key, (thing,)) for thing in things)


def _explain_unknown(key: str, things: Collection[str]) -> str:
    near = get_close_matches(key, things, n=3)
    return UNKNOWN_KEY_NEAR.text(key=key, keys=", ".join(near)) if near else UNKNOWN_KEY.text(key=key)
