"""The rule ``target-floor``, through whole plans."""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from datetime import timedelta
from ipaddress import IPv4Address
from typing import Any

import pytest

from desired.annotations.claims import ClaimedPort
from desired.guards.history import mark_in
from desired.guards.loss import target_floor
from desired.guards.peaks import answered_lately, peaks_of, quiet_ports
from desired.model.load_balancer import (
    Attachment,
    CloudBalancer,
    Health,
    IpTarget,
    SelectorTarget,
    ServerTarget,
)
from desired.model.settings import Settings
from desired.model.snapshot import Node, Readiness, RobotAccount, ServerStatus, Snapshot, Taint
from desired.names import LABEL_EXCLUDE_FROM_BALANCERS, TAINT_CLUSTER_AUTOSCALER
from desired.plan.change import GuardName, Plan, Verdict
from desired.plan.kinds import Verb
from desired.plan.setbacks import Bar, Peak, Setbacks, Suspension
from desired.planner import compute_plan
from desired.rules.guards import TOO_FEW_ANSWER, TOO_FEW_ANSWER_MEANWHILE
from desired.section import Absent, Present, Section
from desired.syntax.selector import parse_selector
from tests.balancers import (
    DEFAULT_NAME,
    IN_NETWORK,
    LOCATED,
    NETWORK,
    a_balancer,
    a_claim,
    a_served_service,
    a_service,
    a_world,
    annotated,
)
from tests.builders import (
    NOW,
    a_lost_node,
    a_robot_server,
    a_server,
    a_settled_node,
    incomplete,
    servers_of,
)
from tests.support.balancer_verdicts import by_hand, facts, judged, verdicts
from tests.support.judging import facts_of, judge
from tests.support.keys import key_of

LB, SERVICE = "load_balancer/default/web", "service/default/web"


def a_fleet(count: int) -> tuple[Node, ...]:
    """Nodes n-1 to n-COUNT on the servers of these numbers, all Ready."""
    return tuple(a_settled_node(f"n-{number}", number) for number in range(1, count + 1))


def out(node: Node, how: str = "label") -> Node:
    """The Node, which a rule keeps traffic from."""
    ways: dict[str, Any] = {
        "label": {"labels": {**node.labels, LABEL_EXCLUDE_FROM_BALANCERS: ""}},
        "taint": {"taints": (Taint(TAINT_CLUSTER_AUTOSCALER, "NoSchedule"),)},
        "deletion": {"deleted_at": NOW},
        "selector": {"labels": {**node.labels, "pool": "old"}},
    }
    return replace(node, **ways[how])


def balancing(count: int, *more: Any, **overrides: Any) -> CloudBalancer:
    """The Service's load balancer, which leads to the servers 1 to COUNT, and to ``more``."""
    members = (*(ServerTarget(number, use_private_ip=False) for number in range(1, count + 1)), *more)
    return a_balancer(targets=members, **overrides)


SELECTING = a_served_service(claim=a_claim(annotations=annotated(node_selector="pool!=old")))


def world_of(nodes: Iterable[Node], balancer: CloudBalancer, servers: Iterable[int] = range(1, 11)) -> Snapshot:
    """These Nodes, servers n-1 to n-10 or those of these numbers, and one Service."""
    there = [a_server(number, f"n-{number}") for number in servers]
    return a_world([SELECTING], [balancer], nodes=nodes, servers=there)


def removals(*numbers: int) -> tuple[str, ...]:
    """Keys of the removals of these servers."""
    return tuple(sorted(f"{LB}/target/server:{number}" for number in numbers))


def floor_of(snapshot: Snapshot, settings: Settings = LOCATED) -> tuple[tuple[str, ...], str, str] | None:
    """What the rule holds, with value and limit; None when it holds nothing. No other rule holds anything of the load
    balancer, but for that on targets that live without their Nodes."""
    plan = judged(snapshot, settings)
    hold = next((hold for hold in plan.holds if hold.rule == "target-floor"), None)
    others = {key for each in plan.holds if each.rule not in ("target-floor", "silent-cluster") for key in each.keys}
    assert not any(plan.by_key[key].owner == SERVICE for key in others)
    return (hold.keys, hold.value, hold.limit) if hold else None


