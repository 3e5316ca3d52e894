"""A Node explained: what was decided on each of its fields, what is planned of it, and the routes to its pods."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from desired.explain import why_no_node
from desired.explain.document import (
    AnchorFact,
    Candidate,
    Fact,
    LossFact,
    NodeExplanation,
    RouteFact,
    ServerFact,
    ServerMatch,
)
from desired.guards.anchor import AnchorState
from desired.model.route import CONDITION_NETWORK, ROUTED, UNROUTED, NetworkCondition
from desired.model.settings import Controller, Policy, Settings, Waits
from desired.model.snapshot import Condition, Node, NodeAddress, Readiness, RobotAccount, Server, ServerStatus, Snapshot
from desired.model.taint import Taint
from desired.names import TAINT_CLUSTER_AUTOSCALER, TAINT_SHUTDOWN, TAINT_UNINITIALIZED
from desired.plan.change import GuardName
from desired.plan.notes import Note, NoteKind
from desired.planner import compute_plan
from desired.routes.actions import RouteAction
from desired.routes.claims import RouteStatus
from desired.rules import nodes as rules
from desired.rules import routes as of_routes
from desired.rules.nodes import Stage
from desired.rules.rule import Basis
from desired.section import Absent, Section
from desired.syntax.provider_id import Provider
from desired.syntax.selector import parse_selector
from tests.builders import (
    NOW,
    SERVER_LABELS,
    UNINITIALIZED,
    a_joining_node,
    a_lost_node,
    a_node,
    a_robot_server,
    a_server,
    a_settled_node,
    a_snapshot,
    incomplete,
    nodes_of,
    servers_of,
)
from tests.routes import ROUTING, WITHOUT_RANGE, a_pod_node, a_pod_server, a_route, a_routed_world, routes_of
from tests.support.judging import explain, judge
from tests.support.keys import key_of
from tests.support.rows import rows

CONTROL, CONTROL_SERVER = a_settled_node("control-1", 9), a_server(9, "control-1")
OFF = a_server(status=ServerStatus.OFF)
NO_LIFECYCLE, NO_NODE = (Settings(controllers=frozenset({only})) for only in (Controller.NODE, Controller.LIFECYCLE))
IGNORING = Settings(ignore_nodes=parse_selector("lab=yes"))
MIRRORING = Settings(mirror_labels="m.example.com")
NOT_OURS = "not managed here"


def explained(node: Node, snapshot: Snapshot, settings: Settings | None = None) -> NodeExplanation:
    settings = settings or Settings()
    return explain(node, snapshot, settings, judge(compute_plan(snapshot, settings), snapshot, settings))


def alone(node: Node, *servers: Server, settings: Settings | None = None, **overrides: Any) -> NodeExplanation:
    """The same of a Node beside a Ready one, in a project with these servers more, where server 1 was asked for."""
    snapshot = a_snapshot([CONTROL, node], [CONTROL_SERVER, *servers], confirmations={1: Absent()})
    return explained(node, replace(snapshot, **overrides), settings)


@pytest.mark.parametrize(("node", "servers", "settings", "stage", "next_"), [
    (a_settled_node(), [a_server()], Settings(), Stage.SETTLED, "; no change is planned"),
    (a_settled_node(labels={}), [a_server()], Settings(), Stage.SETTLED, "; 1 change is planned"),
    (a_settled_node(labels={}, addresses=()), [a_server()], Settings(policy=Policy.OBSERVE), Stage.SETTLED,
        "; 2 changes are planned: waiting (policy)"),
    (a_joining_node(), [a_server()], Settings(), Stage.JOINING, "; the next pass does it"),
    (a_joining_node(), [a_server()], Settings(policy=Policy.OBSERVE), Stage.JOINING, "; that is waiting (policy)"),
    (a_joining_node(), [a_server()], NO_NODE, Stage.JOINING, f"; {rules.CONTROLLER_OFF.text(controller='cloud-node')}"),
    (a_lost_node(), [], Settings(), Stage.DEPARTING, "; the next pass deletes the Node"),
    (a_lost_node(ready_since=NOW), [], Settings(), Stage.DEPARTING, "; the Node's deletion is waiting (absence-proof)"),
    (a_lost_node(), [], NO_LIFECYCLE, Stage.DEPARTING,
        f"; {rules.CONTROLLER_OFF.text(controller='cloud-node-lifecycle')}"),
    (a_node(labels={"lab": "yes"}), [], IGNORING, Stage.IGNORED, ""),
])  # fmt: skip
def test_why(node: Node, servers: list[Server], settings: Settings, stage: Stage, next_: str) -> None:
    found = alone(node, *servers, settings=settings)
    head = {
        Stage.SETTLED: rules.SETTLED.text(server="server 1"),
        Stage.JOINING: rules.JOINING.text(server="server 1"),
        Stage.DEPARTING: rules.SERVER_GONE.text(place="the project", server="server 1"),
        Stage.IGNORED: rules.IGNORED.text(selector="lab=yes"),
    }
    assert (found.stage, found.why) == (stage, head[stage] + next_)


def test_a_condition_that_is_written_initializes_nothing() -> None:
    """A Node that joins and is left to others stays so, whatever else is planned of it."""
    settings = replace(SWITCHED_OFF, controllers=frozenset({Controller.LIFECYCLE, Controller.ROUTE}))
    found = routed(a_routed_world([a_pod_node(says=UNROUTED, taints=(UNINITIALIZED,))]), settings)
    assert [change.kind for change in found.changes] == ["node.network_condition"]
    assert found.why.endswith(f"; {rules.CONTROLLER_OFF.text(controller='cloud-node')}")


SERVER_1 = ServerFact(1, "web-1", ServerStatus.RUNNING, "cpx32", "fsn1")
OTHER_ID = rules.OTHER_ID.text()


@rows("node expected", {
    "by-provider-id": (a_settled_node(), ServerMatch("providerID", "hcloud://1", SERVER_1)),
    "by-name": (a_joining_node(), ServerMatch("name", None, SERVER_1)),
    "gone": (a_lost_node(server_id=3), ServerMatch("providerID", "hcloud://3", None,
        rules.SERVER_GONE.text(place="the project", server="server 3"), (Candidate(1, "web-1", OTHER_ID),))),
    "robot-gone": (a_lost_node("db-1", provider_id="hrobot://9"), ServerMatch("providerID", "hrobot://9", None,
        rules.SERVER_GONE.text(place="the Robot account", server="Robot server 9"), (Candidate(321, "db-1", OTHER_ID,
        Provider.ROBOT),))),
    "likely": (a_node(), ServerMatch("name", None, None,
        rules.UNCLAIMED_LIKELY.says.format(server="server 1 web-1 (by name)"), (Candidate(1, "web-1",
        rules.BY_CLUE.text(clue="name")),))),
})  # fmt: skip
def test_match(node: Node, expected: ServerMatch) -> None:
    """What decides, the server that it led to, or why to none, and the servers that come near."""
    robot = RobotAccount(servers_of(a_robot_server(321, "db-1")))
    assert alone(node, a_server(), settings=IGNORING, robot=robot).match == expected


TYPE = "node.kubernetes.io/instance-type"


@rows("node server expected", {
    "changes": (a_settled_node(), a_server(type="cx22"),
        Fact(TYPE, "cpx32", "cx22", Basis.SERVER, "the server's type")),
    "comes": (a_settled_node(), a_server(labels={"a": "b"}),
        Fact("m.example.com/a", None, "b", Basis.MIRRORED, rules.LABEL_MIRRORED.text(name="a"))),
    "goes": (a_settled_node(labels={**SERVER_LABELS, "m.example.com/a": "b"}), a_server(),
        Fact("m.example.com/a", "b", None, Basis.MIRRORED, rules.MIRROR_GONE.text(label="m.example.com/a"))),
    "foreign": (a_settled_node(labels={**SERVER_LABELS, "a": "b"}), a_server(),
        Fact("a", "b", "b", Basis.FOREIGN, NOT_OURS)),
    "left-alone": (a_settled_node(provider_id="aws://1"), a_server(),
        Fact(TYPE, "cpx32", "cpx32", Basis.UNTOUCHED, rules.NOT_MANAGED.text(stage="foreign"))),
})  # fmt: skip
def test_labels(node: Node, server: Server, expected: Fact) -> None:
    """Each label that is there or comes is told, by key, with what decided on it."""
    labels = alone(node, server, settings=MIRRORING).labels
    assert [fact.subject for fact in labels] == sorted({*node.labels, expected.subject})
    assert expected in labels


def address(kind: str, value: str | None, wanted: str | None, source: str, basis: Basis = Basis.SERVER) -> Fact:
    return Fact(kind, value, wanted, basis, source)


LEFT = rules.CONTROLLER_OFF.text(controller="cloud-node")
HOST, PUBLIC = NodeAddress("Hostname", "web-1"), NodeAddress("ExternalIP", "203.0.113.1")
STRANGE = NodeAddress("InternalIP", "10.9.9.9")
WHY_HOST, WHY_PUBLIC = rules.HOSTNAME_OF_SERVER.text(), rules.PUBLIC_IPV4.text()


@rows("addresses settings expected", {
    "come": ((), Settings(), [address("Hostname", None, "web-1", WHY_HOST), address("ExternalIP", None, "203.0.113.1",
        WHY_PUBLIC)]),
    "stay-and-go": ((PUBLIC, STRANGE, HOST, PUBLIC), Settings(), [address("ExternalIP", "203.0.113.1", "203.0.113.1",
        WHY_PUBLIC), address("InternalIP", "10.9.9.9", None, rules.NETWORK_UNSET.text(type="InternalIP",
        address="10.9.9.9")), address("Hostname", "web-1", "web-1", WHY_HOST), address("ExternalIP", "203.0.113.1",
        None, rules.ADDRESS_TWICE.text(type="ExternalIP", address="203.0.113.1"))]),
    "left-alone": ((STRANGE,), NO_NODE, [address("InternalIP", "10.9.9.9", "10.9.9.9", LEFT, Basis.UNTOUCHED)]),
})  # fmt: skip
def test_addresses(addresses: tuple[NodeAddress, ...], settings: Settings, expected: list[Fact]) -> None:
    """Each address is told in the Node's order with what decided on it; those that come stand last."""
    assert list(alone(a_settled_node(addresses=addresses), a_server(), settings=settings).addresses) == expected


