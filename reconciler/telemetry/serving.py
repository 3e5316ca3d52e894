"""HTTP of probes, metrics and the page, served by waitress: GET and HEAD, with limits on time, size and connections,
and no access log."""

import errno
import logging
import os
import socket
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import partial
from http import HTTPStatus
from types import MappingProxyType
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs

from waitress import wasyncore
from waitress.adjustments import Adjustments
from waitress.channel import HTTPChannel
from waitress.server import TcpWSGIServer
from waitress.task import ErrorTask, ThreadedTaskDispatcher

from reconciler.config.config import ConfigurationError
from reconciler.telemetry.health import Check, LoopHealth
from reconciler.telemetry.logs import pairs, printable

if TYPE_CHECKING:
    from wsgiref.types import StartResponse, WSGIApplication, WSGIEnvironment

_log = logging.getLogger("hcloud-reconciler.serving")

_TEXT = "text/plain; charset=utf-8"
_NOT_SNIFFED: Mapping[str, str] = {"X-Content-Type-Options": "nosniff"}
_ALWAYS: Mapping[str, str] = {"Cache-Control": "no-store"}
_WITHOUT_BODY = frozenset({HTTPStatus.NO_CONTENT})


@dataclass(frozen=True, slots=True)
class Request:
    """A request of a page."""

    query: str = ""
    """The query string."""
    path: str = "/"
    """As it was sent, without the query."""
    host: str = ""
    """The header of that name; "" where there is none. Several stand in it with commas."""
    accept_encoding: str = ""
    """The header of that name."""


@dataclass(frozen=True, slots=True)
class ServedPage:
    """The answer of a page."""

    status: int
    body: bytes
    content_type: str = _TEXT
    headers: Mapping[str, str] = field(default_factory=dict)
    """What is sent besides type, length and that nothing is to be stored."""


NOT_FOUND = ServedPage(404, b"404 not found\n")
_NOT_ALLOWED = ServedPage(405, b"405 only GET and HEAD\n", headers={"Allow": "GET, HEAD"})
_BROKEN = ServedPage(500, b"500 internal error\n")

Answer = Callable[[Request], ServedPage]
"""What answers every request of a server."""
Pages = Mapping[str, Answer]
"""Path → what answers there."""
BindAddress = tuple[str, int]
"""Host, "" for all of this machine's, and port, 0 for any that is free."""


@dataclass(frozen=True, slots=True)
class Limits:
    """What a client may take of a server."""

    patience_s: float = 10.0
    """How long a request may take to arrive, the pause before it included; and how long the client may take to read the
    answer."""
    connections: int = 64
    """More than probes and scrapes need. When there is one more, the oldest is closed: a client that keeps connections
    open for nothing keeps no probe out."""
    head_bytes: int = 16 * 1024
    """Of the request line and headers; and of a body, which nothing reads."""
    threads: int = 2
    """That make answers."""


LIMITS = Limits()
logging.getLogger("waitress").setLevel(logging.ERROR)  # that a request waits, or is cut off at the end, is no news
_LOOKS_EVERY_S = 1.0
_ENDS_WITHIN_S = 1.0


def health_pages(health: LoopHealth) -> Pages:
    """The three probes. ``/healthz`` is the old name of ``/livez``, and HCCM's."""
    return MappingProxyType(
        {
            "/livez": lambda request: _probe("livez", health.liveness(), request),
            "/readyz": lambda request: _probe("readyz", health.readiness(), request),
            "/healthz": lambda request: _probe("healthz", health.liveness(), request),
        }
    )


def _probe(name: str, checks: tuple[Check, ...], request: Request) -> ServedPage:
    """``ok``; a line for each check when something failed, or with ``?verbose`` (Kubernetes API health endpoints)."""
    is_fine = all(check.problem is None for check in checks)
    if is_fine and "verbose" not in parse_qs(request.query, keep_blank_values=True):
        return ServedPage(200, b"ok")
    lines = [printable(check.line) for check in checks]
    lines.append(f"{name} check {'passed' if is_fine else 'failed'}")
    return ServedPage(200 if is_fine else 503, "".join(f"{line}\n" for line in lines).encode())


@dataclass
class RunningServer:
    """The running servers; to be closed at the end."""

    servers: list["_Server"] = field(default_factory=list)

    def ports(self) -> tuple[int, ...]:
        """The port of each server, health first."""
        return tuple(int(server.effective_port) for server in self.servers)

    def close(self) -> None:
        """Stop listening, within two seconds: answers under way are cut off."""
        for server in self.servers:
            server.end()


