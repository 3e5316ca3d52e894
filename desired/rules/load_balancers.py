"""Rows of load balancers: whose each is, why it is not as a Service asks, and what becomes of it."""

from desired.annotations.choices import DeletionPolicy
from desired.annotations.options import OPTIONS, OWN_PREFIX, PREFIX
from desired.names import (
    LABEL_CLASS,
    LABEL_CLUSTER_UID,
    LABEL_EXCLUDE_FROM_BALANCERS,
    LABEL_OWN_CLASS_UID,
    LABEL_REGION,
    LABEL_SERVICE_UID,
    TAINT_CLUSTER_AUTOSCALER,
)
from desired.plan.change import GuardName, Verdict
from desired.plan.kinds import ChangeKind
from desired.plan.notes import NoteKind
from desired.rules import nodes
from desired.rules.rule import Rule


def _key(field: str) -> str:
    """The annotation in full."""
    return OPTIONS[field].full_key


def _set_by(field: str) -> str:
    """The annotation, and the variable with its default for all Services."""
    return f"{OPTIONS[field].full_key} (or {OPTIONS[field].variable})"


def _refused(name: str, says: str, remedy: str = "", noted: NoteKind = NoteKind.FOREIGN) -> Rule:
    """A row on a load balancer of another owner, which the guard says of the changes that it refuses."""
    return Rule(name, says, remedy, GuardName.FOREIGN_OWNER, Verdict.REFUSED, noted=noted)


# Whose a load balancer is.

BALANCER_OF_SERVICE = _refused("balancer-of-service", "load balancer {balancer} {name!r} belongs to Service {service}")
BALANCER_GOES_BACK = _refused(
    "balancer-goes-back", "load balancer {balancer} {name!r} is returned to Service {service}"
)
BALANCER_OF_CLUSTER = _refused(
    "balancer-of-cluster",
    f"load balancer {{balancer}} {{name!r}} belongs to cluster {{cluster}} (label {LABEL_CLUSTER_UID})",
    "to release it there, kubectl annotate service NAME -n NAMESPACE"
    f" {_key('deletion_policy')}={DeletionPolicy.RETAIN} and delete that Service, or if that cluster no longer exists,"
    f" hcloud load-balancer remove-label {{balancer}} {LABEL_CLUSTER_UID}",
)
BALANCER_OF_CLASS = _refused(
    "balancer-of-class",
    "load balancer {balancer} {name!r} is of a Service {which}, and such Services are not served here",
    "choose another name, or release it there: annotate its Service with"
    f" {_key('deletion_policy')}={DeletionPolicy.RETAIN} and delete that Service",
)
BALANCER_FOR_CLASS = _refused(
    "balancer-for-class",
    "load balancer {balancer} {name!r} is for Services {which}, and such Services are not served here",
    "choose another name, or to adopt it here, run hcloud load-balancer {command}",
)
BALANCER_OF_FORMER_CLASS = _refused(
    "balancer-of-former-class",
    "load balancer {balancer} {name!r} has the label of this Service as one {which}, and is not released yet",
    "let the controller that serves such Services release it, or take its labels"
    f" {LABEL_SERVICE_UID}, {LABEL_OWN_CLASS_UID}, {LABEL_CLASS} and {LABEL_CLUSTER_UID} off to adopt it by its name",
)
NAME_CONTESTED = _refused(
    "name-contested",
    "load balancer name {name!r} is also requested by {services}",
    "give each Service a name of its own",
    NoteKind.AMBIGUOUS,
)
NAME_KEPT = Rule(
    "name-kept",
    "load balancer {balancer} keeps the name {present!r}: {name!r} is also requested by {services}",
    "give each Service a name of its own",
    NoteKind.AMBIGUOUS,
)
SEVERAL_BALANCERS = Rule(
    "several-balancers",
    "load balancers {balancers} all have the label of this Service",
    "remove the label from all but its own",
    NoteKind.SEVERAL_BALANCERS,
)
OTHERS_LABELLED = Rule(
    "others-labelled",
    "load balancer {balancer} serves this Service, and its label is also on {others}",
    "remove the label from {others}",
    NoteKind.SEVERAL_BALANCERS,
)
BALANCER_UNKNOWN = Rule("balancer-unknown", "cannot determine its load balancer: {cause}", of=NoteKind.UNKNOWN)
BALANCERS_UNCLEAR = Rule(
    "balancers-unclear",
    "cannot determine its load balancer: several have its label, and the cluster's UID is unknown: {cause}",
    of=NoteKind.UNKNOWN,
)
BALANCER_MAYBE_ANOTHERS = Rule(
    "balancer-maybe-anothers",
    "load balancer {balancer} {name!r} may belong to another Service: {cause}",
    of=NoteKind.UNKNOWN,
)

