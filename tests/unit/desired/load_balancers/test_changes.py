"""The changes around a load balancer: claim, creation, adoption, status, deletion, release."""

from collections.abc import Mapping
from dataclasses import replace
from ipaddress import IPv4Address, IPv4Network
from typing import Any

import pytest

from desired.annotations.choices import Protocol
from desired.annotations.claims import ClaimedPort
from desired.annotations.options import OPTIONS
from desired.model.load_balancer import (
    KNOWN_AFTER_APPLY,
    Attachment,
    CloudBalancer,
    HttpOptions,
    Identity,
    Issuance,
    LoadBalancer,
    ManagedCertificate,
    Owner,
    labels_with,
)
from desired.model.service import (
    Ingress,
    Service,
    ServiceCondition,
)
from desired.model.serving import Serving
from desired.model.settings import Policy
from desired.model.snapshot import Network
from desired.names import (
    FINALIZER_BALANCER,
    LABEL_ADOPTED,
    LABEL_CLUSTER_UID,
    LABEL_FORMER,
    LABEL_RELEASED,
    LABEL_SERVICE_UID,
    OWN_CLASS,
)
from desired.plan.change import Change, Claimed, GuardName
from desired.plan.notes import NoteKind
from desired.plan.ordering import not_ready
from desired.plan.setbacks import Setbacks
from desired.planner import compute_plan
from desired.rules import load_balancer_changes as rules
from desired.rules.load_balancers import ADDRESSES_GO, NAME_KEPT, RETAINED_AS_ASKED, RETAINED_PROTECTED
from desired.rules.rule import Rule
from desired.section import UNMANAGED, Present, Section, Unknown
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
    a_served_service,
    a_service,
    a_world,
    annotated,
)
from tests.builders import CLUSTER_UID, NOW, a_joining_node, a_server, incomplete
from tests.support.balancer_changes import (
    BALANCER,
    CLAIM,
    OURS,
    PUBLISH,
    SERVICE,
    a_creation,
    a_difference,
    a_part,
    a_wish,
    an_adoption,
)
from tests.support.balancer_plans import HERE, INSIDE, asking, fleet, in_turn, new, plan_of, private, public, said
from tests.support.judging import judge
from tests.support.rows import rows

V4, V6 = Ingress("203.0.113.200", ip_mode="VIP"), Ingress("2001:db8::200", ip_mode="VIP")
INSIDE_ENTRY = Ingress("10.0.0.200", ip_mode="VIP")
LABELS = {LABEL_SERVICE_UID: SERVICE_UID, LABEL_CLUSTER_UID: CLUSTER_UID}
PORT = a_wish(80, 30080)
TARGETS = frozenset(public(1))
SMALLEST = LoadBalancer(
    DEFAULT_NAME, LABELS, "lb11", location="fsn1", attachment=None, listeners={80: PORT}, targets=TARGETS
)
"""What is created with LOCATED when nothing is asked for."""
STATUS, RANGE = PUBLISH.key, IPv4Network("10.0.0.0/24")
PART: Section[int, CloudBalancer] = incomplete(Section())
DEAD_UID = "deaddead-0000-4000-8000-000000000000"
PRIVATE = {"use_private_ip": "true"}
INTERNAL = PRIVATE | {"disable_public_network": "true"}
NOWHERE = INTERNAL | {"disable_private_ingress": "true"}
UNREAD: dict[str, Any] = {"network": Unknown("500"), "settings": IN_NETWORK}


def created(service: Service, **world: Any) -> LoadBalancer:
    after = plan_of(service, **world).by_key[BALANCER].after
    assert isinstance(after, LoadBalancer)
    return after


def test_a_new_service() -> None:
    why = rules.CREATED.text(service="default/web")
    create = a_difference(BALANCER, "lb.create", None, SMALLEST, why, depends_on=(CLAIM.key,))
    assert plan_of(new()).changes == (create, CLAIM, PUBLISH)


LEAST = {"algorithm_type": "least_connections"}


