"""World files of any size: servers, most often in a network, and Nodes, joining or settled, as large as real ones."""

from datetime import UTC, datetime, timedelta
from ipaddress import IPv4Address, IPv6Address
from typing import Any

NETWORK = 4711
"""Id of the one network that every server is in."""
FIRST_SERVER = 1001
"""Id of the first server; the others follow."""
_UNINITIALIZED = {"key": "node.cloudprovider.kubernetes.io/uninitialized", "value": "true", "effect": "NoSchedule"}
_NOT_READY = {"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"}
_CONDITIONS = (
    ("NetworkUnavailable", "False", "CiliumIsUp", "Cilium is running on this node"),
    ("MemoryPressure", "False", "KubeletHasSufficientMemory", "kubelet has sufficient memory available"),
    ("DiskPressure", "False", "KubeletHasNoDiskPressure", "kubelet has no disk pressure"),
    ("PIDPressure", "False", "KubeletHasSufficientPID", "kubelet has sufficient PID available"),
)
_TYPE = "cpx32"
_LARGER_TYPE = "cpx42"
_IMAGES = 16
_FIELDS = ("cpu", "ephemeral-storage", "hugepages-1Gi", "hugepages-2Mi", "memory", "pods")


def joining_world(nodes: int) -> dict[str, Any]:
    """``nodes`` servers, and for each the Node that its kubelet has just registered."""
    now = datetime.now(UTC).replace(microsecond=0)
    return _world([_joining_node(i, now) for i in range(nodes)], nodes)


def settled_world(nodes: int, *, network: bool = True) -> dict[str, Any]:
    """``nodes`` servers, and for each a Ready Node that a cloud controller initialized long ago."""
    now = datetime.now(UTC).replace(microsecond=0)
    settled = [_settled_node(i, now, network=network) for i in range(nodes)]
    return _world(settled, nodes, network=network)


def resized_world(nodes: int) -> dict[str, Any]:
    """The same after every server was given a larger type."""
    world = settled_world(nodes)
    for server in world["hetzner"]["servers"]:
        server["server_type"] = _LARGER_TYPE
    return world


def _world(nodes: list[dict[str, Any]], servers: int, *, network: bool = True) -> dict[str, Any]:
    cluster = {
        "id": NETWORK,
        "name": "cluster",
        "ip_range": "10.0.0.0/8",
        "subnets": [{"type": "cloud", "ip_range": "10.0.0.0/16", "network_zone": "eu-central"}],
    }
    return {
        "format_version": "1.0",
        "kubernetes": {"nodes": nodes, "services": [], "namespaces": []},
        "hetzner": {
            "servers": [_server(i, network=network) for i in range(servers)],
            "networks": [cluster] if network else [],
            "load_balancers": [],
            "certificates": [],
        },
    }


def _name(i: int) -> str:
    return f"worker-{i + 1:05d}"


def _public(i: int) -> str:
    return str(IPv4Address("100.64.0.0") + 1 + i)


def _private(i: int) -> str:
    return str(IPv4Address("10.0.0.0") + 10 + i)


def _server(i: int, *, network: bool) -> dict[str, Any]:
    return {
        "id": FIRST_SERVER + i,
        "name": _name(i),
        "server_type": _TYPE,
        "location": "fsn1",
        "public_net": {
            "ipv4": {"ip": _public(i)},
            "ipv6": {"ip": f"{IPv6Address('2001:db8::') + (i << 64)}/64"},
        },
        "private_net": [{"network": NETWORK, "ip": _private(i)}] if network else [],
    }


def _joining_node(i: int, now: datetime) -> dict[str, Any]:
    """Before a CNI plugin has come up: few labels, no images, not Ready, and the taint of ``--cloud-provider``."""
    name, since = _name(i), now - timedelta(seconds=20)
    labels = {
        "beta.kubernetes.io/arch": "amd64",
        "beta.kubernetes.io/os": "linux",
        "kubernetes.io/arch": "amd64",
        "kubernetes.io/hostname": name,
        "kubernetes.io/os": "linux",
    }
    return {
        "metadata": {
            "name": name,
            "creationTimestamp": _time(since),
            "labels": labels,
            "annotations": {"volumes.kubernetes.io/controller-managed-attach-detach": "true"},
            "managedFields": [_managed("kubelet", "", since), _managed("kubelet", "status", since)],
        },
        "spec": {"taints": [_UNINITIALIZED, _NOT_READY]},
        "status": {**_status(name, [("Hostname", name)], since, since), "conditions": _conditions("False", since)},
    }


