"""What clients lose by the change of a listener, what of it a Service has asked for, and how the rest is kept."""

from collections.abc import Collection
from dataclasses import replace
from typing import Any

import pytest

from desired.annotations.choices import Protocol
from desired.annotations.claims import ClaimedPort
from desired.annotations.options import OPTIONS
from desired.load_balancers.listener_losses import (
    Loss,
    keeping_unasked,
    letting_go,
    listener_losses,
    may_be_passed,
    remedy,
)
from desired.model.load_balancer import KNOWN_AFTER_APPLY, Health, HealthCheck, HttpOptions, Listener
from desired.rules import load_balancer_changes as rows_of
from desired.rules.rule import Plain, Reason, Rule
from desired.section import UNMANAGED
from tests.balancers import LOCATED, a_balancer, a_listener, an_http_check
from tests.support.balancer_plans import asking, plan_of, public, steps
from tests.support.rows import rows

TCP, HTTP, HTTPS = Protocol.TCP, Protocol.HTTP, Protocol.HTTPS
PLAIN = HttpOptions("HCLBSTICKY", 300, 50, (), redirect_http=False, sticky_sessions=False)
SECURE = replace(PLAIN, certificates=(77,))


def listener(protocol: Protocol = TCP, /, check: HealthCheck | None = None, **overrides: Any) -> Listener:
    http = {name: overrides.pop(name) for name in list(overrides) if name in HttpOptions.__dataclass_fields__}
    options = replace(SECURE if protocol is HTTPS else PLAIN, **http)
    found = a_listener(443, 30443, protocol=protocol, http=None if protocol is TCP else options, **overrides)
    return replace(found, health_check=check) if check else found


def checked(port: int = 30443, **request: Any) -> HealthCheck:
    return an_http_check(port, **request)


def lost(*found: tuple[Rule, dict[str, Plain]]) -> list[list[Reason]]:
    return [[row.because(port=443, **facts)] for row, facts in found]


def taken_off(*ids: int) -> Reason:
    """The end of these certificates."""
    row = rows_of.CERTIFICATE_TAKEN_OFF if len(ids) == 1 else rows_of.CERTIFICATES_TAKEN_OFF
    return row.because(certificates=", ".join(map(str, ids)))


def checks(wanted: str, present: str) -> list[list[Reason]]:
    return lost((rows_of.CHECK_CHANGES, {"wanted": wanted, "present": present}))


TLS_ENDS, REDIRECT_ENDS, STICKINESS_ENDS = (
    row.because(port=443) for row in (rows_of.TLS_ENDS, rows_of.REDIRECT_ENDS, rows_of.STICKINESS_ENDS)
)
ALL_OF_HTTPS = listener(HTTPS, certificates=(77, 78), redirect_http=True, sticky_sessions=True)
STICKY = listener(HTTP, sticky_sessions=True)
COOKIE = listener(HTTP, sticky_sessions=True, cookie_name="mine", cookie_lifetime_s=60)
REQUEST = checked(domain="a.example.com", status_codes=("200", "204"), response="ok")
LONG = "http '/' on port 30443, host 'a.example.com', status 200 or 204 and answer 'ok'"
SLASH, PLAIN_TCP = "http '/' on port 30443", "tcp on port 30443"


