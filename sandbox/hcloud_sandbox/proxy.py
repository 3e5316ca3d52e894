"""The fault proxy: stands between a client and any API, logs what passes, and spoils it on request.

It serves plain http, whatever the upstream speaks. Answers are passed on piece by piece as they come, so that watches
work. Not passed on: upgraded connections (``kubectl exec``) and HTTP/2.
"""

import asyncio
import io
import json
import ssl
from typing import Any

import aiohttp
from aiohttp import web
from yarl import URL

from hcloud_sandbox.exchange import Journal
from hcloud_sandbox.passage import Passage, end_to_end, until_client_leaves, with_clock_ahead
from hcloud_sandbox.serving import BackgroundLoop, listen
from hcloud_sandbox.transport_faults import Fault, FaultList

_CONTROL = "/_sandbox/"
_NOT_FORWARDED = {"host", "content-length", "expect"}
_MAX_LINE = 64 * 2**10


class FaultProxy:
    """A reverse proxy on 127.0.0.1. ``port`` 0 lets the system choose; ``url`` is known after ``start``.

    ``ca_file`` is what an https upstream is verified against, the system's authorities by default; ``insecure`` turns
    the verification off. ``journal`` has a line for each request, written just before the client gets its status; the
    status is 0 when the client gets none. ``most_at_once`` is how many requests were under way at the same moment, at
    most: who keeps more connections than that has lost some.
    """

    def __init__(
        self, loop: BackgroundLoop, upstream: str, *, port: int = 0, ca_file: str | None = None, insecure: bool = False
    ) -> None:
        self.journal = Journal()
        self.url = ""
        self.most_at_once = 0
        self._under_way = 0
        self._loop = loop
        self._upstream = upstream.rstrip("/")
        self._port = port
        self._tls: ssl.SSLContext | bool = not insecure
        if ca_file is not None and not insecure:
            self._tls = ssl.create_default_context(cafile=ca_file)
        self._faults = FaultList()
        self._runner: web.AppRunner | None = None
        self._session: aiohttp.ClientSession | None = None

    def start(self) -> "FaultProxy":
        """Bind the port and begin to answer. Raises OSError that names the port when it is taken."""
        self._loop.run(self._start())
        return self

    def stop(self) -> None:
        """Close the port and all connections."""
        self._loop.run(self._stop())

    def set_faults(self, faults: list[dict[str, Any]]) -> None:
        """Add faults. Raises ValueError for one that is not known, and then adds none."""
        self._faults.add(faults)

    def clear_faults(self) -> None:
        """Forget all faults. What hangs already goes on hanging: the client has to give up, as after a real cut."""
        self._faults.clear()

    async def _start(self) -> None:
        app = web.Application(client_max_size=64 * 2**20)
        app.router.add_route("*", "/{path:.*}", self._answer)
        # Cancellation ends hanging requests and upstream watches as soon as the client goes away.
        self._runner = web.AppRunner(
            app,
            access_log=None,
            shutdown_timeout=0.1,
            handler_cancellation=True,
            max_line_size=_MAX_LINE,
            max_field_size=_MAX_LINE,
        )
        self.url = await listen(self._runner, self._port)
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
        if self._runner is not None:
            await self._runner.cleanup()
        if self._session is not None:
            await self._session.close()

    async def _answer(self, incoming: web.Request) -> web.StreamResponse:
        body = await incoming.read()
        if incoming.path.startswith(_CONTROL):
            return self._control(incoming, body)
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

    def _control(self, incoming: web.Request, body: bytes) -> web.Response:
        """The control API: ``requests`` and ``faults``, as the simulators have them."""
        try:
            match incoming.method, incoming.path.removeprefix(_CONTROL):
                case "GET", "requests":
                    return web.json_response([entry.as_json() for entry in self.journal.entries()])
                case "DELETE", "requests":
                    self.journal.clear()
                case "POST", "faults":
                    sent = json.loads(body)
                    self.set_faults(sent if isinstance(sent, list) else [sent])
                case "DELETE", "faults":
                    self.clear_faults()
                case _:
                    return web.json_response({"error": f"no control {incoming.method} {incoming.path}"}, status=404)
        except ValueError as wrong:
            return web.json_response({"error": f"{type(wrong).__name__}: {wrong}"}, status=400)
        return web.json_response({})
