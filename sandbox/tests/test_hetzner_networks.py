"""Networks of the Hetzner simulator: ranges, subnets, routes, names and protection."""

from typing import Any

import pytest

from sandbox_support.hetzner_spec import HetznerApi

NEW = {"name": "net", "ip_range": "10.0.0.0/16"}
WORLD: dict[str, Any] = {
    "servers": [{"id": 1, "private_net": [{"network": 5, "ip": "10.0.16.2"}]}],
    "networks": [
        {
            "id": 5,
            "name": "net",
            "ip_range": "10.0.0.0/16",
            "subnets": [
                {"ip_range": "10.0.16.0/24"},
                {"ip_range": "10.0.18.0/24"},
                {"ip_range": "10.0.17.0/24", "type": "vswitch", "vswitch_id": 7},
            ],
            "routes": [{"destination": "10.100.1.0/24", "gateway": "10.0.1.1"}],
        },
        {"id": 6, "name": "taken", "ip_range": "10.1.0.0/16"},
    ],
}
SUBNET = {"type": "cloud", "network_zone": "eu-central"}


def test_created_network_is_there_at_once() -> None:
    """A network needs no action; subnets get the first free /24 and the first address of the network as gateway."""
    api = HetznerApi()
    body = api.accepted(
        "POST",
        "/networks",
        {
            **NEW,
            "labels": {"a": "b"},
            "subnets": [SUBNET, {**SUBNET, "ip_range": "10.0.2.0/24"}, SUBNET],
            "routes": [{"destination": "10.244.0.0/24", "gateway": "10.0.0.5"}],
        },
    )

    assert list(body) == ["network"]
    assert body == api.get("/networks/1")
    assert body["network"] == {
        "id": 1,
        "name": "net",
        "ip_range": "10.0.0.0/16",
        "subnets": [
            {"type": "cloud", "ip_range": ip, "network_zone": "eu-central", "gateway": "10.0.0.1", "vswitch_id": None}
            for ip in ("10.0.0.0/24", "10.0.2.0/24", "10.0.1.0/24")
        ],
        "routes": [{"destination": "10.244.0.0/24", "gateway": "10.0.0.5"}],
        "servers": [],
        "load_balancers": [],
        "protection": {"delete": False},
        "labels": {"a": "b"},
        "created": "2023-11-14T22:13:20Z",
        "expose_routes_to_vswitch": False,
    }


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        pytest.param({"name": ""}, (422, "invalid_input"), id="empty-name"),
        pytest.param({"name": "n" * 129}, (422, "invalid_input"), id="long-name"),
        pytest.param({"name": "taken"}, (409, "uniqueness_error"), id="name-taken"),
        pytest.param({"ip_range": None}, (422, "invalid_input"), id="no-range"),
        pytest.param({"ip_range": "10.0.0.0/25"}, (422, "invalid_input"), id="too-small"),
        pytest.param({"ip_range": "10.0.0.1/16"}, (422, "invalid_input"), id="host-bits"),
        pytest.param({"ip_range": "8.0.0.0/16"}, (422, "invalid_input"), id="public"),
        pytest.param({"ip_range": "172.16.0.0/11"}, (422, "invalid_input"), id="more-than-private"),
        pytest.param({"ip_range": "fd00::/64"}, (422, "invalid_input"), id="ipv6"),
        pytest.param({"colour": "red"}, (422, "invalid_input"), id="unknown-field"),
        pytest.param({"subnets": [{**SUBNET, "colour": "red"}]}, (422, "invalid_input"), id="unknown-subnet-field"),
        pytest.param(
            {"routes": [{"destination": "10.244.0.0/24", "gateway": "10.9.0.1"}]},
            (422, "invalid_input"),
            id="bad-route",
        ),
    ],
)
def test_refused_creations(change: dict[str, Any], expected: tuple[int, str]) -> None:
    """A refused creation leaves nothing behind."""
    api = HetznerApi(WORLD)

    assert api.refused("POST", "/networks", {**NEW, "name": "new", **change}) == expected
    assert len(api.get("/networks")["networks"]) == 2


def test_taken_name_message() -> None:
    """The message of a taken name is the one that the service sends."""
    assert HetznerApi(WORLD).send("POST", "/networks", NEW).body == {
        "error": {
            "code": "uniqueness_error",
            "message": "name is already used",
            "details": {"fields": [{"name": "name"}]},
        }
    }


