"""Raw API objects for end-to-end tests: Nodes as kubelets register them, and the servers behind them."""

from typing import Any

UNINITIALIZED = {"key": "node.cloudprovider.kubernetes.io/uninitialized", "value": "true", "effect": "NoSchedule"}


def joining_node(name: str, *, taints: tuple[dict[str, str], ...] = (), **annotations: str) -> dict[str, Any]:
    """A Node just registered by a kubelet with ``--cloud-provider=external`` (nodes-and-routes 4.1)."""
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {
            "name": name,
            "labels": {"kubernetes.io/hostname": name, "example.com/team": "blue"},
            "annotations": {key.replace("__", "/").replace("_", "-"): value for key, value in annotations.items()},
        },
        "spec": {"taints": [UNINITIALIZED, *taints]},
        "status": {
            "addresses": [{"type": "Hostname", "address": name}],
            "conditions": [condition("Ready", "False")],
        },
    }


def settled_node(name: str, server_id: int, ready: str = "True") -> dict[str, Any]:
    """A Node that was initialised long ago."""
    node = joining_node(name)
    node["spec"] = {"providerID": f"hcloud://{server_id}"}
    node["status"]["conditions"] = [condition("Ready", ready)]
    return node


def condition(kind: str, status: str) -> dict[str, str]:
    """A Node condition that has been so since the start of the year."""
    time = "2026-01-01T00:00:00Z"
    return {
        "type": kind,
        "status": status,
        "reason": "Test",
        "message": "as the test says",
        "lastHeartbeatTime": time,
        "lastTransitionTime": time,
    }


def server(server_id: int, name: str, **changes: Any) -> dict[str, Any]:
    """A server with a public IPv4, as a world file has it."""
    ip = {"ip": f"198.51.{server_id // 250}.{server_id % 250 + 1}"}
    return {
        "id": server_id,
        "name": name,
        "server_type": "cpx32",
        "location": "fsn1",
        "public_net": {"ipv4": ip},
        **changes,
    }
