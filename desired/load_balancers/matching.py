"""Match of each Service with its load balancer: by label, else by name, else by published address."""

from collections.abc import Mapping, Sequence
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
from desired.load_balancers.published import (
    ByAddress,
    by_address,
    carries_traffic,
    leads_to,
    own_addresses,
    published_addresses,
    publishers,
)
from desired.model.load_balancer import CloudBalancer, Owner, SelectorTarget
from desired.model.service import Service
from desired.model.serving import class_of
from desired.model.snapshot import Snapshot
from desired.names import LABEL_CLASS
from desired.rules import load_balancers as rows
from desired.rules.rule import Reason, Rule
from desired.section import Section, Unknown, grouped
from desired.syntax.bounds import Several, counted, several


@dataclass(frozen=True, slots=True, kw_only=True)
class _BesidePublished:
    """A match beside which the Service may publish an address of another load balancer."""

    publisher: CloudBalancer | None = None
    """Another load balancer, without another owner's label, that carries traffic at an address which the Service
    publishes; None if there is none, or one of its own is published."""


@dataclass(frozen=True, slots=True)
class Owned(_BesidePublished):
    """It has the Service's label. Of several with it, it is the published one."""

    balancer: CloudBalancer
    """It may lack the label of its class."""
    others: tuple[CloudBalancer, ...] = ()
    """Those with the Service's label too, which are told, and never touched."""
    why_not_renamed: Reason | None = None
    """Why it does not get the name that the Service asks for; None if it has that, or no other asks for it."""


FoundBy = Literal["label", "name", "address"]
"""The trace of a load balancer without the Service's label: the label of the Service that it was released with, the
name that the Service asks for, or an address that it publishes."""


@dataclass(frozen=True, slots=True)
class Adoptable(_BesidePublished):
    """It has no existing owner, and something leads the Service to it."""

    balancer: CloudBalancer
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
        """The reason without the remedy, which is long."""
        return self.reason.says


