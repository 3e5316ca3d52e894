"""Whether a Node's going was announced, and how (``node-blast-radius``)."""

from dataclasses import replace
from datetime import timedelta

import pytest

from desired.model.clocks import Clocks
from desired.model.snapshot import Node, Readiness, Taint
from desired.nodes.disruption import is_planned_disruption, planned_disruption
from tests.builders import NOW, a_settled_node, a_snapshot

HALF_AN_HOUR = timedelta(minutes=30)
SECOND = timedelta(seconds=1)
AUTOSCALER = Taint("ToBeDeletedByClusterAutoscaler", "NoSchedule", "1780000000")
KARPENTER = Taint("karpenter.sh/disrupted", "NoSchedule")

GIVEN_UP = "it has not been Ready since 2026-07-01 11:30 UTC"


def silent(for_: timedelta, ready: Readiness = Readiness.UNKNOWN, heard: timedelta | None = None) -> Node:
    """A Node of a day that is as Ready as it is for so long, with a heartbeat of that age or none."""
    heartbeat = None if heard is None else NOW - heard
    return a_settled_node(ready=ready, ready_since=NOW - for_, created_at=NOW - timedelta(days=1), heartbeat=heartbeat)


@pytest.mark.parametrize(
    ("node", "expected"),
    [
        pytest.param(a_settled_node(), None, id="settled"),
        pytest.param(a_settled_node(unschedulable=True), "it is cordoned", id="cordoned"),
        pytest.param(a_settled_node(deleted_at=NOW), "it is being deleted", id="being-deleted"),
        pytest.param(
            a_settled_node(taints=(AUTOSCALER,)),
            "it has the taint ToBeDeletedByClusterAutoscaler",
            id="cluster-autoscaler",
        ),
        pytest.param(a_settled_node(taints=(KARPENTER,)), "it has the taint karpenter.sh/disrupted", id="karpenter"),
        pytest.param(
            a_settled_node(taints=(Taint("team", "NoSchedule"), Taint("karpenter.sh/disrupted", "NoExecute", "x"))),
            "it has the taint karpenter.sh/disrupted",
            id="any-effect-and-value-among-others",
        ),
        pytest.param(
            a_settled_node(taints=(KARPENTER, AUTOSCALER)),
            "it has the taint ToBeDeletedByClusterAutoscaler",
            id="both-taints-in-any-order",
        ),
        pytest.param(
            a_settled_node(taints=(AUTOSCALER, KARPENTER)),
            "it has the taint ToBeDeletedByClusterAutoscaler",
            id="both-taints-in-the-other-order",
        ),
        pytest.param(a_settled_node(taints=(Taint("team", "NoSchedule"),)), None, id="another-taint"),
        pytest.param(
            a_settled_node(taints=(Taint("DeletionCandidateOfClusterAutoscaler", "PreferNoSchedule"),)),
            None,
            id="a-candidate-is-not-chosen-yet",
        ),
        pytest.param(
            a_settled_node(taints=(Taint("node.kubernetes.io/unreachable", "NoExecute"),)), None, id="unreachable"
        ),
        pytest.param(silent(HALF_AN_HOUR), GIVEN_UP, id="silent-for-long-enough"),
        pytest.param(silent(HALF_AN_HOUR, Readiness.FALSE), GIVEN_UP, id="not-ready-for-long-enough"),
        pytest.param(silent(HALF_AN_HOUR - SECOND), None, id="silent-for-a-second-less"),
        pytest.param(silent(HALF_AN_HOUR, heard=HALF_AN_HOUR), GIVEN_UP, id="nor-a-heartbeat-for-long-enough"),
        pytest.param(silent(HALF_AN_HOUR, heard=HALF_AN_HOUR - SECOND), None, id="a-heartbeat-a-second-later"),
        pytest.param(silent(HALF_AN_HOUR, Readiness.FALSE, 5 * SECOND), None, id="not-ready-but-alive"),
        pytest.param(silent(HALF_AN_HOUR, heard=-HALF_AN_HOUR), None, id="heartbeat-in-the-future"),
        pytest.param(silent(SECOND, heard=timedelta(days=1)), None, id="silent-just-now-by-an-old-heartbeat"),
        pytest.param(
            silent(timedelta(days=1), Readiness.TRUE, timedelta(days=1)), None, id="ready-without-a-heartbeat-for-long"
        ),
        pytest.param(silent(timedelta(days=1), Readiness.TRUE), None, id="ready-for-long"),
        pytest.param(
            a_settled_node(ready=Readiness.MISSING, created_at=NOW - HALF_AN_HOUR), GIVEN_UP, id="never-reported"
        ),
        pytest.param(
            a_settled_node(ready=Readiness.FALSE, created_at=NOW - HALF_AN_HOUR), GIVEN_UP, id="no-time-of-transition"
        ),
        pytest.param(a_settled_node(ready=Readiness.MISSING, created_at=NOW), None, id="not-reported-yet"),
        pytest.param(silent(-timedelta(hours=1)), None, id="transition-in-the-future"),
        pytest.param(
            a_settled_node(unschedulable=True, deleted_at=NOW, taints=(AUTOSCALER,)),
            "it is being deleted",
            id="the-strongest-word-first",
        ),
    ],
)
def test_why_announced(node: Node, expected: str | None) -> None:
    """A Node is announced when a person or an autoscaler has said that it goes away, or when it is given up."""
    found = planned_disruption(node, a_snapshot([node]), HALF_AN_HOUR)
    assert (found.text if found else None) == expected
    assert is_planned_disruption(node, a_snapshot([node]), HALF_AN_HOUR) is (expected is not None)


@pytest.mark.parametrize(
    ("node", "given_up_after", "expected"),
    [
        pytest.param(silent(timedelta(minutes=5)), timedelta(minutes=5), True, id="five-minutes"),
        pytest.param(silent(timedelta(hours=1)), timedelta(hours=2), False, id="two-hours"),
        pytest.param(silent(timedelta(0)), timedelta(0), True, id="at-once"),
        pytest.param(silent(timedelta(0), Readiness.TRUE), timedelta(0), False, id="at-once-but-ready"),
        pytest.param(
            silent(HALF_AN_HOUR, heard=-SECOND), timedelta(0), False, id="at-once-by-a-heartbeat-in-the-future"
        ),
    ],
)
def test_the_wait_is_a_setting(node: Node, given_up_after: timedelta, expected: bool) -> None:
    """How long a silent Node has to be silent is up to the operator."""
    assert is_planned_disruption(node, a_snapshot([node]), given_up_after) is expected


@pytest.mark.parametrize(
    ("clocks", "expected"),
    [
        pytest.param(Clocks(), True, id="no-other-clock"),
        pytest.param(Clocks(hetzner=timedelta(seconds=60)), True, id="a-minute-apart"),
        pytest.param(Clocks(hetzner=timedelta(seconds=-61)), False, id="kubernetes-is-ahead"),
        pytest.param(Clocks(timedelta(0), timedelta(hours=1)), True, id="only-this-machine-is-off"),
    ],
)
def test_silence_announces_nothing_while_clocks_differ(clocks: Clocks, expected: bool) -> None:
    """How long a Node has been silent is what a clock says; a cordon is what a person says."""
    silent_node, cordoned = silent(HALF_AN_HOUR), replace(silent(HALF_AN_HOUR), unschedulable=True)
    snapshot = a_snapshot([silent_node], clocks=clocks)

    assert is_planned_disruption(silent_node, snapshot, HALF_AN_HOUR) is expected
    assert is_planned_disruption(cordoned, snapshot, HALF_AN_HOUR)
