"""Guards on changes of Nodes: ``node-blast-radius`` on deletions, ``address-blast-radius`` on addresses that Nodes
lose.

Both measure the state of the cluster and not one plan, so that one pass and ten small ones have the same limits.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import timedelta

from desired.guards.facts import Facts, GuardResult
from desired.model.clocks import LOOK_AGAIN_S
from desired.model.route import UNROUTED, NetworkCondition
from desired.model.settings import Settings
from desired.model.snapshot import AddressType, Node, NodeAddress, Readiness, Snapshot
from desired.names import LABEL_CONTROL_PLANE
from desired.nodes.addresses import UnusableNodeIP, parse_node_ips
from desired.nodes.disruption import is_planned_disruption
from desired.nodes.matching import cloud_nodes, nodes_of
from desired.plan.change import Change, GuardName, HoldEnd, LostNode, NodeIdentity, NoteKind, Verdict
from desired.plan.kinds import ChangeKind
from desired.section import Absent, Present, Unknown
from desired.syntax.provider_id import Provider, ServerKey, provider_of


@dataclass(frozen=True, slots=True)
class NodeLosses:
    """The Nodes of ours of one provider, and those among them whose servers are absent without a planned disruption."""

    nodes: int
    lost: frozenset[str]
    """Keys."""
    unreadable: int = 0
    """Nodes that arrived and could not be read, or whose servers could not: they may be lost as well, so that knowing
    less never lets more go."""

    @property
    def value(self) -> int:
        """The measured value: how many are lost, at worst."""
        return len(self.lost) + self.unreadable

    @property
    def limit(self) -> int:
        """The limit: how many of them may be lost. None of a single Node, else a quarter, but one at least."""
        return 0 if self.nodes == 1 else max(1, self.nodes // 4)


def losses_of(provider: Provider, snapshot: Snapshot, settings: Settings) -> NodeLosses:
    """The losses of a provider, proven or not."""
    ours = list(nodes_of(provider, snapshot, settings))
    given_up_after = settings.waits.given_up_after
    lost = (
        node.key
        for node, server in ours
        if isinstance(snapshot.find(server), Absent) and not is_planned_disruption(node, snapshot, given_up_after)
    )
    servers = snapshot.servers_of(provider)
    unreadable = sum(server.id in servers.unreadable for _, server in ours) + len(snapshot.nodes.unreadable)
    return NodeLosses(len(ours) + len(snapshot.nodes.unreadable), frozenset(lost), unreadable)


def eases_in_s(losses: NodeLosses, snapshot: Snapshot, settings: Settings) -> float | None:
    """Seconds until the next lost Node counts as a planned disruption, as it has been silent for so long; None when all
    are Ready. While clocks differ: until another look.

    After that there is one less, and what is held may be so no more.
    """
    if snapshot.clocks.differ:
        return LOOK_AGAIN_S
    return min((wait.total_seconds() for wait in _left(losses, snapshot, settings)), default=None)


def end_of(losses: NodeLosses, snapshot: Snapshot, settings: Settings) -> HoldEnd | None:
    """When so few are lost that nothing is held any more, if nothing else happens: one lost Node after the other counts
    as a planned disruption, goes, and there is one Node less to measure by. None when that does not suffice, and while
    clocks differ."""
    if snapshot.clocks.differ:
        return None
    waits = sorted(_left(losses, snapshot, settings))
    for gone, left in enumerate(waits, start=1):
        rest = NodeLosses(losses.nodes - gone, frozenset(sorted(losses.lost)[gone:]), losses.unreadable)
        if rest.value <= rest.limit:
            count = len(waits)
            who = {1: "it stays", 2: "both stay"}.get(count, f"all {count} stay")
            return HoldEnd(f"if {who} not Ready", max(0.0, left.total_seconds()))
    return None


def _left(losses: NodeLosses, snapshot: Snapshot, settings: Settings) -> Iterator[timedelta]:
    """What is left of the time for which each lost Node has to be silent to count as a planned disruption."""
    silent = (node for node in snapshot.nodes if node.key in losses.lost and node.ready is not Readiness.TRUE)
    return (settings.waits.given_up_after - (snapshot.taken_at - node.heard_at) for node in silent)


def is_control_plane(node: Node) -> bool:
    """Whether the Node belongs to the control plane, by either of its labels."""
    return any(key in node.labels for key in LABEL_CONTROL_PLANE)


def last_of_control_plane(snapshot: Snapshot, settings: Settings) -> frozenset[str]:
    """Keys of the control plane's Nodes when each one has lost its server, planned or not, or is being deleted; else
    empty.

    A Node that is ignored, another cloud's, or of which nothing is known counts as one that stays.
    """
    absent = {
        node.key
        for provider in Provider
        for node, server in nodes_of(provider, snapshot, settings)
        if isinstance(snapshot.find(server), Absent)
    }
    members = {node.key: node for node in snapshot.nodes if is_control_plane(node)}
    stays = any(node.key not in absent and node.deleted_at is None for node in members.values())
    return frozenset() if stays else frozenset(members)


_IPS = (AddressType.INTERNAL_IP, AddressType.EXTERNAL_IP)
_FIELDS = frozenset({"public_net.ipv4", "public_net.ipv6", "private_net"})


def address_blast_radius(facts: Facts) -> Iterator[GuardResult]:
    """Changes are held when too many Nodes would lose addresses, or be closed to pods.

    Counted over the state and not over one plan, so that one pass and ten small ones mean the same: Nodes that lack an
    address already, whose kubelets contradict the plan, or of which nothing is known count as well.
    """
    for provider in Provider:
        yield from _losses(provider, facts)
    yield from _closures(facts)


def takes_addresses(change: Change) -> bool:
    """Whether a Node loses an IP address by the change."""
    before, after = _sides(change)
    return bool(_ips(before) - _ips(after))


def closes_to_pods(change: Change) -> bool:
    """Whether a Node that accepts pods is closed to them. A Node on which nothing has been said is just joining."""
    before = change.before
    return change.after == UNROUTED and isinstance(before, NetworkCondition) and before.status != UNROUTED.status


_LOOK_AT: Mapping[Provider, str] = {
    Provider.CLOUD: "HCLOUD_NETWORK and HCLOUD_INSTANCES_ADDRESS_FAMILY",
    Provider.ROBOT: "ROBOT_FORWARD_INTERNAL_IPS and HCLOUD_INSTANCES_ADDRESS_FAMILY",
}


def _losses(provider: Provider, facts: Facts) -> Iterator[GuardResult]:
    """Changes by which Nodes of a provider lose addresses. Where no network is configured a joining Node loses the
    internal address that its kubelet reported. HCCM does the same, every cluster without a network starts that way, and
    it is reported as a consequence: it does not count."""
    in_network = facts.settings.network is not None
    losing = {
        change.owner: change
        for change in facts.plan.changes
        if takes_addresses(change) and (in_network or change.kind != ChangeKind.NODE_INITIALISE)
        if provider_behind(change, facts.snapshot) is provider
    }
    if not losing:
        return
    ours = {node.key for node, _ in nodes_of(provider, facts.snapshot, facts.settings)} | losing.keys()
    leaves_none = any(map(_leaves_the_network, losing.values()))
    value, limit = len(losing.keys() | _without(provider, facts, leaves_none=leaves_none)), _limit(len(ours))
    if value <= limit:
        return
    why = (
        f"{value} of {len(ours)} Nodes{' on Robot servers' if provider is Provider.ROBOT else ''} would be without an"
        f" address that they had or should have: check {_LOOK_AT[provider]}, and approve this if it was meant"
    )
    keys = tuple(sorted(change.key for change in losing.values()))
    yield GuardResult(GuardName.ADDRESS_BLAST_RADIUS, Verdict.HELD, keys, why, str(value), str(limit))


def _closures(facts: Facts) -> Iterator[GuardResult]:
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
    yield GuardResult(GuardName.ADDRESS_BLAST_RADIUS, Verdict.HELD, closing, why, str(value), str(limit))


def _limit(nodes: int) -> int:
    """A quarter, but one at least."""
    return max(1, nodes // 4)


def provider_behind(change: Change, snapshot: Snapshot) -> Provider | None:
    """The provider of the server of the Node that the change is about, of a joining Node that of the one that it will
    have; None for another cloud's, and for a change of something else."""
    if isinstance(change.after, NodeIdentity):
        return provider_of(change.after.provider_id)
    node = snapshot.node(change.owner)
    return provider_of(node.provider_id) if node else None


