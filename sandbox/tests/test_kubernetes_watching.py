"""What of a watch only the simulator decides: simulated time, what it forgets, worlds that are replaced."""

import json
from typing import Any

import pytest

from hcloud_sandbox.clock import SimulatedClock
from hcloud_sandbox.exchange import Request, Response, Stream
from kubernetes_double import KubernetesSimulator

WORLD = {"nodes": [{"metadata": {"name": "web-1"}}]}


class Cluster:
    """A simulator with one Node."""

    def __init__(self) -> None:
        self.clock = SimulatedClock(lambda: 1_767_225_600.0)
        self.api = KubernetesSimulator(self.clock, world=WORLD)

    def ask(self, method: str, url: str, body: Any = None) -> Response:
        kind = "application/merge-patch+json" if method == "PATCH" else "application/json"
        headers = {"Authorization": f"Bearer {KubernetesSimulator.TOKEN}", "Content-Type": kind}
        return self.api.handle(Request.of(method, url, body, headers))

    def version(self) -> str:
        return str(self.ask("GET", "/api/v1/nodes").body["metadata"]["resourceVersion"])

    def relabel(self, value: str) -> None:
        self.ask("PATCH", "/api/v1/nodes/web-1", {"metadata": {"labels": {"n": value}}})

    def watch(self, query: str, path: str = "/api/v1/nodes") -> Stream:
        body = self.ask("GET", f"{path}?watch=true&{query}").body
        assert isinstance(body, Stream)
        return body


def heard(stream: Stream) -> list[dict[str, Any]]:
    return [json.loads(line) for line in stream.take().splitlines()]


def types(stream: Stream) -> list[str]:
    return [event["type"] for event in heard(stream)]


def test_a_watch_ends_when_its_time_is_over() -> None:
    """Simulated time: what has come before is still heard."""
    cluster = Cluster()
    stream = cluster.watch(f"resourceVersion={cluster.version()}&timeoutSeconds=20")
    cluster.clock.advance(19)
    assert not stream.is_over
    cluster.relabel("1")
    cluster.clock.advance(1)
    assert not stream.is_over
    assert types(stream) == ["MODIFIED"]
    assert stream.is_over


def test_bookmarks_come_each_minute_and_before_the_end() -> None:
    """With the version of the whole cluster, so that a watch in which nothing happens does not fall behind."""
    cluster = Cluster()
    stream = cluster.watch(f"resourceVersion={cluster.version()}&timeoutSeconds=90&allowWatchBookmarks=true")
    assert types(stream) == []
    cluster.ask("POST", "/api/v1/namespaces", {"metadata": {"name": "other"}})
    cluster.clock.advance(60)
    (bookmark,) = heard(stream)
    assert bookmark["type"] == "BOOKMARK"
    assert bookmark["object"] == {
        "kind": "Node",
        "apiVersion": "v1",
        "metadata": {"resourceVersion": cluster.version()},
    }
    cluster.clock.advance(28)
    assert types(stream) == ["BOOKMARK"]
    cluster.clock.advance(1)
    assert types(stream) == []


def test_nobody_gets_bookmarks_unasked() -> None:
    """Clients of old versions do not know them."""
    cluster = Cluster()
    stream = cluster.watch(f"resourceVersion={cluster.version()}")
    cluster.clock.advance(120)
    assert heard(stream) == []


def test_events_are_forgotten_after_five_minutes() -> None:
    """A watch from before what was forgotten is refused, one from after it is not, and open ones go on."""
    cluster = Cluster()
    before = cluster.version()
    open_one = cluster.watch(f"resourceVersion={before}")
    cluster.relabel("1")
    after = cluster.version()
    cluster.clock.advance(301)
    (error,) = heard(cluster.watch(f"resourceVersion={before}"))
    assert (error["type"], error["object"]["code"], error["object"]["reason"]) == ("ERROR", 410, "Expired")
    assert error["object"]["message"] == f"too old resource version: {before} ({after})"
    assert types(open_one) == ["MODIFIED"]
    assert not open_one.is_over
    late = cluster.watch(f"resourceVersion={after}")
    cluster.relabel("2")
    assert types(late) == ["MODIFIED"]


def test_another_world_ends_all_watches() -> None:
    """Nobody could say what has happened."""
    cluster = Cluster()
    stream = cluster.watch(f"resourceVersion={cluster.version()}")
    cluster.api.replace_world({"nodes": []})
    assert types(stream) == ["ERROR"]
    assert stream.is_over


def test_whoever_leaves_is_told_nothing_more() -> None:
    """Nor is anything kept for them."""
    cluster = Cluster()
    stream = cluster.watch(f"resourceVersion={cluster.version()}")
    stream.close()
    cluster.relabel("1")
    assert heard(stream) == []


@pytest.mark.parametrize("query", ["", "resourceVersion=0"])
def test_a_watch_without_a_version_begins_with_all_there_is(query: str) -> None:
    """Each object as if it had just been created."""
    cluster = Cluster()
    (event,) = heard(cluster.watch(query))
    assert (event["type"], event["object"]["metadata"]["name"]) == ("ADDED", "web-1")


def test_the_listener_is_told_of_news() -> None:
    """So that nobody has to ask all the time."""
    cluster = Cluster()
    stream = cluster.watch(f"resourceVersion={cluster.version()}")
    calls: list[str] = []
    stream.on_news(lambda: calls.append("news"))
    cluster.relabel("1")
    cluster.ask("POST", "/api/v1/namespaces", {"metadata": {"name": "other"}})
    assert calls == ["news"]
