"""scripts/dev up and down, rehearsed against the simulators: nothing is left, whatever they were interrupted at."""

import fcntl
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest
from dev import main

from hcloud_sandbox.hetzner import HetznerOptions
from hcloud_sandbox.proxy import FaultProxy
from tests.support.assets import ROOT
from tests.support.objects import a_service, condition, joining_node, server
from tests.support.rows import rows
from tests.support.sampling import sample
from tests.support.stage import Cluster, Ran, Stage, clean_environment, is_initialised, wait_for

_DEV = ROOT / "scripts" / "dev.d" / "dev.py"
_STAND_IN = ROOT / "tests" / "support" / "terraform_stand_in.py"
_PAID = ("servers", "networks", "load_balancers", "firewalls", "placement_groups", "ssh_keys", "primary_ips", "volumes")


class DevStage:
    """A project, a cluster in which each running server of it registers as a Node, and the command.

    ``said`` captures what processes write. ``mirror`` is a folder in which the real Terraform finds its provider; None
    lets the stand-in do its work.
    """

    def __init__(self, stage: Stage, folder: Path, said: pytest.CaptureFixture[str], mirror: str | None) -> None:
        self.stage = stage
        self._said = said
        self.home = folder / "home"
        self._tools = folder / "bin"
        self._tools.mkdir()
        path = f"{self._tools}{os.pathsep}{os.environ['PATH']}"
        self.environment = {**clean_environment(), **stage.environment, "DEV_HOME": str(self.home), "PATH": path}
        if mirror is None:
            self.tool("terraform", f'exec {sys.executable} -P {_STAND_IN} "$@"')
        else:
            configuration = folder / "terraformrc"
            configuration.write_text(
                f'provider_installation {{\n  filesystem_mirror {{\n    path = "{mirror}"\n  }}\n}}\n'
            )
            self.environment["TF_CLI_CONFIG_FILE"] = str(configuration)
        self._ended = threading.Event()
        self._kubelets = threading.Thread(target=self._register)

    def __enter__(self) -> "DevStage":
        self._kubelets.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._kubelets.join()

    def tool(self, name: str, script: str) -> None:
        file = self._tools / name
        file.write_text(f"#!/bin/sh\n{script}\n")
        file.chmod(0o755)

    def run(self, *arguments: str, **variables: str | None) -> Ran:
        """Run the command to its end, in this process. A variable of None is taken out of the environment."""
        merged: Mapping[str, str | None] = {**self.environment, **variables}
        environment = {name: value for name, value in merged.items() if value is not None}
        self._said.readouterr()
        with patch.dict(os.environ, environment, clear=True):
            try:
                code = main(arguments)
            except SystemExit as left:
                code = int(str(left.code))
        said = self._said.readouterr()
        return Ran(code, said.out, said.err)

    def dies_at(self, arguments: Sequence[str], write: str, number: int, fault: str) -> None:
        """Run the command until its write of this pattern and number is under way, and kill it with all that it has
        started. The APIs are well afterwards."""
        method, _, path = write.partition(" ")
        proxy = self.stage.hetzner_proxy
        proxy.journal.clear()
        proxy.set_faults([{"kind": fault, "method": method, "path": f"{path}$", "skip": number, "count": None}])
        process = subprocess.Popen(
            [sys.executable, str(_DEV), *arguments],
            env=self.environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        try:
            wait_for(lambda: len(matching(proxy, write)) > number, f"write number {number + 1}, {write}")
        finally:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            proxy.clear_faults()
        wait_for(self._is_unlocked, "the end of what the command has started")

    def _is_unlocked(self) -> bool:
        with (self.home / "dev.lock").open("w") as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                return False
        return True

    def project(self) -> dict[str, list[str]]:
        """Kind → names of its objects, of kinds that the project has."""
        world: Mapping[str, Sequence[Mapping[str, Any]]] = self.stage.project.world()["hetzner"]
        return {kind: sorted(each["name"] for each in world[kind]) for kind in _PAID if world.get(kind)}

    def _register(self) -> None:
        """Until the end: what a kubelet does on each server that runs."""
        while not self._ended.wait(0.05):
            there = self.stage.nodes()
            for found in self.stage.project.world()["hetzner"]["servers"]:
                if found["status"] == "running" and found["private_net"] and found["name"] not in there:
                    self.stage.register(_node(found["name"], found["private_net"][0]["ip"]))


def _node(name: str, address: str) -> dict[str, Any]:
    """A Node with the address that k3s was configured with, and a range of its own for its pods."""
    node = joining_node(name)
    node["metadata"]["annotations"]["alpha.kubernetes.io/provided-node-ip"] = address
    node["spec"]["podCIDR"] = f"10.244.{address.rpartition('.')[2]}.0/24"
    node["spec"]["podCIDRs"] = [node["spec"]["podCIDR"]]
    node["status"]["addresses"].append({"type": "InternalIP", "address": address})
    node["status"]["conditions"] = [condition("Ready", "True")]
    return node


def matching(proxy: FaultProxy, write: str) -> list[str]:
    """The writes of this pattern that have passed, or are under way."""
    sent = [f"{entry.method} {entry.path}" for entry in proxy.journal.entries()]
    return [one for one in sent if re.fullmatch(write, one)]


_MIRROR = os.environ.get("TERRAFORM_MIRROR")
_CLUSTER = {
    "servers": ["dev-control-plane", "dev-worker-1", "dev-worker-2"],
    **{kind: ["dev"] for kind in ("networks", "firewalls", "placement_groups", "ssh_keys")},
}
_OTHERS = {"servers": ["somebody-elses"], "networks": ["somebody-elses"], "load_balancers": ["somebody-elses"]}
_MOMENTS = {"hang": "before", "half_open": "after"}
_UP = (
    "POST /v1/ssh_keys",
    "POST /v1/networks",
    "POST /v1/firewalls",
    "POST /v1/placement_groups",
    *(["POST /v1/servers"] * 3),
    *(["POST /v1/networks/[0-9]+/actions/add_route"] * 3),
)
_DOWN = (
    "DELETE /v1/load_balancers/[0-9]+",
    *(["DELETE /v1/servers/[0-9]+"] * 3),
    "DELETE /v1/placement_groups/[0-9]+",
    "DELETE /v1/firewalls/[0-9]+",
    "DELETE /v1/networks/[0-9]+",
    "DELETE /v1/ssh_keys/[0-9]+",
)
"""Writes to Hetzner, as the stand-in for Terraform sends them."""
_REAL = pytest.mark.skipif(
    _MIRROR is None or not shutil.which("terraform"), reason="TERRAFORM_MIRROR names no folder of providers"
)


@pytest.fixture
def stage(cluster: Cluster, tmp_path: Path) -> Iterator[Stage]:
    stage = Stage(cluster, tmp_path, None, HetznerOptions(action_s=0.05))
    yield stage
    stage.close()


@pytest.fixture
def dev(stage: Stage, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> Iterator[DevStage]:
    """A project in which somebody else has something as well."""
    stage.project.replace_world(
        {
            "servers": [server(901, "somebody-elses")],
            "networks": [{"id": 902, "name": "somebody-elses", "ip_range": "10.0.0.0/8"}],
            "load_balancers": [{"id": 903, "name": "somebody-elses", "private_net": [{"network": 902}]}],
        }
    )
    with DevStage(stage, tmp_path, capfd, None) as made:
        yield made


@pytest.mark.parametrize(
    "mirror", [pytest.param(None, id="stand-in"), pytest.param(_MIRROR, id="terraform", marks=_REAL)]
)
def test_up_and_down_leave_nothing(
    stage: Stage, tmp_path: Path, capfd: pytest.CaptureFixture[str], mirror: str | None
) -> None:
    """A cluster with a Service that is exposed: each command twice, and the second time it finds nothing to do."""
    with DevStage(stage, tmp_path, capfd, mirror) as dev:
        made = dev.run("up", "--yes")
        assert made.code == 0, made.stderr
        assert mirror or _wrote(stage) == sorted(_UP)
        assert dev.project() == _CLUSTER
        assert all(map(is_initialised, stage.nodes().values()))
        assert "3 x server cx23 in fsn1: 0.0" in made.stderr
        stage.hetzner_proxy.journal.clear()
        again = dev.run("up", "--yes")
        assert (again.code, "nothing is bought" in again.stderr) == (0, True), again.stderr
        assert [entry.path for entry in stage.written_to_hetzner()] == []

        stage.have_services(a_service("web"))
        passed = dev.run("reconcile", "apply", "--yes")
        assert (passed.code, len(dev.project()["load_balancers"])) == (0, 1), passed.stdout + passed.stderr
        shown = dev.run("status")
        assert (shown.code, shown.stdout.count("Node dev-"), shown.stdout.count("    load balancer ")) == (0, 3, 1)

        stage.hetzner_proxy.journal.clear()
        gone = dev.run("down", "--yes")
        assert gone.code == 0, gone.stderr
        assert mirror or _wrote(stage) == sorted(_DOWN)
        assert dev.project() == {}
        assert stage.cluster.request("GET", "/api/v1/services")[1]["items"] == []
        assert not (dev.home / "dev").exists()
        assert dev.run("down").stderr == "dev: there is no cluster dev here: nothing to take down\n"


def _kills() -> list[Any]:
    """What is killed, and what is run then: a sample of all writes."""
    runs = (("up", "up", _UP), ("up", "down", _UP), ("down", "down", _DOWN))
    rows = [
        (killed, then, writes, number, fault)
        for killed, then, writes in runs
        for number in range(len(writes))
        for fault in _MOMENTS
    ]
    return [
        pytest.param(*row, id=f"{row[0]} {_MOMENTS[row[4]]} write {row[3] + 1} ({row[2][row[3]]}), then {row[1]}")
        for row in sample(rows, "scripts/dev")
    ]


@pytest.mark.parametrize(("killed", "then", "writes", "number", "fault"), _kills())
def test_a_command_that_is_killed_is_continued(
    dev: DevStage, killed: str, then: str, writes: tuple[str, ...], number: int, fault: str
) -> None:
    """An object that was made and could not be written down is found by its label."""
    if killed == "down":
        assert dev.run("up", "--yes").code == 0
        dev.stage.have_services(a_service("web"))
        assert dev.run("reconcile", "apply", "--yes").code == 0
    dev.dies_at([killed, "--yes"], writes[number], writes[:number].count(writes[number]), fault)

    continued = dev.run(then, "--yes")

    assert continued.code == 0, continued.stderr
    if then == "up":
        assert dev.project() == {kind: _CLUSTER.get(kind, []) + _OTHERS.get(kind, []) for kind in {*_CLUSTER, *_OTHERS}}
        assert all(map(is_initialised, dev.stage.nodes().values()))
    else:
        assert dev.project() == _OTHERS
        assert not (dev.home / "dev").exists()


@_REAL
@pytest.mark.parametrize(
    ("number", "fault"), sample([(number, fault) for number in range(9) for fault in _MOMENTS], "terraform killed")
)
def test_terraform_that_is_killed_is_continued(
    stage: Stage, tmp_path: Path, capfd: pytest.CaptureFixture[str], number: int, fault: str
) -> None:
    """The real one makes several objects side by side, and has not written down any that it got no answer for."""
    with DevStage(stage, tmp_path, capfd, _MIRROR) as dev:
        dev.dies_at(["up", "--yes"], "POST /v1/.*", number, fault)
        continued = dev.run("up", "--yes")
        assert continued.code == 0, continued.stderr
        assert dev.project() == _CLUSTER
        assert dev.run("down", "--yes").code == 0
        assert dev.project() == {}


def test_an_uncertain_cluster_is_refused(dev: DevStage, tmp_path: Path) -> None:
    """One line each, and nothing is changed: a cluster that goes on costing money must not be forgotten, and another
    one not be taken for it."""
    made = dev.run("up", "--yes", "--workers=0")
    assert made.code == 0, made.stderr
    dev.stage.have_services(a_service("web"))
    before = dev.project()

    def refused(*arguments: str, **variables: str) -> str:
        said = _line(dev.run(*arguments, **variables).stderr)
        assert said.startswith("dev: error: ")
        return said

    assert "an SSH key dev, as of a cluster dev of another checkout: choose" in refused(
        "up", "--yes", DEV_HOME=str(tmp_path / "other")
    )

    dev.stage.register({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "production-1"}})
    for command in ("up", "down"):
        assert "its Node production-1 is no server of the cluster, so it may be another" in refused(command, "--yes")
    dev.stage.cluster.request("DELETE", "/api/v1/nodes/production-1")

    own = dev.stage.project.world()["hetzner"]
    dev.stage.project.replace_world({"hetzner": {}})
    for arguments in (["up", "--yes"], ["down", "--yes"], ["status"], ["reconcile", "plan"]):
        assert "the project of HCLOUD_TOKEN has no SSH key of cluster dev: " in refused(*arguments)
    assert dev.project() == {}
    dev.stage.project.replace_world(own)

    record = dev.home / "dev" / "cluster.json"
    kept = record.read_text()
    record.write_text(json.dumps(json.loads(kept) | {"endpoint": "http://127.0.0.1:9/v1"}))
    assert "cluster dev was made at http://127.0.0.1:9/v1, and HCLOUD_ENDPOINT leads to" in refused("down", "--yes")
    record.write_text("{")
    assert "cluster.json cannot be used: restore it, or move" in refused("down", "--yes")
    record.unlink()
    assert "has files and no cluster.json: it is no cluster of scripts/dev" in refused("down", "--yes")
    record.write_text(kept)

    (dev.home / "dev" / "kubeconfig").write_text("{")
    shown = dev.run("status")
    assert (shown.code, shown.stdout.count("    server ")) == (0, 1)
    assert "    Nodes are not known: " in shown.stdout

    with (dev.home / "dev.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        assert "is at work on dev: wait until it has ended" in refused("down", "--yes")

    assert dev.project() == before
    assert len(dev.stage.cluster.request("GET", "/api/v1/services")[1]["items"]) == 1


def test_a_load_balancer_of_no_service_is_named(dev: DevStage) -> None:
    """It is paid for and keeps the network: a person says that it may go."""
    dev.dies_at(["up", "--yes"], "POST /v1/servers", 0, "hang")
    world = dev.stage.project.world()["hetzner"]
    (network,) = [each["id"] for each in world["networks"] if each["name"] == "dev"]
    world["load_balancers"].append({"id": 77, "name": "by-hand", "private_net": [{"network": network}]})
    dev.stage.project.replace_world({"hetzner": world})

    said = "dev: error: load balancer by-hand (77) in the cluster's network is of no Service of it: "
    assert said in dev.run("down", "--yes").stderr.splitlines()[-1]
    assert dev.project()["networks"] == ["dev", "somebody-elses"]

    assert dev.run("down", "--yes", "--abandon").code == 0
    assert dev.project() == _OTHERS


@rows("arguments variables said", {
    "no token": (["up"], {"HCLOUD_TOKEN": None}, "HCLOUD_TOKEN is not set: create a token"),
    "wrong token": (["up"], {"HCLOUD_TOKEN": "wrong"}, "; check HCLOUD_TOKEN"),
    "no ssh": (["up"], {"PATH": "/nonexistent"}, "ssh is not on the PATH: install OpenSSH's client"),
    "without a terminal": (["up"], {}, "no terminal to prompt on; pass --yes"),
    "location": (["up", "--location=mars"], {}, "there is no location mars: choose one of ash, fsn1"),
    "type": (["up", "--server-type=cx1"], {}, "there is no server type cx1: choose one"),
    "no sandbox": (["up"], {"HCLOUD_ENDPOINT": "http://127.0.0.1:9/v1"}, " does not answer: "),
    "half": (["up"], {"KUBECONFIG": None}, "HCLOUD_ENDPOINT is a sandbox's, and KUBECONFIG names no"),
    "no cluster": (["reconcile", "plan"], {}, "there is no cluster dev here: run scripts/dev up"),
    "no builder": (["image"], {}, "is not on the PATH: install "),
})  # fmt: skip
def test_bad_input_is_one_line(
    dev: DevStage, arguments: list[str], variables: dict[str, str | None], said: str
) -> None:
    """Which names the thing and the remedy; nothing is bought."""
    before = dev.project()
    refused = dev.run(*arguments, **variables)
    assert (refused.code, refused.stdout) == (1, "")
    assert said in refused.stderr.splitlines()[-1]
    assert dev.project().get("servers") == before["servers"]


@pytest.mark.parametrize("arguments", [["up", "--workers=ten"], ["--name=Dev", "up"], ["up", "--admin-ranges=me"], []])
def test_bad_usage_is_one_line(dev: DevStage, arguments: list[str]) -> None:
    """Exit 64, as of the product."""
    refused = dev.run(*arguments)
    assert (refused.code, _line(refused.stderr).endswith("; scripts/dev --help lists all")) == (64, True)


def _wrote(stage: Stage) -> list[str]:
    """What was written to Hetzner, as the tables above have it."""
    return sorted(re.sub("/[0-9]+", "/[0-9]+", f"{entry.method} {entry.path}") for entry in stage.written_to_hetzner())


def _line(stderr: str) -> str:
    """The last line; those before it are progress."""
    return stderr.splitlines()[-1]
