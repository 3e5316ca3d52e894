"""What is kept true on a Node that was initialized."""

from collections.abc import Mapping
from dataclasses import replace
from ipaddress import IPv4Address, IPv6Network

import pytest

from desired.model.settings import AddressFamily, Controller, Settings
from desired.model.snapshot import AddressType, Network, NodeAddress, Server, ServerStatus
from desired.nodes.labels import desired_labels, values_of
from desired.nodes.node import InitializedNode
from desired.plan.notes import Note, NoteKind
from desired.section import UNMANAGED, Absent, Present, Unknown, Unmanaged
from tests.builders import (
    SERVER_LABELS,
    WEB_1_ADDRESSES,
    a_dual_stack_server,
    a_network,
    a_server,
    a_settled_node,
)
from tests.support.keys import key_of
from tests.support.nodes import addresses_of, decide, labels_of

KEY = "node/web-1"
DEFAULT = Settings()
IN_NETWORK = Settings(network="private")
DUAL = Settings(address_family=AddressFamily.DUALSTACK, network="private")
KEEP = Settings(keep_internal_ips=True)
ZONE = "topology.kubernetes.io/zone"

LABELS, ADDRESSES = labels_of(), addresses_of()

H, E4 = WEB_1_ADDRESSES
E6 = NodeAddress(AddressType.EXTERNAL_IP, "2001:db8:1::1")
I4 = NodeAddress(AddressType.INTERNAL_IP, "10.0.0.2")
I4_NEW = NodeAddress(AddressType.INTERNAL_IP, "10.0.0.7")
VPN = NodeAddress(AddressType.INTERNAL_IP, "100.64.0.1")
DNS = (NodeAddress(AddressType.INTERNAL_DNS, "web-1.lan"), NodeAddress(AddressType.EXTERNAL_DNS, "web-1.example.com"))
SUBNET = IPv6Network("2001:db8:1::/64")
IPV6_ONLY = a_server(ipv4=None, ipv6=SUBNET)
ATTACHED = a_server(private_ips=((4, IPv4Address("10.0.0.2")),))


def test_settled_node_that_needs_nothing() -> None:
    """A Node of a running server has the server's labels and addresses, and no shutdown taint."""
    wanted, notes = decide(a_settled_node(), a_server())
    assert isinstance(wanted, InitializedNode)
    assert (wanted.server, wanted.labels, wanted.addresses, notes) == (a_server(), LABELS, ADDRESSES, ())
    assert wanted.shut_down.value is False


@pytest.mark.parametrize(
    ("current", "server", "network", "settings", "expected"),
    [
        pytest.param((H, E4), a_server(), None, DEFAULT, (H, E4), id="as-they-are"),
        pytest.param((), a_server(), None, DEFAULT, (H, E4), id="none-there"),
        pytest.param((E4, H), a_server(), None, DEFAULT, (H, E4), id="in-another-order"),
        pytest.param((H, E4), a_dual_stack_server(), a_network(), DUAL, (H, E4, E6, I4), id="dual-stack"),
        pytest.param((H, E4), IPV6_ONLY, None, replace(DUAL, network=None), (H, E6), id="ipv6-only"),
        pytest.param((H, E6), IPV6_ONLY, None, DEFAULT, (H,), id="ipv6-only-with-family-ipv4"),
        pytest.param(
            (H, I4),
            a_server(ipv4=None, private_ips=((4, IPv4Address("10.0.0.2")),)),
            a_network(),
            IN_NETWORK,
            (H, I4),
            id="private-only",
        ),
        pytest.param((H, E4), a_server(ipv4=None), None, DEFAULT, (H,), id="no-address-any-more"),
        pytest.param((H, E4), ATTACHED, a_network(), IN_NETWORK, (H, E4, I4), id="attached-to-the-network"),
        pytest.param((H, E4, I4), a_server(), a_network(), IN_NETWORK, (H, E4), id="detached-from-the-network"),
        pytest.param(
            (H, E4, I4),
            a_server(private_ips=((4, IPv4Address("10.0.0.7")),)),
            a_network(),
            IN_NETWORK,
            (H, E4, I4_NEW),
            id="another-address-in-the-network",
        ),
        pytest.param((H, E4, I4), ATTACHED, a_network(5), IN_NETWORK, (H, E4), id="attached-to-another-network"),
        pytest.param((E4,), a_server(), None, DEFAULT, (H, E4), id="without-a-name"),
        pytest.param((H, *DNS, E4), a_server(), None, DEFAULT, (H, E4), id="names-in-the-dns-go"),
        pytest.param((H, E4, VPN), a_server(), None, DEFAULT, (H, E4), id="an-internal-ip-of-the-kubelets-goes"),
        pytest.param((VPN, H, E4), a_server(), None, KEEP, (H, E4, VPN), id="unless-internal-ips-are-kept"),
        pytest.param((H, E4, VPN), ATTACHED, a_network(), KEEP, (H, E4, I4), id="which-a-network-overrules"),
    ],
)
def test_addresses(
    current: tuple[NodeAddress, ...],
    server: Server,
    network: Network | None,
    settings: Settings,
    expected: tuple[NodeAddress, ...],
) -> None:
    """The addresses are those that the server has now, in their order, whatever the Node has."""
    wanted, notes = decide(a_settled_node(addresses=current), server, settings, network=Present(network))
    assert (wanted.addresses.values, notes) == (expected, ())


