"""World files of any size: servers in a network, Nodes as large as real ones, Services, dedicated servers."""

from datetime import UTC, datetime, timedelta
from ipaddress import IPv4Address, IPv6Address
from typing import Any

NETWORK = 4711
"""Id of the one network that every server is in."""
CLUSTER_CIDR = "10.244.0.0/16"
"""The range of all pods; Node i has 10.244.i.0/24 of it."""
_FIRST_SERVER, _FIRST_BALANCER, _FIRST_DEDICATED = 1001, 501, 2_000_001
_CLUSTER = "0c5f31a4-7d52-4f0e-9d0b-0a4d5b6c7e8f"
"""UID of the namespace kube-system, by which the cluster is known."""
_TYPE, _DEDICATED_TYPE = "cpx32", "AX41-NVMe"
_BALANCER_TYPES = ((25, "lb11"), (75, "lb21"), (150, "lb31"))
"""How many targets the types of load balancers take."""
_MOST_TARGETS = _BALANCER_TYPES[-1][0]
_PORTS = (("http", 80), ("https", 443))
_CONDITIONS = (
    ("NetworkUnavailable", "False", "CiliumIsUp", "Cilium is running on this node"),
    ("MemoryPressure", "False", "KubeletHasSufficientMemory", "kubelet has sufficient memory available"),
    ("DiskPressure", "False", "KubeletHasNoDiskPressure", "kubelet has no disk pressure"),
    ("PIDPressure", "False", "KubeletHasSufficientPID", "kubelet has sufficient PID available"),
    ("Ready", "True", "KubeletReady", "kubelet is posting ready status"),
)
_NOT_READY = ("Ready", "False", "KubeletNotReady", "container runtime network not ready: cni plugin not initialized")
_FULL = {"type": "LoadBalancerInSync", "status": "False", "reason": "Limit", "message": "there is no room"}

World = dict[str, Any]


def joining_world(nodes: int) -> World:
    """``nodes`` servers, and for each the Node that its kubelet has just registered, with a range for its pods."""
    return _world([_joining_node(i) for i in range(nodes)])


def settled_world(nodes: int) -> World:
    """``nodes`` servers, and for each a Ready Node that a cloud controller initialized long ago."""
    return _world([_settled_node(i) for i in range(nodes)])


def growing_world(nodes: int, services: int) -> World:
    """Settled Nodes, and Services that were created a moment ago: without finalizer, address and load balancer."""
    world = settled_world(nodes)
    world["kubernetes"]["services"] = [_service(i, nodes, _time(0)) for i in range(services)]
    return world


def full_world(nodes: int, services: int) -> World:
    """Settled Nodes, and Services whose load balancers have as many of them as targets as the largest type takes, which
    the Services say: nothing is left to do."""
    world, targets = settled_world(nodes), min(nodes, _MOST_TARGETS)
    world["kubernetes"]["services"] = [_served_service(i, targets, is_full=nodes > targets) for i in range(services)]
    world["kubernetes"]["namespaces"] = [{"metadata": {"name": "kube-system", "uid": _CLUSTER}}]
    world["hetzner"]["load_balancers"] = [_balancer(i, targets) for i in range(services)]
    return world


def dedicated_world(nodes: int) -> World:
    """``nodes`` dedicated servers of a Robot account, and for each the Node that its kubelet has just registered."""
    world = joining_world(nodes)
    servers, world["hetzner"]["servers"] = world["hetzner"]["servers"], []
    account = [
        {
            "server_number": _FIRST_DEDICATED + i,
            "server_name": server["name"],
            "server_ip": server["public_net"]["ipv4"]["ip"],
            "server_ipv6_net": server["public_net"]["ipv6"]["ip"].removesuffix("/64"),
            "product": _DEDICATED_TYPE,
            "dc": "FSN1-DC14",
        }
        for i, server in enumerate(servers)
    ]
    return {**world, "robot": {"servers": account}}


def _world(nodes: list[World]) -> World:
    subnet = {"type": "cloud", "ip_range": "10.0.0.0/16", "network_zone": "eu-central"}
    network = {"id": NETWORK, "name": "cluster", "ip_range": "10.0.0.0/8", "subnets": [subnet]}
    return {
        "format_version": "1.0",
        "kubernetes": {"nodes": nodes, "services": [], "namespaces": []},
        "hetzner": {
            "servers": [_server(i) for i in range(len(nodes))],
            "networks": [network],
            "load_balancers": [],
            "certificates": [],
        },
    }


