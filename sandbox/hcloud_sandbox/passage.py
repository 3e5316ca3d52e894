"""One request on its way through the fault proxy, and what its client gets."""

import asyncio
import json
import socket
import struct
import time
from collections.abc import Mapping
from datetime import timedelta
from email.utils import format_datetime, parsedate_to_datetime
from typing import Any, NoReturn

import aiohttp
from aiohttp import web

from hcloud_sandbox.exchange import Exchange, Journal, readable_body
from hcloud_sandbox.transport_faults import Subject

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
