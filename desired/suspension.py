"""What the loop remembers of a change and holds against it for a while. The core only reads it: see
``patience_guards``."""

from dataclasses import dataclass

BACK_OFF = "back-off"
"""The rule of what failed, and is not tried again at once."""
FLAPPING = "flapping"
"""The rule of what was done and undone several times."""


@dataclass(frozen=True, slots=True)
class Suspension:
    """Why one change is not tried now, and when it is again."""

    rule: str
    mark: str
    """Of the change that is meant (``patience_guards.mark_of``): another one of the same key is free."""
    why: str
    """One sentence for people; the same for as long as nothing new happens."""
    due_in_s: float
    error: str = ""
    """What it failed with the last time; "" unless it failed."""
    retry_after_s: float | None = None
    """What was said then of a better time; None when nothing was, as of most failures."""
