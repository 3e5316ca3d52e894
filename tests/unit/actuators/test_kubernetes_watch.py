"""One watch: what its lines become, how it ends, and what its failures are called."""

import json
import threading
from collections.abc import Callable, Iterator
from itertools import islice
from typing import Any, cast

import pytest

from actuators.http.errors import ApiError, Broken, Conflict, Denied, Throttled, Transient
from actuators.http.own_writes import OwnWrites
from actuators.http.watch import Watch, WatchEvent, current_version, open_watch
from tests.support.objects import joining_node
from tests.support.rows import rows
from tests.support.simulators import Simulate, Simulation

NODES = "/api/v1/nodes"
GONE = {
    "kind": "Status",
    "apiVersion": "v1",
    "status": "Failure",
    "reason": "Expired",
    "message": "too old",
    "code": 410,
}


@pytest.fixture
def sim(simulate: Simulate) -> Simulation:
    return simulate(nodes=[joining_node("web-1")])


@pytest.fixture
def opened(sim: Simulation) -> Iterator[Callable[..., Watch]]:
    """Opens watches of Nodes from now on; they are closed when the test ends."""
    reader = sim.kubernetes_reader()
    watches: list[Watch] = []

    def start(version: str | None = None, **arguments: Any) -> Watch:
        begin = current_version(reader, NODES) if version is None else version
        watch = open_watch(reader, NODES, begin, **{"lasts_s": 30, "silence_s": 5.0} | arguments)
        watches.append(watch)
        return watch

    yield start
    for watch in watches:
        watch._response.close()


def relabel(sim: Simulation, value: str) -> dict[str, Any]:
    answer = sim.kubernetes_writer().patch(f"{NODES}/web-1", {"metadata": {"labels": {"n": value}}})
    found: dict[str, Any] = json.loads(answer.body)
    return found


def test_events_come_as_they_happen(sim: Simulation, opened: Callable[..., Watch]) -> None:
    watch = iter(opened())
    written = [relabel(sim, "1"), relabel(sim, "2")]
    first, second = islice(watch, 2)
    assert [json.loads(event.object) for event in (first, second)] == written
    assert [event.type for event in (first, second)] == ["MODIFIED"] * 2
    assert (first.version, first.uid) == (written[0]["metadata"]["resourceVersion"], written[0]["metadata"]["uid"])
    assert next(iter(opened(first.version))) == second


def test_the_servers_end_is_an_end(sim: Simulation, opened: Callable[..., Watch]) -> None:
    """After the time that was asked for; shortly before it comes a bookmark, which says how far the watch has come."""
    version = current_version(sim.kubernetes_reader(), NODES)
    watch = opened()
    sim.kubernetes_writer().create("/api/v1/namespaces", {"metadata": {"name": "elsewhere"}})
    sim.clock.advance(30)
    (bookmark,) = watch
    assert bookmark.type == "BOOKMARK"
    assert int(bookmark.version) > int(version)


def test_the_request_of_a_watch(sim: Simulation, opened: Callable[..., Watch]) -> None:
    reader = sim.kubernetes_reader()
    open_watch(reader, NODES, current_version(reader, NODES), lasts_s=247)._response.close()
    listed, watched = sim.sent_to_kubernetes()
    assert listed.query == "limit=1"
    assert watched.query == "watch=true&allowWatchBookmarks=true&resourceVersion=1003&timeoutSeconds=247"
    assert reader.requests.by_method() == {"GET": 1, "WATCH": 1}


def test_an_old_version(opened: Callable[..., Watch]) -> None:
    """The real API server says so in the stream (contract tests)."""
    with pytest.raises(Conflict, match="too old resource version") as raised:
        list(opened("1"))
    assert raised.value.status == 410


@pytest.mark.parametrize(
    ("status", "expected"),
    [(410, Conflict), (403, Denied), (401, Denied), (429, Throttled), (500, Transient), (503, Transient)],
)
def test_a_watch_that_is_refused(
    sim: Simulation, opened: Callable[..., Watch], status: int, expected: type[ApiError]
) -> None:
    """Once: whether to ask again is for the caller."""
    sim.spoil_kubernetes("status", code=status, body=GONE, query="watch=true", count=None)
    with pytest.raises(expected) as raised:
        opened()
    assert raised.value.status == status
    assert len(sim.sent_to_kubernetes()) == 2


@pytest.mark.parametrize("kind", ["hang", "half_open", "reset"])
def test_a_connection_that_breaks(sim: Simulation, opened: Callable[..., Watch], kind: str) -> None:
    """However it does, it is over after the time of silence that was allowed, and it is not asked again."""
    sim.spoil_kubernetes(kind, query="watch=true")
    with pytest.raises(Transient, match="does not answer"):
        list(opened(silence_s=0.2))
    assert len(sim.sent_to_kubernetes()) == 2


