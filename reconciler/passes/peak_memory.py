"""Memory of the most targets that answered within the last hour, in the product's ConfigMap: for runs that no loop
remembers, so that ten small steps under cron mean what one means.

It is read by a run whose plan takes targets, and written by one that has taken some. Any other run sends nothing.
"""

import logging
from collections.abc import Callable, Collection, Mapping
from datetime import UTC
from typing import Any

from actuators.http.errors import ApiError
from desired.guards.loss import peaks_of, without_balancers
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
    """The stored peaks, and what one run adds to them."""

    def __init__(self, read: Callable[[], Mapping[str, str] | None], settings: Settings) -> None:
        """``read`` yields the ConfigMap's data, None where there is none. It may raise an ApiError."""
        self._read = read
        self._settings = settings
        self._stored: Mapping[str, Peak] = {}
        self._found: Mapping[str, Peak] | None = None
        self._uid = ""

    def peaks(self, snapshot: Snapshot) -> Mapping[str, frozenset[str]]:
        """Scope → its members when it had most within the last hour, this reading included, as they were when the run
        first asked. What cannot be read counts for nothing, as before the first run. Never raises an ApiError."""
        if self._found is None:
            self._uid = snapshot.cluster_uid.value if isinstance(snapshot.cluster_uid, Present) else ""
            try:
                self._stored = parse_peaks((self._read() or {}).get(KEY), self._uid)
            except ApiError as error:
                _log.warning("the most targets of the last hour are not known %s", pairs(why=str(error)))
            self._found = peaks_of(snapshot, self._settings, self._stored)
        return {scope: peak.members for scope, peak in self._found.items()}

    def keep(self, write: Callable[[Mapping[str, str | None]], None], let_go: Collection[int] = ()) -> None:
        """Store the peaks after a run that has taken targets, but for those of load balancers from which a person
        ``let_go`` of them. ``write`` sets keys of the ConfigMap, and may raise an ApiError, which this never does."""
        found = without_balancers(self._found or {}, let_go)
        if not self._uid or self._found is None or found == self._stored:
            return
        text = format_peaks(found, self._uid)
        if len(text) > _LONGEST:
            _log.warning("the most targets of the last hour are too many to be remembered %s", pairs(size=len(text)))
            return
        try:
            write({KEY: text})
            self._stored = found
        except ApiError as error:
            _log.warning("the most targets of the last hour are not remembered %s", pairs(why=str(error)))


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
