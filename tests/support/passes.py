"""A product that is wired to a simulation, and whole passes of it."""

import threading
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import cached_property, partial
from typing import Any, Generic

from typing_extensions import TypeVar

from actuators.approvals import ApprovalUses, approve
from actuators.calls import have_room, within_budget
from actuators.config_maps import ConfigMap
from actuators.http.actions import Actions
from actuators.http.call_budget import CallBudget
from actuators.http.hetzner import HetznerConnection, HetznerReader, HetznerWriter
from actuators.lanes import UnderWay
from actuators.nodes import write_sync_condition
from actuators.outcome import Applied, Outcome
from actuators.services import write_conditions
from actuators.unlisted import UnlistedBalancers
from actuators.writers import Writers
from desired.model.settings import Settings
from desired.model.snapshot import Snapshot
from desired.plan.change import Change
from desired.plan.grants import Grant, Source
from desired.planner import compute_plan
from reconciler.observe.servers_by_id import Confirmer
from reconciler.observe.world import Readers, observe_world
from reconciler.passes.agreement import Agreement
from reconciler.passes.context import ApplyContext, PlanContext
from reconciler.passes.history import History
from reconciler.passes.one_pass import converge, plan_once
from reconciler.passes.records import Records, unkept
from reconciler.result import Report
from reconciler.runtime import actuators_with
from reconciler.telemetry.conditions import ConditionSink, NodeConditionSink
from reconciler.telemetry.events import Event
from tests.balancers import IN_NETWORK as PRIVATE
from tests.balancers import LOCATED
from tests.routes import CLUSTER_CIDR, gateway_of, pods_of
from tests.support.cooperative import Scheduler
from tests.support.objects import NETWORK, UNINITIALIZED, joining_node, server, settled_node, with_pods
from tests.support.records import begin_record, uses_of
from tests.support.simulators import TIMEOUT_S, Gate, PassingTime, Simulated, Simulation, is_open
from tests.support.world import SERVICES

NAMESPACE = "kube-system"
BALANCER, SERVICE = "load_balancer/default/web", "service/default/web"
"""Keys of what ``load_balancer_service()`` has, and of itself."""
ROUTED = replace(PRIVATE, routes=True, cluster_cidr=CLUSTER_CIDR)
"""Settings with which routes are made in network 7."""


@dataclass
class Ears:
    """Hears events and progress."""

    events: list[Event] = field(default_factory=list)
    begun: int = 0
    ended: int = 0
    outcomes: dict[str, Outcome] = field(default_factory=dict)
    times: list[datetime] = field(default_factory=list)

    def send(self, event: Event, now: datetime) -> None:
        self.events.append(event)
        self.times.append(now)

    def announce(self, events: Collection[Event], now: datetime) -> None:
        self.events += (event for event in events if not event.is_silent)
        self.times.append(now)

    def begin(self, changes: Sequence[Change]) -> None:
        """Count the passes that write."""
        self.begun += bool(changes)

    def done(self, change: Change, outcome: Outcome) -> None:
        self.outcomes[change.key] = outcome

    def end(self) -> None:
        """Count the writing passes that came to an end."""
        self.ended += 1


W = TypeVar("W", bound=Simulated, default=Simulation)


