"""Text of a report, in lines, each with the tone in which a terminal shows it. No meaning depends on color alone."""

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import Enum
from typing import Any

from actuators.outcome import Applied, Failed, Pending, Skipped
from desired.model.snapshot import Snapshot
from desired.plan.change import Change, GuardName, Hold, Verdict, shown_seconds
from desired.plan.kinds import Verb
from desired.plan.notes import Note, NoteKind
from desired.rules.nodes import NODE_SERVER_UNKNOWN
from desired.section import Present, Section
from desired.syntax.bounds import counted
from reconciler.config.flags import Detail
from reconciler.config.program import program_name
from reconciler.report.escaping import LIMITS, shown_use, visible
from reconciler.report.fields import FieldChange, field_changes
from reconciler.report.folding import LEAST, Block, Fold, blocks, names, reasons, shown_values_of_sides
from reconciler.report.money import shown_cost, shown_total
from reconciler.report.outline import removals, section_counts, sections
from reconciler.result import (
    Line,
    Report,
    Requests,
    Result,
    approve_command,
    look_command,
    needing_a_person,
    summary,
)


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


@dataclass(frozen=True, slots=True)
class TextLine:
    """One line without its line break. Control characters of foreign text have been made visible."""

    text: str
    tone: Tone = Tone.PLAIN
    command: str = ""
    """What people copy from it: wrapped lines keep it whole."""


SYMBOLS: Mapping[str, str] = {Verb.ADD: "+", Verb.MODIFY: "~", Verb.REMOVE: "-"}
_LONGEST = 8
"""How many entries are shown of a list that comes or goes as a whole. JSON has them all."""
MOST_REMOVALS = 20
"""How many removals are named one by one at the end."""
_WIDE = 100
"""From how many columns on the reason of a change stands behind its name."""
_OF_AN_ERROR = NoteKind.UNKNOWN
"""Notes that most likely follow from what the error kept from being read. The last line counts them."""
_WORDS = {"robot": "Robot servers"}
"""Sections whose name alone does not say what is in them."""
TONES = {"+": Tone.ADD, "~": Tone.MODIFY, "-": Tone.REMOVE, "!": Tone.BAD, "?": Tone.WARNING}
"""Symbol of a change → the tone of its line."""


def render_lines(report: Report, width: int | None = None) -> Iterator[TextLine]:
    """The lines of a report: what matters most stands last, where a terminal ends. ``width`` is that of the terminal,
    which changes where reasons stand; None for what is no terminal. Lines may be longer than that."""
    yield from with_moments(_lines(report, width), report.snapshot.taken_at if report.snapshot else None)


_MOMENT = re.compile(r"\b(\d{4})-(0[1-9]|1[0-2])-([0-3]\d) ([0-2]\d:[0-5]\d)(?::[0-5]\d)? UTC\b", re.ASCII)


def with_moments(lines: Iterable[TextLine], now: datetime | None) -> Iterator[TextLine]:
    """The lines as a terminal may show them, with times as people read them: ``22 Nov 07:23 UTC``, and the year where
    it is not that of ``now``. JSON has them to the second, and so have headings, which say when all of it was read."""
    year = None if now is None else f"{now.astimezone(UTC):%Y}"

    def worded(found: re.Match[str]) -> str:
        month = datetime(2000, int(found[2]), 1, tzinfo=UTC)
        return f"{int(found[3])} {month:%b}{'' if found[1] == year else f' {found[1]}'} {found[4]} UTC"

    for line in lines:
        text = line.text if line.tone is Tone.HEADING else _MOMENT.sub(worded, line.text)
        yield TextLine(visible(text).rstrip(), line.tone, visible(line.command))


def _lines(report: Report, width: int | None) -> Iterator[TextLine]:
    is_wide = width is not None and width >= _WIDE
    yield from header_lines(report)
    shown = {heading: blocks_of(lines, report.detail) for heading, lines in sections(report.lines).items()}
    for heading, found in shown.items():
        yield TextLine(section_heading(heading, report.snapshot), Tone.HEADING)
        for block in found:
            yield from _block_lines(block, report, is_wide=is_wide)
    yield from _holds(report)
    yield from _notes(report)
    yield TextLine("")
    has_folds = any(isinstance(block, Fold) for found in shown.values() for block in found)
    if has_folds:
        yield from _table(section_counts(report), width)
    yield from _removals(report)
    if total := shown_total(report.cost):
        yield TextLine(f"Cost: {total}")
    yield from _footer(report, opening_switch(report, has_folds=has_folds))


