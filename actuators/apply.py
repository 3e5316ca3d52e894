"""Application of the allowed changes of a plan: in parallel, unless they share an object or depend on each other.

A change begins when everything that it depends on or follows has ended, and so has what is before it in its locks. A
failure stays with its change and what depends on it, and so does a change that does not end: a pass gives way without
it (``lanes``), and a network is not held by it.
"""

import logging
import threading
from collections import deque
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from actuators.http.connection import tracing
from actuators.http.errors import (
    ApiError,
    Busy,
    Conflict,
    Denied,
    Exhausted,
    Outdated,
    Stopped,
    Throttled,
    Transient,
    forget_frames,
)
from actuators.lanes import BRIEF_S, STUCK_S, Lane, UnderWay
from actuators.outcome import GOES_ON, OVERTAKEN, PREEMPTED, STOPPED, Applied, Failed, Outcome, Pending, Skipped
from desired.guards.history import narrow_scope_of, scope_of
from desired.model.snapshot import Snapshot
from desired.plan.change import Change
from desired.plan.kinds import Api, Verb
from desired.plan.ordering import not_preemptible, predecessors
from desired.rules.filters import BLOCKED

if TYPE_CHECKING:
    from queue import SimpleQueue

_log = logging.getLogger("hcloud-reconciler.apply")

Actuator = Callable[[Change, Snapshot], None]
"""Carries out one change of one kind, planned from that snapshot. Raises an ApiError when it could not."""

PARALLEL_CHANGES: Mapping[Api, int] = {Api.KUBERNETES: 16, Api.HETZNER: 24}
"""Maximum number of changes at the same time to each API: enough to hide the latency of a hundred joining Nodes, few
enough for a small API server. Each API has its own threads, so that no Node waits for load balancers. Changes at
Hetzner mostly wait for actions, and a project's quota of load balancers keeps no more threads busy."""

BUSY_AGAIN_S = 10.0
"""When to try an object again that stayed busy through all attempts: whatever runs on it takes longer than usual (about
10 s for an attachment to a network), and the next pass of the same chain would find it busy still."""
LISTED_AGAIN_S = 5.0
"""When a new list tells of what has gone: passes of a chain go by the servers that the first one listed."""

_HIGHER_LIMIT = "ask Hetzner for a higher limit"


@dataclass(frozen=True, slots=True)
class Pressure:
    """What may make a pass end before all of its changes have."""

    under_way: UnderWay = field(default_factory=UnderWay)
    """Has what earlier passes have left, and takes what this one leaves."""
    is_called: Callable[[], bool] = lambda: False
    """Whether something has come up meanwhile that another pass should see."""
    is_awaited: bool = False
    """Whether only another pass of the chain can carry out some changes."""
    bound: Collection[str] = ()
    """Keys of changes that do not give way: a person approved them together."""


def apply(
    changes: Sequence[Change],
    snapshot: Snapshot,
    actuators: Mapping[str, Actuator],
    *,
    stop: threading.Event,
    done: Callable[[Change, Outcome], None] = lambda _change, _outcome: None,
    pressure: Pressure | None = None,
    barred: Mapping[str, str] | None = None,
) -> Mapping[str, Outcome]:
    """Carry out the changes and return the outcome of each by its key. ``done`` is called from this thread as each one
    ends, or is left.

    ``stop`` is checked between changes: what has not begun by then is Skipped. ``barred`` has the scopes that Hetzner
    has refused before, and with what: of these, and of those that it refuses meanwhile, nothing more is begun. A change
    that finds its object busy keeps the rest of that object's from being tried.

    Under ``pressure`` a series of preemptible changes stops, but never before its first. When a pass is called for,
    nothing more is begun at Hetzner, and what goes on there is left unless it is brief; when the next one of the chain
    is awaited, what is stuck is left. What was left goes on, and its object is changed by nothing else until it ends:
    what is planned for that is OVERTAKEN then.

    Raises KeyError for a kind without an actuator, and ValueError for changes that wait for each other in a circle,
    before anything is written: the plan and the actuators do not fit together.
    """
    for change in changes:
        actuators[change.kind]
    return _Round(changes, pressure or Pressure(), stop, done).carry_out(snapshot, actuators, dict(barred or {}))


