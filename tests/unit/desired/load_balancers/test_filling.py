"""Wishes filled up with what is there: what nobody asked for is kept, and never a difference by itself."""

from dataclasses import replace
from typing import Any

import pytest

from desired.annotations.choices import Protocol
from desired.load_balancers.listeners import api_defaults, filled
from desired.model.load_balancer import KNOWN_AFTER_APPLY, HealthCheck, HttpCheck, HttpOptions, Listener
from desired.section import UNMANAGED
from tests.balancers import a_listener, an_http_check, an_http_listener
from tests.support.rows import rows

TCP, HTTP, HTTPS = Protocol.TCP, Protocol.HTTP, Protocol.HTTPS
CHECK = HealthCheck(TCP, 30080)
HTTP_CHECK = HealthCheck(HTTP, 30080, http=HttpCheck())


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


@rows("wanted", {
    "tcp": asked(),
    "http": asked(HTTP, HTTP_CHECK, cookie_name="MINE"),
    "https": asked(HTTPS, certificates=KNOWN_AFTER_APPLY),
})  # fmt: skip
def test_a_new_listener_is_left_to_the_api(wanted: Listener) -> None:
    """What is not there yet gets the API's defaults by not being spoken of."""
    assert filled(wanted, None) == wanted


@rows("wanted present", {
    "tcp": (asked(), a_listener()),
    "tcp-tuned": (asked(), TUNED),
    "tcp-probed-over-http": (asked(health_check=HTTP_CHECK), PROBED),
    "http": (asked(HTTP), an_http_listener()),
    "http-tuned": (asked(HTTP), COOKED),
    "https-tuned": (asked(HTTPS), SECURE),
    "https-with-the-same-certificates": (asked(HTTPS, certificates=(5, 7)), SECURE),
    "https-that-is-passed-through": (asked(HTTPS), replace(SECURE, http=HttpOptions("MINE", 600, 60, ()))),
})  # fmt: skip
def test_what_is_unset_keeps_its_value(wanted: Listener, present: Listener) -> None:
    """Without a wish there is no difference, whatever the value is."""
    assert filled(wanted, present) == present


MEMBERS = [
    pytest.param("proxyprotocol", True, False, id="proxyprotocol"),
    pytest.param("health_check.interval_s", 20, 15, id="interval"),
    pytest.param("health_check.timeout_s", 5, 10, id="timeout"),
    pytest.param("health_check.retries", 1, 3, id="retries"),
    pytest.param("health_check.http.domain", "a.example.com", "", id="domain"),
    pytest.param("health_check.http.path", "/up", "/", id="path"),
    pytest.param("health_check.http.response", "ok", "", id="response"),
    pytest.param("health_check.http.status_codes", ("200", "204"), ("2??", "3??"), id="status-codes"),
    pytest.param("health_check.http.tls", True, False, id="tls"),
    pytest.param("http.cookie_name", "MINE", "HCLBSTICKY", id="cookie-name"),
    pytest.param("http.cookie_lifetime_s", 600, 300, id="cookie-lifetime"),
    pytest.param("http.timeout_idle_s", 60, 50, id="timeout-idle"),
    pytest.param("http.redirect_http", True, False, id="redirect"),
    pytest.param("http.sticky_sessions", True, False, id="sticky-sessions"),
]
"""Path of a member, a value of it, and the API's default."""
SPOKEN_OF = asked(HTTPS, HTTP_CHECK)
DEFAULT = replace(api_defaults(SPOKEN_OF), http=HttpOptions("HCLBSTICKY", 300, 50, (5,), False, False))


def changed(whole: Any, path: str, value: Any) -> Any:
    name, _, rest = path.partition(".")
    return replace(whole, **{name: changed(getattr(whole, name), rest, value) if rest else value})


@pytest.mark.parametrize(("path", "value", "default"), MEMBERS)
def test_each_member_by_itself(path: str, value: Any, default: Any) -> None:
    """One that is asked for is a difference exactly when it differs; one that is not is kept."""
    tuned = changed(DEFAULT, path, value)
    wish = changed(SPOKEN_OF, path, value)
    back = changed(SPOKEN_OF, path, default)
    assert filled(wish, tuned) == filled(wish, DEFAULT) == tuned
    assert filled(back, tuned) == DEFAULT
    assert filled(SPOKEN_OF, tuned) == tuned


