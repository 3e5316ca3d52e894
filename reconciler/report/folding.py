"""Folding: like changes become one block, of which the first names and values are told. Pure, for every format.

What a fold leaves out ``--full`` shows; JSON never folds.
"""

import json
import re
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any, TypeVar

from msgspec import Struct

from actuators.outcome import Applied, Failed, Outcome, Pending, Skipped
from desired.model.clocks import shown_moment
from desired.model.key import Key
from desired.model.price import Cost
from desired.names import LABEL_INSTANCE_TYPE, LABEL_REGION
from desired.plan.change import ALLOWED, Change, GuardDecision, Verdict, shown_seconds
from desired.plan.kinds import Verb
from desired.section import grouped
from desired.syntax.bounds import listed
from reconciler.config.options import Detail
from reconciler.report.fields import FieldChange, field_changes
from reconciler.result import Line

LEAST = 5
"""How many like changes, or notes, make a fold: fewer are read faster one by one."""
ALIKE = 3
"""How many names or values a fold shows at most."""
NAMED = 20
"""How many objects are named one by one if something of them goes, is exposed, published otherwise, or held."""
_FIELDS = 2
"""How many fields a fold shows at most, and one more if that is the last."""
_LONGEST = 8
"""How many entries are shown of a list that comes or goes as a whole. JSON has them all."""
_TELLING = (
    "addresses[ExternalIP]",
    f"labels[{LABEL_INSTANCE_TYPE[-1]}]",
    f"labels[{LABEL_REGION[-1]}]",
    "type",
    "location",
)
"""Fields by which a person knows what such changes are about, the most telling first. A fold that has any of them shows
no others."""
SYMBOLS: Mapping[str, str] = {Verb.ADD: "+", Verb.MODIFY: "~", Verb.REMOVE: "-"}

Row = TypeVar("Row")


def alike(rows: Iterable[Row], likeness: Callable[[Row], Hashable]) -> tuple[tuple[Row, ...], ...]:
    """The rows of equal likeness together, in the order of the first of each."""
    return tuple(grouped((likeness(row), row) for row in rows).values())


_NUMBER = re.compile(r"([0-9]+)")


def natural_order(text: str) -> tuple[tuple[str | tuple[int, str], ...], str]:
    """The order of names as people count: ``w-2`` before ``w-10``. Texts and numbers alternate, so that any two names
    can be compared; a number is compared by its length first, as one of many digits is slow to read."""
    parts = _NUMBER.split(text)
    return tuple(_counted(part) if place % 2 else part for place, part in enumerate(parts)), text


def _counted(digits: str) -> tuple[int, str]:
    significant = digits.lstrip("0")
    return len(significant), significant


def names(keys: Iterable[str], most: int = ALIKE, count: int | None = None) -> str:
    """Which objects, numbers in their names by value: ``node/w-2, node/w-9, node/w-10 and 97 more`` of ``count``, by
    default of as many as there are ``keys``."""
    return listed(sorted(keys, key=natural_order), most, count)


def first_of(texts: Sequence[str], label: str = "") -> str:
    """``why: x``, what all members of a fold say, or ``why of the first: x`` if they differ; "" for nothing."""
    head = " of ".join(filter(None, (label, "the first" if len(set(texts)) > 1 else "")))
    return f"{head}: {texts[0]}" if head else texts[0]


def shown_value(value: Any) -> str:
    """``(none)`` for what is not there; an empty text in quotes, so that it can be seen."""
    if isinstance(value, str) and value:
        return value
    return "(none)" if value is None else json.dumps(value, ensure_ascii=False)


def shown_sides(field: FieldChange) -> tuple[str, str]:
    """A field before and after, as people read it."""
    before, after = (_for_people(field.path, side) for side in (field.before, field.after))
    return _side(before, after), _side(after, before)


def described_fields(change: Change) -> str:
    """``type: lb11 -> lb21``: the most telling fields that the change is of, before and after; "" for none."""
    fields = sorted(field_changes(change), key=lambda field: _tells(field.path))
    return listed([f"{field.path}: {' -> '.join(shown_sides(field))}" for field in fields], ALIKE)


def _for_people(path: str, value: Any) -> Any:
    """A time as sentences have it; any other value as it is, and what a published status says instead of a time."""
    if path != "not_ready_since" or not isinstance(value, str):
        return value
    try:
        return shown_moment(datetime.fromisoformat(value))
    except (ValueError, OverflowError):
        return value


