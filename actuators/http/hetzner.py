"""The Hetzner Cloud API: raw bytes in, raw bytes out, over the session and credentials of the ``hcloud`` package.

The package's own retries are bypassed: they send a POST again after a time-out and ignore what the server says about
its rate limit. This is the only module that touches the private parts of ``hcloud`` that this needs.
"""

import logging
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from http import HTTPStatus
from typing import TYPE_CHECKING, Any

import msgspec

from actuators.concurrency import THREADS
from actuators.http.call_budget import DEFAULT_LIMIT, CallBudget
from actuators.http.connection import HttpConnection, note_correlation, prepare
from actuators.http.decoding import member
from actuators.http.errors import ApiError, Denied, Throttled, Transient, class_at_hetzner, one_line
from actuators.http.retry import Retry

if TYPE_CHECKING:
    from queue import SimpleQueue

    import hcloud
    import requests

_log = logging.getLogger("hcloud-reconciler.clients")
_rate_log = logging.getLogger("hcloud-reconciler.rate-limit")

_OUTAGE = ": an outage of Hetzner, or of a proxy on the way; it is tried again. See https://status.hetzner.com"
_TELL_AGAIN_S = 60.0
"""Seconds between two lines of the log that say that requests are refused for their number."""


@dataclass(frozen=True, slots=True)
class RateLimit:
    """The project's allowance, by the last answer."""

    limit: int
    """Requests an hour; the bucket refills evenly, one request every 3600/limit seconds."""
    remaining: int

    @property
    def refill_s(self) -> float:
        """Seconds until one more request may pass. ``RateLimit-Reset`` is when the bucket is full, an hour later."""
        return 3600.0 / max(1, self.limit)


class _Error(msgspec.Struct):
    code: str = ""
    message: str = ""
    details: Any = None

    @property
    def limits(self) -> str:
        """The limits that are exceeded, " load_balancer_limit"; "" when the API does not say (``details.limits`` of
        ``resource_limit_exceeded``)."""
        try:
            return "".join(f" {one_line(limit['name'])}" for limit in self.details["limits"])
        except (KeyError, TypeError):
            return ""


_error_in = member("error", _Error)


