"""Guards on load balancers, their owners and their addresses, through whole plans."""

from dataclasses import replace
from datetime import timedelta
from ipaddress import IPv4Address
from typing import Any

import pytest

from desired.annotations.choices import Protocol
from desired.annotations.options import Options
from desired.guards.guard import GuardResult
from desired.guards.load_balancers import adoption, certificate_issuance, foreign_owner, ip_loss
from desired.guards.project import project_anchor
from desired.model.load_balancer import (
    KNOWN_AFTER_APPLY,
    Attachment,
    CloudBalancer,
    HttpOptions,
    IpTarget,
    Issuance,
    PrimaryIp,
    SelectorTarget,
    ServerTarget,
)
from desired.model.service import Ingress, Service
from desired.model.serving import Serving
from desired.model.settings import Settings
from desired.model.snapshot import Snapshot
from desired.names import (
    FINALIZER_BALANCER,
    LABEL_CLASS,
    LABEL_CLUSTER_UID,
    LABEL_DELETE_AFTER,
    LABEL_FORMER,
    LABEL_OWN_CLASS_UID,
    LABEL_RELEASED,
    LABEL_SERVICE_UID,
)
from desired.plan.change import Change, GuardDecision, GuardName, Verdict
from desired.plan.kinds import KINDS, Verb
from desired.plan.notes import NoteKind
from desired.planner import compute_plan
from desired.rules import guards as rows
from desired.rules import load_balancers as rules
from desired.rules.rule import Rule
from desired.section import Absent, Present, Section, Unknown
from desired.syntax.selector import parse_selector
from tests.balancers import (
    DEFAULT_NAME,
    IN_NETWORK,
    LOCATED,
    NETWORK,
    SERVICE_UID,
    a_balancer,
    a_certificate,
    a_claim,
    a_listener,
    a_primary_ip,
    a_primary_ipv6,
    a_served_service,
    a_service,
    a_world,
    an_http_listener,
    annotated,
)
from tests.builders import (
    CLUSTER_UID,
    NOW,
    a_change,
    a_joining_node,
    a_server,
    a_settled_node,
    incomplete,
    nodes_of,
    servers_of,
)
from tests.support.balancer_plans import HERE, asking, fleet, new, private
from tests.support.balancer_verdicts import by_hand, facts, judged, verdicts
from tests.support.rows import rows as cases

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


@cases("services balancers why", {
    "another cluster's": ([SHARED], [owned_by(DEAD, ELSEWHERE)], THEIRS),
    "another cluster's with our Service's": ([SHARED], [owned_by(SERVICE_UID, ELSEWHERE)], THEIRS),
    "a Service's that lives": ([SHARED, SHOP_INSIDE], [owned_by("uid-shop", CLUSTER_UID)], TO_SHOP),
    "what several ask for": ([SHARED, OTHER], [NOBODYS], ASKED_TWICE),
})  # fmt: skip
def test_foreign_owner(services: list[Service], balancers: list[CloudBalancer], why: str) -> None:
    found = judged(a_world(services, balancers))
    mine = {change.key: change.decision for change in found.changes if change.owner == SERVICE}
    assert mine == dict.fromkeys((CLAIM, LB), GuardDecision(Verdict.REFUSED, GuardName.FOREIGN_OWNER, why))
    assert found.holds == ()
    assert [note.text for note in found.notes if note.text.startswith(why)]


@cases("balancers keys", {"none there": ([], {CLAIM, LB, STATUS}), "nobody's": ([NOBODYS], {CLAIM, LB})})
def test_two_services_that_ask_for_one_name(balancers: list[CloudBalancer], keys: set[str]) -> None:
    """D8: both are refused where neither has it: none is created, nor taken over; and both are told."""
    found = judged(a_world([SHARED, OTHER], balancers))
    assert {change.key for change in found.changes if change.owner == SERVICE} == keys
    assert {change.kind for change in found.changes if change.owner == OTHER.key} >= {"service.claim"}
    assert {*verdicts(found).values()} == {REFUSED}
    assert {note.key for note in found.notes if note.kind is NoteKind.AMBIGUOUS} == {SERVICE, OTHER.key}


