"""What a joining Node becomes."""

import pytest

from desired.model.settings import Controller, Settings
from desired.model.snapshot import AddressType, Node, NodeAddress, Readiness, ServerStatus, Taint
from desired.names import TAINT_SHUTDOWN
from desired.nodes.node import UninitializedNode, UnmanagedNode, current_identity, is_uninitialized
from desired.plan.change import NodeIdentity
from desired.plan.notes import NoteKind
from desired.section import Absent, Unknown
from tests.builders import (
    NOW,
    SERVER_LABELS,
    UNINITIALIZED,
    WEB_1_ADDRESSES,
    a_joining_node,
    a_node,
    a_server,
)
from tests.support.nodes import decide

KEY = "node/web-1"
NODES_ALONE = Settings(controllers=frozenset(Controller) - {Controller.LIFECYCLE})
SHUTDOWN = Taint(TAINT_SHUTDOWN, "NoSchedule")
DEFAULT, MIRROR = Settings(), Settings(mirror_labels="srv.example.com")
BEFORE, AFTER = Taint("a", "NoExecute", "1", "2026-07-01T00:00:00Z"), Taint("b", "NoSchedule")
ZONE, PROVIDED_BY = "topology.kubernetes.io/zone", "instance.hetzner.cloud/provided-by"
NO_ZONE_LABELS = {key: value for key, value in SERVER_LABELS.items() if not key.endswith("/zone")}

H, E4 = WEB_1_ADDRESSES
VPN = NodeAddress(AddressType.INTERNAL_IP, "100.64.0.1")


@pytest.mark.parametrize(
    ("taints", "expected"),
    [
        pytest.param((UNINITIALIZED,), True, id="as-the-kubelet-sets-it"),
        pytest.param((Taint(UNINITIALIZED.key, "NoExecute"),), True, id="other-effect-and-no-value"),
        pytest.param((BEFORE, UNINITIALIZED), True, id="among-others"),
        pytest.param((BEFORE,), False, id="other-taints-only"),
        pytest.param((Taint("x", "NoSchedule", UNINITIALIZED.key),), False, id="the-key-as-a-value"),
        pytest.param((), False, id="no-taints"),
    ],
)
def test_is_joining(taints: tuple[Taint, ...], expected: bool) -> None:
    """The key of the uninitialized taint alone tells a joining Node, with any value and effect."""
    assert is_uninitialized(a_node(taints=taints)) is expected


def test_current_identity() -> None:
    """The identity before initialization has the owned labels only and all the rest as it stands."""
    labels = {ZONE: "mine", "team": "red", "srv.example.com/team": "blue"}
    node = a_joining_node(taints=(BEFORE, UNINITIALIZED), addresses=WEB_1_ADDRESSES, labels=labels)

    def identity(*owned: str) -> NodeIdentity:
        return NodeIdentity(None, {key: labels[key] for key in owned}, (BEFORE, UNINITIALIZED), WEB_1_ADDRESSES)

    assert current_identity(node, DEFAULT) == identity(ZONE)
    assert current_identity(node, MIRROR) == identity(ZONE, "srv.example.com/team")


@pytest.mark.parametrize(
    ("node", "settings", "provider_id", "labels", "taints"),
    [
        pytest.param(a_joining_node(), DEFAULT, "hcloud://1", SERVER_LABELS, (), id="fresh"),
        pytest.param(
            a_joining_node(provider_id="hcloud://1"), DEFAULT, "hcloud://1", SERVER_LABELS, (), id="provider-id-preset"
        ),
        pytest.param(
            a_joining_node(taints=(BEFORE, UNINITIALIZED, AFTER, Taint(UNINITIALIZED.key, "NoExecute", "other"))),
            DEFAULT,
            "hcloud://1",
            SERVER_LABELS,
            (BEFORE, AFTER),
            id="every-uninitialised-taint-goes-and-the-others-keep-their-order",
        ),
        pytest.param(
            a_joining_node(labels=dict.fromkeys(SERVER_LABELS, "wrong")),
            DEFAULT,
            "hcloud://1",
            SERVER_LABELS | {PROVIDED_BY: "wrong"},
            (),
            id="wrong-labels-are-overwritten-but-for-provided-by",
        ),
        pytest.param(
            a_joining_node(labels={"team": "red"}),
            DEFAULT,
            "hcloud://1",
            SERVER_LABELS,
            (),
            id="labels-of-others-are-left-out",
        ),
        pytest.param(
            a_joining_node(),
            Settings(zone_labels=False),
            "hcloud://1",
            NO_ZONE_LABELS,
            (),
            id="zone-labels-disabled",
        ),
        pytest.param(
            a_joining_node(labels={ZONE: "mine"}),
            Settings(zone_labels=False),
            "hcloud://1",
            NO_ZONE_LABELS | {ZONE: "mine"},
            (),
            id="an-owned-label-without-a-value-of-ours-stays",
        ),
        pytest.param(
            a_joining_node(labels={"srv.example.com/gone": "x"}),
            MIRROR,
            "hcloud://1",
            SERVER_LABELS | {"srv.example.com/team": "red"},
            (),
            id="the-servers-labels-are-mirrored-at-once",
        ),
        pytest.param(
            a_joining_node(ready=Readiness.TRUE, unschedulable=True, deleted_at=NOW),
            DEFAULT,
            "hcloud://1",
            SERVER_LABELS,
            (),
            id="readiness-cordon-and-deletion-are-not-considered",
        ),
    ],
)
def test_joining_node(
    node: Node, settings: Settings, provider_id: str, labels: dict[str, str], taints: tuple[Taint, ...]
) -> None:
    """Initialization gives providerID, labels and addresses together, and takes the uninitialized taints away."""
    server = a_server(labels={"team": "red"})
    joining, _ = decide(node, server, settings)
    assert isinstance(joining, UninitializedNode)
    assert joining.identity == NodeIdentity(provider_id, labels, taints, WEB_1_ADDRESSES)
    assert (joining.server, joining.match.by) == (server, "name" if node.provider_id is None else "providerID")
    assert joining.addresses.lost == ()


