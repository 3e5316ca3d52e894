"""The judge itself: it knows the API document, and finds what is wrong with an answer."""

from typing import Any

import pytest

from hcloud_sandbox.clock import SimulatedClock
from hcloud_sandbox.exchange import Request, Response
from hcloud_sandbox.hetzner import HetznerSimulator
from sandbox_support.hetzner_spec import HetznerApi, HetznerSpec, ValidatingSimulator, load_spec

ERROR = {"error": {"code": "not_found", "message": "no"}}


@pytest.fixture(scope="module")
def spec() -> HetznerSpec:
    """The judge."""
    return load_spec()


@pytest.fixture(scope="module")
def server() -> Any:
    """A valid server."""
    return HetznerApi({"servers": [{"id": 1}]}).get("/servers/1")["server"]


def without(value: dict[str, Any], name: str) -> dict[str, Any]:
    """The object with a field less."""
    return {key: part for key, part in value.items() if key != name}


def test_valid_answers(spec: HetznerSpec, server: Any) -> None:
    """Answers of the document, refusals of any path, and a 204 are fine."""
    assert spec.validate("GET", "/servers/1", 200, {"server": server}) == []
    assert spec.validate("DELETE", "/networks/1", 204, None) == []
    assert spec.validate("GET", "/servers/1", 404, ERROR) == []
    assert spec.validate("GET", "/nothing", 404, ERROR) == []
    assert spec.validate("PATCH", "/servers/1", 405, ERROR) == []


def test_literal_path_wins(spec: HetznerSpec) -> None:
    """/servers/actions is a list of actions, not a server."""
    meta = HetznerApi().get("/servers/actions")["meta"]

    assert spec.validate("GET", "/servers/actions", 200, {"actions": [], "meta": meta}) == []
    assert spec.validate("GET", "/servers/actions", 200, {"actions": [{}], "meta": meta}) != []


@pytest.mark.parametrize(
    ("method", "path", "status", "change", "words"),
    [
        ("GET", "/servers/1", 200, {"locked": None}, "$.server.locked"),
        ("GET", "/servers/1", 200, {"status": "tired"}, "$.server.status"),
        ("GET", "/servers/1", 200, {"id": 0}, "$.server.id"),
        ("GET", "/nothing", 200, {}, "no such answer"),
        ("GET", "/servers/1", 201, {}, "no such answer"),
        ("DELETE", "/networks/1", 204, {}, "has a body"),
        ("GET", "/servers/1", 404, {}, "'error' is a required property"),
    ],
)
def test_problems_are_named(
    spec: HetznerSpec, server: Any, method: str, path: str, status: int, change: dict[str, Any], words: str
) -> None:
    """A problem names the request and the place."""
    problems = spec.validate(method, path, status, {"server": {**server, **change}})

    assert problems
    assert problems[0].startswith(f"{method} {path} → {status}")
    assert words.removeprefix("$") in problems[0]


def test_missing_fields_and_bad_items_are_found(spec: HetznerSpec, server: Any) -> None:
    """Each item of a list is judged, also after an equal valid one."""
    meta = HetznerApi().get("/servers")["meta"]
    bad = without(server, "private_net")
    problems = spec.validate("GET", "/servers", 200, {"servers": [server, server, bad], "meta": meta})

    assert len(problems) == 1
    assert "servers[2]" in problems[0]
    assert "'private_net' is a required property" in problems[0]
    assert spec.validate("GET", "/servers", 200, {"servers": [server], "meta": {}}) != []


@pytest.mark.parametrize(
    ("method", "path", "query", "body", "words"),
    [
        ("GET", "/servers", "status=tired", None, "GET /servers?status[0]: 'tired' is not one of"),
        ("GET", "/servers", "page=first", None, "GET /servers?page: 'first' is not of type 'integer'"),
        ("GET", "/servers", "colour=red", None, "GET /servers: the API document has no parameter colour"),
        ("PUT", "/servers/1", "", {"name": 7}, "PUT /servers/1: the body.name: 7 is not of type 'string'"),
        ("POST", "/networks", "", {"name": "a"}, "POST /networks: the body: 'ip_range' is a required property"),
        ("DELETE", "/servers/1", "", {"force": True}, "DELETE /servers/1: has a body, the API document has none"),
    ],
)
def test_problems_of_requests(spec: HetznerSpec, method: str, path: str, query: str, body: Any, words: str) -> None:
    """What a client may not send, and a simulator that is as the API would not accept."""
    request = Request.of(method, f"{path}?{query}", body)

    (problem,) = spec.validate_request(method, path, request.query, request.body)
    assert problem.startswith(words)


@pytest.mark.parametrize(
    ("method", "path", "query", "body"),
    [
        ("GET", "/servers", "sort=id:asc&sort=name&page=2&per_page=50&status=off&status=running", None),
        ("GET", "/actions", "id=1&id=2&sort=id&page=1", None),
        ("GET", "/images", "include_deprecated=true", None),
        ("GET", "/servers/1/metrics", "type=cpu,disk&start=a&end=b", None),
        ("POST", "/servers", "", {"name": "a", "image": 5, "server_type": "cpx22"}),
        ("POST", "/load_balancers/1/actions/add_service", "", {"protocol": "http"}),
    ],
)
def test_valid_requests(spec: HetznerSpec, method: str, path: str, query: str, body: Any) -> None:
    """As the document has it, or is known to mean it."""
    request = Request.of(method, f"{path}?{query}", body)

    assert spec.validate_request(method, path, request.query, request.body) == []


def test_what_is_refused_may_be_wrong() -> None:
    """Only what the simulator accepts has to be as the document says."""
    assert HetznerApi().refused("POST", "/networks", {"name": 7}) == (422, "invalid_input")
    with pytest.raises(AssertionError, match="no parameter colour"):
        HetznerApi().get("/servers?colour=red")
    assert HetznerApi(undocumented=True).get("/servers?colour=red")["servers"] == []


def test_wrapper_raises_or_collects(spec: HetznerSpec) -> None:
    """An invalid answer raises, or is collected when asked for."""

    class Broken(HetznerSimulator):
        """Forgets what a server is."""

        def handle(self, request: Request) -> Response:
            """A server without fields."""
            return Response(200, {"server": {}}) if request.path == "/v1/servers/1" else super().handle(request)

    broken = Broken(SimulatedClock())
    request = Request.of("GET", "/v1/servers/1")
    with pytest.raises(AssertionError, match="is a required property"):
        ValidatingSimulator(broken, spec).handle(request)
    collecting = ValidatingSimulator(broken, spec, collect=True)
    collecting.handle(request)

    assert collecting.problems
