"""Statuses of Services, as the judged plan leaves them: which writes are worth it, and the conditions that go along."""

from collections.abc import Collection
from dataclasses import replace

from desired.guards.guard import GuardInput
from desired.load_balancers.changes import publishes_otherwise
from desired.load_balancers.conditions import service_conditions
from desired.load_balancers.desired import DesiredLoadBalancer
from desired.load_balancers.lifecycle import LoadBalancerRelease
from desired.model.key import Key
from desired.model.load_balancer import KNOWN_AFTER_APPLY
from desired.model.service import ServiceCondition
from desired.plan.change import Change, Verdict
from desired.plan.kinds import ChangeKind
from desired.section import Unmanaged


def project_statuses(changes: tuple[Change, ...], view: GuardInput) -> tuple[Change, ...]:
    """The judged changes, of which a write of a status takes the Service's conditions along, and is left out where
    nothing that it waits for is made."""
    return _with_conditions(_without_idle_statuses(changes, view), view)


def _without_idle_statuses(changes: tuple[Change, ...], view: GuardInput) -> tuple[Change, ...]:
    """The changes without the status of a Service that waits for changes of its load balancer which are withheld, or
    were refused: as long as that stays as it is, what is published is right."""
    made: dict[Key, list[Change]] = {}
    for change in changes:
        if change.decision.verdict is Verdict.ALLOWED and change.key not in view.setbacks.refused:
            made.setdefault(change.owner, []).append(change)

    def is_idle(change: Change) -> bool:
        lb = view.desired.services.get(change.owner.name) if _awaits_parts(change) else None
        if not isinstance(lb, DesiredLoadBalancer) or lb.present is None:
            return False
        return not publishes_otherwise(lb, lb.present, made.get(change.owner, ()), lb.service.ingress)

    return tuple(change for change in changes if not is_idle(change))


def _awaits_parts(change: Change) -> bool:
    """Whether it is the status of a Service with a load balancer that is there, and will have something else."""
    is_to_come = change.after is KNOWN_AFTER_APPLY and change.cloud_id is not None
    return is_to_come and change.decision.verdict is Verdict.ALLOWED


def _with_conditions(changes: tuple[Change, ...], view: GuardInput) -> tuple[Change, ...]:
    """Put a Service's conditions on the write of its status: they need no write of their own then."""
    by_owner: dict[str, list[Change]] = {}
    for change in changes:
        by_owner.setdefault(change.owner, []).append(change)
    return tuple(
        replace(change, conditions=conditions_of(change.owner, by_owner[change.owner], view))
        if change.kind == ChangeKind.SERVICE_STATUS
        else change
        for change in changes
    )


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
