"""Rows of Nodes: the stage of each, and what decides on its server, labels, addresses, taints and on its deletion."""

from enum import StrEnum

from desired.plan.kinds import ChangeKind
from desired.plan.notes import NoteKind
from desired.rules.rule import Rule


class Stage(StrEnum):
    """A stage of a Node's life, as this product sees it."""

    JOINING = "joining"
    """It has registered, and waits to be initialized from its server."""
    SETTLED = "settled"
    """It is initialized, and kept in sync with its server."""
    DEPARTING = "departing"
    """Its server is gone, and its kubelet does not report."""
    DELETING = "deleting"
    """Its deletion was asked for, and it is still there."""
    UNMATCHED = "unmatched"
    """It has no server."""
    AMBIGUOUS = "ambiguous"
    """More than one Node claims its server, or more than one server its name."""
    MALFORMED = "malformed"
    """Its providerID has our prefix and names no server."""
    UNSUPPORTED = "unsupported"
    """It is Hetzner's, of a kind that this version does not read."""
    UNKNOWN = "unknown"
    """Too little could be read to tell which server it is."""
    FOREIGN = "foreign"
    """It is another cloud's."""
    IGNORED = "ignored"
    """The operator has excluded it from everything."""
    UNCLAIMED = "unclaimed"
    """It belongs to no cloud."""


def _miss(name: str, kind: NoteKind, says: str, remedy: str = "") -> Rule:
    """A row for a Node without a server, or with one that is in doubt."""
    return Rule(name, says, remedy, kind)


JOINING = Rule("node-joining", "waits to be initialized as {server}")
JOINS = Rule("node-joins", "initialized as {server} (matched by {matched})", of=ChangeKind.NODE_INITIALISE)
SETTLED = Rule("node-settled", "runs on {server}")
DELETING = Rule("node-deleting", "the Node is being deleted since {since} and waits for {holders}")
IGNORED = Rule("node-ignored", "ignored: matches {selector}", of=NoteKind.IGNORED)
NOT_MANAGED = Rule("node-not-managed", "not managed: the Node is {stage}")
CONTROLLER_OFF = Rule("controller-off", "not managed: --controllers leaves {controller} out")

_GONE = "{server} not found in {place}"
SERVER_GONE = Rule("server-gone", _GONE, of=ChangeKind.NODE_DELETE)
GONE_JOINING = _miss("server-gone-joining", NoteKind.UNMATCHED, _GONE, "delete the Node if its server is gone for good")
GONE_READY = _miss("server-gone-ready", NoteKind.UNMATCHED, _GONE + ", but the kubelet reports Ready")
GONE_REPLACED = _miss(
    "server-replaced",
    NoteKind.UNMATCHED,
    _GONE + ", but {namesake} has the Node's name",
    "delete the Node to let the kubelet there register again",
)
GONE_DELETING = _miss(
    "server-gone-deleting",
    NoteKind.DELETING,
    _GONE + ", and the Node is being deleted since {since} and waits for {holders}",
)

