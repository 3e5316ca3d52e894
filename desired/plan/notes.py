"""Notes: facts that a person should know although no change is planned, and the table of their kinds.

A row has all that follows from a note of its kind: people needed, Event, condition, result. Text reports, pages,
Events, conditions and metrics read it.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from types import MappingProxyType

from desired.annotations.warnings import Lack
from desired.model.key import Key, ObjectKind


class NoteKind(StrEnum):
    """The reason why a person should know of something although nothing is done. ``NOTES`` says what each means."""

    FOREIGN = "foreign"
    UNSUPPORTED = "unsupported"
    UNMATCHED = "unmatched"
    AMBIGUOUS = "ambiguous"
    SEVERAL_BALANCERS = "several-balancers"
    MALFORMED = "malformed"
    UNUSABLE_NODE_IP = "unusable-node-ip"
    MISCONFIGURED_INTERNAL_IP = "misconfigured-internal-ip"
    UNKNOWN = "unknown"
    UNREADABLE = "unreadable"
    UNUSABLE_LABEL = "unusable-label"
    KEPT = "kept"
    IGNORED = "ignored"
    DELETING = "deleting"
    ANCHOR = "project-anchor"
    OTHER_CONTROLLER = "other-controller"
    APPROVAL = "approval"
    LIMIT = "limit"
    TARGET_LIMIT = "target-limit"
    DEPRECATED = "deprecated"
    CERTIFICATE = "certificate"
    LIKELY_SERVER = "likely-server"
    UNUSABLE_TARGET = "unusable-target"
    NO_TARGETS = "no-targets"
    UNREACHABLE = "unreachable"
    UNROUTABLE = "unroutable"
    CLUSTER_CIDR = "cluster-cidr"
    STUCK = "stuck"
    NO_POD_CIDR = "no-pod-cidr"
    CLOCK_SKEW = "clock-skew"
    ORPHAN = "orphan"
    PRIMARY_IP = "primary-ip"
    SETTINGS = "settings"
    OUT_OF_SERVICE = "out-of-service"
    PARTIAL = "partial"
    AGREED_PLAN = "agreed-plan"
    PACE = "pace"
    UNSELECTED = "unselected"


@dataclass(frozen=True, slots=True)
class NodeEvent:
    """The warning for a Node with the note."""

    reason: str
    joining: bool = True
    """Whether a Node is warned that is not initialized yet."""
    initialized: bool = True
    """Whether one is that is."""


@dataclass(frozen=True, slots=True)
class NoteRow:
    """All that is concluded from one kind of note."""

    means: str
    """One sentence."""
    remedy: str = ""
    """The remedy; "" if the note's own text says it, or none is needed."""
    needs_a_person: frozenset[ObjectKind] = frozenset()
    """The kinds of objects that do not get what they ask for until a person corrects the cause."""
    is_finding: bool = False
    """Whether the result is ``blocked``, whatever is planned."""
    is_undecided: bool = False
    """Whether the needs of the object could not be determined: the result is ``incomplete``."""
    is_of_the_whole: bool = False
    """Whether it explains verdicts of the whole plan, so that each part of a plan has it."""
    is_of_the_project: bool = False
    """Whether it follows from servers that were not found, and is left out while the project seems to be another."""
    node_event: NodeEvent | None = None
    service_event: str = ""
    """Reason of the warning for a Service with the note; "" for none."""
    condition: str = ""
    """Reason of the condition ``LoadBalancerInSync`` of a Service with the note; "" for none."""


@dataclass(frozen=True, slots=True, order=True)
class Note:
    """Something a person should know though nothing is done."""

    key: Key
    kind: NoteKind
    text: str
    port: int | None = field(default=None, compare=False)
    """The port of a Service that it is about; None when it is about no single one."""
    lack: Lack | None = field(default=None, compare=False)
    """The part of a Service's spec that is not fulfilled; None for any other note."""
    option: str | None = field(default=None, compare=False)
    """The annotation that cannot be read, or the variable that stands in for it; None for any other note."""

    @property
    def row(self) -> NoteRow:
        """The row of its kind."""
        return NOTES[self.kind]

    @property
    def needs_a_person(self) -> bool:
        """Whether its object does not get what it asks for until a person corrects the cause."""
        return self.key.kind in self.row.needs_a_person


