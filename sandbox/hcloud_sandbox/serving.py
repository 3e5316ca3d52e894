"""Simulators on real ports: the thin HTTP layer, and the control API under ``/_sandbox/``.

One background thread runs one event loop for all servers of the process: starting a server takes a millisecond and
a slow answer costs no thread.
"""

import asyncio
import contextlib
import itertools
import json
import os
import selectors
import threading
import time
from collections.abc import Callable, Coroutine
from email.utils import format_datetime
from typing import Any, TypeVar
from urllib.parse import parse_qs

from aiohttp import web

from hcloud_sandbox.clock import SimulatedClock
from hcloud_sandbox.exchange import Exchange, Journal, Request, Response, Simulator, Stream, readable_body

T = TypeVar("T")
_CONTROL = "/_sandbox/"
_LONGEST_GOODBYE_S = 1.0
_TICK_S = 0.2
"""How often a stream is asked whether the time, which is simulated, has brought something."""
_TURNS = 3
"""Of the loop, after which a socket is closed of which nothing more is awaited."""


class BackgroundLoop:
    """An event loop in a daemon thread. ``run`` blocks the caller until the coroutine has ended."""

    def __init__(self) -> None:
        self._selector = selectors.DefaultSelector()
        self._loop = asyncio.SelectorEventLoop(self._selector)
        self._thread = threading.Thread(target=self._loop.run_forever, name="sandbox", daemon=True)
        self._thread.start()

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """The coroutine's result; its exception is raised here."""
        return asyncio.run_coroutine_threadsafe(work, self._loop).result()

    def every(self, seconds: float, call: Callable[[], None]) -> Callable[[], None]:
        """Call this again and again in the loop's thread; the answer ends that."""

        async def repeat() -> None:
            while True:
                await asyncio.sleep(seconds)
                call()

        repeated = asyncio.run_coroutine_threadsafe(repeat(), self._loop)
        repeated.add_done_callback(lambda ended: None if ended.cancelled() else ended.result())

        def end() -> None:
            repeated.cancel()

        return end

    def close(self) -> None:
        """Stop the loop and wait for its thread."""
        self.run(self._settle())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    async def _settle(self) -> None:
        """Let connections that are being closed give their sockets back: TLS waits for the other side's word."""
        until = self._loop.time() + _LONGEST_GOODBYE_S
        for turn in itertools.count():
            # The loop itself listens on one.
            if (turn >= _TURNS and len(self._selector.get_map()) <= 1) or self._loop.time() > until:
                return
            await asyncio.sleep(0 if turn < _TURNS else 0.001)


async def listen(runner: web.AppRunner, port: int) -> str:
    """Begin to answer on a port of 127.0.0.1, 0 for any; the address. Raises OSError that names the port."""
    await runner.setup()
    try:
        await web.TCPSite(runner, "127.0.0.1", port).start()
    except OSError as error:
        why = os.strerror(error.errno) if error.errno else str(error)
        raise OSError(f"port {port} of 127.0.0.1 cannot be used: {why}") from error
    host, bound = runner.addresses[0][:2]
    return f"http://{host}:{bound}"


