"""The changes of routes and of Nodes' conditions, through the whole plan."""

from dataclasses import replace

import pytest

from desired.model.route import ROUTED, UNROUTED, NetworkCondition, Route
from desired.model.snapshot import Condition, Readiness, Server, ServerStatus
from desired.plan.change import Change, Verdict
from desired.plan.kinds import ChangeKind, Verb
from desired.rules import routes as rules
from tests.builders import NOW, SERVER_LABELS, a_joining_node, a_lost_node
from tests.routes import (
    WITHOUT_RANGE,
    a_pod_network,
    a_pod_node,
    a_pod_server,
    a_route,
    a_routed_world,
    gateway_of,
    pods_of,
)
from tests.support.keys import key_of
from tests.support.route_decisions import judged, kinds_of, planned
from tests.support.rows import rows

NOWHERE = "10.0.0.201"
LOSES = "traffic to 10.244.5.0/24 no longer reaches"
KEY, CONDITION = "route/4/10.244.1.0/24", "node/web-1/network"
ROUTE = a_route()
COMING = rules.ROUTES_COMING.text()
JOINING = a_joining_node(pod_cidrs=(pods_of(),))


def test_a_route_that_is_missing() -> None:
    """It is created, and serves the Node that has the pods."""
    assert planned(a_routed_world(routes=[])) == {
        KEY: Change(
            key=key_of(KEY),
            kind=ChangeKind.ROUTE_CREATE,
            cloud_id=4,
            verb=Verb.ADD,
            before=None,
            after=ROUTE,
            reason=rules.PODS_MISSING.text(node="web-1", server=1),
            owner=key_of("node/web-1"),
        )
    }


def test_a_route_that_leads_elsewhere() -> None:
    """It gets another gateway in one swap: never a deletion that a creation may not follow."""
    world = a_routed_world([a_pod_node(1), a_pod_node(2)], routes=[a_route(1, 2), a_route(2)])
    assert planned(world) == {
        KEY: Change(
            key=key_of(KEY),
            kind=ChangeKind.ROUTE_REPLACE,
            cloud_id=4,
            verb=Verb.MODIFY,
            before=a_route(1, 2),
            after=ROUTE,
            reason="gateway is server 2 of Node web-2; pods of Node web-1 are on server 1",
            owner=key_of("node/web-1"),
            consequences=(rules.SWAP.text(node="web-1"),),
        )
    }


@rows("gateway owner consequences", {
    "dead": (NOWHERE, "network/4", ()),
    "superfluous": (gateway_of(1), "node/web-1", (f"{LOSES} server 1 of Node web-1",)),
    "by-a-stranger": (gateway_of(8), "network/4", (f"{LOSES} server 8 (no Node of this cluster)",)),
})  # fmt: skip
def test_routes_that_go(gateway: str, owner: str, consequences: tuple[str, ...]) -> None:
    """A route that goes is told with the owner of its traffic; a black hole costs nothing."""
    servers = [a_pod_server(1), a_pod_server(8)]
    world = a_routed_world(servers=servers, routes=[a_route(1), a_route(5, gateway)], members=[])
    (change,) = planned(world).values()
    assert (change.key, change.kind, change.cloud_id) == ("route/4/10.244.5.0/24", ChangeKind.ROUTE_DELETE, 4)
    assert (change.verb, change.before, change.after) == (Verb.REMOVE, a_route(5, gateway), None)
    assert (change.owner, change.consequences) == (owner, consequences)
    leads = f"is {consequences[0].removeprefix(LOSES + ' ')}" if consequences else gateway
    assert change.reason.startswith(f"gateway {leads}")


@rows("servers owner action", {
    "with-its-server": ([a_pod_server(2)], "network/4", Verdict.ALLOWED),
    "while-its-server-lives": ([a_pod_server(1), a_pod_server(2)], "network/4", Verdict.HELD),
})  # fmt: skip
def test_the_route_of_a_node_that_was_deleted(servers: list[Server], owner: str, action: Verdict) -> None:
    """It goes with the server; a server that lives may have become something else, and a person has to say so."""
    world = a_routed_world([a_pod_node(2)], servers, [a_route(1), a_route(2)], members=[])
    change = judged(world).by_key[KEY]
    assert (change.kind, change.owner, change.decision.verdict) == ("route.delete", owner, action)


