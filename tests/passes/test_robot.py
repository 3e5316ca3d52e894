"""Clusters that mix cloud and dedicated servers."""

import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import timedelta
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import pytest

from actuators.http.actions import Actions
from actuators.http.hetzner import HetznerWriter
from actuators.http.kubernetes import KubernetesWriter
from actuators.http.retry import Patience, Retry
from actuators.http.robot import RobotLogin, RobotReader
from actuators.writers import Writers
from hcloud_sandbox.clock import SimulatedClock
from hcloud_sandbox.exchange import Exchange, Request
from hcloud_sandbox.robot import RobotSimulator
from reconciler.observe.robot import RobotCache
from reconciler.observe.servers_by_id import Confirmer
from reconciler.observe.world import Robot
from reconciler.passes.history import History
from reconciler.passes.one_pass import converge
from reconciler.result import Report, Result
from reconciler.rotating_secrets import rotating_login
from reconciler.runtime import Runtime, actuators_with
from tests.support.in_process import one_pass, runtime
from tests.support.objects import LOCATED, LONG_AGO, a_service, joining_node, seen, server
from tests.support.simulators import ImpatientStop
from tests.support.stage import AT_ANY_AGE, Ran, Stage

if TYPE_CHECKING:
    from pathlib import Path

ONCE = ("--once", "--output", "json", *AT_ANY_AGE)
CLOUD = {1: "web-1", 2: "web-2", 3: "web-3"}
DEDICATED = {11: "db-1", 12: "db-2", 13: "db-3"}
NEW = {"server_number": 14, "server_name": "db-4", "server_ip": "192.0.2.14"}


def dedicated(number: int, **fields: Any) -> dict[str, Any]:
    """One of the dedicated servers."""
    return {"server_number": number, "server_name": DEDICATED[number], "server_ip": f"192.0.2.{number}", **fields}


class Mixed:
    """Three servers of each kind, whose Nodes have joined, and a Service for all."""

    def __init__(self, stage: Stage, clock: SimulatedClock | None = None) -> None:
        self.stage = stage
        stage.environment |= LOCATED
        stage.have_servers(*(server(number, name) for number, name in CLOUD.items()))
        self.robot = stage.with_robot(*map(dedicated, DEDICATED), clock=clock)
        stage.register(*(joining_node(name) for name in (*CLOUD.values(), *DEDICATED.values())))
        stage.have_services(a_service())
        self.joined = self.once()
        stage.set_ready(*CLOUD.values(), *DEDICATED.values(), ready="True")

    def once(self) -> Ran:
        """One run."""
        return self.stage.reconcile(*ONCE)

    def targets(self) -> list[str]:
        """Where the load balancer sends traffic."""
        (balancer,) = self.stage.balancers()
        return sorted(map(str, seen(balancer)["targets"]))

    def paths(self) -> list[str]:
        """What Robot was asked since the last time."""
        return [entry.path for entry in self._asked()]

    def statuses(self) -> list[int]:
        """How it answered."""
        return [entry.status for entry in self._asked()]

    def _asked(self) -> list[Exchange]:
        assert self.stage.robot_proxy is not None
        asked = self.stage.robot_proxy.journal.entries()
        self.stage.robot_proxy.journal.clear()
        return asked


@pytest.fixture
def mixed(stage: Stage) -> Mixed:
    """The cluster, in order."""
    return Mixed(stage)


class Life:
    """One controller for hours of Robot's time, which passes between its passes; all other clocks are real."""

    def __init__(self, stage: Stage, built: Runtime, clock: SimulatedClock, password_file: "Path") -> None:
        assert built.connections is not None
        assert stage.robot_proxy is not None
        now, stop, readers = clock.timestamp, ImpatientStop(), built.plan_context.readers
        login = RobotLogin(RobotSimulator.USER, RobotSimulator.PASSWORD)
        self.account = RobotReader(
            login,
            endpoint=stage.robot_proxy.url,
            user_agent="tests/1.0",
            retry=Retry(stop, Patience(attempts=2)),
            timeout_s=5.0,
            clock=now,
        )
        robot = Robot(RobotCache(self.account, timedelta(minutes=5), now), Confirmer(self.account))
        cluster, cloud = built.connections.cluster, built.connections.cloud
        writers = Writers(readers.hetzner, HetznerWriter(cloud), Actions(readers.hetzner, stop), readers.kubernetes)
        actuators = actuators_with(KubernetesWriter(cluster), writers, self.account)
        self._plan = replace(built.plan_context, readers=replace(readers, robot=robot))
        self._apply = replace(built.connections.apply_context, actuators=actuators)
        self._history = History(now, lambda: 0.0)
        self._clock = clock
        self._file = password_file
        self._rotating = rotating_login({"ROBOT_PASSWORD": password_file}, login, robot.use_login)

    def forget_robot(self) -> None:
        """Let so much time pass that nothing is known of Robot any more."""
        self._clock.advance(300)

    def write(self, password: str) -> None:
        """Somebody replaces the file with the password."""
        self._file.write_text(f"{password}\n")

    def let_pass(self, minutes: int) -> list[Report]:
        """The reports of a pass a minute."""
        return [self._a_minute() for _ in range(minutes)]

    def _a_minute(self) -> Report:
        self._rotating.refresh()
        report = converge(replace(self._plan, history=self._history), self._apply)
        self._history.note(report)
        self._clock.advance(60)
        return report


