"""Changes, notes, holds and plans as values."""

from datetime import UTC, datetime
from typing import Any

import pytest

from desired.plan.change import HoldEnd, Plan
from desired.plan.kinds import Verb
from desired.plan.notes import Note, NoteKind
from tests.builders import a_change, an_identity
from tests.support.keys import key_of
from tests.support.rows import rows


@rows("overrides why", {
    "class-that-the-kind-has-not": ({"verb": Verb.REMOVE}, "node.initialise is never a remove"),
    "nothing-to-nothing": ({"after": None}, "node/web-1: a change that changes nothing"),
    "both-sides-are-equal": ({"before": an_identity()}, "node/web-1: a change that changes nothing"),
})  # fmt: skip
def test_senseless_change(overrides: dict[str, Any], why: str) -> None:
    with pytest.raises(ValueError, match=why):
        a_change(**overrides)


def test_plan_orders_changes() -> None:
    ordered = (
        a_change("load_balancer/ns/a", "lb.create"),
        a_change("load_balancer/ns/a/listener/80", "lb.listener", verb=Verb.MODIFY),
        a_change("load_balancer/ns/a/listener/79", "lb.listener", verb=Verb.REMOVE),
        a_change("node/b"),
        a_change("node/c"),
        a_change("node/a/labels", "node.labels"),
        a_change("node/a", "node.delete"),
    )
    assert Plan(tuple(reversed(ordered))).changes == ordered


def test_plan_orders_notes_and_drops_repeats() -> None:
    a, b = Note(key_of("node/a"), NoteKind.FOREIGN, "x"), Note(key_of("node/b"), NoteKind.AMBIGUOUS, "x")
    assert Plan(notes=(b, a, b)).notes == (a, b)


def test_plan_with_a_key_twice() -> None:
    with pytest.raises(ValueError, match="a key twice"):
        Plan((a_change(), a_change(kind="node.delete")))


NOW = datetime(2026, 11, 27, 15, 18, 30, tzinfo=UTC)
DONE = "if it stays NotReady; its changes are then made"


@rows(
    "left_s now said announced",
    {
        "a time": (1260.0, NOW, f"at 2026-11-27 15:39 UTC, in 21 min, {DONE}", f"after 2026-11-27 15:39 UTC, {DONE}"),
        "soon": (29.0, NOW, f"at 2026-11-27 15:18 UTC, in 29 s, {DONE}", f"after 2026-11-27 15:18 UTC, {DONE}"),
        "passed": (-60.0, NOW, f"at 2026-11-27 15:17 UTC, now, {DONE}", f"after 2026-11-27 15:17 UTC, {DONE}"),
        "tomorrow": (86400.0, NOW, f"at 2026-11-28 15:18 UTC, in 24 h, {DONE}", f"after 2026-11-28 15:18 UTC, {DONE}"),
        "no clock": (1260.0, None, f"in 21 min, {DONE}", ""),
        "no time": (None, NOW, "if it stays NotReady", "if it stays NotReady"),
    },
)
def test_when_a_hold_ends_by_itself(left_s: float | None, now: datetime | None, said: str, announced: str) -> None:
    """Nobody is asked again then, so that it is said beforehand; an Event has no duration, as it is read later."""
    end = HoldEnd("if it stays NotReady", left_s)

    assert end.said_at(now) == said
    assert now is None or end.announced_at(now) == announced
