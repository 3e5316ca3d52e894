"""The guard ``node-blast-radius``: how many Nodes may go at once, and what an approval of more is worth."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from desired.guards.blast_radius import easing_of, last_of_control_plane, may_be_lost, node_blast_radius
from desired.model.settings import Settings, Waits
from desired.model.snapshot import Node, Readiness, Server, Snapshot
from desired.nodes.disruption import NodeLosses, losses_of
from desired.plan.change import GuardDecision, GuardName, Hold, HoldEnd, Plan, Verdict
from desired.planner import compute_plan
from desired.rules import guards as rows
from desired.rules.rule import Rule
from desired.section import Present, Section
from desired.syntax.provider_id import Provider
from desired.syntax.selector import parse_selector
from tests.builders import (
    NOW,
    SERVER_LABELS,
    a_fleet,
    a_joining_node,
    a_lost_node,
    a_node,
    a_settled_node,
    a_snapshot,
    incomplete,
    nodes_of,
    servers_of,
)
from tests.support.judging import facts_of, judge
from tests.support.rows import rows as cases

SPARED = Settings(ignore_nodes=parse_selector("spare"))
SPARE = {"spare": ""}
CONTROL_PLANE = SERVER_LABELS | {"node-role.kubernetes.io/control-plane": ""}
K3S = SERVER_LABELS | {"node-role.kubernetes.io/control-plane": "true"}
MASTER = SERVER_LABELS | {"node-role.kubernetes.io/master": ""}
READY = a_settled_node("z", 9)
LOST, CORDONED = a_lost_node("a", 1), a_lost_node("a", 1, unschedulable=True)


@pytest.mark.parametrize(
    ("nodes", "limit"), [(0, 1), (1, 0), (2, 1), (3, 1), (4, 1), (7, 1), (8, 2), (10, 2), (11, 2), (12, 3), (40, 10)]
)
def test_limit(nodes: int, limit: int) -> None:
    """A quarter of the Nodes may be lost, one at least, and none where there is but one."""
    assert may_be_lost(nodes) == limit


def of(nodes: int, *lost: str, unreadable: int = 0) -> NodeLosses:
    return NodeLosses(nodes, frozenset(f"node/{name}" for name in lost), unreadable)


UNREAD: Section[int, Server] = Section(a_fleet(READY).servers.items, unreadable={1: "no name"})
OTHERS = [
    a_node("a"),
    a_joining_node("b"),
    a_lost_node("c", provider_id="talos://c"),
    a_lost_node("d", provider_id="hrobot://1"),
    a_lost_node("e", provider_id="hcloud://-1"),
]
ONE_UNREAD = {"a": "no uid"}


@cases("snapshot expected", {
    "empty cluster": (a_fleet(), of(0)),
    "all there": (a_fleet(a_settled_node("a", 1), READY), of(2)),
    "lost": (a_fleet(LOST, READY, gone=[1]), of(2, "a")),
    "lost and still Ready": (a_fleet(a_settled_node("a", 1), READY, gone=[1]), of(2, "a")),
    "nothing proven yet": (a_fleet(LOST, READY, gone=[1], confirmations={}), of(2, "a")),
    "joining": (a_fleet(a_joining_node("a", provider_id="hcloud://1"), gone=[1]), of(1, "a")),
    "two of one server": (a_fleet(LOST, replace(LOST, name="b"), gone=[1]), of(2, "a", "b")),
    "announced": (a_fleet(CORDONED, READY, gone=[1]), of(2)),
    "ignored": (a_fleet(a_lost_node("a", 1, labels=SPARE), READY, gone=[1]), of(1)),
    "none of ours": (a_snapshot(OTHERS), of(0)),
    "unknown is not lost": (a_fleet(LOST, servers_section=incomplete(servers_of())), of(1)),
    "an unreadable server": (a_fleet(LOST, READY, servers_section=UNREAD), of(2, unreadable=1)),
    "of one announced": (a_fleet(CORDONED, READY, servers_section=UNREAD), of(2, unreadable=1)),
    "a stranger's": (a_fleet(READY, servers_section=UNREAD), of(1)),
    "an unreadable Node": (a_fleet(nodes_section=Section({"z": READY}, unreadable=ONE_UNREAD), servers_section=UNREAD),
        of(2, unreadable=1)),
    "beside a lost one": (a_fleet(nodes_section=Section({"b": a_lost_node("b", 1)}, unreadable=ONE_UNREAD)),
        of(2, "b", unreadable=1)),
})  # fmt: skip
def test_losses_of(snapshot: Snapshot, expected: NodeLosses) -> None:
    """Lost is every Node of ours whose server is absent unannounced, however little else is proven; what arrived and
    could not be read may be lost, so that doubt never frees a hold."""
    assert losses_of(Provider.CLOUD, snapshot, SPARED) == expected
    assert expected.value == len(expected.lost) + expected.unreadable


def test_how_long_until_a_silent_node_is_given_up_is_a_setting() -> None:
    """What counts as announced by its silence is up to the operator."""
    patient = Settings(waits=Waits(given_up_after=timedelta(minutes=5)))
    assert losses_of(Provider.CLOUD, a_fleet(LOST, READY, gone=[1]), patient) == of(2)


def silent(name: str, server_id: int, minutes: float, ready: Readiness = Readiness.UNKNOWN) -> Node:
    return a_lost_node(name, server_id, ready=ready, ready_since=NOW - timedelta(minutes=minutes))


HEARD = a_lost_node("a", 1, ready_since=NOW - timedelta(minutes=20), heartbeat=NOW)
NEVER_HEARD = a_lost_node("a", 1, ready=Readiness.MISSING, created_at=NOW - timedelta(minutes=3))
THREE = (silent("a", 1, 5), silent("b", 2, 28), silent("c", 3, 0))
STILL_READY = silent("a", 1, 29, Readiness.TRUE)


@cases("snapshot minutes", {
    "none lost": (a_fleet(READY), None),
    "one": (a_fleet(silent("a", 1, 5), READY, gone=[1]), 25),
    "the next of several": (a_fleet(*THREE, READY, gone=[1, 2, 3]), 2),
    "Ready ones never": (a_fleet(STILL_READY, silent("b", 2, 5), gone=[1, 2]), 25),
    "all of them Ready": (a_fleet(STILL_READY, gone=[1]), None),
    "one that is there": (a_fleet(silent("a", 1, 29), silent("b", 2, 5), gone=[2]), 25),
    "a transition in the future": (a_fleet(silent("a", 1, -60), gone=[1]), 90),
    "a heartbeat just now": (a_fleet(HEARD, gone=[1]), 30),
    "never reported": (a_fleet(NEVER_HEARD, gone=[1]), 27),
})  # fmt: skip
def test_eases_in(snapshot: Snapshot, minutes: float | None) -> None:
    """A hold is worth another look when the next lost Node has been silent for so long that it counts as announced."""
    due_in_s, _ = easing_of(losses_of(Provider.CLOUD, snapshot, Settings()), snapshot, Settings())
    assert due_in_s == (None if minutes is None else minutes * 60)


def test_a_hold_ends_by_itself_when_what_is_lost_is_few_of_what_is_left() -> None:
    """Three of eight are too many; two of the seven that are left when one is gone as well, and one of six is not."""
    rest = [a_settled_node(name, number) for number, name in enumerate("vwxyz", start=4)]
    lost = [silent("a", 1, 20), silent("b", 2, 10), silent("c", 3, 0)]
    snapshot = a_fleet(*lost, *rest, gone=[1, 2, 3])

    _, end = easing_of(losses_of(Provider.CLOUD, snapshot, Settings()), snapshot, Settings())

    assert end == HoldEnd("if all 3 stay NotReady", 20 * 60)


def head(name: str = "a", server_id: int = 1, **overrides: Any) -> Node:
    return a_lost_node(name, server_id, **{"labels": CONTROL_PLANE} | overrides)


SECOND = head("b", 2, labels=MASTER)
IGNORED = head("b", 2, labels=CONTROL_PLANE | SPARE)
ROBOTS = head("b", provider_id="hrobot://321")
BROKEN: Section[int, Server] = Section({}, unreadable={2: "no name"})


@cases("snapshot expected", {
    "workers only": (a_fleet(LOST, gone=[1]), ""),
    "the only one gone": (a_fleet(head(), READY, gone=[1]), "a"),
    "by the old name": (a_fleet(head(labels=MASTER), READY, gone=[1]), "a"),
    "whatever its value": (a_fleet(head(labels=K3S), READY, gone=[1]), "a"),
    "announced": (a_fleet(head(unschedulable=True), gone=[1]), "a"),
    "gone and still Ready": (a_fleet(head(ready=Readiness.TRUE), gone=[1]), "a"),
    "the only one there": (a_fleet(head(), READY), ""),
    "one of two gone": (a_fleet(head(), SECOND, gone=[1]), ""),
    "both gone": (a_fleet(head(), SECOND, READY, gone=[1, 2]), "ab"),
    "the other is being deleted": (a_fleet(head(), replace(SECOND, deleted_at=NOW), gone=[1]), "ab"),
    "the other is ignored": (a_fleet(head(), IGNORED, gone=[1, 2]), ""),
    "the other is another cloud's": (a_snapshot([head(), head("b", provider_id="talos://b")]), ""),
    "the other cannot be read": (a_snapshot([head(), SECOND], servers_section=BROKEN), "ab"),
    "the other is Robot's, without an account": (a_snapshot([head(), ROBOTS]), ""),
})  # fmt: skip
def test_last_of_control_plane(snapshot: Snapshot, expected: str) -> None:
    """The last ones are all that there are, once no server of theirs is known to exist; announcements do not matter."""
    assert last_of_control_plane(snapshot, SPARED) == {f"node/{name}" for name in expected}


HEAD, WORKER = head("head"), a_lost_node("worker", 2)
STANDBY = a_settled_node("standby", 9, labels=CONTROL_PLANE)
FLEET = [a_settled_node(f"n-{i}", i) for i in range(3, 6)]
UNREAD_3: Section[int, Server] = Section(a_fleet(*FLEET[1:]).servers.items, unreadable={3: "no name"})
NINE = [a_lost_node(f"n-{i}", i) if i < 3 else a_settled_node(f"n-{i}", i) for i in (1, 2, *range(4, 11))]
THIRD = a_lost_node("n-3", 3)
SEVEN_SERVERS = a_fleet(*NINE, gone=[1, 2]).servers
NODE_UNREAD = a_fleet(
    nodes_section=replace(nodes_of(*NINE), unreadable={"n-3": "no uid"}), servers_section=SEVEN_SERVERS, gone=[1, 2, 3]
)
SERVER_UNREAD = a_fleet(*NINE, THIRD, servers_section=replace(SEVEN_SERVERS, unreadable={3: "no name"}), gone=[1, 2])
BOTH_LOST, MAYBE = rows.NODES_AND_CONTROL_PLANE_LOST, rows.NODES_LOST_OR_UNREAD
ONE_STAYS, TWO_STAY, ALL_STAY = "if it stays NotReady", "if both stay NotReady", "if all 3 stay NotReady"
LAST = rows.CONTROL_PLANE_LOST
LOST_TWO = a_fleet(*(a_lost_node(f"n-{i}", i) for i in (1, 2)), *FLEET, gone=[1, 2])
AWAY = replace(STANDBY, unschedulable=True)
ANNOUNCED = replace(HEAD, unschedulable=True)


@cases("snapshot row names value limit end", {
    "two of five": (LOST_TWO, rows.NODES_LOST, "n-1 n-2", "2", "1", TWO_STAY),
    "three of ten": (a_fleet(*NINE, THIRD, gone=[1, 2, 3]), rows.NODES_LOST, "n-1 n-2 n-3", "3", "2", ALL_STAY),
    "two of ten, and a Node unreadable": (NODE_UNREAD, MAYBE, "n-1 n-2", "3", "2", TWO_STAY),
    "two of ten, and a server unreadable": (SERVER_UNREAD, MAYBE, "n-1 n-2", "3", "2", TWO_STAY),
    "too many at worst": (a_fleet(WORKER, *FLEET, servers_section=UNREAD_3), MAYBE, "worker", "2", "1", ONE_STAYS),
    "one of them still Ready": (a_fleet(HEAD, WORKER, *FLEET, STANDBY, gone=[2, 3]), rows.NODES_LOST, "worker", "2",
        "1", ONE_STAYS),
    "the last of the control plane among too many": (a_fleet(HEAD, WORKER, *FLEET, gone=[1, 2]), BOTH_LOST,
        "head worker", "2", "1", None),
    "announced among too many": (a_fleet(ANNOUNCED, WORKER, *FLEET, gone=[1, 2, 3]), BOTH_LOST, "head worker", "2", "1",
        None),
    "among too many that report": (a_fleet(ANNOUNCED, *FLEET, gone=[1, 3, 4]), BOTH_LOST, "head", "2", "1", None),
    "the last one alone": (a_fleet(HEAD, *FLEET, gone=[1]), LAST, "head", "1", "0", None),
    "announced and alone": (a_fleet(ANNOUNCED, *FLEET, gone=[1]), LAST, "head", "1", "0", None),
    "one of the last two is still Ready": (a_fleet(HEAD, AWAY, *FLEET, gone=[1, 9]), LAST, "head", "2", "1", None),
})  # fmt: skip
def test_too_many(snapshot: Snapshot, row: Rule, names: str, value: str, limit: str, end: str | None) -> None:
    """What is lost beyond the limit is held as one, and the last Node of the control plane with it or on its own, which
    no time ends."""
    plan = compute_plan(snapshot, Settings())
    (found,) = node_blast_radius(facts_of(plan, snapshot, Settings()))
    keys = tuple(f"node/{name}" for name in names.split())
    assert (found.row, found.keys, found.value, found.limit) == (row, keys, value, limit)
    assert (found.due_in_s, found.end) == ((1500.0, HoldEnd(end, 1500.0)) if end else (None, None))


def test_an_approval_of_the_control_plane_lasts() -> None:
    """The first deletion leaves another count of its Nodes, and names what the approval named."""
    rest = [a_settled_node(f"n-{i}", i) for i in range(3, 9)]
    before = a_fleet(HEAD, head("other", 2), *rest, gone=[1, 2])
    (hold,) = judged(before).holds
    assert (hold.value, hold.keys) == ("2", ("node/head", "node/other"))
    after = a_fleet(HEAD, *rest, gone=[1])
    allowed = judge(compute_plan(after, Settings()), after, Settings(), hold.names).allowed
    assert [change.key for change in allowed] == ["node/head"]


def test_the_last_of_the_control_plane_is_named_besides() -> None:
    """An approval of too many Nodes does not name the last that became so meanwhile, however many others joined."""
    others = [a_lost_node("w-1", 3), a_lost_node("w-2", 4), *(a_settled_node(f"n-{i}", i) for i in range(5, 9))]
    before = a_fleet(HEAD, STANDBY, *others, gone=[1, 3, 4])
    (hold,) = judged(before).holds
    assert hold.keys == ("node/head", "node/w-1", "node/w-2")
    after = a_fleet(HEAD, AWAY, *others[2:], a_settled_node("n-10", 10), gone=[1, 9])
    plan = judge(compute_plan(after, Settings()), after, Settings(), hold.names)
    assert [(each.keys, each.approved) for each in plan.holds] == [(("node/head",), False)]


@cases("snapshot", {
    "two of ten": a_fleet(*NINE, a_settled_node("n-3", 3), gone=[1, 2]),
    "one of four": a_fleet(WORKER, *FLEET, gone=[2]),
    "none is to be deleted": a_fleet(*FLEET, gone=[3, 4]),
})  # fmt: skip
def test_few_enough(snapshot: Snapshot) -> None:
    """A loss within the limit withholds no deletion, and where no Node is to be deleted there is nothing to hold."""
    assert judged(snapshot).holds == ()


def losing(*gone: int, **lost: Any) -> Snapshot:
    """Five Nodes, of which those whose servers are ``gone`` are silent and have ``lost`` fields."""
    nodes = [a_lost_node(f"n-{i}", i, **lost) if i in gone else a_settled_node(f"n-{i}", i) for i in range(1, 6)]
    return a_fleet(*nodes, gone=gone)


TWO = losing(1, 2)
BOTH = ("node/n-1", "node/n-2")


def judged(snapshot: Snapshot, *approved: str) -> Plan:
    return judge(compute_plan(snapshot, Settings()), snapshot, Settings(), approved)


def the_hold(snapshot: Snapshot) -> Hold:
    """The world's one hold."""
    (hold,) = judged(snapshot).holds
    return hold


