"""Differences around load balancers: short paths, every difference, and nothing that nobody asked for."""

from dataclasses import replace
from ipaddress import IPv4Address, IPv4Network
from typing import Any, get_args, get_origin

from hypothesis import given
from hypothesis import strategies as st

from desired.annotations.choices import Algorithm, Protocol
from desired.model.load_balancer import (
    KNOWN_AFTER_APPLY,
    Attachment,
    HealthCheck,
    HttpCheck,
    HttpOptions,
    Identity,
    IpTarget,
    Listener,
    LoadBalancer,
    ManagedCertificate,
    Owner,
    SelectorTarget,
    ServerTarget,
)
from desired.model.route import ROUTED, Route
from desired.model.service import Ingress
from desired.model.snapshot import NodeAddress
from desired.plan.change import Claimed, OutOfService, State
from desired.section import UNMANAGED
from reconciler.report.documents import to_json
from reconciler.report.fields import FieldChange, field_changes
from tests.balancers import a_balancer, a_listener, an_http_check, an_http_listener
from tests.builders import CLUSTER_UID, a_change, a_loss, an_identity
from tests.support.balancer_changes import BALANCER, a_part, a_wish
from tests.support.rows import rows

PUBLIC, PRIVATE = (ServerTarget(42, use_private_ip=private) for private in (False, True))
V4, V6 = Ingress("203.0.113.1", ip_mode="VIP"), Ingress("2001:db8::1", ip_mode="VIP")
HTTPS = an_http_listener(443, 30443, protocol=Protocol.HTTPS)
ASKED = HttpOptions(certificates=KNOWN_AFTER_APPLY, sticky_sessions=True)
"""Of six options of HTTP, two that somebody asked for."""

