"""Explanation of one Service, as plain values: its load balancer, options, targets, ports, and the decisions of guards.

A projection: it reads what was decided on the Service, and decides nothing.
"""

from collections.abc import Collection, Iterable, Iterator
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
from desired.guards.filters import restrict
from desired.guards.guard import GuardInput, GuardResult
from desired.guards.statuses import conditions_of
from desired.load_balancers.desired import DesiredLoadBalancer
from desired.load_balancers.matching import Adoptable, Contested, Foreign, Missing, Owned, Undecided
from desired.load_balancers.ownership import former_by_name, left_behind, owner_of
from desired.load_balancers.release import LoadBalancerRelease, due_of, shown_time
from desired.model.load_balancer import KNOWN_AFTER_APPLY
from desired.model.service import TYPE_LOAD_BALANCER, Service
from desired.model.settings import Controller, Settings
from desired.model.snapshot import Snapshot
from desired.names import FINALIZER_BALANCER
from desired.plan.change import Change, Verdict
from desired.plan.foresight import balancer_after_all
from desired.plan.kinds import ChangeKind
from desired.plan.notes import Note, NoteKind
from desired.rules.load_balancers import (
    ADOPTING,
    ADOPTING_PUBLISHED,
    JOINING,
    LEAVING_ALONE,
    LEAVING_FOR_A_WHILE,
    LEAVING_RETAINED,
    LEAVING_TOGETHER,
    LEAVING_UNDECIDED,
    MALFORMED_ADOPTING,
    MALFORMED_NEW,
    MALFORMED_SERVED,
    NEVER_CLAIMED,
    NOTHING_PLANNED,
    OF_ANOTHER_CONTROLLER,
    RETURNING,
    SERVED,
    WANTS_NONE,
)


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


def explain_service(service: Service, facts: GuardInput, results: Iterable[GuardResult]) -> ServiceExplanation:
    """Explain ``service``, which is of the snapshot of ``facts``. The plan there is the judged one, and ``results`` are
    what each guard said of it."""
    snapshot, settings, plan, desired = facts.snapshot, facts.settings, facts.plan, facts.desired
    lb = desired.services.get(service.id)
    changes = facts.by_owner.get(service.key, ())
    part = restrict(plan, service.keys)
    notes = tuple(note for note in part.notes if note.kind is not NoteKind.PARTIAL)
    balancer = found_balancer(lb)
    then = balancer_after_all(balancer, changes, snapshot)
    guards = explain_guards(service.key, facts, results, part.holds)
    remarks = explain_remarks(lb)
    conditions = conditions_of(service.key, changes, facts) if isinstance(lb, DesiredLoadBalancer) else ()
    stage, why = service_stage(service, lb, changes)
    return ServiceExplanation(
        stage=stage,
        why=why,
        load_balancer=explain_balancer(service, lb, changes, snapshot) if lb else FoundBalancer(None, why=why),
        pending=tuple(_waits(lb, changes, guards)),
        changes=changes,
        guards=guards,
        status=explain_status(service, balancer, changes),
        conditions=explain_conditions_of(service, conditions, changes),
        listeners=explain_listeners(lb, balancer, then, changes, remarks, notes),
        targets=explain_targets(lb, balancer, then, changes, snapshot),
        certificates=explain_certificates(lb, balancer, changes, snapshot),
        options=explain_options(lb, balancer),
        remarks=remarks,
        anchor=explain_anchor(snapshot, settings),
        notes=notes,
    )


def service_stage(
    service: Service, lb: DesiredLoadBalancer | LoadBalancerRelease | None, changes: Collection[Change]
) -> tuple[ServiceStage, str]:
    """The Service's stage, and one sentence on why it is there and what comes next: whose it is comes first, then
    whether it goes, then which load balancer is its."""
    if lb is None:
        return _left_alone(service)
    if isinstance(lb, LoadBalancerRelease):
        return ServiceStage.LEAVING, _leaving(lb, changes)
    match lb.match:
        case Foreign(why=why):
            return ServiceStage.REFUSED, why
        case Contested(why=why):
            return ServiceStage.CONTESTED, why
        case Undecided(is_ambiguous=is_ambiguous, why=why):
            return ServiceStage.AMBIGUOUS if is_ambiguous else ServiceStage.WAITING, why
    return (ServiceStage.MALFORMED, _malformed(lb)) if lb.problems else _on_its_own(lb, changes)


def _left_alone(service: Service) -> tuple[ServiceStage, str]:
    """A Service on which nothing is decided."""
    if service.load_balancer_class is not None:
        return ServiceStage.FOREIGN, OF_ANOTHER_CONTROLLER.text(cls=service.load_balancer_class)
    if service.type != TYPE_LOAD_BALANCER:
        return ServiceStage.UNCLAIMED, WANTS_NONE.text(type=service.type)
    return ServiceStage.LEAVING, NEVER_CLAIMED.text()