@pytest.mark.parametrize("ready", [Readiness.FALSE, Readiness.UNKNOWN, Readiness.MISSING])
def test_a_node_that_is_off_keeps_its_route(ready: Readiness) -> None:
    """Readiness, taints, cordons and deletions that were asked for say nothing of the network."""
    node = replace(
        a_pod_node(),
        conditions=(Condition("Ready", ready.value), a_pod_node().conditions[1]),
        unschedulable=True,
        deleted_at=NOW,
    )
    off = a_pod_server(status=ServerStatus.OFF)
    there, missing = (kinds_of(a_routed_world([node], [off], routes)) for routes in ([a_route()], []))
    assert KEY not in there
    assert missing[KEY] == "route.create"


def test_the_route_of_a_lost_node() -> None:
    """It serves the Node until it goes, and goes as the Node does."""
    lost = a_lost_node(pod_cidrs=(pods_of(),))
    world = a_routed_world([lost, a_pod_node(2)], [a_pod_server(2)], [a_route(1), a_route(2)], members=[])
    changes = planned(world)
    assert kinds_of(world) == {"node/web-1": "node.delete", KEY: "route.delete"}
    assert changes[KEY].owner == "node/web-1"
    assert changes[KEY].depends_on == changes["node/web-1"].depends_on == ()


def test_a_new_node_in_one_plan() -> None:
    """A Node that joins gets its route in the same plan: after the initialization, and before it is told of it."""
    changes = planned(a_routed_world([JOINING], [a_pod_server()], []))

    assert {key: change.kind for key, change in changes.items()} == {
        "node/web-1": "node.initialise",
        CONDITION: "node.network_condition",
        KEY: "route.create",
    }
    assert (changes[KEY].depends_on, changes[KEY].after) == (("node/web-1",), ROUTE)
    assert changes[CONDITION] == Change(
        key=key_of(CONDITION),
        kind=ChangeKind.NODE_NETWORK_CONDITION,
        verb=Verb.MODIFY,
        before=None,
        after=ROUTED,
        reason=COMING,
        owner=key_of("node/web-1"),
        depends_on=(KEY,),
        follows=("node/web-1",),
    )


@rows("says routes after depends_on", {
    "said-already": (ROUTED, [a_route()], None, None),
    "not-said": (None, [a_route()], ROUTED, ()),
    "once-the-route-is-there": (UNROUTED, [], ROUTED, (KEY,)),
})  # fmt: skip
def test_conditions(
    says: NetworkCondition | None,
    routes: list[Route],
    after: NetworkCondition | None,
    depends_on: tuple[str, ...] | None,
) -> None:
    """A condition that says what it should needs no write, and the others wait for the routes that they speak of."""
    change = planned(a_routed_world([a_pod_node(says=says)], routes=routes, members=[])).get(CONDITION)
    assert (change and (change.before, change.after, change.depends_on)) == (
        None if after is None else (says, after, depends_on)
    )


def test_conditions_follow_what_else_a_node_needs() -> None:
    """A route may take its time: labels and addresses of the Node do not wait behind it."""
    node = a_pod_node(says=None, labels={**SERVER_LABELS, "topology.kubernetes.io/region": "mars"}, addresses=())
    changes = planned(a_routed_world([node, a_pod_node(2, labels={})], routes=[]))
    assert changes[CONDITION].follows == ("node/web-1/addresses", "node/web-1/labels")
    assert changes["node/web-1/labels"].follows == ()


def test_without_a_cluster_cidr_nothing_is_written() -> None:
    """No route is created, swapped or removed, and no condition written or taken away, whatever it says."""
    routes = [a_route(1, 2), a_route(9, NOWHERE), a_route(8, 2)]
    nodes = [a_pod_node(1), a_pod_node(2, says=UNROUTED), a_pod_node(3, says=None)]
    world = a_routed_world(nodes, routes=routes, members=[])
    assert {key.rpartition("/")[2] for key in kinds_of(world)} == {"network", "24"}
    assert kinds_of(world, WITHOUT_RANGE) == {}


def test_routes_in_another_network() -> None:
    """Keys, owners and calls name the network that was read."""
    world = a_routed_world(
        servers=[a_pod_server(network_id=7)],
        routes=[a_route(5, NOWHERE)],
        network=a_pod_network(network_id=7),
        members=[],
    )
    found = {key: change for key, change in planned(world).items() if key.startswith("route/")}
    assert {key: change.owner for key, change in found.items()} == {
        "route/7/10.244.1.0/24": "node/web-1",
        "route/7/10.244.5.0/24": "network/7",
    }
    assert {change.cloud_id for change in found.values()} == {7}


def test_a_joining_node_whose_route_leads_elsewhere() -> None:
    """A swap waits for the Node as well: the server is its own only then."""
    changes = planned(a_routed_world([JOINING], [a_pod_server()], [a_route(1, NOWHERE)], members=[]))
    assert (changes[KEY].kind, changes[KEY].depends_on) == ("route.replace", ("node/web-1",))
