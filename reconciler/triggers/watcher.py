"""Watcher of one list, in a thread of its own: connects, hands on events, and connects again.

| Trouble with a watch | What follows |
|---|---|
| the server ends it | continue from the last version seen; bookmarks count |
| reset, silence, 5xx, refused | the same, and after three times in a row begin anew |
| 410 as status or event, no event | begin anew |
| any of these soon after the opening | wait first: 0.5 s, doubled each time up to 30 s, until one lives for 10 s |

To begin anew is to ask for the list's version and to watch from there. Whatever happened in between was missed, so the
loop is woken as soon as the new watch is open.
"""

import logging
import random
import threading
from collections.abc import Callable, Iterator
from http import HTTPStatus
from typing import Protocol

from actuators.concurrency import THREADS, Concurrency, Task
from actuators.http.errors import ApiError, Broken, Throttled
from actuators.http.watch import WatchEvent

_log = logging.getLogger("hcloud-reconciler.watch")

LASTS_S = (240, 300)
"""The server is asked to end a watch after so long, drawn evenly: many replicas must not come back in step."""
_PROVEN_S = 10.0
"""A connection that lived for longer was a good one."""
_FIRST_WAIT_S = 0.5
_LONGEST_WAIT_S = 30.0
_MOST_DOUBLINGS = 6
_LONGEST_ASKED_S = 300.0
_RESUMES = 3
"""Failed connections in a row after which a version is given up."""
_TRUSTED = 3
"""So many connections in a row may end soon after their opening before the next one has to prove itself, too, until it
wakes the loop."""
_GOODBYE_S = 1.0


class Connection(Protocol):
    """An open watch."""

    def __iter__(self) -> Iterator[WatchEvent]: ...

    def close(self) -> None: ...


class WatchSource(Protocol):
    """A list that can be watched. Both methods send one request and raise an ApiError."""

    def version(self) -> str:
        """The list's version now."""

    def open(self, version: str, lasts_s: int) -> Connection:
        """A watch of all that comes after a version."""


class Watcher:
    """Follows one list in a thread of its own, from ``start`` to ``stop``."""

    def __init__(
        self,
        name: str,
        source: WatchSource,
        *,
        saw: Callable[[WatchEvent], None],
        wake: Callable[[str], None],
        concurrency: Concurrency = THREADS,
        draw: Callable[[], float] = random.random,
    ) -> None:
        """``saw`` gets every event that is about an object; ``wake`` is called when some may have been missed.
        ``draw`` is even from 0 to 1."""
        self._name = name
        self._source = source
        self._saw = saw
        self._wake = wake
        self._concurrency = concurrency
        self._clock = concurrency.clock
        self._draw = draw
        self._stop = concurrency.event()
        self._lock = threading.Lock()
        self._connection: Connection | None = None
        self._thread: Task | None = None
        self._standing = concurrency.event()
        self._version = ""
        self._has_missed = False
        self._failures = 0
        self._unproven = 0
        self._short = 0
        self._opened_at = 0.0
        self._trouble = ""

    def start(self) -> None:
        """Begin to watch."""
        self._thread = self._concurrency.start(self.run, f"watch-{self._name}")

    def stands(self, within_s: float) -> bool:
        """Whether the first watch is open, so that nothing after it is missed; waits for so long at most. If not, the
        loop will be woken when it is."""
        if self._standing.wait(within_s):
            return True
        with self._lock:
            self._has_missed = not self._version
            return not self._has_missed

    def stop(self) -> None:
        """End the watch and its thread. Returns within a second even if a server that hangs keeps the thread."""
        self._stop.set()
        with self._lock:
            if self._connection is not None:
                self._connection.close()
        if self._thread is not None and self._thread is not threading.current_thread():
            self._thread.join(_GOODBYE_S)

    def run(self) -> None:
        """Watch until ``stop`` is called: what the thread does."""
        while not self._stop.is_set():
            pause_s = self._one_connection()
            if pause_s:
                self._stop.wait(pause_s)

    def _one_connection(self) -> float:
        """Follow one connection to its end. Returns the seconds to wait before the next one."""
        opened_at = None
        asked_s = 0.0
        try:
            if not self._version:
                self._begin()
            connection = self._open()
            self._opened_at = opened_at = self._clock()
            self._follow(connection)
        except ApiError as error:
            self._failed(error)
            asked_s = error.retry_after_s if isinstance(error, Throttled) else 0.0
        except Exception as error:  # noqa: BLE001 - the death of a watcher would go unnoticed
            self._failed(Broken(f"{type(error).__name__}: {error}"))
        is_proven = opened_at is not None and self._clock() - opened_at > _PROVEN_S
        self._short = 0 if is_proven else self._short + (opened_at is not None)
        if is_proven:
            self._unproven = 0
            # What went wrong at the end of a good connection is the first trouble of those that follow.
            return 0.0 if not self._trouble else self._backoff_s(asked_s)
        return self._backoff_s(asked_s)

    def _begin(self) -> None:
        version = self._source.version()
        with self._lock:
            self._version = version
        self._standing.set()

    def _open(self) -> Connection:
        lasts_s = LASTS_S[0] + int(self._draw() * (LASTS_S[1] - LASTS_S[0]))
        connection = self._source.open(self._version, lasts_s)
        with self._lock:
            self._connection = connection
            if self._stop.is_set():
                connection.close()
        if self._short < _TRUSTED:
            self._catch_up()
        return connection

    def _catch_up(self) -> None:
        """Wake the loop if something was missed. A server that accepts each watch and breaks it off at once would begin
        a pass each time: in that case the loop is woken by a watch that lasts, and meanwhile by the interval."""
        with self._lock:
            has_missed, self._has_missed = self._has_missed, False
        if has_missed:
            self._wake(f"the watch of {self._name} began anew")

    def _follow(self, connection: Connection) -> None:
        try:
            for event in connection:
                if event.type != "BOOKMARK":
                    self._saw(event)
                self._version = event.version or self._version
                self._recovered()
                if self._clock() - self._opened_at > _PROVEN_S:
                    self._catch_up()
        finally:
            with self._lock:
                self._connection = None
        self._recovered()

    def _recovered(self) -> None:
        self._failures = 0
        if self._trouble:
            self._trouble = ""
            _log.info("the watch of %s works again", self._name)

    def _failed(self, error: ApiError) -> None:
        """Note a failure, and give the version up when it is of no use any more."""
        if self._stop.is_set():
            return
        if str(error) != self._trouble:
            self._trouble = str(error)
            _log.warning("the watch of %s: %s; until it works, passes begin at the interval", self._name, error)
        self._failures += 1
        is_of_no_use = isinstance(error, Broken) or error.status == HTTPStatus.GONE
        if self._version and (is_of_no_use or self._failures >= _RESUMES):
            self._version = ""
            self._has_missed = True
            self._failures = 0

    def _backoff_s(self, asked_s: float) -> float:
        """0.5 s, doubled with each connection that was not a good one, up to 30 s; up to half as much more at random,
        so that replicas do not come back in step; not less than the server asked for, unless
        that is more than five minutes."""
        wait_s = _FIRST_WAIT_S * 2.0 ** min(self._unproven, _MOST_DOUBLINGS) * (1 + self._draw() / 2)
        self._unproven += 1
        return max(min(_LONGEST_WAIT_S, wait_s), min(_LONGEST_ASKED_S, asked_s))
