"""A Service's load balancer explained: by what it was found, its labels, addresses, conditions, ports, certificates and
targets."""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from datetime import timedelta
from ipaddress import IPv4Address, IPv6Address
from typing import Any

import pytest

from desired.annotations.choices import Protocol
from desired.annotations.claims import ClaimedPort
from desired.annotations.options import PREFIX
from desired.explain.document import BalancerFact, CertificateFact, Fact, ListenerFact, PrivateAddress, TargetFact
from desired.explain.load_balancer import shown_listener
from desired.load_balancers.membership import Membership
from desired.model.load_balancer import (
    KNOWN_AFTER_APPLY,
    NO_LIMIT,
    Attachment,
    Certificate,
    Health,
    HttpOptions,
    IpTarget,
    Issuance,
    Listener,
    SelectorTarget,
    ServerTarget,
)
from desired.model.service import Ingress, Service, ServiceCondition
from desired.model.settings import Policy, Settings
from desired.model.snapshot import Node, Server, Snapshot
from desired.names import (
    CONDITION_IN_SYNC,
    CONDITION_READY,
    LABEL_ADOPTED,
    LABEL_CLUSTER_UID,
    LABEL_EXCLUDE_FROM_BALANCERS,
    LABEL_FORMER,
    LABEL_RELEASED,
    LABEL_SERVICE_UID,
)
from desired.plan.kinds import Verb
from desired.rules import explanations as said
from desired.rules import load_balancer_changes as changes
from desired.rules import load_balancers as rules
from desired.rules.rule import Basis
from desired.section import UNMANAGED, Absent, Present, Section, Unknown
from tests.balancers import (
    DEFAULT_NAME,
    IN_NETWORK,
    LB11,
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
    an_http_listener,
    annotated,
)
from tests.builders import CLUSTER_UID, NOW, a_node, a_server, a_settled_node, incomplete, nodes_of
from tests.support.rows import rows
from tests.support.service_explanations import RIVAL_UID, of_the_service

OBSERVE = replace(LOCATED, policy=Policy.OBSERVE)
SHOP = a_claim(annotations=annotated(name="shop"))
GAP: Any = incomplete(Section({}), "429")
GOES: Mapping[str, Any] = {"deleted_at": NOW}
OTHER = "other-cluster"
RIVALS = [a_served_service(claim=SHOP), a_service("api", uid=RIVAL_UID, claim=SHOP)]


def served(*balancers: Any, service: Service | None = None, **overrides: Any) -> Snapshot:
    return a_world([service or a_served_service()], balancers, **overrides)


def claiming(*ports: ClaimedPort, **asked: str) -> Service:
    return a_served_service(claim=a_claim(*ports, annotations=annotated(**asked)))


def named(**labels: str | None) -> Any:
    uids: dict[str, Any] = {"service_uid": None, "cluster_uid": None}
    return a_balancer(spec={"name": "shop"}, **uids | labels)


def shop(*balancers: Any) -> Snapshot:
    """A world in which a new Service asks for the name ``shop``."""
    return a_world([a_service(claim=SHOP)], balancers)


# The load balancer.

NONE_LABELLED = f"no load balancer of the project has the label {LABEL_SERVICE_UID} with this Service's UID"
NONE_NAMED = f"{NONE_LABELLED}, and none is named {DEFAULT_NAME!r}"
CONTESTED = rules.NAME_CONTESTED.text(name="shop", services="Service default/api")
THEIRS = rules.BALANCER_OF_CLUSTER.says.format(balancer=42, name="shop", cluster=OTHER)
BAD_NAME = a_service(claim=a_claim(annotations=annotated(name=" shop")))
GIVEN_BACK = {LABEL_CLUSTER_UID: CLUSTER_UID, LABEL_FORMER: "default.web", LABEL_RELEASED: "20260701T121000Z"}
LEFT_BEHIND = a_balancer(service_uid=None, spec={"name": "was-42", "labels": GIVEN_BACK})


