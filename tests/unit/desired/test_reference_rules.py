"""Every rule of the reference on Nodes and routes has a case in this folder (see ``tests/support/reference_rules``)."""

from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.support.reference_rules import ELSEWHERE, HERE, NODE_RULES
from tests.support.rule_marks import Rules

FOLDER = Path(__file__).parent
ROOT = FOLDER.parents[2]
NODES = ["1.1", "2.1", "2.2", "3.1", "3.2", "4.2", "4.3", "4.4", "4.5", "4.6", "4.7", "5.1", "5.2", "5.3", "5.4"]
ROUTES = ["6.3", "6.4", "6.6", "6.7"]
SERIES = {"ST": 11, "I": 6, "SC": 8, "G": 7, "W": 32}
ALL = {*NODES, *ROUTES, *(f"{series}-{number}" for series, last in SERIES.items() for number in range(1, last + 1))}
"""Every id of nodes-and-routes.md, and the sections on Nodes and routes whose rules have none."""


@pytest.fixture(scope="module")
def covered() -> Mapping[str, tuple[str, ...]]:
    """Rule → its cases in this folder."""
    return NODE_RULES.covered_in(FOLDER)


def test_every_rule_has_its_place() -> None:
    """Each id of the reference is in one of the two tables, and nothing else is."""
    assert HERE.keys() | ELSEWHERE.keys() == ALL
    assert HERE.keys() & ELSEWHERE.keys() == set()


@pytest.mark.parametrize("rule", HERE)
def test_rule_has_a_case(rule: str, covered: Mapping[str, tuple[str, ...]]) -> None:
    """A rule about Nodes or routes has at least one case."""
    assert covered.get(rule), f"{rule}, {HERE[rule]}: no test in tests/unit/desired has the mark @covers({rule!r})"


def test_cases_are_of_rules_that_belong_here(covered: Mapping[str, tuple[str, ...]]) -> None:
    """No test claims a rule that does not exist, nor one that is said to be covered elsewhere."""
    assert {rule: tests for rule, tests in covered.items() if rule not in HERE} == {}


@pytest.mark.parametrize("rule", ELSEWHERE)
def test_reason_holds(rule: str) -> None:
    """A test that a reason points at is there."""
    assert NODE_RULES.missing_tests(rule, ROOT) == []
    assert ELSEWHERE[rule]


CASES = """
from tests.support.reference_rules import covers

@covers("W-1", "2.2")
@pytest.mark.parametrize("x", [1])
def test_a(x): ...

@pytest.mark.parametrize("x", [1])
@covers("W-1")
def test_b(x): ...

def test_c(): ...

class TestD:
    @covers("I-1")
    def test_e(self): ...
"""


def test_marks_are_found(tmp_path: Path) -> None:
    """Marks are found above and below other decorators, in every file of the folder and of those in it."""
    (tmp_path / "below").mkdir()
    (tmp_path / "test_one.py").write_text(CASES)
    (tmp_path / "below" / "test_two.py").write_text('@covers("W-1")\ndef test_f(): ...\n')
    (tmp_path / "notes.txt").write_text('@covers("W-9")\ndef test_g(): ...\n')
    assert NODE_RULES.covered_in(tmp_path) == {
        "W-1": ("test_two.py::test_f", "test_one.py::test_a", "test_one.py::test_b"),
        "2.2": ("test_one.py::test_a",),
        "I-1": ("test_one.py::test_e",),
    }


@pytest.mark.parametrize(
    "source",
    [
        pytest.param("@covers()\ndef test_a(): ...", id="no-ids"),
        pytest.param("@covers(RULE)\ndef test_a(): ...", id="a-name"),
        pytest.param('@covers("W-1", *RULES)\ndef test_a(): ...', id="some-that-are-unpacked"),
        pytest.param("@covers(1)\ndef test_a(): ...", id="a-number"),
        pytest.param('@covers("W-1")\ndef helper(): ...', id="on-what-is-no-test"),
    ],
)
def test_marks_that_say_nothing(tmp_path: Path, source: str) -> None:
    """A mark that cannot be read from the source, or that is on no test, is an error and not a case."""
    (tmp_path / "test_one.py").write_text(source)
    with pytest.raises(ValueError, match=r"test_one\.py:1: a mark belongs on a test"):
        NODE_RULES.covered_in(tmp_path)


def test_marks_of_another_reference_are_none(tmp_path: Path) -> None:
    """Ids of two references may be the same: each has a mark of its own."""
    (tmp_path / "test_one.py").write_text('@balancer_covers("W-1")\ndef test_a(): ...\n')
    assert NODE_RULES.covered_in(tmp_path) == {}


def test_reasons_that_name_what_is_not_there(tmp_path: Path) -> None:
    """A test that was renamed is no reason any more."""
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests" / "test_there.py").touch()
    rules = Rules("covers", {}, {"W-1": "process: tests/test_there.py; tests/test_gone.py, for ever", "W-2": "routes"})
    assert rules.missing_tests("W-1", tmp_path) == ["tests/test_gone.py"]
    assert rules.missing_tests("W-2", tmp_path) == []
