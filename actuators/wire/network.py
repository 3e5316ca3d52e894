"""Networks of the Hetzner Cloud API with their subnets and routes, and the members of one."""

from dataclasses import dataclass
from ipaddress import IPv4Address, IPv4Network, ip_network

import msgspec

from actuators.http.decoding import Decoded, decoder, member, one_by_one
from actuators.http.errors import broken_unless_readable
from actuators.wire.pages import Codec
from desired.model.route import Member, MemberKind, Route
from desired.model.snapshot import Network
from desired.section import Section


class MemberShape(msgspec.Struct, gc=False):
    """A member of a network."""

    type: str
    id: int
    ip: str
    alias_ips: list[str]
    """Needed: without them it is not known that an address is free."""


_listed = member("members", list[msgspec.Raw])
_ip = member("ip", str)
_MEMBER = decoder(MemberShape)


def decode_members(page: bytes) -> Decoded[int, Member]:
    """The members of one page. Raises Broken for a body that is no page of members."""
    with broken_unless_readable("Hetzner GET /networks: the answer is no list of members"):
        listed = _listed(page)
    return one_by_one(
        listed, _member, _address, lambda key, error: f"member {IPv4Address(key)} could not be read: {error}"
    )


def _address(raw: msgspec.Raw) -> tuple[int, None]:
    """The main address of a member, as a number."""
    return int(IPv4Address(_ip(raw))), None


def _member(raw: msgspec.Raw) -> tuple[int, Member]:
    """One member, by its main address. Raises ValueError for an unknown kind and a malformed address."""
    found = _MEMBER.decode(raw)
    ip, others = IPv4Address(found.ip), tuple(map(IPv4Address, found.alias_ips))
    return int(ip), Member(MemberKind(found.type), found.id, ip, others)


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


_VSWITCH = "vswitch"
"""The type of a subnet that leads to dedicated servers."""
decoder(_Route)  # built now: what converts into it does so beside other threads


@dataclass(frozen=True, slots=True)
class NetworkNow:
    """A network with its routes, which are no part of the value of the snapshot: they are managed or not."""

    network: Network
    routes: Section[str, Route]
    """By destination."""

    @property
    def id(self) -> int:
        """Of the network."""
        return self.network.id


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
    found = one_by_one(listed, _route, _destination, lambda _key, error: f"the route could not be read: {error}")
    why = None
    if found.nameless:
        why = f"{found.nameless} routes of the network could not be read, not even their destinations"
    elif len(found.items.keys() | found.unreadable.keys()) != len(listed):
        why = "the network has two routes to one destination"  # Hetzner takes no second one: it would be hidden
    return Section(found.items, why is None, why, len(listed), found.unreadable)


def _route(listed: object) -> tuple[str, Route]:
    """One route, by its destination. Host bits in a destination mean nothing to routing, and two spellings of a range
    must not look like two routes. Raises ValueError for what is no route of IPv4."""
    found = msgspec.convert(listed, _Route)
    route = Route(IPv4Network(found.destination, strict=False), IPv4Address(found.gateway))
    return str(route.destination), route


def _destination(listed: object) -> tuple[str, None]:
    """The destination of an unreadable route: a range if it is one, else as it stands. Raises ValueError for none."""
    text = listed.get("destination") if isinstance(listed, dict) else None
    if not isinstance(text, str):
        raise ValueError("it has no destination")  # noqa: TRY004
    try:
        return str(ip_network(text, strict=False)), None
    except ValueError:
        return text, None


NETWORKS = Codec("/networks", "network", _Network, lambda found: NetworkNow(_network(found), _routes(found.routes)))
