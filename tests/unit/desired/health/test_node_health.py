"""State of a Node: what keeps it from being as its server says, and whether that passes by itself."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import timedelta

import pytest

from desired.health import states_of
from desired.health.node import PATIENCE
from desired.health.state import Level, NodeState, ObjectState
from desired.model.settings import Settings
from desired.model.snapshot import Server, ServerStatus, Snapshot
from desired.planner import compute_plan
from desired.section import Section
from tests.builders import (
    NOW,
    a_joining_node,
    a_lost_node,
    a_server,
    a_settled_node,
    a_snapshot,
    incomplete,
    nodes_of,
    servers_of,
)
from tests.support.judging import facts_of, judge
from tests.support.rows import rows

OLD, NEW = NOW - PATIENCE, NOW - PATIENCE + timedelta(seconds=1)
OTHER = a_server(2, "web-2")
NEIGHBOUR = a_settled_node("web-2", 2)


def health_of(snapshot: Snapshot, failed: Mapping[str, str] = {}) -> ObjectState | None:
    """The state of ``web-1``; None when it has none."""
    settings = Settings()
    plan = compute_plan(snapshot, settings)
    states = states_of(facts_of(plan, snapshot, settings), judge(plan, snapshot, settings), failed)
    return next((each for each in states.nodes if each.key.name == "web-1"), None)


def beside(node: object, *servers: Server, **overrides: object) -> Snapshot:
    """The Node beside another one that is well, so that the project is known to be the cluster's."""
    return a_snapshot((node, NEIGHBOUR), (*servers, OTHER), **overrides)  # type: ignore[arg-type]


@rows("snapshot state why", {
    "as its server": (beside(a_settled_node(), a_server()), NodeState.IN_SYNC, "server 1"),
    "joins": (beside(a_joining_node(created_at=OLD), a_server()), NodeState.JOINING,
        "waits to be initialized as server 1"),
    "differs": (beside(replace(a_settled_node(), labels={}), a_server()), NodeState.CHANGING,
        "server 1; 1 change planned"),
    "is off": (beside(a_settled_node(), a_server(status=ServerStatus.OFF)), NodeState.OFF, "server 1 is off"),
    "has no server, and is new": (beside(a_joining_node(created_at=NEW)), NodeState.JOINING,
        "no server of the project is named 'web-1'"),
    "worker6 has no server, for good": (beside(a_joining_node(created_at=OLD)), NodeState.STUCK,
        "no server of the project is named 'web-1'"),
    "its server is gone": (beside(a_lost_node()), NodeState.GOING, "server 1 not found in the project"),
    "its server is gone, and its kubelet reports": (beside(a_settled_node()), NodeState.UNKNOWN,
        "but the kubelet reports Ready"),
    "is being deleted": (beside(replace(a_settled_node(), deleted_at=NOW, finalizers=("x/y",)), a_server()),
        NodeState.GOING, "waits for finalizers x/y"),
    "has a providerID without a server": (beside(a_settled_node(provider_id="hcloud://x")), NodeState.STUCK,
        "has no server id"),
    "the list is cut off": (a_snapshot(nodes_section=nodes_of(a_settled_node()),
        servers_section=incomplete(servers_of(OTHER), "page 2 timed out")), NodeState.UNKNOWN, "server unknown"),
})  # fmt: skip
def test_states(snapshot: Snapshot, state: NodeState, why: str) -> None:
    found = health_of(snapshot)
    assert found is not None
    assert found.state is state
    assert why in found.why


@pytest.mark.parametrize("provider_id", ["aws:///1", None])
def test_a_node_of_another_owner_has_no_state(provider_id: str | None) -> None:
    assert health_of(beside(a_settled_node(provider_id=provider_id))) is None


def test_a_refusal_keeps_it_stuck() -> None:
    joins = beside(a_joining_node(created_at=OLD), a_server())
    failed = health_of(joins, failed={"node/web-1": "409 conflict"})
    assert failed is not None
    assert (failed.state, failed.why) == (NodeState.STUCK, "409 conflict")
    assert failed.level is Level.WARNING


def test_nothing_is_known_of_no_nodes() -> None:
    assert health_of(a_snapshot(servers_section=Section({}))) is None
