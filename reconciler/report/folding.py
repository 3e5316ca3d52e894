"""Folding: like changes become one block; of many names and values the first are told. Pure, for every renderer.

What a fold leaves out ``--full`` shows; JSON never folds.
"""

import json
import re
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from functools import cached_property
from typing import Any, TypeVar

from msgspec import Struct

from actuators.outcome import Applied, Failed, Pending, Skipped
from desired.model.clocks import shown_moment
from desired.model.key import Key, ObjectKind
from desired.model.load_balancer import LoadBalancer
from desired.model.price import Cost
from desired.names import LABEL_INSTANCE_TYPE, LABEL_REGION
from desired.plan.change import Change, GuardDecision, GuardName, Verdict, shown_seconds
from desired.plan.kinds import ChangeKind, Verb
from desired.section import grouped
from desired.syntax.bounds import listed
from reconciler.config.options import Detail
from reconciler.report.fields import FieldChange, field_changes
from reconciler.result import Line

LEAST = 5
"""How many like changes, or notes, make a fold: fewer are read faster one by one."""
ALIKE = 3
"""How many names or values a fold shows at most."""
_FIELDS = 3
"""How many fields a fold shows at most, and one more where that is the last."""
_LONGEST = 8
"""How many entries are shown of a list that comes or goes as a whole. JSON has them all."""
_GONE_FOR_GOOD = frozenset({ObjectKind.NODE, ObjectKind.LOAD_BALANCER, ObjectKind.CERTIFICATE})
"""Objects whose deletion is always shown by itself."""
_OF_ALL = frozenset({GuardName.OTHER_CONTROLLER, GuardName.POLICY})
"""Guards that withhold whatever is planned."""
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


def shown_values(values: Iterable[str]) -> str:
    """The different values of a field, the first three by name; one that is a list is quoted."""
    return names({f'"{value}"' if ", " in value else value for value in values})


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
    fields = sorted(field_changes(change), key=_tells)
    return listed([f"{field.path}: {' -> '.join(shown_sides(field))}" for field in fields], ALIKE)


def _for_people(path: str, value: Any) -> Any:
    """A time as sentences have it; any other value as it is."""
    if path != "not_ready_since" or not isinstance(value, str):
        return value
    return shown_moment(datetime.fromisoformat(value))


def _side(value: Any, other: Any) -> str:
    """One side of a field. What comes or goes as a whole and is long is told by its number and its first entries."""
    if not isinstance(value, list):
        return shown_value(value)
    shown = [str(entry) for entry in value]
    if other is None and len(shown) > _LONGEST:
        return f"{len(shown)} in all: {', '.join(shown[:_LONGEST])}, ..."
    return ", ".join(shown)


class Field(Struct, frozen=True, dict=True):
    """One field of a block."""

    path: str
    members: tuple[FieldChange, ...]
    """Its change in each member, in the order of these."""

    @property
    def is_new(self) -> bool:
        """Whether no member has it before."""
        return all(member.before is None for member in self.members)

    @property
    def is_gone(self) -> bool:
        """Whether no member has it after."""
        return all(member.after is None for member in self.members)

    @cached_property
    def sides(self) -> tuple[tuple[str, str], ...]:
        """Before and after, in each member."""
        return tuple(map(shown_sides, self.members))

    @property
    def pairs(self) -> tuple[str, ...]:
        """``1 -> 2`` of each member where both sides differ from member to member, as each side alone might look as if
        nothing changed; else none."""
        befores, afters = map(set, zip(*self.sides, strict=True))
        return tuple(map(" -> ".join, self.sides)) if len(befores) > 1 and len(afters) > 1 else ()

    @property
    def shown(self) -> tuple[str, str]:
        """Before and after; of many members the different values."""
        if len(self.members) == 1:
            return self.sides[0]
        befores, afters = zip(*self.sides, strict=True)
        return shown_values(befores), shown_values(self.pairs or afters)

    @property
    def text(self) -> str:
        """``(none) -> cpx32, cpx42``."""
        return names(set(self.pairs)) if self.pairs else " -> ".join(self.shown)


