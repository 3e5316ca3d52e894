"""Targets of load balancers of the Hetzner simulator: what may become one, and what two of them may be."""

from typing import Any

import pytest

from sandbox_support.hetzner_spec import HetznerApi

NETWORK: dict[str, Any] = {
    "id": 5,
    "name": "net",
    "subnets": [
        {"ip_range": "10.0.0.0/24"},
        {"ip_range": "10.0.9.0/24", "type": "vswitch", "vswitch_id": 7},
    ],
}
WORLD: dict[str, Any] = {
    "servers": [
        {
            "id": 1,
            "name": "web-1",
            "labels": {"pool": "web"},
            "public_net": {"ipv4": {"ip": "203.0.113.1"}, "ipv6": {"ip": "2001:db8:1::/64"}},
            "private_net": [{"network": 5, "ip": "10.0.0.2"}],
        },
        {"id": 2, "name": "web-2", "labels": {"pool": "web"}, "public_net": {"ipv4": {"ip": "203.0.113.2"}}},
        {"id": 3, "name": "inside", "public_net": {}, "private_net": [{"network": 5, "ip": "10.0.0.3"}]},
        {"id": 4, "name": "six", "public_net": {"ipv6": {"ip": "2001:db8:4::/64"}}},
        {"id": 7, "name": "overseas", "location": "ash", "server_type": "cpx11"},
        {"id": 6, "name": "elsewhere", "private_net": [{"network": 6, "ip": "10.6.0.2"}]},
    ],
    "networks": [NETWORK, {"id": 6, "name": "other", "ip_range": "10.6.0.0/16"}],
    "load_balancers": [
        {"id": 1, "name": "outside"},
        {"id": 2, "name": "inside", "private_net": [{"network": 5}], "public_net": {"enabled": False}},
        {"id": 3, "name": "both", "private_net": [{"network": 5}]},
        {"id": 4, "name": "plain", "private_net": [{"network": 6}]},
    ],
}


def server(server_id: int, **fields: Any) -> dict[str, Any]:
    """The request for a server as target."""
    given = {name: fields.pop(name) for name in ("ip",) if name in fields}
    return {"type": "server", "server": {"id": server_id, **given}, **fields}


def by_ip(ip: str) -> dict[str, Any]:
    """The request for an address as target."""
    return {"type": "ip", "ip": {"ip": ip}}


def by_label(selector: str, **fields: Any) -> dict[str, Any]:
    """The request for a label selector as target."""
    return {"type": "label_selector", "label_selector": {"selector": selector}, **fields}


def targets(api: HetznerApi, balancer_id: int = 3) -> list[Any]:
    """The targets of a load balancer."""
    listed: list[Any] = api.get(f"/load_balancers/{balancer_id}")["load_balancer"]["targets"]
    return listed


def add(balancer_id: int) -> str:
    """Where targets are added."""
    return f"/load_balancers/{balancer_id}/actions/add_target"


def remove(balancer_id: int) -> str:
    """Where targets are removed."""
    return f"/load_balancers/{balancer_id}/actions/remove_target"


@pytest.mark.parametrize(
    ("balancer", "body", "target"),
    [
        pytest.param(
            1,
            server(1),
            {"type": "server", "server": {"id": 1, "ip": "203.0.113.1"}, "use_private_ip": False, "health_status": []},
            id="public",
        ),
        pytest.param(
            1,
            server(1, ip="203.0.113.1"),
            {"type": "server", "server": {"id": 1, "ip": "203.0.113.1"}, "use_private_ip": False, "health_status": []},
            id="public-by-ipv4",
        ),
        pytest.param(
            1,
            server(4, ip="2001:db8:4:0::7"),
            {
                "type": "server",
                "server": {"id": 4, "ip": "2001:db8:4::7"},
                "use_private_ip": False,
                "health_status": [],
            },
            id="public-by-ipv6",
        ),
        pytest.param(
            2,
            server(3, use_private_ip=True),
            {"type": "server", "server": {"id": 3, "ip": "10.0.0.3"}, "use_private_ip": True, "health_status": []},
            id="private",
        ),
        pytest.param(
            1, by_ip("198.51.100.7"), {"type": "ip", "ip": {"ip": "198.51.100.7"}, "health_status": []}, id="robot"
        ),
        pytest.param(
            1,
            by_ip("2001:db8:ffff:0::1"),
            {"type": "ip", "ip": {"ip": "2001:db8:ffff::1"}, "health_status": []},
            id="robot-ipv6",
        ),
        pytest.param(2, by_ip("10.0.9.7"), {"type": "ip", "ip": {"ip": "10.0.9.7"}, "health_status": []}, id="vswitch"),
        pytest.param(
            1,
            by_label("pool=nobody"),
            {
                "type": "label_selector",
                "label_selector": {"selector": "pool=nobody"},
                "use_private_ip": False,
                "targets": [],
            },
            id="selector",
        ),
    ],
)
def test_added_target(balancer: int, body: dict[str, Any], target: dict[str, Any]) -> None:
    """A target is there when its action ends, with the address that is used."""
    api = HetznerApi(WORLD)
    assert api.accepted("POST", add(balancer), body)["action"]["command"] == "add_target"
    assert targets(api, balancer) == []

    api.clock.advance(1)

    assert targets(api, balancer) == [target]


