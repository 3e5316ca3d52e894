"""The fault proxy passes everything on unchanged, and spoils only what it is told to."""

import http.client
import json
import socket
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlsplit

import pytest

from hcloud_sandbox.proxy import FaultProxy
from tests.support.apiserver import ApiServer
from tests.support.proxy_stage import ProxyStage, proxy_stage, send
from tests.support.rows import rows


@pytest.fixture
def stage() -> Iterator[ProxyStage]:
    """A proxy without faults, and its upstream."""
    with proxy_stage() as stage:
        yield stage


def test_requests_and_answers_pass_unchanged(stage: ProxyStage) -> None:
    """Method, raw path, query, body, authorization, status, reason and repeated headers; Host is the upstream's."""
    headers = {"Authorization": "Bearer t", "User-Agent": "me/1", "Connection": "close, X-Hop", "X-Hop": "1"}
    answer = stage.send("PATCH", "/a%2Fb/c?x=%20y&x=2", '{"a": 1}', headers)
    asked = json.loads(answer.read())
    assert (answer.status, answer.reason, answer.getheader("X-Upstream")) == (201, "Made", "yes")
    assert answer.headers.get_all("Warning") == ["first", "second"]
    assert (asked["method"], asked["path"], asked["body"]) == ("PATCH", "/a%2Fb/c?x=%20y&x=2", '{"a": 1}')
    assert asked["headers"]["Authorization"] == "Bearer t"
    assert asked["headers"]["Host"] == urlsplit(stage.upstream.url).netloc
    assert "X-Hop" not in asked["headers"]


def test_length_and_log_pass(stage: ProxyStage) -> None:
    """The promised length passes although no body follows, and two megabytes without a warning. The log has the line of
    a simulator: the request, and the answer that the client got."""
    answer = stage.send("HEAD")
    assert int(answer.headers["Content-Length"]) > 0
    assert answer.read() == b""
    assert len(json.loads(stage.send("POST", "/", "x" * 2**20).read())["body"]) == 2**20
    stage.send("POST", "/things?dry=1", '{"a": 1}', {"User-Agent": "me/1"}).read()
    logged = {"method": "POST", "path": "/things", "query": "dry=1", "status": 201, "body": {"a": 1}, "client": "me/1"}
    assert stage.proxy.journal.entries()[-1].as_json() == logged


def test_a_watch_delivers_each_event_when_it_comes(stage: ProxyStage) -> None:
    """Headers come before the first event, and no event waits for the next."""
    answer = stage.send(path="/watch")
    assert stage.statuses() == [200]
    for event in (b"one\n", b"two\n"):
        stage.upstream.feed(event)
        assert answer.readline() == event
    stage.upstream.feed(None)
    assert answer.read() == b""


def test_a_client_that_leaves_ends_the_watch_upstream(stage: ProxyStage) -> None:
    stage.send(path="/watch").close()
    assert stage.upstream.left.wait(60)


def test_a_stream_that_breaks_upstream_breaks_for_the_client(stage: ProxyStage) -> None:
    """A broken stream never looks like one that has ended."""
    answer = stage.send(path="/watch")
    stage.upstream.feed(b"one\n")
    assert answer.readline() == b"one\n"
    stage.upstream.feed(RuntimeError("break off"))
    with pytest.raises((ConnectionError, http.client.IncompleteRead)):
        answer.read()


def test_an_upstream_that_is_not_there_is_a_502(stage: ProxyStage) -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        proxy = FaultProxy(stage.loop, f"http://127.0.0.1:{unused.getsockname()[1]}").start()
        try:
            answer = send(proxy.url, "GET", "/things")
            assert answer.status == 502
            assert b"ClientConnectorError" in answer.read()
        finally:
            proxy.stop()


@rows("selector hit", {
    "all": ({}, [True, True, True]),
    "a method": ({"method": "PATCH"}, [False, True, False]),
    "the start of a path": ({"path": "/things"}, [True, True, False]),
    "a path": ({"path": "/things$"}, [True, False, False]),
    "a query": ({"query": "watch=(1|true)"}, [False, False, True]),
    "null": ({"method": None, "path": None, "query": None, "client": None}, [True, True, True]),
})  # fmt: skip
def test_a_fault_hits_the_requests_that_it_selects(stage: ProxyStage, selector: Any, hit: list[bool]) -> None:
    stage.proxy.set_faults([{"kind": "status", "code": 500, "count": None, **selector}])
    asked = [("GET", "/things"), ("PATCH", "/things/1/status"), ("GET", "/others?watch=true")]
    assert [stage.send(method, path).status == 500 for method, path in asked] == hit


