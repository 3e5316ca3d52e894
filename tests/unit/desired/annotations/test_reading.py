"""Annotations and defaults become options: every row of the table set, wrong, empty, unset, with a default."""

from collections.abc import Mapping
from dataclasses import dataclass
from ipaddress import IPv4Network, ip_address, ip_network
from typing import Any

import pytest

from desired.annotations.choices import Algorithm, CertificateType, DeletionPolicy, Protocol
from desired.annotations.grammars import RESERVED
from desired.annotations.options import ANNOTATIONS, OPTIONS, VARIABLES, BadAnnotation, Options, defaults_of
from desired.annotations.reading import Origin, read_annotations, with_defaults
from desired.section import UNMANAGED
from desired.syntax.selector import Selector, parse_selector
from tests.support.options import parse_options
from tests.support.rows import rows

PREFIX = "load-balancer.hetzner.cloud/"
ERROR = "error"
"""An empty value is as wrong as any other."""
UNSET = "unset"
"""An empty value means that nothing is set."""


@dataclass(frozen=True)
class Row:
    """What one annotation does."""

    text: str
    value: Any
    invalid: str | None
    """None when every text means something."""
    empty: Any
    """ERROR, UNSET or the value of an empty text."""


SELECTED = parse_selector("pool=web")
ROWS: Mapping[str, Row] = {
    "name": Row("web", "web", " web", UNSET),
    "type": Row("lb21", "lb21", None, UNSET),
    "location": Row("fsn1", "fsn1", None, UNSET),
    "network_zone": Row("eu-central", "eu-central", None, UNSET),
    "algorithm_type": Row("Least_Connections", Algorithm.LEAST_CONNECTIONS, "random", ERROR),
    "disable_public_network": Row("true", True, "yes", ERROR),
    "public_net_ipv4": Row("4711", 4711, "-4711", ERROR),
    "public_net_ipv6": Row("web", "web", " web", ERROR),
    "disable_private_ingress": Row("true", True, " true", ERROR),
    "ipv6_disabled": Row("1", True, "on", ERROR),
    "use_private_ip": Row("t", True, "2", ERROR),
    "private_ipv4": Row("10.0.0.5", ip_address("10.0.0.5"), "10.0.0.500", UNSET),
    "private_subnet_ip_range": Row("10.0.0.0/24", ip_network("10.0.0.0/24"), "10.0.0.0", ERROR),
    "ipv4_rdns": Row("www.example.com", "www.example.com", "a b", ""),
    "ipv6_rdns": Row("www.example.com", "www.example.com", "a b", ""),
    "hostname": Row("www.example.com", "www.example.com", "WWW", ""),
    "node_selector": Row("pool=web", SELECTED, "pool in", Selector("", ())),
    "protocol": Row("HTTP", Protocol.HTTP, "udp", ERROR),
    "uses_proxyprotocol": Row("false", False, "off", ERROR),
    "http_cookie_name": Row("SID", "SID", "x" * 101, ERROR),
    "http_cookie_lifetime": Row("5m", 300, "300", ERROR),
    "http_timeout_idle": Row("50s", 50, "29s", ERROR),
    "http_redirect_http": Row("false", False, "no", ERROR),
    "http_sticky_sessions": Row("false", False, "no", ERROR),
    "http_certificates": Row("12,web", (12, "web"), ",", ERROR),
    "certificate_type": Row("uploaded", CertificateType.UPLOADED, None, CertificateType.UPLOADED),
    "http_managed_certificate_name": Row("web", "web", "web ", UNSET),
    "http_managed_certificate_domains": Row("example.com", ("example.com",), "a b", ERROR),
    "http_managed_certificate_acme_staging": Row("true", True, None, False),
    "health_check_protocol": Row("https", Protocol.HTTPS, "icmp", ERROR),
    "health_check_port": Row("8080", 8080, "0", ERROR),
    "health_check_node_port": Row("true", True, "yes", ERROR),
    "health_check_interval": Row("15s", 15, "10", ERROR),
    "health_check_timeout": Row("10s", 10, "900ms", ERROR),
    "health_check_retries": Row("+3", 3, "3.0", ERROR),
    "health_check_http_domain": Row("example.com", "example.com", "a%b", ""),
    "health_check_http_path": Row("/healthz", "/healthz", "/a b", ERROR),
    "health_check_http_validate_certificate": Row("true", True, "no", ERROR),
    "http_status_codes": Row("2??", ("2??",), "fine", ERROR),
    "deletion_policy": Row("Retain", DeletionPolicy.RETAIN, "keep", UNSET),
}
"""Field → what its annotation does."""

