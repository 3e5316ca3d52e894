"""Values that a load balancer has, in the words of annotations, and those that nothing asks for."""

from collections.abc import Mapping
from dataclasses import fields, replace
from ipaddress import IPv4Address, IPv4Network
from typing import Any

import pytest

from desired.annotations.choices import Algorithm, Protocol
from desired.annotations.claims import ClaimedPort
from desired.annotations.options import CHECK, HTTP, HTTP_CHECK, LISTENER, ON_STATUS, OPTIONS, Option, Options
from desired.load_balancers.in_use import in_use, shown
from desired.model.load_balancer import (
    Attachment,
    CloudBalancer,
    HttpOptions,
    IpTarget,
    Listener,
    ServerTarget,
)
from desired.model.settings import Settings
from desired.plan.notes import NoteKind
from desired.section import UNMANAGED
from desired.syntax.selector import parse_selector
from tests.balancers import (
    LB21,
    LOCATED,
    a_balancer,
    a_certificate,
    a_listener,
    an_http_check,
    an_http_listener,
)
from tests.support.balancer_plans import HERE, INSIDE, asking, fleet, plan_of, private, public
from tests.support.rows import rows

HTTPS = an_http_listener(
    443,
    30443,
    protocol=Protocol.HTTPS,
    http=HttpOptions("COOKIE", 60, 40, (5, 6), redirect_http=True, sticky_sessions=True),
    health_check=replace(an_http_check(30443, domain="d", path="/p", status_codes=("200",), tls=True), interval_s=5),
    proxyprotocol=True,
)


@rows("field listeners expected", {
    "protocol": ("protocol", (a_listener(),), "tcp"),
    "ports-that-differ": ("protocol", (HTTPS, a_listener()), "tcp, https"),
    "no-ports": ("protocol", (), None),
    "proxy-protocol": ("uses_proxyprotocol", (HTTPS,), "true"),
    "a-part-that-only-one-has": ("http_cookie_name", (a_listener(), HTTPS), "COOKIE"),
    "a-part-that-none-has": ("http_cookie_name", (a_listener(),), None),
    "cookie-lifetime": ("http_cookie_lifetime", (HTTPS,), "60s"),
    "idle": ("http_timeout_idle", (HTTPS,), "40s"),
    "redirect": ("http_redirect_http", (HTTPS,), "true"),
    "sticky": ("http_sticky_sessions", (HTTPS,), "true"),
    "certificates": ("http_certificates", (HTTPS,), "5, 6"),
    "http-over-tls-is-https": ("health_check_protocol", (HTTPS,), "https"),
    "plain-http": ("health_check_protocol", (a_listener(health_check=an_http_check()),), "http"),
    "check-ports": ("health_check_port", (HTTPS, a_listener()), "30080, 30443"),
    "whom-a-port-belongs-to-nobody-can-tell": ("health_check_node_port", (HTTPS,), None),
    "interval": ("health_check_interval", (HTTPS,), "5s"),
    "timeout": ("health_check_timeout", (HTTPS,), "10s"),
    "retries": ("health_check_retries", (HTTPS,), "3"),
    "domain": ("health_check_http_domain", (HTTPS,), "d"),
    "path": ("health_check_http_path", (HTTPS,), "/p"),
    "tls": ("health_check_http_validate_certificate", (HTTPS,), "true"),
    "status-codes": ("http_status_codes", (HTTPS,), "200"),
})  # fmt: skip
def test_what_listeners_have(field: str, listeners: tuple[Listener, ...], expected: str | None) -> None:
    """What the ports do now is told in the words of annotations, each value once."""
    assert in_use(field, a_balancer(listeners=listeners)) == expected


BOTH = (ServerTarget(1, use_private_ip=False), ServerTarget(2, use_private_ip=True), IpTarget("192.0.2.1"))
PLACES = (Attachment(7, IPv4Address("10.0.0.8")), Attachment(9, IPv4Address("10.9.0.8")))


