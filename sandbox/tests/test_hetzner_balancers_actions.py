"""Actions of load balancers of the Hetzner simulator: their locks, and what they do when they are slow or fail."""

from typing import Any

import pytest

from sandbox_support.hetzner_spec import HetznerApi

TCP = {"protocol": "tcp", "listen_port": 81, "destination_port": 30081}
NEW = {"name": "new", "load_balancer_type": "lb11", "location": "fsn1"}
WORLD: dict[str, Any] = {
    "servers": [{"id": n, "private_net": [{"network": 5, "ip": f"10.0.0.{n + 1}"}]} for n in (1, 2)],
    "networks": [{"id": 5, "name": "net"}, {"id": 6, "name": "other", "ip_range": "10.6.0.0/16"}],
    "load_balancers": [
        {
            "id": 3,
            "name": "lb",
            "private_net": [{"network": 5}],
            "public_net": {"ipv4": {"ip": "198.18.0.3"}},
            "services": [{"listen_port": 80}],
            "targets": [{"server": {"id": 1}, "use_private_ip": True}],
        },
        {"id": 4, "name": "free"},
    ],
    "certificates": [{"id": 1}],
}
CHANGES: dict[str, tuple[int, dict[str, Any]]] = {
    "add_service": (3, TCP),
    "update_service": (3, {"listen_port": 80, "destination_port": 30080}),
    "delete_service": (3, {"listen_port": 80}),
    "add_target": (3, {"type": "server", "server": {"id": 2}, "use_private_ip": True}),
    "remove_target": (3, {"type": "server", "server": {"id": 1}}),
    "change_algorithm": (3, {"type": "least_connections"}),
    "change_type": (3, {"load_balancer_type": "lb21"}),
    "change_protection": (3, {"delete": True}),
    "change_dns_ptr": (3, {"ip": "198.18.0.3", "dns_ptr": "a.example.com"}),
    "disable_public_interface": (3, {}),
    "enable_public_interface": (3, {}),
    "detach_from_network": (3, {"network": 5}),
    "attach_to_network": (4, {"network": 5}),
}
"""Action → the load balancer it can be done to, and the body."""
COMMANDS = {"change_type": "change_load_balancer_type"}
WITHOUT_TRACE = {"enable_public_interface"}


def url_of(action: str) -> str:
    """Where the action of ``CHANGES`` is sent."""
    return f"/load_balancers/{CHANGES[action][0]}/actions/{action}"


def api_for(**options: Any) -> HetznerApi:
    """The world in which every action of ``CHANGES`` can be done."""
    return HetznerApi(WORLD, private_targets_at_detachment="dropped", **options)


@pytest.mark.parametrize("action", CHANGES)
def test_change_happens_when_the_action_ends(action: str) -> None:
    """Until then readers see the load balancer as it was, and the action is running."""
    api = api_for(action_s=2.0)
    before = api.get("/load_balancers")
    started = api.accepted("POST", url_of(action), CHANGES[action][1])["action"]
    api.clock.advance(1)
    assert (started["command"], started["status"]) == (COMMANDS.get(action, action), "running")
    assert api.get("/load_balancers") == before

    api.clock.advance(1)

    assert api.get(f"/load_balancers/{CHANGES[action][0]}/actions")["actions"][0]["status"] == "success"
    assert (api.get("/load_balancers") != before) == (action not in WITHOUT_TRACE)


@pytest.mark.parametrize("action", CHANGES)
def test_failed_action_changes_nothing(action: str) -> None:
    """A failed action has the error of the fault, leaves the load balancer as it was, and unlocks it."""
    api = api_for()
    before = api.get("/load_balancers")
    command = COMMANDS.get(action, action)
    api.simulator.set_faults([{"kind": "action_fails", "command": command, "code": "oops", "message": "no power"}])

    failed = api.done("POST", url_of(action), CHANGES[action][1])

    assert (failed["status"], failed["error"]) == ("error", {"code": "oops", "message": "no power"})
    assert api.get("/load_balancers") == before
    assert api.done("POST", url_of(action), CHANGES[action][1])["status"] == "success"