@dataclass(frozen=True, slots=True)
class Contested:
    """Several Services ask for one name: none gets it until that is settled, but for its own one, its default name, and
    one of this name that was released with it."""

    balancer: CloudBalancer | None
    """The one that has the name, and no existing owner; None if there is none."""
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
    """Claims of Services and load balancers on each other, indexed once: there may be thousands."""

    snapshot: Snapshot
    services: Section[str, Service]

    @cached_property
    def balancers(self) -> Section[int, CloudBalancer]:
        read = self.snapshot.load_balancers
        return Section.missing("the load balancers were not read") if read is None else read

    @cached_property
    def by_uid(self) -> Mapping[str, list[CloudBalancer]]:
        """UID of a Service → the load balancers with its label, whichever cluster's is beside it."""
        found: dict[str, list[CloudBalancer]] = {}
        for balancer in self.balancers:
            if (uid := balancer.owner.uid) is not None:
                found.setdefault(uid, []).append(balancer)
        return found

    @cached_property
    def by_name(self) -> Mapping[str, CloudBalancer]:
        return {balancer.spec.name: balancer for balancer in reversed([*self.balancers])}

    @cached_property
    def by_address(self) -> ByAddress:
        return by_address(self.snapshot)

    @cached_property
    def released(self) -> Mapping[str | None, CloudBalancer]:
        return released_here(self.snapshot)

    @cached_property
    def names(self) -> Mapping[str, str | None]:
        """Id of each Service that wants a load balancer → the name that it asks for; None if that cannot be read."""
        wanting = filter(self.snapshot.serving.wants, self.services)
        return {each.id: None if "name" in each.claim.read.bad else asked_name(each) for each in wanting}

    @cached_property
    def asking(self) -> Mapping[str, Several]:
        """Name → ids of the Services that ask for it."""
        found = grouped((name, service) for service, name in self.names.items() if name is not None)
        return {name: several(services) for name, services in found.items()}

    @cached_property
    def alive(self) -> Mapping[str | None, Service]:
        return {service.uid: service for service in self.services}

    @cached_property
    def gap(self) -> str | None:
        """The reason why an owner or a rival may have been missed; None if all Services were read."""
        return _gap(self.services)

    def needs_match(self, service: Service) -> bool:
        """Whether the Service wants a load balancer, or has to release one."""
        serving = self.snapshot.serving
        return serving.wants(service) or leaves(service, serving, is_labelled=bool(self._own(service)))

    def match(self, service: Service) -> BalancerMatch:
        """By its label; without one by its name, or by the addresses that it publishes."""
        found: BalancerMatch = self._by_label(service)
        if not self.snapshot.serving.wants(service):
            return self._left_by(service) if isinstance(found, Missing) else found
        name = self.names[service.id]
        if name is not None:
            found = self._by_name(service, name) if isinstance(found, Missing) else found
            found = self._among_rivals(service, name, found)
        return self._beside_published(service, found)

    def _labelled(self, service: Service) -> list[CloudBalancer]:
        """The load balancers with the Service's label and no other cluster's."""
        labelled = self.by_uid.get(service.uid, ())
        return [each for each in labelled if not is_of_another_cluster(each.owner, self.snapshot)]

    def _own(self, service: Service) -> list[CloudBalancer]:
        """Those of them that this process serves. One that a Service wants here may have lost its class, unless a
        finalizer says that another class served it."""
        serving = self.snapshot.serving
        may_restore = serving.wants(service) and not finalizers_of_others(service, serving)
        return [
            balancer
            for balancer in self._labelled(service)
            if serving.has(balancer.owner) or (may_restore and serving.may_restore(balancer.owner))
        ]

    def _by_label(self, service: Service) -> Owned | Missing | Undecided:
        own, serving, cluster = self._own(service), self.snapshot.serving, self.snapshot.cluster_uid
        if len(own) > 1 and isinstance(cluster, Unknown):
            return Undecided(rows.BALANCERS_UNCLEAR.because(cause=cluster.why))
        if own:
            chosen = self._serving(service, own)
            if chosen is None:
                return Undecided(rows.SEVERAL_BALANCERS.because(balancers=", ".join(str(each.id) for each in own)))
            return Owned(chosen, others=tuple(each for each in own if each is not chosen))
        if serving.finalizer in service.finalizers and not serving.wants(service):
            for balancer in self._labelled(service):
                if serving.may_restore(balancer.owner):
                    return Undecided(_of(rows.CLASS_LOST, balancer, class_label=serving.class_label or ""))
        gap = _gap(self.balancers)
        return Missing() if gap is None else Undecided(rows.BALANCER_UNKNOWN.because(cause=gap))

    def _serving(self, service: Service, own: Sequence[CloudBalancer]) -> CloudBalancer | None:
        """The published one of several with the Service's label, else the only one that leads to its node ports. None
        if that is none or several."""
        if len(own) == 1:
            return own[0]
        published = [each for each in publishers(service, self.by_address) if each in own]
        leading = [each for each in published or own if leads_to(each, service, self.snapshot)]
        found = published if len(published) == 1 else leading
        return found[0] if len(found) == 1 else None

    def _by_name(self, service: Service, name: str) -> BalancerMatch:
        """The match of a Service without a labelled load balancer in a complete list: the one that was released with
        it, or the one with the name that it asks for."""
        if labelled := self.by_uid.get(service.uid):
            # The Service's by its UID, in another cluster or class: until it is released there, it stays so.
            theirs = labelled[0]
            if is_of_another_cluster(theirs.owner, self.snapshot):
                return _of_that_cluster(theirs)
            return _foreign(rows.BALANCER_OF_FORMER_CLASS, theirs, which=_which(theirs.owner))
        found = self.by_name.get(name)
        match = Missing() if found is None else self._named(service, name, found)
        back = self.released.get(former_of(service)) if self.released else None
        # A Service that names another one wants that.
        is_free = isinstance(match, Missing) or (isinstance(match, Adoptable) and match.balancer == back)
        return Adoptable(back, "label", is_made_for_it=False) if back is not None and is_free else match

    def _named(self, service: Service, name: str, found: CloudBalancer) -> BalancerMatch:
        owner = found.owner
        if other := self._of_other_owner(found):
            return other
        if claimant := self._claimant(found, besides=service):
            return _foreign(rows.BALANCER_GOES_BACK, found, service=claimant.id)
        if self.gap is not None:
            return Undecided(_of(rows.BALANCER_MAYBE_ANOTHERS, found, cause=self.gap))
        was_elsewhere = ownership(owner.cluster_uid, self.snapshot) is Ownership.OTHER_CLUSTER
        is_made_for_it, doubt = not owner.is_released and owner.adopted is None, None
        if owner.uid is not None and owner.cluster_uid is None:
            is_made_for_it, doubt = False, f"labeled with unknown Service UID {owner.uid}"
        elif owner.uid is None and (was_elsewhere or name != default_name(service.uid)):
            was_its = owner.former in (None, former_of(service)) and owner.cluster_uid is not None and not was_elsewhere
            is_made_for_it, doubt = False, None if was_its else self._in_use(found)
        return Adoptable(found, is_made_for_it=is_made_for_it, doubt=doubt)

    def _of_other_owner(self, balancer: CloudBalancer) -> Foreign | None:
        """The match with a load balancer of another cluster, another class or a living Service; None for any other."""
        owner, label = balancer.owner, self.snapshot.serving.class_label
        if is_of_another_cluster(owner, self.snapshot):
            return _of_that_cluster(balancer)
        if is_of_another_class(owner, self.snapshot):
            row = rows.BALANCER_FOR_CLASS if owner.uid is None else rows.BALANCER_OF_CLASS
            command = f"remove-label {balancer.id} {LABEL_CLASS}"
            if label is not None:
                command = f"add-label --overwrite {balancer.id} {LABEL_CLASS}={label}"
            return _foreign(row, balancer, which=_which(owner), command=command)
        service = self.alive.get(owner.uid)
        return None if service is None else _foreign(rows.BALANCER_OF_SERVICE, balancer, service=service.id)

    def _claimant(self, balancer: CloudBalancer, besides: Service) -> Service | None:
        """The other Service that it was released with, and that adopts it; None if that has one, or names another."""
        former = balancer.owner.former
        if self.released.get(former) != balancer:
            return None
        for key, name in self.names.items():
            service = self.services.items[key]
            if former_of(service) == former and service.uid not in self.by_uid and service.id != besides.id:
                return service if self.by_name.get(name or "") in (None, balancer) else None
        return None

    def _in_use(self, balancer: CloudBalancer) -> str | None:
        """The doubt about a load balancer in use that no label gives to a Service of this cluster; None if it carries
        nothing."""
        owner = balancer.owner
        was_elsewhere = ownership(owner.cluster_uid, self.snapshot) is Ownership.OTHER_CLUSTER
        where = f" of cluster {owner.cluster_uid}" if was_elsewhere else ""
        told = f"released with {shown_former(owner)}{where}" if owner.is_released else "without an owner label"
        return f"in use ({use_of(balancer)}), {told}" if is_in_use(balancer) else None

    def _among_rivals(self, service: Service, name: str, found: BalancerMatch) -> BalancerMatch:
        """The match if others ask for the same name: none gets it anew, but who has had it gets it back."""
        rivals = self.asking[name].besides(service.id)
        if rivals and name == default_name(service.uid):
            # A Service that asks for the default name of another does not take it from that one.
            items = self.services.items
            by_right = several([key for key in rivals.names if default_name(items[key].uid) == name])
            rivals = by_right.besides(service.id)
        if not rivals:
            return found
        asking = f"Service{'' if rivals.count == 1 else 's'} {rivals}"
        why = rows.NAME_CONTESTED.because(name=name, services=asking)
        match found:
            case Owned(balancer) if balancer.spec.name != name:
                present = balancer.spec.name
                stays = rows.NAME_KEPT.because(balancer=balancer.id, present=present, name=name, services=asking)
                return replace(found, why_not_renamed=stays)
            case Missing():
                return Contested(None, why)
            case Adoptable(balancer, by) if not (by == "label" and balancer.spec.name == name):
                return Contested(balancer, why)
        return found

    def _beside_published(self, service: Service, match: BalancerMatch) -> BalancerMatch:
        """The match with the addresses that the Service publishes. They lead to a load balancer without label and name,
        unless it has another trace of an owner, or a second one is published. Beside any other match one is told."""
        if not isinstance(match, Owned | Adoptable | Missing):
            return match
        found = self._published(service, None if isinstance(match, Missing) else match.balancer)
        if isinstance(match, Missing) and len(found) == 1 and is_in_use(found[0]) and self._is_free(found[0], service):
            if self.gap is not None:
                return Undecided(_of(rows.BALANCER_MAYBE_ANOTHERS, found[0], cause=self.gap))
            # A client that may write the status of the Service may write any address there.
            doubt = None if leads_to(found[0], service, self.snapshot) else self._in_use(found[0])
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
        named = [each for each in self.balancers if each.spec.name == mine and not self._of_other_owner(each)]
        # Released ones, and those with another former Service, are told as orphans.
        found = [
            balancer
            for balancer in (*named, *self._published(service, None))
            if balancer.owner.released is None and self._is_free(balancer, service)
        ]
        for balancer in found if self.gap is None else ():
            if balancer.spec.name == mine or leads_to(balancer, service, self.snapshot):
                return Adoptable(balancer, "name" if balancer.spec.name == mine else "address", is_made_for_it=False)
        return Missing(publisher=next(iter(found), None))

    def _published(self, service: Service, own: CloudBalancer | None) -> list[CloudBalancer]:
        """The load balancers with an address that the Service publishes; none if it publishes one of its ``own``. A
        label of an owner that exists comes before any status."""
        published = published_addresses(service)
        if not published or (own is not None and not published.isdisjoint(own_addresses(own))):
            return []
        return [each for each in publishers(service, self.by_address) if not self._of_other_owner(each)]

    def _is_free(self, balancer: CloudBalancer, service: Service) -> bool:
        """Whether no label and no name says that it is another's than this Service's."""
        owner, asking = balancer.owner, self.asking.get(balancer.spec.name)
        is_asked_for = asking is not None and bool(asking.besides(service.id))
        return not is_asked_for and owner.uid is None and owner.former in (None, former_of(service))


def _which(owner: Owner) -> str:
    """The Services that a load balancer with these labels is for."""
    if owner.balancer_class is not None:
        return f"of loadBalancerClass {class_of(owner.balancer_class)!r}"
    return "without a loadBalancerClass" if owner.own_class_uid is None else "of a loadBalancerClass without its label"


def _of_that_cluster(balancer: CloudBalancer) -> Foreign:
    return _foreign(rows.BALANCER_OF_CLUSTER, balancer, cluster=balancer.owner.cluster_uid or "")


def _foreign(row: Rule, balancer: CloudBalancer, **facts: str) -> Foreign:
    return Foreign(balancer, _of(row, balancer, **facts))


def _of(row: Rule, balancer: CloudBalancer, **facts: str) -> Reason:
    return row.because(balancer=balancer.id, name=balancer.spec.name, **facts)


def _gap(section: Section[str, Service] | Section[int, CloudBalancer]) -> str | None:
    """The reason why something that was not found may be there all the same; None if it is not."""
    return min(section.unreadable.values(), default=None) if section.complete else section.why_incomplete
