"""What becomes of planned changes, in words."""

from collections.abc import Collection

from desired.plan.change import Change, Verdict


def planned(changes: Collection[Change]) -> str:
    """How many changes are planned, and what withholds some of them."""
    count = {0: "no change is", 1: "1 change is"}.get(len(changes), f"{len(changes)} changes are")
    withheld = dict.fromkeys(ruled(change) for change in changes if change.ruling.verdict is not Verdict.ALLOWED)
    return f"{count} planned" + (f": {', '.join(withheld)}" if withheld else "")


def fate(changes: Collection[Change], done: str, what: str) -> str:
    """What becomes of ``what``, by the first of these changes: it is ``done``, or why not; "" when there is none."""
    for change in changes:
        return done if change.ruling.verdict is Verdict.ALLOWED else f"{what} is {ruled(change)}"
    return ""


def ruled(change: Change) -> str:
    """Verdict and rule of a change that is withheld."""
    return f"{change.ruling.verdict} ({change.ruling.rule})"


def if_withheld(change: Change) -> str:
    """What goes behind a sentence about a change that is withheld; "" when it is not."""
    return "" if change.ruling.verdict is Verdict.ALLOWED else f"; {ruled(change)}"
