"""Bad configuration: one clear line that names the thing and the remedy, the right exit code, no traceback."""

import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.assets import ROOT
from tests.support.objects import joining_node, server
from tests.support.rows import rows
from tests.support.stage import SimulatedCluster, Stage, clean_environment


def _one_line(stderr: str) -> str:
    lines = stderr.splitlines()
    assert len(lines) == 1, stderr
    assert "Traceback" not in stderr
    return lines[0]


@rows(
    "variables said",
    {
        "no token": ({"HCLOUD_TOKEN": None}, 'environment variable "HCLOUD_TOKEN" is required'),
        "no kubeconfig": ({"KUBECONFIG": "/nowhere/kubeconfig"}, "kubeconfig /nowhere/kubeconfig cannot be used"),
        "unknown network": ({"HCLOUD_NETWORK": "nirvana"}, "HCLOUD_NETWORK is 'nirvana', and"),
    },
)
def test_bad_configuration_is_one_line_and_exit_1(stage: Stage, variables: dict[str, str | None], said: str) -> None:
    """Each problem of the environment ends the run with one line on stderr."""
    ran = stage.reconcile("--dry-run", **variables)
    assert said in _one_line(ran.stderr)
    assert ran.code == 1


@rows(
    "arguments said",
    {
        "unknown flag": (["--dry-runn"], "unrecognized arguments: --dry-runn"),
        "approve of no hash": (["approve", "abc"], "'abc' is no hash of a hold"),
    },
)
def test_bad_usage_exits_64(stage: Stage, arguments: list[str], said: str) -> None:
    """What cannot be understood on the command line is said, and exits 64."""
    ran = stage.reconcile(*arguments)
    assert (ran.code, ran.stdout) == (64, "")
    assert said in ran.stderr
    assert "Traceback" not in ran.stderr


def test_all_problems_are_said_at_once_and_json_has_them_too(stage: Stage) -> None:
    """Nobody has to fix one variable to hear of the next."""
    ran = stage.reconcile("--once", "--output", "json", HCLOUD_TOKEN=None, HCLOUD_DEBUG="", ROBOT_ENABLED="maybe")
    assert (ran.code, len(ran.stderr.splitlines()), ran.report["result"]) == (1, 3, "error")
    assert len(ran.report["errors"]) == 3


def test_closed_stdout_ends_quietly(stage: Stage, cluster: SimulatedCluster) -> None:
    """``reconcile --dry-run | head -1`` prints no traceback."""
    stage.have_servers(*(server(i, f"n-{i}") for i in range(1, 400)))
    cluster.holds(*(joining_node(f"n-{i}") for i in range(1, 400)))
    process = stage.start("--dry-run")
    assert process.stdout is not None
    process.stdout.readline()
    process.stdout.close()
    process.stdout = None
    _, stderr = process.communicate(timeout=60)
    assert stderr == ""
    assert process.returncode == 0


def test_a_closed_pipe_hides_no_error(stage: Stage) -> None:
    """Nobody reads the report, but the error is on stderr and the exit code is that of the run."""
    reading, writing = os.pipe()
    os.close(reading)
    ran = stage.reconcile_into(writing, "--dry-run", HCLOUD_TOKEN="x" * 64)
    assert "check HCLOUD_TOKEN" in _one_line(ran.stderr)
    assert ran.code == 1


@pytest.mark.parametrize(
    "line",
    [
        "--help",
        "help plan",
        "completion zsh",
        "plan",
        "plan --output yaml",
        "explain node web-1",
        "orphans",
        "validate",
        "capture",
        "demo",
        "sandbox",
    ],
)
def test_nobody_reads_any_more(stage: Stage, line: str) -> None:
    """``| true``, or ``head`` that has seen enough: nothing is said of it, and it is no failure."""
    stage.have_servers(server(1, "web-1"))
    stage.register(joining_node("web-1"))
    reading, writing = os.pipe()
    os.close(reading)
    ran = stage.reconcile_into(writing, *line.split())
    os.close(writing)
    assert ran.code == 0
    assert [word for word in ("Traceback", "Exception", "error", "Broken") if word in ran.stderr] == []


def test_a_full_disk_keeps_no_page_of_help(stage: Stage) -> None:
    """Nobody may take half a script for a whole one."""
    for line in ("--help", "completion bash"):
        with Path("/dev/full").open("wb") as full:
            ran = stage.reconcile_into(full.fileno(), *line.split())
        assert (ran.code, ran.stderr) == (1, "reconcile: error: stdout cannot be written: No space left on device\n")


