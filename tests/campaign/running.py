"""One run of a workload, with at most one fault, and what it left."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from reconciler.result import Result
from tests.campaign.cluster import Cluster, Step
from tests.campaign.faults import FAULTS
from tests.campaign.points import Point, Probe
from tests.campaign.workloads import Workload
from tests.support.objects import a_service, ingress, said_of, seen, taints

MOST_PASSES = 12


@dataclass(frozen=True)
class Outcome:
    """What a run left."""

    found: Mapping[str, Any]
    effects: Counter[str]
    calls: int
    passes: int
    drops: Mapping[str, int]
    """Load balancer and port → by how many targets it ever had fewer than before."""
    dark: frozenset[str]
    """Load balancer and port that ever had targets, and none later; Services that ever published an address, and none
    later."""
    holds: frozenset[str]
    result: Result
    """That of the last pass."""
    idle_writes: int
    """Writes of one pass more."""
    has_happened: bool
    points: tuple[Point, ...]
    """All requests, in the order in which they came."""


@cache
def _base(
    before: tuple[Step, ...], environment: tuple[tuple[str, str], ...]
) -> tuple[Sequence[Mapping[str, Any]], Mapping[str, str]]:
    """The world in which a workload begins: that of each simulator, and the environment."""
    cluster = Cluster.under(dict(environment))
    cluster.settle(3)
    cluster.environment |= dict(environment)
    cluster.have_services(a_service(), a_service("db", 80, 443, use_private_ip="true"), {**a_service("idle"), **_PLAIN})
    cluster.start()
    _until_quiet(cluster)
    for step in before:
        step(cluster)
        _until_quiet(cluster)
    return [each.world() for each in cluster.simulators()], cluster.environment


_PLAIN = {"spec": {"type": "ClusterIP", "selector": {"app": "idle"}, "ports": [{"name": "a", "port": 80}]}}


def _until_quiet(cluster: Cluster) -> None:
    for _ in range(MOST_PASSES):
        cluster.converge()
        if cluster.reports[-1].result is Result.NO_CHANGES:
            return
        cluster.advance(30)
    raise AssertionError("the world of a workload does not come to rest")


def begun(workload: Workload) -> Cluster:
    """The world in which a workload begins, ten minutes later; no process is in charge yet."""
    worlds, environment = _base(workload.before, tuple(sorted(workload.environment.items())))
    cluster = Cluster.under(dict(environment))
    for simulator, world in zip(cluster.simulators(), worlds, strict=True):
        simulator.replace_world(world)
    cluster.advance(600)
    return cluster


def play(workload: Workload, at: Point | None = None, fault: str | None = None) -> Outcome:
    """Carry a workload out, with this fault at this request. Raises what the product does not handle."""
    cluster = begun(workload)
    served = _Served()

    def look(_: Probe) -> None:
        cluster.look()
        served.look(cluster)

    probe = Probe(cluster, at, FAULTS[fault] if fault else None, after_write=look)
    served.look(cluster)
    served.look_at_services(cluster)
    cluster.start()
    for number, step in enumerate(workload.steps):
        probe.is_paused = True
        step(cluster)
        probe.is_paused = False
        for turn in range(MOST_PASSES):
            probe.begin(number, turn)
            writes = probe.writes
            cluster.converge()
            served.look_at_services(cluster)
            if probe.is_dead:
                probe.is_dead = False
                cluster.start()
            elif not probe.is_troubled and (_has_ended(cluster) or probe.writes == writes):
                break
            cluster.advance(workload.every_s)
            probe.is_troubled = False
    seen, writes, reports = tuple(probe.seen), probe.writes, tuple(cluster.reports)
    cluster.converge()
    return Outcome(
        found_in(cluster),
        probe.effects,
        len(seen),
        len(reports),
        served.drops,
        frozenset(served.dark),
        frozenset(str(hold.rule) for report in reports for hold in report.holds),
        reports[-1].result,
        probe.writes - writes,
        probe.has_happened,
        seen,
    )


def _has_ended(cluster: Cluster) -> bool:
    return bool(cluster.reports) and cluster.reports[-1].result is Result.NO_CHANGES


@dataclass
class _Served:
    """The targets of each port: the most at any moment, and by how many there ever were fewer."""

    most: dict[tuple[int, int], int] = field(default_factory=dict)
    """Of each load balancer by its id: another one of its name begins anew."""
    drops: dict[str, int] = field(default_factory=dict)
    published: set[str] = field(default_factory=set)
    """UIDs of Services that ever published anything."""
    dark: set[str] = field(default_factory=set)
    """Where there were targets or addresses, and then none."""

    def look(self, world: Cluster) -> None:
        for balancer in world.balancers():
            for service in balancer["services"]:
                place, count = (balancer["id"], service["listen_port"]), len(balancer["targets"])
                name = f"{balancer['name']} {service['listen_port']}"
                self.most[place] = max(count, self.most.get(place, 0))
                self.drops[name] = max(self.most[place] - count, self.drops.get(name, 0))
                if self.most[place] and not count:
                    self.dark.add(name)

    def look_at_services(self, world: Cluster) -> None:
        """What they publish after a pass."""
        for name, service in world.services().items():
            uid = service["metadata"]["uid"]
            if _published(service):
                self.published.add(uid)
            elif uid in self.published:
                self.dark.add(name)


def found_in(world: Cluster) -> Mapping[str, Any]:
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
        "certificates": {each["name"]: _certified(each) for each in world.certificates()},
    }


def _published(service: Mapping[str, Any]) -> list[Any]:
    return ingress(service) if "loadBalancer" in service.get("status", {}) else []


def _certified(certificate: Mapping[str, Any]) -> Mapping[str, Any]:
    return {key: certificate.get(key) for key in ("type", "domain_names", "labels", "status")}


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
