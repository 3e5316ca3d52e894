"""Rows of the guards: the sentence of each hold, wait and refusal, in the order of the table ``GUARDS``.

A wait and a hold of the same guard are two rows. What a guard also says where it withholds nothing is ``noted``.
"""

from desired.plan.change import GuardName, Verdict
from desired.plan.notes import NoteKind
from desired.rules.rule import Rule


def _held(guard: GuardName, name: str, says: str, remedy: str = "", noted: NoteKind | None = None) -> Rule:
    """A row whose changes wait for the approval of a person."""
    return Rule(name, says, remedy, guard, Verdict.HELD, noted=noted)


def _waiting(guard: GuardName, name: str, says: str, remedy: str = "", noted: NoteKind | None = None) -> Rule:
    """A row whose changes wait for time or for data."""
    return Rule(name, says, remedy, guard, Verdict.WAITING, noted=noted)


def _refused(guard: GuardName, name: str, says: str, remedy: str = "") -> Rule:
    """A row whose changes concern what belongs to another owner."""
    return Rule(name, says, remedy, guard, Verdict.REFUSED)


CLUSTER_UNREAD = _waiting(
    GuardName.INCOMPLETE_SNAPSHOT,
    "cluster-unread",
    "cannot read the UID of the cluster (nothing is written to Hetzner): {error}",
    noted=NoteKind.UNKNOWN,
)
LIST_INCOMPLETE = _waiting(GuardName.INCOMPLETE_SNAPSHOT, "list-incomplete", "list of {list} is incomplete: {error}")
PROJECT_UNVERIFIED = _waiting(
    GuardName.INCOMPLETE_SNAPSHOT,
    "project-unverified",
    "cannot verify {project}: {found} of {needed} required servers found, {unread} unreadable",
)
REMOVALS_UNVERIFIED = _waiting(
    GuardName.INCOMPLETE_SNAPSHOT,
    "removals-unverified",
    "cannot verify the project of HCLOUD_TOKEN for removals: {nodes} unreadable",
)
PROJECT_IDS_UNREAD = _waiting(
    GuardName.INCOMPLETE_SNAPSHOT,
    "project-ids-unread",
    "cannot read the recorded ids of the project: {error}",
    noted=NoteKind.UNKNOWN,
)
ADOPTION_UNCLEAR = _waiting(
    GuardName.INCOMPLETE_SNAPSHOT, "adoption-unclear", "cannot determine what adoption removes from {balancer}: {error}"
)

CONTROLLER_RUNS = _held(
    GuardName.OTHER_CONTROLLER,
    "controller-runs",
    "another cloud controller ({sign}) is running: {workloads}",
    "scale it to 0 or delete it",
    noted=NoteKind.OTHER_CONTROLLER,
)
CONTROLLER_UNKNOWN = _waiting(
    GuardName.OTHER_CONTROLLER,
    "controller-unknown",
    "cannot determine whether another cloud controller is running: {error}",
    noted=NoteKind.OTHER_CONTROLLER,
)

PROJECT_MISMATCH = _held(
    GuardName.PROJECT_ANCHOR,
    "project-mismatch",
    "{found} of {most} Ready Nodes have their server in the project of HCLOUD_TOKEN (at least {needed} needed)",
    "check the token, or approve if the servers were deleted",
    noted=NoteKind.ANCHOR,
)
ROBOT_MISMATCH = _held(
    GuardName.PROJECT_ANCHOR,
    "robot-mismatch",
    "{found} of {most} Nodes have their server in the account of ROBOT_USER (at least {needed} needed)",
    "check ROBOT_USER, or approve if the servers were returned to Hetzner",
    noted=NoteKind.ANCHOR,
)
PROJECT_UNKNOWN = _held(
    GuardName.PROJECT_ANCHOR,
    "project-unknown",
    "no Node is Ready; 0 of {most} servers and no other object of the cluster found in the project of HCLOUD_TOKEN",
    "check the token, or approve if all servers were deleted or replaced",
    noted=NoteKind.ANCHOR,
)
SERVED_ELSEWHERE = _held(
    GuardName.PROJECT_ANCHOR,
    "served-elsewhere",
    "no load balancer in the project of HCLOUD_TOKEN has an address that Services publish",
    "check the token, or approve if the load balancers were deleted",
)
PROJECT_EMPTY = _held(
    GuardName.PROJECT_ANCHOR,
    "project-empty",
    "no Node is Ready; no object of the cluster found in the project of HCLOUD_TOKEN",
    "check the token, or approve if all objects were deleted",
)

