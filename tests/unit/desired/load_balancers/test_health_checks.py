"""Which health checks a listener gets from the options of its Service."""

from dataclasses import replace
from typing import Any

from desired.annotations.choices import Protocol
from desired.annotations.options import OPTIONS, Options, is_set
from desired.annotations.reading import Origin, Requested
from desired.load_balancers.listeners import desired_health_check
from desired.model.load_balancer import HealthCheck, HttpCheck
from tests.support.rows import rows

KUBE_PROXY = Options(health_check_node_port=True)
TCP, HTTP, HTTPS = Protocol.TCP, Protocol.HTTP, Protocol.HTTPS
PLAIN = HealthCheck(TCP, 30080)
"""A health check of which nothing was said."""


def check_of(options: Options, node_port: int, kube_proxy_port: int = 0) -> HealthCheck:
    """The health check of a new port that asks for what differs from the defaults."""
    origins = {name: Origin.ANNOTATION for name in OPTIONS if is_set(options, name)}
    return desired_health_check(Requested(options, origins), node_port, kube_proxy_port)


@rows("options expected", {
    "nothing-is-said": (Options(), PLAIN),
    "nothing-is-said-beside-http": (Options(protocol=HTTP), PLAIN),
    "nothing-is-said-beside-https": (Options(protocol=HTTPS), PLAIN),
    "port": (Options(health_check_port=8080), HealthCheck(TCP, 8080)),
    "interval": (Options(health_check_interval=20), HealthCheck(TCP, 30080, interval_s=20)),
    "timeout": (Options(health_check_timeout=4), HealthCheck(TCP, 30080, timeout_s=4)),
    "retries": (Options(health_check_retries=5), HealthCheck(TCP, 30080, retries=5)),
    "http-beside-tcp": (Options(health_check_protocol=HTTP), HealthCheck(HTTP, 30080, http=HttpCheck())),
    "as-the-listener-speaks": (Options(protocol=HTTP, health_check_retries=5),
        HealthCheck(HTTP, 30080, retries=5, http=HttpCheck())),
    "tcp-beside-http": (Options(protocol=HTTP, health_check_protocol=TCP, health_check_retries=5),
        HealthCheck(TCP, 30080, retries=5)),
    "http-beside-https": (Options(protocol=HTTPS, health_check_protocol=HTTP),
        HealthCheck(HTTP, 30080, http=HttpCheck())),
})  # fmt: skip
def test_protocol_and_numbers(options: Options, expected: HealthCheck) -> None:
    """Without any setting they speak TCP; with one, what the listener speaks or what is asked for."""
    assert check_of(options, 30080) == expected


@rows("options", {
    "asked-for": {"health_check_protocol": HTTPS},
    "by-the-listener-and-a-default-for-all": {"protocol": HTTPS, "health_check_interval": 15},
})  # fmt: skip
@rows("said tls", {
    "unset": ({}, True),
    "true": ({"health_check_http_validate_certificate": True}, True),
    "false": ({"health_check_http_validate_certificate": False}, False),
})  # fmt: skip
def test_https_is_http_over_tls(options: dict[str, Any], said: dict[str, Any], *, tls: bool) -> None:
    """The API knows no https here, and TLS is what it means, unless somebody says otherwise."""
    check = check_of(Options(**options, **said), 30443)
    assert (check.protocol, check.port, check.http) == (HTTP, 30443, HttpCheck(tls=tls))


@rows("said expected", {
    "domain": ({"health_check_http_domain": "a.example.com"}, HttpCheck(domain="a.example.com")),
    "no-domain": ({"health_check_http_domain": ""}, HttpCheck(domain="")),
    "path": ({"health_check_http_path": "/up"}, HttpCheck(path="/up")),
    "tls": ({"health_check_http_validate_certificate": True}, HttpCheck(tls=True)),
    "no-tls": ({"health_check_http_validate_certificate": False}, HttpCheck(tls=False)),
    "status-codes": ({"http_status_codes": ("200", "3*")}, HttpCheck(status_codes=("200", "3*"))),
})  # fmt: skip
def test_options_of_http(said: dict[str, Any], expected: HttpCheck) -> None:
    """They count with HTTP and once health checks are spoken of; without that they say nothing."""
    assert check_of(Options(**said, health_check_protocol=HTTP), 30080).http == expected
    assert check_of(Options(**said, protocol=HTTP), 30080) == PLAIN
    assert check_of(Options(**said, health_check_protocol=TCP), 30080) == PLAIN


ASKED = HttpCheck(path="/healthz", tls=False)


@rows("said expected", {
    "alone": ({}, HealthCheck(HTTP, 32000, http=ASKED)),
    "behind-https": ({"protocol": HTTPS}, HealthCheck(HTTP, 32000, http=ASKED)),
    "numbers": ({"health_check_interval": 5, "health_check_timeout": 4, "health_check_retries": 2},
        HealthCheck(HTTP, 32000, 5, 4, 2, ASKED)),
    "never-over-tls": ({"protocol": HTTPS, "health_check_interval": 5}, HealthCheck(HTTP, 32000, 5, http=ASKED)),
    "http-as-well": ({"health_check_protocol": HTTP}, HealthCheck(HTTP, 32000, http=ASKED)),
    "path": ({"health_check_http_path": "/livez"}, HealthCheck(HTTP, 32000, http=replace(ASKED, path="/livez"))),
    "what-http-has-besides": ({"health_check_http_domain": "d", "http_status_codes": ("200",)},
        HealthCheck(HTTP, 32000, http=replace(ASKED, domain="d", status_codes=("200",)))),
    "tls-if-somebody-says-so": ({"health_check_http_validate_certificate": True},
        HealthCheck(HTTP, 32000, http=replace(ASKED, tls=True))),
    "a-port-wins": ({"health_check_port": 8080}, HealthCheck(TCP, 8080)),
    "tcp-wins": ({"health_check_protocol": TCP}, PLAIN),
    "https-wins": ({"health_check_protocol": HTTPS}, HealthCheck(HTTP, 30080, http=HttpCheck(tls=True))),
})  # fmt: skip
def test_kube_proxy_is_asked(said: dict[str, Any], expected: HealthCheck) -> None:
    """Kube-proxy tells over HTTP whether the Node has a pod; what is said of health checks besides counts."""
    assert check_of(replace(KUBE_PROXY, **said), 30080, 32000) == expected


def test_kube_proxy_is_not_asked() -> None:
    """Not without a port of its own, and not unless somebody wants it."""
    assert check_of(KUBE_PROXY, 30080) == PLAIN
    assert check_of(Options(), 30080, 32000) == PLAIN
