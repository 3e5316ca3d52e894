"""What guards say of plans for load balancers: what their tests share."""

from collections.abc import Collection, Iterable
from typing import Any

from desired.guards.guard import GuardInput
from desired.model.settings import Settings
from desired.model.snapshot import Snapshot
from desired.plan.change import Change, Plan, Verdict
from desired.planner import compute_plan
from tests.balancers import LOCATED
from tests.builders import a_change
from tests.support.judging import facts_of, judge

SERVICE = "service/default/web"


def judged(snapshot: Snapshot, settings: Settings = LOCATED, approved: Collection[str] = ()) -> Plan:
    return judge(compute_plan(snapshot, settings), snapshot, settings, approved)


def verdicts(plan: Plan) -> dict[str, tuple[Verdict, str | None]]:
    """Key → verdict and rule."""
    return {change.key: (change.decision.verdict, change.decision.rule) for change in plan.changes}


def facts(changes: Iterable[Change], snapshot: Snapshot, settings: Settings = LOCATED) -> GuardInput:
    """What a guard sees of changes that no rule has planned."""
    return facts_of(Plan(tuple(changes)), snapshot, settings)


def by_hand(key: str, kind: str, **overrides: Any) -> Change:
    """A change for Service web that no rule has planned."""
    return a_change(key, kind, **{"owner": SERVICE} | overrides)