def _on_its_own(lb: DesiredLoadBalancer, changes: Collection[Change]) -> tuple[ServiceStage, str]:
    """A Service whose load balancer no other Service or cluster claims, and that asks for nothing impossible."""
    match lb.match:
        case Owned(balancer):
            return ServiceStage.SERVED, SERVED.text(balancer=balancer.id, changes=planned(changes))
        case Adoptable(balancer, returns=returns, is_published=is_published):
            row = RETURNING if returns else ADOPTING_PUBLISHED if is_published else ADOPTING
            done = "the next pass gives it back" if returns else "the next pass takes it over"
            adoption = _next(changes, ChangeKind.LB_ADOPT, done, "that")
            return ServiceStage.ADOPTING, row.text(balancer=balancer.id, change=adoption)
    if lb.wanted is None:
        reason = lb.size.problem or NOTHING_PLANNED.because()
        stage = ServiceStage.WAITING if reason.rule.of is NoteKind.UNKNOWN else ServiceStage.MALFORMED
        return stage, reason.text
    creation = _next(changes, ChangeKind.LB_CREATE, "the next pass creates it", "its creation")
    return ServiceStage.JOINING, JOINING.text(change=creation)


def _malformed(lb: DesiredLoadBalancer) -> str:
    more = f" (and {len(lb.problems) - 1} more)" if len(lb.problems) > 1 else ""
    row = MALFORMED_NEW if isinstance(lb.match, Missing) else MALFORMED_ADOPTING
    row = MALFORMED_SERVED if isinstance(lb.match, Owned) else row
    return row.text(problem=lb.problems[0].text, more=more, balancer=lb.present.id if lb.present else 0)


def _leaving(lb: LoadBalancerRelease, changes: Collection[Change]) -> str:
    service = lb.service
    of = f"type {service.type}" if service.load_balancer_class is None else f"class {service.load_balancer_class!r}"
    going = "is being deleted" if service.deleted_at else f"is of {of} now"
    if isinstance(lb.match, Undecided):
        return LEAVING_UNDECIDED.text(going=going, cause=lb.match.why)
    if lb.present is None:
        release = _next(changes, ChangeKind.SERVICE_RELEASE, "the next pass releases it", "its release")
        return LEAVING_ALONE.text(going=going, change=release)
    balancer = lb.present.id
    if lb.retained is None:
        deletion = _next(changes, ChangeKind.LB_DELETE, "the next pass deletes it", "its deletion")
        return LEAVING_TOGETHER.text(going=going, balancer=balancer, change=deletion)
    letting = _next(changes, ChangeKind.LB_RETAIN, "the next pass releases it", "that")
    if lb.delete_at is not None:
        until = shown_time(lb.delete_at)
        return LEAVING_FOR_A_WHILE.text(going=going, balancer=balancer, until=until, change=letting)
    why = lb.why_retained.says if lb.why_retained else ""
    return LEAVING_RETAINED.text(going=going, balancer=balancer, cause=why, change=letting)


def _next(changes: Collection[Change], kind: ChangeKind, done: str, what: str) -> str:
    """What the change of this kind makes of the Service, or why it does not; "" where none is planned."""
    return becomes([change for change in changes if change.kind is kind], done, what)


def _waits(
    lb: DesiredLoadBalancer | LoadBalancerRelease | None, changes: Collection[Change], guards: Collection[GuardFact]
) -> Iterator[Wait]:
    """Everything that the Service waits for, though nothing has failed. ``guards`` are those on ``changes``."""
    for guard in guards:
        if guard.verdict in (Verdict.WAITING, Verdict.HELD):
            approval = "needs approval: " if guard.verdict is Verdict.HELD else ""
            yield Wait(guard.rule, approval + (guard.why or ""), guard.due_in_s)
    match lb:
        case DesiredLoadBalancer(certificates=certificates):
            is_created = any(change.kind is ChangeKind.CERTIFICATE_CREATE for change in changes)
            for why in certificates.pending if is_created or certificates.create is None else ():
                if all(guard.why != why.text for guard in guards):
                    yield Wait("certificate", why.text, certificates.due_in_s)
            for port in lb.without_node_port:
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
    if left is not None:
        due_at = due_of(owner_of(left.spec.labels))
        end = "" if due_at is None else f", and is deleted after {shown_time(due_at)}"
        hint = f"; load balancer {left.id} {left.spec.name} goes back to it when it is created again{end}"
    return f"the cluster has no Service {name!r}{hint}"
