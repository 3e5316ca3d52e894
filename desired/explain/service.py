"""Explanation of one Service, as plain values: its load balancer, options, targets, ports, and the decisions of guards.

Nothing is decided here. The desired state comes from the same functions that a plan is made with, so that an
explanation cannot differ from what a pass does.
"""

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from difflib import get_close_matches
from enum import StrEnum

from desired.annotations.warnings import AnnotationWarning
from desired.explain.fact import Fact, becomes, planned
from desired.explain.guards import AnchorFact, GuardFact, explain_anchor, explain_guards
from desired.explain.load_balancer import (
    FoundBalancer,
    explain_balancer,
    explain_conditions_of,
    explain_status,
    found_balancer,
)
from desired.explain.options import OptionFact, explain_options, explain_remarks
from desired.explain.parts import (
    CertificateFact,
    ListenerFact,
    TargetFact,
    explain_certificates,
    explain_listeners,
    explain_targets,
)
from desired.guards.facts import Facts, SettingsChange
from desired.guards.filters import restrict
from desired.guards.statuses import conditions_of
from desired.load_balancers.desired import DesiredLoadBalancer
from desired.load_balancers.listeners import ports_without_node_port
from desired.load_balancers.matching import Adoptable, Contested, Foreign, Missing, Owned, Undecided
from desired.load_balancers.ownership import former_by_name, left_behind, owner_of
from desired.load_balancers.release import LoadBalancerRelease, due_of, shown_time
from desired.model.load_balancer import KNOWN_AFTER_APPLY
from desired.model.service import TYPE_LOAD_BALANCER, Service
from desired.model.settings import Controller, Settings
from desired.model.snapshot import Snapshot
from desired.names import FINALIZER_BALANCER
from desired.plan.change import Change, Plan, Verdict
from desired.plan.foresight import balancer_after_all
from desired.plan.kinds import ChangeKind
from desired.plan.notes import Note, NoteKind
from desired.plan.setbacks import NO_SETBACKS
from desired.planner import DesiredState


class ServiceStage(StrEnum):
    """A stage of a Service, as this product sees it."""

    SERVED = "served"
    """It has its load balancer, which is kept in sync with it."""
    JOINING = "joining"
    """It wants a load balancer, and has none yet."""
    ADOPTING = "adopting"
    """An unowned load balancer has the name that it asks for."""
    MALFORMED = "malformed"
    """Something that it asks for is impossible."""
    REFUSED = "refused"
    """The load balancer that it asks for is somebody else's."""
    CONTESTED = "contested"
    """Several Services ask for one load balancer."""
    AMBIGUOUS = "ambiguous"
    """Several load balancers have its label."""
    WAITING = "waiting"
    """Too little could be read to tell which load balancer is its, or which it may have."""
    LEAVING = "leaving"
    """It releases its load balancer."""
    FOREIGN = "foreign"
    """It is another controller's."""
    UNCLAIMED = "unclaimed"
    """It asks for no load balancer."""


@dataclass(frozen=True, slots=True)
class Wait:
    """One thing that is waited for."""

    subject: str
    """The rule of a guard; else the certificate, port, status or finalizer that it is about."""
    why: str
    due_in_s: float | None = None
    """Seconds until another look is worth it; None when no time is known."""


@dataclass(frozen=True, slots=True)
class ServiceExplanation:
    """Explanation of one Service."""

    stage: ServiceStage
    why: str
    """Why it is in this stage and what comes next, one sentence."""
    load_balancer: FoundBalancer
    pending: tuple[Wait, ...]
    """What is waited for."""
    changes: tuple[Change, ...]
    """As in the judged plan."""
    guards: tuple[GuardFact, ...]
    """On these changes; empty when there is none."""
    status: tuple[Fact, ...]
    """The addresses that it publishes."""
    conditions: tuple[Fact, ...]
    listeners: tuple[ListenerFact, ...]
    targets: tuple[TargetFact, ...]
    """Every Node, and every target that is no Node's."""
    certificates: tuple[CertificateFact, ...]
    options: tuple[OptionFact, ...]
    """Every annotation of the table; empty for a Service of which none counts."""
    remarks: tuple[AnnotationWarning, ...]
    """Other warnings about its annotations and spec."""
    anchor: AnchorFact
    notes: tuple[Note, ...]
    """On this Service and its load balancer, and those that explain verdicts wherever they stand."""


