"""scripts/dev against simulators: the sandbox's cluster stands in for the one that no server boots here."""

import fcntl
import os
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest
from dev import main

from reconciler.sandbox.proxy import FaultProxy
from tests.support.assets import ROOT
from tests.support.objects import condition, joining_node
from tests.support.stage import Ran, Stage, clean_environment, wait_for

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
        """Kind → names of what is in the project, without kinds that it has nothing of."""
        world: Mapping[str, Sequence[Mapping[str, Any]]] = self.stage.project.world()["hetzner"]
        return {kind: sorted(each["name"] for each in world[kind]) for kind in _PAID if world.get(kind)}

    def _register(self) -> None:
        """Until the end: what a kubelet does on each server that runs."""
        while not self._ended.wait(0.05):
            there = self.stage.nodes()
            for server in self.stage.project.world()["hetzner"]["servers"]:
                if server["status"] == "running" and server["private_net"] and server["name"] not in there:
                    self.stage.register(_node(server["name"], server["private_net"][0]["ip"]))


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