def taint(key: str, value: str | None, wanted: str | None, basis: Basis, source: str) -> Fact:
    return Fact(key, value, wanted, basis, source)


SHUTDOWN, NO_SCHEDULE = Taint(TAINT_SHUTDOWN, "NoSchedule"), "NoSchedule"
GOES, IS_OFF = rules.TAINT_GOES.text(), rules.POWER.text(server="server 1", status="off")
ANNOUNCED = taint(TAINT_CLUSTER_AUTOSCALER, "1:NoSchedule", "1:NoSchedule", Basis.ANNOUNCING, rules.ANNOUNCES.text())
GOES_FIRST = taint(TAINT_UNINITIALIZED, "true:NoSchedule", None, Basis.UNINITIALISED, GOES)
SHUT = taint(TAINT_SHUTDOWN, None, NO_SCHEDULE, Basis.SHUTDOWN, IS_OFF)


@rows("node server settings expected", {
    "none": (a_settled_node(), a_server(), Settings(), []),
    "joining": (a_joining_node(), a_server(), Settings(), [GOES_FIRST]),
    "off": (a_settled_node(), OFF, Settings(), [SHUT]),
    "off-there": (a_settled_node(taints=(SHUTDOWN,)), OFF, Settings(), [replace(SHUT, value=NO_SCHEDULE)]),
    "announced": (a_settled_node(taints=(Taint(TAINT_CLUSTER_AUTOSCALER, NO_SCHEDULE, "1"),)), OFF, NO_LIFECYCLE,
        [ANNOUNCED]),
    "foreign": (a_settled_node(taints=(Taint("a", "NoExecute", "b"), Taint(TAINT_SHUTDOWN, "NoExecute"))), a_server(),
        Settings(), [taint("a", "b:NoExecute", "b:NoExecute", Basis.FOREIGN, NOT_OURS),
        taint(TAINT_SHUTDOWN, "NoExecute", "NoExecute", Basis.FOREIGN, NOT_OURS)]),
})  # fmt: skip
def test_taints(node: Node, server: Server, settings: Settings, expected: list[Fact]) -> None:
    """Each taint is told with what it means and whether it goes; one that comes stands last."""
    assert list(alone(node, server, settings=settings).taints) == expected


