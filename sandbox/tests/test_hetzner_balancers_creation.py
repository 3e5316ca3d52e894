"""Creating load balancers of the Hetzner simulator."""

from typing import Any

import pytest

from sandbox_support.hetzner_spec import HetznerApi

NEW = {"name": "new", "load_balancer_type": "lb11", "location": "fsn1"}
TCP = {"protocol": "tcp", "listen_port": 80, "destination_port": 30080}
PRIVATE = {"type": "server", "server": {"id": 1}, "use_private_ip": True}
PUBLIC = {"type": "server", "server": {"id": 1}}
WORLD: dict[str, Any] = {
    "servers": [
        {"id": 1, "name": "web-1", "private_net": [{"network": 5, "ip": "10.0.0.2"}]},
        {"id": 2, "name": "web-2"},
    ],
    "networks": [
        {"id": 5, "name": "net", "subnets": [{"ip_range": "10.0.0.0/24"}, {"ip_range": "10.0.1.0/24"}]},
        {
            "id": 6,
            "name": "overseas",
            "ip_range": "10.6.0.0/16",
            "subnets": [{"ip_range": "10.6.0.0/24", "network_zone": "us-east"}],
        },
    ],
    "load_balancers": [{"id": 3, "name": "lb", "labels": {"a": "b"}, "public_net": {"ipv4": {"id": 9}}}],
    "primary_ips": [
        {"id": 7, "name": "four"},
        {"id": 8, "name": "six", "type": "ipv6"},
        {"id": 9, "name": "had"},
        {"id": 10, "name": "server's", "assignee_id": 2, "assignee_type": "server"},
        {"id": 11, "name": "bad", "blocked": True},
    ],
}


def test_created_with_everything_in_one_body() -> None:
    """One request sets everything; only the network comes when the action ends."""
    api = HetznerApi(WORLD)
    body = api.accepted(
        "POST",
        "/load_balancers",
        {
            **NEW,
            "algorithm": {"type": "least_connections"},
            "labels": {"c": "d"},
            "services": [TCP],
            "targets": [PRIVATE, {"type": "ip", "ip": {"ip": "203.0.113.9"}}],
            "network": 5,
            "public_net": {"ipv4": None},
        },
    )
    preliminary = body["load_balancer"]
    assert (body["action"]["command"], body["action"]["status"]) == ("create_load_balancer", "running")
    assert (preliminary["name"], preliminary["private_net"], len(preliminary["targets"])) == ("new", [], 2)

    api.clock.advance(1)

    created = api.get("/load_balancers/4")["load_balancer"]
    assert created["private_net"] == [{"network": 5, "ip": "10.0.1.1"}]
    assert created["algorithm"] == {"type": "least_connections"}
    assert (created["labels"], created["protection"]) == ({"c": "d"}, {"delete": False})
    assert created["services"] == [
        {
            **TCP,
            "proxyprotocol": False,
            "health_check": {"protocol": "tcp", "port": 30080, "interval": 15, "timeout": 10, "retries": 3},
        }
    ]
    assert [target["type"] for target in created["targets"]] == ["server", "ip"]
    assert created["targets"][0]["server"] == {"id": 1, "ip": "10.0.0.2"}
    assert (created["load_balancer_type"]["name"], created["location"]["name"]) == ("lb11", "fsn1")
    assert created["included_traffic"] == 20 * 2**40
    assert (created["outgoing_traffic"], created["ingoing_traffic"]) == (0, 0)
    assert api.get("/networks/5")["network"]["load_balancers"] == [4]
    assert api.get("/servers/1")["server"]["load_balancers"] == [4]


def test_public_addresses_of_a_new_load_balancer() -> None:
    """A new load balancer has one address of each family, with a default name for IPv4 and none for IPv6."""
    public_net = HetznerApi().accepted("POST", "/load_balancers", NEW)["load_balancer"]["public_net"]

    assert public_net == {
        "enabled": True,
        "ipv4": {
            "id": None,
            "ip": "198.18.0.1",
            "blocked": False,
            "dns_ptr": "static.1.0.18.198.clients.your-server.de",
        },
        "ipv6": {"id": None, "ip": "2001:db8:0:1::1", "blocked": False, "dns_ptr": None},
    }


