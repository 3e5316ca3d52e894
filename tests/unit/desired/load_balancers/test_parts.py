"""Each part of a load balancer that is there: nothing is planned for what is equal, one change for what is not."""

from dataclasses import replace
from ipaddress import IPv4Address, IPv4Network
from typing import Any

from desired.annotations.choices import Protocol
from desired.annotations.claims import ClaimedPort
from desired.load_balancers.parts import may_return
from desired.model.load_balancer import (
    Attachment,
    CloudBalancer,
    Health,
    HttpOptions,
    Identity,
    IpTarget,
    Listener,
    SelectorTarget,
    ServerTarget,
    Target,
    is_private,
)
from desired.model.service import Service
from desired.model.snapshot import Network
from desired.plan.change import Change, State, Verdict
from desired.plan.kinds import Verb
from desired.rules import load_balancer_changes as rules
from desired.rules.load_balancers import CERTIFICATE_TO_CREATE, EXCLUDED_BY_LABEL, PORT_KEEPS_CERTIFICATE
from desired.rules.rule import Plain, Rule
from desired.section import Absent, Present, Unknown
from tests.balancers import (
    DEFAULT_NAME,
    IN_NETWORK,
    LB21,
    NETWORK,
    SERVICE_UID,
    a_balancer,
    a_listener,
    a_world,
    an_http_listener,
)
from tests.builders import a_joining_node, a_server, a_settled_node
from tests.support.balancer_changes import BALANCER, a_part, a_wish
from tests.support.balancer_plans import HERE, INSIDE, asking, fleet, part_of, plan_of, private, public, said
from tests.support.balancer_verdicts import judged
from tests.support.rows import rows

OURS = dict(a_balancer().spec.labels)
ATTACHED = a_balancer(attachments=(HERE,))
PRIVATE = a_balancer(attachments=(HERE,), targets=private(1))
ELSEWHERE = Attachment(8, IPv4Address("10.8.0.9"))
ONE, TWO, ONE_INSIDE = *public(1, 2), *private(1)
ENCRYPTED = HttpOptions("HCLBSTICKY", 300, 50, (5,), redirect_http=False, sticky_sessions=False)
OVER_TLS = an_http_listener(443, 30443, protocol=Protocol.HTTPS, http=ENCRYPTED)
UNREAD: dict[str, Any] = {"network": Unknown("500"), "settings": IN_NETWORK}
BY_PRIVATE, BY_PUBLIC = {"use_private_ip": "true"}, {"use_private_ip": "false"}
INTERNAL_ALONE = BY_PRIVATE | {"disable_public_network": "true"}
PUBLIC = {"disable_public_network": "false"}


def parts(service: Service, balancer: CloudBalancer, **world: Any) -> tuple[Change, ...]:
    plan = plan_of(service, balancer, **world)
    return tuple(change for change in plan.changes if change.key.startswith(f"{BALANCER}/"))


def part(name: str, before: State | None, after: State | None, row: Rule, *lost: Rule, **more: Any) -> Change:
    facts = {key: value for key, value in more.items() if isinstance(value, Plain)}
    others = {key: value for key, value in more.items() if key not in facts}
    return a_part(name, before, after, row.text(**facts), *(each.text(**facts) for each in lost), **others)


@rows("service balancer world", {
    "no-reverse-name-as-null": (asking(ipv6_rdns=""), a_balancer(spec={"ipv6_rdns": None}), {}),
    "no-address-to-name": (asking(ipv6_rdns="a.example.com"), a_balancer(ipv6=None), {}),
    "range-once-attached": (asking(private_subnet_ip_range="10.0.0.0/25"), ATTACHED, INSIDE),
    "another-place": (asking(location="nbg1", network_zone="us-east"), a_balancer(), {}),
    "a-node-port-still-to-come": (asking(ClaimedPort(80)), a_balancer(), {}),
    # What is uncertain stays as it is, in whatever order the API lists it.
    "two-targets-of-an-unlisted-server": (asking(), replace(ATTACHED, targets=(ONE, ONE_INSIDE)),
        INSIDE | {"servers": []}),
    "the-other-way-round": (asking(), replace(ATTACHED, targets=(ONE_INSIDE, ONE)), INSIDE | {"servers": []}),
})  # fmt: skip
def test_nothing_differs(service: Service, balancer: CloudBalancer, world: dict[str, Any]) -> None:
    assert parts(service, balancer, **world) == ()


