"""Laws of the loop's memory, over any series of passes: it stays small, and holds nothing back for longer than said."""

from dataclasses import dataclass

from hypothesis import given
from hypothesis import strategies as st

from actuators.outcome import NOT_SEEN, Applied, Failed, Outcome, Pending
from desired.guards.history import mark_of
from desired.plan.change import Change, GuardName
from desired.plan.setbacks import SUSPENDED_S
from reconciler.passes.history import LONGEST_RETRY_S, History
from reconciler.result import Line, Report
from tests.builders import a_change, an_identity
from tests.property.strategies import law, some
from tests.support.premises import premise

MOST = 4
CHANGES = [
    a_change(f"node/web-{number}", after=an_identity(f"hcloud://{server}")) for number in range(6) for server in (1, 2)
]
outcomes: st.SearchStrategy[Outcome | None] = some(Applied(), Applied(), NOT_SEEN, Failed("no"), Pending("busy"), None)


@dataclass(frozen=True)
class Step:
    """A pass: how long after the last one, how long it takes, and how each planned change ends if it is tried."""

    after_s: float
    takes_s: float
    planned: dict[str, tuple[Change, Outcome | None]]


planned = st.lists(st.tuples(some(*CHANGES[:4] * 3, *CHANGES), outcomes), min_size=1, max_size=4).map(
    lambda found: {change.key: (change, outcome) for change, outcome in found}
)
steps = st.lists(
    st.builds(Step, some(0.0, 1.0, 1.0, 5.0, 59.0, 300.0, 4000.0), some(0.0, 3.0), planned), min_size=4, max_size=30
)


@law({"a change is held back": 0.3})
@given(steps, st.floats(0, 1, exclude_max=True))
def test_nothing_is_held_back_for_longer_than_said(series: list[Step], draw: float) -> None:
    """Whatever happens, a change is due at the time that was first said, unless it was tried or undone since; and the
    memory is as small as it was asked to be."""
    now = 0.0
    history = History(lambda: now, lambda: draw, MOST)
    due_at: dict[tuple[str, str], float] = {}
    has_held = False
    for step in series:
        now += step.after_s
        held = history.setbacks().suspensions
        has_held |= bool(held)
        said: dict[tuple[str, str], float] = {}
        for key, suspension in held.items():
            assert (
                0 < suspension.due_in_s <= (SUSPENDED_S if suspension.rule == GuardName.FLAPPING else LONGEST_RETRY_S)
            )
            said[key, suspension.mark] = now + suspension.due_in_s
        for what, moment in said.items():
            first = due_at.get(what, moment)
            assert moment <= first + 1e-6 or now >= first, "what is still planned by then was undone"
        lines = []
        for change, outcome in step.planned.values():
            what = (change.key, mark_of(change))
            is_held = what in said
            lines.append(Line(change, None if is_held else outcome))
            if is_held:
                due_at[what] = said[what]
            else:
                due_at.pop(what, None)
        now += step.takes_s
        history.note(Report(lines=tuple(lines)))
        assert len(history) <= MOST
    premise("a change is held back", is_met=has_held)


@law({"a change is held back": 0.15})
@given(steps)
def test_others_are_free(series: list[Step]) -> None:
    """Only what failed or was applied before is ever held back."""
    now = 0.0
    history = History(lambda: now, lambda: 0.0)
    tried: set[tuple[str, str]] = set()
    has_held = False
    for step in series:
        now += step.after_s
        held = {(key, suspension.mark) for key, suspension in history.setbacks().suspensions.items()}
        has_held |= bool(held)
        assert held <= tried
        for change, outcome in step.planned.values():
            if isinstance(outcome, Applied | Failed) or outcome == NOT_SEEN:
                tried.add((change.key, mark_of(change)))
        history.note(Report(lines=tuple(Line(change, outcome) for change, outcome in step.planned.values())))
    premise("a change is held back", is_met=has_held)
