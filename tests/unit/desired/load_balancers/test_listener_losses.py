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
from desired.section import UNMANAGED
from tests.balancers import LOCATED, a_balancer, a_listener, an_http_check
from tests.support.balancer_plans import asking, plan_of, public, steps

TCP, HTTP, HTTPS = Protocol.TCP, Protocol.HTTP, Protocol.HTTPS
PLAIN = HttpOptions("HCLBSTICKY", 300, 50, (), redirect_http=False, sticky_sessions=False)
SECURE = replace(PLAIN, certificates=(77,))


def listener(protocol: Protocol = TCP, /, check: HealthCheck | None = None, **overrides: Any) -> Listener:
    """Port 443 with this protocol; fields of ``HttpOptions`` and of the listener by their names."""
    http = {name: overrides.pop(name) for name in list(overrides) if name in HttpOptions.__dataclass_fields__}
    options = replace(SECURE if protocol is HTTPS else PLAIN, **http)
    found = a_listener(443, 30443, protocol=protocol, http=None if protocol is TCP else options, **overrides)
    return replace(found, health_check=check) if check else found


def checked(port: int = 30443, **request: Any) -> HealthCheck:
    """A health check over HTTP of this port."""
    return an_http_check(port, **request)


NO_TLS = "clients of port 443 get no TLS from the load balancer any more"
CHECKED = "targets of port 443 are checked by"


@pytest.mark.parametrize(
    ("before", "after", "texts"),
    [
        pytest.param(listener(HTTPS), listener(), [f"{NO_TLS}, certificate 77 is taken off"], id="https-to-tcp"),
        pytest.param(listener(HTTPS), listener(HTTP), [f"{NO_TLS}, certificate 77 is taken off"], id="https-to-http"),
        pytest.param(
            listener(HTTPS, certificates=(77, 78), redirect_http=True, sticky_sessions=True),
            listener(),
            [
                (f"{NO_TLS}, certificates 77, 78 are taken off, http is not redirected to port 443 any more,"
                " sticky sessions of port 443 end")
            ],
            id="https-with-all",
        ),
        pytest.param(
            listener(HTTP),
            listener(),
            ["backends of port 443 get no X-Forwarded-For from the load balancer any more"],
            id="http-to-tcp",
        ),
        pytest.param(
            listener(HTTP), listener(HTTPS), ["clients of port 443 have to speak TLS"], id="http-to-https"
        ),
        pytest.param(listener(), listener(HTTPS), ["clients of port 443 have to speak TLS"], id="tcp-to-https"),
        pytest.param(listener(), listener(HTTP), ["clients of port 443 have to speak http"], id="tcp-to-http"),
        pytest.param(
            listener(),
            replace(listener(HTTP), http=HttpOptions()),
            ["clients of port 443 have to speak http"],
            id="tcp-to-http-of-which-nothing-is-said",
        ),
        pytest.param(
            listener(HTTPS, certificates=(77, 78)),
            listener(HTTPS, certificates=(78, 79)),
            [],
            id="certificate-exchanged",
        ),
        pytest.param(listener(HTTPS), listener(HTTPS, certificates=(77, 78)), [], id="certificate-added"),
        pytest.param(
            listener(HTTPS), listener(HTTPS, certificates=KNOWN_AFTER_APPLY), [], id="certificate-still-to-come"
        ),
        pytest.param(
            listener(HTTPS, redirect_http=True),
            listener(HTTPS),
            ["http is not redirected to port 443 any more"],
            id="redirect-off",
        ),
        pytest.param(listener(HTTPS), listener(HTTPS, redirect_http=True), [], id="redirect-on"),
        pytest.param(
            listener(HTTP, sticky_sessions=True), listener(HTTP), ["sticky sessions of port 443 end"], id="sticky-off"
        ),
        pytest.param(
            listener(HTTP, sticky_sessions=True),
            listener(HTTP, sticky_sessions=True, cookie_name="mine", cookie_lifetime_s=60),
            [
                "sticky sessions of port 443 start anew with the cookie 'mine'",
                "sticky sessions of port 443 last 60 s instead of 300",
            ],
            id="another-cookie",
        ),
        pytest.param(listener(HTTP), listener(HTTP, cookie_name="mine"), [], id="a-cookie-that-nothing-uses"),
        pytest.param(
            listener(HTTP, timeout_idle_s=300),
            listener(HTTP),
            ["idle connections of port 443 end after 50 s instead of 300"],
            id="shorter-timeout",
        ),
        pytest.param(listener(HTTP), listener(HTTP, timeout_idle_s=300), [], id="longer-timeout"),
        pytest.param(
            listener(proxyprotocol=True),
            listener(),
            ["backends of port 443 get no PROXY protocol header any more, and break if they expect it"],
            id="proxy-off",
        ),
        pytest.param(
            listener(),
            listener(proxyprotocol=True),
            ["backends of port 443 get a PROXY protocol header, and break unless they expect it"],
            id="proxy-on",
        ),
        pytest.param(listener(proxyprotocol=UNMANAGED), listener(), [], id="proxy-not-known"),
        pytest.param(
            listener(check=checked(31080, path="/ping")),
            listener(),
            [f"{CHECKED} tcp on port 30443 instead of http '/ping' on port 31080"],
            id="check-over-http-to-tcp",
        ),
        pytest.param(
            listener(),
            listener(check=checked()),
            [f"{CHECKED} http '/' on port 30443 instead of tcp on port 30443"],
            id="check-over-tcp-to-http",
        ),
        pytest.param(
            listener(check=checked(tls=True)),
            listener(check=checked()),
            [f"{CHECKED} http '/' on port 30443 instead of https '/' on port 30443"],
            id="check-over-tls",
        ),
        pytest.param(
            listener(check=checked(domain="a.example.com", status_codes=("200", "204"), response="ok")),
            listener(check=checked()),
            [
                (f"{CHECKED} http '/' on port 30443 instead of http '/' on port 30443, host 'a.example.com',"
                " status 200 or 204 and answer 'ok'")
            ],
            id="request-and-answer-of-the-check",
        ),
        pytest.param(
            listener(check=HealthCheck(TCP, 8080, 15, 10, 3)),
            listener(),
            [f"{CHECKED} tcp on port 30443 instead of tcp on port 8080"],
            id="port-of-the-check",
        ),
        pytest.param(
            listener(),
            a_listener(443, 30555),
            [],
            id="node-port-and-its-check",
        ),
        pytest.param(
            listener(check=HealthCheck(TCP, 30443, 5, 4, 1)), listener(), [], id="how-often-is-checked"
        ),
        pytest.param(
            listener(check=checked(status_codes=("3??", "2??"))), listener(check=checked()), [], id="order-of-codes"
        ),
        pytest.param(listener(HTTPS), listener(HTTPS), [], id="equal"),
    ],
)  # fmt: skip
def test_what_clients_lose(before: Listener, after: Listener, texts: list[str]) -> None:
    """Each thing that ends for clients has a sentence; what only gains, or ends nothing, has none."""
    assert [loss.text for loss in listener_losses(before, after)] == texts