@rows("options world fields", {
    "name": ({"name": "shop"}, {}, {"name": "shop"}),
    "location": ({"location": "nbg1"}, {}, {"location": "nbg1"}),
    "in-a-network": ({}, INSIDE, {"attachment": Attachment(7)}),
    "internal": (INTERNAL, INSIDE, {"attachment": Attachment(7), "targets": frozenset(private(1)),
        "public_interface": False}),
    "private-targets-of-one": (PRIVATE, UNREAD, {"attachment": UNMANAGED, "targets": UNMANAGED}),
    "reverse-names-later": ({"ipv4_rdns": "a.example.com", "ipv6_rdns": "b.example.com"}, {}, {}),
    # Nothing is written then, so that the label is there before the load balancer is.
    "a-cluster-without-identity": ({}, {"cluster_uid": Unknown("403")}, {"labels": {LABEL_SERVICE_UID: SERVICE_UID}}),
    # A new cluster costs no second pass: its targets are what its Nodes will be.
    "a-node-that-joins": ({}, {"nodes": [a_joining_node("web-1")]}, {"targets": TARGETS}),
})  # fmt: skip
def test_the_body_of_a_creation(options: dict[str, str], world: dict[str, Any], fields: dict[str, Any]) -> None:
    found = created(new(**options), **fleet(1) | world)
    if "network" not in world and world.get("settings", LOCATED) is LOCATED:
        assert found == replace(SMALLEST, **fields)
    assert {name: getattr(found, name) for name in fields} == fields
    assert (found.ipv4_rdns, found.ipv6_rdns) == (UNMANAGED, UNMANAGED)


def test_a_private_address_comes_after_the_creation() -> None:
    """The body of a creation has no place for it: created without a network, attached with the address, then the
    targets, each in its pass. What follows is planned with the creation, and waits for the id."""
    options = PRIVATE | {"private_ipv4": "10.0.0.9", "private_subnet_ip_range": "10.0.0.0/24"}
    plan = plan_of(new(**options), **INSIDE | fleet(1))
    create = plan.by_key[BALANCER].after
    assert isinstance(create, LoadBalancer)
    assert (create.targets, create.attachment) == (frozenset(), UNMANAGED)
    assert plan.by_key[f"{BALANCER}/network/7"].depends_on == (BALANCER,)
    assert plan.by_key[f"{BALANCER}/target/server:1"].depends_on == (BALANCER, f"{BALANCER}/network/7")
    plan = plan_of(asking(**options), a_balancer(targets=()), **INSIDE | fleet(1))
    assert in_turn(plan) == ["network/7", "target/server:1"]
    assert plan.by_key[f"{BALANCER}/network/7"].after == Attachment(7, IPv4Address("10.0.0.9"), RANGE)
    plain = plan_of(new(), **INSIDE | fleet(1))
    assert [change.key for change in plain.changes if change.key.startswith(f"{BALANCER}/")] == []


WAS_OURS, LIKELY = rules.ADDRESSES_CHANGE, rules.ADDRESSES_LIKELY_CHANGE
IN_RANGE = {"network": Present(Network(7, "private", (), ip_range=IPv4Network("10.0.0.0/16")))}
CILIUMS, OVERLAYS = (Ingress("10.20.0.5"),), (Ingress("100.64.0.1"), Ingress("fd00::1"), Ingress("::1"))
OWN = "AddressPublished"


@rows("published condition world row addresses", {
    "ours": ((V4, V6), OWN, {}, WAS_OURS, "203.0.113.200, 2001:db8::200"),
    "ours, useless": ((V4,), "NoTargets", {}, WAS_OURS, "203.0.113.200"),
    "Cilium's": (CILIUMS, None, {}, None, ""),
    "outside of the network": (CILIUMS, None, IN_RANGE, None, ""),
    "in it": ((Ingress("10.0.9.5"),), None, IN_RANGE, LIKELY, "10.0.9.5"),
    "an overlay's": (OVERLAYS, None, {}, None, ""),
    "a Node's, as servicelb publishes": ((Ingress("203.0.113.1"),), None, fleet(1), None, ""),
    "no address": ((Ingress("no address"),), OWN, {}, None, ""),
})  # fmt: skip
def test_a_service_that_was_reachable(
    published: tuple[Ingress, ...], condition: str | None, world: Mapping[str, Any], row: Rule | None, addresses: str
) -> None:
    """Somebody deleted its load balancer: other addresses are worth a warning. The finalizer is no evidence of one, as
    k3s' servicelb sets it as well."""
    conditions = () if condition is None else (ServiceCondition("LoadBalancerReady", "True", condition),)
    plan = plan_of(replace(asking(), ingress=published, conditions=conditions), **world)
    assert CLAIM.key not in plan.by_key
    assert plan.by_key[BALANCER].consequences == ((row.text(addresses=addresses),) if row else ())
    assert plan.by_key[STATUS].before == published


