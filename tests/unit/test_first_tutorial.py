"""docs/tutorials/first-steps.md, word by word: each command prints what the page shows, and the world is as it says."""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import pytest

pytestmark = [
    pytest.mark.skipif(shutil.which("curl") is None, reason="the tutorial needs curl"),
]

_PAGE = Path(__file__).resolve().parents[2] / "docs" / "tutorials" / "first-steps.md"
_BLOCK = re.compile(r"^```(sh|text)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
_HASH = re.compile(r"\bsha256:[0-9a-f]{16}\b")
_HELD = 3
"""The exit code of a run that a guard stands in the way of."""


def _steps() -> Iterator[tuple[str, str]]:
    """Each block of commands, and what the page shows of their output."""
    blocks = [*_BLOCK.findall(_PAGE.read_text("utf-8")), ("sh", "")]
    for (kind, text), (next_kind, next_text) in pairwise(blocks):
        if kind == "sh":
            yield text, next_text if next_kind == "text" else ""


_INSTALL, _START, _ENTER, *_REST = _steps()


@pytest.fixture
def second_terminal(tmp_path: Path) -> Iterator[Path]:
    """A folder with ``sandbox.env`` of the sandbox that the first terminal runs."""
    terminal = subprocess.Popen(
        ["bash", "-c", f"exec {_START[0]}"], cwd=tmp_path, env=_environment(), stderr=subprocess.PIPE, text=True
    )
    assert terminal.stderr is not None
    try:
        assert terminal.stderr.readline().startswith(_START[1].strip())
        yield tmp_path
    finally:
        terminal.terminate()
        terminal.communicate(timeout=30)


def test_the_tutorial(second_terminal: Path) -> None:
    """All of it in order, with the hash that is printed instead of the page's."""
    theirs, ours = _HASH.findall(_PAGE.read_text("utf-8"))[0], ""
    for commands, shown in _REST:
        if theirs in commands:
            assert ours, "the tutorial approves what it has not shown"
        said = _run(second_terminal, commands.replace(theirs, ours))
        ours = ours or next(iter(_HASH.findall(said)), "")
        of_this_world = shown.replace(theirs.removeprefix("sha256:"), ours.removeprefix("sha256:"))
        assert _missing(of_this_world, said) == [], said

    assert "No changes." in _run(second_terminal, "reconcile plan")


def test_the_tutorial_begins_with_what_is_said_of_it() -> None:
    """The blocks that are not run as they are."""
    assert (_INSTALL[0], _ENTER[0]) == ("pip install . ./sandbox\n", ". ./sandbox.env\n")


def _environment() -> dict[str, str]:
    """Ours, with the command on the PATH and nothing of a cluster."""
    ours = {name: value for name, value in os.environ.items() if not name.startswith(("HCLOUD_", "ROBOT_", "KUBE"))}
    return ours | {"PATH": f"{Path(sys.executable).parent}:{ours['PATH']}"}


def _run(folder: Path, commands: str) -> str:
    """What they print. Each ends well, or says by its exit code that something is held."""
    done = subprocess.run(
        ["bash", "-ec", _ENTER[0] + commands],
        cwd=folder,
        env=_environment(),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == (_HELD if "Result: blocked" in done.stdout else 0), done.stdout + done.stderr
    return done.stdout


def _missing(shown: str, said: str) -> list[str]:
    """Lines of the page that the output has not, in their order. A line may be cut short, and columns may be wider."""
    rest = iter([" ".join(line.split()) for line in said.splitlines()])
    wanted = [" ".join(line.split()) for line in shown.splitlines()]
    return [line for line in wanted if not any(each.startswith(line) for each in rest)]
