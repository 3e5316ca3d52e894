"""Calls to Hetzner that a change takes. There has to be room for all of them before it begins: it is never cut between
its writes, nor on its way back.
"""

from collections.abc import Callable, Iterable, Mapping
from contextlib import AbstractContextManager
from functools import partial

from actuators.apply import Actuator
from actuators.balancer_task import balancer_of
from actuators.http.call_budget import ONE_WRITE
from desired.model.load_balancer import is_private
from desired.model.snapshot import Snapshot
from desired.plan.change import Change
from desired.plan.kinds import KINDS, ChangeKind, Verb

BeginChange = Callable[[int], AbstractContextManager[None]]
"""Begins a change that takes so many calls, and goes on until it ends; raises OverBudget when there is no room."""

_WRITES: Mapping[tuple[ChangeKind, Verb], tuple[int, int]] = {
    (ChangeKind.LB_CREATE, Verb.ADD): (4, 0),  # once more without each of network, targets and listeners
    (ChangeKind.LB_NETWORK, Verb.MODIFY): (3, 2),  # detached, attached, attached as before
    (ChangeKind.LB_NETWORK, Verb.REMOVE): (1, 2),
    (ChangeKind.LB_TARGET, Verb.MODIFY): (3, 0),  # removed, added, put back
    (ChangeKind.ROUTE_REPLACE, Verb.MODIFY): (3, 0),
}
"""Most writes of the changes that may take several, the way back included, and how many more for each target that is
reached through the network: it is removed, and put back."""


def within_budget(actuators: Mapping[str, Actuator], begin_change: BeginChange) -> Mapping[str, Actuator]:
    """The actuators, each of which carries out a change at Hetzner within ``begin_change``."""
    return {
        kind: partial(_budgeted, begin_change, actuator) if KINDS[kind].writes_cloud else actuator
        for kind, actuator in actuators.items()
    }


def have_room(
    has_room: Callable[[int, int], bool], changes: Iterable[Change], promised: Iterable[Change], snapshot: Snapshot
) -> bool:
    """Whether ``has_room`` says so of all calls to Hetzner that the changes take, beside those of changes that were
    promised room; True when they take none."""
    calls = sum(calls_of(change, snapshot) for change in changes)
    return not calls or has_room(calls, sum(calls_of(change, snapshot) for change in promised))


def calls_of(change: Change, snapshot: Snapshot) -> int:
    """The calls to Hetzner that the change takes if each of them is answered, the way back from a refusal included;
    those of one write for a change that was planned from another snapshot: its actuator says so."""
    if not change.row.writes_cloud:
        return 0
    writes, for_each = _WRITES.get((change.row.name, change.verb), (1, 0))
    try:
        targets = balancer_of(change, snapshot).targets if for_each else ()
    except KeyError:
        return ONE_WRITE
    return (writes + for_each * sum(map(is_private, targets))) * ONE_WRITE


def _budgeted(begin_change: BeginChange, actuator: Actuator, change: Change, snapshot: Snapshot) -> None:
    with begin_change(calls_of(change, snapshot)):
        actuator(change, snapshot)
