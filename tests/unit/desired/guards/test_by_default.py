"""The guard ``by-default``: differences that a setting alone makes on what exists, and approvals that name them."""

from collections.abc import Callable, Collection
from dataclasses import replace
from ipaddress import IPv4Address, IPv6Network
from typing import Any

from desired.annotations.choices import Protocol
from desired.annotations.options import Options
from desired.model.key import ObjectKind
from desired.model.load_balancer import (
    Attachment,
    CloudBalancer,
    Health,
    HttpCheck,
    HttpOptions,
    IpTarget,
    Listener,
    SelectorTarget,
    ServerTarget,
)
from desired.model.service import Ingress
from desired.model.settings import AddressFamily, Settings
from desired.model.snapshot import AddressType, NodeAddress, Snapshot
from desired.names import LABEL_EXCLUDE_FROM_BALANCERS
from desired.plan.change import GuardName, Plan, Verdict
from desired.section import Present
from tests.balancers import IN_NETWORK, NETWORK, a_balancer, a_listener, a_world
from tests.builders import a_server, a_settled_node
from tests.support.balancer_plans import HERE, asking, fleet, private, public
from tests.support.balancer_verdicts import judged
from tests.support.rows import rows

BALANCER = "load_balancer/default/web"
STATUS = "service/default/web/status"
ALL = (Ingress("203.0.113.200"), Ingress("2001:db8::200"), Ingress("10.0.0.200"))
PUBLIC = a_balancer(attachments=(HERE,), targets=public(1, 2))
WITHOUT_IPV6 = replace(PUBLIC, ipv6=None)
CLOSED = a_balancer(attachments=(HERE,), targets=private(1, 2), spec={"public_interface": False})


def with_default(**defaults: Any) -> Settings:
    return replace(IN_NETWORK, balancer_defaults=Options(location="fsn1", **defaults))


def a_place(balancer: CloudBalancer, ingress: tuple[Ingress, ...] = ALL, /, **annotations: str) -> Snapshot:
    """Service ``web`` with this load balancer, and two Nodes in network 7."""
    service = replace(asking(**annotations), ingress=ingress)
    return a_world([service], [balancer], network=Present(NETWORK), **fleet(1, 2))


def listening(**fields: Any) -> CloudBalancer:
    return replace(PUBLIC, spec=replace(PUBLIC.spec, listeners={80: replace(a_listener(), **fields)}))


def checked(**fields: Any) -> CloudBalancer:
    return listening(health_check=replace(a_listener().health_check, **fields))


def typed(**limits: Any) -> CloudBalancer:
    """A load balancer of a type with these limits, or those of lb11."""
    return replace(PUBLIC, type=replace(PUBLIC.type, name="lb21", **limits), spec=replace(PUBLIC.spec, type="lb21"))


def held(plan: Plan) -> set[str]:
    """Keys of what the guard holds."""
    return {key for hold in plan.holds if hold.rule is GuardName.BY_DEFAULT for key in hold.keys}


def served(plan: Plan) -> dict[str, Any]:
    """Key → what is wanted, of the load balancer and of its Service."""
    return {change.key: change.after for change in plan.changes if change.owner.kind is ObjectKind.SERVICE}


