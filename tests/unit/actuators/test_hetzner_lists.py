"""Whole lists: what makes one complete, and what it says when it is not."""

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from actuators.http.decoding import Decoded
from actuators.http.errors import Broken, Transient
from actuators.http.lists import page_of, read_list
from actuators.wire.server import SERVERS
from desired.section import Present, Unknown
from tests.support.objects import server
from tests.support.rows import rows
from tests.support.simulators import Simulate, Simulation

CHANGED = "the list changed while it was being read"


def many(count: int) -> dict[str, Any]:
    return {"servers": [server(number, f"web-{number}") for number in range(1, count + 1)]}


def page(ids: list[int], *, last_page: int | None = 1, total: int | None) -> dict[str, Any]:
    return {
        "things": [{"id": thing} for thing in ids],
        "meta": {"pagination": {"last_page": last_page, "total_entries": total}},
    }


def decode(body: bytes) -> Decoded[int, int]:
    """Things by id; what has a negative one cannot be read."""
    ids = [thing["id"] for thing in json.loads(body)["things"]]
    unreadable = {thing: "negative" for thing in ids if thing is not None and thing < 0}
    return Decoded(
        {thing: thing for thing in ids if thing is not None and thing >= 0}, unreadable, nameless=ids.count(None)
    )


def read(sim: Simulation, *answers: Mapping[str, Any]) -> Any:
    """The section and the error when the API gives these answers, in the order of the requests."""
    for answer in answers:
        sim.spoil_hetzner("status", code=200, body=answer)
    return read_list(sim.hetzner_reader(), "/things", decode)


@pytest.mark.parametrize(("count", "requests"), [(0, 1), (50, 1), (51, 2), (120, 3)])
def test_pages(simulate: Simulate, count: int, requests: int) -> None:
    sim = simulate(project=many(count))
    section, error = SERVERS.observe(sim.hetzner_reader())
    assert error is None
    assert section.complete
    assert section.expected == count
    assert list(section.items) == list(range(1, count + 1))
    assert len(sim.sent_to_hetzner()) == requests
    assert all("per_page=50&sort=id:asc" in entry.query for entry in sim.sent_to_hetzner())


def test_types_of_load_balancers_were_sorted() -> None:
    """The API's document has no parameter ``sort`` for them."""
    assert page_of("/load_balancer_types", 2) == "/load_balancer_types?page=2&per_page=50"


@pytest.mark.parametrize(
    ("answers", "why"),
    [
        pytest.param([page([1, 2], total=3)] * 2, f"2 of 3 objects arrived: {CHANGED}", id="one is missing"),
        pytest.param([page([1, 2], total=1)] * 2, f"2 of 1 objects arrived: {CHANGED}", id="one too many"),
        pytest.param([page([1, 1], total=2)] * 2, f"1 of 2 objects arrived: {CHANGED}", id="one came twice"),
        pytest.param(
            [page([1], last_page=2, total=2), page([2], last_page=2, total=3)] * 2,
            CHANGED,
            id="another total on page 2",
        ),
        pytest.param([page([1], total=None)] * 2, "the API did not say how many objects there are", id="no total"),
        pytest.param(
            [page([1, None], total=2)] * 2,  # type: ignore[list-item]
            "1 objects of the list could not be read, not even their ids",
            id="a nameless object",
        ),
    ],
)
def test_counts_that_do_not_add_up(simulate: Simulate, answers: list[Any], why: str) -> None:
    """A list is read once more when its count does not add up, and is incomplete when it still does not."""
    sim = simulate()
    section, error = read(sim, *answers)
    assert error is None
    assert (section.complete, section.why_incomplete) == (False, why)
    assert len(sim.sent_to_hetzner()) == len(answers)
    assert isinstance(section.find(1), Present)
    assert isinstance(section.find(99), Unknown)


SHIFTED = (page([1, 2], last_page=2, total=3), page([2, 3], last_page=2, total=3))
SETTLED = (page([1, 2], last_page=2, total=3), page([3], last_page=2, total=3))


@rows(
    "answers why",
    {
        "an object on two pages, once": ([*SHIFTED, *SETTLED], None),
        "an object on two pages, for good": ([*SHIFTED, *SHIFTED], f"2 is on two pages: {CHANGED}"),
        "pages that fit": ([*SETTLED], None),
    },
)
def test_pages_that_shifted(simulate: Simulate, answers: list[Any], why: str | None) -> None:
    """The count is right, and an object slid from one page to the next: another one may have slid past. The list is
    read once more, and is incomplete if that does not settle it."""
    sim = simulate()
    section, error = read(sim, *answers)
    assert error is None
    assert (list(section.items), section.why_incomplete) == ([1, 2, 3], why)
    assert len(sim.sent_to_hetzner()) == len(answers)


