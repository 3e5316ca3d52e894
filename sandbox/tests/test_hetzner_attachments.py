"""Attaching servers to networks of the Hetzner simulator: addresses, refusals, members."""

from typing import Any

import pytest

from sandbox_support.hetzner_spec import HetznerApi

ATTACH = "/servers/1/actions/attach_to_network"
DETACH = "/servers/1/actions/detach_from_network"
WORLD: dict[str, Any] = {
    "servers": [
        {"id": 1, "name": "web-1"},
        {"id": 2, "name": "web-2", "private_net": [{"network": 5, "ip": "10.0.1.5", "alias_ips": ["10.0.1.6"]}]},
        {"id": 3, "name": "overseas", "location": "ash", "server_type": "cpx11"},
    ],
    "networks": [
        {
            "id": 5,
            "name": "net",
            "ip_range": "10.0.0.0/16",
            "subnets": [{"ip_range": "10.0.1.0/24"}, {"ip_range": "10.0.0.0/30"}],
        },
        {"id": 6, "name": "inside", "ip_range": "10.0.0.0/20"},
        {"id": 7, "name": "a", "ip_range": "10.7.0.0/16"},
        {"id": 8, "name": "b", "ip_range": "10.8.0.0/16"},
        {"id": 9, "name": "c", "ip_range": "10.9.0.0/16"},
    ],
}


@pytest.mark.parametrize(
    ("wish", "address", "aliases"),
    [
        pytest.param({}, "10.0.1.1", [], id="last-subnet-by-range"),
        pytest.param({"ip_range": "10.0.0.0/30"}, "10.0.0.2", [], id="asked-subnet-without-the-gateway"),
        pytest.param({"ip": "10.0.1.77"}, "10.0.1.77", [], id="asked-address"),
        pytest.param({"ip": "10.0.0.2", "ip_range": "10.0.0.0/30"}, "10.0.0.2", [], id="both"),
        pytest.param({"alias_ips": ["10.0.1.9", "10.0.1.8"]}, "10.0.1.1", ["10.0.1.9", "10.0.1.8"], id="aliases"),
    ],
)
def test_attached(wish: dict[str, Any], address: str, aliases: list[str]) -> None:
    """An attachment gets a free address, or the one that was asked for, on both sides at once."""
    api = HetznerApi(WORLD)
    action = api.done("POST", ATTACH, {"network": 5, **wish})
    [entry] = api.get("/servers/1")["server"]["private_net"]

    assert (action["command"], action["status"]) == ("attach_to_network", "success")
    assert (entry["network"], entry["ip"], entry["alias_ips"]) == (5, address, aliases)
    assert entry["mac_address"].startswith("86:00:00:")
    assert api.get("/networks/5")["network"]["servers"] == [1, 2]


@pytest.mark.parametrize(
    ("server", "body", "expected"),
    [
        pytest.param(1, {}, (422, "invalid_input"), id="no-network"),
        pytest.param(1, {"network": 77}, (404, "not_found"), id="unknown-network"),
        pytest.param(2, {"network": 5}, (422, "server_already_attached"), id="attached-already"),
        pytest.param(1, {"network": 5, "ip": "10.0.1.5"}, (422, "ip_not_available"), id="address-taken"),
        pytest.param(1, {"network": 5, "ip": "10.0.1.6"}, (422, "ip_not_available"), id="address-taken-as-alias"),
        pytest.param(1, {"network": 5, "ip": "10.0.0.1"}, (422, "ip_not_available"), id="gateway"),
        pytest.param(1, {"network": 5, "ip": "10.0.9.1"}, (422, "no_subnet_available"), id="address-in-no-subnet"),
        pytest.param(1, {"network": 5, "ip": "web-1"}, (422, "invalid_input"), id="no-address"),
        pytest.param(
            1,
            {"network": 5, "ip": "10.0.1.7", "ip_range": "10.0.0.0/30"},
            (422, "invalid_input"),
            id="address-outside-of-range",
        ),
        pytest.param(1, {"network": 5, "ip_range": "10.0.9.0/24"}, (422, "no_subnet_available"), id="no-such-subnet"),
        pytest.param(1, {"network": 5, "alias_ips": ["10.0.1.5"]}, (422, "ip_not_available"), id="alias-taken"),
        pytest.param(
            1,
            {"network": 5, "alias_ips": [f"10.0.1.{n}" for n in range(20, 26)]},
            (403, "resource_limit_exceeded"),
            id="too-many-aliases",
        ),
        pytest.param(2, {"network": 6}, (422, "networks_overlap"), id="overlapping-network"),
        pytest.param(3, {"network": 5}, (422, "no_subnet_available"), id="other-zone"),
    ],
)
def test_refused_attachments(server: int, body: dict[str, Any], expected: tuple[int, str]) -> None:
    """A refused attachment takes no address and no lock."""
    api = HetznerApi(WORLD)

    assert api.refused("POST", f"/servers/{server}/actions/attach_to_network", body) == expected
    assert len(api.get("/networks/5/members")["members"]) == 1
    assert not api.get(f"/servers/{server}")["server"]["locked"]


