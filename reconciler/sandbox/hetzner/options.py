"""The settings of one simulated Hetzner Cloud project."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal


@dataclass(frozen=True, slots=True)
class HetznerOptions:
    """Times, limits and the choices that the reference could not establish. Raises ValueError for impossible ones."""

    action_s: float = 0.3
    """How long an action stays ``running``. 0: it is finished in the answer that announces it."""
    action_s_by_command: Mapping[str, float] = field(default_factory=dict)
    """The same for single commands: ``{"attach_to_network": 2.0}``."""
    jitter_s: float = 0.0
    """Up to so many seconds are added to each action, drawn with ``seed``."""
    rate_limit: int = 3600
    """Requests per hour, and the size of the burst."""
    visible_late_s: float = 0.0
    """Reads show the effect of a finished action this much later."""
    network_busy_code: Literal["conflict", "locked"] = "conflict"
    """What a network answers to a second change while one runs; both have been seen."""
    seed: int = 0
    """For jitter and correlation ids."""

    def __post_init__(self) -> None:
        times = {
            "action_s": self.action_s,
            "jitter_s": self.jitter_s,
            "visible_late_s": self.visible_late_s,
            **{f"action_s_by_command[{command}]": seconds for command, seconds in self.action_s_by_command.items()},
        }
        for name, seconds in times.items():
            if seconds < 0:
                raise ValueError(f"{name} is {seconds}: give 0 or more seconds")
        if self.rate_limit < 1:
            raise ValueError(f"rate_limit is {self.rate_limit}: give at least 1 request per hour")

    def seconds_of(self, command: str) -> float:
        """How long an action with this command runs, without jitter."""
        return self.action_s_by_command.get(command, self.action_s)
