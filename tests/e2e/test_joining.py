"""The shipped command initializes Nodes on a real kube-apiserver."""

import pytest

from tests.support.objects import joining_node, server, settled_node
from tests.support.stage import Stage, is_initialised

NAMES = [f"worker-{i}" for i in range(1, 21)]


@pytest.fixture
def twenty(stage: Stage) -> Stage:
    """A stage on which 20 Nodes have just joined."""
    stage.have_servers(*(server(i, name) for i, name in enumerate(NAMES, 1)))
    stage.register(*(joining_node(name) for name in NAMES))
    return stage


def test_one_run_initialises_all_leaves_others_alone_and_a_second_writes_nothing(twenty: Stage) -> None:
    """Nodes of another cloud, unmatched and settled ones are byte for byte the same after a run."""
    foreign = joining_node("edge-1")
    foreign["spec"]["providerID"] = "talos://metal/1"
    twenty.register(foreign, joining_node("nobody-knows"), settled_node("old", 1000))
    twenty.add_servers(server(1000, "old"))
    others = {name: node for name, node in twenty.nodes().items() if name not in NAMES}

    first = twenty.reconcile("--once", "--output", "json")

    assert (first.code, first.report["result"], first.report["summary"]["applied"]) == (0, "no_changes", 20)
    after = twenty.nodes()
    assert {name: after.pop(name) for name in others} == others
    assert all(is_initialised(node) for node in after.values())
    assert all(node["metadata"]["labels"]["example.com/team"] == "blue" for node in after.values())
    kinds = {note["key"]: note["kind"] for note in first.report["notes"]}
    assert kinds == {"node/edge-1": "foreign", "node/nobody-knows": "unmatched"}
    _, events = twenty.cluster.request("GET", "/api/v1/namespaces/default/events?fieldSelector=reason=Synced")
    assert {event["involvedObject"]["name"] for event in events["items"]} >= set(NAMES)

    twenty.forget()
    second = twenty.reconcile("--once", "--output", "json")

    assert (second.code, second.report["result"], second.report["changes"]) == (0, "no_changes", [])
    assert twenty.writes() == []
