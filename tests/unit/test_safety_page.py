"""docs/safety.md: every disaster and every guard has its line, and every test that a line names is there."""

import re
from functools import cache
from pathlib import Path

import pytest

from desired.guards.table import GUARDS
from tests.campaign.planting import UNSEEN, noticed_by

ROOT = Path(__file__).resolve().parents[2]
DISASTERS = [f"D{number}" for number in range(1, 33)]
ROW = re.compile(r"^\| (D\d+) \| ([^|]+) \| ([^|]+) \| ([^|]+) \|$", re.MULTILINE)
GUARD = re.compile(r"^\| \[`([a-z-]+)`\]\(reference/rules\.md#\1\)(?: \| [^|]+){2} \|$", re.MULTILINE)
NAMED = re.compile(r"`(tests/[\w/]+\.py)::(test_\w+)`")


def _rows() -> dict[str, tuple[str, str, str]]:
    """Disaster → what it is, what happens here, what shows it."""
    return {number: (what, here, shown) for number, what, here, shown in ROW.findall(_page())}


def _page() -> str:
    return (ROOT / "docs" / "safety.md").read_text(encoding="utf-8")


def test_every_disaster_has_its_line() -> None:
    assert [number for number, *_ in ROW.findall(_page())] == DISASTERS


@pytest.mark.parametrize("disaster", DISASTERS)
def test_what_a_line_says_is_shown_by_a_test(disaster: str) -> None:
    *_, shown = _rows()[disaster]

    assert NAMED.findall(shown)


def test_every_guard_has_its_line() -> None:
    """In both tables, in the order of the code's. A law or a run of the campaign notices when it is missing."""
    shown = noticed_by()

    assert GUARD.findall(_page()) == [*GUARDS]
    assert [*shown] == [*GUARDS]
    assert [name for name, tests in shown.items() if not any(map(_is_of_campaign, tests))] == [
        name for name in GUARDS if f"guards/{name}" in UNSEEN
    ]


def _is_of_campaign(test: str) -> bool:
    return test.startswith(("tests/campaign/", "tests/property/"))


def test_every_test_that_is_named_is_there() -> None:
    named = set(NAMED.findall(_page()))

    assert sorted(f"{path}::{name}" for path, name in named if name not in _tests_in(path)) == []


@cache
def _tests_in(path: str) -> frozenset[str]:
    """Names of the tests of a file; none where it is missing."""
    file = ROOT / path
    text = file.read_text(encoding="utf-8") if file.is_file() else ""
    return frozenset(re.findall(r"^ *def (test_\w+)", text, re.MULTILINE))
