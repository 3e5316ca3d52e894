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


@rows("how count gone limit", {
    "the only one": ("", 1, 1, 1),
    "one of two": ("", 2, 1, 0),
    "two of three": ("", 3, 2, 2),
    "half": ("", 10, 5, 0),
    "one more than half": ("", 10, 6, 5),
    "the only one, by a taint": ("taint", 1, 1, 1),
    "all but one by a taint": ("taint", 10, 9, 0),
    "all by a deletion": ("deletion", 10, 10, 1),
    "two of three by a label": ("label", 3, 2, 2),
    "all by a label": ("label", 10, 10, 5),
})  # fmt: skip
def test_half_of_the_targets_stay(how: str, count: int, gone: int, limit: int) -> None:
    """Servers live without their Nodes, or Nodes are kept out: an announcement lowers the half, and never to none."""
    going = out(how, *range(1, gone + 1)) if how else (replace(out("label", 10)[0], name="spare"),)
    found = floor_of(world_of([*going, *fleet(*range(gone + 1, count + 1))], to(count)))
    assert found == (held(count - gone, limit, *range(1, gone + 1)) if limit else None)


NO_ADDRESS = servers_of(*(a_server(number, f"n-{number}", ipv4=None) for number in (1, 2, 3)), a_server(4, "n-4"))
SELECTOR, ADDRESS = SelectorTarget("a=b", False), IpTarget("198.51.100.7")
ALL_OUT, SPARE, SIX = out("label", 1, 2, 3), out("label", 10), out("taint", *range(1, 7))
OLD, NEW = fleet(1, 2), fleet(11, 12)
STAYS = replace(fleet(5)[0], unschedulable=True)
IGNORING = replace(LOCATED, ignore_nodes=parse_selector("spare"))
BOTH_WAYS = world_of([*out("taint", 1, 2), *fleet(3)], to(3))
SMALL = replace(to(10), type=replace(to(10).type, max_targets=4))
OLD_POOL, NEXT_POOL = out("selector", 1, 2, 3, 4), fleet(5, 6)


