"""Addresses and labels that a Node should have on its server."""

from dataclasses import replace
from ipaddress import IPv4Address, IPv6Network

import pytest

from desired.model.settings import AddressFamily, Settings
from desired.model.snapshot import AddressType, Network, Node, NodeAddress, Server
from desired.nodes.addresses import UnusableNodeIP
from desired.nodes.desired import desired_addresses, lost_addresses
from desired.planner import compute_plan
from desired.section import Absent, Present, Unknown
from tests.builders import (
    NOBODY,
    SERVER_LABELS,
    WEB_1_ADDRESSES,
    a_dual_stack_server,
    a_joining_node,
    a_network,
    a_robot_server,
    a_server,
    a_settled_node,
    a_snapshot,
)

DEFAULT, KEEP = Settings(), Settings(keep_internal_ips=True)

H, E4 = WEB_1_ADDRESSES
E6 = NodeAddress(AddressType.EXTERNAL_IP, "2001:db8:1::1")
I4 = NodeAddress(AddressType.INTERNAL_IP, "10.0.0.2")
VPN = NodeAddress(AddressType.INTERNAL_IP, "100.64.0.1")
DNS = (NodeAddress(AddressType.INTERNAL_DNS, "web-1.lan"), NodeAddress(AddressType.EXTERNAL_DNS, "web-1.example.com"))


@pytest.mark.parametrize(
    ("node", "server", "network", "settings", "expected"),
    [
        pytest.param(
            a_joining_node(),
            a_dual_stack_server(),
            a_network(),
            Settings(address_family=AddressFamily.DUALSTACK),
            (H, E4, E6, I4),
            id="dual-stack-with-network",
        ),
        pytest.param(a_joining_node(), a_dual_stack_server(), None, DEFAULT, (H, E4), id="no-network-configured"),
        pytest.param(
            a_joining_node(addresses=(VPN, *DNS)), a_server(), None, DEFAULT, (H, E4), id="what-the-kubelet-says-goes"
        ),
        pytest.param(
            a_joining_node(provided_node_ip="203.0.113.1"),
            a_server(),
            None,
            DEFAULT,
            (E4, H),
            id="node-ip-reorders-the-addresses",
        ),
        pytest.param(
            a_joining_node(provided_node_ip="2001:db8:1::77"),
            a_server(ipv4=None, ipv6=IPv6Network("2001:db8:1::/64")),
            None,
            Settings(address_family=AddressFamily.IPV6),
            (NodeAddress(AddressType.EXTERNAL_IP, "2001:db8:1::77"), H),
            id="node-ip-is-another-host-of-the-servers-network",
        ),
        pytest.param(
            a_joining_node(addresses=(VPN, *DNS)), a_server(), None, KEEP, (H, E4, VPN), id="internal-ips-kept"
        ),
        pytest.param(
            a_joining_node(addresses=(VPN,), provided_node_ip="100.64.0.1"),
            a_server(),
            None,
            KEEP,
            (VPN, H, E4),
            id="an-internal-ip-that-is-kept-may-be-the-node-ip",
        ),
        pytest.param(
            a_joining_node(addresses=(VPN,)),
            a_server(private_ips=((4, IPv4Address("10.0.0.2")),)),
            a_network(),
            KEEP,
            (H, E4, I4),
            id="with-a-network-the-cloud-alone-knows",
        ),
        pytest.param(
            a_settled_node(addresses=(VPN, E4)), a_server(), None, DEFAULT, (H, E4), id="alike-for-a-settled-node"
        ),
        pytest.param(
            a_joining_node(),
            a_server(missing=frozenset({"labels"})),
            None,
            DEFAULT,
            (H, E4),
            id="a-missing-field-that-says-nothing-of-addresses",
        ),
    ],
)
def test_desired_addresses(
    node: Node, server: Server, network: Network | None, settings: Settings, expected: tuple[NodeAddress, ...]
) -> None:
    """Addresses follow family, network and ``--node-ip``; without a network a kubelet's may be kept."""
    assert (
        desired_addresses(node, server, a_snapshot(network=Present(network)), settings, NOBODY, joins=False) == expected
    )


@pytest.mark.parametrize(
    ("network", "why"),
    [
        pytest.param(Unknown("429"), "429", id="unreadable"),
        pytest.param(
            Absent(),
            "the project has no network 'private', so the private addresses are unknown",
            id="not-in-the-project",
        ),
    ],
)
def test_unknown_network(network: Absent | Unknown, why: str) -> None:
    """While the network that decides the private addresses is not known, no address is."""
    settings = Settings(network="private", keep_internal_ips=True)
    assert desired_addresses(
        a_settled_node(), a_server(), a_snapshot(network=network), settings, NOBODY, joins=False
    ) == Unknown(why)


