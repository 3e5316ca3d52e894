"""One run of a workload, with the faults that it meets, and what it left."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from desired.names import CONFIG_MAP
from reconciler.result import Report, Result
from tests.campaign.cluster import Cluster, Step
from tests.campaign.faults import PAST, fault_of, is_lie
from tests.campaign.fields import Read
from tests.campaign.harm import Judge
from tests.campaign.pass_faults import PASS_FAULTS
from tests.campaign.points import Point, Strike
from tests.campaign.probe import Probe
from tests.campaign.workloads import Workload
from tests.support.objects import a_service, ingress, said_of, seen, taints
from tests.support.world import CONFIG_MAPS

MOST_PASSES = 12


@dataclass(frozen=True)
class Outcome:
    found: Mapping[str, Any]
    effects: Counter[str]
    calls: int
    drops: Mapping[str, int]
    """Load balancer and port → by how many targets it ever had fewer than before."""
    dark: frozenset[str]
    """Load balancer and port that ever had targets, and none later; Services that published an address before a pass,
    and none after it."""
    holds: frozenset[str]
    harm: tuple[str, ...]
    """What must never happen, by the law of harm."""
    result: Result
    """That of the last pass."""
    idle_writes: int
    """Writes of one pass more."""
    happened: frozenset[Point]
    """Where faults have happened."""
    points: tuple[Point, ...]
    """All requests, in the order in which they came."""
    passes: tuple[Point, ...]
    reads: Mapping[Point, Read]
    """What each read was told, where there were no faults."""


@cache
def _base(
    before: tuple[Step, ...], environment: tuple[tuple[str, str], ...]
) -> tuple[Sequence[Mapping[str, Any]], Mapping[str, str]]:
    """The world in which a workload begins: that of each simulator, and the environment."""
    cluster = Cluster.under(dict(environment))
    cluster.settle(3)
    cluster.environment |= dict(environment)
    cluster.to_cluster("POST", CONFIG_MAPS, {"metadata": {"name": CONFIG_MAP}, "data": {}})
    cluster.have_services(a_service(), a_service("db", 80, 443, use_private_ip="true"), {**a_service("idle"), **_PLAIN})
    cluster.start()
    _until_quiet(cluster)
    for step in before:
        step(cluster)
        _until_quiet(cluster)
    return [each.world() for each in cluster.simulators()], cluster.environment


_PLAIN = {"spec": {"type": "ClusterIP", "selector": {"app": "idle"}, "ports": [{"name": "a", "port": 80}]}}


def _is_at_rest(report: Report) -> bool:
    """Whether a pass has left nothing to do, also if a person is needed for another reason than a hold."""
    is_planned = any(line.outcome is None for line in report.lines)
    return report.result is Result.NO_CHANGES or (report.result is Result.BLOCKED and not is_planned)


def _until_quiet(cluster: Cluster) -> None:
    for _ in range(MOST_PASSES):
        cluster.converge()
        if _is_at_rest(cluster.reports[-1]):
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


def in_order() -> Cluster:
    """Three Nodes, ``web`` and ``db``, nothing left to do, and a process in charge."""
    cluster = begun(Workload("", ()))
    cluster.start()
    return cluster


class Course:
    """A run under way: its cluster, and what is seen of it."""

    def __init__(self, workload: Workload, strikes: Sequence[Strike]) -> None:
        self.cluster = begun(workload)
        self.probe = Probe(
            self.cluster,
            {strike.point: fault_of(strike.fault) for strike in strikes if strike.point.api},
            keeps_past=any(PAST.fullmatch(strike.fault) for strike in strikes),
            after_write=self._look,
        )
        self._of_passes = {each.point: PASS_FAULTS[each.fault] for each in strikes if not each.point.api}
        self._served, self._judge = _Served(), Judge(self.cluster)
        self._workload = workload
        self._lies = {each.point for each in strikes if each.point.path.endswith("/services") and is_lie(each.fault)}
        """About Services, which no pass has been judged for yet."""
        self._was_empty = False
        """Whether the last pass met nothing, planned nothing and wrote nothing, so that one more would be the same."""
        self._passes: list[Point] = []
        self._served.look(self.cluster.balancers())
        self.cluster.start()

    def carry_out(self) -> Outcome:
        """Carry the workload out. Raises what the product does not handle."""
        cluster, probe = self.cluster, self.probe
        for number, step in enumerate(self._workload.steps):
            self._judge.let(cluster.reports[-1].holds if cluster.reports else ())
            probe.is_paused = True
            step(cluster)
            probe.is_paused = False
            for turn in range(MOST_PASSES):
                if self._is_at_rest_after(probe.begin(number, turn)):
                    break
                cluster.advance(self._workload.every_s)
        seen, writes, reports = tuple(probe.seen), probe.writes, tuple(cluster.reports)
        if not self._was_empty:
            self._judge.begin()
            cluster.converge()
            self._judge_now()
        return Outcome(
            found_in(cluster),
            probe.effects,
            len(seen),
            self._served.drops,
            frozenset(self._served.dark),
            frozenset(str(hold.rule) for report in reports for hold in report.holds),
            tuple(self._judge.found),
            reports[-1].result,
            probe.writes - writes,
            frozenset(probe.happened),
            seen,
            tuple(self._passes),
            dict(probe.reads),
        )

    def _is_at_rest_after(self, point: Point) -> bool:
        """Make a pass, with what it meets; whether nothing is left to do after it."""
        probe, cluster = self.probe, self.cluster
        self._passes.append(point)
        writes, fault = probe.writes, self._of_passes.get(point)
        probe.is_troubled = fault is not None
        self._judge.begin()
        self._served.begin(cluster)
        if fault is None:
            cluster.converge()
        else:
            probe.happened.add(point)
            fault(self)
        self._judge.see(probe.nodes)
        self._served.look_at_services(cluster)
        is_well = not probe.is_troubled and not probe.hangs
        if is_well:
            self._judge_now()
        self._was_empty = False
        if probe.is_dead or cluster.is_deposed:
            probe.is_dead = False
            cluster.start()
            return False
        has_ended = bool(cluster.reports) and _is_at_rest(cluster.reports[-1])
        has_written = probe.writes != writes
        self._was_empty = is_well and has_ended and not has_written
        return is_well and (has_ended or not has_written)

    def _judge_now(self) -> None:
        told = self._lies & self.probe.happened
        self._judge.end(is_stale=bool(told))
        self._lies -= told

    def _look(self) -> None:
        self.cluster.look()
        self._served.look(self.cluster.balancers())


def play(workload: Workload, *strikes: Strike) -> Outcome:
    """Carry a workload out, with these faults. Raises what the product does not handle."""
    return Course(workload, strikes).carry_out()


@dataclass
class _Served:
    """The targets of each port: the most at any moment, and by how many there ever were fewer."""

    most: dict[tuple[int, int], int] = field(default_factory=dict)
    """Of each load balancer by its id: another one of its name begins anew."""
    drops: dict[str, int] = field(default_factory=dict)
    published: frozenset[str] = frozenset()
    """UIDs of Services that published something when the pass began: what people do to a Service takes its addresses
    away as well, as a change of its type does."""
    dark: set[str] = field(default_factory=set)
    """Where there were targets or addresses, and then none."""

    def look(self, balancers: Sequence[Mapping[str, Any]]) -> None:
        """Note what each port has now."""
        for balancer in balancers:
            for service in balancer["services"]:
                place, count = (balancer["id"], service["listen_port"]), len(balancer["targets"])
                name = f"{balancer['name']} {service['listen_port']}"
                self.most[place] = max(count, self.most.get(place, 0))
                self.drops[name] = max(self.most[place] - count, self.drops.get(name, 0))
                if self.most[place] and not count:
                    self.dark.add(name)

    def begin(self, world: Cluster) -> None:
        """A pass begins."""
        services = world.services().values()
        self.published = frozenset(each["metadata"]["uid"] for each in services if _published(each))

    def look_at_services(self, world: Cluster) -> None:
        """What they publish after a pass. One that is being deleted is to serve nobody, whatever keeps it."""
        for name, service in world.services().items():
            metadata = service["metadata"]
            is_going = "deletionTimestamp" in metadata
            if metadata["uid"] in self.published and not is_going and not _published(service):
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
