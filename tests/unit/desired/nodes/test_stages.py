"""Where in its life a Node is, and on which server's absence its deletion depends."""

from dataclasses import replace
from datetime import timedelta

from desired.model.settings import Controller, Settings
from desired.model.snapshot import Node, Server, Snapshot
from desired.nodes.node import (
    DesiredNode,
    InitializedNode,
    OrphanedNode,
    UninitializedNode,
    UnmanagedNode,
    deletable_server,
    desired_nodes,
)
from desired.rules import nodes as rules
from desired.rules.nodes import Stage
from desired.rules.rule import Rule
from desired.section import Absent, Section
from desired.syntax.selector import parse_selector
from tests.builders import (
    NOW,
    UNINITIALIZED,
    a_joining_node,
    a_lost_node,
    a_node,
    a_server,
    a_settled_node,
    a_snapshot,
    in_cloud,
    incomplete,
    servers_of,
)
from tests.support.rows import rows

ALL = Settings()
NO_LIFECYCLE, NO_NODE, NEITHER = (
    Settings(controllers=frozenset({only})) for only in (Controller.NODE, Controller.LIFECYCLE, Controller.ROUTE)
)
IGNORING = Settings(ignore_nodes=parse_selector("lab=yes"))
CONTROL, CONTROL_SERVER = a_settled_node("control-1", 9), a_server(9, "control-1")
THERE, GONE = servers_of(CONTROL_SERVER, a_server()), servers_of(CONTROL_SERVER)
GAP, UNREADABLE = incomplete(GONE, "429"), replace(GONE, unreadable={1: "no type"})
AGO = NOW - timedelta(minutes=9)
LAB = {"lab": "yes"}
EARLY, LAB_GONE = a_lost_node(taints=(UNINITIALIZED,)), a_lost_node(labels=LAB, deleted_at=AGO)
ELSEWHERE = a_lost_node("x", provider_id="aws://1", deleted_at=AGO, addresses=())


def world(node: Node, servers: Section[int, Server]) -> Snapshot:
    """The Node beside a Ready one, in a project with these servers; that server 1 is gone was asked for by its id."""
    return a_snapshot([CONTROL, node], servers_section=servers, confirmations={1: Absent()})


@rows("node servers settings stage rule wanted", {
    "settled": (a_settled_node(), THERE, ALL, Stage.SETTLED, rules.SETTLED, InitializedNode),
    "renamed": (a_settled_node("web-2"), THERE, ALL, Stage.SETTLED, rules.SETTLED, InitializedNode),
    "joining": (a_joining_node(), THERE, ALL, Stage.JOINING, rules.JOINING, UninitializedNode),
    "no-ip": (a_joining_node(provided_node_ip=""), THERE, ALL, Stage.JOINING, rules.JOINING, UnmanagedNode),
    "joining-left": (a_joining_node(), THERE, NO_NODE, Stage.JOINING, rules.JOINING, UnmanagedNode),
    "departing": (a_lost_node(), GONE, ALL, Stage.DEPARTING, rules.SERVER_GONE, OrphanedNode),
    "departing-early": (EARLY, GONE, ALL, Stage.DEPARTING, rules.SERVER_GONE, OrphanedNode),
    "departing-left": (a_lost_node(), GONE, NO_LIFECYCLE, Stage.DEPARTING, rules.SERVER_GONE, UnmanagedNode),
    "deleting": (a_settled_node(deleted_at=AGO), THERE, ALL, Stage.DELETING, rules.DELETING, InitializedNode),
    "deleting-gone": (a_lost_node(deleted_at=AGO), GONE, ALL, Stage.DELETING, rules.GONE_DELETING, UnmanagedNode),
    "deleting-left": (a_joining_node(deleted_at=AGO), THERE, NEITHER, Stage.DELETING, rules.DELETING, UnmanagedNode),
    "ready": (a_settled_node(), GONE, ALL, Stage.UNMATCHED, rules.GONE_READY, UnmanagedNode),
    "no-name": (a_joining_node("gpu"), THERE, ALL, Stage.UNMATCHED, rules.NO_SERVER_OF_NAME, UnmanagedNode),
    "no-name-left": (a_joining_node("gpu"), THERE, NEITHER, Stage.UNMATCHED, rules.NO_SERVER_OF_NAME, UnmanagedNode),
    "two": (a_settled_node(server_id=9), THERE, ALL, Stage.AMBIGUOUS, rules.SERVER_OF_TWO_NODES, UnmanagedNode),
    "bad": (a_node(provider_id="hcloud://x"), THERE, ALL, Stage.MALFORMED, rules.PROVIDER_ID_MALFORMED, UnmanagedNode),
    "robot": (a_node(provider_id="hrobot://7"), THERE, ALL, Stage.UNSUPPORTED, rules.NODE_ON_ROBOT, UnmanagedNode),
    "gap": (a_settled_node(), GAP, ALL, Stage.UNKNOWN, rules.NODE_SERVER_UNKNOWN, UnmanagedNode),
    "unreadable": (a_settled_node(), UNREADABLE, ALL, Stage.UNKNOWN, rules.NODE_SERVER_UNKNOWN, UnmanagedNode),
    "foreign": (ELSEWHERE, THERE, ALL, Stage.FOREIGN, rules.FOREIGN, UnmanagedNode),
    "ignored": (a_settled_node(labels=LAB), THERE, IGNORING, Stage.IGNORED, rules.IGNORED, UnmanagedNode),
    "ignored-gone": (LAB_GONE, GONE, IGNORING, Stage.IGNORED, rules.IGNORED, UnmanagedNode),
    "unclaimed": (a_node("x"), THERE, ALL, Stage.UNCLAIMED, rules.UNCLAIMED, UnmanagedNode),
})  # fmt: skip
def test_stage(
    node: Node, servers: Section[int, Server], settings: Settings, stage: Stage, rule: Rule, wanted: type[DesiredNode]
) -> None:
    found = desired_nodes(world(node, servers), settings)[0][node.name]
    assert (found.stage.value, found.stage.rule, type(found)) == (stage, rule, wanted)


@rows("node settings server_id", {
    "settled": (a_settled_node(), ALL, 1),
    "id": (a_joining_node(provider_id="hcloud://1"), ALL, 1),
    "name": (a_joining_node(), ALL, None),
    "cloud": (a_settled_node(provider_id="aws://1"), ALL, None),
    "robot": (a_settled_node(provider_id="hrobot://1"), ALL, None),
    "none": (a_node(), ALL, None),
    "gone": (a_lost_node(server_id=3), ALL, 3),
    "ready": (a_settled_node(server_id=3), ALL, 3),
    "deleting": (a_settled_node(deleted_at=NOW), ALL, None),
    "ignored": (a_settled_node(labels=LAB), IGNORING, None),
    "left": (a_settled_node(), NO_LIFECYCLE, None),
})  # fmt: skip
def test_deletable(node: Node, settings: Settings, server_id: int | None) -> None:
    assert deletable_server(node, world(node, THERE), settings) == (in_cloud(server_id) if server_id else None)
