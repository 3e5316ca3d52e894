"""Simulated faults: reads that answer as if a write had not happened. Faults of transport are the fault proxy's.

``{"kind": "stale_read", "path": "/api/v1/nodes", "count": 2}``: the next ``count`` GETs below ``path`` answer as before
the last write of what they show. ``{"kind": "visible_late", "seconds": 5, "count": 1}``: the next ``count`` writes are
seen by GETs only after ``seconds``. ``path`` (default: all) and ``count`` (default: 1; None: until the faults are
cleared) are optional in both. Writes always meet the true state.
"""

from dataclasses import dataclass
from typing import Any

from hcloud_sandbox.clock import SimulatedClock
from kubernetes_double.store import Key, Overlay, Store, Write

_FIELDS = {"stale_read": {"kind", "path", "count"}, "visible_late": {"kind", "path", "seconds", "count"}}


@dataclass(slots=True)
class _Fault:
    kind: str
    path: str
    left: int | None
    seconds: float = 0.0


class ReadFaults:
    """The active faults, and the writes that are still to be hidden."""

    def __init__(self, clock: SimulatedClock) -> None:
        self._clock = clock
        self._faults: list[_Fault] = []
        self._hidden: list[tuple[float, Write]] = []

    def add(self, faults: list[dict[str, Any]]) -> None:
        """Activate faults. Raises ValueError for one that is not of this module's form; then none is activated."""
        self._faults += [_parsed(fault) for fault in faults]

    def clear(self) -> None:
        """Forget all faults, and show everything."""
        self._faults.clear()
        self._hidden.clear()

    def wrote(self, write: Write, path: str) -> None:
        """Hide a write that was just done by a request to ``path``, if a fault says so."""
        fault = self._take("visible_late", path)
        if fault is not None:
            self._hidden.append((self._clock.timestamp() + fault.seconds, write))

    def hidden(self, store: Store, path: str, key: Key) -> Overlay:
        """The writes that a GET of ``path`` must not see. ``key`` has empty parts where the GET takes any."""
        now = self._clock.timestamp()
        self._hidden = [(until, write) for until, write in self._hidden if until > now]
        overlay: dict[Key, Write] = {}
        for _, write in self._hidden:
            overlay.setdefault(write.key, write)  # the earliest one has the oldest state
        if self._take("stale_read", path) is not None:
            last = store.last_write(lambda other: _covers(key, other))
            if last is not None:
                overlay.setdefault(last.key, last)
        return overlay

    def _take(self, kind: str, path: str) -> _Fault | None:
        fault = next((f for f in self._faults if f.kind == kind and path.startswith(f.path)), None)
        if fault is not None and fault.left is not None:
            fault.left -= 1
            self._faults = [f for f in self._faults if f.left != 0]
        return fault


def _covers(asked: Key, other: Key) -> bool:
    return (
        asked.resource == other.resource and asked.namespace in ("", other.namespace) and asked.name in ("", other.name)
    )


def _parsed(fault: dict[str, Any]) -> _Fault:
    kind = fault.get("kind")
    if kind not in _FIELDS:
        raise ValueError(f"unknown fault {kind!r}: this simulator knows {', '.join(sorted(_FIELDS))}")
    if unknown := sorted(set(fault) - _FIELDS[kind]):
        raise ValueError(f"fault {kind} has no {', '.join(unknown)}: it takes {', '.join(sorted(_FIELDS[kind]))}")
    path, count, seconds = fault.get("path", "/"), fault.get("count", 1), fault.get("seconds", 0.0)
    if not isinstance(path, str) or not path.startswith("/"):
        raise ValueError(f"fault {kind}: path is a path prefix such as /api/v1/nodes, not {path!r}")
    if count is not None and (not isinstance(count, int) or isinstance(count, bool) or count < 1):
        raise ValueError(f"fault {kind}: count is a whole number from 1, or null for no end, not {count!r}")
    if kind == "visible_late" and (not isinstance(seconds, int | float) or isinstance(seconds, bool) or seconds <= 0):
        raise ValueError(f"fault {kind}: seconds is a positive number, not {seconds!r}")
    return _Fault(kind, path, count, float(seconds))
