"""Table of the resources that the simulator serves. Everything else about a kind depends on its row here."""

from dataclasses import dataclass

EVERY_VERB = ("create", "delete", "get", "list", "patch", "update", "watch")


@dataclass(frozen=True, slots=True, eq=False)
class Resource:
    """One kind of object under one path. Rows are compared by identity."""

    group: str
    """API group; empty for the core group."""
    plural: str
    kind: str
    namespaced: bool
    short_names: tuple[str, ...] = ()
    verbs: tuple[str, ...] = EVERY_VERB
    has_status: bool = False
    """Whether ``/status`` exists; then writes to the object leave ``status`` alone, and writes to it ``spec``."""
    keeps_status_on_create: bool = False
    """Whether the body of a POST may bring a status (a kubelet registers its Node with one)."""
    put_creates: bool = False
    """Whether a PUT of an absent object creates it."""
    put_needs_version: bool = False
    """Whether a PUT without ``resourceVersion`` is refused."""
    delete_answers_object: bool = False
    """Whether DELETE answers the deleted object, not a ``Status``."""
    label_names: bool = False
    """Whether names are DNS labels, not DNS subdomains."""
    categories: tuple[str, ...] = ()
    """Names for several kinds at once, as ``kubectl get all``."""
    selectable: tuple[str, ...] = ()
    """Fields that a ``fieldSelector`` may name besides ``metadata.name`` and ``metadata.namespace``."""

    @property
    def singular(self) -> str:
        """The name for one object, ``node``."""
        return self.kind.lower()

    @property
    def api_version(self) -> str:
        """``v1`` or ``GROUP/v1``."""
        return f"{self.group}/v1" if self.group else "v1"

    @property
    def qualified(self) -> str:
        """The name in error texts: ``nodes``, ``leases.coordination.k8s.io``."""
        return f"{self.plural}.{self.group}" if self.group else self.plural


NODES = Resource(
    "",
    "nodes",
    "Node",
    namespaced=False,
    short_names=("no",),
    has_status=True,
    keeps_status_on_create=True,
    selectable=("spec.unschedulable",),
)
SERVICES = Resource(
    "",
    "services",
    "Service",
    namespaced=True,
    short_names=("svc",),
    categories=("all",),
    has_status=True,
    put_creates=True,
    delete_answers_object=True,
    label_names=True,
    selectable=("spec.clusterIP", "spec.type"),
)
NAMESPACES = Resource(
    "",
    "namespaces",
    "Namespace",
    namespaced=False,
    short_names=("ns",),
    has_status=True,
    delete_answers_object=True,
    label_names=True,
    selectable=("status.phase",),
)
EVENTS = Resource(
    "",
    "events",
    "Event",
    namespaced=True,
    short_names=("ev",),
    put_creates=True,
    selectable=(
        "involvedObject.kind",
        "involvedObject.namespace",
        "involvedObject.name",
        "involvedObject.uid",
        "involvedObject.apiVersion",
        "involvedObject.resourceVersion",
        "involvedObject.fieldPath",
        "reason",
        "reportingComponent",
        "source",
        "type",
    ),
)
CONFIG_MAPS = Resource("", "configmaps", "ConfigMap", namespaced=True, short_names=("cm",))
LEASES = Resource("coordination.k8s.io", "leases", "Lease", namespaced=True, put_creates=True, put_needs_version=True)
PODS = Resource(
    "",
    "pods",
    "Pod",
    namespaced=True,
    short_names=("po",),
    categories=("all",),
    verbs=("get", "list", "watch"),
    selectable=("spec.nodeName", "status.phase"),
)
"""Always empty: ``kubectl describe node`` fails without the list."""

DEPLOYMENTS = Resource(
    "apps",
    "deployments",
    "Deployment",
    namespaced=True,
    short_names=("deploy",),
    categories=("all",),
    has_status=True,
)
"""Nobody makes Pods of them; ``kubectl expose`` makes Services of them."""

DAEMON_SETS = Resource(
    "apps",
    "daemonsets",
    "DaemonSet",
    namespaced=True,
    short_names=("ds",),
    categories=("all",),
    verbs=("get", "list"),
)
"""They come from a world file alone: nothing runs in a sandbox, but people want to see what happens beside HCCM."""

RESOURCES = (NODES, SERVICES, NAMESPACES, EVENTS, CONFIG_MAPS, LEASES, PODS, DEPLOYMENTS, DAEMON_SETS)
GROUPS = tuple(dict.fromkeys(resource.group for resource in RESOURCES))


def resource_for(group: str, plural: str) -> Resource | None:
    """The row for a path, or None when the simulator does not serve it."""
    return next((row for row in RESOURCES if (row.group, row.plural) == (group, plural)), None)
