"""Which events follow from a plan and its outcomes: pure, so that the texts are the plan's own."""

from collections.abc import Iterator, Mapping

from actuators.outcome import Applied, Failed, Outcome
from desired.change import Change, Note, NoteKind, Plan, Verdict
from desired.nodes import is_joining
from desired.snapshot import Node, Snapshot
from reconciler.telemetry.events import Event, EventType

_REASONS: Mapping[NoteKind, str] = {
    NoteKind.UNMATCHED: "ServerNotFound",
    NoteKind.AMBIGUOUS: "InstanceLookupFailed",
    NoteKind.MALFORMED: "InvalidProviderID",
    NoteKind.UNSUPPORTED: "RobotNotRead",
    NoteKind.UNUSABLE_NODE_IP: "InvalidNodeIP",
}
"""Notes that keep a Node from being initialised → the event's reason. Passing trouble of an API is not among them:
an event on a healthy object would only frighten."""


def on_outcome(change: Change, outcome: Outcome, snapshot: Snapshot) -> Event | None:
    """HCCM's event for a Node that was initialised with all its writes, a warning for one that failed; else None."""
    node = snapshot.node(change.owner)
    if node is None or change.kind != "node.initialise":
        return None
    match outcome:
        case Applied():
            return Event(node, EventType.NORMAL, "Synced", "Node synced successfully")
        case Failed(error):
            return Event(node, EventType.WARNING, "InitialisationFailed", error)
    return None


def uninitialised(plan: Plan, snapshot: Snapshot) -> Iterator[Event]:
    """A warning with the cause for each joining Node that cannot be initialised.

    While the token seems to be another project's, what was not found there says nothing about a Node.
    """
    wrong_project = any(note.kind is NoteKind.ANCHOR for note in plan.notes)
    for note in plan.notes if not wrong_project else ():
        node = _joining(note, snapshot)
        if node is not None and note.kind in _REASONS:
            yield Event(node, EventType.WARNING, _REASONS[note.kind], note.text)
    for hold in plan.holds:
        for change in (plan.by_key[key] for key in hold.keys if key in plan.by_key):
            node = snapshot.node(change.owner)
            if node is not None and change.ruling.verdict is Verdict.HELD and change.ruling.rule == hold.rule:
                text = f"{change.kind} is held by {hold.rule}: {hold.why}. Approve with: reconcile approve {hold.hash}"
                yield Event(node, EventType.WARNING, "ChangeHeld", text)


def _joining(note: Note, snapshot: Snapshot) -> Node | None:
    node = snapshot.node(note.key)
    return node if node is not None and is_joining(node) else None
