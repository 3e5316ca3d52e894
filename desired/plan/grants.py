"""Grants: a person's word that lets a run make changes that it would not make by itself, and whether that counts.

| Source | Given by | For | Counts |
|---|---|---|---|
| ``FLAG`` | ``--approve HASH`` | a hold | each difference once, in whichever run comes first |
| ``CLUSTER`` | ConfigMap ``hcloud-reconciler-approvals`` | a hold | each difference once, for an hour, a day at most |
| ``PLAN`` | ``reconcile apply FILE`` | the changes of a saved plan | in its cluster, for an hour |
| ``ANSWER`` | yes to the question of ``reconcile apply`` | the changes that were shown | in this run |

The hash of a hold has the cluster in it. How approvals are stored says ``desired.plan.approvals``, how they are used
``desired.plan.controller_record``.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from enum import StrEnum

from desired.model.clocks import TOLERANCE, shown_moment
from desired.model.snapshot import Snapshot
from desired.section import Present, Unknown

LIFETIME = timedelta(hours=1)
"""How long an approval counts unless it says otherwise: long enough for a person and a pass, too short to be forgotten
and met later."""
LONGEST = timedelta(hours=24)
"""And at most."""

_NOT_READ = Unknown("it was not read")


class Source(StrEnum):
    """Where a grant is from."""

    FLAG = "flag"
    CLUSTER = "cluster"
    PLAN = "plan"
    ANSWER = "answer"


@dataclass(frozen=True, slots=True)
class Here:
    """Where and when a grant would be used, by the API server's clock."""

    now: datetime
    cluster: Present[str] | Unknown = _NOT_READ
    clocks_differ: bool = False

    @classmethod
    def of(cls, snapshot: Snapshot) -> "Here":
        """Those of a reading."""
        return cls(snapshot.taken_at, snapshot.cluster_uid, snapshot.clocks.differ)


@dataclass(frozen=True, slots=True)
class Grant:
    """One word of one person."""

    source: Source
    of: str
    """Hash of the hold; of a plan what messages call it."""
    approver: str = ""
    """Who gave it: the API server's name, or a claim; "" where none is named."""
    approved_at: datetime | None = None
    """None where nothing follows from it."""
    expires_at: datetime | None = None
    """As it asks for; None: it does not say."""
    cluster: str | None = None
    """UID of the only cluster where it counts; None: the hash in ``of`` has it."""
    via: str = ""
    """``user@host`` from which it was written; "" when that is who gave it."""
    reason: str = ""
    used_at: datetime | None = None
    left: tuple[str, ...] = ()
    """Names of the differences that it let pass when it was used, and that passes have not seen done."""
    revoked_at: datetime | None = None
    revoked_by: str = ""
    damage: str = ""
    """Why it was never one that counts; "" when it was."""
    again: str = ""
    """How to get another one, where messages say so."""

    @property
    def identity(self) -> tuple[str, datetime | None]:
        """By which its use is known again. One in the arguments of a run has no time."""
        return self.of, self.approved_at

    @property
    def until(self) -> datetime | None:
        """When it ends, whatever it asks for; None: with the run."""
        if self.source is not Source.CLUSTER or self.approved_at is None:
            return self.expires_at
        return min(self.expires_at or self.approved_at + LIFETIME, self.approved_at + LONGEST)

    @property
    def is_stored(self) -> bool:
        """Whether a use of it has to be recorded, so that it counts once."""
        return self.source in (Source.CLUSTER, Source.FLAG)

    @property
    def is_spent(self) -> bool:
        """Whether it was used, taken back, or never counted."""
        return bool(self.damage or self.used_at or self.revoked_at)

    def counts(self, here: Here) -> bool:
        """Whether it lets its hold or plan pass."""
        return self.why_void(here) is None

    def passes(self, here: Here) -> tuple[str, ...]:
        """Names that it lets pass: of its hold; once used, of the differences that are left."""
        if self.counts(here):
            return (self.of, *self.left)
        return self.left if self.used_at and replace(self, used_at=None).counts(here) else ()

    def why_void(self, here: Here) -> str | None:
        """The reason why it lets nothing pass, as a predicate; None when it counts.

        API servers behind one address are not of one second: a minute from the future still counts. While clocks differ
        by more, its age is not known, and one that has expired could count again.
        """
        return self._why_spent() or self._why_elsewhere(here.cluster) or self._why_not_now(here)

    def _why_spent(self) -> str | None:
        if self.used_at is not None:
            return f"was used at {shown_moment(self.used_at)}"
        if self.revoked_at is not None:
            return f"was revoked at {shown_moment(self.revoked_at)} by {self.revoked_by}"
        return self.damage or None

    def _why_elsewhere(self, cluster: Present[str] | Unknown) -> str | None:
        if self.cluster is None or cluster == Present(self.cluster):
            return None
        if isinstance(cluster, Unknown):
            return f"may be of another cluster: {cluster.why}"
        return f"is of cluster {self.cluster}, and this is {cluster.value}; give --context, or {self.again}"

    def _why_not_now(self, here: Here) -> str | None:
        until, again = self.until, f"; {self.again}" if self.again else ""
        if until is None:
            return None
        if here.now > until:
            return f"expired at {shown_moment(until)}{again}"
        if self.approved_at is not None and self.approved_at - here.now > TOLERANCE:
            return f"is dated in the future, {shown_moment(self.approved_at)}{again}"
        return f"does not count while the clocks differ; {_INSTEAD[self.source]}" if here.clocks_differ else None


_BY_FLAG = "use reconcile --once --approve"
_INSTEAD: Mapping[Source, str] = {
    Source.CLUSTER: _BY_FLAG,
    Source.PLAN: "set them by NTP, or be asked by 'reconcile apply'",
}
"""The remedy if an age is not known."""


def by_hold(grants: Iterable[Grant], here: Here) -> Mapping[str, tuple[Grant, ...]]:
    """Hash of a hold, or name of a difference → the grants that let it pass."""
    found: dict[str, tuple[Grant, ...]] = {}
    for grant in grants:
        for passed in grant.passes(here):
            found[passed] = (*found.get(passed, ()), grant)
    return found
