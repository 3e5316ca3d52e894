"""Rows of load balancers: whose each is, why it is not as a Service asks, and what becomes of it."""

from desired.annotations.choices import DeletionPolicy
from desired.annotations.options import OPTIONS, PREFIX
from desired.names import (
    FINALIZER_BALANCER,
    LABEL_CLUSTER_UID,
    LABEL_DELETE_AFTER,
    LABEL_EXCLUDE_FROM_BALANCERS,
    LABEL_REGION,
    LABEL_SERVICE_UID,
    TAINT_CLUSTER_AUTOSCALER,
)
from desired.plan.change import GuardName, Verdict
from desired.plan.kinds import ChangeKind
from desired.plan.notes import NoteKind
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
BALANCER_GOES_BACK = _refused("balancer-goes-back", "load balancer {balancer} {name!r} goes back to Service {service}")
BALANCER_OF_CLUSTER = _refused(
    "balancer-of-cluster",
    "load balancer {balancer} {name!r} belongs to cluster {cluster}",
    f"its label {LABEL_CLUSTER_UID} says so: to have it released there, kubectl annotate service NAME -n NAMESPACE"
    f" {_key('deletion_policy')}={DeletionPolicy.RETAIN} and delete that Service, or where that cluster is gone, hcloud"
    f" load-balancer remove-label {{balancer}} {LABEL_CLUSTER_UID}",
)
BALANCER_WAITS_ELSEWHERE = _refused(
    "balancer-waits-elsewhere",
    "load balancer {balancer} {name!r} belongs to cluster {cluster}",
    f"its label {LABEL_CLUSTER_UID} says so: its Service is gone, and it is deleted there when its undo window ends. To"
    f" have it here: hcloud load-balancer remove-label {{balancer}} {LABEL_CLUSTER_UID}",
)
NAME_CONTESTED = _refused(
    "name-contested",
    "load balancer name {name!r} is asked for by {services} as well",
    "give each a name of its own",
    NoteKind.AMBIGUOUS,
)
NAME_KEPT = Rule(
    "name-kept",
    "load balancer {balancer} stays {present!r}: the name {name!r} is asked for by {services} as well",
    "give each a name of its own",
    NoteKind.AMBIGUOUS,
)
SEVERAL_BALANCERS = Rule(
    "several-balancers",
    "load balancers {balancers} all have the label of this Service",
    "remove the label from those that are not its",
    NoteKind.AMBIGUOUS,
)
BALANCER_UNKNOWN = Rule("balancer-unknown", "cannot determine its load balancer: {cause}", of=NoteKind.UNKNOWN)
BALANCER_MAYBE_ANOTHERS = Rule(
    "balancer-maybe-anothers",
    "load balancer {balancer} {name!r} may be another Service's: {cause}",
    of=NoteKind.UNKNOWN,
)

# What a load balancer keeps though it is asked for otherwise.

NAME_TAKEN = Rule(
    "name-taken",
    f"{_key('name')} is {{wanted}}: load balancer {{other}} has that name, and {{balancer}} stays {{present}}",
    "choose another name, or rename the other one",
    NoteKind.MALFORMED,
)
PUBLIC_INTERFACE_NEEDED = Rule(
    "public-interface-needed",
    f"{_set_by('disable_public_network')} is true: the public interface stays while {{target}} needs it",
    f"set {_key('use_private_ip')} to true",
    NoteKind.KEPT,
)
PUBLIC_INTERFACE_NEEDED_STILL = Rule(
    "public-interface-needed-still", PUBLIC_INTERFACE_NEEDED.says, "remove that target", NoteKind.KEPT
)
PUBLIC_INTERFACE_NEEDED_BY_OTHERS = Rule(
    "public-interface-needed-by-others",
    f"{_set_by('disable_public_network')} is true: the public interface stays while {{target}} of another owner needs"
    " it",
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
    "{option} is {wanted}, and load balancer {balancer} is in {present}: it stays there, as moving it would lose its"
    " addresses",
    "delete the Service and create it anew to move it",
    NoteKind.KEPT,
)
VALUE_KEPT = Rule(
    "value-kept",
    "the load balancer keeps {values}, which no annotation or variable asks for",
    "set {option} to {default}, or to {value} to keep it",
    NoteKind.KEPT,
)
VALUES_KEPT = Rule(
    "values-kept",
    VALUE_KEPT.says,
    f"set each, as {PREFIX}NAME, to its default, or to its value to keep it",
    NoteKind.KEPT,
)
DELETION_STUCK = Rule(
    "deletion-stuck",
    f"its deletion waits for finalizer {FINALIZER_BALANCER}, and load balancers are switched off here",
    "switch them on until its load balancer is gone (HCLOUD_LOAD_BALANCERS_ENABLED, --controllers), or let"
    " hcloud-cloud-controller-manager delete it (k3s' servicelb takes off what it set). As the last resort take the"
    " finalizer off, and delete the load balancer in Hetzner's console, as it costs money: kubectl patch service"
    " {service} -n {namespace} --type=json -p '{patch}'",
    NoteKind.STUCK,
)

