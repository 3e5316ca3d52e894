"""Services of load balancers of the Hetzner simulator: fields, ports, certificates, limits."""

from typing import Any

import pytest

from sandbox_support.balancer_services import ADD, CHECK, HTTP, HTTP_CHECK, TCP, UPDATE, WORLD, services
from sandbox_support.hetzner_spec import HetznerApi


@pytest.mark.parametrize(
    ("body", "service"),
    [
        pytest.param(
            TCP, {**TCP, "proxyprotocol": False, "health_check": {**CHECK, "port": 30081}}, id="tcp-with-defaults"
        ),
        pytest.param(
            {"protocol": "http", "listen_port": 8080},
            {
                "protocol": "http",
                "listen_port": 8080,
                "destination_port": 80,
                "proxyprotocol": False,
                "health_check": {**CHECK, "port": 80},
                "http": HTTP,
            },
            id="http-with-defaults",
        ),
        pytest.param(
            {"protocol": "https", "listen_port": 444, "destination_port": 30444, "http": {"certificates": [4, 5]}},
            {
                "protocol": "https",
                "listen_port": 444,
                "destination_port": 30444,
                "proxyprotocol": False,
                "health_check": {**CHECK, "port": 30444},
                "http": {**HTTP, "certificates": [4, 5]},
            },
            id="https-with-certificates",
        ),
        pytest.param(
            {
                **TCP,
                "proxyprotocol": True,
                "health_check": {"protocol": "http", "port": 9, "interval": 3, "timeout": 60, "retries": 5},
            },
            {
                **TCP,
                "proxyprotocol": True,
                "health_check": {
                    "protocol": "http",
                    "port": 9,
                    "interval": 3,
                    "timeout": 60,
                    "retries": 5,
                    "http": HTTP_CHECK,
                },
            },
            id="tcp-checked-by-http",
        ),
        pytest.param(
            {
                **TCP,
                "health_check": {
                    "protocol": "http",
                    "http": {
                        "domain": None,
                        "path": "/healthz",
                        "response": "ok",
                        "status_codes": ["200", "4*"],
                        "tls": True,
                    },
                },
            },
            {
                **TCP,
                "proxyprotocol": False,
                "health_check": {
                    **CHECK,
                    "protocol": "http",
                    "port": 30081,
                    "http": {
                        "domain": None,
                        "path": "/healthz",
                        "response": "ok",
                        "status_codes": ["200", "4*"],
                        "tls": True,
                    },
                },
            },
            id="whole-http-check",
        ),
        pytest.param(
            {**TCP, "http": {"cookie_name": "IGNORED"}, "health_check": {"http": {"path": "/ignored"}}},
            {**TCP, "proxyprotocol": False, "health_check": {**CHECK, "port": 30081}},
            id="http-options-of-tcp",
        ),
        pytest.param(
            {
                "protocol": "http",
                "listen_port": 8080,
                "http": {
                    "cookie_name": "c",
                    "cookie_lifetime": 86400,
                    "timeout_idle": 300,
                    "sticky_sessions": True,
                },
            },
            {
                "protocol": "http",
                "listen_port": 8080,
                "destination_port": 80,
                "proxyprotocol": False,
                "health_check": {**CHECK, "port": 80},
                "http": {
                    **HTTP,
                    "cookie_name": "c",
                    "cookie_lifetime": 86400,
                    "timeout_idle": 300,
                    "sticky_sessions": True,
                },
            },
            id="sticky-http",
        ),
    ],
)
def test_added_service(body: dict[str, Any], service: dict[str, Any]) -> None:
    """A service is there when its action ends, with everything that was left out."""
    api = HetznerApi(WORLD)
    assert api.accepted("POST", ADD, body)["action"]["command"] == "add_service"
    assert len(services(api)) == 2

    api.clock.advance(1)

    assert services(api)[body["listen_port"]] == service


@pytest.mark.parametrize(("protocol", "ports"), [("http", (80, 80)), ("https", (443, 80))])
def test_default_ports(protocol: str, ports: tuple[int, int]) -> None:
    """http and https have default ports, tcp has none."""
    api = HetznerApi({"load_balancers": [{"id": 3}], "certificates": [{"id": 4}]})
    http = {"certificates": [4]} if protocol == "https" else {}
    api.done("POST", ADD, {"protocol": protocol, "http": http})
    [service] = services(api).values()

    assert (service["listen_port"], service["destination_port"]) == ports


