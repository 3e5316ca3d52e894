"""The rules between a plan and the load balancers, through whole plans."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from desired.annotations.choices import Protocol
from desired.guards.guard import GuardResult
from desired.guards.load_balancers import certificate_issuance, foreign_owner, ip_loss
from desired.guards.project import project_anchor
from desired.model.load_balancer import KNOWN_AFTER_APPLY, CloudBalancer, HttpOptions, Issuance
from desired.model.service import Ingress, Service
from desired.model.serving import Serving
from desired.model.snapshot import Snapshot
from desired.names import (
    FINALIZER_BALANCER,
    LABEL_CLASS,
    LABEL_CLUSTER_UID,
    LABEL_OWN_CLASS_UID,
    LABEL_SERVICE_UID,
)
from desired.plan.change import Change, GuardDecision, GuardName, Plan, Verdict
from desired.plan.kinds import KINDS, Verb
from desired.plan.notes import NoteKind
from desired.rules import load_balancers as rules
from desired.rules.guards import WANTED_ADDRESSES_LOST
from tests.balancers import (
    LOCATED,
    SERVICE_UID,
    a_balancer,
    a_certificate,
    a_claim,
    a_served_service,
    a_service,
    a_world,
    an_http_listener,
    annotated,
)
from tests.builders import CLUSTER_UID, NOW, a_change, a_lost_node, a_settled_node
from tests.support.balancer_verdicts import by_hand, facts, judged, verdicts
from tests.support.judging import judge
from tests.support.rows import rows

ELSEWHERE = "99999999-8888-7777-6666-555555555555"
DEAD = "dddddddd-0000-0000-0000-000000000000"
LB, SERVICE = "load_balancer/default/web", "service/default/web"
CLAIM, STATUS = f"{SERVICE}/finalizer", f"{SERVICE}/status"
REFUSED = (Verdict.REFUSED, "foreign-owner")
SHARED = a_service(claim=a_claim(annotations=annotated(name="shared")))
OTHER = a_service("shop", uid="uid-shop", claim=a_claim(annotations=annotated(name="shared")))
NOBODYS = a_balancer(service_uid=None, cluster_uid=None, spec={"name": "shared"})


def owned_by(service_uid: str | None, cluster_uid: str | None = None, **overrides: Any) -> CloudBalancer:
    spec = {"name": "shared", **overrides.pop("spec", {})}
    return a_balancer(service_uid=service_uid, cluster_uid=cluster_uid, spec=spec, **overrides)


THEIRS = rules.BALANCER_OF_CLUSTER.because(balancer=42, name="shared", cluster=ELSEWHERE).says
TO_SHOP = rules.BALANCER_OF_SERVICE.because(balancer=42, name="shared", service="default/shop").says
ASKED_TWICE = rules.NAME_CONTESTED.text(name="shared", services="Service default/shop")
SHOP_INSIDE = a_service("shop", uid="uid-shop", type="ClusterIP", finalizers=(FINALIZER_BALANCER,))


@rows("services balancers why", {
    "another cluster's": ([SHARED], [owned_by(DEAD, ELSEWHERE)], THEIRS),
    "another cluster's with our Service's": ([SHARED], [owned_by(SERVICE_UID, ELSEWHERE)], THEIRS),
    "a Service's that lives": ([SHARED, SHOP_INSIDE], [owned_by("uid-shop", CLUSTER_UID)], TO_SHOP),
    "what several ask for": ([SHARED, OTHER], [NOBODYS], ASKED_TWICE),
})  # fmt: skip
def test_foreign_owner(services: list[Service], balancers: list[CloudBalancer], why: str) -> None:
    """Not even the finalizer is written for what is another's, and the owner is printed."""
    found = judged(a_world(services, balancers))
    mine = {change.key: change.decision for change in found.changes if change.owner == SERVICE}
    assert mine == dict.fromkeys((CLAIM, LB), GuardDecision(Verdict.REFUSED, GuardName.FOREIGN_OWNER, why))
    assert found.holds == ()
    assert [note.text for note in found.notes if note.text.startswith(why)]


