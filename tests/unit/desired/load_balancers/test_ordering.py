"""In which order the parts of one load balancer change."""

from dataclasses import replace
from ipaddress import IPv4Address, IPv4Network
from typing import Any

from desired.annotations.choices import Protocol
from desired.annotations.claims import ClaimedPort
from desired.guards.relations import propagate
from desired.load_balancers.ordering import in_sequence, interleaved
from desired.model.load_balancer import Attachment, BalancerType, CloudBalancer, HttpOptions, Listener
from desired.model.service import Service
from desired.model.snapshot import Network
from desired.plan.change import Change, GuardDecision, GuardName, Plan, Verdict
from desired.plan.kinds import Verb
from desired.planner import compute_plan
from desired.rules.filters import MADE_TOGETHER
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
from tests.support.balancer_plans import HERE, INSIDE, asking, fleet, part_of, plan_of, private, public, steps
from tests.support.rows import rows

ELSEWHERE = Attachment(8, IPv4Address("10.8.0.9"))
PRIVATE, PUBLIC = {"use_private_ip": "true"}, {"disable_public_network": "false"}
OUTSIDE = {"use_private_ip": "false"}
GOES_PRIVATE = PRIVATE | {"disable_public_network": "true"}
INTERNAL = a_balancer(attachments=(HERE,), targets=private(1, 2), spec={"public_interface": False})
IN_BOTH = a_balancer(attachments=(HERE,), targets=private(1, 2))


def web(*ports: int) -> list[ClaimedPort]:
    return [ClaimedPort(port, "TCP", 30000 + port) for port in ports]


def tcp(*ports: int) -> list[Listener]:
    return [a_listener(port, 30000 + port) for port in ports]


def marks(plan: Plan) -> str:
    """``+80`` for what is added, ``-80`` for what is removed, ``~80`` for what changes, of targets the server's number;
    in the order in which they are carried out."""
    signs = {"add": "+", "remove": "-", "modify": "~"}
    names = ((change, part_of(change).removeprefix("listener/")) for change in steps(plan))
    return " ".join(f"{signs[change.verb]}{name.rpartition(':')[2]}" for change, name in names)


@rows("options balancer order", {
    "both-on-with-the-network": (GOES_PRIVATE, a_balancer(targets=public(1, 2)), "+network/7 ~1 ~2 ~public"),
    "both-off": (PUBLIC | OUTSIDE, INTERNAL, "~public ~1 ~2"),
    "private-off-public-stays": (PUBLIC | OUTSIDE, IN_BOTH, "~1 ~2"),
})  # fmt: skip
def test_directions(options: dict[str, str], balancer: CloudBalancer, order: str) -> None:
    assert marks(plan_of(asking(**options), balancer, **INSIDE, **fleet(1, 2))) == order


def test_every_part_at_once() -> None:
    """One chain: what makes room or is reached by others first, what takes away last."""
    named = {"name": "shop", "ipv4_rdns": "a.example.com", "ipv6_rdns": "a.example.com"}
    service = asking(*web(80, 443), type="lb21", algorithm_type="least_connections", **named, **GOES_PRIVATE)
    balancer = a_balancer(attachments=(ELSEWHERE,), targets=public(1, 9), listeners=tcp(80, 22))
    plan = plan_of(service, balancer, **INSIDE | fleet(1, 2))
    whole = "~identity ~algorithm ~rdns/ipv4 ~rdns/ipv6 ~type"
    assert marks(plan) == f"{whole} +2 -9 -network/8 +network/7 +443 -22"
    chain = steps(plan)
    assert [change.follows for change in chain] == [(), *((change.key,) for change in chain[:-1])]


LARGER = {"type": "lb21"}
FULL = a_balancer(targets=public(*range(1, 26)), listeners=tcp(*range(81, 86)))


