"""Faults of the proxy between a client and an API, as values, and the requests that each one hits.

A fault is one JSON object: ``kind``, the members of that kind, and those of every fault, which say whom it hits.
"""

import re
import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

KINDS: dict[str, Mapping[str, type | tuple[type, ...]]] = {
    "status": {"code": int, "body": (dict, list, str), "headers": dict},
    "hang": {},
    "delay": {"seconds": (int, float)},
    "reset": {},
    "cut_body": {},
    "executed_then_504": {},
    "executed_then_reset": {},
    "half_open": {},
    "cut_client": {},
    "clock": {"seconds": (int, float)},
}
"""Kind → its own members and their JSON types."""

_COMMON: Mapping[str, type | tuple[type, ...]] = {
    "kind": str,
    "method": str,
    "path": str,
    "query": str,
    "client": str,
    "count": int,
    "skip": int,
}
_REQUIRED = {"status": "code", "delay": "seconds", "clock": "seconds", "cut_client": "client"}
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
        if not isinstance(sent, dict):
            raise ValueError(f"a fault is an object, not {sent!r}")  # noqa: TRY004 - one error type for a bad fault
        kind = sent.get("kind")
        if not isinstance(kind, str) or kind not in KINDS:
            raise ValueError(f"unknown kind {kind!r}; known are {', '.join(KINDS)}")
        members = {**_COMMON, **KINDS[kind]}
        for name, value in sent.items():
            if name not in members:
                raise ValueError(f"{kind} has no {name!r}; known are {', '.join(members)}")
            # bool is an int to Python, not to JSON.
            if value is not None and (isinstance(value, bool) or not isinstance(value, members[name])):
                raise ValueError(f"{name} of {kind} cannot be {value!r}")
        required = _REQUIRED.get(kind)
        if required and sent.get(required) in {None, ""}:
            raise ValueError(f"{kind} needs {required!r}")
        # A null means the default, but null as the count is a value of its own.
        given = {name: value for name, value in sent.items() if value is not None or name == "count"}
        if kind == "cut_client":
            given.setdefault("count", None)
        fault = cls(**given)
        fault._check()
        return fault

    def matches(self, subject: Subject) -> bool:
        """Whether this is a request that the fault is about, whatever is left of its count."""
        return (
            self.method in {None, subject.method}
            and re.match(self.path, subject.path) is not None
            and re.search(self.query, subject.query) is not None
            and (self.client in subject.user_agent or subject.authorization.endswith(self.client))
        )

    def _check(self) -> None:
        if not 200 <= self.code <= 599:
            raise ValueError(f"code {self.code} is no final HTTP status")
        if self.count is not None and self.count < 1:
            raise ValueError(f"count is a positive number or null, not {self.count}")
        if self.skip < 0 or (self.seconds < 0 and self.kind != "clock"):
            raise ValueError("skip and seconds cannot be negative")
        if not all(isinstance(value, str) for value in (self.headers or {}).values()):
            raise ValueError("headers are strings")
        for pattern in (self.path, self.query):
            try:
                re.compile(pattern)
            except re.error as wrong:
                raise ValueError(f"{pattern!r} is no regular expression: {wrong}") from wrong


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