class HetznerConnection(HttpConnection):
    """One project's token on one endpoint, over which every call goes. Safe to use from several threads."""

    word, setting = "Hetzner API", "HCLOUD_ENDPOINT"

    def __init__(self, client: "hcloud.Client", *, endpoint: str, **options: Any) -> None:
        """``options`` are those of every connection."""
        base = client._client  # noqa: SLF001 - the package has no public way to switch its retries off
        super().__init__("hetzner", endpoint, base._headers, **options)  # noqa: SLF001
        self._session = prepare(base._session)  # noqa: SLF001
        self.rate_limit: RateLimit | None = None
        self._lock = threading.Lock()
        self._answers = 0
        """Number of answers that said something of the rate limit."""
        self._told_at: float | None = None
        """When it was last logged that the rate limit is reached."""
        self.budget: CallBudget | None = None
        """Paid for each call of a running controller. None for a run of ``--once``, which pays nothing."""

    def send(self, method: str, path: str, *, body: Any = None, repeatable: bool) -> bytes:
        """The answer's body. Raises an ApiError; PermissionError for a write on a connection for reading."""
        return self._call(
            method, path, lambda timeout_s: self._attempt(method, path, body, timeout_s), repeatable=repeatable
        )

    def read_once(self, path: str, timeout_s: float) -> bytes:
        """The answer's body to a GET that is never repeated, ``timeout_s`` later at most. Raises an ApiError."""
        return self._call(
            "GET", path, lambda left_s: self._attempt("GET", path, None, min(left_s, timeout_s)), once=True
        )

    def use_token(self, token: str) -> None:
        """Use another token from the next request on."""
        self._headers = {**self._headers, "Authorization": f"Bearer {token}"}

    def _attempt(self, method: str, path: str, body: Any, timeout_s: float) -> bytes:
        self._pace()
        if method != "GET":
            self._gate()  # only now: waiting for an allowance may have taken its time
        if self.budget is not None:
            self.budget.spend()
        answers = self._answers
        response = self._request(method, path, timeout_s, body=body)
        self._observe(response.headers, answers)
        is_refused = response.status_code >= HTTPStatus.MULTIPLE_CHOICES
        if is_refused or method != "GET":
            note_correlation(response.headers.get("X-Correlation-Id"))
        if is_refused:
            raise self._error(method, path, response)
        return response.content

    def _pace(self) -> None:
        """Wait for one request's worth of allowance when the last answer said that none is left."""
        limit = self.rate_limit
        if limit is not None and limit.remaining <= 0:
            self._retry.wait(limit.refill_s)

    def _observe(self, headers: Mapping[str, str], answers: int) -> None:
        """Note the rate limit. ``answers`` were there when the request was sent: of more, it is not known which is the
        later one, as answers overtake one another, and the one with less left counts."""
        try:
            limit, remaining = int(headers["RateLimit-Limit"]), int(headers["RateLimit-Remaining"])
        except (KeyError, ValueError):
            return  # a proxy's answer has no such headers; what was known stays known
        if limit <= 0 or remaining < 0:  # no project has an allowance of nothing: that is no word on ours
            return
        with self._lock:
            known = self.rate_limit
            if known is not None and known.limit == limit and self._answers > answers:
                remaining = min(remaining, known.remaining)
            self.rate_limit = RateLimit(limit, remaining)
            self._answers += 1
        if self.budget is not None:
            self.budget.allow(limit)

    def _error(self, method: str, path: str, response: "requests.Response") -> ApiError:
        """The ApiError for the API's refusal (Hetzner Cloud API, error codes)."""
        status, call = response.status_code, f"{method} {path.partition('?')[0]}"
        try:
            said = _error_in(response.content)
        except ValueError:
            said = None
        code = said.code if said else None
        kind = class_at_hetzner(status, code)
        is_denied = said is not None and kind is Denied
        # The correlation id differs with each answer: in the message it would make the same trouble look new. That
        # something is not there is an answer to a question, such as absence-proof asks, and no trouble; a wrong token
        # is told once, and not for each list.
        is_told = method == "GET" and (status == HTTPStatus.NOT_FOUND or is_denied)
        correlation_id, level = response.headers.get("X-Correlation-Id"), logging.DEBUG if is_told else logging.INFO
        _log.log(level, "refused by Hetzner: %s %s, correlation id %s", call, status, correlation_id)
        if said:
            words = (one_line(said.message), f"({said.code}{said.limits})" if said.code else "")
            why = " ".join(filter(None, words)) + ("; check HCLOUD_TOKEN" if is_denied else "")
        else:
            why = response.reason or "without a reason"
            why += _OUTAGE if kind is Transient else ", which is no answer of the Hetzner API; check HCLOUD_ENDPOINT"
        if status == HTTPStatus.NOT_FOUND and path.count("/") == 1 and not self._endpoint.endswith("/v1"):
            why += "; HCLOUD_ENDPOINT has no /v1 at its end, as in https://api.hetzner.cloud/v1"
        message = f"{self._shown}: {call} answers {status} {why}"
        if kind is Throttled:
            refill_s = self.rate_limit.refill_s if self.rate_limit else 3600.0 / DEFAULT_LIMIT
            self._tell_throttled(call)
            return Throttled(message, retry_after_s=refill_s, status=status, code=code)
        return kind(message, status=status, code=code, said=f"{said.message}{said.limits}" if said else "")

    def _tell_throttled(self, call: str) -> None:
        """Log that the project's allowance is used up: at once, as the call itself is tried again for half a minute
        before a pass tells of it, and once a minute while that lasts, whatever the number of calls."""
        now = self._retry.concurrency.clock()
        with self._lock:
            if self._told_at is not None and now - self._told_at < _TELL_AGAIN_S:
                return
            self._told_at = now
        limit = f"the project's {self.rate_limit.limit} requests an hour" if self.rate_limit else "those of the project"
        _rate_log.warning("%s answers 429: %s are used up; requests wait and are sent again", call, limit)


