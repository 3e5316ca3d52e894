"""Addresses that a Node should have on its server: each with the rule that decides on it."""

from dataclasses import replace
from functools import partial
from ipaddress import IPv4Address, IPv6Address, IPv6Network
from typing import Any

import pytest

from desired.model.settings import AddressFamily, Settings
from desired.model.snapshot import AddressType, Network, Node, NodeAddress, Server
from desired.nodes.addresses import (
    Addresses,
    DesiredAddresses,
    Others,
    UndecidedAddresses,
    choose_addresses,
    choose_hostname,
    desired_addresses,
    parse_node_ips,
    public_ipv6,
)
from desired.planner import compute_plan
from desired.rules.nodes import PRIVATE_IP
from desired.rules.rule import Decided
from desired.section import Absent, Present, Unknown
from tests.builders import (
    NOBODY,
    SERVER_LABELS,
    a_dual_stack_server,
    a_joining_node,
    a_network,
    a_robot_server,
    a_server,
    a_settled_node,
    a_snapshot,
    nodes_of,
)
from tests.support.rows import rows

IPV4, IPV6, DUAL = AddressFamily.IPV4, AddressFamily.IPV6, AddressFamily.DUALSTACK
SUBNET = IPv6Network("2001:db8:1::/64")
NETWORK = a_network()

internal, external, hostname = (
    partial(NodeAddress, kind) for kind in (AddressType.INTERNAL_IP, AddressType.EXTERNAL_IP, AddressType.HOSTNAME)
)
H, E4, E6, I4 = hostname("web-1"), external("203.0.113.1"), external("2001:db8:1::1"), internal("10.0.0.2")
E6_OTHER, I4_OTHER, VPN = external("2001:db8:1::5"), internal("10.0.0.3"), internal("100.64.0.1")
ALL = (H, E4, E6, I4)
DEFAULT, KEEP = Settings(), Settings(keep_internal_ips=True)


def attached(*places: tuple[int, str]) -> tuple[tuple[int, IPv4Address], ...]:
    return tuple((network, IPv4Address(ip)) for network, ip in places)


TWICE, BOTH = a_server(private_ips=attached((4, "10.0.0.2"), (4, "10.0.0.3"))), a_dual_stack_server()
PRIVATE, IN_TWO = attached((4, "10.0.0.2")), attached((5, "10.9.0.2"), (4, "10.0.0.2"))


def decided(
    node: Node,
    server: Server,
    settings: Settings = DEFAULT,
    network: Present[Network | None] | Absent | Unknown = Present(None),  # noqa: B008 - frozen
) -> DesiredAddresses | UndecidedAddresses:
    name = choose_hostname(node, server, NOBODY, joins=False)
    return desired_addresses(node, server, name, a_snapshot(network=network), settings, NOBODY)


def found(
    server: Server, settings: Settings, network: Network | None = None, current: tuple[NodeAddress, ...] = ()
) -> tuple[NodeAddress, ...]:
    wanted = decided(a_settled_node(addresses=current), server, settings, Present(network))
    assert isinstance(wanted, DesiredAddresses)
    return wanted.values


def why(left: object) -> str:
    """The rule by which addresses are not written."""
    assert isinstance(left, Decided)
    return left.rule.name


@rows("server family network expected", {
    "dual-stack-in-HCCMs-order": (BOTH, DUAL, NETWORK, (H, E4, E6, I4)),
    "family-does-not-concern-private-ips": (BOTH, IPV6, NETWORK, (H, E6, I4)),
    "no-network-no-internal-ip": (BOTH, DUAL, None, (H, E4, E6)),
    "attached-to-two-networks": (replace(BOTH, private_ips=IN_TWO), IPV4, NETWORK, (H, E4, I4)),
    "attached-twice-keeps-the-order-of-the-api": (TWICE, IPV4, NETWORK, (H, E4, I4, I4_OTHER)),
    "no-public-ipv6": (a_server(), IPV6, None, (H,)),
    "only-ipv6-with-family-ipv4": (a_server(ipv4=None, ipv6=SUBNET), IPV4, None, (H,)),
    "host-name-is-the-servers": (a_server(name="renamed"), IPV4, None, (hostname("renamed"), E4)),
    "last-bit-is-set-not-added": (a_server(ipv6=IPv6Network("2001:db8:1::1/128")), IPV6, None, (H, E6)),
})  # fmt: skip
def test_cloud_addresses(
    server: Server, family: AddressFamily, network: Network | None, expected: tuple[NodeAddress, ...]
) -> None:
    """A server gives its name, its public addresses of the family, and its private ones in the configured network."""
    assert found(server, Settings(address_family=family), network, (VPN,)) == expected


