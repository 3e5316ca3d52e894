"""Many clusters in one project with ``--share-rate-limit``: equal shares, and no refusal once they have settled.

A few fleets in each run; ``scripts/soak`` has all. With ``-rP`` they print what docs/timing.md has.
"""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from random import Random

import pytest

from actuators.http.call_budget import CallBudget
from actuators.http.errors import Throttled
from actuators.http.hetzner import RateLimit
from desired.rules import guards as rules
from hcloud_sandbox.hetzner.simulator import TokenBucket
from reconciler.config.config import load_config
from reconciler.config.options import Command
from reconciler.leader_election.leadership import NoElection
from reconciler.passes.loop import Wake, run_loop
from reconciler.passes.pacing import ENOUGH, KEPT, Pace, Pacing
from reconciler.result import Report, Requests
from reconciler.telemetry.pass_logger import Measured
from tests.support.cooperative import Scheduler
from tests.support.sampling import sample

HOUR_S = 3600.0


@dataclass
class Project:
    """The rate limit that all share, and what was refused."""

    scheduler: Scheduler
    limit: int = 3600
    refused: list[float] = field(default_factory=list)
    """When a request was answered with 429."""

    def __post_init__(self) -> None:
        self.change_limit(self.limit)

    def change_limit(self, limit: int) -> None:
        self.limit, self._bucket = limit, TokenBucket(self.scheduler.clock, limit)

    def call(self) -> bool:
        if self._bucket.take():
            return True
        self.refused.append(self.scheduler.now)
        return False

    @property
    def seen(self) -> RateLimit:
        """What each answer says."""
        return RateLimit(self.limit, int(self._bucket.headers()["RateLimit-Remaining"]))

    @property
    def left(self) -> float:
        return self.seen.remaining / self.limit


@dataclass
class Client:
    """A controller of one cluster."""

    project: Project
    reads: int
    random: Random
    shares: bool = True
    passes: list[float] = field(default_factory=list)
    calls: list[float] = field(default_factory=list)
    news: list[float] = field(default_factory=list)
    """When a pass had another note than the one before."""

    def __post_init__(self) -> None:
        scheduler = self.project.scheduler
        flags = {"--share-rate-limit": "true"} if self.shares else {}
        config = load_config(Command.RUN, flags, {"HCLOUD_TOKEN": "t" * 64})
        self._known: RateLimit | None = None
        self._budget = CallBudget(lambda: scheduler.now)
        self.pacing = Pacing(config)
        concurrency = scheduler.concurrency()
        self._stop = concurrency.event()
        self.wake = Wake(self._stop, clock=lambda: scheduler.now, event=concurrency.event)
        self.report = Report()

    def run(self) -> None:
        self.project.scheduler.sleep(self.random.random() * 60.0)
        run_loop(self._pass, stop=self._stop, publish=lambda _: None, wake=self.wake, leader=NoElection())

    def _pass(self, why: str) -> tuple[Measured, Pace]:
        self._budget.begin_pass()
        self.passes.append(self.project.scheduler.now)
        trouble: tuple[str, ...] = ()
        before = len(self.calls)
        for _ in range(self.reads):
            try:
                self._call()
            except Throttled as error:
                trouble = (str(error),)
                break
        known = self._known or RateLimit(3600, 3600)
        sent = Requests(hetzner=len(self.calls) - before, limit=known.limit, remaining=known.remaining)
        noted = self.report.notes
        self.report = self.pacing.noted(Report(errors=trouble, requests=sent))
        if self.report.notes != noted:
            self.news.append(self.project.scheduler.now)
        self.pace = replace(self.pacing.after(self.report), draw=self.random.random)
        return Measured(self.report, 0.0, why), self.pace

    def _call(self) -> None:
        self._budget.spend()
        self.calls.append(self.project.scheduler.now)
        is_answered = self.project.call()
        self._known = self.project.seen
        self._budget.allow(self._known.limit)
        if not is_answered:
            raise Throttled("429", retry_after_s=1.0)

    def calls_since(self, moment: float) -> int:
        return sum(at >= moment for at in self.calls)


