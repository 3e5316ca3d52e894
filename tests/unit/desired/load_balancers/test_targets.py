"""Which Nodes become targets of a load balancer."""

from collections.abc import Collection, Mapping
from dataclasses import replace
from ipaddress import IPv4Address, IPv4Network, IPv6Network
from typing import Any

import pytest

from desired.annotations.options import Options
from desired.load_balancers.membership import Membership, NodeTarget, node_memberships
from desired.load_balancers.network import Place
from desired.load_balancers.targets import DesiredTargets, Removal, count_targets, removal_reason, target_candidates
from desired.load_balancers.targets import desired_targets as of_roster
from desired.model.load_balancer import CloudBalancer, IpTarget, SelectorTarget, ServerTarget, Target, ipv6_of
from desired.model.settings import Controller, Settings
from desired.model.snapshot import Network, Node, NodeAddress, RobotAccount, Server, Snapshot
from desired.nodes.node import DesiredNode, UninitializedNode, desired_nodes
from desired.section import Absent, Present, Section, Unknown
from desired.syntax.bounds import counted
from desired.syntax.selector import parse_selector
from tests.balancers import a_balancer
from tests.builders import (
    NOW,
    a_dual_stack_server,
    a_joining_node,
    a_lost_node,
    a_node,
    a_robot_server,
    a_server,
    a_settled_node,
    a_snapshot,
    in_cloud,
    in_robot,
    incomplete,
    nodes_of,
    servers_of,
)
from tests.support.rules import saying

TARGET, EXCLUDED, UNUSABLE = Membership.TARGET, Membership.EXCLUDED, Membership.UNUSABLE
SERVERLESS = Membership.SERVERLESS
UNCERTAIN, IGNORED, OVER_LIMIT = Membership.UNCERTAIN, Membership.IGNORED, Membership.OVER_LIMIT
PRIVATE_IP = "load-balancer.hetzner.cloud/use-private-ip"
NO_NETWORK = (
    "traffic should go to private addresses, and there is no network (HCLOUD_NETWORK); set that, or"
    f" {PRIVATE_IP} to false"
)
PUBLIC, PRIVATE = Options(), Options(use_private_ip=True)
NETWORK = 7
DEFAULT = Settings()
SPARED = Settings(ignore_nodes=parse_selector("example.com/spare"))
SPARE = {"example.com/spare": ""}
OUT = {"node.kubernetes.io/exclude-from-external-load-balancers": ""}
INSIDE = a_server(private_ips=((6, IPv4Address("10.6.0.2")), (NETWORK, IPv4Address("10.0.0.2"))))
UNREAD: Section[int, Server] = Section(unreadable={1: "server 1 could not be decoded"})
LATE = Unknown("GET timed out")


def memberships(options: Options, *world: Any, **place: Any) -> tuple[NodeTarget, ...]:
    """The membership of each Node in a load balancer with these options."""
    return node_memberships(options, *world, **place).selected_by(options.node_selector)


def desired_targets(members: Collection[NodeTarget], present: CloudBalancer | None, max_targets: int) -> DesiredTargets:
    """The targets among these Nodes, whatever their order."""
    return of_roster(target_candidates(members), present, max_targets, "choose a larger type")


def member(
    snapshot: Snapshot,
    options: Options = PUBLIC,
    network_id: int | None = NETWORK,
    settings: Settings = DEFAULT,
    nodes: Mapping[str, DesiredNode] | None = None,
) -> NodeTarget:
    """What the only Node of the snapshot is."""
    planned = desired_nodes(snapshot, settings)[0] if nodes is None else nodes
    (only,) = memberships(options, network_id, snapshot, planned, settings)
    return replace(only, reason=saying(only.why))


def is_(membership: Membership, why: str, server_id: int | None = 1, *, joins: bool = False) -> NodeTarget:
    """web-1 as no target."""
    return NodeTarget("web-1", membership, saying(why), server=in_cloud(server_id) if server_id else None, joins=joins)


def by_public(server_id: int = 1, *, joins: bool = False) -> NodeTarget:
    """web-1 as a target by its public address."""
    why = f"server {server_id} by its public address 203.0.113.{server_id}"
    return NodeTarget(
        "web-1", TARGET, saying(why), ServerTarget(server_id, use_private_ip=False), in_cloud(server_id), joins
    )


@pytest.mark.parametrize(
    ("server", "node_ip", "expected"),
    [
        pytest.param(a_dual_stack_server(), None, None, id="IPv4 as well"),
        pytest.param(a_dual_stack_server(), "2001:db8:1::5", None, id="IPv4 as well, and a kubelet with IPv6"),
        pytest.param(a_dual_stack_server(ipv4=None), None, "2001:db8:1::1", id="IPv6 alone"),
        pytest.param(a_dual_stack_server(ipv4=None), "2001:db8:1::5", "2001:db8:1::5", id="another host, says kubelet"),
        pytest.param(
            a_dual_stack_server(ipv4=None), "10.0.0.2,2001:db8:1::5", "2001:db8:1::5", id="its second address"
        ),
        pytest.param(a_dual_stack_server(ipv4=None), "2001:db8:2::5", "2001:db8:1::1", id="a host of somebody else"),
        pytest.param(a_dual_stack_server(ipv4=None), "::ffff:10.0.0.2", "2001:db8:1::1", id="IPv4 in disguise"),
        pytest.param(a_dual_stack_server(ipv4=None), "no address", "2001:db8:1::1", id="an unusable one"),
    ],
)
def test_a_server_without_public_ipv4(server: Server, node_ip: str | None, expected: str | None) -> None:
    """It gets its traffic by its IPv6 address."""
    found = member(a_snapshot([a_settled_node(provided_node_ip=node_ip)], [server]))

    assert found.membership is TARGET
    assert isinstance(found.target, ServerTarget)
    assert found.target.ipv6 == expected
    assert found.why.endswith(f" by its public address {expected or server.ipv4}")


