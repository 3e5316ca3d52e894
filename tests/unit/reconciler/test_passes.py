"""Passes of a loop: what each leaves for those who watch."""

import logging
from concurrent.futures import Future
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

from actuators.http.call_budget import CallBudget
from actuators.http.own_writes import OwnWrites
from actuators.lanes import Lane, UnderWay
from actuators.outcome import Applied
from desired.health.state import ObjectState, ServiceState, States
from desired.plan.setbacks import SUSPENDED_S
from reconciler.config.config import load_config
from reconciler.config.options import Command
from reconciler.controller import Passes
from reconciler.page.live import LivePage
from reconciler.passes.history import History
from reconciler.passes.pacing import Pacing
from reconciler.result import Line, Report, Requests
from reconciler.rotating_secrets import rotating_token
from reconciler.telemetry.health import LoopHealth
from reconciler.telemetry.metrics import Metrics
from reconciler.telemetry.pass_logger import Meter, PassLogger
from reconciler.telemetry.serving import Request
from reconciler.triggers.relevance import EventFilter
from reconciler.triggers.running import Triggers
from tests.builders import a_change, a_snapshot
from tests.support.keys import key_of
from tests.support.pages import read_page
from tests.support.rows import rows

UNDONE = "hcloud_reconciler_oscillations_total"
INTERVAL = "hcloud_reconciler_interval_seconds"


@dataclass
class Loop:
    """Passes that end as the test says, on a clock that only the test moves."""

    interval: str = ""
    """As the flag has it; "" leaves the choice to the product."""
    shares: bool = False
    """Whether the project's rate limit is shared."""
    now: float = 1000.0
    told: Report = field(default_factory=Report)

    def __post_init__(self) -> None:
        flags = {"--interval": self.interval} if self.interval else {}
        flags |= {"--share-rate-limit": "true"} if self.shares else {}
        config = load_config(Command.RUN, flags, {"HCLOUD_TOKEN": "t" * 64})
        self.page = LivePage(clock=lambda: self.now)
        self.history = History(lambda: self.now, lambda: 0.0)
        self.metrics = Metrics(version="1", policy="sync", mode="loop", lease="ccm", clock=lambda: self.now)
        self.passes = Passes(
            run=lambda: self.told,
            of_bug=str,
            pacing=Pacing(config),
            meter=Meter(lambda: self.now),
            narrator=PassLogger(clock=lambda: self.now),
            health=LoopHealth(interval_s=60.0, request_timeout_s=1.0, clock=lambda: self.now),
            history=self.history,
            triggers=Triggers(EventFilter(lambda _: None, OwnWrites(), clock=lambda: self.now), ()),
            begins_to_watch=lambda: None,
            metrics=self.metrics,
            secrets=(),
            budget=CallBudget(lambda: self.now),
            page=self.page,
        )

    def run(self, told: Report, after_s: float = 1.0) -> float:
        """A pass that ends with this report, so long after the last one; the interval that it chose."""
        self.now += after_s
        self.history.setbacks()
        self.told = told
        return self.passes("")[1].interval_s

    def metric(self, name: str, **labels: str) -> float | None:
        """The value of a sample."""
        return self.metrics.registry.get_sample_value(name, labels)


def undone_again_and_again(loop: Loop, section: str, times: int) -> list[float | None]:
    """What the counter says after each pass that applies the change anew; somebody undoes it each time."""
    seen = []
    for _ in range(times):
        loop.run(Report(snapshot=a_snapshot(), lines=(Line(a_change(), Applied()),)))
        seen.append(loop.metric(UNDONE, section=section))
    return seen


def test_the_breaker_is_counted_when_it_opens() -> None:
    """Once, however many passes find the change suspended, or do not see it planned for a while; and again the next
    time that it opens. No other section is meant."""
    loop = Loop()
    assert undone_again_and_again(loop, "nodes", 3) == [0, 0, 0]
    seen = []
    for lines in ((Line(a_change()),), (Line(a_change()),), (), (Line(a_change()),)):
        loop.run(Report(snapshot=a_snapshot(), lines=lines))
        seen.append(loop.metric(UNDONE, section="nodes"))
    assert seen == [1, 1, 1, 1]

    loop.now += SUSPENDED_S
    assert undone_again_and_again(loop, "nodes", 4) == [1, 1, 1, 2]
    assert loop.metric(UNDONE, section="routes") == 0


