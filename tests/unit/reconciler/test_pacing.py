"""Pauses by what is left of the project's rate limit, with ``--share-rate-limit`` alone."""

import pytest

from desired.plan.notes import NoteKind
from desired.rules import guards as rules
from reconciler.config.config import load_config
from reconciler.config.options import Command
from reconciler.passes.pacing import JITTER, Pace, Pacing, pace_factor
from reconciler.result import Report, Requests

LIMIT = 3600


def passed(
    remaining: int | None, *, shares: bool = True, interval: str = "", limit: int | None = LIMIT
) -> tuple[Pace, Report]:
    flags = {"--share-rate-limit": "true"} if shares else {}
    flags |= {"--interval": interval} if interval else {}
    pacing = Pacing(load_config(Command.RUN, flags, {"HCLOUD_TOKEN": "t" * 64}))
    report = pacing.noted(Report(requests=Requests(hetzner=4, remaining=remaining, limit=limit)))
    return pacing.after(report), report


@pytest.mark.parametrize(
    ("left", "factor"),
    [(1.0, 1.0), (0.5, 1.0), (0.275, 2.0), (0.2, 3.0), (0.1, 9.0), (0.0575, 60.0), (0.05, 60.0), (0.0, 60.0)],
)
def test_the_less_is_left_the_longer_are_pauses(left: float, factor: float) -> None:
    """A twentieth is kept; more than an hour instead of a minute is not paused."""
    assert pace_factor(left) == pytest.approx(factor)


@pytest.mark.parametrize(
    ("remaining", "interval_s"),
    [
        pytest.param(3600, 60.0, id="all is left"),
        pytest.param(1800, 60.0, id="half"),
        pytest.param(990, 120.0, id="about a quarter"),
        pytest.param(360, 540.0, id="a tenth"),
        pytest.param(0, 3600.0, id="nothing, as after 429"),
    ],
)
def test_a_pause(remaining: int, interval_s: float) -> None:
    pace, _ = passed(remaining)

    assert pace.interval_s == pytest.approx(interval_s)
    assert pace.factor == pytest.approx(interval_s / 60.0)
    assert pace.jitter == (JITTER if pace.factor == 1.0 else 0.2)


@pytest.mark.parametrize("remaining", [3600, 1800, 100, 0, None])
def test_nobody_who_did_not_ask_for_it_is_slowed_down(remaining: int | None) -> None:
    pace, report = passed(remaining, shares=False)

    assert pace == Pace(60.0)
    assert report.notes == ()


@pytest.mark.parametrize(
    ("remaining", "limit"),
    [pytest.param(None, None, id="no header"), pytest.param(3600, LIMIT, id="a cluster that is alone")],
)
def test_the_flag_changes_nothing_while_there_is_enough(remaining: int | None, limit: int | None) -> None:
    assert passed(remaining, limit=limit)[0] == Pace(60.0)


@pytest.mark.parametrize(
    ("interval", "remaining", "interval_s", "factor"),
    [
        ("10s", 990, 20.0, 2.0),
        ("10s", 0, 600.0, 60.0),
        ("20m", 100, 3600.0, 3.0),
        ("1h", 100, 3600.0, 1.0),
        ("2h", 100, 7200.0, 1.0),
    ],
)
def test_an_interval_that_is_given_gets_longer_as_well(
    interval: str, remaining: int, interval_s: float, factor: float
) -> None:
    """An hour is the longest pause, unless a longer one was asked for."""
    pace, _ = passed(remaining, interval=interval)

    assert (pace.interval_s, pace.factor) == pytest.approx((interval_s, factor))


@pytest.mark.parametrize(("remaining", "longest_s"), [(None, 60.0), (1800, 60.0), (990, 120.0), (0, 3600.0)])
def test_trouble_that_lasts_has_no_more_passes_than_others(remaining: int | None, longest_s: float) -> None:
    """Its retries get as far apart as pauses of a minute."""
    assert passed(remaining)[0].longest_retry_s == pytest.approx(longest_s)


def test_the_note_stays_until_pauses_are_nearly_as_usual() -> None:
    """Passes that settle at a fifth would else begin and end it in turn."""
    pacing = Pacing(load_config(Command.RUN, {"--share-rate-limit": "true"}, {"HCLOUD_TOKEN": "t" * 64}))
    left = (800, 700, 800, 989, 1000, 800)
    reports = [pacing.noted(Report(requests=Requests(hetzner=4, remaining=each, limit=LIMIT))) for each in left]
    assert [bool(report.notes) for report in reports] == [False, True, True, True, False, False]


def test_an_interval_that_is_long_by_itself_is_not_noted() -> None:
    assert passed(100, interval="2h")[1].notes == ()


@pytest.mark.parametrize(("remaining", "is_noted"), [(None, False), (721, False), (719, True), (0, True)])
def test_long_pauses_are_noted(remaining: int | None, *, is_noted: bool) -> None:
    """The note has the limit alone: what differs from pass to pass would be logged and published each time."""
    notes = [(note.kind, note.text) for note in passed(remaining)[1].notes]

    assert notes == is_noted * [(NoteKind.PACE, rules.PACE.text(limit=3600))]
