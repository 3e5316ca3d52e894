"""Life of a load balancer beyond its Service: its release, and what is left over.

A Service that goes deletes the load balancer that was made for it, and releases any other one. Labels of a released one
say when and with which Service that was; a Service of that namespace and name adopts it. Nothing deletes it by time.
Other load balancers that no Service wants are noted, and a person may delete them.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from ipaddress import IPv4Address, IPv6Address, ip_address

from desired.annotations.choices import DeletionPolicy
from desired.annotations.options import OPTIONS
from desired.annotations.reading import Requested
from desired.load_balancers.matching import Adoptable, BalancerMatch, Missing, Owned, Undecided
from desired.load_balancers.ownership import (
    Ownership,
    asked_name,
    default_name,
    former_by_name,
    former_of,
    ownership,
    released_here,
    shown_former,
    whose,
)
from desired.load_balancers.prices import price_of
from desired.load_balancers.published import own_addresses
from desired.model.clocks import shown_moment
from desired.model.load_balancer import Certificate, CloudBalancer, IpTarget, Owner, is_private
from desired.model.service import Service
from desired.model.settings import Settings
from desired.model.snapshot import Server, Snapshot
from desired.names import LABEL_CLUSTER_UID, LABEL_SERVICE_UID
from desired.plan.notes import Note
from desired.rules import load_balancers as rows
from desired.rules.rule import Reason
from desired.section import Present
from desired.syntax.address import parse_ip
from desired.syntax.bounds import shown_text

_STAMP = "%Y%m%dT%H%M%SZ"
_STAMPED = re.compile(r"[0-9]{8}T[0-9]{6}Z", re.ASCII)
_DEFAULT_NAME = re.compile(r"a[0-9a-f]{31}", re.ASCII)


@dataclass(frozen=True, slots=True)
class LoadBalancerRelease:
    """A Service that releases its load balancer."""

    service: Service
    match: BalancerMatch
    requested: Requested
    retained: Owner | None = None
    """Its labels after the release; None if it is deleted, or does not exist."""
    why_retained: Reason | None = None
    """Why it is released; None if it is not."""
    notes: tuple[Note, ...] = ()

    @property
    def present(self) -> CloudBalancer | None:
        """The load balancer that is released; None when there is none, or it is not known."""
        return self.match.balancer if isinstance(self.match, Owned | Adoptable) else None

    @property
    def is_settled(self) -> bool:
        """Whether it is known if there is one: the Service is not released before."""
        return isinstance(self.match, Owned | Adoptable | Missing)


def release(service: Service, match: BalancerMatch, snapshot: Snapshot, settings: Settings) -> LoadBalancerRelease:
    """Decide what happens to the Service's load balancer, which ``match`` has found by its label. One without it is
    never deleted: it is released, or only named where nothing else proves that it was the Service's."""
    requested = service.claim.requested(settings.balancer_defaults)
    if isinstance(match, Undecided):
        return LoadBalancerRelease(service, match, requested, notes=(match.reason.note(service.key),))
    if isinstance(match, Missing) and match.publisher is not None:
        note = rows.PUBLISHED_STAYS.note(service.key, balancer=_paid(match.publisher), id=match.publisher.id)
        return LoadBalancerRelease(service, match, requested, notes=(note,))
    if not isinstance(match, Owned | Adoptable):
        return LoadBalancerRelease(service, match, requested)
    why = _why_retained(service, match, requested)
    if why is None:
        return LoadBalancerRelease(service, match, requested)
    owner = replace(
        match.balancer.owner.of_no_service(),
        former=former_of(service),
        released=stamped(snapshot.taken_at),
        adopted=None,
        balancer_class=snapshot.serving.class_label,
    )
    if isinstance(snapshot.cluster_uid, Present):
        owner = replace(owner, cluster_uid=snapshot.cluster_uid.value)
    return LoadBalancerRelease(service, match, requested, owner, why)


def _why_retained(service: Service, match: Owned | Adoptable, requested: Requested) -> Reason | None:
    """The reason why the load balancer outlives its Service; None when it does not. A policy that cannot be understood
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


def may_be_released(requested: Requested) -> bool:
    """Whether the deletion policy may have left a load balancer of a former Service with these annotations."""
    return "deletion_policy" in requested.bad or requested.options.deletion_policy is DeletionPolicy.RETAIN


def _paid(balancer: CloudBalancer) -> str:
    """``load balancer 7 web (lb11, 5.39 a month)``, in the project's currency."""
    price = price_of(balancer)
    cost = "" if price is None else f", {price:.2f} a month"
    return f"load balancer {balancer.id} {balancer.spec.name} ({balancer.type.name}{cost})"


def stamped(moment: datetime) -> str:
    """A time as a label may have it."""
    return f"{moment.astimezone(UTC):{_STAMP}}"


