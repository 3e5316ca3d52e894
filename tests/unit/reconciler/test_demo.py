"""The command that the demo's farewell shows is one that can be typed, and the shortest."""

import os
import sys
from pathlib import Path

import pytest

from reconciler.cli.demo import shown_command


@pytest.fixture
def installed(tmp_path: Path) -> Path:
    command = tmp_path / "project" / ".venv" / "bin" / "reconcile"
    command.parent.mkdir(parents=True)
    command.touch(mode=0o755)
    return command


def test_a_command_that_the_shell_finds_is_its_name(installed: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whether it was started by its name or by its path, through links or not."""
    link = installed.parent.parent.parent / "links"
    link.symlink_to(installed.parent)
    monkeypatch.setenv("PATH", os.pathsep.join(["/nowhere", str(link)]))

    assert shown_command(str(installed)) == "reconcile"
    assert shown_command(str(link / "reconcile")) == "reconcile"


@pytest.mark.parametrize(
    ("here", "shown"),
    [
        pytest.param("project", ".venv/bin/reconcile", id="project"),
        pytest.param("project/.venv/bin", "./reconcile", id="beside it"),
        pytest.param("project/docs", "../.venv/bin/reconcile", id="beside the environment"),
    ],
)
def test_another_one_is_shown_by_its_shortest_path(
    installed: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, here: str, shown: str
) -> None:
    """Not found by the shell, or another one of that name is: as scripts/demo starts it."""
    (tmp_path / here).mkdir(exist_ok=True)
    other = tmp_path / "other" / "reconcile"
    other.parent.mkdir()
    other.touch(mode=0o755)
    monkeypatch.chdir(tmp_path / here)

    for path in ("/nowhere", str(other.parent)):
        monkeypatch.setenv("PATH", path)
        assert shown_command(str(installed)) == shown
        assert shown_command(os.path.relpath(installed)) == shown


def test_a_path_from_the_root_is_taken_where_it_is_shorter(installed: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    deep = installed.parent / "/".join("abcdefghijklmnopqrstuvwxyz")
    deep.mkdir(parents=True)
    monkeypatch.chdir(deep)
    monkeypatch.setenv("PATH", "/nowhere")
    assert len(shown_command(str(installed))) <= len(str(installed))

    blank = installed.parent / "a b" / "reconcile"
    blank.parent.mkdir()
    blank.touch(mode=0o755)
    monkeypatch.chdir(installed.parent)
    assert shown_command(str(blank)) == "'a b/reconcile'"


@pytest.mark.parametrize("module", ["reconciler", "hcloud_reconciler"])
def test_a_module_is_shown_with_its_interpreter(monkeypatch: pytest.MonkeyPatch, module: str) -> None:
    monkeypatch.chdir(Path(sys.executable).parent)

    assert shown_command(f"/anywhere/{module}/__main__.py") == f"./{Path(sys.executable).name} -m {module}"


@pytest.mark.parametrize(
    ("name", "shown"),
    [("hcloud-reconciler", "hcloud-reconciler"), ("kubectl-hcloud_reconciler", "kubectl hcloud-reconciler")],
)
def test_its_other_names_are_shown_as_they_are_typed(
    installed: Path, monkeypatch: pytest.MonkeyPatch, name: str, shown: str
) -> None:
    """Where they are found; another one of the kind is shown by its path."""
    other = installed.with_name(name)
    other.touch(mode=0o755)
    monkeypatch.chdir(installed.parent)

    monkeypatch.setenv("PATH", str(installed.parent))
    assert shown_command(str(other)) == shown
    monkeypatch.setenv("PATH", "/nowhere")
    assert shown_command(str(other)) == f"./{name}"


def test_started_from_code_it_has_the_name_of_the_product() -> None:
    """``python -c`` says nothing about how to run it again."""
    assert shown_command("-c") == "reconcile"
