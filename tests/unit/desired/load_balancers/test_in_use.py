"""Values that a load balancer has, in the words of annotations, and those that nothing asks for."""

from collections.abc import Mapping
from dataclasses import fields, replace
from ipaddress import IPv4Address, IPv4Network
from typing import Any

import pytest

from desired.annotations.choices import Protocol
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
    "ports-that-differ": ("protocol", (HTTPS, a_listener()), "tcp, https"),
    "proxy-protocol": ("uses_proxyprotocol", (HTTPS,), "true"),
    "a-part-that-only-one-has": ("http_cookie_name", (a_listener(), HTTPS), "COOKIE"),
    "certificates": ("http_certificates", (HTTPS,), "5, 6"),
    "http-over-tls-is-https": ("health_check_protocol", (HTTPS,), "https"),
    "check-ports": ("health_check_port", (HTTPS, a_listener()), "30080, 30443"),
    "whom-a-port-belongs-to-nobody-can-tell": ("health_check_node_port", (HTTPS,), None),
    "tls": ("health_check_http_validate_certificate", (HTTPS,), "true"),
    "status-codes": ("http_status_codes", (HTTPS,), "200"),
})  # fmt: skip
def test_values_of_listeners(field: str, listeners: tuple[Listener, ...], expected: str | None) -> None:
    assert in_use(field, a_balancer(listeners=listeners)) == expected


BOTH = (ServerTarget(1, use_private_ip=False), ServerTarget(2, use_private_ip=True), IpTarget("192.0.2.1"))
PLACES = (Attachment(7, IPv4Address("10.0.0.8")), Attachment(9, IPv4Address("10.9.0.8")))


@rows("field overrides expected", {
    "targets-of-both-kinds": ("use_private_ip", {"targets": BOTH}, "false, true"),
    "private-addresses": ("private_ipv4", {"attachments": PLACES}, "10.0.0.8, 10.9.0.8"),
    "an-empty-pointer": ("ipv6_rdns", {}, ""),
    "what-the-api-does-not-say": ("private_subnet_ip_range", {"attachments": PLACES}, None),
})  # fmt: skip
def test_values_of_a_load_balancer(field: str, overrides: Mapping[str, Any], expected: str | None) -> None:
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
    "address": ("private_ipv4", IPv4Address("10.0.0.5"), "10.0.0.5"),
    "range": ("private_subnet_ip_range", IPv4Network("10.0.0.0/24"), "10.0.0.0/24"),
    "selector": ("node_selector", parse_selector("a in (b, c)"), "a in (b, c)"),
})  # fmt: skip
def test_shown(field: str, value: object, text: str) -> None:
    assert shown(field, value) == text


def test_every_value_can_be_shown() -> None:
    """Each option's own default has a form, and a value that no annotation has is a mistake of ours."""
    for field in fields(Options):
        default = getattr(Options(), field.name)
        assert default is UNMANAGED or shown(field.name, default)
    with pytest.raises(TypeError):
        shown("name", 1.5)


P = "load-balancer.hetzner.cloud/"


def proxied(port: int = 80) -> Listener:
    return a_listener(port, 30000 + port, proxyprotocol=True)


def checked(**overrides: Any) -> Listener:
    return a_listener(health_check=replace(a_listener().health_check, **overrides))


def checked_by_http(**overrides: Any) -> Listener:
    return a_listener(health_check=an_http_check(**overrides))


def having(*listeners: Listener) -> CloudBalancer:
    return a_balancer(listeners=listeners)


def told(balancer: CloudBalancer, *ports: int, settings: Settings = LOCATED, **options: Any) -> list[str]:
    """The notes on what is kept, of a Service with these ports and annotations."""
    claimed = [ClaimedPort(port, "TCP", 30000 + port) for port in ports or (80,)]
    plan = plan_of(asking(*claimed, **options), balancer, settings=settings, certificates=[a_certificate(5)])
    return [note.text for note in plan.notes if note.kind is NoteKind.KEPT]


def kept(text: str) -> str:
    return text.removeprefix("load balancer keeps ").partition(", set by no")[0]


BY_HTTP = {"health_check_protocol": "http"}
BY_DEFAULT = replace(LOCATED, balancer_defaults=Options(location="fsn1", uses_proxyprotocol=True))


@rows("balancer options value", {
    "health check": (having(checked(interval_s=5)), {}, "health-check-interval=5s (default 15s)"),
    "codes": (having(checked_by_http(status_codes=("200",))), BY_HTTP, "http-status-codes=200 (default 2??, 3??)"),
})  # fmt: skip
def test_a_value_that_nothing_asks_for(balancer: CloudBalancer, options: dict[str, Any], value: str) -> None:
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
    "a variable": (having(proxied()), BY_DEFAULT, {}),
    "the default": (having(proxied()), LOCATED, {"uses_proxyprotocol": "false"}),
    "the default in another order": (having(checked_by_http(status_codes=("3??", "2??"))), LOCATED, BY_HTTP),
    "what has no default": (a_balancer(spec={"ipv4_rdns": "lb.example.com"}), LOCATED, {}),
    "of another Service": (a_balancer(service_uid="another"), LOCATED, {"name": "web"}),
})  # fmt: skip
def test_nothing_is_kept(balancer: CloudBalancer, settings: Settings, options: dict[str, str]) -> None:
    assert told(balancer, settings=settings, **options) == []


@rows("targets told", {
    "by most": ((*private(1, 2), *public(3)), "use-private-ip=true (default false)"),
    "publicly": (public(1), ""),
})  # fmt: skip
def test_the_way_to_targets_is_kept(targets: Any, told: str) -> None:
    balancer = a_balancer(attachments=(HERE,), targets=targets)
    plan = plan_of(asking(), balancer, **INSIDE | fleet(1, 2, 3))
    assert [kept(note.text) for note in plan.notes if note.kind is NoteKind.KEPT] == [told][: bool(told)]


@rows("targets kind text", {
    "nothing is reached": ((), NoteKind.UNREACHABLE, "no target can be reached"),
    "one is, by its network": (private(1), NoteKind.NO_TARGETS, "no other target can be reached"),
})  # fmt: skip
def test_a_public_interface_that_stays_closed(targets: Any, kind: NoteKind, text: str) -> None:
    closed = a_balancer(attachments=(HERE,), targets=targets, spec={"public_interface": False})
    plan = plan_of(asking(use_private_ip="false"), closed, **INSIDE | fleet(1))
    said = {note.kind: note.text for note in plan.notes}
    assert kept(said[NoteKind.KEPT]) == "disable-public-network=true (default false)"
    assert said[kind].startswith(text)
