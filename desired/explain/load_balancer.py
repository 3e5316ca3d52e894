"""Explanation of a Service's load balancer: by what it was found, its owner labels, and the published addresses and
conditions of the Service."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from ipaddress import IPv4Address, IPv6Address
from typing import Literal

from desired.annotations.options import OPTIONS
from desired.explain.fact import NOT_OURS, Fact, if_withheld
from desired.load_balancers.desired import DesiredLoadBalancer
from desired.load_balancers.matching import Adoptable, Contested, Foreign, Owned, Undecided
from desired.load_balancers.ownership import Ownership, ownership
from desired.load_balancers.release import LoadBalancerRelease
from desired.model.load_balancer import KNOWN_AFTER_APPLY, NO_LIMIT, CloudBalancer
from desired.model.service import Ingress, Service, ServiceCondition
from desired.model.snapshot import Snapshot
from desired.names import (
    CONDITION_IN_SYNC,
    CONDITION_READY,
    LABEL_ADOPTED,
    LABEL_CLUSTER_UID,
    LABEL_DELETE_AFTER,
    LABEL_FORMER,
    LABEL_RELEASED,
    LABEL_SERVICE_UID,
)
from desired.plan.change import Change, Verdict
from desired.plan.foresight import balancer_after_all, service_after
from desired.plan.kinds import ChangeKind
from desired.plan.ordering import in_order
from desired.rules.rule import Basis
from desired.section import Unmanaged


@dataclass(frozen=True, slots=True)
class PrivateAddress:
    """The address of a load balancer in a private network."""

    network: int
    """Id."""
    ip: IPv4Address


@dataclass(frozen=True, slots=True)
class BalancerFact:
    """One load balancer."""

    id: int
    name: str
    type: str
    location: str | None
    network_zone: str | None
    ipv4: IPv4Address | None
    ipv6: IPv6Address | None
    public: bool
    """Whether its public interface is on."""
    private: tuple[PrivateAddress, ...]
    protected: bool
    """Against deletion."""
    ports: int
    max_ports: int | None
    """How many its type takes; None when that is not known."""
    targets: int
    max_targets: int | None
    """How many its type takes; None when that is not known."""

    @classmethod
    def of(cls, balancer: CloudBalancer | None) -> "BalancerFact | None":
        """The facts of a load balancer that there is."""
        if balancer is None:
            return None
        spec, kind = balancer.spec, balancer.type
        return cls(
            id=balancer.id,
            name=spec.name,
            type=kind.name,
            location=spec.location,
            network_zone=spec.zone,
            ipv4=balancer.ipv4,
            ipv6=balancer.ipv6,
            public=spec.public_interface is True,
            private=tuple(
                PrivateAddress(place.network_id, place.ip)
                for place in balancer.attachments
                if not isinstance(place.ip, Unmanaged)
            ),
            protected=balancer.is_protected,
            ports=len(spec.listeners),
            max_ports=None if kind.max_services == NO_LIMIT else kind.max_services,
            targets=len(balancer.targets),
            max_targets=None if kind.max_targets == NO_LIMIT else kind.max_targets,
        )


@dataclass(frozen=True, slots=True)
class FoundBalancer:
    """The load balancer of a Service."""

    asked_name: str | None
    """The name by which it is looked up when no label identifies it; None when the name cannot be read, or only the
    label counts."""
    by: Literal["label", "name", "address"] | None = None
    """What it was found by; None when none was found."""
    found: BalancerFact | None = None
    """The Service's own, or the one that it is about to adopt."""
    other: BalancerFact | None = None
    """One that would be the Service's by its label or name, and is not."""
    why: str | None = None
    """Why none was found; None when one was."""
    owner: tuple[Fact, ...] = ()
    """The labels that name the owner of either load balancer."""


