"""Serves probes and metrics over plain HTTP, on threads that end with the process."""

import errno
import logging
import socket
import threading
from contextlib import suppress
from dataclasses import dataclass, field
from http.server import ThreadingHTTPServer
from typing import Any

from reconciler.config import ConfigurationError
from reconciler.telemetry.exchange import Exchange
from reconciler.telemetry.health import Health
from reconciler.telemetry.logs import pairs
from reconciler.telemetry.probes import Pages, Render, health_pages, metrics_pages

_log = logging.getLogger("hcloud-reconciler.serving")

Address = tuple[str, int]
"""Host, "" for all of this machine's, and port, 0 for any that is free."""

_ALL = frozenset({"", "0.0.0.0", "::"})  # noqa: S104 - compared, not bound
_MOST_CONNECTIONS = 64
"""More than probes and scrapes need; each costs a thread. When there is one more, the oldest is closed: whoever keeps
connections open for nothing keeps no probe out."""
_ENDS_WITHIN_S = 2.0


@dataclass
class Serving:
    """What is being served; closed at the end."""

    servers: list["_Server"] = field(default_factory=list)

    def ports(self) -> tuple[int, ...]:
        """The port of each server, health first."""
        return tuple(int(server.server_address[1]) for server in self.servers)

    def close(self) -> None:
        """Stop listening, within two seconds: whoever is being answered hears no more."""
        for server in self.servers:
            server.end()


def serve(
    health: Health, health_address: Address, render: Render | None = None, metrics_address: Address | None = None
) -> Serving:
    """Serve the probes, and metrics where ``render`` and ``metrics_address`` are given; both on one server when the
    addresses are equal.

    Raises ConfigurationError when the probes cannot be served, as these would kill the process anyhow. Metrics that
    cannot be served are a warning in the log, as with HCCM.
    """
    serving = Serving()
    pages = health_pages(health)
    scrape: Pages = metrics_pages(render) if render is not None and metrics_address is not None else {}
    if metrics_address is not None and _same(health_address, metrics_address):
        pages, scrape = {**pages, **scrape}, {}
    try:
        serving.servers.append(_Server(health_address, pages))
    except OSError as error:
        where = "free it, or name another one with --health-address or RECONCILER_HEALTH_ADDRESS"
        raise ConfigurationError(
            (f"--health-address: cannot listen on {_shown(health_address)}: {_reason(error)}; {where}",)
        ) from error
    if scrape and metrics_address is not None:
        try:
            serving.servers.append(_Server(metrics_address, scrape))
        except OSError as error:
            where = "set HCLOUD_METRICS_ADDRESS to a free one, or HCLOUD_METRICS_ENABLED=false"
            said = pairs(address=_shown(metrics_address), why=_reason(error), remedy=where)
            _log.warning("metrics are not served: cannot listen %s", said)
    for server in serving.servers:
        server.begin()
    return serving


class _Server(ThreadingHTTPServer):
    """One listening socket with its pages. Listens when it is made, answers from ``begin`` on."""

    daemon_threads = True
    request_queue_size = 64

    def __init__(self, address: Address, pages: Pages) -> None:
        family, place = _resolved(address)
        self.address_family = family
        self.pages = pages
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
        """A thread for the connection, in the place of the oldest one when there are too many."""
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
        """A connection that broke off is nobody's trouble; anything else is for who debugs."""
        _log.debug("a request was not answered %s", pairs(client=client_address), exc_info=True)


def _resolved(address: Address) -> tuple[socket.AddressFamily, tuple[Any, ...]]:
    """Family and place to bind to. Raises OSError for a name that leads nowhere."""
    host, port = address
    if host == "":
        both = socket.has_dualstack_ipv6()
        return (socket.AF_INET6, ("::", port)) if both else (socket.AF_INET, ("", port))
    found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    family, _, _, _, place = found[0]
    return family, place


def _same(one: Address, other: Address) -> bool:
    """Whether two addresses are one: both of all of this machine's, or word for word."""
    return one == other or (one[1] == other[1] and {one[0], other[0]} <= _ALL)


def _shown(address: Address) -> str:
    host, port = address
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def _reason(error: OSError) -> str:
    if error.errno == errno.EADDRINUSE:
        return "the port is taken"
    return error.strerror or str(error)
