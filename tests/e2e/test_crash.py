"""A run that dies at any single write is finished by the next one."""

from collections.abc import Mapping
from typing import Any

import pytest

from tests.support.objects import joining_node, server
from tests.support.sampling import sample
from tests.support.stage import Stage, is_initialised, killed_at_the_end, wait_for

NAMES = ("web-1", "web-2", "web-3")
WRITES = 2 * len(NAMES)
"""Two for each Node; Events are no part of the state."""


def _end_state(stage: Stage) -> Mapping[str, Any]:
    """Everything of the Nodes that does not differ from run to run."""
    return {
        name: (
            node["metadata"]["labels"],
            node["spec"],
            node["status"]["addresses"],
        )
        for name, node in stage.nodes().items()
    }


def _carried_out(stage: Stage) -> int:
    """How many writes have left their trace in the Nodes: the first brings addresses, the second a provider id."""
    nodes = stage.nodes().values()
    with_addresses = [node for node in nodes if any(a["type"] == "ExternalIP" for a in node["status"]["addresses"])]
    return len(with_addresses) + len([node for node in nodes if "providerID" in node["spec"]])


@pytest.mark.parametrize(
    ("number", "fault"),
    sample(
        [
            pytest.param(number, fault, id=f"{number + 1}, {moment} it is carried out")
            for fault, moment in (("hang", "before"), ("half_open", "after"))
            for number in range(WRITES)
        ],
        "kill -9",
        least=2,
    ),
)
def test_kill_9_at_any_write_then_once_ends_in_the_same_state(stage: Stage, number: int, fault: str) -> None:
    """Killed at its n-th write, carried out or not, a run leaves a world that the next run brings to the same end."""
    stage.have_servers(*(server(i, name) for i, name in enumerate(NAMES, 1)))
    stage.register(*map(joining_node, NAMES))
    stage.proxy.set_faults([{"kind": fault, "method": "PATCH", "path": "/api/v1/nodes", "skip": number, "count": None}])

    lost = fault == "half_open"
    with killed_at_the_end(stage.start("--once")):
        wait_for(lambda: len(stage.writes()) > number, f"write number {number + 1}")
        wait_for(lambda: _carried_out(stage) >= number + lost, "the writes before it, and itself if it is carried out")
    stage.proxy.clear_faults()

    # Nodes are written side by side, and the answers for all of them stay away from this write on.
    assert number + lost <= _carried_out(stage) <= min(WRITES, number + lost * len(NAMES))
    assert stage.reconcile("--once", "--output", "json").report["result"] == "no_changes"
    crashed = _end_state(stage)
    assert all(is_initialised(node) for node in stage.nodes().values())

    stage.remove_nodes()
    stage.register(*map(joining_node, NAMES))
    stage.reconcile("--once")
    assert crashed == _end_state(stage)