DEFAULTS: Mapping[str, Any] = {
    "type": "lb31",
    "location": "nbg1",
    "network_zone": "us-east",
    "algorithm_type": Algorithm.ROUND_ROBIN,
    "disable_public_network": False,
    "disable_private_ingress": True,
    "ipv6_disabled": True,
    "use_private_ip": True,
    "private_subnet_ip_range": ip_network("10.0.0.0/16"),
    "uses_proxyprotocol": True,
    "health_check_interval": 20,
    "health_check_timeout": 5,
    "health_check_retries": 2,
    "deletion_policy": DeletionPolicy.RETAIN,
}
"""Field → a default of the environment, which differs from the annotation of ROWS."""


def key_of(field: str) -> str:
    return OPTIONS[field].full_key


def options_of(field: str, text: str | None, **defaults: Any) -> Options:
    """The options when one annotation is set and is fine."""
    found = parse_options({} if text is None else {key_of(field): text}, Options(**defaults))
    assert isinstance(found, Options)
    return found


def test_every_option_has_its_cases() -> None:
    assert list(OPTIONS) == list(ROWS)
    assert {row.name for row in VARIABLES.values()} == DEFAULTS.keys()


def test_reserved_rows() -> None:
    """Three keys are documentation only, and change nothing whatever they say."""
    reserved = {key for key, row in ANNOTATIONS.items() if row.grammar is RESERVED}
    assert reserved == {f"{PREFIX}ipv4", f"{PREFIX}ipv6", f"{PREFIX}id"}
    assert parse_options(dict.fromkeys(reserved, "x"), Options()) == Options()


@pytest.mark.parametrize("field", ROWS)
def test_set(field: str) -> None:
    row = ROWS[field]
    assert options_of(field, row.text) == Options(**{field: row.value})


@pytest.mark.parametrize("field", [field for field, row in ROWS.items() if row.invalid is not None])
def test_invalid(field: str) -> None:
    text = ROWS[field].invalid
    assert text is not None
    found = parse_options({key_of(field): text}, Options(**{field: DEFAULTS[field]} if field in DEFAULTS else {}))

    assert isinstance(found, tuple)
    (bad,) = found
    assert bad.key == key_of(field)
    assert bad.text.startswith(f"{key_of(field)} is '{text[:80]}")
    assert "expect" in bad.text
    assert bad.text.endswith("; correct it, or remove it")


@pytest.mark.parametrize("field", ROWS)
@rows("default", {"no-default": False, "default": True})
def test_empty(field: str, default: bool) -> None:
    defaults = Options(**{field: DEFAULTS[field]} if default and field in DEFAULTS else {})
    found = parse_options({key_of(field): ""}, defaults)

    match ROWS[field].empty:
        case "error":
            assert isinstance(found, tuple)
            assert [bad.key for bad in found] == [key_of(field)]
        case "unset":
            assert found == Options()
        case value:
            assert found == Options(**{field: value})


@pytest.mark.parametrize("field", DEFAULTS)
def test_default(field: str) -> None:
    default = {field: DEFAULTS[field]}
    assert options_of(field, None, **default) == Options(**default)
    assert options_of(field, ROWS[field].text, **default) == Options(**{field: ROWS[field].value})


@rows("annotations defaults location zone", {
    "the-environments-wins-too": ({"network-zone": "z"}, {"location": "nbg1"}, "nbg1", UNMANAGED),
    "an-empty-one-clears-it": ({"network-zone": "z", "location": ""}, {"location": "nbg1"}, UNMANAGED, "z"),
})  # fmt: skip
def test_location_and_zone(
    annotations: Mapping[str, str], defaults: Mapping[str, Any], location: Any, zone: Any
) -> None:
    """Per key the annotation beats the environment, and of both the location remains."""
    found = parse_options({f"{PREFIX}{key}": text for key, text in annotations.items()}, Options(**defaults))
    assert found == Options(location=location, network_zone=zone)


