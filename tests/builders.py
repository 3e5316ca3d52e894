"""Builders of core values: valid defaults, so that a test names only the fields it is about."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from ipaddress import IPv4Address, IPv6Network
from typing import Any

from desired.model.key import ObjectKind
from desired.model.snapshot import (
    AddressType,
    Condition,
    Network,
    Node,
    NodeAddress,
    Readiness,
    Server,
    ServerStatus,
    Snapshot,
)
from desired.model.taint import Taint
from desired.model.workload import Container, Workload
from desired.names import TAINT_UNINITIALIZED
from desired.nodes.addresses import Others
from desired.plan.change import Change, LostNode, NodeIdentity, OutOfService, State
from desired.plan.evidence import AbsenceProof
from desired.plan.kinds import KINDS, ChangeKind, Verb
from desired.section import Absent, K, Present, Section, V
from desired.syntax.provider_id import Provider, ServerKey
from tests.support.keys import key_of

NOW = datetime(2026, 7, 1, 12, 0, tzinfo=UTC)
UNINITIALIZED = Taint(TAINT_UNINITIALIZED, "NoSchedule", "true")
CLUSTER_UID = "11111111-2222-3333-4444-555555555555"

WEB_1_ADDRESSES = (NodeAddress(AddressType.HOSTNAME, "web-1"), NodeAddress(AddressType.EXTERNAL_IP, "203.0.113.1"))
"""What a Node on ``a_server()`` gets without a network."""


SERVER_LABELS = {
    "beta.kubernetes.io/instance-type": "cpx32",
    "node.kubernetes.io/instance-type": "cpx32",
    "failure-domain.beta.kubernetes.io/zone": "fsn1-dc14",
    "topology.kubernetes.io/zone": "fsn1-dc14",
    "failure-domain.beta.kubernetes.io/region": "fsn1",
    "topology.kubernetes.io/region": "fsn1",
    "instance.hetzner.cloud/provided-by": "cloud",
}
"""What a Node on ``a_server()`` is labelled with."""


def a_node(
    name: str = "web-1",
    *,
    ready: Readiness = Readiness.TRUE,
    ready_since: datetime | None = None,
    heartbeat: datetime | None = None,
    **overrides: Any,
) -> Node:
    """A Node that nobody has claimed: no providerID, no taint, Ready."""
    readiness = Condition("Ready", ready.value, "Test", ready_since, heartbeat)
    defaults: dict[str, Any] = {
        "name": name,
        "uid": f"uid-{name}",
        "resource_version": "1",
        "created_at": NOW,
        "conditions": () if ready is Readiness.MISSING else (readiness,),
    }
    return Node(**defaults | overrides)


def a_joining_node(name: str = "web-1", **overrides: Any) -> Node:
    """A Node as a kubelet with ``--cloud-provider=external`` registers it."""
    return a_node(name, **{"taints": (UNINITIALIZED,), "ready": Readiness.FALSE} | overrides)


def a_settled_node(name: str = "web-1", server_id: int = 1, **overrides: Any) -> Node:
    """A Ready Node that was initialized as ``a_server(server_id, name)`` and needs nothing."""
    external = (NodeAddress(AddressType.EXTERNAL_IP, f"203.0.113.{server_id}"),) if server_id < 256 else ()
    settled: dict[str, Any] = {
        "provider_id": f"hcloud://{server_id}",
        "labels": SERVER_LABELS,
        "addresses": (NodeAddress(AddressType.HOSTNAME, name), *external),
    }
    return a_node(name, **settled | overrides)


def a_lost_node(name: str = "web-1", server_id: int = 1, **overrides: Any) -> Node:
    """A settled Node that has not been Ready for five minutes and is a day old: only its server decides on it."""
    silent: dict[str, Any] = {
        "ready": Readiness.UNKNOWN,
        "ready_since": NOW - timedelta(minutes=5),
        "created_at": NOW - timedelta(days=1),
    }
    return a_settled_node(name, server_id, **silent | overrides)


def a_server(server_id: int = 1, name: str = "web-1", **overrides: Any) -> Server:
    """A running server in Falkenstein with a public IPv4 and no private network."""
    defaults: dict[str, Any] = {
        "id": server_id,
        "name": name,
        "status": ServerStatus.RUNNING,
        "type": "cpx32",
        "location": "fsn1",
        "ipv4": IPv4Address(f"203.0.113.{server_id}") if server_id < 256 else None,
    }
    return Server(**defaults | overrides)


def a_robot_server(number: int = 321, name: str = "web-1", **overrides: Any) -> Server:
    """A Robot server in Falkenstein with a public IPv4, of which nobody has asked whether it is on."""
    defaults: dict[str, Any] = {
        "id": number,
        "name": name,
        "status": ServerStatus.UNKNOWN,
        "type": "AX41-NVMe",
        "location": "fsn1",
        "ipv4": IPv4Address(f"192.0.2.{number % 256}"),
        "provider": Provider.ROBOT,
        "zone": "fsn1-dc14",
    }
    return Server(**defaults | overrides)


def in_robot(number: int) -> ServerKey:
    """The key of a Robot server."""
    return ServerKey(Provider.ROBOT, number)


def in_cloud(server_id: int) -> ServerKey:
    """The key of a server of Hetzner Cloud."""
    return ServerKey(Provider.CLOUD, server_id)


def a_dual_stack_server(**overrides: Any) -> Server:
    """Server 1 with public addresses of both families and one address in network 4."""
    dual: dict[str, Any] = {
        "ipv6": IPv6Network("2001:db8:1::/64"),
        "private_ips": ((4, IPv4Address("10.0.0.2")),),
    }
    return a_server(**dual | overrides)


def a_network(network_id: int = 4, name: str = "private") -> Network:
    """A private network."""
    return Network(network_id, name)


def nodes_of(*nodes: Node) -> Section[str, Node]:
    """A complete list of Nodes."""
    return Section({node.name: node for node in nodes}, expected=len(nodes))


def servers_of(*servers: Server) -> Section[int, Server]:
    """A complete list of servers."""
    return Section({server.id: server for server in servers}, expected=len(servers))


def a_workload(
    name: str = "hcloud-cloud-controller-manager",
    images: Sequence[str] = ("docker.io/hetznercloud/hcloud-cloud-controller-manager:v1.30.1",),
    **overrides: Any,
) -> Workload:
    """HCCM's Deployment, as its chart makes it, with its one pod ready."""
    defaults: dict[str, Any] = {
        "kind": "Deployment",
        "namespace": "kube-system",
        "ready": 1,
        "containers": tuple(map(Container, images)),
    }
    return Workload(name=name, **defaults | overrides)


