"""A stage for the law of harm: what people, machines and controllers do to the truth, and what the judge says of it.

Two projects. ``home`` has cluster ``a``, perhaps cluster ``b``, and what strangers have there; ``elsewhere`` is another
project of the same people, with a network of the same name. Nodes of cluster ``a`` may be dedicated servers, which are
in a Robot account (``harm_metal``). Cluster ``a`` may be restored from a copy of its etcd: then there are two of one
UID, of which ``copy`` has no kubelets.
"""

import contextlib
import io
import json
import os
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from functools import cache
from itertools import count, cycle
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from unittest.mock import patch

from actuators.approvals import approve
from actuators.http.robot import RobotLogin
from actuators.outcome import Failed
from desired.model.settings import Settings
from desired.names import CONFIG_MAP
from desired.plan.grants import Grant, Source
from desired.plan.kinds import ChangeKind
from hcloud_sandbox.clock import SimulatedClock
from hcloud_sandbox.exchange import Request, Simulator, readable_body
from hcloud_sandbox.hetzner import HetznerSimulator
from hcloud_sandbox.robot import RobotSimulator
from hcloud_sandbox.serving import BackgroundLoop, SimulatorServer
from kubernetes_double import KubernetesSimulator
from reconciler.cli import main
from reconciler.config.config import ConfigurationError
from reconciler.passes.history import History
from reconciler.result import Line, Report
from tests.support.cooperative import Scheduler
from tests.support.direct import DirectSimulation
from tests.support.harm_excuses import Excuse, excuses, waits_for
from tests.support.harm_judge import Deed, harm
from tests.support.harm_lens import (
    OTHER_NAMESPACE,
    Lens,
    config_maps_in,
    kind_in_cluster,
    kind_in_project,
)
from tests.support.harm_metal import METAL, MetalLens, addresses_of_metal, inside, metal, metal_of
from tests.support.harm_serving import (
    Answered,
    Answers,
    Port,
    Served,
    answers,
    answers_where_published,
    losses,
)
from tests.support.harm_settling import Settled, Undone
from tests.support.harm_start import (
    CERTIFICATE,
    ELSEWHERE,
    EMPTY,
    HOME,
    IDLE,
    NAMESPACE,
    NAT,
    NETWORK,
    OTHER_NETWORK,
    SHOP,
    THEIRS,
    Start,
    a_cluster,
    a_network,
    a_port,
    a_robot,
    a_service,
    elsewhere_of,
    home_of,
    metal_addresses,
    node_name,
    pods,
    private_address,
    twins,
)
from tests.support.harm_truth import (
    CLUSTER_LABEL,
    OPTIONS,
    Cluster,
    Raw,
    Seen,
    Truth,
    balancer_of,
    is_joining,
    is_ready,
    machine_of,
    out_of_service,
    target_addresses,
    target_servers,
    wishes,
)
from tests.support.objects import condition, joining_node
from tests.support.passes import Run, just_before_the_writes, records_in
from tests.support.said import logging_as_before
from tests.support.simulators import START
from tests.support.world import settings_of

ROUNDS_OF_APPROVAL = 4
"""What is approved may show what else is to be approved: a switch of targets goes in steps."""


