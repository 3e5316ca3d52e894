"""The guards ``node-blast-radius`` and ``address-blast-radius``: how many Nodes, or their addresses, may go at once."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from desired.guards.blast_radius import easing_of, last_of_control_plane, may_be_lost, node_blast_radius
from desired.model.clocks import LOOK_AGAIN_S, Clocks
from desired.model.route import UNROUTED
from desired.model.settings import Settings, Waits
from desired.model.snapshot import AddressType, Network, Node, NodeAddress, Readiness, RobotAccount, Server, Snapshot
from desired.nodes.disruption import NodeLosses, losses_of
from desired.plan.change import GuardName, HoldEnd, Plan, Verdict
from desired.plan.notes import Note, NoteKind
from desired.planner import compute_plan
from desired.rules import guards as rows
from desired.rules.rule import Rule
from desired.section import Absent, Present, Section
from desired.syntax.provider_id import Provider
from desired.syntax.selector import parse_selector
from tests.builders import (
    NOW,
    SERVER_LABELS,
    UNINITIALIZED,
    a_fleet,
    a_joining_node,
    a_lost_node,
    a_network,
    a_node,
    a_robot_server,
    a_server,
    a_settled_node,
    a_snapshot,
    incomplete,
    nodes_of,
    servers_of,
)
from tests.routes import ROUTING, a_pod_network, a_pod_node, a_pod_server, a_routed_world, gateway_of
from tests.support.balancer_verdicts import judged
from tests.support.judging import facts_of, judge
from tests.support.rows import rows as cases

SPARED = Settings(ignore_nodes=parse_selector("spare"))
SPARE = {"spare": ""}
CONTROL_PLANE = SERVER_LABELS | {"node-role.kubernetes.io/control-plane": ""}
MASTER = SERVER_LABELS | {"node-role.kubernetes.io/master": ""}
READY = a_settled_node("z", 9)
LOST, CORDONED = a_lost_node("a", 1), a_lost_node("a", 1, unschedulable=True)


@pytest.mark.parametrize(
    ("nodes", "limit"), [(0, 1), (1, 0), (2, 1), (3, 1), (4, 1), (7, 1), (8, 2), (10, 2), (11, 2), (12, 3), (40, 10)]
)
def test_limit(nodes: int, limit: int) -> None:
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
    "a transition in the future": (a_fleet(silent("a", 1, -60), gone=[1]), 90),
    "a heartbeat just now": (a_fleet(HEARD, gone=[1]), 30),
    "never reported": (a_fleet(NEVER_HEARD, gone=[1]), 27),
    "clocks that differ": (a_fleet(silent("a", 1, 5), gone=[1], clocks=Clocks(timedelta(hours=1))), LOOK_AGAIN_S / 60),
})  # fmt: skip
def test_eases_in(snapshot: Snapshot, minutes: float | None) -> None:
    """A hold is worth another look when the next lost Node has been silent for so long that it counts as announced."""
    due_in_s, _ = easing_of(losses_of(Provider.CLOUD, snapshot, Settings()), snapshot, Settings())
    assert due_in_s == (None if minutes is None else minutes * 60)


def test_a_hold_ends_by_itself_when_the_rest_is_few_of_the_others() -> None:
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
    "the only one gone": (a_fleet(head(), READY, gone=[1]), "a"),
    "by the old name": (a_fleet(head(labels=MASTER), READY, gone=[1]), "a"),
    "announced": (a_fleet(head(unschedulable=True), gone=[1]), "a"),
    "the only one there": (a_fleet(head(), READY), ""),
    "one of two gone": (a_fleet(head(), SECOND, gone=[1]), ""),
    "both gone": (a_fleet(head(), SECOND, READY, gone=[1, 2]), "ab"),
    "the other is being deleted": (a_fleet(head(), replace(SECOND, deleted_at=NOW), gone=[1]), "ab"),
    "the other is ignored": (a_fleet(head(), IGNORED, gone=[1, 2]), ""),
    "the other cannot be read": (a_snapshot([head(), SECOND], servers_section=BROKEN), "ab"),
    "the other is Robot's, without an account": (a_snapshot([head(), ROBOTS]), ""),
})  # fmt: skip
def test_last_of_control_plane(snapshot: Snapshot, expected: str) -> None:
    assert last_of_control_plane(snapshot, SPARED) == {f"node/{name}" for name in expected}


HEAD, WORKER = head("head"), a_lost_node("worker", 2)
STANDBY = a_settled_node("standby", 9, labels=CONTROL_PLANE)
FLEET = [a_settled_node(f"n-{i}", i) for i in range(3, 6)]
UNREAD_3: Section[int, Server] = Section(a_fleet(*FLEET[1:]).servers.items, unreadable={3: "no name"})
NINE = [a_lost_node(f"n-{i}", i) if i < 3 else a_settled_node(f"n-{i}", i) for i in (1, 2, *range(4, 11))]
SEVEN_SERVERS = a_fleet(*NINE, gone=[1, 2]).servers
NODE_UNREAD = a_fleet(
    nodes_section=replace(nodes_of(*NINE), unreadable={"n-3": "no uid"}), servers_section=SEVEN_SERVERS, gone=[1, 2, 3]
)
BOTH_LOST, MAYBE = rows.NODES_AND_CONTROL_PLANE_LOST, rows.NODES_LOST_OR_UNREAD
ONE_STAYS, TWO_STAY = "if it stays NotReady", "if both stay NotReady"
LAST = rows.CONTROL_PLANE_LOST
LOST_TWO = a_fleet(*(a_lost_node(f"n-{i}", i) for i in (1, 2)), *FLEET, gone=[1, 2])
AWAY = replace(STANDBY, unschedulable=True)
ANNOUNCED = replace(HEAD, unschedulable=True)


@cases("snapshot row names value limit end", {
    "two of ten": (a_fleet(*NINE, a_settled_node("n-3", 3), gone=[1, 2]), None, "", "", "", None),
    "one of four": (a_fleet(WORKER, *FLEET, gone=[2]), None, "", "", "", None),
    "two of five": (LOST_TWO, rows.NODES_LOST, "n-1 n-2", "2", "1", TWO_STAY),
    "two of ten, and a Node unreadable": (NODE_UNREAD, MAYBE, "n-1 n-2", "3", "2", TWO_STAY),
    "too many at worst": (a_fleet(WORKER, *FLEET, servers_section=UNREAD_3), MAYBE, "worker", "2", "1", ONE_STAYS),
    "one of them still Ready": (a_fleet(HEAD, WORKER, *FLEET, STANDBY, gone=[2, 3]), rows.NODES_LOST, "worker", "2",
        "1", ONE_STAYS),
    "the last of the control plane among too many": (a_fleet(HEAD, WORKER, *FLEET, gone=[1, 2]), BOTH_LOST,
        "head worker", "2", "1", None),
    "among too many that report": (a_fleet(ANNOUNCED, *FLEET, gone=[1, 3, 4]), BOTH_LOST, "head", "2", "1", None),
    "the last one alone": (a_fleet(HEAD, *FLEET, gone=[1]), LAST, "head", "1", "0", None),
    "announced and alone": (a_fleet(ANNOUNCED, *FLEET, gone=[1]), LAST, "head", "1", "0", None),
    "one of the last two is still Ready": (a_fleet(HEAD, AWAY, *FLEET, gone=[1, 9]), LAST, "head", "2", "1", None),
})  # fmt: skip
def test_how_many_may_be_lost(
    snapshot: Snapshot, row: Rule | None, names: str, value: str, limit: str, end: str | None
) -> None:
    found = list(node_blast_radius(facts_of(compute_plan(snapshot, Settings()), snapshot, Settings())))
    keys = tuple(f"node/{name}" for name in names.split())
    due = (1500.0, HoldEnd(end, 1500.0)) if end else (None, None)
    assert [(each.row, each.keys, each.value, each.limit, each.due_in_s, each.end) for each in found] == [
        (row, keys, value, limit, *due) for _ in filter(None, [row])
    ]


def test_the_last_of_the_control_plane_is_named_besides() -> None:
    others = [a_lost_node("w-1", 3), a_lost_node("w-2", 4), *(a_settled_node(f"n-{i}", i) for i in range(5, 9))]
    before = a_fleet(HEAD, STANDBY, *others, gone=[1, 3, 4])
    (hold,) = judged(before, Settings()).holds
    assert hold.keys == ("node/head", "node/w-1", "node/w-2")
    after = a_fleet(HEAD, AWAY, *others[2:], a_settled_node("n-10", 10), gone=[1, 9])
    assert [(each.keys, each.approved) for each in judged(after, Settings(), hold.names).holds] == [
        (("node/head",), False)
    ]


RULE = "address-blast-radius"
ADDRESSES_HELD, ALLOWED = (Verdict.HELD, RULE), (Verdict.ALLOWED, None)
Verdicts = dict[str, tuple[Verdict, str | None]]
IN_NETWORK = Settings(network="private")
ALL = range(1, 9)


def verdicts(plan: Plan, kind: str = "node.addresses") -> Verdicts:
    of_kind = (change for change in plan.changes if change.kind == kind)
    return {
        change.owner.removeprefix("node/web-"): (change.decision.verdict, change.decision.rule) for change in of_kind
    }


def measured(plan: Plan) -> list[tuple[str, str, int]]:
    return [(hold.value, hold.limit, len(hold.keys)) for hold in plan.holds if hold.rule == RULE]


def fleet(size: int, detached: int = 0, bare: int = 0, **changes: Any) -> Snapshot:
    """So many Nodes in network 4; the servers of the first are not attached any more, and those of the last never
    were."""
    nodes: list[Node] = []
    servers: list[Server] = []
    for number in range(1, size + 1):
        node, server = a_pod_node(number), a_pod_server(number)
        if number > size - bare:
            node = replace(node, addresses=node.addresses[:2])
        away = number <= detached or number > size - bare
        servers.append(replace(server, private_ips=()) if away else server)
        nodes.append(node)
    return a_snapshot(nodes, servers, **{"network": Present(a_network())} | changes)


@pytest.mark.parametrize(
    ("size", "detached", "limit"),
    [(1, 1, 1), (3, 2, 1), (8, 2, 2), (8, 3, 2)],
)
def test_how_many_may_lose_an_address(size: int, detached: int, limit: int) -> None:
    """A quarter, one at least; beyond that all of them or none."""
    plan = judged(fleet(size, detached), IN_NETWORK)
    over = detached > limit
    assert verdicts(plan) == {str(number): ADDRESSES_HELD if over else ALLOWED for number in range(1, detached + 1)}
    assert measured(plan) == ([(str(detached), str(limit), detached)] if over else [])


TWO = fleet(8, 2)
NODES, SERVERS = TWO.nodes.items, TWO.servers.items
SILENT_FIELD = replace(a_pod_server(8), missing=frozenset({"private_net"}))
OF_8 = Section({**NODES, "web-8": replace(a_pod_node(8), provided_node_ip=gateway_of(8))}, expected=8)
LISTED_7 = Section({n: SERVERS[n] for n in range(1, 8)}, False, "429")
UNSAID = Section({**SERVERS, 8: SILENT_FIELD}, expected=8)
BARE_8 = Section({**SERVERS, 8: a_server(8, "web-8")}, expected=8)


@cases("snapshot counted", {
    "one has lost its own in an earlier pass": (fleet(8, 2, bare=1), 3),
    "none loses any": (fleet(8, 0, bare=5), 0),
    "a server was not read": (replace(TWO, servers=LISTED_7), 3),
    "an answer does not say": (replace(TWO, servers=UNSAID), 3),
    "a kubelet speaks against it": (replace(TWO, nodes=OF_8, servers=BARE_8), 3),
    "a kubelet that agrees": (replace(TWO, nodes=OF_8), 2),
    "no such network": (fleet(8, 2, bare=1, network=Absent()), 0),
})  # fmt: skip
def test_losses_that_are_counted(snapshot: Snapshot, counted: int) -> None:
    """What was lost before, and what may be lost, counts as well: ten small passes mean the same as one."""
    assert measured(judged(snapshot, IN_NETWORK)) == ([(str(counted), "2", 2)] if counted > 2 else [])


def test_a_note_of_another_kind_speaks_against_no_address() -> None:
    world = replace(TWO, nodes=OF_8)
    plan = compute_plan(world, IN_NETWORK)
    noted = replace(plan, notes=(*plan.notes, Note(OF_8.items["web-8"].key, NoteKind.UNMATCHED, "")))
    assert measured(judge(noted, world, IN_NETWORK)) == []


def test_public_addresses_are_measured_by_their_removal() -> None:
    world = fleet(8, bare=1)
    servers = {n: replace(server, ipv4=None) if n <= 2 else server for n, server in world.servers.items.items()}
    plan = judged(replace(world, servers=Section(servers, expected=8)), IN_NETWORK)
    assert verdicts(plan) == {"1": ALLOWED, "2": ALLOWED}


REPORTED = (NodeAddress(AddressType.HOSTNAME, "x"), NodeAddress(AddressType.INTERNAL_IP, "100.64.0.1"))


@cases("network settings expected", {
    "in a network": (a_network(), IN_NETWORK, ADDRESSES_HELD),
    "without one as with HCCM": (None, Settings(), ALLOWED),
})  # fmt: skip
def test_nodes_that_join(network: Network | None, settings: Settings, expected: tuple[Verdict, str | None]) -> None:
    """What kubelets reported goes from no dozen of new Nodes where a network says otherwise; without one every cluster
    comes up like that, and the plan warns."""
    nodes = [a_joining_node(f"web-{n}", addresses=REPORTED, taints=(UNINITIALIZED,)) for n in ALL]
    plan = judged(a_snapshot(nodes, [a_server(n, f"web-{n}") for n in ALL], network=Present(network)), settings)
    assert set(verdicts(plan, "node.initialise").values()) == {expected}


CONDITION = "node.network_condition"


def each(numbers: range, verdict: tuple[Verdict, str | None]) -> Verdicts:
    return {str(number): verdict for number in numbers}


def closing(detached: int, closed: int = 0, unsaid: int = 0) -> Snapshot:
    """Eight Nodes, of which the first are closed to pods, and of the last nothing was said; the servers of the first
    have left the network."""
    says = dict.fromkeys(range(1, closed + 1), UNROUTED) | dict.fromkeys(range(9 - unsaid, 9))
    nodes = [a_pod_node(n, says=says[n]) if n in says else a_pod_node(n) for n in ALL]
    return a_routed_world(nodes, [a_pod_server(n, private_ips=()) if n <= detached else a_pod_server(n) for n in ALL])


KNOWN = {number: server for number, server in closing(5, 3).servers.items.items() if number > 3}
LESS = replace(closing(5, 3), servers=Section(KNOWN, unreadable=dict.fromkeys((1, 2, 3), "no name")))


@cases("snapshot expected", {
    "a cluster that is born": (closing(8, unsaid=8), each(ALL, ALLOWED)),
    "one beside": (closing(8, unsaid=7), {"1": ADDRESSES_HELD} | each(range(2, 9), ALLOWED)),
    "a quarter": (closing(2), each(range(1, 3), ALLOWED)),
    "more": (closing(3), each(range(1, 4), ADDRESSES_HELD)),
    "more with those before": (closing(5, 3), each(range(4, 6), ADDRESSES_HELD)),
    "servers that cannot be read": (LESS, each(range(4, 6), ADDRESSES_HELD)),
})  # fmt: skip
def test_how_many_are_closed_to_pods(snapshot: Snapshot, expected: Verdicts) -> None:
    assert verdicts(judged(snapshot, ROUTING), CONDITION) == expected


def test_a_network_without_any_server_closes_no_node() -> None:
    """HCLOUD_NETWORK names another one, in which no server is: each Node is held by itself."""
    elsewhere = a_pod_network(network_id=5, name="other")
    world = a_routed_world(map(a_pod_node, ALL), map(a_pod_server, ALL), [], network=elsewhere)
    found = verdicts(judged(world, ROUTING), CONDITION)
    assert set(found.values()) == {(Verdict.HELD, GuardName.BY_DEFAULT)}


def test_each_provider_has_a_limit_of_its_own() -> None:
    numbers = (1, 2, 3)
    addresses = [
        (NodeAddress(AddressType.HOSTNAME, f"db-{n}"), NodeAddress(AddressType.EXTERNAL_IP, f"192.0.2.{n}"))
        for n in numbers
    ]
    metal = [a_settled_node(f"db-{n}", provider_id=f"hrobot://{n}", addresses=addresses[n - 1]) for n in numbers]
    account = [a_robot_server(n, name=f"db-{n}", ipv4=None) for n in numbers]
    cloud = fleet(40)
    nodes = replace(cloud.nodes, items={**cloud.nodes.items, **{node.name: node for node in metal}})
    world = replace(cloud, nodes=nodes, robot=RobotAccount(servers_of(*account)))

    assert verdicts(judged(world, replace(IN_NETWORK, robot=True)))["node/db-1"] == ADDRESSES_HELD
