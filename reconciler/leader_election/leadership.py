"""What the rest of the shell sees of leadership, whether a Lease decides on it or nothing does."""

import threading
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol


class LeadershipStatus(StrEnum):
    """How waiting for the lead came out."""

    LEADING = "leading"
    NOT_LEADER = "not_leader"
    """Another process is alive and leads."""
    FAILED = "failed"
    """The Lease could not be read or written."""
    STOPPED = "stopped"
    """The run was told to end first."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """How waiting for the lead came out, with one sentence for people where it did not succeed."""

    standing: LeadershipStatus
    why: str = ""


@dataclass(frozen=True, slots=True)
class Look:
    """What a try to lead has shown of the Lease."""

    is_of_another: bool = False
    """Whether it was read, and is somebody else's."""
    trouble: str = ""
    """Why it could not be had, in one sentence for people; "" when nothing went wrong."""


class Leadership(Protocol):
    """Whether this process may write."""

    @property
    def last_look(self) -> Look:
        """What the last try to lead has shown. Not being able to look is no sign of another leader."""

    def wait(self, stop: threading.Event) -> bool:
        """Wait until this process leads, however long it takes. False: ``stop`` was set first."""

    def wait_until_leader(self, stop: threading.Event) -> Outcome:
        """The same for a single run, which gives up as soon as another process is seen to be alive."""

    def is_leader(self) -> bool:
        """Whether it leads now. May be asked from any thread."""

    def may_write(self) -> None:
        """The gate before each write. Raises NotLeader. May be asked from any thread."""

    def when_lost(self, call: Callable[[], object]) -> None:
        """Have this called, from some thread, each time that the lead is lost."""

    def close(self, *, release: bool = True) -> None:
        """The end: nothing may be written any more. ``release`` gives the Lease back, so that another process need not
        wait for its end; it is for who knows that no write is under way. Takes 2 s at most."""


class NoElection:
    """Always leads. Implements ``Leadership``."""

    @property
    def last_look(self) -> Look:
        """There is no Lease, and so nobody else's."""
        return Look()

    def wait(self, stop: threading.Event) -> bool:
        """Whether the run goes on."""
        return not stop.is_set()

    def wait_until_leader(self, stop: threading.Event) -> Outcome:
        """LEADING, at once."""
        return Outcome(LeadershipStatus.STOPPED if stop.is_set() else LeadershipStatus.LEADING)

    def is_leader(self) -> bool:
        """True."""
        return True

    def may_write(self) -> None:
        """Let every write pass."""

    def when_lost(self, call: Callable[[], object]) -> None:
        """It never is."""

    def close(self, *, release: bool = True) -> None:
        """There is nothing to give back."""
