"""Changing and deleting services of load balancers of the Hetzner simulator."""

from typing import Any

import pytest

from sandbox_support.balancer_services import ADD, CHECK, DELETE, HTTP, HTTP_CHECK, TCP, UPDATE, WORLD, services
from sandbox_support.hetzner_spec import HetznerApi


@pytest.mark.parametrize(
    ("body", "change"),
    [
        pytest.param({"listen_port": 5000}, {}, id="nothing"),
        pytest.param({"listen_port": 5000, "destination_port": 30001}, {"destination_port": 30001}, id="destination"),
        pytest.param({"listen_port": 5000, "proxyprotocol": False}, {"proxyprotocol": False}, id="proxy-protocol"),
        pytest.param(
            {"listen_port": 5000, "health_check": {"interval": 5}},
            {"health_check": {**CHECK, "port": 30000, "interval": 5}},
            id="one-field-of-the-check",
        ),
        pytest.param(
            {"listen_port": 5000, "health_check": {"protocol": "http"}},
            {"health_check": {**CHECK, "protocol": "http", "port": 30000, "http": HTTP_CHECK}},
            id="check-becomes-http",
        ),
        pytest.param({"listen_port": 5000, "protocol": "http"}, {"protocol": "http", "http": HTTP}, id="tcp-to-http"),
        pytest.param(
            {"listen_port": 443, "http": {"sticky_sessions": True}},
            {
                "http": {
                    **HTTP,
                    "certificates": [4],
                    "redirect_http": True,
                    "cookie_name": "MINE",
                    "sticky_sessions": True,
                }
            },
            id="one-field-of-http",
        ),
        pytest.param(
            {"listen_port": 443, "http": {"certificates": [5]}},
            {"http": {**HTTP, "certificates": [5], "redirect_http": True, "cookie_name": "MINE"}},
            id="certificates-are-replaced",
        ),
        pytest.param(
            {"listen_port": 443, "protocol": "http"},
            {"protocol": "http", "http": {**HTTP, "cookie_name": "MINE"}},
            id="https-to-http",
        ),
        pytest.param(
            {"listen_port": 443, "health_check": {"http": {"path": "/x"}}},
            {
                "health_check": {
                    **CHECK,
                    "protocol": "http",
                    "port": 30443,
                    "interval": 20,
                    "http": {**HTTP_CHECK, "domain": "example.com", "path": "/x"},
                }
            },
            id="one-field-of-the-http-check",
        ),
        pytest.param(
            {"listen_port": 443, "health_check": {"protocol": "tcp"}},
            {"health_check": {**CHECK, "port": 30443, "interval": 20}},
            id="check-becomes-tcp",
        ),
    ],
)
def test_updated_service(body: dict[str, Any], change: dict[str, Any]) -> None:
    """The listen port selects a service; what is left out stays, and so do the other services."""
    api = HetznerApi(WORLD)
    before = services(api)
    action = api.done("POST", UPDATE, body)
    after = services(api)

    assert (action["command"], action["status"]) == ("update_service", "success")
    assert after == {**before, body["listen_port"]: {**before[body["listen_port"]], **change}}
    assert list(after) == list(before)


def test_https_becomes_tcp() -> None:
    """What only http and https have goes with them."""
    api = HetznerApi(WORLD)
    api.done("POST", UPDATE, {"listen_port": 443, "protocol": "tcp"})

    assert "http" not in services(api)[443]
    api.done("POST", ADD, {**TCP, "listen_port": 80})


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        pytest.param({}, (422, "invalid_input"), id="no-port"),
        pytest.param({"listen_port": 9}, (404, "not_found"), id="no-such-service"),
        pytest.param(
            {"listen_port": 5000, "protocol": "https"}, (422, "invalid_input"), id="https-without-certificate"
        ),
        pytest.param({"listen_port": 443, "http": {"certificates": []}}, (422, "invalid_input"), id="no-certificate"),
        pytest.param(
            {"listen_port": 443, "http": {"certificates": [77]}}, (404, "not_found"), id="unknown-certificate"
        ),
    ],
)
def test_refused_updates(body: dict[str, Any], expected: tuple[int, str]) -> None:
    """A refused update changes nothing."""
    api = HetznerApi(WORLD)
    before = services(api)

    assert api.refused("POST", UPDATE, body) == expected
    assert services(api) == before


def test_deleted_service() -> None:
    """A deleted service frees its ports when its action ends."""
    api = HetznerApi(WORLD)
    assert api.refused("POST", DELETE, {"listen_port": 80}) == (404, "not_found")
    assert api.refused("POST", DELETE, {}) == (422, "invalid_input")

    assert api.done("POST", DELETE, {"listen_port": 443})["command"] == "delete_service"

    assert list(services(api)) == [5000]
    api.done("POST", ADD, {**TCP, "listen_port": 80})
