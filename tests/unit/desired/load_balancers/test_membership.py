"""Which Nodes may get the traffic of a load balancer, and by which address of theirs."""

from collections.abc import Mapping
from dataclasses import replace
from ipaddress import IPv4Address, IPv4Network, IPv6Network
from typing import Any

import pytest

from desired.annotations.options import Options
from desired.load_balancers.membership import Membership, NodeTarget, Way, node_memberships, way_of
from desired.load_balancers.targets import TargetCache, TargetCandidates, desired_targets
from desired.model.load_balancer import IpTarget, SelectorTarget, ServerTarget, Target
from desired.model.settings import Controller, Settings
from desired.model.snapshot import (
    Network,
    Node,
    NodeAddress,
    Readiness,
    RobotAccount,
    Server,
    Snapshot,
)
from desired.model.taint import Taint
from desired.nodes.node import desired_nodes
from desired.rules import load_balancers as rules
from desired.rules.nodes import PROVIDER_ID_MALFORMED
from desired.rules.rule import Rule
from desired.section import UNMANAGED, Absent, Present, Section, Unknown, Unmanaged
from desired.syntax.selector import Selector, parse_selector
from tests.balancers import a_balancer, a_service
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
from tests.support.rows import rows

TARGET, EXCLUDED, UNUSABLE = Membership.TARGET, Membership.EXCLUDED, Membership.UNUSABLE
SERVERLESS, UNCERTAIN, IGNORED = Membership.SERVERLESS, Membership.UNCERTAIN, Membership.IGNORED
PUBLIC, PRIVATE = Options(), Options(use_private_ip=True)
NETWORK = 7
DEFAULT, ROBOT = Settings(), Settings(robot=True)
SPARED = Settings(ignore_nodes=parse_selector("example.com/spare"))
SPARE = {"example.com/spare": ""}
EXCLUDE = "node.kubernetes.io/exclude-from-external-load-balancers"
OUT = {EXCLUDE: ""}
INSIDE = a_server(private_ips=((6, IPv4Address("10.6.0.2")), (NETWORK, IPv4Address("10.0.0.2"))))
UNREAD: Section[int, Server] = Section(unreadable={1: "server 1 could not be decoded"})
LATE = Unknown("GET timed out")
UNTOLD, SIX_UNSAID, FOUR_UNSAID = (
    a_server(ipv4=ip, missing=frozenset({part}))
    for ip, part in ((IPv4Address("203.0.113.1"), "private_net"), (None, "public_net.ipv6"), (None, "public_net.ipv4"))
)


def selected(
    snapshot: Snapshot, options: Options = PUBLIC, settings: Settings = DEFAULT, *, network: int | None = NETWORK
) -> TargetCandidates:
    cache = TargetCache(snapshot, desired_nodes(snapshot, settings)[0], settings)
    return cache.selected(Way(options.use_private_ip is True, network), options.node_selector)


def member(snapshot: Snapshot, *args: Any, **world: Any) -> NodeTarget:
    (only,) = selected(snapshot, *args, **world).members
    return only


SERVERLESS_ROWS = (rules.WITHOUT_SERVER, rules.WITHOUT_ID, rules.WITH_A_MALFORMED_ID, rules.OF_ANOTHER_CLOUD)
UNKNOWN_ROWS = (rules.ADDRESS_UNSAID, rules.PRIVATE_NETWORK_UNKNOWN, rules.TARGET_SERVER_UNKNOWN)
NO_ADDRESS_ROWS = (rules.WITHOUT_PUBLIC_ADDRESS, rules.PRIVATE_ALONE, rules.WITHOUT_INTERNAL_IP, rules.IN_NO_VSWITCH)
MEMBERSHIPS: Mapping[Rule, Membership] = {
    **dict.fromkeys(
        (rules.TAKES_PUBLIC, rules.TAKES_PUBLIC_INSTEAD, rules.TAKES_PRIVATE, rules.TAKES_INTERNAL), TARGET
    ),
    **dict.fromkeys((rules.LEAVING, rules.EXCLUDED_BY_LABEL, rules.LEAVING_BY_AUTOSCALER), EXCLUDED),
    rules.UNSELECTED: EXCLUDED,
    **dict.fromkeys((*SERVERLESS_ROWS, rules.ON_UNREAD_ROBOT_SERVER, rules.NOT_INITIALIZED), SERVERLESS),
    **dict.fromkeys((*NO_ADDRESS_ROWS, rules.NOT_ATTACHED, rules.WITHOUT_NETWORK, rules.NETWORK_NOT_FOUND), UNUSABLE),
    **dict.fromkeys((*UNKNOWN_ROWS, rules.INTERNAL_IP_LACKING, rules.ROBOT_CREDENTIALS_LACKING), UNCERTAIN),
    rules.NOT_INITIALIZED_YET: UNCERTAIN,
    rules.TARGET_IGNORED: IGNORED,
}
"""What a Node is for each reason."""


