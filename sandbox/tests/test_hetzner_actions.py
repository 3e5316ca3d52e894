"""Actions of the Hetzner simulator: their time, their effect, the locks they hold, and how they are read."""

from typing import Any

import pytest

from sandbox_support.hetzner_spec import HetznerApi

WORLD: dict[str, Any] = {
    "servers": [{"id": 1, "name": "web-1"}, {"id": 2, "name": "web-2"}],
    "networks": [
        {"id": 5, "name": "net", "routes": [{"destination": "10.250.0.0/24", "gateway": "10.0.0.9"}]},
        {"id": 6, "name": "other", "ip_range": "10.1.0.0/16"},
    ],
}


def test_action_changes_the_object_when_it_finishes() -> None:
    """An action is running for its time; until then the object is as before, but locked."""
    api = HetznerApi(WORLD, action_s=2.0)
    started = api.accepted("POST", "/servers/1/actions/poweroff")["action"]
    api.clock.advance(1)
    halfway = api.get(f"/actions/{started['id']}")["action"]
    server = api.get("/servers/1")["server"]

    assert started == {
        "id": 1,
        "command": "stop_server",
        "status": "running",
        "progress": 0,
        "started": "2023-11-14T22:13:20Z",
        "finished": None,
        "resources": [{"id": 1, "type": "server"}],
        "error": None,
    }
    assert halfway == {**started, "progress": 50}
    assert (server["status"], server["locked"]) == ("running", True)

    api.clock.advance(1)

    assert api.get(f"/actions/{started['id']}")["action"] == {
        **started,
        "status": "success",
        "progress": 100,
        "finished": "2023-11-14T22:13:22Z",
    }
    server = api.get("/servers/1")["server"]
    assert (server["status"], server["locked"]) == ("off", False)


def test_time_can_differ_by_command() -> None:
    """A command can have a time of its own."""
    api = HetznerApi(WORLD, action_s=1.0, action_s_by_command={"reboot_server": 10.0})
    api.accepted("POST", "/servers/1/actions/reboot")
    api.accepted("POST", "/servers/2/actions/poweroff")
    api.clock.advance(5)

    assert [action["status"] for action in api.get("/actions?id=1&id=2")["actions"]] == ["running", "success"]


def test_action_without_time_is_finished_in_its_announcement() -> None:
    """With no time to take, the first answer already says success, and the object has changed."""
    api = HetznerApi(WORLD, action_s=0.0)
    action = api.accepted("POST", "/servers/1/actions/poweroff")["action"]

    assert (action["status"], api.get("/servers/1")["server"]["status"]) == ("success", "off")


def test_jitter_is_repeatable() -> None:
    """Jitter adds up to its length, the same for the same seed."""

    def durations(seed: int) -> list[int]:
        api = HetznerApi(WORLD, action_s=100.0, jitter_s=1000.0, seed=seed)
        for server_id in (1, 2):
            api.accepted("POST", f"/servers/{server_id}/actions/reboot")
        api.clock.advance(1200)
        started = 22 * 3600 + 13 * 60 + 20
        finished = [action["finished"][11:19].split(":") for action in api.get("/actions?id=1&id=2")["actions"]]
        return [int(hours) * 3600 + int(minutes) * 60 + int(seconds) - started for hours, minutes, seconds in finished]

    assert durations(1) == durations(1) != durations(2)
    assert all(100 <= duration <= 1100 for duration in durations(1))
    assert len(set(durations(1))) == 2


def test_readers_can_see_the_effect_late() -> None:
    """With visible_late_s, the action has succeeded before readers see its effect; writers see it at once."""
    api = HetznerApi(WORLD, action_s=1.0, visible_late_s=5.0)
    api.accepted("POST", "/servers/1/actions/attach_to_network", {"network": 5})
    api.clock.advance(2)

    assert api.get("/actions/1")["action"]["status"] == "success"
    assert api.get("/servers/1")["server"]["private_net"] == []
    assert api.get("/networks/5")["network"]["servers"] == []
    assert api.refused("POST", "/servers/1/actions/attach_to_network", {"network": 5}) == (
        422,
        "server_already_attached",
    )

    api.clock.advance(4)

    assert api.get("/servers/1")["server"]["private_net"][0]["ip"] == "10.0.0.2"
    assert api.get("/networks/5")["network"]["servers"] == [1]


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        pytest.param(
            "/servers/1/actions/reboot", "/servers/1/actions/poweroff", (423, "locked"), id="two-changes-of-a-server"
        ),
        pytest.param("/servers/1/actions/reboot", "/servers/2/actions/reboot", None, id="two-servers"),
        pytest.param(
            "/servers/1/actions/attach_to_network",
            "/servers/2/actions/attach_to_network",
            (409, "conflict"),
            id="two-attachments-to-a-network",
        ),
        pytest.param(
            "/networks/5/actions/add_subnet", "/networks/5/actions/add_route", (409, "conflict"), id="network-busy"
        ),
        pytest.param(
            "/networks/5/actions/add_route", "/networks/5/actions/add_subnet", (409, "conflict"), id="route-and-subnet"
        ),
        pytest.param(
            "/networks/5/actions/delete_route",
            "/networks/5/actions/add_route",
            (409, "conflict"),
            id="two-routes-of-a-network",
        ),
        pytest.param(
            "/servers/1/actions/attach_to_network",
            "/networks/5/actions/add_route",
            (409, "conflict"),
            id="attachment-and-route",
        ),
        pytest.param("/networks/5/actions/add_subnet", "/networks/6/actions/add_subnet", None, id="two-networks"),
    ],
)
def test_locks(first: str, second: str, expected: tuple[int, str] | None) -> None:
    """One change at a time per object; other objects are free."""
    bodies: dict[str, Any] = {
        "attach_to_network": {"network": 5},
        "add_subnet": {"type": "cloud", "network_zone": "eu-central"},
        "add_route": {"destination": "10.244.0.0/24", "gateway": "10.0.0.9"},
        "delete_route": {"destination": "10.250.0.0/24", "gateway": "10.0.0.9"},
    }
    api = HetznerApi(WORLD, action_s=5.0)
    api.accepted("POST", first, bodies.get(first.rpartition("/")[2]))
    body = bodies.get(second.rpartition("/")[2])

    if expected is None:
        api.accepted("POST", second, body)
        return
    assert api.refused("POST", second, body) == expected
    api.clock.advance(5)
    api.accepted("POST", second, body)


