"""The token's file is replaced under a running controller."""

import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from dataclasses import dataclass
from pathlib import Path

import pytest

from hcloud_sandbox.robot import RobotSimulator
from hcloud_sandbox.serving import BackgroundLoop, SimulatorServer
from tests.support.controller import OFTEN, Controller, running
from tests.support.objects import joining_node, server, settled_node
from tests.support.projects import Projects, served
from tests.support.stage import Stage, is_initialised, wait_for

OLD, NEW, FOREIGN = ("OldToken".ljust(64, "1"), "NewToken".ljust(64, "2"), "ForeignToken".ljust(64, "3"))


@dataclass(frozen=True)
class Rotation:
    """A stage whose project has two tokens, beside another project, and the file with the token."""

    stage: Stage
    projects: Projects
    endpoint: str
    file: Path

    def write(self, token: str) -> None:
        """Replace the file at once, as kubelet does with a Secret."""
        beside = self.file.with_suffix(".new")
        beside.write_text(token + "\n")
        beside.replace(self.file)

    def asked(self) -> list[str]:
        """The tokens of all requests, in order."""
        return [token for _, token in list(self.projects.asked)]

    def wait_until_asked_with(self, token: str, times: int = 1) -> None:
        """Return as soon as so many requests had this token."""
        wait_for(lambda: self.asked().count(token) >= times, f"{times} requests with {token[:12]}")

    def variables(self) -> dict[str, str | None]:
        """The environment of the controller."""
        return {"HCLOUD_TOKEN": None, "HCLOUD_TOKEN_FILE": str(self.file), "HCLOUD_ENDPOINT": self.endpoint}


@pytest.fixture
def rotation(stage: Stage) -> Iterator[Rotation]:
    """Two Nodes whose servers are in the project of the old token and of the new one. The other project has servers of
    other numbers, and one that bears the name of a Node which may join."""
    stage.register(settled_node("web-1", 1), settled_node("web-2", 2))
    ours = {"servers": [server(1, "web-1"), server(2, "web-2"), server(3, "late")]}
    theirs = {"servers": [server(901, "late"), server(902, "other")]}
    projects = Projects(stage.clock, {OLD: ours, NEW: ours, FOREIGN: theirs})
    file = stage.folder / "token"
    file.write_text(OLD)
    with served(projects, stage.clock) as endpoint:
        yield Rotation(stage, projects, endpoint, file)


def _no_token_is_told(controller: Controller) -> None:
    said = "\n".join([*controller.stdout, *controller.stderr])
    assert [token for token in (OLD, NEW, FOREIGN, OLD[:40]) if token in said] == []


def test_a_new_token_is_used_from_the_next_pass_on(rotation: Rotation) -> None:
    """No request has the old one afterwards; the log tells of the change and of no token."""
    with running(rotation.stage, *OFTEN, HCLOUD_DEBUG="true", **rotation.variables()) as controller:
        rotation.write(NEW)
        rotation.wait_until_asked_with(NEW)
        controller.wait_for_passes(controller.passes() + 1)
        controller.wait_to_say("a new token is in use")
        assert controller.end()[0] == 0

    asked = rotation.asked()
    assert set(asked[: asked.index(NEW)]) == {OLD}
    assert set(asked[asked.index(NEW) :]) == {NEW}
    _no_token_is_told(controller)


def test_a_token_that_was_revoked_first_costs_no_more_than_a_few_passes(rotation: Rotation) -> None:
    """The passes fail until the file has the new one, which is read again before the next interval, that is in an
    hour; nothing is restarted."""
    with running(rotation.stage, "--interval", "1h", **rotation.variables()) as controller:
        rotation.projects.revoke(OLD)
        rotation.stage.register(joining_node("late"))
        controller.wait_for_passes(1, 'result="error"')
        rotation.write(NEW)
        wait_for(lambda: is_initialised(rotation.stage.nodes()["late"]), "the Node")
        assert controller.page("/livez") == (200, "ok")
    _no_token_is_told(controller)


def test_a_token_of_another_project_is_refused_and_nothing_is_written(rotation: Rotation) -> None:
    """A Node joins whose name a server over there bears: the anchor holds it, until the right token is back."""
    with running(rotation.stage, *OFTEN, HCLOUD_DEBUG="true", **rotation.variables()) as controller:
        rotation.write(FOREIGN)
        rotation.wait_until_asked_with(FOREIGN)
        rotation.stage.forget()
        rotation.stage.register(joining_node("late"))
        controller.wait_for_passes(controller.passes('result="refused"') + 3, 'result="refused"')
        assert not is_initialised(rotation.stage.nodes()["late"])
        assert controller.metric("hcloud_reconciler_guard_violations_total", 'rule="project-anchor"') >= 1
        assert rotation.stage.writes() == []
        assert {method for method, token in rotation.projects.asked if token == FOREIGN} == {"GET"}
        rotation.write(OLD)
        wait_for(lambda: is_initialised(rotation.stage.nodes()["late"]), "the Node")
    assert rotation.stage.nodes()["late"]["spec"]["providerID"] == "hcloud://3"
    _no_token_is_told(controller)


def _vanishes(file: Path) -> None:
    file.unlink()


def _is_emptied(file: Path) -> None:
    file.write_text("")


