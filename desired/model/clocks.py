"""Comparison of the clocks of Kubernetes, of Hetzner and of this process.

An age is a difference of times that others tell. If the clock of an API server is an hour ahead, for which one replica
of a control plane is enough, each silent Node looks as if it had been silent for an hour longer.
"""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

TOLERANCE = timedelta(minutes=1)
"""How far two clocks may be apart and still agree."""
LOOK_AGAIN_S = 60.0
"""When what waits for clocks is worth another look: it is not known when they are set."""


@dataclass(frozen=True, slots=True)
class Clocks:
    """Differences of the other clocks from Kubernetes' when the snapshot was taken: positive when they were ahead."""

    hetzner: timedelta | None = None
    """None when no answer of Hetzner's had a time."""
    process: timedelta | None = None
    """This machine's; None where it says nothing, as in a plan from a file."""
    jump: timedelta = timedelta(0)
    """How far Kubernetes' own answers were apart: API servers behind one address have a clock each."""

    @property
    def differ(self) -> bool:
        """Whether Kubernetes' clock cannot be trusted with an age: it disagrees with itself or with Hetzner's, or with
        this machine's where Hetzner's is not known. This machine may have the API server's own wrong clock, so that
        two of them are no majority."""
        return is_far(self.jump) or is_far(self.process if self.hetzner is None else self.hetzner)

    @property
    def ahead(self) -> timedelta:
        """How far the latest of the other clocks is ahead of Kubernetes'; never negative."""
        return max(timedelta(0), self.hetzner or timedelta(0), self.process or timedelta(0), abs(self.jump))


NO_OTHER_CLOCKS = Clocks()
"""Nothing is known but Kubernetes' time."""


def is_far(apart: timedelta | None) -> bool:
    """Whether two clocks that are so far apart disagree; False where it is not known."""
    return apart is not None and abs(apart) > TOLERANCE


def parse_moment(text: str) -> datetime:
    """The moment that a text in ISO 8601 with a zone names, in UTC. Raises ValueError for another text, TypeError for
    what is none, and OverflowError where UTC has no such year."""
    moment = datetime.fromisoformat(text)
    if moment.tzinfo is None:
        raise ValueError(f"{text!r} has no zone")
    return moment.astimezone(UTC)


def shown_moment(moment: datetime, *, to_seconds: bool = False) -> str:
    """``2026-11-22 07:23 UTC``: a time as people read it, wherever that is; of a reading to the second."""
    moment = moment.astimezone(UTC)
    return f"{moment:%Y-%m-%d %H:%M:%S} UTC" if to_seconds else f"{moment:%Y-%m-%d %H:%M} UTC"
