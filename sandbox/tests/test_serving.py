"""The loop of the servers, and the connections that it owns."""

import asyncio
import gc
import socket
import threading
from urllib.parse import urlsplit

import pytest

from hcloud_sandbox.proxy import FaultProxy
from hcloud_sandbox.serving import LOCAL, BackgroundLoop

_DEADLINE_S = 10
_NOWHERE = "http://127.0.0.1:9"


class _Forgetful(asyncio.Protocol):
    """A protocol that lets go of its connection."""

    made = threading.Event()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        transport.pause_reading()
        self.made.set()


def _connected(url: str) -> socket.socket:
    parts = urlsplit(url)
    return socket.create_connection((parts.hostname, parts.port), timeout=_DEADLINE_S)


def _is_closed(client: socket.socket) -> bool:
    """Whether the other side ends the connection within the deadline."""
    try:
        while client.recv(2**20):
            pass
    except ConnectionResetError:
        return True
    except TimeoutError:
        return False
    return True


@pytest.mark.parametrize("turns", range(6))
def test_a_connection_that_is_accepted_as_its_server_stops(background_loop: BackgroundLoop, turns: int) -> None:
    server = FaultProxy(background_loop, _NOWHERE).start()

    async def connected_and_stopped() -> socket.socket:
        client = _connected(server.url)
        for _ in range(turns):
            await asyncio.sleep(0)
        await server._stop()
        return client

    with background_loop.run(connected_and_stopped()) as client:
        gc.collect()
        assert _is_closed(client)


def test_an_answer_that_nobody_reads_ends_with_the_loop() -> None:
    loop = BackgroundLoop()
    server = FaultProxy(loop, _NOWHERE).start()
    server.set_faults([{"kind": "status", "code": 500, "body": "more than a connection takes at once" * 2**20}])
    with _connected(server.url) as client:
        client.sendall(b"GET / HTTP/1.1\r\nHost: proxy\r\n\r\n")
        assert client.recv(1)
        server.stop()
        loop.close()
        gc.collect()
        assert _is_closed(client)


def test_a_connection_that_its_server_lets_go_ends_with_the_loop() -> None:
    loop = BackgroundLoop()

    async def listening() -> asyncio.Server:
        return await asyncio.get_running_loop().create_server(_Forgetful, LOCAL, 0)

    async def closed(server: asyncio.Server) -> None:
        server.close()

    server = loop.run(listening())
    with socket.create_connection(server.sockets[0].getsockname(), timeout=_DEADLINE_S) as client:
        assert _Forgetful.made.wait(_DEADLINE_S)
        loop.run(closed(server))
        gc.collect()
        client.setblocking(False)
        with pytest.raises(BlockingIOError):
            client.recv(1)
        client.settimeout(_DEADLINE_S)
        loop.close()
        assert _is_closed(client)
