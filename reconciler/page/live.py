"""Live page: the page of the last pass, made on request, in the thread of who asks.

A pass hands over its report and goes on. What is made is kept until the next pass ends, so that many readers cost as
much as one; and making takes a fifth of the time at most, so that endless requests slow no pass down. While
no client looks, the report is let go of when the next pass begins, which needs the memory.
"""

import gzip
import threading
import time
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from ipaddress import IPv4Address, IPv6Address
from typing import TYPE_CHECKING
from urllib.parse import unquote

from desired.model.key import Key, ObjectKind
from reconciler.page.policy import policy
from reconciler.report.escaping import visible
from reconciler.result import Report
from reconciler.telemetry.serving import NOT_FOUND, Limits, Request, ServedPage

if TYPE_CHECKING:
    from reconciler.page.page import Document, Maker

HEADERS: Mapping[str, str] = {
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Content-Security-Policy": policy(is_live=True),
}
"""In every answer. Nothing lets another origin read one."""
_HTML = "text/html; charset=utf-8"
_LOOKED_AT_S = 120.0
"""How long after the last request a client counts as looking."""
_REST = 4.0
"""How many times as long as the last making took nothing is made after it."""
_MOST_OBJECTS = 32
"""Explanations that are kept of one pass."""
_LONGEST_NAME = 320
"""Of an object in a path: namespace and name, with room for escapes."""
_MOST_WAITING = 8
"""Requests that wait for something to be made; each has a thread, also when its client has gone."""
LIMITS = Limits(threads=_MOST_WAITING + 2)
"""Of its server: what is made already is sent while so many wait."""
_BUSY = ServedPage(503, b"503 too many ask at once: ask again in a moment\n", headers={"Refresh": "5"})
_MISDIRECTED = ServedPage(421, b"421 this page is not served under that host name: add it to --ui-hosts\n")
_AT_FIRST = "no pass has ended yet: this page follows"
_RUNNING = "a pass is running, and shows here when it ends"


_Wanted = tuple[str, bool, bool]
"""Path, whether it stands still, and whether it is compressed."""


@dataclass(frozen=True, slots=True)
class _Scene:
    """What is to be shown; replaced as a whole."""

    version: int = 0
    report: Report | None = None
    why_empty: str = _AT_FIRST
    leader: str = ""


@dataclass(slots=True)
class _Made:
    """What was made of a scene."""

    version: int = -1
    maker: "Maker | None" = None
    documents: "dict[str, Document]" = field(default_factory=dict)
    """Path → document."""
    bodies: dict[_Wanted, tuple[int, bytes]] = field(default_factory=dict)
    """The minutes since the last pass that each body tells, and the body."""