def rulings(plan: Plan, keys: Sequence[str] = BOTH) -> set[tuple[Verdict, str | None]]:
    return {(plan.by_key[key].decision.verdict, plan.by_key[key].decision.rule) for key in keys}


def test_what_a_hold_says() -> None:
    """A hold names what was counted, the limit, all that it holds, and when time alone will have mended it."""
    hold, said = the_hold(TWO), rows.NODES_LOST.text(lost=2, most=5, limit=1, wait="30 minutes")
    why, _, advice = said.partition("; ")
    rule, end = GuardName.NODE_BLAST_RADIUS, HoldEnd("if both stay NotReady", 1500.0)
    assert hold == Hold(hold.hash, rule, "2", "1", BOTH, why, advice=advice, end=end, names=hold.names)
    decisions = [change.decision for change in judged(TWO).changes]
    assert decisions == [GuardDecision(Verdict.HELD, rule, said, due_in_s=1500.0)] * 2


def test_an_approved_hold_lets_its_deletions_pass() -> None:
    """What a person has approved goes, and the hold is still shown."""
    plan = judged(TWO, the_hold(TWO).hash)
    assert plan.holds == (replace(the_hold(TWO), approved=True),)
    assert rulings(plan) == {(Verdict.ALLOWED, None)}


@cases("snapshot doubt", {
    "not asked": (replace(TWO, confirmations={}), rows.LOOKUP_PENDING.text(server="server 1")),
    "too young": (losing(1, 2, created_at=NOW), rows.NODE_TOO_YOUNG.text(wait="120 s")),
})  # fmt: skip
def test_an_approved_hold_leaves_the_proof_to_be_had(snapshot: Snapshot, doubt: str) -> None:
    """An approval speaks for the number of Nodes, and proves nothing of any one of them."""
    plan = judged(snapshot, the_hold(snapshot).hash)
    assert rulings(plan) == {(Verdict.WAITING, "absence-proof")}
    assert plan.by_key["node/n-1"].decision.why == doubt


