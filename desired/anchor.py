"""Does the token see the project of this cluster? Its nodes are the anchor.

A token of another project looks like a healthy, empty project: HTTP 200 and an empty list. No call of Hetzner's API
names the project, so the cluster's own Nodes have to be found in it (design section 6, ``project-anchor``).
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum

from desired.announced import is_announced
from desired.names import LABEL_CLUSTER_UID, LABEL_SERVICE_UID
from desired.ownership import cloud_nodes
from desired.route import Route, route_key
from desired.routes.pod_cidrs import destinations_of
from desired.section import Absent, Present
from desired.settings import Settings
from desired.snapshot import AddressType, Readiness, Snapshot


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
    unreadable: int = 0
    """Nodes that arrived and could not be read: they may be Ready, and not found."""

    @property
    def needed(self) -> int:
        """At least half of them have to be found."""
        return (self.total + 1) // 2

    @property
    def is_certain(self) -> bool:
        """Whether at least half are found even if nothing unreadable is: what a removal needs."""
        return self.found >= (self.total + self.unreadable + 1) // 2

    @property
    def state(self) -> AnchorState:
        """Whether the token sees this cluster's project."""
        if self.total == 0:
            return AnchorState.NONE
        if self.found >= self.needed:
            return AnchorState.HOLDS
        return AnchorState.VIOLATED if self.found + self.unknown < self.needed else AnchorState.UNDETERMINED


def anchor_of_cloud(snapshot: Snapshot, settings: Settings) -> Anchor:
    """The anchor of Hetzner Cloud, over the Ready, unannounced Nodes: the servers of others may rightly be gone."""
    total = found = unknown = 0
    for node, server_id in cloud_nodes(snapshot, settings):
        ready = node.ready is Readiness.TRUE
        if not ready or is_announced(node, snapshot, settings.waits.given_up_after):
            continue
        total += 1
        match snapshot.servers.find(server_id):
            case Present():
                found += 1
            case Absent():
                pass
            case _:
                unknown += 1
    return Anchor(total, found, unknown, len(snapshot.nodes.unreadable))


def witnesses(snapshot: Snapshot, settings: Settings) -> Mapping[str, str]:
    """What proves the project when no Node is Ready: witness → one word on it; empty when there is none.

    A server of any of our Nodes, a load balancer with our cluster's label or a living Service's UID, the configured
    network when it was given by its id, as a name may exist twice, or a route in it to pods of one of our Nodes.
    Clusters made from one template have the same pod CIDRs, so that its gateway has to be the Node's as well, if that
    reports any.
    """
    seen: dict[str, str] = {}
    for node, server_id in cloud_nodes(snapshot, settings):
        if isinstance(snapshot.servers.find(server_id), Present):
            seen[node.key] = "server"
    uids = {service.uid for service in snapshot.services or ()}
    cluster = snapshot.cluster_uid.value if isinstance(snapshot.cluster_uid, Present) else None
    for balancer in snapshot.load_balancers or ():
        labels = balancer.spec.labels
        ours = cluster is not None and labels.get(LABEL_CLUSTER_UID) == cluster
        if ours or (LABEL_CLUSTER_UID not in labels and labels.get(LABEL_SERVICE_UID) in uids):
            seen[balancer.key] = "load balancer"
    if isinstance(snapshot.network, Present) and snapshot.network.value:
        network_id = str(snapshot.network.value.id)
        if (settings.network or "").lstrip("0") == network_id:  # a number may also be a network's name
            seen[f"network/{network_id}"] = "network"
        for route in _routes_to_pods(snapshot, settings):
            seen[route_key(snapshot.network.value.id, route.destination)] = "route"
    return seen


def _routes_to_pods(snapshot: Snapshot, settings: Settings) -> Iterator[Route]:
    gateways = {
        destination: {address.address for address in node.addresses if address.type is AddressType.INTERNAL_IP}
        for node, _ in cloud_nodes(snapshot, settings)
        for destination in destinations_of(node)
    }
    for route in snapshot.routes or ():
        known = gateways.get(route.destination)
        if known is not None and (not known or str(route.gateway) in known):
            yield route
