"""Servers of the Hetzner simulator: creating, changing, deleting, power and type."""

from typing import Any

import pytest

from sandbox_support.hetzner_spec import HetznerApi

NEW: dict[str, Any] = {"name": "web-2", "server_type": "cpx22", "image": "ubuntu-24.04", "location": "nbg1"}
WORLD: dict[str, Any] = {
    "servers": [{"id": 1, "name": "web-1", "server_type": "cpx22", "private_net": [{"network": 5}]}],
    "networks": [
        {"id": 5, "name": "net", "ip_range": "10.0.0.0/16"},
        {"id": 6, "name": "overlapping", "ip_range": "10.0.0.0/8"},
        {
            "id": 7,
            "name": "overseas",
            "ip_range": "10.9.0.0/16",
            "subnets": [{"ip_range": "10.9.0.0/24", "network_zone": "us-east"}],
        },
    ],
}


def test_created_server_is_preliminary_until_its_action_ends() -> None:
    """The answer to a creation is preliminary; after create_server the server is off, after start_server running."""
    api = HetznerApi(WORLD, action_s_by_command={"create_server": 10.0, "start_server": 5.0})
    created = api.accepted("POST", "/servers", {**NEW, "networks": [5], "labels": {"pool": "web"}})
    server = created["server"]

    assert (server["id"], server["name"], server["status"]) == (2, "web-2", "initializing")
    assert (server["private_net"], server["labels"], server["locked"]) == ([], {"pool": "web"}, True)
    assert server["server_type"]["name"] == "cpx22"
    assert server["location"]["name"] == "nbg1"
    assert server["image"]["name"] == "ubuntu-24.04"
    assert server["primary_disk_size"] == 80
    assert created["action"]["command"] == "create_server"
    assert [action["command"] for action in created["next_actions"]] == ["start_server"]
    assert created["root_password"]
    api.clock.advance(10)
    off = api.get("/servers/2")["server"]
    assert (off["status"], off["locked"], off["private_net"][0]["ip"]) == ("off", True, "10.0.0.3")
    api.clock.advance(5)
    running = api.get("/servers/2")["server"]
    assert (running["status"], running["locked"]) == ("running", False)
    assert api.get("/networks/5")["network"]["servers"] == [1, 2]


def test_server_can_be_created_stopped() -> None:
    """Without start_after_create there is no second action."""
    api = HetznerApi({"ssh_keys": [{"name": "mine", "public_key": "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIA=="}]})
    created = api.accepted("POST", "/servers", {**NEW, "start_after_create": False, "ssh_keys": ["mine"]})
    api.clock.advance(60)

    assert (created["next_actions"], created["root_password"]) == ([], None)
    assert api.get("/servers/1")["server"]["status"] == "off"


@pytest.mark.parametrize(
    ("wish", "families"),
    [
        ({}, (True, True)),
        ({"enable_ipv4": False}, (False, True)),
        ({"enable_ipv4": True, "enable_ipv6": False}, (True, False)),
        ({"enable_ipv4": False, "enable_ipv6": False}, (False, False)),
    ],
)
def test_public_addresses_follow_the_wish(wish: dict[str, bool], families: tuple[bool, bool]) -> None:
    """A family that was switched off is null."""
    net = HetznerApi().accepted("POST", "/servers", {**NEW, "public_net": wish})["server"]["public_net"]

    assert (net["ipv4"] is not None, net["ipv6"] is not None) == families


def test_a_refused_creation_reserves_no_address() -> None:
    """Whatever is wrong with it, nothing stays behind in the networks that it names."""
    api = HetznerApi({"networks": [{"id": 5}]})

    assert api.refused("POST", "/servers", {**NEW, "networks": [5], "start_after_create": "no"}) == (
        422,
        "invalid_input",
    )
    assert api.get("/networks/5/members")["members"] == []


