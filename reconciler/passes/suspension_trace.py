"""Trace of suspended changes: what a controller has set aside, written into the product's ConfigMap for dry runs.

A suspension lives in the memory of the controller alone (``reconciler.passes.history``). A dry run beside it would show
such a change as if the next pass made it. So the controller writes which changes it leaves alone when the set of these
changes, anew after half an hour, and takes the trace away when there is none left. An idle pass sends nothing.
"""

import logging
from collections.abc import Callable, Collection, Mapping
from datetime import datetime, timedelta

from actuators.http.errors import ApiError
from actuators.outcome import Failed
from desired.guards.history import mark_in
from desired.model.snapshot import Snapshot
from desired.plan.change import GuardName
from desired.plan.suspended import KEY, LIFETIME, RULES, SuspendedChange, first_suspended, format_trace
from desired.section import Present
from reconciler.result import Line, Report, is_incomplete
from reconciler.telemetry.logs import pairs

_log = logging.getLogger("hcloud-reconciler.suspended")

_LASTS = timedelta(minutes=1)
"""How long a change has to fail, or to wait for what Hetzner refuses, before it is written down: the longest pause
between tries. What goes by itself costs no write."""
_RENEWED = LIFETIME / 2
"""After this what lasts is written again, so that it does not become void."""
_PAUSE = LIFETIME
"""After a ConfigMap that is missing, or that an API refused to read or to write. What is stored is void by then."""


class SuspensionTrace:
    """What is stored of this process's suspensions, and its update after each pass of a loop."""

    def __init__(
        self, read: Callable[[], Mapping[str, str] | None], write: Callable[[str | None], None], by: str
    ) -> None:
        """``read`` yields the data of the ConfigMap, None where there is none; ``write`` sets the trace or, with None,
        takes it away. Both may raise an ApiError. ``by`` is the name under which it is written."""
        self._read = read
        self._write = write
        self._by = by
        self._seen: dict[str, SuspendedChange] = {}
        """Key → what the last pass set aside, and since when."""
        self._stored: frozenset[tuple[str, str]] | None = None
        """Key and mark of each change in the stored trace; None when what is stored is not known."""
        self._stored_at: datetime | None = None
        self._failed_at: datetime | None = None

    def forget(self) -> None:
        """Forget what is stored: another process may have written. May be called from any thread."""
        self._stored = None

    def keep(self, report: Report) -> None:
        """Bring the trace up to date after the pass with this report. Never raises an ApiError: nothing depends on it.

        What another process left is looked for when something is planned, and no sooner: it misleads nobody before.
        """
        snapshot = report.snapshot
        if snapshot is None or not isinstance(snapshot.cluster_uid, Present) or snapshot.clocks.differ:
            return
        now = snapshot.taken_at
        before, is_whole = self._seen, not report.errors and not is_incomplete(report)
        self._seen = {} if is_whole else dict(before)  # what could not be read is not planned either
        for line in report.lines:
            if (suspended := _suspended(line, before.get(line.change.key), snapshot)) is not None:
                self._seen[suspended.key] = suspended
        if (self._failed_at and abs(now - self._failed_at) < _PAUSE) or (self._stored is None and not report.lines):
            return
        seen = self._seen.values()
        lasting = (each for each in seen if each.rule == GuardName.FLAPPING or now - each.since >= _LASTS)
        try:
            self._bring_up_to_date(first_suspended(lasting), snapshot.cluster_uid.value, now)
        except ApiError as error:
            self._put_off(now, str(error))

    def _bring_up_to_date(self, lasting: Collection[SuspendedChange], cluster_uid: str, now: datetime) -> None:
        """Raises an ApiError."""
        names = frozenset((each.key, each.mark) for each in lasting)
        if self._stored is None:
            data = self._read()
            if data is None:
                self._put_off(now, "there is no ConfigMap for it, see docs/operations.md", logging.INFO)
                return
            is_due = bool(names) or KEY in data
        else:
            is_old = self._stored_at is None or abs(now - self._stored_at) >= _RENEWED
            is_due = names != self._stored or bool(names and is_old)
        if is_due:
            self._write(format_trace(lasting, self._by, cluster_uid, now) if lasting else None)
            self._stored_at = now
        self._stored, self._failed_at = names, None

    def _put_off(self, now: datetime, why: str, level: int = logging.WARNING) -> None:
        self._stored = None
        self._failed_at = now
        _log.log(level, "which changes are suspended is not written down %s", pairs(why=why))


def _suspended(line: Line, before: SuspendedChange | None, snapshot: Snapshot) -> SuspendedChange | None:
    """The suspension of a change; None when it has none. ``before`` is what the pass before knew of this key: a change
    that is tried from time to time has the same suspension all the while."""
    decision, mark, now = line.change.decision, mark_in(line.change, snapshot), snapshot.taken_at
    if before is not None and before.mark != mark:
        before = None
    if isinstance(line.outcome, Failed):
        failed = f"failed: {line.outcome.error}"
        return before or SuspendedChange(line.change.key, mark, GuardName.BACK_OFF, failed, now)
    if line.outcome is not None or decision.rule not in RULES:
        return None
    due_in_s = decision.due_in_s if decision.rule == GuardName.FLAPPING else None
    until = None if due_in_s is None else now + timedelta(seconds=due_in_s)
    since = now if before is None else before.since
    return SuspendedChange(line.change.key, mark, GuardName(decision.rule), decision.why, since, until)
