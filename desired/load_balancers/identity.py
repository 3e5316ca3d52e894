"""Names and labels by which a load balancer is known."""

from collections.abc import Mapping
from hashlib import sha256

from desired.annotations.options import Options
from desired.load_balancer import Owner
from desired.names import (
    LABEL_ADOPTED,
    LABEL_CLUSTER_UID,
    LABEL_DELETE_AFTER,
    LABEL_FORMER,
    LABEL_RELEASED,
    LABEL_RETURNING,
    LABEL_SERVICE_UID,
    LABEL_SWITCH,
)
from desired.section import Present, Unknown, Unmanaged
from desired.service import Service

_LONGEST = 32
_LONGEST_LABEL = 63
"""Characters that the value of a label may have (Hetzner Cloud API, labels)."""


def default_name(service_uid: str) -> str:
    """``a`` and the UID without its dashes, cut to 32 characters (ID-1)."""
    return f"a{service_uid.replace('-', '')}"[:_LONGEST]


def wanted_name(service: Service, options: Options) -> str:
    """The name that the Service's load balancer has when it is created, and is looked for by."""
    return default_name(service.uid) if isinstance(options.name, Unmanaged) else options.name


def owner_of(labels: Mapping[str, str]) -> Owner:
    """Whom these labels of Hetzner's name."""
    return Owner(
        labels.get(LABEL_CLUSTER_UID),
        labels.get(LABEL_SERVICE_UID),
        labels.get(LABEL_RELEASED),
        adopted=labels.get(LABEL_ADOPTED),
        former=labels.get(LABEL_FORMER),
        delete_after=labels.get(LABEL_DELETE_AFTER),
    )


def without_memory(labels: Mapping[str, str]) -> Mapping[str, str]:
    """The labels without those that remember how far the targets are switched, and which come back after a move: they
    mean nothing to the next owner."""
    return {key: text for key, text in labels.items() if key != LABEL_SWITCH and not key.startswith(LABEL_RETURNING)}


def former_of(service: Service) -> str:
    """The Service by its namespace and name, as the value of a label: ``NAMESPACE.NAME``, as neither has a dot; where
    that is too long a digest, which has none."""
    return former_by_name(service.namespace, service.name)


def former_by_name(namespace: str, service: str) -> str:
    """The same for a Service that is only known by its names."""
    name = f"{namespace}.{service}"
    return name if len(name) <= _LONGEST_LABEL else f"sha256-{sha256(name.encode()).hexdigest()[:40]}"


def labels_of(service: Service, cluster_uid: Present[str] | Unknown) -> Mapping[str, str]:
    """The labels that say whose a load balancer or certificate is (design section 5)."""
    cluster = {LABEL_CLUSTER_UID: cluster_uid.value} if isinstance(cluster_uid, Present) else {}
    return {LABEL_SERVICE_UID: service.uid, **cluster}
