"""Passes for ever: when the next one begins, which of them are worth a word, and how it ends."""

import threading
from dataclasses import dataclass, field, replace

import pytest

from actuators.outcome import PREEMPTED, Applied, Failed, Pending, Skipped
from desired.plan.change import GuardDecision, GuardName, Verdict
from desired.plan.notes import Note, NoteKind
from reconciler.cli.stopping import Stop
from reconciler.leader_election.leadership import NoElection
from reconciler.passes.loop import Wake, is_news, run_loop, went_wrong
from reconciler.passes.pacing import Pace
from reconciler.result import Line, Report
from reconciler.telemetry.pass_logger import Measured
from tests.builders import a_change, a_server, a_snapshot, incomplete, servers_of
from tests.support.keys import key_of
from tests.support.looping import loop
from tests.support.rows import rows

QUIET = Report(snapshot=a_snapshot())
GAP = Report(snapshot=a_snapshot(servers_section=incomplete(servers_of(a_server()))))
PLANNED = replace(QUIET, lines=(Line(a_change()),))
NOTED = replace(QUIET, notes=(Note(key_of("node/web-1"), NoteKind.FOREIGN, "left alone"),))
APPLIED = replace(QUIET, lines=(Line(a_change(), Applied()),))
FAILED = replace(QUIET, lines=(Line(a_change(), Failed("no")),))
PENDING = replace(QUIET, lines=(Line(a_change(), Pending("conflict")),))
THROTTLED = replace(QUIET, lines=(Line(a_change(), Pending("429", retry_after_s=12.0)),))
GIVING_WAY = replace(QUIET, lines=(Line(a_change(), PREEMPTED),))
ERROR = Report(errors=("no connection",))
MISCONFIGURED = replace(QUIET, errors=("--cluster-cidr",), misconfigured=("--cluster-cidr",))


def waiting(
    due_in_s: float | None, why: str = "why", verdict: Verdict = Verdict.WAITING, rule: GuardName = GuardName.ADOPTION
) -> Report:
    return replace(QUIET, lines=(Line(a_change(decision=GuardDecision(verdict, rule, why, due_in_s))),))


def paused(pace: Pace, report: Report, unlucky: int = 0, gap_left_s: float = 0.0) -> float:
    return pace.pause_s(pace.due_in_s(report, unlucky, gap_left_s))


@rows(
    "report unlucky drawn pause_s",
    {
        "the whole interval": (QUIET, 0, 0.0, 60.0),
        "less a tenth": (QUIET, 0, 0.999999, 54.0),
        "less a twentieth": (QUIET, 0, 0.5, 57.0),
        "when something falls due": (waiting(7.0), 0, 0.0, 7.0),
        "not later than the interval": (waiting(600.0), 0, 0.0, 60.0),
        "a wait without a time": (waiting(None), 0, 0.0, 60.0),
        "due at once": (waiting(0.0), 0, 0.0, 0.5),
        "when a hold may have resolved itself": (waiting(7.0, verdict=Verdict.HELD), 0, 0.0, 7.0),
        "the first of several": (replace(QUIET, lines=(*waiting(9.0).lines, *waiting(7.0).lines)), 0, 0.0, 7.0),
        "overdue, without spinning": (waiting(-5.0), 0, 0.0, 0.5),
        "soon after trouble": (ERROR, 1, 0.0, 1.0),
        "within a second": (ERROR, 1, 0.999999, 0.9),
        "then within two": (ERROR, 2, 0.999999, 1.8),
        "then doubled": (ERROR, 5, 0.999999, 14.4),
        "up to a minute": (ERROR, 7, 0.0, 60.0),
        "never later than the interval": (ERROR, 100, 0.999999, 54.0),
        "a night of trouble costs no more than quiet ones": (ERROR, 5000, 0.0, 60.0),
        "at once after a series gave way": (GIVING_WAY, 0, 0.0, 0.5),
        "not before the time that an API asked for": (THROTTLED, 1, 0.0, 12.0),
    },
)
def test_pauses(report: Report, unlucky: int, drawn: float, pause_s: float) -> None:
    """The earliest of interval, due time and retry is when the next pass begins."""
    assert paused(Pace(60.0, draw=lambda: drawn), report, unlucky) == pytest.approx(pause_s, rel=1e-4)