@rows("balancer ingress defaults keys annotations", {
    "closed": (PUBLIC, ALL, {"disable_public_network": True, "use_private_ip": True},
        {f"{BALANCER}/public", f"{BALANCER}/target/server:1", f"{BALANCER}/target/server:2"},
        {"disable_public_network": "true", "use_private_ip": "true"}),
    "opened": (CLOSED, ALL[2:], {"disable_public_network": False}, {f"{BALANCER}/public"},
        {"disable_public_network": "false"}),
    "a smaller type": (typed(max_targets=75), ALL, {"type": "lb11"}, {f"{BALANCER}/type"}, {"type": "lb11"}),
    "a type for fewer ports": (typed(max_services=6), ALL, {"type": "lb11"}, {f"{BALANCER}/type"}, {"type": "lb11"}),
    "a type of the same size": (typed(), ALL, {"type": "lb11"}, set(), {}),
    "another algorithm": (PUBLIC, ALL, {"algorithm_type": "least_connections"}, set(), {}),
    "the PROXY protocol": (PUBLIC, ALL, {"uses_proxyprotocol": True}, {f"{BALANCER}/listener/80/default"},
        {"uses_proxyprotocol": "true"}),
    "without the PROXY protocol": (listening(proxyprotocol=True), ALL, {"uses_proxyprotocol": False},
        {f"{BALANCER}/listener/80/default"}, {"uses_proxyprotocol": "false"}),
    "a shorter timeout": (checked(timeout_s=10), ALL, {"health_check_timeout": 5}, {f"{BALANCER}/listener/80/default"},
        {"health_check_timeout": "5s"}),
    "fewer retries": (checked(retries=3), ALL, {"health_check_retries": 1}, {f"{BALANCER}/listener/80/default"},
        {"health_check_retries": "1"}),
    "the same timeout, and more retries": (checked(timeout_s=10, retries=3), ALL,
        {"health_check_timeout": 10, "health_check_retries": 5}, set(), {}),
    "reached privately": (PUBLIC, ALL, {"use_private_ip": True},
        {f"{BALANCER}/target/server:1", f"{BALANCER}/target/server:2"}, {"use_private_ip": "true"}),
    "without IPv6": (PUBLIC, ALL, {"ipv6_disabled": True}, {f"{STATUS}/default"}, {"ipv6_disabled": "true"}),
    "without private addresses": (PUBLIC, ALL, {"disable_private_ingress": True}, {f"{STATUS}/default"},
        {"disable_private_ingress": "true"}),
    "private addresses beside public ones": (PUBLIC, ALL[:2], {}, {f"{STATUS}/default"},
        {"disable_private_ingress": "false"}),
    "a private address that is chosen": (PUBLIC, ALL[:2], {}, {f"{STATUS}/default"}, {"private_ipv4": "10.0.0.200"}),
    "private addresses beside IPv4 alone": (WITHOUT_IPV6, ALL[:1], {}, {f"{STATUS}/default"},
        {"disable_private_ingress": "false"}),
    "IPv6 beside IPv4": (PUBLIC, (ALL[0], ALL[2]), {}, set(), {}),
    "without IPv6, which is not published": (PUBLIC, (ALL[0], ALL[2]), {"ipv6_disabled": True}, set(), {}),
    "without IPv6, which is gone": (WITHOUT_IPV6, ALL, {"ipv6_disabled": True}, set(), {}),
    "a hostname in place of addresses": (PUBLIC, ALL, {"ipv6_disabled": True}, {f"{STATUS}/default"},
        {"hostname": "example.com"}),
    "the first addresses": (PUBLIC, (), {}, set(), {}),
    "addresses in place of a hostname": (PUBLIC, (Ingress(hostname="example.com"),), {}, set(), {}),
})  # fmt: skip
def test_a_default_alone_is_held_and_an_annotation_is_not(
    balancer: CloudBalancer, ingress: tuple[Ingress, ...], defaults: Any, keys: set[str], annotations: Any
) -> None:
    settings = with_default(**defaults)
    plan = judged(a_place(balancer, ingress), settings)
    assert held(plan) == keys
    assert [hold.value for hold in plan.holds if hold.rule is GuardName.BY_DEFAULT] == ["1"] * bool(keys)
    assert held(judged(a_place(balancer, ingress, **annotations), settings)) == set()


def test_a_lost_network_keeps_attachment_and_targets() -> None:
    balancer = a_balancer(attachments=(HERE,), targets=private(1))
    service = replace(asking(), ingress=ALL)
    world = a_world([service], [balancer], network=Present(None), **fleet(1, 2))
    plan = judged(world, replace(with_default(), network=None))
    assert served(plan) == {f"{BALANCER}/target/server:2": private(2)[0]}


@rows("defaults", {"unset": {}, "public": {"use_private_ip": False}})
def test_another_network_is_one_difference(defaults: dict[str, Any]) -> None:
    here = Attachment(6, IPv4Address("10.9.0.200"))
    balancer = a_balancer(attachments=(here,), targets=private(1))
    nodes = fleet(1, 2)
    servers = [
        replace(server, private_ips=(*server.private_ips, (6, IPv4Address(f"10.9.0.{server.id}"))))
        for server in nodes["servers"]
    ]
    service = replace(asking(), ingress=(*ALL[:2], Ingress("10.9.0.200")))
    world = a_world([service], [balancer], network=Present(NETWORK), nodes=nodes["nodes"], servers=servers)
    plan = judged(world, with_default(**defaults))
    moves = {f"{BALANCER}/network/6", f"{BALANCER}/network/7"}
    assert held(plan) >= moves
    assert plan.by_key[f"{BALANCER}/target/server:2"].decision.verdict is Verdict.ALLOWED
    assert plan.by_key[f"{BALANCER}/target/server:2"].after == private(2)[0]
    assert not {change.key for change in plan.allowed} & moves


