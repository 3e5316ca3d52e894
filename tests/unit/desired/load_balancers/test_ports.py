"""Ports with options of their own on one load balancer: what each gets and keeps, and what errors hold back."""

from typing import Any

from desired.annotations.choices import Protocol
from desired.annotations.claims import ClaimedPort
from desired.load_balancers.desired import DesiredLoadBalancer
from desired.model.load_balancer import KNOWN_AFTER_APPLY, CloudBalancer, Issuance, Listener
from desired.model.service import Service
from desired.names import FINALIZER_BALANCER, LABEL_CLUSTER_UID, LABEL_SERVICE_UID
from desired.plan.change import Change, Plan
from desired.plan.kinds import ChangeKind
from desired.plan.notes import NoteKind
from desired.planner import compute_desired, compute_plan
from tests.balancers import (
    LOCATED,
    SERVICE_UID,
    a_balancer,
    a_certificate,
    a_claim,
    a_listener,
    a_service,
    a_world,
    annotated,
)
from tests.builders import CLUSTER_UID
from tests.support.judging import judge
from tests.support.rows import rows

TCP, HTTP, HTTPS = Protocol.TCP, Protocol.HTTP, Protocol.HTTPS
WEB, TLS, MORE = ClaimedPort(80, "TCP", 30080), ClaimedPort(443, "TCP", 30443), ClaimedPort(8443, "TCP", 30843)
THERE = a_listener(80, 30080), a_listener(443, 30443), a_listener(8443, 30843)
SHOP, BLOG = a_certificate(5, "shop"), a_certificate(7, "blog")


def asking(*ports: ClaimedPort, **annotations: str) -> Service:
    """A served Service; ``port_443_protocol="http"`` is of a port, ``protocol`` of the Service."""
    claim = a_claim(*(ports or (WEB, TLS, MORE)), annotations=annotated(location="fsn1", **annotations))
    return a_service(claim=claim, finalizers=(FINALIZER_BALANCER,))


def plan_of(service: Service, *listeners: Listener, **world: Any) -> Plan:
    snapshot = a_world([service], [a_balancer(listeners=listeners)], **{"certificates": (SHOP, BLOG)} | world)
    return judge(compute_plan(snapshot, LOCATED), snapshot, LOCATED)


def decided(service: Service, balancer: CloudBalancer | None = None, **world: Any) -> DesiredLoadBalancer:
    snapshot = a_world([service], [balancer] if balancer else [], **{"certificates": (SHOP, BLOG)} | world)
    found = compute_desired(snapshot, LOCATED).services[service.id]
    assert isinstance(found, DesiredLoadBalancer)
    return found


def listeners_of(service: Service, **world: Any) -> dict[int, Listener]:
    wanted = decided(service, **world).wanted
    assert wanted is not None
    return dict(wanted.listeners)


def changed(plan: Plan) -> dict[str, tuple[Any, Any]]:
    """The changes of listeners: port, and what else is in its key → both sides."""
    found: list[Change] = [change for change in plan.changes if change.kind is ChangeKind.LB_LISTENER]
    return {"/".join(change.key.parts[1:]): (change.before, change.after) for change in found}


def test_http_https_and_proxy_on_one_load_balancer() -> None:
    found = listeners_of(
        asking(
            health_check_retries="2",
            port_80_protocol="http",
            port_443_protocol="https",
            port_443_http_certificates="shop",
            port_443_health_check_protocol="tcp",
            port_8443_uses_proxyprotocol="true",
        )
    )
    assert {port: each.protocol for port, each in found.items()} == {80: HTTP, 443: HTTPS, 8443: TCP}
    assert {port: each.proxyprotocol is True for port, each in found.items()} == {80: False, 443: False, 8443: True}
    assert {port: each.health_check.retries for port, each in found.items()} == {80: 2, 443: 2, 8443: 2}
    assert {port: each.health_check.protocol for port, each in found.items()} == {80: HTTP, 443: TCP, 8443: TCP}
    assert found[443].certificate_ids == (5,)
    assert found[8443].http is None


def test_a_managed_certificate_at_one_port() -> None:
    options = {"protocol": "https", "http_certificates": "shop", "port_443_certificate_type": "managed"}
    service = asking(TLS, MORE, http_managed_certificate_domains="example.com", **options)
    plan = plan_of(service, certificates=(SHOP,))
    (asked,) = [change for change in plan.changes if change.kind is ChangeKind.CERTIFICATE_CREATE]
    assert changed(plan)["443"][1].http.certificates is KNOWN_AFTER_APPLY
    assert changed(plan)["8443"][1].certificate_ids == (5,)
    assert asked.after.domains == ("example.com",)  # type: ignore[union-attr]
    ours = {LABEL_SERVICE_UID: SERVICE_UID, LABEL_CLUSTER_UID: CLUSTER_UID}
    issued = a_certificate(
        9, f"ccm-managed-certificate-{SERVICE_UID}", is_managed=True, labels=ours, issuance=Issuance.COMPLETED,
        domains=("example.com",),
    )  # fmt: skip
    found = changed(plan_of(service, certificates=(SHOP, issued)))
    assert {port: after.certificate_ids for port, (_, after) in found.items()} == {"443": (9,), "8443": (5,)}


