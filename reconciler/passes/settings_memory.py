"""Memory of the settings with which a pass last ended well, in the ConfigMap that the status is published in.

It costs no request where a run reads that ConfigMap anyway: who publishes the status looks there once, and both share
that look (``SharedLook``). It is written when what it says changes. A dry run looks when something is planned, and
writes nothing.
"""

import logging
from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import timedelta

from actuators.http.errors import ApiError, Denied
from desired.guards.facts import SettingsChange
from desired.model.former_settings import (
    KEY,
    FormerSettings,
    PendingChange,
    format_former,
    parse_former,
    values_of,
)
from desired.model.settings import Settings
from desired.model.snapshot import Snapshot
from desired.section import Present, Unknown
from reconciler import __version__
from reconciler.passes.upkeep import Upkeep

_log = logging.getLogger("hcloud-reconciler.settings")

_PAUSE = timedelta(hours=1)
"""After an API refused to write the ConfigMap."""

Data = Mapping[str, str] | None
"""Of the ConfigMap; None where there is none."""


class SharedLook:
    """One look at a ConfigMap for two who need it: the first one asks, and the second takes what was found then."""

    def __init__(self, read: Callable[[], Data]) -> None:
        """``read`` may raise an ApiError."""
        self._read = read
        self._found: tuple[Data] | None = None

    def first(self) -> Data:
        """What is there now. Raises an ApiError."""
        self._found = None
        found = self._read()
        self._found = (found,)
        return found

    def second(self) -> Data:
        """What the first look has found, once; without one what is there now. Raises an ApiError."""
        found, self._found = self._found, None
        return self._read() if found is None else found[0]


class SettingsMemory:
    """What is stored, as far as this process knows it, and its update after a pass."""

    def __init__(
        self,
        settings: Settings,
        read: Callable[[], Data] = lambda: None,
        write: Callable[[Mapping[str, str | None]], None] | None = None,
        *,
        looks_first: bool = False,
    ) -> None:
        """``read`` yields the data of the ConfigMap, ``write`` sets keys of it; both may raise an ApiError. Without
        ``write`` nothing is remembered. ``looks_first``: it is read whatever is planned."""
        self._settings = settings
        self._read = read
        self._write = write
        self._looks_first = looks_first
        self._stored: FormerSettings | None = None
        self._has_looked = False
        self._is_there = False
        """Whether there is a ConfigMap. Who publishes the status says where there is none."""
        self._is_accepted = False
        self._upkeep: Upkeep[str] = Upkeep(_log, "the settings are not remembered", _PAUSE, _PAUSE)

    def forget(self) -> None:
        """Forget what is stored: another process may have written. May be called from any thread."""
        self._has_looked = False

    def recall(self, snapshot: Snapshot, *, is_planning: bool = False) -> FormerSettings | Unknown | None:
        """The former settings of the cluster; None where none are remembered, or nobody has looked yet as nothing
        ``is_planning``. Unknown when they could not be read. Never raises an ApiError."""
        uid = snapshot.cluster_uid
        if not isinstance(uid, Present):
            return None
        if not self._has_looked and (self._looks_first or is_planning):
            try:
                data = self._read()
            except Denied:  # who may not read it has never written it
                data = None
            except ApiError as error:
                return Unknown(str(error))
            self._stored, self._is_accepted = parse_former((data or {}).get(KEY), uid.value), False
            self._has_looked, self._is_there = True, data is not None
        stored = self._stored
        if stored is not None and self._is_accepted:
            return replace(stored, change=self._pending(stored, snapshot, is_accepted=True))
        return stored

    def accept(self) -> None:
        """A person has approved what follows from the difference, and it is being done."""
        self._is_accepted = True

    def keep(self, snapshot: Snapshot, change: SettingsChange | None, *, is_whole: bool, is_sound: bool) -> None:
        """Remember the settings after a pass that ended with this reading. ``change`` is what still follows from the
        difference; ``is_sound`` says that all lists were read, ``is_whole`` that nothing is unknown. Never raises an
        ApiError."""
        uid = snapshot.cluster_uid
        is_blind = not self._has_looked or not self._is_there or (change is not None and not change.is_known)
        if self._write is None or is_blind or not isinstance(uid, Present) or snapshot.clocks.differ:
            return
        wanted = self._wanted(snapshot, change, is_whole=is_whole, is_sound=is_sound)
        if wanted is None or wanted == self._stored or self._upkeep.rests(snapshot.taken_at):
            return
        text = format_former(wanted, uid.value)
        try:
            self._write({KEY: text})
        except ApiError as error:
            self._upkeep.failed(snapshot.taken_at, str(error))
            return
        self._upkeep.stored(text, snapshot.taken_at)
        self._stored, self._is_accepted = wanted, False

    def _wanted(
        self, snapshot: Snapshot, change: SettingsChange | None, *, is_whole: bool, is_sound: bool
    ) -> FormerSettings | None:
        """What has to be stored; None while too little is known."""
        stored = self._stored
        if stored is None:
            return self._present(snapshot, {}) if is_sound else None
        if not stored.differing(self._settings):
            return replace(stored, change=None)
        if (change is None or not change.follows) and is_whole:
            return self._present(snapshot, stored.values)
        return replace(stored, change=self._pending(stored, snapshot, is_accepted=self._is_accepted))

    def _present(self, snapshot: Snapshot, former: Mapping[str, bool | int | str | None]) -> FormerSettings:
        network = snapshot.network.value if isinstance(snapshot.network, Present) else None
        values = {**former, **values_of(self._settings)}
        return FormerSettings(values, network.id if network else None, __version__, snapshot.taken_at)

    def _pending(self, stored: FormerSettings, snapshot: Snapshot, *, is_accepted: bool) -> PendingChange:
        values = {name: now for name, (_, now) in stored.differing(self._settings).items()}
        if stored.change is not None and stored.change.values == values:
            return replace(stored.change, accepted=stored.change.accepted or is_accepted)
        return PendingChange(values, snapshot.taken_at, is_accepted)
