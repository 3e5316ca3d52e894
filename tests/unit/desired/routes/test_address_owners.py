"""Who has an address of the network, and who is asked."""

from dataclasses import replace
from ipaddress import IPv4Address
from typing import Any

import pytest

from desired.model.load_balancer import Attachment, CloudBalancer
from desired.model.route import MemberKind, Route
from desired.model.settings import Controller, Settings
from desired.model.snapshot import Node, Server, Snapshot
from desired.routes.address_owners import AddressHolding, AddressOwner, AddressOwners, asks_for_members
from desired.routes.endpoints import node_endpoints
from desired.section import Absent, Present, Section, Unknown
from desired.syntax.selector import parse_selector
from tests.balancers import a_balancer
from tests.builders import a_snapshot, incomplete, servers_of
from tests.routes import (
    ROUTING,
    WITHOUT_RANGE,
    a_member,
    a_pod_node,
    a_pod_server,
    a_route,
    a_routed_world,
    members_of,
)

ADDRESS = "10.0.0.77"
SPARED = replace(ROUTING, ignore_nodes=parse_selector("example.com/spare"))
SPARE = {"example.com/spare": ""}
NOBODY = AddressOwner(AddressHolding.NOBODY, ADDRESS)
BALANCED = a_balancer(attachments=(Attachment(4, IPv4Address(ADDRESS)),))


def holder_of(snapshot: Snapshot, settings: Settings = SPARED) -> AddressOwner | tuple[AddressHolding, str]:
    """Who has 10.0.0.77."""
    holders = AddressOwners(snapshot, 4, node_endpoints(snapshot, settings, {}, 4))
    found = holders.of(IPv4Address(ADDRESS))
    return (found.holding, found.unknown.rule.name) if found.unknown else found


def world_of(*servers: Server, nodes: tuple[Node, ...] = (), **parts: Any) -> Snapshot:
    """These servers, in a network of which it was asked who its members are: nobody, unless told otherwise."""
    return a_routed_world(nodes, servers, [], **{"members": []} | parts)


def balanced(*balancers: CloudBalancer) -> Section[int, CloudBalancer]:
    """All load balancers."""
    return Section({balancer.id: balancer for balancer in balancers})


def unknown(row: str) -> tuple[AddressHolding, str]:
    """An owner that is not known, and the rule that says why."""
    return AddressHolding.UNKNOWN, row


OF_WEB_3 = AddressOwner(AddressHolding.NODE, "server 3 of Node web-3", "web-3")
STRANGER = AddressOwner(AddressHolding.SERVER, "server 3, which is no Node of this cluster")


@pytest.mark.parametrize(
    ("snapshot", "expected"),
    [
        pytest.param(world_of(a_pod_server(3, ADDRESS), nodes=(a_pod_node(3),)), OF_WEB_3, id="a-nodes-server"),
        pytest.param(
            world_of(a_pod_server(3, ADDRESS, name="renamed"), nodes=(a_pod_node(3),)), OF_WEB_3, id="a-renamed-server"
        ),
        pytest.param(
            world_of(a_pod_server(3, "10.0.0.4", ADDRESS), nodes=(a_pod_node(3),)), OF_WEB_3, id="a-second-address"
        ),
        pytest.param(
            world_of(a_pod_server(3, ADDRESS), nodes=(a_pod_node(3, name="b"), a_pod_node(3, name="a"))),
            AddressOwner(AddressHolding.NODE, "server 3 of Node a", "a"),
            id="of-two-nodes",
        ),
        pytest.param(world_of(a_pod_server(3, ADDRESS)), STRANGER, id="a-server-that-is-no-node"),
        pytest.param(
            world_of(a_pod_server(3, ADDRESS), nodes=(a_pod_node(1, name="web-3"),)), STRANGER, id="a-name-is-no-node"
        ),
        pytest.param(
            world_of(a_pod_server(3, ADDRESS), nodes=(a_pod_node(3, labels=SPARE),)),
            AddressOwner(AddressHolding.IGNORED, "server 3, whose Node is ignored"),
            id="an-ignored-nodes-server",
        ),
        pytest.param(
            world_of(a_pod_server(3, ADDRESS), nodes=(a_pod_node(3, name="a"), a_pod_node(3, name="b", labels=SPARE))),
            AddressOwner(AddressHolding.IGNORED, "server 3, whose Node is ignored"),
            id="of-two-nodes-one-ignored",
        ),
        pytest.param(
            world_of(a_pod_server(3, aliases=[ADDRESS]), nodes=(a_pod_node(3),)),
            AddressOwner(AddressHolding.ALIAS, "an alias address of server 3"),
            id="an-alias",
        ),
        pytest.param(
            world_of(load_balancers=balanced(BALANCED)),
            AddressOwner(AddressHolding.LOAD_BALANCER, "load balancer 42"),
            id="a-load-balancer",
        ),
        pytest.param(world_of(a_pod_server(3, ADDRESS, network_id=7)), NOBODY, id="in-another-network"),
        pytest.param(
            world_of(load_balancers=balanced(replace(BALANCED, attachments=(Attachment(7, IPv4Address(ADDRESS)),)))),
            NOBODY,
            id="a-load-balancer-in-another-network",
        ),
        pytest.param(world_of(), NOBODY, id="nobody"),
    ],
)
def test_what_the_lists_say(snapshot: Snapshot, expected: AddressOwner | tuple[AddressHolding, str]) -> None:
    """Servers and load balancers have their addresses, in this network, by the server and never by a name."""
    assert holder_of(snapshot) == expected


