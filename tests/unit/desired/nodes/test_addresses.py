"""Addresses from servers."""

from dataclasses import replace
from ipaddress import IPv4Address, IPv6Address, IPv6Network

import pytest

from desired.model.settings import AddressFamily
from desired.model.snapshot import AddressType, Network, NodeAddress, Server
from desired.nodes.addresses import (
    AddressOrigin,
    UnusableNodeIP,
    addresses_with_origins,
    choose_addresses,
    parse_node_ips,
    with_internal_ips,
)
from desired.syntax.address import IPAddress
from tests.builders import a_dual_stack_server, a_network, a_robot_server, a_server

IPV4, IPV6, DUAL = AddressFamily.IPV4, AddressFamily.IPV6, AddressFamily.DUALSTACK
SUBNET = IPv6Network("2001:db8:1::/64")
NETWORK = a_network()

H = NodeAddress(AddressType.HOSTNAME, "web-1")
E4 = NodeAddress(AddressType.EXTERNAL_IP, "203.0.113.1")
E6 = NodeAddress(AddressType.EXTERNAL_IP, "2001:db8:1::1")
E6_OTHER = NodeAddress(AddressType.EXTERNAL_IP, "2001:db8:1::5")
I4 = NodeAddress(AddressType.INTERNAL_IP, "10.0.0.2")
VPN = NodeAddress(AddressType.INTERNAL_IP, "100.64.0.1")
ALL = (H, E4, E6, I4)


@pytest.mark.parametrize(
    ("server", "family", "network", "expected"),
    [
        pytest.param(a_dual_stack_server(), DUAL, NETWORK, (H, E4, E6, I4), id="dual-stack-in-HCCMs-order"),
        pytest.param(a_dual_stack_server(), IPV4, NETWORK, (H, E4, I4), id="ipv4-only"),
        pytest.param(a_dual_stack_server(), IPV6, NETWORK, (H, E6, I4), id="family-does-not-concern-private-ips"),
        pytest.param(a_dual_stack_server(), DUAL, None, (H, E4, E6), id="no-network-no-internal-ip"),
        pytest.param(a_dual_stack_server(), DUAL, a_network(5), (H, E4, E6), id="attached-to-another-network"),
        pytest.param(
            a_dual_stack_server(private_ips=((5, IPv4Address("10.9.0.2")), (4, IPv4Address("10.0.0.2")))),
            IPV4,
            NETWORK,
            (H, E4, I4),
            id="attached-to-two-networks",
        ),
        pytest.param(
            a_server(private_ips=((4, IPv4Address("10.0.0.2")), (4, IPv4Address("10.0.0.3")))),
            IPV4,
            NETWORK,
            (H, E4, I4, NodeAddress(AddressType.INTERNAL_IP, "10.0.0.3")),
            id="attached-twice-keeps-the-order-of-the-api",
        ),
        pytest.param(a_server(), IPV6, None, (H,), id="no-public-ipv6"),
        pytest.param(a_server(ipv4=None, ipv6=SUBNET), IPV4, None, (H,), id="only-ipv6-with-family-ipv4"),
        pytest.param(a_server(ipv4=None), DUAL, NETWORK, (H,), id="no-address-at-all"),
        pytest.param(
            a_server(name="renamed"),
            IPV4,
            None,
            (NodeAddress(AddressType.HOSTNAME, "renamed"), E4),
            id="host-name-is-the-servers",
        ),
        pytest.param(
            a_server(ipv4=None, private_ips=((4, IPv4Address("10.0.0.2")),)), DUAL, NETWORK, (H, I4), id="private-only"
        ),
        pytest.param(a_server(ipv4=None, ipv6=SUBNET), DUAL, None, (H, E6), id="ipv6-only"),
        pytest.param(
            a_server(ipv4=None, ipv6=IPv6Network("2001:db8:1::1/128")),
            IPV6,
            None,
            (H, E6),
            id="last-bit-is-set-not-added",
        ),
    ],
)
def test_cloud_addresses(
    server: Server, family: AddressFamily, network: Network | None, expected: tuple[NodeAddress, ...]
) -> None:
    """A server gives its name, its public addresses of the family, and its private ones in the configured network."""
    assert tuple(address for address, _ in addresses_with_origins(server, family, network, (VPN,))) == expected


