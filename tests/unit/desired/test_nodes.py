"""Which Nodes are initialised and what they become: nodes-and-routes 4.3, edge cases 1 to 9, W-1, W-16."""

from collections.abc import Mapping
from ipaddress import IPv4Address

import pytest

from desired.addresses import UnusableNodeIP
from desired.change import NodeIdentity
from desired.nodes import JoiningNode, current_identity, desired_identity, desired_nodes, is_joining
from desired.section import Absent, Present, Unknown
from desired.settings import AddressFamily, Settings
from desired.snapshot import AddressType, Network, Node, NodeAddress, Readiness, Server, Taint
from tests.builders import (
    NOW,
    UNINITIALIZED,
    WEB_1_ADDRESSES,
    a_dual_stack_server,
    a_joining_node,
    a_network,
    a_node,
    a_server,
    a_settled_node,
    a_snapshot,
)

SETTINGS = Settings()
BEFORE, AFTER = Taint("a", "NoExecute", "1", "2026-07-01T00:00:00Z"), Taint("b", "NoSchedule")
LABELS = {
    "beta.kubernetes.io/instance-type": "cpx32",
    "node.kubernetes.io/instance-type": "cpx32",
    "failure-domain.beta.kubernetes.io/zone": "fsn1-dc14",
    "topology.kubernetes.io/zone": "fsn1-dc14",
    "failure-domain.beta.kubernetes.io/region": "fsn1",
    "topology.kubernetes.io/region": "fsn1",
    "instance.hetzner.cloud/provided-by": "cloud",
}
ZONE_LABELS = {key: value for key, value in LABELS.items() if key.endswith("/zone")}
NO_ZONE_LABELS = {key: value for key, value in LABELS.items() if key not in ZONE_LABELS}
WEB_1 = NodeIdentity("hcloud://1", LABELS, (), WEB_1_ADDRESSES)


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
    """The key of the uninitialised taint alone tells a joining Node, with any value and effect."""
    assert is_joining(a_node(taints=taints)) is expected


def test_current_identity() -> None:
    """The identity before initialisation has the owned labels only and all the rest as it stands."""
    labels = {"topology.kubernetes.io/zone": "mine", "team": "red"}
    node = a_joining_node(taints=(BEFORE, UNINITIALIZED), addresses=WEB_1_ADDRESSES, labels=labels)
    expected = NodeIdentity(None, {"topology.kubernetes.io/zone": "mine"}, (BEFORE, UNINITIALIZED), WEB_1_ADDRESSES)
    assert current_identity(node) == expected