@pytest.mark.parametrize("output", ["text", "json"])
def test_a_full_disk_is_named(stage: Stage, output: str) -> None:
    """A report that cannot be written is one line and exit 1, for no one may take it for read."""
    with Path("/dev/full").open("wb") as full:
        ran = stage.reconcile_into(full.fileno(), "--dry-run", "--output", output)
    assert "the report cannot be written: No space left on device" in _one_line(ran.stderr)
    assert ran.code == 1


@pytest.mark.parametrize("shell", ["--dry-run >&-", "--dry-run 2>&-", "--once --output json >&-"])
def test_closed_streams_are_no_traceback(stage: Stage, shell: str) -> None:
    """A stream that the shell closed swallows what is written to it."""
    command = ["sh", "-c", f"{shlex.quote(sys.executable)} -m reconciler {shell}"]
    environment = {**clean_environment(), **stage.environment}
    ran = subprocess.run(command, capture_output=True, text=True, check=False, env=environment, cwd=ROOT)
    assert (ran.returncode, ran.stderr) == (0, "")


def test_foreign_text_cannot_steer_the_terminal(stage: Stage) -> None:
    """Control characters of an API's answer reach stderr as escapes."""
    body = {"kind": "Status", "message": "\u001b]0;pwned\u0007", "reason": "Forbidden"}
    stage.proxy.set_faults([{"kind": "status", "code": 403, "body": body, "path": "/api/v1/nodes", "count": None}])
    ran = stage.reconcile("--dry-run")
    assert r"\x1b]0;pwned" in _one_line(ran.stderr)
    assert "\x1b" not in ran.stdout + ran.stderr


def test_a_malformed_node_among_a_thousand_is_isolated(stage: Stage, cluster: SimulatedCluster) -> None:
    """One Node that cannot be decoded is noted; the other 999 are planned."""
    names = [f"n-{i}" for i in range(1, 1001)]
    stage.have_servers(*(server(i, name) for i, name in enumerate(names, 1)))
    cluster.holds(*map(joining_node, names))
    _, listed = cluster.request("GET", "/api/v1/nodes")
    (bad,) = [node for node in listed["items"] if node["metadata"]["name"] == "n-500"]
    bad["spec"]["taints"] = [{"key": 7, "effect": None}]
    stage.proxy.set_faults([{"kind": "status", "code": 200, "body": listed, "path": "/api/v1/nodes", "count": None}])
    report = stage.reconcile("--dry-run", "--output", "json").report
    assert (report["result"], report["summary"]["add"]) == ("incomplete", 999)
    assert [(note["key"], note["kind"]) for note in report["notes"]] == [("node/n-500", "unreadable")]


@pytest.mark.parametrize("line", ["--help", "--version", "run --help", "completion bash"])
def test_help_loads_no_client_library(line: str) -> None:
    """Nor completion, nor the rules: people wait for them. Who looks around need not even wait for click."""
    code = (
        "import sys\n"
        "from reconciler.cli import main\n"
        f"try: main({line.split()!r})\n"
        "except SystemExit: pass\n"
        "heavy = ['kubernetes', 'hcloud', 'rich', 'deepdiff', 'aiohttp', 'requests', 'msgspec', 'desired.model']\n"
        f"heavy += ['click'] * ({line!r} in ('--help', '--version'))\n"
        "sys.stderr.write(' '.join(module for module in heavy if module in sys.modules))"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert ran.stderr == ""
    assert ran.stdout


def test_no_run_loads_the_typed_api(stage: Stage) -> None:
    """A whole run that initializes a Node never imports ``CoreV1Api``, which costs more than the run."""
    stage.have_servers(server(1, "n-1"))
    stage.register(joining_node("n-1"))
    code = (
        "import sys\n"
        "from reconciler.cli import main\n"
        "code = main(['--once'])\n"
        "sys.stderr.write(' '.join(module for module in sys.modules if module.startswith('kubernetes.client.api.')))\n"
        "sys.exit(code)"
    )
    environment = {**clean_environment(), **stage.environment}

    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=environment)

    assert "node/n-1  node.initialise  applied" in ran.stdout
    assert ran.stderr == ""
