"""Rows of a Node: its server, each of its fields, and the routes to its pods."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

from desired.explain.rows import Part, Row
from desired.model.route import ROUTED, UNROUTED, NetworkCondition
from desired.model.settings import Controller, Policy, Settings, Waits
from desired.model.snapshot import Node, NodeAddress, Readiness, RobotAccount, ServerStatus, Snapshot
from desired.model.taint import Taint
from desired.names import TAINT_CLUSTER_AUTOSCALER, TAINT_SHUTDOWN
from desired.plan.notes import Note, NoteKind
from desired.planner import compute_plan
from desired.section import Absent
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
    servers_of,
)
from tests.routes import ROUTING, WITHOUT_RANGE, a_pod_node, a_pod_server, a_route, a_routed_world, routes_of
from tests.support.explanations import shown_rows
from tests.support.judging import explain, judge
from tests.support.keys import key_of
from tests.support.rows import rows

CONTROL, CONTROL_SERVER = a_settled_node("control-1", 9), a_server(9, "control-1")
NO_LIFECYCLE, NO_NODE = (Settings(controllers=frozenset({only})) for only in (Controller.NODE, Controller.LIFECYCLE))
IGNORING = Settings(ignore_nodes=parse_selector("lab=yes"))
MIRRORING = Settings(mirror_labels="m.example.com")
OBSERVE = Settings(policy=Policy.OBSERVE)
WAITS = Settings(waits=Waits(not_ready_for=timedelta(seconds=90), given_up_after=timedelta(hours=1)))
AGO = NOW - timedelta(minutes=5)


def rows_of(node: Node, snapshot: Snapshot, settings: Settings | None = None) -> tuple[Row, ...]:
    settings = settings or Settings()
    return explain(node, snapshot, settings, judge(compute_plan(snapshot, settings), snapshot, settings)).rows


def beside(node: Node, *servers: Any, **overrides: Any) -> tuple[Node, Snapshot]:
    """The Node beside a Ready one, in a project with these servers more, where server 1 was asked for."""
    snapshot = a_snapshot([CONTROL, node], [CONTROL_SERVER, *servers], confirmations={1: Absent()})
    return node, replace(snapshot, **overrides)


def addressed(*addresses: NodeAddress) -> tuple[Node, Snapshot]:
    return beside(a_settled_node(addresses=addresses), a_server())


def labelled(**labels: str) -> tuple[Node, Snapshot]:
    return beside(
        a_settled_node(labels={**SERVER_LABELS, **{f"m.example.com/{key}": v for key, v in labels.items()}}), a_server()
    )


def tainted(*taints: Taint, status: ServerStatus = ServerStatus.RUNNING) -> tuple[Node, Snapshot]:
    return beside(a_settled_node(taints=taints), a_server(status=status))


def ready(**overrides: Any) -> tuple[Node, Snapshot]:
    return beside(a_settled_node(**{"ready_since": AGO} | overrides), a_server())


ROBOT = {"robot": RobotAccount(servers_of(a_robot_server(321, "db-1")))}
HOST, PUBLIC = NodeAddress("Hostname", "web-1"), NodeAddress("ExternalIP", "203.0.113.1")
STRANGE = NodeAddress("InternalIP", "10.9.9.9")
SETTLED = rows_of(*beside(a_settled_node(), a_server()))
SHUTDOWN = Taint(TAINT_SHUTDOWN, "NoSchedule")


@rows("node settings part expected", {
    "settled": (beside(a_settled_node(), a_server()), Settings(), Part.SERVER,
        ["providerID hcloud://1 [settled]: server 1, node-settled"]),
    "joining": (beside(a_joining_node(), a_server()), Settings(), Part.SERVER,
        ["name web-1 [joining]: server 1, node-joining"]),
    "joining, left to others": (beside(a_joining_node(), a_server()), NO_NODE, Part.SERVER,
        ["name web-1 [joining]: server 1, node-joining", "changes: (none), controller-off"]),
    "departing, left to others": (beside(a_lost_node()), NO_LIFECYCLE, Part.SERVER,
        ["providerID hcloud://1 [departing]: (none), server-gone", "changes: (none), controller-off"]),
    "ignored": (beside(a_node(labels={"lab": "yes"})), IGNORING, Part.SERVER,
        ["name web-1 [ignored]: (none), node-ignored"]),
    "gone, with a namesake": (beside(a_lost_node(server_id=3), a_server()), Settings(), Part.SERVER,
        ["providerID hcloud://3 [departing]: (none), server-gone", "nearest: server 1 web-1, other-id"]),
    "gone at Robot": (beside(a_lost_node("db-1", provider_id="hrobot://9"), **ROBOT), Settings(), Part.SERVER,
        ["providerID hrobot://9 [departing]: (none), server-gone", "nearest: Robot server 321 db-1, other-id"]),
    "likely": (beside(a_node(), a_server()), Settings(), Part.SERVER,
        ["name web-1 [unclaimed]: (none), node-unclaimed-likely", "nearest: server 1 web-1, by-clue"]),
    "a label comes": (beside(a_settled_node(), a_server(labels={"a": "b"})), MIRRORING, Part.LABELS,
        ["m.example.com/a: (none) -> b, label-mirrored"]),
    "a label changes": (beside(a_settled_node(), a_server(type="cx22")), Settings(), Part.LABELS,
        ["beta.kubernetes.io/instance-type: cpx32 -> cx22, type-of-server",
        "node.kubernetes.io/instance-type: cpx32 -> cx22, type-of-server"]),
    "a label of others": (labelled(a="b"), Settings(), Part.LABELS, ["m.example.com/a: b, left-alone"]),
    "a label goes": (labelled(a="b"), MIRRORING, Part.LABELS, ["m.example.com/a: b -> (none), mirror-gone"]),
    "addresses come": (addressed(), Settings(), Part.ADDRESSES, ["Hostname: (none) -> web-1, hostname-of-server",
        "ExternalIP: (none) -> 203.0.113.1, public-ipv4"]),
    "addresses stay and go": (addressed(PUBLIC, STRANGE, HOST, PUBLIC), Settings(), Part.ADDRESSES,
        ["ExternalIP: 203.0.113.1, public-ipv4", "InternalIP: 10.9.9.9 -> (none), network-unset",
        "Hostname: web-1, hostname-of-server", "ExternalIP: 203.0.113.1 -> (none), address-twice"]),
    "addresses of others": (addressed(STRANGE), NO_NODE, Part.ADDRESSES, ["InternalIP: 10.9.9.9, controller-off"]),
    "joins": (beside(a_joining_node(), a_server()), Settings(), Part.TAINTS,
        ["node.cloudprovider.kubernetes.io/uninitialized: true:NoSchedule -> (none), taint-goes"]),
    "off": (tainted(status=ServerStatus.OFF), Settings(), Part.TAINTS,
        ["node.cloudprovider.kubernetes.io/shutdown: (none) -> NoSchedule, power"]),
    "off as told": (tainted(SHUTDOWN, status=ServerStatus.OFF), Settings(), Part.TAINTS,
        ["node.cloudprovider.kubernetes.io/shutdown: NoSchedule, power"]),
    "announced": (tainted(Taint(TAINT_CLUSTER_AUTOSCALER, "NoSchedule", "1")), NO_LIFECYCLE, Part.TAINTS,
        ["ToBeDeletedByClusterAutoscaler: 1:NoSchedule, taint-announces"]),
    "taints of others": (tainted(Taint("a", "NoExecute", "b"), Taint(TAINT_SHUTDOWN, "NoExecute")), Settings(),
        Part.TAINTS, ["a: b:NoExecute, left-alone",
        "node.cloudprovider.kubernetes.io/shutdown: NoExecute, left-alone"]),
    "ready": (ready(), WAITS, Part.CONDITIONS, ["Ready: True, ready-keeps"]),
    "not ready": (ready(ready=Readiness.FALSE), WAITS, Part.CONDITIONS, ["Ready: False, ready-counts"]),
    "silent": (ready(ready=Readiness.UNKNOWN, heartbeat=AGO), WAITS, Part.CONDITIONS, ["Ready: Unknown, ready-counts"]),
    "Ready not written": (ready(ready=Readiness.MISSING), WAITS, Part.CONDITIONS, ["Ready: (none), ready-counts"]),
    "never deleted": (beside(a_node(ready=Readiness.FALSE, ready_since=AGO)), WAITS, Part.CONDITIONS,
        ["Ready: False, ready-idle"]),
})  # fmt: skip
def test_rows(node: tuple[Node, Snapshot], settings: Settings, part: Part, expected: list[str]) -> None:
    """Each field with its value now and then, and the rule that decides on it; labels that a settled Node has are left
    out."""
    told = [row for row in rows_of(*node, settings) if row.rule and (row.part is not Part.LABELS or row not in SETTLED)]
    assert shown_rows(told, part) == expected


SWITCHED_OFF = Settings(network="private")
IGNORING_POD = replace(ROUTING, ignore_nodes=parse_selector("lab=yes"))
OBSERVING = replace(ROUTING, policy=Policy.OBSERVE)
OTHER = NetworkCondition("False", "CalicoIsUp")
LAB = a_routed_world([a_pod_node(labels={"lab": "yes"})])
PODS, OTHERS, ALIAS = "10.244.1.0/24", "10.8.0.0/24", a_pod_server(1, aliases=("10.0.0.50",))
DEAD = a_route("10.244.0.0/23", "10.0.0.99")
IN_PODS_OF_2 = a_routed_world([a_pod_node(), a_pod_node(2)], routes=[a_route(1), a_route(2, 1)])
TWO_FAMILIES = a_routed_world([a_pod_node(1, "fd00::/64", PODS, "ten")], routes=[a_route(1), a_route(OTHERS, 1)])


def pods(says: NetworkCondition | None, *cidrs: str, routes: Any = None, **overrides: Any) -> Snapshot:
    return a_routed_world([a_pod_node(1, *cidrs, says=says, **overrides)], routes=routes)


@rows("world settings expected", {
    "served": (a_routed_world(), ROUTING, ["10.244.1.0/24 [served]: 10.0.0.2, pods-served"]),
    "no range": (a_routed_world(), WITHOUT_RANGE, ["all: (none), routes-cidr-unset"]),
    "off": (a_routed_world([a_pod_node(says=OTHER)]), SWITCHED_OFF, []),
    "no pods": (a_routed_world([a_pod_node(pod_cidrs=())], routes=[]), ROUTING, ["pod CIDRs: (none), no-pod-cidr-yet"]),
    "ignored": (LAB, IGNORING_POD, ["pod CIDRs: (none), node-routes-ignored",
        "10.244.1.0/24 [claimed]: 10.0.0.2, node-routes-ignored"]),
    "another range": (a_routed_world([a_pod_node(1, "10.245.1.0/24")], routes=[]), ROUTING,
        ["cluster CIDR: 10.244.0.0/16, cidr-mismatch", "10.245.1.0/24 [outside]: (none), pods-outside"]),
    "withheld": (a_routed_world(routes=[]), OBSERVING,
        ["10.244.1.0/24 [missing]: (none) -> 10.0.0.2, pods-missing, waiting"]),
    "in the way": (a_routed_world([a_pod_node(says=None)], [a_pod_server()], [DEAD], members=[]), ROUTING,
        ["10.244.1.0/24 [missing]: (none) -> 10.0.0.2, pods-missing"]),
    "both families": (TWO_FAMILIES, ROUTING, ["fd00::/64: (none), pod-cidr-ipv6",
        "10.244.1.0/24 [served]: 10.0.0.2, pods-served", "ten [unroutable]: (none), pod-cidr-malformed",
        "10.8.0.0/24 [foreign]: 10.0.0.2, route-outside"]),
    "by alias": (a_routed_world([a_pod_node()], [ALIAS], [a_route(1), a_route(OTHERS, "10.0.0.50")]), ROUTING,
        ["10.244.1.0/24 [served]: 10.0.0.2, pods-served", "10.8.0.0/24 [foreign]: 10.0.0.50, route-outside"]),
    "pods of another": (IN_PODS_OF_2, ROUTING, ["10.244.1.0/24 [served]: 10.0.0.2, pods-served",
        "10.244.2.0/24 [claimed]: 10.0.0.2 -> 10.0.0.3, pods-of-other-node"]),
})  # fmt: skip
def test_routes(world: Snapshot, settings: Settings, expected: list[str]) -> None:
    """The pod CIDRs of the Node in their order, then other routes to its server."""
    told = [row for row in rows_of(world.nodes.items["web-1"], world, settings) if row.rule]
    assert shown_rows(told, Part.ROUTES) == expected


@rows("routes used", {
    "all": (routes_of(a_route()), "1 of 100"),
    "unreadable ones too": (routes_of(a_route(), unreadable={"fd00::/64": "no IPv4"}), "2 of 100"),
    "not of a list with a gap": (incomplete(routes_of(a_route())), None),
})  # fmt: skip
def test_routes_are_counted(routes: Any, used: str | None) -> None:
    world = replace(a_routed_world(), routes=routes)
    found = {row.subject: row.value for row in rows_of(world.nodes.items["web-1"], world, ROUTING)}
    assert (found["network"], found["routes in use"], found["cluster CIDR"]) == ("4", used, "10.244.0.0/16")


@rows("world settings expected", {
    "there": (pods(ROUTED), ROUTING, ["NetworkUnavailable: False (RouteCreated), routes-there"]),
    "withheld": (pods(OTHER), OBSERVING,
        ["NetworkUnavailable: False (CalicoIsUp) -> False (RouteCreated), routes-there, waiting"]),
    "comes": (pods(None, routes=[]), ROUTING, ["NetworkUnavailable: (none) -> False (RouteCreated), routes-coming"]),
    "stays": (pods(ROUTED, routes=[]), ROUTING, ["NetworkUnavailable: False (RouteCreated), routes-coming"]),
    "IPv6 alone": (pods(UNROUTED, "fd00::/64"), ROUTING,
        ["NetworkUnavailable: True (NoRouteCreated) -> (none), pods-ipv6-only"]),
    "IPv6 alone, not written": (pods(None, "fd00::/64"), ROUTING, ["NetworkUnavailable: (none), pods-ipv6-only"]),
    "no pods": (pods(ROUTED, pod_cidrs=(), routes=[]), ROUTING,
        ["NetworkUnavailable: False (RouteCreated), no-pod-cidr-yet"]),
    "switched off": (pods(ROUTED), SWITCHED_OFF,
        ["NetworkUnavailable: False (RouteCreated) -> (none), condition-unneeded"]),
    "of another cloud": (pods(ROUTED, provider_id="aws://1", routes=[]), SWITCHED_OFF,
        ["NetworkUnavailable: False (RouteCreated), node-not-managed"]),
    "of others": (pods(OTHER), SWITCHED_OFF, ["NetworkUnavailable: False, left-alone"]),
    "of others, without pods": (pods(OTHER, pod_cidrs=(), routes=[]), ROUTING,
        ["NetworkUnavailable: False, left-alone"]),
    "not written, of another cloud": (pods(None, provider_id="aws://1", routes=[]), SWITCHED_OFF, []),
})  # fmt: skip
def test_the_condition_of_routes(world: Snapshot, settings: Settings, expected: list[str]) -> None:
    found = rows_of(world.nodes.items["web-1"], world, settings)
    assert shown_rows(found, Part.CONDITIONS, "NetworkUnavailable") == expected


def test_a_condition_that_is_written_initializes_nothing() -> None:
    """A Node that joins and is left to others stays so, whatever else is planned of it."""
    settings = replace(SWITCHED_OFF, controllers=frozenset({Controller.LIFECYCLE, Controller.ROUTE}))
    world = a_routed_world([a_pod_node(says=UNROUTED, taints=(UNINITIALIZED,))])
    found = explain(world.nodes.items["web-1"], world, settings, judge(compute_plan(world, settings), world, settings))
    assert [change.kind for change in found.changes] == ["node.network_condition"]
    assert [row.rule for row in found.rows if row.subject == "changes"] == ["controller-off"]


def test_a_guard_measures_in_the_account_of_the_node() -> None:
    """Of a Node on a Robot server, there or gone, its own provider counts."""
    lost = a_lost_node("db-1", provider_id="hrobot://1")
    account = RobotAccount(servers_of(a_robot_server(3, "db-3")), confirmations={1: Absent()})
    nodes = [a_settled_node(), a_lost_node("web-2", 2), lost, a_settled_node("db-3", provider_id="hrobot://3")]
    found = rows_of(lost, a_snapshot(nodes, robot=account))
    measured = {row.subject: (row.value, row.wanted) for row in found if row.part is Part.GUARDS}
    assert measured["project-anchor"] == ("1", "1")


def test_notes() -> None:
    """Notes on the Node, and those that explain every verdict, unless a row says the same; none on other Nodes."""
    node, other = (a_joining_node(name, provider_id="hcloud://x") for name in ("gpu", "tpu"))
    snapshot = a_snapshot([CONTROL, node, other], [a_server()])
    plan = judge(compute_plan(snapshot, Settings()), snapshot, Settings())
    expired = Note(key_of("plan"), NoteKind.APPROVAL, "expired")
    found = explain(node, snapshot, Settings(), replace(plan, notes=(*plan.notes, expired))).rows

    assert [(row.subject, row.rule) for row in found if row.part is Part.NOTES] == [
        ("plan", NoteKind.APPROVAL),
        ("project/cloud", NoteKind.ANCHOR),
    ]
