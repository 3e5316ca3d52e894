"""Losses of addresses, and Nodes that are closed to pods: how many at once, counted over the state."""

from dataclasses import replace
from typing import Any

import pytest

from desired.model.route import UNROUTED, NetworkCondition
from desired.model.settings import Settings
from desired.model.snapshot import AddressType, Network, Node, NodeAddress, RobotAccount, Server, Snapshot
from desired.plan.change import Plan, Verdict
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
from tests.support.route_decisions import judged

RULE = "address-blast-radius"
HELD, ALLOWED = (Verdict.HELD, RULE), (Verdict.ALLOWED, None)
IN_NETWORK = Settings(network="private")
ELSEWHERE = a_pod_network(network_id=5, name="other")


def verdicts(plan: Plan, kind: str) -> dict[str, tuple[Verdict, str | None]]:
    """Node → what is said of its change of this kind."""
    of_kind = (change for change in plan.changes if change.kind == kind)
    return {
        change.owner.removeprefix("node/web-"): (change.decision.verdict, change.decision.rule) for change in of_kind
    }


def measured(plan: Plan) -> list[tuple[str, str, int]]:
    """Value, limit and size of each hold of the rule."""
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
    [
        pytest.param(1, 1, 1, id="the-only-node"),
        pytest.param(2, 1, 1, id="one-of-two"),
        pytest.param(3, 2, 1, id="two-of-three"),
        pytest.param(8, 2, 2, id="a-quarter"),
        pytest.param(8, 3, 2, id="more-than-a-quarter"),
        pytest.param(8, 8, 2, id="all"),
        pytest.param(40, 10, 10, id="a-quarter-of-forty"),
        pytest.param(40, 11, 10, id="more-than-a-quarter-of-forty"),
    ],
)
def test_how_many_may_lose_an_address(size: int, detached: int, limit: int) -> None:
    """All of them or none."""
    snapshot = fleet(size, detached)
    plan = judge(compute_plan(snapshot, IN_NETWORK), snapshot, IN_NETWORK)
    over = detached > limit
    expected = {str(number): HELD if over else ALLOWED for number in range(1, detached + 1)}
    assert verdicts(plan, "node.addresses") == expected
    assert measured(plan) == ([(str(detached), str(limit), detached)] if over else [])


SILENT_FIELD = replace(a_pod_server(8), missing=frozenset({"private_net"}))
OF_8 = replace(a_pod_node(8), provided_node_ip=gateway_of(8))


@pytest.mark.parametrize(
    ("snapshot", "counted"),
    [
        pytest.param(fleet(8, 2), 2, id="two"),
        pytest.param(fleet(8, 2, bare=1), 3, id="one-has-lost-its-own-in-an-earlier-pass"),
        pytest.param(fleet(8, 0, bare=5), 0, id="nobody-loses-any"),
        pytest.param(
            replace(fleet(8, 2), servers=Section({n: fleet(8, 2).servers.items[n] for n in range(1, 8)}, False, "429")),
            3,
            id="a-server-was-not-read",
        ),
        pytest.param(
            replace(
                fleet(8, 2),
                servers=Section({**fleet(8, 2).servers.items, 8: SILENT_FIELD}, expected=8),
            ),
            3,
            id="an-answer-does-not-say",
        ),
        pytest.param(
            replace(
                fleet(8, 2),
                nodes=Section({**fleet(8, 2).nodes.items, "web-8": OF_8}, expected=8),
                servers=Section({**fleet(8, 2).servers.items, 8: a_server(8, "web-8")}, expected=8),
            ),
            3,
            id="a-kubelet-speaks-against-it",
        ),
        pytest.param(
            replace(fleet(8, 2), nodes=Section({**fleet(8, 2).nodes.items, "web-8": OF_8}, expected=8)),
            2,
            id="a-kubelet-that-agrees",
        ),
    ],
)
def test_what_is_counted(snapshot: Snapshot, counted: int) -> None:
    """What was lost before, and what may be lost, counts as well: ten small passes mean the same as one."""
    plan = judge(compute_plan(snapshot, IN_NETWORK), snapshot, IN_NETWORK)
    assert measured(plan) == ([(str(counted), "2", 2)] if counted > 2 else [])


def test_an_address_that_the_kubelet_reports_never_goes() -> None:
    """Be it a single Node's: a note says what contradicts what, and all its addresses stay."""
    snapshot = a_snapshot([OF_8], [a_server(8, "web-8")], network=Present(a_network()))
    plan = judge(compute_plan(snapshot, IN_NETWORK), snapshot, IN_NETWORK)
    assert verdicts(plan, "node.addresses") == {}
    assert [note.kind for note in plan.notes] == ["unusable-node-ip"]


REPORTED = (NodeAddress(AddressType.HOSTNAME, "x"), NodeAddress(AddressType.INTERNAL_IP, "100.64.0.1"))


