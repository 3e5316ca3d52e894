"""Servers that a Node without one is likely on, and what is told on both Nodes; nothing is joined by that."""

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
    """Over these servers of Hetzner Cloud."""
    return ServerFinder(nodes_of(*nodes), [servers_of(*servers)])


@pytest.mark.parametrize(
    ("node", "said"),
    [
        pytest.param(a_joining_node("x"), "", id="nothing-fits"),
        pytest.param(a_node("prod-w-1"), "server 2 prod-w-1 (by name)", id="name"),
        pytest.param(a_node("Prod-w-1"), "", id="a-name-in-another-case-joins-nothing"),
        pytest.param(a_joining_node("x", provided_node_ip="10.0.0.3"), BY_ADDRESS, id="node-ip"),
        pytest.param(
            a_joining_node("x", **internal("10.0.0.3")),
            "server 2 prod-w-1 (by InternalIP 10.0.0.3)",
            id="reported",
        ),
        pytest.param(
            a_joining_node("x", provided_node_ip="10.0.0.3", **internal("10.0.0.3")), BY_ADDRESS, id="both-are-one-clue"
        ),
        pytest.param(
            a_joining_node("x", **internal("10.0.0.9")),
            "server 4 alias (by InternalIP 10.0.0.9)",
            id="alias",
        ),
        pytest.param(
            a_joining_node("x", **internal("203.0.113.2")),
            "server 2 prod-w-1 (by InternalIP 203.0.113.2)",
            id="public-ipv4",
        ),
        pytest.param(
            a_joining_node("x", provided_node_ip="2001:db8:5::77"),
            "server 5 six (by --node-ip 2001:db8:5::77)",
            id="a-host-of-the-ipv6-network",
        ),
        pytest.param(a_joining_node("x", provided_node_ip="2001:db8:6::77"), "", id="of-another-ipv6-network"),
        pytest.param(a_joining_node("x", provided_node_ip="no address"), "", id="unusable-node-ip"),
        pytest.param(a_joining_node("x", **internal("no address", "::1", "127.0.0.1")), "", id="of-no-server"),
        pytest.param(
            a_node("x", addresses=(NodeAddress(AddressType.HOSTNAME, "10.0.0.3"),)), "", id="a-hostname-is-no-address"
        ),
        pytest.param(a_node("x", provider_id="2"), "server 2 prod-w-1 (by the id in its providerID)", id="bare-number"),
        pytest.param(a_node("x", provider_id="99"), "", id="bare-number-of-no-server"),
        pytest.param(
            a_node("prod-w-1", provider_id="k3s://x", provided_node_ip="10.0.0.9"),
            "server 2 prod-w-1 (by name), server 4 alias (by --node-ip 10.0.0.9)",
            id="two-clues-to-two-servers",
        ),
        pytest.param(
            a_node("x", provider_id="aws:///i-1", provided_node_ip="10.0.0.3"),
            "",
            id="another-clouds-private-network-has-the-same-range",
        ),
        pytest.param(a_node("prod-w-1", provider_id="aws:///i-1"), "server 2 prod-w-1 (by name)", id="its-name"),
        pytest.param(
            a_node("x", **internal(*(f"10.9.0.{n}" for n in range(200)), "10.0.0.3")),
            "",
            id="thousands-of-addresses-are-not-looked-up",
        ),
    ],
)
def test_clues(node: Node, said: str) -> None:
    """What fits, and as what."""
    assert str(finder(INSIDE, ALIAS, SIX).likely(node) or "") == said


def missed(node: Node, *servers: Server, nodes: tuple[Node, ...] = ()) -> Missed:
    """What is said of a Node without a server."""
    found = Matcher(nodes_of(node, *nodes), servers_of(*servers)).match(node)
    assert isinstance(found, Missed)
    return found


X = a_joining_node("x", provided_node_ip="10.0.0.3")
UNNAMED = f"no server of the project is named 'x', and the Node is likely {BY_ADDRESS}"


