"""Primary IPs of the Hetzner Cloud API."""

from ipaddress import ip_network

import msgspec

from actuators.wire.pages import Codec
from desired.model.load_balancer import PrimaryIp

_VERSIONS = {"ipv4": 4, "ipv6": 6}


class _Location(msgspec.Struct):
    name: str
    network_zone: str | None = None


class _PrimaryIp(msgspec.Struct):
    id: int
    name: str
    type: str
    ip: str
    auto_delete: bool
    assignee_id: int | None = None
    assignee_type: str | None = None
    blocked: bool = False
    location: _Location | None = None


def _value(found: _PrimaryIp) -> PrimaryIp:
    """Raises ValueError for a type that this version does not know."""
    if found.type not in _VERSIONS:
        raise ValueError(f"its type is {found.type!r}")
    place = found.location
    return PrimaryIp(
        id=found.id,
        name=found.name,
        version=_VERSIONS[found.type],
        network=ip_network(found.ip, strict=False),
        location=place.name if place else None,
        zone=place.network_zone if place else None,
        assignee_id=found.assignee_id,
        assignee_type=found.assignee_type or "",
        is_blocked=found.blocked,
        auto_delete=found.auto_delete,
    )


PRIMARY_IPS = Codec("/primary_ips", "Primary IP", _PrimaryIp, _value)
