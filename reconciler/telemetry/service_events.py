"""Events on Services and on Nodes that cannot be their targets, with HCCM's reasons.

| Function | Events |
|---|---|
| ``done`` | what a pass did for a Service |
| ``failures`` | what could not be done for a Service |
| ``warnings_on_services`` | what a Service lacks until a person acts |
| ``warnings_on_targets`` | Nodes that should get traffic and cannot be targets |

The texts are stable, so that the same trouble is one event. HCCM also sends events on joining Nodes whose addresses are
not known yet; this product does not.
"""

from collections.abc import Iterable, Iterator, Mapping
from itertools import groupby, islice, product

from actuators.outcome import Applied, Failed
from desired.annotations.warnings import Lack
from desired.load_balancers.desired import DesiredLoadBalancer
from desired.load_balancers.targets import Membership, NodeTarget
from desired.model.service import Service
from desired.model.snapshot import Snapshot
from desired.nodes.desired import is_uninitialized
from desired.plan.change import Change, GuardName, Note, NoteKind, Plan, Verdict
from desired.plan.kinds import ChangeKind
from desired.planner import DesiredState
from desired.section import Absent
from reconciler.result import Line
from reconciler.telemetry.events import Event, EventType, subject_of

_TARGET_REASONS: Mapping[Membership, str] = {
    Membership.OVER_LIMIT: "MaxTargetsReached",
    Membership.UNUSABLE: "UnusableTarget",
}
_MOST_NODES = 5
"""Nodes of one Service and with one trouble that get events: a type without room may leave out thousands."""
_SHOWN = 3
"""Services that a message names."""


def warnings_on_targets(plan: Plan, snapshot: Snapshot, desired: DesiredState) -> Iterator[Event]:
    """A warning for each of the first Nodes that should get traffic and cannot be a target of some Service's load
    balancer; and one for the Service when there are more. (For a type that is full the Service's note says that
    already.)

    Not for a joining Node or one whose server is gone, which have events of their own. ``desired`` is what the plan was
    made from; None: it is computed anew.
    """
    if not any(note.kind in (NoteKind.LIMIT, NoteKind.UNUSABLE_TARGET) for note in plan.notes):
        return
    serving = [wish for _, wish in sorted(desired.services.items()) if isinstance(wish, DesiredLoadBalancer)]
    services: dict[tuple[str, Membership, str], list[str]] = {}
    for wish, membership in product(serving, _TARGET_REASONS):
        for why, members in wish.targets.by_why(membership).items():
            worth = (member.node for member in members if _is_worth_a_word(member, snapshot))
            for name in islice(worth, _MOST_NODES):
                services.setdefault((name, membership, why), []).append(wish.service.id)
            if membership is Membership.UNUSABLE and next(worth, None) is not None:
                text = f"{len(members)} Nodes are no target: {why}"
                yield Event(subject_of(wish.service), EventType.WARNING, _TARGET_REASONS[membership], text)
    for (name, membership, why), names in sorted(services.items()):
        node = snapshot.nodes.items[name]
        text = f"no target of the load balancer of {_shown(names)}: {why}"
        yield Event(subject_of(node), EventType.WARNING, _TARGET_REASONS[membership], text)


def _is_worth_a_word(member: NodeTarget, snapshot: Snapshot) -> bool:
    node = snapshot.nodes.items.get(member.node)
    if node is None or is_uninitialized(node):
        return False
    return member.server_id is None or not isinstance(snapshot.servers.find(member.server_id), Absent)


def _shown(names: list[str]) -> str:
    """``Services a, b, c and 4 more``."""
    rest = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    return f"Service{'s' if len(names) > 1 else ''} {', '.join(names[:_SHOWN])}{rest}"


_REASONS: Mapping[NoteKind, str] = {
    NoteKind.MALFORMED: "InvalidAnnotation",
    NoteKind.UNSUPPORTED: "UnsupportedSetting",
    NoteKind.AMBIGUOUS: "AmbiguousOwnership",
    NoteKind.CERTIFICATE: "CertificateUnavailable",
    NoteKind.LIMIT: "LimitReached",
    NoteKind.DEPRECATED: "LoadBalancerTypeDeprecated",
    NoteKind.NO_TARGETS: "UnAvailableLoadBalancer",
    NoteKind.STUCK: "DeletionStuck",
}
"""Notes on a Service that a person has to do something about → the event's reason. A note on something foreign is not
among them: most such things are rightly left alone, and what is refused for it is said as that."""
_OF_PORTS = frozenset({Lack.PORT, Lack.EVERY_PORT})
"""Ports of another protocol than TCP, which Hetzner does not balance."""
_GOING = frozenset({ChangeKind.LB_DELETE, ChangeKind.LB_RETAIN, ChangeKind.SERVICE_RELEASE})
_NODES = frozenset({ChangeKind.LB_TARGET})
"""The kinds of changes of what HCCM calls an update: only Nodes were added or removed."""
_DONE = {
    ChangeKind.LB_DELETE: ("DeletedLoadBalancer", "Deleted load balancer"),
    ChangeKind.LB_RETAIN: ("RetainedLoadBalancer", "Retained load balancer"),
}


