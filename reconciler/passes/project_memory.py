"""Memory of the cluster's project, in the product's ConfigMap, written while its own Nodes prove the project.

Costs nothing where nothing is to be remembered. A loop reads once what is stored, as soon as there is something to
remember and its anchor holds, and from then on writes what differs from that: an idle pass sends nothing. A single run
knows nothing of the runs before it, and to ask in each would cost a request for ever: only one that has changed
something reads what is stored, and writes what differs. What is to be remembered changes with what a run applies, so
that nothing is missed but what was there before the first change.
"""

import logging
from collections.abc import Callable
from datetime import datetime, timedelta

from actuators.http.errors import ApiError
from desired.guards.anchor import AnchorState, anchor_of, to_remember
from desired.model.remembered import NOTHING, Remembered
from desired.model.settings import Settings
from desired.model.snapshot import Snapshot
from desired.names import CONFIG_MAP
from desired.section import Present
from desired.syntax.provider_id import Provider
from reconciler.passes.upkeep import why_missing
from reconciler.telemetry.logs import pairs

_log = logging.getLogger("hcloud-reconciler.memory")

_PAUSE = timedelta(hours=1)
"""After a ConfigMap that is missing, or that an API refused to read or to write: it is tried again, not each minute."""


class Memory:
    """The stored memory, as far as this process knows it, and its update."""

    def __init__(
        self,
        read: Callable[[str], Remembered | None],
        write: Callable[[Remembered, str], None],
        settings: Settings,
        *,
        after_changes_only: bool,
    ) -> None:
        """``read`` takes the cluster's UID and yields None where there is no ConfigMap; both may raise an ApiError."""
        self._read = read
        self._write = write
        self._settings = settings
        self._after_changes_only = after_changes_only
        self._stored: Remembered | None = None
        self._failed_at: datetime | None = None

    def forget(self) -> None:
        """Forget what is stored: another process may have written. May be called from any thread."""
        self._stored = None

    def keep(self, snapshot: Snapshot, has_changed: bool) -> None:
        """Store what is to be remembered after a pass that ended with this reading, given whether it ``has_changed``
        anything. Only found, Ready Nodes of ours justify it; a witness does not. Never raises an ApiError: nothing but
        the next total loss of Nodes depends on it."""
        if self._after_changes_only and not has_changed:
            return
        if snapshot.clocks.differ or (self._failed_at and abs(snapshot.taken_at - self._failed_at) < _PAUSE):
            return
        uid = snapshot.cluster_uid.value if isinstance(snapshot.cluster_uid, Present) else None
        if uid is None or anchor_of(Provider.CLOUD, snapshot, self._settings).state is not AnchorState.HOLDS:
            return
        stored = self._stored
        if to_remember(snapshot, stored or NOTHING) == (stored or NOTHING):
            return
        try:
            self._bring_up_to_date(snapshot, stored, uid)
        except ApiError as error:
            self._put_off(snapshot, str(error))

    def _bring_up_to_date(self, snapshot: Snapshot, known: Remembered | None, uid: str) -> None:
        """Raises an ApiError."""
        stored = self._read(uid) if known is None else known
        if stored is None:
            self._put_off(snapshot, why_missing(CONFIG_MAP), logging.INFO)
            return
        wanted = to_remember(snapshot, stored)
        if wanted != stored:
            self._write(wanted, uid)
        self._stored, self._failed_at = wanted, None

    def _put_off(self, snapshot: Snapshot, why: str, level: int = logging.WARNING) -> None:
        self._stored = None
        self._failed_at = snapshot.taken_at
        _log.log(level, "what tells the project is not remembered %s", pairs(why=why))
