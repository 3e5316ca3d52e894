"""Guards on changes of load balancers; those on their targets are in ``targets`` and ``loss``.

| Guard | Withholds |
|---|---|
| ``foreign-owner`` | everything on a load balancer of another owner |
| ``adoption`` | an adoption that removes something, or of a load balancer that may be another owner's |
| ``ip-loss`` | the deletion of one that a Service wants, or whose Service has vanished; another published address |
| ``exposure`` | a new load balancer that would be public by default, while others are internal |
| ``address-in-use`` | the creation of a load balancer with a Primary IP that something else has |
| ``certificate-issuance`` | an https port without its certificate |
"""

from collections.abc import Iterator
from dataclasses import replace

from desired.annotations.options import OPTIONS
from desired.guards.guard import GuardInput, GuardResult
from desired.load_balancers.desired import DesiredLoadBalancer
from desired.load_balancers.lifecycle import LoadBalancerRelease
from desired.load_balancers.matching import Adoptable, Contested, Foreign, Missing, Owned, use_of
from desired.load_balancers.membership import Membership
from desired.load_balancers.ownership import is_served_here
from desired.load_balancers.primary_ips import holder_of
from desired.load_balancers.published import PRIVATE, kind_of
from desired.model.load_balancer import CloudBalancer, PrimaryIp, SelectorTarget
from desired.model.snapshot import Snapshot
from desired.plan.kinds import ChangeKind, Verb
from desired.rules import guards as rows
from desired.rules.rule import Plain, Reason
from desired.section import Absent, Unknown, Unmanaged

_ANNOTATION = OPTIONS["disable_public_network"].full_key


def foreign_owner(view: GuardInput) -> Iterator[GuardResult]:
    """Changes to a load balancer of another cluster, of another Service, or that several ask for, are refused."""
    for lb in view.desired.services.values():
        if isinstance(lb.match, Foreign | Contested):
            row, found = lb.match.reason.rule, lb.match.reason.facts
            if isinstance(lb.match, Foreign):
                row = replace(row, remedy="")  # the note has the way out, which is long
            yield GuardResult.of(row, [change.key for change in view.by_owner.get(lb.service.key, ())], found)


def adoption(view: GuardInput) -> Iterator[GuardResult]:
    """An adoption is held if it would take something away, or if the load balancer may be another owner's: all later
    changes redirect traffic.

    It counts no population: the owner is held. The hold covers the removals as well, so that an approval is void if
    there is one more. While some removals are unknown the adoption waits: afterwards no person would be asked.
    """
    for lb, changes in view.balancers(ChangeKind.LB_ADOPT):
        if not isinstance(lb.match, Adoptable):
            continue
        adopt = next(change for change in changes if change.kind == ChangeKind.LB_ADOPT)
        removals = [change for change in changes if adopt.key in change.depends_on and change.verb is Verb.REMOVE]
        keys = sorted([adopt.key, *(change.key for change in removals)])
        balancer, doubt = _named(lb.match.balancer), lb.match.doubt
        if removals:
            parts = ", ".join(" ".join(change.key.parts) for change in removals)
            found = {"balancer": f"{balancer}, {doubt}," if doubt else balancer, "parts": parts}
            yield GuardResult.of(rows.ADOPTION_REMOVES, keys, found, value=len(removals), limit=0)
        elif doubt:
            found = {"balancer": balancer, "doubt": doubt}
            yield GuardResult.of(rows.ADOPTION_IN_DOUBT, keys, found, value=doubt, limit="no trace of an owner")
        gap = _hidden_removals(lb, lb.match.balancer, view.snapshot)
        if gap is not None:
            yield GuardResult.of(rows.ADOPTION_UNCLEAR, (adopt.key,), {"balancer": balancer, "error": gap})


