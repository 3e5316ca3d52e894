"""Holds for people and machines: all of them as a list, one of them with everything about it."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta

from msgspec import Struct

from desired.model.clocks import shown_moment
from desired.plan.change import HoldEnd, shown_seconds, with_advice
from desired.plan.grants import Grant, Here
from desired.syntax.bounds import counted
from reconciler.config.options import Detail
from reconciler.config.program import program_name, typed
from reconciler.report.documents import Versioned
from reconciler.report.fields import FieldChange
from reconciler.report.folding import Shown, blocks, names
from reconciler.report.published import PublishedChange, PublishedHold, PublishedStatus
from reconciler.report.text import TextLine, Tone, approve_line, block_lines, visible_lines
from reconciler.result import approve_command, look_command

_MINUTE = timedelta(minutes=1)


@dataclass(frozen=True, slots=True)
class HoldsReport:
    """What is held, and what people have approved of it."""

    now: datetime | None = None
    """The API server's clock; None when nothing could be read."""
    published: PublishedStatus | None = None
    """Where the holds are from; None when they were planned by this run, or none were published."""
    holds: tuple[PublishedHold, ...] = ()
    approvals: tuple[Grant, ...] = ()
    why_unread: str = ""
    """Why not all approvals could be read; "" when they were."""
    why_incomplete: str = ""
    """Why more may be held than is known; "" when it is all."""
    shown: str = ""
    """The hash of the one hold that is shown with all there is; "" for a list."""
    errors: tuple[str, ...] = ()
    flags: str = ""
    """As in ``approve_command``."""

    @property
    def code(self) -> int:
        """0 when it is known what is held, whether or not something is."""
        return 1 if self.errors else 0

    def lines(self) -> Iterator[TextLine]:
        """The text."""
        return visible_lines(_lines(self))

    def document(self) -> "HoldsDocument":
        """The JSON."""
        return HoldsDocument.of(self)


def _lines(report: HoldsReport) -> Iterator[TextLine]:
    if report.now is None:
        return
    if report.shown:
        for hold in report.holds:
            if hold.hash == report.shown:
                yield from hold_lines(hold, report)
    else:
        yield from _list_lines(report, report.now)


def _list_lines(report: HoldsReport, now: datetime) -> Iterator[TextLine]:
    if report.published is not None:
        yield TextLine(f"Published {origin(report.published, now)}", Tone.DETAIL)
    if report.why_incomplete:
        yield TextLine(f"More may be held: {report.why_incomplete}", Tone.WARNING)
    if not report.holds:
        if not report.errors and not report.why_incomplete:
            yield TextLine("Nothing is held.", Tone.GOOD)
        return
    width = max(len(hold.rule) for hold in report.holds)
    yield TextLine(f"{'HASH':<16}  {'RULE':<{width}}  {'CHANGES':<7}  SINCE", Tone.HEADING)
    for hold in report.holds:
        yield from _row(hold, report, now, width)
    more = report.published.more_holds if report.published else 0
    if more:
        yield TextLine(f"... and {more} more: {typed('holds --plan', report.flags)}")
    if report.why_unread:
        yield TextLine(f"Who approved what is not known: {report.why_unread}", Tone.WARNING)
    yield TextLine("")
    first = report.holds[0]
    yield TextLine(f"One of them: {look_command(first.hash, report.flags, program_name())}")


def _row(hold: PublishedHold, report: HoldsReport, now: datetime, width: int) -> Iterator[TextLine]:
    since = shown_moment(hold.since)
    yield TextLine(f"{_digits(hold)}  {hold.rule:<{width}}  {hold.count:<7}  {since}", Tone.BAD)
    yield TextLine(f"    {hold.why}")
    yield TextLine(f"    {_named(hold)}", Tone.DETAIL)
    yield from end_lines(hold, now, "    ")
    for approval in _of(hold, report):
        if approval.counts(Here(now)):
            yield TextLine(f"    {told(approval, now)}", Tone.GOOD)


def hold_lines(hold: PublishedHold, report: HoldsReport) -> Iterator[TextLine]:
    """Everything about one hold: why, the fields of its changes, how it ends, and its approvals."""
    now = report.now or hold.since
    yield TextLine(f"Hold {hold.hash}, since {shown_moment(hold.since)}", Tone.HEADING)
    if report.published is not None:
        yield TextLine(f"  published {origin(report.published, now)}", Tone.DETAIL)
    yield TextLine(f"  ! {hold.rule}: {counted(hold.count, 'change')}", Tone.BAD)
    yield TextLine(f"      {with_advice(hold.why, hold.advice)}")
    yield from end_lines(hold, now, "      ")
    yield TextLine("Changes", Tone.HEADING)
    for block in blocks(map(_shown, hold.changes)):
        yield from block_lines(block, Detail.FOLDED)
    rest = [key for key in hold.keys if key not in {change.key for change in hold.changes}]
    left = hold.count - len(hold.changes)
    if left > 0:
        yield TextLine(f"  ... and {names(rest, count=left) if rest else f'{left} more'}", Tone.DETAIL)
    approvals = list(_of(hold, report))
    yield TextLine("Approvals", Tone.HEADING)
    if report.why_unread:
        yield TextLine(f"  not known: {report.why_unread}", Tone.WARNING)
    elif not approvals:
        yield TextLine("  none", Tone.DETAIL)
    for approval in approvals:
        yield TextLine(f"  {told(approval, now)}", Tone.GOOD if approval.counts(Here(now)) else Tone.DETAIL)
    if not any(approval.counts(Here(now)) for approval in approvals):
        yield approve_line(hold.hash, report.flags, "  ")


