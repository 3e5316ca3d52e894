"""Initialising a Node: what the API server has afterwards, in which order it got it, and whom it yields to."""

from typing import Any

import pytest

from actuators.http.errors import Broken
from desired.model.snapshot import Snapshot
from desired.plan.change import Change
from tests.support.balancer_stage import carry_out
from tests.support.objects import UNINITIALIZED, joining_node, server
from tests.support.passes import planned
from tests.support.simulators import Simulate, Simulation

NODE = "/api/v1/nodes/web-1"
OTHERS = [
    {"key": "zone-b", "effect": "NoExecute", "timeAdded": "2026-01-01T00:00:00Z"},
    {"key": "a", "value": "b", "effect": "NoSchedule"},
]


def observed(sim: Simulation) -> tuple[Change, Snapshot]:
    """The initialization that the world asks for, and the snapshot that it was planned from."""
    return planned(sim, "node.initialise")


@pytest.fixture
def sim(simulate: Simulate) -> Simulation:
    """One Node that joins with taints of others around ours, and its server."""
    node = joining_node("web-1")
    node["spec"]["taints"] = [OTHERS[0], UNINITIALIZED, OTHERS[1]]
    return simulate(nodes=[node], project={"servers": [server(1, "web-1")]})


def test_a_node_is_initialised(sim: Simulation) -> None:
    before = sim.nodes()["web-1"]
    carry_out(sim, *observed(sim))
    node = sim.nodes()["web-1"]
    assert (node["spec"]["providerID"], node["spec"]["taints"]) == ("hcloud://1", OTHERS)
    assert node["metadata"]["labels"].items() >= before["metadata"]["labels"].items()
    assert node["metadata"]["labels"]["topology.kubernetes.io/region"] == "fsn1"
    assert node["metadata"].get("annotations") == before["metadata"].get("annotations")
    addresses = [("Hostname", "web-1"), ("ExternalIP", "198.51.0.2")]
    assert [(each["type"], each["address"]) for each in node["status"]["addresses"]] == addresses
    assert node["status"]["conditions"] == before["status"]["conditions"]


def test_addresses_come_before_the_taint_goes(sim: Simulation) -> None:
    """The status is written first, and the second write rests on the version that the first one answered."""
    change, snapshot = observed(sim)
    node = snapshot.nodes.items["web-1"]

    carry_out(sim, change, snapshot)

    first, second = sim.written()
    assert (first.method, first.path) == ("PATCH", f"{NODE}/status")
    assert set(first.body) == {"metadata", "status"}
    assert first.body["metadata"] == {"uid": node.uid, "resourceVersion": node.resource_version}
    assert (second.method, second.path) == ("PATCH", NODE)
    assert set(second.body) == {"metadata", "spec"}
    assert second.body["metadata"]["uid"] == node.uid
    assert int(second.body["metadata"]["resourceVersion"]) > int(node.resource_version)
    assert [entry.status for entry in sim.written()] == [200, 200]


def test_equal_addresses_are_not_written(sim: Simulation) -> None:
    addresses = [{"type": "Hostname", "address": "web-1"}, {"type": "ExternalIP", "address": "198.51.0.2"}]
    sim.kubernetes_writer().patch(f"{NODE}/status", {"status": {"addresses": addresses}})
    change, snapshot = observed(sim)
    carry_out(sim, change, snapshot)
    assert [entry.path for entry in sim.written()] == [NODE]


@pytest.mark.parametrize("body", ["<html>", {}, {"metadata": {}}, {"metadata": {"resourceVersion": 5}}])
def test_an_answer_without_a_version(sim: Simulation, body: Any) -> None:
    """When the first write's answer cannot be read, the taint is not removed on a guess."""
    change, snapshot = observed(sim)
    sim.spoil_kubernetes("status", method="PATCH", code=200, body=body)
    with pytest.raises(Broken):
        carry_out(sim, change, snapshot)
    assert len(sim.written()) == 1
