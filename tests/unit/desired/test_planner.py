"""From a snapshot to a plan: desired state and difference."""

from collections.abc import Mapping
from dataclasses import replace

import pytest

from desired.model.load_balancer import ServerTarget
from desired.model.settings import AddressFamily, Controller, Settings
from desired.model.snapshot import AddressType, Node, NodeAddress, Readiness, Server, ServerStatus
from desired.model.taint import Taint, with_shutdown_taint
from desired.plan.change import Change, LostNode, NodeIdentity, Plan, State
from desired.plan.evidence import AbsenceProof
from desired.plan.kinds import ChangeKind, Verb
from desired.plan.notes import Note, NoteKind
from desired.plan.ordering import in_order
from desired.planner import DesiredState, compute_desired, compute_plan, diff
from desired.routes.desired import DesiredRoutes
from desired.rules import nodes as rules
from desired.rules.guards import CLUSTER_UNREAD
from desired.section import Present, Unknown
from tests.balancers import LOCATED, a_balancer, a_served_service, a_world
from tests.builders import (
    SERVER_LABELS,
    UNINITIALIZED,
    WEB_1_ADDRESSES,
    a_dual_stack_server,
    a_joining_node,
    a_lost_node,
    a_network,
    a_node,
    a_server,
    a_settled_node,
    a_snapshot,
    in_cloud,
)
from tests.support.keys import key_of
from tests.support.nodes import managed
from tests.support.rows import rows

SETTINGS, MIRROR = Settings(), Settings(mirror_labels="srv.example.com")
DUAL = Settings(address_family=AddressFamily.DUALSTACK, network="private")
JOINED = NodeIdentity("hcloud://1", SERVER_LABELS, (), WEB_1_ADDRESSES)
TYPES = ("beta.kubernetes.io/instance-type", "node.kubernetes.io/instance-type")
RESIZED = SERVER_LABELS | dict.fromkeys(TYPES, "cpx42")
FROM_SERVER = rules.LABELS_DIFFER.text(server="server 1", type="cpx42", location="fsn1")
FROM_LABELS = rules.MIRROR_DIFFERS.text(server="server 1")

H, E4 = WEB_1_ADDRESSES
E6 = NodeAddress(AddressType.EXTERNAL_IP, "2001:db8:1::1")
I4 = NodeAddress(AddressType.INTERNAL_IP, "10.0.0.2")
VPN = NodeAddress(AddressType.INTERNAL_IP, "10.0.0.9")
NOT_THERE = ("InternalIP 10.0.0.9 is removed: server 1 does not have it",)
LOST = ("InternalIP 10.0.0.9 is removed: HCLOUD_NETWORK is not set, and no private address is known",)

SHUTDOWN = Taint("node.cloudprovider.kubernetes.io/shutdown", "NoSchedule")
OTHER_EFFECT = Taint(SHUTDOWN.key, "NoExecute", "x", "2026-07-01T00:00:00Z")


def plan_of(node: Node, server: Server | None = None, settings: Settings = SETTINGS) -> Plan:
    return compute_plan(a_snapshot([node], [server or a_server()]), settings)


def initialise(node: Node, reason: str, consequences: tuple[str, ...] = ()) -> Change:
    before = NodeIdentity(node.provider_id, {}, node.taints, node.addresses)
    return Change(node.key, ChangeKind.NODE_INITIALISE, Verb.ADD, before, JOINED, reason, node.key, consequences)


def modify(part: str, kind: str, before: State, after: State, reason: str, *consequences: str) -> Change:
    return Change(
        key_of(f"node/web-1/{part}"),
        ChangeKind(kind),
        Verb.MODIFY,
        before,
        after,
        reason,
        key_of("node/web-1"),
        consequences,
    )


BY_ID, BY_NAME = (f"initialized as server 1 (matched by {what})" for what in ("providerID", "name"))


