"""The Robot webservice (dedicated servers), read alone: raw bytes out.

Three wrong log-ins lock this address out for ten minutes, for people and other tools as well. Therefore calls go one at
a time, and after a 401 none is sent until the credentials change, by the next process neither. After a 403 none is sent
for as long as the answer asks for.

| Answer | Error |
|---|---|
| 401 | Denied, and so is every later call without being sent |
| 403 ``RATE_LIMIT_EXCEEDED`` | Throttled for its ``interval``, and so is every later call to that endpoint |
| another 403 | Throttled for ten minutes: the address is locked out, and so is every later call |
| 404 with the service's own code | NotFound: ``SERVER_NOT_FOUND`` is also how an empty list is told |
| 503 and other 5xx, and no answer | Transient, and its endpoint is not asked for a minute, then up to five |
| what is none of the service's answers | Broken |

The limits are those of an endpoint and an hour, 200 for servers and 500 for resets (Robot webservice, documentation):
this process takes less than a third of each.

Log-ins that were refused are kept in the controller's record for the next process, as a CronJob with a wrong password
is a new process every few minutes. An entry names a log-in by sixteen bits of a slow hash, which tell two log-ins apart
and reveal no password. It is read before it is known which cluster this is.
"""

import base64
import hashlib
import logging
import threading
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from http import HTTPStatus
from typing import TYPE_CHECKING, Any

import msgspec

from actuators.concurrency import THREADS
from actuators.http.connection import HttpConnection
from actuators.http.decoding import member
from actuators.http.errors import (
    ApiError,
    Broken,
    Denied,
    Invalid,
    NotFound,
    OverBudget,
    Stopped,
    Throttled,
    Transient,
    one_line,
)
from actuators.http.retry import Retry
from desired.model.clocks import TOLERANCE
from desired.model.remembered import RefusedLogin

if TYPE_CHECKING:
    import requests

_log = logging.getLogger("hcloud-reconciler.clients")

_HOUR_S = 3600.0
_LOCKED_OUT_S = 600.0
_FIRST_REST_S, _LONGEST_REST_S = 60.0, 300.0
"""After a call that got no answer."""
_MOST_WRONG = 2
"""Log-ins that may fail in the time of a lock-out: a third one brings it about (Robot webservice, authentication)."""
_MOST_AN_HOUR: Mapping[str, int] = {"server": 60, "reset": 150}
"""Endpoint → calls that this process sends to it in any hour."""
ENDPOINTS = tuple(_MOST_AN_HOUR)
_FOR_LISTS = 15
"""Of those to servers, so many are for lists alone: one each five minutes, and a few that are tried again."""
_NOT_FOUND: Mapping[str, frozenset[str]] = {
    "server": frozenset({"SERVER_NOT_FOUND"}),
    "reset": frozenset({"SERVER_NOT_FOUND", "NOT_FOUND", "RESET_NOT_AVAILABLE"}),
}
"""Endpoint → the words by which it says that something is not there."""


@dataclass(frozen=True, slots=True)
class RobotLogin:
    """User and password of the webservice, which are not those of the account."""

    user: str
    password: str

    def __repr__(self) -> str:
        return "RobotLogin(...)"

    @property
    def header(self) -> str:
        """``Authorization`` (RFC 7617)."""
        return f"Basic {self._encoded}"

    @property
    def secrets(self) -> tuple[str, ...]:
        """The texts that give it away."""
        return self.password, self._encoded

    @property
    def tag(self) -> str:
        """What tells it from others, and reveals no password: four hexadecimal digits."""
        return hashlib.scrypt(self.password.encode(), salt=self.user.encode(), n=2**13, r=8, p=1, dklen=2).hex()

    @property
    def _encoded(self) -> str:
        return base64.b64encode(f"{self.user}:{self.password}".encode()).decode()


class _Error(msgspec.Struct):
    code: str = ""
    message: str = ""
    interval: Any = None


_error_in = member("error", _Error)

_REFUSAL_COUNTS_FOR = timedelta(hours=1)
"""How long a log-in that was refused is not tried again by a new process: it may have been mended in Robot."""


