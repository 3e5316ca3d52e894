"""When a server counts as gone, and which servers are asked for by id (``absence-proof``)."""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

from desired.guards.absence import absence_proof, doubt_about, missing_servers, servers_to_confirm
from desired.guards.guard import GuardResult
from desired.model.load_balancer import ServerTarget
from desired.model.settings import Settings, Waits
from desired.model.snapshot import AddressType, Node, NodeAddress, Readiness, RobotAccount, Snapshot
from desired.plan.change import Change, Plan, Verdict
from desired.plan.evidence import Evidence, ServerGone
from desired.planner import compute_plan
from desired.rules import guards as rows
from desired.rules.rule import Rule
from desired.section import Absent, Section, Unknown
from desired.syntax.provider_id import Provider
from tests.balancers import DEFAULT_NAME, LOCATED, a_balancer, a_served_service, a_world
from tests.builders import (
    NOW,
    a_change,
    a_fleet,
    a_joining_node,
    a_loss,
    a_lost_node,
    a_server,
    a_settled_node,
    a_snapshot,
    an_identity,
    in_cloud,
    in_robot,
    incomplete,
)
from tests.routes import (
    ROUTING,
    a_member,
    a_pod_network,
    a_pod_node,
    a_pod_server,
    a_route,
    a_routed_world,
    gateway_of,
    pods_of,
)
from tests.support.balancer_verdicts import judged
from tests.support.judging import facts_of
from tests.support.rows import rows as cases

Answers = Mapping[int, Absent | Unknown]
HOUR = timedelta(hours=1)
NO_WAITS = Waits(timedelta(0), timedelta(0), timedelta(0))
GONE: Answers = {1: Absent()}


def ago(seconds: float) -> datetime:
    return NOW - timedelta(seconds=seconds)


def since(created: float, silent: float) -> Node:
    return a_lost_node(created_at=ago(created), ready_since=ago(silent))


def young(due_in_s: float, wait: str = "120 s") -> GuardResult:
    return GuardResult.of(rows.NODE_TOO_YOUNG, ("node/web-1",), {"wait": wait}, due_in_s=due_in_s)


def recent(due_in_s: float, wait: str = "20 s") -> GuardResult:
    return GuardResult.of(rows.NOT_READY_TOO_SHORT, ("node/web-1",), {"wait": wait}, due_in_s=due_in_s)


def in_vain(why: str) -> GuardResult:
    return GuardResult.of(rows.LOOKUP_FAILED, ("node/web-1",), {"server": "server 1", "error": why})


PENDING = GuardResult.of(rows.LOOKUP_PENDING, ("node/web-1",), {"server": "server 1"}, due_in_s=5.0)
UNBORN = a_lost_node(ready=Readiness.MISSING, created_at=ago(10))
UNDATED = a_lost_node(ready_since=None, created_at=ago(15))


def deletion(node: Node) -> Change:
    return a_change("node/web-1", "node.delete", before=a_loss(node))


@cases("node answers waits expected", {
    "to-the-second": (since(120, 20), GONE, Waits(), None),
    "too-young-by-a-second": (since(119, 20), GONE, Waits(), young(1)),
    "silent-too-shortly": (since(500, 19.5), GONE, Waits(), recent(0.5)),
    "both-and-the-other-is-the-longer": (since(119, 2), GONE, Waits(), recent(18)),
    "both-equally-long": (since(110, 10), GONE, Waits(), young(10)),
    "transition-in-the-future": (since(500, -3600), GONE, Waits(), recent(3620)),
    "never-reported-and-young": (UNBORN, GONE, Waits(), young(110)),
    "no-transition-counts-from-creation": (UNDATED, GONE, Waits(), young(105)),
    "not-asked-by-id": (a_lost_node(), {}, Waits(), PENDING),
    "answered-500": (a_lost_node(), {1: Unknown("500: x")}, Waits(), in_vain("500: x")),
    "too-young-to-be-asked-for": (since(119, 20), {}, Waits(), young(1)),
    "no-wait-mends-a-failure": (since(119, 20), {1: Unknown("500")}, Waits(), in_vain("500")),
    "no-waits": (since(1, 1), GONE, NO_WAITS, None),
    "age-set": (since(1, 1), GONE, Waits(timedelta(0), timedelta(seconds=10)), young(9, "10 s")),
    "wait-set": (since(1, 1), GONE, Waits(timedelta(minutes=1.5), timedelta(0)), recent(89, "90 s")),
})  # fmt: skip
def test_the_deletion_of_a_node(node: Node, answers: Answers, waits: Waits, expected: GuardResult | None) -> None:
    snapshot = a_snapshot([node], confirmations=answers)
    found = list(absence_proof(facts_of(Plan((deletion(node),)), snapshot, Settings(waits=waits))))
    assert found == ([expected] if expected else [])


