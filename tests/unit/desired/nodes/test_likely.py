"""Servers that a Node without one is likely on, and what is told on both Nodes; nothing is joined by that."""

from dataclasses import replace
from ipaddress import IPv4Address, IPv6Network
from typing import Any

import pytest

from desired.model.settings import Settings
from desired.model.snapshot import AddressType, Node, NodeAddress, Readiness, Server
from desired.nodes.likely import ServerFinder, origin_of
from desired.nodes.matching import Matcher, Missed
from desired.nodes.node import desired_nodes
from desired.plan.notes import NoteKind
from desired.section import Section
from desired.syntax.selector import parse_selector
from tests.builders import (
    NOW,
    a_joining_node,
    a_lost_node,
    a_node,
    a_robot_server,
    a_server,
    a_settled_node,
    a_snapshot,
    incomplete,
    nodes_of,
    servers_of,
)
from tests.support.nodes import managed
from tests.support.rows import rows

INSIDE = a_server(2, "prod-w-1", private_ips=((7, IPv4Address("10.0.0.3")),))
TWIN = a_server(3, "other", private_ips=((8, IPv4Address("10.0.0.3")),))
ALIAS = a_server(4, "alias", alias_ips=((7, IPv4Address("10.0.0.9")),))
SIX = a_server(5, "six", ipv4=None, ipv6=IPv6Network("2001:db8:5::/64"))
SILENT = a_lost_node("prod-w-1", 2)
BY_ADDRESS = "server 2 prod-w-1 (by --node-ip 10.0.0.3)"


def internal(*ips: str) -> dict[str, Any]:
    """What a kubelet reports as its InternalIPs."""
    return {"addresses": tuple(NodeAddress(AddressType.INTERNAL_IP, ip) for ip in ips)}


def finder(*servers: Server, nodes: tuple[Node, ...] = ()) -> ServerFinder:
    return ServerFinder(nodes_of(*nodes), [servers_of(*servers)])


@rows("node said", {
    "nothing-fits": (a_joining_node("x"), ""),
    "name": (a_node("prod-w-1"), "server 2 prod-w-1 (by name)"),
    "a-name-in-another-case-joins-nothing": (a_node("Prod-w-1"), ""),
    "node-ip": (a_joining_node("x", provided_node_ip="10.0.0.3"), BY_ADDRESS),
    "reported": (a_joining_node("x", **internal("10.0.0.3")), "server 2 prod-w-1 (by InternalIP 10.0.0.3)"),
    "both-are-one-clue": (a_joining_node("x", provided_node_ip="10.0.0.3", **internal("10.0.0.3")), BY_ADDRESS),
    "public-ipv4": (a_joining_node("x", **internal("203.0.113.2")), "server 2 prod-w-1 (by InternalIP 203.0.113.2)"),
    "a-host-of-the-ipv6-network": (a_joining_node("x", provided_node_ip="2001:db8:5::77"),
        "server 5 six (by --node-ip 2001:db8:5::77)"),
    "of-no-server": (a_joining_node("x", **internal("no address", "::1", "127.0.0.1")), ""),
    "a-hostname-is-no-address": (a_node("x", addresses=(NodeAddress(AddressType.HOSTNAME, "10.0.0.3"),)), ""),
    "bare-number": (a_node("x", provider_id="2"), "server 2 prod-w-1 (by the id in its providerID)"),
    "two-clues-to-two-servers": (a_node("prod-w-1", provider_id="k3s://x", provided_node_ip="10.0.0.9"),
        "server 2 prod-w-1 (by name), server 4 alias (by --node-ip 10.0.0.9)"),
    "another-clouds-private-network-has-the-same-range": (a_node("x", provider_id="aws:///i-1",
        provided_node_ip="10.0.0.3"), ""),
    "its-name": (a_node("prod-w-1", provider_id="aws:///i-1"), "server 2 prod-w-1 (by name)"),
    "thousands-of-addresses-are-not-looked-up": (a_node("x",
        **internal(*(f"10.9.0.{n}" for n in range(200)), "10.0.0.3")), ""),
})  # fmt: skip
def test_clues(node: Node, said: str) -> None:
    """What fits, and as what."""
    assert str(finder(INSIDE, ALIAS, SIX).likely(node) or "") == said


def missed(node: Node, *servers: Server, nodes: tuple[Node, ...] = ()) -> Missed:
    found = Matcher(nodes_of(node, *nodes), servers_of(*servers)).match(node)
    assert isinstance(found, Missed)
    return found


X = a_joining_node("x", provided_node_ip="10.0.0.3")
NOT_READY = a_settled_node("prod-w-1", 2, ready=Readiness.FALSE)