BALANCER_CASES: dict[str, tuple[Any, ...]] = {
    "a creation, by what was asked for": (
        "lb.create",
        None,
        LoadBalancer(
            "web",
            {"a/b": "1"},
            "lb11",
            zone="eu-central",
            attachment=Attachment(7),
            listeners={443: a_wish(443, 30443, Protocol.HTTPS, HttpOptions(certificates=(5, 6)))},
            targets=frozenset({IpTarget("192.0.2.7"), ServerTarget(10, use_private_ip=True), PRIVATE, PUBLIC}),
        ),
        [
            ("attachment.network_id", None, 7),
            ("labels[a/b]", None, "1"),
            ("listeners[443].destination_port", None, 30443),
            ("listeners[443].health_check.port", None, 30443),
            ("listeners[443].health_check.protocol", None, "tcp"),
            ("listeners[443].http.certificates", None, [5, 6]),
            ("listeners[443].protocol", None, "https"),
            ("name", None, "web"),
            ("targets", None, ["server:10 (private)", "server:42 (public)", "server:42 (private)", "ip:192.0.2.7"]),
            ("type", None, "lb11"),
            ("zone", None, "eu-central"),
        ],
    ),
    "a creation without a network, ports and targets": (
        "lb.create",
        None,
        LoadBalancer("web", {}, "lb11", location="fsn1", public_interface=False, attachment=None, targets=UNMANAGED),
        [("location", None, "fsn1"), ("name", None, "web"), ("public_interface", None, False), ("type", None, "lb11")],
    ),
    "a deletion, by what a person knows the load balancer by": (
        "lb.delete",
        a_balancer(listeners=(HTTPS, a_listener()), attachments=(Attachment(7, IPv4Address("10.0.0.8")),)).spec,
        None,
        [
            ("attachment.ip", "10.0.0.8", None),
            ("attachment.network_id", 7, None),
            ("listeners", ["80 (tcp)", "443 (https)"], None),
            ("location", "fsn1", None),
            ("name", "a1f2e3d4c5b6a7980aabbccddeeff001", None),
            ("targets", ["server:1 (public)"], None),
            ("type", "lb11", None),
        ],
    ),
    "an adoption": (
        "lb.adopt",
        Owner(None, "old"),
        Owner(CLUSTER_UID, "new"),
        [("cluster_uid", None, CLUSTER_UID), ("service_uid", "old", "new")],
    ),
    "a load balancer is released: when is never compared": (
        "lb.retain",
        Owner(CLUSTER_UID, "new"),
        Owner(CLUSTER_UID, None, "20260701T120000Z"),
        [("service_uid", "new", None)],
    ),
    "name and labels": (
        "lb.identity",
        Identity("old", {"a": "1", "b": "2"}),
        Identity("new", {"a": "1"}),
        [("labels[b]", "2", None), ("name", "old", "new")],
    ),
    "the type": ("lb.type", "lb11", "lb21", [("type", "lb11", "lb21")]),
    "the algorithm": (
        "lb.algorithm",
        Algorithm.ROUND_ROBIN,
        Algorithm.LEAST_CONNECTIONS,
        [("algorithm", "round_robin", "least_connections")],
    ),
    "a first reverse name": ("lb.rdns", None, "a.example.com", [("rdns", None, "a.example.com")]),
    "a reverse name is reset": ("lb.rdns", "a.example.com", None, [("rdns", "a.example.com", None)]),
    "the public interface": ("lb.public_interface", True, False, [("public_interface", True, False)]),
    "a network, with any address": ("lb.network", None, Attachment(7), [("network_id", None, 7)]),
    "a network, with any address of a subnet": (
        "lb.network",
        None,
        Attachment(7, ip_range=IPv4Network("10.0.0.0/24")),
        [("ip_range", None, "10.0.0.0/24"), ("network_id", None, 7)],
    ),
    "another address: nobody knows of which range the old one was": (
        "lb.network",
        Attachment(7, IPv4Address("10.0.0.8")),
        Attachment(7, IPv4Address("10.0.0.9"), IPv4Network("10.0.0.0/24")),
        [("ip", "10.0.0.8", "10.0.0.9"), ("ip_range", None, "10.0.0.0/24")],
    ),
    "a network goes": (
        "lb.network",
        Attachment(7, IPv4Address("10.0.0.8")),
        None,
        [("ip", "10.0.0.8", None), ("network_id", 7, None)],
    ),
    "a listener that waits for its certificate": (
        "lb.listener",
        None,
        a_wish(443, 30443, Protocol.HTTPS, ASKED),
        [
            ("destination_port", None, 30443),
            ("health_check.port", None, 30443),
            ("health_check.protocol", None, "tcp"),
            ("http.certificates", None, "(known after apply)"),
            ("http.sticky_sessions", None, True),
            ("protocol", None, "https"),
        ],
    ),
    "a listener, without what nobody asked for": (
        "lb.listener",
        HTTPS,
        a_wish(443, 30443, Protocol.HTTPS, ASKED),
        [("http.certificates", None, "(known after apply)"), ("http.sticky_sessions", False, True)],
    ),
    "a health check, without what nobody asked for": (
        "lb.listener",
        a_listener(health_check=an_http_check(domain="old.example.com")),
        a_listener(
            health_check=HealthCheck(Protocol.HTTP, 30080, http=HttpCheck(path="/healthz", status_codes=("200",)))
        ),
        [("health_check.http.path", "/", "/healthz"), ("health_check.http.status_codes", ["2??", "3??"], ["200"])],
    ),
    "tcp becomes http": (
        "lb.listener",
        a_listener(),
        an_http_listener(http=HttpOptions(timeout_idle_s=30)),
        [("http.timeout_idle_s", None, 30), ("protocol", "tcp", "http")],
    ),
    "http becomes tcp": (
        "lb.listener",
        an_http_listener(http=HttpOptions("C", 300, 50, (5,), redirect_http=True, sticky_sessions=False)),
        a_wish(80, 30080),
        [
            ("http.certificates", [5], None),
            ("http.cookie_lifetime_s", 300, None),
            ("http.cookie_name", "C", None),
            ("http.redirect_http", True, None),
            ("http.sticky_sessions", False, None),
            ("http.timeout_idle_s", 50, None),
            ("protocol", "http", "tcp"),
        ],
    ),
    "a listener goes": ("lb.listener", HTTPS, None, [("destination_port", 30443, None), ("protocol", "https", None)]),
    "a server": ("lb.target", None, PRIVATE, [("target", None, "server:42 (private)")]),
    "a server goes": ("lb.target", PUBLIC, None, [("target", "server:42 (public)", None)]),
    "an address": ("lb.target", None, IpTarget("192.0.2.7"), [("target", None, "ip:192.0.2.7")]),
    "a selector": (
        "lb.target",
        None,
        SelectorTarget("env=prod", use_private_ip=False),
        [("target", None, "selector:env=prod (public)")],
    ),
    "a server flips": ("lb.target", PUBLIC, PRIVATE, [("target", "server:42 (public)", "server:42 (private)")]),
    "a certificate": (
        "certificate.create",
        None,
        ManagedCertificate("shop", ("a.example.com", "b.example.com"), {"k": "v"}),
        [("domains", None, ["a.example.com", "b.example.com"]), ("labels[k]", None, "v"), ("name", None, "shop")],
    ),
    "a claim": ("service.claim", False, True, [("finalizer", False, True)]),
    "first addresses": (
        "service.status",
        (),
        (V4, V6),
        [("ingress", None, ["203.0.113.1 (VIP)", "2001:db8::1 (VIP)"])],
    ),
    "addresses in another order": (
        "service.status",
        (V4, V6),
        (V6, V4),
        [("ingress", ["203.0.113.1 (VIP)", "2001:db8::1 (VIP)"], ["2001:db8::1 (VIP)", "203.0.113.1 (VIP)"])],
    ),
    "a hostname for what somebody else wrote": (
        "service.status",
        (replace(V4, has_ports=True), Ingress("192.0.2.1"), Ingress()),
        (Ingress(hostname="lb.example.com"),),
        [("ingress", ["203.0.113.1 (VIP, with ports)", "192.0.2.1", "(empty)"], ["lb.example.com"])],
    ),
    "nothing is published any more": ("service.status", (V4,), (), [("ingress", ["203.0.113.1 (VIP)"], None)]),
    "addresses that are still to come": (
        "service.status",
        (V4,),
        KNOWN_AFTER_APPLY,
        [("ingress", ["203.0.113.1 (VIP)"], "(known after apply)")],
    ),
    "a Service is released": (
        "service.release",
        Claimed("service.kubernetes.io/load-balancer-cleanup", (V4,)),
        None,
        [("finalizer", "service.kubernetes.io/load-balancer-cleanup", None), ("ingress", ["203.0.113.1 (VIP)"], None)],
    ),
    "a Service without the finalizer is released": (
        "service.release",
        Claimed(None, (V4,)),
        None,
        [("ingress", ["203.0.113.1 (VIP)"], None)],
    ),
}


