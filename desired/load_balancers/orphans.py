"""Orphans: load balancers of this cluster that no Service wants. A pass deletes one after its undo window, asks whether
one may go whose Service has vanished, and notes the others; a person may delete them on demand."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from ipaddress import IPv4Address, IPv6Address, ip_address

from desired.load_balancers.matching import BalancerMatch, Missing, Undecided, taken_by, unclaimed
from desired.load_balancers.ownership import Ownership, default_name, may_come_back, owner_of, ownership
from desired.load_balancers.release import due_of, shown_former, shown_time
from desired.load_balancers.wanted import wants_balancer
from desired.model.load_balancer import Certificate, CloudBalancer, IpTarget, Owner, is_private
from desired.model.snapshot import Server, Snapshot
from desired.names import LABEL_CLUSTER_UID, LABEL_SERVICE_UID
from desired.rules.load_balancers import (
    IN_UNDO_WINDOW,
    MAY_RETURN,
    MISDATED,
    NAMED_FOR_NONE,
    NAMED_WITHOUT_LABEL,
    ORPHAN_PROTECTED,
    ORPHAN_UNLABELLED,
    PUBLISHED_AT_THE_END,
    RELEASED,
    RELEASED_SINCE,
    SERVICE_GONE,
    STRAY_PRIVATE,
    STRAY_PUBLIC,
    UNDATED,
)
from desired.rules.rule import Reason


@dataclass(frozen=True, slots=True)
class Orphan:
    """An orphan, and why no Service wants it."""

    balancer: CloudBalancer
    reason: Reason
    delete_at: datetime | None = None
    """After when a pass deletes it by itself; None when none does."""
    is_labelled: bool = True
    """Whether its label says that it is this cluster's; without it nothing is ever deleted here."""

    @property
    def kept(self) -> str | None:
        """The reason why it is not deleted even on demand: one clause for people; None when it may be."""
        if self.balancer.is_protected:
            return ORPHAN_PROTECTED.text()
        if not self.is_labelled:
            return ORPHAN_UNLABELLED.text(balancer=self.balancer.id)
        return None

    @property
    def was_released(self) -> bool:
        """Whether somebody wanted it to stay, with its addresses."""
        return owner_of(self.balancer.spec.labels).released is not None

    @property
    def needs_its_id(self) -> bool:
        """Whether it is deleted on demand only where its id is given: it was kept on purpose, or goes by itself."""
        return self.was_released or self.delete_at is not None


def orphans(snapshot: Snapshot, matches: Mapping[str, BalancerMatch]) -> tuple[Orphan, ...]:
    """Load balancers of this cluster that none of these Services claims, by id, with the reason."""
    found = []
    for balancer in unclaimed(snapshot, matches):
        owner = owner_of(balancer.spec.labels)
        if owner.service_uid is not None:
            found.append(Orphan(balancer, SERVICE_GONE.because(uid=owner.service_uid)))
        elif may_come_back(owner, snapshot):
            found.append(_left_behind(balancer, owner))
        else:
            since = RELEASED_SINCE.because(since=owner.released) if owner.released else RELEASED.because()
            found.append(Orphan(balancer, since))
    return tuple(found)


_DEFAULT_NAME = re.compile(r"a[0-9a-f]{31}", re.ASCII)


def unlabelled(snapshot: Snapshot, matches: Mapping[str, BalancerMatch]) -> tuple[Orphan, ...]:
    """Load balancers that no label gives to anybody and that no Service claims, by id: those with the default name of
    some Service, and those of which a Service that goes publishes an address. Whether they are this cluster's is not
    known. Empty while a Service may be unread."""
    services = snapshot.services
    if services is None or not services.is_whole:
        return ()
    taken, names = taken_by(matches), {default_name(service.uid): service.id for service in services}
    leaving = {
        match.publisher.id: key
        for key, match in matches.items()
        if isinstance(match, Missing) and match.publisher and not wants_balancer(services.items[key])
    }
    found = []
    for balancer in snapshot.load_balancers or ():
        owner, name = owner_of(balancer.spec.labels), balancer.spec.name
        if balancer.id in taken or any((owner.cluster_uid, owner.service_uid, owner.former, owner.released)):
            continue
        if balancer.id in leaving:
            why = PUBLISHED_AT_THE_END.because(service=leaving[balancer.id])
        elif name in names:
            why = NAMED_WITHOUT_LABEL.because(service=names[name])
        elif _DEFAULT_NAME.fullmatch(name):
            why = NAMED_FOR_NONE.because()
        else:
            continue
        found.append(Orphan(balancer, why, is_labelled=False))
    return tuple(found)


def _left_behind(balancer: CloudBalancer, owner: Owner) -> Orphan:
    """One that was released for a while."""
    whose, due_at = shown_former(owner), due_of(owner)
    if due_at is None:
        if owner.delete_after is None:
            return Orphan(balancer, UNDATED.because(service=whose))
        return Orphan(balancer, MISDATED.because(service=whose, value=owner.delete_after))
    if balancer.is_protected:
        return Orphan(balancer, MAY_RETURN.because(service=whose))
    return Orphan(balancer, IN_UNDO_WINDOW.because(service=whose, until=shown_time(due_at)), delete_at=due_at)


def left_certificates(snapshot: Snapshot) -> tuple[Certificate, ...]:
    """Managed certificates that were made for Services of this cluster which are gone, and that no load balancer and no
    Service uses, by id. Empty while a Service or a load balancer may be unread, and where no Service needs
    certificates: then they are not listed."""
    services, balancers = snapshot.services, snapshot.load_balancers
    if services is None or balancers is None:
        return ()
    if not (services.is_whole and balancers.is_whole):
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
    """An address that a Service's load balancer sends traffic to and that is nobody's, and why that is so."""

    balancer: CloudBalancer
    ip: str
    reason: Reason


def stray_addresses(snapshot: Snapshot, matches: Mapping[str, BalancerMatch]) -> tuple[StrayAddress, ...]:
    """The targets of these load balancers that are addresses of nobody, in order. Empty unless everybody who might have
    one was read: Nodes, servers and the Robot account. A pass leaves them alone, as somebody may have added them."""
    account = snapshot.robot.servers if snapshot.robot else None
    if account is None or not (snapshot.nodes.is_whole and account.is_whole):
        return ()
    reported = {address.address for node in snapshot.nodes for address in node.addresses}
    servers = (*account, *snapshot.servers)
    found = []
    for match in matches.values():
        balancer = None if isinstance(match, Missing | Undecided) else match.balancer
        for target in balancer.targets if balancer else ():
            if balancer is None or not isinstance(target, IpTarget) or target.ip in reported:
                continue
            ip = ip_address(target.ip)
            if any(_has(server, ip) for server in servers):
                continue
            row = STRAY_PRIVATE if is_private(target) else STRAY_PUBLIC
            found.append(StrayAddress(balancer, target.ip, row.because()))
    return tuple(sorted(found, key=lambda each: (each.balancer.id, each.ip)))


def _has(server: Server, ip: IPv4Address | IPv6Address) -> bool:
    is_inside = isinstance(ip, IPv6Address) and server.ipv6 is not None and ip in server.ipv6
    return is_inside or ip == server.ipv4 or ip in [private for _, private in server.private_ips]
