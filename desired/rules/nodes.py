"""Rows of Nodes: what decides on each of their labels and addresses."""

from desired.plan.kinds import ChangeKind
from desired.plan.notes import NoteKind
from desired.rules.rule import Basis, Rule

TYPE_OF_SERVER = Rule("type-of-server", "the server's type", basis=Basis.SERVER)
TYPE_OF_PRODUCT = Rule("type-of-product", "the server's product", basis=Basis.SERVER)
ZONE_OF_LOCATION = Rule("zone-of-location", "the zone of the server's location", basis=Basis.SERVER)
ZONE_OF_DATA_CENTER = Rule("zone-of-data-center", "the server's data center", basis=Basis.SERVER)
REGION_OF_SERVER = Rule("region-of-server", "the server's location", basis=Basis.SERVER)
REGION_OF_DATA_CENTER = Rule("region-of-data-center", "the location of the server's data center", basis=Basis.SERVER)
PROVIDED_BY_CLOUD = Rule("provided-by-cloud", "the same for all servers of Hetzner Cloud", basis=Basis.SERVER)
PROVIDED_BY_ROBOT = Rule("provided-by-robot", "the same for all Robot servers", basis=Basis.SERVER)
ZONE_OFF = Rule("zone-off", "stays as it is: HCLOUD_INSTANCES_ZONE_LABEL_ENABLED is false", basis=Basis.UNTOUCHED)
LABEL_UNKNOWN = Rule("label-unknown", "stays as it is: the server's {field} is not known", basis=Basis.UNTOUCHED)
LABEL_UNUSABLE = Rule(
    "label-unusable",
    "label {label} stays as it is: the server's {field} {wanted!r} is not a valid label value",
    of=NoteKind.UNUSABLE_LABEL,
    basis=Basis.UNTOUCHED,
)
LABEL_IN_STEP = Rule("label-in-step", "follows label {label}, as the server has no value for either", basis=Basis.KEPT)
LABEL_KEPT = Rule(
    "label-kept",
    "label {label} keeps {value!r}, which differs from the server's {wanted!r}",
    of=NoteKind.KEPT,
    basis=Basis.KEPT,
)
LABEL_MIRRORED = Rule("label-mirrored", "the server's label {name}", basis=Basis.MIRRORED)
MIRROR_GONE = Rule(
    "mirror-gone", "label {label} goes away: the server has no label that is mirrored as it", basis=Basis.MIRRORED
)
MIRROR_UNKNOWN = Rule(
    "mirror-unknown", "stays as it is: Hetzner's answer has no labels of the server", basis=Basis.UNTOUCHED
)
MIRROR_AMBIGUOUS = Rule(
    "mirror-ambiguous",
    "label {label} is not written: the server's labels {names} would all become it",
    of=NoteKind.UNUSABLE_LABEL,
    basis=Basis.MIRRORED,
)
MIRROR_UNUSABLE = Rule(
    "mirror-unusable",
    "the server's label {name} is not mirrored: its key or value is not valid on a Node",
    of=NoteKind.UNUSABLE_LABEL,
    basis=Basis.MIRRORED,
)
LABELS_DIFFER = Rule("labels-differ", "differs from {server} ({type} in {location})", of=ChangeKind.NODE_LABELS)
MIRROR_DIFFERS = Rule("mirror-differs", "differs from the labels of {server}", of=ChangeKind.NODE_LABELS)

