"""Patience with single changes: what failed a moment ago, and what somebody undoes again and again (design section 6).

The loop remembers, and puts what it remembers into the snapshot; a run of ``--once`` has nothing to remember. Whatever
depends on a change that waits here waits with it; all others go on.
"""

from collections.abc import Iterator, Mapping

from desired.change import Change, Verdict
from desired.finding import Facts, Finding
from desired.plain import digest
from desired.snapshot import Snapshot
from desired.suspension import BACK_OFF, FLAPPING, Suspension


def flapping(facts: Facts) -> Iterator[Finding]:
    """A change that was undone for the third time within ten minutes is left alone for an hour: somebody else wants
    the opposite, and neither wins. Nobody can approve it; a change that leads elsewhere is another one."""
    yield from _suspended(facts, FLAPPING)


def back_off(facts: Facts) -> Iterator[Finding]:
    """A change that failed waits for a second, and twice as long each time that it fails again, up to a minute."""
    yield from _suspended(facts, BACK_OFF)


def mark_of(change: Change, uid: str = "") -> str:
    """What tells a change from others of its key: its kind, where it leads, and the ``uid`` of the object that it
    serves. What it leads away from does not count, as whoever undoes it may do so in many ways."""
    return digest(change.kind, change.after, *filter(None, [uid]))


def mark_in(change: Change, snapshot: Snapshot | None) -> str:
    """The mark of a change of this world. What is made for another object of the same name was not undone: a Service
    that is deleted and created again is served anew. A Node that comes back after it was deleted is the deletion
    undone."""
    if snapshot is None or change.kind == "node.delete":
        return mark_of(change)
    sort, _, name = change.owner.partition("/")
    things = snapshot.services if sort == "service" else snapshot.nodes
    found = None if things is None else things.items.get(name)
    return mark_of(change, "" if found is None else found.uid)


def suspension_of(change: Change, snapshot: Snapshot) -> Suspension | None:
    """What the loop holds against this very change; None when it may be tried."""
    found = snapshot.suspensions.get(change.key)
    return found if found is not None and found.mark == mark_in(change, snapshot) else None


def backing_off(suspensions: Mapping[str, Suspension]) -> frozenset[str]:
    """Keys of the changes that failed and are not due yet."""
    return frozenset(key for key, found in suspensions.items() if found.rule == BACK_OFF)


def _suspended(facts: Facts, rule: str) -> Iterator[Finding]:
    for key in facts.snapshot.suspensions:
        change = facts.plan.by_key.get(key)
        found = suspension_of(change, facts.snapshot) if change else None
        if found is not None and found.rule == rule:
            yield Finding(rule, Verdict.WAITING, (key,), found.why, due_in_s=found.due_in_s)
