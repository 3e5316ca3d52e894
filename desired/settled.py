"""What a Node that was initialised should look like as long as its server lives: labels, addresses, shutdown taint."""

from collections.abc import Mapping
from dataclasses import dataclass

from desired.addresses import UnusableNodeIP
from desired.change import Note, NoteKind
from desired.labels import settled_labels
from desired.matching import Ambiguous, Foreign, Malformed, Miss
from desired.node_fields import desired_addresses, lost_addresses, notes_on_hostname, notes_on_labels
from desired.others import ContestedAddress, Others
from desired.section import UNMANAGED, Unknown, Unmanaged
from desired.settings import Controller, Settings
from desired.shutdown import is_shut_down
from desired.snapshot import Node, NodeAddress, Server, Snapshot


@dataclass(frozen=True, slots=True)
class SettledNode:
    """A Node with its server. A field is UNMANAGED when nobody wants it kept, or too little is known to keep it."""

    server: Server
    labels: Mapping[str, str] | Unmanaged
    """Owned keys only; one that is not here should not be there."""
    addresses: tuple[NodeAddress, ...] | Unmanaged
    shut_down: bool | Unmanaged
    lost_addresses: tuple[str, ...] = ()
    """A warning for each IP address that goes away."""


def settled_node(
    node: Node, server: Server, snapshot: Snapshot, settings: Settings, others: Others
) -> tuple[SettledNode, tuple[Note, ...]]:
    """What ``node`` should be on ``server``, and what there is to know about it.

    No address goes away because the network could not be read, none because the kubelet's ``--node-ip`` is wrong, and
    none comes that may be another server's.
    """
    shut_down = is_shut_down(server) if Controller.LIFECYCLE in settings.controllers else UNMANAGED
    if Controller.NODE not in settings.controllers:
        return SettledNode(server, UNMANAGED, UNMANAGED, shut_down), ()
    labels = settled_labels(server, node.labels, settings)
    notes = (*notes_on_labels(node, labels), *notes_on_hostname(node, server, others, joins=False))
    addresses = desired_addresses(node, server, snapshot, settings, others, joins=False)
    match addresses:
        case UnusableNodeIP(why):
            notes += (Note(node.key, NoteKind.UNUSABLE_NODE_IP, f"{why}; the addresses stay as they are"),)
            return SettledNode(server, labels.labels, UNMANAGED, shut_down), notes
        case ContestedAddress(why):
            notes += (Note(node.key, NoteKind.AMBIGUOUS, f"{why}; the addresses stay as they are"),)
            return SettledNode(server, labels.labels, UNMANAGED, shut_down), notes
        case Unknown(why):
            if server.missing:  # a network that could not be read is told once, and not on each Node
                notes += (Note(node.key, NoteKind.UNKNOWN, why),)
            return SettledNode(server, labels.labels, UNMANAGED, shut_down), notes
    return SettledNode(server, labels.labels, addresses, shut_down, lost_addresses(node, addresses, settings)), notes


def notes_on_unmanaged(node: Node, miss: Miss, *, list_of_servers_is_whole: bool) -> tuple[Note, ...]:
    """Why nothing is kept true on a Node without the uninitialised taint; empty when it has no server that could say.

    A gap in the list of servers is told once, with the list, and not on each Node; in a whole list a server is unknown
    when it arrived and could not be read, which is told on its own.
    """
    match miss:
        case Foreign(why):
            return (Note(node.key, NoteKind.FOREIGN, f"{why}; left alone"),)
        case Malformed(why):
            return (Note(node.key, NoteKind.MALFORMED, f"{why}; left alone"),)
        case Ambiguous(why):
            return (Note(node.key, NoteKind.AMBIGUOUS, f"{why}; both are left alone, delete the stale one"),)
        case Unknown(why) if list_of_servers_is_whole:
            return (Note(node.key, NoteKind.UNKNOWN, why),)
    return ()


def note_on_unclaimed(node: Node) -> Note:
    """A Node that nobody gave to a cloud."""
    why = "has neither a providerID nor the uninitialised taint: its kubelet runs without --cloud-provider=external"
    return Note(node.key, NoteKind.FOREIGN, f"{why}; left alone")