@pytest.mark.parametrize(
    ("balancer", "body", "expected"),
    [
        pytest.param(1, {}, (422, "invalid_input"), id="no-type"),
        pytest.param(1, {"type": "dog"}, (422, "invalid_input"), id="unknown-type"),
        pytest.param(1, {"type": "server"}, (422, "invalid_input"), id="no-server"),
        pytest.param(
            1, {"type": "server", "server": {"id": 1, "colour": 1}}, (422, "invalid_input"), id="unknown-field"
        ),
        pytest.param(1, server(99), (422, "invalid_input"), id="unknown-server"),
        pytest.param(1, server(7), (422, "unsupported_error"), id="other-network-zone"),
        pytest.param(3, server(7, use_private_ip=True), (422, "unsupported_error"), id="other-network-zone-private"),
        pytest.param(1, server(3), (422, "resolve_cloud_public_targets_error"), id="no-public-address"),
        pytest.param(1, server(4), (422, "resolve_cloud_public_targets_error"), id="only-ipv6"),
        pytest.param(1, server(1, ip="web-1"), (422, "invalid_input"), id="no-address"),
        pytest.param(1, server(1, ip="203.0.113.2"), (422, "ip_not_assigned_to_server"), id="address-of-another"),
        pytest.param(1, server(1, ip="10.0.0.2"), (422, "ip_not_assigned_to_server"), id="private-address"),
        pytest.param(1, server(1, ip="2001:db8:2::1"), (422, "ip_not_assigned_to_server"), id="other-ipv6-network"),
        pytest.param(1, server(1, ip="2001:db8:1::"), (422, "ip_not_assigned_to_server"), id="ipv6-network-itself"),
        pytest.param(1, server(2, ip="2001:db8:2::1"), (422, "ip_not_assigned_to_server"), id="no-ipv6"),
        pytest.param(
            1, server(1, use_private_ip=True), (422, "load_balancer_not_attached_to_network"), id="no-network"
        ),
        pytest.param(
            3, server(2, use_private_ip=True), (422, "resolve_cloud_private_targets_error"), id="server-not-attached"
        ),
        pytest.param(
            3, server(6, use_private_ip=True), (422, "resolve_cloud_private_targets_error"), id="other-network"
        ),
        pytest.param(
            3, server(1, use_private_ip=True, ip="203.0.113.1"), (422, "invalid_input"), id="address-of-private-target"
        ),
        pytest.param(2, server(1), (422, "load_balancer_public_interface_disabled"), id="public-interface-off"),
        pytest.param(1, by_label(""), (422, "invalid_input"), id="empty-selector"),
        pytest.param(1, by_label("k" * 1001), (422, "invalid_input"), id="long-selector"),
        pytest.param(1, by_label("a b"), (422, "invalid_input"), id="malformed-selector"),
        pytest.param(
            1,
            by_label("a", use_private_ip=True),
            (422, "load_balancer_not_attached_to_network"),
            id="private-selector-without-network",
        ),
        pytest.param(
            2, by_label("a"), (422, "load_balancer_public_interface_disabled"), id="public-selector-interface-off"
        ),
        pytest.param(1, by_ip("robot"), (422, "invalid_input"), id="ip-that-is-none"),
        pytest.param(
            1, {**by_ip("198.51.100.7"), "use_private_ip": True}, (422, "invalid_input"), id="ip-with-private-flag"
        ),
        pytest.param(1, by_ip("203.0.113.1"), (422, "cloud_resource_ip_not_allowed"), id="ip-of-a-server"),
        pytest.param(1, by_ip("2001:db8:1::5"), (422, "cloud_resource_ip_not_allowed"), id="ipv6-of-a-server"),
        pytest.param(1, by_ip("198.18.0.1"), (422, "cloud_resource_ip_not_allowed"), id="ip-of-a-load-balancer"),
        pytest.param(1, by_ip("192.0.2.77"), (422, "ip_not_owned"), id="ip-of-somebody-else"),
        pytest.param(1, by_ip("10.0.9.7"), (422, "load_balancer_not_attached_to_network"), id="vswitch-no-network"),
        pytest.param(4, by_ip("10.6.0.7"), (422, "network_has_no_vswitch_subnet"), id="no-vswitch-subnet"),
        pytest.param(3, by_ip("10.0.0.7"), (422, "ip_not_in_vswitch_subnet"), id="not-in-the-vswitch-subnet"),
        pytest.param(
            2, by_ip("198.51.100.7"), (422, "load_balancer_public_interface_disabled"), id="public-ip-interface-off"
        ),
    ],
)
def test_refused_targets(balancer: int, body: dict[str, Any], expected: tuple[int, str]) -> None:
    """What may not become a target leaves neither target nor action."""
    api = HetznerApi(WORLD, foreign_addresses=("192.0.2.0/24",))

    assert api.refused("POST", add(balancer), body) == expected
    assert targets(api, balancer) == []
    assert api.get(f"/load_balancers/{balancer}/actions")["actions"] == []


