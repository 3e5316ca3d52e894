"""Health of the process: liveness and readiness.

No I/O, and nothing here depends on a cloud being up, as a restart would not fix that. A loop that hangs fails liveness,
and so does a call or a change that does.
"""

import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial

from actuators.apply import Actuator
from actuators.http.connection import Observe, RequestEnded
from desired.model.snapshot import Snapshot
from desired.plan.change import Change
from desired.plan.notes import NoteKind
from reconciler.result import Report

_INTERVALS = 3
"""Number of intervals without a sign of life after which the loop counts as hanging."""
_TIMEOUTS = 10
"""And so many times the longest wait for one answer: the time that a pass may take between two signs, and a call to
give its answer whole. An action of Hetzner's is waited for as long as four."""
_LONGEST_CHANGE_S = 600.0
"""Seconds after which a change counts as hanging: it waits for an action for a minute, and the longest has six, each
with calls that are tried again."""


@dataclass(frozen=True, slots=True)
class Check:
    """One condition of a probe."""

    name: str
    problem: str | None = None
    """What is wrong, for people; None when nothing is."""

    @property
    def line(self) -> str:
        """As components of Kubernetes write it, but with the reason, which they withhold."""
        return f"[+]{self.name} ok" if self.problem is None else f"[-]{self.name} failed: {self.problem}"


class LoopHealth:
    """State of the loop, reported from its thread, read by probes from any. ``clock`` never goes back; in seconds."""

    def __init__(
        self, *, interval_s: float, request_timeout_s: float, clock: Callable[[], float] = time.monotonic
    ) -> None:
        """``interval_s`` is the pause between passes until ``passed`` names another."""
        self._clock = clock
        self._lock = threading.Lock()
        self._interval_s = interval_s
        self._allowance_s = _TIMEOUTS * request_timeout_s
        self._sign_at = clock()
        self._began_at: float | None = None
        self._has_seen_all = False
        self._stands_by = False
        self._why_unusable = "Hetzner has not been asked yet for what the settings name"
        self._why_unseen = "no pass has ended yet"
        self._why_leaderless = ""
        self._under_way: dict[object, tuple[str, float, float]] = {}
        """What goes on: its name, when it began, and how long it may take."""

    def follow(self, observe: Observe) -> Observe:
        """The same observer of a connection, whose calls this hears of as well: each answer is a sign of life, except
        for those that come while nothing gets on."""

        def begin(method: str, path: str) -> RequestEnded:
            told = observe(method, path)
            call = self._begin(f"the call {method} {path.partition('?')[0]}", self._allowance_s)

            def end(status: int | None) -> None:
                self._end(call, is_sign=status is not None and _gets_on(method, path))
                told(status)

            return end

        return begin

    def attend(self, actuators: Mapping[str, Actuator]) -> Mapping[str, Actuator]:
        """The same actuators, whose changes this hears of as well."""
        return {kind: partial(self._attended, actuator) for kind, actuator in actuators.items()}

    def _attended(self, actuator: Actuator, change: Change, snapshot: Snapshot) -> None:
        lane = self._begin(f"the change {change.key}", _LONGEST_CHANGE_S)
        try:
            actuator(change, snapshot)
        finally:
            self._end(lane, is_sign=True)

    def _begin(self, name: str, allowed_s: float) -> object:
        token = object()
        with self._lock:
            self._under_way[token] = (name, self._clock(), allowed_s)
        return token

    def _end(self, token: object, *, is_sign: bool) -> None:
        with self._lock:
            del self._under_way[token]
            if is_sign:
                self._sign_at = self._clock()

    def began(self) -> None:
        """A pass begins: this process leads."""
        with self._lock:
            self._began_at = self._clock()
            self._stands_by = False
            self._why_leaderless = ""

    def passed(self, report: Report, interval_s: float | None = None) -> None:
        """A pass has ended, however. ``interval_s`` is the pause to the next one; None: as before."""
        why = _why_unready(report)
        with self._lock:
            self._sign_at = self._clock()
            self._began_at = None
            self._interval_s = self._interval_s if interval_s is None else interval_s
            self._has_seen_all = self._has_seen_all or why is None
            self._why_unseen = why or ""

    def standby(self) -> None:
        """The loop has tried to lead, and has seen that another process leads."""
        with self._lock:
            self._sign_at = self._clock()
            self._began_at = None
            self._stands_by = True
            self._why_leaderless = ""

    def checked(self, why: str) -> None:
        """A process that stands by has asked Hetzner for what its settings name; ``why`` they cannot be used, "" when
        they can."""
        with self._lock:
            self._why_unusable = why

    def leaderless(self, why: str) -> None:
        """The loop has tried to lead, and neither leads nor has seen that another process does; ``why`` may be "".

        A process that was on standby stays so: an API server that is unreachable for a moment makes no replica unready.
        One that never was is of no use yet, and a rollout must not remove the leader for it.
        """
        with self._lock:
            self._sign_at = self._clock()
            self._began_at = None
            self._why_leaderless = why

    def liveness(self) -> tuple[Check, ...]:
        """Checks of ``/livez``: whether the loop makes progress, and all that goes on beside it ends in time. A pass
        that hangs, a call or a change that does, and a loop that has died, need a restart; anything else does not, such
        as a pass that takes long, or an action of Hetzner's that never ends."""
        with self._lock:
            now = self._clock()
            silent_s, allowed_s = now - self._sign_at, _INTERVALS * self._interval_s + self._allowance_s
            running = (
                "" if self._began_at is None else f"; the pass that is running began {now - self._began_at:.0f} s ago"
            )
            hanging = [
                f"{name} has not ended for {now - since:.0f} s (limit {most_s:.0f} s)"
                for name, since, most_s in self._under_way.values()
                if now - since > most_s
            ]
        late = f"no pass, call or change has ended for {silent_s:.0f} s (limit {allowed_s:.0f} s){running}"
        return Check("ping"), Check("loop", late if silent_s > allowed_s else next(iter(hanging), None))

    def readiness(self) -> tuple[Check, ...]:
        """Checks of ``/readyz``: whether a pass has read everything once, in the cluster's own project and without an
        error, or another process was seen to lead and the settings can be used here. A rolling update stops at a pod
        whose settings cannot work."""
        with self._lock:
            is_ready = self._has_seen_all or (self._stands_by and not self._why_unusable)
            why = self._why_leaderless or (self._why_unusable if self._stands_by else self._why_unseen)
        return Check("ping"), Check("snapshot", None if is_ready else why)


def _gets_on(method: str, path: str) -> bool:
    """Whether an answer shows that a pass gets on. A wait for an action is answered for as long as that goes on,
    and watches are opened and begin anew whatever a pass does."""
    return method != "WATCH" and not path.startswith("/actions?") and not path.endswith("?limit=1")


def _why_unready(report: Report) -> str | None:
    """The pass's first error, what is incomplete in its reading, or that the token is another project's; None if
    nothing is, or Robot alone."""
    if report.snapshot is None:
        return report.errors[0] if report.errors else "the last pass read nothing"
    robot = (report.snapshot.robot.servers.why_incomplete if report.snapshot.robot else None) or ""
    for error in report.errors:
        if error not in robot:
            return error
    # A Robot account that is out of reach keeps nothing of Hetzner Cloud from being served.
    needed = {name: section for name, section in report.snapshot.sections().items() if name != "robot"}
    gaps = [section.why_incomplete for section in needed.values() if not section.complete]
    anchors = [note.text for note in report.notes if note.kind is NoteKind.ANCHOR]
    return next(iter((*gaps, *anchors)), None)