@pytest.mark.parametrize(
    ("node", "settings", "expected"),
    [
        pytest.param(a_joining_node(), SETTINGS, WEB_1, id="fresh"),
        pytest.param(a_joining_node(provider_id="hcloud://1"), SETTINGS, WEB_1, id="provider-id-preset-by-the-kubelet"),
        pytest.param(
            a_joining_node(provider_id="hcloud://01"),
            SETTINGS,
            NodeIdentity("hcloud://01", LABELS, (), WEB_1_ADDRESSES),
            id="provider-id-is-never-rewritten",
        ),
        pytest.param(
            a_joining_node(
                taints=(BEFORE, UNINITIALIZED, AFTER, Taint(UNINITIALIZED.key, "NoExecute", "other")),
            ),
            SETTINGS,
            NodeIdentity("hcloud://1", LABELS, (BEFORE, AFTER), WEB_1_ADDRESSES),
            id="every-uninitialised-taint-goes-and-the-others-keep-their-order",
        ),
        pytest.param(
            a_joining_node(
                addresses=(NodeAddress(AddressType.INTERNAL_IP, "10.0.0.9"), NodeAddress("InternalDNS", "web-1.lan")),
            ),
            SETTINGS,
            WEB_1,
            id="addresses-that-the-server-does-not-have-go",
        ),
        pytest.param(
            a_joining_node(labels=dict.fromkeys(LABELS, "wrong")),
            SETTINGS,
            NodeIdentity("hcloud://1", {**LABELS, "instance.hetzner.cloud/provided-by": "wrong"}, (), WEB_1_ADDRESSES),
            id="wrong-labels-are-overwritten-but-for-provided-by",
        ),
        pytest.param(a_joining_node(labels={"team": "red"}), SETTINGS, WEB_1, id="labels-of-others-are-left-out"),
        pytest.param(
            a_joining_node(),
            Settings(zone_labels=False),
            NodeIdentity("hcloud://1", NO_ZONE_LABELS, (), WEB_1_ADDRESSES),
            id="zone-labels-disabled",
        ),
        pytest.param(
            a_joining_node(labels={"topology.kubernetes.io/zone": "mine"}),
            Settings(zone_labels=False),
            NodeIdentity("hcloud://1", {**NO_ZONE_LABELS, "topology.kubernetes.io/zone": "mine"}, (), WEB_1_ADDRESSES),
            id="an-owned-label-without-a-value-of-ours-stays",
        ),
        pytest.param(
            a_joining_node(ready=Readiness.TRUE, unschedulable=True, deleted_at=NOW),
            SETTINGS,
            WEB_1,
            id="readiness-cordon-and-deletion-are-not-considered",
        ),
        pytest.param(
            a_joining_node(provided_node_ip="203.0.113.1"),
            SETTINGS,
            NodeIdentity("hcloud://1", LABELS, (), (WEB_1_ADDRESSES[1], WEB_1_ADDRESSES[0])),
            id="node-ip-reorders-the-addresses",
        ),
    ],
)
def test_desired_identity(node: Node, settings: Settings, expected: NodeIdentity) -> None:
    """Initialisation gives providerID, labels and addresses, and takes the uninitialised taints away."""
    assert desired_identity(node, a_server(), settings, a_snapshot()) == expected


@pytest.mark.parametrize(
    ("server", "network", "family", "expected"),
    [
        pytest.param(
            a_dual_stack_server(),
            Present(a_network()),
            AddressFamily.DUALSTACK,
            (
                NodeAddress(AddressType.HOSTNAME, "web-1"),
                NodeAddress(AddressType.EXTERNAL_IP, "203.0.113.1"),
                NodeAddress(AddressType.EXTERNAL_IP, "2001:db8:1::1"),
                NodeAddress(AddressType.INTERNAL_IP, "10.0.0.2"),
            ),
            id="dual-stack-with-network",
        ),
        pytest.param(
            a_server(private_ips=((4, IPv4Address("10.0.0.2")),)),
            Present(None),
            AddressFamily.IPV4,
            WEB_1_ADDRESSES,
            id="no-network-configured",
        ),
    ],
)
def test_desired_addresses(
    server: Server, network: Present[Network | None], family: AddressFamily, expected: tuple[NodeAddress, ...]
) -> None:
    """Addresses follow the configured family and network."""
    identity = desired_identity(a_joining_node(), server, Settings(address_family=family), a_snapshot(network=network))
    assert identity == NodeIdentity("hcloud://1", LABELS, (), expected)


@pytest.mark.parametrize(
    ("network", "why"),
    [
        pytest.param(Unknown("429"), "429", id="network-unreadable"),
        pytest.param(
            Absent(),
            "the project has no network 'private', so the private addresses are unknown",
            id="network-not-in-the-project",
        ),
    ],
)
def test_unknown_network(network: Absent | Unknown, why: str) -> None:
    """While the network that decides the private addresses is not known, a Node waits instead of getting wrong ones."""
    snapshot = a_snapshot(network=network)
    identity = desired_identity(a_joining_node(), a_server(), Settings(network="private"), snapshot)
    assert identity == Unknown(why)


@pytest.mark.parametrize("annotation", ["", "10.0.0.2", "10.0.0.2, 2001::1"])
def test_unusable_node_ip(annotation: str) -> None:
    """A node IP that does not fit leaves the whole Node as it is (W-16)."""
    node = a_joining_node(provided_node_ip=annotation)
    assert isinstance(desired_identity(node, a_server(), SETTINGS, a_snapshot()), UnusableNodeIP)