def verdict(found: NodeTarget) -> Rule:
    assert found.membership is MEMBERSHIPS[found.reason.rule]
    return found.reason.rule


SIX = a_dual_stack_server(ipv4=None)


@rows("server node_ip expected", {
    "IPv4 as well": (a_dual_stack_server(), None, None),
    "IPv6 alone": (SIX, None, "2001:db8:1::1"),
    "another host, says kubelet": (SIX, "2001:db8:1::5", "2001:db8:1::5"),
    "its second address": (SIX, "10.0.0.2,2001:db8:1::5", "2001:db8:1::5"),
    "a host of somebody else": (SIX, "2001:db8:2::5", "2001:db8:1::1"),
})  # fmt: skip
def test_a_server_without_public_ipv4(server: Server, node_ip: str | None, expected: str | None) -> None:
    found = member(a_snapshot([a_settled_node(provided_node_ip=node_ip)], [server]))
    assert isinstance(found.target, ServerTarget)
    assert found.target.ipv6 == expected
    assert found.reason == rules.TAKES_PUBLIC.because(server="server 1", address=expected or str(server.ipv4))


@rows("options reason", {
    "public": (PUBLIC, rules.TAKES_PUBLIC.because(server="server 1", address="203.0.113.1")),
    "private": (PRIVATE, rules.TAKES_PRIVATE.because(server=1, address="10.0.0.2")),
})  # fmt: skip
def test_a_settled_node_is_a_target(options: Options, reason: Any) -> None:
    target = ServerTarget(1, options.use_private_ip is True)
    expected = NodeTarget("web-1", reason, target, in_cloud(1))
    assert member(a_snapshot([a_settled_node()], [INSIDE]), options) == expected


def with_id(provider_id: str) -> Node:
    return a_settled_node(provider_id=provider_id)


@rows("node server expected server_id", {
    "no providerID": (a_node(), a_server(), rules.WITHOUT_ID, None),
    "robot": (with_id("hrobot://1"), a_server(), rules.ON_UNREAD_ROBOT_SERVER, None),
    "foreign": (with_id("aws:///eu/i-1"), a_server(), rules.OF_ANOTHER_CLOUD, None),
    "malformed id": (with_id("hcloud://one"), a_server(), rules.WITH_A_MALFORMED_ID, None),
    "lost": (a_lost_node(), a_server(2, "db-1"), rules.WITHOUT_SERVER, 1),
    "in the network alone": (a_settled_node(), replace(INSIDE, ipv4=None), rules.PRIVATE_ALONE, 1),
    "public IPv6 not told": (a_settled_node(), SIX_UNSAID, rules.ADDRESS_UNSAID, 1),
    "public IPv4 not told": (a_settled_node(), FOUR_UNSAID, rules.ADDRESS_UNSAID, 1),
})  # fmt: skip
def test_by_public_address(node: Node, server: Server, expected: Rule, server_id: int | None) -> None:
    found = member(a_snapshot([node], [server]))
    assert verdict(found) is expected
    assert found.server == (in_cloud(server_id) if server_id else None)
    assert (found.target is not None) is (MEMBERSHIPS[expected] is TARGET)


KNOWN: Present[Network | None] = Present(Network(NETWORK, "private"))
ELSEWHERE = a_server(private_ips=((6, IPv4Address("10.6.0.2")),))


UNLISTED = "not in the list, "
REPORTS, FAILED = f"{UNLISTED}but the kubelet reports Ready", f"{UNLISTED}and its lookup failed: GET timed out"


