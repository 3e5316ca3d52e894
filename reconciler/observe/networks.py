"""Private network of the cluster with its routes and members.

The list of members is the only one that also shows what is just being attached or detached.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import msgspec

from actuators.http.decoding import decoder
from actuators.http.errors import ApiError, NotFound
from actuators.http.hetzner import HetznerReader
from actuators.http.lists import PAGE_SIZE, read_list
from actuators.wire.network import NETWORKS, NetworkNow, decode_members
from desired.model.route import Member, Route
from desired.model.snapshot import Network
from desired.section import Absent, Present, Section, Unknown
from desired.syntax.bounds import listed, shown_text


class _Named(msgspec.Struct):
    id: int
    name: str


class _Names(msgspec.Struct):
    networks: list[_Named]


_NAMED = decoder(_Names)
_SHOWN = 8
"""Networks that an error names."""


def observe_members(reader: HetznerReader, network_id: int) -> tuple[Section[int, Member], ApiError | None]:
    """All members of the network by their main address as a number, and the error that made the list incomplete; never
    raises an ApiError.

    In whatever state: one that is just being attached or detached has its addresses. Ids are no keys here, as a server
    and a load balancer may have the same one.
    """
    return read_list(reader, f"/networks/{network_id}/members", decode_members)


@dataclass(frozen=True, slots=True)
class FoundNetwork:
    """The result of one reading of the network."""

    network: Present[Network | None] | Absent | Unknown
    """Present with None when nothing is wanted, Absent when the project has no such network."""
    routes: Section[str, Route] | None = None
    """By destination; None when there is no network."""
    error: ApiError | None = None
    """What made the network Unknown; or a sentence with the networks that there are, where it is Absent."""


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
    return FoundNetwork(Present(found.network), found.routes)


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


def _by_id(reader: HetznerReader, wanted: str) -> NetworkNow | None:
    if not (wanted.isascii() and wanted.isdecimal()):
        return None
    try:
        return NETWORKS.one(reader, int(wanted))
    except NotFound:
        return None


def _by_name(reader: HetznerReader, wanted: str) -> NetworkNow | None:
    return next(iter(NETWORKS.found(reader, {"name": wanted})), None)
