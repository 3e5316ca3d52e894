"""A Service that is served well with less than it asks for needs no person, and says what is left out."""

from collections.abc import Callable, Mapping
from typing import Any

import pytest

from tests.support.in_process import one_pass
from tests.support.stage import Stage

DRY = {"--dry-run": "true"}
SELECTOR = "load-balancer.hetzner.cloud/node-selector"


def state_of(report: Mapping[str, Any], service: str) -> tuple[str, str]:
    (found,) = [each for each in report["states"]["services"] if each["key"] == f"service/default/{service}"]
    return found["state"], found["why"]


def explained(stage: Stage, service: str) -> dict[str, Any]:
    return stage.reconcile("explain", "service", service, "-o", "json").report


@pytest.mark.parametrize("policy", ["Cluster", "Local"])
def test_more_nodes_than_targets(field: Callable[[str], Stage], policy: str) -> None:
    """44: 25 of 27 Nodes are targets and answer. The note names both ways out."""
    stage = field("44-more-nodes-than-targets")
    stage.patch_service({"spec": {"externalTrafficPolicy": policy}})
    report = one_pass(stage, DRY)
    assert state_of(report, "web") == ("serving", "port 80: 25 of 25 healthy")
    (note,) = [each["text"] for each in report["notes"] if each["kind"] == "target-limit"]
    assert note.startswith("no target for Nodes w-27, w-28: the type takes 25 targets, all in use; choose a larger")
    assert f"or Nodes by {SELECTOR}" in note
    assert ("pods on Nodes without a target get no traffic" in note) is (policy == "Local")


PORTS = ({"name": "a", "port": 80, "nodePort": 31080}, {"name": "b", "port": 443, "nodePort": 0})
WITHOUT = "spec.ports[{}].nodePort is not set: port {} has no port on the Nodes to lead to"


def test_no_node_port_at_all(field: Callable[[str], Stage]) -> None:
    """46: state and explanation agree that it never comes."""
    stage = field("46-no-node-ports")
    assert state_of(one_pass(stage, DRY), "gw") == (
        "blocked",
        f"{WITHOUT.format(0, 80)}; set it, or remove spec.allocateLoadBalancerNodePorts",
    )
    assert "has not assigned" not in str(explained(stage, "gw"))


def test_one_port_without_a_node_port(field: Callable[[str], Stage]) -> None:
    """46: the other port is served, and the Service is not blocked."""
    stage = field("46-no-node-ports")
    stage.patch_service({"spec": {"ports": PORTS}}, "gw")
    one_pass(stage)
    (balancer,) = stage.balancers()
    assert [each["listen_port"] for each in balancer["services"]] == [80]
    report = one_pass(stage, DRY)
    assert report["changes"] == []
    assert state_of(report, "gw")[0] == "serving"
    left_out = f"{WITHOUT.format(1, 443)}, and is left out; set it, or remove spec.allocateLoadBalancerNodePorts"
    assert left_out in [note["text"] for note in report["notes"]]
    assert "has not assigned" not in str(explained(stage, "gw"))
