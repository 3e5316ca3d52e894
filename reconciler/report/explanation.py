"""Explanations of a Node and of a Service: the state of the object, then the rows of each part. Text and JSON show the
same rows."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Annotated, Any, Literal

from msgspec import Meta

from desired.annotations.options import PREFIX
from desired.annotations.reading import Origin
from desired.explain.rows import Part, Row
from desired.health.state import ObjectState, PortState
from desired.model.load_balancer import Health
from desired.plan.change import Change, Hold, Verdict
from desired.routes.claims import FAILING, RouteStatus
from desired.rules.explanations import LEFT_ALONE, OPTION_UNSET
from desired.rules.load_balancers import PORT_AS_ASKED
from reconciler.config.options import Detail
from reconciler.report.documents import ClusterDocument, RequestsDocument, Versioned, shown, to_json
from reconciler.report.escaping import visible
from reconciler.report.folding import Shown, blocks, shown_value
from reconciler.report.text import LEVELS, TextLine, Tone, approve_line, block_lines, header_lines, visible_lines
from reconciler.report.view import Standing, head_of
from reconciler.result import Explained, Line

EXPLANATION_VERSION = "2.0"


class ExplanationDocument(Versioned, frozen=True, kw_only=True):
    """A Node or a Service, and every decision on it. If there is nothing to explain, errors say why."""

    format_version: Annotated[str, Meta(pattern=r"^2\.[0-9]+$")] = EXPLANATION_VERSION
    kind: Literal["node", "service"]
    key: str
    """As in a plan, node/NAME or service/NAMESPACE/NAME; as it was given, if there is no such object."""
    taken_at: datetime | None
    """The API server's clock; None if it could not be read."""
    cluster: ClusterDocument
    health: ObjectState | None
    """The state of the object; None for one that is not looked after here."""
    decisions: tuple[Row, ...]
    """In the order of parts; the first one says what the object is here."""
    changes: tuple[Change, ...]
    """As in a plan."""
    holds: tuple[Hold, ...]
    """On these changes, each with the command that approves it."""
    errors: tuple[str, ...]
    requests: RequestsDocument


def explanation_as_json(explained: Explained) -> Mapping[str, Any]:
    """The explanation in JSON values."""
    report, found = explained.report, explained.explanation
    document = ExplanationDocument(
        kind=explained.kind,
        key=explained.key,
        taken_at=report.snapshot.taken_at if report.snapshot else None,
        cluster=ClusterDocument.of(report.snapshot),
        health=explained.health,
        decisions=found.rows if found else (),
        changes=found.changes if found else (),
        holds=found.holds if found else (),
        errors=report.errors,
        requests=RequestsDocument.of(report),
    )
    written: Mapping[str, Any] = to_json(document, shown(report))
    return written


_MARKS: Mapping[str | None, tuple[str, Tone]] = {
    **dict.fromkeys((Verdict.HELD, Verdict.REFUSED, "wrong", *FAILING), ("!", Tone.BAD)),
    **dict.fromkeys((Verdict.WAITING, RouteStatus.WAITING), ("?", Tone.WARNING)),
    Health.UNHEALTHY.value: (" ", Tone.WARNING),
}
"""State of a row of which no change is planned → the character before its line, and the line's color."""
_WIDEST = 48
"""Up to which a column is aligned. A label may be far longer, and would push everything else out of sight."""
_QUIET: Mapping[str | None, tuple[int, str]] = {
    OPTION_UNSET.name: (0, "not set"),
    PORT_AS_ASKED.name: (4, "more that match the Service"),
}
"""Rule of rows that only ``--full`` lists if they are more than so many → what they are counted as."""


def render_explanation(explained: Explained) -> Iterator[TextLine]:
    """The lines of an explanation: the object with its state, what is planned, then its parts."""
    return visible_lines(_lines(explained))


