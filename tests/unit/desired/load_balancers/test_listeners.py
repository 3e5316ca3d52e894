"""Listeners: those that ports and options ask for, their health checks, and both filled up with what is there."""

from dataclasses import replace
from typing import Any

from desired.annotations.choices import Protocol
from desired.annotations.claims import ClaimedPort
from desired.annotations.options import OPTIONS, Options, is_set
from desired.annotations.reading import Origin, Requested
from desired.load_balancers.certificates import DesiredCertificates
from desired.load_balancers.listeners import (
    api_defaults,
    desired_health_check,
    desired_listeners,
    filled,
    ports_without_node_port,
)
from desired.model.load_balancer import HealthCheck, HttpCheck, HttpOptions, Listener
from desired.section import UNMANAGED
from tests.balancers import a_claim, a_listener, a_service, an_http_check, an_http_listener
from tests.support.balancer_changes import a_wish
from tests.support.rows import rows

TCP, HTTP, HTTPS = Protocol.TCP, Protocol.HTTP, Protocol.HTTPS
WEB, TLS = ClaimedPort(80, "TCP", 30080), ClaimedPort(443, "TCP", 30443)
COOKIES: dict[str, Any] = {
    "http_cookie_name": "MINE",
    "http_cookie_lifetime": 600,
    "http_timeout_idle": 60,
    "http_sticky_sessions": True,
}
OVER_HTTP = HttpOptions(cookie_name="MINE", cookie_lifetime_s=600, timeout_idle_s=60, sticky_sessions=True)
LOCAL: dict[str, Any] = {"external_traffic_policy": "Local", "health_check_node_port": 32000}


def listeners_of(*ports: ClaimedPort, certificates: Any = UNMANAGED, claim: Any = None, **asked: Any) -> list[Listener]:
    service = a_service(claim=a_claim(*ports, **claim or {}))
    found = desired_listeners(service, Requested(Options(**asked)), DesiredCertificates(certificates))
    assert [*found] == [listener.port for listener in found.values()]
    return [*found.values()]


@rows("ports expected", {
    "several": ((TLS, WEB), {443: 30443, 80: 30080}),
    "no-node-port-yet": ((ClaimedPort(80), TLS), {443: 30443}),
    "udp-and-tcp-of-one-number": ((ClaimedPort(53, "UDP", 30001), ClaimedPort(53, "TCP", 30002)), {53: 30002}),
    "two-with-one-destination": ((WEB, ClaimedPort(8080, "TCP", 30080)), {80: 30080, 8080: 30080}),
})  # fmt: skip
def test_ports(ports: tuple[ClaimedPort, ...], expected: dict[int, int]) -> None:
    assert listeners_of(*ports) == [a_wish(port, node_port) for port, node_port in expected.items()]


def test_ports_without_a_node_port() -> None:
    ports = ClaimedPort(443), ClaimedPort(80), ClaimedPort(53, "UDP"), ClaimedPort(8080, "TCP", 30880)
    assert ports_without_node_port(a_service(claim=a_claim(*ports))) == (80, 443)


@rows("asks ports", {"kube-proxy": (True, [32000, 32000]), "nobody-asks-for-it": (False, [30080, 30443])})
def test_ports_of_health_checks(asks: bool, ports: list[int]) -> None:
    """With ``externalTrafficPolicy: Local`` all listeners ask kube-proxy, if that is wanted; traffic stays."""
    found = listeners_of(WEB, TLS, claim=LOCAL, health_check_node_port=asks)
    assert [listener.health_check.port for listener in found] == ports
    assert [listener.destination_port for listener in found] == [30080, 30443]


@rows("options certificates expected", {
    "tcp-has-none": ({**COOKIES, "http_redirect_http": True}, (5,), None),
    "http-with-cookies": ({"protocol": HTTP, **COOKIES}, UNMANAGED, OVER_HTTP),
    "http-has-nothing-of-https": ({"protocol": HTTP, "http_redirect_http": False}, (5,), HttpOptions()),
    "https-with-everything": ({"protocol": HTTPS, **COOKIES, "http_redirect_http": True}, (5,),
        replace(OVER_HTTP, certificates=(5,), redirect_http=True)),
})  # fmt: skip
def test_options_of_http(options: dict[str, Any], certificates: Any, expected: HttpOptions | None) -> None:
    (found,) = listeners_of(WEB, certificates=certificates, **options)
    assert found == a_wish(80, 30080, options.get("protocol", TCP), expected)


