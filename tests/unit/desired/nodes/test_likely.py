"""The server that a Node without one is likely on, by name or address, with its silent Node; nothing is joined."""

from dataclasses import replace
from ipaddress import IPv4Address
from typing import Any

import pytest

from desired.model.settings import Settings
from desired.model.snapshot import AddressType, Node, NodeAddress, RobotAccount, Server
from desired.nodes.matching import Matcher, Missed
from desired.nodes.node import desired_nodes
from desired.plan.notes import NoteKind
from desired.section import Present, Section
from tests.builders import (
    a_joining_node,
    a_lost_node,
    a_network,
    a_node,
    a_robot_server,
    a_server,
    a_settled_node,
    a_snapshot,
    incomplete,
    servers_of,
)
from tests.support.nodes import managed
from tests.support.rows import rows

INSIDE = a_server(2, "prod-w-1", private_ips=((7, IPv4Address("10.0.0.3")),))
TWIN = a_server(3, "other", private_ips=((8, IPv4Address("10.0.0.3")),))
ALIAS = a_server(4, "alias", alias_ips=((7, IPv4Address("10.0.0.9")),))
SILENT = a_lost_node("prod-w-1", 2)
BY_ADDRESS = "server 2 prod-w-1 (by address 10.0.0.3)"
X = a_joining_node("x", provided_node_ip="10.0.0.3")


def internal(*ips: str) -> dict[str, Any]:
    """What a kubelet reports as its InternalIPs."""
    return {"addresses": tuple(NodeAddress(AddressType.INTERNAL_IP, ip) for ip in ips)}


def missed(
    node: Node,
    servers: Section[int, Server],
    *others: Node,
    robot: RobotAccount | None = None,
    network: int | None = None,
) -> Missed:
    known = Present(None if network is None else a_network(network))
    matcher = Matcher(a_snapshot([node, *others], servers_section=servers, robot=robot, network=known))
    found = matcher.match(node) if node.taints or node.provider_id is not None else matcher.unclaimed(node)
    assert isinstance(found, Missed)
    return found


def likely(found: Missed) -> object:
    """The server that is told, as it is told; "" for none."""
    return found.why.facts.get("server", "")


@rows("node said", {
    "nothing-fits": (a_joining_node("x"), ""),
    "name": (a_node("prod-w-1"), "server 2 prod-w-1 (by name)"),
    "a-name-in-another-case-joins-nothing": (a_node("Prod-w-1"), ""),
    "one-of-two-node-ips": (a_joining_node("x", provided_node_ip="2001:db8::1,10.0.0.3"), BY_ADDRESS),
    "reported": (a_joining_node("x", **internal("no address", "127.0.0.1", "10.0.0.3")), BY_ADDRESS),
    "alias": (a_joining_node("x", provided_node_ip="10.0.0.9"), "server 4 alias (by address 10.0.0.9)"),
    "two-addresses-of-two-servers": (a_joining_node("x", **internal("10.0.0.3", "10.0.0.9")), ""),
    "a-name-comes-before-addresses": (a_node("prod-w-1", provider_id="k3s://x", provided_node_ip="10.0.0.9"),
        "server 2 prod-w-1 (by name)"),
    "another-clouds-private-network-has-the-same-range": (a_node("x", provider_id="aws:///i-1",
        provided_node_ip="10.0.0.3"), ""),
    "a-public-address-of-another-clouds-node": (a_node("x", provider_id="aws:///i-1", **internal("203.0.113.2")),
        "server 2 prod-w-1 (by address 203.0.113.2)"),
})  # fmt: skip
def test_clues(node: Node, said: str) -> None:
    """A name, else an address, finds one server."""
    assert likely(missed(node, servers_of(INSIDE, ALIAS))) == said


@rows("owner row said", {
    "no-nodes-server": (None, "likely-server", BY_ADDRESS),
    "of-a-silent-node": (SILENT, "likely-renamed",
        f"{BY_ADDRESS}, the server of Node prod-w-1 (silent since 2026-07-01 11:55 UTC)"),
    "of-a-node-that-reports": (a_settled_node("prod-w-1", 2), "no-server-of-name", ""),
})  # fmt: skip
def test_the_node_of_a_likely_server(owner: Node | None, row: str, said: str) -> None:
    """A silent Node is told with its server; a server whose kubelet reports is no other Node's."""
    found = missed(X, servers_of(INSIDE), *([] if owner is None else [owner]))
    assert (found.why.rule.name, likely(found)) == (row, said)


