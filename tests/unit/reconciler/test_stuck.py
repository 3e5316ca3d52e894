"""What never ends at Hetzner costs its own object: Nodes join, and other Services are served, whatever it is."""

from collections.abc import Collection
from dataclasses import dataclass, field
from typing import Any

from desired.model.settings import Settings
from hcloud_sandbox.hetzner import HetznerOptions
from tests.balancers import IN_NETWORK, LOCATED
from tests.support.lines import Trouble
from tests.support.objects import NETWORK, UNINITIALIZED, joining_node, server, settled_node
from tests.support.passes import load_balancer_service
from tests.support.simulated_loop import SimulatedLoop
from tests.support.world import SERVICES as SERVICES_PATH

NEVER_S = 1e6
SERVICES = [f"web-{number:02}" for number in range(12)]
LATER_S = 15.0
"""When a Node joins, and another Service is created."""


@dataclass(frozen=True, slots=True)
class Sticky(HetznerOptions):
    """The first actions with these commands never end."""

    never: dict[str, int] = field(default_factory=dict)
    """Command → how many more of its actions never end."""

    def seconds_of(self, command: str) -> float:
        self.never[command] = self.never.get(command, 0) - 1
        return NEVER_S if self.never[command] >= 0 else self.action_s


def a_service(name: str) -> dict[str, Any]:
    service = load_balancer_service(name)
    return {**service, "metadata": {**service["metadata"], "uid": f"uid-{name}"}}


def a_loop(services: Collection[str], settings: Settings, never: dict[str, int]) -> SimulatedLoop:
    numbers = (1, 2, 3, 4)
    private = {number: [{"network": 7, "ip": f"10.0.0.{number + 1}"}] for number in numbers}
    return SimulatedLoop(
        [settled_node(f"node-{number}", number) for number in (1, 2)],
        [a_service(name) for name in services],
        {"servers": [server(n, f"node-{n}", private_net=private[n]) for n in numbers], "networks": [NETWORK]},
        settings,
        Sticky(never=never, load_balancer_limit=100),
    )


def arrive(loop: SimulatedLoop, node: str, *services: str) -> None:
    loop.sim.kubernetes_writer().create("/api/v1/nodes", joining_node(node))
    for name in services:
        loop.sim.kubernetes_writer().create(SERVICES_PATH, a_service(name))


def watch(loop: SimulatedLoop) -> dict[str, float]:
    """Name of each Node that is initialized, and of each Service that has an address → when that came about, a second
    later at most."""
    found: dict[str, float] = {}

    def look() -> None:
        world = loop.sim.kubernetes.world()["kubernetes"]
        done = [node for node in world["nodes"] if UNINITIALIZED not in node["spec"].get("taints", [])]
        done += [each for each in world["services"] if each.get("status", {}).get("loadBalancer", {}).get("ingress")]
        for each in done:
            found.setdefault(each["metadata"]["name"], loop.scheduler.now)
        loop.scheduler.at(loop.scheduler.now + 1.0, look)

    loop.scheduler.at(0.0, look)
    return found


def refused(*ends: str) -> Trouble:
    body = {"error": {"code": "locked", "message": "it is locked", "details": None}}
    return lambda method, path: (423, body) if method == "POST" and path.endswith(ends) else None


def test_twelve_actions_that_never_end() -> None:
    """A Node that joins is initialized, and a Service that is created then has its address, within ten seconds. What
    goes on is asked for at most each five seconds, all of it at once."""
    loop = a_loop(SERVICES, LOCATED, {"create_load_balancer": 12})
    done = watch(loop)
    loop.at(LATER_S, lambda: arrive(loop, "node-3", "other"))

    loop.pass_hours(30 / 3600)

    assert max(done["node-3"], done["other"]) <= LATER_S + 10
    assert len(loop.sent("POST", "/load_balancers")) == 13
    assert len(loop.calls) <= 40


def test_one_plan_with_twelve_actions_that_never_end() -> None:
    """What is planned beside them is done, even if nobody calls for another pass."""
    loop = a_loop([*SERVICES, "other"], LOCATED, {"create_load_balancer": 12})
    done = watch(loop)

    loop.pass_hours(30 / 3600)

    assert len(done.keys() - {"node-1", "node-2"}) == 1  # which of them is the lucky one is not said
    assert max(done.values()) <= 15
    assert len(loop.sent("POST", "/load_balancers")) == 13


def test_creations_in_a_network_that_never_end() -> None:
    """They keep the network locked: others that want to be in it are refused, and nobody else waits."""
    loop = a_loop(SERVICES, IN_NETWORK, {"create_load_balancer": 1})
    done = watch(loop)
    loop.at(LATER_S, lambda: arrive(loop, "node-3"))

    loop.pass_hours(30 / 3600)

    assert done["node-3"] <= LATER_S + 10
    assert len(loop.calls) <= 45


def test_a_load_balancer_that_is_locked_for_ever() -> None:
    """It costs its own changes alone: the first one that finds it locked, after five tries, ends the pass for all."""
    loop = a_loop(["web"], LOCATED, {})
    done = watch(loop)
    loop.line.trouble = refused("/load_balancers/1/actions/add_target")
    loop.at(LATER_S, lambda: arrive(loop, "node-3"))
    loop.at(LATER_S + 1, lambda: arrive(loop, "node-4", "other"))

    loop.pass_hours(60 / 3600)

    assert max(done["node-4"], done["other"]) <= LATER_S + 1 + 7
    assert len(loop.sent("POST", "/add_target")) <= 5 * len(loop.reports)


def test_a_network_that_is_locked_for_ever() -> None:
    """Of the Services that want to be in it one is tried in a pass, five times; a Node joins meanwhile."""
    loop = a_loop(SERVICES, IN_NETWORK, {})
    done = watch(loop)
    loop.line.trouble = refused("/load_balancers")
    loop.at(LATER_S, lambda: arrive(loop, "node-3"))

    loop.pass_hours(60 / 3600)

    assert done["node-3"] <= LATER_S + 7
    assert len(loop.sent("POST", "/load_balancers")) <= 5 * len(loop.reports)