@rows("snapshot asked by found other why", {
    "label": (served(a_balancer()), DEFAULT_NAME, "label", 42, None, None),
    "name": (shop(named()), "shop", "name", 42, None, None),
    "address": (served(named()), DEFAULT_NAME, "address", 42, None, None),
    "given-back": (a_world([a_service()], [LEFT_BEHIND]), DEFAULT_NAME, "label", 42, None, None),
    "none": (a_world([a_service()]), DEFAULT_NAME, None, None, None, NONE_NAMED),
    "name-unread": (a_world([BAD_NAME]), None, None, None, None, NONE_LABELLED),
    "going": (served(service=a_served_service(**GOES)), None, None, None, None, NONE_LABELLED),
    "gap": (a_world([a_service()], load_balancers=GAP), DEFAULT_NAME, None, None, None,
        rules.BALANCER_UNKNOWN.text(cause="429")),
    "foreign": (shop(named(cluster_uid=OTHER)), "shop", "name", None, 42, THEIRS),
    "contested": (a_world(RIVALS, [named()]), "shop", "name", None, 42, CONTESTED),
    "contested-none": (a_world(RIVALS), "shop", None, None, None, CONTESTED),
    "labelled-of-two": (a_world(RIVALS, [named(service_uid=SERVICE_UID)]), "shop", "label", 42, None, None),
    "labelled-and-foreign": (a_world(RIVALS, [named(service_uid=SERVICE_UID, cluster_uid=OTHER)]), "shop", "label",
        None, 42, THEIRS),
})  # fmt: skip
def test_balancer(
    snapshot: Snapshot, asked: str | None, by: str | None, found: int | None, other: int | None, why: str | None
) -> None:
    """The Service's own, or one that would be and is another's, with what it was found by; else why there is none."""
    balancer = of_the_service(snapshot).load_balancer
    ids = [each.id if each else None for each in (balancer.found, balancer.other)]
    assert (balancer.asked_name, balancer.by, ids, balancer.why) == (asked, by, [found, other], why)


PLACE = Attachment(7, IPv4Address("10.0.0.9"))


def test_the_fields_of_a_balancer() -> None:
    """Those that a person asks for first; an address that is not known, or no limit, is none."""
    whole = a_balancer(attachments=(PLACE, Attachment(8, UNMANAGED)), is_protected=True)
    endless = replace(LB11, max_services=NO_LIMIT, max_targets=NO_LIMIT)
    closed = a_balancer(spec={"public_interface": False}, type=endless)
    found, other = (of_the_service(served(balancer)).load_balancer.found for balancer in (whole, closed))

    assert found == BalancerFact(
        42, DEFAULT_NAME, "lb11", "fsn1", "eu-central", IPv4Address("203.0.113.200"), IPv6Address("2001:db8::200"),
        public=True, private=(PrivateAddress(7, IPv4Address("10.0.0.9")),), protected=True,
        ports=1, max_ports=5, targets=1, max_targets=25,
    )  # fmt: skip
    assert other is not None
    assert (other.public, other.max_ports, other.max_targets) == (False, None, None)


OURS, UNSAID, DEAD = said.OF_THIS_CLUSTER.text(), said.OF_NO_CLUSTER.text(), said.OF_SERVICE_GONE.text()
ITS, RIVAL = said.OF_THIS_SERVICE.text(), said.OF_SERVICE.text(service="default/api")
KEPT = (SERVICE_UID, SERVICE_UID, ITS)
OF_OURS = (CLUSTER_UID, CLUSTER_UID, OURS)
UNREAD = (CLUSTER_UID, CLUSTER_UID, said.OF_A_CLUSTER.text())


