"""Actuators that begin nothing in the cloud that there are no calls left for."""

from collections.abc import Mapping
from functools import partial

from actuators.apply import Actuator
from actuators.call_budget import CallBudget, SharedAllowance
from desired.change import Change
from desired.kinds import KINDS
from desired.snapshot import Snapshot


def within_budget(actuators: Mapping[str, Actuator], budget: CallBudget | SharedAllowance) -> Mapping[str, Actuator]:
    """The same actuators, which begin nothing in the cloud that the budget has no calls for."""
    return {
        kind: partial(_budgeted, budget, actuator) if KINDS[kind].writes_cloud else actuator
        for kind, actuator in actuators.items()
    }


def _budgeted(budget: CallBudget | SharedAllowance, actuator: Actuator, change: Change, snapshot: Snapshot) -> None:
    budget.begin_change()
    actuator(change, snapshot)