def origin(status: PublishedStatus, now: datetime) -> str:
    """By whom and when a status was written: ``by web-1 at ..., 3 min ago``."""
    return f"by {status.by} at {shown_moment(status.written_at)}, {ago(status.written_at, now)}"


def ago(moment: datetime, now: datetime) -> str:
    """``3 min ago``; ``just now`` also for what a clock that is ahead wrote."""
    age = now - moment
    return f"{shown_seconds(age.total_seconds())} ago" if age >= _MINUTE else "just now"


def told(approval: Grant, now: datetime) -> str:
    """One approval in a sentence: by whom, when, and until when it counts, or why it does not."""
    void = approval.why_void(Here(now))
    via = f" ({approval.via})" if approval.via else ""
    at = f" at {shown_moment(approval.approved_at)}" if approval.approved_at else ""
    until = f", and {void}" if void else f", until {shown_moment(approval.until)}" if approval.until else ""
    reason = f": {approval.reason}" if approval.reason else ""
    return f"approved by {approval.approver}{via}{at}{until}{reason}"


def _of(hold: PublishedHold, report: HoldsReport) -> Iterator[Grant]:
    return (approval for approval in report.approvals if approval.of == hold.hash)


def _digits(hold: PublishedHold) -> str:
    return hold.hash.removeprefix("sha256:")


def _named(hold: PublishedHold) -> str:
    return names(hold.keys, count=hold.count)


def end_lines(hold: PublishedHold, now: datetime, before: str) -> Iterator[TextLine]:
    """How the hold ends by itself, with the time, and what is left of it now; none where only a person ends it."""
    if hold.end is not None:
        left_s = None if hold.end.at is None else (hold.end.at - now).total_seconds()
        yield TextLine(f"{before}ends by itself {HoldEnd(hold.end.how, left_s).said_at(now)}")


def _shown(change: PublishedChange) -> Shown:
    fields = tuple(FieldChange(field.path, field.before, field.after) for field in change.fields)
    return Shown(
        change.key, change.kind, change.class_, change.reason, change.consequences, fields, is_under_its_hold=True
    )


class ApprovalDocument(Struct, frozen=True):
    """One approval of a hold."""

    approver: str
    source: str
    """``cluster``: the ConfigMap."""
    approved_at: datetime | None
    """None for a damaged one."""
    until: datetime
    via: str
    reason: str
    why_void: str | None
    """Why it lets nothing pass; None when it counts."""

    @classmethod
    def of(cls, approval: Grant, now: datetime) -> "ApprovalDocument":
        """An approval as it is at ``now``."""
        until, void = approval.until or now, approval.why_void(Here(now))
        return cls(approval.approver, approval.source, approval.approved_at, until, approval.via, approval.reason, void)


class HeldDocument(Struct, frozen=True):
    """One hold, with its approvals."""

    hold: PublishedHold
    approvals: tuple[ApprovalDocument, ...]
    approve: str
    """The command that approves it."""


class HoldsDocument(Versioned, frozen=True, kw_only=True):
    """What ``reconcile holds`` writes as JSON."""

    taken_at: datetime | None
    """The API server's clock; None when it could not be read."""
    by: str | None
    """Who published the holds; None when they were planned by this run."""
    written_at: datetime | None
    why_incomplete: str | None
    """Why more may be held than is known; None when it is all."""
    holds: tuple[HeldDocument, ...]
    errors: tuple[str, ...]

    @classmethod
    def of(cls, report: HoldsReport) -> "HoldsDocument":
        """All holds, or the one that is shown."""
        now, published = report.now, report.published
        chosen = [hold for hold in report.holds if not report.shown or hold.hash == report.shown]
        return cls(
            taken_at=now,
            by=published.by if published else None,
            written_at=published.written_at if published else None,
            why_incomplete=report.why_incomplete or None,
            holds=tuple(
                HeldDocument(
                    hold,
                    tuple(ApprovalDocument.of(each, now) for each in _of(hold, report)) if now else (),
                    approve_command(hold.hash, report.flags),
                )
                for hold in chosen
            ),
            errors=report.errors,
        )