BLUE = OURS | {"team": "blue"}
UNCLAIMED = a_balancer(cluster_uid=None).spec.labels


@rows("options balancer change", {
    "name-with-the-labels-of-others": ({"name": "shop"}, {"spec": {"labels": BLUE}},
        part("identity", Identity(DEFAULT_NAME, BLUE), Identity("shop", BLUE), rules.RENAMED)),
    "name-and-our-label-with-it": ({"name": "shop"}, {"cluster_uid": None},
        part("identity", Identity(DEFAULT_NAME, UNCLAIMED), Identity("shop", OURS), rules.RENAMED)),
    "first-reverse-name-of-ipv6": ({"ipv6_rdns": "a.de"}, {},
        a_part("rdns/ipv6", None, "a.de", rules.REVERSE_NAME_CHANGED.text(), verb=Verb.MODIFY)),
})  # fmt: skip
def test_identity_and_reverse_names(options: dict[str, str], balancer: dict[str, Any], change: Change) -> None:
    assert parts(asking(**options), a_balancer(**balancer)) == (change,)


def checked(listener: Listener, **fields: Any) -> Listener:
    return replace(listener, health_check=replace(listener.health_check, **fields))


NEXT = checked(a_listener(80, 30081), port=30081)


@rows("service before after", {
    "node-port": (asking(ClaimedPort(80, "TCP", 30081)), a_listener(), NEXT),
    "interval": (asking(health_check_interval="5s"), a_listener(), checked(a_listener(), interval_s=5)),
    "tcp-to-http": (asking(protocol="http"), a_listener(), a_listener(protocol=Protocol.HTTP, http=HttpOptions())),
})  # fmt: skip
def test_a_listener_that_differs(service: Service, before: Listener, after: Listener) -> None:
    assert parts(service, a_balancer(listeners=[before])) == (
        part("listener/80", before, after, rules.PORT_CHANGED, port=80),
    )


def test_listeners_come_and_go() -> None:
    """A port that is asked for, one that is not, and one that is as it should be. Another protocol alone takes the
    listener of its number away."""
    service = asking(ClaimedPort(80, "TCP", 30080), ClaimedPort(443, "TCP", 30443))
    removed = rules.PORT_REMOVED, rules.PORT_CLOSED
    assert parts(service, a_balancer(listeners=[a_listener(), a_listener(22, 30022)])) == (
        part("listener/443", None, a_wish(443, 30443), rules.PORT_ADDED, port=443),
        part("listener/22", a_listener(22, 30022), None, *removed, port=22, follows=(f"{BALANCER}/listener/443",)),
    )
    (gone,) = parts(asking(ClaimedPort(80, "UDP", 30080)), a_balancer())
    assert (gone.key, gone.after) == (f"{BALANCER}/listener/80", None)


WAITS = {"protocol": "https", "certificate_type": "managed", "http_managed_certificate_domains": "a.de"}


def test_a_port_keeps_its_certificate_while_the_next_one_is_issued() -> None:
    """A new port on the Nodes does not wait for the CA."""
    service = asking(ClaimedPort(443, "TCP", 30444), **WAITS)
    plan = plan_of(service, a_balancer(listeners=[OVER_TLS]), certificates=[])
    (after,) = (change.after for change in plan.changes if change.key == f"{BALANCER}/listener/443")
    moved = replace(OVER_TLS, destination_port=30444)
    assert after == checked(moved, port=30444)
    pending = CERTIFICATE_TO_CREATE.text(name=f"ccm-managed-certificate-{SERVICE_UID}")
    assert said(plan) == [PORT_KEEPS_CERTIFICATE.text(port=443, cause=pending)]
    bare = plan_of(service, a_balancer(listeners=[an_http_listener(443, 30443)]), certificates=[])
    assert said(bare) == []