ROBOT = a_robot_server(ipv4=IPv4Address("203.0.113.1"), ipv6=SUBNET)
I6, NO_IP = internal("fd00::2"), internal("bond0")
PUBLIC4, PUBLIC6 = internal(E4.address), internal("2001:db8:1:0::1")


@rows("server family current expected", {
    "IPv6 comes first, as by HCCM": (ROBOT, DUAL, (), (H, E6, E4)),
    "no IPv4, where HCCM writes an empty address": (replace(ROBOT, ipv4=None), DUAL, (), (H, E6)),
    "no IPv6, where HCCM writes 1": (replace(ROBOT, ipv6=None), DUAL, (), (H, E4)),
    "what the kubelet reported, in its order": (ROBOT, DUAL, (I6, H, I4, VPN), (H, E6, E4, I6, I4, VPN)),
    "none of another family": (ROBOT, IPV4, (I6, I4), (H, E4, I4)),
    "none that is public, however it is written": (ROBOT, DUAL, (PUBLIC4, PUBLIC6), (H, E6, E4)),
    "none that is no address, and no other type": (ROBOT, IPV4, (NO_IP, E6_OTHER), (H, E4)),
    "no network": (replace(ROBOT, private_ips=PRIVATE), IPV4, (), (H, E4)),
})  # fmt: skip
def test_robot_addresses(
    server: Server, family: AddressFamily, current: tuple[NodeAddress, ...], expected: tuple[NodeAddress, ...]
) -> None:
    """A Robot server gives its name, its public addresses, and what its kubelet reported of private ones."""
    assert found(server, Settings(address_family=family), NETWORK, current) == expected


@rows("reported", {"another-host": "2001:db8:1::5", "written-otherwise": "2001:0db8:1::1"})
def test_a_kept_address_of_the_servers_own_network_settles_at_once(reported: str) -> None:
    """A node IP is the public address of the network and never a kept one there: the first plan is final."""
    server, settings = a_server(ipv4=None, ipv6=SUBNET), replace(KEEP, address_family=IPV6)
    node = a_settled_node(addresses=(H, internal(reported)), provided_node_ip="2001:db8:1::1")
    first = decided(node, server, settings)
    assert isinstance(first, DesiredAddresses)
    assert decided(replace(node, addresses=first.values), server, settings) == DesiredAddresses(first.wanted)


BAD, NO_PAIR = "node-ip-malformed", "node-ip-no-pair"


@rows("annotation expected", {
    "ipv4": ("10.0.0.2", ["10.0.0.2"]),
    "ipv6-in-long-form": ("2001:0DB8:0001:0:0:0:0:0001", ["2001:db8:1::1"]),
    "ipv6-that-begins-with-zeros": ("00fe:0db8::1", ["fe:db8::1"]),
    "padding-is-decimal": ("010.000.00.002", ["10.0.0.2"]),
    "ipv4-mapped-is-ipv4": ("::ffff:10.0.0.2", ["10.0.0.2"]),
    "unspecified-alone": ("0.0.0.0", ["0.0.0.0"]),
    "pair": ("10.0.0.2,2001::1", ["10.0.0.2", "2001::1"]),
    "pair-ipv6-first": ("2001::1,10.0.0.2", ["2001::1", "10.0.0.2"]),
    "empty": ("", BAD),
    "blank-between": ("10.0.0.2, 2001::1", BAD),
    "blank-in-front": (" 10.0.0.2", BAD),
    "host-name": ("web-1", BAD),
    "octet-too-large": ("10.0.0.256", BAD),
    "prefix-length": ("10.0.0.2/24", BAD),
    "zone": ("fe80::1%eth0", BAD),
    "two-ipv4": ("10.0.0.2,10.0.0.3", NO_PAIR),
    "two-ipv4-one-of-them-mapped": ("10.0.0.2,::ffff:10.0.0.3", NO_PAIR),
    "three": ("10.0.0.2,2001::1,10.0.0.3", NO_PAIR),
    "pair-with-unspecified-ipv4": ("0.0.0.0,2001::1", NO_PAIR),
    "pair-with-unspecified-ipv6": ("10.0.0.2,::", NO_PAIR),
})  # fmt: skip
def test_parse_node_ips(annotation: str, expected: list[str] | str) -> None:
    """One address, or one of each family, however they are written; anything else is refused, and told."""
    ips = parse_node_ips(annotation)
    assert (why(ips) if isinstance(ips, Decided) else [str(ip) for ip in ips]) == expected
    assert not isinstance(ips, Decided) or repr(annotation) in ips.text