def _moment(text: str | None) -> datetime | None:
    """The time of a label; None where it has another form."""
    if text is None or not _STAMPED.fullmatch(text):
        return None
    try:
        return datetime.strptime(text, _STAMP).replace(tzinfo=UTC)
    except ValueError:
        return None


def _taken_by(matches: Mapping[str, BalancerMatch]) -> frozenset[int]:
    """Ids of the load balancers that these Services are matched with, whatever their owner."""
    claimed = (None if isinstance(match, Missing | Undecided) else match.balancer for match in matches.values())
    return frozenset(balancer.id for balancer in claimed if balancer is not None)


def _unclaimed(snapshot: Snapshot, matches: Mapping[str, BalancerMatch]) -> list[CloudBalancer]:
    """Load balancers of this cluster, of whatever class, that are no Service's, by id. Empty while a Service may be
    unread. A load balancer that a Service of any class may claim by its label or name is not among these; nor is one
    that was released with a living Service of another class."""
    services, taken = snapshot.services, _taken_by(matches)
    if services is None or not services.is_whole:
        return []
    left = [
        balancer
        for balancer in snapshot.load_balancers or ()
        if balancer.id not in taken and ownership(balancer.owner.cluster_uid, snapshot) is Ownership.OURS
    ]
    living = [each for each in services if each.asks_for_balancer] if left else []
    names = {*map(asked_name, living)}
    formers = {former_of(service) for service in living if not snapshot.serving.serves(service)}
    uids = {service.uid for service in services} if left else set()
    found = (each for each in left if each.spec.name not in names and each.owner.uid not in uids)
    return sorted((each for each in found if each.owner.former not in formers), key=lambda each: each.id)


def awaiting(namespace: str, service: str, snapshot: Snapshot) -> Reason | None:
    """The load balancer that a Service of this namespace and name adopts when it is created again; None without one."""
    balancer = released_here(snapshot).get(former_by_name(namespace, service))
    if balancer is None:
        return None
    return rows.AWAITS_ITS_SERVICE.because(balancer=balancer.id, name=balancer.spec.name)


@dataclass(frozen=True, slots=True)
class Orphan:
    """A load balancer that no Service wants, and why."""

    balancer: CloudBalancer
    reason: Reason
    serves: bool = False
    """Whether a target of it is healthy, or a Service publishes an address of it."""
    is_labelled: bool = True
    """Whether its label says that it is this cluster's; without it nothing is ever deleted here."""
    is_of_another_class: bool = False
    """Whether it is for Services that this process does not serve."""
    is_retained: bool = False
    """Whether load balancers outlive Services by default (``HCLOUD_LOAD_BALANCERS_DELETION_POLICY``)."""

    @property
    def kept(self) -> str | None:
        """The reason why it is not deleted even on demand: one clause for people; None when it may be."""
        if self.balancer.is_protected:
            return rows.ORPHAN_PROTECTED.text()
        return None if self.is_labelled else rows.ORPHAN_UNLABELLED.text(balancer=self.balancer.id)

    @property
    def was_released(self) -> bool:
        """Whether it was to stay, with its addresses."""
        return self.balancer.owner.released is not None

    @property
    def needs_its_id(self) -> bool:
        """Whether its id has to be given to delete it: it outlives its Service, serves, or is of another class."""
        return self._outlives or self.serves or self.is_of_another_class

    @property
    def is_vanished(self) -> bool:
        """Whether it was made for a Service which has gone without a release: another client took its finalizer away,
        or deleted it by force. False for a protected load balancer, and for one of another class."""
        has_owner = self.balancer.owner.uid is not None and not self.is_of_another_class
        return has_owner and not self._outlives and not self.balancer.is_protected

    @property
    def _outlives(self) -> bool:
        return self.was_released or self.balancer.owner.adopted is not None or self.is_retained


def retains_by_default(settings: Settings) -> bool:
    """Whether a load balancer outlives its Service if no annotation decides."""
    return settings.balancer_defaults.deletion_policy is DeletionPolicy.RETAIN


def orphans(
    snapshot: Snapshot, matches: Mapping[str, BalancerMatch], *, is_retained: bool = False
) -> tuple[Orphan, ...]:
    """Load balancers of this cluster that none of these Services claims, by id, with the reason. ``is_retained`` says
    whether load balancers outlive Services by default."""
    unclaimed = _unclaimed(snapshot, matches)
    if not unclaimed:
        return ()
    serves = _serving(snapshot)
    return tuple(
        replace(
            _orphan(each),
            serves=serves(each),
            is_of_another_class=whose(each.owner, snapshot) is Ownership.OTHER_CLASS,
            is_retained=is_retained,
        )
        for each in unclaimed
    )


def _serving(snapshot: Snapshot) -> Callable[[CloudBalancer], bool]:
    """Whether a target of a load balancer is healthy, or a Service publishes an address of it."""
    published = {parse_ip(entry.ip) for service in snapshot.services or () for entry in service.ingress}
    return lambda each: any(map(each.answering, each.targets)) or not published.isdisjoint(own_addresses(each))


