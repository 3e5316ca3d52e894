"""What each Node should be: it joins, is kept in sync, departs, or is left alone with a note that says why."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from desired.model.settings import Controller, Settings
from desired.model.snapshot import (
    AddressType,
    Condition,
    Network,
    Node,
    NodeAddress,
    Readiness,
    RobotAccount,
    Server,
    ServerStatus,
)
from desired.model.taint import Taint, has_shutdown_taint, with_shutdown_taint
from desired.names import TAINT_SHUTDOWN
from desired.nodes.matching import cloud_nodes, is_ignored
from desired.nodes.node import (
    DesiredNode,
    InitializedNode,
    OrphanedNode,
    UninitializedNode,
    UnmanagedNode,
    current_identity,
    desired_nodes,
    shut_down,
)
from desired.plan.change import LostNode, NodeIdentity
from desired.plan.evidence import AbsenceProof
from desired.plan.notes import NoteKind
from desired.section import UNMANAGED, Absent, Present, Section, Unknown, Unmanaged
from desired.syntax.selector import parse_selector
from tests.builders import (
    NOW,
    SERVER_LABELS,
    UNINITIALIZED,
    WEB_1_ADDRESSES,
    a_joining_node,
    a_lost_node,
    a_node,
    a_robot_server,
    a_server,
    a_settled_node,
    a_snapshot,
    in_cloud,
    incomplete,
    servers_of,
)
from tests.support.nodes import addresses_of, decide, labels_of, managed
from tests.support.rows import rows

SETTINGS, MIRROR = Settings(), Settings(mirror_labels="srv.example.com")
IN_NETWORK = Settings(network="private", keep_internal_ips=True)
WITHOUT_NODE = Settings(controllers=frozenset(Controller) - {Controller.NODE})
WITHOUT_LIFECYCLE = Settings(controllers=frozenset(Controller) - {Controller.LIFECYCLE})
SPARED, SPARE = Settings(ignore_nodes=parse_selector("team in (red)")), {"team": "red"}
WEB_1, WEB_2 = a_server(1, "web-1"), a_server(2, "web-2")
H, E4 = WEB_1_ADDRESSES
I4, VPN = (NodeAddress(AddressType.INTERNAL_IP, ip) for ip in ("10.0.0.2", "100.64.0.1"))
ZONE, PROVIDED_BY = "topology.kubernetes.io/zone", "instance.hetzner.cloud/provided-by"
LATE = a_joining_node(provider_id="hcloud://9")
SETTLED = ("settled", "server 1", True, True)
Outcome = tuple[object, ...]


def joins(by: str, provider_id: str = "hcloud://1") -> Outcome:
    """A joining Node that is recognized as a server with the addresses of server 1."""
    return "joins", by, NodeIdentity(provider_id, SERVER_LABELS, (), WEB_1_ADDRESSES)


def departs(node: Node, server_id: int) -> Outcome:
    """``node`` as one to be deleted."""
    return "departs", LostNode(current_identity(node, SETTINGS), AbsenceProof.of(node, in_cloud(server_id)))


def outcome(
    nodes: Sequence[Node], settings: Settings = SETTINGS, **world: Any
) -> tuple[Mapping[str, Outcome], list[tuple[str, str]]]:
    """What each Node should be, without those that are left alone, and name and kind of the notes."""
    found, notes = desired_nodes(a_snapshot(nodes, **world), settings)
    return {n: _outcome(each) for n, each in managed(found).items()}, [(note.key.name, note.kind) for note in notes]


def _outcome(node: DesiredNode) -> Outcome:
    match node:
        case UninitializedNode():
            return "joins", node.match.by, node.identity
        case OrphanedNode():
            return "departs", node.lost
        case InitializedNode():
            is_synced = node.labels == labels_of() and node.addresses == addresses_of()
            return "settled", node.server.key.name, is_synced, not isinstance(node.shut_down.value, Unmanaged)
    raise AssertionError(node)


@rows("node settings expected", {
    "joining-by-name": (a_joining_node(), SETTINGS, joins("name")),
    "joining-by-provider-id": (a_joining_node(provider_id="hcloud://1"), SETTINGS, joins("providerID")),
    "settled": (a_settled_node(), SETTINGS, SETTLED),
    "tainted-again-joins-again": (a_settled_node(taints=(UNINITIALIZED,)), SETTINGS, joins("providerID")),
    "its-server-gone": (a_lost_node(server_id=9), SETTINGS, departs(a_lost_node(server_id=9), 9)),
    "joining-and-its-server-gone-though-another-has-its-name": (LATE, SETTINGS, departs(LATE, 9)),
    "robot": (a_settled_node(provider_id="hrobot://7"), SETTINGS, None),
    "robot-of-the-fork": (a_lost_node(provider_id="hcloud://bm-7"), SETTINGS, None),
    "no-node-controller-joining": (a_joining_node(), WITHOUT_NODE, None),
    "no-node-controller-settled": (a_settled_node(), WITHOUT_NODE, ("settled", "server 1", False, True)),
    "no-lifecycle-joining": (a_joining_node(), WITHOUT_LIFECYCLE, joins("name")),
    "no-lifecycle-settled": (a_settled_node(), WITHOUT_LIFECYCLE, ("settled", "server 1", True, False)),
    "no-lifecycle-gone": (a_lost_node(server_id=9), WITHOUT_LIFECYCLE, None),
})  # fmt: skip
def test_desired_nodes(node: Node, settings: Settings, expected: Outcome | None) -> None:
    """A Node joins, is kept true or departs, each by its controller, and nothing is noted of a Node of ours."""
    assert outcome([node], settings, servers=[WEB_1]) == ({"web-1": expected} if expected else {}, [])


def lasting(**overrides: Any) -> Node:
    return a_lost_node(deleted_at=NOW - timedelta(hours=2), **overrides)


ON_2, ANEW = ({"servers": [server]} for server in (WEB_2, a_server(7)))
NO_SERVER: Section[int, Server] = Section(unreadable={1: "x"})
NO_NODE: Section[str, Node] = Section(unreadable={"web-1": "no uid"})
UNREAD, UNREAD_NODE = {"servers_section": NO_SERVER}, {"nodes_section": NO_NODE}
NO_NETWORK = {"servers": [WEB_1], "network": Unknown("429")}
READY, NOT_READY = Readiness.TRUE, Readiness.FALSE


@rows("node world kind said", {
    "unmatched": (a_joining_node(ready=NOT_READY), ON_2, "unmatched", "web-2"),
    "empty-project": (a_joining_node(ready=READY), {}, "unmatched", "has no servers"),
    "network-unread": (a_joining_node(), NO_NETWORK, "unknown", "429"),
    "its-server-unread": (a_settled_node(), UNREAD, "unknown", "server unknown: x"),
    "elsewhere": (a_node(provider_id="rke2://x"), ON_2, "foreign", "the built-in cloud controller of rke2; to"),
    "gone-and-ready": (a_settled_node(), ON_2, "unmatched", "the kubelet reports Ready"),
    "made-anew": (a_settled_node(), ANEW, "unmatched", "server 7 has the Node's name; delete the Node"),
    "held-by-finalizers": (lasting(finalizers=("x/b", "a")), {}, "deleting", "waits for finalizers x/b, a"),
    "node-unread": (None, UNREAD_NODE, "unreadable", "no uid"),
})  # fmt: skip
def test_nodes_left_alone(node: Node | None, world: dict[str, Any], kind: str, said: str) -> None:
    """A Node of which nothing can or may be wanted is left as it is, and one note says why."""
    nodes, (note,) = desired_nodes(a_snapshot([node] if node else [], **world), SETTINGS)
    assert (managed(nodes), note.key, note.kind) == ({}, "node/web-1", kind)
    assert said in note.text


@pytest.mark.parametrize("ready", Readiness)
def test_a_node_that_waits_for_a_server_without_the_lifecycle_controller(ready: Readiness) -> None:
    """Nothing is deleted; a Node that joins is told that its server is not there."""
    node = a_joining_node(provider_id="hcloud://9", ready=ready)
    assert outcome([node], WITHOUT_LIFECYCLE) == ({}, [("web-1", NoteKind.UNMATCHED)])


def test_a_gap_in_the_list_is_not_told_on_each_node() -> None:
    """A settled Node whose server an incomplete list lacks is not gone and not spoken of: the list is."""
    for node in (a_settled_node(), a_lost_node(server_id=9), LATE):
        assert outcome([node], servers_section=incomplete(servers_of(WEB_2)))[0] == {}
    assert outcome([a_settled_node()], servers_section=incomplete(servers_of())) == ({}, [])


@pytest.mark.parametrize(("forwards", "noted"), [(True, 1), (False, 0)])
def test_an_internal_ip_that_is_not_kept_is_told_where_any_is(forwards: bool, noted: int) -> None:
    """With ROBOT_FORWARD_INTERNAL_IPS off none is kept, as asked for: that is no fault of the kubelet's."""
    addresses = (H, NodeAddress(AddressType.INTERNAL_IP, "bond0"))
    node = a_node(provider_id="hrobot://321", addresses=addresses)
    robot = RobotAccount(Section({321: a_robot_server(321, "web-1")}))
    _, notes = outcome([node], Settings(robot=True, forward_internal_ips=forwards), robot=robot)
    assert [kind for _, kind in notes].count("misconfigured-internal-ip") == noted


