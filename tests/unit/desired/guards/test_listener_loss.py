"""The rule ``listener-loss``, through whole plans."""

from dataclasses import replace
from typing import Any

import pytest

from desired.annotations.choices import Protocol
from desired.annotations.claims import ClaimedPort
from desired.annotations.options import OPTIONS
from desired.model.load_balancer import CloudBalancer, Health, HttpOptions, Issuance, Listener, ServerTarget
from desired.model.service import Service
from desired.model.settings import Settings
from desired.names import LABEL_CLUSTER_UID, LABEL_SERVICE_UID
from desired.plan.change import GuardName, Plan, Verdict
from desired.rules.guards import LISTENER_LOSS
from tests.balancers import (
    LOCATED,
    SERVICE_UID,
    a_balancer,
    a_certificate,
    a_listener,
    a_world,
    an_http_check,
    an_http_listener,
)
from tests.builders import CLUSTER_UID
from tests.support.balancer_changes import BALANCER
from tests.support.balancer_plans import asking
from tests.support.balancer_verdicts import judged, verdicts
from tests.support.rows import rows

ENCRYPTED = HttpOptions("HCLBSTICKY", 300, 50, (77,), redirect_http=False, sticky_sessions=False)
OVER_TLS = an_http_listener(443, 30443, protocol=Protocol.HTTPS, http=ENCRYPTED)
REDIRECTING = replace(OVER_TLS, http=replace(ENCRYPTED, redirect_http=True))
PROBED = a_listener(443, 30443, health_check=an_http_check(30443, path="/ping"))
PROBED_TLS = replace(OVER_TLS, health_check=an_http_check(30443, tls=True))
PROXIED = a_listener(443, 30443, proxyprotocol=True)
WEB, SECURE = ClaimedPort(80, "TCP", 30080), ClaimedPort(443, "TCP", 30443)
PORT, ASKED = f"{BALANCER}/listener/443", f"{BALANCER}/listener/443/asked"
HELD, PASSES = (Verdict.HELD, "listener-loss"), (Verdict.ALLOWED, None)
EVERYWHERE = replace(LOCATED, balancer_defaults=replace(LOCATED.balancer_defaults, uses_proxyprotocol=False))


def plan_for(
    service: Service, *listeners: Listener, settings: Settings = LOCATED, approved: Any = (), **balancer: Any
) -> Plan:
    balancers: list[CloudBalancer] = [a_balancer(listeners=listeners, **balancer)]
    known = [a_certificate(77, "site"), a_certificate(78, "next")]
    return judged(a_world([service], balancers, certificates=known), settings, approved)


@rows("service listener settings expected", {
    "tls": (asking(SECURE), OVER_TLS, LOCATED, HELD),
    "tls-asked": (asking(SECURE, protocol="tcp"), OVER_TLS, LOCATED, PASSES),
    "tls-and-what-tcp-has-not": (asking(SECURE, http_certificates="78"), OVER_TLS, LOCATED, HELD),
    "check": (asking(SECURE), PROBED, LOCATED, HELD),
    "check-of-an-interval": (asking(SECURE, health_check_interval="15s"), PROBED, LOCATED, HELD),
    "check-asked": (asking(SECURE, health_check_protocol="tcp"), PROBED, LOCATED, PASSES),
    "proxy-asked": (asking(SECURE, uses_proxyprotocol="false"), PROXIED, LOCATED, PASSES),
    "proxy-by-a-default": (asking(SECURE), PROXIED, EVERYWHERE, PASSES),
    "proxy-on": (asking(SECURE, uses_proxyprotocol="true"), a_listener(443, 30443), LOCATED, PASSES),
})  # fmt: skip
def test_a_loss_is_held_unless_asked_for(
    service: Service, listener: Listener, settings: Settings, expected: tuple[Verdict, str | None]
) -> None:
    """Whatever is held or passes, the plan says what clients lose."""
    found = plan_for(service, listener, settings=settings)
    assert verdicts(found)[PORT] == expected
    assert found.by_key[PORT].consequences


def test_what_unset_keeps_is_no_change_at_all() -> None:
    """A PROXY protocol that was switched in the console stays where nothing asks for one."""
    assert PORT not in plan_for(asking(SECURE), PROXIED).by_key


