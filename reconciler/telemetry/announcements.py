"""Events that follow from a plan and its outcomes: on Nodes, on Services, on holds and on suspensions.

Pure: the texts are the plan's own. Events on Services are in ``service_events``; sending is in ``events``.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping

from actuators.outcome import Applied, Failed, Outcome
from desired.guards.history import suspension_of
from desired.model.route import Route
from desired.model.snapshot import Snapshot
from desired.nodes.desired import is_uninitialized
from desired.plan.change import Change, GuardName, Hold, NoteKind, Plan, Verdict
from desired.plan.kinds import ChangeKind
from desired.plan.setbacks import NO_SETBACKS, Setbacks
from desired.planner import DesiredState
from reconciler.result import Line, approve_command
from reconciler.telemetry.events import Event, EventType, Subject, subject_of
from reconciler.telemetry.service_events import done, failures, warnings_on_services, warnings_on_targets

MOST_EVENTS = 10
"""Maximum number of events on one object in a pass."""
_REASONS: Mapping[NoteKind, str] = {
    NoteKind.UNMATCHED: "ServerNotFound",
    NoteKind.AMBIGUOUS: "InstanceLookupFailed",
    NoteKind.MALFORMED: "InvalidProviderID",
    NoteKind.UNSUPPORTED: "RobotNotRead",
    NoteKind.UNUSABLE_NODE_IP: "InvalidNodeIP",
}
"""Notes that keep a Node from being initialized → the event's reason. Transient trouble of an API is not among them: an
event on a healthy object would only alarm."""
_LASTING = frozenset({NoteKind.AMBIGUOUS, NoteKind.MALFORMED, NoteKind.UNUSABLE_NODE_IP})
"""Those that an initialized Node is warned of as well: it is not kept in sync until a person fixes the cause. A server
that is not found is none of them, as that is how the end of every Node begins."""


def on_outcome(change: Change, outcome: Outcome, snapshot: Snapshot) -> Event | None:
    """HCCM's event for a Node that was initialized with all its writes, or deleted; a warning for one where that
    failed, or the route to its pods; else None. Events on Services are sent once, at the end of the pass."""
    node = snapshot.node(change.owner)
    if node is None:
        return None
    match change.kind, outcome:
        case ChangeKind.NODE_INITIALISE, Applied():
            return Event(subject_of(node), EventType.NORMAL, "Synced", "Node synced successfully")
        case ChangeKind.NODE_INITIALISE, Failed(error):
            return Event(subject_of(node), EventType.WARNING, "InitialisationFailed", error)
        case ChangeKind.NODE_DELETE, Applied():
            why = f"Deleting node {node.name} because it does not exist in the cloud provider"
            return Event(subject_of(node), EventType.NORMAL, "DeletingNode", why)
        case ChangeKind.NODE_DELETE, Failed(error):
            why = f"Failed deleting node {node.name}: {error}"
            return Event(subject_of(node), EventType.WARNING, "DeletingNodeFailed", why)
    return refusal(change, outcome, snapshot)


def on_pass(tried: Iterable[Line], snapshot: Snapshot, plan: Plan) -> Iterator[Event]:
    """Events on what a pass did for Services, once for each; ``snapshot`` is the pass's first, ``plan`` its last."""
    return done(tried, snapshot, plan)


def warnings(
    plan: Plan,
    snapshot: Snapshot,
    desired: DesiredState,
    setbacks: Setbacks = NO_SETBACKS,
    approve_flags: str = "",
    tried: Iterable[Line] = (),
) -> Iterator[Event]:
    """Warnings that hold after a pass: with the cause for each joining Node that cannot be initialized, each
    initialized one that cannot be kept in sync or whose pods no route leads to, each Service that does not get what it
    asks for, and each object of which a change is held or suspended; and what was ``tried`` and failed for a Service.

    ``approve_flags`` are those that ``reconcile approve`` needs as well, ``desired`` and ``setbacks`` what the plan was
    made from and judged with. While the token seems to be another project's, what was not found there says nothing
    about a Node or a Service.
    """
    if not any(note.kind is NoteKind.ANCHOR for note in plan.notes):
        yield from _warnings_on_nodes(plan, snapshot)
        yield from warnings_on_routes(plan, snapshot)
        yield from warnings_on_services(plan, snapshot)
        yield from warnings_on_targets(plan, snapshot, desired)
    yield from failures(tried, snapshot)
    yield from _suspensions(plan, snapshot, setbacks)
    for hold in plan.holds:
        yield from _holds(hold, plan, snapshot, approve_flags)