@pytest.mark.parametrize(
    ("parts", "expected"),
    [
        pytest.param({"members": None}, unknown("owner-unasked"), id="not-asked"),
        pytest.param({"members": [a_member("10.0.0.78")]}, NOBODY, id="only-others"),
        pytest.param(
            {"members": [a_member(ADDRESS, 8, MemberKind.LOAD_BALANCER)]},
            AddressOwner(AddressHolding.LOAD_BALANCER, "load balancer 8"),
            id="a-load-balancer-nobody-listed",
        ),
        pytest.param(
            {"members": [a_member("10.0.0.9", 8, MemberKind.SERVER, "10.0.0.10", ADDRESS)]},
            AddressOwner(AddressHolding.ALIAS, "an alias address of server 8"),
            id="an-alias-nobody-listed",
        ),
        pytest.param(
            {"members": [a_member(ADDRESS, 8)]},
            unknown("owner-unlisted"),
            id="a-server-that-the-list-lacks",
        ),
        pytest.param(
            {
                "members": [a_member(ADDRESS, 8)],
                "servers_section": replace(servers_of(), unreadable={8: "no name"}),
            },
            unknown("owner-unlisted"),
            id="a-server-that-could-not-be-read",
        ),
        pytest.param(
            {"members": [a_member(ADDRESS, 3)], "servers": [a_pod_server(3)], "nodes": [a_pod_node(3)]},
            OF_WEB_3,
            id="just-being-attached",
        ),
        pytest.param(
            {"members": [a_member(ADDRESS, 3)], "servers": [a_pod_server(3)]}, STRANGER, id="a-stranger-being-attached"
        ),
        pytest.param(
            {"members": incomplete(members_of(), "page 2 timed out")},
            unknown("owner-unreadable"),
            id="a-gap-among-the-members",
        ),
        pytest.param(
            {"members": Section.missing("403")},
            unknown("owner-unreadable"),
            id="members-not-read",
        ),
        pytest.param(
            {"members": replace(members_of(), unreadable={1: "no type"})},
            unknown("owner-unreadable"),
            id="an-unreadable-member",
        ),
        pytest.param(
            {"members": incomplete(members_of(a_member(ADDRESS, 3))), "servers": [a_pod_server(3)]},
            STRANGER,
            id="found-beside-a-gap",
        ),
        pytest.param({"servers_section": incomplete(servers_of(), "429")}, NOBODY, id="a-gap-among-the-servers"),
    ],
)
def test_what_the_members_say(parts: dict[str, Any], expected: AddressOwner | tuple[AddressHolding, str]) -> None:
    """Nobody has an address only when the network's own list, read whole, has nobody with it."""
    assert holder_of(a_routed_world(**{"nodes": [], "servers": [], "routes": [], "members": [], **parts})) == expected


@pytest.mark.parametrize(
    ("routes", "asks"),
    [
        pytest.param([], False, id="no-routes"),
        pytest.param([a_route(1, 1), a_route("10.244.0.0/28", 1)], False, id="by-servers"),
        pytest.param([a_route(5, "10.0.0.9")], False, id="by-an-alias"),
        pytest.param([a_route(5, ADDRESS)], True, id="by-whom-no-list-shows"),
        pytest.param([a_route(1, 1), a_route(5, ADDRESS)], True, id="one-of-several"),
        pytest.param([a_route(1, ADDRESS)], True, id="to-a-nodes-own-pods"),
        pytest.param([a_route("10.245.0.0/24", ADDRESS)], False, id="outside"),
        pytest.param([a_route("10.244.0.0/15", ADDRESS)], False, id="around"),
        pytest.param([a_route("0.0.0.0/0", ADDRESS)], False, id="the-default-route"),
    ],
)
def test_who_is_asked_for(routes: list[Route], asks: bool) -> None:
    """One more call is made only when a route that may have to go leads to an address that nobody seems to have."""
    world = a_routed_world([a_pod_node()], [a_pod_server(aliases=["10.0.0.9"])], routes)
    assert asks_for_members(world, ROUTING) is asks


def test_load_balancers_need_no_asking() -> None:
    """One that was listed has its address, whoever routes by it."""
    world = a_routed_world(routes=[a_route(5, ADDRESS)], load_balancers=balanced(BALANCED))
    assert not asks_for_members(world, ROUTING)


BLACK_HOLE = a_routed_world(routes=[a_route(5, ADDRESS)])


@pytest.mark.parametrize(
    ("snapshot", "settings"),
    [
        pytest.param(BLACK_HOLE, WITHOUT_RANGE, id="no-cluster-cidr-so-nothing-goes"),
        pytest.param(BLACK_HOLE, replace(ROUTING, routes=False), id="routes-off"),
        pytest.param(BLACK_HOLE, replace(ROUTING, controllers=frozenset({Controller.NODE})), id="controller-off"),
        pytest.param(replace(BLACK_HOLE, network=Absent()), ROUTING, id="no-such-network"),
        pytest.param(replace(BLACK_HOLE, network=Unknown("500")), ROUTING, id="network-unknown"),
        pytest.param(replace(BLACK_HOLE, network=Present(None)), ROUTING, id="no-network-asked-for"),
        pytest.param(replace(BLACK_HOLE, routes=None), ROUTING, id="no-routes-read"),
        pytest.param(a_snapshot(), ROUTING, id="nothing-at-all"),
    ],
)
def test_when_nobody_is_asked(snapshot: Snapshot, settings: Settings) -> None:
    """Where no route can go, nothing depends on the answer."""
    assert not asks_for_members(snapshot, settings)


def test_asking_settles_it() -> None:
    """What is asked for is what the decision lacks: with it, the holder of a black hole is known to be nobody."""
    assert asks_for_members(BLACK_HOLE, ROUTING)
    assert holder_of(BLACK_HOLE) == unknown("owner-unasked")
    assert holder_of(replace(BLACK_HOLE, members=members_of())) == NOBODY