@pytest.mark.parametrize("action", CHANGES)
def test_vanished_action_happens_all_the_same(action: str) -> None:
    """An action that is never found again has had its effect."""
    api = api_for()
    before = api.get("/load_balancers")
    api.simulator.set_faults([{"kind": "action_vanishes"}])
    vanished = api.accepted("POST", url_of(action), CHANGES[action][1])["action"]
    api.clock.advance(1)

    assert api.refused("GET", f"/actions/{vanished['id']}") == (404, "not_found")
    assert (api.get("/load_balancers") != before) == (action not in WITHOUT_TRACE)


@pytest.mark.parametrize("second", [*CHANGES, "PUT", "DELETE"])
@pytest.mark.parametrize(
    ("options", "expected", "message"),
    [
        ({}, (409, "conflict"), "load balancer has changed during request"),
        (
            {"load_balancer_busy_code": "locked"},
            (423, "locked"),
            "cannot perform operation because load balancer is locked",
        ),
    ],
)
def test_one_change_at_a_time(options: dict[str, Any], expected: tuple[int, str], message: str, second: str) -> None:
    """While an action runs, every other change of the load balancer is refused; the code is an option."""
    balancer_id, body = CHANGES.get(second, (3, {"name": "renamed"}))
    api = api_for(**options)
    api.accepted("POST", f"/load_balancers/{balancer_id}/actions/change_protection", {"delete": False})

    def send() -> Any:
        if second in CHANGES:
            return api.send("POST", url_of(second), body)
        return api.send(second, f"/load_balancers/{balancer_id}", body if second == "PUT" else None)

    refused = send()
    assert (refused.status, refused.body["error"]["code"], refused.body["error"]["message"]) == (*expected, message)
    api.clock.advance(1)
    assert send().status < 300


def test_load_balancers_do_not_block_each_other() -> None:
    """Different load balancers change side by side."""
    api = api_for()
    for balancer_id in (3, 4):
        api.accepted("POST", f"/load_balancers/{balancer_id}/actions/add_service", TCP)
    api.clock.advance(1)

    assert [action["status"] for action in api.get("/actions?id=1&id=2")["actions"]] == ["success", "success"]


@pytest.mark.parametrize(
    ("method", "url", "body"),
    [
        pytest.param("POST", "/load_balancers", {**NEW, "network": 5}, id="creation"),
        pytest.param("POST", url_of("attach_to_network"), {"network": 5}, id="attachment"),
        pytest.param("POST", url_of("detach_from_network"), {"network": 5}, id="detachment"),
    ],
)
def test_network_is_locked_meanwhile(method: str, url: str, body: dict[str, Any]) -> None:
    """What puts a load balancer in a network or takes it out locks that network, in both directions."""
    api = api_for()
    action = api.accepted(method, url, body)["action"]
    assert {"id": 5, "type": "network"} in action["resources"]
    assert api.refused("PUT", "/networks/5", {"name": "renamed"}) == (409, "conflict")
    second = {**NEW, "name": "second"}
    assert api.refused("POST", "/load_balancers", {**second, "network": 5}) == (409, "conflict")
    api.accepted("POST", "/load_balancers", {**second, "network": 6})

    api.clock.advance(1)
    api.accepted("POST", "/networks/5/actions/change_protection", {"delete": False})
    busy = api_for()
    busy.accepted("POST", "/networks/5/actions/change_protection", {"delete": False})
    assert busy.refused(method, url, body) == (409, "conflict")


def test_creation_without_network_locks_none() -> None:
    """Creations without a network run side by side."""
    api = HetznerApi(WORLD)
    for name in ("one", "two"):
        api.accepted("POST", "/load_balancers", {**NEW, "name": name})


