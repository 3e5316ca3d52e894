"""Where each address of a Node comes from, and why others go away."""

from ipaddress import IPv4Address
from typing import Any

import pytest

from desired.explain.fact import Fact
from desired.explain.node import explain_addresses
from desired.model.settings import AddressFamily, Controller, Settings
from desired.model.snapshot import AddressType, Node, NodeAddress, RobotAccount, Server, Snapshot
from desired.rules.rule import Basis
from desired.section import Present, Unknown
from tests.builders import (
    a_dual_stack_server,
    a_joining_node,
    a_network,
    a_robot_server,
    a_server,
    a_settled_node,
    a_snapshot,
    servers_of,
)
from tests.support.judging import planned

HOSTNAME, INTERNAL, EXTERNAL = AddressType.HOSTNAME, AddressType.INTERNAL_IP, AddressType.EXTERNAL_IP
DUAL, NETWORKED = Settings(address_family=AddressFamily.DUALSTACK), Settings(network="private")
NAME = Fact(HOSTNAME, "web-1", "web-1", Basis.SERVER, "the server's name")
PUBLIC = Fact(EXTERNAL, "203.0.113.1", "203.0.113.1", Basis.SERVER, "the server's public IPv4")


def with_addresses(*texts: str, **overrides: Any) -> Node:
    """A settled Node with these addresses, each ``Type text``."""
    addresses = tuple(NodeAddress(*text.split()) for text in texts)
    return a_settled_node(addresses=addresses, **overrides)


def world(node: Node, server: Server, settings: Settings) -> Snapshot:
    """A Node and its server, in network 4 when there is to be a network."""
    return a_snapshot([node], [server], network=Present(a_network() if settings.network else None))


def explained(node: Node, snapshot: Snapshot, settings: Settings, left: str = "") -> list[Fact]:
    """What is said of each address."""
    wanted, then = planned(node, snapshot, settings)
    return list(explain_addresses(node, then, wanted, snapshot, settings, left))


