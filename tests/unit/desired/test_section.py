"""Sections: look-up that tells absent from unknown."""

import pytest

from desired.section import Absent, Present, Section, Unknown
from tests.builders import incomplete
from tests.support.rows import rows

WHOLE: Section[str, int] = Section({"b": 2, "a": 1}, unreadable={"broken": "has no name", "a": "arrived twice"})
NOTHING: Section[str, int] = Section()
UNREAD: Section[str, int] = Section.missing("401")


@rows("section key expected", {
    "there": (WHOLE, "a", Present(1)),
    "absent-in-a-complete-section": (WHOLE, "z", Absent()),
    "arrived-and-could-not-be-read": (WHOLE, "broken", Unknown("has no name")),
    "there-in-an-incomplete-section": (incomplete(WHOLE, "429"), "a", Present(1)),
    "never-absent-in-an-incomplete-section": (incomplete(WHOLE, "429"), "z", Unknown("429")),
    "the-nearer-reason-is-given": (incomplete(WHOLE, "429"), "broken", Unknown("has no name")),
    "incomplete-without-a-word": (incomplete(WHOLE, ""), "z", Unknown("the reading is incomplete")),
    "empty-and-complete": (NOTHING, "z", Absent()),
    "nothing-was-read": (UNREAD, "z", Unknown("401")),
})  # fmt: skip
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


@rows("complete why", {"complete-with-a-gap": (True, "429"), "incomplete-without-a-reason": (False, None)})
def test_completeness_and_reason_agree(complete: bool, why: str | None) -> None:
    with pytest.raises(ValueError, match="exactly when it says why"):
        Section({}, complete=complete, why_incomplete=why)
