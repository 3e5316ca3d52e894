"""An explanation as lines of text: first what happens to the object and why, then everything on it with its rule."""

from collections.abc import Iterable, Iterator

from desired.anchor import Anchor, AnchorState
from desired.change import Hold, Verdict
from desired.explanation.fact import Fact, Rule
from desired.explanation.guards import Word
from desired.explanation.match import ServerMatch
from desired.explanation.node import Explanation
from desired.explanation.stage import Stage
from reconciler.report.escaping import visible
from reconciler.report.text_report import TextLine, Tone, change_lines, header_lines, shown_due, shown_value
from reconciler.result import Explained, Line, approve_command

_WIDEST = 48
"""Up to which a column is aligned. A label may be far longer, and would push everything else out of sight."""
_TONES = {
    Stage.SETTLED: Tone.GOOD,
    Stage.DEPARTING: Tone.WARNING,
    Stage.UNMATCHED: Tone.WARNING,
    Stage.AMBIGUOUS: Tone.WARNING,
    Stage.MALFORMED: Tone.WARNING,
    Stage.UNKNOWN: Tone.WARNING,
}
_MARKS = {
    Verdict.ALLOWED: (" ", "passes", Tone.PLAIN),
    Verdict.WAITING: ("?", "waits", Tone.WARNING),
    Verdict.HELD: ("!", "holds", Tone.BAD),
    Verdict.REFUSED: ("!", "refuses", Tone.BAD),
}


def render_explanation(explained: Explained) -> Iterator[TextLine]:
    """The lines of an explanation, what somebody who was woken at night wants to know before all detail."""
    for line in _lines(explained):
        yield TextLine(visible(line.text).rstrip(), line.tone)


def _lines(explained: Explained) -> Iterator[TextLine]:
    explanation, report = explained.explanation, explained.report
    if explanation is not None:
        yield TextLine(f"{explanation.key}  {explanation.stage}", _TONES.get(explanation.stage, Tone.HEADING))
        yield TextLine(f"  {explanation.why}")
        yield TextLine("")
    yield from header_lines(report)
    if explanation is not None:
        yield from _section("Server", _server(explanation.match))
        yield from _section("Changes", _changes(explanation))
        yield from _section("Guards", _guards(explanation, report.approve_flags))
        yield from _notes(explanation)
        yield from _section("Labels", _facts(explanation.labels))
        yield from _section("Addresses", _facts(explanation.addresses))
        yield from _section("Taints", _facts(explanation.taints))
        yield from _section("Conditions", _facts(explanation.conditions))
    if report.errors:
        yield TextLine("")
    for error in report.errors:
        yield TextLine(f"Error: {error}", Tone.BAD)


def _section(title: str, lines: Iterable[TextLine]) -> Iterator[TextLine]:
    """A heading and what stands below it; "none" below it when that is nothing."""
    yield TextLine("")
    yield TextLine(title, Tone.HEADING)
    empty = True
    for line in lines:
        empty = False
        yield line
    if empty:
        yield TextLine("  none", Tone.DETAIL)


def _server(match: ServerMatch) -> Iterator[TextLine]:
    server = match.server
    if server is not None:
        where = f" in {server.location}" if server.location else ""
        by = match.by + (f" {match.provider_id}" if match.provider_id else "")
        yield TextLine(f"  {server.id}  {server.name}, {server.status}, {server.type}{where}")
        yield TextLine(f"  matched by {by}", Tone.DETAIL)
        return
    yield TextLine(f"  none: {match.why}", Tone.WARNING)
    for candidate in match.candidates:
        yield TextLine(f"  near: {candidate.server_id}  {candidate.name}: {candidate.why_not}")


def _changes(explanation: Explanation) -> Iterator[TextLine]:
    """The changes as in a plan; what initialisation writes and deletion takes away stands below, field by field."""
    for change in explanation.changes:
        yield from change_lines(Line(change), fields=change.key != explanation.key)