def test_a_settled_node_is_a_target() -> None:
    """By its public IPv4, unless private addresses are asked for."""
    assert member(a_snapshot([a_settled_node()], [INSIDE])) == by_public()
    assert member(a_snapshot([a_settled_node()], [INSIDE]), PRIVATE) == NodeTarget(
        "web-1",
        TARGET,
        saying("server 1 by its private address 10.0.0.2"),
        ServerTarget(1, use_private_ip=True),
        in_cloud(1),
    )


@pytest.mark.parametrize(
    ("node", "server", "expected"),
    [
        pytest.param(a_node(), a_server(), is_(SERVERLESS, "the Node has no providerID", None), id="no-provider-id"),
        pytest.param(
            a_settled_node(provider_id="hrobot://1"),
            a_server(),
            is_(SERVERLESS, "Robot servers are not read", None),
            id="robot",
        ),
        pytest.param(
            a_settled_node(provider_id="hcloud://bm-1"),
            a_server(),
            is_(SERVERLESS, "Robot servers are not read", None),
            id="robot-of-the-fork",
        ),
        pytest.param(
            a_settled_node(provider_id="aws:///eu/i-1"),
            a_server(),
            is_(SERVERLESS, "the Node belongs to another cloud", None),
            id="foreign",
        ),
        pytest.param(
            a_settled_node(provider_id="hcloud://"),
            a_server(),
            is_(SERVERLESS, "its providerID names no server: providerID 'hcloud://' is missing a server id", None),
            id="no-id",
        ),
        pytest.param(
            a_settled_node(provider_id="hcloud://one"),
            a_server(),
            is_(
                SERVERLESS,
                "its providerID names no server: providerID 'hcloud://one': 'one' is no server id (a positive decimal"
                " number)",
                None,
            ),
            id="malformed-id",
        ),
        pytest.param(a_lost_node(), a_server(2, "db-1"), is_(SERVERLESS, "the server is gone"), id="lost"),
        pytest.param(
            a_lost_node(deleted_at=NOW),
            a_server(2, "db-1"),
            is_(EXCLUDED, "it is being deleted"),
            id="lost-and-deleted",
        ),
        pytest.param(
            a_settled_node(),
            a_server(ipv4=None),
            is_(UNUSABLE, f"the server has no public address; give it one, or a network and {PRIVATE_IP}"),
            id="no-public-address",
        ),
        pytest.param(
            a_settled_node(),
            replace(INSIDE, ipv4=None),
            is_(UNUSABLE, f"the server has no public address; set {PRIVATE_IP} to true"),
            id="no-public-address-in-the-network",
        ),
        pytest.param(
            a_settled_node(),
            a_server(ipv4=None, missing=frozenset({"public_net.ipv6"})),
            is_(UNCERTAIN, "the API did not say which public IPv6 address the server has"),
            id="public-ipv6-not-told",
        ),
        pytest.param(
            a_settled_node(),
            a_server(ipv4=None, missing=frozenset({"public_net.ipv4"})),
            is_(UNCERTAIN, "the API did not say which public IPv4 address the server has"),
            id="public-ipv4-not-told",
        ),
        pytest.param(
            a_settled_node(), a_server(missing=frozenset({"private_net"})), by_public(), id="private-ones-do-not-matter"
        ),
    ],
)
def test_by_public_address(node: Node, server: Server, expected: NodeTarget) -> None:
    """Each Node for itself, and one that cannot be a target is said to be none."""
    assert member(a_snapshot([node], [server])) == expected


@pytest.mark.parametrize(
    ("server", "network_id", "network", "expected"),
    [
        pytest.param(
            a_server(private_ips=((6, IPv4Address("10.6.0.2")),)),
            NETWORK,
            Present(Network(NETWORK, "private")),
            is_(UNUSABLE, f"the server is not attached to network 7; attach it, or set {PRIVATE_IP} to false"),
            id="in-another-network",
        ),
        pytest.param(
            a_server(missing=frozenset({"private_net"})),
            NETWORK,
            Present(Network(NETWORK, "private")),
            is_(UNCERTAIN, "the API did not say which private addresses the server has"),
            id="private-addresses-not-told",
        ),
        pytest.param(
            INSIDE,
            None,
            Present(None),
            is_(UNUSABLE, NO_NETWORK),
            id="no-network",
        ),
        pytest.param(
            INSIDE,
            None,
            Absent(),
            is_(UNUSABLE, NO_NETWORK),
            id="network-not-in-the-project",
        ),
        pytest.param(
            INSIDE,
            None,
            Unknown("timed out"),
            is_(UNCERTAIN, "the network is not known: timed out"),
            id="network-not-read",
        ),
    ],
)
def test_by_private_address(
    server: Server, network_id: int | None, network: Present[Network | None] | Absent | Unknown, expected: NodeTarget
) -> None:
    """Nothing becomes a target by an address that it does not have, and what is not known stays."""
    snapshot = a_snapshot([a_settled_node()], [server], network=network)
    assert member(snapshot, PRIVATE, network_id) == expected