def test_parse_node_ips_does_not_look_at_what_is_too_long() -> None:
    """Any client that may write a Node may give it 256 KiB of annotation: its beginning and its length are told."""
    ips = parse_node_ips("0" * 250_000 + "1")
    assert isinstance(ips, Decided)
    assert f" '{'0' * 80}...' (250001 characters) " in ips.text


def offered(addresses: tuple[NodeAddress, ...]) -> Addresses:
    return tuple(Decided(address, PRIVATE_IP) for address in addresses)


LAST = "2001:db8:1:0:ffff:ffff:ffff:ffff"


@rows("addresses annotation expected", {
    "no-annotation": (ALL, None, ALL),
    "pair-drops-the-other-external": (ALL, "10.0.0.2,2001:db8:1::1", (I4, E6, H)),
    "public-ipv4": (ALL, "203.0.113.1", (E4, H, I4)),
    "the-last-host-of-the-servers-subnet": (ALL, LAST, (external(LAST), H, I4)),
    "pair-with-another-host": (ALL, "10.0.0.2,2001:db8:1::5", (I4, E6_OTHER, H)),
    "every-equal-address-is-listed": ((H, E4, PUBLIC4), "203.0.113.1", (E4, PUBLIC4, H)),
    "a-host-name-is-no-address": ((hostname("10.0.0.2"), I4), "10.0.0.2", (I4, hostname("10.0.0.2"))),
    "private-without-a-network": ((H, E4), "10.0.0.2", "ExternalIP 203.0.113.1"),
    "unspecified": ((H, E4, I4), "0.0.0.0", "ExternalIP 203.0.113.1, InternalIP 10.0.0.2"),
    "another-subnet": ((H, E6), "2001:db8:2::1", "ExternalIP 2001:db8:1::1"),
    "second-of-a-pair": ((H, I4), "10.0.0.2,2001:db8:2::1", "InternalIP 10.0.0.2"),
})  # fmt: skip
def test_choose_addresses(
    addresses: tuple[NodeAddress, ...], annotation: str | None, expected: tuple[NodeAddress, ...] | str
) -> None:
    """Listed addresses come first and make their type exclusive, the rest keeps its order; one that the server does not
    have is refused, with those that it has."""
    chosen = choose_addresses(offered(addresses), annotation, SUBNET)
    if isinstance(chosen, Decided):
        assert (chosen.rule.name, chosen.facts["addresses"]) == ("node-ip-unknown", expected)
    else:
        assert tuple(each.value for each in chosen) == expected


def test_another_host_needs_a_subnet() -> None:
    """A server without a public IPv6 network has no other hosts."""
    assert isinstance(choose_addresses(offered(ALL), "2001:db8:1::5", None), Decided)


@rows("ipv6 annotation expected", {
    "no-network": (None, "2001:db8:1::5", None),
    "the-first-host": (SUBNET, None, "2001:db8:1::1"),
    "another-host": (SUBNET, "10.0.0.2,2001:db8:1::5", "2001:db8:1::5"),
    "of-another-network": (SUBNET, "2001:db8:2::5", "2001:db8:1::1"),
    "malformed": (SUBNET, "x", "2001:db8:1::1"),
})  # fmt: skip
def test_public_ipv6(ipv6: IPv6Network | None, annotation: str | None, expected: str | None) -> None:
    """The host that the kubelet uses, else the first one."""
    assert public_ipv6(a_server(ipv6=ipv6), annotation) == (IPv6Address(expected) if expected else None)


BASE = "hostname-of-server public-ipv4"