def _guards(explanation: Explanation, approve_flags: str) -> Iterator[TextLine]:
    if not explanation.guards and not explanation.on_deletion:
        going = explanation.stage is Stage.DELETING
        deletion = "the Node's deletion was asked for already" if going else "this Node is never deleted from here"
        yield TextLine(f"  none applies: nothing is planned, and {deletion}", Tone.DETAIL)
        return
    yield from _measures(explanation)
    if explanation.guards:
        yield TextLine("  on what is planned:")
        yield from _words(explanation.guards, approve_flags)
    if explanation.on_deletion:
        yield TextLine("  on the Node's deletion, if its server were gone and its kubelet silent:")
        yield from _words(explanation.on_deletion, approve_flags)


def _measures(explanation: Explanation) -> Iterator[TextLine]:
    """What the guards look at."""
    losses, anchor = explanation.losses, explanation.anchor
    tone = Tone.BAD if anchor.state is AnchorState.VIOLATED else Tone.PLAIN
    yield TextLine(f"  anchor {anchor.state}: {_found(anchor)}", tone)
    tone = Tone.BAD if len(losses.lost) > losses.limit else Tone.PLAIN
    lost = f"{len(losses.lost)} of {losses.nodes} Nodes, limit {losses.limit}"
    yield TextLine(f"  unannounced losses: {lost}", tone)
    yield TextLine(f"  announced to go: {explanation.announced or 'no'}")


def _found(anchor: Anchor) -> str:
    unknown = f", {anchor.unknown} unknown" if anchor.unknown else ""
    return f"{anchor.found} of {anchor.total} Ready Nodes found in the project, {anchor.needed} needed{unknown}"


def _words(words: Iterable[Word], approve_flags: str) -> Iterator[TextLine]:
    rows = list(words)
    width = max(len(word.rule) for word in rows)
    for word in rows:
        mark, verb, tone = _MARKS[word.verdict]
        measured = f", measured {word.value}, limit {word.limit}" if word.value else ""
        approved = ", as it was approved" if word.hold and word.hold.approved else ""
        why = f": {word.why}" if word.why and word.hold is None else ""
        due = shown_due(word.due_in_s)
        yield TextLine(f"    {mark} {word.rule:<{width}}  {verb}{approved}{measured}{why}{due}", tone)
        if word.hold is not None:
            yield from _hold(word.hold, approve_flags)


def _hold(hold: Hold, approve_flags: str) -> Iterator[TextLine]:
    yield TextLine(f"        {hold.why}")
    yield TextLine(f"        changes: {', '.join(hold.keys)}", Tone.DETAIL)
    if not hold.approved:
        yield TextLine(f"        to let exactly these pass once: {approve_command(hold, approve_flags)}", Tone.WARNING)


def _notes(explanation: Explanation) -> Iterator[TextLine]:
    """All but the one that the first sentence has told already."""
    notes = [note for note in explanation.notes if note.text != explanation.why]
    if notes:
        yield from _section("Notes", (TextLine(f"  {note.key}  {note.kind}: {note.text}") for note in notes))


def _facts(facts: Iterable[Fact]) -> Iterator[TextLine]:
    rows = [(fact, visible(fact.subject), visible(_shown(fact))) for fact in facts]
    subject_width = min(_WIDEST, max((len(subject) for _, subject, _ in rows), default=0))
    value_width = min(_WIDEST, max((len(value) for _, _, value in rows), default=0))
    for fact, subject, value in rows:
        mark, tone = _mark(fact)
        yield TextLine(f"  {mark} {subject:<{subject_width}}  {value:<{value_width}}  {fact.source}", tone)


def _shown(fact: Fact) -> str:
    if fact.value == fact.wanted:
        return shown_value(fact.value)
    return f"{shown_value(fact.value)} -> {shown_value(fact.wanted)}"


def _mark(fact: Fact) -> tuple[str, Tone]:
    if fact.value == fact.wanted:
        return " ", Tone.DETAIL if fact.rule is Rule.FOREIGN else Tone.PLAIN
    if fact.value is None:
        return "+", Tone.ADD
    return ("-", Tone.REMOVE) if fact.wanted is None else ("~", Tone.MODIFY)
