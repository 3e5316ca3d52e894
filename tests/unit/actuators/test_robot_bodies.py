"""The bodies of the Robot webservice: the simulator makes such ones, and our client takes them for what they mean."""

import base64
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlencode

import pytest
import requests
from requests.adapters import BaseAdapter

from actuators.http.errors import ApiError, Throttled
from actuators.http.retry import Patience, Retry
from actuators.http.robot import RobotLogin, RobotReader
from actuators.wire.robot import decode_robot_servers, observe_power, observe_robot_server
from desired.model.snapshot import ServerStatus
from hcloud_sandbox.clock import SimulatedClock
from hcloud_sandbox.exchange import Request, Response
from hcloud_sandbox.robot import RobotSimulator
from tests.support.robot_bodies import BODIES, NUMBER, Body
from tests.support.simulators import ImpatientStop

WORDS = {"status", "code", "max_request", "interval", "missing", "invalid", "type", "operating_status", "mask"}
"""Members whose values are fixed; of all others the type is."""
URL = "http://robot.test"


def answer(row: Body) -> Response:
    """What the simulator answers to the request of a row, after what has happened before it."""
    robot = RobotSimulator(SimulatedClock(), world=row.world)
    if row.before == "maintenance":
        robot.set_faults([{"kind": "maintenance"}])
    if row.before == "three log-ins":
        for _ in range(3):
            ask(robot, row, "wrong")
    if row.before == "used up":
        while ask(robot, row).status == 200:
            pass
    return ask(robot, row, "wrong" if row.before == "wrong password" else RobotSimulator.PASSWORD)


def ask(robot: RobotSimulator, row: Body, password: str = RobotSimulator.PASSWORD) -> Response:
    """One answer to the request of a row."""
    encoded = base64.b64encode(f"{RobotSimulator.USER}:{password}".encode()).decode()
    headers = {"authorization": f"Basic {encoded}", "content-type": "application/x-www-form-urlencoded"}
    return robot.handle(Request(row.method, row.path, {}, headers, urlencode(row.form).encode()))


def shape(value: Any, name: str = "") -> Any:
    """Members and types of a JSON value, and the values of those that are fixed."""
    if isinstance(value, dict):
        return {key: shape(part, key) for key, part in value.items()}
    if isinstance(value, list):
        return [shape(part, name) for part in value]
    return value if name in WORDS else type(value).__name__


@pytest.mark.parametrize("row", BODIES, ids=lambda row: row.name)
def test_the_simulator_answers_so(row: Body) -> None:
    found = answer(row)

    assert found.status == row.status
    assert row.body is None or shape(found.body) == shape(row.body)


class Recorded(BaseAdapter):
    """Answers every request with the body of one row."""

    def __init__(self, row: Body) -> None:
        super().__init__()
        self._row = row

    def send(self, request: requests.PreparedRequest, *_args: Any, **_options: Any) -> requests.Response:
        """The row."""
        response = requests.Response()
        response.status_code, response._content = self._row.status, self._row.sent
        response.request, response.url = request, str(request.url)
        return response

    def close(self) -> None:
        """Nothing is open."""


@pytest.fixture
def client(row: Body) -> Iterator[RobotReader]:
    """Our client, to which every answer is that of the row."""
    login, retry = (
        RobotLogin(RobotSimulator.USER, RobotSimulator.PASSWORD),
        Retry(ImpatientStop(), Patience(attempts=1)),
    )
    reader = RobotReader(login, endpoint=URL, user_agent="tests/1.0", retry=retry, timeout_s=5.0)
    reader._opened().mount(URL, Recorded(row))
    yield reader
    reader._opened().close()


def meaning(client: RobotReader, path: str) -> str:
    """What our client takes the answer for: an error's class, or what it has read."""
    try:
        if path == "/server":
            (server,) = decode_robot_servers(client.get(path))
            return server.name
        if path.startswith("/server"):
            return observe_robot_server(client, NUMBER).name
        if path == "/reset":
            return client.get(path).decode()
        return {ServerStatus.RUNNING: "running", ServerStatus.OFF: "off"}.get(observe_power(client, NUMBER), "other")
    except Throttled as error:
        return f"Throttled for {error.retry_after_s:g} s"
    except ApiError as error:
        return type(error).__name__


@pytest.mark.parametrize("row", BODIES, ids=lambda row: row.name)
def test_our_client_understands_them(client: RobotReader, row: Body) -> None:
    assert meaning(client, row.path) == row.means
