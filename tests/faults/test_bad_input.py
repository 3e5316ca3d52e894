"""Bad configuration: one clear line that names the thing and the remedy, the right exit code, no traceback."""

import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.assets import ROOT
from tests.support.objects import joining_node, server
from tests.support.stage import SimulatedCluster, Stage, clean_environment


def _one_line(stderr: str) -> str:
    lines = stderr.splitlines()
    assert len(lines) == 1, stderr
    assert "Traceback" not in stderr
    return lines[0]


def test_an_approval_of_no_hash(stage: Stage) -> None:
    ran = stage.reconcile("approve", "abc")
    assert (ran.code, ran.stdout) == (64, "")
    assert "'abc' is no hash of a hold" in ran.stderr


def test_all_problems_are_said_at_once_and_json_has_them_too(stage: Stage) -> None:
    """Nobody has to fix one variable to hear of the next."""
    ran = stage.reconcile("--once", "--output", "json", HCLOUD_TOKEN=None, HCLOUD_DEBUG="", ROBOT_ENABLED="maybe")
    assert (ran.code, len(ran.stderr.splitlines()), ran.report["result"]) == (1, 3, "error")
    assert len(ran.report["errors"]) == 3


def test_a_closed_pipe_hides_no_error(stage: Stage) -> None:
    """Nobody reads the report, but the error is on stderr, once, and the exit code is that of the run."""
    reading, writing = os.pipe()
    os.close(reading)
    ran = stage.reconcile_into(writing, "--dry-run", HCLOUD_TOKEN="x" * 64, HCLOUD_NETWORK="cluster")
    assert "the token you have provided is invalid (unauthorized); check HCLOUD_TOKEN" in _one_line(ran.stderr)
    assert ran.code == 1


SANDBOXES = ("sandbox", "sandbox --proxy http://127.0.0.1:9")


@pytest.mark.parametrize(
    "line",
    ["--help", "completion zsh", "plan", "explain node web-1", "orphans", "validate", "capture", "demo", *SANDBOXES],
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


@pytest.mark.parametrize("line", ["--help", "completion bash", "--dry-run", *SANDBOXES])
def test_a_full_disk_is_named(stage: Stage, line: str) -> None:
    """Nobody may take half a script for a whole one, or look for a sandbox at an address that was not written."""
    with Path("/dev/full").open("wb") as full:
        ran = stage.reconcile_into(full.fileno(), *line.split())
    what = "the report" if line == "--dry-run" else "stdout"
    program = "hcloud-sandbox" if line in SANDBOXES else "reconcile"
    said = f"{program}: error: {what} cannot be written: No space left on device\n"
    assert (ran.code, ran.stderr) == (1, said)


@pytest.mark.parametrize("shell", ["--dry-run >&-", "--dry-run 2>&-", "--once --output json >&-"])
def test_closed_streams_are_no_traceback(stage: Stage, shell: str) -> None:
    command = ["sh", "-c", f"{shlex.quote(sys.executable)} -m reconciler {shell}"]
    environment = {**clean_environment(), **stage.environment}
    ran = subprocess.run(command, capture_output=True, text=True, check=False, env=environment, cwd=ROOT)
    assert (ran.returncode, ran.stderr) == (0, "")


def test_a_malformed_node_among_a_hundred_is_isolated(stage: Stage, cluster: SimulatedCluster) -> None:
    names = [f"n-{i}" for i in range(1, 101)]
    stage.have_servers(*(server(i, name) for i, name in enumerate(names, 1)))
    cluster.holds(*map(joining_node, names))
    _, listed = cluster.request("GET", "/api/v1/nodes")
    (bad,) = [node for node in listed["items"] if node["metadata"]["name"] == "n-50"]
    bad["spec"]["taints"] = [{"key": 7, "effect": None}]
    stage.proxy.set_faults([{"kind": "status", "code": 200, "body": listed, "path": "/api/v1/nodes", "count": None}])
    report = stage.reconcile("--dry-run", "--output", "json").report
    assert (report["result"], report["summary"]["add"]) == ("incomplete", 99)
    assert [(note["key"], note["kind"]) for note in report["notes"]] == [("node/n-50", "unreadable")]


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