def test_signs_of_a_former_load_balancer() -> None:
    """No other controller publishes the hostname that the Service asks for; without the finalizer there was no load
    balancer, so that nothing of it is lost."""
    service = replace(asking(hostname="lb.example.com"), ingress=(Ingress(hostname="lb.example.com"),))
    assert plan_of(service).by_key[BALANCER].consequences == (LIKELY.text(addresses="lb.example.com"),)
    assert plan_of(replace(asking(), finalizers=())).by_key[BALANCER].consequences == ()


def test_a_name_that_is_published() -> None:
    """A hostname waits for the load balancer as addresses do. A status that nobody will write is not shown."""
    change = plan_of(new(hostname="lb.example.com")).by_key[STATUS]
    assert change.after is KNOWN_AFTER_APPLY
    assert change.reason == rules.PUBLISHED_NEW_HOSTNAME.text(hostname="lb.example.com")
    assert STATUS not in plan_of(new(**NOWHERE), **INSIDE).by_key
    assert STATUS in plan_of(replace(new(**NOWHERE), ingress=(V4,)), **INSIDE).by_key
    assert STATUS in plan_of(new(**NOWHERE, hostname="lb.example.com"), **INSIDE).by_key


MANAGED = {"protocol": "https", "certificate_type": "managed", "http_managed_certificate_domains": "b.de,a.de"}
WAITING = a_wish(443, 30443, Protocol.HTTPS, HttpOptions(certificates=KNOWN_AFTER_APPLY))
ASKED = ManagedCertificate(f"ccm-managed-certificate-{SERVICE_UID}", ("a.de", "b.de"), LABELS)
WEB, ISSUE, LISTENER = ClaimedPort(443, "TCP", 30443), "certificate/default/web", f"{BALANCER}/listener/443"
KNOWN = {"is_managed": True, "labels": LABELS, "domains": ASKED.domains, "issuance": Issuance.PENDING}
PENDING = a_certificate(5, ASKED.name, **KNOWN)
SILENT = a_balancer(listeners=())


def test_a_managed_certificate() -> None:
    """It is asked for once there is a load balancer for it, as the CA counts; its listener waits for
    both, the rest does not."""
    plan = plan_of(new(WEB, **MANAGED), certificates=[])
    why, needs = rules.CERTIFICATE_CREATED.text(domains="a.de, b.de"), (CLAIM.key, BALANCER)
    certificate = a_difference(ISSUE, "certificate.create", None, ASKED, why, depends_on=needs)
    added = rules.PORT_ADDED.text(port=443)
    listener = a_part("listener/443", None, WAITING, added, depends_on=(BALANCER, ISSUE), cloud_id=None)
    create = plan.by_key[BALANCER]
    assert plan.changes == (certificate, create, listener, CLAIM, PUBLISH)
    assert create.after == replace(SMALLEST, listeners={})
    assert not listener.is_known


