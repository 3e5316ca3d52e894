"""Bands of the page's tables: Services and Nodes by their state, worst first, of which those that are well, and many
that are alike, are folded to a line."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby

from msgspec import Struct

from desired.health.state import Level
from desired.model.key import Key
from reconciler.page.map import NodeRow, ServiceRow
from reconciler.report.folding import LEAST, alike

_TONES = {Level.BAD: "bad", Level.WARNING: "warning", Level.BUSY: "busy", Level.GOOD: "good"}
_LAST = 99

Row = ServiceRow | NodeRow


class Band(Struct, frozen=True):
    """Rows that stand together."""

    name: str
    """The anchor of what it is folded to; "" for rows that are not."""
    rows: tuple[Row, ...]
    why: str
    """What all of them have; "" where they differ, or where there is nothing to say."""


def word_of_row(row: Row) -> str:
    """A row's state as people write it, also of what has none."""
    if row.health is not None:
        return row.health.word
    return "left alone" if row.key else "without a Service"


def tone_of_row(row: Row) -> str:
    """The class of a row's state."""
    return "dim" if row.health is None else _TONES[row.health.level]


def counts_of_states(rows: Iterable[Row]) -> list[tuple[str, str, int, Key | None]]:
    """Each state, its class, how many rows are in it, and one of them, worst first."""
    groups = alike(sorted(rows, key=_place), word_of_row)
    return [(word_of_row(group[0]), tone_of_row(group[0]), len(group), key_of_row(group[0])) for group in groups]


def key_of_row(row: Row) -> Key | None:
    """What the anchor of a row is made of."""
    return row.key or (row.balancer.key if isinstance(row, ServiceRow) and row.balancer else None)


def bands_of(rows: Iterable[Row], name: str) -> Iterator[Band]:
    """The rows, worst first, with anchors below ``name``. Those that are well are folded, and five or more in one
    state: of what a person should look at, for one reason."""
    groups = alike(sorted(rows, key=_place), lambda row: (word_of_row(row), _reason(row)))
    ordered = sorted(groups, key=lambda group: (_place(group[0])[0], _is_folded(group)))
    for is_folded, members in groupby(ordered, key=_is_folded):
        if not is_folded:
            yield Band("", tuple(row for group in members for row in group), "")
            continue
        for first, *others in members:
            why = _reason(first)
            about = f"/{key_of_row(first)}" if why else ""
            yield Band(f"{name}/{word_of_row(first)}{about}", (first, *others), why)


def _reason(row: Row) -> str:
    return row.health.why if row.health is not None and row.health.level >= Level.WARNING else ""


def _is_folded(group: Sequence[Row]) -> bool:
    health = group[0].health
    is_well = health.level is Level.GOOD if health else group[0].key is not None
    return is_well or len(group) >= LEAST


def _place(row: Row) -> tuple[int, int]:
    """As the states are ordered; a load balancer that no Service has stands before what is well, and what is left alone
    comes last."""
    if row.health is None:
        return -Level.BUSY if row.key is None else 1, _LAST
    return row.health.rank
