"""The line at the end of a run that counts the skipped tests, of whichever folder."""

import os
import subprocess
import sys
from pathlib import Path

from tests.support.assets import ROOT
from tests.support.rows import rows

SKIPS = """
import pytest
@pytest.mark.parametrize("row", range(3))
def test_of_a_program(row): pytest.skip("there is no helm here: scripts/helm makes it")
@pytest.mark.skip(reason="root is needed")
def test_of_root(): pass
"""
RUNS = """
import pytest
def test_passes(): pass
@pytest.mark.xfail(strict=True)
def test_fails_as_expected(): assert False
"""
TOLD = ["not run: 3 as there is no helm here: scripts/helm makes it; 1 as root is needed"]


def _told(folder: Path, *arguments: str) -> list[str]:
    """The lines of this kind that a run of pytest in the folder tells."""
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "--rootdir", str(folder), *arguments]
    environment = {name: value for name, value in os.environ.items() if name != "KUBEBUILDER_ASSETS"}
    environment["PYTHONPATH"] = str(ROOT)
    ran = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=True)
    return [line for line in ran.stdout.splitlines() if line.startswith("not run")]


@rows(
    "text workers told",
    {"skips": (SKIPS, "0", TOLD), "skips-on-workers": (SKIPS, "1", TOLD), "all-is-run": (RUNS, "0", [])},
)
def test_skipped_tests_are_counted_by_reason(tmp_path: Path, text: str, workers: str, told: list[str]) -> None:
    (tmp_path / "test_it.py").write_text(text, "utf-8")
    (tmp_path / "conftest.py").write_bytes((ROOT / "conftest.py").read_bytes())
    assert _told(tmp_path, "-n", workers) == told


def test_tests_of_the_simulators_alone_have_the_line() -> None:
    needs_a_server = "sandbox/tests/test_kubernetes_api_server.py::test_a_start_can_be_stopped"
    assert _told(ROOT, needs_a_server) == ["not run: 1 as KUBEBUILDER_ASSETS names no API server"]
