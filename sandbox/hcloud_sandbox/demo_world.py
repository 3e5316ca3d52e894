"""World of a demo, and of a sandbox without a world file: a small cluster with drift.

Of four Nodes that ran, one server was resized and one deleted; two Nodes have just joined, and one has a name that no
server has. One Service has just been created, and from the load balancer of another somebody removed a target. The
network has routes to the pods of the Nodes that ran: the route to the deleted server leads nowhere by now. The joining
Nodes have none yet, and one route is somebody else's.

With a dedicated server, a Node on it has just joined as well, and the cluster has no pod routes, which Hetzner's
controllers refuse beside Robot.
"""

from datetime import datetime, timedelta
from typing import Any

_UNINITIALIZED = {"key": "node.cloudprovider.kubernetes.io/uninitialized", "value": "true", "effect": "NoSchedule"}
_UNREACHABLE = {"key": "node.kubernetes.io/unreachable", "effect": "NoSchedule"}
_REASONS = {"True": "KubeletReady", "False": "KubeletNotReady", "Unknown": "NodeStatusUnknown"}
"""Status of the Ready condition → its reason."""
_NETWORK = 4711
CLUSTER_CIDR = "10.244.0.0/16"
"""What ``--cluster-cidr`` has to be for this cluster."""
_VPN = {"destination": "10.8.0.0/24", "gateway": "10.0.0.254"}
"""A route to an office: none of the cluster's."""
_NODE_INFO = {
    "kubeletVersion": "v1.36.3",
    "osImage": "Ubuntu 24.04",
    "kernelVersion": "6.8.0",
    "containerRuntimeVersion": "containerd://2.1.4",
    "operatingSystem": "linux",
    "architecture": "amd64",
}
"""What all kubelets report of their machines."""
_ANNOTATION = "load-balancer.hetzner.cloud"
_CONFIG_MAPS = ("hcloud-reconciler", "hcloud-reconciler-status")
"""Those that an installation brings: what is remembered, and what is published."""
_API_UID = "6a1f4d3e-2b7c-4c1a-9d55-0c2f1b7a8e90"
_SERVERS = (
    ("control-plane-1", 101, "cpx22", "nbg1"),
    ("worker-1", 102, "cpx42", "nbg1"),
    ("worker-2", 103, "cpx32", "fsn1"),
    ("worker-3", 104, "cpx32", "fsn1"),
    ("worker-4", 105, "cpx32", "hel1"),
    ("worker-5", 106, "cpx32", "hel1"),
    ("worker-6", 107, "cpx32", "hel1"),
)
_JOINING = frozenset({"worker-4", "worker-5", "worker-6"})
_TYPE_BEFORE = {"worker-1": "cpx32"}
"""Server's name → its type when its Node joined."""
_GONE = "worker-3"
"""The server that somebody deleted while its Node stayed."""
_ADDRESSES = {_GONE: "10.0.0.50"}
"""Server's name → its address in the network, where that is not the one that follows from its id. That of a server that
is gone is free for whatever comes next, and then the route to it leads there."""
_CONTROL_PLANE = {
    "node-role.kubernetes.io/control-plane": "",
    "node.kubernetes.io/exclude-from-external-load-balancers": "",
}
"""As kubeadm labels them."""
_MISNAMED = {"worker-6": "worker6"}
"""Server's name → the Node's, which somebody mistyped."""
_DEDICATED = {
    "server_number": 321,
    "server_name": "db-1",
    "server_ip": "203.0.113.50",
    "server_ipv6_net": "2001:db8:32::",
    "product": "AX41-NVMe",
    "dc": "FSN1-DC14",
}
_IN_VSWITCH = "10.0.1.50"
"""The address that the dedicated server's kubelet tells; no API of Hetzner's knows it."""


