"""Nobody speaks for a cluster whose servers run though no Node is Ready: it may be a copy."""

from dataclasses import asdict, replace
from datetime import datetime, timedelta

import pytest

from desired.guards.guard import GuardResult
from desired.guards.silence import STALE_AFTER, Silence, readiness_heard, row_of, silence_of, silent_cluster
from desired.model.clocks import Clocks
from desired.model.load_balancer import IpTarget, ServerTarget, Target
from desired.model.settings import Settings
from desired.model.snapshot import AddressType, Condition, Node, NodeAddress, Readiness, Server, ServerStatus, Snapshot
from desired.plan.change import Change, GuardName, HoldEnd, Plan, Verdict
from desired.plan.kinds import KINDS, Verb
from desired.rules.guards import (
    ADDITIONS_WAIT,
    HEARTBEATS_STALE,
    NONE_FRESH,
    NONE_READY,
    NOT_REPORTING,
    ONLY_TARGETS_RUN,
    TARGETS_WITHOUT_NODES,
)
from desired.rules.rule import Rule
from desired.section import Absent
from desired.syntax.selector import parse_selector
from tests.balancers import a_balancer, a_served_service, a_world
from tests.builders import NOW, a_change, a_joining_node, a_lost_node, a_node, a_server, a_settled_node, a_snapshot
from tests.routes import a_pod_node, a_pod_server, a_route, a_routed_world
from tests.support.judging import facts_of, judge
from tests.support.route_decisions import judged
from tests.support.rows import rows

SPARE = {"example.com/spare": ""}
SPARED = Settings(ignore_nodes=parse_selector("example.com/spare"))
BORN = a_settled_node("web-1", 1, ready=Readiness.MISSING)
DOWN = a_settled_node("web-1", 1, ready=Readiness.FALSE)
MUTE = a_lost_node("web-1", 1)
MUTE_TOO = a_lost_node("web-2", 2)
OFF = a_server(status=ServerStatus.OFF)
DOWN_TOO = a_settled_node("web-2", 2, ready=Readiness.FALSE)
SPEAKS = a_settled_node("web-3", 3)
TWO_HOURS_AGO, IN_TIME = NOW - timedelta(hours=2), NOW - timedelta(minutes=90)
STALE = a_settled_node("web-3", 3, ready_since=TWO_HOURS_AGO, heartbeat=TWO_HOURS_AGO)
HOURLY = a_settled_node("web-3", 3, ready_since=TWO_HOURS_AGO, heartbeat=IN_TIME)
NEW = a_node("drill-1")
ROBOT = a_node("robot", provider_id="hrobot://7")
ALL = [a_server(number) for number in (1, 2, 3)]


@rows("nodes servers expected", {
    "no-node": ([], [a_server()], None),
    "ready-and-cordoned": ([a_settled_node(unschedulable=True), MUTE_TOO], [a_server()], None),
    "no-server": ([MUTE], [], None),
    "switched-off": ([MUTE], [OFF], None),
    "a-server-of-no-node-yet": ([a_joining_node(), a_lost_node("old", 9)], [a_server()], None),
    "an-ignored-one-does-not-speak": ([MUTE, a_settled_node("b", 2, labels=SPARE)], [a_server()], Silence(1, 1, True)),
    "silent": ([MUTE], [a_server()], Silence(1, 1, True)),
    "one-of-two-runs": ([MUTE, MUTE_TOO], [a_server()], Silence(2, 1, True)),
    "one-kubelet-says-that-it-is-not-ready": ([DOWN, MUTE_TOO], [a_server()], Silence(2, 1, False, some_report=True)),
    "being-born": ([BORN], [a_server()], Silence(1, 1, False, some_report=True)),
    "one-of-three-is-ready": ([MUTE, MUTE_TOO, SPEAKS], ALL, Silence(3, 3, False, 2, 3)),
    "a-machine-of-a-copys-own": ([MUTE, MUTE_TOO, NEW], ALL, Silence(2, 2, False, 2, 3)),
    "half-of-those-that-run": ([MUTE, MUTE_TOO, SPEAKS], ALL[1:], None),
    "one-of-two-is-ready": ([MUTE, SPEAKS], ALL, None),
    "a-network-of-pods-that-is-broken": ([DOWN, DOWN_TOO, SPEAKS], ALL, None),
    "a-ready-robot-server-speaks": ([MUTE, MUTE_TOO, SPEAKS, ROBOT], ALL, None),
    "ready-by-a-stale-heartbeat": ([MUTE, MUTE_TOO, STALE], ALL, Silence(3, 3, False, stale=1)),
    "a-kubelet-that-reports-once-an-hour": ([HOURLY], ALL, None),
    "a-stale-one-among-the-mute": ([MUTE, STALE, NEW], ALL, Silence(2, 2, False, 2, 3, stale=1)),
    "a-stale-one-without-a-server": ([STALE, NEW], [], None),
})  # fmt: skip
def test_silence_of(nodes: list[Node], servers: list[Server], expected: Silence | None) -> None:
    assert silence_of(a_snapshot(nodes, servers), SPARED) == expected


