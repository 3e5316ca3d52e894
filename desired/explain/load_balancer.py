"""Explanation of a Service's load balancer: by what it was found, its owner labels, and the published addresses and
conditions of the Service."""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from ipaddress import IPv4Address, IPv6Address
from typing import Literal

from desired.annotations.options import OPTIONS
from desired.explain.fact import NOT_OURS, Fact, if_withheld
from desired.load_balancers.desired import DesiredLoadBalancer
from desired.load_balancers.matching import Adoptable, Contested, Foreign, Owned, Undecided
from desired.load_balancers.ownership import Ownership, asked_name, owner_of, ownership
from desired.load_balancers.release import LoadBalancerRelease
from desired.model.load_balancer import KNOWN_AFTER_APPLY, NO_LIMIT, CloudBalancer, Owner
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
    service: Service,
    lb: DesiredLoadBalancer | LoadBalancerRelease | None,
    changes: Sequence[Change],
    snapshot: Snapshot,
    left: str,
) -> FoundBalancer:
    """The Service's load balancer, of which ``changes`` are planned. ``left`` says why nothing is decided on the
    Service, where there is no ``lb``."""
    if lb is None:
        return FoundBalancer(None, why=left)
    asked = _asked_name(lb)
    balancer = found_balancer(lb)
    other = lb.match.balancer if isinstance(lb.match, Foreign | Contested) and balancer is None else None
    seen = balancer or other
    if seen is None:
        return FoundBalancer(asked, why=_why_none(lb, asked))
    is_labelled = owner_of(seen.spec.labels).service_uid == service.uid or _returns(lb)
    is_published = isinstance(lb.match, Adoptable) and lb.match.is_published
    return FoundBalancer(
        asked_name=asked,
        by="label" if is_labelled else "address" if is_published else "name",
        found=BalancerFact.of(balancer),
        other=BalancerFact.of(other),
        why=_why_none(lb, asked) if balancer is None else None,
        owner=tuple(_labels(service, seen, changes, snapshot)),
    )


def found_balancer(lb: DesiredLoadBalancer | LoadBalancerRelease | None) -> CloudBalancer | None:
    """The load balancer that serves the Service, or is about to; None where there is none, or none that may."""
    match lb.match if lb else None:
        case Owned(balancer) | Adoptable(balancer):
            return balancer
    return None


def _asked_name(lb: DesiredLoadBalancer | LoadBalancerRelease) -> str | None:
    """The name to look up. None at the end of a Service: then only the label counts."""
    if isinstance(lb, LoadBalancerRelease) or any(problem.key == OPTIONS["name"].full_key for problem in lb.problems):
        return None
    return asked_name(lb.service)


def _why_none(lb: DesiredLoadBalancer | LoadBalancerRelease, asked: str | None) -> str:
    match lb.match:
        case Foreign() | Contested() | Undecided():
            return lb.match.why
    named = "" if asked is None else f", and none is named {asked!r}"
    return f"no load balancer of the project has the label {LABEL_SERVICE_UID} with this Service's UID{named}"


def _labels(service: Service, balancer: CloudBalancer, changes: Sequence[Change], snapshot: Snapshot) -> Iterator[Fact]:
    before = owner_of(balancer.spec.labels)
    then = balancer_after_all(balancer, changes, snapshot) or balancer  # what goes keeps its labels until then
    after = owner_of(then.spec.labels)
    withheld = _withheld(changes, ChangeKind.LB_ADOPT, ChangeKind.LB_RETAIN, ChangeKind.LB_IDENTITY)
    rows: tuple[tuple[str, str | None, str | None, Callable[[str | None], str]], ...] = (
        (
            LABEL_SERVICE_UID,
            before.service_uid,
            after.service_uid,
            lambda uid: _say_service(uid, service, before, snapshot),
        ),
        (LABEL_CLUSTER_UID, before.cluster_uid, after.cluster_uid, lambda uid: _CLUSTERS[ownership(uid, snapshot)]),
        (LABEL_RELEASED, before.released, after.released, _say_released),
        (LABEL_ADOPTED, before.adopted, after.adopted, _say_adopted),
        (LABEL_FORMER, before.former, after.former, lambda former: _say_former(former, before, after)),
        (LABEL_DELETE_AFTER, before.delete_after, after.delete_after, _say_delete_after),
    )
    for key, value, wanted, say in rows:
        if value == wanted is None and key not in (LABEL_SERVICE_UID, LABEL_CLUSTER_UID):
            continue
        if value == wanted:
            yield Fact(key, value, wanted, Basis.OWNER, say(value))
            continue
        was = "" if value is None else f"{say(value)}, "
        yield Fact(key, value, wanted, Basis.OWNER, f"{was}becomes {say(wanted)}{withheld}")


def _withheld(changes: Collection[Change], *kinds: ChangeKind) -> str:
    """The part of a sentence that says by what the first of these changes of such a kind is withheld."""
    return next((if_withheld(change) for change in changes if change.kind in kinds), "")


def _say_service(uid: str | None, service: Service, owner: Owner, snapshot: Snapshot) -> str:
    if uid is None:
        return "no Service's"
    if uid == service.uid:
        return "this Service's"
    if ownership(owner.cluster_uid, snapshot) is Ownership.OTHER_CLUSTER:
        return "that of a Service of another cluster"
    other = next((found for found in snapshot.services or () if found.uid == uid), None)
    return "that of a Service that is gone" if other is None else f"Service {other.id}'s"


