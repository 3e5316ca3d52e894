"""What a test can do to a sandbox that runs, by the fixture that pytest has of it."""

import json
from collections.abc import Mapping
from contextlib import closing
from datetime import UTC, datetime, timedelta
from http.client import HTTPConnection
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from hcloud import Client
from hcloud.images import Image
from hcloud.server_types import ServerType

from hcloud_sandbox.command import main
from hcloud_sandbox.control import Control, seconds_in
from hcloud_sandbox.pytest_plugin import HcloudSandbox

_TWO = {"hetzner": {"servers": [{"id": 1, "name": "web-1"}, {"id": 2, "name": "web-2"}]}}
_NO_ADDRESSES = ("http://[::1", "http://127.0.0.1:port", "http://127.0.0.1:65536", "")
_METAL = {"robot": {"servers": [{"server_number": 321, "server_name": "db-1"}]}}


@pytest.fixture
def client(hcloud_sandbox: HcloudSandbox) -> Client:
    """hcloud-python, which waits as little as it can."""
    return Client(hcloud_sandbox.token, api_endpoint=hcloud_sandbox.url, poll_interval=0)


def _servers(client: Client) -> list[str | None]:
    return [server.name for server in client.servers.get_all()]


def test_a_project_is_empty_and_its_actions_take_no_time(client: Client) -> None:
    """What is created is there when its action is waited for."""
    assert _servers(client) == []
    made = client.servers.create("web-1", ServerType(name="cx23"), Image(name="debian-12"))
    made.action.wait_until_finished(max_retries=1)
    assert _servers(client) == ["web-1"]


@pytest.mark.parametrize("hcloud_world", [_TWO])
def test_faults_come_and_go(client: Client, hcloud_sandbox: HcloudSandbox) -> None:
    """As often as they are asked for, or until they are cleared."""
    hcloud_sandbox.add_fault("list_lacks", path="/servers", ids=[2])
    assert [_servers(client), _servers(client)] == [["web-1"], ["web-1", "web-2"]]

    hcloud_sandbox.add_fault("list_lacks", path="/servers", ids=[1], count=None)
    assert [_servers(client), _servers(client)] == [["web-2"], ["web-2"]]

    hcloud_sandbox.clear_faults()
    assert _servers(client) == ["web-1", "web-2"]


