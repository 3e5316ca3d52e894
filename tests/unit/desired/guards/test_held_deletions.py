"""Deletions of Nodes that a person has to approve, and what an approval of them is worth."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from desired.model.settings import Settings
from desired.model.snapshot import Snapshot
from desired.plan.change import GuardDecision, GuardName, Hold, HoldEnd, Plan, Verdict
from desired.planner import compute_plan
from desired.rules.guards import (
    CONTROL_PLANE_LOST,
    LOOKUP_PENDING,
    NODE_TOO_YOUNG,
    NODES_AND_CONTROL_PLANE_LOST,
    NODES_LOST,
)
from desired.section import Present
from tests.builders import NOW, a_fleet, a_lost_node, a_settled_node, nodes_of
from tests.support.judging import judge


def losing(*gone: int, lost: Mapping[str, Any] | None = None, **overrides: Any) -> Snapshot:
    """Five Nodes, of which those whose servers are ``gone`` are silent and have ``lost`` fields."""
    nodes = [a_lost_node(f"n-{i}", i, **lost or {}) if i in gone else a_settled_node(f"n-{i}", i) for i in range(1, 6)]
    return a_fleet(*nodes, gone=gone, **overrides)


TWO = losing(1, 2)
BOTH = ("node/n-1", "node/n-2")
HEAD = {"node-role.kubernetes.io/control-plane": ""}


def judged(snapshot: Snapshot, *approved: str) -> Plan:
    """The plan for this world under all rules."""
    return judge(compute_plan(snapshot, Settings()), snapshot, Settings(), approved)


def the_hold(snapshot: Snapshot) -> Hold:
    """The world's one hold."""
    (hold,) = judged(snapshot).holds
    return hold


def rulings(plan: Plan) -> dict[str, tuple[Verdict, str | None]]:
    """Key → verdict and rule."""
    return {change.key: (change.decision.verdict, change.decision.rule) for change in plan.changes}


def test_what_a_hold_says() -> None:
    """A hold names what was counted, the limit, all that it holds, and when time alone will have mended it."""
    said = NODES_LOST.text(lost=2, most=5, wait="30 minutes")
    why, _, advice = said.partition("; ")
    end = HoldEnd("if both stay NotReady", 25 * 60.0)
    rule = GuardName.NODE_BLAST_RADIUS
    assert the_hold(TWO) == Hold(the_hold(TWO).hash, rule, "2", "1", BOTH, why, advice=advice, end=end)
    assert the_hold(TWO).said == said
    assert [change.decision for change in judged(TWO).changes] == [
        GuardDecision(Verdict.HELD, GuardName.NODE_BLAST_RADIUS, said, due_in_s=25 * 60.0)
    ] * 2


NINE_AND_TWO_LOST = [a_lost_node(f"n-{i}", i) if i < 3 else a_settled_node(f"n-{i}", i) for i in (1, 2, *range(4, 11))]
TEN_AND_THREE_LOST = [*NINE_AND_TWO_LOST, a_lost_node("n-3", 3)]
SEVEN_SERVERS = a_fleet(*NINE_AND_TWO_LOST, gone=[1, 2]).servers


@pytest.mark.parametrize(
    ("snapshot", "keys"),
    [
        pytest.param(a_fleet(*TEN_AND_THREE_LOST, gone=[1, 2, 3]), ("node/n-1", "node/n-2", "node/n-3"), id="all-read"),
        pytest.param(
            a_fleet(
                nodes_section=replace(nodes_of(*NINE_AND_TWO_LOST), unreadable={"n-3": "no uid"}),
                servers_section=SEVEN_SERVERS,
                gone=[1, 2, 3],
            ),
            BOTH,
            id="a-node-unreadable",
        ),
        pytest.param(
            a_fleet(
                *TEN_AND_THREE_LOST,
                servers_section=replace(SEVEN_SERVERS, unreadable={3: "no name"}),
                gone=[1, 2],
            ),
            BOTH,
            id="a-server-unreadable",
        ),
    ],
)
def test_knowing_less_never_deletes_more(snapshot: Snapshot, keys: tuple[str, ...]) -> None:
    """Three of ten lost is one too many, and it is still held when one of the three could not be read."""
    hold = the_hold(snapshot)
    assert (hold.rule, hold.value, hold.limit, hold.keys) == ("node-blast-radius", "3", "2", keys)
    assert rulings(judged(snapshot)) == dict.fromkeys(keys, (Verdict.HELD, "node-blast-radius"))


def test_two_of_ten_may_go() -> None:
    """Without the third one, lost or unreadable, nobody has to be asked."""
    assert judged(a_fleet(*NINE_AND_TWO_LOST, a_settled_node("n-3", 3), gone=[1, 2])).holds == ()


