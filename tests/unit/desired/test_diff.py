"""From a snapshot to a plan: desired state and difference."""

from dataclasses import replace

import pytest

from desired.change import Change, NodeIdentity, Note, NoteKind, Plan
from desired.diff import compute_plan, diff
from desired.kinds import Verb
from desired.labels import compute_labels
from desired.section import Unknown
from desired.settings import Controller, Settings
from desired.snapshot import Node, NodeAddress, Readiness
from desired.state import DesiredState, compute_desired
from tests.builders import (
    UNINITIALIZED,
    WEB_1_ADDRESSES,
    a_joining_node,
    a_node,
    a_server,
    a_settled_node,
    a_snapshot,
)

LABELS = compute_labels(a_server(), {}, zone_labels=True)
JOINED = NodeIdentity("hcloud://1", LABELS, (), WEB_1_ADDRESSES)
ADDRESSES = (NodeAddress("InternalIP", "10.0.0.9"),)


LOST = ("InternalIP 10.0.0.9 goes away: HCLOUD_NETWORK is not set, so the cloud knows no private address",)


def initialise(node: Node, reason: str, consequences: tuple[str, ...] = ()) -> Change:
    """The change that initialises ``node``."""
    before = NodeIdentity(node.provider_id, {}, node.taints, node.addresses)
    return Change(node.key, "node.initialise", Verb.ADD, before, JOINED, reason, node.key, consequences)


@pytest.mark.parametrize(
    ("node", "reason", "consequences"),
    [
        pytest.param(a_joining_node(), "joins as server 1, recognised by its name", (), id="by-name"),
        pytest.param(
            a_joining_node("db-1", provider_id="hcloud://1"),
            "joins as server 1, recognised by its providerID",
            (),
            id="by-provider-id",
        ),
        pytest.param(
            a_joining_node(addresses=ADDRESSES, labels={"team": "red"}),
            "joins as server 1, recognised by its name",
            LOST,
            id="before-is-what-the-kubelet-wrote",
        ),
    ],
)
def test_joining_node(node: Node, reason: str, consequences: tuple[str, ...]) -> None:
    """A joining Node with a server of its own is one change, from what it is to what it should be."""
    expected = initialise(node, reason, consequences)
    assert compute_plan(a_snapshot([node], [a_server()]), Settings()) == Plan((expected,))


@pytest.mark.parametrize(
    "node",
    [
        pytest.param(a_settled_node(), id="bare"),
        pytest.param(a_settled_node(labels=LABELS, addresses=WEB_1_ADDRESSES), id="converged-by-HCCM"),
        pytest.param(a_settled_node(server_id=9, ready=Readiness.FALSE), id="server-is-gone"),
        pytest.param(a_settled_node(provider_id="hrobot://7"), id="robot"),
    ],
)
def test_settled_node(node: Node) -> None:
    """A Node that has been initialised needs nothing."""
    assert compute_plan(a_snapshot([node], [a_server()]), Settings()) == Plan()


@pytest.mark.parametrize("ready", Readiness)
def test_unmatched_node_is_never_removed(ready: Readiness) -> None:
    """A Node without a providerID whose name matches nothing is noted, whatever its readiness (W-1)."""
    plan = compute_plan(a_snapshot([a_joining_node(ready=ready)], [a_server(2, "gpu")]), Settings())
    assert (plan.changes, [note.kind for note in plan.notes]) == ((), [NoteKind.UNMATCHED])


def test_all_kinds_of_nodes_side_by_side() -> None:
    """Foreign and unmatched Nodes get notes and hold up no other Node."""
    joining = a_joining_node()
    nodes = [joining, a_joining_node("gpu"), a_node("edge"), a_settled_node("old", 2)]
    plan = compute_plan(a_snapshot(nodes, [a_server(), a_server(2, "old")]), Settings())
    assert plan.changes == (initialise(joining, "joins as server 1, recognised by its name"),)
    assert [(note.key, note.kind) for note in plan.notes] == [
        ("node/edge", NoteKind.FOREIGN),
        ("node/gpu", NoteKind.UNMATCHED),
    ]


def test_applying_the_plan_empties_it() -> None:
    """A Node that became what the plan says is planned no more."""
    node = a_joining_node()
    (change,) = compute_plan(a_snapshot([node], [a_server()]), Settings()).changes
    assert isinstance(change.after, NodeIdentity)
    after = replace(node, provider_id=change.after.provider_id, labels=change.after.labels, taints=change.after.taints)
    assert compute_plan(a_snapshot([after], [a_server()]), Settings()) == Plan()


def test_hundred_nodes_join_at_once() -> None:
    """Each of many Nodes is initialised as the server of its name."""
    servers = [a_server(i, f"web-{i}") for i in range(1, 101)]
    plan = compute_plan(a_snapshot([a_joining_node(server.name) for server in servers], servers), Settings())
    found = {
        change.owner: change.after.provider_id for change in plan.changes if isinstance(change.after, NodeIdentity)
    }
    assert found == {f"node/web-{i}": f"hcloud://{i}" for i in range(1, 101)}


def test_controller_switched_off() -> None:
    """Without the node controller nothing is desired of Nodes, and nothing is said of them."""
    others = frozenset(Controller) - {Controller.NODE}
    snapshot = a_snapshot([a_joining_node(), a_node("edge")], [a_server()])
    assert compute_desired(snapshot, Settings(controllers=others)) == DesiredState({})


@pytest.mark.parametrize("controllers", [frozenset(Controller), frozenset[Controller]()], ids=["all", "none"])
def test_cluster_without_identity(controllers: frozenset[Controller]) -> None:
    """A cluster whose identity cannot be read is told that nothing will be written to Hetzner."""
    text = "the cluster's identity could not be read, so nothing is written to Hetzner: 403"
    plan = compute_plan(a_snapshot(cluster_uid=Unknown("403")), Settings(controllers=controllers))
    assert plan == Plan(notes=(Note("cluster", NoteKind.UNKNOWN, text),))


def test_notes_are_carried_over() -> None:
    """What the desired state has to say is in the plan."""
    note = Note("node/a", NoteKind.FOREIGN, "left alone")
    assert diff(a_snapshot(), DesiredState({}, (note,))) == Plan(notes=(note,))


def test_taint_set_again() -> None:
    """A settled Node that is tainted again is initialised again and keeps its providerID."""
    node = a_settled_node("renamed", taints=(UNINITIALIZED,), addresses=ADDRESSES)
    expected = initialise(node, "joins as server 1, recognised by its providerID", LOST)
    assert compute_plan(a_snapshot([node], [a_server()]), Settings()) == Plan((expected,))
