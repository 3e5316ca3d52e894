"""Orphans: load balancers, certificates and addresses that no Service wants. A person may delete them.

A pass plans the deletion of those load balancers alone that a vanished Service has not released, and a guard holds it.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from ipaddress import ip_address

from desired.annotations.choices import DeletionPolicy
from desired.annotations.options import Options
from desired.load_balancers.matching import BalancerMatch, Missing, Undecided
from desired.load_balancers.ownership import (
    Ownership,
    asked_name,
    default_name,
    former_of,
    ownership,
    shown_former,
    shown_stamp,
)
from desired.load_balancers.published import own_addresses, published_addresses
from desired.model.load_balancer import Certificate, CloudBalancer, IpTarget, Owner, is_private
from desired.model.snapshot import Snapshot
from desired.names import LABEL_CLUSTER_UID, LABEL_SERVICE_UID
from desired.rules import load_balancers as rows
from desired.rules.rule import Reason

_DEFAULT_NAME = re.compile(r"a[0-9a-f]{31}", re.ASCII)


@dataclass(frozen=True, slots=True)
class Orphan:
    """A load balancer that no Service wants, and why."""

    balancer: CloudBalancer
    reason: Reason
    serves: bool = False
    """Whether a target of it is healthy, or a Service publishes an address of it."""
    is_of_another_class: bool = False
    """Whether it is for Services that this process does not serve."""
    is_retained: bool = False
    """Whether load balancers outlive Services by default (``HCLOUD_LOAD_BALANCERS_DELETION_POLICY``)."""

    @property
    def kept(self) -> str | None:
        """The reason why it is not deleted even on demand: one clause for people; None if it may be."""
        if self.balancer.is_protected:
            return rows.ORPHAN_PROTECTED.text()
        # Without this cluster's label nothing is ever deleted here.
        return None if self.balancer.owner.cluster_uid else rows.ORPHAN_UNLABELLED.text(balancer=self.balancer.id)

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


def orphans(snapshot: Snapshot, matches: Mapping[str, BalancerMatch], defaults: Options) -> tuple[Orphan, ...]:
    """Load balancers of this cluster, of whatever class, that are no Service's, by id. Empty while a Service may be
    unread. One that a Service of any class may claim by its label or name is none; nor is one that was released with a
    living Service of another class."""
    services, taken = snapshot.services, _taken_by(matches)
    left = [
        balancer
        for balancer in snapshot.load_balancers or ()
        if balancer.id not in taken and ownership(balancer.owner.cluster_uid, snapshot) is Ownership.OURS
    ]
    if services is None or not services.is_whole or not left:
        return ()
    living = [each for each in services if each.asks_for_balancer]
    names, uids = {*map(asked_name, living)}, {each.uid for each in services}
    formers = {former_of(each) for each in living if not snapshot.serving.serves(each)}
    serves, is_retained = _serving(snapshot), defaults.deletion_policy is DeletionPolicy.RETAIN
    return tuple(
        Orphan(each, _why(each.owner), serves(each), not snapshot.serving.has(each.owner), is_retained)
        for each in left
        if each.spec.name not in names and each.owner.uid not in uids and each.owner.former not in formers
    )


def _taken_by(matches: Mapping[str, BalancerMatch]) -> frozenset[int]:
    """Ids of the load balancers that these Services are matched with, whatever their owner."""
    claimed = (None if isinstance(match, Missing | Undecided) else match.balancer for match in matches.values())
    return frozenset(balancer.id for balancer in claimed if balancer is not None)


def _serving(snapshot: Snapshot) -> Callable[[CloudBalancer], bool]:
    """Whether a target of a load balancer is healthy, or a Service publishes an address of it."""
    published = {address for service in snapshot.services or () for address in published_addresses(service)}
    return lambda each: any(map(each.answering, each.targets)) or not published.isdisjoint(own_addresses(each))


def _why(owner: Owner) -> Reason:
    if owner.uid is not None:
        return rows.SERVICE_GONE.because(uid=owner.uid)
    if owner.released is None:
        return rows.NAMES_NO_SERVICE.because()
    former = shown_former(owner)
    if not owner.released:
        return rows.RELEASED.because(service=former)
    return rows.RELEASED_SINCE.because(service=former, since=shown_stamp(owner.released))


def unlabelled(snapshot: Snapshot, matches: Mapping[str, BalancerMatch]) -> tuple[Orphan, ...]:
    """Load balancers that have no owner's label and that no Service claims, by id: those with the default name of
    some Service, and those of which a Service that goes publishes an address. Whether they are this cluster's is not
    known. Empty while a Service may be unread."""
    services = snapshot.services
    if services is None or not services.is_whole:
        return ()
    names = {default_name(each.uid): each.id for each in services}
    serves, taken = _serving(snapshot), _taken_by(matches)
    leaving = {
        match.publisher.id: key
        for key, match in matches.items()
        if isinstance(match, Missing) and match.publisher and not snapshot.serving.wants(services.items[key])
    }
    found = []
    for balancer in snapshot.load_balancers or ():
        owner, name = balancer.owner, balancer.spec.name
        if balancer.id in taken or owner.is_released or owner.cluster_uid or owner.uid:
            continue
        if balancer.id in leaving:
            why = rows.PUBLISHED_AT_THE_END.because(service=leaving[balancer.id])
        elif name in names:
            why = rows.NAMED_WITHOUT_LABEL.because(service=names[name])
        elif _DEFAULT_NAME.fullmatch(name) and snapshot.serving.balancer_class is None:
            why = rows.NAMED_FOR_NONE.because()
        else:
            continue
        found.append(Orphan(balancer, why, serves(balancer)))
    return tuple(found)


def left_certificates(snapshot: Snapshot) -> tuple[Certificate, ...]:
    """Managed certificates that were made for Services of this cluster which are gone, and that no load balancer and no
    Service uses, by id. Empty while a Service or a load balancer may be unread, and if no Service needs certificates:
    then they are not listed."""
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
        for found in snapshot.certificates or ()
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
    private = {ip for server in servers for _, ip in server.private_ips}
    return tuple(
        StrayAddress(balancer, target.ip, (rows.STRAY_PRIVATE if is_private(target) else rows.STRAY_PUBLIC).because())
        for balancer in snapshot.load_balancers or ()
        if balancer.id in taken
        for target in sorted(each for each in balancer.targets if isinstance(each, IpTarget))
        if target.ip not in reported
        and ip_address(target.ip) not in private
        and not any(server.has_public(ip_address(target.ip)) for server in servers)
    )