# What a load balancer keeps though another value is requested.

NAME_TAKEN = Rule(
    "name-taken",
    f"{_key('name')} is {{wanted}}: load balancer {{other}} has that name, and {{balancer}} keeps the name {{present}}",
    "choose another name, or rename the other one",
    NoteKind.MALFORMED,
)
NAME_IS_AN_ID = Rule(
    "name-is-an-id",
    f"{_key('name')} is {{wanted}}: that is the {{what}} of load balancer {{other}} {{present!r}}, not its name",
    "set it to {present!r} for that one, or to another name",
    NoteKind.MALFORMED,
)
PUBLIC_INTERFACE_NEEDED = Rule(
    "public-interface-needed",
    f"{_set_by('disable_public_network')} is true: the public interface is kept while {{target}} needs it",
    f"set {_key('use_private_ip')} to true",
    NoteKind.KEPT,
)
PUBLIC_INTERFACE_NEEDED_STILL = Rule(
    "public-interface-needed-still", PUBLIC_INTERFACE_NEEDED.says, "remove that target", NoteKind.KEPT
)
PUBLIC_INTERFACE_NEEDED_BY_OTHERS = Rule(
    "public-interface-needed-by-others",
    f"{_set_by('disable_public_network')} is true: the public interface is kept while {{target}} of another owner"
    " needs it",
    "remove that target",
    NoteKind.KEPT,
)
NO_TARGET_REACHED = Rule(
    "no-target-reached",
    f"no target can be reached: the load balancer has no public interface, and {_set_by('use_private_ip')} is not true",
    f"set it, or {_key('disable_public_network')} to false",
    NoteKind.UNREACHABLE,
)
NO_OTHER_TARGET_REACHED = Rule(
    "no-other-target-reached",
    NO_TARGET_REACHED.says.replace("no target", "no other target"),
    NO_TARGET_REACHED.remedy,
    NoteKind.NO_TARGETS,
)
STAYS_IN_PLACE = Rule(
    "stays-in-place",
    "{option} is {wanted}, but load balancer {balancer} is in {present} and is not moved: its addresses would be lost",
    "to move it, delete the Service and create it again",
    NoteKind.KEPT,
)
STAYS_IN_SUBNET = Rule(
    "stays-in-subnet",
    f"{_set_by('private_subnet_ip_range')} is {{wanted}}, but load balancer {{balancer}} has {{address}} in network"
    " {network} and is not moved: its private address would be lost",
    f"to move it, set {_key('private_ipv4')} to an address of {{wanted}}",
    NoteKind.KEPT,
)
VALUE_KEPT = Rule(
    "value-kept",
    "load balancer keeps {values}, set by no annotation or variable",
    "set {option} to {default}, or to {value} to keep it",
    NoteKind.KEPT,
)
VALUES_KEPT = Rule(
    "values-kept",
    VALUE_KEPT.says,
    f"set each, as {PREFIX}NAME, to its default, or to its value to keep it",
    NoteKind.KEPT,
)
VALUES_KEPT_AT_PORTS = Rule(
    "values-kept-at-ports",
    VALUE_KEPT.says,
    f"set each, as {PREFIX}NAME, or where ports are named as port-PORT.{OWN_PREFIX}NAME, to its default, or to its"
    " value to keep it",
    NoteKind.KEPT,
)
PORT_STAYS_OPEN = Rule(
    "port-stays-open", "{problem}; until then the load balancer keeps listening on port {port}", of=NoteKind.MALFORMED
)
DELETION_STUCK = Rule(
    "deletion-stuck",
    "deletion waits for finalizer {finalizer}, but load balancers are disabled here",
    "enable them until its load balancer is deleted (HCLOUD_LOAD_BALANCERS_ENABLED, --controllers), or let"
    " hcloud-cloud-controller-manager delete it (k3s servicelb removes its own finalizer)",
    NoteKind.STUCK,
)

CLASS_LOST = Rule(
    "class-lost",
    "load balancer {balancer} {name!r} has the label of this Service, and the label of its class is gone",
    f"put it back: hcloud load-balancer add-label {{balancer}} {LABEL_CLASS}={{class_label}}",
    of=NoteKind.UNKNOWN,
)
DELETION_OF_CLASS = Rule(
    "deletion-of-class",
    "deletion waits for finalizer {finalizers} of a loadBalancerClass that is not served here",
    "let the process with its --load-balancer-class go on, or take the finalizer off once its load balancer is deleted",
    NoteKind.STUCK,
)
LABELLED_BY_ANOTHER = Rule(
    "labelled-by-another",
    "load balancer {balancer} has the label {label} of Service {service} too, so that HCCM would delete it with that"
    " one",
    f"give Service {{service}} another {_key('name')}, then run"
    " hcloud load-balancer remove-label {balancer} {label}",
    NoteKind.FOREIGN,
)

