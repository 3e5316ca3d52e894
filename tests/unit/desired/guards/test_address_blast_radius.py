"""Losses of addresses, and Nodes that are closed to pods: how many at once, counted over the state."""

from dataclasses import replace
from typing import Any

import pytest

from desired.model.route import UNROUTED, NetworkCondition
from desired.model.settings import Settings
from desired.model.snapshot import AddressType, Network, Node, NodeAddress, RobotAccount, Server, Snapshot
from desired.plan.change import GuardName, Plan, Verdict
from desired.plan.notes import Note, NoteKind
from desired.planner import compute_plan
from desired.section import Absent, Present, Section
from tests.builders import (
    UNINITIALIZED,
    a_joining_node,
    a_network,
    a_robot_server,
    a_server,
    a_settled_node,
    a_snapshot,
    servers_of,
)
from tests.routes import ROUTING, a_pod_network, a_pod_node, a_pod_server, a_routed_world, gateway_of
from tests.support.judging import judge
from tests.support.rows import rows

RULE = "address-blast-radius"
HELD, ALLOWED = (Verdict.HELD, RULE), (Verdict.ALLOWED, None)
Verdicts = dict[str, tuple[Verdict, str | None]]
IN_NETWORK = Settings(network="private")
ALL = range(1, 9)


def judged(snapshot: Snapshot, settings: Settings = IN_NETWORK) -> Plan:
    return judge(compute_plan(snapshot, settings), snapshot, settings)


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
    [(1, 1, 1), (2, 1, 1), (3, 2, 1), (8, 2, 2), (8, 3, 2), (8, 8, 2), (40, 10, 10), (40, 11, 10)],
)
def test_how_many_may_lose_an_address(size: int, detached: int, limit: int) -> None:
    """A quarter, one at least; beyond that all of them or none."""
    plan = judged(fleet(size, detached))
    over = detached > limit
    assert verdicts(plan) == {str(number): HELD if over else ALLOWED for number in range(1, detached + 1)}
    assert measured(plan) == ([(str(detached), str(limit), detached)] if over else [])


TWO = fleet(8, 2)
NODES, SERVERS = TWO.nodes.items, TWO.servers.items
SILENT_FIELD = replace(a_pod_server(8), missing=frozenset({"private_net"}))
OF_8 = Section({**NODES, "web-8": replace(a_pod_node(8), provided_node_ip=gateway_of(8))}, expected=8)
UNREAD = Section({n: SERVERS[n] for n in range(1, 8)}, False, "429")
UNSAID = Section({**SERVERS, 8: SILENT_FIELD}, expected=8)
BARE_8 = Section({**SERVERS, 8: a_server(8, "web-8")}, expected=8)


@rows("snapshot counted", {
    "two": (TWO, 2),
    "one has lost its own in an earlier pass": (fleet(8, 2, bare=1), 3),
    "none loses any": (fleet(8, 0, bare=5), 0),
    "a server was not read": (replace(TWO, servers=UNREAD), 3),
    "an answer does not say": (replace(TWO, servers=UNSAID), 3),
    "a kubelet speaks against it": (replace(TWO, nodes=OF_8, servers=BARE_8), 3),
    "a kubelet that agrees": (replace(TWO, nodes=OF_8), 2),
    "no such network": (fleet(8, 2, bare=1, network=Absent()), 0),
})  # fmt: skip
def test_what_is_counted(snapshot: Snapshot, counted: int) -> None:
    """What was lost before, and what may be lost, counts as well: ten small passes mean the same as one."""
    assert measured(judged(snapshot)) == ([(str(counted), "2", 2)] if counted > 2 else [])


@pytest.mark.parametrize(("kind", "held"), [(NoteKind.UNUSABLE_NODE_IP, [("3", "2", 2)]), (NoteKind.UNMATCHED, [])])
def test_which_note_speaks_against_it(kind: NoteKind, held: list[tuple[str, str, int]]) -> None:
    """That its addresses are not what its kubelet was started with, and no other."""
    world = replace(TWO, nodes=OF_8)
    plan = compute_plan(world, IN_NETWORK)
    noted = replace(plan, notes=(*plan.notes, Note(OF_8.items["web-8"].key, kind, "")))
    assert measured(judge(noted, world, IN_NETWORK)) == held


def test_an_address_that_is_not_internal_is_measured_by_what_goes() -> None:
    """Two lose their public address, and keep that of the network: one that never was in it does not count."""
    world = fleet(8, bare=1)
    servers = {n: replace(server, ipv4=None) if n <= 2 else server for n, server in world.servers.items.items()}
    plan = judged(replace(world, servers=Section(servers, expected=8)))
    assert verdicts(plan) == {"1": ALLOWED, "2": ALLOWED}


def test_an_address_that_the_kubelet_reports_never_goes() -> None:
    """Be it a single Node's: a note says what contradicts what, and all its addresses stay."""
    plan = judged(a_snapshot([OF_8.items["web-8"]], [a_server(8, "web-8")], network=Present(a_network())))
    assert verdicts(plan) == {}
    assert [note.kind for note in plan.notes] == ["unusable-node-ip"]


REPORTED = (NodeAddress(AddressType.HOSTNAME, "x"), NodeAddress(AddressType.INTERNAL_IP, "100.64.0.1"))


@rows("network settings expected", {
    "in a network": (a_network(), IN_NETWORK, HELD),
    "without one as with HCCM": (None, Settings(), ALLOWED),
    "which may keep them": (None, Settings(keep_internal_ips=True), ALLOWED),
})  # fmt: skip
def test_nodes_that_join(network: Network | None, settings: Settings, expected: tuple[Verdict, str | None]) -> None:
    """What kubelets reported goes from no dozen of new Nodes where a network says otherwise; without one every cluster
    comes up like that, and the plan warns."""
    nodes = [a_joining_node(f"web-{n}", addresses=REPORTED, taints=(UNINITIALIZED,)) for n in ALL]
    plan = judged(a_snapshot(nodes, [a_server(n, f"web-{n}") for n in ALL], network=Present(network)), settings)
    assert set(verdicts(plan, "node.initialise").values()) == {expected}