@pytest.mark.parametrize(
    ("count", "gone", "limit"),
    [
        pytest.param(1, 1, "1", id="the only one"),
        pytest.param(2, 1, None, id="exactly half stays"),
        pytest.param(2, 2, "1", id="both"),
        pytest.param(3, 1, None, id="more than half of an odd number stays"),
        pytest.param(3, 2, "2", id="less than half of an odd number stays"),
        pytest.param(5, 2, None, id="three of five stay"),
        pytest.param(5, 3, "3", id="two of five stay"),
        pytest.param(10, 5, None, id="five of ten stay"),
        pytest.param(10, 6, "5", id="four of ten stay"),
        pytest.param(10, 10, "5", id="none of ten stays"),
    ],
)
def test_targets_that_nobody_explains(count: int, gone: int, limit: str | None) -> None:
    """Servers that live without their Nodes go as long as half of the targets stay."""
    spare = out(a_settled_node("spare", 10))
    found = floor_of(world_of([*a_fleet(count)[gone:], spare], balancing(count)))

    assert found == ((removals(*range(1, gone + 1)), str(count - gone), limit) if limit else None)


@pytest.mark.parametrize(
    ("gone", "held"),
    [
        pytest.param(1, None, id="half of those of Hetzner Cloud stay"),
        pytest.param(2, ("0", "1"), id="none of them stays"),
    ],
)
def test_dedicated_servers_outvote_nobody(gone: int, held: tuple[str, str] | None) -> None:
    """The floor is that of each provider, however many targets the other one has."""
    metal = [a_settled_node(f"m-{number}", provider_id=f"hrobot://{number}") for number in (61, 62, 63)]
    account = [a_robot_server(number, f"m-{number}", ipv4=IPv4Address(f"192.0.2.{number}")) for number in (61, 62, 63)]
    addresses = [IpTarget(str(each.ipv4)) for each in account]
    world = world_of([*a_fleet(2)[gone:], *metal], balancing(2, *addresses))
    world = replace(world, robot=RobotAccount(servers_of(*account)))

    found = floor_of(world, replace(LOCATED, robot=True))

    assert found == ((removals(1, 2), *held) if held else None)


def test_targets_for_which_the_type_has_no_room() -> None:
    """A Node without room may get traffic, and its server loses it all the same."""
    full = balancing(10)
    small = replace(full, type=replace(full.type, max_targets=4))

    assert floor_of(world_of(a_fleet(10), small)) == (removals(*range(4, 10)), "4", "5")
    changes = [change for change in judged(world_of(a_fleet(10), small), LOCATED).changes if change.verb is Verb.REMOVE]
    assert all(change.consequences for change in changes)


@pytest.mark.parametrize(
    ("how", "count", "gone", "held"),
    [
        pytest.param("taint", 1, 1, ("0", "1"), id="the only one, by a taint"),
        pytest.param("taint", 3, 2, None, id="two of three by an autoscaler's taint"),
        pytest.param("deletion", 3, 2, None, id="two of three Nodes are being deleted"),
        pytest.param("taint", 10, 9, None, id="all but one by a taint"),
        pytest.param("deletion", 10, 10, ("0", "1"), id="all by a deletion"),
        pytest.param("label", 3, 1, None, id="one of three by a label"),
        pytest.param("label", 3, 2, ("1", "2"), id="two of three by a label"),
        pytest.param("selector", 4, 2, None, id="half by the selector"),
        pytest.param("selector", 10, 9, ("1", "5"), id="all but one by the selector"),
        pytest.param("label", 10, 10, ("0", "5"), id="all by a label"),
    ],
)
def test_targets_whose_going_has_a_reason(how: str, count: int, gone: int, held: tuple[str, str] | None) -> None:
    """What was announced lowers the half that has to stay, and never to none; a reason alone does not."""
    nodes = [out(node, how) if number < gone else node for number, node in enumerate(a_fleet(count))]

    found = floor_of(world_of(nodes, balancing(count)))
    assert found == ((removals(*range(1, gone + 1)), *held) if held else None)


