"""Which events follow from a plan and its outcomes: pure, so that the texts are the plan's own."""

from collections.abc import Iterator, Mapping

from actuators.outcome import Applied, Failed, Outcome
from desired.change import Change, NoteKind, Plan, Verdict
from desired.joining import is_joining
from desired.snapshot import Snapshot
from reconciler.result import approve_command
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
_LASTING = frozenset({NoteKind.AMBIGUOUS, NoteKind.MALFORMED, NoteKind.UNUSABLE_NODE_IP})
"""Those that an initialised Node is warned of as well: it is not looked after until a person mends what they tell. A
server that is not found is none of them, as that is how every Node begins to go."""


def on_outcome(change: Change, outcome: Outcome, snapshot: Snapshot) -> Event | None:
    """HCCM's event for a Node that was initialised with all its writes, or deleted; a warning for one where that
    failed; else None."""
    node = snapshot.node(change.owner)
    if node is None:
        return None
    match change.kind, outcome:
        case "node.initialise", Applied():
            return Event(node, EventType.NORMAL, "Synced", "Node synced successfully")
        case "node.initialise", Failed(error):
            return Event(node, EventType.WARNING, "InitialisationFailed", error)
        case "node.delete", Applied():
            why = f"Deleting node {node.name} because it does not exist in the cloud provider"
            return Event(node, EventType.NORMAL, "DeletingNode", why)
        case "node.delete", Failed(error):
            return Event(node, EventType.WARNING, "DeletingNodeFailed", f"Failed deleting node {node.name}: {error}")
    return None


def warnings(plan: Plan, snapshot: Snapshot, approve_flags: str = "") -> Iterator[Event]:
    """A warning with the cause for each joining Node that cannot be initialised, each settled one that cannot be kept
    true, and each of which a change is held.

    ``approve_flags`` are those that ``reconcile approve`` needs as well. While the token seems to be another project's,
    what was not found there says nothing about a Node.
    """
    wrong_project = any(note.kind is NoteKind.ANCHOR for note in plan.notes)
    for note in plan.notes if not wrong_project else ():
        node = snapshot.node(note.key)
        if node is not None and note.kind in _REASONS and (is_joining(node) or note.kind in _LASTING):
            yield Event(node, EventType.WARNING, _REASONS[note.kind], note.text)
    for hold in plan.holds:
        for change in (plan.by_key[key] for key in hold.keys if key in plan.by_key):
            node = snapshot.node(change.owner)
            if node is not None and change.ruling.verdict is Verdict.HELD and change.ruling.rule == hold.rule:
                command = approve_command(hold, approve_flags)
                text = f"{change.kind} is held by {hold.rule}: {hold.why}. Approve with: {command}"
                yield Event(node, EventType.WARNING, "ChangeHeld", text)
