"""Servers of the Hetzner Cloud API, read into values of the snapshot. Fields that it may drop one day are optional
here."""

from ipaddress import IPv4Address, IPv6Network
from typing import TypeVar

import msgspec

from actuators.http.decoding import decoder
from actuators.http.errors import ApiError, Broken
from actuators.http.hetzner import HetznerReader
from actuators.http.hetzner_lists import Decoded
from desired.model.snapshot import Server, ServerStatus
from desired.section import Section
from reconciler.observe.hetzner_pages import PagesOf


class _Named(msgspec.Struct, gc=False):
    name: str


class _Address(msgspec.Struct, gc=False):
    ip: str | msgspec.UnsetType | None = msgspec.UNSET


class _PublicNet(msgspec.Struct, gc=False):
    ipv4: _Address | msgspec.UnsetType | None = msgspec.UNSET
    ipv6: _Address | msgspec.UnsetType | None = msgspec.UNSET


class _PrivateNet(msgspec.Struct, gc=False):
    network: int
    ip: str
    alias_ips: list[str] | None = None
    """Without these a route through one leads to an address that nobody seems to have: the network's members tell."""


class _Server(msgspec.Struct, gc=False):
    id: int
    name: str
    status: str
    server_type: _Named
    location: _Named | None = None
    public_net: _PublicNet = msgspec.field(default_factory=_PublicNet)
    private_net: list[_PrivateNet] | msgspec.UnsetType = msgspec.UNSET
    labels: dict[str, str] | msgspec.UnsetType | None = msgspec.UNSET


class _ServerAnswer(msgspec.Struct):
    server: _Server


_SERVER_ANSWER = decoder(_ServerAnswer)


def observe_servers(reader: HetznerReader) -> tuple[Section[int, Server], ApiError | None]:
    """All servers of the project, and the error that made the list incomplete."""
    return _PAGES.observe(reader)


def decode_servers(page: bytes) -> Decoded[Server]:
    """The servers of one page. Raises Broken for a body that is no page of servers."""
    return _PAGES.decode(page)


def observe_server(reader: HetznerReader, server_id: int) -> Server:
    """One server as it is now. Raises an ApiError, NotFound when the API itself says that it is not there."""
    body = reader.get(f"/servers/{server_id}")
    try:
        return _server(_SERVER_ANSWER.decode(body).server)
    except ValueError as error:
        raise Broken(f"Hetzner GET /servers/{server_id}: the answer is no server ({error})") from error


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


_STATUS = {status.value: status for status in ServerStatus if status is not ServerStatus.OTHER}
_PAGES = PagesOf("/servers", "server", _Server, _server)
