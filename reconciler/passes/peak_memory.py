"""Memory of the most targets that answered within the last hour, so that ten small steps mean what one means.

A loop has it in memory from pass to pass. The product's ConfigMap has it for the next run under cron, for a loop that
starts anew, and for the replica that leads next: it is read once, when a plan takes targets, and written by a pass that
has taken some. Any other pass sends nothing.
"""

import logging
from collections.abc import Callable, Collection, Mapping
from datetime import UTC, datetime
from typing import Any

from actuators.http.errors import ApiError
from desired.guards.loss import LAST_FOR, peaks_of, without_balancers
from desired.model.clocks import parse_moment
from desired.model.record import format_record, parse_record
from desired.model.settings import Settings
from desired.model.snapshot import Snapshot
from desired.plan.setbacks import Peak
from desired.section import Present
from reconciler.telemetry.logs import pairs

_log = logging.getLogger("hcloud-reconciler.memory")

KEY = "peaks"
"""In the ConfigMap, as JSON with a version and the cluster's UID."""
_LONGEST = 262_144
"""Characters that are read or written: 200 load balancers of 100 targets take 200,000."""


class PeakMemory:
    """The peaks that are stored, and what the passes of this process add to them."""

    def __init__(
        self,
        read: Callable[[], Mapping[str, str] | None],
        settings: Settings,
        write: Callable[[Mapping[str, str | None]], None] | None = None,
        *,
        lasts: bool = False,
    ) -> None:
        """``read`` yields the ConfigMap's data, None where there is none; ``write`` sets keys of it, None where nothing
        may be written. Both may raise an ApiError. ``lasts`` is for a loop, whose next passes ask as well."""
        self._read = read
        self._settings = settings
        self._write = write
        self._lasts = lasts
        self._stored: Mapping[str, Peak] | None = None
        self._found: Mapping[str, Peak] = {}
        self._uid = ""

    def forget(self) -> None:
        """Forget what is stored: another process may have written. May be called from any thread."""
        self._stored = None

    def peaks(self, snapshot: Snapshot) -> Mapping[str, frozenset[str]]:
        """Scope → its members when it had most within the last hour, this reading included. What cannot be read counts
        for nothing, as before the first run. Never raises an ApiError."""
        if self._stored is None:
            self._uid = snapshot.cluster_uid.value if isinstance(snapshot.cluster_uid, Present) else ""
            self._stored = {}
            try:
                self._stored = parse_peaks((self._read() or {}).get(KEY), self._uid)
            except ApiError as error:
                _log.warning("the most targets of the last hour are not known %s", pairs(why=str(error)))
            self._found = higher_peaks(self._stored, self._found, snapshot.taken_at)
        self._found = peaks_of(snapshot, self._settings, self._found)
        return {scope: peak.members for scope, peak in self._found.items()}

    def keep(self, snapshot: Snapshot, let_go: Collection[int] = (), *, has_taken: bool = False) -> None:
        """Remember what there was when a pass ended with this reading, but for load balancers from which a person
        ``let_go`` of targets: their hour begins anew. It is stored where the pass ``has_taken`` any. Never raises an
        ApiError."""
        if not self._lasts and not has_taken:
            return
        self._found = peaks_of(snapshot, self._settings, without_balancers(self._found, let_go))
        if not has_taken or self._write is None or not self._uid or self._found == self._stored:
            return
        text = format_peaks(self._found, self._uid)
        if len(text) > _LONGEST:
            _log.warning("the most targets of the last hour are too many to be remembered %s", pairs(size=len(text)))
            return
        try:
            self._write({KEY: text})
            self._stored = self._found
        except ApiError as error:
            _log.warning("the most targets of the last hour are not remembered %s", pairs(why=str(error)))


def higher_peaks(stored: Mapping[str, Peak], known: Mapping[str, Peak], now: datetime) -> Mapping[str, Peak]:
    """The ``known`` peaks, and those of the ``stored`` ones that are of the last hour and have more members."""
    higher = {
        scope: peak
        for scope, peak in stored.items()
        if now - peak.at <= LAST_FOR and (scope not in known or len(peak.members) > len(known[scope].members))
    }
    return {**known, **higher}


def format_peaks(peaks: Mapping[str, Peak], cluster_uid: str) -> str:
    """The value in the ConfigMap."""
    rows = {scope: [peak.at.astimezone(UTC).isoformat(), sorted(peak.members)] for scope, peak in peaks.items()}
    return format_record(cluster_uid, {"peaks": rows})


def parse_peaks(text: str | None, cluster_uid: str) -> Mapping[str, Peak]:
    """Parse the value in the ConfigMap; empty where it is missing, malformed, too long or of another cluster. Whoever
    may write there can lower a floor to what a single run has, or raise it: then more is held."""
    return parse_record(text, cluster_uid, _LONGEST, _peaks) or {}


def _peaks(fields: Mapping[str, Any]) -> Mapping[str, Peak]:
    return {str(scope): _peak(*row) for scope, row in fields["peaks"].items()}


def _peak(at: str, members: list[str]) -> Peak:
    """Raises ValueError, TypeError or OverflowError for anything but a time with its zone and names."""
    if not all(isinstance(name, str) for name in members):
        raise ValueError(f"{members!r} are no names")
    return Peak(frozenset(members), parse_moment(at))
