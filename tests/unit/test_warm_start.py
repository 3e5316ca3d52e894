"""A forked run is the run that a user starts: its streams, its environment, its folder, its end."""

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support import warm_start
from tests.support.stage import DEADLINE_S, clean_environment
from tests.support.warm_start import Process, start_command


@pytest.fixture(params=[False, True], ids=["forked", "cold"])
def folder(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder; runs are started in each of the two ways."""
    monkeypatch.setattr(warm_start, "_IS_COLD", request.param)
    return tmp_path


def _start(folder: Path, *arguments: str, **variables: str) -> Process:
    environment = {**clean_environment(), **variables}
    return start_command(arguments, environment, folder, subprocess.PIPE, subprocess.PIPE)


def _sandbox(folder: Path) -> Process:
    """One that serves until a signal ends it."""
    process = _start(folder, "sandbox")
    assert process.stdout is not None
    assert process.stdout.readline().startswith("export ")
    assert process.poll() is None
    return process


def test_what_it_says_and_how_it_ends(folder: Path) -> None:
    """Arguments, environment and folder are its own, on each stream it says what belongs there."""
    (folder / "service.yaml").write_text("kind: Service")

    version = _start(folder, "--version")
    validated = _start(folder, "validate", "service.yaml")
    misspelt = _start(folder, "--once", RECONCILER_INTERVALL="5s")

    assert version.communicate(timeout=30)[0].startswith("hcloud-reconciler ")
    assert version.wait() == 0
    assert "in 1 file" in validated.communicate(timeout=30)[0]
    assert validated.returncode == 0
    stdout, stderr = misspelt.communicate(timeout=30)
    assert (stdout, misspelt.returncode) == ("", 1)
    assert "did you mean RECONCILER_INTERVAL?" in stderr


@pytest.mark.parametrize(
    "arguments",
    [
        ("--once",),
        ("explain", "node", "web-1"),
        ("orphans",),
        ("approve", "sha256:0123456789abcdef"),
        ("capture",),
        ("migrate",),
    ],
    ids=lambda arguments: arguments[0],
)
def test_each_command_starts_by_itself(
    arguments: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A forked run has everything loaded already; here each command imports what it needs, and says what is missing."""
    monkeypatch.setattr(warm_start, "_IS_COLD", True)

    process = _start(tmp_path, *arguments)
    _, stderr = process.communicate(timeout=DEADLINE_S)

    assert process.returncode == 1
    assert "HCLOUD_TOKEN" in stderr or "kubeconfig" in stderr
    assert "Traceback" not in stderr


def test_a_signal_that_it_heeds_and_one_that_it_cannot(folder: Path) -> None:
    """The exit code is what the process says, or minus the number of what killed it."""
    heeding, killed = _sandbox(folder), _sandbox(folder)
    with pytest.raises(subprocess.TimeoutExpired):
        heeding.wait(timeout=0.01)

    heeding.terminate()
    killed.kill()

    assert (heeding.wait(30), killed.wait(30)) == (0, -signal.SIGKILL)
    heeding.send_signal(signal.SIGKILL)  # to nobody
    for process in (heeding, killed):
        process.communicate(timeout=30)


def test_a_stream_may_be_a_file(folder: Path) -> None:
    """As a shell gives it."""
    with (folder / "out").open("wb") as out:
        process = start_command(["--version"], clean_environment(), folder, out.fileno(), subprocess.PIPE)
        process.communicate(timeout=30)

    assert (folder / "out").read_text().startswith("hcloud-reconciler ")


def test_the_template_ends_with_who_started_it() -> None:
    """However that ends: the pipe that only they write to comes to its end."""
    script = (
        "import os; from tests.support import warm_start\n"
        "assert warm_start._template()._process.poll() is None\n"
        "os.kill(os.getpid(), 9)"
    )
    ended = subprocess.run(
        [sys.executable, "-c", script], cwd=warm_start.ROOT, stderr=subprocess.PIPE, timeout=DEADLINE_S, check=False
    )

    assert (ended.returncode, ended.stderr) == (-signal.SIGKILL, b"")