BAD_FIELDS = [
    pytest.param({"protocol": "udp"}, "protocol", id="unknown-protocol"),
    pytest.param({"destination_port": 0}, "destination_port", id="no-node-port"),
    pytest.param({"destination_port": 65536}, "destination_port", id="destination-too-large"),
    pytest.param({"destination_port": "80"}, "destination_port", id="port-as-text"),
    pytest.param({"proxyprotocol": "yes"}, "proxyprotocol", id="no-truth-value"),
    pytest.param({"health_check": {"protocol": "https"}}, "health_check.protocol", id="https-check"),
    pytest.param({"health_check": {"port": 0}}, "health_check.port", id="check-port"),
    pytest.param({"health_check": {"interval": 2}}, "health_check.interval", id="interval-too-short"),
    pytest.param({"health_check": {"interval": 61}}, "health_check.interval", id="interval-too-long"),
    pytest.param({"health_check": {"timeout": 0}}, "health_check.timeout", id="timeout-too-short"),
    pytest.param({"health_check": {"timeout": 61}}, "health_check.timeout", id="timeout-too-long"),
    pytest.param({"health_check": {"retries": 0}}, "health_check.retries", id="too-few-retries"),
    pytest.param({"health_check": {"retries": 6}}, "health_check.retries", id="too-many-retries"),
    pytest.param({"health_check": {"colour": "red"}}, "health_check.colour", id="unknown-field-of-a-check"),
    pytest.param({"health_check": {"http": {"colour": 1}}}, "health_check.http.colour", id="unknown-field-of-http"),
    pytest.param({"health_check": {"http": {"path": ""}}}, "health_check.http.path", id="empty-path"),
    pytest.param({"health_check": {"http": {"path": "/" * 257}}}, "health_check.http.path", id="long-path"),
    pytest.param({"health_check": {"http": {"path": "/a b"}}}, "health_check.http.path", id="path-with-space"),
    pytest.param({"health_check": {"http": {"domain": "d" * 129}}}, "health_check.http.domain", id="long-domain"),
    pytest.param({"health_check": {"http": {"domain": "50%"}}}, "health_check.http.domain", id="percent-in-domain"),
    pytest.param({"health_check": {"http": {"response": "r" * 257}}}, "health_check.http.response", id="response"),
    pytest.param(
        {"health_check": {"http": {"status_codes": ["2??"] * 21}}}, "health_check.http.status_codes", id="21-codes"
    ),
    pytest.param(
        {"health_check": {"http": {"status_codes": ["ok"]}}}, "health_check.http.status_codes", id="no-status-code"
    ),
    pytest.param({"http": {"redirect_http": True}}, "http.redirect_http", id="redirect-of-tcp"),
    pytest.param({"http": {"sticky_sessions": True}}, "http.sticky_sessions", id="sticky-tcp"),
    pytest.param({"http": {"certificates": [4]}}, "http.certificates", id="certificates-of-tcp"),
    pytest.param({"http": {"cookie_name": ""}}, "http.cookie_name", id="empty-cookie-name"),
    pytest.param({"http": {"cookie_name": "c" * 101}}, "http.cookie_name", id="long-cookie-name"),
    pytest.param({"http": {"cookie_lifetime": 29}}, "http.cookie_lifetime", id="cookie-too-short"),
    pytest.param({"http": {"cookie_lifetime": 86401}}, "http.cookie_lifetime", id="cookie-too-long"),
    pytest.param({"http": {"timeout_idle": 29}}, "http.timeout_idle", id="idle-too-short"),
    pytest.param({"http": {"timeout_idle": 301}}, "http.timeout_idle", id="idle-too-long"),
]


@pytest.mark.parametrize(("change", "field"), BAD_FIELDS)
def test_bad_fields(change: dict[str, Any], field: str) -> None:
    """A wrong field is named, in a new service as in a changed one."""
    api = HetznerApi(WORLD)
    for url, body in ((ADD, TCP), (UPDATE, {"listen_port": 5000})):
        refused = api.send("POST", url, {**body, **change})
        assert (refused.status, refused.body["error"]["code"]) == (422, "invalid_input")
        assert [found["name"] for found in refused.body["error"]["details"]["fields"]] == [field]
        assert refused.body["error"]["message"].startswith(f"invalid input in field '{field}'")


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        pytest.param({}, (422, "invalid_input"), id="nothing"),
        pytest.param({"protocol": "tcp", "listen_port": 81}, (422, "invalid_input"), id="tcp-without-destination"),
        pytest.param({"protocol": "tcp", "destination_port": 81}, (422, "invalid_input"), id="tcp-without-port"),
        pytest.param({**TCP, "listen_port": 0}, (422, "invalid_input"), id="port-0"),
        pytest.param({**TCP, "listen_port": 65536}, (422, "invalid_input"), id="port-too-large"),
        pytest.param({**TCP, "listen_port": 5000}, (412, "source_port_already_used"), id="port-taken"),
        pytest.param({**TCP, "listen_port": 80}, (412, "source_port_already_used"), id="port-80-redirected"),
        pytest.param(
            {"protocol": "https", "listen_port": 444, "http": {"certificates": [77]}},
            (404, "not_found"),
            id="unknown-certificate",
        ),
        pytest.param(
            {"protocol": "http", "listen_port": 8080, "http": {"certificates": [4]}},
            (422, "invalid_input"),
            id="certificate-of-http",
        ),
        pytest.param(
            {"protocol": "http", "listen_port": 8080, "http": {"redirect_http": True}},
            (422, "invalid_input"),
            id="redirect-of-http",
        ),
    ],
)
def test_refused_services(body: dict[str, Any], expected: tuple[int, str]) -> None:
    """What a new service must have and must not collide with."""
    assert HetznerApi(WORLD).refused("POST", ADD, body) == expected