@rows("node reason consequences", {
    "by-name": (a_joining_node(), BY_NAME, ()),
    "by-provider-id": (a_joining_node("db-1", provider_id="hcloud://1"), BY_ID, ()),
    "before-is-what-the-kubelet-wrote": (a_joining_node(addresses=(VPN,), labels={"team": "red"}), BY_NAME, LOST),
    "settled-and-tainted-again": (a_settled_node("db-1", taints=(UNINITIALIZED,), addresses=(VPN,), labels={}), BY_ID,
        LOST),
})  # fmt: skip
def test_joining_node(node: Node, reason: str, consequences: tuple[str, ...]) -> None:
    """A Node joins as its server, which is found by providerID or by name; addresses that go away are told."""
    assert plan_of(node) == Plan((initialise(node, reason, consequences),))


@rows("node server settings", {
    "converged-by-HCCM": (a_settled_node(), a_server(), SETTINGS),
    "other-labels": (a_settled_node(labels=SERVER_LABELS | {"team": "red"}), a_server(), SETTINGS),
    "other-taints": (a_settled_node(taints=(OTHER_EFFECT,)), a_server(), SETTINGS),
    "not-ready": (a_settled_node(ready=Readiness.FALSE, unschedulable=True), a_server(), SETTINGS),
    "two-of-one-type": (a_settled_node(addresses=(H, E4, E6, I4)), a_dual_stack_server(), DUAL),
    "robot": (a_settled_node(provider_id="hrobot://7", labels={}), a_server(), SETTINGS),
})  # fmt: skip
def test_equal_world(node: Node, server: Server, settings: Settings) -> None:
    """A Node that is as it should be needs nothing."""
    assert compute_plan(a_snapshot([node], [server], network=Present(a_network())), settings) == Plan()


OLD, TEAM, NEW = (f"srv.example.com/{name}" for name in ("old", "team", "new"))
A, BIG, BIG_NEW = a_server(), a_server(type="cpx42"), a_server(type="cpx42", labels={"new": "y"})
WITH_OLD = SERVER_LABELS | {OLD: "x"}


@rows("labels server before after reason gone", {
    "resized-server": (SERVER_LABELS, BIG, SERVER_LABELS, RESIZED, FROM_SERVER, []),
    "none-but-other-peoples": ({"team": "red"}, BIG, {}, RESIZED, FROM_SERVER, []),
    "mirrored-come-and-go": (WITH_OLD | {"team": "red"}, BIG_NEW, WITH_OLD, RESIZED | {NEW: "y"}, FROM_SERVER, [OLD]),
    "mirrored-alone-go": (WITH_OLD | {TEAM: "x"}, A, WITH_OLD | {TEAM: "x"}, SERVER_LABELS, FROM_LABELS, [OLD, TEAM]),
    "mirrored-alone-change": (SERVER_LABELS | {TEAM: "red"}, a_server(labels={"team": "blue"}),
        SERVER_LABELS | {TEAM: "red"}, SERVER_LABELS | {TEAM: "blue"}, FROM_LABELS, []),
})  # fmt: skip
def test_labels(
    labels: Mapping[str, str],
    server: Server,
    before: Mapping[str, str],
    after: Mapping[str, str],
    reason: str,
    gone: list[str],
) -> None:
    """Labels that differ are one change of the owned keys, whose reason says from what; one that goes away is told."""
    told = [rules.MIRROR_GONE.text(label=label) for label in gone]
    expected = modify("labels", "node.labels", before, after, reason, *told)
    assert plan_of(a_settled_node(labels=labels), server, MIRROR) == Plan((expected,))


@rows("current after consequences", {
    "none": ((), (H, E4), ()),
    "order-alone": ((E4, H), (H, E4), ()),
    "one-twice": ((H, E4, E4), (H, E4), ()),
    "one-that-goes-away": ((H, E4, VPN), (H, E4), NOT_THERE),
})  # fmt: skip
def test_addresses(
    current: tuple[NodeAddress, ...], after: tuple[NodeAddress, ...], consequences: tuple[str, ...]
) -> None:
    """Addresses are compared whole and in their order; one that goes away is a consequence."""
    snapshot = a_snapshot([a_settled_node(addresses=current)], [a_server()], network=Present(a_network()))
    reason = rules.ADDRESSES_DIFFER.text(server="server 1")
    expected = modify("addresses", "node.addresses", current, after, reason, *consequences)
    assert compute_plan(snapshot, SETTINGS) == Plan((expected,))


