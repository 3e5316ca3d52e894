"""Records that a process keeps in the product's ConfigMaps, from pass to pass and for the process after it.

| Key | Kept by | Read |
|---|---|---|
| ``anchor`` | ``ProjectMemory`` | with the first that is to be remembered, by a run that ends only after changes |
| ``settings`` | ``SettingsRecord`` | once; by a dry run when something is planned |
| ``status`` | ``StatusPublication`` | once, by the same request as ``settings`` |
"""

import logging
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from actuators.http.errors import ApiError
from actuators.outcome import Applied
from desired.guards.anchor import AnchorState, anchor_of, to_remember
from desired.guards.guard import GuardInput
from desired.guards.peaks import Peak, headcounts, peaks_after
from desired.model.published_settings import SETTINGS, PublishedSettings, texts_of
from desired.model.remembered import ANCHOR, NOTHING
from desired.model.settings import Settings
from desired.model.snapshot import Snapshot
from desired.names import CONFIG_MAP, STATUS_CONFIG_MAP
from desired.plan.change import Change, GuardName
from desired.plan.setbacks import OF_NODES, OF_ROUTES, Scope
from desired.section import Present
from desired.syntax.provider_id import Provider
from reconciler.passes.keeper import ConfigMap, Data, Keeper, Upkeep
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
from reconciler.result import Line, Report
from reconciler.telemetry.logs import masked

_log = logging.getLogger("hcloud-reconciler.memory")
_HOUR = timedelta(hours=1)

_OF_PROJECT = Upkeep(ANCHOR, _log, "the ids of the project are not stored", _HOUR)
_OF_SETTINGS = Upkeep(SETTINGS, logging.getLogger("hcloud-reconciler.settings"), "the settings are not stored", _HOUR)


class ProjectMemory:
    """Ids that tell the cluster's project, written while its own Nodes prove it.

    A loop reads once what is stored. A single run knows nothing of the runs before it, and to ask in each would cost a
    request for ever: only one that has changed something does. What is to be remembered changes with what a run
    applies, so that nothing is missed but what was there before the first change.
    """

    def __init__(self, config_map: ConfigMap, settings: Settings, *, after_changes_only: bool) -> None:
        self._keeper = Keeper(_OF_PROJECT, config_map)
        self._settings = settings
        self._after_changes_only = after_changes_only
        self.forget = self._keeper.forget

    def keep(self, snapshot: Snapshot, *, has_changed: bool) -> None:
        """Store what is to be remembered after a pass that ended with this reading, given whether it ``has_changed``
        anything. Only found, Ready Nodes of ours justify it; a witness does not."""
        if (self._after_changes_only and not has_changed) or snapshot.clocks.differ:
            return
        if anchor_of(Provider.CLOUD, snapshot, self._settings).state is not AnchorState.HOLDS:
            return
        known = (self._keeper.value if self._keeper.is_known else None) or NOTHING
        if to_remember(snapshot, known) != known:
            self._keeper.keep(snapshot, lambda stored: to_remember(snapshot, stored or NOTHING))


class PeakMemory:
    """The most targets, Nodes and routes of the last hour, in this process alone."""

    def __init__(self) -> None:
        self._seen: Mapping[Scope, Peak] = {}

    def seen(self, facts: GuardInput) -> Mapping[Scope, frozenset[str]]:
        """Scope → the most members of each population within the last hour, with these."""
        snapshot = facts.snapshot
        self._seen = peaks_after(self._seen, headcounts(facts), snapshot.taken_at, ages=not snapshot.clocks.differ)
        return {scope: peak.members for scope, peak in self._seen.items()}

    def let_go(self, of: Collection[object]) -> None:
        """The hour begins anew of what scopes begin with these, such as ids of load balancers: a person let some go."""
        self._seen = {scope: peak for scope, peak in self._seen.items() if scope[0] not in of}


class SettingsRecord:
    """The settings of the last pass, to be shown: they decide nothing."""

    def __init__(
        self, config_map: ConfigMap, settings: Settings, shares: Callable[[Data, str], None] = lambda *_: None
    ) -> None:
        """Where it may be written it is read whatever is planned. ``shares`` is told what is in the ConfigMap, and of
        which cluster it was read: that spares another keeper its look."""
        self._keeper = Keeper(_OF_SETTINGS, config_map)
        self._texts = texts_of(settings)
        self._shares = shares
        self._looks_first = config_map.write is not None
        self.forget = self._keeper.forget

    def change(self, snapshot: Snapshot, *, is_planning: bool) -> str:
        """The last change of settings, within a day, in words; "" without one, if it cannot be read, and if there was
        no look yet as nothing ``is_planning``."""
        uid, keeper = snapshot.cluster_uid, self._keeper
        if not isinstance(uid, Present):
            return ""
        if not keeper.is_known and (self._looks_first or is_planning):
            try:
                self._shares(keeper.look(uid.value), uid.value)
            except ApiError:
                return ""
        stored = keeper.value
        return "" if stored is None else stored.followed_by(self._texts, snapshot.taken_at).says

    def keep(self, snapshot: Snapshot) -> None:
        """Publish them after a pass that ended with this reading. Who publishes the status says where there is no
        ConfigMap."""
        if self._keeper.is_known and self._keeper.is_there and not snapshot.clocks.differ:
            now = snapshot.taken_at
            self._keeper.keep(snapshot, lambda stored: (stored or self._first).followed_by(self._texts, now))

    @property
    def _first(self) -> PublishedSettings:
        return PublishedSettings(self._texts)


