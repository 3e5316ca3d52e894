"""A Service explained: its stage and why, what it waits for, its options, and what comes near one that is not there."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from desired.annotations.claims import ClaimedPort
from desired.annotations.options import OPTIONS, PREFIX, Options
from desired.annotations.reading import Origin
from desired.explain import why_no_service
from desired.explain.document import OptionFact, ServiceStage, Wait
from desired.model.load_balancer import Issuance
from desired.model.service import Service
from desired.model.settings import Policy, Settings
from desired.model.snapshot import Snapshot
from desired.names import FINALIZER_BALANCER, LABEL_CLUSTER_UID, LABEL_FORMER, LABEL_RELEASED, LABEL_SERVICE_UID
from desired.plan.notes import Note, NoteKind
from desired.planner import compute_plan
from desired.rules import explanations as said
from desired.rules import guards
from desired.rules import load_balancers as rules
from desired.section import Section, Unknown
from tests.balancers import (
    LOCATED,
    SERVICE_UID,
    a_balancer,
    a_certificate,
    a_claim,
    a_served_service,
    a_service,
    a_world,
    annotated,
)
from tests.builders import CLUSTER_UID, NOW, incomplete
from tests.support.judging import explain_service, judge
from tests.support.keys import key_of
from tests.support.rows import rows
from tests.support.service_explanations import RIVAL_UID, of_the_service

OBSERVE, UPSERT = (replace(LOCATED, policy=policy) for policy in (Policy.OBSERVE, Policy.UPSERT))
SHOP, BAD = a_claim(annotations=annotated(name="shop")), a_claim(annotations=annotated(protocol="udp"))
TWICE_BAD = a_claim(annotations=annotated(protocol="udp", use_private_ip="yes"))
UNSOLD = a_claim(annotations=annotated(type="lb99"))
GAP: Any = incomplete(Section({}), "429")
GOES: Mapping[str, Any] = {"deleted_at": NOW}
FORMER = {LABEL_CLUSTER_UID: CLUSTER_UID, LABEL_FORMER: "default.web", LABEL_RELEASED: "20260701T121000Z"}
LEFT_BEHIND = a_balancer(service_uid=None, spec={"name": "was-42", "labels": FORMER})
DYING, CLUSTER_IP, OTHER_CLASS = "is being deleted", "is of type ClusterIP now", "is of class 'x/y' now"
DELETES, RELEASES = "the next pass deletes it", "the next pass releases it"


def unowned(name: str = "shop", **overrides: Any) -> Any:
    return a_balancer(**{"service_uid": None, "cluster_uid": None, "spec": {"name": name}} | overrides)


def adopting(change: str) -> str:
    return rules.ADOPTING.text(balancer=42, by="name", change=change)


def going(change: str, reason: str = DYING) -> str:
    return rules.LEAVING_TOGETHER.text(going=reason, balancer=42, change=change)


def alone(change: str) -> str:
    return rules.LEAVING_ALONE.text(going=DYING, change=change)


BARE = unowned(targets=(), listeners=())
LABELLED = rules.SEVERAL_BALANCERS.text(balancers="42, 43")
WHY_BAD = "load-balancer.hetzner.cloud/protocol is 'udp': expect one of tcp, http, https; correct it, or remove it"
WHY_NO_SUCH_TYPE = rules.TYPE_MISSING.text(wanted="lb99", instead="none created", near=", such as lb11, lb21")
WHY_NOT_READ = rules.TYPE_NOT_READ.text(wanted="lb99", cause="429", instead="none created")
PROTECTED = rules.LEAVING_RETAINED.text(
    going=CLUSTER_IP, balancer=42, cause="protected against deletion", change=RELEASES
)
WHY_OTHERS = rules.BALANCER_OF_CLUSTER.says.format(balancer=42, name="shop", cluster="other")
NOT_OURS = rules.OF_ANOTHER_CONTROLLER.text(cls="x/y")
NODE_PORT = rules.WANTS_NONE.text(type="NodePort")
IN_PLACE = rules.SERVICE_SERVED.text(balancer=42, changes="no change is planned")
CHANGING = rules.SERVICE_SERVED.text(balancer=42, changes="1 change is planned: waiting (policy)")
BACK = rules.ADOPTING.text(balancer=42, by="label", change="the next pass adopts it")
PUBLISHED = rules.ADOPTING.text(balancer=42, by="address", change="the next pass adopts it")
TYPED: Mapping[str, Any] = {"type": "ClusterIP"}
CLASSED: Mapping[str, Any] = {"load_balancer_class": "x/y"}


@pytest.mark.parametrize(("service", "balancers", "settings", "stage", "why"), [
    (a_served_service(), [a_balancer()], LOCATED, "served", IN_PLACE),
    (a_served_service(), [a_balancer(targets=())], OBSERVE, "served", CHANGING),
    (a_service(), [], LOCATED, "joining", rules.SERVICE_JOINING.text(change="the next pass creates it")),
    (a_service(), [], OBSERVE, "joining", rules.SERVICE_JOINING.text(change="its creation is waiting (policy)")),
    (a_service(claim=SHOP), [BARE], LOCATED, "adopting", adopting("the next pass adopts it")),
    (a_service(claim=SHOP), [unowned(service_uid="dead")], LOCATED, "adopting", adopting("that is held (adoption)")),
    (a_service(), [LEFT_BEHIND], LOCATED, "adopting", BACK),
    (a_served_service(), [unowned()], LOCATED, "adopting", PUBLISHED),
    (a_service(claim=BAD), [], LOCATED, "malformed", rules.MALFORMED_NEW.text(problem=WHY_BAD, more="")),
    (a_served_service(claim=TWICE_BAD), [a_balancer()], LOCATED, "malformed",
        rules.MALFORMED_SERVED.text(problem="USE_PRIVATE_IP", more=" (and 1 more)", balancer=42)),
    (a_service(claim=BAD), [unowned("a1f2e3d4c5b6a7980aabbccddeeff001")], LOCATED, "malformed",
        rules.MALFORMED_ADOPTING.text(problem=WHY_BAD, more="")),
    (a_service(claim=UNSOLD), [], LOCATED, "malformed", WHY_NO_SUCH_TYPE),
    (a_served_service(), [a_balancer(), a_balancer(43)], LOCATED, "ambiguous", LABELLED),
    (a_service(claim=SHOP), [unowned(cluster_uid="other")], LOCATED, "refused", WHY_OTHERS),
    (a_served_service(**GOES), [a_balancer()], LOCATED, "leaving", going(DELETES)),
    (a_served_service(**GOES), [a_balancer()], UPSERT, "leaving", going("its deletion is waiting (policy)")),
    (a_served_service(**TYPED), [a_balancer(is_protected=True)], LOCATED, "leaving", PROTECTED),
    (a_served_service(**GOES), [], LOCATED, "leaving", alone(RELEASES)),
    (a_served_service(**GOES), [], OBSERVE, "leaving", alone("its release is waiting (policy)")),
    (a_served_service(**GOES), [a_balancer(), a_balancer(43)], LOCATED, "leaving",
        rules.LEAVING_UNDECIDED.text(going=DYING, cause=LABELLED)),
    (a_service(**GOES), [], LOCATED, "leaving", rules.NEVER_CLAIMED.text()),
    (a_served_service(**CLASSED), [a_balancer()], LOCATED, "leaving", going(DELETES, OTHER_CLASS)),
    (a_served_service(**TYPED), [a_balancer()], LOCATED, "leaving", going(DELETES, CLUSTER_IP)),
    (a_service(**CLASSED), [], LOCATED, "foreign", NOT_OURS),
    (a_served_service(load_balancer_class="x/y", **GOES), [], LOCATED, "foreign", NOT_OURS),
    (a_service(type="NodePort", **GOES), [], LOCATED, "unclaimed", NODE_PORT),
])  # fmt: skip
def test_stage(service: Service, balancers: list[Any], settings: Settings, stage: str, why: str) -> None:
    """One word, and one sentence that says why and what comes next."""
    found = of_the_service(a_world([service], balancers), settings)
    assert (found.stage, found.why.replace(WHY_PRIVATE, "USE_PRIVATE_IP")) == (stage, why)


WHY_PRIVATE = (
    "load-balancer.hetzner.cloud/use-private-ip is 'yes': expect one of 1, t, T, TRUE, true, True, 0, f, F, FALSE,"
    " false, False; correct it, or remove it"
)


@pytest.mark.parametrize(("services", "overrides", "stage", "why"), [
    ([a_service(claim=UNSOLD)], {"balancer_types": Unknown("429")}, ServiceStage.WAITING, WHY_NOT_READ),
    ([a_service()], {"load_balancers": GAP}, ServiceStage.WAITING, rules.BALANCER_UNKNOWN.text(cause="429")),
    ([a_service(claim=SHOP), a_service("api", uid=RIVAL_UID, claim=SHOP)], {}, ServiceStage.CONTESTED,
        rules.NAME_CONTESTED.text(name="shop", services="Service default/api")),
])  # fmt: skip
def test_stage_in_doubt(services: list[Service], overrides: Any, stage: ServiceStage, why: str) -> None:
    """What could not be read, or is asked for twice, keeps it from a load balancer."""
    found = of_the_service(a_world(services, **overrides))
    assert (found.stage, found.why) == (stage, why)


MANAGED = annotated(protocol="https", certificate_type="managed", http_managed_certificate_domains="shop.example.com")
SECURE = a_claim(ClaimedPort(443, "TCP", 30443), annotations=MANAGED)
NAME = f"ccm-managed-certificate-{SERVICE_UID}"
PENDING = a_certificate(7, NAME, is_managed=True, labels={LABEL_SERVICE_UID: SERVICE_UID}, issuance=Issuance.PENDING)
ADDRESSES = Wait("status", said.WAITS_FOR_ADDRESSES.text())
ISSUING = rules.CERTIFICATE_BEING_ISSUED.text(certificate=7, name=NAME, since="2026-07-01 12:00 UTC")
STRANGE = guards.ADOPTION_IN_DOUBT.text(balancer="load balancer 42 shop", doubt="labeled with unknown Service UID dead")
OBSERVED = Wait("policy", guards.EXCLUDED_BY_POLICY.text(policy="observe"))
UNREAD = Wait("incomplete-snapshot", guards.CLUSTER_UNREAD.text(error="403"))
TO_CREATE = Wait("certificate", rules.CERTIFICATE_TO_CREATE.text(name=NAME))
PORTS = [Wait(f"port {port}", said.NODE_PORT.text()) for port in (80, 81)]
XY = (FINALIZER_BALANCER, "x", "y")


@pytest.mark.parametrize(("snapshot", "settings", "expected"), [
    (a_world([a_served_service()], [a_balancer(targets=())]), LOCATED, []),
    (a_world([a_service()]), LOCATED, [ADDRESSES]),
    (a_world([a_service()]), OBSERVE, [OBSERVED, ADDRESSES]),
    (a_world([a_service()], cluster_uid=Unknown("403")), LOCATED, [UNREAD, ADDRESSES]),
    (a_world([a_service(claim=SHOP)], [unowned(service_uid="dead")]), LOCATED,
        [Wait("adoption", f"needs approval: {STRANGE}")]),
    (a_world([a_service(claim=SHOP)], [unowned(cluster_uid="other")]), LOCATED, []),
    (a_world([a_served_service(claim=SECURE)], [a_balancer(listeners=())], certificates=[PENDING]), LOCATED,
        [Wait("certificate-issuance", ISSUING, 10.0)]),
    (a_world([a_service(claim=SECURE)], certificates=[]), LOCATED, [TO_CREATE, ADDRESSES]),
    (a_world([a_service(claim=a_claim(ClaimedPort(80), ClaimedPort(81)))]), LOCATED, [*PORTS, ADDRESSES]),
    (a_world([a_served_service(**GOES, finalizers=XY)], [a_balancer()]), LOCATED,
        [Wait("finalizers", said.FINALIZERS.text(finalizers="x, y"))]),
    (a_world([a_served_service(**GOES)], [a_balancer()]), LOCATED, []),
    (a_world([a_served_service(type="ClusterIP", finalizers=XY)], [a_balancer()]), LOCATED, []),
    (a_world([a_service(type="ClusterIP")]), LOCATED, []),
])  # fmt: skip
def test_pending(snapshot: Snapshot, settings: Settings, expected: list[Wait]) -> None:
    """Each thing that is waited for is told once, with when another look is worth it; what is refused is not."""
    assert list(of_the_service(snapshot, settings).pending) == expected


def test_notes() -> None:
    """Those on the Service and its parts, and those that explain every verdict; not those on others."""
    service = a_service()
    snapshot = a_world([service])
    keys = ("certificate/default/web", "load_balancer/default/web/listener/80", "plan", "service/default/web")
    notes = [Note(key_of(key), NoteKind.APPROVAL if key == "plan" else NoteKind.KEPT, "x") for key in keys]
    other = Note(key_of("load_balancer/default/web-2"), NoteKind.KEPT, "x")
    plan = replace(judge(compute_plan(snapshot, LOCATED), snapshot, LOCATED), notes=(*notes, other))
    assert [note.key for note in explain_service(service, snapshot, LOCATED, plan).notes] == list(keys)


BROKEN: Section[str, Service] = Section({}, unreadable={"default/web": "it has no ports"})
TWO = Section({service.id: service for service in (a_service(), a_service("api", namespace="shop"))})
LACKS, LACKING = (
    "the cluster has no Service {!r}{}".format,
    "Service {!r} is not among the {} that were read: {}".format,
)
UNEXPLAINED = "Service 'default/web' cannot be explained: {}".format
NEAR = "; nearest: default/web"
GIVEN_BACK = "; load balancer 42 was-42 is returned to it when it is created again"


@pytest.mark.parametrize(("services", "balancers", "name", "why"), [
    (Section(), [], "default/web", LACKS("default/web", "")),
    (TWO, [], "default/wep", LACKS("default/wep", NEAR)),
    (TWO, [], "default/api", LACKS("default/api", "; nearest: shop/api")),
    (incomplete(TWO, "429"), [], "default/wep", LACKING("default/wep", 2, "429") + NEAR),
    (Section.missing("403"), [], "default/web", LACKING("default/web", 0, "403")),
    (BROKEN, [], "default/web", UNEXPLAINED("it has no ports")),
    (None, [], "default/web", UNEXPLAINED("the Services were not read")),
    (Section(), [LEFT_BEHIND], "default/web", LACKS("default/web", GIVEN_BACK)),
])  # fmt: skip
def test_no_service(services: Section[str, Service] | None, balancers: list[Any], name: str, why: str) -> None:
    """A name that no Service has is answered with what comes near, or why it cannot be told."""
    assert why_no_service(name, replace(a_world((), balancers), services=services), LOCATED) == why


# Options.


def option(name: str, snapshot: Snapshot, settings: Settings = LOCATED) -> OptionFact:
    return next(fact for fact in of_the_service(snapshot, settings).options if fact.key == f"{PREFIX}{name}")


def asking(*balancers: Any, **asked: str) -> Snapshot:
    return a_world([a_served_service(claim=a_claim(annotations=annotated(**asked)))], balancers)


BY_TYPE = Settings(balancer_defaults=Options(type="lb31"))
OF_TYPE = "HCLOUD_LOAD_BALANCERS_TYPE"


@rows("asked settings name origin value variable", {
    "annotation": ({"type": "lb21"}, BY_TYPE, "type", Origin.ANNOTATION, "lb21", None),
    "environment": ({}, BY_TYPE, "type", Origin.ENVIRONMENT, "lb31", OF_TYPE),
    "unset": ({}, LOCATED, "protocol", Origin.UNSET, None, None),
    "not-understood": ({"use_private_ip": "yes"}, LOCATED, "use-private-ip", Origin.ANNOTATION, None, None),
    "overruled": ({"network_zone": "eu-central", "location": "nbg1"}, LOCATED, "network-zone", Origin.ANNOTATION, None,
        None),
})  # fmt: skip
def test_the_value_of_an_option(
    asked: Mapping[str, str], settings: Settings, name: str, origin: Origin, value: str | None, variable: str | None
) -> None:
    """It comes from an annotation, from a variable, or is not set."""
    fact = option(name, asking(**asked), settings)
    assert (fact.origin, fact.value, fact.variable) == (origin, value, variable)


def test_every_option_has_a_row() -> None:
    """All that may be asked for is listed in the order of the table, with its default."""
    facts = of_the_service(a_world([a_service()])).options
    assert [(fact.key, fact.otherwise) for fact in facts] == [
        (row.full_key, row.when_unset.replace("`", "")) for row in OPTIONS.values()
    ]


def test_options_in_use() -> None:
    """It is told of the Service's own load balancer only."""
    assert option("location", asking(a_balancer())).in_use == "fsn1"
    assert option("name", asking(unowned(cluster_uid="another"), name="shop")).in_use is None


