"""Which events follow for Nodes whose pods no route leads to, with HCCM's reasons (nodes-and-routes 6.4).

The texts are stable, so that the same trouble is one event. A Node that joins has none: what HCCM says of each while
its addresses are on their way frightens for nothing (W-9).
"""

from collections.abc import Iterator, Mapping

from actuators.outcome import Failed, Outcome
from desired.change import Change, NoteKind, Plan
from desired.joining import is_joining
from desired.route import parse_route_key
from desired.snapshot import Snapshot
from reconciler.telemetry.events import Event, EventType, subject_of

_FAILED = "FailedToCreateRoute"
_REASONS: Mapping[NoteKind, str] = {
    NoteKind.UNROUTABLE: _FAILED,
    NoteKind.LIMIT: _FAILED,
    NoteKind.CLUSTER_CIDR: "ClusterCIDRMisconfigured",
}
"""Notes on a Node of which some pods have no route, and get none until a person acts → the event's reason."""
_MAKES = frozenset({"route.create", "route.replace"})


def refusal(change: Change, outcome: Outcome, snapshot: Snapshot) -> Event | None:
    """A warning for the Node whose route was refused; None for any other change, for one that only waits or gives way,
    and for a Node that joins in this pass. HCCM's text without the Node's uid and the time that it took (W-9)."""
    node = snapshot.node(change.owner)
    if node is None or is_joining(node) or change.kind not in _MAKES or not isinstance(outcome, Failed):
        return None
    _, destination = parse_route_key(change.key)
    text = f"Could not create route {destination} for node {node.name}: {outcome.error}"
    return Event(subject_of(node), EventType.WARNING, _FAILED, text)


def warnings_on_routes(plan: Plan, snapshot: Snapshot) -> Iterator[Event]:
    """A warning for each Node with pods that no route leads to, in the note's own words: those on a pod CIDR outside of
    the cluster's are HCCM's."""
    for note in plan.notes:
        node = snapshot.node(note.key)
        if node is not None and note.kind in _REASONS and not is_joining(node):
            yield Event(subject_of(node), EventType.WARNING, _REASONS[note.kind], note.text)