@rows("field overrides expected", {
    "name": ("name", {"spec": {"name": "shop"}}, "shop"),
    "type": ("type", {}, "lb11"),
    "location": ("location", {}, "fsn1"),
    "zone": ("network_zone", {}, "eu-central"),
    "algorithm": ("algorithm_type", {}, "round_robin"),
    "public": ("disable_public_network", {}, "false"),
    "not-public": ("disable_public_network", {"spec": {"public_interface": False}}, "true"),
    "targets-of-both-kinds": ("use_private_ip", {"targets": BOTH}, "false, true"),
    "no-targets": ("use_private_ip", {"targets": ()}, None),
    "private-addresses": ("private_ipv4", {"attachments": PLACES}, "10.0.0.8, 10.9.0.8"),
    "no-network": ("private_ipv4", {}, None),
    "rdns": ("ipv4_rdns", {}, "static.200.example.com"),
    "an-empty-pointer": ("ipv6_rdns", {}, ""),
    "no-pointer": ("ipv6_rdns", {"spec": {"ipv6_rdns": None}}, None),
    "what-the-api-does-not-say": ("private_subnet_ip_range", {"attachments": PLACES}, None),
    "what-is-not-about-it": ("hostname", {}, None),
})  # fmt: skip
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


@rows("field value text", {
    "boolean": ("use_private_ip", False, "false"),
    "number": ("health_check_retries", 3, "3"),
    "duration": ("http_timeout_idle", 50, "50s"),
    "choice": ("algorithm_type", Algorithm.LEAST_CONNECTIONS, "least_connections"),
    "list": ("http_certificates", (5, "shop"), "5, shop"),
    "address": ("private_ipv4", IPv4Address("10.0.0.5"), "10.0.0.5"),
    "range": ("private_subnet_ip_range", IPv4Network("10.0.0.0/24"), "10.0.0.0/24"),
    "selector": ("node_selector", parse_selector("a in (b, c)"), "a in (b, c)"),
    "nothing": ("hostname", "", ""),
})  # fmt: skip
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


P = "load-balancer.hetzner.cloud/"
LEAST = {"algorithm": Algorithm.LEAST_CONNECTIONS}
LARGE = a_balancer(type=LB21, spec={"type": "lb21"})
PLAIN = HttpOptions("HCLBSTICKY", 300, 50, (), redirect_http=False, sticky_sessions=False)
OVER_TLS = an_http_listener(443, 30443, protocol=Protocol.HTTPS, http=replace(PLAIN, certificates=(5,)))
BY_DEFAULT = replace(LOCATED, balancer_defaults=Options(location="fsn1", uses_proxyprotocol=True))


def proxied(port: int = 80) -> Listener:
    return a_listener(port, 30000 + port, proxyprotocol=True)


def checked(**overrides: Any) -> Listener:
    return a_listener(health_check=replace(a_listener().health_check, **overrides))


def checked_by_http(**overrides: Any) -> Listener:
    return a_listener(health_check=an_http_check(**overrides))


def over_http(**overrides: Any) -> Listener:
    return an_http_listener(http=replace(PLAIN, **overrides))


def having(*listeners: Listener) -> CloudBalancer:
    return a_balancer(listeners=listeners)


def told(balancer: CloudBalancer, *ports: int, settings: Settings = LOCATED, **options: Any) -> list[str]:
    """The notes on what is kept, of a Service with these ports and annotations."""
    claimed = [ClaimedPort(port, "TCP", 30000 + port) for port in ports or (80,)]
    plan = plan_of(asking(*claimed, **options), balancer, settings=settings, certificates=[a_certificate(5)])
    return [note.text for note in plan.notes if note.kind is NoteKind.KEPT]


def kept(text: str) -> str:
    return text.removeprefix("load balancer keeps ").partition(", set by no")[0]


BY_HTTP, HTTP_PORTS = {"health_check_protocol": "http"}, {"protocol": "http"}


@rows("balancer options value", {
    "type": (LARGE, {}, "type=lb21 (default lb11)"),
    "algorithm": (a_balancer(spec=LEAST), {}, "algorithm-type=least_connections (default round_robin)"),
    "proxy protocol": (having(proxied()), {}, "uses-proxyprotocol=true (default false)"),
    "health check": (having(checked(interval_s=5)), {}, "health-check-interval=5s (default 15s)"),
    "path": (having(checked_by_http(path="/up")), BY_HTTP, "health-check-http-path=/up (default /)"),
    "host": (having(checked_by_http(domain="a.de")), BY_HTTP, 'health-check-http-domain=a.de (default "")'),
    "codes": (having(checked_by_http(status_codes=("200",))), BY_HTTP, "http-status-codes=200 (default 2??, 3??)"),
    "sessions": (having(over_http(sticky_sessions=True)), HTTP_PORTS, "http-sticky-sessions=true (default false)"),
    "idle time": (having(over_http(timeout_idle_s=60)), HTTP_PORTS, "http-timeout-idle=60s (default 50s)"),
})  # fmt: skip
def test_a_value_that_nothing_asks_for(balancer: CloudBalancer, options: dict[str, Any], value: str) -> None:
    """It is named as an annotation has it."""
    (text,) = told(balancer, **options)
    assert kept(text) == value


