"""What ``Date`` headers say of a clock: no more than what is certain."""

from collections.abc import Iterable
from datetime import UTC, datetime
from email.utils import format_datetime

import pytest

from actuators.http.connection import ClockBounds, Dates


def date(second: int) -> str:
    """So many seconds after the epoch, as a header."""
    return format_datetime(datetime.fromtimestamp(second, UTC), usegmt=True)


def seen(answers: Iterable[tuple[int, float, float]]) -> Dates:
    """The clock of an API that answered so: its second, when it was asked, when the answer came."""
    moments: list[float] = []
    dates = Dates(moments.pop)
    for second, asked_at, answered_at in answers:
        moments.append(answered_at)
        dates.note(date(second), asked_at)
    return dates


@pytest.mark.parametrize(
    ("ours", "theirs", "ahead_s", "jump_s"),
    [
        pytest.param([(1000, 10.0, 10.1)], [(1000, 10.0, 10.1)], 0.0, 0.0, id="the-same"),
        pytest.param([(1001, 10.0, 10.1)], [(1000, 10.9, 10.9)], pytest.approx(0.8), 0.0, id="a-second-later"),
        pytest.param([(4600, 10.0, 10.0)], [(1000, 10.0, 10.0)], pytest.approx(3599.0), 0.0, id="an-hour-ahead"),
        pytest.param([(1000, 10.0, 10.0)], [(4600, 10.0, 10.0)], pytest.approx(-3599.0), 0.0, id="an-hour-behind"),
        pytest.param([(1000, 10.0, 100.0)], [(1000, 100.0, 100.0)], 0.0, 0.0, id="an-answer-that-took-long"),
        pytest.param(
            [(1000, 10.0, 10.0), (4600, 10.0, 10.0)],
            [(1000, 10.0, 10.0)],
            pytest.approx(3599.0),
            pytest.approx(3599.0),
            id="one-answer-of-several",
        ),
    ],
)
def test_two_clocks(
    ours: list[tuple[int, float, float]], theirs: list[tuple[int, float, float]], ahead_s: float, jump_s: float
) -> None:
    """An answer is as old as it took to arrive, and a date is true for a second."""
    first, second = seen(ours).seen, seen(theirs).seen
    assert first is not None
    assert second is not None

    assert (first.ahead_of_s(second), first.jump_s) == (ahead_s, jump_s)


@pytest.mark.parametrize("header", [None, "", "soon", "Mon, 99 Xyz 2026", "Fri, 31 Dec 999999 23:59:59 GMT"])
def test_no_time_says_nothing(header: str | None) -> None:
    """A proxy's answer may have no time, or any text in its place."""
    dates = Dates(lambda: 10.0)
    dates.note(header, 10.0)

    assert dates.seen is None


def test_the_last_answer_stands_until_there_is_another() -> None:
    """What one reading found is no jump in the next."""
    dates = seen([(1000, 10.0, 10.0), (4600, 10.0, 10.0)])
    dates.begin()

    assert dates.seen == ClockBounds(4590.0, 4591.0)