def test_full_subnet() -> None:
    """When no address is left, there is no subnet available."""
    world = {
        "servers": [{"id": n, "private_net": [{"network": 5}] if n < 3 else []} for n in (1, 2, 3)],
        "networks": [{"id": 5, "subnets": [{"ip_range": "10.0.9.0/30"}]}],
    }

    assert HetznerApi(world).refused("POST", "/servers/3/actions/attach_to_network", {"network": 5}) == (
        422,
        "no_subnet_available",
    )


def test_server_has_at_most_three_networks() -> None:
    """The fourth network of a server exceeds a limit."""
    api = HetznerApi(WORLD)
    for network in (5, 7, 8):
        api.done("POST", ATTACH, {"network": network})

    assert api.refused("POST", ATTACH, {"network": 9}) == (403, "resource_limit_exceeded")


def test_network_has_at_most_100_members() -> None:
    """The 101st attachment of a network exceeds a limit."""
    servers = [{"id": n, "private_net": [{"network": 5}] if n <= 100 else []} for n in range(1, 102)]
    api = HetznerApi({"servers": servers, "networks": [{"id": 5}]})

    assert api.refused("POST", "/servers/101/actions/attach_to_network", {"network": 5}) == (
        403,
        "resource_limit_exceeded",
    )


def test_detached() -> None:
    """Detaching vanishes from both sides when the action finishes, and frees the address."""
    api = HetznerApi(WORLD)
    detach = "/servers/2/actions/detach_from_network"
    api.accepted("POST", detach, {"network": 5})
    assert api.get("/servers/2")["server"]["private_net"] != []

    api.clock.advance(1)

    assert api.get("/servers/2")["server"]["private_net"] == []
    assert api.get("/networks/5")["network"]["servers"] == []
    assert api.refused("POST", detach, {"network": 5}) == (404, "not_found")
    api.done("POST", ATTACH, {"network": 5, "ip": "10.0.1.5"})


def test_members_show_what_is_in_flight() -> None:
    """Only the members of a network tell the subnet, and whether an attachment is in flight."""
    api = HetznerApi(WORLD)

    def members(query: str = "") -> list[tuple[Any, ...]]:
        listed = api.get(f"/networks/5/members{query}")["members"]
        return [(m["type"], m["id"], m["ip"], m["subnet"], m["status"]) for m in listed]

    api.accepted("POST", ATTACH, {"network": 5, "ip_range": "10.0.0.0/30"})
    assert members() == [
        ("server", 1, "10.0.0.2", "10.0.0.0/30", "attaching"),
        ("server", 2, "10.0.1.5", "10.0.1.0/24", "ok"),
    ]
    api.clock.advance(1)
    api.accepted("POST", "/servers/2/actions/detach_from_network", {"network": 5})
    assert members("?sort=ip:desc") == [
        ("server", 2, "10.0.1.5", "10.0.1.0/24", "detaching"),
        ("server", 1, "10.0.0.2", "10.0.0.0/30", "ok"),
    ]
    assert [member[1] for member in members("?status=ok")] == [1]
    assert [member[1] for member in members("?subnet=10.0.1.0/24&type=server")] == [2]
    assert members("?type=load_balancer") == []
    api.clock.advance(1)
    assert [member[1] for member in members()] == [1]


def test_members_are_paged_and_name_load_balancers() -> None:
    """Load balancers are members too, and the list has pages."""
    world = {**WORLD, "load_balancers": [{"id": 1, "private_net": [{"network": 5, "ip": "10.0.1.50"}]}]}
    body = HetznerApi(world).get("/networks/5/members?per_page=1")

    assert [member["type"] for member in body["members"]] == ["load_balancer"]
    assert body["meta"]["pagination"]["total_entries"] == 2


def test_failed_attachment_frees_the_address() -> None:
    """An attachment whose action fails leaves neither entry nor reservation."""
    api = HetznerApi(WORLD)
    api.simulator.set_faults([{"kind": "action_fails", "command": "attach_to_network"}])

    assert api.done("POST", ATTACH, {"network": 5, "ip": "10.0.1.9"})["status"] == "error"
    assert len(api.get("/networks/5/members")["members"]) == 1
    api.done("POST", ATTACH, {"network": 5, "ip": "10.0.1.9"})