SINCE = "2026-07-01 11:55 UTC"
AGO = NOW - timedelta(minutes=5)
WAITS = replace(Settings(), waits=Waits(not_ready_for=timedelta(seconds=90), given_up_after=timedelta(hours=1)))
BORN = "the Node's creation, as none is written yet"


def counts(since: str) -> str:
    return rules.READY_COUNTS.text(since=since, wait="90 s", silence="60 min")


@rows("node value source", {
    "ready": (a_settled_node(ready_since=AGO), "True", rules.READY_KEEPS.text(since=SINCE)),
    "not-ready": (a_settled_node(ready=Readiness.FALSE, ready_since=AGO), "False", counts(SINCE)),
    "silent": (a_settled_node(ready=Readiness.UNKNOWN, ready_since=AGO, heartbeat=AGO), "Unknown",
        counts(f"{SINCE}, last heard of {SINCE}")),
    "not-written": (a_settled_node(ready=Readiness.MISSING), None, counts(BORN)),
    "never-deleted": (a_node(ready=Readiness.FALSE, ready_since=AGO), "False", rules.READY_IDLE.text(since=SINCE)),
})  # fmt: skip
def test_the_condition_ready(node: Node, value: str | None, source: str) -> None:
    """Ready is told whether it is there or not, with what depends on it."""
    (fact,) = alone(node, a_server(), settings=WAITS).conditions
    assert fact == Fact("Ready", value, value, Basis.READY, source)