class Refusals:
    """The refused log-ins in the controller's record. Without an API server nothing waits for it."""

    def __init__(
        self,
        read: Callable[[], Iterable[RefusedLogin]],
        write: Callable[[RefusedLogin], None] | None,
        now: Callable[[], datetime],
    ) -> None:
        """``read`` returns those in the record; ``write`` adds one, and is None if nothing may be written. Both may
        raise an ApiError."""
        self._read = read
        self._write = write
        self._now = now

    def recall(self) -> tuple[tuple[str, float], ...] | None:
        """Tag and age in seconds of each refusal that counts now, oldest first; None if the API server does not tell.
        Raises OverBudget for a record that is there and cannot be read: it may have the second of two refusals."""
        now = self._now()
        try:
            ages = sorted(((now - refused.at, refused.tag) for refused in self._read()), reverse=True)
        except Broken as error:
            raise OverBudget(f"nothing is asked of Robot: {error}", retry_after_s=_FIRST_REST_S) from error
        except ApiError as error:
            _log.info("cannot read the refused Robot log-ins: %s", error)
            return None
        counting = ((tag, age) for age, tag in ages if -TOLERANCE <= age < _REFUSAL_COUNTS_FOR)
        return tuple((tag, max(0.0, age.total_seconds())) for tag, age in counting)

    def note(self, tag: str) -> None:
        """Write down that a log-in was refused just now."""
        if self._write is None:
            return
        try:
            self._write(RefusedLogin(tag, self._now()))
        except ApiError as error:
            _log.info("cannot store the refused Robot log-in: %s", error)


