"""What is decided on one Node in a small world."""

from collections.abc import Mapping
from typing import Any

from desired.model.settings import Settings
from desired.model.snapshot import Node, Server
from desired.nodes.addresses import DesiredAddresses, choose_hostname, desired_addresses
from desired.nodes.labels import Labels, desired_labels
from desired.nodes.node import DesiredNode, NodeRules, UnmanagedNode
from desired.plan.notes import Note
from tests.builders import NOBODY, a_server, a_settled_node, a_snapshot


def decide(
    node: Node, server: Server | None = None, settings: Settings | None = None, **world: Any
) -> tuple[DesiredNode, tuple[Note, ...]]:
    """What is decided on a Node beside this server, and notes on it. ``world`` is what else the snapshot has."""
    snapshot = a_snapshot([node], [] if server is None else [server], **world)
    wanted = NodeRules(snapshot, settings or Settings()).decide(node)
    return wanted, wanted.notes


def managed(nodes: Mapping[str, DesiredNode]) -> Mapping[str, DesiredNode]:
    """Those of which something is wanted, or that are kept in sync."""
    return {name: node for name, node in nodes.items() if not isinstance(node, UnmanagedNode)}


def labels_of(server: Server | None = None) -> Labels:
    """The labels of a Node on server 1, or another one, that nothing is odd about."""
    return desired_labels(server or a_server(), {}, Settings(), joins=False)


def addresses_of(server: Server | None = None) -> DesiredAddresses:
    server = server or a_server()
    node, snapshot, settings = a_settled_node(), a_snapshot(), Settings()
    hostname = choose_hostname(node, server, NOBODY, joins=False)
    addresses = desired_addresses(node, server, hostname, snapshot, settings, NOBODY)
    assert isinstance(addresses, DesiredAddresses)
    return addresses
