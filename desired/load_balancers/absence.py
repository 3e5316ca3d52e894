"""Absence of a Service's load balancer: which changes rest on it."""

from desired.load_balancers.published import by_address, gives_up, publishers
from desired.model.service import Service
from desired.model.snapshot import Snapshot
from desired.plan.change import Change
from desired.plan.kinds import ChangeKind


def rests_on_absence(change: Change, snapshot: Snapshot) -> bool:
    """Whether the change is wrong if its Service has a load balancer that the list lacks.

    A creation, if the Service has a finalizer or publishes an address. A release, unless its load balancer goes before.
    An adoption, and another address in the status, if no listed load balancer has the published address.
    """
    service = snapshot.service(change.owner)
    if service is None:
        return False
    match change.kind:
        case ChangeKind.LB_CREATE:
            return service.is_claimed or bool(service.ingress)
        case ChangeKind.SERVICE_RELEASE:
            return not change.comes_after_its_balancer
        case ChangeKind.LB_ADOPT:
            return _publishes_unlisted(service, snapshot)
        case ChangeKind.SERVICE_STATUS:
            return gives_up(change.before, change.after) and _publishes_unlisted(service, snapshot)
    return False


def _publishes_unlisted(service: Service, snapshot: Snapshot) -> bool:
    """Whether no listed load balancer has an address that the Service publishes."""
    is_published = any(entry.ip for entry in service.ingress)
    return is_published and not publishers(service, lambda: by_address(snapshot), None)