class ShownChange(Struct, frozen=True, eq=False, dict=True):
    """One change, with its differences."""

    line: Line

    @property
    def change(self) -> Change:
        """The change itself."""
        return self.line.change

    @property
    def decision(self) -> GuardDecision:
        """What guards say of it."""
        return self.line.change.decision

    @cached_property
    def fields(self) -> tuple[FieldChange, ...]:
        """The fields in which its sides differ, by path."""
        return field_changes(self.line.change)

    @property
    def symbol(self) -> str:
        """What it does, or that it is withheld."""
        return symbol_of(self.line.change)

    @property
    def is_singled_out(self) -> bool:
        """Whether a guard withholds this very change until a person acts. What withholds whatever is planned, such as
        a living HCCM, says nothing of it: it is told as if it were to be done."""
        return self.decision.verdict in (Verdict.HELD, Verdict.REFUSED) and self.decision.rule not in _OF_ALL

    @property
    def fate(self) -> str:
        """The outcome, or what it does and what withholds it: ``remove, held by target-floor``; "" for what is to be
        done."""
        match self.line.outcome:
            case Applied():
                return "applied"
            case Pending(why):
                return f"pending: {why}"
            case Skipped(reason):
                return f"skipped: {reason}"
            case Failed(error):
                return f"FAILED: {error}"
        if self.decision.verdict is Verdict.ALLOWED:
            return ""
        by = f" by {self.decision.rule}" if self.decision.verdict is Verdict.HELD else ""
        return f"{self.change.verb}, {self.decision.verdict}{by}"


def symbol_of(change: Change) -> str:
    """What a change does, or that it is withheld: ``+``, ``~``, ``-``, ``!`` or ``?``."""
    match change.decision.verdict:
        case Verdict.HELD | Verdict.REFUSED:
            return "!"
        case Verdict.WAITING:
            return "?"
        case _:
            return SYMBOLS[change.verb]


class Block(Struct, frozen=True, eq=False, dict=True):
    """What has a place of its own in a report: one change, or five and more that are equal but for their objects,
    reasons and values."""

    changes: tuple[ShownChange, ...]
    """By their keys, numbers in these by value."""
    is_whole: bool = False
    """Whether a single one shows each field by itself."""

    @property
    def is_fold(self) -> bool:
        """Whether it is of many."""
        return len(self.changes) > 1

    @property
    def first(self) -> ShownChange:
        """The one that speaks for the others."""
        return self.changes[0]

    @property
    def lines(self) -> tuple[Line, ...]:
        """The changes with their outcomes."""
        return tuple(each.line for each in self.changes)

    @property
    def keys(self) -> tuple[Key, ...]:
        """Of the members."""
        return tuple(each.change.key for each in self.changes)

    @property
    def has_reasons(self) -> bool:
        """Whether its members are wanted for different reasons."""
        return len({each.change.reason for each in self.changes}) > 1

    @property
    def reason(self) -> str:
        """Why it is wanted."""
        return ("the first: " if self.has_reasons else "") + self.first.change.reason

    @property
    def withheld(self) -> str:
        """What withholds it, unless its fate or a hold says that; "" for nothing."""
        decision = self.first.decision
        if not decision.why or decision.verdict is Verdict.HELD:
            return ""
        whose = ", the first's" if len({each.decision for each in self.changes}) > 1 else ""
        return f"{decision.verdict} ({decision.rule}){whose}: {decision.why}{shown_due(decision.due_in_s)}"

    @property
    def cost(self) -> Cost | None:
        """The sum of its costs; None if it has none."""
        costs = [each.change.cost for each in self.changes if each.change.cost is not None]
        return sum(costs, Cost()) if costs else None

    @cached_property
    def fields(self) -> tuple[Field, ...]:
        """All fields; of many the most telling first."""
        columns = zip(*(each.fields for each in self.changes), strict=True)
        fields = tuple(Field(column[0].path, column) for column in columns)
        return tuple(sorted(fields, key=_tells)) if self.is_fold else fields

    @property
    def shown_fields(self) -> tuple[Field, ...]:
        """The fields that are worth a line each; of many members the rest is only counted, unless that is a single one,
        and the same field of many ports of a load balancer is one. None of what is refused by itself, as that cannot be
        approved."""
        if self.first.is_singled_out and self.first.decision.verdict is Verdict.REFUSED:
            return ()
        if not self.is_fold:
            return self.fields if self.is_whole else tuple(_ports_together(self.fields))
        telling = [field for field in self.fields if field.path in _TELLING] or self.fields
        shown = tuple(telling[:_FIELDS])
        return self.fields if len(self.fields) == len(shown) + 1 else shown

    @property
    def has_folded_fields(self) -> bool:
        """Whether a field of a single change stands for those of several ports; what has none is not compared."""
        sides = (self.first.change.before, self.first.change.after)
        if self.is_fold or self.is_whole or not any(isinstance(side, LoadBalancer) for side in sides):
            return False
        return 0 < len(self.shown_fields) < len(self.fields)

    @property
    def more_fields(self) -> int:
        """How many fields more are counted."""
        return len(self.fields) - len(self.shown_fields) if self.is_fold else 0