@pytest.mark.parametrize(
    ("owner", "said", "told"),
    [
        pytest.param(
            None,
            "; give the machine the host name prod-w-1, or delete the Node and start the kubelet with"
            " --provider-id=hcloud://2",
            None,
            id="no-nodes-server",
        ),
        pytest.param(
            SILENT,
            ", the server of Node prod-w-1 (silent since 01 Jul 11:55 UTC); give the machine its former host name, or"
            " delete both Nodes and start the kubelet with --provider-id=hcloud://2",
            "server 2 prod-w-1 is likely the machine of Node x (by --node-ip 10.0.0.3), and this Node is silent since"
            " 01 Jul 11:55 UTC; give the machine its former host name, or delete both Nodes and start the kubelet with"
            " --provider-id=hcloud://2",
            id="of-a-silent-node",
        ),
        pytest.param(
            a_settled_node("prod-w-1", 2),
            ", the server of Node prod-w-1 (Ready); correct the kubelet's --node-ip, or delete the Node of the two that"
            " is stale",
            None,
            id="of-a-node-that-reports",
        ),
        pytest.param(
            a_settled_node("prod-w-1", 2, ready=Readiness.FALSE),
            ", the server of Node prod-w-1 (not Ready since 01 Jul 12:00 UTC); correct the kubelet's --node-ip, or"
            " delete the Node of the two that is stale",
            None,
            id="of-a-node-that-says-it-is-not-ready",
        ),
    ],
)
def test_whose_server_it_is(owner: Node | None, said: str, told: str | None) -> None:
    """The Node that has the server is named with what is heard of it; a silent one is told as well."""
    found = missed(X, INSIDE, nodes=() if owner is None else (owner,))
    assert found.likely is not None
    for_owner = found.likely.for_owner
    assert (found.why.text, for_owner.text if for_owner else None) == (UNNAMED + said, told)


def test_an_address_in_two_networks() -> None:
    """Both servers are named, and no remedy chooses between them."""
    found = missed(X, INSIDE, TWIN, nodes=(SILENT,))
    assert found.why.text == (
        f"no server of the project is named 'x', and the Node is likely one of {BY_ADDRESS}, server 3 other (by"
        " --node-ip 10.0.0.3); delete the Node and start the kubelet with the --provider-id of the right one"
    )
    assert found.likely is not None
    assert (found.likely.owner, found.likely.for_owner) == (None, None)


def test_candidates() -> None:
    """Likely servers come first, then those whose names come near; each says why it is not the Node's."""
    near = missed(a_joining_node("prod-w1", provided_node_ip="10.0.0.9"), INSIDE, ALIAS, nodes=(SILENT,)).near
    assert [(each.value.id, each.text) for each in near] == [
        (4, "likely by --node-ip 10.0.0.9"),
        (2, "its name is not the Node's, and it is the server of Node prod-w-1"),
    ]


def test_the_same_address_in_a_network_of_others() -> None:
    """Where the Nodes' network is known, a private address in another one is nobody's of theirs."""
    for network, server in ((7, INSIDE), (8, TWIN), (9, None)):
        found = ServerFinder(nodes_of(), [servers_of(INSIDE, TWIN)], network).likely(X)
        assert (found.only if found else None) == server


@pytest.mark.parametrize(
    "section",
    [
        pytest.param(incomplete(servers_of(INSIDE)), id="a-part-of-the-list"),
        pytest.param(Section({2: INSIDE}, unreadable={9: "server 9 could not be read"}), id="an-unreadable-server"),
    ],
)
def test_unknown_is_not_alone(section: Section[int, Server]) -> None:
    """Another server may have the address as well."""
    assert not ServerFinder(nodes_of(), [section]).likely(a_joining_node("x", provided_node_ip="10.0.0.3"))


def test_a_robot_server() -> None:
    """Of either provider, by the providerID that it has there."""
    account = servers_of(a_robot_server(321, "metal"))
    found = ServerFinder(nodes_of(), [servers_of(), account]).likely(a_joining_node("x", **internal("192.0.2.65")))
    assert str(found) == "Robot server 321 metal (by InternalIP 192.0.2.65)"


