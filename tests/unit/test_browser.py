"""scripts/browser where the browser cannot be had: one sentence that says why, and no traceback."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

_BROWSER = Path(__file__).resolve().parents[2] / "scripts" / "browser"
_AXE = "mkdir -p node_modules/axe-core && echo > node_modules/axe-core/axe.min.js"
"""What ``npm ci`` leaves behind."""


def _run(folder: Path, programs: dict[str, str], **variables: str) -> tuple[int, str, str]:
    """Exit code, stdout and the last line on stderr, where the PATH has these shell scripts, and else what any has."""
    path = folder / "path"
    path.mkdir()
    for name, text in programs.items():
        (path / name).write_text(f"#!/bin/sh\nPATH=/usr/bin:/bin\n{text}\n", encoding="utf-8")
        (path / name).chmod(0o755)
    environment = {**os.environ, "PATH": str(path), "XDG_CACHE_HOME": str(folder / "cache"), "BROWSER_ASSETS": ""}
    ran = subprocess.run(
        [sys.executable, str(_BROWSER)], capture_output=True, text=True, check=False, env=environment | variables
    )
    assert "Traceback" not in ran.stderr
    return ran.returncode, ran.stdout.strip(), ran.stderr.splitlines()[-1] if ran.stderr else ""


def _tells(version: str) -> str:
    return f"echo Program {version}.0.1.2"


@pytest.mark.parametrize(
    ("programs", "said"),
    [
        pytest.param({}, "cannot run npm: ", id="no npm"),
        pytest.param(
            {"npm": "exit 7"},
            "npm ci --ignore-scripts --no-audit ended with 7; its output stands above",
            id="npm fails",
        ),
        pytest.param({"npm": _AXE}, "cannot run apt-get: ", id="no browser and not Debian"),
        pytest.param({"npm": _AXE, "chromium": _tells("200")}, "cannot run apt-get: ", id="browser without its driver"),
        pytest.param(
            {"npm": _AXE, "apt-get": "exit 100"}, "apt-get --config-file", id="packages that cannot be fetched"
        ),
        pytest.param(
            {"npm": _AXE, "chromium": _tells("200"), "chromedriver": _tells("199")},
            "chromium is 200 and chromedriver 199: install those of one version",
            id="no pair",
        ),
        pytest.param(
            {"npm": _AXE, "chromium": _tells("90"), "chromedriver": _tells("90")},
            "chromium is 90, older than 120: install a newer one",
            id="old pair",
        ),
        pytest.param(
            {"npm": _AXE, "chromium": "echo no libfoo >&2; exit 127", "chromedriver": _tells("200")},
            "chromium does not start: no libfoo",
            id="library missing",
        ),
    ],
)
def test_what_is_missing(tmp_path: Path, programs: dict[str, str], said: str) -> None:
    """The reason, and nothing in the cache that the next run would take for a browser."""
    code, stdout, told = _run(tmp_path, programs)

    assert (code, stdout) == (1, "")
    assert told.startswith(f"browser: {said}")
    assert not [each for each in (tmp_path / "cache").rglob("axe.min.js") if ".building" not in str(each)]


def test_the_pair_on_the_path(tmp_path: Path) -> None:
    """It is taken, by links, and nothing is fetched but axe-core."""
    pair = {"chromium": _tells("200"), "chromedriver": _tells("200")}
    code, stdout, _ = _run(tmp_path, {"npm": _AXE, **pair})

    assert code == 0
    assert sorted(each.name for each in Path(stdout).iterdir()) == ["axe.min.js", "chromedriver", "chromium"]


def test_a_folder_that_is_named(tmp_path: Path) -> None:
    """It is refused with what it lacks; nothing is fetched instead."""
    said = (
        f"browser: BROWSER_ASSETS is {tmp_path}, which has no executable chromium and no chromedriver and no axe.min.js"
    )

    assert _run(tmp_path, {}, BROWSER_ASSETS=str(tmp_path)) == (1, "", said)
