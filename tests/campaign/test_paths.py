"""A sample of the paths of wishes; ``scripts/campaign paths`` tries all."""

import random

import pytest

from desired.annotations.options import OPTIONS, VARIABLES
from desired.model.settings import DECIDING
from tests.campaign.paths import ANNOTATIONS, BAD, KEPT, LEFT_OUT, OF_PORTS, SETTINGS, STARTS, differing, paths, singles
from tests.support.sampling import SEED

PATHS = 8


@pytest.mark.parametrize("number", range(PATHS))
def test_there_and_back(number: int) -> None:
    """What nobody asks for any more is as if nobody ever had, but for what stays."""
    path = random.Random(f"{SEED} {number}").choice([each for each in paths() if each.wishes[0] == {}])
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
    assert {*KEPT} <= ANNOTATIONS.keys() | OF_PORTS.keys() | SETTINGS.keys()


def test_every_option_and_setting_is_tried_or_left_out() -> None:
    """All that the product reads of annotations, and all settings that change what is planned; none of them twice."""
    tried = ANNOTATIONS.keys() | SETTINGS.keys()
    assert tried | LEFT_OUT.keys() == OPTIONS.keys() | VARIABLES.keys() | {*DECIDING.values()}
    assert not tried & LEFT_OUT.keys()
