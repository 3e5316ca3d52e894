"""What the connections to all three APIs have in common: requests that are counted, observed and traced, bounds of the
API's clock, one layer of retries, and no write on a connection for reading. ``HttpConnection`` sends over the
``requests`` package, without credentials of this machine.

The number of requests is asserted in tests, reported, and exported as metrics.
"""

import logging
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from datetime import UTC
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from actuators.http.errors import Broken, Transient, cause
from actuators.http.retry import NO_PATIENCE, Retry
from actuators.http.shown import is_loopback, shown_address

if TYPE_CHECKING:
    import requests

_log = logging.getLogger("hcloud-reconciler.clients")

_POOL_SIZE = 32
"""Connections that are kept: one for each change in flight, and those that read beside them."""
_CONNECT_TIMEOUT_S = 3.0
_RESOLUTION_S = 1.0
"""A ``Date`` has whole seconds: it is true until the next one begins."""
_REFUSED = 300
"""Status from which an answer is no success."""


class RequestCount:
    """Requests sent, retries included, by method. Safe to use from any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._sent: Counter[str] = Counter()

    def add(self, method: str) -> None:
        """Count one request just before it is sent."""
        with self._lock:
            self._sent[method] += 1

    def by_method(self) -> Mapping[str, int]:
        """Method → number of requests so far."""
        with self._lock:
            return dict(self._sent)

    @property
    def total(self) -> int:
        """All requests so far."""
        with self._lock:
            return self._sent.total()


RequestEnded = Callable[[int | None], None]
"""Called once with the HTTP status of the answer; None when none came."""
Observe = Callable[[str, str], RequestEnded]
"""Called with method and path just before a request goes out, each try anew; returns what is to hear of its end. Called
from several threads. The path is as it is sent: with ids, names and query."""


def ignore(_method: str, _path: str) -> RequestEnded:
    """An observer that ignores everything."""
    return lambda _status: None


_current: ContextVar["tuple[RequestTrace, ...]"] = ContextVar("traces", default=())


@dataclass(slots=True)
class RequestTrace:
    """The ids of one change, in the order of its calls. Of a change that does not call Hetzner both are empty."""

    actions: list[int] = field(default_factory=list)
    correlations: list[str] = field(default_factory=list)
    """Of the answers to its writes, and to what was refused of its reads (header ``X-Correlation-Id``)."""


@contextmanager
def tracing() -> Iterator[RequestTrace]:
    """Collects the ids of what this thread does inside the block, as blocks around it do."""
    trace = RequestTrace()
    before = _current.set((*_current.get(), trace))
    try:
        yield trace
    finally:
        _current.reset(before)


def note_action(action_id: int) -> None:
    """An action began. Without effect where nothing collects."""
    for trace in _current.get():
        if action_id not in trace.actions:
            trace.actions.append(action_id)


def note_correlation(correlation_id: str | None) -> None:
    """An answer came. Without effect where nothing collects, and when the answer has no such id."""
    if correlation_id:
        for trace in _current.get():
            trace.correlations.append(correlation_id)


@dataclass(frozen=True, slots=True)
class ClockBounds:
    """Bounds of what a clock showed when the monotonic one stood at zero, in seconds since the epoch: at the earliest
    and at the latest. Of one that jumped between two answers the earliest is later than the latest."""

    earliest: float
    latest: float

    def ahead_of_s(self, other: "ClockBounds") -> float:
        """Seconds that this clock is ahead of the other for certain, negative when it is behind; 0 when they may be the
        same. Of a clock that jumped it is the answer that is farthest off."""
        ahead, behind = self.earliest - other.latest, other.earliest - self.latest
        return max(0.0, ahead) if ahead >= behind else -max(0.0, behind)

    @property
    def jump_s(self) -> float:
        """Seconds that answers of this clock were apart for certain."""
        return max(0.0, self.earliest - self.latest)


class Dates:
    """The ``Date`` headers of one API's answers since the last ``begin``. Safe to use from several threads."""

    def __init__(self, steady: Callable[[], float] = time.monotonic) -> None:
        self._lock = threading.Lock()
        self._steady = steady
        self._since_begun: ClockBounds | None = None
        self._last: ClockBounds | None = None

    @property
    def now(self) -> float:
        """The steady clock: when a request goes out."""
        return self._steady()

    def begin(self) -> None:
        """Forget all but the last answer, which stands until there is another."""
        with self._lock:
            self._since_begun = None

    def note(self, date: str | None, asked_at: float) -> None:
        """An answer to what was asked at ``asked_at`` has just arrived with this header; no time says nothing."""
        answered_at = self._steady()
        try:
            shown = parsedate_to_datetime(date or "").astimezone(UTC).timestamp()
        except (ValueError, TypeError, OverflowError):
            return
        found = ClockBounds(shown - answered_at, shown + _RESOLUTION_S - asked_at)
        with self._lock:
            seen = self._since_begun or found
            self._since_begun = ClockBounds(max(seen.earliest, found.earliest), min(seen.latest, found.latest))
            self._last = found

    @property
    def seen(self) -> ClockBounds | None:
        """The bounds of the API's clock; None before its first answer."""
        with self._lock:
            return self._since_begun or self._last


class _Answer(Protocol):
    @property
    def headers(self) -> Any: ...