@pytest.mark.parametrize("ready", Readiness)
@rows("servers", {"empty-project": [], "other-servers": [WEB_2]})
def test_node_without_a_provider_id_never_departs(ready: Readiness, servers: Sequence[Server]) -> None:
    """A Node whose name matches nothing is noted, whatever its readiness and age: it may have another name."""
    node = replace(a_lost_node(ready=ready), provider_id=None, taints=(UNINITIALIZED,))
    assert outcome([node], servers=servers) == ({}, [("web-1", NoteKind.UNMATCHED)])


@rows("other", {"joining": a_joining_node(), "settled": a_settled_node()})
def test_ignored_node_keeps_its_server(other: Node) -> None:
    """A server whose Node is ignored is given to no other Node by its name, and a providerID of two is trusted of
    neither."""
    ignored = a_settled_node("old", labels=SPARE)
    noted = [("old", NoteKind.IGNORED), ("web-1", NoteKind.AMBIGUOUS)]
    assert outcome([ignored, other], SPARED, servers=[WEB_1]) == ({}, noted)


@rows("node ours", {
    "settled": (a_settled_node("n", 7), True),
    "joining-by-name": (a_joining_node("n"), False),
    "robot-of-the-fork": (a_settled_node("n", provider_id="hcloud://bm-7"), False),
    "foreign": (a_settled_node("n", provider_id="talos://n"), False),
    "malformed": (a_settled_node("n", provider_id="hcloud://07"), False),
    "ignored": (a_settled_node("n", 7, labels=SPARE), False),
})  # fmt: skip
def test_cloud_nodes(node: Node, ours: bool) -> None:
    """Ours are the Nodes whose providerID names a server of the cloud, whatever became of either."""
    assert list(cloud_nodes(a_snapshot([node]), SPARED)) == ([(node, 7)] if ours else [])
    assert is_ignored(node, SPARED) is (node.labels == SPARE)
    assert not is_ignored(node, SETTINGS)