def _lines(explained: Explained) -> Iterator[TextLine]:
    found, health, head = explained.explanation, explained.health, head_of(explained.report)
    if found is None:
        yield from header_lines(head)
        return
    first = found.rows[0]
    if health is None:
        yield TextLine(f"{explained.key}  {first.state}", Tone.HEADING)
    else:
        yield TextLine(f"{explained.key}  {Standing(health, (explained.key,)).told}", LEVELS[health.level][1])
        if any(port.state is PortState.NONE and port.unhealthy for port in health.ports):
            namespace, _, name = explained.key.name.partition("/")
            look = f"kubectl -n {namespace} get endpointslices -l kubernetes.io/service-name={name}"
            yield TextLine(f"  To see whether pods are ready: {look}", Tone.WARNING)
    yield TextLine("")
    yield from header_lines(head)
    for part in Part:
        if rows := [row for row in found.rows if row.part is part]:
            yield from (TextLine(""), TextLine(part.capitalize(), Tone.HEADING))
            yield from _part(rows, explained)
        if part is first.part:
            yield from (TextLine(""), TextLine("Changes", Tone.HEADING))
            yield from _changes(found.changes, explained)


def _changes(changes: Iterable[Change], explained: Explained) -> Iterator[TextLine]:
    """The changes as in a plan; what initialization writes and deletion removes stands below, field by field."""
    shown_blocks = list(blocks((Shown.of(Line(change)) for change in changes), Detail.FULL))
    for block in shown_blocks:
        yield from block_lines(block, fields=block.first.key != explained.key)
    if not shown_blocks:
        yield TextLine("  none", Tone.DETAIL)


def _part(rows: Sequence[Row], explained: Explained) -> Iterator[TextLine]:
    """The rows of a part in columns that some row fills, and the holds of a guard below its row."""
    failing = {str(port.port) for port in (explained.health.ports if explained.health else ()) if port.failing}
    is_full, told = explained.report.detail is Detail.FULL, list(rows)
    for rule, (most, _) in _QUIET.items():
        quiet = [row for row in rows if row.rule == rule and row.subject not in failing and not is_full]
        if len(quiet) > most:
            told = [row for row in told if row not in quiet]
    cells = [_cells(row) for row in told]
    widths = [min(_WIDEST, max(map(len, column))) for column in zip(*(each[:-1] for each in cells), strict=True)]
    for row, texts in zip(told, cells, strict=True):
        mark, tone = _mark(row)
        tone = Tone.WARNING if row.part is Part.PORTS and row.subject in failing else tone
        columns = [f"{text:<{width}}" for text, width in zip(texts, widths, strict=False) if width]
        yield TextLine(f"  {mark} {'  '.join([*columns, texts[-1]])}".rstrip(), tone)
        yield from _holds(row, explained)
    for rule, (_, counted_as) in _QUIET.items():
        if left := sum(row.rule == rule for row in rows) - sum(row.rule == rule for row in told):
            yield TextLine(f"    {left} {counted_as} (--full)", Tone.DETAIL)


def _cells(row: Row) -> list[str]:
    """Subject, state, both sides, reason; "" for what the row does not have."""
    subject, value, wanted = row.subject.removeprefix(PREFIX), row.value, row.wanted
    has_sides = (value, wanted) != (None, None) or row.part in (Part.PORTS, Part.TARGETS)
    sides = shown_value(value) if value == wanted else f"{shown_value(value)} -> {shown_value(wanted)}"
    if row.part is Part.GUARDS:
        sides = shown_value(value) + (f" (limit {wanted})" if wanted else "")
    return [visible(text) for text in (subject, row.state or "", sides if has_sides else "", row.text)]


def _mark(row: Row) -> tuple[str, Tone]:
    """The mark of a plan for what comes, changes or goes, that of a guard for what waits or is wrong."""
    if row.value == row.wanted or row.part is Part.GUARDS:
        is_detail = row.rule == LEFT_ALONE.name or row.state == Origin.UNSET
        return _MARKS.get(row.state, (" ", Tone.DETAIL if is_detail else Tone.PLAIN))
    if row.value is None:
        return "+", Tone.ADD
    return ("-", Tone.REMOVE) if row.wanted is None else ("~", Tone.MODIFY)


def _holds(row: Row, explained: Explained) -> Iterator[TextLine]:
    """What a guard holds, when that ends by itself, and what to type."""
    report, found = explained.report, explained.explanation
    now = report.snapshot.taken_at if report.snapshot else None
    for hold in found.holds if found and row.part is Part.GUARDS and row.state == Verdict.HELD else ():
        if (hold.rule, hold.why) == (row.rule, row.why):
            yield TextLine(f"        changes: {', '.join(hold.keys)}", Tone.DETAIL)
            if hold.end is not None:
                yield TextLine(f"        ends by itself {hold.end.said_at(now)}")
            if hold.approval_mends:
                yield approve_line(hold.hash, report.approve_flags, "        ")
