"""Lists that the Hetzner simulator gets wrong on request: they shrink, lack what is there, or end early."""

from typing import Any

import pytest

from hcloud_sandbox.hetzner.store import KINDS
from sandbox_support.hetzner_spec import HetznerApi


def with_faults(*faults: dict[str, Any], world: dict[str, Any]) -> HetznerApi:
    """A simulator of this world with these faults."""
    api = HetznerApi(world)
    api.judged.set_faults(list(faults))
    return api


def servers(*numbers: int) -> dict[str, Any]:
    """A world of servers with these ids, named after them."""
    return {"servers": [{"id": number, "name": f"web-{number}"} for number in numbers]}


def shown(api: HetznerApi, url: str = "/servers") -> tuple[list[int], int]:
    """The ids on a page of servers, and how many the list says that there are."""
    body = api.get(url)
    return [server["id"] for server in body["servers"]], body["meta"]["pagination"]["total_entries"]


def test_shrinking_list() -> None:
    """After page 1 its first object is gone, so that the first of page 2 is missed and the count differs."""
    api = with_faults({"kind": "list_shrinks", "path": "/v1/servers"}, world=servers(*range(1, 8)))
    assert len(api.get("/servers?per_page=50")["servers"]) == 7
    pages = [api.get(f"/servers?per_page=3&page={number}") for number in (1, 2, 3)]

    assert [[server["id"] for server in page["servers"]] for page in pages] == [[1, 2, 3], [5, 6, 7], []]
    assert [page["meta"]["pagination"]["total_entries"] for page in pages] == [7, 6, 6]
    assert api.refused("GET", "/servers/1") == (404, "not_found")
    assert api.get("/servers?per_page=3")["meta"]["pagination"]["total_entries"] == 6


@pytest.mark.parametrize("kind", KINDS)
def test_a_list_of_any_kind_lacks_what_is_there(kind: str) -> None:
    """Catalog and addresses of servers among it."""
    api = with_faults({"kind": "list_lacks", "path": f"/{kind}"}, world=servers(1))

    assert api.get(f"/{kind}")[kind] == []


def test_a_firewall_is_not_applied_to_what_has_shrunk_away() -> None:
    """The server goes while the action runs, which fails then."""
    world = {**servers(1, 2), "firewalls": [{"id": 5}]}
    api = with_faults({"kind": "list_shrinks", "path": "/servers"}, world=world)
    entry = {"type": "server", "server": {"id": 1}}
    (action,) = api.send("POST", "/firewalls/5/actions/apply_to_resources", {"apply_to": [entry]}).body["actions"]
    api.get("/servers?per_page=1")
    api.clock.advance(60)

    assert api.get(f"/actions/{action['id']}")["action"]["error"]["code"] == "not_found"
    assert api.get("/firewalls/5")["firewall"]["applied_to"] == []


@pytest.mark.parametrize("kind", ["networks", "load_balancers", "certificates", "volumes", "placement_groups"])
def test_other_lists_shrink_too(kind: str) -> None:
    """Any list of objects can shrink; what was attached is detached."""
    world: dict[str, Any] = {kind: [{"id": 5}, {"id": 6}], "servers": [{"id": 1}]}
    if kind == "networks":
        world["servers"] = [{"id": 1, "private_net": [{"network": 5}]}]
    api = with_faults({"kind": "list_shrinks", "path": f"/{kind}"}, world=world)
    api.get(f"/{kind}?per_page=1")

    assert [found["id"] for found in api.get(f"/{kind}")[kind]] == [6]
    assert api.get("/servers/1")["server"]["private_net"] == []


@pytest.mark.parametrize(
    ("members", "seen"),
    [
        pytest.param({"ids": [2]}, ([1, 3], 2), id="one"),
        pytest.param({"ids": [1, 3, 99]}, ([2], 1), id="some"),
        pytest.param({"ids": []}, ([1, 2, 3], 3), id="none"),
        pytest.param({}, ([], 0), id="all"),
    ],
)
def test_list_that_lacks_objects(members: dict[str, Any], seen: tuple[list[int], int]) -> None:
    """The list is whole by its own account, and a GET by id finds what it lacks."""
    fault = {"kind": "list_lacks", "path": "/servers", "count": 2, **members}
    api = with_faults(fault, world={**servers(1, 2, 3), "networks": [{"id": 5}]})

    assert shown(api) == seen
    assert [api.get(f"/servers/{number}")["server"]["id"] for number in (1, 2, 3)] == [1, 2, 3]
    assert api.get("/networks")["networks"] != []
    assert shown(api, "/servers?name=web-2")[0] == [found for found in seen[0] if found == 2]
    assert shown(api) == ([1, 2, 3], 3)


@pytest.mark.parametrize(
    ("entries", "pages"),
    [
        pytest.param(0, [([], None)], id="empty"),
        pytest.param(2, [([1, 2], None)], id="within the first page"),
        pytest.param(3, [([1, 2, 3], None)], id="at its end"),
        pytest.param(5, [([1, 2, 3], 2), ([4, 5], None)], id="on the second page"),
        pytest.param(9, [([1, 2, 3], 2), ([4, 5, 6], 3), ([7], None)], id="behind its end"),
    ],
)
def test_truncated_list(entries: int, pages: list[tuple[list[int], int | None]]) -> None:
    """It ends early, and says how many there should have been."""
    fault = {"kind": "list_truncated", "path": "/v1/servers", "entries": entries, "count": None}
    api = with_faults(fault, world=servers(*range(1, 8)))

    for number, (ids, following) in enumerate(pages, 1):
        url = f"/servers?per_page=3&page={number}"
        assert shown(api, url) == (ids, 7)
        assert api.get(url)["meta"]["pagination"]["next_page"] == following


def test_list_that_lacks_some_and_is_truncated() -> None:
    """The two go together: the first decides what there is, the second how much of it arrives."""
    api = with_faults(
        {"kind": "list_lacks", "path": "/servers", "ids": [1]},
        {"kind": "list_truncated", "path": "/servers", "entries": 1},
        world=servers(1, 2, 3),
    )

    assert [shown(api) for _ in range(2)] == [([2], 2), ([1, 2, 3], 3)]
