"""What waits until the project is known to be the cluster's (``project-anchor``). ``test_anchor`` has what tells it."""

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from desired.guards.anchor import anchor_of
from desired.guards.guard import GuardResult
from desired.guards.project import anchor_notes, project_anchor, robot_anchor_notes
from desired.model.load_balancer import CloudBalancer, IpTarget
from desired.model.route import NetworkCondition
from desired.model.settings import Settings
from desired.model.snapshot import Node, Readiness, RobotAccount, Server, Snapshot
from desired.plan.change import Change, Plan
from desired.plan.notes import Note
from desired.rules import guards as rows
from desired.rules.rule import Plain, Rule
from desired.section import Present, Section, Unknown
from desired.syntax.bounds import counted
from desired.syntax.provider_id import Provider
from desired.syntax.selector import parse_selector
from tests.balancers import a_balancer
from tests.builders import (
    a_change,
    a_joining_node,
    a_lost_node,
    a_network,
    a_server,
    a_settled_node,
    a_snapshot,
    an_identity,
    incomplete,
    servers_of,
)
from tests.support.judging import facts_of
from tests.support.keys import key_of
from tests.support.rows import rows as cases

LB = "load_balancer/ns/a"
MISSING: Section[int, Server] = Section.missing("401")
DELETE, INITIALISE, TYPE = a_change("node/old", "node.delete"), a_change(), a_change(f"{LB}/type", "lb.type")
SERVICE = a_change("service/ns/a/status", "service.status", before=(), after=("203.0.113.9",))
DERIVED = Plan((DELETE, INITIALISE, TYPE, SERVICE)).changes
"""What a Service is given follows from load balancers."""
KEYS = tuple(change.key for change in DERIVED)
FOREIGN = a_change("node/talos/labels", "node.labels", after=an_identity("talos://x"))
ROBOT = a_change("node/robot", "node.delete", before=an_identity("hrobot://7"))
NETWORKED = a_change("node/web-1/network", "node.network_condition", after=NetworkCondition("True", "NoRoute"))
"""Of a Node that has no providerID yet: it follows from the network all the same."""


def said(changes: Iterable[Change], snapshot: Snapshot, settings: Settings | None = None) -> list[GuardResult]:
    plan = Plan((*changes, ROBOT, FOREIGN))
    return list(project_anchor(facts_of(plan, snapshot, settings or Settings())))


def noted(snapshot: Snapshot, settings: Settings | None = None, witnesses: Iterable[str] = ()) -> tuple[Note, ...]:
    return anchor_notes(anchor_of(Provider.CLOUD, snapshot, settings or Settings()), tuple(witnesses))


def cluster(found: int, gone: int, servers: Section[int, Server] | None = None) -> Snapshot:
    """A cluster of Ready Nodes of which so many servers are found and so many are not, and of one that is lost."""
    nodes = [a_lost_node("old", 99), *(a_settled_node(f"n-{i}", i) for i in range(1, found + gone + 1))]
    whole = servers_of(*(a_server(i, f"n-{i}") for i in range(1, found + 1)))
    return a_snapshot(nodes, servers_section=whole if servers is None else servers)