_OF_A_PORT = re.compile(r"listeners\[([0-9]+)\]\.(.+)")


def _ports_together(fields: Sequence[Field]) -> Iterator[Field]:
    """The fields of one change, in their order: where five ports and more come, go or change alike, each of their
    fields once."""
    many = {_likeness_of_field(group[0]): group for group in alike(fields, _likeness_of_field) if len(group) >= LEAST}
    for field in fields:
        group = many.get(_likeness_of_field(field), (field,))
        if len(group) == 1:
            yield field
        elif field is group[0]:
            found = [of_a_port for each in group if (of_a_port := _OF_A_PORT.fullmatch(each.path))]
            path = f"listeners[{names(each[1] for each in found)}].{found[0][2]}"
            yield Field(path, tuple(member for each in group for member in each.members))


def _likeness_of_field(field: Field) -> Hashable:
    found = _OF_A_PORT.fullmatch(field.path)
    return (found[2], field.is_new, field.is_gone) if found else field.path


def _tells(field: Field | FieldChange) -> tuple[int, str]:
    return _TELLING.index(field.path) if field.path in _TELLING else len(_TELLING), field.path


def shown_due(due_in_s: float | None) -> str:
    """When another look is worth it; "" at once, or when that is not known."""
    return f"; due in {shown_seconds(due_in_s)}" if due_in_s else ""


def blocks(lines: Iterable[Line], detail: Detail = Detail.FOLDED) -> tuple[Block, ...]:
    """Each change in exactly one place: first those that stand alone, in their order, then the folds; none of these in
    full ``detail``."""
    every = [ShownChange(line) for line in lines]
    folds: list[tuple[ShownChange, ...]] = []
    if detail is not Detail.FULL:  # fields take long to compare
        kin = (members for members in alike(filter(may_fold, every), _likeness) if len(members) >= LEAST)
        folds = [group for members in kin for group in alike(members, _paths) if len(group) >= LEAST]
    folded = {each for group in folds for each in group}
    return (
        *(Block((each,), is_whole=detail is Detail.FULL) for each in every if each not in folded),
        *(Block(tuple(sorted(group, key=lambda each: natural_order(each.change.key)))) for group in folds),
    )


def may_fold(shown: ShownChange) -> bool:
    """Whether a change may stand for others: none that a person has to look at by itself, because it loses something
    for good, is withheld until a person acts, has failed, or warns of a consequence."""
    change = shown.change
    is_deletion = change.verb is Verb.REMOVE and change.key.kind in _GONE_FOR_GOOD and not change.key.parts
    return not (
        is_deletion
        or change.kind is ChangeKind.LB_TYPE
        or shown.is_singled_out
        or isinstance(shown.line.outcome, Failed)
        or change.consequences
    )


def _likeness(shown: ShownChange) -> Hashable:
    """What is equal for all members of a fold, but for the fields."""
    change = shown.change
    return change.key.kind, change.verb, change.kind, change.decision.verdict, change.decision.rule, shown.line.outcome


def _paths(shown: ShownChange) -> Hashable:
    return tuple(field.path for field in shown.fields)
