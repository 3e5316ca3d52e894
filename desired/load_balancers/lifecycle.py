"""End of a Service: first its load balancer is deleted or released, then finalizer, status and conditions go.

A Service that goes deletes the load balancer that was made for it, and releases any other one. Labels of a released one
say when and with which Service that was; a Service of that namespace and name adopts it. Nothing deletes it by time.
"""

from dataclasses import dataclass, replace

from desired.annotations.choices import DeletionPolicy
from desired.annotations.options import OPTIONS
from desired.annotations.reading import Requested
from desired.load_balancers.matching import Adoptable, BalancerMatch, Missing, Owned, Undecided
from desired.load_balancers.orphans import Orphan
from desired.load_balancers.ownership import former_by_name, former_of, has_our_conditions, released_here, stamped
from desired.load_balancers.prices import price_of
from desired.load_balancers.primary_ips import addresses_at_deletion
from desired.load_balancers.published import publishes_only
from desired.model.key import Key
from desired.model.load_balancer import CloudBalancer
from desired.model.service import TYPE_LOAD_BALANCER, Service
from desired.model.settings import Settings
from desired.model.snapshot import Snapshot
from desired.plan.change import Change, Claimed
from desired.plan.kinds import ChangeKind, Verb
from desired.plan.notes import Note, NoteKind
from desired.rules import load_balancer_changes as of_changes
from desired.rules import load_balancers as rows
from desired.rules.rule import Reason
from desired.section import Present
from desired.syntax.bounds import shown_text


@dataclass(frozen=True, slots=True)
class LoadBalancerRelease:
    """A Service that releases its load balancer."""

    service: Service
    match: BalancerMatch
    requested: Requested
    why_retained: Reason | None = None
    """Why the load balancer outlives the Service; None if it does not, or does not exist."""
    notes: tuple[Note, ...] = ()

    @property
    def present(self) -> CloudBalancer | None:
        """The load balancer that is released; None if there is none, or it is not known."""
        return self.match.balancer if isinstance(self.match, Owned | Adoptable) else None


def release(service: Service, match: BalancerMatch, settings: Settings) -> LoadBalancerRelease:
    """Decide whether the load balancer of a Service goes with it. One without its label is never deleted: it is
    released, or only told if nothing but a published address leads to it."""
    requested = service.claim.requested(settings.balancer_defaults)
    why, notes = None, tuple[Note, ...]()
    match match:
        case Owned() | Adoptable():
            why = _why_retained(service, match, requested)
        case Missing(publisher=CloudBalancer() as found):
            notes = (rows.PUBLISHED_STAYS.note(service.key, balancer=_paid(found), id=found.id),)
        case Undecided(reason):
            notes = (reason.note(service.key),)
    return LoadBalancerRelease(service, match, requested, why, notes)


def _why_retained(service: Service, match: Owned | Adoptable, requested: Requested) -> Reason | None:
    """The reason why the load balancer outlives its Service; None if it does not. A policy that cannot be understood
    releases it: a load balancer that was kept by mistake can be deleted later, not the other way round."""
    balancer = match.balancer
    if isinstance(match, Adoptable):
        return rows.LOST_ITS_LABEL.because(balancer=_paid(balancer))
    if balancer.is_protected:
        return rows.RETAINED_PROTECTED.because()
    if "deletion_policy" in requested.bad:
        value = service.claim.annotations[OPTIONS["deletion_policy"].full_key]
        return rows.RETAINED_UNREADABLE.because(value=shown_text(value))
    if requested.options.deletion_policy is DeletionPolicy.RETAIN:
        is_default = requested.is_by_default("deletion_policy")
        return (rows.RETAINED_BY_DEFAULT if is_default else rows.RETAINED_AS_ASKED).because()
    is_kept = balancer.owner.adopted is not None and not requested.is_annotated("deletion_policy")
    return rows.RETAINED_ADOPTED.because() if is_kept else None


def _paid(balancer: CloudBalancer) -> str:
    """``load balancer 7 web (lb11, 5.39 a month)``, in the project's currency."""
    price = price_of(balancer)
    cost = "" if price is None else f", {price:.2f} a month"
    return f"load balancer {balancer.id} {balancer.spec.name} ({balancer.type.name}{cost})"


