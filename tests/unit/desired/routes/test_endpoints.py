"""Where the pods of each Node are: behind the server of its providerID."""

from dataclasses import replace
from ipaddress import IPv4Address
from typing import Any

import pytest

from desired.model.settings import Controller, Settings
from desired.model.snapshot import Node, Readiness, Server, Snapshot
from desired.routes.endpoints import NodeEndpoint, Reach
from desired.syntax.selector import parse_selector
from tests.builders import UNINITIALIZED, a_joining_node, a_lost_node, a_settled_node, incomplete, servers_of
from tests.routes import ROUTING, a_pod_node, a_pod_server, a_routed_world, gateway_of, pods_of
from tests.support.route_decisions import routing

JOINING = a_joining_node(pod_cidrs=(pods_of(),))
LOST = replace(a_lost_node(), pod_cidrs=(pods_of(),))
SPARED = replace(ROUTING, ignore_nodes=parse_selector("example.com/spare"))


def place_of(snapshot: Snapshot, settings: Settings = ROUTING, name: str = "web-1") -> NodeEndpoint:
    """The place of one Node."""
    return next(endpoint for endpoint in routing(snapshot, settings).endpoints if endpoint.node.name == name)


def ips(*texts: str) -> tuple[IPv4Address, ...]:
    """Addresses."""
    return tuple(map(IPv4Address, texts))


@pytest.mark.parametrize(
    ("server", "reach", "addresses", "aliases"),
    [
        pytest.param(a_pod_server(), Reach.REACHED, ["10.0.0.2"], [], id="attached"),
        pytest.param(a_pod_server(name="renamed"), Reach.REACHED, ["10.0.0.2"], [], id="renamed"),
        pytest.param(a_pod_server(1, "10.0.0.77"), Reach.REACHED, ["10.0.0.77"], [], id="another-address"),
        pytest.param(
            a_pod_server(1, "10.0.0.2", "10.0.0.3"), Reach.REACHED, ["10.0.0.2", "10.0.0.3"], [], id="attached-twice"
        ),
        pytest.param(
            a_pod_server(aliases=["10.0.0.8", "10.0.0.9"]),
            Reach.REACHED,
            ["10.0.0.2"],
            ["10.0.0.8", "10.0.0.9"],
            id="with-aliases",
        ),
        pytest.param(
            a_pod_server(private_ips=((7, IPv4Address("10.7.0.2")), (4, IPv4Address("10.0.0.2")))),
            Reach.REACHED,
            ["10.0.0.2"],
            [],
            id="attached-to-two-networks",
        ),
        pytest.param(a_pod_server(private_ips=()), Reach.UNATTACHED, [], [], id="not-attached"),
        pytest.param(a_pod_server(network_id=7), Reach.UNATTACHED, [], [], id="attached-elsewhere"),
        pytest.param(a_pod_server(private_ips=(), aliases=["10.0.0.8"]), Reach.UNATTACHED, [], [], id="aliases-alone"),
    ],
)
def test_servers(server: Server, reach: Reach, addresses: list[str], aliases: list[str]) -> None:
    """The server of the providerID decides, whatever its name is; other networks have no say."""
    found = place_of(a_routed_world(servers=[server], routes=[]))
    assert (found.reach, found.server_id, found.joins) == (reach, 1, False)
    assert (found.addresses, found.aliases) == (ips(*addresses), ips(*aliases))
    assert found.decided.rule.name == ("node-reached" if reach is Reach.REACHED else "unattached")


