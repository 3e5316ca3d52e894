"""Names and labels by which a load balancer is known."""

from collections.abc import Mapping

from desired.annotations.options import Options
from desired.load_balancer import Owner
from desired.names import LABEL_ADOPTED, LABEL_CLUSTER_UID, LABEL_RELEASED, LABEL_SERVICE_UID
from desired.section import Present, Unknown, Unmanaged
from desired.service import Service

_LONGEST = 32


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
    )


def labels_of(service: Service, cluster_uid: Present[str] | Unknown) -> Mapping[str, str]:
    """The labels that say whose a load balancer or certificate is (design section 5)."""
    cluster = {LABEL_CLUSTER_UID: cluster_uid.value} if isinstance(cluster_uid, Present) else {}
    return {LABEL_SERVICE_UID: service.uid, **cluster}
