"""From a snapshot to a plan: desired state and difference."""

from collections.abc import Mapping
from dataclasses import replace

import pytest

from desired.model.load_balancer import ServerTarget
from desired.model.settings import Controller, Settings
from desired.model.snapshot import AddressType, Node, NodeAddress, Readiness, Server, ServerStatus
from desired.model.taint import Taint
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
JOINED = NodeIdentity("hcloud://1", SERVER_LABELS, (), WEB_1_ADDRESSES)
TYPES = ("beta.kubernetes.io/instance-type", "node.kubernetes.io/instance-type")
RESIZED = SERVER_LABELS | dict.fromkeys(TYPES, "cpx42")
FROM_SERVER = rules.LABELS_DIFFER.text(server="server 1", type="cpx42", location="fsn1")
FROM_LABELS = rules.MIRROR_DIFFERS.text(server="server 1")

H, E4 = WEB_1_ADDRESSES
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