BEFORE, AFTER = Taint("a", "NoExecute", "1", "2026-07-01T00:00:00Z"), Taint("b", "NoSchedule")
SHUTDOWN = Taint(TAINT_SHUTDOWN, "NoSchedule")
WITH_A_VALUE, OTHER_EFFECT = (
    replace(SHUTDOWN, value="true", time_added="2026-07-01"),
    Taint(TAINT_SHUTDOWN, "NoExecute"),
)
NO_ZONE_LABELS = {key: value for key, value in SERVER_LABELS.items() if not key.endswith("/zone")}
OURS, WRONG = "srv.example.com/team", dict.fromkeys(SERVER_LABELS, "wrong")
NO_ZONES, ADDITIONAL = Settings(zone_labels=False), Taint(UNINITIALIZED.key, "NoExecute", "other")


@rows("node settings labels taints", {
    "other-taints-stay": ({"taints": (BEFORE, UNINITIALIZED, AFTER, ADDITIONAL)}, SETTINGS, SERVER_LABELS,
        (BEFORE, AFTER)),
    "overwritten": ({"labels": WRONG}, SETTINGS, SERVER_LABELS | {PROVIDED_BY: "wrong"}, ()),
    "labels-of-others-are-left-out": ({"labels": {"team": "red"}}, SETTINGS, SERVER_LABELS, ()),
    "zone-labels-disabled": ({}, NO_ZONES, NO_ZONE_LABELS, ()),
    "without-a-value-of-ours": ({"labels": {ZONE: "mine"}}, NO_ZONES, NO_ZONE_LABELS | {ZONE: "mine"}, ()),
    "mirrored": ({"labels": {OURS: "x"}}, MIRROR, SERVER_LABELS | {OURS: "red"}, ()),
})  # fmt: skip
def test_joining_node(
    node: dict[str, Any], settings: Settings, labels: dict[str, str], taints: tuple[Taint, ...]
) -> None:
    """Initialization gives providerID, labels and addresses together, and takes the uninitialized taints away."""
    server = a_server(labels={"team": "red"})
    joining, _ = decide(a_joining_node(**node), server, settings)
    assert isinstance(joining, UninitializedNode)
    assert joining.identity == NodeIdentity("hcloud://1", labels, taints, WEB_1_ADDRESSES)
    assert (joining.server, joining.addresses.lost) == (server, ())


