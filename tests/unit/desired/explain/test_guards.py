"""What each guard says of one Node or Service: of its planned changes, and of a Node's deletion if its server went."""

from collections.abc import Collection, Mapping
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from desired.explain import explain_object
from desired.explain.document import Concern, GuardFact, NodeExplanation
from desired.guards.history import mark_in
from desired.guards.judge import ask_guards
from desired.guards.table import GUARDS
from desired.model.load_balancer import CloudBalancer, ServerTarget
from desired.model.service import Service
from desired.model.settings import Controller, Policy, Settings
from desired.model.snapshot import Node, Snapshot
from desired.plan.change import GuardName, Plan, Verdict
from desired.plan.kinds import KINDS
from desired.plan.setbacks import Setbacks, Suspension
from desired.planner import compute_plan
from desired.rules import guards as rules
from desired.section import Absent
from tests.balancers import a_balancer, a_claim, a_served_service, a_service, a_world, annotated
from tests.builders import (
    NOW,
    a_change,
    a_joining_node,
    a_lost_node,
    a_server,
    a_settled_node,
    a_snapshot,
    incomplete,
    servers_of,
)
from tests.support.judging import explain, facts_of, judge
from tests.support.rows import rows
from tests.support.service_explanations import of_the_service

BORN = NOW - timedelta(days=30)
CONTROL, CONTROL_SERVER = a_settled_node("control-1", 9, created_at=BORN), a_server(9, "control-1")
SETTLED = a_settled_node(created_at=BORN)
LOST, LOST_TOO = a_lost_node(), a_lost_node("web-2", 2)
OBSERVE = Settings(policy=Policy.OBSERVE)
ASKED: Mapping[str, Any] = {"confirmations": {1: Absent(), 2: Absent()}}
TWO_LOST = a_snapshot([CONTROL, LOST, LOST_TOO], [CONTROL_SERVER], **ASKED)


def guard(
    rule: str,
    why: str | None = None,
    value: str | None = None,
    limit: str | None = None,
    due_in_s: float | None = None,
    *,
    verdict: Verdict = Verdict.WAITING,
) -> GuardFact:
    return GuardFact(rule, Concern.CHANGES, verdict, why, value, limit, due_in_s)


def passes(rule: str, value: str | None = None, limit: str | None = None) -> GuardFact:
    return guard(rule, None, value, limit, verdict=Verdict.ALLOWED)


def held(rule: str, why: str, value: int, limit: int, due_in_s: float | None = None) -> GuardFact:
    """A guard that holds a deletion that is not planned, so that there is no hold to approve."""
    return guard(rule, why, str(value), str(limit), due_in_s, verdict=Verdict.HELD)


def said(
    node: Node, snapshot: Snapshot, settings: Settings | None = None, approved: Collection[str] = ()
) -> list[GuardFact]:
    settings = settings or Settings()
    found = explain(node, snapshot, settings, judge(compute_plan(snapshot, settings), snapshot, settings, approved))
    return [fact for fact in found.guards if fact.concerns is Concern.CHANGES]


def supposed(node: Node, snapshot: Snapshot, settings: Settings | None = None) -> list[GuardFact]:
    """What they would say of its deletion, as if that were planned."""
    settings = settings or Settings()
    found = explain(node, snapshot, settings, judge(compute_plan(snapshot, settings), snapshot, settings))
    return [replace(fact, concerns=Concern.CHANGES) for fact in found.guards if fact.concerns is Concern.DELETION]


COMPLETE, POLICY = passes("incomplete-snapshot"), passes("policy")
ANCHOR, ANCHOR_OF_2 = passes("project-anchor", "1", "1"), passes("project-anchor", "2", "1")
OBSERVED = guard("policy", rules.EXCLUDED_BY_POLICY.text(policy="observe"))
UNASKED = guard("absence-proof", rules.LOOKUP_PENDING.text(server="server 1"), due_in_s=5.0)
SILENCE = rules.NOT_READY_TOO_SHORT.text(wait="20 s")
NOT_SILENT = guard("absence-proof", SILENCE, due_in_s=20.0)
PROVEN, ONE_LOST = passes("absence-proof"), passes("node-blast-radius", "1", "1")
HELD = held("node-blast-radius", rules.NODES_LOST.text(lost=2, most=3, limit=1, wait="30 minutes"), 2, 1, 1500.0)