HOSTNAME_OF_SERVER = Rule("hostname-of-server", "the server's name", basis=Basis.SERVER)
HOSTNAME_KEPT = Rule(
    "hostname-kept",
    "Hostname {hostname} stays although {server} is called {name}",
    of=NoteKind.KEPT,
    basis=Basis.KEPT,
)
HOSTNAME_TAKEN = Rule(
    "hostname-taken",
    "Hostname is the Node's own name: {name}, the name of {server}, is that of Node {node} or of its server",
    of=NoteKind.KEPT,
    basis=Basis.KEPT,
)
SERVER_UNNAMED = Rule(
    "server-unnamed", "Hostname is {hostname}: {server} has no name", of=NoteKind.KEPT, basis=Basis.KEPT
)
PUBLIC_IPV4 = Rule("public-ipv4", "the server's public IPv4", basis=Basis.SERVER)
PUBLIC_IPV6 = Rule("public-ipv6", "the first host of the server's IPv6 network", basis=Basis.SERVER)
PRIVATE_IP = Rule("private-ip", "the server's address in the private network", basis=Basis.SERVER)
INTERNAL_IP_FORWARDED = Rule(
    "internal-ip-forwarded", "reported by the kubelet, kept by ROBOT_FORWARD_INTERNAL_IPS", basis=Basis.SERVER
)
INTERNAL_IP_KEPT = Rule("internal-ip-kept", "reported by the kubelet, kept by --keep-internal-ips", basis=Basis.KEPT)
ON_NODE_IP = Rule("on-node-ip", "the kubelet's --node-ip, so that no other {type} counts", basis=Basis.NODE_IP)

_GOES = "{type} {address} goes away: "
HOSTNAME_OF_OTHERS = Rule(
    "hostname-of-others", _GOES + "it is the name of Node {node} or of its server", basis=Basis.SERVER
)
ADDRESS_TWICE = Rule("address-twice", _GOES + "it is listed twice", basis=Basis.SERVER)
ADDRESS_OF_OTHER_TYPE = Rule("address-of-other-type", _GOES + "it is the Node's {other}", basis=Basis.SERVER)
NOT_ON_NODE_IP = Rule(
    "not-on-node-ip", _GOES + "the kubelet's --node-ip makes {wanted} the only {type}", basis=Basis.NODE_IP
)
OTHER_FAMILY = Rule("other-family", _GOES + "HCLOUD_INSTANCES_ADDRESS_FAMILY is {family}", basis=Basis.SERVER)
FORWARD_OFF = Rule("forward-off", _GOES + "ROBOT_FORWARD_INTERNAL_IPS is false", basis=Basis.SERVER)
NETWORK_UNSET = Rule(
    "network-unset", _GOES + "HCLOUD_NETWORK is not set, so the cloud knows no private address", basis=Basis.SERVER
)
ADDRESS_UNKNOWN = Rule("address-unknown", _GOES + "{server} does not have it", basis=Basis.SERVER)


def _not_forwarded(name: str, why: str) -> Rule:
    """A row for an InternalIP that the kubelet of a Robot server's Node reported, and that is not kept."""
    remedy, kind = "correct the kubelet's --node-ip", NoteKind.MISCONFIGURED_INTERNAL_IP
    return Rule(name, _GOES + why, remedy, kind, basis=Basis.SERVER)


INTERNAL_IP_MALFORMED = _not_forwarded("internal-ip-malformed", "it is not an IP address")
INTERNAL_IP_PUBLIC = _not_forwarded("internal-ip-public", "it is the server's public address")
INTERNAL_IP_OTHER_FAMILY = _not_forwarded("internal-ip-other-family", "HCLOUD_INSTANCES_ADDRESS_FAMILY is {family}")


def _undecided(name: str, kind: NoteKind, why: str, remedy: str = "") -> Rule:
    """A row for addresses that stay as they are, and keep a joining Node waiting."""
    return Rule(name, "addresses are not written: " + why, remedy, kind, basis=Basis.UNTOUCHED)


ADDRESSES_MISSING = _undecided("addresses-missing", NoteKind.UNKNOWN, "Hetzner's answer has no {field} for {server}")
NETWORK_UNKNOWN = _undecided("network-unknown", NoteKind.UNKNOWN, "{cause}")
NETWORK_ABSENT = _undecided("network-absent", NoteKind.UNKNOWN, "the project has no network {network!r}")
ADDRESS_CONTESTED = _undecided(
    "address-contested",
    NoteKind.AMBIGUOUS,
    "{type} {address} of {server} is that of {other} as well",
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
ADDRESSES_DIFFER = Rule("addresses-differ", "differs from the addresses of {server}", of=ChangeKind.NODE_ADDRESSES)
CONTROLLER_OFF = Rule("controller-off", "stays as it is: --controllers leaves {controller} out", basis=Basis.UNTOUCHED)
