"""World files with Services of type LoadBalancer: new ones, and ones that their load balancers have served for long."""

from datetime import UTC, datetime
from ipaddress import IPv4Address, IPv6Address
from typing import Any

from worlds import FIRST_SERVER, NETWORK, joining_world, settled_world

_ANNOTATION = "load-balancer.hetzner.cloud/"
_FINALIZER = "service.kubernetes.io/load-balancer-cleanup"
_SINCE = "2026-01-01T00:00:00Z"
_NAMESPACE = "shop"
_CLUSTER = "0c5f31a4-7d52-4f0e-9d0b-0a4d5b6c7e8f"
"""UID of the namespace kube-system, by which the cluster is known."""
_PORTS = (("http", 80), ("https", 443))
_FIRST_NODE_PORT = 30000
_FIRST_BALANCER = 501
_TYPES = ((25, "lb11"), (75, "lb21"), (150, "lb31"))
"""How many targets the types of load balancers take."""
MOST_TARGETS = _TYPES[-1][0]
"""Of a load balancer."""
_OUT_OF_SYNC = {
    "type": "LoadBalancerInSync",
    "status": "False",
    "reason": "Limit",
    "message": "there is no room",
    "lastTransitionTime": _SINCE,
}


def new_services_world(nodes: int, services: int, *, network: bool) -> dict[str, Any]:
    """Settled Nodes and Services that were created a moment ago: without finalizer, address and load balancer."""
    return with_new_services(settled_world(nodes, network=network), services)


def with_new_services(world: dict[str, Any], services: int) -> dict[str, Any]:
    """The world with Services that were created a moment ago."""
    nodes = len(world["kubernetes"]["nodes"])
    world["kubernetes"]["services"] = [_service(i, nodes) for i in range(services)]
    return world


def served_world(nodes: int, services: int) -> dict[str, Any]:
    """Settled Nodes in a network and Services that are served by them all: nothing is left to do."""
    return _served(settled_world(nodes), nodes, services)


def full_world(nodes: int, services: int) -> dict[str, Any]:
    """The same where each load balancer has as many targets as the largest type takes: there is no room for the other
    Nodes, which the Services say already."""
    world = _served(settled_world(nodes), MOST_TARGETS, services)
    for service in world["kubernetes"]["services"]:
        service["status"]["conditions"] = [_OUT_OF_SYNC]
    return world


def growing_world(nodes: int, services: int) -> dict[str, Any]:
    """The same, and one Node more that has just joined."""
    world, joining = settled_world(nodes), joining_world(nodes + 1)
    world["kubernetes"]["nodes"].append(joining["kubernetes"]["nodes"][-1])
    world["hetzner"]["servers"].append(joining["hetzner"]["servers"][-1])
    return _served(world, nodes, services)


def _served(world: dict[str, Any], nodes: int, services: int) -> dict[str, Any]:
    """With Services that the first ``nodes`` serve."""
    world["kubernetes"]["services"] = [_served_service(i, nodes) for i in range(services)]
    world["kubernetes"]["namespaces"] = [{"metadata": {"name": "kube-system", "uid": _CLUSTER}}]
    world["hetzner"]["load_balancers"] = [_balancer(i, nodes) for i in range(services)]
    return world


def _service(i: int, nodes: int) -> dict[str, Any]:
    name = f"web-{i + 1:02d}"
    return {
        "metadata": {
            "name": name,
            "namespace": _NAMESPACE,
            "uid": _uid(i),
            "creationTimestamp": datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
            "labels": {"app.kubernetes.io/name": name, "app.kubernetes.io/part-of": "shop"},
            "annotations": {f"{_ANNOTATION}location": "fsn1", f"{_ANNOTATION}type": _type(nodes)},
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


def _served_service(i: int, nodes: int) -> dict[str, Any]:
    service = _service(i, nodes)
    addresses = (_ipv4(i), _ipv6(i), _private(i))
    return {
        **service,
        "metadata": {**service["metadata"], "creationTimestamp": _SINCE, "finalizers": [_FINALIZER]},
        "status": {"loadBalancer": {"ingress": [{"ip": address, "ipMode": "VIP"} for address in addresses]}},
    }


def _balancer(i: int, nodes: int) -> dict[str, Any]:
    return {
        "id": _FIRST_BALANCER + i,
        "name": f"a{_uid(i).replace('-', '')}"[:32],
        "load_balancer_type": _type(nodes),
        "location": "fsn1",
        "labels": {"hcloud-ccm/service-uid": _uid(i), "hcloud-reconciler/cluster-uid": _CLUSTER},
        "public_net": {"ipv4": {"ip": _ipv4(i)}, "ipv6": {"ip": _ipv6(i)}},
        "private_net": [{"network": NETWORK, "ip": _private(i)}],
        "services": [
            {"protocol": "tcp", "listen_port": port, "destination_port": _node_port(i, number)}
            for number, (_, port) in enumerate(_PORTS)
        ],
        "targets": [{"type": "server", "server": {"id": FIRST_SERVER + node}} for node in range(nodes)],
    }


def _type(nodes: int) -> str:
    """The smallest type with room for all Nodes and one more; the largest where none has."""
    return next((name for targets, name in _TYPES if nodes < targets), _TYPES[-1][1])


def _uid(i: int) -> str:
    return f"5e7a11ce-{i:04x}-4000-8000-3b1d9f2c6a70"


def _node_port(i: int, number: int) -> int:
    return _FIRST_NODE_PORT + len(_PORTS) * i + number


def _ipv4(i: int) -> str:
    return str(IPv4Address("198.18.0.0") + 1 + i)


def _ipv6(i: int) -> str:
    return str(IPv6Address("2001:db8:1::1") + (i << 64))


def _private(i: int) -> str:
    return str(IPv4Address("10.0.128.0") + 10 + i)