@rows("snapshot labels", {
    "ours": (served(a_balancer()), {LABEL_SERVICE_UID: KEPT, LABEL_CLUSTER_UID: OF_OURS}),
    "unsaid": (served(a_balancer(cluster_uid=None)), {LABEL_SERVICE_UID: KEPT, LABEL_CLUSTER_UID: (None, None,
        UNSAID)}),
    "written": (served(a_balancer(cluster_uid=None), service=a_served_service(claim=SHOP)), {LABEL_SERVICE_UID: KEPT,
        LABEL_CLUSTER_UID: (None, CLUSTER_UID, f"set to {OURS}")}),
    "unread": (served(a_balancer(), cluster_uid=Unknown("403")), {LABEL_SERVICE_UID: KEPT, LABEL_CLUSTER_UID: UNREAD}),
    "dead": (shop(named(service_uid="dead", cluster_uid=CLUSTER_UID)), {LABEL_SERVICE_UID: ("dead", SERVICE_UID,
        f"{DEAD}; set to {ITS}"), LABEL_CLUSTER_UID: OF_OURS}),
    "unowned": (shop(named(service_uid="dead")), {LABEL_SERVICE_UID: ("dead", SERVICE_UID,
        f"{DEAD}; set to {ITS}; held (adoption)"), LABEL_CLUSTER_UID: (None, CLUSTER_UID,
        f"set to {OURS}; held (adoption)"), LABEL_ADOPTED: (None, "true",
        f"set to {said.SAYS_ADOPTED.text()}; held (adoption)")}),
    "living": (a_world([a_service(claim=SHOP), a_service("api", uid=RIVAL_UID)], [named(service_uid=RIVAL_UID)]),
        {LABEL_SERVICE_UID: (RIVAL_UID, SERVICE_UID, f"{RIVAL}; set to {ITS}; refused (foreign-owner)"),
        LABEL_CLUSTER_UID: (None, CLUSTER_UID, f"set to {OURS}; refused (foreign-owner)")}),
    "foreign": (shop(named(service_uid="far", cluster_uid=OTHER)), {LABEL_SERVICE_UID: ("far", SERVICE_UID,
        f"{said.OF_SERVICE_ELSEWHERE.text()}; set to {ITS}; refused (foreign-owner)"), LABEL_CLUSTER_UID: (OTHER,
        CLUSTER_UID, f"{said.OF_OTHER_CLUSTER.text()}; set to {OURS}; refused (foreign-owner)")}),
    "released": (served(a_balancer(is_protected=True), service=a_served_service(**GOES)),
        {LABEL_SERVICE_UID: (SERVICE_UID, None, f"{ITS}; removed"), LABEL_CLUSTER_UID: OF_OURS, LABEL_RELEASED: (None,
        "20260701T120000Z", f"set to {said.SAYS_RELEASED.text()}"), LABEL_FORMER: (None, "default.web",
        f"set to {said.SAYS_FORMER.text()}")}),
    "given-back": (a_world([a_service()], [LEFT_BEHIND]), {LABEL_SERVICE_UID: (None, SERVICE_UID, f"set to {ITS}"),
        LABEL_CLUSTER_UID: OF_OURS, LABEL_ADOPTED: (None, "true", f"set to {said.SAYS_ADOPTED.text()}"),
        LABEL_FORMER: ("default.web", None, f"{said.SAYS_FORMER.text()}; removed"), LABEL_RELEASED: ("20260701T121000Z",
        None, f"{said.SAYS_RELEASED.text()}; removed")}),
})  # fmt: skip
def test_owner(snapshot: Snapshot, labels: dict[str, tuple[str | None, str | None, str]]) -> None:
    """Each label that names the owner, with whom it names, and what withholds that it names another."""
    facts = of_the_service(snapshot).load_balancer.owner
    assert {fact.subject: (fact.value, fact.wanted, fact.source) for fact in facts} == labels
    assert {fact.rule for fact in facts} == {Basis.OWNER}


# What the Service publishes.

V4, V6 = Ingress("203.0.113.200", ip_mode="VIP"), Ingress("2001:db8::200", ip_mode="VIP")
IPV4, IPV6 = "203.0.113.200 (VIP)", "2001:db8::200 (VIP)"
PUBLIC_V4, PUBLIC_V6 = (said.PUBLIC_ADDRESS.text(family=family, balancer=42) for family in ("IPv4", "IPv6"))
UNKNOWN = said.ADDRESS_OF_NONE.text()
NAMED = a_served_service(claim=a_claim(annotations=annotated(hostname="lb.example")), ingress=())
COMES = ("IP", None, "(known after apply)", changes.PUBLISHED_NEW.text())