def test_why_of_the_floor() -> None:
    """A person reads how many would answer, where, and what brings it about."""
    (zero,) = judged(world_of([out(a_fleet(1)[0])], balancing(1))).holds
    few = next(hold for hold in judged(world_of(a_fleet(1), balancing(3))).holds if hold.rule == "target-floor")

    named = f"load balancer 42 {DEFAULT_NAME}"
    label = f"Node n-1 is no target: it has the label {LABEL_EXCLUDE_FROM_BALANCERS}"
    at_port = {"balancer": named, "scope": "port 80"}
    assert zero.said == TOO_FEW_ANSWER.text(**at_port, left=0, most=1, cause=label)
    assert few.said == TOO_FEW_ANSWER.text(**at_port, left=1, most=3, cause="no Node is server 2")


OFF = ServerStatus.OFF


@pytest.mark.parametrize(
    ("nodes", "off"),
    [
        pytest.param([*map(out, a_fleet(3)), a_fleet(4)[3]], [4], id="three by a label, and the fourth is off"),
        pytest.param([*(out(n, "taint") for n in a_fleet(2)), a_fleet(3)[2]], [3], id="a taint on all that answer"),
        pytest.param(
            [*(out(n, "selector") for n in a_fleet(4)), *(a_settled_node(f"b-{n}", n) for n in (5, 6))],
            [5, 6],
            id="a selector that names a pool that is off",
        ),
    ],
)
def test_targets_that_are_off_answer_nothing(nodes: list[Node], off: list[int]) -> None:
    """Servers that exist and are off keep nothing up."""
    world = world_of(nodes, balancing(4 if len(nodes) > 3 else 3))
    servers = {n: replace(found, status=OFF) if n in off else found for n, found in world.servers.items.items()}
    found = floor_of(replace(world, servers=Section(servers)))

    assert found is not None
    assert found[1] == "0"


def test_targets_whose_interface_is_closed_answer_nothing() -> None:
    """Settings that vanish together: public targets behind a closed interface replace private ones."""
    place = Attachment(7, IPv4Address("10.0.0.9"))
    inside = [a_server(n, f"n-{n}", private_ips=((7, IPv4Address(f"10.0.0.{n + 9}")),)) for n in (1, 2, 3)]
    balancer = a_balancer(
        targets=tuple(ServerTarget(n, use_private_ip=True) for n in (1, 2, 3)),
        attachments=(place,),
        spec={"public_interface": False},
    )
    world = replace(world_of(a_fleet(3), balancer), servers=servers_of(*inside))

    found = floor_of(world)
    assert found == (removals(1, 2, 3), "0", "2")
    assert {change.kind for change in judged(world).allowed} == {"service.status"}


ADDED = f"{LB}/target/server:2"


@pytest.mark.parametrize("said", [Health.HEALTHY, Health.UNKNOWN, Health.UNHEALTHY])
@pytest.mark.parametrize("met", ["refused", "barred", GuardName.BACK_OFF, GuardName.FLAPPING])
def test_what_cannot_be_added_replaces_nothing(met: str, said: Health) -> None:
    """The only target stays while the one that is to replace it was refused, or waits for another try."""
    old, new = a_fleet(2)
    balancer = balancing(1, health={ServerTarget(1, use_private_ip=False): said})
    world = world_of([out(old, "selector"), new], balancer)
    plan = compute_plan(world, LOCATED)
    mark = mark_in(plan.by_key[key_of(ADDED)], world)
    setbacks = {
        "refused": Setbacks(refused=frozenset({ADDED})),
        "barred": Setbacks(bars={"lb.target": Bar("no more targets", 30.0, 60.0, {ADDED: 1})}),
    }.get(met) or Setbacks(suspensions={ADDED: Suspension(GuardName(met), mark, 7.0, 1, error="no")})

    found = verdicts(judge(plan, world, LOCATED, setbacks=setbacks))

    assert found[removals(1)[0]] == (Verdict.WAITING, "target-floor")


