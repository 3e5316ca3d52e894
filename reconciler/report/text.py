"""Text of a report, in lines, each with the tone in which a terminal shows it. No meaning depends on color alone."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from enum import Enum
from typing import Any

from msgspec import Struct

from desired.health.state import Level
from desired.model.clocks import shown_moment
from desired.plan.notes import NoteKind
from desired.section import Section
from desired.syntax.bounds import counted
from reconciler.config.options import Detail
from reconciler.config.program import program_name, typed
from reconciler.report.escaping import LIMITS, shown_use, visible
from reconciler.report.folding import NAMED, Block, first_of, names
from reconciler.report.money import shown_total
from reconciler.report.view import (
    MEANS,
    OF_AN_ERROR,
    Head,
    Held,
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


def render_lines(report: Report) -> Iterator[TextLine]:
    """The lines of a report: what matters most stands last, where a terminal ends."""
    return visible_lines(_lines(view_of(report)))


def visible_lines(lines: Iterable[TextLine]) -> Iterator[TextLine]:
    """The lines as a terminal may show them."""
    return (TextLine(visible(line.text).rstrip(), line.tone, visible(line.command)) for line in lines)


def _lines(view: View) -> Iterator[TextLine]:
    yield from header_lines(view.head)
    yield from state_lines(view)
    if view.parts or view.held:
        uses = "".join(f", {part.title}: {part.use}" for part in view.parts if part.use)
        yield TextLine(f"Changes{uses}", Tone.HEADING)
    for block in (block for part in view.parts for block in part.blocks):
        yield from block_lines(block, view.report.detail, price=view.price(block.cost))
    for held in view.held:
        yield from _held(held, view)
    yield from _notes(view)
    yield TextLine("")
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
    block: Block, detail: Detail = Detail.FULL, *, fields: bool = True, price: str = "", indent: str = "  "
) -> Iterator[TextLine]:
    """One change, or many alike: of which objects, what it makes of the ``price``, what withholds it, why it is wanted,
    its consequences, and its ``fields``. A summary has neither reasons nor fields."""
    first, fate, price = block.first, block.fate, f"  {price}" if price else ""
    tone = TONES[first.symbol]
    what = f"{len(block.members)} x {first.kind}  {block.names}" if block.is_fold else f"{first.key}  {first.kind}"
    yield TextLine(f"{indent}{first.symbol} {what}{price}{f'  {fate}' if fate else ''}", tone)
    told = [] if detail is Detail.SUMMARY else [first_of([each.reason for each in block.members], "why")]
    if block.is_fold and fields and told:
        told += (f"{field.path}: {field.values}" for field in block.fields)
        told += [counted(block.more_fields, "more field")] if block.more_fields else []
    if told:
        yield TextLine(f"{indent}    {'; '.join(told)}", Tone.DETAIL)
    for remark in block.remarks:
        yield TextLine(f"{indent}    {remark}", tone if first.withheld else Tone.WARNING)
    if not block.is_fold and fields and told:
        yield from (TextLine(f"{indent}    {field.path}: {field.values}") for field in block.fields)


def _held(held: Held, view: View) -> Iterator[TextLine]:
    hold, report = held.hold, view.report
    why = f" until approved: {hold.why}" if hold.approval_mends else f": {hold.said}"
    yield TextLine(f"  ! {hold.rule} holds {counted(len(hold.keys), 'change')}{why}", Tone.BAD)
    if hold.end is not None:
        yield TextLine(f"      ends by itself {hold.end.said_at(view.head.read_at)}")
    for block in held.blocks:
        yield from block_lines(block, report.detail, price=view.price(block.cost), indent="    ")
    if held.others:
        yield TextLine(f"      also holds: {names(held.others, NAMED)}", Tone.DETAIL)
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
        what = f"{len(keys)} x {names(keys)}" if are_folded(notes) else names(keys, NAMED)
        tone = Tone.BAD if notes[0].kind is NoteKind.ANCHOR else Tone.PLAIN
        yield TextLine(f"  {what}  {notes[0].kind}: {notes[0].text}", tone)


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
