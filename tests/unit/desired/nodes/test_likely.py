"""Servers that a Node without one is likely on, and what is told on both Nodes; nothing is joined by that."""

from ipaddress import IPv4Address, IPv6Network
from typing import Any

import pytest

from desired.model.settings import Settings
from desired.model.snapshot import AddressType, Node, NodeAddress, Readiness, Server
from desired.nodes.desired import desired_nodes
from desired.nodes.likely import ServerFinder, origin_of, why_foreign
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

INSIDE = a_server(2, "prod-w-1", private_ips=((7, IPv4Address("10.0.0.3")),))
TWIN = a_server(3, "other", private_ips=((8, IPv4Address("10.0.0.3")),))
ALIAS = a_server(4, "alias", alias_ips=((7, IPv4Address("10.0.0.9")),))
SIX = a_server(5, "six", ipv4=None, ipv6=IPv6Network("2001:db8:5::/64"))
SILENT = a_lost_node("prod-w-1", 2)
BY_ADDRESS = "its --node-ip 10.0.0.3 is the address of server 2 prod-w-1"


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
        pytest.param(a_node("prod-w-1"), "server 2 has its name", id="name"),
        pytest.param(a_node("Prod-w-1"), "", id="a-name-in-another-case-joins-nothing"),
        pytest.param(a_joining_node("x", provided_node_ip="10.0.0.3"), BY_ADDRESS, id="node-ip"),
        pytest.param(
            a_joining_node("x", **internal("10.0.0.3")),
            "its InternalIP 10.0.0.3 is the address of server 2 prod-w-1",
            id="reported",
        ),
        pytest.param(
            a_joining_node("x", provided_node_ip="10.0.0.3", **internal("10.0.0.3")), BY_ADDRESS, id="both-are-one-clue"
        ),
        pytest.param(
            a_joining_node("x", **internal("10.0.0.9")),
            "its InternalIP 10.0.0.9 is an alias address of server 4 alias",
            id="alias",
        ),
        pytest.param(
            a_joining_node("x", **internal("203.0.113.2")),
            "its InternalIP 203.0.113.2 is the public address of server 2 prod-w-1",
            id="public-ipv4",
        ),
        pytest.param(
            a_joining_node("x", provided_node_ip="2001:db8:5::77"),
            "its --node-ip 2001:db8:5::77 is in the IPv6 network of server 5 six",
            id="a-host-of-the-ipv6-network",
        ),
        pytest.param(a_joining_node("x", provided_node_ip="2001:db8:6::77"), "", id="of-another-ipv6-network"),
        pytest.param(a_joining_node("x", provided_node_ip="no address"), "", id="unusable-node-ip"),
        pytest.param(a_joining_node("x", **internal("no address", "::1", "127.0.0.1")), "", id="of-no-server"),
        pytest.param(
            a_node("x", addresses=(NodeAddress(AddressType.HOSTNAME, "10.0.0.3"),)), "", id="a-hostname-is-no-address"
        ),
        pytest.param(a_node("x", provider_id="2"), "server 2 prod-w-1 has the id in its providerID", id="bare-number"),
        pytest.param(a_node("x", provider_id="99"), "", id="bare-number-of-no-server"),
        pytest.param(
            a_node("prod-w-1", provider_id="k3s://x", provided_node_ip="10.0.0.9"),
            "server 2 has its name and its --node-ip 10.0.0.9 is an alias address of server 4 alias",
            id="two-clues-to-two-servers",
        ),
        pytest.param(
            a_node("x", provider_id="aws:///i-1", provided_node_ip="10.0.0.3"),
            "",
            id="another-clouds-private-network-has-the-same-range",
        ),
        pytest.param(a_node("prod-w-1", provider_id="aws:///i-1"), "server 2 has its name", id="another-clouds-name"),
        pytest.param(
            a_node("x", **internal(*(f"10.9.0.{n}" for n in range(200)), "10.0.0.3")),
            "",
            id="thousands-of-addresses-are-not-looked-up",
        ),
    ],
)
def test_clues(node: Node, said: str) -> None:
    """What fits, and as what."""
    assert finder(INSIDE, ALIAS, SIX).likely(node).said == said