# The type.

TYPE_NOT_READ = Rule("type-not-read", "lookup of type {wanted} failed ({instead}): {cause}", of=NoteKind.UNKNOWN)
TYPE_MISSING = Rule(
    "type-missing",
    "type {wanted} does not exist ({instead})",
    f"set {_set_by('type')} to another one{{near}}",
    NoteKind.MALFORMED,
)
TYPE_NOT_SOLD = Rule(
    "type-not-sold",
    "type {wanted} not sold by Hetzner since {since} ({instead})",
    f"set {_set_by('type')} to another one",
    NoteKind.MALFORMED,
)
TYPE_NOT_THERE = Rule(
    "type-not-there",
    "type {wanted} not sold in {location}, only in {locations} ({instead})",
    f"set {_set_by('location')} to one of these",
    NoteKind.MALFORMED,
)
TYPE_TOO_SMALL = Rule(
    "type-too-small",
    "type {wanted} holds {holds}, {needed} needed ({instead})",
    f"set {_set_by('type')} to {{larger}}",
    NoteKind.LIMIT,
)
TYPE_DEPRECATED = Rule(
    "type-deprecated",
    "type {type} is deprecated: sold by Hetzner until {until}",
    "choose another type",
    NoteKind.DEPRECATED,
)

PORT_OVER_LIMIT = Rule(
    "port-over-limit",
    "port {port} is left out: the load balancer's type takes {holds}",
    "choose {larger}",
    NoteKind.LIMIT,
)

PORT_TAKEN_BY_REDIRECT = Rule(
    "port-taken-by-redirect",
    "port {port} is left out: the load balancer redirects it to port {secure}, set by no annotation",
    f"set {_key('http_redirect_http')} to false, or remove port {{port}} from the Service",
    NoteKind.LIMIT,
)

# The private network.

NETWORK_WITHOUT_SUBNET = Rule(
    "network-without-subnet",
    "network {network} has no subnet to attach a load balancer to",
    "add a subnet of type cloud",
)
NETWORK_ELSEWHERE = Rule(
    "network-elsewhere",
    "network {network} is in {zones}, but the load balancer is in {zone}: both must be in one network zone",
    "create it in {zones}, or name a network of {zone} in HCLOUD_NETWORK",
)
PRIVATE_NETWORK_NEEDED = Rule(
    "private-network-needed", f"{_set_by('disable_public_network')} is true: {{cause}}", of=NoteKind.MALFORMED
)
TARGETS_STAY = Rule(
    "targets-stay",
    "targets are not changed: {cause}",
    of=NoteKind.KEPT,
)
NO_TARGET_IN_NETWORK = Rule(
    "no-target-in-network",
    "no target can be reached by a private address: {cause}",
    of=NoteKind.UNREACHABLE,
)
STAYS_OUTSIDE = Rule("stays-outside", "load balancer is not attached to the network: {cause}", of=NoteKind.UNSUPPORTED)


def _private_ipv4(name: str, why: str) -> Rule:
    """A row on a private address that cannot be had."""
    says = f"{_key('private_ipv4')} is {{address}}: {why}"
    return Rule(name, says, "choose another address, or remove it", NoteKind.MALFORMED)


PRIVATE_IP_OUTSIDE = _private_ipv4("private-ip-outside", "network {network} has the subnets {subnets}")
PRIVATE_IP_RESERVED = _private_ipv4("private-ip-reserved", "Hetzner reserves it in network {network}")
PRIVATE_IP_OF_SERVER = _private_ipv4("private-ip-of-server", "server {server} has it")
PRIVATE_IP_OF_BALANCER = _private_ipv4("private-ip-of-balancer", "load balancer {balancer} has it")
PRIVATE_IP_CONTESTED = _private_ipv4("private-ip-contested", "also requested by {services}")
RANGE_OUTSIDE = Rule(
    "range-outside",
    f"{_set_by('private_subnet_ip_range')} is {{wanted}}: network {{network}} has the subnets {{subnets}}",
    "name one of them",
    NoteKind.MALFORMED,
)

# Primary IPs.

