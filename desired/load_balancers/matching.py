"""Match of each Service with its load balancer.

``match_balancers`` decides for each Service that wants a load balancer, or has to release one:

| Result | Meaning |
|---|---|
| Owned | it has the Service's label, and nobody else's |
| Adoptable | the Service asks for its name or publishes its address, and it has no existing owner; or it comes back |
| Missing | a complete list has none for the Service |
| Foreign | it is somebody else's; cannot be approved |
| Contested | it has none, and several Services ask for one name |
| Undecided | too little is known, or several have the Service's label |
"""

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cache, partial
from types import MappingProxyType

from desired.load_balancers.ownership import (
    Ownership,
    asked_name,
    default_name,
    former_of,
    is_of_another_cluster,
    left_behind,
    may_come_back,
    owner_of,
    ownership,
)
from desired.load_balancers.published import ByAddress, by_address, carries_traffic, leads_to, publishers
from desired.load_balancers.wanted import needs_cleanup, wants_balancer
from desired.model.load_balancer import CloudBalancer, Owner
from desired.model.service import Service
from desired.model.snapshot import Snapshot
from desired.plan.notes import NoteKind
from desired.rules.load_balancers import (
    BALANCER_GOES_BACK,
    BALANCER_MAYBE_ANOTHERS,
    BALANCER_OF_CLUSTER,
    BALANCER_OF_SERVICE,
    BALANCER_UNKNOWN,
    BALANCER_WAITS_ELSEWHERE,
    NAME_CONTESTED,
    NAME_KEPT,
    SEVERAL_BALANCERS,
)
from desired.rules.rule import Reason, Rule
from desired.section import Section, Unknown
from desired.syntax.bounds import Several, several

_NONE: Mapping[str, CloudBalancer] = MappingProxyType({})
_NOBODY: Mapping[str, Service] = MappingProxyType({})


@dataclass(frozen=True, slots=True, kw_only=True)
class _BesidePublished:
    """A match beside which the Service may publish an address of another load balancer."""

    publisher: CloudBalancer | None = None
    """The load balancer of the project that has an address which the Service publishes and carries traffic, where that
    is not the one of the match, nor one that another owner's label names; None where there is none."""


@dataclass(frozen=True, slots=True)
class Owned(_BesidePublished):
    """It has the Service's label, and nobody else's."""

    balancer: CloudBalancer
    why_not_renamed: Reason | None = None
    """Why it does not get the name that the Service asks for; None when it has that, or nobody else asks for it."""


@dataclass(frozen=True, slots=True)
class Adoptable(_BesidePublished):
    """It has the name that the Service asks for, or an address that it publishes, and no existing owner."""

    balancer: CloudBalancer
    """Without the labels about targets that another owner wrote: the adoption removes them."""
    is_stranger: bool = False
    """Whether a Service that is gone owned it, and nothing says that it was one of this cluster."""
    is_nobodys: bool = False
    """Whether no Service is known to have owned it: no label names one, and its name is not the default one of the
    Service that asks for it, which nothing else would have."""
    is_anothers: bool = False
    """Whether it was released with a Service of another namespace, name or cluster, as its labels say."""
    is_awaited: bool = False
    """Whether that one gets it back if it returns."""
    returns: bool = False
    """Whether it was released when a Service of this namespace and name went, and is given back."""
    is_published: bool = False
    """Whether it was found by an address that the Service publishes: it has lost label and name."""
    leads_here: bool = False
    """Whether it was, and all that it does is to serve this Service (``published.leads_to``)."""

    @property
    def outlives_its_service(self) -> bool:
        """Whether the Service that adopts it did not create it: then it is released with the Service, not deleted."""
        return self.is_nobodys or self.is_stranger or owner_of(self.balancer.spec.labels).adopted is not None

    @property
    def is_in_use_by_nobody_known(self) -> bool:
        """Whether somebody has set it up for traffic, and nothing says that it was for this cluster, or its label says
        that it was for another Service."""
        if self.is_published:  # whoever may write the status of the Service may write any address there
            return not self.leads_here
        is_foreign = self.is_anothers or owner_of(self.balancer.spec.labels).cluster_uid is None
        return self.is_nobodys and is_foreign and is_in_use(self.balancer)


@dataclass(frozen=True, slots=True)
class Missing(_BesidePublished):
    """A complete list has none for the Service."""


@dataclass(frozen=True, slots=True)
class Foreign:
    """Somebody else's, which no approval makes the Service's."""

    balancer: CloudBalancer
    reason: Reason

    @property
    def why(self) -> str:
        """The reason without the way out, which is long."""
        return self.reason.says


