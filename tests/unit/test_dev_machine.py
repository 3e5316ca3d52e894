"""scripts/dev and the machine that boots, played by a stand-in for ssh; and what is said about cost."""

import os
import socket
import sys
from collections.abc import Callable
from contextlib import closing
from decimal import Decimal
from pathlib import Path
from typing import Any

import machine
import pytest
import yaml
from cost import bill, items
from home import Home
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


def _price(location: str, gross: str) -> dict[str, Any]:
    return {"location": location, "price_hourly": {"net": "0", "gross": gross}}


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


@pytest.mark.parametrize("status", [0, 2])
def test_a_boot_that_has_ended(ssh: Callable[[str], Machine], status: int) -> None:
    """cloud-init answers 2 when it has warned of something."""
    ssh(f"exit {status}").wait_for_boot()


@pytest.mark.parametrize(
    ("script", "said"),
    [
        pytest.param(
            "exit 1", "cloud-init of 203.0.113.7 has failed: read /var/log/cloud-init-output.log", id="failed"
        ),
        pytest.param(
            "echo refused >&2; exit 255", "ssh does not reach root@203.0.113.7 (refused): see", id="unreached"
        ),
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


def test_a_host_key_is_learned_once(ssh: Callable[[str], Machine], tmp_path: Path) -> None:
    """For each server: one that replaces it at the same address has its own. Nobody is asked for a password."""
    ssh(f'echo "$@" > {tmp_path}/arguments').wait_for_boot()

    arguments = (tmp_path / "arguments").read_text()
    assert "StrictHostKeyChecking=accept-new" in arguments
    assert f"UserKnownHostsFile={tmp_path}/dev/ssh/known_hosts-42" in arguments
    assert "BatchMode=yes" in arguments


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


@pytest.mark.parametrize(
    ("pricing", "each", "total"),
    [
        pytest.param(
            {
                "currency": "EUR",
                "server_types": [{"name": "cx23", "prices": [_price("fsn1", "0.0080")]}],
                "primary_ips": [{"type": "ipv4", "prices": [_price("hel1", "9"), _price("fsn1", "0.0010")]}],
            },
            [Decimal("0.0080"), Decimal("0.0010")],
            "together 0.0270 EUR an hour, 19.71 EUR a month if it stays (gross)",
            id="known",
        ),
        pytest.param(
            {},
            [None, None],
            "together 0.0000 EUR an hour, 0.00 EUR a month if it stays, without what is unknown",
            id="unknown",
        ),
    ],
)
def test_cost(pricing: dict[str, Any], each: list[Decimal | None], total: str) -> None:
    """Of three servers at their location. An unknown price is not taken for none."""
    bought = items(pricing, servers=3, server_type="cx23", location="fsn1")

    assert [item.each for item in bought] == each
    assert bill(pricing, bought, "fsn1")[2].startswith(total)