def _side(value: Any, other: Any) -> str:
    """One side of a field. What comes or goes as a whole and is long is told by its number and its first entries."""
    if not isinstance(value, list):
        return shown_value(value)
    shown = [str(entry) for entry in value]
    if other is None and len(shown) > _LONGEST:
        return f"{len(shown)} in all: {', '.join(shown[:_LONGEST])}, ..."
    return ", ".join(shown)


def _tells(path: str) -> tuple[int, str]:
    return _TELLING.index(path) if path in _TELLING else len(_TELLING), path


class Shown(Struct, frozen=True, eq=False):
    """One change as it is shown: of a report, or of a published hold."""

    key: str
    kind: str
    verb: str
    reason: str
    consequences: tuple[str, ...] = ()
    fields: tuple[FieldChange, ...] = ()
    """The fields in which its sides differ, by path; () in a summary."""
    decision: GuardDecision = ALLOWED
    outcome: Outcome | None = None
    cost: Cost | None = None
    whole: str = ""
    """Key of the object that it is a part of; "" if that is not published."""
    owner: Key | None = None
    """The Node or Service that it serves; None if that is not published."""
    is_under_its_hold: bool = False
    """Whether it stands below its hold, which says the rest."""

    @classmethod
    def of(cls, line: Line, detail: Detail = Detail.FOLDED, *, is_under_its_hold: bool = False) -> "Shown":
        """A line of a report."""
        change = line.change
        return cls(
            key=change.key,
            kind=change.kind,
            verb=change.verb,
            reason=change.reason,
            consequences=change.consequences,
            fields=() if detail is Detail.SUMMARY else field_changes(change),
            decision=change.decision,
            outcome=line.outcome,
            cost=change.cost,
            whole=change.key.whole,
            owner=change.owner,
            is_under_its_hold=is_under_its_hold,
        )

    @property
    def symbol(self) -> str:
        """What it does, or that it is withheld."""
        return SYMBOLS.get(self.verb, "!") if self.is_under_its_hold else symbol_of(self.verb, self.decision)

    @property
    def fate(self) -> str:
        """The outcome, or what it does and what withholds it: ``remove, held by target-floor``; "" for what is to be
        done, and below a hold."""
        match self.outcome:
            case Applied():
                return "applied"
            case Pending(why):
                return f"pending: {why}"
            case Skipped(reason):
                return f"skipped: {reason}"
            case Failed(error):
                return f"FAILED: {error}"
        if self.is_under_its_hold or self.decision.verdict is Verdict.ALLOWED:
            return ""
        by = f" by {self.decision.rule}" if self.decision.verdict is Verdict.HELD else ""
        return f"{self.verb}, {self.decision.verdict}{by}"

    @property
    def withheld(self) -> str:
        """What withholds it, unless its fate or a hold says that; "" for nothing."""
        decision = self.decision
        if not decision.why or decision.verdict is Verdict.HELD:
            return ""
        return f"{decision.verdict} ({decision.rule}): {decision.why}{shown_due(decision.due_in_s)}"

    @property
    def likeness(self) -> Hashable:
        """Equal for all members of a fold: their names, reasons, sentences, fields and values may differ."""
        rule = self.decision.rule
        return self.kind, self.verb, self.decision.verdict, rule, len(self.consequences), type(self.outcome)

    @property
    def is_grave(self) -> bool:
        """Whether something goes by it, is exposed or published otherwise, or waits for an approval."""
        return self.verb == Verb.REMOVE or bool(self.consequences) or self.is_under_its_hold


def symbol_of(verb: str, decision: GuardDecision) -> str:
    """What a change does, or that it is withheld: ``+``, ``~``, ``-``, ``!`` or ``?``."""
    withheld = {Verdict.HELD: "!", Verdict.REFUSED: "!", Verdict.WAITING: "?"}
    return withheld.get(decision.verdict) or SYMBOLS.get(verb, "!")


def shown_due(due_in_s: float | None) -> str:
    """When another look is worth it; "" at once, or when that is not known."""
    return f"; due in {shown_seconds(due_in_s)}" if due_in_s else ""


class Field(Struct, frozen=True):
    """One field of a block, as people read it."""

    path: str
    """``type``, ``listeners[80, 443].protocol``."""
    values: str
    """``(none) -> cpx32, cpx42``."""


