"""No Node is given a name or an address that is another Node's: after renames, swaps, and in answers that are old."""

from collections.abc import Sequence
from dataclasses import replace
from ipaddress import IPv4Address, IPv6Network
from typing import Any

import pytest

from desired.model.settings import AddressFamily, Settings
from desired.model.snapshot import AddressType, Node, NodeAddress, Server
from desired.nodes.addresses import Others, choose_hostname
from desired.plan.notes import NoteKind
from desired.planner import compute_plan
from desired.section import Present
from tests.builders import (
    a_joining_node,
    a_network,
    a_server,
    a_settled_node,
    a_snapshot,
    nodes_of,
)

WEB_2 = (a_settled_node("web-2", 2), a_server(2, "web-2"))
IN_NETWORK = Settings(network="private", address_family=AddressFamily.DUALSTACK)
KEEP = Settings(keep_internal_ips=True)
V6 = IPv6Network("2001:db8:1::/64")


def called(name: str) -> tuple[NodeAddress, ...]:
    """What a Node publishes that calls itself so."""
    return (NodeAddress(AddressType.HOSTNAME, name), NodeAddress(AddressType.EXTERNAL_IP, "203.0.113.1"))


def internal(*ips: str) -> tuple[NodeAddress, ...]:
    """Internal addresses."""
    return tuple(NodeAddress(AddressType.INTERNAL_IP, ip) for ip in ips)


def attached(*places: tuple[int, str]) -> tuple[tuple[int, IPv4Address], ...]:
    """Addresses in networks."""
    return tuple((network, IPv4Address(ip)) for network, ip in places)


OWN, KEPT, TAKEN = "hostname-of-server", "hostname-kept", "hostname-taken"


@pytest.mark.parametrize(
    ("node", "server_name", "others", "expected"),
    [
        pytest.param(a_joining_node(), "web-1", [WEB_2], ("web-1", OWN), id="joins-by-name"),
        pytest.param(a_joining_node("gpu"), "web-1", [WEB_2], ("web-1", OWN), id="joins-by-providerID-as-with-HCCM"),
        pytest.param(
            a_joining_node(addresses=called("lan")),
            "web-1",
            [],
            ("web-1", OWN),
            id="what-a-kubelet-says-is-replaced",
        ),
        pytest.param(
            a_joining_node(),
            "web-2",
            [WEB_2],
            ("web-1", TAKEN),
            id="joins-on-a-server-with-another-nodes-name",
        ),
        pytest.param(a_settled_node(), "web-1", [WEB_2], ("web-1", OWN), id="nothing-happened"),
        pytest.param(
            a_settled_node(),
            "web-9",
            [WEB_2],
            ("web-1", KEPT),
            id="renamed",
        ),
        pytest.param(
            a_settled_node(),
            "web-2",
            [(a_settled_node("web-2", 2), a_server(2, "web-1"))],
            ("web-1", KEPT),
            id="swapped",
        ),
        pytest.param(
            a_settled_node(addresses=called("web-2")),
            "web-2",
            [(a_settled_node("web-2", 2, addresses=called("web-1")), a_server(2, "web-1"))],
            ("web-1", TAKEN),
            id="swapped-and-followed-by-another-controller",
        ),
        pytest.param(
            a_settled_node(addresses=called("web-2")), "web-1", [WEB_2], ("web-1", OWN), id="it-was-renamed-back"
        ),
        pytest.param(
            a_settled_node(),
            "WEB-2",
            [WEB_2],
            ("web-1", KEPT),
            id="letters-of-another-case-are-the-same-name",
        ),
        pytest.param(
            a_settled_node(addresses=called("pool-a")),
            "pool-a",
            [(a_settled_node("web-2", 2), a_server(2, "pool-a"))],
            ("web-1", TAKEN),
            id="two-servers-with-one-name",
        ),
        pytest.param(
            a_settled_node(addresses=called("pool-a")), "pool-a", [WEB_2], ("pool-a", OWN), id="joined-by-providerID"
        ),
        pytest.param(a_settled_node(addresses=()), "web-9", [WEB_2], ("web-9", OWN), id="published-none"),
    ],
)
def test_hostnames(
    node: Node, server_name: str, others: Sequence[tuple[Node, Server]], expected: tuple[str, str]
) -> None:
    """A Node is called as its server was when it joined, and never as another Node or its server is."""
    node = replace(node, provider_id="hcloud://1")
    server = a_server(1, server_name)
    snapshot = a_snapshot([node, *(other for other, _ in others)], [server, *(other for _, other in others)])
    found = choose_hostname(node, server, Others(snapshot), joins=bool(node.taints))
    assert (found.value.address, found.rule.name) == expected


