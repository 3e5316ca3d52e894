"""Planned disruption: whether it was announced that a Node goes away, so that its loss is not unplanned."""

from dataclasses import dataclass

from desired.model.clocks import shown_moment
from desired.model.settings import Settings
from desired.model.snapshot import Node, Readiness, Snapshot
from desired.names import TAINTS_OF_AUTOSCALERS
from desired.nodes.matching import nodes_of
from desired.rules import nodes as rules
from desired.rules.rule import Reason
from desired.section import Absent
from desired.syntax.provider_id import Provider, ServerKey, server_key


def disruption_of(node: Node, snapshot: Snapshot, settings: Settings) -> Reason | None:
    """How it was announced that the Node goes: it is cordoned, being deleted, tainted by an autoscaler, or given up;
    None when it was not.

    A Node counts as given up when it was not Ready, and its kubelet silent, for ``--given-up-after``: a kubelet that
    reports False is alive, and one with a heartbeat in the future is not silent, however short the wait. Silence
    announces nothing while the clocks differ: an API server that is an hour ahead would give up every Node.
    """
    if node.deleted_at is not None:
        return rules.BEING_DELETED.because()
    if node.unschedulable:
        return rules.CORDONED.because()
    tainted = sorted(taint.key for taint in node.taints if taint.key in TAINTS_OF_AUTOSCALERS)
    if tainted:
        return rules.TAINTED.because(taint=tainted[0])
    is_silent = node.unheard_for(snapshot.taken_at) >= settings.waits.given_up_after
    if node.ready is not Readiness.TRUE and is_silent and not snapshot.clocks.differ:
        return rules.GIVEN_UP.because(since=shown_moment(node.ready_since))
    return None


def drained_servers(snapshot: Snapshot, settings: Settings) -> frozenset[ServerKey]:
    """The servers of which each Node was announced to go; without those that have no Node."""
    staying = {server_key(node.provider_id) for node in snapshot.nodes if not disruption_of(node, snapshot, settings)}
    named = {server_key(node.provider_id) for node in snapshot.nodes}
    return frozenset(server for server in named - staying if server is not None)


def is_going_away(node: Node) -> bool:
    """Whether a Node without a server is to be deleted: not while its kubelet reports, nor twice."""
    return node.ready is not Readiness.TRUE and node.deleted_at is None


@dataclass(frozen=True, slots=True)
class NodeLosses:
    """The Nodes of ours of one provider, and those among them whose servers are absent without a planned disruption."""

    nodes: int
    """With those of the last hour that are gone."""
    lost: frozenset[str]
    """Keys."""
    unreadable: int = 0
    """Nodes that arrived and could not be read, or whose servers could not: they may be lost as well, so that knowing
    less never lets more go."""
    lately: int = 0
    """Nodes by which there are less than within the last hour, without those that were announced to go."""

    @property
    def value(self) -> int:
        """The measured value: how many are lost, at worst."""
        return len(self.lost) + self.unreadable + self.lately


def losses_of(
    provider: Provider, snapshot: Snapshot, settings: Settings, peak: frozenset[str] = frozenset()
) -> NodeLosses:
    """The losses of a provider, proven or not. ``peak`` are the keys of the most Nodes of the last hour."""
    ours = list(nodes_of(provider, snapshot, settings))
    planned = {node.key for node, _ in ours if disruption_of(node, snapshot, settings)}
    lost = (node.key for node, server in ours if isinstance(snapshot.find(server), Absent) and node.key not in planned)
    servers = snapshot.servers_of(provider)
    unreadable = sum(server.id in servers.unreadable for _, server in ours) + len(snapshot.nodes.unreadable)
    nodes = len(ours) + len(snapshot.nodes.unreadable)
    most = max(nodes, len(peak | planned))
    return NodeLosses(most, frozenset(lost), unreadable, most - nodes)
