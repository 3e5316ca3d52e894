"""Patches that plant a fault or take something out, each in a copy of the tree: the test that notices it."""

import argparse

from guards import Look, tell_finders

from tests.campaign.planting import Planted, a_copy, all_planted, apply, first_finder


def plant(given: argparse.Namespace) -> int:
    """How many patches are found that are said to be unseen, or the other way round."""
    return tell_finders("patches planted", {each.name: _look(each) for each in all_planted()}, given.named)


def _look(planted: Planted) -> Look:
    def look() -> str | None:
        with a_copy() as tree:
            apply(planted, tree)
            return first_finder(planted.found_by, tree)

    return look