@rows("present certificates needs", {
    "not-issued": (None, [PENDING], (BALANCER,)),
    "not-issued-of-one-that-is-there": (SILENT, [PENDING], ()),
    "to-be-asked-for": (SILENT, [], (ISSUE,)),
})  # fmt: skip
def test_listeners_that_wait(present: CloudBalancer | None, certificates: Any, needs: tuple[str, ...]) -> None:
    """The listener, until it is issued; it is not asked for again, and a port that goes, goes at once."""
    balancers = [] if present is None else [present]
    plan = plan_of(asking(WEB, **MANAGED), *balancers, certificates=certificates)
    listener = plan.by_key[LISTENER]
    assert (listener.before, listener.after, listener.depends_on) == (None, WAITING, needs)
    assert [change.depends_on for change in plan.changes if change.key == ISSUE] == ([] if certificates else [()])
    gone = plan_of(asking(WEB, **MANAGED), a_balancer(), certificates=certificates).by_key[f"{BALANCER}/listener/80"]
    assert gone.depends_on == ()


ATTACHED, ALL = a_balancer(attachments=(HERE,)), (V4, V6, INSIDE_ENTRY)


@rows("options balancer ingress part", {
    "another-mode": ({"uses_proxyprotocol": "true"}, ATTACHED, ALL, "listener/80"),
    "an-address-that-hetzner-chooses": ({}, a_balancer(), (V4, V6), "network/7"),
    "addresses-that-go": (INTERNAL, replace(ATTACHED, targets=()), ALL, "public"),
})  # fmt: skip
def test_a_status_that_changes_with_the_load_balancer(
    options: dict[str, str], balancer: CloudBalancer, ingress: tuple[Ingress, ...], part: str
) -> None:
    """It is right, and will not be: the plan shows that, and the pass after the change writes it. As long as the part
    is withheld, or once it was refused, nothing is to be published."""
    world = a_world([replace(asking(**options), ingress=ingress)], [balancer], network=Present(NETWORK))
    plan, key = compute_plan(world, IN_NETWORK), f"{BALANCER}/{part}"
    change = plan.by_key[STATUS]
    assert (change.before, change.after, change.follows) == (ingress, KNOWN_AFTER_APPLY, (key,))

    def is_left(**others: Any) -> bool:
        return STATUS in judge(plan, world, **{"settings": IN_NETWORK} | others).by_key

    assert STATUS in not_ready(judge(plan, world, IN_NETWORK))
    assert not is_left(setbacks=Setbacks(refused=frozenset({key})))
    assert not is_left(setbacks=Setbacks(withheld={key: GuardName.TARGET_FLOOR}))
    assert is_left(settings=replace(IN_NETWORK, policy=Policy.OBSERVE))  # it is withheld as all else is


CLOSED = a_balancer(attachments=(HERE,), targets=private(1), spec={"public_interface": False})
REOPENED = PRIVATE | {"disable_private_ingress": "true", "disable_public_network": "false"}


@rows("options balancer expected", {
    "nothing-is-reachable": (NOWHERE, CLOSED, ()),
    "as-long-as-it-becomes-public-again": (REOPENED, CLOSED, None),
    "as-long-as-it-is-public": (INTERNAL, replace(ATTACHED, targets=tuple(private(1))), KNOWN_AFTER_APPLY),
})  # fmt: skip
def test_status_in_a_network(options: dict[str, str], balancer: CloudBalancer, expected: Any) -> None:
    change = plan_of(asking(**options), balancer, **INSIDE | fleet(1)).by_key.get(STATUS)
    assert (None if change is None else change.after) == expected


@pytest.mark.parametrize("field", ["hostname", "ipv6_disabled", "disable_private_ingress"])
def test_a_status_that_cannot_be_told(field: str) -> None:
    wrong = {"hostname": "not a name"}.get(field, "perhaps")
    assert plan_of(replace(asking(**{field: wrong}), ingress=()), a_balancer()).changes == ()
    assert list(plan_of(replace(asking(health_check_port="0"), ingress=()), a_balancer()).by_key) == [STATUS]


SHOP = {"name": "shop"}
MORE: dict[str, Any] = {"targets": [*public(1, 9)], "listeners": [a_listener(), a_listener(22, 30022)], "spec": SHOP}
STRANGE = a_balancer(service_uid=None, cluster_uid=None, attachments=(HERE,), **MORE)


