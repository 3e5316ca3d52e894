"""Errors of API calls: the classes into which clients sort refusals, the tables by which they do, and the text of an
error in one line, without secrets."""

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from actuators.http.shown import with_shown_addresses

_LONGEST = 300
_OBJECTS = re.compile(
    r"HTTPS?Connection(?:Pool)?\(host='[^']*', port=\w+\): |<[\w.]+ object at 0x[0-9a-f]+>(?:: |, )"
    r"|^SSLError |\[Errno -?\d+\] |\[SSL(?:: \w+)?\] | ?\(_ssl\.c:\d+\)"
)
"""What libraries put before and behind the words of the operating system."""
_TIMED_OUT = re.compile(r"Read timed out\. \(read timeout=([\d.]+)\)")
_NOT_CONNECTED = re.compile(r"Connection to \S+ timed out\. \(connect timeout=([\d.]+)\)")
_CUT_OFF = re.compile(r"IncompleteRead\((\d+) bytes read, (\d+) more expected\)")


def one_line(text: object) -> str:
    """The text on one line, shortened, its addresses as they may be shown: libraries repeat what they were given."""
    return with_shown_addresses(" ".join(str(text).split()))[:_LONGEST]


def cause(error: object) -> str:
    """The innermost reason of a transport's error, or of its text, on one line: in the words of the operating system,
    without the library's. Time-outs are in whole seconds: what is left of one differs each time."""
    said = ""
    while isinstance(error, BaseException):
        below = (getattr(error, "reason", None), *error.args)
        inner = [reason for reason in below if isinstance(reason, BaseException)]
        if not inner:
            break
        if error.args and isinstance(error.args[0], str):  # "Unable to connect to proxy", the reason beside it
            said = f"{error.args[0].partition(':')[0].rstrip('.')}: "
        error = inner[-1]
    text = _OBJECTS.sub("", one_line(f"{said}{error}"))
    text = _TIMED_OUT.sub(lambda found: f"timed out after {_seconds(found)} s", text)
    text = _NOT_CONNECTED.sub(lambda found: f"no connection within {_seconds(found)} s", text)
    return _CUT_OFF.sub(r"closed after \1 bytes, \2 more expected", text)


def _seconds(found: re.Match[str]) -> int:
    return max(1, round(float(found[1])))


class ApiError(Exception):
    """A call failed. ``status`` is the HTTP status, None when there was no answer; ``code`` is the API's own word for
    the error, and ``said`` its sentence, "" when it said none."""

    def __init__(self, message: str, *, status: int | None = None, code: str | None = None, said: str = "") -> None:
        super().__init__(message)
        self.status = status
        self.code = code
        self.said = said


class NotFound(ApiError):
    """The API says that the object does not exist. A 404 without the API's own error body is Broken instead."""


class Conflict(ApiError):
    """Another client changed the object, or it is another one under the same name."""


class Busy(Conflict):
    """The API refused before doing anything, because another change of the object is under way."""


class Outdated(Conflict):
    """The object of the write is gone since the list, or is there without being listed: only a new reading helps."""


class Invalid(ApiError):
    """The request can never succeed as it is."""


class Exhausted(Invalid):
    """The project may have no more of it, the account may not pay for it, or it is locked: a person has to fix that."""


class Denied(ApiError):
    """The credentials are missing, wrong, or may not do this."""


class Throttled(ApiError):
    """The API refused before doing anything; ``retry_after_s`` is when one more request may pass."""

    def __init__(
        self, message: str, *, retry_after_s: float, status: int | None = None, code: str | None = None, said: str = ""
    ) -> None:
        super().__init__(message, status=status, code=code, said=said)
        self.retry_after_s = retry_after_s


class OverBudget(Throttled):
    """The call was not sent: this process has used up its own share of the allowance."""


class Transient(ApiError):
    """It may work in a moment. A write may have been carried out all the same."""


class Stopped(Transient):
    """The run was told to stop, and did not wait for the end of what it had asked for. Nothing went wrong."""


class NotLeader(Stopped):
    """The write was not sent, because another process leads by now, or may lead."""


class Broken(ApiError):
    """Something answered that is not the API, or not as the API answers."""


@contextmanager
def broken_unless_readable(otherwise: str) -> Iterator[None]:
    """Raise Broken if what the block reads of an answer is wrong: ``otherwise``, and the reason in brackets."""
    try:
        yield
    except ValueError as error:
        raise Broken(f"{otherwise} ({one_line(error)})") from error


HETZNER_CODES: Mapping[str, type[ApiError]] = {
    "not_found": NotFound,
    "unauthorized": Denied,
    "forbidden": Denied,
    "token_readonly": Denied,
    "resource_limit_exceeded": Exhausted,
    "resource_locked": Exhausted,
    "conflict": Busy,
    "locked": Busy,
    "uniqueness_error": Conflict,
    "rate_limit_exceeded": Throttled,
    "bad_gateway": Transient,
    "maintenance": Transient,
    "resource_unavailable": Transient,
    "robot_unavailable": Transient,
    "server_error": Transient,
    "timeout": Transient,
    "unavailable": Transient,
    "unknown_error": Transient,
}
"""Code of the Hetzner Cloud API → class, where the code says more than the status."""
_STATUSES: Mapping[int, type[ApiError]] = {429: Throttled, **dict.fromkeys((408, 500, 502, 503, 504), Transient)}
_OF_KUBERNETES: Mapping[int, type[ApiError]] = {401: Denied, 403: Denied, 409: Conflict, 410: Conflict}


def class_at_hetzner(status: int, code: str | None) -> type[ApiError]:
    """The class of a refusal of the Hetzner Cloud API; ``code`` is None for an answer without its error body."""
    if status == 429:
        return Throttled
    by_status = {401: Denied, 403: Denied} if code is None else {402: Exhausted}
    known = HETZNER_CODES.get(code or "") or by_status.get(status)
    return known or _by_status(status, is_said=code is not None)


def class_at_kubernetes(status: int, said: str | None) -> type[ApiError]:
    """The class of a refusal of the API server (Kubernetes API conventions, HTTP status codes); ``said`` is its
    message, None without a Status."""
    if said is not None and (status == 404 or (status == 422 and "metadata.uid" in said)):
        return NotFound if status == 404 else Conflict
    return _OF_KUBERNETES.get(status) or _by_status(status, is_said=said is not None)


def _by_status(status: int, *, is_said: bool) -> type[ApiError]:
    """The class of any other refusal. Absence needs the API's own word: a bare 404 is Broken."""
    return _STATUSES.get(status) or (Invalid if is_said and 400 <= status < 500 else Broken)


def forget_frames(error: BaseException) -> None:
    """Let go of an error's frames, which hold the snapshot of their pass until the next collection."""
    known: BaseException | None = error
    while known is not None and known.__traceback__ is not None:
        known.__traceback__, known = None, known.__cause__ or known.__context__