# The type.

TYPE_NOT_READ = Rule("type-not-read", "type {wanted} could not be looked up: {cause}; {instead}", of=NoteKind.UNKNOWN)
TYPE_MISSING = Rule(
    "type-missing",
    f"{_set_by('type')} {{asked}}: Hetzner has no such type; {{instead}}",
    "choose another type{near}",
    NoteKind.MALFORMED,
)
TYPE_NOT_SOLD = Rule(
    "type-not-sold",
    f"{_set_by('type')} {{asked}}: Hetzner has not sold it since {{since}}; {{instead}}",
    "choose another type",
    NoteKind.MALFORMED,
)
TYPE_NOT_THERE = Rule(
    "type-not-there",
    f"{_set_by('location')} is {{location}}: Hetzner sells {{type}} in {{locations}} only; {{instead}}",
    "choose one of them",
    NoteKind.MALFORMED,
)
TYPE_TOO_SMALL = Rule(
    "type-too-small",
    f"{_set_by('type')} {{asked}}, which is too small: it takes {{holds}}, and {{needed}} are needed; {{instead}}",
    "choose {larger}",
    NoteKind.LIMIT,
)
TYPE_DEPRECATED = Rule(
    "type-deprecated",
    "Hetzner sells type {type} until {until} only",
    "choose another type in time",
    NoteKind.DEPRECATED,
)

PORT_OVER_LIMIT = Rule(
    "port-over-limit",
    "port {port} is left out: the load balancer's type takes {holds}",
    "choose {larger}",
    NoteKind.LIMIT,
)

# The private network.

NETWORK_WITHOUT_SUBNET = Rule(
    "network-without-subnet",
    "network {network} has no subnet, and no load balancer can be attached",
    "add a subnet of type cloud",
)
NETWORK_ELSEWHERE = Rule(
    "network-elsewhere",
    "network {network} is in {zones}, and the load balancer in {zone}: Hetzner attaches none of another network zone",
    "create it in {zones}, or name a network of {zone} in HCLOUD_NETWORK",
)
PRIVATE_NETWORK_NEEDED = Rule(
    "private-network-needed", f"{_set_by('disable_public_network')} is true: {{cause}}", of=NoteKind.MALFORMED
)
TARGETS_STAY = Rule(
    "targets-stay",
    "the targets stay as they are, and none is added or removed: {cause}",
    of=NoteKind.KEPT,
)
NO_TARGET_IN_NETWORK = Rule(
    "no-target-in-network",
    "no target can be reached by a private address: {cause}",
    of=NoteKind.UNREACHABLE,
)
STAYS_OUTSIDE = Rule("stays-outside", "it stays outside of the network: {cause}", of=NoteKind.UNSUPPORTED)


def _private_ipv4(name: str, why: str) -> Rule:
    """A row on a private address that cannot be had."""
    says = f"{_key('private_ipv4')} is {{address}}: {why}"
    return Rule(name, says, "choose another address, or remove it", NoteKind.MALFORMED)


PRIVATE_IP_OUTSIDE = _private_ipv4("private-ip-outside", "network {network} has the subnets {subnets}")
PRIVATE_IP_RESERVED = _private_ipv4("private-ip-reserved", "Hetzner reserves it in network {network}")
PRIVATE_IP_OF_SERVER = _private_ipv4("private-ip-of-server", "server {server} has it")
PRIVATE_IP_OF_BALANCER = _private_ipv4("private-ip-of-balancer", "load balancer {balancer} has it")
PRIVATE_IP_CONTESTED = _private_ipv4("private-ip-contested", "it is asked for by {services} as well")
RANGE_OUTSIDE = Rule(
    "range-outside",
    f"{_set_by('private_subnet_ip_range')} is {{wanted}}: network {{network}} has the subnets {{subnets}}",
    "name one of them",
    NoteKind.MALFORMED,
)