def serve(
    health: LoopHealth,
    health_address: BindAddress,
    metrics: "WSGIApplication | None" = None,
    metrics_address: BindAddress | None = None,
    limits: Limits = LIMITS,
) -> RunningServer:
    """Serve the probes, and ``/metrics`` where ``metrics`` and ``metrics_address`` are given; both on one server when
    the addresses are equal.

    Raises ConfigurationError when the probes cannot be served, as failing probes would end the process anyway. Metrics
    that cannot be served are a warning in the log, as with HCCM.
    """
    pages = _by_path(health_pages(health))
    is_shared = metrics_address is not None and _same(health_address, metrics_address)
    try:
        probes = _Server(health_address, pages, _NOT_SNIFFED, limits, metrics if is_shared else None)
    except OSError as error:
        where = "free it, or name another one with --health-address or RECONCILER_HEALTH_ADDRESS"
        raise ConfigurationError(
            (f"--health-address: cannot listen on {_shown(health_address)}: {_reason(error)}; {where}",)
        ) from error
    running = RunningServer([probes])
    if metrics is not None and metrics_address is not None and not is_shared:
        try:
            running.servers.append(_Server(metrics_address, _by_path({}), _NOT_SNIFFED, limits, metrics))
        except OSError as error:
            where = "set HCLOUD_METRICS_ADDRESS to a free one, or HCLOUD_METRICS_ENABLED=false"
            said = pairs(address=_shown(metrics_address), why=_reason(error), remedy=where)
            _log.warning("metrics are not served: cannot listen %s", said)
    for server in running.servers:
        server.begin()
    return running


def serve_page(
    answer: Answer, address: BindAddress, headers: Mapping[str, str], limits: Limits = LIMITS
) -> RunningServer:
    """Serve what ``answer`` returns on a listener of its own, with these headers in every answer.

    Raises ConfigurationError when it cannot listen there.
    """
    try:
        server = _Server(address, answer, headers, limits)
    except OSError as error:
        where = "free it, or name another one with --ui-address or RECONCILER_UI_ADDRESS"
        raise ConfigurationError(
            (f"--ui-address: cannot listen on {_shown(address)}: {_reason(error)}; {where}",)
        ) from error
    server.begin()
    return RunningServer([server])


def _by_path(pages: Pages) -> Answer:
    """What answers with the page of exactly that path."""
    return lambda request: pages[request.path](request) if request.path in pages else NOT_FOUND


def _application(
    answer: Answer, headers: Mapping[str, str], metrics: "WSGIApplication | None" = None
) -> "WSGIApplication":
    """The WSGI application (PEP 3333) that answers with these pages, and at ``/metrics`` with those."""

    def respond(environ: "WSGIEnvironment", start_response: "StartResponse") -> Iterable[bytes]:
        path, _, query = str(environ["REQUEST_URI"]).partition("?")
        path = f"/{path.lstrip('/')}" if path.startswith("/") else path
        try:
            if environ["REQUEST_METHOD"] not in ("GET", "HEAD"):
                page = _NOT_ALLOWED
            elif metrics is not None and path == "/metrics":
                page = _scraped(metrics, environ)
            else:
                asked = (str(environ.get(f"HTTP_{name}", "")) for name in ("HOST", "ACCEPT_ENCODING"))
                page = answer(Request(query, path, *asked))
        except Exception as error:  # noqa: BLE001 - the client has to hear that there is no answer
            _log.warning("a page could not be made %s", pairs(error=f"{type(error).__name__}: {error}"))
            page = _BROKEN
        told = {"Content-Type": page.content_type, "Content-Length": str(len(page.body))}
        told = {} if page.status in _WITHOUT_BODY else told
        status = HTTPStatus(page.status)
        start_response(f"{status.value} {status.phrase}", [*{**told, **_ALWAYS, **headers, **page.headers}.items()])
        return [b"" if environ["REQUEST_METHOD"] == "HEAD" else page.body]

    return respond


def _scraped(metrics: "WSGIApplication", environ: "WSGIEnvironment") -> ServedPage:
    """What prometheus-client answers to a GET."""
    told: dict[str, str] = {}

    def start_response(_status: str, headers: list[tuple[str, str]], _error: object = None) -> Any:
        told.update(headers)

    body = b"".join(metrics({**environ, "REQUEST_METHOD": "GET"}, start_response))
    return ServedPage(200, body, told.pop("Content-Type", _TEXT), told)


class _Refusal(ErrorTask):  # type: ignore[misc] # waitress has no types
    """The answer to what is no request."""

    def execute(self) -> None:
        """Send it with the headers of each answer of this server."""
        self.response_headers.extend((*_ALWAYS.items(), *self.channel.server.headers.items()))
        super().execute()


_TOGETHER = 2
"""How many requests that come together are answered."""


