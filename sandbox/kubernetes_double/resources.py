"""Table of the resources that the double serves. What differs between kinds, but for their fields, is in a row here."""

from dataclasses import dataclass

EVERY_VERB = ("create", "delete", "get", "list", "patch", "update", "watch")


@dataclass(frozen=True, slots=True, eq=False)
class Resource:
    """One kind of object under one path. Rows are compared by identity."""

    group: str
    """API group; empty for the core group."""
    plural: str
    kind: str
    namespaced: bool = True
    short_names: tuple[str, ...] = ()
    verbs: tuple[str, ...] = EVERY_VERB
    has_status: bool = False
    """Whether ``/status`` exists; then writes to the object leave ``status`` alone, and writes to it ``spec``."""
    delete_answers_object: bool = False
    """Whether DELETE answers the deleted object, not a ``Status``."""
    label_names: bool = False
    """Whether names are DNS labels, not DNS subdomains."""
    selectable: tuple[str, ...] = ()
    """Fields that a ``fieldSelector`` may name besides ``metadata.name`` and ``metadata.namespace``."""

    @property
    def api_version(self) -> str:
        """``v1`` or ``GROUP/v1``."""
        return f"{self.group}/v1" if self.group else "v1"

    @property
    def qualified(self) -> str:
        """The name in error texts: ``nodes``, ``leases.coordination.k8s.io``."""
        return f"{self.plural}.{self.group}" if self.group else self.plural


NODES = Resource("", "nodes", "Node", namespaced=False, short_names=("no",), has_status=True)
SERVICES = Resource(
    "",
    "services",
    "Service",
    short_names=("svc",),
    has_status=True,
    delete_answers_object=True,
    label_names=True,
)
NAMESPACES = Resource(
    "",
    "namespaces",
    "Namespace",
    namespaced=False,
    short_names=("ns",),
    has_status=True,
    label_names=True,
    verbs=tuple(verb for verb in EVERY_VERB if verb != "delete"),
)
EVENTS = Resource(
    "",
    "events",
    "Event",
    short_names=("ev",),
    selectable=(
        *(f"involvedObject.{field}" for field in ("apiVersion", "kind", "namespace", "name", "uid", "fieldPath")),
        "reason",
        "type",
    ),
)
CONFIG_MAPS = Resource("", "configmaps", "ConfigMap", short_names=("cm",))
LEASES = Resource("coordination.k8s.io", "leases", "Lease")
PODS = Resource(
    "", "pods", "Pod", short_names=("po",), verbs=("get", "list", "watch"), selectable=("spec.nodeName", "status.phase")
)
"""Always empty: ``kubectl describe node`` fails without the list."""
DEPLOYMENTS = Resource("apps", "deployments", "Deployment", short_names=("deploy",), has_status=True)
DAEMON_SETS = Resource("apps", "daemonsets", "DaemonSet", short_names=("ds",), has_status=True)
"""Both are kept as they are written: what runs beside the product is told by them, and nothing makes Pods of them."""
VOLUME_ATTACHMENTS = Resource(
    "storage.k8s.io", "volumeattachments", "VolumeAttachment", namespaced=False, has_status=True
)
"""Kept as they are written: nothing is attached here."""

RESOURCES = (
    NODES,
    SERVICES,
    NAMESPACES,
    EVENTS,
    LEASES,
    CONFIG_MAPS,
    DEPLOYMENTS,
    DAEMON_SETS,
    PODS,
    VOLUME_ATTACHMENTS,
)
GROUPS = tuple(dict.fromkeys(resource.group for resource in RESOURCES))


def resource_for(group: str, plural: str) -> Resource | None:
    """The row for a path; None for a kind that is not served."""
    return next((row for row in RESOURCES if (row.group, row.plural) == (group, plural)), None)