def test_a_node_port_does_not_wait_for_a_default() -> None:
    before = replace(a_listener(), destination_port=31000, health_check=replace(a_listener().health_check, port=31000))
    balancer = replace(PUBLIC, spec=replace(PUBLIC.spec, listeners={80: before}))
    plan = judged(a_place(balancer), with_default(uses_proxyprotocol=True))
    first, rest = plan.by_key[f"{BALANCER}/listener/80"], plan.by_key[f"{BALANCER}/listener/80/default"]
    assert isinstance(first.after, Listener)
    assert (first.after.destination_port, first.after.proxyprotocol) == (a_listener().destination_port, False)
    assert (first.decision.verdict, rest.decision.verdict) == (Verdict.ALLOWED, Verdict.HELD)
    assert (rest.before, rest.after) == (first.after, replace(first.after, proxyprotocol=True))


HTTP = HttpOptions()
BY_HTTP = replace(a_listener().health_check, protocol=Protocol.HTTP, http=HttpCheck())


@rows("balancer annotations expected", {
    "a variable makes it speak as the port": (listening(protocol=Protocol.HTTP, http=HTTP), {},
        {f"{BALANCER}/listener/80/default"}),
    "an annotation does": (listening(protocol=Protocol.HTTP, http=HTTP), {"health_check_retries": "5"}, set()),
    "it does": (listening(protocol=Protocol.HTTP, http=HTTP, health_check=BY_HTTP), {}, set()),
})  # fmt: skip
def test_a_check_that_begins_to_speak_http(
    balancer: CloudBalancer, annotations: dict[str, str], expected: set[str]
) -> None:
    plan = judged(a_place(balancer, ALL, **{"protocol": "http", **annotations}), with_default(health_check_interval=20))
    assert held(plan) == expected
    rest = plan.by_key[f"{BALANCER}/listener/80"].after
    assert isinstance(rest, Listener)
    check = rest.health_check
    assert (check.protocol, check.http is None) == ((Protocol.TCP, True) if expected else (Protocol.HTTP, False))


def test_an_approval_passes_its_names_alone() -> None:
    shop = replace(asking(), name="shop", uid="uid-shop", ingress=ALL)
    other = a_balancer(43, service_uid="uid-shop", attachments=(HERE,), targets=public(1, 2), spec={"name": "shop"})
    world = a_world([replace(asking(), ingress=ALL), shop], [PUBLIC, other], network=Present(NETWORK), **fleet(1, 2))
    settings = with_default(uses_proxyprotocol=True)
    (alone,) = judged(a_place(PUBLIC), settings).holds
    (both,) = judged(world, settings).holds
    assert set(alone.names) < set(both.names)

    plan = judged(world, settings, alone.names)
    (rest,) = (hold for hold in plan.holds if not hold.approved)
    assert {change.owner for change in plan.allowed if change.brings} == {"service/default/web"}
    assert {plan.by_key[key].owner.name for key in rest.keys} == {"default/shop"}
    assert (rest.value, rest.hash == both.hash, both.value) == ("1", False, "2")
    assert judged(world, settings, [both.hash]).allowed == judged(world, settings, both.names).allowed


def test_the_name_of_a_switch_is_the_same_until_the_last_target() -> None:
    """The approval of a switch that takes many passes goes on to count."""
    settings, half = with_default(use_private_ip=True), replace(PUBLIC, targets=(*private(1), *public(2)))
    names = [judged(a_place(each), settings).holds[0].names for each in (PUBLIC, half)]
    assert names[0] == names[1]
    done = judged(a_place(replace(PUBLIC, targets=tuple(private(1, 2)))), settings)
    assert (served(done), done.holds) == ({}, ())


EXCLUDED = {LABEL_EXCLUDE_FROM_BALANCERS: ""}
THREE = (*private(1, 2), *public(3))
STRANGERS = (*(IpTarget(f"10.0.0.{number}") for number in (91, 92, 93)), SelectorTarget("a=b", use_private_ip=True))


