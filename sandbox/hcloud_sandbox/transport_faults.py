"""Faults of the proxy between a client and an API, as values, and the requests that each one hits.

A fault is one JSON object: ``kind``, the members of that kind, and those of every fault, which say whom it hits.
"""

import re
import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from hcloud_sandbox.faults import Kinds, Parameter, a_duration, a_shift, fits, read_fault, whole


def _is_pattern(value: Any) -> bool:
    try:
        return bool(re.compile(value))
    except (re.error, TypeError):
        return False


def _is_header(name: str, text: Any) -> bool:
    """Whether it can be sent as one (RFC 9110, 5.1 and 5.5)."""
    return bool(re.fullmatch(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+", name)) and (
        isinstance(text, str) and not re.search(r"[\r\n\0]", text)
    )


_text = fits(lambda value: isinstance(value, str) and value != "", "a text")
_pattern = fits(_is_pattern, "a regular expression")
_status = fits(lambda value: isinstance(value, int) and value in range(200, 600), "a final HTTP status, 200 to 599")
_body = fits(lambda value: isinstance(value, dict | list | str), "an object, a list or a text")
_headers = fits(
    lambda value: isinstance(value, dict) and all(_is_header(name, text) for name, text in value.items()),
    "an object of texts without line breaks",
)
_OF_ALL: Mapping[str, Parameter] = {
    "method?": _text,
    "path?": _pattern,
    "query?": _pattern,
    "client?": _text,
    "skip?": whole(0),
}
KINDS: Kinds = {
    kind: {**_OF_ALL, **own}
    for kind, own in {
        "status": {"code": _status, "body?": _body, "headers?": _headers},
        "hang": {},
        "delay": {"seconds": a_duration},
        "reset": {},
        "cut_body": {},
        "executed_then_504": {},
        "executed_then_reset": {},
        "half_open": {},
        "cut_client": {"client": _text},
        "clock": {"seconds": a_shift},
    }.items()
}
_SILENT_FROM_NOW = {"half_open", "cut_client"}


@dataclass(frozen=True, slots=True)
class Subject:
    """The part of a request by which faults choose."""

    method: str
    path: str
    query: str = ""
    user_agent: str = ""
    authorization: str = ""


@dataclass(slots=True)
class Fault:
    """One fault, and how many requests it still lets through and still hits."""

    kind: str
    method: str | None = None
    path: str = ""
    """A regular expression that has to match from the start of the path; a plain prefix is one."""
    query: str = ""
    """A regular expression that has to be found in the query, such as ``watch=true``."""
    client: str = ""
    """Hits only requests that have this anywhere in ``User-Agent`` or whose ``Authorization`` ends with it."""
    count: int | None = 1
    """How many requests are hit; None means all of them until the faults are cleared."""
    skip: int = 0
    """How many matching requests pass before the first one is hit."""
    code: int = 200
    body: Any = None
    headers: Mapping[str, str] | None = None
    seconds: float = 0.0
    skipped: list[Subject] = field(default_factory=list)
    """The requests that have passed because of ``skip``: their answers pass as well."""

    @classmethod
    def parse(cls, sent: Any) -> "Fault":
        """The fault that a JSON object describes. Raises ValueError that names what is wrong and what is known."""
        if isinstance(sent, dict):
            # A null means the default, but null as the count is a value of its own, and the default of one kind.
            sent = {name: value for name, value in sent.items() if value is not None or name == "count"}
            sent |= {"count": None} if sent.get("kind") == "cut_client" and "count" not in sent else {}
        kind, parameters, count = read_fault(KINDS, sent)
        return cls(kind, count=count, **parameters)

    def matches(self, subject: Subject) -> bool:
        """Whether this is a request that the fault is about, whatever is left of its count."""
        return (
            self.method in {None, subject.method}
            and re.match(self.path, subject.path) is not None
            and re.search(self.query, subject.query) is not None
            and (self.client in subject.user_agent or subject.authorization.endswith(self.client))
        )


class FaultList:
    """The faults of one proxy, in the order in which they were added. Safe to use from any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._faults: list[Fault] = []

    def add(self, faults: list[Any]) -> None:
        """Add all of them, or none and raise ValueError."""
        parsed = [Fault.parse(fault) for fault in faults]
        with self._lock:
            self._faults += parsed

    def clear(self) -> None:
        """Forget all of them."""
        with self._lock:
            self._faults.clear()

    def __bool__(self) -> bool:
        """Whether any is left."""
        return bool(self._faults)

    def take(self, subject: Subject) -> Fault:
        """The first fault that hits this new request, counted as used; one of kind ``none`` lets the request pass.

        A fault that still skips has counted the request, and the next fault is asked.
        """
        with self._lock:
            for fault in self._faults:
                if fault.matches(subject):
                    if fault.skip == 0:
                        return self._use(fault)
                    fault.skip -= 1
                    fault.skipped.append(subject)
        return Fault("none")

    def silences(self, subject: Subject) -> bool:
        """Whether an answer that is being streamed goes silent from now on; the fault is counted as used."""
        with self._lock:
            for fault in self._faults:
                if fault.kind not in _SILENT_FROM_NOW or fault.skip or not fault.matches(subject):
                    continue
                if not any(passed is subject for passed in fault.skipped):
                    self._use(fault)
                    return True
        return False

    def _use(self, fault: Fault) -> Fault:
        if fault.count is not None:
            fault.count -= 1
            if fault.count == 0:
                self._faults.remove(fault)
        return fault
