"""Each part of a load balancer that is there: nothing is planned for what is equal, one change for what is not."""

from dataclasses import replace
from ipaddress import IPv4Address, IPv4Network
from typing import Any

from desired.annotations.choices import Algorithm, Protocol
from desired.annotations.claims import ClaimedPort
from desired.model.load_balancer import (
    Attachment,
    CloudBalancer,
    HttpOptions,
    Identity,
    IpTarget,
    Listener,
    SelectorTarget,
    Target,
)
from desired.model.service import Service
from desired.model.settings import Settings
from desired.model.snapshot import Network
from desired.plan.change import Change, State
from desired.plan.kinds import Verb
from desired.rules import load_balancer_changes as rules
from desired.rules.load_balancers import CERTIFICATE_TO_CREATE, EXCLUDED_BY_LABEL, PORT_KEEPS_CERTIFICATE
from desired.rules.rule import Plain, Rule
from desired.section import Absent, Present, Unknown
from tests.balancers import (
    DEFAULT_NAME,
    IN_NETWORK,
    LB21,
    LOCATED,
    NETWORK,
    SERVICE_UID,
    a_balancer,
    a_listener,
    an_http_check,
    an_http_listener,
)
from tests.builders import a_joining_node, a_lost_node, a_server, a_settled_node
from tests.support.balancer_changes import BALANCER, a_part, a_wish
from tests.support.balancer_plans import HERE, INSIDE, asking, fleet, plan_of, private, public, said
from tests.support.rows import rows

OURS = dict(a_balancer().spec.labels)
ATTACHED = a_balancer(attachments=(HERE,))
PRIVATE = a_balancer(attachments=(HERE,), targets=private(1))
INTERNAL = replace(PRIVATE, spec=replace(PRIVATE.spec, public_interface=False))
ELSEWHERE = Attachment(8, IPv4Address("10.8.0.9"))
OTHER = Network(8, "other", (IPv4Network("10.8.0.0/24"),))
STRANGERS: list[Target] = [SelectorTarget("pool=web", use_private_ip=False), IpTarget("198.51.100.7")]
ONE, TWO = public(1, 2)
ONE_INSIDE, TWO_INSIDE = private(1, 2)
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
    "as-created": (asking(), a_balancer(), {}),
    "in-a-network": (asking(), ATTACHED, INSIDE),
    "internal": (asking(use_private_ip="true"), INTERNAL, INSIDE | fleet(1)),
    "in-other-words": (asking(name=DEFAULT_NAME, type="lb11", location="fsn1"), a_balancer(), {}),
    "algorithm": (asking(algorithm_type="Round_Robin"), a_balancer(), {}),
    "reverse-name": (asking(ipv4_rdns="static.200.example.com"), a_balancer(), {}),
    "no-reverse-name": (asking(ipv6_rdns=""), a_balancer(), {}),
    "no-reverse-name-as-null": (asking(ipv6_rdns=""), a_balancer(spec={"ipv6_rdns": None}), {}),
    "no-address-to-name": (asking(ipv6_rdns="a.example.com"), a_balancer(ipv6=None), {}),
    "public": (asking(disable_public_network="false"), a_balancer(), {}),
    "private-address": (asking(private_ipv4="10.0.0.200"), ATTACHED, INSIDE),
    "range-once-attached": (asking(private_subnet_ip_range="10.0.0.0/25"), ATTACHED, INSIDE),
    "port": (asking(uses_proxyprotocol="false", health_check_interval="15s"), a_balancer(), {}),
    "targets-of-others": (asking(), a_balancer(targets=[ONE, *STRANGERS]), {}),
    "another-place": (asking(location="nbg1", network_zone="us-east"), a_balancer(), {}),
    "no-tcp-port": (asking(ClaimedPort(53, "UDP", 30053)), a_balancer(listeners=()), {}),
    "a-node-port-still-to-come": (asking(ClaimedPort(80)), a_balancer(), {}),
    "udp-on-the-number-of-a-port": (asking(ClaimedPort(80, "TCP", 30080), ClaimedPort(80, "UDP", 30081)), a_balancer(),
        {}),
    # What is uncertain stays as it is, in whatever order the API lists it.
    "two-targets-of-an-unlisted-server": (asking(), replace(ATTACHED, targets=(ONE, ONE_INSIDE)),
        INSIDE | {"servers": []}),
    "the-other-way-round": (asking(), replace(ATTACHED, targets=(ONE_INSIDE, ONE)), INSIDE | {"servers": []}),
})  # fmt: skip
def test_nothing_for_what_is_equal(service: Service, balancer: CloudBalancer, world: dict[str, Any]) -> None:
    """A load balancer that is as asked for costs no call."""
    assert parts(service, balancer, **world) == ()


