"""Raw API objects: Nodes as kubelets register them, the servers behind them, Services as people write them; and what
raw objects say.

What has the number 3 is Node ``web-3`` on server 3, with 10.0.0.103 in network 7 and the pods 10.244.3.0/24.
"""

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

from desired.model.route import CONDITION_NETWORK
from tests.builders import SERVER_LABELS
from tests.support.options import key_of_option

UNINITIALIZED = {"key": "node.cloudprovider.kubernetes.io/uninitialized", "value": "true", "effect": "NoSchedule"}

LONG_AGO = "2026-01-01T00:00:00Z"
NETWORK: dict[str, Any] = {
    "id": 7,
    "name": "private",
    "ip_range": "10.0.0.0/16",
    "subnets": [{"type": "cloud", "ip_range": "10.0.0.0/24", "network_zone": "eu-central"}],
}
LOCATED = {"HCLOUD_LOAD_BALANCERS_LOCATION": "fsn1"}
IN_NETWORK = {**LOCATED, "HCLOUD_NETWORK": "private"}
CIDR = {"RECONCILER_CLUSTER_CIDR": "10.244.0.0/16"}
"""With it in the environment routes are changed and removed as well."""
ROUTED = ("False", "RouteCreated", "RouteController created a route")
UNROUTED = ("True", "NoRouteCreated", "RouteController failed to create a route")
"""Status, reason and message of the condition NetworkUnavailable, as HCCM writes them."""
CONTROL_PLANE = "node-role.kubernetes.io/control-plane"
AUTOSCALER = "ToBeDeletedByClusterAutoscaler"
SHUTDOWN = "node.cloudprovider.kubernetes.io/shutdown"


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
        "status": {"addresses": [{"type": "Hostname", "address": name}], "conditions": [condition("Ready", "False")]},
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
    return {
        "id": server_id,
        "name": name,
        "server_type": "cpx32",
        "location": "fsn1",
        "public_net": {"ipv4": {"ip": public_ipv4(server_id)}},
        **changes,
    }


def public_ipv4(server_id: int) -> str:
    return f"198.51.{server_id // 250}.{server_id % 250 + 1}"


def private_ip(number: int) -> str:
    """Of a Node and its server."""
    return f"10.0.0.{number + 100}"


def a_server_of(number: int) -> dict[str, Any]:
    """The server of the Node ``web-NUMBER``."""
    return server(number, f"web-{number}", private_net=[{"network": NETWORK["id"], "ip": private_ip(number)}])


def pods_of(number: int) -> str:
    """The pod CIDR of ``web-NUMBER``."""
    return f"10.244.{number}.0/24"


def with_pods(node: dict[str, Any], *pod_cidrs: str) -> dict[str, Any]:
    """The Node, with these ranges for its pods."""
    node["spec"] |= {"podCIDR": pod_cidrs[0], "podCIDRs": list(pod_cidrs)}
    return node


def a_route_to(number: int, gateway: int | str | None = None) -> dict[str, str]:
    """The route to the pods of ``web-NUMBER``, by its own server or another, or by an address."""
    by = gateway if isinstance(gateway, str) else private_ip(gateway or number)
    return {"destination": pods_of(number), "gateway": by}


def led(*numbers: int, **others: str) -> dict[str, str]:
    """Destination → gateway of the routes to these Nodes' pods, each by its own server, and of others."""
    return {pods_of(number): private_ip(number) for number in numbers} | others


def network_condition(status: str, reason: str, message: str) -> dict[str, str]:
    """The condition NetworkUnavailable, as somebody wrote it long ago."""
    return condition(CONDITION_NETWORK, status, LONG_AGO) | {"reason": reason, "message": message}


def of_control_plane(node: dict[str, Any]) -> dict[str, Any]:
    """The Node, with the role of the control plane."""
    node["metadata"]["labels"][CONTROL_PLANE] = ""
    return node


def ago(**how_long: float) -> str:
    """A moment so long before now, as the API server writes times. Of a negative duration: one that is to come."""
    return (datetime.now(UTC) - timedelta(**how_long)).strftime("%Y-%m-%dT%H:%M:%SZ")


def just_now() -> str:
    """This moment, as the API server writes times."""
    return ago(seconds=0)


