"""Events of Kubernetes: the value, the sink that sends them in the background, and the threads that carry out its
calls.

Unlike the threads of an executor, no process waits for these at its end, as a call may hang.
"""

import logging
import threading
from collections import deque
from collections.abc import Callable, Collection, Mapping
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from functools import partial
from typing import Any

from actuators.concurrency import THREADS, Concurrency
from actuators.http.errors import ApiError, Conflict
from actuators.http.kubernetes import KubernetesWriter, segment
from desired.model.service import Service
from desired.model.snapshot import Node
from desired.model.to_builtins import digest
from reconciler.telemetry.logs import pairs

_sender_log = logging.getLogger("hcloud-reconciler.senders")


class Senders:
    """Carries out calls in parallel, in threads that last for as long as there is something to do."""

    def __init__(self, most: int, name: str, concurrency: Concurrency = THREADS) -> None:
        """``most`` is the maximum number of calls at the same time."""
        self._concurrency = concurrency
        self._most = most
        self._name = name
        self._lock = threading.Lock()
        self._waiting: deque[tuple[Future[None], Callable[[], None]]] = deque()
        self._threads = 0

    def submit(self, call: Callable[[], None]) -> Future[None]:
        """Have this called when its turn comes, and return at once. Until then it may be cancelled."""
        future: Future[None] = Future()
        with self._lock:
            self._waiting.append((future, call))
            if self._threads < self._most:
                self._begin()
        return future

    def _begin(self) -> None:
        """Start one more thread. If the system has none to give, the existing ones continue, or the next call tries."""
        with suppress(RuntimeError):
            self._concurrency.start(self._work, self._name)
            self._threads += 1

    def _work(self) -> None:
        while (turn := self._next()) is not None:
            future, call = turn
            if not future.set_running_or_notify_cancel():
                continue
            try:
                call()
            except Exception as error:  # noqa: BLE001 - a bug in one call must not cost the others their thread
                _sender_log.warning("internal error beside a pass %s", pairs(what=self._name, error=repr(error)))
                future.set_exception(error)
            else:
                future.set_result(None)

    def _next(self) -> tuple[Future[None], Callable[[], None]] | None:
        """The next call; None: there is none, and the thread that asks ends."""
        with self._lock:
            if self._waiting:
                return self._waiting.popleft()
            self._threads -= 1
            return None


_log = logging.getLogger("hcloud-reconciler.events")

COMPONENT = "hcloud-reconciler"
_NAMESPACE = "default"
"""Namespace of events on cluster-wide objects; those on others are beside their object (Kubernetes core/v1 Event)."""
_SENDERS = 12
_BEGINNING_SHARE = 0.75
"""Share of the closing time after which no call begins, so that those under way can end."""
_REPEAT = timedelta(minutes=30)
MESSAGE = 1024
"""Characters of an event's message that Kubernetes takes."""
_MOST_UNDER_WAY = 4096
"""Events that may wait for their turn: of more, a lasting state is reported in a later pass, and what has happened is
lost."""
_NAME_LENGTH = 230
"""Room for the object's name in an event's, which may have 253 characters with the digest."""


class EventType(StrEnum):
    """Kubernetes' two types of events."""

    NORMAL = "Normal"
    WARNING = "Warning"


@dataclass(frozen=True, slots=True)
class Subject:
    """The object that an event is about."""

    kind: str
    name: str
    uid: str
    namespace: str | None = None
    """None for what is cluster-wide."""


def subject_of(thing: Node | Service) -> Subject:
    """A Node or a Service as the subject of events."""
    if isinstance(thing, Service):
        return Subject("Service", thing.name, thing.uid, thing.namespace)
    return Subject("Node", thing.name, thing.uid)


@dataclass(frozen=True, slots=True)
class Event:
    """An event on an object. ``reason`` is one CamelCase word that people search for."""

    subject: Subject
    type: EventType
    reason: str
    message: str
    ended: "Event | None" = None
    """What is said once it holds no more; None for nothing."""
    identity: str = ""
    """What makes it the same Event while its message moves on, as that of an end does; "" for its message."""
    is_silent: bool = False
    """Whether it is not known whether it holds still: it is not said, and what began to hold has not ended."""


class NullRecorder:
    """A recorder that drops everything, for runs that only read."""

    def send(self, event: Event, now: datetime) -> None:
        """Drop it."""

    def announce(self, events: Collection[Event], now: datetime) -> None:
        """Drop them."""