@pytest.mark.parametrize(
    ("status", "before", "settings", "after"),
    [
        pytest.param(ServerStatus.OFF, (BEFORE,), DEFAULT, (BEFORE, SHUTDOWN), id="off"),
        pytest.param(ServerStatus.OFF, (SHUTDOWN, BEFORE), DEFAULT, (SHUTDOWN, BEFORE), id="off-and-said-already"),
        pytest.param(ServerStatus.RUNNING, (SHUTDOWN, BEFORE), DEFAULT, (BEFORE,), id="on-again"),
        pytest.param(ServerStatus.STARTING, (SHUTDOWN,), DEFAULT, (SHUTDOWN,), id="neither-stays-as-it-is"),
        pytest.param(ServerStatus.OFF, (), NODES_ALONE, (), id="left-to-others"),
    ],
)
def test_shutdown_taint_of_a_joining_node(
    status: ServerStatus, before: tuple[Taint, ...], settings: Settings, after: tuple[Taint, ...]
) -> None:
    """It comes and goes with the initialization, so that a plan shows it, and nothing is scheduled in between."""
    node = a_joining_node(taints=(*before, UNINITIALIZED))
    joining, _ = decide(node, a_server(status=status), settings)
    assert isinstance(joining, UninitializedNode)
    assert joining.identity.taints == after


def test_notes_of_a_joining_node() -> None:
    """Labels that stay although ours differ are told."""
    node = a_joining_node(labels={PROVIDED_BY: "robot"})
    joining, notes = decide(node, a_server())
    assert (isinstance(joining, UninitializedNode), [note.kind for note in notes]) == (True, [NoteKind.KEPT])


@pytest.mark.parametrize("network", [Unknown("429"), Absent()], ids=["unreadable", "not-in-the-project"])
def test_unknown_network(network: Absent | Unknown) -> None:
    """While the network that decides the private addresses is not known, a Node waits instead of getting wrong ones."""
    settings = Settings(network="private", keep_internal_ips=True)
    node, notes = decide(a_joining_node(), a_server(), settings, network=network)
    assert (type(node), [note.kind for note in notes]) == (UnmanagedNode, [NoteKind.UNKNOWN])


@pytest.mark.parametrize("annotation", ["", "10.0.0.2", "10.0.0.2, 2001::1", "0.0.0.0", "2001:db8:1::1"])
def test_unusable_node_ip(annotation: str) -> None:
    """A node IP that does not fit leaves the whole Node as it is."""
    node = a_joining_node(provided_node_ip=annotation, labels={PROVIDED_BY: "robot"})
    found, notes = decide(node, a_server())
    assert (type(found), [note.kind for note in notes]) == (UnmanagedNode, [NoteKind.UNUSABLE_NODE_IP])


def test_addresses_and_what_they_cost() -> None:
    """The addresses are the server's, and each IP address that goes away with it is a consequence."""
    node = a_joining_node(addresses=(VPN,), provided_node_ip="203.0.113.1")
    joining, _ = decide(node, a_server())
    assert isinstance(joining, UninitializedNode)
    assert joining.identity.addresses == (E4, H)
    why = "HCLOUD_NETWORK is not set, so the cloud knows no private address"
    assert joining.addresses.lost == (f"InternalIP 100.64.0.1 goes away: {why}",)


@pytest.mark.parametrize("field", ["public_net.ipv4", "public_net.ipv6", "private_net"])
def test_field_that_did_not_arrive(field: str) -> None:
    """While Hetzner's answer says nothing of its addresses a Node waits, and the note says for what."""
    node, notes = decide(a_joining_node(), a_server(missing=frozenset({field})))
    assert (type(node), [note.kind for note in notes]) == (UnmanagedNode, [NoteKind.UNKNOWN])


def test_labels_that_did_not_arrive() -> None:
    """A Node joins without the labels that Hetzner's answer lacks, and those that were mirrored before stay."""
    node, server = a_joining_node(labels={"srv.example.com/team": "red"}), a_server(missing=frozenset({"labels"}))
    joining, notes = decide(node, server, MIRROR)
    assert isinstance(joining, UninitializedNode)
    assert (joining.identity.labels, notes) == (SERVER_LABELS | {"srv.example.com/team": "red"}, ())