def test_a_deletion_without_proof_waits_for_ever() -> None:
    change = a_change("node/web-1", "node.delete", before=an_identity())
    found = list(absence_proof(facts_of(Plan((change,)), a_snapshot(confirmations=GONE), Settings())))
    assert found == [GuardResult.of(rows.ABSENCE_UNPROVEN, (change.key,))]


@cases("evidence age row", {
    "robot-as-old-as-it-may-be": (ServerGone(in_robot(321)), timedelta(minutes=2), None),
    "robot-older": (ServerGone(in_robot(321)), timedelta(seconds=121), rows.LIST_TOO_OLD),
    "of-no-matter-to-the-cloud": (ServerGone(in_cloud(1)), HOUR, None),
    "listed": (ServerGone(in_cloud(2)), HOUR, rows.SERVER_EXISTS),
})  # fmt: skip
def test_a_list_of_robot_that_is_kept(evidence: Evidence, age: timedelta, row: Rule | None) -> None:
    """In the minutes for which it is kept the server may have come back: an old list proves nothing."""
    robot = RobotAccount(Section(), age, {321: Absent()})
    world = a_snapshot(servers=[a_server(2)], robot=robot, confirmations={**GONE, 2: Absent()})
    doubt = doubt_about(evidence, world, Settings())
    assert (doubt and doubt.row) is row


ALLOWED, STAYS = (Verdict.ALLOWED, None, "", None), None
SOON = (Verdict.WAITING, "absence-proof", rows.LOOKUP_PENDING.text(server="server 2"), 5.0)
IN_VAIN = (Verdict.WAITING, "absence-proof", rows.LOOKUP_FAILED.text(server="server 2", error="500"), None)
LIVES = (
    Verdict.WAITING,
    "target-health",
    rows.NEWCOMERS_UNCHECKED.text(balancer=f"load balancer 42 {DEFAULT_NAME}"),
    15,
)
PROVEN, FAILED = {2: Absent()}, {2: Unknown("500")}


def decision(snapshot: Snapshot, settings: Settings, key: str) -> Any:
    """Verdict, rule, reason and due time of the change with this key; None where there is none."""
    change = judged(snapshot, settings).by_key.get(key)
    found = change and change.decision
    return found and (found.verdict, found.rule, found.why, found.due_in_s)


def dead_targets(*numbers: int, nodes: Iterable[Node] = (), **overrides: Any) -> Snapshot:
    """These servers are targets, and in no list. Server 1 is there, and Node web-1 on it Ready, and so much else."""
    targets = [ServerTarget(number, use_private_ip=False) for number in (1, *numbers)]
    balancer = a_balancer(targets=targets)
    return a_world([a_served_service()], [balancer], nodes=[a_settled_node(), *nodes], **overrides)


SILENT = [a_lost_node("web-2", 2)]
ALIVE = [a_server(), a_server(2, "web-2"), a_server(3, "web-3")]


