"""What is told of changes that the loop holds back: the same as while they are tried."""

import pytest

from actuators.outcome import Failed
from desired.guards.history import mark_in
from desired.model.settings import Settings
from desired.plan.change import Change, GuardName, Plan, Verdict
from desired.plan.setbacks import Setbacks, Suspension
from reconciler.passes.reporting import as_tried
from reconciler.result import Line
from tests.builders import a_change, a_server, a_settled_node, a_snapshot
from tests.support.judging import judge

NODE = a_settled_node()
CHANGE = a_change("node/web-1/labels", "node.labels", owner="node/web-1")
AFTER = a_change("node/web-1/addresses", "node.addresses", owner="node/web-1", depends_on=(CHANGE.key,))
OTHER = a_change("node/web-1/shutdown", "node.shutdown_taint", owner="node/web-1")
ERROR = Failed("no", retry_after_s=1.0)


WORLD = a_snapshot([NODE], [a_server()])


def world(rule: str, *changes: Change) -> tuple[Plan, Setbacks]:
    """The judged plan of these three changes while some of them are held back, and by what."""
    marks = {change.key: mark_in(change, a_snapshot([NODE])) for change in changes}
    held: dict[str, Suspension] = {
        key: Suspension(GuardName(rule), mark, 7.0, 1, error="no", retry_after_s=1.0) for key, mark in marks.items()
    }
    setbacks = Setbacks(suspensions=held)
    return judge(Plan((CHANGE, AFTER, OTHER)), WORLD, Settings(), setbacks=setbacks), setbacks


def test_what_backs_off_is_told_as_tried() -> None:
    """With its last error, and with what comes after it as if both were allowed."""
    plan, setbacks = world(GuardName.BACK_OFF, CHANGE)
    told, tried = as_tried(plan, (), WORLD, setbacks)

    assert [line.outcome for line in tried] == [ERROR]
    assert [line.change.key for line in tried] == [CHANGE.key]
    assert {change.decision.verdict for change in told.changes} == {Verdict.ALLOWED}


def test_what_was_tried_is_told_as_it_was() -> None:
    plan, setbacks = world(GuardName.BACK_OFF, CHANGE)
    line = Line(CHANGE, Failed("something else"))

    assert as_tried(plan, [line], WORLD, setbacks)[1] == (line,)


@pytest.mark.parametrize("rule", [GuardName.FLAPPING, ""])
def test_others_are_told_as_they_are(rule: str) -> None:
    plan, setbacks = world(rule, *([CHANGE] if rule else []))

    assert as_tried(plan, (), WORLD, setbacks) == (plan, ())
