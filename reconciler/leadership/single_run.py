"""How long a single run waits for the lead, and what it makes of not having it (design section 7). Pure."""

from dataclasses import dataclass

from actuators.errors import Denied, Invalid, NotFound
from reconciler.leadership.leadership import Outcome, Standing
from reconciler.leadership.sighting import Sighting

BEYOND_S = 5.0
"""It waits for this much longer than the Lease lasts."""
_HOPELESS = (Denied, Invalid, NotFound)
"""What does not pass by waiting: no right to the Lease, a name that is none, a namespace that is not there."""


@dataclass(slots=True)
class SingleRun:
    """One wait of a process that runs once, with what it saw first of somebody else's Lease."""

    lease: str
    """Its name, for messages."""
    identity: str
    default_s: float
    """How long a Lease lasts that does not say so."""
    first: Sighting | None = None

    def verdict(self, sighting: Sighting | None, error: Exception | None, waited_s: float) -> Outcome | None:
        """What a try comes to that did not get the Lease; None: to another one.

        NOT_LEADER when another process was seen to renew the Lease, or to take it; FAILED when no waiting helps, or
        none did for as long as the Lease lasts and 5 s more.
        """
        foreign = sighting if sighting is not None and sighting.is_of_another(self.identity) else None
        self.first = self.first or foreign
        if foreign is not None and foreign != self.first:
            why = f"the Lease {self.lease} was renewed meanwhile by {foreign.claim.shown}"
            return Outcome(Standing.NOT_LEADER, why)
        if isinstance(error, _HOPELESS):
            return Outcome(Standing.FAILED, f"the Lease {self.lease} cannot be had: {error}")
        longest_s = BEYOND_S + (self.default_s if self.first is None else self.first.duration_s(self.default_s))
        if waited_s < longest_s:
            return None
        why = f"the Lease {self.lease} could not be had in {longest_s:g} s"
        return Outcome(Standing.FAILED, why if error is None else f"{why}: {error}")
