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


def _is_idle(change: Change, own: Collection[Change], view: GuardInput) -> bool:
    """Whether it is a status that waits for changes of its load balancer which are withheld or were refused: as long as
    that stays as it is, the published status is right. ``own`` are all changes of the Service."""
    lb = view.desired.services.get(change.owner.name)
    awaits_parts = change.after is KNOWN_AFTER_APPLY and change.cloud_id is not None
    is_allowed = change.decision.verdict is Verdict.ALLOWED
    if not (awaits_parts and is_allowed and isinstance(lb, DesiredLoadBalancer)) or lb.present is None:
        return False
    made = [c for c in own if c.decision.verdict is Verdict.ALLOWED and c.key not in view.setbacks.refused]
    return not publishes_otherwise(lb, lb.present, made, lb.service.ingress)


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
