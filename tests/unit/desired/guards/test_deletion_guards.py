"""Deletions of too many Nodes (``node-blast-radius``)."""

from collections.abc import Sequence
from dataclasses import replace

from desired.guards.blast_radius import node_blast_radius
from desired.guards.guard import GuardInput, GuardResult
from desired.model.settings import Settings
from desired.model.snapshot import Node, Server, Snapshot
from desired.plan.change import Change, HoldEnd, Plan
from desired.rules.guards import CONTROL_PLANE_LOST, NODES_AND_CONTROL_PLANE_LOST, NODES_LOST, NODES_LOST_OR_UNREAD
from desired.rules.rule import Plain, Rule
from desired.section import Absent, Section
from tests.builders import a_change, a_fleet, a_lost_node, a_server, a_settled_node, a_snapshot
from tests.support.judging import facts_of
from tests.support.rows import rows

DELETE = a_change("node/old", "node.delete")
INITIALISE = a_change("node/web-1", "node.initialise")
WHOLE = a_snapshot()


def facts(changes: Sequence[Change], snapshot: Snapshot = WHOLE) -> GuardInput:
    return facts_of(Plan(tuple(changes)), snapshot, Settings())


CONTROL_PLANE = {"node-role.kubernetes.io/control-plane": ""}
HEAD, WORKER = a_lost_node("head", 1, labels=CONTROL_PLANE), a_lost_node("worker", 2)
READY = [a_settled_node(f"n-{i}", i) for i in range(3, 6)]


IT_STAYS = HoldEnd("if it stays NotReady", 1500.0)


def loss_of(*keys: str, nodes: int, lost: int = 2, row: Rule = NODES_LOST, end: HoldEnd | None = None) -> GuardResult:
    """The finding that so many are lost."""
    measured = {"left": nodes - lost, "lost": lost, "most": nodes}
    if row is NODES_AND_CONTROL_PLANE_LOST:
        return GuardResult.of(row, keys, measured, value=lost, limit=1)
    found: dict[str, Plain] = {"wait": "30 minutes", **measured}
    return GuardResult.of(row, keys, found, value=lost, limit=1, due_in_s=1500.0, end=end)


def unreadable(*server_ids: int) -> Section[int, Server]:
    """The servers of the Ready Nodes, but for these, which arrived and could not be read."""
    readable = {server_id: a_server(server_id) for server_id in (3, 4, 5) if server_id not in server_ids}
    return Section(readable, unreadable=dict.fromkeys(server_ids, "no name"))


@rows("snapshot expected", {
    "too-many-and-the-last-one-in-one-hold": (a_fleet(HEAD, WORKER, *READY, gone=[1, 2]),
        [loss_of("node/head", "node/worker", nodes=5, row=NODES_AND_CONTROL_PLANE_LOST)]),
    "too-many-and-the-last-one-announced": (a_fleet(replace(HEAD, unschedulable=True), WORKER, *READY, gone=[1, 2, 3]),
        [loss_of("node/head", "node/worker", nodes=5, row=NODES_AND_CONTROL_PLANE_LOST)]),
    "too-many-and-one-of-them-is-not-to-be-deleted": (a_fleet(HEAD, WORKER, *READY,
        a_settled_node("head-2", 9, labels=CONTROL_PLANE), gone=[2, 3]),
        [loss_of("node/worker", nodes=6, end=IT_STAYS)]),
    "too-many-at-worst": (a_fleet(WORKER, *READY, servers_section=unreadable(3)),
        [loss_of("node/worker", nodes=4, row=NODES_LOST_OR_UNREAD, end=IT_STAYS)]),
    "the-last-one-alone": (a_fleet(HEAD, *READY, gone=[1]),
        [GuardResult.of(CONTROL_PLANE_LOST, ("node/head",), value=1, limit=0)]),
    "the-last-two-of-which-one-is-to-be-deleted-here": (a_fleet(HEAD,
        replace(HEAD, name="head-2", provider_id="hcloud://9", unschedulable=True), *READY, gone=[1, 9]),
        [GuardResult.of(CONTROL_PLANE_LOST, ("node/head",), value=2, limit=1)]),
})  # fmt: skip
def test_node_blast_radius(snapshot: Snapshot, expected: list[GuardResult]) -> None:
    """What is lost beyond the limit is held as one, and the last Node of the control plane with it or on its own."""
    gone = [node.key for node in (HEAD, WORKER) if isinstance(snapshot.servers.find(server_of(node)), Absent)]
    changes = [a_change(key, "node.delete") for key in gone]
    assert list(node_blast_radius(facts([*changes, INITIALISE], snapshot))) == expected


def test_few_enough_losses_hold_nothing() -> None:
    """A loss within the limit withholds no deletion."""
    delete = a_change("node/worker", "node.delete")
    assert list(node_blast_radius(facts([delete], a_fleet(WORKER, *READY, gone=[2])))) == []


def server_of(node: Node) -> int:
    return int((node.provider_id or "").removeprefix("hcloud://"))


def test_losses_without_a_deletion_hold_nothing() -> None:
    """Where no Node is to be deleted there is nothing to hold, however many are lost."""
    assert list(node_blast_radius(facts([INITIALISE], a_fleet(HEAD, WORKER, *READY, gone=[1, 2])))) == []