@rows("node settings world expected", {
    "nothing": (SETTLED, Settings(), {}, []),
    "joining": (a_joining_node(), Settings(), {}, [COMPLETE, ANCHOR, POLICY]),
    "observed": (a_joining_node(), OBSERVE, {}, [COMPLETE, ANCHOR, OBSERVED]),
    "once-for-several": (a_settled_node(labels={}, addresses=()), OBSERVE, {}, [COMPLETE, ANCHOR_OF_2, OBSERVED]),
    "deletion": (LOST, Settings(), {**ASKED, "servers": servers_of(CONTROL_SERVER)},
        [COMPLETE, ANCHOR, PROVEN, ONE_LOST, POLICY]),
})  # fmt: skip
def test_on_changes(node: Node, settings: Settings, world: Mapping[str, Any], expected: list[GuardFact]) -> None:
    """Each guard that looks at one of the changes is told once, in the order of guards, with what it measured."""
    assert said(node, replace(a_snapshot([CONTROL, node], [CONTROL_SERVER, a_server()]), **world), settings) == expected


def test_a_hold_and_its_approval() -> None:
    """A hold over several Nodes is told of each with what to approve; one that was approved lets pass."""
    plan = judge(compute_plan(TWO_LOST, Settings()), TWO_LOST, Settings())
    (hold,) = plan.holds
    there, before = replace(HELD, hold=hold), HELD
    approved = replace(hold, approved=True)

    assert hold.keys == ("node/web-1", "node/web-2")
    assert there in said(LOST, TWO_LOST)
    assert replace(there, verdict=Verdict.ALLOWED, hold=approved, approved=True, due_in_s=None) in said(
        LOST, TWO_LOST, approved=[hold.hash]
    )
    for other in (replace(approved, keys=("node/web-2",)), replace(approved, rule=GuardName.POLICY)):
        assert before in explain(LOST, TWO_LOST, Settings(), replace(plan, holds=(other,))).guards


FOUR = [a_settled_node(f"more-{i}", i, created_at=BORN) for i in range(4, 8)]
SIX = servers_of(CONTROL_SERVER, a_server(), *(a_server(i, f"more-{i}") for i in range(4, 8)))
FLEET = [CONTROL, SETTLED]
AT_WORST = rules.NODES_LOST_OR_UNREAD.text(lost=3, most=8, limit=2, wait="30 minutes")
GAP = guard("incomplete-snapshot", rules.LIST_INCOMPLETE.text(list="servers", error="429"))


@rows("snapshot expected", {
    "settled": (a_snapshot(FLEET, [CONTROL_SERVER, a_server()]), [COMPLETE, ANCHOR, NOT_SILENT, ONE_LOST, POLICY]),
    "the-only-node": (a_snapshot([SETTLED], [a_server()]), [COMPLETE, held("project-anchor",
        rules.PROJECT_UNKNOWN.text(most=1), 0, 1), NOT_SILENT, held("node-blast-radius", rules.NODES_LOST.text(lost=1,
        most=1, limit=0, wait="30 minutes"), 1, 0, 1800.0), POLICY]),
    "the-second-lost": (a_snapshot([*FLEET, LOST_TOO], [CONTROL_SERVER, a_server()]), [COMPLETE, ANCHOR, NOT_SILENT,
        HELD, POLICY]),
    "gap": (a_snapshot(FLEET, servers_section=incomplete(servers_of(CONTROL_SERVER, a_server()), "429")), [GAP, ANCHOR,
        NOT_SILENT, passes("node-blast-radius", "0", "1"), POLICY]),
    "one-more-unreadable": (a_snapshot([*FOUR, *FLEET, LOST_TOO, a_lost_node("web-3", 3)], servers_section=replace(SIX,
        unreadable={3: "no type"})), [COMPLETE, passes("project-anchor", "5", "3"), NOT_SILENT,
        held("node-blast-radius", AT_WORST, 3, 2, 1500.0), POLICY]),
})  # fmt: skip
def test_on_a_deletion_that_is_not_planned(snapshot: Snapshot, expected: list[GuardFact]) -> None:
    """What would stand in the way if the server went now and the kubelet fell silent with it; no guard is in doubt of a
    server that is supposed to be gone."""
    assert supposed(SETTLED, snapshot) == expected


def test_a_silent_node_keeps_its_clock() -> None:
    """A Node that is not Ready already has waited for as long as it is."""
    assert UNASKED in supposed(LOST, a_snapshot([CONTROL, LOST], [CONTROL_SERVER, a_server()]))


