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


def mark_of(change: Change) -> str:
    """What tells a change from others of its key: its kind, and where it leads. What it leads away from does not count,
    as whoever undoes it may do so in many ways."""
    return digest(change.kind, change.after)


def suspension_of(change: Change, snapshot: Snapshot) -> Suspension | None:
    """What the loop holds against this very change; None when it may be tried."""
    found = snapshot.suspensions.get(change.key)
    return found if found is not None and found.mark == mark_of(change) else None


def backing_off(suspensions: Mapping[str, Suspension]) -> frozenset[str]:
    """Keys of the changes that failed and are not due yet."""
    return frozenset(key for key, found in suspensions.items() if found.rule == BACK_OFF)


def _suspended(facts: Facts, rule: str) -> Iterator[Finding]:
    for key in facts.snapshot.suspensions:
        change = facts.plan.by_key.get(key)
        found = suspension_of(change, facts.snapshot) if change else None
        if found is not None and found.rule == rule:
            yield Finding(rule, Verdict.WAITING, (key,), found.why, due_in_s=found.due_in_s)
