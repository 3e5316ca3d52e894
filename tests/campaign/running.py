"""One run of a workload, with at most one fault, and what it left."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from reconciler.result import Report, Result
from reconciler.sandbox.clock import SimulatedClock
from reconciler.sandbox.hetzner import HetznerOptions, HetznerSimulator
from reconciler.sandbox.kubernetes import KubernetesSimulator
from tests.campaign.faults import FAULTS
from tests.campaign.points import Point, Probe
from tests.campaign.workloads import Step, Workload, approve
from tests.support.direct import DirectSimulation
from tests.support.objects import a_service, ingress, said_of, seen, taints
from tests.support.passes import Run
from tests.support.simulators import START

MOST_PASSES = 12
BETWEEN_S = 30.0
"""Between two passes of a loop that is called or has something left to do."""


@dataclass(frozen=True)
class Outcome:
    """What a run left."""

    found: Mapping[str, Any]
    effects: Counter[str]
    calls: int
    passes: int
    drops: Mapping[str, int]
    """Load balancer and port → by how many targets it ever had fewer than before."""
    holds: frozenset[str]
    result: Result
    """That of the last pass."""
    idle_writes: int
    """Writes of one pass more."""
    has_happened: bool
    points: tuple[Point, ...]
    """All requests, in the order in which they came."""


def _world() -> DirectSimulation:
    clock = SimulatedClock(source=START.timestamp)
    return DirectSimulation(HetznerSimulator(clock, HetznerOptions(action_s=0.0)), KubernetesSimulator(clock), clock)


@cache
def _base(
    before: tuple[Step, ...], environment: tuple[tuple[str, str], ...]
) -> tuple[Mapping[str, Any], Mapping[str, Any], Mapping[str, str]]:
    """The world in which a workload begins: both simulators' worlds, and the environment."""
    world = _world()
    world.settle(3)
    world.environment |= dict(environment)
    world.have_services(a_service(), a_service("db", 80, 443, use_private_ip="true"), {**a_service("idle"), **_PLAIN})
    _until_quiet(world)
    for step in before:
        step(world)
        _until_quiet(world)
    return world.hetzner.world(), world.kubernetes.world(), world.environment


_PLAIN = {"spec": {"type": "ClusterIP", "selector": {"app": "idle"}, "ports": [{"name": "a", "port": 80}]}}


def _until_quiet(world: DirectSimulation) -> None:
    run = _process(world)
    for _ in range(MOST_PASSES):
        if run.converge().result is Result.NO_CHANGES:
            return
        world.advance(BETWEEN_S)
    raise AssertionError("the world of a workload does not come to rest")


def _process(world: DirectSimulation) -> Run[DirectSimulation]:
    run = Run(world, world.settings)
    run.keep(lasts=True)
    return run


def play(workload: Workload, at: Point | None = None, fault: str | None = None) -> Outcome:
    """Carry a workload out, with this fault at this request. Raises what the product does not handle."""
    hetzner, kubernetes, environment = _base(workload.before, tuple(sorted(workload.environment.items())))
    world = _world()
    world.hetzner.replace_world(hetzner["hetzner"])
    world.kubernetes.replace_world(kubernetes["kubernetes"])
    world.environment |= environment
    world.advance(600)
    served = _Served()
    probe = Probe(world, at, FAULTS[fault] if fault else None, after_write=lambda probe: served.look(probe.world))
    served.look(world)
    run, passes, holds = _process(world), 0, set[str]()
    report: Report | None = None
    for number, step in enumerate(workload.steps):
        step(world)
        if step is approve and report is not None:
            probe.is_paused = True
            for hold in report.holds:
                run.approve(hold.hash)
            probe.is_paused = False
        for turn in range(MOST_PASSES):
            probe.begin(number, turn)
            writes = probe.writes
            report = run.converge()
            passes += 1
            holds |= {str(hold.rule) for hold in report.holds}
            if probe.is_dead:
                probe.is_dead, run = False, _process(world)
            elif not probe.is_troubled and (report.result is Result.NO_CHANGES or probe.writes == writes):
                break
            world.advance(BETWEEN_S)
            probe.is_troubled = False
    assert report is not None
    seen, writes = tuple(probe.seen), probe.writes
    run.converge()
    return Outcome(
        found_in(world),
        probe.effects,
        len(seen),
        passes,
        served.drops,
        frozenset(holds),
        report.result,
        probe.writes - writes,
        probe.has_happened,
        seen,
    )


@dataclass
class _Served:
    """The targets of each port: the most at any moment, and by how many there ever were fewer."""

    most: dict[tuple[int, int], int] = field(default_factory=dict)
    """Of each load balancer by its id: another one of its name begins anew."""
    drops: dict[str, int] = field(default_factory=dict)

    def look(self, world: DirectSimulation) -> None:
        for balancer in world.balancers():
            for service in balancer["services"]:
                place, count = (balancer["id"], service["listen_port"]), len(balancer["targets"])
                name = f"{balancer['name']} {service['listen_port']}"
                self.most[place] = max(count, self.most.get(place, 0))
                self.drops[name] = max(self.most[place] - count, self.drops.get(name, 0))


def found_in(world: DirectSimulation) -> Mapping[str, Any]:
    """What there is, but for ids, addresses and times."""
    nodes, services = world.nodes(), world.services()
    return {
        "nodes": {
            name: (node["spec"].get("providerID"), taints(node), node["metadata"]["labels"], _addresses(node))
            for name, node in nodes.items()
        },
        "said": world.all_say(),
        "services": {
            name: (len(_published(service)), said_of(service), service["metadata"].get("finalizers", []))
            for name, service in services.items()
        },
        "balancers": {balancer["name"]: _shape(balancer) for balancer in world.balancers()},
        "routes": world.routes(),
        "certificates": len(world.hetzner.world()["hetzner"].get("certificates", [])),
    }


def _published(service: Mapping[str, Any]) -> list[Any]:
    return ingress(service) if "loadBalancer" in service.get("status", {}) else []


def _addresses(node: Mapping[str, Any]) -> list[tuple[str, str]]:
    return sorted((each["type"], each["address"]) for each in node["status"].get("addresses", []))


def _shape(balancer: Mapping[str, Any]) -> dict[str, Any]:
    shape = {**seen(balancer), "private": len(balancer["private_net"]), "labels": sorted(balancer["labels"])}
    shape.pop("reverse")
    shape["ports"] = sorted(
        (_listener(service) for service in balancer["services"]), key=lambda each: each["listen_port"]
    )
    return shape


def _listener(service: Mapping[str, Any]) -> dict[str, Any]:
    """A port with all that is done there, but for node ports, which Kubernetes chooses."""
    check = {key: part for key, part in service["health_check"].items() if key != "port"}
    return {**{key: part for key, part in service.items() if key != "destination_port"}, "health_check": check}