class Block(Struct, frozen=True, eq=False):
    """What has a place of its own in a report: one change, or five and more that are alike."""

    members: tuple[Shown, ...]
    """By their keys, numbers in these by value."""
    fields: tuple[Field, ...] = ()
    """Those that are worth a line each."""
    more_fields: int = 0
    """How many fields more it has."""

    @property
    def is_fold(self) -> bool:
        """Whether it is of many."""
        return len(self.members) > 1

    @property
    def first(self) -> Shown:
        """The one that speaks for the others."""
        return self.members[0]

    @property
    def keys(self) -> tuple[str, ...]:
        """Of the members."""
        return tuple(each.key for each in self.members)

    @property
    def names(self) -> str:
        """The first three of its objects, or twenty if they are grave; keys of parts if these are of one object."""
        most, objects = NAMED if self.first.is_grave else ALIKE, {each.whole or each.key for each in self.members}
        are_parts = len(objects) == 1 or (len(objects) < len(self.members) <= most)
        of = "" if are_parts or len(objects) == len(self.members) else "of "
        return of + names(self.keys if are_parts else objects, most)

    @property
    def fate(self) -> str:
        """That of the members."""
        return first_of([each.fate for each in self.members])

    @property
    def reason(self) -> str:
        """Why it is wanted."""
        return first_of([each.reason for each in self.members])

    @property
    def remarks(self) -> Iterator[str]:
        """What withholds it, and its consequences."""
        if self.first.withheld:
            yield first_of([each.withheld for each in self.members])
        for texts in zip(*(each.consequences for each in self.members), strict=True):
            yield first_of(texts, "consequence")

    @property
    def cost(self) -> Cost | None:
        """The sum of its costs; None if it has none."""
        costs = [each.cost for each in self.members if each.cost is not None]
        return sum(costs, Cost()) if costs else None


def blocks(every: Iterable[Shown], detail: Detail = Detail.FOLDED) -> tuple[Block, ...]:
    """Each change in exactly one place: first those that stand alone, in their order, then the folds; none of these in
    full ``detail``."""
    if detail is Detail.FULL:
        return tuple(Block((each,), tuple(_fields((each,)))) for each in every)
    every = tuple(every)
    folds = [group for group in alike(every, lambda each: each.likeness) if len(group) >= LEAST]
    folded = {each for group in folds for each in group}
    return (*(_single(each) for each in every if each not in folded), *map(_fold, folds))


def _single(shown: Shown) -> Block:
    fields = tuple(_ports_together(shown.fields))
    return Block((shown,), fields, len(shown.fields) - len(fields))


def _fold(members: Sequence[Shown]) -> Block:
    members = sorted(members, key=lambda each: natural_order(each.key))
    fields = sorted(_fields(members), key=lambda field: _tells(field.path))
    telling = [field for field in fields if field.path in _TELLING] or fields
    told = fields if len(fields) == len(telling[:_FIELDS]) + 1 else telling[:_FIELDS]
    return Block(tuple(members), tuple(told), len(fields) - len(told))


def _fields(members: Sequence[Shown]) -> Iterator[Field]:
    """Each field that any member has."""
    for path, found in grouped((field.path, field) for each in members for field in each.fields).items():
        share = f" ({len(found)} of {len(members)})" if len(found) < len(members) else ""
        yield Field(path, f"{_values(found)}{share}")


def _values(fields: Sequence[FieldChange]) -> str:
    """The different values of a field before and after, the first three of each side; in pairs if both sides differ, as
    each side alone might look as if nothing changed."""
    sides = set(map(shown_sides, fields))
    if len(sides) == 1:
        return " -> ".join(*sides)
    befores, afters = map(set, zip(*sides, strict=True))
    if len(befores) > 1 and len(afters) > 1:
        return names(map(" -> ".join, sides))
    return " -> ".join(names(f'"{value}"' if ", " in value else value for value in side) for side in (befores, afters))


_OF_A_PORT = re.compile(r"listeners\[([0-9]+)\]\.(.+)")


def _ports_together(fields: Sequence[FieldChange]) -> Iterator[Field]:
    """The fields of one change, in their order; if five ports and more come, go or change alike, each of their fields
    once."""
    groups = grouped((_likeness_of_field(field), field) for field in fields)
    for field in fields:
        group = groups[_likeness_of_field(field)]
        if len(group) < LEAST:
            yield Field(field.path, _values([field]))
        elif field is group[0]:
            ports = [found for each in group if (found := _OF_A_PORT.fullmatch(each.path))]
            yield Field(f"listeners[{names(port[1] for port in ports)}].{ports[0][2]}", _values(group))


def _likeness_of_field(field: FieldChange) -> Hashable:
    found = _OF_A_PORT.fullmatch(field.path)
    return (found[2], field.before is None, field.after is None) if found else field.path
