"""Release of a load balancer when its Service goes: deleted, kept for good, or kept for the undo window.

In the undo window a Service of the same namespace and name gets it back with its addresses; after it the load balancer
is deleted. What has to be known for that is in labels of the load balancer: whose it was, and after when it may be
deleted. Only one with exactly the labels that this product writes is ever deleted because of them.
"""

import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta

from desired.annotations.choices import DeletionPolicy
from desired.annotations.options import OPTIONS
from desired.load_balancers.matching import Adoptable, BalancerMatch, Missing, Owned, Undecided, taken_by, unclaimed
from desired.load_balancers.ownership import former_of, may_come_back, owner_of
from desired.load_balancers.prices import price_of
from desired.load_balancers.wanted import wants_balancer
from desired.model.load_balancer import CloudBalancer, Owner
from desired.model.service import Service
from desired.model.settings import Settings
from desired.model.snapshot import Snapshot
from desired.plan.notes import Note
from desired.rules.load_balancers import (
    LOST_ITS_LABEL,
    PUBLISHED_STAYS,
    RELEASE_UNCLEAR,
    RETAINED_ADOPTED,
    RETAINED_AS_ASKED,
    RETAINED_PROTECTED,
    RETAINED_UNREADABLE,
)
from desired.rules.rule import Reason
from desired.section import Present
from desired.syntax.bounds import shown_text

WHERE_UNCLEAR = timedelta(minutes=10)
"""The window of a Service whose annotation cannot be understood, where no other is configured: who asks for a window
does not want none."""
_STAMP = "%Y%m%dT%H%M%SZ"
_STAMPED = re.compile(r"[0-9]{8}T[0-9]{6}Z", re.ASCII)


@dataclass(frozen=True, slots=True)
class PendingDeletion:
    """A load balancer that was released, or whose Service has vanished, and that no Service wants back."""

    balancer: CloudBalancer
    due_at: datetime
    """When it may be deleted."""
    returned: str | None = None
    """Id of the existing Service of that namespace and name, which wants a load balancer, names no other one, and was
    not given this one; None while there is none."""
    vanished: str | None = None
    """UID of its Service, where that has gone without releasing it: the finalizer was taken away by somebody else, or
    the Service was deleted by force. Nobody has said then what is to become of it. None where it was released."""


def window_of(service: Service, settings: Settings) -> timedelta:
    """How long the load balancer outlives the Service: by its annotation, else by the operator's flag."""
    read = service.claim.read
    if "undo_window" in read.bad:
        return settings.undo_window or WHERE_UNCLEAR
    asked_s = read.values.get("undo_window")
    return settings.undo_window if asked_s is None else timedelta(seconds=asked_s)


def stamped(moment: datetime) -> str:
    """A time as a label may have it."""
    return f"{moment.astimezone(UTC):{_STAMP}}"


def due_of(owner: Owner) -> datetime | None:
    """After when the load balancer may be deleted, by its label; None when it has none, or one that we never write."""
    text = owner.delete_after
    if text is None or not _STAMPED.fullmatch(text):
        return None
    try:
        return datetime.strptime(text, _STAMP).replace(tzinfo=UTC)
    except ValueError:
        return None


def shown_time(moment: datetime) -> str:
    """A time as a sentence has it."""
    return f"{moment.astimezone(UTC):%Y-%m-%d %H:%M:%S} UTC"


def shown_former(owner: Owner) -> str:
    """The Service whose load balancer it was, as far as its label tells."""
    namespace, dot, name = (owner.former or "").partition(".")
    return f"Service {namespace}/{name}" if dot else "its Service"


def pending_deletions(snapshot: Snapshot, matches: Mapping[str, BalancerMatch]) -> tuple[PendingDeletion, ...]:
    """Load balancers that were released, or whose Service has vanished, and that no Service wants, by id. ``matches``
    are of all Services that want a load balancer or have to release one: what one of them gets, or may yet turn out to
    get, is not among these; nor is one whose Service vanished and that is protected, or was not made for it."""
    if snapshot.services is None:
        return ()
    undecided = [snapshot.services.items[key] for key, match in matches.items() if isinstance(match, Undecided)]
    open_ = {former_of(service) for service in undecided}
    found = [*_partings(snapshot, taken_by(matches), open_), *_vanished(snapshot, matches)]
    return tuple(sorted(found, key=lambda pending: pending.balancer.id))


