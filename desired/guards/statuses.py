"""Statuses of Services, as the judged plan leaves them: which writes are worth it, and the conditions that go along."""

from collections.abc import Collection
from dataclasses import replace
from itertools import chain

from desired.guards.guard import GuardInput
from desired.load_balancers.changes import publishes_otherwise, status_changes
from desired.load_balancers.conditions import service_conditions
from desired.load_balancers.desired import DesiredLoadBalancer
from desired.load_balancers.lifecycle import LoadBalancerRelease
from desired.model.key import Key
from desired.model.load_balancer import KNOWN_AFTER_APPLY
from desired.model.service import ServiceCondition
from desired.plan.change import Change, Plan, Verdict
from desired.plan.kinds import ChangeKind
from desired.plan.ordering import in_order
from desired.section import Unmanaged, grouped


def project_statuses(changes: tuple[Change, ...], view: GuardInput) -> tuple[Change, ...]:
    """The judged changes, of which a write of a status takes the Service's conditions along, and is left out if nothing
    that it waits for is made."""
    by_owner = grouped((change.owner, change) for change in changes)
    written = [change for change in changes if not _is_idle(change, by_owner[change.owner], view)]
    by_owner = grouped((change.owner, change) for change in written)
    return tuple(
        replace(change, conditions=conditions_of(change.owner, by_owner[change.owner], view))
        if change.kind == ChangeKind.SERVICE_STATUS
        else change
        for change in written
    )


def without_withheld(changes: Collection[Change], view: GuardInput) -> Plan | None:
    """The plan with each status as it is due without the withheld changes that it was to follow; None if none waits
    for such. ``changes`` are the judged ones."""
    by_owner = grouped((change.owner, change) for change in changes)
    due: dict[Key, tuple[Change, ...]] = {}
    for change in changes:
        if (lb := _awaiting(change, view)) is not None and lb.present is not None:
            # The next look sees changes that were perhaps done all the same.
            made = _made(by_owner[change.owner], view.setbacks.refused - view.setbacks.unclear)
            statuses = tuple(status_changes(lb, lb.present, change.depends_on, made))
            if all(each.after is not KNOWN_AFTER_APPLY for each in statuses) and statuses:
                due[change.owner] = statuses
    if not due:
        return None
    kept = [c for c in view.plan.changes if c.owner not in due or c.kind is not ChangeKind.SERVICE_STATUS]
    return replace(view.plan, changes=in_order((*kept, *chain.from_iterable(due.values()))))


def _is_idle(change: Change, own: Collection[Change], view: GuardInput) -> bool:
    """Whether it is a status that waits for changes of its load balancer which are withheld or were refused: as long as
    that stays as it is, the published status is right. ``own`` are all changes of the Service."""
    lb = _awaiting(change, view)
    if lb is None or lb.present is None:
        return False
    return not publishes_otherwise(lb, lb.present, _made(own, view.setbacks.refused), lb.service.ingress)


def _awaiting(change: Change, view: GuardInput) -> DesiredLoadBalancer | None:
    """The load balancer with the changes that an allowed status waits for; None if it waits for none."""
    lb = view.desired.services.get(change.owner.name)
    awaits_parts = change.kind is ChangeKind.SERVICE_STATUS and change.after is KNOWN_AFTER_APPLY
    is_allowed = change.decision.verdict is Verdict.ALLOWED and change.cloud_id is not None
    return lb if awaits_parts and is_allowed and isinstance(lb, DesiredLoadBalancer) else None


def _made(own: Collection[Change], refused: Collection[str]) -> list[Change]:
    return [c for c in own if c.decision.verdict is Verdict.ALLOWED and c.key not in refused]


def conditions_of(key: Key, changes: Collection[Change], view: GuardInput) -> tuple[ServiceCondition, ...]:
    """The desired conditions of the Service with this key, by its judged changes; empty for another key."""
    service = view.snapshot.service(key)
    lb = None if service is None else view.desired.services.get(service.id)
    if lb is None:
        return ()
    notes = view.notes_by_key.get(key, ())
    return service_conditions(lb.service, lb.match, view.snapshot, tuple(changes), notes, _hostname(lb))


def _hostname(lb: DesiredLoadBalancer | LoadBalancerRelease) -> str | None:
    """The hostname that a Service asks for, "" when none; None when that cannot be read."""
    if not isinstance(lb, DesiredLoadBalancer) or "hostname" in lb.unclear:
        return None
    return "" if isinstance(lb.options.hostname, Unmanaged) else lb.options.hostname