class LivePage:
    """The page while passes go on. One thread tells what happens, any asks for pages."""

    def __init__(
        self,
        hosts: Collection[str] = (),
        *,
        clock: Callable[[], float] = time.monotonic,
        rest: Callable[[float], object] | None = None,
    ) -> None:
        """``hosts`` are names under which it is served besides addresses and localhost. ``clock`` is in seconds,
        ``rest`` waits for so many, None: in real time."""
        self._hosts = frozenset(host.lower().rstrip(".") for host in hosts)
        self._clock = clock
        self._rest = rest or threading.Event().wait
        self._scene = _Scene()
        self._telling = threading.Lock()
        self._making = threading.Lock()
        self._places = threading.BoundedSemaphore(_MOST_WAITING)
        self._made = _Made()
        self._ended_at: float | None = None
        self._asked_at = -_LOOKED_AT_S
        self._free_at = 0.0

    def began(self) -> None:
        """A pass begins. What is not looked at is let go of."""
        if self._clock() - self._asked_at >= _LOOKED_AT_S:
            self._made = _Made()  # a thread that is making something goes on with what was there
            self._tell(None, _AT_FIRST if self._ended_at is None else _RUNNING, leader=self._scene.leader)

    def ended(self, report: Report) -> None:
        """A pass has ended; ``report`` has the requests of this pass alone."""
        self._ended_at = self._clock()
        self._tell(report, "", leader=self._scene.leader)

    def leads(self, who: str) -> None:
        """This process leads, under this name."""
        if self._scene.leader != who:
            self._tell(self._scene.report, self._scene.why_empty, leader=who)

    def stands_by(self, why: str) -> None:
        """This process has no plan, as another one leads; ``why`` says which, and how to see its page."""
        if self._scene.why_empty != why:
            self._made = _Made()
            self._tell(None, why, leader="")

    def answer(self, request: Request) -> ServedPage:
        """The answer to a request: the page, or the explanation of one object."""
        if not self._is_ours(request.host):
            return _MISDIRECTED
        if request.path == "/favicon.ico":
            return ServedPage(204, b"")
        path, key = request.path, _key_in(request.path)
        if path != "/" and key is None:
            return NOT_FOUND
        self._asked_at = self._clock()
        is_small = _takes_gzip(request.accept_encoding)
        found = self._body((path, request.query == "still", is_small), key)
        if found is None:
            return _BUSY
        if isinstance(found, str):
            return ServedPage(404, f"404 {visible(found)}\n".encode(), headers={"Refresh": "30"})
        told = {"Vary": "Accept-Encoding"}
        return ServedPage(200, found, _HTML, told | ({"Content-Encoding": "gzip"} if is_small else {}))

    def _tell(self, report: Report | None, why_empty: str, *, leader: str) -> None:
        with self._telling:
            self._scene = _Scene(self._scene.version + 1, report, why_empty, leader)

    def _body(self, wanted: _Wanted, key: Key | None) -> bytes | str | None:
        """The body; a text says why there is no such object. None: too many wait."""
        made = self._made
        minutes, body = made.bodies.get(wanted, (0, None))
        is_new = made.version == self._scene.version
        if body is not None and is_new and (minutes == self._minutes() or self._making.locked()):
            return body
        if not self._places.acquire(blocking=False):
            return None
        try:
            with self._making:
                return self._made_now(wanted, key)
        finally:
            self._places.release()

    def _made_now(self, wanted: _Wanted, key: Key | None) -> bytes | str:
        """As ``_body``, for one thread at a time."""
        made = self._made
        minutes = self._minutes()
        if made.version == self._scene.version and wanted in made.bodies and made.bodies[wanted][0] == minutes:
            return made.bodies[wanted][1]
        if (wait_s := self._free_at - self._clock()) > 0:
            self._rest(wait_s)
        scene = self._scene  # what came meanwhile is newer
        if self._made.version != scene.version:
            self._made = _Made(scene.version)
        made = self._made
        began = self._clock()
        try:
            path, is_still, is_small = wanted
            document = made.documents.get(path) or self._document(scene, made, key)
            if isinstance(document, str):
                return document
            if len(made.documents) >= _MOST_OBJECTS:
                made.documents.clear()
                made.bodies.clear()
            made.documents[path] = document
            age_s = None if self._ended_at is None else minutes * 60.0
            body = document.served(is_still=is_still, age_s=age_s).encode("utf-8", "backslashreplace")
            made.bodies[wanted] = minutes, gzip.compress(body, 6, mtime=0) if is_small else body
            return made.bodies[wanted][1]
        finally:  # what comes to nothing has taken as long
            self._free_at = self._clock() + _REST * (self._clock() - began)

    def _minutes(self) -> int:
        """Minutes since the last pass, whole ones."""
        return 0 if self._ended_at is None else int((self._clock() - self._ended_at) / 60)

    def _document(self, scene: _Scene, made: _Made, key: Key | None) -> "Document | str":
        from reconciler.page.page import Maker  # noqa: PLC0415 - a controller without requests need not pay

        if made.maker is None:
            made.maker = Maker(scene.report, scene.leader, scene.why_empty)
        return made.maker.page() if key is None else made.maker.explanation(key)

    def _is_ours(self, host: str) -> bool:
        """Whether the page is served under this name. A foreign name that leads here would let the pages of
        that name read ours (DNS rebinding)."""
        name = _without_port(host)
        if name is None:
            return False
        if name == "localhost" or name.endswith(".localhost") or name in self._hosts:
            return True
        try:
            if name.startswith("[") and name.endswith("]"):
                IPv6Address(name[1:-1].partition("%")[0])
            else:
                IPv4Address(name)
        except ValueError:
            return False
        return True


def _without_port(host: str) -> str | None:
    """The name or address in a Host header; None for what is none, several of them included."""
    if "," in host or " " in host:
        return None
    name, colon, port = host.rpartition(":")
    if colon and "]" not in port:
        if not (port.isascii() and port.isdecimal()) and port:
            return None
        host = name
    return host.lower().rstrip(".") or None


def _key_in(path: str) -> Key | None:
    """The Node or Service that a path names; None when it names none."""
    if len(path) > 3 * _LONGEST_NAME:
        return None
    kind, _, name = path.removeprefix("/").partition("/")
    parts = [unquote(part, errors="replace") for part in name.split("/")]
    name = "/".join(parts)
    if len(name) > _LONGEST_NAME or any(part in ("", ".", "..") or "/" in part for part in parts):
        return None
    if kind == ObjectKind.NODE and len(parts) == 1:
        return Key(ObjectKind.NODE, name)
    if kind == ObjectKind.SERVICE and len(parts) == 2:
        return Key(ObjectKind.SERVICE, name)
    return None


def _takes_gzip(accepted: str) -> bool:
    """Whether a client takes gzip, by its header Accept-Encoding."""
    for coding in accepted.lower().split(","):
        name, _, quality = (part.strip() for part in coding.partition(";"))
        if name in ("gzip", "*"):
            return quality.replace(" ", "") not in ("q=0", "q=0.0", "q=0.00", "q=0.000")
    return False