@rows("node controllers is_told", {
    "settled": (SETTLED, frozenset(Controller), True),
    "left-to-others": (SETTLED, frozenset({Controller.NODE}), False),
    "planned-already": (a_lost_node(server_id=3), frozenset(Controller), False),
    "asked-for": (a_settled_node(deleted_at=NOW), frozenset(Controller), False),
})  # fmt: skip
def test_supposed_deletions(node: Node, controllers: frozenset[Controller], is_told: bool) -> None:
    snapshot = a_snapshot([CONTROL, node], [CONTROL_SERVER, a_server()])
    assert bool(supposed(node, snapshot, Settings(controllers=controllers))) is is_told


def test_memory_of_a_loop() -> None:
    """The results of the pass are told where there are some; guards of the past never as if they let pass."""
    snapshot = a_snapshot([CONTROL, a_joining_node()], [CONTROL_SERVER, a_server()])
    plan = compute_plan(snapshot, Settings())
    (change,) = plan.changes
    setbacks = Setbacks(
        suspensions={change.key: Suspension(GuardName.BACK_OFF, mark_in(change, snapshot), 7.0, 1, error="no")}
    )
    facts = facts_of(plan, snapshot, Settings(), setbacks)
    found = explain_object(change.owner, plan, facts, ask_guards(facts))

    assert not {"back-off", "flapping"} & {fact.rule for fact in said(a_joining_node(), snapshot)}
    assert isinstance(found, NodeExplanation)
    assert guard("back-off", rules.FAILED.text(error="no"), due_in_s=7.0) in found.guards


ALWAYS = dict.fromkeys(("incomplete-snapshot", "project-anchor", "policy"), Verdict.ALLOWED)
SPEAKS = {"silent-cluster": Verdict.ALLOWED}
OWNER, ADOPTS = {"foreign-owner": Verdict.ALLOWED}, {"adoption": Verdict.ALLOWED}
TARGETS = {"target-floor": Verdict.ALLOWED, "target-health": Verdict.ALLOWED}
BY_HAND: Mapping[str, Any] = {"service_uid": None, "cluster_uid": None}
TWO = tuple(ServerTarget(number, use_private_ip=False) for number in (1, 2))
CLOSED = a_balancer(spec={"public_interface": False}, targets=())


def asking(annotations: Mapping[str, str]) -> Service:
    return a_served_service(claim=a_claim(annotations=annotations))


@rows("service balancers more", {
    "new": (a_service(), [], OWNER | {"exposure": Verdict.ALLOWED}),
    "adopted": (a_service(), [a_balancer(**BY_HAND)], SPEAKS | OWNER | ADOPTS),
    "adopted-with-loss": (a_service(), [a_balancer(**BY_HAND, targets=TWO)],
        SPEAKS | OWNER | TARGETS | {"absence-proof": Verdict.WAITING, "adoption": Verdict.HELD}),
    "last-target": (asking(annotated(node_selector="tier=none")), [a_balancer()],
        SPEAKS | TARGETS | {"target-floor": Verdict.HELD}),
    "opened": (asking(annotated(disable_public_network="false")), [CLOSED], SPEAKS | TARGETS),
    "deleted": (a_served_service(deleted_at=NOW), [a_balancer()], SPEAKS | {"ip-loss": Verdict.ALLOWED}),
})  # fmt: skip
def test_on_a_service(service: Service, balancers: list[CloudBalancer], more: Mapping[str, Verdict]) -> None:
    """Those guards are told that have an eye on one of its changes, in the order in which they decide."""
    other = a_service("api", uid="00000000-1111-2222-3333-444444444444")
    found = of_the_service(a_world([service, other], balancers, certificates=[])).guards
    verdicts = {fact.rule: fact.verdict for fact in found}
    assert verdicts == {**ALWAYS, **more}
    assert list(verdicts) == [rule for rule in GUARDS if rule in verdicts]


@pytest.mark.parametrize("rule", [rule for rule, guard in GUARDS.items() if guard.looks_at is not None])
def test_guards_that_look_at_some_changes_only(rule: GuardName) -> None:
    """A guard that is left out where it has no eye on any change has nothing to say there, whatever the world is."""
    snapshot, guard = a_snapshot([LOST, LOST_TOO]), GUARDS[rule]
    for change in (a_change(kind=kind, verb=verb) for kind, row in KINDS.items() for verb in row.verbs):
        view = facts_of(Plan((change,)), snapshot, Settings())
        results = [result for result in guard.judge(view) if result.keys]
        assert not results or (guard.looks_at is not None and guard.looks_at(view, change)), change