@pytest.mark.parametrize(
    ("network", "settings", "is_held"),
    [
        pytest.param(a_network(), IN_NETWORK, True, id="in-a-network"),
        pytest.param(None, Settings(), False, id="without-one-as-with-HCCM"),
        pytest.param(None, Settings(keep_internal_ips=True), False, id="which-may-keep-them"),
    ],
)
def test_nodes_that_join(network: Network | None, settings: Settings, is_held: bool) -> None:
    """What kubelets reported goes from no dozen of new Nodes where a network says otherwise; without one every cluster
    comes up like that, and the plan warns."""
    numbers = range(1, 9)
    nodes = [a_joining_node(f"web-{n}", addresses=REPORTED, taints=(UNINITIALIZED,)) for n in numbers]
    snapshot = a_snapshot(nodes, [a_server(n, f"web-{n}") for n in numbers], network=Present(network))
    plan = judge(compute_plan(snapshot, settings), snapshot, settings)
    assert set(verdicts(plan, "node.initialise").values()) == {HELD if is_held else ALLOWED}


@pytest.mark.parametrize("network", [Absent(), Present(None)], ids=["no-such-network", "none-configured"])
def test_a_network_that_is_not_there(network: Any) -> None:
    """Where the name is nobody's nothing is known and nothing goes; without any, all would go and that is held."""
    settings = IN_NETWORK if network == Absent() else Settings()
    snapshot = fleet(8, network=network)
    plan = judge(compute_plan(snapshot, settings), snapshot, settings)
    assert measured(plan) == ([] if network == Absent() else [("8", "2", 8)])


TRUE, FALSE_OF_A_PLUGIN = UNROUTED, NetworkCondition("False", "CalicoIsUp")


@pytest.mark.parametrize(
    ("says", "held"),
    [
        pytest.param({}, {str(n): HELD for n in range(1, 9)}, id="all-were-open"),
        pytest.param(
            dict.fromkeys(range(1, 9), FALSE_OF_A_PLUGIN), {str(n): HELD for n in range(1, 9)}, id="by-a-plugin"
        ),
        pytest.param(dict.fromkeys(range(1, 9)), {str(n): ALLOWED for n in range(1, 9)}, id="a-cluster-that-is-born"),
        pytest.param(dict.fromkeys(range(2, 9), TRUE), {"1": HELD}, id="the-last-one-after-the-others"),
        pytest.param(dict.fromkeys(range(2, 9)), {"1": HELD} | {str(n): ALLOWED for n in range(2, 9)}, id="one-beside"),
    ],
)
def test_how_many_are_closed_to_pods(
    says: dict[int, NetworkCondition | None], held: dict[str, tuple[Verdict, str | None]]
) -> None:
    """A Node of which nobody has said anything is joining, and is told what there is to say."""
    nodes = [a_pod_node(n, says=says[n]) if n in says else a_pod_node(n) for n in range(1, 9)]
    snapshot = a_routed_world(nodes, [a_pod_server(n) for n in range(1, 9)], [], network=ELSEWHERE)
    assert verdicts(judged(snapshot), "node.network_condition") == held


@pytest.mark.parametrize(("closed", "is_held"), [(2, False), (3, True)])
def test_a_few_are_closed_to_pods(closed: int, is_held: bool) -> None:
    """A server that left the network alone is nobody's trouble but its Node's."""
    servers = [a_pod_server(n, private_ips=()) if n <= closed else a_pod_server(n) for n in range(1, 9)]
    snapshot = a_routed_world([a_pod_node(n) for n in range(1, 9)], servers)
    expected = {str(n): HELD if is_held else ALLOWED for n in range(1, closed + 1)}
    assert verdicts(judged(snapshot, ROUTING), "node.network_condition") == expected


def test_knowing_less_closes_no_more() -> None:
    """Nodes that were closed before count as well while their servers cannot be read."""
    nodes = [a_pod_node(n, says=TRUE) if n <= 3 else a_pod_node(n) for n in range(1, 9)]
    servers = [a_pod_server(n, private_ips=()) if n <= 5 else a_pod_server(n) for n in range(1, 9)]
    whole = a_routed_world(nodes, servers)
    known = {server_id: server for server_id, server in whole.servers.items.items() if server_id > 3}
    less = replace(whole, servers=Section(known, unreadable=dict.fromkeys((1, 2, 3), "no name")))

    plans = [judged(world, ROUTING) for world in (whole, less)]

    assert [verdicts(plan, "node.network_condition") for plan in plans] == [{"4": HELD, "5": HELD}] * 2


@pytest.mark.parametrize(("bare", "expected"), [(1, ALLOWED), (3, HELD)])
def test_each_provider_has_a_limit_of_its_own(bare: int, expected: tuple[Verdict, str | None]) -> None:
    """Many Nodes of Hetzner Cloud do not let the few on Robot servers lose their addresses at once."""
    dedicated = [
        a_settled_node(
            f"db-{number}",
            provider_id=f"hrobot://{number}",
            addresses=(
                NodeAddress(AddressType.HOSTNAME, f"db-{number}"),
                NodeAddress(AddressType.EXTERNAL_IP, f"192.0.2.{number}"),
            ),
        )
        for number in (1, 2, 3)
    ]
    account = [a_robot_server(number, name=f"db-{number}") for number in (1, 2, 3)]
    account = [replace(server, ipv4=None) if server.id <= bare else server for server in account]
    cloud, settings = fleet(40), replace(IN_NETWORK, robot=True)
    nodes = replace(cloud.nodes, items={**cloud.nodes.items, **{node.name: node for node in dedicated}})
    snapshot = replace(cloud, nodes=nodes, robot=RobotAccount(servers_of(*account)))

    found = verdicts(judge(compute_plan(snapshot, settings), snapshot, settings), "node.addresses")

    assert found["node/db-1"] == expected
