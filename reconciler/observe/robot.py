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

from actuators.http.errors import ApiError
from actuators.http.robot import RobotLogin, RobotReader
from actuators.wire.robot import observe_power, observe_robot_servers
from desired.model.snapshot import RobotAccount, ServerStatus

_log = logging.getLogger("hcloud-reconciler.observe")

_FIRST_PAUSE_S = 60.0
"""After a list that failed; doubled with each further one, up to the age at which the list is read anew."""
_LONGEST_PAUSE_S = 600.0
_MOST_AT_ONCE = 10


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
            _log.info("cannot determine whether Robot server %d is on: %s", number, error)
            return ServerStatus.UNKNOWN

    def use_login(self, login: RobotLogin) -> None:
        """Use other credentials from the next call on, and forget everything. May be called from any thread."""
        self.reader.use_login(login)
        self._last, self._names, self._pause_s, self._power = None, frozenset(), 0.0, {}