_NO_SERVER = "no server of {place} is named {name!r}"
_JOINS = "give the Node its server's name, or start its kubelet with --provider-id"
NO_SERVERS = _miss("no-servers", NoteKind.UNMATCHED, "{place} has no servers", _JOINS)
NO_SERVER_OF_NAME = _miss("no-server-of-name", NoteKind.UNMATCHED, _NO_SERVER, _JOINS)
NO_SERVER_NEAR = _miss("no-server-near", NoteKind.UNMATCHED, _NO_SERVER + " (nearest: {nearest})", _JOINS)
_AND_LIKELY = ", and the Node is likely {server}"
LIKELY_SERVER = _miss(
    "likely-server",
    NoteKind.UNMATCHED,
    _NO_SERVER + _AND_LIKELY,
    "give the machine the host name {host}, or delete the Node and start the kubelet with --provider-id={provider_id}",
)
LIKELY_RENAMED = _miss(
    "likely-renamed",
    NoteKind.UNMATCHED,
    _NO_SERVER + _AND_LIKELY,
    "give the machine its former host name, or delete both Nodes and start the kubelet with"
    " --provider-id={provider_id}",
)
SERVER_OF_TWO_NODES = _miss(
    "server-of-two-nodes",
    NoteKind.AMBIGUOUS,
    "providerID {provider_id} is also that of {nodes}",
    "delete the stale Node",
)
NAME_OF_SERVERS = _miss(
    "name-of-servers",
    NoteKind.AMBIGUOUS,
    "{servers} are all named {name!r}",
    "rename all but one, or start the kubelet with --provider-id",
)
NAME_OF_OTHERS_SERVER = _miss(
    "name-of-others-server",
    NoteKind.AMBIGUOUS,
    "{server} is named {name!r} and is the server of Node {node}",
    "delete the stale Node, or rename one of the two",
)
NAME_AT_BOTH_PROVIDERS = _miss(
    "name-at-both-providers",
    NoteKind.AMBIGUOUS,
    "{server} of Hetzner Cloud and a Robot server are both named {name!r}",
    "rename one of the two",
)
NODE_ON_ROBOT = _miss(
    "robot-not-read",
    NoteKind.UNSUPPORTED,
    "providerID {provider_id} is a Robot server, and Robot servers are not read",
    "set ROBOT_ENABLED, ROBOT_USER and ROBOT_PASSWORD",
)
PROVIDER_ID_MALFORMED = _miss(
    "provider-id-malformed",
    NoteKind.MALFORMED,
    "providerID {provider_id} has no server id (a positive decimal number)",
    "delete the Node and let its kubelet register again",
)
NODE_SERVER_UNKNOWN = _miss("node-server-unknown", NoteKind.UNKNOWN, "server unknown: {cause}")
NODE_SERVERS_INCOMPLETE = _miss(
    "node-servers-incomplete",
    NoteKind.UNKNOWN,
    "list of {servers} is incomplete: a name decides only in a complete one",
)
SERVER_UNREADABLE = _miss("node-server-unreadable", NoteKind.UNKNOWN, "cannot read {servers}: may be the Node's")
NAME_WAS_AT_ROBOT = _miss(
    "name-was-at-robot",
    NoteKind.UNKNOWN,
    "{server} is named {name!r}, and the last complete list of Robot servers had that name too",
)
_FOREIGN = "providerID {provider_id} belongs to another cloud"
_SET_BY = "providerID {provider_id} was set by {setter}"
_MANAGE = "to have the Node managed, {way}, delete the Node and restart {kubelet}"
FOREIGN = _miss("node-foreign", NoteKind.FOREIGN, _FOREIGN)
FOREIGN_LIKELY = _miss("node-foreign-likely", NoteKind.LIKELY_SERVER, _FOREIGN + _AND_LIKELY, _MANAGE)
FOREIGN_SETTER = _miss("node-set-by", NoteKind.FOREIGN, _SET_BY, _MANAGE)
FOREIGN_SETTER_LIKELY = _miss("node-set-by-likely", NoteKind.LIKELY_SERVER, _SET_BY + _AND_LIKELY, _MANAGE)
_UNCLAIMED = "the Node has neither a providerID nor the uninitialized taint"
_CLAIM = "to have it managed, start its kubelet with --cloud-provider=external and let the Node register again"
UNCLAIMED = _miss("node-unclaimed", NoteKind.FOREIGN, _UNCLAIMED, _CLAIM)
UNCLAIMED_LIKELY = _miss(
    "node-unclaimed-likely", NoteKind.LIKELY_SERVER, _UNCLAIMED + ", and is likely {server}", _CLAIM
)

_OWNED = ", and the server belongs to {nodes}"
OTHER_NAME = Rule("other-name", "its name is not the Node's")
OTHER_NAME_OWNED = Rule("other-name-owned", OTHER_NAME.says + _OWNED)
OTHER_ID = Rule("other-id", "the Node's providerID has another id")
OTHER_ID_OWNED = Rule("other-id-owned", OTHER_ID.says + _OWNED)
BY_CLUE = Rule("by-clue", "likely by {clue}")
BY_CLUE_OWNED = Rule("by-clue-owned", BY_CLUE.says + _OWNED)