def placed(before: Attachment | None, after: Attachment | None, row: Rule, *lost: Rule, **more: Any) -> Change:
    address = str((before or HERE).ip) if lost else "10.0.0.9"
    return part(f"network/{(after or before or HERE).network_id}", before, after, row, *lost, address=address, **more)


CHOSEN, LOST = Attachment(7, IPv4Address("10.0.0.9")), rules.PRIVATE_ADDRESS_LOST
IN_RANGE = replace(CHOSEN, ip_range=IPv4Network("10.0.0.0/24"))
READDRESSED = part("network/7", HERE, CHOSEN, rules.PRIVATE_ADDRESS_CHANGED, address="10.0.0.9")
READDRESSED = replace(READDRESSED, consequences=(LOST.text(address="10.0.0.200"),))
AFTER_8: dict[str, Any] = {"depends_on": (f"{BALANCER}/network/8",), "follows": (f"{BALANCER}/network/8",)}


@rows("options present world changes", {
    "switched-on-with-an-address": ({"private_ipv4": "10.0.0.9", "private_subnet_ip_range": "10.0.0.0/24"}, (), INSIDE,
        [placed(None, IN_RANGE, rules.NETWORK_ADDED)]),
    "another-address": ({"private_ipv4": "10.0.0.9"}, (HERE,), INSIDE, [READDRESSED]),
    "another-network": ({}, (ELSEWHERE,), INSIDE,
        [placed(None, Attachment(7), rules.NETWORK_ADDED, **AFTER_8),
        placed(ELSEWHERE, None, rules.NETWORK_REPLACED, LOST)]),
    "not-known-which": ({}, (ELSEWHERE,), UNREAD, []),
    "no-such-network": ({}, (ELSEWHERE,), {"network": Absent(), "settings": IN_NETWORK}, []),
})  # fmt: skip
def test_the_place_in_a_network(
    options: dict[str, str], present: tuple[Attachment, ...], world: dict[str, Any], changes: list[Change]
) -> None:
    assert parts(asking(**options), a_balancer(attachments=present), **world) == tuple(changes)


OFF = [part("public", True, False, rules.PUBLIC_OFF, rules.UNREACHABLE_OUTSIDE)]
ON = [part("public", False, True, rules.PUBLIC_ON)]
CLOSED = a_balancer(targets=(), spec={"public_interface": False})


@rows("options balancer world changes", {
    "off": (INTERNAL_ALONE, PRIVATE, INSIDE, OFF),
    "on-without-a-network": (PUBLIC, CLOSED, fleet(), ON),
    "off-without-a-network-that-is-known": (INTERNAL_ALONE, a_balancer(targets=()), UNREAD, []),
})  # fmt: skip
def test_the_public_interface(
    options: dict[str, str], balancer: CloudBalancer, world: dict[str, Any], changes: list[Change]
) -> None:
    """Only who says something of it gets it changed, and never without a network to be reached by instead."""
    assert parts(asking(**options), balancer, **fleet(1) | world) == tuple(changes)


JOINING = {"nodes": [a_settled_node(), a_joining_node("web-2")], "servers": [a_server(), a_server(2, "web-2")]}
IDLE = fleet(1) | {"servers": [a_server(), a_server(2, "db-1")]}
EXCLUDED = a_settled_node("web-2", 2, labels={"node.kubernetes.io/exclude-from-external-load-balancers": ""})
INSIDE_1 = INSIDE | fleet(1)


def added(before: State | None, after: Any, number: int, address: str, *needed: str) -> Change:
    name, row = f"target/server:{number}", rules.TARGET_ADDED
    return part(name, before, after, row, node=f"Node web-{number}", address=f"{address} address", depends_on=needed)


def removed(row: Rule, *lost: Rule, **facts: Plain) -> Change:
    return part("target/server:2", TWO, None, row, *lost, server="server 2", target="server 2", **facts)


WITHOUT = rules.TARGET_WITHOUT_TRAFFIC