@dataclass(frozen=True, slots=True)
class Contested:
    """The Service has no load balancer, and others ask for one of the same name: none of them gets one until that is
    settled. Who has its own keeps it, who asks for no more than its default name gets that, and who comes back within
    its undo window gets back what was released."""

    balancer: CloudBalancer | None
    """The one that has the name, and no existing owner; None when there is none."""
    reason: Reason

    @property
    def why(self) -> str:
        """The reason with the remedy."""
        return self.reason.text


@dataclass(frozen=True, slots=True)
class Undecided:
    """Too little is known, or several load balancers have the Service's label."""

    reason: Reason

    @property
    def why(self) -> str:
        """The reason with the remedy."""
        return self.reason.text

    @property
    def is_ambiguous(self) -> bool:
        """Whether all is known, and a person has to take labels off."""
        return self.reason.rule.of is NoteKind.AMBIGUOUS


BalancerMatch = Owned | Adoptable | Missing | Foreign | Contested | Undecided


def is_in_use(balancer: CloudBalancer) -> bool:
    """Whether it has a port or a target: then traffic may go through it."""
    return bool(balancer.spec.listeners or balancer.targets)


def taken_by(matches: Mapping[str, BalancerMatch]) -> frozenset[int]:
    """Ids of the load balancers that these Services are matched with, whoever they belong to."""
    claimed = (None if isinstance(match, Missing | Undecided) else match.balancer for match in matches.values())
    return frozenset(balancer.id for balancer in claimed if balancer is not None)


def unclaimed(snapshot: Snapshot, matches: Mapping[str, BalancerMatch]) -> tuple[CloudBalancer, ...]:
    """Load balancers with our cluster's label that are no Service's, by id. Empty while a Service may be unread: what
    seems unclaimed may be its.

    ``matches`` are all Services that want a load balancer or have to release one. What one of them may claim, by its
    label or by its name, is not among these, even if it is not known which of several it gets.
    """
    services = snapshot.services
    if services is None or not services.is_whole:
        return ()
    ours = [
        balancer
        for balancer in snapshot.load_balancers or ()
        if ownership(owner_of(balancer.spec.labels).cluster_uid, snapshot) is Ownership.OURS
    ]
    taken = taken_by(matches)
    left = [balancer for balancer in ours if balancer.id not in taken]
    names = {asked_name(service) for service in services if wants_balancer(service)} if left else set()
    uids = {service.uid for service in services}
    return tuple(
        balancer
        for balancer in left
        if balancer.spec.name not in names and owner_of(balancer.spec.labels).service_uid not in uids
    )


def match_balancers(snapshot: Snapshot) -> Mapping[str, BalancerMatch]:
    """Id of each Service that wants a load balancer, or has to release one → the match."""
    services = tuple(snapshot.services or ())
    services_by_id = {service.id: service for service in services}
    balancers = snapshot.load_balancers
    wanting = {service.id: service for service in services if wants_balancer(service)}
    names = {key: _name(service) for key, service in wanting.items()}
    asking = _asking(names)
    by_right = _asking({key: name for key, name in names.items() if name == default_name(wanting[key].uid)})
    by_uid, has = _by_service(balancers or ()), cache(partial(by_address, snapshot))
    alive = frozenset(service.uid for service in services)
    left = left_behind(snapshot)
    heirs = {former_of(service): service for service in wanting.values() if service.uid not in by_uid} if left else {}
    matches: dict[str, BalancerMatch] = {}
    for service in services:
        if service.id in wanting:
            name = names[service.id]
            found = _match(service, name, by_uid, snapshot, left, heirs)
            # Whoever names the default name of another Service does not take it from that one.
            pool = by_right if name == default_name(service.uid) else asking
            rivals = None if name is None else pool[name].besides(service.id)
            matches[service.id] = _contested(found, name, rivals) if name and rivals else found
        elif needs_cleanup(service, is_labelled=bool(_own(service, by_uid, snapshot))):
            matches[service.id] = _match(service, None, by_uid, snapshot)
    return {
        key: _with_published(services_by_id[key], match, has, alive, asking, snapshot)
        if isinstance(match, Owned | Adoptable | Missing)
        else match
        for key, match in matches.items()
    }


