"""Each fault of the proxy does to the client, and to the upstream, what its name says."""

import http.client
import socket
from collections.abc import Iterator
from time import monotonic
from typing import Any

import pytest

from tests.support.proxy_stage import ProxyStage, proxy_stage
from tests.support.rows import rows

PATIENCE_S = 0.05
"""How long a test listens to silence."""


@pytest.fixture
def stage() -> Iterator[ProxyStage]:
    with proxy_stage() as stage:
        yield stage


@rows("body raw media_type", {
    "JSON": ({"kind": "Status"}, b'{"kind": "Status"}', "application/json"),
    "HTML": ("<html>bad gateway</html>", b"<html>bad gateway</html>", "text/html"),
    "a text": ("slow down", b"slow down", "text/plain"),
    "nothing": (None, b"", "application/json"),
})  # fmt: skip
def test_status_answers_instead_of_the_upstream(stage: ProxyStage, body: Any, raw: bytes, media_type: str) -> None:
    stage.proxy.set_faults([{"kind": "status", "code": 429, "body": body, "headers": {"Retry-After": "3"}}])
    answer = stage.send("POST")
    headers = [answer.getheader(name) for name in ("Retry-After", "Content-Type")]
    assert (answer.status, headers, answer.read()) == (429, ["3", media_type], raw)
    assert (stage.upstream.executed, stage.statuses()) == ([], [429])


def test_hang_gives_no_answer(stage: ProxyStage) -> None:
    stage.proxy.set_faults([{"kind": "hang"}])
    with stage.connect() as wire:
        wire.sendall(b"POST / HTTP/1.1\r\nHost: upstream\r\nContent-Length: 0\r\n\r\n")
        assert stage.wait_for_statuses(1) == [0]
        wire.settimeout(PATIENCE_S)
        with pytest.raises(TimeoutError):
            wire.recv(1)
    assert stage.upstream.executed == []


def test_delay_answers_later(stage: ProxyStage) -> None:
    stage.proxy.set_faults([{"kind": "delay", "seconds": 0.02}])
    started = monotonic()
    assert stage.send().status == 201
    assert monotonic() - started >= 0.02


def test_a_client_that_gives_up_during_a_delay_is_logged_with_0(stage: ProxyStage) -> None:
    stage.proxy.set_faults([{"kind": "delay", "seconds": 60}])
    with stage.connect() as wire:
        wire.sendall(b"POST / HTTP/1.1\r\nHost: upstream\r\nContent-Length: 0\r\nExpect: 100-continue\r\n\r\n")
        # The proxy has the request once it has answered this.
        assert wire.recv(4096).startswith(b"HTTP/1.1 100 ")
    assert stage.wait_for_statuses(1) == [0]
    assert stage.upstream.executed == []


@rows("kind executed", {"at once": ("reset", []), "after the write": ("executed_then_reset", ["POST"])})
def test_reset_is_a_reset(stage: ProxyStage, kind: str, executed: list[str]) -> None:
    """RST, not an orderly close; the client does not know of the write."""
    stage.proxy.set_faults([{"kind": kind}])
    with pytest.raises(ConnectionResetError) as seen:
        stage.send("POST")
    assert not isinstance(seen.value, http.client.RemoteDisconnected)
    assert (stage.upstream.executed, stage.statuses()) == (executed, [0])


def test_cut_body_promises_all_and_sends_half(stage: ProxyStage) -> None:
    stage.proxy.set_faults([{"kind": "cut_body"}])
    answer = stage.send()
    with pytest.raises(http.client.IncompleteRead) as seen:
        answer.read()
    promised = int(answer.headers["Content-Length"])
    assert (len(seen.value.partial), seen.value.expected) == (promised // 2, promised - promised // 2)
    assert (stage.upstream.executed, stage.statuses()) == (["GET"], [201])


def test_executed_then_504(stage: ProxyStage) -> None:
    stage.proxy.set_faults([{"kind": "executed_then_504"}])
    answer = stage.send("POST")
    assert (answer.status, answer.getheader("Content-Type")) == (504, "text/html")
    assert (stage.upstream.executed, stage.statuses()) == (["POST"], [504])


def watched(wire: socket.socket, end: bytes) -> bytes:
    """Ask for the watch; its answer, up to these bytes."""
    wire.sendall(b"GET /watch HTTP/1.1\r\nHost: upstream\r\nUser-Agent: me/1\r\n\r\n")
    seen = b""
    while end not in seen:
        seen += wire.recv(4096)
    return seen


def test_half_open_sends_headers_and_then_nothing(stage: ProxyStage) -> None:
    stage.proxy.set_faults([{"kind": "half_open", "path": "/watch"}])
    with stage.connect() as wire:
        seen = watched(wire, b"\r\n\r\n")
        assert seen.startswith(b"HTTP/1.1 200 OK\r\n")
        wire.settimeout(PATIENCE_S)
        stage.upstream.feed(b"one\n")
        stage.upstream.feed(None)
        with pytest.raises(TimeoutError):
            wire.recv(1)


@pytest.mark.parametrize("fault", [{"kind": "half_open"}, {"kind": "cut_client", "client": "me"}])
def test_a_watch_that_is_already_open_goes_silent(stage: ProxyStage, fault: Any) -> None:
    """And stays so after the faults are cleared: what was swallowed is lost."""
    # A plain socket, because http.client refuses to read again after a timeout.
    with stage.connect() as wire:
        stage.upstream.feed(b"one\n")
        watched(wire, b"one\n")
        wire.settimeout(PATIENCE_S)
        stage.proxy.set_faults([fault])
        stage.upstream.feed(b"two\n")
        with pytest.raises(TimeoutError):
            wire.recv(1)
        stage.proxy.clear_faults()
        stage.upstream.feed(b"three\n")
        with pytest.raises(TimeoutError):
            wire.recv(1)


def test_a_request_that_a_silence_skips_gets_its_whole_answer(stage: ProxyStage) -> None:
    """Also the part that comes after the number of skipped requests has been reached."""
    stage.proxy.set_faults([{"kind": "half_open", "path": "/watch", "skip": 1, "count": None}])
    with stage.connect() as wire:
        stage.upstream.feed(b"one\n")
        watched(wire, b"one\n")


@pytest.mark.parametrize("headers", [{"User-Agent": "one/1"}, {"Authorization": "Bearer 17-one"}])
def test_cut_client_hangs_every_request_of_one_client(stage: ProxyStage, headers: dict[str, str]) -> None:
    stage.proxy.set_faults([{"kind": "cut_client", "client": "one"}])
    for _ in range(2):
        with pytest.raises(TimeoutError):
            stage.send(headers=headers, patience_s=PATIENCE_S)
    assert stage.send(headers={"User-Agent": "two/1", "Authorization": "Bearer one-18"}).status == 201
    stage.proxy.clear_faults()
    assert stage.send(headers=headers).status == 201