@rows("status before settings after", {
    "off": (ServerStatus.OFF, (BEFORE,), SETTINGS, (BEFORE, SHUTDOWN)),
    "off-and-said-already": (ServerStatus.OFF, (SHUTDOWN, BEFORE), SETTINGS, (SHUTDOWN, BEFORE)),
    "on-again": (ServerStatus.RUNNING, (SHUTDOWN, BEFORE), SETTINGS, (BEFORE,)),
    "neither-stays-as-it-is": (ServerStatus.STARTING, (SHUTDOWN,), SETTINGS, (SHUTDOWN,)),
    "left-to-others": (ServerStatus.OFF, (), WITHOUT_LIFECYCLE, ()),
})  # fmt: skip
def test_shutdown_taint_of_a_joining_node(
    status: ServerStatus, before: tuple[Taint, ...], settings: Settings, after: tuple[Taint, ...]
) -> None:
    """It comes and goes with the initialization, so that a plan shows it, and nothing is scheduled in between."""
    joining, _ = decide(a_joining_node(taints=(*before, UNINITIALIZED)), a_server(status=status), settings)
    assert isinstance(joining, UninitializedNode)
    assert joining.identity.taints == after


def test_current_identity() -> None:
    """The identity before initialization has the owned labels only and all the rest as it stands."""
    labels = {ZONE: "mine", "team": "red", "srv.example.com/team": "blue"}
    node = a_joining_node(taints=(BEFORE, UNINITIALIZED), addresses=WEB_1_ADDRESSES, labels=labels)
    owned = {SETTINGS: {ZONE: "mine"}, MIRROR: {ZONE: "mine", "srv.example.com/team": "blue"}}
    for settings, expected in owned.items():
        identity = NodeIdentity(None, expected, (BEFORE, UNINITIALIZED), WEB_1_ADDRESSES)
        assert current_identity(node, settings) == identity


Place = Present[Network | None] | Absent | Unknown
MISSING = {"missing": frozenset({"public_net.ipv4"})}


@rows("node server network noted", {
    "node-ip-malformed": ({"provided_node_ip": "web-1"}, {}, Present(None), "unusable-node-ip"),
    "node-ip-of-no-network": ({"provided_node_ip": "2001:db8::1"}, {}, Present(None), "unusable-node-ip"),
    "network-unreadable": ({}, {}, Unknown("429"), "unknown"),
    "network-not-in-the-project": ({}, {}, Absent(), "unknown"),
    "field-that-did-not-arrive": ({}, MISSING, Unknown("429"), "unknown"),
})  # fmt: skip
def test_addresses_that_are_not_known(node: dict[str, Any], server: dict[str, Any], network: Place, noted: str) -> None:
    """A Node that joins waits. One that has joined keeps its addresses, and its labels and taint are kept true."""
    off = a_server(status=ServerStatus.OFF, **server)
    waiting, notes = decide(a_joining_node(**node), off, IN_NETWORK, network=network)
    assert (type(waiting), [note.kind for note in notes]) == (UnmanagedNode, [noted])

    settled, notes = decide(a_settled_node(addresses=(H, I4), labels={}, **node), off, IN_NETWORK, network=network)
    assert settled.addresses.values == (H, I4)
    assert (settled.labels, settled.shut_down.value) == (labels_of(), True)
    is_told_of_the_network = not node and not server  # once, and not on each Node
    assert [note.kind for note in notes] == ([] if is_told_of_the_network else [noted])


