"""Text of a report, in lines, each with the tone in which a terminal shows it. No meaning depends on color alone."""

import json
import math
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import Enum
from itertools import groupby
from typing import Any

from actuators.outcome import Applied, Failed, Pending, Skipped
from desired.model.key import ObjectKind
from desired.model.snapshot import Snapshot
from desired.plan.change import Change, GuardName, Hold, Note, NoteKind, Verdict
from desired.plan.kinds import Verb
from desired.section import Present, Section
from desired.syntax.bounds import counted
from reconciler.report.escaping import LIMITS, shown_use, visible
from reconciler.report.fields import field_changes
from reconciler.result import Line, Report, Result, approve_command, needing_a_person, summary


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


_SYMBOLS = {Verb.ADD: "+", Verb.MODIFY: "~", Verb.REMOVE: "-"}
_LONGEST = 8
"""How many entries are shown of a list that comes or goes as a whole. JSON has them all."""
_ALIKE = 3
"""How many objects are named of those with the same note or hold, once they are more than the longest list."""
_OF_UNKNOWN_PROJECT = frozenset(
    {NoteKind.KEPT, NoteKind.NO_TARGETS, NoteKind.UNKNOWN, NoteKind.UNUSABLE_TARGET, NoteKind.UNMATCHED}
)
"""Notes that follow from servers that were not found, and say nothing while the project seems to be another one."""
_OF_AN_ERROR = frozenset({NoteKind.UNKNOWN})
"""Notes that most likely follow from what the error kept from being read. The last line counts them."""
_LEGEND = {
    "+": "add",
    "~": "modify",
    "-": "remove",
    "!": "held or refused",
    "?": "waiting",
}
_HEADINGS = {
    ObjectKind.NODE: "nodes",
    ObjectKind.LOAD_BALANCER: "load balancers",
    ObjectKind.CERTIFICATE: "certificates",
    ObjectKind.SERVICE: "services",
    ObjectKind.ROUTE: "routes",
}
"""What changes are of → what stands above them all, in the order in which people read them."""
_WORDS = {"robot": "Robot servers"}
"""Sections whose name alone does not say what is in them."""
_TONES = {"+": Tone.ADD, "~": Tone.MODIFY, "-": Tone.REMOVE, "!": Tone.BAD, "?": Tone.WARNING}


def render_lines(report: Report) -> Iterator[TextLine]:
    """The lines of a report, in the order in which somebody who was woken at night wants them."""
    yield from with_moments(_lines(report), report.snapshot.taken_at if report.snapshot else None)


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
        yield TextLine(visible(text).rstrip(), line.tone)


def _lines(report: Report) -> Iterator[TextLine]:
    yield from header_lines(report)
    symbols = sorted({_symbol(line.change) for line in report.lines}, key=list(_LEGEND).index)
    if symbols:
        yield TextLine("Symbols: " + ", ".join(f"{symbol} {_LEGEND[symbol]}" for symbol in symbols), Tone.DETAIL)
    for section, lines in groupby(sorted(report.lines, key=_place), key=_section):
        yield TextLine("")
        yield TextLine(_heading(section, report.snapshot), Tone.HEADING)
        for line in lines:
            yield from change_lines(line)
    yield from _holds(report)
    yield from _notes(report)
    yield TextLine("")
    yield from _footer(report)


def _section(line: Line) -> ObjectKind:
    """The kind of object that a change is of."""
    return line.change.key.kind


def _heading(section: ObjectKind, snapshot: Snapshot | None) -> str:
    """What stands above such changes, with what is used of a limit before them: ``routes, 97/100 used``."""
    heading = _HEADINGS.get(section, section)
    limited = snapshot.sections().get(heading) if snapshot and heading in LIMITS else None
    return f"{heading}, {shown_use(heading, limited)} used" if limited is not None else heading


