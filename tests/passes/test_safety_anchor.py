"""Whose project is it, and does anybody speak for the cluster: what no token and no copy of a cluster may bring about.

Each name tells a situation in which a cluster was lost, or the load balancers of another one.
"""

from collections.abc import Callable
from typing import Any

import pytest

from desired.names import CONFIG_MAP
from tests.support.in_process import one_pass
from tests.support.objects import (
    IN_NETWORK,
    NETWORK,
    a_server_of,
    a_service,
    ago,
    condition,
    finalizers,
    ingress,
    joining_node,
    public_ipv4,
    said_of,
    server,
    settled_node,
    with_pods,
)
from tests.support.stage import AT_ANY_AGE, Stage, is_initialised
from tests.support.world import CONFIG_MAPS

MEMORY = f"{CONFIG_MAPS}/{CONFIG_MAP}"
AT_ONCE = {"--once": "true", AT_ANY_AGE[0]: AT_ANY_AGE[1]}
NODES = ("web-1", "web-2", "web-3")
ROUTED = {"HCLOUD_NETWORK_ROUTES_ENABLED": "true", "RECONCILER_CLUSTER_CIDR": "10.244.0.0/16"}


def _fall_silent(stage: Stage, **how_long: float) -> None:
    stage.set_ready(*NODES, ready="Unknown", since=ago(**how_long or {"minutes": 31}))


def _with_the_token_of_another_project(stage: Stage, **network: Any) -> None:
    """An empty one, but for a network of the same name."""
    stage.project.replace_world({"networks": [{**NETWORK, "id": 99, **network}]})


def _remembered(stage: Stage) -> str | None:
    _, found = stage.cluster.request("GET", MEMORY)
    text: str | None = found.get("data", {}).get("record")
    return text


@pytest.mark.parametrize("forgotten", [False, True], ids=["with-a-memory", "without"])
def test_the_token_of_another_project_while_all_nodes_are_down_makes_no_witness_for_itself(
    recorded: Stage, forgotten: bool
) -> None:
    """All Nodes silent for 31 minutes, an empty project with a network of the configured name: however often it is
    tried, nothing is made there, so that nothing made there deletes the Nodes or takes the published address."""
    if forgotten:
        recorded.patch_config_map(CONFIG_MAP, record=None)
    _fall_silent(recorded)
    _with_the_token_of_another_project(recorded)
    nodes, service = recorded.nodes(), recorded.service()

    reports = [one_pass(recorded, AT_ONCE, **ROUTED) for _ in range(4)]

    assert {report["result"] for report in reports} == {"blocked"}
    assert recorded.balancers() == []
    assert (recorded.asked_of_hetzner(), recorded.writes()) == ([], [])
    assert recorded.nodes() == nodes
    assert recorded.service() == service
    assert {hold["rule"] for hold in reports[-1]["holds"]} >= {"project-anchor"}


def test_a_violated_anchor_writes_no_condition_of_a_joining_node(a_stage: Callable[..., Stage]) -> None:
    """Another project has a server with the name of a Node that joins: the Node is not told of a network there."""
    stage = a_stage(action_s=0.0)
    stage.environment |= IN_NETWORK
    stage.have_nodes(2)
    stage.project.replace_world({"servers": [a_server_of(9) | {"name": "new-1"}], "networks": [NETWORK]})
    stage.register(with_pods(joining_node("new-1"), "10.244.9.0/24"))
    before = stage.nodes()

    report = one_pass(stage, AT_ONCE, **{**ROUTED, "RECONCILER_CLUSTER_CIDR": "10.200.0.0/16"})

    assert report["result"] == "blocked"
    assert stage.nodes() == before


def test_a_cluster_that_was_replaced_whole_is_known_by_what_it_remembers(recorded: Stage) -> None:
    """All servers are gone and new ones join, in the network that is remembered: no person is needed."""
    assert _remembered(recorded) is not None
    _replace_all(recorded)

    one_pass(recorded, AT_ONCE)

    assert is_initialised(recorded.nodes()["new-1"])
    assert not {*NODES} & {*recorded.nodes()}


def test_the_only_worker_is_replaced_and_known_by_its_own_public_address(stage: Stage) -> None:
    """No network, no load balancer, no memory: the address that the new kubelet reports is its server's alone."""
    stage.have_servers(server(2, "new-1"))
    new = joining_node("new-1")
    new["status"]["addresses"].append({"type": "InternalIP", "address": public_ipv4(2)})
    stage.register(settled_node("old-1", 1, "Unknown", since=ago(minutes=2)), new)

    one_pass(stage, AT_ONCE)
    assert is_initialised(stage.nodes()["new-1"])

    one_pass(stage, AT_ONCE)
    assert {*stage.nodes()} == {"new-1"}


