"""scripts/helm where the binaries cannot be had: one sentence that says why, and no traceback."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

_HELM = Path(__file__).resolve().parents[2] / "scripts" / "helm"


def _run(**variables: str) -> tuple[int, str, str]:
    """Exit code, stdout, and the last line on stderr, without any Go on the PATH and without any index."""
    offline = {"PATH": "/nowhere", "PIP_CONFIG_FILE": os.devnull, "PIP_RETRIES": "0", "PIP_NO_INDEX": "1"}
    ran = subprocess.run(
        [sys.executable, str(_HELM)],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, **offline, **variables},
    )
    assert "Traceback" not in ran.stderr
    return ran.returncode, ran.stdout, ran.stderr.splitlines()[-1] if ran.stderr else ""


def test_without_a_toolchain(tmp_path: Path) -> None:
    """There is none, and none can be installed."""
    code, stdout, said = _run(XDG_CACHE_HOME=str(tmp_path), HELM_ASSETS="")

    assert (code, stdout) == (1, "")
    assert said == f"helm: {sys.executable} -m pip install ended with 1; its output stands above"


def test_a_cache_that_cannot_be_written(tmp_path: Path) -> None:
    """A file where the folder should be."""
    (tmp_path / "cache").touch()

    code, stdout, said = _run(XDG_CACHE_HOME=str(tmp_path / "cache"), HELM_ASSETS="")

    assert (code, stdout) == (1, "")
    assert said.startswith("helm: ")


@pytest.mark.parametrize(
    ("there", "code", "said"),
    [
        pytest.param(["helm", "kustomize"], 0, "", id="both"),
        pytest.param(["helm"], 1, "has no executable kustomize", id="one"),
        pytest.param([], 1, "has no executable helm and no kustomize", id="none"),
    ],
)
def test_a_folder_that_is_named(tmp_path: Path, there: list[str], code: int, said: str) -> None:
    """It is taken as it is, or refused with what it lacks; nothing is built instead."""
    for name in there:
        (tmp_path / name).touch(mode=0o755)

    ended, stdout, told = _run(HELM_ASSETS=str(tmp_path))

    assert (ended, stdout.strip()) == (code, "" if code else str(tmp_path))
    assert told.endswith(said)
