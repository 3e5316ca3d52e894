"""The server of probes and metrics: what it answers, to whom it listens no longer, and where it cannot listen."""

import logging
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress

import pytest

from reconciler.config.config import ConfigurationError
from reconciler.telemetry.health import LoopHealth
from reconciler.telemetry.metrics import Metrics
from reconciler.telemetry.serving import LIMITS, BindAddress, Limits, RunningServer, serve
from tests.support.rows import rows

HERE: BindAddress = ("127.0.0.1", 0)
HEALTH = LoopHealth(interval_s=60.0, request_timeout_s=15.0, clock=lambda: 0.0)
METRICS = Metrics(version="1.2.3", policy="sync", mode="loop", lease="ccm", clock=lambda: 0.0)


@contextmanager
def served(
    health: BindAddress = HERE, metrics: BindAddress | None = None, limits: Limits = LIMITS
) -> Iterator[RunningServer]:
    running = serve(HEALTH, health, METRICS.application(), metrics, limits)
    try:
        yield running
    finally:
        running.close()


def send(port: int, *pieces: bytes, host: str = "127.0.0.1", until_closed: bool = False) -> bytes:
    """All that comes back: until the server closes the connection, or until one answer is there."""
    with socket.create_connection((host, port), timeout=20) as connection:
        for piece in pieces:
            with suppress(OSError):
                connection.sendall(piece)
        found = b""
        while until_closed or b"\r\n\r\n" not in found:
            with suppress(ConnectionResetError):
                if more := connection.recv(65536):
                    found += more
                    continue
            break
        return found


def get(port: int, path: str, method: str = "GET", host: str = "127.0.0.1", **headers: str) -> tuple[int, str]:
    more = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
    request = f"{method} {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n{more}\r\n".encode()
    head, _, body = send(port, request, host=host, until_closed=True).partition(b"\r\n\r\n")
    return int(head.split()[1]), body.decode()


@pytest.mark.parametrize(
    ("method", "path", "status", "body"),
    [
        ("GET", "/livez", 200, "ok"),
        ("GET", "/healthz?verbose", 200, "[+]ping ok\n[+]loop ok\nhealthz check passed\n"),
        ("HEAD", "/livez", 200, ""),
        ("HEAD", "/metrics", 200, ""),
        ("GET", "/", 404, "404 not found\n"),
        ("GET", "/livez/", 404, "404 not found\n"),
        ("GET", "//livez", 200, "ok"),
        ("GET", "/../livez", 404, "404 not found\n"),
        ("POST", "/livez", 405, "405 only GET and HEAD\n"),
        ("DELETE", "/metrics", 405, "405 only GET and HEAD\n"),
        ("NONSENSE", "/", 405, "405 only GET and HEAD\n"),
    ],
)
def test_answers(method: str, path: str, status: int, body: str) -> None:
    """One server has all pages when the addresses are equal."""
    with served(HERE, HERE) as running:
        assert get(running.ports()[0], path, method) == (status, body)
        assert len(running.ports()) == 1


def test_two_addresses() -> None:
    with served(HERE, ("localhost", 0)) as running:
        health, metrics = running.ports()

        assert [get(port, "/livez")[0] for port in (health, metrics)] == [200, 404]
        assert [get(port, "/metrics")[0] for port in (health, metrics)] == [404, 200]


@pytest.mark.parametrize(
    ("accept", "content_type"),
    [
        ("*/*", "text/plain; version=0.0.4"),
        ("application/openmetrics-text; version=1.0.0,text/plain;version=0.0.4;q=0.5", "application/openmetrics-text"),
        (";;;,,,=", "text/plain; version=0.0.4"),
    ],
)
def test_scrapes(accept: str, content_type: str) -> None:
    """In the format that a scraper prefers, and in what all read for who asks for nonsense."""
    with served(HERE, HERE) as running:
        (port,) = running.ports()
        request = f"GET /metrics HTTP/1.1\r\nHost: x\r\nAccept: {accept}\r\nConnection: close\r\n\r\n".encode()
        head, _, body = send(port, request, until_closed=True).partition(b"\r\n\r\n")

    assert f"Content-Type: {content_type}".encode() in head
    assert b"X-Content-Type-Options: nosniff" in head
    assert b"hcloud_reconciler_build_info" in body