def test_an_api_server_that_goes(sim: Simulation, opened: Callable[..., Watch]) -> None:
    watch = opened()
    sim.kubernetes_server.stop()
    with pytest.raises(Transient):
        list(watch)


def test_closing_from_another_thread(opened: Callable[..., Watch]) -> None:
    """Whoever waits for the next event is told at once that there is none."""
    watch = opened(silence_s=60.0)
    heard: list[list[WatchEvent]] = []
    reading = threading.Thread(target=lambda: heard.append(list(watch)))
    reading.start()
    watch.close()
    reading.join(1.0)
    assert not reading.is_alive()
    assert heard == [[]]


class Pieces:
    """A response whose body comes in these pieces."""

    def __init__(self, *pieces: bytes) -> None:
        self.response = self
        self._left = list(pieces)

    def read1(self, _amount: int) -> bytes:
        return self._left.pop(0) if self._left else b""

    def close(self) -> None:
        self._left.clear()


def follow(*pieces: bytes) -> Iterator[WatchEvent]:
    return iter(Watch(cast("Any", Pieces(*pieces)), "WATCH /api/v1/nodes", lambda error: Transient(str(error))))


def line(version: str, kind: str = "MODIFIED") -> bytes:
    return json.dumps({"type": kind, "object": {"metadata": {"resourceVersion": version}}}).encode()


@rows(
    "pieces",
    {
        "in one": (line("1") + b"\n" + line("2") + b"\n",),
        "one each": (line("1") + b"\n", line("2") + b"\n"),
        "torn": (line("1")[:20], line("1")[20:] + b"\n" + line("2")[:5], line("2")[5:], b"\n"),
        "blank lines": (line("1") + b"\r\n\n  \n" + line("2") + b"\n",),
        "no newline at the end": (line("1") + b"\n", line("2")),
    },
)
def test_lines_however_they_come(pieces: tuple[bytes, ...]) -> None:
    assert [event.version for event in follow(*pieces)] == ["1", "2"]


@rows(
    "last",
    {
        "no JSON": b"garbage\n",
        "no object": b'{"type":"MODIFIED"}\n',
        "a version that is none": b'{"type":"MODIFIED","object":{"metadata":{"resourceVersion":7}}}\n',
        "a last line that is cut": line("2")[:30],
        "an error that says nothing": b'{"type":"ERROR","object":{}}\n',
        "a line without end": b"x" * 200,
    },
)
def test_lines_that_are_no_event(monkeypatch: pytest.MonkeyPatch, last: bytes) -> None:
    monkeypatch.setattr("actuators.http.watch.LONGEST_LINE", 100)
    watch = follow(line("1") + b"\n", last)
    assert next(watch).version == "1"
    with pytest.raises(Broken, match="sends"):
        next(watch)


@pytest.mark.parametrize(
    ("code", "expected"), [(410, Conflict), (500, Transient), (504, Transient), (403, Denied), (418, Broken)]
)
def test_errors_in_the_stream(code: int, expected: type[ApiError]) -> None:
    status = {**GONE, "code": code} if code != 418 else {"code": code}
    with pytest.raises(expected) as raised:
        next(follow(json.dumps({"type": "ERROR", "object": status}).encode() + b"\n"))
    assert raised.value.status == code


WRITTEN = {"uid": "u", "resourceVersion": "7"}
GOING = WRITTEN | {"deletionTimestamp": "now"}


@rows(
    "answer known",
    {
        "a write": ({"kind": "Node", "metadata": WRITTEN}, (True, False)),
        "a deletion": ({"kind": "Status", "details": {"uid": "u"}}, (False, True)),
        "the last finalizer": ({"kind": "Service", "metadata": GOING}, (False, True)),
        "a deletion that waits": ({"kind": "Node", "metadata": GOING | {"finalizers": ["a"]}}, (True, False)),
        "a status about nothing": ({"kind": "Status"}, (False, False)),
        "no object": ([], (False, False)),
    },
)
def test_an_answer_tells_of_its_write(answer: Any, known: tuple[bool, bool]) -> None:
    own = OwnWrites()
    own.note(json.dumps(answer).encode())
    assert (own.has("u", "7"), own.removed("u")) == known


def test_only_the_latest_writes_are_remembered() -> None:
    """Memory stays as it is however much is written."""
    own = OwnWrites()
    for version in range(10_000):
        own.note(json.dumps({"metadata": {"uid": "u", "resourceVersion": str(version)}}).encode())
    assert own.has("u", "9999")
    assert not own.has("u", "0")
    assert len(own._known) < 5000


def test_the_connection_knows_its_writes(sim: Simulation) -> None:
    writer = sim.kubernetes_writer()
    found = json.loads(writer.patch(f"{NODES}/web-1", {"metadata": {"labels": {"n": "1"}}}).body)["metadata"]
    assert writer._connection.own_writes.has(found["uid"], found["resourceVersion"])
