"""Ring of the last passes: what each came to, what triggered it, and what it took. Bounded, whatever the passes do."""

import threading
from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime

from msgspec import UNSET, Struct
from msgspec.structs import replace

from actuators.outcome import Outcome
from reconciler.report.documents import OutcomeDocument
from reconciler.result import Report, Requests, Result, summary

PASSES = 200
OUTCOMES = 500
"""Of all passes together: those of the oldest ones are only counted."""
_LONGEST = 300
"""Characters of a key or a sentence that are kept."""


class PassedChange(Struct, frozen=True):
    """How one change of a pass ended."""

    key: str
    kind: str
    state: str
    """``applied``, ``pending``, ``skipped`` or ``failed``."""
    why: str = ""


class PassRecord(Struct, frozen=True):
    """One pass."""

    number: int
    """From 1, since the process began."""
    taken_at: datetime | None
    """By the API server's clock; None when it could not be read."""
    result: Result
    trigger: str
    """What called for it; "" when it was its time."""
    seconds: float
    requests: Requests
    """Of this pass alone."""
    counts: Mapping[str, int]
    """As in a report's summary."""
    outcomes: tuple[PassedChange, ...] = ()
    left_out: int = 0
    """How many outcomes more there were."""

    @property
    def changes(self) -> int:
        """How many changes its report has."""
        return sum(self.counts[verb] for verb in ("add", "modify", "remove"))

    @property
    def sent(self) -> int:
        """How many requests it sent."""
        return self.requests.kubernetes + self.requests.hetzner + (self.requests.robot or 0)

    @property
    def tried(self) -> int:
        """How many changes it tried to make."""
        return len(self.outcomes) + self.left_out


class Ring:
    """The last 200 passes, with up to 500 outcomes of the latest. One thread adds, any reads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._passes: deque[PassRecord] = deque(maxlen=PASSES)
        self._count = 0

    def add(self, report: Report, seconds: float, trigger: str = "") -> None:
        """A pass has ended; ``report`` has the requests of this pass alone."""
        tried = [line for line in report.lines if line.outcome is not None]
        told = tuple(
            _told(line.change.key, line.change.kind, line.outcome) for line in tried[:OUTCOMES] if line.outcome
        )
        with self._lock:
            self._count += 1
            self._passes.append(
                PassRecord(
                    number=self._count,
                    taken_at=report.snapshot.taken_at if report.snapshot else None,
                    result=report.result,
                    trigger=trigger[:_LONGEST],
                    seconds=seconds,
                    requests=report.requests,
                    counts=dict(summary(report)),
                    outcomes=told,
                    left_out=len(tried) - len(told),
                )
            )
            kept = tuple(_within_bounds(reversed(self._passes)))
            self._passes.clear()
            self._passes.extend(reversed(kept))

    @property
    def last(self) -> tuple[PassRecord, ...]:
        """The passes, the latest first."""
        with self._lock:
            return tuple(reversed(self._passes))


def _within_bounds(latest_first: Iterable[PassRecord]) -> Iterator[PassRecord]:
    """The passes, of which the oldest lose their outcomes where there are too many."""
    room = OUTCOMES
    for record in latest_first:
        kept = record.outcomes[:room]
        room -= len(kept)
        lost = len(record.outcomes) - len(kept)
        yield replace(record, outcomes=kept, left_out=record.left_out + lost) if lost else record


def _told(key: str, kind: str, outcome: Outcome) -> PassedChange:
    said = OutcomeDocument.of(outcome)
    why = "" if said.why is UNSET else said.why
    return PassedChange(str(key)[:_LONGEST], kind, said.state, why[:_LONGEST])