def test_other_conditions() -> None:
    """They are left alone, in the Node's order; Ready comes first where it is not written."""
    node = a_node(conditions=(Condition("NetworkUnavailable", "True"), Condition("DiskPressure", "False")))
    _, *others = alone(node).conditions
    assert others == [
        Fact(found.type, found.status, found.status, Basis.FOREIGN, NOT_OURS) for found in node.conditions
    ]


def test_measures() -> None:
    """What guards measure of the cloud, and how the Node's disruption was announced."""
    lost, gone = a_lost_node(unschedulable=True), a_lost_node("web-2", 2)
    found = explained(lost, a_snapshot([CONTROL, lost, gone], [CONTROL_SERVER]))
    assert found.announced == rules.CORDONED.text()
    assert found.anchor == AnchorFact(AnchorState.HOLDS, found=1, total=1, unknown=0, needed=1)
    assert found.losses == LossFact(("node/web-2",), nodes=3, limit=1)


@pytest.mark.parametrize(("servers", "unknown"), [(servers_of(), 0), (replace(servers_of(), unreadable={1: "no"}), 1)])
def test_an_anchor_without_a_ready_node(servers: Section[int, Server], unknown: int) -> None:
    node = a_lost_node()
    found = explained(node, a_snapshot([node], servers_section=servers))
    assert (found.anchor.total, found.anchor.unknown) == (0, unknown)