def test_no_secret_is_replaced_while_something_goes_on(tmp_path: Path) -> None:
    """What a pass has left might write with a token of which no pass has seen whose project it is."""
    loop, under_way, used = Loop(), UnderWay(), list[str]()
    left = Lane.of(a_change())
    left.future = Future()
    under_way.left.append(left)
    file = tmp_path / "token"
    file.write_text("new")
    secret = rotating_token(file, "old", used.append)
    loop.passes = replace(loop.passes, secrets=(secret,), under_way=under_way)

    loop.run(Report(snapshot=a_snapshot()))
    assert used == []

    left.future.set_result(Applied())
    loop.run(Report(snapshot=a_snapshot()))
    assert used == ["new"]


@rows("shares expected", {"unasked": (False, (60.0, 1.0)), "where it is shared": (True, (2160.0, 36.0))})
def test_what_little_is_left_is_shared(shares: bool, expected: tuple[float, float]) -> None:
    """Pauses are longer, although this controller has used none of its own budget."""
    loop = Loop(shares=shares)
    loop.told = Report(snapshot=a_snapshot(), requests=Requests(hetzner=3, limit=3600, remaining=225))
    _, pace = loop.passes("")

    assert (pace.interval_s, loop.metric("hcloud_reconciler_pace_factor")) == pytest.approx(expected)
    assert loop.metric(INTERVAL) == pace.interval_s


@rows(
    "interval reads expected_s",
    {"as given": ("5m", 10, 300.0), "a minute": ("", 10, 60.0), "as long as the allowance asks for": ("", 100, 400.0)},
)
def test_the_interval_is_served(interval: str, reads: int, expected_s: float) -> None:
    """The one of the pace after the last pass; none is known before it."""
    loop = Loop(interval)
    assert loop.metric(INTERVAL) is None

    chosen_s = loop.run(Report(snapshot=a_snapshot(), requests=Requests(hetzner=reads, limit=3600)))

    assert chosen_s == loop.metric(INTERVAL) == expected_s


def test_a_bug_is_not_followed_by_a_pause_of_days() -> None:
    """A report of a bug has no requests: the next pass counted those of the whole process as its own reads."""
    loop = Loop()
    whole = Report(snapshot=a_snapshot(), requests=Requests(hetzner=90_000, limit=3600))
    loop.run(replace(whole, lines=(Line(a_change(), Applied()),)))
    loop.run(Report(errors=("ValueError: a bug",)))

    assert loop.run(replace(whole, requests=Requests(hetzner=90_010, limit=3600))) == 60.0


def test_the_page_shows_the_last_pass() -> None:
    """With the requests of that pass alone."""
    loop = Loop()
    loop.run(Report(snapshot=a_snapshot(), requests=Requests(3, 4)))
    loop.run(Report(snapshot=a_snapshot(), lines=(Line(a_change(), Applied()),), requests=Requests(5, 10)))

    page = read_page(loop.page.answer(Request(host="localhost")).body.decode())

    assert page.by_id("plan").keys == ["node/web-1"]
    assert "2 to Kubernetes, 6 to Hetzner" in page.by_id("facts").text


def test_a_service_that_goes_down_is_logged_although_nothing_is_planned(caplog: pytest.LogCaptureFixture) -> None:
    """Its targets were dead for 80 seconds, and the log had no line: a pass without changes is not narrated."""
    caplog.set_level(logging.INFO, "hcloud-reconciler.pass")
    loop, key = Loop(), key_of("service/default/web")
    serves, down = ObjectState(key, ServiceState.SERVING, "3 of 3"), ObjectState(key, ServiceState.DOWN, "0 of 3")
    for state in (serves, down, down, serves):
        loop.run(Report(snapshot=a_snapshot(), states=States(services=(state,))))

    down_line, up_line = [record.message for record in caplog.records]
    assert down_line == "down key=service/default/web why='0 of 3'"
    assert up_line == "no longer down key=service/default/web"
