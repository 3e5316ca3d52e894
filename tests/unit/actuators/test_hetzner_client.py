"""The choke point of Hetzner's API: what every answer becomes, how often every call is sent, and the rate limit."""

import logging
import threading
from http.client import responses
from pathlib import Path
from typing import Any

import pytest

from actuators.http.connection import RequestEnded
from actuators.http.errors import (
    ApiError,
    Broken,
    Busy,
    Conflict,
    Denied,
    Exhausted,
    Invalid,
    NotFound,
    Throttled,
    Transient,
)
from actuators.http.hetzner import HetznerConnection, HetznerReader, RateLimit
from tests.support.connecting import a_project
from tests.support.objects import server
from tests.support.rows import rows
from tests.support.simulators import Simulate, Simulation

SECRET = "s3cr3t-token"
STATUS_PAGE = "https://status.hetzner.com"
HTML = "<html><body>Bad gateway</body></html>"
NETWORK = {"name": "net", "ip_range": "10.0.0.0/16"}


def refusal(code: str) -> dict[str, Any]:
    return {"error": {"code": code, "message": "the reason\nwhy", "details": None}}


def in_words(status: int, body: Any) -> str:
    """How a refusal ends: with the API's own words, or with what it says without any."""
    if not isinstance(body, dict) or "error" not in body:
        phrase = responses.get(status, "without a reason")
        if status in {408, 500, 502, 503, 504}:
            return f"{phrase}: an outage of Hetzner, or of a proxy on the way; it is tried again. See {STATUS_PAGE}"
        return f"{phrase}, which is no answer of the Hetzner API; check HCLOUD_ENDPOINT"
    code = body["error"]["code"]
    remedy = "; check HCLOUD_TOKEN" if code in {"unauthorized", "forbidden", "token_readonly"} else ""
    return f"the reason why ({code}){remedy}"


def get(connection: HetznerConnection) -> bytes:
    return HetznerReader(connection).get("/servers/1")


@rows(
    "end path is_said",
    {
        "a list that is not there": ("", "/servers", True),
        "a server that is not there": ("", "/servers/1", False),
        "with its end": ("/v1", "/servers", False),
    },
)
def test_an_endpoint_without_its_version(simulate: Simulate, end: str, path: str, is_said: bool) -> None:
    """Where not even a list exists, the error says what the address lacks."""
    sim = simulate()
    sim.spoil_hetzner("status", code=404, body=refusal("not_found"), count=None)
    with pytest.raises(NotFound) as raised:
        HetznerReader(a_project(f"{sim.hetzner_proxy.url}{end}", SECRET)).get(path)
    assert ("HCLOUD_ENDPOINT has no /v1 at its end" in str(raised.value)) is is_said


def post(connection: HetznerConnection) -> bytes:
    """A creation, which must never be sent twice."""
    return connection.send("POST", "/networks", body=NETWORK, repeatable=False)


@pytest.fixture
def sim(simulate: Simulate) -> Simulation:
    return simulate(project={"servers": [server(1, "web-1")]})


@rows(
    "status body expected sent",
    {
        "json_error": (400, refusal("json_error"), Invalid, 1),
        "unauthorized": (401, refusal("unauthorized"), Denied, 1),
        "forbidden": (403, refusal("forbidden"), Denied, 1),
        "a proxy's 403": (403, HTML, Denied, 1),
        "limit reached": (403, refusal("resource_limit_exceeded"), Exhausted, 1),
        "blocked by support": (423, refusal("resource_locked"), Exhausted, 1),
        "not paid for": (402, refusal("payment_required"), Exhausted, 1),
        "not_found": (404, refusal("not_found"), NotFound, 1),
        "a proxy's 404 is no absence": (404, HTML, Broken, 1),
        "404 without a reason is no absence": (404, None, Broken, 1),
        "method_not_allowed": (405, refusal("method_not_allowed"), Invalid, 1),
        "request timeout": (408, HTML, Transient, 3),
        "conflict": (409, refusal("conflict"), Busy, 3),
        "uniqueness_error": (409, refusal("uniqueness_error"), Conflict, 1),
        "resource_unavailable": (412, refusal("resource_unavailable"), Transient, 3),
        "locked": (423, refusal("locked"), Busy, 3),
        "protected": (423, refusal("protected"), Invalid, 1),
        "rate_limit_exceeded": (429, refusal("rate_limit_exceeded"), Throttled, 3),
        "server_error": (500, refusal("server_error"), Transient, 3),
        "unavailable": (503, refusal("unavailable"), Transient, 3),
        "a status that no standard knows": (520, None, Broken, 1),
        "redirect": (302, HTML, Broken, 1),
    },
)
def test_refusals_of_reads(sim: Simulation, status: int, body: Any, expected: type[ApiError], sent: int) -> None:
    sim.spoil_hetzner("status", code=status, body=body, count=None)
    connection = sim.hetzner_connection(attempts=3)
    with pytest.raises(ApiError) as raised:
        get(connection)
    assert type(raised.value) is expected
    assert raised.value.status == status
    assert str(raised.value) == f"Hetzner API {sim.endpoint}: GET /servers/1 answers {status} {in_words(status, body)}"
    assert len(sim.sent_to_hetzner()) == connection.requests.total == sent