@pytest.mark.parametrize("cluster", [None, CLUSTER_UID])
def test_the_owner_keeps_its_load_balancer(cluster: str | None) -> None:
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
def test_nothing_at_all_is_done_to_a_foreign_load_balancer(change: Change) -> None:
    snapshot = a_world([SHARED], [owned_by(DEAD, ELSEWHERE)])
    (finding,) = foreign_owner(facts([change], snapshot))
    assert (finding.verdict, finding.keys) == (Verdict.REFUSED, (change.key,))


LEAVING = a_served_service(deleted_at=NOW)
DELETE = by_hand(LB, "lb.delete", before=a_balancer().spec)


@cases("service is_held", {
    "wants it": (a_service(), True),
    "is being deleted": (LEAVING, False),
    "is of another type": (a_service(type="ClusterIP", finalizers=(FINALIZER_BALANCER,)), False),
    "is another one": (a_service("shop"), False),
})  # fmt: skip
def test_ip_loss(service: Service, is_held: bool) -> None:
    others = [by_hand(f"{LB}/x", name) for name in KINDS if name.startswith("lb.") and name != "lb.delete"]
    finding = GuardResult.of(rows.WANTED_ADDRESSES_LOST, (LB,), {"service": "default/web"}, value=1, limit=0)
    for change in (DELETE, *others):
        found = list(ip_loss(facts([change], a_world([service], [a_balancer()]))))
        assert found == ([finding] if is_held and change is DELETE else [])


