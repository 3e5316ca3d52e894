"""Stage of a Service on its way to a load balancer or from it, and what it waits for. Nothing is decided here."""

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from enum import StrEnum

from desired.explain.fact import becomes, planned
from desired.explain.guards import Word
from desired.load_balancers.desired import DesiredLoadBalancer
from desired.load_balancers.listeners import ports_without_node_port
from desired.load_balancers.ownership import Adoptable, Contested, Foreign, Missing, Owned, Undecided
from desired.load_balancers.release import LoadBalancerRelease, shown_time
from desired.model.load_balancer import KNOWN_AFTER_APPLY
from desired.model.service import TYPE_LOAD_BALANCER, Service
from desired.names import FINALIZER_BALANCER
from desired.plan.change import Change, NoteKind, Verdict


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


def stage_of_service(service: Service, wish: DesiredLoadBalancer | LoadBalancerRelease | None) -> ServiceStage:
    """The Service's stage: whose it is comes first, then whether it goes, then which load balancer is its."""
    match wish:
        case None if service.load_balancer_class is not None:
            return ServiceStage.FOREIGN
        case None if service.type != TYPE_LOAD_BALANCER:
            return ServiceStage.UNCLAIMED
        case LoadBalancerRelease() | None:
            return ServiceStage.LEAVING
    match wish.match:
        case Foreign():
            return ServiceStage.REFUSED
        case Contested():
            return ServiceStage.CONTESTED
        case Undecided(is_ambiguous=is_ambiguous):
            return ServiceStage.AMBIGUOUS if is_ambiguous else ServiceStage.WAITING
    return _stage_of_its_own(wish)


def _stage_of_its_own(wish: DesiredLoadBalancer) -> ServiceStage:
    """The stage of a Service whose load balancer no other Service or cluster claims."""
    if wish.problems:
        return ServiceStage.MALFORMED
    if isinstance(wish.match, Owned | Adoptable):
        return ServiceStage.SERVED if isinstance(wish.match, Owned) else ServiceStage.ADOPTING
    if wish.wanted is None:
        return ServiceStage.WAITING if wish.size.kind is NoteKind.UNKNOWN else ServiceStage.MALFORMED
    return ServiceStage.JOINING


def why_in_stage(
    service: Service, wish: DesiredLoadBalancer | LoadBalancerRelease | None, changes: Collection[Change]
) -> str:
    """One sentence on why the Service is in its stage and what comes next."""
    match wish:
        case None:
            return why_undecided(service)
        case LoadBalancerRelease():
            return _why_leaving(wish, changes)
    match wish.match:
        case Foreign(why=why) | Contested(why=why) | Undecided(why, is_ambiguous=True):
            return why
        case Undecided(why):
            return f"which load balancer is its cannot be told: {why}"
    if wish.problems:
        return _why_malformed(wish)
    match wish.match:
        case Owned(balancer):
            return f"is served by load balancer {balancer.id}; {planned(changes)}"
        case Adoptable(balancer, returns=True):
            adoption = becomes(_of_kind(changes, "lb.adopt"), "the next pass gives it back", "that")
            return f"had load balancer {balancer.id} when it was deleted last; {adoption}"
        case Adoptable(balancer):
            adoption = becomes(_of_kind(changes, "lb.adopt"), "the next pass takes it over", "that")
            return f"asks for the name of load balancer {balancer.id}, which no Service that lives has; {adoption}"
    if wish.wanted is None:
        return wish.size.problem or "nothing is planned as things are"
    creation = becomes(_of_kind(changes, "lb.create"), "the next pass creates it", "its creation")
    return f"wants a load balancer and has none; {creation}"


def why_undecided(service: Service) -> str:
    """The reason why nothing at all is decided on the Service."""
    if service.load_balancer_class is not None:
        return f"spec.loadBalancerClass {service.load_balancer_class!r} makes it another controller's; left alone"
    if service.type != TYPE_LOAD_BALANCER:
        return f"is of type {service.type}, and asks for no load balancer; left alone"
    return "is being deleted, and nobody has claimed it here: there is nothing to let go of"


def _why_malformed(wish: DesiredLoadBalancer) -> str:
    more = len(wish.problems) - 1
    rest = f" (and {more} more)" if more else ""
    match wish.match:
        case Missing():
            done = "nothing is created until it is right"
        case Owned(balancer):
            done = f"nothing but the targets of load balancer {balancer.id} is looked after until it is right"
        case _:
            done = "nothing is taken over until it is right"
    return f"{wish.problems[0].text}{rest}; {done}"


def _why_leaving(wish: LoadBalancerRelease, changes: Collection[Change]) -> str:
    service, match = wish.service, wish.match
    going = "is being deleted" if service.deleted_at else f"is of type {service.type} now"
    if isinstance(match, Undecided):
        return f"{going}, and its load balancer cannot be told: {match.why}"
    if wish.delete_at is not None and wish.present is not None:
        letting = becomes(_of_kind(changes, "lb.retain"), "the next pass lets it go", "that")
        until = shown_time(wish.delete_at)
        return f"{going}; load balancer {wish.present.id} is let go first, and deleted after {until}; {letting}"
    if wish.retained is not None and wish.present is not None:
        letting = becomes(_of_kind(changes, "lb.retain"), "the next pass lets it go", "that")
        return f"{going}; load balancer {wish.present.id} stays, as {wish.why_retained}; {letting}"
    if wish.present is not None:
        deletion = becomes(_of_kind(changes, "lb.delete"), "the next pass deletes it", "its deletion")
        return f"{going}, and load balancer {wish.present.id} goes with it; {deletion}"
    release = becomes(_of_kind(changes, "service.release"), "the next pass releases it", "its release")
    return f"{going}, and has no load balancer; {release}"


def _of_kind(changes: Collection[Change], kind: str) -> tuple[Change, ...]:
    return tuple(change for change in changes if change.kind == kind)


@dataclass(frozen=True, slots=True)
class Wait:
    """One thing that is waited for."""

    subject: str
    """The rule of a guard; else the certificate, port, status or finalizer that it is about."""
    why: str
    due_in_s: float | None = None
    """Seconds until another look is worth it; None when no time is known."""


def explain_pending(
    wish: DesiredLoadBalancer | LoadBalancerRelease | None, changes: Collection[Change], words: Collection[Word]
) -> tuple[Wait, ...]:
    """Everything that the Service waits for, though nothing has failed. ``words`` are those of the guards on
    ``changes``."""
    return tuple(_waits(wish, changes, words))


def _waits(
    wish: DesiredLoadBalancer | LoadBalancerRelease | None, changes: Collection[Change], words: Collection[Word]
) -> Iterator[Wait]:
    for word in words:
        if word.verdict in (Verdict.WAITING, Verdict.HELD):
            approval = "somebody has to approve it: " if word.verdict is Verdict.HELD else ""
            yield Wait(word.rule, approval + word.why, word.due_in_s)
    match wish:
        case DesiredLoadBalancer():
            pending = wish.certificates.pending
            if pending is not None and all(word.why != pending for word in words):
                yield Wait("certificate", pending, wish.certificates.due_in_s)
            for port in ports_without_node_port(wish.service):
                yield Wait(f"port {port}", "the API server has still to choose its node port")
        case LoadBalancerRelease(service) if service.deleted_at is not None:
            others = [name for name in service.finalizers if name != FINALIZER_BALANCER]
            if others:
                yield Wait("finalizers", f"others have to let go of the Service as well: {', '.join(others)}")
    if any(change.after is KNOWN_AFTER_APPLY for change in changes):
        yield Wait("status", "the addresses are known once there is a load balancer")
