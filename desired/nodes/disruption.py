"""Planned disruption: whether it was announced that a Node goes away, so that its loss is not unplanned."""

from dataclasses import dataclass
from datetime import timedelta

from desired.model.clocks import shown_moment
from desired.model.settings import Settings
from desired.model.snapshot import Node, Readiness, Snapshot
from desired.names import TAINTS_OF_AUTOSCALERS
from desired.nodes.matching import nodes_of
from desired.rules import nodes as rules
from desired.rules.rule import Decided
from desired.section import Absent
from desired.syntax.provider_id import Provider, ServerKey, server_key


def is_planned_disruption(node: Node, snapshot: Snapshot, given_up_after: timedelta) -> bool:
    """Whether the Node is cordoned, being deleted, tainted by an autoscaler, or given up."""
    return planned_disruption(node, snapshot, given_up_after) is not None


def drained_servers(snapshot: Snapshot, given_up_after: timedelta) -> frozenset[ServerKey]:
    """The servers of which each Node was announced to go; without those that have no Node."""
    drained: dict[ServerKey, bool] = {}
    for node in snapshot.nodes:
        if (server := server_key(node.provider_id)) is not None:
            drained[server] = drained.get(server, True) and is_planned_disruption(node, snapshot, given_up_after)
    return frozenset(server for server, is_drained in drained.items() if is_drained)


def planned_disruption(node: Node, snapshot: Snapshot, given_up_after: timedelta) -> Decided[bool] | None:
    """How the Node's disruption was announced; None when it was not.

    A Node counts as given up when it was not Ready, and its kubelet silent, for ``given_up_after``: a kubelet that
    reports False is alive, and one with a heartbeat in the future is not silent, however short the wait. Silence
    announces nothing while the clocks differ: an API server that is an hour ahead would give up every Node.
    """
    if node.deleted_at is not None:
        return Decided(True, rules.BEING_DELETED)
    if node.unschedulable:
        return Decided(True, rules.CORDONED)
    tainted = sorted(taint.key for taint in node.taints if taint.key in TAINTS_OF_AUTOSCALERS)
    if tainted:
        return Decided(True, rules.TAINTED, {"taint": tainted[0]})
    is_given_up = node.ready is not Readiness.TRUE and node.unheard_for(snapshot.taken_at) >= given_up_after
    if is_given_up and not snapshot.clocks.differ:
        return Decided(True, rules.GIVEN_UP, {"since": shown_moment(node.ready_since)})
    return None


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