PRIMARY_IP_UNKNOWN = Rule(
    "primary-ip-unknown",
    "{option} is {wanted}: availability unknown: {cause}",
    of=NoteKind.UNKNOWN,
)
PRIMARY_IP_MISSING = Rule(
    "primary-ip-missing",
    "{option} is {wanted}: the project has no such Primary IP",
    "create it, or correct or remove the annotation",
    NoteKind.MALFORMED,
)
PRIMARY_IP_OF_ANOTHER_VERSION = Rule(
    "primary-ip-of-another-version",
    "{option} is {wanted}: {address} is an IPv{version} address",
    "name one of IPv{needed}",
    NoteKind.MALFORMED,
)
PRIMARY_IP_BLOCKED = Rule(
    "primary-ip-blocked",
    "{option} is {wanted}: Hetzner has blocked {address}",
    "contact Hetzner's support, or name another one",
    NoteKind.MALFORMED,
)
PRIMARY_IP_ELSEWHERE = Rule(
    "primary-ip-elsewhere",
    "{option} is {wanted}: {address} is bound to {location}, but the load balancer is created in {place}",
    f"set {_key('location')} to {{location}}, or name one of {{place}}",
    NoteKind.MALFORMED,
)
PRIMARY_IP_IN_ANOTHER_ZONE = Rule(
    "primary-ip-in-another-zone",
    "{option} is {wanted}: {address} is bound to {location} in {zone}, but the load balancer is created in {place}",
    "name one of {place}",
    NoteKind.MALFORMED,
)
PRIMARY_IP_UNREADABLE = Rule(
    "primary-ip-unreadable", "{problem}; load balancer {balancer} keeps {address}", of=NoteKind.PRIMARY_IP
)
PRIMARY_IP_NOT_TAKEN = Rule(
    "primary-ip-not-taken",
    "{option} is {wanted}, but load balancer {balancer} keeps {address}: addresses are set at creation only",
    "to use it, create a second Service with it, change the DNS records and delete this Service",
    NoteKind.PRIMARY_IP,
)
PRIMARY_IP_GOES_ALONG = Rule(
    "primary-ip-goes-along",
    "{address} is deleted with its load balancer: its auto_delete is on",
    "to keep it, run hcloud primary-ip update --auto-delete=false {primary_ip}",
    NoteKind.PRIMARY_IP,
)
ADDRESSES_GO = Rule("addresses-go", "loses its public {addresses} for good", of=ChangeKind.LB_DELETE)
PRIMARY_IP_MAY_GO = Rule(
    "primary-ip-may-go",
    "Primary IP {primary_ip} ({address}) is deleted with it if its auto_delete is on (not known here)",
    of=ChangeKind.LB_DELETE,
)
PRIMARY_IP_STAYS = Rule(
    "primary-ip-stays", "Primary IP {primary_ip} ({address}) is kept and still billed", of=ChangeKind.LB_DELETE
)
PRIMARY_IP_GOES = Rule(
    "primary-ip-goes",
    "Primary IP {primary_ip} ({address}) is deleted with it (its auto_delete is on): the address is lost for good",
    of=ChangeKind.LB_DELETE,
)

# Targets.

NODE_NO_TARGET = Rule("node-no-target", "no target for {nodes}: {cause}", of=NoteKind.UNUSABLE_TARGET)
NODE_TARGET_STAYS = Rule("node-target-stays", "target of {nodes} unchanged: {cause}", of=NoteKind.UNUSABLE_TARGET)
NODE_OVER_LIMIT = Rule("node-over-limit", NODE_NO_TARGET.says, of=NoteKind.TARGET_LIMIT)
NODE_UNCERTAIN = Rule("node-uncertain", NODE_TARGET_STAYS.says, of=NoteKind.KEPT)
LOST_IPV4 = Rule(
    "lost-ipv4",
    "{nodes} unreachable: the target uses the former public IPv4 address of its server",
    "remove the target in Hetzner's console (it is added again by IPv6)",
    NoteKind.UNUSABLE_TARGET,
)
UNREAD_IPV4 = Rule(
    "unread-ipv4",
    "{nodes} unreachable: the target uses a public IPv4 address, but the Service accepts IPv6 only (spec.ipFamilies)",
    LOST_IPV4.remedy,
    NoteKind.UNUSABLE_TARGET,
)
TARGET_OF_OTHERS = Rule("target-of-others", "target {target} belongs to another owner and is kept", of=NoteKind.FOREIGN)
SELECTOR_OF_OTHERS = Rule(
    "selector-of-others",
    f"{TARGET_OF_OTHERS.says}: it leads to {{nodes}}",
    "if its owner does not need it, run hcloud load-balancer remove-target {balancer} --label-selector {selector}",
    NoteKind.FOREIGN,
)

