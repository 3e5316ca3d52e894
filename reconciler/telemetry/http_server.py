"""HTTP server of probes, metrics and the page: GET and HEAD, with limits on time, size and connections, and no access
log."""

import errno
import io
import logging
import socket
import threading
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from reconciler.config.config import ConfigurationError
from reconciler.telemetry.health import (
    NOT_FOUND,
    Answer,
    LoopHealth,
    Pages,
    Render,
    Request,
    ServedPage,
    health_pages,
    metrics_pages,
)
from reconciler.telemetry.logs import pairs

_log = logging.getLogger("hcloud-reconciler.serving")

_PATIENCE_S = 10.0
"""How long a request may take to arrive, the pause before it included; and how long the client may take to read the
answer."""
_LONGEST_HEAD = 16 * 1024


class _TooLong(Exception):
    """The request line and headers of a request are too long."""


class _Arriving(io.RawIOBase):
    """Input of a connection, with a limit on the time and size of one request: bytes that come one by one get no more
    time than those that come at once."""

    def __init__(self, connection: socket.socket) -> None:
        self._connection = connection
        self.begin()

    def begin(self) -> None:
        """Start the limits of another request."""
        self._ends_at = time.monotonic() + _PATIENCE_S
        self._left = _LONGEST_HEAD

    def readable(self) -> bool:
        """Yes."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Wait for the next bytes. Raises TimeoutError and _TooLong."""
        left_s = self._ends_at - time.monotonic()
        if left_s <= 0:
            raise TimeoutError
        if self._left <= 0:
            raise _TooLong
        self._connection.settimeout(left_s)
        room = memoryview(buffer).cast("B")[: self._left]
        count = self._connection.recv_into(room)
        self._left -= count
        self._connection.settimeout(_PATIENCE_S)
        return count


class Exchange(BaseHTTPRequestHandler):
    """Answers from the pages of its server."""

    protocol_version = "HTTP/1.1"
    timeout = _PATIENCE_S
    error_message_format = "%(code)d %(message)s\n"
    error_content_type = "text/plain; charset=utf-8"
    disable_nagle_algorithm = True

    def setup(self) -> None:
        """Read with a limit."""
        super().setup()
        self._arriving = _Arriving(self.connection)
        self.rfile = io.BufferedReader(self._arriving)

    def handle_one_request(self) -> None:
        """Read one request and answer it; close the connection after what is no request."""
        self._arriving.begin()
        try:
            self.raw_requestline = self.rfile.readline(_LONGEST_HEAD)
            if not self.raw_requestline:
                self.close_connection = True
                return
            if self.parse_request():
                self._answer()
        except TimeoutError:
            self.close_connection = True
        except _TooLong:
            self.close_connection = True
            self.requestline, self.request_version, self.command = "", self.protocol_version, "GET"
            self.send_error(HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE)

    def _answer(self) -> None:
        if self.headers.get("Content-Length", "0") != "0" or "Transfer-Encoding" in self.headers:
            self.close_connection = True  # what follows is not read
        if self.command not in ("GET", "HEAD"):
            self._send(ServedPage(405, b"405 only GET and HEAD\n"), Allow="GET, HEAD")
            return
        self._send(self._made())

    def _made(self) -> ServedPage:
        path, _, query = self.path.partition("?")
        hosts = self.headers.get_all("Host", [])
        request = Request(
            query,
            self.headers.get("Accept", ""),
            path,
            hosts[0] if len(hosts) == 1 else "",
            self.headers.get("If-None-Match", ""),
            self.headers.get("Accept-Encoding", ""),
        )
        try:
            return self._listener.answer(request)
        except Exception as error:  # noqa: BLE001 - the client has to hear that there is no answer
            _log.warning("a page could not be made %s", pairs(error=f"{type(error).__name__}: {error}"))
            return ServedPage(500, b"500 internal error\n")

    def _send(self, page: ServedPage, **headers: str) -> None:
        self.send_response(page.status)
        told = {"Content-Type": page.content_type, "Content-Length": str(len(page.body))}
        if page.status in _WITHOUT_BODY:
            told = {}
        for name, value in {**told, **page.headers, **headers}.items():
            self.send_header(name, value)
        if self.close_connection:
            self.send_header("Connection", "close")
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(page.body)

    def end_headers(self) -> None:
        """The headers of each answer of this server, be it an error that the base class tells."""
        self.send_header("Cache-Control", "no-store")
        for name, value in self._listener.headers.items():
            self.send_header(name, value)
        super().end_headers()

    @property
    def _listener(self) -> "_Server":
        if not isinstance(self.server, _Server):
            raise TypeError(f"{type(self.server).__name__} has no pages")
        return self.server

    def version_string(self) -> str:
        """The name of the product, without a version."""
        return "hcloud-reconciler"

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - as the base class has it
        """Requests are not logged."""
        _log.debug(format, *args)


_WITHOUT_BODY = frozenset({HTTPStatus.NO_CONTENT, HTTPStatus.NOT_MODIFIED})

BindAddress = tuple[str, int]
"""Host, "" for all of this machine's, and port, 0 for any that is free."""

_ALL = frozenset({"", "0.0.0.0", "::"})  # noqa: S104 - compared, not bound
_MOST_CONNECTIONS = 64
"""More than probes and scrapes need; each costs a thread. When there is one more, the oldest is closed: a client that
keeps connections open for nothing keeps no probe out."""
_ENDS_WITHIN_S = 2.0