class Fleet:
    """Clients of one project, which begin within one minute."""

    def __init__(self, clients: int, reads: int, *, limit: int = 3600, seed: int = 1, shares: bool = True) -> None:
        self.scheduler = Scheduler(seed)
        self.project = Project(self.scheduler, limit)
        self.clients = [Client(self.project, reads, Random(f"{seed} {each}"), shares) for each in range(clients)]
        self._left: list[tuple[float, float]] = []

    def __enter__(self) -> "Fleet":
        for number, client in enumerate(self.clients):
            self.scheduler.start_process(f"client {number}", client.run)
        return self

    def __exit__(self, *_: object) -> None:
        self.scheduler.close()

    def beside(self, every_s: float, calls: int) -> None:
        """Let a client that heeds nothing send so many calls again and again."""

        def send() -> None:
            while True:
                for _ in range(calls):
                    self.project.call()
                self.scheduler.sleep(every_s)

        self.scheduler.start_process("greedy", send)

    def pass_hours(self, hours: float, look: Callable[[], object] = lambda: None) -> None:
        """Let so much time pass, and ``look`` each minute."""
        for _ in range(round(hours * 60)):
            self.scheduler.sleep(60.0)
            self._left.append((self.scheduler.now, self.project.left))
            look()

    def left_since(self, moment: float) -> float:
        """The mean of what was left."""
        seen = [left for at, left in self._left if at >= moment]
        return sum(seen) / len(seen)

    def calls_since(self, moment: float) -> list[int]:
        """Calls of each client."""
        return [client.calls_since(moment) for client in self.clients]

    def least_share_since(self, moment: float) -> float:
        """The least calls of a client by the most."""
        calls = self.calls_since(moment)
        return min(calls) / max(calls)

    def settled_at(self) -> float:
        """The moment, in seconds, after which what is left stays within a third of its mean in the last two hours."""
        mean = self.left_since(self.scheduler.now - 2 * HOUR_S)
        off = [at for at, left in self._left if abs(left - mean) > mean / 3]
        return off[-1] if off else 0.0


HOURS, JUDGED = 6, 3
"""How long each runs, and how many of these hours, the last ones, are judged."""
MEAN_PAUSE = 0.9
"""Of a pause that is shortened by up to a fifth."""


@dataclass(frozen=True)
class Case:
    """Clusters of which each pass takes so many calls, beside a client that heeds nothing."""

    clients: int
    reads: int
    beside: int = 0
    """Calls an hour of that client."""
    least_share: float = 0.8
    """Of the calls that the busiest cluster has, those of the least busy one."""
    tolerance: float = 0.2
    """Relative to what should be left."""
    most_refused: float = 0.0
    """Share of the calls."""

    @property
    def factor(self) -> float:
        """How many times longer pauses have to be so that all together send what refills."""
        load = self.clients * self.reads * 60 / MEAN_PAUSE
        return load / (3600 - self.beside)

    @property
    def left(self) -> float:
        return KEPT + (ENOUGH - KEPT) / self.factor


FLEETS = [
    pytest.param(Case(40, 10), id="forty that read ten pages"),
    pytest.param(Case(40, 10, beside=600), id="forty beside a greedy client"),
    pytest.param(Case(100, 4), id="a hundred"),
    pytest.param(Case(100, 4, beside=600), id="a hundred beside a greedy client"),
    pytest.param(Case(20, 4), id="twenty"),
    pytest.param(Case(100, 13, least_share=0.1, tolerance=0.4, most_refused=0.2), id="too many"),
    pytest.param(Case(100, 4, beside=1800, least_share=0.1, tolerance=0.4), id="beside a client that takes half"),
]


