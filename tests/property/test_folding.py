"""Law of folding: unfolded, a report has exactly the plan, and nothing was folded that a person has to see."""

import re
from dataclasses import replace
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from actuators.outcome import Applied, Failed, Outcome, Pending, Skipped
from desired.plan.change import GuardDecision, GuardName, Verdict
from desired.plan.kinds import KINDS, ChangeKind, Verb
from reconciler.config.options import Detail
from reconciler.report.folding import ALIKE, LEAST, NAMED, Shown, blocks, natural_order
from reconciler.report.text import render_lines
from reconciler.result import Line, Report
from tests.builders import a_change, an_identity
from tests.property.strategies import law, some
from tests.support.premises import premise

_PATTERNS = ("w-{}", "w-{:02}", "w-{:03}", "10.{}.0.0", "w-[0-{}]", "w-{}-3", "\u202e{}", "३{}", "w" * 250 + "{}")
_patterns = st.sampled_from(_PATTERNS)
_numbers = st.lists(st.integers(0, 120), max_size=9, unique=True) | st.integers(0, 99).map(lambda n: [*range(n, n + 9)])
_KEYS = {
    ChangeKind.NODE_INITIALISE: "node/{}",
    ChangeKind.NODE_LABELS: "node/{}/labels",
    ChangeKind.NODE_DELETE: "node/{}",
    ChangeKind.LB_TYPE: "load_balancer/ns/{}/type",
    ChangeKind.LB_DELETE: "load_balancer/ns/{}",
    ChangeKind.LB_TARGET: "load_balancer/ns/{}/target/x",
    ChangeKind.ROUTE_DELETE: "route/4/{}",
}
_outcomes: st.SearchStrategy[Outcome | None] = some(None, Applied(), Pending("busy"), Skipped("x"), Failed("no"))


@st.composite
def _crowds(draw: st.DrawFn) -> list[Line]:
    """Changes that are alike, but for what the last of them has of its own."""
    kind, pattern = draw(some(*_KEYS)), draw(_patterns)
    decision = GuardDecision(draw(some(Verdict.ALLOWED, *Verdict)), draw(some(None, GuardName.POLICY)))
    outcome = draw(_outcomes) if decision.verdict is Verdict.ALLOWED else None
    verb = draw(some(*sorted(KINDS[kind].verbs)))
    lines = []
    for number in draw(_numbers):
        key = _KEYS[kind].format(pattern.format(number))
        sides: dict[str, Any] = {"after": an_identity(labels={"a": str(number % 3)})} if verb is Verb.ADD else {}
        lines.append(Line(a_change(key, kind, verb=verb, decision=decision, **sides), outcome))
    if lines:
        odd: dict[str, Any] = draw(some({}, {"consequences": ("an address goes",)}, {"reason": "another one"}))
        lines[-1] = replace(lines[-1], change=replace(lines[-1].change, **odd))
    return lines


@st.composite
def _reports(draw: st.DrawFn) -> tuple[Line, ...]:
    every = [line for crowd in draw(st.lists(_crowds(), max_size=3)) for line in crowd]
    return tuple({line.change.key: line for line in draw(st.permutations(every))}.values())


@law({"a fold": 0.15})
@given(_reports())
def test_unfolded_it_is_the_plan(lines: tuple[Line, ...]) -> None:
    """Each change is in exactly one place, and a fold's members differ in nothing that a person would miss."""
    found = blocks(map(Shown.of, lines))
    premise("a fold", is_met=any(block.is_fold for block in found))
    placed = [each for block in found for each in block.members]
    assert sorted(each.key for each in placed) == sorted(line.change.key for line in lines)
    every = {str(line.change.key): line for line in lines}
    for fold in (block for block in found if block.is_fold):
        members = [every[key] for key in fold.keys]
        assert len(members) >= LEAST
        assert len({_shown_once(line) for line in members}) == 1


def _shown_once(line: Line) -> tuple[object, ...]:
    change = line.change
    outcome = type(line.outcome)
    return change.verb, change.kind, change.decision.verdict, change.decision.rule, len(change.consequences), outcome


@law({"a fold": 0.15})
@given(_reports())
def test_names_are_those_of_the_members(lines: tuple[Line, ...]) -> None:
    """Those that are named and those that are counted are exactly the members of the fold; twenty if something goes."""
    folds = [block for block in blocks(map(Shown.of, lines)) if block.is_fold]
    premise("a fold", is_met=bool(folds))
    for fold in folds:
        most, objects = (
            NAMED if fold.first.is_grave else ALIKE,
            sorted({each.whole for each in fold.members}, key=natural_order),
        )
        told = fold.keys if len(objects) == 1 or len(objects) < len(fold.keys) <= most else objects
        rest = f" and {len(told) - most} more" if len(told) > most else ""
        assert fold.names.removeprefix("of ") == f"{', '.join(told[:most])}{rest}"
        assert fold.names.startswith("of ") is (len(told) < len(fold.keys))


@law({"a fold": 0.1})
@given(_reports(), some(*Detail))
def test_each_block_is_a_line_of_the_text(lines: tuple[Line, ...], detail: Detail) -> None:
    """However it is told, as many changes are counted as there are; a full report folds nothing."""
    text = [line.text for line in render_lines(Report(lines=lines, detail=detail))]
    folds = [int(found[1]) for line in text if (found := re.match(r"  [-+~!?] ([0-9]+) x ", line))]
    singles = [line for line in text if re.match(r"  [-+~!?] (?:node|load_balancer|route)/", line)]
    premise("a fold", is_met=bool(folds))
    assert sum(folds) + len(singles) == len(lines)
    assert not folds or detail is not Detail.FULL