def test_https_needs_a_certificate() -> None:
    """The message is the one that the service sends."""
    refused = HetznerApi(WORLD).send("POST", ADD, {"protocol": "https", "listen_port": 444})

    assert (refused.status, refused.body["error"]["code"]) == (422, "invalid_input")
    assert refused.body["error"]["message"] == "at least one certificate is required for protocol https"


@pytest.mark.parametrize(
    ("services_there", "body"),
    [
        pytest.param([{"listen_port": 80}], {"http": {"certificates": [4], "redirect_http": True}}, id="port-80-taken"),
        pytest.param([], {"listen_port": 80, "http": {"certificates": [4], "redirect_http": True}}, id="own-port-80"),
        pytest.param(
            [{"protocol": "https", "listen_port": 444, "http": {"certificates": [4], "redirect_http": True}}],
            {"http": {"certificates": [4], "redirect_http": True}},
            id="second-redirect",
        ),
    ],
)
def test_redirect_takes_port_80(services_there: list[Any], body: dict[str, Any]) -> None:
    """A redirect from http is a second port, with another status when a present service begins to redirect."""
    there = [*services_there, {"protocol": "https", "listen_port": 445, "http": {"certificates": [4]}}]
    api = HetznerApi({"load_balancers": [{"id": 3, "services": there}], "certificates": [{"id": 4}]})

    assert api.refused("POST", ADD, {"protocol": "https", "listen_port": 443, **body}) == (
        412,
        "source_port_already_used",
    )
    if services_there:
        changed = {"listen_port": 445, "http": {"redirect_http": True}}
        assert api.refused("POST", UPDATE, changed) == (422, "source_port_already_used")


def test_limits_by_type() -> None:
    """A type has so many services and certificates; one that several services share counts once."""
    full = [{"listen_port": port} for port in range(1, 6)]
    api = HetznerApi({"load_balancers": [{"id": 3, "services": full}]})
    refused = api.send("POST", ADD, TCP)
    assert (refused.status, refused.body["error"]["code"]) == (403, "resource_limit_exceeded")
    assert refused.body["error"]["details"] == {"limits": [{"name": "load_balancer_service_limit"}]}

    many = {"protocol": "https", "listen_port": 1, "http": {"certificates": list(range(1, 10))}}
    api = HetznerApi(
        {"load_balancers": [{"id": 3, "services": [many]}], "certificates": [{"id": n} for n in range(1, 13)]}
    )
    https = {"protocol": "https", "listen_port": 2}
    assert api.refused("POST", ADD, {**https, "http": {"certificates": [10, 11]}}) == (403, "resource_limit_exceeded")
    api.done("POST", ADD, {**https, "http": {"certificates": [9, 10]}})
    assert api.refused("POST", UPDATE, {"listen_port": 2, "http": {"certificates": [11, 12]}}) == (
        403,
        "resource_limit_exceeded",
    )


@pytest.mark.parametrize("issuance", ["pending", "failed"])
def test_certificates_that_are_not_issued_are_an_option(issuance: str) -> None:
    """Whether the real service takes a certificate that is not issued is not certain."""
    managed = {"id": 6, "type": "managed", "status": {"issuance": issuance}}
    world = {"load_balancers": [{"id": 3}], "certificates": [managed]}
    https = {"protocol": "https", "listen_port": 443, "http": {"certificates": [6]}}

    HetznerApi(world).done("POST", ADD, https)
    assert HetznerApi(world, pending_certificates="refused").refused("POST", ADD, https) == (422, "service_error")


@pytest.mark.parametrize(("choice", "is_taken"), [("dropped", True), ("refused", False)])
def test_what_https_leaves_behind_is_an_option(choice: str, is_taken: bool) -> None:
    """Whether certificates go with https by themselves is not known; taken away with it they always may."""
    https = {"protocol": "https", "listen_port": 443, "http": {"certificates": [6], "redirect_http": True}}
    plain = {"listen_port": 443, "protocol": "http"}
    bare = {**plain, "http": {"certificates": [], "redirect_http": False}}
    for change, expected in ((plain, is_taken), (bare, True)):
        api = HetznerApi({"load_balancers": [{"id": 3}], "certificates": [{"id": 6}]}, https_left_behind=choice)
        api.done("POST", ADD, https)
        if expected:
            api.done("POST", UPDATE, change)
        else:
            assert api.refused("POST", UPDATE, change) == (422, "invalid_input")