def test_busy_network_can_answer_locked() -> None:
    """The code that a busy network answers with is an option."""
    api = HetznerApi(WORLD, network_busy_code="locked")
    api.accepted("POST", "/networks/5/actions/change_protection", {"delete": True})

    assert api.refused("PUT", "/networks/5", {"name": "renamed"}) == (423, "locked")
    assert api.refused("DELETE", "/networks/5") == (423, "locked")


def test_locked_server_says_so() -> None:
    """The message of a busy server is the one seen in practice."""
    api = HetznerApi(WORLD)
    api.accepted("POST", "/servers/1/actions/reboot")
    refused = api.send("DELETE", "/servers/1")

    assert refused.body["error"]["message"] == "cannot perform operation because server is locked"


def test_ways_to_read_actions() -> None:
    """Actions are read by id, by several ids, per kind and per object; unknown ids of a list are left out."""
    api = HetznerApi(WORLD, action_s=1.0)
    api.accepted("POST", "/servers/1/actions/reboot")
    api.accepted("POST", "/servers/2/actions/attach_to_network", {"network": 5})
    api.clock.advance(1)
    api.accepted("POST", "/networks/6/actions/change_protection", {"delete": True})

    def ids(url: str) -> list[int]:
        return [action["id"] for action in api.get(url)["actions"]]

    assert ids("/actions?id=3&id=1&id=77") == [1, 3]
    assert ids("/actions?id=1&id=2&id=3&sort=status&sort=id:desc") == [3, 2, 1]
    assert ids("/servers/actions") == [1, 2]
    assert ids("/servers/actions?id=2") == [2]
    assert ids("/servers/actions?status=running") == []
    assert ids("/servers/2/actions") == [2]
    assert ids("/networks/actions?sort=command") == [2, 3]
    assert ids("/networks/actions?sort=finished:desc") == [2, 3]
    assert ids("/networks/5/actions") == [2]
    assert ids("/certificates/actions") == []
    assert api.get("/servers/actions/1") == api.get("/actions/1") == api.get("/servers/1/actions/1")
    assert "meta" not in api.get("/actions?id=1")
    assert api.get("/servers/actions?per_page=1")["meta"]["pagination"]["total_entries"] == 2
    for absent in ("/actions/9", "/networks/actions/1", "/servers/2/actions/1", "/servers/9/actions"):
        assert api.refused("GET", absent) == (404, "not_found")
    assert api.refused("GET", "/actions?id=x") == (422, "invalid_input")


def test_attachment_names_both_objects() -> None:
    """Attaching names the server and the network."""
    action = HetznerApi(WORLD).accepted("POST", "/servers/1/actions/attach_to_network", {"network": 5})["action"]

    assert action["resources"] == [{"id": 1, "type": "server"}, {"id": 5, "type": "network"}]


def test_actions_finish_in_the_order_of_time() -> None:
    """However much time passes at once, what was due earlier happens earlier."""
    api = HetznerApi(WORLD, action_s_by_command={"create_server": 10.0, "start_server": 20.0})
    created = api.accepted("POST", "/servers", {"name": "new", "server_type": "cx23", "image": "ubuntu-24.04"})
    api.clock.advance(3600)
    actions = [api.get(f"/actions/{a['id']}")["action"] for a in (created["action"], *created["next_actions"])]

    assert [action["finished"] for action in actions] == ["2023-11-14T22:13:30Z", "2023-11-14T22:13:50Z"]
    assert api.get(f"/servers/{created['server']['id']}")["server"]["status"] == "running"