# Primary IPs.

PRIMARY_IP_UNKNOWN = Rule(
    "primary-ip-unknown",
    "{option} is {wanted}, and it is not known whether the load balancer can have it: {cause}",
    of=NoteKind.UNKNOWN,
)
PRIMARY_IP_MISSING = Rule(
    "primary-ip-missing",
    "{option} is {wanted}: the project has no such Primary IP",
    "create it, correct this, or remove it",
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
    "ask its support, or name another one",
    NoteKind.MALFORMED,
)
PRIMARY_IP_ELSEWHERE = Rule(
    "primary-ip-elsewhere",
    "{option} is {wanted}: {address} is bound to {location}, and the load balancer goes to {place}",
    f"set {_key('location')} to {{location}}, or name one of {{place}}",
    NoteKind.MALFORMED,
)
PRIMARY_IP_IN_ANOTHER_ZONE = Rule(
    "primary-ip-in-another-zone",
    "{option} is {wanted}: {address} is bound to {location} in {zone}, and the load balancer goes to {place}",
    "name one of {place}",
    NoteKind.MALFORMED,
)
PRIMARY_IP_UNREADABLE = Rule(
    "primary-ip-unreadable", "{problem}; load balancer {balancer} keeps {address}", of=NoteKind.PRIMARY_IP
)
PRIMARY_IP_NOT_TAKEN = Rule(
    "primary-ip-not-taken",
    "{option} is {wanted}, and load balancer {balancer} keeps {address}: addresses are chosen at creation only",
    "to move to another one, let a second Service have it, change DNS records, and delete this Service then",
    NoteKind.PRIMARY_IP,
)
PRIMARY_IP_GOES_ALONG = Rule(
    "primary-ip-goes-along",
    "{address} is deleted together with its load balancer, as its auto_delete is on",
    "to keep it, run hcloud primary-ip update --auto-delete=false {primary_ip}",
    NoteKind.PRIMARY_IP,
)
ADDRESSES_GO = Rule("addresses-go", "its public addresses {addresses} are lost for good", of=ChangeKind.LB_DELETE)
PRIMARY_IP_MAY_GO = Rule(
    "primary-ip-may-go",
    "Primary IP {primary_ip} ({address}) is deleted with it if its auto_delete is on, which is not known here",
    of=ChangeKind.LB_DELETE,
)
PRIMARY_IP_STAYS = Rule(
    "primary-ip-stays", "Primary IP {primary_ip} ({address}) stays, and is paid for", of=ChangeKind.LB_DELETE
)
PRIMARY_IP_GOES = Rule(
    "primary-ip-goes",
    "Primary IP {primary_ip} ({address}) is deleted with it, as its auto_delete is on: the address is lost for good",
    of=ChangeKind.LB_DELETE,
)

# Targets.

NODE_NO_TARGET = Rule("node-no-target", "no target for {nodes}: {cause}", of=NoteKind.UNUSABLE_TARGET)
NODE_TARGET_STAYS = Rule("node-target-stays", "target of {nodes} unchanged: {cause}", of=NoteKind.UNUSABLE_TARGET)
NODE_OVER_LIMIT = Rule("node-over-limit", "no target for {nodes}: {cause}", of=NoteKind.LIMIT)
NODE_UNCERTAIN = Rule("node-uncertain", "target of {nodes} unchanged: {cause}", of=NoteKind.KEPT)
LOST_IPV4 = Rule(
    "lost-ipv4",
    "{nodes} out of reach: the target has a public IPv4 address that its server has lost",
    "remove it in Hetzner's console, and it comes back by IPv6",
    NoteKind.UNUSABLE_TARGET,
)
UNREAD_IPV4 = Rule(
    "unread-ipv4",
    "{nodes} out of reach: the target has a public IPv4 address, and the Service takes IPv6 alone (spec.ipFamilies)",
    LOST_IPV4.remedy,
    NoteKind.UNUSABLE_TARGET,
)
TARGET_OF_OTHERS = Rule("target-of-others", "target {target} is of another owner, and stays", of=NoteKind.FOREIGN)

