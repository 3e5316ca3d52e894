"""Filter of watch events: heartbeats and our own writes do not wake the loop.

An event is compared with the *baseline*: the projection of the object in the last pass, which is what the planner sees
of it. It is judged a moment after it came, since the answer to a write of ours may arrive later than the watch event of
it."""

import threading
import time
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, replace
from enum import StrEnum
from typing import Any

from actuators.http.own_writes import OwnWrites
from actuators.http.watch import WatchEvent
from actuators.wire.node import NODES
from actuators.wire.objects import ListOf
from actuators.wire.service import SERVICES
from desired.annotations.claims import Claim
from desired.load_balancers.ownership import matters
from desired.model.service import Service
from desired.model.serving import Serving
from desired.model.snapshot import Node, Snapshot
from desired.section import Section, Unknown

_MOST_DIGITS = 39
"""Of 128 bits, which no version of an API server has (KEP-5504)."""


class WatchedKind(StrEnum):
    """A kind that is watched. The value is the first part of keys."""

    NODE = "node"
    SERVICE = "service"

    @property
    def path(self) -> str:
        """The path where all objects of the kind are listed."""
        return _LISTS[self].path

    def section(self, snapshot: Snapshot) -> Section[str, Node] | Section[str, Service] | None:
        """The objects of the kind as a pass has read them; None when it reads none."""
        return snapshot.nodes if self is WatchedKind.NODE else snapshot.services

    def decode(self, raw: bytes) -> tuple[str | None, Node | Service | Unknown]:
        """Key and value of an object; Unknown for one that cannot be read, without a key when it cannot be either."""
        if self is WatchedKind.NODE:
            return NODES.decode_one(raw)
        return SERVICES.decode_one(raw)


_LISTS: Mapping[WatchedKind, ListOf[Any, Any]] = {WatchedKind.NODE: NODES, WatchedKind.SERVICE: SERVICES}


@dataclass(frozen=True, slots=True)
class Projection:
    """What the planner sees of an object: nothing but a number, so that thousands cost nothing to keep."""

    projection: int | None
    """Equal for objects between which no rule can tell; None for one at which none looks, as when it is not there."""
    version: int | None = None
    """The object's ``resourceVersion``: of two, the greater one is the later one (KEP-5504). None when not known."""


NOTHING = Projection(None)


def projection_of(found: Node | Service | Unknown, serving: Serving) -> Projection:
    """The projection of an object for a process with these Services. Of one that cannot be read it is the
    reason why.

    Two objects have one number by accident once in 2**60, and then the next pass of the interval sees the difference.
    """
    if isinstance(found, Unknown):
        return Projection(hash(found.why))
    if isinstance(found, Service) and not matters(found, serving):
        return Projection(None, version_number(found.resource_version))
    return Projection(_number(found), version_number(found.resource_version))


def version_number(version: str) -> int | None:
    """A ``resourceVersion`` as something that can be compared; None when it cannot."""
    is_number = version.isascii() and version.isdigit() and len(version) <= _MOST_DIGITS
    return int(version) if is_number else None


def _number(value: Node | Service | Claim) -> int:
    """The hash of all fields that are compared. Labels have none of their own; what the server counts is left out."""
    return hash(tuple(_hashable(getattr(value, name)) for name in _FIELDS[type(value)]))


def _hashable(value: object) -> object:
    if isinstance(value, Mapping):
        return frozenset(value.items())
    return _number(value) if isinstance(value, Claim) else value


_FIELDS = {
    shape: tuple(field.name for field in fields(shape) if field.compare and field.name != "resource_version")
    for shape in (Node, Service, Claim)
}


JUDGED_AFTER_S = 0.1
"""How long an event waits for the answer to the write that may have caused it."""
_MOST_NAMELESS = 1000
"""Ways of being unreadable that are remembered; after so many, all of them are news again."""


@dataclass(frozen=True, slots=True)
class _Seen:
    """An event that waits to be judged, or was found to matter."""

    kind: WatchedKind
    key: str
    type: str
    uid: str
    version: str
    sight: Projection
    judged_at: float
    survived: bool = False
    """Whether a pass has ended since it was found to matter."""

    @property
    def reason(self) -> str:
        """For the log, in a few words."""
        return f"{self.kind}/{self.key} {_WORDS.get(self.type, 'changed')}"


_WORDS = {"ADDED": "is new", "DELETED": "is gone"}
_Baseline = dict[str, Projection]