@rows("service balancer world order", {
    # Targets and ports that did not fit come in the same pass.
    "larger": (asking(*web(*range(81, 88)), **LARGER), FULL, fleet(*range(1, 28)), "~type +86 +87 +26 +27"),
    # Once there is room, new targets and ports come before old ones go.
    "headroom": (asking(*web(*range(82, 87)), **LARGER), FULL, fleet(*range(2, 27)), "~type +86 -81 +26 -1"),
})  # fmt: skip
def test_types(service: Service, balancer: CloudBalancer, world: dict[str, Any], order: str) -> None:
    assert marks(plan_of(service, balancer, **world)) == order


MOVING = PRIVATE | {"private_ipv4": "10.0.0.99"}


@rows("service balancer world waiting", {
    "beyond": (asking(*web(*range(81, 88)), **LARGER),
        a_balancer(targets=public(*range(1, 25)), listeners=tcp(*range(81, 85))), fleet(*range(1, 27)),
        ["listener/86", "listener/87", "target/server:26"]),
    # It is added again where it was: a full load balancer that moves waited with all of its targets.
    "what-leaves-with-the-network": (asking(**MOVING, **LARGER),
        a_balancer(attachments=(HERE,), targets=private(*range(1, 26))), INSIDE | fleet(*range(1, 27)),
        ["target/server:26"]),
})  # fmt: skip
def test_parts_that_wait_for_a_larger_type(
    service: Service, balancer: CloudBalancer, world: dict[str, Any], waiting: list[str]
) -> None:
    """A guard may hold the type: until it comes, Hetzner refuses what is more than the present one takes, and that
    alone."""
    changes = steps(plan_of(service, balancer, **world))
    assert [part_of(change) for change in changes if f"{BALANCER}/type" in change.depends_on] == waiting


@rows("before after order", {
    "headroom": ((81, 82), (82, 83), "+83 -81"),
    "little": ((81, 82, 83, 84), (84, 85, 86, 87), "+85 -81 +86 -82 +87 -83"),
})  # fmt: skip
def test_ports_at_the_limit(before: tuple[int, ...], after: tuple[int, ...], order: str) -> None:
    """An lb11 listens on 5 ports, so that at the limit one goes before another comes."""
    assert marks(plan_of(asking(*web(*after)), a_balancer(listeners=tcp(*before)))) == order


def test_dead_targets_make_room_first() -> None:
    """An lb11 leads to 25 targets."""
    servers = [a_server(number, f"web-{number}") for number in (*range(1, 25), 26, 27)]
    nodes = [a_settled_node(f"web-{number}", number) for number in (*range(2, 25), 26, 27)]
    plan = plan_of(asking(), a_balancer(targets=public(*range(1, 26))), servers=servers, nodes=nodes)
    assert marks(plan) == "-25 +26 -1 +27"


def test_targets_that_come_switch_and_go() -> None:
    """New ones first, so that somebody serves while the others change their address one by one, each only when all
    before it went well."""
    balancer = a_balancer(attachments=(HERE,), targets=public(1, 2, 8, 9))
    world = INSIDE | fleet(1, 2, 3)
    world["servers"] = [*world["servers"], a_server(9, "db-9")]
    plan = plan_of(asking(**PRIVATE), balancer, **world)
    assert marks(plan) == "+3 ~1 ~2 -8 -9"
    needs = {change.key.rpartition(":")[2]: change.depends_on for change in steps(plan)}
    key = f"{BALANCER}/target/server:"
    assert {name: needs[name] for name in "312"} == {"3": (), "1": (f"{key}3",), "2": (f"{key}1",)}


OTHER = {
    "settings": replace(IN_NETWORK, network="8"),
    "network": Present(Network(8, "other", (IPv4Network("10.8.0.0/24"),))),
}
BOTH_NETWORKS = [
    a_server(n, f"web-{n}", private_ips=((7, IPv4Address(f"10.0.0.{n}")), (8, IPv4Address(f"10.8.0.{n}"))))
    for n in (1, 2, 3)
]
NEW_ADDRESS, MIXED = PRIVATE | {"private_ipv4": "10.0.0.7"}, [*private(1, 9), *public(2)]


