"""View: what an explanation is made from, and what it says of planned changes."""

from collections.abc import Collection
from dataclasses import dataclass
from functools import cached_property

from desired.guards.guard import GuardInput, GuardResult
from desired.model.key import Key, is_below
from desired.plan.change import Change, Plan, Verdict
from desired.plan.kinds import ChangeKind
from desired.plan.notes import Note
from desired.rules.explanations import EXCLUDED, NEXT, WITHHELD
from desired.rules.load_balancers import NOTHING_PLANNED
from desired.rules.rule import Reason


@dataclass(frozen=True)
class View:
    """One object, and all that was decided."""

    key: Key
    plan: Plan
    """What is shown of the judged plan."""
    facts: GuardInput
    """What that was made and judged from."""
    results: Collection[GuardResult]
    """What each guard said of it."""

    @cached_property
    def changes(self) -> tuple[Change, ...]:
        """Its changes."""
        return tuple(change for change in self.plan.changes if change.owner == self.key)

    def first(self, *kinds: ChangeKind) -> Change | None:
        """The first of its changes of these kinds."""
        return next((change for change in self.changes if change.kind in kinds), None)

    def next_of(self, *kinds: ChangeKind) -> str:
        """What the next pass does with the first change of these kinds, or what withholds it."""
        change = self.first(*kinds)
        if change is None:
            return NOTHING_PLANNED.text()
        done, named = NEXT[change.kind]
        is_allowed = change.decision.verdict is Verdict.ALLOWED
        return done if is_allowed else WITHHELD.text(change=named, decision=_ruled(change))

    def withheld(self, *kinds: ChangeKind) -> str:
        """What withholds the first of them, as the end of a sentence."""
        return if_withheld(self.first(*kinds))

    @property
    def planned(self) -> str:
        """Text: the number of its changes, and what withholds some of them."""
        count = {0: "no change is", 1: "1 change is"}.get(len(self.changes), f"{len(self.changes)} changes are")
        held = dict.fromkeys(_ruled(each) for each in self.changes if each.decision.verdict is not Verdict.ALLOWED)
        return f"{count} planned" + (f": {', '.join(held)}" if held else "")

    @property
    def left_out(self) -> Reason:
        """Why a field stays although something else was decided: no change of the plan brings that."""
        return (EXCLUDED if self.facts.settings.only else NOTHING_PLANNED).because()

    def notes_on(self, keys: Collection[str]) -> tuple[Note, ...]:
        """The notes on these objects and their parts, and those that explain verdicts wherever they stand."""
        return tuple(note for note in self.plan.notes if note.row.is_of_the_whole or is_below(note.key, keys))


def if_withheld(change: Change | None) -> str:
    """The end of a sentence on what the change makes of something; "" where there is none, or it is allowed."""
    return "" if change is None or change.decision.verdict is Verdict.ALLOWED else f"; {_ruled(change)}"


def _ruled(change: Change) -> str:
    """Verdict and rule of a change that is withheld."""
    return f"{change.decision.verdict} ({change.decision.rule})"
