"""``reconcile demo``: it needs nothing, shows every class of change, and ends with a world that needs none."""

import re
import subprocess
from pathlib import Path

import pytest

from tests.faults.sandbox_process import NOBODY, environment
from tests.support.assets import ROOT
from tests.support.stage import DEADLINE_S


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the demo is started: not the folder of the checkout."""
    return tmp_path_factory.mktemp("demo")


@pytest.fixture(scope="module")
def shown(folder: Path) -> str:
    """What the demo shows where every scheme has a proxy that is not there: its world is on this machine."""
    proxies = {f"{scheme}_PROXY": NOBODY for scheme in ("HTTP", "HTTPS", "ALL")}
    ran = subprocess.run(
        [str(ROOT / "scripts" / "demo")],
        capture_output=True,
        text=True,
        check=False,
        timeout=DEADLINE_S,
        cwd=folder,
        env=environment(proxies | {name.lower(): value for name, value in proxies.items()}),
    )
    assert (ran.returncode, ran.stderr) == (0, "")
    return ran.stdout


def test_the_demo_plans_what_it_applies(shown: str) -> None:
    """Nodes join and get routes, labels follow a resize, the Node of a deleted server goes with its route, Services get
    what they lack: first as a plan, then as done."""
    plan, applied = shown.index("Plan: 9 to add, 4 to modify, 2 to remove."), shown.index("Applied 15 changes;")
    changes = [
        "+ node/worker-4  node.initialise",
        "+ node/worker-5  node.initialise",
        "~ node/worker-1/labels  node.labels",
        "~ node/worker-4/network  node.network_condition",
        "~ node/worker-5/network  node.network_condition",
        "- node/worker-3  node.delete",
        *(f"+ load_balancer/default/api/target/server:{number}  lb.target" for number in (103, 105, 106)),
        "+ load_balancer/default/shop  lb.create  +5.39 EUR a month",
        "+ service/default/shop/finalizer  service.claim",
        "~ service/default/shop/status  service.status",
        "+ route/4711/10.244.4.0/24  route.create",
        "+ route/4711/10.244.5.0/24  route.create",
        "- route/4711/10.244.3.0/24  route.delete",
    ]

    assert re.findall(r"^  ([-+~] .*)$", shown[:plan], re.MULTILINE) == changes
    assert re.findall(r"^  ([-+~] .*)$", shown[plan:applied], re.MULTILINE) == [f"{line}  applied" for line in changes]
    assert "labels[node.kubernetes.io/instance-type]: cpx32 -> cpx42" in shown[:plan]
    assert "NetworkUnavailable: (none) -> False (RouteCreated)" in shown[:plan]


def test_the_demo_leaves_alone_what_is_somebody_elses(shown: str) -> None:
    """Each of its three reports says so of the one route that is none of the cluster's, and of no other."""
    foreign = "  route/4711/10.8.0.0/24  foreign: not within the cluster CIDR 10.244.0.0/16\n"
    assert shown.count(foreign) == shown.count("foreign: ") == 3


def test_the_demo_ends_with_an_observed_world_that_needs_no_changes(shown: str) -> None:
    """Twice: by the run that applied, and by another one that looked."""
    after = shown[shown.index("Applied 15 changes; none is left.") :]
    assert after.count(" Observed 6 nodes, 6 servers, 6/100 routes, 2 services, 2 load balancers.") == 2
    assert after.count("No changes.") == 1
    assert re.findall(r"^  [-+~!?] ", after, re.MULTILINE) == []
    assert after.index("No changes.") < after.index("What to type next")


def test_the_demo_names_commands_that_can_be_typed(shown: str, folder: Path) -> None:
    """Each command of the farewell runs this very product in the shell that has run the demo."""
    commands = re.findall(r"^  (\S+) (sandbox|plan|--help)  ", shown, re.MULTILINE)
    assert [command for _, command in commands] == ["sandbox", "plan", "--help"]

    def type_there(*words: str) -> subprocess.CompletedProcess[str]:
        line = " ".join(words)
        shell = ["sh", "-c", line]
        return subprocess.run(shell, check=False, cwd=folder, env=environment({}), capture_output=True, text=True)

    (program, _), *_ = commands
    assert type_there(program, "--version").stdout.startswith("hcloud-reconciler ")
    assert type_there(program, "sandbox", "--help").returncode == 0
    assert type_there(program, "--help").returncode == 0
    planned = type_there(program, "plan")
    assert (planned.returncode, "HCLOUD_TOKEN" in planned.stderr) == (1, True)
