"""What an API says that refuses, and what a client's library raises where no whole answer comes."""

from collections.abc import Mapping
from typing import Any, cast

import requests
from urllib3.exceptions import IncompleteRead, ProtocolError, ReadTimeoutError

SAID = "a fault of the campaign"
_REASONS = {
    401: "Unauthorized",
    409: "Conflict",
    423: "Locked",
    429: "TooManyRequests",
    500: "InternalError",
    503: "ServiceUnavailable",
}
_CODES = {
    401: "unauthorized",
    409: "conflict",
    423: "locked",
    429: "rate_limit_exceeded",
    500: "server_error",
    503: "unavailable",
}
_OF_KUBERNETES = ("kubernetes", "lease")


def refusal(api: str, status: int) -> Mapping[str, Any]:
    if api not in _OF_KUBERNETES:
        return {"error": {"code": _CODES[status], "message": SAID, "details": None}}
    said = {"status": "Failure", "reason": _REASONS[status], "code": status, "message": SAID}
    return {"kind": "Status", "apiVersion": "v1", **said}


def timeout(api: str) -> Exception:
    """No answer comes in time."""
    return ReadTimeoutError(cast("Any", None), "/", SAID) if api in _OF_KUBERNETES else requests.ReadTimeout(SAID)


def reset(api: str) -> Exception:
    """The connection ends in the middle of the answer."""
    if api in _OF_KUBERNETES:
        return ProtocolError(SAID, IncompleteRead(1, 2))
    return requests.exceptions.ChunkedEncodingError(SAID)
