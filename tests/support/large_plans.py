"""Worlds with so much to do that their plans are folded, as that of a hundred Nodes that join, and twenty Services."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from ipaddress import IPv4Address
from typing import Any

from desired.guards.by_default import by_default
from desired.guards.judge import judge
from desired.health import states_of
from desired.planner import compute_plan
from hcloud_sandbox.clock import SimulatedClock
from hcloud_sandbox.hetzner import HetznerSimulator
from kubernetes_double import KubernetesSimulator
from reconciler.observe.world import observe_world
from reconciler.result import Line, Report
from tests.routes import gateway_of, pods_of
from tests.support.direct import DirectSimulation
from tests.support.judging import facts_of
from tests.support.objects import NETWORK, joining_node, server, with_pods
from tests.support.passes import ROUTED, Run, load_balancer_service
from tests.support.simulators import START, Simulation
from tests.support.world import settings_of

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


def a_report_of(world: Mapping[str, Any], variables: Mapping[str, str]) -> Report:
    """The report of a plan of a world file's content, which guard ``by-default`` alone has judged: the others look at
    each of thousands of targets for seconds."""
    clock = SimulatedClock(source=START.timestamp)
    cloud = HetznerSimulator(clock, world=world["hetzner"])
    cluster = KubernetesSimulator(clock, world=world["kubernetes"])
    settings = settings_of(variables)
    snapshot = observe_world(DirectSimulation(cloud, cluster, clock, is_judged=False).readers(), settings).snapshot
    facts = facts_of(compute_plan(snapshot, settings), snapshot, settings)
    plan = judge(facts, results=by_default(facts))
    report = Report(snapshot, tuple(map(Line, plan.changes)), plan.notes, plan.holds, settings=settings, facts=facts)
    return replace(report, states=states_of(facts, plan, {}))