def test_the_floor_can_be_approved() -> None:
    """A person may empty a load balancer, and one more target is another hold."""
    snapshot = world_of([out(node) for node in a_fleet(3)], balancing(3))
    more = world_of([out(node) for node in a_fleet(4)], balancing(4))
    (hold,) = judged(snapshot).holds

    assert {change.key for change in judged(snapshot, approved={hold.hash}).allowed} == {*removals(1, 2, 3)}
    assert judged(more, approved={hold.hash}).allowed == ()


UNUSABLE = [a_server(number, f"n-{number}", ipv4=None) for number in (1, 2, 3)]


@pytest.mark.parametrize(
    ("nodes", "balancer", "overrides", "expected"),
    [
        pytest.param(
            a_fleet(4),
            balancing(4),
            {"servers": servers_of(*UNUSABLE, a_server(4, "n-4"))},
            (removals(1, 2, 3), "1", "2"),
            id="unusable servers explain nothing",
        ),
        pytest.param(
            [a_settled_node(f"new-{number}", number) for number in (5, 6, 7, 8)],
            balancing(4),
            {},
            None,
            id="replaced one for one",
        ),
        pytest.param(
            [a_settled_node(f"new-{number}", number) for number in (5, 6)],
            balancing(4),
            {},
            None,
            id="replaced by half as many",
        ),
        pytest.param(
            [a_settled_node("new-5", 5)], balancing(4), {}, (removals(1, 2, 3, 4), "1", "2"), id="replaced by too few"
        ),
        pytest.param(
            [*(out(n, "taint") for n in a_fleet(6)), *a_fleet(9)[6:]],
            balancing(10),
            {},
            None,
            id="six announced, one of four not",
        ),
        pytest.param(
            [*(out(n, "taint") for n in a_fleet(6)), *a_fleet(8)[6:]],
            balancing(10),
            {},
            None,
            id="six announced, two of four not",
        ),
        pytest.param(
            [*(out(n, "taint") for n in a_fleet(6)), a_fleet(7)[6]],
            balancing(10),
            {},
            (removals(*range(1, 7), 8, 9, 10), "1", "2"),
            id="six announced, three of four not",
        ),
        pytest.param(
            [a_fleet(1)[0]],
            balancing(3, SelectorTarget("a=b", False)),
            {},
            (removals(2, 3), "1", "2"),
            id="a selector and one of three stay",
        ),
        pytest.param(
            [out(node) for node in a_fleet(3)],
            balancing(3, SelectorTarget("a=b", False)),
            {},
            (removals(1, 2, 3), "0", "2"),
            id="a selector stays when all go for a reason",
        ),
        pytest.param(
            [out(node) for node in a_fleet(3)],
            balancing(3, IpTarget("198.51.100.7")),
            {},
            (removals(1, 2, 3), "0", "2"),
            id="an address stays when all go for a reason",
        ),
        pytest.param(
            [out(a_settled_node("spare", 10))],
            balancing(3, IpTarget("198.51.100.7")),
            {},
            (removals(1, 2, 3), "0", "2"),
            id="an address stays when all go for none",
        ),
        pytest.param(
            a_fleet(1),
            balancing(2, *(ServerTarget(number, use_private_ip=True) for number in (1, 2))),
            {},
            None,
            id="a server by two addresses is one target",
        ),
        pytest.param(
            [*a_fleet(4)[:2], a_settled_node("n-11", 11), a_settled_node("n-12", 12)],
            balancing(6, *(ServerTarget(number, use_private_ip=False) for number in (11, 12))),
            {},
            None,
            id="kept while in doubt, four of eight stay",
        ),
        pytest.param(
            [*a_fleet(1), a_settled_node("n-11", 11)],
            balancing(4, ServerTarget(11, use_private_ip=False)),
            {},
            (removals(2, 3, 4), "2", "3"),
            id="kept while in doubt, two of five stay",
        ),
    ],
)
def test_floor(
    nodes: list[Node],
    balancer: CloudBalancer,
    overrides: dict[str, Any],
    expected: tuple[tuple[str, ...], str, str] | None,
) -> None:
    """Judged on what the load balancer ends up with, server by server."""
    assert floor_of(replace(world_of(nodes, balancer), **overrides)) == expected


