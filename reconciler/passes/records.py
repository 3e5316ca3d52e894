"""Records for the process after this one.

| Record | Where | Read |
|---|---|---|
| ``ProjectMemory`` | the controller's record | with the first id to remember, then each half hour; else after changes |
| ``StatusPublication`` | key ``status`` of the same ConfigMap | once; by a dry run when something is planned |

Nothing depends on a write: without a ConfigMap, or after a refusal, the next one comes after a pause, and it is said
once.
"""

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import datetime, timedelta

from actuators.config_maps import ConfigMap, Data, Values
from actuators.http.errors import ApiError, Invalid, NotFound, Stopped
from desired.guards.anchor import AnchorState, anchor_of, to_remember
from desired.health.state import States
from desired.model.published_settings import PublishedSettings, texts_of
from desired.model.record import Record, Stamp
from desired.model.remembered import NOTHING, Remembered
from desired.model.settings import Settings
from desired.model.snapshot import Snapshot
from desired.plan.controller_record import ControllerRecord
from desired.section import Present
from desired.syntax.provider_id import Provider
from reconciler.report.published import (
    RENEWED,
    STATUS,
    PublishedReplacement,
    PublishedStatus,
    news_of,
    recent,
    replaced_in,
    status_of,
    urgent_of,
)
from reconciler.result import Report
from reconciler.telemetry.logs import masked, pairs


class _Pause:
    """The time after a write that failed in which none is tried."""

    def __init__(self, log: logging.Logger, failed: str, length: timedelta) -> None:
        """``failed`` is logged when it begins, once for each reason."""
        self._log, self._failed, self._length = log, failed, length
        self._since: datetime | None = None
        self._told = ""

    def lasts(self, now: datetime) -> bool:
        """Whether it goes on; a clock that was put back ends it too."""
        return self._since is not None and abs(now - self._since) < self._length

    @contextmanager
    def on_failure(self, now: datetime, forget: Callable[[], object]) -> Iterator[None]:
        """A write, whose failure begins the pause, and whose success ends it. No ApiError leaves it; ``forget`` is
        called if the lead is lost, or the run ends: the next one looks again."""
        try:
            yield
        except Stopped:
            forget()
        except ApiError as error:
            self._since, why = now, str(error)
            if why != self._told:
                level = logging.INFO if isinstance(error, NotFound) else logging.WARNING
                self._log.log(level, "%s %s", self._failed, pairs(why=why))
            self._told = why
        else:
            self._since, self._told = None, ""


class ProjectMemory:
    """Ids that tell the cluster's project, written while its own Nodes prove it.

    A loop reads each half hour what is stored: a person may have removed it. A single run knows nothing of the runs
    before it, and to ask in each would cost a request for ever: only one that has changed something does. What is to be
    remembered changes with what a run applies, so that nothing is missed but what was there before the first change.
    """

    def __init__(self, config_map: ConfigMap, settings: Settings, *, after_changes_only: bool) -> None:
        self._config_map = config_map
        self._settings = settings
        self._after_changes_only = after_changes_only
        self._known: Remembered | None = None
        self._known_at: datetime | None = None
        log = logging.getLogger("hcloud-reconciler.memory")
        self._pause = _Pause(log, "the ids of the project are not stored", timedelta(hours=1))

    def forget(self) -> None:
        """Look again: another process may have written. May be called from any thread."""
        self._known = None

    def keep(self, snapshot: Snapshot, *, has_changed: bool) -> None:
        """Store what is to be remembered after a pass that ended with this reading, given whether it ``has_changed``
        anything. Only found, Ready Nodes of ours justify it; a witness does not. Never raises an ApiError."""
        uid, now = snapshot.cluster_uid, snapshot.taken_at
        if (self._after_changes_only and not has_changed) or snapshot.clocks.differ or not isinstance(uid, Present):
            return
        if self._config_map.change is None or self._pause.lasts(now):
            return
        if anchor_of(Provider.CLOUD, snapshot, self._settings).state is not AnchorState.HOLDS:
            return
        known = self._known or NOTHING
        is_old = self._known_at is None or abs(now - self._known_at) >= RENEWED
        if to_remember(snapshot, known) == known and (known == NOTHING or not is_old):
            return

        def choose(record: ControllerRecord) -> ControllerRecord:
            return replace(record, project=to_remember(snapshot, record.project))

        with self._pause.on_failure(now, self.forget):
            self._known, self._known_at = self._config_map.change_record(choose, uid, now).project, now


_GAP = timedelta(seconds=10)
"""From one write of the status to the next, unless it says something that people wait for."""


