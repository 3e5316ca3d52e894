"""Primary IPs, looked up one by one by what Services ask for: a list would be as long as that of all servers."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial

from actuators.http.hetzner import HetznerReader
from actuators.wire.primary_ip import PRIMARY_IPS
from desired.load_balancers.primary_ips import Purpose, is_outdated
from desired.model.load_balancer import PrimaryIp
from desired.model.snapshot import Snapshot
from desired.section import Absent, Unknown
from reconciler.observe.servers_by_id import ask_each

MOST_AT_ONCE = 10
"""Requests in one reading at most, whatever the number of Services that ask for one: the rest is for the next."""
_FIRST_PAUSE = timedelta(seconds=30)
_LONGEST_PAUSE: Mapping[Purpose, timedelta] = {
    Purpose.DELETION: _FIRST_PAUSE,
    Purpose.CREATION: timedelta(minutes=5),
    Purpose.UPKEEP: timedelta(hours=1),
}
"""How long an answer is used at most. None is too old to be safe: Hetzner itself refuses to assign an address twice."""

_Answer = PrimaryIp | Absent | Unknown


@dataclass(frozen=True, slots=True)
class _Known:
    answer: _Answer
    purpose: Purpose
    asked_at: datetime
    pause: timedelta
    """From one question to the next."""


class PrimaryIps:
    """Looks up Primary IPs, and remembers the answers as long as they are needed.

    An answer that does not change costs one request, then one after 30 s, after a minute, and so on: up to five minutes
    while a load balancer is to be created with it, and up to an hour once it has been.
    """

    def __init__(self) -> None:
        self._known: dict[int | str, _Known] = {}

    def forget(self) -> None:
        """Forget all answers. Those to another token do not concern this project. May be called from any thread."""
        self._known = {}

    def look_up(
        self, reader: HetznerReader, snapshot: Snapshot, asked: Mapping[int | str, Purpose]
    ) -> Mapping[int | str, PrimaryIp | Absent | Unknown]:
        """Id or name of each Primary IP that is ``asked`` for (``asked_primary_ips``) → what was found. Never raises an
        ApiError: what could not be read is Unknown, or an older answer."""
        now = snapshot.taken_at
        known = {each: found for each, found in self._known.items() if each in asked}
        todo = [each for each, purpose in asked.items() if not _is_settled(known.get(each), purpose, snapshot)]
        answers = ask_each(todo[:MOST_AT_ONCE], partial(_read, reader), reader.concurrency)
        for each, answer in answers.items():
            known[each] = _remembered(known.get(each), answer, asked[each], now)
        self._known = {each: found for each, found in known.items() if not isinstance(found.answer, Unknown)}
        return {each: found.answer for each, found in known.items()}


def _is_settled(known: _Known | None, purpose: Purpose, snapshot: Snapshot) -> bool:
    """Whether it is too early to ask again. Not for a new purpose, unless that is only a note, nor for a creation that
    the list of load balancers contradicts, nor if the API server's clock was put back."""
    if known is None or purpose not in (known.purpose, Purpose.UPKEEP):
        return False
    if purpose is Purpose.CREATION and isinstance(known.answer, PrimaryIp) and is_outdated(known.answer, snapshot):
        return False
    return known.asked_at <= snapshot.taken_at < known.asked_at + known.pause


def _remembered(before: _Known | None, answer: _Answer, purpose: Purpose, now: datetime) -> _Known:
    pause = before.pause * 2 if before is not None and before.answer == answer else _FIRST_PAUSE
    return _Known(answer, purpose, now, min(pause, _LONGEST_PAUSE[purpose]))


def _read(reader: HetznerReader, asked: int | str) -> PrimaryIp | Absent:
    """Raises an ApiError."""
    if isinstance(asked, int):
        return PRIMARY_IPS.one(reader, asked)
    listed = PRIMARY_IPS.found(reader, {"name": asked})
    return next((each for each in listed if each.name == asked), Absent())
