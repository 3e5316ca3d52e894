"""Upkeep of something that this process keeps in a ConfigMap for others to read: when it has to be written.

It is written when what it says changes, and again after a while so that it does not become void; an idle pass sends
nothing. Nothing depends on it: after a missing ConfigMap or a refusal it rests, and says so once.
"""

import logging
from collections.abc import Hashable
from datetime import datetime, timedelta
from typing import Generic, TypeVar

from reconciler.telemetry.logs import pairs

M = TypeVar("M", bound=Hashable)


def why_missing(name: str) -> str:
    """What is logged where there is no ConfigMap of this name, with the command that mends it."""
    return f"there is no ConfigMap for it: kubectl create configmap {name}, in the namespace of the Lease"


class Upkeep(Generic[M]):
    """What is stored, as far as that is known, and since when. ``M`` is its mark: two equal marks say the same."""

    def __init__(self, log: logging.Logger, failed: str, renewed: timedelta, pause: timedelta) -> None:
        """``failed`` is what is logged when it cannot be kept; after ``renewed`` it is written again. ``pause`` follows
        on a ConfigMap that is missing, or that an API refused to read or to write."""
        self._log = log
        self._failed = failed
        self._renewed = renewed
        self._pause = pause
        self._told = ""
        self._failed_at: datetime | None = None
        self.mark: M | None = None
        """Of what is stored; None when that is not known."""
        self.written_at: datetime | None = None

    def forget(self) -> None:
        """Forget what is stored: another process may have written. May be called from any thread."""
        self.mark = None

    def rests(self, now: datetime) -> bool:
        """Whether it failed a short time ago."""
        return self._failed_at is not None and abs(now - self._failed_at) < self._pause

    def is_old(self, now: datetime) -> bool:
        """Whether what is stored has to be written again."""
        return self.written_at is None or abs(now - self.written_at) >= self._renewed

    def stored(self, mark: M, at: datetime | None = None) -> None:
        """This is stored now; ``at`` is when it was written, None when it was there already."""
        self.mark, self._failed_at, self._told = mark, None, ""
        self.written_at = at or self.written_at

    def is_missing(self, now: datetime, name: str) -> None:
        """There is no ConfigMap of this name for it."""
        self._rest(now, why_missing(name), logging.INFO)

    def failed(self, now: datetime, why: str) -> None:
        """It could not be read or written."""
        self._rest(now, why, logging.WARNING)

    def _rest(self, now: datetime, why: str, level: int) -> None:
        self.mark = None
        self._failed_at = now
        if why != self._told:
            self._log.log(level, "%s %s", self._failed, pairs(why=why))
        self._told = why
