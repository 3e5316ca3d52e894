"""Explanations of Services that people see, by name: one for each stage, from worlds made of builders."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import timedelta
from ipaddress import IPv4Address, IPv4Network
from typing import Any

from desired.annotations.claims import ClaimedPort
from desired.annotations.options import PREFIX, Options
from desired.explain.rows import Explanation
from desired.model.load_balancer import Attachment, Health, Issuance, SelectorTarget, ServerTarget
from desired.model.service import Ingress, ServiceCondition
from desired.model.settings import Policy, Settings
from desired.model.snapshot import Snapshot
from desired.names import (
    CONDITION_IN_SYNC,
    CONDITION_READY,
    FINALIZER_BALANCER,
    LABEL_EXCLUDE_FROM_BALANCERS,
    LABEL_SERVICE_UID,
)
from desired.planner import compute_plan
from desired.section import Present, Section
from desired.syntax.selector import parse_selector
from reconciler.result import Explained, Report, Requests
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
    a_primary_ip,
    a_served_service,
    a_service,
    a_world,
    annotated,
)
from tests.builders import NOW, SERVER_LABELS, a_joining_node, a_server, a_settled_node, incomplete
from tests.support.balancer_plans import fleet
from tests.support.explanations import BORN, explained
from tests.support.judging import judge
from tests.support.keys import key_of

REQUESTS = Requests(kubernetes=3, hetzner=2, remaining=3598, limit=3600)
RIVAL_UID = "99999999-2222-3333-4444-555555555555"
PUBLIC = {n: ServerTarget(n, use_private_ip=False) for n in range(1, 10)}
FLEET = fleet(1, 2, 3, private=False)


def explained_service(
    snapshot: Snapshot,
    settings: Settings = LOCATED,
    key: str = "service/default/web",
    *,
    approved: tuple[str, ...] = (),
) -> Explained:
    """What ``reconcile explain service`` says of a Service of this world."""
    return explained(snapshot, settings, key, approved=approved, requests=REQUESTS)


def of_the_service(snapshot: Snapshot, settings: Settings = LOCATED) -> Explanation:
    """What there is to say of the Service of ``a_service()``, which is part of ``snapshot``."""
    found = explained_service(snapshot, settings).explanation
    assert found is not None
    return found


def _served() -> Explained:
    """All as it should be: conditions, health, a Node that is kept out, and one that brings no server."""
    conditions = (
        ServiceCondition("example.com/Checked", "True", "Fine", since=BORN),
        ServiceCondition(CONDITION_READY, "True", "AddressPublished", "published 203.0.113.200, 2001:db8::200", BORN),
        ServiceCondition(
            CONDITION_IN_SYNC, "True", "InSync", "the load balancer matches the Service", NOW - timedelta(hours=2)
        ),
    )
    nodes = [
        a_settled_node("control-1", 9, labels={**SERVER_LABELS, LABEL_EXCLUDE_FROM_BALANCERS: ""}),
        *FLEET["nodes"][:2],
        a_joining_node("web-9"),
    ]
    targets = (PUBLIC[1], PUBLIC[2])
    balancer = a_balancer(targets=targets, health={PUBLIC[1]: Health.HEALTHY, PUBLIC[2]: Health.UNHEALTHY})
    servers = [a_server(9, "control-1"), *FLEET["servers"][:2]]
    service = a_served_service(
        conditions=conditions, claim=a_claim(annotations=annotated(algorithm_type="round_robin", type="lb11"))
    )
    return explained_service(a_world([service], [balancer], nodes=nodes, servers=servers))


def _joining() -> Explained:
    """To be created: two TCP ports and one of UDP, a joining Node, a limit, annotations that nobody knows."""
    claim = a_claim(
        ClaimedPort(80, "TCP", 30080),
        ClaimedPort(443, "TCP", 0),
        ClaimedPort(53, "UDP", 30053),
        annotations={
            **annotated(use_private_ip="true", network_zone="eu-central", http_cookie_name="C"),
            f"{PREFIX}algoritm-type": "x",
        },
        source_ranges=("10.0.0.0/8",),
    )
    return explained_service(
        a_world(
            [a_service(claim=claim)],
            nodes=[a_settled_node("web-1", 1), a_joining_node("web-2"), a_settled_node("web-3", 3)],
            servers=[
                a_server(1, private_ips=((7, IPv4Address("10.0.0.2")),)),
                a_server(2, "web-2", private_ips=((7, IPv4Address("10.0.0.3")),)),
                a_server(3, "web-3"),
            ],
            network=Present(NETWORK),
        ),
        IN_NETWORK,
    )


def _drifted() -> Explained:
    """Most parts differ: type, algorithm, a port, targets of all sorts, an address that is published no more."""
    there = a_balancer(
        cluster_uid=None,
        targets=(PUBLIC[1], PUBLIC[2], PUBLIC[8], SelectorTarget("role=web", use_private_ip=False)),
        listeners=(a_listener(80, 30079), a_listener(8080, 31080)),
        health={PUBLIC[1]: Health.HEALTHY, PUBLIC[2]: Health.HEALTHY, PUBLIC[8]: Health.UNHEALTHY},
        is_protected=True,
    )
    service = a_served_service(
        claim=a_claim(
            annotations=annotated(
                type="lb21", algorithm_type="least_connections", health_check_interval="5s", node_selector="tier=web"
            )
        ),
        ingress=(Ingress("203.0.113.9", ip_mode="VIP"), Ingress("203.0.113.200", ip_mode="VIP")),
        finalizers=(FINALIZER_BALANCER,),
    )
    nodes = [a_settled_node(f"web-{n}", n, labels={**SERVER_LABELS, "tier": tier}) for n, tier in _TIERS.items()]
    servers = [a_server(n, f"web-{n}") for n in (1, 2, 3, 4, 8)]
    snapshot = a_world([service], [there], nodes=nodes, servers=servers)
    return explained_service(snapshot)


_TIERS = {1: "web", 2: "db", 3: "web", 4: "web"}


def _adopted() -> Explained:
    """A load balancer that somebody set up by hand, with a port that the Service does not ask for: held."""
    return explained_service(_by_hand())


def _by_hand() -> Snapshot:
    present = a_balancer(
        service_uid=None,
        cluster_uid=None,
        spec={"name": "shop"},
        listeners=(a_listener(), a_listener(8080, 31080)),
        targets=(PUBLIC[1], PUBLIC[2], PUBLIC[3]),
    )
    return a_world([a_service(claim=a_claim(annotations=annotated(name="shop")))], [present], **FLEET)


def _approved() -> Explained:
    snapshot = _by_hand()
    (hold,) = judge(compute_plan(snapshot, LOCATED), snapshot, LOCATED).holds
    return explained_service(snapshot, approved=(hold.hash,))


def _certified() -> Explained:
    """An https port waits for its managed certificate; the rest of the load balancer is there."""
    claim = a_claim(
        ClaimedPort(443, "TCP", 30443),
        annotations=annotated(
            protocol="https", certificate_type="managed", http_managed_certificate_domains="shop.example.com"
        ),
    )
    certificate = a_certificate(
        7,
        f"ccm-managed-certificate-{SERVICE_UID}",
        is_managed=True,
        labels={LABEL_SERVICE_UID: SERVICE_UID},
        issuance=Issuance.PENDING,
        created_at=NOW - timedelta(minutes=2),
    )
    balancer = a_balancer(listeners=(), targets=(PUBLIC[1],))
    return explained_service(a_world([a_served_service(claim=claim)], [balancer], certificates=[certificate]))


def _floor() -> Explained:
    """All servers live, and a selector that matches none would take them all out."""
    service = a_served_service(claim=a_claim(annotations=annotated(node_selector="tier=none")))
    balancer = a_balancer(targets=(PUBLIC[1], PUBLIC[2], PUBLIC[3]))
    return explained_service(a_world([service], [balancer], **FLEET))


def _full() -> Explained:
    """A type without room for all ports and targets."""
    small = replace(LB11, max_services=1, max_targets=2)
    claim = a_claim(ClaimedPort(80, "TCP", 30080), ClaimedPort(443, "TCP", 30443))
    balancer = a_balancer(targets=(PUBLIC[2], PUBLIC[3]), type=small)
    return explained_service(a_world([a_served_service(claim=claim)], [balancer], **FLEET))


def _malformed() -> Explained:
    """Two annotations cannot be read and one contradicts: nothing but targets is looked after."""
    annotations = annotated(use_private_ip="yes", health_check_interval="10", http_redirect_http="true", name="")
    service = a_served_service(claim=a_claim(annotations=annotations))
    return explained_service(
        a_world([service], [a_balancer()], **FLEET),
        replace(LOCATED, balancer_defaults=Options(location="fsn1", health_check_timeout=90)),
    )


def _refused() -> Explained:
    theirs = a_balancer(cluster_uid="77777777-8888-9999-0000-111111111111", service_uid=None, spec={"name": "shop"})
    service = a_service(claim=a_claim(annotations=annotated(name="shop")))
    return explained_service(a_world([service], [theirs], **FLEET))


def _address_in_use() -> Explained:
    """A copy of a Service that names the Primary IP of the original's load balancer."""
    claim = a_claim(annotations=annotated(public_net_ipv4="7"))
    original = a_served_service("api", uid=RIVAL_UID, claim=claim)
    theirs = a_balancer(43, service_uid=RIVAL_UID, spec={"name": "api", "primary_ipv4": 7})
    held = a_primary_ip(assignee_id=43, assignee_type="load_balancer")
    return explained_service(a_world([a_service(claim=claim), original], [theirs], primary_ips={7: held}, **FLEET))