@rows("before after losses", {
    "https-to-tcp": (listener(HTTPS), listener(), [[TLS_ENDS, taken_off(77)]]),
    "https-to-http": (listener(HTTPS), listener(HTTP), [[TLS_ENDS, taken_off(77)]]),
    "https-with-all": (ALL_OF_HTTPS, listener(), [[TLS_ENDS, taken_off(77, 78), REDIRECT_ENDS, STICKINESS_ENDS]]),
    "http-to-tcp": (listener(HTTP), listener(), lost((rows_of.FORWARDED_FOR_ENDS, {}))),
    "http-to-https": (listener(HTTP), listener(HTTPS), lost((rows_of.TLS_BEGINS, {}))),
    "tcp-to-https": (listener(), listener(HTTPS), lost((rows_of.TLS_BEGINS, {}))),
    "tcp-to-http": (listener(), listener(HTTP), lost((rows_of.HTTP_BEGINS, {}))),
    "tcp-to-bare-http": (listener(), replace(listener(HTTP), http=HttpOptions()), lost((rows_of.HTTP_BEGINS, {}))),
    "certificate-exchanged": (listener(HTTPS, certificates=(77, 78)), listener(HTTPS, certificates=(78, 79)), []),
    "certificate-added": (listener(HTTPS), listener(HTTPS, certificates=(77, 78)), []),
    "certificate-still-to-come": (listener(HTTPS), listener(HTTPS, certificates=KNOWN_AFTER_APPLY), []),
    "redirect-off": (listener(HTTPS, redirect_http=True), listener(HTTPS), [[REDIRECT_ENDS]]),
    "redirect-on": (listener(HTTPS), listener(HTTPS, redirect_http=True), []),
    "sticky-off": (STICKY, listener(HTTP), [[STICKINESS_ENDS]]),
    "another-cookie": (STICKY, COOKIE, lost((rows_of.COOKIE_CHANGES, {"wanted": "'mine'"}),
        (rows_of.COOKIE_SHORTENED, {"wanted": 60, "present": 300}))),
    "a-cookie-that-nothing-uses": (listener(HTTP), listener(HTTP, cookie_name="mine", cookie_lifetime_s=60), []),
    "shorter-timeout": (listener(HTTP, timeout_idle_s=300), listener(HTTP),
        lost((rows_of.IDLE_SHORTENED, {"wanted": 50, "present": 300}))),
    "longer-timeout": (listener(HTTP), listener(HTTP, timeout_idle_s=300), []),
    "timeout-not-known-before": (listener(HTTP, timeout_idle_s=UNMANAGED), listener(HTTP), []),
    "timeout-not-known": (listener(HTTP), listener(HTTP, timeout_idle_s=UNMANAGED), []),
    "proxy-off": (listener(proxyprotocol=True), listener(), lost((rows_of.PROXY_ENDS, {}))),
    "proxy-on": (listener(), listener(proxyprotocol=True), lost((rows_of.PROXY_BEGINS, {}))),
    "proxy-not-known": (listener(proxyprotocol=UNMANAGED), listener(), []),
    "check-to-tcp": (listener(check=checked(31080, path="/ping")), listener(),
        checks(PLAIN_TCP, "http '/ping' on port 31080")),
    "check-to-http": (listener(), listener(check=checked()), checks(SLASH, PLAIN_TCP)),
    "check-over-tls": (listener(check=checked(tls=True)), listener(check=checked()),
        checks(SLASH, "https '/' on port 30443")),
    "request-and-answer": (listener(check=REQUEST), listener(check=checked()), checks(SLASH, LONG)),
    "port-of-the-check": (listener(check=HealthCheck(TCP, 8080, 15, 10, 3)), listener(),
        checks(PLAIN_TCP, "tcp on port 8080")),
    "node-port-and-its-check": (listener(), a_listener(443, 30555), []),
    "how-often-is-checked": (listener(check=HealthCheck(TCP, 30443, 5, 4, 1)), listener(), []),
    "order-of-codes": (listener(check=checked(status_codes=("3??", "2??"))), listener(check=checked()), []),
    "equal": (listener(HTTPS), listener(HTTPS), []),
})  # fmt: skip
def test_what_clients_lose(before: Listener, after: Listener, losses: list[list[Reason]]) -> None:
    """Each thing that ends for clients has a row; what only gains, or ends nothing, has none."""
    assert [[*loss.reasons] for loss in listener_losses(before, after)] == losses


CONSOLE = listener(
    HTTPS, check=checked(31080, path="/ping"), redirect_http=True, sticky_sessions=True, proxyprotocol=True
)
KEPT_PROXY = listener(proxyprotocol=True)
CHECKS = {"health_check_interval"}
ALL_CHECKS = {"protocol", "health_check_protocol", "health_check_port"}
SECURE_REDIRECT, PROXY = listener(HTTPS, redirect_http=True), listener(proxyprotocol=True)
CONSOLE_CHECK = replace(KEPT_PROXY, health_check=CONSOLE.health_check)
CONSOLE_PORT = replace(KEPT_PROXY, health_check=replace(KEPT_PROXY.health_check, port=31080))
BY_KUBE_PROXY = replace(CONSOLE, health_check=KEPT_PROXY.health_check)
NEXT = a_listener(443, 30555)
LED_ON = replace(listener(HTTPS), destination_port=30555, health_check=HealthCheck(TCP, 30555, 15, 10, 3))
PATIENT, FOLLOWED = listener(HTTP, timeout_idle_s=300), listener(check=checked(path="/up"))
OFTEN = HealthCheck(TCP, 30443, 5, 4, 1)
FOLLOWS, STAYS = (a_listener(443, 30555, health_check=each) for each in (checked(30555, path="/up"), checked(10254)))


