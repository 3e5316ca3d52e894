"""``scripts/test``: which programs it makes, and what pytest gets."""

import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.support.assets import ROOT
from tests.support.rows import rows

PROGRAMS = ("envtest", "helm", "controllers", "kwok", "browser")
NOTES = '#!/bin/sh\necho "$(basename "$0")" >> "{folder}/asked"\n{then}\n'
PYTEST = 'echo "$KUBEBUILDER_ASSETS" > "{folder}/assets"\nfor given; do echo "$given"; done > "{folder}/given"'


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A checkout with this script alone; all others note that they are asked."""
    (tmp_path / "scripts").mkdir()
    (tmp_path / ".venv" / "bin").mkdir(parents=True)
    shutil.copy2(ROOT / "scripts" / "test", tmp_path / "scripts")
    _have(tmp_path, "scripts/setup", ":")
    for program in PROGRAMS:
        _have(tmp_path, f"scripts/{program}", f"echo /cache/{program}")
    _have(tmp_path, ".venv/bin/pytest", PYTEST.format(folder=tmp_path))
    return tmp_path


def _have(folder: Path, name: str, then: str) -> None:
    (folder / name).write_text(NOTES.format(folder=folder, then=then), "utf-8")
    (folder / name).chmod(0o755)


def _run(folder: Path, *arguments: str) -> None:
    environment = {"PATH": "/usr/bin:/bin", "HOME": str(folder)}
    subprocess.run([folder / "scripts/test", *arguments], env=environment, check=True, capture_output=True)


@rows(
    "arguments asked assets",
    {
        "what-needs-nothing-built": (["tests/unit"], ["setup", "pytest"], ""),
        "all": (["--all", "tests/unit"], ["setup", *PROGRAMS, "pytest"], "/cache/envtest"),
    },
)
def test_each_program_is_asked_for_once(folder: Path, arguments: Sequence[str], asked: list[str], assets: str) -> None:
    _run(folder, *arguments)
    assert (folder / "asked").read_text("utf-8").split() == asked
    assert (folder / "assets").read_text("utf-8").strip() == assets
    assert (folder / "given").read_text("utf-8").splitlines()[-1] == "tests/unit"


def test_programs_that_cannot_be_had_end_nothing(folder: Path) -> None:
    for program in PROGRAMS:
        _have(folder, f"scripts/{program}", "exit 1")
    _run(folder, "--all", "tests/unit")
    assert (folder / "asked").read_text("utf-8").split() == ["setup", *PROGRAMS, "pytest"]
    assert (folder / "assets").read_text("utf-8").strip() == ""