def test_several_values_are_one_note() -> None:
    """With the ports, where these are not all, and the ways out. Whoever reads that at night reads it once."""
    slow = replace(a_listener().health_check, port=30081, retries=9)
    ports = [proxied(80), a_listener(81, 30081, health_check=slow), proxied(82)]
    (one,), (text,) = told(having(proxied())), told(replace(having(*ports), type=LB21), 80, 81, 82)

    assert one.endswith(f"; set {P}uses-proxyprotocol to false, or to true to keep it")
    assert kept(text) == (
        "uses-proxyprotocol=true at ports 80, 82 (default false), health-check-retries=9 at port 81 (default 3)"
    )
    at_ports = f"as {P}NAME, or where ports are named as port-PORT.hcloud-reconciler/NAME"
    assert text.endswith(f"; set each, {at_ports}, to its default, or to its value to keep it")


@rows("balancer settings options", {
    "nothing but defaults": (a_balancer(), LOCATED, {}),
    "an annotation": (having(proxied()), LOCATED, {"uses_proxyprotocol": "true"}),
    "a variable": (having(proxied()), BY_DEFAULT, {}),
    "the default": (having(proxied()), LOCATED, {"uses_proxyprotocol": "false"}),
    "a type": (LARGE, LOCATED, {"type": "lb21"}),
    "the default in another order": (having(checked_by_http(status_codes=("3??", "2??"))), LOCATED, BY_HTTP),
    "a part that goes": (having(checked_by_http(path="/up")), LOCATED, {"health_check_protocol": "tcp"}),
    "what has no default": (a_balancer(spec={"ipv4_rdns": "lb.example.com"}), LOCATED, {}),
    "of another Service": (a_balancer(service_uid="another"), LOCATED, {"name": "web"}),
})  # fmt: skip
def test_nothing_is_kept(balancer: CloudBalancer, settings: Settings, options: dict[str, str]) -> None:
    """What is asked for, what is the default, what has none, and what is not ours."""
    assert told(balancer, settings=settings, **options) == []


@rows("targets told", {
    "privately": (private(1), "use-private-ip=true (default false)"),
    "by most": ((*private(1, 2), *public(3)), "use-private-ip=true (default false)"),
    "publicly": (public(1), ""),
})  # fmt: skip
def test_the_way_to_targets_is_kept(targets: Any, told: str) -> None:
    balancer = a_balancer(attachments=(HERE,), targets=targets)
    plan = plan_of(asking(), balancer, **INSIDE | fleet(1, 2, 3))
    assert [kept(note.text) for note in plan.notes if note.kind is NoteKind.KEPT] == [told][: bool(told)]


def test_certificates_are_no_value_that_is_kept() -> None:
    """There is no https without one."""
    assert told(having(OVER_TLS), 443, protocol="https") == []


@rows("targets kind text", {
    "nothing is reached": ((), NoteKind.UNREACHABLE, "no target can be reached"),
    "one is, by its network": (private(1), NoteKind.NO_TARGETS, "no other target can be reached"),
})  # fmt: skip
def test_a_public_interface_that_stays_closed(targets: Any, kind: NoteKind, text: str) -> None:
    """Nothing asks for that any more: it is named, and so is what follows from it."""
    closed = a_balancer(attachments=(HERE,), targets=targets, spec={"public_interface": False})
    plan = plan_of(asking(use_private_ip="false"), closed, **INSIDE | fleet(1))
    said = {note.kind: note.text for note in plan.notes}
    assert kept(said[NoteKind.KEPT]) == "disable-public-network=true (default false)"
    assert said[kind].startswith(text)
