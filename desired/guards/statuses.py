"""Statuses of Services, as the judged plan leaves them: which writes are worth it, and the conditions that go along."""

from collections.abc import Collection, Iterable
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


def project_statuses(changes: Iterable[Change], view: GuardInput) -> tuple[Change, ...]:
    """The judged changes without idle statuses. The others take the Service's conditions along, which need no write of
    their own then."""
    by_owner: dict[Key, list[Change]] = {}
    for change in changes:
        by_owner.setdefault(change.owner, []).append(change)
    found: list[Change] = []
    for owner, own in by_owner.items():
        left = [change for change in own if not _is_idle(change, own, view)]
        found += [
            replace(change, conditions=conditions_of(owner, left, view))
            if change.kind is ChangeKind.SERVICE_STATUS
            else change
            for change in left
        ]
    return tuple(found)


def _is_idle(change: Change, own: Iterable[Change], view: GuardInput) -> bool:
    """Whether it is a status that waits for changes of the Service's load balancer which are withheld, or were refused:
    as long as that stays as it is, the published status is right. ``own`` are the changes of the Service."""
    if change.after is not KNOWN_AFTER_APPLY or change.decision.verdict is not Verdict.ALLOWED:
        return False
    lb = view.desired.services.get(change.owner.name)
    if change.cloud_id is None or not isinstance(lb, DesiredLoadBalancer) or lb.present is None:
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