@rows("current world wanted gone", {
    "as-the-server-has-them": ((H, E4), {}, BASE, ""),
    "published-none": ((), {}, BASE, ""),
    "ipv6-off": ((H, E4, E6), {"server": BOTH}, BASE, "other-family"),
    "of-no-server": ((VPN,), {"net": NETWORK, "settings": KEEP}, BASE, "address-unknown"),
    "without-a-network": ((VPN, H, E4), {}, BASE, "network-unset"),
    "kept": ((VPN, H), {"settings": KEEP}, BASE + " internal-ip-kept", ""),
    "under-another-type": ((H, PUBLIC4, E4), {}, BASE, "address-of-other-type"),
    "node-ip": ((I4_OTHER, I4), {"server": TWICE, "net": NETWORK, "node_ip": "10.0.0.3"}, "on-node-ip " + BASE,
        "not-on-node-ip"),
    "node-ip-of-a-kept-one": ((VPN, H, E4), {"settings": KEEP, "node_ip": "100.64.0.1"}, "on-node-ip " + BASE, ""),
    "robot": ((H, E4, NO_IP, I4, I6, PUBLIC4), {"server": ROBOT}, BASE + " internal-ip-forwarded",
        "internal-ip-malformed other-family address-of-other-type"),
    "robot-and-a-public-address": ((PUBLIC4,), {"server": ROBOT, "settings": Settings(address_family=IPV6)},
        "hostname-of-server public-ipv6", "internal-ip-public"),
    "robot-and-nothing-is-forwarded": ((I4,), {"server": ROBOT, "settings": Settings(forward_internal_ips=False)}, BASE,
        "forward-off"),
})  # fmt: skip
def test_rules(current: tuple[NodeAddress, ...], world: dict[str, Any], wanted: str, gone: str) -> None:
    """Each address that a Node should have, and each that goes away, has its rule; what is right stays."""
    given: dict[str, Any] = {"server": a_server(), "settings": DEFAULT, "net": None, "node_ip": None} | world
    node = a_settled_node(addresses=current, provided_node_ip=given["node_ip"])
    network = Present(given["net"])
    first = decided(node, given["server"], given["settings"], network)
    assert isinstance(first, DesiredAddresses)
    names = [" ".join(each.rule.name for each in addresses) for addresses in (first.wanted, first.gone)]
    assert names == [wanted, gone]
    then = decided(replace(node, addresses=first.values), given["server"], given["settings"], network)
    assert isinstance(then, DesiredAddresses)
    assert (then.values, then.gone) == (first.values, ())


@rows("addresses network lost", {
    "kept-under-another-type": ((PUBLIC4,), None, []),
    "without-a-network": ((external("198.51.100.7"), VPN), None, ["198.51.100.7", "100.64.0.1"]),
    "of-another-network": ((VPN,), NETWORK, ["100.64.0.1"]),
})  # fmt: skip
def test_lost_addresses(addresses: tuple[NodeAddress, ...], network: Network | None, lost: list[str]) -> None:
    """Each IP address of the Node that the cloud does not know is told as going away."""
    first = decided(a_settled_node(addresses=addresses), a_server(), DEFAULT, Present(network))
    assert isinstance(first, DesiredAddresses)
    assert [text.split()[1] for text in first.lost] == lost


@rows("network", {"none": Present(None), "unreadable": Unknown("429"), "absent": Absent()})
@rows("missing named", {
    "ipv4": ({"public_net.ipv4"}, "public_net.ipv4"),
    "ipv6": ({"public_net.ipv6"}, "public_net.ipv6"),
    "several-and-the-first-is-named": ({"public_net.ipv6", "labels", "private_net"}, "private_net"),
})  # fmt: skip
def test_fields_that_did_not_arrive(
    missing: set[str], named: str, network: Present[Network | None] | Absent | Unknown
) -> None:
    """An answer that lacks a field of addresses says nothing of them, whatever is known of the network."""
    left = decided(a_settled_node(), replace(BOTH, missing=frozenset(missing)), DEFAULT, network)
    assert isinstance(left, Decided)
    assert (left.rule.name, left.facts["field"]) == ("addresses-missing", named)


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


def called(name: str) -> dict[str, Any]:
    return {"addresses": (hostname(name), E4)}


OWN, KEPT, TAKEN = "hostname-of-server", "hostname-kept", "hostname-taken"
WEB_2 = {"server": "web-2"}


