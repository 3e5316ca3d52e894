"""Ownership: labels and names by which a load balancer or certificate has an owner, and Services that give theirs up.

A ``loadBalancerClass`` that is not ours makes a Service another controller's; a load balancer that it had here is
released all the same. Several processes may serve one cluster, each its class (``Serving``): the labels of a load
balancer tell which of them, and the others leave it alone.
"""

import re
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime
from enum import StrEnum
from hashlib import sha256

from desired.model.clocks import shown_moment
from desired.model.load_balancer import NO_OWNER, CloudBalancer, Owner
from desired.model.service import Service, is_of_a_class
from desired.model.serving import Serving
from desired.model.snapshot import Snapshot
from desired.names import (
    CONDITION_IN_SYNC,
    LABEL_ADOPTED,
    LABEL_CLASS,
    LABEL_CLUSTER_UID,
    LABEL_FORMER,
    LABEL_OWN_CLASS_UID,
    LABEL_RELEASED,
    LABEL_SERVICE_UID,
)
from desired.rules import explanations as rows
from desired.rules.rule import Reason
from desired.section import Present
from desired.syntax.bounds import LONGEST_LABEL_VALUE

_STAMP = "%Y%m%dT%H%M%SZ"
_STAMPED = re.compile(r"[0-9]{8}T[0-9]{6}Z", re.ASCII)


def default_name(service_uid: str) -> str:
    """``a`` and the UID without its dashes, cut to 32 characters, as HCCM names it."""
    return f"a{service_uid.replace('-', '')}"[:32]


def asked_name(service: Service) -> str:
    """The name that the Service's load balancer gets when it is created, and is looked for by: its annotation's, else
    the default one, also if the annotation cannot be read. No variable has a default for all Services."""
    return str(service.claim.read.values.get("name", default_name(service.uid)))


class Ownership(StrEnum):
    """The answer of the cluster's label: whose a load balancer or certificate is."""

    OURS = "ours"
    UNCLAIMED = "unclaimed"
    """Without such a label, like those that HCCM and people make."""
    OTHER_CLUSTER = "other cluster"
    UNKNOWN = "unknown"
    """It has one, and which one this cluster would have could not be read."""


def ownership(cluster_uid: str | None, snapshot: Snapshot) -> Ownership:
    """The answer of a label with the UID of a cluster; None without one. The one place that compares them."""
    if cluster_uid is None:
        return Ownership.UNCLAIMED
    if not isinstance(snapshot.cluster_uid, Present):
        return Ownership.UNKNOWN
    return Ownership.OURS if cluster_uid == snapshot.cluster_uid.value else Ownership.OTHER_CLUSTER


def is_served_here(owner: Owner, snapshot: Snapshot) -> bool:
    """Whether these labels name this cluster, and a class that this process serves."""
    return ownership(owner.cluster_uid, snapshot) is Ownership.OURS and snapshot.serving.has(owner)


_CLUSTERS = {
    Ownership.UNCLAIMED: rows.OF_NO_CLUSTER,
    Ownership.UNKNOWN: rows.OF_A_CLUSTER,
    Ownership.OURS: rows.OF_THIS_CLUSTER,
    Ownership.OTHER_CLUSTER: rows.OF_OTHER_CLUSTER,
}


def said_by_labels(labels: Mapping[str, str], service: Service, snapshot: Snapshot) -> Mapping[str, Reason]:
    """Each label about the owner → its meaning on the load balancer of ``service``, also that of a missing UID."""
    cluster = ownership(labels.get(LABEL_CLUSTER_UID), snapshot)
    return {
        LABEL_SERVICE_UID: _service_of(labels.get(LABEL_SERVICE_UID), cluster, service, snapshot),
        LABEL_OWN_CLASS_UID: _service_of(labels.get(LABEL_OWN_CLASS_UID), cluster, service, snapshot),
        LABEL_CLASS: rows.SAYS_CLASS.because(),
        LABEL_CLUSTER_UID: _CLUSTERS[cluster].because(),
        LABEL_RELEASED: rows.SAYS_RELEASED.because(),
        LABEL_ADOPTED: rows.SAYS_ADOPTED.because(),
        LABEL_FORMER: rows.SAYS_FORMER.because(),
    }


def _service_of(uid: str | None, cluster: Ownership, service: Service, snapshot: Snapshot) -> Reason:
    if uid is None:
        return rows.OF_NO_SERVICE.because()
    if uid == service.uid:
        return rows.OF_THIS_SERVICE.because()
    if cluster is Ownership.OTHER_CLUSTER:
        return rows.OF_SERVICE_ELSEWHERE.because()
    other = next((found.id for found in snapshot.services or () if found.uid == uid), None)
    return rows.OF_SERVICE_GONE.because() if other is None else rows.OF_SERVICE.because(service=other)