@rows("owner row said", {
    "no-nodes-server": (None, "likely-server", None),
    "of-a-silent-node": (SILENT, "likely-renamed", "silent since 2026-07-01 11:55 UTC"),
    "of-a-node-that-reports": (a_settled_node("prod-w-1", 2), "likely-of-other", "Ready"),
    "of-one-that-says-it-is-not-ready": (NOT_READY, "likely-of-other", "not Ready since 2026-07-01 12:00 UTC"),
})  # fmt: skip
def test_whose_server_it_is(owner: Node | None, row: str, said: str | None) -> None:
    """The Node that has the server is named with what is heard of it; a silent one is told as well."""
    found = missed(X, INSIDE, nodes=() if owner is None else (owner,))
    assert found.likely is not None
    assert (found.why.rule.name, found.why.facts["servers"], found.why.facts.get("heard")) == (row, BY_ADDRESS, said)
    for_owner = found.likely.for_owner
    assert (for_owner is not None) is (owner is SILENT)
    assert for_owner is None or "is likely the machine of Node x (by --node-ip 10.0.0.3)" in for_owner.text


def test_an_address_in_two_networks() -> None:
    """Both servers are named, and no remedy chooses between them."""
    found = missed(X, INSIDE, TWIN, nodes=(SILENT,))
    both = f"{BY_ADDRESS}, server 3 other (by --node-ip 10.0.0.3)"
    assert (found.why.rule.name, found.why.facts["servers"]) == ("likely-servers", both)
    assert found.likely is not None
    assert (found.likely.owner, found.likely.for_owner) == (None, None)
    many = missed(X, INSIDE, TWIN, *(replace(TWIN, id=number) for number in (4, 5, 6)))
    assert str(many.likely).endswith(" and 2 more")


def test_candidates() -> None:
    """Likely servers come first, then those whose names come near; each says why it is not the Node's."""
    near = missed(a_joining_node("prod-w1", provided_node_ip="10.0.0.9"), INSIDE, ALIAS, nodes=(SILENT,)).near
    assert [(each.value.id, each.text) for each in near] == [
        (4, "likely by --node-ip 10.0.0.9"),
        (2, "its name is not the Node's, and the server belongs to Node prod-w-1"),
    ]


def test_the_same_address_in_a_network_of_others() -> None:
    """Where the Nodes' network is known, a private address in another one is nobody's of theirs."""
    for network, server in ((7, INSIDE), (8, TWIN), (9, None)):
        found = ServerFinder(nodes_of(), [servers_of(INSIDE, TWIN)], network).likely(X)
        assert (found.only if found else None) == server


@rows("section", {
    "a-part-of-the-list": incomplete(servers_of(INSIDE)),
    "an-unreadable-server": Section({2: INSIDE}, unreadable={9: "server 9 could not be read"}),
})  # fmt: skip
def test_unknown_is_not_alone(section: Section[int, Server]) -> None:
    """Another server may have the address as well."""
    assert not ServerFinder(nodes_of(), [section]).likely(a_joining_node("x", provided_node_ip="10.0.0.3"))


@rows("node said", {
    "an-address-of-a-network": (a_node("x", provider_id="k3s://x", provided_node_ip="10.0.0.3"), ""),
    "a-public-address": (a_node("x", provider_id="k3s://x", **internal("203.0.113.2")), ""),
    "an-address-of-a-joining-node": (X, ""),
    "name": (a_node("prod-w-1", provider_id="k3s://x", provided_node_ip="10.0.0.9"), "server 2 prod-w-1 (by name)"),
    "id": (a_node("x", provider_id="2"), "server 2 prod-w-1 (by the id in its providerID)"),
})  # fmt: skip
def test_a_list_that_a_selector_narrows(node: Node, said: str) -> None:
    """A server that is left out may fit as well: no address is a clue, no remedy names a server, and no Node of one is
    told to be deleted."""
    narrowed = replace(servers_of(INSIDE), read_by_key=frozenset())
    owner = a_lost_node("old", 2)
    likely = ServerFinder(nodes_of(owner), [narrowed]).likely(node)
    assert str(likely or "") == said
    assert likely is None or (likely.only, likely.owner, likely.for_owner) == (None, None, None)
    _, notes = desired_nodes(replace(a_snapshot([owner, node], [INSIDE]), servers=narrowed), Settings())
    assert {note.key.name for note in notes if note.kind is NoteKind.LIKELY_SERVER} == ({node.name} if said else set())
    assert not any("--provider-id=hcloud" in note.text for note in notes)