def test_public_addresses_are_unique() -> None:
    """No two servers get the same address, also not one that the world had given."""
    api = HetznerApi({"servers": [{"public_net": {"ipv4": {"ip": "198.18.0.1"}}}, {}]})
    for number in range(3):
        api.accepted("POST", "/servers", {**NEW, "name": f"new-{number}"})
    nets = [server["public_net"] for server in api.get("/servers")["servers"]]

    assert len({net["ipv4"]["ip"] for net in nets}) == 5
    assert len({net["ipv6"]["ip"] for net in nets if net["ipv6"]}) == 4


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        pytest.param({"name": None}, (422, "invalid_input"), id="no-name"),
        pytest.param({"name": "under_score"}, (422, "invalid_input"), id="no-host-name"),
        pytest.param({"name": "web-1"}, (409, "uniqueness_error"), id="name-taken"),
        pytest.param({"server_type": None}, (422, "invalid_input"), id="no-type"),
        pytest.param({"server_type": "cpx99"}, (404, "not_found"), id="unknown-type"),
        pytest.param({"server_type": ["cpx22"]}, (422, "invalid_input"), id="type-is-a-list"),
        pytest.param({"image": None}, (422, "invalid_input"), id="no-image"),
        pytest.param({"image": "amiga-1"}, (404, "not_found"), id="unknown-image"),
        pytest.param({"location": "moon"}, (404, "not_found"), id="unknown-location"),
        pytest.param({"location": "ash"}, (422, "invalid_input"), id="type-not-sold-there"),
        pytest.param({"server_type": "cx32"}, (412, "resource_unavailable"), id="type-sold-out"),
        pytest.param({"labels": {"k": "a:b"}}, (422, "invalid_input"), id="label-value"),
        pytest.param({"networks": [99]}, (404, "not_found"), id="unknown-network"),
        pytest.param({"networks": [5, 6]}, (422, "networks_overlap"), id="overlapping-networks"),
        pytest.param({"networks": [7]}, (422, "no_subnet_available"), id="network-elsewhere"),
        pytest.param({"networks": ["5"]}, (422, "invalid_input"), id="network-as-text"),
        pytest.param({"start_after_create": "yes"}, (422, "invalid_input"), id="no-truth-value"),
        pytest.param({"public_net": {"enable_ipv4": 1}}, (422, "invalid_input"), id="number-as-truth-value"),
    ],
)
def test_refused_creations(change: dict[str, Any], expected: tuple[int, str]) -> None:
    """A refused creation leaves nothing behind, no address in a network either."""
    api = HetznerApi(WORLD)

    assert api.refused("POST", "/servers", {**NEW, **change}) == expected
    assert len(api.get("/servers")["servers"]) == 1
    assert len(api.get("/networks/5/members")["members"]) == 1


@pytest.mark.parametrize("wish", [{"server_type": 110}, {"server_type": "110"}, {"location": 2}, {"image": 161547269}])
def test_ids_may_be_given_for_names(wish: dict[str, Any]) -> None:
    """Types, locations and images are named or numbered, as text or number."""
    HetznerApi().accepted("POST", "/servers", {**NEW, **wish})


def test_arm_server_gets_the_arm_image() -> None:
    """An image name means the one for the type's architecture."""
    server = HetznerApi().accepted("POST", "/servers", {**NEW, "server_type": "cax11"})["server"]

    assert server["image"]["architecture"] == "arm"


def test_update_changes_only_what_was_sent() -> None:
    """A PUT is partial; labels replace the whole map."""
    api = HetznerApi({"servers": [{"id": 1, "name": "old", "labels": {"a": "1", "b": "2"}}]})

    renamed = api.accepted("PUT", "/servers/1", {"name": "new"})["server"]
    assert (renamed["name"], renamed["labels"]) == ("new", {"a": "1", "b": "2"})
    assert api.accepted("PUT", "/servers/1", {"labels": {"c": "3"}})["server"]["labels"] == {"c": "3"}
    assert api.accepted("PUT", "/servers/1", {"name": "new", "labels": {}})["server"]["labels"] == {}
    assert api.get("/servers?name=new")["servers"][0]["labels"] == {}


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ({"name": "web-2"}, (409, "uniqueness_error")),
        ({"name": ""}, (422, "invalid_input")),
        ({"labels": {"hetzner.cloud/x": "y"}}, (422, "invalid_input")),
        ({"labels": []}, (422, "invalid_input")),
    ],
)
def test_refused_updates(body: dict[str, Any], expected: tuple[int, str]) -> None:
    """Names stay unique and valid, labels within their grammar."""
    api = HetznerApi({"servers": [{"id": 1, "name": "web-1"}, {"id": 2, "name": "web-2"}]})

    assert api.refused("PUT", "/servers/1", body) == expected


def test_deleted_server_is_gone_when_its_action_ends() -> None:
    """A server is deleting until its action ends, and then gone from its networks and load balancers; ids stay used."""
    api = HetznerApi(
        {
            **WORLD,
            "load_balancers": [
                {
                    "id": 3,
                    "targets": [
                        {"server": {"id": 1}},
                        {
                            "type": "label_selector",
                            "label_selector": {"selector": "a"},
                            "targets": [{"server": {"id": 1}}],
                        },
                        {"type": "ip", "ip": {"ip": "203.0.113.9"}},
                    ],
                }
            ],
        }
    )
    assert api.get("/servers/1")["server"]["load_balancers"] == [3]
    response = api.send("DELETE", "/servers/1")
    assert (response.status, response.body["action"]["command"]) == (200, "delete_server")
    assert api.get("/servers/1")["server"]["status"] == "deleting"

    api.clock.advance(1)

    assert api.refused("GET", "/servers/1") == (404, "not_found")
    assert api.get("/networks/5")["network"]["servers"] == []
    targets = api.get("/load_balancers/3")["load_balancer"]["targets"]
    assert [target["type"] for target in targets] == ["label_selector", "ip"]
    assert targets[0]["targets"] == []
    assert api.accepted("POST", "/servers", NEW)["server"]["id"] == 2


