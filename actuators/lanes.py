"""Lanes: changes that have begun and not ended. A pass, or a chain of passes, gives way without them: they go on in
threads of their own, and what they lock is left alone until they end.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from queue import Empty
from typing import TYPE_CHECKING

from actuators.concurrency import THREADS, Concurrency
from actuators.http.connection import RequestTrace
from actuators.outcome import Outcome
from desired.plan.change import Change
from desired.plan.kinds import ChangeKind
from desired.plan.ordering import locks_of, networks_of

if TYPE_CHECKING:
    from concurrent.futures import Future
    from queue import SimpleQueue

STUCK_S = 10.0
"""Age from which a change holds up nothing but its own object. An attachment to a network, the slowest of the changes
that end by themselves, takes about as long."""
BRIEF_S = 2.0
"""Age up to which a chain that is to give way waits for a change: most have ended by then."""
WORK_S = 3.0
"""Seconds for which a chain begins changes at Hetzner however often it is called for: else it might never."""
_LOOK_S = 0.2


@dataclass(eq=False, slots=True)
class Lane:
    """One change, and what it holds while it is carried out."""

    change: Change
    locks: frozenset[str] = frozenset()
    networks: frozenset[str] = frozenset()
    """Those of its locks that are networks."""
    began: float = 0.0
    """When it got a thread, by the clock, or began to wait for one."""
    trace: RequestTrace = field(default_factory=RequestTrace)
    """What it has requested of Hetzner."""
    future: "Future[Outcome] | None" = None
    """None while something is before it."""

    @classmethod
    def of(cls, change: Change) -> "Lane":
        """The lane of a change that has not begun."""
        return cls(change, locks_of(change), networks_of(change))

    def age_s(self, now: float) -> float:
        """Seconds since it got a thread, or began to wait for one."""
        return now - self.began

    def is_stuck(self, now: float) -> bool:
        """Whether it takes longer than what ends by itself."""
        return self.future is not None and self.future.running() and self.age_s(now) >= STUCK_S

    def shares_object(self, other: "Lane") -> bool:
        """Whether both change one object, whatever networks they share beside it."""
        return self.change.key == other.change.key or not self.locks.isdisjoint(other.locks - other.networks)

    def comes_after(self, other: "Lane") -> bool:
        """Whether it has to wait for the other one even if no network is shared."""
        return other.change.key in (*self.change.depends_on, *self.change.follows) or self.shares_object(other)

    @property
    def taken(self) -> frozenset[str]:
        """The locks that others hold when its object is busy: of an attachment, the load balancer's alone."""
        return self.locks - self.networks if self.change.kind == ChangeKind.LB_NETWORK else self.locks


class UnderWay:
    """The lanes that passes have left, for all chains of a run. Used by the thread of the passes alone."""

    def __init__(self, concurrency: Concurrency = THREADS, *, may_leave: bool = True) -> None:
        """``may_leave`` False is for a run that ends by itself: nothing may be left then."""
        self.concurrency = concurrency
        self.clock = concurrency.clock
        self.may_leave = may_leave
        self.left: list[Lane] = []
        self._at_work_since: float | None = None

    @property
    def goes_on(self) -> bool:
        """Whether anything that was left has not ended."""
        return any(lane.future is not None and not lane.future.done() for lane in self.left)

    def begin_chain(self) -> tuple[tuple[Change, Outcome], ...]:
        """A chain begins, which has not begun any change yet. Returns what has ended before it."""
        self._at_work_since = None
        return tuple(self.ended())

    def take(self, ended: "SimpleQueue[Lane]") -> Lane | None:
        """Wait a moment for a lane to end; None: none has."""
        try:
            return ended.get(timeout=_LOOK_S)
        except Empty:
            return None

    def begin_writes(self) -> None:
        """A pass begins to carry out changes."""
        if self._at_work_since is None:
            self._at_work_since = self.clock()

    def has_worked(self) -> bool:
        """Whether this chain has carried out changes for long enough to give way."""
        return self._at_work_since is not None and self.clock() - self._at_work_since >= WORK_S

    def ended(self) -> Iterator[tuple[Change, Outcome]]:
        """The changes that have ended since they were left, each once, with how."""
        done = [lane for lane in self.left if lane.future is not None and lane.future.done()]
        self.left = [lane for lane in self.left if lane not in done]
        for lane in done:
            if lane.future is not None:
                yield lane.change, lane.future.result()

    def keeps_back(self, change: Change) -> bool:
        """Whether something goes on that was left, and changes the same object."""
        lane = Lane.of(change)
        return any(lane.shares_object(other) for other in self.left)
