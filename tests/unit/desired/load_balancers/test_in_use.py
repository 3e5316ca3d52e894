"""Values that a load balancer has, in the words of annotations, and the fields that options set."""

from collections.abc import Mapping
from dataclasses import fields, replace
from ipaddress import IPv4Address, IPv4Network
from typing import Any

import pytest

from desired.annotations.choices import Algorithm, Protocol
from desired.annotations.options import CHECK, HTTP, HTTP_CHECK, LISTENER, ON_STATUS, OPTIONS, Option, Options
from desired.load_balancers.in_use import in_use, shown
from desired.model.load_balancer import Attachment, HttpOptions, IpTarget, Listener, ServerTarget
from desired.section import UNMANAGED
from desired.syntax.selector import parse_selector
from tests.balancers import (
    a_balancer,
    a_listener,
    an_http_check,
    an_http_listener,
)

HTTPS = an_http_listener(
    443,
    30443,
    protocol=Protocol.HTTPS,
    http=HttpOptions("COOKIE", 60, 40, (5, 6), redirect_http=True, sticky_sessions=True),
    health_check=replace(an_http_check(30443, domain="d", path="/p", status_codes=("200",), tls=True), interval_s=5),
    proxyprotocol=True,
)


@pytest.mark.parametrize(
    ("field", "listeners", "expected"),
    [
        pytest.param("protocol", (a_listener(),), "tcp", id="protocol"),
        pytest.param("protocol", (HTTPS, a_listener()), "tcp, https", id="ports-that-differ"),
        pytest.param("protocol", (), None, id="no-ports"),
        pytest.param("uses_proxyprotocol", (HTTPS,), "true", id="proxy-protocol"),
        pytest.param("http_cookie_name", (a_listener(), HTTPS), "COOKIE", id="a-part-that-only-one-has"),
        pytest.param("http_cookie_name", (a_listener(),), None, id="a-part-that-none-has"),
        pytest.param("http_cookie_lifetime", (HTTPS,), "60s", id="cookie-lifetime"),
        pytest.param("http_timeout_idle", (HTTPS,), "40s", id="idle"),
        pytest.param("http_redirect_http", (HTTPS,), "true", id="redirect"),
        pytest.param("http_sticky_sessions", (HTTPS,), "true", id="sticky"),
        pytest.param("http_certificates", (HTTPS,), "5, 6", id="certificates"),
        pytest.param("health_check_protocol", (HTTPS,), "https", id="http-over-tls-is-https"),
        pytest.param("health_check_protocol", (a_listener(health_check=an_http_check()),), "http", id="plain-http"),
        pytest.param("health_check_port", (HTTPS, a_listener()), "30080, 30443", id="check-ports"),
        pytest.param("health_check_node_port", (HTTPS,), None, id="whom-a-port-belongs-to-nobody-can-tell"),
        pytest.param("health_check_interval", (HTTPS,), "5s", id="interval"),
        pytest.param("health_check_timeout", (HTTPS,), "10s", id="timeout"),
        pytest.param("health_check_retries", (HTTPS,), "3", id="retries"),
        pytest.param("health_check_http_domain", (HTTPS,), "d", id="domain"),
        pytest.param("health_check_http_path", (HTTPS,), "/p", id="path"),
        pytest.param("health_check_http_validate_certificate", (HTTPS,), "true", id="tls"),
        pytest.param("http_status_codes", (HTTPS,), "200", id="status-codes"),
    ],
)
def test_what_listeners_have(field: str, listeners: tuple[Listener, ...], expected: str | None) -> None:
    """What the ports do now is told in the words of annotations, each value once."""
    assert in_use(field, a_balancer(listeners=listeners)) == expected


BOTH = (ServerTarget(1, use_private_ip=False), ServerTarget(2, use_private_ip=True), IpTarget("192.0.2.1"))
PLACES = (Attachment(7, IPv4Address("10.0.0.8")), Attachment(9, IPv4Address("10.9.0.8")))


