"""Lines to simulators, which need no port: what carries bytes in place of a connection, one adapter for each library.

A port costs three times the CPU of an answer. ``Shortcut`` goes past an idle one: it is open, no fault is set before
it, and no watch is open.
"""

import json
import threading
from collections.abc import Callable, Mapping
from dataclasses import replace
from email.utils import format_datetime
from http import HTTPStatus
from typing import Any

import requests
import urllib3
from requests.adapters import BaseAdapter
from yarl import URL

from actuators.http.hetzner import HetznerConnection
from actuators.http.kubernetes import KubernetesConnection
from hcloud_sandbox.clock import SimulatedClock
from hcloud_sandbox.exchange import Exchange, Journal, Request, Response, Simulator, readable_body
from hcloud_sandbox.proxy import FaultProxy
from hcloud_sandbox.serving import SimulatorServer

Refusal = tuple[int, Mapping[str, Any]]
"""Status and body of an answer in place of the API's."""
Trouble = Callable[[str, str], Refusal | Exception | None]
"""What a call with this method and path meets; None: nothing."""
Handle = Callable[[Request], Response]
Between = Callable[[Request, Handle], Response]


class Line:
    """A simulator at the other end of a line, which answers one request at a time."""

    trouble: Trouble = staticmethod(lambda _method, _path: None)
    """What goes wrong on the line. What meets it does not arrive."""

    between: Between = staticmethod(lambda request, handle: handle(request))
    """What is between a client and the simulator, and may answer in its place, or raise, before or after its effect."""

    def __init__(self, simulator: Simulator, clock: SimulatedClock) -> None:
        self._simulator = simulator
        self._clock = clock
        self._lock = threading.Lock()
        self.journal = Journal()

    def ask(self, method: str, url: str, headers: Mapping[str, str], body: bytes) -> tuple[int, dict[str, str], bytes]:
        """Status, headers and body of one answer, of the API or of whoever is in its place. Raises what the trouble
        has it raise."""
        asked = URL(url, encoded=True)
        target = asked.raw_path_qs
        met = self.trouble(method, target)
        if isinstance(met, Exception):
            raise met
        if met is not None:
            return met[0], {"Content-Type": "application/json"}, json.dumps(met[1]).encode()
        request = replace(Request.of(method, target, body, headers), path=asked.path)
        with self._lock:
            answer = self.between(request, self._simulator.handle)
        sent, client = readable_body(body), headers.get("User-Agent", "")
        self.journal.record(Exchange(method, request.path, asked.query_string, answer.status, sent, client))
        date = format_datetime(self._clock.now(), usegmt=True)
        headers_of_answer = {"Content-Type": "application/json", "Date": date, **answer.headers}
        return answer.status, headers_of_answer, answer.encoded()


class SessionLine(BaseAdapter):
    """The line as ``requests`` wants it."""

    def __init__(self, line: Line) -> None:
        super().__init__()
        self._line = line

    def send(self, request: requests.PreparedRequest, *_args: Any, **_options: Any) -> requests.Response:
        body = request.body.encode() if isinstance(request.body, str) else request.body or b""
        status, headers, content = self._line.ask(
            str(request.method), str(request.url), dict(request.headers), bytes(body)
        )
        response = requests.Response()
        response.status_code = status
        response.reason = HTTPStatus(status).phrase
        response.headers.update(headers)
        response._content = content
        response.request = request
        response.url = str(request.url)
        return response

    def close(self) -> None:
        """Nothing is open."""


class PoolLine:
    """The line as the ``kubernetes`` package wants its pool of connections."""

    def __init__(self, line: Line) -> None:
        self._line = line

    def request(
        self, method: str, url: str, *, headers: Mapping[str, str] | None = None, body: Any = None, **_options: Any
    ) -> urllib3.HTTPResponse:
        data = body.encode() if isinstance(body, str) else body or b""
        status, found, content = self._line.ask(method, url, headers or {}, data)
        reason = HTTPStatus(status).phrase
        return urllib3.HTTPResponse(content, headers=found, status=status, reason=reason, preload_content=True)

    def clear(self) -> None:
        """Nothing is open."""


class Shortcut(Line):
    """The line past a server and the proxy before it, with the journal of the proxy alone. Watches go through the port
    always."""

    def __init__(self, server: SimulatorServer, clock: SimulatedClock, proxy: FaultProxy) -> None:
        super().__init__(server.simulator, clock)
        self.journal = proxy.journal
        self._server = server
        self._proxy = proxy

    @property
    def is_open(self) -> bool:
        """Whether both ports are open, nothing is spoiled on the way, and no watch reads the simulator in another
        thread."""
        return self._server.is_serving and self._proxy.is_serving and self._proxy.is_idle

    def of_hetzner(self, connection: HetznerConnection) -> HetznerConnection:
        """The same connection, past the ports."""
        session = connection._opened()
        session.mount(self._proxy.url, _Adapter(self, session.get_adapter(self._proxy.url)))
        return connection

    def of_kubernetes(self, connection: KubernetesConnection) -> KubernetesConnection:
        """The same connection, past the ports."""
        client = connection._api_client.rest_client
        client.pool_manager = _Pool(self, client.pool_manager)  # type: ignore[assignment]
        return connection


class _Adapter(BaseAdapter):
    """Chooses the way of each request to Hetzner; the port's is that of the product."""

    def __init__(self, shortcut: Shortcut, port: BaseAdapter) -> None:
        super().__init__()
        self._shortcut, self._line, self._port = shortcut, SessionLine(shortcut), port

    def send(self, request: requests.PreparedRequest, *args: Any, **options: Any) -> requests.Response:
        if self._shortcut.is_open and not options.get("proxies"):
            return self._line.send(request)
        return self._port.send(request, *args, **options)

    def close(self) -> None:
        self._port.close()


class _Pool:
    """Chooses the way of each request to the API server."""

    def __init__(self, shortcut: Shortcut, pool: Any) -> None:
        self._shortcut, self._line, self._pool = shortcut, PoolLine(shortcut), pool

    def request(
        self, method: str, url: str, *, headers: Mapping[str, str] | None = None, body: Any = None, **options: Any
    ) -> Any:
        if self._shortcut.is_open and "watch=" not in url:
            return self._line.request(method, url, headers=headers, body=body)
        return self._pool.request(method, url, headers=headers, body=body, **options)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._pool, name)