ROBOT = a_robot_server(ipv4=IPv4Address("203.0.113.1"), ipv6=SUBNET)
I6 = NodeAddress(AddressType.INTERNAL_IP, "fd00::2")
PUBLIC4 = NodeAddress(AddressType.INTERNAL_IP, E4.address)
PUBLIC6 = NodeAddress(AddressType.INTERNAL_IP, "2001:db8:1:0::1")
NO_IP = NodeAddress(AddressType.INTERNAL_IP, "bond0")


@pytest.mark.parametrize(
    ("server", "family", "current", "expected"),
    [
        pytest.param(ROBOT, DUAL, (), (H, E6, E4), id="IPv6 comes first, as by HCCM"),
        pytest.param(ROBOT, IPV4, (), (H, E4), id="ipv4-only"),
        pytest.param(ROBOT, IPV6, (), (H, E6), id="ipv6-only"),
        pytest.param(replace(ROBOT, ipv4=None), DUAL, (), (H, E6), id="no IPv4, where HCCM writes an empty address"),
        pytest.param(replace(ROBOT, ipv6=None), DUAL, (), (H, E4), id="no IPv6, where HCCM writes 1"),
        pytest.param(
            ROBOT, DUAL, (I6, H, I4, VPN), (H, E6, E4, I6, I4, VPN), id="what the kubelet reported, in its order"
        ),
        pytest.param(ROBOT, IPV4, (I6, I4), (H, E4, I4), id="none of another family"),
        pytest.param(ROBOT, IPV6, (I6, I4), (H, E6, I6), id="none of another family either"),
        pytest.param(ROBOT, DUAL, (PUBLIC4, PUBLIC6), (H, E6, E4), id="none that is public, however it is written"),
        pytest.param(ROBOT, IPV4, (NO_IP,), (H, E4), id="none that is no address"),
        pytest.param(ROBOT, IPV4, (E6_OTHER,), (H, E4), id="other types go"),
        pytest.param(replace(ROBOT, private_ips=((4, IPv4Address("10.0.0.2")),)), IPV4, (), (H, E4), id="no network"),
    ],
)
def test_robot_addresses(
    server: Server, family: AddressFamily, current: tuple[NodeAddress, ...], expected: tuple[NodeAddress, ...]
) -> None:
    """A Robot server gives its name, its public addresses, and what its kubelet reported of private ones."""
    assert tuple(address for address, _ in addresses_with_origins(server, family, NETWORK, current)) == expected


def test_addresses_with_origins() -> None:
    """Each address of a server is told with where it comes from."""
    assert list(addresses_with_origins(a_dual_stack_server(), DUAL, NETWORK, ())) == [
        (H, AddressOrigin.NAME),
        (E4, AddressOrigin.IPV4),
        (E6, AddressOrigin.IPV6),
        (I4, AddressOrigin.NETWORK),
    ]


@pytest.mark.parametrize(
    ("current", "expected"),
    [
        pytest.param((), (H, E4), id="nothing-reported"),
        pytest.param((VPN, H, I4), (H, E4, VPN, I4), id="behind-the-clouds-in-the-kubelets-order"),
        pytest.param((NodeAddress(AddressType.INTERNAL_IP, E4.address),), (H, E4), id="known-under-another-type"),
        pytest.param(
            (
                NodeAddress(AddressType.EXTERNAL_IP, "198.51.100.7"),
                NodeAddress(AddressType.INTERNAL_DNS, "web-1.lan"),
                NodeAddress(AddressType.HOSTNAME, "other"),
            ),
            (H, E4),
            id="other-types-go",
        ),
        pytest.param((NodeAddress(AddressType.INTERNAL_IP, "web-1.lan"),), (H, E4), id="what-is-no-address-goes"),
        pytest.param((NodeAddress(AddressType.INTERNAL_IP, ""),), (H, E4), id="an-empty-one-goes"),
    ],
)
def test_with_internal_ips(current: tuple[NodeAddress, ...], expected: tuple[NodeAddress, ...]) -> None:
    """The kubelet's InternalIPs follow what the cloud offers; nothing else of it stays."""
    assert with_internal_ips((H, E4), current) == expected


@pytest.mark.parametrize("reported", ["2001:db8:1::5", "2001:0db8:1::1"], ids=["another-host", "written-otherwise"])
def test_a_kept_address_of_the_servers_own_network_settles_at_once(reported: str) -> None:
    """A node IP is the public address of the network and never a kept one there: the first plan is final."""
    kept = with_internal_ips((H, E6), (NodeAddress(AddressType.INTERNAL_IP, reported),))
    first = choose_addresses(kept, "2001:db8:1::1", SUBNET)
    assert isinstance(first, tuple)
    assert choose_addresses(with_internal_ips((H, E6), first), "2001:db8:1::1", SUBNET) == first


