"""The controller's settings on a laptop: taken by commands that show plans, told first, and by nothing else."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from actuators.http.kubernetes import KubernetesConnection
from desired.model.settings import Settings
from desired.names import CONFIG_MAP
from hcloud_sandbox.hetzner import HetznerSimulator
from reconciler.runtime import open_cluster
from tests.support.objects import server, settled_node
from tests.support.passes import NAMESPACE, Run, records_in
from tests.support.rows import rows
from tests.support.said import CommandLine, Said
from tests.support.simulators import Simulation

CONFIG_MAPS = f"/api/v1/namespaces/{NAMESPACE}/configmaps"
TAKEN = "reconcile: settings of the controller (--own-settings leaves them out): "
DIFFERING = "reconcile: warning: this shell has settings other than the controller: "
UNZONED = Settings(zone_labels=False, network="net", routes=True)
ALL = "HCLOUD_INSTANCES_ZONE_LABEL_ENABLED=false, HCLOUD_NETWORK=net, HCLOUD_NETWORK_ROUTES_ENABLED=true"


class Shell:
    """A shell with a token and a kubeconfig, beside a controller."""

    def __init__(self, sim: Simulation, command: CommandLine) -> None:
        self.sim, self._command = sim, command

    def publish(self, settings: Settings) -> None:
        """A controller with these settings has done a pass."""
        run = Run(self.sim)
        report = run.converge()
        self.sim.kubernetes_writer().create(CONFIG_MAPS, {"metadata": {"name": CONFIG_MAP}})
        records_in(self.sim, settings).status.keep(report, 0.5)

    def edit(self, edit: Callable[[dict[str, Any]], object]) -> None:
        """Somebody edits the published status."""
        known = self.sim.kubernetes.world()["kubernetes"]
        (data,) = (each["data"] for each in known["configmaps"] if each["metadata"]["name"] == CONFIG_MAP)
        status = json.loads(data["status"])
        edit(status)
        data["status"] = json.dumps(status)
        self.sim.kubernetes.replace_world(known)

    def __call__(self, *words: str, **variables: str) -> Said:
        return self._command(*words, **variables)


@pytest.fixture
def shell(
    simulate: Callable[..., Simulation], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Shell:
    sim = simulate(
        nodes=[settled_node("web-1", 1)],
        project={
            "servers": [server(1, "web-1", labels={"team": "x"}, private_net=[{"network": 7, "ip": "10.0.0.2"}])],
            "networks": [{"id": 7, "name": "net", "ip_range": "10.0.0.0/16"}],
        },
    )
    variables = {
        "KUBECONFIG": str(sim.kubeconfig()),
        "HCLOUD_TOKEN": HetznerSimulator.TOKEN,
        "HCLOUD_ENDPOINT": sim.endpoint,
    }
    for name in ("is_attended", "is_agreed"):
        monkeypatch.setattr(f"reconciler.cli.run.{name}", lambda *_: True)
    return Shell(sim, CommandLine(monkeypatch, capsys, variables))


@rows(
    "words",
    {
        "plan": ("plan",),
        "a dry run": ("--dry-run",),
        "an apply that asks": ("apply",),
        "explain": ("explain", "web-1"),
        "holds that are computed": ("holds", "--plan"),
    },
)
def test_commands_that_show_a_plan(shell: Shell, words: tuple[str, ...]) -> None:
    shell.publish(UNZONED)

    said = shell(*words)

    assert said.code == 0, said
    assert said.stderr.splitlines()[0] == TAKEN + ALL
    assert DIFFERING not in said.stderr


@rows(
    "words variables",
    {
        "--own-settings": (("plan", "--own-settings"), {}),
        "its variable": (("plan",), {"RECONCILER_OWN_SETTINGS": "true"}),
        "an apply without a question": (("apply", "--yes"), {}),
        "a run": (("--once",), {}),
        "a dry run of the controller": (("run", "--dry-run"), {}),
        "published holds": (("holds",), {}),
    },
)
def test_commands_that_take_none(shell: Shell, words: tuple[str, ...], variables: dict[str, str]) -> None:
    shell.publish(UNZONED)

    said = shell(*words, **variables)

    assert (said.code, TAKEN in said.stderr, DIFFERING in said.stderr) == (0, False, False)


def test_a_setting_of_this_shell_wins_and_is_told(shell: Shell) -> None:
    """An empty variable unsets it as well; a flag that decides nothing is no difference."""
    shell.publish(UNZONED)

    said = shell("plan", "--policy", "observe", HCLOUD_NETWORK="", HCLOUD_INSTANCES_ZONE_LABEL_ENABLED="false")

    assert said.code == 0
    routes = "HCLOUD_NETWORK_ROUTES_ENABLED=false (controller: true)"
    assert said.stderr.splitlines()[0] == f"{DIFFERING}HCLOUD_NETWORK=(unset) (controller: net), {routes}"
    assert TAKEN not in said.stderr


def test_a_plan_is_that_of_the_controller(shell: Shell) -> None:
    shell.publish(Settings(mirror_labels="servers.example.com"))

    assert "labels[servers.example.com/team]: (none) -> x" in shell("plan").stdout
    assert "No changes" in shell("plan", "--own-settings").stdout


def test_settings_alike_are_not_told(shell: Shell) -> None:
    shell.publish(Settings())

    assert shell("plan").stderr == ""


def test_settings_that_do_not_fit(shell: Shell) -> None:
    shell.publish(Settings(robot=True))

    said = shell("plan", "--server-selector", "cluster=a")

    first, last = said.stderr.splitlines()[:2]
    assert said.code == 1
    assert first == "reconcile: error: --server-selector and ROBOT_ENABLED exclude each other: unset one of them"
    assert last.endswith("do not fit: --own-settings uses those of this shell alone")


def test_a_status_of_another_cluster(shell: Shell) -> None:
    """A backup brings it along."""
    shell.publish(UNZONED)
    shell.edit(lambda status: status.update(cluster="another"))

    assert TAKEN not in shell("plan").stderr


def test_settings_that_may_not_be_read(shell: Shell) -> None:
    shell.publish(UNZONED)
    forbidden = {"kind": "Status", "reason": "Forbidden", "message": "you may not"}
    fault = {"kind": "status", "path": f"{CONFIG_MAPS}/{CONFIG_MAP}", "code": 403, "body": forbidden}
    shell.sim.kubernetes_proxy.set_faults([fault])

    said = shell("plan")

    first = said.stderr.splitlines()[0]
    assert first.startswith("reconcile: warning: settings of a controller cannot be read, and those of this shell are")
    assert said.code == 0


def test_a_pod_takes_none(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    shell.publish(UNZONED)

    def as_pod(*args: Any, **more: Any) -> KubernetesConnection:
        connection = open_cluster(*args, **more)
        connection.context = ""
        return connection

    monkeypatch.setattr("reconciler.cli.own_settings.open_cluster", as_pod)

    assert shell("plan").stderr == ""


def test_only_settings_are_taken(shell: Shell) -> None:
    """Any account that may write the ConfigMap may name an endpoint."""
    shell.publish(UNZONED)
    shell.edit(lambda status: status["settings"]["values"].update(HCLOUD_ENDPOINT="https://example.com"))

    said = shell("plan")

    assert (said.code, said.stderr.splitlines()[0]) == (0, TAKEN + ALL)