@pytest.mark.parametrize(
    ("provider_id", "who"),
    [
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
    ],
)
def test_origin(provider_id: str, who: str | None) -> None:
    """Distributions and bare numbers are told from other clouds."""
    found = origin_of(provider_id)
    assert (found.setter if found else None) == who


MANAGE = "to have the Node managed"


@pytest.mark.parametrize(
    ("provider_id", "servers", "text"),
    [
        pytest.param("aws:///i-1", (), "providerID 'aws:///i-1' belongs to another cloud", id="another-cloud"),
        pytest.param(
            "openstack:///6f3a",
            (a_server(1, "x"),),
            "providerID 'openstack:///6f3a' belongs to another cloud, and the Node is likely server 1 x (by name);"
            f" {MANAGE}, start the kubelet with --cloud-provider=external, delete the Node and restart its kubelet",
            id="another-cloud-and-a-server-of-its-name",
        ),
        pytest.param(
            "talos://x",
            (),
            f"providerID 'talos://x' was set by the cloud controller of Talos; {MANAGE}, uninstall it, and set"
            " cloud-provider: external in the extraArgs of machine.kubelet, delete the Node and restart its kubelet",
            id="a-distribution-without-a-server-that-fits",
        ),
        pytest.param(
            "2",
            (INSIDE,),
            "providerID '2' was set by the kubelet's --provider-id or an old kubelet, without the prefix hcloud://, and"
            f" the Node is likely server 2 prod-w-1 (by the id in its providerID); {MANAGE}, start the kubelet with"
            " --cloud-provider=external, delete the Node and restart its kubelet with --provider-id=hcloud://2",
            id="a-number-whose-server-has-another-name",
        ),
    ],
)
def test_foreign(provider_id: str, servers: tuple[Server, ...], text: str) -> None:
    """What set the providerID, what fits, and what to do."""
    assert missed(a_node("x", provider_id=provider_id), *servers).why.text == text


def test_both_nodes_are_told() -> None:
    """The joining Node and the silent one, once, however many Nodes have the address; neither changes."""
    joining = [a_joining_node(name, provided_node_ip="10.0.0.3") for name in ("x", "y")]
    snapshot = a_snapshot([SILENT, *joining], [INSIDE])

    desired, notes = desired_nodes(snapshot, Settings())

    kinds = [(note.key.name, note.kind) for note in notes]
    assert kinds == [
        ("x", NoteKind.UNMATCHED),
        ("y", NoteKind.UNMATCHED),
        ("prod-w-1", NoteKind.LIKELY_SERVER),
    ]
    assert managed(desired).keys() == {"prod-w-1"}


def test_an_ignored_node_is_not_told() -> None:
    """Nor does an ignored Node tell of others."""
    settings = Settings(ignore_nodes=parse_selector("lab"))
    joining = a_joining_node("x", provided_node_ip="10.0.0.3")
    for nodes in (
        [a_lost_node("prod-w-1", 2, labels={"lab": ""}), joining],
        [SILENT, a_joining_node("x", provided_node_ip="10.0.0.3", labels={"lab": ""})],
    ):
        _, notes = desired_nodes(a_snapshot(nodes, [INSIDE]), settings)
        assert NoteKind.LIKELY_SERVER not in {note.kind for note in notes}


def test_a_node_elsewhere_is_foreign() -> None:
    """A distribution's Node of which no server has anything is told what set its providerID, and has no Event."""
    _, (note,) = desired_nodes(a_snapshot([a_node("edge", provider_id="talos://metal/1")], [INSIDE]), Settings())
    assert note.kind is NoteKind.FOREIGN
    assert note.text.startswith("providerID 'talos://metal/1' was set by the cloud controller of Talos; to")


def test_a_settled_cluster_is_told_nothing() -> None:
    """Nor a silent Node without another on its server."""
    _, notes = desired_nodes(a_snapshot([SILENT, a_settled_node("web-1", 1)], [INSIDE, a_server()]), Settings())
    assert NoteKind.LIKELY_SERVER not in {note.kind for note in notes}
    assert SILENT.ready is Readiness.UNKNOWN
    assert SILENT.created_at < NOW
