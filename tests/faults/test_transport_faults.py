"""Each fault of the proxy does to the client, and to the upstream, what its name says."""

import http.client
from collections.abc import Iterator
from time import monotonic
from typing import Any

import pytest

from tests.support.proxy_stage import ProxyStage, proxy_stage

PATIENCE_S = 0.05
"""How long a test listens to silence."""


@pytest.fixture
def stage() -> Iterator[ProxyStage]:
    with proxy_stage() as stage:
        yield stage


@pytest.mark.parametrize(
    ("body", "raw", "media_type"),
    [
        ({"kind": "Status"}, b'{"kind": "Status"}', "application/json"),
        ("<html>bad gateway</html>", b"<html>bad gateway</html>", "text/html"),
        ("slow down", b"slow down", "text/plain"),
        (None, b"", "application/json"),
    ],
)
def test_status_answers_instead_of_the_upstream(stage: ProxyStage, body: Any, raw: bytes, media_type: str) -> None:
    stage.proxy.set_faults([{"kind": "status", "code": 429, "body": body, "headers": {"Retry-After": "3"}}])
    answer = stage.send("POST")
    assert (answer.status, answer.getheader("Retry-After"), answer.getheader("Content-Type"), answer.read()) == (
        429,
        "3",
        media_type,
        raw,
    )
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


def test_reset_is_a_reset_and_nothing_is_executed(stage: ProxyStage) -> None:
    stage.proxy.set_faults([{"kind": "reset"}])
    with pytest.raises(ConnectionResetError) as seen:
        stage.send("POST")
    assert not isinstance(seen.value, http.client.RemoteDisconnected)
    assert (stage.upstream.executed, stage.statuses()) == ([], [0])


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


def test_executed_then_reset(stage: ProxyStage) -> None:
    stage.proxy.set_faults([{"kind": "executed_then_reset"}])
    with pytest.raises(ConnectionResetError):
        stage.send("POST")
    assert (stage.upstream.executed, stage.statuses()) == (["POST"], [0])


def test_half_open_sends_headers_and_then_nothing(stage: ProxyStage) -> None:
    stage.proxy.set_faults([{"kind": "half_open", "path": "/watch"}])
    with stage.connect() as wire:
        wire.sendall(b"GET /watch HTTP/1.1\r\nHost: upstream\r\n\r\n")
        seen = b""
        while b"\r\n\r\n" not in seen:
            seen += wire.recv(4096)
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
        wire.sendall(b"GET /watch HTTP/1.1\r\nHost: upstream\r\nUser-Agent: me/1\r\n\r\n")
        stage.upstream.feed(b"one\n")
        seen = b""
        while b"one\n" not in seen:
            seen += wire.recv(4096)
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
        wire.sendall(b"GET /watch HTTP/1.1\r\nHost: upstream\r\n\r\n")
        stage.upstream.feed(b"one\n")
        seen = b""
        while b"one\n" not in seen:
            seen += wire.recv(4096)


@pytest.mark.parametrize("headers", [{"User-Agent": "one/1"}, {"Authorization": "Bearer 17-one"}])
def test_cut_client_hangs_every_request_of_one_client(stage: ProxyStage, headers: dict[str, str]) -> None:
    stage.proxy.set_faults([{"kind": "cut_client", "client": "one"}])
    for _ in range(2):
        with pytest.raises(TimeoutError):
            stage.send(headers=headers, patience_s=PATIENCE_S)
    assert stage.send(headers={"User-Agent": "two/1", "Authorization": "Bearer one-18"}).status == 201
    stage.proxy.clear_faults()
    assert stage.send(headers=headers).status == 201
