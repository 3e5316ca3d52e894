"""The private network that is configured, as Hetzner says it."""

from ipaddress import IPv4Network, ip_network

import msgspec

from actuators.clients.hetzner import HetznerReader
from actuators.clients.kubernetes import segment
from actuators.errors import ApiError, Broken, NotFound
from desired.section import Absent, Present, Unknown
from desired.snapshot import Network


class _Subnet(msgspec.Struct):
    ip_range: str | None = None


class _Network(msgspec.Struct):
    id: int
    name: str
    ip_range: str | None = None
    subnets: list[_Subnet] | None = None
    """Only what load balancers ask for hangs on these two: without them the network is the network."""


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
        return _decode(reader.get(f"/networks/{wanted}"), _NetworkAnswer)
    except NotFound:
        return None


def _by_name(reader: HetznerReader, wanted: str) -> Network | None:
    return _decode(reader.get(f"/networks?name={segment(wanted)}"), _NetworkList)


def _decode(body: bytes, shape: type[_NetworkAnswer | _NetworkList]) -> Network | None:
    """The network of an answer; None when there is none in it. Raises Broken."""
    try:
        found = msgspec.json.decode(body, type=shape).first
        return _network(found) if found else None
    except ValueError as error:
        raise Broken(f"Hetzner GET /networks: the answer is no network ({error})") from error


def _network(found: _Network) -> Network:
    subnets = (_ipv4_range(subnet.ip_range) for subnet in found.subnets or ())
    return Network(
        found.id, found.name, tuple(subnet for subnet in subnets if subnet is not None), _ipv4_range(found.ip_range)
    )


def _ipv4_range(text: str | None) -> IPv4Network | None:
    """The range; None for one of IPv6, in which no load balancer is. Raises ValueError for what is none."""
    parsed = ip_network(text, strict=False) if text else None
    return parsed if isinstance(parsed, IPv4Network) else None
