"""Guards on what earlier passes met: ``flapping`` (changes that another client undoes), ``back-off`` (changes that
failed) and ``quota`` (kinds of changes that Hetzner refuses).

The loop remembers setbacks; a run of ``--once`` has nothing to remember. Whatever depends on a change that waits here
waits with it; all others go on.
"""

from collections.abc import Iterator
from math import inf

from desired.guards.guard import GuardInput, GuardResult, Named
from desired.model.clocks import shown_moment
from desired.model.service import Service
from desired.model.snapshot import Snapshot
from desired.model.to_builtins import digest
from desired.names import CONDITIONS
from desired.plan.change import Change, GuardName, HoldEnd
from desired.plan.kinds import ChangeKind
from desired.plan.setbacks import Bar, Setbacks, Suspension
from desired.rules.guards import (
    CONDITION_REVERTED,
    CONDITION_REVERTED_BY,
    FAILED,
    FAILED_AGAIN,
    KIND_REFUSED,
    NOT_VISIBLE,
    REVERTED,
    SERVICE_REVERTED,
    SERVICE_REVERTED_BY,
)
from desired.rules.rule import Plain, Reason
from desired.section import grouped
from desired.syntax.bounds import counted, shown_name


def flapping(view: GuardInput) -> Iterator[GuardResult]:
    """A change that was undone for the third time within ten minutes is held for an hour: another client wants the
    opposite, and neither wins. A change to another value is not affected."""
    for change, found in _suspended(view, GuardName.FLAPPING):
        why, end = _reverted(found, change, view.snapshot), HoldEnd("an hour after the last time", found.due_in_s)
        result = GuardResult.of(why.rule, (change.key,), why.facts, due_in_s=found.due_in_s, end=end)
        yield result.naming(Named.NOTHING)


def back_off(view: GuardInput) -> Iterator[GuardResult]:
    """A change that failed waits for a second, and twice as long each time that it fails again, up to a minute."""
    for change, found in _suspended(view, GuardName.BACK_OFF):
        times = counted(found.times, "time")
        if found.is_unseen:
            why = NOT_VISIBLE.because(times=times)
        else:
            why = (FAILED if found.times == 1 else FAILED_AGAIN).because(times=times, error=found.error)
        yield GuardResult.of(why.rule, (change.key,), why.facts, due_in_s=found.due_in_s)


def mark_of(change: Change, uid: str = "") -> str:
    """The mark that tells a change from others of its key: its kind, where it leads, and the ``uid`` of the object that
    it serves. Its ``before`` does not count, as it may have been undone in many ways."""
    return digest(change.kind, change.after, *filter(None, [uid]))


def mark_in(change: Change, snapshot: Snapshot | None) -> str:
    """The mark of a change of this snapshot. A change for another object of the same name was not undone: a Service
    that is deleted and created again gets its load balancer anew. A Node that comes back after it was deleted is the
    deletion undone."""
    if snapshot is None or change.kind == ChangeKind.NODE_DELETE:
        return mark_of(change)
    found = snapshot.service(change.owner) or snapshot.node(change.owner)
    return mark_of(change, "" if found is None else found.uid)


def suspension_of(change: Change, snapshot: Snapshot, setbacks: Setbacks) -> Suspension | None:
    """The suspension of this very change; None when it may be tried."""
    found = setbacks.suspensions.get(change.key)
    return found if found is not None and found.mark == mark_in(change, snapshot) else None


def _suspended(view: GuardInput, rule: GuardName) -> Iterator[tuple[Change, Suspension]]:
    """Changes of the plan that this guard suspends."""
    for key in view.setbacks.suspensions:
        if (change := view.plan.by_key.get(key)) is None:
            continue
        found = suspension_of(change, view.snapshot, view.setbacks)
        if found is not None and found.rule == rule:
            yield change, found


