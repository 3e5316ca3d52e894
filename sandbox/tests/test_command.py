"""``hcloud-sandbox`` as people start it: what it prints, how it ends, and what it refuses."""

import shlex
import signal
import socket
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from urllib.parse import urlsplit

import pytest

from hcloud_sandbox import __version__
from hcloud_sandbox.clock import SimulatedClock
from hcloud_sandbox.command import main
from hcloud_sandbox.running import Sandbox, SandboxOptions

_COMMAND = (sys.executable, "-m", "hcloud_sandbox")
_DEADLINE_S = 60


@contextmanager
def _started(*words: str) -> Iterator[subprocess.Popen[str]]:
    """A process that is told to stop, and has to, when the block ends."""
    process = subprocess.Popen([*_COMMAND, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def _lines(process: subprocess.Popen[str], last: str) -> Iterator[str]:
    """What it prints, up to a line that begins like this."""
    assert process.stdout is not None
    for line in process.stdout:
        yield line
        if line.startswith(last):
            return


@pytest.mark.parametrize(
    ("number", "code", "said"), [(signal.SIGTERM, 0, ""), (signal.SIGINT, 130, "hcloud-sandbox: interrupted\n")]
)
def test_it_serves_the_environment_that_it_prints_until_a_signal(number: signal.Signals, code: int, said: str) -> None:
    """A shell that has read the lines reaches the API; a terminal's Ctrl-C is no failure of anything."""
    with _started() as process:
        exports = "".join(_lines(process, "export NO_PROXY="))
        assert process.stderr is not None
        assert process.stderr.readline() == "The sandbox runs until Ctrl-C.\n"
        values = dict(word.split("=", 1) for word in shlex.split(exports) if word != "export")
        asked = urllib.request.Request(
            f"{values['HCLOUD_ENDPOINT']}/servers", headers={"Authorization": f"Bearer {values['HCLOUD_TOKEN']}"}
        )
        with urllib.request.build_opener(urllib.request.ProxyHandler({})).open(asked, timeout=_DEADLINE_S) as answer:
            assert answer.status == 200
        asked.full_url, asked.data = f"{values['HCLOUD_ENDPOINT']}/zones", b"{}"
        with pytest.raises(urllib.error.HTTPError, match="501"):
            urllib.request.build_opener(urllib.request.ProxyHandler({})).open(asked, timeout=_DEADLINE_S)
        process.send_signal(number)
        _, stderr = process.communicate(timeout=_DEADLINE_S)

    assert {"HETZNER_ENDPOINT", "ROBOT_ENDPOINT", "KUBECONFIG", "HCLOUD_NETWORK"} <= values.keys()
    told = "hcloud-sandbox: not simulated: POST /v1/zones (create_zone)\n"
    assert (process.returncode, stderr) == (code, f"{told}{said}")


def test_a_proxy_prints_its_address() -> None:
    """And starts no simulators."""
    with _started("--proxy", "http://127.0.0.1:9") as process:
        (line,) = _lines(process, "http://127.0.0.1:")
        process.terminate()
        _, stderr = process.communicate(timeout=_DEADLINE_S)

    assert (process.returncode, stderr.startswith("Everything sent there goes to http://127.0.0.1:9; ")) == (0, True)
    assert line.strip() in stderr


@pytest.mark.parametrize(
    ("address", "named"), [("127.0.0.1", "127.0.0.1"), ("0.0.0.0", "127.0.0.1"), ("127.0.0.2", "127.0.0.2")]
)
def test_where_it_listens(address: str, named: str) -> None:
    """Clients are told an address that they can ask, and others of this machine are answered where all are meant."""
    with Sandbox(SandboxOptions(listen=address)) as sandbox:
        assert sandbox.environment["HCLOUD_ENDPOINT"].startswith(f"http://{named}:")
        port = urlsplit(sandbox.hetzner_server.url).port
        with closing(socket.socket()) as other:
            refused = other.connect_ex(("127.0.0.3", port or 0)) != 0
    assert refused is (address != "0.0.0.0")


@pytest.mark.parametrize("seconds", [1e30, float("inf"), float("nan")])
def test_time_that_leads_to_no_date_is_refused(seconds: float) -> None:
    """A clock that has no date to show would fail every request from then on."""
    clock = SimulatedClock()
    with pytest.raises(ValueError, match="dates end with the year 9999"):
        clock.advance(seconds)
    assert clock.now().year < 9999


def test_a_pipe_that_nobody_reads_ends_it_quietly() -> None:
    """Nobody will ever know the addresses, so it stops."""
    with _started() as process:
        assert process.stdout is not None
        process.stdout.close()
        process.stdout = None
        _, stderr = process.communicate(timeout=_DEADLINE_S)

    assert (process.returncode, stderr) == (0, "")


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (["--rate-limit", "0"], "--rate-limit is '0': expect a number of 1 or more"),
        (["--without", "pods"], "--without is 'pods': expect a list of kubelets, kubernetes, robot"),
        (
            ["--without=pods", "--without=robot"],
            "--without is 'pods,robot': expect a list of kubelets, kubernetes, robot",
        ),
        (["--proxy-port", "1"], "--proxy-port goes with --proxy"),
        (["--proxy", "nowhere"], "--proxy is 'nowhere': expect an address such as https://127.0.0.1:6443"),
        *(
            (["--proxy", address], f"--proxy is {address!r}: expect an address such as https://127.0.0.1:6443")
            for address in ("", "http://", "https:///path", "ftp://host", "http://a b", "http://host:x", "http://h?a=1")
        ),
        (["--proxy=http://127.0.0.1:9", "--world=w"], "--proxy starts no simulators: it does not go with --world"),
        (["--hetzner-port", "65536"], "argument --hetzner-port: '65536' is no port, 0 to 65535; 0 is any free one"),
        (["--join-ms=-1"], "argument --join-ms: '-1' is no number of 0 or more"),
        (["--listen", "here"], "--listen is 'here': expect an IP address of this machine, such as 0.0.0.0"),
        (["--wold=w"], "unrecognized arguments: --wold=w"),
    ],
)
def test_what_cannot_be_meant(words: Sequence[str], why: str, capsys: pytest.CaptureFixture[str]) -> None:
    """One line says what is expected, and nothing is started."""
    with pytest.raises(SystemExit) as ended:
        main(words)

    assert ended.value.code == 2
    assert capsys.readouterr().err == f"hcloud-sandbox: error: {why}\n"


def test_a_world_that_is_not_there(capsys: pytest.CaptureFixture[str]) -> None:
    """One line with its name."""
    assert main(["--world=/nowhere/world.json"]) == 1
    said = "hcloud-sandbox: error: world file '/nowhere/world.json' cannot be used: No such file or directory\n"
    assert capsys.readouterr().err == said


def test_its_version(capsys: pytest.CaptureFixture[str]) -> None:
    """That of the package."""
    with pytest.raises(SystemExit) as ended:
        main(["--version"])

    assert (ended.value.code, capsys.readouterr().out) == (0, f"hcloud-sandbox {__version__}\n")
