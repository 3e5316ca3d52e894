"""Every rule of the reference on load balancers has a case in this folder (see ``tests/support/balancer_rules``)."""

from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.support.balancer_rules import BALANCER_RULES, ELSEWHERE, HERE

FOLDER = Path(__file__).parent
ROOT = FOLDER.parents[2]
SERIES = {
    "SVC": 10,
    "TRG": 3,
    "NODE": 5,
    "ID": 11,
    "LB": 7,
    "PORT": 10,
    "CERT": 6,
    "TGT": 12,
    "ST": 6,
    "RT": 5,
    "W": 20,
}
ALL = {f"{series}-{number}" for series, last in SERIES.items() for number in range(1, last + 1)}
"""Every id of load-balancers.md."""


@pytest.fixture(scope="module")
def covered() -> Mapping[str, tuple[str, ...]]:
    """Rule → its cases in this folder."""
    return BALANCER_RULES.covered_in(FOLDER)


def test_every_rule_has_its_place() -> None:
    """Each id of the reference is in one of the two tables, and nothing else is."""
    assert HERE.keys() | ELSEWHERE.keys() == ALL
    assert HERE.keys() & ELSEWHERE.keys() == set()


@pytest.mark.parametrize("rule", HERE)
def test_rule_has_a_case(rule: str, covered: Mapping[str, tuple[str, ...]]) -> None:
    """A rule that the core decides has at least one case."""
    assert covered.get(rule), f"{rule}, {HERE[rule]}: no test here has the mark @balancer_covers({rule!r})"


def test_cases_are_of_rules_that_belong_here(covered: Mapping[str, tuple[str, ...]]) -> None:
    """No test claims a rule that does not exist, nor one that is said to be covered elsewhere."""
    assert {rule: tests for rule, tests in covered.items() if rule not in HERE} == {}


@pytest.mark.parametrize("rule", ELSEWHERE)
def test_reason_holds(rule: str) -> None:
    """A test that a reason points at is there."""
    assert BALANCER_RULES.missing_tests(rule, ROOT) == []
    assert ELSEWHERE[rule]
