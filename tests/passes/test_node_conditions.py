"""Nodes are given the condition ``NodeInSync``, where that is asked for, by whole passes."""

from collections.abc import Callable
from typing import Any

import pytest

from desired.names import CONDITION_NODE_IN_SYNC
from tests.support.in_process import ONCE, one_pass
from tests.support.objects import joining_node
from tests.support.stage import Stage

TELLING = ONCE | {"--node-conditions": "true"}


@pytest.fixture
def network(a_stage: Callable[..., Stage]) -> Stage:
    """Three Nodes with routes to their pods."""
    stage = a_stage(action_s=0.0)
    stage.have_pods(3)
    one_pass(stage)
    return stage


def told(stage: Stage) -> dict[str, str]:
    """Node → status and reason of its condition; without Nodes that have none."""
    found = {name: condition_of(node) for name, node in stage.nodes().items()}
    return {name: f"{each['status']} {each['reason']}" for name, each in found.items() if each}


def condition_of(node: Any) -> Any:
    conditions = node["status"].get("conditions", ())
    return next((each for each in conditions if each["type"] == CONDITION_NODE_IN_SYNC), None)


IN_SYNC = {f"web-{number}": "True InSync" for number in (1, 2, 3)}


def test_it_is_written_once_and_taken_away_without_the_flag(network: Stage) -> None:
    """An idle pass writes nothing and asks for nothing more; nothing of others is touched."""
    before = network.nodes()
    network.forget()
    one_pass(network)
    asked, plain = network.asked_of_hetzner(), len(network.writes())
    assert one_pass(network, TELLING)["result"] == "no_changes"
    assert told(network) == IN_SYNC
    network.forget()
    assert one_pass(network, TELLING)["changes"] == []
    assert (network.asked_of_hetzner(), network.writes(), plain) == (asked, [], 0)

    one_pass(network)
    assert told(network) == {}
    after = network.nodes()
    assert {name: node["status"] for name, node in after.items()} == {n: v["status"] for n, v in before.items()}
    assert {name: node["spec"] for name, node in after.items()} == {n: v["spec"] for n, v in before.items()}


def test_a_node_that_joins_and_waits_for_its_server(network: Stage) -> None:
    network.register(joining_node("new-1"))
    one_pass(network, TELLING)
    assert told(network) == {**IN_SYNC, "new-1": "False ServerNotFound"}
    message = condition_of(network.nodes()["new-1"])["message"]
    assert message.endswith("give the Node its server's name, or start its kubelet with --provider-id")


def test_what_is_mended_in_a_pass_is_never_told(network: Stage) -> None:
    """A route that somebody deleted is there again at the end, and the condition has not moved."""
    one_pass(network, TELLING)
    since = {name: condition_of(node) for name, node in network.nodes().items()}
    for destination, gateway in list(network.routes().items()):
        network.delete_route(network.network()["id"], destination, gateway)

    one_pass(network, TELLING)

    assert len(network.routes()) == 3
    assert {name: condition_of(node) for name, node in network.nodes().items()} == since


def test_an_outage_of_hetzner_changes_nothing(network: Stage) -> None:
    """Who lets pods wait for the condition does not close the cluster because an API is down."""
    one_pass(network, TELLING)
    assert one_pass(network, TELLING, HCLOUD_TOKEN="x" * 64)["result"] != "no_changes"  # no token of the project
    assert told(network) == IN_SYNC