@rows("options present world change", {
    "a-node-that-joins": ({}, [ONE], JOINING, added(None, TWO, 2, "public", "node/web-2")),
    "by-the-public-address": (BY_PUBLIC, [ONE_INSIDE], INSIDE_1, added(ONE_INSIDE, ONE, 1, "public")),
    "a-server-that-is-no-node": ({}, [ONE, TWO], IDLE, removed(rules.TARGET_WITHOUT_NODE, WITHOUT)),
    "a-node-that-is-left-out": ({}, [ONE, TWO], fleet(1, 2) | {"nodes": [a_settled_node(), EXCLUDED]},
        removed(rules.TARGET_EXCLUDED, WITHOUT, node="web-2", cause=EXCLUDED_BY_LABEL.says)),
})  # fmt: skip
def test_targets(options: dict[str, str], present: Any, world: dict[str, Any], change: Change) -> None:
    balancer = a_balancer(attachments=(HERE,) if "network" in world else (), targets=present)
    assert parts(asking(**options), balancer, **world) == (change,)


def needs(service: Service, balancer: CloudBalancer, **world: Any) -> dict[str, list[str]]:
    """Part → the parts that have to be done first, ``1`` for ``target/server:1``."""

    def short(key: str) -> str:
        return key.removeprefix(f"{BALANCER}/").removeprefix("target/server:")

    return {short(change.key): [*map(short, change.depends_on)] for change in parts(service, balancer, **world)}


TO_PRIVATE = {
    "network/7": [],
    "1": ["network/7", "2"],
    "2": ["network/7"],
    "3": [],
    "public": ["1", "2", "3", "network/7"],
}
TO_PUBLIC = {"public": [], "1": ["public", "2"], "2": ["public"], "3": []}
SEEN_INSIDE = a_balancer(attachments=(HERE,), targets=private(1, 3), spec={"public_interface": False})
IN_BOTH = a_server(1, "web-1", private_ips=((7, IPv4Address("10.0.0.1")), (8, IPv4Address("10.8.0.1"))))
COMES_AFTER = {"network/8": [], "network/7": ["network/8"], "1": ["network/7"]}
COMES_BACK = {"network/7": [], "1": ["network/7"], "2": ["network/7"], "3": []}
MOVES = BY_PRIVATE | {"private_ipv4": "10.0.0.9"}


@rows("options balancer world expected", {
    "private-targets-wait-for-the-network-and-the-interface-for-them": (INTERNAL_ALONE,
        a_balancer(targets=public(1, 3)), INSIDE | fleet(1, 2), TO_PRIVATE),
    "public-targets-wait-for-the-interface": (PUBLIC | BY_PUBLIC, SEEN_INSIDE, INSIDE | fleet(1, 2), TO_PUBLIC),
    "who-stays-comes-back-with-the-network-and-who-is-new-does-not-wait": (MOVES,
        replace(PRIVATE, targets=tuple(private(1, 2))), INSIDE | fleet(1, 2, 3), COMES_BACK),
    "who-stays-comes-back-with-another-network": (BY_PRIVATE, a_balancer(attachments=(ELSEWHERE,), targets=private(1)),
        INSIDE | fleet(1) | {"servers": [IN_BOTH]}, COMES_AFTER),
})  # fmt: skip
def test_needs_among_parts(
    options: dict[str, str], balancer: CloudBalancer, world: dict[str, Any], expected: dict[str, list[str]]
) -> None:
    assert needs(asking(**options), balancer, **world) == expected


def test_a_target_lost_with_the_network_goes_first() -> None:
    """What holds the removal of a target, holds the load balancer in the network by which it is reached."""
    world = INSIDE | {"nodes": [], "servers": [a_server(9)]}
    found = needs(asking(**BY_PRIVATE), a_balancer(attachments=(ELSEWHERE,), targets=private(9)), **world)
    assert found == {"9": [], "network/8": ["9"], "network/7": ["network/8"]}


def large(*targets: Any, **overrides: Any) -> CloudBalancer:
    return a_balancer(targets=targets, type=LB21, spec={"type": "lb21"}, **overrides)


def ports(count: int) -> list[Listener]:
    return [a_listener(80 + number, 30080 + number) for number in range(count)]