RDNS = rules.REVERSE_NAME_CHANGED
STATIC, LB = "static.200.example.com", "lb.example.com"
BLUE = OURS | {"team": "blue"}
UNCLAIMED = a_balancer(cluster_uid=None).spec.labels


@rows("options balancer change", {
    "name-with-the-labels-of-others": ({"name": "shop"}, {"spec": {"labels": BLUE}},
        part("identity", Identity(DEFAULT_NAME, BLUE), Identity("shop", BLUE), rules.RENAMED)),
    "name-and-our-label-with-it": ({"name": "shop"}, {"cluster_uid": None},
        part("identity", Identity(DEFAULT_NAME, UNCLAIMED), Identity("shop", OURS), rules.RENAMED)),
    "algorithm": ({"algorithm_type": "least_connections"}, {},
        part("algorithm", Algorithm.ROUND_ROBIN, Algorithm.LEAST_CONNECTIONS, rules.ALGORITHM_CHANGED)),
    "type-up": ({"type": "lb21"}, {}, part("type", "lb11", "lb21", rules.TYPE_CHANGED)),
    "type-down": ({"type": "lb11"}, {"type": LB21, "spec": {"type": "lb21"}},
        part("type", "lb21", "lb11", rules.TYPE_CHANGED)),
    "reverse-name": ({"ipv4_rdns": LB}, {}, part("rdns/ipv4", STATIC, LB, RDNS)),
    "no-reverse-name": ({"ipv4_rdns": ""}, {}, part("rdns/ipv4", STATIC, "", RDNS)),
    "first-reverse-name-of-ipv6": ({"ipv6_rdns": LB}, {}, a_part("rdns/ipv6", None, LB, RDNS.text(), verb=Verb.MODIFY)),
})  # fmt: skip
def test_the_whole(options: dict[str, str], balancer: dict[str, Any], change: Change) -> None:
    """Name with labels, algorithm, type and reverse names, each by itself."""
    assert parts(asking(**options), a_balancer(**balancer)) == (change,)


def http(**fields: Any) -> Listener:
    listener = an_http_listener()
    assert listener.http is not None
    return replace(listener, http=replace(listener.http, **fields))


def checked(listener: Listener, **fields: Any) -> Listener:
    return replace(listener, health_check=replace(listener.health_check, **fields))


NEXT = checked(a_listener(80, 30081), port=30081)
CHECKED_UP = {"protocol": "http", "health_check_protocol": "http", "health_check_http_path": "/up"}
CHECKING, CHECKING_UP = (an_http_listener(health_check=an_http_check(path=path)) for path in ("/", "/up"))


@rows("service before after", {
    "node-port": (asking(ClaimedPort(80, "TCP", 30081)), a_listener(), NEXT),
    "proxy": (asking(uses_proxyprotocol="true"), a_listener(), a_listener(proxyprotocol=True)),
    "interval": (asking(health_check_interval="5s"), a_listener(), checked(a_listener(), interval_s=5)),
    "port-of-the-check": (asking(health_check_port="8080"), a_listener(), checked(a_listener(), port=8080)),
    "option-of-http": (asking(protocol="http", http_cookie_name="mine"), http(), http(cookie_name="mine")),
    "path-of-the-check": (asking(**CHECKED_UP), CHECKING, CHECKING_UP),
    "tcp-to-http": (asking(protocol="http"), a_listener(), a_listener(protocol=Protocol.HTTP, http=HttpOptions())),
    "http-to-tcp": (asking(protocol="tcp"), an_http_listener(), a_listener()),
})  # fmt: skip
def test_a_listener_that_differs(service: Service, before: Listener, after: Listener) -> None:
    """One change for each port that differs, with all that it keeps."""
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


THERE: dict[str, Any] = {
    "name": "shop",
    "type": "lb21",
    "algorithm": Algorithm.LEAST_CONNECTIONS,
    "public_interface": False,
    "ipv4_rdns": "lb.example.com",
    "ipv6_rdns": "lb.example.com",
}
"""What annotations asked for that are gone by now."""
TUNED = HttpOptions("mine", 600, 60, (5,), redirect_http=True, sticky_sessions=True)
COOKIE = http(cookie_name="mine", cookie_lifetime_s=600, timeout_idle_s=60, sticky_sessions=True)
CHECKED = replace(an_http_check(path="/up", tls=True), interval_s=5, timeout_s=4, retries=5)


