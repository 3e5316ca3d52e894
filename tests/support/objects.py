"""Raw API objects for end-to-end tests: Nodes as kubelets register them, and the servers behind them."""

from typing import Any

from tests.builders import SERVER_LABELS

UNINITIALIZED = {"key": "node.cloudprovider.kubernetes.io/uninitialized", "value": "true", "effect": "NoSchedule"}

LONG_AGO = "2026-01-01T00:00:00Z"


def joining_node(name: str, *, taints: tuple[dict[str, str], ...] = (), **annotations: str) -> dict[str, Any]:
    """A Node just registered by a kubelet with ``--cloud-provider=external``."""
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {
            "name": name,
            "labels": {"kubernetes.io/hostname": name, "example.com/team": "blue"},
            "annotations": _keys(annotations),
        },
        "spec": {"taints": [UNINITIALIZED, *taints]},
        "status": {
            "addresses": [{"type": "Hostname", "address": name}],
            "conditions": [condition("Ready", "False")],
        },
    }


def settled_node(
    name: str, server_id: int, ready: str = "True", *, since: str = LONG_AGO, **labels: str
) -> dict[str, Any]:
    """A Node that was initialized as ``server(server_id, name)`` long ago and needs nothing."""
    node = joining_node(name)
    node["metadata"]["labels"] |= SERVER_LABELS | _keys(labels)
    node["spec"] = {"providerID": f"hcloud://{server_id}"}
    node["status"]["addresses"].append({"type": "ExternalIP", "address": public_ipv4(server_id)})
    node["status"]["conditions"] = [condition("Ready", ready, since)]
    return node


def condition(kind: str, status: str, since: str = LONG_AGO) -> dict[str, str]:
    """A Node condition that has been so since then, by default since the start of the year, without a heartbeat: nobody
    would refresh it."""
    return {
        "type": kind,
        "status": status,
        "reason": "Test",
        "message": "as the test says",
        "lastTransitionTime": since,
    }


def server(server_id: int, name: str, **changes: Any) -> dict[str, Any]:
    """A server with a public IPv4, as a world file has it."""
    return {
        "id": server_id,
        "name": name,
        "server_type": "cpx32",
        "location": "fsn1",
        "public_net": {"ipv4": {"ip": public_ipv4(server_id)}},
        **changes,
    }


def public_ipv4(server_id: int) -> str:
    """The public address that ``server`` gives it."""
    return f"198.51.{server_id // 250}.{server_id % 250 + 1}"


def _keys(named: dict[str, str]) -> dict[str, str]:
    """Keyword arguments as keys of labels or annotations: ``example_com__my_key`` is ``example-com/my-key``."""
    return {key.replace("__", "/").replace("_", "-"): value for key, value in named.items()}