GONE = [a_lost_node(f"n-{number}", number) for number in (1, 2, 3)]


@pytest.mark.parametrize(
    ("nodes", "servers", "expected"),
    [
        pytest.param([], range(4, 4), None, id="all dead and no Node left"),
        pytest.param(GONE, range(4, 4), None, id="all dead"),
        pytest.param([*GONE, a_settled_node("n-4", 4)], range(4, 5), None, id="one lives and stays"),
        pytest.param(GONE, range(4, 5), (removals(4), "0", "1"), id="the only one that lives"),
        pytest.param(
            [*GONE, *a_fleet(5)[3:]], range(4, 10), (removals(6, 7, 8, 9), "2", "3"), id="dead ones count for nothing"
        ),
    ],
)
def test_dead_targets_are_never_held(
    nodes: list[Node], servers: range, expected: tuple[tuple[str, ...], str, str] | None
) -> None:
    """What leads to no server goes once that is proven, were it all of them."""
    gone: Mapping[int, Absent] = dict.fromkeys((1, 2, 3), Absent())
    snapshot = replace(world_of(nodes, balancing(max(servers, default=3)), servers), confirmations=gone)

    assert floor_of(snapshot) == expected
    assert set(removals(1, 2, 3)) <= {change.key for change in judged(snapshot).allowed}


def test_what_health_checks_said_last_of_a_dead_target_is_void() -> None:
    """The server is proven gone, and the load balancer has not noticed yet: nothing is lost by its removal."""
    balancer = balancing(4)
    balancer = replace(balancer, checks={target: {80: Health.HEALTHY} for target in balancer.targets})
    snapshot = world_of(a_fleet(1), balancer, [1])
    snapshot = replace(snapshot, confirmations=dict.fromkeys((2, 3, 4), Absent()))

    assert floor_of(snapshot) is None


def test_an_ignored_target_that_is_dead_keeps_nothing_up() -> None:
    """A target that stays and leads nowhere is none."""
    nodes = [out(a_settled_node("n-1", 1)), a_lost_node("n-2", 2, labels={"spare": ""})]
    settings = replace(LOCATED, ignore_nodes=parse_selector("spare"))

    assert floor_of(world_of(nodes, balancing(2), [1]), settings) == (removals(1), "0", "1")


def test_switching_to_private_addresses_removes_nothing() -> None:
    """A target that gets another address stays a target."""
    service = a_served_service(claim=a_claim(annotations=annotated(use_private_ip="true")))
    place = Attachment(7, IPv4Address("10.0.0.9"))
    inside = a_server(private_ips=((7, IPv4Address("10.0.0.2")),))
    snapshot = a_world([service], [a_balancer(attachments=(place,))], servers=[inside], network=Present(NETWORK))

    found = judged(snapshot, IN_NETWORK)
    assert found.holds == ()
    assert verdicts(found)[f"{LB}/target/server:1"] == (Verdict.ALLOWED, None)


def test_what_gets_another_address_stays_beside_what_goes() -> None:
    """Two of six targets are switched, and four have no Node any more: two of six stay."""
    service = a_served_service(claim=a_claim(annotations=annotated(use_private_ip="true")))
    place = Attachment(7, IPv4Address("10.0.0.9"))
    inside = [
        a_server(number, f"n-{number}", private_ips=((7, IPv4Address(f"10.0.0.{number + 9}")),))
        for number in range(1, 7)
    ]
    balancer = balancing(6, attachments=(place,))
    snapshot = a_world([service], [balancer], nodes=a_fleet(2), servers=inside, network=Present(NETWORK))

    assert floor_of(snapshot, IN_NETWORK) == (removals(3, 4, 5, 6), "2", "3")


