"""Premises of laws: a law whose interesting examples are too rare fails, however few of them there are in all."""

from collections.abc import Iterator, Mapping

import pytest

from tests.support.premises import ALWAYS, forget, most, premise, shortcomings


@pytest.fixture(autouse=True)
def counted_anew() -> Iterator[None]:
    """Nothing is left of one test for another."""
    forget()
    yield
    forget()


def noted(met: int, tried: int) -> None:
    """So many examples that meet the premise, of so many."""
    for number in range(tried):
        premise("a deletion", is_met=number < met)


@pytest.mark.parametrize(
    ("met", "tried", "is_enough"),
    [(0, 100, False), (1, 100, True), (0, 10, True), (480, 3000, False), (500, 3000, True)],
    ids=str,
)
def test_a_share_is_reached_within_what_chance_explains(met: int, tried: int, is_enough: bool) -> None:
    """A fifth is stated: less than five standard deviations below it is no shortcoming."""
    noted(met, tried)
    assert (not [*shortcomings({"a deletion": 0.2})]) is is_enough


@pytest.mark.parametrize(("share", "tried", "is_enough"), [(0.15, 100, False), (0.3, 40, False), (0.15, 10, True)])
def test_one_example_at_least(share: float, tried: int, is_enough: bool) -> None:
    """Chance hardly explains that there is none, though five standard deviations would."""
    noted(0, tried)
    assert (not [*shortcomings({"a deletion": share})]) is is_enough


@pytest.mark.parametrize(
    ("shares", "count"), [({"a deletion": 0.2, "a hold": 0.1}, 1), (ALWAYS, 1), ({"a hold": 0.1}, 2)]
)
def test_what_is_stated_is_what_is_spoken_of(shares: Mapping[str, float], count: int) -> None:
    """A premise that no example speaks of, and one that the law does not state, are told."""
    noted(50, 100)
    assert len([*shortcomings(shares)]) == count


def test_a_share_is_exceeded_beyond_what_chance_explains() -> None:
    """A third of many examples is told apart from a half, and one of few is not."""
    assert most(0.3, 10) > 7
    assert 300 < most(0.3, 1000) < 400