def _with_published(
    service: Service,
    match: Owned | Adoptable | Missing,
    has: Callable[[], ByAddress],
    alive: Collection[str],
    asking: Mapping[str, Several],
    snapshot: Snapshot,
) -> BalancerMatch:
    """The match with what the Service publishes: a load balancer without label and name is found by its address, and at
    the end of a Service also by its default name, which nothing looked for; and one that is published is told beside
    any other match.

    A label of an owner that exists comes before any status. Every other trace of another one, and a second load
    balancer with a published address, keep a load balancer from being found like this.
    """
    found = [
        balancer
        for balancer in publishers(service, has, None if isinstance(match, Missing) else match.balancer)
        if not _has_owner(balancer, alive, snapshot)
    ]
    if not wants_balancer(service):
        return _left_by(service, found, alive, asking, snapshot) if isinstance(match, Missing) else match
    if isinstance(match, Missing) and len(found) == 1 and is_in_use(found[0]) and _is_free(found[0], service, asking):
        gap = _why_services_unread(snapshot)
        if gap is not None:
            return _undecided(BALANCER_MAYBE_ANOTHERS, found[0], cause=gap)
        return Adoptable(
            found[0],
            is_nobodys=True,
            is_published=True,
            leads_here=leads_to(found[0], service, snapshot),
        )
    publisher = next(filter(carries_traffic, found), None)
    return match if publisher is None else replace(match, publisher=publisher)


def _left_by(
    service: Service,
    published: Iterable[CloudBalancer],
    alive: Collection[str],
    asking: Mapping[str, Several],
    snapshot: Snapshot,
) -> Adoptable | Missing:
    """The load balancer that nothing but its missing label keeps from going with a Service that releases it: by its
    default name, or because it leads to this Service alone; else the one that is ``published``, to be told."""
    mine = default_name(service.uid)
    named = [
        balancer
        for balancer in snapshot.load_balancers or ()
        if balancer.spec.name == mine and not _has_owner(balancer, alive, snapshot)
    ]
    found = [
        balancer
        for balancer in (*named, *published)
        if not _is_known(owner_of(balancer.spec.labels)) and _is_free(balancer, service, asking)
    ]
    for balancer in found if _why_services_unread(snapshot) is None else ():
        if balancer.spec.name == mine or leads_to(balancer, service, snapshot):
            return Adoptable(balancer, is_nobodys=True, is_published=balancer.spec.name != mine)
    return Missing(publisher=next(iter(found), None))


def _has_owner(balancer: CloudBalancer, alive: Collection[str], snapshot: Snapshot) -> bool:
    """Whether its labels name a Service or another cluster that exists."""
    owner = owner_of(balancer.spec.labels)
    return owner.service_uid in alive or is_of_another_cluster(owner, snapshot)


def _is_known(owner: Owner) -> bool:
    """Whether its labels say that it was released, or of which Service that is gone it was: it is told as an orphan."""
    return bool(owner.service_uid or owner.released or owner.former or owner.delete_after)


def _is_free(balancer: CloudBalancer, service: Service, asking: Mapping[str, Several]) -> bool:
    """Whether no label and no name says that it is another's than this Service's."""
    owner = owner_of(balancer.spec.labels)
    is_asked_for = balancer.spec.name in asking and bool(asking[balancer.spec.name].besides(service.id))
    return not is_asked_for and owner.service_uid is None and owner.former in (None, former_of(service))


def _why_services_unread(snapshot: Snapshot) -> str | None:
    services = snapshot.services
    return "the Services were not read" if services is None else _gap(services)


def _match(
    service: Service,
    name: str | None,
    by_uid: Mapping[str, list[CloudBalancer]],
    snapshot: Snapshot,
    left: Mapping[str, CloudBalancer] = _NONE,
    heirs: Mapping[str, Service] = _NOBODY,
) -> BalancerMatch:
    """``left`` are the load balancers that were released for a while, ``heirs`` the Services that would get them back.
    ``name`` is None where only the label counts: at deletion, or while the name cannot be read."""
    balancers = snapshot.load_balancers
    if balancers is None:
        return Undecided(BALANCER_UNKNOWN.because(cause="the load balancers were not read"))
    labeled = by_uid.get(service.uid, [])
    ours = _own(service, by_uid, snapshot)
    if len(ours) > 1 and isinstance(snapshot.cluster_uid, Unknown):
        return Undecided(BALANCER_UNKNOWN.because(cause=f"several have its label, and {snapshot.cluster_uid.why}"))
    if len(ours) > 1:
        ids = ", ".join(str(balancer.id) for balancer in ours)
        return Undecided(SEVERAL_BALANCERS.because(balancers=ids))
    if ours:
        return Owned(ours[0])
    gap = _gap(balancers)
    if gap is not None:
        return Undecided(BALANCER_UNKNOWN.because(cause=gap))
    if name is None:
        return Missing()
    if labeled:
        return _of_that_cluster(labeled[0])
    named = _by_name(service, name, balancers, snapshot, heirs)
    back = left.get(former_of(service)) if left else None
    # A Service that names another one wants that: the one that was released is deleted in its time.
    is_free = isinstance(named, Missing) or (isinstance(named, Adoptable) and named.balancer == back)
    return Adoptable(back, returns=True) if back is not None and is_free else named