class _Round:
    """The lanes of some changes: what each waits for, and how it ended."""

    def __init__(
        self,
        changes: Sequence[Change],
        pressure: Pressure,
        stop: threading.Event,
        done: Callable[[Change, Outcome], None],
    ) -> None:
        self._pressure, self._stop, self._done = pressure, stop, done
        self._left = frozenset(pressure.under_way.left)
        self._outcomes: dict[str, Outcome] = {}
        self._in_flight: set[Lane] = set()
        self._busy: dict[str, Pending] = {}
        """Lock → the outcome of a change that found it taken."""
        self._pressing = set(not_preemptible(changes))
        self._has_begun = False
        """A preemptible change: each call gets a step on with them, however often it is woken."""
        self._has_done = self._is_leaving = False
        self._moved_at = pressure.under_way.clock()
        """When a change has ended last."""
        self._stale: set[Lane] = set()
        """Those of objects on which something goes on that was left."""
        self._waits: dict[Lane, set[Lane]] = {}
        self._followers: dict[Lane, list[Lane]] = {}
        self._arrange(changes)
        self._ready = deque(lane for lane, before in self._waits.items() if not before)

    def _arrange(self, changes: Sequence[Change]) -> None:
        lanes: dict[str, Lane] = {change.key: Lane.of(change) for change in changes}
        holders: dict[str, list[Lane]] = {}
        for lane in self._left:
            for lock in lane.locks | {lane.change.key}:
                holders.setdefault(lock, []).append(lane)
        for key, before in predecessors(changes).items():
            lane = lanes[key]
            held = {other for lock in lane.locks | {lane.change.key} for other in holders.get(lock, ())}
            if any(lane.shares_object(other) for other in held):
                self._stale.add(lane)
            self._waits[lane] = held.union(lanes[each] for each in before)
            for other in self._waits[lane]:
                self._followers.setdefault(other, []).append(lane)

    def carry_out(
        self, snapshot: Snapshot, actuators: Mapping[str, Actuator], refused: dict[str, str]
    ) -> Mapping[str, Outcome]:
        """Begin each change when nothing is before it any more, until all have ended or are left. ``refused`` is
        written by several threads, a key at a time."""
        under_way = self._pressure.under_way
        concurrency = under_way.concurrency
        under_way.begin_writes()
        ended: SimpleQueue[Lane] = concurrency.queue()
        for lane in self._left:
            _watch(lane, ended)
        workers = {api: concurrency.pool(PARALLEL_CHANGES[api], f"apply-{api}") for api in Api}
        try:
            while self._waits:
                while self._ready:
                    lane = self._ready.popleft()
                    outcome = self._why_not(lane)
                    if outcome is not None:
                        self._end(lane, outcome)
                        continue
                    api = Api.HETZNER if lane.change.row.writes_cloud else Api.KUBERNETES
                    actuator = actuators[lane.change.kind]
                    lane.began = under_way.clock()
                    lane.future = workers[api].submit(
                        _attempt, lane, under_way.clock, snapshot, actuator, self._stop, refused
                    )
                    self._in_flight.add(lane)
                    _watch(lane, ended)
                found = under_way.take(ended) if self._waits else None
                if found is not None:
                    self._heed(found)
                self._free_networks()
                self._give_way()
        finally:
            for pool in workers.values():
                pool.shutdown(wait=False)
        return self._outcomes

    def _why_not(self, lane: Lane) -> Outcome | None:
        """The outcome of a change that is not begun although nothing is before it; None when it is to begin."""
        change = lane.change
        if self._stop.is_set():
            return Skipped(STOPPED)
        missing = _missing(change, self._outcomes)
        if missing is not None or lane in self._stale:
            return missing or OVERTAKEN
        if not change.row.writes_cloud:
            return None
        met = next((self._busy[lock] for lock in sorted(lane.locks & self._busy.keys())), None)
        if met is not None:
            return met
        return PREEMPTED if self._yields(change) else None

    def _yields(self, change: Change) -> bool:
        """Whether a change at Hetzner gives way."""
        if change.key in self._pressure.bound:
            return False
        if self._is_leaving:
            return True
        if not change.row.is_preemptible:
            return False
        has_begun, self._has_begun = self._has_begun, True
        # A new load balancer may have got the address to which a dead route leads: then it would not be ours any more.
        is_last = not self._pressing and self._pressure.is_awaited and change.verb is not Verb.REMOVE
        return has_begun and (is_last or self._pressure.is_called())

    def _heed(self, lane: Lane) -> None:
        """Something has ended: one of these changes, or what an earlier pass has left."""
        self._moved_at = self._pressure.under_way.clock()
        if lane in self._left:
            self._free(self._followers.get(lane, ()), lane)
        elif lane in self._in_flight and lane.future is not None:
            outcome = lane.future.result()
            if isinstance(outcome, Pending) and outcome.is_busy:
                self._busy |= dict.fromkeys(lane.taken, outcome)
            self._end(lane, outcome)

    def _end(self, lane: Lane, outcome: Outcome) -> None:
        change = lane.change
        self._outcomes[change.key] = outcome
        self._has_done = self._has_done or isinstance(outcome, Applied)
        self._waits.pop(lane)
        self._in_flight.discard(lane)
        self._pressing.discard(change.key)
        self._free(self._followers.get(lane, ()), lane)
        self._done(change, outcome)

    def _free(self, followers: Collection[Lane], lane: Lane) -> None:
        """``lane`` is before these no longer."""
        for follower in followers:
            before = self._waits.get(follower, set())
            if lane in before:
                before.remove(lane)
                if not before:
                    self._ready.append(follower)

    def _free_networks(self) -> None:
        """Let no change wait for a network because of one that is stuck; nor, while one is, because of one that Hetzner
        has accepted: then the network is not what is locked."""
        now = self._pressure.under_way.clock()
        going = [lane for lane in (*self._left, *self._in_flight) if lane.networks]
        stuck = frozenset().union(*(lane.networks for lane in going if lane.is_stuck(now)))
        for lane in going:
            if lane.is_stuck(now) or (lane.trace.actions and lane.networks & stuck):
                self._free([each for each in self._followers.get(lane, ()) if not each.comes_after(lane)], lane)

    def _give_way(self) -> None:
        """Leave what goes on when another pass is called for, or the next of the chain is awaited."""
        pressure, now = self._pressure, self._pressure.under_way.clock()
        if self._ready or self._stop.is_set() or not pressure.under_way.may_leave:
            return
        if not self._is_leaving and pressure.is_called() and pressure.under_way.has_worked():
            self._is_leaving = True
            queued = [each for each in self._in_flight if each.change.row.writes_cloud and not self._is_bound(each)]
            for lane in queued:
                self._abandon(lane)
            if self._ready:
                return
        least_s = BRIEF_S if self._is_leaving else STUCK_S
        may_leave = self._is_leaving or (pressure.is_awaited and self._has_done)
        if not may_leave or any(lane.age_s(now) < least_s for lane in self._in_flight):
            return
        if any(map(self._is_bound, self._waits.keys() - self._in_flight)) and (
            not self._is_leaving or now - self._moved_at < STUCK_S
        ):
            return
        for lane in tuple(self._in_flight):
            if not self._abandon(lane):
                pressure.under_way.left.append(lane)
                self._end(lane, GOES_ON)
        for lane in tuple(self._waits):
            self._end(lane, _missing(lane.change, self._outcomes) or PREEMPTED)

    def _is_bound(self, lane: Lane) -> bool:
        return lane.change.key in self._pressure.bound

    def _abandon(self, lane: Lane) -> bool:
        """Whether the change has not begun, and does not any more."""
        is_queued = lane.future is not None and lane.future.cancel()
        if is_queued:
            self._end(lane, PREEMPTED)
        return is_queued