def _leaves_the_network(change: Change) -> bool:
    """Whether the Node had an internal address and has none afterwards."""
    before, after = _sides(change)
    return _has_internal(before) and not _has_internal(after)


def _without(provider: Provider, facts: Facts, *, leaves_none: bool) -> set[str]:
    """Keys of our Nodes of a provider that lose nothing by this plan, and count all the same: those of which too little
    is known, whose kubelets contradict it, and, where some would be without any internal address, those that are."""
    refused = {note.key for note in facts.plan.notes if note.kind is NoteKind.UNUSABLE_NODE_IP}
    return {
        node.key
        for node, server in nodes_of(provider, facts.snapshot, facts.settings)
        if _is_unknown(server, facts.snapshot)
        or (node.key in refused and _speaks_for_itself(node))
        or (leaves_none and provider is Provider.CLOUD and _is_outside(node, server, facts.snapshot))
    }


def _is_unknown(server: ServerKey, snapshot: Snapshot) -> bool:
    found = snapshot.find(server)
    return isinstance(found, Unknown) or (isinstance(found, Present) and bool(found.value.missing & _FIELDS))


def _is_outside(node: Node, server: ServerKey, snapshot: Snapshot) -> bool:
    """Whether the Node has no address in the network that is configured, as it lost it or never had one."""
    network = snapshot.network.value if isinstance(snapshot.network, Present) else None
    found = snapshot.find(server)
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
        case ChangeKind.NODE_ADDRESSES, tuple() as before, tuple() as after:
            return before, after
        case ChangeKind.NODE_INITIALISE, NodeIdentity(addresses=before), NodeIdentity(addresses=after):
            return before, after
    return (), ()