def test_losing_all_of_an_unwitnessed_project_takes_two_approvals() -> None:
    """That no Node is Ready, and nothing of the cluster was found, is another question than how many are lost."""
    everything = losing(1, 2, 3, 4, 5)
    losses, anchor = judged(everything).holds
    assert rulings(judged(everything, anchor.hash)) == {(Verdict.HELD, "node-blast-radius")}
    assert rulings(judged(everything, losses.hash)) == {(Verdict.HELD, "project-anchor")}
    assert rulings(judged(everything, anchor.hash, losses.hash)) == {(Verdict.ALLOWED, None)}


NINTH = a_lost_node("n-9", 9, unschedulable=True)


@cases("other is_same", {
    "in another order": (a_fleet(*reversed([*TWO.nodes]), gone=[2, 1]), True),
    "later": (replace(TWO, taken_at=NOW + timedelta(minutes=1)), True),
    "proven or not": (replace(TWO, confirmations={}), True),
    "another is announced": (a_fleet(*TWO.nodes, NINTH, gone=[1, 2, 9]), True),
    "another has joined": (a_fleet(*TWO.nodes, READY, gone=[1, 2]), True),
    "one more": (losing(1, 2, 3), False),
    "another one": (losing(1, 3), False),
    "registered anew": (losing(1, 2, uid="registered-anew"), False),
    "created anew": (losing(1, 2, created_at=NOW - timedelta(hours=1)), False),
    "Ready in between": (losing(1, 2, ready_since=NOW - timedelta(minutes=1)), False),
    "of another cluster": (replace(TWO, cluster_uid=Present("another")), False),
})  # fmt: skip
def test_the_same_hold(other: Snapshot, is_same: bool) -> None:
    """An approval fits as long as the same Nodes are held for the same loss, whatever else happens."""
    assert (the_hold(other).hash == the_hold(TWO).hash) is is_same
