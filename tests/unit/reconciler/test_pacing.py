"""Pauses by what is left of the project's rate limit, with ``--share-rate-limit`` alone."""

from dataclasses import dataclass, field, replace

import pytest

from desired.plan.notes import Note, NoteKind
from reconciler.config.config import load_config
from reconciler.config.options import Command
from reconciler.passes.loop import JITTER, Pace
from reconciler.passes.pacing import Pacing, pace_factor
from reconciler.result import Report, Requests

LIMIT = 3600


@dataclass
class Passes:
    """Passes of four calls, on a clock that only the test moves."""

    shares: bool = True
    interval: str = ""
    now: float = 0.0
    sent: int = 0
    answers: list[float | None] = field(default_factory=list)
    """What is left, as Hetzner says when it is asked."""

    def __post_init__(self) -> None:
        flags = {"--share-rate-limit": "true"} if self.shares else {}
        flags |= {"--interval": self.interval} if self.interval else {}
        config = load_config(Command.RUN, flags, {"HCLOUD_TOKEN": "t" * 64})
        self.pacing = Pacing(config, lambda: self.now, lambda: self.answers.pop(0))

    def run(self, remaining: int | None, *, after_s: float = 60.0, limit: int | None = LIMIT) -> tuple[Pace, Report]:
        self.now += after_s
        self.sent += 4
        report = self.pacing.noted(Report(requests=Requests(hetzner=self.sent, remaining=remaining, limit=limit)))
        return self.pacing.after(report), report


@pytest.mark.parametrize(
    ("remaining", "interval_s", "gap_s", "asks"),
    [
        pytest.param(3600, 60.0, 0.0, False, id="all is left"),
        pytest.param(1800, 60.0, 0.0, False, id="half"),
        pytest.param(900, 120.0, 0.0, False, id="a quarter"),
        pytest.param(360, 300.0, 0.0, False, id="a tenth"),
        pytest.param(359, 300.8, 60.0, False, id="less: events are a minute apart"),
        pytest.param(180, 600.0, 60.0, False, id="a twentieth"),
        pytest.param(179, 600.0, 60.0, True, id="less: no pass without a reason"),
        pytest.param(0, 600.0, 60.0, True, id="nothing, as after 429"),
    ],
)
def test_the_less_is_left_the_longer_are_pauses(remaining: int, interval_s: float, gap_s: float, asks: bool) -> None:
    pace, _ = Passes().run(remaining)

    assert pace.interval_s == pytest.approx(interval_s, rel=1e-3)
    assert pace.factor == pytest.approx(interval_s / 60.0, rel=1e-3)
    assert pace.gap_s == gap_s
    assert pace.jitter == (JITTER if pace.factor == 1.0 else 0.2)
    assert (pace.has_room is not None) == asks


@pytest.mark.parametrize("remaining", [3600, 1800, 100, 0, None])
def test_nobody_who_did_not_ask_for_it_is_slowed_down(remaining: int | None) -> None:
    """Nor is anything said."""
    passes = Passes(shares=False)
    passes.run(remaining)

    pace, report = passes.run(remaining)

    assert (pace.interval_s, pace.factor, pace.gap_s, pace.jitter) == (60.0, 1.0, 0.0, JITTER)
    assert pace.has_room is None
    assert report.notes == ()


@pytest.mark.parametrize(
    ("remaining", "limit"),
    [pytest.param(None, None, id="no header"), pytest.param(3600, LIMIT, id="a cluster that is alone")],
)
def test_the_flag_changes_nothing_while_there_is_enough(remaining: int | None, limit: int | None) -> None:
    pace, _ = Passes().run(remaining, limit=limit)

    assert (pace.interval_s, pace.jitter, pace.gap_s) == (60.0, JITTER, 0.0)
    assert pace.has_room is None


def test_an_interval_that_is_given_gets_longer_as_well() -> None:
    assert Passes(interval="10s").run(900)[0].interval_s == pytest.approx(20.0)


@pytest.mark.parametrize(
    ("answer", "has_room"),
    [
        pytest.param(0.049, False, id="too little"),
        pytest.param(0.05, True, id="enough"),
        pytest.param(None, True, id="nothing was said: the pass tells why"),
    ],
)
def test_whether_there_is_room_is_asked(answer: float | None, has_room: bool) -> None:
    passes = Passes(answers=[answer])
    pace, _ = passes.run(0)

    assert pace.has_room is not None
    assert pace.has_room() is has_room


@pytest.mark.parametrize(
    ("interval", "interval_s", "factor"),
    [("6m", 3600.0, 10.0), ("20m", 3600.0, 3.0), ("1h", 3600.0, 1.0), ("2h", 7200.0, 1.0)],
)
def test_an_hour_is_the_longest_pause(interval: str, interval_s: float, factor: float) -> None:
    """Unless a longer one was asked for. At any interval a note tells that only events are followed."""
    passes = Passes(interval=interval)
    passes.run(100)
    pace, report = passes.run(100)

    assert pace.interval_s == interval_s
    assert pace.factor == pytest.approx(factor)
    assert pace.longest_retry_s == 600.0
    assert ["only events" in note.text for note in report.notes] == [True]