@pytest.mark.parametrize(
    ("auto_delete", "left"),
    [pytest.param(False, [7, 8], id="kept"), pytest.param(True, [8], id="deleted-with-what-has-it")],
)
def test_life_of_primary_ips(auto_delete: bool, left: list[int]) -> None:
    """A load balancer has them from its creation on, of a range the first address, and sets them free when it goes."""
    api = HetznerApi(WORLD)
    api.accepted("PUT", "/primary_ips/7", {"auto_delete": auto_delete})
    given = {family: api.get(f"/primary_ips/{held}")["primary_ip"]["ip"] for family, held in (("ipv4", 7), ("ipv6", 8))}
    created = api.accepted("POST", "/load_balancers", {**NEW, "public_net": {"ipv4": 7, "ipv6": 8}})["load_balancer"]
    api.clock.advance(1)
    public_net = api.get(f"/load_balancers/{created['id']}")["load_balancer"]["public_net"]

    assert {family: (public_net[family]["id"], public_net[family]["ip"]) for family in given} == {
        "ipv4": (7, given["ipv4"]),
        "ipv6": (8, given["ipv6"].replace("/64", "1")),
    }
    assert had_by(api, 7) == had_by(api, 8) == (created["id"], "load_balancer")
    assert api.refused("POST", "/load_balancers", {**NEW, "name": "b", "public_net": {"ipv4": 7}}) == (
        422,
        "primary_ip_assigned",
    )
    assert api.refused("DELETE", "/primary_ips/7") == (422, "must_be_unassigned")

    api.done("DELETE", f"/load_balancers/{created['id']}")

    assert [held["id"] for held in api.get("/primary_ips")["primary_ips"] if held["id"] in (7, 8)] == left
    assert had_by(api, 8) == (None, "unassigned")


def had_by(api: HetznerApi, primary_ip_id: int) -> tuple[int | None, str]:
    """What has it."""
    found = api.get(f"/primary_ips/{primary_ip_id}")["primary_ip"]
    return found["assignee_id"], found["assignee_type"]


def test_a_failed_creation_keeps_no_primary_ip() -> None:
    """It is free again, and there, whatever it is set to."""
    api = HetznerApi({**WORLD, "primary_ips": [{"id": 7, "name": "four", "auto_delete": True}], "load_balancers": []})
    api.simulator.set_faults([{"kind": "action_fails", "command": "create_load_balancer"}])
    api.accepted("POST", "/load_balancers", {**NEW, "public_net": {"ipv4": 7}})
    api.clock.advance(1)

    assert had_by(api, 7) == (None, "unassigned")


@pytest.mark.parametrize(
    ("change", "location"),
    [
        pytest.param({"location": "nbg1"}, "nbg1", id="location-by-name"),
        pytest.param({"location": 2}, "nbg1", id="location-by-id"),
        pytest.param({"location": None, "network_zone": "us-west"}, "hil", id="zone"),
        pytest.param({"load_balancer_type": "1"}, "fsn1", id="type-by-id"),
    ],
)
def test_created_where_it_was_ordered(change: dict[str, Any], location: str) -> None:
    """The place is a location, or some location of a network zone."""
    wishes = {name: wish for name, wish in {**NEW, **change}.items() if wish is not None}
    created = HetznerApi().accepted("POST", "/load_balancers", wishes)["load_balancer"]

    assert (created["location"]["name"], created["load_balancer_type"]["name"]) == (location, "lb11")


