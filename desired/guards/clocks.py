"""Guard ``clock-skew``: nothing is removed because of a clock that others disagree with."""

from collections.abc import Iterator

from desired.guards.facts import Facts, GuardResult
from desired.model.clocks import LOOK_AGAIN_S, explain_clocks
from desired.model.key import PLAN, ObjectKind
from desired.model.load_balancer import Owner
from desired.model.snapshot import Snapshot
from desired.plan.change import Change, GuardName, Note, NoteKind, Verdict
from desired.plan.kinds import ChangeKind

CLOCK_SKEW = GuardName.CLOCK_SKEW
_BY_AGE = frozenset({ChangeKind.NODE_DELETE})
"""Kinds of changes that are planned, or allowed, because something is old enough."""


def clock_skew(facts: Facts) -> Iterator[GuardResult]:
    """Changes that depend on an age wait while Kubernetes' clock disagrees with the others. They cannot be approved."""
    if facts.snapshot.clocks.differ:
        keys = tuple(change.key for change in facts.plan.changes if hangs_on_age(change))
        why = explain_clocks(facts.snapshot.clocks) or ""
        yield GuardResult(CLOCK_SKEW, Verdict.WAITING, keys, why, due_in_s=LOOK_AGAIN_S)


def hangs_on_age(change: Change) -> bool:
    """Whether a wrong clock alone could let this change pass, or is what it writes down."""
    ends_a_window = change.owner.kind is ObjectKind.LOAD_BALANCER
    begins_one = isinstance(change.after, Owner) and change.after.delete_after is not None
    return change.kind in _BY_AGE or ends_a_window or begins_one


def clock_notes(snapshot: Snapshot) -> tuple[Note, ...]:
    """Notes on the clocks that are off, also where nothing waits for them; empty when all agree."""
    why = explain_clocks(snapshot.clocks)
    return () if why is None else (Note(PLAN, NoteKind.CLOCK_SKEW, why),)
