"""Whether a Node's going was announced, and how (``node-blast-radius``)."""

from dataclasses import replace
from datetime import timedelta

from desired.model.clocks import Clocks
from desired.model.settings import Settings, Waits
from desired.model.snapshot import Node, Readiness
from desired.model.taint import Taint
from desired.nodes.disruption import disruption_of
from tests.builders import NOW, a_settled_node, a_snapshot
from tests.support.rows import rows

HALF_AN_HOUR = timedelta(minutes=30)
SECOND = timedelta(seconds=1)
AUTOSCALER, KARPENTER = "ToBeDeletedByClusterAutoscaler", "karpenter.sh/disrupted"
TEAM = Taint("team", "NoSchedule")

GIVEN_UP = "not Ready since 2026-07-01 11:30 UTC"
CHOSEN, DISRUPTED = f"taint {AUTOSCALER}", f"taint {KARPENTER}"


def tainted(*taints: Taint) -> Node:
    return a_settled_node(taints=taints)


def silent(for_: timedelta, ready: Readiness = Readiness.UNKNOWN, heard: timedelta | None = None) -> Node:
    heartbeat = None if heard is None else NOW - heard
    return a_settled_node(ready=ready, ready_since=NOW - for_, created_at=NOW - timedelta(days=1), heartbeat=heartbeat)


@rows("node expected", {
    "settled": (a_settled_node(), None),
    "cordoned": (a_settled_node(unschedulable=True), "cordoned"),
    "being-deleted": (a_settled_node(deleted_at=NOW), "being deleted"),
    "any-effect-and-value-among-others": (tainted(TEAM, Taint(KARPENTER, "NoExecute", "x")), DISRUPTED),
    "both-taints-in-any-order": (tainted(Taint(KARPENTER, "NoSchedule"), Taint(AUTOSCALER, "NoSchedule")), CHOSEN),
    "a-candidate-is-not-chosen-yet": (tainted(TEAM, Taint("DeletionCandidateOfClusterAutoscaler", "")), None),
    "silent-for-long-enough": (silent(HALF_AN_HOUR), GIVEN_UP),
    "silent-for-a-second-less": (silent(HALF_AN_HOUR - SECOND), None),
    "nor-a-heartbeat-for-long-enough": (silent(HALF_AN_HOUR, heard=HALF_AN_HOUR), GIVEN_UP),
    "a-heartbeat-a-second-later": (silent(HALF_AN_HOUR, heard=HALF_AN_HOUR - SECOND), None),
    "not-ready-but-alive": (silent(HALF_AN_HOUR, Readiness.FALSE, 5 * SECOND), None),
    "ready-without-a-heartbeat-for-long": (silent(timedelta(days=1), Readiness.TRUE, timedelta(days=1)), None),
    "never-reported": (a_settled_node(ready=Readiness.MISSING, created_at=NOW - HALF_AN_HOUR), GIVEN_UP),
    "not-reported-yet": (a_settled_node(ready=Readiness.MISSING, created_at=NOW), None),
})  # fmt: skip
def test_planned_disruption(node: Node, expected: str | None) -> None:
    """A Node is announced when a person or an autoscaler has said that it goes away, or when it is given up."""
    found = disruption_of(node, a_snapshot([node]), Settings())
    assert (found.text if found else None) == expected


@rows("node given_up_after expected", {
    "five-minutes": (silent(timedelta(minutes=5)), timedelta(minutes=5), True),
    "at-once-by-a-heartbeat-in-the-future": (silent(HALF_AN_HOUR, heard=-SECOND), timedelta(0), False),
})  # fmt: skip
def test_the_wait_is_a_setting(node: Node, given_up_after: timedelta, expected: bool) -> None:
    """How long a silent Node has to be silent is up to the operator."""
    settings = Settings(waits=Waits(given_up_after=given_up_after))
    assert (disruption_of(node, a_snapshot([node]), settings) is not None) is expected


@rows("clocks expected", {
    "a-minute-apart": (Clocks(hetzner=timedelta(seconds=60)), True),
    "kubernetes-is-ahead": (Clocks(hetzner=timedelta(seconds=-61)), False),
    "only-this-machine-is-off": (Clocks(timedelta(0), timedelta(hours=1)), True),
})  # fmt: skip
def test_silence_announces_nothing_while_clocks_differ(clocks: Clocks, expected: bool) -> None:
    """How long a Node has been silent is what a clock says; a cordon is what a person says."""
    silent_node, cordoned = silent(HALF_AN_HOUR), replace(silent(HALF_AN_HOUR), unschedulable=True)
    snapshot = a_snapshot([silent_node], clocks=clocks)
    assert (disruption_of(silent_node, snapshot, Settings()) is not None) is expected
    assert disruption_of(cordoned, snapshot, Settings()) is not None