PLAIN = HealthCheck(TCP, 30080)
"""A health check of which nothing was said."""
KUBE_PROXY, ASKED = {"health_check_node_port": True}, HttpCheck(path="/healthz", tls=False)


@rows("options kube_proxy_port expected", {
    "nothing-is-said": ({}, 0, PLAIN),
    "as-the-listener-speaks": ({"protocol": HTTP, "health_check_retries": 5}, 0,
        HealthCheck(HTTP, 30080, retries=5, http=HttpCheck())),
    "tcp-beside-http": ({"protocol": HTTP, "health_check_protocol": TCP, "health_check_retries": 5}, 0,
        HealthCheck(TCP, 30080, retries=5)),
    "https-is-http-over-tls": ({"health_check_protocol": HTTPS}, 0, HealthCheck(HTTP, 30080, http=HttpCheck(tls=True))),
    "by-the-listener-and-a-default-for-all": ({"protocol": HTTPS, "health_check_interval": 15}, 0,
        HealthCheck(HTTP, 30080, 15, http=HttpCheck(tls=True))),
    "https-without-tls": ({"health_check_protocol": HTTPS, "health_check_http_validate_certificate": False}, 0,
        HealthCheck(HTTP, 30080, http=HttpCheck(tls=False))),
    "options-of-http-without-http": ({"health_check_http_path": "/up", "health_check_protocol": TCP}, 0, PLAIN),
    "kube-proxy": ({**KUBE_PROXY, "protocol": HTTPS, "health_check_interval": 5}, 32000,
        HealthCheck(HTTP, 32000, 5, http=ASKED)),
    "kube-proxy-over-tls": (
        {**KUBE_PROXY, "health_check_protocol": HTTP, "health_check_http_validate_certificate": True}, 32000,
        HealthCheck(HTTP, 32000, http=replace(ASKED, tls=True))),
    "a-port-instead-of-kube-proxy": ({**KUBE_PROXY, "health_check_port": 8080}, 32000, HealthCheck(TCP, 8080)),
    "tcp-instead-of-kube-proxy": ({**KUBE_PROXY, "health_check_protocol": TCP}, 32000, PLAIN),
    "kube-proxy-without-a-port": (KUBE_PROXY, 0, PLAIN),
    "nobody-asks-for-kube-proxy": ({}, 32000, PLAIN),
})  # fmt: skip
def test_health_checks(options: dict[str, Any], kube_proxy_port: int, expected: HealthCheck) -> None:
    """A new port: TCP without any setting; with one, what the listener speaks or what is asked for. Kube-proxy tells
    over HTTP whether the Node has a pod."""
    found = Options(**options)
    origins = {name: Origin.ANNOTATION for name in OPTIONS if is_set(found, name)}
    assert desired_health_check(Requested(found, origins), 30080, kube_proxy_port) == expected


CHECK, HTTP_CHECK = HealthCheck(TCP, 30080), HealthCheck(HTTP, 30080, http=HttpCheck())


def asked(
    protocol: Protocol = TCP, health_check: HealthCheck = CHECK, proxyprotocol: Any = UNMANAGED, **http: Any
) -> Listener:
    """What a Service asks of port 80 when it says only this."""
    options = None if protocol is TCP else HttpOptions(**http)
    return Listener(80, 30080, protocol, health_check, proxyprotocol, options)


TUNED = a_listener(proxyprotocol=True, health_check=HealthCheck(TCP, 30080, interval_s=20, timeout_s=5, retries=1))
"""A TCP listener on which nothing has the API's default."""
PROBED = a_listener(
    health_check=HealthCheck(HTTP, 30080, 20, 5, 1, HttpCheck("a.example.com", "/up", "ok", ("200", "204"), tls=True))
)
COOKED = an_http_listener(http=HttpOptions("MINE", 600, 60, (), redirect_http=False, sticky_sessions=True))
SECURE = an_http_listener(
    protocol=HTTPS, http=HttpOptions("MINE", 600, 60, (5, 7), redirect_http=True, sticky_sessions=True)
)


