"""Writes to Services, all through the ``status`` subresource: claim, publish addresses, release.

All raise ApiErrors, Conflict when the Service has changed since it was observed: then the change is planned again and
never sent again. The spec is never written.
"""

from collections.abc import Callable, Collection, Mapping
from functools import partial
from typing import Any

from actuators.http.errors import Conflict, Invalid, NotFound
from actuators.http.kubernetes import STRATEGIC_MERGE_PATCH, KubernetesReader, KubernetesWriter, segment
from actuators.load_balancers import (
    balancer_of,
    name_of,
    remaining,
    require_absent,
    require_own,
    service_of,
    services_now,
)
from actuators.outcome import unexpected_change
from actuators.wire.service import condition_body, ingress_body
from actuators.writers import Writers
from desired.load_balancers.published import gives_up
from desired.model.load_balancer import Owner
from desired.model.service import Service, ServiceCondition
from desired.model.snapshot import Snapshot
from desired.names import CONDITIONS
from desired.plan.change import Change, Claimed
from desired.plan.kinds import ChangeKind


def claim(writer: KubernetesWriter, change: Change, snapshot: Snapshot) -> None:
    """Add the finalizer of its class to the Service; those of others stay. Raises Conflict when the Service is being
    deleted, or another one has its name by now."""
    match change.before, change.after:
        case False, True:
            _claim(writer, service_of(change, snapshot), snapshot.serving.finalizer)
        case _:
            raise unexpected_change(change)


def _claim(writer: KubernetesWriter, service: Service, finalizer: str) -> None:
    """The patch is a strategic one: finalizers are then a set, and no version has to be named."""
    if service.deleted_at is not None:
        raise Conflict(f"Service {service.id} is being deleted")
    body = {"metadata": {"uid": service.uid, "finalizers": [finalizer]}}
    try:
        writer.patch(_path(service), body, content_type=STRATEGIC_MERGE_PATCH)
    except Invalid as error:
        if "object is being deleted" not in str(error):
            raise
        raise Conflict(f"Service {service.id} is now being deleted", status=error.status) from error


def require_alive(writer: KubernetesWriter, cluster: KubernetesReader, change: Change, snapshot: Snapshot) -> None:
    """Check that a Service which is to adopt a load balancer exists, and that the load balancer's owner does not: the
    observed list may be old, and the load balancer another Service's by now.

    The Service is claimed once more, which changes nothing and names its UID; the owner, of which only the UID is
    known, is looked for in a second list. Raises Conflict when the Service is gone or the owner exists, and an ApiError
    when it cannot be told.
    """
    service = service_of(change, snapshot)
    try:
        _claim(writer, service, snapshot.serving.finalizer)
    except NotFound as error:
        raise Conflict(f"Service {service.id} is gone", status=error.status) from error
    owner = change.before.uid if isinstance(change.before, Owner) else None
    if owner is not None and any(each.uid == owner for each in services_now(cluster)):
        raise Conflict(
            f"the list of Services lacked the owner of the load balancer, but its Service (UID {owner}) exists"
        )


def write_status(writer: KubernetesWriter, writers: Writers, change: Change, snapshot: Snapshot) -> None:
    """Publish the addresses of ``after``, and the conditions that the change carries.

    Published addresses are not given up because of a list alone, which may be old: the load balancer that has others,
    or can be reached by none, is read once more, and a Conflict raised when it is not the Service's, or has moved, or
    its public interface was switched. So is one if the published load balancer exists although the list lacks it.

    The patch is a strategic one: addresses are then replaced as a whole, as their list has no key, while conditions are
    merged by type, so that those of others are kept as they are. The version makes it a Conflict when another client
    has written in between.
    """
    match change.after:
        case tuple() as ingress:
            service = service_of(change, snapshot)
        case _:
            raise unexpected_change(change)
    if gives_up(change.before, ingress):
        balancer = balancer_of(change, snapshot)
        now = remaining(writers.reader, balancer)
        require_own(now, change, snapshot)
        is_elsewhere = set(now.attachments) != set(balancer.attachments)
        if is_elsewhere or now.spec.public_interface is not balancer.spec.public_interface:
            raise Conflict(f"{name_of(balancer)} now has other addresses")
    require_absent(writers, change, snapshot)
    status: dict[str, Any] = {"loadBalancer": {"ingress": [ingress_body(entry) for entry in ingress] or None}}
    if change.conditions:
        status["conditions"] = [condition_body(condition) for condition in change.conditions]
    writer.patch(
        _path(service), {"metadata": _as_observed(service), "status": status}, content_type=STRATEGIC_MERGE_PATCH
    )


def write_conditions(writer: KubernetesWriter, service: Service, conditions: Collection[ServiceCondition]) -> None:
    """Give the Service these conditions, where no other write takes them along; those of other types stay byte for
    byte, as a strategic patch merges them by type."""
    body = {"metadata": _as_observed(service), "status": {"conditions": [condition_body(each) for each in conditions]}}
    writer.patch(_path(service), body, content_type=STRATEGIC_MERGE_PATCH)


def release(writer: KubernetesWriter, writers: Writers, change: Change, snapshot: Snapshot) -> None:
    """Take our finalizer, the addresses of ``before`` and our conditions off the Service; with the last finalizer it
    may vanish. Done when it is gone.

    Unless its load balancer is deleted or released before it, its absence is proven: it would not be released any more.
    Raises Conflict when there is one.

    The patch is a strategic one: what others have put beside ours is not named in it, and stays byte for byte. The
    version makes it a Conflict when another client has written in between.
    """
    match change.before:
        case Claimed(ingress=ingress) as claimed:
            service = service_of(change, snapshot)
        case _:
            raise unexpected_change(change)
    require_absent(writers, change, snapshot)
    ours = [condition.type for condition in service.conditions if condition.type in CONDITIONS]
    status: dict[str, Any] = {"loadBalancer": {"ingress": None}} if ingress or not service.ingress else {}
    if ours:
        status["conditions"] = [{"$patch": "delete", "type": kind} for kind in ours]
    metadata = _as_observed(service)
    if claimed.finalizer is not None:
        metadata["$deleteFromPrimitiveList/finalizers"] = [claimed.finalizer]
    try:
        writer.patch(_path(service), {"metadata": metadata, "status": status}, content_type=STRATEGIC_MERGE_PATCH)
    except NotFound:
        return


def service_actuators(writer: KubernetesWriter, writers: Writers) -> Mapping[str, Callable[[Change, Snapshot], None]]:
    """Kind of change of a Service → its actuator."""
    return {
        ChangeKind.SERVICE_CLAIM: partial(claim, writer),
        ChangeKind.SERVICE_STATUS: partial(write_status, writer, writers),
        ChangeKind.SERVICE_RELEASE: partial(release, writer, writers),
    }


def _path(service: Service) -> str:
    return f"/api/v1/namespaces/{segment(service.namespace)}/services/{segment(service.name)}/status"


def _as_observed(service: Service) -> dict[str, Any]:
    """Metadata that makes a write fail unless the Service is the one that was observed, in the version that was
    observed."""
    return {"uid": service.uid, "resourceVersion": service.resource_version}
