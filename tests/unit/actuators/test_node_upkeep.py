"""Keeping a settled Node true: what the API server has after each write, what is kept, and whom it yields to."""

from typing import Any

import pytest

from desired.model.settings import AddressFamily, Settings
from desired.model.snapshot import Snapshot
from desired.plan.change import Change
from tests.support.balancer_stage import carry_out
from tests.support.objects import server, settled_node
from tests.support.passes import planned
from tests.support.rows import rows
from tests.support.simulators import Simulate, Simulation

NODE = "/api/v1/nodes/web-1"
SETTINGS = Settings(mirror_labels="servers.example.com", address_family=AddressFamily.DUALSTACK)
SHUTDOWN = {"key": "node.cloudprovider.kubernetes.io/shutdown", "effect": "NoSchedule"}
OTHERS = [
    {"key": "zone-b", "effect": "NoExecute", "timeAdded": "2026-01-01T00:00:00Z"},
    {"key": "a", "value": "b", "effect": "NoSchedule"},
    {"key": SHUTDOWN["key"], "effect": "NoExecute"},
]
"""Of other people, the last one although its key is ours."""
SERVER = server(
    1,
    "web-1",
    status="off",
    labels={"role": "worker"},
    public_net={"ipv4": {"ip": "198.51.0.2"}, "ipv6": {"ip": "2001:db8:1::/64"}},
)


def drifted() -> dict[str, Any]:
    """A Node that differs from ``SERVER`` in all three ways, with labels and taints of others."""
    node = settled_node("web-1", 1)
    labels = node["metadata"]["labels"]
    labels["node.kubernetes.io/instance-type"] = labels["beta.kubernetes.io/instance-type"] = "cx22"
    labels["servers.example.com/gone"] = "long-ago"
    del labels["topology.kubernetes.io/zone"]
    node["metadata"]["annotations"] = {"alpha.kubernetes.io/provided-node-ip": "2001:db8:1::7,198.51.0.2"}
    node["spec"]["taints"] = OTHERS
    node["status"]["addresses"] = [
        {"type": "InternalIP", "address": "10.0.0.9"},
        {"type": "ExternalIP", "address": "198.51.100.9"},
        {"type": "Hostname", "address": "web-1"},
    ]
    return node


@pytest.fixture
def sim(simulate: Simulate) -> Simulation:
    """One Node that has drifted, and its server, which is switched off."""
    return simulate(nodes=[drifted()], project={"servers": [SERVER]})


def wanted(sim: Simulation, kind: str) -> tuple[Change, Snapshot]:
    """The change of this kind that the world asks for, and the snapshot from which it was planned."""
    return planned(sim, kind, SETTINGS)


def change_taints(sim: Simulation, *taints: dict[str, str]) -> None:
    """Make these the Node's taints, as somebody else would."""
    sim.kubernetes_writer().patch(NODE, {"spec": {"taints": list(taints)}})


def without_version(node: dict[str, Any]) -> dict[str, Any]:
    written = ("resourceVersion", "managedFields")
    unversioned = {key: value for key, value in node["metadata"].items() if key not in written}
    return {**node, "metadata": unversioned}


def test_labels_are_written(sim: Simulation) -> None:
    before = sim.nodes()["web-1"]

    carry_out(sim, *wanted(sim, "node.labels"))

    after = sim.nodes()["web-1"]
    assert after["metadata"]["labels"] == {
        "kubernetes.io/hostname": "web-1",
        "example.com/team": "blue",
        "beta.kubernetes.io/instance-type": "cpx32",
        "node.kubernetes.io/instance-type": "cpx32",
        "failure-domain.beta.kubernetes.io/zone": "fsn1-dc14",
        "topology.kubernetes.io/zone": "fsn1-dc14",
        "failure-domain.beta.kubernetes.io/region": "fsn1",
        "topology.kubernetes.io/region": "fsn1",
        "instance.hetzner.cloud/provided-by": "cloud",
        "servers.example.com/role": "worker",
    }
    after["metadata"]["labels"] = before["metadata"]["labels"]
    assert without_version(after) == without_version(before)


def test_addresses_are_written(sim: Simulation) -> None:
    before = sim.nodes()["web-1"]
    carry_out(sim, *wanted(sim, "node.addresses"))
    after = sim.nodes()["web-1"]
    assert after["status"]["addresses"] == [
        {"type": "ExternalIP", "address": "2001:db8:1::7"},
        {"type": "ExternalIP", "address": "198.51.0.2"},
        {"type": "Hostname", "address": "web-1"},
    ]
    after["status"]["addresses"] = before["status"]["addresses"]
    assert without_version(after) == without_version(before)


def test_the_shutdown_taint_is_added(sim: Simulation) -> None:
    carry_out(sim, *wanted(sim, "node.shutdown_taint"))
    assert sim.nodes()["web-1"]["spec"]["taints"] == [*OTHERS, SHUTDOWN]


@rows(
    "taints left",
    {
        "from between others": ([OTHERS[0], SHUTDOWN, *OTHERS[1:]], OTHERS),
        "the only one, with a value": ([{**SHUTDOWN, "value": "true"}], None),
    },
)
def test_the_shutdown_taint_is_removed(
    sim: Simulation, taints: list[dict[str, str]], left: list[dict[str, str]] | None
) -> None:
    change_taints(sim, *taints)
    sim.change_servers(1, status="running")
    carry_out(sim, *wanted(sim, "node.shutdown_taint"))
    assert sim.nodes()["web-1"]["spec"].get("taints") == left