_COPY = "approve if no other cluster uses these servers (this may be a copy, such as a restored backup)"
_RARELY = f"{_COPY}, or have kubelets report more often (nodeStatusReportFrequency)"
NOT_REPORTING = _held(
    GuardName.SILENT_CLUSTER,
    "not-reporting",
    "{not_reporting} of {counted} Nodes stopped reporting (at least {enough} must report); their servers are running",
    _COPY,
)
HEARTBEATS_STALE = _held(
    GuardName.SILENT_CLUSTER,
    "heartbeats-stale",
    "{not_reporting} of {counted} Nodes stopped reporting (at least {enough} must report), {stale} of them Ready with a"
    " heartbeat older than {age}; their servers are running",
    _RARELY,
)
NONE_READY = _held(
    GuardName.SILENT_CLUSTER,
    "none-ready",
    "0 of {nodes} Nodes are Ready, although {running} of their servers run",
    _COPY,
)
NONE_FRESH = _held(
    GuardName.SILENT_CLUSTER,
    "none-fresh",
    "0 of {nodes} Nodes are Ready with a heartbeat within {age}, although {running} of their servers run",
    _RARELY,
)
TARGETS_WITHOUT_NODES = _held(
    GuardName.SILENT_CLUSTER,
    "targets-without-nodes",
    "{not_reporting} of {counted} servers stopped reporting, {without_node} of them without a Node (at least {enough}"
    " must report)",
    _RARELY,
)
ONLY_TARGETS_RUN = _held(
    GuardName.SILENT_CLUSTER,
    "only-targets-run",
    "0 of {nodes} Nodes are Ready; {targets} without a Node",
    _RARELY,
)
ADDITIONS_WAIT = _waiting(
    GuardName.SILENT_CLUSTER,
    "additions-wait",
    "0 of {nodes} Nodes report; the cluster may be a copy, such as a restored backup",
)

ABSENCE_UNPROVEN = _waiting(GuardName.ABSENCE_PROOF, "absence-unproven", "no proof that the server is gone")
SERVERS_INCOMPLETE = _waiting(GuardName.ABSENCE_PROOF, "servers-incomplete", "list of servers is incomplete: {error}")
SERVER_EXISTS = _waiting(GuardName.ABSENCE_PROOF, "server-exists", "{server} exists")
SERVER_UNKNOWN = _waiting(
    GuardName.ABSENCE_PROOF, "server-unknown", "cannot determine whether {server} exists: {error}"
)
LOOKUP_FAILED = _waiting(GuardName.ABSENCE_PROOF, "lookup-failed", "lookup of {server} by id failed: {error}")
LOOKUP_PENDING = _waiting(GuardName.ABSENCE_PROOF, "lookup-pending", "lookup of {server} by id is pending")
LIST_TOO_OLD = _waiting(
    GuardName.ABSENCE_PROOF, "list-too-old", "list of Robot servers is too old to prove that {server} is gone"
)
NOT_READY_TOO_SHORT = _waiting(GuardName.ABSENCE_PROOF, "not-ready-too-short", "Node must be NotReady for {wait}")
NODE_TOO_YOUNG = _waiting(GuardName.ABSENCE_PROOF, "node-too-young", "Node must be older than {wait}")