def test_a_page_that_is_not_full(simulate: Simulate) -> None:
    """The count is right, and a page before the last one has less than the first."""
    sim = simulate()
    for number, ids in enumerate(([1, 2], [3], [4, 5]), 1):
        body = page(ids, last_page=3, total=5)
        sim.spoil_hetzner("status", code=200, body=body, query=f"page={number}&", count=None)
    section, error = read_list(sim.hetzner_reader(), "/things", decode)
    assert error is None
    assert section.why_incomplete == f"a page is not full, and more follow: {CHANGED}"
    assert len(sim.sent_to_hetzner()) == 6


@rows(
    "last_page total why",
    {
        "fewer objects than none": (1, -1, "the API says that there are -1 objects, which cannot be"),
        "no page at all, as of an empty list": (0, 2, None),
        "fewer than none": (-1, 2, "the API says that there are -1 pages of 2 objects, 2 on the first"),
        "absurd": (10**9, 2, f"the API says that there are {10**9} pages of 2 objects, 2 on the first"),
        "more than needed": (7, 2, "the API says that there are 7 pages of 2 objects, 2 on the first"),
    },
)
def test_impossible_numbers_of_a_list(simulate: Simulate, last_page: int, total: int | None, why: str | None) -> None:
    """Numbers that cannot be are unknown: nobody reads as many pages, nothing is taken for the whole list, and what
    arrived is there."""
    sim = simulate()
    section, error = read(sim, *[page([1, 2], last_page=last_page, total=total)] * 2)
    assert error is None
    assert (section.why_incomplete, list(section.items)) == (why, [1, 2])
    assert section.expected in (None, total)
    assert len(sim.sent_to_hetzner()) == (1 if why is None else 2)


@pytest.mark.parametrize(
    "body",
    ["<html>", *({"things": []} | more for more in ({}, {"meta": None}, {"meta": {"pagination": {"last_page": 1}}}))],
)
def test_answers_that_are_no_list(simulate: Simulate, body: Any) -> None:
    sim = simulate()
    sim.spoil_hetzner("status", code=200, body=body)
    section, error = read_list(sim.hetzner_reader(), "/things", decode)
    assert isinstance(error, Broken)
    assert not section.complete
    assert section.why_incomplete == str(error)
    assert "Hetzner GET /things" in str(error)


def test_one_page_fails(simulate: Simulate) -> None:
    sim = simulate(project=many(120))
    sim.spoil_hetzner("status", code=503, body="<html>", query="page=2&", count=None)
    section, error = SERVERS.observe(sim.hetzner_reader())
    assert isinstance(error, Transient)
    assert not section.complete
    assert list(section.items) == [*range(1, 51), *range(101, 121)]
    assert section.expected == 120
    assert isinstance(section.find(51), Unknown)


def test_a_second_reading_makes_an_object_readable(simulate: Simulate) -> None:
    """An object that is unreadable on one page and readable on the next is on two pages: the next reading tells."""

    def second_is_bad(body: bytes) -> Decoded[int, int]:
        ids = [thing["id"] for thing in json.loads(body)["things"]]
        return Decoded({}, {2: "bad"}) if ids == [2, 9] else Decoded({thing: thing for thing in ids}, {})

    sim = simulate()
    shifted = (page([2, 9], last_page=2, total=2), page([2], last_page=2, total=2))
    for answer in (*shifted, page([2], total=1)):
        sim.spoil_hetzner("status", code=200, body=answer)

    section, _ = read_list(sim.hetzner_reader(), "/things", second_is_bad)

    assert section.complete
    assert section.unreadable == {}
    assert list(section.items) == [2]


def test_names_of_unreadable_objects(simulate: Simulate) -> None:
    """The names of unreadable objects come together from all pages, without those that another page made readable."""

    def decode_named(body: bytes) -> Decoded[int, int]:
        decoded = decode(body)
        return replace(decoded, names={thing: f"thing {thing}" for thing in decoded.unreadable if thing != -3})

    sim = simulate()
    for numbers in ([-1, -2], [-3, 4]):
        sim.spoil_hetzner("status", code=200, body=page(numbers, last_page=2, total=4))

    section, error = read_list(sim.hetzner_reader(), "/things", decode_named)

    assert (error, section.complete) == (None, True)
    assert sorted(section.unreadable) == [-3, -2, -1]
    assert section.unreadable_names == {-1: "thing -1", -2: "thing -2"}