@pytest.mark.parametrize(
    ("servers", "expected"),
    [
        pytest.param(
            incomplete(servers_of()),
            is_(UNCERTAIN, "the server is not known: page 2 timed out"),
            id="not-in-part-of-a-list",
        ),
        pytest.param(incomplete(servers_of(a_server())), by_public(), id="in-part-of-a-list"),
        pytest.param(UNREAD, is_(UNCERTAIN, "the server is not known: server 1 could not be decoded"), id="unreadable"),
    ],
)
def test_a_server_that_is_not_known(servers: Section[int, Server], expected: NodeTarget) -> None:
    """A gap in the list of servers makes nobody a target, and takes nobody away."""
    assert member(a_snapshot([a_settled_node()], servers_section=servers)) == expected


@pytest.mark.parametrize(
    ("node", "asked", "expected"),
    [
        pytest.param(
            a_settled_node(),
            {},
            is_(UNCERTAIN, "the server is not known: it is not listed, but the kubelet reports Ready"),
            id="ready",
        ),
        pytest.param(a_settled_node(), {1: Absent()}, is_(SERVERLESS, "the server is gone"), id="ready-proven-gone"),
        pytest.param(a_lost_node(), {}, is_(SERVERLESS, "the server is gone"), id="silent"),
        pytest.param(
            a_lost_node(),
            {1: LATE},
            is_(UNCERTAIN, "the server is not known: it is not listed, and asking for it alone failed: GET timed out"),
            id="silent-and-not-to-be-asked-for",
        ),
    ],
)
def test_a_server_that_the_list_lacks(node: Node, asked: Mapping[int, Absent | Unknown], expected: NodeTarget) -> None:
    """A list may lag: nothing is gone that a kubelet or a failed question speaks for."""
    assert member(a_snapshot([node], confirmations=asked)) == expected


@pytest.mark.parametrize(
    ("parts", "expected"),
    [
        pytest.param({"servers": [a_server()]}, by_public(joins=True), id="found-by-name"),
        pytest.param(
            {"servers": [a_server(2, "db-1")]}, is_(SERVERLESS, "the Node is not initialized", None), id="no-server"
        ),
        pytest.param(
            {"servers_section": incomplete(servers_of(a_server()))},
            is_(UNCERTAIN, "the Node cannot be initialized yet: page 2 timed out", None),
            id="part-of-a-list",
        ),
        pytest.param(
            {"servers_section": UNREAD},
            is_(UNCERTAIN, "the Node cannot be initialized yet: server 1 could not be decoded", None),
            id="an-unreadable-server",
        ),
        pytest.param(
            {"servers": [a_server()], "network": Unknown("network 7 timed out")},
            is_(UNCERTAIN, "the Node cannot be initialized yet: network 7 timed out", None),
            id="the-network-not-read",
        ),
    ],
)
def test_a_node_that_joins(parts: dict[str, Any], expected: NodeTarget) -> None:
    """A Node is a target by the providerID that it will have, so that it costs no second pass."""
    settings = Settings(network="7") if "network" in parts else DEFAULT
    assert member(a_snapshot([a_joining_node()], **parts), settings=settings) == expected


def test_a_node_that_joins_with_a_provider_id() -> None:
    """Its initialization goes first; where that is impossible or not ours, the providerID alone makes it a target."""
    node = a_joining_node(provider_id="hcloud://1")
    assert member(a_snapshot([node], [a_server()])) == by_public(joins=True)
    stubborn = a_joining_node(provider_id="hcloud://1", provided_node_ip="192.0.2.9")
    assert member(a_snapshot([stubborn], [a_server()])) == by_public()
    without = Settings(controllers=frozenset({Controller.SERVICE}))
    assert member(a_snapshot([node], [a_server()]), settings=without, nodes={}) == by_public()
    assert member(a_snapshot([a_joining_node()], [a_server()]), settings=without, nodes={}) == is_(
        SERVERLESS, "the Node is not initialized", None
    )


def test_an_excluded_node_that_joins() -> None:
    """A rule is asked before anything else, and the server is known all the same."""
    expected = is_(EXCLUDED, "it has the label node.kubernetes.io/exclude-from-external-load-balancers", joins=True)
    assert member(a_snapshot([a_joining_node(labels=OUT)], [a_server()])) == expected


@pytest.mark.parametrize(
    ("node", "server_id"),
    [
        pytest.param(a_settled_node(labels=SPARE), 1, id="settled"),
        pytest.param(a_settled_node(labels=SPARE | OUT), 1, id="excluded-too"),
        pytest.param(a_lost_node(labels=SPARE, server_id=3), 3, id="lost"),
        pytest.param(a_joining_node(labels=SPARE), None, id="joining"),
    ],
)
def test_an_ignored_node(node: Node, server_id: int | None) -> None:
    """What ``--ignore-nodes`` selects is none of our business, whatever else is true of it."""
    expected = is_(IGNORED, "ignored by --ignore-nodes: it stays what it is", server_id)
    assert member(a_snapshot([node], [a_server()]), settings=SPARED) == expected