_NODE, _SERVICE = frozenset({ObjectKind.NODE}), frozenset({ObjectKind.SERVICE})
_EITHER = _NODE | _SERVICE
_NO_ROUTE = NodeEvent("FailedToCreateRoute", joining=False)

NOTES: Mapping[NoteKind, NoteRow] = MappingProxyType(
    {
        NoteKind.MALFORMED: NoteRow(
            "A value that a person wrote cannot be read.",
            "Correct the value; reconcile validate checks it offline.",
            needs_a_person=_EITHER,
            node_event=NodeEvent("InvalidProviderID"),
            service_event="InvalidAnnotation",
            condition="InvalidAnnotation",
        ),
        NoteKind.AMBIGUOUS: NoteRow(
            "Several servers match the Node, or several Services ask for one name.",
            "Give each a name of its own.",
            needs_a_person=_EITHER,
            node_event=NodeEvent("InstanceLookupFailed"),
            service_event="AmbiguousOwnership",
            condition="Ambiguous",
        ),
        NoteKind.SEVERAL_BALANCERS: NoteRow(
            "Several load balancers have the label of the Service.",
            "Remove the label from all but its own.",
            needs_a_person=_SERVICE,
            is_finding=True,
            service_event="AmbiguousOwnership",
            condition="Ambiguous",
        ),
        NoteKind.UNREACHABLE: NoteRow(
            "The load balancer can reach no target until its settings are changed.",
            needs_a_person=_EITHER,
            is_finding=True,
            service_event="UnAvailableLoadBalancer",
            condition="NoTargets",
        ),
        NoteKind.CERTIFICATE: NoteRow(
            "A certificate is missing, not issued, or not the requested one.",
            service_event="CertificateUnavailable",
            condition="CertificateUnavailable",
        ),
        NoteKind.LIMIT: NoteRow(
            "A limit of Hetzner is reached.",
            needs_a_person=_NODE,
            node_event=_NO_ROUTE,
            service_event="LimitReached",
            condition="Limit",
        ),
        NoteKind.TARGET_LIMIT: NoteRow(
            "The type of a load balancer takes fewer targets than there are Nodes. The Service is served.",
            service_event="LimitReached",
            condition="Limit",
        ),
        NoteKind.NO_TARGETS: NoteRow(
            "No Node may get traffic from the load balancer.",
            is_of_the_project=True,
            service_event="UnAvailableLoadBalancer",
            condition="NoTargets",
        ),
        NoteKind.UNROUTABLE: NoteRow(
            "No route leads to the Node's pods.", needs_a_person=_EITHER, node_event=_NO_ROUTE
        ),
        NoteKind.CLUSTER_CIDR: NoteRow(
            "The cluster CIDR is not given, or is not that of the Nodes.",
            "Set --cluster-cidr to the range of the pods.",
            needs_a_person=_NODE,
            node_event=NodeEvent("ClusterCIDRMisconfigured", joining=False),
        ),
        NoteKind.STUCK: NoteRow(
            "A Service that is being deleted waits for a controller that does not run.",
            "Start that controller or the process of its class, or remove the finalizer by hand.",
            needs_a_person=_SERVICE,
            is_finding=True,
            service_event="DeletionStuck",
        ),
        NoteKind.ANCHOR: NoteRow(
            "The token seems to be of another project.",
            "Check HCLOUD_TOKEN.",
            is_finding=True,
            is_of_the_whole=True,
        ),
        NoteKind.UNKNOWN: NoteRow(
            "Too little could be read to decide on the object.", is_undecided=True, is_of_the_project=True
        ),
        NoteKind.UNREADABLE: NoteRow("The object could not be read.", is_undecided=True),
        NoteKind.UNMATCHED: NoteRow(
            "No server was found for the Node.",
            "Give the Node its server's name, or its kubelet --provider-id.",
            is_of_the_project=True,
            node_event=NodeEvent("ServerNotFound", initialized=False),
        ),
        NoteKind.UNSUPPORTED: NoteRow(
            "The request is not supported.",
            node_event=NodeEvent("RobotNotRead", initialized=False),
            service_event="UnsupportedSetting",
        ),
        NoteKind.UNUSABLE_NODE_IP: NoteRow(
            "The kubelet's --node-ip is no address of the server.", node_event=NodeEvent("InvalidNodeIP")
        ),
        NoteKind.MISCONFIGURED_INTERNAL_IP: NoteRow(
            "An InternalIP of a Robot server's Node is not kept.", node_event=NodeEvent("MisconfiguredInternalIP")
        ),
        NoteKind.LIKELY_SERVER: NoteRow(
            "The Node is not managed, and is likely on a server of the project.",
            node_event=NodeEvent("UnknownProviderIDPrefix"),
        ),
        NoteKind.DEPRECATED: NoteRow(
            "Hetzner is about to stop selling what is in use.", service_event="LoadBalancerTypeDeprecated"
        ),
        NoteKind.PRIMARY_IP: NoteRow(
            "The load balancer does not get a Primary IP, or one is deleted with it.", service_event="CheckPrimaryIP"
        ),
        NoteKind.KEPT: NoteRow("A differing value that another client has set is kept.", is_of_the_project=True),
        NoteKind.UNUSABLE_TARGET: NoteRow(
            "A Node that may get traffic has no address for it, or no server.", is_of_the_project=True
        ),
        NoteKind.FOREIGN: NoteRow("The object belongs to another owner; it is not managed."),
        NoteKind.UNUSABLE_LABEL: NoteRow("The server has a value that no label may have."),
        NoteKind.IGNORED: NoteRow("--ignore-nodes excludes the object."),
        NoteKind.DELETING: NoteRow("The object is being deleted and still exists."),
        NoteKind.OTHER_CONTROLLER: NoteRow(
            "Another cloud controller is running, or this could not be determined.",
            "Remove the other controller, or leave a part to it with --controllers.",
            is_of_the_whole=True,
        ),
        NoteKind.APPROVAL: NoteRow("An approval does not count, or could not be read.", is_of_the_whole=True),
        NoteKind.NO_POD_CIDR: NoteRow("Nodes have no pod CIDR yet."),
        NoteKind.CLOCK_SKEW: NoteRow("A clock differs from others.", is_of_the_whole=True),
        NoteKind.ORPHAN: NoteRow(
            "A load balancer or certificate of this cluster belongs to no Service.",
            "Delete it with reconcile orphans --delete, or leave it.",
        ),
        NoteKind.OUT_OF_SERVICE: NoteRow("A Node keeps the out-of-service taint, or is deleted without it."),
        NoteKind.SETTINGS: NoteRow(
            "Settings changed within a day, or HCLOUD_NETWORK names no network.",
            "Restore the settings, or correct HCLOUD_NETWORK.",
            is_of_the_whole=True,
        ),
        NoteKind.PACE: NoteRow(
            "Passes are further apart, as little of the project's rate limit is left.",
            "Slow down the client that sends the most requests, or give each cluster a project of its own.",
        ),
        NoteKind.UNSELECTED: NoteRow(
            "--server-selector does not select the Node's server, which costs requests of its own.",
            "Label the server, or correct the selector.",
        ),
        NoteKind.PARTIAL: NoteRow("--only limits the plan."),
        NoteKind.AGREED_PLAN: NoteRow("The plan differs from the approved one."),
    }
)
"""Kind → row. Those that keep a load balancer from being what was asked for come first, the gravest of them first."""
