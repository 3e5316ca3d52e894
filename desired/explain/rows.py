"""Rows of explanations: one decision each, of one shape for labels, ports, targets, guards and all other parts."""

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property

from desired.guards.guard import GuardInput, GuardResult
from desired.guards.table import GUARDS
from desired.model.key import Key, is_below
from desired.plan.change import Change, Hold, Plan, Verdict
from desired.plan.kinds import ChangeKind
from desired.plan.notes import Note
from desired.rules.explanations import EXCLUDED, NOTHING_PLANNED
from desired.rules.rule import Decided, Reason
from desired.syntax.provider_id import Provider


class Part(StrEnum):
    """Parts of an explanation, in the order in which people read them. The values are public."""

    SERVER = "server"
    LOAD_BALANCER = "load balancer"
    GUARDS = "guards"
    NOTES = "notes"
    LABELS = "labels"
    ADDRESSES = "addresses"
    ROUTES = "routes"
    TAINTS = "taints"
    CONDITIONS = "conditions"
    PORTS = "ports"
    TARGETS = "targets"
    CERTIFICATES = "certificates"
    ANNOTATIONS = "annotations"


@dataclass(frozen=True, slots=True)
class Row:
    """One decision on one part of an object."""

    part: Part
    subject: str
    """Key of a label, name of a guard or Node, number of a port."""
    value: str | None
    """As it is; None if it is not there. Of a guard the measured value, of an annotation the value as understood."""
    wanted: str | None
    """As it is once the planned changes are made; None if it is not there then. Of a guard the limit."""
    rule: str | None
    """Name of the rule (docs/reference/rules.md), guard, kind of note or kind of change; None for a mere fact."""
    why: str
    remedy: str = ""
    state: str | None = None
    """A word on it: verdict of a guard, health or membership of a Node, origin of an annotation."""

    @classmethod
    def of(
        cls,
        part: Part,
        subject: str,
        value: str | None,
        wanted: str | None,
        said: Decided[object] | Reason,
        by: Change | None = None,
        state: str | None = None,
    ) -> "Row":
        """The row with the reason ``said``. ``by`` is the change that makes the difference, None without one."""
        return cls(part, subject, value, wanted, said.rule.name, said.says + if_withheld(by), said.advice, state)

    @classmethod
    def planned(
        cls, part: Part, subject: str, value: str | None, wanted: str | None, change: Change, state: str | None = None
    ) -> "Row":
        """The row of what a change says for itself."""
        return cls(part, subject, value, wanted, change.kind, change.reason + if_withheld(change), "", state)

    @classmethod
    def fact(cls, part: Part, subject: str, value: str | None, wanted: str | None, why: str = "") -> "Row":
        """A row on which no rule decides."""
        return cls(part, subject, value, wanted, None, why)

    @property
    def text(self) -> str:
        """The reason, the remedy last."""
        return "; ".join(filter(None, (self.why, self.remedy)))


def if_withheld(change: Change | None) -> str:
    """The end of a sentence on a change: verdict and guard; "" without one, or if it is allowed."""
    if change is None or change.decision.verdict is Verdict.ALLOWED:
        return ""
    return f"; {change.decision.verdict} ({change.decision.rule})"


@dataclass(frozen=True, slots=True)
class Explanation:
    """Everything that was decided on one Node or Service."""

    rows: tuple[Row, ...]
    """In the order of parts. The first one says what the object is here."""
    changes: tuple[Change, ...]
    """As in the judged plan."""
    holds: tuple[Hold, ...]
    """On these changes."""


@dataclass(frozen=True)
class View:
    """One object, and all that was decided."""

    key: Key
    plan: Plan
    """The shown part of the judged plan."""
    facts: GuardInput
    """The input that the plan was made and judged from."""
    results: Collection[GuardResult]
    """The results of all guards on it."""

    @cached_property
    def changes(self) -> tuple[Change, ...]:
        """Its changes."""
        return tuple(change for change in self.plan.changes if change.owner == self.key)

    @cached_property
    def holds(self) -> tuple[Hold, ...]:
        """The holds on them."""
        keys = {change.key for change in self.changes}
        return tuple(hold for hold in self.plan.holds if not keys.isdisjoint(hold.keys))

    def first(self, *kinds: ChangeKind) -> Change | None:
        """The first of its changes of these kinds."""
        return next((change for change in self.changes if change.kind in kinds), None)

    def notes_on(self, keys: Collection[str]) -> tuple[Note, ...]:
        """The notes on these objects and their parts, and those that explain verdicts wherever they stand."""
        return tuple(note for note in self.plan.notes if note.row.is_of_the_whole or is_below(note.key, keys))

    def field(
        self, part: Part, subject: str, value: str | None, later: str | None, wanted: str | None, said: Decided[object]
    ) -> Row:
        """The row of a field that is ``later`` once the changes are made. It stays although another value is ``wanted``
        if no change of the plan brings that."""
        if value == later != wanted:
            stays = EXCLUDED if self.facts.settings.only else NOTHING_PLANNED
            return Row.of(part, subject, value, value, stays.because())
        return Row.of(part, subject, value, later, said)

    def explanation(self, rows: Iterable[Row], keys: Collection[str], provider: Provider) -> Explanation:
        """The rows with those of guards, and of notes that they do not tell. ``keys`` are those of the object, and
        ``provider`` is the one in which guards measure."""
        told = [*rows, *guard_rows(self, provider)]
        words = [row.text for row in told]
        told += [
            Row(Part.NOTES, note.key, None, None, note.kind, note.text, state=note.kind)
            for note in self.notes_on(keys)
            if not any(note.text in text for text in words)
        ]
        return Explanation(tuple(sorted(told, key=lambda row: list(Part).index(row.part))), self.changes, self.holds)


def guard_rows(of: View, provider: Provider) -> Iterator[Row]:
    """Each guard that looks at one of the changes, in the order of guards: its holds and results, else that it lets
    pass. Of a change that the policy leaves out it alone speaks."""
    left_out = {change.key: change.decision for change in of.facts.left_out}
    changes, keys = [each for each in of.changes if each.key not in left_out], {each.key for each in of.changes}
    by_filter = [left_out[each.key] for each in of.changes if each.key in left_out]
    found = [result for result in of.results if not keys.isdisjoint(result.keys)]

    def row(verdict: str, why: str = "", remedy: str = "", value: object = "", limit: object = "") -> Row:
        return Row(Part.GUARDS, name, str(value) or None, str(limit) or None, name, why, remedy, verdict)

    for name, guard in GUARDS.items():
        holds = [hold for hold in of.holds if hold.rule == name]
        told = [row("approved" if h.approved else Verdict.HELD, h.why, h.advice, h.value, h.limit) for h in holds]
        results = [each for each in found if each.guard == name and each.verdict is not Verdict.HELD]
        told += [row(each.verdict, each.why, each.advice, each.value, each.limit) for each in results]
        told += [row(each.verdict, each.why) for each in by_filter if each.rule is name]
        if not told and guard.looks_at is not None and any(guard.looks_at(of.facts, each) for each in changes):
            measured = guard.measure(of.facts, provider) if guard.measure else ()
            told = [row(Verdict.ALLOWED, "", "", *measured)]
        yield from dict.fromkeys(told)
