"""``reconcile sandbox`` where something is in the way: one line, the right exit code."""

import json
import signal
import socket
import subprocess
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from hcloud_sandbox.running import Sandbox, SandboxOptions, read_world
from tests.faults.sandbox_process import COMMAND, NOBODY, environment
from tests.support.objects import server
from tests.support.proxy_stage import send
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


@pytest.fixture
def taken() -> Iterator[int]:
    """A port that somebody listens on."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        yield listener.getsockname()[1]


@pytest.mark.parametrize("flag", ["--hetzner-port", "--kubernetes-port", "--robot-port", "--proxy-port"])
@pytest.mark.parametrize("port", ["99999", "65536", "-1", "http", ""])
def test_no_port(run: Callable[..., Said], flag: str, port: str) -> None:
    """Ports end at 65535."""
    ran = run(f"{flag}={port}", *(["--proxy", NOBODY] if flag == "--proxy-port" else []))
    assert (ran.code, ran.refusal) == (
        64,
        f"reconcile: error: {flag} is {port!r}: expect a port, 0 to 65535; 0 is any free one",
    )


@pytest.mark.parametrize(
    ("flag", "others"),
    [("--hetzner-port", []), ("--kubernetes-port", []), ("--robot-port", []), ("--proxy-port", ["--proxy", NOBODY])],
)
def test_a_port_that_is_taken_is_named(run: Callable[..., Said], taken: int, flag: str, others: list[str]) -> None:
    """Not a system call's words, and no traceback."""
    ran = run(flag, str(taken), *others)
    said = f"reconcile: error: port {taken} of 127.0.0.1 cannot be used: Address already in use"
    assert (ran.code, ran.refusal) == (1, said)


