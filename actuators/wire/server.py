"""Servers of the Hetzner Cloud API."""

from ipaddress import IPv4Address, IPv6Network
from typing import TypeVar

import msgspec

from actuators.wire.pages import Codec
from desired.model.snapshot import Server, ServerStatus
from desired.syntax.selector import Operator, Requirement, Selector


class _Named(msgspec.Struct, gc=False):
    name: str


class _Location(msgspec.Struct, gc=False):
    name: str
    network_zone: str | None = None


class _Address(msgspec.Struct, gc=False):
    ip: str | msgspec.UnsetType | None = msgspec.UNSET


class _PublicNet(msgspec.Struct, gc=False):
    ipv4: _Address | msgspec.UnsetType | None = msgspec.UNSET
    ipv6: _Address | msgspec.UnsetType | None = msgspec.UNSET


class _PrivateNet(msgspec.Struct, gc=False):
    network: int
    ip: str
    alias_ips: list[str] | None = None
    """Without these a route through one leads to an address that seems to have no owner: the network's members tell."""


class _Server(msgspec.Struct, gc=False):
    id: int
    name: str
    status: str
    server_type: _Named
    location: _Location | None = None
    public_net: _PublicNet = msgspec.field(default_factory=_PublicNet)
    private_net: list[_PrivateNet] | msgspec.UnsetType = msgspec.UNSET
    labels: dict[str, str] | msgspec.UnsetType | None = msgspec.UNSET
    locked: bool = False


def _server(server: _Server) -> Server:
    ipv4, ipv6 = _ip_of(server.public_net.ipv4), _ip_of(server.public_net.ipv6)
    network = _given(ipv6)
    attached = _given(server.private_net) or ()
    optional = {
        "public_net.ipv4": ipv4,
        "public_net.ipv6": ipv6,
        "private_net": server.private_net,
        "labels": server.labels,
    }
    return Server(
        id=server.id,
        name=server.name,
        status=_STATUS.get(server.status, ServerStatus.OTHER),
        type=server.server_type.name,
        location=server.location.name if server.location else "",
        ipv4=_ipv4(_given(ipv4)),
        ipv6=IPv6Network(network, strict=False) if network else None,
        private_ips=tuple((net.network, IPv4Address(net.ip)) for net in attached),
        alias_ips=tuple((net.network, IPv4Address(ip)) for net in attached for ip in net.alias_ips or ()),
        labels=_given(server.labels) or {},
        is_locked=server.locked,
        network_zone=(server.location.network_zone or "") if server.location else "",
        missing=frozenset(name for name, value in optional.items() if value is msgspec.UNSET) or _NONE,
    )


_NONE: frozenset[str] = frozenset()
T = TypeVar("T")


def _given(value: T | msgspec.UnsetType | None) -> T | None:
    return None if isinstance(value, msgspec.UnsetType) else value


def _ip_of(address: _Address | msgspec.UnsetType | None) -> str | msgspec.UnsetType | None:
    """The text of an address; unset when that, or all of it, did not arrive."""
    return address.ip if isinstance(address, _Address) else address


def _ipv4(text: str | None) -> IPv4Address | None:
    """A public IPv4; ``0.0.0.0`` is how HCCM's fixtures and old answers write that there is none."""
    ip = IPv4Address(text) if text else None
    return None if ip is None or ip.is_unspecified else ip


def selector_text(selector: Selector | None) -> str:
    """A selector as Hetzner reads it, whose grammar has no spaces around signs; "" for none. Raises ValueError for a
    comparison, which Hetzner has not (Hetzner Cloud API, label selectors)."""
    return "" if selector is None else ",".join(map(_requirement_text, selector.requirements))


def _requirement_text(requirement: Requirement) -> str:
    key, values = requirement.key, sorted(requirement.values)
    match requirement.operator:
        case Operator.EXISTS:
            return key
        case Operator.MISSING:
            return f"!{key}"
        case Operator.IN:
            return f"{key}={values[0]}" if len(values) == 1 else f"{key} in ({','.join(values)})"
        case Operator.NOT_IN:
            return f"{key}!={values[0]}" if len(values) == 1 else f"{key} notin ({','.join(values)})"
        case Operator.GREATER | Operator.LESS:
            raise ValueError(f"{key}{requirement.operator.value}{values[0]}: Hetzner compares no numbers")


_STATUS = {status.value: status for status in ServerStatus if status is not ServerStatus.OTHER}
SERVERS = Codec("/servers", "server", _Server, _server)