def test_protected_server_is_not_deleted() -> None:
    """Deletion protection is set and lifted by an action."""
    api = HetznerApi(WORLD)
    api.done("POST", "/servers/1/actions/change_protection", {"delete": True, "rebuild": True})

    assert api.refused("DELETE", "/servers/1") == (423, "protected")
    assert api.refused("POST", "/servers/1/actions/change_protection", {"delete": False}) == (422, "invalid_input")
    api.done("POST", "/servers/1/actions/change_protection", {"delete": False, "rebuild": False})
    api.accepted("DELETE", "/servers/1")


@pytest.mark.parametrize(
    ("before", "action", "command", "after"),
    [
        ("off", "poweron", "start_server", "running"),
        ("running", "poweron", "start_server", "running"),
        ("running", "poweroff", "stop_server", "off"),
        ("running", "shutdown", "shutdown_server", "off"),
        ("running", "reboot", "reboot_server", "running"),
        ("running", "reset", "reset_server", "running"),
    ],
)
def test_power(before: str, action: str, command: str, after: str) -> None:
    """Power actions change the status when they finish."""
    api = HetznerApi({"servers": [{"id": 1, "status": before}]})

    assert api.done("POST", f"/servers/1/actions/{action}")["command"] == command
    assert api.get("/servers/1")["server"]["status"] == after


@pytest.mark.parametrize(("upgrade_disk", "disk"), [(True, 160), (False, 80)])
def test_changed_type(upgrade_disk: bool, disk: int) -> None:
    """A stopped server gets its new type and is started; the disk grows on demand."""
    api = HetznerApi({"servers": [{"id": 1, "server_type": "cpx22", "status": "off"}]})
    api.done("POST", "/servers/1/actions/change_type", {"server_type": "cpx32", "upgrade_disk": upgrade_disk})
    server = api.get("/servers/1")["server"]

    assert (server["server_type"]["name"], server["primary_disk_size"], server["status"]) == ("cpx32", disk, "running")


@pytest.mark.parametrize(
    ("status", "body", "expected"),
    [
        ("running", {"server_type": "cpx32", "upgrade_disk": True}, (422, "server_not_stopped")),
        ("off", {"server_type": "cpx32"}, (422, "invalid_input")),
        ("off", {"upgrade_disk": True}, (422, "invalid_input")),
        ("off", {"server_type": "cpx99", "upgrade_disk": True}, (404, "not_found")),
        ("off", {"server_type": "cpx12", "upgrade_disk": True}, (422, "invalid_server_type")),
        ("off", {"server_type": "cax41", "upgrade_disk": True}, (422, "invalid_server_type")),
        ("off", {"server_type": "cpx51", "upgrade_disk": True}, (422, "invalid_server_type")),
        ("off", {"server_type": "cx32", "upgrade_disk": True}, (422, "invalid_server_type")),
    ],
)
def test_refused_type_changes(status: str, body: dict[str, Any], expected: tuple[int, str]) -> None:
    """The new type must be sold there, have the same architecture and no smaller disk."""
    api = HetznerApi({"servers": [{"id": 1, "server_type": "cpx22", "status": status}]})

    assert api.refused("POST", "/servers/1/actions/change_type", body) == expected


@pytest.mark.parametrize(
    ("method", "url"),
    [
        ("PUT", "/servers/9"),
        ("DELETE", "/servers/9"),
        ("POST", "/servers/9/actions/poweron"),
        ("POST", "/servers/9/actions/attach_to_network"),
    ],
)
def test_absent_server(method: str, url: str) -> None:
    """Whatever is asked of a server that is not there is not found."""
    body = {"network": 5} if url.endswith("network") else {}

    assert HetznerApi(WORLD).refused(method, url, body) == (404, "not_found")


def test_what_a_creation_is_given_is_not_free_meanwhile() -> None:
    """A volume that two creations named went to the one that ended last; a firewall or a volume could be deleted."""
    api = HetznerApi({"volumes": [{"id": 9}], "firewalls": [{"id": 11}], "networks": [{"id": 5}]})
    body = {"server_type": "cx23", "image": "debian-12", "location": "fsn1", "volumes": [9], "networks": [5]}
    created = api.send("POST", "/servers", {"name": "one", "firewalls": [{"firewall": 11}], **body}).body

    assert api.refused("POST", "/servers", {"name": "two", **body}) == (422, "volume_already_attached")
    assert api.refused("DELETE", "/volumes/9") == (422, "service_error")
    assert api.refused("DELETE", "/firewalls/11") == (422, "resource_in_use")
    assert api.refused("DELETE", "/networks/5") == (409, "conflict")
    api.clock.advance(60)
    assert api.get(f"/servers/{created['server']['id']}")["server"]["volumes"] == [9]
