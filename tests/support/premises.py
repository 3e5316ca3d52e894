"""Premises of laws, counted: a law that holds because nothing happens in its examples is no law.

A law states which of its examples are worth their while, and in which share of them that is so at least. Each example
says whether it is one; ``tests/conftest.py`` fails a law whose interesting examples are rarer than stated.
"""

from collections import Counter
from collections.abc import Iterator, Mapping
from math import sqrt

ALWAYS: Mapping[str, float] = {}
"""Of a law of which every example is worth its while."""
_DEVIATIONS = 5.0
"""Standard deviations by which a share may fall short: each commit has a seed of its own, and a hundred shares."""
_BY_CHANCE = 0.000001
"""How likely it is that a share falls so short, as a probability. Where it is less likely that no example at all meets
a premise, one has to."""
_tried: Counter[str] = Counter()
_met: Counter[str] = Counter()


def premise(name: str, *, is_met: bool) -> None:
    """Say whether this example meets a premise of its law."""
    _tried[name] += 1
    _met[name] += is_met


def forget() -> None:
    _tried.clear()
    _met.clear()


def shortcomings(shares: Mapping[str, float]) -> Iterator[str]:
    """What is said of each premise that was met in a smaller share of examples than this (0 to 1), or that no example
    spoke of; and of each that is not stated."""
    for name, share in shares.items():
        if _tried[name] == 0 or _met[name] < _fewest(share, _tried[name]):
            yield f"{name}: {_met[name]} of {_tried[name]} examples, where {share:.0%} are stated"
    yield from (f"{name}: not stated" for name in _tried.keys() - shares.keys())


def most(share: float, tried: int) -> float:
    """How many examples of this share there are at most, by chance."""
    return share * tried + _DEVIATIONS * sqrt(tried * share * (1 - share))


def _fewest(share: float, tried: int) -> float:
    """How many there are at least; below 1 if so few examples may well be all of another kind."""
    is_sure_of_one = (1 - share) ** tried < _BY_CHANCE
    return max(share * tried - _DEVIATIONS * sqrt(tried * share * (1 - share)), is_sure_of_one)