@pytest.mark.parametrize("network", [Present(None), Unknown("429"), Absent()], ids=["none", "unreadable", "absent"])
@pytest.mark.parametrize(
    ("missing", "named"),
    [
        pytest.param({"public_net.ipv4"}, "public_net.ipv4", id="ipv4"),
        pytest.param({"public_net.ipv6"}, "public_net.ipv6", id="ipv6"),
        pytest.param({"private_net"}, "private_net", id="private-network"),
        pytest.param({"public_net.ipv6", "labels", "private_net"}, "private_net", id="several-and-the-first-is-named"),
    ],
)
def test_fields_that_did_not_arrive(
    missing: set[str], named: str, network: Present[Network | None] | Absent | Unknown
) -> None:
    """An answer that lacks a field of addresses says nothing of them, whatever is known of the network."""
    server, snapshot = a_dual_stack_server(missing=frozenset(missing)), a_snapshot(network=network)
    why = f"Hetzner's answer has no {named} for server 1, so its addresses are unknown"
    assert desired_addresses(a_settled_node(), server, snapshot, DEFAULT, NOBODY, joins=False) == Unknown(why)


@pytest.mark.parametrize("field", ["public_net.ipv4", "public_net.ipv6", "private_net", "labels"])
def test_nothing_goes_away_because_a_field_did_not_arrive(field: str) -> None:
    """A Node keeps its addresses and its mirrored labels while Hetzner's answer lacks what would say they are wrong."""
    node = a_settled_node(addresses=(H, E4, E6, I4), labels=SERVER_LABELS | {"srv.example.com/team": "red"})
    whole = a_dual_stack_server(labels={"team": "red"})
    lacking = {
        "public_net.ipv4": replace(whole, ipv4=None),
        "public_net.ipv6": replace(whole, ipv6=None),
        "private_net": replace(whole, private_ips=()),
        "labels": replace(whole, labels={}),
    }
    for server, changes in ((replace(lacking[field], missing=frozenset({field})), 0), (lacking[field], 1)):
        snapshot = a_snapshot([node], [server], network=Present(a_network()))
        assert (
            len(
                compute_plan(
                    snapshot,
                    Settings(
                        address_family=AddressFamily.DUALSTACK, network="private", mirror_labels="srv.example.com"
                    ),
                ).changes
            )
            == changes
        )


def test_unusable_node_ip() -> None:
    """A ``--node-ip`` that does not fit the server leaves nothing to choose from."""
    node = a_settled_node(provided_node_ip="10.0.0.2")
    assert isinstance(desired_addresses(node, a_server(), a_snapshot(), DEFAULT, NOBODY, joins=False), UnusableNodeIP)


NO_NETWORK = ": HCLOUD_NETWORK is not set, so the cloud knows no private address"


@pytest.mark.parametrize(
    ("addresses", "network", "lost"),
    [
        pytest.param((), None, (), id="nothing-reported"),
        pytest.param(WEB_1_ADDRESSES, None, (), id="all-kept"),
        pytest.param((NodeAddress(AddressType.INTERNAL_IP, E4.address),), None, (), id="kept-under-another-type"),
        pytest.param((VPN,), None, (f"InternalIP 100.64.0.1 goes away{NO_NETWORK}",), id="private-without-a-network"),
        pytest.param((VPN,), "private", ("InternalIP 100.64.0.1 goes away",), id="private-of-another-network"),
        pytest.param(
            (NodeAddress(AddressType.EXTERNAL_IP, "198.51.100.7"), NodeAddress(AddressType.INTERNAL_IP, "fd00::9")),
            None,
            ("ExternalIP 198.51.100.7 goes away", f"InternalIP fd00::9 goes away{NO_NETWORK}"),
            id="several-in-the-nodes-order",
        ),
        pytest.param(
            (NodeAddress(AddressType.HOSTNAME, "other"), *DNS, NodeAddress("Odd", "y")),
            None,
            (),
            id="names-are-no-addresses",
        ),
    ],
)
def test_lost_addresses(addresses: tuple[NodeAddress, ...], network: str | None, lost: tuple[str, ...]) -> None:
    """Each IP address of the Node that the cloud does not know is told as going away, with its cause."""
    node, settings = a_joining_node(addresses=addresses), Settings(network=network)
    assert lost_addresses(node, a_server(), WEB_1_ADDRESSES, settings) == lost


@pytest.mark.parametrize(("forwards", "why"), [(True, ""), (False, ": ROBOT_FORWARD_INTERNAL_IPS is false")])
def test_lost_addresses_on_a_robot_server(forwards: bool, why: str) -> None:
    """The private network of the others has nothing to do with it."""
    node, settings = a_joining_node(addresses=(VPN,)), Settings(forward_internal_ips=forwards)

    assert lost_addresses(node, a_robot_server(), (), settings) == (f"InternalIP 100.64.0.1 goes away{why}",)
