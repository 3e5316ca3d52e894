"""Events that follow from a plan and its outcomes, with HCCM's reasons: on Nodes, Services, and holds.

Pure: the texts are the plan's own, and stable, so that the same trouble is one event. HCCM also sends events on joining
Nodes whose addresses are not known yet; this product does not. Sending is in ``events``."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import groupby, islice, product
from types import MappingProxyType

from actuators.outcome import Applied, Failed, Outcome
from desired.annotations.warnings import Lack
from desired.health.state import PortState, ServiceState, States
from desired.load_balancers.desired import DesiredLoadBalancer
from desired.load_balancers.membership import Membership, NodeTarget
from desired.model.key import PLAN, ObjectKind
from desired.model.route import Route
from desired.model.service import Service
from desired.model.snapshot import Node, Snapshot
from desired.names import IDENTITY_NAMESPACE
from desired.nodes.node import is_uninitialized
from desired.plan.change import Change, Hold, Plan, Verdict
from desired.plan.kinds import KINDS, ChangeKind
from desired.plan.notes import Note, NoteKind
from desired.planner import DesiredState
from desired.section import Absent, Present, grouped
from desired.syntax.bounds import counted, listed
from reconciler.result import Line, approve_command
from reconciler.telemetry.events import MESSAGE, Event, EventType, Subject, subject_of

_TARGET_REASONS: Mapping[Membership, str] = {
    Membership.OVER_LIMIT: "MaxTargetsReached",
    Membership.UNUSABLE: "UnusableTarget",
}
_MOST_NODES = 5
"""Nodes of one Service and with one trouble that get events: a type without room may leave out thousands."""


def warnings_on_targets(plan: Plan, snapshot: Snapshot, desired: DesiredState) -> Iterator[Event]:
    """A warning for each of the first Nodes that should get traffic and cannot be a target of some Service's load
    balancer; and one for the Service when there are more. (For a type that is full the Service's note says that
    already.)

    Not for a joining Node or one whose server is gone, which have events of their own. ``desired`` is what the plan was
    made from.
    """
    if not any(note.kind in (NoteKind.TARGET_LIMIT, NoteKind.UNUSABLE_TARGET) for note in plan.notes):
        return
    serving = [lb for _, lb in sorted(desired.services.items()) if isinstance(lb, DesiredLoadBalancer)]
    services: dict[tuple[str, Membership, str], list[str]] = {}
    for lb, membership in product(serving, _TARGET_REASONS):
        for why, members in lb.targets.by_why(membership).items():
            worth = (member.node for member in members if _is_worth_a_word(member, snapshot))
            for name in islice(worth, _MOST_NODES):
                services.setdefault((name, membership, why), []).append(lb.service.id)
            if membership is Membership.UNUSABLE and next(worth, None) is not None:
                verb = "is" if len(members) == 1 else "are"
                text = f"{counted(len(members), 'Node')} {verb} no target: {why}"
                yield Event(subject_of(lb.service), EventType.WARNING, _TARGET_REASONS[membership], text)
    for (name, membership, why), names in sorted(services.items()):
        node = snapshot.nodes.items[name]
        text = f"no target of the load balancer of {_shown(names)}: {why}"
        yield Event(subject_of(node), EventType.WARNING, _TARGET_REASONS[membership], text)


def _is_worth_a_word(member: NodeTarget, snapshot: Snapshot) -> bool:
    node = snapshot.nodes.items.get(member.node)
    if node is None or is_uninitialized(node):
        return False
    return member.server is None or not isinstance(snapshot.find(member.server), Absent)


def _shown(names: list[str]) -> str:
    """``Services a, b, c and 4 more``."""
    return f"Service{'s' if len(names) > 1 else ''} {listed(names)}"


_OF_PORTS = frozenset({Lack.PORT, Lack.EVERY_PORT})
"""Ports of another protocol than TCP, which Hetzner does not balance."""


@dataclass(frozen=True, slots=True)
class Told:
    """The Event about the end of a change. ``text`` may have ``{node}``, ``{destination}``, ``{reason}``, ``{lost}``
    and ``{error}``."""

    reason: str
    text: str
    type: EventType = EventType.WARNING


@dataclass(frozen=True, slots=True)
class Endings:
    """The Events about the ends of changes of one kind; None for none. Those on Nodes are sent at once, those on
    Services at the end of a pass."""

    failed: Told | None = None
    applied: Told | None = None
    lost: Told | None = None
    """For what has consequences that stay true afterwards."""


def _normal(reason: str, text: str) -> Told:
    return Told(reason, text, EventType.NORMAL)


_DELETE_FAILED = Told("DeleteLoadBalancerFailed", "Error deleting load balancer")
_NO_ROUTE = Told("FailedToCreateRoute", "Could not create route {destination} for node {node}: {error}")
_OF_BALANCERS = Endings(Told("SyncLoadBalancerFailed", "Error syncing load balancer"))

ENDINGS: Mapping[ChangeKind, Endings] = MappingProxyType(
    dict.fromkeys(ChangeKind, _OF_BALANCERS)
    | dict.fromkeys(
        (kind for kind in ChangeKind if KINDS[kind].object in (ObjectKind.NODE, ObjectKind.ROUTE)), Endings()
    )
    | {
        ChangeKind.NODE_INITIALISE: Endings(
            failed=Told("InitialisationFailed", "{error}"), applied=_normal("Synced", "Node synced successfully")
        ),
        ChangeKind.NODE_OUT_OF_SERVICE_TAINT: Endings(
            failed=Told("OutOfServiceTaintFailed", "Failed changing the out-of-service taint of node {node}: {error}"),
            applied=_normal("OutOfServiceTaintChanged", "Changed the out-of-service taint of node {node}"),
        ),
        ChangeKind.NODE_DELETE: Endings(
            failed=Told("DeletingNodeFailed", "Failed deleting node {node}: {error}"),
            applied=_normal("DeletingNode", "Deleting node {node} because it does not exist in the cloud provider"),
        ),
        ChangeKind.SERVICE_CLAIM: Endings(
            failed=_OF_BALANCERS.failed, lost=Told("FinalizerRestored", "Added the finalizer again: {lost}")
        ),
        ChangeKind.SERVICE_RELEASE: Endings(
            failed=_DELETE_FAILED, lost=Told("LoadBalancerLeftBehind", "Released the Service: {lost}")
        ),
        ChangeKind.LB_CREATE: Endings(
            failed=_OF_BALANCERS.failed, lost=Told("LoadBalancerReplaced", "Created it anew: {lost}")
        ),
        ChangeKind.LB_TARGET: Endings(
            failed=Told("UpdateLoadBalancerFailed", "Error updating load balancer with new hosts")
        ),
        ChangeKind.LB_RETAIN: Endings(
            failed=_DELETE_FAILED, applied=_normal("RetainedLoadBalancer", "Retained load balancer: {reason}")
        ),
        ChangeKind.LB_DELETE: Endings(
            failed=_DELETE_FAILED, applied=_normal("DeletedLoadBalancer", "Deleted load balancer: {reason}")
        ),
        ChangeKind.ROUTE_CREATE: Endings(failed=_NO_ROUTE),
        ChangeKind.ROUTE_REPLACE: Endings(failed=_NO_ROUTE),
    }
)
"""Kind of change → its Events, with HCCM's reasons and texts where it has one. HCCM's text on a route has the Node's
uid and a duration as well, so that no two are alike."""
_GOING = frozenset({ChangeKind.LB_DELETE, ChangeKind.LB_RETAIN, ChangeKind.SERVICE_RELEASE})
_UPDATED = _normal("UpdatedLoadBalancer", "Updated load balancer with new hosts")
"""What HCCM calls an update: only Nodes were added or removed."""
_ENSURED = _normal("EnsuredLoadBalancer", "Ensured load balancer")


def on_pass(tried: Iterable[Line], snapshot: Snapshot, plan: Plan) -> Iterator[Event]:
    """Events on what a pass did for Services, once for each of them, whatever the number of changes.

    ``tried`` are the changes that it tried, with how each ended; ``snapshot`` is the pass's first, as Services that
    were released are gone by now. A Service is not reported as ensured where part of it failed, or is still to be done
    by ``plan``, the last one.
    """
    unfinished = _unfinished(plan)
    for service, lines in _by_service(tried, snapshot):
        applied = [line.change for line in lines if isinstance(line.outcome, Applied)]
        for change in applied:
            row, lost = ENDINGS[change.kind], "; ".join(change.consequences)
            if row.applied is not None:
                yield _event(row.applied, service, reason=change.reason)
            if row.lost is not None and lost:
                yield _event(row.lost, service, lost=lost)
        kinds = {line.change.kind for line in lines} - _GOING
        if kinds and service.key not in unfinished and len(applied) == len(lines):
            yield _event(_UPDATED if kinds == {ChangeKind.LB_TARGET} else _ENSURED, service)


def failures(tried: Iterable[Line], snapshot: Snapshot) -> Iterator[Event]:
    """Warnings about what could not be done for Services: one for each of them and each kind of failure that HCCM
    distinguishes."""
    for service, lines in _by_service(tried, snapshot):
        errors: dict[Told, list[str]] = {}
        for line in lines:
            told = ENDINGS[line.change.kind].failed
            if isinstance(line.outcome, Failed) and told is not None:
                errors.setdefault(told, []).append(line.outcome.error)
        for told, found in errors.items():
            first, *others = dict.fromkeys(found)
            more = f" (and {len(others)} more)" if others else ""
            yield Event(subject_of(service), told.type, told.reason, f"{told.text}: {first}{more}")


def warnings_on_services(plan: Plan, snapshot: Snapshot) -> Iterator[Event]:
    """A warning for each note on a Service that a person has to do something about, and for what is refused to it for
    another reason than a note has given."""
    told = set()
    unserved = {service.key: service for service in snapshot.unserved or ()}
    for note in plan.notes:
        service = snapshot.service(note.key) or unserved.get(note.key)
        if service is not None and note.row.service_event:
            told.add((note.key, note.text))
            yield Event(subject_of(service), EventType.WARNING, _reason(note), note.text)
    for change in plan.with_verdict(Verdict.REFUSED):
        service = snapshot.service(change.owner)
        if service is not None and (change.owner, change.decision.why) not in told:
            yield Event(subject_of(service), EventType.WARNING, "LoadBalancerOwnedByOther", change.decision.why)


def _unfinished(plan: Plan) -> frozenset[str]:
    """Keys of the Services for which a pass leaves something to do, or of which that is not known."""
    changes = (c.owner for c in plan.changes if c.decision.verdict is Verdict.ALLOWED or c.decision.waits_for_data)
    return frozenset((*changes, *(note.key for note in plan.notes if note.kind is NoteKind.UNKNOWN)))


def _by_service(tried: Iterable[Line], snapshot: Snapshot) -> Iterator[tuple[Service, list[Line]]]:
    ordered = sorted(tried, key=lambda line: line.change.owner)  # stable: changes of one Service keep their order
    for owner, lines in groupby(ordered, key=lambda line: line.change.owner):
        service = snapshot.service(owner)
        if service is not None:
            yield service, list(lines)


def _event(told: Told, thing: Node | Service, **facts: str) -> Event:
    return Event(subject_of(thing), told.type, told.reason, told.text.format_map(facts))


def _reason(note: Note) -> str:
    if note.lack in _OF_PORTS:
        return "UnsupportedProtocolConfigured"
    return note.row.service_event


MOST_EVENTS = 10
"""Maximum number of events on one object in a pass."""


def on_outcome(change: Change, outcome: Outcome, snapshot: Snapshot) -> Event | None:
    """The event on a Node whose change has ended so, or on one whose route has; None where there is none. One that is
    initialized in this pass is told nothing of its route. Events on Services are sent once, at the end of the pass."""
    node = snapshot.node(change.owner)
    if node is None or (KINDS[change.kind].object is ObjectKind.ROUTE and is_uninitialized(node)):
        return None
    row = ENDINGS[change.kind]
    destination = str(change.after.destination) if isinstance(change.after, Route) else ""
    match outcome:
        case Applied() if row.applied is not None:
            return _event(row.applied, node, node=node.name)
        case Failed(error) if row.failed is not None:
            return _event(row.failed, node, node=node.name, destination=destination, error=error)
    return None


def warnings(
    plan: Plan,
    snapshot: Snapshot,
    desired: DesiredState,
    approve_flags: str = "",
    tried: Iterable[Line] = (),
) -> Iterator[Event]:
    """Warnings that hold after a pass: with the cause for each joining Node that cannot be initialized, each
    initialized one that cannot be kept in sync or whose pods no route leads to, each Service that does not get what it
    asks for, and each object of which a change is held; and what was ``tried`` and failed for a Service.

    ``approve_flags`` are those that ``reconcile approve`` needs as well, ``desired`` what the plan was
    made from. While the token seems to be another project's, what was not found there says nothing
    about a Node or a Service.
    """
    if not any(note.kind is NoteKind.ANCHOR for note in plan.notes):
        yield from _warnings_on_nodes(plan, snapshot)
        yield from warnings_on_services(plan, snapshot)
        yield from warnings_on_targets(plan, snapshot, desired)
    yield from failures(tried, snapshot)
    yield from _warnings_on_settings(plan, snapshot)
    for hold in plan.holds:
        yield from _holds(hold, plan, snapshot, approve_flags)


def warnings_on_states(states: States, snapshot: Snapshot) -> Iterator[Event]:
    """A warning for each Service that is down, in a sentence that stays the same as long as it is, and that it is not
    any more for when it ends."""
    for state in states.services:
        service = snapshot.service(state.key)
        if service is not None and state.state is ServiceState.DOWN:
            subject = subject_of(service)
            ended = Event(subject, EventType.NORMAL, "TargetsHealthy", "The Service is not down any more")
            dead = [str(port.port) for port in state.ports if port.state is PortState.NONE]
            text = f"No healthy target at port {', '.join(dead)}" if dead and state.targets else state.why
            yield Event(subject, EventType.WARNING, _IS_DOWN, text, ended)


def doubts_on_states(states: States, snapshot: Snapshot) -> Iterator[Event]:
    """What holds open the warning on a Service that was down: it is not, and it is not seen to serve either."""
    for state in states.services:
        service = snapshot.service(state.key)
        if service is not None and state.state in (ServiceState.BLOCKED, ServiceState.UNKNOWN, ServiceState.WAITING):
            yield Event(subject_of(service), EventType.WARNING, _IS_DOWN, state.why, is_silent=True)


_IS_DOWN = "NoHealthyTarget"


def at_most(most: int, events: Iterable[Event], told: Iterable[Event] = ()) -> Iterator[Event]:
    """The first of these events on each object, and in place of the others one that counts them: together with those
    ``told`` of it in the same pass no more than ``most``, as one object may have thousands of problems."""
    room = Counter(event.subject for event in told)
    for subject, found in grouped((event.subject, event) for event in dict.fromkeys(events)).items():
        left = max(1, most - room[subject])
        if len(found) <= left:
            yield from found
            continue
        yield from found[: left - 1]
        others = found[left - 1 :]
        reasons = ", ".join(f"{count} {reason}" for reason, count in Counter(e.reason for e in others).most_common())
        text = f"and {len(others)} more warnings on this object: {reasons}; the first of them: {others[0].message}"
        yield Event(subject, EventType.WARNING, "MoreWarnings", text[:MESSAGE])


def _warnings_on_nodes(plan: Plan, snapshot: Snapshot) -> Iterator[Event]:
    for note in plan.notes:
        node, event = snapshot.node(note.key), note.row.node_event
        if node is not None and event and (event.joining if is_uninitialized(node) else event.initialized):
            yield Event(subject_of(node), EventType.WARNING, event.reason, note.text)


def _warnings_on_settings(plan: Plan, snapshot: Snapshot) -> Iterator[Event]:
    """A warning for the cluster, while anything follows from settings that differ."""
    if isinstance(snapshot.cluster_uid, Present):
        subject = Subject("Namespace", IDENTITY_NAMESPACE, snapshot.cluster_uid.value)
        notes = (note for note in plan.notes if note.key == PLAN and note.kind is NoteKind.SETTINGS)
        yield from (Event(subject, EventType.WARNING, "SettingsChanged", note.text) for note in notes)


def _holds(hold: Hold, plan: Plan, snapshot: Snapshot, approve_flags: str) -> Iterator[Event]:
    """One warning for each object with a change that is held."""
    kinds: dict[Subject, set[str]] = {}
    for change in (plan.by_key[key] for key in hold.keys if key in plan.by_key):
        subject = _subject_of(change, snapshot)
        if subject is not None and change.decision.verdict is Verdict.HELD and change.decision.rule == hold.rule:
            kinds.setdefault(subject, set()).add(change.kind)
    end = "" if hold.end is None else f". Ends by itself {hold.end.announced_at(snapshot.taken_at)}"
    for subject, held in kinds.items():
        verb = "is" if len(held) == 1 else "are"
        approve = f". Approve with: {approve_command(hold.hash, approve_flags)}" if hold.approval_mends else ""
        text, remedy = f"{', '.join(sorted(held))} {verb} held by {hold.rule}: {hold.said}", f"{end}{approve}"
        message = text[: max(0, MESSAGE - len(remedy))] + remedy
        yield Event(subject, EventType.WARNING, "ChangeHeld", message, identity=f"{sorted(held)} {hold.hash}")


def _subject_of(change: Change, snapshot: Snapshot) -> Subject | None:
    """The Node or Service that the change serves; for a load balancer whose Service is gone the namespace whose UID is
    the cluster's, as it lives as long as the cluster. None where there is none."""
    owner = snapshot.node(change.owner) or snapshot.service(change.owner)
    if owner is not None:
        return subject_of(owner)
    if change.is_of_no_service and isinstance(snapshot.cluster_uid, Present):
        return Subject("Namespace", IDENTITY_NAMESPACE, snapshot.cluster_uid.value)
    return None
