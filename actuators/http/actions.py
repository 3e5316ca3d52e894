"""Polling of Hetzner's actions, the jobs in which its API carries out requests: one poll asks for all of them.

There is no extra thread. One of the waiting threads polls for all; when its own action has ended, another one takes
over.
"""

import logging
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from urllib.parse import urlencode

import msgspec

from actuators.http.connection import note_action
from actuators.http.decoding import decoder, member
from actuators.http.errors import (
    HETZNER_CODES,
    ApiError,
    Busy,
    Invalid,
    Stopped,
    Throttled,
    Transient,
    broken_unless_readable,
    one_line,
)
from actuators.http.hetzner import HetznerReader

_log = logging.getLogger("hcloud-reconciler.clients")

FIRST_POLL_S = 0.35
"""Seconds from a request to the first poll of its action. By then many changes are done: the quickest take 0.3 s, and
the rest is for the way there."""
_LONGEST_PAUSE_S = 5.0
_LONGEST_NAP_S = FIRST_POLL_S / 2
"""Longest sleep of the thread that polls: an action that arrives meanwhile is not polled too late."""
_IDS_A_POLL = 25
"""As hcloud-go asks: longer addresses, and answers of several pages, are not known to work."""
_MISSES = 2
"""So often in a row an action has to be missing from the answers to count as vanished."""


class _Failure(msgspec.Struct):
    code: str = ""
    message: str = ""


class _Action(msgspec.Struct):
    id: int
    command: str = ""
    status: str = ""
    error: _Failure | None = None


class _Announcement(msgspec.Struct):
    action: _Action | None = None


_polled = member("actions", list[_Action])


@dataclass(slots=True, eq=False)
class _Awaited:
    """An action that is waited for. Times are those of the clock."""

    id: int
    command: str
    what: str
    began: float
    deadline: float
    due: float
    """When it wants to be asked for."""
    misses: int = 0
    is_over: bool = False
    error: ApiError | None = None
    """The error for those who wait for it; None while it runs, and when it succeeds."""

    def end(self, error: ApiError | None) -> None:
        """It is over: well, or with this error."""
        self.is_over, self.error = True, error

    def hear(self, action: _Action | None) -> None:
        """Take note of what an answer says of it; None when the answer lacks it."""
        self.misses = self.misses + 1 if action is None else 0
        if action is None:
            if self.misses >= _MISSES:
                # The id differs with each action: in the message it would make the same trouble look new.
                _log.info("%s: action %s is not found", self.what, self.id)
                self.end(Transient(f"{self.what}: the action {self.command} was not found"))
        elif action.status == "success":
            self.end(None)
        elif action.status == "error":
            self.end(_failure(self.what, action))

    def go_on(self, now: float, trouble: str) -> None:
        """Decide when it is asked for again, unless it is over, or its time is up. ``trouble`` is why the last look at
        it said nothing, "" when it did."""
        if self.is_over:
            return
        if now >= self.deadline:
            _log.info("%s: action %s is given up", self.what, self.id)
            after = f"is still running after {self.deadline - self.began:.0f} s"
            self.end(Transient(f"{self.what}: the action {self.command} {after}{f'; {trouble}' if trouble else ''}"))
        self.due = min(now + _pause_s(now - self.began), self.deadline)