POWER = Rule("power", "{server} is {status}", of=ChangeKind.NODE_SHUTDOWN_TAINT)
POWER_READY = Rule("power-ready", "{server} is on, as its Node is Ready", of=ChangeKind.NODE_SHUTDOWN_TAINT)
POWER_CHANGING = Rule("power-changing", "not changed: {server} is {status}")
OUT_OF_SERVICE = Rule(
    "out-of-service",
    "out of service so that {volumes} can follow their pods, then deleted: {server} is gone",
    of=ChangeKind.NODE_OUT_OF_SERVICE_TAINT,
)
OUT_OF_SERVICE_SINCE = Rule("out-of-service-since", "out of service since {since}")
BACK_IN_SERVICE = Rule(
    "back-in-service", "{server} is {status} and no volume is attached", of=ChangeKind.NODE_OUT_OF_SERVICE_TAINT
)
_REMOVE_BY_HAND = "if the Node works, run kubectl taint node {node} node.kubernetes.io/out-of-service-"


def _taint_stays(name: str, why: str, remedy: str = "") -> Rule:
    """A row for a Node that keeps our out-of-service taint, so that no pod runs there."""
    says = f"the out-of-service taint is kept: {why}"
    return Rule(name, says, remedy, NoteKind.OUT_OF_SERVICE)


TAINT_STAYS_POWER = _taint_stays("taint-stays-power", "{server} is {status}")
TAINT_STAYS_LOCKED = _taint_stays("taint-stays-locked", "{server} is locked by another operation")
TAINT_STAYS_YOUNG = _taint_stays("taint-stays-young", "it is not {wait} old")
TAINT_STAYS_ATTACHED = _taint_stays(
    "taint-stays-attached",
    "{volumes} still attached to the Node",
    "if that lasts, check the CSI driver, and whether pods on the Node tolerate the taint",
)
_GRANT = "allow list on volumeattachments.storage.k8s.io (see deploy/rbac)"
TAINT_STAYS_UNREAD = _taint_stays("taint-stays-unread", "cannot list VolumeAttachments: {error}", _GRANT)
TAINT_STAYS_UNMATCHED = _taint_stays("taint-stays-unmatched", "the server of the Node is not known", _REMOVE_BY_HAND)
ATTACHMENTS_UNREAD = Rule(
    "attachments-unread",
    "the Node is deleted without the out-of-service taint: cannot list VolumeAttachments: {error}",
    _GRANT,
    NoteKind.OUT_OF_SERVICE,
)
TAINT_GOES = Rule("taint-goes", "removed when the Node is initialized")
ANNOUNCES = Rule("taint-announces", "announces the removal of the Node")

BEING_DELETED = Rule("node-being-deleted", "being deleted")
CORDONED = Rule("node-cordoned", "cordoned")
TAINTED = Rule("node-tainted", "taint {taint}")
GIVEN_UP = Rule("node-given-up", "not Ready since {since}")

CONDITION_TELLS = Rule("condition-tells", "tells whether labels, addresses and routes are in sync (--node-conditions)")
READY_KEEPS = Rule("ready-keeps", "since {since}; the Node is not deleted while it is Ready")
READY_COUNTS = Rule(
    "ready-counts",
    "since {since}; without a server, the Node is deleted after {wait} of NotReady and counts as a planned removal"
    " after {silence}",
)
READY_IDLE = Rule("ready-idle", "since {since}; no deletion depends on it")