T = TypeVar("T")
A = TypeVar("A", bound=_Answer)


class Connection:
    """One API with credentials, over which every call goes. Safe to use from several threads."""

    def __init__(
        self, api: str, *, retry: Retry, timeout_s: float, read_only: bool, gate: Callable[[], None] = lambda: None
    ) -> None:
        """``api`` is its name in the log; ``gate`` raises an ApiError before a write that may not be sent."""
        self._api = api
        self._retry = retry
        self._once = replace(retry, patience=NO_PATIENCE, budget=None)
        self._timeout_s = timeout_s
        self._read_only = read_only
        self._gate = gate
        self.concurrency = retry.concurrency
        self.requests = RequestCount()
        self.dates = Dates(retry.concurrency.clock)
        self.observe: Observe = ignore

    def _call(
        self, method: str, path: str, attempt: Callable[[float], T], *, repeatable: bool = True, once: bool = False
    ) -> T:
        """What ``attempt`` returns, tried again as ``Retry`` has it, but for ``once``. Raises an ApiError;
        PermissionError for a write on a connection for reading."""
        if self._read_only and method != "GET":
            raise PermissionError(f"{method} {path} on a connection that was opened for reading")
        retry = self._once if once else self._retry
        return retry.call(attempt, timeout_s=self._timeout_s, repeatable=repeatable)

    def _exchange(self, method: str, path: str, send: Callable[[], A], status_of: Callable[[A], int]) -> A:
        """The answer to one request, whatever its status, counted and observed. Raises what ``send`` does."""
        self.requests.add(method)
        asked_at = self.dates.now
        ended, status = self.observe(method, path), None
        try:
            answer = send()
            status = status_of(answer)
        finally:
            ended(status)
        _log.debug("%s %s %s %s", self._api, method, path, status)
        if status < _REFUSED:
            self.dates.note(answer.headers.get("Date"), asked_at)  # a refusal may be a proxy's
        return answer


class HttpConnection(Connection):
    """A connection over the ``requests`` package, without a proxy of the environment for addresses of this machine."""

    word, setting, secret = "API", "the endpoint", "token"
    """What the API is called in messages; the setting to check when nothing answers; what is sent as the secret."""

    def __init__(self, api: str, endpoint: str, headers: Mapping[str, str], **options: Any) -> None:
        """``options`` are those of every connection."""
        super().__init__(api, **options)
        self._endpoint = endpoint
        self._headers = dict(headers)
        self._shown = f"{self.word} {shown_address(endpoint)}"
        self._proxies = {"http": "", "https": ""} if is_loopback(endpoint) else None
        self._session: requests.Session | None = None

    def _opened(self) -> "requests.Session":
        import requests  # noqa: PLC0415 - 0.1 s that --help need not pay

        if self._session is None:
            self._session = prepare(requests.Session())
        return self._session

    def _request(
        self, method: str, path: str, timeout_s: float, *, body: Any = None, headers: Mapping[str, str] | None = None
    ) -> "requests.Response":
        """The answer, whatever its status. Raises Transient if one may still come, Broken if none can."""
        with self._failures_as_errors():
            session = self._opened()
            return self._exchange(
                method,
                path,
                lambda: session.request(
                    method,
                    self._endpoint + path,
                    headers={**self._headers, **(headers or {})},
                    json=body,
                    timeout=(min(_CONNECT_TIMEOUT_S, timeout_s), timeout_s),
                    allow_redirects=False,
                    proxies=self._proxies,
                ),
                lambda answer: answer.status_code,
            )

    @contextmanager
    def _failures_as_errors(self) -> Iterator[None]:
        import requests  # noqa: PLC0415 - 0.1 s that --help need not pay

        api, remedy = self._shown, f"check {self.setting} and the network"
        try:
            yield
        except requests.exceptions.SSLError as error:
            raise Broken(f"{api}: no trusted encryption ({cause(error)})") from error
        except (requests.exceptions.ConnectionError, requests.exceptions.Timeout) as error:
            raise Transient(f"{api} does not answer: {cause(error)}; {remedy}") from error
        except (requests.exceptions.ChunkedEncodingError, requests.exceptions.ContentDecodingError) as error:
            raise Transient(f"{api}: the answer was cut off ({cause(error)})") from error
        except (requests.exceptions.InvalidHeader, UnicodeError):  # the error's text holds the secret: not chained
            raise Broken(f"{api} cannot be called: the {self.secret} has a forbidden character") from None
        except (requests.exceptions.InvalidURL, requests.exceptions.InvalidSchema, requests.exceptions.MissingSchema):
            # The error's text has all of the address, so it is not chained.
            raise Broken(f"{api} cannot be called: the address, or that of a proxy, is malformed; {remedy}") from None
        except (requests.exceptions.RequestException, ValueError) as error:
            raise Broken(f"{api} cannot be called: {cause(error)}") from error


def prepare(session: "requests.Session") -> "requests.Session":
    """The session, with a pool for all threads, and without the credentials that ``requests`` takes from ~/.netrc."""
    from requests.adapters import HTTPAdapter  # noqa: PLC0415 - 0.1 s that --help need not pay

    for scheme in ("http://", "https://"):
        session.mount(scheme, HTTPAdapter(pool_maxsize=_POOL_SIZE))
    session.auth = lambda request: request
    return session
