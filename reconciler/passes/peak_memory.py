"""Memory of the most targets that answered within the last hour, in the product's ConfigMap: for runs that no loop
remembers, so that ten small steps under cron mean what one means.

It is read by a run whose plan takes targets, and written by one that has taken some. Any other run sends nothing.
"""

import json
import logging
from collections.abc import Callable, Mapping
from datetime import UTC, datetime

from actuators.http.errors import ApiError
from desired.guards.loss import peaks_of
from desired.model.settings import Settings
from desired.model.snapshot import Snapshot
from desired.plan.setbacks import Peak
from desired.section import Present
from reconciler.telemetry.logs import pairs

_log = logging.getLogger("hcloud-reconciler.memory")

KEY = "peaks"
"""In the ConfigMap, as JSON with a version and the cluster's UID."""
_VERSION = 1
_LONGEST = 262_144
"""Characters that are read or written: 200 load balancers of 100 targets take 200,000."""


class PeakMemory:
    """The stored peaks, and what one run adds to them."""

    def __init__(
        self,
        read: Callable[[], Mapping[str, str] | None],
        write: Callable[[Mapping[str, str | None]], None] | None,
        settings: Settings,
    ) -> None:
        """``read`` yields the ConfigMap's data, None where there is none; ``write`` sets keys of it, and is None for a
        run that writes nothing. Both may raise an ApiError."""
        self._read = read
        self._write = write
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

    def keep(self) -> None:
        """Store the peaks after a run that has taken targets. Never raises an ApiError."""
        if self._write is None or not self._uid or self._found is None or self._found == self._stored:
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


def format_peaks(peaks: Mapping[str, Peak], cluster_uid: str) -> str:
    """The value in the ConfigMap."""
    rows = {scope: [peak.at.astimezone(UTC).isoformat(), sorted(peak.members)] for scope, peak in peaks.items()}
    return json.dumps({"version": _VERSION, "cluster": cluster_uid, "peaks": rows}, sort_keys=True)


def parse_peaks(text: str | None, cluster_uid: str) -> Mapping[str, Peak]:
    """Parse the value in the ConfigMap; empty where it is missing, malformed, too long or of another cluster. Whoever
    may write there can lower a floor to what a single run has, or raise it: then more is held."""
    if text is None or len(text) > _LONGEST:
        return {}
    try:
        fields = json.loads(text)
        if (fields["version"], fields["cluster"]) != (_VERSION, cluster_uid):
            return {}
        return {str(scope): _peak(*row) for scope, row in fields["peaks"].items()}
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):  # the last: json's on deep nesting
        return {}


def _peak(at: str, members: list[str]) -> Peak:
    """Raises ValueError or TypeError for anything but a time with its zone and names."""
    moment = datetime.fromisoformat(at)
    if moment.tzinfo is None or not all(isinstance(name, str) for name in members):
        raise ValueError(f"{at!r} is no time of the API server, or {members!r} are no names")
    return Peak(frozenset(members), moment)