def test_included_traffic_depends_on_the_place() -> None:
    """Overseas, less traffic is included."""
    created = HetznerApi().accepted("POST", "/load_balancers", {**NEW, "location": "ash"})["load_balancer"]

    assert created["included_traffic"] == 2**40


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        pytest.param({"name": None}, (422, "invalid_input"), id="no-name"),
        pytest.param({"name": ""}, (422, "invalid_input"), id="empty-name"),
        pytest.param({"name": "n" * 129}, (422, "invalid_input"), id="long-name"),
        pytest.param({"name": " lb"}, (422, "invalid_input"), id="space-before-the-name"),
        pytest.param({"name": "lb "}, (422, "invalid_input"), id="space-behind-the-name"),
        pytest.param({"name": "lb"}, (409, "uniqueness_error"), id="name-taken"),
        pytest.param({"load_balancer_type": None}, (422, "invalid_input"), id="no-type"),
        pytest.param({"load_balancer_type": "lb99"}, (404, "not_found"), id="unknown-type"),
        pytest.param({"location": None}, (422, "invalid_input"), id="no-place"),
        pytest.param({"network_zone": "eu-central"}, (422, "invalid_input"), id="two-places"),
        pytest.param({"location": "moon"}, (404, "not_found"), id="unknown-location"),
        pytest.param({"location": None, "network_zone": "moon"}, (422, "invalid_input"), id="unknown-zone"),
        pytest.param({"algorithm": {"type": "random"}}, (422, "invalid_input"), id="unknown-algorithm"),
        pytest.param({"labels": {"hetzner.cloud/a": "b"}}, (422, "invalid_input"), id="reserved-label"),
        pytest.param({"public_net": {"ipv4": 77}}, (404, "not_found"), id="unknown-primary-ip"),
        pytest.param(
            {"public_net": {"ipv6": 7}}, (412, "primary_ip_version_mismatch"), id="primary-ip-of-the-other-version"
        ),
        pytest.param({"public_net": {"ipv4": 9}}, (422, "primary_ip_assigned"), id="primary-ip-of-another"),
        pytest.param({"public_net": {"ipv4": 10}}, (422, "primary_ip_assigned"), id="primary-ip-of-a-server"),
        pytest.param({"public_net": {"ipv4": 11}}, (422, "primary_ip_blocked"), id="primary-ip-blocked"),
        pytest.param(
            {"public_net": {"ipv4": 7}, "location": "nbg1"},
            (422, "primary_ip_location_mismatch"),
            id="primary-ip-elsewhere",
        ),
        pytest.param(
            {"public_net": {"ipv4": 7}, "public_interface": False}, (422, "invalid_input"), id="primary-ip-not-public"
        ),
        pytest.param({"services": [TCP, TCP]}, (412, "source_port_already_used"), id="port-twice"),
        pytest.param({"services": [{"protocol": "tcp"}]}, (422, "invalid_input"), id="service-without-port"),
        pytest.param(
            {"services": [{**TCP, "listen_port": port} for port in range(1, 7)]},
            (403, "resource_limit_exceeded"),
            id="too-many-services",
        ),
        pytest.param({"targets": [PUBLIC, PUBLIC]}, (422, "target_already_defined"), id="target-twice"),
        pytest.param({"targets": [PRIVATE]}, (422, "load_balancer_not_attached_to_network"), id="no-network"),
        pytest.param(
            {"targets": [{**PRIVATE, "server": {"id": 2}}], "network": 5},
            (422, "resolve_cloud_private_targets_error"),
            id="target-in-no-network",
        ),
        pytest.param({"targets": [PUBLIC], "location": "ash"}, (422, "unsupported_error"), id="target-of-another-zone"),
        pytest.param(
            {"targets": [PUBLIC], "public_interface": False},
            (422, "load_balancer_public_interface_disabled"),
            id="public-target-without-public-interface",
        ),
        pytest.param(
            {"targets": [{"type": "ip", "ip": {"ip": f"203.0.113.{n}"}} for n in range(26)]},
            (403, "resource_limit_exceeded"),
            id="too-many-targets",
        ),
        pytest.param({"network": 77}, (404, "not_found"), id="unknown-network"),
        pytest.param({"network": 6}, (422, "no_subnet_available"), id="network-in-another-zone"),
    ],
)
def test_refused_creations(change: dict[str, Any], expected: tuple[int, str]) -> None:
    """A refused creation leaves nothing behind: no load balancer, no address, no lock."""
    api = HetznerApi(WORLD)

    assert api.refused("POST", "/load_balancers", {**NEW, **change}) == expected
    assert len(api.get("/load_balancers")["load_balancers"]) == 1
    assert len(api.get("/networks/5/members")["members"]) == 1
    api.done("POST", "/load_balancers", {**NEW, "network": 5})


