"""Does the token see the project of this cluster? Its nodes are the anchor.

A token of another project looks like a healthy, empty project: HTTP 200 and an empty list. No call of Hetzner's API
names the project, so the cluster's own Nodes have to be found in it (design section 6, ``project-anchor``).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from desired.names import TAINT_CLUSTER_AUTOSCALER, TAINT_KARPENTER_DISRUPTED
from desired.provider_id import CloudID, RobotID, parse_provider_id
from desired.section import Absent, Present
from desired.snapshot import Node, Readiness, Snapshot

_ANNOUNCING = frozenset({TAINT_CLUSTER_AUTOSCALER, TAINT_KARPENTER_DISRUPTED})


class Provider(StrEnum):
    """The two clouds of Hetzner. Each has credentials, and so an anchor, of its own."""

    CLOUD = "Cloud"
    ROBOT = "Robot"


class AnchorState(StrEnum):
    """What the anchor says."""

    HOLDS = "holds"
    VIOLATED = "violated"
    UNDETERMINED = "undetermined"
    """Too little could be read to say."""
    NONE = "none"
    """No Ready Node of ours: the cluster is being born, or all of it is down."""


@dataclass(frozen=True, slots=True)
class Anchor:
    """How many of a provider's Ready, unannounced Nodes were found in it."""

    total: int
    found: int
    unknown: int

    @property
    def needed(self) -> int:
        """At least half of them have to be found."""
        return (self.total + 1) // 2

    @property
    def state(self) -> AnchorState:
        """Whether the token sees this cluster's project."""
        if self.total == 0:
            return AnchorState.NONE
        if self.found >= self.needed:
            return AnchorState.HOLDS
        return AnchorState.VIOLATED if self.found + self.unknown < self.needed else AnchorState.UNDETERMINED


def provider_of(provider_id: str | None) -> Provider | None:
    """Which provider a providerID belongs to; None when it is not one of ours."""
    match parse_provider_id(provider_id or ""):
        case CloudID():
            return Provider.CLOUD
        case RobotID():
            return Provider.ROBOT
    return None


def is_announced(node: Node) -> bool:
    """Whether somebody has announced that this Node goes away: cordoned, being deleted, or tainted by an autoscaler."""
    return node.unschedulable or node.deleted_at is not None or any(taint.key in _ANNOUNCING for taint in node.taints)


def anchor_of_cloud(snapshot: Snapshot) -> Anchor:
    """The anchor of Hetzner Cloud, over the Ready, unannounced Nodes: the servers of others may rightly be gone."""
    total = found = unknown = 0
    for node in snapshot.nodes:
        if node.ready is not Readiness.TRUE or is_announced(node):
            continue
        provider_id = parse_provider_id(node.provider_id or "")
        if not isinstance(provider_id, CloudID):
            continue
        total += 1
        match snapshot.servers.find(provider_id.server_id):
            case Present():
                found += 1
            case Absent():
                pass
            case _:
                unknown += 1
    return Anchor(total, found, unknown)


def witnesses(snapshot: Snapshot, *, network_by_id: bool) -> Mapping[str, str]:
    """What proves the project when no Node is Ready: witness → one word on it; empty when there is none.

    A server of any of our Nodes, or the configured network when it was given by its id: a name may exist twice.
    """
    seen: dict[str, str] = {}
    for node in snapshot.nodes:
        provider_id = parse_provider_id(node.provider_id or "")
        if isinstance(provider_id, CloudID) and isinstance(snapshot.servers.find(provider_id.server_id), Present):
            seen[node.key] = "server"
    if network_by_id and isinstance(snapshot.network, Present) and snapshot.network.value:
        seen[f"network/{snapshot.network.value.id}"] = "network"
    return seen