CONSOLE = listener(
    HTTPS, check=checked(31080, path="/ping"), redirect_http=True, sticky_sessions=True, proxyprotocol=True
)
KEPT_PROXY = listener(proxyprotocol=True)
CHECKS = {"health_check_interval"}


@pytest.mark.parametrize(
    ("before", "after", "asked", "kept"),
    [
        pytest.param(CONSOLE, KEPT_PROXY, set(), CONSOLE, id="nothing-asked"),
        pytest.param(
            CONSOLE, KEPT_PROXY, {"protocol"}, replace(KEPT_PROXY, health_check=CONSOLE.health_check), id="protocol"
        ),
        pytest.param(CONSOLE, KEPT_PROXY, {"protocol", *CHECKS}, replace(KEPT_PROXY, health_check=replace(
            KEPT_PROXY.health_check, port=31080)), id="protocol-which-checks-follow"),
        pytest.param(
            CONSOLE,
            KEPT_PROXY,
            {"protocol", "health_check_protocol", "health_check_port"},
            KEPT_PROXY,
            id="protocol-and-all-of-checks",
        ),
        pytest.param(CONSOLE, KEPT_PROXY, set(OPTIONS), KEPT_PROXY, id="everything"),
        pytest.param(CONSOLE, KEPT_PROXY, CHECKS, CONSOLE, id="an-interval-says-nothing-of-the-protocol"),
        pytest.param(
            CONSOLE,
            KEPT_PROXY,
            {"health_check_node_port"},
            replace(CONSOLE, health_check=KEPT_PROXY.health_check),
            id="whether-kube-proxy-is-asked",
        ),
        pytest.param(listener(), listener(proxyprotocol=True), set(), listener(), id="proxy"),
        pytest.param(
            listener(), listener(proxyprotocol=True), {"uses_proxyprotocol"}, listener(proxyprotocol=True),
            id="proxy-asked",
        ),
        pytest.param(
            listener(HTTPS, redirect_http=True), listener(HTTPS), {"protocol", "http_certificates"},
            listener(HTTPS, redirect_http=True), id="redirect",
        ),
        pytest.param(
            listener(HTTPS, redirect_http=True), listener(HTTPS), {"http_redirect_http"}, listener(HTTPS),
            id="redirect-asked",
        ),
        pytest.param(
            listener(HTTPS), a_listener(443, 30555), set(),
            replace(listener(HTTPS), destination_port=30555, health_check=HealthCheck(TCP, 30555, 15, 10, 3)),
            id="a-new-node-port-is-led-to-at-once",
        ),
        pytest.param(
            listener(check=checked(path="/up")), a_listener(443, 30555), set(),
            a_listener(443, 30555, health_check=checked(30555, path="/up")), id="a-check-of-the-port-follows-it",
        ),
        pytest.param(
            listener(check=checked(10254)), a_listener(443, 30555), set(),
            a_listener(443, 30555, health_check=checked(10254)), id="a-check-of-another-port-stays-there",
        ),
        pytest.param(
            listener(HTTPS, check=HealthCheck(TCP, 30443, 15, 10, 3)), listener(check=HealthCheck(TCP, 30443, 5, 4, 1)),
            CHECKS, listener(HTTPS, check=HealthCheck(TCP, 30443, 5, 4, 1)), id="how-often-is-checked",
        ),
        pytest.param(listener(HTTP, timeout_idle_s=50), listener(HTTP, timeout_idle_s=300), set(),
            listener(HTTP, timeout_idle_s=300), id="a-gain-is-nothing-to-ask-for"),
    ],
)  # fmt: skip
def test_what_was_never_asked_for_is_kept(
    before: Listener, after: Listener, asked: Collection[str], kept: Listener
) -> None:
    """The listener gets what an option asks for, and keeps what clients would lose without anybody's word. What is left
    is kept once more: a hold of it is the same in the next round."""
    assert keeping_unasked(before, after, asked) == kept
    assert keeping_unasked(kept, after, asked) == (kept if kept != after else after)