def test_trouble_that_lasts_takes_no_larger_share() -> None:
    """Of a rate limit that is shared: where passes are six times further apart, those after trouble are as well."""
    pace = Pace(360.0, longest_retry_s=360.0, jitter=0.2, draw=lambda: 0.0)
    assert [paused(pace, ERROR, unlucky) for unlucky in (1, 7, 9, 10, 100)] == [1.0, 64.0, 256.0, 360.0, 360.0]


@pytest.mark.parametrize(
    ("report", "unlucky", "pause_s"),
    [
        pytest.param(waiting(1.0), 0, 4.0, id="due within the gap: when it is over"),
        pytest.param(waiting(-5.0), 0, 4.0, id="overdue"),
        pytest.param(waiting(7.0), 0, 7.0, id="due after the gap"),
        pytest.param(waiting(1.0, verdict=Verdict.HELD), 0, 4.0, id="a hold that resolves itself"),
        pytest.param(waiting(1.0, rule=GuardName.BACK_OFF), 0, 1.0, id="another try of what failed"),
        pytest.param(ERROR, 1, 1.0, id="after trouble"),
        pytest.param(THROTTLED, 1, 12.0, id="what an API asked for"),
        pytest.param(GIVING_WAY, 0, 0.5, id="a series that gave way"),
    ],
)
def test_which_pauses_keep_the_gap(report: Report, unlucky: int, pause_s: float) -> None:
    """4 s are left of it. What only waits for a time can wait for them too; whatever is under way cannot."""
    assert paused(Pace(60.0, draw=lambda: 0.0), report, unlucky, gap_left_s=4.0) == pause_s


@rows(
    "interval_s retry_in_s pause_s",
    {"an interval that is shorter": (1.0, None, 1.0), "another try of what failed": (60.0, 2.0, 2.0)},
)
def test_what_was_asked_for_keeps_no_gap(interval_s: float, retry_in_s: float | None, pause_s: float) -> None:
    """Somebody chose the interval, and the first tries of what failed come soon."""
    assert paused(Pace(interval_s, retry_in_s, draw=lambda: 0.0), waiting(0.0), gap_left_s=4.0) == pause_s


@pytest.mark.parametrize(
    ("retry_in_s", "pause_s"),
    [
        pytest.param(None, 60.0, id="nothing failed"),
        pytest.param(3.0, 3.0, id="when the first failure is due"),
        pytest.param(0.1, 0.5, id="without spinning"),
        pytest.param(90.0, 60.0, id="not later than the interval"),
    ],
)
def test_what_failed_is_due_at_a_time_of_its_own(retry_in_s: float | None, pause_s: float) -> None:
    """Each change backs off by itself, and the loop comes round when the first one is worth another try."""
    assert paused(Pace(60.0, retry_in_s, draw=lambda: 0.0), FAILED) == pause_s


@pytest.mark.parametrize(
    ("report", "wrong"),
    [
        pytest.param(QUIET, False, id="quiet"),
        pytest.param(PLANNED, False, id="planned"),
        pytest.param(waiting(5.0), False, id="waiting is planned"),
        pytest.param(APPLIED, False, id="applied"),
        pytest.param(ERROR, True, id="error"),
        pytest.param(MISCONFIGURED, False, id="what only a person can correct"),
        pytest.param(replace(MISCONFIGURED, errors=("--cluster-cidr", "401")), True, id="another error beside it"),
        pytest.param(GAP, True, id="incomplete"),
        pytest.param(FAILED, False, id="failed: due at a time of its own"),
        pytest.param(PENDING, True, id="pending"),
        pytest.param(GIVING_WAY, False, id="gave way"),
    ],
)
def test_what_is_worth_an_early_pass(report: Report, wrong: bool) -> None:
    """Trouble is worth another look soon; a plan that stands is not."""
    assert went_wrong(report) is wrong


@rows(
    "before now news",
    {
        "nothing, again": (QUIET, QUIET, False),
        "the same plan": (PLANNED, PLANNED, False),
        "the same error": (ERROR, ERROR, False),
        "the same gap": (GAP, GAP, False),
        "the same note": (NOTED, NOTED, False),
        "applied again": (APPLIED, APPLIED, True),
        "nothing, after all was done": (APPLIED, QUIET, False),
        "a change": (QUIET, PLANNED, True),
        "a change that went away": (PLANNED, QUIET, True),
        "a note": (QUIET, NOTED, True),
        "an error": (QUIET, ERROR, True),
        "another error": (ERROR, replace(ERROR, errors=("other",)), True),
        "a gap": (QUIET, GAP, True),
        "whole again": (GAP, QUIET, True),
        "a wait that got shorter": (waiting(12.0), waiting(7.0), False),
        "a wait for something else": (waiting(12.0), waiting(12.0, "another reason"), True),
        "a wait that became a hold": (waiting(12.0), waiting(12.0, verdict=Verdict.HELD), True),
        "cost is no news": (
            replace(QUIET, requests=replace(QUIET.requests, hetzner=1)),
            replace(QUIET, requests=replace(QUIET.requests, hetzner=2)),
            False,
        ),
    },
)
def test_news_only(before: Report, now: Report, news: bool) -> None:
    assert Told([before, now]).run() == ([before, now] if news else [before])