TRUE, FALSE_OF_A_PLUGIN = UNROUTED, NetworkCondition("False", "CalicoIsUp")


def each(numbers: range, verdict: tuple[Verdict, str | None]) -> Verdicts:
    return {str(number): verdict for number in numbers}


@rows("says expected", {
    "all were open": ({}, each(ALL, HELD)),
    "by a plugin": (dict.fromkeys(ALL, FALSE_OF_A_PLUGIN), each(ALL, HELD)),
    "a cluster that is born": (dict.fromkeys(ALL), each(ALL, ALLOWED)),
    "the last one after the others": (dict.fromkeys(range(2, 9), TRUE), {"1": HELD}),
    "one beside": (dict.fromkeys(range(2, 9)), {"1": HELD} | each(range(2, 9), ALLOWED)),
})  # fmt: skip
def test_how_many_are_closed_to_pods(says: dict[int, NetworkCondition | None], expected: Verdicts) -> None:
    """A Node of which nothing has been said is joining, and is told what there is to say."""
    nodes = [a_pod_node(n, says=says[n]) if n in says else a_pod_node(n) for n in ALL]
    world = a_routed_world(nodes, [a_pod_server(n, private_ips=()) for n in ALL], [])
    assert verdicts(judged(world, ROUTING), "node.network_condition") == expected


@rows("says", {"open": {}, "unsaid": dict.fromkeys(ALL), "closed already": {1: TRUE}})
def test_a_network_without_any_server_closes_no_node(says: dict[int, NetworkCondition | None]) -> None:
    """HCLOUD_NETWORK names another one, in which no server is: each Node is held by itself."""
    nodes = [a_pod_node(n, says=says[n]) if n in says else a_pod_node(n) for n in ALL]
    elsewhere = a_pod_network(network_id=5, name="other")
    found = verdicts(judged(a_routed_world(nodes, map(a_pod_server, ALL), [], network=elsewhere), ROUTING), CONDITION)
    assert set(found.values()) == {(Verdict.HELD, GuardName.BY_DEFAULT)}


CONDITION = "node.network_condition"


def closing(detached: int, closed: int = 0) -> Snapshot:
    """Eight Nodes, of which the first are closed to pods, and the servers of the first have left the network."""
    nodes = [a_pod_node(n, says=TRUE) if n <= closed else a_pod_node(n) for n in ALL]
    return a_routed_world(nodes, [a_pod_server(n, private_ips=()) if n <= detached else a_pod_server(n) for n in ALL])


KNOWN = {number: server for number, server in closing(5, 3).servers.items.items() if number > 3}
LESS = replace(closing(5, 3), servers=Section(KNOWN, unreadable=dict.fromkeys((1, 2, 3), "no name")))


@rows("snapshot expected", {
    "a quarter": (closing(2), each(range(1, 3), ALLOWED)),
    "more": (closing(3), each(range(1, 4), HELD)),
    "more with those before": (closing(5, 3), each(range(4, 6), HELD)),
    "whose servers cannot be read": (LESS, each(range(4, 6), HELD)),
})  # fmt: skip
def test_a_few_are_closed_to_pods(snapshot: Snapshot, expected: Verdicts) -> None:
    """Servers that left the network alone; Nodes that were closed before count as well."""
    assert verdicts(judged(snapshot, ROUTING), "node.network_condition") == expected


def test_nodes_are_not_counted_as_open_that_only_leaves_out() -> None:
    """Two were closed before and would be opened, but not by this run, which closes two others."""
    found = closing(4, 2)
    servers = {**found.servers.items, **{number: a_pod_server(number) for number in (1, 2)}}
    world = replace(found, servers=Section(servers))
    plan = compute_plan(world, ROUTING)
    closes = tuple(f"node/web-{number}" for number in (3, 4))
    assert verdicts(judge(plan, world, ROUTING), CONDITION) == each(range(1, 5), ALLOWED)
    assert verdicts(judge(plan, world, replace(ROUTING, only=closes)), CONDITION) == {
        **each(range(1, 3), (Verdict.WAITING, GuardName.ONLY)),
        **each(range(3, 5), HELD),
    }


@pytest.mark.parametrize(("bare", "expected"), [(1, ALLOWED), (3, HELD)])
def test_each_provider_has_a_limit_of_its_own(bare: int, expected: tuple[Verdict, str | None]) -> None:
    """Many Nodes of Hetzner Cloud do not let the few on Robot servers lose their addresses at once."""
    numbers = (1, 2, 3)
    addresses = [
        (NodeAddress(AddressType.HOSTNAME, f"db-{n}"), NodeAddress(AddressType.EXTERNAL_IP, f"192.0.2.{n}"))
        for n in numbers
    ]
    metal = [a_settled_node(f"db-{n}", provider_id=f"hrobot://{n}", addresses=addresses[n - 1]) for n in numbers]
    account = [a_robot_server(n, name=f"db-{n}", **({"ipv4": None} if n <= bare else {})) for n in numbers]
    cloud = fleet(40)
    nodes = replace(cloud.nodes, items={**cloud.nodes.items, **{node.name: node for node in metal}})
    world = replace(cloud, nodes=nodes, robot=RobotAccount(servers_of(*account)))

    assert verdicts(judged(world, replace(IN_NETWORK, robot=True)))["node/db-1"] == expected
