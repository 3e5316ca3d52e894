"""Where in its life a Node is, in a word and a sentence."""

from dataclasses import replace
from datetime import timedelta

import pytest

from desired.explain.node import NodeExplanation
from desired.model.settings import Controller, Policy, Settings
from desired.model.snapshot import Node, Server, Snapshot
from desired.nodes.node import InitializedNode, OrphanedNode, UninitializedNode, UnmanagedNode, desired_nodes
from desired.planner import compute_plan
from desired.rules.nodes import Stage
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
    incomplete,
    servers_of,
)
from tests.support.judging import explain, judge

NO_LIFECYCLE = Settings(controllers=frozenset({Controller.NODE}))
NO_NODE = Settings(controllers=frozenset({Controller.LIFECYCLE}))
NEITHER = Settings(controllers=frozenset({Controller.ROUTE}))
IGNORING = Settings(ignore_nodes=parse_selector("lab=yes"))
ANCHOR, ANCHOR_SERVER = a_settled_node("control-1", 9), a_server(9, "control-1")
SERVERS = servers_of(ANCHOR_SERVER, a_server())
WITHOUT_1 = servers_of(ANCHOR_SERVER)
ELSEWHERE = servers_of(a_server())
GONE = "the project has no server 1"
NO_SERVER = (
    "no server of the project is named 'gpu'; give the Node its server's name, or start its kubelet with --provider-id"
)
ROBOT = (
    "providerID 'hrobot://7' is a Robot server, and Robot servers are not read; set ROBOT_ENABLED, ROBOT_USER and"
    " ROBOT_PASSWORD"
)
GOING = NOW - timedelta(minutes=9)


def world(node: Node, servers: Section[int, Server]) -> Snapshot:
    """The Node beside a Ready one, in a project with these servers; that server 1 is gone was asked for by its id."""
    return a_snapshot([ANCHOR, node], servers_section=servers, confirmations={1: Absent()})


def explained(node: Node, snapshot: Snapshot, settings: Settings) -> NodeExplanation:
    """What there is to say of the Node."""
    return explain(node, snapshot, settings, judge(compute_plan(snapshot, settings), snapshot, settings))


