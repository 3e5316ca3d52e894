"""Credential plugins of a kubeconfig (``exec``): one that fails is said to, and leaves no anonymous client behind."""

import json
import logging
import os
import threading
from pathlib import Path
from typing import Any

import pytest

from actuators.http.kubeconfig import ConnectionProblem
from kubernetes_double import KubernetesSimulator
from tests.support.connecting import a_cluster, a_kubeconfig
from tests.support.objects import joining_node
from tests.support.rows import rows
from tests.support.simulators import Simulate

NODES = "/api/v1/nodes"
CREDENTIAL: dict[str, Any] = {
    "apiVersion": "client.authentication.k8s.io/v1",
    "kind": "ExecCredential",
    "status": {"token": KubernetesSimulator.TOKEN},
}


def kubeconfig(folder: Path, server: str, script: str | None) -> Path:
    """A kubeconfig whose user is whoever a plugin of this shell script says; None is a plugin that is not there."""
    plugin = folder / "plugin"
    if script is not None:
        plugin.write_text(f"#!/bin/sh\n{script}\n")
        plugin.chmod(0o700)
    call = {"apiVersion": "client.authentication.k8s.io/v1", "command": str(plugin), "interactiveMode": "Never"}
    return a_kubeconfig(folder, server, {"exec": call})


@rows(
    "script",
    {
        "missing": None,
        "exits 1 with a word": "echo 'log in first' >&2; exit 1",
        "prints garbage": "echo garbage",
        "prints another object": "echo '{}'",
        "another version": f"echo '{json.dumps({**CREDENTIAL, 'apiVersion': 'client.authentication.k8s.io/v9'})}'",
    },
)
def test_a_plugin_that_fails(simulate: Simulate, tmp_path: Path, script: str | None) -> None:
    sim = simulate(nodes=[joining_node("web-1")])
    file = kubeconfig(tmp_path, sim.kubernetes_proxy.url, script)
    with pytest.raises(ConnectionProblem) as raised:
        a_cluster(file)
    text = str(raised.value)
    assert text.startswith(f"kubeconfig {file}: its credential plugin failed, ")
    assert text.endswith("; run the plugin by hand, or log in again")
    assert "\n" not in text
    assert sim.sent_to_kubernetes() == []


def test_logs_of_other_threads_are_theirs(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """While a plugin takes its time, the log goes on, and nothing in it counts as the plugin's failure."""
    gate = tmp_path / "gate"
    os.mkfifo(gate)
    file = kubeconfig(tmp_path, "http://127.0.0.1:1", f"cat {gate}; echo '{json.dumps(CREDENTIAL)}'")
    loading = threading.Thread(target=a_cluster, args=(file,))
    loading.start()
    with gate.open("w"):  # opens as soon as the plugin runs, and lets it go on when it is closed
        logging.getLogger("hcloud-reconciler.run").error("a word of ours")
        logging.getLogger().error("and somebody's")
    loading.join()
    assert caplog.messages == ["a word of ours", "and somebody's"]


def test_a_plugin_that_fails_later_leaves_the_credential_in_use(
    simulate: Simulate, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    sim = simulate(nodes=[joining_node("web-1")])
    status = {**CREDENTIAL["status"], "expirationTimestamp": "2020-01-01T00:00:00Z"}
    works = f"test -e {tmp_path}/out || echo '{json.dumps({**CREDENTIAL, 'status': status})}'"
    file = kubeconfig(tmp_path, sim.kubernetes_proxy.url, works)
    cluster = a_cluster(file)
    (tmp_path / "out").touch()
    assert b"web-1" in cluster.get(NODES).body
    assert b"web-1" in cluster.get(NODES).body
    (line,) = caplog.messages
    assert line.startswith(f"kubeconfig {file} cannot be read again, the old credentials stay: ")


def test_nobody_listens_afterwards(simulate: Simulate, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """Whether the plugin works or fails, the log goes where it went, for this thread as well."""
    handlers = list(logging.getLogger().handlers)
    file = kubeconfig(tmp_path, simulate().kubernetes_proxy.url, "exit 1")
    with pytest.raises(ConnectionProblem):
        a_cluster(file)
    kubeconfig(tmp_path, "http://127.0.0.1:1", f"echo '{json.dumps(CREDENTIAL)}'")
    a_cluster(file)
    logging.getLogger().error("a word of somebody's")
    assert (logging.getLogger().handlers, caplog.messages) == (handlers, ["a word of somebody's"])
