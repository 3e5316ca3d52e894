"""Simulators on real ports: the thin HTTP layer, and the control API under ``/_sandbox/``, which the proxy has too.

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
from abc import ABC, abstractmethod
from collections.abc import Callable, Coroutine, Mapping
from email.utils import format_datetime
from ipaddress import ip_address
from typing import Any, ClassVar, Self, TypeVar, cast
from urllib.parse import parse_qs

from aiohttp import web

from hcloud_sandbox.clock import SimulatedClock
from hcloud_sandbox.exchange import Exchange, Journal, Request, Response, Simulator, Stream, readable_body
from hcloud_sandbox.faults import is_number

T = TypeVar("T")
LOCAL = "127.0.0.1"
_CONTROL = "/_sandbox/"
_LONGEST_GOODBYE_S = 1.0
_TICK_S = 0.2
"""How often a stream is asked whether the time, which is simulated, has brought something."""
_TURNS = 3
"""Of the loop, after which a socket is closed of which nothing more is awaited."""


class _OwningLoop(asyncio.SelectorEventLoop):
    """A loop that keeps each connection until its socket is closed, even if a server or a session has let it go."""

    def __init__(self, selector: selectors.BaseSelector) -> None:
        super().__init__(selector)
        self._connections: dict[Any, Any] = {}
        """Transport → its socket."""

    async def create_server(self, protocol_factory: Any, *given: Any, **named: Any) -> Any:
        return await super().create_server(lambda: _Entrance(self, protocol_factory), *given, **named)

    async def create_connection(self, *given: Any, **named: Any) -> Any:
        transport, protocol = await super().create_connection(*given, **named)
        self.keep(transport)
        return transport, protocol

    def keep(self, transport: asyncio.BaseTransport) -> None:
        """Own this connection too, and forget those that are closed."""
        still = {each: used for each, used in self._connections.items() if used.fileno() != -1}
        self._connections = {**still, transport: transport.get_extra_info("socket")}

    def abort_connections(self) -> None:
        """Close all connections at once, with their data unsent."""
        for each in self._connections:
            each.abort()


class _Entrance(asyncio.Protocol):
    """A protocol that has the loop keep a connection, and then hands over to the server's own one."""

    def __init__(self, loop: _OwningLoop, protocol_factory: Callable[[], asyncio.BaseProtocol]) -> None:
        self._loop = loop
        self._protocol_factory = protocol_factory

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._loop.keep(transport)
        protocol = self._protocol_factory()
        transport.set_protocol(protocol)
        protocol.connection_made(transport)


class BackgroundLoop:
    """An event loop in a daemon thread. ``run`` blocks the caller until the coroutine has ended.

    The loop owns all connections, and aborts the rest when it is closed.
    """

    def __init__(self) -> None:
        self._selector = selectors.DefaultSelector()
        self._loop = _OwningLoop(self._selector)
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
        """Let connections that are being closed give their sockets back: TLS waits for the other side's word. Abort the
        rest."""
        until = self._loop.time() + _LONGEST_GOODBYE_S
        for turn in itertools.count():
            # The loop itself listens on one.
            if (turn >= _TURNS and len(self._selector.get_map()) <= 1) or self._loop.time() > until:
                break
            await asyncio.sleep(0 if turn < _TURNS else 0.001)
        self._loop.abort_connections()
        for _ in range(_TURNS):
            await asyncio.sleep(0)


