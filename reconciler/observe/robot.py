"""Servers of the Robot account: the list, which is read at most every ``ROBOT_CACHE_TIMEOUT``, single servers by their
numbers, and whether they are switched on.

The account may be out of reach for an hour, or refuse more questions: then its servers are unknown, and what belongs to
Hetzner Cloud goes on.
"""

import logging
import time
from collections.abc import Callable, Collection
from dataclasses import dataclass, replace
from datetime import timedelta
from ipaddress import IPv4Address, IPv6Network

import msgspec

from actuators.http.decoding import decoder
from actuators.http.errors import ApiError, Broken, NotFound, one_line
from actuators.http.robot import RobotLogin, RobotReader
from desired.model.snapshot import RobotAccount, Server, ServerStatus
from desired.section import Section
from desired.syntax.provider_id import Provider
from reconciler.observe.hetzner import Identified, one_by_one

_log = logging.getLogger("hcloud-reconciler.observe")

_FIRST_PAUSE_S = 60.0
"""After a list that failed; doubled with each further one, up to the age at which the list is read anew."""
_LONGEST_PAUSE_S = 600.0
_MOST_AT_ONCE = 10
_STATUS = {"running": ServerStatus.RUNNING, "shut off": ServerStatus.OFF}


class _Server(msgspec.Struct):
    server_number: int
    server_name: str | None = None
    product: str | None = None
    dc: str | None = None
    server_ip: str | None = None
    server_ipv6_net: str | None = None


class _Wrapped(msgspec.Struct):
    server: _Server


class _Named(msgspec.Struct):
    server_number: int
    server_name: str | None = None


class _NamedServer(msgspec.Struct):
    server: _Named


class _NumberOnly(msgspec.Struct):
    server_number: int


class _NumberedServer(msgspec.Struct):
    server: _NumberOnly


class _Reset(msgspec.Struct):
    operating_status: str


class _WrappedReset(msgspec.Struct):
    reset: _Reset


@dataclass(frozen=True, slots=True)
class RobotList:
    """The account as last listed, and how that went."""

    account: RobotAccount
    error: ApiError | None = None
    """Why the list is incomplete; None when it is not."""


@dataclass(frozen=True, slots=True)
class _Power:
    """What was said of a server, and when it is asked for again."""

    status: ServerStatus
    again_at: float
    pause_s: float


