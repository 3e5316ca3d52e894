"""Ownership of Nodes, decided before anything is compared: only what is ours is ever changed."""

from collections.abc import Iterator
from enum import StrEnum

from desired.model.settings import Settings
from desired.model.snapshot import Node, Snapshot
from desired.syntax.provider_id import CloudID, RobotID, parse_provider_id


class Provider(StrEnum):
    """The two clouds of Hetzner. Each has credentials, and so an anchor, of its own."""

    CLOUD = "Cloud"
    ROBOT = "Robot"


def provider_of(provider_id: str | None) -> Provider | None:
    """The provider that a providerID belongs to; None when it is not one of ours."""
    match parse_provider_id(provider_id or ""):
        case CloudID():
            return Provider.CLOUD
        case RobotID():
            return Provider.ROBOT
    return None


def is_ignored(node: Node, settings: Settings) -> bool:
    """Whether ``--ignore-nodes`` excludes the Node: no change concerns it, no guard counts it."""
    return settings.ignore_nodes is not None and settings.ignore_nodes.matches(node.labels)


def cloud_nodes(snapshot: Snapshot, settings: Settings) -> Iterator[tuple[Node, int]]:
    """Our Nodes of Hetzner Cloud with the ids of their servers, whether or not these exist; in the order of names."""
    for node in snapshot.nodes:
        provider_id = parse_provider_id(node.provider_id or "")
        if isinstance(provider_id, CloudID) and not is_ignored(node, settings):
            yield node, provider_id.server_id
