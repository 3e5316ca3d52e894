"""Comparison of the clocks of Kubernetes, of Hetzner and of this process.

An age is a difference of times that others tell. If the clock of an API server is an hour ahead, for which one replica
of a control plane is enough, each silent Node looks as if it had been silent for an hour longer.
"""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from desired.syntax.bounds import counted

TOLERANCE = timedelta(minutes=1)
"""How far two clocks may be apart and still agree."""
LOOK_AGAIN_S = 60.0
"""When what waits for clocks is worth another look: it is not known when somebody sets them."""


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
        the two of them outvote nobody."""
        return _is_far(self.jump) or _is_far(self.process if self.hetzner is None else self.hetzner)


NO_OTHER_CLOCKS = Clocks()
"""Nothing is known but Kubernetes' time."""


def explain_clocks(clocks: Clocks) -> str | None:
    """Text: whose clock is off, by how much, what that means, and what to do; None when all agree."""
    if clocks.differ:
        return (
            f"{_disagreement(clocks)}; what depends on an age waits, such as the deletion of a Node, and no approval in"
            " the ConfigMap counts. Set the time of the machines by NTP, those of the control plane first"
        )
    if _is_far(clocks.process):
        others = "Kubernetes'" if clocks.hetzner is None else "Kubernetes' and Hetzner's"
        ahead = _ahead(clocks.process or timedelta(0))
        return f"this machine's clock is {ahead} {others}; nothing waits for that. Set the machine's time by NTP"
    return None


def _disagreement(clocks: Clocks) -> str:
    """Text: whose clock disagrees with which, Kubernetes' being one of them."""
    hetzner, process = clocks.hetzner, clocks.process
    if _is_far(hetzner) and hetzner is not None:
        if process is not None and not _is_far(process):
            return f"Hetzner's clock is {_ahead(hetzner)} Kubernetes' and this machine's"
        if process is not None and not _is_far(process - hetzner):
            return f"Kubernetes' clock is {_ahead(-hetzner)} Hetzner's and this machine's"
        alone = "" if process is None else ", and this machine's agrees with neither"
        return f"Kubernetes' clock is {_ahead(-hetzner)} Hetzner's{alone}"
    if _is_far(clocks.jump):
        return f"answers of Kubernetes' API servers differ by {_roughly(clocks.jump)}: one of them has a wrong clock"
    return f"Kubernetes' clock is {_ahead(-(process or timedelta(0)))} this machine's, and Hetzner's is not known"


def _is_far(apart: timedelta | None) -> bool:
    return apart is not None and abs(apart) > TOLERANCE


def _ahead(apart: timedelta) -> str:
    """``about 60 minutes ahead of``, or behind."""
    return f"{_roughly(abs(apart))} {'ahead of' if apart > timedelta(0) else 'behind'}"


def _roughly(apart: timedelta) -> str:
    """So coarse that the same trouble reads the same in the next pass."""
    minutes = round(apart.total_seconds() / 60)
    if minutes < 120:
        return f"about {counted(max(1, minutes), 'minute')}"
    hours = round(minutes / 60)
    return f"about {hours} hours" if hours < 72 else f"about {round(hours / 24)} days"


def parse_moment(text: str) -> datetime:
    """The moment that a text in ISO 8601 with a zone names, in UTC. Raises ValueError for another text, TypeError for
    what is none, and OverflowError where UTC has no such year."""
    moment = datetime.fromisoformat(text)
    if moment.tzinfo is None:
        raise ValueError(f"{text!r} has no zone")
    return moment.astimezone(UTC)


def shown_moment(moment: datetime, now: datetime) -> str:
    """``22 Nov 07:23 UTC`` as a sentence has it, with the year where that is not this one."""
    moment, year = moment.astimezone(UTC), now.astimezone(UTC).year
    return f"{moment.day} {moment:%b}{f' {moment.year}' if moment.year != year else ''} {moment:%H:%M} UTC"