@rows("server network_id network expected", {
    "in another network": (ELSEWHERE, NETWORK, KNOWN, rules.NOT_ATTACHED),
    "private addresses not told": (UNTOLD, NETWORK, KNOWN, rules.ADDRESS_UNSAID),
    "no network": (INSIDE, None, Present(None), rules.WITHOUT_NETWORK),
    "network not in the project": (INSIDE, None, Absent(), rules.NETWORK_NOT_FOUND),
    "network not read": (INSIDE, None, Unknown("timed out"), rules.PRIVATE_NETWORK_UNKNOWN),
})  # fmt: skip
def test_by_private_address(server: Server, network_id: int | None, network: Any, expected: Rule) -> None:
    """Nothing becomes a target by an address that it does not have, and what is not known stays."""
    snapshot = a_snapshot([a_settled_node()], [server], network=network)
    assert verdict(member(snapshot, PRIVATE, network=network_id)) == expected


@rows("node world cause", {
    "not in part of a list": (a_settled_node(), {"servers_section": incomplete(servers_of())}, "page 2 timed out"),
    "unreadable": (a_settled_node(), {"servers_section": UNREAD}, "server 1 could not be decoded"),
    "ready": (a_settled_node(), {}, REPORTS),
    "silent": (a_lost_node(), {}, ""),
    "silent and not to be asked for": (a_lost_node(), {"confirmations": {1: LATE}}, FAILED),
})  # fmt: skip
def test_a_server_that_the_list_lacks(node: Node, world: Mapping[str, Any], cause: str) -> None:
    """A list may lag or have a gap: nobody becomes a target by that, and nothing is gone that a kubelet or a failed
    question speaks for."""
    found = member(a_snapshot([node], **world))
    assert found.membership is (UNCERTAIN if cause else SERVERLESS)
    assert not cause or found.reason == rules.TARGET_SERVER_UNKNOWN.because(cause=cause)


SERVER = {"servers": [a_server()]}


@rows("parts expected", {
    "found by name": (SERVER, rules.TAKES_PUBLIC),
    "no server": ({"servers": [a_server(2, "db-1")]}, rules.NOT_INITIALIZED),
    "an unreadable server": ({"servers_section": UNREAD}, rules.NOT_INITIALIZED_YET),
    "the network not read": (SERVER | {"network": Unknown("timed out")}, rules.NOT_INITIALIZED_YET),
})  # fmt: skip
def test_a_node_that_joins(parts: dict[str, Any], expected: Rule) -> None:
    """A Node is a target by the providerID that it will have, so that it costs no second pass."""
    settings = Settings(network="7") if "network" in parts else DEFAULT
    found = member(a_snapshot([a_joining_node()], **parts), PUBLIC, settings)
    assert (verdict(found), found.joins) == (expected, MEMBERSHIPS[expected] is TARGET)


ALONE = Settings(controllers=frozenset({Controller.SERVICE}))


@rows("node settings expected joins", {
    "where that is not ours": ({"provider_id": "hcloud://1"}, ALONE, rules.TAKES_PUBLIC, False),
    "where that is not ours, without an id": ({}, ALONE, rules.NOT_INITIALIZED, False),
    "excluded": ({"labels": OUT}, DEFAULT, rules.EXCLUDED_BY_LABEL, True),
})  # fmt: skip
def test_a_node_that_joins_with_a_provider_id(
    node: dict[str, Any], settings: Settings, expected: Rule, joins: bool
) -> None:
    """Its initialization goes first; where that is impossible or not ours, the providerID alone makes it a target."""
    snapshot = a_snapshot([a_joining_node(**node)], [a_server()])
    nodes = {} if settings is ALONE else desired_nodes(snapshot, settings)[0]
    (found,) = node_memberships(Way(False, NETWORK), snapshot, nodes, settings)
    assert (found.reason.rule, found.joins) == (expected, joins)


@rows("node server_id", {
    "settled": (a_settled_node(labels=SPARE), 1),
    "lost": (a_lost_node(labels=SPARE, server_id=3), 3),
    "joining": (a_joining_node(labels=SPARE), None),
})  # fmt: skip
def test_an_ignored_node(node: Node, server_id: int | None) -> None:
    """What ``--ignore-nodes`` selects is none of our business, whatever else is true of it."""
    found = member(a_snapshot([node], [a_server()]), PUBLIC, SPARED)
    assert verdict(found) is rules.TARGET_IGNORED
    assert found.server == (in_cloud(server_id) if server_id else None)