@rows("options listener", {
    "proxy-protocol": ({}, a_listener(proxyprotocol=True)),
    "health-check": ({}, checked(a_listener(), interval_s=5, timeout_s=4, retries=5)),
    "http": ({"protocol": "http"}, COOKIE),
    "check-over-http": ({"protocol": "http", "health_check_protocol": "http"}, an_http_listener(health_check=CHECKED)),
    "https-keeps-its-certificate": ({"protocol": "https"}, replace(OVER_TLS, http=TUNED)),
})  # fmt: skip
def test_what_annotations_no_longer_say_stays(options: dict[str, str], listener: Listener) -> None:
    """Of a listener, and of what belongs to no port."""
    service = asking(ClaimedPort(listener.port, "TCP", listener.destination_port), **options)
    assert parts(service, a_balancer(listeners=[listener])) == ()
    tuned = a_balancer(attachments=(HERE,), targets=private(1), type=LB21, spec=THERE)
    assert parts(asking(use_private_ip="true"), tuned, **INSIDE | fleet(1)) == ()


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
    "switched-on": ({}, (), INSIDE, [placed(None, Attachment(7), rules.NETWORK_ADDED)]),
    "switched-on-with-an-address": ({"private_ipv4": "10.0.0.9", "private_subnet_ip_range": "10.0.0.0/24"}, (), INSIDE,
        [placed(None, IN_RANGE, rules.NETWORK_ADDED)]),
    "another-address": ({"private_ipv4": "10.0.0.9"}, (HERE,), INSIDE, [READDRESSED]),
    "another-network": ({}, (ELSEWHERE,), INSIDE,
        [placed(None, Attachment(7), rules.NETWORK_ADDED, **AFTER_8),
        placed(ELSEWHERE, None, rules.NETWORK_REPLACED, LOST)]),
    "unset": ({}, (HERE,), {}, []),
    "not-known-which": ({}, (ELSEWHERE,), UNREAD, []),
    "nor-where": ({"private_ipv4": "10.9.9.9"}, (), UNREAD, []),
    "no-such-network": ({}, (ELSEWHERE,), {"network": Absent(), "settings": IN_NETWORK}, []),
})  # fmt: skip
def test_the_place_in_a_network(
    options: dict[str, str], present: tuple[Attachment, ...], world: dict[str, Any], changes: list[Change]
) -> None:
    """In the configured network and no other; what is not known changes nothing."""
    assert parts(asking(**options), a_balancer(attachments=present), **world) == tuple(changes)


OFF = [part("public", True, False, rules.PUBLIC_OFF, rules.UNREACHABLE_OUTSIDE)]
ON = [part("public", False, True, rules.PUBLIC_ON)]
CLOSED = a_balancer(targets=(), spec={"public_interface": False})