@rows("snapshot settings expected", {
    "as-is": (served(a_balancer()), LOCATED, [("IP", IPV4, IPV4, PUBLIC_V4), ("IP", IPV6, IPV6, PUBLIC_V6)]),
    "comes-stays-goes": (served(a_balancer(attachments=(PLACE,)),
        service=a_served_service(ingress=(Ingress("203.0.113.9"), V6))), LOCATED, [("IP", "203.0.113.9", None,
        f"removed: {said.STRANGE_ADDRESS.text(balancer=42)}"), ("IP", IPV6, IPV6, PUBLIC_V6), ("IP", None, IPV4,
        PUBLIC_V4), ("IP", None, "10.0.0.9 (VIP)", said.PRIVATE_ADDRESS.text(balancer=42, network=7))]),
    "withheld": (served(a_balancer(), service=a_served_service(ingress=(V4,))), OBSERVE, [("IP", IPV4, IPV4,
        PUBLIC_V4), ("IP", None, IPV6, f"{PUBLIC_V6}; waiting (policy)")]),
    "another-withheld": (served(a_balancer(), service=replace(claiming(node_selector="tier=none"), ingress=(V4,))),
        LOCATED, [("IP", IPV4, IPV4, PUBLIC_V4), ("IP", None, IPV6, PUBLIC_V6)]),
    "new": (a_world([a_service()]), LOCATED, [COMES]),
    "released": (served(a_balancer(), service=a_served_service(ingress=(replace(V4, has_ports=True),), **GOES)),
        LOCATED, [("IP", f"{IPV4}, with ports", None, f"removed: {PUBLIC_V4}")]),
    "left-alone": (a_world([a_service(type="ClusterIP", ingress=(V4,))]), LOCATED, [("IP", IPV4, IPV4, UNKNOWN)]),
    "hostname": (served(a_balancer(), service=NAMED), LOCATED, [("Hostname", None, "lb.example", f"{PREFIX}hostname")]),
})  # fmt: skip
def test_status(snapshot: Snapshot, settings: Settings, expected: list[Any]) -> None:
    """Each address is told with where it comes from, and what becomes of it."""
    facts = of_the_service(snapshot, settings).status
    assert [(fact.subject, fact.value, fact.wanted, fact.source) for fact in facts] == expected
    assert all(fact.rule is (Basis.ASKED if fact.subject == "Hostname" else Basis.BALANCER) for fact in facts)


SINCE = NOW - timedelta(hours=1)
PUBLISHED = rules.ADDRESS_PUBLISHED.text(addresses="203.0.113.200, 2001:db8::200")
READY = ServiceCondition(CONDITION_READY, "True", "AddressPublished", PUBLISHED, SINCE)
IN_SYNC = ServiceCondition(CONDITION_IN_SYNC, "True", "InSync", rules.IN_SYNC.text(), SINCE)
HELD = ServiceCondition(CONDITION_IN_SYNC, "False", "Held", "something is held", SINCE)
STRANGE = ServiceCondition("example.com/Good", "True", "", "all is well", SINCE)
AT, THERE, SYNCED = ", since 2026-07-01 11:00 UTC", "True AddressPublished", "True InSync"
NONE = said.CONDITION_LACKING.text()
LACKING = rules.BALANCER_LACKING.text()


def with_conditions(*there: ServiceCondition, **overrides: Any) -> Snapshot:
    return served(a_balancer(), service=a_served_service(conditions=there, **overrides))


@rows("snapshot settings subject sides source", {
    "as-is": (with_conditions(READY, IN_SYNC), LOCATED, CONDITION_IN_SYNC, (SYNCED, SYNCED), IN_SYNC.message + AT),
    "not-written": (with_conditions(READY, HELD), LOCATED, CONDITION_IN_SYNC, ("False Held", "False Held"),
        f"something is held{AT}; would be {SYNCED}: {IN_SYNC.message}"),
    "written": (with_conditions(READY, HELD, ingress=(V4,)), LOCATED, CONDITION_IN_SYNC, ("False Held", SYNCED),
        IN_SYNC.message),
    "none": (with_conditions(), LOCATED, CONDITION_READY, (None, None), f"{NONE}; would be {THERE}: {PUBLISHED}"),
    "none-written": (with_conditions(ingress=()), LOCATED, CONDITION_READY, (None, THERE), PUBLISHED),
    "status-unknown": (a_world([a_service()]), LOCATED, CONDITION_READY, (None, None),
        f"{NONE}; would be False NotCreated: {LACKING}"),
    "going": (with_conditions(READY, **GOES), LOCATED, CONDITION_READY, (THERE, THERE), PUBLISHED + AT),
    "gap": (served(load_balancers=GAP, service=a_served_service(conditions=(READY,))), LOCATED, CONDITION_READY,
        (THERE, THERE), PUBLISHED + AT),
})  # fmt: skip
def test_conditions(
    snapshot: Snapshot, settings: Settings, subject: str, sides: tuple[str | None, str | None], source: str
) -> None:
    """A condition of ours changes for certain only with a write that takes it along."""
    facts = {fact.subject: fact for fact in of_the_service(snapshot, settings).conditions}
    assert facts[subject] == Fact(subject, *sides, Basis.BALANCER, source)