def _orphan(balancer: CloudBalancer) -> Orphan:
    owner = balancer.owner
    if owner.uid is not None:
        return Orphan(balancer, rows.SERVICE_GONE.because(uid=owner.uid))
    if owner.released is None:
        return Orphan(balancer, rows.NAMES_NO_SERVICE.because())
    former = shown_former(owner)
    if not owner.released:
        return Orphan(balancer, rows.RELEASED.because(service=former))
    since = _moment(owner.released)
    shown = shown_moment(since) if since else owner.released
    return Orphan(balancer, rows.RELEASED_SINCE.because(service=former, since=shown))


def unlabelled(snapshot: Snapshot, matches: Mapping[str, BalancerMatch]) -> tuple[Orphan, ...]:
    """Load balancers that have no owner's label and that no Service claims, by id: those with the default name of
    some Service, and those of which a Service that goes publishes an address. Whether they are this cluster's is not
    known. Empty while a Service may be unread."""
    services = snapshot.services
    if services is None or not services.is_whole:
        return ()
    names = {default_name(each.uid): each.id for each in services}
    serves = _serving(snapshot)
    taken = _taken_by(matches)
    leaving = {
        match.publisher.id: key
        for key, match in matches.items()
        if isinstance(match, Missing) and match.publisher and not snapshot.serving.wants(services.items[key])
    }
    found = []
    for balancer in snapshot.load_balancers or ():
        owner, name = balancer.owner, balancer.spec.name
        if balancer.id in taken or owner.is_released or any((owner.cluster_uid, owner.uid, owner.former)):
            continue
        if balancer.id in leaving:
            why = rows.PUBLISHED_AT_THE_END.because(service=leaving[balancer.id])
        elif name in names:
            why = rows.NAMED_WITHOUT_LABEL.because(service=names[name])
        elif _DEFAULT_NAME.fullmatch(name) and snapshot.serving.balancer_class is None:
            why = rows.NAMED_FOR_NONE.because()
        else:
            continue
        found.append(Orphan(balancer, why, serves=serves(balancer), is_labelled=False))
    return tuple(found)


def left_certificates(snapshot: Snapshot) -> tuple[Certificate, ...]:
    """Managed certificates that were made for Services of this cluster which are gone, and that no load balancer and no
    Service uses, by id. Empty while a Service or a load balancer may be unread, and where no Service needs
    certificates: then they are not listed."""
    services, balancers = snapshot.services, snapshot.load_balancers
    if services is None or balancers is None or not (services.is_whole and balancers.is_whole):
        return ()
    alive = {service.uid for service in services}
    used: set[int | str] = set()
    for balancer in balancers:
        used.update(*(listener.certificate_ids for listener in balancer.spec.listeners.values()))
    for service in services:
        used.update(service.claim.read.values.get("http_certificates") or ())
    return tuple(
        found
        for found in sorted(snapshot.certificates or (), key=lambda found: found.id)
        if (uid := found.labels.get(LABEL_SERVICE_UID)) is not None
        and uid not in alive
        and not {found.id, found.name} & used
        and ownership(found.labels.get(LABEL_CLUSTER_UID), snapshot) is Ownership.OURS
    )


@dataclass(frozen=True, slots=True)
class StrayAddress:
    """An address that a Service's load balancer sends traffic to and that has no owner, and why that is so."""

    balancer: CloudBalancer
    ip: str
    reason: Reason


def stray_addresses(snapshot: Snapshot, matches: Mapping[str, BalancerMatch]) -> tuple[StrayAddress, ...]:
    """The targets of these load balancers that are addresses without an owner, in order. Empty unless all was read that
    might have one: Nodes, servers and the Robot account. A pass leaves them alone: a person may have added them."""
    account = snapshot.robot.servers if snapshot.robot else None
    if account is None or not (snapshot.nodes.is_whole and account.is_whole):
        return ()
    reported = snapshot.node_addresses
    servers, taken = (*account, *snapshot.servers), _taken_by(matches)
    return tuple(
        StrayAddress(balancer, target.ip, (rows.STRAY_PRIVATE if is_private(target) else rows.STRAY_PUBLIC).because())
        for balancer in snapshot.load_balancers or ()
        if balancer.id in taken
        for target in sorted(each for each in balancer.targets if isinstance(each, IpTarget))
        if target.ip not in reported and not any(_has(server, ip_address(target.ip)) for server in servers)
    )


def _has(server: Server, ip: IPv4Address | IPv6Address) -> bool:
    is_inside = isinstance(ip, IPv6Address) and server.ipv6 is not None and ip in server.ipv6
    return is_inside or ip == server.ipv4 or ip in [private for _, private in server.private_ips]