def test_notes_on_labels_and_addresses() -> None:
    """Labels that stay although ours differ are told; each IP address that goes away is a consequence."""
    node = a_joining_node(addresses=(VPN,), provided_node_ip="203.0.113.1", labels={PROVIDED_BY: "robot"})
    joining, notes = decide(node, a_server())
    assert isinstance(joining, UninitializedNode)
    assert (joining.identity.addresses, len(joining.addresses.lost)) == ((E4, H), 1)
    assert [note.kind for note in notes] == [NoteKind.KEPT]


FIVE_MINUTES_AGO, YESTERDAY = NOW - timedelta(minutes=5), NOW - timedelta(days=1)


def lost(node: Node, settings: Settings | None = None) -> LostNode | None:
    """What is lost with the Node, if it is to be deleted: then nothing is noted."""
    wanted, notes = decide(node, settings=settings)
    assert not (isinstance(wanted, OrphanedNode) and notes)
    return wanted.lost if isinstance(wanted, OrphanedNode) else None


@pytest.mark.parametrize("ready", [readiness for readiness in Readiness if readiness is not Readiness.TRUE])
def test_node_that_is_not_ready_departs(ready: Readiness) -> None:
    """Whatever not Ready is called: the Node is to be deleted, as it stands and with what is known of its absence."""
    identity = NodeIdentity("hcloud://1", SERVER_LABELS, (), WEB_1_ADDRESSES)
    since = YESTERDAY if ready is Readiness.MISSING else FIVE_MINUTES_AGO
    expected = LostNode(identity, AbsenceProof(1, "uid-web-1", YESTERDAY, since))
    assert lost(a_lost_node(ready=ready)) == expected
    assert lost(a_lost_node(ready=ready, finalizers=("example.com/a",))) == expected
    assert lost(a_lost_node(conditions=(Condition("Ready", "Perhaps", "Test", FIVE_MINUTES_AGO),)))


@rows("overrides", {
    "registered-again-under-its-name": {"uid": "another"},
    "was-ready-in-between": {"ready_since": NOW - timedelta(minutes=1)},
})  # fmt: skip
def test_loss_of_another_life(overrides: Mapping[str, Any]) -> None:
    """What was planned or approved for one Node never fits the next one of its name."""
    assert lost(a_lost_node()) != lost(a_lost_node(**overrides))


STATES: Mapping[ServerStatus, bool] = {ServerStatus.RUNNING: False, ServerStatus.OFF: True}


@pytest.mark.parametrize("status", ServerStatus)
def test_shut_down(status: ServerStatus) -> None:
    """Off wants the taint, running wants it away, and any state in between leaves it as it is. Robot is asked only
    while the kubelet is silent: a server whose Node reports Ready is on."""
    wanted = STATES.get(status, UNMANAGED)
    for node in (a_settled_node(), a_lost_node()):
        assert shut_down(a_server(status=status), node, SETTINGS).value is wanted
    assert shut_down(a_robot_server(status=status), a_settled_node(), SETTINGS).value is False
    assert shut_down(a_robot_server(status=status), a_lost_node(), SETTINGS).value is wanted


@rows("taints there with_it without_it", {
    "none": ((), False, (SHUTDOWN,), ()),
    "with-a-value": ((WITH_A_VALUE, BEFORE), True, (BEFORE, SHUTDOWN), (BEFORE,)),
    "another-effect-is-of-another-owner": ((OTHER_EFFECT,), False, (OTHER_EFFECT, SHUTDOWN), (OTHER_EFFECT,)),
    "between-others": ((BEFORE, SHUTDOWN, AFTER), True, (BEFORE, AFTER, SHUTDOWN), (BEFORE, AFTER)),
})  # fmt: skip
def test_shutdown_taint(
    taints: tuple[Taint, ...], there: bool, with_it: tuple[Taint, ...], without_it: tuple[Taint, ...]
) -> None:
    """Key and effect together make the taint; the other taints keep their order, values and times."""
    assert has_shutdown_taint(taints) is there
    assert with_shutdown_taint(taints, wanted=False) == without_it
    assert set(with_shutdown_taint(taints, wanted=True)) == set(with_it)