def provider_ids(stage: Stage) -> dict[str, str | None]:
    """Name → providerID of each Node."""
    return {name: node["spec"].get("providerID") for name, node in stage.nodes().items()}


def fail_to_log_in(robot: RobotSimulator) -> None:
    """Somebody else at this address mistypes a password."""
    robot.handle(Request.of("GET", "/server", headers={"Authorization": "Basic c29tZWJvZHk6ZWxzZQ=="}))


@pytest.fixture
def robots_clock() -> SimulatedClock:
    """Robot's time, which stands still until it is advanced."""
    return SimulatedClock(source=lambda: 1_800_000_000.0)


@pytest.fixture
def long_lived(a_stage: Callable[..., Stage], robots_clock: SimulatedClock) -> Iterator[tuple[Mixed, Life]]:
    """The cluster, in order, and a controller that has been running for a minute."""
    mixed = Mixed(a_stage(action_s=0.0), robots_clock)
    file = mixed.stage.folder / "robot-password"
    file.write_text(RobotSimulator.PASSWORD)
    with runtime(mixed.stage, dict(pairwise(AT_ANY_AGE)), threading.Event()) as built:
        life = Life(mixed.stage, built, robots_clock, file)
        assert [report.result for report in life.let_pass(1)] == [Result.NO_CHANGES]
        mixed.paths()
        yield mixed, life


def test_robot_fails_in_one_way_after_another(long_lived: tuple[Mixed, Life]) -> None:
    """Maintenance for an hour, a wrong password, another wrong one, a lock-out, and then all is well. Meanwhile cloud
    servers come and go with their Nodes and targets, each within one pass; dedicated ones stay as they are until Robot
    speaks again, and are looked after then."""
    mixed, life = long_lived
    stage, robot = mixed.stage, mixed.robot
    cloud, kept = dict(CLOUD), {"db-1": "hrobot://11", "db-2": "hrobot://12", "db-3": "hrobot://13", "db-4": None}

    def pass_minutes(minutes: int) -> list[int]:
        """The statuses of Robot's answers in so many minutes. In the first of them the oldest cloud server goes, and a
        new one comes."""
        goes, comes = min(cloud), max(cloud) + 1
        stage.delete_server(goes)
        stage.set_ready(cloud.pop(goes), ready="Unknown", since=LONG_AGO)
        cloud[comes] = f"web-{comes}"
        stage.add_servers(server(comes, cloud[comes]))
        stage.register(joining_node(cloud[comes]))
        first = life.let_pass(1)
        stage.set_ready(cloud[comes], ready="True")
        assert provider_ids(stage) == {**{name: f"hcloud://{number}" for number, name in cloud.items()}, **kept}
        assert mixed.targets() == ["192.0.2.11", "192.0.2.12", "192.0.2.13", *map(str, cloud)]
        later = life.let_pass(minutes - 1)
        assert {report.result for report in (*first, *later)} <= {Result.INCOMPLETE, Result.ERROR}
        assert [line.change.key for report in later for line in report.lines] == []
        return mixed.statuses()

    # A dedicated server is given back, another one has been ordered, and Robot says nothing of either.
    robot.replace_world({"servers": [*map(dedicated, (12, 13)), NEW]})
    stage.set_ready("db-1", ready="Unknown", since=LONG_AGO)
    stage.register(joining_node("db-4"))
    life.forget_robot()
    robot.set_faults([{"kind": "maintenance", "count": None}])
    assert pass_minutes(60) == [503] * 28  # 14 lists, each tried twice
    robot.clear_faults()
    robot.set_credentials(RobotSimulator.USER, "changed")
    assert pass_minutes(15) == [401]
    life.write("chagned")
    assert pass_minutes(5) == [401]
    fail_to_log_in(robot)  # the third one, and not ours
    life.write("changed")
    assert pass_minutes(10) == [403]

    life.let_pass(5)

    assert sorted(mixed.paths()) == ["/reset/14", "/reset/14", "/server", "/server/11", "/server/11"]
    settled = {name: f"hcloud://{number}" for number, name in cloud.items()}
    assert provider_ids(stage) == {**settled, "db-2": "hrobot://12", "db-3": "hrobot://13", "db-4": "hrobot://14"}
    assert mixed.targets() == ["192.0.2.12", "192.0.2.13", "192.0.2.14", *map(str, cloud)]
    assert [report.result for report in life.let_pass(1)] == [Result.NO_CHANGES]


def test_a_cronjob_sends_a_wrong_password_once(stage: Stage) -> None:
    """Each run is a new process, and a third wrong log-in would lock everybody out."""
    stage.with_robot(dedicated(11))
    stage.have_config_map()

    reports = [one_pass(stage, ROBOT_PASSWORD="mistyped") for _ in range(4)]

    assert [["user or password is wrong" in error for error in report["errors"]] for report in reports] == [[True]] * 4
    assert stage.robot_proxy is not None
    assert len(stage.robot_proxy.journal.entries()) == 1
    assert one_pass(stage)["errors"] == []