def test_every_node_is_there_in_the_order_of_names() -> None:
    """Unreadable ones as well: what they are is not known."""
    nodes = Section(
        {node.name: node for node in (a_settled_node("c", 3), a_settled_node("a", 1))}, unreadable={"b": "no uid"}
    )
    snapshot = a_snapshot(nodes_section=nodes, servers=[a_server(3, "c"), a_server(1, "a")])
    members = memberships(PUBLIC, None, snapshot, desired_nodes(snapshot, DEFAULT)[0], DEFAULT)
    assert [(each.node, each.membership, each.server and each.server.id) for each in members] == [
        ("a", TARGET, 1),
        ("b", UNCERTAIN, None),
        ("c", TARGET, 3),
    ]


def test_two_nodes_of_one_server_are_one_target() -> None:
    """Neither is a reason to take the server away."""
    snapshot = a_snapshot([a_settled_node("a", 1), a_settled_node("b", 1)], [a_server()])
    members = memberships(PUBLIC, None, snapshot, desired_nodes(snapshot, DEFAULT)[0], DEFAULT)
    assert [each.membership for each in members] == [TARGET, TARGET]
    assert desired_targets(members, None, 1).targets == {public(1)}
    assert {each.membership for each in desired_targets(members, None, 1).members} == {TARGET}
    assert {each.membership for each in desired_targets(members, None, 0).members} == {OVER_LIMIT}


def public(server_id: int) -> ServerTarget:
    """A server by its public address."""
    return ServerTarget(server_id, use_private_ip=False)


def private(server_id: int) -> ServerTarget:
    """A server by its private address."""
    return ServerTarget(server_id, use_private_ip=True)


SELECTED, OTHER = SelectorTarget("pool=web", use_private_ip=False), SelectorTarget("pool=web", use_private_ip=True)
VSWITCH = IpTarget("198.51.100.7")


def wanting(name: str, server_id: int, *, by_private: bool = False) -> NodeTarget:
    """A Node that is to be a target."""
    return NodeTarget(name, TARGET, saying("it serves"), ServerTarget(server_id, by_private), in_cloud(server_id))


def no_target(name: str, membership: Membership, server_id: int | None) -> NodeTarget:
    """A Node that is none."""
    return NodeTarget(name, membership, saying("because"), server=in_cloud(server_id) if server_id else None)


def with_targets(*targets: Target) -> CloudBalancer:
    """A load balancer that leads there."""
    return a_balancer(targets=targets)


@pytest.mark.parametrize(
    ("members", "present", "expected"),
    [
        pytest.param([], None, set(), id="nothing-at-all"),
        pytest.param([wanting("a", 1), wanting("b", 2)], None, {public(1), public(2)}, id="to-be-created"),
        pytest.param([wanting("a", 1)], with_targets(), {public(1)}, id="added"),
        pytest.param([wanting("a", 1)], with_targets(public(1), public(2)), {public(1)}, id="no-node-any-more"),
        pytest.param([no_target("a", EXCLUDED, 1)], with_targets(public(1)), set(), id="excluded"),
        pytest.param([no_target("a", UNUSABLE, 1)], with_targets(public(1)), set(), id="unusable"),
        pytest.param([no_target("a", UNCERTAIN, 1)], with_targets(public(1)), {public(1)}, id="uncertain-stays"),
        pytest.param([no_target("a", UNCERTAIN, 1)], with_targets(), set(), id="uncertain-is-not-added"),
        pytest.param([no_target("a", UNCERTAIN, 1)], None, set(), id="uncertain-and-to-be-created"),
        pytest.param([no_target("a", IGNORED, 1)], with_targets(public(1)), {public(1)}, id="ignored-stays"),
        pytest.param([no_target("a", IGNORED, 1)], with_targets(), set(), id="ignored-is-not-added"),
        pytest.param([no_target("a", UNCERTAIN, 1)], with_targets(private(1)), {private(1)}, id="in-its-own-mode"),
        pytest.param(
            [no_target("a", UNCERTAIN, 1)],
            with_targets(public(1), private(1)),
            {public(1), private(1)},
            id="uncertain-in-both-modes",
        ),
        pytest.param([wanting("a", 1, by_private=True)], with_targets(public(1)), {private(1)}, id="to-be-switched"),
        pytest.param([wanting("a", 1)], with_targets(public(1), private(1)), {public(1)}, id="one-of-two-modes"),
        pytest.param(
            [no_target("a", UNCERTAIN, None)], with_targets(public(1)), {public(1)}, id="who-knows-whose-it-is"
        ),
        pytest.param(
            [no_target("a", UNCERTAIN, None), no_target("b", UNUSABLE, 1)],
            with_targets(public(1)),
            set(),
            id="it-is-known-whose-it-is",
        ),
        pytest.param([no_target("a", UNCERTAIN, 2)], with_targets(public(1)), set(), id="uncertain-about-another"),
        pytest.param([no_target("a", UNUSABLE, None)], with_targets(public(1)), set(), id="known-to-be-no-server"),
        pytest.param([no_target("a", IGNORED, None)], with_targets(public(1)), set(), id="ignored-without-a-server"),
        pytest.param(
            [no_target("a", EXCLUDED, 1), no_target("b", UNCERTAIN, 1)],
            with_targets(public(1)),
            {public(1)},
            id="one-of-two-nodes-is-uncertain",
        ),
        pytest.param(
            [no_target("a", EXCLUDED, 1), wanting("b", 1)],
            with_targets(),
            {public(1)},
            id="one-of-two-nodes-may-get-traffic",
        ),
        pytest.param(
            [no_target("a", UNCERTAIN, 1), wanting("b", 1, by_private=True)],
            with_targets(public(1)),
            {private(1)},
            id="a-wish-beats-a-doubt",
        ),
    ],
)
def test_who_is_wanted(members: list[NodeTarget], present: CloudBalancer | None, expected: set[Target]) -> None:
    """One target for each server that is wanted, and what is not known stays as it is."""
    assert desired_targets(members, present, 25).targets == expected


