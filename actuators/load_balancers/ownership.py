"""Ownership of load balancers: adoption, name and labels, release, and deletion.

Each function reads the load balancer just before the write and raises Conflict when its owner is not the one that was
observed.
"""

from collections.abc import Mapping
from dataclasses import replace

from actuators.http.errors import Conflict, Invalid, NotFound
from actuators.load_balancers.claimants import require_unclaimed
from actuators.load_balancers.lookup import (
    balancer_now,
    balancer_of,
    gone,
    is_not_ours,
    name_of,
    path_of,
    remaining,
    require_own,
)
from actuators.outcome import unexpected_change
from actuators.writers import Writers
from desired.load_balancers.matching import is_in_use
from desired.model.load_balancer import CloudBalancer, Identity, LoadBalancer, Owner, labels_with
from desired.model.snapshot import Snapshot
from desired.names import LABEL_CLUSTER_UID
from desired.plan.change import Change
from desired.section import Present


def adopt(writers: Writers, change: Change, snapshot: Snapshot) -> None:
    """Label the load balancer as the Service's own.

    Raises Conflict when its owner is not that of ``before``, or when another client has begun to use what was empty and
    unowned.
    """
    match change.before, change.after:
        case Owner() as before, Owner(service_uid=str()) as after:
            balancer = balancer_of(change, snapshot)
        case _:
            raise unexpected_change(change)
    now = _unchanged(writers, balancer, before)
    if is_not_ours(now.owner, snapshot):
        raise Conflict(f"{name_of(balancer)} now has the label of another cluster")
    if after.adopted is not None and is_in_use(now) and not is_in_use(balancer):
        raise Conflict(f"{name_of(balancer)} is now in use")
    _write(writers, balancer, {"labels": labels_with(now.spec.labels, after)})


def write_identity(writers: Writers, change: Change, snapshot: Snapshot) -> None:
    """Give the load balancer the name of ``after`` and the labels that it adds, and remove those that it lacks. A name
    that does not differ is not written. Raises Conflict when it is not the Service's own any more, or when another one
    has the name."""
    match change.before, change.after:
        case Identity() as before, Identity() as after:
            balancer = balancer_of(change, snapshot)
        case _:
            raise unexpected_change(change)
    now = _own(writers, change, balancer, snapshot)
    added = {key: value for key, value in after.labels.items() if before.labels.get(key) != value}
    kept = {key: value for key, value in now.spec.labels.items() if key in after.labels or key not in before.labels}
    name = {"name": after.name} if after.name != before.name else {}
    _write(writers, balancer, {**name, "labels": {**kept, **added, **_cluster_label(snapshot)}})


def retain(writers: Writers, change: Change, snapshot: Snapshot) -> None:
    """Release the load balancer with its addresses: it is the Service's no more, and its labels say since when, or
    whose it was and after when it is deleted.

    Raises Conflict when its owner is not that of ``before``.
    """
    match change.before, change.after:
        case Owner() as before, Owner(service_uid=None) as after if after.released or after.delete_after:
            balancer = balancer_of(change, snapshot)
        case _:
            raise unexpected_change(change)
    now = _unchanged(writers, balancer, before)
    _write(writers, balancer, {"labels": labels_with(now.spec.labels, after)})


def delete(writers: Writers, change: Change, snapshot: Snapshot) -> None:
    """Delete the load balancer and wait until it is gone; done when it is gone already.

    Raises Conflict when it is not the Service's own any more, or is now protected against deletion; for one that was
    released before, when it is not released in the same way any more; when a Service wants it by now. The Service is
    looked at last: once the addresses are gone nothing brings them back.
    """
    match change.before, change.after:
        case LoadBalancer(), None:
            balancer = balancer_of(change, snapshot)
        case _:
            raise unexpected_change(change)
    try:
        now = balancer_now(writers.reader, balancer)
    except NotFound:
        return
    if change.is_of_no_service:
        _require_as_observed(now, balancer)
    else:
        require_own(now, change, balancer, snapshot)
    if now.is_protected:
        raise Conflict(f"{name_of(balancer)} is now protected against deletion")
    require_unclaimed(writers.cluster, change, balancer, snapshot)
    try:
        writers.actions.wait(writers.writer.delete(path_of(balancer)), f"deletion of {name_of(balancer)}")
    except NotFound:
        return
    except Invalid as error:
        if error.code == "protected":
            raise Conflict(str(error), status=error.status, code=error.code) from error
        raise


def _require_as_observed(now: CloudBalancer, balancer: CloudBalancer) -> None:
    """Raises Conflict when the labels name another owner than when it was observed, or another time of deletion."""
    before = balancer.owner
    if (now.owner, now.owner.released, now.owner.delete_after) != (before, before.released, before.delete_after):
        raise Conflict(f"{name_of(balancer)} now has other owner labels")


def _unchanged(writers: Writers, balancer: CloudBalancer, before: Owner) -> CloudBalancer:
    """The load balancer, whose labels still name the owner that they named when it was observed."""
    now = remaining(writers.reader, balancer)
    if now.owner != replace(before, balancer_id=None):
        raise Conflict(f"{name_of(balancer)} now has other owner labels")
    return now


def _own(writers: Writers, change: Change, balancer: CloudBalancer, snapshot: Snapshot) -> CloudBalancer:
    """The load balancer, which is still the Service's own."""
    now = remaining(writers.reader, balancer)
    require_own(now, change, balancer, snapshot)
    return now


def _cluster_label(snapshot: Snapshot) -> Mapping[str, str]:
    uid = snapshot.cluster_uid
    return {LABEL_CLUSTER_UID: uid.value} if isinstance(uid, Present) else {}


def _write(writers: Writers, balancer: CloudBalancer, body: Mapping[str, object]) -> None:
    """Write name or labels. Raises Conflict when the load balancer is gone by now, and other ApiErrors."""
    try:
        writers.writer.put(path_of(balancer), body)
    except NotFound as error:
        raise gone(balancer) from error