class RobotReader(HttpConnection):
    """A client that can only GET. Safe to use from several threads."""

    word, setting, secret = "Robot webservice", "ROBOT_ENDPOINT", "user or the password"

    concurrency = THREADS
    """That of its retries, where it sends anything."""

    def __init__(
        self,
        login: RobotLogin,
        *,
        endpoint: str,
        user_agent: str,
        retry: Retry,
        timeout_s: float,
        pause_s: float = 0.0,
        clock: Callable[[], float] | None = None,
        refusals: Refusals | None = None,
    ) -> None:
        """``pause_s`` is how long nothing is asked after a rate limit, 0: as long as the answer says. ``clock`` gives
        seconds and never goes back; None is that of ``retry``. ``refusals`` is what other processes were refused, None
        where that is not known."""
        headers = {"User-Agent": user_agent, "Accept": "application/json"}
        super().__init__("robot", endpoint.rstrip("/"), headers, retry=retry, timeout_s=timeout_s, read_only=True)
        self._login = login
        self._pause_s = pause_s
        self._clock = clock or retry.concurrency.clock
        self._lock = threading.Lock()
        self._one_by_one = retry.concurrency.lock()
        """Wrong credentials are sent once, and a service that hangs is waited for once, not by ten threads."""
        self._rests: dict[str, float] = {}
        self._refusals = refusals
        self._recalled = refusals is None
        self._is_refused = False
        self._refused_at: deque[float] = deque(maxlen=_MOST_WRONG)
        self._waits: dict[str, tuple[float, str]] = {}
        self._sent: Mapping[str, deque[float]] = {endpoint: deque() for endpoint in _MOST_AN_HOUR}

    def get(self, path: str) -> bytes:
        """The body of the answer to ``/server``, ``/server/NUMBER`` or ``/reset/NUMBER``. Raises an ApiError."""
        with self._one_by_one:
            if not self._recalled:
                self._recall()
            try:
                return self._call("GET", path, lambda timeout_s: self._attempt(path, timeout_s))
            except Stopped:
                raise
            except Transient as error:
                self._rest(_endpoint_of(path), error)
                raise

    def use_login(self, login: RobotLogin) -> None:
        """Use other credentials from the next call on, which is sent even if the last ones were refused; but after two
        that were, not before a third wrong one would do no harm."""
        with self._lock:
            if login != self._login:
                self._login, self._is_refused = login, False

    def left(self, endpoint: str) -> int:
        """How many calls may be sent to ``server`` or ``reset`` now; 0 while the webservice asks for silence."""
        with self._lock:
            now = self._clock()
            if self._is_refused or any(now < self._waits.get(who, (now, ""))[0] for who in (endpoint, "")):
                return 0
            self._forget_old(endpoint, now)
            return max(0, _MOST_AN_HOUR[endpoint] - len(self._sent[endpoint]))

    def _recall(self) -> None:
        """Take over what other processes were refused: this one is not the third."""
        refused = self._refusals.recall() if self._refusals else ()
        if refused is None:  # the next call asks again
            return
        with self._lock:
            self._recalled = True
            now, login = self._clock(), self._login
            self._refused_at.extend(now - age_s for _, age_s in refused)
        if refused and login.tag in (tag for tag, _ in refused):
            with self._lock:
                self._is_refused = login == self._login

    def _forget_old(self, endpoint: str, now: float) -> None:
        sent = self._sent[endpoint]
        while sent and sent[0] <= now - _HOUR_S:
            sent.popleft()

    def _attempt(self, path: str, timeout_s: float) -> bytes:
        login = self._admit(path)
        response = self._request("GET", path, timeout_s, headers={"Authorization": login.header})
        if response.status_code == HTTPStatus.OK:
            self._prove(path)
            return response.content
        raise self._error(path, response, login)

    def _admit(self, path: str) -> RobotLogin:
        """The credentials for a call that is about to be sent. Raises an ApiError when it is not to be."""
        endpoint, single = path.strip("/").partition("/")[::2]
        most = _MOST_AN_HOUR[endpoint] - (_FOR_LISTS if endpoint == "server" and single else 0)
        with self._lock:
            if self._is_refused:
                raise Denied(self._refusal(), status=HTTPStatus.UNAUTHORIZED)
            now, sent = self._clock(), self._sent[endpoint]
            if len(self._refused_at) == _MOST_WRONG and now < (until := self._refused_at[0] + _LOCKED_OUT_S):
                why = "two log-ins have failed, and a third within ten minutes might lock this address out"
                raise OverBudget(f"{self._shown}: {why}", retry_after_s=until - now)
            for who in (endpoint, ""):
                until, why = self._waits.get(who, (now, ""))
                if now < until:
                    raise OverBudget(why, retry_after_s=until - now)
            self._forget_old(endpoint, now)
            if len(sent) >= most:
                why = f"the request was not sent: this controller has used its share of {len(sent)} in the last hour"
                raise OverBudget(f"{self._shown}: {why}", retry_after_s=sent[0] + _HOUR_S - now)
            sent.append(now)
            return self._login

    def _prove(self, path: str) -> None:
        """An answer has shown that the credentials are good: failed log-ins before it count no more."""
        with self._lock:
            self._refused_at.clear()
            self._rests.pop(_endpoint_of(path), None)

    def _rest(self, endpoint: str, error: Transient) -> None:
        """Ask it nothing for a while, each time twice as long: what hangs must not keep the pass of a healthy cloud."""
        with self._lock:
            rest_s = self._rests[endpoint] = min(self._rests.get(endpoint, 0.0) * 2 or _FIRST_REST_S, _LONGEST_REST_S)
            self._waits[endpoint] = (self._clock() + rest_s, str(error))

    def _error(self, path: str, response: "requests.Response", login: RobotLogin) -> ApiError:
        """The ApiError for the service's refusal."""
        status = response.status_code
        try:
            said = _error_in(response.content)
        except ValueError:
            said = _Error()
        if status == HTTPStatus.UNAUTHORIZED:
            with self._lock:
                self._is_refused = self._is_refused or login == self._login
                self._refused_at.append(self._clock())
            if self._refusals:
                self._refusals.note(login.tag)
            return Denied(self._refusal(), status=status, code=said.code)
        why = (
            f"{one_line(said.message)} ({one_line(said.code)})" if said.code else response.reason or "without a reason"
        )
        message = f"{self._shown}: GET {path} answers {status} {why}"
        if status == HTTPStatus.FORBIDDEN:
            return self._throttled(path, message, said)
        if status == HTTPStatus.NOT_FOUND and said.code in _NOT_FOUND[_endpoint_of(path)]:
            self._prove(path)
            return NotFound(message, status=status, code=said.code, said=said.message)
        if status >= HTTPStatus.INTERNAL_SERVER_ERROR or status == HTTPStatus.REQUEST_TIMEOUT:
            return Transient(message, status=status, code=said.code)
        if said.code:
            return Invalid(message, status=status, code=said.code, said=said.message)
        return Broken(f"{message}, which is no answer of the Robot webservice; check ROBOT_ENDPOINT", status=status)

    def _throttled(self, path: str, message: str, said: _Error) -> Throttled:
        """After a rate limit its endpoint is left alone, after any other 403 the whole service."""
        is_limit = said.code == "RATE_LIMIT_EXCEEDED"
        wait_s = (self._pause_s or _seconds(said.interval)) if is_limit else max(self._pause_s, _LOCKED_OUT_S)
        whom = _endpoint_of(path) if is_limit else ""
        if not is_limit:
            message += ": this address is locked out after wrong log-ins, or may not use the service"
        with self._lock:
            self._waits[whom] = (self._clock() + wait_s, message)
        return Throttled(message, retry_after_s=wait_s, status=HTTPStatus.FORBIDDEN, code=said.code or None)

    def _refusal(self) -> str:
        return (
            f"{self._shown}: user or password is wrong; nothing is asked until ROBOT_USER or ROBOT_PASSWORD change, as"
            " three wrong log-ins lock this address out"
        )


def _endpoint_of(path: str) -> str:
    return path.strip("/").partition("/")[0]


def _seconds(interval: Any) -> float:
    """Until what exceeded the limit is forgotten: an hour where the answer does not say so, or no time that can be."""
    try:
        found = float(interval)
    except (TypeError, ValueError):
        return _HOUR_S
    return found if 0 < found <= _HOUR_S else _HOUR_S
