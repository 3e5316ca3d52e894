"""Defaults that the API server adds to an object, kind by kind. Allocation is deterministic: lowest free."""

import ipaddress
from collections.abc import Iterable
from typing import Any

from kubernetes_double.patch import copied
from kubernetes_double.resources import DEPLOYMENTS, EVENTS, LEASES, NAMESPACES, NODES, SERVICES, Resource

_FIRST_CLUSTER_IP = ipaddress.IPv4Address("10.96.0.10")
_FIRST_NODE_PORT = 30000
_NOT_READY_TAINT = {"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"}
_NODE_INFO = (
    "machineID",
    "systemUUID",
    "bootID",
    "kernelVersion",
    "osImage",
    "containerRuntimeVersion",
    "kubeletVersion",
    "kubeProxyVersion",
    "operatingSystem",
    "architecture",
)
_EXTERNAL_TYPES = ("NodePort", "LoadBalancer")


def fill_in(
    resource: Resource, new: dict[str, Any], old: dict[str, Any] | None, others: Iterable[dict[str, Any]]
) -> None:
    """Complete ``new`` in place. ``old`` is what it replaces; ``others`` are all stored objects of the same kind."""
    if resource == NODES:
        new.setdefault("spec", {})
        status = new.setdefault("status", {})
        status.setdefault("daemonEndpoints", {"kubeletEndpoint": {"Port": 0}})
        status["nodeInfo"] = {**dict.fromkeys(_NODE_INFO, ""), **status.get("nodeInfo", {})}
    elif resource == NAMESPACES:
        _fill_in_namespace(new)
    elif resource == DEPLOYMENTS:
        new.setdefault("spec", {}).setdefault("replicas", 1)
        new.setdefault("status", {})
    elif resource == LEASES:
        new.setdefault("spec", {})
    elif resource == EVENTS:
        for field, empty in (
            ("involvedObject", {}),
            ("source", {}),
            ("reportingComponent", ""),
            ("reportingInstance", ""),
        ):
            new.setdefault(field, copied(empty))
    elif resource == SERVICES:
        _fill_in_service(new, old, others)


def admit_new_node(node: dict[str, Any]) -> None:
    """The taint that admission puts on every Node a client creates."""
    taints = node["spec"].get("taints", [])
    if not any((t.get("key"), t.get("effect")) == tuple(_NOT_READY_TAINT.values()) for t in taints):
        node["spec"]["taints"] = [*taints, dict(_NOT_READY_TAINT)]


def _fill_in_namespace(namespace: dict[str, Any]) -> None:
    metadata = namespace["metadata"]
    metadata["labels"] = {**metadata.get("labels", {}), "kubernetes.io/metadata.name": metadata["name"]}
    namespace.setdefault("spec", {}).setdefault("finalizers", ["kubernetes"])
    phase = "Terminating" if "deletionTimestamp" in metadata else "Active"
    namespace["status"] = {**namespace.get("status", {}), "phase": phase}


def _fill_in_service(new: dict[str, Any], old: dict[str, Any] | None, others: Iterable[dict[str, Any]]) -> None:
    spec = new.setdefault("spec", {})
    new.setdefault("status", {}).setdefault("loadBalancer", {})
    spec.setdefault("type", "ClusterIP")
    spec.setdefault("sessionAffinity", "None")
    for port in spec.get("ports", []):
        port.setdefault("protocol", "TCP")
        port.setdefault("targetPort", port.get("port"))
    if spec["type"] == "ExternalName":
        return
    before = (old or {}).get("spec", {})
    specs = [other["spec"] for other in others]
    spec.setdefault("internalTrafficPolicy", "Cluster")
    spec.setdefault("ipFamilies", before.get("ipFamilies", ["IPv4"]))
    spec.setdefault("ipFamilyPolicy", before.get("ipFamilyPolicy", "SingleStack"))
    spec.setdefault("clusterIP", before.get("clusterIP") or _free_address(specs))
    spec.setdefault("clusterIPs", [spec["clusterIP"]])
    if spec["type"] in _EXTERNAL_TYPES:
        _allocate_node_ports(spec, before, specs)
    else:
        _release_node_ports(spec, before)
    if spec["type"] != "LoadBalancer" and before.get("type") == "LoadBalancer":
        new["status"]["loadBalancer"] = {}
    if spec["type"] == "LoadBalancer":
        spec.setdefault("allocateLoadBalancerNodePorts", True)
        for ingress in new["status"]["loadBalancer"].get("ingress", []):
            if ingress.get("ip"):
                ingress.setdefault("ipMode", "VIP")


def _allocate_node_ports(spec: dict[str, Any], before: dict[str, Any], specs: list[dict[str, Any]]) -> None:
    spec.setdefault("externalTrafficPolicy", "Cluster")
    known = {(p["protocol"], p["port"]): p.get("nodePort") for p in before.get("ports", [])}
    taken = {p.get("nodePort") for other in specs for p in other.get("ports", [])}
    taken |= {other.get("healthCheckNodePort") for other in specs}
    taken |= {p.get("nodePort") for p in spec.get("ports", [])}
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


def _release_node_ports(spec: dict[str, Any], before: dict[str, Any]) -> None:
    """Leaving a type that is reachable from outside, a Service gives back what it did not ask for."""
    if before.get("type") not in _EXTERNAL_TYPES:
        return
    for port in spec.get("ports", []):
        port.pop("nodePort", None)
    for field in ("externalTrafficPolicy", "healthCheckNodePort", "allocateLoadBalancerNodePorts"):
        spec.pop(field, None)


def _free_address(specs: list[dict[str, Any]]) -> str:
    taken = {spec.get("clusterIP") for spec in specs}
    address = _FIRST_CLUSTER_IP
    while str(address) in taken:
        address += 1
    return str(address)


def _free_port(taken: set[Any]) -> int:
    port = _FIRST_NODE_PORT
    while port in taken:
        port += 1
    return port
