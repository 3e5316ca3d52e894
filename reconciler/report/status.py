"""Status of the controller in a few lines: who leads, and what its last pass came to."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta

from desired.model.clocks import parse_moment
from desired.syntax.bounds import counted
from reconciler.config.program import program_name
from reconciler.report.documents import Versioned
from reconciler.report.holds import ago, origin
from reconciler.report.published import RENEWED, PublishedHold, PublishedPass, PublishedStatus
from reconciler.report.text import TextLine, Tone, with_moments
from reconciler.result import Result

_LATE = RENEWED + timedelta(minutes=10)
"""After this a controller that runs has written again, unless its interval is longer."""


@dataclass(frozen=True, slots=True)
class StatusReport:
    """What is known of the controller."""

    now: datetime | None = None
    """The API server's clock; None when nothing could be read."""
    published: PublishedStatus | None = None
    lease: str = ""
    """The Lease's namespace and name."""
    leader: str | None = None
    """Who holds the Lease, "" when none does; None when that is not known."""
    renewed: str = ""
    """When it was renewed, in its holder's words."""
    errors: tuple[str, ...] = ()

    def lines(self) -> Iterator[TextLine]:
        """The text."""
        return with_moments(_lines(self), self.now)

    def document(self) -> "StatusDocument":
        """The JSON."""
        return StatusDocument.of(self)

    @property
    def is_late(self) -> bool:
        """Whether it should have been published again by now."""
        return self.published is not None and self.now is not None and self.now - self.published.written_at > _LATE

    @property
    def code(self) -> int:
        """0 when the last pass went well, 3 when a guard stands in its way, 1 when it went wrong or nothing recent is
        known of it."""
        if self.published is None or self.errors or self.is_late:
            return 1
        last = self.published.last_pass
        if not last.is_whole:
            return 1
        return 3 if last.result == Result.REFUSED or self.published.holds else 0


def _lines(report: StatusReport) -> Iterator[TextLine]:
    status, now = report.published, report.now
    if now is None:
        return
    if report.leader is not None:
        renewed = _renewed(report.renewed, now)
        yield TextLine(f"Leader:    {report.leader or 'none'}, by Lease {report.lease}{renewed}")
    if status is None:
        return
    late = ": too long ago for a controller that runs" if report.is_late else ""
    yield TextLine(f"Published: {origin(status, now)}{late}", Tone.WARNING if late else Tone.PLAIN)
    last = status.last_pass
    took = f", took {last.seconds:g} s" if last.seconds is not None else ""
    tone = Tone.BAD if not last.is_whole else Tone.WARNING if report.code else Tone.GOOD
    yield TextLine(f"Last pass: {last.result}, {ago(last.at, now)}{took}", tone)
    for error in last.errors:
        yield TextLine(f"  error: {error}", Tone.BAD)
    counts = [f"{count} {word}" for word, count in last.counts.items() if count]
    need = f"; {counted(last.in_need, 'object')} in need of a person" if last.in_need else ""
    yield TextLine(f"Changes:   {', '.join(counts) or 'none'}{need}", Tone.WARNING if need else Tone.PLAIN)
    held = len(status.holds) + status.more_holds
    look = f": {program_name()} holds" if held else ""
    yield TextLine(f"Held:      {counted(held, 'hold') if held else 'nothing'}{look}", Tone.BAD if held else Tone.PLAIN)
    if last.requests_left is not None:
        yield TextLine(f"Requests:  {last.requests_left} of {last.requests_limit} left", Tone.DETAIL)


def _renewed(text: str, now: datetime) -> str:
    """When the Lease was renewed; what its holder wrote where that is no time, and nothing where there is none."""
    try:
        return f", renewed {ago(parse_moment(text), now)}" if text else ""
    except (ValueError, OverflowError):
        return f", renewed at {text}"


class StatusDocument(Versioned, frozen=True, kw_only=True):
    """What ``reconcile status`` writes as JSON."""

    taken_at: datetime | None
    """The API server's clock; None when it could not be read."""
    leader: str | None
    """Who holds the Lease, "" when none does; None when that is not known."""
    renewed: str | None
    by: str | None
    """Who published the rest; None when it was not published."""
    written_at: datetime | None
    last_pass: PublishedPass | None
    holds: tuple[PublishedHold, ...]
    errors: tuple[str, ...]

    @classmethod
    def of(cls, report: StatusReport) -> "StatusDocument":
        """All that is known."""
        status = report.published
        return cls(
            taken_at=report.now,
            leader=report.leader,
            renewed=report.renewed or None,
            by=status.by if status else None,
            written_at=status.written_at if status else None,
            last_pass=status.last_pass if status else None,
            holds=status.holds if status else (),
            errors=report.errors,
        )
