"""The guard ``target-floor``: how many targets stay, through whole plans."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from ipaddress import IPv4Address, IPv4Network
from typing import Any

import pytest

from desired.annotations.claims import ClaimedPort
from desired.guards.history import mark_in
from desired.guards.loss import BalancerChanges, target_floor
from desired.load_balancers.desired import DesiredLoadBalancer
from desired.model.load_balancer import Attachment, CloudBalancer, Health, IpTarget, SelectorTarget
from desired.model.settings import Settings
from desired.model.snapshot import Network, Node, Readiness, RobotAccount, ServerStatus, Snapshot
from desired.model.taint import Taint
from desired.names import LABEL_EXCLUDE_FROM_BALANCERS, TAINT_CLUSTER_AUTOSCALER
from desired.plan.change import GuardName, Verdict
from desired.plan.kinds import Verb
from desired.plan.setbacks import Bar, Scope, Setbacks, Suspension
from desired.planner import compute_plan
from desired.rules.guards import NONE_ANSWERS, TARGETS_OF_OTHERS, TOO_FEW_ANSWER, TOO_FEW_ANSWER_MEANWHILE
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
from tests.builders import NOW, a_lost_node, a_robot_server, a_server, a_settled_node, incomplete, servers_of
from tests.support.balancer_plans import private, public
from tests.support.balancer_verdicts import by_hand, facts, judged, verdicts
from tests.support.judging import facts_of, judge
from tests.support.keys import key_of
from tests.support.rows import rows

LB, SERVICE = "load_balancer/default/web", "service/default/web"
H, U, X = Health.HEALTHY, Health.UNKNOWN, Health.UNHEALTHY
OFF = ServerStatus.OFF
Held = tuple[tuple[str, ...], str, str]
STATES = {"H": H, "X": X}


def fleet(*numbers: int) -> tuple[Node, ...]:
    return tuple(a_settled_node(f"n-{number}", number) for number in numbers)


def out(how: str, *numbers: int) -> tuple[Node, ...]:
    """The same, which a rule keeps traffic from."""
    ways: dict[str, dict[str, Any]] = {
        "label": {"labels": {LABEL_EXCLUDE_FROM_BALANCERS: ""}},
        "taint": {"taints": (Taint(TAINT_CLUSTER_AUTOSCALER, "NoSchedule"),)},
        "deletion": {"deleted_at": NOW},
        "selector": {"labels": {"pool": "old"}},
    }
    fields = ways[how]
    labels = fields.get("labels", {})
    return tuple(replace(node, **{**fields, "labels": {**node.labels, **labels}}) for node in fleet(*numbers))


def to(count: int, *more: Any, **overrides: Any) -> CloudBalancer:
    """The Service's load balancer, which leads to the servers 1 to COUNT, and to ``more``."""
    return a_balancer(targets=(*public(*range(1, count + 1)), *more), **overrides)


def checked(healths: str, **overrides: Any) -> CloudBalancer:
    """One that leads to as many servers, which are healthy (H) or not (X)."""
    checks = {target: STATES[one] for target, one in zip(public(*range(1, len(healths) + 1)), healths, strict=True)}
    return a_balancer(targets=list(checks), health=checks, **overrides)


SELECTING = a_served_service(claim=a_claim(annotations=annotated(node_selector="pool!=old")))
PRIVATE = a_served_service(claim=a_claim(annotations=annotated(use_private_ip="true", disable_private_ingress="true")))
HERE, ELSEWHERE = Attachment(7, IPv4Address("10.0.0.99")), Attachment(9, IPv4Address("10.9.0.2"))


def world_of(
    nodes: Collection[Node], balancer: CloudBalancer, servers: Collection[int] = range(1, 11), off: Collection[int] = ()
) -> Snapshot:
    """These Nodes, servers n-1 to n-10 or those of these numbers, of which some are ``off``, and one Service."""
    there = [a_server(n, f"n-{n}", **({"status": OFF} if n in off else {})) for n in servers]
    return a_world([SELECTING], [balancer], nodes=nodes, servers=there)


def inside(*numbers: int) -> list[Any]:
    """Servers in both networks."""
    places = {n: ((7, IPv4Address(f"10.0.0.{n}")), (9, IPv4Address(f"10.9.0.{n}"))) for n in numbers}
    return [a_server(n, f"n-{n}", private_ips=places[n]) for n in numbers]