def _has_internal(addresses: tuple[object, ...]) -> bool:
    return any(isinstance(found, NodeAddress) and found.type == AddressType.INTERNAL_IP for found in addresses)


def _ips(addresses: tuple[object, ...]) -> set[str]:
    return {address.address for address in addresses if isinstance(address, NodeAddress) and address.type in _IPS}


def node_blast_radius(facts: Facts) -> Iterator[GuardResult]:
    """Deletions of Nodes are held when more servers are gone at once than by planned disruptions, and for the last Node
    of the control plane always."""
    for provider in Provider:
        deletions = [
            str(change.key)
            for change in facts.plan.changes
            if isinstance(change.before, LostNode) and change.before.proof.provider is provider
        ]
        if deletions:
            yield from _too_many(deletions, losses_of(provider, facts.snapshot, facts.settings), facts)


_ADVICE = "cordon Nodes before their servers are deleted, and approve these if it was meant"


def _too_many(deletions: list[str], losses: NodeLosses, facts: Facts) -> Iterator[GuardResult]:
    members = last_of_control_plane(facts.snapshot, facts.settings)
    last = {key for key in deletions if key in members}
    final = "no Node of the control plane would be left, and that is always for a person to approve"
    if losses.value > losses.limit:
        why = explain_losses(losses) + (f"; {final}" if last else "")
        yield GuardResult(
            GuardName.NODE_BLAST_RADIUS,
            Verdict.HELD,
            tuple(sorted({*(key for key in deletions if key in losses.lost), *last})),
            why,
            str(losses.value),
            str(losses.limit),
            due_in_s=None if last else eases_in_s(losses, facts.snapshot, facts.settings),
            advice=_ADVICE if last else f"{_ADVICE}; {explain_easing(facts.settings)}",
            end=None if last else end_of(losses, facts.snapshot, facts.settings),
        )
    elif last:
        limit = str(len(members) - 1)
        yield GuardResult(GuardName.NODE_BLAST_RADIUS, Verdict.HELD, tuple(sorted(last)), final, str(len(last)), limit)


def explain_losses(losses: NodeLosses) -> str:
    """Text: that so many servers are gone."""
    gone, nodes = len(losses.lost), losses.nodes
    of_them = "the only Node's server is" if nodes == 1 else f"the servers of {gone} of {nodes} Nodes are"
    doubt = f" (and {losses.unreadable} more could not be read)" if losses.unreadable else ""
    return f"{of_them} gone{doubt}, and nobody announced it"


def explain_easing(settings: Settings) -> str:
    """Text: how a hold ends by itself."""
    return f"what is silent for {settings.waits.given_up_after.total_seconds() / 60:g} minutes counts as announced"
