"""Unset keeps: what no annotation and no default asks for stays as it is at a listener that exists."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from desired.annotations.choices import Protocol
from desired.annotations.claims import ClaimedPort
from desired.model.load_balancer import HealthCheck, HttpCheck, HttpOptions, Listener
from desired.plan.change import Plan, Verdict
from desired.plan.kinds import ChangeKind
from desired.plan.notes import NoteKind
from desired.planner import compute_plan
from tests.balancers import (
    LOCATED,
    a_balancer,
    a_certificate,
    a_claim,
    a_listener,
    a_served_service,
    a_world,
    an_http_check,
    an_http_listener,
    annotated,
)
from tests.support.judging import judge
from tests.support.rows import rows

HTTP, HTTPS = Protocol.HTTP, Protocol.HTTPS
WEB, MORE = ClaimedPort(80, "TCP", 30080), ClaimedPort(443, "TCP", 30443)
MOVED = ClaimedPort(80, "TCP", 31080)
OVER_TLS = an_http_listener(
    protocol=HTTPS,
    http=HttpOptions("MINE", 600, 60, (5,), redirect_http=False, sticky_sessions=True),
    proxyprotocol=True,
)
REDIRECTING = HttpOptions("HCLBSTICKY", 300, 50, (5,), redirect_http=True, sticky_sessions=False)
KUBE_PROXY = a_listener(health_check=an_http_check(32000, path="/healthz", tls=False))
ELSEWHERE = a_listener(health_check=replace(a_listener().health_check, port=9000))
LOCAL = {"external_traffic_policy": "Local", "health_check_node_port": 32000}
BACK = a_listener(health_check=replace(a_listener().health_check, port=30080))


def plan_of(
    there: Listener,
    *ports: ClaimedPort,
    spec: Mapping[str, Any] | None = None,
    unanswered: frozenset[int] = frozenset(),
    **annotations: Any,
) -> Plan:
    """The judged plan of a Service whose load balancer has this listener alone."""
    claim = a_claim(*(ports or (WEB,)), annotations=annotated(**annotations), **(spec or {}))
    balancer = a_balancer(listeners=(there,), unanswered=unanswered)
    world = a_world([a_served_service(claim=claim)], [balancer], certificates=(a_certificate(5), a_certificate(7)))
    return judge(compute_plan(world, LOCATED), world, LOCATED)


def after(plan: Plan, port: int = 80) -> Listener | None:
    """The port after its one change, which nothing holds; None if nothing changes it."""
    found = [
        change for change in plan.changes if change.kind is ChangeKind.LB_LISTENER and change.key.parts[-1] == str(port)
    ]
    assert len(found) <= 1
    assert all(change.decision.verdict is Verdict.ALLOWED for change in found)
    side = found[0].after if found else None
    assert side is None or isinstance(side, Listener)
    return side


def kept(plan: Plan) -> str:
    """What the note on kept values says; "" without one."""
    (text,) = [note.text for note in plan.notes if note.kind is NoteKind.KEPT] or [""]
    return text.removeprefix("load balancer keeps ").partition(", set by no")[0]


@rows("there said", {
    "as-it-is-made": (a_listener(), ""),
    "http": (an_http_listener(), "protocol=http (default tcp)"),
    "https": (OVER_TLS, ("protocol=https (default tcp), uses-proxyprotocol=true (default false),"
        " http-cookie-name=MINE (default HCLBSTICKY), http-cookie-lifetime=600s (default 300s),"
        " http-timeout-idle=60s (default 50s), http-sticky-sessions=true (default false)")),
    "redirect": (an_http_listener(protocol=HTTPS, http=REDIRECTING),
        "protocol=https (default tcp), http-redirect-http=true (default false)"),
    "check-over-http": (a_listener(health_check=an_http_check()), "health-check-protocol=http (default tcp)"),
    "check-over-tls": (a_listener(health_check=an_http_check(tls=True)), ("health-check-protocol=https (default tcp),"
        " health-check-http-validate-certificate=true (default false)")),
    "check-of-another-port": (ELSEWHERE, "health-check-port=9000 (default the node port)"),
    "check-of-kube-proxy": (KUBE_PROXY, ("health-check-protocol=http (default tcp), health-check-port=32000"
        " (default the node port), health-check-http-path=/healthz (default /)")),
})  # fmt: skip
def test_what_nothing_asks_for_stays(there: Listener, said: str) -> None:
    plan = plan_of(there)
    assert (after(plan), kept(plan)) == (None, said)


@rows("there", {
    "tcp": a_listener(), "http": an_http_listener(), "https": OVER_TLS, "check-over-http": a_listener(
        health_check=an_http_check()), "check-of-another-port": ELSEWHERE, "check-of-kube-proxy": KUBE_PROXY,
})  # fmt: skip
def test_a_node_port_is_followed(there: Listener) -> None:
    follows = there.health_check.port == 30080
    check = replace(there.health_check, port=31080) if follows else there.health_check
    assert after(plan_of(there, MOVED)) == replace(there, destination_port=31080, health_check=check)


@rows("there annotations expected", {
    "another-certificate": (OVER_TLS, {"http_certificates": "7"},
        replace(OVER_TLS, http=HttpOptions("MINE", 600, 60, (7,), redirect_http=False, sticky_sessions=True))),
    "check-as-the-port-speaks": (an_http_listener(), {"protocol": "http", "health_check_retries": "2"},
        an_http_listener(health_check=HealthCheck(HTTP, 30080, 15, 10, 2, HttpCheck()))),
})  # fmt: skip
def test_an_annotation_is_one_change(there: Listener, annotations: dict[str, Any], expected: Listener) -> None:
    assert after(plan_of(there, **annotations)) == expected


NOBODY = frozenset({80})


@rows("spec annotations unanswered expected", {
    "annotation-says-no": (LOCAL, {"health_check_node_port": "false"}, frozenset(), BACK),
    "another-port-of-kube-proxy": (LOCAL | {"health_check_node_port": 32111}, {"health_check_node_port": "true"},
        frozenset(), replace(KUBE_PROXY, health_check=an_http_check(32111, path="/healthz", tls=False))),
    "port-gone": ({}, {"health_check_node_port": "true"}, frozenset(), BACK),
    "port-and-annotation-gone-and-nobody-passes": ({}, {}, NOBODY, BACK),
    "port-gone-beside-a-protocol-that-is-asked": ({}, {"health_check_protocol": "http"}, NOBODY,
        a_listener(health_check=an_http_check())),
    "a-port-that-is-asked-beside-kube-proxy": (LOCAL, {"health_check_port": "32000", "health_check_node_port": "true"},
        frozenset(), None),
})  # fmt: skip
def test_a_check_of_kube_proxy(
    spec: dict[str, Any], annotations: dict[str, Any], unanswered: frozenset[int], expected: Listener | None
) -> None:
    """One that nothing answers any more ends, if the annotation is there or no target passes it."""
    assert after(plan_of(KUBE_PROXY, spec=spec, unanswered=unanswered, **annotations)) == expected


def test_a_check_of_a_person_that_nobody_passes_stays() -> None:
    """Only kube-proxy's port goes by itself."""
    there = a_listener(health_check=an_http_check(9000, path="/up"))
    assert after(plan_of(there, unanswered=NOBODY)) is None


SECURE = an_http_listener(443, 30443, protocol=HTTPS, http=REDIRECTING)


def test_a_kept_redirect_leaves_no_room_for_port_80() -> None:
    """Hetzner has port 80 once. The note names the annotation that frees it."""
    plan = plan_of(SECURE, WEB, MORE)
    assert (after(plan), after(plan, 443)) == (None, None)
    assert any("http-redirect-http" in note.text and note.port == 80 for note in plan.notes)
