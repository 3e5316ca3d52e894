"""What a joining Node should become: the initialisation of nodes-and-routes 4.3, as values."""

from dataclasses import dataclass
from typing import assert_never

from desired.addresses import UnusableNodeIP
from desired.change import NodeIdentity, Note, NoteKind
from desired.labels import joining_labels, owned_labels
from desired.matching import Ambiguous, Foreign, Gone, Malformed, Matched, Miss, Unmatched, Unsupported
from desired.names import TAINT_UNINITIALIZED
from desired.node_fields import desired_addresses, lost_addresses, notes_on_hostname, notes_on_labels
from desired.others import ContestedAddress, Others
from desired.provider_id import CloudID, format_provider_id
from desired.section import Unknown
from desired.settings import Settings
from desired.snapshot import Node, Server, Snapshot


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


def current_identity(node: Node, settings: Settings) -> NodeIdentity:
    """The part of a Node that initialisation is about, as it stands."""
    return NodeIdentity(node.provider_id, owned_labels(node.labels, settings), node.taints, node.addresses)


def joining_node(
    node: Node, match: Matched, snapshot: Snapshot, settings: Settings, others: Others
) -> tuple[JoiningNode | None, tuple[Note, ...]]:
    """What ``node`` should be once it is initialised as the server of ``match``, and what there is to know about it.

    A providerID that is set is kept, and so is an owned label that the server has no value for (nodes-and-routes 4.4:
    not written, nor removed). None when the kubelet's ``--node-ip`` does not fit the server, when an address may be
    another server's, or when the network that decides its private addresses could not be read: then nothing is applied
    and the Node stays tainted, as a Node with a wrong address is worse than one that waits.
    """
    addresses = desired_addresses(node, match.server, snapshot, settings, others, joins=True)
    match addresses:
        case UnusableNodeIP(why):
            return None, (Note(node.key, NoteKind.UNUSABLE_NODE_IP, why),)
        case ContestedAddress(why):
            return None, (Note(node.key, NoteKind.AMBIGUOUS, f"{why}; the Node waits until only one has it"),)
        case Unknown(why):
            return None, (Note(node.key, NoteKind.UNKNOWN, why),)
    labels = joining_labels(match.server, node.labels, settings)
    identity = NodeIdentity(
        node.provider_id or format_provider_id(CloudID(match.server.id)),
        labels.labels,
        tuple(taint for taint in node.taints if taint.key != TAINT_UNINITIALIZED),
        addresses,
    )
    lost = lost_addresses(node, addresses, settings)
    notes = (*notes_on_labels(node, labels), *notes_on_hostname(node, match.server, others, joins=True))
    return JoiningNode(identity, match.server, match.by, lost), notes


def note_on_miss(node: Node, miss: Miss) -> Note:
    """Why a joining Node is not initialised, and what a person can do about it."""
    match miss:
        case Unmatched(why, candidates):
            nearest = f"; nearest: {', '.join(candidates)}" if candidates else ""
            remedy = "a Node joins when its name is its server's, or with the kubelet's --provider-id"
            return Note(node.key, NoteKind.UNMATCHED, f"{why}{nearest}; {remedy}")
        case Gone(server_id):
            why = f"no server of the project has the id {server_id}"
            return Note(node.key, NoteKind.UNMATCHED, f"{why}; delete the Node if its server is gone for good")
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