# The end of a load balancer.

RELEASE_UNCLEAR = Rule(
    "release-unclear",
    "{problem}; its load balancer is deleted {seconds}s after the Service",
    of=NoteKind.MALFORMED,
)
PUBLISHED_STAYS = Rule(
    "published-stays",
    "it publishes an address of {balancer}; nothing else says that it was its, so that it stays",
    "if it is of no use: hcloud load-balancer delete {id}",
    NoteKind.ORPHAN,
)
LOST_ITS_LABEL = Rule("lost-its-label", "{balancer} has lost its label", of=ChangeKind.LB_RETAIN)
RETAINED_PROTECTED = Rule("retained-protected", "it is protected against deletion", of=ChangeKind.LB_RETAIN)
RETAINED_ADOPTED = Rule(
    "retained-adopted",
    f"it was not made for a Service, and {_key('deletion_policy')} is not delete",
    of=ChangeKind.LB_RETAIN,
)
RETAINED_UNREADABLE = Rule(
    "retained-unreadable",
    f"{_key('deletion_policy')} is {{value}}, which is neither delete nor retain",
    of=ChangeKind.LB_RETAIN,
)
RETAINED_AS_ASKED = Rule("retained-as-asked", "the Service's deletion policy is to retain it", of=ChangeKind.LB_RETAIN)
ORPHANED = Rule(
    "orphaned",
    "load balancer {balancer} {name} is orphaned: {cause}",
    "to delete it: reconcile orphans --delete {balancer}",
    NoteKind.ORPHAN,
)
SERVICE_GONE = Rule("service-gone", "its Service, with the UID {uid}, is gone", of=ChangeKind.LB_DELETE)
RELEASED = Rule("released", "it was released, and no Service has asked for it by its name", of=NoteKind.ORPHAN)
RELEASED_SINCE = Rule(
    "released-since", "it was released on {since}, and no Service has asked for it by its name", of=NoteKind.ORPHAN
)
UNDATED = Rule(
    "undated",
    f"{{service}} has gone, and label {LABEL_DELETE_AFTER} is gone: it is never deleted by itself",
    of=NoteKind.ORPHAN,
)
MISDATED = Rule(
    "misdated",
    f"{{service}} has gone, and label {LABEL_DELETE_AFTER} is {{value!r}}, which is no time of ours: it is never"
    " deleted by itself",
    of=NoteKind.ORPHAN,
)
MAY_RETURN = Rule("may-return", "{service} has gone, and may have it back", of=NoteKind.ORPHAN)
IN_UNDO_WINDOW = Rule(
    "in-undo-window",
    "{service} has gone: it is deleted after {until}, unless it comes back",
    of=NoteKind.ORPHAN,
)
PUBLISHED_AT_THE_END = Rule("published-at-the-end", "Service {service}, which goes, publishes its address")
NAMED_WITHOUT_LABEL = Rule("named-without-label", "it has the default name of Service {service}, and no label")
NAMED_FOR_NONE = Rule(
    "named-for-none", "it has the default name of a Service, and no Service of this cluster has its UID"
)
ORPHAN_PROTECTED = Rule(
    "orphan-protected", "it is protected against deletion: take that off in Hetzner's console first"
)
ORPHAN_UNLABELLED = Rule(
    "orphan-unlabelled", "no label says whose it is: if it is of no use, hcloud load-balancer delete {balancer}"
)
STRAY_PRIVATE = Rule("stray-private", "no Node of the cluster has it, and Robot knows no private addresses")
STRAY_PUBLIC = Rule("stray-public", "no Node of the cluster has it, and no server of the Robot account does")
CERTIFICATE_LEFT = Rule(
    "certificate-left",
    "certificate {certificate} {name} was made for a Service that is gone",
    "hcloud certificate delete {certificate}",
    NoteKind.ORPHAN,
)

# Nodes as targets.

_EXTERNAL = "start the kubelet with --cloud-provider=external, delete the Node and restart the kubelet"
_PRIVATE = _key("use_private_ip")
_DUAL_STACK = "set ipFamilyPolicy: PreferDualStack"
_OF_NO_FAMILY = "without an address of the Service's family"
_WITHOUT_ADDRESS = "without public address"