def test_problems_and_remarks() -> None:
    """What is wrong or odd stands with the option, whatever set it; the rest by itself, and nothing twice."""
    odd = {f"{PREFIX}nmae": "x", f"{PREFIX}id": "7", "example.com/a": "b"}
    asked = annotated(health_check_interval="9", http_cookie_name="C")
    settings = replace(LOCATED, balancer_defaults=Options(location="fsn1", health_check_retries=9))
    claim = a_claim(annotations=asked | odd, session_affinity="ClientIP")
    found = of_the_service(a_world([a_service(claim=claim)]), settings)
    wrong = {fact.key.removeprefix(PREFIX): fact.problems for fact in found.options if fact.problems}
    remarks = {fact.key.removeprefix(PREFIX): fact.remark for fact in found.options if fact.remark}
    told = [*(text for texts in wrong.values() for text in texts), *remarks.values(), *(r.text for r in found.remarks)]

    assert (set(wrong), set(remarks)) == ({"health-check-interval", "health-check-retries"}, {"http-cookie-name"})
    assert [remark.key for remark in found.remarks] == [f"{PREFIX}id", f"{PREFIX}nmae", "spec.sessionAffinity"]
    assert sorted(told) == sorted(note.text for note in found.notes)


@rows("asked origin value is_wrong", {
    "unset": ({}, Origin.UNSET, None, False),
    "retain": ({"deletion_policy": "retain"}, Origin.ANNOTATION, "retain", False),
    "not-understood": ({"deletion_policy": "keep"}, Origin.ANNOTATION, "retain", True),
})  # fmt: skip
def test_options_of_a_service_that_goes(
    asked: Mapping[str, str], origin: Origin, value: str | None, is_wrong: bool
) -> None:
    """Only its deletion policy counts, and what cannot be understood retains."""
    claim = a_claim(annotations=annotated(use_private_ip="maybe", **asked))
    (fact,) = of_the_service(a_world([a_served_service(claim=claim, **GOES)], [a_balancer()])).options
    row = OPTIONS["deletion_policy"]
    assert (fact.key, fact.origin, fact.value, fact.variable) == (row.full_key, origin, value, None)
    assert bool(fact.problems) is is_wrong