class EventFilter:
    """Judges events, and calls ``wake`` with a reason for those that matter. Safe to use from any thread."""

    def __init__(
        self,
        wake: Callable[[str], None],
        own_writes: OwnWrites,
        *,
        clock: Callable[[], float] = time.monotonic,
        delay_s: float = JUDGED_AFTER_S,
        event: Callable[[], threading.Event] = threading.Event,
    ) -> None:
        self._wake = wake
        self._own = own_writes
        self._clock = clock
        self._delay_s = delay_s
        self._lock = threading.Lock()
        self._arrived = event()
        self._interrupted = False
        self._serving = Serving()
        self._baseline: dict[WatchedKind, _Baseline] = {}
        self._written: dict[WatchedKind, _Baseline] = {kind: {} for kind in WatchedKind}
        """Projections of objects after our own writes since the last pass ended."""
        self._waiting: deque[_Seen] = deque()
        self._relevant: dict[tuple[WatchedKind, str], _Seen] = {}
        self._nameless: set[tuple[WatchedKind, int]] = set()

    def settle(self, snapshot: Snapshot) -> None:
        """A pass has ended with this reading, which becomes the new baseline.

        Events that have come since it was read wake again; those of which a whole pass that began after them has seen
        nothing are forgotten.
        """
        sections = {kind: kind.section(snapshot) for kind in WatchedKind}
        serving = snapshot.serving
        seen = {kind: _sights(section, serving) for kind, section in sections.items() if section is not None}
        with self._lock:
            self._serving = serving
            for kind, sights in seen.items():
                section = sections[kind]
                if section is not None and not section.complete:
                    sights = self._baseline.get(kind, {}) | sights  # noqa: PLW2901 - what was not read is as it was
                self._baseline[kind] = sights | _newer(self._written[kind], sights)
                self._written[kind].clear()
            self._relevant = {
                place: replace(event, survived=True)
                for place, event in self._relevant.items()
                if not event.survived and self._differs(event)
            }
            reasons = [event.reason for event in self._relevant.values()]
        if reasons:
            self._wake(reasons[0])

    def saw(self, kind: WatchedKind, event: WatchEvent) -> None:
        """A watch event on an object of this kind: to be judged in a moment."""
        key, found = kind.decode(event.object)
        gone = event.type == "DELETED"
        if key is None:
            self._saw_nameless(kind, found)
            return
        version = version_number(event.version)
        sight = replace(NOTHING, version=version) if gone else projection_of(found, self._serving)
        with self._lock:
            baseline = self._baseline.get(kind)
            is_plain = not self._waiting and (kind, key) not in self._relevant and baseline is not None
            if is_plain and baseline is not None and baseline.get(key, NOTHING).projection == sight.projection:
                return  # nearly all of them: heartbeats
            due_at = self._clock() + self._delay_s
            self._waiting.append(_Seen(kind, key, event.type, event.uid, event.version, sight, due_at))
        self._arrived.set()

    def judge(self) -> float | None:
        """Judge all events whose time has come. Returns the seconds until the next one's; None when none waits."""
        reasons: list[str] = []
        with self._lock:
            if not self._interrupted:
                self._arrived.clear()
            now = self._clock()
            while self._waiting and self._waiting[0].judged_at <= now:
                event = self._waiting.popleft()
                if self._matters(event):
                    reasons.append(event.reason)
            left_s = self._waiting[0].judged_at - now if self._waiting else None
        if reasons:
            self._wake(reasons[0])
        return left_s

    def wait(self, seconds: float | None) -> None:
        """Return when an event has come, or ``interrupt`` was called, or after so many seconds."""
        self._arrived.wait(seconds)

    def interrupt(self) -> None:
        """End all waits, now and later."""
        with self._lock:
            self._interrupted = True
        self._arrived.set()

    def _matters(self, event: _Seen) -> bool:
        """Whether the event is news, and remember it if it is."""
        place = (event.kind, event.key)
        if self._is_own(event):
            self._written[event.kind][event.key] = event.sight
            if event.kind in self._baseline:
                self._baseline[event.kind][event.key] = event.sight
            return False
        if not self._differs(event):
            self._relevant.pop(place, None)
            return False
        known = self._relevant.get(place)
        is_same = known is not None and known.sight.projection == event.sight.projection
        self._relevant[place] = replace(event, survived=known.survived) if known is not None and is_same else event
        # Before the first pass has ended it is not known what a changed object was before, and most are heartbeats.
        is_first_sight = known is None and event.kind not in self._baseline and event.type == "MODIFIED"
        return not is_same and not is_first_sight

    def _differs(self, event: _Seen) -> bool:
        """Whether the baseline neither agrees with the event nor is later than it. Without one, everything does."""
        baseline = self._baseline.get(event.kind)
        if baseline is None:
            return True
        known = baseline.get(event.key, NOTHING)
        if known.projection == event.sight.projection:
            return False
        return known.version is None or event.sight.version is None or known.version < event.sight.version

    def _is_own(self, event: _Seen) -> bool:
        if event.type == "DELETED" and self._own.removed(event.uid):
            return True
        return self._own.has(event.uid, event.version)

    def _saw_nameless(self, kind: WatchedKind, found: Node | Service | Unknown) -> None:
        """An object without a readable name: news once for each way of being unreadable."""
        with self._lock:
            if len(self._nameless) >= _MOST_NAMELESS:
                self._nameless.clear()
            way = (kind, projection_of(found, self._serving).projection or 0)
            is_news = way not in self._nameless
            self._nameless.add(way)
        if is_news:
            self._wake(f"a {kind} that cannot be read has changed")


def _sights(section: Section[str, Node] | Section[str, Service], serving: Serving) -> _Baseline:
    """Key → projection, of all objects that some rule looks at."""
    items = {key: projection_of(found, serving) for key, found in section.items.items()}
    unreadable = {key: projection_of(Unknown(why), serving) for key, why in section.unreadable.items()}
    return {key: sight for key, sight in (items | unreadable).items() if sight.projection is not None}


def _newer(written: _Baseline, sights: _Baseline) -> _Baseline:
    """Those of our writes that came after the pass had looked: conditions are written at its very end."""
    return {
        key: sight for key, sight in written.items() if (sight.version or 0) > (sights.get(key, NOTHING).version or 0)
    }
