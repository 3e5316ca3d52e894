"""Elector: waits for the lead, keeps it in a thread of its own, and answers whether it is still held."""

import logging
import math
import random
import socket
import threading
import uuid
from collections.abc import Callable, Iterator
from datetime import datetime

from actuators.concurrency import THREADS, Task, boot_clock, start_thread
from actuators.http.errors import Denied, Invalid, NotFound, NotLeader
from reconciler.leader_election.candidate import LeaseApi, LeaseCandidate, Lost
from reconciler.leader_election.leadership import LeadershipStatus, LeadResult, LeaseSight, Timings

_log = logging.getLogger("hcloud-reconciler.leadership")

LOOK_SHARE = 0.75
"""Share of the retry period between two reads of another's Lease: one that is given back is taken within a period."""
BEYOND_S = 5.0
"""How much longer than the Lease lasts a single run waits for it."""
_HOPELESS = (Denied, Invalid, NotFound)
"""Errors that do not pass by waiting: no right to the Lease, an invalid name, a missing namespace."""
RELEASE_S = 2.0
"""How long the end waits for the Lease to be given back; what takes longer is left to run out."""


def new_identity() -> str:
    """The identity of this process for the Lease: the host's name and a random part, as HCCM has it."""
    return f"{socket.gethostname()}_{uuid.uuid4()}"