def test_a_withheld_write_takes_no_condition_along() -> None:
    """What does not write the status now changes no condition."""
    *_, fact = of_the_service(with_conditions(READY, HELD, ingress=(V4,)), OBSERVE).conditions
    assert fact.value == fact.wanted


def test_other_conditions() -> None:
    """They are left alone, in their place."""
    _, fact, ours = of_the_service(with_conditions(READY, STRANGE)).conditions
    assert fact == Fact("example.com/Good", "True", "True", Basis.FOREIGN, "not managed here")
    assert ours.subject == CONDITION_IN_SYNC


# Ports.

LEADS, NOTHING = "tcp to node port 30080", rules.PORT_NOT_PLANNED.text()
DIFFERS, WITH = changes.PORT_CHANGED.text(port=80), said.COMES_WITH.text()


def port(number: int, node_port: int = 30080, protocol: str = "TCP") -> ClaimedPort:
    return ClaimedPort(number, protocol, node_port)


@rows("snapshot settings sides planned why", {
    "as-is": (served(a_balancer()), LOCATED, (LEADS, LEADS), None, rules.PORT_AS_ASKED.text()),
    "new": (a_world([a_service()]), LOCATED, (None, LEADS), Verb.ADD, WITH),
    "new-withheld": (a_world([a_service()]), OBSERVE, (None, LEADS), Verb.ADD, f"{WITH}; waiting (policy)"),
    "comes": (served(a_balancer(listeners=())), LOCATED, (None, LEADS), Verb.ADD, changes.PORT_ADDED.text(port=80)),
    "changes": (served(a_balancer(listeners=[a_listener(80, 31000)])), LOCATED, ("tcp to node port 31000", LEADS),
        Verb.MODIFY, DIFFERS),
    "changes-out-of-sight": (served(a_balancer(), service=claiming(health_check_interval="5s")), LOCATED,
        (LEADS, LEADS), Verb.MODIFY, DIFFERS),
    "no-node-port": (a_world([a_service(claim=a_claim(port(80, 0)))]), LOCATED, (None, None), None,
        rules.PORT_WITHOUT_NODE_PORT.text()),
    "malformed": (served(service=claiming(protocol="udp")), LOCATED, (None, None), None, NOTHING),
    "malformed-there": (served(a_balancer(), service=claiming(protocol="udp")), LOCATED, (LEADS, LEADS), None,
        rules.PORT_AS_ASKED.text()),
    "contested": (a_world(RIVALS, [named()]), LOCATED, (None, None), None, NOTHING),
    "deleted": (served(a_balancer(), service=a_served_service(**GOES)), LOCATED, (LEADS, None), Verb.REMOVE,
        said.GOES_WITH.text()),
    "released": (served(a_balancer(is_protected=True), service=a_served_service(**GOES)), LOCATED, (LEADS, LEADS), None,
        said.STAYS_WITH.text()),
})  # fmt: skip
def test_a_port(
    snapshot: Snapshot, settings: Settings, sides: tuple[str | None, str | None], planned: Verb | None, why: str
) -> None:
    assert of_the_service(snapshot, settings).listeners == (ListenerFact(80, "TCP", *sides, planned, why),)


def test_every_port_has_a_row() -> None:
    """Ports of both sides by number; those without balancing, or without room, with the words of the note."""
    service = claiming(port(443, 30443), port(53, 30053), port(53, 30053, "UDP"), port(9000, 30900, "SCTP"))
    there = [a_listener(53, 30053), a_listener(8080, 31080)]
    found = of_the_service(served(a_balancer(listeners=there, type=replace(LB11, max_services=1)), service=service))
    told = {(fact.port, fact.protocol): (fact.planned, fact.why) for fact in found.listeners}

    assert list(told) == [(53, "TCP"), (53, "UDP"), (443, "TCP"), (8080, "TCP"), (9000, "SCTP")]
    assert told[8080, "TCP"] == (Verb.REMOVE, changes.PORT_REMOVED.text(port=8080))
    assert told[53, "TCP"] == (None, rules.PORT_AS_ASKED.text())
    for number, protocol in ((443, "TCP"), (53, "UDP"), (9000, "SCTP")):
        assert told[number, protocol] == (None, next(n.text for n in found.notes if f"port {number} " in n.text))