def led(*targets: Target, nodes: list[Node]) -> Snapshot:
    """A world in which the load balancer of a Service leads to these, and the servers 1 to 3 run."""
    return a_world([a_served_service()], [a_balancer(targets=targets)], nodes=nodes, servers=ALL)


TWO = (ServerTarget(1, use_private_ip=False), ServerTarget(2, use_private_ip=False))
RACKED = replace(ROBOT, addresses=(NodeAddress(AddressType.INTERNAL_IP, "10.1.0.5"),))
RACKED_TOO = replace(RACKED, name="robot-2", addresses=(NodeAddress(AddressType.INTERNAL_IP, "10.1.0.6"),))
BY_IP = (IpTarget("10.1.0.5"), IpTarget("10.1.0.6"))


def mute(node: Node) -> Node:
    """The Node, of which nothing is heard."""
    return replace(node, conditions=(Condition("Ready", "Unknown"),))


@rows("world expected", {
    "one-new-machine": (led(*TWO, nodes=[NEW]), Silence(0, 0, False, 2, 3, without_node=2)),
    "one-of-them-is-a-node": (led(*TWO, nodes=[MUTE, SPEAKS, NEW]), Silence(2, 2, False, 2, 4, without_node=1)),
    "and-none-is-ready": (led(*TWO, nodes=[DOWN]), Silence(1, 1, False, without_node=1)),
    "and-no-nodes-server-runs": (led(*TWO, nodes=[a_settled_node("web-9", 9, ready=Readiness.FALSE)]),
        Silence(1, 0, False, without_node=2)),
    "few-against-many": (led(*TWO, nodes=[SPEAKS, NEW, replace(NEW, name="b")]), None),
    "a-node-that-is-still-to-be-initialized": (led(TWO[0], nodes=[a_joining_node("web-1")]), None),
    "of-another-name": (led(TWO[0], nodes=[a_joining_node("drill-1")]), Silence(0, 0, False, without_node=1)),
    "of-that-name-and-another-providers": (led(TWO[0], nodes=[a_node("web-1", ready=Readiness.FALSE)]),
        Silence(0, 0, False, without_node=1)),
    "of-ignored-nodes": (led(*TWO, nodes=[NEW, *(a_settled_node(f"web-{i}", i, labels=SPARE) for i in (1, 2))]), None),
    "addresses-of-nobody": (led(*BY_IP, nodes=[SPEAKS]), None),
    "robot-servers": (led(*BY_IP, nodes=[mute(RACKED), mute(RACKED_TOO)]), Silence(2, 2, True)),
    "robot-servers-and-a-new-machine": (led(*BY_IP, nodes=[mute(RACKED), mute(RACKED_TOO), NEW]),
        Silence(2, 2, False, 2, 3)),
    "one-of-two-robot-servers": (led(*BY_IP, nodes=[mute(RACKED), RACKED_TOO]), None),
    "no-node": (a_world([a_served_service()], [a_balancer()], nodes=[]), Silence(0, 0, False, without_node=1)),
    "no-node-and-no-server-runs": (a_world([a_served_service()], [a_balancer()], nodes=[], servers=[OFF]), None),
    "a-balancer-of-nobody-here": (a_world([], [a_balancer()], nodes=[]), None),
})  # fmt: skip
def test_targets_that_do_not_speak(world: Snapshot, expected: Silence | None) -> None:
    assert silence_of(world, SPARED) == expected