@pytest.mark.parametrize("case", [*FLEETS[:2], *sample(FLEETS[2:], "fleets")])
def test_equal_shares_without_a_refusal(case: Case) -> None:
    """What is left settles where the pauses that it makes use as much as refills, and all get as much."""
    with Fleet(case.clients, case.reads) as fleet:
        if case.beside:
            fleet.beside(HOUR_S / case.beside, 1)
        fleet.pass_hours(HOURS)
        since = fleet.scheduler.now - JUDGED * HOUR_S
        calls, left, share = fleet.calls_since(since), fleet.left_since(since), fleet.least_share_since(since)
        refused = [at for at in fleet.project.refused if at >= since]
        settled = fleet.settled_at()

    a_client = sum(calls) / len(calls) / JUDGED
    print(  # noqa: T201
        f"{case}: settled after {settled / 60:.0f} min at {left:.1%} left, computed {case.left:.1%} x{case.factor:.1f},"
        f" {a_client:.0f} calls an hour each, least by most {share:.2f}, {len(refused) / sum(calls):.0%} refused"
    )
    assert len(refused) <= case.most_refused * sum(calls)
    assert left == pytest.approx(case.left, rel=case.tolerance)
    assert share >= case.least_share
    assert sum(calls) / JUDGED + case.beside == pytest.approx(min(3600, case.clients * case.reads * 67), rel=0.1)


def test_a_settled_fleet_has_hardly_any_news() -> None:
    """A note that differs is logged and published: of some six passes in an hour not one."""
    with Fleet(40, 10) as fleet:
        fleet.pass_hours(5)
        since = fleet.scheduler.now - 2 * HOUR_S
        news = sum(at >= since for client in fleet.clients for at in client.news)
        passes = sum(at >= since for client in fleet.clients for at in client.passes)

    assert passes > 500
    assert news < passes / 20


def test_a_limit_that_changes_is_shared_anew() -> None:
    """Doubled, and halved again, while all run."""
    with Fleet(40, 10) as fleet:
        fleet.pass_hours(2)
        fleet.project.change_limit(7200)
        fleet.pass_hours(4)
        raised = fleet.left_since(fleet.scheduler.now - HOUR_S)
        fleet.project.change_limit(3600)
        fleet.pass_hours(4)
        since = fleet.scheduler.now - 2 * HOUR_S
        lowered, share = fleet.left_since(since), fleet.least_share_since(since)
        refused = [at for at in fleet.project.refused if at >= since]

    assert raised == pytest.approx(KEPT + 2 * (Case(40, 10).left - KEPT), rel=0.2)
    assert lowered == pytest.approx(Case(40, 10).left, rel=0.2)
    assert share >= 0.8
    assert refused == []


def test_who_heeds_nothing_takes_what_there_is() -> None:
    """The others do not fight for it: each has a few passes an hour, and a note."""
    with Fleet(10, 4) as fleet:
        fleet.beside(1.0, 2)
        fleet.pass_hours(5)
        since = fleet.scheduler.now - 3 * HOUR_S
        passes = {sum(at >= since for at in client.passes) for client in fleet.clients}
        calls = max(fleet.calls_since(since)) / 3
        notes = {note.text.partition(";")[0] for client in fleet.clients for note in client.report.notes}

    assert max(passes) <= 12
    assert calls <= 15
    assert notes == {rules.PACE.text(limit=3600).partition(";")[0]}


def test_a_cluster_that_is_alone_is_not_slowed_down() -> None:
    """It has as many passes as without the flag, and nothing is asked besides."""
    counts = []
    for shares in (True, False):
        with Fleet(1, 3, shares=shares) as fleet:
            fleet.pass_hours(3)
            (client,) = fleet.clients
            counts.append((len(client.passes), len(client.calls)))

    assert counts[0] == counts[1]
    assert counts[0][1] == 3 * counts[0][0]


def test_without_the_flag_a_fleet_is_as_it_was() -> None:
    """Why there is one: each keeps its pauses, and is refused."""
    with Fleet(10, 40, shares=False) as fleet:
        fleet.pass_hours(1)
        refused = len(fleet.project.refused)

    assert refused > 100
    assert all(client.pace.factor == 1.0 for client in fleet.clients)