@pytest.mark.parametrize(
    ("node", "name", "text"),
    [
        (a_settled_node(), "web-9", "Hostname web-1 stays although server 1 is called web-9"),
        (
            a_joining_node(),
            "web-2",
            "Hostname is the Node's own name: web-2, the name of server 1, is that of Node web-2 or of its server",
        ),
        (a_joining_node(), "", "Hostname is web-1: server 1 has no name"),
    ],
)
def test_a_hostname_that_is_not_the_servers_name_is_told(node: Node, name: str, text: str) -> None:
    """The note says both names."""
    server = a_server(1, name)
    others = Others(a_snapshot([node, WEB_2[0]], [server, WEB_2[1]]))
    found = choose_hostname(node, server, others, joins=bool(node.taints))
    assert (found.rule.of, found.text) == (NoteKind.KEPT, text)


def test_the_name_of_a_node_that_could_not_be_read_is_its_own() -> None:
    """Unknown is not absent."""
    section = replace(nodes_of(a_settled_node()), unreadable={"web-2": "no uid"})
    snapshot = a_snapshot(nodes_section=section, servers=[a_server(1, "web-2")])
    assert (
        choose_hostname(a_joining_node(), a_server(1, "web-2"), Others(snapshot), joins=True).value.address == "web-1"
    )


NEW = {"addresses": called("web-1")}


@pytest.mark.parametrize(
    ("node", "server", "other", "settings", "contested"),
    [
        pytest.param({}, {}, {"ipv4": IPv4Address("203.0.113.1")}, IN_NETWORK, "ExternalIP 203.0.113.1", id="public"),
        pytest.param({}, {"ipv6": V6}, {"ipv6": V6}, IN_NETWORK, "ExternalIP 2001:db8:1::1", id="ipv6"),
        pytest.param(
            {},
            {"private_ips": attached((4, "10.0.0.2"))},
            {"private_ips": attached((4, "10.0.0.2"))},
            IN_NETWORK,
            "InternalIP 10.0.0.2",
            id="private",
        ),
        pytest.param(
            {},
            {"private_ips": attached((4, "10.0.0.2"))},
            {"alias_ips": attached((4, "10.0.0.2"))},
            IN_NETWORK,
            "InternalIP 10.0.0.2",
            id="another-servers-alias",
        ),
        pytest.param(
            {},
            {"private_ips": attached((4, "10.0.0.2"))},
            {"private_ips": attached((5, "10.0.0.2"))},
            IN_NETWORK,
            None,
            id="the-same-in-two-networks-is-another",
        ),
        pytest.param(
            {},
            {"private_ips": attached((4, "10.0.0.2"), (5, "10.0.0.2"))},
            {"private_ips": attached((5, "10.0.0.2"))},
            IN_NETWORK,
            None,
            id="contested-in-a-network-that-does-not-matter",
        ),
        pytest.param(
            {"addresses": (*called("web-1"), *internal("203.0.113.2"))},
            {},
            {},
            KEEP,
            "InternalIP 203.0.113.2",
            id="a-kubelet-claims-anothers-public-one",
        ),
        pytest.param(
            {"addresses": (*called("web-1"), *internal("10.0.0.2"))},
            {"private_ips": attached((4, "10.0.0.9"))},
            {"private_ips": attached((4, "10.0.0.2"))},
            KEEP,
            "InternalIP 10.0.0.2",
            id="a-kubelet-claims-anothers-private-one",
        ),
        pytest.param(
            {"addresses": (*called("web-1"), *internal("10.0.0.2"))},
            {},
            {"private_ips": attached((4, "10.0.0.2"))},
            KEEP,
            None,
            id="an-address-in-a-vpn-that-looks-alike",
        ),
    ],
)
@pytest.mark.parametrize("joins", [True, False])
def test_addresses_that_two_servers_seem_to_have(
    node: dict[str, Any],
    server: dict[str, Any],
    other: dict[str, Any],
    settings: Settings,
    contested: str | None,
    joins: bool,
) -> None:
    """They are written to neither Node: one that joins waits, one that is settled stays as it is, and a note names
    both servers."""
    ours: Any = (a_joining_node if joins else a_settled_node)(**{"addresses": called("web-1")} | node)
    network = Present(a_network() if settings is IN_NETWORK else None)
    snapshot = a_snapshot([ours, WEB_2[0]], [a_server(1, **server), a_server(2, "web-2", **other)], network=network)

    plan = compute_plan(snapshot, settings)

    kinds = [change.kind for change in plan.changes if change.owner == ours.key]
    notes = [note.text for note in plan.notes if note.key == ours.key and note.kind is NoteKind.AMBIGUOUS]
    if contested is None:
        assert notes == []
        assert not joins or kinds == ["node.initialise"]
        return
    text = f"addresses are not written: {contested} of server 1 is that of server 2 of Node web-2 as well"
    assert (kinds, notes) == ([], [text])
