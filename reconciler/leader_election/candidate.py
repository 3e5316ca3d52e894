"""Candidate for the Lease: what was seen of it, and the steps to take, renew and release it.

Times are seconds of an injected clock that is never set. No function here sleeps.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Protocol

from actuators.concurrency import THREADS
from actuators.http.errors import Conflict
from actuators.wire.lease import NOBODY, Lease, LeaseClaim, micro_time
from reconciler.leader_election.leadership import Timings


@dataclass(frozen=True, slots=True)
class ObservedLease:
    """A claim, and the time on the own clock at which it was first seen as it is."""

    claim: LeaseClaim
    since: float

    def is_of_another(self, identity: str) -> bool:
        """Whether another process holds the Lease, or did not give it back."""
        return self.claim.holder not in (NOBODY, identity)

    def duration_s(self, default_s: float) -> float:
        """How long the claim lasts without being renewed; ``default_s`` where it does not say so."""
        return default_s if self.claim.duration_s is None else float(self.claim.duration_s)

    def free_at(self, identity: str, default_s: float) -> float:
        """The time from which on ``identity`` may take the Lease, unless it is renewed before."""
        return self.since + (self.duration_s(default_s) if self.is_of_another(identity) else 0.0)


def seen(before: ObservedLease | None, claim: LeaseClaim | None, now: float) -> ObservedLease | None:
    """The ObservedLease after another read, which is the one before as long as nothing was renewed. ``claim`` is None
    when there is no Lease, and so is the result when there never was one.

    A Lease that has vanished was not given back: its holder does not know yet, and continues for a while.
    """
    if claim is None or (before is not None and before.claim == claim):
        return before
    return ObservedLease(claim, now)


_RELEASED_S = 1
"""The duration of a Lease that was given back, as client-go has it: zero is refused."""


class LeaseApi(Protocol):
    """One Lease: ``actuators.wire.lease.Leases``."""

    name: str

    def read(self) -> Lease | None:
        """The Lease; None when there is none. Raises an ApiError."""

    def create(self, claim: LeaseClaim) -> Lease:
        """The Lease as it was made. Raises an ApiError: Conflict when there is one by now."""

    def update(self, lease: Lease, claim: LeaseClaim) -> Lease:
        """The Lease as it was changed. Raises an ApiError: Conflict when it is no longer ``lease``."""


class Lost(Exception):
    """Another process holds the Lease, or it no longer exists."""


@dataclass(frozen=True, slots=True)
class HeldLease:
    """The Lease as this process holds it."""

    claim: LeaseClaim
    renewed_at: float
    """When the last renewal that succeeded was begun, on the own clock."""
    lease: Lease | None
    """As the API server has it; None after a renewal of which it is not known whether it was carried out."""


class LeaseCandidate:
    """Takes, renews and gives back the Lease. Its calls come from one thread at a time; ``held`` may be read in any.

    A write goes along with the version that was read, so that of two processes that try at once one fails.
    """

    def __init__(
        self,
        leases: LeaseApi,
        timings: Timings,
        identity: str,
        clock: Callable[[], float],
        wall_clock: Callable[[], datetime] = THREADS.now,
    ) -> None:
        """``wall_clock`` tells the time that is written into the Lease for people. Nothing depends on it."""
        self.identity = identity
        self.observed: ObservedLease | None = None
        """What was last seen of the Lease; None before it was."""
        self.held: HeldLease | None = None
        """None when this process does not hold the Lease as far as it knows. Whether it may still write is a matter of
        the clock as well."""
        self._leases = leases
        self._timings = timings
        self._clock = clock
        self._wall_clock = wall_clock

    @property
    def name(self) -> str:
        """Namespace and name of the Lease, for messages."""
        return self._leases.name

    @property
    def free_at(self) -> float:
        """The time on the own clock from which on the Lease may be taken, as it was last seen."""
        if self.observed is None:
            return -math.inf
        return self.observed.free_at(self.identity, self._timings.lease_duration_s)

    def take(self) -> bool:
        """Read the Lease and take it when it is free; returns whether it was taken.

        Raises an ApiError: Conflict when another process was quicker.
        """
        lease = self._look()
        if self._clock() < self.free_at:
            return False
        self.held = self._write(lease, self._first_claim(lease))
        return True

    def renew(self) -> None:
        """Renew the Lease, which this process has to hold. Raises Lost when it does no longer, and an ApiError when
        that is not known."""
        held = self._held()
        claim = replace(held.claim, renewed=micro_time(self._wall_clock()))
        self.held = replace(held, lease=None)  # until the answer is there
        if held.lease is not None:
            try:
                self.held = self._write(held.lease, claim)
            except Conflict:  # another one took it, or a renewal was carried out of which the answer was lost
                pass
            else:
                return
        # With a time of its own: what was carried out and is written once more would be a renewal that is not seen.
        self.held = self._write(self._ours(), replace(claim, renewed=micro_time(self._wall_clock())))

    def release(self) -> None:
        """Give the Lease back, so that another process need not wait for its end. Raises Lost and ApiErrors."""
        held = self._held()
        self.held = None
        now = micro_time(self._wall_clock())
        claim = replace(held.claim, holder=NOBODY, duration_s=_RELEASED_S, acquired=now, renewed=now)
        self._leases.update(held.lease or self._ours(), claim)

    def give_up(self) -> None:
        """Stop holding the Lease, though it may still name this process."""
        self.held = None

    def _held(self) -> HeldLease:
        if self.held is None:
            raise Lost(f"the Lease {self.name} is not held")
        return self.held

    def _look(self) -> Lease | None:
        lease = self._leases.read()
        self.observed = seen(self.observed, None if lease is None else lease.claim, self._clock())
        return lease

    def _ours(self) -> Lease:
        """The Lease as the API server has it, if it is still ours. Raises Lost."""
        lease = self._look()
        if lease is None or lease.claim.holder != self.identity:
            self.held = None
            raise Lost(f"the Lease {self.name} is {'gone' if lease is None else f'held by {lease.claim.shown}'}")
        return lease

    def _write(self, lease: Lease | None, claim: LeaseClaim) -> HeldLease:
        began = self._clock()
        written = self._leases.create(claim) if lease is None else self._leases.update(lease, claim)
        self.observed = ObservedLease(written.claim, began)
        return HeldLease(claim, began, written)

    def _first_claim(self, lease: Lease | None) -> LeaseClaim:
        now = micro_time(self._wall_clock())
        transitions = 0
        if lease is not None:
            transitions = lease.claim.transitions + (lease.claim.holder != self.identity)
        return LeaseClaim(self.identity, self._timings.written_duration_s, now, now, transitions)