@pytest.mark.parametrize(
    ("field", "overrides", "expected"),
    [
        pytest.param("name", {"spec": {"name": "shop"}}, "shop", id="name"),
        pytest.param("type", {}, "lb11", id="type"),
        pytest.param("location", {}, "fsn1", id="location"),
        pytest.param("network_zone", {}, "eu-central", id="zone"),
        pytest.param("algorithm_type", {}, "round_robin", id="algorithm"),
        pytest.param("disable_public_network", {}, "false", id="public"),
        pytest.param("disable_public_network", {"spec": {"public_interface": False}}, "true", id="not-public"),
        pytest.param("use_private_ip", {"targets": BOTH}, "false, true", id="targets-of-both-kinds"),
        pytest.param("use_private_ip", {"targets": ()}, None, id="no-targets"),
        pytest.param("private_ipv4", {"attachments": PLACES}, "10.0.0.8, 10.9.0.8", id="private-addresses"),
        pytest.param("private_ipv4", {}, None, id="no-network"),
        pytest.param("ipv4_rdns", {}, "static.200.example.com", id="rdns"),
        pytest.param("ipv6_rdns", {}, "", id="an-empty-pointer"),
        pytest.param("ipv6_rdns", {"spec": {"ipv6_rdns": None}}, None, id="no-pointer"),
        pytest.param("private_subnet_ip_range", {"attachments": PLACES}, None, id="what-the-api-does-not-say"),
        pytest.param("hostname", {}, None, id="what-is-not-about-it"),
    ],
)
def test_what_a_load_balancer_has(field: str, overrides: Mapping[str, Any], expected: str | None) -> None:
    """What the whole load balancer has is told in the words of annotations."""
    assert in_use(field, a_balancer(**overrides)) == expected


PARTS: Mapping[str, object] = {
    "": a_balancer().spec,
    "attachment": PLACES[0],
    "targets": BOTH[0],
    LISTENER: HTTPS,
    HTTP: HTTPS.http,
    CHECK: HTTPS.health_check,
    HTTP_CHECK: HTTPS.health_check.http,
}


@pytest.mark.parametrize("row", OPTIONS.values(), ids=lambda row: row.name)
def test_what_an_option_sets_is_there(row: Option) -> None:
    """Each declaration names a field of a load balancer, but for what the Service's status says."""
    assert row.name in ON_STATUS or not row.sets or hasattr(PARTS[row.part], row.sets.rpartition(".")[2])


@pytest.mark.parametrize(
    ("field", "value", "text"),
    [
        pytest.param("use_private_ip", False, "false", id="boolean"),
        pytest.param("health_check_retries", 3, "3", id="number"),
        pytest.param("http_timeout_idle", 50, "50s", id="duration"),
        pytest.param("algorithm_type", Algorithm.LEAST_CONNECTIONS, "least_connections", id="choice"),
        pytest.param("http_certificates", (5, "shop"), "5, shop", id="list"),
        pytest.param("private_ipv4", IPv4Address("10.0.0.5"), "10.0.0.5", id="address"),
        pytest.param("private_subnet_ip_range", IPv4Network("10.0.0.0/24"), "10.0.0.0/24", id="range"),
        pytest.param("node_selector", parse_selector("a in (b, c)"), "a in (b, c)", id="selector"),
        pytest.param("hostname", "", "", id="nothing"),
    ],
)
def test_shown(field: str, value: object, text: str) -> None:
    """A value reads as somebody would write it."""
    assert shown(field, value) == text


def test_every_value_can_be_shown() -> None:
    """Each option's own default has a form, and a value that no annotation has is a mistake of ours."""
    for field in fields(Options):
        default = getattr(Options(), field.name)
        assert default is UNMANAGED or shown(field.name, default)
    with pytest.raises(TypeError):
        shown("name", 1.5)