@rows("balancers keys", {"none there": ([], {CLAIM, LB, STATUS}), "nobody's": ([NOBODYS], {CLAIM, LB})})
def test_two_services_that_ask_for_one_name(balancers: list[CloudBalancer], keys: set[str]) -> None:
    """D8: both are refused where neither has it: none is created, nor taken over; and both are told."""
    found = judged(a_world([SHARED, OTHER], balancers))
    assert {change.key for change in found.changes if change.owner == SERVICE} == keys
    assert {change.kind for change in found.changes if change.owner == OTHER.key} >= {"service.claim"}
    assert {*verdicts(found).values()} == {REFUSED}
    assert {note.key for note in found.notes if note.kind is NoteKind.AMBIGUOUS} == {SERVICE, OTHER.key}


@pytest.mark.parametrize("cluster", [None, CLUSTER_UID])
def test_the_owner_keeps_what_it_has(cluster: str | None) -> None:
    """Whoever asks for the name of what another Service has is refused alone: that one is kept in sync as ever."""
    has_it = owned_by(SERVICE_UID, cluster, targets=())
    alone, both = judged(a_world([SHARED], [has_it])), judged(a_world([SHARED, OTHER], [has_it]))
    assert both.allowed == alone.allowed != ()
    refused = both.with_verdict(Verdict.REFUSED)
    assert {change.owner for change in refused} == {OTHER.key}
    assert {change.decision.why for change in refused} == {"load balancer 42 'shared' belongs to Service default/web"}
    assert {note.key for note in both.notes if note.kind in (NoteKind.AMBIGUOUS, NoteKind.FOREIGN)} == {OTHER.key}


@pytest.mark.parametrize(
    "change",
    [by_hand(f"{LB}/x", name) for name, kind in KINDS.items() if name.startswith(("lb.", "service.", "certificate."))],
    ids=lambda change: change.kind,
)
def test_nothing_at_all_is_done_to_what_is_foreign(change: Change) -> None:
    """Whatever a rule might plan on it, the guard refuses."""
    snapshot = a_world([SHARED], [owned_by(DEAD, ELSEWHERE)])
    (finding,) = foreign_owner(facts([change], snapshot))
    assert (finding.verdict, finding.keys) == (Verdict.REFUSED, (change.key,))


def test_what_is_foreign_is_never_approvable() -> None:
    """There is no hold, so no hash lets it pass; and no other rule's verdict hides it."""
    snapshot = a_world([SHARED], [owned_by(DEAD, ELSEWHERE)], nodes=[a_settled_node("gone", 9)], servers=[])
    found = judged(snapshot, approved={hold.hash for hold in judged(snapshot).holds})
    assert {change.decision.verdict for change in found.changes if change.owner == SERVICE} == {Verdict.REFUSED}
    assert {hold.rule for hold in found.holds} == {"project-anchor"}


@rows("snapshot", {
    "adoptable": a_world([SHARED], [NOBODYS]),
    "its own": a_world([a_service()], [a_balancer()]),
    "none": a_world([a_service()]),
    "no such Service": a_world(),
})  # fmt: skip
def test_what_is_not_foreign(snapshot: Snapshot) -> None:
    """The rule has no word on a Service's own."""
    assert list(foreign_owner(facts([by_hand(LB, "lb.adopt")], snapshot))) == []


LEAVING = a_served_service(deleted_at=NOW)
DELETE = by_hand(LB, "lb.delete", before=a_balancer().spec)


@rows("service is_held", {
    "wants it": (a_service(), True),
    "wants it and is served": (a_served_service(), True),
    "is being deleted": (LEAVING, False),
    "is of another type": (a_service(type="ClusterIP", finalizers=(FINALIZER_BALANCER,)), False),
    "is of another class": (a_service(load_balancer_class="other", finalizers=(FINALIZER_BALANCER,)), False),
    "is another one": (a_service("shop"), False),
})  # fmt: skip
def test_ip_loss(service: Service, is_held: bool) -> None:
    """No deletion of what a Service still wants, whoever plans it, without approval; and nothing but a deletion."""
    others = [by_hand(f"{LB}/x", name) for name in KINDS if name.startswith("lb.") and name != "lb.delete"]
    finding = GuardResult.of(WANTED_ADDRESSES_LOST, (LB,), {"service": "default/web"}, value=1, limit=0)
    for change in (DELETE, *others):
        found = list(ip_loss(facts([change], a_world([service], [a_balancer()]))))
        assert found == ([finding] if is_held and change is DELETE else [])