@dataclass
class Run(Generic[W]):
    """A product that is wired to one simulation."""

    sim: W
    settings: Settings = field(default_factory=Settings)
    approved: tuple[str, ...] = ()
    approve_flags: str = ""
    stop: threading.Event = field(default_factory=threading.Event)
    ears: Ears = field(default_factory=Ears)
    is_called: Callable[[], bool] = lambda: False
    history: History | None = None
    """What a loop would remember; None: each pass is the first."""
    budget: CallBudget | None = None
    """What a loop would have left of calls to Hetzner; None: as many as may be."""
    agreement: Agreement = field(default_factory=Agreement)
    """What was agreed to; by default whatever the guards allow."""
    records: Records | None = None
    """What is remembered from pass to pass; None: nothing is."""
    scheduler: Scheduler | None = None
    """Of what passes leave and of themselves; None: they leave nothing."""
    gate: Gate = is_open
    """Asked before each write."""
    tells_health: bool = False
    """``--health-conditions``."""
    tells_sync: bool = False
    """``--node-conditions``."""
    readers: Readers = field(init=False)
    writer: HetznerWriter = field(init=False)
    cloud: HetznerConnection = field(init=False)

    def __post_init__(self) -> None:
        cloud = self.cloud = self.sim.hetzner_connection(gate=self.gate)
        reader = HetznerReader(cloud)
        robot = self.sim.robot_readers()
        cluster = self.sim.kubernetes_reader()
        unlisted = UnlistedBalancers(ConfigMap.of(cluster, NAMESPACE).read_record)
        self.readers = Readers(cluster, reader, Confirmer(reader), unlisted, robot=robot)
        self.writer = HetznerWriter(cloud)

    @property
    def plan_context(self) -> PlanContext:
        flagged = tuple(Grant(Source.FLAG, hold_hash) for hold_hash in self.approved)
        plan_context = PlanContext(self.readers, self.settings, NAMESPACE, flagged)
        plan_context = replace(plan_context, agreement=self.agreement, blank=Report(approve_flags=self.approve_flags))
        plan_context = replace(plan_context, records=self.records or unkept(self.settings))
        if self.records is not None:
            plan_context = replace(plan_context, history=self._peaks)
        return plan_context if self.history is None else replace(plan_context, history=self.history)

    def plan(self) -> Report:
        return plan_once(self.plan_context)

    def converge(self) -> Report:
        """A whole pass, which is remembered. While it waits for an action simulated time passes, and no other."""
        report = self.converge_alone()
        if self.history is not None:
            self.history.note(report)
        return report

    def converge_alone(self) -> Report:
        """A whole pass of which somebody else takes note."""
        reader, writer = self.readers.hetzner, self.sim.kubernetes_writer(gate=self.gate)
        clock = self.sim.clock
        actions = Actions(reader, PassingTime(clock), clock=clock.timestamp)
        if self.scheduler is not None:
            actions = self._actions
        writers = Writers(reader, self.writer, actions, self.readers.kubernetes, self.readers.unlisted)
        actuators = actuators_with(writer, writers, self.sim.robot_reader())
        if self.budget is not None:
            actuators = within_budget(actuators, self.budget.begin_change)
        conditions = self._conditions
        apply_context = ApplyContext(actuators, self._uses, self.ears, self.ears, self.stop, conditions, self.is_called)
        if self.budget is not None:
            apply_context = replace(apply_context, have_room=partial(have_room, self.budget.has_room))
        write_node = partial(write_sync_condition, writer)
        node_conditions = NodeConditionSink(write_node, tells_sync=self.tells_sync)
        apply_context = replace(apply_context, under_way=self.under_way, node_conditions=node_conditions)
        return converge(self.plan_context, apply_context)

    @cached_property
    def _peaks(self) -> History:
        """The most of the last hour, in a process whose failures nobody notes."""
        return History()

    @cached_property
    def _uses(self) -> ApprovalUses:
        """The same in each pass of a process."""
        writer = self.sim.kubernetes_writer(gate=self.gate)
        return uses_of(self.readers.kubernetes, writer, creates=True)

    @cached_property
    def _conditions(self) -> ConditionSink:
        """The same in each pass of a loop: it knows what the last ones saw."""
        write = partial(write_conditions, self.sim.kubernetes_writer(gate=self.gate))
        return ConditionSink(write, tells_health=self.tells_health)

    @cached_property
    def under_way(self) -> UnderWay:
        """What passes have left; nothing without a scheduler."""
        return UnderWay(self.sim.concurrency, may_leave=self.scheduler is not None)

    @cached_property
    def _actions(self) -> Actions:
        """Those that what was left waits for from pass to pass."""
        assert self.scheduler is not None
        return Actions(self.readers.hetzner, self.stop, clock=self.sim.clock.timestamp, sleep=self.scheduler.sleep)

    def keep(self, *, lasts: bool = False) -> None:
        """From now on records are kept, as the command does; ``lasts`` as a loop does."""
        self.records = records_in(self.sim, self.settings, lasts=lasts)

    def approve(self, hold_hash: str) -> None:
        reader, writer = self.sim.kubernetes_reader(), self.sim.kubernetes_writer()
        now = self.sim.clock.now()
        begin_record(reader, writer)
        approve(reader, writer, NAMESPACE, Grant(Source.CLUSTER, hold_hash, "somebody", now), now)
        self.sim.forget()