def _is_a_folder(file: Path) -> None:
    file.unlink()
    file.mkdir()


def _is_garbage(file: Path) -> None:
    file.write_bytes(os.urandom(8) + b"\xff\n\n" + os.urandom(64))


@pytest.mark.parametrize("happens", [_vanishes, _is_emptied, _is_a_folder, _is_garbage])
def test_a_file_that_cannot_be_read_leaves_the_old_token_in_use(
    rotation: Rotation, happens: Callable[[Path], None]
) -> None:
    """One line in the log, however many passes there are; then comes the new one."""
    with running(rotation.stage, *OFTEN, **rotation.variables()) as controller:
        happens(rotation.file)
        controller.wait_to_say("the token cannot be read again, the old one stays")
        controller.wait_for_passes(controller.passes() + 2, 'result="no_changes"')
        assert sum("cannot be read again" in line for line in controller.stderr) == 1
        if rotation.file.is_dir():
            rotation.file.rmdir()
        rotation.write(NEW)
        rotation.wait_until_asked_with(NEW)
    assert set(rotation.asked()) == {OLD, NEW}


def test_half_a_token_does_no_harm(rotation: Rotation) -> None:
    """It looks like one, and Hetzner refuses it: the passes fail until the other half is there, and then they go on."""
    with running(rotation.stage, *OFTEN, HCLOUD_DEBUG="true", **rotation.variables()) as controller:
        rotation.write(OLD[:40])
        controller.wait_for_passes(1, 'result="error"')
        rotation.write(OLD)
        controller.wait_for_passes(controller.passes('result="no_changes"') + 1, 'result="no_changes"')
        assert controller.page("/livez") == (200, "ok")
    _no_token_is_told(controller)


LOGINS = (("#ws+old", "old-Robot-secret"), ("#ws+new", "new-Robot-secret"))


def test_robot_credentials_are_rotated(stage: Stage) -> None:
    """Wrong ones are sent once, however many passes there are, and keep neither Hetzner Cloud nor the probes waiting;
    new ones are used from the next pass on. The log has no password."""
    account = RobotSimulator(
        stage.clock, credentials=LOGINS[1], world={"servers": [{"server_number": 1, "server_name": "db-1"}]}
    )
    stage.project.replace_world({"servers": [server(1, "web-1")]})
    stage.register(joining_node("db-1"), joining_node("web-1"))
    files = [stage.folder / name for name in ("robot-user", "robot-password")]

    def write(login: tuple[str, str]) -> None:
        for file, text in zip(files, login, strict=True):
            beside = file.with_suffix(".new")
            beside.write_text(f"{text}\n")
            beside.replace(file)

    write(LOGINS[0])
    variables = {"ROBOT_ENABLED": "true", "ROBOT_USER_FILE": str(files[0]), "ROBOT_PASSWORD_FILE": str(files[1])}
    with closing(BackgroundLoop()) as loop, ExitStack() as beside:
        served = SimulatorServer(loop, account, stage.clock).start()
        beside.callback(served.stop)
        controller = beside.enter_context(
            running(stage, *OFTEN, HCLOUD_DEBUG="true", ROBOT_ENDPOINT=served.url, **variables)
        )
        wait_for(lambda: is_initialised(stage.nodes()["web-1"]), "the Node of Hetzner Cloud")
        controller.wait_for_passes(controller.passes() + 2, 'result="error"')
        assert [entry.status for entry in served.journal.entries()] == [401]
        assert controller.page("/readyz")[0] == 200
        refused = ("hcloud_reconciler_robot_requests_total", 'code="401"', 'endpoint="/server"')
        wait_for(lambda: controller.metric(*refused) == 1, "the refusal among the metrics")
        assert "providerID" not in stage.nodes()["db-1"]["spec"]
        write(LOGINS[1])
        wait_for(lambda: "providerID" in stage.nodes()["db-1"]["spec"], "the Node on the dedicated server")
        controller.wait_to_say("new Robot credentials are in use")
        complete = ("hcloud_reconciler_snapshot_complete", 'section="robot"')
        wait_for(lambda: controller.metric(*complete) == 1, "metrics of a pass that has read the account")
        assert controller.metric("hcloud_reconciler_robot_calls_left", 'endpoint="server"') > 50
        assert controller.end()[0] == 0

    assert stage.nodes()["db-1"]["spec"]["providerID"] == "hrobot://1"
    said = "\n".join([*controller.stdout, *controller.stderr])
    assert [password for _, password in LOGINS if password in said] == []


def test_a_cronjob_sends_a_wrong_robot_password_once(stage: Stage) -> None:
    """Each run is a new process, and the third wrong log-in would lock everybody out."""
    stage.with_robot({"server_number": 1, "server_name": "db-1"})
    config_map = {"metadata": {"name": "hcloud-reconciler"}}
    stage.cluster.request("POST", "/api/v1/namespaces/kube-system/configmaps", config_map)

    runs = [stage.reconcile("--once", ROBOT_PASSWORD="mistyped") for _ in range(4)]

    assert ["user or password is wrong" in ran.stderr + ran.stdout for ran in runs] == [True] * 4
    assert stage.robot_proxy is not None
    assert len(stage.robot_proxy.journal.entries()) == 1
    assert stage.reconcile("--once").code == 0
