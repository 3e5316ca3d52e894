"""Versions of the objects that this process has written itself, so that a watch event of its own write is no news."""

import threading

import msgspec

from actuators.http.decoding import decoder

_KEPT = 4096
"""Writes that are remembered: more than are on their way through a watch at any time."""


class _Meta(msgspec.Struct, rename="camel"):
    uid: str = ""
    resource_version: str = ""
    deletion_timestamp: str | None = None
    finalizers: list[str] | None = None


class _Details(msgspec.Struct):
    uid: str = ""


class _Written(msgspec.Struct):
    kind: str = ""
    metadata: _Meta = msgspec.field(default_factory=_Meta)
    details: _Details | None = None


class OwnWrites:
    """The latest versions that the API server gave to writes of ours. Safe to use from any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._known: dict[tuple[str, str], None] = {}
        """In the order of the writes."""

    def note(self, answer: bytes) -> None:
        """Remember the answer to a write. One that is no object says nothing, and is no error here."""
        try:
            written = decoder(_Written).decode(answer)
        except ValueError:
            return
        meta = written.metadata
        if written.kind == "Status":  # a deletion that is done: the version that it took is not said
            if written.details is not None:
                self._add(written.details.uid, _GONE)
        elif meta.deletion_timestamp is not None and not meta.finalizers:  # the last finalizer went, and the object too
            self._add(meta.uid, _GONE)
        else:
            self._add(meta.uid, meta.resource_version)

    def has(self, uid: str, version: str) -> bool:
        """Whether it was us who gave the object with this uid this ``resourceVersion``."""
        with self._lock:
            return (uid, version) in self._known

    def removed(self, uid: str) -> bool:
        """Whether it was us who removed the object with this uid for good."""
        return self.has(uid, _GONE)

    def _add(self, uid: str, version: str) -> None:
        if not uid:
            return
        with self._lock:
            self._known.setdefault((uid, version))
            if len(self._known) > _KEPT:
                del self._known[next(iter(self._known))]


_GONE = ""
"""In place of the version of an object that is no longer there."""