def test_quota() -> None:
    """A project has a quota of load balancers, whatever a world started with."""
    api = HetznerApi({"load_balancers": [{"id": n} for n in range(1, 20)]})
    api.accepted("POST", "/load_balancers", NEW)
    refused = api.send("POST", "/load_balancers", {**NEW, "name": "one too many"})

    assert (refused.status, refused.body["error"]["code"]) == (403, "resource_limit_exceeded")
    assert refused.body["error"]["details"] == {"limits": [{"name": "load_balancer_limit"}]}
    assert HetznerApi(load_balancer_limit=0).refused("POST", "/load_balancers", NEW)[0] == 403


def test_network_has_room_for_so_many() -> None:
    """Load balancers count towards what a network takes, which is an option for large worlds."""
    world = {"servers": [{"id": n, "private_net": [{"network": 5}]} for n in range(1, 101)], "networks": [{"id": 5}]}
    ordered = {**NEW, "network": 5}

    assert HetznerApi(world).refused("POST", "/load_balancers", ordered) == (403, "resource_limit_exceeded")
    HetznerApi(world, network_attachment_limit=101).accepted("POST", "/load_balancers", ordered)


@pytest.mark.parametrize(
    ("choice", "expected"),
    [("accepted", None), ("refused", (422, "load_balancer_not_attached_to_network"))],
)
def test_private_targets_at_creation_are_an_option(choice: str, expected: tuple[int, str] | None) -> None:
    """Whether the real service takes private targets with the network in one request is not known."""
    api = HetznerApi(WORLD, private_targets_at_creation=choice)
    body = {**NEW, "network": 5, "targets": [PRIVATE]}
    if expected is None:
        assert api.done("POST", "/load_balancers", body)["status"] == "success"
        assert len(api.get("/load_balancers/4")["load_balancer"]["targets"]) == 1
        return

    assert api.refused("POST", "/load_balancers", body) == expected
    assert api.done("POST", "/load_balancers", {**body, "targets": [PUBLIC]})["status"] == "success"


WEB = {"protocol": "http", "listen_port": 80, "destination_port": 30080}
WHOLE = {**WEB, "http": {"cookie_name": "C", "cookie_lifetime": 300, "timeout_idle": 50, "sticky_sessions": False}}


@pytest.mark.parametrize(
    ("choice", "service", "is_taken"),
    [
        ("accepted", WEB, True),
        ("complete", WEB, False),
        ("complete", WHOLE, True),
        ("complete", {**WHOLE, "protocol": "https"}, False),
        ("refused", WHOLE, False),
        ("refused", None, True),
    ],
)
def test_services_at_creation_are_an_option(choice: str, service: dict[str, Any] | None, is_taken: bool) -> None:
    """Whether the real service insists on the members of ``http`` that its document requires is not known."""
    api = HetznerApi(WORLD, services_at_creation=choice)
    body = {**NEW, "services": [service] if service else []}
    if is_taken:
        api.accepted("POST", "/load_balancers", body)
    else:
        assert api.refused("POST", "/load_balancers", body) == (422, "invalid_input")


def test_failed_creation_leaves_nothing() -> None:
    """A load balancer whose creation fails is gone, and so are its place in the network and its name."""
    api = HetznerApi(WORLD)
    api.simulator.set_faults([{"kind": "action_fails", "command": "create_load_balancer"}])

    assert api.done("POST", "/load_balancers", {**NEW, "network": 5})["status"] == "error"
    assert api.get("/load_balancers?name=new")["load_balancers"] == []
    assert api.get("/networks/5/members?type=load_balancer")["members"] == []
    assert api.done("POST", "/load_balancers", {**NEW, "network": 5})["status"] == "success"