@pytest.mark.parametrize(
    ("node", "server", "settings", "expected"),
    [
        pytest.param(a_settled_node(), a_server(), Settings(), [NAME, PUBLIC], id="as-the-server-has-them"),
        pytest.param(
            a_joining_node(),
            a_server(),
            Settings(),
            [
                Fact(HOSTNAME, None, "web-1", Basis.SERVER, "the server's name"),
                Fact(EXTERNAL, None, "203.0.113.1", Basis.SERVER, "the server's public IPv4"),
            ],
            id="as-the-node-joins",
        ),
        pytest.param(
            with_addresses("ExternalIP 203.0.113.1", "Hostname web-1"),
            a_server(),
            Settings(),
            [PUBLIC, NAME],
            id="in-the-order-of-the-node",
        ),
        pytest.param(
            with_addresses("Hostname old-name"),
            a_server(ipv4=None),
            Settings(),
            [
                Fact(
                    HOSTNAME,
                    "old-name",
                    "old-name",
                    Basis.KEPT,
                    "server 1 is called web-1; the Node keeps Hostname old-name",
                ),
            ],
            id="the-server-was-renamed",
        ),
        pytest.param(
            with_addresses("Hostname web-1", "ExternalIP 203.0.113.1"),
            a_dual_stack_server(),
            DUAL,
            [
                NAME,
                PUBLIC,
                Fact(EXTERNAL, None, "2001:db8:1::1", Basis.SERVER, "the first host of the server's IPv6 network"),
            ],
            id="ipv6-switched-on",
        ),
        pytest.param(
            with_addresses("Hostname web-1", "ExternalIP 203.0.113.1", "ExternalIP 2001:db8:1::1"),
            a_dual_stack_server(),
            Settings(),
            [
                NAME,
                PUBLIC,
                Fact(
                    EXTERNAL,
                    "2001:db8:1::1",
                    None,
                    Basis.SERVER,
                    "goes away: HCLOUD_INSTANCES_ADDRESS_FAMILY is ipv4",
                ),
            ],
            id="ipv6-switched-off",
        ),
        pytest.param(
            with_addresses("Hostname web-1", "ExternalIP 203.0.113.1"),
            a_dual_stack_server(),
            NETWORKED,
            [
                NAME,
                PUBLIC,
                Fact(INTERNAL, None, "10.0.0.2", Basis.SERVER, "the server's address in the private network"),
            ],
            id="attached-to-the-network",
        ),
        pytest.param(
            with_addresses("Hostname web-1", "ExternalIP 203.0.113.1", "InternalIP 10.9.9.9"),
            a_server(),
            NETWORKED,
            [NAME, PUBLIC, Fact(INTERNAL, "10.9.9.9", None, Basis.SERVER, "goes away: not an address of server 1")],
            id="a-private-address-that-the-server-does-not-have",
        ),
        pytest.param(
            with_addresses("Hostname web-1", "ExternalIP 203.0.113.1", "InternalIP 10.9.9.9"),
            a_server(),
            Settings(),
            [
                NAME,
                PUBLIC,
                Fact(
                    INTERNAL,
                    "10.9.9.9",
                    None,
                    Basis.SERVER,
                    "goes away: HCLOUD_NETWORK is not set, so the cloud knows no private address",
                ),
            ],
            id="a-private-address-without-a-network",
        ),
        pytest.param(
            with_addresses("Hostname web-1", "ExternalIP 203.0.113.1", "InternalIP 10.9.9.9"),
            a_server(),
            Settings(keep_internal_ips=True),
            [
                NAME,
                PUBLIC,
                Fact(
                    INTERNAL,
                    "10.9.9.9",
                    "10.9.9.9",
                    Basis.KEPT,
                    "the kubelet reported it, and --keep-internal-ips keeps it",
                ),
            ],
            id="a-private-address-that-is-kept",
        ),
        pytest.param(
            with_addresses("Hostname web-1", "InternalIP 203.0.113.1", "ExternalIP 203.0.113.1"),
            a_server(),
            Settings(),
            [
                NAME,
                Fact(INTERNAL, "203.0.113.1", None, Basis.SERVER, "goes away: is the Node's ExternalIP"),
                PUBLIC,
            ],
            id="listed-under-another-type",
        ),
        pytest.param(
            with_addresses("Hostname web-1", "ExternalIP 203.0.113.1", "ExternalIP 203.0.113.1"),
            a_server(),
            Settings(),
            [NAME, PUBLIC, Fact(EXTERNAL, "203.0.113.1", None, Basis.SERVER, "goes away: is listed twice")],
            id="listed-twice",
        ),
        pytest.param(
            with_addresses("ExternalIP 203.0.113.1", "Hostname web-1", "InternalDNS web-1.lan"),
            a_server(),
            Settings(),
            [
                PUBLIC,
                NAME,
                Fact("InternalDNS", "web-1.lan", None, Basis.SERVER, "goes away: not an address of server 1"),
            ],
            id="a-name-of-the-kubelets",
        ),
        pytest.param(
            with_addresses(
                "InternalIP 10.0.0.3",
                "InternalIP 10.0.0.2",
                "Hostname web-1",
                "ExternalIP 203.0.113.1",
                provided_node_ip="10.0.0.3",
            ),
            a_server(private_ips=((4, IPv4Address("10.0.0.2")), (4, IPv4Address("10.0.0.3")))),
            NETWORKED,
            [
                Fact(
                    INTERNAL,
                    "10.0.0.3",
                    "10.0.0.3",
                    Basis.NODE_IP,
                    "the server's address in the private network; it is the kubelet's --node-ip, so no other InternalIP"
                    " counts",
                ),
                Fact(
                    INTERNAL,
                    "10.0.0.2",
                    None,
                    Basis.NODE_IP,
                    "goes away: the kubelet's --node-ip makes 10.0.0.3 the only InternalIP",
                ),
                NAME,
                PUBLIC,
            ],
            id="the-node-ip-is-the-only-one-of-its-type",
        ),
        pytest.param(
            with_addresses("ExternalIP 2001:db8:1::5", "Hostname web-1", provided_node_ip="2001:db8:1::5"),
            a_dual_stack_server(),
            Settings(address_family=AddressFamily.IPV6),
            [
                Fact(
                    EXTERNAL,
                    "2001:db8:1::5",
                    "2001:db8:1::5",
                    Basis.NODE_IP,
                    "a host of the server's IPv6 network; it is the kubelet's --node-ip, so no other ExternalIP counts",
                ),
                NAME,
            ],
            id="the-node-ip-is-another-host-of-the-servers-network",
        ),
        pytest.param(
            with_addresses(
                "InternalIP 10.9.9.9", "Hostname web-1", "ExternalIP 203.0.113.1", provided_node_ip="10.9.9.9"
            ),
            a_server(),
            Settings(keep_internal_ips=True),
            [
                Fact(
                    INTERNAL,
                    "10.9.9.9",
                    "10.9.9.9",
                    Basis.NODE_IP,
                    "the kubelet reported it, and --keep-internal-ips keeps it; it is the kubelet's --node-ip, so no"
                    " other InternalIP counts",
                ),
                NAME,
                PUBLIC,
            ],
            id="the-node-ip-is-kept",
        ),
    ],
)
def test_addresses(node: Node, server: Server, settings: Settings, expected: list[Fact]) -> None:
    """Each address is told with where it comes from, or why it goes away; those that come stand last."""
    assert explained(node, world(node, server, settings), settings) == expected