def ip_loss(view: GuardInput) -> Iterator[GuardResult]:
    """A load balancer stays, with its addresses, while its Service wants it. It stays as well if its Service has
    vanished without releasing it, or lacks the finalizer: it may be in use, and a person has to let it go. A published
    address stays while another load balancer without an owner has it and carries traffic: clients would lose it.
    """
    serving = view.snapshot.serving
    for lb, changes in view.balancers(ChangeKind.LB_CREATE, ChangeKind.SERVICE_STATUS):
        other = lb.match.publisher if isinstance(lb.match, Owned | Adoptable | Missing) else None
        if other is not None:
            creations = [change.key for change in changes if change.kind == ChangeKind.LB_CREATE]
            keys = creations or [change.key for change in changes if change.kind == ChangeKind.SERVICE_STATUS]
            command = f"hcloud load-balancer add-label --overwrite {other.id} {serving.label}={lb.service.uid}"
            found: dict[str, Plain] = {"service": lb.service.id, "balancer": _named(other), "use": use_of(other)}
            yield GuardResult.of(rows.PUBLISHED_ADDRESS_LOST, keys, found | {"command": command}, value=1, limit=0)
    deletions = [change for change in view.plan.changes if change.kind == ChangeKind.LB_DELETE]
    vanished = {orphan.balancer.key: orphan.balancer for orphan in view.desired.vanished}
    for change in deletions:
        service, balancer = view.snapshot.service(change.owner), vanished.get(change.owner)
        if service is not None and serving.wants(service):
            row, found = rows.WANTED_ADDRESSES_LOST, {"service": service.id}
        elif balancer is not None:
            row, found = rows.UNRELEASED_DELETED, {"balancer": _named(balancer), "uid": str(balancer.owner.uid)}
        else:
            continue
        yield GuardResult.of(row, (change.key,), found, value=1, limit=0)
    yield from _without_finalizer(view)


def _without_finalizer(view: GuardInput) -> Iterator[GuardResult]:
    """A label alone ends nothing: a Service that was served here has the finalizer of this process."""
    serving = view.snapshot.serving
    for lb in view.desired.services.values():
        if not (isinstance(lb, LoadBalancerRelease) and isinstance(lb.match, Owned)):
            continue
        changes = view.by_owner.get(lb.service.key, ())
        ends = [each.key for each in changes if each.kind in (ChangeKind.LB_DELETE, ChangeKind.LB_RETAIN)]
        if ends and serving.finalizer not in lb.service.finalizers:
            found: dict[str, Plain] = {"balancer": _named(lb.match.balancer), "service": lb.service.id}
            found |= {"finalizer": serving.finalizer, "label": serving.label}
            yield GuardResult.of(rows.ENDED_WITHOUT_FINALIZER, ends, found, value=1, limit=0)


def exposure(view: GuardInput) -> Iterator[GuardResult]:
    """A new load balancer is public by default only if most others that no annotation decides are public as well, and
    if its Service does not publish private addresses alone. An annotation of its own lets it pass."""
    wanting = [lb for lb in view.desired.services.values() if isinstance(lb, DesiredLoadBalancer)]
    undecided = {lb.service.id: lb for lb in wanting if not lb.requested.is_annotated("disable_public_network")}
    internal = {name: is_so for name, lb in undecided.items() if (is_so := _is_internal(lb)) is not None}
    for lb, changes in view.balancers(ChangeKind.LB_CREATE):
        creation = next(change for change in changes if change.kind is ChangeKind.LB_CREATE)
        if lb.service.id not in undecided or lb.wanted is None or lb.wanted.public_interface is False:
            continue
        others = [is_so for name, is_so in internal.items() if name != lb.service.id]
        found: dict[str, Plain] = {"service": lb.service.id, "annotation": _ANNOTATION}
        # Addresses are lost, and no other controller's.
        if _publishes_private_alone(lb) and creation.consequences:
            yield GuardResult.of(rows.NEW_BALANCER_EXPOSED, (creation.key,), found, value="public", limit="internal")
        elif 2 * sum(others) > len(others):
            found |= {"closed": sum(others), "counted": len(others)}
            yield GuardResult.of(rows.NEW_BALANCER_PUBLIC, (creation.key,), found, value="public", limit="internal")


