"""History of a process: changes that failed, changes that were made and undone, what Hetzner refuses, and the most
targets, Nodes and routes of the last hour.

A restart forgets it, and begins with a fresh attempt at each change. What follows from it for a change is decided in
``desired.guards.history``, and from the most of the last hour in the guards on losses.
"""

import random
import time
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime

from actuators.outcome import NOT_SEEN, Applied, Failed, Skipped
from desired.guards.guard import GuardInput
from desired.guards.history import mark_in, narrow_scope_of, scope_of
from desired.guards.peaks import Peak, headcounts, peaks_after
from desired.model.snapshot import Snapshot
from desired.plan.change import Change, GuardName
from desired.plan.setbacks import OF_NODES, OF_ROUTES, SUSPENDED_S, WINDOW_S, Bar, Scope, Setbacks, Suspension
from reconciler.result import Line, Report, is_incomplete

FIRST_RETRY_S = 1.0
LONGEST_RETRY_S = 60.0
JITTER = 0.1
"""Share by which a wait is shortened at random, so that what failed together is not tried together for ever."""
TOGETHER = 0.2
"""Share of a wait by which it may end early, when there is a pass anyhow: more than the jitter, so that a hundred
failures cost a pass a minute, and not a hundred."""
MOST_UNDONE = 3
LAG_S = 30.0
"""How long a list may still lack a change that was made."""
MOST_TRAILS = 10_000
"""Maximum number of changes that are remembered; those are forgotten first of which nothing was heard for longest."""
_MOST_DOUBLINGS = 10


@dataclass(slots=True)
class _Trail:
    """The history of one change. Moments are those of the injected clock, in seconds."""

    mark: str
    heard_at: float
    failures: int = 0
    last: Failed | None = None
    retry_at: float = 0.0
    early_at: float = 0.0
    """From when on another try is worth its while in a pass that begins for something else."""
    applied: int = 0
    """How often it was done since it was last seen to be undone; done again before it was seen done counts each
    time, until it is seen."""
    unseen_since: float | None = None
    """When it was done last, as long as no pass has seen it done: readers may lag behind."""
    undone: list[tuple[float, datetime | None]] = field(default_factory=list)
    """When it was seen to be undone, by the injected clock and, where it had been seen done, by the API server's."""
    suspended_until: float = 0.0
    since: datetime | None = None
    """When it was first seen to be undone, before it was suspended."""

    def may_lag(self, now: float) -> bool:
        """Whether the change may be planned only because it is not yet seen that it was done."""
        return self.unseen_since is not None and now - self.unseen_since < LAG_S

    def lately(self, now: float) -> list[tuple[float, datetime | None]]:
        """When it was seen to be undone, as far as that counts at ``now``."""
        return [undone for undone in self.undone if now - undone[0] <= WINDOW_S]

    def is_enough(self, now: float) -> bool:
        """Whether it was done as often as may be, if all of that was undone."""
        return self.applied > 0 and len(self.lately(now)) + self.applied >= MOST_UNDONE

    def seen(self) -> None:
        """It was seen to be done: had it been done several times before, the list has lagged behind."""
        if self.unseen_since is not None:
            self.unseen_since, self.retry_at = None, 0.0
        self.applied = min(self.applied, 1)

    def undone_at(self, now: float, taken_at: datetime | None) -> None:
        """It was seen to be undone, ``taken_at`` by the API server's clock if that is known."""
        self.undone = [*self.lately(now), *[(now, taken_at)] * self.applied]
        self.applied = 0
        if len(self.undone) >= MOST_UNDONE:
            self.since, self.undone = self.undone[0][1], []
            self.suspended_until = now + SUSPENDED_S

    def suspension(self, now: float) -> Suspension | None:
        """The reason why it is not tried now; None when it may be."""
        if self.suspended_until > now:
            return Suspension(GuardName.FLAPPING, self.mark, self.suspended_until - now, MOST_UNDONE, self.since)
        if self.is_enough(now):
            if self.may_lag(now):  # it waits until no list can lag behind any more
                due_in_s, error = self.retry_at - now, NOT_SEEN.why
                return Suspension(GuardName.BACK_OFF, self.mark, due_in_s, self.applied, is_unseen=True, error=error)
            first = next(iter(self.lately(now)), (now, None))
            return Suspension(GuardName.FLAPPING, self.mark, SUSPENDED_S, MOST_UNDONE, first[1])
        if self.early_at > now and self.last is not None:
            error, retry_after_s = self.last.error, self.last.retry_after_s
            due_in_s, times = self.retry_at - now, self.failures
            return Suspension(GuardName.BACK_OFF, self.mark, due_in_s, times, error=error, retry_after_s=retry_after_s)
        return None