NODES_LACKING = Rule("nodes-lacking", "0 of 0 Nodes may get traffic: the cluster has no Nodes", of=NoteKind.NO_TARGETS)
NODES_INELIGIBLE = Rule(
    "nodes-ineligible", "0 of {total} Nodes may get traffic: {counts}", "{remedies}", NoteKind.NO_TARGETS
)
EXCLUDED_BY_LABEL = Rule(
    "excluded-by-label",
    f"it has the label {LABEL_EXCLUDE_FROM_BALANCERS}",
    f"kubectl label node {{nodes}} {LABEL_EXCLUDE_FROM_BALANCERS}- (kubeadm, Talos and k3s set it on control planes)",
    counted="excluded by label",
)
LEAVING_BY_AUTOSCALER = Rule(
    "leaving-by-autoscaler",
    f"it has the taint {TAINT_CLUSTER_AUTOSCALER}",
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
LEAVING = Rule("being-deleted", "it is being deleted", "a new Node becomes a target", counted="being deleted")
IGNORED = Rule(
    "ignored",
    "ignored by --ignore-nodes: it stays what it is",
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
    "without-server", "the server is gone", "a new Node becomes a target once it has joined", counted="without server"
)
ON_UNREAD_ROBOT_SERVER = Rule(
    "on-unread-robot-server",
    "Robot servers are not read",
    "set ROBOT_ENABLED, ROBOT_USER and ROBOT_PASSWORD",
    counted="with a Robot server that is not read",
)
IN_ANOTHER_ZONE = Rule(
    "in-another-network-zone",
    "the server is in {location}, network zone {zone}, and the load balancer in {place}: Hetzner takes targets of its"
    " own zone only",
    f"add {LABEL_REGION[-1]}!={{location}} to {_key('node_selector')}, or make a Service for each zone",
    counted="in another network zone",
)
IN_NO_VSWITCH = Rule(
    "in-no-vswitch",
    "its InternalIP {address} is in no vSwitch of network {network}, which has {vswitches}",
    "couple one that has it",
    counted="in no vSwitch of the network",
)
OF_ONE_FAMILY = Rule(
    "of-another-family",
    "the server has a public {had} address alone, and the Service takes {wanted} alone (spec.ipFamilies)",
    _DUAL_STACK,
    counted=_OF_NO_FAMILY,
)
OF_ONE_FAMILY_IN_NETWORK = Rule(
    "of-another-family-outside", OF_ONE_FAMILY.says, f"{_DUAL_STACK}, or {_PRIVATE} to true", counted=_OF_NO_FAMILY
)
IPV6_IN_NETWORK = Rule(
    "without-private-ipv6",
    "private networks have no IPv6, and the Service takes IPv6 alone (spec.ipFamilies)",
    _DUAL_STACK,
    counted=_OF_NO_FAMILY,
)
WITHOUT_NETWORK = Rule(
    "without-private-network",
    "traffic should go to private addresses, and there is no network (HCLOUD_NETWORK)",
    f"set that, or {_PRIVATE} to false",
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
    f"give it one, or a network and {_PRIVATE}",
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
TAKES_PRIVATE = Rule("takes-traffic-inside", "server {server} by its private address {address}")
TAKES_PUBLIC = Rule("takes-traffic", "{server} by its public address {address}")
TAKES_PUBLIC_INSTEAD = Rule(
    "takes-traffic-outside", "{server} by its public address {address}, as its Node has no InternalIP"
)
TAKES_INTERNAL = Rule("takes-traffic-as-reported", "{server} by the InternalIP {address} of its Node")
ROOM_LACKING = Rule(
    "over-limit", "the type takes {room}, all taken", "{remedy}", counted="over the limit of the load balancer's type"
)
TARGET_SERVER_UNKNOWN = Rule("on-unknown-server", "the server is not known: {cause}", counted="with an unknown server")
NODE_UNREADABLE = Rule("unreadable-node", "the Node could not be read: {cause}", counted="not readable")
PRIVATE_NETWORK_UNKNOWN = Rule(
    "in-unknown-network", "the network is not known: {cause}", counted="with an unknown network"
)
ADDRESS_UNSAID = Rule(
    "with-unknown-address", "the API did not say which {kind} the server has", counted="with an unknown address"
)
INTERNAL_IP_LACKING = Rule("without-any-internal-ip", "the Node has no InternalIP", counted="without InternalIP")
ROBOT_CREDENTIALS_LACKING = Rule(
    "without-robot-credentials",
    "without ROBOT_USER and ROBOT_PASSWORD it is reached by its InternalIP alone",
    f"set {_PRIVATE} to true",
    counted=ON_UNREAD_ROBOT_SERVER.counted,
)
ADDRESS_SHARED = Rule(
    "with-a-shared-address",
    "{address} is the address of another server or Node as well",
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
_STRICT = "as it is never asked for again by itself: the limits of certificate authorities are strict"


def _certificate(name: str, says: str, remedy: str = "", of: NoteKind = NoteKind.CERTIFICATE) -> Rule:
    return Rule(f"certificate-{name}", says, remedy, of)


def _pending(name: str, says: str, remedy: str = "", noted: NoteKind | None = None) -> Rule:
    """A row on a certificate that an https port waits for, which the guard says of the port."""
    guard, verdict = GuardName.CERTIFICATE_ISSUANCE, Verdict.WAITING
    return Rule(f"certificate-{name}", says, remedy, guard, verdict, noted=noted)


CERTIFICATE_MISSING = _certificate(
    "missing",
    f"{_REFERENCES}: the project has no certificate {{wanted}}{{near}}",
    "upload it, or name one that is there",
)
CERTIFICATE_BY_ID = _certificate(
    "by-id",
    f"{_REFERENCES}: the project has no certificate with id {{wanted}}, and the one that is named {{wanted}} has id"
    " {certificate}",
    "write that",
)
CERTIFICATE_UNKNOWN = _certificate(
    "unknown", f"{_REFERENCES}: certificate {{wanted}} could not be looked up: {{cause}}", of=NoteKind.UNKNOWN
)
CERTIFICATE_NOT_ISSUED = _pending(
    "not-issued",
    "certificate {certificate} {name!r} was not issued: {cause}",
    f"{{fix}}, then {_RETRY}, or delete it there, so that a new one is asked for, {_STRICT}",
    NoteKind.CERTIFICATE,
)
NAMED_CERTIFICATE_NOT_ISSUED = _pending(
    "named-not-issued", CERTIFICATE_NOT_ISSUED.says, f"{{fix}}, then {_RETRY}, {_STRICT}", NoteKind.CERTIFICATE
)
CERTIFICATE_NOT_RENEWED = _certificate(
    "not-renewed",
    "certificate {certificate} {name!r} is used, and could not be renewed: {cause}",
    f"{{fix}}, then {_RETRY}",
)
CERTIFICATE_BEING_ISSUED = _pending(
    "being-issued", "Hetzner is still getting certificate {certificate} {name!r} issued, since {since} UTC"
)
CERTIFICATE_TO_CREATE = _pending("to-create", "the certificate {name!r} is still to be created")
PORT_KEEPS_CERTIFICATE = _certificate("kept", "port {port} keeps its certificate for now: {cause}")
PORT_LACKS_CERTIFICATE = _certificate(
    "lacking", "port {port} waits for a certificate", f"name one in {_REFERENCES}, or set {_TYPE}"
)
CERTIFICATE_LOOK_UP = _certificate(
    "look-up", "the Service's managed certificate could not be looked up: {cause}", of=NoteKind.UNKNOWN
)
CERTIFICATE_OF_CLUSTER = _certificate(
    "of-cluster",
    "certificate {certificate} {name!r} has the label of this Service, and that of cluster {cluster}: left alone",
    of=NoteKind.FOREIGN,
)
CERTIFICATE_UPLOADED = _certificate(
    "uploaded",
    "certificate {certificate} {name!r} has the label of this Service, and was uploaded: it is not used",
    f"to use it, remove {_TYPE} and name it in {_REFERENCES}, else take its label {LABEL_SERVICE_UID} off",
)
CERTIFICATE_DIFFERS = _certificate(
    "differs",
    "certificate {certificate} {name!r} stays in use, though {differences}",
    f"to have another one issued, {{free}}take the label {LABEL_SERVICE_UID} off this one, which serves until then, or"
    " set the annotations back",
)
CERTIFICATES_SEVERAL = _certificate(
    "several",
    "certificates {certificates} all have the label of this Service, and none of them is exactly as asked for",
    f"take the label {LABEL_SERVICE_UID} off all but one",
    NoteKind.AMBIGUOUS,
)
CERTIFICATE_NAME_TAKEN = _certificate(
    "name-taken",
    "certificate {certificate} {name!r} is not this Service's managed certificate, and has the name that one would get",
    f"choose another in {_NAME}, or, to use this one, remove {_TYPE} and name it in {_REFERENCES}",
)

# Stages of a Service, for explanations.

OF_ANOTHER_CONTROLLER = Rule(
    "of-another-controller", "spec.loadBalancerClass {cls!r} makes it another controller's; left alone"
)
WANTS_NONE = Rule("wants-no-load-balancer", "is of type {type}, and asks for no load balancer; left alone")
NEVER_CLAIMED = Rule("never-claimed", "is being deleted, and was never claimed here: there is nothing to release")
SERVED = Rule("served", "is served by load balancer {balancer}; {changes}")
RETURNING = Rule("returning", "had load balancer {balancer} when it was deleted last; {change}")
ADOPTING = Rule("adopting", "asks for the name of load balancer {balancer}, which no Service that lives has; {change}")
ADOPTING_PUBLISHED = Rule(
    "adopting-published",
    "publishes an address of load balancer {balancer}, which no Service that lives has; {change}",
)
JOINING = Rule("joining", "wants a load balancer and has none; {change}")
NOTHING_PLANNED = Rule("nothing-planned", "nothing is planned as things are")
MALFORMED_NEW = Rule("malformed-new", "{problem}{more}; nothing is created until it is right")
MALFORMED_SERVED = Rule(
    "malformed-served",
    "{problem}{more}; nothing but the targets of load balancer {balancer} is looked after until it is right",
)
MALFORMED_ADOPTING = Rule("malformed-adopting", "{problem}{more}; nothing is taken over until it is right")
LEAVING_UNDECIDED = Rule("leaving-undecided", "{going}, and {cause}")
LEAVING_ALONE = Rule("leaving-alone", "{going}, and has no load balancer; {change}")
LEAVING_TOGETHER = Rule("leaving-together", "{going}, and load balancer {balancer} goes with it; {change}")
LEAVING_FOR_A_WHILE = Rule(
    "leaving-for-a-while", "{going}; load balancer {balancer} is released first, and deleted after {until}; {change}"
)
LEAVING_RETAINED = Rule("leaving-retained", "{going}; load balancer {balancer} stays, as {cause}; {change}")

# Ports, for explanations.

PORT_STAYS = Rule("port-stays", "stays as it is")
PORT_NOT_PLANNED = Rule("port-not-planned", "nothing is planned for it as things are")
PORT_WITHOUT_NODE_PORT = Rule(
    "port-without-node-port", "waits for its node port, which the API server has still to choose"
)
PORT_WITHOUT_CERTIFICATE = Rule("port-without-certificate", "waits for a certificate: {cause}")
PORT_AS_ASKED = Rule("port-as-asked", "as the Service asks")

# Conditions of a Service.

BALANCER_DELETED = Rule("balancer-deleted", "the load balancer is being deleted")
BALANCER_RELEASED = Rule("balancer-released", "the load balancer is released")
BALANCER_LACKING = Rule("balancer-lacking", "there is no load balancer")
BALANCER_UNCERTAIN = Rule("balancer-uncertain", "it is not known whether there is a load balancer")
ADDRESS_UNPUBLISHED = Rule("address-unpublished", "load balancer {balancer} has no address published")
OTHERS_PUBLISHED = Rule(
    "others-published",
    "published {others}{writer}, which load balancer {balancer} does not have; its own addresses are {own}{hostname}",
)
PORTS_LACKING = Rule("ports-lacking", "load balancer {balancer} listens on no port")
LEADS_NOWHERE = Rule("leads-nowhere", "load balancer {balancer} leads to no Node{cause}")
ADDRESS_PUBLISHED = Rule("address-published", "published {addresses}")
IN_SYNC = Rule("in-sync", "the load balancer is as the Service asks")
STILL_TO_COME = Rule("still-to-come", "still to come: {cause}")
