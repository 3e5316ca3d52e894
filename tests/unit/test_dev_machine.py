"""scripts/dev and what no simulator plays: the machine that boots, by a stand-in for ssh, and a tool that is gone."""

import os
import socket
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import machine
import pytest
import yaml
from home import Home, Record
from infrastructure import Infrastructure, find_tool
from machine import Machine
from saying import Problem

_K3S = """\
apiVersion: v1
kind: Config
clusters: [{name: default, cluster: {server: "https://127.0.0.1:6443", certificate-authority-data: Q0E=}}]
users: [{name: default, user: {client-certificate-data: Q0VSVA==, client-key-data: S0VZ}}]
contexts: [{name: default, context: {cluster: default, user: default}}]
current-context: default
"""


@pytest.fixture
def ssh(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], Machine]:
    """A machine at which ``ssh`` is a shell script."""

    def made(script: str) -> Machine:
        file = tmp_path / "bin" / "ssh"
        file.parent.mkdir()
        file.write_text(f"#!/bin/sh\n{script}\n")
        file.chmod(0o755)
        monkeypatch.setenv("PATH", f"{file.parent}{os.pathsep}{os.environ['PATH']}")
        monkeypatch.setenv("DEV_HOME", str(tmp_path))
        return Machine(Home("dev"), "203.0.113.7", 42)

    return made


def test_a_boot_that_has_ended(ssh: Callable[[str], Machine], tmp_path: Path) -> None:
    """cloud-init answers 2 when it has warned of something. Nobody is asked for a password, and a server that replaces
    another one at its address has a host key of its own."""
    ssh(f'echo "$@" > {tmp_path}/arguments; exit 2').wait_for_boot()

    arguments = (tmp_path / "arguments").read_text()
    assert "StrictHostKeyChecking=accept-new" in arguments
    assert f"UserKnownHostsFile={tmp_path}/dev/ssh/known_hosts-42" in arguments
    assert "BatchMode=yes" in arguments


@pytest.mark.parametrize(
    ("script", "said"),
    [
        ("exit 1", "cloud-init of 203.0.113.7 has failed: read /var/log/cloud-init-output.log"),
        ("echo refused >&2; exit 255", "ssh does not reach root@203.0.113.7 (refused): see"),
    ],
)
def test_a_boot_that_does_not_end(
    ssh: Callable[[str], Machine], monkeypatch: pytest.MonkeyPatch, script: str, said: str
) -> None:
    """A machine that is silent for long is one that cannot be reached."""
    monkeypatch.setattr(machine, "_BOOT_S", 0.0)

    with pytest.raises(Problem) as refused:
        ssh(script).wait_for_boot()

    assert said in str(refused.value)


def test_the_kubeconfig_leads_to_the_public_address(ssh: Callable[[str], Machine]) -> None:
    """Under a name of its own, so that it can be merged with others."""
    config: Any = yaml.safe_load(ssh(f"cat <<'END'\n{_K3S}END").kubeconfig("hcloud-reconciler-dev"))

    assert config["clusters"][0]["cluster"] == {
        "server": "https://203.0.113.7:6443",
        "certificate-authority-data": "Q0E=",
    }
    names = {config["clusters"][0]["name"], config["users"][0]["name"], config["current-context"]}
    assert names == {"hcloud-reconciler-dev"}
    assert config["contexts"][0]["context"] == dict.fromkeys(("cluster", "user"), "hcloud-reconciler-dev")


@pytest.mark.parametrize("script", ["exit 1", "echo '{'", "echo clusters: []", "echo text"])
def test_a_damaged_kubeconfig_is_one_line(ssh: Callable[[str], Machine], script: str) -> None:
    """What comes from the machine is not trusted to be what it should be."""
    with pytest.raises(
        Problem, match=r"^203\.0\.113\.7 has no usable /etc/rancher/k3s/k3s\.yaml \(.*\): see `journalctl"
    ):
        ssh(script).kubeconfig("dev")


def test_the_registry_is_there_while_the_tunnel_is(
    ssh: Callable[[str], Machine], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """The block begins once the port answers, and the tunnel ends with it."""
    with closing(socket.create_server(("127.0.0.1", 0))) as free:
        port = free.getsockname()[1]
    monkeypatch.setattr(machine, "REGISTRY", f"127.0.0.1:{port}")
    tunnel = tmp_path / "tunnel.py"
    listening = f'import socket\nlistener = socket.create_server(("127.0.0.1", {port}))'
    tunnel.write_text(f"{listening}\nwhile True:\n    listener.accept()\n")

    with ssh(f"exec {sys.executable} -S {tunnel}").registry():
        socket.create_connection(("127.0.0.1", port), timeout=5).close()

    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.1", port), timeout=5)


def test_a_tunnel_that_does_not_open_is_one_line(ssh: Callable[[str], Machine]) -> None:
    """ssh has said why."""
    with pytest.raises(Problem, match=r"^no tunnel to 203\.0\.113\.7, as ssh says above: "), ssh("exit 255").registry():
        pytest.fail("the block began")


def test_what_was_begun_with_one_tool_goes_on_with_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Terraform cannot read what OpenTofu wrote down: installed later, it would be in the way of ``down``."""
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(Problem, match="install OpenTofu or Terraform"):
        find_tool()
    for name in ("tofu", "terraform"):
        tool = tmp_path / name
        tool.write_text("#!/bin/sh\n")
        tool.chmod(0o755)
        assert find_tool() == name  # a new cluster takes Terraform where there are both
    record = Record.new("dev", "https://api.example.com/v1", "tofu")

    (tmp_path / "tofu").unlink()

    with pytest.raises(Problem, match=r"^tofu has made this cluster and is not on the PATH: install it again"):
        Infrastructure(Home("dev"), record, "token", 0)