def at_most(most: int, events: Iterable[Event], told: Iterable[Event] = ()) -> Iterator[Event]:
    """The first of these events on each object, and in place of the others one that counts them: together with those
    ``told`` of it in the same pass no more than ``most``, as one object may have thousands of problems."""
    room = Counter(event.subject for event in told)
    by_subject: dict[Subject, list[Event]] = {}
    for event in dict.fromkeys(events):
        by_subject.setdefault(event.subject, []).append(event)
    for subject, found in by_subject.items():
        left = max(1, most - room[subject])
        if len(found) <= left:
            yield from found
            continue
        yield from found[: left - 1]
        text = f"and {len(found) - left + 1} more warnings on this object: see reconcile --dry-run"
        yield Event(subject, EventType.WARNING, "MoreWarnings", text)


def _warnings_on_nodes(plan: Plan, snapshot: Snapshot) -> Iterator[Event]:
    for note in plan.notes:
        node = snapshot.node(note.key)
        if node is not None and note.kind in _REASONS and (is_uninitialized(node) or note.kind in _LASTING):
            yield Event(subject_of(node), EventType.WARNING, _REASONS[note.kind], note.text)


def _suspensions(plan: Plan, snapshot: Snapshot, setbacks: Setbacks) -> Iterator[Event]:
    """One warning for each object with a change that was undone too often."""
    flapping: dict[Subject, list[Change]] = {}
    for change in plan.changes:
        owner = snapshot.node(change.owner) or snapshot.service(change.owner)
        is_cause = change.decision.rule == GuardName.FLAPPING and suspension_of(change, snapshot, setbacks) is not None
        if owner is not None and is_cause:
            flapping.setdefault(subject_of(owner), []).append(change)
    for subject, (first, *others) in flapping.items():
        more = f" (and {len(others)} more)" if others else ""
        text = f"{first.kind} {first.key} is suspended{more}: it {first.decision.why}"
        yield Event(subject, EventType.WARNING, "ChangeSuspended", text)


def _holds(hold: Hold, plan: Plan, snapshot: Snapshot, approve_flags: str) -> Iterator[Event]:
    """One warning for each object with a change that is held."""
    kinds: dict[Subject, set[str]] = {}
    for change in (plan.by_key[key] for key in hold.keys if key in plan.by_key):
        owner = snapshot.node(change.owner) or snapshot.service(change.owner)
        if owner is not None and change.decision.verdict is Verdict.HELD and change.decision.rule == hold.rule:
            kinds.setdefault(subject_of(owner), set()).add(change.kind)
    for subject, held in kinds.items():
        verb = "is" if len(held) == 1 else "are"
        command = approve_command(hold, approve_flags)
        text = f"{', '.join(sorted(held))} {verb} held by {hold.rule}: {hold.why}. Approve with: {command}"
        yield Event(subject, EventType.WARNING, "ChangeHeld", text)


_FAILED = "FailedToCreateRoute"


_ROUTE_REASONS: Mapping[NoteKind, str] = {
    NoteKind.UNROUTABLE: _FAILED,
    NoteKind.LIMIT: _FAILED,
    NoteKind.CLUSTER_CIDR: "ClusterCIDRMisconfigured",
}


"""Notes on a Node of which some pods have no route, and get none until a person acts → the event's reason."""


def refusal(change: Change, outcome: Outcome, snapshot: Snapshot) -> Event | None:
    """A warning for the Node whose route was refused; None for any other change, for one that only waits or gives way,
    and for a Node that is initialized in this pass. HCCM's text without the Node's uid and the duration, so that the
    text is stable."""
    node = snapshot.node(change.owner)
    if node is None or is_uninitialized(node):
        return None
    match change.after, outcome:
        case Route(destination), Failed(error):
            text = f"Could not create route {destination} for node {node.name}: {error}"
            return Event(subject_of(node), EventType.WARNING, _FAILED, text)
    return None


def warnings_on_routes(plan: Plan, snapshot: Snapshot) -> Iterator[Event]:
    """A warning for each Node with pods that no route leads to, in the note's own words: those on a pod CIDR outside of
    the cluster's are HCCM's."""
    for note in plan.notes:
        node = snapshot.node(note.key)
        if node is not None and note.kind in _ROUTE_REASONS and not is_uninitialized(node):
            yield Event(subject_of(node), EventType.WARNING, _ROUTE_REASONS[note.kind], note.text)