def _own(service: Service, by_uid: Mapping[str, list[CloudBalancer]], snapshot: Snapshot) -> list[CloudBalancer]:
    """The load balancers with the Service's label and no other cluster's. While our own identity is unknown nothing is
    written anyway."""
    labeled = by_uid.get(service.uid, ())
    return [balancer for balancer in labeled if not is_of_another_cluster(owner_of(balancer.spec.labels), snapshot)]


def _by_name(
    service: Service,
    name: str,
    balancers: Section[int, CloudBalancer],
    snapshot: Snapshot,
    heirs: Mapping[str, Service],
) -> BalancerMatch:
    found = next((balancer for balancer in balancers if balancer.spec.name == name), None)
    if found is None:
        return Missing()
    owner = owner_of(found.spec.labels)
    if is_of_another_cluster(owner, snapshot):
        return _of_that_cluster(found)
    heir = heirs.get(owner.former or "") if may_come_back(owner, snapshot) else None
    if heir is not None and heir.id != service.id:
        return _foreign(BALANCER_GOES_BACK, found, service=heir.id)
    for other in snapshot.services or ():
        if other.uid == owner.service_uid:
            return _foreign(BALANCER_OF_SERVICE, found, service=other.id)
    gap = _why_services_unread(snapshot)
    if gap is not None:
        return _undecided(BALANCER_MAYBE_ANOTHERS, found, cause=gap)
    was_elsewhere = ownership(owner.cluster_uid, snapshot) is Ownership.OTHER_CLUSTER
    is_anothers = owner.service_uid is None and (was_elsewhere or owner.former not in (None, former_of(service)))
    return Adoptable(
        found,
        is_stranger=owner.service_uid is not None and owner.cluster_uid is None,
        is_nobodys=owner.service_uid is None and (was_elsewhere or name != default_name(service.uid)),
        is_anothers=is_anothers,
        is_awaited=is_anothers and may_come_back(owner, snapshot),
    )


def _asking(names: Mapping[str, str | None]) -> Mapping[str, Several]:
    """Name → the Services that ask for it: computed once for all of them, of which there may be thousands."""
    asking: dict[str, list[str]] = {}
    for key, name in names.items():
        if name is not None:
            asking.setdefault(name, []).append(key)
    return {name: several(keys) for name, keys in asking.items()}


def _contested(found: BalancerMatch, name: str, rivals: Several) -> BalancerMatch:
    """The match where ``rivals`` ask for the same name: nobody gets it anew, but who has had it gets it back."""
    asking = f"Service{'' if rivals.count == 1 else 's'} {rivals}"
    why = NAME_CONTESTED.because(name=name, services=asking)
    match found:
        case Owned(balancer) if balancer.spec.name != name:
            stays = NAME_KEPT.because(balancer=balancer.id, present=balancer.spec.name, name=name, services=asking)
            return Owned(balancer, stays)
        case Missing():
            return Contested(None, why)
        case Adoptable(balancer, returns=returns) if not (returns and balancer.spec.name == name):
            return Contested(balancer, why)
    return found


def _name(service: Service) -> str | None:
    """The name that the Service asks for; None when the annotation cannot be read."""
    return None if "name" in service.claim.read.bad else asked_name(service)


def _by_service(balancers: Iterable[CloudBalancer]) -> Mapping[str, list[CloudBalancer]]:
    found: dict[str, list[CloudBalancer]] = {}
    for balancer in balancers:
        uid = owner_of(balancer.spec.labels).service_uid
        if uid is not None:
            found.setdefault(uid, []).append(balancer)
    return found


def _of_that_cluster(balancer: CloudBalancer) -> Foreign:
    owner = owner_of(balancer.spec.labels)
    is_waiting = owner.service_uid is None and owner.delete_after is not None
    row = BALANCER_WAITS_ELSEWHERE if is_waiting else BALANCER_OF_CLUSTER
    return _foreign(row, balancer, cluster=owner.cluster_uid or "")


def _foreign(row: Rule, balancer: CloudBalancer, **facts: str) -> Foreign:
    return Foreign(balancer, row.because(balancer=balancer.id, name=balancer.spec.name, **facts))


def _undecided(row: Rule, balancer: CloudBalancer, **facts: str) -> Undecided:
    return Undecided(row.because(balancer=balancer.id, name=balancer.spec.name, **facts))


def _gap(section: Section[str, Service] | Section[int, CloudBalancer]) -> str | None:
    """The reason why something that was not found may be there all the same; None when it is not."""
    if not section.complete:
        return section.why_incomplete
    return min(section.unreadable.values(), default=None)