_GAP = GuardName.INCOMPLETE_SNAPSHOT
"""The guard that waits for a complete snapshot."""


def done(tried: Iterable[Line], snapshot: Snapshot, plan: Plan) -> Iterator[Event]:
    """Events on what a pass did for Services, once for each of them, whatever the number of changes.

    ``tried`` are the changes that it tried, with how each ended; ``snapshot`` has the Services as the pass found them,
    as those that were released are gone by now. A Service is not reported as ensured where part of it failed, or is
    still to be done by ``plan``, the last one.
    """
    unfinished = _unfinished(plan)
    for service, lines in _by_service(tried, snapshot):
        for line in lines:
            if line.change.kind in _DONE and isinstance(line.outcome, Applied):
                reason, text = _DONE[line.change.kind]
                yield Event(subject_of(service), EventType.NORMAL, reason, f"{text}: {line.change.reason}")
            if (
                line.change.kind == ChangeKind.LB_CREATE
                and line.change.consequences
                and isinstance(line.outcome, Applied)
            ):
                lost = "; ".join(line.change.consequences)
                yield Event(subject_of(service), EventType.WARNING, "LoadBalancerReplaced", f"Created it anew: {lost}")
        kinds = {line.change.kind for line in lines} - _GOING
        if kinds and service.key not in unfinished and all(isinstance(line.outcome, Applied) for line in lines):
            reason, text = (
                ("UpdatedLoadBalancer", "Updated load balancer with new hosts")
                if kinds <= _NODES
                else ("EnsuredLoadBalancer", "Ensured load balancer")
            )
            yield Event(subject_of(service), EventType.NORMAL, reason, text)


def failures(tried: Iterable[Line], snapshot: Snapshot) -> Iterator[Event]:
    """Warnings about what could not be done for Services: one for each of them and each kind of failure that HCCM
    distinguishes."""
    for service, lines in _by_service(tried, snapshot):
        errors: dict[tuple[str, str], list[str]] = {}
        for line in lines:
            if isinstance(line.outcome, Failed):
                errors.setdefault(_failed(line.change), []).append(line.outcome.error)
        for (reason, text), found in errors.items():
            first, *others = dict.fromkeys(found)
            more = f" (and {len(others)} more)" if others else ""
            yield Event(subject_of(service), EventType.WARNING, reason, f"{text}: {first}{more}")


def warnings_on_services(plan: Plan, snapshot: Snapshot) -> Iterator[Event]:
    """A warning for each note on a Service that a person has to do something about, and for what is refused to it for
    another reason than a note has given."""
    told = set()
    unserved = {service.key: service for service in snapshot.unserved or ()}
    for note in plan.notes:
        service = snapshot.service(note.key) or unserved.get(note.key)
        if service is not None and note.kind in _REASONS:
            told.add((note.key, note.text))
            yield Event(subject_of(service), EventType.WARNING, _reason(note), note.text)
    for change in plan.with_verdict(Verdict.REFUSED):
        service = snapshot.service(change.owner)
        if service is not None and (change.owner, change.decision.why) not in told:
            yield Event(subject_of(service), EventType.WARNING, "LoadBalancerOwnedByOther", change.decision.why)


def _unfinished(plan: Plan) -> frozenset[str]:
    """Keys of the Services for which a pass leaves something to do, or of which that is not known."""
    changes = (c.owner for c in plan.changes if c.decision.verdict is Verdict.ALLOWED or c.decision.rule == _GAP)
    return frozenset((*changes, *(note.key for note in plan.notes if note.kind is NoteKind.UNKNOWN)))


def _by_service(tried: Iterable[Line], snapshot: Snapshot) -> Iterator[tuple[Service, list[Line]]]:
    ordered = sorted(tried, key=lambda line: line.change.owner)  # stable: changes of one Service keep their order
    for owner, lines in groupby(ordered, key=lambda line: line.change.owner):
        service = snapshot.service(owner)
        if service is not None:
            yield service, list(lines)


def _failed(change: Change) -> tuple[str, str]:
    """Reason and beginning of the message for a change that failed."""
    if change.kind in _GOING:
        return "DeleteLoadBalancerFailed", "Error deleting load balancer"
    if change.kind in _NODES:
        return "UpdateLoadBalancerFailed", "Error updating load balancer with new hosts"
    return "SyncLoadBalancerFailed", "Error syncing load balancer"


def _reason(note: Note) -> str:
    if note.lack in _OF_PORTS:
        return "UnsupportedProtocolConfigured"
    return _REASONS[note.kind]