def mismatch(found: int, most: int, keys: tuple[str, ...] = KEYS) -> list[GuardResult]:
    """The hold of a violated anchor."""
    facts = {"found": found, "most": most, "needed": (most + 1) // 2}
    held = GuardResult.of(rows.PROJECT_MISMATCH, keys, facts, value=found, limit=(most + 1) // 2)
    return [held.leaving(found, of="project")]


UNREAD: dict[str, Plain] = {"project": "the project of HCLOUD_TOKEN", "found": 1, "needed": 2, "unread": 2}
HALF_READ = incomplete(servers_of(a_server(1)))


@cases("snapshot expected", {
    "all-found": (cluster(2, 0), []),
    "half-found": (cluster(1, 1), []),
    "fewer-than-half-found": (cluster(1, 2), mismatch(1, 3)),
    "the-only-node-is-not-found": (cluster(0, 1), mismatch(0, 1)),
    "another-project": (cluster(0, 3, servers_of(a_server(9, "stranger"))), mismatch(0, 3)),
    "enough-read-although-the-list-is-incomplete": (cluster(1, 1, HALF_READ), []),
    "too-little-read": (cluster(1, 2, HALF_READ), [GuardResult.of(rows.PROJECT_UNVERIFIED, KEYS, UNREAD)]),
})  # fmt: skip
def test_ready_nodes(snapshot: Snapshot, expected: list[GuardResult]) -> None:
    """Whatever derives from the cloud is held unless half of the Ready Nodes are found in it; the rest is not."""
    assert said(DERIVED, snapshot) == expected


@cases("found gone unreadable held", {
    "half-found-at-worst": (2, 1, 1, ()),
    "fewer-at-worst": (1, 1, 1, (DELETE.key,)),
    "all-found-and-more-unreadable": (3, 0, 4, (DELETE.key,)),
})  # fmt: skip
def test_removals_wait_for_a_certain_anchor(found: int, gone: int, unreadable: int, held: tuple[str, ...]) -> None:
    """Where Nodes could not be read an anchor that holds lets additions pass, and removals once it holds at worst."""
    read = cluster(found, gone)
    nodes = replace(read.nodes, unreadable={f"u-{i}": "no uid" for i in range(unreadable)})
    waits = GuardResult.of(rows.REMOVALS_UNVERIFIED, held, {"nodes": counted(unreadable, "Node")})
    assert said(DERIVED, replace(read, nodes=nodes)) == ([waits] if held else [])


DOWN = a_settled_node("old", 1, ready=Readiness.FALSE)
ALIVE = a_settled_node("b", 2, ready=Readiness.FALSE)
BY_ID = Present(a_network(4))


@cases("nodes servers network setting unfound", {
    "nothing-found": ([DOWN], [], Present(None), None, 1),
    "being-born": ([a_joining_node()], [9], Present(None), None, 0),
    "server": ([DOWN, ALIVE], [2], Present(None), None, 0),
    "a-strangers-server": ([DOWN, a_joining_node()], [9], Present(None), None, 1),
    "network-by-id": ([DOWN], [], BY_ID, "4", 0),
})  # fmt: skip
def test_without_a_ready_node(
    nodes: list[Node], servers: list[int], network: Any, setting: str | None, unfound: int
) -> None:
    """With none of our Nodes found either, nothing passes without one thing of this cluster in the project."""
    snapshot = a_snapshot(nodes, [a_server(i) for i in servers], network=network)
    facts = {"found": 0, "most": unfound, "needed": 1}
    keys = [change.key for change in Plan((*DERIVED, NETWORKED)).changes]
    expected = GuardResult.of(rows.PROJECT_UNKNOWN, keys, facts, value=0, limit=1)
    assert said((*DERIVED, NETWORKED), snapshot, Settings(network=setting)) == ([expected] if unfound else [])


def test_a_cluster_that_is_being_born() -> None:
    """It adds without a witness, and removes nothing without one."""
    snapshot, remove = a_snapshot([a_joining_node()], [a_server()]), a_change(LB, "lb.delete")
    expected = GuardResult.of(rows.PROJECT_EMPTY, (LB,), value=0, limit=1)
    assert said([INITIALISE, TYPE, remove], snapshot) == [expected]
    assert said([INITIALISE], snapshot) == []


@cases("parts row", {
    "servers": ({"servers_section": MISSING}, rows.PROJECT_UNVERIFIED),
    "memory": ({"remembered": Unknown("403")}, rows.PROJECT_IDS_UNREAD),
})  # fmt: skip
def test_a_cluster_of_which_too_little_was_read(parts: dict[str, Any], row: Rule) -> None:
    """What could not be read may be the witness: nobody is asked to approve anything, and nothing passes."""
    assert [(found.row, found.keys) for found in said(DERIVED, a_snapshot([DOWN], **parts))] == [(row, KEYS)]


SPARED = Settings(ignore_nodes=parse_selector("example.com/spare"))
SPARE = [a_settled_node(f"s-{i}", i, labels={"example.com/spare": ""}) for i in (7, 8)]
WITH_SPARE = a_snapshot([a_settled_node("n-1", 1), *SPARE], [a_server(1)])


def test_an_ignored_node_is_no_part_of_the_anchor() -> None:
    """Whoever takes the Nodes out of everything whose servers are elsewhere has an anchor that holds."""
    assert said(DERIVED, WITH_SPARE, SPARED) == []
    assert [found.row for found in said(DERIVED, WITH_SPARE)] == [rows.PROJECT_MISMATCH]


PROJECT = key_of("project/cloud")


@cases("snapshot witnesses expected", {
    "violated": (cluster(0, 2), (), rows.PROJECT_MISMATCH.note(PROJECT, found=0, most=2, needed=1)),
    "holds": (cluster(1, 1), (), None),
    "undetermined": (cluster(0, 1, MISSING), (), None),
    "being-born": (a_snapshot([a_joining_node()]), (), None),
    "unfound": (a_snapshot([DOWN, ALIVE]), (), rows.PROJECT_UNKNOWN.note(PROJECT, found=0, most=2)),
    "unfound-and-witnessed": (a_snapshot([DOWN, ALIVE]), ("network/4",), None),
    "unfound-and-unread": (a_snapshot([DOWN], servers_section=MISSING), (), None),
})  # fmt: skip
def test_what_is_said_of_an_empty_plan(snapshot: Snapshot, witnesses: tuple[str, ...], expected: Note | None) -> None:
    """That the project seems to be another one is a finding of its own, even when it holds nothing."""
    assert noted(snapshot, witnesses=witnesses) == ((expected,) if expected else ())


def test_a_change_whose_sides_say_nothing_is_derived_from_its_node() -> None:
    """Changes of every shape that serve one of our Nodes are under the anchor, those of another cloud's are not."""
    ours = a_change("node/n-1/shutdown", "node.shutdown_taint", owner="node/n-1")
    foreign = a_change("node/edge/shutdown", "node.shutdown_taint", owner="node/edge")
    assert said([ours, foreign], cluster(0, 2)) == mismatch(0, 2, (ours.key,))


METAL = [a_settled_node(f"m-{i}", provider_id=f"hrobot://{i}") for i in (1, 2, 3)]
BY_ADDRESS = {"before": None, "after": IpTarget("203.0.113.7"), "cloud_id": 42}
COMES, MOVES = a_change(f"{LB}/target/ip", "lb.target", **BY_ADDRESS), a_change("node/m-1/labels", "node.labels")
BACK = a_balancer(42, targets=(IpTarget("203.0.113.7"),))


def metal(servers: Section[int, Server], *, balancers: Iterable[CloudBalancer] = (), down: bool = False) -> Snapshot:
    """Three Nodes on dedicated servers, and one in the cloud that is in order; of the account these were read."""
    nodes = [replace(node, conditions=()) if down else node for node in METAL]
    listed = Section({balancer.id: balancer for balancer in balancers})
    cloud = a_snapshot([a_settled_node("n-1", 1), *nodes], [a_server(1, "n-1")], robot=RobotAccount(servers))
    return replace(cloud, load_balancers=listed)


def of_robot(row: Rule, *keys: str, **measured: Any) -> list[GuardResult]:
    """What is said of the account."""
    unread, found = UNREAD | {"project": "the account of ROBOT_USER"}, {"found": 1, "most": 3, "needed": 2}
    return [GuardResult.of(row, keys, found if row is rows.ROBOT_MISMATCH else unread, **measured)]


ONE, ALL_3 = servers_of(a_server(1)), servers_of(*(a_server(i) for i in (1, 2, 3)))
HELD = of_robot(rows.ROBOT_MISMATCH, COMES.key, MOVES.key, value=1, limit=2)
MISMATCH = [each.leaving(1, of="account") for each in HELD]


@cases("snapshot expected", {
    "all-found": (metal(ALL_3), []),
    "fewer-than-half-found": (metal(ONE), MISMATCH),
    "not-read": (replace(metal(ONE), robot=None), []),
    "too-little-read": (metal(incomplete(ONE)), of_robot(rows.PROJECT_UNVERIFIED, COMES.key, MOVES.key)),
    "a-target-that-comes-back-was-one-before": (metal(ONE, balancers=[BACK]),
        [replace(MISMATCH[0], keys=(MOVES.key,))]),
    "a-target-that-was-none-before": (metal(ONE, balancers=[a_balancer(42)]), MISMATCH),
    "one-is-enough-where-none-is-ready": (metal(ONE, down=True), []),
})  # fmt: skip
def test_the_account_of_robot(snapshot: Snapshot, expected: list[GuardResult]) -> None:
    """What derives from dedicated servers, addresses as targets included, is held by an anchor of its own."""
    found = project_anchor(facts_of(Plan((COMES, MOVES)), snapshot, Settings()))
    assert [each for each in found if each.keys] == expected


def test_what_is_said_of_the_account() -> None:
    """It is a finding of its own, even when it holds nothing."""
    assert robot_anchor_notes(anchor_of(Provider.ROBOT, metal(ALL_3), Settings())) == ()
    note = rows.ROBOT_MISMATCH.note(key_of("project/robot"), found=1, most=3, needed=2)
    assert robot_anchor_notes(anchor_of(Provider.ROBOT, metal(ONE), Settings())) == (note,)
