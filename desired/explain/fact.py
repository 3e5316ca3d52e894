"""Facts, the lines of an explanation: one field of an object, as it is and as it should be, with the rule that decides.

Besides ``Fact`` the module has the phrases with which explanations describe planned changes.
"""

from collections.abc import Collection
from dataclasses import dataclass

from desired.plan.change import Change, Verdict
from desired.rules.rule import Basis, Decided


@dataclass(frozen=True, slots=True)
class Fact:
    """One label, address, taint or condition of a Node, of a Service, or of its load balancer."""

    subject: str
    """A label's or taint's key, an address's or condition's type."""
    value: str | None
    """As it stands; None when it is not there."""
    wanted: str | None
    """As it should be, which is ``value`` for what is left alone; None when it should not be there."""
    rule: Basis
    source: str
    """Where the value comes from, or why it stays or goes, in words."""

    @classmethod
    def of(cls, subject: str, value: str | None, wanted: str | None, decided: Decided[object]) -> "Fact":
        """A field with what was decided on it."""
        return cls(subject, value, wanted, decided.rule.basis or Basis.UNTOUCHED, decided.text)

    @classmethod
    def foreign(cls, subject: str, value: str) -> "Fact":
        """A field of somebody else's, which stays."""
        return cls(subject, value, value, Basis.FOREIGN, NOT_OURS)


NOT_OURS = "not ours, left alone"
"""The source of everything that is FOREIGN."""


def planned(changes: Collection[Change]) -> str:
    """Text: the number of planned changes, and what withholds some of them."""
    count = {0: "no change is", 1: "1 change is"}.get(len(changes), f"{len(changes)} changes are")
    withheld = dict.fromkeys(ruled(change) for change in changes if change.decision.verdict is not Verdict.ALLOWED)
    return f"{count} planned" + (f": {', '.join(withheld)}" if withheld else "")


def becomes(changes: Collection[Change], done: str, what: str) -> str:
    """The effect of the first of these changes on ``what``: it is ``done``, or why not; "" when there is no change."""
    for change in changes:
        return done if change.decision.verdict is Verdict.ALLOWED else f"{what} is {ruled(change)}"
    return ""


def ruled(change: Change) -> str:
    """Verdict and rule of a change that is withheld."""
    return f"{change.decision.verdict} ({change.decision.rule})"


def if_withheld(change: Change) -> str:
    """The part of a sentence that says by what a change is withheld; "" when it is not."""
    return "" if change.decision.verdict is Verdict.ALLOWED else f"; {ruled(change)}"