class Actions:
    """All actions in flight. Safe to use from several threads."""

    def __init__(
        self,
        reader: HetznerReader,
        stop: threading.Event,
        *,
        deadline_s: float = 60.0,
        clock: Callable[[], float] | None = None,
        sleep: Callable[[float], object] | None = None,
    ) -> None:
        """``deadline_s`` is how long one action is waited for. ``clock`` None is that of the reader's
        connection, and ``sleep`` None waits on the stop event; tests pass their own."""
        self._reader = reader
        self._stop = stop
        self._deadline_s = deadline_s
        self._clock = clock or reader.concurrency.clock
        self._sleep = sleep or stop.wait
        self._changed = reader.concurrency.condition()
        self._in_flight: list[_Awaited] = []
        self._leader: _Awaited | None = None

    @property
    def is_stopped(self) -> bool:
        """Whether nothing is waited for any more."""
        return self._stop.is_set()

    @property
    def now(self) -> float:
        """The time of the clock, in seconds, to be given to ``wait``."""
        return self._clock()

    def wait(self, answer: bytes, what: str, *, asked_at: float | None = None) -> None:
        """Return when the action that ``answer`` announces has succeeded; at once when it announces none.

        ``what`` is what was requested, for messages; ``asked_at`` is when, by the clock, None is now. Raises Busy when
        the action fails because of another one on the same object, Invalid when it fails otherwise; Transient when its
        end is not known: it vanished, or goes on beyond the deadline; Stopped when the stop event is set. Other
        ApiErrors are those of the polls.
        """
        action = _announced(answer, what)
        if action is None:
            return
        note_action(action.id)
        now = self._clock()
        # The request may have been sent several times; only the last one began anything.
        began = now if asked_at is None else max(asked_at, now - FIRST_POLL_S / 2)
        awaited = _Awaited(action.id, action.command, what, began, now + self._deadline_s, began + FIRST_POLL_S)
        awaited.hear(action)
        with self._changed:
            self._in_flight.append(awaited)
        try:
            while self._leads(awaited):
                self._take_turn()
        finally:
            self._leave(awaited)
        if awaited.error is not None:
            raise awaited.error

    def wait_until(self, holds: Callable[[], bool], what: str, *, deadline_s: float = 20.0) -> None:
        """Ask ``holds`` until it says so, the first time at once, then with the pauses of polls.

        For reads that lag behind an action that has ended, as a GET may after ``detach_from_network``. Raises Transient
        after ``deadline_s`` seconds, Stopped when the stop event is set, and what ``holds`` raises.
        """
        began = self._clock()
        while self._stop.is_set() or not holds():
            age_s = self._clock() - began
            if self._stop.is_set():
                raise Stopped(f"{what}: stopped before it was confirmed")
            if age_s >= deadline_s:
                raise Transient(f"{what}: not confirmed after {deadline_s:.0f} s")
            self._sleep(_pause_s(age_s))

    def _leads(self, awaited: _Awaited) -> bool:
        """Wait until the action is over, which is False, or no other thread polls: then this thread is to."""
        with self._changed:
            self._changed.wait_for(lambda: awaited.is_over or self._leader in (None, awaited))
            if not awaited.is_over:
                self._leader = awaited
            return not awaited.is_over

    def _leave(self, awaited: _Awaited) -> None:
        with self._changed:
            self._in_flight.remove(awaited)
            if self._leader is awaited:
                self._leader = None
            self._changed.notify_all()

    def _take_turn(self) -> None:
        """Wait a little; or, when one of them is due, ask for all that are in flight."""
        with self._changed:
            awaited = [each for each in self._in_flight if not each.is_over]
        if self._stop.is_set():
            with self._changed:
                for each in awaited:
                    each.end(Stopped(f"{each.what}: stopped while the action {each.command} was running"))
            return
        pause_s = min(each.due for each in awaited) - self._clock()
        if pause_s > 0:
            self._sleep(min(pause_s, _LONGEST_NAP_S))
            return
        for start in range(0, len(awaited), _IDS_A_POLL):
            self._poll(awaited[start : start + _IDS_A_POLL])

    def _poll(self, awaited: Sequence[_Awaited]) -> None:
        """Ask once for these actions, and wake those whose action is over."""
        found: dict[int, _Action] | None = None
        final: ApiError | None = None
        trouble = ""
        try:
            found = {action.id: action for action in self._ask(awaited)}
        except (Throttled, Transient) as error:
            _log.info("actions are asked for again: %s", error)
            trouble = str(error)
        except ApiError as error:
            final = error
        with self._changed:
            for each in awaited:
                if final is not None:
                    each.end(type(final)(str(final), status=final.status, code=final.code))
                elif found is not None:
                    each.hear(found.get(each.id))
                each.go_on(self._clock(), trouble)
            self._changed.notify_all()

    def _ask(self, awaited: Sequence[_Awaited]) -> list[_Action]:
        query = urlencode([("id", each.id) for each in awaited])
        body = self._reader.get(f"/actions?{query}")
        with broken_unless_readable("Hetzner GET /actions: the answer is no list of actions"):
            return _polled(body)


def _announced(answer: bytes, what: str) -> _Action | None:
    """The action of an answer; None when there is none, as after a deletion that was done at once."""
    if not answer.strip():
        return None
    with broken_unless_readable(f"{what}: the answer of the Hetzner API could not be read"):
        return decoder(_Announcement).decode(answer).action


def _failure(what: str, action: _Action) -> ApiError:
    """The error for an action that failed. Some actions on a busy object find that out only while they run."""
    failure = action.error or _Failure()
    said = " ".join(filter(None, (one_line(failure.message), f"({failure.code})" if failure.code else "")))
    is_busy = HETZNER_CODES.get(failure.code) is Busy or "locked" in failure.message
    text = f"{what}: the action {action.command} failed: {said or 'no reason given'}"
    return (Busy if is_busy else Invalid)(text, code=failure.code)


def _pause_s(age_s: float) -> float:
    """Until the next look at something that was begun so long ago: the longer it takes, the less it matters."""
    return min(max(FIRST_POLL_S, age_s / 2), _LONGEST_PAUSE_S)