def test_a_cluster_that_was_replaced_whole_and_remembers_nothing_is_for_a_person(recorded: Stage) -> None:
    """Its new Nodes join, and the old ones go, once somebody has said that this is the right project."""
    recorded.patch_config_map(CONFIG_MAP, record=None)
    _replace_all(recorded)

    held = one_pass(recorded, AT_ONCE)
    assert {change["key"] for change in held["changes"] if change["rule"] == "project-anchor"} >= {
        "node/new-1",
        *(f"node/{name}" for name in NODES),
    }
    assert not is_initialised(recorded.nodes()["new-1"])

    (anchor,) = (hold["hash"] for hold in held["holds"] if hold["rule"] == "project-anchor")
    one_pass(recorded, {**AT_ONCE, "--approve": anchor})
    one_pass(recorded, AT_ONCE)

    assert is_initialised(recorded.nodes()["new-1"])
    assert not {*NODES} & {*recorded.nodes()}


@pytest.mark.parametrize("text", ["{", '{"version": 1, "cluster": "another"}'], ids=["garbled", "of-another-cluster"])
def test_a_cluster_that_was_replaced_whole_waits_while_its_record_cannot_be_read(recorded: Stage, text: str) -> None:
    """The remedy is said. Nothing is written over it, as it may have uses of approvals."""
    recorded.patch_config_map(CONFIG_MAP, record=text)
    _replace_all(recorded)

    report = one_pass(recorded, AT_ONCE)

    assert not is_initialised(recorded.nodes()["new-1"])
    assert {*NODES} <= {*recorded.nodes()}
    said = [note["text"] for note in report["notes"] if "remove the key record" in note["text"]]
    assert said
    assert _remembered(recorded) == text


def _replace_all(stage: Stage) -> None:
    new = a_server_of(11) | {"name": "new-1"}
    stage.project.replace_world({"servers": [new], "networks": [NETWORK]})
    _fall_silent(stage)
    stage.register(joining_node("new-1"))


def test_a_copy_of_the_cluster_deletes_nothing_of_the_living_one(recorded: Stage) -> None:
    """A restored etcd, with the identity and the Nodes of a cluster that lives: what goes in the copy stays in the
    project, and what the copy wants besides waits for a kubelet."""
    _fall_silent(recorded, minutes=2)
    (living,) = recorded.balancers()
    recorded.delete_service()
    recorded.have_services(a_service("more"))

    reports = [one_pass(recorded, AT_ONCE) for _ in range(3)]

    assert {report["result"] for report in reports} == {"blocked"}
    assert recorded.balancers() == [living]
    assert finalizers(recorded.service())
    assert ingress(recorded.services()["more"]) == []
    rules = {change["kind"]: change["rule"] for change in reports[-1]["changes"] if change["kind"].startswith("lb.")}
    assert rules == {"lb.delete": "silent-cluster", "lb.create": "silent-cluster"}

    recorded.set_ready("web-1", "web-2", ready="True")
    assert one_pass(recorded, AT_ONCE)["result"] == "no_changes"
    assert {*recorded.services()} == {"more"}
    assert [found["id"] for found in recorded.balancers()] != [living["id"]]


def test_a_copy_whose_nodes_say_ready_for_ever_deletes_nothing_of_the_living_one(recorded: Stage) -> None:
    """No kube-controller-manager takes back what the kubelets of the original have said: their heartbeats are old."""
    for name in NODES:
        said = condition("Ready", "True") | {"lastHeartbeatTime": ago(minutes=101)}
        recorded.patch_node(f"{name}/status", {"status": {"conditions": [said]}})
    before = recorded.balancers()
    recorded.delete_service()

    report = one_pass(recorded, AT_ONCE)

    assert {hold["rule"] for hold in report["holds"]} == {"silent-cluster"}
    assert recorded.balancers() == before


def test_a_copy_with_one_machine_of_its_own_deletes_nothing_of_the_living_one(recorded: Stage) -> None:
    """A restore drill: the Nodes of the original are silent there, and a new one is Ready."""
    _fall_silent(recorded, minutes=2)
    recorded.add_servers(a_server_of(9) | {"name": "drill-1"})
    drill = joining_node("drill-1")
    drill["status"]["conditions"] = [condition("Ready", "True")]
    recorded.register(drill)
    (living,) = recorded.balancers()
    recorded.delete_service()

    reports = [one_pass(recorded, AT_ONCE) for _ in range(2)]

    assert {hold["rule"] for hold in reports[-1]["holds"]} == {"silent-cluster"}
    assert recorded.balancers() == [living]
    assert finalizers(recorded.service())


def test_a_newborn_cluster_whose_nodes_are_not_ready_converges_in_one_run(a_stage: Callable[..., Stage]) -> None:
    """A kubelet that says that its Node is not Ready yet speaks for the cluster."""
    stage = a_stage(action_s=0.0)
    stage.environment |= IN_NETWORK
    stage.project.replace_world({"servers": [a_server_of(1)], "networks": [NETWORK]})
    stage.register(joining_node("web-1"))
    stage.have_services(a_service())

    assert one_pass(stage)["result"] == "no_changes"

    assert is_initialised(stage.nodes()["web-1"])
    assert said_of(stage.service())["LoadBalancerReady"][0] == "True"