@pytest.mark.parametrize(
    ("annotation", "expected"),
    [
        pytest.param("10.0.0.2", (IPv4Address("10.0.0.2"),), id="ipv4"),
        pytest.param("2001:db8:1::1", (IPv6Address("2001:db8:1::1"),), id="ipv6"),
        pytest.param("2001:0DB8:0001:0:0:0:0:0001", (IPv6Address("2001:db8:1::1"),), id="ipv6-in-long-form"),
        pytest.param("00fe:0db8::1", (IPv6Address("fe:db8::1"),), id="ipv6-that-begins-with-zeros"),
        pytest.param("::1", (IPv6Address("::1"),), id="ipv6-compressed-at-the-start"),
        pytest.param("010.000.00.002", (IPv4Address("10.0.0.2"),), id="padding-is-decimal"),
        pytest.param("::ffff:10.0.0.2", (IPv4Address("10.0.0.2"),), id="ipv4-mapped-is-ipv4"),
        pytest.param("0.0.0.0", (IPv4Address("0.0.0.0"),), id="unspecified-alone"),
        pytest.param("10.0.0.2,2001::1", (IPv4Address("10.0.0.2"), IPv6Address("2001::1")), id="pair"),
        pytest.param("2001::1,10.0.0.2", (IPv6Address("2001::1"), IPv4Address("10.0.0.2")), id="pair-ipv6-first"),
    ],
)
def test_parse_node_ips(annotation: str, expected: tuple[IPAddress, ...]) -> None:
    """One address, or one of each family, however they are written."""
    assert parse_node_ips(annotation) == expected


@pytest.mark.parametrize(
    "annotation",
    [
        pytest.param("", id="empty"),
        pytest.param(",", id="comma-alone"),
        pytest.param("10.0.0.2,", id="comma-behind"),
        pytest.param("10.0.0.2, 2001::1", id="blank-between"),
        pytest.param(" 10.0.0.2", id="blank-in-front"),
        pytest.param("web-1", id="host-name"),
        pytest.param("10.0.0", id="three-octets"),
        pytest.param("10.0.0.256", id="octet-too-large"),
        pytest.param("10.0.0.2/24", id="prefix-length"),
        pytest.param("fe80::1%eth0", id="zone"),
    ],
)
def test_parse_node_ips_refuses_what_is_no_address(annotation: str) -> None:
    """What is no IP address is refused with the text and the remedy."""
    assert parse_node_ips(annotation) == UnusableNodeIP(
        f"annotation provided-node-ip is {annotation!r}, which is no IP address or pair of them without blanks:"
        " correct the kubelet's --node-ip"
    )


def test_parse_node_ips_does_not_look_at_what_is_too_long() -> None:
    """Whoever may write a Node may give it 256 KiB of annotation: only its beginning and its length are told."""
    assert parse_node_ips("0" * 250_000 + "1") == UnusableNodeIP(
        f"annotation provided-node-ip is '{'0' * 80}...' (250001 characters), which is no IP address or pair of them"
        " without blanks: correct the kubelet's --node-ip"
    )


@pytest.mark.parametrize(
    "annotation",
    [
        pytest.param("10.0.0.2,10.0.0.3", id="two-ipv4"),
        pytest.param("2001::1,2001::2", id="two-ipv6"),
        pytest.param("10.0.0.2,::ffff:10.0.0.3", id="two-ipv4-one-of-them-mapped"),
        pytest.param("10.0.0.2,2001::1,10.0.0.3", id="three"),
        pytest.param("0.0.0.0,2001::1", id="pair-with-unspecified-ipv4"),
        pytest.param("10.0.0.2,::", id="pair-with-unspecified-ipv6"),
    ],
)
def test_parse_node_ips_refuses_what_is_no_pair(annotation: str) -> None:
    """More than one address is only legal as a pair of both families, both of them real."""
    assert parse_node_ips(annotation) == UnusableNodeIP(
        f"annotation provided-node-ip is {annotation!r}: two addresses have to be one IPv4 and one IPv6 address,"
        " neither of them unspecified; correct the kubelet's --node-ip"
    )


