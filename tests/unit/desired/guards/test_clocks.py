"""When clocks agree, whose is off when they do not, and what waits for them (guard ``clock-skew``)."""

from dataclasses import replace
from datetime import timedelta

import pytest

from desired.guards.blast_radius import easing_of, losses_of
from desired.guards.evidence import clock_notes
from desired.model.clocks import LOOK_AGAIN_S, Clocks
from desired.model.settings import Settings
from desired.model.snapshot import Snapshot
from desired.plan.change import Verdict
from desired.plan.notes import NoteKind
from desired.planner import compute_plan
from desired.rules.guards import API_SERVERS_DIFFER, CLOCKS_DIFFER, MACHINE_CLOCK_OFF
from desired.syntax.provider_id import Provider
from tests.builders import NOW, a_fleet, a_lost_node, a_settled_node
from tests.support.judging import judge

HOUR = timedelta(hours=1)
SECOND = timedelta(seconds=1)
NONE = timedelta(0)
AHEAD = Clocks(hetzner=-HOUR, process=-HOUR)
"""Kubernetes' clock is an hour ahead of the two others."""


def off(clock: str, apart: str, others: str) -> str:
    """The sentence on a clock that disagrees with these."""
    return CLOCKS_DIFFER.text(clock=clock, apart=apart, others=others)


@pytest.mark.parametrize(
    ("clocks", "differ", "expected"),
    [
        pytest.param(Clocks(), False, None, id="no-other-clock-is-known"),
        pytest.param(Clocks(60 * SECOND, -60 * SECOND, 60 * SECOND), False, None, id="all-within-a-minute"),
        pytest.param(
            AHEAD,
            True,
            off("Kubernetes", "about 60 minutes ahead of", "Hetzner and this machine"),
            id="kubernetes-ahead",
        ),
        pytest.param(
            Clocks(HOUR, HOUR),
            True,
            off("Kubernetes", "about 60 minutes behind", "Hetzner and this machine"),
            id="behind",
        ),
        pytest.param(
            Clocks(-HOUR), True, off("Kubernetes", "about 60 minutes ahead of", "Hetzner"), id="two-clocks-alone"
        ),
        pytest.param(
            Clocks(-HOUR, NONE),
            True,
            off("Hetzner", "about 60 minutes behind", "Kubernetes and this machine"),
            id="this-machine-may-be-the-api-server",
        ),
        pytest.param(
            Clocks(-HOUR, HOUR), True, off("Kubernetes", "about 60 minutes ahead of", "Hetzner"), id="no-two-agree"
        ),
        pytest.param(
            Clocks(None, -61 * SECOND),
            True,
            off("Kubernetes", "about 1 minute ahead of", "this machine"),
            id="hetzner-unknown",
        ),
        pytest.param(
            Clocks(SECOND, 30 * HOUR),
            False,
            MACHINE_CLOCK_OFF.text(apart="about 30 hours ahead of", others="Kubernetes and Hetzner"),
            id="only-this-machine",
        ),
        pytest.param(
            Clocks(NONE, NONE, 240 * HOUR),
            True,
            API_SERVERS_DIFFER.text(apart="about 10 days"),
            id="one-replica-of-several",
        ),
    ],
)
def test_whose_clock_is_off(clocks: Clocks, differ: bool, expected: str | None) -> None:
    """The one that two others disagree with; ages wait when Kubernetes' is not one of two that agree. The note is there
    although nothing waits: who looks at an idle cluster learns of the clock before a Node is silent."""
    notes = clock_notes(replace(a_fleet(), clocks=clocks))

    assert clocks.differ is differ
    assert [(note.key, note.text) for note in notes] == ([] if expected is None else [("plan", expected)])


def five_of_eight(clocks: Clocks) -> Snapshot:
    """Five of eight Nodes are silent for an hour by the API server's clock, and their servers are gone."""
    silent = [a_lost_node(f"lost-{i}", i, ready_since=NOW - HOUR) for i in range(1, 6)]
    ready = [a_settled_node(f"ready-{i}", i) for i in range(6, 9)]
    return replace(a_fleet(*silent, *ready, gone=range(1, 6)), clocks=clocks)


@pytest.mark.parametrize(
    ("clocks", "verdict", "rule"),
    [
        pytest.param(Clocks(NONE, NONE), Verdict.ALLOWED, None, id="clocks-that-agree"),
        pytest.param(Clocks(NONE, HOUR), Verdict.ALLOWED, None, id="only-this-machine-is-off"),
        pytest.param(AHEAD, Verdict.HELD, "node-blast-radius", id="kubernetes-is-ahead"),
    ],
)
def test_nodes_that_seem_given_up(clocks: Clocks, verdict: Verdict, rule: str | None) -> None:
    """What was silent for long enough goes without a word; by a clock that others disagree with it is a loss."""
    snapshot = five_of_eight(clocks)
    judged = judge(compute_plan(snapshot, Settings()), snapshot, Settings())
    deletions = [change.decision for change in judged.changes if change.kind == "node.delete"]

    assert {(decision.verdict, decision.rule) for decision in deletions} == {(verdict, rule)}
    assert len(deletions) == 5


def test_an_approval_does_not_set_a_clock() -> None:
    """The blast radius can be approved; the clocks have to agree all the same, and are looked at again."""
    snapshot = five_of_eight(AHEAD)
    plan = compute_plan(snapshot, Settings())
    (hold,) = judge(plan, snapshot, Settings()).holds
    judged = judge(plan, snapshot, Settings(), [hold.hash])

    rulings = {
        (c.decision.verdict, c.decision.rule, c.decision.due_in_s) for c in judged.changes if c.kind == "node.delete"
    }
    assert rulings == {(Verdict.WAITING, "clock-skew", LOOK_AGAIN_S)}
    assert [note.kind for note in judged.notes] == [NoteKind.CLOCK_SKEW]


def test_nobody_knows_when_the_hold_eases() -> None:
    """By a clock that is an hour ahead it should have eased long ago, and a pass would follow the other."""
    snapshot = five_of_eight(AHEAD)

    assert easing_of(losses_of(Provider.CLOUD, snapshot, Settings()), snapshot, Settings()) == (LOOK_AGAIN_S, None)