def a_limit(details: Any) -> dict[str, Any]:
    return {"code": "resource_limit_exceeded", "message": "no", "details": details}


@rows(
    "error words",
    {
        "a limit": (a_limit({"limits": [{"name": "a"}, {"name": "b"}]}), "no (resource_limit_exceeded a b)"),
        "a nameless limit": (a_limit({"limits": [{}]}), "no (resource_limit_exceeded)"),
        "other details": (a_limit({"fields": []}), "no (resource_limit_exceeded)"),
        "a list of details": (a_limit([1]), "no (resource_limit_exceeded)"),
        "a code alone": ({"code": "json_error"}, "(json_error)"),
        "a message alone": ({"message": "no such thing"}, "no such thing"),
    },
)
def test_error_bodies(sim: Simulation, error: dict[str, Any], words: str) -> None:
    sim.spoil_hetzner("status", code=400, body={"error": error})
    with pytest.raises(Invalid) as raised:
        get(sim.hetzner_connection())
    assert str(raised.value).endswith(f" answers 400 {words}")


def test_equal_trouble_has_equal_words(sim: Simulation, caplog: pytest.LogCaptureFixture) -> None:
    """The correlation id, new with each answer, is logged for a ticket with Hetzner and makes no message differ."""
    caplog.set_level(logging.INFO, "hcloud-reconciler.clients")
    said = []
    for correlation_id in ("abc123", "def456"):
        headers = {"X-Correlation-Id": correlation_id}
        sim.spoil_hetzner("status", code=422, body=refusal("invalid_input"), headers=headers)
        with pytest.raises(Invalid) as raised:
            get(sim.hetzner_connection())
        said.append(str(raised.value))
    assert said[0] == said[1]
    assert [record.getMessage().rpartition(" ")[2] for record in caplog.records] == ["abc123", "def456"]


def test_a_wrong_token_is_not_logged_for_each_list(sim: Simulation, caplog: pytest.LogCaptureFixture) -> None:
    """It is told once, at the end: nobody needs the correlation id of each refusal for that."""
    caplog.set_level(logging.INFO, "hcloud-reconciler.clients")
    with pytest.raises(Denied):
        get(sim.hetzner_connection(token="w" * 64))
    assert caplog.records == []


@rows(
    "headers waited",
    {
        "without headers: what a project is granted by default": ({}, [1.0, 2.0]),
        "one refill, doubled": ({"RateLimit-Limit": "7200", "RateLimit-Remaining": "5"}, [0.5, 1.0]),
        "never until the bucket is full": (
            {"RateLimit-Limit": "3600", "RateLimit-Remaining": "5", "RateLimit-Reset": "9999999999"},
            [1.0, 2.0],
        ),
        "headers of no sense": ({"RateLimit-Limit": "many", "RateLimit-Remaining": "0"}, [1.0, 2.0]),
        "more than a call's patience": ({"RateLimit-Limit": "10", "RateLimit-Remaining": "5"}, []),
    },
)
def test_throttling(sim: Simulation, headers: dict[str, str], waited: list[float]) -> None:
    sim.spoil_hetzner("status", code=429, body=refusal("rate_limit_exceeded"), headers=headers, count=2)
    if waited:
        post(sim.hetzner_connection())
    else:
        with pytest.raises(Throttled):
            post(sim.hetzner_connection())
    assert sim.stop.waits == waited
    assert len(sim.sent_to_hetzner()) == len(waited) + 1


def test_the_log_tells_of_a_429_at_once(sim: Simulation, caplog: pytest.LogCaptureFixture) -> None:
    """While the call is sent again for half a minute, and not for each try, or each call."""
    headers = {"RateLimit-Limit": "3600", "RateLimit-Remaining": "0"}
    sim.spoil_hetzner("status", code=429, body=refusal("rate_limit_exceeded"), headers=headers, count=3)

    connection = sim.hetzner_connection()
    post(connection)

    told = [record.getMessage() for record in caplog.records if record.name == "hcloud-reconciler.rate-limit"]
    assert told == [
        "POST /networks answers 429: the project's 3600 requests an hour are used up; requests wait and are sent again"
    ]


