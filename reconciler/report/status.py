"""Status of the controller in a few lines: who leads, and what its last pass came to."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta

from desired.health.state import Level, ServiceState
from desired.model.clocks import parse_moment, shown_moment
from desired.plan.change import shown_seconds
from desired.syntax.bounds import counted
from reconciler.config.program import typed
from reconciler.report.documents import Versioned
from reconciler.report.folding import alike, names
from reconciler.report.holds import end_lines, origin
from reconciler.report.published import (
    RENEWED,
    PublishedHold,
    PublishedPass,
    PublishedReplacement,
    PublishedStates,
    PublishedStatus,
    recent,
)
from reconciler.report.text import LEVELS, TextLine, Tone, visible_lines
from reconciler.report.view import told_state
from reconciler.result import UPDATE_DNS, Result

_GONE = 3
"""After so many durations without a renewal a leader is gone: another one would have taken over after one."""
_LATE = RENEWED + timedelta(minutes=10)
"""After this a controller that runs has written again, unless its passes are further apart."""
_NOT_RENEWED = "no pass has renewed it since; the controller does not run, or its passes are far apart"


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
    duration_s: int | None = None
    """For how long the Lease is held without being renewed; None when it does not say."""
    has_renewed: bool = False
    """Whether the Lease was renewed between two looks, whatever clock that is by."""
    errors: tuple[str, ...] = ()
    flags: str = ""
    """With which other commands reach the same cluster."""

    def lines(self) -> Iterator[TextLine]:
        """The text."""
        return visible_lines(_lines(self))

    def document(self) -> "StatusDocument":
        """The JSON."""
        return StatusDocument.of(self)

    @property
    def is_late(self) -> bool:
        """Whether it should have been published again by now."""
        return self.published is not None and self.now is not None and self.now - self.published.written_at > _LATE

    @property
    def is_gone(self) -> bool:
        """Whether the leader has not renewed its Lease for three of its durations: it does not run, and no other has
        taken over. One that was seen to renew it has another clock."""
        if self.now is None or not self.leader or self.duration_s is None or self.has_renewed:
            return False
        try:
            return self.now - parse_moment(self.renewed) > _GONE * timedelta(seconds=self.duration_s)
        except (ValueError, OverflowError):
            return False

    @property
    def code(self) -> int:
        """0 when the last pass went well, 3 when it was blocked or the leader is gone, 1 when the pass went wrong or
        nothing recent is known of it."""
        if self.is_gone and not self.errors:
            return 3
        if self.published is None or self.errors or self.is_late:
            return 1
        last = self.published.last_pass
        if not last.is_whole:
            return 1
        return 3 if last.result == Result.BLOCKED else 0


def _lines(report: StatusReport) -> Iterator[TextLine]:
    status, now = report.published, report.now
    if now is None:
        return
    if report.leader is not None:
        renewed, tone = _renewed(report.renewed, now), Tone.BAD if report.is_gone else Tone.PLAIN
        namespace = report.lease.partition("/")[0]
        pods = f"kubectl -n {namespace} get pods -l app.kubernetes.io/name=hcloud-reconciler"
        gone = f": it does not run, and no other has taken over; see {pods}" if report.is_gone else ""
        clock = ", by its own clock, and renews it still" if report.has_renewed else ""
        yield TextLine(f"Leader:    {report.leader or 'none'} (Lease {report.lease}){renewed}{clock}{gone}", tone)
    if status is None:
        return
    late = f": {_NOT_RENEWED}" if report.is_late else ""
    yield TextLine(f"Published: {origin(status, now)}{late}", Tone.WARNING if late else Tone.PLAIN)
    last = status.last_pass
    took = f", took {last.seconds:g} s" if last.seconds is not None else ""
    tone = Tone.BAD if not last.is_whole else Tone.WARNING if report.code else Tone.GOOD
    yield TextLine(f"Result:    {last.result}{took}", tone)  # of the published pass: those after it had no news
    for error in last.errors:
        yield TextLine(f"  error: {error}", Tone.BAD)
    for gap in last.gaps:
        yield TextLine(f"  {gap}", Tone.WARNING)
    yield from _states(last.states)
    counts = [f"{count} {word}" for word, count in last.counts.items() if count]
    need = f"; {counted(last.in_need, 'object')} in need of a person" if last.in_need else ""
    yield TextLine(f"Changes:   {', '.join(counts) or 'none'}{need}", Tone.WARNING if need else Tone.PLAIN)
    held = len(status.holds) + status.more_holds
    look = f": {typed('holds', report.flags)}" if held else ""
    yield TextLine(f"Held:      {counted(held, 'hold') if held else 'nothing'}{look}", Tone.BAD if held else Tone.PLAIN)
    for hold in status.holds:
        since = f"{counted(hold.count, 'change')}, since {shown_moment(hold.since)}"
        yield TextLine(f"  ! {hold.rule}: {hold.why}; {since}", Tone.BAD)
        yield from end_lines(hold, now, "      ")
    for each in recent(status.replaced, now):
        moved = (
            f"{each.key} has {', '.join(each.after)} since {shown_moment(each.at)}, and had {', '.join(each.before)}"
        )
        yield TextLine(f"Replaced:  {moved}: {UPDATE_DNS}", Tone.WARNING)
    if last.requests_left is not None:
        yield TextLine(f"Requests:  {last.requests_left} of {last.requests_limit} left", Tone.DETAIL)


def _states(states: PublishedStates) -> Iterator[TextLine]:
    """How many Services and Nodes are in which state, and those that are not well."""
    for word, found in (("Services:", states.services), ("Nodes:", states.nodes)):
        if found:
            told = ", ".join(f"{count} {state.replace('_', ' ')}" for state, count in found.items())
            yield TextLine(f"{word:<11}{told}")
    for group in alike(states.unwell, lambda each: (each.state, each.why, each.also)):
        first = group[0]
        mark, tone = LEVELS[Level.BAD if first.state == ServiceState.DOWN else Level.WARNING]
        told = told_state(first.state.replace("_", " "), first.since, first.why)
        yield TextLine(f"  {mark} {names(each.key for each in group)}  {told}", tone)
        yield from (TextLine(f"      also: {other}", tone) for other in first.also)


def _renewed(text: str, now: datetime) -> str:
    """When the Lease was renewed; what its holder wrote where that is no time, and nothing where there is none."""
    try:
        return f", renewed {shown_seconds(max(0.0, (now - parse_moment(text)).total_seconds()))} ago" if text else ""
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
    replaced: tuple[PublishedReplacement, ...]
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
            replaced=status.replaced if status else (),
            errors=report.errors,
        )