# The end of a load balancer.

PUBLISHED_STAYS = Rule(
    "published-stays",
    "{balancer} is kept: the Service publishes its address, but neither its label nor its name is the Service's",
    "if unused: hcloud load-balancer delete {id}",
    NoteKind.ORPHAN,
)
LOST_ITS_LABEL = Rule("lost-its-label", "{balancer} has lost its label", of=ChangeKind.LB_RETAIN)
RETAINED_PROTECTED = Rule("retained-protected", "protected against deletion", of=ChangeKind.LB_RETAIN)
RETAINED_ADOPTED = Rule(
    "retained-adopted",
    f"not created for a Service, and {_key('deletion_policy')} is not delete",
    of=ChangeKind.LB_RETAIN,
)
RETAINED_UNREADABLE = Rule(
    "retained-unreadable",
    f"{_key('deletion_policy')} is {{value}}, neither delete nor retain",
    of=ChangeKind.LB_RETAIN,
)
RETAINED_AS_ASKED = Rule("retained-as-asked", "the Service's deletion policy is retain", of=ChangeKind.LB_RETAIN)
RETAINED_BY_DEFAULT = Rule(
    "retained-by-default", f"{OPTIONS['deletion_policy'].variable} is retain", of=ChangeKind.LB_RETAIN
)
ORPHANED = Rule(
    "orphaned",
    "load balancer {balancer} {name} is orphaned: {cause}",
    "to delete it: reconcile orphans --delete {balancer}",
    NoteKind.ORPHAN,
)
SERVICE_GONE = Rule("service-gone", "its Service (UID {uid}) no longer exists", of=ChangeKind.LB_DELETE)
NAMES_NO_SERVICE = Rule(
    "names-no-service", "its labels name this cluster, and neither a Service nor a release", of=NoteKind.ORPHAN
)
RELEASED = Rule("released", "released with {service}, and no Service requests its name", of=NoteKind.ORPHAN)
RELEASED_SINCE = Rule(
    "released-since", "released with {service} on {since}, and no Service requests its name", of=NoteKind.ORPHAN
)
PUBLISHED_AT_THE_END = Rule(
    "published-at-the-end", "Service {service} publishes its address but no longer needs a load balancer"
)
NAMED_WITHOUT_LABEL = Rule("named-without-label", "named as the default of Service {service}, without a label")
NAMED_FOR_NONE = Rule(
    "named-for-none", "named as the default of a Service, but no Service of this cluster has that UID"
)
ORPHAN_PROTECTED = Rule(
    "orphan-protected", RETAINED_PROTECTED.says, "disable the protection in Hetzner's console first"
)
ORPHAN_UNLABELLED = Rule(
    "orphan-unlabelled", "no label names its owner", "if unused: hcloud load-balancer delete {balancer}"
)
STRAY_PRIVATE = Rule("stray-private", "belongs to no Node of the cluster (Robot lists no private addresses)")
STRAY_PUBLIC = Rule("stray-public", "belongs to no Node of the cluster and no server of the Robot account")
CERTIFICATE_LEFT = Rule(
    "certificate-left",
    "certificate {certificate} {name} was created for a deleted Service",
    "hcloud certificate delete {certificate}",
    NoteKind.ORPHAN,
)

# Nodes as targets.

_EXTERNAL = "start the kubelet with --cloud-provider=external, delete the Node and restart the kubelet"
_PRIVATE = _key("use_private_ip")
_DUAL_STACK = "set ipFamilyPolicy: PreferDualStack"
_OF_NO_FAMILY = "without an address of the Service's family"
_WITHOUT_ADDRESS = "without public address"

