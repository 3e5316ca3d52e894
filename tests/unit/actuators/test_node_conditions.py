"""What a Node says of its routes, and of being in sync: the condition that the API server has afterwards, and that all
others are kept."""

from dataclasses import replace
from typing import Any

import pytest

from actuators.http.errors import Conflict
from actuators.nodes import write_sync_condition
from desired.model.route import ROUTED, UNROUTED, NetworkCondition
from desired.model.settings import Settings
from desired.model.snapshot import Snapshot, SyncCondition
from desired.names import CONDITION_NODE_IN_SYNC
from desired.plan.change import Change
from desired.plan.kinds import Verb
from reconciler.observe.world import observe_world
from tests.builders import a_change
from tests.support.balancer_stage import carry_out
from tests.support.objects import LONG_AGO, condition, settled_node
from tests.support.rows import rows
from tests.support.simulators import START, Simulate, Simulation

NODE = "/api/v1/nodes/web-1"
NOW = f"{START:%Y-%m-%dT%H:%M:%SZ}"
KUBELET = [condition("Ready", "True"), condition("MemoryPressure", "False")]
CALICO = {**condition("NetworkUnavailable", "False"), "reason": "CalicoIsUp"}
OURS = {
    **condition("NetworkUnavailable", "True"),
    "reason": "NoRouteCreated",
    "message": "RouteController failed to create a route",
}
ROUTED_NOW = {
    "type": "NetworkUnavailable",
    "status": "False",
    "reason": "RouteCreated",
    "message": "RouteController created a route",
    "lastHeartbeatTime": NOW,
    "lastTransitionTime": NOW,
}
UNROUTED_NOW = OURS | {"lastHeartbeatTime": NOW, "lastTransitionTime": NOW}
BY_CALICO = NetworkCondition("False", "CalicoIsUp")


def change(before: Any, after: Any) -> Change:
    key, kind = "node/web-1/network", "node.network_condition"
    return a_change(key, kind, verb=Verb.MODIFY, before=before, after=after, owner="node/web-1")


def observed(simulate: Simulate, *conditions: dict[str, str]) -> tuple[Simulation, Snapshot]:
    """A Node with these conditions, and what was read of it."""
    node = settled_node("web-1", 1)
    node["status"]["conditions"] = list(conditions)
    sim = simulate(nodes=[node])
    return sim, observe_world(sim.readers(), Settings()).snapshot


def conditions(sim: Simulation) -> list[dict[str, str]]:
    listed: list[dict[str, str]] = sim.nodes()["web-1"]["status"].get("conditions", [])
    return listed


@rows(
    "present before after written",
    {
        "the first one": (None, None, ROUTED, ROUTED_NOW),
        "the first one, without a route": (None, None, UNROUTED, UNROUTED_NOW),
        "a route at last": (OURS, UNROUTED, ROUTED, ROUTED_NOW),
        "for another reason": (CALICO, BY_CALICO, ROUTED, {**ROUTED_NOW, "lastTransitionTime": LONG_AGO}),
        "no route, whatever the plug-in says": (CALICO, BY_CALICO, UNROUTED, UNROUTED_NOW),
        "away": (OURS, UNROUTED, None, None),
        "away already": (None, UNROUTED, None, None),
    },
)
def test_the_condition_is_written(
    simulate: Simulate,
    present: dict[str, str] | None,
    before: NetworkCondition | None,
    after: NetworkCondition | None,
    written: dict[str, str] | None,
) -> None:
    sim, snapshot = observed(simulate, KUBELET[0], *([present] if present else []), KUBELET[1])
    was = sim.nodes()["web-1"]

    carry_out(sim, change(before, after), snapshot)

    now = sim.nodes()["web-1"]
    assert [found for found in conditions(sim) if found["type"] == "NetworkUnavailable"] == (
        [written] if written else []
    )
    assert [found for found in conditions(sim) if found["type"] != "NetworkUnavailable"] == KUBELET
    assert (now["spec"], now["metadata"]["labels"]) == (was["spec"], was["metadata"]["labels"])
    assert now["status"]["addresses"] == was["status"]["addresses"]
    assert [entry.path for entry in sim.written()] == [f"{NODE}/status"]


def test_conditions_of_a_kubelet_survive(simulate: Simulate) -> None:
    """Conditions are merged by type: a write in between is no conflict, and stays."""
    sim, snapshot = observed(simulate, *KUBELET)
    beat = condition("Ready", "False")
    sim.kubernetes_writer().patch(f"{NODE}/status", {"status": {"conditions": [beat, KUBELET[1]]}})
    carry_out(sim, change(None, ROUTED), snapshot)
    assert conditions(sim) == [ROUTED_NOW, beat, KUBELET[1]]


def in_sync(status: str, reason: str) -> dict[str, str]:
    return condition(CONDITION_NODE_IN_SYNC, status) | {"reason": reason, "message": "as told"}


IN_SYNC, LACKING = SyncCondition("True", "InSync", "as told"), SyncCondition("False", "RouteMissing", "as told")
JUST_NOW = {"lastHeartbeatTime": NOW, "lastTransitionTime": NOW}


@rows(
    "present after written",
    {
        "the first one": (None, IN_SYNC, in_sync("True", "InSync") | JUST_NOW),
        "another one": (in_sync("True", "InSync"), LACKING, in_sync("False", "RouteMissing") | JUST_NOW),
        "for another reason: its status is as old as it was": (
            in_sync("False", "LabelsDiffer"),
            LACKING,
            in_sync("False", "RouteMissing") | {"lastHeartbeatTime": NOW},
        ),
        "away": (in_sync("True", "InSync"), None, None),
    },
)
def test_whether_a_node_is_in_sync_is_written(
    simulate: Simulate, present: dict[str, str] | None, after: SyncCondition | None, written: dict[str, str] | None
) -> None:
    sim, snapshot = observed(simulate, KUBELET[0], *([present] if present else []), KUBELET[1])
    was = sim.nodes()["web-1"]

    write_sync_condition(sim.kubernetes_writer(), snapshot.nodes.items["web-1"], after, START)

    found = conditions(sim)
    assert [each for each in found if each["type"] == CONDITION_NODE_IN_SYNC] == ([written] if written else [])
    assert [each for each in found if each["type"] != CONDITION_NODE_IN_SYNC] == KUBELET
    assert sim.nodes()["web-1"]["spec"] == was["spec"]
    assert [entry.path for entry in sim.written()] == [f"{NODE}/status"]


def test_a_node_that_registered_again_is_not_told_of_the_former(simulate: Simulate) -> None:
    sim, snapshot = observed(simulate, *KUBELET)
    former = replace(snapshot.nodes.items["web-1"], uid="another")
    with pytest.raises(Conflict):
        write_sync_condition(sim.kubernetes_writer(), former, IN_SYNC, START)
    assert conditions(sim) == KUBELET