_NTP = "synchronize the machines by NTP, the control plane first"
_AGES = "deletions by age wait and approvals in the ConfigMap do not count"
CLOCKS_DIFFER = _waiting(
    GuardName.CLOCK_SKEW,
    "clocks-differ",
    f"clock of {{clock}} is {{apart}} {{others}}; {_AGES}",
    _NTP,
    noted=NoteKind.CLOCK_SKEW,
)
API_SERVERS_DIFFER = _waiting(
    GuardName.CLOCK_SKEW,
    "api-servers-differ",
    f"clocks of the API servers differ by {{apart}}; {_AGES}",
    _NTP,
    noted=NoteKind.CLOCK_SKEW,
)
MACHINE_CLOCK_OFF = Rule(
    "machine-clock-off",
    "clock of this machine is {apart} {others}; no change waits for it",
    "synchronize the machine by NTP",
    NoteKind.CLOCK_SKEW,
)
HEARTBEATS_UNCERTAIN = _waiting(
    GuardName.CLOCK_SKEW,
    "heartbeats-uncertain",
    "heartbeats of most Nodes are too old if the clock that is {apart} ahead is right",
    _NTP,
)

_DRAIN = (
    "cordon Nodes before deleting their servers (Nodes that are NotReady for {wait} count as planned removals), or"
    " approve if intended"
)
NODES_LOST = _held(
    GuardName.NODE_BLAST_RADIUS,
    "nodes-lost",
    "{lost} of {most} Nodes lost their servers without a drain (limit {limit})",
    _DRAIN,
)
NODES_LOST_OR_UNREAD = _held(
    GuardName.NODE_BLAST_RADIUS,
    "nodes-lost-or-unread",
    "{lost} of {most} Nodes lost their servers without a drain or cannot be read (limit {limit})",
    _DRAIN,
)
NODES_AND_CONTROL_PLANE_LOST = _held(
    GuardName.NODE_BLAST_RADIUS,
    "nodes-and-control-plane-lost",
    "{lost} of {most} Nodes lost their servers without a drain (limit {limit}), and no Node of the control plane is"
    " known to remain",
    "cordon Nodes before deleting their servers, or approve if intended",
)
CONTROL_PLANE_LOST = _held(
    GuardName.NODE_BLAST_RADIUS,
    "control-plane-lost",
    "no Node of the control plane is known to remain",
    "approve if intended",
)

NETWORK_REMEMBERED = Rule(
    "network-remembered",
    "HCLOUD_NETWORK is {wanted}, and the project has no network of that name or id; network {id} {name} stays in use",
    "correct HCLOUD_NETWORK",
    NoteKind.SETTINGS,
)
SETTINGS_CHANGED = Rule("settings-changed", "changed settings: {settings}", of=NoteKind.SETTINGS)
BY_DEFAULT = _held(
    GuardName.BY_DEFAULT,
    "by-default",
    "{settings} alone would interrupt, expose, reduce or republish {objects}",
    "restore the setting, decide by an annotation, or approve if intended",
)

ADDRESSES_LOST = _held(
    GuardName.ADDRESS_BLAST_RADIUS,
    "addresses-lost",
    "{lost} of {most} {nodes} would lack an address (limit {limit})",
    "check {setting} and HCLOUD_INSTANCES_ADDRESS_FAMILY, or approve if intended",
)
CLOSED_TO_PODS = _held(
    GuardName.ADDRESS_BLAST_RADIUS,
    "closed-to-pods",
    "{lost} of {most} Nodes would be closed to pods by NetworkUnavailable (limit {limit})",
    "check HCLOUD_NETWORK and the servers' attachments to it, or approve if intended",
)

_ADOPT = "approve to adopt it"
ADOPTION_REMOVES = _held(GuardName.ADOPTION, "adoption-removes", "adoption of {balancer} would remove {parts}", _ADOPT)
ADOPTION_IN_DOUBT = _held(GuardName.ADOPTION, "adoption-in-doubt", "{balancer} may be another owner's: {doubt}", _ADOPT)

PUBLISHED_ADDRESS_LOST = _held(
    GuardName.IP_LOSS,
    "published-address-lost",
    "Service {service} would stop publishing the address of {balancer}, still in use ({use})",
    "to keep it, label it for the Service: {command}",
)
WANTED_ADDRESSES_LOST = _held(
    GuardName.IP_LOSS,
    "wanted-addresses-lost",
    "Service {service} still uses this load balancer and would lose its addresses",
    "approve if intended",
)
UNRELEASED_DELETED = _held(
    GuardName.IP_LOSS,
    "unreleased-deleted",
    "{balancer} was not released by its deleted Service (UID {uid}) and may be in use",
    "approve its deletion, or protect it against deletion",
)
ENDED_WITHOUT_FINALIZER = _held(
    GuardName.IP_LOSS,
    "ended-without-finalizer",
    "{balancer} is not needed by Service {service} by its label {label}, but the Service lacks finalizer {finalizer}",
    "approve its end, or take the label off to keep it",
)