@cases("snapshot expected", {
    "a silent Node, and no answer": (dead_targets(2, nodes=SILENT), SOON),
    "no Node, and no answer": (dead_targets(2), SOON),
    "a silent Node, and it is gone": (dead_targets(2, nodes=SILENT, confirmations=PROVEN), ALLOWED),
    "no Node, and it is gone": (dead_targets(2, confirmations=PROVEN), ALLOWED),
    "the question failed": (dead_targets(2, nodes=SILENT, confirmations=FAILED), STAYS),
    "a Ready Node": (dead_targets(2, nodes=[a_settled_node("web-2", 2)]), STAYS),
    "a server that lives": (dead_targets(2, nodes=[a_settled_node("web-3", 3)], servers=ALIVE), LIVES),
})  # fmt: skip
def test_targets(snapshot: Snapshot, expected: Any) -> None:
    assert decision(snapshot, LOCATED, "load_balancer/default/web/target/server:2") == expected


def with_route(*nodes: Node, servers: Iterable[int] = (1,), **overrides: Any) -> Snapshot:
    """A route to the pods of web-2 by the address of server 2, which no list shows. Node web-1 is in order."""
    there = [a_pod_server(number) for number in servers]
    return a_routed_world([a_pod_node(1), *nodes], there, [a_route(1), a_route(2)], **{"members": []} | overrides)


BY_2 = (NodeAddress(AddressType.INTERNAL_IP, gateway_of(2)),)
BY_3 = (NodeAddress(AddressType.INTERNAL_IP, gateway_of(3)),)
OWNER = a_pod_node(2, conditions=SILENT[0].conditions, created_at=SILENT[0].created_at)
MOVED, STRANGE, ELSEWHERE = (
    replace(OWNER, pod_cidrs=()),
    replace(OWNER, addresses=()),
    replace(a_pod_node(3), addresses=BY_2),
)
REPLACED = a_pod_node(2, provider_id="hcloud://3", addresses=BY_3)
SAYS_2 = replace(a_pod_network(), server_ids=frozenset({1, 2}))
SAYS_1 = replace(a_pod_network(), server_ids=frozenset({1}))
ON_3 = with_route(REPLACED, servers=(1, 3))
GAP = (
    Verdict.WAITING,
    "absence-proof",
    rows.SERVERS_INCOMPLETE.text(error=incomplete(ON_3.servers).why_incomplete or ""),
    None,
)


@cases("snapshot expected", {
    "its Node is silent, and no answer": (with_route(OWNER), SOON),
    "its Node is silent, and it is gone": (with_route(OWNER, confirmations=PROVEN), ALLOWED),
    "the question failed": (with_route(OWNER, confirmations=FAILED), IN_VAIN),
    "a Node reports the gateway, and has other pods": (with_route(MOVED), SOON),
    "a Node has the pods, and reports no address": (with_route(STRANGE), SOON),
    "all in the network are listed": (with_route(network=SAYS_1), ALLOWED),
    "one is in the network and in no list": (with_route(network=SAYS_2), SOON),
    "and that one is gone": (with_route(network=SAYS_2, confirmations=PROVEN), ALLOWED),
    "a listed server's Node reports it": (with_route(ELSEWHERE, servers=(1, 3)), ALLOWED),
    "that, and one is in no list": (with_route(ELSEWHERE, servers=(1, 3), network=SAYS_2), SOON),
    "a member has it": (with_route(members=[a_member(gateway_of(2), 2)]), STAYS),
    "replaced, and no former holder is known": (ON_3, ALLOWED),
    "replaced, and one is in no list": (with_route(REPLACED, servers=(1, 3), network=SAYS_2), SOON),
    "replaced, and gone": (with_route(REPLACED, servers=(1, 3), network=SAYS_2, confirmations=PROVEN), ALLOWED),
    "replaced, and the list has a gap": (replace(ON_3, servers=incomplete(ON_3.servers)), GAP),
})  # fmt: skip
def test_routes(snapshot: Snapshot, expected: Any) -> None:
    """A route goes, or gets another gateway, when every server that may have been behind it is proven gone."""
    assert decision(snapshot, ROUTING, f"route/4/{pods_of(2)}") == expected