@pytest.mark.parametrize(
    ("before", "after", "asked", "kept"),
    [
        pytest.param(listener(check=checked(32000, path="/healthz")), listener(), set(), listener(), id="another-port"),
        pytest.param(listener(check=checked(path="/ping")), listener(), set(), listener(), id="a-request"),
        pytest.param(
            listener(check=checked(32000)), a_listener(443, 30555), set(), a_listener(443, 30555), id="with-node-port"
        ),
        pytest.param(
            listener(check=checked(32000)), listener(check=checked(32000, path="/up")), {"health_check_http_path"},
            listener(check=checked(32000, path="/up")), id="what-is-asked-of-it-comes",
        ),
        pytest.param(CONSOLE, KEPT_PROXY, set(), replace(CONSOLE, health_check=KEPT_PROXY.health_check),
            id="not-the-rest"),
    ],
)  # fmt: skip
def test_a_check_that_nothing_passes_is_not_kept(
    before: Listener, after: Listener, asked: Collection[str], kept: Listener
) -> None:
    """It takes every target for dead, so that clients lose nothing with it; TLS has nothing to do with that."""
    assert keeping_unasked(before, after, asked, is_passed=False) == kept
    assert keeping_unasked(kept, after, asked, is_passed=False) == kept


ONE, TWO = public(1, 2)
GOOD, BAD, OPEN = Health.HEALTHY, Health.UNHEALTHY, Health.UNKNOWN