class EventSink:
    """Sends events from threads of its own, each when what it says begins to hold."""

    def __init__(self, writer: KubernetesWriter, concurrency: Concurrency = THREADS) -> None:
        self._writer = writer
        self._concurrency = concurrency
        self._senders = Senders(_SENDERS, "events", concurrency)
        self._under_way: set[Future[None]] = set()
        self._said: dict[str, datetime] = {}
        """Name → when it was handed over, of what holds; an event that could not be sent is taken out again."""
        self._ends: dict[tuple[Subject, str], Event] = {}
        """Subject and reason of what holds → what is said when it does no more."""
        self._recurring: set[str] = set()
        """Names of what may begin and end again and again: each is said half-hourly at most."""

    def send(self, event: Event, now: datetime) -> None:
        """Hand over what has just happened, and return at once. ``now`` is the API server's time."""
        if self._has_room():
            self._hand_over(_name(event), event, now)

    def announce(self, events: Collection[Event], now: datetime) -> None:
        """Hand over what holds after a pass, and return at once.

        What held after the last one is said again only every half hour: the API server forgets events after one.
        ``now`` is the API server's time. What ends, and begins again within that time, is not said twice.
        """
        named = {_name(event): event for event in events if not event.is_silent}
        ends = {(each.subject, each.reason): each.ended for each in named.values() if each.ended is not None}
        doubtful = {(each.subject, each.reason) for each in events if each.is_silent}
        ends |= {holds: event for holds, event in self._ends.items() if holds in doubtful}
        for ended in (event for holds, event in self._ends.items() if holds not in ends):
            named[_name(ended)] = ended
            self._recurring.add(_name(ended))
        self._ends = ends
        self._recurring.update(name for name, event in named.items() if event.ended is not None)
        for name in [name for name in list(self._said) if name not in named]:
            if name not in self._recurring or abs(now - self._said.get(name, now)) >= _REPEAT:
                self._said.pop(name, None)
                self._recurring.discard(name)
        for name in sorted(named):
            said = self._said.get(name)
            if said is None or abs(now - said) >= _REPEAT:  # that clock may be put back
                if not self._has_room():
                    return
                self._said[name] = now
                self._hand_over(name, named[name], now)

    def close(self, timeout_s: float) -> bool:
        """Wait for the events that were handed over, at most ``timeout_s``, and drop the rest. Returns whether no call
        is under way any more: one that is delays nothing, but the API server may still carry it out."""
        late = self._concurrency.wait(self._under_way, _BEGINNING_SHARE * timeout_s)
        begun = {future for future in late if not future.cancel()}
        depending = self._concurrency.wait(begun, (1 - _BEGINNING_SHARE) * timeout_s)
        dropped = len(late - begun) + len(depending)
        if dropped:
            why = "the API server takes them too slowly"
            _log.warning("events dropped %s", pairs(count=dropped, under_way=len(depending), why=why))
        return not depending

    def _has_room(self) -> bool:
        return len(self._under_way) < _MOST_UNDER_WAY

    def _hand_over(self, name: str, event: Event, now: datetime) -> None:
        future = self._senders.submit(partial(self._send, name, event, now))
        self._under_way.add(future)
        future.add_done_callback(self._under_way.discard)  # at once where it has been sent already

    def _send(self, name: str, event: Event, now: datetime) -> None:
        path = f"/api/v1/namespaces/{segment(_namespace(event))}/events"
        try:
            try:
                self._writer.try_create(path, _body(name, event, now))
            except Conflict:
                again = {"message": event.message[:MESSAGE], "lastTimestamp": _time(now)}
                self._writer.try_patch(f"{path}/{segment(name)}", again)
        except ApiError as error:
            self._said.pop(name, None)
            _log.debug("event dropped: %s", error)


def _namespace(event: Event) -> str:
    return _NAMESPACE if event.subject.namespace is None else event.subject.namespace


def _name(event: Event) -> str:
    subject = event.subject
    fingerprint = digest(subject.uid, event.type, event.reason, event.identity or event.message).removeprefix("sha256:")
    return f"{subject.name[:_NAME_LENGTH]}.{fingerprint}"


def _body(name: str, event: Event, now: datetime) -> Mapping[str, Any]:
    subject = event.subject
    place = {} if subject.namespace is None else {"namespace": subject.namespace}
    return {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {"name": name, "namespace": _namespace(event)},
        "involvedObject": {
            "apiVersion": "v1",
            "kind": subject.kind,
            **place,
            "name": subject.name,
            "uid": subject.uid,
        },
        "type": event.type.value,
        "reason": event.reason,
        "message": event.message[:MESSAGE],
        "source": {"component": COMPONENT},
        "reportingComponent": COMPONENT,
        "firstTimestamp": _time(now),
        "lastTimestamp": _time(now),
        "count": 1,
    }


def _time(now: datetime) -> str:
    return now.strftime("%Y-%m-%dT%H:%M:%SZ")