class SimulatorServer:
    """One simulator on 127.0.0.1. ``port`` 0 lets the system choose; ``url`` is known after ``start``.

    ``latency_s`` is waited before every answer of the API, not before those of the control API. ``tick`` is called
    before and after time is skipped.
    """

    def __init__(
        self,
        loop: BackgroundLoop,
        simulator: Simulator,
        clock: SimulatedClock,
        *,
        port: int = 0,
        latency_s: float = 0.0,
        tick: Callable[[], None] = lambda: None,
    ) -> None:
        self.simulator = simulator
        self._tick = tick
        self.journal = Journal()
        self.url = ""
        self._loop = loop
        self._clock = clock
        self._port = port
        self._latency_s = latency_s
        self._runner: web.AppRunner | None = None

    def start(self) -> "SimulatorServer":
        """Bind the port and begin to answer. Raises OSError that names the port when it is taken."""
        self._loop.run(self._start())
        return self

    def stop(self) -> None:
        """Close the port and all connections."""
        self._loop.run(self._stop())

    async def _start(self) -> None:
        app = web.Application(client_max_size=64 * 2**20)
        app.router.add_route("*", "/{path:.*}", self._answer)
        self._runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1)
        self.url = await listen(self._runner, self._port)

    async def _stop(self) -> None:
        if self._runner is not None:
            await self._runner.cleanup()

    async def _answer(self, incoming: web.Request) -> web.StreamResponse:
        body = await incoming.read()
        arrived_at = time.monotonic()
        request = Request(
            incoming.method,
            incoming.path,
            {k: tuple(v) for k, v in parse_qs(incoming.query_string, keep_blank_values=True).items()},
            {name.lower(): value for name, value in incoming.headers.items()},
            body,
        )
        if request.path.startswith(_CONTROL):
            return self._outgoing(self._control(request))
        if self._latency_s:
            await asyncio.sleep(self._latency_s)
        response = self.simulator.handle(request)
        self.journal.record(
            Exchange(
                request.method,
                request.path,
                incoming.query_string,
                response.status,
                readable_body(body),
                request.headers.get("user-agent", ""),
                arrived_at,
            )
        )
        if isinstance(response.body, Stream):
            return await self._streamed(incoming, response, response.body)
        return self._outgoing(response)

    async def _streamed(self, incoming: web.Request, response: Response, stream: Stream) -> web.StreamResponse:
        """Pass on what comes, until there is no more or the client has gone."""
        headers = {**self._headers(response), "Content-Type": "application/json"}
        outgoing = web.StreamResponse(status=response.status, headers=headers)
        loop, news = asyncio.get_running_loop(), asyncio.Event()

        def tell() -> None:
            loop.call_soon_threadsafe(news.set)

        stream.on_news(tell)
        try:
            await outgoing.prepare(incoming)
            while incoming.transport is not None and not incoming.transport.is_closing():
                news.clear()
                if piece := stream.take():
                    await outgoing.write(piece)
                if stream.is_over:
                    break
                with contextlib.suppress(TimeoutError):
                    await asyncio.wait_for(news.wait(), _TICK_S)
        except ConnectionResetError:
            return outgoing
        finally:
            stream.close()
        return outgoing

    def _headers(self, response: Response) -> dict[str, str]:
        return {"Date": format_datetime(self._clock.now(), usegmt=True), **response.headers}

    def _outgoing(self, response: Response) -> web.Response:
        headers = self._headers(response)
        if response.body is not None and not isinstance(response.body, bytes):
            headers.setdefault("Content-Type", "application/json")
        return web.Response(status=response.status, body=response.encoded(), headers=headers)

    def _control(self, request: Request) -> Response:
        """The control API: ``requests``, ``world``, ``faults``, ``advance``."""
        try:
            match request.method, request.path.removeprefix(_CONTROL):
                case "GET", "requests":
                    return Response(200, [entry.as_json() for entry in self.journal.entries()])
                case "DELETE", "requests":
                    self.journal.clear()
                case "GET", "world":
                    return Response(200, self.simulator.world())
                case "PUT", "world":
                    self.simulator.replace_world(json.loads(request.body))
                case "POST", "faults":
                    sent = json.loads(request.body)
                    self.simulator.set_faults(sent if isinstance(sent, list) else [sent])
                case "DELETE", "faults":
                    self.simulator.clear_faults()
                case "POST", "advance":
                    self._tick()
                    self._clock.advance(float(json.loads(request.body)["seconds"]))
                    self._tick()
                case _:
                    return Response(404, {"error": f"no control {request.method} {request.path}"})
        except (ValueError, KeyError, TypeError) as wrong:
            return Response(400, {"error": f"{type(wrong).__name__}: {wrong}"})
        return Response(200, {})