@rows("before after asked kept", {
    "nothing-asked": (CONSOLE, KEPT_PROXY, set(), CONSOLE),
    "protocol": (CONSOLE, KEPT_PROXY, {"protocol"}, CONSOLE_CHECK),
    "protocol-which-checks-follow": (CONSOLE, KEPT_PROXY, {"protocol", *CHECKS}, CONSOLE_PORT),
    "protocol-and-all-of-checks": (CONSOLE, KEPT_PROXY, ALL_CHECKS, KEPT_PROXY),
    "everything": (CONSOLE, KEPT_PROXY, set(OPTIONS), KEPT_PROXY),
    "an-interval-says-nothing-of-the-protocol": (CONSOLE, KEPT_PROXY, CHECKS, CONSOLE),
    "whether-kube-proxy-is-asked": (CONSOLE, KEPT_PROXY, {"health_check_node_port"}, BY_KUBE_PROXY),
    "proxy": (listener(), PROXY, set(), listener()),
    "proxy-asked": (listener(), PROXY, {"uses_proxyprotocol"}, PROXY),
    "redirect": (SECURE_REDIRECT, listener(HTTPS), {"protocol", "http_certificates"}, SECURE_REDIRECT),
    "redirect-asked": (SECURE_REDIRECT, listener(HTTPS), {"http_redirect_http"}, listener(HTTPS)),
    "a-new-node-port-is-led-to-at-once": (listener(HTTPS), NEXT, set(), LED_ON),
    "a-check-of-the-port-follows-it": (listener(check=checked(path="/up")), NEXT, set(), FOLLOWS),
    "a-check-of-another-port-stays-there": (listener(check=checked(10254)), NEXT, set(), STAYS),
    "a-path-of-the-check": (listener(check=checked(path="/up")), listener(check=checked()), set(), FOLLOWED),
    "how-often-is-checked": (listener(HTTPS), listener(check=OFTEN), CHECKS, listener(HTTPS, check=OFTEN)),
    "a-gain-is-nothing-to-ask-for": (listener(HTTP), PATIENT, set(), PATIENT),
})  # fmt: skip
def test_what_was_never_asked_for_is_kept(
    before: Listener, after: Listener, asked: Collection[str], kept: Listener
) -> None:
    """The listener gets what an option asks for, and keeps what clients would lose without anybody's word. What is left
    is kept once more: a hold of it is the same in the next round."""
    assert keeping_unasked(before, after, asked) == kept
    assert keeping_unasked(kept, after, asked) == (kept if kept != after else after)


@rows("before after asked kept", {
    "another-port": (listener(check=checked(32000, path="/healthz")), listener(), set(), listener()),
    "a-request": (listener(check=checked(path="/ping")), listener(), set(), listener()),
    "with-node-port": (listener(check=checked(32000)), a_listener(443, 30555), set(), a_listener(443, 30555)),
    "what-is-asked-of-it-comes": (listener(check=checked(32000)), listener(check=checked(32000, path="/up")),
        {"health_check_http_path"}, listener(check=checked(32000, path="/up"))),
    "not-the-rest": (CONSOLE, KEPT_PROXY, set(), replace(CONSOLE, health_check=KEPT_PROXY.health_check)),
})  # fmt: skip
def test_a_check_that_nothing_passes_is_not_kept(
    before: Listener, after: Listener, asked: Collection[str], kept: Listener
) -> None:
    """It takes every target for dead, so that clients lose nothing with it; TLS has nothing to do with that."""
    assert keeping_unasked(before, after, asked, is_passed=False) == kept
    assert keeping_unasked(kept, after, asked, is_passed=False) == kept


ONE, TWO = public(1, 2)
GOOD, BAD, OPEN = Health.HEALTHY, Health.UNHEALTHY, Health.UNKNOWN


@rows("check node_port targets health expected", {
    "one-answers": (checked(32000), 30443, [ONE, TWO], {ONE: GOOD, TWO: BAD}, True),
    "none-answers": (checked(32000), 30443, [ONE, TWO], {ONE: BAD, TWO: BAD}, False),
    "unknown-is-not-absent": (checked(32000), 30443, [ONE, TWO], {ONE: OPEN, TWO: BAD}, True),
    "nothing-said-of-one": (checked(32000), 30443, [ONE, TWO], {TWO: BAD}, True),
    "at-another-port-only": (checked(32000), 30443, [ONE], {ONE: {443: BAD, 80: GOOD}}, False),
    "at-this-port-only": (checked(32000), 30443, [ONE], {ONE: {443: GOOD, 80: BAD}}, True),
    "nothing-said-of-the-port": (checked(32000), 30443, [ONE], {ONE: {80: BAD}}, True),
    "no-targets": (checked(32000), 30443, [], {}, False),
    "answers-and-another-node-port": (checked(10254), 30555, [ONE], {ONE: GOOD}, True),
    "none-answers-and-another-node-port": (checked(32000), 30555, [ONE], {ONE: BAD}, False),
    "the-node-port-that-is-left": (checked(30443), 30555, [ONE], {ONE: BAD}, True),
    "the-node-port-that-is-left-by-nothing": (checked(30443), 30555, [], {}, False),
    "the-node-port-that-stays": (checked(30443), 30443, [ONE], {ONE: BAD}, False),
})  # fmt: skip
def test_whether_a_check_may_be_passed(
    check: HealthCheck, node_port: int, targets: list[Any], health: Any, expected: bool
) -> None:
    """By what is known of the listener itself; a node port that is closed says nothing of the next one."""
    listeners = [listener(check=check), a_listener(80)]
    present = a_balancer(targets=targets, listeners=listeners, health=health)
    assert may_be_passed(present, a_listener(443, node_port)) is expected