class StatusPublication:
    """Status of the last pass and its settings, which the holder of the Lease writes when people would see a change."""

    def __init__(self, config_map: ConfigMap, settings: Settings, *, publishes: bool = True) -> None:
        """``publishes``: False for a run that sees a part of the plan."""
        self._config_map = config_map
        self._change = config_map.change if publishes else None
        self._texts = texts_of(settings)
        self._is_known = False
        """Whether it was looked at since it may have changed."""
        self._stored: Record[PublishedStatus] | None = None
        self._since: dict[str, datetime] = {}
        """Hash → when that hold was seen first, by this process or the one that led before."""
        self._replaced: tuple[PublishedReplacement, ...] = ()
        """What either of them saw replaced within a day."""
        self._began: dict[str, tuple[str, datetime | None]] | None = None
        """Key → its state and when that began; None before the first look at the states of a lead."""
        log = logging.getLogger("hcloud-reconciler.status")
        # Short, so that a fix shows up soon.
        self._pause = _Pause(log, "the status is not published", timedelta(minutes=5))

    def forget(self) -> None:
        """Look again: another process may have written. May be called from any thread."""
        self._is_known, self._began = False, None

    def changed_settings(self, snapshot: Snapshot, *, is_planning: bool) -> str:
        """The last change of settings, within a day, in words; "" without one, if it cannot be read, and if there was
        no look yet as nothing ``is_planning``. A run that may publish looks whatever is planned."""
        uid = snapshot.cluster_uid
        if not isinstance(uid, Present):
            return ""
        if not self._is_known and (self._change is not None or is_planning):
            try:
                self._found(self._config_map.read() or {}, uid.value)
            except ApiError:
                return ""
        return "" if self._stored is None else self._settings(self._stored.value, snapshot).says

    def dated(self, states: States, now: datetime) -> States:
        """The states with the times since when they last, for the pass that ends ``now``. A first look takes those that
        are published; it has not seen the beginning of others."""
        known, is_first = self._began, self._began is None
        if known is None:
            stored = () if self._stored is None else self._stored.value.last_pass.states.unwell
            known = {each.key: (each.state, each.since) for each in stored}
        began: dict[str, tuple[str, datetime | None]] = {}
        for each in states:
            before, since = known.get(each.key, (each.state if is_first else "", None))
            began[each.key] = each.state, since if before == each.state else now
        self._began = began
        return states.since({key: since for key, (_, since) in began.items()})

    def keep(self, report: Report, seconds: float | None = None) -> None:
        """Publish the pass with this report, which took so long, if that is news. A pass that read nothing says
        nothing. Never raises an ApiError."""
        snapshot = report.snapshot
        if snapshot is None or report.not_leader or not isinstance(snapshot.cluster_uid, Present):
            return
        uid, now = snapshot.cluster_uid.value, snapshot.taken_at
        self._replaced = recent((*replaced_in(report, now), *self._replaced), now)
        if self._change is None or self._pause.lasts(now):
            return
        if self._is_known and not self._is_due(self._status(report, snapshot, seconds), now):
            return
        written: list[Record[PublishedStatus]] = []

        def choose(data: Data) -> Values:
            self._found(data, uid)
            status = self._status(report, snapshot, seconds)
            if status is None or not self._is_due(status, now):
                return {}
            text = STATUS.write(status, Stamp(uid, self._config_map.by, now))
            if len(text) > STATUS.longest:
                raise Invalid(f"it has {len(text)} characters, more than {STATUS.longest}")
            written[:] = [Record(status, self._config_map.by, now, uid)]
            return {STATUS.key: text}

        with self._pause.on_failure(now, self.forget):
            self._change(choose)
            self._stored = written[0] if written else self._stored

    def _found(self, data: Data, cluster: str) -> None:
        self._stored, self._is_known = STATUS.record(data.get(STATUS.key), cluster), True

    def _is_due(self, status: PublishedStatus | None, now: datetime) -> bool:
        stored = self._stored
        if stored is None or status is None:
            return status is not None
        age = None if stored.written_at is None else abs(now - stored.written_at)
        if age is None or age >= RENEWED or stored.by != self._config_map.by:
            return True
        told = urgent_of if age < _GAP else news_of
        return told(stored.value) != told(status)

    def _status(self, report: Report, snapshot: Snapshot, seconds: float | None) -> PublishedStatus | None:
        stored = None if self._stored is None else self._stored.value
        now, known = snapshot.taken_at, {hold.hash: hold.since for hold in stored.holds} if stored else {}
        known = {**self._since, **known}
        self._since = {hold.hash: min(now, known.get(hold.hash, now)) for hold in report.holds}
        self._replaced = recent((*self._replaced, *(stored.replaced if stored else ())), now)
        # An error repeats what an API or a proxy answered, and more people read this than the log.
        unsecret = replace(report, errors=tuple(map(masked, report.errors)))
        by, settings = self._config_map.by, self._settings(stored, snapshot)
        return status_of(unsecret, by, self._since, self._replaced, settings, seconds=seconds)

    def _settings(self, stored: PublishedStatus | None, snapshot: Snapshot) -> PublishedSettings:
        """Those of this process, with the former ones that are told."""
        if stored is None or not stored.settings.values:
            return PublishedSettings(self._texts)
        return stored.settings.followed_by(self._texts, snapshot.taken_at)


class Records:
    """All of them."""

    def __init__(self, config_map: ConfigMap, settings: Settings, *, lasts: bool = False) -> None:
        """``lasts`` is for a loop. A run with ``--only`` publishes nothing: its holds would look like all of them."""
        self.lasts = lasts
        self.project = ProjectMemory(config_map, settings, after_changes_only=not lasts)
        self.status = StatusPublication(config_map, settings, publishes=not settings.only)

    def forget(self) -> None:
        """Look again at all that is stored: another process may have written. May be called from any thread."""
        self.project.forget()
        self.status.forget()


def unkept(settings: Settings) -> Records:
    """Records of a run that stores nothing, and knows nothing of earlier ones."""
    return Records(ConfigMap(), settings)
