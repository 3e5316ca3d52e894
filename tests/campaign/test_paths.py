"""A sample of the paths of wishes; ``scripts/campaign paths`` tries all."""

import os
import random

import pytest

from tests.campaign.paths import KEPT, VALUES, Path, differing, paths, singles
from tests.property.strategies import SEED

pytestmark = pytest.mark.passes

PATHS = int(os.environ.get("CAMPAIGN_PATHS") or 24)


@pytest.mark.parametrize("path", [Path(({}, wish, {})) for wish in singles()], ids=str)
def test_there_and_back(path: Path) -> None:
    """What nobody asks for any more is as if nobody ever had, but for what stays."""
    assert differing(path) == []


@pytest.mark.parametrize("number", range(PATHS))
def test_the_last_wish_decides(number: int) -> None:
    """Whatever was asked for before."""
    path = random.Random(f"{SEED} {number}").choice([*paths()])
    assert differing(path) == [], str(path)


def test_what_stays_is_asked_for() -> None:
    """An option that stays and is never tried says nothing."""
    assert {*KEPT} <= VALUES.keys()