@rows("kind before after expected", BALANCER_CASES)
def test_differences_around_load_balancers(
    kind: str, before: Any, after: Any, expected: list[tuple[str, Any, Any]]
) -> None:
    change = a_change(BALANCER, kind, before=before, after=after)

    assert [(found.path, found.before, found.after) for found in field_changes(change)] == expected


def test_every_type_of_a_side_is_told() -> None:
    """A new type of a side has to be decided on: it would else look like labels."""
    sides = [side for case in BALANCER_CASES.values() for side in case[1:3]]
    sides += [an_identity(), a_loss(), OutOfService(a_loss().proof), {"a": "b"}, (NodeAddress("Hostname", "web-1"),)]
    sides += [Route(IPv4Network("10.244.1.0/24"), IPv4Address("10.0.0.2")), ROUTED]
    types = {get_origin(kind) or kind for kind in get_args(State)}

    assert {kind for kind in types if not any(isinstance(side, kind) for side in sides)} == set()


_PORTS = st.integers(1, 3)
_TEXTS = st.sampled_from(["", "a", "b"])
_HTTP = st.builds(
    HttpOptions,
    _TEXTS,
    _PORTS,
    _PORTS,
    st.sampled_from([(), (1,), (1, 2)]),
    redirect_http=st.booleans(),
    sticky_sessions=st.booleans(),
)
_HTTP_CHECKS = st.builds(HttpCheck, _TEXTS, _TEXTS, _TEXTS, st.sampled_from([(), ("2??",)]), st.booleans())
_CHECKS = st.builds(
    HealthCheck, st.sampled_from(Protocol), _PORTS, _PORTS, _PORTS, _PORTS, http=st.none() | _HTTP_CHECKS
)
_LISTENERS = st.builds(
    Listener, st.just(80), _PORTS, st.sampled_from(Protocol), _CHECKS, st.booleans(), http=st.none() | _HTTP
)


@given(_LISTENERS, _LISTENERS)
def test_differing_listeners_differ_in_some_field(before: Listener, after: Listener) -> None:
    if before == after:
        return
    found = field_changes(a_part("listener/80", before, after, "differs"))
    backwards = field_changes(a_part("listener/80", after, before, "differs"))

    assert found
    assert [FieldChange(field.path, field.after, field.before) for field in backwards] == list(found)


@given(_LISTENERS, _LISTENERS, st.sets(st.sampled_from(HttpOptions.__slots__)))
def test_what_nobody_asked_for_is_never_told(before: Listener, after: Listener, unasked: set[str]) -> None:
    if after.http is None:
        return
    http = replace(after.http, **dict.fromkeys(unasked, UNMANAGED))
    wish = replace(after, http=http)
    if before == wish:
        return
    paths = {field.path for field in field_changes(a_part("listener/80", before, wish, "differs"))}

    assert not paths & {f"http.{name}" for name in unasked}


def test_a_text_that_says_unmanaged_is_a_text() -> None:
    """What people write is never taken for the mark of what nobody asked for."""
    wish = a_wish(80, 30080, Protocol.HTTP, HttpOptions(cookie_name="unmanaged"))

    assert to_json(wish)["http"] == {"cookie_name": "unmanaged"}
    assert FieldChange("http.cookie_name", None, "unmanaged") in field_changes(a_part("listener/80", None, wish, "new"))