def blocks_of(lines: tuple[Line, ...], detail: Detail) -> tuple[Block, ...]:
    return lines if detail is Detail.FULL else blocks(lines)


def section_heading(heading: str, snapshot: Snapshot | None) -> str:
    """What stands above such changes, with what is used of a limit before them: ``routes, 97/100 used``."""
    limited = snapshot.sections().get(heading) if snapshot and heading in LIMITS else None
    return f"{heading}, {shown_use(heading, limited)} used" if limited is not None else heading


def header_lines(report: Report) -> Iterator[TextLine]:
    """Which world was read when, what is missing of it, and what that took."""
    snapshot = report.snapshot
    if snapshot is None:
        return
    uid = snapshot.cluster_uid
    cluster = f"Cluster {uid.value}" if isinstance(uid, Present) else f"Cluster unknown ({uid.why})"
    yield TextLine(f"{cluster}, read at {snapshot.taken_at:%Y-%m-%d %H:%M:%S} UTC", Tone.HEADING)
    incomplete = {name: section for name, section in snapshot.sections().items() if not section.complete}
    # Nothing was read of these for the reason that the error has, which is said once, on stderr.
    unread = [
        name
        for name, section in incomplete.items()
        if (report.obstacles or section.why_incomplete in report.errors) and not section.total
    ]
    if unread:
        yield TextLine(f"  {', '.join(map(worded, unread))}: INCOMPLETE, not read", Tone.WARNING)
    for name, section in incomplete.items():
        if name not in unread:
            size = f"{worded(name)}: {_size(section)} read"
            yield TextLine(f"  {size}, INCOMPLETE: {section.why_incomplete}", Tone.WARNING)
    requests = report.requests
    left = f", {requests.remaining} of {requests.limit} left" if requests.remaining is not None else ""
    yield TextLine(f"Requests: {shown_requests(requests)}{left}", Tone.DETAIL)


def shown_requests(requests: Requests) -> str:
    """``5 to Kubernetes, 4 to Hetzner``."""
    robot = "" if requests.robot is None else f", {requests.robot} to Robot"
    return f"{requests.kubernetes} to Kubernetes{robot}, {requests.hetzner} to Hetzner"


def worded(section: str) -> str:
    """A section's name as people write it."""
    return _WORDS.get(section, section.replace("_", " "))


def _size(section: Section[Any, Any]) -> str:
    return f"{len(section)} of {section.expected}" if section.expected is not None else str(len(section))


def _block_lines(block: Block, report: Report, *, is_wide: bool) -> Iterator[TextLine]:
    """One change, or many alike. A summary has of both only what a person has to know."""
    price = f"  {shown}" if (shown := shown_price(block, report)) else ""
    if isinstance(block, Fold):
        yield from _fold_lines(block, report.detail, price, is_wide=is_wide)
    elif report.detail is Detail.SUMMARY:
        yield _head(block, price)
        yield from warning_lines(block)
    elif (
        report.detail is Detail.FOLDED and block.change.decision.verdict is Verdict.HELD
    ):  # 'holds show' has its fields
        yield _wide_head(block, price) if is_wide else _head(block, price)
        yield from warning_lines(block)
    else:
        yield from change_lines(block, price=price, is_wide=is_wide)


def shown_price(block: Block, report: Report) -> str:
    """What a change, or many alike, make of the price a month; "" where they have no cost."""
    cost = block.cost if isinstance(block, Fold) else block.change.cost
    return "" if cost is None else shown_cost(cost, report.cost.currency)


def _fold_lines(fold: Fold, detail: Detail, price: str, *, is_wide: bool) -> Iterator[TextLine]:
    """Many like changes: of how many objects and which, why the first one is wanted, and the values of a few fields."""
    change, differ = fold.first.change, len(reasons(fold)) > 1
    symbol = symbol_of(change)
    head, fate = f"  {symbol} {len(fold.lines)} x {change.kind}  {names(fold.keys)}", shown_fate(fold.first)
    is_short = detail is Detail.SUMMARY
    if is_short:
        yield TextLine(f"{head}{price}{fate}", TONES[symbol])
    elif is_wide and not _says_why(fold.first):
        yield TextLine(f"{head}{fate}: {'the first: ' if differ else ''}{change.reason}{price}", TONES[symbol])
    else:
        yield TextLine(f"{head}{price}{fate}", TONES[symbol])
        whose = ", the first's" if differ else ""
        yield TextLine(f"      why{whose}: {change.reason}", Tone.DETAIL)
    decisions = {line.change.decision for line in fold.lines}
    yield from warning_lines(fold.first, ", the first's" if len(decisions) > 1 else "")
    if is_short:
        return
    for field in fold.shown_fields:
        yield TextLine(f"      {field.path}: {shown_values_of_sides(map(shown_sides, field.members))}")
    if rest := len(fold.fields) - len(fold.shown_fields):
        yield TextLine(f"      ... {counted(rest, 'more field')}", Tone.DETAIL)


