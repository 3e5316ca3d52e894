"""The examples, as somebody carries them out who has copied them to a folder of their own."""

import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from hcloud_sandbox.pytest_plugin import HcloudSandbox

_SANDBOX = Path(__file__).resolve().parents[1]
_EXAMPLES = _SANDBOX / "examples"
_MIRROR = os.environ.get("TERRAFORM_MIRROR")


def _carried_out(line: list[str], folder: Path, environment: Mapping[str, str]) -> str:
    """What it says on both streams. It ends well."""
    done = subprocess.run(
        line, cwd=folder, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False
    )
    assert done.returncode == 0, done.stdout
    return done.stdout


def _environment(sandbox: HcloudSandbox, **more: str) -> dict[str, str]:
    ours = {name: value for name, value in os.environ.items() if not name.startswith(("HCLOUD_", "TF_", "PYTEST_"))}
    return {**ours, **sandbox.environment, **more}


def test_the_readme_shows_what_the_examples_are() -> None:
    """Each of them, word by word."""
    readme = (_SANDBOX / "README.md").read_text("utf-8")
    files = [file for file in _EXAMPLES.rglob("*.*") if file.is_file() and file.suffix != ".pyc"]

    assert len(files) == 4
    assert [file.name for file in files if file.read_text("utf-8").strip() not in readme] == []


def test_pytest_finds_the_fixtures_in_a_project_that_says_nothing_of_them(
    hcloud_sandbox: HcloudSandbox, tmp_path: Path
) -> None:
    """No conftest and no setting. Its sandboxes are its own."""
    shutil.copytree(_EXAMPLES / "pytest", tmp_path, dirs_exist_ok=True)
    line = [sys.executable, "-m", "pytest", "-q", "-W", "error", "-p", "no:cacheprovider"]
    said = _carried_out(line, tmp_path, _environment(hcloud_sandbox))

    assert "3 passed" in said
    assert hcloud_sandbox.requests() == []


@pytest.mark.skipif(_MIRROR is None or not shutil.which("terraform"), reason="TERRAFORM_MIRROR names no providers")
def test_terraform_tests_a_module(hcloud_sandbox: HcloudSandbox, tmp_path: Path) -> None:
    """And destroys what it has made."""
    shutil.copytree(_EXAMPLES / "terraform", tmp_path, dirs_exist_ok=True)
    settings = tmp_path / "terraformrc"
    settings.write_text(f'provider_installation {{\n  filesystem_mirror {{\n    path = "{_MIRROR}"\n  }}\n}}\n')
    environment = _environment(hcloud_sandbox, TF_CLI_CONFIG_FILE=str(settings), CHECKPOINT_DISABLE="1")
    _carried_out(["terraform", "init", "-no-color"], tmp_path, environment)
    said = _carried_out(["terraform", "test", "-no-color"], tmp_path, environment)

    assert "Success! 1 passed, 0 failed." in said
    assert {"POST", "DELETE"} <= {asked["method"] for asked in hcloud_sandbox.requests()}
    left = hcloud_sandbox.world()["hetzner"]
    assert (left["servers"], left["load_balancers"]) == ([], [])


@pytest.mark.skipif(
    not os.environ.get("CI") and shutil.which("hcloud") is None,
    reason="there is no hcloud here: scripts/shells installs it",
)
def test_the_command_line_makes_a_load_balancer(hcloud_sandbox: HcloudSandbox, tmp_path: Path) -> None:
    """With a server behind it."""
    environment = _environment(hcloud_sandbox, HCLOUD_CONFIG=os.devnull)
    said = _carried_out(["sh", str(_EXAMPLES / "cli" / "web.sh")], tmp_path, environment)

    assert said.splitlines()[-1].split() == ["web-1", "running"]
    found = hcloud_sandbox.world()["hetzner"]
    (server,), (balancer,) = found["servers"], found["load_balancers"]
    assert [target["server"]["id"] for target in balancer["targets"]] == [server["id"]]