def _is_internal(lb: DesiredLoadBalancer) -> bool | None:
    """Whether its load balancer has no public interface; if a list lacks it, whether it publishes private addresses
    alone. None for a Service that has had none."""
    if lb.present is not None:
        return lb.present.spec.public_interface is False
    return _publishes_private_alone(lb) if lb.service.is_claimed and lb.service.ingress else None


def _publishes_private_alone(lb: DesiredLoadBalancer) -> bool:
    return {*map(kind_of, lb.service.ingress)} == {PRIVATE}


def address_in_use(view: GuardInput) -> Iterator[GuardResult]:
    """Assigned Primary IPs are never reassigned: a creation waits for a load balancer of this cluster that is about to
    go, and is refused otherwise. Of several Services that ask for one the oldest gets it."""
    oldest: dict[int, str] = {}
    asking = (lb for lb, _ in view.balancers(ChangeKind.LB_CREATE))
    for lb in sorted(asking, key=lambda each: (each.service.created_at, each.service.uid)):
        keys = (lb.service.balancer_key,)
        for found in lb.primary_ips.by_field.values():
            if why := _why_not_free(found, view):
                yield GuardResult.of(why.rule, keys, why.facts)
            first = oldest.setdefault(found.id, lb.service.id)
            if first != lb.service.id:
                facts = {"address": found.shown, "service": first}
                yield GuardResult.of(rows.ADDRESS_OF_OLDER_SERVICE, keys, facts)


def _why_not_free(found: PrimaryIp, view: GuardInput) -> Reason | None:
    """The reason why a new load balancer cannot have the Primary IP: this cluster deletes or has released the load
    balancer that has it, or it is assigned to something that stays. None if it is free."""
    holder = holder_of(found, view.snapshot)
    if holder is None:
        if found.assignee_id is None:
            return None
        other = f"{found.assignee_type.replace('_', ' ') or 'resource'} {found.assignee_id}"
        return rows.ADDRESS_ASSIGNED.because(address=found.shown, assignee=other)
    facts = {"address": found.shown, "assignee": _named(holder)}
    if any(orphan.balancer == holder for orphan in view.desired.vanished):
        return rows.ADDRESS_OF_UNRELEASED.because(**facts)
    for release in view.desired.services.values():
        if isinstance(release, LoadBalancerRelease) and release.present == holder:
            return rows.ADDRESS_OF_RELEASING.because(**facts, service=release.service.id)
    if holder.owner.is_released and is_served_here(holder.owner, view.snapshot):
        return rows.ADDRESS_OF_KEPT.because(**facts, id=holder.id)
    return rows.ADDRESS_ASSIGNED.because(**facts)


def certificate_issuance(view: GuardInput) -> Iterator[GuardResult]:
    """An https port waits for its managed certificate; the rest of the load balancer does not."""
    for lb, changes in view.balancers(ChangeKind.LB_LISTENER):
        if any(change.kind == ChangeKind.CERTIFICATE_CREATE for change in changes):
            continue
        waits = [change.key for change in changes if change.kind == ChangeKind.LB_LISTENER and not change.is_known]
        for why in lb.certificates.pending:
            yield GuardResult.of(why.rule, waits, why.facts, due_in_s=lb.certificates.due_in_s)


def _named(balancer: CloudBalancer) -> str:
    """``load balancer 7 web``."""
    return f"load balancer {balancer.id} {balancer.spec.name}"


def _hidden_removals(lb: DesiredLoadBalancer, balancer: CloudBalancer, snapshot: Snapshot) -> str | None:
    """The reason why later readings may take targets away; None if they do not."""
    if lb.wanted is None or all(isinstance(target, SelectorTarget) for target in balancer.targets):
        return None
    if isinstance(lb.wanted.targets, Unmanaged):
        network = snapshot.network
        if isinstance(network, Absent):
            return "there is no network as HCLOUD_NETWORK names it"
        return network.why if isinstance(network, Unknown) else "none of its targets can be reached"
    gap = snapshot.robot.servers.why_incomplete if snapshot.robot else None
    members = lb.targets.members
    return gap or next((each.why for each in members if each.membership is Membership.UNCERTAIN), None)
