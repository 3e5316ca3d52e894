"""Laws of the lead: two never have it at once, however requests, pauses and processes are interleaved, and when all is
well again one has it soon.

Each call to the Lease is a scene of its own: time may pass before it arrives and before it is answered, the others may
act meanwhile, and it may be lost on the way there or back, or arrive when nobody waits for it any more.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from random import Random
from typing import TypeVar

from hypothesis import example, given
from hypothesis import strategies as st

from actuators.http.errors import Conflict, Transient
from reconciler.leader_election.leadership import Timings
from tests.property.strategies import law_of_passes
from tests.support.leases import LeaseInMemory, Replica, Timeline
from tests.support.premises import premise

T = TypeVar("T")

PROCESSES = 2
TIMINGS = (Timings(), Timings(15.0, 14.9, 2.0), Timings(2.5, 1.0, 0.5))
SCENES = (*["plain"] * 6, "lost", "unanswered", "late", "slow", "slow")
"""What becomes of a call: all is well, it never arrives, its answer does not, it arrives after it was given up, or time
passes on its way."""
HAPPENINGS = (*["step"] * 12, "arrival", "end", "death")
SEEDS = st.integers(0, 2**32 - 1)
"""Of histories. They are drawn evenly: a history of which most is idle finds nothing."""


class FarLease(LeaseInMemory):
    """A Lease at the other end of such calls."""

    def __init__(self, world: "World") -> None:
        super().__init__()
        self._world = world

    def _call(self, _call: str, work: Callable[[], T]) -> T:
        return self._world.call(work)


class World:
    """Some processes, one Lease, and what is under way between them."""

    def __init__(self, seed: int) -> None:
        self.chance = Random(seed)
        self.timings = self.chance.choice(TIMINGS)
        self.leases = FarLease(self)
        self.most_leaders = 0
        """At once, at any time. Electors outlive any exception, so that none may be raised where they call."""
        self.led: set[Replica] = set()
        """All that have ever led."""
        self._now = 0.0
        self._busy: set[int] = set()
        self._under_way: list[Callable[[], object]] = []
        self._starts = 0
        self._calm = False
        self._clocks = [Timeline() for _ in range(PROCESSES)]
        self.replicas = [self._start(number) for number in range(PROCESSES)]

    def _start(self, number: int) -> Replica:
        self._starts += 1
        clock = self._clocks[number]
        clock.now = self._now + 1e4 * number  # no two machines count alike
        return Replica(self.leases, clock, f"process-{self._starts}", self.timings)

    def leaders(self) -> int:
        """How many may write now."""
        return sum(replica.elector.is_leader() for replica in self.replicas)

    def pass_time(self, seconds: float) -> None:
        """For all of them; what is asked for while others act passes after that."""
        self._now += seconds
        for number, clock in enumerate(self._clocks):
            clock.now = self._now + 1e4 * number
        self._count()

    def pause(self) -> None:
        """Some time passes."""
        lasts_s = float(self.timings.written_duration_s)
        lengths = (0.0, 0.0, self.timings.retry_period_s, self.timings.renew_deadline_s, lasts_s)
        about_s = self.chance.choice((*lengths, self.chance.uniform(0.0, lasts_s)))
        self.pass_time(max(0.0, about_s + self.chance.choice((-0.01, 0.0, 0.01))))

    def _count(self) -> None:
        self.led |= {replica for replica in self.replicas if replica.elector.is_leader()}
        self.most_leaders = max(self.most_leaders, self.leaders())

    def call(self, work: Callable[[], T]) -> T:
        """One call's way there and back."""
        scene = "plain" if self._calm else self.chance.choice(SCENES)
        if scene == "plain":
            return work()
        self._meanwhile()
        if scene == "lost":
            raise Transient("lost")
        if scene == "late":
            self._under_way.append(work)
            raise Transient("given up")
        answer = work()
        self._meanwhile()
        if scene == "unanswered":
            raise Transient("unanswered")
        return answer

    def _meanwhile(self) -> None:
        self.pause()
        if self.chance.random() < 0.5:
            self.act()

    def act(self) -> None:
        """Something happens that may happen at any time."""
        number = self.chance.randrange(PROCESSES)
        match self.chance.choice(HAPPENINGS):
            case "arrival" if self._under_way:
                with suppress(Conflict):
                    self._under_way.pop(0)()
            case "end" if number not in self._busy:
                with self._busy_with(number):
                    self.replicas[number].elector.close()
                    self.replicas[number].elector._give_back()
                self.replicas[number] = self._start(number)
            case "death" if number not in self._busy:
                self.replicas[number] = self._start(number)
            case _ if number not in self._busy:
                self.step(number)
        self._count()

    def step(self, number: int) -> None:
        """One try of a process: to take the Lease, or to renew it, as its loop and its thread do."""
        elector = self.replicas[number].elector
        with self._busy_with(number):
            if elector._candidate.held is None:
                elector._try()
            elif elector.is_leader():
                elector._renew()
            else:
                elector._candidate.give_up()

    @contextmanager
    def _busy_with(self, number: int) -> Iterator[None]:
        self._busy.add(number)
        yield
        self._busy.discard(number)

    def calm_down(self) -> None:
        """From now on all is well."""
        self._calm = True
        self._under_way.clear()


@law_of_passes({"the lead has changed hands": 0.5})
@example(244063289)  # a renewal whose answer was lost, and that was written once more with the same time
@given(SEEDS)
def test_two_never_lead_at_once(seed: int) -> None:
    """Whatever happens, and whoever is stopped for however long at whatever point."""
    world = World(seed)
    for _ in range(600):
        world.act()
        world.pause()
    premise("the lead has changed hands", is_met=len(world.led) > 1)
    assert world.most_leaders <= 1


@law_of_passes({"nobody leads when trouble ends": 0.4})
@given(SEEDS)
def test_soon_after_trouble_one_leads(seed: int) -> None:
    """Within the time that the Lease lasts and a try more."""
    world = World(seed)
    for _ in range(world.chance.randrange(20)):
        world.act()
        world.pause()
    premise("nobody leads when trouble ends", is_met=world.leaders() == 0)
    world.calm_down()
    timings = world.timings
    for _ in range(int((timings.written_duration_s + timings.retry_period_s) / timings.retry_period_s) + 2):
        for number in range(PROCESSES):
            world.step(number)
        world.pass_time(timings.retry_period_s * 0.99)

    assert (world.leaders(), world.most_leaders) == (1, 1)
