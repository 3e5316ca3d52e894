"""Watches: the history of writes, and the lines that each open watch gets of it.

Known difference from the real server: that keeps events in memory since its start, and forgets them when there are too
many; the simulator forgets them after five minutes, as etcd does.
"""

import json
import threading
from collections import deque
from collections.abc import Callable, Iterator
from typing import Any

from hcloud_sandbox.clock import SimulatedClock
from hcloud_sandbox.exchange import Request, Response
from kubernetes_double.asking import Target
from kubernetes_double.paging import TOKEN_LIFE_S
from kubernetes_double.selectors import Test
from kubernetes_double.status import bad_request, broken_version, expired_version
from kubernetes_double.store import Key, Store, Write

DEFAULT_S = 1800.0
"""How long a watch lasts that does not say; the real server draws it anew between this and twice as long."""
BOOKMARKS_S = 60.0
_BEFORE_THE_END_S = 2.0
"""How long before its end a watch gets a last bookmark."""

Form = Callable[[dict[str, Any], list[dict[str, Any]]], dict[str, Any]]
"""What makes another object of objects and the ``metadata`` of their list, such as a table."""

Changed = tuple[Write, dict[str, Any] | None]
"""A write, and the object after it; None when it is gone."""


class History:
    """Which writes a new watch can still be told of, and the watches that are open."""

    def __init__(self, store: Store, clock: SimulatedClock) -> None:
        self._store = store
        self._clock = clock
        self._lock = threading.Lock()
        self._kept: deque[tuple[float, Changed]] = deque()
        self._oldest = store.version
        """Of all that comes after this version nothing is forgotten."""
        self._feeds: list[Feed] = []

    def wrote(self, write: Write) -> None:
        """Remember a write that was just done, and tell all watches."""
        changed = (write, self._store.get(write.key))
        with self._lock:
            self._kept.append((self._clock.timestamp(), changed))
            self._forget_old()
            feeds = list(self._feeds)
        for feed in feeds:
            feed.add(changed)

    def forget(self) -> None:
        """Nothing of what was is known any more: all watches end."""
        with self._lock:
            self._kept.clear()
            self._oldest = self._store.version
            feeds, self._feeds = self._feeds, []
        for feed in feeds:
            feed.break_off(self._oldest)

    def watch(self, request: Request, target: Target, tests: list[Test], form: Form | None) -> Response:
        """The answer to a watch, whose objects come in another form if one is given.

        Raises ApiError 400 and 500 for a query that cannot be read, as the real server.
        """
        lasts, version = request.first("timeoutSeconds") or "0", request.first("resourceVersion") or "0"
        if not lasts.isdigit():
            raise bad_request(f'strconv.ParseInt: parsing "{lasts}": invalid syntax')
        if not version.isdigit():
            raise broken_version(version)
        bookmarks = request.first("allowWatchBookmarks") == "true"
        feed = Feed(self, target.key, tests, form, float(lasts) or DEFAULT_S, bookmarks)
        with self._lock:
            self._forget_old()
            if version == "0":
                for changed in self._everything(target.key):
                    feed.add(changed)
            elif int(version) < self._oldest:
                feed.break_off(int(version))
            else:
                for _, changed in self._kept:
                    if changed[0].version > int(version):
                        feed.add(changed)
            self._feeds.append(feed)
        return Response(200, feed)

    def leave(self, feed: "Feed") -> None:
        """Nobody listens to this watch any more."""
        with self._lock:
            self._feeds = [other for other in self._feeds if other is not feed]

    @property
    def now_s(self) -> float:
        """The simulated time."""
        return self._clock.timestamp()

    @property
    def version(self) -> int:
        """The store's version now."""
        return self._store.version

    @property
    def oldest(self) -> int:
        """The oldest version that a watch can begin from."""
        return self._oldest

    def _everything(self, asked: Key) -> Iterator[Changed]:
        _, objects = self._store.snapshot(asked.resource, {})
        for key in sorted(objects, key=lambda key: key.sort_key):
            yield Write(key, None, int(objects[key]["metadata"]["resourceVersion"])), objects[key]

    def _forget_old(self) -> None:
        until = self._clock.timestamp() - TOKEN_LIFE_S
        while self._kept and self._kept[0][0] < until:
            _, (write, _) = self._kept.popleft()
            self._oldest = write.version


class Feed:
    """The body of one watch. Implements ``hcloud_sandbox.exchange.Stream``."""

    def __init__(
        self, history: History, key: Key, tests: list[Test], form: Form | None, lasts_s: float, bookmarks: bool
    ) -> None:
        self._history = history
        self._key = key
        self._tests = tests
        self._form = form
        self._ends_at = history.now_s + lasts_s
        self._bookmark_at = self._next_bookmark() if bookmarks else None
        self._lines: deque[bytes] = deque()
        self._broken_off = False
        self._news: Callable[[], None] = lambda: None

    def add(self, changed: Changed) -> None:
        """Tell of a write, if it is one that this watch is about."""
        write, after = changed
        if write.key.resource != self._key.resource or self._key.namespace not in ("", write.key.namespace):
            return
        was, is_now = self._shows(write.before), self._shows(after)
        if was or is_now:
            kind = "DELETED" if not is_now else "MODIFIED" if was else "ADDED"
            found = _at((after if is_now else write.before) or {}, write.version)
            metadata = {"resourceVersion": found["metadata"]["resourceVersion"]}
            self._say(kind, found if self._form is None else self._form(metadata, [found]))

    def break_off(self, version: int) -> None:
        """End with the error for a version of which too little is known."""
        self._broken_off = True
        self._say("ERROR", expired_version(version, self._history.oldest))

    def on_news(self, call: Callable[[], None]) -> None:
        """Call this, from any thread, whenever there is something to ``take``."""
        self._news = call

    def take(self) -> bytes:
        """What has come since this was last asked."""
        lines = [self._lines.popleft() for _ in range(len(self._lines))]
        if self._bookmark_at is not None and self._history.now_s >= self._bookmark_at and not self._broken_off:
            resource = self._key.resource
            found = {"kind": resource.kind, "apiVersion": resource.api_version, "metadata": {}}
            lines.append(_line("BOOKMARK", _at(found, self._history.version)))
            self._bookmark_at = self._next_bookmark()
        return b"".join(lines)

    @property
    def is_over(self) -> bool:
        """Whether there will be nothing more to take."""
        return not self._lines and (self._broken_off or self._history.now_s >= self._ends_at)

    def close(self) -> None:
        """Nobody listens any more."""
        self._history.leave(self)

    def _shows(self, found: dict[str, Any] | None) -> bool:
        return found is not None and all(test(found) for test in self._tests)

    def _say(self, kind: str, found: dict[str, Any]) -> None:
        self._lines.append(_line(kind, found))
        self._news()

    def _next_bookmark(self) -> float | None:
        last = self._ends_at - _BEFORE_THE_END_S
        now = self._history.now_s
        return min(now + BOOKMARKS_S, last) if last > now else None


def _at(found: dict[str, Any], version: int) -> dict[str, Any]:
    return {**found, "metadata": {**found["metadata"], "resourceVersion": str(version)}}


def _line(kind: str, found: dict[str, Any]) -> bytes:
    return json.dumps({"type": kind, "object": found}).encode() + b"\n"