def test_every_node_is_there_in_the_order_of_names() -> None:
    """Unreadable, malformed, foreign and lost ones block nobody; only a Node without a server has its note here."""
    nodes = (a_settled_node("c", 3), a_settled_node("a", 1), with_id("hcloud://x"), a_lost_node("d", 4))
    section = replace(nodes_of(*nodes), unreadable={"b": "no uid"})
    snapshot = a_snapshot(nodes_section=section, servers=[a_server(3, "c"), a_server(1, "a")])
    found = node_memberships(Way(False), snapshot, desired_nodes(snapshot, DEFAULT)[0], DEFAULT)

    told = [each.told and each.told.rule for each in found]
    assert [(each.node, each.membership, each.server and each.server.id) for each in found] == [
        ("a", TARGET, 1),
        ("b", UNCERTAIN, None),
        ("c", TARGET, 3),
        ("d", SERVERLESS, 4),
        ("web-1", SERVERLESS, None),
    ]
    assert told == [None, None, None, None, PROVIDER_ID_MALFORMED]


DOOMED = Taint("ToBeDeletedByClusterAutoscaler", "NoSchedule", "1751371200")
CONTROL_PLANE = "node-role.kubernetes.io/control-plane"


def why_excluded(node: Node, selector: Selector | Unmanaged = UNMANAGED) -> Rule | None:
    """The rule that leaves it out."""
    found = member(a_snapshot([node], [a_server()]), Options(node_selector=selector))
    return found.reason.rule if found.membership is EXCLUDED else None


@rows("node row", {
    "being deleted": ({"deleted_at": NOW}, rules.LEAVING),
    "chosen by the autoscaler": ({"taints": (DOOMED,)}, rules.LEAVING_BY_AUTOSCALER),
    "cordoned": ({"unschedulable": True}, None),
    "not ready": ({"ready": Readiness.FALSE}, None),
    "as kubeadm labels it": ({"labels": {CONTROL_PLANE: "", EXCLUDE: ""}}, rules.EXCLUDED_BY_LABEL),
    "the rule that lasts": ({"deleted_at": NOW, "labels": OUT, "taints": (DOOMED,)}, rules.LEAVING),
    "the label before the taint": ({"labels": OUT, "taints": (DOOMED,)}, rules.EXCLUDED_BY_LABEL),
})  # fmt: skip
def test_reasons_to_leave_a_node_out(node: dict[str, Any], row: Rule | None) -> None:
    """What leaves a Node out, and what has no say; a Node without a trace of these may get traffic. No selector changes
    the reason."""
    assert why_excluded(a_settled_node(**node)) is row
    assert row is None or why_excluded(a_settled_node(**node), parse_selector("pool")) is row


@rows("values is_out", {
    "what Go takes for false": (("0", "f", "F", "FALSE", "false", "False"), False),
    "what it takes for true": (("1", "t", "T", "TRUE", "true", "True"), True),
    "no boolean": (("", "no", "fALSE", "00"), True),
})  # fmt: skip
def test_the_label(values: tuple[str, ...], is_out: bool) -> None:
    """Only what Go takes for false takes the label back."""
    for value in values:
        row = why_excluded(a_settled_node(labels={EXCLUDE: value}))
        assert row is (rules.EXCLUDED_BY_LABEL if is_out else None), value


@pytest.mark.parametrize("text", ["pool=web", "pool in (web,db)", "pool!=web", "pool in (web,db),!gpu", "gpu,pool=db"])
def test_the_selector(text: str) -> None:
    """Many Nodes asked at once are the same as each of them asked alone, by the labels that it has now and the whole
    grammar, with the one that could not be read in its place."""
    labels = [{"pool": "web"}, {"pool": "db", "gpu": ""}, {}, {"pool": "web", "gpu": "1"}, {"pool": ""}]
    nodes = [a_settled_node(f"n-{number}", number, labels=each) for number, each in enumerate(labels, start=1)]
    servers = [a_server(number, f"n-{number}") for number in range(1, len(nodes) + 1)]
    section = replace(nodes_of(*nodes), unreadable={"n-3b": "broken"})
    selector = parse_selector(text)

    found = selected(a_snapshot(servers=servers, nodes_section=section), Options(node_selector=selector)).members

    asked = {node.name: TARGET if selector.matches(node.labels) else EXCLUDED for node in nodes}
    assert {each.node: each.membership for each in found} == asked | {"n-3b": UNCERTAIN}
    assert [each.node for each in found] == sorted(each.node for each in found)
    assert {each.reason.rule for each in found if each.membership is EXCLUDED} <= {rules.UNSELECTED}
    assert why_excluded(a_settled_node(), Selector("", ())) is None


