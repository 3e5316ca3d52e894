"""Building blocks of the text of explanations: sections, tables, facts with their marks, and decisions of guards."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from desired.explain.fact import Fact, Rule
from desired.explain.guards import Word
from desired.guards.anchor import Anchor, AnchorState
from desired.plan.change import Hold, Note, Verdict
from reconciler.report.escaping import visible
from reconciler.report.text_report import TextLine, Tone, shown_due, shown_value
from reconciler.result import approve_command

_WIDEST = 48
"""Up to which a column is aligned. A label may be far longer, and would push everything else out of sight."""
_MARKS = {
    Verdict.ALLOWED: (" ", "passes", Tone.PLAIN),
    Verdict.WAITING: ("?", "waits", Tone.WARNING),
    Verdict.HELD: ("!", "holds", Tone.BAD),
    Verdict.REFUSED: ("!", "refuses", Tone.BAD),
}


@dataclass(frozen=True, slots=True)
class Row:
    """One line of a table."""

    mark: str
    """One character."""
    tone: Tone
    cells: tuple[str, ...]
    """The last one is as long as it is; the others stand below each other."""
    below: tuple[TextLine, ...] = ()
    """What is said of the line below it."""


def section(title: str, lines: Iterable[TextLine]) -> Iterator[TextLine]:
    """A heading and what stands below it; "none" below it when that is nothing."""
    yield TextLine("")
    yield TextLine(title, Tone.HEADING)
    empty = True
    for line in lines:
        empty = False
        yield line
    if empty:
        yield TextLine("  none", Tone.DETAIL)


def table(rows: Iterable[Row]) -> Iterator[TextLine]:
    """Rows of the same number of cells, aligned."""
    shown = [(row, [visible(cell) for cell in row.cells]) for row in rows]
    widths = [min(_WIDEST, max(map(len, column))) for column in zip(*(cells[:-1] for _, cells in shown), strict=True)]
    for row, cells in shown:
        padded = "  ".join(f"{cell:<{width}}" for cell, width in zip(cells, widths, strict=False))
        yield TextLine(f"  {row.mark} {padded}  {cells[-1]}", row.tone)
        yield from row.below


def facts(found: Iterable[Fact]) -> Iterator[TextLine]:
    """Facts with the marks of a plan."""
    return table(
        Row(*mark(fact.value, fact.wanted, fact.rule), (fact.subject, sides(fact.value, fact.wanted), fact.source))
        for fact in found
    )


def sides(value: str | None, wanted: str | None) -> str:
    """What is there, and what comes instead."""
    return shown_value(value) if value == wanted else f"{shown_value(value)} -> {shown_value(wanted)}"


def mark(value: str | None, wanted: str | None, rule: Rule | None = None) -> tuple[str, Tone]:
    """The mark of a plan, and its color."""
    if value == wanted:
        return " ", Tone.DETAIL if rule is Rule.FOREIGN else Tone.PLAIN
    if value is None:
        return "+", Tone.ADD
    return ("-", Tone.REMOVE) if wanted is None else ("~", Tone.MODIFY)


def anchor_line(anchor: Anchor) -> TextLine:
    """The state of the anchor."""
    tone = Tone.BAD if anchor.state in (AnchorState.VIOLATED, AnchorState.UNFOUND) else Tone.PLAIN
    if anchor.state is AnchorState.UNFOUND:
        nodes = "the only Node's server was not found" if anchor.nodes == 1 else f"none of {anchor.nodes} Nodes found"
        return TextLine(f"  anchor {anchor.state}: no Node is Ready, and {nodes} in the project", tone)
    unknown = f", {anchor.unknown} unknown" if anchor.unknown else ""
    found = f"{anchor.found} of {anchor.total} Ready Nodes found in the project, {anchor.needed} needed{unknown}"
    return TextLine(f"  anchor {anchor.state}: {found}", tone)


def words(said: Iterable[Word], approve_flags: str) -> Iterator[TextLine]:
    """The decision of each rule, and what to type where one holds."""
    rows = list(said)
    width = max(len(word.rule) for word in rows)
    for word in rows:
        sign, verb, tone = _MARKS[word.verdict]
        measured = f", measured {word.value}, limit {word.limit}" if word.value else ""
        approved = ", as it was approved" if word.hold and word.hold.approved else ""
        why = f": {word.why}" if word.why and word.hold is None else ""
        due = shown_due(word.due_in_s)
        yield TextLine(f"    {sign} {word.rule:<{width}}  {verb}{approved}{measured}{why}{due}", tone)
        if word.hold is not None:
            yield from _hold(word.hold, approve_flags)


def _hold(hold: Hold, approve_flags: str) -> Iterator[TextLine]:
    yield TextLine(f"        {hold.why}")
    yield TextLine(f"        changes: {', '.join(hold.keys)}", Tone.DETAIL)
    if not hold.approved:
        yield TextLine(f"        to let exactly these pass once: {approve_command(hold, approve_flags)}", Tone.WARNING)


def note_lines(notes: Iterable[Note], told: Iterable[str]) -> Iterator[TextLine]:
    """The section of notes, but for those whose text was ``told`` already; nothing when there is none."""
    known = set(told)
    left = [note for note in notes if note.text not in known]
    if left:
        yield from section("Notes", (TextLine(f"  {note.key}  {note.kind}: {note.text}") for note in left))