def _contested() -> Explained:
    claim = a_claim(annotations=annotated(name="shop"))
    services = [a_served_service(claim=claim), a_service("api", uid=RIVAL_UID, claim=claim)]
    unowned = a_balancer(service_uid=None, cluster_uid=None, spec={"name": "shop"})
    return explained_service(a_world(services, [unowned], **FLEET))


def _waiting() -> Explained:
    """A page of load balancers is missing."""
    why = "Hetzner API: GET /load_balancers answers 429 rate_limit_exceeded"
    gap = incomplete(Section({43: a_balancer(43, service_uid=RIVAL_UID)}, expected=51), why)
    return explained_service(a_world([a_service()], load_balancers=gap, **FLEET))


def _leaving(**overrides: Any) -> Explained:
    balancer = a_balancer(targets=(PUBLIC[1], PUBLIC[8]), **overrides)
    finalizers = (FINALIZER_BALANCER, "example.com/dns")
    service = a_served_service(deleted_at=NOW - timedelta(minutes=1), finalizers=finalizers)
    return explained_service(a_world([service], [balancer], **FLEET))


def _private() -> Explained:
    """Targets are switched to private addresses one by one, some of which cannot be had; the API server's view of a
    Node that is ignored counts for nothing."""
    place = Attachment(7, IPv4Address("10.0.0.9"), IPv4Network("10.0.0.0/24"))
    nodes = [
        a_settled_node("lab-1", 4, labels={**SERVER_LABELS, "lab": "yes"}),
        a_settled_node("web-1", 1),
        a_settled_node("web-2", 2),
        a_settled_node("web-3", 3),
    ]
    servers = [
        a_server(1, "web-1", private_ips=((7, IPv4Address("10.0.0.2")),)),
        a_server(2, "web-2"),
        a_server(3, "web-3", missing=frozenset({"private_net"})),
        a_server(4, "lab-1"),
    ]
    balancer = a_balancer(
        targets=(PUBLIC[1], PUBLIC[2], PUBLIC[3], PUBLIC[4]), attachments=(place,), spec={"public_interface": False}
    )
    service = a_served_service(
        claim=a_claim(
            annotations=annotated(use_private_ip="true", disable_public_network="true", hostname="lb.example")
        )
    )
    snapshot = a_world([service], [balancer], nodes=nodes, servers=servers, network=Present(NETWORK))
    return explained_service(snapshot, replace(IN_NETWORK, ignore_nodes=parse_selector("lab=yes")))


