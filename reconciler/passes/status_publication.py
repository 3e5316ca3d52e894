"""Publication of the status: what whoever holds the Lease writes down after a pass, when people would see a change."""

import logging
from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import datetime, timedelta

from actuators.http.errors import ApiError, Stopped
from desired.names import STATUS_CONFIG_MAP
from desired.section import Present
from reconciler.passes.upkeep import Upkeep
from reconciler.report.published import (
    KEY,
    RENEWED,
    Mark,
    PublishedStatus,
    format_status,
    mark_of,
    parse_status,
    status_of,
)
from reconciler.result import Report
from reconciler.telemetry.logs import masked

_log = logging.getLogger("hcloud-reconciler.status")

_GAP = timedelta(seconds=10)
"""From one write to the next, unless holds come or go, for which people wait."""
_PAUSE = timedelta(minutes=5)
"""After a ConfigMap that is missing, or a refusal: whoever mends that wants to see the status."""


class StatusPublication:
    """What is published, and its update after each pass."""

    def __init__(
        self, read: Callable[[], Mapping[str, str] | None], write: Callable[[Mapping[str, str]], None], by: str
    ) -> None:
        """``read`` yields the data of the ConfigMap, None where there is none; ``write`` sets keys of it. Both may
        raise an ApiError. ``by`` is the name under which it is published."""
        self._read = read
        self._write = write
        self._by = by
        self._since: Mapping[str, datetime] = {}
        """Hash → when that hold was seen first, by this process or the one that led before."""
        self._upkeep: Upkeep[Mark] = Upkeep(_log, "the status is not published", RENEWED, _PAUSE)

    def forget(self) -> None:
        """Forget what is published: another process may have written. May be called from any thread."""
        self._upkeep.forget()

    def keep(self, report: Report, seconds: float | None = None) -> None:
        """Publish the pass with this report, which took so long, if that is news. Never raises an ApiError: nothing
        depends on it. A pass that read nothing says nothing; who wants to know sees how old the last one is."""
        if report.snapshot is None or report.not_leader or self._upkeep.rests(report.snapshot.taken_at):
            return
        now = report.snapshot.taken_at
        try:
            if self._upkeep.mark is None and not self._look(report):
                self._upkeep.is_missing(now, STATUS_CONFIG_MAP)
                return
            self._publish(report, now, seconds)
        except Stopped:  # the lead is lost, or the run ends: the next one looks again
            self._upkeep.forget()
        except ApiError as error:
            self._upkeep.failed(now, str(error))

    def _look(self, report: Report) -> bool:
        """Take over what was published, also by another process; whether there is a ConfigMap. Raises an ApiError."""
        data = self._read()
        if data is None:
            return False
        found = parse_status(data.get(KEY))
        if found is not None and _is_of(found, report):
            self._since = {hold.hash: hold.since for hold in found.holds}
            if found.by == self._by:
                self._upkeep.stored(mark_of(found), found.written_at)
        return True

    def _publish(self, report: Report, now: datetime, seconds: float | None) -> None:
        """Raises an ApiError."""
        self._since = {hold.hash: min(now, self._since.get(hold.hash, now)) for hold in report.holds}
        status = status_of(_masked(report), self._by, self._since, seconds=seconds)
        if status is None or not self._is_due(mark_of(status), now):
            return
        self._write({KEY: format_status(status)})
        self._upkeep.stored(mark_of(status), now)

    def _is_due(self, mark: Mark, now: datetime) -> bool:
        stored, written_at = self._upkeep.mark, self._upkeep.written_at
        if stored is None or written_at is None or self._upkeep.is_old(now):
            return True
        is_soon = abs(now - written_at) < _GAP
        return mark.hashes != stored.hashes if is_soon else mark != stored


def _masked(report: Report) -> Report:
    """Without secrets: an error repeats what an API or a proxy answered, and more people read this than the log."""
    return replace(report, errors=tuple(map(masked, report.errors)))


def _is_of(status: PublishedStatus, report: Report) -> bool:
    """Whether the status is of the cluster that was read: a copy of a cluster has the other one's ConfigMaps."""
    uid = report.snapshot.cluster_uid if report.snapshot else None
    return isinstance(uid, Present) and uid.value == status.cluster
