"""What the loop holds against single changes (``flapping``, ``back-off``) and against kinds of changes (``quota``)."""

from collections.abc import Mapping
from dataclasses import replace

import pytest

from desired.guards.guard import GuardResult
from desired.guards.history import back_off, bars_of, flapping, mark_in, narrow_scope_of, quota, scope_of, suspension_of
from desired.model.service import ServiceCondition
from desired.model.settings import Settings
from desired.model.snapshot import Condition, Snapshot
from desired.plan.change import Change, GuardName, Plan, Verdict, with_advice
from desired.plan.kinds import Verb
from desired.plan.setbacks import Bar, Setbacks, Suspension
from desired.rules.guards import (
    CONDITION_REVERTED,
    CONDITION_REVERTED_BY,
    FAILED,
    FAILED_AGAIN,
    NOT_VISIBLE,
    REVERTED,
    SERVICE_REVERTED,
    SERVICE_REVERTED_BY,
)
from desired.rules.rule import Rule
from tests.balancers import a_service, a_world
from tests.builders import NOW, a_change, a_server, a_settled_node, a_snapshot, an_identity
from tests.support.judging import facts_of, judge
from tests.support.rows import rows

CHANGE = a_change()
OTHER = a_change("node/web-2", owner="node/web-2")
NODES = [a_settled_node(), a_settled_node("web-2", 2)]
SERVERS = [a_server(), a_server(2, "web-2")]
READY, IPAM = "LoadBalancerReady", "cilium.io/IPAMRequestSatisfied"


def against(change: Change, rule: str = GuardName.BACK_OFF) -> Mapping[str, Suspension]:
    return {change.key: Suspension(GuardName(rule), mark_in(change, a_snapshot(NODES)), 7.0, 1, error="no")}


def judged(suspensions: Mapping[str, Suspension], *changes: Change) -> Plan:
    """The plan with verdicts, under what the loop remembers."""
    setbacks = Setbacks(suspensions=suspensions)
    return judge(Plan(changes), a_snapshot(NODES, SERVERS), Settings(), setbacks=setbacks)


@pytest.mark.parametrize(
    ("rule", "verdict"), [(GuardName.BACK_OFF, Verdict.WAITING), (GuardName.FLAPPING, Verdict.HELD)]
)
def test_a_suspended_change_waits(rule: GuardName, verdict: Verdict) -> None:
    plan = judged(against(CHANGE, rule), CHANGE, OTHER)
    decision = plan.by_key[CHANGE.key].decision
    assert (decision.verdict, decision.rule, decision.due_in_s) == (verdict, rule, 7.0)
    assert plan.by_key[OTHER.key].decision.verdict is Verdict.ALLOWED
    assert [(hold.keys, hold.rule, hold.end and hold.end.in_s) for hold in plan.holds] == [
        ((CHANGE.key,), rule, 7.0) for _ in range(verdict is Verdict.HELD)
    ]


def test_an_approval_ends_a_suspension() -> None:
    setbacks = Setbacks(suspensions=against(CHANGE, GuardName.FLAPPING))
    world, plan = a_snapshot(NODES, SERVERS), Plan((CHANGE,))
    (hold,) = judge(plan, world, Settings(), setbacks=setbacks).holds
    assert hold.names == ()
    for approved in ((), {hold.hash}):
        found = judge(plan, world, Settings(), approved, setbacks=setbacks)
        assert [change.key for change in found.allowed] == [CHANGE.key] * len(approved)


@pytest.mark.parametrize(("found", "row"), [
    (Suspension(GuardName.BACK_OFF, "", 7.0, 1, error="no"), FAILED),
    (Suspension(GuardName.BACK_OFF, "", 7.0, 2, error="no"), FAILED_AGAIN),
    (Suspension(GuardName.BACK_OFF, "", 7.0, 3, is_unseen=True, error="not seen"), NOT_VISIBLE),
    (Suspension(GuardName.FLAPPING, "", 7.0, 3), REVERTED),
])  # fmt: skip
def test_why_it_waits(found: Suspension, row: Rule) -> None:
    assert _result(found, CHANGE, a_snapshot(NODES, SERVERS)).row is row


@rows("writers types writer", {
    "no hint": ((), (), None),
    "ours alone": ((), (READY,), None),
    "another's condition": ((), (READY, IPAM), f"another controller (condition '{IPAM}')"),
    "another's name and condition": (("cilium",), (IPAM,), f"'cilium' (condition '{IPAM}')"),
    "another's name": (("k3s",), (), "'k3s'"),
    "hostile": (
        ("a\n" + "x" * 200, "b"),
        ("\U0001f600" * 100, "\U0001f600" * 101),
        (
            "'a\\nxxxxxxxxxxxxxxxxxxxxxxxx...'"
            r" (condition '\U0001f600\U0001f600\U0001f...' and 1 more)"
        ),
    ),
})  # fmt: skip
def test_other_writers_of_a_status(writers: tuple[str, ...], types: tuple[str, ...], writer: str | None) -> None:
    conditions = tuple(ServiceCondition(kind, "True") for kind in types)
    service = a_service(conditions=conditions, status_writers=writers)
    snapshot = a_world([service])
    change = a_change(f"{service.key}/status", "service.status", owner=service.key)

    result = _result(Suspension(GuardName.FLAPPING, "", 7.0, 3, since=NOW), change, snapshot)

    assert (result.row, result.facts.get("writer")) == (SERVICE_REVERTED_BY if writer else SERVICE_REVERTED, writer)
    assert len(with_advice(result.why, result.advice)) <= 300


