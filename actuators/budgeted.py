"""Actuators that begin nothing in the cloud that there are no calls left for."""

from collections.abc import Callable, Mapping
from functools import partial

from actuators.apply import Actuator
from desired.model.snapshot import Snapshot
from desired.plan.change import Change
from desired.plan.kinds import KINDS


def within_budget(actuators: Mapping[str, Actuator], begin_change: Callable[[], None]) -> Mapping[str, Actuator]:
    """The same actuators, which begin nothing in the cloud that a budget has no calls for: ``begin_change`` raises
    OverBudget then."""
    return {
        kind: partial(_budgeted, begin_change, actuator) if KINDS[kind].writes_cloud else actuator
        for kind, actuator in actuators.items()
    }


def _budgeted(begin_change: Callable[[], None], actuator: Actuator, change: Change, snapshot: Snapshot) -> None:
    begin_change()
    actuator(change, snapshot)