CASES = [
    pytest.param(
        a_settled_node(), SERVERS, Settings(), Stage.SETTLED, "is server 1; no change is planned", id="settled"
    ),
    pytest.param(
        a_settled_node(labels={}),
        SERVERS,
        Settings(),
        Stage.SETTLED,
        "is server 1; 1 change is planned",
        id="settled-with-a-difference",
    ),
    pytest.param(
        a_settled_node(labels={}, addresses=()),
        SERVERS,
        Settings(policy=Policy.OBSERVE),
        Stage.SETTLED,
        "is server 1; 2 changes are planned: waiting (policy)",
        id="settled-with-differences-that-wait",
    ),
    pytest.param(
        a_joining_node(),
        SERVERS,
        Settings(),
        Stage.JOINING,
        "waits to be initialized as server 1; the next pass does it",
        id="joining",
    ),
    pytest.param(
        a_joining_node(),
        ELSEWHERE,
        Settings(),
        Stage.JOINING,
        "waits to be initialized as server 1; that is held (project-anchor)",
        id="joining-and-held",
    ),
    pytest.param(
        a_joining_node(provided_node_ip=""),
        SERVERS,
        Settings(),
        Stage.JOINING,
        "waits to be initialized as server 1; addresses are not written: annotation provided-node-ip '' is not an IP"
        " address or a pair of them without blanks; correct the kubelet's --node-ip",
        id="joining-with-a-wrong-node-ip",
    ),
    pytest.param(
        a_joining_node(),
        SERVERS,
        NO_NODE,
        Stage.JOINING,
        "waits to be initialized as server 1; not managed: --controllers leaves cloud-node out",
        id="joining-is-left-to-others",
    ),
    pytest.param(
        a_lost_node(),
        WITHOUT_1,
        Settings(),
        Stage.DEPARTING,
        f"{GONE}; the next pass deletes the Node",
        id="departing",
    ),
    pytest.param(
        a_lost_node(ready_since=NOW),
        WITHOUT_1,
        Settings(),
        Stage.DEPARTING,
        f"{GONE}; the Node's deletion is waiting (absence-proof)",
        id="departing-and-waiting",
    ),
    pytest.param(
        a_lost_node(taints=(UNINITIALIZED,)),
        WITHOUT_1,
        Settings(),
        Stage.DEPARTING,
        f"{GONE}; the next pass deletes the Node",
        id="departing-before-it-joined",
    ),
    pytest.param(
        a_lost_node(),
        WITHOUT_1,
        NO_LIFECYCLE,
        Stage.DEPARTING,
        f"{GONE}; not managed: --controllers leaves cloud-node-lifecycle out",
        id="departing-is-left-to-others",
    ),
    pytest.param(
        a_lost_node(deleted_at=GOING),
        WITHOUT_1,
        Settings(),
        Stage.DELETING,
        f"{GONE}, and the Node is being deleted since 2026-07-01 11:51 UTC and waits for the API server",
        id="deleting-without-a-server",
    ),
    pytest.param(
        a_settled_node(deleted_at=GOING, finalizers=("a/x", "b/y")),
        SERVERS,
        Settings(),
        Stage.DELETING,
        "the Node is being deleted since 2026-07-01 11:51 UTC and waits for finalizers a/x, b/y",
        id="deleting-with-a-server",
    ),
    pytest.param(
        a_joining_node(deleted_at=GOING),
        SERVERS,
        NEITHER,
        Stage.DELETING,
        "the Node is being deleted since 2026-07-01 11:51 UTC and waits for the API server",
        id="deleting-before-it-joined",
    ),
    pytest.param(
        a_settled_node(),
        WITHOUT_1,
        Settings(),
        Stage.UNMATCHED,
        f"{GONE}, and the Node's kubelet reports Ready",
        id="ready-without-its-server",
    ),
    pytest.param(
        a_joining_node("gpu"),
        SERVERS,
        Settings(),
        Stage.UNMATCHED,
        NO_SERVER,
        id="a-name-that-nothing-has",
    ),
    pytest.param(
        a_joining_node("gpu"),
        SERVERS,
        NEITHER,
        Stage.UNMATCHED,
        NO_SERVER,
        id="a-name-that-nothing-has-is-left-to-others",
    ),
    pytest.param(
        a_settled_node("web-2"),
        SERVERS,
        Settings(),
        Stage.SETTLED,
        "is server 1; no change is planned",
        id="a-renamed-server",
    ),
    pytest.param(
        a_settled_node(server_id=9),
        SERVERS,
        Settings(),
        Stage.AMBIGUOUS,
        "providerID 'hcloud://9' is also that of Node control-1; delete the stale Node",
        id="ambiguous",
    ),
    pytest.param(
        a_settled_node(provider_id="hcloud://x"),
        SERVERS,
        Settings(),
        Stage.MALFORMED,
        "providerID 'hcloud://x' has no server id (a positive decimal number);"
        " delete the Node and let its kubelet register again",
        id="malformed",
    ),
    pytest.param(
        a_settled_node(provider_id="hrobot://7"),
        SERVERS,
        Settings(),
        Stage.UNSUPPORTED,
        ROBOT,
        id="robot",
    ),
    pytest.param(
        a_joining_node(provider_id="hrobot://7"),
        SERVERS,
        Settings(),
        Stage.UNSUPPORTED,
        ROBOT,
        id="a-robot-that-joins",
    ),
    pytest.param(
        a_settled_node(),
        incomplete(WITHOUT_1, "429"),
        Settings(),
        Stage.UNKNOWN,
        "the Node's server is unknown: 429",
        id="a-gap-in-the-list",
    ),
    pytest.param(
        a_settled_node(),
        replace(WITHOUT_1, unreadable={1: "no type"}),
        Settings(),
        Stage.UNKNOWN,
        "the Node's server is unknown: no type",
        id="a-server-that-could-not-be-read",
    ),
    pytest.param(
        a_lost_node("elsewhere", provider_id="aws://1", deleted_at=GOING, addresses=()),
        SERVERS,
        Settings(),
        Stage.FOREIGN,
        "providerID 'aws://1' belongs to another cloud",
        id="another-cloud-whatever-becomes-of-it",
    ),
    pytest.param(
        a_settled_node(labels={"lab": "yes"}),
        SERVERS,
        IGNORING,
        Stage.IGNORED,
        "ignored: matches lab=yes",
        id="ignored",
    ),
    pytest.param(
        a_lost_node(labels={"lab": "yes"}, deleted_at=GOING),
        WITHOUT_1,
        IGNORING,
        Stage.IGNORED,
        "ignored: matches lab=yes",
        id="ignored-whatever-becomes-of-it",
    ),
    pytest.param(
        a_settled_node(labels={"lab": "yes"}),
        SERVERS,
        replace(IGNORING, controllers=NEITHER.controllers),
        Stage.IGNORED,
        "ignored: matches lab=yes",
        id="ignored-and-left-to-others",
    ),
    pytest.param(
        a_node(),
        SERVERS,
        Settings(),
        Stage.UNCLAIMED,
        "the Node has neither a providerID nor the uninitialized taint, and is likely server 1 web-1 (by name); to have"
        " it managed, start its kubelet with --cloud-provider=external and let the Node register again",
        id="unclaimed",
    ),
]


@pytest.mark.parametrize(("node", "servers", "settings", "stage", "why"), CASES)
def test_stage(node: Node, servers: Section[int, Server], settings: Settings, stage: Stage, why: str) -> None:
    """A Node's stage is one word, and one sentence says why and what comes next."""
    found = explained(node, world(node, servers), settings)

    assert (found.stage, found.why) == (stage, why)


@pytest.mark.parametrize(("node", "servers", "settings", "stage", "why"), CASES)
def test_the_stage_agrees_with_the_desired_state(
    node: Node, servers: Section[int, Server], settings: Settings, stage: Stage, why: str
) -> None:
    """What a pass wants of a Node is what its stage says, and nothing is wanted in any other stage."""
    wanted, _ = desired_nodes(world(node, servers), settings)

    match wanted[node.name]:
        case UninitializedNode():
            assert stage in (Stage.JOINING, Stage.DELETING), why
        case InitializedNode():
            assert stage in (Stage.SETTLED, Stage.DELETING), why
        case OrphanedNode():
            assert stage is Stage.DEPARTING, why
        case UnmanagedNode() if settings.controllers == frozenset(Controller):
            assert stage not in (Stage.SETTLED, Stage.DEPARTING), why


def test_every_stage_has_a_case() -> None:
    """No stage is left out above."""
    assert {case.values[3] for case in CASES} == set(Stage)