@pytest.mark.parametrize(
    ("annotation", "server", "expected"),
    [
        pytest.param("203.0.113.1", a_server(), (E4, H), id="comes-first"),
        pytest.param("10.0.0.2", a_dual_stack_server(), (I4, H, E4, E6), id="private-comes-first"),
        pytest.param("10.0.0.2,2001:db8:1::1", a_dual_stack_server(), (I4, E6, H), id="one-of-each-family"),
        pytest.param(
            "2001:db8:1:0:ffff::2",
            a_dual_stack_server(),
            (NodeAddress(AddressType.EXTERNAL_IP, "2001:db8:1:0:ffff::2"), H, I4),
            id="any-host-of-the-servers-network",
        ),
    ],
)
def test_node_ip(annotation: str, server: Server, expected: tuple[NodeAddress, ...]) -> None:
    """The kubelet's ``--node-ip`` orders and narrows the addresses for as long as the Node lives."""
    node = a_settled_node(provided_node_ip=annotation)
    wanted, notes = decide(node, server, DUAL, network=Present(a_network()))
    assert (wanted.addresses.values, notes) == (expected, ())


@pytest.mark.parametrize(
    "annotation",
    [
        pytest.param("", id="empty"),
        pytest.param("web-1", id="malformed"),
        pytest.param("203.0.113.1 ", id="blank"),
        pytest.param("203.0.113.1,203.0.113.1", id="two-of-a-family"),
        pytest.param("2001:db8:1::1", id="of-the-wrong-family"),
        pytest.param("10.0.0.2", id="of-no-network"),
        pytest.param("0.0.0.0", id="unspecified"),
    ],
)
def test_unusable_node_ip(annotation: str) -> None:
    """No address goes away because of a wrong ``--node-ip``; labels and taint are kept true all the same."""
    node = a_settled_node(provided_node_ip=annotation, labels={})
    wanted, notes = decide(node, a_server())
    assert wanted.addresses.values == node.addresses
    assert (wanted.labels, wanted.shut_down.value) == (LABELS, False)
    assert [(note.kind, note.text) for note in notes] == [
        (NoteKind.UNUSABLE_NODE_IP, each.text) for each in wanted.addresses.wanted[:1]
    ]


@pytest.mark.parametrize("network", [Unknown("429"), Absent()], ids=["unreadable", "not-in-the-project"])
def test_unknown_network(network: Absent | Unknown) -> None:
    """No address goes away because the network could not be read; labels and taint are kept true all the same."""
    node, server = a_settled_node(addresses=(H, I4), labels={}), a_server(status=ServerStatus.OFF)
    wanted, notes = decide(node, server, IN_NETWORK, network=network)
    assert wanted.addresses.values == node.addresses
    assert (wanted.labels, wanted.shut_down.value, notes) == (LABELS, True, ())


@pytest.mark.parametrize("network", [Present(None), Unknown("429"), Absent()], ids=["none", "unreadable", "absent"])
def test_field_that_did_not_arrive(network: Present[Network | None] | Absent | Unknown) -> None:
    """No address goes away because Hetzner's answer lacks a field, and that is told on the Node, for it is about it."""
    node = a_settled_node(addresses=(H, I4), labels={})
    server = a_server(ipv4=None, status=ServerStatus.OFF, missing=frozenset({"public_net.ipv4"}))
    wanted, notes = decide(node, server, IN_NETWORK, network=network)
    assert wanted.addresses.values == node.addresses
    assert (wanted.labels, wanted.shut_down.value) == (LABELS, True)
    assert notes == (Note(key_of(KEY), NoteKind.UNKNOWN, wanted.addresses.wanted[0].text),)


def test_labels() -> None:
    """A zone that a person set stays, and the Node's note says so."""
    node = a_settled_node(labels=SERVER_LABELS | {ZONE: "rack-7"})
    wanted, notes = decide(node, a_server())
    assert wanted.labels == desired_labels(a_server(), node.labels, DEFAULT, joins=False)
    assert [note.kind for note in notes] == [NoteKind.KEPT]


@pytest.mark.parametrize(
    ("off", "labels", "shut_down"),
    [
        pytest.param({Controller.NODE}, {}, False, id="cloud-node"),
        pytest.param({Controller.LIFECYCLE}, SERVER_LABELS, UNMANAGED, id="cloud-node-lifecycle"),
        pytest.param({Controller.NODE, Controller.LIFECYCLE}, {}, UNMANAGED, id="both"),
        pytest.param({Controller.SERVICE, Controller.ROUTE}, SERVER_LABELS, False, id="the-others"),
    ],
)
def test_controller_switched_off(off: set[Controller], labels: Mapping[str, str], shut_down: bool | Unmanaged) -> None:
    """Labels and addresses are the node controller's, the shutdown taint is the lifecycle controller's."""
    settings = Settings(controllers=frozenset(Controller) - off)
    wanted, notes = decide(a_settled_node(labels={}, addresses=()), a_server(), settings)
    assert (values_of(wanted.labels), wanted.addresses.values) == (labels, WEB_1_ADDRESSES if labels else ())
    assert (wanted.shut_down.value, notes) == (shut_down, ())


def test_nothing_is_said_of_what_is_not_managed() -> None:
    """Without the node controller a kept label and a wrong ``--node-ip`` are nobody's business."""
    settings = Settings(controllers=frozenset({Controller.LIFECYCLE}))
    node = a_settled_node(labels={ZONE: "rack-7"}, provided_node_ip="nonsense")
    _, notes = decide(node, a_server(), settings)
    assert notes == ()