@pytest.mark.parametrize(
    ("check", "node_port", "targets", "health", "expected"),
    [
        pytest.param(checked(32000), 30443, [ONE, TWO], {ONE: GOOD, TWO: BAD}, True, id="one-answers"),
        pytest.param(checked(32000), 30443, [ONE, TWO], {ONE: BAD, TWO: BAD}, False, id="none-answers"),
        pytest.param(checked(32000), 30443, [ONE, TWO], {ONE: OPEN, TWO: BAD}, True, id="unknown-is-not-absent"),
        pytest.param(checked(32000), 30443, [ONE, TWO], {TWO: BAD}, True, id="nothing-said-of-one"),
        pytest.param(checked(32000), 30443, [ONE], {ONE: {443: BAD, 80: GOOD}}, False, id="at-another-port-only"),
        pytest.param(checked(32000), 30443, [ONE], {ONE: {443: GOOD, 80: BAD}}, True, id="at-this-port-only"),
        pytest.param(checked(32000), 30443, [ONE], {ONE: {80: BAD}}, True, id="nothing-said-of-the-port"),
        pytest.param(checked(32000), 30443, [], {}, False, id="no-targets"),
        pytest.param(checked(10254), 30555, [ONE], {ONE: GOOD}, True, id="answers-and-another-node-port"),
        pytest.param(checked(32000), 30555, [ONE], {ONE: BAD}, False, id="none-answers-and-another-node-port"),
        pytest.param(checked(30443), 30555, [ONE], {ONE: BAD}, True, id="the-node-port-that-is-left"),
        pytest.param(checked(30443), 30555, [], {}, False, id="the-node-port-that-is-left-by-nothing"),
        pytest.param(checked(30443), 30443, [ONE], {ONE: BAD}, False, id="the-node-port-that-stays"),
    ],
)
def test_whether_a_check_may_be_passed(
    check: HealthCheck, node_port: int, targets: list[Any], health: Any, expected: bool
) -> None:
    """By what is known of the listener itself; a node port that is closed says nothing of the next one."""
    listeners = [listener(check=check), a_listener(80)]
    present = a_balancer(targets=targets, listeners=listeners, health=health)
    assert may_be_passed(present, a_listener(443, node_port)) is expected


@pytest.mark.parametrize(
    "before",
    [
        pytest.param(CONSOLE, id="all-of-it"),
        pytest.param(listener(HTTPS), id="https"),
        pytest.param(listener(HTTP, sticky_sessions=True), id="http"),
        pytest.param(
            listener(check=checked(31080, path="/ping", domain="a.example.com", status_codes=("200",), tls=True)),
            id="check",
        ),
        pytest.param(listener(HTTPS, check=checked(tls=True)), id="https-with-its-check"),
        pytest.param(listener(check=HealthCheck(TCP, 8080, 15, 10, 3)), id="port-of-the-check"),
        pytest.param(listener(HTTP, check=HealthCheck(TCP, 8080, 15, 10, 3)), id="http-with-that"),
        pytest.param(listener(check=checked(response="ok")), id="answer-of-the-check"),
    ],
)
@pytest.mark.parametrize("options", [{}, {"health_check_interval": "15s"}], ids=["unset", "with-checks"])
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


@pytest.mark.parametrize(
    ("keep", "ports", "text"),
    [
        ({}, [80, 443], ""),
        ({"protocol": "https"}, [443], "load-balancer.hetzner.cloud/protocol: https"),
        (
            {"protocol": "https"},
            [443, 444],
            "load-balancer.hetzner.cloud/protocol: https (for all ports of the Service)",
        ),
        (
            {"http_redirect_http": "true"},
            [80, 443],
            'load-balancer.hetzner.cloud/http-redirect-http: "true", and remove port 80 from the Service',
        ),
        (
            {"http_status_codes": "2??,404", "http_cookie_name": 'a": b'},
            [443],
            (
                'load-balancer.hetzner.cloud/http-status-codes: "2??,404",'
                ' load-balancer.hetzner.cloud/http-cookie-name: "a\\": b"'
            ),
        ),
    ],
)
def test_a_remedy_in_words(keep: dict[str, str], ports: list[int], text: str) -> None:
    """As a manifest has it, whatever somebody has put into the console."""
    assert remedy([Loss("protocol", "", keep)], ports) == text


GONE, UNSPOKEN = Loss("protocol", "", let_go={"protocol": "tcp"}), Loss("health_check_port", "")


@pytest.mark.parametrize(
    ("losses", "ports", "text"),
    [
        ([GONE], [443], "load-balancer.hetzner.cloud/protocol: tcp"),
        ([GONE], [80, 443], "load-balancer.hetzner.cloud/protocol: tcp (for all ports of the Service)"),
        (
            [GONE, Loss("http_redirect_http", "", let_go={"http_redirect_http": "false"})],
            [443],
            'load-balancer.hetzner.cloud/protocol: tcp, load-balancer.hetzner.cloud/http-redirect-http: "false"',
        ),
        ([GONE, UNSPOKEN], [443], ""),
        ([UNSPOKEN], [443], ""),
    ],
)
def test_what_lets_go_in_words(losses: list[Loss], ports: list[int], text: str) -> None:
    """All of it or nothing: what a person would still have to approve is no way without an approval."""
    assert letting_go(losses, ports) == text