def explain_balancer(
    service: Service, lb: DesiredLoadBalancer | LoadBalancerRelease, changes: Sequence[Change], snapshot: Snapshot
) -> FoundBalancer:
    """The Service's load balancer, of which ``changes`` are planned."""
    asked, match = lb.name if isinstance(lb, DesiredLoadBalancer) else None, lb.match
    balancer = found_balancer(lb)
    other = match.balancer if isinstance(match, Foreign | Contested) else None
    seen = balancer or other
    why = match.why if isinstance(match, Foreign | Contested | Undecided) else None
    if why is None and seen is None:
        named = "" if asked is None else f", and none is named {asked!r}"
        why = f"no load balancer of the project has the label {LABEL_SERVICE_UID} with this Service's UID{named}"
    if seen is None:
        return FoundBalancer(asked, why=why)
    by: Literal["label", "name", "address"] = "name"
    if seen.spec.labels.get(LABEL_SERVICE_UID) == service.uid or (isinstance(match, Adoptable) and match.returns):
        by = "label"
    elif isinstance(match, Adoptable) and match.is_published:
        by = "address"
    owner = tuple(_labels(service, seen, changes, snapshot))
    return FoundBalancer(asked, by, BalancerFact.of(balancer), BalancerFact.of(other), why, owner)


def found_balancer(lb: DesiredLoadBalancer | LoadBalancerRelease | None) -> CloudBalancer | None:
    """The load balancer that serves the Service, or is about to; None where there is none, or none that may."""
    match lb.match if lb else None:
        case Owned(balancer) | Adoptable(balancer):
            return balancer
    return None


def _labels(service: Service, balancer: CloudBalancer, changes: Sequence[Change], snapshot: Snapshot) -> Iterator[Fact]:
    then = balancer_after_all(balancer, changes, snapshot) or balancer  # what goes keeps its labels until then
    there, later = balancer.spec.labels, then.spec.labels
    withheld = _withheld(changes, ChangeKind.LB_ADOPT, ChangeKind.LB_RETAIN, ChangeKind.LB_IDENTITY)
    is_released = LABEL_RELEASED in there or LABEL_RELEASED in later

    def say(key: str, value: str | None) -> str:
        if key == LABEL_SERVICE_UID:
            return _say_service(value, service, there.get(LABEL_CLUSTER_UID), snapshot)
        if key == LABEL_CLUSTER_UID:
            return _CLUSTERS[ownership(value, snapshot)]
        told = _TRACES[key] + (", and who gets it back" if key == LABEL_FORMER and not is_released else "")
        return "nothing" if value is None else told

    for key in (LABEL_SERVICE_UID, LABEL_CLUSTER_UID, *_TRACES):
        value, wanted = there.get(key), later.get(key)
        if value == wanted is None and key in _TRACES:
            continue
        source = say(key, value)
        if value != wanted:
            was = "" if value is None else f"{source}, "
            source = f"{was}becomes {say(key, wanted)}{withheld}"
        yield Fact(key, value, wanted, Basis.OWNER, source)


_TRACES: Mapping[str, str] = {
    LABEL_RELEASED: "the time at which it was released, with its addresses",
    LABEL_ADOPTED: "the mark of one that was not made for a Service, and outlives it",
    LABEL_FORMER: "whose it was",
    LABEL_DELETE_AFTER: "the time after which it is deleted",
}
"""Labels that stand only where they say something → what."""


def _withheld(changes: Collection[Change], *kinds: ChangeKind) -> str:
    """The part of a sentence that says by what the first of these changes of such a kind is withheld."""
    return next((if_withheld(change) for change in changes if change.kind in kinds), "")


def _say_service(uid: str | None, service: Service, cluster_uid: str | None, snapshot: Snapshot) -> str:
    if uid is None:
        return "no Service's"
    if uid == service.uid:
        return "this Service's"
    if ownership(cluster_uid, snapshot) is Ownership.OTHER_CLUSTER:
        return "that of a Service of another cluster"
    other = next((found for found in snapshot.services or () if found.uid == uid), None)
    return "that of a Service that is gone" if other is None else f"Service {other.id}'s"


_CLUSTERS: Mapping[Ownership, str] = {
    Ownership.UNCLAIMED: "no cluster label (optional)",
    Ownership.UNKNOWN: "a cluster's; which one this is could not be read",
    Ownership.OURS: "this cluster's",
    Ownership.OTHER_CLUSTER: "another cluster's",
}