class _Channel(HTTPChannel):  # type: ignore[misc]
    """A connection, which knows when it was last of use."""

    error_task_class = _Refusal

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.answered_at = time.monotonic()

    def service(self) -> None:
        """Answer one request. Of many that came together two are answered, and the connection is closed: hundreds in
        one packet, and no answer read, would fill the memory."""
        with self.requests_lock:
            for more in self.requests[_TOGETHER:]:
                more.close()
                self.requests[_TOGETHER - 1].headers["CONNECTION"] = "close"
            del self.requests[_TOGETHER:]
        super().service()
        self.answered_at = time.monotonic()

    def is_late(self, cutoff: float) -> bool:
        """Whether nothing has come of it since ``cutoff``: bytes that come, or are read, one by one get no more time
        than all at once."""
        is_waited_for = not self.requests or self.total_outbufs_len
        return bool(is_waited_for) and self.answered_at < cutoff


class _Server(TcpWSGIServer):  # type: ignore[misc]
    """One listening socket with what answers there. Listens when it is made, answers from ``begin`` on."""

    channel_class = _Channel

    def __init__(
        self,
        address: BindAddress,
        answer: Answer,
        headers: Mapping[str, str],
        limits: Limits,
        metrics: "WSGIApplication | None" = None,
    ) -> None:
        self.headers = headers
        self._limits = limits
        listening = _bound(address)
        adjustments = Adjustments(
            ident="hcloud-reconciler",  # without a version
            sockets=[listening],
            max_request_header_size=limits.head_bytes,
            max_request_body_size=limits.head_bytes,
            cleanup_interval=min(_LOOKS_EVERY_S, limits.patience_s),
            asyncore_loop_timeout=_LOOKS_EVERY_S,
            asyncore_use_poll=True,
            connection_limit=16 * limits.connections,  # never reached: waitress would let nobody in any more
            outbuf_overflow=2**30,  # to memory: the file system of a container may be read-only
            clear_untrusted_proxy_headers=False,  # none is read
            log_socket_errors=False,
        )
        threads = ThreadedTaskDispatcher()
        threads.set_thread_count(limits.threads)
        super().__init__(
            _application(answer, headers, metrics),
            _sock=listening,
            dispatcher=threads,
            adj=adjustments,
            sockinfo=(listening.family, listening.type, listening.proto, listening.getsockname()),
            bind_socket=False,
        )
        self._thread = threading.Thread(target=self.run, name=f"serving-{self.effective_port}", daemon=True)

    def begin(self) -> None:
        """Answer from now on."""
        self._thread.start()

    def end(self) -> None:
        """Stop: first what makes answers, which wakes the thread that serves, and then that."""
        self.task_dispatcher.shutdown(timeout=_ENDS_WITHIN_S)
        self.trigger.pull_trigger(partial(wasyncore.close_all, self._map))
        self._thread.join(_ENDS_WITHIN_S)

    def handle_accept(self) -> None:
        """Let one in, in the place of the oldest one when there are too many."""
        super().handle_accept()
        staying = [each for each in self.active_channels.values() if not each.will_close]  # as they came
        for channel in staying[: max(0, len(staying) - self._limits.connections)]:
            channel.will_close = True

    def maintenance(self, now: float) -> None:  # noqa: ARG002 - by the wall clock, which may be put
        """Close what is late."""
        cutoff = time.monotonic() - self._limits.patience_s
        for channel in self.active_channels.values():
            if channel.is_late(cutoff):
                channel.will_close = True


def _bound(address: BindAddress) -> socket.socket:
    """A socket bound there, to both families where the address says none; without asking DNS for this machine's name.
    Raises OSError, also for a name that leads nowhere."""
    host, port = address
    if host == "":
        both = socket.has_dualstack_ipv6()
        return socket.create_server(
            ("::" if both else "", port),
            family=socket.AF_INET6 if both else socket.AF_INET,
            dualstack_ipv6=both,
        )
    found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    family, _, _, _, place = found[0]
    is_all = family == socket.AF_INET6 and place[0] == "::"
    return socket.create_server(place, family=family, dualstack_ipv6=is_all)


_ALL = frozenset({"", "0.0.0.0", "::"})  # noqa: S104 - compared, not bound


def _same(one: BindAddress, other: BindAddress) -> bool:
    """Whether two addresses are one: both of all of this machine's, or word for word."""
    return one == other or (one[1] == other[1] and {one[0], other[0]} <= _ALL)


def _shown(address: BindAddress) -> str:
    host, port = address
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def _reason(error: OSError) -> str:
    if error.errno == errno.EADDRINUSE:
        return "the port is taken"
    if isinstance(error, socket.gaierror) or error.errno is None:
        return error.strerror or str(error)
    return os.strerror(error.errno)
