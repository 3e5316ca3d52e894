"""In which order the parts of one load balancer change."""

from dataclasses import replace
from ipaddress import IPv4Address, IPv4Network
from typing import Any

from desired.annotations.choices import Protocol
from desired.annotations.claims import ClaimedPort
from desired.load_balancers.ordering import in_sequence, interleaved
from desired.load_balancers.size import Size
from desired.model.load_balancer import (
    Attachment,
    BalancerType,
    CloudBalancer,
    HttpOptions,
    Listener,
)
from desired.model.service import Service
from desired.model.snapshot import Network
from desired.plan.change import Change, Plan
from desired.plan.kinds import Verb
from desired.planner import compute_plan
from desired.section import Present
from tests.balancers import (
    IN_NETWORK,
    LB21,
    LOCATED,
    a_balancer,
    a_certificate,
    a_claim,
    a_listener,
    a_served_service,
    a_world,
    an_http_check,
    an_http_listener,
    annotated,
)
from tests.builders import a_change, a_server, a_settled_node
from tests.support.balancer_changes import BALANCER
from tests.support.balancer_plans import (
    HERE,
    INSIDE,
    asking,
    fleet,
    in_turn,
    part_of,
    plan_of,
    private,
    public,
    steps,
)
from tests.support.rows import rows

ELSEWHERE = Attachment(8, IPv4Address("10.8.0.9"))
GOES_PRIVATE = {"use_private_ip": "true", "disable_public_network": "true"}
GOES_PUBLIC = {"disable_public_network": "false"}
INTERNAL = a_balancer(attachments=(HERE,), targets=private(1, 2), spec={"public_interface": False})
IN_PUBLIC = a_balancer(attachments=(HERE,), targets=public(1, 2))


def web(port: int) -> ClaimedPort:
    """A TCP port of the Service."""
    return ClaimedPort(port, "TCP", 30000 + port)


def tcp(*ports: int) -> list[Listener]:
    """The listeners of these ports."""
    return [a_listener(port, 30000 + port) for port in ports]


@rows(
    "options balancer world order",
    {
        "both-on": (GOES_PRIVATE, IN_PUBLIC, INSIDE, ["target/server:1", "target/server:2", "public"]),
        "both-on-with-the-network": (
            GOES_PRIVATE,
            a_balancer(targets=public(1, 2)),
            INSIDE,
            ["network/7", "target/server:1", "target/server:2", "public"],
        ),
        "both-off": (GOES_PUBLIC, INTERNAL, INSIDE, ["public", "target/server:1", "target/server:2"]),
        "both-off-with-the-network": (
            GOES_PUBLIC,
            INTERNAL,
            {},
            ["public", "target/server:1", "target/server:2", "network/7"],
        ),
        "private-on-public-on": (
            {"use_private_ip": "true", "disable_public_network": "false"},
            replace(INTERNAL, targets=tuple(public(1, 2))),
            INSIDE,
            ["public", "target/server:1", "target/server:2"],
        ),
        "private-off-public-stays": (
            {"disable_public_network": "false"},
            a_balancer(attachments=(HERE,), targets=private(1, 2)),
            INSIDE,
            ["target/server:1", "target/server:2"],
        ),
    },
)
def test_directions(options: dict[str, str], balancer: CloudBalancer, world: dict[str, Any], order: list[str]) -> None:
    """The interface comes before the targets that need it and goes after them, the network likewise."""
    assert in_turn(plan_of(asking(**options), balancer, **world, **fleet(1, 2))) == order


def test_every_part_at_once() -> None:
    """One chain: what makes room or is reached by others first, what takes away last."""
    service = asking(
        web(80),
        web(443),
        name="shop",
        type="lb21",
        algorithm_type="least_connections",
        ipv4_rdns="a.example.com",
        ipv6_rdns="a.example.com",
        **GOES_PRIVATE,
    )
    balancer = a_balancer(
        attachments=(ELSEWHERE,), targets=public(1, 9), listeners=[a_listener(80, 30080), a_listener(22, 30022)]
    )
    plan = plan_of(service, balancer, **INSIDE | fleet(1, 2))
    assert in_turn(plan) == [
        "identity",
        "algorithm",
        "rdns/ipv4",
        "rdns/ipv6",
        "type",
        "network/8",
        "network/7",
        "listener/443",
        "listener/22",
        "target/server:2",
        "target/server:1",
        "target/server:9",
        "public",
    ]
    chain = steps(plan)
    assert [change.follows for change in chain] == [(), *((change.key,) for change in chain[:-1])]