def test_adoption() -> None:
    plan = plan_of(new(**LEAST, **SHOP), STRANGE, servers=[a_server(), a_server(9, "x")])
    assert in_turn(plan) == ["lb.adopt", "algorithm", "listener/22", "target/server:9"]
    losses = [rules.LOST_BY_ADOPTION.text(part=part) for part in ("listener 22", "target server:9")]
    adopt = plan.by_key[BALANCER]
    adopt = replace(adopt, consequences=tuple(sorted(adopt.consequences)))
    assert adopt == an_adoption(Owner(None, None), *losses, outlives=True)
    parts = [change for change in plan.changes if change.key.startswith(f"{BALANCER}/")]
    assert all(BALANCER in change.depends_on for change in parts)
    assert plan.by_key[STATUS].depends_on == (BALANCER,)


FREE: dict[str, Any] = {"service_uid": None, "cluster_uid": None}
KEPT = {"labels": {LABEL_SERVICE_UID: DEAD_UID, LABEL_CLUSTER_UID: CLUSTER_UID, LABEL_ADOPTED: "yes"}}


def released(former: str, cluster: str = CLUSTER_UID) -> tuple[Owner, dict[str, Any]]:
    """Owner and fields of a released load balancer, which is empty."""
    labels = {LABEL_CLUSTER_UID: cluster, LABEL_FORMER: former, LABEL_RELEASED: "20260101T000000Z"}
    return Owner(cluster, None, former=former), {"spec": SHOP | {"labels": labels}, "targets": (), "listeners": ()}


OF_DEAD = {"service_uid": DEAD_UID, "spec": SHOP}


OF_CLASS = Owner(CLUSTER_UID, None, own_class_uid=SERVICE_UID, balancer_class="hcloud-reconciler..load-balancer")


@rows("options before balancer mark", {
    "by-the-default-name": ({}, Owner(None, None), FREE, None),
    "let-go": (SHOP, Owner(CLUSTER_UID, None), {"service_uid": None, "spec": SHOP}, "true"),
    "of-a-dead-service-of-no-known-cluster": (SHOP, Owner(None, DEAD_UID), OF_DEAD | {"cluster_uid": None}, "true"),
    "of-a-dead-service": (SHOP, Owner(CLUSTER_UID, DEAD_UID), OF_DEAD, None),
    "of-a-dead-one-that-had-adopted-it": (SHOP, Owner(CLUSTER_UID, DEAD_UID, adopted="yes"), {"spec": SHOP | KEPT},
        "yes"),
    "released": (SHOP, *released("default.web"), "true"),
    "released-with-another": (SHOP, *released("default.api"), "true"),
})  # fmt: skip
def test_an_adoption_that_takes_nothing_away(
    options: dict[str, str], before: Owner, balancer: dict[str, Any], mark: str | None
) -> None:
    """Nothing is taken away, so there is nothing to be warned of. What was not made for a Service of this
    cluster is marked, so that it outlives the one that takes it over."""
    plan = plan_of(new(**options), a_balancer(**balancer))
    adopt = plan.by_key[BALANCER]
    there, ours = replace(before, balancer_id=42), replace(OURS, balancer_id=42, adopted=mark)
    assert (adopt.kind, adopt.before, adopt.after, adopt.consequences) == ("lb.adopt", there, ours, ())
    assert adopt.reason.endswith("kept after it") is (mark is not None)
    assert in_turn(plan)[0] == "lb.adopt"


def test_a_class_that_was_taken_off_is_written_again() -> None:
    serving = Serving(OWN_CLASS)
    service = a_served_service(load_balancer_class=OWN_CLASS, finalizers=(serving.finalizer,))
    there, whole = labels_with({}, replace(OF_CLASS, balancer_class=None)), labels_with({}, OF_CLASS)
    plan = plan_of(service, a_balancer(spec={"labels": there}), serving=serving)
    name = DEFAULT_NAME
    expected = [("lb.identity", Identity(name, there), Identity(name, whole))]
    assert [(change.kind, change.before, change.after) for change in plan.changes] == expected