def untouched(why: str) -> list[Fact]:
    """What is said of a settled Node's addresses that stay as they are."""
    source = f"stays as it is: {why}"
    return [
        Fact(HOSTNAME, "web-1", "web-1", Basis.UNTOUCHED, source),
        Fact(EXTERNAL, "203.0.113.1", "203.0.113.1", Basis.UNTOUCHED, source),
    ]


NO_NODE_IP = (
    "the kubelet's --node-ip 10.0.0.9 is none of the server's addresses (ExternalIP 203.0.113.1): correct it, or set"
    " HCLOUD_NETWORK for a private and HCLOUD_INSTANCES_ADDRESS_FAMILY for an IPv6 address"
)


def test_addresses_stay_while_a_field_did_not_arrive() -> None:
    """Where Hetzner's answer says nothing of addresses each one stays, with the field that is missing."""
    snapshot = a_snapshot([a_settled_node()], [a_server(ipv4=None, missing=frozenset({"public_net.ipv4"}))])
    why = "stays as it is: Hetzner's answer has no public_net.ipv4 for server 1, so its addresses are unknown"
    assert explained(a_settled_node(), snapshot, Settings()) == [
        Fact(a.type, a.address, a.address, Basis.UNTOUCHED, why) for a in a_settled_node().addresses
    ]


@pytest.mark.parametrize(
    ("node", "settings", "network", "why"),
    [
        pytest.param(
            a_settled_node(provided_node_ip="10.0.0.9"), Settings(), Present(None), NO_NODE_IP, id="a-node-ip-of-nobody"
        ),
        pytest.param(a_settled_node(), NETWORKED, Unknown("429"), "429", id="the-network-could-not-be-read"),
        pytest.param(a_settled_node(provider_id="aws://1"), Settings(), Present(None), "because", id="no-node-of-ours"),
        pytest.param(
            a_settled_node(),
            Settings(controllers=frozenset({Controller.LIFECYCLE})),
            Present(None),
            "because",
            id="addresses-are-left-to-others",
        ),
    ],
)
def test_addresses_that_stay(node: Node, settings: Settings, network: Present[None] | Unknown, why: str) -> None:
    """Where it cannot be told what is right, or nobody asks, each address stays, with the reason why."""
    snapshot = a_snapshot([node], [a_server()], network=network)

    assert explained(node, snapshot, settings, "because") == untouched(why)


def test_the_name_of_another_node_goes() -> None:
    """A Hostname that is another Node's makes place for the Node's own name."""
    node = with_addresses("Hostname web-2")
    server, other = a_server(1, "web-2"), a_settled_node("web-2", 2)
    snapshot = a_snapshot([node, other], [server, a_server(2, "web-2")])
    gone, kept = (fact for fact in explained(node, snapshot, Settings()) if fact.subject == HOSTNAME)

    assert (gone.value, gone.wanted, gone.rule) == ("web-2", None, Basis.SERVER)
    assert gone.source == "goes away: it is another Node's name, or that of another Node's server"
    assert (kept.value, kept.wanted, kept.rule) == (None, "web-1", Basis.KEPT)


KEPT = "what the kubelet reported, kept as ROBOT_FORWARD_INTERNAL_IPS says"


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        pytest.param(
            Settings(),
            [
                ("10.1.0.1", "10.1.0.1", KEPT),
                ("192.0.2.65", None, "goes away: is the Node's ExternalIP"),
                (
                    "2001:db8::9",
                    None,
                    "goes away: HCLOUD_INSTANCES_ADDRESS_FAMILY is ipv4",
                ),
            ],
            id="forwarded",
        ),
        pytest.param(
            Settings(network="private"), [("10.1.0.1", "10.1.0.1", KEPT)], id="whatever the network of the others is"
        ),
        pytest.param(
            Settings(forward_internal_ips=False),
            [("10.1.0.1", None, "goes away: ROBOT_FORWARD_INTERNAL_IPS is false")],
            id="not forwarded",
        ),
    ],
)
def test_internal_ips_on_a_robot_server(settings: Settings, expected: list[tuple[str | None, str | None, str]]) -> None:
    """Robot knows none: the kubelet's word is kept, or goes for a reason that is told."""
    texts = [f"InternalIP {value}" for value, *_ in expected]
    node = with_addresses("Hostname db-1", *texts, name="db-1", provider_id="hrobot://321")
    account = RobotAccount(servers_of(a_robot_server(321, "db-1")))
    snapshot = a_snapshot([node], robot=account, network=Present(a_network() if settings.network else None))

    found = [fact for fact in explained(node, snapshot, settings) if fact.subject == INTERNAL]

    assert [(fact.value, fact.wanted, fact.source) for fact in found] == expected
