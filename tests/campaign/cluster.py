"""The cluster of a workload: the world, the process of the product in charge of it, and people with commands."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from actuators.http.errors import NotLeader
from actuators.wire.lease import Leases
from desired.names import CONFIG_MAP, LEASE, LEASE_NAMESPACE
from desired.plan.controller_record import record_in
from desired.section import Unknown
from hcloud_sandbox.clock import SimulatedClock
from hcloud_sandbox.exchange import Simulator
from hcloud_sandbox.hetzner import HetznerOptions, HetznerSimulator
from hcloud_sandbox.robot import RobotSimulator
from kubernetes_double import KubernetesSimulator
from reconciler.leader_election.elector import Elector
from reconciler.leader_election.leadership import LeadershipStatus, Timings
from reconciler.passes.agreement import Agreement
from reconciler.passes.saved_plan import read_plan, save_plan
from reconciler.result import Report
from reconciler.rotating_secrets import rotating_token
from tests.support.dedicated import dedicated
from tests.support.direct import DirectSimulation
from tests.support.leases import NoThread
from tests.support.lines import Line
from tests.support.objects import NETWORK, server
from tests.support.passes import Run, just_before_the_writes
from tests.support.simulators import START, Gate, PassingTime, is_open
from tests.support.world import Raw

NEW_TOKEN, OTHER_TOKEN = ("".join((name, "0" * (64 - len(name)))) for name in ("NewToken", "OtherToken"))
"""Another token of the project, and one of another project."""
ELSEWHERE = {"servers": [server(901, "shop-1")], "networks": [NETWORK | {"id": 17}]}
"""Another project, with a network of the same name."""
ACCOUNT = {"servers": [dedicated(number) for number in (1, 2, 3)]}
"""A Robot account, where Robot is enabled."""
Step = Callable[["Cluster"], object]


def a_project(clock: SimulatedClock) -> HetznerSimulator:
    """An empty project, whose actions are done at once."""
    tokens = (HetznerSimulator.TOKEN, NEW_TOKEN, OTHER_TOKEN)
    return HetznerSimulator(clock, HetznerOptions(action_s=0.0), tokens=dict.fromkeys(tokens, "rw"))


@dataclass
class Cluster(DirectSimulation):
    """Verbs of the world, and what operators and people with commands do."""

    reports: list[Report] = field(default_factory=list)
    """Of all passes, in their order."""
    is_deposed: bool = False
    """Whether another process leads, so that the one in charge may write nothing more."""
    _agreement: Agreement = field(default_factory=Agreement)
    _elsewhere: dict[str, Any] = field(default_factory=lambda: {"hetzner": ELSEWHERE})
    """The world of the project of which the token is not."""
    _due: list[tuple[Callable[["Cluster"], bool], Step]] = field(default_factory=list)
    _processes: int = 0

    @classmethod
    def under(cls, environment: dict[str, str]) -> "Cluster":
        clock = SimulatedClock(source=START.timestamp)
        robot = RobotSimulator(clock, world=ACCOUNT) if "ROBOT_ENABLED" in environment else None
        return cls(a_project(clock), KubernetesSimulator(clock), clock, robot=robot, environment=environment)

    def simulators(self) -> list[Simulator]:
        """All that have a world."""
        return [self.hetzner, self.kubernetes, *([] if self.robot is None else [self.robot])]

    def certificates(self) -> list[Raw]:
        return self._of_project("certificates")

    def start(self) -> None:
        """A process begins, configured as it is now. Nothing is heard any more of the one before."""
        self._robot_reader = None
        self._elector = self._an_elector() if "RECONCILER_LEADER_ELECT" in self.environment else None
        self.is_deposed = False
        gate = partial(self._may_write, is_open if self._elector is None else self._elector.may_write)
        self._process = Run(self, self.settings, agreement=self._agreement, gate=gate)
        self._process.readers = replace(self._process.readers, wall=self.clock.timestamp)
        self._process.keep(lasts=self._agreement.permissions is None)

    def _may_write(self, gate: Gate) -> None:
        if self.is_deposed:
            raise NotLeader("another process leads")
        gate()

    def _an_elector(self) -> Elector:
        self._processes += 1
        own = self.kubernetes_reader(), self.kubernetes_writer()
        return Elector(
            Leases(*own, LEASE_NAMESPACE, LEASE),
            Timings(),
            identity=f"process-{self._processes}",
            clock=self.clock.timestamp,
            wall_clock=self.clock.now,
            draw=lambda: 0.0,
            beside=lambda target, _name: NoThread(target),
        )

    def converge(self) -> None:
        """A pass of the process in charge, which first waits for the lead where there is a Lease."""
        elector = self._elector
        if elector is not None:
            lead = elector.wait_until_leader(PassingTime(self.clock))
            if lead.standing is not LeadershipStatus.LEADING:
                return
        self.reports.append(self._process.converge())

    # What happens within a pass.

    def once(self, is_so: Callable[["Cluster"], bool], step: Step) -> None:
        """Let this happen right after the write to Hetzner that makes it so."""
        self._due.append((is_so, step))

    def look(self) -> None:
        for due in [each for each in self._due if each[0](self)]:
            self._due.remove(due)
            due[1](self)

    def once_planned(self, step: Step) -> None:
        """Let this happen between the next plan and its writes."""
        just_before_the_writes(self._process, lambda _: step(self))

    def take_over(self) -> None:
        """Another process leads as soon as the Lease has run out."""
        self.start()

    def stall(self) -> None:
        """The process is stopped between its next plan and the writes, until another one has led and done its work."""

        def meanwhile(_: object) -> None:
            self.take_over()
            self.converge()

        self.once_planned(meanwhile)

    # What people do.

    def approve(self) -> None:
        """All that is held. A record that cannot be read is removed before, as the plan says."""
        data = self.objects("configmaps").get(CONFIG_MAP, {}).get("data") or {}
        if isinstance(record_in(data, None), Unknown):
            self.patch_config_map(CONFIG_MAP, record=None)
        for hold in self.reports[-1].holds:
            self._process.approve(hold.hash)

    def configure(self, **variables: str | None) -> None:
        """The product is started anew with other settings; None takes one away."""
        kept = {name: value for name, value in self.environment.items() if name not in variables}
        self.environment = {**kept, **{name: value for name, value in variables.items() if value is not None}}
        self.start()

    def save_plan(self, *, is_exact: bool = False) -> None:
        """``reconcile plan --save``; from now on ``apply`` of that file is what runs, if need be again."""
        content = save_plan(self._process.plan(), self.settings)
        self._agreement = read_plan(content, "plan.json", is_exact=is_exact).agreement
        self.start()

    def leave_plan(self) -> None:
        """``apply`` without a file is what runs."""
        self._agreement = Agreement()
        self.start()

    def change_token(self, token: str) -> None:
        """The file has another token, which the process reads before its next pass. An old one that is refused is so
        no more."""
        self.hetzner_line.trouble = Line.trouble
        if (token == OTHER_TOKEN) is not (self.token == OTHER_TOKEN):
            here, there = self.hetzner.world(), self._elsewhere
            self.hetzner.replace_world(there["hetzner"])
            self._elsewhere = here
        with TemporaryDirectory() as folder:
            file = Path(folder, "token")
            file.write_text(token, "utf-8")
            rotating_token(file, self.token, self._use_token).refresh()
        self.token = token

    def revoke_token(self) -> None:
        body = {"error": {"code": "unauthorized", "message": "unable to authenticate"}}
        self.hetzner_line.trouble = lambda _method, _path: (401, body)

    def _use_token(self, token: str) -> None:
        self._process.cloud.use_token(token)
        self._process.readers.confirmer.forget()
        self._process.readers.primary_ips.forget()