@rows("labels serving", {
    "of a class, to none": (OF_CLASS, Serving()),
    "of a class, to another": (OF_CLASS, Serving("example.com/internal")),
    "of a lost class, to none": (replace(OF_CLASS, balancer_class=None), Serving()),
})  # fmt: skip
def test_a_load_balancer_of_a_former_class(labels: Owner, serving: Serving) -> None:
    """Nothing but the adoption, for a guard to refuse, as of any other owner."""
    service = a_served_service(load_balancer_class=serving.balancer_class, finalizers=())
    plan = plan_of(service, a_balancer(spec={"labels": labels_with({}, labels)}), serving=serving)
    assert [change.kind for change in plan.changes] == ["lb.adopt", "service.claim"]
    assert "has the label of this Service as one" in " ".join(said(plan, NoteKind.FOREIGN))


def test_no_adoption_for_a_service_that_has_one() -> None:
    assert plan_of(asking(), a_balancer(cluster_uid=None)).changes == ()


OTHER = a_served_service("db", uid="uid-db", claim=a_claim(annotations=annotated(name="shop")))
LIVING = a_service("x", uid="uid-x", type="ClusterIP")


@rows("balancer others", {
    "of-a-living-service": ({"service_uid": "uid-x", "spec": SHOP}, [LIVING]),
    "of-two-who-ask": ({"service_uid": None, "spec": SHOP, "targets": ()}, [OTHER]),
})  # fmt: skip
def test_a_load_balancer_of_somebody_else(balancer: dict[str, Any], others: list[Service]) -> None:
    """Nothing but the adoption, for a guard to refuse; no part of it is touched, and nothing prepared in vain."""
    plan = plan_of(new(**SHOP), a_balancer(**balancer), others=others)
    assert [change.kind for change in plan.changes if change.owner == SERVICE] == ["lb.adopt", "service.claim"]


def test_a_name_that_another_service_asks_for_as_well() -> None:
    """What a Service has keeps its name, and everything else of it is kept in sync; the Service is told. Where there is
    none both creations stand in the plan, for a guard to refuse."""
    balancer = a_balancer(targets=())
    plan, calm = plan_of(asking(**SHOP), balancer, others=[OTHER]), plan_of(asking(), balancer)
    own = [change.key for change in plan.changes if change.owner == SERVICE]
    assert own == [change.key for change in calm.changes] != []
    facts: dict[str, Any] = {"balancer": 42, "present": DEFAULT_NAME, "name": "shop", "services": "Service default/db"}
    assert said(plan, NoteKind.AMBIGUOUS) == [NAME_KEPT.text(**facts)]
    both = [change.owner for change in plan_of(new(**SHOP), others=[OTHER]).changes if change.kind == "lb.create"]
    assert both == ["service/default/db", SERVICE]


GOING: dict[str, Any] = {"deleted_at": NOW}
RETYPED: dict[str, Any] = {"type": "ClusterIP"}
DELETED, UNWANTED = rules.SERVICE_DELETED.text(), rules.SERVICE_WANTS_NONE.text()
ENDED = rules.CLAIM_ENDED.text(going=DELETED)


def release(why: str, *depends_on: str, ingress: tuple[Ingress, ...] = (V4, V6)) -> Change:
    before = Claimed(FINALIZER_BALANCER, ingress)
    return a_difference(f"{SERVICE}/release", "service.release", before, None, why, depends_on=depends_on)


@rows("going why", {"deleted": (GOING, DELETED), "retyped": (RETYPED, UNWANTED)})
def test_leaving(going: dict[str, Any], why: str) -> None:
    """First the load balancer, then the Service is released, whatever its annotations say. What is lost is named before
    it is gone."""
    claim = a_claim(annotations=annotated(hostname="not a name", uses_proxyprotocol="perhaps", type=""))
    lost = ADDRESSES_GO.text(addresses="addresses 203.0.113.200 and 2001:db8::200")
    deletion = a_difference(BALANCER, "lb.delete", a_balancer().spec, None, why, lost)
    expected = (deletion, release(rules.CLAIM_ENDED_WITH_BALANCER.text(done="deleted"), BALANCER))
    for service in (a_served_service(**going), a_served_service(**going, claim=claim)):
        assert plan_of(service, a_balancer()).changes == expected
    one, none = (plan_of(a_served_service(**going), a_balancer(ipv6=None, ipv4=ip)) for ip in (a_balancer().ipv4, None))
    assert one.by_key[BALANCER].consequences == (ADDRESSES_GO.text(addresses="address 203.0.113.200"),)
    assert none.by_key[BALANCER].consequences == ()


