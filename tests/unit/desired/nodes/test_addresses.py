"""Addresses that a Node should have on its server: each with the rule that decides on it."""

from dataclasses import replace
from ipaddress import IPv4Address, IPv6Address, IPv6Network

import pytest

from desired.model.settings import AddressFamily, Settings
from desired.model.snapshot import AddressType, Network, Node, NodeAddress, Server
from desired.nodes.addresses import (
    Addresses,
    DesiredAddresses,
    Others,
    Undecided,
    choose_addresses,
    choose_hostname,
    desired_addresses,
    parse_node_ips,
)
from desired.plan.notes import NoteKind
from desired.planner import compute_plan
from desired.rules.nodes import PRIVATE_IP
from desired.rules.rule import Decided
from desired.section import Absent, Present, Unknown
from desired.syntax.address import IPAddress
from tests.builders import (
    NOBODY,
    SERVER_LABELS,
    WEB_1_ADDRESSES,
    a_dual_stack_server,
    a_network,
    a_robot_server,
    a_server,
    a_settled_node,
    a_snapshot,
)

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
DEFAULT, KEEP, DUAL_STACK = Settings(), Settings(keep_internal_ips=True), Settings(address_family=DUAL)


def decided(
    node: Node,
    server: Server,
    settings: Settings = DEFAULT,
    network: Present[Network | None] | Absent | Unknown = Present(None),  # noqa: B008 - frozen
    others: Others = NOBODY,
) -> DesiredAddresses | Undecided:
    """What is decided on the addresses of a Node."""
    hostname = choose_hostname(node, server, others, joins=False)
    return desired_addresses(node, server, hostname, a_snapshot(network=network), settings, others)


def found(
    server: Server, settings: Settings, network: Network | None = None, current: tuple[NodeAddress, ...] = ()
) -> tuple[NodeAddress, ...]:
    """The addresses of a Node that publishes the ``current`` ones."""
    wanted = decided(a_settled_node(addresses=current), server, settings, Present(network))
    assert isinstance(wanted, DesiredAddresses)
    return wanted.values


def why(undecided: object) -> tuple[str, NoteKind, str]:
    """Rule, note and sentence of addresses that are not written."""
    assert isinstance(undecided, Decided)
    assert isinstance(undecided.rule.of, NoteKind)
    return undecided.rule.name, undecided.rule.of, undecided.text


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
    assert found(server, Settings(address_family=family), network, (VPN,)) == expected


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
    assert found(server, Settings(address_family=family), NETWORK, current) == expected


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
    assert found(a_server(), KEEP, None, current) == expected


@pytest.mark.parametrize("reported", ["2001:db8:1::5", "2001:0db8:1::1"], ids=["another-host", "written-otherwise"])
def test_a_kept_address_of_the_servers_own_network_settles_at_once(reported: str) -> None:
    """A node IP is the public address of the network and never a kept one there: the first plan is final."""
    server, settings = a_server(ipv4=None, ipv6=SUBNET), replace(KEEP, address_family=IPV6)
    current = (H, NodeAddress(AddressType.INTERNAL_IP, reported))
    node = a_settled_node(addresses=current, provided_node_ip="2001:db8:1::1")
    first = decided(node, server, settings)
    assert isinstance(first, DesiredAddresses)
    assert decided(replace(node, addresses=first.values), server, settings) == DesiredAddresses(first.wanted)


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
    assert why(parse_node_ips(annotation)) == (
        "node-ip-malformed",
        NoteKind.UNUSABLE_NODE_IP,
        (
            f"addresses are not written: annotation provided-node-ip {annotation!r} is not an IP address or a pair of"
            " them without blanks; correct the kubelet's --node-ip"
        ),
    )


def test_parse_node_ips_does_not_look_at_what_is_too_long() -> None:
    """Whoever may write a Node may give it 256 KiB of annotation: only its beginning and its length are told."""
    assert f" '{'0' * 80}...' (250001 characters) " in why(parse_node_ips("0" * 250_000 + "1"))[2]


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
    assert why(parse_node_ips(annotation)) == (
        "node-ip-no-pair",
        NoteKind.UNUSABLE_NODE_IP,
        (
            f"addresses are not written: annotation provided-node-ip {annotation!r} is not a pair of one IPv4 and one"
            " IPv6 address, both of them specified; correct the kubelet's --node-ip"
        ),
    )


def offered(addresses: tuple[NodeAddress, ...]) -> Addresses:
    """Addresses to choose from, by whatever rule."""
    return tuple(Decided(address, PRIVATE_IP) for address in addresses)


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
    chosen = choose_addresses(offered(addresses), annotation, SUBNET)
    assert isinstance(chosen, tuple)
    assert tuple(each.value for each in chosen) == expected