@pytest.mark.parametrize(
    ("addresses", "annotation", "expected"),
    [
        pytest.param(ALL, None, ALL, id="no-annotation"),
        pytest.param(ALL, "10.0.0.2", (I4, H, E4, E6), id="private"),
        pytest.param(ALL, "010.0.0.02", (I4, H, E4, E6), id="private-with-padding"),
        pytest.param(ALL, "10.0.0.2,2001:db8:1::1", (I4, E6, H), id="pair-drops-the-other-external"),
        pytest.param(ALL, "2001:db8:1::1,10.0.0.2", (E6, I4, H), id="pair-in-the-order-of-the-annotation"),
        pytest.param(ALL, "203.0.113.1", (E4, H, I4), id="public-ipv4"),
        pytest.param(ALL, "203.0.113.1,2001:db8:1::1", (E4, E6, H, I4), id="both-public"),
        pytest.param(ALL, "2001:0db8:0001::0001", (E6, H, I4), id="ipv6-in-long-form"),
        pytest.param(ALL, "2001:db8:1::5", (E6_OTHER, H, I4), id="another-host-of-the-servers-subnet"),
        pytest.param(
            ALL,
            "2001:db8:1:0:ffff:ffff:ffff:ffff",
            (NodeAddress(AddressType.EXTERNAL_IP, "2001:db8:1:0:ffff:ffff:ffff:ffff"), H, I4),
            id="the-last-host-of-the-servers-subnet",
        ),
        pytest.param(ALL, "10.0.0.2,2001:db8:1::5", (I4, E6_OTHER, H), id="pair-with-another-host"),
        pytest.param((H, E4), "203.0.113.1", (E4, H), id="only-address"),
        pytest.param(
            (H, E4, NodeAddress(AddressType.INTERNAL_IP, "203.0.113.1")),
            "203.0.113.1",
            (E4, NodeAddress(AddressType.INTERNAL_IP, "203.0.113.1"), H),
            id="every-equal-address-is-listed",
        ),
        pytest.param(
            (NodeAddress(AddressType.HOSTNAME, "10.0.0.2"), I4),
            "10.0.0.2",
            (I4, NodeAddress(AddressType.HOSTNAME, "10.0.0.2")),
            id="a-host-name-is-no-address",
        ),
    ],
)
def test_choose_addresses(
    addresses: tuple[NodeAddress, ...], annotation: str | None, expected: tuple[NodeAddress, ...]
) -> None:
    """Listed addresses come first and make their type exclusive, the rest keeps its order."""
    assert choose_addresses(addresses, annotation, SUBNET) == expected


@pytest.mark.parametrize(
    ("addresses", "annotation", "offered"),
    [
        pytest.param((H, E4), "10.0.0.2", "ExternalIP 203.0.113.1", id="private-without-a-network"),
        pytest.param((H, E4), "2001:db8:1::1", "ExternalIP 203.0.113.1", id="ipv6-with-family-ipv4"),
        pytest.param((H, I4), "10.0.0.99", "InternalIP 10.0.0.2", id="alias-ip"),
        pytest.param((H, E4), "198.51.100.7", "ExternalIP 203.0.113.1", id="floating-ip"),
        pytest.param((H, E4, I4), "0.0.0.0", "ExternalIP 203.0.113.1, InternalIP 10.0.0.2", id="unspecified"),
        pytest.param((H, E6), "2001:db8:2::1", "ExternalIP 2001:db8:1::1", id="another-subnet"),
        pytest.param((H,), "10.0.0.2", "none", id="nothing-offered"),
    ],
)
def test_node_ip_that_the_server_does_not_have(
    addresses: tuple[NodeAddress, ...], annotation: str, offered: str
) -> None:
    """A node IP that fits no address of the server is refused, with what there is and what to set."""
    assert choose_addresses(addresses, annotation, SUBNET) == UnusableNodeIP(
        f"the kubelet's --node-ip {annotation} is none of the server's addresses ({offered}): correct it, or set"
        " HCLOUD_NETWORK for a private and HCLOUD_INSTANCES_ADDRESS_FAMILY for an IPv6 address"
    )


def test_second_node_ip_that_the_server_does_not_have() -> None:
    """One address of a pair that fits nothing spoils the pair."""
    assert isinstance(choose_addresses(ALL, "10.0.0.2,2001:db8:2::1", SUBNET), UnusableNodeIP)


def test_unreadable_annotation_is_no_choice() -> None:
    """An annotation that cannot be parsed is refused before anything is chosen."""
    assert choose_addresses(ALL, "", SUBNET) == parse_node_ips("")


def test_another_host_needs_a_subnet() -> None:
    """A server without a public IPv6 network has no other hosts."""
    assert isinstance(choose_addresses(ALL, "2001:db8:1::5", None), UnusableNodeIP)
