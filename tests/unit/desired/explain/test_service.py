"""Rows of a Service: its load balancer and labels, addresses, conditions, ports, targets, certificates, annotations."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import timedelta
from ipaddress import IPv4Address
from typing import Any

import pytest

from desired.annotations.choices import Protocol
from desired.annotations.claims import ClaimedPort
from desired.annotations.options import OPTIONS, PREFIX, Options
from desired.explain.rows import Part, Row
from desired.explain.service import shown_listener
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
from desired.model.snapshot import Snapshot
from desired.names import (
    CONDITION_IN_SYNC,
    CONDITION_READY,
    FINALIZER_BALANCER,
    LABEL_CLUSTER_UID,
    LABEL_EXCLUDE_FROM_BALANCERS,
    LABEL_FORMER,
    LABEL_RELEASED,
    LABEL_SERVICE_UID,
)
from desired.plan.notes import Note, NoteKind
from desired.planner import compute_plan
from desired.section import UNMANAGED, Absent, Present, Section, Unknown
from tests.balancers import (
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
from tests.support.explanations import shown_rows
from tests.support.judging import explain, judge
from tests.support.keys import key_of
from tests.support.rows import rows
from tests.support.service_explanations import RIVAL_UID, of_the_service

OBSERVE = replace(LOCATED, policy=Policy.OBSERVE)
SHOP, BAD = a_claim(annotations=annotated(name="shop")), a_claim(annotations=annotated(protocol="udp"))
GAP: Any = incomplete(Section({}), "429")
GOES: Mapping[str, Any] = {"deleted_at": NOW}
OTHER = "other-cluster"
RIVALS = [a_served_service(claim=SHOP), a_service("api", uid=RIVAL_UID, claim=SHOP)]
GIVEN_BACK = {LABEL_CLUSTER_UID: CLUSTER_UID, LABEL_FORMER: "default.web", LABEL_RELEASED: "20260701T121000Z"}
LEFT_BEHIND = a_balancer(service_uid=None, spec={"name": "was-42", "labels": GIVEN_BACK})
PROTECTED = a_balancer(is_protected=True)


def served(*balancers: Any, service: Service | None = None, **overrides: Any) -> Snapshot:
    return a_world([service or a_served_service()], balancers, **overrides)


def new(*balancers: Any, **overrides: Any) -> Snapshot:
    return a_world([a_service(**overrides)], balancers)


def going(*balancers: Any, **overrides: Any) -> Snapshot:
    return a_world([a_served_service(**{**GOES, **overrides})], balancers)


def claiming(*ports: ClaimedPort, **asked: str) -> Service:
    return a_served_service(claim=a_claim(*ports, annotations=annotated(**asked)))


def named(service_uid: str | None = None, cluster_uid: str | None = None) -> Any:
    return a_balancer(spec={"name": "shop"}, service_uid=service_uid, cluster_uid=cluster_uid)


def told(snapshot: Snapshot, settings: Settings, part: Part, *subjects: str) -> list[str]:
    return shown_rows(of_the_service(snapshot, settings).rows, part, *subjects)


@rows("snapshot settings expected", {
    "owned": (served(a_balancer()), LOCATED, ["match [owned]: 42, own-by-label"]),
    "new": (new(), LOCATED, ["match [missing]: (none) -> (known after apply), none-named"]),
    "new, without a name": (new(claim=a_claim(annotations=annotated(name=" shop"))), LOCATED,
        ["match [missing]: (none), none-labelled"]),
    "adoptable by name": (new(named(), claim=SHOP), LOCATED, ["match [adoptable]: 42, found-by-name"]),
    "adoptable by address": (served(named()), LOCATED, ["match [adoptable]: 42, found-by-address"]),
    "given back": (new(LEFT_BEHIND), LOCATED, ["match [adoptable]: 42, found-by-former"]),
    "gap": (a_world([a_service()], load_balancers=GAP), LOCATED, ["match [undecided]: (none), balancer-unknown"]),
    "of another cluster": (new(named(cluster_uid=OTHER), claim=SHOP), LOCATED,
        ["match [foreign]: (none), balancer-of-cluster", "nearest: 42, None"]),
    "of another cluster by its label": (a_world(RIVALS, [named(service_uid=SERVICE_UID, cluster_uid=OTHER)]), LOCATED,
        ["match [foreign]: (none), balancer-of-cluster", "nearest: 42, None"]),
    "contested": (a_world(RIVALS, [named()]), LOCATED, ["match [contested]: (none), name-contested",
        "nearest: 42, None"]),
    "contested, none": (a_world(RIVALS), LOCATED,
        ["match [contested]: (none) -> (known after apply), name-contested, refused"]),
    "labelled of two": (a_world(RIVALS, [named(service_uid=SERVICE_UID)]), LOCATED,
        ["match [owned]: 42, own-by-label"]),
    "ambiguous": (served(a_balancer(), a_balancer(43)), LOCATED, ["match [ambiguous]: (none), several-balancers"]),
    "deleted": (going(a_balancer()), LOCATED, ["match [owned]: 42 -> (none), own-by-label",
        "end [deleted]: (none), deleted-with-service"]),
    "released": (going(PROTECTED, deleted_at=None, type="ClusterIP"), LOCATED, ["match [owned]: 42, own-by-label",
        "end [released]: (none), retained-protected"]),
    "gone": (going(), LOCATED, ["match [missing]: (none), none-labelled"]),
    "held up by others": (going(a_balancer(), finalizers=(FINALIZER_BALANCER, "x", "y")), LOCATED,
        ["match [owned]: 42 -> (none), own-by-label", "end [deleted]: (none), deleted-with-service",
        "other finalizers: x, y, waits-for-finalizers"]),
    "left by others": (going(a_balancer(), deleted_at=None, type="ClusterIP", finalizers=("x",)), LOCATED,
        ["match [owned]: 42 -> (none), own-by-label, held", "end [deleted]: (none), deleted-with-service"]),
    "never claimed": (a_world([a_service(**GOES)]), LOCATED, ["match [unclaimed]: (none), never-claimed"]),
    "of another class": (new(load_balancer_class="x/y"), LOCATED, ["match [foreign]: (none), of-another-controller"]),
    "of no type": (new(type="NodePort"), LOCATED, ["match [unclaimed]: (none), wants-no-load-balancer"]),
})  # fmt: skip
def test_a_load_balancer(snapshot: Snapshot, settings: Settings, expected: list[str]) -> None:
    """The match, the end, and finalizers that keep a Service."""
    subjects = ("match", "end", "nearest", "other finalizers")
    assert told(snapshot, settings, Part.LOAD_BALANCER, *subjects) == expected


PLACE = Attachment(7, IPv4Address("10.0.0.9"))


def test_the_fields_of_a_load_balancer() -> None:
    """Those that a person asks for first; an address that is not known, or no limit, is left out."""
    whole = a_balancer(attachments=(PLACE, Attachment(8, UNMANAGED)), is_protected=True)
    endless = replace(LB11, max_services=NO_LIMIT, max_targets=NO_LIMIT)
    closed = replace(a_balancer(spec={"public_interface": False, "location": None}, type=endless), ipv6=None)
    found, other = (
        {row.subject: row.value for row in of_the_service(served(each)).rows if row.part is Part.LOAD_BALANCER}
        for each in (whole, closed)
    )

    assert found == {
        "match": "42",
        "name": f"a{SERVICE_UID.replace('-', '')}"[:32],
        "type": "lb11 in fsn1",
        "ports": "1 of 5",
        "targets": "1 of 25",
        "addresses": "203.0.113.200, 2001:db8::200, 10.0.0.9 in network 7",
        "protection": "against deletion",
    }
    assert (other["type"], other["ports"], other["targets"]) == ("lb11 in eu-central", "1", "1")
    assert other["addresses"] == "203.0.113.200 (switched off)"


TWO = [a_service(claim=SHOP), a_service("api", uid=RIVAL_UID)]


@rows("snapshot expected", {
    "ours": (served(a_balancer()), ["hcloud-ccm/service-uid: SERVICE, label-of-this-service",
        "cluster-uid: CLUSTER, label-of-this-cluster"]),
    "unsaid": (served(a_balancer(cluster_uid=None)), ["hcloud-ccm/service-uid: SERVICE, label-of-this-service",
        "cluster-uid: (none), label-of-no-cluster"]),
    "written": (served(a_balancer(cluster_uid=None), service=a_served_service(claim=SHOP)),
        ["hcloud-ccm/service-uid: SERVICE, label-of-this-service",
        "cluster-uid: (none) -> CLUSTER, label-of-this-cluster"]),
    "unread": (served(a_balancer(), cluster_uid=Unknown("403")),
        ["hcloud-ccm/service-uid: SERVICE, label-of-this-service", "cluster-uid: CLUSTER, label-of-a-cluster"]),
    "of a dead Service of ours": (new(named(service_uid="dead", cluster_uid=CLUSTER_UID), claim=SHOP),
        ["hcloud-ccm/service-uid: dead -> SERVICE, label-of-this-service",
        "cluster-uid: CLUSTER, label-of-this-cluster"]),
    "of a dead Service": (new(named(service_uid="dead"), claim=SHOP),
        ["hcloud-ccm/service-uid: dead -> SERVICE, label-of-this-service, held",
        "cluster-uid: (none) -> CLUSTER, label-of-this-cluster, held",
        "adopted: (none) -> true, label-of-adoption, held"]),
    "of a living Service": (a_world(TWO, [named(service_uid=RIVAL_UID)]),
        ["hcloud-ccm/service-uid: RIVAL -> SERVICE, label-of-this-service, refused",
        "cluster-uid: (none) -> CLUSTER, label-of-this-cluster, refused"]),
    "of another cluster": (new(named(service_uid="far", cluster_uid=OTHER), claim=SHOP),
        ["hcloud-ccm/service-uid: far -> SERVICE, label-of-this-service, refused",
        "cluster-uid: other-cluster -> CLUSTER, label-of-this-cluster, refused"]),
    "released": (going(PROTECTED), ["hcloud-ccm/service-uid: SERVICE -> (none), label-of-this-service",
        "cluster-uid: CLUSTER, label-of-this-cluster", "released: (none) -> 20260701T120000Z, label-of-release",
        "service: (none) -> default.web, label-of-former-service"]),
    "given back": (new(LEFT_BEHIND), ["hcloud-ccm/service-uid: (none) -> SERVICE, label-of-this-service",
        "cluster-uid: CLUSTER, label-of-this-cluster", "released: 20260701T121000Z -> (none), label-of-release",
        "adopted: (none) -> true, label-of-adoption", "service: default.web -> (none), label-of-former-service"]),
})  # fmt: skip
def test_labels(snapshot: Snapshot, expected: list[str]) -> None:
    """Each label that names the owner."""
    short = {CLUSTER_UID: "CLUSTER", SERVICE_UID: "SERVICE", RIVAL_UID: "RIVAL", "hcloud-reconciler/": ""}
    found = told(snapshot, LOCATED, Part.LABELS)
    for long, word in short.items():
        found = [each.replace(long, word) for each in found]
    assert found == expected


V4, V6 = Ingress("203.0.113.200", ip_mode="VIP"), Ingress("2001:db8::200", ip_mode="VIP")
NAMED = a_served_service(claim=a_claim(annotations=annotated(hostname="lb.example")), ingress=())


def publishing(*entries: Ingress, balancer: Any = None, **asked: str) -> Snapshot:
    return served(balancer or a_balancer(), service=replace(claiming(**asked), ingress=entries))


@rows("snapshot settings expected", {
    "as it is": (served(a_balancer()), LOCATED, ["IP: 203.0.113.200 (VIP), address-public",
        "IP: 2001:db8::200 (VIP), address-public"]),
    "come, stay and go": (publishing(Ingress("203.0.113.9"), V6, balancer=a_balancer(attachments=(PLACE,))), LOCATED,
        ["IP: 203.0.113.9 -> (none), address-strange", "IP: 2001:db8::200 (VIP), address-public",
        "IP: (none) -> 203.0.113.200 (VIP), address-public", "IP: (none) -> 10.0.0.9 (VIP), address-private"]),
    "withheld": (publishing(V4), OBSERVE, ["IP: 203.0.113.200 (VIP), address-public",
        "IP: (none) -> 2001:db8::200 (VIP), address-public, waiting"]),
    "another change withheld": (publishing(V4, node_selector="tier=none"), LOCATED,
        ["IP: 203.0.113.200 (VIP), address-public", "IP: (none) -> 2001:db8::200 (VIP), address-public"]),
    "new": (new(), LOCATED, ["IP: (none) -> (known after apply), service.status"]),
    "released": (going(a_balancer(), ingress=(replace(V4, has_ports=True),)), LOCATED,
        ["IP: 203.0.113.200 (VIP), with ports -> (none), address-public"]),
    "left alone": (new(type="ClusterIP", ingress=(V4,)), LOCATED, ["IP: 203.0.113.200 (VIP), address-of-none"]),
    "hostname": (served(a_balancer(), service=NAMED), LOCATED, ["Hostname: (none) -> lb.example, address-asked"]),
})  # fmt: skip
def test_addresses(snapshot: Snapshot, settings: Settings, expected: list[str]) -> None:
    assert told(snapshot, settings, Part.ADDRESSES) == expected


READY = ServiceCondition(CONDITION_READY, "True", "AddressPublished", "published", NOW - timedelta(hours=1))
HELD = ServiceCondition(CONDITION_IN_SYNC, "False", "Held", "something is held", NOW - timedelta(hours=1))
STRANGE = ServiceCondition("example.com/Good", "True", "", "all is well", NOW)


def saying(*there: ServiceCondition, **overrides: Any) -> Snapshot:
    return served(a_balancer(), service=a_served_service(conditions=there, **overrides))


@rows("snapshot settings expected", {
    "as they are": (saying(READY, HELD), LOCATED, ["LoadBalancerReady: True AddressPublished, None",
        "LoadBalancerInSync: False Held, None"]),
    "a planned write takes them along": (saying(READY, HELD, ingress=(V4,)), LOCATED,
        ["LoadBalancerReady: True AddressPublished, None", "LoadBalancerInSync: False Held -> True InSync, None"]),
    "a withheld write does not": (saying(READY, HELD, ingress=(V4,)), OBSERVE,
        ["LoadBalancerReady: True AddressPublished, None", "LoadBalancerInSync: False Held, None"]),
    "none yet": (saying(ingress=()), LOCATED, ["LoadBalancerReady: (none) -> True AddressPublished, None",
        "LoadBalancerInSync: (none) -> True InSync, None"]),
    "none known before the apply": (new(), LOCATED, []),
    "of others": (saying(STRANGE, READY), LOCATED, ["example.com/Good: True, left-alone",
        "LoadBalancerReady: True AddressPublished, None"]),
})  # fmt: skip
def test_conditions(snapshot: Snapshot, settings: Settings, expected: list[str]) -> None:
    assert told(snapshot, settings, Part.CONDITIONS) == expected


def test_since_when_a_condition_is_so() -> None:
    (row,) = (row for row in of_the_service(saying(READY)).rows if row.part is Part.CONDITIONS)
    assert row.why == "published, since 2026-07-01 11:00 UTC"


def port(number: int, node_port: int = 30080, protocol: str = "TCP") -> ClaimedPort:
    return ClaimedPort(number, protocol, node_port)


SMALL = a_balancer(listeners=[a_listener(53, 30053), a_listener(8080, 31080)], type=replace(LB11, max_services=1))
MANY = claiming(port(443, 30443), port(53, 30053), port(53, 30053, "UDP"), port(9000, 30900, "SCTP"))
FAILING = a_balancer(health={ServerTarget(1, use_private_ip=False): Health.UNHEALTHY})


def secure(there: Any, **asked: str) -> Snapshot:
    service = claiming(port(443, 30443), protocol="https", **asked)
    return served(a_balancer(listeners=there), service=service, certificates=[])


@rows("snapshot settings expected", {
    "as it is": (served(a_balancer()), LOCATED, ["80 [0/1 healthy]: tcp to node port 30080, port-as-asked"]),
    "failing": (served(FAILING), LOCATED, ["80 [0/1 healthy]: tcp to node port 30080, port-as-asked"]),
    "new": (new(), LOCATED, ["80: (none) -> tcp to node port 30080, comes-with-balancer"]),
    "new, withheld": (new(), OBSERVE, ["80: (none) -> tcp to node port 30080, comes-with-balancer, waiting"]),
    "comes": (served(a_balancer(listeners=())), LOCATED, ["80: (none) -> tcp to node port 30080, lb.listener"]),
    "changes": (served(a_balancer(listeners=[a_listener(80, 31000)])), LOCATED,
        ["80 [0/1 healthy]: tcp to node port 31000 -> tcp to node port 30080, lb.listener"]),
    "changes out of sight": (served(a_balancer(), service=claiming(health_check_interval="5s")), LOCATED,
        ["80 [0/1 healthy]: tcp to node port 30080 -> tcp to node port 30080, otherwise, lb.listener"]),
    "without a node port": (new(claim=a_claim(port(80, 0))), OBSERVE, ["80: (none), port-awaits-node-port"]),
    "malformed": (new(claim=BAD), LOCATED, ["80: (none), port-not-planned"]),
    "malformed, and there": (served(a_balancer(), service=claiming(protocol="udp")), LOCATED,
        ["80 [0/1 healthy]: tcp to node port 30080, port-as-asked"]),
    "contested": (a_world(RIVALS, [named()]), LOCATED, ["80: (none), port-not-planned"]),
    "deleted": (going(a_balancer()), LOCATED, ["80: tcp to node port 30080 -> (none), goes-with-balancer"]),
    "released": (going(PROTECTED), LOCATED, ["80: tcp to node port 30080, stays-with-balancer"]),
    "not balanced, or without room": (served(SMALL, service=MANY), LOCATED,
        ["53 [0/1 healthy]: tcp to node port 30053, port-as-asked", "443: (none), limit",
        "8080 [0/1 healthy]: tcp to node port 31080 -> (none), lb.listener", "53/UDP: (none), unsupported",
        "9000/SCTP: (none), unsupported"]),
    "without a certificate": (secure(()), LOCATED, ["443: (none), certificate"]),
    "keeps what it has without a certificate": (secure((an_http_listener(443, 30443),)), LOCATED,
        ["443 [0/1 healthy]: http to node port 30443, certificate"]),
    "without the named certificate": (secure((), http_certificates="shop"), LOCATED,
        ["443: (none), port-without-certificate"]),
})  # fmt: skip
def test_ports(snapshot: Snapshot, settings: Settings, expected: list[str]) -> None:
    assert told(snapshot, settings, Part.PORTS) == expected


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


MANAGED_NAME = f"ccm-managed-certificate-{SERVICE_UID}"
MANAGED = {"certificate_type": "managed", "http_managed_certificate_domains": "shop.example.com"}
UPLOADED, SECOND = a_certificate(), a_certificate(6, "other")


def using(*ids: int, port: int = 443) -> Listener:
    return a_listener(port, 30443, protocol=Protocol.HTTPS, http=HttpOptions(certificates=ids))


def its_own(issuance: Issuance, error: str | None = None) -> Certificate:
    labels = {LABEL_SERVICE_UID: SERVICE_UID}
    return a_certificate(7, "its-own", is_managed=True, labels=labels, issuance=issuance, error=error)


@rows("asked listeners project expected", {
    "named": ({"http_certificates": "shop"}, [using(5)], [UPLOADED, SECOND],
        ["5 [uploaded]: shop -> shop, used by port 443"]),
    "by id": ({"http_certificates": "6"}, [using(5), using(5, 6, port=444)], [UPLOADED, SECOND],
        ["5 [uploaded]: shop -> shop, used by port 443, 444, not requested",
        "6 [uploaded]: other -> other, used by port 444"]),
    "not known": ({"http_certificates": "shop"}, [using(8)], [],
        ["8 [not read]: None -> None, used by port 443, not requested"]),
    "not read": ({}, [using(8)], None, ["8 [not read]: None -> None, used by port 443, not requested"]),
    "issuing": (MANAGED, [], [its_own(Issuance.PENDING)], ["7 [managed, pending]: its-own -> its-own, not used"]),
    "failed": (MANAGED, [], [its_own(Issuance.FAILED, "no CAA")],
        ["7 [managed, failed]: its-own -> its-own, no CAA; not used"]),
    "to be created": (MANAGED, [using(5)], [UPLOADED], ["5 [uploaded]: shop -> shop, used by port 443, not requested",
        "new [None]: None -> ccm-managed-certificate-1f2e3d4c-5b6a-7980-aabb-ccddeeff0011, for shop.example.com"]),
    "not planned": (MANAGED | {"algorithm_type": "fastest"}, [using(5)], [UPLOADED],
        ["5 [uploaded]: shop -> shop, used by port 443, not requested"]),
})  # fmt: skip
def test_certificates(asked: Mapping[str, str], listeners: Any, project: Any, expected: list[str]) -> None:
    """Each that the Service uses or asks for, by id, with its use; the one to come last."""
    service = claiming(port(443, 30443), protocol="https", **asked)
    found = of_the_service(served(a_balancer(listeners=listeners), service=service, certificates=project)).rows
    assert [
        f"{row.subject} [{row.state}]: {row.value} -> {row.wanted}, {row.why}"
        for row in found
        if row.part is Part.CERTIFICATES
    ] == expected


PUBLIC = {number: ServerTarget(number, use_private_ip=False) for number in range(1, 10)}
PRIVATE_1, IN_IT = ServerTarget(1, use_private_ip=True), ((7, IPv4Address("10.0.0.2")),)
WEB_1, WEB_2, SERVER_2 = a_settled_node(), a_settled_node("web-2", 2), a_server(2, "web-2")
EXCLUDED = replace(WEB_2, labels={LABEL_EXCLUDE_FROM_BALANCERS: ""})
ATTACHED = [a_server(private_ips=((6, IPv4Address("10.6.6.6")), *IN_IT)), SERVER_2]
IP, SELECTOR = IpTarget("192.0.2.1"), SelectorTarget("a=b", use_private_ip=False)


def reaching(
    *targets: Any,
    nodes: Any = (WEB_1, WEB_2),
    servers: Any = (),
    service: Any = None,
    world: Any = None,
    **fields: Any,
) -> Snapshot:
    """A load balancer with these targets, beside two Nodes."""
    servers = servers or (a_server(), SERVER_2)
    found = a_balancer(targets=targets, **fields)
    return served(found, service=service, nodes=nodes, servers=servers, **(world or {}))


def checked(*checks: Health) -> Snapshot:
    found = replace(a_balancer(targets=(PUBLIC[1],)), checks={PUBLIC[1]: dict(enumerate(checks, 80))})
    return served(found, nodes=[WEB_1], servers=[a_server()])


def switching(*targets: Any, private: bool) -> Snapshot:
    service = claiming(use_private_ip=str(private).lower())
    return reaching(
        *targets, servers=ATTACHED, service=service, attachments=(PLACE,), world={"network": Present(NETWORK)}
    )


@rows("snapshot settings expected", {
    "as they are": (reaching(PUBLIC[1], PUBLIC[2]), LOCATED, ["web-1 [target]: 203.0.113.1, takes-traffic",
        "web-2 [target]: 203.0.113.2, takes-traffic"]),
    "one comes": (reaching(PUBLIC[1]), LOCATED, ["web-1 [target]: 203.0.113.1, takes-traffic",
        "web-2 [target]: (none) -> 203.0.113.2, takes-traffic"]),
    "withheld": (reaching(PUBLIC[1]), OBSERVE, ["web-1 [target]: 203.0.113.1, takes-traffic",
        "web-2 [target]: (none) -> 203.0.113.2, takes-traffic, waiting"]),
    "one goes": (reaching(PUBLIC[1], PUBLIC[2], nodes=(WEB_1, EXCLUDED)), LOCATED,
        ["web-1 [target]: 203.0.113.1, takes-traffic", "web-2 [excluded]: 203.0.113.2 -> (none), excluded-by-label"]),
    "kept out": (reaching(PUBLIC[1], nodes=(WEB_1, EXCLUDED)), LOCATED, ["web-1 [target]: 203.0.113.1, takes-traffic",
        "web-2 [excluded]: (none), excluded-by-label"]),
    "serverless": (reaching(PUBLIC[1], nodes=(WEB_1, a_node("web-2", provider_id="aws://2"))), LOCATED,
        ["web-1 [target]: 203.0.113.1, takes-traffic", "web-2 [serverless]: (none), node-foreign-likely"]),
    "uncertain": (reaching(PUBLIC[1], PUBLIC[2], servers=[a_server()]), LOCATED,
        ["web-1 [target]: 203.0.113.1, takes-traffic", "web-2 [uncertain]: its public address, on-unknown-server"]),
    "without room": (reaching(PUBLIC[2], type=replace(LB11, max_targets=1)), LOCATED,
        ["web-1 [over-limit]: (none), over-limit", "web-2 [target]: 203.0.113.2, takes-traffic"]),
    "to private addresses": (switching(PUBLIC[1], PUBLIC[2], private=True), IN_NETWORK,
        ["web-1 [target]: 203.0.113.1 -> 10.0.0.2, takes-traffic-inside",
        "web-2 [unusable]: 203.0.113.2 -> (none), not-attached"]),
    "twice": (switching(PUBLIC[1], PRIVATE_1, PUBLIC[2], private=False), IN_NETWORK,
        ["web-1 [target]: 203.0.113.1, 10.0.0.2 -> 203.0.113.1, takes-traffic",
        "web-2 [target]: 203.0.113.2, takes-traffic"]),
    "not planned": (a_world([a_service(claim=SHOP)], [named(cluster_uid=OTHER)], nodes=[WEB_2], servers=[SERVER_2]),
        LOCATED, ["web-2 [target]: (none), takes-traffic"]),
    "one check fails": (checked(Health.HEALTHY, Health.UNHEALTHY), LOCATED,
        ["web-1 [unhealthy]: 203.0.113.1, takes-traffic"]),
    "one check is unknown": (checked(Health.UNKNOWN, Health.HEALTHY), LOCATED,
        ["web-1 [unknown]: 203.0.113.1, takes-traffic"]),
    "all checks pass": (checked(Health.HEALTHY, Health.HEALTHY), LOCATED,
        ["web-1 [healthy]: 203.0.113.1, takes-traffic"]),
    "of others": (reaching(PUBLIC[1], PUBLIC[2], IP, SELECTOR), LOCATED, ["web-1 [target]: 203.0.113.1, takes-traffic",
        "web-2 [target]: 203.0.113.2, takes-traffic", "ip:192.0.2.1: ip:192.0.2.1, left-alone",
        "selector:a=b: selector:a=b, left-alone"]),
    "of no Node": (reaching(PUBLIC[1], PUBLIC[8], nodes=[WEB_1], servers=[a_server(), a_server(8, "x")]), LOCATED,
        ["web-1 [target]: 203.0.113.1, takes-traffic", "server:8: 203.0.113.8 -> (none), lb.target, held"]),
    "of no server": (reaching(PUBLIC[1], PUBLIC[9], nodes=[WEB_1], world={"confirmations": {9: Absent()}}), LOCATED,
        ["web-1 [target]: 203.0.113.1, takes-traffic", "server:9: its public address -> (none), lb.target"]),
    "maybe of an unreadable Node": (replace(reaching(PUBLIC[1], PUBLIC[8], servers=[a_server(), a_server(8)]),
        nodes=replace(nodes_of(WEB_1), unreadable={"web-2": "no uid"})), LOCATED,
        ["web-1 [target]: 203.0.113.1, takes-traffic", "web-2 [uncertain]: (none), unreadable-node",
        "server:8: 203.0.113.8, target-left"]),
    "deleted": (reaching(PUBLIC[1], PUBLIC[8], IP, service=a_served_service(**GOES)), LOCATED,
        ["web-1: 203.0.113.1 -> (none), goes-with-balancer",
        "server:8: its public address -> (none), goes-with-balancer",
        "ip:192.0.2.1: ip:192.0.2.1 -> (none), goes-with-balancer"]),
    "released": (reaching(PUBLIC[1], service=a_served_service(**GOES), is_protected=True), LOCATED,
        ["web-1: 203.0.113.1, stays-with-balancer"]),
})  # fmt: skip
def test_targets(snapshot: Snapshot, settings: Settings, expected: list[str]) -> None:
    """Each Node in the order of names, then the targets that are no Node's."""
    assert told(snapshot, settings, Part.TARGETS) == expected