@dataclass
class Stage:
    """The truth, its controllers, and what became of it."""

    truth: Truth
    start: Start
    environment: dict[str, str]
    """What people want the controllers to be configured with: variables, and flags by their names with dashes."""
    first: Seen
    reports: dict[str, Report] = field(default_factory=dict)
    """Cluster → what its controller said last."""
    waited: dict[str, float] = field(default_factory=dict)
    """Node or Service → seconds for which it had waited, while a loop was at work, until the last run had initialized
    or published it."""
    excused: set[Excuse] = field(default_factory=set)
    """What has excused that something is left undone."""
    _excused_now: list[Undone] = field(default_factory=list)
    _loops: dict[str, Run[DirectSimulation]] = field(default_factory=dict)
    _lenses: dict[str, tuple[Lens, Lens]] = field(default_factory=dict)
    _of_loops: dict[str, tuple[Lens, Lens]] = field(default_factory=dict)
    _metal_lenses: dict[str, MetalLens] = field(default_factory=dict)
    _metal_of_loops: dict[str, MetalLens] = field(default_factory=dict)
    _let: dict[str, dict[str, tuple[str, ...]]] = field(default_factory=dict)
    """Cluster → hash of what a person approved → its keys."""
    _unfinished: set[str] = field(default_factory=set)
    """Hashes of approvals that a process had used when it died."""
    _numbers: int = 100
    _past: dict[str, Seen] = field(default_factory=dict)
    _proven_gone: set[int] = field(default_factory=set)
    _metal_addresses: set[str] = field(default_factory=set)
    _claims: dict[tuple[str, str], int] = field(default_factory=dict)
    """Cluster and Node → its number, of those whose kubelets say what is not theirs."""
    _by_flag: dict[str, str] = field(default_factory=dict)
    """Cluster → hash in the arguments of its CronJob."""
    _saved: Mapping[str, str] = field(default_factory=dict)
    """Data of the record at its backup."""
    _passwords: int = 0
    _configured: dict[str, Settings] = field(default_factory=dict)
    """Process → what its loop was started with."""
    _answered: Answered = field(default_factory=Answered)
    """Of the process that runs."""
    _answered_of_loops: dict[str, Answered] = field(default_factory=dict)
    _announced: set[int] = field(default_factory=set)
    """Machines that were cordoned or marked."""
    _hung: bool = False
    _began: float | None = None
    """When the run that is at work began."""
    _is_called: bool = False
    """Whether something has happened that the loop at work should see."""
    _busy_s: float = 0.0
    _came: dict[str, float] = field(default_factory=dict)
    """Node or Service → how long loops had been at work when it came."""
    _meanwhile: list[Callable[[], object]] = field(default_factory=list)
    """What happens after the next writes to Hetzner, one after each."""
    _planned: list[Callable[[], object]] = field(default_factory=list)
    """What happens between the next plans and what is done of them."""
    _seen: list[Seen] = field(default_factory=list)
    """The truth after each of what has happened in the run that is at work."""
    _people: set[int] = field(default_factory=lambda: {SHOP, EMPTY, THEIRS, IDLE})

    # What controllers do.

    def run(self, cluster: str = "a", *lies: str, loop: bool = False) -> Report:
        """A pass of this cluster's controller, seen through these lies. Raises AssertionError when it does harm."""
        apply_context = self.truth.clusters[cluster]
        before = self.truth.seen()
        self._past["lag"] = before
        self._metal_addresses |= before.metal_at.keys()
        unhindered = self._unhindered(cluster, lies, loop=loop)
        product = self._controller(cluster, lies, loop=loop)
        fewest: dict[int, int] = {}
        worst: dict[Port, frozenset[str]] = {}
        began = self.truth.clock.timestamp()
        hetzner, kubernetes = self._lenses[cluster]
        hetzner.after_write = lambda _: self._happen(fewest, before, worst)
        self._began, self.waited = (began if loop else None), {}
        kubernetes.after_write = self._note_written
        process = _process(cluster, lies)
        self._answered = self._answered_of_loops.setdefault(process, Answered()) if loop else Answered()
        self._see(began, before, lies)
        self._seen = []
        if self._planned:
            happens = self._planned.pop(0)
            just_before_the_writes(product, lambda _: self._occur(happens))
        death = next((lie for lie in lies if lie.startswith("dies:")), None)
        if death is not None:
            _, how, number = death.split(":")
            product.sim.dies_at(int(number), is_done=how == "after")
        report = self._passes(product) if loop else product.converge()
        self._busy_s, self._began = self._busy(), None
        self.reports[cluster] = report
        if death is not None:
            product.sim.revive()
            self._loops.pop(process, None)
            self._answered_of_loops.pop(process, None)
        if hetzner.writes or kubernetes.writes:
            self.truth.changed()
        after = self.truth.seen()
        used = {of for of, _ in after.approvals_used(cluster) - before.approvals_used(cluster)} | self._unfinished
        deed = Deed(
            apply_context,
            self.truth.clusters,
            before,
            after,
            self._shown(kubernetes, before, cluster, lies),
            self._take_let(cluster, used, dies=death is not None),
            self._people,
            fewest,
            hetzner.asked["GET"],
            hetzner.writes,
            self._asked_of_robot(cluster),
            self._proven_gone,
            self._metal_lenses[cluster].told if cluster in self._metal_lenses else {},
            self._metal_addresses,
            _cut_off(report) if death is not None else (),
            self._seen,
            self.truth.clock.now(),
        )
        found = harm(deed)
        done = {str(line.change.key) for line in report.lines if line.change.decision.verdict == "allowed"}
        found += [f"{key} waits because of Robot" for key in sorted(unhindered - done)]
        found += self._losses(deed, cluster, worst, lies)
        assert not found, f"{cluster} through {list(lies)} in {'the loop' if loop else '--once'}: {found}"
        return report

    def _passes(self, product: Run[DirectSimulation]) -> Report:
        """A pass of a loop, and those that are called for meanwhile, until nothing goes on any more that they left."""
        self._is_called = False
        report = product.converge()
        while product.scheduler is not None and product.under_way.goes_on and not self._is_called:
            product.scheduler.sleep(1.0)
        return self._passes(product) if self._is_called else report

    def restart(self) -> None:
        """All controllers are other processes from now on."""
        self._loops.clear()
        self._answered_of_loops.clear()

    def controller(self, cluster: str = "a") -> Run[DirectSimulation]:
        """A controller of this cluster that nobody lies to, and that remembers nothing."""
        return self._controller(cluster, (), loop=False)

    def approve(self, cluster: str = "a", which: int = 0, keys: tuple[str, ...] | None = None) -> bool:
        """A person approves one of what the controller held when it ran last; False when it held nothing. The judge is
        told of these ``keys`` alone, where they are given."""
        report = self.reports.get(cluster)
        if report is None or not report.holds:
            return False
        hold = report.holds[which % len(report.holds)]
        direct = self._direct(cluster, self.truth.clusters[cluster].kubernetes)
        reader, writer = direct.kubernetes_reader(), direct.kubernetes_writer()
        self.truth.changed()
        now = self.truth.clock.now()
        approve(reader, writer, NAMESPACE, Grant(Source.CLUSTER, hold.hash, "somebody", now), now)
        self._let.setdefault(cluster, {})[hold.hash] = hold.keys if keys is None else keys
        return True

    def approve_in_git(self, cluster: str = "a", hours: float = 1.0) -> None:
        """A person merges an approval of the last hold, and a GitOps controller keeps it applied."""
        hold, now, name = self.reports[cluster].holds[0], self.truth.clock.now(), "hcloud-reconciler-approvals"
        ends = now + timedelta(hours=hours)
        entry = {"approver": "somebody", "approved_at": _written(now), "expires_at": _written(ends)}
        body = {"metadata": {"name": name}, "data": {hold.hash.replace(":", "."): json.dumps(entry)}}
        self.of(cluster).to_cluster("POST", config_maps_in(NAMESPACE), body)
        self._let.setdefault(cluster, {})[hold.hash] = hold.keys

    def approve_by_flag(self, cluster: str = "a") -> None:
        """A person adds ``--approve`` for the last hold to the arguments of a CronJob, and forgets it there."""
        hold = self.reports[cluster].holds[0]
        self._by_flag[cluster] = hold.hash
        self._let.setdefault(cluster, {})[hold.hash] = hold.keys

    def _take_let(self, cluster: str, used: Collection[str], *, dies: bool) -> list[str]:
        """Keys of changes that these approvals let through; each approval counts once, or until a run lives on."""
        let, self._unfinished = self._let.get(cluster, {}), {*used} if dies else set()
        return [key for each in used for key in (let.get(each, ()) if dies else let.pop(each, ()))]

    def advance(self, seconds: float) -> None:
        self.truth.clock.advance(seconds)

    def configure(self, **variables: str | None) -> None:
        """A person changes the settings of the controllers, and means it; None takes one away. A flag is written with
        underscores: ``__cluster_cidr``."""
        for name, value in variables.items():
            key = name.replace("_", "-") if name.startswith("__") else name
            self.environment.pop(key, None)
            if value is not None:
                self.environment[key] = value

    @property
    def settings(self) -> Settings:
        """What the product makes of the settings that people want."""
        return settings_of(self.environment)

    def _see(self, now: float, seen: Seen, lies: Collection[str]) -> None:
        """Note what answers now, unless the controller cannot know of it."""
        if not _hides_health(lies):
            self._answered.note(now, answers(seen, self.truth.clusters))

    def meanwhile(self, happens: Callable[[], object]) -> None:
        """This happens while the next run is at work, after its first write to Hetzner that has nothing yet; a loop is
        called for another pass by it."""
        self._meanwhile.append(happens)

    def once_planned(self, happens: Callable[[], object]) -> None:
        """This happens while the next run is at work, between its plan and its first write."""
        self._planned.append(happens)

    def _occur(self, happens: Callable[[], object]) -> None:
        happens()
        seen = self.truth.seen()
        self._seen.append(replace(seen, projects={**seen.projects, HOME: self.truth.projects[HOME].world()["hetzner"]}))

    def _happen(self, fewest: dict[int, int], before: Seen, worst: dict[Port, frozenset[str]]) -> None:
        self._count(fewest, before, worst)
        if self._meanwhile:
            self._occur(self._meanwhile.pop(0))
            self._is_called = True

    def _note_written(self, request: Request) -> None:
        """Note how long a Node or a Service has waited for the run, and for those before it."""
        kind, name = request.path.split("/")[-2:]
        body = readable_body(request.body) or {}
        is_done = kind == "nodes" and request.method == "PATCH"
        if kind == "services" or name == "status":
            name = request.path.split("/")[-2] if name == "status" else name
            is_done = isinstance(body, dict) and bool(body.get("status", {}).get("loadBalancer", {}).get("ingress"))
        if is_done and name not in self.waited:
            self.waited[name] = self._busy() - self._came.get(name, self._busy_s)

    def _busy(self) -> float:
        """Seconds for which loops have been at work until now."""
        now = self.truth.clock.timestamp()
        return self._busy_s + (now - (now if self._began is None else self._began))

    def _losses(self, deed: Deed, cluster: str, worst: Answers, lies: Collection[str]) -> list[str]:
        """What the other half of the judge says of a run."""
        served = Served(
            deed.project,
            deed.clusters,
            deed.before,
            deed.after,
            self.environment,
            self._answered.most(),
            worst,
            self._announced,
            deed.approved,
            {cluster} if deed.shown.get("stale") else (),
            _hides_health(lies),
            any(lie.startswith(("health:healthy", *_OF_ANOTHER_TIME)) for lie in lies),
            {name: seconds for name, seconds in self.waited.items() if name in deed.after.nodes[cluster]},
        )
        for _, service, _found in wishes(deed.before, self.truth.clusters, HOME):
            if served.let(f"load_balancer/{service['metadata']['namespace']}/{service['metadata']['name']}"):
                self._answered.forget([service["metadata"]["uid"]])
        found = losses(served)
        if not _hides_health(lies):
            self._answered.note(self.truth.clock.timestamp(), answers(deed.after, self.truth.clusters, deed.before))
        return found

    def settle(self) -> None:
        """The lies have ended, the kubelets report again, and what was copied is switched off: hours of passes.

        Raises AssertionError for harm, and when something is not as it should be though nothing is held.
        """
        self.recover()
        for name in self._real():
            self.wake(name)
        for pause_s in (70.0, 31 * 60.0, 65 * 60.0, 70.0, 70.0):
            self.advance(pause_s)
            self.detach_lost()
            for name, cluster in self.truth.clusters.items():
                if not cluster.is_copy:
                    self.run(name, loop=True)
        self._must_be_settled()

    def let_go(self) -> None:
        """A person approves what alone keeps something from being done, until nothing does: then it is done.

        Raises AssertionError for harm, and when something is left undone that is excused only until then.
        """
        for _ in range(ROUNDS_OF_APPROVAL):
            held = {(each.cluster, place) for each, place in self._held()}
            if not held:
                return
            for cluster, place in held:
                self.approve(cluster, place)
            for _ in range(2):
                self.advance(70.0)
                for name in self._real():
                    self.run(name, loop=True)
            self._must_be_settled()
        stuck = [str(each) for each, _ in self._held()]
        assert not stuck, f"approved, and left undone all the same: {stuck}"

    def _must_be_settled(self) -> None:
        left = self.unsettled()
        assert not left, f"left undone: {[*map(str, left)]}"

    def _held(self) -> Iterator[tuple[Undone, int]]:
        """What is excused until a person approves, with the place of the hold in the last report of its cluster."""
        for each in self._excused_now:
            report = self.reports[each.cluster]
            yield from ((each, place) for place, hold in enumerate(report.holds) if waits_for(each, hold))

    def _controller(self, cluster: str, lies: Collection[str], *, loop: bool) -> Run[DirectSimulation]:
        settings, process = self._mistaken(lies), _process(cluster, lies)
        known = self._loops.get(process) if loop else None
        if known is not None and self._configured[process] != settings:
            known = None  # other settings are another process
        truth = self.truth
        metal_lens = self._metal_of_loops.get(process) if known else self._new_metal_lens()
        if known is None:
            lenses = self._new_lenses(cluster)
            direct, scheduler = self._direct(cluster, lenses[1], lenses[0], metal_lens), None
            if loop:
                scheduler = Scheduler(0, truth.clock)
                direct.concurrency = scheduler.concurrency()
                direct.stop = direct.concurrency.event()
            known = Run[DirectSimulation](direct, settings, scheduler=scheduler)
            known.records = records_in(known.sim, settings, lasts=loop)
            if loop:
                self._configured[process] = settings
                known.history = History(truth.clock.timestamp, lambda: 0.5)
                known.is_called = lambda: self._is_called
                self._loops[process] = known
        else:
            lenses = self._of_loops[process]
        self._lenses[cluster] = lenses
        if loop:
            self._of_loops[process] = lenses
        if metal_lens is not None:
            self._metal_lenses[cluster] = metal_lens
            if loop:
                self._metal_of_loops[process] = metal_lens
            self._log_in(known, metal_lens, lies)
        known.approved = (self._by_flag[cluster],) if cluster in self._by_flag and not loop else ()
        known.settings = replace(settings, network="8") if "network" in lies else settings
        line = known.sim.kubernetes_line
        line._clock = SimulatedClock(lambda: truth.clock.timestamp() + 3600.0) if "clock" in lies else truth.clock
        hetzner, kubernetes = self._lenses[cluster]
        hetzner.begin(lies, truth.projects[ELSEWHERE] if "token" in lies else None)
        kubernetes.begin(lies)
        return known

    def _mistaken(self, lies: Collection[str]) -> Settings:
        """The settings of a run, of which some were mistyped or lost. With settings that are refused at the start
        nothing runs; then it is those that people want."""
        found = {} if "values:lost" in lies else dict(self.environment)
        found |= dict(_variable(lie) for lie in lies if "=" in lie)
        try:
            return settings_of({name: value for name, value in found.items() if value})
        except ConfigurationError:
            return self.settings

    def _unhindered(self, cluster: str, lies: Collection[str], *, loop: bool) -> set[str]:
        """Keys of what a controller would do in Hetzner Cloud if Robot told the truth; empty where something else
        keeps it from that, as what a loop remembers."""
        if loop or not lies or not all(lie.startswith("robot:") for lie in lies):
            return set()
        report = self._controller(cluster, (), loop=False).plan()
        return {str(line.change.key) for line in report.lines if _is_of_cloud(line, self.truth.seen(), cluster)}

    def _new_metal_lens(self) -> MetalLens | None:
        """The Robot webservice as a controller sees it; None without credentials."""
        if self.truth.robot is None or self.start.keyless:
            return None
        names = {METAL + 30 + number: node_name(METAL + number) for number in range(self.start.metal + 1)}
        others = {"servers": [metal(number, name) for number, name in names.items()]}
        past = {"servers": list(self.first.account)}
        clock = self.truth.clock
        elsewhere, before = RobotSimulator(clock, world=others), RobotSimulator(clock, world=past)
        return MetalLens(self.truth.robot, elsewhere, before)

    def _log_in(self, run: Run[DirectSimulation], lens: MetalLens, lies: Collection[str]) -> None:
        """Tell the controller the password, unless that has just been changed without a word to it."""
        robot = run.readers.robot
        assert robot is not None
        if robot.cache.reader._login != self._login:
            robot.use_login(self._login)
        if "robot:401" in lies:
            self._passwords += 1
        for simulator in (lens.truth, lens.elsewhere, lens.past):
            assert isinstance(simulator, RobotSimulator)
            simulator.set_credentials(self._login.user, self._login.password)
        lens.begin(lies)

    @property
    def _login(self) -> RobotLogin:
        return RobotLogin(RobotSimulator.USER, f"{RobotSimulator.PASSWORD}{self._passwords or ''}")

    def _asked_of_robot(self, cluster: str) -> int:
        lens = self._metal_lenses.get(cluster)
        if lens is None:
            return 0
        self._proven_gone |= lens.gone
        return lens.asked.total()

    def _new_lenses(self, cluster: str) -> tuple[Lens, Lens]:
        found = self.truth.clusters[cluster]
        return (
            Lens(found.project, kind_in_project, lambda how: self._shadow(cluster, how, HOME)),
            Lens(found.kubernetes, kind_in_cluster, lambda how: self._shadow(cluster, how, None)),
        )

    def _direct(
        self, cluster: str, kubernetes: Simulator, hetzner: Simulator | None = None, robot: Simulator | None = None
    ) -> DirectSimulation:
        known = hetzner or self.truth.clusters[cluster].project
        return DirectSimulation(known, kubernetes, self.truth.clock, robot=robot)  # type: ignore[arg-type]

    def _shadow(self, cluster: str, how: str, project: str | None) -> Simulator:
        """A simulator of an earlier time, which answers reads of lists alone."""
        seen = self.first if how == "stale" else self._past[how]
        if how == "stale" and cluster not in seen.clusters:
            # Until its control plane has found out that no kubelet reports, nothing tells a copy from the cluster.
            seen = self._past["copied"]
        if project is not None:
            return HetznerSimulator(self.truth.clock, OPTIONS, world=seen.projects[project])
        return KubernetesSimulator(self.truth.clock, world=seen.clusters[cluster])

    def _shown(self, lens: Lens, before: Seen, cluster: str, lies: Collection[str]) -> Mapping[str, Collection[str]]:
        """Nodes that the controller was shown, and which lists were of another time."""
        shown: Collection[str] = before.nodes[cluster].keys()
        if "nodes:stale" in lies:
            shown = (self.first if cluster in self.first.nodes else self._past["copied"]).nodes[cluster].keys()
        hidden = lens.hidden("nodes")
        untrue = {lie.partition(":")[0] for lie in lies}
        uids = {name: node["metadata"]["uid"] for name, node in before.nodes[cluster].items()}
        return {"nodes": [name for name in shown if uids.get(name) not in hidden], "stale": untrue & {"services"}}

    def _count(self, fewest: dict[int, int], before: Seen, worst: dict[Port, frozenset[str]]) -> None:
        """Note how many living servers each load balancer leads to, and what answers."""
        world = self.truth.projects[HOME].world()["hetzner"]
        alive = {each["id"] for each in world["servers"]}
        now = self.truth.seen()
        metal_at = now.metal_at
        for found in world["load_balancers"]:
            dedicated = {metal_at[address] for address in target_addresses(found) if address in metal_at}
            number = len(target_servers(found) & alive) + len(dedicated)
            fewest[found["id"]] = min(number, fewest.get(found["id"], number))
        seen = replace(before, projects={**before.projects, HOME: world})
        published = answers_where_published(now, self.truth.clusters, HOME)
        for key, answer in answers(seen, self.truth.clusters).items():
            found_there = max(answer, published.get(key, answer), key=len)
            worst[key] = min(found_there, worst.get(key, found_there), key=len)

    # What machines do.

    def silence(self, cluster: str = "a", *numbers: int, minutes: float = 0.0) -> None:
        """Kubelets of these Nodes, or of all, report no more, and time passes; their servers go on."""
        for name, node in self._nodes(cluster).items():
            if (not numbers or machine_of(node) in numbers) and is_ready(node):
                self._say(cluster, name, "Unknown")
        self.advance(minutes * 60)

    def wake(self, cluster: str = "a") -> None:
        """The kubelets report again."""
        alive = self._alive()
        for (where, name), number in list(self._claims.items()):
            if where == cluster and name in self._nodes(cluster):
                self._say(cluster, name, "True", addresses=metal_addresses(number))
            del self._claims[where, name]
        for name, node in self._nodes(cluster).items():
            if machine_of(node) in alive and (not is_ready(node) or _heartbeats(node)):
                self._say(cluster, name, "True")

    def beat(self, cluster: str = "a", *numbers: int, hours: float = 0.0) -> None:
        """Nodes whose servers live, or some of them, say Ready for ever, with a heartbeat of so many hours ago."""
        alive = self._alive()
        for name, node in self._nodes(cluster).items():
            if machine_of(node) in alive and (not numbers or machine_of(node) in numbers):
                at = self.truth.clock.now() - timedelta(hours=hours)
                self._say(cluster, name, "True", heartbeat=at)

    def kill(self, number: int, cluster: str = "a") -> None:
        """A server is deleted or given back, and its Node falls silent."""
        if number in self.truth.seen().metal:
            self._have_metal({**self.truth.seen().metal, number: None})
        self.home.delete_server(number)
        for name in self._on(number, cluster):
            self._say(cluster, name, "Unknown")

    def bring_back(self, number: int) -> None:
        """A server of the beginning that was deleted is there again, by its id: Hetzner had lost it for a while. Not
        where another one has its addresses by now."""
        project, seen = self.truth.projects[HOME], self.truth.seen()
        found = self.first.servers[HOME].get(number)
        taken = {str(place["ip"]) for each in seen.servers[HOME].values() for place in each["private_net"]}
        if found is None or number in seen.servers[HOME] or taken & {str(each["ip"]) for each in found["private_net"]}:
            return
        servers = {**seen.servers[HOME], number: found}
        project.replace_world({**seen.projects[HOME], "servers": [*servers.values()]})
        self.truth.changed()

    def join(self, cluster: str = "a") -> int:
        """A new server, and the Node that its kubelet registers: its number."""
        number, made = self.make_server()
        self.register(number, cluster)
        return made

    def make_server(self) -> tuple[int, int]:
        """A new server of which no kubelet has reported yet: the number in its name, and its id."""
        taken = {each["name"] for each in self.truth.seen().servers[HOME].values()}
        number = next(each for each in count(self._numbers + 1) if node_name(each) not in taken)
        self._numbers = number
        made = self.home.buy_server(node_name(number), [] if self.start.network is None else [NETWORK])
        assert made is not None
        return number, made

    def register(self, number: int, cluster: str = "a") -> None:
        """A kubelet registers the Node of this number, which waits to be initialized."""
        node = joining_node(node_name(number))
        node["spec"] |= {"podCIDR": pods(number), "podCIDRs": [pods(number)]}
        self.of(cluster).register(node)
        self._came[node_name(number)] = self._busy()
        self._say(cluster, node_name(number), "True", addresses=node["status"]["addresses"])

    def deafen(self, *numbers: int) -> None:
        """Nothing answers on these machines any more; they run, and their kubelets report."""
        self._let_answer(self.truth.deaf | set(numbers))

    def undeafen(self, *numbers: int) -> None:
        """They answer again; all of them where none is named."""
        self._let_answer(self.truth.deaf - set(numbers) if numbers else frozenset())

    def _let_answer(self, deaf: Collection[int]) -> None:
        seen, project = self.truth.seen(), self.truth.projects[HOME]
        found = [each for number in sorted(deaf) if (each := seen.servers[HOME].get(number))]
        addresses = [str(each["public_net"]["ipv4"]["ip"]) for each in found if each["public_net"]["ipv4"]]
        addresses += [str(place["ip"]) for each in found for place in each["private_net"]]
        addresses += [
            each for number in deaf if number in seen.metal for each in addresses_of_metal(seen.metal[number])
        ]
        project.clear_faults()
        if addresses:
            project.set_faults([{"kind": "no_answer", "ranges": addresses, "count": None}])
        self.truth.deaf = frozenset(deaf)
        self.truth.changed()

    def power(self, number: int, *, on: bool) -> None:
        """A server is switched off or on; its kubelet falls silent, or reports again."""
        if number not in self.truth.seen().servers[HOME]:
            return
        self.home.power(number, on=on)
        for cluster in self._real():
            for name in self._on(number, cluster):
                self._say(cluster, name, "True" if on else "Unknown")

    def leave_network(self, number: int) -> None:
        self.home.leave_network(number, NETWORK)

    def rename_network(self, name: str) -> None:
        """Somebody gives the network another name in the console."""
        self.home.to_project("PUT", f"/networks/{NETWORK}", {"name": name})

    def hang(self, command: str | None = None, count: int = 1) -> None:
        """The next actions of Hetzner, or those of a command, never end, and what they are about stays locked."""
        fault: Raw = {"kind": "action_hangs", "count": count}
        self.truth.projects[HOME].set_faults([fault if command is None else {**fault, "command": command}])
        self._hung = True

    def recover(self) -> None:
        """What was off runs, what was silent answers, and Hetzner's support ends what hangs."""
        for number, each in self.truth.seen().servers[HOME].items():
            if each["status"] == "off":
                self.power(number, on=True)
        if self.truth.deaf or self._hung:
            self.undeafen()
        if self._hung:
            project = self.truth.projects[HOME]
            project.replace_world(project.world()["hetzner"])
            self._hung = False
        self.truth.changed()

    def rename(self, number: int, name: str) -> None:
        self.home.rename_server(number, name)

    def rack(self) -> int:
        """A new dedicated server, and the Node that its kubelet registers: its number; 0 where there are none."""
        if self.truth.robot is None:
            return 0
        found, nodes = self.truth.seen().metal, self.truth.seen().nodes["a"]
        number = max((*found, *filter(None, map(metal_of, nodes.values())), METAL)) + 1
        if number >= NAT or node_name(number) in nodes:
            return 0
        self._have_metal({**found, number: metal(number, node_name(number))})
        self.register(number)
        addresses = [{"type": "Hostname", "address": node_name(number)}]
        addresses.append({"type": "InternalIP", "address": inside(number)})
        self._say("a", node_name(number), "True", addresses=addresses)
        return number

    def change_metal(self, number: int, **fields: Any) -> None:
        """Robot or a person changes these fields of a dedicated server."""
        found = self.truth.seen().metal
        if number in found:
            self._have_metal({**found, number: {**found[number], **fields}})

    def swap_metal(self, number: int, other: int) -> None:
        found = self.truth.seen().metal
        if {number, other} <= found.keys():
            self.change_metal(number, server_ip=found[other]["server_ip"])
            self.change_metal(other, server_ip=found[number]["server_ip"])

    def claim(self, number: int, *addresses: tuple[str, str]) -> None:
        """The kubelet of a Node on a dedicated server says that these are its addresses."""
        for name, node in self._nodes("a").items():
            if metal_of(node) == number and not is_joining(node):
                self._claims["a", name] = number
                kept = [each for each in node["status"]["addresses"] if each["type"] == "Hostname"]
                claimed = [{"type": kind, "address": address} for kind, address in addresses]
                self.home.patch_node(f"{name}/status", {"status": {"addresses": [*kept, *claimed]}})

    def _have_metal(self, servers: Mapping[int, Raw | None]) -> None:
        assert self.truth.robot is not None
        self._metal_addresses |= self.truth.seen().metal_at.keys()
        self.truth.robot.replace_world({"servers": [each for each in servers.values() if each is not None]})

    def of(self, cluster: str) -> Cluster:
        """A cluster in truth: what happens to it is written there once, for all doors."""
        return self.truth.clusters[cluster]

    @property
    def home(self) -> Cluster:
        """Cluster ``a``, whose project is everybody's."""
        return self.truth.clusters["a"]

    def _on(self, number: int, cluster: str) -> list[str]:
        """Names of the Nodes on a machine."""
        return [name for name, node in self._nodes(cluster).items() if machine_of(node) == number]

    def _alive(self) -> set[int]:
        seen = self.truth.seen()
        return {*seen.servers[HOME], *seen.metal}

    def swap(self, number: int, other: int) -> None:
        """Two servers swap their names."""
        found = self.truth.seen().servers[HOME]
        if {number, other} <= found.keys() and number != other:
            self.rename(number, "for-the-moment")
            self.rename(other, found[number]["name"])
            self.rename(number, found[other]["name"])

    # What people do to Nodes.

    def cordon(self, number: int, cluster: str = "a") -> None:
        self._announced.add(number)
        self.of(cluster).cordon(*self._on(number, cluster))

    def uncordon(self, number: int, cluster: str = "a") -> None:
        """It is in service again, whatever its conditions say."""
        self._announced.discard(number)
        self.of(cluster).uncordon(*self._on(number, cluster))

    def delete_node(self, number: int, cluster: str = "a") -> None:
        for name in self._on(number, cluster):
            self.of(cluster).delete_node(name)

    def mark(self, number: int, key: str, cluster: str = "a") -> None:
        """A taint, as an autoscaler sets it."""
        self._announced.add(number)
        self.of(cluster).taint(*self._on(number, cluster), key=key)

    def unmark(self, number: int, cluster: str = "a") -> None:
        self._announced.discard(number)
        self.of(cluster).untaint(*self._on(number, cluster))

    def attach(self, number: int, cluster: str = "a") -> None:
        """A volume is attached to the Nodes on a machine."""
        for name in self._on(number, cluster):
            self.of(cluster).attach_volume(name)

    def detach(self, number: int, cluster: str = "a") -> None:
        for name in self._on(number, cluster):
            self.of(cluster).detach_volume(name)

    def detach_lost(self) -> None:
        """What Kubernetes does: volumes go from Nodes that are out of service, or are not there any more."""
        for cluster in self._real():
            nodes = self._nodes(cluster)
            for each in self.truth.seen().clusters[cluster].get("volumeattachments", []):
                name = each["spec"]["nodeName"]
                if name not in nodes or out_of_service(nodes[name]):
                    self.of(cluster).detach_volume(name)

    def label(self, number: int, labels: Mapping[str, str | None], cluster: str = "a") -> None:
        self.of(cluster).label(*self._on(number, cluster), labels=labels)

    # What people do to Services.

    def make_service(
        self,
        service: str = "web",
        options: Mapping[str, str] | None = None,
        cluster: str = "a",
        load_balancer_class: str | None = None,
    ) -> None:
        """``kubectl apply`` of a Service with these annotations, and of this class."""
        body = a_service(service, options or {})
        if load_balancer_class is not None:
            body["spec"]["loadBalancerClass"] = load_balancer_class
        self._came[service] = self._busy()
        self.of(cluster).have_services(body)

    def delete_service(self, name: str = "web", cluster: str = "a") -> None:
        self.of(cluster).delete_service(name)

    def vanish(self, name: str = "web", cluster: str = "a") -> None:
        """Another controller takes the finalizer away that it shares, and the Service is deleted."""
        self.of(cluster).patch_service({"metadata": {"finalizers": []}}, name)
        self.delete_service(name, cluster)

    def annotate(self, service: str, options: Mapping[str, str | None], cluster: str = "a") -> None:
        """Annotations of a Service by their short names; None takes one away."""
        self.of(cluster).annotate(service, **{key.replace("-", "_"): value for key, value in options.items()})

    def tell_apart(self, service: str, texts: Sequence[str | None], cluster: str = "a") -> None:
        """The ports of a Service get settings of the PROXY protocol of their own, in turn; None takes one away."""
        settings = zip(self._ports(service, cluster), cycle(texts))
        self.annotate(service, {f"port-{port}-uses-proxyprotocol": text for port, text in settings}, cluster)

    def _ports(self, service: str, cluster: str) -> list[int]:
        """Those that a Service has now; none where there is no such Service."""
        found = self.of(cluster).services().get(service)
        return [each["port"] for each in found["spec"]["ports"]] if found else []

    def turn(self, service: str, kind: str, load_balancer_class: str | None = None, cluster: str = "a") -> None:
        """A Service becomes one of another type, or of another class, which a change of type alone allows."""
        self.of(cluster).turn(service, kind, load_balancer_class)

    def retain(self, service: str, policy: str | None, cluster: str = "a") -> None:
        self.of(cluster).annotate(service, deletion_policy=policy)

    def listen(self, name: str, *ports: int, cluster: str = "a", node_port: int | None = None) -> None:
        """A Service gets other ports, the first of them with this node port. What is said of those that go, goes."""
        gone = [port for port in self._ports(name, cluster) if port not in ports]
        self.of(cluster).annotate(name, **dict.fromkeys(f"port_{port}_uses_proxyprotocol" for port in gone))
        first, *others = map(a_port, ports)
        moved = first if node_port is None else {**first, "nodePort": node_port}
        self.of(cluster).listen(name, moved, *others)

    # What people do to the project.

    def route(self, destination: str, gateway: str | None) -> None:
        """Somebody leads a destination elsewhere, or nowhere."""
        now = self.truth.seen().routes(HOME).get((NETWORK, destination))
        if now is not None:
            self.home.delete_route(NETWORK, destination, now)
        if gateway is not None:
            self.home.add_route(NETWORK, destination, gateway)

    def lead(self, balancer: int, target: Raw) -> None:
        self.home.add_target(balancer, target)

    def drop(self, balancer: int, number: int) -> None:
        self.home.remove_target(balancer, number)

    def encrypt(self, balancer: int) -> None:
        """Somebody makes TLS in the console, at every port of a load balancer."""
        found = self.truth.seen().balancers[HOME][balancer]
        for each in found["services"]:
            self.home.change_listener(
                balancer, each["listen_port"], protocol="https", http={"certificates": [CERTIFICATE]}
            )

    def delete_balancer(self, balancer: int) -> None:
        self.home.delete_balancer(balancer)

    def rename_balancer(self, name: str, service: str = "web") -> None:
        """Somebody gives the load balancer of a Service another name in the console."""
        self.home.to_project("PUT", f"/load_balancers/{self.balancer(service)['id']}", {"name": name})

    def make_twin(self, service: str = "web") -> None:
        """Somebody makes a second load balancer with the labels of a Service's."""
        body = {"name": "twin", "load_balancer_type": "lb11", "location": "fsn1"}
        _, made = self.home.to_project("POST", "/load_balancers", {**body, "labels": self.balancer(service)["labels"]})
        self._people.add(made["load_balancer"]["id"])

    def copy_labels(self, balancer: int, service: str = "web") -> None:
        """Somebody copies the labels of a Service's load balancer to another one."""
        self.home.change_labels(balancer, self.balancer(service)["labels"])

    def make_sibling(self, *, alive: bool = True) -> None:
        """The other project is made from the template of this one: it has the same routes, and where it is ``alive``
        servers of the same names and private addresses."""
        project, numbers = self.truth.projects[ELSEWHERE], range(1, self.start.nodes + 1)
        routes = [{"destination": pods(number), "gateway": private_address(number)} for number in numbers]
        servers = list(twins(self.start, OTHER_NETWORK)) if alive else []
        project.replace_world({"servers": servers, "networks": [a_network(OTHER_NETWORK, *routes)]})
        self.truth.changed()

    def forget(self, cluster: str = "a") -> None:
        """Somebody empties the ConfigMap of this cluster."""
        self.of(cluster).patch_config_map("hcloud-reconciler", anchor=None)

    def save_record(self, cluster: str = "a") -> None:
        """Somebody makes a backup of the record."""
        self._saved = self._record(cluster)

    def restore_record(self, cluster: str = "a") -> None:
        """Somebody puts the backup of the record back; without a backup the record is empty."""
        gone = dict.fromkeys(self._record(cluster))
        self.of(cluster).patch_config_map(CONFIG_MAP, **{**gone, **self._saved})

    def _record(self, cluster: str) -> Mapping[str, str]:
        maps = {
            (each["metadata"]["namespace"], each["metadata"]["name"]): each.get("data", {})
            for each in self.truth.seen().clusters[cluster]["configmaps"]
        }
        return dict(maps[NAMESPACE, CONFIG_MAP])

    def as_hccm_left_it(self, cluster: str = "a") -> None:
        """HCCM has run the cluster until now: labels, conditions and records of ours go."""
        seen, found = self.truth.seen(), self.of(cluster)
        for each in seen.balancers[HOME].values():
            if each["labels"].get(CLUSTER_LABEL) == seen.uid(cluster):
                labels = {key: value for key, value in each["labels"].items() if key != CLUSTER_LABEL}
                found.change_labels(each["id"], labels)
        for name in found.services():
            found.patch_service({"status": {"conditions": None}}, f"{name}/status")
        for each in seen.clusters[cluster]["configmaps"]:
            found.patch_config_map(each["metadata"]["name"], **dict.fromkeys(each.get("data", {})))

    def install_again(self, cluster: str = "a") -> None:
        """Somebody installs the chart again, in another namespace: see the lie ``release``."""
        names = [each["metadata"]["name"] for each in self.truth.seen().clusters[cluster]["configmaps"]]
        self.of(cluster).to_cluster("POST", "/api/v1/namespaces", {"metadata": {"name": OTHER_NAMESPACE}})
        for name in names:
            self.of(cluster).to_cluster("POST", config_maps_in(OTHER_NAMESPACE), {"metadata": {"name": name}})

    def restore(self) -> None:
        """Somebody restores a copy of the etcd of cluster ``a`` elsewhere: no kubelet reports to it."""
        if "copy" in self.truth.clusters:
            return
        world = self.truth.clusters["a"].kubernetes.world()
        copied = KubernetesSimulator(self.truth.clock, world=world, seed=77)
        self.truth.add(Cluster("copy", HOME, copied, self.home.project, self.truth.clock, is_copy=True))
        self._let["copy"] = dict(self._let.get("a", {}))
        self.silence("copy")
        self._past["copied"] = self.truth.seen()

    def command(self, *words: str, cluster: str = "a") -> str:
        """Output of ``reconcile`` with these words, the variables of a cluster, and a kubeconfig for it."""
        said, found = io.StringIO(), self.of(cluster)
        variables = {name: value for name, value in os.environ.items() if not name.startswith(("HCLOUD_", "ROBOT_"))}
        variables |= {name: value for name, value in self.environment.items() if not name.startswith("-")}
        with contextlib.ExitStack() as stack:
            loop, file = BackgroundLoop(), Path(stack.enter_context(TemporaryDirectory()), "kubeconfig")
            stack.callback(loop.close)
            ports = [SimulatorServer(loop, each, found.clock).start() for each in (found.project, found.kubernetes)]
            for port in ports:
                stack.callback(port.stop)
            variables |= {"HCLOUD_TOKEN": HetznerSimulator.TOKEN, "HCLOUD_ENDPOINT": f"{ports[0].url}/v1"}
            file.write_text(json.dumps(found.kubernetes.kubeconfig(ports[1].url)))
            stack.enter_context(patch.dict(os.environ, variables, clear=True))
            stack.enter_context(logging_as_before())
            stack.enter_context(contextlib.redirect_stdout(said))
            stack.enter_context(contextlib.redirect_stderr(said))
            main([*words, "--kubeconfig", str(file)])
        self.truth.changed()
        return said.getvalue()

    # What is asked of the truth.

    def balancer(self, name: str = "web", cluster: str = "a") -> Raw:
        """The load balancer of a Service. Raises LookupError when there is none."""
        seen = self.truth.seen()
        found = balancer_of(seen, HOME, seen.services[cluster][f"default/{name}"], seen.uid(cluster))
        if found is None:
            raise LookupError(name)
        return found

    def nodes(self, cluster: str = "a") -> Mapping[str, Raw]:
        return self._nodes(cluster)

    def unsettled(self) -> list[Undone]:
        """What is not as people want it, but for what is excused; excuses are noted in ``excused``."""
        self._excused_now.clear()
        settled = Settled(self.truth.seen(), self.truth.clusters, self.start, self.environment)
        left: list[Undone] = []
        for each in settled.undone():
            report = self.reports.get(each.cluster)
            found = excuses(each, report) if report else []
            self.excused.update(found)
            (self._excused_now if found else left).append(each)
        return left

    def _real(self) -> list[str]:
        return [name for name, found in self.truth.clusters.items() if not found.is_copy]

    def _nodes(self, cluster: str) -> Mapping[str, Raw]:
        return self.truth.seen().nodes[cluster]

    def _say(self, cluster: str, name: str, ready: str, *, heartbeat: datetime | None = None, **status: Any) -> None:
        said = condition("Ready", ready, _written(heartbeat or self.truth.clock.now()))
        heard = {} if heartbeat is None else {"lastHeartbeatTime": _written(heartbeat)}
        self.of(cluster).set_condition(name, said | heard, **status)


