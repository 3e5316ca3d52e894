"""Text of a report, in lines, each with the tone in which a terminal shows it. No meaning depends on color alone."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from enum import Enum
from typing import Any

from msgspec import Struct

from actuators.outcome import Applied
from desired.health.state import Level
from desired.model.clocks import shown_moment
from desired.plan.change import Hold, Verdict
from desired.plan.notes import NoteKind
from desired.section import Section
from desired.syntax.bounds import counted
from reconciler.config.options import Detail
from reconciler.config.program import program_name, typed
from reconciler.report.escaping import LIMITS, shown_use, visible
from reconciler.report.folding import Block, names
from reconciler.report.money import shown_total
from reconciler.report.view import (
    MEANS,
    MOST_REMOVALS,
    OF_AN_ERROR,
    Head,
    View,
    are_folded,
    is_applied,
    state_counts,
    unwell,
    view_of,
    worded,
)
from reconciler.result import Line, Report, Result, approve_command, look_command, needing_a_person


class Tone(Enum):
    """The meaning of a line; ``terminal`` gives each a color."""

    PLAIN = "plain"
    HEADING = "heading"
    DETAIL = "detail"
    ADD = "add"
    MODIFY = "modify"
    REMOVE = "remove"
    GOOD = "good"
    WARNING = "warning"
    BAD = "bad"


class TextLine(Struct, frozen=True):
    """One line without its line break. Control characters of foreign text have been made visible."""

    text: str
    tone: Tone = Tone.PLAIN
    command: str = ""
    """What people copy from it: wrapped lines keep it whole."""


TONES = {"+": Tone.ADD, "~": Tone.MODIFY, "-": Tone.REMOVE, "!": Tone.BAD, "?": Tone.WARNING}
"""Symbol of a change → the tone of its line."""
_WIDE = 100
"""From how many columns on the reason of a change stands behind its name."""


def render_lines(report: Report, width: int | None = None) -> Iterator[TextLine]:
    """The lines of a report: what matters most stands last, where a terminal ends. ``width`` is that of the terminal,
    which changes where reasons stand; None for what is no terminal. Lines may be longer than that."""
    return visible_lines(_lines(view_of(report), width))


def visible_lines(lines: Iterable[TextLine]) -> Iterator[TextLine]:
    """The lines as a terminal may show them."""
    return (TextLine(visible(line.text).rstrip(), line.tone, visible(line.command)) for line in lines)


def _lines(view: View, width: int | None) -> Iterator[TextLine]:
    is_wide = width is not None and width >= _WIDE
    yield from header_lines(view.head)
    yield from state_lines(view)
    for part in view.parts:
        yield TextLine(part.title, Tone.HEADING)
        for block in part.blocks:
            yield from block_lines(block, view.report.detail, price=view.price(block.cost), is_wide=is_wide)
    if view.holds:
        yield TextLine("Held until approved", Tone.HEADING)
    for hold in view.holds:
        yield from _hold(hold, view.report, view.head.read_at)
    yield from _notes(view)
    yield TextLine("")
    if view.has_folds:
        yield from _table(view, width)
    for end, keys in view.goes.items():
        told = names(keys, MOST_REMOVALS) if view.is_long(keys) else ", ".join(keys)
        yield TextLine(f"{end}: {told}", Tone.REMOVE)
    if total := shown_total(view.report.cost):
        yield TextLine(f"Cost: {total}")
    yield from _footer(view)


def header_lines(head: Head) -> Iterator[TextLine]:
    """Which world was read when, what is missing of it, and what that took; nothing where nothing was read."""
    if head.read_at is None:
        return
    cluster = head.cluster or f"unknown ({head.why_unknown})"
    yield TextLine(f"Cluster {cluster}, read at {shown_moment(head.read_at, to_seconds=True)}", Tone.HEADING)
    yield from (TextLine(f"  {gap}", Tone.WARNING) for gap in head.told_gaps)
    yield TextLine(f"Requests: {head.requests}{f', {head.left} left' if head.left else ''}", Tone.DETAIL)


LEVELS: Mapping[Level, tuple[str, Tone]] = {
    Level.BAD: ("!", Tone.BAD),
    Level.WARNING: ("?", Tone.WARNING),
    Level.BUSY: (" ", Tone.PLAIN),
    Level.GOOD: (" ", Tone.GOOD),
}
"""How bad a state is → the character before it, and its tone."""


def state_lines(view: View) -> Iterator[TextLine]:
    """What is not well, worst first, and how many are in which state; nothing where nothing is looked after. Who plans
    for the whole cluster is told what explains the first: who reads the log of a run may have no token for it."""
    states, report = view.report.states, view.report
    if view.standings:
        yield TextLine("State", Tone.HEADING)
    for standing in view.standings:
        mark, tone = LEVELS[standing.first.level]
        what = names(standing.keys)
        yield TextLine(f"  {mark} {what}  {standing.told}", tone)
    if view.standings and report.next_step and not report.settings.only:
        key = view.standings[0].keys[0]
        yield TextLine(f"  Details: {typed('explain', key.kind, key.name, report.approve_flags)}")
    if counts := list(state_counts(states)):
        yield TextLine(f"  {'; '.join(counts)}", Tone.GOOD if states.level is Level.GOOD else Tone.PLAIN)


def block_lines(
    block: Block, detail: Detail = Detail.FULL, *, fields: bool = True, price: str = "", is_wide: bool = False
) -> Iterator[TextLine]:
    """One change, or many alike: of which objects, what it makes of the ``price``, why, what withholds it, its
    consequences, and its ``fields``. A summary has only what a person has to know; of a change that a guard singles
    out and holds ``holds show`` has the rest."""
    first, symbol = block.first, block.first.symbol
    change, tone = first.change, TONES[symbol]
    what = (
        f"{len(block.changes)} x {change.kind}  {names(block.keys)}"
        if block.is_fold
        else f"{change.key}  {change.kind}"
    )
    fate = f"  {first.fate}" if first.fate else ""
    price = f"  {price}" if price else ""
    is_short = detail is Detail.SUMMARY
    is_told_later = detail is Detail.FOLDED and first.is_singled_out and first.decision.verdict is Verdict.HELD
    # Behind the sentence of an outcome another one would be read as part of it.
    has_sentence = first.line.outcome is not None and not isinstance(first.line.outcome, Applied)
    if is_wide and not is_short and not has_sentence:
        yield TextLine(f"  {symbol} {what}{fate}: {block.reason}{price}", tone)
    else:
        yield TextLine(f"  {symbol} {what}{price}{fate}", tone)
        if not is_short and not is_told_later:
            whose = ", the first's" if block.has_reasons else ""
            yield TextLine(f"      why{whose}: {change.reason}", Tone.DETAIL)
    if block.withheld:
        yield TextLine(f"      {block.withheld}", tone)
    yield from (TextLine(f"      consequence: {told}", Tone.WARNING) for told in change.consequences)
    if is_short or is_told_later or not fields:
        return
    yield from (TextLine(f"      {field.path}: {field.text}") for field in block.shown_fields)
    if block.more_fields:
        yield TextLine(f"      ... {counted(block.more_fields, 'more field')}", Tone.DETAIL)


def _hold(hold: Hold, report: Report, now: datetime | None) -> Iterator[TextLine]:
    yield TextLine(f"  ! {hold.rule}: {counted(len(hold.keys), 'change')}", Tone.BAD)
    yield TextLine(f"      {hold.why}")
    if hold.end is not None:
        yield TextLine(f"      ends by itself {hold.end.said_at(now)}")
    # What the plan marks as withheld by another rule is seen nowhere else.
    marked = {line.change.key for line in report.lines if line.change.decision.rule is hold.rule}
    if unmarked := [key for key in hold.keys if key not in marked]:
        yield TextLine(f"      also holds: {', '.join(unmarked)}", Tone.DETAIL)
    look = look_command(hold.hash, report.approve_flags, program_name())
    yield TextLine(f"      look:    {look}", Tone.WARNING, look)
    if hold.approval_mends:
        yield approve_line(hold.hash, report.approve_flags, "      ")


def approve_line(hold_hash: str, flags: str, indent: str) -> TextLine:
    """What to type to approve a hold, and what that means."""
    command = approve_command(hold_hash, flags, program_name())
    return TextLine(f"{indent}approve: {command}   (once, within 1 h)", Tone.WARNING, command)


def _notes(view: View) -> Iterator[TextLine]:
    """The notes, alike ones in one line. What a hold, the error or a state says already is not told a second time."""
    told = {(key, standing.first.why) for standing in view.standings for key in standing.keys}
    left = [notes for notes in view.notes if not all((note.key, note.text) in told for note in notes)]
    if left:
        yield TextLine("Notes", Tone.HEADING)
    for notes in left:
        keys = [note.key for note in notes]
        what = f"{len(keys)} x {names(keys)}" if are_folded(notes) else ", ".join(keys)
        tone = Tone.BAD if notes[0].kind is NoteKind.ANCHOR else Tone.PLAIN
        yield TextLine(f"  {what}  {notes[0].kind}: {notes[0].text}", tone)


def _table(view: View, columns: int | None) -> Iterator[TextLine]:
    """How many changes of each class each section has; a line of words for each where a table would be wrapped."""
    width = max(len(part.heading) for part in view.parts)
    words = list(view.parts[0].counts)
    head = "  ".join((" " * (width + 2), *words))
    if columns is not None and len(head) > columns:
        for part in view.parts:
            told = ", ".join(f"{word} x{count}" for word, count in part.counts.items() if count)
            yield TextLine(f"  {part.heading}: {told}")
        return
    yield TextLine(head, Tone.DETAIL)
    for part in view.parts:
        cells = [f"{part.counts[word] or '':>{len(word)}}" for word in words]
        yield TextLine("  ".join((f"  {part.heading:<{width}}", *cells)))


def _footer(view: View) -> Iterator[TextLine]:
    report, counts, result = view.report, view.counts, view.report.result
    opening = f" {switch}" if (switch := view.opening) else ""
    if result is Result.NO_CHANGES and report.snapshot is not None:
        seen = ", ".join(_seen(name, section) for name, section in report.snapshot.sections().items())
        applied = counts["applied"]
        done = f"Applied {counted(applied, 'change')}; none is left" if applied else "No changes"
        is_part = any(note.kind is NoteKind.PARTIAL for note in report.notes)
        part = " in the part that --only names" if is_part else ""
        is_ill = report.states.level >= Level.WARNING
        tone = LEVELS[report.states.level][1] if is_ill else Tone.PLAIN if is_part else Tone.GOOD
        yield TextLine(f"{done}{part}{_unwell(report)}. Observed {seen}.{opening}", tone)
        return
    if report.lines:
        yield TextLine(f"{_summed_up(report.lines, counts)}.{opening}")
    is_bad = result is Result.ERROR or report.states.level is Level.BAD
    tone = Tone.BAD if is_bad else Tone.PLAIN if result is Result.CHANGES else Tone.WARNING
    means = f": {MEANS[result]}" if MEANS[result] else ""
    means += _unwell(report) if result is Result.BLOCKED else ""
    awaiting = len({note.key.whole for note in report.notes if report.obstacles and note.kind is OF_AN_ERROR})
    rest = f", and {counted(awaiting, 'object')} cannot be decided on until it is corrected" if awaiting else ""
    command = view.next_step
    following = f". Next: {command}" if command else "" if report.lines or not opening else f".{opening}"
    yield TextLine(f"Result: {result}{means}{rest}{following}", tone, command)


def _unwell(report: Report) -> str:
    """``; 1 object needs a person, see Notes; 1 Service is down``; "" if all are well."""
    ill = {each.key for each in report.states if each.level >= Level.WARNING}
    wrong = len([key for key in needing_a_person(report) if key.whole not in ill])
    need = [f"{counted(wrong, 'object')} need{'s' * (wrong == 1)} a person, see Notes"] if wrong else []
    return "".join(f"; {told}" for told in (*need, *unwell(report.states)))


def _summed_up(lines: Sequence[Line], counts: Mapping[str, int]) -> str:
    """``Plan: 9 to add, 0 to modify, 2 to remove, 1 held``, or ``Applied 9 of 11 changes, 1 failed, 1 held``."""
    rest = [f"{counts[word]} {word}" for word in ("failed", "held", "waiting", "refused") if counts[word]]
    if is_applied(lines):
        return ", ".join((f"Applied {counts['applied']} of {counted(len(lines), 'change')}", *rest))
    return ", ".join(
        (f"Plan: {counts['add']} to add", *(f"{counts[verb]} to {verb}" for verb in ("modify", "remove")), *rest)
    )


def _seen(name: str, section: Section[Any, Any]) -> str:
    """``3 servers``, ``7/100 routes``."""
    if name in LIMITS:
        return f"{shown_use(name, section)} {worded(name)}"
    return counted(len(section), worded(name).removesuffix("s"))