TYPE_OF_SERVER = Rule("type-of-server", "the server's type")
TYPE_OF_PRODUCT = Rule("type-of-product", "the server's product")
ZONE_LABEL = Rule("zone-of-location", "the zone of the server's location")
ZONE_LABEL_OF_DATA_CENTER = Rule("zone-of-data-center", "the server's data center")
REGION_OF_SERVER = Rule("region-of-server", "the server's location")
REGION_OF_DATA_CENTER = Rule("region-of-data-center", "the location of the server's data center")
PROVIDED_BY_CLOUD = Rule("provided-by-cloud", "the same for all servers of Hetzner Cloud")
PROVIDED_BY_ROBOT = Rule("provided-by-robot", "the same for all Robot servers")
ZONE_OFF = Rule("zone-off", "not changed: HCLOUD_INSTANCES_ZONE_LABEL_ENABLED is false")
LABEL_UNKNOWN = Rule("label-unknown", "not changed: the server's {field} is unknown")
LABEL_UNUSABLE = Rule(
    "label-unusable",
    "label {label} is not changed: the server's {field} {wanted!r} is not a valid label value",
    of=NoteKind.UNUSABLE_LABEL,
)
LABEL_IN_STEP = Rule("label-in-step", "copied from label {label}: the server has no value for either")
LABEL_KEPT = Rule("label-kept", "label {label} keeps {value!r} (the server's is {wanted!r})", of=NoteKind.KEPT)
LABEL_MIRRORED = Rule("label-mirrored", "the server's label {name}")
MIRROR_GONE = Rule("mirror-gone", "label {label} is removed: the server has no label to mirror as it")
MIRROR_UNKNOWN = Rule("mirror-unknown", "not changed: Hetzner's answer has no labels of the server")
MIRROR_AMBIGUOUS = Rule(
    "mirror-ambiguous",
    "label {label} is not written: the server's labels {names} would all become it",
    of=NoteKind.UNUSABLE_LABEL,
)
MIRROR_UNUSABLE = Rule(
    "mirror-unusable",
    "the server's label {name} is not mirrored: its key or value is not valid on a Node",
    of=NoteKind.UNUSABLE_LABEL,
)
LABELS_DIFFER = Rule("labels-differ", "labels differ from {server} ({type} in {location})", of=ChangeKind.NODE_LABELS)
MIRROR_DIFFERS = Rule("mirror-differs", "labels differ from those of {server}", of=ChangeKind.NODE_LABELS)

HOSTNAME_OF_SERVER = Rule("hostname-of-server", "the server's name")
HOSTNAME_KEPT = Rule("hostname-kept", "Hostname {hostname} is kept, but {server} is named {name}", of=NoteKind.KEPT)
HOSTNAME_TAKEN = Rule(
    "hostname-taken",
    "Hostname is the Node's own name: {name}, the name of {server}, is also that of Node {node} or of its server",
    of=NoteKind.KEPT,
)
SERVER_UNNAMED = Rule("server-unnamed", "Hostname is {hostname}: {server} has no name", of=NoteKind.KEPT)
PUBLIC_IPV4 = Rule("public-ipv4", "the server's public IPv4")
PUBLIC_IPV6 = Rule("public-ipv6", "the first host of the server's IPv6 network")
PRIVATE_IP = Rule("private-ip", "the server's address in the private network")
INTERNAL_IP_FORWARDED = Rule("internal-ip-forwarded", "reported by the kubelet, kept by ROBOT_FORWARD_INTERNAL_IPS")
INTERNAL_IP_KEPT = Rule("internal-ip-kept", "reported by the kubelet, kept by --keep-internal-ips")
ON_NODE_IP = Rule("on-node-ip", "the kubelet's --node-ip, the only {type}")

_GOES = "{type} {address} is removed: "
HOSTNAME_OF_OTHERS = Rule("hostname-of-others", _GOES + "name of Node {node} or of its server")
ADDRESS_TWICE = Rule("address-twice", _GOES + "listed twice")
ADDRESS_OF_OTHER_TYPE = Rule("address-of-other-type", _GOES + "already the Node's {other}")
NOT_ON_NODE_IP = Rule("not-on-node-ip", _GOES + "the kubelet's --node-ip makes {wanted} the only {type}")
OTHER_FAMILY = Rule("other-family", _GOES + "HCLOUD_INSTANCES_ADDRESS_FAMILY is {family}")
FORWARD_OFF = Rule("forward-off", _GOES + "ROBOT_FORWARD_INTERNAL_IPS is false")
NETWORK_UNSET = Rule("network-unset", _GOES + "HCLOUD_NETWORK is not set, and no private address is known")
ADDRESS_UNKNOWN = Rule("address-unknown", _GOES + "{server} does not have it")


def _not_forwarded(name: str, why: str) -> Rule:
    """A row for an InternalIP that the kubelet of a Robot server's Node reported, and that is not kept."""
    remedy, kind = "correct the kubelet's --node-ip", NoteKind.MISCONFIGURED_INTERNAL_IP
    return Rule(name, _GOES + why, remedy, kind)


