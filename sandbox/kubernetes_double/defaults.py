"""Defaults that the API server adds to an object, kind by kind. Allocation is deterministic: lowest free."""

import ipaddress
from collections.abc import Iterable
from itertools import count
from typing import Any

from kubernetes_double.resources import DAEMON_SETS, DEPLOYMENTS, EVENTS, LEASES, NAMESPACES, NODES, SERVICES, Resource

_FIRST_CLUSTER_IP = ipaddress.IPv4Address("10.96.0.10")
_FIRST_NODE_PORT = 30000
_NOT_READY_TAINT = {"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"}
_NODE_INFO = {
    **dict.fromkeys(("machineID", "systemUUID", "bootID", "kernelVersion", "osImage", "operatingSystem"), ""),
    **dict.fromkeys(("containerRuntimeVersion", "kubeletVersion", "kubeProxyVersion", "architecture"), ""),
}
_EXTERNAL_TYPES = ("NodePort", "LoadBalancer")


def fill_in(
    resource: Resource, new: dict[str, Any], old: dict[str, Any] | None, others: Iterable[dict[str, Any]]
) -> None:
    """Complete ``new`` in place. ``old`` is what it replaces; ``others`` are all stored objects of the same kind."""
    if resource in (NODES, SERVICES, NAMESPACES, LEASES, DEPLOYMENTS, DAEMON_SETS):
        new.setdefault("spec", {})
    if resource.has_status:
        new.setdefault("status", {})
    if resource == NODES:
        new["status"].setdefault("daemonEndpoints", {"kubeletEndpoint": {"Port": 0}})
        new["status"]["nodeInfo"] = {**_NODE_INFO, **new["status"].get("nodeInfo", {})}
    elif resource == NAMESPACES:
        metadata = new["metadata"]
        metadata["labels"] = {**metadata.get("labels", {}), "kubernetes.io/metadata.name": metadata["name"]}
        new["spec"].setdefault("finalizers", ["kubernetes"])
        new["status"]["phase"] = "Active"
    elif resource == DEPLOYMENTS:
        new["spec"].setdefault("replicas", 1)
    elif resource == EVENTS:
        for field, empty in (("involvedObject", dict), ("source", dict), ("reportingComponent", str)):
            new.setdefault(field, empty())
        new.setdefault("reportingInstance", "")
    elif resource == SERVICES:
        _fill_in_service(new, old, others)


def admit_new_node(node: dict[str, Any]) -> None:
    """Add the taint that admission puts on every Node which a client creates."""
    taints = node["spec"].get("taints", [])
    if not any((t.get("key"), t.get("effect")) == tuple(_NOT_READY_TAINT.values()) for t in taints):
        node["spec"]["taints"] = [*taints, dict(_NOT_READY_TAINT)]


def _fill_in_service(new: dict[str, Any], old: dict[str, Any] | None, others: Iterable[dict[str, Any]]) -> None:
    spec = new["spec"]
    for ingress in new["status"].setdefault("loadBalancer", {}).get("ingress", []):
        if ingress.get("ip"):
            ingress.setdefault("ipMode", "VIP")
    spec.setdefault("type", "ClusterIP")
    spec.setdefault("sessionAffinity", "None")
    for port in spec.get("ports", []):
        port.setdefault("protocol", "TCP")
        port.setdefault("targetPort", port.get("port"))
    before = (old or {}).get("spec", {})
    if spec["type"] != "ExternalName":
        _allocate_addresses(spec, before, [other["spec"] for other in others])
    if spec["type"] == "LoadBalancer":
        spec.setdefault("allocateLoadBalancerNodePorts", True)
    elif before.get("type") == "LoadBalancer":
        new["status"]["loadBalancer"] = {}


def _allocate_addresses(spec: dict[str, Any], before: dict[str, Any], specs: list[dict[str, Any]]) -> None:
    spec.setdefault("internalTrafficPolicy", "Cluster")
    spec.setdefault("ipFamilies", before.get("ipFamilies", ["IPv4"]))
    spec.setdefault("ipFamilyPolicy", before.get("ipFamilyPolicy", "SingleStack"))
    spec.setdefault("clusterIP", before.get("clusterIP") or _free_address(specs))
    spec.setdefault("clusterIPs", [spec["clusterIP"]])
    if spec["type"] in _EXTERNAL_TYPES:
        _allocate_node_ports(spec, before, specs)
    elif before.get("type") in _EXTERNAL_TYPES:  # it gives back what it did not ask for
        for port in spec.get("ports", []):
            port.pop("nodePort", None)
        for field in ("externalTrafficPolicy", "healthCheckNodePort", "allocateLoadBalancerNodePorts"):
            spec.pop(field, None)


def _allocate_node_ports(spec: dict[str, Any], before: dict[str, Any], specs: list[dict[str, Any]]) -> None:
    spec.setdefault("externalTrafficPolicy", "Cluster")
    known = {(p["protocol"], p["port"]): p.get("nodePort") for p in before.get("ports", [])}
    taken = {p.get("nodePort") for other in (*specs, spec) for p in other.get("ports", [])}
    taken |= {other.get("healthCheckNodePort") for other in specs}
    if spec["type"] == "NodePort" or spec.get("allocateLoadBalancerNodePorts", True):
        for port in spec.get("ports", []):
            if not port.get("nodePort"):
                port["nodePort"] = known.get((port["protocol"], port.get("port"))) or _free_port(taken)
                taken.add(port["nodePort"])
    if spec["type"] == "LoadBalancer" and spec["externalTrafficPolicy"] == "Local":
        if not spec.get("healthCheckNodePort"):
            spec["healthCheckNodePort"] = before.get("healthCheckNodePort") or _free_port(taken)
    else:
        spec.pop("healthCheckNodePort", None)


def _free_address(specs: list[dict[str, Any]]) -> str:
    taken = {spec.get("clusterIP") for spec in specs}
    return next(address for n in count() if (address := str(_FIRST_CLUSTER_IP + n)) not in taken)


def _free_port(taken: set[Any]) -> int:
    return next(port for port in count(_FIRST_NODE_PORT) if port not in taken)