def test_measures_of_robot() -> None:
    """Of a Node on a Robot server those of its own provider are told, whether its server is there or gone."""
    lost, there = (a_lost_node(name, provider_id=f"hrobot://{number}") for name, number in (("db-1", 1), ("db-2", 2)))
    named = a_joining_node("db-4")
    ready = a_settled_node("db-3", provider_id="hrobot://3")
    servers = servers_of(a_robot_server(2, "db-2"), a_robot_server(3, "db-3"), a_robot_server(4, "db-4"))
    account = RobotAccount(servers, confirmations={1: Absent()})
    nodes = [a_settled_node(), a_lost_node("web-2", 2), lost, there, ready, named]
    of_lost, of_named = (explained(node, a_snapshot(nodes, robot=account)) for node in (lost, named))

    assert of_lost.anchor == of_named.anchor == AnchorFact(AnchorState.HOLDS, 1, 1, 0, 1, Provider.ROBOT)
    assert of_lost.losses == LossFact(("node/db-1",), 3, 1, Provider.ROBOT)
    measured = {guard.rule: (guard.value, guard.limit) for guard in of_lost.guards}
    assert measured[GuardName.PROJECT_ANCHOR] == measured[GuardName.NODE_BLAST_RADIUS] == ("1", "1")


def test_notes() -> None:
    """Notes on the Node, and those that explain every verdict; those on other Nodes are not."""
    node, other = (a_joining_node(name, provider_id="hcloud://x") for name in ("gpu", "tpu"))
    snapshot = a_snapshot([CONTROL, node, other], [a_server()])
    plan = judge(compute_plan(snapshot, Settings()), snapshot, Settings())
    expired = Note(key_of("plan"), NoteKind.APPROVAL, "expired")
    found = explain(node, snapshot, Settings(), replace(plan, notes=(*plan.notes, expired)))

    assert [(note.key, note.kind) for note in found.notes] == [
        ("node/gpu", NoteKind.MALFORMED),
        ("plan", NoteKind.APPROVAL),
        ("project/cloud", NoteKind.ANCHOR),
    ]


BROKEN: Section[str, Node] = Section({}, unreadable={"web-2": "no uid"})
NAMED = "server 2 has the name: its kubelet has not registered here"


@pytest.mark.parametrize(("nodes", "servers", "why"), [
    (nodes_of(), [], "the cluster has no Node 'web-2'"),
    (nodes_of(a_node(), a_node("db-1")), [], "the cluster has no Node 'web-2'; nearest: web-1"),
    (incomplete(nodes_of(), "429"), [], "the cluster has no Node 'web-2', but 429"),
    (BROKEN, [], "Node 'web-2' cannot be explained: no uid"),
    (nodes_of(), [a_server(2, "web-2")], f"the cluster has no Node 'web-2'; {NAMED}"),
])  # fmt: skip
def test_no_node(nodes: Section[str, Node], servers: list[Server], why: str) -> None:
    """A name that no Node has is answered with what comes near, or why it cannot be told."""
    assert why_no_node("web-2", a_snapshot(nodes_section=nodes, servers=servers)) == why


# Routes.

SWITCHED_OFF = Settings(network="private")
IGNORING_POD = replace(ROUTING, ignore_nodes=parse_selector("lab=yes"))
OTHER = NetworkCondition("False", "CalicoIsUp")
LAB = a_routed_world([a_pod_node(labels={"lab": "yes"})])


def routed(world: Snapshot, settings: Settings = ROUTING) -> NodeExplanation:
    return explained(world.nodes.items["web-1"], world, settings)


@rows("world settings why", {
    "served": (a_routed_world(), ROUTING, None),
    "no-cidr": (a_routed_world(), WITHOUT_RANGE, of_routes.CIDR_UNSET.text()),
    "no-pods": (a_routed_world([a_pod_node(pod_cidrs=())], routes=[]), ROUTING, of_routes.NO_POD_CIDR.text()),
    "ignored": (LAB, IGNORING_POD, of_routes.NODE_IGNORED.text()),
})  # fmt: skip
def test_why_there_are_no_routes(world: Snapshot, settings: Settings, why: str | None) -> None:
    """Where nothing is looked after, one sentence says why."""
    routes = routed(world, settings).routes
    assert routes is not None
    assert routes.why == why