def records_in(sim: Simulated, settings: Settings, *, lasts: bool = False) -> Records:
    """The records of a new process of this cluster."""
    config_map = ConfigMap.of(sim.kubernetes_reader(), NAMESPACE, sim.kubernetes_writer(), "ccm-0")
    return Records(config_map, settings, lasts=lasts)


def just_before_the_writes(run: Run[W], happens: Callable[[W], object]) -> None:
    """Let something happen once, between the plan and what is done about it."""
    begin, todo = run.ears.begin, [happens]

    def begin_after_it(changes: Sequence[Change]) -> None:
        while todo:
            todo.pop()(run.sim)
        begin(changes)

    run.ears.begin = begin_after_it  # type: ignore[method-assign]


def planned(sim: Simulated, kind: str, settings: Settings | None = None) -> tuple[Change, Snapshot]:
    """The one change of this kind that the world asks for, and the snapshot from which it was planned.

    The journals of both APIs begin anew after the reading.
    """
    chosen = settings or Settings()
    snapshot = observe_world(sim.readers(), chosen).snapshot
    (change,) = (change for change in compute_plan(snapshot, chosen).changes if change.kind == kind)
    sim.forget()
    return change, snapshot


def initialized(run: Run) -> list[str]:
    """Names of the Nodes that have a providerID and no taint of ours."""
    return [
        name
        for name, node in run.sim.nodes().items()
        if node["spec"].get("providerID") and UNINITIALIZED not in node["spec"].get("taints", [])
    ]


def load_balancer_service(name: str = "web", **annotations: str) -> dict[str, Any]:
    """A Service that wants a load balancer for one port."""
    port = {"name": "http", "port": 80, "targetPort": 8080, "protocol": "TCP", "nodePort": 30080}
    return {
        "metadata": {"name": name, "namespace": "default", "annotations": annotations},
        "spec": {"type": "LoadBalancer", "ports": [port], "clusterIP": "10.96.0.1"},
    }


def delete_service(sim: Simulation, name: str = "web") -> None:
    """As ``kubectl delete service`` does."""
    found = sim.objects("services")[name]["metadata"]
    sim.kubernetes_writer().delete(f"{SERVICES}/{name}", uid=found["uid"], version=found["resourceVersion"])


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
    sim.have_services(*(services or (load_balancer_service(),)))
    return Run(sim, settings)


def a_run_of_joining_nodes(
    simulate: Callable[..., Simulation], nodes: int, services: int = 0, *, settings: Settings = ROUTED, **run: Any
) -> Run:
    """A run in a world with so many Nodes that join, from number 1 on, and so many new Services ``web-1`` and on.
    ``run`` are fields of the run."""
    numbers = range(1, nodes + 1)
    servers = [server(n, f"web-{n}", private_net=[{"network": NETWORK["id"], "ip": gateway_of(n)}]) for n in numbers]
    sim = simulate(
        nodes=[with_pods(joining_node(f"web-{n}"), pods_of(n)) for n in numbers],
        project={"servers": servers, "networks": [NETWORK]},
    )
    sim.have_services(*(load_balancer_service(f"web-{number}") for number in range(1, services + 1)))
    return Run(sim, settings, **run)


def written(run: Run) -> list[str]:
    """Method and last part of the path of each write to Hetzner, in order."""
    writes = (entry for entry in run.sim.sent_to_hetzner() if entry.method != "GET")
    return [f"{entry.method} {entry.path.rpartition('/')[2]}" for entry in writes]


def outcomes(report: Report) -> dict[str, type | None]:
    return {line.change.key: None if line.outcome is None else type(line.outcome) for line in report.lines}


def published(run: Run, name: str = "web") -> list[str]:
    balancer = run.sim.objects("services")[name].get("status", {}).get("loadBalancer", {})
    return [entry["ip"] for entry in balancer.get("ingress", [])]


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
        if path.endswith("/add_route"):
            self._before(self._added)
            self._added += 1
        return super().post(path, body, repeatable=repeatable)
