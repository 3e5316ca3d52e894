"""Servers of the Hetzner Cloud API, and the pages of any of its lists, read into values of the snapshot.

An object that cannot be decoded is isolated, the page stays whole. What cannot be decoded raises ValueError, whether it
is msgspec, ipaddress or the text's encoding that objects. Fields that the API may drop one day are optional here."""

from collections.abc import Callable, Iterable
from ipaddress import IPv4Address, IPv6Network
from typing import Any, Generic, Protocol, TypeVar

import msgspec

from actuators.http.decoding import Decoder, decoder
from actuators.http.errors import ApiError, Broken
from actuators.http.hetzner import HetznerReader
from actuators.http.hetzner_lists import Decoded, read_list
from desired.model.snapshot import Server, ServerStatus
from desired.section import Section


class _Numbered(Protocol):
    @property
    def id(self) -> int: ...


S = TypeVar("S")
V = TypeVar("V", bound=_Numbered)


class _IdOnly(msgspec.Struct):
    id: int


class Identified(msgspec.Struct):
    """What identifies an object that cannot be read as a whole."""

    id: int
    name: str | None = None


_ID_ONLY = decoder(_IdOnly)
_IDENTIFIED = decoder(Identified)


class PagesOf(Generic[S, V]):
    """The objects of one kind: where they are listed, how they are decoded, and what they are called."""

    def __init__(self, path: str, word: str, shape: type[S], value: Callable[[S], V]) -> None:
        self._path = path
        self._word = word
        self._value = value
        self._whole = _page_decoder(path, shape)
        self._raw = _page_decoder(path, msgspec.Raw)
        self._one = decoder(shape)

    def observe(self, reader: HetznerReader) -> tuple[Section[int, V], ApiError | None]:
        """All objects of the project, and the error that made the list incomplete."""
        return read_list(reader, self._path, self.decode)

    def decode(self, page: bytes) -> Decoded[V]:
        """The objects of one page. Raises Broken for a body that is no page of this list."""
        try:
            values = [self._value(found) for found in self._whole.decode(page).items]
            return Decoded({value.id: value for value in values}, {})
        except ValueError:
            return self._one_by_one(page)

    def _one_by_one(self, page: bytes) -> Decoded[V]:
        try:
            raw_items = self._raw.decode(page).items
        except ValueError as error:
            raise Broken(f"Hetzner GET {self._path}: the answer is no list of {self._word}s ({error})") from error
        return one_by_one(raw_items, lambda raw: self._value(self._one.decode(raw)), _identified, self._word)


def one_by_one(
    raw_items: Iterable[msgspec.Raw],
    value_of: Callable[[msgspec.Raw], V],
    identified: Callable[[msgspec.Raw], Identified | None],
    word: str,
) -> Decoded[V]:
    """The objects of a list, in which one that cannot be read, for which ``value_of`` raises ValueError, is isolated
    under what identifies it; ``word`` is what it is called."""
    items: dict[int, V] = {}
    unreadable: dict[int, str] = {}
    names: dict[int, str] = {}
    nameless = 0
    for raw in raw_items:
        try:
            value = value_of(raw)
            items[value.id] = value
        except ValueError as error:
            found = identified(raw)
            if found is None:
                nameless += 1
                continue
            unreadable[found.id] = f"{word} {found.id} could not be read: {error}"
            if found.name:
                names[found.id] = found.name
    return Decoded(items, unreadable, names, nameless)


def _page_decoder(path: str, shape: Any) -> Decoder[Any]:
    """Of an object whose one member has the name of the list."""
    page = msgspec.defstruct("Page", [("items", list[shape])], rename={"items": path.removeprefix("/")})
    return decoder(page)


def _identified(raw: msgspec.Raw) -> Identified | None:
    """Id and, if that can be read too, name of an object; None when there is no id."""
    try:
        return _IDENTIFIED.decode(raw)
    except ValueError:
        pass
    try:
        return Identified(_ID_ONLY.decode(raw).id)
    except ValueError:
        return None


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


_STATUS = {status.value: status for status in ServerStatus if status is not ServerStatus.OTHER}
_PAGES = PagesOf("/servers", "server", _Server, _server)
