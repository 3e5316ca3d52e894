"""Pairs of faults where they touch: at a read, or to the pass, and then at a write of the same pass or of the next."""

import random
from collections.abc import Iterator, Mapping, Sequence
from functools import cache

from tests.campaign.cases import Case, cases_of, undisturbed
from tests.campaign.points import Point, Strike
from tests.campaign.workloads import WORKLOADS

Pass = tuple[int, int]
"""Step, and number of the pass after it."""


def drawn_pairs(budget: int, seed: str) -> Iterator[Case]:
    """So many pairs, of all workloads in turn but those that write nothing; the same for the same seed."""
    rng = random.Random(seed)
    names = [name for name in WORKLOADS if any(_writes(name).values())]
    for number in range(budget):
        name = names[number % len(names)]
        at = rng.choice([each for each, found in _writes(name).items() if found])
        passes = [*_firsts(name)]
        before = passes[max(0, passes.index(at) - 1) : passes.index(at) + 1]
        first = rng.choice([strike for each in before for strike in _firsts(name)[each]])
        yield Case(name, (first, rng.choice(_writes(name)[at])))


@cache
def _firsts(workload: str) -> Mapping[Pass, Sequence[Strike]]:
    """Pass → what it, or a read in it, may meet."""
    return _by_pass(workload, is_write=False)


@cache
def _writes(workload: str) -> Mapping[Pass, Sequence[Strike]]:
    """Pass → what a write in it may meet."""
    return _by_pass(workload, is_write=True)


def _by_pass(workload: str, *, is_write: bool) -> Mapping[Pass, Sequence[Strike]]:
    found: dict[Pass, list[Strike]] = {_pass_of(point): [] for point in undisturbed(workload).passes}
    for case in cases_of(workload):
        (strike,) = case.strikes
        if strike.point.is_write is is_write:
            found[_pass_of(strike.point)].append(strike)
    return found


def _pass_of(point: Point) -> Pass:
    return point.step, point.turn