CORDONED = [a_lost_node("b", 5, unschedulable=True)]
OF_OTHERS = a_routed_world([a_pod_node(1)], [a_pod_server(1)], [a_route(1), a_route("192.168.0.0/24", "10.0.0.77")])
JOINING = [a_joining_node("new", provider_id="hcloud://9")]


LOST, READY = a_lost_node("a", 1), a_settled_node("z", 9)
UNREADABLE = replace(a_fleet(READY).servers, unreadable={1: "no name"})
FIVE = a_fleet(
    a_lost_node("a", 1, ready_since=ago(500)),
    a_lost_node("b", 2, ready_since=ago(400), unschedulable=True),
    a_lost_node("c", 3, ready_since=ago(300)),
    a_lost_node("d", 4, ready_since=ago(200), unschedulable=True),
    a_lost_node("e", 5, ready_since=ago(1800)),
    gone=[1, 2, 3, 4, 5],
)
TWINS_AND_ONE = a_fleet(
    a_lost_node("a", 1, ready_since=ago(300), unschedulable=True),
    a_lost_node("b", 1, ready_since=ago(300)),
    a_lost_node("c", 2, ready_since=ago(540)),
    gone=[1, 2],
)


def one(**overrides: Any) -> Snapshot:
    return a_fleet(a_lost_node("a", 1, **overrides), READY, gone=[1])


def only(*keys: str) -> Settings:
    return replace(LOCATED, only=keys)


@cases("snapshot settings expected", {
    "proven but for the question": (one(), LOCATED, (1,)),
    "its server is there": (a_fleet(LOST, READY), LOCATED, ()),
    "more urgent of both Nodes of a server": (TWINS_AND_ONE, LOCATED, (1, 2)),
    "too young": (one(created_at=ago(119)), LOCATED, ()),
    "too young, and no waits": (one(created_at=ago(119)), replace(LOCATED, waits=NO_WAITS), (1,)),
    "a list with a gap": (a_fleet(LOST, READY, servers_section=incomplete(a_fleet(READY).servers)), LOCATED, ()),
    "there and unreadable": (a_fleet(LOST, READY, servers_section=UNREADABLE), LOCATED, ()),
    "announced and given up first": (FIVE, LOCATED, (5, 2, 4, 1, 3)),
    "named by --only before all": (FIVE, only("node/c"), (3, 5, 2, 4, 1)),
    "targets of no Node": (dead_targets(9, 7), LOCATED, (7, 9)),
    "targets before Nodes": (dead_targets(9, nodes=[a_lost_node("a", 9), a_lost_node("b", 5)]), LOCATED, (9, 5)),
    "announced Nodes before targets": (dead_targets(9, nodes=CORDONED), LOCATED, (5, 9)),
    "only the Service": (dead_targets(9, nodes=CORDONED), only("service/default/web"), (9, 5)),
    "only the load balancer": (dead_targets(9, nodes=CORDONED), only("load_balancer/default/web"), (9, 5)),
    "a target whose Node reports": (dead_targets(9, nodes=[a_settled_node("a", 9)]), LOCATED, ()),
    "a target whose Node joins": (dead_targets(9, nodes=JOINING), LOCATED, (9,)),
    "a route": (with_route(OWNER), ROUTING, (2,)),
    "a route outside of the cluster CIDR": (OF_OTHERS, ROUTING, ()),
})  # fmt: skip
def test_servers_to_confirm(snapshot: Snapshot, settings: Settings, expected: tuple[int, ...]) -> None:
    """Each server once whose answer is all that a proof lacks: first those that may go without a person's word, then
    the longest silent."""
    assert servers_to_confirm(compute_plan(snapshot, settings), snapshot, settings, Provider.CLOUD) == expected


def test_missing_servers() -> None:
    """A capture asks for all that load balancers and the network name, and the list lacks."""
    assert missing_servers(dead_targets(9)) == (9,)
    assert missing_servers(with_route(network=SAYS_2)) == (2,)
    assert missing_servers(with_route()) == ()