@rows("world expected", {
    "servers without an address explain nothing": (replace(world_of(fleet(1, 2, 3, 4), to(4)), servers=NO_ADDRESS),
        held(1, 2, 1, 2, 3)),
    "replaced by half as many": (world_of(fleet(5, 6), to(4)), None),
    "replaced by too few": (world_of(fleet(5), to(4)), held(1, 2, 1, 2, 3, 4)),
    "six announced, three of four not": (world_of([*SIX, *fleet(7)], to(10)), held(1, 2, 1, 2, 3, 4, 5, 6, 8, 9, 10)),
    "a selector and one of three stay": (world_of(fleet(1), to(3, SELECTOR)), held(1, 2, 2, 3)),
    "an address stays": (world_of(ALL_OUT, to(3, ADDRESS)), held(0, 2, 1, 2, 3)),
    "an address stays when all go for none": (world_of(SPARE, to(3, ADDRESS)), held(0, 2, 1, 2, 3)),
    "a server by two addresses is one target": (world_of(fleet(1), to(2, *private(1, 2))), None),
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
    assert floor_of(world) == expected


TWIN = replace(fleet(1)[0], name="twin")


@rows("nodes expected", {
    "half of those of Hetzner Cloud stay": (fleet(2), None),
    "all are kept out": (out("label", 1, 2), None),
    "one is kept out, and the other has no address": ((*fleet(1), *out("label", 2)), held(0, 1, 1, 2)),
    "of two Nodes of one server one is kept out": ((TWIN, *out("label", 1, 2)), held(0, 1, 1, 2)),
})  # fmt: skip
def test_dedicated_servers_outvote_none(nodes: Sequence[Node], expected: Held | None) -> None:
    metal = [a_settled_node(f"m-{number}", provider_id=f"hrobot://{number}") for number in (61, 62, 63)]
    account = [a_robot_server(number, f"m-{number}", ipv4=IPv4Address(f"192.0.2.{number}")) for number in (61, 62, 63)]
    balancer = to(2, *(IpTarget(str(each.ipv4)) for each in account))
    servers = servers_of(a_server(1, "n-1", ipv4=None), a_server(2, "n-2"))
    world = replace(world_of([*nodes, *metal], balancer), servers=servers, robot=RobotAccount(servers_of(*account)))
    assert floor_of(world, replace(LOCATED, robot=True)) == expected


def test_why_of_the_floor() -> None:
    (zero,) = judged(world_of(out("label", 1), to(1))).holds
    few = next(hold for hold in judged(world_of(fleet(1), to(3))).holds if hold.rule == "target-floor")
    label = f"Node n-1 is not a target: label {LABEL_EXCLUDE_FROM_BALANCERS}"
    at_port = {"balancer": f"load balancer 42 {DEFAULT_NAME}", "scope": "port 80"}
    assert zero.said == TOO_FEW_ANSWER.text(**at_port, left=0, most=1, least=1, cause=label)
    assert few.said == TOO_FEW_ANSWER.text(**at_port, left=1, most=3, least=2, cause="server 2 belongs to no Node")


ADDED, FULL = f"{LB}/target/server:2", f"lb.target add of {SERVICE}"


def barred(scope: str, waits: int) -> Setbacks:
    """Hetzner refuses targets, and that of this server waits."""
    return Setbacks(bars={scope: Bar("no more targets", 30.0, 60.0, {f"{LB}/target/server:{waits}": 1})})


def suspended(rule: GuardName) -> Setbacks:
    """The addition was tried in vain."""
    world = world_of([*out("label", 1), *fleet(2)], to(1))
    mark = mark_in(compute_plan(world, LOCATED).by_key[key_of(ADDED)], world)
    return Setbacks(suspensions={ADDED: Suspension(rule, mark, 7.0, 1, error="no")})


@pytest.mark.parametrize("said", [H, U, X])
@rows("setbacks", {
    "refused": Setbacks(refused=frozenset({ADDED})),
    "backing off": suspended(GuardName.BACK_OFF),
    "flapping": suspended(GuardName.FLAPPING),
    "barred": barred("lb.target add", 2),
    "barred as those before it": barred("lb.target add", 9),
    "barred as those of its load balancer": barred(FULL, 9),
})  # fmt: skip
def test_refused_additions_replace_nothing(setbacks: Setbacks, said: Health) -> None:
    world = world_of([*out("label", 1), *fleet(2)], to(1, health=dict.fromkeys(public(1), said)))
    found = verdicts(judge(compute_plan(world, LOCATED), world, LOCATED, setbacks=setbacks))
    assert found[removals(1)[0]] == (Verdict.WAITING, "target-floor")


GONE = [a_lost_node(f"n-{number}", number) for number in (1, 2, 3)]
ABSENT: Mapping[int, Absent] = dict.fromkeys((1, 2, 3), Absent())


@rows("nodes servers expected", {
    "all dead": (GONE, (), None),
    "the only one that lives": (GONE, (4,), held(0, 1, 4)),
    "dead ones count for nothing": ([*GONE, *fleet(4, 5)], range(4, 10), held(2, 3, 6, 7, 8, 9)),
})  # fmt: skip
def test_dead_targets_are_never_held(nodes: list[Node], servers: Sequence[int], expected: Held | None) -> None:
    world = replace(world_of(nodes, to(max(servers, default=3)), servers), confirmations=ABSENT)
    assert floor_of(world) == expected
    assert set(removals(1, 2, 3)) <= {change.key for change in judged(world).allowed}


def test_the_last_health_of_a_dead_target_is_void() -> None:
    """The server is proven gone, and the load balancer has not noticed yet: nothing is lost by its removal."""
    absent: Mapping[int, Absent] = dict.fromkeys((2, 3, 4), Absent())
    assert floor_of(replace(world_of(fleet(1), checked("HHHH"), [1]), confirmations=absent)) is None


@rows("third expected", {
    "it is in the network": (inside(3), None),
    "it is in another one": ([a_server(3, "n-3", private_ips=((9, IPv4Address("10.9.0.3")),))], held(0, 1, 1)),
    "its private addresses were not said": ([a_server(3, "n-3", missing=frozenset({"private_net"}))], None),
    "it is in no list, and its Node is Ready": ([], None),
})  # fmt: skip
def test_servers_in_the_network_count_as_left(third: list[Any], expected: Held | None) -> None:
    """One of two targets stays, and nothing is checked yet."""
    nodes = [*out("label", 1), replace(fleet(3)[0], labels={"spare": ""})]
    balancer = a_balancer(targets=private(1, 3), attachments=(HERE,))
    world = a_world([PRIVATE], [balancer], nodes=nodes, servers=[*inside(1), *third], network=Present(NETWORK))
    assert floor_of(world, replace(IN_NETWORK, ignore_nodes=IGNORING.ignore_nodes)) == expected


def test_each_load_balancer_has_its_own_floor() -> None:
    shop = a_balancer(43, service_uid="uid-shop", spec={"name": "shop"}, targets=to(3).targets)
    services = a_world([SELECTING, a_served_service("shop", uid="uid-shop")]).services
    world = world_of([*fleet(1), *out("label", 9, 10)], to(2))
    found = judged(replace(world, services=services, load_balancers=Section({42: to(2), 43: shop})))
    assert [hold.keys for hold in found.holds] == [tuple(f"{LB[:-3]}shop/target/server:{n}" for n in (2, 3))]
    assert set(removals(2)) <= {change.key for change in found.allowed}


def test_the_floor_on_servers_that_were_not_all_read() -> None:
    """What may live is taken for alive; and no approval lets a removal pass on a list with a gap."""
    spare = replace(out("label", 9)[0], conditions=a_lost_node("n-9", 9, ready=Readiness.FALSE).conditions)
    world = replace(world_of([spare], to(3)), servers=incomplete(servers_of(a_server(9, "n-9"))))
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
    (target,) = public(1)
    change = by_hand(f"{LB}/target/server:1", "lb.target", verb=Verb.REMOVE, before=target, after=None)
    assert list(target_floor(facts([change], world))) == []
    assert all(change.kind != "lb.target" for change in judged(world).changes)


ALL = range(1, 9)
ONE_OUT = [*out("label", 1), *fleet(2, 3)]


@rows("world answered expected", {
    "small steps": (world_of([*fleet(1, 2, 3), *out("label", 4)], to(4)), ALL, [held(3, 4, 4)]),
    "announced in this pass": (BOTH_WAYS, (1, 2, 3), []),
    "all answered": (world_of(ONE_OUT, checked("XXX")), (1, 2, 3), [held(0, 2, 1)]),
    "what goes did not": (world_of(ONE_OUT, checked("XXX")), (2, 3), []),
    "none did, or nothing is remembered of it": (world_of(ONE_OUT, checked("XXX")), (), []),
    "the others answer": (world_of(ONE_OUT, checked("XHH")), (1, 2, 3), []),
    "what goes is off": (world_of(ONE_OUT, checked("XXX"), off=[1]), (1, 2, 3), []),
    "it is drained": (world_of([*out("taint", 1), *fleet(2, 3)], checked("XXX")), (1, 2, 3), []),
})  # fmt: skip
def test_answers_within_the_hour(world: Snapshot, answered: Sequence[int], expected: list[Held]) -> None:
    """Many small steps mean what one means, and checks that fail for all at once take nothing."""
    assert remembering(world, *answered) == expected


@pytest.mark.parametrize(("is_public", "count"), [(True, 3), (False, 0)])
def test_targets_without_a_way_did_not_answer_lately(is_public: bool, count: int) -> None:
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
    claim = a_claim(ClaimedPort(81, "TCP", 30081), annotations=annotated(node_selector="pool!=old"))
    world = world_of([*out("selector", 1, 2), *fleet(3, 4)], checked("HH"), (1, 2, 3, 4), off)
    assert floor_of(replace(world, services=a_world([a_served_service(claim=claim)]).services)) == expected


def test_ports_that_are_given_up_count_as_one() -> None:
    service = a_served_service(claim=a_claim(ClaimedPort(81, "TCP", 30081)))
    world = a_world([service], [checked("HH")], nodes=fleet(1, 2), servers=inside(1, 2))
    closing = by_hand(f"{LB}/public", "lb.public_interface", before=True, after=False)
    (found,) = target_floor(facts([closing], world))
    assert (found.row, found.keys, found.value, found.limit) == (NONE_ANSWERS, (f"{LB}/public",), "0", "1")


@rows("said expected", {"they answer": (H, [(TOO_FEW_ANSWER_MEANWHILE, "0", "1", 0, 2)]), "none does": (X, [])})
def test_a_move_that_serves_none_in_between(said: Health, expected: list[Any]) -> None:
    there = private(1, 2)
    balancer = a_balancer(targets=there, attachments=(ELSEWHERE,), health=dict.fromkeys(there, said))
    world = a_world([PRIVATE], [balancer], nodes=fleet(1, 2), servers=inside(1, 2), network=Present(NETWORK))
    found = target_floor(facts_of(compute_plan(world, IN_NETWORK), world, IN_NETWORK))
    assert [(each.row, each.value, each.limit, each.facts["left"], each.facts["most"]) for each in found] == expected


NO_MORE = Bar("no more", 30.0, 60.0, {})


@rows("place bars failed rule", {
    "all may come back": (HERE, {}, None, None),
    "one may": (HERE, {FULL: replace(NO_MORE, due_in_s=0.0)}, None, "quota"),
    "the next network is refused": (ELSEWHERE, {"lb.network add": NO_MORE}, None, "quota"),
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
    balancer = a_balancer(targets=(IpTarget("10.0.0.77"), ADDRESS, *public(1)), attachments=(HERE,))
    world = replace(world_of(fleet(1), balancer), network=Present(Network(8, "other", (IPv4Network("10.8.0.0/24"),))))
    settings = replace(IN_NETWORK, network="other")
    (found,) = target_floor(facts_of(compute_plan(world, settings), world, settings))
    assert (found.row, found.value, found.limit, found.facts["targets"]) == (TARGETS_OF_OTHERS, "1", "2", "1 target")