@rows("service serving labels", {
    "of another type": ({"type": "ClusterIP"}, Serving(), {LABEL_SERVICE_UID: SERVICE_UID}),
    "deleted": ({"deleted_at": NOW}, Serving(), {LABEL_SERVICE_UID: SERVICE_UID}),
    "of another class": ({"load_balancer_class": "other"}, Serving(), {LABEL_SERVICE_UID: SERVICE_UID}),
    "that left a class": ({}, Serving("x"), {LABEL_OWN_CLASS_UID: SERVICE_UID, LABEL_CLASS: "x"}),
    "that left a class, with the finalizer of another": (
        {"finalizers": (FINALIZER_BALANCER, Serving("y").finalizer)}, Serving("x"),
        {LABEL_OWN_CLASS_UID: SERVICE_UID, LABEL_CLASS: "x"}),
})  # fmt: skip
@pytest.mark.parametrize("policy", ["delete", "retain"])
def test_an_end_without_the_finalizer_is_held(
    service: dict[str, Any], serving: Serving, labels: dict[str, str], policy: str
) -> None:
    """The label alone ends nothing; with the finalizer the deletion policy decides."""
    labels = labels | {LABEL_CLUSTER_UID: CLUSTER_UID}
    there, claim = a_balancer(spec={"labels": labels}), a_claim(annotations=annotated(deletion_policy=policy))
    found = a_service(claim=claim, **service)
    plan = judged(a_world([found], [there], serving=serving))
    assert [(hold.rule, hold.keys) for hold in plan.holds] == [("ip-loss", (plan.changes[0].key,))]
    assert plan.changes[0].kind == ("lb.delete" if policy == "delete" else "lb.retain")
    claimed = replace(found, finalizers=(serving.finalizer,))
    assert judged(a_world([claimed], [there], serving=serving)).holds == ()


def test_ip_loss_can_be_approved() -> None:
    """A person may want other addresses."""
    snapshot, plan = a_world([a_service()], [a_balancer()]), Plan((DELETE,))
    (hold,) = judge(plan, snapshot, LOCATED).holds
    assert judge(plan, snapshot, LOCATED).allowed == ()
    assert judge(plan, snapshot, LOCATED, {hold.hash}).allowed == (DELETE,)


HTTPS = annotated(protocol="https", certificate_type="managed", http_managed_certificate_domains="shop.example.com")
SECURE = a_service(claim=a_claim(annotations=HTTPS))
LISTENER, CERTIFICATE = f"{LB}/listener/80", "certificate/default/web"


def managed(issuance: Issuance, **overrides: Any) -> Any:
    """The Service's managed certificate, asked for four minutes ago."""
    return a_certificate(
        name=f"ccm-managed-certificate-{SERVICE_UID}",
        is_managed=True,
        issuance=issuance,
        labels={LABEL_SERVICE_UID: SERVICE_UID},
        created_at=NOW - timedelta(minutes=4),
        **overrides,
    )


@rows("certificates expected", {
    "on its way": ([managed(Issuance.PENDING)], 60.0),
    "in another state": ([managed(Issuance.OTHER)], 60.0),
    "failed": ([managed(Issuance.FAILED, error="dns_zone_not_found: no")], None),
})  # fmt: skip
def test_certificate_issuance(certificates: list[Any], expected: float | None) -> None:
    """The https port alone waits: the load balancer is created, with its finalizer, and published."""
    found = judged(a_world([SECURE], certificates=certificates))
    decision = found.by_key[LISTENER].decision
    assert (decision.verdict, decision.rule, decision.due_in_s) == (Verdict.WAITING, "certificate-issuance", expected)
    assert {change.kind for change in found.allowed} == {"service.claim", "lb.create", "service.status"}


@rows("certificates", {"to be created": [], "issued": [managed(Issuance.COMPLETED)]})
def test_certificates_that_are_not_waited_for(certificates: list[Any]) -> None:
    """One that is still to be created is known in the next round."""
    found = judged(a_world([SECURE], certificates=certificates))
    assert {*verdicts(found).values()} == {(Verdict.ALLOWED, None)}
    assert (CERTIFICATE in found.by_key, LISTENER in found.by_key) == (not certificates, not certificates)