def explain_service(
    service: Service,
    snapshot: Snapshot,
    settings: Settings,
    plan: Plan,
    desired: DesiredState,
    changed: SettingsChange | None = None,
) -> ServiceExplanation:
    """Explain ``service``, which is of ``snapshot``. ``plan`` is the judged plan of the same snapshot, made
    from ``desired``; ``changed`` is what follows from changed settings."""
    facts = Facts(plan, snapshot, settings, desired, NO_SETBACKS, changed)
    lb = desired.services.get(service.id)
    changes = facts.by_owner.get(service.key, ())
    roots = service.keys
    part = restrict(plan, roots)
    notes = tuple(note for note in part.notes if note.kind is not NoteKind.PARTIAL)
    balancer = found_balancer(lb)
    then = balancer_after_all(balancer, changes, snapshot)
    guards = explain_guards(service.key, facts, part.holds)
    remarks = explain_remarks(lb)
    conditions = conditions_of(service.key, changes, facts) if isinstance(lb, DesiredLoadBalancer) else ()
    return ServiceExplanation(
        stage=stage_of_service(service, lb),
        why=why_in_stage(service, lb, changes),
        load_balancer=explain_balancer(service, lb, changes, snapshot, why_undecided(service)),
        pending=explain_pending(lb, changes, guards),
        changes=changes,
        guards=guards,
        status=explain_status(service, balancer, changes),
        conditions=explain_conditions_of(service, conditions, changes),
        listeners=explain_listeners(lb, balancer, then, changes, remarks, notes),
        targets=explain_targets(lb, balancer, then, changes, snapshot, settings),
        certificates=explain_certificates(lb, balancer, changes, snapshot),
        options=explain_options(lb, balancer),
        remarks=remarks,
        anchor=explain_anchor(snapshot, settings),
        notes=notes,
    )


def stage_of_service(service: Service, lb: DesiredLoadBalancer | LoadBalancerRelease | None) -> ServiceStage:
    """The Service's stage: whose it is comes first, then whether it goes, then which load balancer is its."""
    match lb:
        case None if service.load_balancer_class is not None:
            return ServiceStage.FOREIGN
        case None if service.type != TYPE_LOAD_BALANCER:
            return ServiceStage.UNCLAIMED
        case LoadBalancerRelease() | None:
            return ServiceStage.LEAVING
    match lb.match:
        case Foreign():
            return ServiceStage.REFUSED
        case Contested():
            return ServiceStage.CONTESTED
        case Undecided(is_ambiguous=is_ambiguous):
            return ServiceStage.AMBIGUOUS if is_ambiguous else ServiceStage.WAITING
    return _stage_of_its_own(lb)


def _stage_of_its_own(lb: DesiredLoadBalancer) -> ServiceStage:
    """The stage of a Service whose load balancer no other Service or cluster claims."""
    if lb.problems:
        return ServiceStage.MALFORMED
    if isinstance(lb.match, Owned | Adoptable):
        return ServiceStage.SERVED if isinstance(lb.match, Owned) else ServiceStage.ADOPTING
    if lb.wanted is None:
        return (
            ServiceStage.WAITING
            if lb.size.problem and lb.size.problem.rule.of is NoteKind.UNKNOWN
            else ServiceStage.MALFORMED
        )
    return ServiceStage.JOINING


def why_in_stage(
    service: Service, lb: DesiredLoadBalancer | LoadBalancerRelease | None, changes: Collection[Change]
) -> str:
    """One sentence on why the Service is in its stage and what comes next."""
    match lb:
        case None:
            return why_undecided(service)
        case LoadBalancerRelease():
            return _why_leaving(lb, changes)
    match lb.match:
        case Foreign() | Contested() | Undecided():
            return lb.match.why
    if lb.problems:
        return _why_malformed(lb)
    match lb.match:
        case Owned(balancer):
            return f"is served by load balancer {balancer.id}; {planned(changes)}"
        case Adoptable(balancer, returns=True):
            adoption = becomes(_of_kind(changes, ChangeKind.LB_ADOPT), "the next pass gives it back", "that")
            return f"had load balancer {balancer.id} when it was deleted last; {adoption}"
        case Adoptable(balancer, is_published=is_published):
            adoption = becomes(_of_kind(changes, ChangeKind.LB_ADOPT), "the next pass takes it over", "that")
            way = "publishes an address" if is_published else "asks for the name"
            return f"{way} of load balancer {balancer.id}, which no Service that lives has; {adoption}"
    if lb.wanted is None:
        return lb.size.problem.text if lb.size.problem else "nothing is planned as things are"
    creation = becomes(_of_kind(changes, ChangeKind.LB_CREATE), "the next pass creates it", "its creation")
    return f"wants a load balancer and has none; {creation}"


def why_undecided(service: Service) -> str:
    """The reason why nothing at all is decided on the Service."""
    if service.load_balancer_class is not None:
        return f"spec.loadBalancerClass {service.load_balancer_class!r} makes it another controller's; left alone"
    if service.type != TYPE_LOAD_BALANCER:
        return f"is of type {service.type}, and asks for no load balancer; left alone"
    return "is being deleted, and nobody has claimed it here: there is nothing to release"


def _why_malformed(lb: DesiredLoadBalancer) -> str:
    more = len(lb.problems) - 1
    rest = f" (and {more} more)" if more else ""
    match lb.match:
        case Missing():
            done = "nothing is created until it is right"
        case Owned(balancer):
            done = f"nothing but the targets of load balancer {balancer.id} is looked after until it is right"
        case _:
            done = "nothing is taken over until it is right"
    return f"{lb.problems[0].text}{rest}; {done}"


