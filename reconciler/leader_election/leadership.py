"""What the rest of the runtime sees of leader election: timings, the lead and its states, and no election at all."""

import math
import threading
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

_CALL_SHARE = 0.75
"""Of the retry period, for one request: a call that hangs must not cost the next try as well."""
JITTER = 0.1
"""Share by which the retry period is shortened at random, so that several processes do not ask in step."""

LEAST_TRIES = 1.2
"""So many retry periods the renew deadline has to be longer than, as client-go has it."""


@dataclass(frozen=True, slots=True)
class Timings:
    """HCCM's three durations, with its defaults."""

    lease_duration_s: float = 15.0
    """How long others leave a Lease alone after its last renewal that they saw."""
    renew_deadline_s: float = 10.0
    """How long its holder leads after the start of its last renewal that succeeded. What is left of the duration is for
    writes that are under way by then."""
    retry_period_s: float = 2.0
    """From the start of one try to that of the next one."""

    @property
    def call_timeout_s(self) -> float:
        """How long one request for the Lease may take."""
        return self.retry_period_s * _CALL_SHARE

    @property
    def written_duration_s(self) -> int:
        """The duration as the Lease says it, in whole seconds, and never shorter than it is."""
        return math.ceil(self.lease_duration_s)

    def period_s(self, drawn: float) -> float:
        """From this try to the next one. ``drawn`` is between 0 and 1."""
        return self.retry_period_s * (1 - JITTER * drawn)


class LeadershipStatus(StrEnum):
    """The outcome of waiting for the lead."""

    LEADING = "leading"
    NOT_LEADER = "not_leader"
    """Another process is alive and leads."""
    FAILED = "failed"
    """The Lease could not be read or written."""
    STOPPED = "stopped"
    """The run was told to end first."""


@dataclass(frozen=True, slots=True)
class LeadResult:
    """The outcome of waiting for the lead, with one sentence for people where it did not succeed."""

    standing: LeadershipStatus
    why: str = ""


@dataclass(frozen=True, slots=True)
class LeaseSight:
    """What the last try to lead has shown of the Lease."""

    holder: str = ""
    """The other process that was read to hold it, for people; "" if none was."""
    trouble: str = ""
    """Why it could not be had, in one sentence for people; "" when nothing went wrong."""


class Leadership(Protocol):
    """Whether this process may write."""

    @property
    def identity(self) -> str:
        """The name under which it leads; "" where none has to."""

    def wait(self, stop: threading.Event, saw: Callable[[LeaseSight], object] | None = None) -> bool:
        """Wait until this process leads, however long it takes. False: ``stop`` was set first. ``saw`` hears before
        each pause of the last try to lead: a failed read is no sign of another leader."""

    def wait_until_leader(self, stop: threading.Event) -> LeadResult:
        """The same for a single run, which gives up as soon as another process is seen to be alive."""

    def is_leader(self) -> bool:
        """Whether it leads now. May be asked from any thread."""

    def may_write(self) -> None:
        """The gate before each write. Raises NotLeader. May be asked from any thread."""

    def when_lost(self, call: Callable[[], object]) -> None:
        """Have this called, from some thread, each time that the lead is lost."""

    def close(self, *, release: bool = True) -> None:
        """End: nothing may be written any more. ``release`` gives the Lease back, so that another process need not wait
        for its end; only for callers that know that no write is under way. Takes 2 s at most."""


class NoElection:
    """Leadership without an election: this process always leads. Implements ``Leadership``."""

    identity = ""

    def wait(self, stop: threading.Event, saw: Callable[[LeaseSight], object] | None = None) -> bool:  # noqa: ARG002
        """Whether the run continues."""
        return not stop.is_set()

    def wait_until_leader(self, stop: threading.Event) -> LeadResult:
        """LEADING, at once."""
        return LeadResult(LeadershipStatus.STOPPED if stop.is_set() else LeadershipStatus.LEADING)

    def is_leader(self) -> bool:
        """True."""
        return True

    def may_write(self) -> None:
        """Let every write pass."""

    def when_lost(self, call: Callable[[], object]) -> None:
        """Ignored: the lead is never lost."""

    def close(self, *, release: bool = True) -> None:
        """Nothing to give back."""