def test_no_metrics() -> None:
    """Switched off, there is no such page and no second server."""
    with served(HERE, None) as running:
        (port,) = running.ports()
        assert get(port, "/metrics")[0] == 404


def test_answers_are_plain_http() -> None:
    """Length, type, nobody's version; a second request on the same connection, of which a body is no third one."""
    with served(HERE, HERE) as running:
        one = b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n"
        last = (
            b"GET /livez HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: 26\r\n\r\n"
            b"GET /secret HTTP/1.1\r\n\r\n\r\n\r\n"
        )

        answer = send(running.ports()[0], one, last, until_closed=True).decode()

    assert answer.count("HTTP/1.1 200") == answer.count("HTTP/1.1") == 2
    assert "Content-Type: text/plain; charset=utf-8\r\n" in answer
    assert "Content-Length: 2\r\n" in answer
    assert "Cache-Control: no-store\r\n" in answer
    assert "Server: hcloud-reconciler\r\n" in answer
    assert "Python" not in answer
    assert "waitress" not in answer


def test_a_page_that_cannot_be_made(caplog: pytest.LogCaptureFixture) -> None:
    with served(HERE, HERE) as running:
        strange = "application/openmetrics-text; version=abc"
        assert get(running.ports()[0], "/metrics", Accept=strange) == (500, "500 internal error\n")

    assert "a page could not be made" in caplog.text


@pytest.mark.parametrize(
    ("pieces", "status"),
    [
        pytest.param([b"GET /" + b"a" * 20_000], b"431", id="a path without end"),
        pytest.param([b"GET / HTTP/1.1\r\n" + b"A: b\r\n" * 4_000], b"431", id="headers without end"),
        pytest.param([b"GET / HTTP/1.1\r\nA: " + b"b" * 20_000], b"431", id="a header without end"),
        pytest.param([b"\x16\x03\x01\x00\x9b\x01\x00\r\n\r\n"], b"400", id="TLS"),
        pytest.param([b"POST /livez HTTP/1.1\r\nContent-Length: 99999999\r\n\r\n"], b"413", id="a body without end"),
        pytest.param([b"GET\r\n\r\n"], b"400", id="half a line"),
    ],
)
def test_nonsense(pieces: list[bytes], status: bytes) -> None:
    """It is refused, and the connection closed; the next one is answered."""
    with served() as running:
        answer = send(running.ports()[0], *pieces, until_closed=True)

        assert status in answer.split(b"\r\n")[0] or (status == b"431" and answer == b"")
        assert b"X-Content-Type-Options: nosniff" in answer or answer == b""
        assert b"<" not in answer
        assert get(running.ports()[0], "/livez")[0] == 200


def test_a_slow_request_is_given_up() -> None:
    """Bytes that come one by one get no more time than those that come at once."""
    limits = Limits(patience_s=0.3)
    with (
        served(limits=limits) as running,
        socket.create_connection(("127.0.0.1", running.ports()[0]), timeout=20) as connection,
    ):
        began, sent = time.monotonic(), 0
        connection.settimeout(0.02)
        while time.monotonic() - began < 15:
            try:
                connection.sendall(b"a")
                sent += 1
                if connection.recv(1) == b"":
                    break
            except TimeoutError:
                continue
            except OSError:
                break

        assert time.monotonic() - began < 10
        assert sent > 3
        assert get(running.ports()[0], "/livez") == (200, "ok")


def test_connections_that_are_kept_open_keep_no_probe_out() -> None:
    with served(limits=Limits(connections=3)) as running:
        port = running.ports()[0]
        idle = [socket.create_connection(("127.0.0.1", port), timeout=20) for _ in range(12)]

        assert get(port, "/livez") == (200, "ok")
        assert idle[0].recv(1) == b""
        for connection in idle:
            connection.close()