@pytest.mark.parametrize(
    ("node", "expected"),
    [
        pytest.param(a_joining_node(), {"web-1": JoiningNode(WEB_1, a_server(), "name")}, id="by-name"),
        pytest.param(
            a_joining_node("db-1", provider_id="hcloud://1"),
            {"db-1": JoiningNode(WEB_1, a_server(), "providerID")},
            id="by-provider-id",
        ),
        pytest.param(a_settled_node(), {}, id="settled"),
        pytest.param(
            a_settled_node(taints=(UNINITIALIZED,)),
            {"web-1": JoiningNode(WEB_1, a_server(), "providerID")},
            id="tainted-again-is-initialised-again",
        ),
        pytest.param(a_settled_node(server_id=9, ready=Readiness.FALSE), {}, id="settled-and-its-server-is-gone"),
        pytest.param(a_settled_node(provider_id="hrobot://7"), {}, id="robot"),
    ],
)
def test_desired_nodes(node: Node, expected: Mapping[str, JoiningNode]) -> None:
    """Exactly the tainted Nodes with one server are initialised, and nothing is noted of a Node of ours."""
    assert desired_nodes(a_snapshot([node], [a_server()]), SETTINGS) == (expected, ())


def ip(kind: AddressType, address: str) -> NodeAddress:
    """An address that the kubelet reported."""
    return NodeAddress(kind, address)


NO_NETWORK = ": HCLOUD_NETWORK is not set, so the cloud knows no private address"


@pytest.mark.parametrize(
    ("addresses", "network", "lost"),
    [
        pytest.param((), None, (), id="nothing-reported"),
        pytest.param(WEB_1_ADDRESSES, None, (), id="all-kept"),
        pytest.param((ip(AddressType.INTERNAL_IP, "203.0.113.1"),), None, (), id="kept-under-another-type"),
        pytest.param(
            (ip(AddressType.INTERNAL_IP, "10.0.0.9"),),
            None,
            (f"InternalIP 10.0.0.9 goes away{NO_NETWORK}",),
            id="a-private-one-without-a-network",
        ),
        pytest.param(
            (ip(AddressType.INTERNAL_IP, "10.0.0.9"),),
            a_network(),
            ("InternalIP 10.0.0.9 goes away",),
            id="a-private-one-that-the-network-does-not-have",
        ),
        pytest.param(
            (ip(AddressType.EXTERNAL_IP, "198.51.100.7"), ip(AddressType.INTERNAL_IP, "fd00::9")),
            None,
            ("ExternalIP 198.51.100.7 goes away", f"InternalIP fd00::9 goes away{NO_NETWORK}"),
            id="several-in-the-kubelets-order",
        ),
        pytest.param(
            (ip(AddressType.HOSTNAME, "other"), ip(AddressType.INTERNAL_DNS, "x.lan"), NodeAddress("Odd", "y")),
            None,
            (),
            id="names-are-no-addresses",
        ),
    ],
)
def test_lost_addresses(addresses: tuple[NodeAddress, ...], network: Network | None, lost: tuple[str, ...]) -> None:
    """Each IP address that the kubelet reported and the cloud does not know is a consequence, with its cause (W-17)."""
    snapshot = a_snapshot([a_joining_node(addresses=addresses)], [a_server()], network=Present(network))
    settings = Settings(network=network.name if network else None)
    joining, _ = desired_nodes(snapshot, settings)
    assert joining["web-1"].consequences == lost


def test_race_of_node_and_server() -> None:
    """A Node that registered before its server shows is initialised once the server shows (edge case 2)."""
    node = a_joining_node()
    early, notes = desired_nodes(a_snapshot([node], []), SETTINGS)
    late, no_notes = desired_nodes(a_snapshot([node], [a_server()]), SETTINGS)
    assert (dict(early), len(notes), list(late), no_notes) == ({}, 1, ["web-1"], ())
