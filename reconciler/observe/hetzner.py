"""What the Hetzner Cloud API says, as values of the core. Fields that the API may drop one day are optional here.

What cannot be decoded raises ValueError, whether it is msgspec, ipaddress or the text's encoding that objects.
"""

from ipaddress import IPv4Address, IPv6Network
from typing import Any, TypeVar

import msgspec

from actuators.clients.hetzner import HetznerReader
from actuators.clients.hetzner_lists import Decoded, read_list
from actuators.clients.kubernetes import segment
from actuators.errors import ApiError, Broken, NotFound
from desired.section import Absent, Present, Section, Unknown
from desired.snapshot import Network, Server, ServerStatus


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


class _Server(msgspec.Struct, gc=False):
    id: int
    name: str
    status: str
    server_type: _Named
    location: _Named | None = None
    public_net: _PublicNet = msgspec.field(default_factory=_PublicNet)
    private_net: list[_PrivateNet] | msgspec.UnsetType = msgspec.UNSET
    labels: dict[str, str] | msgspec.UnsetType | None = msgspec.UNSET


class _Servers(msgspec.Struct):
    servers: list[_Server]


class _ServerAnswer(msgspec.Struct):
    server: _Server


class _RawServers(msgspec.Struct):
    servers: list[msgspec.Raw]


class _IdOnly(msgspec.Struct):
    id: int


class _Identified(msgspec.Struct):
    id: int
    name: str | None = None


class _Network(msgspec.Struct):
    id: int
    name: str


class _NetworkAnswer(msgspec.Struct):
    network: _Network


class _NetworkList(msgspec.Struct):
    networks: list[_Network]


_SERVERS = msgspec.json.Decoder(_Servers)
_RAW_SERVERS = msgspec.json.Decoder(_RawServers)
_SERVER = msgspec.json.Decoder(_Server)
_SERVER_ANSWER = msgspec.json.Decoder(_ServerAnswer)
_IDENTIFIED = msgspec.json.Decoder(_Identified)
_ID_ONLY = msgspec.json.Decoder(_IdOnly)


def observe_servers(reader: HetznerReader) -> tuple[Section[int, Server], ApiError | None]:
    """All servers of the project, and the error that kept it from being all."""
    return read_list(reader, "/servers", decode_servers)


def decode_servers(page: bytes) -> Decoded[Server]:
    """The servers of one page. Raises Broken for a body that is no page of servers."""
    try:
        return Decoded({server.id: _server(server) for server in _SERVERS.decode(page).servers}, {})
    except ValueError:
        return _one_by_one(page)


def _one_by_one(page: bytes) -> Decoded[Server]:
    try:
        raw_servers = _RAW_SERVERS.decode(page).servers
    except ValueError as error:
        raise Broken(f"Hetzner GET /servers: the answer is no list of servers ({error})") from error
    items: dict[int, Server] = {}
    unreadable: dict[int, str] = {}
    names: dict[int, str] = {}
    nameless = 0
    for raw in raw_servers:
        try:
            server = _SERVER.decode(raw)
            items[server.id] = _server(server)
        except ValueError as error:
            found = _identified(raw)
            if found is None:
                nameless += 1
                continue
            unreadable[found.id] = f"server {found.id} could not be read: {error}"
            if found.name:
                names[found.id] = found.name
    return Decoded(items, unreadable, names, nameless)


def observe_server(reader: HetznerReader, server_id: int) -> Server:
    """One server as it is now. Raises an ApiError, NotFound when the API itself says that it is not there."""
    body = reader.get(f"/servers/{server_id}")
    try:
        return _server(_SERVER_ANSWER.decode(body).server)
    except ValueError as error:
        raise Broken(f"Hetzner GET /servers/{server_id}: the answer is no server ({error})") from error


def observe_network(
    reader: HetznerReader, wanted: str | None
) -> tuple[Present[Network | None] | Absent | Unknown, ApiError | None]:
    """The network that ``HCLOUD_NETWORK`` names, by id when it is a number, else or failing that by name.

    Present with None when nothing is wanted, Absent when the project has no such network; with the error that made it
    Unknown.
    """
    if wanted is None:
        return Present(None), None
    try:
        found = _by_id(reader, wanted) or _by_name(reader, wanted)
        return (Present(found) if found else Absent()), None
    except ApiError as error:
        return Unknown(f"network {wanted!r} could not be read: {error}"), error


def _by_id(reader: HetznerReader, wanted: str) -> Network | None:
    if not (wanted.isascii() and wanted.isdecimal()):
        return None
    try:
        found = _decode(reader.get(f"/networks/{wanted}"), _NetworkAnswer).network
    except NotFound:
        return None
    return Network(found.id, found.name)


def _by_name(reader: HetznerReader, wanted: str) -> Network | None:
    found = _decode(reader.get(f"/networks?name={segment(wanted)}"), _NetworkList).networks
    return Network(found[0].id, found[0].name) if found else None


def _decode(body: bytes, shape: Any) -> Any:
    try:
        return msgspec.json.decode(body, type=shape)
    except ValueError as error:
        raise Broken(f"Hetzner GET /networks: the answer is no network ({error})") from error


def _identified(raw: msgspec.Raw) -> _Identified | None:
    """Id and, if that can be read too, name of an object; None when there is no id."""
    try:
        return _IDENTIFIED.decode(raw)
    except ValueError:
        pass
    try:
        return _Identified(_ID_ONLY.decode(raw).id)
    except ValueError:
        return None


def _server(server: _Server) -> Server:
    ipv4, ipv6 = _ip_of(server.public_net.ipv4), _ip_of(server.public_net.ipv6)
    network = _given(ipv6)
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
        private_ips=tuple((net.network, IPv4Address(net.ip)) for net in _given(server.private_net) or ()),
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