def test_each_load_balancer_has_its_own_floor() -> None:
    """One that keeps enough goes on beside one that does not."""
    shop = a_served_service("shop", uid="uid-shop")
    balancers = [
        balancing(2),
        a_balancer(43, service_uid="uid-shop", spec={"name": "shop"}, targets=balancing(3).targets),
    ]
    nodes = [*a_fleet(1), *(out(a_settled_node(f"spare-{number}", number)) for number in (9, 10))]
    snapshot = replace(world_of(nodes, balancing(2)), services=a_world([SELECTING, shop]).services)
    snapshot = replace(snapshot, load_balancers=Section({balancer.id: balancer for balancer in balancers}))

    found = judged(snapshot)
    assert [hold.keys for hold in found.holds] == [
        ("load_balancer/default/shop/target/server:2", "load_balancer/default/shop/target/server:3")
    ]
    assert set(removals(2)) <= {change.key for change in found.allowed}


@pytest.mark.parametrize(
    "servers",
    [
        pytest.param(incomplete(servers_of(a_server(9, "n-9"))), id="a gap"),
        pytest.param(Section.missing("401"), id="not read"),
    ],
)
def test_the_floor_on_servers_that_were_not_all_read(servers: Section[int, Any]) -> None:
    """What may live is taken for alive; and no approval lets a removal pass on a list with a gap."""
    spare = out(a_lost_node("spare", 9, ready=Readiness.FALSE))
    snapshot = replace(world_of([spare], balancing(3)), servers=servers)
    holds = {hold.rule: hold for hold in judged(snapshot).holds}

    assert holds[GuardName.TARGET_FLOOR].keys == removals(1, 2, 3)
    found = judged(snapshot, approved={hold.hash for hold in holds.values()})
    assert {verdicts(found)[key] for key in removals(1, 2, 3)} == {(Verdict.WAITING, "incomplete-snapshot")}


LEAVING = a_served_service(deleted_at=NOW)


@pytest.mark.parametrize(
    "snapshot",
    [
        pytest.param(a_world([LEAVING], [balancing(3)], nodes=[]), id="its Service is being deleted"),
        pytest.param(a_world([a_service()], []), id="there is none"),
        pytest.param(a_world([], [balancing(3)]), id="there is no such Service"),
    ],
)
def test_a_load_balancer_without_a_floor(snapshot: Snapshot) -> None:
    """One that is being deleted may lose its targets, and so may one that is nobody's."""
    target = ServerTarget(1, use_private_ip=False)
    change = by_hand(f"{LB}/target/server:1", "lb.target", verb=Verb.REMOVE, before=target, after=None)

    assert list(target_floor(facts([change], snapshot))) == []
    assert all(change.kind != "lb.target" for change in judged(snapshot).changes)


def test_deletion_takes_all_targets_along() -> None:
    """Nothing holds the deletion of a load balancer that leads to living servers."""
    snapshot = replace(world_of(a_fleet(3), balancing(3)), services=a_world([LEAVING]).services)

    assert {change.kind for change in judged(snapshot).allowed} == {"lb.delete", "service.release"}


def at(minutes: int, *alive: int, drained: int = 0) -> Snapshot:
    """The world so many minutes later, in which these servers are targets; the first ``drained`` Nodes are cordoned."""
    nodes = [replace(node, unschedulable=number < drained) for number, node in enumerate(a_fleet(8))]
    targets = [ServerTarget(number, use_private_ip=False) for number in alive]
    balancer = a_balancer(targets=targets, health=dict.fromkeys(targets, Health.HEALTHY))
    return replace(world_of(nodes, balancer), taken_at=NOW + timedelta(minutes=minutes))


