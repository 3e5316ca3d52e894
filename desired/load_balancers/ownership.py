"""Ownership: the labels and names that say whose a load balancer or certificate is."""

from collections.abc import Mapping
from enum import StrEnum
from hashlib import sha256

from desired.model.load_balancer import CloudBalancer, Owner
from desired.model.service import Service
from desired.model.snapshot import Snapshot
from desired.names import (
    LABEL_ADOPTED,
    LABEL_CLUSTER_UID,
    LABEL_DELETE_AFTER,
    LABEL_FORMER,
    LABEL_RELEASED,
    LABEL_SERVICE_UID,
)
from desired.section import Present, Unknown

_LONGEST = 32
_LONGEST_LABEL = 63
"""Characters that the value of a label may have (Hetzner Cloud API, labels)."""


def default_name(service_uid: str) -> str:
    """``a`` and the UID without its dashes, cut to 32 characters, as HCCM names it."""
    return f"a{service_uid.replace('-', '')}"[:_LONGEST]


def asked_name(service: Service) -> str:
    """The name that the Service's load balancer has when it is created, and is looked for by: its annotation's; the
    default one where that is not there, or cannot be read. No variable has a default for all Services."""
    return str(service.claim.read.values.get("name", default_name(service.uid)))


def owner_of(labels: Mapping[str, str]) -> Owner:
    """The owner that these labels name."""
    return Owner(
        labels.get(LABEL_CLUSTER_UID),
        labels.get(LABEL_SERVICE_UID),
        labels.get(LABEL_RELEASED),
        adopted=labels.get(LABEL_ADOPTED),
        former=labels.get(LABEL_FORMER),
        delete_after=labels.get(LABEL_DELETE_AFTER),
    )


class Ownership(StrEnum):
    """The answer of the cluster's label: whose a load balancer or certificate is."""

    OURS = "ours"
    UNCLAIMED = "unclaimed"
    """Without such a label, as what HCCM and people make."""
    OTHER_CLUSTER = "other cluster"
    UNKNOWN = "unknown"
    """It has one, and which one this cluster would have could not be read."""


def ownership(cluster_uid: str | None, snapshot: Snapshot) -> Ownership:
    """Whose something is that has this cluster's UID as its label, or none. The one place that compares them."""
    if cluster_uid is None:
        return Ownership.UNCLAIMED
    if not isinstance(snapshot.cluster_uid, Present):
        return Ownership.UNKNOWN
    return Ownership.OURS if cluster_uid == snapshot.cluster_uid.value else Ownership.OTHER_CLUSTER


def is_of_another_cluster(owner: Owner, snapshot: Snapshot) -> bool:
    """Whether these labels name another cluster that still has a claim: one that has released it for good has none."""
    is_released = owner.released is not None and owner.service_uid is None
    return ownership(owner.cluster_uid, snapshot) is Ownership.OTHER_CLUSTER and not is_released


def former_of(service: Service) -> str:
    """The Service by its namespace and name, as the value of a label: ``NAMESPACE.NAME``, as neither has a dot; where
    that is too long a digest, which has none."""
    return former_by_name(service.namespace, service.name)


def former_by_name(namespace: str, service: str) -> str:
    """The same for a Service that is only known by its names."""
    name = f"{namespace}.{service}"
    return name if len(name) <= _LONGEST_LABEL else f"sha256-{sha256(name.encode()).hexdigest()[:40]}"


def labels_of(service: Service, cluster_uid: Present[str] | Unknown) -> Mapping[str, str]:
    """The labels that name the owner of a load balancer or certificate."""
    cluster = {LABEL_CLUSTER_UID: cluster_uid.value} if isinstance(cluster_uid, Present) else {}
    return {LABEL_SERVICE_UID: service.uid, **cluster}


def may_come_back(owner: Owner, snapshot: Snapshot) -> bool:
    """Whether the load balancer with these labels was released for a while: of this cluster for certain, unowned now,
    and not released for good."""
    is_ours = ownership(owner.cluster_uid, snapshot) is Ownership.OURS
    return is_ours and owner.service_uid is None and owner.released is None and owner.former is not None


def goes_back_to(service: Service, owner: Owner, snapshot: Snapshot) -> bool:
    """Whether the load balancer with these labels was released for a while when a Service of this namespace and name
    went."""
    return may_come_back(owner, snapshot) and owner.former == former_of(service)


def left_behind(snapshot: Snapshot) -> Mapping[str, CloudBalancer]:
    """The label that names a Service which has gone → the load balancer that was released then, and that a Service of
    this namespace and name gets back; of several the one that was released last."""
    listed = snapshot.load_balancers or ()
    found = [balancer for balancer in listed if may_come_back(owner_of(balancer.spec.labels), snapshot)]
    found.sort(key=lambda balancer: (owner_of(balancer.spec.labels).delete_after or "", balancer.id))
    return {owner_of(balancer.spec.labels).former or "": balancer for balancer in found}


def may_stay_behind(snapshot: Snapshot) -> bool:
    """Whether a load balancer was listed that has to be looked at even when no Service has or wants one: it waits for
    its Service or its deletion, or is of a Service of this cluster that may vanish, or has."""
    listed = [owner_of(balancer.spec.labels) for balancer in snapshot.load_balancers or ()]
    return bool(left_behind(snapshot)) or any(
        owner.service_uid is not None and ownership(owner.cluster_uid, snapshot) is Ownership.OURS for owner in listed
    )
