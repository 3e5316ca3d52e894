"""Services of type LoadBalancer in a cluster that lives on a stage, and what became of them on both sides."""

from collections.abc import Mapping
from typing import Any

from desired.annotations.options import OPTIONS
from tests.support.objects import server, settled_node
from tests.support.stage import Stage

NETWORK = {
    "id": 7,
    "name": "private",
    "ip_range": "10.0.0.0/16",
    "subnets": [{"type": "cloud", "ip_range": "10.0.0.0/24", "network_zone": "eu-central"}],
}
LOCATED = {"HCLOUD_LOAD_BALANCERS_LOCATION": "fsn1"}
IN_NETWORK = {**LOCATED, "HCLOUD_NETWORK": "private"}
SERVICES = "/api/v1/namespaces/default/services"


def have_nodes(stage: Stage, size: int, **project: Any) -> None:
    """So many healthy Nodes, ``web-1`` on server 1 and so on, each in the network as well; and the rest of a world."""
    numbers = range(1, size + 1)
    servers = [a_server_of(number) for number in numbers]
    stage.project.replace_world({"servers": servers, "networks": [NETWORK], **project})
    stage.register(*(a_node(stage, number) for number in numbers))


def a_node(stage: Stage, number: int) -> dict[str, Any]:
    """The Node ``web-NUMBER``, with its private address where the product is told of the network."""
    node = settled_node(f"web-{number}", number)
    if "HCLOUD_NETWORK" in stage.environment:
        node["status"]["addresses"].append({"type": "InternalIP", "address": private_ip(number)})
    return node


def private_ip(number: int) -> str:
    """Of a Node and its server."""
    return f"10.0.0.{number + 100}"


def a_server_of(number: int) -> dict[str, Any]:
    """The server of the Node ``web-NUMBER``."""
    return server(number, f"web-{number}", private_net=[{"network": NETWORK["id"], "ip": private_ip(number)}])


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
    """A port of a Service."""
    return {"name": f"{protocol.lower()}-{number}", "port": number, "protocol": protocol}


def annotated(**options: str | None) -> dict[str, str | None]:
    """Annotations by the names of their options; in a patch, None takes one away."""
    return {OPTIONS[field].full_key: text for field, text in options.items()}


def have_services(stage: Stage, *services: Mapping[str, Any]) -> None:
    """Create these Services."""
    for service in services:
        status, answer = stage.cluster.request("POST", SERVICES, service)
        assert status == 201, answer


def patch_service(stage: Stage, body: Mapping[str, Any], what: str = "web") -> None:
    """A merge patch of a Service, or of ``NAME/status``, past the fault proxy."""
    status, answer = stage.cluster.request("PATCH", f"{SERVICES}/{what}", body)
    assert status == 200, answer


def annotate(stage: Stage, service: str = "web", /, **options: str | None) -> None:
    """Set annotations of a Service by the names of their options; None takes one away."""
    patch_service(stage, {"metadata": {"annotations": annotated(**options)}}, service)


def delete_service(stage: Stage, name: str = "web") -> None:
    """``kubectl delete --wait=false``."""
    status, answer = stage.cluster.request("DELETE", f"{SERVICES}/{name}")
    assert status == 200, answer


def service_in(stage: Stage, name: str = "web") -> dict[str, Any]:
    """The Service. Raises KeyError when there is none."""
    return services(stage)[name]


def services(stage: Stage) -> dict[str, dict[str, Any]]:
    """Name → Service, the cluster's own left out."""
    _, listed = stage.cluster.request("GET", SERVICES)
    return {found["metadata"]["name"]: found for found in listed["items"] if found["metadata"]["name"] != "kubernetes"}


def ingress(service: Mapping[str, Any]) -> list[dict[str, str]]:
    """What the Service publishes."""
    found: list[dict[str, str]] = service["status"]["loadBalancer"].get("ingress", [])
    return found


def finalizers(service: Mapping[str, Any]) -> set[str]:
    """Who keeps the Service from vanishing."""
    return set(service["metadata"].get("finalizers", []))


def said_of(service: Mapping[str, Any]) -> dict[str, tuple[str, str]]:
    """Type → status and reason of each condition."""
    listed = service["status"].get("conditions", [])
    return {condition["type"]: (condition["status"], condition["reason"]) for condition in listed}


def balancers(stage: Stage) -> list[dict[str, Any]]:
    """The load balancers of the project, by id."""
    found: list[dict[str, Any]] = stage.project.world()["hetzner"]["load_balancers"]
    return found


def have_balancers(stage: Stage, *balancers: Mapping[str, Any]) -> None:
    """Make these the project's load balancers, as a person at the console would."""
    world = stage.project.world()["hetzner"]
    networks = [{**network, "load_balancers": []} for network in world["networks"]]
    stage.project.replace_world({**world, "networks": networks, "load_balancers": list(balancers)})


def change_balancer(stage: Stage, **changes: Any) -> None:
    """Somebody changes the only load balancer."""
    (found,) = balancers(stage)
    have_balancers(stage, found | changes)


def asked_of_hetzner(stage: Stage) -> list[str]:
    """Method and last part of the path of each write to Hetzner, in order."""
    return [f"{entry.method} {entry.path.rpartition('/')[2]}" for entry in stage.written_to_hetzner()]


def read_of_hetzner(stage: Stage) -> list[str]:
    """The paths of all reads, sorted."""
    read = (entry.path for entry in stage.hetzner_proxy.journal.entries() if entry.method == "GET")
    return sorted(path.removeprefix("/v1/") for path in read)


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
        "targets": {found["server"]["id"]: _way(found) for found in balancer["targets"]},
    }


def addresses(balancer: Mapping[str, Any]) -> list[str]:
    """All addresses of a load balancer, in the order in which a Service publishes them."""
    public = balancer["public_net"]
    listed = [public["ipv4"]["ip"], public["ipv6"]["ip"]] if public["enabled"] else []
    return [*listed, *(place["ip"] for place in balancer["private_net"])]


def _way(target: Mapping[str, Any]) -> str:
    return "private" if target["use_private_ip"] else "public"