def test_the_rate_limit_is_observed(simulate: Simulate) -> None:
    sim = simulate(project={"servers": [server(1, "web-1")]}, rate_limit=7200)
    reader = sim.hetzner_reader()
    assert reader.rate_limit is None
    reader.get("/servers/1")
    assert reader.rate_limit == RateLimit(7200, 7199)
    sim.spoil_hetzner("status", code=404, body=HTML)
    with pytest.raises(Broken):
        reader.get("/servers/1")
    assert reader.rate_limit == RateLimit(7200, 7199)


def test_answers_that_overtake_one_another(simulate: Simulate) -> None:
    """The earlier answer of two that were asked for at once may arrive last: what is left is what the later one says.
    An answer to what was asked for afterwards counts as it is, be more left or less."""
    sim = simulate(project={"servers": [server(1, "web-1")]}, rate_limit=3600)
    connection = sim.hetzner_connection(read_only=True)
    is_held, may_end = threading.Event(), threading.Event()

    def observe(_method: str, path: str) -> RequestEnded:
        return later if path == "/servers" else lambda _status: None

    def later(_status: int | None) -> None:
        is_held.set()
        assert may_end.wait(10)

    connection.observe = observe
    reader = HetznerReader(connection)
    first = threading.Thread(target=reader.get, args=("/servers",))
    first.start()
    assert is_held.wait(10)
    reader.get("/servers/1")
    assert connection.rate_limit == RateLimit(3600, 3598)
    may_end.set()
    first.join()

    assert connection.rate_limit == RateLimit(3600, 3598)
    sim.clock.advance(60)
    reader.get("/servers/1")
    assert connection.rate_limit == RateLimit(3600, 3599)


@pytest.mark.parametrize(("limit", "remaining"), [("0", "0"), ("-1", "5"), ("3600", "-1"), ("many", "5")])
def test_a_rate_limit_that_cannot_be(simulate: Simulate, limit: str, remaining: str) -> None:
    """No project has an allowance of nothing: nobody waits for it, and what was known stays known."""
    sim = simulate(project={"servers": [server(1, "web-1")]}, rate_limit=7200)
    reader = sim.hetzner_reader()
    reader.get("/servers/1")
    headers = {"RateLimit-Limit": limit, "RateLimit-Remaining": remaining}
    sim.spoil_hetzner("status", code=404, body=HTML, headers=headers)
    with pytest.raises(Broken):
        reader.get("/servers/1")
    assert reader.rate_limit == RateLimit(7200, 7199)
    reader.get("/servers/1")
    assert sim.stop.waits == []


def test_an_empty_bucket_is_waited_for(simulate: Simulate) -> None:
    sim = simulate(project={"servers": [server(1, "web-1")]}, rate_limit=2)
    reader = sim.hetzner_reader()
    reader.get("/servers/1")
    assert sim.stop.waits == []
    reader.get("/servers/1")
    sim.clock.advance(1800)
    reader.get("/servers/1")
    assert sim.stop.waits == [1800.0]
    assert [entry.status for entry in sim.sent_to_hetzner()] == [200, 200, 200]


def test_netrc_is_ignored(sim: Simulation, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    netrc = tmp_path / ".netrc"
    netrc.write_text("machine 127.0.0.1 login somebody password else\n")
    netrc.chmod(0o600)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("NETRC", str(netrc))
    assert b"web-1" in get(sim.hetzner_connection())


def test_the_user_agent_names_the_application(sim: Simulation) -> None:
    get(sim.hetzner_connection())
    (entry,) = sim.sent_to_hetzner()
    assert entry.client.startswith("tests/1.0 hcloud-python/")


@rows(
    "endpoint token expected sent",
    {
        "nobody listens": ("http://127.0.0.1:1/v1", SECRET, Transient, 2),
        "password in the address": ("http://somebody:s3cr3t-token@127.0.0.1:1/v1", "x", Transient, 2),
        "no host": ("http://", SECRET, Broken, 1),
        "another scheme": ("ftp://127.0.0.1/v1", SECRET, Broken, 1),
        "a blank in the address": ("http://exa mple/v1", SECRET, Broken, 1),
        "token with a line break": ("http://127.0.0.1:1/v1", "s3cr3t-token\nx", Broken, 1),
        "token that is not ASCII": ("http://127.0.0.1:1/v1", "s3cr3t-token\u20ac", Broken, 1),
    },
)
def test_wrong_addresses_and_tokens(endpoint: str, token: str, expected: type[ApiError], sent: int) -> None:
    connection = a_project(endpoint, token)
    with pytest.raises(ApiError) as raised:
        get(connection)

    assert type(raised.value) is expected
    assert SECRET not in f"{raised.value} {raised.value.__cause__}"
    assert connection.requests.total == sent


def test_https_towards_plain_http(sim: Simulation) -> None:
    connection = a_project(sim.endpoint.replace("http://", "https://"), SECRET)
    with pytest.raises(Broken, match="no trusted encryption"):
        get(connection)

    assert connection.requests.total == 1