def test_a_twin_without_the_label_misleads_no_remedy() -> None:
    """Two clusters with equal ranges in one project, a Node of k3s, and a selector that only one of both servers has:
    the whole list names both, so that the narrowed one must not choose."""
    node = a_node("x", provider_id="k3s://x", provided_node_ip="10.0.0.3")
    whole = a_snapshot([SILENT, node], [INSIDE, TWIN])
    narrowed = replace(whole, servers=replace(servers_of(INSIDE), read_by_key=frozenset()))
    for snapshot, row in ((whole, "likely-server"), (narrowed, "foreign")):
        _, notes = desired_nodes(snapshot, Settings())
        assert [(note.key.name, note.kind.value) for note in notes] == [("x", row)]
        assert "hcloud://" not in notes[0].text


def test_a_robot_server() -> None:
    """Of either provider, by the providerID that it has there."""
    account = servers_of(a_robot_server(321, "metal"))
    found = ServerFinder(nodes_of(), [servers_of(), account]).likely(a_joining_node("x", **internal("192.0.2.65")))
    assert str(found) == "Robot server 321 metal (by InternalIP 192.0.2.65)"


@pytest.mark.parametrize(("provider_id", "who"), [
    ("k3s://cp-1", "the built-in cloud controller of k3s"),
    ("K3S://cp-1", "the built-in cloud controller of k3s"),
    ("rke2://w-1", "the built-in cloud controller of rke2"),
    ("k0s-cloud-provider://w-1", "the built-in cloud provider of k0s"),
    ("talos://metal/10.0.0.3", "the cloud controller of Talos"),
    ("kind://docker/kind/kind-control-plane", "kind"),
    ("3", "the kubelet's --provider-id or an old kubelet, without the prefix hcloud://"),
    ("03", None),
    ("9" * 40, None),
    ("aws:///eu-central-1a/i-1", None),
    ("openstack:///6f3a", None),
    ("k3s", None),
    ("k3sx://a", None),
    ("", None),
])  # fmt: skip
def test_origin(provider_id: str, who: str | None) -> None:
    """Distributions and bare numbers are told from other clouds."""
    found = origin_of(provider_id)
    assert (found.setter if found else None) == who


@rows("provider_id servers row said", {
    "another-cloud": ("aws:///i-1", (), "node-foreign", "belongs to another cloud"),
    "a-server-of-its-name": ("openstack:///6f3a", (a_server(1, "x"),), "node-foreign-likely", "server 1 x (by name)"),
    "a-distribution": ("talos://x", (), "node-set-by", "set by the cloud controller of Talos"),
    "a-number": ("2", (INSIDE,), "node-set-by-likely", "restart its kubelet with --provider-id=hcloud://2"),
    "several-of-its-name": ("k3s://x", (a_server(1, "x"), a_server(2, "x")), "node-set-by-likely",
        "delete the Node and restart its kubelet"),
    "of-its-name": ("k3s://x", (a_server(1, "x"),), "node-set-by-likely", "delete the Node and restart its kubelet"),
})  # fmt: skip
def test_foreign(provider_id: str, servers: tuple[Server, ...], row: str, said: str) -> None:
    """What set the providerID, what fits, and what to do."""
    why = missed(a_node("x", provider_id=provider_id), *servers).why
    assert why.rule.name == row
    assert said in why.text
    assert ("=hcloud://" in why.text) is (provider_id == "2")


def test_both_nodes_are_told() -> None:
    """The joining Node and the silent one, once, however many Nodes have the address; neither changes."""
    joining = [a_joining_node(name, provided_node_ip="10.0.0.3") for name in ("x", "y")]
    snapshot = a_snapshot([SILENT, *joining], [INSIDE])
    desired, notes = desired_nodes(snapshot, Settings())
    kinds = [(note.key.name, note.kind) for note in notes]
    assert kinds == [("x", NoteKind.UNMATCHED), ("y", NoteKind.UNMATCHED), ("prod-w-1", NoteKind.LIKELY_SERVER)]
    assert managed(desired).keys() == {"prod-w-1"}


def test_an_ignored_node_is_not_told() -> None:
    settings = Settings(ignore_nodes=parse_selector("lab"))
    joining = a_joining_node("x", provided_node_ip="10.0.0.3")
    for nodes in (
        [a_lost_node("prod-w-1", 2, labels={"lab": ""}), joining],
        [SILENT, a_joining_node("x", provided_node_ip="10.0.0.3", labels={"lab": ""})],
    ):
        _, notes = desired_nodes(a_snapshot(nodes, [INSIDE]), settings)
        assert NoteKind.LIKELY_SERVER not in {note.kind for note in notes}


def test_a_settled_cluster_is_told_nothing() -> None:
    """Nor a silent Node without another on its server."""
    _, notes = desired_nodes(a_snapshot([SILENT, a_settled_node("web-1", 1)], [INSIDE, a_server()]), Settings())
    assert NoteKind.LIKELY_SERVER not in {note.kind for note in notes}
    assert SILENT.ready is Readiness.UNKNOWN
    assert SILENT.created_at < NOW