NODES_LACKING = Rule("nodes-lacking", "0 of 0 Nodes can be targets: the cluster has no Nodes", of=NoteKind.NO_TARGETS)
NODES_INELIGIBLE = Rule(
    "nodes-ineligible", "0 of {total} Nodes can be targets: {counts}", "{remedies}", NoteKind.NO_TARGETS
)
EXCLUDED_BY_LABEL = Rule(
    "excluded-by-label",
    f"label {LABEL_EXCLUDE_FROM_BALANCERS}",
    f"kubectl label node {{nodes}} {LABEL_EXCLUDE_FROM_BALANCERS}- (kubeadm, Talos and k3s set it on control planes)",
    counted="excluded by label",
)
LEAVING_BY_AUTOSCALER = Rule(
    "leaving-by-autoscaler",
    f"taint {TAINT_CLUSTER_AUTOSCALER}",
    f"unless the cluster autoscaler is about to remove them, kubectl taint node {{nodes}} {TAINT_CLUSTER_AUTOSCALER}-",
    counted="with the cluster autoscaler's taint",
)
UNSELECTED = Rule(
    "unselected",
    f"{_key('node_selector')} does not match its labels",
    "label the Nodes to match {selector!r}, or kubectl annotate service {service} -n {namespace}"
    f" {_key('node_selector')}-",
    counted="not matched by the node selector",
)
LEAVING = Rule(
    "being-deleted", nodes.BEING_DELETED.says, "a new Node becomes a target", counted=nodes.BEING_DELETED.says
)
TARGET_IGNORED = Rule(
    "ignored",
    "ignored by --ignore-nodes: target not changed",
    "change --ignore-nodes, or the labels that it matches",
    counted="ignored by --ignore-nodes",
)
OF_ANOTHER_CLOUD = Rule("of-another-cloud", "the Node belongs to another cloud", _EXTERNAL, counted="of another cloud")
WITH_A_MALFORMED_ID = Rule(
    "with-a-malformed-provider-id",
    "its providerID names no server: {cause}",
    _EXTERNAL,
    counted="with a malformed providerID",
)
WITHOUT_ID = Rule("without-provider-id", "the Node has no providerID", _EXTERNAL, counted="without providerID")
NOT_INITIALIZED = Rule(
    "not-initialized",
    "the Node is not initialized",
    "a Node is a target once it has its providerID",
    counted="not initialized",
)
WITHOUT_SERVER = Rule(
    "without-server",
    "the server no longer exists",
    "a new Node becomes a target once it has joined",
    counted="without server",
)
ON_UNREAD_ROBOT_SERVER = Rule(
    "on-unread-robot-server",
    "Robot servers are not read",
    "set ROBOT_ENABLED, ROBOT_USER and ROBOT_PASSWORD",
    counted="with a Robot server that is not read",
)
IN_ANOTHER_ZONE = Rule(
    "in-another-network-zone",
    "the server is in {location} (network zone {zone}), but the load balancer is in {place}: both must be in one"
    " network zone",
    f"add {LABEL_REGION[-1]}!={{location}} to {_key('node_selector')}, or create a Service for each zone",
    counted="in another network zone",
)
IN_NO_VSWITCH = Rule(
    "in-no-vswitch",
    "InternalIP {address} is in no vSwitch of network {network} (has {vswitches})",
    "couple a vSwitch with that range",
    counted="in no vSwitch of the network",
)
OF_ONE_FAMILY = Rule(
    "of-another-family",
    "the server has a public {had} address only, but the Service accepts {wanted} only (spec.ipFamilies)",
    _DUAL_STACK,
    counted=_OF_NO_FAMILY,
)
OF_ONE_FAMILY_IN_NETWORK = Rule(
    "of-another-family-outside", OF_ONE_FAMILY.says, f"{_DUAL_STACK}, or {_PRIVATE} to true", counted=_OF_NO_FAMILY
)
IPV6_IN_NETWORK = Rule(
    "without-private-ipv6",
    "private networks have no IPv6, but the Service accepts IPv6 only (spec.ipFamilies)",
    _DUAL_STACK,
    counted=_OF_NO_FAMILY,
)
WITHOUT_NETWORK = Rule(
    "without-private-network",
    "private addresses are requested, but no network is configured (HCLOUD_NETWORK)",
    f"configure one, or set {_PRIVATE} to false",
    counted="without private network",
)
NETWORK_NOT_FOUND = Rule(
    "network-not-found",
    "private addresses are requested, and the project has no network of the name or id in HCLOUD_NETWORK",
    "correct HCLOUD_NETWORK, or the token",
    counted="without private network",
)
NOT_ATTACHED = Rule(
    "not-attached",
    "the server is not attached to network {network}",
    f"attach it, or set {_PRIVATE} to false",
    counted="not attached to the network",
)
WITHOUT_PUBLIC_ADDRESS = Rule(
    "without-public-address",
    "the server has no public address",
    f"assign one, or attach it to a network and set {_PRIVATE} to true",
    counted=_WITHOUT_ADDRESS,
)
PRIVATE_ALONE = Rule(
    "with-private-address-alone", WITHOUT_PUBLIC_ADDRESS.says, f"set {_PRIVATE} to true", counted=_WITHOUT_ADDRESS
)
WITHOUT_INTERNAL_IP = Rule(
    "without-internal-ip",
    WITHOUT_PUBLIC_ADDRESS.says,
    f"give its Node an InternalIP, and set {_PRIVATE} to true",
    counted=_WITHOUT_ADDRESS,
)
TAKES_PRIVATE = Rule("takes-traffic-inside", "server {server} at its private address {address}")
TAKES_PUBLIC = Rule("takes-traffic", "{server} at its public address {address}")
TAKES_PUBLIC_INSTEAD = Rule(
    "takes-traffic-outside", "{server} at its public address {address}: its Node has no InternalIP"
)
TAKES_INTERNAL = Rule("takes-traffic-as-reported", "{server} at the InternalIP {address} of its Node")
ROOM_LACKING = Rule(
    "over-limit", "the type takes {room}, all in use", "{remedy}", counted="over the limit of the load balancer's type"
)
TARGET_SERVER_UNKNOWN = Rule("on-unknown-server", nodes.NODE_SERVER_UNKNOWN.says, counted="with an unknown server")
NODE_UNREADABLE = Rule("unreadable-node", "the Node could not be read: {cause}", counted="not readable")
PRIVATE_NETWORK_UNKNOWN = Rule("in-unknown-network", "network unknown: {cause}", counted="with an unknown network")
ADDRESS_UNSAID = Rule(
    "with-unknown-address", "Hetzner's answer has no {kind} of the server", counted="with an unknown address"
)
INTERNAL_IP_LACKING = Rule("without-any-internal-ip", "the Node has no InternalIP", counted="without InternalIP")
ROBOT_CREDENTIALS_LACKING = Rule(
    "without-robot-credentials",
    "without ROBOT_USER and ROBOT_PASSWORD, only its InternalIP can be used",
    f"set {_PRIVATE} to true",
    counted=ON_UNREAD_ROBOT_SERVER.counted,
)
ADDRESS_SHARED = Rule(
    "with-a-shared-address",
    "{address} is also the address of another server or Node",
    counted="with a shared address",
)
NOT_INITIALIZED_YET = Rule(
    "not-yet-initialized", "the Node cannot be initialized yet: {cause}", counted="not initialized"
)