@rows("options targets world order back", {
    "another-network": (PRIVATE, private(1, 9), OTHER, "-9 -network/7 +network/8 +1 +2 +3", "1"),
    "another-address": (NEW_ADDRESS, MIXED, INSIDE, "-9 ~network/7 +1 +3 ~2", "1"),
    "by-public-addresses-in-another": (OUTSIDE, private(1, 9), OTHER, "+2 +3 ~1 -9 -network/7 +network/8", ""),
})  # fmt: skip
def test_leaving_a_network(options: dict[str, str], targets: Any, world: dict[str, Any], order: str, back: str) -> None:
    """The load balancer leaves after who is lost with it, and together with who comes back through the next network."""
    balancer = a_balancer(attachments=(HERE,), targets=targets)
    nodes = [a_settled_node(f"web-{number}", number) for number in (1, 2, 3)]
    plan = plan_of(asking(**options), balancer, **world, nodes=nodes, servers=BOTH_NETWORKS)
    assert marks(plan) == order
    (leaving,) = (change for change in steps(plan) if isinstance(change.before, Attachment))
    left = GuardDecision(Verdict.WAITING, GuardName.ONLY, "left")

    def waits_for(added: Change) -> bool:
        found = Plan(propagate(change.ruled(left) if change is added else change for change in plan.changes))
        return found.by_key[leaving.key].decision.why == MADE_TOGETHER.text(change=added.key, state="left out")

    added = [change for change in steps(plan) if change.kind == "lb.target" and change.verb is Verb.ADD]
    assert "".join(change.key.rpartition(":")[2] for change in added if waits_for(change)) == back


CERTIFICATES: dict[str, Any] = {"certificates": [a_certificate(5)]}
HTTPS = {"protocol": "https", "http_certificates": "5"}
REDIRECT, PLAIN = HTTPS | {"http_redirect_http": "true"}, HTTPS | {"http_redirect_http": "false"}


def secure(port: int, *, redirect: bool) -> Listener:
    http = HttpOptions("HCLBSTICKY", 300, 50, (5,), redirect_http=redirect, sticky_sessions=False)
    return an_http_listener(port, 30000 + port, protocol=Protocol.HTTPS, http=http)


def probed(port: int, *, redirect: bool) -> Listener:
    return replace(secure(port, redirect=redirect), health_check=an_http_check(30000 + port, path="/ping", tls=True))


TAKES = secure(443, redirect=True)
PROBED, PROBED_TAKES = probed(443, redirect=False), probed(443, redirect=True)


def test_a_returning_target_precedes_newcomers() -> None:
    """It had its place: with a newcomer before it, a move and what makes room for that would wait for each other."""
    balancer = a_balancer(attachments=(HERE,), targets=private(1, 2))
    assert marks(plan_of(asking(**NEW_ADDRESS), balancer, **INSIDE | fleet(1, 2, 10))) == "~network/7 +1 +2 +10"


@rows("service listeners order needs", {
    "a-redirect-takes-its-place": (asking(*web(443), **REDIRECT), [*tcp(80), PROBED], "-80 ~443", {"443": ("80",)}),
    "a-redirect-gives-it-back": (asking(*web(80, 443), **PLAIN), [PROBED_TAKES], "~443 +80", {"80": ("443",)}),
    "from-one-to-another": (asking(*web(8443), **REDIRECT), [TAKES, probed(8443, redirect=False)],
        "-443 ~8443", {"8443": ("443",)}),
    "at-the-limit": (asking(*web(81, 82, 83, 443, 444), **REDIRECT), tcp(80, 81, 82, 83, 84),
        "-80 ~81 ~82 ~83 +443 -84 +444", {"443": ("80",), "444": ("84",)}),
})  # fmt: skip
def test_a_taker_of_port_80_needs_its_release(
    service: Service, listeners: list[Listener], order: str, needs: dict[str, tuple[str, ...]]
) -> None:
    """A redirect takes port 80, however health is checked: another listener gives it back first."""
    plan, key = plan_of(service, a_balancer(listeners=listeners), **CERTIFICATES), f"{BALANCER}/listener/"
    assert marks(plan) == order
    assert {
        change.key.removeprefix(key): tuple(needed.removeprefix(key) for needed in change.depends_on)
        for change in steps(plan)
        if change.depends_on
    } == needs