@rows("targets unhealthy excluded twins inside way", {
    "most": (THREE, (), (), (), (), private),
    "most of those that answer": (THREE, (1, 2), (), (), (), public),
    "most without one that goes": (THREE, (), {1}, (), (), public),
    "all go": (THREE, (), {1, 2, 3}, (), (), private),
    "one of two Nodes of a server goes": (THREE, (), {1}, (1,), (), private),
    "one has no public address": (THREE, (), (), (), (1,), private),
    "addresses of others": ((*public(1, 2), *STRANGERS), (), (), (), (), public),
})  # fmt: skip
def test_newcomers_are_reached_as_most(
    targets: tuple[Any, ...],
    unhealthy: Collection[int],
    excluded: Collection[int],
    twins: Collection[int],
    inside: Collection[int],
    way: Callable[..., list[ServerTarget]],
) -> None:
    """Targets that go would turn the way for those that join after them; if all go, they say all that is known."""
    checks = {each: Health.UNHEALTHY if each.server_id in unhealthy else Health.HEALTHY for each in private(1, 2)}
    health = {**checks, public(3)[0]: Health.HEALTHY} if targets is THREE else {}
    balancer = a_balancer(attachments=(HERE,), targets=targets, health=health)
    nodes, servers = fleet(1, 2, 3, 4).values()
    nodes = [replace(node, labels=EXCLUDED) if number in excluded else node for number, node in enumerate(nodes, 1)]
    nodes += [a_settled_node(f"twin-{number}", number) for number in twins]
    servers = [replace(server, ipv4=None) if server.id in inside else server for server in servers]
    service = replace(asking(), ingress=ALL)
    world = a_world([service], [balancer], network=Present(NETWORK), nodes=nodes, servers=servers)
    assert served(judged(world, with_default()))[f"{BALANCER}/target/server:4"] == way(4)[0]


SERVER = a_server(1, "web-1", ipv6=IPv6Network("2001:db8:1::/64"), private_ips=((7, IPv4Address("10.0.0.1")),))
OF_NODE = (
    NodeAddress(AddressType.HOSTNAME, "web-1"),
    NodeAddress(AddressType.EXTERNAL_IP, str(SERVER.ipv4)),
    NodeAddress(AddressType.EXTERNAL_IP, "2001:db8:1::1"),
    NodeAddress(AddressType.INTERNAL_IP, "10.0.0.1"),
)
BOTH = replace(with_default(), address_family=AddressFamily.DUALSTACK)


@rows("settings expected", {
    "as it is": (BOTH, set()),
    "no network": (replace(BOTH, network=None), {"HCLOUD_NETWORK"}),
    "one family": (replace(BOTH, address_family=AddressFamily.IPV4), {"HCLOUD_INSTANCES_ADDRESS_FAMILY"}),
})  # fmt: skip
def test_one_node_loses_no_address_by_a_setting(settings: Settings, expected: set[str]) -> None:
    """Its server still has the address. One Node of ten is held as all would be."""
    node, network = a_settled_node("web-1", 1, addresses=OF_NODE), NETWORK if settings.network else None
    plan = judged(a_world([], [], nodes=[node], servers=[SERVER], network=Present(network)), settings)
    assert held(plan) == ({"node/web-1/addresses"} if expected else set())
    assert {each.setting for change in plan.changes for each in change.brings} == expected


def test_a_flag_that_is_lost_takes_no_address_of_a_vpn() -> None:
    """--keep-internal-ips kept it."""
    vpn = NodeAddress(AddressType.INTERNAL_IP, "100.64.0.1")
    node, server = a_settled_node("web-1", 1, addresses=(*OF_NODE[:3], vpn)), replace(SERVER, private_ips=())
    plan = judged(a_world([], [], nodes=[node], servers=[server], network=Present(None)), replace(BOTH, network=None))
    assert held(plan) == {"node/web-1/addresses"}
    assert {each.setting for change in plan.changes for each in change.brings} == {"--keep-internal-ips"}


def test_nodes_that_come_and_go_make_no_other_hold() -> None:
    """The hash is over the differences: an approval that takes its time still fits."""
    settings = with_default(use_private_ip=True)
    (before,) = judged(a_place(PUBLIC), settings).holds
    joined = a_world([replace(asking(), ingress=ALL)], [PUBLIC], network=Present(NETWORK), **fleet(1, 2, 3))
    after = next(hold for hold in judged(joined, settings).holds if hold.rule is GuardName.BY_DEFAULT)
    assert (after.hash, after.names) == (before.hash, before.names)
    other = judged(a_place(replace(PUBLIC, id=43)), settings).holds[0]
    assert other.names != before.names