def change_lines(line: Line, *, fields: bool = True, price: str = "", is_wide: bool = False) -> Iterator[TextLine]:
    """One change: what, what it makes of the ``price``, why, what withholds it, its consequences, and its ``fields``;
    but not the fields of what is refused, as that cannot be approved."""
    change = line.change
    if is_wide and not _says_why(line):
        yield _wide_head(line, price)
    else:
        yield _head(line, price)
        yield TextLine(f"      why: {change.reason}", Tone.DETAIL)
    yield from warning_lines(line)
    for field in field_changes(change) if fields and change.decision.verdict is not Verdict.REFUSED else ():
        before, after = shown_sides(field)
        yield TextLine(f"      {field.path}: {before} -> {after}")


def _head(line: Line, price: str = "") -> TextLine:
    """What a change is of, its kind, what it makes of the price, and what became of it."""
    symbol = symbol_of(line.change)
    return TextLine(f"  {symbol} {line.change.key}  {line.change.kind}{price}{shown_fate(line)}", TONES[symbol])


def _wide_head(line: Line, price: str = "") -> TextLine:
    """The same, and why it is wanted."""
    head = _head(line)
    return TextLine(f"{head.text}: {line.change.reason}{price}", head.tone)


def warning_lines(line: Line, whose: str = "") -> Iterator[TextLine]:
    """What withholds a change, unless its head or a hold says that, and its consequences; ``whose`` tells which one of
    a fold is meant."""
    change, decision = line.change, line.change.decision
    if decision.why and decision.verdict is not Verdict.HELD:
        why = f"{decision.verdict} by {decision.rule}{whose}: {decision.why}{shown_due(decision.due_in_s)}"
        yield TextLine(f"      {why}", TONES[symbol_of(change)])
    for consequence in change.consequences:
        yield TextLine(f"      consequence: {consequence}", Tone.WARNING)


def shown_sides(field: FieldChange) -> tuple[str, str]:
    before, after = (_for_people(field.path, side) for side in (field.before, field.after))
    return _side(before, after), _side(after, before)


def _for_people(path: str, value: Any) -> Any:
    """A time as sentences have it; any other value as it is."""
    if path != "not_ready_since" or not isinstance(value, str):
        return value
    return f"{datetime.fromisoformat(value).astimezone(UTC):%Y-%m-%d %H:%M} UTC"


def _side(value: Any, other: Any) -> str:
    """One side of a field. What comes or goes as a whole and is long is told by its number and its first entries."""
    if not isinstance(value, list):
        return shown_value(value)
    shown = [str(entry) for entry in value]
    if other is None and len(shown) > _LONGEST:
        return f"{len(shown)} in all: {', '.join(shown[:_LONGEST])}, ..."
    return ", ".join(shown)


def shown_due(due_in_s: float | None) -> str:
    """When another look is worth it; "" at once, or when that is not known."""
    return f"; due in {shown_seconds(due_in_s)}" if due_in_s else ""


def shown_fate(line: Line) -> str:
    """The outcome of a change, or what withholds it."""
    match line.outcome:
        case Applied():
            return "  applied"
        case Pending(why):
            return f"  pending: {why}"
        case Skipped(reason):
            return f"  skipped: {reason}"
        case Failed(error):
            return f"  FAILED: {error}"
    decision = line.change.decision
    if decision.verdict is Verdict.HELD:
        return f"  held by {decision.rule}"
    return "" if decision.verdict is Verdict.ALLOWED else f"  {decision.verdict}"


def _says_why(line: Line) -> bool:
    """Whether the outcome of a change has a sentence of its own, behind which another would be read as part of it."""
    return line.outcome is not None and not isinstance(line.outcome, Applied)


