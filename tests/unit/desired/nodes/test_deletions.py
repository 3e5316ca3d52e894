"""Worlds in which servers are gone, and what becomes of their Nodes: all rules about deletions together."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import timedelta
from typing import Any

from desired.model.settings import Settings
from desired.model.snapshot import Node, Readiness, Snapshot
from desired.model.taint import Taint
from desired.plan.change import Plan, Verdict
from desired.planner import compute_plan
from desired.section import Present
from desired.syntax.selector import parse_selector
from tests.builders import NOW, SERVER_LABELS, a_fleet, a_lost_node, a_network, a_settled_node, incomplete, servers_of
from tests.support.judging import judge
from tests.support.rows import rows

CHOSEN = (Taint("ToBeDeletedByClusterAutoscaler", "NoSchedule"),)
SPARE = SERVER_LABELS | {"example.com/spare": ""}
SPARED = Settings(ignore_nodes=parse_selector("example.com/spare"))

ALLOWED = (Verdict.ALLOWED, None)
HELD = (Verdict.HELD, "node-blast-radius")
WAITING = (Verdict.WAITING, "absence-proof")
ASTRAY = (Verdict.HELD, "project-anchor")


def fleet(size: int, *gone: int, lost: Mapping[str, Any] | None = None, **overrides: Any) -> Snapshot:
    """So many Nodes, ``n-1`` and up; those whose servers are ``gone`` are silent and have ``lost`` fields."""
    nodes = [
        a_lost_node(f"n-{i}", i, **lost or {}) if i in gone else a_settled_node(f"n-{i}", i) for i in range(1, size + 1)
    ]
    return a_fleet(*nodes, gone=gone, **overrides)


def judged(snapshot: Snapshot, settings: Settings = SPARED) -> Plan:
    return judge(compute_plan(snapshot, settings), snapshot, settings)


def verdicts(plan: Plan) -> dict[str, tuple[Verdict, str | None]]:
    deletions = [change for change in plan.changes if change.kind == "node.delete"]
    return {change.owner.removeprefix("node/"): (change.decision.verdict, change.decision.rule) for change in deletions}


def each(verdict: tuple[Verdict, str | None], *ids: int) -> dict[str, tuple[Verdict, str | None]]:
    return {f"n-{i}": verdict for i in ids}


@rows("snapshot expected", {
    "one-of-two": (fleet(2, 2), each(ALLOWED, 2)),
    "autoscaler-takes-8-of-10": (fleet(10, *range(1, 9), lost={"taints": CHOSEN}), each(ALLOWED, *range(1, 9))),
    "given-up-after-half-an-hour": (fleet(10, *range(1, 9), lost={"ready_since": NOW - timedelta(minutes=30)}),
        each(ALLOWED, *range(1, 9))),
    "announced-ones-pass-beside-held-ones": (a_fleet(a_lost_node("n-1", 1), a_lost_node("n-2", 2), a_lost_node("n-3", 3,
        unschedulable=True), a_settled_node("n-4", 4), gone=[1, 2, 3]), each(HELD, 1, 2) | each(ALLOWED, 3)),
    "one-silent-and-one-still-ready-count-as-two": (a_fleet(a_lost_node("n-1", 1), a_settled_node("n-2", 2),
        a_settled_node("n-3", 3), a_settled_node("n-4", 4), gone=[1, 2]), each(HELD, 1)),
    "ignored-ones-neither-count-nor-go": (a_fleet(a_lost_node("n-1", 1), a_lost_node("n-2", 2, labels=SPARE),
        a_settled_node("n-3", 3), gone=[1, 2]), each(ALLOWED, 1)),
    "too-young": (fleet(3, 1, lost={"created_at": NOW - timedelta(seconds=10)}), each(WAITING, 1)),
    "held-beats-waiting-for-a-proof": (fleet(3, 1, 2, lost={"created_at": NOW - timedelta(seconds=10)}), each(HELD, 1,
        2)),
    "still-ready": (fleet(3, 1, lost={"ready": Readiness.TRUE}), {}),
    "one-missing-in-part-of-the-list": (fleet(3, 1, servers_section=incomplete(fleet(3, 1).servers)), {}),
    "empty-project": (fleet(3, 1, servers_section=servers_of()), each(ASTRAY, 1)),
    "one-ready-node-anchors-the-rest": (fleet(4, 1, 2, 3), each(HELD, 1, 2, 3)),
})  # fmt: skip
def test_verdicts(snapshot: Snapshot, expected: Mapping[str, tuple[Verdict, str | None]]) -> None:
    """A Node is deleted when its absence is proven and no more are lost than may be, unless they were announced."""
    assert verdicts(judged(snapshot)) == expected


WORKER = a_settled_node("worker-10", 10)


def test_rolling_replacement_of_every_node() -> None:
    """Ten Nodes, each cordoned, deleted and replaced in turn: none of it needs an approval, and no other Node goes."""
    nodes = {i: a_settled_node(f"n-{i}", i) for i in range(1, 11)}
    for old in range(1, 11):
        going = a_lost_node(f"n-{old}", old, unschedulable=True)
        plan = judged(a_fleet(*(nodes | {old: going}).values(), gone=[old]))
        assert verdicts(plan) == each(ALLOWED, old)
        assert len(plan.changes) == 1
        del nodes[old]
        nodes[old + 10] = a_settled_node(f"n-{old + 10}", old + 10)
    assert judged(a_fleet(*nodes.values())) == Plan()


def one_node(minutes: float, *others: Node, cordoned: bool = False) -> Snapshot:
    """A cluster whose only Node has been silent for so many minutes, and its server is gone."""
    node = a_lost_node("n-1", 1, ready_since=NOW - timedelta(minutes=minutes), unschedulable=cordoned)
    return a_fleet(node, *others, gone=[1], network=Present(a_network(4)))


BY_ID = replace(SPARED, network="4")


@rows("snapshot settings expected", {
    "the-only-node-of-the-right-project": (one_node(29), BY_ID, HELD),
    "the-only-node-given-up": (one_node(30), BY_ID, ALLOWED),
    "the-only-node-given-up-and-no-witness": (one_node(30), SPARED, ASTRAY),
    "the-only-node-cordoned-and-no-witness": (one_node(5, cordoned=True), SPARED, ASTRAY),
    "the-only-node-cordoned": (one_node(5, cordoned=True), BY_ID, ALLOWED),
    "a-network-by-name-is-no-witness": (one_node(30), replace(SPARED, network="private"), ASTRAY),
    "replaced-under-another-name": (one_node(5, WORKER), SPARED, ALLOWED),
    "replaced-by-one-that-is-not-ready-yet": (one_node(5, replace(WORKER, conditions=())), SPARED, ALLOWED),
})  # fmt: skip
def test_a_cluster_of_one_node(snapshot: Snapshot, settings: Settings, expected: tuple[Verdict, str | None]) -> None:
    """The only Node goes once it is given up in a project that is known to be the right one, or is replaced."""
    assert verdicts(judged(snapshot, settings)) == each(expected, 1)