@rows("there", {"new": (), "there": (an_http_listener(443, 30443),)})
@rows("asked why", {
    "named": ({"http_certificates": "shop"}, rules.PORT_WITHOUT_CERTIFICATE.text(cause="{certificate}")),
    "not-named": ({}, "{certificate}"),
})  # fmt: skip
def test_a_port_without_a_certificate(there: tuple[Listener, ...], asked: Mapping[str, str], why: str) -> None:
    """A port that waits for a certificate keeps what it has, and says so."""
    service = claiming(port(443, 30443), protocol="https", **asked)
    found = of_the_service(served(a_balancer(listeners=there), service=service, certificates=[]))
    (fact,) = found.listeners
    (note,) = (note.text for note in found.notes if "certificate" in note.text)
    assert (fact.planned, fact.why) == (None, why.replace("{certificate}", note))
    assert fact.value == fact.wanted == ("http to node port 30443" if there else None)


@pytest.mark.parametrize(("certificates", "text"), [
    ((), ""),
    (UNMANAGED, ""),
    ((5,), ", certificate 5"),
    ((5, 6), ", certificates 5, 6"),
    (KNOWN_AFTER_APPLY, ", with a certificate that is to come"),
])  # fmt: skip
def test_a_listener_in_short(certificates: Any, text: str) -> None:
    listener = a_listener(443, 30443, protocol=Protocol.HTTPS, http=HttpOptions(certificates=certificates))
    assert shown_listener(listener) == f"https to node port 30443{text}"


# Certificates.

DOMAINS, MANAGED_NAME = ("shop.example.com",), f"ccm-managed-certificate-{SERVICE_UID}"
MANAGED = {"certificate_type": "managed", "http_managed_certificate_domains": "shop.example.com"}
UPLOADED, SECOND = a_certificate(), a_certificate(6, "other")


def using(*ids: int, port: int = 443) -> Listener:
    return a_listener(port, 30443, protocol=Protocol.HTTPS, http=HttpOptions(certificates=ids))


def its_own(issuance: Issuance, error: str | None = None) -> Certificate:
    labels = {LABEL_SERVICE_UID: SERVICE_UID}
    return a_certificate(7, MANAGED_NAME, is_managed=True, labels=labels, issuance=issuance, error=error)


def told(
    number: int | None, name: str | None, state: str, *ports: int, asked_for: bool = True, error: str | None = None
) -> CertificateFact:
    return CertificateFact(number, name, DOMAINS if name else (), state, ports, asked_for, error)


@rows("asked listeners project expected", {
    "named": ({"http_certificates": "shop"}, [using(5)], [UPLOADED, SECOND], [told(5, "shop", "uploaded", 443)]),
    "by-id": ({"http_certificates": "6"}, [using(5), using(5, 6, port=444)], [UPLOADED, SECOND],
        [told(5, "shop", "uploaded", 443, 444, asked_for=False), told(6, "other", "uploaded", 444)]),
    "not-known": ({"http_certificates": "shop"}, [using(8)], [], [told(8, None, "not read", 443, asked_for=False)]),
    "not-read": ({}, [using(8)], None, [told(8, None, "not read", 443, asked_for=False)]),
    "issuing": (MANAGED, [], [its_own(Issuance.PENDING)], [told(7, MANAGED_NAME, "managed, pending")]),
    "failed": (MANAGED, [], [its_own(Issuance.FAILED, "no CAA")],
        [told(7, MANAGED_NAME, "managed, failed", error="no CAA")]),
    "to-be-created": (MANAGED, [using(5)], [UPLOADED],
        [told(5, "shop", "uploaded", 443, asked_for=False), told(None, MANAGED_NAME, "to be created")]),
    "not-planned": (MANAGED | {"algorithm_type": "fastest"}, [using(5)], [UPLOADED],
        [told(5, "shop", "uploaded", 443, asked_for=False)]),
})  # fmt: skip
def test_certificates(asked: Mapping[str, str], listeners: Any, project: Any, expected: list[CertificateFact]) -> None:
    """Each that the Service uses or asks for, by id, the one to come last; one that is not planned is not awaited."""
    service = claiming(port(443, 30443), protocol="https", **asked)
    found = of_the_service(served(a_balancer(listeners=listeners), service=service, certificates=project))
    assert list(found.certificates) == expected
    assert (found.pending == ()) or asked == MANAGED


# Targets.