def _place(line: Line) -> int:
    """Where a change's section stands among the others; one without a heading of its own comes last."""
    section = _section(line)
    return list(_HEADINGS).index(section) if section in _HEADINGS else len(_HEADINGS)


def header_lines(report: Report) -> Iterator[TextLine]:
    """Which world was read when, what is missing of it, and what that cost."""
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
        yield TextLine(f"  {', '.join(map(_worded, unread))}: INCOMPLETE, not read", Tone.WARNING)
    for name, section in incomplete.items():
        if name not in unread:
            size = f"{_worded(name)}: {_size(section)} read"
            yield TextLine(f"  {size}, INCOMPLETE: {section.why_incomplete}", Tone.WARNING)
    cost = report.cost
    left = f", {cost.remaining} of {cost.limit} Hetzner requests left" if cost.remaining is not None else ""
    robot = "" if cost.robot is None else f", {cost.robot} to Robot"
    sent = f"{cost.kubernetes} to Kubernetes, {cost.hetzner} to Hetzner{robot}"
    yield TextLine(f"Requests: {sent}{left}", Tone.DETAIL)


def _worded(section: str) -> str:
    """A section's name as people write it."""
    return _WORDS.get(section, section.replace("_", " "))


def _size(section: Section[Any, Any]) -> str:
    return f"{len(section)} of {section.expected}" if section.expected is not None else str(len(section))


def change_lines(line: Line, *, fields: bool = True) -> Iterator[TextLine]:
    """One change: what, why, what withholds it, its consequences, and its ``fields``; but not the fields of what is
    refused, as that cannot be approved."""
    change, decision = line.change, line.change.decision
    symbol = _symbol(change)
    yield TextLine(f"  {symbol} {change.key}  {change.kind}{_fate(line)}", _TONES[symbol])
    yield TextLine(f"      why: {change.reason}", Tone.DETAIL)
    if decision.verdict is Verdict.HELD:
        yield TextLine(f"      held by {decision.rule}, see below", _TONES[symbol])
    elif decision.why:
        yield TextLine(
            f"      {decision.verdict} by {decision.rule}: {decision.why}{shown_due(decision.due_in_s)}", _TONES[symbol]
        )
    for consequence in change.consequences:
        yield TextLine(f"      consequence: {consequence}", Tone.WARNING)
    for field in field_changes(change) if fields and decision.verdict is not Verdict.REFUSED else ():
        before, after = (_for_people(field.path, side) for side in (field.before, field.after))
        yield TextLine(f"      {field.path}: {_side(before, after)} -> {_side(after, before)}")


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
    if not due_in_s:
        return ""
    for unit_s, unit in ((3600, "h"), (60, "min")):
        if due_in_s > 2 * unit_s:
            return f"; due in {math.ceil(due_in_s / unit_s)} {unit}"
    return f"; due in {math.ceil(due_in_s)} s"


def _fate(line: Line) -> str:
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
    verdict = line.change.decision.verdict
    return "" if verdict is Verdict.ALLOWED else f"  {verdict}"


def _holds(report: Report) -> Iterator[TextLine]:
    if report.holds:
        yield TextLine("")
        yield TextLine("Held until somebody approves", Tone.HEADING)
    # The anchor explains most of the others, so it comes first.
    for hold in sorted(report.holds, key=lambda hold: hold.rule is not GuardName.PROJECT_ANCHOR):
        yield TextLine(f"  ! {hold.rule}: {_measure(hold)}, {counted(len(hold.keys), 'change')}", Tone.BAD)
        yield TextLine(f"      {hold.why}")
        yield TextLine(f"      changes: {_held(hold, report)}", Tone.DETAIL)
        yield TextLine(
            f"      to let exactly these pass once: {approve_command(hold, report.approve_flags)}", Tone.WARNING
        )


def _measure(hold: Hold) -> str:
    return f"measured {hold.value}, limit {hold.limit}"


