"""Laws of how changes are carried out: every one ends, none begins too early, and no object has two at once."""

import threading
from collections.abc import Mapping
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from actuators.apply import apply
from actuators.http.errors import Invalid
from actuators.outcome import Applied, Failed, Skipped
from desired.model.snapshot import Snapshot
from desired.plan.change import Change, Plan
from desired.plan.ordering import bridged, in_order, predecessors
from tests.builders import a_change, a_snapshot
from tests.property.strategies import law, some
from tests.support.premises import premise


@st.composite
def tangles(draw: st.DrawFn) -> list[Change]:
    """Changes of both APIs in a few lanes, in any order, that name earlier ones of some other order."""
    size = draw(st.integers(1, 12))
    names = st.lists(st.integers(0, size - 1), max_size=3)
    changes = [
        a_change(
            f"node/{number}",
            draw(some("node.initialise", "lb.identity")),
            owner=f"node/owner-{draw(st.integers(0, 4))}",
            depends_on=tuple(f"node/{other}" for other in draw(names) if other < number),
            follows=tuple(f"node/{other}" for other in draw(names) if other < number),
        )
        for number in range(size)
    ]
    return draw(st.permutations(changes))


@law({"one comes after another": 0.6})
@given(tangles())
def test_any_tangle_can_be_put_in_order(changes: list[Change]) -> None:
    """Each change comes after its forerunners, which are what it names and the one before it in its lane."""
    order = in_order(changes)
    waits = predecessors(changes)
    premise("one comes after another", is_met=any(waits.values()))
    assert sorted(change.key for change in order) == sorted(change.key for change in changes)
    for place, change in enumerate(order):
        assert {*change.depends_on, *change.follows} <= waits[change.key] <= {earlier.key for earlier in order[:place]}
    for lock in {change.owner for change in changes}:
        for first, second in pairwise(change for change in order if change.owner == lock):
            assert first.key in waits[second.key]


@law({"one is left out between two": 0.1})
@given(st.data(), tangles())
def test_what_is_left_out_leaves_the_order_of_the_rest(data: st.DataObject, changes: list[Change]) -> None:
    """Who comes after another one through any number of changes, comes after it without them."""
    plan = Plan(tuple(changes))
    kept: dict[str, Change] = {change.key: change for change in changes if data.draw(st.booleans(), label=change.key)}
    left: dict[str, Change] = {change.key: change for change in bridged(tuple(kept.values()), plan)}
    assert left.keys() == kept.keys()
    premise("one is left out between two", is_met=any(before(key, left) - before(key, kept) for key in kept))
    for key in kept:
        assert before(key, left) == before(key, plan.by_key) & kept.keys()


def before(key: str, changes: Mapping[str, Change]) -> set[str]:
    """All of these changes that come before one of them, directly or not."""
    named = changes.keys() & {*changes[key].depends_on, *changes[key].follows}
    return named.union(*(before(other, changes) for other in named))


@law({"a failure on which another one depends": 0.3})
@given(st.data(), tangles())
def test_any_tangle_is_carried_out(data: st.DataObject, changes: list[Change]) -> None:
    """Whatever fails, each change ends, after all that it waits for; what depends on a failure is not tried."""
    refused = {change.key for change in changes if data.draw(st.booleans(), label=f"{change.key} fails")}
    ended: list[str] = []
    begun: dict[str, set[str]] = {}
    busy: set[str] = set()
    lock = threading.Lock()

    def carry_out(change: Change, _snapshot: Snapshot) -> None:
        with lock:
            assert change.owner not in busy
            busy.add(change.owner)
            begun[change.key] = set(ended)
        with lock:
            busy.discard(change.owner)
        if change.key in refused:
            raise Invalid("no")

    writers = {"node.initialise": carry_out, "lb.identity": carry_out}
    outcomes = apply(
        changes, a_snapshot(), writers, stop=threading.Event(), done=lambda change, _: ended.append(change.key)
    )

    premise(
        "a failure on which another one depends",
        is_met=any(isinstance(outcome, Skipped) for outcome in outcomes.values()),
    )
    assert sorted(outcomes) == sorted(ended) == sorted(change.key for change in changes)
    for change in changes:
        missing = [key for key in change.depends_on if outcomes[key] != Applied()]
        if missing:
            assert outcomes[change.key] == Skipped(f"blocked by {missing[0]} (not applied)")
        else:
            assert outcomes[change.key] == (Failed("no") if change.key in refused else Applied())
            assert begun[change.key] >= {*change.depends_on, *change.follows}