def test_update() -> None:
    """Name, labels and the vSwitch switch change at once; other fields are refused."""
    api = HetznerApi(WORLD)
    network = api.accepted("PUT", "/networks/5", {"name": "renamed", "expose_routes_to_vswitch": True})["network"]

    assert (network["name"], network["expose_routes_to_vswitch"], network["labels"]) == ("renamed", True, {})
    assert api.accepted("PUT", "/networks/5", {"labels": {"a": "b"}})["network"]["name"] == "renamed"
    assert api.refused("PUT", "/networks/5", {"name": "taken"}) == (409, "uniqueness_error")
    assert api.refused("PUT", "/networks/5", {"ip_range": "10.0.0.0/8"}) == (422, "invalid_input")


def test_protection() -> None:
    """A protected network is not deleted."""
    api = HetznerApi(WORLD)
    api.done("POST", "/networks/5/actions/change_protection", {"delete": True})
    refused = api.send("DELETE", "/networks/5")

    assert (refused.status, refused.body["error"]["message"]) == (423, "network is delete protected")


@pytest.mark.parametrize(
    ("wish", "ip_range"),
    [
        pytest.param({}, "10.0.0.0/24", id="first-free"),
        pytest.param({"ip_range": "10.0.0.0/30"}, "10.0.0.0/30", id="smallest"),
        pytest.param({"type": "server", "ip_range": "10.0.128.0/17"}, "10.0.128.0/17", id="old-name-of-the-type"),
    ],
)
def test_added_subnet(wish: dict[str, Any], ip_range: str) -> None:
    """A subnet is there when its action finishes."""
    api = HetznerApi(WORLD)
    api.accepted("POST", "/networks/5/actions/add_subnet", {**SUBNET, **wish})
    assert len(api.get("/networks/5")["network"]["subnets"]) == 3

    api.clock.advance(1)

    added = api.get("/networks/5")["network"]["subnets"][-1]
    assert (added["ip_range"], added["gateway"]) == (ip_range, "10.0.0.1")


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        pytest.param({"type": None}, (422, "invalid_input"), id="no-type"),
        pytest.param({"type": "home"}, (422, "invalid_input"), id="unknown-type"),
        pytest.param({"network_zone": "moon"}, (422, "invalid_input"), id="unknown-zone"),
        pytest.param({"network_zone": "us-east"}, (422, "invalid_input"), id="second-zone"),
        pytest.param({"ip_range": "10.0.0.0/31"}, (422, "invalid_input"), id="too-small"),
        pytest.param({"ip_range": "10.1.0.0/24"}, (422, "invalid_input"), id="outside"),
        pytest.param({"ip_range": "10.0.16.0/20"}, (422, "invalid_input"), id="overlapping-subnet"),
        pytest.param({"type": "vswitch"}, (422, "invalid_input"), id="vswitch-without-id"),
        pytest.param({"type": "vswitch", "vswitch_id": 9}, (422, "service_error"), id="unknown-vswitch"),
    ],
)
def test_refused_subnets(change: dict[str, Any], expected: tuple[int, str]) -> None:
    """Subnets lie inside, do not overlap, are in one zone and at least a /30."""
    assert HetznerApi(WORLD).refused("POST", "/networks/5/actions/add_subnet", {**SUBNET, **change}) == expected


def test_subnet_must_not_overlap_a_route() -> None:
    """A route's destination is taken for subnets."""
    world = {"networks": [{"id": 5, "routes": [{"destination": "10.0.4.0/24", "gateway": "10.0.0.9"}]}]}

    wanted = {**SUBNET, "ip_range": "10.0.4.0/25"}

    assert HetznerApi(world).refused("POST", "/networks/5/actions/add_subnet", wanted) == (422, "invalid_input")


def test_subnet_beside_a_default_route() -> None:
    """A default route is in nobody's way, though it contains everything; as for other routes."""
    world = {"networks": [{"id": 5, "routes": [{"destination": "0.0.0.0/0", "gateway": "10.0.0.9"}]}]}
    api = HetznerApi(world)

    api.done("POST", "/networks/5/actions/add_subnet", SUBNET)
    api.done("POST", "/networks/5/actions/add_subnet", {**SUBNET, "ip_range": "10.0.4.0/24"})

    assert len(api.get("/networks/5")["network"]["subnets"]) == 3


def test_subnet_limit() -> None:
    """A network has at most 50 subnets."""
    world = {"networks": [{"id": 5, "subnets": [{"ip_range": f"10.0.{n}.0/24"} for n in range(50)]}]}

    assert HetznerApi(world).refused("POST", "/networks/5/actions/add_subnet", SUBNET) == (
        403,
        "resource_limit_exceeded",
    )