@pytest.mark.parametrize(
    ("kind", "part", "row"), [("service.claim", "finalizer", SERVICE_REVERTED), ("lb.algorithm", "algorithm", REVERTED)]
)
def test_other_writers_of_other_fields(kind: str, part: str, row: Rule) -> None:
    """The finalizer is shared with k3s' servicelb; of other fields nothing says who writes them."""
    service = a_service(conditions=(ServiceCondition(IPAM, "True"),))
    change = a_change(f"{service.key}/{part}", kind, owner=service.key)
    assert _result(Suspension(GuardName.FLAPPING, "", 7.0, 3), change, a_world([service])).row is row


@rows("conditions row writer", {
    "taken away": ((), CONDITION_REVERTED, None),
    "ours": ((Condition("NetworkUnavailable", "True", "NoRouteCreated"),), CONDITION_REVERTED, None),
    "Flannel's": ((Condition("NetworkUnavailable", "False", "FlannelIsUp"),), CONDITION_REVERTED_BY,
        "another controller (reason 'FlannelIsUp')"),
})  # fmt: skip
def test_other_writers_of_the_condition_of_a_node(
    conditions: tuple[Condition, ...], row: Rule, writer: str | None
) -> None:
    """Network plug-ins write NetworkUnavailable as well, each with a reason of its own."""
    node = replace(a_settled_node(), conditions=conditions)
    change = a_change(f"{node.key}/network", "node.network_condition", owner=node.key)
    result = _result(Suspension(GuardName.FLAPPING, "", 7.0, 3), change, a_snapshot([node]))
    assert (result.row, result.facts.get("writer")) == (row, writer)


def _result(found: Suspension, change: Change, snapshot: Snapshot) -> GuardResult:
    setbacks = Setbacks(suspensions={change.key: replace(found, mark=mark_in(change, snapshot))})
    guard = flapping if found.rule is GuardName.FLAPPING else back_off
    (result,) = guard(facts_of(Plan((change,)), snapshot, Settings(), setbacks))
    return result


@rows("planned is_meant", {
    "the very same": (CHANGE, True),
    "from another state": (a_change(before=an_identity("hcloud://9")), True),
    "leading elsewhere": (a_change(after=an_identity("hcloud://2")), False),
    "of another kind": (a_change("node/web-1", "node.delete"), False),
    "of another object": (OTHER, False),
})  # fmt: skip
def test_changes_that_are_meant(planned: Change, is_meant: bool) -> None:
    snapshot, setbacks = a_snapshot(NODES, SERVERS), Setbacks(suspensions=against(CHANGE))
    found = [
        *back_off(facts_of(Plan((planned,)), snapshot, Settings(), setbacks)),
        *flapping(facts_of(Plan(), snapshot, Settings(), setbacks)),
    ]
    assert bool(found) is is_meant
    assert (suspension_of(planned, snapshot, setbacks) is not None) is is_meant


def test_only_failures_back_off() -> None:
    setbacks = Setbacks(suspensions={**against(CHANGE), **against(OTHER, GuardName.FLAPPING)})
    assert setbacks.failed == {CHANGE.key}


def creation(name: str) -> Change:
    return a_change(f"load_balancer/ns/{name}", "lb.create", owner=f"service/ns/{name}")


def target(name: str, verb: Verb = Verb.ADD) -> Change:
    return a_change(f"load_balancer/ns/{name}/target/server:1", "lb.target", owner=f"service/ns/{name}", verb=verb)


A, B, C = creation("a"), creation("b"), creation("c")
TO_A, TO_B = target("a"), target("b")
CREATIONS = scope_of(A)
ERROR = "no more (resource_limit_exceeded)"


def a_bar(due_in_s: float = 0.0, **turns: int) -> Bar:
    return Bar(ERROR, due_in_s, 54.0, {f"load_balancer/ns/{name}": turn for name, turn in turns.items()})


@rows("bars changes waiting due_in_s", {
    "nothing is refused": ({}, [A, B], set(), None),
    "nobody's turn yet": ({CREATIONS: a_bar(7.0)}, [A, B], {A.key, B.key}, 7.0),
    "the longest ago is next": ({CREATIONS: a_bar(a=2, b=1, c=3)}, [A, B, C], {A.key, C.key}, 54.0),
    "none before the other: by their keys": ({CREATIONS: a_bar(a=1, b=1)}, [A, B], {B.key}, 54.0),
    "a newcomer goes to the end": ({CREATIONS: a_bar(b=9)}, [A, B], {A.key}, 54.0),
    "one balancer is full": ({narrow_scope_of(TO_A): a_bar(7.0)}, [TO_A, TO_B], {TO_A.key}, 7.0),
    "account is locked": ({scope_of(TO_A): a_bar(7.0)}, [TO_A, TO_B], {TO_A.key, TO_B.key}, 7.0),
    "room is made": ({scope_of(TO_A): a_bar(7.0)}, [target("a", Verb.REMOVE)], set(), None),
})  # fmt: skip
def test_changes_that_wait(
    bars: Mapping[str, Bar], changes: list[Change], waiting: set[str], due_in_s: float | None
) -> None:
    facts = facts_of(Plan(tuple(changes)), a_snapshot(), Settings(), Setbacks(bars=bars))
    found = [finding for finding in quota(facts) if finding.keys]
    assert {key for finding in found for key in finding.keys} == waiting
    assert [finding.due_in_s for finding in found] == ([due_in_s] if waiting else [])
    assert all(finding.guard == GuardName.QUOTA and ERROR in finding.why for finding in found)


def test_changes_that_are_known_to_be_refused() -> None:
    setbacks = Setbacks(bars={CREATIONS: a_bar(7.0, a=1, b=1)})
    assert setbacks.failed == {A.key, B.key}
    assert [bar.error for bar in bars_of(C, setbacks)] == [ERROR]
    assert bars_of(TO_A, setbacks) == ()
