"""A load balancer as Hetzner's API says it, with every kind of service and target, and what it means."""

import json
from datetime import UTC, datetime
from decimal import Decimal
from ipaddress import IPv4Address, IPv6Address
from typing import Any

from actuators.wire.load_balancer import BALANCERS
from desired.annotations.choices import Algorithm, Protocol
from desired.model.load_balancer import (
    Attachment,
    BalancerType,
    CloudBalancer,
    Health,
    HealthCheck,
    HttpCheck,
    HttpOptions,
    IpTarget,
    Listener,
    LoadBalancer,
    SelectorTarget,
    ServerTarget,
)
from tests.support.payloads import GONE, replaced

Path = tuple[Any, ...]


def fine() -> list[dict[str, Any]]:
    """What is said of a target that is well by all three ports."""
    return [{"listen_port": port, "status": "healthy"} for port in (5000, 80, 443)]


REAL: dict[str, Any] = {
    "id": 42,
    "name": "a1f2e3d4c5b6a7980aabbccddeeff001",
    "public_net": {
        "enabled": True,
        "ipv4": {"id": None, "ip": "203.0.113.200", "blocked": False, "dns_ptr": "lb.example.com"},
        "ipv6": {"id": 8, "ip": "2001:db8::200", "blocked": False, "dns_ptr": ""},
    },
    "private_net": [{"network": 7, "ip": "10.0.0.5"}, {"network": 8, "ip": "10.1.0.5"}],
    "location": {"id": 1, "name": "fsn1", "country": "DE", "city": "Falkenstein", "network_zone": "eu-central"},
    "load_balancer_type": {
        "id": 1,
        "name": "lb11",
        "max_connections": 10000,
        "max_services": 5,
        "max_targets": 25,
        "max_assigned_certificates": 10,
        "deprecated": "2026-07-01T00:00:00Z",
        "deprecation": {"announced": "2026-07-01T00:00:00Z", "unavailable_after": "2026-12-31T00:00:00Z"},
        "prices": [
            {
                "location": "fsn1",
                "price_hourly": {"net": "0.0096", "gross": "0.0114"},
                "price_monthly": {"net": "6.0000", "gross": "7.1400"},
                "included_traffic": 21990232555520,
            }
        ],
    },
    "protection": {"delete": True},
    "labels": {"hcloud-ccm/service-uid": "1f2e3d4c-5b6a-7980-aabb-ccddeeff0011"},
    "created": "2026-01-01T00:00:00Z",
    "services": [
        {
            "protocol": "tcp",
            "listen_port": 5000,
            "destination_port": 30500,
            "proxyprotocol": True,
            "health_check": {"protocol": "tcp", "port": 30501, "interval": 5, "timeout": 6, "retries": 2},
        },
        {
            "protocol": "http",
            "listen_port": 80,
            "destination_port": 30080,
            "proxyprotocol": False,
            "health_check": {
                "protocol": "http",
                "port": 30080,
                "interval": 15,
                "timeout": 10,
                "retries": 3,
                "http": {"domain": None, "path": "/up", "response": "ok", "status_codes": ["200", "3??"], "tls": True},
            },
            "http": {"cookie_name": "HCLBSTICKY", "cookie_lifetime": 300, "timeout_idle": 50, "sticky_sessions": False},
        },
        {
            "protocol": "https",
            "listen_port": 443,
            "destination_port": 30443,
            "proxyprotocol": False,
            "health_check": {"protocol": "tcp", "port": 30443, "interval": 15, "timeout": 10, "retries": 3},
            "http": {
                "cookie_name": "MINE",
                "cookie_lifetime": 60,
                "timeout_idle": 30,
                "certificates": [9, 4],
                "redirect_http": True,
                "sticky_sessions": True,
            },
        },
    ],
    "targets": [
        {"type": "server", "server": {"id": 2, "ip": "10.0.0.2"}, "health_status": fine(), "use_private_ip": True},
        {"type": "ip", "ip": {"ip": "192.0.2.1"}, "health_status": fine()},
        {
            "type": "label_selector",
            "label_selector": {"selector": "role=web"},
            "use_private_ip": False,
            "targets": [{"type": "server", "server": {"id": 1, "ip": "203.0.113.1"}, "health_status": fine()}],
        },
    ],
    "algorithm": {"type": "least_connections"},
    "outgoing_traffic": 1,
    "ingoing_traffic": None,
    "included_traffic": 21990232555520,
}
PRICE = Decimal("7.14")
LB11 = BalancerType("lb11", 5, 25, 10, datetime(2026, 12, 31, tzinfo=UTC), {"fsn1": PRICE}, frozenset({"fsn1"}))
SERVER, ADDRESS, SELECTOR = ServerTarget(2, True), IpTarget("192.0.2.1"), SelectorTarget("role=web", False)
ATTACHMENTS = (Attachment(7, IPv4Address("10.0.0.5")), Attachment(8, IPv4Address("10.1.0.5")))
HTTP_CHECK = HttpCheck("", "/up", "ok", ("200", "3??"), tls=True)
WHOLE = CloudBalancer(
    id=42,
    spec=LoadBalancer(
        name="a1f2e3d4c5b6a7980aabbccddeeff001",
        labels={"hcloud-ccm/service-uid": "1f2e3d4c-5b6a-7980-aabb-ccddeeff0011"},
        type="lb11",
        location="fsn1",
        zone="eu-central",
        algorithm=Algorithm.LEAST_CONNECTIONS,
        public_interface=True,
        primary_ipv4=None,
        primary_ipv6=8,
        attachment=ATTACHMENTS[0],
        ipv4_rdns="lb.example.com",
        ipv6_rdns="",
        listeners={
            5000: Listener(5000, 30500, Protocol.TCP, HealthCheck(Protocol.TCP, 30501, 5, 6, 2), True),
            80: Listener(
                80,
                30080,
                Protocol.HTTP,
                HealthCheck(Protocol.HTTP, 30080, 15, 10, 3, HTTP_CHECK),
                False,
                HttpOptions("HCLBSTICKY", 300, 50, (), redirect_http=False, sticky_sessions=False),
            ),
            443: Listener(
                443,
                30443,
                Protocol.HTTPS,
                HealthCheck(Protocol.TCP, 30443, 15, 10, 3),
                False,
                HttpOptions("MINE", 60, 30, (4, 9), redirect_http=True, sticky_sessions=True),
            ),
        },
        targets=frozenset({SERVER, ADDRESS, SELECTOR}),
    ),
    type=LB11,
    created_at=datetime(2026, 1, 1, tzinfo=UTC),
    ipv4=IPv4Address("203.0.113.200"),
    ipv6=IPv6Address("2001:db8::200"),
    attachments=ATTACHMENTS,
    targets=(SERVER, ADDRESS, SELECTOR),
    is_protected=True,
    checks={target: dict.fromkeys((5000, 80, 443), Health.HEALTHY) for target in (SERVER, ADDRESS, SELECTOR)},
)


def page(*balancers: Any) -> bytes:
    return json.dumps({"load_balancers": list(balancers), "meta": {}}).encode()


def changed(path: Path, value: Any = GONE, balancer_id: int = 42) -> dict[str, Any]:
    return replaced(REAL | {"id": balancer_id}, path, value)


def read(path: Path, value: Any = GONE) -> CloudBalancer | None:
    """What becomes of the real load balancer with one field changed; None when it is unreadable, and says so."""
    decoded = BALANCERS.decode(page(changed(path, value)))
    if path != ("id",):
        assert list(decoded.items) + list(decoded.unreadable) == [42]
        assert all(why.startswith("load balancer 42 could not be read: ") for why in decoded.unreadable.values())
    return decoded.items.get(42)
