"""Servers of the Robot webservice: the list of an account, one by its number, and whether it is switched on."""

from ipaddress import IPv4Address, IPv6Network

import msgspec

from actuators.http.decoding import decoder, member, one_by_one
from actuators.http.errors import ApiError, Broken, NotFound, broken_unless_readable
from actuators.http.robot import RobotReader
from actuators.wire.pages import name_in
from desired.model.snapshot import Server, ServerStatus
from desired.section import Section
from desired.syntax.provider_id import Provider

_STATUS = {"running": ServerStatus.RUNNING, "shut off": ServerStatus.OFF}


class RobotShape(msgspec.Struct):
    """A server, as it is listed."""

    server_number: int
    server_name: str | None = None
    product: str | None = None
    dc: str | None = None
    server_ip: str | None = None
    server_ipv6_net: str | None = None


class _Identity(msgspec.Struct):
    server_number: int
    server_name: msgspec.Raw = msgspec.Raw(b"null")


_listed = member("server", RobotShape)
_identity = member("server", _Identity)
_operating_status = member("reset.operating_status", str)


def observe_robot_servers(reader: RobotReader) -> tuple[Section[int, Server], ApiError | None]:
    """All servers of the account, and the error that made the list incomplete. Never raises an ApiError.

    An account without servers is none of ours, as Nodes have some in it: nothing is concluded from it (Robot answers
    ``SERVER_NOT_FOUND`` to the list then).
    """
    try:
        section = decode_robot_servers(reader.get("/server"))
    except NotFound as error:
        return _no_servers(str(error))
    except ApiError as error:
        return Section.missing(str(error)), error
    return (section, None) if section.expected else _no_servers("the list is empty")


def _no_servers(said: str) -> tuple[Section[int, Server], ApiError]:
    error = Broken(f"the Robot account has no servers; check ROBOT_USER: {said}")
    return Section.missing(str(error)), error


def decode_robot_servers(body: bytes) -> Section[int, Server]:
    """The servers of a list; one that cannot be read is isolated. Raises Broken for what is no list of servers."""
    with broken_unless_readable("Robot GET /server: the answer is no list of servers"):
        entries = decoder(list[msgspec.Raw]).decode(body)
    found = one_by_one(
        entries, _item, _identified, lambda number, error: f"Robot server {number} could not be read: {error}"
    )
    nameless = f"{found.nameless} Robot servers could not be read, not even their numbers" if found.nameless else None
    return Section(found.items, nameless is None, nameless, len(entries), found.unreadable, found.names)


def observe_robot_server(reader: RobotReader, number: int) -> Server:
    """One server as it is now. Raises an ApiError, NotFound when the webservice itself says that it is not there."""
    body = reader.get(f"/server/{number}")
    with broken_unless_readable(f"Robot GET /server/{number}: the answer is no server"):
        server = _server(_listed(body))
    if server.id != number:
        raise Broken(f"Robot GET /server/{number}: the answer is server {server.id}")
    return server


def observe_power(reader: RobotReader, number: int) -> ServerStatus:
    """RUNNING, OFF, or OTHER if Robot cannot tell. Raises an ApiError, NotFound when the server has no reset."""
    body = reader.get(f"/reset/{number}")
    with broken_unless_readable(f"Robot GET /reset/{number}: the answer is no reset"):
        status = _operating_status(body)
    return _STATUS.get(status, ServerStatus.OTHER)


def _item(entry: msgspec.Raw) -> tuple[int, Server]:
    server = _server(_listed(entry))
    return server.id, server


def _identified(entry: msgspec.Raw) -> tuple[int, str | None]:
    found = _identity(entry)
    return found.server_number, name_in(found.server_name)


def _server(server: RobotShape) -> Server:
    """Region and zone are those of HCCM: the data center in lower case, and its part before the first dash."""
    if server.server_number < 1:
        raise ValueError(f"server_number is {server.server_number}")
    ipv4 = IPv4Address(server.server_ip) if server.server_ip else None
    zone = (server.dc or "").lower()
    return Server(
        id=server.server_number,
        name=server.server_name or "",
        status=ServerStatus.UNKNOWN,
        type=server.product or "",
        location=zone.partition("-")[0],
        ipv4=None if ipv4 is None or ipv4.is_unspecified else ipv4,
        ipv6=_network(server.server_ipv6_net),
        provider=Provider.ROBOT,
        zone=zone,
    )


def _network(text: str | None) -> IPv6Network | None:
    """The server's /64, which Robot writes without its length; None when it has none."""
    if not text:
        return None
    return IPv6Network(text if "/" in text else f"{text}/64", strict=False)