@pytest.mark.parametrize(
    ("balancer", "body", "message"),
    [
        (1, server(99), "cloud target was not found"),
        (1, server(1, use_private_ip=True), "load balancer is not attached to a network"),
        (3, server(2, use_private_ip=True), "server is not attached to the load balancer's network"),
        (2, server(1), "load balancer public interface is disabled, cannot add target using public IP"),
    ],
)
def test_messages(balancer: int, body: dict[str, Any], message: str) -> None:
    """Messages that were seen in practice."""
    assert HetznerApi(WORLD).send("POST", add(balancer), body).body["error"]["message"] == message


@pytest.mark.parametrize(
    ("first", "second", "is_same"),
    [
        pytest.param(server(1), server(1), True, id="same-server"),
        pytest.param(server(1), server(2), False, id="two-servers"),
        pytest.param(server(1), by_label("pool=web"), False, id="server-listed-and-found"),
        pytest.param(by_label("pool=web"), by_label("pool=web"), True, id="same-selector"),
        pytest.param(
            by_label("pool=web"), by_label("pool=web", use_private_ip=True), True, id="same-selector-by-private-ip"
        ),
        pytest.param(by_label("pool=web"), by_label("pool==web"), False, id="two-selectors"),
        pytest.param(by_ip("2001:db8:f::1"), by_ip("2001:db8:f:0::1"), True, id="same-address"),
        pytest.param(by_ip("198.51.100.7"), by_ip("198.51.100.8"), False, id="two-addresses"),
    ],
)
def test_same_target_twice(first: dict[str, Any], second: dict[str, Any], is_same: bool) -> None:
    """The same target twice is refused."""
    api = HetznerApi(WORLD)
    api.done("POST", add(3), first)
    if is_same:
        assert api.refused("POST", add(3), second) == (422, "target_already_defined")
    else:
        api.done("POST", add(3), second)
        assert len(targets(api)) == 2


@pytest.mark.parametrize(
    "second", [server(1, use_private_ip=True), server(1, ip="2001:db8:1::1")], ids=["private", "ipv6"]
)
def test_server_as_two_targets_is_an_option(second: dict[str, Any]) -> None:
    """Whether a server can be two targets, by two addresses, is not known; both go together unless one is named."""
    strict, lenient = HetznerApi(WORLD), HetznerApi(WORLD, server_as_two_targets="accepted")
    for api in (strict, lenient):
        api.done("POST", add(3), server(1))
    assert strict.refused("POST", add(3), second) == (422, "target_already_defined")

    lenient.done("POST", add(3), second)
    assert lenient.refused("POST", add(3), second) == (422, "target_already_defined")
    assert len(targets(lenient)) == 2
    lenient.done("POST", remove(3), server(1, ip="203.0.113.1"))
    assert [target["server"]["ip"] for target in targets(lenient)] != ["203.0.113.1"]
    lenient.done("POST", add(3), server(1))
    lenient.done("POST", remove(3), server(1))
    assert targets(lenient) == []


