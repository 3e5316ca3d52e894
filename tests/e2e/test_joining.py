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


def test_one_run_initialises_all_and_a_second_writes_nothing(twenty: Stage) -> None:
    """20 Nodes as a kubelet registers them are initialized by one run; the next finds nothing to do."""
    first = twenty.reconcile("--once", "--output", "json")

    assert (first.code, first.report["result"], first.report["summary"]["applied"]) == (0, "no_changes", 20)
    assert all(is_initialised(node) for node in twenty.nodes().values())
    assert all(node["metadata"]["labels"]["example.com/team"] == "blue" for node in twenty.nodes().values())
    _, events = twenty.cluster.request("GET", "/api/v1/namespaces/default/events?fieldSelector=reason=Synced")
    assert {event["involvedObject"]["name"] for event in events["items"]} >= set(NAMES)

    twenty.forget()
    second = twenty.reconcile("--once", "--output", "json")

    assert (second.code, second.report["result"], second.report["changes"]) == (0, "no_changes", [])
    assert twenty.writes() == []


def test_addresses_are_there_before_the_taint_goes(twenty: Stage) -> None:
    """Each Node's status is written before the write that makes it schedulable."""
    twenty.reconcile("--once")

    for name in NAMES:
        paths = [e.path for e in twenty.writes() if e.path in (f"/api/v1/nodes/{name}", f"/api/v1/nodes/{name}/status")]
        assert paths == [f"/api/v1/nodes/{name}/status", f"/api/v1/nodes/{name}"]


def test_a_dry_run_reads_and_nothing_else(twenty: Stage) -> None:
    """A dry run sends GET alone to both APIs; its exit code tells of changes, and of none after they were applied."""
    before = twenty.reconcile("--dry-run", "--detailed-exitcode", "--output", "json")

    assert (before.code, before.report["result"], before.report["summary"]["add"]) == (2, "changes", 20)
    sent = [*twenty.proxy.journal.entries(), *twenty.hetzner.journal.entries()]
    assert {entry.method for entry in sent} == {"GET"}
    assert not any(is_initialised(node) for node in twenty.nodes().values())

    twenty.reconcile("--once")
    after = twenty.reconcile("--dry-run", "--detailed-exitcode")

    assert (after.code, "No changes. Observed 20 nodes, 20 servers, 1 service." in after.stdout) == (0, True)


def test_one_run_leaves_other_nodes_alone(twenty: Stage) -> None:
    """Nodes of another cloud, unmatched and settled ones are byte for byte the same after a run."""
    foreign = joining_node("edge-1")
    foreign["spec"]["providerID"] = "talos://metal/1"
    twenty.register(foreign, joining_node("nobody-knows"), settled_node("old", 1000))
    others = {name: node for name, node in twenty.nodes().items() if name not in NAMES}

    twenty.have_servers(*(server(i, name) for i, name in enumerate(NAMES, 1)), server(1000, "old"))
    report = twenty.reconcile("--once", "--output", "json").report

    assert {name: node for name, node in twenty.nodes().items() if name not in NAMES} == others
    kinds = {note["key"]: note["kind"] for note in report["notes"]}
    assert kinds == {"node/edge-1": "foreign", "node/nobody-knows": "unmatched"}
    assert report["result"] == "no_changes"


def test_only_restricts_what_is_applied(twenty: Stage) -> None:
    """``--only`` applies one Node's change, and the report says that it is partial."""
    report = twenty.reconcile("--once", "--only", "node/worker-3", "--output", "json").report

    assert [name for name, node in twenty.nodes().items() if is_initialised(node)] == ["worker-3"]
    assert [note["kind"] for note in report["notes"]] == ["partial"]


@pytest.mark.parametrize("policy", ["observe", "upsert"])
def test_a_policy_decides_what_is_applied(twenty: Stage, policy: str) -> None:
    """Under ``observe`` the changes are shown and wait; under ``upsert`` Nodes are initialized."""
    ran = twenty.reconcile("--once", "--policy", policy, "--output", "json", "--detailed-exitcode")

    initialized = sum(is_initialised(node) for node in twenty.nodes().values())
    expected = (0, "changes", 2) if policy == "observe" else (20, "no_changes", 0)
    assert (initialized, ran.report["result"], ran.code) == expected
