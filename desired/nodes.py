"""What a joining Node should become: the initialisation of nodes-and-routes 4.3, as values."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import assert_never

from desired.addresses import UnusableNodeIP, choose_addresses, cloud_addresses
from desired.change import NodeIdentity, Note, NoteKind
from desired.labels import OWNED_LABELS, compute_labels
from desired.matching import Ambiguous, Foreign, Malformed, Matched, Matcher, Unmatched, Unsupported
from desired.names import LABEL_PROVIDED_BY, TAINT_UNINITIALIZED
from desired.provider_id import CloudID, ForeignID, MalformedID, format_provider_id, parse_provider_id
from desired.section import Absent, Unknown
from desired.settings import Settings
from desired.snapshot import AddressType, Node, Server, Snapshot


@dataclass(frozen=True, slots=True)
class JoiningNode:
    """A Node that can be initialised: what it should be, and how it was recognised."""

    identity: NodeIdentity
    server: Server
    matched_by: str
    consequences: tuple[str, ...] = ()


def is_joining(node: Node) -> bool:
    """Whether the Node waits for a cloud controller: the uninitialised taint, with any value and effect."""
    return any(taint.key == TAINT_UNINITIALIZED for taint in node.taints)


def current_identity(node: Node) -> NodeIdentity:
    """The part of a Node that initialisation is about, as it stands."""
    labels = {key: value for key, value in node.labels.items() if key in OWNED_LABELS}
    return NodeIdentity(node.provider_id, labels, node.taints, node.addresses)


def desired_identity(
    node: Node, server: Server, settings: Settings, snapshot: Snapshot
) -> NodeIdentity | UnusableNodeIP | Unknown:
    """What ``node`` should be once it is initialised as ``server``.

    A providerID that is set is kept, and so is an owned label that the server has no value for (nodes-and-routes 4.4:
    not written, nor removed). UnusableNodeIP when the kubelet's ``--node-ip`` does not fit the server, Unknown
    when the network that decides its private addresses could not be read: then nothing is applied and the Node stays
    tainted, as a Node with a wrong address is worse than one that waits.
    """
    if isinstance(snapshot.network, Unknown):
        return snapshot.network
    if isinstance(snapshot.network, Absent):
        return Unknown(f"the project has no network {settings.network!r}, so the private addresses are unknown")
    offered = cloud_addresses(server, settings.address_family, snapshot.network.value)
    addresses = choose_addresses(offered, node.provided_node_ip, server.ipv6)
    if isinstance(addresses, UnusableNodeIP):
        return addresses
    return NodeIdentity(
        node.provider_id or format_provider_id(CloudID(server.id)),
        {**current_identity(node).labels, **compute_labels(server, node.labels, zone_labels=settings.zone_labels)},
        tuple(taint for taint in node.taints if taint.key != TAINT_UNINITIALIZED),
        addresses,
    )


def desired_nodes(snapshot: Snapshot, settings: Settings) -> tuple[Mapping[str, JoiningNode], tuple[Note, ...]]:
    """Name of each Node that can be initialised → what it should be; and a note for each Node that is left alone."""
    joining: dict[str, JoiningNode] = {}
    notes = [Note(f"node/{name}", NoteKind.UNREADABLE, why) for name, why in snapshot.nodes.unreadable.items()]
    matcher = Matcher(snapshot.nodes, snapshot.servers)
    for node in snapshot.nodes:
        if not is_joining(node):
            notes += notes_on_settled(node)
            continue
        match = matcher.match(node)
        if not isinstance(match, Matched):
            notes.append(note_on_miss(node, match))
            continue
        match desired_identity(node, match.server, settings, snapshot):
            case UnusableNodeIP(why):
                notes.append(Note(node.key, NoteKind.UNUSABLE_NODE_IP, why))
            case Unknown(why):
                notes.append(Note(node.key, NoteKind.UNKNOWN, why))
            case identity:
                lost = lost_addresses(node, identity, settings)
                joining[node.name] = JoiningNode(identity, match.server, match.by, lost)
                notes += _notes_on_kept_label(node)
    return joining, tuple(notes)


def note_on_miss(node: Node, miss: Unmatched | Ambiguous | Foreign | Unsupported | Malformed | Unknown) -> Note:
    """Why a joining Node is not initialised, and what a person can do about it."""
    match miss:
        case Unmatched(why, candidates):
            nearest = f"; nearest: {', '.join(candidates)}" if candidates else ""
            remedy = "a Node joins when its name is its server's, or with the kubelet's --provider-id"
            if not node.provider_id:
                return Note(node.key, NoteKind.UNMATCHED, f"{why}{nearest}; {remedy}")
            return Note(node.key, NoteKind.UNMATCHED, f"{why}{nearest}; delete the Node if its server is gone for good")
        case Ambiguous(why):
            return Note(node.key, NoteKind.AMBIGUOUS, f"{why}; delete the stale Node, or rename one of them")
        case Unsupported(why):
            return Note(node.key, NoteKind.UNSUPPORTED, f"{why}; left to HCCM")
        case Foreign(why):
            return Note(node.key, NoteKind.FOREIGN, f"{why}; left alone")
        case Malformed(why):
            return Note(node.key, NoteKind.MALFORMED, f"{why}; delete the Node and let its kubelet register again")
        case Unknown(why):
            return Note(node.key, NoteKind.UNKNOWN, why)
        case _:
            assert_never(miss)


def lost_addresses(node: Node, identity: NodeIdentity, settings: Settings) -> tuple[str, ...]:
    """A warning for each IP address that the kubelet reported and the cloud does not: nobody gives it back (W-17)."""
    kept = {address.address for address in identity.addresses}
    why = "" if settings.network else ": HCLOUD_NETWORK is not set, so the cloud knows no private address"
    return tuple(
        f"{address.type} {address.address} goes away" + (why if address.type == AddressType.INTERNAL_IP else "")
        for address in node.addresses
        if address.type in (AddressType.INTERNAL_IP, AddressType.EXTERNAL_IP) and address.address not in kept
    )


def notes_on_settled(node: Node) -> tuple[Note, ...]:
    """Why a Node without the uninitialised taint is not ours; empty when it is."""
    if node.provider_id is None:
        why = "has neither a providerID nor the uninitialised taint: its kubelet runs without --cloud-provider=external"
        return (Note(node.key, NoteKind.FOREIGN, f"{why}; left alone"),)
    match parse_provider_id(node.provider_id):
        case ForeignID(text):
            return (Note(node.key, NoteKind.FOREIGN, f"providerID {text!r} belongs to another cloud; left alone"),)
        case MalformedID(why=why):
            return (Note(node.key, NoteKind.MALFORMED, f"{why}; left alone"),)
    return ()


def _notes_on_kept_label(node: Node) -> tuple[Note, ...]:
    value = node.labels.get(LABEL_PROVIDED_BY)
    if value in (None, "", "cloud"):
        return ()
    return (Note(node.key, NoteKind.KEPT, f"label {LABEL_PROVIDED_BY} is {value!r} where 'cloud' is expected; kept"),)
