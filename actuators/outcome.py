"""Outcomes of changes: how an actuator's attempt ended."""

from dataclasses import dataclass

STOPPED = "stopped before it began, by a signal or the deadline of --once"


@dataclass(frozen=True, slots=True)
class Applied:
    """Every write was accepted. Whether the world agrees is for the next observation to say."""


@dataclass(frozen=True, slots=True)
class Pending:
    """Not done, and nothing wrong: plan again after ``retry_after_s``."""

    why: str
    retry_after_s: float = 0.0
    is_busy: bool = False
    """Whether another change of the object is under way, which any other change of it would meet as well."""


PREEMPTED = Pending("paused for higher-priority changes")
GOES_ON = Pending("still running; its object is not changed until it ends")
"""The outcome of a change that a pass has left before it ended. Nothing is known to be wrong with it."""
OVERTAKEN = Pending("its object was still being changed when it was read")
"""The outcome of a change of an object on which one went on that an earlier pass had left."""
NOT_SEEN = Pending("applied; not yet visible in the API")
"""The outcome of a change that was applied and is still planned."""


@dataclass(frozen=True, slots=True)
class Skipped:
    """Not tried: something before it did not happen, or the run was stopped."""

    reason: str
    is_final: bool = False
    """Whether no further pass of the chain tries it."""
    refusal: str = ""
    """The error with which Hetzner has just refused another change like it."""


@dataclass(frozen=True, slots=True)
class Failed:
    """Tried and refused. ``error`` is one line for people; None as ``retry_after_s``: no better time is known."""

    error: str
    retry_after_s: float | None = None
    bars: str = ""
    """The scope of all changes that Hetzner would refuse likewise (guard ``quota``); "" when it is this one alone."""


Outcome = Applied | Pending | Skipped | Failed
