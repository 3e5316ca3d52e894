"""Log-ins that Robot refused, kept in the product's ConfigMap for the next process: three within ten minutes lock the
address out, and a CronJob with a wrong password is a new process every few minutes.

An entry names a log-in by sixteen bits of a slow hash, which tell two log-ins apart and reveal no password. It is read
before it is known which cluster this is.
"""

import hashlib
import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from actuators.http.errors import ApiError
from desired.model.clocks import TOLERANCE, parse_moment
from desired.model.record import Format, Stamp

LIFETIME = timedelta(hours=1)
"""How long a log-in that was refused is not tried again by a new process: it may have been mended in Robot."""
_MOST = 4

_log = logging.getLogger("hcloud-reconciler.clients")


@dataclass(frozen=True, slots=True)
class Refusal:
    """One log-in that was refused."""

    tag: str
    """What tells it from others (``tag_of``)."""
    at: datetime


def tag_of(user: str, password: str) -> str:
    """The tag of a log-in: four hexadecimal digits."""
    return hashlib.scrypt(password.encode(), salt=user.encode(), n=2**13, r=8, p=1, dklen=2).hex()


def _fields(refusals: tuple[Refusal, ...]) -> Mapping[str, object]:
    return {"refused": [{"login": refusal.tag, "at": refusal.at.isoformat()} for refusal in refusals[-_MOST:]]}


def _refusals(fields: Mapping[str, Any]) -> tuple[Refusal, ...]:
    return tuple(Refusal(str(each["login"]), parse_moment(each["at"])) for each in fields["refused"][:_MOST])


REFUSED = Format("robot-refused", 1000, _fields, _refusals)


class Refusals:
    """The refusals in the ConfigMap. Nothing depends on it that could not be done without: no method raises."""

    def __init__(
        self,
        read: Callable[[], Mapping[str, str] | None],
        write: Callable[[Mapping[str, str | None]], None] | None,
        now: Callable[[], datetime],
        by: str = "",
    ) -> None:
        """``read`` yields the data of the ConfigMap, None where there is none; ``write`` sets keys of it, and is None
        where nothing may be written. Both may raise an ApiError. ``by`` is the name under which this process writes."""
        self._read = read
        self._write = write
        self._now = now
        self._by = by

    def recall(self) -> tuple[tuple[str, float], ...] | None:
        """Tag and age in seconds of each refusal, oldest first; None where they cannot be read."""
        now = self._now()
        stored = self._stored(now)
        if stored is None:
            return None
        found = sorted(stored, key=lambda refusal: refusal.at)
        return tuple((refusal.tag, max(0.0, (now - refusal.at).total_seconds())) for refusal in found)

    def note(self, tag: str) -> None:
        """Write down that a log-in was refused just now."""
        if self._write is None:
            return
        now = self._now()
        try:
            refused = (*(self._stored(now) or ()), Refusal(tag, now))
            self._write({REFUSED.key: REFUSED.write(refused, Stamp("", self._by, now))})
        except ApiError as error:
            _log.info("that Robot refused the log-in is not written down: %s", error)

    def _stored(self, now: datetime) -> tuple[Refusal, ...] | None:
        """Those that count now."""
        try:
            found = REFUSED.read((self._read() or {}).get(REFUSED.key)) or ()
        except ApiError as error:
            _log.info("which log-ins Robot refused could not be read: %s", error)
            return None
        return tuple(refusal for refusal in found if -TOLERANCE <= now - refusal.at < LIFETIME)