ADDRESS_ASSIGNED = _refused(
    GuardName.ADDRESS_IN_USE,
    "address-assigned",
    "{address} is assigned to {assignee}",
    "unassign it there, or name another one",
)
ADDRESS_OF_OLDER_SERVICE = _refused(
    GuardName.ADDRESS_IN_USE,
    "address-of-older-service",
    "{address} goes to the older Service {service}",
    "name another one",
)
ADDRESS_OF_UNRELEASED = _waiting(
    GuardName.ADDRESS_IN_USE,
    "address-of-unreleased",
    "{address} is assigned to {assignee} until its deletion is approved (ip-loss)",
)
ADDRESS_OF_RELEASING = _waiting(
    GuardName.ADDRESS_IN_USE,
    "address-of-releasing",
    "{address} is assigned to {assignee} (being released with Service {service})",
)
ADDRESS_OF_KEPT = _waiting(
    GuardName.ADDRESS_IN_USE,
    "address-of-kept",
    "{address} is assigned to {assignee} (released and kept)",
    "delete it to free the address (reconcile orphans, {id})",
)

_CHECK_TARGETS = "check the Nodes and settings, or approve if an outage is acceptable"
TOO_FEW_ANSWER = _held(
    GuardName.TARGET_FLOOR,
    "too-few-answer",
    "{balancer} would have {left} of {most} healthy targets at {scope} (at least {least} needed): {cause}",
    _CHECK_TARGETS,
)
TOO_FEW_ANSWER_MEANWHILE = _held(
    GuardName.TARGET_FLOOR,
    "too-few-answer-meanwhile",
    "{balancer} would have {left} of {most} healthy targets at {scope} during the changes (at least {least} needed):"
    " {cause}",
    _CHECK_TARGETS,
)
TOO_FEW_OF_PROVIDER = _held(
    GuardName.TARGET_FLOOR,
    "too-few-of-provider",
    "{balancer} would keep {left} of {most} targets at Hetzner {scope} (at least {least} needed): {cause}",
    _CHECK_TARGETS,
)
NONE_ANSWERS = _held(
    GuardName.TARGET_FLOOR, "none-answers", "{balancer} would have 0 of {most} healthy targets: {cause}", _CHECK_TARGETS
)
NO_TARGET_LEFT = _held(
    GuardName.TARGET_FLOOR,
    "no-target-left",
    "{balancer} would keep 0 of {most} targets with existing servers: {cause}",
    _CHECK_TARGETS,
)
TARGETS_OF_OTHERS = _held(
    GuardName.TARGET_FLOOR,
    "targets-of-others",
    "{balancer} would lose {targets} of other owners: {cause}",
    _CHECK_TARGETS,
)
TARGETS_OF_OTHERS_MEANWHILE = _held(
    GuardName.TARGET_FLOOR,
    "targets-of-others-meanwhile",
    "{balancer} would lose {targets} of other owners during the changes: {cause}",
    _CHECK_TARGETS,
)
TARGETS_NOT_ADDED = _waiting(
    GuardName.TARGET_FLOOR, "targets-not-added", "{balancer} would have too few targets until {added} can be added"
)

NEWCOMERS_UNHEALTHY = _held(
    GuardName.TARGET_HEALTH,
    "newcomers-unhealthy",
    "{balancer} keeps {kept}, as new targets are unhealthy ({targets})",
    "check firewalls (of Hetzner and on the servers), node ports, externalTrafficPolicy and the private network, or"
    " approve to remove all former targets at once",
)
NEWCOMERS_UNCHECKED = _waiting(
    GuardName.TARGET_HEALTH, "newcomers-unchecked", "new targets of {balancer} are not healthy yet"
)
WAY_IN_USE = _waiting(
    GuardName.TARGET_HEALTH, "way-in-use", "some targets of {balancer} still depend on this connection"
)

