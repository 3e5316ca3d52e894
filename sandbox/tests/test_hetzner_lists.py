"""Lists of the Hetzner simulator: pages, links, sorting and filters."""

from typing import Any

import pytest

from sandbox_support.hetzner_spec import HetznerApi

NAMES = ("delta", "alpha", "charlie", "bravo")


@pytest.fixture(scope="module")
def many() -> HetznerApi:
    """53 servers, ids 1 to 53."""
    return HetznerApi({"servers": [{"id": number, "name": f"web-{number}"} for number in range(1, 54)]})


@pytest.fixture(scope="module")
def few() -> HetznerApi:
    """Four servers, with labels and states."""
    statuses = ("running", "off", "running", "initializing")
    return HetznerApi(
        {
            "servers": [
                {"id": 10 + place, "name": name, "status": status, "labels": {"place": str(place)}}
                for place, (name, status) in enumerate(zip(NAMES, statuses, strict=True))
            ]
        }
    )


def pagination(page: int, per_page: int, previous: int | None, following: int | None, last: int) -> dict[str, Any]:
    """The six keys of a list of 53."""
    return {
        "page": page,
        "per_page": per_page,
        "previous_page": previous,
        "next_page": following,
        "last_page": last,
        "total_entries": 53,
    }


@pytest.mark.parametrize(
    ("query", "ids", "expected"),
    [
        pytest.param("", range(1, 26), pagination(1, 25, None, 2, 3), id="default"),
        pytest.param("?page=2", range(26, 51), pagination(2, 25, 1, 3, 3), id="middle"),
        pytest.param("?page=3", range(51, 54), pagination(3, 25, 2, None, 3), id="last"),
        pytest.param("?page=4", range(0), pagination(4, 25, 3, None, 3), id="beyond"),
        pytest.param("?page=2&per_page=50", range(51, 54), pagination(2, 50, 1, None, 2), id="largest"),
        pytest.param("?per_page=100", range(1, 51), pagination(1, 50, None, 2, 2), id="more-than-largest"),
        pytest.param("?per_page=1", range(1, 2), pagination(1, 1, None, 2, 53), id="smallest"),
    ],
)
def test_pages(many: HetznerApi, query: str, ids: range, expected: dict[str, Any]) -> None:
    """A page holds its share, and meta tells where it is."""
    body = many.get(f"/servers{query}")

    assert [server["id"] for server in body["servers"]] == list(ids)
    assert body["meta"] == {"pagination": expected}


def test_empty_list_has_one_page() -> None:
    """An empty list answers page 1 of 1."""
    body = HetznerApi().get("/load_balancers")

    assert body == {
        "load_balancers": [],
        "meta": {
            "pagination": {
                "page": 1,
                "per_page": 25,
                "previous_page": None,
                "next_page": None,
                "last_page": 1,
                "total_entries": 0,
            }
        },
    }


@pytest.mark.parametrize("query", ["page=0", "page=-1", "page=x", "per_page=0", "per_page=", "page=1.5"])
def test_page_that_is_no_number(many: HetznerApi, query: str) -> None:
    """Pages and their size are numbers from 1."""
    assert many.refused("GET", f"/servers?{query}") == (422, "invalid_input")


def test_link_header_keeps_the_filters(many: HetznerApi) -> None:
    """The Link header repeats where to go on, with the query that was asked."""
    link = many.send("GET", "/servers?sort=name&page=2&per_page=10").headers["Link"]
    base = "https://api.hetzner.cloud/v1/servers?sort=name"

    assert link == (
        f'<{base}&page=1&per_page=10>; rel="prev", '
        f'<{base}&page=3&per_page=10>; rel="next", '
        f'<{base}&page=6&per_page=10>; rel="last"'
    )


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("", "delta alpha charlie bravo"),
        ("sort=name", "alpha bravo charlie delta"),
        ("sort=name:asc", "alpha bravo charlie delta"),
        ("sort=name:desc", "delta charlie bravo alpha"),
        ("sort=id:desc", "bravo charlie alpha delta"),
        ("sort=created&sort=name", "alpha bravo charlie delta"),
        ("sort=name:desc&sort=name:asc", "delta charlie bravo alpha"),
        ("name=alpha", "alpha"),
        ("name=alph", ""),
        ("status=off", "alpha"),
        ("status=off&status=initializing", "alpha bravo"),
        ("label_selector=place%20in%20(0,3)", "delta bravo"),
        ("label_selector=place!%3D0&status=running", "charlie"),
    ],
)
def test_sorts_and_filters(few: HetznerApi, query: str, expected: str) -> None:
    """Filters are exact; of contradictory sorts the first counts."""
    body = few.get(f"/servers?{query}")

    assert [server["name"] for server in body["servers"]] == expected.split()
    assert body["meta"]["pagination"]["total_entries"] == len(expected.split())


@pytest.mark.parametrize("sort", ["size", "name:down"])
def test_unknown_sorts_are_ignored(sort: str) -> None:
    """As the API document says in words, while its schema has none."""
    api = HetznerApi({"servers": [{"id": 2, "name": "a"}, {"id": 1, "name": "b"}]}, undocumented=True)

    assert [server["id"] for server in api.get(f"/servers?sort={sort}")["servers"]] == [1, 2]


def test_malformed_selector_is_refused(few: HetznerApi) -> None:
    """A selector outside of the grammar is invalid input."""
    assert few.refused("GET", "/servers?label_selector=a%20b") == (422, "invalid_input")


@pytest.mark.parametrize(
    ("path", "names"),
    [
        ("/locations", {"fsn1", "nbg1", "hel1", "ash", "hil", "sin"}),
        ("/server_types", {"cpx12", "cpx22", "cpx32", "cx23", "cax11", "ccx13"}),
        ("/load_balancer_types", {"lb11", "lb21", "lb31"}),
    ],
)
def test_catalogues(few: HetznerApi, path: str, names: set[str]) -> None:
    """Catalogues are lists like others, and each entry can be read by id and found by name."""
    listed = few.get(f"{path}?per_page=50")[path[1:]]
    assert names <= {entry["name"] for entry in listed}
    for entry in listed:
        assert few.get(f"{path}/{entry['id']}") == {path[1:-1]: entry}
        assert few.get(f"{path}?name={entry['name']}")[path[1:]] == [entry]

    assert few.refused("GET", f"{path}/999999") == (404, "not_found")


def test_locations_can_be_sorted(few: HetznerApi) -> None:
    """Locations have a sort by name."""
    assert few.get("/locations?sort=name&per_page=2")["locations"][0]["name"] == "ash"


def test_server_types_tell_where_they_are_offered(few: HetznerApi) -> None:
    """A sold-out type is listed with its deprecation, and a type only where it is sold."""
    types = {entry["name"]: entry for entry in few.get("/server_types?per_page=50")["server_types"]}

    assert not any(place["available"] for place in types["cx32"]["locations"])
    assert {place["name"] for place in types["cax11"]["locations"]} == {"fsn1", "nbg1", "hel1"}


def test_answers_may_be_changed_by_the_caller(few: HetznerApi) -> None:
    """What a caller does to an answer does not reach the simulator."""
    few.get("/servers/10")["server"]["labels"]["place"] = "changed"

    assert few.get("/servers/10")["server"]["labels"] == {"place": "0"}
