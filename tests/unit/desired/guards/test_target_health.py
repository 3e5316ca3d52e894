"""The guard ``target-health``: nothing that answers goes before what replaces it answers (D32)."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from ipaddress import IPv4Address
from typing import Any

from desired.annotations.choices import Protocol
from desired.annotations.claims import ClaimedPort
from desired.guards.targets import look_again_s
from desired.model.load_balancer import (
    Attachment,
    Health,
    HealthCheck,
    IpTarget,
    Listener,
    SelectorTarget,
    ServerTarget,
    Target,
)
from desired.model.snapshot import Node, NodeAddress, RobotAccount, ServerStatus, Snapshot
from desired.names import LABEL_EXCLUDE_FROM_BALANCERS
from desired.plan.change import GuardName, Plan, Verdict
from desired.plan.setbacks import NO_SETBACKS, Scope, Setbacks
from desired.planner import compute_plan
from desired.rules.guards import NEWCOMERS_UNHEALTHY
from desired.section import UNMANAGED, Present
from tests.balancers import DEFAULT_NAME, IN_NETWORK, LB11, LOCATED, NETWORK, a_balancer, a_listener, a_world
from tests.builders import a_robot_server, a_settled_node, servers_of
from tests.support.balancer_plans import asking, fleet, public
from tests.support.balancer_verdicts import judged
from tests.support.judging import judge
from tests.support.rows import rows

HERE = Attachment(7, IPv4Address("10.0.0.200"))
BALANCER = "load_balancer/default/web"
H, U, X = Health.HEALTHY, Health.UNKNOWN, Health.UNHEALTHY
OK, WAITS, HOLDS = Verdict.ALLOWED, Verdict.WAITING, Verdict.HELD
Healths = Mapping[int, Health | Mapping[int, Health]]
NOTHING: Healths = {}


@rows("checks expected", {
    "no listener": ([], 15),
    "quick": ([(3, 2, 1)], 3),
    "the shorter of two": ([(3, 2, 1), (15, 10, 3)], 3),
    "not said": ([(UNMANAGED, UNMANAGED, UNMANAGED)], 15),
})  # fmt: skip
def test_when_to_look_again(checks: list[Any], expected: int) -> None:
    listeners: list[Listener] = [a_listener(health_check=HealthCheck(Protocol.TCP, 30080, *each)) for each in checks]
    assert look_again_s(listeners) == expected


@dataclass(frozen=True)
class Seen:
    """What a plan does of a switch, by the numbers of servers."""

    go: frozenset[int] = frozenset()
    wait: frozenset[int] = frozenset()
    held: frozenset[int] = frozenset()


def some(*numbers: int) -> frozenset[int]:
    return frozenset(numbers)


def switching(
    old: Healths,
    new: Healths = NOTHING,
    *,
    down: Iterable[int] = (),
    to_private: bool = True,
    approved: Iterable[str] = (),
    place: Attachment = HERE,
    setbacks: Setbacks = NO_SETBACKS,
    **options: str,
) -> Plan:
    """The plan for a load balancer that leads to ``old`` by the addresses that are left, and to ``new`` by others."""
    ways = {(server, not to_private): health for server, health in old.items()}
    ways |= {(server, to_private): health for server, health in new.items()}
    health = {ServerTarget(*way): said for way, said in ways.items()}
    balancer = a_balancer(attachments=(place,), targets=health, health=health)
    hidden = {"disable_private_ingress": "true"}
    service = asking(use_private_ip="true" if to_private else "false", **hidden, **options)
    nodes = fleet(*sorted({*old, *new}))
    for number in down:
        nodes["servers"][number - 1] = replace(nodes["servers"][number - 1], status=ServerStatus.OFF)
    world = a_world([service], [balancer], network=Present(NETWORK), **nodes)
    return judge(compute_plan(world, IN_NETWORK), world, IN_NETWORK, tuple(approved), setbacks)


def seen(plan: Plan) -> Seen:
    found: dict[Verdict, set[int]] = {}
    for change in plan.changes:
        if change.kind == "lb.target" and isinstance(change.after, ServerTarget):
            found.setdefault(change.decision.verdict, set()).add(change.after.server_id)
    return Seen(*(frozenset(found.get(verdict, ())) for verdict in (OK, WAITS, HOLDS)))


@rows("old new expected", {
    "one goes first": ({1: H, 2: H, 3: H}, {}, Seen(some(1), some(2, 3))),
    "one that answers": ({1: X, 2: H, 3: H}, {}, Seen(some(2), some(1, 3))),
    "none answered before": ({1: X, 2: X, 3: X}, {}, Seen(some(1, 2, 3))),
    "not checked yet": ({1: U, 2: U, 3: X}, {}, Seen(wait=some(1, 2, 3))),
    "the only target": ({1: H}, {}, Seen(some(1))),
    "beside a newcomer that is not checked yet": ({1: H}, {2: U}, Seen(wait=some(1))),
    "the first is not checked yet": ({2: H, 3: H}, {1: U}, Seen(wait=some(2, 3))),
    "the first fails": ({2: H, 3: H}, {1: X}, Seen(held=some(2, 3))),
    "as many again": (dict.fromkeys(range(4, 10), H), {1: H, 2: H, 3: H}, Seen(some(4, 5, 6), some(7, 8, 9))),
    "one is still out": (dict.fromkeys(range(4, 10), H), {1: H, 2: H, 3: U}, Seen(some(4), some(5, 6, 7, 8, 9))),
    "nothing is known of one that is left": ({2: X, 3: U}, {1: H}, Seen(some(2), some(3))),
    "one of those that went fails": ({4: H, 5: H}, {1: H, 2: X, 3: H}, Seen(held=some(4, 5))),
    "nothing answers any more": ({2: X, 3: X}, {1: X}, Seen(some(2, 3))),
    "the only target, not checked yet": ({1: U}, {}, Seen(some(1))),
})  # fmt: skip
def test_addresses_are_switched_in_turn(old: Healths, new: Healths, expected: Seen) -> None:
    """As many at once as answer the new way, one at least, half at most."""
    assert seen(switching(old, new)) == expected


@rows("old new answered expected", {
    "one goes first": ({1: X, 2: X, 3: X}, {}, (1, 2, 3), Seen(some(1), some(2, 3))),
    "the first fails as they do": ({2: X, 3: X}, {1: X}, (1, 2, 3), Seen(wait=some(2, 3))),
    "the first answers": ({2: X, 3: X}, {1: H}, (1, 2, 3), Seen(some(2, 3))),
})  # fmt: skip
def test_checks_that_fail_for_all_at_once_hurry_no_switch(
    old: Healths, new: Healths, answered: tuple[int, ...], expected: Seen
) -> None:
    """They may be wrong for a moment: what answered within the last hour counts as answering, until something does."""
    peaks: Mapping[Scope, frozenset[str]] = {
        (42, "answering", "port 80"): frozenset(f"server {number}" for number in answered)
    }
    assert seen(switching(old, new, setbacks=Setbacks(peaks=peaks))) == expected


def drained(found: dict[str, Any], *numbers: int) -> dict[str, Any]:
    """The same fleet, of which these Nodes are kept from the load balancer."""
    out = {LABEL_EXCLUDE_FROM_BALANCERS: ""}
    names = {f"web-{number}" for number in numbers}
    nodes = [replace(n, labels={**n.labels, **out}) if n.name in names else n for n in found["nodes"]]
    return {**found, "nodes": nodes}


BOTH, ONE, OTHER, NONE = {80: H, 443: H}, {80: H, 443: X}, {80: X, 443: H}, {80: X, 443: X}


@rows("old new expected", {
    "a port that never answers": ({1: ONE, 2: ONE}, {}, Seen(some(1), some(2))),
    "one that answers nowhere": ({2: ONE}, {1: NONE}, Seen(held=some(2))),
    "one of two ports is lost": ({2: BOTH}, {1: ONE}, Seen(held=some(2))),
    "others answer at its ports": ({1: BOTH, 2: ONE, 3: OTHER}, {}, Seen(some(1), some(2, 3))),
    "what alone answers is not first": ({1: BOTH, 2: ONE, 3: ONE}, {}, Seen(some(2), some(1, 3))),
})  # fmt: skip
def test_each_port_for_itself(old: Healths, new: Healths, expected: Seen) -> None:
    assert seen(switching(old, new)) == expected


@rows("old new expected", {
    "the first: another one": ({2: H, 3: H}, {1: X}, Seen(some(2), some(3))),
    "one of two: the next": ({3: H, 4: H}, {1: X, 2: H}, Seen(some(3), some(4))),
    "not checked yet: it is not waited for": ({1: U, 2: U}, {}, Seen(some(1), some(2))),
})  # fmt: skip
def test_a_server_that_is_down_holds_nothing(old: Healths, new: Healths, expected: Seen) -> None:
    """It is off, and says nothing of its address."""
    assert seen(switching(old, new, down=(1,))) == expected


def test_a_load_balancer_without_a_port() -> None:
    balancer = a_balancer(attachments=(HERE,), targets=public(1, 2), listeners=())
    world = a_world([asking(use_private_ip="true")], [balancer], network=Present(NETWORK), **fleet(1, 2))
    assert goes(judged(world, IN_NETWORK)) == {"1", "2"}


def test_back_to_public_addresses() -> None:
    """The same in the other direction, and what did not answer goes back at once."""
    assert seen(switching({1: H, 2: H}, to_private=False)) == Seen(some(1), some(2))
    assert seen(switching({1: X}, {2: H, 3: H}, to_private=False)) == Seen(some(1))


def test_the_hold_of_a_failure() -> None:
    plan = switching({2: H, 3: H}, {1: X})
    (hold,) = plan.holds

    assert (hold.rule, hold.said) == (
        "target-health",
        NEWCOMERS_UNHEALTHY.text(
            balancer=f"load balancer 42 {DEFAULT_NAME}", targets="server:1", kept="2 former targets"
        ),
    )
    assert seen(switching({2: H, 3: H}, {1: X}, approved=[hold.hash])) == Seen(some(2, 3))
    waiting = switching({2: H, 3: H}, {1: U}).by_key[f"{BALANCER}/target/server:2"]
    assert waiting.decision.due_in_s == 15


@rows("old new verdict", {
    "one goes": ({1: H, 2: H}, {}, WAITS),
    "the last one is not checked yet": ({}, {1: H, 2: U}, WAITS),
    "the end": ({}, {1: H, 2: H}, OK),
    "not checked yet": ({1: U, 2: U}, {}, WAITS),
})  # fmt: skip
def test_the_way_back_stays_open(old: Healths, new: Healths, verdict: Verdict) -> None:
    plan = switching(old, new, disable_public_network="true")
    assert plan.by_key[f"{BALANCER}/public"].decision.verdict is verdict


POOL_A, POOL_B = public(1, 2), public(5, 6)
STRANGER, SELECTOR = IpTarget("203.0.113.9"), SelectorTarget("pool=web", use_private_ip=False)


@rows("health wanted stay", {
    "none of them is there yet": (dict.fromkeys(POOL_A, H), (5, 6), {1, 2}),
    "not checked yet": (dict.fromkeys(POOL_A, H) | dict.fromkeys(POOL_B, U), (5, 6), {1, 2}),
    "one answers": (dict.fromkeys(POOL_A, H) | {POOL_B[0]: H, POOL_B[1]: U}, (5, 6), {2}),
    "both answer": (dict.fromkeys((*POOL_A, *POOL_B), H), (5, 6), set()),
    "nothing is lost": (dict.fromkeys(POOL_A, X), (5, 6), set()),
    "of none anything is known": (dict.fromkeys(POOL_A, U), (5, 6), {1, 2}),
    "those that go failed": ({**dict.fromkeys(POOL_A, X), **dict.fromkeys(POOL_B, U)}, (5, 6), set()),
    "selectors and strangers stand for none": ({POOL_A[1]: U, SELECTOR: U, STRANGER: U}, (1,), {2}),
    "of all nothing is known yet": (dict.fromkeys((*POOL_A, *POOL_B), U), (5, 6), {1, 2}),
})  # fmt: skip
def test_a_pool_that_replaces_another(health: dict[Target, Health], wanted: tuple[int, ...], stay: set[int]) -> None:
    left = (number for number in (1, 2, 5, 6) if number not in wanted)
    world = a_world([asking()], [a_balancer(targets=list(health), health=health)], **drained(fleet(1, 2, 5, 6), *left))
    plan = judged(world, LOCATED)
    going = {c.key: c for c in plan.changes if c.kind == "lb.target" and c.after is None}
    assert {int(key.rpartition(":")[2]) for key, c in going.items() if c.decision.verdict is not OK} == stay


def test_another_port_and_another_pool_at_once() -> None:
    balancer = a_balancer(targets=public(1, 2), health=dict.fromkeys(public(1, 2), H))
    service = asking(ClaimedPort(81, "TCP", 30081))
    assert goes(judged(a_world([service], [balancer], **drained(fleet(1, 2, 5, 6), 1, 2)), LOCATED)) == set()


def test_a_move_waits_for_no_checks() -> None:
    """Leaving a network for another one ends no way by which targets are reached from outside."""
    elsewhere = Attachment(9, IPv4Address("10.9.0.2"))
    balancer = a_balancer(attachments=(elsewhere,), targets=public(1, 2), health=dict.fromkeys(public(1, 2), U))
    world = a_world([asking()], [balancer], network=Present(NETWORK), **fleet(1, 2))
    plan = judged(world, IN_NETWORK)
    places = {change.decision.rule for change in plan.changes if change.kind == "lb.network"}
    assert places == {GuardName.BY_DEFAULT}


PUBLIC = [IpTarget(f"192.0.2.{number}") for number in range(4)]
PRIVATE = [IpTarget(f"10.1.0.{number}") for number in range(4)]
(_, OLD, _, OLD_THIRD), (_, NEW, SECOND, THIRD) = PUBLIC, PRIVATE
Checks = Mapping[Target, Health | dict[int, Health]]


def metal(*numbers: int, **fields: Any) -> tuple[list[Node], RobotAccount]:
    nodes = [a_settled_node(f"db-{n}", provider_id=f"hrobot://{n}", **fields) for n in numbers]
    account = [a_robot_server(n, f"db-{n}", ipv4=IPv4Address(PUBLIC[n].ip)) for n in numbers]
    return nodes, RobotAccount(servers_of(*account))


@rows("health verdict", {
    "both answer": ({OLD: H, NEW: H}, OK),
    "the new one alone": ({OLD: X, NEW: H}, OK),
    "the new one, and the old one is not checked": ({OLD: U, NEW: H}, OK),
    "not checked yet": ({OLD: H, NEW: U}, WAITS),
    "the old one alone": ({OLD: H, NEW: X}, HOLDS),
    "neither": ({OLD: X, NEW: X}, WAITS),
    "not at each port": ({OLD: {80: H, 81: H}, NEW: {80: H, 81: X}}, HOLDS),
    "a port that never answers": ({OLD: {80: H, 81: X}, NEW: {80: H, 81: X}}, OK),
    "the old one may answer yet": ({OLD: U, NEW: X, SECOND: H}, HOLDS),
    "neither, and another shows the way": ({OLD: X, NEW: X, SECOND: H}, OK),
    "neither, and a stranger shows nothing": ({OLD: X, NEW: X, STRANGER: H}, HOLDS),
    "the way of a third one is broken": ({OLD: X, NEW: X, SECOND: H, THIRD: X, OLD_THIRD: H}, HOLDS),
})  # fmt: skip
def test_an_address_of_a_dedicated_server_goes_when_its_other_one_answers(health: Checks, verdict: Verdict) -> None:
    """The private address came, and the public one is to go."""
    nodes, account = metal(1, 2, 3)
    nodes = [replace(n, addresses=(NodeAddress("InternalIP", PRIVATE[i].ip),)) for i, n in enumerate(nodes, start=1)]
    listeners = [a_listener(80, 30080), a_listener(81, 30081)]
    balancer = a_balancer(attachments=(HERE,), targets=list(health), health=health, listeners=listeners)
    service = asking(ClaimedPort(80, "TCP", 30080), ClaimedPort(81, "TCP", 30081), use_private_ip="true")
    world = a_world([service], [balancer], nodes=nodes, network=Present(NETWORK), robot=account)
    plan = judged(world, replace(IN_NETWORK, robot=True))

    assert plan.by_key[f"{BALANCER}/target/{OLD.name}"].decision.verdict is verdict


@rows("came verdicts", {
    "one makes room": ({}, [OK, WAITS, WAITS]),
    "what came is not checked yet": ({OLD: U}, [WAITS, WAITS]),
    "it fails": ({OLD: X}, [HOLDS, HOLDS]),
    "it answers": ({OLD: H}, [OK, WAITS]),
})  # fmt: skip
def test_servers_that_make_room_for_dedicated_ones(came: Mapping[Target, Health], verdicts: list[Verdict]) -> None:
    left = public(1, 2, 3)[len(came) :]
    health: dict[Target, Health] = {**dict.fromkeys(left, H), **came}
    (nodes, account), found = metal(1, 2, 3), drained(fleet(1, 2, 3), 1, 2, 3)
    small = replace(LB11, name="small", max_targets=3)
    balancer = a_balancer(targets=list(health), health=health, type=small)
    there: dict[str, Any] = {**found, "nodes": [*found["nodes"], *nodes], "robot": account}
    world = a_world([asking(type="small")], [balancer], balancer_types={"small": small}, **there)
    plan = judged(world, replace(LOCATED, robot=True))

    going = [change.decision.verdict for change in plan.changes if change.before in left]
    assert sorted(going) == sorted(verdicts)


def goes(plan: Plan) -> set[str]:
    return {c.key.rpartition(":")[2] for c in plan.allowed if c.kind == "lb.target" and c.before is not None}


def switching_while(leaving: Iterable[int], health: dict[Target, Health], *numbers: int) -> Plan:
    """A switch to private addresses, while Nodes are kept from the load balancer."""
    balancer = a_balancer(attachments=(HERE,), targets=list(health), health=health)
    there = drained(fleet(*numbers), *leaving)
    return judged(a_world([asking(use_private_ip="true")], [balancer], network=Present(NETWORK), **there), IN_NETWORK)


@rows("numbers leaving expected", {
    "two of four": ((1, 2, 3, 4), (3, 4), {"1", "3"}),
    "one of four": ((1, 2, 3, 4), (4,), {"1"}),
    "one of two": ((1, 2), (2,), {"1"}),
})  # fmt: skip
def test_a_switch_and_a_removal_at_once(numbers: tuple[int, ...], leaving: tuple[int, ...], expected: set[str]) -> None:
    assert goes(switching_while(leaving, dict.fromkeys(public(*numbers), H), *numbers)) == expected


def draining(health: dict[Target, Health], *numbers: int) -> Snapshot:
    """The first of these Nodes is kept from the load balancer."""
    there = drained(fleet(*numbers), numbers[0])
    return a_world([asking()], [a_balancer(targets=list(health), health=health)], **there)


def test_refused_additions_keep_nothing() -> None:
    """A Node that is drained does not wait for one whose addition was refused."""
    world = draining(dict.fromkeys(public(1, 2, 3), H), 1, 2, 3, 5)
    refused = Setbacks(refused=frozenset({f"{BALANCER}/target/server:5"}))
    assert goes(judged(world, LOCATED)) == set()
    assert goes(judge(compute_plan(world, LOCATED), world, LOCATED, (), refused)) == {"1"}


def test_nodes_without_a_pod_hold_nothing() -> None:
    """With the policy Local they fail their health checks by design."""
    health: dict[Target, Health] = {
        ServerTarget(1, use_private_ip=True): H,
        ServerTarget(2, use_private_ip=True): X,
        **dict.fromkeys(public(4, 5), H),
    }
    balancer = a_balancer(attachments=(HERE,), targets=list(health), health=health)
    asked = asking(use_private_ip="true", disable_private_ingress="true")
    service = replace(asked, claim=replace(asked.claim, external_traffic_policy="Local"))
    plan = judged(a_world([service], [balancer], network=Present(NETWORK), **fleet(1, 2, 4, 5)), IN_NETWORK)

    assert (goes(plan), plan.holds) == ({"4"}, ())