class Elector:
    """The lead by a Lease. Implements ``Leadership``.

    The lead is only ever taken while its owner waits for it, between two passes. So a pass that was begun before it was
    lost never writes again, even when it is had back meanwhile: what the pass knows is from before another one led.
    """

    def __init__(
        self,
        leases: LeaseApi,
        timings: Timings,
        *,
        identity: str | None = None,
        clock: Callable[[], float] = boot_clock,
        wall_clock: Callable[[], datetime] = THREADS.now,
        draw: Callable[[], float] = random.random,
        beside: Callable[[Callable[[], object], str], Task] = start_thread,
        closing: threading.Event | None = None,
    ) -> None:
        """``draw`` is evenly from 0 to 1; ``beside`` starts what renews the Lease, and that waits on ``closing``."""
        self.identity = identity or new_identity()
        self._sight = LeaseSight()
        """Set in the thread that waits, and so never by a renewal."""
        self._candidate = LeaseCandidate(leases, timings, self.identity, clock, wall_clock)
        self._timings = timings
        self._clock = clock
        self._draw = draw
        self._beside = beside
        self._keeping: Task | None = None
        self._closing = closing or THREADS.event()
        self._releases = False
        self._listeners: list[Callable[[], object]] = []
        self._said = ""

    def is_leader(self) -> bool:
        """Whether the renew deadline since the start of the last renewal has not passed yet."""
        until = self._leads_until()
        return not self._closing.is_set() and self._clock() < until  # the clock last: anything may pause a process

    def may_write(self) -> None:
        """Return when this process leads. Raises NotLeader when it does not, or is no longer sure to."""
        if not self.is_leader():
            raise NotLeader(f"nothing is written: this process does not hold the Lease {self._candidate.name} now")

    def when_lost(self, call: Callable[[], object]) -> None:
        """Have this called, from the renewing thread, each time that the lead is lost."""
        self._listeners.append(call)

    def wait(self, stop: threading.Event, saw: Callable[[LeaseSight], object] | None = None) -> bool:
        """Stand by until this process leads, whatever the API does. Returns False if ``stop`` was set first. ``saw``
        hears before each pause of the last try."""
        for _ in self._tries(stop):
            if saw is not None:
                saw(self._sight)
        return not self._is_over(stop)

    def wait_until_leader(self, stop: threading.Event) -> LeadResult:
        """LEADING as soon as the Lease is had, for which it waits until the one that it saw ran out; NOT_LEADER as soon
        as another process was seen to renew it meanwhile, or to take it; FAILED when no waiting helps, or none helped
        for 5 s longer than the Lease lasts."""
        began, lease, first = self._clock(), f"the Lease {self._candidate.name}", None
        for error in self._tries(stop):
            observed, default_s = self._candidate.observed, self._timings.lease_duration_s
            if observed is not None and observed.is_of_another(self.identity):
                first = first or observed
                if observed != first:
                    why = f"{lease} was renewed meanwhile by {observed.claim.shown}"
                    return LeadResult(LeadershipStatus.NOT_LEADER, why)
            if isinstance(error, _HOPELESS):
                return LeadResult(LeadershipStatus.FAILED, f"{lease} cannot be acquired: {error}")
            longest_s = BEYOND_S + (default_s if first is None else first.duration_s(default_s))
            if self._clock() - began >= longest_s:
                why = f"{lease} could not be acquired in {longest_s:g} s"
                return LeadResult(LeadershipStatus.FAILED, why if error is None else f"{why}: {error}")
        if self._is_over(stop):
            holder = f", held by {first.claim.shown}" if first else ""
            return LeadResult(LeadershipStatus.STOPPED, f"stopped while waiting for {lease}{holder}")
        return LeadResult(LeadershipStatus.LEADING)

    def close(self, *, release: bool = True) -> None:
        """The end: from now on nothing may be written. With ``release`` the Lease is given back if it is held, for
        which this waits 2 s at most."""
        self._releases = release
        self._closing.set()
        keeping = self._keeping
        if keeping is not None:
            keeping.join(RELEASE_S)

    def _is_over(self, stop: threading.Event) -> bool:
        return stop.is_set() or self._closing.is_set()

    def _tries(self, stop: threading.Event) -> Iterator[Exception | None]:
        """Try until this process leads, or the wait is over. Before each pause, the error of the last try; None if
        there was none, as another process has the Lease."""
        while not self._is_over(stop) and not self.is_leader():
            began = self._clock()
            pause_s = self._timings.period_s(self._draw())
            error = None
            if self._keeping is None or not self._keeping.is_alive():  # else it is about to renew, or to give up
                error = self._try()
                if self.is_leader():
                    return
                if error is None:  # another one has the Lease, which may run out or be given back before
                    pause_s = min(LOOK_SHARE * pause_s, self._candidate.free_at - began)
            yield error
            stop.wait(max(0.0, began + pause_s - self._clock()))

    def _try(self) -> Exception | None:
        """Take the Lease if it is free. What went wrong; None when nothing did, whether it was free or not."""
        try:
            if self._candidate.take():
                self._sight = LeaseSight()
                self._say(logging.INFO, self._leading)
                self._keeping = self._beside(self._keep, "lease")
            elif self._candidate.observed is not None:
                claim = self._candidate.observed.claim
                self._sight = LeaseSight(holder=claim.shown)
                lasts = "" if claim.duration_s is None else f", for {claim.duration_s} s from each renewal"
                self._say(
                    logging.INFO, f"standing by: the Lease {self._candidate.name} is held by {claim.shown}{lasts}"
                )
        except Exception as error:  # noqa: BLE001 - whatever it is, the next try may fare better
            self._sight = LeaseSight(trouble=f"the Lease {self._candidate.name} could not be acquired: {error}")
            self._say(logging.WARNING, self._sight.trouble)
            return error
        return None

    def _keep(self) -> None:
        """Renew the Lease until it is lost, or this process comes to its end. This is what runs in the thread."""
        due = self._clock() + self._timings.period_s(self._draw())
        why = "its renewal came too late"
        while (now := self._clock()) < (deadline := self._leads_until()):
            if self._closing.wait(max(0.0, min(due, deadline) - now)):
                self._give_back()
                return
            if (now := self._clock()) < deadline:
                due = now + self._timings.period_s(self._draw())
                why = self._renew() or why
        self._candidate.give_up()
        self._keeping = None
        self._say(logging.WARNING, f"no longer leading: {why}")
        for call in self._listeners:
            call()

    def _leads_until(self) -> float:
        held = self._candidate.held
        return -math.inf if held is None else held.renewed_at + self._timings.renew_deadline_s

    def _renew(self) -> str:
        """Renew the Lease. What went wrong, "" when nothing did."""
        try:
            self._candidate.renew()
        except Exception as error:  # noqa: BLE001 - a bug must not keep the owner from hearing that the lead is lost
            if not isinstance(error, Lost):
                self._say(logging.WARNING, f"the Lease {self._candidate.name} could not be renewed: {error}")
            return str(error)
        self._say(logging.INFO, self._leading)
        return ""

    def _give_back(self) -> None:
        if self._releases:
            try:
                self._candidate.release()
                _log.info("the Lease %s was released", self._candidate.name)
            except Exception as error:  # noqa: BLE001 - at the end nothing depends on it
                _log.warning("the Lease %s was not released, and expires: %s", self._candidate.name, error)
        self._candidate.give_up()

    @property
    def _leading(self) -> str:
        return f"leading: the Lease {self._candidate.name} is held as {self.identity}"

    def _say(self, level: int, text: str) -> None:
        """Log what differs from what was logged last: continuing trouble is reported once."""
        if text != self._said:
            _log.log(level, "%s", text)
        self._said = text