def workloads_of(*workloads: Workload) -> Section[str, Workload]:
    """A complete list of what runs beside us."""
    return Section({workload.key: workload for workload in workloads})


def incomplete(section: Section[K, V], why: str = "page 2 timed out") -> Section[K, V]:
    """The same section with a gap."""
    return replace(section, complete=False, why_incomplete=why)


def a_snapshot(
    nodes: Iterable[Node] = (),
    servers: Iterable[Server] = (),
    *,
    nodes_section: Section[str, Node] | None = None,
    servers_section: Section[int, Server] | None = None,
    **overrides: Any,
) -> Snapshot:
    """A complete reading of these Nodes and servers, or else of the sections given, in a cluster with a known UID."""
    defaults: dict[str, Any] = {
        "taken_at": NOW,
        "cluster_uid": Present(CLUSTER_UID),
        "nodes": nodes_of(*nodes) if nodes_section is None else nodes_section,
        "servers": servers_of(*servers) if servers_section is None else servers_section,
    }
    return Snapshot(**defaults | overrides)


NOBODY = Others(a_snapshot())
"""No other Node, and no other server."""


def an_identity(provider_id: str | None = "hcloud://1", **overrides: Any) -> NodeIdentity:
    """A side of a change: the state of a Node that is server 1."""
    defaults: dict[str, Any] = {
        "labels": {"topology.kubernetes.io/region": "fsn1"},
        "taints": (),
        "addresses": WEB_1_ADDRESSES,
    }
    return NodeIdentity(provider_id, **defaults | overrides)


def a_loss(node: Node | None = None, server_id: int = 1) -> LostNode:
    """The left side of the deletion of a Node, by default of ``a_lost_node()``."""
    lost = node or a_lost_node()
    identity = NodeIdentity(lost.provider_id, lost.labels, lost.taints, lost.addresses)
    return LostNode(identity, AbsenceProof.of(lost, in_cloud(server_id)))


_SIDES: Mapping[str, tuple[State | None, State | None]] = {
    "node.addresses": (WEB_1_ADDRESSES[:1], WEB_1_ADDRESSES),
    "node.labels": ({}, {"topology.kubernetes.io/region": "fsn1"}),
    "node.shutdown_taint": (False, True),
}
"""Both sides of a change of these kinds. Other kinds get Nodes' identities."""
_REMOVED: Mapping[str, tuple[State | None, State | None]] = {
    "node.delete": (a_loss(), None),
    "node.out_of_service_taint": (None, OutOfService(a_loss().proof)),
}
"""Both sides of a removal of these kinds."""


def a_change(key: str = "node/web-1", kind: str = "node.initialise", **overrides: Any) -> Change:
    """A change of any kind: its class is the first that the kind may have, its sides fit that class."""
    verb: Verb = overrides.get("verb") or min(KINDS[kind].verbs, key=list(Verb).index)
    by_verb: Mapping[Verb, tuple[State | None, State | None]] = {
        Verb.ADD: (None, an_identity()),
        Verb.MODIFY: (an_identity(labels={}), an_identity()),
        Verb.REMOVE: _REMOVED.get(kind, (an_identity(), None)),
    }
    before, after = _SIDES.get(kind, by_verb[verb])
    defaults: dict[str, Any] = {
        "verb": verb,
        "before": before,
        "after": after,
        "reason": "a test wants it",
        "owner": key,
    }
    if key_of(key).kind is ObjectKind.ROUTE:
        defaults["cloud_id"] = int(key_of(key).name)
    values = defaults | overrides
    return Change(key_of(key), ChangeKind(kind), **values | {"owner": key_of(values["owner"])})


def a_fleet(*nodes: Node, gone: Collection[int] = (), **overrides: Any) -> Snapshot:
    """A complete reading of Nodes of the cloud and of their servers, but for those ``gone``: asked for by id, none of
    them is there."""
    ids = {node.name: int((node.provider_id or "").removeprefix("hcloud://")) for node in nodes}
    servers = [a_server(server_id, name) for name, server_id in ids.items() if server_id not in gone]
    return a_snapshot(nodes, servers, **{"confirmations": dict.fromkeys(gone, Absent())} | overrides)