def test_a_smaller_type_comes_last() -> None:
    """What it has no room for has gone by then."""
    balancer = a_balancer(targets=public(*range(1, 31)), type=LB21, spec={"type": "lb21"})
    gone = sorted(f"target/server:{number}" for number in range(2, 30))
    order = in_turn(plan_of(asking(type="lb11"), balancer, **fleet(1, 30, 31)))
    assert order == ["target/server:31", *gone, "type"]


def test_a_larger_type_comes_before_what_needs_it() -> None:
    """Targets and ports that did not fit come in the same pass."""
    balancer = a_balancer(targets=public(*range(1, 26)), listeners=tcp(*range(81, 86)))
    service = asking(*map(web, range(81, 88)), type="lb21")
    order = in_turn(plan_of(service, balancer, **fleet(*range(1, 28))))
    assert order == ["type", "listener/86", "listener/87", "target/server:26", "target/server:27"]


def test_what_does_not_fit_waits_for_a_larger_type_that_is_held() -> None:
    """A guard may hold the type: until it comes, Hetzner refuses what is more than the present one takes."""
    balancer = a_balancer(targets=public(*range(1, 25)), listeners=tcp(*range(81, 85)))
    service = asking(*map(web, range(81, 88)), type="lb21")

    plan = plan_of(service, balancer, **fleet(*range(1, 27)))

    key = "load_balancer/default/web"
    added = {
        change.key.removeprefix(f"{key}/"): change.depends_on for change in plan.changes if change.kind != "lb.type"
    }
    beyond = ("listener/86", "listener/87", "target/server:26")
    assert {name for name, needed in added.items() if f"{key}/type" in needed} == set(beyond)
    assert {"listener/85", "target/server:25"} <= added.keys()


def test_a_larger_type_is_headroom() -> None:
    """Once there is room, new targets and ports come before old ones go."""
    balancer = a_balancer(targets=public(*range(1, 26)), listeners=tcp(*range(81, 86)))
    service = asking(*map(web, range(82, 87)), type="lb21")
    order = marks(plan_of(service, balancer, **fleet(*range(2, 27))))
    assert order == ["~type", "+86", "-81", "+26", "-1"]


@rows(
    "before after order",
    {
        "headroom": ((81, 82), (82, 83), ["+83", "-81"]),
        "little": ((81, 82, 83, 84), (84, 85, 86, 87), ["+85", "-81", "+86", "-82", "+87", "-83"]),
        "none": ((81, 82, 83, 84, 85), (85, 86, 87), ["-81", "+86", "-82", "+87", "-83", "-84"]),
        "removals-alone": ((81, 82, 83, 84, 85), (81,), ["-82", "-83", "-84", "-85"]),
    },
)
def test_ports_at_the_limit(before: tuple[int, ...], after: tuple[int, ...], order: list[str]) -> None:
    """An lb11 listens on 5 ports, so that at the limit one goes before another comes."""
    plan = plan_of(asking(*map(web, after)), a_balancer(listeners=tcp(*before)))
    assert marks(plan) == order


def marks(plan: Plan) -> list[str]:
    """``+80`` for what is added, ``-80`` for what is removed, ``~80`` for what changes."""
    signs = {"add": "+", "remove": "-", "modify": "~"}
    return [f"{signs[change.verb]}{change.key.rpartition('/')[2].removeprefix('server:')}" for change in steps(plan)]


@rows(
    "before lives after order",
    {
        "headroom": ((1, 2), (1, 2, 3), (3,), ["+3", "-1", "-2"]),
        "little": (range(1, 25), range(1, 27), (*range(3, 25), 25, 26), ["+25", "-1", "+26", "-2"]),
        "none": (range(1, 26), range(1, 28), (*range(3, 26), 26, 27), ["-1", "+26", "-2", "+27"]),
        "dead-first": (range(1, 26), (*range(1, 25), 26, 27), (*range(2, 25), 26, 27), ["-25", "+26", "-1", "+27"]),
        "removals-alone": ((1, 2, 3), (1, 2), (2,), ["-3", "-1"]),
    },
)
def test_targets_at_the_limit(before: Any, lives: Any, after: Any, order: list[str]) -> None:
    """An lb11 leads to 25 targets; where there is no headroom the dead make room first."""
    servers = [a_server(number, f"web-{number}") for number in lives]
    nodes = [a_settled_node(f"web-{number}", number) for number in after]
    plan = plan_of(asking(), a_balancer(targets=public(*before)), servers=servers, nodes=nodes)
    assert marks(plan) == order


