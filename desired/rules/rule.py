"""Rules and decisions: a row with all that is said, and a value that carries its row and the facts.

A decision is made once a pass. Plan, note, Event, condition and explanation read it, and none decides again.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Generic, TypeVar

from desired.model.key import Key
from desired.plan.change import GuardName, Verdict
from desired.plan.kinds import ChangeKind
from desired.plan.notes import Note, NoteKind

V = TypeVar("V")
V_co = TypeVar("V_co", covariant=True)
Plain = str | int | float
"""A fact as a sentence shows it."""


@dataclass(frozen=True, slots=True)
class Rule:
    """One row: a sentence with its remedy, and who says it.

    ``says`` and ``remedy`` are templates: a name in braces stands for a fact of the decision.
    """

    name: str
    """``label-kept``; unique among all rows, and the anchor in docs/reference/rules.md."""
    says: str
    """What is so, one clause, the object first."""
    remedy: str = ""
    """What a person does; "" where nothing is to be done."""
    of: NoteKind | GuardName | ChangeKind | None = None
    """The note, guard or kind of change that says it, whose table has who is needed, Event and condition; None where an
    explanation alone does."""
    verdict: Verdict | None = None
    """What becomes of the changes that a guard's row is about; None for every other row."""
    counted: str = ""
    """``without server``: how Nodes are counted that share it, after their number; "" where none are."""
    noted: NoteKind | None = None
    """The kind of the note in which a guard says the same where it withholds nothing; None where it says nothing then.
    """

    def text(self, **facts: Plain) -> str:
        """The whole sentence, the remedy last. Raises KeyError for a fact that is missing."""
        said, remedy = self.says.format_map(facts), self.advice(facts)
        return f"{said}; {remedy}" if remedy else said

    def advice(self, facts: Mapping[str, Plain]) -> str:
        """The remedy alone; "" where there is none. Raises KeyError for a fact that is missing."""
        return self.remedy.format_map(facts)

    def because(self, **facts: Plain) -> "Reason":
        """The row with the facts of one case."""
        return Reason(self, facts)

    def note(self, key: Key, **facts: Plain) -> Note:
        """The note that says it of the object with this key, and of its port where that is among the facts. Raises
        TypeError for a row that no note says."""
        kind, port = self.noted or self.of, facts.get("port")
        if not isinstance(kind, NoteKind):
            raise TypeError(f"rule {self.name} is no note's")
        return Note(key, kind, self.text(**facts), port if isinstance(port, int) else None)


_NO_FACTS: Mapping[str, Plain] = MappingProxyType({})


class _Worded:
    """What a row says with its facts."""

    __slots__ = ()
    rule: Rule
    facts: Mapping[str, Plain]

    @property
    def text(self) -> str:
        """The rule's sentence with these facts, the remedy last."""
        return self.rule.text(**self.facts)

    @property
    def says(self) -> str:
        """The same without the remedy."""
        return self.rule.says.format_map(self.facts)

    @property
    def advice(self) -> str:
        """The remedy alone; "" where there is none."""
        return self.rule.advice(self.facts)

    def deciding(self, value: V) -> "Decided[V]":
        """This value, decided by the same row with the same facts."""
        return Decided(value, self.rule, self.facts)


@dataclass(frozen=True, slots=True)
class Reason(_Worded):
    """A row with the facts that its sentence names: why a value of another type is what it is."""

    rule: Rule
    facts: Mapping[str, Plain] = field(default_factory=lambda: _NO_FACTS)

    def note(self, key: Key) -> Note:
        """The note that says it of the object with this key. Raises TypeError for a row that no note says."""
        return self.rule.note(key, **self.facts)


@dataclass(frozen=True, slots=True)
class Decided(_Worded, Generic[V_co]):
    """A value with the row that decided on it, and the facts that the row's sentence names."""

    value: V_co
    """``UNMANAGED`` where the rule decided that nothing is wanted."""
    rule: Rule
    facts: Mapping[str, Plain] = field(default_factory=lambda: _NO_FACTS)

    def note(self, key: Key) -> Note | None:
        """The note on it; None where the rule is no note's."""
        return self.rule.note(key, **self.facts) if isinstance(self.rule.of, NoteKind) else None