def test_foreign_targets_stay() -> None:
    """Label selectors are never touched, nor addresses while no Robot server is read."""
    present = with_targets(VSWITCH, public(2), OTHER, SELECTED)
    found = desired_targets([wanting("a", 1)], present, 25)
    assert found == DesiredTargets(
        frozenset({VSWITCH, SELECTED, OTHER, public(1)}),
        target_candidates([wanting("a", 1)]),
        (VSWITCH, SELECTED, OTHER),
    )
    assert desired_targets([wanting("a", 1)], with_targets(SELECTED, OTHER, VSWITCH), 25).foreign == found.foreign


ABC = (wanting("a", 1), wanting("b", 2), wanting("c", 3))


@pytest.mark.parametrize(
    ("members", "there", "limit", "targets", "left_out"),
    [
        pytest.param(ABC, (), 3, {1, 2, 3}, "", id="room-for-all"),
        pytest.param(ABC, (), 2, {1, 2}, "c", id="by-name"),
        pytest.param((wanting("z", 1), wanting("y", 2)), (), 1, {2}, "z", id="by-name-and-not-by-server"),
        pytest.param(ABC, (public(3),), 2, {1, 3}, "b", id="who-is-there-stays"),
        pytest.param(ABC, (private(3),), 2, {1, 3}, "b", id="in-the-other-mode-too"),
        pytest.param(ABC, (public(2), public(3)), 2, {2, 3}, "a", id="nobody-changes-places"),
        pytest.param(ABC, (public(9),), 2, {1, 2}, "c", id="who-goes-makes-room"),
        pytest.param(ABC, (SELECTED,), 2, {1}, "bc", id="a-selector-counts"),
        pytest.param(ABC, (VSWITCH, SELECTED), 2, set(), "abc", id="selector-and-address-count"),
        pytest.param(ABC, (VSWITCH, SELECTED), 1, set(), "abc", id="more-than-the-limit"),
        pytest.param(ABC, (public(1), public(2), public(3)), 2, {1, 2}, "c", id="a-smaller-type"),
        pytest.param(
            (*ABC, no_target("d", UNCERTAIN, 4)), (public(4),), 2, {1, 4}, "bc", id="what-is-uncertain-counts"
        ),
        pytest.param((*ABC, no_target("d", UNCERTAIN, 4)), (), 2, {1, 2}, "c", id="uncertain-and-not-there"),
        pytest.param((*ABC, no_target("d", IGNORED, 4)), (public(4),), 2, {1, 4}, "bc", id="what-is-ignored-counts"),
        pytest.param((*ABC, wanting("d", 1)), (), 2, {1, 2}, "c", id="two-nodes-of-one-server-count-once"),
        pytest.param(ABC, (), 0, set(), "abc", id="no-room-at-all"),
    ],
)
def test_the_limit(
    members: tuple[NodeTarget, ...], there: tuple[Target, ...], limit: int, targets: set[int], left_out: str
) -> None:
    """Who loses does not change from pass to pass, nor with the order of what was read."""
    found = desired_targets(members, with_targets(*there), limit)
    full = f"the type takes {counted(limit, 'target')}, all taken; choose a larger type"
    assert {target.server_id for target in found.targets if isinstance(target, ServerTarget)} == targets
    over = [member for member in found.members if member.membership is OVER_LIMIT]
    assert [member.node for member in over] == list(left_out)
    assert {member.why for member in over} <= {full}
    assert all(member.target is not None for member in over)
    assert desired_targets(members[::-1], with_targets(*there[::-1]), limit) == found
    assert [member.node for member in found.being(OVER_LIMIT)] == list(left_out)
    assert list(found.by_why(OVER_LIMIT)) == [full for _ in left_out[:1]]
    for asked in Membership:
        names = [member.node for member in found.members if member.membership is asked]
        assert [member.node for member in found.being(asked)] == names
    for server_id in range(1, 5):
        claims = tuple(member for member in found.members if member.server == in_cloud(server_id))
        assert found.claiming(in_cloud(server_id)) == claims
    everything = of_roster(target_candidates(members), with_targets(*there), None, "")
    assert len(everything.targets) == count_targets(target_candidates(members), with_targets(*there))
    assert OVER_LIMIT not in {member.membership for member in everything.members}


def test_settled_at_the_limit() -> None:
    """What was chosen once is chosen again: no target changes places by itself."""
    first = desired_targets(ABC, with_targets(public(3)), 2)
    assert desired_targets(ABC, with_targets(*first.targets), 2) == first


NOBODY = Removal("no Node is server 1", server_lives=True)
GONE = Removal("server 1 is gone", server_lives=False)


