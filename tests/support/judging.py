"""Judge, facts, warnings and explanations of a plan for tests that have no desired state at hand: it is computed."""

from collections.abc import Collection, Iterable, Iterator
from dataclasses import replace
from functools import reduce

from desired import explain as explaining
from desired.explain.rows import Explanation
from desired.guards import judge as judging
from desired.guards.filters import filtered
from desired.guards.guard import GuardInput
from desired.guards.judge import ask_guards
from desired.health import states_of
from desired.health.state import States
from desired.model.service import Service
from desired.model.settings import Settings
from desired.model.snapshot import Node, Snapshot
from desired.nodes.changes import node_changes
from desired.nodes.node import DesiredNode, desired_nodes
from desired.plan.change import Plan
from desired.plan.foresight import node_after
from desired.plan.setbacks import NO_SETBACKS, Setbacks
from desired.planner import compute_desired, compute_plan
from reconciler.result import Line, Report
from reconciler.telemetry import announcements, conditions
from reconciler.telemetry.conditions import Due
from reconciler.telemetry.events import Event
from tests.support.keys import key_of


def facts_of(plan: Plan, snapshot: Snapshot, settings: Settings, setbacks: Setbacks = NO_SETBACKS) -> GuardInput:
    desired = compute_desired(snapshot, settings, setbacks)
    return filtered(GuardInput(plan, snapshot, settings, desired, setbacks), settings.only)


def judge(
    plan: Plan, snapshot: Snapshot, settings: Settings, approved: Collection[str] = (), setbacks: Setbacks = NO_SETBACKS
) -> Plan:
    return judging.judge(facts_of(plan, snapshot, settings, setbacks), approved)


def states_in(plan: Plan, snapshot: Snapshot, settings: Settings) -> States:
    """The states of all objects, by the judged plan."""
    return states_of(facts_of(plan, snapshot, settings), plan, {})


def warnings(
    plan: Plan,
    snapshot: Snapshot,
    settings: Settings,
    approve_flags: str = "",
    tried: Iterable[Line] = (),
    setbacks: Setbacks = NO_SETBACKS,
) -> Iterator[Event]:
    """Warnings that hold after a pass."""
    desired = compute_desired(snapshot, settings, setbacks)
    return announcements.warnings(plan, snapshot, desired, approve_flags, tried)


def conditions_due(plan: Plan, snapshot: Snapshot, settings: Settings, tried: Iterable[Line] = ()) -> Iterator[Due]:
    """The conditions to write after a pass."""
    return conditions.conditions_due(facts_of(plan, snapshot, settings), tried)


def planned(found: Node, snapshot: Snapshot, settings: Settings) -> tuple[DesiredNode, Node]:
    """What is decided on a Node, and the Node once its changes are made."""
    wanted = desired_nodes(snapshot, settings)[0][found.name]
    return wanted, reduce(node_after, node_changes(found, wanted, settings), found)


def decided(report: Report) -> Report:
    """The report, with what is decided on its snapshot under its settings."""
    world = report.snapshot
    return report if world is None else replace(report, facts=facts_of(Plan(), world, report.settings))


def explain(found: Node | Service, snapshot: Snapshot, settings: Settings, plan: Plan) -> Explanation:
    explanation = explain_object(found.key, snapshot, settings, plan)
    assert not isinstance(explanation, str)
    return explanation


def explain_object(key: str, snapshot: Snapshot, settings: Settings, plan: Plan) -> Explanation | str:
    """The explanation of what has this key by this part of the judged plan, or why there is none."""
    facts = facts_of(compute_plan(snapshot, settings), snapshot, settings)
    return explaining.explain_object(key_of(key), plan, facts, ask_guards(facts), states_in(plan, snapshot, settings))
