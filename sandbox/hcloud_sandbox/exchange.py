"""HTTP as plain values: what a simulator receives and answers, and the log of both.

A simulator is a synchronous ``handle(Request) -> Response``; ``serving`` puts it behind a real port. Most tests call
``handle`` directly.
"""

import json
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol, runtime_checkable
from urllib.parse import parse_qs


@dataclass(frozen=True, slots=True)
class Request:
    """One HTTP request. ``path`` is decoded and has no query; header names are lower case."""

    method: str
    path: str
    query: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes = b""

    @classmethod
    def of(cls, method: str, url: str, body: Any = None, headers: Mapping[str, str] | None = None) -> "Request":
        """A request written the short way, as tests do: ``Request.of("GET", "/servers?page=2")``."""
        path, _, query = url.partition("?")
        raw = body if isinstance(body, bytes) else b"" if body is None else json.dumps(body).encode()
        lower = {name.lower(): value for name, value in (headers or {}).items()}
        return cls(method, path, {k: tuple(v) for k, v in parse_qs(query, keep_blank_values=True).items()}, lower, raw)

    def first(self, name: str, default: str | None = None) -> str | None:
        """The first value of a query parameter, or ``default`` when it is not there."""
        values = self.query.get(name)
        return values[0] if values else default


@dataclass(frozen=True, slots=True)
class Response:
    """One HTTP answer. ``body`` is a JSON value, or bytes sent as they are, or a Stream; None means no body."""

    status: int
    body: Any = None
    headers: Mapping[str, str] = field(default_factory=dict)

    def encoded(self) -> bytes:
        """The bytes that go over the wire."""
        if self.body is None:
            return b""
        return self.body if isinstance(self.body, bytes) else json.dumps(self.body).encode()


@runtime_checkable
class Stream(Protocol):
    """A body that goes on, as a watch's does."""

    def take(self) -> bytes:
        """What has come since this was last asked."""

    @property
    def is_over(self) -> bool:
        """Whether there will be nothing more to take."""

    def on_news(self, call: Callable[[], None]) -> None:
        """Call this, from any thread, whenever there is something to ``take``. Time alone may bring something too."""

    def close(self) -> None:
        """Nobody listens any more."""


class Simulator(Protocol):
    """A state machine behind HTTP. All methods are called from one thread at a time."""

    def handle(self, request: Request) -> Response:
        """Answer one API request and change the state accordingly."""

    def world(self) -> dict[str, Any]:
        """This simulator's part of the world file."""

    def replace_world(self, world: Mapping[str, Any]) -> None:
        """Forget everything and start from this part of a world file. Raises ValueError that names what is wrong."""

    def set_faults(self, faults: list[dict[str, Any]]) -> None:
        """Add simulated faults. Raises ValueError for a fault that this simulator does not know."""

    def clear_faults(self) -> None:
        """Forget all simulated faults."""


@dataclass(frozen=True, slots=True)
class Exchange:
    """One line of the request log."""

    method: str
    path: str
    query: str
    status: int
    body: Any
    """The request's body: JSON where it parses, text otherwise, None when there was none."""
    client: str = ""
    """The client's ``User-Agent``, by which tests tell two clients of one API apart."""
    at: float = field(default=0.0, compare=False)
    """When the request had arrived, in seconds of this process's monotonic clock, by which the logs of several servers
    are put in order; 0.0 when nobody knows. Not shown to others, to whom it means nothing."""

    def as_json(self) -> dict[str, Any]:
        """The log line as ``GET /_sandbox/requests`` answers it."""
        return {name: getattr(self, name) for name in ("method", "path", "query", "status", "body", "client")}


class Journal:
    """The request log of one server, in the order in which requests were answered. Safe to use from any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._entries: list[Exchange] = []

    def record(self, exchange: Exchange) -> None:
        """Append one exchange."""
        with self._lock:
            self._entries.append(exchange)

    def entries(self) -> list[Exchange]:
        """A copy of the whole log."""
        with self._lock:
            return list(self._entries)

    def clear(self) -> None:
        """Forget the log."""
        with self._lock:
            self._entries.clear()


def readable_body(raw: bytes) -> Any:
    """A request's body as the log keeps it: JSON where it parses, text otherwise, and where it is nested too deep
    for that; None when there was none."""
    if not raw:
        return None
    try:
        return json.loads(raw)
    except (ValueError, RecursionError):
        return raw.decode("utf-8", "replace")
