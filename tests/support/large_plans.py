"""A world with so much to do that its plan is folded: a hundred Nodes that join, and twenty new Services."""

from collections.abc import Callable
from dataclasses import replace
from ipaddress import IPv4Address
from typing import Any

from tests.routes import gateway_of, pods_of
from tests.support.objects import NETWORK, joining_node, server, with_pods
from tests.support.passes import ROUTED, Run, load_balancer_service
from tests.support.simulators import Simulation

_LOCATIONS = ("nbg1", "fsn1", "hel1")
LARGE = replace(ROUTED, network="4711")
"""The settings of such a run."""


def a_large_run(simulate: Callable[..., Simulation], nodes: int = 100, services: int = 20) -> Run:
    """A run in network 4711, where Nodes w-000 and on join, a third of them of a larger type, and Services shop/app-00
    and on want load balancers."""
    sim = simulate(nodes=large_nodes(nodes), project=large_project(nodes))
    sim.kubernetes_writer().create("/api/v1/namespaces", {"metadata": {"name": "shop"}})
    for service in large_services(services):
        sim.kubernetes_writer().create("/api/v1/namespaces/shop/services", service)
    sim.kubernetes_proxy.journal.clear()
    return Run(sim, LARGE)


def large_nodes(count: int) -> list[dict[str, Any]]:
    return [with_pods(joining_node(f"w-{number:03}"), pods_of(number)) for number in range(count)]


def large_services(count: int) -> list[dict[str, Any]]:
    services = [load_balancer_service(f"app-{number:02}") for number in range(count)]
    return [{**service, "metadata": {**service["metadata"], "namespace": "shop"}} for service in services]


def large_project(count: int) -> dict[str, Any]:
    """The servers of so many Nodes, in the network."""
    subnet = {"type": "cloud", "ip_range": "10.0.0.0/20", "network_zone": "eu-central"}
    network = {**NETWORK, "id": 4711, "subnets": [subnet]}
    return {"servers": [_server(number) for number in range(count)], "networks": [network]}


def _server(number: int) -> dict[str, Any]:
    return server(
        1000 + number,
        f"w-{number:03}",
        server_type="cpx42" if number % 3 == 2 else "cpx32",
        location=_LOCATIONS[number % 3],
        public_net={"ipv4": {"ip": str(IPv4Address("203.0.113.1") + number)}},
        private_net=[{"network": 4711, "ip": gateway_of(number + 1)}],
    )