def _name(i: int) -> str:
    return f"worker-{i + 1:05d}"


def _counted(first: str, i: int) -> str:
    return str(IPv4Address(first) + i)


def _server(i: int) -> World:
    return {
        "id": _FIRST_SERVER + i,
        "name": _name(i),
        "server_type": _TYPE,
        "location": "fsn1",
        "public_net": {
            "ipv4": {"ip": _counted("100.64.0.1", i)},
            "ipv6": {"ip": f"{IPv6Address('2001:db8::') + (i << 64)}/64"},
        },
        "private_net": [{"network": NETWORK, "ip": _counted("10.0.0.10", i)}],
    }


def _joining_node(i: int) -> World:
    """Before a CNI plugin has come up: few labels, no images, not Ready, and the taint of ``--cloud-provider``."""
    name, since, pods = _name(i), _time(20), f"10.244.{i % 256}.0/24"
    labels = {"kubernetes.io/arch": "amd64", "kubernetes.io/hostname": name, "kubernetes.io/os": "linux"}
    taints = [
        {"key": "node.cloudprovider.kubernetes.io/uninitialized", "value": "true", "effect": "NoSchedule"},
        {"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"},
    ]
    return {
        "metadata": {
            "name": name,
            "creationTimestamp": since,
            "labels": labels,
            "annotations": {"volumes.kubernetes.io/controller-managed-attach-detach": "true"},
            "managedFields": [_managed("kubelet", "", since), _managed("kubelet", "status", since)],
        },
        "spec": {"taints": taints, "podCIDR": pods, "podCIDRs": [pods]},
        "status": {
            **_status(name, [("Hostname", name)]),
            "conditions": _conditions((*_CONDITIONS[1:-1], _NOT_READY), since, since),
        },
    }


def _settled_node(i: int) -> World:
    """About 8 KB of JSON: labels, annotations, conditions, 16 images, 4 managers of fields."""
    name, since, beat = _name(i), _time(30 * 24 * 3600), _time(60)
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
        "csi.volume.kubernetes.io/nodeid": f'{{"csi.hetzner.cloud":"{_FIRST_SERVER + i}"}}',
        "kubeadm.alpha.kubernetes.io/cri-socket": "unix:///var/run/containerd/containerd.sock",
        "network.cilium.io/ipv4-cilium-host": f"10.244.{i // 256}.{i % 256}",
        "network.cilium.io/ipv4-pod-cidr": f"10.244.{i % 256}.0/24",
        "node.alpha.kubernetes.io/ttl": "0",
        "volumes.kubernetes.io/controller-managed-attach-detach": "true",
    }
    managers = (("kubelet", ""), ("kubeadm", ""), ("kube-controller-manager", "status"), ("cilium-agent", "status"))
    addresses = [
        ("Hostname", name),
        ("ExternalIP", _counted("100.64.0.1", i)),
        ("InternalIP", _counted("10.0.0.10", i)),
    ]
    return {
        "metadata": {
            "name": name,
            "creationTimestamp": since,
            "labels": labels,
            "annotations": annotations,
            "managedFields": [_managed(manager, part, beat) for manager, part in managers],
        },
        "spec": {"providerID": f"hcloud://{_FIRST_SERVER + i}", "podCIDR": f"10.244.{i % 256}.0/24"},
        "status": {
            **_status(name, addresses),
            "conditions": _conditions(_CONDITIONS, since, beat),
            "images": [_image(number) for number in range(16)],
        },
    }