# Certificates.

_NAME = _key("http_managed_certificate_name")
_DOMAINS = _key("http_managed_certificate_domains")
_REFERENCES = _key("http_certificates")
_TYPE = _key("certificate_type")
_RETRY = "retry it in Hetzner's console"
_STRICT = "(not retried automatically: certificate authorities have strict limits)"


def _certificate(name: str, says: str, remedy: str = "", of: NoteKind = NoteKind.CERTIFICATE) -> Rule:
    return Rule(f"certificate-{name}", says, remedy, of)


def _pending(name: str, says: str, remedy: str = "", noted: NoteKind | None = None) -> Rule:
    """A row on a certificate that an https port waits for, which the guard says of the port."""
    guard, verdict = GuardName.CERTIFICATE_ISSUANCE, Verdict.WAITING
    return Rule(f"certificate-{name}", says, remedy, guard, verdict, noted=noted)


CERTIFICATE_MISSING = _certificate(
    "missing",
    f"{_REFERENCES}: the project has no certificate {{wanted}}{{near}}",
    "upload it, or name an existing one",
)
CERTIFICATE_BY_ID = _certificate(
    "by-id",
    f"{_REFERENCES}: the project has no certificate with id {{wanted}}, but certificate {{certificate}} has that name",
    "use id {certificate}",
)
CERTIFICATE_UNKNOWN = _certificate(
    "unknown", f"{_REFERENCES}: lookup of certificate {{wanted}} failed: {{cause}}", of=NoteKind.UNKNOWN
)
CERTIFICATE_NOT_ISSUED = _pending(
    "not-issued",
    "certificate {certificate} {name!r} was not issued: {cause}",
    f"{{fix}}, then {_RETRY} or delete it there to request a new one {_STRICT}",
    NoteKind.CERTIFICATE,
)
NAMED_CERTIFICATE_NOT_ISSUED = _pending(
    "named-not-issued", CERTIFICATE_NOT_ISSUED.says, f"{{fix}}, then {_RETRY} {_STRICT}", NoteKind.CERTIFICATE
)
CERTIFICATE_NOT_RENEWED = _certificate(
    "not-renewed",
    "renewal of certificate {certificate} {name!r} (in use) failed: {cause}",
    f"{{fix}}, then {_RETRY}",
)
CERTIFICATE_BEING_ISSUED = _pending(
    "being-issued", "certificate {certificate} {name!r} is being issued (since {since})"
)
CERTIFICATE_TO_CREATE = _pending("to-create", "certificate {name!r} is not created yet")
PORT_KEEPS_CERTIFICATE = _certificate("kept", "port {port} keeps its current certificate: {cause}")
PORT_LACKS_CERTIFICATE = _certificate(
    "lacking", "port {port} waits for a certificate", f"name one in {_REFERENCES}, or set {_TYPE}"
)
CERTIFICATE_LOOK_UP = _certificate(
    "look-up", "lookup of the Service's managed certificate failed: {cause}", of=NoteKind.UNKNOWN
)
CERTIFICATE_OF_CLUSTER = _certificate(
    "of-cluster",
    "certificate {certificate} {name!r} has the label of this Service but belongs to cluster {cluster} (not used)",
    of=NoteKind.FOREIGN,
)
CERTIFICATE_UPLOADED = _certificate(
    "uploaded",
    "certificate {certificate} {name!r} has the label of this Service but was uploaded (not used)",
    f"to use it, remove {_TYPE} and name it in {_REFERENCES}, else remove its label {LABEL_SERVICE_UID}",
)
CERTIFICATE_DIFFERS = _certificate(
    "differs",
    "certificate {certificate} {name!r} remains in use, but {differences}",
    f"to have another one issued, {{free}}remove label {LABEL_SERVICE_UID} from this one (it serves until then), or"
    " restore the annotations",
)
CERTIFICATE_OTHER_NAME = Rule("certificate-other-name", f"its name is not {{name!r}} ({_NAME})")
CERTIFICATE_OTHER_DOMAINS = Rule(
    "certificate-other-domains", f"its domains are {{present}}, and {_DOMAINS} is {{wanted}}"
)
CERTIFICATES_SEVERAL = _certificate(
    "several",
    "certificates {certificates} all have the label of this Service, and none matches its annotations",
    f"remove label {LABEL_SERVICE_UID} from all but one",
    NoteKind.AMBIGUOUS,
)
CERTIFICATE_NAME_TAKEN = _certificate(
    "name-taken",
    "certificate {certificate} {name!r} has the name of this Service's managed certificate but not its label",
    f"choose another in {_NAME}, or, to use this one, remove {_TYPE} and name it in {_REFERENCES}",
)

