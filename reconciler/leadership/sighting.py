"""What was seen of a Lease, and what follows from it for who would like to have it. Pure: times are given."""

from dataclasses import dataclass

from actuators.lease import NOBODY, Claim


@dataclass(frozen=True, slots=True)
class Sighting:
    """A claim, and the time on the own clock at which it was first seen as it is."""

    claim: Claim
    since: float

    def is_of_another(self, identity: str) -> bool:
        """Whether somebody else holds the Lease, or did not give it back."""
        return self.claim.holder not in (NOBODY, identity)

    def duration_s(self, default_s: float) -> float:
        """How long the claim lasts without being renewed; ``default_s`` where it does not say so."""
        return default_s if self.claim.duration_s is None else float(self.claim.duration_s)

    def free_at(self, identity: str, default_s: float) -> float:
        """The time from which on ``identity`` may take the Lease, unless it is renewed before."""
        return self.since + (self.duration_s(default_s) if self.is_of_another(identity) else 0.0)


def seen(before: Sighting | None, claim: Claim | None, now: float) -> Sighting | None:
    """The sighting after another look, which is the one before as long as nothing was renewed. ``claim`` is None when
    there is no Lease, and so is the answer when there never was one.

    A Lease that has vanished was not given back: whoever held it does not know yet, and goes on for a while.
    """
    if claim is None or (before is not None and before.claim == claim):
        return before
    return Sighting(claim, now)