@pytest.mark.parametrize(
    ("members", "snapshot", "expected"),
    [
        pytest.param([], a_snapshot([], [a_server()]), NOBODY, id="no-node"),
        pytest.param([], a_snapshot(), GONE, id="neither-node-nor-server"),
        pytest.param([], a_snapshot(confirmations={1: LATE}), NOBODY, id="no-node-and-a-question-without-answer"),
        pytest.param([], a_snapshot(servers_section=UNREAD), NOBODY, id="no-node-and-an-unreadable-server"),
        pytest.param([], a_snapshot(servers_section=incomplete(servers_of())), NOBODY, id="no-node-and-part-of-a-list"),
        pytest.param([no_target("n", UNUSABLE, 1)], a_snapshot([a_lost_node("n", 1)]), GONE, id="lost"),
        pytest.param([no_target("n", EXCLUDED, 1)], a_snapshot([a_lost_node("n", 1)]), GONE, id="excluded-and-lost"),
        pytest.param(
            [no_target("n", EXCLUDED, 1)],
            a_snapshot([a_settled_node("n", 1)]),
            Removal("Node n is no target: because", server_lives=True),
            id="excluded-and-only-missing-in-the-list",
        ),
        pytest.param(
            [no_target("n", EXCLUDED, 1)],
            a_snapshot([a_settled_node("n", 1)], [a_server()]),
            Removal("Node n is no target: because", server_lives=True),
            id="excluded",
        ),
        pytest.param(
            [no_target("n", UNUSABLE, 1)],
            a_snapshot([a_settled_node("n", 1)], [a_server()]),
            Removal("Node n is no target: because", server_lives=True),
            id="unusable",
        ),
        pytest.param(
            [no_target("n", OVER_LIMIT, 1), no_target("m", EXCLUDED, 2)],
            a_snapshot([a_settled_node("n", 1)], [a_server()]),
            Removal("Node n is no target: because", server_lives=True),
            id="no-room",
        ),
        pytest.param(
            [no_target("b", EXCLUDED, 1), no_target("a", UNUSABLE, 1)],
            a_snapshot([a_settled_node("a", 1), a_settled_node("b", 1)], [a_server()]),
            Removal("Node a is no target: because; Node b is no target: because", server_lives=True),
            id="only-one-of-two-nodes-explains-it",
        ),
        pytest.param(
            [wanting("n", 1, by_private=True)],
            a_snapshot([a_settled_node("n", 1)], [a_server()]),
            Removal("server 1 is a target by its other address", server_lives=True),
            id="by-its-other-address",
        ),
        pytest.param(
            [wanting("n", 1)],
            a_snapshot([a_settled_node("n", 1)], [a_server()]),
            Removal("Node n is no target: it serves", server_lives=True),
            id="wanted-and-yet-removed",
        ),
    ],
)
def test_why_a_target_goes(members: list[NodeTarget], snapshot: Snapshot, expected: Removal) -> None:
    """Dead targets are free (``target-floor``), exclusions explain a removal, and knowing less lets nothing more go."""
    assert removal_reason(public(1), in_cloud(1), members, snapshot) == expected


def test_one_bad_node_blocks_nobody() -> None:
    """Beside a malformed, a foreign and a lost Node the good one serves."""
    nodes = (
        a_settled_node("good", 1),
        a_settled_node("malformed", provider_id="hcloud://x"),
        a_settled_node("foreign", provider_id="aws:///eu/i-1"),
        a_lost_node("lost", 4),
    )
    snapshot = a_snapshot(nodes_section=nodes_of(*nodes), servers=[a_server(1, "good")])
    planned = desired_nodes(snapshot, DEFAULT)[0]
    assert not any(isinstance(node, UninitializedNode) for node in planned.values())
    members = memberships(PUBLIC, None, snapshot, planned, DEFAULT)
    assert desired_targets(members, None, 25).targets == {public(1)}


def test_who_has_equal_targets_shares_the_answer() -> None:
    """But not with who reaches one that stays by another IPv6 address."""
    candidates = target_candidates([no_target("a", UNCERTAIN, 1), wanting("b", 2)])
    addresses = ("2001:db8::1", "2001:db8::2", "2001:db8::1")
    found = [of_roster(candidates, with_targets(ServerTarget(1, False, address)), 25, "") for address in addresses]

    assert [set(ipv6_of(each.targets)) for each in found] == [{None, address} for address in addresses]
    assert found[0] is found[2]


ROBOT = Settings(robot=True)
OUTAGE: Section[int, Server] = Section.missing("the webservice answers 503")
ON_ROBOT = a_settled_node(
    provider_id="hrobot://321",
    addresses=(
        NodeAddress("Hostname", "web-1"),
        NodeAddress("ExternalIP", "192.0.2.65"),
        NodeAddress("InternalIP", "10.1.0.1"),
    ),
)
BARE = replace(ON_ROBOT, addresses=())


def by_address(ip: str, why: str) -> tuple[Membership, str, IpTarget]:
    """A Robot server as a target."""
    return TARGET, f"Robot server 321 {why}", IpTarget(ip)


