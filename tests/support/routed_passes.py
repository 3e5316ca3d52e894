"""Whole passes in a cluster whose Nodes have pod CIDRs, and what became of its routes.

What has the number 3 is Node web-3 on server 3, with the gateway 10.0.0.4 and the pods 10.244.3.0/24.
"""

import threading
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from actuators.http.hetzner import HetznerConnection, HetznerWriter
from actuators.outcome import Applied, Outcome
from desired.model.settings import Settings
from desired.plan.change import Change
from tests.balancers import IN_NETWORK
from tests.routes import CLUSTER_CIDR, gateway_of, pods_of
from tests.support.balanced_passes import NETWORK, SERVICES, load_balancer_service
from tests.support.objects import joining_node, server
from tests.support.passes import Ears, Run
from tests.support.simulators import TIMEOUT_S, Simulation

ROUTED = replace(IN_NETWORK, routes=True, cluster_cidr=CLUSTER_CIDR)
"""Settings with which routes are made in network 7."""


def a_run_of_joining_nodes(
    simulate: Callable[..., Simulation], nodes: int, services: int = 0, *, settings: Settings = ROUTED, **run: Any
) -> Run:
    """A run in a world with so many Nodes that join, from number 1 on, and so many new Services ``web-1`` and on.
    ``run`` are fields of the run."""
    numbers = range(1, nodes + 1)
    servers = [server(n, f"web-{n}", private_net=[{"network": NETWORK["id"], "ip": gateway_of(n)}]) for n in numbers]
    sim = simulate(nodes=[_joining_node(n) for n in numbers], project={"servers": servers, "networks": [NETWORK]})
    for number in range(1, services + 1):
        sim.kubernetes_writer().create(SERVICES, load_balancer_service(f"web-{number}"))
    sim.kubernetes_proxy.journal.clear()
    return Run(sim, settings, **run)


def routes_of(run: Run) -> Mapping[str, str]:
    """Destination → gateway of each route of the network."""
    (network,) = run.sim.hetzner.world()["hetzner"]["networks"]
    return {route["destination"]: route["gateway"] for route in network["routes"]}


def routes_to(nodes: int) -> Mapping[str, str]:
    """The same as it should be: a route to the pods of each Node."""
    return {pods_of(number): gateway_of(number) for number in range(1, nodes + 1)}


def routed_nodes(run: Run) -> frozenset[str]:
    """Names of the Nodes that are told that they have their routes."""
    return frozenset(
        name
        for name, node in run.sim.nodes().items()
        for each in node["status"]["conditions"]
        if (each["type"], each["status"], each["reason"]) == ("NetworkUnavailable", "False", "RouteCreated")
    )


def added(run: Run) -> int:
    """How many routes were asked for so far."""
    return sum(entry.path.endswith("/add_route") for entry in run.sim.sent_to_hetzner())


class Milestones(Ears):
    """Ears that know when so many changes of each kind were applied in this run."""

    def __init__(self, **wanted: int) -> None:
        """``wanted`` is how many of which kind: ``service_status=3``."""
        super().__init__()
        self._missing = Counter({kind.replace("_", ".", 1): number for kind, number in wanted.items()})
        self._reached = {kind: threading.Event() for kind in self._missing}

    def done(self, change: Change, outcome: Outcome) -> None:
        """Note how a change ended."""
        super().done(change, outcome)
        if isinstance(outcome, Applied) and change.kind in self._missing:
            self._missing[change.kind] -= 1
            if self._missing[change.kind] == 0:
                self._reached[change.kind].set()

    def await_all(self, *kinds: str) -> None:
        """Wait until all of these kinds were applied. Raises AssertionError when they are not for a long time."""
        for kind in kinds:
            assert self._reached[kind].wait(TIMEOUT_S), f"{self._missing[kind]} of {kind} are waiting"


class PatientWriter(HetznerWriter):
    """Adds no route before ``before`` has returned, which is told how many were added so far."""

    def __init__(self, connection: HetznerConnection, before: Callable[[int], object]) -> None:
        super().__init__(connection)
        self._before = before
        self._added = 0

    def post(self, path: str, body: Mapping[str, Any] | None = None, *, repeatable: bool = False) -> bytes:
        """POST, when it is time."""
        if path.endswith("/add_route"):
            self._before(self._added)
            self._added += 1
        return super().post(path, body, repeatable=repeatable)


def _joining_node(number: int) -> dict[str, Any]:
    node = joining_node(f"web-{number}")
    pods = pods_of(number)
    return {**node, "spec": {**node["spec"], "podCIDR": pods, "podCIDRs": [pods]}}