def test_full_network_has_no_free_subnet() -> None:
    """When no /24 is free, a subnet without a range is refused."""
    world = {"networks": [{"id": 5, "ip_range": "10.0.0.0/24", "subnets": [{"ip_range": "10.0.0.0/30"}]}]}

    assert HetznerApi(world).refused("POST", "/networks/5/actions/add_subnet", SUBNET) == (422, "service_error")


def test_deleted_subnet() -> None:
    """A subnet is deleted when nobody is attached in it."""
    api = HetznerApi(WORLD)
    refused = api.send("POST", "/networks/5/actions/delete_subnet", {"ip_range": "10.0.16.0/24"})
    assert (refused.status, refused.body["error"]["code"]) == (422, "service_error")
    assert "servers are attached" in refused.body["error"]["message"]
    assert api.refused("POST", "/networks/5/actions/delete_subnet", {"ip_range": "10.0.99.0/24"}) == (404, "not_found")

    api.done("POST", "/networks/5/actions/delete_subnet", {"ip_range": "10.0.18.0/24"})

    left = api.get("/networks/5")["network"]["subnets"]
    assert [subnet["ip_range"] for subnet in left] == ["10.0.16.0/24", "10.0.17.0/24"]


@pytest.mark.parametrize(
    ("destination", "gateway"),
    [
        pytest.param("10.244.1.0/24", "10.0.16.2", id="pod-network"),
        pytest.param("192.168.0.0/16", "10.0.1.1", id="gateway-already-used-and-in-no-subnet"),
        pytest.param("10.0.99.0/24", "10.0.16.2", id="inside-the-network"),
        pytest.param("0.0.0.0/0", "10.0.16.2", id="default-route"),
        pytest.param("10.200.0.7/32", "10.0.16.2", id="one-host"),
        pytest.param("172.31.2.0/24", "10.0.255.255", id="beside-the-public-gateway-via-the-last-address"),
    ],
)
def test_added_route(destination: str, gateway: str) -> None:
    """A route is there when its action finishes, and gone when it is deleted with both of its halves."""
    api = HetznerApi(WORLD)
    route = {"destination": destination, "gateway": gateway}
    api.accepted("POST", "/networks/5/actions/add_route", route)
    assert route not in api.get("/networks/5")["network"]["routes"]
    api.clock.advance(1)
    assert route in api.get("/networks/5")["network"]["routes"]

    api.done("POST", "/networks/5/actions/delete_route", route)

    assert route not in api.get("/networks/5")["network"]["routes"]


OVERLAP = "network route destination overlaps with another subnetwork or network route"
PUBLIC_GATEWAY = "network route destination overlaps with 172.31.1.1"
OUTSIDE = "network route gateway not part of the network IP range (10.0.0.0/16)"


@pytest.mark.parametrize(
    ("destination", "gateway", "message"),
    [
        pytest.param("10.100.1.0/24", "10.0.16.2", OVERLAP, id="same-destination"),
        pytest.param("10.100.0.0/16", "10.0.16.2", OVERLAP, id="wider-than-a-route"),
        pytest.param("10.0.16.128/25", "10.0.16.2", OVERLAP, id="in-a-subnet"),
        pytest.param("10.0.0.0/16", "10.0.16.2", OVERLAP, id="wider-than-a-subnet"),
        pytest.param("10.100.1.128/25", "10.0.16.2", OVERLAP, id="in-a-route"),
        pytest.param("172.31.0.0/16", "10.0.16.2", PUBLIC_GATEWAY, id="public-gateway"),
        pytest.param("10.244.1.0/24", "10.1.0.1", OUTSIDE, id="gateway-outside"),
        pytest.param("10.244.1.0/24", "10.0.0.1", "invalid gateway", id="gateway-is-first-address"),
        pytest.param("10.244.1.0/24", "10.0.17.9", "invalid gateway", id="gateway-behind-the-vswitch"),
        pytest.param("8.8.8.0/24", "10.0.16.2", None, id="public-destination"),
        pytest.param("172.0.0.0/8", "10.0.16.2", None, id="more-than-private"),
        pytest.param("10.244.1.1/24", "10.0.16.2", None, id="host-bits"),
        pytest.param("fd00::/64", "10.0.16.2", None, id="ipv6-destination"),
        pytest.param("10.244.1.0/24", "fd00::1", None, id="ipv6-gateway"),
        pytest.param("10.244.1.0/24", None, None, id="no-gateway"),
        pytest.param(None, "10.0.16.2", None, id="no-destination"),
    ],
)
def test_refused_routes(destination: str | None, gateway: str | None, message: str | None) -> None:
    """Routes overlap with nothing and have a gateway in the network; some messages are known."""
    refused = HetznerApi(WORLD).send(
        "POST", "/networks/5/actions/add_route", {"destination": destination, "gateway": gateway}
    )

    assert (refused.status, refused.body["error"]["code"]) == (422, "invalid_input")
    assert message in {None, refused.body["error"]["message"]}


