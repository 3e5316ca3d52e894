"""The control API of a sandbox that runs, in this process or in another one: faults, clock, world, request log."""

import json
import re
from collections.abc import Mapping
from contextlib import closing
from datetime import datetime, timedelta
from http.client import HTTPConnection, HTTPException
from typing import Any
from urllib.parse import urlsplit

_UNITS = {"h": 3600.0, "m": 60.0, "s": 1.0, "ms": 0.001}
_PART = r"(\d+(?:\.\d+)?)(h|ms|m|s)"
_PATIENCE_S = 10.0


class Control:
    """What can be done to one simulator, or to a fault proxy, besides asking its API. Faults, world and log are its
    own; the clock is that of its whole sandbox.

    Each method raises ValueError with the sandbox's own words for what it refuses, and OSError where none answers.
    """

    def __init__(self, url: str) -> None:
        """``url`` is what clients of the API are given, such as HCLOUD_ENDPOINT: ``/v1`` may be at its end. Raises
        ValueError for what no sandbox is served at, the real API among it."""
        self.url = url
        try:
            parts = urlsplit(url)
            self._host, self._port = parts.hostname or "", parts.port or 80
        except ValueError:  # brackets without an end, or a port that is none
            parts = None
        if parts is None or parts.scheme != "http" or not self._host or parts.path.rstrip("/") not in {"", "/v1"}:
            raise ValueError(f"{url!r} is no address of a sandbox: expect one such as http://127.0.0.1:8080/v1")

    def add_fault(self, kind: str, **members: Any) -> None:
        """Let something go wrong once, or ``count`` times; with a count of None until ``clear_faults``. Kinds and
        their members are those of ``POST /_sandbox/faults``."""
        self._ask("POST", "faults", {"kind": kind, **members})

    def clear_faults(self) -> None:
        """Forget all faults, whoever added them."""
        self._ask("DELETE", "faults")

    def advance(self, duration: float | str | timedelta) -> datetime:
        """Let time pass at once: seconds, or a text such as ``1h30m``. Returns what time it is now in the sandbox."""
        if isinstance(duration, str):
            duration = seconds_in(duration)
        elif isinstance(duration, timedelta):
            duration = duration.total_seconds()
        elif isinstance(duration, bool):
            raise ValueError(f"{duration!r} is no duration: expect seconds, or a text such as 90s")  # noqa: TRY004
        return datetime.fromisoformat(self._ask("POST", "advance", {"seconds": duration})["now"])

    def world(self) -> dict[str, Any]:
        """The simulator's part of a world file, as it is now."""
        found: dict[str, Any] = self._ask("GET", "world")
        return found

    def replace_world(self, world: Mapping[str, Any]) -> None:
        """Start anew from a world file, or from the simulator's part of one."""
        self._ask("PUT", "world", world)

    def requests(self) -> list[dict[str, Any]]:
        """What its API was asked, oldest first: method, path, query, status (0: no answer), body, client."""
        found: list[dict[str, Any]] = self._ask("GET", "requests")
        return found

    def clear_requests(self) -> None:
        """Begin the log anew."""
        self._ask("DELETE", "requests")

    def _ask(self, method: str, name: str, body: Any = None) -> Any:
        sent = None if body is None else json.dumps(body)
        try:
            with closing(HTTPConnection(self._host, self._port, timeout=_PATIENCE_S)) as connection:
                connection.request(method, f"/_sandbox/{name}", sent)
                answer = connection.getresponse()
                status, said = answer.status, json.loads(answer.read())
        except (OSError, HTTPException, ValueError) as error:
            why = (error.strerror if isinstance(error, OSError) else None) or error
            raise OSError(f"no sandbox answers at {self.url}: {why}") from error
        if status == 400 and isinstance(said, dict) and "error" in said:
            raise ValueError(said["error"])
        if status != 200:
            raise OSError(f"no sandbox answers at {self.url}: {method} /_sandbox/{name} is answered with {status}")
        return said


def seconds_in(duration: str) -> float:
    """Seconds of a duration as kubectl takes it, Go's ``time.ParseDuration`` without signs and less than milliseconds:
    ``90s``, ``2m``, ``1h30m``. Raises ValueError for anything else."""
    if not re.fullmatch(f"(?:{_PART})+", duration, re.ASCII):
        raise ValueError(f"{duration!r} is no duration: expect one such as 90s, 2m or 1h30m")
    return sum(float(number) * _UNITS[unit] for number, unit in re.findall(_PART, duration, re.ASCII))