def removals(*numbers: int) -> tuple[str, ...]:
    return tuple(sorted(f"{LB}/target/server:{number}" for number in numbers))


def held(left: int, least: int, *numbers: int) -> Held:
    return removals(*numbers), str(left), str(least)


def floor_of(snapshot: Snapshot, settings: Settings = LOCATED) -> Held | None:
    """What the rule holds, with value and limit; None when it holds nothing. No other rule holds anything of the load
    balancer, but for that on targets that live without their Nodes."""
    plan = judged(snapshot, settings)
    hold = next((hold for hold in plan.holds if hold.rule == "target-floor"), None)
    others = {key for each in plan.holds if each.rule not in ("target-floor", "silent-cluster") for key in each.keys}
    assert not any(plan.by_key[key].owner == SERVICE for key in others)
    return (hold.keys, hold.value, hold.limit) if hold else None


def remembering(world: Snapshot, *answered: int, settings: Settings = LOCATED) -> list[Held]:
    """What the guard holds where these answered within the last hour."""
    setbacks = Setbacks(peaks={(42, "answering", "port 80"): frozenset(f"server {number}" for number in answered)})
    found = target_floor(facts_of(compute_plan(world, settings), world, settings, setbacks))
    return [(each.keys, each.value, each.limit) for each in found]


@pytest.mark.parametrize(
    ("count", "gone", "limit"),
    [(1, 1, 1), (2, 1, 0), (2, 2, 1), (3, 1, 0), (3, 2, 2), (5, 2, 0), (5, 3, 3), (10, 5, 0), (10, 6, 5), (10, 10, 5)],
)
def test_half_of_the_targets_stay(count: int, gone: int, limit: int) -> None:
    """Servers that live without their Nodes go as long as half of the targets stay."""
    spare = replace(out("label", 10)[0], name="spare")
    found = floor_of(world_of([*fleet(*range(gone + 1, count + 1)), spare], to(count)))
    assert found == (held(count - gone, limit, *range(1, gone + 1)) if limit else None)


@rows("how count gone limit", {
    "the only one, by a taint": ("taint", 1, 1, 1),
    "two of three by an autoscaler's taint": ("taint", 3, 2, 0),
    "two of three Nodes are being deleted": ("deletion", 3, 2, 0),
    "all but one by a taint": ("taint", 10, 9, 0),
    "all by a deletion": ("deletion", 10, 10, 1),
    "one of three by a label": ("label", 3, 1, 0),
    "two of three by a label": ("label", 3, 2, 2),
    "half by the selector": ("selector", 4, 2, 0),
    "all but one by the selector": ("selector", 10, 9, 5),
    "all by a label": ("label", 10, 10, 5),
})  # fmt: skip
def test_targets_whose_going_has_a_reason(how: str, count: int, gone: int, limit: int) -> None:
    """What was announced lowers the half that has to stay, and never to none; a reason alone does not."""
    nodes = [*out(how, *range(1, gone + 1)), *fleet(*range(gone + 1, count + 1))]
    assert floor_of(world_of(nodes, to(count))) == (held(count - gone, limit, *range(1, gone + 1)) if limit else None)


NO_ADDRESS = servers_of(*(a_server(number, f"n-{number}", ipv4=None) for number in (1, 2, 3)), a_server(4, "n-4"))
SELECTOR, ADDRESS = SelectorTarget("a=b", False), IpTarget("198.51.100.7")
ALL_OUT, SPARE, SIX = out("label", 1, 2, 3), out("label", 10), out("taint", *range(1, 7))
OLD, NEW = fleet(1, 2), fleet(11, 12)
STAYS = replace(fleet(5)[0], unschedulable=True)
IGNORING = replace(LOCATED, ignore_nodes=parse_selector("spare"))
IGNORED = a_lost_node("n-2", 2, labels={"spare": ""})
BOTH_WAYS = world_of([*out("taint", 1, 2), *fleet(3)], to(3))
SMALL = replace(to(10), type=replace(to(10).type, max_targets=4))
OLD_POOL, NEXT_POOL = out("selector", 1, 2, 3, 4), fleet(5, 6)


