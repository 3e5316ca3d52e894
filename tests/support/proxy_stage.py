"""A fault proxy in front of an upstream that the test plays itself, and a client that sees every detail."""

import asyncio
import http.client
import json
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http.client import HTTPResponse
from threading import Event
from time import monotonic
from typing import Any, ClassVar
from urllib.parse import urlsplit

from aiohttp import web

from hcloud_sandbox.proxy import FaultProxy
from hcloud_sandbox.serving import BackgroundLoop, Server


class Upstream(Server):
    """Answers with what it was asked; ``/watch`` streams what the test feeds, None ends it."""

    settings: ClassVar = {"handler_cancellation": True}

    def __init__(self, loop: BackgroundLoop) -> None:
        super().__init__(loop)
        self.executed: list[str] = []
        self.left = Event()
        """Set when a client of ``/watch`` has gone."""
        self._feed: asyncio.Queue[bytes | Exception | None] = asyncio.Queue()

    def feed(self, piece: bytes | Exception | None) -> None:
        """Let ``/watch`` send this, end, or break off."""
        self._loop.run(self._feed.put(piece))

    def set_faults(self, faults: list[dict[str, Any]]) -> None:
        raise ValueError(f"an upstream has no faults: {faults}")

    def clear_faults(self) -> None:
        """There are none."""

    async def answer(self, incoming: web.Request, body: bytes) -> web.StreamResponse:
        if incoming.path == "/watch":
            return await self._watch(incoming)
        self.executed.append(incoming.method)
        asked = {
            "method": incoming.method,
            "path": incoming.raw_path,
            "headers": dict(incoming.headers),
            "body": body.decode(),
        }
        answer = web.json_response(asked, status=201, reason="Made", headers={"X-Upstream": "yes"})
        answer.headers.add("Warning", "first")
        answer.headers.add("Warning", "second")
        return answer

    async def _watch(self, request: web.Request) -> web.StreamResponse:
        answer = web.StreamResponse()
        await answer.prepare(request)
        try:
            while (piece := await self._feed.get()) is not None:
                if isinstance(piece, Exception):
                    assert request.transport is not None
                    request.transport.abort()
                else:
                    await answer.write(piece)
        except asyncio.CancelledError:
            self.left.set()
            raise
        return answer


@dataclass(frozen=True)
class ProxyStage:
    loop: BackgroundLoop
    upstream: Upstream
    proxy: FaultProxy

    def send(
        self,
        method: str = "GET",
        path: str = "/things",
        body: str | None = None,
        headers: dict[str, str] | None = None,
        *,
        patience_s: float = 5.0,
    ) -> HTTPResponse:
        """The answer with its headers read and its body not. Raises TimeoutError and ConnectionError as they come.

        ``patience_s`` is for each wait, those for the body included.
        """
        return send(self.proxy.url, method, path, body, headers, patience_s=patience_s)

    def control(self, method: str, path: str, body: Any = None) -> tuple[int, Any]:
        answer = self.send(method, f"/_sandbox/{path}", None if body is None else json.dumps(body))
        return answer.status, json.loads(answer.read())

    def statuses(self) -> list[int]:
        return [entry.status for entry in self.proxy.journal.entries()]

    def wait_for_statuses(self, count: int, deadline_s: float = 5.0) -> list[int]:
        """The journal's statuses as soon as there are so many, or what there is at the deadline."""
        deadline = monotonic() + deadline_s
        while len(self.statuses()) < count and monotonic() < deadline:
            Event().wait(0.005)
        return self.statuses()

    def connect(self) -> socket.socket:
        """A bare connection to the proxy, for what an HTTP library would hide."""
        return socket.create_connection(("127.0.0.1", urlsplit(self.proxy.url).port or 0), timeout=5)


@contextmanager
def proxy_stage() -> Iterator[ProxyStage]:
    loop = BackgroundLoop()
    upstream = Upstream(loop).start()
    proxy = FaultProxy(loop, upstream.url).start()
    try:
        yield ProxyStage(loop, upstream, proxy)
    finally:
        proxy.stop()
        upstream.stop()
        loop.close()


def send(
    url: str,
    method: str,
    path: str,
    body: str | None = None,
    headers: dict[str, str] | None = None,
    *,
    patience_s: float = 5.0,
) -> HTTPResponse:
    """One request on a connection of its own; see ``ProxyStage.send``."""
    connection = http.client.HTTPConnection(urlsplit(url).netloc, timeout=patience_s)
    try:
        # With this header the answer owns the connection and closes it.
        connection.request(method, path, body, {"Connection": "close", **(headers or {})})
        return connection.getresponse()
    except BaseException:
        connection.close()
        raise