def test_targets_that_come_switch_and_go() -> None:
    """New ones first, so that somebody serves while the others change their address one by one."""
    balancer = a_balancer(attachments=(HERE,), targets=public(1, 2, 8, 9))
    world = INSIDE | fleet(1, 2, 3)
    world["servers"] = [*world["servers"], a_server(9, "db-9")]
    plan = plan_of(asking(use_private_ip="true"), balancer, **world)
    assert marks(plan) == ["+3", "~1", "~2", "-8", "-9"]


OTHER = Present(Network(8, "other", (IPv4Network("10.8.0.0/24"),)))
BOTH_NETWORKS = [
    a_server(n, f"web-{n}", private_ips=((7, IPv4Address(f"10.0.0.{n}")), (8, IPv4Address(f"10.8.0.{n}"))))
    for n in (1, 2, 3)
]


@rows(
    "options targets world order",
    {
        "another-network": (
            {"use_private_ip": "true"},
            private(1, 9),
            {"settings": replace(IN_NETWORK, network="8"), "network": OTHER},
            ["-9", "-7", "+8", "+1", "+2", "+3"],
        ),
        "another-address": (
            {"use_private_ip": "true", "private_ipv4": "10.0.0.7"},
            [*private(1, 9), *public(2)],
            INSIDE,
            ["-9", "~7", "+1", "+3", "~2"],
        ),
        "no-network": ({}, [*private(1, 9), *public(2)], {}, ["+3", "~1", "-9", "-7"]),
        "by-public-addresses-in-another-network": (
            {},
            private(1, 9),
            {"settings": replace(IN_NETWORK, network="8"), "network": OTHER},
            ["+2", "+3", "~1", "-9", "-7", "+8"],
        ),
    },
)
def test_leaving_a_network(options: dict[str, str], targets: Any, world: dict[str, Any], order: list[str]) -> None:
    """The load balancer leaves after who is lost with it; who needs the next network comes after that."""
    balancer = a_balancer(attachments=(HERE,), targets=targets)
    nodes = [a_settled_node(f"web-{number}", number) for number in (1, 2, 3)]
    plan = plan_of(asking(**options), balancer, **world, nodes=nodes, servers=BOTH_NETWORKS)
    assert marks(plan) == order


def test_leaving_a_network_at_the_limit() -> None:
    """What leaves with the network has made room for what comes after it."""
    balancer = a_balancer(attachments=(HERE,), targets=[*private(24, 25), *public(*range(1, 24))])
    world = INSIDE | fleet(*range(2, 24), 26, 27, 28)
    plan = plan_of(asking(use_private_ip="true", private_ipv4="10.0.0.99"), balancer, **world)
    order = marks(plan)
    assert order[:7] == ["-24", "-25", "~7", "+26", "+27", "-1", "+28"]
    assert order[7:] == [f"~{number}" for number in sorted(range(2, 24), key=str)]


def test_what_leaves_with_the_network_needs_no_larger_type() -> None:
    """It is added again where it was: a full load balancer that moves waited with all of its targets for a type that a
    guard may hold."""
    servers = range(1, 26)
    balancer = a_balancer(attachments=(HERE,), targets=private(*servers))
    service = asking(use_private_ip="true", private_ipv4="10.0.0.99", type="lb21")
    plan = plan_of(service, balancer, **INSIDE | fleet(*servers, 26))
    waiting = [part_of(change) for change in steps(plan) if f"{BALANCER}/type" in change.depends_on]
    assert waiting == ["target/server:26"]


CERTIFICATES: dict[str, Any] = {"certificates": [a_certificate(5)]}
REDIRECT = {"protocol": "https", "http_certificates": "5", "http_redirect_http": "true"}
HTTPS = {"protocol": "https", "http_certificates": "5"}


def secure(port: int, *, redirect: bool) -> Listener:
    """An https listener, which may redirect port 80 to itself."""
    http = HttpOptions("HCLBSTICKY", 300, 50, (5,), redirect_http=redirect, sticky_sessions=False)
    return an_http_listener(port, 30000 + port, protocol=Protocol.HTTPS, http=http)