NEW_BALANCER_PUBLIC = _held(
    GuardName.EXPOSURE,
    "new-balancer-public",
    "{closed} of {counted} other load balancers are internal, and the new one of Service {service} would be public by"
    " default",
    "set {annotation} on Service {service} to true or false",
)
NEW_BALANCER_EXPOSED = _held(
    GuardName.EXPOSURE,
    "new-balancer-exposed",
    "Service {service} publishes private addresses only, and its new load balancer would be public",
    "set {annotation} on Service {service} to true or false",
)

ROUTES_LOST = _held(
    GuardName.ROUTE_BLAST_RADIUS,
    "routes-lost",
    "{lost} of the {most} routes of the last hour within {cidr} would be gone (limit {limit})",
    "check --cluster-cidr and the Nodes' pod CIDRs, or approve if intended",
)
ROUTE_OF_SERVER = _held(
    GuardName.ROUTE_BLAST_RADIUS,
    "route-of-server",
    "route {destination} leads to {server}, and no Node has that pod CIDR",
    "approve if the route is unused",
)
ROUTE_OF_WRONG_SERVER = _held(
    GuardName.ROUTE_BLAST_RADIUS,
    "route-of-wrong-server",
    "route {destination} leads to {server}, and Node {node} has that pod CIDR",
    "approve if the route is unused",
)

_REVERTED = "reverted {times} since {since}"
_IN_SERVICE = "disable the other writer (Cilium defaultLBServiceIPAM=none, k3s --disable servicelb) or set"
_IN_SERVICE += " loadBalancerClass"
_IN_NODE = "set HCLOUD_NETWORK_ROUTES_ENABLED=false if the network plug-in creates the routes"
REVERTED = _held(GuardName.FLAPPING, "reverted", _REVERTED, "find the other writer")
SERVICE_REVERTED = _held(GuardName.FLAPPING, "service-reverted", _REVERTED, _IN_SERVICE)
SERVICE_REVERTED_BY = _held(
    GuardName.FLAPPING, "service-reverted-by", f"also written by {{writer}}, {_REVERTED}", _IN_SERVICE
)
CONDITION_REVERTED = _held(GuardName.FLAPPING, "condition-reverted", _REVERTED, _IN_NODE)
CONDITION_REVERTED_BY = _held(
    GuardName.FLAPPING, "condition-reverted-by", f"also written by {{writer}}, {_REVERTED}", _IN_NODE
)
FAILED = _waiting(GuardName.BACK_OFF, "failed", "failed: {error}")
FAILED_AGAIN = _waiting(GuardName.BACK_OFF, "failed-again", "failed {times} in a row, last with: {error}")
NOT_VISIBLE = _waiting(GuardName.BACK_OFF, "not-visible", "applied {times}; not yet visible in the API")
KIND_REFUSED = _waiting(
    GuardName.QUOTA, "kind-refused", "Hetzner refused another change of this kind; retried one at a time: {error}"
)

VOLUMES_ATTACHED = _waiting(
    GuardName.VOLUME_DETACH,
    "volumes-attached",
    "{volumes} still attached to the Node; deleted once detached, at most {wait} after the out-of-service taint",
)
VOLUMES_UNREAD = _waiting(
    GuardName.VOLUME_DETACH,
    "volumes-unread",
    "cannot determine whether volumes are attached to the Node: {error}; deleted {wait} after the out-of-service taint",
)

EXCLUDED_BY_POLICY = _waiting(GuardName.POLICY, "excluded-by-policy", "excluded by --policy {policy}")
WITHHELD_BEFORE = Rule(
    "withheld-before", "withheld at the start of this pass; the next pass decides again", verdict=Verdict.WAITING
)
PACE = Rule(
    "pace",
    "passes are further apart than usual, as less than a fifth of the project's {limit} requests an hour is left",
    "slow down the client that sends the most, or give each cluster a project of its own",
    NoteKind.PACE,
)
