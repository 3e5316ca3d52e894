"""What becomes of the load balancer of a Service that is going, or has stopped to want one (SVC-5, ID-10, W-15).

Nothing here looks at an annotation but the deletion policy: what is asked for no longer matters.
"""

from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from desired.annotations.choices import DeletionPolicy
from desired.annotations.options import Defaults
from desired.annotations.parsing import deletion_policy, is_deletion_asked_for, read_options
from desired.annotations.table import BY_FIELD
from desired.bounds import shown_text
from desired.change import Note, NoteKind
from desired.load_balancer import CloudBalancer, Owner
from desired.load_balancers.identity import former_of, owner_of
from desired.load_balancers.matching import BalancerMatch, Missing, Owned, Undecided
from desired.load_balancers.undo import stamped, why_window_is_unclear, window_of
from desired.section import Present
from desired.service import Service
from desired.settings import Settings
from desired.snapshot import Snapshot


@dataclass(frozen=True, slots=True)
class Leaving:
    """A Service that lets go of its load balancer."""

    service: Service
    match: BalancerMatch
    retained: Owner | None = None
    """What its labels become when it is kept, for good or for a while; None when it is deleted, or not there."""
    why_retained: str = ""
    """Why it is kept for good; "" when it is not."""
    delete_at: datetime | None = None
    """After when it is deleted, unless a Service of this namespace and name comes back; None when it is not kept, or
    kept for good."""
    notes: tuple[Note, ...] = ()

    @property
    def present(self) -> CloudBalancer | None:
        """The load balancer that goes; None when there is none, or it is not known."""
        return self.match.balancer if isinstance(self.match, Owned) else None

    @property
    def is_settled(self) -> bool:
        """Whether it is known whether there is one: the Service is not released before."""
        return isinstance(self.match, Owned | Missing)


def let_go(service: Service, match: BalancerMatch, snapshot: Snapshot, settings: Settings) -> Leaving:
    """What should become of the Service's load balancer, which ``match`` has found by its label (ID-4)."""
    if isinstance(match, Owned):
        why, cluster = _why_retained(service, match.balancer), snapshot.cluster_uid
        owner = replace(owner_of(match.balancer.spec.labels), service_uid=None)
        if isinstance(cluster, Present):
            owner = replace(owner, cluster_uid=cluster.value)
        if why is not None:
            return Leaving(service, match, for_good(replace(owner, former=former_of(service)), snapshot.taken_at), why)
        window, problem = window_of(service, settings), why_window_is_unclear(service)
        notes = () if problem is None else (Note(service.key, NoteKind.MALFORMED, _instead(problem, window)),)
        if not window:
            return Leaving(service, match, notes=notes)
        due_at = snapshot.taken_at + window
        for_a_while = replace(owner, former=former_of(service), delete_after=stamped(due_at), released=None)
        return Leaving(service, match, for_a_while, delete_at=due_at, notes=notes)
    if not isinstance(match, Undecided):
        return Leaving(service, match)
    kind = NoteKind.AMBIGUOUS if match.is_ambiguous else NoteKind.UNKNOWN
    text = f"its load balancer cannot be let go: {match.why}"
    return Leaving(service, match, notes=(Note(service.key, kind, text),))


def for_good(owner: Owner, now: datetime) -> Owner:
    """What the labels become of a load balancer that stays: they go on to say whose it was."""
    return replace(owner, service_uid=None, adopted=None, delete_after=None, released=stamped(now))


def _instead(problem: str, window: timedelta) -> str:
    return f"{problem}; its load balancer is deleted {window.total_seconds():g}s after the Service"


def _why_retained(service: Service, balancer: CloudBalancer) -> str | None:
    """Why the load balancer outlives its Service; None when it does not."""
    if balancer.is_protected:
        return "it is protected against deletion"
    annotations, row = service.claim.annotations, BY_FIELD["deletion_policy"]
    if deletion_policy(annotations) is not DeletionPolicy.RETAIN:
        was_nobodys = owner_of(balancer.spec.labels).adopted is not None
        if was_nobodys and not is_deletion_asked_for(annotations):
            return f"it was not made for a Service, and {row.full_key} is not delete"
        return None
    if "deletion_policy" in read_options({row.full_key: annotations[row.full_key]}, Defaults())[1]:
        return f"{row.full_key} is {shown_text(annotations[row.full_key])}, which is neither delete nor retain"
    return "the Service's deletion policy is to retain it"