class Server(ABC):
    """What answers HTTP on a port of ``address``, with a request log and the control API. ``port`` 0 lets the system
    choose; ``url`` is known after ``start``: where all addresses are listened on, by that of this machine."""

    settings: ClassVar[Mapping[str, Any]] = {}
    """Of aiohttp's server, beside those that all have."""

    def __init__(self, loop: BackgroundLoop, *, port: int = 0, address: str = LOCAL) -> None:
        self.journal = Journal()
        self.url = ""
        self._loop = loop
        self._port = port
        self._address = address
        self._runner: web.AppRunner | None = None
        self._listening: asyncio.Server | None = None

    def start(self) -> Self:
        """Bind the port and begin to answer. Raises OSError that names the port when it is taken."""
        self._loop.run(self._start())
        return self

    def stop(self) -> None:
        """Close the port and all connections."""
        self._loop.run(self._stop())

    @property
    def is_serving(self) -> bool:
        """Whether the port is open."""
        return self._listening is not None and self._listening.is_serving()

    @abstractmethod
    async def answer(self, incoming: web.Request, body: bytes) -> web.StreamResponse:
        """Answer a request that is not one of the control API, and record it."""

    @abstractmethod
    def set_faults(self, faults: list[dict[str, Any]]) -> None:
        """Add faults. Raises ValueError for one that is not known, and then adds none."""

    @abstractmethod
    def clear_faults(self) -> None:
        """Forget all faults."""

    def controls(self) -> dict[tuple[str, str], Callable[[Any], Any]]:
        """Method and name of each request of the control API → what makes an answer of what was sent, as JSON; None is
        answered by an empty object. ValueError, KeyError and TypeError are the sender's errors."""
        return {
            ("GET", "requests"): lambda _: [entry.as_json() for entry in self.journal.entries()],
            ("DELETE", "requests"): lambda _: self.journal.clear(),
            ("POST", "faults"): lambda sent: self.set_faults(sent if isinstance(sent, list) else [sent]),
            ("DELETE", "faults"): lambda _: self.clear_faults(),
        }

    async def _start(self) -> None:
        app = web.Application(client_max_size=64 * 2**20)
        app.router.add_route("*", "/{path:.*}", self._answer)
        self._runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1, **self.settings)
        await self._runner.setup()
        answering, loop = cast("web.Server", self._runner.server), asyncio.get_running_loop()
        try:
            self._listening = await loop.create_server(answering, self._address, self._port)
        except OSError as error:
            why = os.strerror(error.errno) if error.errno else str(error)
            raise OSError(f"port {self._port} of {self._address} cannot be used: {why}") from error
        host = ip_address(self._address)
        if host.is_unspecified:
            host = ip_address(LOCAL if host.version == 4 else "::1")
        self.url = f"http://{host if host.version == 4 else f'[{host}]'}:{self._listening.sockets[0].getsockname()[1]}"

    async def _stop(self) -> None:
        if self._listening is not None:
            for each in self._listening.sockets:
                asyncio.get_running_loop().remove_reader(each)
            # An accepted connection is attached a turn later: asyncio loses it if the server is closed by then.
            await asyncio.sleep(0)
            self._listening.close()
        if self._runner is not None:
            await self._runner.cleanup()

    async def _answer(self, incoming: web.Request) -> web.StreamResponse:
        body = await incoming.read()
        if not incoming.path.startswith(_CONTROL):
            return await self.answer(incoming, body)
        try:
            done = self.controls()[incoming.method, incoming.path.removeprefix(_CONTROL)]
        except KeyError:
            return web.json_response({"error": f"no control {incoming.method} {incoming.path}"}, status=404)
        try:
            said = done(json.loads(body) if incoming.method in {"POST", "PUT"} else None)
            return web.json_response({} if said is None else said)
        except json.JSONDecodeError as wrong:
            return web.json_response({"error": f"the body is no JSON: {wrong}"}, status=400)
        except ValueError as wrong:
            return web.json_response({"error": str(wrong)}, status=400)
        except (KeyError, TypeError) as wrong:
            return web.json_response({"error": f"it is not what is expected: {wrong}"}, status=400)
        except RecursionError:
            return web.json_response({"error": "it is nested too deep"}, status=400)


class SimulatorServer(Server):
    """One simulator on a port.

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
        address: str = LOCAL,
        latency_s: float = 0.0,
        tick: Callable[[], None] = lambda: None,
    ) -> None:
        super().__init__(loop, port=port, address=address)
        self.simulator = simulator
        self._tick = tick
        self._clock = clock
        self._latency_s = latency_s

    def set_faults(self, faults: list[dict[str, Any]]) -> None:
        self.simulator.set_faults(faults)

    def clear_faults(self) -> None:
        self.simulator.clear_faults()

    def controls(self) -> dict[tuple[str, str], Callable[[Any], Any]]:
        return {
            **super().controls(),
            ("GET", "world"): lambda _: self.simulator.world(),
            ("PUT", "world"): self.simulator.replace_world,
            ("POST", "advance"): self._advance,
        }

    def _advance(self, sent: Any) -> dict[str, str]:
        seconds: Any = sent.get("seconds") if isinstance(sent, dict) else None
        if not is_number(seconds):
            raise ValueError('how long is not said: send such as {"seconds": 60}')
        self._tick()
        self._clock.advance(seconds)
        self._tick()
        return {"now": self._clock.now().isoformat()}

    async def answer(self, incoming: web.Request, body: bytes) -> web.StreamResponse:
        arrived_at = time.monotonic()
        request = Request(
            incoming.method,
            incoming.path,
            {k: tuple(v) for k, v in parse_qs(incoming.query_string, keep_blank_values=True).items()},
            {name.lower(): value for name, value in incoming.headers.items()},
            body,
        )
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