def test_the_first_report_is_news() -> None:
    assert is_news(QUIET, None)


class Pause(threading.Event):
    """What a loop pauses on: it notes how long, and ends the loop after so many times."""

    def __init__(self, most: int, seconds: list[float]) -> None:
        super().__init__()
        self.stop = threading.Event()
        self._most, self._seconds = most, seconds
        self.wake = Wake(self.stop, clock=lambda: sum(seconds), event=lambda: self)

    def wait(self, timeout: float | None = None) -> bool:
        self._seconds.append(timeout or 0.0)
        if len(self._seconds) == self._most:
            self.stop.set()
        return False


@dataclass
class Told:
    """A loop over these reports, which is stopped after the pause that follows the last one."""

    reports: list[Report]
    published: list[Report] = field(default_factory=list)
    pauses: list[float] = field(default_factory=list)

    def run(self) -> list[Report]:
        pause = Pause(len(self.reports), self.pauses)
        left = iter(self.reports)
        loop(
            lambda _why: next(left),
            pause.stop,
            pace=Pace(60.0, draw=lambda: 0.0),
            publish=lambda ended: self.published.append(ended.report),
            wake=pause.wake,
        )
        assert list(left) == []
        return self.published


def test_trouble_is_counted_in_a_row() -> None:
    told = Told([ERROR, ERROR, GAP, QUIET, FAILED, APPLIED])

    told.run()

    assert told.pauses == [1.0, 2.0, 4.0, 60.0, 60.0, 60.0]


def test_a_loop_that_is_stopped_beforehand() -> None:
    stop = threading.Event()
    stop.set()

    def never(_why: str) -> Report:
        raise AssertionError

    loop(never, stop, pace=Pace(60.0))


def test_a_pause_ends_with_the_stop_event() -> None:
    stop = Stop()
    passes = 0

    def one_pass(_why: str) -> Report:
        nonlocal passes
        passes += 1
        threading.Timer(0.01, stop.set).start()
        return QUIET

    loop(one_pass, stop, pace=Pace(3600.0))

    assert passes == 1


def test_stopped_reports_are_told() -> None:
    stopped = replace(QUIET, lines=(Line(a_change(), Skipped("stopped")),))

    assert Told([QUIET, stopped]).run() == [QUIET, stopped]


def test_each_pass_decides_the_pause_after_it() -> None:
    pauses: list[float] = []
    pause = Pause(2, pauses)
    paces = iter([Pace(60.0, draw=lambda: 0.0), Pace(7.0, draw=lambda: 0.0)])

    run_loop(
        lambda _why: (Measured(QUIET, 0.0), next(paces)),
        stop=pause.stop,
        publish=lambda _: None,
        wake=pause.wake,
        leader=NoElection(),
    )

    assert pauses == [60.0, 7.0]


def test_a_pass_is_told_what_called_for_it() -> None:
    """So are those who read its report; a pass that began because it was time has no reason."""
    stop, told, published = threading.Event(), list[str](), list[str]()
    wake = Wake(stop, gap_s=0.0)

    def one_pass(why: str) -> Report:
        told.append(why)
        if len(told) == 3:
            stop.set()
        else:
            wake.call(f"call {len(told)}")
        return APPLIED

    loop(one_pass, stop, pace=Pace(3600.0), publish=lambda ended: published.append(ended.trigger), wake=wake)

    assert told == published == ["", "call 1", "call 2"]


def test_who_does_not_lead_does_nothing() -> None:
    stop, passes = threading.Event(), list[str]()

    class Deposed:
        asked = 0

        def wait(self, stop: threading.Event) -> bool:
            self.asked += 1
            return not stop.is_set() and self.asked <= 2

    def one_pass(why: str) -> Report:
        passes.append(why)
        return QUIET

    loop(one_pass, stop, leader=Deposed())

    assert len(passes) == 2