@pytest.mark.parametrize(
    ("node", "world", "reach", "why", "server_id"),
    [
        pytest.param(
            a_pod_node(),
            {"servers": [a_pod_server(missing=frozenset({"private_net"}))]},
            Reach.WAITING,
            "private-addresses-unknown",
            1,
            id="addresses-unknown",
        ),
        pytest.param(
            a_pod_node(),
            {"servers_section": incomplete(servers_of(), "429")},
            Reach.WAITING,
            "node-unknown",
            1,
            id="list-of-servers-has-a-gap",
        ),
        pytest.param(
            a_pod_node(),
            {"servers_section": replace(servers_of(), unreadable={1: "no name"})},
            Reach.WAITING,
            "node-unknown",
            1,
            id="server-unreadable",
        ),
        pytest.param(
            a_pod_node(),
            {"servers": []},
            Reach.WAITING,
            "node-gone",
            1,
            id="ready-and-gone",
        ),
        pytest.param(LOST, {"servers": []}, Reach.GONE, "node-gone", 1, id="gone"),
        pytest.param(
            replace(LOST, provider_id="hrobot://1"),
            {},
            Reach.ELSEWHERE,
            "node-elsewhere",
            None,
            id="robot",
        ),
        pytest.param(
            a_pod_node(provider_id="aws://1"),
            {},
            Reach.ELSEWHERE,
            "node-elsewhere",
            None,
            id="another-cloud",
        ),
        pytest.param(
            a_pod_node(provider_id=None),
            {},
            Reach.ELSEWHERE,
            "node-elsewhere",
            None,
            id="unclaimed",
        ),
        pytest.param(
            a_pod_node(labels={"example.com/spare": ""}),
            {},
            Reach.IGNORED,
            "node-routes-ignored",
            1,
            id="ignored",
        ),
    ],
)
def test_nodes(node: Node, world: dict[str, Any], reach: Reach, why: str, server_id: int | None) -> None:
    """What is not known is not absent, and a Node whose kubelet reports has a server, whatever the list says."""
    found = place_of(a_routed_world([node], **{"servers": [a_pod_server()], "routes": []} | world), SPARED)
    assert (found.reach, found.decided.rule.name, found.server_id, found.addresses) == (reach, why, server_id, ())


@pytest.mark.parametrize(
    ("node", "servers", "settings", "reach", "joins"),
    [
        pytest.param(JOINING, [a_pod_server()], ROUTING, Reach.REACHED, True, id="by-its-name"),
        pytest.param(
            replace(JOINING, provider_id="hcloud://3"),
            [a_pod_server(3, "10.0.0.2", name="other")],
            ROUTING,
            Reach.REACHED,
            True,
            id="by-its-provider-id",
        ),
        pytest.param(JOINING, [a_pod_server(private_ips=())], ROUTING, Reach.WAITING, True, id="not-attached-yet"),
        pytest.param(
            JOINING,
            [a_pod_server(missing=frozenset({"private_net"}))],
            ROUTING,
            Reach.WAITING,
            False,
            id="addresses-unknown",
        ),
        pytest.param(JOINING, [], ROUTING, Reach.WAITING, False, id="no-server-yet"),
        pytest.param(
            replace(JOINING, provided_node_ip="10.9.9.9"),
            [a_pod_server()],
            ROUTING,
            Reach.WAITING,
            False,
            id="cannot-be-initialized",
        ),
        pytest.param(
            replace(JOINING, provider_id="hcloud://1"),
            [a_pod_server()],
            replace(ROUTING, controllers=frozenset({Controller.ROUTE})),
            Reach.WAITING,
            False,
            id="somebody-else-initializes-it",
        ),
        pytest.param(
            a_settled_node(taints=(UNINITIALIZED,), ready=Readiness.FALSE),
            [a_pod_server()],
            ROUTING,
            Reach.REACHED,
            True,
            id="joins-again",
        ),
    ],
)
def test_joining_nodes(node: Node, servers: list[Server], settings: Settings, reach: Reach, joins: bool) -> None:
    """A Node that joins is placed by the server that it will have; what is missing so far is no trouble yet."""
    found = place_of(a_routed_world([node], servers, []), settings)
    assert (found.reach, found.joins) == (reach, joins)
    assert found.addresses == (ips(gateway_of(1)) if reach is Reach.REACHED else ())


def test_places_are_of_all_nodes() -> None:
    """Each Node that could be read has its place, in the order of names, whatever order they came in."""
    world = a_routed_world([a_pod_node(n) for n in (3, 1, 2)], [a_pod_server(n) for n in (2, 3)], [])
    assert [(endpoint.node.name, endpoint.reach) for endpoint in routing(world).endpoints] == [
        ("web-1", Reach.WAITING),
        ("web-2", Reach.REACHED),
        ("web-3", Reach.REACHED),
    ]


def test_nodes_are_placed_whichever_parts_are_on() -> None:
    """Routes need no other controller than their own."""
    alone = replace(ROUTING, controllers=frozenset({Controller.ROUTE}))
    assert place_of(a_routed_world(), alone).addresses == ips("10.0.0.2")