@pytest.mark.parametrize(
    ("node", "options", "account", "expected"),
    [
        pytest.param(
            ON_ROBOT,
            PUBLIC,
            servers_of(a_robot_server()),
            by_address("192.0.2.65", "by its public address 192.0.2.65"),
            id="its main address",
        ),
        pytest.param(
            ON_ROBOT,
            PUBLIC,
            servers_of(a_robot_server(ipv4=None, ipv6=IPv6Network("2001:db8:3::/64"))),
            by_address("2001:db8:3::1", "by its public address 2001:db8:3::1"),
            id="IPv6 alone",
        ),
        pytest.param(
            ON_ROBOT,
            PUBLIC,
            servers_of(a_robot_server(ipv4=None)),
            (
                UNUSABLE,
                f"the server has no public address; give its Node an InternalIP, and set {PRIVATE_IP} to true",
                None,
            ),
            id="no address",
        ),
        pytest.param(
            ON_ROBOT,
            PRIVATE,
            servers_of(a_robot_server()),
            by_address("10.1.0.1", "by the InternalIP 10.1.0.1 of its Node"),
            id="its Node's InternalIP",
        ),
        pytest.param(
            BARE,
            PRIVATE,
            servers_of(a_robot_server()),
            by_address("192.0.2.65", "by its public address 192.0.2.65, as its Node has no InternalIP"),
            id="no InternalIP",
        ),
        pytest.param(
            ON_ROBOT,
            PUBLIC,
            OUTAGE,
            (UNCERTAIN, f"the server is not known: {OUTAGE.why_incomplete}", None),
            id="Robot is out of reach",
        ),
        pytest.param(
            ON_ROBOT,
            PRIVATE,
            OUTAGE,
            by_address("10.1.0.1", "by the InternalIP 10.1.0.1 of its Node"),
            id="Robot is out of reach, and not asked",
        ),
        pytest.param(
            replace(ON_ROBOT, conditions=a_lost_node().conditions),
            PUBLIC,
            servers_of(a_robot_server(7)),
            (SERVERLESS, "the server is gone", None),
            id="gone",
        ),
        pytest.param(
            ON_ROBOT,
            PUBLIC,
            servers_of(a_robot_server(7)),
            (UNCERTAIN, "the server is not known: it is not listed, but the kubelet reports Ready", None),
            id="gone, and Ready",
        ),
        pytest.param(
            ON_ROBOT,
            PRIVATE,
            None,
            by_address("10.1.0.1", "by the InternalIP 10.1.0.1 of its Node"),
            id="without credentials",
        ),
        pytest.param(BARE, PRIVATE, None, (UNCERTAIN, "the Node has no InternalIP", None), id="neither"),
        pytest.param(
            replace(ON_ROBOT, labels=OUT),
            PUBLIC,
            servers_of(a_robot_server()),
            (EXCLUDED, "it has the label node.kubernetes.io/exclude-from-external-load-balancers", None),
            id="excluded",
        ),
    ],
)
def test_robot_servers(
    node: Node,
    options: Options,
    account: Section[int, Server] | None,
    expected: tuple[Membership, str, IpTarget | None],
) -> None:
    """Exactly one address each: as HCCM, but unknown is not absent."""
    robot = None if account is None else RobotAccount(account)
    found = member(a_snapshot([node], [], robot=robot), options, settings=ROBOT)

    assert (found.membership, found.why, found.target) == expected
    assert found.server == in_robot(321)


@pytest.mark.parametrize(
    ("vswitches", "why"),
    [
        pytest.param(None, None, id="not known"),
        pytest.param(("10.1.0.0/24",), None, id="in the vSwitch"),
        pytest.param((), "has no vSwitch subnet", id="none"),
        pytest.param(("10.2.0.0/24",), "has the vSwitch 10.2.0.0/24", id="another"),
    ],
)
def test_private_addresses_outside_of_the_vswitch(vswitches: tuple[str, ...] | None, why: str | None) -> None:
    """Hetzner takes none: no new target, and one that is there stays."""
    ranges = None if vswitches is None else tuple(map(IPv4Network, vswitches))
    network = Present(Network(NETWORK, "private", vswitches=ranges))
    robot = RobotAccount(servers_of(a_robot_server()))
    (found,) = memberships(PRIVATE, NETWORK, a_snapshot([ON_ROBOT], [], robot=robot, network=network), {}, ROBOT)

    assert found.membership is (UNUSABLE if why else TARGET)
    assert found.keeps_its_target is bool(why)
    text = f"its InternalIP 10.1.0.1 is in no vSwitch of network private, which {why}; couple one that has it"
    assert not why or found.why == text
    snapshot = a_snapshot([ON_ROBOT], [], robot=robot, network=network)
    (there,) = memberships(PRIVATE, NETWORK, snapshot, {}, ROBOT, place=Place(addresses=frozenset({"10.1.0.1"})))
    assert there.membership is TARGET


def test_whose_address_it_is() -> None:
    """All of a Robot server and of its Node; one that two Nodes have is nobody's, and so is one of a cloud Node."""
    nodes = [
        replace(ON_ROBOT, name="a"),
        a_settled_node(
            "b",
            provider_id="hrobot://7",
            addresses=(NodeAddress("InternalIP", "10.1.0.1"), NodeAddress("InternalIP", "x")),
        ),
        a_settled_node("c", 3, addresses=(NodeAddress("ExternalIP", "203.0.113.3"),)),
    ]
    account = RobotAccount(servers_of(a_robot_server(321), a_robot_server(7)))
    snapshot = a_snapshot(nodes, [a_server(3, "c")], robot=account)
    found = target_candidates(memberships(PUBLIC, None, snapshot, desired_nodes(snapshot, ROBOT)[0], ROBOT))

    assert found.led_to(IpTarget("192.0.2.65")) == in_robot(321)
    assert found.led_to(IpTarget("192.0.2.7")) == in_robot(7)
    assert found.led_to(IpTarget("10.1.0.1")) is None
    assert found.led_to(IpTarget("203.0.113.3")) is None
    assert found.led_to(SELECTED) is None


