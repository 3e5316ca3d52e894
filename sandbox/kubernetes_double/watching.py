"""Watches: the history of writes, and the lines that each open watch gets of it.

Known difference from the real server: that keeps events in memory since its start, and forgets them when there are too
many; the double forgets them after five minutes, as etcd does.
"""

import json
import threading
from collections import deque
from collections.abc import Callable
from typing import Any

from hcloud_sandbox.clock import SimulatedClock
from hcloud_sandbox.exchange import Request
from kubernetes_double.errors import bad_request, broken, failure, not_a_number
from kubernetes_double.paging import TOKEN_LIFE_S
from kubernetes_double.selectors import Test
from kubernetes_double.store import Key, Store, Write

DEFAULT_S = 1800.0
"""How long a watch lasts that does not say; the real server draws it anew between this and twice as long."""
BOOKMARKS_S = 60.0
_BEFORE_THE_END_S = 2.0
"""How long before its end a watch gets a last bookmark."""

Changed = tuple[Write, dict[str, Any] | None]
"""A write, and the object after it; None when it is gone."""


class History:
    """Which writes a new watch can still be told of, and the watches that are open."""

    def __init__(self, store: Store, clock: SimulatedClock) -> None:
        self.store = store
        self.clock = clock
        self.oldest = store.version
        """Of all that comes after this version nothing is forgotten."""
        self._lock = threading.Lock()
        self._kept: deque[tuple[float, Changed]] = deque()
        self._feeds: list[Feed] = []

    def wrote(self, write: Write) -> None:
        """Remember a write that was just done, and tell all watches."""
        changed = (write, self.store.get(write.key))
        with self._lock:
            self._kept.append((self.clock.timestamp(), changed))
            self._forget_old()
            feeds = list(self._feeds)
        for feed in feeds:
            feed.add(changed)

    def forget(self) -> None:
        """Nothing of what was is known any more: all watches end."""
        with self._lock:
            self._kept.clear()
            self.oldest = self.store.version
            feeds, self._feeds = self._feeds, []
        for feed in feeds:
            feed.break_off(self.oldest)

    def watch(self, request: Request, key: Key, test: Test) -> "Feed":
        """A new watch of a collection. Raises ApiError 400 and 500 for a query that cannot be read, as the real one."""
        lasts, version = request.first("timeoutSeconds") or "0", request.first("resourceVersion") or "0"
        if not lasts.isdigit():
            raise bad_request(not_a_number(lasts, "ParseInt"))
        if not version.isdigit():
            raise broken(f'resourceVersion: Invalid value: "{version}": {not_a_number(version)}')
        bookmarks = request.first("allowWatchBookmarks") == "true"
        feed = Feed(self, key, test, float(lasts) or DEFAULT_S, bookmarks=bookmarks)
        with self._lock:
            self._forget_old()
            if version == "0":
                for stored, found in self.store.snapshot(key.resource).items():
                    feed.add((Write(stored, None, int(found["metadata"]["resourceVersion"])), found))
            elif int(version) < self.oldest:
                feed.break_off(int(version))
            for _, changed in self._kept if version != "0" else ():
                if changed[0].version > int(version):
                    feed.add(changed)
            self._feeds.append(feed)
        return feed

    def leave(self, feed: "Feed") -> None:
        """Nobody listens to this watch any more."""
        with self._lock:
            self._feeds = [other for other in self._feeds if other is not feed]

    def _forget_old(self) -> None:
        until = self.clock.timestamp() - TOKEN_LIFE_S
        while self._kept and self._kept[0][0] < until:
            _, (write, _) = self._kept.popleft()
            self.oldest = write.version


class Feed:
    """The body of one watch. Implements ``hcloud_sandbox.exchange.Stream``."""

    def __init__(self, history: History, key: Key, test: Test, lasts_s: float, *, bookmarks: bool) -> None:
        self._history = history
        self._key = key
        self._test = test
        self._ends_at = history.clock.timestamp() + lasts_s
        self._bookmark_at = self._next_bookmark() if bookmarks else None
        self._lines: list[bytes] = []
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
            self._say(kind, _at((after if is_now else write.before) or {}, write.version))

    def break_off(self, version: int) -> None:
        """End with the error for a version of which too little is known."""
        self._broken_off = True
        error = failure(410, "Expired", f"too old resource version: {version} ({self._history.oldest})")
        self._say("ERROR", error.response.body)

    def on_news(self, call: Callable[[], None]) -> None:
        """Call this, from any thread, whenever there is something to ``take``."""
        self._news = call

    def take(self) -> bytes:
        """What has come since this was last asked."""
        lines, self._lines = self._lines, []
        now = self._history.clock.timestamp()
        if self._bookmark_at is not None and now >= self._bookmark_at and not self._broken_off:
            resource = self._key.resource
            found = {"kind": resource.kind, "apiVersion": resource.api_version, "metadata": {}}
            lines.append(_line("BOOKMARK", _at(found, self._history.store.version)))
            self._bookmark_at = self._next_bookmark()
        return b"".join(lines)

    @property
    def is_over(self) -> bool:
        """Whether there will be nothing more to take."""
        return not self._lines and (self._broken_off or self._history.clock.timestamp() >= self._ends_at)

    def close(self) -> None:
        """Nobody listens any more."""
        self._history.leave(self)

    def _shows(self, found: dict[str, Any] | None) -> bool:
        return found is not None and self._test(found)

    def _say(self, kind: str, found: dict[str, Any]) -> None:
        self._lines.append(_line(kind, found))
        self._news()

    def _next_bookmark(self) -> float | None:
        last = self._ends_at - _BEFORE_THE_END_S
        now = self._history.clock.timestamp()
        return min(now + BOOKMARKS_S, last) if last > now else None


def _at(found: dict[str, Any], version: int) -> dict[str, Any]:
    return {**found, "metadata": {**found["metadata"], "resourceVersion": str(version)}}


def _line(kind: str, found: dict[str, Any]) -> bytes:
    return json.dumps({"type": kind, "object": found}).encode() + b"\n"
