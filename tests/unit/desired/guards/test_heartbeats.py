"""Whether Ready is believed: by the age of its heartbeat, where there is one and clocks agree."""

from dataclasses import replace
from datetime import timedelta

import pytest

from desired.guards.silence import STALE_AFTER, readiness_heard
from desired.model.clocks import Clocks
from desired.model.snapshot import Node, Readiness
from tests.builders import NOW, a_settled_node, a_snapshot

SECOND = timedelta(seconds=1)
STALE = NOW - STALE_AFTER - SECOND
UNHEARD = a_settled_node(ready_since=STALE, heartbeat=STALE)


@pytest.mark.parametrize(
    ("node", "clocks", "expected"),
    [
        pytest.param(UNHEARD, Clocks(), Readiness.UNKNOWN, id="stale"),
        pytest.param(
            a_settled_node(ready_since=STALE, heartbeat=STALE + SECOND), Clocks(), Readiness.TRUE, id="in-time"
        ),
        pytest.param(
            a_settled_node(ready_since=NOW, heartbeat=STALE), Clocks(), Readiness.TRUE, id="ready-since-just-now"
        ),
        pytest.param(a_settled_node(ready_since=STALE), Clocks(), Readiness.TRUE, id="without-a-heartbeat"),
        pytest.param(
            a_settled_node(ready_since=STALE, heartbeat=NOW + STALE_AFTER), Clocks(), Readiness.TRUE, id="future"
        ),
        pytest.param(UNHEARD, Clocks(hetzner=2 * STALE_AFTER), Readiness.TRUE, id="while-clocks-differ"),
        pytest.param(replace(UNHEARD, conditions=()), Clocks(), Readiness.MISSING, id="no-condition"),
        pytest.param(
            a_settled_node(ready=Readiness.FALSE, ready_since=STALE, heartbeat=STALE),
            Clocks(),
            Readiness.UNKNOWN,
            id="false-and-stale",
        ),
    ],
)
def test_readiness_heard(node: Node, clocks: Clocks, expected: Readiness) -> None:
    """What is said needs a heartbeat of the last 100 minutes, where any is told."""
    assert readiness_heard(node, a_snapshot([node], clocks=clocks)) is expected


def test_a_heartbeat_is_no_difference() -> None:
    """Nodes that differ in it alone are equal, so that it is neither news nor drift."""
    assert replace(UNHEARD, conditions=a_settled_node(ready_since=STALE, heartbeat=NOW).conditions) == UNHEARD