SERVICE_EXPLANATIONS: Mapping[str, Explained] = {
    "service_served": _served(),
    "service_joining": _joining(),
    "service_drifted": _drifted(),
    "service_private": _private(),
    "service_adopting": _adopted(),
    "service_approved": _approved(),
    "service_certified": _certified(),
    "service_floor": _floor(),
    "service_exposed": explained_service(
        a_world([a_served_service()], [a_balancer(spec={"public_interface": False})], **FLEET),
        replace(LOCATED, balancer_defaults=replace(LOCATED.balancer_defaults, disable_public_network=False)),
    ),
    "service_full": _full(),
    "service_malformed": _malformed(),
    "service_refused": _refused(),
    "service_address_in_use": _address_in_use(),
    "service_contested": _contested(),
    "service_ambiguous": explained_service(a_world([a_served_service()], [a_balancer(), a_balancer(43)], **FLEET)),
    "service_waiting": _waiting(),
    "service_leaving": _leaving(),
    "service_retained": _leaving(is_protected=True),
    "service_released": explained_service(
        a_world([a_served_service(deleted_at=NOW)], **FLEET), replace(LOCATED, policy=Policy.OBSERVE)
    ),
    "service_foreign": explained_service(a_world([a_service(load_balancer_class="tailscale")], **FLEET)),
    "service_unclaimed": explained_service(a_world([a_service(type="ClusterIP")], **FLEET)),
    "service_missing": explained_service(
        a_world([a_service(), a_service("api", uid=RIVAL_UID)], **FLEET), key="service/shop/web"
    ),
    "service_no_api": Explained(
        key_of("service/default/web"), Report(errors=("no API",), requests=Requests(kubernetes=5))
    ),
}
"""Name → explanation; examples of ``docs/explain.md`` have these names."""
