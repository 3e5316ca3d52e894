"""Folding: like changes become one block; of many names and values the first are told. Pure, for every renderer.

``blocks`` puts each change into exactly one place. ``names`` says which objects a fold is about, ``shown_values`` which
values a field has in it. What a fold leaves out, ``--full`` shows; JSON never folds.
"""

import re
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass

from actuators.outcome import Failed
from desired.model.key import ObjectKind
from desired.model.price import Cost
from desired.names import LABEL_INSTANCE_TYPE, LABEL_REGION
from desired.plan.change import Verdict
from desired.plan.kinds import ChangeKind, Verb
from desired.syntax.bounds import listed
from reconciler.report.fields import FieldChange, field_changes
from reconciler.result import Line

LEAST = 5
"""How many like changes, or notes, make a fold: fewer are read faster one by one."""
ALIKE = 3
"""How many names or values a fold shows at most."""
_FIELDS = 3
"""How many fields a fold shows at most, and one more where that is the last."""
_GONE_FOR_GOOD = frozenset({ObjectKind.NODE, ObjectKind.LOAD_BALANCER, ObjectKind.CERTIFICATE})
"""Objects whose deletion is always shown by itself."""
_TELLING = (
    "addresses[ExternalIP]",
    f"labels[{LABEL_INSTANCE_TYPE[-1]}]",
    f"labels[{LABEL_REGION[-1]}]",
    "type",
    "location",
)
"""Fields by which a person knows what such changes are about, the most telling first. A fold that has any of them shows
no others."""


@dataclass(frozen=True, slots=True)
class FieldFold:
    """One field of a fold, with its change in each member."""

    path: str
    members: tuple[FieldChange, ...]
    """In the order of the fold's lines."""


@dataclass(frozen=True, slots=True)
class Fold:
    """Like changes, five or more: equal but for their objects, reasons and values."""

    lines: tuple[Line, ...]
    """Its members by their keys, numbers in these by value."""
    fields: tuple[FieldFold, ...]
    """All fields, the most telling first."""

    @property
    def first(self) -> Line:
        """The member that speaks for the others."""
        return self.lines[0]

    @property
    def keys(self) -> tuple[str, ...]:
        """The keys of its members."""
        return tuple(line.change.key for line in self.lines)

    @property
    def cost(self) -> Cost | None:
        """What all of them together make of the price a month; None where they have no cost."""
        costs = [line.change.cost for line in self.lines if line.change.cost is not None]
        return sum(costs, Cost()) if costs else None

    @property
    def shown_fields(self) -> tuple[FieldFold, ...]:
        """The fields that are worth a line each; the rest is only counted, unless that is a single one."""
        telling = [field for field in self.fields if field.path in _TELLING] or self.fields
        shown = tuple(telling[:_FIELDS])
        return self.fields if len(self.fields) == len(shown) + 1 else shown


Block = Line | Fold
"""What has a place of its own in a report: one change, or many alike."""


def blocks(lines: Iterable[Line]) -> tuple[Block, ...]:
    """Each change in exactly one place: first those that stand alone, in their order, then the folds."""
    every = tuple(lines)
    kin: dict[Hashable, list[int]] = {}
    for place, line in enumerate(every):
        if may_fold(line):
            kin.setdefault(_likeness(line), []).append(place)
    folds: list[Fold] = []
    folded: set[int] = set()
    for places in kin.values():
        for alike in _with_equal_fields(every, places) if len(places) >= LEAST else ():
            if len(alike) >= LEAST:
                folds.append(_fold([(every[place], fields) for place, fields in alike]))
                folded.update(place for place, _ in alike)
    return (*(line for place, line in enumerate(every) if place not in folded), *folds)


def may_fold(line: Line) -> bool:
    """Whether a change may stand for others: none that somebody has to look at by itself, because it loses something
    for good, is withheld until a person acts, has failed, or warns of a consequence."""
    change = line.change
    is_deletion = change.verb is Verb.REMOVE and change.key.kind in _GONE_FOR_GOOD and not change.key.parts
    return not (
        is_deletion
        or change.kind is ChangeKind.LB_TYPE
        or change.decision.verdict in (Verdict.HELD, Verdict.REFUSED)
        or isinstance(line.outcome, Failed)
        or change.consequences
    )


def _likeness(line: Line) -> Hashable:
    """What is equal for all members of a fold, but for the fields, which take long to compare."""
    change = line.change
    return change.key.kind, change.verb, change.kind, change.decision.verdict, change.decision.rule, line.outcome


def _with_equal_fields(
    lines: Sequence[Line], places: Iterable[int]
) -> Iterable[list[tuple[int, tuple[FieldChange, ...]]]]:
    """The places by the set of fields that change there."""
    found: dict[tuple[str, ...], list[tuple[int, tuple[FieldChange, ...]]]] = {}
    for place in places:
        fields = field_changes(lines[place].change)
        found.setdefault(tuple(field.path for field in fields), []).append((place, fields))
    return found.values()


def _fold(members: Sequence[tuple[Line, tuple[FieldChange, ...]]]) -> Fold:
    ordered = sorted(members, key=lambda member: natural_order(member[0].change.key))
    columns = zip(*(fields for _, fields in ordered), strict=True)
    fields = (FieldFold(column[0].path, column) for column in columns)
    return Fold(tuple(line for line, _ in ordered), tuple(sorted(fields, key=_tells)))


def _tells(field: FieldFold) -> tuple[int, str]:
    return _TELLING.index(field.path) if field.path in _TELLING else len(_TELLING), field.path


def reasons(fold: Fold) -> frozenset[str]:
    """Why its members are wanted."""
    return frozenset(line.change.reason for line in fold.lines)


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


def shown_values_of_sides(sides: Iterable[tuple[str, str]]) -> str:
    """The values of a field before and after, ``(none) -> cpx32, cpx42``. Where both differ from member to member the
    pairs are told, as each side alone might look as if nothing changed."""
    befores, afters = ({pair[place] for pair in pairs} for place in (0, 1)) if (pairs := tuple(sides)) else ((), ())
    if len(befores) > 1 and len(afters) > 1:
        return names({f"{before} -> {after}" for before, after in pairs})
    return f"{shown_values(befores)} -> {shown_values(afters)}"
