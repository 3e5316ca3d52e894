"""One reading of both clouds, side by side: the snapshot that a pass decides from, and what went wrong on the way."""

from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace

from actuators.clients.hetzner import HetznerReader
from actuators.clients.kubernetes import KubernetesReader
from actuators.errors import ApiError
from desired.settings import Settings
from desired.snapshot import Snapshot
from reconciler.observe.confirm import Confirmer
from reconciler.observe.hetzner import observe_network, observe_servers
from reconciler.observe.kubernetes import observe_cluster_uid, observe_nodes


@dataclass(frozen=True, slots=True)
class Eyes:
    """What a pass reads with."""

    kubernetes: KubernetesReader
    hetzner: HetznerReader
    confirmer: Confirmer


@dataclass(frozen=True, slots=True)
class Observation:
    """A snapshot, and for each part that could not be read as it should be, why."""

    snapshot: Snapshot
    failures: Mapping[str, ApiError] = field(default_factory=dict)
    """Part (``servers``, ``network``) → the error behind it."""


def observe_world(eyes: Eyes, settings: Settings) -> Observation:
    """Everything, read once. Raises an ApiError when the Nodes cannot be listed: without them nothing can be said.

    Hetzner's absence is no error here: its sections are incomplete, and the guards know what hangs on that.
    """
    with ThreadPoolExecutor(4, thread_name_prefix="observe") as pool:
        nodes = pool.submit(observe_nodes, eyes.kubernetes)
        uid = pool.submit(observe_cluster_uid, eyes.kubernetes)
        servers = pool.submit(observe_servers, eyes.hetzner)
        network = pool.submit(observe_network, eyes.hetzner, settings.network)
    node_section, taken_at = nodes.result()
    server_section, servers_error = servers.result()
    network_found, network_error = network.result()
    errors = {"servers": servers_error, "network": network_error}
    snapshot = Snapshot(taken_at, uid.result(), node_section, server_section, network_found)
    return Observation(
        eyes.confirmer.confirm(snapshot, settings),
        {part: error for part, error in errors.items() if error is not None},
    )


def observe_nodes_again(eyes: Eyes, before: Observation) -> Observation:
    """``before`` with the Nodes read anew, as they are all that changes to Nodes touch. Raises an ApiError.

    Nodes that have registered since are left for the next pass: the servers were read before there were any of them.
    """
    nodes, taken_at = observe_nodes(eyes.kubernetes)
    first = before.snapshot.nodes
    known = {node.uid for node in first}
    items = {name: node for name, node in nodes.items.items() if node.uid in known}
    names = first.items.keys() | first.unreadable.keys()
    unreadable = {name: why for name, why in nodes.unreadable.items() if name in names}
    nodes = replace(nodes, items=items, unreadable=unreadable)
    return replace(before, snapshot=replace(before.snapshot, nodes=nodes, taken_at=taken_at))