@pytest.mark.parametrize(
    ("steps", "expected"),
    [
        pytest.param([at(0, *range(1, 9))], 8, id="all"),
        pytest.param([at(0, *range(1, 9)), at(10, 1, 2, 3)], 8, id="fewer within the hour"),
        pytest.param([at(0, *range(1, 9)), at(61, 1, 2, 3)], 3, id="fewer after it"),
        pytest.param([at(0, 1, 2, 3), at(10, 1, 2, 3), at(65, 1)], 3, id="as many once more begins the hour anew"),
        pytest.param([at(0, *range(1, 9)), at(10, *range(1, 9), drained=5), at(20, 6, 7, 8)], 3, id="drained before"),
    ],
)
def test_a_peak_lasts_for_an_hour(steps: list[Snapshot], expected: int) -> None:
    """The most targets that answered, without those that were announced to go."""
    peaks: Mapping[str, Peak] = {}
    for world in steps:
        peaks = peaks_of(world, LOCATED, peaks)

    assert {scope: len(peak.members) for scope, peak in peaks.items()} == {
        "42/answering/port 80": expected,
        "42/provider/Cloud": expected,
    }


def test_many_small_steps_mean_what_one_means() -> None:
    """Four of eight were taken within the hour: one more is too many."""
    world = world_of([*a_fleet(3), out(a_fleet(4)[3])], balancing(4))
    settings, plan = LOCATED, compute_plan(world, LOCATED)
    peaks = {"42/answering/port 80": frozenset(f"server:{number}" for number in range(1, 9))}
    facts_then = facts_of(plan, world, settings)

    assert not list(target_floor(facts_then))
    (result,) = target_floor(replace(facts_then, setbacks=Setbacks(peaks=peaks)))
    assert (result.keys, result.value, result.limit) == (removals(4), "3", "4")


@pytest.mark.parametrize(
    ("answered", "healths", "held"),
    [
        pytest.param((1, 2, 3), "XXX", ("0", "2"), id="all answered within the hour"),
        pytest.param((1, 2), "XXX", ("0", "1"), id="some did"),
        pytest.param((2, 3), "XXX", None, id="what goes did not"),
        pytest.param((), "XXX", None, id="none did, or nothing is remembered"),
        pytest.param((1, 2, 3), "XHH", None, id="the others answer"),
    ],
)
def test_checks_that_fail_for_all_at_once_take_nothing(
    answered: tuple[int, ...], healths: str, held: tuple[str, str] | None
) -> None:
    """What answered within the last hour may answer the next moment again."""
    states = {"H": Health.HEALTHY, "X": Health.UNHEALTHY}
    checks = {ServerTarget(number, use_private_ip=False): states[one] for number, one in enumerate(healths, start=1)}
    nodes = [out(a_fleet(1)[0]), *a_fleet(3)[1:]]
    world = world_of(nodes, a_balancer(targets=list(checks), health=checks))
    peaks = {"42/answering/port 80": frozenset(f"server:{number}" for number in answered)}
    then = facts_of(compute_plan(world, LOCATED), world, LOCATED, Setbacks(peaks=peaks))

    found = list(target_floor(then))

    assert [(each.keys, each.value, each.limit) for each in found] == ([(removals(1), *held)] if held else [])


@pytest.mark.parametrize("why", ["off", "not Ready", "drained"])
def test_what_is_known_not_to_answer_is_no_loss(why: str) -> None:
    """Nothing answers, and the one that goes does not for a reason of its own, or was announced to go."""
    first = a_settled_node("n-1", ready=Readiness.FALSE if why == "not Ready" else Readiness.TRUE)
    node = out(first, "taint" if why == "drained" else "label")
    checks = dict.fromkeys((ServerTarget(number, use_private_ip=False) for number in (1, 2, 3)), Health.UNHEALTHY)
    world = world_of([node, *a_fleet(3)[1:]], a_balancer(targets=list(checks), health=checks))
    if why == "off":
        off = replace(a_server(1, "n-1"), status=ServerStatus.OFF)
        world = replace(world, servers=servers_of(off, *(a_server(number, f"n-{number}") for number in (2, 3))))
    peaks = {"42/answering/port 80": frozenset({"server:1", "server:2", "server:3"})}

    assert not list(target_floor(facts_of(compute_plan(world, LOCATED), world, LOCATED, Setbacks(peaks=peaks))))


