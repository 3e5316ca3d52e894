"""The token's file is replaced under a running controller."""

from collections.abc import Iterator, Mapping
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from hcloud_sandbox.clock import SimulatedClock
from hcloud_sandbox.exchange import Request, Response
from hcloud_sandbox.hetzner import HetznerSimulator
from hcloud_sandbox.robot import RobotSimulator
from hcloud_sandbox.serving import BackgroundLoop, SimulatorServer
from tests.support.controller import running
from tests.support.objects import joining_node, server, settled_node
from tests.support.stage import Stage, is_initialised, wait_for


class Projects:
    """One simulator for each token; ``asked`` has method and token of each request, in order. A token of no project is
    refused as by one that knows another."""

    def __init__(self, clock: SimulatedClock, worlds: Mapping[str, Mapping[str, Any]]) -> None:
        """``worlds``: token → the project that it is for. Tokens with one and the same world share the project."""
        self.asked: list[tuple[str, str]] = []
        self.by_token: dict[str, HetznerSimulator] = {}
        for token, world in worlds.items():
            others = [known for known, its in worlds.items() if its is world]
            same = next((self.by_token[other] for other in others if other in self.by_token), None)
            self.by_token[token] = same or HetznerSimulator(clock, tokens=dict.fromkeys(others, "rw"), world=world)
        self._stranger = HetznerSimulator(clock)

    def revoke(self, token: str) -> None:
        """The token is of no use from now on."""
        del self.by_token[token]

    def handle(self, request: Request) -> Response:
        token = request.headers.get("authorization", "").removeprefix("Bearer ")
        self.asked.append((request.method, token))
        return self.by_token.get(token, self._stranger).handle(request)

    def world(self) -> dict[str, Any]:
        return {}

    def replace_world(self, world: Mapping[str, Any]) -> None:  # noqa: ARG002 - as a simulator has it
        """Not supported."""
        raise ValueError("there are several worlds")

    def set_faults(self, faults: list[dict[str, Any]]) -> None:  # noqa: ARG002
        """Not supported."""
        raise ValueError("there are several simulators")

    def clear_faults(self) -> None:
        """Nothing is set."""


@contextmanager
def served(projects: Projects, clock: SimulatedClock) -> Iterator[str]:
    """What to give as ``HCLOUD_ENDPOINT``."""
    loop = BackgroundLoop()
    server = SimulatorServer(loop, projects, clock).start()
    try:
        yield f"{server.url}/v1"
    finally:
        server.stop()
        loop.close()


OLD, NEW = "OldToken".ljust(64, "1"), "NewToken".ljust(64, "2")
OFTEN = ("--interval", "100ms", "--request-timeout", "1s")


@dataclass(frozen=True)
class Rotation:
    """Stage whose project has two tokens, and the file with the token."""

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

    def variables(self) -> dict[str, str | None]:
        """The environment of the controller."""
        return {"HCLOUD_TOKEN": None, "HCLOUD_TOKEN_FILE": str(self.file), "HCLOUD_ENDPOINT": self.endpoint}


@pytest.fixture
def rotation(stage: Stage) -> Iterator[Rotation]:
    """Two Nodes whose servers are in the project of both tokens."""
    stage.register(settled_node("web-1", 1), settled_node("web-2", 2))
    ours = {"servers": [server(1, "web-1"), server(2, "web-2"), server(3, "late")]}
    projects = Projects(stage.clock, {OLD: ours, NEW: ours})
    file = stage.folder / "token"
    file.write_text(OLD)
    with served(projects, stage.clock) as endpoint:
        yield Rotation(stage, projects, endpoint, file)


def test_a_token_that_was_revoked_first_costs_no_more_than_a_few_passes(rotation: Rotation) -> None:
    """Passes fail until the file has the new token; nothing is restarted, and the old token is never sent again."""
    with running(rotation.stage, *OFTEN, HCLOUD_DEBUG="true", **rotation.variables()) as controller:
        rotation.projects.revoke(OLD)
        controller.wait_for_passes(1, 'result="error"')
        rotation.stage.register(joining_node("late"))
        rotation.write(NEW)
        wait_for(lambda: is_initialised(rotation.stage.nodes()["late"]), "the Node")
        controller.wait_to_say("a new token is in use")
        assert controller.page("/livez") == (200, "ok")
        assert controller.end()[0] == 0
    asked = rotation.asked()
    assert set(asked[asked.index(NEW) :]) == {NEW}
    said = "\n".join([*controller.stdout, *controller.stderr])
    assert [token for token in (OLD, NEW) if token in said] == []


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
        controller.wait_for_passes(controller.passes() + 2)
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
