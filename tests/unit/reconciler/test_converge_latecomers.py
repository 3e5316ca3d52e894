"""Nodes that register while a pass is on: its servers were read before there were any of them."""

from collections.abc import Mapping
from typing import Any

import pytest

from reconciler.result import Result
from tests.support.objects import joining_node, server, settled_node
from tests.support.passes import Run, initialized, just_before_the_writes
from tests.support.simulators import Simulation, ago


def named() -> dict[str, Any]:
    node = joining_node("late")
    node["spec"]["providerID"] = "hcloud://3"
    return node


@pytest.mark.parametrize(
    "late",
    [
        pytest.param(joining_node("late"), id="by its name"),
        pytest.param(named(), id="by its providerID"),
        pytest.param(settled_node("late", 3), id="initialized"),
        pytest.param(settled_node("late", 3, "Unknown", since=ago(300)), id="initialized and silent"),
    ],
)
def test_a_node_and_its_server_come_late(joining: Run, late: Mapping[str, Any]) -> None:
    def come(sim: Simulation) -> None:
        project = sim.hetzner.world()["hetzner"]
        sim.hetzner.replace_world({**project, "servers": [*project["servers"], server(3, "late")]})
        sim.kubernetes_writer().create("/api/v1/nodes", late)

    just_before_the_writes(joining, come)

    report = joining.converge()

    assert "late" in joining.sim.nodes()
    assert (report.result, report.notes) == (Result.NO_CHANGES, ())
    assert [line.change.key for line in report.lines] == ["node/web-1", "node/web-2"]
    assert {(event.subject.name, event.reason) for event in joining.ears.events} == {
        ("web-1", "Synced"),
        ("web-2", "Synced"),
    }
    assert {entry.path for entry in joining.sim.sent_to_hetzner()} == {"/v1/servers"}

    assert joining.converge().result is Result.NO_CHANGES
    assert initialized(joining) == ["late", "web-1", "web-2"]


def test_a_pass_still_sees_what_becomes_of_those_it_knows(joining: Run) -> None:
    def leave(sim: Simulation) -> None:
        found = sim.nodes()["web-2"]["metadata"]
        sim.kubernetes_writer().delete("/api/v1/nodes/web-2", uid=found["uid"], version=found["resourceVersion"])

    just_before_the_writes(joining, leave)

    report = joining.converge()

    assert report.snapshot is not None
    assert list(report.snapshot.nodes.items) == ["web-1"]
    assert initialized(joining) == ["web-1"]
