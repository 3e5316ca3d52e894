"""Who may call the Hetzner simulator and how often: routes, tokens, methods, the rate limit, the shape of refusals."""

import re
from typing import Any

import pytest

from hcloud_sandbox.clock import SimulatedClock
from hcloud_sandbox.exchange import Request, Simulator
from hcloud_sandbox.hetzner import HetznerOptions, HetznerSimulator
from sandbox_support.hetzner_spec import HetznerApi

READ_ONLY = "r" * 64
TOKENS: Any = {HetznerSimulator.TOKEN: "rw", READ_ONLY: "ro"}


def envelope(code: str, message: str, details: Any = None) -> dict[str, Any]:
    """The body of a refusal."""
    return {"error": {"code": code, "message": message, "details": details}}


@pytest.mark.parametrize(
    ("method", "path", "token", "status", "expected"),
    [
        pytest.param("GET", "/nothing", None, 404, ("not_found", "api route not found"), id="route-before-token"),
        pytest.param("GET", "/servers", None, 401, ("unauthorized", "token is required"), id="no-token"),
        pytest.param(
            "GET",
            "/servers",
            "wrong",
            401,
            ("unauthorized", "the token you have provided is invalid"),
            id="wrong-token",
        ),
        pytest.param("PUT", "/servers", None, 401, ("unauthorized", "token is required"), id="token-before-method"),
        pytest.param(
            "PUT",
            "/servers",
            HetznerSimulator.TOKEN,
            405,
            ("method_not_allowed", "method not allowed"),
            id="wrong-method",
        ),
        pytest.param(
            "GET",
            "/servers/web-1",
            HetznerSimulator.TOKEN,
            404,
            ("not_found", "api route not found"),
            id="id-must-be-digits",
        ),
        pytest.param(
            "GET",
            "/servers/7",
            HetznerSimulator.TOKEN,
            404,
            ("not_found", "server with ID '7' not found"),
            id="no-server",
        ),
        pytest.param(
            "GET",
            "/zones/²",
            HetznerSimulator.TOKEN,
            404,
            ("not_found", "zone with ID '²' not found"),
            id="a-digit-that-is-no-number",
        ),
        pytest.param(
            "GET",
            "/load_balancers/7",
            HetznerSimulator.TOKEN,
            404,
            ("not_found", "load balancer with ID '7' not found"),
            id="no-load-balancer",
        ),
        pytest.param(
            "POST",
            "/networks",
            READ_ONLY,
            403,
            ("forbidden", "insufficient permissions for this request"),
            id="read-only-token",
        ),
    ],
)
def test_refusals(method: str, path: str, token: str | None, status: int, expected: tuple[str, str]) -> None:
    """Routing comes before authentication, authentication before the method check."""
    response = HetznerApi(tokens=TOKENS).send(method, path, token=token)

    assert (response.status, response.body) == (status, envelope(*expected))


@pytest.mark.parametrize("path", ["/servers/{}", "/zones/{}", "/servers/{}/actions", "/servers?page={}"])
def test_a_number_of_any_length_is_refused(path: str) -> None:
    """An id has 64 bits; one that Python does not read ended the request with status 500."""
    assert HetznerApi().send("GET", path.format("9" * 5000)).status in {404, 422}


def test_read_only_token_reads() -> None:
    """A read-only token may read."""
    assert HetznerApi(tokens=TOKENS).send("GET", "/servers", token=READ_ONLY).status == 200


def test_other_authorization_scheme_is_no_token() -> None:
    """Only a bearer token is a token."""
    request = Request.of("GET", "/v1/servers", headers={"Authorization": "Basic abc"})

    assert HetznerApi().judged.handle(request).body["error"]["message"] == "token is required"


def test_path_outside_of_v1_is_no_route() -> None:
    """The API lives under /v1."""
    assert HetznerApi().judged.handle(Request.of("GET", "/servers")).status == 404


def test_default_token_has_the_length_that_clients_check() -> None:
    """The default token is 64 letters and digits."""
    assert re.fullmatch(r"[A-Za-z0-9]{64}", HetznerSimulator.TOKEN)