@rows("taints tainted", {
    "none": ((), False),
    "there": ((SHUTDOWN,), True),
    "with-a-value": ((replace(SHUTDOWN, value="true"),), True),
    "with-another-effect": ((OTHER_EFFECT,), False),
    "with-both-effects": ((OTHER_EFFECT, SHUTDOWN), True),
})  # fmt: skip
@pytest.mark.parametrize("status", ServerStatus)
def test_shutdown_taint(status: ServerStatus, taints: tuple[Taint, ...], tainted: bool) -> None:
    """Off puts the taint on and running takes it off, whatever the kubelet says; any other state leaves it."""
    wanted = {ServerStatus.OFF: True, ServerStatus.RUNNING: False}.get(status, tainted)
    change = (
        modify("shutdown", "node.shutdown_taint", tainted, wanted, f"server 1 is {status}")
        if (wanted is not tainted)
        else None
    )
    for ready in Readiness:
        plan = plan_of(a_settled_node(taints=taints, ready=ready), a_server(status=status))
        assert plan == Plan(() if change is None else (change,)), ready


def test_node_whose_server_is_gone() -> None:
    """A Node that is not Ready and whose server is gone is deleted, with the proof as the left side."""
    node = a_lost_node(server_id=9, labels=SERVER_LABELS | {"team": "red"})
    lost = LostNode(
        NodeIdentity("hcloud://9", SERVER_LABELS, (), (H, NodeAddress(AddressType.EXTERNAL_IP, "203.0.113.9"))),
        AbsenceProof.of(node, in_cloud(9)),
    )
    reason = "server 9 not found in the project"
    expected = Change(
        key_of("node/web-1"), ChangeKind.NODE_DELETE, Verb.REMOVE, lost, None, reason, key_of("node/web-1")
    )
    assert plan_of(node) == Plan((expected,))


def test_everything_about_a_node_at_once() -> None:
    """Labels, addresses and taint of one Node are three changes with keys of their own, below the Node's."""
    node = a_settled_node(labels={}, addresses=())
    found = [
        (change.key, change.kind, change.owner) for change in plan_of(node, a_server(status=ServerStatus.OFF)).changes
    ]
    assert found == [
        ("node/web-1/addresses", "node.addresses", "node/web-1"),
        ("node/web-1/labels", "node.labels", "node/web-1"),
        ("node/web-1/shutdown", "node.shutdown_taint", "node/web-1"),
    ]


def test_what_is_unmanaged_is_never_diffed() -> None:
    """A field that nobody asked for, or of which too little is known, is no difference."""
    settings = Settings(controllers=frozenset({Controller.SERVICE}))
    snapshot = a_snapshot([a_settled_node(labels={}, addresses=(), taints=(SHUTDOWN,))], [a_server()])
    assert diff(snapshot, compute_desired(snapshot, settings), settings) == Plan()


def test_all_kinds_of_nodes_side_by_side() -> None:
    """Foreign and unmatched Nodes get notes and hold up no other Node; removals come last."""
    nodes = [a_joining_node(), a_joining_node("gpu"), a_node("edge"), a_settled_node("old", 2), a_lost_node("gone", 9)]
    drifted = a_settled_node("drifted", 3, labels={})
    plan = compute_plan(
        a_snapshot([*nodes, drifted], [a_server(), a_server(2, "old"), a_server(3, "drifted")]), SETTINGS
    )
    assert [(change.key, change.kind) for change in plan.changes] == [
        ("node/web-1", "node.initialise"),
        ("node/drifted/labels", "node.labels"),
        ("node/gone", "node.delete"),
    ]
    assert [(note.key, note.kind) for note in plan.notes] == [
        ("node/edge", NoteKind.FOREIGN),
        ("node/gpu", NoteKind.UNMATCHED),
    ]


def applied(node: Node, plan: Plan) -> Node:
    for change in plan.changes:
        match change.kind, change.after:
            case "node.initialise", NodeIdentity(provider_id, labels, taints, addresses):
                node = replace(node, provider_id=provider_id, labels=labels, taints=taints, addresses=addresses)
            case "node.labels", Mapping() as labels:
                node = replace(node, labels=labels)
            case "node.addresses", tuple() as addresses:
                node = replace(node, addresses=addresses)
            case "node.shutdown_taint", bool() as wanted:
                node = replace(node, taints=with_shutdown_taint(node.taints, wanted=wanted))
    return node


