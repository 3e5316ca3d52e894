"""Workloads of the campaign: what happens to a cluster that is in order, one step after the other.

In the beginning there are three Nodes with their routes, and the Services ``web`` and ``db`` with a load balancer each,
``db`` by private addresses; the Service ``idle`` has none. A step happens between passes.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from types import MappingProxyType

from tests.support.objects import (
    AUTOSCALER,
    a_server_of,
    a_service,
    joining_node,
    pods_of,
    port,
    private_ip,
)
from tests.support.simulators import START
from tests.support.world import World

Step = Callable[[World], object]


def approve(_: World) -> None:
    """A person approves whatever is held."""


EXCLUDED = "node.kubernetes.io/exclude-from-external-load-balancers"
LONG_SILENT = (START - timedelta(hours=2)).strftime("%Y-%m-%dT%H:%M:%SZ")
IDLE = {
    "id": 80,
    "name": "idle",
    "load_balancer_type": "lb11",
    "location": "fsn1",
    "labels": {"made-by": "terraform"},
}
"""A load balancer that belongs to no Service and leads nowhere."""


@dataclass(frozen=True)
class Workload:
    """What happens, and to which world."""

    name: str
    steps: tuple[Step, ...]
    before: tuple[Step, ...] = ()
    """What is so in the beginning, and carried out before anything is counted."""
    environment: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))


def _join(number: int) -> Step:
    def step(world: World) -> None:
        world.add_servers(a_server_of(number))
        node = joining_node(f"web-{number}")
        node["spec"] |= {"podCIDR": pods_of(number), "podCIDRs": [pods_of(number)]}
        world.register(node)

    return step


def _in_turn(*steps: Step) -> Step:
    def step(world: World) -> None:
        for each in steps:
            each(world)

    return step


def _lose(number: int) -> Step:
    """A server is gone, and its kubelet has been silent for two hours."""

    def step(world: World) -> None:
        world.delete_server(number)
        world.set_ready(f"web-{number}", ready="Unknown", since=LONG_SILENT)

    return step


def _annotate(service: str = "web", **options: str | None) -> Step:
    return lambda world: world.annotate(service, **options)


def _expose(service: str, /, *ports: int, **options: str) -> Step:
    return lambda world: world.have_services(a_service(service, *ports, **options))


def _delete(name: str) -> Step:
    return lambda world: world.delete_service(name)


def _resize(world: World) -> None:
    world.change_servers(3, server_type="cpx42")


def _drain(world: World) -> None:
    world.cordon("web-3")
    world.taint("web-3", key=AUTOSCALER)


def _relabel(world: World) -> None:
    """Somebody takes the label of a load balancer off."""
    world.change_labels(next(each["id"] for each in world.balancers() if each["labels"]), {})


def _later(seconds: float) -> Step:
    return lambda world: world.advance(seconds)


def _strange_route(world: World) -> None:
    world.have_routes(*({"destination": pods_of(n), "gateway": private_ip(n % 3 + 1)} for n in (1, 2, 3)))


def _idle(world: World) -> None:
    world.have_balancers(*world.balancers(), IDLE)


def _join_server(world: World) -> None:
    world.add_servers(a_server_of(4))


def _listen(*ports: int) -> Step:
    return lambda world: world.listen("web", *map(port, ports))


def _retain(world: World) -> None:
    world.annotate("db", deletion_policy="retain")


def _delete_balancer(world: World) -> None:
    """Somebody deletes the load balancer of ``web``."""
    web = world.service()["metadata"]["uid"]
    (found,) = (each for each in world.balancers() if web in each["labels"].values())
    world.delete_balancer(found["id"])


def _exclude(world: World) -> None:
    world.label("web-3", labels={EXCLUDED: ""})


def _include(world: World) -> None:
    world.label("web-3", labels={EXCLUDED: None})


WORKLOADS: Mapping[str, Workload] = {
    workload.name: workload
    for workload in (
        Workload("a Node joins", (_join(4),)),
        Workload("three Nodes join", (_in_turn(_join(4), _join(5), _join(6)),)),
        Workload("a Node joins before its server", (lambda world: world.register(joining_node("web-4")), _join_server)),
        Workload("a server is resized", (_resize,)),
        Workload("a Node is drained and deleted", (_drain, _lose(3))),
        Workload("a server is lost", (_lose(3),)),
        Workload("a Node is deleted", (lambda world: world.delete_node("web-3"), approve)),
        Workload("a Service comes", (_expose("api", 80, 443),)),
        Workload("two Services come", (_in_turn(_expose("api"), _expose("mail", 25, use_private_ip="true")),)),
        Workload("two Services ask for one name", (_expose("api", name="one"), _expose("mail", name="one"))),
        Workload("ports change", (lambda world: world.listen("web", port(8080), port(443)),)),
        Workload("a port is added and taken back", (_listen(80, 443), _listen(80))),
        Workload("a Service goes private", (_annotate(use_private_ip="true"),)),
        Workload("a Service goes public", (_annotate("db", use_private_ip="false"),)),
        Workload("a private address is chosen", (_annotate("db", private_ipv4="10.0.0.77"), approve)),
        Workload("the public interface is closed", (_annotate("db", disable_public_network="true"),)),
        Workload("type and algorithm change", (_annotate(type="lb21", algorithm_type="least_connections"),)),
        Workload("an idle load balancer is adopted", (_expose("api", name="idle"),), before=(_idle,)),
        Workload("a Service is renamed at Hetzner", (_annotate(name="shop"),)),
        Workload("a Service goes", (_delete("db"),)),
        Workload("a Service goes and its load balancer is retained", (_delete("db"),), (_retain,)),
        Workload(
            "a deletion is undone",
            (_delete("db"), _expose("db", use_private_ip="true")),
            environment={"RECONCILER_LOAD_BALANCER_UNDO": "10m"},
        ),
        Workload(
            "a deletion is not undone in time",
            (_delete("db"), _later(700)),
            environment={"RECONCILER_LOAD_BALANCER_UNDO": "10m"},
        ),
        Workload("a Service turns into another type", (lambda world: world.turn("db", "ClusterIP"),)),
        Workload("a load balancer loses its label", (_relabel,)),
        Workload("a load balancer is deleted at the console", (_delete_balancer,)),
        Workload("routes are led elsewhere", (_strange_route,)),
        Workload("Nodes are excluded and return", (_exclude, _include)),
        Workload("a server leaves the network", (lambda world: world.leave_network(3, 7),)),
        Workload("a server is switched off", (lambda world: world.power(3, on=False),)),
    )
}
