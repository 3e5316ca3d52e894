"""What a run is made of: hands for all that can be planned when it acts, and nothing that writes when it only looks."""

import threading
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import pytest

from actuators.concurrency import Concurrency
from actuators.config_maps import ConfigMap
from actuators.http.errors import Denied
from actuators.http.hetzner import HetznerConnection, HetznerWriter
from actuators.http.kubernetes import KubernetesWriter
from actuators.http.robot import RobotLogin
from desired.model.record import Stamp
from desired.model.remembered import RefusedLogin
from desired.plan.controller_record import RECORD, ControllerRecord
from desired.plan.kinds import KINDS
from hcloud_sandbox.hetzner import HetznerOptions, HetznerSimulator
from reconciler.config.config import load_config
from reconciler.config.options import Command
from reconciler.passes.one_pass import converge, plan_once
from reconciler.runtime import Runtime, build_runtime, open_robot
from tests.support.objects import joining_node, server
from tests.support.passes import Ears
from tests.support.rows import rows
from tests.support.simulators import Simulation
from tests.support.stage import wait_for

ALONE = {"RECONCILER_LEADER_ELECT": "false"}


@pytest.fixture
def sim(simulate: Callable[..., Simulation]) -> Simulation:
    options = HetznerOptions(action_s=0)
    return simulate(nodes=[joining_node("web-1")], project={"servers": [server(1, "web-1")]}, options=options)


def runtime(sim: Simulation, command: Command, *modes: str, **variables: str) -> Runtime:
    flags = {"--kubeconfig": str(sim.kubeconfig()), **dict.fromkeys(modes, "true")}
    environment = {"HCLOUD_TOKEN": HetznerSimulator.TOKEN, "HCLOUD_ENDPOINT": sim.endpoint, **ALONE, **variables}
    return build_runtime(load_config(command, flags, environment), threading.Event(), Ears())


def connection_of(runtime: Runtime) -> HetznerConnection:
    return runtime.plan_context.readers.hetzner._connection


@pytest.mark.parametrize("modes", [pytest.param((), id="loop"), pytest.param(("--once",), id="once")])
def test_who_acts_has_hands_for_all_that_is_planned(sim: Simulation, modes: tuple[str, ...]) -> None:
    built = runtime(sim, Command.BARE, *modes)

    assert built.connections is not None
    assert set(built.connections.apply_context.actuators) == KINDS.keys()


def test_what_is_written_counts_with_what_is_read(sim: Simulation) -> None:
    """Readers and writers of Hetzner share a connection, and so its count and its allowance."""
    spec = {"type": "LoadBalancer", "ports": [{"port": 80, "nodePort": 30080}]}
    service = {"metadata": {"name": "web", "namespace": "default"}, "spec": spec}
    sim.kubernetes_writer().create("/api/v1/namespaces/default/services", service)
    built = runtime(sim, Command.BARE, "--once", HCLOUD_LOAD_BALANCERS_LOCATION="fsn1")
    assert built.connections is not None

    report = converge(built.plan_context, built.connections.apply_context)
    built.connections.events.close(5.0)

    sent = sim.sent_to_hetzner()
    assert report.result == "no_changes"
    assert {entry.method for entry in sent} == {"GET", "POST"}
    assert (report.requests.hetzner, report.requests.remaining) == (len(sent), 3600 - len(sent))


@rows("command modes", {"dry run": (Command.BARE, ("--dry-run",)), "explain": (Command.EXPLAIN, ())})
def test_who_looks_cannot_write(
    sim: Simulation, monkeypatch: pytest.MonkeyPatch, command: Command, modes: tuple[str, ...]
) -> None:
    """No writer is made, and no method but GET leaves its connections."""

    def refuse(*_arguments: object) -> None:
        raise AssertionError("a writer in a run that only looks")

    monkeypatch.setattr(HetznerWriter, "__init__", refuse)
    monkeypatch.setattr(KubernetesWriter, "__init__", refuse)

    built = runtime(sim, command, *modes)

    assert built.connections is None
    for connection in (connection_of(built), built.plan_context.readers.kubernetes.connection):
        with pytest.raises(PermissionError):
            connection.send("DELETE", "/load_balancers/1", repeatable=True)
    assert plan_once(built.plan_context).result == "changes"
    assert {entry.method for entry in (*sim.sent_to_hetzner(), *sim.sent_to_kubernetes())} == {"GET"}


def test_who_only_looks_says_nothing_and_waits_for_nobody(sim: Simulation) -> None:
    """With ``--policy observe`` a run beside HCCM needs no Lease, and sends neither events nor conditions."""
    built = runtime(sim, Command.BARE, "--once", RECONCILER_POLICY="observe", RECONCILER_LEADER_ELECT="true")
    assert built.connections is not None

    report = converge(built.plan_context, built.connections.apply_context)
    built.connections.events.close(5.0)

    assert report.result == "changes"
    assert built.connections.leader.is_leader()
    assert [exchange.method for exchange in sim.sent_to_kubernetes("POST", "PATCH", "PUT", "DELETE")] == []


@rows(
    "command modes count",
    {"a run that only looks": (Command.PLAN, (), 1), "one that has to lead first": (Command.BARE, ("--once",), 0)},
)
def test_servers_are_asked_for_while_the_clients_load(
    sim: Simulation, command: Command, modes: tuple[str, ...], count: int
) -> None:
    """The first page is under way before the cluster is called, and the pass asks for it no second time."""
    built = runtime(sim, command, *modes)
    wait_for(lambda: len(sim.sent_to_hetzner()) == count, "the first page")
    assert [entry.path for entry in sim.sent_to_hetzner()] == ["/v1/servers"] * count
    assert sim.sent_to_kubernetes() == []

    assert plan_once(built.plan_context).result == "changes"
    assert [entry.path for entry in sim.sent_to_hetzner()].count("/v1/servers") == 1


def test_an_answer_that_was_asked_for_ahead_may_be_a_refusal(sim: Simulation) -> None:
    """Then the list is incomplete, as if it had been asked for when it was needed."""
    built = runtime(sim, Command.PLAN, HCLOUD_TOKEN="x" * 64)

    report = plan_once(built.plan_context)

    assert report.result == "error"
    assert "token" in report.errors[0]


def test_a_refused_log_in_is_as_old_as_the_clock_of_the_run_has_it() -> None:
    """It was refused five minutes ago, and is not sent again."""
    at = datetime(2001, 11, 23, 12, tzinfo=UTC)
    environment = {"HCLOUD_TOKEN": HetznerSimulator.TOKEN, **ALONE}
    environment |= {"ROBOT_ENABLED": "true", "ROBOT_USER": "#ws+sandbox", "ROBOT_PASSWORD": "wrong"}
    record = ControllerRecord().refusing(RefusedLogin(RobotLogin("#ws+sandbox", "wrong").tag, at))
    own = ConfigMap(lambda: {RECORD.key: RECORD.write(record, Stamp("", "", at))})
    clock = Concurrency(wall_clock=(at + timedelta(minutes=5)).timestamp)
    robot = open_robot(load_config(Command.BARE, {}, environment), threading.Event(), own, clock)
    assert robot is not None

    with pytest.raises(Denied):
        robot.get("/server")
