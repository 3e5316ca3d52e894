"""How many Nodes may go at once without a person's word (design section 6, ``node-blast-radius``).

Measured on the state of the world and not on one plan, so that it means the same in one pass as in ten small ones.
"""

from dataclasses import dataclass

from desired.announced import is_announced
from desired.clocks import LOOK_AGAIN_S
from desired.names import LABEL_CONTROL_PLANE
from desired.ownership import cloud_nodes
from desired.section import Absent
from desired.settings import Settings
from desired.snapshot import Node, Readiness, Snapshot


@dataclass(frozen=True, slots=True)
class NodeLosses:
    """Our Nodes of one provider, and those among them whose servers are absent though nobody announced it."""

    nodes: int
    lost: frozenset[str]
    """Keys."""
    unreadable: int = 0
    """Nodes that arrived and could not be read, or whose servers could not: they may be lost as well, so that knowing
    less never lets more go."""

    @property
    def value(self) -> int:
        """What is measured: how many are lost, at worst."""
        return len(self.lost) + self.unreadable

    @property
    def limit(self) -> int:
        """How many of them may be lost: none of a single Node, else a quarter, but one at least."""
        return 0 if self.nodes == 1 else max(1, self.nodes // 4)


def cloud_losses(snapshot: Snapshot, settings: Settings) -> NodeLosses:
    """The losses of Hetzner Cloud, proven or not."""
    ours = list(cloud_nodes(snapshot, settings))
    given_up_after = settings.waits.given_up_after
    lost = (
        node.key
        for node, server_id in ours
        if isinstance(snapshot.servers.find(server_id), Absent) and not is_announced(node, snapshot, given_up_after)
    )
    unreadable = sum(server_id in snapshot.servers.unreadable for _, server_id in ours) + len(snapshot.nodes.unreadable)
    return NodeLosses(len(ours) + len(snapshot.nodes.unreadable), frozenset(lost), unreadable)


def eases_in_s(losses: NodeLosses, snapshot: Snapshot, settings: Settings) -> float | None:
    """Seconds until the next lost Node counts as announced, for it was silent for so long; None when all are Ready.

    After that there is one less, and what is held may not be any more. Nobody knows when the clocks agree again.
    """
    if snapshot.clocks.differ:
        return LOOK_AGAIN_S
    silent = (node for node in snapshot.nodes if node.key in losses.lost and node.ready is not Readiness.TRUE)
    left = (settings.waits.given_up_after - (snapshot.taken_at - node.heard_at) for node in silent)
    return min((wait.total_seconds() for wait in left), default=None)


def is_control_plane(node: Node) -> bool:
    """Whether the Node belongs to the control plane, by either of its labels."""
    return any(key in node.labels for key in LABEL_CONTROL_PLANE)


def last_of_control_plane(snapshot: Snapshot, settings: Settings) -> frozenset[str]:
    """Keys of the control plane's Nodes when each one has lost its server, announced or not, or is being deleted; else
    empty.

    A Node that is ignored, another cloud's, or of which nothing is known counts as one that stays.
    """
    absent = {
        node.key
        for node, server_id in cloud_nodes(snapshot, settings)
        if isinstance(snapshot.servers.find(server_id), Absent)
    }
    members = {node.key: node for node in snapshot.nodes if is_control_plane(node)}
    stays = any(node.key not in absent and node.deleted_at is None for node in members.values())
    return frozenset() if stays else frozenset(members)