@rows("before", {
    "all-of-it": CONSOLE,
    "https": listener(HTTPS),
    "http": listener(HTTP, sticky_sessions=True),
    "check": listener(check=checked(31080, path="/ping", domain="a.example.com", status_codes=("200",), tls=True)),
    "https-with-its-check": listener(HTTPS, check=checked(tls=True)),
    "port-of-the-check": listener(check=HealthCheck(TCP, 8080, 15, 10, 3)),
    "http-with-that": listener(HTTP, check=HealthCheck(TCP, 8080, 15, 10, 3)),
    "answer-of-the-check": listener(check=checked(response="ok")),
})  # fmt: skip
@rows("options", {"unset": {}, "with-checks": {"health_check_interval": "15s"}})
def test_the_remedy_keeps_all_of_it(before: Listener, options: dict[str, str]) -> None:
    """With the annotations that it names, nothing is planned for the listener any more."""
    ports = (ClaimedPort(443, "TCP", 30443),)
    (change,) = steps(plan_of(asking(*ports, **options), a_balancer(listeners=[before])))
    assert isinstance(change.after, Listener)
    losses = listener_losses(before, change.after, options)

    keep = {option: value for loss in losses for option, value in loss.keep.items()}
    kept = plan_of(asking(*ports, **options, **keep), a_balancer(listeners=[before]))

    assert losses
    assert steps(kept) == []
    assert change.consequences == tuple(f"{loss.text}; to keep it: {remedy([loss], [443])}" for loss in losses)


def test_no_remedy_for_what_the_service_itself_has_said() -> None:
    """Somebody who has just set an annotation knows how to set another one; of a default it is said."""
    before = listener(proxyprotocol=True)
    for settings, options, has_remedy in (
        (LOCATED, {"uses_proxyprotocol": "false"}, False),
        (replace(LOCATED, balancer_defaults=replace(LOCATED.balancer_defaults, uses_proxyprotocol=False)), {}, True),
    ):
        service = asking(ClaimedPort(443, "TCP", 30443), **options)
        (change,) = steps(plan_of(service, a_balancer(listeners=[before]), settings=settings))
        (consequence,) = change.consequences
        assert ('uses-proxyprotocol: "true"' in consequence) is has_remedy


@pytest.mark.parametrize(("keep", "ports", "text"), [
    ({}, [80, 443], ""),
    ({"protocol": "https"}, [443], "load-balancer.hetzner.cloud/protocol: https"),
    ({"protocol": "https"}, [443, 444], "load-balancer.hetzner.cloud/protocol: https (for all ports of the Service)"),
    ({"http_redirect_http": "true"}, [80, 443],
        'load-balancer.hetzner.cloud/http-redirect-http: "true", and remove port 80 from the Service'),
    (
        {"http_status_codes": "2??,404", "http_cookie_name": 'a": b'},
        [443],
        (
            'load-balancer.hetzner.cloud/http-status-codes: "2??,404",'
            ' load-balancer.hetzner.cloud/http-cookie-name: "a\\": b"'
        ),
    ),
])  # fmt: skip
def test_a_remedy_in_words(keep: dict[str, str], ports: list[int], text: str) -> None:
    """As a manifest has it, whatever somebody has put into the console."""
    assert remedy([Loss("protocol", (), keep)], ports) == text


GONE, UNSPOKEN = Loss("protocol", (), let_go={"protocol": "tcp"}), Loss("health_check_port", ())


@pytest.mark.parametrize(("losses", "ports", "text"), [
    ([GONE], [443], "load-balancer.hetzner.cloud/protocol: tcp"),
    ([GONE], [80, 443], "load-balancer.hetzner.cloud/protocol: tcp (for all ports of the Service)"),
    ([GONE, Loss("http_redirect_http", (), let_go={"http_redirect_http": "false"})], [443],
        'load-balancer.hetzner.cloud/protocol: tcp, load-balancer.hetzner.cloud/http-redirect-http: "false"'),
    ([GONE, UNSPOKEN], [443], ""),
    ([UNSPOKEN], [443], ""),
])  # fmt: skip
def test_what_lets_go_in_words(losses: list[Loss], ports: list[int], text: str) -> None:
    """All of it or nothing: what a person would still have to approve is no way without an approval."""
    assert letting_go(losses, ports) == text