def test_count_and_skip_are_about_matching_requests(stage: ProxyStage) -> None:
    """Skipped first, then hit, then over; other requests do not count. The default is one hit."""
    stage.proxy.set_faults(
        [{"kind": "status", "code": 500, "path": "/a", "skip": 1, "count": 2}, {"kind": "status", "code": 503}]
    )
    paths = ["/a", "/b", "/a", "/a", "/a"]
    assert [stage.send(path=path).status for path in paths] == [503, 201, 500, 500, 201]


@pytest.mark.parametrize(("fault", "message"), [
    ({"kind": "gremlin"}, "fault kind 'gremlin' is not known; known: clock, cut_body, cut_client"),
    ({"kind": "hang", "seconds": 1}, "fault hang: parameter 'seconds' is not known; known: client, method, path"),
    ({"kind": "delay"}, "fault delay: give 'seconds'"),
    ({"kind": "status", "code": "500"}, "fault status: code is '500', give a final HTTP status"),
    ({"kind": "status", "code": 99}, "code is 99, give a final HTTP status"),
    ({"kind": "status", "code": 600}, "code is 600, give a final HTTP status, 200 to 599"),
    ({"kind": "hang", "count": 0}, "count is 0, give a whole number from 1, or null for no end"),
    ({"kind": "hang", "count": True}, "count is True, give a whole number from 1"),
    ({"kind": "delay", "seconds": -1}, "seconds is -1, give a number from 0"),
    ({"kind": "hang", "path": "("}, "path is '(', give a regular expression"),
    ({"kind": "status", "code": 500, "headers": {"A": 1}}, "headers is {'A': 1}, give an object of texts"),
    ({"kind": "status", "code": 500, "headers": {"A": "b\r\nC: d"}}, "give an object of texts without line breaks"),
    ({"kind": "clock", "seconds": float("nan")}, "seconds is nan, give a number"),
    ("hang", "a fault is an object, not 'hang'"),
])  # fmt: skip
def test_a_bad_fault_is_refused_with_what_is_known(stage: ProxyStage, fault: Any, message: str) -> None:
    """And none of the faults sent with it is added."""
    status, answer = stage.control("POST", "faults", [{"kind": "status", "code": 500}, fault])
    assert status == 400
    assert message in answer["error"]
    assert stage.send().status == 201


def test_the_control_api_is_not_passed_on_and_not_logged(stage: ProxyStage) -> None:
    """Faults and the log are reached over HTTP as well; there is no world and no clock."""
    assert stage.control("POST", "faults", {"kind": "status", "code": 500, "count": None}) == (200, {})
    assert stage.send().status == 500
    assert stage.control("DELETE", "faults") == (200, {})
    assert stage.send().status == 201
    assert [entry["status"] for entry in stage.control("GET", "requests")[1]] == [500, 201]
    assert stage.control("DELETE", "requests") == (200, {})
    assert stage.control("GET", "requests") == (200, [])
    assert [stage.control(*asked)[0] for asked in (("GET", "world"), ("POST", "advance"))] == [404, 404]
    assert stage.upstream.executed == ["GET"]


@pytest.mark.apiserver
def test_a_real_api_server_is_watched_through_the_proxy(stage: ProxyStage, api_server: ApiServer) -> None:
    """An https upstream with an authority of its own; the token passes, and events come as they happen."""
    proxy = FaultProxy(stage.loop, api_server.url, ca_file=str(api_server.ca_file)).start()
    config_maps = "/api/v1/namespaces/default/configmaps"
    token = {"Authorization": f"Bearer {api_server.admin_token}"}
    only_ours = "fieldSelector=metadata.name%3Dthrough-the-proxy"
    try:
        answer = send(proxy.url, "GET", f"{config_maps}?watch=true&resourceVersion=0&{only_ours}", headers=token)
        created = send(
            proxy.url,
            "POST",
            config_maps,
            json.dumps({"metadata": {"name": "through-the-proxy"}}),
            {**token, "Content-Type": "application/json"},
        )
        assert created.status == 201
        assert json.loads(answer.readline())["type"] == "ADDED"
        answer.close()
        # Without a bearer token in the request the server sees nobody.
        assert send(proxy.url, "GET", config_maps).status == 403
    finally:
        proxy.stop()


@pytest.mark.apiserver
@pytest.mark.parametrize(("insecure", "status"), [(True, 200), (False, 502)])
def test_an_unknown_certificate_is_refused_unless_told_otherwise(
    stage: ProxyStage, api_server: ApiServer, insecure: bool, status: int
) -> None:
    """Without the authority's file only ``insecure`` gets through."""
    proxy = FaultProxy(stage.loop, api_server.url, insecure=insecure).start()
    try:
        headers = {"Authorization": f"Bearer {api_server.admin_token}"}
        assert send(proxy.url, "GET", "/readyz", headers=headers).status == status
    finally:
        proxy.stop()
