"""Where the pods of each Node are: behind the server of its providerID."""

from dataclasses import replace
from ipaddress import IPv4Address, IPv4Network, IPv6Network
from typing import Any

from desired.model.settings import Controller, Settings
from desired.model.snapshot import Node, Server, Snapshot
from desired.routes.endpoints import (
    NodeEndpoint,
    covering,
    destinations_of,
    ipv6_cidrs_of,
    malformed_of,
    parse_pod_cidr,
)
from desired.syntax.selector import parse_selector
from tests.builders import UNINITIALIZED, a_joining_node, a_lost_node, a_node, a_settled_node, incomplete, servers_of
from tests.routes import ROUTING, a_pod_node, a_pod_server, a_routed_world, gateway_of, pods_of
from tests.support.route_decisions import routing
from tests.support.rows import rows

JOINING = a_joining_node(pod_cidrs=(pods_of(),))
LOST = replace(a_lost_node(), pod_cidrs=(pods_of(),))
SPARED = replace(ROUTING, ignore_nodes=parse_selector("example.com/spare"))


def place_of(snapshot: Snapshot, settings: Settings = ROUTING, name: str = "web-1") -> NodeEndpoint:
    return next(endpoint for endpoint in routing(snapshot, settings).endpoints if endpoint.node.name == name)


def ips(*texts: str) -> tuple[IPv4Address, ...]:
    return tuple(map(IPv4Address, texts))


@rows("server reach addresses aliases", {
    "renamed": (a_pod_server(name="renamed"), "reached", ["10.0.0.2"], []),
    "attached-twice": (a_pod_server(1, "10.0.0.2", "10.0.0.3"), "reached", ["10.0.0.2", "10.0.0.3"], []),
    "with-aliases": (a_pod_server(aliases=["10.0.0.8", "10.0.0.9"]), "reached", ["10.0.0.2"], ["10.0.0.8", "10.0.0.9"]),
    "attached-to-two-networks": (a_pod_server(private_ips=((7, IPv4Address("10.7.0.2")), (4, IPv4Address("10.0.0.2")))),
        "reached", ["10.0.0.2"], []),
    "not-attached": (a_pod_server(private_ips=()), "unattached", [], []),
    "attached-elsewhere": (a_pod_server(network_id=7), "unattached", [], []),
})  # fmt: skip
def test_servers(server: Server, reach: str, addresses: list[str], aliases: list[str]) -> None:
    """The server of the providerID decides, whatever its name is; other networks have no say."""
    found = place_of(a_routed_world(servers=[server], routes=[]))
    assert (found.reach, found.server_id, found.joins) == (reach, 1, False)
    assert (found.addresses, found.aliases) == (ips(*addresses), ips(*aliases))
    assert found.decided.rule.name == ("node-reached" if reach == "reached" else "unattached")


ADDRESSLESS = [a_pod_server(missing=frozenset({"private_net"}))]
UNREAD = {"servers_section": replace(servers_of(), unreadable={1: "no name"})}


@rows("node world expected server_id", {
    "addresses-unknown": (a_pod_node(), {"servers": ADDRESSLESS}, "waiting private-addresses-unknown", 1),
    "a-gap": (a_pod_node(), {"servers_section": incomplete(servers_of(), "429")}, "waiting node-unknown", 1),
    "server-unreadable": (a_pod_node(), UNREAD, "waiting node-unknown", 1),
    "ready-and-gone": (a_pod_node(), {"servers": []}, "waiting node-gone", 1),
    "gone": (LOST, {"servers": []}, "gone node-gone", 1),
    "another-cloud": (a_pod_node(provider_id="aws://1"), {}, "elsewhere node-elsewhere", None),
    "ignored": (a_pod_node(labels={"example.com/spare": ""}), {}, "ignored node-routes-ignored", 1),
})  # fmt: skip
def test_nodes(node: Node, world: dict[str, Any], expected: str, server_id: int | None) -> None:
    """What is not known is not absent, and a Node whose kubelet reports has a server, whatever the list says."""
    found = place_of(a_routed_world([node], **{"servers": [a_pod_server()], "routes": []} | world), SPARED)
    assert (f"{found.reach} {found.decided.rule.name}", found.server_id, found.addresses) == (expected, server_id, ())


