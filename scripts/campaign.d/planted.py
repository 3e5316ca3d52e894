"""Patches that plant a fault or take something out, each in a copy of the tree: the test that notices it."""

import argparse
from pathlib import Path

from guards import Look, tell_finders
from telling import Told

from tests.campaign.planting import Planted, a_copy, all_planted, apply, first_finder


def plant(given: argparse.Namespace) -> Told:
    """How many patches are found that are said to be unseen, or the other way round."""
    with a_copy() as clean:
        return tell_finders("planted", {each.name: _look(each, clean) for each in all_planted()}, given)


def _look(planted: Planted, clean: Path) -> Look:
    def look() -> str | None:
        with a_copy() as tree:
            apply(planted, tree)
            return first_finder(planted.found_by, tree, clean)

    return look
