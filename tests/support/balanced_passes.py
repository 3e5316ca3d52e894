"""Whole passes in a small world whose Services want load balancers, and what became of them."""

from collections.abc import Callable
from typing import Any

from desired.model.settings import Settings
from reconciler.result import Report
from tests.balancers import LOCATED
from tests.support.objects import joining_node, server, settled_node
from tests.support.passes import Run
from tests.support.simulators import Simulation

NETWORK = {
    "id": 7,
    "name": "private",
    "ip_range": "10.0.0.0/16",
    "subnets": [{"type": "cloud", "ip_range": "10.0.0.0/24", "network_zone": "eu-central"}],
}
SERVICES = "/api/v1/namespaces/default/services"
BALANCER, SERVICE = "load_balancer/default/web", "service/default/web"
"""Keys of what ``load_balancer_service()`` has, and of itself."""


def load_balancer_service(name: str = "web", **annotations: str) -> dict[str, Any]:
    """A Service that wants a load balancer for one port."""
    port = {"name": "http", "port": 80, "targetPort": 8080, "protocol": "TCP", "nodePort": 30080}
    return {
        "metadata": {"name": name, "namespace": "default", "annotations": annotations},
        "spec": {"type": "LoadBalancer", "ports": [port], "clusterIP": "10.96.0.1"},
    }


def a_balanced_run(
    simulate: Callable[..., Simulation], *services: dict[str, Any], settings: Settings = LOCATED, **project: Any
) -> Run:
    """A run in a world with a Node in order, one that joins, their servers and network, and these Services; by default
    ``load_balancer_service()``."""
    servers = [
        server(number, f"web-{number}", private_net=[{"network": 7, "ip": f"10.0.0.{number + 1}"}]) for number in (1, 2)
    ]
    sim = simulate(
        nodes=[settled_node("web-1", 1), joining_node("web-2")],
        project={"servers": servers, "networks": [NETWORK], **project},
    )
    for service in services or (load_balancer_service(),):
        sim.kubernetes_writer().create(SERVICES, service)
    sim.kubernetes_proxy.journal.clear()
    return Run(sim, settings)


def written(run: Run) -> list[str]:
    """Method and last part of the path of each write to Hetzner, in order."""
    writes = (entry for entry in run.sim.sent_to_hetzner() if entry.method != "GET")
    return [f"{entry.method} {entry.path.rpartition('/')[2]}" for entry in writes]


def outcomes(report: Report) -> dict[str, type | None]:
    """Key → how each change ended."""
    return {line.change.key: None if line.outcome is None else type(line.outcome) for line in report.lines}


def published(run: Run, name: str = "web") -> list[str]:
    """The addresses in the Service's status."""
    balancer = run.sim.objects("services")[name].get("status", {}).get("loadBalancer", {})
    return [entry["ip"] for entry in balancer.get("ingress", [])]


def balancers(run: Run) -> list[dict[str, Any]]:
    """The load balancers of the project."""
    listed: list[dict[str, Any]] = run.sim.hetzner.world()["hetzner"]["load_balancers"]
    return listed