def test_an_address_in_two_networks() -> None:
    """An address of two servers finds neither; the Nodes' network chooses if it is known."""
    for network, said in ((None, ""), (7, BY_ADDRESS), (8, "server 3 other (by address 10.0.0.3)"), (9, "")):
        assert likely(missed(X, servers_of(INSIDE, TWIN), network=network)) == said


def test_candidates() -> None:
    """The likely server comes first, then those whose names come near; each says why it is not the Node's."""
    node = a_joining_node("prod-w1", provided_node_ip="10.0.0.9")
    assert [(each.value.id, each.text) for each in missed(node, servers_of(INSIDE, ALIAS), SILENT).near] == [
        (4, "likely by address 10.0.0.9"),
        (2, "its name is not the Node's, and the server belongs to Node prod-w-1"),
    ]


@rows("section", {
    "a-part-of-the-list": incomplete(servers_of(INSIDE)),
    "an-unreadable-server": Section({2: INSIDE}, unreadable={9: "server 9 could not be read"}),
})  # fmt: skip
def test_unknown_is_not_alone(section: Section[int, Server]) -> None:
    """Another server may have the name or address as well."""
    assert not likely(missed(a_node("prod-w-1", provided_node_ip="10.0.0.3"), section))


@rows("node said", {
    "an-address": (a_node("x", provider_id="k3s://x", provided_node_ip="10.0.0.3"), ""),
    "an-address-of-a-joining-node": (X, ""),
    "a-public-address": (a_node("x", provider_id="k3s://x", **internal("203.0.113.2")),
        "server 2 prod-w-1 (by address 203.0.113.2)"),
    "name": (a_node("prod-w-1", provider_id="k3s://x", provided_node_ip="10.0.0.9"), "server 2 prod-w-1 (by name)"),
})  # fmt: skip
def test_a_list_that_a_selector_narrows(node: Node, said: str) -> None:
    """A server that is left out may have a private address as well; names and public addresses are unique."""
    assert likely(missed(node, replace(servers_of(INSIDE), read_by_key=frozenset()))) == said


def test_a_robot_server() -> None:
    """The server is of either provider."""
    account = RobotAccount(servers_of(a_robot_server(321, "metal")))
    found = missed(a_joining_node("x", **internal("192.0.2.65")), servers_of(), robot=account)
    assert likely(found) == "Robot server 321 metal (by address 192.0.2.65)"


@pytest.mark.parametrize(("provider_id", "who"), [
    ("k3s://cp-1", "was set by the built-in cloud controller of k3s"),
    ("3", "was set by the kubelet's --provider-id or an old kubelet, without the prefix hcloud://"),
    ("aws:///eu-central-1a/i-1", "belongs to another cloud"),
    ("k3sx://a", "belongs to another cloud"),
])  # fmt: skip
def test_origin(provider_id: str, who: str) -> None:
    """Distributions and bare numbers are told from other clouds."""
    assert missed(a_node("x", provider_id=provider_id), servers_of()).why.text.startswith(
        f"providerID {provider_id!r} {who}"
    )


@rows("provider_id node_ip servers row said", {
    "a-server-of-its-name": ("openstack:///6f3a", None, (a_server(1, "x"),), "node-foreign-likely",
        "delete the Node and restart its kubelet"),
    "a-distribution": ("k3s://x", None, (), "node-set-by", "start the k3s servers with --disable-cloud-controller"),
    "by-address": ("2", "10.0.0.3", (INSIDE,), "node-set-by-likely", "its kubelet with --provider-id=hcloud://2"),
    "several-of-its-name": ("k3s://x", None, (a_server(1, "x"), a_server(2, "x")), "node-set-by",
        "delete the Node and restart its kubelet"),
    "of-its-name": ("k3s://x", None, (a_server(1, "x"),), "node-set-by-likely",
        "delete the Node and restart its kubelet"),
})  # fmt: skip
def test_foreign(provider_id: str, node_ip: str | None, servers: tuple[Server, ...], row: str, said: str) -> None:
    """The note has the setter, the likely server and the way out."""
    why = missed(a_node("x", provider_id=provider_id, provided_node_ip=node_ip), servers_of(*servers)).why
    assert (why.rule.name, said in why.text) == (row, True)


def test_nothing_changes_by_a_clue() -> None:
    """Each joining Node is told, and neither Node changes."""
    joining = [a_joining_node(name, provided_node_ip="10.0.0.3") for name in ("x", "y")]
    desired, notes = desired_nodes(a_snapshot([SILENT, *joining], [INSIDE]), Settings())
    assert [(note.key.name, note.kind) for note in notes] == [(name, NoteKind.UNMATCHED) for name in ("x", "y")]
    assert managed(desired).keys() == {"prod-w-1"}
