"""``reconcile sandbox`` where something is in the way: one line, the right exit code."""

import json
import signal
import socket
import subprocess
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from hcloud_sandbox.running import Sandbox, SandboxOptions, read_world
from tests.faults.sandbox_process import COMMAND, NOBODY, environment
from tests.support.rows import rows
from tests.support.said import CommandLine, Said
from tests.support.stage import DEADLINE_S, killed_at_the_end


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Callable[..., Said]:
    """Runs ``reconcile sandbox`` in this process, which is fast, with arguments and variables that it must refuse."""
    return partial(CommandLine(monkeypatch, capsys), "sandbox")


def _world(folder: Path, content: Any) -> str:
    file = folder / "world.json"
    file.write_text(content if isinstance(content, str) else json.dumps(content))
    return str(file)


PROXY = ("--proxy", NOBODY)


@pytest.mark.parametrize(
    ("flag", "others"),
    [("--hetzner-port", ()), ("--kubernetes-port", ()), ("--robot-port", ()), ("--proxy-port", PROXY)],
)
def test_a_port_that_is_taken_is_named(run: Callable[..., Said], flag: str, others: tuple[str, ...]) -> None:
    """Not a system call's words, and no traceback."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
        ran = run(f"{flag}={port}", *others)
    said = f"hcloud-sandbox: error: port {port} of 127.0.0.1 cannot be used: Address already in use"
    assert (ran.code, ran.refusal) == (1, said)


def test_a_certificate_authority_that_cannot_be_read_is_named(run: Callable[..., Said]) -> None:
    ran = run("--proxy", "https://127.0.0.1:9", "--proxy-ca-file", "/nowhere/ca.pem")
    assert ran.code == 1
    assert ran.refusal.startswith("hcloud-sandbox: error: --proxy-ca-file '/nowhere/ca.pem' cannot be used: ")


def test_a_closed_stdout_is_no_traceback() -> None:
    """``reconcile sandbox >&-``: it runs all the same."""
    process = subprocess.Popen(
        ["/bin/sh", "-c", 'exec "$@" >&-', "sh", *COMMAND, "sandbox"],
        stderr=subprocess.PIPE,
        text=True,
        env=environment({}),
    )
    with killed_at_the_end(process):
        assert process.stderr is not None
        assert process.stderr.readline().startswith("The sandbox runs until Ctrl-C")
        process.send_signal(signal.SIGTERM)
        stderr = process.stderr.read()  # communicate() would lose what came together with the first line

    assert (process.wait(DEADLINE_S), stderr) == (0, "")


@rows("content said", {
    "a list": ("[]", "give an object, not []"),
    "no JSON": ("{", "it is no JSON document from line 1, column 2"),
    "too deep": ("[" * 100_000, "too deep"),
    "inner part": ({"servers": []}, "servers is not known: use one of format_version, captured"),
    "unknown part": ({"hetzner": {}, "kubernets": {}}, "kubernets is not known: use one of"),
    "section": ({"hetzner": {"server": []}}, "hetzner.server is not known: use one of servers,"),
    "pods": ({"kubernetes": {"pods": []}}, "kubernetes.pods is not known: use one of nodes,"),
    "robot": ({"robot": {"server": []}}, "robot.server is not known: use one of servers"),
    "part that is a list": ({"hetzner": []}, "hetzner: give an object, not []"),
    "no list": ({"hetzner": {"servers": {}}}, "hetzner.servers must be a list of objects"),
    "version 2": ({"format_version": "2.0"}, "format_version '2.0' is not known: expect 1.x"),
    "number as version": ({"format_version": 1.0}, "format_version 1.0 is not known: expect 1.x"),
    "object": ({"hetzner": {"servers": [{"id": 0}]}}, "servers[0]: id is 0"),
    "dedicated server": ({"robot": {"servers": [{}]}}, "robot.servers[0] server_number: give a number from 1"),
    "node": ({"kubernetes": {"nodes": [{}]}}, "kubernetes.nodes[0] has no metadata.name"),
})  # fmt: skip
def test_a_wrong_world_file_is_one_line(run: Callable[..., Said], tmp_path: Path, content: Any, said: str) -> None:
    """With the file and the place in it, be the part served or not."""
    file = _world(tmp_path, content)
    ran = run("--world", file, "--without=kubernetes" if "pods" in said else "--action-ms=0")
    line = ran.refusal
    assert (ran.code, line.startswith(f"hcloud-sandbox: error: world file {file!r}")) == (1, True)
    assert said in line
    assert len(line) < 400 + len(file)


@pytest.mark.parametrize("content", [{}, {"hetzner": {}}, {"format_version": "1.7", "robot": {"servers": []}}], ids=str)
def test_a_small_world_file_is_fine(tmp_path: Path, content: Any) -> None:
    """What is left out gets defaults, the version included."""
    with Sandbox(SandboxOptions(world=read_world(_world(tmp_path, content)))) as sandbox:
        assert sandbox.hetzner.world()["hetzner"]["servers"] == []