def test_errors_carry_a_correlation_id() -> None:
    """Every refusal has 16 hex digits of its own; successes have none."""
    api = HetznerApi()
    first, second = (api.send("GET", "/servers/7").headers["X-Correlation-Id"] for _ in range(2))

    assert re.fullmatch(r"[0-9a-f]{16}", first)
    assert first != second
    assert "X-Correlation-Id" not in api.send("GET", "/servers").headers


@pytest.mark.parametrize(
    ("path", "announcement"),
    [
        ("/datacenters", "datacenters-deprecated"),
        ("/datacenters/4", "datacenters-deprecated"),
        ("/actions", "actions-list-endpoint-is-deprecated"),
    ],
)
def test_removed_endpoints(path: str, announcement: str) -> None:
    """Removed endpoints answer 410 with the announcement."""
    response = HetznerApi().send("GET", path)

    assert (response.status, response.body["error"]["code"]) == (410, "deprecated_api_endpoint")
    assert announcement in response.body["error"]["details"]["announcement"]


@pytest.mark.parametrize("body", [b"{", b"[]", b'"text"', b"[" * 100_000])
def test_body_that_is_no_json_object(body: bytes) -> None:
    """A body that is no JSON object is json_error."""
    assert HetznerApi().refused("POST", "/networks", body) == (400, "json_error")


def test_rate_limit_headers() -> None:
    """Every answer tells limit, what is left, and when the bucket is full again; refusals count too."""
    api = HetznerApi(rate_limit=3600)
    api.send("GET", "/servers")
    headers = api.send("GET", "/servers/7").headers

    assert {name: headers[name] for name in headers if name.startswith("RateLimit")} == {
        "RateLimit-Limit": "3600",
        "RateLimit-Remaining": "3598",
        "RateLimit-Reset": "1700000002",
    }


def test_empty_bucket_refuses_until_one_request_is_bought() -> None:
    """The bucket refills continuously: with 3600 an hour, a second buys one request."""
    api = HetznerApi(rate_limit=3600)
    statuses = [api.send("GET", "/locations/1").status for _ in range(3601)]

    assert statuses == [200] * 3600 + [429]
    refused = api.send("GET", "/locations/1")
    assert refused.body == envelope("rate_limit_exceeded", "limit of 3600 requests per hour reached")
    assert refused.headers["RateLimit-Remaining"] == "0"
    assert refused.headers["RateLimit-Reset"] == str(int(api.NOW) + 3600)

    api.clock.advance(1)

    assert [api.send("GET", "/locations/1").status for _ in range(2)] == [200, 429]


def test_bucket_never_holds_more_than_the_limit() -> None:
    """A quiet day does not buy more than one burst."""
    api = HetznerApi(rate_limit=2)
    api.clock.advance(86_400)

    assert [api.send("GET", "/servers").status for _ in range(3)] == [200, 200, 429]


def test_requests_without_token_are_limited_apart() -> None:
    """Requests without a valid token have a limit too, but do not use up that of the project."""
    api = HetznerApi(rate_limit=2)

    assert [api.send("GET", "/servers", token=None).status for _ in range(3)] == [401, 401, 429]
    assert api.send("GET", "/servers").status == 200


@pytest.mark.parametrize(
    "options",
    [
        {"action_s": -1.0},
        {"rate_limit": 0},
        {"visible_late_s": -0.1},
        {"action_s_by_command": {"add_route": -1.0}},
        {"load_balancer_limit": -1},
        {"network_attachment_limit": -1},
    ],
)
def test_impossible_options(options: dict[str, Any]) -> None:
    """Options that make no sense are refused, naming the option."""
    with pytest.raises(ValueError, match=next(iter(options))):
        HetznerOptions(**options)


def test_simulator_implements_the_protocol() -> None:
    """The server can run it."""
    simulator: Simulator = HetznerSimulator(SimulatedClock())

    assert simulator.world()["hetzner"]["servers"] == []