@rows("options balancer world expected", {
    "targets": ({}, large(*public(*range(1, 31))), fleet(*range(1, 6)), {str(n) for n in range(6, 31)}),
    "ports": ({}, large(listeners=ports(6)), fleet(1), {f"listener/{port}" for port in range(81, 86)}),
    # What leaves with the network, and is added again, is there once: it was counted twice.
    "what-comes-back": (MOVES | {"private_ipv4": "10.0.0.99"}, large(*private(*range(1, 21)), attachments=(HERE,)),
        INSIDE | fleet(*range(2, 21)), set()),
    "a-larger-one-makes-room-itself": ({"type": "lb21"}, a_balancer(targets=public(*range(1, 26))),
        fleet(*range(1, 16), *range(30, 90)), set()),
})  # fmt: skip
def test_a_smaller_type_needs_room(
    options: dict[str, str], balancer: CloudBalancer, world: dict[str, Any], expected: set[str]
) -> None:
    """A type that does not hold what is there would be refused until the removals are done."""
    found = needs(asking(**{"type": "lb11"} | options), balancer, **world)
    assert set(found["type"]) == expected


ROBOT, EDGE = IpTarget("10.0.0.77"), SelectorTarget("role in (edge,worker),!spare", use_private_ip=True)
READDRESSING = {"private_ipv4": "10.0.0.9"}


@rows("target expected", {
    "a server by its private address": (ServerTarget(1, use_private_ip=True), True),
    "a selector of private addresses": (EDGE, True),
    "the end of the middle range": (IpTarget("172.31.255.1"), True),
    "after the end of it": (IpTarget("172.32.0.1"), False),
    "of another family": (IpTarget("fd00::1"), False),
})  # fmt: skip
def test_targets_reached_through_the_network(target: Target, expected: bool) -> None:
    assert is_private(target) is expected


@rows("target place world expected", {
    "a server in the network": (ServerTarget(1, True), HERE, {}, True),
    "a server that is not in it": (ServerTarget(2, True), HERE, {}, False),
    "a server that is gone": (ServerTarget(9, True), HERE, {}, False),
    "in no network": (EDGE, None, {}, False),
    "an address, in the same network": (ROBOT, HERE, {}, True),
    "an address, in a network without it": (ROBOT, ELSEWHERE, {}, False),
    "an address, in a network that has it": (ROBOT, ELSEWHERE,
        {"network": Present(Network(8, "other", (IPv4Network("10.0.0.0/24"),)))}, True),
})  # fmt: skip
def test_may_return(target: Target, place: Attachment | None, world: dict[str, Any], expected: bool) -> None:
    servers = [a_server(1, private_ips=((7, IPv4Address("10.0.0.2")),)), a_server(2, "web-2")]
    snapshot = a_world([], [], servers=servers, **{"network": Present(Network(8, "other")), **world})
    assert may_return(target, place, a_balancer(attachments=(HERE,)), snapshot) is expected


def test_targets_of_others_come_back_after_the_move() -> None:
    balancer = a_balancer(attachments=(HERE,), targets=[*public(1), ROBOT, EDGE])
    plan = plan_of(asking(**READDRESSING), balancer, **INSIDE | fleet(1))
    found = {part_of(c): (c.before, c.after, c.depends_on) for c in plan.changes if c.kind == "lb.target"}
    assert found == {f"target/{each.name}": (None, each, (f"{BALANCER}/network/7",)) for each in (ROBOT, EDGE)}


@rows("options targets healthy", {
    "a Node goes on to serve": ({}, [*public(1), ROBOT], public(1)),
    "nobody did": ({}, [*public(1), ROBOT], []),
    "all Nodes are reached through it": ({"use_private_ip": "true"}, private(1, 2), private(1, 2)),
})  # fmt: skip
def test_the_floor_of_a_move(options: dict[str, str], targets: list[Target], healthy: list[Target]) -> None:
    balancer = a_balancer(attachments=(HERE,), targets=targets, health=dict.fromkeys(healthy, Health.HEALTHY))
    world = a_world([asking(**READDRESSING, **options)], [balancer], network=Present(NETWORK), **fleet(1, 2))
    plan = judged(world, IN_NETWORK)
    assert {part_of(change) for change in plan.with_verdict(Verdict.HELD)} == {"network/7"}
    assert all(hold.rule == "target-floor" for hold in plan.holds)