@rows("annotations redirects", {
    "of-the-service": ({"http_redirect_http": "true"}, {443: True, 8443: False}),
    "not-of-one": ({"http_redirect_http": "true", "port_443_http_redirect_http": "false"}, {443: False, 8443: True}),
})  # fmt: skip
def test_one_port_redirects(annotations: dict[str, str], redirects: dict[int, bool]) -> None:
    """The API refuses a second one: the port that asks for it itself has it."""
    found = listeners_of(asking(TLS, MORE, protocol="https", http_certificates="5", **annotations))
    assert {port: each.http is not None and each.http.redirect_http for port, each in found.items()} == redirects


def test_taken_away_again() -> None:
    """A port goes back to what the Service says, where it says something; else it keeps what it has, as with options of
    Services, and the note says where."""
    there = (a_listener(80, 30080, proxyprotocol=True), a_listener(443, 30443, proxyprotocol=True), THERE[2])
    back = changed(plan_of(asking(uses_proxyprotocol="false"), *there))
    assert {port: after.proxyprotocol for port, (_, after) in back.items()} == {"80": False, "443": False}
    kept = plan_of(asking(), *there)
    assert changed(kept) == {}
    (note,) = [note.text for note in kept.notes if note.kind is NoteKind.KEPT]
    assert "uses-proxyprotocol=true at ports 80, 443" in note


@rows("annotations there changes", {
    "wrong-value-of-a-port-to-come": ({"port_443_protocol": "htps"}, (THERE[0], THERE[2]), {"8443"}),
    "unknown-port": ({"port_9999_protocol": "http"}, THERE, {"443", "8443"}),
    "unknown-port-may-be-the-new-one": ({"port_9999_protocol": "http"}, (THERE[0], THERE[2]), {"8443"}),
    "two-redirects": ({"port_443_protocol": "https", "port_443_http_certificates": "5", "port_443_http_redirect_http":
        "true", "port_8443_protocol": "https", "port_8443_http_certificates": "5", "port_8443_http_redirect_http":
        "true"}, THERE, {"443", "8443"}),
})  # fmt: skip
def test_an_error_holds_back(annotations: dict[str, str], there: tuple[Listener, ...], changes: set[str]) -> None:
    """An error stops what it decides, and nothing else. A new port does not come while it may be meant."""
    service = asking(**{"port_443_health_check_retries": "1", "port_8443_uses_proxyprotocol": "true"} | annotations)
    plan = plan_of(service, *there)
    assert set(changed(plan)) == changes
    assert [note.kind for note in plan.notes if note.kind is NoteKind.MALFORMED] != []
    gone = compute_plan(
        a_world([service], [a_balancer(listeners=there, targets=())], certificates=(SHOP, BLOG)), LOCATED
    )
    assert [change.kind for change in gone.changes if change.kind is ChangeKind.LB_TARGET] == [ChangeKind.LB_TARGET]


def test_an_error_of_a_port_stops_creation_and_adoption() -> None:
    """Nothing is made by halves, and no load balancer of others is taken for it."""
    service = asking(port_443_protocol="htps")
    assert compute_plan(a_world([service], []), LOCATED).changes == ()
    unowned = a_balancer(listeners=THERE, service_uid=None, cluster_uid=None, spec={"name": "web"})
    named = asking(name="web", port_443_protocol="htps")
    assert compute_plan(a_world([named], [unowned]), LOCATED).changes == ()


def test_a_port_that_goes_with_its_annotation() -> None:
    """Both in one edit: it is closed. If the annotation stays, so does the port, until a person says which is meant."""
    assert set(changed(plan_of(asking(WEB, TLS, port_443_uses_proxyprotocol="true"), *THERE))) == {"443", "8443"}
    plan = plan_of(asking(WEB, TLS, port_8443_uses_proxyprotocol="true"), *THERE)
    assert set(changed(plan)) == set()
    closed = plan_of(asking(WEB, TLS, port_8443_uses_proxyprotocol="true"), *THERE[:2])
    for found, is_open in ((plan, True), (closed, False)):
        (said,) = [note.text for note in found.notes if note.kind is NoteKind.MALFORMED]
        assert said.endswith("until then the load balancer keeps listening on port 8443") is is_open
