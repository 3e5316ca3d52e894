"""The ring of the last passes: what is kept of each, and that it is bounded."""

import sys
from collections.abc import Iterator
from itertools import islice

from actuators.outcome import Applied, Failed, Outcome
from reconciler.page.page import document_of, page_of
from reconciler.page.ring import OUTCOMES, PASSES, Ring
from reconciler.result import Line, Report, Requests, Result
from tests.builders import NOW, a_change, a_snapshot
from tests.support.pages import read_page

MOST_BYTES = 700_000


def a_pass(outcomes: int = 0, word: str = "x") -> Report:
    """One that tried so many changes, each other one in vain."""
    ends: tuple[Outcome, ...] = (Applied(), Failed(word))
    lines = (Line(a_change(f"node/{word}-{number}"), ends[number % 2]) for number in range(outcomes))
    return Report(snapshot=a_snapshot(), lines=tuple(lines), requests=Requests(2, 3))


def test_what_is_kept() -> None:
    """The latest first, each with its number, time, trigger, duration, requests and outcomes."""
    ring = Ring()
    ring.add(a_pass(), 0.4)
    ring.add(a_pass(2), 0.8, "watch of Nodes")

    last, first = ring.last
    assert (last.number, last.taken_at, last.result, last.trigger, last.seconds) == (
        2,
        NOW,
        Result.PARTIAL,
        "watch of Nodes",
        0.8,
    )
    assert [(change.key, change.state, change.why) for change in last.outcomes] == [
        ("node/x-0", "applied", ""),
        ("node/x-1", "failed", "x"),
    ]
    assert (last.changes, last.requests.kubernetes, first.result) == (2, 2, Result.NO_CHANGES)


def test_a_ring_is_bounded() -> None:
    """However many passes there were, with however many changes of whatever names: the oldest are forgotten first, and
    what is no longer told is counted."""
    ring = Ring()
    for _ in range(PASSES + 50):
        ring.add(a_pass(60, "long" * 300), 1.0)

    passes = ring.last
    assert [passes[0].number, passes[-1].number, len(passes)] == [PASSES + 50, 51, PASSES]
    assert sum(len(record.outcomes) for record in passes) == OUTCOMES
    assert all(len(record.outcomes) + record.left_out == 60 for record in passes)
    assert sum(map(sys.getsizeof, _within(passes))) < MOST_BYTES


def _within(value: object) -> Iterator[object]:
    """The values of the records, one level after the other."""
    yield value
    parts: Iterator[object] = iter(())
    if isinstance(value, tuple):
        parts = iter(value)
    elif hasattr(value, "__struct_fields__"):
        parts = (getattr(value, name) for name in value.__struct_fields__)
    for part in islice(parts, 1000):
        yield from _within(part)


def test_the_page_shows_them() -> None:
    ring = Ring()
    ring.add(a_pass(2), 0.84, "the start")
    page = read_page(document_of(page_of(a_pass(), ring.last, is_live=True)).file())

    passes = page.by_id("passes")
    assert len([bar for bar in passes.named("rect") if (bar.attributes["class"] or "").startswith("bar")]) == 1
    (row,) = passes.named("tbody")[0].named("tr")
    cells = [cell.text for cell in row.named("td")]
    assert cells == [f"{NOW:%Y-%m-%d %H:%M:%S} UTC", "partial", "the start", "2", "0.8", "5", cells[-1]]
    assert "node/x-1 node.initialise: failed, x" in cells[-1]