def test_the_note_has_the_factor_that_there_is() -> None:
    """And is none where pauses are hardly longer because they are long without the rule."""
    for interval, told in (("20m", ["passes are 3 times"]), ("30m", [])):
        passes = Passes(interval=interval)
        passes.run(300)
        assert [" ".join(note.text.split()[:4]) for note in passes.run(300)[1].notes] == told


@pytest.mark.parametrize(
    ("remaining", "longest_s"), [(None, 60.0), (1800, 60.0), (900, 120.0), (360, 300.0), (180, 600.0), (0, 600.0)]
)
def test_trouble_that_lasts_has_no_more_passes_than_others(remaining: int | None, longest_s: float) -> None:
    """Its retries get as far apart as pauses of a minute."""
    pace = replace(Passes().run(remaining)[0], draw=lambda: 0.0)

    assert pace.due_in_s(Report(errors=("down",)), unlucky=20) == pytest.approx(longest_s)


def test_a_question_whether_there_is_room_is_no_reading() -> None:
    """A pass does not become dearer by what was asked before it."""
    passes = Passes(answers=[0.01] * 6)
    pace, _ = passes.run(100)
    assert pace.has_room is not None
    while passes.answers:
        pace.has_room()
        passes.sent += 1
    passes.run(100)

    assert passes.pacing.reads == 4


def test_factors_have_bounds() -> None:
    assert [pace_factor(left) for left in (0.0, 0.01, 0.05, 0.25, 0.5, 1.0)] == [10.0, 10.0, 10.0, 2.0, 1.0, 1.0]


def noted(remaining: int, before: int, *, after_s: float) -> tuple[Note, ...]:
    """Notes of the second of two passes."""
    passes = Passes()
    passes.run(before)
    return passes.run(remaining, after_s=after_s)[1].notes


@pytest.mark.parametrize(
    ("remaining", "before", "parts"),
    [
        pytest.param(900, 900, (), id="twice as long"),
        pytest.param(601, 601, (), id="almost three times"),
        pytest.param(600, 600, ("3 times", "about 3600 requests an hour", "this controller 36"), id="three times"),
        pytest.param(270, 270, ("6 times", "about 3600", "this controller 36"), id="settled"),
        pytest.param(270, 470, ("6 times", "about 5400", "this controller 36"), id="it gets less"),
        pytest.param(600, 1100, ("about 8100", "this controller 36"), id="another client takes all that it can"),
        pytest.param(600, 100, ("about 36 ", "this controller 36"), id="more came back than refills"),
        pytest.param(170, 170, ("only events", "about 3600", "this controller 36"), id="events alone"),
    ],
)
def test_long_pauses_are_noted_with_who_sends_how_much(remaining: int, before: int, parts: tuple[str, ...]) -> None:
    notes = noted(remaining, before, after_s=400.0)

    assert len(notes) == bool(parts)
    assert all(note.kind is NoteKind.PACE and part in note.text for note in notes for part in parts)


def test_a_full_bucket_that_refills_nothing_is_not_taken_for_use() -> None:
    """Nothing for most of an hour, and then 3,600 in five minutes: the hour before had that many, and not twice."""
    passes = Passes()
    for _ in range(55):
        passes.run(LIMIT)
    for remaining in (2900, 2200, 1500, 800):
        passes.run(remaining)
    (note,) = passes.run(200)[1].notes

    assert "all clients together send about 3700 requests an hour" in note.text


def test_use_is_not_told_across_a_change_of_the_limit() -> None:
    passes = Passes()
    passes.run(270)

    assert passes.run(270, limit=2 * LIMIT)[1].notes == ()
    (note,) = passes.run(270, limit=2 * LIMIT)[1].notes
    assert "the project's 7200 requests" in note.text


def test_a_settled_fleet_has_no_news() -> None:
    """What differs from pass to pass is not said: otherwise each of them would be logged and published. Here the factor
    is about 7, and all together send about 3,500."""
    passes = Passes()
    passes.run(275)
    lefts = (255, 268, 245, 262, 250, 240, 266, 255)
    texts = {note.text for left in lefts for note in passes.run(left, after_s=400.0)[1].notes}

    assert len(texts) == 1


def test_what_is_another_state_is_told_anew() -> None:
    """And that it is over, below twice: about three times it would come and go."""
    passes = Passes()
    passes.run(550)
    lefts = (550, 650, 800, 220, 170, 950, 650)
    told = [" ".join(note.text.split()[:4]) for left in lefts for note in passes.run(left, after_s=3600.0)[1].notes]

    assert told == [*["passes are 3 times"] * 3, "passes are 8 times", "only events are followed"]


def test_use_is_measured_over_an_hour() -> None:
    """A pass that comes soon after another one says nothing of an hour."""
    passes = Passes()
    for _ in range(10):
        passes.run(270, after_s=400.0)
    (note,) = passes.run(270, after_s=5.0)[1].notes

    assert "this controller 36" in note.text
