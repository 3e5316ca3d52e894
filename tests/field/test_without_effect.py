"""Settings without effect after a creation are told, and what is only nearly a name is no name."""

from collections.abc import Callable, Mapping
from typing import Any

import pytest

from tests.support.in_process import one_pass
from tests.support.stage import Stage

DRY, NETWORK = {"--dry-run": "true"}, {"HCLOUD_NETWORK": "cluster"}
RANGE = "load-balancer.hetzner.cloud/private-subnet-ip-range"
NAME = "load-balancer.hetzner.cloud/name"


def noted(report: Mapping[str, Any], kind: str) -> list[str]:
    return [note["text"] for note in report["notes"] if note["kind"] == kind]


@pytest.fixture
def stage(field: Callable[[str], Stage]) -> Stage:
    """38: the load balancer is attached to 10.0.0.0/24, and the annotation names the other subnet."""
    return field("38-subnet-of-an-attached-load-balancer")


def test_another_subnet(stage: Stage) -> None:
    """38: it is not moved, and the note says what would move it."""
    report = one_pass(stage, DRY, **NETWORK)
    assert report["changes"] == []
    (note,) = noted(report, "kept")
    assert note.startswith(f"{RANGE} (or HCLOUD_LOAD_BALANCERS_PRIVATE_SUBNET_IP_RANGE) is 10.0.65.0/24, but load")
    assert note.endswith(
        "has 10.0.0.2 in network cluster and is not moved: its private address would be lost; to move it, set"
        " load-balancer.hetzner.cloud/private-ipv4 to an address of 10.0.65.0/24"
    )


@pytest.mark.parametrize("there", ["10.0.0.0/24", "10.0.0.0/16"])
def test_its_own_subnet(stage: Stage, there: str) -> None:
    """38: nothing is said of the subnet in which it is."""
    stage.annotate(private_subnet_ip_range=there)
    assert noted(one_pass(stage, DRY, **NETWORK), "kept") == []


def test_an_address_of_the_other_subnet(stage: Stage) -> None:
    """38: this moves it, so that nothing is kept."""
    stage.annotate(private_ipv4="10.0.65.9")
    report = one_pass(stage, DRY, **NETWORK)
    assert noted(report, "kept") == []
    assert [each["kind"] for each in report["changes"] if "network" in each["key"]] == ["lb.network"]


def test_no_subnet_at_all(stage: Stage) -> None:
    """38: a range that is no subnet is an error of the annotation, though the load balancer is attached."""
    stage.annotate(private_subnet_ip_range="192.168.7.0/24")
    report = one_pass(stage, DRY, **NETWORK)
    (text,) = noted(report, "malformed")
    assert "is 192.168.7.0/24: network cluster has the subnets " in text
    assert report["changes"] == []


@pytest.mark.parametrize(("name", "what"), [("12", "id"), ("198.18.0.200", "address")])
def test_a_name_that_is_an_id(stage: Stage, name: str, what: str) -> None:
    """A new Service names load balancer 12 by its id: nothing is made beside it, and it is said which one is meant."""
    balancer = stage.balancers()[0]["name"]
    annotations = {"load-balancer.hetzner.cloud/location": "fsn1", NAME: name}
    ports = [{"name": "p80", "port": 80, "protocol": "TCP", "nodePort": 31081}]
    metadata = {"name": "second", "namespace": "default", "annotations": annotations}
    body = {"metadata": metadata, "spec": {"type": "LoadBalancer", "ports": ports}}
    stage.to_cluster("POST", "/api/v1/namespaces/default/services", body)
    report = one_pass(stage, **NETWORK)
    assert len(stage.balancers()) == 1
    (text,) = noted(report, "malformed")
    assert text == (
        f"{NAME} is {name}: that is the {what} of load balancer 12 '{balancer}', not its name; set it to '{balancer}'"
        " for that one, or to another name"
    )


def test_targets_of_a_selector(field: Callable[[str], Stage]) -> None:
    """39: a selector of another owner leads to our targets twice, and to a Node that is excluded."""
    report = one_pass(field("39-selector-targets-twice"), DRY, **NETWORK)
    (note,) = noted(report, "foreign")
    selector = "role in (control_plane_node,agent_node)"
    assert note == (
        f"target selector:{selector} belongs to another owner and is kept: it leads to Nodes w-2, w-3 a second"
        " time, and to Node cp-1 although excluded (label node.kubernetes.io/exclude-from-external-load-balancers);"
        f" if its owner does not need it, run hcloud load-balancer remove-target 12 --label-selector '{selector}'"
    )


def test_a_selector_that_leads_elsewhere(field: Callable[[str], Stage]) -> None:
    """39: a neighbour, of which there is nothing more to say."""
    stage = field("39-selector-targets-twice")
    targets = stage.balancers()[0]["targets"]
    targets[0]["label_selector"]["selector"] = "role=etcd"
    stage.change_balancer(targets=targets)
    (note,) = noted(one_pass(stage, DRY, **NETWORK), "foreign")
    assert note.endswith(" belongs to another owner and is kept")
