"""Log-ins that Robot refused, kept in the product's ConfigMap for the next process: three within ten minutes lock the
address out, and a CronJob with a wrong password is a new process every few minutes.

An entry names a log-in by sixteen bits of a slow hash, which tell two log-ins apart and nobody a password.
"""

import hashlib
import json
import logging
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

from actuators.http.errors import ApiError
from desired.model.clocks import TOLERANCE, parse_moment

KEY = "robot-refused"
"""In the ConfigMap."""
LIFETIME = timedelta(hours=1)
"""How long a log-in that was refused is not tried again by a new process: somebody may have made it good in Robot."""
_MOST = 4
_LONGEST = 1000
_VERSION = 1

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


def parse_refusals(text: str | None, now: datetime) -> tuple[Refusal, ...]:
    """Parse the value in the ConfigMap; empty where it is missing, malformed or of another version. What is too old, or
    of the future, is left out."""
    if text is None or len(text) > _LONGEST:
        return ()
    try:
        fields = json.loads(text)
        if fields["version"] != _VERSION:
            return ()
        found = [Refusal(str(each["login"]), parse_moment(each["at"])) for each in fields["refused"][:_MOST]]
    except (ValueError, KeyError, TypeError, OverflowError, RecursionError):
        return ()
    return tuple(refusal for refusal in found if -TOLERANCE <= now - refusal.at < LIFETIME)


def format_refusals(refusals: Iterable[Refusal]) -> str:
    """The value in the ConfigMap: the last ones."""
    refused = [{"login": refusal.tag, "at": refusal.at.isoformat()} for refusal in [*refusals][-_MOST:]]
    return json.dumps({"version": _VERSION, "refused": refused}, sort_keys=True)


class Refusals:
    """The refusals in the ConfigMap. Nothing depends on it that could not be done without: no method raises."""

    def __init__(
        self,
        read: Callable[[], Mapping[str, str] | None],
        write: Callable[[str], None] | None,
        now: Callable[[], datetime],
    ) -> None:
        """``read`` yields the data of the ConfigMap, None where there is none; ``write`` sets the value, and is None
        where nothing may be written. Both may raise an ApiError."""
        self._read = read
        self._write = write
        self._now = now

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
            self._write(format_refusals([*(self._stored(now) or ()), Refusal(tag, now)]))
        except ApiError as error:
            _log.info("that Robot refused the log-in is not written down: %s", error)

    def _stored(self, now: datetime) -> tuple[Refusal, ...] | None:
        try:
            return parse_refusals((self._read() or {}).get(KEY), now)
        except ApiError as error:
            _log.info("which log-ins Robot refused could not be read: %s", error)
            return None