INTERNAL = NodeAddress("InternalIP", "10.1.0.1")
ON_ROBOT = a_settled_node(
    provider_id="hrobot://321",
    addresses=(NodeAddress("Hostname", "web-1"), NodeAddress("ExternalIP", "192.0.2.65"), INTERNAL),
)
BARE = replace(ON_ROBOT, addresses=())
OUTAGE: Section[int, Server] = Section.missing("the webservice answers 503")
METAL = servers_of(a_robot_server())
SIXES = servers_of(a_robot_server(ipv4=None, ipv6=IPv6Network("2001:db8:3::/64")))


@rows("node options account expected ip", {
    "IPv6 alone": (ON_ROBOT, PUBLIC, SIXES, rules.TAKES_PUBLIC, "2001:db8:3::1"),
    "its Node's InternalIP": (ON_ROBOT, PRIVATE, METAL, rules.TAKES_INTERNAL, "10.1.0.1"),
    "no InternalIP": (BARE, PRIVATE, METAL, rules.TAKES_PUBLIC_INSTEAD, "192.0.2.65"),
    "Robot is out of reach, and not asked": (ON_ROBOT, PRIVATE, OUTAGE, rules.TAKES_INTERNAL, "10.1.0.1"),
    "gone, and Ready": (ON_ROBOT, PUBLIC, servers_of(a_robot_server(7)), rules.TARGET_SERVER_UNKNOWN, None),
    "without credentials, by public ones": (ON_ROBOT, PUBLIC, None, rules.ROBOT_CREDENTIALS_LACKING, None),
    "neither": (BARE, PRIVATE, None, rules.INTERNAL_IP_LACKING, None),
})  # fmt: skip
def test_robot_servers(
    node: Node, options: Options, account: Section[int, Server] | None, expected: Rule, ip: str | None
) -> None:
    """Exactly one address each: as HCCM, but unknown is not absent."""
    robot = None if account is None else RobotAccount(account)
    found = member(a_snapshot([node], [], robot=robot), options, ROBOT)
    assert verdict(found) is expected
    assert (found.target, found.server) == (IpTarget(ip) if ip else None, in_robot(321))


@rows("vswitches is_in", {
    "not known": (None, True),
    "in the vSwitch": (("10.1.0.0/24",), True),
    "none": ((), False),
    "another": (("10.2.0.0/24",), False),
})  # fmt: skip
def test_private_addresses_outside_of_the_vswitch(vswitches: tuple[str, ...] | None, is_in: bool) -> None:
    """Hetzner takes none: no new target, and one that is there stays."""
    ranges = None if vswitches is None else tuple(map(IPv4Network, vswitches))
    network = Present(Network(NETWORK, "private", vswitches=ranges))
    snapshot = a_snapshot([ON_ROBOT], [], robot=RobotAccount(METAL), network=network)
    present = a_balancer(targets=[IpTarget("10.1.0.1")])
    (found,) = node_memberships(Way(True, NETWORK), snapshot, {}, ROBOT)
    (there,) = node_memberships(way_of(a_service(), PRIVATE, present, snapshot), snapshot, {}, ROBOT)

    assert verdict(found) is (rules.TAKES_INTERNAL if is_in else rules.IN_NO_VSWITCH)
    assert found.keeps_its_target is not is_in
    assert there.membership is TARGET


def candidates(nodes: list[Node], *, options: Options = PUBLIC, cloud: tuple[Server, ...] = ()) -> TargetCandidates:
    robot = RobotAccount(servers_of(a_robot_server(321), a_robot_server(7)))
    return selected(a_snapshot(nodes, cloud, robot=robot), options, ROBOT)


def wanted(found: TargetCandidates, *there: Target, most: int | None = None) -> set[Target]:
    return set(desired_targets(found, a_balancer(targets=there), most, "").targets)


STRANGER, SELECTED = IpTarget("198.51.100.7"), SelectorTarget("pool=web", use_private_ip=False)