@rows("world expected", {
    "servers without an address explain nothing": (replace(world_of(fleet(1, 2, 3, 4), to(4)), servers=NO_ADDRESS),
        held(1, 2, 1, 2, 3)),
    "replaced one for one": (world_of(fleet(5, 6, 7, 8), to(4)), None),
    "replaced by half as many": (world_of(fleet(5, 6), to(4)), None),
    "replaced by too few": (world_of(fleet(5), to(4)), held(1, 2, 1, 2, 3, 4)),
    "six announced, two of four not": (world_of([*SIX, *fleet(7, 8)], to(10)), None),
    "six announced, three of four not": (world_of([*SIX, *fleet(7)], to(10)), held(1, 2, 1, 2, 3, 4, 5, 6, 8, 9, 10)),
    "a selector and one of three stay": (world_of(fleet(1), to(3, SELECTOR)), held(1, 2, 2, 3)),
    "a selector stays": (world_of(ALL_OUT, to(3, SELECTOR)), held(0, 2, 1, 2, 3)),
    "an address stays": (world_of(ALL_OUT, to(3, ADDRESS)), held(0, 2, 1, 2, 3)),
    "an address stays when all go for none": (world_of(SPARE, to(3, ADDRESS)), held(0, 2, 1, 2, 3)),
    "a server by two addresses is one target": (world_of(fleet(1), to(2, *private(1, 2))), None),
    "in doubt, four of eight stay": (world_of([*OLD, *NEW], to(6, *public(11, 12))), None),
    "in doubt, two of five stay": (world_of([*OLD[:1], *NEW[:1]], to(4, *public(11))), held(2, 3, 2, 3, 4)),
    "who is drained and stays lowers nothing": (world_of([*out("label", 1, 2, 3), *fleet(4), STAYS], checked("HHHHH")),
        held(2, 3, 1, 2, 3)),
    "the type has no room": (world_of(fleet(*range(1, 11)), SMALL), held(4, 5, *range(4, 10))),
    "the one that is left is off": (world_of([*out("label", 1, 2, 3), *fleet(4)], to(4), off=[4]), held(0, 2, 1, 2, 3)),
    "a taint on all that answer": (world_of([*out("taint", 1, 2), *fleet(3)], to(3), off=[3]), held(0, 1, 1, 2)),
    "a selector that names a pool that is off": (world_of([*OLD_POOL, *NEXT_POOL], to(4), off=[5, 6]),
        held(0, 2, 1, 2, 3, 4)),
})  # fmt: skip
def test_floor(world: Snapshot, expected: Held | None) -> None:
    """Judged on what the load balancer ends up with, server by server, and what answers there then."""
    assert floor_of(world) == expected


TWIN = replace(fleet(1)[0], name="twin")


@rows("nodes expected", {
    "half of those of Hetzner Cloud stay": (fleet(2), None),
    "none of them stays": ((), held(0, 1, 1, 2)),
    "all are kept out": (out("label", 1, 2), None),
    "one is kept out, and the other has no address": ((*fleet(1), *out("label", 2)), held(0, 1, 1, 2)),
    "of two Nodes of one server one is kept out": ((TWIN, *out("label", 1, 2)), held(0, 1, 1, 2)),
})  # fmt: skip
def test_dedicated_servers_outvote_none(nodes: Sequence[Node], expected: Held | None) -> None:
    """The floor is that of each provider, however many targets the other one has."""
    metal = [a_settled_node(f"m-{number}", provider_id=f"hrobot://{number}") for number in (61, 62, 63)]
    account = [a_robot_server(number, f"m-{number}", ipv4=IPv4Address(f"192.0.2.{number}")) for number in (61, 62, 63)]
    balancer = to(2, *(IpTarget(str(each.ipv4)) for each in account))
    servers = servers_of(a_server(1, "n-1", ipv4=None), a_server(2, "n-2"))
    world = replace(world_of([*nodes, *metal], balancer), servers=servers, robot=RobotAccount(servers_of(*account)))
    assert floor_of(world, replace(LOCATED, robot=True)) == expected