def test_a_client_in_the_process_asks_no_proxy(monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> None:
    """Where the environment names one, as in many a company."""
    for name in ("no_proxy", "NO_PROXY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:9")
    sandbox: HcloudSandbox = request.getfixturevalue("hcloud_sandbox")
    assert _servers(Client(sandbox.token, api_endpoint=sandbox.url)) == []


@pytest.mark.parametrize("hcloud_options", [{"action_s": 60.0}])
def test_time_passes_when_it_is_told(client: Client, hcloud_sandbox: HcloudSandbox) -> None:
    """An action that takes a minute has ended after one, and a test waits for none."""
    action = client.servers.create("web-1", ServerType(name="cx23"), Image(name="debian-12")).action
    hcloud_sandbox.advance("59s")
    assert client.actions.get_by_id(action.id).status == "running"
    hcloud_sandbox.advance(timedelta(seconds=2))
    assert client.actions.get_by_id(action.id).status == "success"
    assert hcloud_sandbox.advance(3600) - datetime.now(UTC) > timedelta(hours=1)


def test_the_world_can_be_read_and_replaced(client: Client, hcloud_sandbox: HcloudSandbox) -> None:
    """Whole, or the part of this simulator."""
    hcloud_sandbox.replace_world(_TWO)
    assert _servers(client) == ["web-1", "web-2"]
    found = hcloud_sandbox.world()["hetzner"]["servers"]
    assert [server["name"] for server in found] == ["web-1", "web-2"]

    hcloud_sandbox.replace_world({"servers": found[1:]})
    assert _servers(client) == ["web-2"]


def test_the_log_has_what_the_api_was_asked(client: Client, hcloud_sandbox: HcloudSandbox) -> None:
    """And nothing of what was done by the control API."""
    client.servers.get_all(name="web-1")
    (asked,) = hcloud_sandbox.requests()
    assert (asked["method"], asked["path"], asked["status"], asked["body"]) == ("GET", "/v1/servers", 200, None)
    assert "name=web-1" in asked["query"]
    assert asked["client"].startswith("hcloud-python/")

    hcloud_sandbox.clear_requests()
    assert hcloud_sandbox.requests() == []


@pytest.mark.parametrize("hcloud_world", [_METAL])
def test_the_robot_webservice_is_controlled_by_itself(hcloud_sandbox: HcloudSandbox) -> None:
    """Where the world has it. The clock is that of both."""
    robot = hcloud_sandbox.robot
    assert robot is not None
    assert robot.url == hcloud_sandbox.environment["ROBOT_ENDPOINT"]
    assert [server["server_number"] for server in robot.world()["robot"]["servers"]] == [321]
    robot.add_fault("maintenance")
    assert robot.advance("1h") <= hcloud_sandbox.advance(0)


def test_without_a_robot_part_there_is_no_robot(hcloud_sandbox: HcloudSandbox) -> None:
    """Nor a Kubernetes, unless it is asked for."""
    assert hcloud_sandbox.robot is None
    assert {"ROBOT_ENDPOINT", "KUBECONFIG"} & hcloud_sandbox.environment.keys() == set()


@pytest.mark.parametrize("hcloud_options", [{"without_kubernetes": False}])
def test_a_kubernetes_comes_when_it_is_asked_for(hcloud_sandbox: HcloudSandbox) -> None:
    """With the file that its clients read."""
    assert Path(hcloud_sandbox.environment["KUBECONFIG"]).is_file()


@pytest.mark.parametrize(
    ("ask", "why"),
    [
        (lambda sandbox: sandbox.add_fault("tuesday"), "tuesday"),
        (lambda sandbox: sandbox.advance(-1), "time does not go back"),
        (lambda sandbox: sandbox.advance("soon"), "'soon' is no duration: expect one such as 90s, 2m or 1h30m"),
        (lambda sandbox: sandbox.replace_world({"hetzner": {"server": []}}), "hetzner.server is not known"),
        (lambda sandbox: sandbox.advance(True), "True is no duration"),
        *((lambda _, url=url: Control(url), "is no address of a sandbox") for url in _NO_ADDRESSES),
        (lambda _: Control("https://api.hetzner.cloud/v1"), "is no address of a sandbox: expect one such as http://"),
    ],
)
def test_what_is_refused_says_why(hcloud_sandbox: HcloudSandbox, ask: Any, why: str) -> None:
    """In the sandbox's own words, and it goes on."""
    with pytest.raises(ValueError, match=why):
        ask(hcloud_sandbox)
    assert hcloud_sandbox.world()["hetzner"]["servers"] == []


@pytest.mark.parametrize("name", ["advance", "faults"])
def test_what_is_nested_too_deep_is_refused(hcloud_sandbox: HcloudSandbox, name: str) -> None:
    """By the control API; the API itself calls it no JSON, and the log keeps it as text."""
    deep = b"[" * 100_000
    with closing(HTTPConnection(urlsplit(hcloud_sandbox.url).netloc)) as connection:
        connection.request("POST", f"/_sandbox/{name}", deep)
        answer = connection.getresponse()
        assert (answer.status, json.loads(answer.read())) == (400, {"error": "it is nested too deep"})
        connection.request("POST", "/v1/servers", deep, {"Authorization": f"Bearer {hcloud_sandbox.token}"})
        answer = connection.getresponse()
        assert (answer.status, json.loads(answer.read())["error"]["code"]) == (400, "json_error")
    assert hcloud_sandbox.requests()[-1]["body"] == deep.decode()


@pytest.mark.parametrize(
    ("duration", "seconds"),
    [("90s", 90), ("2m", 120), ("1h30m", 5400), ("1.5h", 5400), ("250ms", 0.25), ("1h0m1s", 3601), ("0s", 0)],
)
def test_durations(duration: str, seconds: float) -> None:
    """As kubectl takes them."""
    assert seconds_in(duration) == seconds


@pytest.mark.parametrize("duration", ["", "2", "2 m", "-2m", "m", "2d", "1h30", "2m\n", "٢m"])
def test_what_is_no_duration(duration: str) -> None:
    """A number alone among it: it could be anything."""
    with pytest.raises(ValueError, match="is no duration"):
        seconds_in(duration)


def test_the_command_lets_time_pass(
    hcloud_sandbox: HcloudSandbox, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """In the sandbox of the shell that it is typed in, or in another one."""
    monkeypatch.setenv("HCLOUD_ENDPOINT", hcloud_sandbox.url)
    assert main(["advance", "2h"]) == 0
    said = capsys.readouterr().out
    assert said.startswith("advanced by 2h: it is 2")
    assert said.endswith(" UTC in the sandbox\n")

    monkeypatch.setenv("HCLOUD_ENDPOINT", "https://api.hetzner.cloud/v1")
    assert main(["advance", "2h", "--endpoint", hcloud_sandbox.url]) == 0
    assert hcloud_sandbox.advance(0) - datetime.now(UTC) > timedelta(hours=3)


@pytest.mark.parametrize(
    ("variables", "words", "code", "why"),
    [
        ({"HCLOUD_ENDPOINT": "http://127.0.0.1:9/v1"}, (), 1, "no sandbox answers at http://127.0.0.1:9/v1: "),
        ({"HCLOUD_ENDPOINT": "https://api.hetzner.cloud/v1"}, (), 1, "'https://api.hetzner.cloud/v1' is no address of"),
        ({"HCLOUD_ENDPOINT": "http://127.0.0.1:9"}, ("advance", "2m", "--endpoint="), 1, "'' is no address of a"),
        ({}, (), 2, "HCLOUD_ENDPOINT is not set: read what hcloud-sandbox has printed, or give --endpoint URL"),
        ({}, ("--world=w",), 2, "advance starts no sandbox: it does not go with --world"),
    ],
)
def test_the_command_without_a_sandbox(
    variables: Mapping[str, str],
    words: tuple[str, ...],
    code: int,
    why: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """One line says what is missing. The real API is never asked."""
    monkeypatch.delenv("HCLOUD_ENDPOINT", raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    try:
        ended = main(words if "advance" in words else [*words, "advance", "2m"])
    except SystemExit as error:
        ended = int(str(error.code))
    assert (ended, capsys.readouterr().err.splitlines()[-1].startswith(f"hcloud-sandbox: error: {why}")) == (code, True)