INTERNAL_IP_MALFORMED = _not_forwarded("internal-ip-malformed", "not an IP address")
INTERNAL_IP_PUBLIC = _not_forwarded("internal-ip-public", "the server's public address")
INTERNAL_IP_OTHER_FAMILY = _not_forwarded("internal-ip-other-family", "HCLOUD_INSTANCES_ADDRESS_FAMILY is {family}")


def _undecided(name: str, kind: NoteKind, why: str, remedy: str = "") -> Rule:
    """A row for addresses that stay as they are, and keep a joining Node waiting."""
    return Rule(name, "addresses are not written: " + why, remedy, kind)


ADDRESSES_MISSING = _undecided("addresses-missing", NoteKind.UNKNOWN, "Hetzner's answer has no {field} for {server}")
NETWORK_UNKNOWN = _undecided("network-unknown", NoteKind.UNKNOWN, "{cause}")
NO_NETWORK = "network {network!r} not found in the project"
NETWORK_ABSENT = _undecided("network-absent", NoteKind.UNKNOWN, NO_NETWORK)
ADDRESS_CONTESTED = _undecided(
    "address-contested",
    NoteKind.AMBIGUOUS,
    "{type} {address} of {server} is also that of {other}",
)
NODE_IP_MALFORMED = _undecided(
    "node-ip-malformed",
    NoteKind.UNUSABLE_NODE_IP,
    "annotation provided-node-ip {value} is not an IP address or a pair of them without blanks",
    "correct the kubelet's --node-ip",
)
NODE_IP_NO_PAIR = _undecided(
    "node-ip-no-pair",
    NoteKind.UNUSABLE_NODE_IP,
    "annotation provided-node-ip {value} is not a pair of one IPv4 and one IPv6 address, both of them specified",
    "correct the kubelet's --node-ip",
)
NODE_IP_UNKNOWN = _undecided(
    "node-ip-unknown",
    NoteKind.UNUSABLE_NODE_IP,
    "the kubelet's --node-ip {address} is none of the server's addresses ({addresses})",
    "correct it, or set HCLOUD_NETWORK for a private and HCLOUD_INSTANCES_ADDRESS_FAMILY for an IPv6 address",
)
NODE_IP_IN_OTHER_NETWORK = _undecided(
    "node-ip-in-other-network",
    NoteKind.UNUSABLE_NODE_IP,
    "the kubelet's --node-ip {address} is the address of {server} in network {place}, and HCLOUD_NETWORK is {network}",
    "correct it, or set HCLOUD_NETWORK to {place}",
)
NODE_IP_ALIAS = _undecided(
    "node-ip-alias",
    NoteKind.UNUSABLE_NODE_IP,
    "the kubelet's --node-ip {address} is an alias address of {server} in network {place}",
    "set it to the server's main address there",
)
NODE_IP_OF_OTHER = _undecided(
    "node-ip-of-other",
    NoteKind.UNUSABLE_NODE_IP,
    "the kubelet's --node-ip {address} is an address of {other}, and the Node is {server}",
    "correct it, or if the machine is {other}, delete the Node and start the kubelet with that --provider-id",
)
ADDRESSES_UNDECIDED = frozenset(
    {
        ADDRESSES_MISSING,
        NETWORK_UNKNOWN,
        NETWORK_ABSENT,
        ADDRESS_CONTESTED,
        NODE_IP_MALFORMED,
        NODE_IP_NO_PAIR,
        NODE_IP_UNKNOWN,
        NODE_IP_IN_OTHER_NETWORK,
        NODE_IP_ALIAS,
        NODE_IP_OF_OTHER,
    }
)
"""Rows for addresses that stay as they are, as the right ones are not known."""
SERVER_UNSELECTED = Rule(
    "server-unselected",
    "{server} is outside of --server-selector {selector} and costs extra requests",
    "label the server, or correct the selector",
    NoteKind.UNSELECTED,
)
ADDRESSES_DIFFER = Rule("addresses-differ", "addresses differ from those of {server}", of=ChangeKind.NODE_ADDRESSES)