def _why_leaving(lb: LoadBalancerRelease, changes: Collection[Change]) -> str:
    service, match = lb.service, lb.match
    of = f"type {service.type}" if service.load_balancer_class is None else f"class {service.load_balancer_class!r}"
    going = "is being deleted" if service.deleted_at else f"is of {of} now"
    if isinstance(match, Undecided):
        return f"{going}, and {match.why}"
    if lb.delete_at is not None and lb.present is not None:
        letting = becomes(_of_kind(changes, ChangeKind.LB_RETAIN), "the next pass releases it", "that")
        until = shown_time(lb.delete_at)
        return f"{going}; load balancer {lb.present.id} is released first, and deleted after {until}; {letting}"
    if lb.retained is not None and lb.present is not None:
        letting = becomes(_of_kind(changes, ChangeKind.LB_RETAIN), "the next pass releases it", "that")
        why = lb.why_retained.text if lb.why_retained else ""
        return f"{going}; load balancer {lb.present.id} stays, as {why}; {letting}"
    if lb.present is not None:
        deletion = becomes(_of_kind(changes, ChangeKind.LB_DELETE), "the next pass deletes it", "its deletion")
        return f"{going}, and load balancer {lb.present.id} goes with it; {deletion}"
    release = becomes(_of_kind(changes, ChangeKind.SERVICE_RELEASE), "the next pass releases it", "its release")
    return f"{going}, and has no load balancer; {release}"


def _of_kind(changes: Collection[Change], kind: str) -> tuple[Change, ...]:
    return tuple(change for change in changes if change.kind == kind)


def explain_pending(
    lb: DesiredLoadBalancer | LoadBalancerRelease | None, changes: Collection[Change], guards: Collection[GuardFact]
) -> tuple[Wait, ...]:
    """Everything that the Service waits for, though nothing has failed. ``guards`` are those on ``changes``."""
    return tuple(_waits(lb, changes, guards))


def _waits(
    lb: DesiredLoadBalancer | LoadBalancerRelease | None, changes: Collection[Change], guards: Collection[GuardFact]
) -> Iterator[Wait]:
    for guard in guards:
        if guard.verdict in (Verdict.WAITING, Verdict.HELD):
            approval = "somebody has to approve it: " if guard.verdict is Verdict.HELD else ""
            yield Wait(guard.rule, approval + (guard.why or ""), guard.due_in_s)
    match lb:
        case DesiredLoadBalancer():
            pending, create = lb.certificates.pending, _of_kind(changes, ChangeKind.CERTIFICATE_CREATE)
            is_awaited = bool(create) or lb.certificates.create is None
            if pending is not None and is_awaited and all(guard.why != pending for guard in guards):
                yield Wait("certificate", pending, lb.certificates.due_in_s)
            for port in ports_without_node_port(lb.service):
                yield Wait(f"port {port}", "the API server has still to choose its node port")
        case LoadBalancerRelease(service) if service.deleted_at is not None:
            others = [name for name in service.finalizers if name != FINALIZER_BALANCER]
            if others:
                yield Wait("finalizers", f"others have to release the Service as well: {', '.join(others)}")
    if any(change.after is KNOWN_AFTER_APPLY for change in changes):
        yield Wait("status", "the addresses are known once there is a load balancer")


def why_no_service(name: str, snapshot: Snapshot, settings: Settings) -> str:
    """The reason why there is no Service of this ``NAMESPACE/NAME`` to explain, and which ones come near."""
    services = snapshot.services
    if Controller.SERVICE not in settings.controllers:
        return f"Service {name!r} cannot be explained: --controllers leaves {Controller.SERVICE} out"
    if services is None:
        return f"Service {name!r} cannot be explained: the Services were not read"
    if name in services.unreadable:
        return f"Service {name!r} cannot be explained: {services.unreadable[name]}"
    namespace, _, short = name.partition("/")
    namesakes = [service.id for service in services if service.name == short]
    beside = [service.name for service in services if service.namespace == namespace]
    near = (*namesakes, *(f"{namespace}/{close}" for close in get_close_matches(short, beside, n=3)))[:3]
    hint = f"; nearest: {', '.join(near)}" if near else ""
    if not services.complete:
        return f"Service {name!r} is not among the {len(services)} that were read: {services.why_incomplete}{hint}"
    left = left_behind(snapshot).get(former_by_name(namespace, short))
    due_at = None if left is None else due_of(owner_of(left.spec.labels))
    if left is not None:
        end = "" if due_at is None else f", and is deleted after {shown_time(due_at)}"
        hint = f"; load balancer {left.id} {left.spec.name} goes back to it when it is created again{end}"
    return f"the cluster has no Service {name!r}{hint}"
