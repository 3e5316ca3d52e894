"""Changes, notes, holds and plans as values."""

from copy import deepcopy
from datetime import UTC, datetime
from typing import Any

import pytest

from desired.plan.change import ALLOWED, GuardDecision, GuardName, Hold, HoldEnd, Plan, State, Verdict
from desired.plan.kinds import KINDS, Verb
from desired.plan.notes import Note, NoteKind
from tests.builders import WEB_1_ADDRESSES, a_change, a_loss, an_identity
from tests.support.keys import key_of
from tests.support.rows import rows

HELD = GuardDecision(Verdict.HELD, GuardName.PROJECT_ANCHOR, "another project")
WAITING = GuardDecision(Verdict.WAITING, GuardName.INCOMPLETE_SNAPSHOT, "page 2 timed out")


def test_verdicts_by_weight() -> None:
    assert sorted(Verdict, key=lambda verdict: verdict.weight) == [
        Verdict.ALLOWED,
        Verdict.WAITING,
        Verdict.HELD,
        Verdict.REFUSED,
    ]


@rows("overrides why", {
    "class-that-the-kind-has-not": ({"verb": Verb.REMOVE}, "node.initialise is never a remove"),
    "nothing-to-nothing": ({"after": None}, "node/web-1: a change that changes nothing"),
    "both-sides-are-equal": ({"before": an_identity()}, "node/web-1: a change that changes nothing"),
})  # fmt: skip
def test_senseless_change(overrides: dict[str, Any], why: str) -> None:
    """A change has a class that its kind may have, and two sides that differ."""
    with pytest.raises(ValueError, match=why):
        a_change(**overrides)


@rows("kind before after", {
    "labels": ("node.labels", {"a": "1"}, {"a": "2"}),
    "labels-go": ("node.labels", {"a": "1"}, {}),
    "order-of-addresses": ("node.addresses", WEB_1_ADDRESSES, WEB_1_ADDRESSES[::-1]),
    "first-addresses": ("node.addresses", (), WEB_1_ADDRESSES),
    "taint-comes": ("node.shutdown_taint", False, True),
    "taint-goes": ("node.shutdown_taint", True, False),
    "node-goes": ("node.delete", a_loss(), None),
    "another-proof": ("node.delete", a_loss(), a_loss(server_id=2)),
})  # fmt: skip
def test_sides(kind: str, before: State | None, after: State | None) -> None:
    """A change may have sides of several shapes, and is none where a side equals the other by value."""
    change = a_change(kind=kind, before=before, after=after)
    assert (change.before, change.after) == (before, after)
    for side in (before, after):
        with pytest.raises(ValueError, match="a change that changes nothing"):
            a_change(kind=kind, before=side, after=deepcopy(side))


def test_row() -> None:
    """A change knows its row in the table of kinds."""
    assert a_change(kind="lb.type").row is KINDS["lb.type"]


def test_ruled() -> None:
    """A ruling replaces the one before and leaves all else; a fresh change is allowed."""
    change = a_change()
    assert change.decision == ALLOWED
    assert change.ruled(HELD) == a_change(decision=HELD)
    assert change.ruled(HELD).ruled(ALLOWED) == change


def test_plan_orders_changes() -> None:
    """Changes stand by section, then class with removals last, then key."""
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
    """Notes stand by key, kind and text, each once."""
    a, b = Note(key_of("node/a"), NoteKind.FOREIGN, "x"), Note(key_of("node/b"), NoteKind.AMBIGUOUS, "x")
    assert Plan(notes=(b, a, b)).notes == (a, b)


_RULES = (("adoption", "2"), ("ip-loss", "1"), ("ip-loss", "3"))


def test_plan_orders_holds() -> None:
    """Holds stand by rule, then hash."""
    holds = [Hold(hash_, GuardName(rule), "1", "0", (), "") for rule, hash_ in _RULES]
    assert Plan(holds=tuple(reversed(holds))).holds == tuple(holds)


def test_plan_with_a_key_twice() -> None:
    with pytest.raises(ValueError, match="a key twice"):
        Plan((a_change(), a_change(kind="node.delete")))


def test_plan_by_key_and_verdict() -> None:
    allowed, held, waiting = a_change("node/a"), a_change("node/b", decision=HELD), a_change("node/c", decision=WAITING)
    plan = Plan((waiting, held, allowed))
    assert plan.by_key == {"node/a": allowed, "node/b": held, "node/c": waiting}
    assert plan.allowed == (allowed,)
    assert plan.with_verdict(Verdict.HELD, Verdict.WAITING) == (held, waiting)
    assert plan.with_verdict() == ()


NOW = datetime(2026, 11, 27, 15, 18, 30, tzinfo=UTC)
DONE = "if it stays NotReady; its changes are then made"


@rows(
    "left_s now said announced",
    {
        "a time": (1260.0, NOW, f"at 2026-11-27 15:39 UTC, in 21 min, {DONE}", f"after 2026-11-27 15:35 UTC, {DONE}"),
        "soon": (29.0, NOW, f"at 2026-11-27 15:18 UTC, in 29 s, {DONE}", f"after 2026-11-27 15:15 UTC, {DONE}"),
        "passed": (-60.0, NOW, f"at 2026-11-27 15:17 UTC, now, {DONE}", f"after 2026-11-27 15:15 UTC, {DONE}"),
        "tomorrow": (86400.0, NOW, f"at 2026-11-28 15:18 UTC, in 24 h, {DONE}", f"after 2026-11-28 15:15 UTC, {DONE}"),
        "no clock": (1260.0, None, f"in 21 min, {DONE}", ""),
        "no time": (None, NOW, "if it stays NotReady", "if it stays NotReady"),
    },
)
def test_when_a_hold_ends_by_itself(left_s: float | None, now: datetime | None, said: str, announced: str) -> None:
    """Nobody is asked again then, so that it is said beforehand; an Event says the same for minutes, and never later
    than it is."""
    end = HoldEnd("if it stays NotReady", left_s)

    assert end.said_at(now) == said
    assert now is None or end.announced_at(now) == announced
