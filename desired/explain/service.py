"""Explanation of one Service: its stage and why, what it waits for, and what was decided on each of its parts."""

from collections.abc import Collection, Iterator

from desired.explain.document import FoundBalancer, GuardFact, ServiceExplanation, ServiceStage, Wait
from desired.explain.guards import explain_anchor, explain_guards
from desired.explain.load_balancer import (
    ServiceView,
    explain_balancer,
    explain_certificates,
    explain_conditions,
    explain_listeners,
    explain_status,
    explain_targets,
)
from desired.explain.options import explain_options, explain_remarks
from desired.load_balancers.desired import DesiredLoadBalancer
from desired.load_balancers.lifecycle import LoadBalancerRelease
from desired.load_balancers.matching import Adoptable, Contested, Foreign, Missing, Owned, Undecided
from desired.model.load_balancer import KNOWN_AFTER_APPLY
from desired.model.service import TYPE_LOAD_BALANCER, Service
from desired.model.serving import Serving
from desired.plan.change import Verdict
from desired.plan.kinds import ChangeKind
from desired.plan.notes import NoteKind
from desired.rules import explanations
from desired.rules import load_balancers as rules
from desired.syntax.bounds import named

_NEXT = (ChangeKind.LB_CREATE, ChangeKind.LB_ADOPT, ChangeKind.LB_DELETE, ChangeKind.LB_RETAIN)
"""What comes next for a load balancer as a whole; at most one of them is planned of a Service."""


def explain_service(of: ServiceView) -> ServiceExplanation:
    """The explanation of a Service."""
    lb, notes, guards = of.lb, of.notes_on(of.service.keys), tuple(explain_guards(of))
    stage, why = _stage(of)
    return ServiceExplanation(
        stage=stage,
        why=why,
        load_balancer=explain_balancer(of, lb) if lb else FoundBalancer(None, why=why),
        pending=tuple(_waits(of, guards)),
        changes=of.changes,
        guards=guards,
        status=tuple(explain_status(of)),
        conditions=tuple(explain_conditions(of)),
        listeners=explain_listeners(of, notes),
        targets=tuple(explain_targets(of)),
        certificates=tuple(explain_certificates(of)),
        options=explain_options(lb, of.balancer),
        remarks=tuple(explain_remarks(lb)),
        anchor=explain_anchor(of.facts),
        notes=notes,
    )


def _stage(of: ServiceView) -> tuple[ServiceStage, str]:
    """The Service's stage, and one sentence on why it is there and what comes next: whose it is comes first, then
    whether it goes, then which load balancer is its."""
    lb = of.lb
    if lb is None:
        return _left_alone(of.service, of.facts.snapshot.serving)
    if isinstance(lb, LoadBalancerRelease):
        return ServiceStage.LEAVING, _leaving(of, lb)
    match lb.match:
        case Foreign(why=why):
            return ServiceStage.REFUSED, why
        case Contested(why=why):
            return ServiceStage.CONTESTED, why
        case Undecided(is_ambiguous=is_ambiguous, why=why):
            return ServiceStage.AMBIGUOUS if is_ambiguous else ServiceStage.WAITING, why
        case _ if lb.problems:
            return ServiceStage.MALFORMED, _malformed(lb)
        case Owned(balancer):
            return ServiceStage.SERVED, rules.SERVICE_SERVED.text(balancer=balancer.id, changes=of.planned)
        case Adoptable(balancer, by):
            why = rules.ADOPTING.text(balancer=balancer.id, by=by, change=of.next_of(*_NEXT))
            return ServiceStage.ADOPTING, why
    if lb.wanted is None:
        reason = lb.size.problem or rules.NOTHING_PLANNED.because()
        return ServiceStage.WAITING if reason.rule.of is NoteKind.UNKNOWN else ServiceStage.MALFORMED, reason.text
    return ServiceStage.JOINING, rules.SERVICE_JOINING.text(change=of.next_of(*_NEXT))


def _left_alone(service: Service, serving: Serving) -> tuple[ServiceStage, str]:
    """A Service on which nothing is decided."""
    if service.load_balancer_class not in (None, serving.balancer_class):
        return ServiceStage.FOREIGN, rules.OF_ANOTHER_CONTROLLER.text(cls=service.load_balancer_class)
    if service.type != TYPE_LOAD_BALANCER:
        return ServiceStage.UNCLAIMED, rules.WANTS_NONE.text(type=service.type)
    if service.load_balancer_class != serving.balancer_class:
        return ServiceStage.FOREIGN, rules.OF_NO_CLASS.text()
    return ServiceStage.LEAVING, rules.NEVER_CLAIMED.text()


def _malformed(lb: DesiredLoadBalancer) -> str:
    more = f" (and {len(lb.problems) - 1} more)" if len(lb.problems) > 1 else ""
    row = rules.MALFORMED_NEW if isinstance(lb.match, Missing) else rules.MALFORMED_ADOPTING
    if isinstance(lb.match, Owned):
        row = rules.MALFORMED_PORTS if lb.held_back else rules.MALFORMED_SERVED
    ports = named("port", [str(port) for port in sorted(lb.held_back)])
    balancer = lb.present.id if lb.present else 0
    return row.text(problem=lb.problems[0].text, more=more, balancer=balancer, ports=ports)


def _leaving(of: ServiceView, lb: LoadBalancerRelease) -> str:
    service = lb.service
    other = f"type {service.type}" if service.load_balancer_class is None else f"class {service.load_balancer_class!r}"
    going = "is being deleted" if service.deleted_at else f"is of {other} now"
    if isinstance(lb.match, Undecided):
        return rules.LEAVING_UNDECIDED.text(going=going, cause=lb.match.why)
    if lb.present is None:
        return rules.LEAVING_ALONE.text(going=going, change=of.next_of(ChangeKind.SERVICE_RELEASE))
    balancer, change = lb.present.id, of.next_of(*_NEXT)
    if lb.why_retained is not None:
        return rules.LEAVING_RETAINED.text(going=going, balancer=balancer, cause=lb.why_retained.says, change=change)
    return rules.LEAVING_TOGETHER.text(going=going, balancer=balancer, change=change)


def _waits(of: ServiceView, guards: Collection[GuardFact]) -> Iterator[Wait]:
    """Everything that the Service waits for, though nothing has failed. ``guards`` are those on its changes."""
    for guard in guards:
        why = guard.why or ""
        if guard.verdict is Verdict.WAITING:
            yield Wait(guard.rule, why, guard.due_in_s)
        elif guard.verdict is Verdict.HELD:
            yield Wait(guard.rule, explanations.WAITS_FOR_APPROVAL.text(cause=why), guard.due_in_s)
    match lb := of.lb:
        case DesiredLoadBalancer(certificates=certificates):
            is_created = of.first(ChangeKind.CERTIFICATE_CREATE) is not None
            for reason in certificates.pending if is_created or certificates.create is None else ():
                if all(guard.why != reason.text for guard in guards):
                    yield Wait("certificate", reason.text, certificates.due_in_s)
            yield from (Wait(f"port {port}", explanations.NODE_PORT.text()) for port in lb.without_node_port)
        case LoadBalancerRelease(service) if service.deleted_at is not None:
            ending = of.facts.snapshot.serving.finalizer
            others = ", ".join(name for name in service.finalizers if name != ending)
            if others:
                yield Wait("finalizers", explanations.FINALIZERS.text(finalizers=others))
    if any(change.after is KNOWN_AFTER_APPLY for change in of.changes):
        yield Wait("status", explanations.WAITS_FOR_ADDRESSES.text())
