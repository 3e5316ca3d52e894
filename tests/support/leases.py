"""A Lease in memory, a clock that stands until somebody waits, and electors between the two."""

import threading
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from itertools import count
from typing import TypeVar

from actuators.http.errors import Conflict
from actuators.wire.lease import Lease, LeaseClaim
from reconciler.leader_election.elector import Elector
from reconciler.leader_election.leadership import Timings

T = TypeVar("T")

NAME = "kube-system/cloud-controller-manager"
OTHER = "other-host_1"
DURATION_S = 15
THEIRS = LeaseClaim(OTHER, DURATION_S, "2027-01-01T00:00:00.000000Z", "2027-01-01T00:00:00.000000Z", 3)
"""Somebody else's claim; what its times say is of no importance."""


class Timeline:
    """A clock that goes on when somebody waits, and does on its way what was planned."""

    def __init__(self, now: float = 1000.0) -> None:
        self.now = now
        self.waits: list[float] = []
        """How long somebody would have waited, each time."""
        self._plan: list[tuple[float, int, Callable[[], object]]] = []
        self._number = count()

    def clock(self) -> float:
        return self.now

    def wall_clock(self) -> datetime:
        return datetime(2027, 1, 15, tzinfo=UTC) + timedelta(seconds=self.now)

    def event(self) -> "Waiting":
        """An event on whose waits time passes."""
        return Waiting(self)

    def at(self, moment: float, action: Callable[[], object]) -> None:
        """Do this at that moment."""
        self._plan.append((moment, next(self._number), action))

    def after(self, seconds: float, action: Callable[[], object]) -> None:
        """Do this in so many seconds."""
        self.at(self.now + seconds, action)

    def every(self, seconds: float, times: int, action: Callable[[], object]) -> None:
        """Do this so often, for the first time after one period."""
        for turn in range(1, times + 1):
            self.after(seconds * turn, action)

    def advance(self, seconds: float, is_over: Callable[[], bool] = lambda: False) -> None:
        """Let time pass, up to the moment at which it is over."""
        until = self.now + seconds
        while due := [entry for entry in self._plan if entry[0] <= until]:
            entry = min(due, key=lambda entry: entry[:2])
            self._plan.remove(entry)
            self.now = max(self.now, entry[0])
            entry[2]()
            if is_over():
                return
        self.now = max(self.now, until)


class Waiting(threading.Event):
    """An event on whose waits the clock goes on; ``waits`` has their seconds."""

    def __init__(self, timeline: Timeline) -> None:
        super().__init__()
        self._timeline = timeline
        self.waits: list[float] = []

    def wait(self, timeout: float | None = None) -> bool:
        """Let the time pass that would be waited; a test in which that goes on for ever fails."""
        assert len(self.waits) < 10_000, "waits for ever"
        self.waits.append(timeout or 0.0)
        self._timeline.waits.append(round(timeout or 0.0, 3))
        self._timeline.advance(0.0 if self.is_set() else timeout or 0.0, self.is_set)
        return self.is_set()


def nothing(_call: str) -> None:
    """Let a call pass."""


class LeaseInMemory:
    """One Lease, as the API server keeps it. ``before`` and ``after`` hear of each call when it arrives and when it is
    answered, and may raise what it is answered instead."""

    name = NAME

    def __init__(self, claim: LeaseClaim | None = None) -> None:
        self._versions = count(1)
        self._uids = count(1)
        self.calls: list[str] = []
        self.before: Callable[[str], None] = nothing
        self.after: Callable[[str], None] = nothing
        self.lease: Lease | None = None
        if claim is not None:
            self.put(claim)

    @property
    def claim(self) -> LeaseClaim:
        assert self.lease is not None
        return self.lease.claim

    def put(self, claim: LeaseClaim) -> Lease:
        """Write it, whatever was there."""
        uid = f"{next(self._uids)}" if self.lease is None else self.lease.body["metadata"]["uid"]
        self.lease = Lease(claim, {"metadata": {"resourceVersion": f"{next(self._versions)}", "uid": uid}})
        return self.lease

    def renew(self) -> None:
        """Renew it in the name of whoever holds it."""
        self.put(replace(self.claim, renewed=f"renewal {next(self._versions)}"))

    def delete(self) -> None:
        self.lease = None

    def read(self) -> Lease | None:
        return self._call("read", lambda: self.lease)

    def create(self, claim: LeaseClaim) -> Lease:
        def made() -> Lease:
            if self.lease is not None:
                raise Conflict("there is one")
            return self.put(claim)

        return self._call("create", made)

    def update(self, lease: Lease, claim: LeaseClaim) -> Lease:
        meant = dict(lease.body["metadata"])

        def changed() -> Lease:
            if self.lease is None or self.lease.body["metadata"] != meant:
                raise Conflict("it is another one")
            return self.put(claim)

        return self._call("update", changed)

    def _call(self, call: str, work: Callable[[], T]) -> T:
        self.calls.append(call)
        self.before(call)
        answer = work()
        self.after(call)
        return answer


@dataclass
class NoThread:
    """What would run beside a test: ``run`` runs it, in the test's own thread."""

    target: Callable[[], object]
    is_running: bool = False
    joined: list[float | None] = field(default_factory=list)

    def is_alive(self) -> bool:
        """Whether it runs: only when the test says so."""
        return self.is_running

    def join(self, timeout: float | None = None) -> None:
        self.joined.append(timeout)


class Replica:
    """One elector, its clock, and what runs beside it."""

    def __init__(
        self, leases: LeaseInMemory, timeline: Timeline, identity: str = "me", timings: Timings | None = None
    ) -> None:
        self.timeline = timeline
        self.stop = Waiting(timeline)
        self.closing = Waiting(timeline)
        self.threads: list[NoThread] = []
        self.lost: list[float] = []
        """When the lead was lost."""
        self.elector = Elector(
            leases,
            timings or Timings(),
            identity=identity,
            clock=timeline.clock,
            wall_clock=timeline.wall_clock,
            draw=lambda: 0.0,
            beside=self._beside,
            closing=self.closing,
        )
        self.elector.when_lost(lambda: self.lost.append(timeline.now))

    def _beside(self, target: Callable[[], object], _name: str) -> NoThread:
        self.threads.append(NoThread(target))
        return self.threads[-1]

    def leads(self) -> bool:
        """Whether it has the lead, after waiting for it until that or until its stop is set."""
        return self.elector.wait(self.stop)

    def keep(self) -> None:
        """Renew until the lead is lost, or ``closing`` is set."""
        self.threads[-1].target()