def test_port_that_becomes_https() -> None:
    """A port of a load balancer that is there waits in the same way, and its targets do not."""
    snapshot = a_world([SECURE], [a_balancer(targets=())], certificates=[managed(Issuance.PENDING)])
    assert verdicts(judged(snapshot)) | {STATUS: None} == {
        CLAIM: (Verdict.ALLOWED, None),
        LISTENER: (Verdict.WAITING, "certificate-issuance"),
        f"{LB}/target/server:1": (Verdict.ALLOWED, None),
        STATUS: None,
    }


def test_other_ports_do_not_wait() -> None:
    """Only a listener whose certificate is not known is withheld."""
    snapshot = a_world([SECURE], [a_balancer()], certificates=[managed(Issuance.PENDING)])
    http = HttpOptions(certificates=KNOWN_AFTER_APPLY)
    waits = by_hand(
        f"{LB}/listener/443", "lb.listener", after=an_http_listener(443, protocol=Protocol.HTTPS, http=http)
    )
    known = by_hand(f"{LB}/listener/81", "lb.listener", after=an_http_listener(81))
    gone = by_hand(f"{LB}/listener/82", "lb.listener", verb=Verb.REMOVE, before=an_http_listener(82), after=None)

    (finding,) = certificate_issuance(facts([waits, known, gone], snapshot))
    assert finding.keys == (waits.key,)
    assert list(certificate_issuance(facts([waits], a_world([a_service()], [a_balancer()])))) == []


ASTRAY = a_settled_node("gone", 9)
"""A Ready Node whose server is in no project that the token sees."""


@pytest.mark.parametrize("kind", [name for name in KINDS if not name.startswith("node.")])
def test_everything_of_a_service_or_a_route_derives_from_the_cloud(kind: str) -> None:
    """With a token of another project neither finalizer nor status is written, nor anything sent to Hetzner."""
    snapshot = a_world([a_service()], [a_balancer()], nodes=[ASTRAY], servers=[])
    before, after = (None, "a") if Verb.ADD in KINDS[kind].verbs else ("a", None)
    after = "b" if Verb.MODIFY in KINDS[kind].verbs else after
    change = a_change("service/default/web", kind, before=before, after=after)
    (finding,) = project_anchor(facts([change], snapshot))
    assert (finding.verdict, finding.keys) == (Verdict.HELD, ("service/default/web",))


DOWN = a_lost_node("web-1", 1)
NO_NODES: dict[str, Any] = {"nodes": [DOWN], "servers": []}


@rows(
    "balancers expected",
    {"a witness": ([a_balancer()], (Verdict.ALLOWED, None)), "none": ([], (Verdict.HELD, "project-anchor"))},
)
def test_deletion_while_no_node_is_ready(balancers: list[CloudBalancer], expected: tuple[Verdict, str | None]) -> None:
    """Without a witness nothing is deleted or released: the project may be another."""
    found = judged(a_world([LEAVING], balancers, **NO_NODES))
    assert {(c.decision.verdict, c.decision.rule) for c in found.changes if c.owner == SERVICE} == {expected}


def test_creation_while_no_node_is_ready() -> None:
    """A cluster that is being born gets its load balancer without a witness, one whose Nodes were not found gets
    nothing, and nothing is published for it."""
    found = judged(a_world([a_service()], nodes=[], servers=[]))
    unfound = judged(a_world([a_service()], **NO_NODES))
    assert {change.kind for change in found.allowed} >= {"service.claim", "lb.create", "service.status"}
    assert unfound.allowed == ()
    assert "project-anchor" in {hold.rule for hold in unfound.holds}


def test_a_load_balancer_of_the_round_before_is_no_witness() -> None:
    """What was made in a project that no witness spoke for does not speak for it: not before it is published, and it is
    not published."""
    made = judged(a_world([a_served_service(ingress=(Ingress("198.51.100.7"),))], [a_balancer()], **NO_NODES))
    assert made.allowed == ()
    assert "service/default/web/status" in made.by_key
