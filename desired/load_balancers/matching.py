"""Match of each Service with its load balancer.

``match_balancers`` decides for each Service that wants a load balancer, or has to release one:

| Result | Meaning |
|---|---|
| Owned | it has the Service's label, and of several it is the published one |
| Adoptable | the Service asks for its name or publishes its address, or it was released with it; no owner exists |
| Missing | a complete list has none for the Service |
| Foreign | it is another owner's; cannot be approved |
| Contested | it has none, and several Services ask for one name |
| Undecided | too little is known, or several have the Service's label and none is published |
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal

from desired.load_balancers.ownership import (
    Ownership,
    asked_name,
    default_name,
    finalizers_of_others,
    former_of,
    is_of_another_class,
    is_of_another_cluster,
    leaves,
    ownership,
    released_here,
    shown_former,
)
from desired.load_balancers.published import ByAddress, by_address, carries_traffic, leads_to, publishers
from desired.model.load_balancer import CloudBalancer, Owner, SelectorTarget
from desired.model.service import Service
from desired.model.serving import class_of
from desired.model.snapshot import Snapshot
from desired.names import LABEL_CLASS
from desired.rules import load_balancers as rows
from desired.rules.rule import Reason, Rule
from desired.section import Section, Unknown
from desired.syntax.bounds import Several, counted, several


@dataclass(frozen=True, slots=True, kw_only=True)
class _BesidePublished:
    """A match beside which the Service may publish an address of another load balancer."""

    publisher: CloudBalancer | None = None
    """The load balancer of the project that has an address which the Service publishes and carries traffic, where that
    is not the one of the match, nor one that another owner's label names; None where there is none."""


@dataclass(frozen=True, slots=True)
class Owned(_BesidePublished):
    """It has the Service's label. Of several with it, it is the published one."""

    balancer: CloudBalancer
    """It may lack the label of its class."""
    others: tuple[CloudBalancer, ...] = ()
    """Those with the Service's label too, which are told, and never touched."""
    why_not_renamed: Reason | None = None
    """Why it does not get the name that the Service asks for; None when it has that, or no other asks for it."""


FoundBy = Literal["label", "name", "address"]
"""The trace that leads from a Service to a load balancer without its label: the label of the Service that it was
released with, the name that the Service asks for, or an address that it publishes."""


@dataclass(frozen=True, slots=True)
class Adoptable(_BesidePublished):
    """It has no existing owner, and something leads the Service to it."""

    balancer: CloudBalancer
    """Without the labels about targets that another owner wrote: the adoption removes them."""
    by: FoundBy = "name"
    is_made_for_it: bool = True
    """Whether it was made for the Service, so that it is deleted with it, not released."""
    doubt: str | None = None
    """The trace of another owner, for which a person decides; None without one."""


@dataclass(frozen=True, slots=True)
class Missing(_BesidePublished):
    """A complete list has none for the Service."""


@dataclass(frozen=True, slots=True)
class Foreign:
    """Another owner's, which no approval makes the Service's."""

    balancer: CloudBalancer
    reason: Reason

    @property
    def why(self) -> str:
        """The reason without the way out, which is long."""
        return self.reason.says


@dataclass(frozen=True, slots=True)
class Contested:
    """The Service has no load balancer, and others ask for one of the same name: none of them gets one until that is
    settled. A Service keeps its own one, its default name, and one of this name that was released with it."""

    balancer: CloudBalancer | None
    """The one that has the name, and no existing owner; None when there is none."""
    reason: Reason

    @property
    def why(self) -> str:
        """The reason with the remedy."""
        return self.reason.text


@dataclass(frozen=True, slots=True)
class Undecided:
    """Too little is known, or several load balancers have the Service's label and none is published."""

    reason: Reason

    @property
    def why(self) -> str:
        """The reason with the remedy."""
        return self.reason.text

    @property
    def is_ambiguous(self) -> bool:
        """Whether all is known, and a person has to take labels off."""
        return self.reason.rule is rows.SEVERAL_BALANCERS


BalancerMatch = Owned | Adoptable | Missing | Foreign | Contested | Undecided


