"""What each guard says of the planned changes of one Node or Service."""

from collections.abc import Collection, Mapping
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from desired.explain import explain_object
from desired.explain.rows import Explanation, Part
from desired.guards.history import mark_in
from desired.guards.judge import ask_guards
from desired.guards.table import GUARDS
from desired.health.state import States
from desired.model.load_balancer import CloudBalancer, ServerTarget
from desired.model.service import Service
from desired.model.settings import Policy, Settings
from desired.model.snapshot import Node, Snapshot
from desired.plan.change import GuardName, Plan, Verdict
from desired.plan.kinds import KINDS
from desired.plan.setbacks import Setbacks, Suspension
from desired.planner import compute_plan
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
    servers_of,
)
from tests.support.judging import explain, facts_of, judge
from tests.support.rows import rows
from tests.support.service_explanations import of_the_service

BORN = NOW - timedelta(days=30)
CONTROL, CONTROL_SERVER = a_settled_node("control-1", 9, created_at=BORN), a_server(9, "control-1")
SETTLED = a_settled_node(created_at=BORN)
LOST, LOST_TOO = a_lost_node(), a_lost_node("web-2", 2)
OBSERVE, UPSERT = Settings(policy=Policy.OBSERVE), Settings(policy=Policy.UPSERT)
ASKED: Mapping[str, Any] = {"confirmations": {1: Absent(), 2: Absent()}}
TWO_LOST = a_snapshot([CONTROL, LOST, LOST_TOO], [CONTROL_SERVER], **ASKED)


def said(
    found: Node | Service, snapshot: Snapshot, settings: Settings | None = None, approved: Collection[str] = ()
) -> list[str]:
    settings = settings or Settings()
    plan = judge(compute_plan(snapshot, settings), snapshot, settings, approved)
    return shown(explain(found, snapshot, settings, plan))


def shown(found: Explanation) -> list[str]:
    """``node-blast-radius held 2 of 1``."""
    guards = (row for row in found.rows if row.part is Part.GUARDS)
    return [f"{g.subject} {g.state}{f' {g.value} of {g.wanted}' if g.value else ''}" for g in guards]


COMPLETE, POLICY = "incomplete-snapshot allowed", "policy allowed"
ANCHOR, ANCHOR_OF_2, OBSERVED = "project-anchor allowed 1 of 1", "project-anchor allowed 2 of 1", "policy waiting"


@rows("node settings world expected", {
    "nothing": (SETTLED, Settings(), {}, []),
    "joining": (a_joining_node(), Settings(), {}, [COMPLETE, ANCHOR, POLICY]),
    "observed": (a_joining_node(), OBSERVE, {}, [COMPLETE, ANCHOR, OBSERVED]),
    "once for several": (a_settled_node(labels={}, addresses=()), OBSERVE, {}, [COMPLETE, ANCHOR_OF_2, OBSERVED]),
    "deletion": (LOST, Settings(), {**ASKED, "servers": servers_of(CONTROL_SERVER)},
        [COMPLETE, ANCHOR, "absence-proof allowed", "node-blast-radius allowed 1 of 1", POLICY]),
    "deletion, left out": (LOST, UPSERT, {**ASKED, "servers": servers_of(CONTROL_SERVER)}, [OBSERVED]),
    "deletion, not asked for": (LOST, Settings(), {"servers": servers_of(CONTROL_SERVER)},
        [COMPLETE, ANCHOR, "absence-proof waiting", "node-blast-radius allowed 1 of 1", POLICY]),
})  # fmt: skip
def test_on_changes(node: Node, settings: Settings, world: Mapping[str, Any], expected: list[str]) -> None:
    """Each guard that looks at one of the changes is told once, in the order of guards, with what it measured; of a
    change that the policy leaves out it alone."""
    assert said(node, replace(a_snapshot([CONTROL, node], [CONTROL_SERVER, a_server()]), **world), settings) == expected


def test_a_hold_and_its_approval() -> None:
    """A hold over several Nodes is told of each with what to approve; one that was approved lets pass."""
    (hold,) = judge(compute_plan(TWO_LOST, Settings()), TWO_LOST, Settings()).holds
    assert hold.keys == ("node/web-1", "node/web-2")
    for node in (LOST, LOST_TOO):
        assert "node-blast-radius held 2 of 1" in said(node, TWO_LOST)
        assert "node-blast-radius approved 2 of 1" in said(node, TWO_LOST, approved=[hold.hash])
        found = explain(node, TWO_LOST, Settings(), judge(compute_plan(TWO_LOST, Settings()), TWO_LOST, Settings()))
        (row,) = (row for row in found.rows if row.state == Verdict.HELD)
        assert found.holds == (hold,)
        assert (row.why, row.remedy) == (hold.why, hold.advice)
    assert not [each for each in said(CONTROL, TWO_LOST) if " held" in each]


def test_memory_of_a_loop() -> None:
    """The results of the pass are told where there are some; guards of the past never as if they let pass."""
    snapshot = a_snapshot([CONTROL, a_joining_node()], [CONTROL_SERVER, a_server()])
    plan = compute_plan(snapshot, Settings())
    (change,) = plan.changes
    setbacks = Setbacks(
        suspensions={change.key: Suspension(GuardName.BACK_OFF, mark_in(change, snapshot), 7.0, 1, error="no")}
    )
    facts = facts_of(plan, snapshot, Settings(), setbacks)
    found = explain_object(change.owner, plan, facts, ask_guards(facts), States())

    assert not {"back-off", "flapping"} & {each.split()[0] for each in said(a_joining_node(), snapshot)}
    assert isinstance(found, Explanation)
    assert "back-off waiting" in shown(found)


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
    found = of_the_service(a_world([service, other], balancers, certificates=[])).rows
    verdicts = {row.subject: row.state for row in found if row.part is Part.GUARDS}
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