def test_requests_that_wait_for_their_turn_are_no_news(caplog: pytest.LogCaptureFixture) -> None:
    """More at once than there are threads: waitress would warn of its queue."""
    with served(limits=Limits(threads=1)) as running, ExitStack() as clients:
        found = [
            clients.enter_context(socket.create_connection(("127.0.0.1", running.ports()[0]), timeout=20))
            for _ in range(24)
        ]
        for client in found:
            client.sendall(b"GET /livez HTTP/1.1\r\nHost: x\r\n\r\n" * 8)
        assert all(client.recv(12) == b"HTTP/1.1 200" for client in found)

    assert [record for record in caplog.records if record.levelno > logging.INFO] == []


@pytest.mark.parametrize(
    ("address", "host"),
    [
        pytest.param(("", 0), "127.0.0.1", id="all, by IPv4"),
        pytest.param(("", 0), "::1", id="all, by IPv6"),
        pytest.param(("0.0.0.0", 0), "127.0.0.1", id="all of IPv4"),
        pytest.param(("::", 0), "::1", id="all of IPv6"),
        pytest.param(("::1", 0), "::1", id="one of IPv6"),
        pytest.param(("localhost", 0), "localhost", id="a name"),
    ],
)
def test_addresses(address: BindAddress, host: str) -> None:
    if ":" in host and not socket.has_dualstack_ipv6():
        pytest.skip("this machine has no IPv6")
    with served(address) as running:
        assert get(running.ports()[0], "/livez", host=host) == (200, "ok")


@pytest.fixture
def taken() -> Iterator[int]:
    with socket.create_server(("127.0.0.1", 0)) as other:
        yield other.getsockname()[1]


@rows(
    "health said",
    {
        "taken": (
            lambda port: ("127.0.0.1", port),
            (
                "--health-address: cannot listen on 127.0.0.1:{port}: the port is taken; free it, or name another one"
                " with --health-address or RECONCILER_HEALTH_ADDRESS"
            ),
        ),
        "not ours": (lambda _: ("192.0.2.1", 10258), "--health-address: cannot listen on 192.0.2.1:10258: "),
        "unknown name": (lambda _: ("no.such.host.invalid", 1), "cannot listen on no.such.host.invalid:1: "),
        "IPv6": (lambda _: ("2001:db8::1", 10258), "cannot listen on [2001:db8::1]:10258: "),
    },
)
def test_probes_that_cannot_be_served(taken: int, health: Callable[[int], BindAddress], said: str) -> None:
    """They would kill the process anyhow: one line that names flag, variable and remedy."""
    with pytest.raises(ConfigurationError) as raised, served(health(taken), HERE):
        pass

    (line,) = raised.value.lines
    assert said.format(port=taken) in line
    assert not raised.value.usage


def test_metrics_that_cannot_be_served(taken: int, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING), served(HERE, ("127.0.0.1", taken)) as running:
        (port,) = running.ports()
        assert get(port, "/livez") == (200, "ok")

    (warning,) = caplog.messages
    assert f"127.0.0.1:{taken}" in warning
    assert "HCLOUD_METRICS_ADDRESS" in warning
    assert "HCLOUD_METRICS_ENABLED=false" in warning


def test_the_end(caplog: pytest.LogCaptureFixture) -> None:
    """It comes soon, whatever clients do; the port is free at once; requests leave nothing in the log."""
    running = serve(HEALTH, HERE, METRICS.application(), HERE)
    (port,) = running.ports()
    get(port, "/livez")
    with socket.create_connection(("127.0.0.1", port), timeout=20) as idle:
        idle.sendall(b"GET /li")
        began = time.monotonic()
        running.close()
        assert time.monotonic() - began < 5

    with served(("127.0.0.1", port)) as again:
        assert again.ports() == (port,)
    assert [record for record in caplog.records if record.levelno > logging.DEBUG] == []