BY_ID, ALONE = replace(JOINING, provider_id="hcloud://1"), replace(ROUTING, controllers=frozenset({Controller.ROUTE}))
AGAIN, NO_IP = a_settled_node(taints=(UNINITIALIZED,)), replace(JOINING, provided_node_ip="10.9.9.9")


@rows("node server settings reach joins", {
    "by-its-name": (JOINING, a_pod_server(), ROUTING, "reached", True),
    "by-its-provider-id": (BY_ID, a_pod_server(name="other"), ROUTING, "reached", True),
    "not-attached-yet": (JOINING, a_pod_server(private_ips=()), ROUTING, "waiting", True),
    "addresses-unknown": (JOINING, *ADDRESSLESS, ROUTING, "waiting", False),
    "cannot-be-initialized": (NO_IP, a_pod_server(), ROUTING, "waiting", False),
    "another-client-initializes-it": (BY_ID, a_pod_server(), ALONE, "waiting", False),
    "joins-again": (AGAIN, a_pod_server(), ROUTING, "reached", True),
})  # fmt: skip
def test_joining_nodes(node: Node, server: Server | None, settings: Settings, reach: str, joins: bool) -> None:
    """A Node that joins is placed by the server that it will have; what is missing so far is no trouble yet."""
    found = place_of(a_routed_world([node], [server] if server else [], []), settings)
    assert (found.reach, found.joins) == (reach, joins)
    assert found.addresses == (ips(gateway_of(1)) if reach == "reached" else ())


V4, V6 = "10.244.1.0/24", "fd00:1::/64"


@rows("text expected", {
    "ipv4": (V4, IPv4Network(V4)),
    "ipv6": (V6, IPv6Network(V6)),
    "bits-of-hosts": ("10.244.1.5/24", IPv4Network(V4)),
    "everything": ("0.0.0.0/0", IPv4Network("0.0.0.0/0")),
    "an-octet-that-may-be-octal": ("10.244.01.0/24", None),
    "two-at-once": (f"{V4},{V6}", None),
    "blanks": (f" {V4}", None),
    "empty": ("", None),
})  # fmt: skip
def test_parsing(text: str, expected: IPv4Network | IPv6Network | None) -> None:
    """A range of either family is read, and what is none is said to be none."""
    assert parse_pod_cidr(text) == expected


@rows("pod_cidrs ipv4 ipv6 malformed", {
    "none": ((), (), (), ()),
    "dual-stack": ((V4, V6), (V4,), (V6,), ()),
    "dual-stack-ipv6-first": ((V6, V4), (V4,), (V6,), ()),
    "one-twice-by-other-words": ((V4, "10.244.1.7/24"), (V4,), (), ()),
    "beside-what-is-none": (("x", V4), (V4,), (), ("x",)),
})  # fmt: skip
def test_ranges_of_a_node(
    pod_cidrs: tuple[str, ...], ipv4: tuple[str, ...], ipv6: tuple[str, ...], malformed: tuple[str, ...]
) -> None:
    """Only IPv4 ranges need routes; the others are told apart from what is no range at all."""
    node = a_node(pod_cidrs=pod_cidrs)
    assert destinations_of(node) == tuple(map(IPv4Network, ipv4))
    assert ipv6_cidrs_of(node) == tuple(map(IPv6Network, ipv6))
    assert malformed_of(node) == malformed


@rows("ranges span", {
    "no-nodes": ([], None),
    "no-ipv4-at-all": ([V6, "x"], None),
    "neighbours-across-a-boundary": (["10.244.1.0/24", "10.244.2.0/24"], "10.244.0.0/22"),
    "of-two-sizes": (["10.244.0.0/25", "10.244.1.0/24", V6], "10.244.0.0/23"),
    "one-inside-another": (["10.0.0.0/8", V4], "10.0.0.0/8"),
})  # fmt: skip
def test_ranges_of_all_nodes(ranges: list[str], span: str | None) -> None:
    """The smallest range around them all."""
    nodes = [a_pod_node(number, text) for number, text in enumerate(ranges, 1)]
    assert covering(nodes) == (None if span is None else IPv4Network(span))