@pytest.mark.parametrize("says", [None, OTHER])
def test_no_routes_while_they_are_switched_off(says: NetworkCondition | None) -> None:
    """Who uses no routes reads nothing of them."""
    assert routed(a_routed_world([a_pod_node(says=says)]), SWITCHED_OFF).routes is None


def test_the_network() -> None:
    """Its routes are counted, but not of a list with a gap; with the cluster CIDR, and what speaks against it."""
    world, outside = a_routed_world(), a_routed_world([a_pod_node(1, "10.245.1.0/24")], routes=[])
    hidden = replace(world, routes=routes_of(a_route(), unreadable={"fd00::/64": "no IPv4"}))
    gap = replace(world, routes=incomplete(routes_of(a_route())))
    read, more, less, wrong = (routed(each).routes for each in (world, hidden, gap, outside))

    assert read is not None
    assert more is not None
    assert less is not None
    assert wrong is not None
    assert (read.network, read.cluster_cidr, read.mismatch) == (4, ROUTING.cluster_cidr, None)
    assert (read.used, more.used, less.used) == (1, 2, None)
    assert wrong.mismatch is not None


def route(destination: str, standing: Any, fate: Any, sides: tuple[int, int], why: str) -> RouteFact:
    """A route between the gateways with these numbers; 0: none."""
    value, wanted = (a_route(1, f"10.0.0.{side}").gateway if side else None for side in sides)
    return RouteFact(destination, standing, fate, value, wanted, why)


PODS, OTHERS, ALIAS = "10.244.1.0/24", "10.8.0.0/24", a_pod_server(1, aliases=("10.0.0.50",))
SERVES = of_routes.PODS_SERVED.text(address="10.0.0.2", server=1)
MISSES = of_routes.PODS_MISSING.text(node="web-1", server=1)
OUTSIDE = of_routes.ROUTE_OUTSIDE.text(cidr="10.244.0.0/16")
SERVED = route(PODS, RouteStatus.SERVED, RouteAction.CLAIMED, (2, 2), SERVES)
TEN, SIX = of_routes.POD_CIDR_MALFORMED.text(cidr="'ten'"), of_routes.POD_CIDR_IPV6.text()
DEAD = a_route("10.244.0.0/23", "10.0.0.99")
IN_THE_WAY = f"{MISSES}; created once the route to 10.244.0.0/23 is removed"
IN_PODS_OF_2 = a_routed_world([a_pod_node(), a_pod_node(2)], routes=[a_route(1), a_route(2, 1)])


@rows("world settings expected", {
    "served": (a_routed_world(), ROUTING, [SERVED]),
    "withheld": (a_routed_world(routes=[]), replace(ROUTING, policy=Policy.OBSERVE), [route(PODS, RouteStatus.MISSING,
        None, (0, 2), f"{MISSES}; waiting (policy)")]),
    "in-the-way": (a_routed_world([a_pod_node(says=None)], [a_pod_server()], [DEAD], members=[]), ROUTING, [route(PODS,
        RouteStatus.MISSING, None, (0, 2), IN_THE_WAY)]),
    "order": (a_routed_world([a_pod_node(1, "fd00::/64", PODS, "ten")], routes=[a_route(1), a_route(OTHERS, 1)]),
        ROUTING, [route("fd00::/64", None, None, (0, 0), SIX), SERVED, route("ten", RouteStatus.UNROUTABLE, None, (0,
        0), TEN), route(OTHERS, None, RouteAction.FOREIGN, (2, 2), OUTSIDE)]),
    "by-alias": (a_routed_world([a_pod_node()], [ALIAS], [a_route(1), a_route(OTHERS, "10.0.0.50")]), ROUTING, [SERVED,
        route(OTHERS, None, RouteAction.FOREIGN, (50, 50), OUTSIDE)]),
    "pods-of-another": (IN_PODS_OF_2, ROUTING, [SERVED, route("10.244.2.0/24", None, RouteAction.CLAIMED, (2, 3),
        of_routes.PODS_OF_OTHER_NODE.text(nodes="Node web-2"))]),
    "ignored": (LAB, IGNORING_POD, [route(PODS, None, RouteAction.CLAIMED, (2, 2), of_routes.NODE_IGNORED.text())]),
})  # fmt: skip
def test_routes(world: Snapshot, settings: Settings, expected: list[RouteFact]) -> None:
    """The Node's pod CIDRs in its order, each once, then what leads to its server besides; with why, and what withholds
    it."""
    routes = routed(world, settings).routes
    assert routes is not None
    assert list(routes.destinations) == expected


