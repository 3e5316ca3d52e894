"""What a Node's addresses and labels should be on its server, alike for Nodes that join and for those that have."""

from desired.addresses import UnusableNodeIP, choose_addresses, cloud_addresses, with_internal_ips
from desired.change import Note, NoteKind
from desired.labels import NodeLabels
from desired.others import ContestedAddress, Others, choose_hostname
from desired.section import Absent, Unknown
from desired.settings import Settings
from desired.snapshot import AddressType, Node, NodeAddress, Server, Snapshot

_ADDRESS_FIELDS = frozenset({"public_net.ipv4", "public_net.ipv6", "private_net"})


def desired_addresses(
    node: Node, server: Server, snapshot: Snapshot, settings: Settings, others: Others, *, joins: bool
) -> tuple[NodeAddress, ...] | UnusableNodeIP | ContestedAddress | Unknown:
    """The addresses of ``node`` on ``server``, in their order; Unknown while the network is, or when Hetzner's answer
    lacks the fields that would say. ``joins`` tells whether it is initialised by that."""
    gaps = server.missing & _ADDRESS_FIELDS
    if gaps:
        return Unknown(f"Hetzner's answer has no {min(gaps)} for server {server.id}, so its addresses are unknown")
    match snapshot.network:
        case Unknown():
            return snapshot.network
        case Absent():
            return Unknown(f"the project has no network {settings.network!r}, so the private addresses are unknown")
    network = snapshot.network.value
    hostname = NodeAddress(AddressType.HOSTNAME, choose_hostname(node, server, others, joins=joins).name)
    offered = cloud_addresses(server, settings.address_family, network)
    offered = tuple(hostname if address.type == AddressType.HOSTNAME else address for address in offered)
    if settings.keep_internal_ips and network is None:
        offered = with_internal_ips(offered, node.addresses)
    chosen = choose_addresses(offered, node.provided_node_ip, server.ipv6)
    if isinstance(chosen, UnusableNodeIP):
        return chosen
    why = others.why_contested(server, chosen, network.id if network else None)
    return chosen if why is None else ContestedAddress(why)


def lost_addresses(node: Node, addresses: tuple[NodeAddress, ...], settings: Settings) -> tuple[str, ...]:
    """A warning for each IP address of the Node that is not among ``addresses``: nobody gives it back (W-17)."""
    kept = {address.address for address in addresses}
    why = "" if settings.network else ": HCLOUD_NETWORK is not set, so the cloud knows no private address"
    return tuple(
        f"{address.type} {address.address} goes away" + (why if address.type == AddressType.INTERNAL_IP else "")
        for address in node.addresses
        if address.type in (AddressType.INTERNAL_IP, AddressType.EXTERNAL_IP) and address.address not in kept
    )


def notes_on_hostname(node: Node, server: Server, others: Others, *, joins: bool) -> tuple[Note, ...]:
    """Why the Node is not called as its server is; empty when it is."""
    why = choose_hostname(node, server, others, joins=joins).why
    return (Note(node.key, NoteKind.KEPT, why),) if why else ()


def notes_on_labels(node: Node, labels: NodeLabels) -> tuple[Note, ...]:
    """What there is to know about a Node's labels: values that stay, and values that no label may have."""
    kept = (Note(node.key, NoteKind.KEPT, why) for why in labels.kept)
    unusable = (Note(node.key, NoteKind.UNUSABLE_LABEL, why) for why in labels.unusable)
    return (*kept, *unusable)