def _settled_node(i: int, now: datetime, *, network: bool) -> dict[str, Any]:
    """About 8 KB of JSON: 14 labels, 6 annotations, 5 conditions, 16 images, 4 managers of fields."""
    name, since, beat = _name(i), now - timedelta(days=30), now - timedelta(seconds=60)
    labels = {
        "beta.kubernetes.io/arch": "amd64",
        "beta.kubernetes.io/instance-type": _TYPE,
        "beta.kubernetes.io/os": "linux",
        "failure-domain.beta.kubernetes.io/region": "fsn1",
        "failure-domain.beta.kubernetes.io/zone": "fsn1-dc14",
        "instance.hetzner.cloud/provided-by": "cloud",
        "kubernetes.io/arch": "amd64",
        "kubernetes.io/hostname": name,
        "kubernetes.io/os": "linux",
        "node.kubernetes.io/instance-type": _TYPE,
        "topology.kubernetes.io/region": "fsn1",
        "topology.kubernetes.io/zone": "fsn1-dc14",
        "node-role.kubernetes.io/worker": "",
        "csi.hetzner.cloud/location": "fsn1",
    }
    annotations = {
        "csi.volume.kubernetes.io/nodeid": f'{{"csi.hetzner.cloud":"{FIRST_SERVER + i}"}}',
        "kubeadm.alpha.kubernetes.io/cri-socket": "unix:///var/run/containerd/containerd.sock",
        "network.cilium.io/ipv4-cilium-host": f"10.244.{i // 256}.{i % 256}",
        "network.cilium.io/ipv4-pod-cidr": f"10.244.{i % 256}.0/24",
        "node.alpha.kubernetes.io/ttl": "0",
        "volumes.kubernetes.io/controller-managed-attach-detach": "true",
    }
    managers = ("kubelet", "kubeadm"), ("kube-controller-manager", "cilium-agent")
    managed = [
        _managed(manager, sub, beat) for pair, sub in zip(managers, ("", "status"), strict=True) for manager in pair
    ]
    addresses = [("Hostname", name), ("ExternalIP", _public(i)), *([("InternalIP", _private(i))] if network else [])]
    return {
        "metadata": {
            "name": name,
            "creationTimestamp": _time(since),
            "labels": labels,
            "annotations": annotations,
            "managedFields": managed,
        },
        "spec": {"providerID": f"hcloud://{FIRST_SERVER + i}", "podCIDR": f"10.244.{i % 256}.0/24"},
        "status": {
            **_status(name, addresses, since, beat),
            "conditions": _conditions("True", since, beat),
            "images": [_image(number) for number in range(_IMAGES)],
        },
    }


def _status(name: str, addresses: list[tuple[str, str]], since: datetime, beat: datetime) -> dict[str, Any]:
    amounts = dict(zip(_FIELDS, ("4", "157193224Ki", "0", "0", "7937416Ki", "110"), strict=True))
    return {
        "addresses": [{"type": kind, "address": address} for kind, address in addresses],
        "allocatable": amounts,
        "capacity": amounts,
        "daemonEndpoints": {"kubeletEndpoint": {"Port": 10250}},
        "nodeInfo": {
            "architecture": "amd64",
            "bootID": f"5f8ad1f5-31b5-4d0c-a6b6-{since:%y%m%d}{beat:%H%M%S}",
            "containerRuntimeVersion": "containerd://2.1.4",
            "kernelVersion": "6.12.48-amd64",
            "kubeProxyVersion": "",
            "kubeletVersion": "v1.36.3",
            "machineID": f"{name:0>32}",
            "operatingSystem": "linux",
            "osImage": "Debian GNU/Linux 13 (trixie)",
            "systemUUID": f"{name:0>36}",
        },
    }


def _conditions(ready: str, since: datetime, beat: datetime | None = None) -> list[dict[str, str]]:
    last = ("KubeletReady", "kubelet is posting ready status")
    if ready != "True":
        last = ("KubeletNotReady", "container runtime network not ready: NetworkReady=false cni plugin not initialized")
    rows = [*(_CONDITIONS if ready == "True" else _CONDITIONS[1:]), ("Ready", ready, *last)]
    return [
        {
            "type": kind,
            "status": status,
            "reason": reason,
            "message": message,
            "lastHeartbeatTime": _time(beat or since),
            "lastTransitionTime": _time(since),
        }
        for kind, status, reason, message in rows
    ]


def _image(number: int) -> dict[str, Any]:
    name = f"images.example.com/platform/team-{number:02d}/service"
    return {
        "names": [f"{name}@sha256:{number:064x}", f"{name}:v1.{number}.0"],
        "sizeBytes": 48_000_000 + number,
    }


def _managed(manager: str, subresource: str, at: datetime) -> dict[str, Any]:
    if subresource:
        kinds = ("MemoryPressure", "DiskPressure", "PIDPressure", "Ready")
        keys = ("lastHeartbeatTime", "lastTransitionTime", "message", "reason", "status")
        conditions: dict[str, Any] = {f'k:{{"type":"{kind}"}}': {f"f:{key}": {} for key in keys} for kind in kinds}
        fields: dict[str, Any] = {"f:status": {"f:conditions": conditions, "f:images": {}}}
    else:
        labels = ("arch", "hostname", "os", "instance-type")
        fields = {"f:metadata": {"f:labels": {".": {}, **{f"f:kubernetes.io/{label}": {} for label in labels}}}}
    entry = {
        "manager": manager,
        "operation": "Update",
        "apiVersion": "v1",
        "time": _time(at),
        "fieldsType": "FieldsV1",
        "fieldsV1": fields,
    }
    return {**entry, "subresource": subresource} if subresource else entry


def _time(moment: datetime) -> str:
    return moment.strftime("%Y-%m-%dT%H:%M:%SZ")
