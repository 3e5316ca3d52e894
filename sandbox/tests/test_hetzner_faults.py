"""Simulated faults of the Hetzner simulator: each happens as often as it was asked for, and no longer."""

import re
from pathlib import Path
from typing import Any

import pytest

from hcloud_sandbox.hetzner.faults import KINDS
from sandbox_support.hetzner_spec import HetznerApi

WORLD: dict[str, Any] = {
    "servers": [{"id": 1, "name": "web-1"}, {"id": 2, "name": "web-2"}],
    "networks": [{"id": 5, "name": "net"}],
}
REBOOT = "/servers/1/actions/reboot"
POWEROFF = "/servers/1/actions/poweroff"
DOCUMENT = Path(__file__).resolve().parents[2] / "docs" / "sandbox.md"


def with_faults(*faults: dict[str, Any], world: dict[str, Any] = WORLD) -> HetznerApi:
    """A simulator with these faults."""
    api = HetznerApi(world)
    api.judged.set_faults(list(faults))
    return api


def test_failing_action_changes_nothing() -> None:
    """The next action with the command is accepted and fails; the one after it succeeds."""
    api = with_faults({"kind": "action_fails", "command": "stop_server", "code": "timeout", "message": "too slow"})
    assert api.done("POST", REBOOT)["status"] == "success"
    failed = api.done("POST", POWEROFF)

    assert (failed["status"], failed["error"]) == ("error", {"code": "timeout", "message": "too slow"})
    server = api.get("/servers/1")["server"]
    assert (server["status"], server["locked"]) == ("running", False)
    assert api.done("POST", POWEROFF)["status"] == "success"


def test_failing_action_of_any_command() -> None:
    """Without a command the next actions fail, whatever they are, ``count`` times."""
    api = with_faults({"kind": "action_fails", "count": 2})

    assert [api.done("POST", path)["status"] for path in (REBOOT, POWEROFF, POWEROFF)] == ["error", "error", "success"]


def test_failed_creation_leaves_no_server() -> None:
    """A server whose creation fails disappears, and its start fails too."""
    api = with_faults({"kind": "action_fails", "command": "create_server"})
    body = {"name": "new", "server_type": "cx23", "image": "debian-12", "networks": [5]}
    created = api.accepted("POST", "/servers", body)
    api.clock.advance(60)
    ids = [created["action"]["id"], created["next_actions"][0]["id"]]

    assert [api.get(f"/actions/{number}")["action"]["status"] for number in ids] == ["error", "error"]
    assert api.refused("GET", f"/servers/{created['server']['id']}") == (404, "not_found")
    assert api.get("/networks/5/members")["members"] == []


def test_failed_deletion_leaves_the_server() -> None:
    """A server whose deletion fails is what it was."""
    api = with_faults({"kind": "action_fails", "command": "delete_server"})
    api.done("DELETE", "/servers/1")

    assert api.get("/servers/1")["server"]["status"] == "running"


def test_vanished_action_is_announced_and_never_found() -> None:
    """The action is gone from every list, but what it was to do happens, and the lock ends."""
    api = with_faults({"kind": "action_vanishes", "command": "stop_server"})
    action = api.accepted("POST", POWEROFF)["action"]

    assert action["status"] == "running"
    assert api.refused("GET", f"/actions/{action['id']}") == (404, "not_found")
    assert api.get(f"/actions?id={action['id']}")["actions"] == []
    assert api.get("/servers/1/actions")["actions"] == []
    api.clock.advance(1)
    assert api.get("/servers/1")["server"]["status"] == "off"
    assert api.done("POST", POWEROFF)["status"] == "success"


def test_hanging_action_never_ends() -> None:
    """It is found and running, changes nothing, and keeps its lock; the next one ends as ever."""
    api = with_faults({"kind": "action_hangs", "command": "stop_server"})
    action = api.accepted("POST", POWEROFF)["action"]
    api.clock.advance(86_400)

    assert api.get(f"/actions/{action['id']}")["action"]["status"] == "running"
    assert api.get("/servers/1")["server"]["status"] == "running"
    assert api.refused("POST", POWEROFF) == (423, "locked")

    api.simulator.replace_world(api.simulator.world())
    assert api.done("POST", POWEROFF)["status"] == "success"


@pytest.mark.parametrize("path", ["/v1/servers", "/servers", "/v1/servers/1"])
def test_stale_read(path: str) -> None:
    """The next reads below the path answer the state before the last change; others do not count."""
    api = HetznerApi(WORLD)
    api.done("POST", POWEROFF)
    api.judged.set_faults([{"kind": "stale_read", "path": path, "count": 2}])
    api.get("/networks")
    statuses = [api.get("/servers/1")["server"]["status"] for _ in range(3)]

    assert statuses == ["running", "running", "off"]


def test_stale_read_of_a_deletion_and_a_creation() -> None:
    """A stale list still has what was deleted last, and does not have what was created last."""
    api = HetznerApi(WORLD)
    api.done("DELETE", "/servers/1")
    api.judged.set_faults([{"kind": "stale_read", "path": "/v1", "count": 2}])
    assert [server["id"] for server in api.get("/servers")["servers"]] == [1, 2]
    api.accepted("POST", "/networks", {"name": "new", "ip_range": "10.7.0.0/16"})

    assert [network["id"] for network in api.get("/networks")["networks"]] == [5]
    assert [network["id"] for network in api.get("/networks")["networks"]] == [5, 6]


def test_stale_read_without_a_change_is_the_world() -> None:
    """Before the first change, a stale read answers what was loaded."""
    api = with_faults({"kind": "stale_read", "path": "/v1/servers"})

    assert [server["id"] for server in api.get("/servers")["servers"]] == [1, 2]