_CLUSTERS: Mapping[Ownership, str] = {
    Ownership.UNCLAIMED: "no cluster's, which is no difference",
    Ownership.UNKNOWN: "a cluster's; which one this is could not be read",
    Ownership.OURS: "this cluster's",
    Ownership.OTHER_CLUSTER: "another cluster's",
}


def _say_released(at: str | None) -> str:
    return "nothing" if at is None else "the time at which it was released, with its addresses"


def _returns(lb: DesiredLoadBalancer | LoadBalancerRelease | None) -> bool:
    return lb is not None and isinstance(lb.match, Adoptable) and lb.match.returns


def _say_former(former: str | None, before: Owner, after: Owner) -> str:
    if former is None:
        return "nothing"
    return "whose it was" if before.released or after.released else "whose it was, and who gets it back"


def _say_delete_after(at: str | None) -> str:
    return "nothing" if at is None else "the time after which it is deleted"


def _say_adopted(mark: str | None) -> str:
    return "nothing" if mark is None else "the mark of one that was not made for a Service, and outlives it"


_OURS = (CONDITION_READY, CONDITION_IN_SYNC)


def explain_status(service: Service, balancer: CloudBalancer | None, changes: Sequence[Change]) -> tuple[Fact, ...]:
    """The Service's addresses in their order, those that go away among them, and after these the ones that come."""
    there, wanted = service.ingress, reduce(service_after, in_order(changes), service).ingress
    withheld = _withheld(changes, ChangeKind.SERVICE_STATUS, ChangeKind.SERVICE_RELEASE)
    facts = [_fact(each, _shown(each), _shown(each) if each in wanted else None, balancer, withheld) for each in there]
    facts += [_fact(each, None, _shown(each), balancer, withheld) for each in wanted if each not in there]
    for change in changes:
        if change.kind is ChangeKind.SERVICE_STATUS and change.after is KNOWN_AFTER_APPLY:
            facts.append(Fact("IP", None, KNOWN_AFTER_APPLY.value, Basis.BALANCER, change.reason + withheld))
    return tuple(facts)


def _fact(
    entry: Ingress, value: str | None, wanted: str | None, balancer: CloudBalancer | None, withheld: str = ""
) -> Fact:
    rule, source = _source(entry, balancer)
    changes = value != wanted
    if changes and wanted is None:
        source = f"goes away: {source}"
    subject = "Hostname" if entry.ip is None else "IP"
    return Fact(subject, value, wanted, rule, source + (withheld if changes else ""))


def _shown(entry: Ingress) -> str:
    """The address or name, with what a client has to know of it."""
    mode = f" ({entry.ip_mode})" if entry.ip_mode else ""
    ports = ", with ports" if entry.has_ports else ""
    return f"{entry.ip if entry.ip is not None else entry.hostname or ''}{mode}{ports}"


def _source(entry: Ingress, balancer: CloudBalancer | None) -> tuple[Basis, str]:
    if entry.ip is None:
        return Basis.ASKED, OPTIONS["hostname"].full_key
    if balancer is None:
        return Basis.BALANCER, "of a load balancer that is not there, or not known"
    if entry.ip == str(balancer.ipv4):
        return Basis.BALANCER, f"the public IPv4 address of load balancer {balancer.id}"
    if entry.ip == str(balancer.ipv6):
        return Basis.BALANCER, f"the public IPv6 address of load balancer {balancer.id}"
    for place in balancer.attachments:
        if entry.ip == str(place.ip):
            return Basis.BALANCER, f"the address of load balancer {balancer.id} in network {place.network_id}"
    return Basis.BALANCER, f"no address of load balancer {balancer.id}"


def explain_conditions_of(
    service: Service, wanted: Collection[ServiceCondition], changes: Collection[Change]
) -> tuple[Fact, ...]:
    """The Service's conditions in their order, then those of ours that are not there. ``wanted`` is what ours should
    say, empty where nothing is said of the Service.

    They are written together with other changes of the Service: only if one of these is among ``changes`` it is certain
    that they change.
    """
    ours = {condition.type: condition for condition in wanted}
    written = any(map(_carries, changes))
    there = {condition.type for condition in service.conditions}
    facts = [_condition(found, ours.get(found.type), written=written) for found in service.conditions]
    facts += [_missing(condition, written=written) for condition in wanted if condition.type not in there]
    return tuple(facts)


def _carries(change: Change) -> bool:
    """Whether a change writes conditions as well, and is made now."""
    return bool(change.rides) and change.is_known and change.decision.verdict is Verdict.ALLOWED


def _condition(found: ServiceCondition, wanted: ServiceCondition | None, *, written: bool) -> Fact:
    value = _said(found)
    since = f", since {found.since:%Y-%m-%d %H:%M:%S} UTC" if found.since else ""
    if found.type not in _OURS:
        return Fact(found.type, value, value, Basis.FOREIGN, NOT_OURS)
    if wanted is None or _said(wanted) == value:
        return Fact(found.type, value, value, Basis.BALANCER, (wanted or found).message + since)
    if written:
        return Fact(found.type, value, _said(wanted), Basis.BALANCER, wanted.message)
    return Fact(found.type, value, value, Basis.BALANCER, f"{found.message}{since}; {_now(wanted)}")


def _missing(wanted: ServiceCondition, *, written: bool) -> Fact:
    if written:
        return Fact(wanted.type, None, _said(wanted), Basis.BALANCER, wanted.message)
    return Fact(wanted.type, None, None, Basis.BALANCER, f"not there, which is no difference; {_now(wanted)}")


def _now(wanted: ServiceCondition) -> str:
    return f"would be {_said(wanted)}: {wanted.message}"


def _said(condition: ServiceCondition) -> str:
    return f"{condition.status} {condition.reason}".rstrip()
