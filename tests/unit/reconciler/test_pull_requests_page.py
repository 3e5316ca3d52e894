"""docs/pull-requests.md: the workflows parse, their commands exist, and one comment is edited, not many posted."""

import json
import os
import re
import shlex
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from reconciler.cli.app import parse_command_line
from reconciler.config.config import load_config
from reconciler.config.options import Command
from reconciler.report.markdown import MARK, render_markdown
from reconciler.result import Report

PAGE = (Path(__file__).resolve().parents[3] / "docs" / "pull-requests.md").read_text()
GITHUB, GITLAB = (yaml.safe_load(block) for block in re.findall(r"```yaml\n(.*?)```", PAGE, re.DOTALL))
_FAKE_GITLAB = """#!/bin/sh
case "$*" in
*"--request "*) printf '%s\\n' "$*" >> "$CALLS" ;;
*/user) printf '{"id": 5}' ;;
*) printf '%s' "$FOUND" ;;
esac
"""
_FAKE = """#!/bin/sh
case "$*" in
*--jq*) printf '%s' "$FOUND" ;;
*) printf '%s\\n' "$*" >> "$CALLS" ;;
esac
"""


def scripts(job: dict[str, Any]) -> list[str]:
    return [step["run"] for step in job["steps"] if "run" in step]


SCRIPTS = [
    *(script for job in GITHUB["jobs"].values() for script in scripts(job)),
    "\n".join(GITLAB["plan"]["script"] + GITLAB["plan"]["after_script"]),
]


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.splitlines()[0])
def test_scripts_are_shell(script: str) -> None:
    assert subprocess.run(["bash", "-n"], input=script, text=True, capture_output=True, check=False).stderr == ""


def test_commands_exist() -> None:
    lines = [line.strip() for script in SCRIPTS for line in script.replace("\\\n", " ").splitlines()]
    found = [shlex.split(line.partition(" || ")[0])[1:] for line in lines if line.startswith("reconcile ")]
    environ = {**GITHUB["env"], "HCLOUD_TOKEN": "x" * 64}

    commands = []
    for words in found:
        command, flags, operands = parse_command_line(words)
        load_config(command, flags, environ, operands[0] if operands else None)
        commands.append(command)

    assert commands == [Command.PLAN, Command.APPLY, Command.PLAN]


def test_who_may_do_what() -> None:
    """The job that pull requests start may write comments and nothing else, and reads with tokens that only read."""
    plan, apply = GITHUB["jobs"]["plan"], GITHUB["jobs"]["apply"]

    assert (GITHUB["permissions"], plan["permissions"]) == ({}, {"pull-requests": "write"})
    assert "permissions" not in apply
    assert set(re.findall(r"secrets\.(\w+)", yaml.safe_dump(plan))) == {"HCLOUD_TOKEN_READ", "KUBECONFIG_READ"}
    assert apply["environment"] == "production"
    assert "github.event_name == 'push'" in apply["if"]


@pytest.mark.parametrize(
    ("found", "call"),
    [
        pytest.param("", "--method POST repos/o/r/issues/7/comments", id="none yet"),
        pytest.param("41\n42\n", "--method PATCH repos/o/r/issues/comments/42", id="there already"),
    ],
)
def test_one_comment(tmp_path: Path, found: str, call: str) -> None:
    (script,) = (script for script in SCRIPTS if "gh api" in script)
    (tmp_path / "gh").write_text(_FAKE)
    (tmp_path / "gh").chmod(0o755)
    (tmp_path / "plan.md").write_text("plan")
    environ = {
        "PATH": f"{tmp_path}:{os.environ['PATH']}",
        "RUNNER_TEMP": str(tmp_path),
        "COMMENTS": "repos/o/r/issues",
        "PULL_REQUEST": "7",
        "FOUND": found,
        "CALLS": str(tmp_path / "calls"),
    }

    subprocess.run(["bash", "-eo", "pipefail", "-c", script], env=environ, check=True)

    assert (tmp_path / "calls").read_text() == f"api --silent {call} --field body=@{tmp_path}/plan.md\n"


def a_note(number: int, author: int, body: str) -> dict[str, Any]:
    return {"id": number, "author": {"id": author}, "body": body}


@pytest.mark.skipif(
    not os.environ.get("CI") and shutil.which("jq") is None, reason="there is no jq here: scripts/shells installs it"
)
@pytest.mark.parametrize(
    ("found", "call"),
    [
        pytest.param([], "POST", id="none yet"),
        pytest.param([a_note(1, 5, "LGTM"), a_note(2, 5, f"<!-- {MARK}:5f0c2a11 -->")], "PUT 2", id="there already"),
        pytest.param([a_note(1, 6, f"<!-- {MARK}:5f0c2a11 -->")], "POST", id="somebody else's that looks like it"),
    ],
)
def test_one_note(tmp_path: Path, found: list[dict[str, Any]], call: str) -> None:
    """Of a merge request; who writes a note that looks like ours neither has it edited nor keeps ours away."""
    (tmp_path / "curl").write_text(_FAKE_GITLAB)
    (tmp_path / "curl").chmod(0o755)
    (tmp_path / "plan.md").write_text("plan")
    environ = {
        "PATH": f"{tmp_path}:{os.environ['PATH']}",
        "CI_API_V4_URL": "https://gitlab.example/api/v4",
        "CI_PROJECT_ID": "3",
        "CI_MERGE_REQUEST_IID": "7",
        "NOTES_TOKEN": "secret",
        "FOUND": json.dumps(found),
        "CALLS": str(tmp_path / "calls"),
    }
    script = "\n".join(GITLAB["plan"]["after_script"])

    subprocess.run(["bash", "-eo", "pipefail", "-c", script], env=environ, cwd=tmp_path, check=True)

    words = (tmp_path / "calls").read_text().split()
    method, place = words[words.index("--request") + 1], words[-1].rpartition("/merge_requests/7/notes")[2]
    assert f"{method} {place.removeprefix('/')}".strip() == call


def test_the_mark_is_what_is_looked_for() -> None:
    begin = f"<!-- {MARK}:"

    assert render_markdown(Report()).startswith(begin)
    assert PAGE.count(f'startswith("{begin}")') == 2
