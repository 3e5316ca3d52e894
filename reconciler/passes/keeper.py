"""Keeper of one record in a ConfigMap: what is stored, as far as this process knows, and when it has to be written.

It is written when what it says changes, and again after a while where readers need to know that it still holds: an idle
pass sends nothing. Nothing depends on it that could not be done without: after a missing ConfigMap or a refusal it
rests, and says so once.
"""

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Generic, TypeVar

from actuators.http.errors import ApiError, Invalid, Stopped
from desired.model.record import Format, Record, Stamp
from desired.model.snapshot import Snapshot
from desired.section import Present
from reconciler.telemetry.logs import pairs

V = TypeVar("V")
Data = Mapping[str, str] | None
"""Of a ConfigMap; None where there is none."""
Values = Mapping[str, str | None]
"""Key → what is to stand there; None takes the key away. Other keys stay."""


@dataclass(frozen=True, slots=True)
class ConfigMap:
    """One of the product's ConfigMaps, as this process reads and writes it."""

    name: str
    read: Callable[[], Data] = lambda: None
    """Yields its data; may raise an ApiError."""
    write: Callable[[Values], None] | None = None
    """Sets keys of it, and may raise an ApiError; None where nothing may be written."""
    by: str = ""
    """The name under which this process writes."""


@dataclass(frozen=True, slots=True)
class Upkeep(Generic[V]):
    """How a record is kept."""

    form: Format[V]
    log: logging.Logger
    failed: str
    """What is logged when it cannot be kept."""
    pause: timedelta
    """After a ConfigMap that is missing, or that an API refused to read or to write."""
    is_news: Callable[[V, V, timedelta | None], bool] = lambda stored, wanted, _age: stored != wanted
    """Whether a value has to be written in the place of the stored one of this age; None: its age is not known."""
    renewed: timedelta | None = None
    """After this it is written again, and where another process wrote it; None: it holds, whichever process wrote
    it."""


class Keeper(Generic[V]):
    """What is stored of one record, and its update."""

    def __init__(self, upkeep: Upkeep[V], config_map: ConfigMap) -> None:
        self.is_known = False
        """Whether it was looked at since it may have changed."""
        self.is_there = False
        """Whether there is a ConfigMap for it."""
        self._upkeep = upkeep
        self._config_map = config_map
        self._stored: Record[V] | None = None
        self._has_text = False
        self._failed_at: datetime | None = None
        self._told = ""

    @property
    def value(self) -> V | None:
        """What is stored; None where nothing is, or it is not known."""
        return None if self._stored is None else self._stored.value

    def forget(self) -> None:
        """Look again: another process may have written. May be called from any thread."""
        self.is_known = False

    def rests(self, now: datetime) -> bool:
        """Whether it failed a short time ago."""
        return self._failed_at is not None and abs(now - self._failed_at) < self._upkeep.pause

    def look(self, cluster: str) -> Data:
        """Read what is stored for the cluster with this UID; all that is in the ConfigMap. Raises an ApiError."""
        data = self._config_map.read()
        self.found(data, cluster)
        return data

    def found(self, data: Data, cluster: str) -> None:
        """This is in the ConfigMap."""
        text = (data or {}).get(self._upkeep.form.key)
        self._stored, self._has_text = self._upkeep.form.record(text, cluster), text is not None
        self.is_known, self.is_there = True, data is not None

    def keep(self, snapshot: Snapshot, wanted: Callable[[V | None], V | None]) -> None:
        """Store what is ``wanted`` after a pass that ended with this reading, given what is stored, if that is news;
        None takes it away. Never raises an ApiError, and does nothing where nothing may be written."""
        uid, now, write = snapshot.cluster_uid, snapshot.taken_at, self._config_map.write
        if write is None or not isinstance(uid, Present) or self.rests(now):
            return
        try:
            if not self.is_known or (not self.is_there and self._failed_at is not None):
                self.look(uid.value)
            if not self.is_there:
                name = self._config_map.name
                why = f"there is no ConfigMap for it: kubectl create configmap {name}, in the namespace of the Lease"
                self._put_off(now, why, logging.INFO)
                return
            value = wanted(self.value)
            if self._is_due(value, now):
                self._write(value, Stamp(uid.value, self._config_map.by, now), write)
            self._failed_at, self._told = None, ""
        except Stopped:  # the lead is lost, or the run ends: the next one looks again
            self.forget()
        except ApiError as error:
            self._put_off(now, str(error), logging.WARNING)

    def _is_due(self, value: V | None, now: datetime) -> bool:
        stored, renewed = self._stored, self._upkeep.renewed
        if value is None:
            return self._has_text
        if stored is None:
            return True
        age = None if stored.written_at is None else abs(now - stored.written_at)
        is_old = renewed is not None and (age is None or age >= renewed or stored.by != self._config_map.by)
        return is_old or self._upkeep.is_news(stored.value, value, age)

    def _write(self, value: V | None, origin: Stamp, write: Callable[[Values], None]) -> None:
        """Raises an ApiError."""
        form = self._upkeep.form
        text = None if value is None else form.write(value, origin)
        if text is not None and len(text) > form.longest:
            raise Invalid(f"it has {len(text)} characters, more than {form.longest}")
        write({form.key: text})
        self._stored = None if value is None else Record(value, origin.by, origin.at)
        self._has_text = text is not None

    def _put_off(self, now: datetime, why: str, level: int) -> None:
        """Rest. What was read stays known: a write that failed says nothing of what another process may have stored."""
        self._failed_at = now
        if why != self._told:
            self._upkeep.log.log(level, "%s %s", self._upkeep.failed, pairs(why=why))
        self._told = why
