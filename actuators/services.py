"""Writes to Services, all through the ``status`` subresource: claim, publish addresses, release.

All raise ApiErrors, Conflict when the Service has changed since it was observed: then the change is planned again and
never sent again. The spec is never written.
"""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Any

from actuators import load_balancers
from actuators.balancer_task import BalancerTask, services_now
from actuators.http.errors import Conflict, Invalid, NotFound
from actuators.http.kubernetes import STRATEGIC_MERGE_PATCH, KubernetesWriter, segment
from actuators.sides import by_sides, expect
from actuators.wire.service import condition_body, ingress_body
from desired.load_balancers.published import gives_up
from desired.model.load_balancer import Owner
from desired.model.service import Ingress, Service, ServiceCondition
from desired.names import CONDITIONS
from desired.plan.change import Claimed
from desired.plan.kinds import ChangeKind


@dataclass(frozen=True, slots=True)
class ServiceTask(BalancerTask):
    """A change of a Service that is being carried out, with a client to write Services with."""

    writer: KubernetesWriter

    def claim(self) -> None:
        """Add the finalizer of its class. The patch is a strategic one: finalizers are then a set, and no version has
        to be named. Raises Conflict when the Service is being deleted, or another one has its name by now."""
        service = self.service
        if service.deleted_at is not None:
            raise Conflict(f"Service {service.id} is being deleted")
        body = {"metadata": {"uid": service.uid, "finalizers": [self.snapshot.serving.finalizer]}}
        try:
            self.writer.patch(_path(service), body, content_type=STRATEGIC_MERGE_PATCH)
        except Invalid as error:
            if "object is being deleted" not in str(error):
                raise
            raise Conflict(f"Service {service.id} is now being deleted", status=error.status) from error


def claim(task: ServiceTask, _before: bool, after: bool) -> None:
    """Add the finalizer of its class to the Service; those of others stay. Raises Conflict when the Service is being
    deleted, or another one has its name by now."""
    expect(task.change, fits=after)
    task.claim()


def adopt(task: ServiceTask, before: Owner, after: Owner) -> None:
    """Label a load balancer as the Service's own, if that exists and the load balancer's owner does not: the observed
    list may be old, and the load balancer another Service's by now. Raises as ``load_balancers.adopt``."""
    require_alive(task, before)
    load_balancers.adopt(task, before, after)


def require_alive(task: ServiceTask, before: Owner) -> None:
    """Check that the Service exists, and the owner ``before`` does not.

    The Service is claimed once more, which changes nothing and names its UID; the owner, of which only the UID is
    known, is looked for in a second list. Raises Conflict when the Service is gone or the owner exists, and an ApiError
    when it cannot be told.
    """
    try:
        task.claim()
    except NotFound as error:
        raise Conflict(f"Service {task.service.id} is gone", status=error.status) from error
    owner = before.uid
    if owner is not None and any(each.uid == owner for each in services_now(task.writers.cluster)):
        raise Conflict(
            f"the list of Services lacked the owner of the load balancer, but its Service (UID {owner}) exists"
        )


def write_status(task: ServiceTask, _before: object, ingress: tuple[Ingress, ...]) -> None:
    """Publish the addresses ``ingress``, and the conditions that the change carries.

    Published addresses are not given up because of a list alone, which may be old: the load balancer that has others,
    or can be reached by none, is read once more, and a Conflict raised when it is not the Service's, or has moved, or
    its public interface was switched. So is one if the published load balancer exists although the list lacks it.

    The patch is a strategic one: addresses are then replaced as a whole, as their list has no key, while conditions are
    merged by type, so that those of others are kept as they are. The version makes it a Conflict when another client
    has written in between.
    """
    service, conditions = task.service, task.change.conditions
    if gives_up(task.change.before, ingress):
        balancer = task.observed
        now = task.remaining()
        task.require_own(now)
        is_elsewhere = set(now.attachments) != set(balancer.attachments)
        if is_elsewhere or now.spec.public_interface is not balancer.spec.public_interface:
            raise Conflict(f"{task.name} now has other addresses")
    task.require_absent()
    status: dict[str, Any] = {"loadBalancer": {"ingress": [ingress_body(entry) for entry in ingress] or None}}
    if conditions:
        status["conditions"] = [condition_body(condition) for condition in conditions]
    _patch_status(task.writer, service, status)


def write_conditions(writer: KubernetesWriter, service: Service, conditions: Collection[ServiceCondition]) -> None:
    """Give the Service these conditions. A strategic patch merges them by type: others stay byte for byte."""
    _patch_status(writer, service, {"conditions": [condition_body(each) for each in conditions]})


def release(task: ServiceTask, claimed: Claimed, _after: object) -> None:
    """Take our finalizer, the addresses of ``claimed`` and our conditions off the Service; with the last finalizer it
    may vanish. Done when it is gone.

    Unless its load balancer is deleted or released before it, its absence is proven: it would not be released any more.
    Raises Conflict when there is one.

    The patch is a strategic one: what others have put beside ours is not named in it, and stays byte for byte. The
    version makes it a Conflict when another client has written in between.
    """
    service = task.service
    task.require_absent()
    ours = [condition.type for condition in service.conditions if condition.type in CONDITIONS]
    status: dict[str, Any] = {"loadBalancer": {"ingress": None}} if claimed.ingress or not service.ingress else {}
    if ours:
        status["conditions"] = [{"$patch": "delete", "type": kind} for kind in ours]
    finalizer = {} if claimed.finalizer is None else {"$deleteFromPrimitiveList/finalizers": [claimed.finalizer]}
    try:
        _patch_status(task.writer, service, status, finalizer)
    except NotFound:
        return


def _path(service: Service) -> str:
    return f"/api/v1/namespaces/{segment(service.namespace)}/services/{segment(service.name)}/status"


def _patch_status(
    writer: KubernetesWriter, service: Service, status: Mapping[str, Any], metadata: Mapping[str, Any] | None = None
) -> None:
    """Write a status and ``metadata``. Raises Conflict if the Service is another one, or in another version."""
    observed = {"uid": service.uid, "resourceVersion": service.resource_version, **(metadata or {})}
    writer.patch(_path(service), {"metadata": observed, "status": status}, content_type=STRATEGIC_MERGE_PATCH)


SERVICE_ACTUATORS: Mapping[str, Callable[[ServiceTask], None]] = {
    ChangeKind.SERVICE_CLAIM: by_sides(claim),
    ChangeKind.SERVICE_STATUS: by_sides(write_status),
    ChangeKind.SERVICE_RELEASE: by_sides(release),
    **load_balancers.BALANCER_ACTUATORS,
    ChangeKind.LB_ADOPT: by_sides(adopt),
}
"""Kind of a change of a Service or its load balancer → its actuator. Each raises an ApiError when it could not,
TypeError for sides that are not of its kind, and KeyError for a change that was planned from another snapshot."""
