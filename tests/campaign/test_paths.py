"""A sample of the paths of wishes; ``scripts/campaign paths`` tries all."""

import os
import random

import pytest

from tests.campaign.paths import ANNOTATIONS, BAD, KEPT, STARTS, Wish, differing, paths, singles
from tests.property.strategies import SEED

pytestmark = pytest.mark.passes

PATHS = int(os.environ.get("CAMPAIGN_PATHS") or 16)


@pytest.mark.parametrize(
    "wish", [*singles()], ids=lambda wish: ", ".join(f"{key}={text}" for key, text in wish.items())
)
def test_there_and_back(wish: Wish) -> None:
    """What nobody asks for any more is as if nobody ever had, but for what stays; in one of the worlds."""
    path = random.Random(f"{SEED} {wish}").choice([each for each in paths() if each.wishes == ({}, wish, {})])
    assert differing(path) == [], str(path)


@pytest.mark.parametrize("number", range(PATHS))
def test_the_last_wish_decides(number: int) -> None:
    """Whatever was asked for before."""
    path = random.Random(f"{SEED} {number}").choice([*paths()])
    assert differing(path) == [], str(path)


def test_paths_begin_in_every_world() -> None:
    """With every wish that there is, and with every value that none has."""
    first = {(path.start, *wish.items()) for path in paths() for wish in path.wishes if len(wish) == 1}
    asked = [*singles(), *({option: text} for option, text in BAD.items())]

    assert first == {(start, *wish.items()) for start in STARTS for wish in asked}


def test_what_stays_is_asked_for() -> None:
    """An option that stays and is never tried says nothing."""
    assert {*KEPT} <= ANNOTATIONS.keys()