def test_target_limit() -> None:
    """A type has so many targets; a selector is one of them, whatever it finds."""
    full = [{"type": "ip", "ip": {"ip": f"198.51.100.{number}"}} for number in range(24)]
    api = HetznerApi({**WORLD, "load_balancers": [{"id": 3, "targets": full}]})
    api.done("POST", add(3), by_label("pool"))
    refused = api.send("POST", add(3), server(1))

    assert (refused.status, refused.body["error"]["code"]) == (403, "resource_limit_exceeded")
    assert refused.body["error"]["details"] == {"limits": [{"name": "load_balancer_target_limit"}]}
    assert len(targets(api)[-1]["targets"]) == 2
    api.done("POST", remove(3), by_label("pool"))
    api.done("POST", add(3), server(1))


@pytest.mark.parametrize(
    "body",
    [server(1), by_label("pool=web"), by_ip("198.51.100.7"), server(1) | {"use_private_ip": True}],
    ids=["server", "selector", "ip", "flag-is-ignored"],
)
def test_removed_target(body: dict[str, Any]) -> None:
    """A target is removed by what it is, and gone when the action ends; the others stay."""
    api = HetznerApi(WORLD)
    for there in (server(1), server(2), by_label("pool=web"), by_ip("198.51.100.7")):
        api.done("POST", add(3), there)

    assert api.accepted("POST", remove(3), body)["action"]["command"] == "remove_target"
    assert len(targets(api)) == 4
    api.clock.advance(1)

    assert len(targets(api)) == 3
    assert api.refused("POST", remove(3), body) == (404, "not_found")


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ({}, (422, "invalid_input")),
        ({"type": "server"}, (422, "invalid_input")),
        ({"type": "ip", "ip": {"ip": "x"}}, (422, "invalid_input")),
        (server(99), (404, "not_found")),
        (server(1, ip="2001:db8:1::9"), (404, "not_found")),
        (by_label("pool=db"), (404, "not_found")),
        (by_ip("198.51.100.8"), (404, "not_found")),
    ],
)
def test_refused_removals(body: dict[str, Any], expected: tuple[int, str]) -> None:
    """What is no target cannot be removed."""
    api = HetznerApi(WORLD)
    api.done("POST", add(3), server(1))

    assert api.refused("POST", remove(3), body) == expected
    assert len(targets(api)) == 1


def test_selector_finds_what_matches() -> None:
    """A selector lists the servers whose labels match, as they come and go, by the address that it asks for."""
    api = HetznerApi(WORLD)
    api.done("POST", add(3), by_label("pool=web"))
    api.done("POST", add(2), by_label("pool", use_private_ip=True))

    def found(balancer_id: int) -> list[tuple[int, str]]:
        [target] = targets(api, balancer_id)
        return [(one["server"]["id"], one["server"]["ip"]) for one in target["targets"]]

    assert (found(3), found(2)) == ([(1, "203.0.113.1"), (2, "203.0.113.2")], [(1, "10.0.0.2")])
    assert api.get("/servers/1")["server"]["load_balancers"] == [2, 3]
    api.accepted("PUT", "/servers/1", {"labels": {}})
    api.accepted("PUT", "/servers/3", {"labels": {"pool": "web"}})
    assert (found(3), found(2)) == ([(2, "203.0.113.2")], [(3, "10.0.0.3")])
    assert api.get("/servers/1")["server"]["load_balancers"] == []
    assert {one["use_private_ip"] for one in targets(api, 2)[0]["targets"]} == {True}


def test_selector_finds_none_of_another_zone() -> None:
    """Nor would such a server be taken by its id."""
    api = HetznerApi(WORLD)
    api.accepted("PUT", "/servers/7", {"labels": {"pool": "web"}})
    api.done("POST", add(3), by_label("pool=web"))

    assert [one["server"]["id"] for one in targets(api)[0]["targets"]] == [1, 2]


def test_deleted_server_is_no_target() -> None:
    """Deleting a server takes it out of all load balancers, as long as no action is about to add it."""
    api = HetznerApi(WORLD, action_s_by_command={"add_target": 5.0})
    api.done("POST", add(3), server(1))
    api.done("POST", add(3), by_label("pool=web"))
    adding = api.accepted("POST", add(1), server(1))["action"]
    api.accepted("DELETE", "/servers/1")
    api.clock.advance(10)

    assert [target["type"] for target in targets(api)] == ["label_selector"]
    assert [one["server"]["id"] for one in targets(api)[0]["targets"]] == [2]
    assert api.get(f"/actions/{adding['id']}")["action"]["error"] == {
        "code": "invalid_input",
        "message": "cloud target was not found",
    }
    assert targets(api, 1) == []