@rows("node server other expected", {
    "joins-by-name": (a_joining_node(), "web-1", WEB_2, ("web-1", OWN)),
    "joins-by-providerID-as-with-HCCM": (a_joining_node("gpu"), "web-1", WEB_2, ("web-1", OWN)),
    "what-a-kubelet-says-is-replaced": (a_joining_node(**called("lan")), "web-1", None, ("web-1", OWN)),
    "joins-on-a-server-with-another-nodes-name": (a_joining_node(), "web-2", WEB_2, ("web-1", TAKEN)),
    "joins-on-a-server-without-a-name": (a_joining_node(), "", WEB_2, ("web-1", "server-unnamed")),
    "nothing-happened": (a_settled_node(), "web-1", WEB_2, ("web-1", OWN)),
    "renamed": (a_settled_node(), "web-9", WEB_2, ("web-1", KEPT)),
    "swapped-and-followed-by-another-controller": (a_settled_node(**called("web-2")), "web-2",
        {"server": "web-1", **called("web-1")}, ("web-1", TAKEN)),
    "letters-of-another-case-are-the-same-name": (a_settled_node(), "WEB-2", WEB_2, ("web-1", KEPT)),
    "two-servers-with-one-name": (a_settled_node(**called("a")), "a", {"server": "a"}, ("web-1", TAKEN)),
    "joined-by-providerID": (a_settled_node(**called("pool-a")), "pool-a", WEB_2, ("pool-a", OWN)),
})  # fmt: skip
def test_hostnames(node: Node, server: str, other: dict[str, Any] | None, expected: tuple[str, str]) -> None:
    """A Node is called as its server was when it joined, and never as another Node or its server is."""
    node, ours = replace(node, provider_id="hcloud://1"), a_server(1, server)
    nodes, servers = [node], [ours]
    if other is not None:
        fields = dict(other)
        servers.append(a_server(2, fields.pop("server")))
        nodes.append(a_settled_node("web-2", 2, **fields))
    choice = choose_hostname(node, ours, Others(a_snapshot(nodes, servers)), joins=bool(node.taints))
    assert (choice.value.address, choice.rule.name) == expected


def test_the_name_of_a_node_that_could_not_be_read_is_its_own() -> None:
    """Unknown is not absent."""
    section = replace(nodes_of(a_settled_node()), unreadable={"web-2": "no uid"})
    others = Others(a_snapshot(nodes_section=section, servers=[a_server(1, "web-2")]))
    assert choose_hostname(a_joining_node(), a_server(1, "web-2"), others, joins=True).value == H


IN_NETWORK = Settings(network="private", address_family=DUAL)
HAS, HAS_AS_ALIAS, OTHER = {"private_ips": PRIVATE}, {"alias_ips": PRIVATE}, {"private_ips": attached((4, "10.0.0.9"))}
ELSEWHERE = attached((5, "10.0.0.2"))


@rows("reported server other settings contested", {
    "public": ((), {}, {"ipv4": IPv4Address("203.0.113.1")}, IN_NETWORK, "203.0.113.1"),
    "ipv6": ((), {"ipv6": SUBNET}, {"ipv6": SUBNET}, IN_NETWORK, "2001:db8:1::1"),
    "private": ((), HAS, HAS, IN_NETWORK, "10.0.0.2"),
    "another-servers-alias": ((), HAS, HAS_AS_ALIAS, IN_NETWORK, "10.0.0.2"),
    "the-same-in-two-networks-is-another": ((), HAS, {"private_ips": ELSEWHERE}, IN_NETWORK, None),
    "a-kubelet-claims-anothers-public-one": ((internal("203.0.113.2"),), {}, {}, KEEP, "203.0.113.2"),
    "a-kubelet-claims-anothers-private-one": ((I4,), OTHER, HAS, KEEP, "10.0.0.2"),
    "a-kubelet-claims-anothers-ipv6": ((external("2001:db8:1::7"), internal("2001:db8:1::7")), {}, {"ipv6": SUBNET},
        KEEP, "2001:db8:1::7"),
    "an-address-in-a-vpn-that-looks-alike": ((I4,), {}, HAS, KEEP, None),
})  # fmt: skip
@pytest.mark.parametrize("joins", [True, False])
def test_addresses_that_two_servers_seem_to_have(
    reported: tuple[NodeAddress, ...],
    server: dict[str, Any],
    other: dict[str, Any],
    settings: Settings,
    contested: str | None,
    joins: bool,
) -> None:
    """They are written to neither Node: one that joins waits, one that is settled stays as it is, and a note names
    both servers."""
    ours: Any = (a_joining_node if joins else a_settled_node)(addresses=(H, E4, *reported))
    network = Present(a_network() if settings is IN_NETWORK else None)
    servers = [a_server(1, **server), a_server(2, "web-2", **other)]
    plan = compute_plan(a_snapshot([ours, a_settled_node("web-2", 2)], servers, network=network), settings)

    kinds = [change.kind for change in plan.changes if change.owner == ours.key]
    notes = [note.text for note in plan.notes if note.key == ours.key and note.kind == "ambiguous"]
    if contested is None:
        assert (notes, joins and kinds) == ([], joins and ["node.initialise"])
    else:
        assert (kinds, len(notes)) == ([], 1)
        assert f" {contested} of server 1 is also that of server 2 of Node web-2" in notes[0]