def is_in_use(balancer: CloudBalancer) -> bool:
    """Whether traffic may go through it, or was meant to: it has a port or a target. A label selector alone, with which
    Terraform prepares a load balancer, carries nothing, and stays with whatever Service takes it up."""
    return bool(balancer.spec.listeners) or any(not isinstance(each, SelectorTarget) for each in balancer.targets)


def use_of(balancer: CloudBalancer) -> str:
    """``1 listener and 2 targets``."""
    counts = ((len(balancer.spec.listeners), "listener"), (len(balancer.targets), "target"))
    return " and ".join(counted(number, word) for number, word in counts if number)


def match_balancers(snapshot: Snapshot) -> Mapping[str, BalancerMatch]:
    """Id of each Service that wants a load balancer, or has to release one → the match."""
    if snapshot.services is None:
        return {}
    claims = _Claims(snapshot, snapshot.services)
    return {service.id: claims.match(service) for service in snapshot.services if claims.needs_match(service)}


@dataclass(frozen=True)
class _Claims:
    """What Services and load balancers say of each other, found out once for all of them: there may be thousands."""

    snapshot: Snapshot
    services: Section[str, Service]

    @cached_property
    def names(self) -> Mapping[str, str | None]:
        """Id of each Service that wants a load balancer → the name that it asks for; None when that cannot be read."""
        wanting = filter(self.snapshot.serving.wants, self.services)
        return {each.id: None if "name" in each.claim.read.bad else asked_name(each) for each in wanting}

    @cached_property
    def asking(self) -> Mapping[str, Several]:
        """Name → the Services that ask for it."""
        return _by_name(self.names.items())

    @cached_property
    def by_right(self) -> Mapping[str, Several]:
        """The same of those whose default name it is."""
        items = self.services.items
        return _by_name(each for each in self.names.items() if each[1] == default_name(items[each[0]].uid))

    @cached_property
    def by_uid(self) -> Mapping[str, list[CloudBalancer]]:
        """UID of a Service → the load balancers with its label, whichever cluster's is beside it."""
        found: dict[str, list[CloudBalancer]] = {}
        for balancer in self.snapshot.load_balancers or ():
            if (uid := balancer.owner.uid) is not None:
                found.setdefault(uid, []).append(balancer)
        return found

    @cached_property
    def released(self) -> Mapping[str, CloudBalancer]:
        """The load balancers that were released here (``released_here``)."""
        return released_here(self.snapshot)

    @cached_property
    def claimants(self) -> Mapping[str, Service]:
        """The label of each Service that such a one was released with → the Service, if it names no other one."""
        wanting = (self.services.items[key] for key in self.names) if self.released else ()
        return {
            former_of(each): each
            for each in wanting
            if each.uid not in self.by_uid and self._named_by(each) in (None, self.released.get(former_of(each)))
        }

    @cached_property
    def by_balancer_name(self) -> Mapping[str, CloudBalancer]:
        """Name → the load balancer that has it."""
        found: dict[str, CloudBalancer] = {}
        for balancer in self.snapshot.load_balancers or ():
            found.setdefault(balancer.spec.name, balancer)
        return found

    @cached_property
    def alive(self) -> frozenset[str]:
        return frozenset(service.uid for service in self.services)

    @cached_property
    def by_address(self) -> ByAddress:
        return by_address(self.snapshot)

    @cached_property
    def gap(self) -> str | None:
        """The reason why an owner or a rival may have been missed; None when all Services were read."""
        return _gap(self.services)

    def own(self, service: Service) -> list[CloudBalancer]:
        """The load balancers with the Service's label and no other cluster's. While our own identity is unknown nothing
        is written anyway. The class may be lost from one that a Service wants here."""
        serving = self.snapshot.serving
        return [
            balancer
            for balancer in self.by_uid.get(service.uid, ())
            if (serving.has(balancer.owner) or (serving.may_restore(balancer.owner) and self._is_of_no_other(service)))
            and not is_of_another_cluster(balancer.owner, self.snapshot)
        ]

    def _is_of_no_other(self, service: Service) -> bool:
        """Whether a Service gets its load balancer here, and no finalizer says that another class served it."""
        serving = self.snapshot.serving
        return serving.wants(service) and not finalizers_of_others(service, serving)

    def needs_match(self, service: Service) -> bool:
        """Whether the Service wants a load balancer, or has to release one."""
        serving = self.snapshot.serving
        return serving.wants(service) or leaves(service, serving, is_labelled=bool(self.own(service)))

    def match(self, service: Service) -> BalancerMatch:
        """The match of a Service that wants a load balancer, or has to release one: by its label, and only without one
        by anything else."""
        found: BalancerMatch = self._by_label(service)
        if not self.snapshot.serving.wants(service):
            return self._left_by(service) if isinstance(found, Missing) else found
        name = self.names[service.id]
        if name is None:
            return self._beside_published(service, found)
        if isinstance(found, Missing):
            found = self._by_name(service, name)
        # A Service that asks for the default name of another does not take it from that one.
        pool = self.by_right if name == default_name(service.uid) else self.asking
        rivals = pool[name].besides(service.id)
        return self._beside_published(service, _contested(found, name, rivals) if rivals else found)

    def _by_label(self, service: Service) -> Owned | Missing | Undecided:
        balancers, cluster = self.snapshot.load_balancers, self.snapshot.cluster_uid
        if balancers is None:
            return Undecided(rows.BALANCER_UNKNOWN.because(cause="the load balancers were not read"))
        own = self.own(service)
        if len(own) > 1 and isinstance(cluster, Unknown):
            return Undecided(rows.BALANCERS_UNCLEAR.because(cause=cluster.why))
        if own:
            chosen = serving_balancer(own, service, self.snapshot)
            if chosen is None:
                return Undecided(rows.SEVERAL_BALANCERS.because(balancers=", ".join(str(each.id) for each in own)))
            return Owned(chosen, others=tuple(each for each in own if each is not chosen))
        gap, lost = _gap(balancers), self._without_class(service)
        if lost is not None:
            label = self.snapshot.serving.class_label
            return Undecided(_of(rows.CLASS_LOST, lost, class_label=label or ""))
        return Missing() if gap is None else Undecided(rows.BALANCER_UNKNOWN.because(cause=gap))

    def _without_class(self, service: Service) -> CloudBalancer | None:
        """The load balancer with the label of a Service that leaves, and without that of a class; None without one."""
        serving = self.snapshot.serving
        if serving.wants(service) or serving.finalizer not in service.finalizers:
            return None
        labelled = (each for each in self.by_uid.get(service.uid, ()) if serving.may_restore(each.owner))
        return next((each for each in labelled if not is_of_another_cluster(each.owner, self.snapshot)), None)

    def _by_name(self, service: Service, name: str) -> BalancerMatch:
        """The match of a Service that no load balancer of a complete list has the label of: what was released with it,
        or what has the name that it asks for."""
        if service.uid in self.by_uid:
            return self._of_others(self.by_uid[service.uid][0])
        found = self._named_by(service)
        match = Missing() if found is None else self._named(service, name, found)
        back = self.released.get(former_of(service)) if self.released else None
        # A Service that names another one wants that.
        is_free = isinstance(match, Missing) or (isinstance(match, Adoptable) and match.balancer == back)
        return Adoptable(back, "label", is_made_for_it=False) if back is not None and is_free else match

    def _named_by(self, service: Service) -> CloudBalancer | None:
        """The load balancer that has the name which the Service asks for; None if there is none."""
        return self.by_balancer_name.get(self.names[service.id] or "")

    def _of_others(self, labelled: CloudBalancer) -> Foreign:
        """The Service's by its UID, in another cluster or another class: until it is released there, it stays so."""
        if is_of_another_cluster(labelled.owner, self.snapshot):
            return _of_that_cluster(labelled)
        return Foreign(labelled, _of(rows.BALANCER_OF_FORMER_CLASS, labelled, which=_which(labelled.owner)))

    def _named(self, service: Service, name: str, found: CloudBalancer) -> BalancerMatch:
        owner = found.owner
        if is_of_another_cluster(owner, self.snapshot):
            return _of_that_cluster(found)
        if is_of_another_class(owner, self.snapshot):
            return Foreign(found, why_of_another_class(found, self.snapshot))
        former = owner.former or ""
        claimant = self.claimants.get(former) if self.released.get(former) == found else None
        if claimant is not None and claimant.id != service.id:
            return Foreign(found, _of(rows.BALANCER_GOES_BACK, found, service=claimant.id))
        for other in self.services:
            if other.uid == owner.uid:
                return Foreign(found, _of(rows.BALANCER_OF_SERVICE, found, service=other.id))
        if self.gap is not None:
            return Undecided(_of(rows.BALANCER_MAYBE_ANOTHERS, found, cause=self.gap))
        was_elsewhere = ownership(owner.cluster_uid, self.snapshot) is Ownership.OTHER_CLUSTER
        is_strangers = owner.uid is not None and owner.cluster_uid is None
        is_unowned = owner.uid is None and (was_elsewhere or name != default_name(service.uid))
        is_anothers = was_elsewhere or owner.former not in (None, former_of(service))
        doubt = None
        if is_strangers:
            doubt = f"labeled with unknown Service UID {owner.uid}"
        elif is_unowned and (is_anothers or owner.cluster_uid is None):
            doubt = self._in_use(found)
        is_kept = is_strangers or is_unowned or owner.is_released or owner.adopted is not None
        return Adoptable(found, is_made_for_it=not is_kept, doubt=doubt)

    def _in_use(self, balancer: CloudBalancer) -> str | None:
        """The doubt about a load balancer in use that no label gives to a Service of this cluster; None if it carries
        nothing."""
        owner = balancer.owner
        was_elsewhere = ownership(owner.cluster_uid, self.snapshot) is Ownership.OTHER_CLUSTER
        where = f" of cluster {owner.cluster_uid}" if was_elsewhere else ""
        told = f"released with {shown_former(owner)}{where}" if owner.is_released else "without an owner label"
        return f"in use ({use_of(balancer)}), {told}" if is_in_use(balancer) else None

    def _published(self, service: Service, own: CloudBalancer | None) -> list[CloudBalancer]:
        """The other load balancers that have an address which the Service publishes. A label of an owner that exists
        comes before any status."""
        found = publishers(service, lambda: self.by_address, own)
        return [balancer for balancer in found if not self._has_owner(balancer)]

    def _beside_published(self, service: Service, match: BalancerMatch) -> BalancerMatch:
        """The match with what the Service publishes: a load balancer without label and name is found by its address,
        and one that is published is told beside any other match. Every other trace of another owner, and a second load
        balancer with a published address, keep a load balancer from being found like this."""
        if not isinstance(match, Owned | Adoptable | Missing):
            return match
        found = self._published(service, None if isinstance(match, Missing) else match.balancer)
        if isinstance(match, Missing) and len(found) == 1 and is_in_use(found[0]) and self._is_free(found[0], service):
            if self.gap is not None:
                return Undecided(_of(rows.BALANCER_MAYBE_ANOTHERS, found[0], cause=self.gap))
            # A client that may write the status of the Service may write any address there.
            is_certain = leads_to(found[0], service, self.snapshot)
            doubt = None if is_certain else self._in_use(found[0])
            return Adoptable(found[0], "address", is_made_for_it=False, doubt=doubt)
        publisher = next(filter(carries_traffic, found), None)
        return match if publisher is None else replace(match, publisher=publisher)

    def _left_by(self, service: Service) -> Adoptable | Missing:
        """The load balancer that nothing but its missing label keeps from going with a Service that releases it: by its
        default name, or because it leads to this Service alone; else one that is published, to be told. None of a
        Service that lives in another class."""
        if service.asks_for_balancer:
            return Missing()
        mine = default_name(service.uid)
        balancers = self.snapshot.load_balancers or ()
        named = [each for each in balancers if each.spec.name == mine and not self._has_owner(each)]
        found = [
            balancer
            for balancer in (*named, *self._published(service, None))
            if not _is_known(balancer) and self._is_free(balancer, service)
        ]
        for balancer in found if self.gap is None else ():
            if balancer.spec.name == mine or leads_to(balancer, service, self.snapshot):
                return Adoptable(balancer, "name" if balancer.spec.name == mine else "address", is_made_for_it=False)
        return Missing(publisher=next(iter(found), None))

    def _has_owner(self, balancer: CloudBalancer) -> bool:
        """Whether its labels name a Service, another cluster or another controller that exists."""
        owner = balancer.owner
        is_of_others = is_of_another_cluster(owner, self.snapshot) or is_of_another_class(owner, self.snapshot)
        return owner.uid in self.alive or is_of_others

    def _is_free(self, balancer: CloudBalancer, service: Service) -> bool:
        """Whether no label and no name says that it is another's than this Service's."""
        owner, asking = balancer.owner, self.asking.get(balancer.spec.name)
        is_asked_for = asking is not None and bool(asking.besides(service.id))
        return not is_asked_for and owner.uid is None and owner.former in (None, former_of(service))


