"""Builders of core values: valid defaults, so that a test names only the fields it is about."""

from collections.abc import Iterable
from dataclasses import replace
from datetime import UTC, datetime
from ipaddress import IPv4Address, IPv6Network
from typing import Any

from desired.change import Change, NodeIdentity
from desired.kinds import KINDS, Verb
from desired.names import TAINT_UNINITIALIZED
from desired.section import K, Present, Section, V
from desired.snapshot import AddressType, Network, Node, NodeAddress, Readiness, Server, ServerStatus, Snapshot, Taint

NOW = datetime(2026, 7, 1, 12, 0, tzinfo=UTC)
UNINITIALIZED = Taint(TAINT_UNINITIALIZED, "NoSchedule", "true")
CLUSTER_UID = "11111111-2222-3333-4444-555555555555"

WEB_1_ADDRESSES = (NodeAddress(AddressType.HOSTNAME, "web-1"), NodeAddress(AddressType.EXTERNAL_IP, "203.0.113.1"))
"""What a Node on ``a_server()`` gets without a network."""


def a_node(name: str = "web-1", **overrides: Any) -> Node:
    """A Node that nobody has claimed: no providerID, no taint, Ready."""
    defaults: dict[str, Any] = {
        "name": name,
        "uid": f"uid-{name}",
        "resource_version": "1",
        "created_at": NOW,
        "ready": Readiness.TRUE,
    }
    return Node(**defaults | overrides)


def a_joining_node(name: str = "web-1", **overrides: Any) -> Node:
    """A Node as a kubelet with ``--cloud-provider=external`` registers it (nodes-and-routes 4.1)."""
    return a_node(name, **{"taints": (UNINITIALIZED,), "ready": Readiness.FALSE} | overrides)


def a_settled_node(name: str = "web-1", server_id: int = 1, **overrides: Any) -> Node:
    """A Ready Node that was initialised as a cloud server."""
    return a_node(name, **{"provider_id": f"hcloud://{server_id}"} | overrides)


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


def an_identity(provider_id: str | None = "hcloud://1", **overrides: Any) -> NodeIdentity:
    """A side of a change: the state of a Node that is server 1."""
    defaults: dict[str, Any] = {
        "labels": {"topology.kubernetes.io/region": "fsn1"},
        "taints": (),
        "addresses": WEB_1_ADDRESSES,
    }
    return NodeIdentity(provider_id, **defaults | overrides)


def a_change(key: str = "node/web-1", kind: str = "node.initialise", **overrides: Any) -> Change:
    """A change of any kind: its class is the first that the kind may have, its sides fit that class."""
    verb: Verb = overrides.get("verb") or min(KINDS[kind].verbs, key=list(Verb).index)
    defaults: dict[str, Any] = {
        "verb": verb,
        "before": {Verb.ADD: None, Verb.MODIFY: an_identity(labels={}), Verb.REMOVE: an_identity()}[verb],
        "after": None if verb is Verb.REMOVE else an_identity(),
        "reason": "a test wants it",
        "owner": key,
    }
    return Change(key, kind, **defaults | overrides)