@rows("wanted present", {
    "tcp-probed-over-http": (asked(health_check=HTTP_CHECK), PROBED),
    "https-tuned": (asked(HTTPS), SECURE),
    "https-that-is-passed-through": (asked(HTTPS), replace(SECURE, http=HttpOptions("MINE", 600, 60, ()))),
})  # fmt: skip
def test_an_unset_option_keeps_its_value(wanted: Listener, present: Listener) -> None:
    assert filled(wanted, present) == present


SPOKEN_OF = asked(HTTPS, HTTP_CHECK)
DEFAULT = replace(api_defaults(SPOKEN_OF), http=HttpOptions("HCLBSTICKY", 300, 50, (5,), False, False))


def changed(whole: Any, path: str, value: Any) -> Any:
    name, _, rest = path.partition(".")
    return replace(whole, **{name: changed(getattr(whole, name), rest, value) if rest else value})


@rows("path value default", {
    "proxyprotocol": ("proxyprotocol", True, False),
    "interval": ("health_check.interval_s", 20, 15),
    "timeout": ("health_check.timeout_s", 5, 10),
    "retries": ("health_check.retries", 1, 3),
    "domain": ("health_check.http.domain", "a.example.com", ""),
    "path": ("health_check.http.path", "/up", "/"),
    "response": ("health_check.http.response", "ok", ""),
    "status-codes": ("health_check.http.status_codes", ("200", "204"), ("2??", "3??")),
    "tls": ("health_check.http.tls", True, False),
    "cookie-name": ("http.cookie_name", "MINE", "HCLBSTICKY"),
    "cookie-lifetime": ("http.cookie_lifetime_s", 600, 300),
    "timeout-idle": ("http.timeout_idle_s", 60, 50),
    "redirect": ("http.redirect_http", True, False),
    "sticky-sessions": ("http.sticky_sessions", True, False),
})  # fmt: skip
def test_each_member_by_itself(path: str, value: Any, default: Any) -> None:
    tuned = changed(DEFAULT, path, value)
    wish = changed(SPOKEN_OF, path, value)
    back = changed(SPOKEN_OF, path, default)
    assert filled(wish, tuned) == filled(wish, DEFAULT) == tuned
    assert filled(back, tuned) == DEFAULT
    assert filled(SPOKEN_OF, tuned) == tuned


@rows("codes is_same", {"another-order": (("204", "200"), True), "fewer": (("200",), False)})
def test_the_order_of_status_codes_means_nothing(codes: tuple[str, ...], *, is_same: bool) -> None:
    """They are a set, which the API writes as a list."""
    present = a_listener(health_check=an_http_check(status_codes=("200", "204")))
    wanted = asked(health_check=replace(HTTP_CHECK, http=HttpCheck(status_codes=codes)))
    assert (filled(wanted, present) == present) is is_same


@rows("wanted present kept", {
    "tcp-to-http": (asked(HTTP, cookie_name="MINE"), TUNED, HttpOptions("MINE")),
    "http-to-https": (asked(HTTPS, certificates=(5,)), COOKED,
        HttpOptions("MINE", 600, 60, (5,), redirect_http=UNMANAGED, sticky_sessions=True)),
    "https-to-http": (asked(HTTP), SECURE, HttpOptions("MINE", 600, 60, (), redirect_http=False, sticky_sessions=True)),
    "https-to-tcp": (asked(), SECURE, None),
})  # fmt: skip
def test_options_of_http_after_another_protocol(wanted: Listener, present: Listener, kept: HttpOptions | None) -> None:
    """Another protocol keeps nothing where the listener had no such part, and nothing that only https has."""
    assert filled(wanted, present).http == kept


def test_the_defaults_are_those_of_a_listener_that_nobody_tuned() -> None:
    assert api_defaults(asked()) == a_listener()
    assert api_defaults(asked(HTTP)) == an_http_listener()
    assert api_defaults(asked(health_check=HTTP_CHECK)) == a_listener(health_check=an_http_check())