def may_be_released(requested: Requested) -> bool:
    """Whether the deletion policy may have left a load balancer of a former Service with these annotations."""
    return "deletion_policy" in requested.bad or requested.options.deletion_policy is DeletionPolicy.RETAIN


def awaiting(namespace: str, service: str, snapshot: Snapshot) -> Reason | None:
    """The load balancer that a new Service of this namespace and name adopts; None without one."""
    balancer = released_here(snapshot).get(former_by_name(namespace, service))
    if balancer is None:
        return None
    return rows.AWAITS_ITS_SERVICE.because(balancer=balancer.id, name=balancer.spec.name)


def release_changes(lb: LoadBalancerRelease, snapshot: Snapshot) -> tuple[Change, ...]:
    """The changes after which a Service may go. None while its load balancer is in doubt."""
    service, present, serving = lb.service, lb.present, snapshot.serving
    if present is None and not isinstance(lb.match, Missing):
        return ()
    going = (of_changes.SERVICE_DELETED if service.deleted_at else of_changes.SERVICE_WANTS_NONE).text()
    why, first = of_changes.CLAIM_ENDED.text(going=going), list[Change]()
    if present is not None:
        done = "released" if lb.why_retained else "deleted"
        why = of_changes.CLAIM_ENDED_WITH_BALANCER.text(done=done)
        if lb.why_retained:
            first.append(_retention(lb, present, lb.why_retained, going, snapshot))
        else:
            first.append(_deletion(present, service.balancer_key, service.key, going, snapshot))
    # A Service of another class by now is published by its controller: only entries of the load balancer that goes end.
    is_anothers = service.type == TYPE_LOAD_BALANCER and not serving.serves(service)
    ends = not is_anothers or (present is not None and publishes_only(service, present))
    finalizer = serving.finalizer if serving.finalizer in service.finalizers else None
    claimed = Claimed(finalizer, service.ingress if ends else ())
    if not (finalizer or claimed.ingress or has_our_conditions(service)):
        return tuple(first)
    end = Change(
        key=service.key.part("release"),
        kind=ChangeKind.SERVICE_RELEASE,
        verb=Verb.REMOVE,
        before=claimed,
        after=None,
        reason=why,
        owner=service.key,
        consequences=tuple(note.text for note in lb.notes if note.kind is NoteKind.ORPHAN),
        depends_on=tuple(change.key for change in first),
    )
    return (*first, end)


def _retention(lb: LoadBalancerRelease, present: CloudBalancer, why: Reason, going: str, snapshot: Snapshot) -> Change:
    """The release of the load balancer: the Service's label goes, those of cluster and class stay or come."""
    balancer, uid = present.id, snapshot.cluster_uid
    after = replace(
        present.owner,
        service_uid=None,
        own_class_uid=None,
        cluster_uid=uid.value if isinstance(uid, Present) else present.owner.cluster_uid,
        former=former_of(lb.service),
        released=stamped(snapshot.taken_at),
        adopted=None,
        balancer_class=snapshot.serving.class_label,
    )
    row = of_changes.RETAINED if isinstance(lb.match, Owned) else of_changes.RETAINED_UNLABELLED
    return Change(
        key=lb.service.balancer_key.part("retain"),
        kind=ChangeKind.LB_RETAIN,
        verb=Verb.MODIFY,
        before=present.owner,
        after=after,
        reason=row.text(going=going, cause=why.says, balancer=balancer),
        owner=lb.service.key,
        cloud_id=balancer,
        consequences=(of_changes.STAYS_PAID.text(balancer=balancer, name=present.spec.name),),
    )


def orphan_deletion(orphan: Orphan, snapshot: Snapshot) -> Change:
    """The deletion of an orphan: its Service has vanished, or a person asks for it."""
    balancer = orphan.balancer
    return _deletion(balancer, balancer.key, balancer.key, orphan.reason.text, snapshot)


def _deletion(present: CloudBalancer, key: Key, owner: Key, why: str, snapshot: Snapshot) -> Change:
    return Change(
        key=key,
        kind=ChangeKind.LB_DELETE,
        verb=Verb.REMOVE,
        before=present.spec,
        after=None,
        reason=why,
        owner=owner,
        cloud_id=present.id,
        consequences=addresses_at_deletion(present, snapshot),
    )