def _reverted(found: Suspension, change: Change, snapshot: Snapshot) -> Reason:
    """The row with what is known of the other writer of the field, such as the network plug-in that wrote the condition
    of a Node, and with how either is switched off."""
    since = shown_moment(found.since) if found.since else "an unknown time"
    said: dict[str, Plain] = {"times": counted(found.times, "time"), "since": since}
    service, node = snapshot.service(change.owner), snapshot.node(change.owner)
    if change.kind == ChangeKind.SERVICE_CLAIM:
        return SERVICE_REVERTED.because(**said)
    if change.kind == ChangeKind.SERVICE_STATUS and service is not None:
        writer = _other_writer(service)
        return SERVICE_REVERTED_BY.because(**said, writer=writer) if writer else SERVICE_REVERTED.because(**said)
    if change.kind == ChangeKind.NODE_NETWORK_CONDITION and node is not None:
        there = node.network_condition
        if there is None or there.is_ours:
            return CONDITION_REVERTED.because(**said)
        writer = f"another controller (reason {shown_name(there.reason)})"
        return CONDITION_REVERTED_BY.because(**said, writer=writer)
    return REVERTED.because(**said)


def _other_writer(service: Service) -> str:
    """Who else writes the status of a Service, by its ``managedFields`` and the conditions of others; empty when
    nothing tells. Any client may have chosen these names, so they are quoted and bounded."""
    writer = shown_name(service.status_writers[0]) if service.status_writers else ""
    types = sorted({found.type for found in service.conditions} - CONDITIONS)
    if not types:
        return writer
    more = f" and {len(types) - 1} more" if len(types) > 1 else ""
    return f"{writer or 'another controller'} (condition {shown_name(types[0])}{more})"


def scope_of(change: Change) -> str:
    """The scope of a change that is refused because of the account: all changes of its kind and class."""
    return f"{change.kind} {change.verb}"


def narrow_scope_of(change: Change) -> str:
    """The scope if a limit is reached, which may be that of one load balancer: then others go on."""
    return f"{scope_of(change)} of {change.owner}" if change.kind in _LIMITED_BY_OWNER else scope_of(change)


_LIMITED_BY_OWNER = frozenset({ChangeKind.LB_LISTENER, ChangeKind.LB_TARGET})
"""Kinds of which each load balancer may have so many, by its type."""


def quota(view: GuardInput) -> Iterator[GuardResult]:
    """Of the changes that Hetzner has refused for all objects of a kind one is tried in each interval: the one that was
    tried longest ago."""
    barred = grouped(
        (scope, change)
        for change in (view.plan.changes if view.setbacks.bars else ())
        for scope in {scope_of(change), narrow_scope_of(change)} & view.setbacks.bars.keys()
    )
    for scope, changes in barred.items():
        bar = view.setbacks.bars[scope]
        is_due = bar.due_in_s <= 0
        first = min(changes, key=lambda change: (bar.turns.get(change.key, inf), change.order)) if is_due else None
        keys = tuple(change.key for change in changes if change is not first)
        due_in_s = bar.again_in_s if is_due else bar.due_in_s
        yield GuardResult.of(KIND_REFUSED, keys, {"error": bar.error}, due_in_s=due_in_s)


def is_stalled(change: Change, setbacks: Setbacks) -> bool:
    """Whether nothing may count on the change for now: it was refused or is suspended, or others like it are refused. A
    change that is planned for the first time is barred as those that wait already, and whose turn it is may be refused.
    """
    key = change.key
    return key in setbacks.refused or key in setbacks.suspensions or bool(bars_of(change, setbacks))


def bars_of(change: Change, setbacks: Setbacks) -> tuple[Bar, ...]:
    """The refusals of other changes like this one; empty when it only comes after one."""
    scopes = dict.fromkeys((scope_of(change), narrow_scope_of(change))) if setbacks.bars else ()
    return tuple(setbacks.bars[scope] for scope in scopes if scope in setbacks.bars)