@cases("service serving labels", {
    "of another type": ({"type": "ClusterIP"}, Serving(), {LABEL_SERVICE_UID: SERVICE_UID}),
    "deleted": ({"deleted_at": NOW}, Serving(), {LABEL_SERVICE_UID: SERVICE_UID}),
    "that left a class": ({}, Serving("x"), {LABEL_OWN_CLASS_UID: SERVICE_UID, LABEL_CLASS: "x"}),
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


@cases("certificates expected", {
    "on its way": ([managed(Issuance.PENDING)], 60.0),
    "failed": ([managed(Issuance.FAILED, error="dns_zone_not_found: no")], None),
})  # fmt: skip
def test_certificate_issuance(certificates: list[Any], expected: float | None) -> None:
    found = judged(a_world([SECURE], certificates=certificates))
    decision = found.by_key[LISTENER].decision
    assert (decision.verdict, decision.rule, decision.due_in_s) == (Verdict.WAITING, "certificate-issuance", expected)
    assert {change.kind for change in found.allowed} == {"service.claim", "lb.create", "service.status"}


@cases("certificates", {"to be created": [], "issued": [managed(Issuance.COMPLETED)]})
def test_certificates_that_are_not_waited_for(certificates: list[Any]) -> None:
    found = judged(a_world([SECURE], certificates=certificates))
    assert {*verdicts(found).values()} == {(Verdict.ALLOWED, None)}
    assert (CERTIFICATE in found.by_key, LISTENER in found.by_key) == (not certificates, not certificates)


def test_other_ports_do_not_wait() -> None:
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


LB_42, LB_SHARED = f"load balancer 42 {DEFAULT_NAME}", "load balancer 42 shared"

SHOP = a_listener(8080, 31000)
OURS, STRAY = ServerTarget(1, use_private_ip=False), ServerTarget(7, use_private_ip=False)
SELECTOR, ADDRESS = SelectorTarget("a=b", False), IpTarget("198.51.100.7")
PLACE = Attachment(6, IPv4Address("10.6.0.9"))
TWO_SERVERS = (a_server(), a_server(7, "stray"))
PARTS: dict[str, Any] = {"listeners": (a_listener(), SHOP), "targets": (OURS, STRAY)}


def before_adoption(parts: dict[str, Any], service_uid: str | None = None) -> Snapshot:
    """A Service with a load balancer of its default name that has these parts as well."""
    balancer = a_balancer(service_uid=service_uid, cluster_uid=None, **parts)
    return a_world([a_service()], [balancer], servers=TWO_SERVERS)


def test_adoption_that_takes_something_away() -> None:
    found, words = judged(before_adoption(PARTS)), "listener 8080, target server:7"
    removals = {f"{LB}/listener/8080", f"{LB}/target/server:7"}

    (hold,) = found.holds
    assert (hold.rule, hold.value, hold.limit) == (GuardName.ADOPTION, "2", "0")
    assert (hold.keys, hold.said) == ((LB, *sorted(removals)), rows.ADOPTION_REMOVES.text(balancer=LB_42, parts=words))
    assert {change.verb for change in found.changes if change.key in removals} == {Verb.REMOVE}
    assert len(found.by_key[LB].consequences) == len(removals)
    assert verdicts(found)[CLAIM] == (Verdict.WAITING, "adoption")
    assert found.allowed == ()

    approved = judged(before_adoption(PARTS), approved={hold.hash})
    assert {LB, f"{LB}/listener/8080"} <= {change.key for change in approved.allowed}

    more = {**PARTS, "listeners": (*PARTS["listeners"], a_listener(9090, 31001))}
    assert judged(before_adoption(more), approved={hold.hash}).allowed == ()


@cases("parts", {
    "a target is added": {"targets": ()},
    "a listener is added": {"listeners": ()},
    "an attachment stays": {"attachments": (PLACE,)},
    "a selector stays": {"targets": (OURS, SELECTOR)},
})  # fmt: skip
def test_adoption_that_takes_nothing_away(parts: dict[str, Any]) -> None:
    found = judged(before_adoption(parts))
    assert (found.holds, found.allowed) == ((), found.changes)
    assert {"service.claim", "lb.adopt", "service.status"} <= {change.kind for change in found.changes}


def nobodys(**parts: Any) -> CloudBalancer:
    """A load balancer that somebody called ``shared``, without a word on whose it is."""
    return a_balancer(service_uid=None, cluster_uid=None, spec={"name": "shared"}, **parts)


def released(former: str | None, cluster: str = CLUSTER_UID, **parts: Any) -> CloudBalancer:
    """A load balancer called ``shared`` that was released for good, with the Service that its label names."""
    labels = {LABEL_CLUSTER_UID: cluster, LABEL_RELEASED: "20260601T120000Z"}
    labels |= {} if former is None else {LABEL_FORMER: former}
    return a_balancer(service_uid=None, cluster_uid=None, spec={"name": "shared", "labels": labels}, **parts)


UNUSED: dict[str, Any] = {"listeners": (), "targets": ()}
IN_USE = "in use (1 listener and 1 target)"


@cases("balancer doubt", {
    "as the Service asks for it": (nobodys(), f"{IN_USE}, without an owner label"),
    "a listener alone": (nobodys(targets=()), "in use (1 listener), without an owner label"),
    "targets that would stay": (nobodys(targets=(SELECTOR, ADDRESS)),
        "in use (1 listener and 2 targets), without an owner label"),
    "another Service's": (released("prod.shop"), f"{IN_USE}, released with Service prod/shop"),
    "another cluster's, of the same name": (released("default.web", ELSEWHERE),
        f"{IN_USE}, released with Service default/web of cluster {ELSEWHERE}"),
    "a dead Service's": (a_balancer(service_uid=DEAD, cluster_uid=None, spec={"name": "shared"}),
        f"labeled with unknown Service UID {DEAD}"),
})  # fmt: skip
def test_adoption_in_doubt(balancer: CloudBalancer, doubt: str) -> None:
    """It serves, or was a Service's: whatever is changed needs a person, additions included."""
    world = a_world([SHARED], [balancer])
    (hold,) = judged(world).holds
    assert (hold.rule, hold.value, hold.keys) == (GuardName.ADOPTION, doubt, (LB,))
    assert hold.said == f"{LB_SHARED} may be another owner's: {doubt}; approve to adopt it"
    assert judged(world).allowed == ()
    approved = judged(world, approved={hold.hash})
    assert approved.allowed == approved.changes


@cases("balancer", {
    "nobody's, as Terraform prepares it": nobodys(listeners=(), targets=(SELECTOR,)),
    "its own": released("default.web"),
    "another's that is empty": released("prod.shop", **UNUSED),
    "a dead Service's of this cluster": a_balancer(service_uid=DEAD, spec={"name": "shared"}),
})  # fmt: skip
def test_adoption_without_a_word(balancer: CloudBalancer) -> None:
    found = judged(a_world([SHARED], [balancer]))
    assert (found.holds, found.allowed) == ((), found.changes)
    assert found.by_key[LB].kind == "lb.adopt"


def test_adoption_of_a_dead_services_that_takes_something_away() -> None:
    parts = {"targets": (OURS, STRAY)}
    (hold,), (other,) = (judged(before_adoption(parts, uid)).holds for uid in (DEAD, "another"))
    assert hold.keys == other.keys == (LB, f"{LB}/target/server:7")
    assert hold.said == rows.ADOPTION_REMOVES.text(
        balancer=f"{LB_42}, labeled with unknown Service UID {DEAD},", parts="target server:7"
    )
    assert hold.hash != other.hash


WEB, PRIVATE = a_service(), a_service(claim=a_claim(annotations=annotated(use_private_ip="true")))
TWO = {"targets": (OURS, STRAY)}
UNREAD, NOWHERE = {"network": Unknown("429")}, {"network": Absent()}
NO_NETWORK = "there is no network as HCLOUD_NETWORK names it"
NODE_UNREAD = {"nodes": Section({"web-1": a_settled_node()}, unreadable={"z": "no uid"})}
SERVER_UNREAD = {
    "nodes": nodes_of(a_settled_node(), a_settled_node("b", 7)),
    "servers": Section({1: a_server()}, unreadable={7: "no type"}),
}
JOINING = {
    "nodes": nodes_of(a_settled_node(), a_joining_node("b")),
    "servers": incomplete(servers_of(*TWO_SERVERS), "429"),
}


@cases("service parts world why", {
    "private targets, and no network was read": (PRIVATE, {}, UNREAD, "429"),
    "private targets, and the network is not there": (PRIVATE, {}, NOWHERE, NO_NETWORK),
    "a Node was not read": (WEB, {}, NODE_UNREAD, rules.NODE_UNREADABLE.text(cause="no uid")),
    "a target's own server": (WEB, TWO, SERVER_UNREAD, "server unknown: no type"),
    "a Node may be the target": (WEB, TWO, JOINING, rules.NOT_INITIALIZED_YET.text(cause="429")),
})  # fmt: skip
def test_adoption_waits_until_its_removals_are_known(
    service: Service, parts: dict[str, Any], world: dict[str, Any], why: str
) -> None:
    """What is unknown is not nothing: once it is adopted, no approval would be asked for before it goes."""
    balancer = a_balancer(service_uid=None, cluster_uid=None, **parts)
    snapshot = replace(a_world([service], [balancer], servers=TWO_SERVERS), **world)
    found = judged(snapshot, IN_NETWORK, {hold.hash for hold in judged(snapshot, IN_NETWORK).holds})
    unclear = rows.ADOPTION_UNCLEAR.text(balancer=LB_42, error=why)
    assert found.by_key[LB].decision == GuardDecision(Verdict.WAITING, GuardName.INCOMPLETE_SNAPSHOT, unclear)
    assert found.allowed == ()


IPV6 = a_service(claim=a_claim(ip_families=("IPv6",)))
NO_IPV6 = {"servers": servers_of(replace(a_server(), ipv6=None))}
SPARE = {"nodes": nodes_of(a_settled_node(), a_settled_node("spare", 7, labels={"spare": ""}))}
IGNORING = replace(LOCATED, ignore_nodes=parse_selector("spare"))
OTHERS_UNREAD = {"servers": Section({1: a_server()}, unreadable={9: "no type"})}


@cases("service parts world settings", {
    "it is in no network": (WEB, {}, UNREAD, IN_NETWORK),
    "it has no targets": (PRIVATE, {"targets": ()}, UNREAD, IN_NETWORK),
    "what is ignored stays for good": (WEB, TWO, SPARE, IGNORING),
    "what is not ours stays for good": (WEB, {"targets": (SELECTOR,)}, OTHERS_UNREAD, LOCATED),
    "a target of another family stays": (IPV6, {"targets": (OURS,)}, NO_IPV6, LOCATED),
})  # fmt: skip
def test_adoption_that_hides_nothing(
    service: Service, parts: dict[str, Any], world: dict[str, Any], settings: Settings
) -> None:
    balancer = a_balancer(service_uid=None, cluster_uid=None, **parts)
    found = judged(replace(a_world([service], [balancer], servers=TWO_SERVERS), **world), settings)
    assert found.by_key[LB].decision.verdict is Verdict.ALLOWED
    assert found.holds == ()


def test_an_adoption_for_a_service_that_asks_for_nonsense() -> None:
    """The rule about strangers holds even where nothing would be planned."""
    service = a_service(claim=a_claim(annotations=annotated(protocol="gopher")))
    world = a_world([service], [a_balancer(service_uid=DEAD, cluster_uid=None)])
    assert compute_plan(world, LOCATED).changes == ()
    assert [finding.keys for finding in adoption(facts([by_hand(LB, "lb.adopt")], world))] == [(LB,)]
    assert list(adoption(facts([by_hand(LB, "lb.adopt")], a_world([WEB], [a_balancer()])))) == []


@cases("published annotations default expected", {
    "a setting was lost": (("10.0.0.9",), {}, False, (Verdict.HELD, "exposure")),
    "it is internal again": (("10.0.0.9",), {}, True, (Verdict.ALLOWED, None)),
    "asked for": (("10.0.0.9",), {"disable_public_network": "false"}, False, (Verdict.ALLOWED, None)),
    "it was public": (("203.0.113.9", "10.0.0.9"), {}, False, (Verdict.ALLOWED, None)),
    "another controller has published": (("10.20.0.5",), {}, False, (Verdict.ALLOWED, None)),
    "what nobody understands": (("nonsense",), {}, False, (Verdict.ALLOWED, None)),
    "nothing was published": ((), {}, False, (Verdict.ALLOWED, None)),
})  # fmt: skip
def test_an_internal_load_balancer_that_was_deleted(
    published: tuple[str, ...], annotations: dict[str, str], default: bool, expected: Any
) -> None:
    """By hand, beside the setting that kept it internal: the new one would be public."""
    entries = tuple(Ingress(ip) for ip in published)
    service = replace(asking(use_private_ip="true", **annotations), ingress=entries)
    world = a_world([service], [], network=Present(NETWORK), **fleet(1))
    settings = replace(IN_NETWORK, balancer_defaults=Options(location="fsn1", disable_public_network=default))
    assert verdicts(judged(world, settings))[LB] == expected


@cases("annotations default expected", {
    "a setting for all": ({}, False, (Verdict.HELD, "by-default")),
    "its own annotation": ({"disable_public_network": "false"}, True, (Verdict.ALLOWED, None)),
    "its own annotation keeps it internal": ({"disable_public_network": "true"}, False, None),
    "a setting keeps it internal": ({}, True, None),
})  # fmt: skip
def test_an_internal_load_balancer(annotations: dict[str, str], default: bool, expected: Any) -> None:
    balancer = a_balancer(attachments=(HERE,), targets=private(1), spec={"public_interface": False})
    service = asking(use_private_ip="true", **annotations)
    world = a_world([service], [balancer], network=Present(NETWORK), **fleet(1))
    settings = replace(IN_NETWORK, balancer_defaults=Options(location="fsn1", disable_public_network=default))

    plan = judged(world, settings)

    assert verdicts(plan).get(f"{LB}/public") == expected
    approved = judged(world, settings, [hold.hash for hold in plan.holds])
    assert all(
        change.decision.verdict is Verdict.ALLOWED for change in approved.changes if change.key == f"{LB}/public"
    )


@cases("others expected", {
    "most are internal": (("internal", "internal", "public"), (Verdict.HELD, "exposure")),
    "half of them": (("internal", "public"), (Verdict.ALLOWED, None)),
    "a list lacks them": (("unlisted", "unlisted"), (Verdict.HELD, "exposure")),
    "an annotation decides on them": (("decided", "decided"), (Verdict.ALLOWED, None)),
    "it is the first": ((), (Verdict.ALLOWED, None)),
})  # fmt: skip
def test_a_new_one_is_public_as_most_others_are(others: tuple[str, ...], expected: Any) -> None:
    services, balancers = [new(use_private_ip="true")], []
    for number, kind in enumerate(others):
        name, uid, options = f"other-{number}", f"uid-{number}", {"use_private_ip": "true"}
        options |= {"disable_public_network": "true"} if kind == "decided" else {}
        ingress = (Ingress("10.0.0.200"),) if kind != "public" else ()
        services.append(replace(asking(**options), name=name, uid=uid, ingress=ingress))
        spec = {"public_interface": kind == "public", "name": name}
        if kind != "unlisted":
            balancers.append(
                a_balancer(100 + number, service_uid=uid, attachments=(HERE,), targets=private(1), spec=spec)
            )
    plan = judged(a_world(services, balancers, network=Present(NETWORK), **fleet(1)), IN_NETWORK)
    assert verdicts(plan)[LB] == expected


UID = "1f2e3d4c-5b6a-7980-aabb-ccddeeff0022"
OTHER_UID = "1f2e3d4c-5b6a-7980-aabb-ccddeeff0033"


def wanting(name: str = "api", uid: str = UID, *, age_s: int = 0, **options: str) -> Service:
    """A Service without a load balancer that asks for Primary IPs."""
    claim = a_claim(annotations=annotated(**options or {"public_net_ipv4": "7"}))
    return a_service(name, uid=uid, claim=claim, created_at=NOW - timedelta(seconds=age_s))


def holding(labels: dict[str, str]) -> CloudBalancer:
    return a_balancer(43, spec={"name": "theirs", "labels": labels, "primary_ipv4": 7})


HOLDING_42 = a_balancer(spec={"primary_ipv4": 7})


def a_holder(number: int, kind: str) -> dict[str, Any]:
    return {"assignee_id": number, "assignee_type": kind}


HAD: dict[str, Any] = {"assignee_id": 43, "assignee_type": "load_balancer"}
IN_CLUSTER = {"hcloud-reconciler/cluster-uid": CLUSTER_UID}
IN_WINDOW = {**IN_CLUSTER, LABEL_FORMER: "default.gone", LABEL_DELETE_AFTER: "20991231T235959Z"}
RELEASED = {**IN_CLUSTER, LABEL_FORMER: "default.gone", LABEL_RELEASED: "20200101T000000Z"}
ABROAD = {**IN_WINDOW, "hcloud-reconciler/cluster-uid": "other"}
OF_OTHER = {**IN_CLUSTER, LABEL_SERVICE_UID: OTHER_UID}
BY_43, BY_OWN = {"assignee": "load balancer 43 theirs"}, {"assignee": f"load balancer 42 {DEFAULT_NAME}"}
ASSIGNED = rows.ADDRESS_ASSIGNED
RELEASING, BY_42 = rows.ADDRESS_OF_RELEASING, {**HAD, "assignee_id": 42}


@cases("assigned there row found", {
    "free": ({}, (), None, {}),
    "in use by the list": ({}, (holding({}),), ASSIGNED, BY_43),
    "another Service of this cluster has it": ({}, (holding(OF_OTHER),), ASSIGNED, BY_43),
    "a server has it": (a_holder(9, "server"), (), ASSIGNED, {"assignee": "server 9"}),
    "an unknown kind has it": (a_holder(9, ""), (), ASSIGNED, {"assignee": "resource 9"}),
    "one has it that is not listed": (HAD, (), ASSIGNED, {"assignee": "load balancer 43"}),
    "another cluster has released it": (HAD, (holding(ABROAD),), ASSIGNED, BY_43),
    "released": (HAD, (holding(RELEASED),), rows.ADDRESS_OF_KEPT, {**BY_43, "id": 43}),
    "being deleted": (BY_42, (HOLDING_42,), RELEASING, {**BY_OWN, "service": "default/web"}),
})  # fmt: skip
def test_no_address_is_taken_from_anything(
    assigned: dict[str, Any], there: tuple[CloudBalancer, ...], row: Rule | None, found: dict[str, Any]
) -> None:
    others = [a_served_service(deleted_at=NOW, ingress=()), a_service("other", uid=OTHER_UID)]
    plan = judged(a_world([wanting(), *others], there, primary_ips={7: a_primary_ip(**assigned)}))
    decision = plan.by_key["load_balancer/default/api"].decision
    why = row.text(address="Primary IP 7 web-7 (198.51.100.7)", **found) if row else ""
    expected = (Verdict.ALLOWED, None) if row is None else (row.verdict, GuardName.ADDRESS_IN_USE)
    assert ((decision.verdict, decision.rule), decision.why) == (expected, why)
    assert plan.holds == ()


def test_of_several_services_the_oldest_gets_it() -> None:
    """A newcomer keeps nobody from his address, and gets none of the two that it asks for half."""
    services = [
        wanting("new", UID, public_net_ipv4="7", public_net_ipv6="six"),
        wanting("old", "f" * 36, age_s=60),
        wanting("other", "0" * 36, age_s=30, public_net_ipv4="web-7"),
    ]
    found: dict[int | str, PrimaryIp] = {7: a_primary_ip(), "web-7": a_primary_ip(), "six": a_primary_ipv6()}

    decided = verdicts(judged(a_world(services, primary_ips=found)))
    assert decided["load_balancer/default/old"] == (Verdict.ALLOWED, None)
    assert decided["load_balancer/default/other"] == (Verdict.REFUSED, GuardName.ADDRESS_IN_USE)
    assert decided["load_balancer/default/new"] == (Verdict.REFUSED, GuardName.ADDRESS_IN_USE)