@dataclass(slots=True)
class _Refusal:
    """The history of a scope of changes that Hetzner refuses."""

    error: str
    retry_at: float
    turns: dict[str, int] = field(default_factory=dict)
    """Key of each change that waits → when it had its turn, or joined the others."""


class History:
    """The history of a process' passes. Read at the beginning of each, and updated at the end: by a loop with the
    report."""

    def __init__(
        self,
        clock: Callable[[], float] = time.monotonic,
        draw: Callable[[], float] = random.random,
        most: int = MOST_TRAILS,
        interval_s: float = LONGEST_RETRY_S,
    ) -> None:
        """``clock`` gives seconds and never goes back, ``draw`` numbers evenly from 0 to 1. ``interval_s`` is that of
        the passes: of what Hetzner refuses one is tried so often, and not more than once a minute."""
        self._clock = clock
        self._draw = draw
        self._most = most
        self._trails: dict[str, _Trail] = {}
        self._asked_at: float | None = None
        self._interval_s = max(interval_s, LONGEST_RETRY_S)
        self._refusals: dict[str, _Refusal] = {}
        self._turn = 0
        self._is_freed = False
        self._peaks: Mapping[Scope, Peak] = {}

    def __len__(self) -> int:
        return len(self._trails)

    def setbacks(self) -> Setbacks:
        """What is held against changes in the pass that begins now. They apply only to a change
        of the same key that leads to the same value.

        A change that was undone twice is suspended although it may never be undone again: if it is planned, that is the
        third time. A pass that comes a little early, as its interval is drawn, is not too early for what was refused.
        """
        now = self._asked_at = self._clock()
        self._forget(now)
        found = {key: trail.suspension(now) for key, trail in self._trails.items()}
        early_s = JITTER * self._interval_s
        self._is_freed = False
        bars = {
            scope: Bar(
                found.error, max(0.0, found.retry_at - early_s - now), self._interval_s - early_s, dict(found.turns)
            )
            for scope, found in self._refusals.items()
        }
        suspensions = {key: suspension for key, suspension in found.items() if suspension is not None}
        return Setbacks(suspensions=suspensions, bars=bars)

    def with_peaks(self, facts: GuardInput) -> GuardInput:
        """``facts`` with the most members that each population had within the last hour, these among them."""
        snapshot = facts.snapshot
        self._peaks = peaks_after(self._peaks, headcounts(facts), snapshot.taken_at, ages=not snapshot.clocks.differ)
        peaks = {scope: peak.members for scope, peak in self._peaks.items()}
        return replace(facts, setbacks=replace(facts.setbacks, peaks=peaks))

    def let_go(self, approved: Mapping[GuardName, Collection[Change]]) -> None:
        """The hour begins anew of what a person let go: rule → the changes of its approved holds that were made."""
        others = ((GuardName.NODE_BLAST_RADIUS, OF_NODES), (GuardName.ROUTE_BLAST_RADIUS, OF_ROUTES))
        gone: set[object] = {of for rule, of in others if approved.get(rule)}
        gone |= {change.cloud_id for change in approved.get(GuardName.TARGET_FLOOR, ()) if change.cloud_id}
        self._peaks = {scope: peak for scope, peak in self._peaks.items() if scope[0] not in gone}

    def note(self, report: Report) -> tuple[Change, ...]:
        """Learn from a pass that has ended. Returned are changes that are suspended from now on: each once, however
        many passes go on to find it so.

        Only what was tried and refused counts as failed, a lost answer included; what gives way, was overtaken or has
        to wait is no failure. Applied, seen to be done, and planned again is undone; so is what was not seen done
        for longer than readers lag, each time that it was applied.
        """
        now = self._clock()
        seen_at = now if self._asked_at is None else self._asked_at
        self._note_refusals(report, now)
        if report.snapshot is not None and not report.obstacles and not is_incomplete(report):
            named = {line.change.key for line in report.lines}
            for key, trail in self._trails.items():
                if key not in named:  # not planned any more: it was seen to be done
                    trail.seen()
        suspended = tuple(line.change for line in report.lines if self._learn(line, report.snapshot, now, seen_at))
        for key in list(self._trails)[: max(0, len(self._trails) - self._most)]:
            del self._trails[key]
        return suspended

    def due_in_s(self) -> float | None:
        """Seconds until the first of what failed is worth another try; None when nothing failed lately. 0
        when Hetzner accepts a refused kind again."""
        if self._is_freed:
            return 0.0
        now = self._clock()
        return min((trail.retry_at - now for trail in self._trails.values() if trail.retry_at > now), default=None)

    def _note_refusals(self, report: Report, now: float) -> None:
        """Learn what Hetzner refuses whatever the object is, and what it accepts again.

        A change that was not sent for another reason has had its turn: one that is held keeps no other one waiting.
        """
        waiting: dict[str, list[Line]] = {}
        for line in report.lines:
            for scope in {scope_of(line.change), narrow_scope_of(line.change)}:
                waiting.setdefault(scope, []).append(line)
        for scope, lines in waiting.items():
            outcomes = [line.outcome for line in lines]
            errors = [each.error for each in outcomes if isinstance(each, Failed) and each.bars == scope]
            if errors:
                found = self._refusals.setdefault(scope, _Refusal(errors[-1], now))
                found.error, found.retry_at = errors[-1], now + self._interval_s
            elif any(isinstance(each, Applied) for each in outcomes):
                self._is_freed |= self._refusals.pop(scope, None) is not None and len(lines) > 1
            if scope in self._refusals:
                self._turn += 1
                before, had = self._refusals[scope].turns, {line.change.key: _had_its_turn(line) for line in lines}
                self._refusals[scope].turns = {
                    key: self._turn if has_had else before.get(key, self._turn) for key, has_had in had.items()
                }
        if report.snapshot is not None and not report.obstacles and not is_incomplete(report):
            self._refusals = {scope: found for scope, found in self._refusals.items() if scope in waiting}

    def _learn(self, line: Line, snapshot: Snapshot | None, now: float, seen_at: float) -> bool:
        """Whether the change is suspended from now on."""
        change, outcome = line.change, line.outcome
        was_applied = isinstance(outcome, Applied) or outcome == NOT_SEEN
        was_refused = isinstance(outcome, Failed) and not outcome.bars
        was_tried = was_applied or was_refused
        trail = self._trails.pop(change.key, None)
        if trail is None and not was_tried:
            return False
        mark = mark_in(change, snapshot)
        if trail is None or trail.mark != mark:
            if not was_tried:
                return False
            trail = _Trail(mark, now)
        was_suspended = trail.suspended_until
        if trail.applied and not trail.may_lag(seen_at):
            trail.undone_at(seen_at, snapshot.taken_at if snapshot and trail.unseen_since is None else None)
        if was_applied:
            trail.applied += 1
            trail.failures, trail.last = 0, None
            trail.retry_at = trail.early_at = 0.0
            trail.unseen_since = now
            if isinstance(outcome, Applied):
                trail.seen()
            elif trail.is_enough(now):
                trail.retry_at = now + LAG_S
        if isinstance(outcome, Failed) and was_refused:
            trail.failures += 1
            trail.last = outcome
            wait_s = self._wait_s(trail.failures, outcome)
            trail.retry_at = now + wait_s
            trail.early_at = now + max(wait_s * (1 - TOGETHER), outcome.retry_after_s or 0.0)
        trail.heard_at = now
        self._trails[change.key] = trail
        return trail.suspended_until > was_suspended

    def _wait_s(self, failures: int, outcome: Failed) -> float:
        """1 s, doubled with each failure in a row up to a minute and shortened a little, or what was asked for."""
        wait_s = min(LONGEST_RETRY_S, FIRST_RETRY_S * 2.0 ** min(failures - 1, _MOST_DOUBLINGS))
        return max(wait_s * (1 - JITTER * self._draw()), outcome.retry_after_s or 0.0)

    def _forget(self, now: float) -> None:
        self._trails = {
            key: trail
            for key, trail in self._trails.items()
            if max(trail.heard_at + WINDOW_S, trail.retry_at, trail.suspended_until) > now
        }
        # Each try renews it. Where none was sent for an hour, all may wait for a move that waits for them.
        self._refusals = {scope: each for scope, each in self._refusals.items() if each.retry_at + SUSPENDED_S > now}


def _had_its_turn(line: Line) -> bool:
    """Whether the change was sent, or could have been but for another rule."""
    if line.outcome is None:
        return line.change.decision.rule != GuardName.QUOTA
    return not isinstance(line.outcome, Skipped)
