"""Traces of suspended changes: whatever else is in the ConfigMap tells of nothing, and none of it decides anything."""

import json
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

from desired.guards.history import mark_of, notes_on_suspended
from desired.model.record import Stamp
from desired.plan.change import GuardName, Plan
from desired.plan.notes import Note
from desired.plan.suspended import MOST_TRACES, NO_TRACE, SUSPENDED, SuspendedChange, Trace, first_suspended, trace_in
from desired.rules.guards import SUSPENDED_ELSEWHERE_UNTIL
from tests.builders import CLUSTER_UID, NOW, a_change, a_snapshot
from tests.support.rows import rows

CHANGE = a_change()
FLAPS = SuspendedChange(
    CHANGE.key,
    mark_of(CHANGE),
    GuardName.FLAPPING,
    "was done and undone",
    NOW - timedelta(minutes=9),
    NOW + timedelta(minutes=51),
)
FAILING = replace(FLAPS, key="node/web-9", rule=GuardName.BACK_OFF, until=None)
ORIGIN = Stamp(CLUSTER_UID, "ccm-0", NOW)
FIELDS = json.loads(SUSPENDED.write([FLAPS], ORIGIN))
(ENTRY,) = FIELDS["changes"]


def test_what_is_written_comes_back() -> None:
    """With who wrote it; what has ended meanwhile is left out."""
    written = SUSPENDED.write([FLAPS, FAILING], ORIGIN)
    both = {FLAPS.key: FLAPS, FAILING.key: FAILING}
    assert trace_in(written, CLUSTER_UID, NOW) == Trace("ccm-0", both)
    assert trace_in(written, CLUSTER_UID, NOW + timedelta(minutes=51)).changes == {FAILING.key: FAILING}


def test_a_trace_at_its_longest_is_read() -> None:
    """Of many changes those are told that were suspended first, and of long texts the beginning."""
    many = [
        replace(FLAPS, key=f"node/{number:03}{'x' * 250}", why="y" * 5000, since=NOW - timedelta(seconds=number))
        for number in range(3 * MOST_TRACES)
    ]
    found = trace_in(SUSPENDED.write(first_suspended(many), replace(ORIGIN, by="z" * 5000)), CLUSTER_UID, NOW)
    assert list(found.changes) == [change.key for change in many[: -MOST_TRACES - 1 : -1]]
    assert ({len(change.why) for change in found.changes.values()}, len(found.by)) == ({303}, 503)


def _with(**fields: Any) -> str:
    return json.dumps(FIELDS | fields)


def _of(**fields: Any) -> str:
    return _with(changes=[ENTRY | fields])


@rows("text now", {
    "nothing-there": (None, NOW),
    "empty": ("", NOW),
    "a-list": ("[]", NOW),
    "no-fields": ("{}", NOW),
    "a-megabyte": ("x" * 1_048_576, NOW),
    "too-long": (_with(padding="x" * 65_536), NOW),
    "too-deep": ("[" * 65_536, NOW),
    "another-version": (_with(version=2), NOW),
    "a-copy-of-another-cluster": (_with(cluster="another"), NOW),
    "the-controller-is-gone": (_with(), NOW + timedelta(minutes=61)),
    "of-the-future": (_with(), NOW - timedelta(minutes=2)),
    "no-zone": (_with(written_at="2026-07-01T12:00:00"), NOW),
    "no-time": (_with(written_at=7), NOW),
    "a-year-that-is-none": (_with(written_at="0001-01-01T00:00:00+23:59"), NOW),
    "of-nobody": (_with(by=None), NOW),
    "no-list": (_with(changes={}), NOW),
    "no-entries": (_with(changes=["node/web-1"]), NOW),
    "no-key": (_of(key=7), NOW),
    "no-sentence": (_of(why=["x"]), NOW),
    "a-rule-that-suspends-nothing": (_of(rule="project-anchor"), NOW),
    "no-rule": (_of(rule="x"), NOW),
    "no-end": (_of(until="never"), NOW),
})  # fmt: skip
def test_what_we_would_not_write_tells_of_nothing(text: str | None, now: datetime) -> None:
    """Damaged, hostile, stale or another cluster's."""
    found = trace_in(text, CLUSTER_UID, now)
    assert (found, found.changes) == (NO_TRACE, {})


def test_only_the_planned_change_that_was_meant_has_a_note() -> None:
    """Another one of its key is free, and what is not planned needs no word."""
    plan, world = Plan((CHANGE,)), a_snapshot()

    def notes(suspended: SuspendedChange) -> tuple[Note, ...]:
        return notes_on_suspended(plan, world, Trace("ccm-0", {suspended.key: suspended}))

    assert notes(FLAPS) == (
        SUSPENDED_ELSEWHERE_UNTIL.note(
            CHANGE.key,
            by="ccm-0",
            since="2026-07-01 11:51 UTC",
            until="2026-07-01 12:51 UTC",
            guard=GuardName.FLAPPING,
            why="was done and undone",
        ),
    )
    assert notes(replace(FLAPS, mark="another")) == ()
    assert notes(FAILING) == ()