@pytest.mark.parametrize("other", [CLASSED, TYPED])
def test_a_service_that_is_not_looked_after(other: Mapping[str, Any]) -> None:
    """Where nothing is read nothing is told: no option, port, target or condition, and not what is odd."""
    claim = a_claim(annotations=annotated(protocol="udp"), session_affinity="ClientIP")
    found = of_the_service(a_world([a_service(claim=claim, **other)]))
    assert (found.options, found.remarks, found.listeners, found.targets, found.conditions) == ((), (), (), (), ())
    assert (found.load_balancer.found, found.load_balancer.why) == (None, found.why)


def test_options_of_ports() -> None:
    """Behind those of the Service: what the port has now, and what it would have without its own annotation."""
    own = {"health_check_retries": "2", "port_80_health_check_retries": "5", "port_80_protocol": "gopher"}
    service = a_served_service(claim=a_claim(annotations=annotated(**own)))
    world = a_world([service], [a_balancer()])
    found = explain_service(service, world, LOCATED, judge(compute_plan(world, LOCATED), world, LOCATED))
    facts = {fact.key: fact for fact in found.options if fact.key.startswith("port-")}
    retries, protocol = (
        facts["port-80.hcloud-reconciler/health-check-retries"],
        facts["port-80.hcloud-reconciler/protocol"],
    )
    assert (retries.origin, retries.value, retries.otherwise, retries.in_use) == (Origin.ANNOTATION, "5", "2", "3")
    assert (protocol.value, protocol.otherwise, len(protocol.problems)) == (None, "tcp at creation", 1)
    assert (found.stage, found.why) == (
        ServiceStage.MALFORMED,
        rules.MALFORMED_SERVED.text(problem=protocol.problems[0], more="", balancer=42),
    )