@rows(
    "service listeners order",
    {
        "a-redirect-takes-its-place": (asking(web(443), **REDIRECT), tcp(80, 443), ["-80", "~443"]),
        "a-new-redirect-takes-its-place": (asking(web(443), **REDIRECT), tcp(80), ["-80", "+443"]),
        "a-redirect-gives-it-back": (
            asking(web(80), web(443), **HTTPS | {"http_redirect_http": "false"}),
            [secure(443, redirect=True)],
            ["~443", "+80"],
        ),
        "with-the-listener": (asking(web(80)), [secure(443, redirect=True)], ["-443", "+80"]),
        "from-one-that-goes-to-another": (
            asking(web(8443), **REDIRECT),
            [secure(443, redirect=True), secure(8443, redirect=False)],
            ["-443", "~8443"],
        ),
        "from-one-to-another": (
            asking(web(443), web(8443), **REDIRECT),
            [secure(443, redirect=False), secure(8443, redirect=True)],
            ["~8443", "~443"],
        ),
        "nobody-takes-it": (asking(web(443)), tcp(80), ["+443", "-80"]),
        "taken-already": (
            asking(web(443), web(8080), **REDIRECT),
            [secure(443, redirect=True), *tcp(22)],
            ["+8080", "-22"],
        ),
        "at-the-limit": (
            asking(*map(web, (81, 82, 83, 443, 444)), **REDIRECT),
            tcp(80, 81, 82, 83, 84),
            ["-80", "~81", "~82", "~83", "+443", "-84", "+444"],
        ),
        "given-back-at-the-limit": (
            asking(*map(web, (80, 443, 81, 82, 83)), **HTTPS | {"http_redirect_http": "false"}),
            [secure(443, redirect=True), *(secure(port, redirect=False) for port in (81, 82, 83, 84))],
            ["~443", "-84", "+80"],
        ),
    },
)
def test_ports_that_collide(service: Service, listeners: list[Listener], order: list[str]) -> None:
    """A redirect takes port 80; whoever has it gives it back first."""
    plan = plan_of(service, a_balancer(listeners=listeners), **CERTIFICATES)
    assert marks(plan) == order


def test_a_redirect_waits_for_what_is_held_on_its_port() -> None:
    """A guard may keep the listener on port 80: until that goes, Hetzner refuses whatever takes the port."""
    plan = plan_of(asking(web(443), **REDIRECT), a_balancer(listeners=tcp(80)), **CERTIFICATES)
    taking = plan.by_key["load_balancer/default/web/listener/443"]

    assert taking.depends_on == ("load_balancer/default/web/listener/80",)


def probed(port: int, *, redirect: bool) -> Listener:
    """The same as ``secure``, with a health check that was made in the console."""
    return replace(secure(port, redirect=redirect), health_check=an_http_check(30000 + port, path="/ping", tls=True))


@rows(
    "service listeners order needs",
    {
        "a-redirect-takes-its-place": (
            asking(web(443), **REDIRECT),
            [*tcp(80), probed(443, redirect=False)],
            ["-80", "~443/asked", "~443"],
            {"443/asked": ("80",), "443": ("443/asked",)},
        ),
        "a-redirect-gives-it-back": (
            asking(web(80), web(443), **HTTPS | {"http_redirect_http": "false"}),
            [probed(443, redirect=True)],
            ["~443/asked", "~443", "+80"],
            {"443": ("443/asked",), "80": ("443/asked",)},
        ),
        "from-one-to-another": (
            asking(web(8443), **REDIRECT),
            [secure(443, redirect=True), probed(8443, redirect=False)],
            ["-443", "~8443/asked", "~8443"],
            {"8443/asked": ("443",), "8443": ("8443/asked",)},
        ),
        "taken-already": (
            asking(web(443), **REDIRECT),
            [replace(probed(443, redirect=True), destination_port=30999)],
            ["~443/asked", "~443"],
            {"443": ("443/asked",)},
        ),
    },
)
def test_ports_that_collide_where_a_part_is_held(
    service: Service, listeners: list[Listener], order: list[str], needs: dict[str, tuple[str, ...]]
) -> None:
    """What is asked for is ordered as a whole change is, by what it takes and gives back itself."""
    plan = plan_of(service, a_balancer(listeners=listeners), **CERTIFICATES)
    key = "load_balancer/default/web/listener/"
    found = [(change, change.key.removeprefix(key)) for change in steps(plan)]
    signs = {"add": "+", "remove": "-", "modify": "~"}

    assert [f"{signs[change.verb]}{name}" for change, name in found] == order
    assert {
        name: tuple(needed.removeprefix(key) for needed in change.depends_on)
        for change, name in found
        if change.depends_on
    } == needs