# Services that are left alone, for explanations.

OF_ANOTHER_CONTROLLER = Rule(
    "of-another-controller", "has spec.loadBalancerClass {cls!r} of another controller; not managed here"
)
OF_NO_CLASS = Rule(
    "of-no-class", "has no loadBalancerClass; such Services are not managed here (--load-balancer-class)"
)
WANTS_NONE = Rule("wants-no-load-balancer", "is of type {type} and needs no load balancer; not managed here")
NEVER_CLAIMED = Rule("never-claimed", "is being deleted and was never managed here; nothing to release")
AWAITS_ITS_SERVICE = Rule(
    "awaits-its-service", "load balancer {balancer} {name} is returned to it when it is created again"
)

# Ports, for explanations.

PORT_STAYS = Rule("port-stays", "not changed")
PORT_NOT_PLANNED = Rule("port-not-planned", "no change is planned for it")
PORT_AWAITS_NODE_PORT = Rule("port-awaits-node-port", "waits for its node port: the API server has not assigned it yet")
PORT_WITHOUT_NODE_PORT = Rule(
    "port-without-node-port", "has no node port, and spec.allocateLoadBalancerNodePorts is false"
)
PORT_WITHOUT_CERTIFICATE = Rule("port-without-certificate", "waits for a certificate: {cause}")
PORT_AS_ASKED = Rule("port-as-asked", "matches the Service")

# Conditions of a Service.

BALANCER_DELETED = Rule("balancer-deleted", "the load balancer is being deleted")
BALANCER_RELEASED = Rule("balancer-released", "the load balancer is released")
BALANCER_LACKING = Rule("balancer-lacking", "there is no load balancer")
BALANCER_UNCERTAIN = Rule("balancer-uncertain", "cannot determine whether there is a load balancer")
ADDRESS_UNPUBLISHED = Rule("address-unpublished", "load balancer {balancer} has no address published")
OTHERS_PUBLISHED = Rule(
    "others-published",
    "published {others}{writer}, no address of load balancer {balancer} (own: {own}{hostname})",
)
PORTS_LACKING = Rule("ports-lacking", "load balancer {balancer} listens on no port")
LEADS_NOWHERE = Rule("leads-nowhere", "load balancer {balancer} has no targets{cause}")
ADDRESS_PUBLISHED = Rule("address-published", "published {addresses}")
IN_SYNC = Rule("in-sync", "the load balancer matches the Service")
