"""Suspensions: what the loop remembers of a change and holds against it for a while. The planner only reads them: see
``desired.guards.history``."""

from collections.abc import Mapping
from dataclasses import dataclass, field

BACK_OFF = "back-off"
"""The rule for changes that failed, and are not tried again at once."""
FLAPPING = "flapping"
"""The rule for changes that were made and undone several times."""


@dataclass(frozen=True, slots=True)
class Suspension:
    """The reason why one change is not tried now, and when it is again."""

    rule: str
    mark: str
    """Of the change that is meant (``desired.guards.history.mark_of``): another one of the same key is free."""
    why: str
    """One sentence for people; the same for as long as nothing new happens."""
    due_in_s: float
    error: str = ""
    """What it failed with the last time; "" unless it failed."""
    retry_after_s: float | None = None
    """What was said then of a better time; None when nothing was, as of most failures."""


@dataclass(frozen=True, slots=True)
class Bar:
    """What Hetzner has refused for every object of one scope (``quota``), and which of them is tried next, and when."""

    error: str
    """With which the last one was refused, and the remedy."""
    due_in_s: float
    """Until one may be tried; not above 0: now."""
    again_in_s: float
    """What the others wait then."""
    turns: Mapping[str, int] = field(default_factory=dict)
    """Key of a change → when it had its turn, or joined the others: higher is later. Who is not in here is last."""

    @property
    def why(self) -> str:
        """One sentence for people on those that are not tried."""
        return f"Hetzner refused another change of this kind, and one is tried at a time: {self.error}"