def a_service(service: str = "web", /, *ports: int, **options: str) -> dict[str, Any]:
    """A Service of type LoadBalancer with these ports, 80 by default; ``options`` are annotations by the names of
    their options. The API server chooses its node ports."""
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": service, "annotations": annotated(**options)},
        "spec": {"type": "LoadBalancer", "selector": {"app": service}, "ports": [port(n) for n in ports or (80,)]},
    }


def port(number: int, protocol: str = "TCP") -> dict[str, Any]:
    return {"name": f"{protocol.lower()}-{number}", "port": number, "protocol": protocol}


def annotated(**options: str | None) -> dict[str, str | None]:
    """Annotations by the names of their options; in a patch, None takes one away."""
    return {key_of_option(name): text for name, text in options.items()}


def taints(node: Mapping[str, Any]) -> set[str]:
    return {found["key"] for found in node["spec"].get("taints", [])}


def network_says(node: Mapping[str, Any]) -> tuple[str, str, str] | None:
    """What the Node's condition NetworkUnavailable says; None when nobody has written it."""
    found = [each for each in node["status"].get("conditions", []) if each["type"] == CONDITION_NETWORK]
    return (found[0]["status"], found[0]["reason"], found[0]["message"]) if found else None


def of_others(node: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """The Node's conditions but that one, in their order."""
    return [each for each in node["status"]["conditions"] if each["type"] != CONDITION_NETWORK]


def ingress(service: Mapping[str, Any]) -> list[dict[str, str]]:
    """What the Service publishes."""
    found: list[dict[str, str]] = service["status"]["loadBalancer"].get("ingress", [])
    return found


def finalizers(service: Mapping[str, Any]) -> set[str]:
    return set(service["metadata"].get("finalizers", []))


def said_of(service: Mapping[str, Any]) -> dict[str, tuple[str, str]]:
    """Type → status and reason of each condition."""
    listed = service["status"].get("conditions", [])
    return {condition["type"]: (condition["status"], condition["reason"]) for condition in listed}


def seen(balancer: Mapping[str, Any]) -> dict[str, Any]:
    """What a load balancer is and does, by names that a test can change one of."""
    services, public = balancer["services"], balancer["public_net"]
    return {
        "name": balancer["name"],
        "labels": balancer["labels"],
        "type": balancer["load_balancer_type"]["name"],
        "algorithm": balancer["algorithm"]["type"],
        "public": public["enabled"],
        "reverse": public["ipv4"]["dns_ptr"],
        "private": [place["ip"] for place in balancer["private_net"]],
        "ports": {service["listen_port"]: service["destination_port"] for service in services},
        "proxy": [service["proxyprotocol"] for service in services],
        "targets": {_whom(found): _way(found) for found in balancer["targets"]},
    }


def addresses(balancer: Mapping[str, Any]) -> list[str]:
    """All addresses of a load balancer, in the order in which a Service publishes them."""
    public = balancer["public_net"]
    listed = [public["ipv4"]["ip"], public["ipv6"]["ip"]] if public["enabled"] else []
    return [*listed, *(place["ip"] for place in balancer["private_net"])]


def by_key(report: Mapping[str, Any]) -> dict[str, Any]:
    return {change["key"]: change for change in report["changes"]}


def notes(report: Mapping[str, Any]) -> set[tuple[str, str]]:
    """Key and kind of each note of a report."""
    return {(note["key"], note["kind"]) for note in report["notes"]}


def notes_of_kind(report: Mapping[str, Any], kind: str) -> list[str]:
    """The texts of a report's notes of this kind."""
    return [note["text"] for note in report["notes"] if note["kind"] == kind]


def _whom(target: Mapping[str, Any]) -> int | str:
    whom: int | str = target["server"]["id"] if "server" in target else target["ip"]["ip"]
    return whom


def _way(target: Mapping[str, Any]) -> str:
    return "private" if target.get("use_private_ip") else "public"


def _keys(named: dict[str, str]) -> dict[str, str]:
    """Keyword arguments as keys of labels or annotations: ``example_com__my_key`` is ``example-com/my-key``."""
    return {key.replace("__", "/").replace("_", "-"): value for key, value in named.items()}