_SHOWN: Mapping[NetworkCondition | None, str | None] = {
    ROUTED: "False (RouteCreated)",
    UNROUTED: "True (NoRouteCreated)",
    OTHER: "False (CalicoIsUp)",
    None: None,
}
THERE, COMING = of_routes.ROUTES_THERE.text(), of_routes.ROUTES_COMING.text()
IPV6_ONLY = of_routes.PODS_IPV6_ONLY.text()


def pods(says: NetworkCondition | None, *cidrs: str, routes: Any = None, **overrides: Any) -> Snapshot:
    return a_routed_world([a_pod_node(1, *cidrs, says=says, **overrides)], routes=routes)


@rows("world settings sides basis source", {
    "there": (pods(ROUTED), ROUTING, (ROUTED, ROUTED), Basis.ROUTES, THERE),
    "withheld": (pods(OTHER), replace(ROUTING, policy=Policy.OBSERVE), (OTHER, ROUTED), Basis.ROUTES,
        f"{THERE}; waiting (policy)"),
    "comes": (pods(None, routes=[]), ROUTING, (None, ROUTED), Basis.ROUTES,
        f"{COMING}; written once the routes are there"),
    "stays": (pods(ROUTED, routes=[]), ROUTING, (ROUTED, ROUTED), Basis.ROUTES, COMING),
    "ipv6": (pods(UNROUTED, "fd00::/64"), ROUTING, (UNROUTED, None), Basis.ROUTES, IPV6_ONLY),
    "ipv6-none": (pods(None, "fd00::/64"), ROUTING, (None, None), Basis.UNTOUCHED, IPV6_ONLY),
    "no-pods": (pods(ROUTED, pod_cidrs=(), routes=[]), ROUTING, (ROUTED, ROUTED), Basis.UNTOUCHED,
        of_routes.NO_POD_CIDR.text()),
    "off": (pods(ROUTED), SWITCHED_OFF, (ROUTED, None), Basis.ROUTES, of_routes.CONDITION_UNNEEDED.text()),
    "foreign": (pods(ROUTED, provider_id="aws://1", routes=[]), SWITCHED_OFF, (ROUTED, ROUTED), Basis.UNTOUCHED,
        rules.NOT_MANAGED.text(stage="foreign")),
})  # fmt: skip
def test_the_condition_of_routes(
    world: Snapshot, settings: Settings, sides: tuple[Any, Any], basis: Basis, source: str
) -> None:
    """It is told as it stands and as it will be, with what decides on it."""
    facts = {fact.subject: fact for fact in routed(world, settings).conditions}
    value, wanted = (_SHOWN[side] for side in sides)
    assert facts[CONDITION_NETWORK] == Fact(CONDITION_NETWORK, value, wanted, basis, source)
    assert list(facts) == ["Ready", CONDITION_NETWORK]


@rows("world settings is_told", {
    "off": (pods(OTHER), SWITCHED_OFF, True),
    "no-pods": (pods(OTHER, pod_cidrs=(), routes=[]), ROUTING, True),
    "not-there-and-foreign": (pods(None, provider_id="aws://1", routes=[]), ROUTING, False),
})  # fmt: skip
def test_a_condition_that_routes_have_no_say_in(world: Snapshot, settings: Settings, is_told: bool) -> None:
    found = [fact for fact in routed(world, settings).conditions if fact.subject == CONDITION_NETWORK]
    assert found == [Fact(CONDITION_NETWORK, "False", "False", Basis.FOREIGN, NOT_OURS)] * is_told
