"""Builders of Services, load balancers and certificates: valid defaults, so that a test names only what it is about."""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from decimal import Decimal
from ipaddress import IPv4Address, IPv4Network, IPv6Address, ip_network
from typing import Any

from desired.annotations.choices import Algorithm, Protocol
from desired.annotations.claims import Claim, ClaimedPort
from desired.annotations.options import Options
from desired.model.load_balancer import (
    Attachment,
    BalancerType,
    Certificate,
    CloudBalancer,
    Health,
    HealthCheck,
    HttpCheck,
    HttpOptions,
    IssuanceError,
    Listener,
    LoadBalancer,
    PrimaryIp,
    ServerTarget,
    Target,
)
from desired.model.service import Ingress, Service
from desired.model.settings import Settings
from desired.model.snapshot import Network, Node, Server, Snapshot
from desired.names import FINALIZER_BALANCER, LABEL_CLUSTER_UID, LABEL_SERVICE_UID
from desired.section import Present, Section
from tests.builders import CLUSTER_UID, NOW, a_server, a_settled_node, a_snapshot
from tests.support.options import key_of_option

SERVICE_UID = "1f2e3d4c-5b6a-7980-aabb-ccddeeff0011"
DEFAULT_NAME = "a1f2e3d4c5b6a7980aabbccddeeff001"
"""The name that follows from SERVICE_UID."""
LB11 = BalancerType("lb11", max_services=5, max_targets=25, max_certificates=10)
LB21 = BalancerType("lb21", max_services=15, max_targets=75, max_certificates=25)
TYPES: Mapping[str, BalancerType] = {"lb11": LB11, "lb21": LB21}
NETWORK = Network(7, "private", (IPv4Network("10.0.0.0/24"),))
LOCATED = Settings(balancer_defaults=Options(location="fsn1"))
"""Settings with which a Service needs no annotation."""
IN_NETWORK = replace(LOCATED, network="7")
"""The same, with a private network."""


def annotated(**options: str) -> dict[str, str]:
    """Annotations by the names of their options: ``annotated(use_private_ip="true", port_443_protocol="http")``."""
    return {key_of_option(name): text for name, text in options.items()}


def a_claim(*ports: ClaimedPort, annotations: Mapping[str, str] | None = None, **overrides: Any) -> Claim:
    """One TCP port, 80 to node port 30080, and no annotation."""
    return Claim(annotations=annotations or {}, ports=ports or (ClaimedPort(80, "TCP", 30080),), **overrides)


def a_service(name: str = "web", *, claim: Claim | None = None, **overrides: Any) -> Service:
    """A new Service of type LoadBalancer with one port: no finalizer, no address."""
    defaults: dict[str, Any] = {
        "namespace": "default",
        "name": name,
        "uid": SERVICE_UID,
        "resource_version": "1",
        "created_at": NOW,
        "type": "LoadBalancer",
        "claim": claim or a_claim(),
    }
    return Service(**defaults | overrides)


def a_served_service(name: str = "web", **overrides: Any) -> Service:
    """A Service that ``a_balancer()`` serves and whose status says so."""
    served = {
        "finalizers": (FINALIZER_BALANCER,),
        "ingress": (Ingress("203.0.113.200", ip_mode="VIP"), Ingress("2001:db8::200", ip_mode="VIP")),
    }
    return a_service(name, **served | overrides)


def a_listener(port: int = 80, node_port: int = 30080, **overrides: Any) -> Listener:
    """A TCP listener as the API fills it in."""
    check = HealthCheck(Protocol.TCP, node_port, interval_s=15, timeout_s=10, retries=3)
    defaults: dict[str, Any] = {"protocol": Protocol.TCP, "health_check": check, "proxyprotocol": False}
    return Listener(**{"port": port, "destination_port": node_port} | defaults | overrides)


def an_http_listener(port: int = 80, node_port: int = 30080, **overrides: Any) -> Listener:
    """A listener that speaks HTTP, with every default of the API."""
    http = HttpOptions("HCLBSTICKY", 300, 50, (), redirect_http=False, sticky_sessions=False)
    return a_listener(port, node_port, **{"protocol": Protocol.HTTP, "http": http} | overrides)


def an_http_check(port: int = 30080, **overrides: Any) -> HealthCheck:
    """A health check over HTTP, with every default of the API."""
    http = HttpCheck(domain="", path="/", response="", status_codes=("2??", "3??"), tls=False)
    return HealthCheck(Protocol.HTTP, port, 15, 10, 3, replace(http, **overrides))


def a_price(gross: str) -> Decimal:
    """A gross price a month."""
    return Decimal(gross)