@rows("options balancer world changes", {
    "off": (INTERNAL_ALONE, PRIVATE, INSIDE, OFF),
    "on": (BY_PRIVATE | PUBLIC, INTERNAL, INSIDE, ON),
    "on-without-a-network": (PUBLIC, CLOSED, fleet(), ON),
    "unset": (BY_PRIVATE, INTERNAL, INSIDE, []),
    "off-without-a-network-that-is-known": (INTERNAL_ALONE, a_balancer(targets=()), UNREAD, []),
    "off-in-a-network-that-is-not-known": (INTERNAL_ALONE, PRIVATE, UNREAD, OFF),
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
    """A Node that gets traffic."""
    name, row = f"target/server:{number}", rules.TARGET_ADDED
    return part(name, before, after, row, node=f"Node web-{number}", address=f"{address} address", depends_on=needed)


def removed(row: Rule, *lost: Rule, **facts: Plain) -> Change:
    """Server 2 that gets none any more."""
    return part("target/server:2", TWO, None, row, *lost, server="server 2", target="server 2", **facts)


WITHOUT = rules.TARGET_WITHOUT_TRAFFIC


@rows("options present world change", {
    "a-new-node": ({}, [ONE], fleet(1, 2), added(None, TWO, 2, "public")),
    "a-node-that-joins": ({}, [ONE], JOINING, added(None, TWO, 2, "public", "node/web-2")),
    "a-new-node-inside": (BY_PRIVATE, [ONE_INSIDE], INSIDE | fleet(1, 2), added(None, TWO_INSIDE, 2, "private")),
    "by-the-private-address": (BY_PRIVATE, [ONE], INSIDE_1, added(ONE, ONE_INSIDE, 1, "private")),
    "by-the-public-address": (BY_PUBLIC, [ONE_INSIDE], INSIDE_1, added(ONE_INSIDE, ONE, 1, "public")),
    "by-one-of-both": (BY_PRIVATE, [ONE, ONE_INSIDE], INSIDE_1, added(ONE, ONE_INSIDE, 1, "private")),
    "in-another-order": (BY_PRIVATE, [ONE_INSIDE, ONE], INSIDE_1, added(ONE, ONE_INSIDE, 1, "private")),
    "a-server-that-is-gone": ({}, [ONE, TWO], fleet(1), removed(rules.TARGET_GONE)),
    "a-server-that-is-no-node": ({}, [ONE, TWO], IDLE, removed(rules.TARGET_WITHOUT_NODE, WITHOUT)),
    "a-node-that-is-left-out": ({}, [ONE, TWO], fleet(1, 2) | {"nodes": [a_settled_node(), EXCLUDED]},
        removed(rules.TARGET_EXCLUDED, WITHOUT, node="web-2", cause=EXCLUDED_BY_LABEL.says)),
    "a-node-that-is-lost": ({}, [ONE, TWO], fleet(1) | {"nodes": [a_settled_node(), a_lost_node("web-2", 2)]},
        removed(rules.TARGET_GONE)),
})  # fmt: skip
def test_targets(options: dict[str, str], present: Any, world: dict[str, Any], change: Change) -> None:
    """A Node more, a Node less, a Node by its other address; a warning only where a server lives."""
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
def test_what_needs_what(
    options: dict[str, str], balancer: CloudBalancer, world: dict[str, Any], expected: dict[str, list[str]]
) -> None:
    """Nothing is reached by a way that is not there yet, or not any more."""
    assert needs(asking(**options), balancer, **world) == expected


@rows(
    "present network settings",
    {"to-another-network": (ELSEWHERE, NETWORK, IN_NETWORK), "and-back": (HERE, OTHER, replace(LOCATED, network="8"))},
)
def test_who_is_lost_with_the_network_goes_first(present: Attachment, network: Network, settings: Settings) -> None:
    """What holds the removal of a target, holds the load balancer in the network by which it is reached."""
    balancer = a_balancer(attachments=(present,), targets=private(9))
    world: dict[str, Any] = {"network": Present(network), "nodes": [], "servers": [a_server(9)]}
    there, wanted = f"network/{present.network_id}", f"network/{network.id}"
    found = needs(asking(**BY_PRIVATE), balancer, settings=settings, **world)
    assert found == {"9": [], there: ["9"], wanted: [there]}


@rows("options present world row", {
    "another-address": (MOVES, HERE, INSIDE, rules.PRIVATE_TRAFFIC_STOPS),
    "another-network": (BY_PRIVATE, ELSEWHERE, INSIDE, rules.PRIVATE_TRAFFIC_STOPS),
})  # fmt: skip
def test_an_outage_is_announced(options: dict[str, str], present: Attachment, world: dict[str, Any], row: Rule) -> None:
    """Private targets are gone while the load balancer moves."""
    balancer = a_balancer(attachments=(present,), targets=private(1))
    found = parts(asking(**options), balancer, **world, **fleet(1))
    (leaves,) = (change for change in found if change.kind == "lb.network" and change.before)
    assert leaves.consequences == (row.text(address=str(present.ip)),)


def large(*targets: Any, **overrides: Any) -> CloudBalancer:
    return a_balancer(targets=targets, type=LB21, spec={"type": "lb21"}, **overrides)


def ports(count: int) -> list[Listener]:
    return [a_listener(80 + number, 30080 + number) for number in range(count)]


@rows("options balancer world expected", {
    "targets": ({}, large(*public(*range(1, 31))), fleet(*range(1, 6)), {str(n) for n in range(6, 31)}),
    "ports": ({}, large(listeners=ports(6)), fleet(1), {f"listener/{port}" for port in range(81, 86)}),
    "it-fits-already": ({}, large(*public(*range(1, 26)), listeners=ports(5)), fleet(*range(1, 6)), set()),
    # What is added makes it fuller still.
    "additions": ({}, large(*public(*range(1, 21))), fleet(*range(11, 31)), {str(n) for n in range(1, 11)}),
    # What leaves with the network, and is added again, is there once: it was counted twice.
    "what-comes-back": (MOVES | {"private_ipv4": "10.0.0.99"}, large(*private(*range(1, 21)), attachments=(HERE,)),
        INSIDE | fleet(*range(2, 21)), set()),
    "a-larger-one-makes-room-itself": ({"type": "lb21"}, a_balancer(targets=public(*range(1, 26))),
        fleet(*range(1, 16), *range(30, 90)), set()),
})  # fmt: skip
def test_a_smaller_type_needs_what_makes_room(
    options: dict[str, str], balancer: CloudBalancer, world: dict[str, Any], expected: set[str]
) -> None:
    """A type that does not hold what is there would be refused until the removals are done."""
    found = needs(asking(**{"type": "lb11"} | options), balancer, **world)
    assert set(found["type"]) == expected
