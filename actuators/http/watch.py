"""Watches: what happens to the objects of a list, one line of JSON each, over the connection of ``kubernetes``.

A ``Watch`` is one connection, from its opening to its end. When to open the next one is decided in
``reconciler.triggers``. The package's own ``Watch`` is not used: it blocks on a silent server and hammers one that
closes at once.
"""

from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import urlencode

import msgspec

from actuators.http.decoding import decoder, member
from actuators.http.errors import Broken, Transient, broken_unless_readable
from actuators.http.kubernetes import KubernetesReader, refusal

if TYPE_CHECKING:
    from kubernetes.client.rest import RESTResponse

SILENCE_S = 90.0
"""Bookmarks come about once a minute (Kubernetes API concepts, watch bookmarks): what is silent for longer is dead."""
LONGEST_LINE = 16 * 2**20
"""Bytes. An object cannot be larger than what etcd stores, a tenth of this."""
_PIECE = 64 * 2**10


class WatchMeta(msgspec.Struct, rename="camel"):
    """By what an object in an event is told from others."""

    uid: str = ""
    resource_version: str = ""


class _Head(msgspec.Struct):
    metadata: WatchMeta = msgspec.field(default_factory=WatchMeta)


class _Line(msgspec.Struct):
    type: str
    object: msgspec.Raw


@dataclass(frozen=True, slots=True)
class WatchEvent:
    """One line of a watch: ``ADDED``, ``MODIFIED``, ``DELETED`` or ``BOOKMARK``, and the object as it came."""

    type: str
    object: bytes
    version: str
    """The object's ``resourceVersion``: a watch that begins there has everything that comes after this event."""
    uid: str


class Watch:
    """One open connection. Iterating ends when the server ends it, or when ``close`` is called from any thread."""

    def __init__(self, response: "RESTResponse", call: str, silent: Callable[[Exception], Transient]) -> None:
        self._response = response.response
        self._call = call
        self._silent = silent
        self._is_closed = False

    def __iter__(self) -> Iterator[WatchEvent]:
        """The events as they come. Raises Conflict with status 410 when events after the version are no longer kept,
        Broken for what is no event, Transient for a connection that breaks or says nothing."""
        try:
            for line in self._lines():
                if self._is_closed:
                    return
                yield self._event(line)
        finally:
            self._response.close()

    def close(self) -> None:
        """End the watch: a thread that waits for its next event finds that there is none."""
        self._is_closed = True
        with suppress(Exception):  # it ends by itself this moment
            self._response.shutdown()

    def _lines(self) -> Iterator[bytes]:
        pieces: list[bytes] = []
        size = 0
        while piece := self._piece():
            first, *others = piece.split(b"\n")
            pieces.append(first)
            size += len(first)
            for other in others:
                if line := b"".join(pieces).strip():
                    yield line
                pieces, size = [other], len(other)
            if size > LONGEST_LINE:
                raise Broken(f"Kubernetes API server: {self._call} sends a line of more than {LONGEST_LINE} bytes")
        if (line := b"".join(pieces).strip()) and not self._is_closed:
            yield line

    def _piece(self) -> bytes:
        """The bytes that have come meanwhile, at least one; none at the end."""
        from urllib3.exceptions import HTTPError  # noqa: PLC0415 - imported by now, but not by --help

        try:
            piece: bytes = self._response.read1(_PIECE)
        except (HTTPError, OSError) as error:
            if self._is_closed:
                return b""
            raise self._silent(error) from error
        except (AttributeError, ValueError):  # the socket was taken away while it was being read
            if self._is_closed:
                return b""
            raise
        return piece

    def _event(self, line: bytes) -> WatchEvent:
        with broken_unless_readable(f"Kubernetes API server: {self._call} sends what is no event"):
            found = _LINE.decode(line)
            if found.type == "ERROR":
                raise refusal(self._call, _code_in(found.object), bytes(found.object), {})
            meta = _HEAD.decode(found.object).metadata
        return WatchEvent(found.type, bytes(found.object), meta.resource_version, meta.uid)


_LINE = decoder(_Line)
_HEAD = decoder(_Head)
_code_in = member("code", int)
_meta_in = member("metadata", WatchMeta)


def current_version(reader: KubernetesReader, path: str) -> str:
    """From where a watch of the list at ``path`` begins. Sent once. Raises an ApiError."""
    answer = reader.connection.send("GET", f"{path}?{urlencode({'limit': '1'})}", once=True)
    with broken_unless_readable(f"Kubernetes GET {path}: the answer is no list"):
        version = _meta_in(answer.body).resource_version
    if not version:
        raise Broken(f"Kubernetes GET {path}: the list says no version")
    return version


def open_watch(
    reader: KubernetesReader, path: str, version: str, *, lasts_s: int, silence_s: float = SILENCE_S
) -> Watch:
    """A watch of the list at ``path``, of all that comes after ``version``.

    The server is asked to end it after ``lasts_s`` seconds; ``silence_s`` seconds without a word are a dead connection.
    Sent once. Raises an ApiError: Conflict with status 410 for a version that is too old.
    """
    query = {
        "watch": "true",
        "allowWatchBookmarks": "true",
        "resourceVersion": version,
        "timeoutSeconds": str(lasts_s),
    }
    response = reader.connection.open(f"{path}?{urlencode(query)}", silence_s=silence_s)
    return Watch(response, f"WATCH {path}", reader.connection.silent)