@rows("snapshot settings remedy", {
    "unusable": (switching(PUBLIC[1], PUBLIC[2], private=True), IN_NETWORK, "attach it, or set "),
    "excluded on purpose": (reaching(PUBLIC[1], nodes=(WEB_1, EXCLUDED)), LOCATED, ""),
})  # fmt: skip
def test_the_remedy_of_a_node_that_should_be_a_target(snapshot: Snapshot, settings: Settings, remedy: str) -> None:
    found = of_the_service(snapshot, settings).rows
    (said,) = (row.remedy for row in found if (row.part, row.subject) == (Part.TARGETS, "web-2"))
    assert said.startswith(remedy) if remedy else said == ""


BY_TYPE = Settings(balancer_defaults=Options(type="lb31"))
OVERRULED = {"network_zone": "eu-central", "location": "nbg1"}


def asking(*balancers: Any, **asked: str) -> Snapshot:
    return served(*balancers, service=claiming(**asked))


@rows("snapshot settings key expected", {
    "annotation": (asking(a_balancer(), type="lb21"), BY_TYPE, "type", ["lb21", "annotation",
        "set on the Service; the load balancer has lb11"]),
    "variable": (asking(), BY_TYPE, "type", ["lb31", "environment", "default from HCLOUD_LOAD_BALANCERS_TYPE"]),
    "unset": (asking(), LOCATED, "algorithm-type", [None, "unset", "not set: round_robin at creation"]),
    "unset, and there": (asking(a_balancer()), LOCATED, "type", [None, "unset",
        "not set: lb11 at creation; the load balancer has lb11"]),
    "as the load balancer has it": (asking(a_balancer()), LOCATED, "location", ["fsn1", "environment",
        "default from HCLOUD_LOAD_BALANCERS_LOCATION"]),
    "of another's load balancer": (new(named(cluster_uid="x"), claim=SHOP), LOCATED, "name", ["shop", "annotation",
        "set on the Service"]),
})  # fmt: skip
def test_an_annotation(snapshot: Snapshot, settings: Settings, key: str, expected: list[str | None]) -> None:
    """The annotation or variable that decides, the default, and the present value if it differs."""
    (row,) = (row for row in of_the_service(snapshot, settings).rows if row.subject == f"{PREFIX}{key}")
    assert [row.value, row.state, row.why] == expected


