"""The three doors of the core of verbs: what happens to a world, and what passes make of it, is the same in each."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from hcloud_sandbox.clock import SimulatedClock
from hcloud_sandbox.hetzner import HetznerOptions, HetznerSimulator
from kubernetes_double import KubernetesSimulator
from reconciler.result import Result
from tests.support.direct import DirectSimulation
from tests.support.in_process import one_pass
from tests.support.objects import a_server_of, a_service, ingress, joining_node, pods_of, port, seen, taints
from tests.support.passes import Run
from tests.support.simulators import START
from tests.support.stage import SimulatedCluster, Stage
from tests.support.values import Values, differences
from tests.support.world import World


def _join(world: World) -> None:
    world.add_servers(a_server_of(3))
    node = joining_node("web-3")
    node["spec"] |= {"podCIDR": pods_of(3), "podCIDRs": [pods_of(3)]}
    world.register(node)


def _expose(world: World) -> None:
    world.have_services(a_service(), a_service("db", 80, 443, use_private_ip="true"))


def _edit(world: World) -> None:
    world.annotate("db", algorithm_type="least_connections")
    world.listen("web", port(80), port(8080))


WORKLOADS: Mapping[str, Callable[[World], object]] = {
    "a Node joins": _join,
    "Services come": _expose,
    "a Service is edited": _edit,
    "a Node is drained": lambda world: world.taint("web-3", key="ToBeDeletedByClusterAutoscaler"),
    "a route is led elsewhere": lambda world: world.have_routes({"destination": pods_of(1), "gateway": "10.0.0.102"}),
    "a Service goes": lambda world: world.delete_service("db"),
}
"""What happens → how, one after the other in the same world."""


def _in_process() -> DirectSimulation:
    clock = SimulatedClock(source=START.timestamp)
    hetzner = HetznerSimulator(clock, HetznerOptions(action_s=0.0))
    world = DirectSimulation(hetzner, KubernetesSimulator(clock), clock)
    world.settle(2)
    return world


def _copied(world: DirectSimulation) -> DirectSimulation:
    clock = SimulatedClock(source=world.clock.timestamp)
    hetzner = HetznerSimulator(clock, HetznerOptions(action_s=0.0), world=world.hetzner.world())
    cluster = KubernetesSimulator(clock, world=world.kubernetes.world()["kubernetes"])
    return DirectSimulation(hetzner, cluster, clock, environment=dict(world.environment))


def _found(world: World) -> dict[str, Any]:
    """What there is, but for what an API chooses."""
    nodes, services = world.nodes(), world.services()
    return {
        "nodes": {name: (node["spec"].get("providerID"), taints(node)) for name, node in nodes.items()},
        "labels": {name: node["metadata"]["labels"] for name, node in nodes.items()},
        "published": {name: len(ingress(service)) for name, service in services.items()},
        "balancers": [_shape(balancer) for balancer in world.balancers()],
        "routes": world.routes(),
        "said": world.all_say(),
    }


def _shape(balancer: Mapping[str, Any]) -> dict[str, Any]:
    """Its name follows from a UID, its reverse DNS from an address, and node ports are chosen by the API."""
    found = {key: value for key, value in seen(balancer).items() if key not in ("name", "labels", "reverse")}
    return {**found, "ports": sorted(found["ports"])}


def _until(world: DirectSimulation, last: str) -> DirectSimulation:
    """The world in which all before this has happened, and been carried out, and this has happened."""
    for name, happens in WORKLOADS.items():
        happens(world)
        if name == last:
            break
        Run(world, world.settings).converge()
    return world


@pytest.mark.parametrize("workload", WORKLOADS)
def test_values_become_what_passes_make(workload: str) -> None:
    """Passes that are folded into a snapshot leave what passes in process leave."""
    world = _until(_in_process(), workload)
    values = Values.of(world)
    values.settle()
    while Run(world, world.settings).converge().result is not Result.NO_CHANGES:
        world.advance(60)
    found = differences(values.snapshot, Values.of(world).snapshot)
    assert [each for each in found if "ingress: foreseen ()" not in each] == []  # Hetzner chooses addresses


def test_the_api_server_has_what_is_in_process(tmp_path: Path) -> None:
    """The same happens through both doors, and each pass leaves the same."""
    cluster = SimulatedCluster(tmp_path)
    stage, world = Stage(cluster, tmp_path, None, HetznerOptions(action_s=0.0)), _in_process()
    try:
        stage.settle(2)
        for happens in WORKLOADS.values():
            happens(stage)
            happens(world)
            one_pass(stage)
            Run(world, world.settings).converge()
            assert _found(stage) == _found(world)
    finally:
        stage.close()
        cluster.close()


@pytest.mark.parametrize("is_done", [False, True], ids=["before", "after"])
@pytest.mark.parametrize("workload", WORKLOADS)
def test_a_process_that_dies_leaves_no_trace(workload: str, is_done: bool) -> None:
    """Whichever write it dies at, before or after its effect, the next one finishes what it began, and makes nothing
    twice."""
    begun = _until(_in_process(), workload)
    undisturbed = _copied(begun)
    Run(undisturbed, undisturbed.settings).converge()
    wanted = _found(undisturbed)
    for write in range(100):
        world = _copied(begun)
        death = world.dies_at(write, is_done=is_done)
        Run(world, world.settings).converge()
        world.revive()
        world.advance(60)
        while Run(world, world.settings).converge().result is not Result.NO_CHANGES:
            world.advance(60)
        assert _found(world) == wanted, f"died {'after' if is_done else 'before'} write {write}"
        if not death.is_dead:
            break
    assert write > 0
