"""Which events follow from outcomes and plans: one for each Node that was helped, or cannot be."""

import pytest

from actuators.outcome import Applied, Failed, Outcome, Pending, Skipped
from desired.change import Note, NoteKind, Plan
from desired.diff import compute_plan
from desired.judgement import judge
from desired.settings import Settings
from desired.snapshot import Snapshot
from reconciler.telemetry.announcements import on_outcome, uninitialised
from reconciler.telemetry.events import Event, EventType
from tests.builders import a_change, a_joining_node, a_server, a_settled_node, a_snapshot

JOINING = a_joining_node()
WORLD = a_snapshot([JOINING, a_settled_node("web-2", 2)], [a_server(2, "web-2")])


def judged(snapshot: Snapshot, *approved: str) -> Plan:
    """The plan of this world."""
    return judge(compute_plan(snapshot, Settings()), snapshot, Settings(), approved)


@pytest.mark.parametrize(
    ("outcome", "event"),
    [
        (Applied(), Event(JOINING, EventType.NORMAL, "Synced", "Node synced successfully")),
        (Failed("forbidden"), Event(JOINING, EventType.WARNING, "InitialisationFailed", "forbidden")),
        (Pending("conflict"), None),
        (Skipped("stopped"), None),
    ],
)
def test_outcomes(outcome: Outcome, event: Event | None) -> None:
    """A Node that was initialised is said to be, one that failed is warned of; passing trouble is no event."""
    assert on_outcome(a_change(), outcome, WORLD) == event


def test_other_kinds_say_nothing() -> None:
    """Only initialisation has an event of HCCM's."""
    assert on_outcome(a_change("node/web-1/addresses", "node.addresses", owner="node/web-1"), Applied(), WORLD) is None


def test_a_node_that_is_gone_says_nothing() -> None:
    """Without the Node there is nothing to attach an event to."""
    assert on_outcome(a_change("node/other"), Applied(), WORLD) is None


NOTES: list[tuple[NoteKind, str | None]] = [
    (NoteKind.UNMATCHED, "ServerNotFound"),
    (NoteKind.AMBIGUOUS, "InstanceLookupFailed"),
    (NoteKind.MALFORMED, "InvalidProviderID"),
    (NoteKind.UNUSABLE_NODE_IP, "InvalidNodeIP"),
    (NoteKind.UNSUPPORTED, "RobotNotRead"),
    (NoteKind.UNKNOWN, None),
    (NoteKind.UNREADABLE, None),
    (NoteKind.FOREIGN, None),
    (NoteKind.KEPT, None),
    (NoteKind.ANCHOR, None),
    (NoteKind.APPROVAL, None),
    (NoteKind.PARTIAL, None),
]
"""Kind of a note → reason of its event."""


@pytest.mark.parametrize(("kind", "reason"), NOTES)
def test_notes(kind: NoteKind, reason: str | None) -> None:
    """A joining Node that a person has to help gets a warning with the note's own words; passing trouble none."""
    plan = Plan(notes=(Note("node/web-1", kind, "the cause"),))
    expected = [Event(JOINING, EventType.WARNING, reason, "the cause")] if reason else []

    assert list(uninitialised(plan, WORLD)) == expected


@pytest.mark.parametrize("key", ["node/web-2", "node/gone", "project/cloud", "plan"])
def test_notes_on_others(key: str) -> None:
    """A note on anything but a joining Node is no event: a healthy Node is not to be frightened."""
    plan = Plan(notes=(Note(key, NoteKind.UNMATCHED, "the cause"),))

    assert list(uninitialised(plan, WORLD)) == []


def test_a_real_miss() -> None:
    """The plan's own note on a misnamed Node becomes its event."""
    (event,) = uninitialised(judged(WORLD), WORLD)

    assert (event.node, event.reason) == (JOINING, "ServerNotFound")
    assert "no server of the project is named 'web-1'" in event.message


def test_a_robot_server_that_joins() -> None:
    """A joining Node of Robot is told that this version leaves it to HCCM; a settled one is not frightened."""
    robot = a_joining_node("metal-1", provider_id="hrobot://7")
    world = a_snapshot([robot, a_settled_node("metal-2", provider_id="hrobot://8")])

    (event,) = uninitialised(judged(world), world)

    assert (event.node, event.type, event.reason) == (robot, EventType.WARNING, "RobotNotRead")
    assert event.message == "providerID 'hrobot://7' is a Robot server, and Robot servers are not read; left to HCCM"


def test_every_kind_of_note_is_decided_on() -> None:
    """A new kind of note needs a row in the list of notes."""
    assert {kind for kind, _ in NOTES} == set(NoteKind)


def test_holds() -> None:
    """A Node whose change is held is told the rule, the reason and how to approve; not once it is approved."""
    world = a_snapshot([JOINING, a_settled_node("web-2", 99)], [a_server()])
    (hold,) = judged(world).holds

    (event,) = uninitialised(judged(world), world)

    assert (event.node, event.type, event.reason) == (JOINING, EventType.WARNING, "ChangeHeld")
    assert event.message.startswith("node.initialise is held by project-anchor: ")
    assert event.message.endswith(f"Approve with: reconcile approve {hold.hash}")
    assert list(uninitialised(judged(world, hold.hash), world)) == []


def test_an_empty_plan_says_nothing() -> None:
    """A cluster in order has no events."""
    assert list(uninitialised(Plan(), WORLD)) == []