RETAIN = a_claim(annotations={OPTIONS["deletion_policy"].full_key: "retain"})


@rows("claim balancer row", {
    "policy": (RETAIN, a_balancer(), RETAINED_AS_ASKED),
    "protected": (a_claim(), a_balancer(is_protected=True), RETAINED_PROTECTED),
})  # fmt: skip
def test_retaining(claim: Any, balancer: CloudBalancer, row: Rule) -> None:
    kept = Owner(CLUSTER_UID, None, "20260701T120000Z", former="default.web")
    why, paid = (
        rules.RETAINED.text(going=DELETED, cause=row.says),
        rules.STAYS_PAID.text(balancer=42, name=DEFAULT_NAME),
    )
    retain = a_part("retain", OURS, kept, why, paid)
    plan = plan_of(a_served_service(**GOING, claim=claim), balancer)
    done = release(rules.CLAIM_ENDED_WITH_BALANCER.text(done="released"), f"{BALANCER}/retain")
    assert plan.changes == (retain, done)
    after = plan.changes[0].after
    assert isinstance(after, Owner)
    assert after.released == kept.released


@rows("ingress balancers", {
    "nothing-published": ((), []),
})  # fmt: skip
def test_leaving_without_a_load_balancer(ingress: tuple[Ingress, ...], balancers: list[CloudBalancer]) -> None:
    service = a_served_service(**GOING, ingress=ingress)
    assert plan_of(service, *balancers).changes == (release(ENDED, ingress=ingress),)


@rows("balancers world", {
    "part-of-the-list": ([], {"load_balancers": PART}),
    "two-with-its-label": ([a_balancer(), a_balancer(43, spec=SHOP)], {}),
})  # fmt: skip
def test_while_too_little_is_known(balancers: list[CloudBalancer], world: dict[str, Any]) -> None:
    """A Service is not released before it is known whether it has a load balancer, and none is created: what was not
    found may be there all the same. What is found is served in spite of a gap."""
    plan = plan_of(a_served_service(**GOING), *balancers, **world)
    assert (plan.changes, len(said(plan))) == ((), 1)
    assert plan_of(new(), *balancers, **world).by_key.keys() <= {CLAIM.key}
    found = incomplete(Section({42: a_balancer()}))
    assert in_turn(plan_of(asking(**LEAST), load_balancers=found)) == ["algorithm"]


def test_a_service_made_anew() -> None:
    """Of the same name and another UID: it gets one of its own, and the old one may go (held: see test_services)."""
    service = a_service(uid="22222222-0000-4000-8000-000000000000")
    plan = plan_of(service, a_balancer(service_uid=DEAD_UID))
    create = plan.by_key[BALANCER]
    assert isinstance(create.after, LoadBalancer)
    assert (create.kind, create.after.name) == ("lb.create", "a22222222000040008000000000000000"[:32])
    assert plan.by_key["load_balancer/#42"].kind == "lb.delete"


def test_the_finalizer_that_is_there() -> None:
    """A Service that has it is not claimed again, and those of others do not count. One that has lost it with its load
    balancer there is warned of who takes it."""
    for finalizers, claims in (((FINALIZER_BALANCER,), 0), (("example.com/x",), 1), ((), 1)):
        plan = plan_of(replace(asking(), finalizers=finalizers), a_balancer())
        found = [change.consequences for change in plan.changes if change.kind == "service.claim"]
        assert found == [(rules.FINALIZER_LOST.text(),)] * claims


def test_every_creation_is_the_same() -> None:
    """What a scenario for reports writes out is what the rules plan."""
    service = new(**PRIVATE, **LEAST)
    assert plan_of(service, **INSIDE | fleet(1, 2, 3)).by_key[BALANCER] == a_creation()