def _held(hold: Hold, report: Report) -> str:
    """The changes of a hold. Many are folded where the plan marks each of them; one that the plan marks as withheld by
    another rule is seen nowhere else."""
    marked = {line.change.key for line in report.lines if line.change.decision.rule is hold.rule}
    return _folded(hold.keys) if marked.issuperset(hold.keys) else ", ".join(hold.keys)


def _folded(keys: Sequence[str]) -> str:
    """All keys, or of many the first few and their number."""
    return ", ".join(keys) if len(keys) <= _LONGEST else f"{', '.join(keys[:_ALIKE])} and {len(keys) - _ALIKE} more"


def _notes(report: Report) -> Iterator[TextLine]:
    """The notes, alike ones in one line. What a hold or the error says already is not told a second time."""
    keys: dict[tuple[NoteKind, str], list[str]] = {}
    # The anchor explains most of the others, so it comes first.
    for note in sorted(_worth_telling(report), key=lambda note: note.kind is not NoteKind.ANCHOR):
        keys.setdefault((note.kind, note.text), []).append(note.key)
    if keys:
        yield TextLine("")
        yield TextLine("Notes", Tone.HEADING)
    for (kind, text), alike in keys.items():
        yield TextLine(f"  {_folded(alike)}  {kind}: {text}", Tone.BAD if kind is NoteKind.ANCHOR else Tone.PLAIN)


def _worth_telling(report: Report) -> Iterator[Note]:
    """The notes that do not follow from something else on the page."""
    said = {*(hold.why for hold in report.holds), *report.errors}
    seems_foreign = any(note.kind is NoteKind.ANCHOR for note in report.notes)
    following = {*(_OF_UNKNOWN_PROJECT if seems_foreign else ()), *(_OF_AN_ERROR if report.obstacles else ())}
    return (note for note in report.notes if note.text not in said and note.kind not in following)


def _footer(report: Report) -> Iterator[TextLine]:
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
        yield TextLine(f"{done}No changes{part}{need}. Observed {seen}.", tone)
        return
    if report.lines:
        words = [f"{counts[verb]} to {verb}" for verb in ("add", "modify", "remove")]
        words += [
            f"{counts[word]} {word}" for word in ("held", "waiting", "refused", "applied", "failed") if counts[word]
        ]
        yield TextLine(f"Plan: {', '.join(words)}.")
    tone = {Result.CHANGES: Tone.PLAIN, Result.ERROR: Tone.BAD}.get(result, Tone.WARNING)
    awaiting = len({note.key.whole for note in report.notes if report.obstacles and note.kind in _OF_AN_ERROR})
    rest = f", and {counted(awaiting, 'object')} cannot be decided on until it is corrected" if awaiting else ""
    yield TextLine(f"Result: {result}{_EXPLANATION[result]}{rest}", tone)


def _seen(name: str, section: Section[Any, Any]) -> str:
    """``3 servers``, ``7/100 routes``."""
    if name in LIMITS:
        return f"{shown_use(name, section)} {_worded(name)}"
    return counted(len(section), _worded(name).removesuffix("s"))


_EXPLANATION = {
    Result.ERROR: "",
    Result.NOT_LEADER: ": another holder renewed the Lease meanwhile",
    Result.INCOMPLETE: ": some data is incomplete, and nothing that depends on it is done",
    Result.REFUSED: ": a guard stands in the way; nothing that it covers is done",
    Result.PARTIAL: ": part of it is not done yet",
    Result.CHANGES: "",
    Result.NO_CHANGES: "",
}


def _symbol(change: Change) -> str:
    match change.decision.verdict:
        case Verdict.HELD | Verdict.REFUSED:
            return "!"
        case Verdict.WAITING:
            return "?"
        case _:
            return _SYMBOLS[change.verb]


def shown_value(value: Any) -> str:
    """``(none)`` for what is not there; an empty text in quotes, so that it can be seen."""
    if isinstance(value, str) and value:
        return value
    return "(none)" if value is None else json.dumps(value, ensure_ascii=False)