def is_of_another_cluster(owner: Owner, snapshot: Snapshot) -> bool:
    """Whether these labels name another cluster that still has a claim: one that has released it has none."""
    return ownership(owner.cluster_uid, snapshot) is Ownership.OTHER_CLUSTER and not owner.is_released


def is_of_another_class(owner: Owner, snapshot: Snapshot) -> bool:
    """Whether these labels name another controller of this cluster that still has a claim, by label or class."""
    is_marked = bool(owner.cluster_uid or owner.uid or owner.balancer_class)
    if not is_marked or owner.is_released or snapshot.serving.has(owner):
        return False
    return ownership(owner.cluster_uid, snapshot) in (Ownership.OURS, Ownership.UNCLAIMED)


def owner_here(service: Service, snapshot: Snapshot, before: Owner = NO_OWNER) -> Owner:
    """The owner's labels of the load balancer of a Service that is served here; other ones stay as ``before``."""
    serving = snapshot.serving
    return replace(
        before,
        cluster_uid=snapshot.cluster_uid.value if isinstance(snapshot.cluster_uid, Present) else before.cluster_uid,
        service_uid=service.uid if serving.balancer_class is None else None,
        own_class_uid=None if serving.balancer_class is None else service.uid,
        balancer_class=serving.class_label,
    )


def labelled_by_another(service: Service, owner: Owner, snapshot: Snapshot) -> Service | None:
    """The other Service that HCCM's label names on the load balancer of a Service of a class; None without one. HCCM
    labels a load balancer by the name that a Service of its own asks for, again and again."""
    if owner.own_class_uid is None or owner.service_uid in (None, service.uid):
        return None
    return next((each for each in snapshot.services or () if each.uid == owner.service_uid), None)


def former_of(service: Service) -> str:
    """The Service as the value of a label (``former_by_name``)."""
    return former_by_name(service.namespace, service.name)


def former_by_name(namespace: str, service: str) -> str:
    """``NAMESPACE.NAME``, as neither has a dot; a digest, which has none, if that is too long for a label."""
    name = f"{namespace}.{service}"
    return f"sha256-{sha256(name.encode()).hexdigest()[:40]}" if LONGEST_LABEL_VALUE.is_exceeded(name) else name


def shown_former(owner: Owner) -> str:
    """The Service whose load balancer it was, as far as its label tells."""
    namespace, dot, name = (owner.former or "").partition(".")
    return f"Service {namespace}/{name}" if dot else "its Service"


def stamped(moment: datetime) -> str:
    """A time as a label may have it."""
    return f"{moment.astimezone(UTC):{_STAMP}}"


def shown_stamp(text: str) -> str:
    """The time of a label as people read it; the text itself if it has another form."""
    if _STAMPED.fullmatch(text):
        with suppress(ValueError):
            return shown_moment(datetime.strptime(text, _STAMP).replace(tzinfo=UTC))
    return text


def released_here(snapshot: Snapshot) -> Mapping[str | None, CloudBalancer]:
    """Label of a former Service → the load balancer that was released with it, and that a Service of this namespace and
    name adopts; of several the one that was released last."""
    found = [
        each
        for each in snapshot.load_balancers or ()
        if each.owner.former is not None and each.owner.is_released and is_served_here(each.owner, snapshot)
    ]
    found.sort(key=lambda each: (each.owner.released or "", each.id))
    return {each.owner.former: each for each in found}


def may_stay_behind(snapshot: Snapshot) -> bool:
    """Whether a listed load balancer has to be looked at even if no Service has or wants one: that of a Service of this
    cluster may stay behind."""
    owners = (balancer.owner for balancer in snapshot.load_balancers or ())
    return any(owner.uid is not None and is_served_here(owner, snapshot) for owner in owners)


def leaves(service: Service, serving: Serving, *, is_labelled: bool = False) -> bool:
    """Whether the Service has to release its load balancer: it is being deleted, or of another type or class by now.
    ``is_labelled`` is whether a load balancer of this process has its label.

    Without one the finalizer tells. Kubernetes' own is that of other controllers too, so that a Service of a class
    needs our condition beside it.
    """
    if serving.wants(service):
        return False
    is_certain = serving.balancer_class is not None or service.load_balancer_class is None
    return is_labelled or (serving.finalizer in service.finalizers and (is_certain or has_our_conditions(service)))


def finalizers_of_others(service: Service, serving: Serving) -> tuple[str, ...]:
    """The finalizers of a Service that processes of other classes take off."""
    return tuple(name for name in service.finalizers if is_of_a_class(name) and name != serving.finalizer)


def has_our_conditions(service: Service) -> bool:
    """Whether the Service's status has a condition of this product."""
    return any(found.type == CONDITION_IN_SYNC for found in service.conditions)


def matters(service: Service, serving: Serving) -> bool:
    """Whether anything may have to be decided on a load balancer of the Service: without such a Service none are read.
    For one of another class that has the finalizer only its label tells."""
    return serving.wants(service) or serving.finalizer in service.finalizers