def test_two_services_do_not_wait_for_each_other() -> None:
    options = {"algorithm_type": "least_connections", "type": "lb21"}
    other = a_served_service("db", uid="uid-db", claim=a_claim(annotations=annotated(**options)))
    balancers = a_balancer(), a_balancer(43, service_uid="uid-db", spec={"name": "auid-db"})
    plan = plan_of(asking(**options), *balancers, others=[other])
    assert len(plan.changes) == 4
    for change in plan.changes:
        needed = {key.rsplit("/", 1)[0] for key in (*change.depends_on, *change.follows)}
        assert needed <= {change.key.rsplit("/", 1)[0]}


def test_the_order_in_which_things_are_given_says_nothing() -> None:
    """The same plan, however targets and listeners were listed; what stands between changes follows from what they
    are."""
    service = asking(*web(81, 82, 83), type="lb21")
    worlds = [
        a_world([service], [a_balancer(targets=targets, listeners=listeners)], **fleet(2, 3, 4))
        for targets, listeners in ((public(1, 2, 9), tcp(80, 22, 90)), (public(9, 2, 1), tcp(90, 80, 22)))
    ]
    first, second = (compute_plan(world, LOCATED) for world in worlds)
    assert first == second
    service = asking(*web(81), ipv4_rdns="a.example.com", ipv6_rdns="a.example.com", type="lb21", **GOES_PRIVATE)
    balancer = a_balancer(attachments=(ELSEWHERE,), targets=public(1, 9))
    given = [replace(change, follows=()) for change in steps(plan_of(service, balancer, **INSIDE | fleet(1, 2)))]
    assert len(given) == 9
    assert in_sequence(given, balancer, LB21) == in_sequence(given[::-1], balancer, LB21)


def some(verb: str, *names: str) -> list[Change]:
    return [a_change(f"node/{name}", "lb.target", verb=verb) for name in names]


@rows("adds removals headroom order", {
    "nothing-to-add": ("", "xy", 5, "xy"),
    "enough": ("ab", "xy", 2, "abxy"),
    "for-one": ("abc", "xy", 1, "axbyc"),
    "less-than-none": ("ab", "xyz", -1, "xaybz"),
})  # fmt: skip
def test_interleaved(adds: str, removals: str, headroom: int, order: str) -> None:
    found = interleaved(some("add", *adds), some("remove", *removals), headroom)
    assert "".join(change.key.name for change in found) == order


def test_what_is_lost_with_the_network_and_comes_back_takes_its_own_place() -> None:
    """A full load balancer that moves has no more room afterwards than it had: an address that was switched before is a
    target still, and one that returns is one again."""
    small = BalancerType("lb11", 5, 3, 10)
    full = a_balancer(attachments=(HERE,), targets=[*private(1, 3), *public(2)], type=small)

    def given(part: str, verb: Verb, before: Any, after: Any, *needed: str) -> Change:
        key, kind = f"{BALANCER}/{part}", f"lb.{part.split('/', 1)[0]}"
        return a_change(key, kind, verb=verb, before=before, after=after, depends_on=needed)

    changes = [
        given("target/server:1", Verb.ADD, None, private(1)[0]),
        given("target/server:2", Verb.REMOVE, public(2)[0], None),
        given("target/server:3", Verb.MODIFY, private(3)[0], public(3)[0]),
        given("target/server:5", Verb.ADD, None, public(5)[0]),
        given("network/7", Verb.REMOVE, HERE, None),
        given("network/8", Verb.ADD, None, ELSEWHERE, f"{BALANCER}/network/7"),
    ]
    order = ["target/server:3", "network/7", "network/8", "target/server:1", "target/server:2", "target/server:5"]
    assert [part_of(change) for change in in_sequence(changes, full, small)] == order