PUBLIC = {number: ServerTarget(number, use_private_ip=False) for number in range(1, 10)}
PRIVATE_1, IN_IT = ServerTarget(1, use_private_ip=True), ((7, IPv4Address("10.0.0.2")),)
WEB_2, SERVER_2 = a_settled_node("web-2", 2), a_server(2, "web-2")
EXCLUDED = replace(WEB_2, labels={LABEL_EXCLUDE_FROM_BALANCERS: ""})
BY_PUBLIC = rules.TAKES_PUBLIC.text(server="server 2", address="203.0.113.2")
UNLISTED = rules.TARGET_SERVER_UNKNOWN.text(cause="not in the list, but the kubelet reports Ready")
OTHER_CLOUD = a_node("web-2", provider_id="aws://2")
NO_CLOUD = "providerID 'aws://2' belongs to another cloud"
OUT = rules.EXCLUDED_BY_LABEL.says
WITHHELD = f"{BY_PUBLIC}; waiting (policy)"
IP_2, UNKNOWN_IP = "203.0.113.2", "its public address"


def targets(
    nodes: Iterable[Node],
    servers: Iterable[Server],
    *balancers: Any,
    service: Service | None = None,
    settings: Settings = LOCATED,
    **overrides: Any,
) -> Mapping[str, TargetFact]:
    """Subject → what is said of it."""
    snapshot = served(*balancers, service=service, nodes=nodes, servers=servers, **overrides)
    return {fact.subject: fact for fact in of_the_service(snapshot, settings).targets}


@rows("node servers there settings membership sides why", {
    "target": (WEB_2, [SERVER_2], [PUBLIC[2]], LOCATED, Membership.TARGET, (IP_2, IP_2), BY_PUBLIC),
    "comes": (WEB_2, [SERVER_2], [], LOCATED, Membership.TARGET, (None, IP_2), BY_PUBLIC),
    "withheld": (WEB_2, [SERVER_2], [], OBSERVE, Membership.TARGET, (None, IP_2), WITHHELD),
    "goes": (EXCLUDED, [SERVER_2], [PUBLIC[2]], LOCATED, Membership.EXCLUDED, (IP_2, None), OUT),
    "kept-out": (EXCLUDED, [SERVER_2], [], LOCATED, Membership.EXCLUDED, (None, None), OUT),
    "serverless": (OTHER_CLOUD, [], [], LOCATED, Membership.SERVERLESS, (None, None), NO_CLOUD),
    "uncertain": (WEB_2, [], [PUBLIC[2]], LOCATED, Membership.UNCERTAIN, (UNKNOWN_IP, UNKNOWN_IP), UNLISTED),
})  # fmt: skip
def test_a_node(
    node: Node, servers: list[Server], there: Any, settings: Settings, membership: Membership, sides: Any, why: str
) -> None:
    """Each Node with what it is, the address by which it gets traffic now and then, and why."""
    balancer = a_balancer(targets=(PUBLIC[1], *there))
    found = targets([a_settled_node(), node], [a_server(), *servers], balancer, settings=settings)
    fact = found["web-2"]
    assert list(found) == ["web-1", "web-2"]
    assert (fact.membership, (fact.value, fact.wanted), fact.why) == (membership, sides, why)


@rows("there private sides", {
    "switch": ((PUBLIC[1], PUBLIC[2]), True, [("203.0.113.1", "10.0.0.2"), ("203.0.113.2", None)]),
    "twice": ((PUBLIC[1], PRIVATE_1, PUBLIC[2]), False, [("203.0.113.1, 10.0.0.2", "203.0.113.1"), (IP_2, IP_2)]),
})  # fmt: skip
def test_addresses_of_targets(there: Any, private: bool, sides: list[Any]) -> None:
    """A server has one line whatever addresses it gets traffic by; a switch shows both."""
    balancer = a_balancer(targets=there, attachments=(PLACE,))
    servers = [a_server(private_ips=((6, IPv4Address("10.6.6.6")), *IN_IT)), SERVER_2]
    service = claiming(use_private_ip=str(private).lower())
    found = targets(
        [a_settled_node(), WEB_2], servers, balancer, service=service, settings=IN_NETWORK, network=Present(NETWORK)
    )

    assert [(fact.value, fact.wanted) for fact in found.values()] == sides
    assert [fact.server_id for fact in found.values()] == [1, 2]


def test_a_node_without_room() -> None:
    """A Node for which the type has no room gets nothing, and its line says so at length."""
    small = a_balancer(targets=(PUBLIC[2],), type=replace(LB11, max_targets=1))
    fact = targets([a_settled_node(), WEB_2], [a_server(), SERVER_2], small)["web-1"]
    assert (fact.membership, fact.value, fact.wanted) == (Membership.OVER_LIMIT, None, None)
    assert fact.why.startswith(rules.ROOM_LACKING.says.partition("{")[0])


