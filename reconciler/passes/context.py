"""Contexts of a pass: what it plans in, and what it acts with."""

import threading
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial
from typing import Protocol

from actuators.apply import Actuator
from actuators.lanes import UnderWay
from actuators.outcome import Outcome
from desired.model.settings import Settings
from desired.model.snapshot import Snapshot
from desired.plan.change import Change
from desired.plan.controller_record import FoundRecord
from desired.plan.grants import Grant, Here
from reconciler.observe.world import Readers
from reconciler.passes.agreement import Agreement
from reconciler.passes.history import History
from reconciler.passes.records import Records, unkept
from reconciler.result import Report
from reconciler.telemetry.conditions import ConditionSink, NodeConditionSink
from reconciler.telemetry.events import Event


@dataclass(frozen=True, slots=True)
class PlanContext:
    """The context in which a pass plans: readers, settings, and what people and passes before have left for it."""

    readers: Readers
    settings: Settings
    namespace: str
    """Of the Lease and of the product's ConfigMaps."""
    flagged: tuple[Grant, ...] = ()
    """What ``--approve`` lets through in this run."""
    history: History = field(default_factory=History)
    """What this process remembers from pass to pass."""
    agreement: Agreement = field(default_factory=Agreement)
    """What was agreed to: a pass makes no other changes. By default whatever the guards allow."""
    blank: Report = field(default_factory=Report)
    """The report before anything is read, with what reports tell of the command."""
    is_alone: bool = False
    """Whether it is planned as if no other controller ran."""
    as_unapproved: bool = False
    """Whether it is planned as if nothing had been approved, so that all holds are told."""
    uses: "Uses | None" = None
    """Uses of approvals, in a pass that may write."""
    records: Records = field(default_factory=lambda: unkept(Settings()))
    """What is stored for later processes; by default nothing is."""

    @property
    def only(self) -> tuple[str, ...]:
        """The keys that are looked at: as asked for, or else as when the plan was made that was agreed to."""
        return self.settings.only or self.agreement.only


class Announcer(Protocol):
    """Takes events and sends them some time."""

    def send(self, event: Event, now: datetime) -> None:
        """Say what has just happened."""

    def announce(self, events: Collection[Event], now: datetime) -> None:
        """Say what holds after a pass."""


class Progress(Protocol):
    """Hears of an apply while it goes on."""

    def begin(self, changes: Sequence[Change]) -> None:
        """These changes are about to be applied."""

    def done(self, change: Change, outcome: Outcome) -> None:
        """One of them came to an end."""

    def end(self) -> None:
        """All of them did."""


class Uses(Protocol):
    """Uses of stored approvals."""

    def known(self, found: FoundRecord, here: Here) -> FoundRecord:
        """The record that was ``found`` with the uses of this process; begun now if there is none."""

    def use_up(self, approvals: Collection[Grant], here: Here, names: Collection[str] = ()) -> None:
        """Mark the grants of one hold as used, which lets the differences of these names pass; raises an ApiError if
        none counts any more."""

    def strike(
        self, begun: Collection[str], is_done: Callable[[str], bool], here: Here, *, looks: bool = False
    ) -> None:
        """Strike the differences that approvals let pass and that are done; raises an ApiError."""


def _without_a_write(*_conditions: object) -> None:
    return


@dataclass(frozen=True, slots=True)
class ApplyContext:
    """The context in which a pass acts. A dry run has none."""

    actuators: Mapping[str, Actuator]
    approvals: Uses
    events: Announcer
    progress: Progress
    stop: threading.Event
    conditions: ConditionSink = field(default_factory=partial(ConditionSink, _without_a_write))
    """Writes conditions of Services that no other write takes along; by default none."""
    is_called: Callable[[], bool] = lambda: False
    """Whether something has come up meanwhile that another pass should see: then this one gives way."""
    have_room: Callable[[Collection[Change], Collection[Change], Snapshot], bool] = lambda *_: True
    """Whether there is room for these changes in the call budget, before an approval is used for them."""
    under_way: UnderWay = field(default_factory=partial(UnderWay, may_leave=False))
    """What passes have left, which goes on."""
    node_conditions: NodeConditionSink = field(default_factory=partial(NodeConditionSink, _without_a_write))
    """Writes the condition of ours of Nodes; by default none."""