def test_new_load_balancer_is_locked_until_it_is_created() -> None:
    """Creation is an action like any other."""
    api = HetznerApi(WORLD)
    created = api.accepted("POST", "/load_balancers", NEW)["load_balancer"]["id"]

    assert api.refused("POST", f"/load_balancers/{created}/actions/add_service", TCP) == (409, "conflict")
    assert api.refused("DELETE", f"/load_balancers/{created}") == (409, "conflict")


def test_failed_deletion_leaves_the_load_balancer() -> None:
    """A deletion whose action fails can be asked for again."""
    api = HetznerApi(WORLD)
    api.simulator.set_faults([{"kind": "action_fails", "command": "delete_load_balancer"}])

    assert api.done("DELETE", "/load_balancers/3")["status"] == "error"
    assert api.get("/load_balancers/3")
    assert api.done("DELETE", "/load_balancers/3")["status"] == "success"


def test_rules_are_checked_again_when_the_action_ends() -> None:
    """What became impossible while the action ran fails it, and changes nothing."""
    api = api_for(action_s_by_command={"add_service": 5.0})
    https = {"protocol": "https", "listen_port": 443, "http": {"certificates": [1]}}
    adding = api.accepted("POST", url_of("add_service"), https)["action"]
    assert api.send("DELETE", "/certificates/1").status == 204
    api.clock.advance(5)

    assert api.get(f"/actions/{adding['id']}")["action"]["error"] == {
        "code": "not_found",
        "message": "certificate with ID '1' not found",
    }
    assert len(api.get("/load_balancers/3")["load_balancer"]["services"]) == 1


def test_load_balancer_that_is_gone_when_its_action_ends() -> None:
    """A load balancer that disappeared meanwhile does not come back, and its action has nothing left to do."""
    api = api_for()
    adding = api.accepted("POST", url_of("add_service"), TCP)["action"]
    api.simulator.set_faults([{"kind": "list_shrinks", "path": "/load_balancers"}])
    api.get("/load_balancers?per_page=1")
    api.clock.advance(1)

    assert api.get(f"/actions/{adding['id']}")["action"]["status"] == "success"
    assert [found["id"] for found in api.get("/load_balancers")["load_balancers"]] == [4]


def test_effect_can_be_seen_late() -> None:
    """With visible_late_s a finished change is not seen yet, but it is there."""
    api = api_for(visible_late_s=5.0)
    api.accepted("POST", "/load_balancers/4/actions/change_protection", {"delete": True})
    api.clock.advance(1)

    assert api.get("/load_balancers/4/actions")["actions"][0]["status"] == "success"
    assert api.get("/load_balancers/4")["load_balancer"]["protection"] == {"delete": False}
    api.clock.advance(5)
    assert api.get("/load_balancers/4")["load_balancer"]["protection"] == {"delete": True}


def test_actions_are_listed_by_load_balancer() -> None:
    """Actions are read by object and by kind."""
    api = api_for()
    api.done("POST", url_of("add_service"), TCP)
    api.done("POST", "/load_balancers/4/actions/add_service", TCP)

    assert [action["id"] for action in api.get("/load_balancers/4/actions")["actions"]] == [2]
    assert [action["id"] for action in api.get("/load_balancers/actions?sort=id:desc")["actions"]] == [2, 1]
    assert api.get("/load_balancers/actions/1") == api.get("/load_balancers/3/actions/1") == api.get("/actions/1")
    assert api.refused("GET", "/load_balancers/9/actions") == (404, "not_found")


@pytest.mark.parametrize("action", CHANGES)
def test_unknown_load_balancer(action: str) -> None:
    """An action on a load balancer that is not there is not found, whatever its body."""
    api = api_for()

    assert api.refused("POST", f"/load_balancers/99/actions/{action}", {}) == (404, "not_found")
    assert api.refused("PUT", "/load_balancers/99", {}) == (404, "not_found")
    assert api.refused("DELETE", "/load_balancers/99") == (404, "not_found")