def _holds(report: Report) -> Iterator[TextLine]:
    if report.holds:
        yield TextLine("Held until approved", Tone.HEADING)
    for hold in ordered_holds(report):
        yield TextLine(f"  ! {hold.rule}: {measure_of(hold)}, {counted(len(hold.keys), 'change')}", Tone.BAD)
        yield TextLine(f"      {hold.why}")
        if hold.end is not None:
            yield TextLine(f"      ends by itself {hold.end}")
        if unmarked := _unmarked(hold, report):
            yield TextLine(f"      also holds: {', '.join(unmarked)}", Tone.DETAIL)
        look = look_command(hold.hash, report.approve_flags, program_name())
        yield TextLine(f"      look:    {look}", Tone.WARNING, look)
        yield approve_line(hold.hash, report.approve_flags, "      ")


def ordered_holds(report: Report) -> list[Hold]:
    """The holds in the order of reading: the anchor explains most of the others, so it comes first."""
    return sorted(report.holds, key=lambda hold: hold.rule is not GuardName.PROJECT_ANCHOR)


def measure_of(hold: Hold) -> str:
    """What a hold's guard has measured, and its limit."""
    return f"measured {hold.value}, limit {hold.limit}"


def approve_line(hold_hash: str, flags: str, indent: str) -> TextLine:
    """What to type to approve a hold, and what that means."""
    command = approve_command(hold_hash, flags, program_name())
    return TextLine(f"{indent}approve: {command}   (once, within 1 h)", Tone.WARNING, command)


def _unmarked(hold: Hold, report: Report) -> tuple[str, ...]:
    """Those of a hold's changes that the plan marks as withheld by another rule, and that are seen nowhere else."""
    marked = {line.change.key for line in report.lines if line.change.decision.rule is hold.rule}
    return tuple(key for key in hold.keys if key not in marked)


def _notes(report: Report) -> Iterator[TextLine]:
    """The notes, alike ones in one line. What a hold or the error says already is not told a second time."""
    found = like_notes(report)
    if found:
        yield TextLine("Notes", Tone.HEADING)
    for notes in found:
        keys = [note.key for note in notes]
        what = f"{len(keys)} x {names(keys)}" if are_folded(notes) else ", ".join(keys)
        tone = Tone.BAD if notes[0].kind is NoteKind.ANCHOR else Tone.PLAIN
        yield TextLine(f"  {what}  {notes[0].kind}: {notes[0].text}", tone)


def are_folded(notes: Sequence[Note]) -> bool:
    """Whether a few names stand for like notes; never for those of objects that need a person."""
    return len(notes) >= LEAST and not any(note.needs_a_person for note in notes)


def like_notes(report: Report) -> tuple[tuple[Note, ...], ...]:
    """The notes that are worth telling, those of one kind that say the same together; each alone in a full report."""
    # The anchor explains most of the others, so it comes first.
    notes = sorted(_worth_telling(report), key=lambda note: note.kind is not NoteKind.ANCHOR)
    if report.detail is Detail.FULL:
        return tuple((note,) for note in notes)
    return alike(notes)


def alike(notes: Iterable[Note]) -> tuple[tuple[Note, ...], ...]:
    """The notes, those of one kind that say the same together, in the order of the first of each."""
    found: dict[tuple[NoteKind, str], list[Note]] = {}
    for note in notes:
        found.setdefault((note.kind, note.text), []).append(note)
    return tuple(map(tuple, found.values()))


def _worth_telling(report: Report) -> Iterator[Note]:
    """The notes that do not follow from something else on the page."""
    said = {*(hold.said for hold in report.holds), *report.errors}
    said |= {NODE_SERVER_UNKNOWN.text(cause=error) for error in report.errors}
    seems_foreign = any(note.kind is NoteKind.ANCHOR for note in report.notes)

    def follows(note: Note) -> bool:
        is_of_an_error = bool(report.obstacles) and note.kind is _OF_AN_ERROR
        return note.text in said or is_of_an_error or (seems_foreign and note.row.is_of_the_project)

    return (note for note in report.notes if not follows(note))


def _table(counts: Mapping[str, Mapping[str, int]], columns: int | None) -> Iterator[TextLine]:
    """How many changes of each class each section has; a line of words for each where a table would be wrapped."""
    width = max(map(len, counts))
    words = list(next(iter(counts.values())))
    head = "  ".join((" " * (width + 2), *words))
    if columns is not None and len(head) > columns:
        for heading, found in counts.items():
            told = ", ".join(f"{word} x{count}" for word, count in found.items() if count)
            yield TextLine(f"  {heading}: {told}")
        return
    yield TextLine(head, Tone.DETAIL)
    for heading, found in counts.items():
        cells = [f"{found[word] or '':>{len(word)}}" for word in words]
        yield TextLine("  ".join((f"  {heading:<{width}}", *cells)))