def test_why_of_the_floor() -> None:
    """A person reads how many would answer, where, and what brings it about."""
    (zero,) = judged(world_of(out("label", 1), to(1))).holds
    few = next(hold for hold in judged(world_of(fleet(1), to(3))).holds if hold.rule == "target-floor")
    label = f"Node n-1 is not a target: label {LABEL_EXCLUDE_FROM_BALANCERS}"
    at_port = {"balancer": f"load balancer 42 {DEFAULT_NAME}", "scope": "port 80"}
    assert zero.said == TOO_FEW_ANSWER.text(**at_port, left=0, most=1, least=1, cause=label)
    assert few.said == TOO_FEW_ANSWER.text(**at_port, left=1, most=3, least=2, cause="server 2 belongs to no Node")


ADDED = f"{LB}/target/server:2"


@pytest.mark.parametrize("said", [H, U, X])
@pytest.mark.parametrize("met", ["refused", "barred", GuardName.BACK_OFF, GuardName.FLAPPING])
def test_what_cannot_be_added_replaces_nothing(met: str, said: Health) -> None:
    """The only target stays while the one that is to replace it was refused, or waits for another try."""
    world = world_of([*out("selector", 1), *fleet(2)], to(1, health=dict.fromkeys(public(1), said)))
    plan = compute_plan(world, LOCATED)
    mark = mark_in(plan.by_key[key_of(ADDED)], world)
    setbacks = {
        "refused": Setbacks(refused=frozenset({ADDED})),
        "barred": Setbacks(bars={"lb.target add": Bar("no more targets", 30.0, 60.0, {ADDED: 1})}),
    }.get(met) or Setbacks(suspensions={ADDED: Suspension(GuardName(met), mark, 7.0, 1, error="no")})

    found = verdicts(judge(plan, world, LOCATED, setbacks=setbacks))
    assert found[removals(1)[0]] == (Verdict.WAITING, "target-floor")


FULL = f"lb.target add of {SERVICE}"


@pytest.mark.parametrize("said", [H, U, X])
@pytest.mark.parametrize("waited", [2, 9])
@pytest.mark.parametrize("scope", [FULL, "lb.target add"])
def test_a_newcomer_of_this_pass_is_barred_as_those_before_it(scope: str, waited: int, said: Health) -> None:
    """Whether it waited in the pass before, or another one did, nothing goes that it was to replace."""
    world = world_of([*out("label", 1), *fleet(2)], to(1, health=dict.fromkeys(public(1), said)))
    bar = Bar("no more targets", 30.0, 60.0, {f"{LB}/target/server:{waited}": 1})
    found = judge(compute_plan(world, LOCATED), world, LOCATED, setbacks=Setbacks(bars={scope: bar}))
    assert verdicts(found)[removals(1)[0]] == (Verdict.WAITING, "target-floor")


@pytest.mark.parametrize("said", [H, X])
def test_none_goes_while_the_newcomer_is_barred(said: Health) -> None:
    """Two targets are kept out, and the one that comes has joined those that wait in this pass."""
    world = world_of([*out("label", 1, 2), *fleet(3)], to(2, health=dict.fromkeys(public(1, 2), said)))
    bar = Bar("no more targets", 30.0, 60.0, {f"{LB}/target/server:9": 1})
    found = judge(compute_plan(world, LOCATED), world, LOCATED, setbacks=Setbacks(bars={FULL: bar}))
    assert [change.key for change in found.allowed if change.verb is Verb.REMOVE] == []


def test_the_floor_can_be_approved() -> None:
    """A person may empty a load balancer, and one more target is another hold."""
    world = world_of(ALL_OUT, to(3))
    (hold,) = judged(world).holds
    assert {change.key for change in judged(world, approved={hold.hash}).allowed} == {*removals(1, 2, 3)}
    assert judged(world_of(out("label", 1, 2, 3, 4), to(4)), approved={hold.hash}).allowed == ()


GONE = [a_lost_node(f"n-{number}", number) for number in (1, 2, 3)]
ABSENT: Mapping[int, Absent] = dict.fromkeys((1, 2, 3), Absent())


@rows("nodes servers expected", {
    "all dead and no Node left": ([], (), None),
    "all dead": (GONE, (), None),
    "one lives and stays": ([*GONE, *fleet(4)], (4,), None),
    "the only one that lives": (GONE, (4,), held(0, 1, 4)),
    "dead ones count for nothing": ([*GONE, *fleet(4, 5)], range(4, 10), held(2, 3, 6, 7, 8, 9)),
})  # fmt: skip
def test_dead_targets_are_never_held(nodes: list[Node], servers: Sequence[int], expected: Held | None) -> None:
    """What leads to no server goes once that is proven, were it all of them."""
    world = replace(world_of(nodes, to(max(servers, default=3)), servers), confirmations=ABSENT)
    assert floor_of(world) == expected
    assert set(removals(1, 2, 3)) <= {change.key for change in judged(world).allowed}