def serving_balancer(labelled: Sequence[CloudBalancer], service: Service, snapshot: Snapshot) -> CloudBalancer | None:
    """The one of these load balancers, all with the Service's label, that is the Service's: the published one, else the
    only one that leads to its node ports. None if that is none or several."""
    if len(labelled) == 1:
        return labelled[0]
    published = [each for each in publishers(service, lambda: by_address(snapshot), None) if each in labelled]
    leading = [each for each in published or labelled if leads_to(each, service, snapshot)]
    found = published if len(published) == 1 else leading
    return found[0] if len(found) == 1 else None


def _by_name(names: Iterable[tuple[str, str | None]]) -> Mapping[str, Several]:
    asking: dict[str, list[str]] = {}
    for key, name in names:
        if name is not None:
            asking.setdefault(name, []).append(key)
    return {name: several(keys) for name, keys in asking.items()}


def _is_known(balancer: CloudBalancer) -> bool:
    """Whether its labels say that it was released, or of which Service that is gone it was: it is told as an orphan."""
    owner = balancer.owner
    return owner.released is not None or bool(owner.uid or owner.former)


def _contested(found: BalancerMatch, name: str, rivals: Several) -> BalancerMatch:
    """The match where ``rivals`` ask for the same name: none gets it anew, but who has had it gets it back."""
    asking = f"Service{'' if rivals.count == 1 else 's'} {rivals}"
    why = rows.NAME_CONTESTED.because(name=name, services=asking)
    match found:
        case Owned(balancer) if balancer.spec.name != name:
            stays = rows.NAME_KEPT.because(balancer=balancer.id, present=balancer.spec.name, name=name, services=asking)
            return replace(found, why_not_renamed=stays)
        case Missing():
            return Contested(None, why)
        case Adoptable(balancer, by) if not (by == "label" and balancer.spec.name == name):
            return Contested(balancer, why)
    return found


