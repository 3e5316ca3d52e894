"""Completion in the shells that people use: commands, flags, values and files."""

import os
import shutil
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from tests.support.assets import lacking
from tests.support.stage import clean_environment
from tests.support.terminals import Terminal

ASKED = {
    "reconcile ": ("completion", "plan"),
    "reconcile plan --f": ("--from", "--full"),
    "reconcile plan -o json --policy ": ("observe", "upsert"),
    "reconcile plan --policy s": ("sync",),
    "reconcile validate ./manifest-": ("manifest-1.yaml", "manifest-2.yaml"),
}
"""What is typed before Tab → what is shown then, among others."""
TYPED = {
    "bash": "bind 'set show-all-if-ambiguous on' 'set enable-bracketed-paste off'; source <(reconcile completion bash)",
    "zsh": "autoload -Uz compinit; compinit -u -D; setopt no_list_ambiguous; source <(reconcile completion zsh)",
}
"""Shell → what has to be typed first."""
STARTED = {"bash": ("bash", "--norc", "--noprofile", "-i"), "zsh": ("zsh", "-f", "-i")}
"""Shell → how it is started with nobody's settings."""
ERASE = "\x15"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Two files, and the command on the path."""
    for name in ("manifest-1.yaml", "manifest-2.yaml"):
        (tmp_path / name).touch()
    program = tmp_path / "bin" / "reconcile"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\nexec {sys.executable} -m reconciler "$@"\n')
    program.chmod(0o755)
    return tmp_path


def environment(folder: Path) -> dict[str, str]:
    path = f"{folder / 'bin'}{os.pathsep}{os.environ['PATH']}"
    return {**clean_environment(), "PATH": path, "HOME": str(folder), "TERM": "dumb", "PS1": "$ "}


def shell(name: str) -> str:
    if shutil.which(name) is None:
        lacking(name, "scripts/shells installs it")
    return name


@pytest.mark.parametrize("name", ["bash", "zsh"])
def test_at_a_terminal(folder: Path, name: str) -> None:
    with closing(Terminal(STARTED[shell(name)], environment(folder), folder, (200, 200))) as terminal:
        terminal.type(f"{TYPED[name]}; echo rea''dy\n")
        terminal.read_until("ready")
        for typed, shown in ASKED.items():
            terminal.shown = ""
            terminal.type(f"{ERASE}{typed}\t")
            for word in shown:
                terminal.read_until(word)


def test_in_fish(folder: Path) -> None:
    """fish says by itself what it would show."""
    lines = "".join(f"complete -C '{line}'\necho\n" for line in ASKED)
    asked = f"reconcile completion fish | source\n{lines}"
    command = [shell("fish"), "--no-config", "-c", asked]
    ran = subprocess.run(
        command, env=environment(folder), cwd=folder, capture_output=True, text=True, check=True, timeout=60
    )
    for shown, expected in zip(ran.stdout.split("\n\n"), ASKED.values(), strict=False):
        assert [word for word in expected if word not in shown] == []
    assert ran.stderr == ""


def kubectl(folder: Path, *words: str) -> tuple[int, str, str]:
    """What kubectl is told when this is typed behind the plugin's name."""
    code = "import sys; from reconciler.cli import complete_for_kubectl; sys.exit(complete_for_kubectl())"
    command = [sys.executable, "-c", code, *words]
    ran = subprocess.run(
        command, env=environment(folder), cwd=folder, capture_output=True, text=True, check=False, timeout=60
    )
    return ran.returncode, ran.stdout, ran.stderr


def test_for_kubectl(folder: Path) -> None:
    """A candidate a line with its meaning behind a tab, and at the end whether files are welcome."""
    assert kubectl(folder, "pl") == (0, "plan\twhat would change, and why; touches nothing\n:4\n", "")
    assert kubectl(folder, "plan", "--policy", "s") == (0, "sync\n:4\n", "")
    assert kubectl(folder, "plan", "--from", "") == (0, ":0\n", "")
    assert kubectl(folder) == kubectl(folder, "")
    assert kubectl(folder, "approve", "--kubeconfig", "--yes", "") == (0, ":4\n", "")