def test_the_hold_in_words() -> None:
    """It names the loss, the annotations that keep what is there, and one change."""
    (hold,) = plan_for(asking(SECURE), OVER_TLS).holds

    prefix = "load-balancer.hetzner.cloud/"
    assert (hold.rule, hold.value, hold.limit, hold.keys) == (GuardName.LISTENER_LOSS, "1", "0", (PORT,))
    assert hold.said == LISTENER_LOSS.text(
        service="default/web",
        port=443,
        balancer="load balancer 42",
        losses="clients of port 443 get no TLS from the load balancer any more, certificate 77 is removed",
        keep=f'{prefix}protocol: https, {prefix}http-certificates: "77"',
        drop=f"{prefix}protocol: tcp",
    )


@rows("options", {"unset": {}, "with-checks": {"health_check_interval": "15s"}})
@rows("listener expected", {
    "tls": (OVER_TLS, {"protocol": "tcp"}),
    "http": (an_http_listener(443, 30443), {"protocol": "tcp"}),
    "check": (PROBED, {"health_check_protocol": "tcp"}),
    "tls-and-its-check": (PROBED_TLS, {"protocol": "tcp", "health_check_protocol": "tcp"}),
    "check-of-another-port": (a_listener(443, 30443, health_check=an_http_check(10254)), {}),
})  # fmt: skip
def test_what_lets_it_go_without_an_approval(
    listener: Listener, expected: dict[str, str], options: dict[str, str]
) -> None:
    """With the annotations that the hold names the same change passes; none is named that would keep the number of the
    node port."""
    held = plan_for(asking(SECURE, **options), listener)
    (hold,) = held.holds

    assert ("or set" in hold.said) is bool(expected)
    for option, value in expected.items():
        assert f"{OPTIONS[option].full_key}: {value}" in hold.said.rpartition("or set")[2]
    if expected:
        passing = plan_for(asking(SECURE, **options, **expected), listener)
        assert verdicts(passing)[PORT] == PASSES
        assert passing.by_key[PORT].after == held.by_key[PORT].after


@pytest.mark.parametrize("options", [
    {"http_certificates": "78"},
    {"http_certificates": "77,78"},
    {"certificate_type": "managed", "http_managed_certificate_domains": "a.example.com"},
])  # fmt: skip
def test_another_certificate_that_is_asked_for_is_no_loss(options: dict[str, str]) -> None:
    """A rotation goes through without a word; a managed certificate may take the place of one that was uploaded."""
    labels = {LABEL_SERVICE_UID: SERVICE_UID, LABEL_CLUSTER_UID: CLUSTER_UID}
    name = f"ccm-managed-certificate-{SERVICE_UID}"
    issued = a_certificate(
        5, name, is_managed=True, domains=("a.example.com",), labels=labels, issuance=Issuance.COMPLETED
    )
    world = a_world(
        [asking(SECURE, protocol="https", **options)],
        [a_balancer(listeners=[OVER_TLS])],
        certificates=[a_certificate(77, "site"), a_certificate(78, "next"), issued],
    )

    change = judged(world).by_key[PORT]

    assert change.decision.verdict is Verdict.ALLOWED
    assert change.consequences == ()


LEFT = a_listener(443, 30443, health_check=an_http_check(32000, path="/healthz"))
ONE = ServerTarget(1, use_private_ip=False)


@rows("service listener health expected", {
    "it-answers": (asking(SECURE), LEFT, Health.HEALTHY, HELD),
    "not-known": (asking(SECURE), LEFT, Health.UNKNOWN, HELD),
    "its-port-is-closed": (asking(SECURE), LEFT, Health.UNHEALTHY, PASSES),
    "its-path-is-gone": (asking(SECURE), PROBED, Health.UNHEALTHY, PASSES),
    "answers-elsewhere": (asking(replace(SECURE, node_port=30999)), LEFT, Health.HEALTHY, HELD),
    "all-is-closed": (asking(replace(SECURE, node_port=30999)), LEFT, Health.UNHEALTHY, PASSES),
})  # fmt: skip
def test_a_health_check_is_held_while_something_passes_it(
    service: Service, listener: Listener, health: Health, expected: tuple[Verdict, str | None]
) -> None:
    """A check whose port kube-proxy has closed, or whose path is gone, keeps all traffic away until it is put back."""
    found = plan_for(service, listener, health={ONE: health})
    assert verdicts(found)[PORT] == expected
    assert found.by_key[PORT].consequences


MOVED = asking(replace(SECURE, node_port=30999))
ALSO_PROXIED = asking(replace(SECURE, node_port=30999), uses_proxyprotocol="true")
DEAD_TLS = replace(OVER_TLS, health_check=LEFT.health_check)
MOVED_TLS = replace(OVER_TLS, destination_port=30999, health_check=replace(OVER_TLS.health_check, port=30999))


