"""Many controllers in one project, on virtual time: the product's pacing, call budget and loop, over one rate limit.

A pass is the calls that reading takes, at one moment; nothing of what is read matters.
"""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from random import Random

from actuators.http.call_budget import CallBudget
from actuators.http.errors import Throttled
from actuators.http.hetzner import RateLimit
from hcloud_sandbox.hetzner.simulator import TokenBucket
from reconciler.config.config import load_config
from reconciler.config.options import Command
from reconciler.leader_election.leadership import NoElection
from reconciler.passes.loop import Pace, Wake, run_loop
from reconciler.passes.pacing import Pacing
from reconciler.result import Report, Requests
from reconciler.telemetry.pass_logger import Measured
from tests.support.cooperative import Scheduler

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
        for _ in range(self.reads):
            try:
                self._call()
            except Throttled as error:
                trouble = (str(error),)
                break
        known = self._known or RateLimit(3600, 3600)
        sent = Requests(hetzner=len(self.calls), limit=known.limit, remaining=known.remaining)
        before = self.report.notes
        self.report = self.pacing.noted(Report(errors=trouble, requests=sent))
        if self.report.notes != before:
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