def test_owners_of_addresses() -> None:
    """All of a Robot server and of its Node; one that two Nodes have is nobody's, and so is one of a cloud Node."""
    second = (INTERNAL, NodeAddress("InternalIP", "x"))
    nodes = [replace(ON_ROBOT, name="a"), a_settled_node("b", provider_id="hrobot://7", addresses=second)]
    cloud = a_settled_node("c", 3, addresses=(NodeAddress("ExternalIP", "203.0.113.3"),))
    found = candidates([*nodes, cloud], cloud=(a_server(3, "c"),))
    told = {ip: found.server_of(IpTarget(ip)) for ip in ("192.0.2.65", "192.0.2.7", "10.1.0.1", "203.0.113.3")}
    assert told == {"192.0.2.65": in_robot(321), "192.0.2.7": in_robot(7), "10.1.0.1": None, "203.0.113.3": None}
    assert found.server_of(SELECTED) is None


@rows("other is_taken", {
    "a Node with the same server, and the same address": (replace(ON_ROBOT, name="other"), True),
    "a Node with the same server, and another address": (replace(ON_ROBOT, name="other",
        addresses=(NodeAddress("InternalIP", "10.1.0.66"),)), False),
    "a Node with another server, and the same address": (a_settled_node("other", provider_id="hrobot://7",
        addresses=(INTERNAL,)), False),
    "a cloud server with the same address": (a_settled_node("other", 5), False),
})  # fmt: skip
def test_an_address_of_two_nodes(other: Node, is_taken: bool) -> None:
    """Nothing comes, and nothing that is there goes; two Nodes that agree are one target."""
    cloud = (a_server(5, "other", private_ips=((7, IPv4Address("10.1.0.1")),)),) if "hcloud" in str(other) else ()
    found = candidates([ON_ROBOT, other], options=PRIVATE, cloud=cloud)
    assert wanted(found, IpTarget("10.1.0.1")) - {ServerTarget(5, True)} == {IpTarget("10.1.0.1")}
    assert (IpTarget("10.1.0.1") in wanted(found)) is is_taken


def test_a_kubelet_that_reports_addresses_of_others() -> None:
    """Public ones are the server's by Robot's word alone: strangers' targets stay, however many a Node names."""
    strangers = [IpTarget(f"198.51.100.{number}") for number in range(1, 20)]
    node = replace(ON_ROBOT, addresses=tuple(NodeAddress("InternalIP", each.ip) for each in strangers))
    assert wanted(candidates([node]), *strangers) == {*strangers, IpTarget("192.0.2.65")}


@rows("account is_known", {
    "whole": (servers_of(a_robot_server(321), a_robot_server(7)), True),
    "with a gap": (incomplete(servers_of(a_robot_server(321), a_robot_server(7))), False),
    "beside one that is unreadable": (replace(servers_of(a_robot_server(7)), unreadable={321: "no ip"}), False),
})  # fmt: skip
def test_a_robot_server_that_is_no_node(account: Section[int, Server], is_known: bool) -> None:
    """It loses its target, but for a list with a gap: a Node that joins may be any of those in it."""
    found = selected(a_snapshot([], [], robot=RobotAccount(account)), PUBLIC, ROBOT)
    there = IpTarget("192.0.2.7")
    assert found.server_of(there) == (in_robot(7) if is_known else None)
    assert wanted(found, there) == (set() if is_known else {there})


@rows("options kept", {"public": (PUBLIC, "192.0.2.65"), "private": (PRIVATE, "10.1.0.1")})
def test_exactly_one_address(options: Options, kept: str) -> None:
    found = wanted(candidates([ON_ROBOT], options=options), IpTarget("192.0.2.65"), IpTarget("10.1.0.1"), STRANGER)
    assert found == {IpTarget(kept), STRANGER}


@rows("there expected", {
    "by the names of Nodes": ((), ServerTarget(1, use_private_ip=False)),
    "an address that is there keeps its place": (("192.0.2.65",), IpTarget("192.0.2.65")),
    "and by whichever address": (("10.1.0.1",), IpTarget("192.0.2.65")),
    "a stranger's takes one as well": (("198.51.100.7",), STRANGER),
})  # fmt: skip
def test_addresses_take_the_places_of_a_type(there: tuple[str, ...], expected: Target) -> None:
    found = candidates([replace(ON_ROBOT, name="z"), a_settled_node("a", 1)], cloud=(a_server(1, "a"),))
    assert wanted(found, *map(IpTarget, there), most=1) == {expected}