def _status(name: str, addresses: list[tuple[str, str]]) -> World:
    amounts = {
        "cpu": "4",
        "ephemeral-storage": "157193224Ki",
        "hugepages-2Mi": "0",
        "memory": "7937416Ki",
        "pods": "110",
    }
    return {
        "addresses": [{"type": kind, "address": address} for kind, address in addresses],
        "allocatable": amounts,
        "capacity": amounts,
        "daemonEndpoints": {"kubeletEndpoint": {"Port": 10250}},
        "nodeInfo": {
            "architecture": "amd64",
            "bootID": "5f8ad1f5-31b5-4d0c-a6b6-0a4d5b6c7e8f",
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


def _conditions(rows: tuple[tuple[str, str, str, str], ...], since: str, beat: str) -> list[World]:
    times = {"lastHeartbeatTime": beat, "lastTransitionTime": since}
    return [dict(zip(("type", "status", "reason", "message"), row, strict=True)) | times for row in rows]


def _image(number: int) -> World:
    name = f"images.example.com/platform/team-{number:02d}/service"
    return {"names": [f"{name}@sha256:{number:064x}", f"{name}:v1.{number}.0"], "sizeBytes": 48_000_000 + number}


def _managed(manager: str, subresource: str, at: str) -> World:
    if subresource:
        kinds = ("MemoryPressure", "DiskPressure", "PIDPressure", "Ready")
        keys = ("lastHeartbeatTime", "lastTransitionTime", "message", "reason", "status")
        conditions: World = {f'k:{{"type":"{kind}"}}': {f"f:{key}": {} for key in keys} for kind in kinds}
        fields: World = {"f:status": {"f:conditions": conditions, "f:images": {}}}
    else:
        labels = ("arch", "hostname", "os", "instance-type")
        fields = {"f:metadata": {"f:labels": {".": {}, **{f"f:kubernetes.io/{label}": {} for label in labels}}}}
    entry = {"manager": manager, "operation": "Update", "apiVersion": "v1", "time": at, "fieldsType": "FieldsV1"}
    return {**entry, "fieldsV1": fields, **({"subresource": subresource} if subresource else {})}


def _service(i: int, targets: int, since: str) -> World:
    name = f"web-{i + 1:02d}"
    annotations = {"load-balancer.hetzner.cloud/location": "fsn1", "load-balancer.hetzner.cloud/type": _type(targets)}
    return {
        "metadata": {
            "name": name,
            "namespace": "shop",
            "uid": _uid(i),
            "creationTimestamp": since,
            "labels": {"app.kubernetes.io/name": name, "app.kubernetes.io/part-of": "shop"},
            "annotations": annotations,
        },
        "spec": {
            "type": "LoadBalancer",
            "selector": {"app.kubernetes.io/name": name},
            "ports": [
                {"name": of, "port": port, "targetPort": of, "nodePort": _node_port(i, number)}
                for number, (of, port) in enumerate(_PORTS)
            ],
        },
    }


def _served_service(i: int, targets: int, *, is_full: bool) -> World:
    since = _time(30 * 24 * 3600)
    service = _service(i, targets, since)
    service["metadata"]["finalizers"] = ["service.kubernetes.io/load-balancer-cleanup"]
    ingress = [{"ip": address, "ipMode": "VIP"} for address in _addresses(i)]
    conditions = [{**_FULL, "lastTransitionTime": since}] if is_full else []
    return {**service, "status": {"loadBalancer": {"ingress": ingress}, "conditions": conditions}}


def _balancer(i: int, targets: int) -> World:
    ipv4, ipv6, private = _addresses(i)
    return {
        "id": _FIRST_BALANCER + i,
        "name": f"a{_uid(i).replace('-', '')}"[:32],
        "load_balancer_type": _type(targets),
        "location": "fsn1",
        "labels": {"hcloud-ccm/service-uid": _uid(i), "hcloud-reconciler/cluster-uid": _CLUSTER},
        "public_net": {"ipv4": {"ip": ipv4}, "ipv6": {"ip": ipv6}},
        "private_net": [{"network": NETWORK, "ip": private}],
        "services": [
            {"protocol": "tcp", "listen_port": port, "destination_port": _node_port(i, number)}
            for number, (_, port) in enumerate(_PORTS)
        ],
        "targets": [{"type": "server", "server": {"id": _FIRST_SERVER + node}} for node in range(targets)],
    }


def _type(targets: int) -> str:
    return next((name for most, name in _BALANCER_TYPES if targets < most), _BALANCER_TYPES[-1][1])


def _uid(i: int) -> str:
    return f"5e7a11ce-{i:04x}-4000-8000-3b1d9f2c6a70"


def _node_port(i: int, number: int) -> int:
    return 30000 + len(_PORTS) * i + number


def _addresses(i: int) -> tuple[str, str, str]:
    """Public IPv4, public IPv6, private."""
    return _counted("198.18.0.1", i), str(IPv6Address("2001:db8:1::1") + (i << 64)), _counted("10.0.128.10", i)


def _time(ago_s: int) -> str:
    return (datetime.now(UTC) - timedelta(seconds=ago_s)).strftime("%Y-%m-%dT%H:%M:%SZ")