_OURS = (CONDITION_READY, CONDITION_IN_SYNC)


def explain_status(service: Service, balancer: CloudBalancer | None, changes: Sequence[Change]) -> tuple[Fact, ...]:
    """The Service's addresses in their order, those that go away among them, and after these the ones that come."""
    there, wanted = service.ingress, reduce(service_after, in_order(changes), service).ingress
    withheld = _withheld(changes, ChangeKind.SERVICE_STATUS, ChangeKind.SERVICE_RELEASE)
    facts = [_fact(each, balancer, withheld, stays=each in wanted) for each in there]
    facts += [_fact(each, balancer, withheld, is_there=False) for each in wanted if each not in there]
    for change in changes:
        if change.kind is ChangeKind.SERVICE_STATUS and change.after is KNOWN_AFTER_APPLY:
            facts.append(Fact("IP", None, KNOWN_AFTER_APPLY.value, Basis.BALANCER, change.reason + withheld))
    return tuple(facts)


def _fact(
    entry: Ingress, balancer: CloudBalancer | None, withheld: str, *, is_there: bool = True, stays: bool = True
) -> Fact:
    mode = f" ({entry.ip_mode})" if entry.ip_mode else ""
    shown = f"{entry.ip or entry.hostname or ''}{mode}{', with ports' if entry.has_ports else ''}"
    source = OPTIONS["hostname"].full_key if entry.ip is None else _source(entry.ip, balancer)
    source = source if stays else f"goes away: {source}"
    return Fact(
        "Hostname" if entry.ip is None else "IP",
        shown if is_there else None,
        shown if stays else None,
        Basis.ASKED if entry.ip is None else Basis.BALANCER,
        source if is_there and stays else source + withheld,
    )


def _source(ip: str, balancer: CloudBalancer | None) -> str:
    if balancer is None:
        return "of a load balancer that is not there, or not known"
    own = {
        str(place.ip): f"the address of load balancer {balancer.id} in network {place.network_id}"
        for place in balancer.attachments
    }
    own |= {
        str(balancer.ipv6): f"the public IPv6 address of load balancer {balancer.id}",
        str(balancer.ipv4): f"the public IPv4 address of load balancer {balancer.id}",
    }
    return own.get(ip, f"no address of load balancer {balancer.id}")


def explain_conditions_of(
    service: Service, wanted: Collection[ServiceCondition], changes: Collection[Change]
) -> tuple[Fact, ...]:
    """The Service's conditions in their order, then those of ours that are not there. ``wanted`` is what ours should
    say, empty where nothing is said of the Service.

    They are written together with other changes of the Service: only if one of these is among ``changes`` it is certain
    that they change.
    """
    ours, there = ({condition.type: condition for condition in found} for found in (wanted, service.conditions))
    carriers = (change for change in changes if change.conditions and change.is_known)
    written = any(change.decision.verdict is Verdict.ALLOWED for change in carriers)
    return tuple(
        _condition(kind, there.get(kind), ours.get(kind), written=written) for kind in dict.fromkeys((*there, *ours))
    )


def _condition(kind: str, found: ServiceCondition | None, wanted: ServiceCondition | None, *, written: bool) -> Fact:
    value, coming = _said(found), _said(wanted)
    if found is not None and kind not in _OURS:
        return Fact(kind, value, value, Basis.FOREIGN, NOT_OURS)
    since = f", since {found.since:%Y-%m-%d %H:%M:%S} UTC" if found and found.since else ""
    present = found.message if found else "not there (optional)"
    if wanted is None or value == coming:
        return Fact(kind, value, value, Basis.BALANCER, (wanted.message if wanted else present) + since)
    if written:
        return Fact(kind, value, coming, Basis.BALANCER, wanted.message)
    return Fact(kind, value, value, Basis.BALANCER, f"{present}{since}; would be {coming}: {wanted.message}")


def _said(condition: ServiceCondition | None) -> str | None:
    return None if condition is None else f"{condition.status} {condition.reason}".rstrip()