_OF_ANOTHER_TIME = ("load_balancers:lag", "load_balancers:stale")
"""Lists in which all targets answer: whoever is deaf by now was not then."""


def _hides_health(lies: Collection[str]) -> bool:
    """Whether nobody who is told these lies can know what answers."""
    return any(lie.startswith("health:") for lie in lies)


def _process(cluster: str, lies: Collection[str]) -> str:
    """The name of the controller that runs: a second release is a process beside that of the cluster."""
    return f"{cluster} again" if "release" in lies else cluster


def _variable(lie: str) -> tuple[str, str]:
    """The name and the value of a setting that is mistaken; "" when it is lost."""
    name, _, value = lie.partition("=")
    return name, value


def _written(at: datetime) -> str:
    return at.strftime("%Y-%m-%dT%H:%M:%SZ")


def _heartbeats(node: Mapping[str, Any]) -> list[str]:
    return [said["lastHeartbeatTime"] for said in node["status"]["conditions"] if "lastHeartbeatTime" in said]


def _cut_off(report: Report) -> list[str]:
    """Keys of the targets that were to be led to another way, and of which that failed."""
    tried = [line.change for line in report.lines if isinstance(line.outcome, Failed)]
    return [each.key for each in tried if each.kind is ChangeKind.LB_TARGET and each.before and each.after]