def demo_world(now: datetime, *, dedicated: bool = False) -> dict[str, Any]:
    """A world file's content, with a dedicated server or without. ``now`` is the simulated time; the cluster is three
    days old."""
    servers = [_server(name, server_id, kind, location) for name, server_id, kind, location in _SERVERS]
    nodes = [_node(server, now) for server in servers]
    living = [server for server in servers if server["name"] != _GONE]
    network = {
        "id": _NETWORK,
        "name": "cluster",
        "ip_range": "10.0.0.0/16",
        "subnets": [{"type": "cloud", "ip_range": "10.0.0.0/24", "network_zone": "eu-central"}],
        "routes": [*(_route(server) for server in servers if server["name"] not in _JOINING), _VPN],
    }
    world: dict[str, Any] = {
        "format_version": "1.0",
        "kubernetes": {
            "nodes": nodes,
            "services": [_new_service(), _served_service()],
            "namespaces": [],
            "configmaps": [{"metadata": {"name": name, "namespace": "kube-system"}} for name in _CONFIG_MAPS],
        },
        "hetzner": {
            "servers": living,
            "networks": [network],
            "load_balancers": [_balancer()],
            "certificates": [],
        },
    }
    if dedicated:
        network["routes"] = [_VPN]
        for node in nodes:
            conditions = node["status"]["conditions"]
            node["status"]["conditions"] = [each for each in conditions if each["type"] != "NetworkUnavailable"]
        nodes.append(_dedicated_node(now))
        world["robot"] = {"servers": [_DEDICATED]}
    return world


def _server(name: str, server_id: int, kind: str, location: str) -> dict[str, Any]:
    host = server_id - 100
    return {
        "id": server_id,
        "name": name,
        "server_type": kind,
        "location": location,
        "public_net": {"ipv4": {"ip": f"203.0.113.{host}"}, "ipv6": {"ip": f"2001:db8:{host:x}::/64"}},
        "private_net": [{"network": _NETWORK, "ip": _ADDRESSES.get(name, f"10.0.0.{host + 1}")}],
    }


def _pod_cidr(server: dict[str, Any]) -> str:
    """What kube-controller-manager gave the server's Node."""
    return f"10.244.{server['id'] - 101}.0/24"


def _route(server: dict[str, Any]) -> dict[str, Any]:
    """The one to the pods on the server."""
    return {"destination": _pod_cidr(server), "gateway": server["private_net"][0]["ip"]}


def _node(server: dict[str, Any], now: datetime) -> dict[str, Any]:
    if server["name"] in _JOINING:
        return _joining_node(server, now)
    node = _initialised_node(server, now)
    return _silenced(node, now) if server["name"] == _GONE else node


def _joining_node(server: dict[str, Any], now: datetime) -> dict[str, Any]:
    """With the pods' range that kube-controller-manager gave it."""
    node = _registered_node(_MISNAMED.get(server["name"], server["name"]), now)
    node["spec"] |= {"podCIDR": _pod_cidr(server), "podCIDRs": [_pod_cidr(server)]}
    return node


def _dedicated_node(now: datetime) -> dict[str, Any]:
    """A database, which gets no traffic from load balancers."""
    node = _registered_node(str(_DEDICATED["server_name"]), now)
    node["metadata"]["labels"]["node.kubernetes.io/exclude-from-external-load-balancers"] = ""
    node["status"]["addresses"].append({"type": "InternalIP", "address": _IN_VSWITCH})
    return node


def _registered_node(name: str, now: datetime) -> dict[str, Any]:
    """As a kubelet with ``--cloud-provider=external`` registers it."""
    return {
        "metadata": {
            "name": name,
            "creationTimestamp": _time(now - timedelta(seconds=40)),
            "labels": {"kubernetes.io/hostname": name, "kubernetes.io/os": "linux"},
        },
        "spec": {"taints": [_UNINITIALIZED]},
        "status": {
            "nodeInfo": _NODE_INFO,
            "addresses": [{"type": "Hostname", "address": name}],
            "conditions": [_ready("False", now - timedelta(seconds=40))],
        },
    }