@pytest.mark.parametrize(
    ("heads", "others", "value", "limit"),
    [
        pytest.param([1], [2, 3, 4, 5, 6, 7, 8], "1", "0", id="the-only-one"),
        pytest.param([1, 2], [3, 4, 5, 6, 7, 8], "2", "1", id="both"),
    ],
)
def test_last_of_the_control_plane(heads: Sequence[int], others: Sequence[int], value: str, limit: str) -> None:
    """That no Node of the control plane would be left is for a person alone: no time frees it, announced or not."""
    nodes = [a_lost_node(f"n-{i}", i, unschedulable=i == 1, labels=HEAD) for i in heads]
    snapshot = a_fleet(*nodes, *(a_settled_node(f"n-{i}", i) for i in others), gone=heads)
    row = CONTROL_PLANE_LOST
    keys = tuple(node.key for node in nodes)
    hold = the_hold(snapshot)
    assert hold == Hold(hold.hash, GuardName.NODE_BLAST_RADIUS, value, limit, keys, row.says, advice=row.remedy)
    assert {change.decision.due_in_s for change in judged(snapshot).changes} == {None}


def test_last_of_the_control_plane_among_too_many() -> None:
    """Held with the others, it makes the hold one that never ends by itself, and the text says why."""
    snapshot = losing(1, 2, lost={"labels": HEAD})
    assert the_hold(snapshot).said == NODES_AND_CONTROL_PLANE_LOST.text(lost=2, most=5)
    assert (the_hold(snapshot).value, the_hold(snapshot).limit) == ("2", "1")
    assert {change.decision.due_in_s for change in judged(snapshot).changes} == {None}


def test_no_time_is_told_when_none_helps() -> None:
    """Time makes nothing of Nodes that are lost and report, so it does not free the last one of the control plane."""
    head = a_lost_node("n-1", 1, unschedulable=True, labels=HEAD)
    ready = [a_settled_node(f"n-{i}", i) for i in range(2, 8)]
    (change,) = judged(a_fleet(head, *ready, gone=[1, 2, 3])).changes
    assert (change.decision.verdict, change.decision.due_in_s) == (Verdict.HELD, None)


def test_an_approved_hold_lets_its_deletions_pass() -> None:
    """What a person has approved goes, and the hold is still shown."""
    plan = judged(TWO, the_hold(TWO).hash)
    assert plan.holds == (replace(the_hold(TWO), approved=True),)
    assert rulings(plan) == dict.fromkeys(BOTH, (Verdict.ALLOWED, None))


@pytest.mark.parametrize(
    ("snapshot", "doubt"),
    [
        pytest.param(losing(1, 2, confirmations={}), LOOKUP_PENDING.text(server="server 1"), id="not-asked"),
        pytest.param(losing(1, 2, lost={"created_at": NOW}), NODE_TOO_YOUNG.text(wait="120 s"), id="too-young"),
    ],
)
def test_an_approved_hold_leaves_the_proof_to_be_had(snapshot: Snapshot, doubt: str) -> None:
    """An approval speaks for the number of Nodes, and proves nothing of any one of them."""
    plan = judged(snapshot, the_hold(snapshot).hash)
    assert rulings(plan) == dict.fromkeys(BOTH, (Verdict.WAITING, "absence-proof"))
    assert plan.by_key["node/n-1"].decision.why == doubt


def test_losing_all_of_an_unwitnessed_project_takes_two_approvals() -> None:
    """That no Node is Ready, and nothing of the cluster was found, is another question than how many are lost."""
    everything = losing(1, 2, 3, 4, 5)
    losses, anchor = judged(everything).holds
    assert (losses.rule, anchor.rule) == ("node-blast-radius", "project-anchor")
    assert {*rulings(judged(everything, anchor.hash)).values()} == {(Verdict.HELD, "node-blast-radius")}
    assert {*rulings(judged(everything, losses.hash)).values()} == {(Verdict.HELD, "project-anchor")}
    assert {*rulings(judged(everything, anchor.hash, losses.hash)).values()} == {(Verdict.ALLOWED, None)}


@pytest.mark.parametrize(
    "other",
    [
        pytest.param(a_fleet(*reversed([*TWO.nodes]), gone=[2, 1]), id="in-another-order"),
        pytest.param(replace(TWO, taken_at=NOW + timedelta(minutes=1)), id="later"),
        pytest.param(replace(TWO, confirmations={}), id="proven-or-not"),
        pytest.param(
            a_fleet(*TWO.nodes, a_lost_node("n-9", 9, unschedulable=True), gone=[1, 2, 9]), id="another-is-announced"
        ),
        pytest.param(a_fleet(*TWO.nodes, a_settled_node("n-9", 9), gone=[1, 2]), id="another-has-joined"),
    ],
)
def test_the_same_hold(other: Snapshot) -> None:
    """An approval fits as long as the same Nodes are held for the same loss, whatever else happens."""
    assert the_hold(other).hash == the_hold(TWO).hash


@pytest.mark.parametrize(
    "other",
    [
        pytest.param(losing(1, 2, 3), id="one-more"),
        pytest.param(losing(1, 3), id="another-one"),
        pytest.param(losing(1, 2, lost={"uid": "registered-anew"}), id="registered-anew"),
        pytest.param(losing(1, 2, lost={"created_at": NOW - timedelta(hours=1)}), id="created-anew"),
        pytest.param(losing(1, 2, lost={"ready_since": NOW - timedelta(minutes=1)}), id="ready-in-between"),
        pytest.param(losing(1, 2, cluster_uid=Present("another")), id="of-another-cluster"),
    ],
)
def test_another_hold(other: Snapshot) -> None:
    """An approval does not fit when the Nodes that are held, or what is known of them, have changed."""
    assert the_hold(other).hash != the_hold(TWO).hash