def test_all_problems_at_once() -> None:
    """Every bad annotation is told, in the table's order, whatever the order in the Service; contradictions follow."""
    invalid = {key_of(field): row.invalid for field, row in ROWS.items() if row.invalid is not None}
    found = parse_options(dict(reversed(invalid.items())), Options())

    assert isinstance(found, tuple)
    assert [bad.key for bad in found] == list(invalid)

    redirected = {f"{PREFIX}http-redirect-http": "true", f"{PREFIX}protocol": "http"}
    found = parse_options({**redirected, f"{PREFIX}health-check-port": "0"}, Options())
    assert isinstance(found, tuple)
    assert [bad.key for bad in found] == [f"{PREFIX}health-check-port", f"{PREFIX}http-redirect-http"]


def test_long_values_are_cut() -> None:
    """Nobody wants to read kilobytes of a wrong value, nor control characters."""
    found = parse_options({f"{PREFIX}protocol": "\x1b" + "x" * 500}, Options())
    assert isinstance(found, tuple)
    assert found[0].text == (
        f"{PREFIX}protocol is '\\x1b{'x' * 79}...': expect one of tcp, http, https; correct it, or remove it"
    )


@rows("defaults variable said", {
    "retries": ({"health_check_retries": 9}, "HEALTH_CHECK_RETRIES", "9: expect a number from 1 to 5"),
    "range": ({"private_subnet_ip_range": ip_network("fd00::/64")}, "PRIVATE_SUBNET_IP_RANGE",
        "fd00::/64: expect an IPv4 range such as 10.0.1.0/24"),
})  # fmt: skip
def test_a_default_out_of_range(defaults: Mapping[str, Any], variable: str, said: str) -> None:
    """A default that no load balancer can have is told by its variable, and hurts nobody who overrules it."""
    ((field, _),) = defaults.items()
    name = f"HCLOUD_LOAD_BALANCERS_{variable}"
    assert parse_options({}, Options(**defaults)) == (
        BadAnnotation(name, f"{name} is {said}; correct it, or set {key_of(field)}"),
    )
    assert options_of(field, ROWS[field].text, **defaults) == Options(**{field: ROWS[field].value})


@rows("field text defaults origin", {
    "annotation": ("type", "lb21", {"type": "lb31"}, Origin.ANNOTATION),
    "cleared": ("type", "", {"type": "lb31"}, Origin.UNSET),
    "environment": ("type", None, {"type": "lb31"}, Origin.ENVIRONMENT),
    "nobody": ("type", None, {}, Origin.UNSET),
    "nobody-can": ("protocol", None, {}, Origin.UNSET),
    "empty-and-wrong": ("protocol", "", {}, Origin.ANNOTATION),
})  # fmt: skip
def test_origin(field: str, text: str | None, defaults: Mapping[str, Any], origin: Origin) -> None:
    annotations = {} if text is None else {key_of(field): text}
    assert with_defaults(read_annotations(annotations), Options(**defaults)).origin(field) is origin


@rows("text policy", {
    "empty": ("", DeletionPolicy.DELETE),
    "retain-in-capitals": ("RETAIN", DeletionPolicy.RETAIN),
    "what-cannot-be-understood": ("keep", None),
})  # fmt: skip
def test_deletion_needs_no_valid_annotation(text: str | None, policy: DeletionPolicy | None) -> None:
    wrong = {key_of(field): row.invalid for field, row in ROWS.items() if row.invalid is not None}
    wrong.pop(key_of("deletion_policy"))
    annotations = wrong if text is None else {**wrong, key_of("deletion_policy"): text}
    found = with_defaults(read_annotations(annotations), Options())
    assert (None if "deletion_policy" in found.bad else found.options.deletion_policy) == policy


@rows("variable value defaults", {
    "empty-text": ("TYPE", "", Options()),
    "false-where-that-is-the-default": ("DISABLE_IPV6", False, Options()),
    "false-of-three": ("USES_PROXYPROTOCOL", False, Options(uses_proxyprotocol=False)),
    "whole-seconds": ("HEALTH_CHECK_INTERVAL", 15.9, Options(health_check_interval=15)),
    "nothing-is-left-of-it": ("HEALTH_CHECK_INTERVAL", 0.5, Options(health_check_interval=0)),
    "without-end": ("HEALTH_CHECK_TIMEOUT", float("inf"), Options(health_check_timeout=10**9)),
    "range": ("PRIVATE_SUBNET_IP_RANGE", "10.0.0.7/24", Options(private_subnet_ip_range=IPv4Network("10.0.0.0/24"))),
})  # fmt: skip
def test_defaults(variable: str, value: Any, defaults: Options) -> None:
    assert defaults_of({f"HCLOUD_LOAD_BALANCERS_{variable}": value, "HCLOUD_TOKEN": "x"}) == defaults