def _of_that_cluster(balancer: CloudBalancer) -> Foreign:
    return Foreign(balancer, _of(rows.BALANCER_OF_CLUSTER, balancer, cluster=balancer.owner.cluster_uid or ""))


def why_of_another_class(balancer: CloudBalancer, snapshot: Snapshot) -> Reason:
    """Why a load balancer of another class is not served here. Its Service can release it, unless that is gone."""
    owner, label = balancer.owner, snapshot.serving.class_label
    command = f"remove-label {balancer.id} {LABEL_CLASS}"
    if label is not None:
        command = f"add-label --overwrite {balancer.id} {LABEL_CLASS}={label}"
    row = rows.BALANCER_FOR_CLASS if owner.uid is None else rows.BALANCER_OF_CLASS
    return _of(row, balancer, which=_which(owner), command=command)


def _which(owner: Owner) -> str:
    """The Services that a load balancer with these labels is for."""
    if owner.balancer_class is not None:
        return f"of loadBalancerClass {class_of(owner.balancer_class)!r}"
    return "without a loadBalancerClass" if owner.own_class_uid is None else "of a loadBalancerClass without its label"


def _of(row: Rule, balancer: CloudBalancer, **facts: str) -> Reason:
    return row.because(balancer=balancer.id, name=balancer.spec.name, **facts)


def _gap(section: Section[str, Service] | Section[int, CloudBalancer]) -> str | None:
    """The reason why something that was not found may be there all the same; None when it is not."""
    if not section.complete:
        return section.why_incomplete
    return min(section.unreadable.values(), default=None)