def _initialised_node(server: dict[str, Any], now: datetime) -> dict[str, Any]:
    """As it has been since it joined three days ago."""
    name, location = server["name"], server["location"]
    kind = _TYPE_BEFORE.get(name, server["server_type"])
    zone = {"nbg1": "nbg1-dc3", "fsn1": "fsn1-dc14"}[location]
    return {
        "metadata": {
            "name": name,
            "creationTimestamp": _time(now - timedelta(days=3)),
            "labels": {
                "kubernetes.io/hostname": name,
                "kubernetes.io/os": "linux",
                "beta.kubernetes.io/instance-type": kind,
                "node.kubernetes.io/instance-type": kind,
                "failure-domain.beta.kubernetes.io/zone": zone,
                "topology.kubernetes.io/zone": zone,
                "failure-domain.beta.kubernetes.io/region": location,
                "topology.kubernetes.io/region": location,
                "instance.hetzner.cloud/provided-by": "cloud",
                **(_CONTROL_PLANE if name.startswith("control-plane") else {}),
            },
        },
        "spec": {
            "podCIDR": _pod_cidr(server),
            "podCIDRs": [_pod_cidr(server)],
            "providerID": f"hcloud://{server['id']}",
        },
        "status": {
            "nodeInfo": _NODE_INFO,
            "addresses": [
                {"type": "Hostname", "address": name},
                {"type": "ExternalIP", "address": server["public_net"]["ipv4"]["ip"]},
                {"type": "InternalIP", "address": server["private_net"][0]["ip"]},
            ],
            "conditions": [_ready("True", now - timedelta(days=3)), _routed(now - timedelta(days=3))],
        },
    }


def _silenced(node: dict[str, Any], now: datetime) -> dict[str, Any]:
    """The same Node after its kubelet has said nothing for a while: what the cluster's own controllers make of it."""
    node["spec"]["taints"] = [_UNREACHABLE]
    node["status"]["conditions"][0] = _ready("Unknown", now - timedelta(minutes=5))
    return node


def _new_service() -> dict[str, Any]:
    return {
        "metadata": {"name": "shop", "namespace": "default", "annotations": {f"{_ANNOTATION}/location": "fsn1"}},
        "spec": {"type": "LoadBalancer", "ports": [{"name": "http", "port": 80, "nodePort": 30080}]},
    }


def _served_service() -> dict[str, Any]:
    """As it has been since its load balancer was created."""
    addresses = ("203.0.113.100", "2001:db8:64::1", "10.0.0.100")
    return {
        "metadata": {
            "name": "api",
            "namespace": "default",
            "uid": _API_UID,
            "annotations": {f"{_ANNOTATION}/name": "api", f"{_ANNOTATION}/use-private-ip": "true"},
            "finalizers": ["service.kubernetes.io/load-balancer-cleanup"],
        },
        "spec": {"type": "LoadBalancer", "ports": [{"name": "https", "port": 443, "nodePort": 30443}]},
        "status": {"loadBalancer": {"ingress": [{"ip": address, "ipMode": "VIP"} for address in addresses]}},
    }


def _balancer() -> dict[str, Any]:
    """The load balancer of the served Service, from which somebody took worker-2 (103)."""
    return {
        "id": 901,
        "name": "api",
        "labels": {"hcloud-ccm/service-uid": _API_UID},
        "location": "fsn1",
        "public_net": {"ipv4": {"ip": "203.0.113.100"}, "ipv6": {"ip": "2001:db8:64::1"}},
        "private_net": [{"network": _NETWORK, "ip": "10.0.0.100"}],
        "services": [{"listen_port": 443, "destination_port": 30443}],
        "targets": [{"type": "server", "server": {"id": 102}, "use_private_ip": True}],
    }


def _routed(since: datetime) -> dict[str, Any]:
    return {
        "type": "NetworkUnavailable",
        "status": "False",
        "reason": "RouteCreated",
        "message": "RouteController created a route",
        "lastHeartbeatTime": _time(since),
        "lastTransitionTime": _time(since),
    }


def _ready(status: str, since: datetime) -> dict[str, Any]:
    return {
        "type": "Ready",
        "status": status,
        "reason": _REASONS[status],
        "lastTransitionTime": _time(since),
    }


def _time(moment: datetime) -> str:
    return moment.strftime("%Y-%m-%dT%H:%M:%SZ")