def test_what_health_checks_said_last_of_a_dead_target_is_void() -> None:
    """The server is proven gone, and the load balancer has not noticed yet: nothing is lost by its removal."""
    absent: Mapping[int, Absent] = dict.fromkeys((2, 3, 4), Absent())
    assert floor_of(replace(world_of(fleet(1), checked("HHHH"), [1]), confirmations=absent)) is None


def test_an_ignored_target_that_is_dead_keeps_nothing_up() -> None:
    """A target that stays and leads nowhere is none."""
    assert floor_of(world_of([*out("label", 1), IGNORED], to(2), [1]), IGNORING) == held(0, 1, 1)


@rows("nodes expected", {
    "all are switched": (fleet(*range(1, 7)), None),
    "two are, and four have no Node any more": (fleet(1, 2), held(2, 3, 3, 4, 5, 6)),
})  # fmt: skip
def test_what_gets_another_address_stays(nodes: Sequence[Node], expected: Held | None) -> None:
    """A switch to private addresses takes no target."""
    servers = inside(*range(1, 7))
    world = a_world([PRIVATE], [to(6, attachments=(HERE,))], nodes=nodes, servers=servers, network=Present(NETWORK))
    assert floor_of(world, IN_NETWORK) == expected


@rows("third expected", {
    "it is in the network": (inside(3), None),
    "it is in another one": ([a_server(3, "n-3", private_ips=((9, IPv4Address("10.9.0.3")),))], held(0, 1, 1)),
    "its private addresses were not said": ([a_server(3, "n-3", missing=frozenset({"private_net"}))], None),
    "it is in no list, and its Node is Ready": ([], None),
})  # fmt: skip
def test_what_may_be_reached_in_the_network_counts_as_left(third: list[Any], expected: Held | None) -> None:
    """One of two targets stays, and nothing is checked yet."""
    nodes = [*out("label", 1), replace(fleet(3)[0], labels={"spare": ""})]
    balancer = a_balancer(targets=private(1, 3), attachments=(HERE,))
    world = a_world([PRIVATE], [balancer], nodes=nodes, servers=[*inside(1), *third], network=Present(NETWORK))
    assert floor_of(world, replace(IN_NETWORK, ignore_nodes=IGNORING.ignore_nodes)) == expected


def test_each_load_balancer_has_its_own_floor() -> None:
    """One that keeps enough goes on beside one that does not."""
    shop = a_balancer(43, service_uid="uid-shop", spec={"name": "shop"}, targets=to(3).targets)
    services = a_world([SELECTING, a_served_service("shop", uid="uid-shop")]).services
    world = world_of([*fleet(1), *out("label", 9, 10)], to(2))
    found = judged(replace(world, services=services, load_balancers=Section({42: to(2), 43: shop})))
    assert [hold.keys for hold in found.holds] == [tuple(f"{LB[:-3]}shop/target/server:{n}" for n in (2, 3))]
    assert set(removals(2)) <= {change.key for change in found.allowed}


@pytest.mark.parametrize("servers", [incomplete(servers_of(a_server(9, "n-9"))), Section.missing("401")])
def test_the_floor_on_servers_that_were_not_all_read(servers: Section[int, Any]) -> None:
    """What may live is taken for alive; and no approval lets a removal pass on a list with a gap."""
    spare = replace(out("label", 9)[0], conditions=a_lost_node("n-9", 9, ready=Readiness.FALSE).conditions)
    world = replace(world_of([spare], to(3)), servers=servers)
    holds = {hold.rule: hold for hold in judged(world).holds}
    assert holds[GuardName.TARGET_FLOOR].keys == removals(1, 2, 3)
    found = judged(world, approved={hold.hash for hold in holds.values()})
    assert {verdicts(found)[key] for key in removals(1, 2, 3)} == {(Verdict.WAITING, "incomplete-snapshot")}


LEAVING = a_served_service(deleted_at=NOW)