def _removals(report: Report) -> Iterator[TextLine]:
    """Each removal by name: of all that is planned it is what must not be overlooked."""
    for end, keys in removals(report.lines).items():
        told = names(keys, MOST_REMOVALS) if _is_long(report, keys) else ", ".join(keys)
        yield TextLine(f"{end}: {told}", Tone.REMOVE)


def _is_long(report: Report, keys: Sequence[str]) -> bool:
    """Whether so much goes that ranges are read faster than names."""
    return report.detail is not Detail.FULL and len(keys) > MOST_REMOVALS


def opening_switch(report: Report, *, has_folds: bool) -> str:
    """Which switch shows what is folded; "" when nothing is."""
    if has_folds:
        return " Each change: --full"
    if report.detail is not Detail.FULL and any(map(are_folded, like_notes(report))):
        return " Each note: --full"
    has_ranges = any(_is_long(report, keys) for keys in removals(report.lines).values())
    return " Each name: --full" if has_ranges else ""


def _footer(report: Report, opening: str) -> Iterator[TextLine]:
    counts = summary(report)
    result = report.result
    snapshot = report.snapshot
    if result is Result.NO_CHANGES and snapshot is not None:
        sections = snapshot.sections().items()
        seen = ", ".join(_seen(name, section) for name, section in sections)
        done = f"Applied {counted(counts['applied'], 'change')}. " if counts["applied"] else ""
        is_part = any(note.kind is NoteKind.PARTIAL for note in report.notes)
        part = " in the part that --only names" if is_part else ""
        wrong = len(needing_a_person(report))
        need = f"; {counted(wrong, 'object')} need{'s' * (wrong == 1)} a person, see Notes" if wrong else ""
        tone = Tone.WARNING if wrong else Tone.PLAIN if is_part else Tone.GOOD
        yield TextLine(f"{done}No changes{part}{need}. Observed {seen}.{opening}", tone)
        return
    if report.lines:
        words = [f"{counts[verb]} to {verb}" for verb in ("add", "modify", "remove")]
        words += [
            f"{counts[word]} {word}" for word in ("held", "waiting", "refused", "applied", "failed") if counts[word]
        ]
        yield TextLine(f"Plan: {', '.join(words)}.{opening}")
    tone = {Result.CHANGES: Tone.PLAIN, Result.ERROR: Tone.BAD}.get(result, Tone.WARNING)
    awaiting = len({note.key.whole for note in report.notes if report.obstacles and note.kind is _OF_AN_ERROR})
    rest = f", and {counted(awaiting, 'object')} cannot be decided on until it is corrected" if awaiting else ""
    command = next_step_of(report)
    following = f". Next: {command}" if command else "" if report.lines or not opening else f".{opening}"
    yield TextLine(f"Result: {result}{EXPLANATION[result]}{rest}{following}", tone, command)


def next_step_of(report: Report) -> str:
    """What to type so that the plan is carried out; "" where that would do nothing, or something else is to be done
    first."""
    is_due = any(line.change.decision.verdict is Verdict.ALLOWED for line in report.lines)
    return report.next_step if report.result is Result.CHANGES and is_due else ""


def _seen(name: str, section: Section[Any, Any]) -> str:
    """``3 servers``, ``7/100 routes``."""
    if name in LIMITS:
        return f"{shown_use(name, section)} {worded(name)}"
    return counted(len(section), worded(name).removesuffix("s"))


EXPLANATION = {
    Result.ERROR: "",
    Result.NOT_LEADER: ": another process leads, and does the same within its interval",
    Result.INCOMPLETE: ": some data is incomplete, and nothing that depends on it is done",
    Result.REFUSED: ": a guard stands in the way; nothing that it covers is done",
    Result.PARTIAL: ": part of it is not done yet",
    Result.CHANGES: "",
    Result.NO_CHANGES: "",
}


def symbol_of(change: Change) -> str:
    match change.decision.verdict:
        case Verdict.HELD | Verdict.REFUSED:
            return "!"
        case Verdict.WAITING:
            return "?"
        case _:
            return SYMBOLS[change.verb]


def shown_value(value: Any) -> str:
    """``(none)`` for what is not there; an empty text in quotes, so that it can be seen."""
    if isinstance(value, str) and value:
        return value
    return "(none)" if value is None else json.dumps(value, ensure_ascii=False)