def _is_of_cloud(line: Line, seen: Seen, cluster: str) -> bool:
    """Whether this may be done, and is about Hetzner Cloud alone."""
    key, change = str(line.change.key), line.change
    name = key.split("/")[1]
    node = seen.nodes[cluster].get(name) if key.startswith("node/") else None
    is_metal = node is not None and (
        metal_of(node) is not None or name in {each["server_name"] for each in seen.account}
    )
    return change.decision.verdict == "allowed" and not is_metal and "/target/ip:" not in key


@cache
def _converged(nodes: int, services: tuple[tuple[str, tuple[tuple[str, str], ...]], ...], rest: Start) -> Seen:
    """The world some passes after it began, when there is nothing left to do."""
    start = replace(rest, nodes=nodes, services=tuple((name, dict(options)) for name, options in services))
    stage = _raw_stage(start)
    for _ in range(2):
        for name in stage.truth.clusters:
            stage.run(name)
    return stage.truth.seen()


def _raw_stage(start: Start) -> Stage:
    clock = SimulatedClock(source=START.timestamp)
    projects = {
        HOME: HetznerSimulator(clock, OPTIONS, world=home_of(start)),
        ELSEWHERE: HetznerSimulator(clock, OPTIONS, world=elsewhere_of(start)),
    }
    services = [a_service(name, options) for name, options in start.services]
    truth = Truth(clock, projects, {}, a_robot(start, clock))
    truth.add(a_cluster("a", start.nodes, services, start, truth))
    if start.others:
        truth.add(a_cluster("b", start.others, [a_service("web", {})], start, truth))
    return Stage(truth, start, start.environment, truth.seen())


def a_stage(start: Start | None = None, **changes: Any) -> Stage:
    """A world that its controllers have converged, ten minutes ago."""
    start = replace(start or Start(), **changes)
    services = tuple((name, tuple(sorted(options.items()))) for name, options in start.services)
    seen = _converged(start.nodes, services, replace(start, services=(), nodes=0))
    stage = _raw_stage(start)
    stage.truth.changed()
    for name, world in seen.projects.items():
        stage.truth.projects[name].replace_world(world)
    for name, world in seen.clusters.items():
        stage.truth.clusters[name].kubernetes.replace_world(world)
    stage.first = seen
    stage.advance(600)
    if start.copied:
        stage.restore()
        stage.advance(300)
    return stage