@dataclass
class RunningServer:
    """The running servers; to be closed at the end."""

    servers: list["_Server"] = field(default_factory=list)

    def ports(self) -> tuple[int, ...]:
        """The port of each server, health first."""
        return tuple(int(server.server_address[1]) for server in self.servers)

    def close(self) -> None:
        """Stop listening, within two seconds: answers under way are cut off."""
        for server in self.servers:
            server.end()


def serve(
    health: LoopHealth,
    health_address: BindAddress,
    render: Render | None = None,
    metrics_address: BindAddress | None = None,
) -> RunningServer:
    """Serve the probes, and metrics where ``render`` and ``metrics_address`` are given; both on one server when the
    addresses are equal.

    Raises ConfigurationError when the probes cannot be served, as failing probes would end the process anyway. Metrics
    that cannot be served are a warning in the log, as with HCCM.
    """
    serving = RunningServer()
    pages = health_pages(health)
    scrape: Pages = metrics_pages(render) if render is not None and metrics_address is not None else {}
    if metrics_address is not None and _same(health_address, metrics_address):
        pages, scrape = {**pages, **scrape}, {}
    try:
        serving.servers.append(_Server(health_address, _by_path(pages)))
    except OSError as error:
        where = "free it, or name another one with --health-address or RECONCILER_HEALTH_ADDRESS"
        raise ConfigurationError(
            (f"--health-address: cannot listen on {_shown(health_address)}: {_reason(error)}; {where}",)
        ) from error
    if scrape and metrics_address is not None:
        try:
            serving.servers.append(_Server(metrics_address, _by_path(scrape)))
        except OSError as error:
            where = "set HCLOUD_METRICS_ADDRESS to a free one, or HCLOUD_METRICS_ENABLED=false"
            said = pairs(address=_shown(metrics_address), why=_reason(error), remedy=where)
            _log.warning("metrics are not served: cannot listen %s", said)
    for server in serving.servers:
        server.begin()
    return serving


def serve_page(answer: Answer, address: BindAddress, headers: Mapping[str, str]) -> RunningServer:
    """Serve what ``answer`` returns on a listener of its own, with these headers in every answer.

    Raises ConfigurationError when it cannot listen there.
    """
    try:
        server = _Server(address, answer, headers)
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


_NOT_SNIFFED: Mapping[str, str] = {"X-Content-Type-Options": "nosniff"}


class _Server(ThreadingHTTPServer):
    """One listening socket with what answers there. Listens when it is made, answers from ``begin`` on."""

    daemon_threads = True
    request_queue_size = 64

    def __init__(self, address: BindAddress, answer: Answer, headers: Mapping[str, str] = _NOT_SNIFFED) -> None:
        family, place = _resolved(address)
        self.address_family = family
        self.answer = answer
        self.headers = headers
        self._open: dict[socket.socket, None] = {}
        self._lock = threading.Lock()
        self._thread = threading.Thread(target=self.serve_forever, name=f"serving-{place[1]}", daemon=True)
        super().__init__(place, Exchange)

    def begin(self) -> None:
        """Answer from now on."""
        self._thread.start()

    def end(self) -> None:
        """Stop."""
        stopper = threading.Thread(target=self.shutdown, name="serving-end", daemon=True)
        stopper.start()
        with suppress(OSError):
            self.socket.shutdown(socket.SHUT_RDWR)  # wakes the thread that listens; it would look up soon, not at once
        stopper.join(_ENDS_WITHIN_S)
        self.server_close()

    def server_bind(self) -> None:
        """Bind, for both families where the address says none; without asking DNS for this machine's name."""
        if self.address_family == socket.AF_INET6:
            only = 0 if self.server_address[0] == "::" else 1
            self.socket.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, only)
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self.socket.bind(self.server_address)
        self.server_address = self.socket.getsockname()

    def process_request(self, request: Any, client_address: Any) -> None:
        """Start a thread for the connection, in place of the oldest one when there are too many."""
        with self._lock:
            self._open[request] = None
            oldest = next(iter(self._open)) if len(self._open) > _MOST_CONNECTIONS else None
            if oldest is not None:
                del self._open[oldest]
        if oldest is not None:
            with suppress(OSError):
                oldest.shutdown(socket.SHUT_RDWR)  # its thread finds the end, and closes it
        super().process_request(request, client_address)

    def shutdown_request(self, request: Any) -> None:
        """The connection has ended."""
        with self._lock:
            self._open.pop(request, None)
        super().shutdown_request(request)

    def handle_error(self, request: Any, client_address: Any) -> None:  # noqa: ARG002 - as the base class has it
        """Ignore a connection that broke off; log anything else for debugging."""
        _log.debug("a request was not answered %s", pairs(client=client_address), exc_info=True)


def _resolved(address: BindAddress) -> tuple[socket.AddressFamily, tuple[Any, ...]]:
    """Family and place to bind to. Raises OSError for a name that leads nowhere."""
    host, port = address
    if host == "":
        both = socket.has_dualstack_ipv6()
        return (socket.AF_INET6, ("::", port)) if both else (socket.AF_INET, ("", port))
    found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    family, _, _, _, place = found[0]
    return family, place


def _same(one: BindAddress, other: BindAddress) -> bool:
    """Whether two addresses are one: both of all of this machine's, or word for word."""
    return one == other or (one[1] == other[1] and {one[0], other[0]} <= _ALL)


def _shown(address: BindAddress) -> str:
    host, port = address
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def _reason(error: OSError) -> str:
    if error.errno == errno.EADDRINUSE:
        return "the port is taken"
    return error.strerror or str(error)