IP = IpTarget("192.0.2.1")


@pytest.mark.parametrize(("checks", "health"), [
    ({80: Health.HEALTHY, 443: Health.UNHEALTHY}, Health.UNHEALTHY),
    ({80: Health.UNKNOWN, 443: Health.HEALTHY}, Health.UNKNOWN),
    ({80: Health.HEALTHY}, Health.HEALTHY),
    ({}, None),
])  # fmt: skip
def test_health(checks: Mapping[int, Health], health: Health | None) -> None:
    """Of several listeners the one counts that fails; nothing is said of what is no target."""
    balancer = replace(a_balancer(targets=(PUBLIC[1], IP)), checks={PUBLIC[1]: checks, IP: {80: Health.HEALTHY}})
    found = targets([a_settled_node(), EXCLUDED], [a_server(), SERVER_2], balancer)
    assert [fact.health for fact in found.values()] == [health, None, Health.HEALTHY]


NO_NODE = changes.TARGET_WITHOUT_NODE.text(server="server 8")


@rows("target subject sides why", {
    "address": (IP, "ip:192.0.2.1", ("ip:192.0.2.1", "ip:192.0.2.1"), "not managed here"),
    "selector": (SelectorTarget("a=b", use_private_ip=False), "selector:a=b", ("selector:a=b", "selector:a=b"),
        "not managed here"),
    "no-node": (PUBLIC[8], "server:8", ("203.0.113.8", None), f"{NO_NODE}; held (silent-cluster)"),
    "gone": (PUBLIC[9], "server:9", (UNKNOWN_IP, None), changes.TARGET_GONE.text(server="server 9")),
})  # fmt: skip
def test_a_target_that_is_no_nodes(target: Any, subject: str, sides: tuple[str | None, str | None], why: str) -> None:
    """It is told after the Nodes, with what becomes of it."""
    balancer = a_balancer(targets=(target, PUBLIC[1]))
    found = targets([a_settled_node()], [a_server(), a_server(8, "x")], balancer, confirmations={9: Absent()})
    fact = found[subject]
    assert list(found) == ["web-1", subject]
    assert (fact.membership, (fact.value, fact.wanted), fact.why) == (None, sides, why)


def test_a_target_that_may_be_an_unreadable_nodes() -> None:
    """While it is not known whose a server is it stays."""
    nodes = replace(nodes_of(a_settled_node()), unreadable={"web-2": "no uid"})
    snapshot = served(a_balancer(targets=(PUBLIC[1], PUBLIC[8])), servers=[a_server(), a_server(8)])
    found = {fact.subject: fact for fact in of_the_service(replace(snapshot, nodes=nodes)).targets}

    assert found["web-2"].membership is Membership.UNCERTAIN
    assert (found["server:8"].wanted, found["server:8"].why) == (
        "203.0.113.8",
        said.TARGET_LEFT.text(server="server 8"),
    )


def test_a_target_that_is_not_planned() -> None:
    foreign, service = named(cluster_uid="another"), a_served_service(claim=SHOP)
    (fact,) = targets([WEB_2], [SERVER_2], foreign, service=service).values()
    assert (fact.membership, fact.value, fact.wanted) == (Membership.TARGET, None, None)
    assert fact.why == said.TARGET_UNPLANNED.text(target=BY_PUBLIC)


@pytest.mark.parametrize(
    ("is_protected", "wanted", "why"),
    [(False, None, said.GOES_WITH.text()), (True, "203.0.113.1", said.STAYS_WITH.text())],
)
def test_targets_of_a_service_that_goes(is_protected: bool, wanted: str | None, why: str) -> None:
    """What is there is told; no Node is anything to it any more."""
    balancer = a_balancer(targets=(PUBLIC[1], PUBLIC[8], IP), is_protected=is_protected)
    found = targets([a_settled_node(), WEB_2], [a_server(), SERVER_2], balancer, service=a_served_service(**GOES))
    first = found["web-1"]
    assert list(found) == ["web-1", "server:8", "ip:192.0.2.1"]
    assert (first.membership, first.server_id, first.wanted, first.why) == (None, 1, wanted, why)
    assert found["ip:192.0.2.1"].server_id is None