_CHEAPEST = "/servers?per_page=1"


class HetznerReader:
    """A client that can only GET."""

    concurrency = THREADS
    """That of the connection, where there is one."""

    def __init__(self, connection: HetznerConnection) -> None:
        self._connection = connection
        self.concurrency = connection.concurrency
        self.requests = connection.requests
        self.dates = connection.dates
        self._ahead: dict[str, SimpleQueue[bytes | Exception]] = {}

    @property
    def rate_limit(self) -> RateLimit | None:
        """The project's allowance as last seen; None before the first answer."""
        return self._connection.rate_limit

    def get(self, path: str) -> bytes:
        """The body of one answer. Raises an ApiError."""
        ahead = self._ahead.pop(path, None)
        found = self._connection.send("GET", path, repeatable=True) if ahead is None else ahead.get()
        if isinstance(found, Exception):
            raise found
        return found

    def read_ahead(self, path: str) -> None:
        """Ask for this now, and return at once: who is the next to ``get`` it gets this answer, or its error. A run
        that ends before waits for neither."""
        answer: SimpleQueue[bytes | Exception] = self.concurrency.queue()

        def ask() -> None:
            try:
                answer.put(self._connection.send("GET", path, repeatable=True))
            except Exception as error:  # noqa: BLE001 - who gets it raises it
                answer.put(error)

        self._ahead[path] = answer
        self.concurrency.start(ask, "ahead")

    def get_once(self, path: str, timeout_s: float) -> bytes:
        """The same for an answer that is not worth waiting for: one try, ``timeout_s`` long at most."""
        return self._connection.read_once(path, timeout_s)

    def try_token(self) -> None:
        """Ask for what any token may read, in one small answer. Raises an ApiError that tells why it may not."""
        self.get(_CHEAPEST)


class HetznerWriter:
    """A client that changes things. Never constructed in a dry run.

    A refusal that says that nothing was done is waited out: ``locked``, ``conflict``, ``rate_limit_exceeded``.
    """

    def __init__(self, connection: HetznerConnection) -> None:
        self._connection = connection
        self.requests = connection.requests

    def post(self, path: str, body: Mapping[str, Any] | None = None, *, repeatable: bool = False) -> bytes:
        """POST; the body of its answer. Sent once: whether a failed one was carried out is for the caller to look up.

        ``repeatable`` is for actions that leave the same world when they are carried out twice. Raises an ApiError.
        """
        return self._connection.send("POST", path, body=body, repeatable=repeatable)

    def put(self, path: str, body: Mapping[str, Any]) -> bytes:
        """PUT, repeated after a transient failure: it sets absolute values. Raises an ApiError."""
        return self._connection.send("PUT", path, body=body, repeatable=True)

    def delete(self, path: str) -> bytes:
        """DELETE; the body of its answer, empty when there is none. Repeated after a transient failure, when NotFound
        may mean that the first try was carried out. Raises an ApiError.
        """
        return self._connection.send("DELETE", path, repeatable=True)


def connect(
    token: str,
    endpoint: str,
    *,
    application: tuple[str, str],
    retry: Retry,
    timeout_s: float,
    read_only: bool,
    gate: Callable[[], None] = lambda: None,
) -> HetznerConnection:
    """A connection with the project's ``token``. ``application`` is name and version for the ``User-Agent``."""
    import hcloud  # noqa: PLC0415 - 0.1 s that --help need not pay

    name, version = application
    client = hcloud.Client(token, api_endpoint=endpoint, application_name=name, application_version=version)
    return HetznerConnection(
        client, endpoint=endpoint, retry=retry, timeout_s=timeout_s, read_only=read_only, gate=gate
    )