@pytest.mark.parametrize(
    ("owner", "heard", "remedy", "told"),
    [
        pytest.param(
            None,
            "",
            "give the machine the host name prod-w-1, or delete the Node and start the kubelet with"
            " --provider-id=hcloud://2",
            "",
            id="no-nodes-server",
        ),
        pytest.param(
            SILENT,
            ", and that is the server of Node prod-w-1, silent since 01 Jul 11:55 UTC",
            "the machine seems to have another host name now; give it back, or delete Node prod-w-1 and start the"
            " kubelet with --provider-id=hcloud://2, which counts once this Node is deleted too",
            "silent since 01 Jul 11:55 UTC, and Node x's --node-ip 10.0.0.3 is the address of server 2 prod-w-1, the"
            " server of this Node: the machine seems to have another host name now; give it back, or delete both Nodes"
            " and start the kubelet with --provider-id=hcloud://2",
            id="of-a-silent-node",
        ),
        pytest.param(
            a_settled_node("prod-w-1", 2),
            ", and that is the server of Node prod-w-1, which reports Ready",
            "correct the kubelet's --node-ip, or delete the Node of the two that is stale",
            "",
            id="of-a-node-that-reports",
        ),
        pytest.param(
            a_settled_node("prod-w-1", 2, ready=Readiness.FALSE),
            ", and that is the server of Node prod-w-1, not Ready since 01 Jul 12:00 UTC",
            "correct the kubelet's --node-ip, or delete the Node of the two that is stale",
            "",
            id="of-a-node-that-says-it-is-not-ready",
        ),
    ],
)
def test_whose_server_it_is(owner: Node | None, heard: str, remedy: str, told: str) -> None:
    """The Node that has the server is named with what is heard of it; a silent one is told as well."""
    nodes = () if owner is None else (owner,)
    found = finder(INSIDE, nodes=nodes).likely(a_joining_node("x", provided_node_ip="10.0.0.3"))
    assert (found.said, found.remedy, found.told_to_owner) == (BY_ADDRESS + heard, remedy, told)


def test_an_address_in_two_networks() -> None:
    """Both servers are named, and no remedy chooses between them."""
    found = finder(INSIDE, TWIN, nodes=(SILENT,)).likely(a_joining_node("x", provided_node_ip="10.0.0.3"))
    assert found.said == f"{BY_ADDRESS} and its --node-ip 10.0.0.3 is the address of server 3 other"
    assert found.remedy == "delete the Node and start the kubelet with the --provider-id of the right one"
    assert (found.owner, found.told_to_owner) == (None, "")


def test_the_same_address_in_a_network_of_others() -> None:
    """Where the Nodes' network is known, a private address in another one is nobody's of theirs."""
    joining = a_joining_node("x", provided_node_ip="10.0.0.3")
    for network, found in ((7, [INSIDE]), (8, [TWIN]), (9, [])):
        section = [servers_of(INSIDE, TWIN)]
        assert list(ServerFinder(nodes_of(), section, network).likely(joining).servers) == found


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
    assert found.said == "its InternalIP 192.0.2.65 is the public address of Robot server 321 metal"
    assert found.remedy.endswith("--provider-id=hrobot://321")


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
    assert (found.who if found else None) == who


@pytest.mark.parametrize(
    ("provider_id", "servers", "why", "way_out"),
    [
        pytest.param("aws:///i-1", (), "providerID 'aws:///i-1' belongs to another cloud", "", id="another-cloud"),
        pytest.param(
            "openstack:///6f3a",
            (a_server(1, "x"),),
            "providerID 'openstack:///6f3a' belongs to another cloud; server 1 has its name",
            "if the Node is that server: start the kubelet with --cloud-provider=external, delete the Node and restart"
            " its kubelet",
            id="another-cloud-and-a-server-of-its-name",
        ),
        pytest.param(
            "talos://x",
            (),
            "providerID 'talos://x' was set by the cloud controller of Talos",
            "to have the Node managed: uninstall it, and set cloud-provider: external in the extraArgs of"
            " machine.kubelet, delete the Node and restart its kubelet",
            id="a-distribution-without-a-server-that-fits",
        ),
        pytest.param(
            "2",
            (INSIDE,),
            "providerID '2' was set by the kubelet's --provider-id or an old kubelet, without the prefix hcloud://;"
            " server 2 prod-w-1 has the id in its providerID",
            "to have the Node managed: start the kubelet with --cloud-provider=external, delete the Node and restart"
            " its kubelet with --provider-id=hcloud://2",
            id="a-number-whose-server-has-another-name",
        ),
    ],
)
def test_why_foreign(provider_id: str, servers: tuple[Server, ...], why: str, way_out: str) -> None:
    """What set the providerID, what fits, and what to do."""
    node = a_node("x", provider_id=provider_id)
    assert why_foreign(provider_id, finder(*servers).likely(node)) == (why, way_out)


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
    assert desired.keys() == {"prod-w-1"}


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
    assert note.text.startswith("providerID 'talos://metal/1' was set by the cloud controller of Talos; left alone; to")


def test_a_settled_cluster_is_told_nothing() -> None:
    """Nor a silent Node without another on its server."""
    _, notes = desired_nodes(a_snapshot([SILENT, a_settled_node("web-1", 1)], [INSIDE, a_server()]), Settings())
    assert NoteKind.LIKELY_SERVER not in {note.kind for note in notes}
    assert SILENT.ready is Readiness.UNKNOWN
    assert SILENT.created_at < NOW