@rows("wanted present", {
    "destination": (asked(), replace(a_listener(), destination_port=30081)),
    "port-of-the-check": (asked(), a_listener(health_check=replace(a_listener().health_check, port=30081))),
    "check-over-http-that-nobody-asks-for": (asked(), PROBED),
    "protocol": (asked(), an_http_listener()),
    "one-certificate-less": (asked(HTTPS, certificates=(5,)), SECURE),
    "certificate-to-come": (asked(HTTPS, certificates=KNOWN_AFTER_APPLY), SECURE),
})  # fmt: skip
def test_differences(wanted: Listener, present: Listener) -> None:
    """Ports, protocols and certificates that were asked for are compared as they are."""
    assert filled(wanted, present) != present


@rows(
    "codes is_same",
    {"another-order": (("204", "200"), True), "fewer": (("200",), False), "more": (("200", "204", "301"), False)},
)
def test_the_order_of_status_codes_means_nothing(codes: tuple[str, ...], *, is_same: bool) -> None:
    """They are a set, which the API writes as a list."""
    present = a_listener(health_check=an_http_check(status_codes=("200", "204")))
    wanted = asked(health_check=replace(HTTP_CHECK, http=HttpCheck(status_codes=codes)))
    assert (filled(wanted, present) == present) is is_same


@rows("wanted present kept", {
    "tcp-to-http": (asked(HTTP, cookie_name="MINE"), TUNED, HttpOptions("MINE")),
    "tcp-to-https": (asked(HTTPS, certificates=(5,)), TUNED, HttpOptions(certificates=(5,))),
    "http-to-https": (asked(HTTPS, certificates=(5,)), COOKED,
        HttpOptions("MINE", 600, 60, (5,), redirect_http=UNMANAGED, sticky_sessions=True)),
    "http-to-https-without-a-certificate": (asked(HTTPS), COOKED,
        HttpOptions("MINE", 600, 60, UNMANAGED, redirect_http=UNMANAGED, sticky_sessions=True)),
    "https-to-http": (asked(HTTP), SECURE, HttpOptions("MINE", 600, 60, (), redirect_http=False, sticky_sessions=True)),
    "https-to-tcp": (asked(), SECURE, None),
})  # fmt: skip
def test_what_http_options_become(wanted: Listener, present: Listener, kept: HttpOptions | None) -> None:
    """Another protocol keeps nothing where the listener had no such part, and nothing that only https has."""
    assert filled(wanted, present).http == kept


@rows("wanted present kept", {
    "tcp-to-http": (HTTP_CHECK, TUNED, HealthCheck(HTTP, 30080, 20, 5, 1, HttpCheck())),
    "http-to-tcp": (CHECK, PROBED, HealthCheck(TCP, 30080, 20, 5, 1)),
    "part-of-it": (HealthCheck(HTTP, 30080, retries=4, http=HttpCheck(path="/", status_codes=("200",))), PROBED,
        HealthCheck(HTTP, 30080, 20, 5, 4, HttpCheck("a.example.com", "/", "ok", ("200",), tls=True))),
})  # fmt: skip
def test_what_health_checks_become(wanted: HealthCheck, present: Listener, kept: HealthCheck) -> None:
    """Numbers outlive a change of protocol, and the options of HTTP do not."""
    assert filled(asked(health_check=wanted), present).health_check == kept


@rows("one other", {
    "checks": (asked(), asked(health_check=HTTP_CHECK)),
    "tcp-and-http": (asked(), asked(HTTP)),
    "http-and-https": (asked(HTTP), asked(HTTPS, certificates=(5,))),
})  # fmt: skip
def test_there_and_back(one: Listener, other: Listener) -> None:
    """Each way is a difference, and after it there is none."""
    here, there = answered(one), answered(other)
    assert filled(other, here) != here
    assert filled(other, there) == there
    assert filled(one, there) != there
    assert filled(one, here) == here


def answered(wanted: Listener) -> Listener:
    """The listener as the API has it after it was asked for."""
    return filled(wanted, api_defaults(wanted))


def test_the_defaults_are_those_of_a_listener_that_nobody_tuned() -> None:
    """What the API fills in, for every protocol."""
    assert api_defaults(asked()) == a_listener()
    assert api_defaults(asked(HTTP)) == an_http_listener()
    assert api_defaults(asked(health_check=HTTP_CHECK)) == a_listener(health_check=an_http_check())