@pytest.mark.parametrize(
    ("status", "held"),
    [
        pytest.param(ServerStatus.OFF, True, id="a pool that is off"),
        pytest.param(ServerStatus.RUNNING, False, id="one that may answer"),
    ],
)
def test_another_port_and_another_pool_at_once(status: ServerStatus, held: bool) -> None:
    """The Service gives up the port at which its targets answer, and asks for another one of another pool."""
    claim = a_claim(ClaimedPort(81, "TCP", 30081), annotations=annotated(node_selector="pool!=old"))
    nodes = [*(out(node, "selector") for node in a_fleet(2)), *a_fleet(4)[2:]]
    servers = [
        a_server(number, f"n-{number}", status=status if number > 2 else ServerStatus.RUNNING)
        for number in (1, 2, 3, 4)
    ]
    there = {ServerTarget(number, use_private_ip=False): Health.HEALTHY for number in (1, 2)}
    balancer = a_balancer(targets=list(there), health=there)
    world = a_world([a_served_service(claim=claim)], [balancer], nodes=nodes, servers=servers)

    found = floor_of(world)

    assert found == ((removals(1, 2), "0", "1") if held else None)


def test_a_move_that_serves_nobody_in_between() -> None:
    """All is given back in the next network, and on the way nothing answers."""
    there = [ServerTarget(number, use_private_ip=True) for number in (1, 2)]
    elsewhere = Attachment(9, IPv4Address("10.9.0.2"))
    balancer = a_balancer(targets=there, attachments=(elsewhere,), health=dict.fromkeys(there, Health.HEALTHY))
    servers = [a_server(n, f"n-{n}", private_ips=((7, IPv4Address(f"10.0.0.{n}")),)) for n in (1, 2)]
    claim = a_claim(annotations=annotated(use_private_ip="true"))
    service = a_served_service(claim=claim)
    world = a_world([service], [balancer], nodes=a_fleet(2), servers=servers, network=Present(NETWORK))

    (result,) = target_floor(facts_of(compute_plan(world, IN_NETWORK), world, IN_NETWORK))

    assert (result.value, result.limit) == ("0", "1")
    assert result.row is TOO_FEW_ANSWER_MEANWHILE
    assert (result.facts["left"], result.facts["most"], result.facts["scope"]) == (0, 2, "port 80")


def test_who_is_drained_and_stays_lowers_nothing() -> None:
    """Three of five go, and one that stays is cordoned: two are less than half of five."""
    stays = replace(a_fleet(5)[4], unschedulable=True)
    there = {ServerTarget(number, use_private_ip=False): Health.HEALTHY for number in range(1, 6)}
    nodes = [*(out(node) for node in a_fleet(3)), a_fleet(4)[3], stays]

    assert floor_of(world_of(nodes, a_balancer(targets=list(there), health=there))) == (removals(1, 2, 3), "2", "3")


@pytest.mark.parametrize(("is_public", "count"), [(True, 3), (False, 0)])
def test_what_no_way_leads_to_did_not_answer_lately(is_public: bool, count: int) -> None:
    """Nothing answers. Where the public interface is closed as well, no target may do so the next moment."""
    checks = dict.fromkeys((ServerTarget(number, use_private_ip=False) for number in (1, 2, 3)), Health.UNHEALTHY)
    balancer = a_balancer(targets=list(checks), health=checks, spec={"public_interface": is_public})
    world = world_of(a_fleet(3), balancer)
    peaks = {"42/answering/port 80": frozenset({"server:1", "server:2", "server:3"})}

    then = facts_of(Plan(()), world, LOCATED, Setbacks(peaks=peaks))
    found = answered_lately(balancer, quiet_ports(balancer, then), then)

    assert {port: len(there) for port, there in found.items()} == {80: count}


def test_what_is_announced_in_this_pass_lowers_the_peak() -> None:
    """Two of three are tainted by an autoscaler, and the loop remembers all three."""
    world = world_of([*(out(node, "taint") for node in a_fleet(2)), a_fleet(3)[2]], balancing(3))
    peaks = {"42/answering/port 80": frozenset({"server:1", "server:2", "server:3"})}
    then = facts_of(compute_plan(world, LOCATED), world, LOCATED, Setbacks(peaks=peaks))

    assert not list(target_floor(then))
