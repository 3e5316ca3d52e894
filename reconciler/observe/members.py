"""Who has which address of a private network: the one place that also shows what is just attached or detached."""

from ipaddress import IPv4Address

import msgspec

from actuators.clients.hetzner import HetznerReader
from actuators.clients.hetzner_lists import Decoded, read_list
from actuators.decoding import decoder
from actuators.errors import ApiError, Broken
from desired.route import Member, MemberKind
from desired.section import Section


class _Addressed(msgspec.Struct, gc=False):
    ip: str


class _Member(msgspec.Struct, gc=False):
    type: str
    id: int
    ip: str
    alias_ips: list[str]
    """Needed: without them nobody knows that an address is free."""


class _Page(msgspec.Struct):
    members: list[msgspec.Raw]


_PAGE = decoder(_Page)
_ADDRESSED = decoder(_Addressed)
_MEMBER = decoder(_Member)


def observe_members(reader: HetznerReader, network_id: int) -> tuple[Section[int, Member], ApiError | None]:
    """All members of the network by their main address as a number, and the error that kept it from being all; never
    raises an ApiError.

    In whatever state: one that is just being attached or detached has its addresses (hetzner-api 6). Ids are no keys
    here, as a server and a load balancer may have the same one.
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
    """Raises ValueError for what a later version of the API attaches to networks, and for an address that is none."""
    return Member(MemberKind(found.type), found.id, IPv4Address(found.ip), tuple(map(IPv4Address, found.alias_ips)))