def test_two_services_do_not_wait_for_each_other() -> None:
    """Each load balancer has a chain of its own, however the changes of both stand in the plan."""
    claim = a_claim(web(80), annotations=annotated(algorithm_type="least_connections", type="lb21"))
    other = a_served_service("db", uid="uid-db", claim=claim)
    plan = plan_of(
        asking(algorithm_type="least_connections", type="lb21"),
        a_balancer(),
        a_balancer(43, service_uid="uid-db", spec={"name": "auid-db"}),
        others=[other],
    )
    assert len(plan.changes) == 4
    for change in plan.changes:
        assert {key.rsplit("/", 1)[0] for key in (*change.depends_on, *change.follows)} <= {
            change.key.rsplit("/", 1)[0]
        }


def test_the_order_of_the_api_says_nothing() -> None:
    """The same plan, however targets and listeners were listed."""
    service = asking(web(81), web(82), web(83), type="lb21")
    worlds = [
        a_world([service], [a_balancer(targets=targets, listeners=listeners)], **fleet(2, 3, 4))
        for targets, listeners in ((public(1, 2, 9), tcp(80, 22, 90)), (public(9, 2, 1), tcp(90, 80, 22)))
    ]
    first, second = (compute_plan(world, LOCATED) for world in worlds)
    assert first == second


def test_the_order_in_which_changes_are_given_says_nothing() -> None:
    """What stands between them follows from what they are."""
    service = asking(web(81), ipv4_rdns="a.example.com", ipv6_rdns="a.example.com", type="lb21", **GOES_PRIVATE)
    balancer = a_balancer(attachments=(ELSEWHERE,), targets=public(1, 9))
    given = [replace(change, follows=()) for change in steps(plan_of(service, balancer, **INSIDE | fleet(1, 2)))]
    assert len(given) == 11
    assert in_sequence(given, balancer, Size(LB21)) == in_sequence(given[::-1], balancer, Size(LB21))


def some(verb: str, *names: str) -> list[Change]:
    """Changes of targets, for what only looks at their class."""
    return [a_change(f"node/{name}", "lb.target", verb=verb) for name in names]


@rows(
    "adds removals headroom order",
    {
        "nothing": ("", "", 0, ""),
        "nothing-to-remove": ("ab", "", 0, "ab"),
        "nothing-to-add": ("", "xy", 5, "xy"),
        "enough": ("ab", "xy", 2, "abxy"),
        "for-one": ("abc", "xy", 1, "axbyc"),
        "for-none": ("ab", "xyz", 0, "xaybz"),
        "less-than-none": ("ab", "xyz", -1, "xaybz"),
    },
)
def test_interleaved(adds: str, removals: str, headroom: int, order: str) -> None:
    """Additions while there is room, then one removal for each; what is left to remove comes last."""
    found = interleaved(some("add", *adds), some("remove", *removals), headroom)
    assert "".join(change.key.name for change in found) == order


def test_what_may_not_go_on_when_something_was_refused() -> None:
    """An address is switched only when all before it went well."""
    flips = plan_of(
        asking(use_private_ip="true"), a_balancer(attachments=(HERE,), targets=public(1, 2)), **INSIDE | fleet(1, 2, 3)
    )
    needs = {change.key.rpartition(":")[2]: change.depends_on for change in flips.changes if "/target/" in change.key}
    key = "load_balancer/default/web/target/server:"
    assert needs == {"3": (), "1": (f"{key}3",), "2": (f"{key}1",)}


def test_what_is_lost_with_the_network_and_comes_back_takes_its_own_place() -> None:
    """A full load balancer that moves has no more room afterwards than it had: an address that was switched before is a
    target still, and one that returns is one again."""
    small = BalancerType("lb11", 5, 3, 10)
    full = a_balancer(attachments=(HERE,), targets=[*private(1, 3), *public(2)], type=small)
    leaving = a_change("load_balancer/default/web/network/7", "lb.network", verb=Verb.REMOVE, before=HERE, after=None)
    given = [
        a_change("load_balancer/default/web/target/server:1", "lb.target", after=private(1)[0]),
        a_change(
            "load_balancer/default/web/target/server:2", "lb.target", verb=Verb.REMOVE, before=public(2)[0], after=None
        ),
        a_change(
            "load_balancer/default/web/target/server:3",
            "lb.target",
            verb=Verb.MODIFY,
            before=private(3)[0],
            after=public(3)[0],
        ),
        a_change("load_balancer/default/web/target/server:5", "lb.target", after=public(5)[0]),
        leaving,
        a_change("load_balancer/default/web/network/8", "lb.network", after=ELSEWHERE, depends_on=(leaving.key,)),
    ]

    assert [" ".join(change.key.parts) for change in in_sequence(given, full, Size(small))] == [
        "target server:3",
        "network 7",
        "network 8",
        "target server:1",
        "target server:2",
        "target server:5",
    ]