def test_public_gateway_is_no_gateway_of_a_route() -> None:
    """Not even in a network that contains it."""
    api = HetznerApi({"networks": [{"id": 5, "ip_range": "172.31.0.0/16"}]})
    refused = api.send(
        "POST", "/networks/5/actions/add_route", {"destination": "10.244.1.0/24", "gateway": "172.31.1.1"}
    )

    assert (refused.status, refused.body["error"]["message"]) == (422, "invalid gateway")


@pytest.mark.parametrize("action", ["add_route", "delete_route"])
def test_routes_have_no_other_fields(action: str) -> None:
    """Unknown fields are refused, and so are changes of a network that is not there."""
    api = HetznerApi(WORLD)
    route = WORLD["networks"][0]["routes"][0]

    assert api.refused("POST", f"/networks/5/actions/{action}", {**route, "metric": 1}) == (422, "invalid_input")
    assert api.refused("POST", f"/networks/77/actions/{action}", route) == (404, "not_found")


def test_default_route_overlaps_only_with_itself() -> None:
    """Beside a default route others can be added, but no second one."""
    api = HetznerApi(WORLD)
    api.done("POST", "/networks/5/actions/add_route", {"destination": "0.0.0.0/0", "gateway": "10.0.16.2"})
    api.done("POST", "/networks/5/actions/add_route", {"destination": "10.244.1.0/24", "gateway": "10.0.16.2"})

    again = {"destination": "0.0.0.0/0", "gateway": "10.0.16.3"}
    assert api.refused("POST", "/networks/5/actions/add_route", again) == (422, "invalid_input")


def test_route_limit() -> None:
    """A network has at most 100 routes."""
    routes = [{"destination": f"10.244.{n}.0/24", "gateway": "10.0.0.9"} for n in range(100)]
    api = HetznerApi({"networks": [{"id": 5, "routes": routes}]})

    one_more = {"destination": "10.245.0.0/24", "gateway": "10.0.0.9"}
    assert api.refused("POST", "/networks/5/actions/add_route", one_more) == (403, "resource_limit_exceeded")


@pytest.mark.parametrize(
    "route",
    [{"destination": "10.100.1.0/24", "gateway": "10.0.1.2"}, {"destination": "10.100.2.0/24", "gateway": "10.0.1.1"}],
)
def test_route_is_deleted_by_both_halves(route: dict[str, str]) -> None:
    """Destination and gateway must both match."""
    assert HetznerApi(WORLD).refused("POST", "/networks/5/actions/delete_route", route) == (404, "not_found")


def test_routes_of_a_deleted_server_stay() -> None:
    """A route whose gateway server is deleted becomes a black hole."""
    api = HetznerApi(WORLD)
    route = {"destination": "10.244.1.0/24", "gateway": "10.0.16.2"}
    api.done("POST", "/networks/5/actions/add_route", route)
    api.done("DELETE", "/servers/1")

    assert route in api.get("/networks/5")["network"]["routes"]


@pytest.mark.parametrize(
    ("ip_range", "accepted"),
    [
        ("10.0.0.0/15", True),
        ("10.0.0.0/8", True),
        ("10.0.0.0/16", False),
        ("10.0.0.0/17", False),
        ("10.1.0.0/15", False),
        ("172.16.0.0/12", False),
    ],
)
def test_network_can_only_grow(ip_range: str, accepted: bool) -> None:
    """A range keeps its base address and gets larger."""
    api = HetznerApi(WORLD)
    if accepted:
        api.done("POST", "/networks/5/actions/change_ip_range", {"ip_range": ip_range})
        assert api.get("/networks/5")["network"]["ip_range"] == ip_range
    else:
        assert api.refused("POST", "/networks/5/actions/change_ip_range", {"ip_range": ip_range}) == (
            422,
            "invalid_input",
        )