@rows("service listener health made", {
    "a dead check is put back": (asking(SECURE), DEAD_TLS, Health.UNHEALTHY, OVER_TLS),
    "a node port moves": (MOVED, OVER_TLS, Health.HEALTHY, MOVED_TLS),
    "and PROXY": (ALSO_PROXIED, OVER_TLS, Health.HEALTHY, replace(MOVED_TLS, proxyprotocol=True)),
    "a check of the node port follows it before it is judged": (MOVED, PROBED, Health.UNHEALTHY,
        replace(PROBED, destination_port=30999, health_check=an_http_check(30999, path="/ping"))),
})  # fmt: skip
def test_what_is_asked_for_besides_does_not_wait(
    service: Service, listener: Listener, health: Health, made: Listener
) -> None:
    """It is a change of its own, which goes first; the hold is of the rest alone, and the same afterwards."""
    found = plan_for(service, listener, health={ONE: health})
    (hold,) = found.holds
    later = plan_for(service, made, health={ONE: Health.HEALTHY})
    approved = plan_for(service, listener, health={ONE: health}, approved={hold.hash})

    assert (verdicts(found)[ASKED], verdicts(found)[PORT]) == (PASSES, HELD)
    assert (found.by_key[ASKED].after, found.by_key[PORT].before) == (made, made)
    assert found.by_key[PORT].depends_on == (ASKED,)
    assert [each.hash for each in later.holds] == [hold.hash]
    assert ASKED not in later.by_key
    assert (verdicts(approved)[ASKED], verdicts(approved)[PORT]) == (PASSES, PASSES)
    assert (ASKED in approved.by_key[PORT].follows, PORT in approved.by_key[ASKED].follows) == (True, False)


def test_a_certificate_is_made_for_what_is_asked_for() -> None:
    """The port needs it before it can speak TLS; the rest of its change, which is held, keeps nothing waiting."""
    service = asking(
        SECURE, protocol="https", certificate_type="managed", http_managed_certificate_domains="a.example.com"
    )
    found = plan_for(service, PROBED)
    assert verdicts(found)["certificate/default/web"] == PASSES
    assert (verdicts(found)[ASKED], verdicts(found)[PORT]) == (PASSES, HELD)
    assert found.by_key[ASKED].depends_on == ("certificate/default/web",)


def test_each_listener_is_a_hold_of_its_own() -> None:
    """An approval of one says nothing of the other, and nothing of the same port once it is another change."""
    two = (replace(OVER_TLS, port=80), OVER_TLS)
    service = asking(replace(WEB, node_port=30443), SECURE)
    first, second = sorted(plan_for(service, *two).holds, key=lambda hold: hold.keys, reverse=True)

    approved = plan_for(service, *two, approved={second.hash})
    later = plan_for(service, two[0], replace(OVER_TLS, http=replace(ENCRYPTED, certificates=(77, 78))),
        approved={second.hash})  # fmt: skip

    assert (first.keys, second.keys) == ((f"{BALANCER}/listener/80",), (PORT,))
    assert verdicts(approved)[PORT] == PASSES
    assert verdicts(approved)[f"{BALANCER}/listener/80"] == HELD
    assert verdicts(later)[PORT] == HELD


def test_a_port_that_a_redirect_takes_waits_with_it() -> None:
    """Hetzner refuses port 80 beside a redirect: it comes once that is given up."""
    service = asking(WEB, SECURE)
    found = plan_for(service, REDIRECTING)
    (hold,) = found.holds

    assert verdicts(found)[PORT] == HELD
    assert verdicts(found)[f"{BALANCER}/listener/80"] == (Verdict.WAITING, "listener-loss")
    assert "remove port 80 from the Service" in hold.said
    assert plan_for(service, REDIRECTING, approved={hold.hash}).allowed != ()
    asked = asking(WEB, SECURE, protocol="https", http_certificates="77", http_redirect_http="false")
    assert verdicts(plan_for(asked, REDIRECTING))[PORT] == PASSES


def test_nothing_else_is_held() -> None:
    """Ports that come or go, targets and the rest of the load balancer are none of it."""
    service = asking(WEB, SECURE, algorithm_type="least_connections")
    found = verdicts(plan_for(service, OVER_TLS, a_listener(22, 30022), targets=()))
    assert found.pop(PORT) == HELD
    assert set(found.values()) == {PASSES}
    assert {f"{BALANCER}/listener/80", f"{BALANCER}/listener/22", f"{BALANCER}/algorithm"} < found.keys()