def annotations(snapshot: Snapshot, settings: Settings = LOCATED) -> dict[str, Row]:
    found = of_the_service(snapshot, settings).rows
    return {row.subject.removeprefix(PREFIX): row for row in found if row.part is Part.ANNOTATIONS}


def test_every_annotation_has_a_row() -> None:
    """All that may be asked for, in the order of the table, with its default."""
    found = annotations(new())
    assert [key if "/" in key else f"{PREFIX}{key}" for key in found] == [row.full_key for row in OPTIONS.values()]
    defaults = {f"not set: {row.when_unset.replace('`', '')}" for row in OPTIONS.values() if row.name != "location"}
    assert {row.why for row in found.values() if row.state == "unset"} == defaults


def test_problems_and_warnings() -> None:
    """Wrong and useless values stand with their annotation; other notes by themselves, and nothing twice."""
    odd = {f"{PREFIX}nmae": "x", f"{PREFIX}id": "7", "example.com/a": "b"}
    asked = annotated(health_check_interval="9", http_cookie_name="C", **OVERRULED)
    settings = replace(LOCATED, balancer_defaults=Options(location="fsn1", health_check_retries=9))
    world = new(claim=a_claim(annotations=asked | odd, session_affinity="ClientIP"))
    found = annotations(world, settings)
    wrong = {key: row.why for key, row in found.items() if row.state == "wrong"}

    assert set(wrong) == {"health-check-interval", "health-check-retries"}
    assert wrong["health-check-interval"].startswith(f"{PREFIX}health-check-interval is '9': ")
    assert "HCLOUD_LOAD_BALANCERS_HEALTH_CHECK_RETRIES is 9: " in wrong["health-check-retries"]
    assert found["http-cookie-name"].why.startswith(f"set on the Service; {PREFIX}http-cookie-name has no effect: ")
    assert (found["network-zone"].value, found["location"].value) == (None, "nbg1")
    told = [row.why for row in of_the_service(world, settings).rows if row.part is Part.NOTES]
    assert [text.split(" ")[0] for text in told] == [f"{PREFIX}id", f"{PREFIX}nmae", "spec.sessionAffinity"]