@rows("world", {
    "its Service is being deleted": a_world([LEAVING], [to(3)], nodes=[]),
    "there is none": a_world([a_service()], []),
    "there is no such Service": a_world([], [to(3)]),
})  # fmt: skip
def test_a_load_balancer_without_a_floor(world: Snapshot) -> None:
    """One that is being deleted may lose its targets, and so may one that no Service has."""
    (target,) = public(1)
    change = by_hand(f"{LB}/target/server:1", "lb.target", verb=Verb.REMOVE, before=target, after=None)
    assert list(target_floor(facts([change], world))) == []
    assert all(change.kind != "lb.target" for change in judged(world).changes)


def test_deletion_takes_all_targets_along() -> None:
    """Nothing holds the deletion of a load balancer that leads to living servers."""
    world = replace(world_of(fleet(1, 2, 3), to(3)), services=a_world([LEAVING]).services)
    assert {change.kind for change in judged(world).allowed} == {"lb.delete", "service.release"}


ALL = range(1, 9)
ONE_OUT = [*out("label", 1), *fleet(2, 3)]
NOT_READY = replace(out("label", 1)[0], conditions=a_lost_node(ready=Readiness.FALSE).conditions)


@rows("world answered expected", {
    "nothing is remembered": (world_of([*fleet(1, 2, 3), *out("label", 4)], to(4)), (), []),
    "small steps": (world_of([*fleet(1, 2, 3), *out("label", 4)], to(4)), ALL, [held(3, 4, 4)]),
    "announced in this pass": (BOTH_WAYS, (1, 2, 3), []),
    "all answered": (world_of(ONE_OUT, checked("XXX")), (1, 2, 3), [held(0, 2, 1)]),
    "some did": (world_of(ONE_OUT, checked("XXX")), (1, 2), [held(0, 1, 1)]),
    "what goes did not": (world_of(ONE_OUT, checked("XXX")), (2, 3), []),
    "none did, or nothing is remembered of it": (world_of(ONE_OUT, checked("XXX")), (), []),
    "the others answer": (world_of(ONE_OUT, checked("XHH")), (1, 2, 3), []),
    "what goes is off": (world_of(ONE_OUT, checked("XXX"), off=[1]), (1, 2, 3), []),
    "what goes is not Ready": (world_of([NOT_READY, *fleet(2, 3)], checked("XXX")), (1, 2, 3), []),
    "it is drained": (world_of([*out("taint", 1), *fleet(2, 3)], checked("XXX")), (1, 2, 3), []),
})  # fmt: skip
def test_what_answered_within_the_hour(world: Snapshot, answered: Sequence[int], expected: list[Held]) -> None:
    """Many small steps mean what one means, and checks that fail for all at once take nothing."""
    assert remembering(world, *answered) == expected


@pytest.mark.parametrize(("is_public", "count"), [(True, 3), (False, 0)])
def test_what_no_way_leads_to_did_not_answer_lately(is_public: bool, count: int) -> None:
    """Nothing answers. Where the public interface is closed as well, no target may do so the next moment."""
    balancer = checked("XXX", spec={"public_interface": is_public})
    peaks: Mapping[Scope, frozenset[str]] = {
        (42, "answering", "port 80"): frozenset({"server 1", "server 2", "server 3"})
    }
    world = world_of(fleet(1, 2, 3), balancer)
    view = facts_of(compute_plan(world, LOCATED), world, LOCATED, Setbacks(peaks=peaks))
    (lb,) = view.desired.services.values()
    assert isinstance(lb, DesiredLoadBalancer)
    found = BalancerChanges(lb, view, balancer, ()).answered_lately(balancer)
    assert {port: len(there) for port, there in found.items()} == {80: count}


@rows("off expected", {"a pool that is off": ((3, 4), held(0, 1, 1, 2)), "one that may answer": ((), None)})
def test_another_port_and_another_pool_at_once(off: tuple[int, ...], expected: Held | None) -> None:
    """The Service gives up the port at which its targets answer, and asks for another one of another pool."""
    claim = a_claim(ClaimedPort(81, "TCP", 30081), annotations=annotated(node_selector="pool!=old"))
    world = world_of([*out("selector", 1, 2), *fleet(3, 4)], checked("HH"), (1, 2, 3, 4), off)
    assert floor_of(replace(world, services=a_world([a_served_service(claim=claim)]).services)) == expected