@pytest.mark.parametrize(
    "other",
    [
        pytest.param(replace(ON_ROBOT, name="other"), id="a Node with the same server, and the same address"),
        pytest.param(
            replace(ON_ROBOT, name="other", addresses=(NodeAddress("InternalIP", "10.1.0.66"),)),
            id="a Node with the same server, and another address",
        ),
        pytest.param(
            a_settled_node("other", provider_id="hrobot://7", addresses=(NodeAddress("InternalIP", "10.1.0.1"),)),
            id="a Node with another server, and the same address",
        ),
        pytest.param(a_settled_node("other", 5), id="a cloud server with the same address"),
    ],
)
def test_who_claims_what_another_has(other: Node) -> None:
    """Nothing comes, and nothing that is there goes; two Nodes that agree are one target."""
    account = RobotAccount(servers_of(a_robot_server(321), a_robot_server(7)))
    cloud = a_server(5, "other", private_ips=((7, IPv4Address("10.1.0.1")),))
    is_cloud = other.provider_id == "hcloud://5"
    snapshot = a_snapshot([ON_ROBOT, other], [cloud] if is_cloud else [], robot=account)
    members = target_candidates(memberships(PRIVATE, 7, snapshot, desired_nodes(snapshot, ROBOT)[0], ROBOT))
    there = with_targets(IpTarget("10.1.0.1"))

    found = of_roster(members, there, None, "").targets
    assert IpTarget("10.1.0.1") in found
    assert IpTarget("10.1.0.66") not in found
    agree = other.addresses == ON_ROBOT.addresses
    assert (of_roster(members, None, None, "").targets >= {IpTarget("10.1.0.1")}) is agree


def test_a_kubelet_that_reports_addresses_of_others() -> None:
    """Public ones are the server's by Robot's word alone: strangers' targets stay, however many a Node names."""
    strangers = [f"198.51.100.{number}" for number in range(1, 20)]
    node = replace(ON_ROBOT, addresses=tuple(NodeAddress("InternalIP", ip) for ip in strangers))
    snapshot = a_snapshot([node], [], robot=RobotAccount(servers_of(a_robot_server())))
    members = target_candidates(memberships(PUBLIC, None, snapshot, desired_nodes(snapshot, ROBOT)[0], ROBOT))

    found = of_roster(members, with_targets(*map(IpTarget, strangers)), None, "").targets
    assert found == {*map(IpTarget, strangers), IpTarget("192.0.2.65")}


def test_exactly_one_address() -> None:
    """What leads to the same Node by another address goes, in both directions; strangers stay."""
    snapshot = a_snapshot([ON_ROBOT], [], robot=RobotAccount(servers_of(a_robot_server())))
    there = with_targets(IpTarget("192.0.2.65"), IpTarget("10.1.0.1"), VSWITCH)
    for options, kept in ((PUBLIC, "192.0.2.65"), (PRIVATE, "10.1.0.1")):
        members = target_candidates(memberships(options, None, snapshot, desired_nodes(snapshot, ROBOT)[0], ROBOT))
        assert of_roster(members, there, None, "").targets == {IpTarget(kept), VSWITCH}


@pytest.mark.parametrize(
    ("there", "expected"),
    [
        pytest.param((), {ServerTarget(1, use_private_ip=False)}, id="by the names of Nodes"),
        pytest.param(("192.0.2.65",), {IpTarget("192.0.2.65")}, id="an address that is there keeps its place"),
        pytest.param(("10.1.0.1",), {IpTarget("192.0.2.65")}, id="and by whichever address"),
        pytest.param(("198.51.100.7",), {VSWITCH}, id="a stranger's takes one as well"),
    ],
)
def test_addresses_take_the_places_of_a_type(there: tuple[str, ...], expected: set[Target]) -> None:
    """Addresses and servers of the cloud count alike."""
    nodes = [replace(ON_ROBOT, name="z"), a_settled_node("a", 1)]
    snapshot = a_snapshot(nodes, [a_server(1, "a")], robot=RobotAccount(servers_of(a_robot_server())))
    members = target_candidates(memberships(PUBLIC, None, snapshot, desired_nodes(snapshot, ROBOT)[0], ROBOT))

    assert of_roster(members, with_targets(*map(IpTarget, there)), 1, "").targets == expected


def test_robot_servers_while_robot_is_not_enabled() -> None:
    """Their Nodes are nobody's, and addresses are strangers'."""
    snapshot = a_snapshot([ON_ROBOT], [])
    members = target_candidates(memberships(PUBLIC, None, snapshot, {}, DEFAULT))

    assert [(found.membership, found.server) for found in members.members] == [(SERVERLESS, None)]
    assert of_roster(members, with_targets(IpTarget("192.0.2.65")), None, "").foreign == (IpTarget("192.0.2.65"),)