def test_visible_late_holds_for_the_next_finished_action() -> None:
    """Readers see one finished action later than others."""
    api = with_faults({"kind": "visible_late", "seconds": 30})
    api.accepted("POST", POWEROFF)
    api.accepted("POST", "/servers/2/actions/poweroff")
    api.clock.advance(10)

    def statuses() -> list[str]:
        return [server["status"] for server in api.get("/servers")["servers"]]

    assert statuses() == ["running", "off"]
    assert [action["status"] for action in api.get("/actions?id=1&id=2")["actions"]] == ["success", "success"]
    api.clock.advance(30)
    assert statuses() == ["off", "off"]


def test_late_changes_appear_in_their_order() -> None:
    """Of two late changes to one object, each appears at its time."""
    api = with_faults({"kind": "visible_late", "seconds": 10, "count": 2})
    api.accepted("POST", POWEROFF)
    api.clock.advance(5)
    api.accepted("POST", "/servers/1/actions/poweron")
    api.clock.advance(4)
    seen = []
    for _ in range(3):
        seen.append(api.get("/servers/1")["server"]["status"])
        api.clock.advance(4)

    assert seen == ["running", "off", "running"]


def test_a_fault_without_an_end_lasts_until_it_is_cleared() -> None:
    """``count`` null: it happens as often as it can."""
    api = with_faults({"kind": "action_fails", "count": None})
    assert {api.done("POST", REBOOT)["status"] for _ in range(5)} == {"error"}

    api.judged.clear_faults()

    assert api.done("POST", REBOOT)["status"] == "success"


def test_cleared_faults_do_not_happen() -> None:
    """Cleared faults are forgotten; a new world leaves the others."""
    api = with_faults({"kind": "action_fails", "count": 2})
    api.judged.replace_world(WORLD)
    assert api.done("POST", REBOOT)["status"] == "error"

    api.judged.clear_faults()

    assert api.done("POST", REBOOT)["status"] == "success"


def test_every_fault_is_documented_with_its_parameters() -> None:
    """The table of the document and that of the code are one."""
    section = DOCUMENT.read_text("utf-8").partition("## Control API")[2].partition("\n## ")[0]
    rows = re.findall(r"^\| `(\w+)` \((.*?)\) \|", section, re.MULTILINE)

    assert {kind: set(re.findall(r"`(\w+)`", parameters)) for kind, parameters in rows} == {
        kind: {name.rstrip("?") for name in parameters} for kind, parameters in KINDS.items()
    }


@pytest.mark.parametrize(
    ("fault", "words"),
    [
        ({"kind": "earthquake"}, ("earthquake", "action_fails", "stale_read")),
        ({}, ("None", "action_fails")),
        ({"kind": "action_fails", "count": 0}, ("count",)),
        ({"kind": "action_fails", "count": True}, ("count", "null")),
        ({"kind": "action_fails", "path": "/v1/servers"}, ("'path'", "command")),
        ({"kind": "stale_read"}, ("'path'",)),
        ({"kind": "stale_read", "path": "servers"}, ("'servers'", "/v1/servers")),
        ({"kind": "visible_late", "seconds": "5"}, ("seconds",)),
        ({"kind": "visible_late", "seconds": -5}, ("seconds is -5", "from 0")),
        ({"kind": "visible_late", "seconds": float("nan")}, ("seconds is nan",)),
        ({"kind": "list_shrinks", "path": "/v1/images"}, ("/v1/images", "/v1/volumes")),
        ({"kind": "list_shrinks", "path": "/v1/locations"}, ("/v1/locations", "/v1/servers")),
        ({"kind": "list_lacks", "path": "/v1/servers/1", "ids": [1]}, ("/v1/servers/1", "/v1/networks")),
        ({"kind": "list_lacks", "path": "/v1/servers", "ids": 1}, ("ids is 1",)),
        ({"kind": "list_lacks", "path": "/v1/servers", "ids": ["1"]}, ("ids is ['1']",)),
        ({"kind": "list_lacks", "path": "/v1/servers", "id": 1}, ("'id'", "ids")),
        ({"kind": "list_lacks", "ids": [1]}, ("'path'",)),
        ({"kind": "list_truncated", "path": "/v1/servers"}, ("'entries'",)),
        ({"kind": "list_truncated", "path": "/v1/servers", "entries": -1}, ("entries is -1",)),
        ({"kind": "list_truncated", "path": "/v1/servers", "entries": True}, ("entries is True",)),
        ({"kind": "no_answer"}, ("'ranges'",)),
        ({"kind": "no_answer", "ranges": "10.0.0.0/8"}, ("ranges is '10.0.0.0/8'",)),
        ({"kind": "no_answer", "ranges": ["10.0.0.0/8"], "ports": 80}, ("ports is 80",)),
        ({"kind": "no_answer", "ranges": ["10.0.0.1/8"]}, ("ranges is ['10.0.0.1/8']",)),
        ({"kind": "no_answer", "ranges": ["10.0.0.0/8"], "status": "healthy"}, ("unhealthy or unknown",)),
    ],
)
def test_unknown_faults(fault: dict[str, Any], words: tuple[str, ...]) -> None:
    """A fault that cannot happen is refused with what can, and none of its list is added."""
    api = HetznerApi(WORLD)
    with pytest.raises(ValueError, match="fault") as refused:
        api.judged.set_faults([{"kind": "action_fails"}, fault])

    assert [word for word in words if word not in str(refused.value)] == []
    assert api.done("POST", REBOOT)["status"] == "success"