def test_ports_that_are_given_up_count_as_one() -> None:
    """What answers at any port has no way that is closed."""
    service = a_served_service(claim=a_claim(ClaimedPort(81, "TCP", 30081)))
    world = a_world([service], [checked("HH")], nodes=fleet(1, 2), servers=inside(1, 2))
    closing = by_hand(f"{LB}/public", "lb.public_interface", before=True, after=False)
    (found,) = target_floor(facts([closing], world))
    assert (found.row, found.keys, found.value, found.limit) == (NONE_ANSWERS, (f"{LB}/public",), "0", "1")


@rows("said expected", {"they answer": (H, [(TOO_FEW_ANSWER_MEANWHILE, "0", "1", 0, 2)]), "none does": (X, [])})
def test_a_move_that_serves_none_in_between(said: Health, expected: list[Any]) -> None:
    """All is given back in the next network, and on the way nothing answers."""
    there = private(1, 2)
    balancer = a_balancer(targets=there, attachments=(ELSEWHERE,), health=dict.fromkeys(there, said))
    world = a_world([PRIVATE], [balancer], nodes=fleet(1, 2), servers=inside(1, 2), network=Present(NETWORK))
    found = target_floor(facts_of(compute_plan(world, IN_NETWORK), world, IN_NETWORK))
    assert [(each.row, each.value, each.limit, each.facts["left"], each.facts["most"]) for each in found] == expected


NO_MORE = Bar("no more", 30.0, 60.0, {})


@rows("place bars failed rule", {
    "all may come back": (HERE, {}, None, None),
    "none may": (HERE, {FULL: NO_MORE}, None, "quota"),
    "one may": (HERE, {FULL: replace(NO_MORE, due_in_s=0.0)}, None, "quota"),
    "the next network is refused": (ELSEWHERE, {"lb.network add": NO_MORE}, None, "quota"),
    "one failed": (HERE, {}, 3, "back-off"),
    "one failed in the next network": (ELSEWHERE, {}, 3, "back-off"),
    "one failed there that comes for the first time": (ELSEWHERE, {}, 4, None),
})  # fmt: skip
def test_a_move_waits_for_all_that_it_brings_back(
    place: Attachment, bars: Mapping[str, Bar], failed: int | None, rule: str | None
) -> None:
    """A person approved what answers nothing for seconds, and not for as long as Hetzner refuses targets."""
    annotations = annotated(use_private_ip="true", private_ipv4="10.0.0.50")
    balancer = a_balancer(targets=private(1, 2, 3), attachments=(place,), health=dict.fromkeys(private(1, 2, 3), H))
    service, nodes = a_served_service(claim=a_claim(annotations=annotations)), fleet(1, 2, 3, 4)
    world = a_world([service], [balancer], nodes=nodes, servers=inside(1, 2, 3, 4), network=Present(NETWORK))
    plan = compute_plan(world, IN_NETWORK)
    marks = {c.key: mark_in(c, world) for c in plan.changes if c.key == f"{LB}/target/server:{failed}"}
    waits = {str(key): Suspension(GuardName.BACK_OFF, mark, 7.0, 1, error="no") for key, mark in marks.items()}
    setbacks = Setbacks(suspensions=waits, bars=bars)
    holds = judge(plan, world, IN_NETWORK, setbacks=setbacks).holds

    found = judge(plan, world, IN_NETWORK, [hold.hash for hold in holds], setbacks)
    (move,) = [c for c in found.changes if c.kind == "lb.network" and isinstance(c.before, Attachment)]
    assert (move.decision.verdict, move.decision.rule) == (Verdict.WAITING if rule else Verdict.ALLOWED, rule)


def test_targets_of_others_stay() -> None:
    """Of two addresses of no Node the private one does not come along into another network."""
    balancer = a_balancer(targets=(IpTarget("10.0.0.77"), ADDRESS, *public(1)), attachments=(HERE,))
    world = replace(world_of(fleet(1), balancer), network=Present(Network(8, "other", (IPv4Network("10.8.0.0/24"),))))
    settings = replace(IN_NETWORK, network="other")
    (found,) = target_floor(facts_of(compute_plan(world, settings), world, settings))
    assert (found.row, found.value, found.limit, found.facts["targets"]) == (TARGETS_OF_OTHERS, "1", "2", "1 target")