@pytest.mark.parametrize(
    ("addresses", "annotation", "shown"),
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
def test_node_ip_that_the_server_does_not_have(addresses: tuple[NodeAddress, ...], annotation: str, shown: str) -> None:
    """A node IP that fits no address of the server is refused, with what there is and what to set."""
    assert why(choose_addresses(offered(addresses), annotation, SUBNET)) == (
        "node-ip-unknown",
        NoteKind.UNUSABLE_NODE_IP,
        (
            f"addresses are not written: the kubelet's --node-ip {annotation} is none of the server's addresses"
            f" ({shown}); correct it, or set HCLOUD_NETWORK for a private and HCLOUD_INSTANCES_ADDRESS_FAMILY for an"
            " IPv6 address"
        ),
    )


def test_second_node_ip_that_the_server_does_not_have() -> None:
    """One address of a pair that fits nothing spoils the pair."""
    assert isinstance(choose_addresses(offered(ALL), "10.0.0.2,2001:db8:2::1", SUBNET), Decided)


def test_another_host_needs_a_subnet() -> None:
    """A server without a public IPv6 network has no other hosts."""
    assert isinstance(choose_addresses(offered(ALL), "2001:db8:1::5", None), Decided)


def ruled(decisions: Addresses) -> list[str]:
    """``Type address: rule`` of each."""
    return [f"{each.value.type} {each.value.address}: {each.rule.name}" for each in decisions]


HOSTNAME, PUBLIC = "Hostname web-1: hostname-of-server", "ExternalIP 203.0.113.1: public-ipv4"


@pytest.mark.parametrize(
    ("current", "node_ip", "server", "network", "settings", "wanted", "gone"),
    [
        pytest.param((H, E4), None, a_server(), None, DEFAULT, [HOSTNAME, PUBLIC], [], id="as-the-server-has-them"),
        pytest.param((), None, a_server(), None, DEFAULT, [HOSTNAME, PUBLIC], [], id="published-none"),
        pytest.param((E4, H), None, a_server(), None, DEFAULT, [HOSTNAME, PUBLIC], [], id="another-order"),
        pytest.param(
            (H, E4),
            None,
            a_dual_stack_server(),
            NETWORK,
            DUAL_STACK,
            [HOSTNAME, PUBLIC, "ExternalIP 2001:db8:1::1: public-ipv6", "InternalIP 10.0.0.2: private-ip"],
            [],
            id="dual-stack-in-a-network",
        ),
        pytest.param(
            (H, E4, E6),
            None,
            a_dual_stack_server(),
            None,
            DEFAULT,
            [HOSTNAME, PUBLIC],
            ["ExternalIP 2001:db8:1::1: other-family"],
            id="ipv6-switched-off",
        ),
        pytest.param(
            (H, E4, VPN),
            None,
            a_server(missing=frozenset({"labels"})),
            NETWORK,
            KEEP,
            [HOSTNAME, PUBLIC],
            ["InternalIP 100.64.0.1: address-unknown"],
            id="with-a-network-the-cloud-alone-knows",
        ),
        pytest.param(
            (VPN, H, E4),
            None,
            a_server(),
            None,
            DEFAULT,
            [HOSTNAME, PUBLIC],
            ["InternalIP 100.64.0.1: network-unset"],
            id="a-private-address-without-a-network",
        ),
        pytest.param(
            (VPN, H, E4),
            None,
            a_server(),
            None,
            KEEP,
            [HOSTNAME, PUBLIC, "InternalIP 100.64.0.1: internal-ip-kept"],
            [],
            id="a-private-address-that-is-kept",
        ),
        pytest.param(
            (H, NodeAddress(AddressType.INTERNAL_IP, E4.address), E4),
            None,
            a_server(),
            None,
            DEFAULT,
            [HOSTNAME, PUBLIC],
            ["InternalIP 203.0.113.1: address-of-other-type"],
            id="listed-under-another-type",
        ),
        pytest.param(
            (H, E4, E4),
            None,
            a_server(),
            None,
            DEFAULT,
            [HOSTNAME, PUBLIC],
            ["ExternalIP 203.0.113.1: address-twice"],
            id="listed-twice",
        ),
        pytest.param(
            (H, NodeAddress(AddressType.INTERNAL_DNS, "web-1.lan"), NodeAddress("Odd", "y")),
            None,
            a_server(ipv4=None),
            None,
            DEFAULT,
            [HOSTNAME],
            ["InternalDNS web-1.lan: address-unknown", "Odd y: address-unknown"],
            id="names-of-the-kubelets",
        ),
        pytest.param(
            (NodeAddress(AddressType.INTERNAL_IP, "10.0.0.3"), I4, H, E4),
            "10.0.0.3",
            a_server(private_ips=((4, IPv4Address("10.0.0.2")), (4, IPv4Address("10.0.0.3")))),
            NETWORK,
            DEFAULT,
            ["InternalIP 10.0.0.3: on-node-ip", HOSTNAME, PUBLIC],
            ["InternalIP 10.0.0.2: not-on-node-ip"],
            id="the-node-ip-is-the-only-one-of-its-type",
        ),
        pytest.param(
            (E6_OTHER, H),
            "2001:db8:1::5",
            a_dual_stack_server(),
            None,
            Settings(address_family=IPV6),
            ["ExternalIP 2001:db8:1::5: on-node-ip", HOSTNAME],
            [],
            id="the-node-ip-is-another-host-of-the-servers-network",
        ),
        pytest.param(
            (VPN, H, E4),
            "100.64.0.1",
            a_server(),
            None,
            KEEP,
            ["InternalIP 100.64.0.1: on-node-ip", HOSTNAME, PUBLIC],
            [],
            id="the-node-ip-is-kept",
        ),
        pytest.param(
            (H, E4, NO_IP, I4, I6, PUBLIC4),
            None,
            ROBOT,
            NETWORK,
            DEFAULT,
            [HOSTNAME, PUBLIC, "InternalIP 10.0.0.2: internal-ip-forwarded"],
            [
                "InternalIP bond0: internal-ip-malformed",
                "InternalIP fd00::2: other-family",
                "InternalIP 203.0.113.1: address-of-other-type",
            ],
            id="robot",
        ),
        pytest.param(
            (H, E6, PUBLIC4),
            None,
            ROBOT,
            NETWORK,
            Settings(address_family=IPV6),
            [HOSTNAME, "ExternalIP 2001:db8:1::1: public-ipv6"],
            ["InternalIP 203.0.113.1: internal-ip-public"],
            id="robot-and-a-public-address",
        ),
        pytest.param(
            (H, E4, I4),
            None,
            ROBOT,
            NETWORK,
            Settings(forward_internal_ips=False),
            [HOSTNAME, PUBLIC],
            ["InternalIP 10.0.0.2: forward-off"],
            id="robot-and-nothing-is-forwarded",
        ),
    ],
)
def test_addresses(
    current: tuple[NodeAddress, ...],
    node_ip: str | None,
    server: Server,
    network: Network | None,
    settings: Settings,
    wanted: list[str],
    gone: list[str],
) -> None:
    """Each address that a Node should have, and each that goes away, has its rule; what is right stays."""
    node = a_settled_node(addresses=current, provided_node_ip=node_ip)
    found = decided(node, server, settings, Present(network))
    assert isinstance(found, DesiredAddresses)
    assert (ruled(found.wanted), ruled(found.gone)) == (wanted, gone)
    then = decided(replace(node, addresses=found.values), server, settings, Present(network))
    assert isinstance(then, DesiredAddresses)
    assert (then.values, then.gone) == (found.values, ())


@pytest.mark.parametrize(
    ("addresses", "network", "lost"),
    [
        pytest.param((), None, (), id="nothing-reported"),
        pytest.param(WEB_1_ADDRESSES, None, (), id="all-kept"),
        pytest.param((PUBLIC4,), None, (), id="kept-under-another-type"),
        pytest.param(
            (NodeAddress(AddressType.EXTERNAL_IP, "198.51.100.7"), VPN),
            None,
            (
                "ExternalIP 198.51.100.7 goes away: server 1 does not have it",
                "InternalIP 100.64.0.1 goes away: HCLOUD_NETWORK is not set, so the cloud knows no private address",
            ),
            id="without-a-network",
        ),
        pytest.param(
            (VPN,), NETWORK, ("InternalIP 100.64.0.1 goes away: server 1 does not have it",), id="of-another-network"
        ),
        pytest.param(
            (NodeAddress(AddressType.HOSTNAME, "other"), NodeAddress("Odd", "y")), None, (), id="names-are-no-addresses"
        ),
    ],
)
def test_lost_addresses(addresses: tuple[NodeAddress, ...], network: Network | None, lost: tuple[str, ...]) -> None:
    """Each IP address of the Node that the cloud does not know is told as going away, with its cause."""
    found = decided(a_settled_node(addresses=addresses), a_server(), DEFAULT, Present(network))
    assert isinstance(found, DesiredAddresses)
    assert found.lost == lost


@pytest.mark.parametrize(
    ("network", "expected"),
    [
        pytest.param(
            Unknown("429"), ("network-unknown", NoteKind.UNKNOWN, "addresses are not written: 429"), id="unreadable"
        ),
        pytest.param(
            Absent(),
            ("network-absent", NoteKind.UNKNOWN, "addresses are not written: the project has no network 'private'"),
            id="not-in-the-project",
        ),
    ],
)
def test_unknown_network(network: Absent | Unknown, expected: tuple[str, NoteKind, str]) -> None:
    """While the network that decides the private addresses is not known, no address is; Robot servers are in none."""
    settings = Settings(network="private", keep_internal_ips=True)
    assert why(decided(a_settled_node(), a_server(), settings, network)) == expected
    assert isinstance(decided(a_settled_node(), ROBOT, settings, network), DesiredAddresses)


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
    server = a_dual_stack_server(missing=frozenset(missing))
    text = f"addresses are not written: Hetzner's answer has no {named} for server 1"
    assert why(decided(a_settled_node(), server, DEFAULT, network)) == ("addresses-missing", NoteKind.UNKNOWN, text)


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
    settings = Settings(address_family=DUAL, network="private", mirror_labels="srv.example.com")
    for server, changes in ((replace(lacking[field], missing=frozenset({field})), 0), (lacking[field], 1)):
        snapshot = a_snapshot([node], [server], network=Present(a_network()))
        assert len(compute_plan(snapshot, settings).changes) == changes
