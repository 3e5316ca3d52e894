"""The fault proxy: stands between a client and any API, logs what passes, and spoils it on request.

It serves plain http, whatever the upstream speaks. Answers are passed on piece by piece as they come, so that watches
work. Not passed on: upgraded connections (``kubectl exec``) and HTTP/2.
"""

import asyncio
import io
import json
import socket
import ssl
import struct
import time
from collections.abc import Mapping
from datetime import timedelta
from email.utils import format_datetime, parsedate_to_datetime
from typing import Any, ClassVar, NoReturn

import aiohttp
from aiohttp import web
from yarl import URL

from hcloud_sandbox.exchange import Exchange, Journal, readable_body
from hcloud_sandbox.serving import LOCAL, BackgroundLoop, Server
from hcloud_sandbox.transport_faults import Fault, FaultList, Subject

_NOT_FORWARDED = {"host", "content-length", "expect"}
_MAX_LINE = 64 * 2**10
# RFC 9110, 7.6.1: these concern one connection only.
_HOP_BY_HOP = {"connection", "keep-alive", "proxy-connection", "te", "trailer", "transfer-encoding", "upgrade"}


class Passage:
    """One request, its line in the journal, and the ways in which its answer can go wrong."""

    def __init__(self, incoming: web.Request, body: bytes, journal: Journal) -> None:
        self.incoming = incoming
        self.body = body
        self.status_sent = False
        self.subject = Subject(
            incoming.method,
            incoming.path,
            incoming.query_string,
            incoming.headers.get("User-Agent", ""),
            incoming.headers.get("Authorization", ""),
        )
        self._journal = journal
        self._logged = False
        self._arrived_at = time.monotonic()

    def log(self, status: int) -> None:
        """Record the exchange, once: what the client gets first is what counts."""
        if not self._logged:
            self._logged = True
            about, sent = self.subject, readable_body(self.body)
            self._journal.record(
                Exchange(about.method, about.path, about.query, status, sent, about.user_agent, self._arrived_at)
            )

    def answer(self, status: int, body: Any, headers: Mapping[str, str] | None = None) -> web.Response:
        """An answer of the proxy's own: text as it is, anything else as JSON."""
        self.log(status)
        if isinstance(body, str):
            raw, media_type = body, "text/html" if body.startswith("<") else "text/plain"
        else:
            raw, media_type = "" if body is None else json.dumps(body), "application/json"
        response = web.Response(status=status, body=raw.encode(), headers=headers)
        response.headers.setdefault("Content-Type", media_type)
        return response

    async def send_headers(self, outgoing: web.StreamResponse) -> None:
        """Let the client have status and headers now."""
        self.log(outgoing.status)
        self.status_sent = True
        await outgoing.prepare(self.incoming)

    async def send_half(self, answer: aiohttp.ClientResponse) -> NoReturn:
        """Promise the whole body, send the first half, close."""
        whole = await answer.read()
        outgoing = web.StreamResponse(status=answer.status, headers=end_to_end(answer.headers, {"content-length"}))
        outgoing.content_length = len(whole)
        await self.send_headers(outgoing)
        await outgoing.write(whole[: len(whole) // 2])
        if self.incoming.transport is not None:
            self.incoming.transport.close()
        await until_client_leaves()

    async def reset(self) -> NoReturn:
        """End the connection with an RST, as a crashed peer or a firewall does."""
        self.log(0)
        transport = self.incoming.transport
        if transport is not None:
            # Lingering for zero seconds makes the kernel send RST instead of FIN.
            transport.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            transport.abort()
        await until_client_leaves()


class FaultProxy(Server):
    """A reverse proxy on a port.

    ``ca_file`` is what an https upstream is verified against, the system's authorities by default; ``insecure`` turns
    the verification off. ``journal`` has a line for each request, written just before the client gets its status; the
    status is 0 when the client gets none. ``most_at_once`` is how many requests were under way at the same moment, at
    most: who keeps more connections than that has lost some.
    """

    # Cancellation ends hanging requests and upstream watches as soon as the client goes away.
    settings: ClassVar = {"handler_cancellation": True, "max_line_size": _MAX_LINE, "max_field_size": _MAX_LINE}

    def __init__(
        self,
        loop: BackgroundLoop,
        upstream: str,
        *,
        port: int = 0,
        address: str = LOCAL,
        ca_file: str | None = None,
        insecure: bool = False,
    ) -> None:
        super().__init__(loop, port=port, address=address)
        self.most_at_once = 0
        self._under_way = 0
        self._upstream = upstream.rstrip("/")
        self._tls: ssl.SSLContext | bool = not insecure
        if ca_file is not None and not insecure:
            self._tls = ssl.create_default_context(cafile=ca_file)
        self._faults = FaultList()
        self._session: aiohttp.ClientSession | None = None

    def set_faults(self, faults: list[dict[str, Any]]) -> None:
        self._faults.add(faults)

    @property
    def is_idle(self) -> bool:
        """Whether no fault is set, and no request is under way, such as a watch."""
        return not self._faults and self._under_way == 0

    def clear_faults(self) -> None:
        """Forget all faults. What hangs already goes on hanging: the client has to give up, as after a real cut."""
        self._faults.clear()

    async def _start(self) -> None:
        await super()._start()
        # A connection for each request: a kept one that the upstream has closed would add faults nobody asked for.
        self._session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=0, ssl=self._tls, force_close=True),
            timeout=aiohttp.ClientTimeout(total=None, sock_connect=10),
            cookie_jar=aiohttp.DummyCookieJar(),
            auto_decompress=False,
            skip_auto_headers=("Accept", "Accept-Encoding", "Content-Type", "User-Agent"),
            max_line_size=_MAX_LINE,
            max_field_size=_MAX_LINE,
        )

    async def _stop(self) -> None:
        await super()._stop()
        if self._session is not None:
            await self._session.close()

    async def answer(self, incoming: web.Request, body: bytes) -> web.StreamResponse:
        passage = Passage(incoming, body, self.journal)
        self._under_way += 1
        self.most_at_once = max(self.most_at_once, self._under_way)
        try:
            return await self._pass_on(passage, self._faults.take(passage.subject))
        except (aiohttp.ClientError, TimeoutError) as wrong:
            if passage.status_sent:
                # The client must not take what it has for the whole.
                return await passage.reset()
            return passage.answer(502, f"the upstream gives no answer: {type(wrong).__name__}: {wrong}")
        except asyncio.CancelledError:
            passage.log(0)
            raise
        finally:
            self._under_way -= 1

    async def _pass_on(self, passage: Passage, fault: Fault) -> web.StreamResponse:
        """Forward and answer as the fault has it. Raises ClientError when the upstream fails."""
        match fault.kind:
            case "status":
                return passage.answer(fault.code, fault.body, fault.headers)
            case "hang" | "cut_client":
                passage.log(0)
                return await until_client_leaves()
            case "reset":
                return await passage.reset()
            case "delay":
                await asyncio.sleep(fault.seconds)
        async with self._forward(passage) as answer:
            match fault.kind:
                case "executed_then_504":
                    return passage.answer(504, "<html><body><h1>504 Gateway Time-out</h1></body></html>")
                case "executed_then_reset":
                    return await passage.reset()
                case "cut_body":
                    return await passage.send_half(answer)
            ahead_s = fault.seconds if fault.kind == "clock" else 0.0
            return await self._stream(passage, answer, silent=fault.kind == "half_open", ahead_s=ahead_s)

    def _forward(self, passage: Passage) -> Any:
        if self._session is None:
            raise aiohttp.ClientConnectionError("the proxy is not started")
        incoming = passage.incoming
        return self._session.request(
            incoming.method,
            URL(self._upstream + incoming.raw_path, encoded=True),
            headers=end_to_end(incoming.headers, _NOT_FORWARDED),
            # Raw bytes of a large body would be sent with a ResourceWarning.
            data=io.BytesIO(passage.body) if passage.body else None,
            allow_redirects=False,
        )

    async def _stream(
        self, passage: Passage, answer: aiohttp.ClientResponse, *, silent: bool, ahead_s: float
    ) -> web.StreamResponse:
        headers = end_to_end(answer.headers, set())
        outgoing = web.StreamResponse(
            status=answer.status,
            reason=answer.reason,
            headers=with_clock_ahead(headers, ahead_s) if ahead_s else headers,
        )
        await passage.send_headers(outgoing)
        try:
            async for piece in answer.content.iter_any():
                # Pieces that the client does not get are read all the same: the upstream must not notice.
                silent = silent or self._faults.silences(passage.subject)
                if not silent:
                    await outgoing.write(piece)
        except aiohttp.ClientError:
            if not silent:
                raise
        if silent:
            return await until_client_leaves()
        await outgoing.write_eof()
        return outgoing


def end_to_end(headers: Mapping[str, str], but: set[str]) -> list[tuple[str, str]]:
    """The headers that the other side gets too: not those of the connection, nor those named in ``but``.

    A header that is there twice is in the answer twice.
    """
    connection = [value for name, value in headers.items() if name.lower() == "connection"]
    named = {name.strip().lower() for value in connection for name in value.split(",")}
    left_out = _HOP_BY_HOP | named | but
    return [(name, value) for name, value in headers.items() if name.lower() not in left_out]


def with_clock_ahead(headers: list[tuple[str, str]], seconds: float) -> list[tuple[str, str]]:
    """The headers of a machine whose clock is so far ahead: its ``Date`` is later, or earlier when negative."""

    def shifted(value: str) -> str:
        return format_datetime(parsedate_to_datetime(value) + timedelta(seconds=seconds), usegmt=True)

    return [(name, shifted(value) if name.lower() == "date" else value) for name, value in headers]


async def until_client_leaves() -> NoReturn:
    """Wait until the client has gone, which cancels the caller."""
    await asyncio.Event().wait()
    raise AssertionError("the event is never set")
