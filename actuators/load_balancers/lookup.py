"""Lookup of the load balancer that a change is about, and of its present state."""

from collections.abc import Callable

from actuators.http.errors import Conflict, NotFound
from actuators.http.hetzner import HetznerReader
from actuators.wire.load_balancer import BALANCERS
from desired.load_balancers.ownership import Ownership, is_of_another_cluster, may_come_back, ownership
from desired.model.load_balancer import CloudBalancer, Owner
from desired.model.service import Service
from desired.model.snapshot import Snapshot
from desired.names import LABEL_FORMER, LABEL_SERVICE_UID
from desired.plan.change import Change


def service_of(change: Change, snapshot: Snapshot) -> Service:
    """The Service that the change serves. Raises KeyError for a change that was planned from another snapshot."""
    service = snapshot.service(change.owner)
    if service is None:
        raise KeyError(change.owner)
    return service


def balancer_of(change: Change, snapshot: Snapshot) -> CloudBalancer:
    """The load balancer that the change names, as it was observed.

    Raises KeyError for a change that was planned from another snapshot, and for one of a load balancer that was another
    cluster's: no plan has such a change, and not every write reads the load balancer before.
    """
    if change.cloud_id is None or snapshot.load_balancers is None:
        raise KeyError(f"load balancer of {change.key}")
    found = snapshot.load_balancers.items[change.cloud_id]
    if is_not_ours(found.owner, snapshot):
        raise KeyError(f"{name_of(found)} has the label of another cluster")
    return found


def is_not_ours(owner: Owner, snapshot: Snapshot) -> bool:
    """Whether the labels name a cluster that is not known to be this one, and has not released it for good."""
    is_unknown = ownership(owner.cluster_uid, snapshot) is Ownership.UNKNOWN
    return is_unknown or is_of_another_cluster(owner, snapshot)


def path_of(balancer: CloudBalancer, action: str = "") -> str:
    """The path of the load balancer, or of one of its actions, in the API."""
    return f"/load_balancers/{balancer.id}{f'/actions/{action}' if action else ''}"


def balancer_now(reader: HetznerReader, balancer: CloudBalancer) -> CloudBalancer:
    """The load balancer as it is at this moment. Raises an ApiError: NotFound when it is gone."""
    return BALANCERS.one(reader, balancer.id)


def remaining(reader: HetznerReader, balancer: CloudBalancer) -> CloudBalancer:
    """Read a load balancer that has to exist. Raises Conflict when it is gone."""
    try:
        return balancer_now(reader, balancer)
    except NotFound as error:
        raise gone(balancer) from error


Look = Callable[[], CloudBalancer]
"""A read of a load balancer of which a part is about to be written, or written once more, that also checks its owner.
Raises an ApiError, Conflict when it is not the Service's own any more."""


def look_for(reader: HetznerReader, change: Change, snapshot: Snapshot) -> Look:
    """The read of the load balancer of which a change writes a part."""

    def look() -> CloudBalancer:
        balancer = balancer_of(change, snapshot)
        now = balancer_now(reader, balancer)
        require_own(now, change, balancer, snapshot)
        return now

    return look


def require_own(now: CloudBalancer, change: Change, balancer: CloudBalancer, snapshot: Snapshot) -> None:
    """Raises Conflict when the load balancer is not that of the Service that the change serves."""
    service = service_of(change, snapshot)
    if now.owner.service_uid != service.uid or is_not_ours(now.owner, snapshot):
        raise Conflict(f"{name_of(balancer)} does not have the labels of Service {service.id} any more")


def gone(balancer: CloudBalancer) -> Conflict:
    """The error for a load balancer that is not there any more."""
    return Conflict(f"{name_of(balancer)} is gone")


def name_of(balancer: CloudBalancer) -> str:
    """The name of a load balancer in messages."""
    return f"load balancer {balancer.id} {balancer.spec.name}"


def is_labelled(reader: HetznerReader, service: Service) -> bool:
    """Whether a load balancer has the Service's label by now. Raises an ApiError."""
    return bool(_labelled(reader, LABEL_SERVICE_UID, service.uid))


def require_none_labelled(reader: HetznerReader, service: Service, snapshot: Snapshot) -> None:
    """Ask by label whether the Service has a load balancer though the observed list has none: a single answer may lack
    what exists. Raises Conflict when there is one, and an ApiError when it cannot be told."""
    for found in _labelled(reader, LABEL_SERVICE_UID, service.uid):
        if not is_not_ours(found.owner, snapshot):
            raise _unlisted(found)


def require_none_waiting(reader: HetznerReader, former: str, snapshot: Snapshot) -> None:
    """The same for one that was released with its Service, which the label ``former`` names, and waits in its undo
    window: the next list shows it, and it is given back."""
    for found in _labelled(reader, LABEL_FORMER, former):
        if may_come_back(found.owner, snapshot):
            raise _unlisted(found)


def _unlisted(found: CloudBalancer) -> Conflict:
    return Conflict(f"the list of load balancers lacks {name_of(found)}, and a look by its label finds it")


def _labelled(reader: HetznerReader, label: str, value: str) -> list[CloudBalancer]:
    return BALANCERS.found(reader, {"label_selector": f"{label}={value}"})