def test_one_port_for_two_simulators_is_taken(run: Callable[..., Said], taken: int) -> None:
    """The second one finds it taken by the first."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        free = listener.getsockname()[1]
    ran = run(f"--hetzner-port={free}", f"--kubernetes-port={free}")
    assert (ran.code, f"port {free} of 127.0.0.1" in ran.refusal) == (1, True)


@pytest.mark.parametrize("arguments", [[], ["--proxy", NOBODY]], ids=["simulators", "proxy"])
def test_a_pipe_that_nobody_reads_ends_it_quietly(arguments: list[str]) -> None:
    """``reconcile sandbox | head -0``: nobody will ever know the addresses, so it stops."""
    process = subprocess.Popen(
        [*COMMAND, "sandbox", *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment({}),
    )
    with killed_at_the_end(process):
        assert process.stdout is not None
        process.stdout.close()
        process.stdout = None
        _, stderr = process.communicate(timeout=DEADLINE_S)

    assert (process.returncode, stderr) == (0, "")


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


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no /dev/full")
@pytest.mark.parametrize("arguments", [[], ["--proxy", NOBODY]], ids=["simulators", "proxy"])
def test_a_full_disk_is_one_line(arguments: list[str]) -> None:
    """Nobody could find a sandbox whose address was not written."""
    with Path("/dev/full").open("w") as full:
        ran = subprocess.run(
            [*COMMAND, "sandbox", *arguments],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
            timeout=DEADLINE_S,
            env=environment({}),
        )

    said = "reconcile: error: stdout cannot be written: No space left on device\n"
    assert (ran.returncode, ran.stderr) == (1, said)


def test_a_rate_limit_that_lets_nothing_through(run: Callable[..., Said]) -> None:
    """One request an hour is the least."""
    ran = run("--rate-limit=0")
    assert (ran.code, ran.refusal) == (64, "reconcile: error: --rate-limit is '0': expect a number of 1 or more")


@pytest.mark.parametrize(
    ("address", "shown"),
    [
        *((address, address) for address in ("", "nonsense", "http://", "https:///path", "ftp://host", "host:6443")),
        ("http://a b", "http://a b"),
        ("http://host:x", "http://..."),
        ("http://h?a=1", "http://h"),
    ],
)
def test_the_address_for_a_proxy(run: Callable[..., Said], address: str, shown: str) -> None:
    """What no request could be sent to is refused before a port is opened, and no secret in it is printed."""
    ran = run("--proxy", address)
    said = f"reconcile: error: --proxy is {shown!r}: expect an address such as https://127.0.0.1:6443"
    assert (ran.code, ran.refusal) == (64, said)


def test_a_variable_with_a_wrong_address_for_a_proxy_is_named(run: Callable[..., Said]) -> None:
    """The name of what is wrong is the name that was given."""
    assert "RECONCILER_PROXY is 'nonsense'" in run(RECONCILER_PROXY="nonsense").refusal


@pytest.mark.parametrize(
    "flag",
    [
        "--world=w.json",
        "--latency-ms=1",
        "--action-ms=1",
        "--rate-limit=1",
        "--hetzner-port=1",
        "--kubernetes-port=1",
        "--robot-port=1",
        "--without=robot",
    ],
)
def test_a_proxy_has_no_simulators(run: Callable[..., Said], flag: str) -> None:
    """A flag of the simulators beside ``--proxy`` would do nothing: it is bad usage."""
    ran = run("--proxy", NOBODY, flag)
    name = flag.partition("=")[0]
    said = f"reconcile: error: --proxy starts no simulators: it does not go with {name}"
    assert (ran.code, ran.refusal) == (64, said)


def test_all_flags_that_do_not_go_with_a_proxy_are_named(run: Callable[..., Said]) -> None:
    """In one line."""
    ran = run("--latency-ms=1", "--proxy", NOBODY, "--world=w.json")
    assert ran.refusal.endswith("it does not go with --world, --latency-ms")


@pytest.mark.parametrize("flag", ["--proxy-port=1", "--proxy-ca-file=x"])
def test_flags_of_a_proxy_that_is_not_asked_for(run: Callable[..., Said], flag: str) -> None:
    """Nor does a flag of the proxy do anything without it."""
    ran = run(flag)
    said = f"reconcile: error: {flag.partition('=')[0]} goes with --proxy"
    assert (ran.code, ran.refusal) == (64, said)


def test_a_certificate_authority_that_cannot_be_read_is_named(run: Callable[..., Said]) -> None:
    """With the flag and the file."""
    ran = run("--proxy", "https://127.0.0.1:9", "--proxy-ca-file", "/nowhere/ca.pem")
    assert ran.code == 1
    assert ran.refusal.startswith("reconcile: error: --proxy-ca-file '/nowhere/ca.pem' cannot be used: ")


@rows(
    "content said",
    {
        "a list": ("[]", "give an object, not []"),
        "a list of pairs": ('[["hetzner", {}]]', "give an object"),
        "null": ("null", "give an object, not None"),
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
        "half a version": ({"format_version": "1"}, "format_version '1' is not known: expect 1.x"),
        "number as version": ({"format_version": 1.0}, "format_version 1.0 is not known: expect 1.x"),
        "object": ({"hetzner": {"servers": [{"id": 0}]}}, "servers[0]: id is 0"),
        "dedicated server": ({"robot": {"servers": [{}]}}, "robot.servers[0] server_number: give a number from 1"),
        "node": ({"kubernetes": {"nodes": [{}]}}, "kubernetes.nodes[0] has no metadata.name"),
    },
)
def test_a_wrong_world_file_is_one_line(run: Callable[..., Said], tmp_path: Path, content: Any, said: str) -> None:
    """With the file and the place in it."""
    file = _world(tmp_path, content)
    ran = run("--world", file)
    line = ran.refusal
    assert (ran.code, line.startswith(f"reconcile: error: world file {file!r}")) == (1, True)
    assert said in line
    assert len(line) < 400 + len(file)


def test_parts_of_a_world_file_that_nobody_serves_are_checked_too(run: Callable[..., Said], tmp_path: Path) -> None:
    """A mistake is one whether or not its simulator runs."""
    file = _world(tmp_path, {"kubernetes": {"pods": []}})
    assert "kubernetes.pods is not known" in run("--world", file, "--without=kubernetes").refusal


@pytest.mark.parametrize("content", [{}, {"hetzner": {}}, {"format_version": "1.7", "robot": {"servers": []}}], ids=str)
def test_a_small_world_file_is_fine(tmp_path: Path, content: Any) -> None:
    """What is left out gets defaults, the version included."""
    with Sandbox(SandboxOptions(world=read_world(_world(tmp_path, content)))) as sandbox:
        assert sandbox.hetzner.world()["hetzner"]["servers"] == []


@pytest.mark.parametrize(
    ("world", "status"),
    [({}, 400), ([], 400), ({"pods": []}, 400), ({"hetzner": {}}, 200), ({"servers": []}, 200)],
    ids=str,
)
def test_a_world_is_not_emptied_by_mistake(world: Any, status: int) -> None:
    """``PUT world`` with nothing in it says neither what to replace nor by what."""
    with Sandbox(SandboxOptions(world={"hetzner": {"servers": [server(1, "web-1")]}})) as sandbox:
        answer = send(sandbox.hetzner_server.url, "PUT", "/_sandbox/world", json.dumps(world))
        left = sandbox.hetzner.world()["hetzner"]["servers"]
    assert (answer.status, bool(left)) == (status, status == 400)