def _partings(snapshot: Snapshot, taken: Collection[int], open_: Collection[str]) -> list[PendingDeletion]:
    found = []
    heirs = {former_of(service): service for service in snapshot.services or () if wants_balancer(service)}
    for balancer in snapshot.load_balancers or ():
        owner = owner_of(balancer.spec.labels)
        due_at = due_of(owner)
        if due_at is None or balancer.id in taken or owner.former in open_ or not may_come_back(owner, snapshot):
            continue
        heir = heirs.get(owner.former or "")
        is_back = heir is not None and not _names_another(heir, balancer)
        found.append(PendingDeletion(balancer, due_at, heir.id if heir and is_back else None))
    return found


def _vanished(snapshot: Snapshot, matches: Mapping[str, BalancerMatch]) -> Iterator[PendingDeletion]:
    for balancer in unclaimed(snapshot, matches):
        owner = owner_of(balancer.spec.labels)
        # One that was not made for its Service outlives it, as at a release.
        if owner.service_uid is not None and owner.adopted is None and not balancer.is_protected:
            yield PendingDeletion(balancer, snapshot.taken_at, vanished=owner.service_uid)


def _names_another(service: Service, balancer: CloudBalancer) -> bool:
    name = service.claim.read.values.get("name", balancer.spec.name)
    return bool(name != balancer.spec.name)


@dataclass(frozen=True, slots=True)
class LoadBalancerRelease:
    """A Service that releases its load balancer."""

    service: Service
    match: BalancerMatch
    retained: Owner | None = None
    """Its labels afterwards when it is kept, for good or for a while; None when it is deleted, or does not exist."""
    why_retained: Reason | None = None
    """Why it is kept for good; None when it is not."""
    delete_at: datetime | None = None
    """After when it is deleted, unless a Service of this namespace and name comes back; None when it is not kept, or
    kept for good."""
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
    never deleted: it is released for good, or only named where nothing else proves that it was the Service's."""
    if isinstance(match, Owned | Adoptable):
        cluster = snapshot.cluster_uid
        why = _why_retained(service, match)
        owner = replace(owner_of(match.balancer.spec.labels), service_uid=None)
        if isinstance(cluster, Present):
            owner = replace(owner, cluster_uid=cluster.value)
        if why is not None:
            return LoadBalancerRelease(
                service, match, for_good(replace(owner, former=former_of(service)), snapshot.taken_at), why
            )
        window, problem = window_of(service, settings), service.claim.read.bad.get("undo_window")
        notes = () if problem is None else (_unclear(service, problem.text, window),)
        if not window:
            return LoadBalancerRelease(service, match, notes=notes)
        due_at = snapshot.taken_at + window
        for_a_while = replace(owner, former=former_of(service), delete_after=stamped(due_at), released=None)
        return LoadBalancerRelease(service, match, for_a_while, delete_at=due_at, notes=notes)
    if isinstance(match, Missing) and match.publisher is not None:
        note = PUBLISHED_STAYS.note(service.key, balancer=_paid(match.publisher), id=match.publisher.id)
        return LoadBalancerRelease(service, match, notes=(note,))
    if isinstance(match, Undecided):
        return LoadBalancerRelease(service, match, notes=(match.reason.note(service.key),))
    return LoadBalancerRelease(service, match)


def for_good(owner: Owner, now: datetime) -> Owner:
    """The labels of a load balancer that stays for good: they continue to say whose it was."""
    return replace(owner, service_uid=None, adopted=None, delete_after=None, released=stamped(now))


def _unclear(service: Service, problem: str, window: timedelta) -> Note:
    return RELEASE_UNCLEAR.note(service.key, problem=problem, seconds=f"{window.total_seconds():g}")


def _paid(balancer: CloudBalancer) -> str:
    """``load balancer 7 web (lb11, 5.39 a month)``, in the project's currency."""
    price = price_of(balancer)
    cost = "" if price is None else f", {price.gross:.2f} a month"
    return f"load balancer {balancer.id} {balancer.spec.name} ({balancer.type.name}{cost})"


def _why_retained(service: Service, match: Owned | Adoptable) -> Reason | None:
    """The reason why the load balancer outlives its Service; None when it does not."""
    balancer = match.balancer
    if isinstance(match, Adoptable):
        return LOST_ITS_LABEL.because(balancer=_paid(balancer))
    if balancer.is_protected:
        return RETAINED_PROTECTED.because()
    read, row = service.claim.read, OPTIONS["deletion_policy"]
    if read.deletion_policy is not DeletionPolicy.RETAIN:
        was_nobodys = owner_of(balancer.spec.labels).adopted is not None
        return RETAINED_ADOPTED.because() if was_nobodys and not read.asks_for_deletion else None
    if "deletion_policy" in read.bad:
        return RETAINED_UNREADABLE.because(value=shown_text(service.claim.annotations[row.full_key]))
    return RETAINED_AS_ASKED.because()