def test_failed_detachment_leaves_the_member() -> None:
    """A detachment whose action fails leaves the member as it was."""
    api = HetznerApi(WORLD)
    api.simulator.set_faults([{"kind": "action_fails"}])
    api.done("POST", "/servers/2/actions/detach_from_network", {"network": 5})

    assert [member["status"] for member in api.get("/networks/5/members")["members"]] == ["ok"]


def test_deleting_a_network_detaches_everything() -> None:
    """Deleting a network needs nobody to detach first."""
    api = HetznerApi(WORLD)
    response = api.send("DELETE", "/networks/5")

    assert (response.status, response.body) == (204, None)
    assert api.get("/servers/2")["server"]["private_net"] == []
    assert api.refused("POST", DETACH, {"network": 5}) == (404, "not_found")


ALIASES = "/servers/2/actions/change_alias_ips"


def aliases(api: HetznerApi) -> list[str]:
    """The alias addresses of server 2."""
    [entry] = api.get("/servers/2")["server"]["private_net"]
    assert entry["ip"] == "10.0.1.5"
    listed: list[str] = entry["alias_ips"]
    return listed


@pytest.mark.parametrize("wanted", [["10.0.1.6", "10.0.1.9"], ["10.0.1.7"], []], ids=["one more", "another", "none"])
def test_changed_aliases(wanted: list[str]) -> None:
    """The whole list is replaced when the action finishes; until then the new ones are taken, and so are the old."""
    api = HetznerApi(WORLD)
    action = api.accepted("POST", ALIASES, {"network": 5, "alias_ips": wanted})["action"]

    assert (aliases(api), [m["status"] for m in api.get("/networks/5/members")["members"]]) == (
        ["10.0.1.6"],
        ["updating"],
    )
    assert action["command"] == "change_alias_ips"
    assert action["resources"] == [{"id": 2, "type": "server"}, {"id": 5, "type": "network"}]
    assert api.refused("POST", ATTACH, {"network": 5}) == (409, "conflict")
    api.clock.advance(1)
    assert aliases(api) == wanted
    assert [m["status"] for m in api.get("/networks/5/members")["members"]] == ["ok"]


@pytest.mark.parametrize(
    ("server", "body", "expected"),
    [
        pytest.param(2, {"network": 5}, (422, "invalid_input"), id="no-list"),
        pytest.param(2, {"alias_ips": []}, (422, "invalid_input"), id="no-network"),
        pytest.param(2, {"network": 77, "alias_ips": []}, (404, "not_found"), id="unknown-network"),
        pytest.param(1, {"network": 5, "alias_ips": []}, (404, "not_found"), id="not-attached"),
        pytest.param(2, {"network": 5, "alias_ips": ["10.0.1.5"]}, (422, "ip_not_available"), id="its-own-address"),
        pytest.param(2, {"network": 5, "alias_ips": ["10.0.1.7"] * 2}, (422, "ip_not_available"), id="twice-the-same"),
        pytest.param(2, {"network": 5, "alias_ips": ["10.0.9.1"]}, (422, "no_subnet_available"), id="in-no-subnet"),
        pytest.param(
            2,
            {"network": 5, "alias_ips": [f"10.0.1.{n}" for n in range(20, 26)]},
            (403, "resource_limit_exceeded"),
            id="too-many",
        ),
    ],
)
def test_refused_aliases(server: int, body: dict[str, Any], expected: tuple[int, str]) -> None:
    """A refused change leaves them as they were, and takes no lock."""
    api = HetznerApi(WORLD)

    assert api.refused("POST", f"/servers/{server}/actions/change_alias_ips", body) == expected
    assert aliases(api) == ["10.0.1.6"]
    api.done("POST", ATTACH, {"network": 5, "ip": "10.0.1.7"})


def test_aliases_are_taken_from_the_start() -> None:
    """A server that is created meanwhile, which locks no network, gets another address."""
    api = HetznerApi(WORLD)
    api.accepted("POST", ALIASES, {"network": 5, "alias_ips": ["10.0.1.1"]})
    new = {"name": "web-4", "server_type": "cpx22", "image": "ubuntu-24.04", "networks": [5]}
    server = api.accepted("POST", "/servers", new)["server"]
    api.clock.advance(60)

    [entry] = api.get(f"/servers/{server['id']}")["server"]["private_net"]
    assert entry["ip"] == "10.0.1.2"


def test_failed_change_of_aliases_frees_the_addresses() -> None:
    """A change whose action fails leaves the old ones, and no reservation."""
    api = HetznerApi(WORLD)
    api.simulator.set_faults([{"kind": "action_fails"}])

    assert api.done("POST", ALIASES, {"network": 5, "alias_ips": ["10.0.1.9"]})["status"] == "error"
    assert aliases(api) == ["10.0.1.6"]
    api.done("POST", ATTACH, {"network": 5, "ip": "10.0.1.9"})
