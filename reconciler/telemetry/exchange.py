"""One connection to the server of probes and metrics: GET and HEAD, little patience, and no word in the log."""

import io
import logging
import socket
import time
from collections.abc import Callable
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler
from typing import Any

from reconciler.telemetry.logs import pairs
from reconciler.telemetry.probes import Page, Request

_log = logging.getLogger("hcloud-reconciler.serving")

_PATIENCE_S = 10.0
"""How long a request may take to arrive, the pause before it included; and how long its answer to be taken."""
_LONGEST_HEAD = 16 * 1024


class _TooLong(Exception):
    """The request line and headers of a request have no end."""


class _Arriving(io.RawIOBase):
    """What a client sends, of which one request may take so long and be so long: bytes that come one by one get no
    more time than those that come at once."""

    def __init__(self, connection: socket.socket) -> None:
        self._connection = connection
        self.begin()

    def begin(self) -> None:
        """Another request may arrive."""
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
            self.close_connection = True  # nobody reads what follows
        if self.command not in ("GET", "HEAD"):
            self._send(Page(405, b"405 only GET and HEAD\n"), Allow="GET, HEAD")
            return
        path, _, query = self.path.partition("?")
        page = getattr(self.server, "pages", {}).get(path)
        self._send(Page(404, b"404 not found\n") if page is None else self._made(page, query))

    def _made(self, page: Callable[[Request], Page], query: str) -> Page:
        try:
            return page(Request(query, self.headers.get("Accept", "")))
        except Exception as error:  # noqa: BLE001 - whoever asks has to hear that there is no answer
            _log.warning("a page could not be made %s", pairs(error=f"{type(error).__name__}: {error}"))
            return Page(500, b"500 internal error\n")

    def _send(self, page: Page, **headers: str) -> None:
        self.send_response(page.status)
        more = {"Content-Type": page.content_type, "Content-Length": str(len(page.body)), "Cache-Control": "no-store"}
        for name, value in (more | {"X-Content-Type-Options": "nosniff"} | headers).items():
            self.send_header(name, value)
        if self.close_connection:
            self.send_header("Connection", "close")
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(page.body)

    def version_string(self) -> str:
        """The name of the product, and nobody's version."""
        return "hcloud-reconciler"

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - as the base class has it
        """Requests are nothing to tell of."""
        _log.debug(format, *args)
