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
from desired.names import CONFIG_MAP
from desired.plan.change import GuardName
from desired.plan.suspended import KEY, LIFETIME, RULES, SuspendedChange, first_suspended, format_trace
from desired.section import Present
from reconciler.passes.upkeep import Upkeep
from reconciler.result import Line, Report, is_incomplete

_log = logging.getLogger("hcloud-reconciler.suspended")

_LASTS = timedelta(minutes=1)
"""How long a change has to fail, or to wait for what Hetzner refuses, before it is written down: the longest pause
between tries. What goes by itself costs no write."""


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
        self._upkeep: Upkeep[frozenset[tuple[str, str]]] = Upkeep(
            _log, "which changes are suspended is not written down", LIFETIME / 2, pause=LIFETIME
        )
        """By key and mark of each change in the stored trace."""

    def forget(self) -> None:
        """Forget what is stored: another process may have written. May be called from any thread."""
        self._upkeep.forget()

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
        if self._upkeep.rests(now) or (self._upkeep.mark is None and not report.lines):
            return
        seen = self._seen.values()
        lasting = (each for each in seen if each.rule == GuardName.FLAPPING or now - each.since >= _LASTS)
        try:
            self._bring_up_to_date(first_suspended(lasting), snapshot.cluster_uid.value, now)
        except ApiError as error:
            self._upkeep.failed(now, str(error))

    def _bring_up_to_date(self, lasting: Collection[SuspendedChange], cluster_uid: str, now: datetime) -> None:
        """Raises an ApiError."""
        names = frozenset((each.key, each.mark) for each in lasting)
        if self._upkeep.mark is None:
            data = self._read()
            if data is None:
                self._upkeep.is_missing(now, CONFIG_MAP)
                return
            is_due = bool(names) or KEY in data
        else:
            is_due = names != self._upkeep.mark or (bool(names) and self._upkeep.is_old(now))
        if is_due:
            self._write(format_trace(lasting, self._by, cluster_uid, now) if lasting else None)
        self._upkeep.stored(names, now if is_due else None)


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