def a_balancer(
    balancer_id: int = 42,
    *,
    service_uid: str | None = SERVICE_UID,
    cluster_uid: str | None = CLUSTER_UID,
    targets: Iterable[Target] = (ServerTarget(1, use_private_ip=False),),
    listeners: Iterable[Listener] = (a_listener(),),
    attachments: tuple[Attachment, ...] = (),
    spec: Mapping[str, Any] | None = None,
    health: Mapping[Any, Health | Mapping[int, Health]] = {},
    **overrides: Any,
) -> CloudBalancer:
    """What ``a_service()`` gets with LOCATED and the one server 1: an lb11 in fsn1, labelled as ours. ``spec`` replaces
    fields of its LoadBalancer; ``health`` says of targets how they are, by all listeners or by each."""
    labels = {LABEL_SERVICE_UID: service_uid, LABEL_CLUSTER_UID: cluster_uid}
    members = tuple(targets)
    shape = LoadBalancer(
        name=DEFAULT_NAME,
        labels={key: uid for key, uid in labels.items() if uid is not None},
        type="lb11",
        location="fsn1",
        zone="eu-central",
        algorithm=Algorithm.ROUND_ROBIN,
        public_interface=True,
        primary_ipv4=None,
        primary_ipv6=None,
        attachment=attachments[0] if attachments else None,
        ipv4_rdns="static.200.example.com",
        ipv6_rdns="",
        listeners={listener.port: listener for listener in listeners},
        targets=frozenset(members),
    )
    checks = {
        target: dict.fromkeys(shape.listeners, said) if isinstance(said, Health) else said
        for target, said in health.items()
    }
    dead = [port for port in shape.listeners if all(_is_dead(checks.get(target, {}), port) for target in members)]
    defaults: dict[str, Any] = {
        "id": balancer_id,
        "spec": replace(shape, **spec or {}),
        "type": LB11,
        "created_at": NOW,
        "ipv4": IPv4Address("203.0.113.200"),
        "ipv6": IPv6Address("2001:db8::200"),
        "attachments": attachments,
        "targets": members,
        "checks": checks,
        "unanswered": frozenset(dead),
    }
    return CloudBalancer(**defaults | overrides)


def _is_dead(checks: Mapping[int, Health], port: int) -> bool:
    return checks.get(port) is Health.UNHEALTHY


def a_certificate(certificate_id: int = 5, name: str = "shop", **overrides: Any) -> Certificate:
    """A certificate that was uploaded."""
    defaults: dict[str, Any] = {
        "id": certificate_id,
        "name": name,
        "is_managed": False,
        "created_at": NOW,
        "domains": ("shop.example.com",),
    }
    if (said := overrides.get("error")) is not None:
        code, _, message = said.partition(": ")
        overrides["error"] = IssuanceError(code, message)
    return Certificate(**defaults | overrides)


def a_primary_ip(primary_ip_id: int = 7, **overrides: Any) -> PrimaryIp:
    """An IPv4 address in fsn1 that nothing has, and that is not deleted with what gets it."""
    defaults: dict[str, Any] = {
        "name": f"web-{primary_ip_id}",
        "version": 4,
        "network": ip_network("198.51.100.7"),
        "location": "fsn1",
        "zone": "eu-central",
    }
    return PrimaryIp(**{"id": primary_ip_id} | defaults | overrides)


def a_primary_ipv6(primary_ip_id: int = 8, **overrides: Any) -> PrimaryIp:
    """The same of version 6, which is a whole range."""
    return a_primary_ip(primary_ip_id, **{"version": 6, "network": ip_network("2001:db8:8::/64")} | overrides)


def a_world(
    services: Iterable[Service] = (),
    balancers: Iterable[CloudBalancer] = (),
    *,
    certificates: Iterable[Certificate] | None = None,
    nodes: Iterable[Node] | None = None,
    servers: Iterable[Server] | None = None,
    **overrides: Any,
) -> Snapshot:
    """A snapshot with these and, unless told otherwise, the one Ready Node web-1 on server 1. Read whole."""
    population = (a_settled_node(),) if nodes is None else tuple(nodes)
    fleet = (a_server(),) if servers is None else tuple(servers)
    before = a_snapshot(population, fleet)
    parts: dict[str, Any] = {
        "cluster_uid": Present(CLUSTER_UID),
        "services": Section({service.id: service for service in services}),
        "load_balancers": Section({balancer.id: balancer for balancer in balancers}),
        "certificates": None if certificates is None else Section({item.id: item for item in certificates}),
        "balancer_types": TYPES,
    }
    return replace(before, **parts | overrides)
