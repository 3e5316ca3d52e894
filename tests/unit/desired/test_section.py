"""Sections: look-up that tells absent from unknown."""

import pytest

from desired.section import Absent, Present, Section, Unknown
from tests.builders import incomplete

WHOLE: Section[str, int] = Section({"b": 2, "a": 1}, unreadable={"broken": "has no name", "a": "arrived twice"})
NOTHING: Section[str, int] = Section()
UNREAD: Section[str, int] = Section.missing("401")


@pytest.mark.parametrize(
    ("section", "key", "expected"),
    [
        pytest.param(WHOLE, "a", Present(1), id="there"),
        pytest.param(WHOLE, "z", Absent(), id="absent-in-a-complete-section"),
        pytest.param(WHOLE, "broken", Unknown("has no name"), id="arrived-and-could-not-be-read"),
        pytest.param(incomplete(WHOLE, "429"), "a", Present(1), id="there-in-an-incomplete-section"),
        pytest.param(incomplete(WHOLE, "429"), "z", Unknown("429"), id="never-absent-in-an-incomplete-section"),
        pytest.param(incomplete(WHOLE, "429"), "broken", Unknown("has no name"), id="the-nearer-reason-is-given"),
        pytest.param(incomplete(WHOLE, ""), "z", Unknown("the reading is incomplete"), id="incomplete-without-a-word"),
        pytest.param(NOTHING, "z", Absent(), id="empty-and-complete"),
        pytest.param(UNREAD, "z", Unknown("401"), id="nothing-was-read"),
    ],
)
def test_find(section: Section[str, int], key: str, expected: Present[int] | Absent | Unknown) -> None:
    """Absent is only said by a complete section, of a key that did not arrive in any form."""
    assert section.find(key) == expected


def test_objects_come_in_the_order_of_their_keys() -> None:
    """Iterating yields the objects by key, whatever the order in which they arrived."""
    assert list(Section({3: "c", 10: "j", 1: "a"})) == ["a", "c", "j"]


def test_length_counts_what_was_read() -> None:
    """An unreadable object is not counted: an empty section is false."""
    broken: Section[str, int] = Section(unreadable={"a": "broken"})
    assert [len(WHOLE), len(broken)] == [2, 0]
    assert not NOTHING


def test_missing_is_incomplete_and_empty() -> None:
    """A section of which nothing could be read says why."""
    assert Section({}, complete=False, why_incomplete="401") == UNREAD


@pytest.mark.parametrize(
    ("complete", "why"),
    [pytest.param(True, "429", id="complete-with-a-gap"), pytest.param(False, None, id="incomplete-without-a-reason")],
)
def test_completeness_and_reason_agree(complete: bool, why: str | None) -> None:
    """A section is incomplete exactly when it says why."""
    with pytest.raises(ValueError, match="exactly when it says why"):
        Section({}, complete=complete, why_incomplete=why)