ADDING = {"certificate.create", "lb.create", "lb.listener", "lb.network", "lb.target", "route.create"}
"""Kinds that may add: a listener, a target and a network as well as take them away."""
CHANGES = [
    a_change("node/x", kind, verb=verb)
    for kind, row in KINDS.items()
    for verb in Verb
    if row.writes_cloud and verb in row.verbs
]


@rows("node", {"silent": MUTE, "not-ready": DOWN, "being-born": BORN})
def test_writes_to_the_cloud(node: Node) -> None:
    snapshot = a_snapshot([node], [a_server()])
    for change in CHANGES:
        found = list(silent_cluster(facts_of(Plan((change,)), snapshot, Settings())))
        verdicts = {finding.verdict for finding in found if finding.keys}

        if change.verb is Verb.ADD and change.kind in ADDING:
            assert verdicts == ({Verdict.WAITING} if node is MUTE else set()), change
        elif change.verb is Verb.REMOVE or node is MUTE:
            assert verdicts == {Verdict.HELD}, change
        else:
            assert verdicts == set(), change


AHEAD, BEHIND = Clocks(hetzner=-timedelta(hours=1)), Clocks(hetzner=timedelta(hours=1))
LATE = a_settled_node("web-3", 3, ready_since=TWO_HOURS_AGO, heartbeat=NOW - timedelta(minutes=45))


@rows("nodes clocks expected", {
    "stale-by-kubernetes-clock-alone": ([STALE], AHEAD, GuardName.CLOCK_SKEW),
    "stale-by-hetzners-clock-alone": ([LATE], BEHIND, GuardName.CLOCK_SKEW),
    "stale-by-none": ([LATE], AHEAD, None),
    "half-are-not": ([replace(LATE, name="web-1", provider_id="hcloud://1"), STALE], AHEAD, None),
    "no-heartbeat-is-told": ([a_settled_node("web-3", 3)], AHEAD, None),
    "silent-by-its-own-word": ([a_lost_node("web-3", 3)], AHEAD, GuardName.SILENT_CLUSTER),
    "clocks-agree": ([LATE], Clocks(), None),
})  # fmt: skip
def test_heartbeats_while_clocks_differ(nodes: list[Node], clocks: Clocks, expected: str | None) -> None:
    """What a silence would hold waits where heartbeats are too old by any clock, and nobody can approve it."""
    delete, create = a_change("load_balancer/ns/a", "lb.delete"), a_change("load_balancer/ns/b", "lb.create")
    snapshot = replace(a_snapshot(nodes, ALL), clocks=clocks)
    found = [each for each in silent_cluster(facts_of(Plan((delete, create)), snapshot, Settings())) if each.keys]
    assert next(((each.guard, each.keys) for each in found), None) == (expected and (expected, (delete.key,)))
    assert all(each.verdict is Verdict.WAITING for each in found if each.guard == GuardName.CLOCK_SKEW)


def test_a_cluster_of_which_nothing_reports() -> None:
    delete, create = a_change("load_balancer/ns/a", "lb.delete"), a_change("load_balancer/ns/b", "lb.create")
    facts = asdict(Silence(1, 1, True)) | {"age": "100 minutes", "targets": "0 running targets", "enough": 0}
    end = HoldEnd("once a Node is Ready and most kubelets report")
    held = GuardResult.of(NONE_READY, (delete.key,), facts, value=0, limit=1, end=end).leaving(0, of="kubelets")
    waits = GuardResult.of(ADDITIONS_WAIT, (create.key,), {"nodes": 1})
    plan = Plan((delete, create))
    assert list(silent_cluster(facts_of(plan, a_snapshot([MUTE], [a_server()]), Settings()))) == [held, waits]


