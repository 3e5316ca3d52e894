"""Private network of the cluster with its subnets, routes and members, read into values of the snapshot.

The list of members is the only one that also shows what is just being attached or detached.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv4Network, ip_network

import msgspec

from actuators.http.decoding import decoder
from actuators.http.errors import ApiError, Broken, NotFound
from actuators.http.hetzner import HetznerReader
from actuators.http.hetzner_lists import PAGE_SIZE, Decoded, read_list
from actuators.http.kubernetes import segment
from desired.model.route import Member, MemberKind, Route
from desired.model.snapshot import Network
from desired.section import Absent, Present, Section, Unknown
from desired.syntax.bounds import listed, shown_text


class _Addressed(msgspec.Struct, gc=False):
    ip: str


class _Member(msgspec.Struct, gc=False):
    type: str
    id: int
    ip: str
    alias_ips: list[str]
    """Needed: without them it is not known that an address is free."""


class _Page(msgspec.Struct):
    members: list[msgspec.Raw]


_PAGE = decoder(_Page)
_ADDRESSED = decoder(_Addressed)
_MEMBER = decoder(_Member)


def observe_members(reader: HetznerReader, network_id: int) -> tuple[Section[int, Member], ApiError | None]:
    """All members of the network by their main address as a number, and the error that made the list incomplete; never
    raises an ApiError.

    In whatever state: one that is just being attached or detached has its addresses. Ids are no keys here, as a server
    and a load balancer may have the same one.
    """
    return read_list(reader, f"/networks/{network_id}/members", decode_members)


def decode_members(page: bytes) -> Decoded[Member]:
    """The members of one page. Raises Broken for a body that is no page of members."""
    try:
        listed = _PAGE.decode(page).members
    except ValueError as error:
        raise Broken(f"Hetzner GET /networks: the answer is no list of members ({error})") from error
    items: dict[int, Member] = {}
    unreadable: dict[int, str] = {}
    nameless = 0
    for raw in listed:
        address = _address(raw)
        if address is None:
            nameless += 1
            continue
        try:
            items[int(address)] = _member(_MEMBER.decode(raw))
        except ValueError as error:
            unreadable[int(address)] = f"member {address} could not be read: {error}"
    return Decoded(items, unreadable, nameless=nameless)


def _address(raw: msgspec.Raw) -> IPv4Address | None:
    """The main address of a member; None when that cannot be read."""
    try:
        return IPv4Address(_ADDRESSED.decode(raw).ip)
    except ValueError:
        return None


def _member(found: _Member) -> Member:
    """One member. Raises ValueError for a kind that a later version of the API attaches to networks, and for a
    malformed address."""
    return Member(MemberKind(found.type), found.id, IPv4Address(found.ip), tuple(map(IPv4Address, found.alias_ips)))


class _Subnet(msgspec.Struct):
    ip_range: str | None = None
    type: object = None
    network_zone: object = None
    """Only what depends on these two needs them: whatever they are, the network can be used."""


class _Route(msgspec.Struct):
    destination: str
    gateway: str


class _Network(msgspec.Struct):
    id: int
    name: str
    ip_range: str | None = None
    subnets: list[_Subnet] | None = None
    """Only what load balancers ask for depends on these two: without them the network can be used all the same."""
    servers: object = None
    """Ids: evidence for what the list of servers lacks, and for nothing else."""
    routes: object = None
    """Decoded one by one: Nodes need the network, whatever its routes are."""


class _NetworkAnswer(msgspec.Struct):
    network: _Network

    @property
    def first(self) -> _Network:
        return self.network


class _NetworkList(msgspec.Struct):
    networks: list[_Network]

    @property
    def first(self) -> _Network | None:
        return self.networks[0] if self.networks else None


class _Named(msgspec.Struct):
    id: int
    name: str


class _Names(msgspec.Struct):
    networks: list[_Named]


_NAMED = decoder(_Names)
_VSWITCH = "vswitch"
"""The type of a subnet that leads to dedicated servers."""
_SHOWN = 8
"""Networks that an error names."""


@dataclass(frozen=True, slots=True)
class FoundNetwork:
    """The result of one reading of the network."""

    network: Present[Network | None] | Absent | Unknown
    """Present with None when nothing is wanted, Absent when the project has no such network."""
    routes: Section[str, Route] | None = None
    """By destination; None when there is no network."""
    error: ApiError | None = None
    """What made the network Unknown; or a sentence with the networks that there are, where it is Absent."""


decoder(_Route)  # built now: what converts into it does so beside other threads


def observe_network(reader: HetznerReader, wanted: str | None) -> FoundNetwork:
    """The network that ``HCLOUD_NETWORK`` names, by id when it is a number, else or failing that by name; with its
    routes, which cost no request of their own. Never raises an ApiError."""
    if wanted is None:
        return FoundNetwork(Present(None))
    try:
        found = _by_id(reader, wanted) or _by_name(reader, wanted)
    except ApiError as error:
        why = f"network {wanted!r} could not be read: {error}"
        return FoundNetwork(Unknown(why), Section.missing(why), error)
    if found is None:
        return FoundNetwork(Absent(), error=NotFound(_explain_missing(wanted, _listed(reader))))
    return FoundNetwork(Present(found[0]), found[1])


def _explain_missing(wanted: str, there: Sequence[_Named] | None) -> str:
    """The error with all that helps to correct it; ``there`` is None where the networks could not be listed."""
    text = (
        f"HCLOUD_NETWORK is {shown_text(wanted)}, and the project that HCLOUD_TOKEN belongs to has no network of that"
        " name or id"
    )
    if there is not None:
        names = [f"{network.name} ({network.id})" for network in there]
        text += f": it has {listed(names, _SHOWN) or 'none'}"
    return f"{text}; correct the name or the token"


def _listed(reader: HetznerReader) -> Sequence[_Named] | None:
    """The networks of the project, which has hardly more than fit on a page; None where that cannot be read."""
    try:
        return _NAMED.decode(reader.get(f"/networks?per_page={PAGE_SIZE}")).networks
    except (ApiError, ValueError):
        return None


_Found = tuple[Network, Section[str, Route]]


def _by_id(reader: HetznerReader, wanted: str) -> _Found | None:
    if not (wanted.isascii() and wanted.isdecimal()):
        return None
    try:
        return _decode(reader.get(f"/networks/{wanted}"), _NetworkAnswer)
    except NotFound:
        return None


def _by_name(reader: HetznerReader, wanted: str) -> _Found | None:
    return _decode(reader.get(f"/networks?name={segment(wanted)}"), _NetworkList)


def _decode(body: bytes, shape: type[_NetworkAnswer | _NetworkList]) -> _Found | None:
    """The network of an answer, with its routes; None when there is none in it. Raises Broken."""
    try:
        found = decoder(shape).decode(body).first
        return (_network(found), _routes(found.routes)) if found else None
    except ValueError as error:
        raise Broken(f"Hetzner GET /networks: the answer is no network ({error})") from error


def _network(found: _Network) -> Network:
    listed = found.subnets or ()
    ranges = [(subnet, _ipv4_range(subnet.ip_range)) for subnet in listed]
    zones = [subnet.network_zone for subnet in listed if isinstance(subnet.network_zone, str) and subnet.network_zone]
    has_zones = found.subnets is not None and len(zones) == len(listed)
    has_types = found.subnets is not None and all(isinstance(subnet.type, str) for subnet in listed)
    return Network(
        found.id,
        found.name,
        tuple(ip_range for _, ip_range in ranges if ip_range is not None),
        _ipv4_range(found.ip_range),
        frozenset(key for key in found.servers if type(key) is int) if isinstance(found.servers, list) else frozenset(),
        frozenset(zones) if has_zones else None,
        tuple(ip_range for subnet, ip_range in ranges if subnet.type == _VSWITCH and ip_range is not None)
        if has_types and all(ip_range is not None for _, ip_range in ranges)
        else None,
    )


def _ipv4_range(text: str | None) -> IPv4Network | None:
    """The range; None for one of IPv6, in which no load balancer is. Raises ValueError for what is none."""
    parsed = ip_network(text, strict=False) if text else None
    return parsed if isinstance(parsed, IPv4Network) else None


def _routes(listed: object) -> Section[str, Route]:
    """The routes of a network by their destination, which is a route's identity. What is no route of IPv4 is kept by
    its text, as it takes one of the places in the network."""
    if not isinstance(listed, list):
        return Section.missing("the API did not say which routes the network has")
    items: dict[str, Route] = {}
    unreadable: dict[str, str] = {}
    nameless = 0
    for found in listed:
        try:
            route = _route(msgspec.convert(found, _Route))
            items[str(route.destination)] = route
        except ValueError as error:
            key = _destination_of(found)
            if key is None:
                nameless += 1
            else:
                unreadable[key] = f"the route could not be read: {error}"
    why = None
    if nameless:
        why = f"{nameless} routes of the network could not be read, not even their destinations"
    elif len(items.keys() | unreadable.keys()) != len(listed):  # Hetzner takes no second one: it would be hidden
        why = "the network has two routes to one destination"
    return Section(items, why is None, why, len(listed), unreadable)


def _route(found: _Route) -> Route:
    """One route. Host bits in a destination mean nothing to routing, and two spellings of a range must not look like
    two routes. Raises ValueError for what is no route of IPv4."""
    return Route(IPv4Network(found.destination, strict=False), IPv4Address(found.gateway))


def _destination_of(found: object) -> str | None:
    """The destination of a route that cannot be read as a whole: as a range where it is one, else as it stands; None
    when it is no text."""
    text = found.get("destination") if isinstance(found, dict) else None
    if not isinstance(text, str):
        return None
    try:
        return str(ip_network(text, strict=False))
    except ValueError:
        return text
