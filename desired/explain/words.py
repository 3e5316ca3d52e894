"""What explanations say of planned changes, and which notes they show."""

from collections.abc import Collection

from desired.model.key import is_below
from desired.plan.change import Change, Plan, Verdict
from desired.plan.kinds import ChangeKind
from desired.plan.notes import Note
from desired.rules.explanations import NEXT, WITHHELD


def planned(changes: Collection[Change]) -> str:
    """Text: the number of planned changes, and what withholds some of them."""
    count = {0: "no change is", 1: "1 change is"}.get(len(changes), f"{len(changes)} changes are")
    withheld = dict.fromkeys(_ruled(change) for change in changes if change.decision.verdict is not Verdict.ALLOWED)
    return f"{count} planned" + (f": {', '.join(withheld)}" if withheld else "")


def next_of(changes: Collection[Change], *kinds: ChangeKind) -> str:
    """What the next pass does with the first change of these kinds, or what withholds it; "" when there is none."""
    for change in changes:
        if change.kind in kinds:
            done, named = NEXT[change.kind]
            is_allowed = change.decision.verdict is Verdict.ALLOWED
            return done if is_allowed else WITHHELD.text(change=named, decision=_ruled(change))
    return ""


def if_withheld(change: Change | None) -> str:
    """The end of a sentence on what the change makes of something; "" where there is none, or it is allowed."""
    return "" if change is None or change.decision.verdict is Verdict.ALLOWED else f"; {_ruled(change)}"


def _ruled(change: Change) -> str:
    """Verdict and rule of a change that is withheld."""
    return f"{change.decision.verdict} ({change.decision.rule})"


def notes_on(keys: Collection[str], plan: Plan) -> tuple[Note, ...]:
    """The notes on these objects and their parts, and those that explain verdicts wherever they stand."""
    return tuple(note for note in plan.notes if note.row.is_of_the_whole or is_below(note.key, keys))