def test_half_is_not_enough_to_speak_beside_strangers() -> None:
    world = led(*TWO, nodes=[NEW, replace(NEW, name="b")])
    delete = a_change("load_balancer/ns/a", "lb.delete")
    (finding,) = silent_cluster(facts_of(Plan((delete,)), world, Settings()))
    assert (finding.value, finding.limit) == ("2", "3")


@pytest.mark.parametrize(("silence", "row"), [
    (Silence(2, 1, True), NONE_READY),
    (Silence(4, 3, False, 3, 5), NOT_REPORTING),
    (Silence(4, 3, False, 3, 5, stale=2), HEARTBEATS_STALE),
    (Silence(3, 2, False, stale=3), NONE_FRESH),
    (Silence(1, 0, False, without_node=2), ONLY_TARGETS_RUN),
    (Silence(1, 1, False, 2, 3, without_node=2), TARGETS_WITHOUT_NODES),
])  # fmt: skip
def test_rows_of_a_silence(silence: Silence, row: Rule) -> None:
    assert row_of(silence) is row


def dead_target(server_id: int) -> Change:
    key = f"load_balancer/ns/a/target/server:{server_id}"
    target = ServerTarget(server_id, use_private_ip=False)
    return a_change(key, "lb.target", verb=Verb.REMOVE, before=target, after=None)


@rows("node expected", {"not-ready": (DOWN, Verdict.ALLOWED), "silent": (MUTE, Verdict.WAITING)})
def test_a_target_without_its_server(node: Node, expected: Verdict) -> None:
    plan = judge(Plan((dead_target(1), dead_target(9))), _read(node), Settings())
    living, gone = (plan.by_key[dead_target(number).key].decision for number in (1, 9))
    assert (living.verdict, living.rule) == (Verdict.HELD, GuardName.SILENT_CLUSTER)
    assert gone.verdict is expected


def _read(node: Node) -> Snapshot:
    return a_world(nodes=[node], servers=[a_server()], confirmations={9: Absent()})


def test_a_route_that_leads_nowhere() -> None:
    nodes = [a_pod_node(number, conditions=(Condition("Ready", "False"),)) for number in (1, 2)]
    routes = [a_route(1), a_route(2), a_route(3, 1), a_route(200, "10.0.0.201")]
    plan = judged(a_routed_world(nodes, [a_pod_server(1), a_pod_server(2)], routes, members=[]))
    assert {change.key: change.decision.verdict for change in plan.changes if change.row.writes_cloud} == {
        "route/4/10.244.3.0/24": Verdict.HELD,
        "route/4/10.244.200.0/24": Verdict.ALLOWED,
    }


TOO_OLD, SECOND = NOW - STALE_AFTER - timedelta(seconds=1), timedelta(seconds=1)


def heard(heartbeat: datetime | None, since: datetime = TOO_OLD, ready: Readiness = Readiness.TRUE) -> Node:
    return a_settled_node(ready=ready, ready_since=since, heartbeat=heartbeat)


UNHEARD = heard(TOO_OLD)


@rows("node clocks expected", {
    "stale": (UNHEARD, Clocks(), Readiness.UNKNOWN),
    "in-time": (heard(TOO_OLD + SECOND), Clocks(), Readiness.TRUE),
    "ready-since-just-now": (heard(TOO_OLD, since=NOW), Clocks(), Readiness.TRUE),
    "without-a-heartbeat": (heard(None), Clocks(), Readiness.TRUE),
    "while-clocks-differ": (UNHEARD, Clocks(hetzner=2 * STALE_AFTER), Readiness.TRUE),
    "no-condition": (replace(UNHEARD, conditions=()), Clocks(), Readiness.MISSING),
})  # fmt: skip
def test_readiness_heard(node: Node, clocks: Clocks, expected: Readiness) -> None:
    assert readiness_heard(node, a_snapshot([node], clocks=clocks)) is expected