@rows("node server", {
    "joining": (a_joining_node(), a_server()),
    "drifted": (a_settled_node(labels={}, addresses=()), a_server(status=ServerStatus.OFF)),
    "changed-server": (a_settled_node(taints=(SHUTDOWN,)), a_server(type="cpx42", name="web-9")),
    "kept-zone": (a_settled_node(labels={"failure-domain.beta.kubernetes.io/zone": "rack-7"}), a_server()),
    "another-host-of-the-servers-network": (a_settled_node(provided_node_ip="2001:db8:1::77"), a_dual_stack_server()),
})  # fmt: skip
def test_applying_the_plan_empties_it(node: Node, server: Server) -> None:
    """A Node that became what the plan says is planned no more."""
    plan = plan_of(node, server, DUAL)
    assert plan.changes
    assert plan_of(applied(node, plan), server, DUAL).changes == ()


def test_controllers_switched_off() -> None:
    """Without both controllers of Nodes nothing is desired of them, and nothing is said of them."""
    others = frozenset({Controller.SERVICE, Controller.ROUTE})
    snapshot = a_snapshot([a_joining_node(), a_node("edge"), a_lost_node("gone", 9)], [a_server()])
    desired = compute_desired(snapshot, Settings(controllers=others))
    assert (managed(desired.nodes), replace(desired, nodes={}, routes=DesiredRoutes())) == ({}, DesiredState({}))
    assert diff(snapshot, desired, Settings(controllers=others)) == Plan()


@rows("controllers", {"all": frozenset(Controller), "none": frozenset[Controller]()})
def test_cluster_without_identity(controllers: frozenset[Controller]) -> None:
    """A cluster whose identity cannot be read is told that nothing will be written to Hetzner."""
    text = CLUSTER_UNREAD.text(error="403")
    plan = compute_plan(a_snapshot(cluster_uid=Unknown("403")), Settings(controllers=controllers))
    assert plan == Plan(notes=(Note(key_of("cluster"), NoteKind.UNKNOWN, text),))


def test_notes_are_carried_over() -> None:
    """What the desired state has to say is in the plan."""
    note = Note(key_of("node/a"), NoteKind.FOREIGN, "left alone")
    assert diff(a_snapshot(), DesiredState({}, notes=(note,)), SETTINGS) == Plan(notes=(note,))


@rows("targets follows", {
    "no-target": ([], ()),
    "one": ([ServerTarget(1, use_private_ip=False)], ("load_balancer/default/web/target/server:1",)),
    "another-server": ([ServerTarget(2, use_private_ip=False)], ()),
})  # fmt: skip
def test_a_node_goes_after_its_target(targets: list[ServerTarget], follows: tuple[str, ...]) -> None:
    """A Node is deleted once its server was tried to be taken out of the load balancer, whatever came of it."""
    nodes, servers = [a_lost_node(), a_settled_node("web-2", 2)], [a_server(2, "web-2")]
    snapshot = a_world([a_served_service()], [a_balancer(targets=targets)], nodes=nodes, servers=servers)
    deletion = compute_plan(snapshot, LOCATED).by_key["node/web-1"]
    assert (deletion.kind, deletion.follows, deletion.depends_on) == ("node.delete", follows, ())


def test_a_node_goes_after_its_targets_everywhere() -> None:
    """Each load balancer is named, in a settled order, and the Node comes last."""
    services = [a_served_service(name, uid=f"uid-{name}") for name in ("b", "a")]
    balancers = [a_balancer(number, service_uid=f"uid-{name}") for number, name in ((43, "b"), (44, "a"))]
    order = in_order(compute_plan(a_world(services, balancers, nodes=[a_lost_node()], servers=[]), LOCATED).changes)
    assert order[-1].key == "node/web-1"
    assert order[-1].follows == tuple(f"load_balancer/default/{name}/target/server:1" for name in ("a", "b"))
