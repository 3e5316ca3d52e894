"""``--also FORMAT=FILE``: one reading, several artifacts, and what stands in the way of one."""

import json
import os
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from reconciler.config.config import ConfigurationError, load_config
from reconciler.config.options import Command
from reconciler.report.markdown import MARK
from tests.support.capture_command import Shell, a_world
from tests.support.simulators import Simulation

FORMATS = ("text", "json", "yaml", "markdown", "name")


@pytest.fixture
def sim(simulate: Callable[..., Simulation]) -> Simulation:
    return a_world(simulate)


@pytest.fixture
def shell(sim: Simulation, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Shell:
    monkeypatch.delenv("GITHUB_STEP_SUMMARY", raising=False)
    return Shell(sim, monkeypatch, capsys)


def test_one_reading_several_artifacts(sim: Simulation, shell: Shell, tmp_path: Path) -> None:
    """Each has the plan in its format, for whoever the umask lets read it; the report is as without them."""
    (tmp_path / "json").write_text("of a former run")
    also = [word for name in FORMATS for word in ("--also", f"{name}={tmp_path / name}")]
    before = os.umask(0o022)
    try:
        said = shell("plan", "-o", "name", *also)
    finally:
        os.umask(before)

    content = {name: (tmp_path / name).read_text() for name in FORMATS}
    document = json.loads(content["json"])
    assert said.code == 0, said.stderr
    assert yaml.safe_load(content["yaml"]) == document
    assert said.stdout == content["name"] == "".join(f"{change['key']}\n" for change in document["changes"])
    assert content["text"].startswith("Cluster ")
    assert content["markdown"].startswith(f"<!-- {MARK}:")
    assert {stat.S_IMODE((tmp_path / name).stat().st_mode) for name in FORMATS} == {0o644}
    assert sorted(path.name for path in tmp_path.iterdir() if path.name in FORMATS or path.name[0] == ".") == sorted(
        FORMATS
    )
    assert len([entry for entry in sim.sent_to_hetzner() if entry.path == "/v1/servers"]) == 1


def test_artifacts_of_a_run_that_fails(shell: Shell, tmp_path: Path) -> None:
    """They say what the report says, so that nobody takes those of a former run for news."""
    unreachable = {"HCLOUD_TOKEN": "x" * 64, "HCLOUD_ENDPOINT": "http://127.0.0.1:9/v1"}
    said = shell.offline("plan", "--also", f"markdown={tmp_path / 'plan.md'}", **unreachable)

    assert said.code == 1
    assert "### Plan: **1 error**" in (tmp_path / "plan.md").read_text()


def test_the_summary_of_a_step(shell: Shell, tmp_path: Path) -> None:
    """It is added to, by whatever name the file goes; another file is replaced."""
    summary, link, other = tmp_path / "summary", tmp_path / "link", tmp_path / "other"
    link.symlink_to(summary)
    for file in (summary, other):
        file.write_text("# Of an earlier command\n")

    said = shell("plan", "--also", f"markdown={link}", "--also", f"json={other}", GITHUB_STEP_SUMMARY=str(summary))

    assert said.code == 0, said.stderr
    assert summary.read_text().startswith(f"# Of an earlier command\n\n<!-- {MARK}:")
    assert json.loads(other.read_text())["result"] == "blocked"


@pytest.mark.parametrize(
    ("place", "why"),
    [
        pytest.param("none/plan.md", "No such file or directory", id="no folder"),
        pytest.param("", "Is a directory", id="a folder"),
    ],
)
def test_what_cannot_be_written_is_told_before(
    sim: Simulation, shell: Shell, tmp_path: Path, place: str, why: str
) -> None:
    (tmp_path / "file").write_text("")
    file = f"{tmp_path}/{place}" if not place.startswith("/") else place

    said = shell("plan", "-o", "json", "--also", f"markdown={file}", "--also", f"json={tmp_path / 'other'}")

    line = f"--also 'markdown={file}' cannot be written: {why}"
    assert (said.code, said.stderr) == (1, f"reconcile: error: {line}\n")
    assert json.loads(said.stdout)["errors"] == [line] == json.loads((tmp_path / "other").read_text())["errors"]
    assert (sim.sent_to_hetzner(), sim.sent_to_kubernetes()) == ([], [])


def test_what_cannot_be_written_at_the_end(shell: Shell, tmp_path: Path) -> None:
    said = shell("plan", "-o", "json", "--also", "markdown=/dev/full", "--also", f"json={tmp_path / 'other'}")

    line = "--also 'markdown=/dev/full' cannot be written: No space left on device"
    assert said.code == 1
    assert f"reconcile: error: {line}\n" in said.stderr
    assert json.loads(said.stdout)["result"] == json.loads((tmp_path / "other").read_text())["result"] == "blocked"


def refused(*also: str, command: Command = Command.PLAN, plan: str | None = None, **flags: str) -> tuple[str, ...]:
    given = {"--also": "\n".join(also), **{f"--{name}": text for name, text in flags.items()}}
    with pytest.raises(ConfigurationError) as found:
        load_config(command, given, {"HCLOUD_TOKEN": "x" * 64}, plan)
    assert found.value.usage
    return found.value.lines


@pytest.mark.parametrize("text", ["xml=a", "json", "json=", "json=-", "=a", "auto=a", "JSON=a"])
def test_what_is_no_artifact(text: str) -> None:
    (line,) = refused(text)

    formats = "text, json, yaml, markdown, name, html"
    assert line == f"--also is {text!r}: expect FORMAT=FILE, with one of {formats}, and stdout has the report already"


def test_a_file_that_would_be_written_twice(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path)

    (line,) = refused(f"json={tmp_path}/a", f"yaml={tmp_path}/link/a")

    assert line.endswith("/link/a' would be written twice: give each format a file of its own")


@pytest.mark.parametrize(
    ("flags", "name"), [({"save": "a"}, "--save"), ({"from": "a"}, "--from"), ({"kubeconfig": "a"}, "--kubeconfig")]
)
def test_a_file_that_is_needed(flags: dict[str, Any], name: str) -> None:
    assert refused("json=./a", **flags) == (f"--also 'json=./a' would replace the file of {name}: give another name",)


@pytest.mark.parametrize(
    ("name", "files"), [("KUBECONFIG", "other:a"), ("HCLOUD_TOKEN_FILE", "a"), ("ROBOT_PASSWORD_FILE", "a")]
)
def test_a_file_with_credentials(name: str, files: str) -> None:
    with pytest.raises(ConfigurationError) as found:
        load_config(Command.PLAN, {"--also": "json=./a"}, {"HCLOUD_TOKEN": "x" * 64, name: files})

    assert f"--also 'json=./a' would replace the file of {name}: give another name" in found.value.lines


def test_a_saved_plan_is_not_replaced_by_what_was_applied() -> None:
    (line,) = refused("json=a", command=Command.APPLY, plan="a")

    assert line == "--also 'json=a' would replace the file of the saved plan: give another name"


def test_a_controller_has_no_artifacts() -> None:
    (line,) = refused("json=a", command=Command.BARE)

    assert line == "--also goes with 'reconcile plan' and 'reconcile apply': a controller has a report after each pass"