@rows("asked expected", {
    "unset": ({}, (None, "unset")),
    "retain": ({"deletion_policy": "retain"}, ("retain", "annotation")),
    "not understood": ({"deletion_policy": "keep"}, (None, "wrong")),
})  # fmt: skip
def test_the_annotation_of_a_service_that_goes(asked: Mapping[str, str], expected: tuple[str | None, str]) -> None:
    """Only its deletion policy counts."""
    claim = a_claim(annotations=annotated(use_private_ip="maybe", **asked))
    (row,) = annotations(going(a_balancer(), claim=claim)).values()
    assert (row.value, row.state) == expected


def test_annotations_of_ports() -> None:
    """Behind those of the Service, with the present value of their port."""
    found = annotations(asking(a_balancer(), port_80_health_check_retries="5", port_80_protocol="gopher"))
    protocol, retries = list(found.items())[-2:]
    assert (protocol[0], retries[0]) == (
        "port-80.hcloud-reconciler/protocol",
        "port-80.hcloud-reconciler/health-check-retries",
    )
    assert (protocol[1].value, protocol[1].state) == (None, "wrong")
    assert (retries[1].value, retries[1].state) == ("5", "annotation")
    assert retries[1].why == "set on the Service; the load balancer has 3"


@pytest.mark.parametrize("other", [{"load_balancer_class": "x/y"}, {"type": "ClusterIP"}])
def test_a_service_that_is_not_looked_after(other: Mapping[str, Any]) -> None:
    """Nothing is read of it, and one row tells why."""
    claim = a_claim(annotations=annotated(protocol="udp"), session_affinity="ClientIP")
    assert len(of_the_service(new(claim=claim, **other)).rows) == 1


def test_notes() -> None:
    """Those on the Service and its parts, and those that explain every verdict; not those on others."""
    service = a_service()
    snapshot = a_world([service])
    keys = ("certificate/default/web", "load_balancer/default/web/listener/80", "plan", "service/default/web")
    notes = [Note(key_of(key), NoteKind.APPROVAL if key == "plan" else NoteKind.KEPT, f"of {key}") for key in keys]
    other = Note(key_of("load_balancer/default/web-2"), NoteKind.KEPT, "of another")
    plan = replace(judge(compute_plan(snapshot, LOCATED), snapshot, LOCATED), notes=(*notes, other))
    found = explain(service, snapshot, LOCATED, plan).rows
    assert [row.subject for row in found if row.part is Part.NOTES] == list(keys)
