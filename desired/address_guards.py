"""How many Nodes may lose an address, or be closed to pods, at once without a person's word: a network with another
name, or a list of another moment, takes them from all (user-wants 2.2)."""

from collections.abc import Iterator

from desired.addresses import UnusableNodeIP, parse_node_ips
from desired.change import Change, NodeIdentity, NoteKind, Verdict
from desired.finding import Facts, Finding
from desired.ownership import cloud_nodes
from desired.route import UNROUTED, NetworkCondition
from desired.section import Present, Unknown
from desired.snapshot import AddressType, Node, NodeAddress, Snapshot

_IPS = (AddressType.INTERNAL_IP, AddressType.EXTERNAL_IP)
_FIELDS = frozenset({"public_net.ipv4", "public_net.ipv6", "private_net"})


def address_blast_radius(facts: Facts) -> Iterator[Finding]:
    """Addresses of Nodes do not go by the dozen, and Nodes are not closed to pods by the dozen.

    Counted over the state and not over one plan, so that one pass and ten small ones mean the same: Nodes that lack an
    address already, that a kubelet speaks for, or of which nothing is known count as well.
    """
    yield from _losses(facts)
    yield from _closures(facts)


def takes_addresses(change: Change) -> bool:
    """Whether a Node loses an IP address by the change."""
    before, after = _sides(change)
    return bool(_ips(before) - _ips(after))


def closes_to_pods(change: Change) -> bool:
    """Whether a Node that pods may come to is closed to them. One that nobody has said anything of is just joining."""
    before = change.before
    return change.after == UNROUTED and isinstance(before, NetworkCondition) and before.status != UNROUTED.status


def _losses(facts: Facts) -> Iterator[Finding]:
    """Where no network is configured a Node that joins loses the internal address that its kubelet reported. That is
    HCCM's way (W-17), told as a consequence, and every cluster without a network comes up by it: it does not count."""
    in_network = facts.settings.network is not None
    losing = {
        change.owner: change
        for change in facts.plan.changes
        if takes_addresses(change) and (in_network or change.kind != "node.initialise")
    }
    if not losing:
        return
    ours = {node.key for node, _ in cloud_nodes(facts.snapshot, facts.settings)} | losing.keys()
    leaves_none = any(map(_leaves_the_network, losing.values()))
    value, limit = len(losing.keys() | _without(facts, leaves_none=leaves_none)), _limit(len(ours))
    if value <= limit:
        return
    why = (
        f"{value} of {len(ours)} Nodes would be without an address that they had or should have: check HCLOUD_NETWORK"
        " and HCLOUD_INSTANCES_ADDRESS_FAMILY, and approve this if it was meant"
    )
    keys = tuple(sorted(change.key for change in losing.values()))
    yield Finding("address-blast-radius", Verdict.HELD, keys, why, str(value), str(limit))


def _closures(facts: Facts) -> Iterator[Finding]:
    closing = tuple(sorted(change.key for change in facts.plan.changes if closes_to_pods(change)))
    if not closing:
        return
    nodes = sum(1 for _ in cloud_nodes(facts.snapshot, facts.settings))
    conditions = facts.desired.routes.conditions.values()
    value, limit = sum(wanted.condition == UNROUTED for wanted in conditions), _limit(nodes)
    if value <= limit:
        return
    why = (
        f"{value} of {nodes} Nodes would be closed to pods: check HCLOUD_NETWORK and the servers' attachments to it,"
        " and approve this if it was meant"
    )
    yield Finding("address-blast-radius", Verdict.HELD, closing, why, str(value), str(limit))


def _limit(nodes: int) -> int:
    """A quarter, but one at least."""
    return max(1, nodes // 4)


def _leaves_the_network(change: Change) -> bool:
    """Whether the Node had an internal address and has none afterwards."""
    before, after = _sides(change)
    return _has_internal(before) and not _has_internal(after)


def _without(facts: Facts, *, leaves_none: bool) -> set[str]:
    """Keys of our Nodes that lose nothing by this plan, and speak against it all the same: those of which too little is
    known, whose kubelets contradict it, and, where some would be without any internal address, those that are."""
    refused = {note.key for note in facts.plan.notes if note.kind is NoteKind.UNUSABLE_NODE_IP}
    return {
        node.key
        for node, server_id in cloud_nodes(facts.snapshot, facts.settings)
        if _is_unknown(server_id, facts.snapshot)
        or (node.key in refused and _speaks_for_itself(node))
        or (leaves_none and _is_outside(node, server_id, facts.snapshot))
    }


def _is_unknown(server_id: int, snapshot: Snapshot) -> bool:
    found = snapshot.servers.find(server_id)
    return isinstance(found, Unknown) or (isinstance(found, Present) and bool(found.value.missing & _FIELDS))


def _is_outside(node: Node, server_id: int, snapshot: Snapshot) -> bool:
    """Whether the Node has no address in the network that is configured, as it lost it or never had one."""
    network = snapshot.network.value if isinstance(snapshot.network, Present) else None
    found = snapshot.servers.find(server_id)
    if network is None or not isinstance(found, Present) or _has_internal(node.addresses):
        return False
    return all(place != network.id for place, _ in found.value.private_ips)


def _speaks_for_itself(node: Node) -> bool:
    """Whether the Node publishes what its kubelet was started with: that is evidence against any other answer."""
    ips = () if node.provided_node_ip is None else parse_node_ips(node.provided_node_ip)
    return not isinstance(ips, UnusableNodeIP) and not _ips(node.addresses).isdisjoint(map(str, ips))


def _sides(change: Change) -> tuple[tuple[object, ...], tuple[object, ...]]:
    """The addresses of the Node before and after the change; empty when it is about something else."""
    match change.kind, change.before, change.after:
        case "node.addresses", tuple() as before, tuple() as after:
            return before, after
        case "node.initialise", NodeIdentity(addresses=before), NodeIdentity(addresses=after):
            return before, after
    return (), ()


def _has_internal(addresses: tuple[object, ...]) -> bool:
    return any(isinstance(found, NodeAddress) and found.type == AddressType.INTERNAL_IP for found in addresses)


def _ips(addresses: tuple[object, ...]) -> set[str]:
    return {address.address for address in addresses if isinstance(address, NodeAddress) and address.type in _IPS}