def _watch(lane: Lane, ended: "SimpleQueue[Lane]") -> None:
    if lane.future is not None:
        lane.future.add_done_callback(lambda _future: ended.put(lane))


def _missing(change: Change, outcomes: Mapping[str, Outcome]) -> Outcome | None:
    """The outcome of a change that is not tried because one that it depends on was not done. None when all were."""
    undone = [key for key in change.depends_on if not isinstance(outcomes.get(key, Applied()), Applied)]
    return Skipped(BLOCKED.text(change=undone[0], state="not applied")) if undone else None


def _attempt(
    lane: Lane,
    clock: Callable[[], float],
    snapshot: Snapshot,
    actuator: Actuator,
    stop: threading.Event,
    refused: dict[str, str],
) -> Outcome:
    change = lane.change
    if stop.is_set():
        return Skipped(STOPPED)
    why = next((refused[scope] for scope in (scope_of(change), narrow_scope_of(change)) if scope in refused), None)
    if why is not None:
        reason = f"not sent, as Hetzner has just refused another change of this kind: {why}"
        return Skipped(reason, is_final=True, refusal=why)
    outcome: Outcome = Applied()
    with tracing() as lane.trace:
        lane.began = clock()
        try:
            actuator(change, snapshot)
        except Exception as error:  # noqa: BLE001 - a bug met in one change must not lose the outcomes of the others
            outcome = _outcome_of(error, change)
            forget_frames(error)
    if isinstance(outcome, Failed) and outcome.bars:
        refused[outcome.bars] = outcome.error
    return outcome


def _outcome_of(error: Exception, change: Change) -> Outcome:
    """The outcome of a change whose actuator raised this."""
    match error:
        case Busy():
            return Pending(str(error), BUSY_AGAIN_S, is_busy=True)
        case Outdated():  # the lists of this chain have it still, and its next pass would try it again
            return Pending(str(error), LISTED_AGAIN_S)
        case Conflict() | Stopped():
            return Pending(str(error))
        case Throttled(retry_after_s=retry_after_s):
            return Pending(str(error), retry_after_s)
        case Transient():
            return Failed(str(error), retry_after_s=1.0)
        case Exhausted(code=code):
            remedy = "" if _HIGHER_LIMIT in str(error) else f"; {_HIGHER_LIMIT}, or delete what is not needed"
            scope = narrow_scope_of(change) if code == "resource_limit_exceeded" else scope_of(change)
            return Failed(f"{error}{remedy}", bars=scope)
        case Denied():
            return Failed(str(error), bars=scope_of(change) if change.row.writes_cloud else "")
        case ApiError():
            return Failed(str(error))
    _log.debug("internal error in %s", change.key, exc_info=error)
    return Failed(f"internal error, {type(error).__name__}: {error}")