class RobotCache:
    """Reads the list, and keeps it: the account allows 200 requests an hour, people's and other tools' included. Used
    from one thread at a time."""

    def __init__(self, reader: RobotReader, max_age: timedelta, clock: Callable[[], float] = time.monotonic) -> None:
        """``clock`` gives seconds and never goes back."""
        self.reader = reader
        self._max_age_s = max_age.total_seconds()
        self._clock = clock
        self._last: RobotList | None = None
        self._names: frozenset[str] = frozenset()
        self._read_at = 0.0
        self._pause_s = 0.0
        self._power: dict[int, _Power] = {}

    def read(self, most: timedelta | None = None) -> RobotList:
        """All servers, from a list that is at most ``most`` old where that is said, and never older than the cache
        allows. Never raises an ApiError."""
        now = self._clock()
        asked_s = self._max_age_s if most is None else min(self._max_age_s, most.total_seconds())
        if self._last is not None and now - self._read_at < (self._pause_s or asked_s):
            return replace(self._last, account=self.aged(self._last.account))
        section, error = observe_robot_servers(self.reader)
        if section.complete:
            read, unreadable = (server.name for server in section), section.unreadable_names.values()
            self._names = frozenset(name for name in (*read, *unreadable) if name)
        failed_s = min(self._pause_s * 2 or _FIRST_PAUSE_S, self._max_age_s)
        self._last, self._read_at, self._pause_s = (
            RobotList(RobotAccount(section, last_names=frozenset() if section.complete else self._names), error),
            now,
            failed_s if error else 0,
        )
        return self._last

    def aged(self, account: RobotAccount) -> RobotAccount:
        """``account``, which was last read, as old as its list is by now. Each reading of a pass asks this once."""
        return replace(account, age=timedelta(seconds=self._clock() - self._read_at))

    def with_power(self, account: RobotAccount, silent: Collection[int], most: int = _MOST_AT_ONCE) -> RobotAccount:
        """``account`` with whether those servers are on whose Nodes are ``silent``, by their numbers; of others nothing
        is asked, and nothing is known. A server whose answer stays the same is asked for less and less, up to every ten
        minutes, ``most`` at a time. Never raises an ApiError.
        """
        now = self._clock()
        known = {number: power for number, power in self._power.items() if number in silent}
        due = [n for n in sorted(silent) if n in account.servers.items and (n not in known or now >= known[n].again_at)]
        due.sort(key=lambda number: number in known)  # what was never asked goes first
        for number in due[:most]:
            before = known.get(number)
            status = self._ask_power(number)
            pause_s = (
                min(before.pause_s * 2, _LONGEST_PAUSE_S) if before and before.status is status else _FIRST_PAUSE_S
            )
            known[number] = _Power(status, now + pause_s, pause_s)
        self._power = known
        items = {
            number: replace(server, status=known[number].status) if number in known else server
            for number, server in account.servers.items.items()
        }
        return replace(account, servers=replace(account.servers, items=items))

    def _ask_power(self, number: int) -> ServerStatus:
        try:
            return observe_power(self.reader, number)
        except ApiError as error:
            _log.info("whether Robot server %d is on could not be told: %s", number, error)
            return ServerStatus.UNKNOWN

    def use_login(self, login: RobotLogin) -> None:
        """Use other credentials from the next call on, and forget everything. May be called from any thread."""
        self.reader.use_login(login)
        self._last, self._names, self._pause_s, self._power = None, frozenset(), 0.0, {}


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
    try:
        entries = decoder(list[msgspec.Raw]).decode(body)
    except ValueError as error:
        raise Broken(f"Robot GET /server: the answer is no list of servers ({one_line(error)})") from error
    found = one_by_one(
        entries, lambda entry: _server(decoder(_Wrapped).decode(entry).server), _identified, "Robot server"
    )
    nameless = f"{found.nameless} Robot servers could not be read, not even their numbers" if found.nameless else None
    return Section(found.items, nameless is None, nameless, len(entries), found.unreadable, found.names)


def observe_robot_server(reader: RobotReader, number: int) -> Server:
    """One server as it is now. Raises an ApiError, NotFound when the webservice itself says that it is not there."""
    body = reader.get(f"/server/{number}")
    try:
        server = _server_in(body)
    except ValueError as error:
        raise Broken(f"Robot GET /server/{number}: the answer is no server ({one_line(error)})") from error
    if server.id != number:
        raise Broken(f"Robot GET /server/{number}: the answer is server {server.id}")
    return server


def observe_power(reader: RobotReader, number: int) -> ServerStatus:
    """Whether the server is switched on: RUNNING, OFF, or OTHER where it cannot tell, as in a tower. Raises an
    ApiError, NotFound when it has no reset."""
    body = reader.get(f"/reset/{number}")
    try:
        status = decoder(_WrappedReset).decode(body).reset.operating_status
    except ValueError as error:
        raise Broken(f"Robot GET /reset/{number}: the answer is no reset ({one_line(error)})") from error
    return _STATUS.get(status, ServerStatus.OTHER)


def _identified(entry: msgspec.Raw) -> Identified | None:
    """Number and, if that can be read too, name of a server; None when there is no number."""
    try:
        found = decoder(_NamedServer).decode(entry).server
        return Identified(found.server_number, found.server_name)
    except ValueError:
        pass
    try:
        return Identified(decoder(_NumberedServer).decode(entry).server.server_number)
    except ValueError:
        return None


def _server_in(wrapped: bytes | msgspec.Raw) -> Server:
    return _server(decoder(_Wrapped).decode(wrapped).server)


def _server(server: _Server) -> Server:
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