_GAP = timedelta(seconds=10)
"""From one write of the status to the next, unless it says something that people wait for."""


def _is_seen(stored: PublishedStatus, wanted: PublishedStatus, age: timedelta | None) -> bool:
    """Whether a person would see a change."""
    told = urgent_of if age is not None and age < _GAP else news_of
    return told(stored) != told(wanted)


_OF_STATUS: Upkeep[PublishedStatus] = Upkeep(
    STATUS,
    logging.getLogger("hcloud-reconciler.status"),
    "the status is not published",
    timedelta(minutes=5),  # who mends it wants to see the status
    _is_seen,
    renewed=RENEWED,
)


class StatusPublication:
    """What the holder of the Lease writes down after a pass, when people would see a change."""

    def __init__(self, config_map: ConfigMap) -> None:
        self._keeper = Keeper(_OF_STATUS, config_map)
        self._by = config_map.by
        self._since: Mapping[str, datetime] = {}
        """Hash → when that hold was seen first, by this process or the one that led before."""
        self._replaced: tuple[PublishedReplacement, ...] = ()
        """What either of them saw replaced within a day."""
        self.forget, self.found = self._keeper.forget, self._keeper.found

    def keep(self, report: Report, seconds: float | None = None) -> None:
        """Publish the pass with this report, which took so long, if that is news. A pass that read nothing says
        nothing; who wants to know sees how old the last one is."""
        snapshot = report.snapshot
        if snapshot is not None and not report.not_leader:
            now = snapshot.taken_at
            self._replaced = recent((*replaced_in(report), *self._replaced), now)
            self._keeper.keep(snapshot, lambda stored: self._status(report, now, stored, seconds))

    def _status(
        self, report: Report, now: datetime, stored: PublishedStatus | None, seconds: float | None
    ) -> PublishedStatus | None:
        known = {**self._since, **({hold.hash: hold.since for hold in stored.holds} if stored else {})}
        self._since = {hold.hash: min(now, known.get(hold.hash, now)) for hold in report.holds}
        self._replaced = recent((*self._replaced, *(stored.replaced if stored else ())), now)
        # An error repeats what an API or a proxy answered, and more people read this than the log.
        unsecret = replace(report, errors=tuple(map(masked, report.errors)))
        return status_of(unsecret, self._by, self._since, self._replaced, seconds=seconds) or stored


@dataclass(frozen=True, slots=True)
class Ended:
    """A pass at its end, as far as it is remembered."""

    tried: Collection[Line]
    """What was tried, also where that is not seen yet."""
    let_pass: Mapping[GuardName, Collection[Change]]
    """Rule → the changes of its approved holds that were made."""
    facts: GuardInput
    """What the last plan was judged from."""
    is_partial: bool
    """Whether it was stopped, looked at a part of the plan, or sees no more what it did: nothing of that is stored."""

    @property
    def done(self) -> Sequence[Change]:
        """What was applied."""
        return [line.change for line in self.tried if isinstance(line.outcome, Applied)]


class Records:
    """All of them."""

    def __init__(self, main: ConfigMap, status: ConfigMap, settings: Settings, *, lasts: bool = False) -> None:
        """``main`` has what passes go by, ``status`` what people look at; ``lasts`` is for a loop."""
        self.lasts = lasts
        self.project = ProjectMemory(main, settings, after_changes_only=not lasts)
        self.peaks = PeakMemory()
        self.status = StatusPublication(status)
        self.settings = SettingsRecord(status, settings, self.status.found)

    def forget(self) -> None:
        """Look again at all that is stored: another process may have written. May be called from any thread."""
        for each in (self.project, self.settings, self.status):
            each.forget()

    def keep(self, ended: Ended) -> None:
        """Store what is to be known after a pass. Never raises an ApiError."""
        snapshot, done = ended.facts.snapshot, ended.done
        let_pass = ended.let_pass
        let_go = {change.cloud_id for change in let_pass.get(GuardName.TARGET_FLOOR, ()) if change.cloud_id}
        others = ((GuardName.NODE_BLAST_RADIUS, OF_NODES), (GuardName.ROUTE_BLAST_RADIUS, OF_ROUTES))
        self.peaks.let_go({*let_go, *(of for rule, of in others if let_pass.get(rule))})
        if ended.is_partial:
            return
        self.project.keep(snapshot, has_changed=bool(done))
        self.settings.keep(snapshot)


def unkept(settings: Settings) -> Records:
    """Records of a run that stores nothing, and knows nothing of earlier ones."""
    return Records(ConfigMap(CONFIG_MAP), ConfigMap(STATUS_CONFIG_MAP), settings)
