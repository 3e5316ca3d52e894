"""Network and public interface of load balancers of the Hetzner simulator."""

from typing import Any

import pytest

from sandbox_support.hetzner_spec import HetznerApi

ATTACH = "/load_balancers/3/actions/attach_to_network"
DETACH = "/load_balancers/3/actions/detach_from_network"
ENABLE = "/load_balancers/3/actions/enable_public_interface"
DISABLE = "/load_balancers/3/actions/disable_public_interface"
PUBLIC = {"server": {"id": 1}}
PRIVATE = {"server": {"id": 1}, "use_private_ip": True}
SELECTOR = {"type": "label_selector", "label_selector": {"selector": "a"}}
ROBOT = {"type": "ip", "ip": {"ip": "198.51.100.7"}}
VSWITCH = {"type": "ip", "ip": {"ip": "10.0.9.7"}}


def api_with(*targets: dict[str, Any], attached: bool = True, **options: Any) -> HetznerApi:
    """A load balancer with these targets, in the network or beside it."""
    balancer = {
        "id": 3,
        "name": "lb",
        "private_net": [{"network": 5, "ip": "10.0.0.9"}] if attached else [],
        "targets": list(targets),
    }
    world = {
        "servers": [{"id": 1, "private_net": [{"network": 5, "ip": "10.0.0.2"}]}],
        "networks": [
            {
                "id": 5,
                "name": "net",
                "subnets": [
                    {"ip_range": "10.0.0.0/24"},
                    {"ip_range": "10.0.2.0/29"},
                    {"ip_range": "10.0.9.0/24", "type": "vswitch", "vswitch_id": 7},
                ],
            },
            {"id": 6, "name": "other", "ip_range": "10.6.0.0/16"},
        ],
        "load_balancers": [balancer],
    }
    return HetznerApi(world, **options)


def balancer_of(api: HetznerApi) -> dict[str, Any]:
    """The load balancer."""
    found: dict[str, Any] = api.get("/load_balancers/3")["load_balancer"]
    return found


@pytest.mark.parametrize(
    ("wish", "address"),
    [
        pytest.param({}, "10.0.2.1", id="last-subnet-by-range"),
        pytest.param({"ip_range": "10.0.0.0/24"}, "10.0.0.3", id="asked-subnet"),
        pytest.param({"ip": "10.0.0.77"}, "10.0.0.77", id="asked-address"),
        pytest.param({"ip": "10.0.2.4", "ip_range": "10.0.2.0/29"}, "10.0.2.4", id="both"),
    ],
)
def test_attached(wish: dict[str, Any], address: str) -> None:
    """A load balancer gets an address of the network when the action ends."""
    api = api_with(attached=False)
    action = api.accepted("POST", ATTACH, {"network": 5, **wish})["action"]
    assert action["command"] == "attach_to_network"
    assert action["resources"] == [{"id": 3, "type": "load_balancer"}, {"id": 5, "type": "network"}]
    assert balancer_of(api)["private_net"] == []
    [member] = api.get("/networks/5/members?type=load_balancer")["members"]
    assert (member["ip"], member["status"]) == (address, "attaching")

    api.clock.advance(1)

    assert balancer_of(api)["private_net"] == [{"network": 5, "ip": address}]
    assert api.get("/networks/5")["network"]["load_balancers"] == [3]


@pytest.mark.parametrize(
    ("attached", "body", "expected"),
    [
        pytest.param(False, {}, (422, "invalid_input"), id="no-network"),
        pytest.param(False, {"network": 77}, (404, "not_found"), id="unknown-network"),
        pytest.param(True, {"network": 5}, (422, "load_balancer_already_attached"), id="attached-to-it"),
        pytest.param(True, {"network": 6}, (422, "load_balancer_already_attached"), id="attached-to-another"),
        pytest.param(False, {"network": 5, "ip": "10.0.0.2"}, (422, "ip_not_available"), id="address-taken"),
        pytest.param(False, {"network": 5, "ip": "10.0.0.1"}, (422, "ip_not_available"), id="gateway"),
        pytest.param(False, {"network": 5, "ip": "10.0.7.1"}, (422, "no_subnet_available"), id="no-such-subnet"),
        pytest.param(False, {"network": 5, "ip": "10.0.9.8"}, (422, "no_subnet_available"), id="vswitch-subnet"),
        pytest.param(False, {"network": 5, "ip_range": "10.0.7.0/24"}, (422, "no_subnet_available"), id="no-range"),
        pytest.param(
            False,
            {"network": 5, "ip": "10.0.0.7", "ip_range": "10.0.2.0/29"},
            (422, "invalid_input"),
            id="address-outside-of-range",
        ),
    ],
)
def test_refused_attachments(attached: bool, body: dict[str, Any], expected: tuple[int, str]) -> None:
    """A refused attachment takes no address and no lock."""
    api = api_with(attached=attached)

    assert api.refused("POST", ATTACH, body) == expected
    assert len(api.get("/networks/5/members?type=load_balancer")["members"]) == attached
    api.accepted("PUT", "/load_balancers/3", {"name": "free"})


def test_failed_attachment_frees_the_address() -> None:
    """An attachment whose action fails leaves neither entry nor reservation."""
    api = api_with(attached=False)
    api.simulator.set_faults([{"kind": "action_fails", "command": "attach_to_network"}])

    assert api.done("POST", ATTACH, {"network": 5, "ip": "10.0.0.77"})["status"] == "error"
    assert balancer_of(api)["private_net"] == []
    api.done("POST", ATTACH, {"network": 5, "ip": "10.0.0.77"})


def test_detached() -> None:
    """A detachment ends when its action does, on both sides, and frees the address."""
    api = api_with(PUBLIC, ROBOT)
    action = api.accepted("POST", DETACH, {"network": 5})["action"]
    [member] = api.get("/networks/5/members?type=load_balancer")["members"]
    assert (action["command"], member["status"]) == ("detach_from_network", "detaching")
    assert balancer_of(api)["private_net"] != []

    api.clock.advance(1)

    assert balancer_of(api)["private_net"] == []
    assert api.get("/networks/5")["network"]["load_balancers"] == []
    assert len(balancer_of(api)["targets"]) == 2
    assert api.refused("POST", DETACH, {"network": 5}) == (404, "not_found")
    api.done("POST", ATTACH, {"network": 5, "ip": "10.0.0.9"})


@pytest.mark.parametrize("target", [PRIVATE, {**SELECTOR, "use_private_ip": True}, VSWITCH])
def test_private_targets_at_detachment_are_an_option(target: dict[str, Any]) -> None:
    """Whether private targets go with the network or keep it is not known."""
    strict = api_with(target, ROBOT)
    lenient = api_with(target, ROBOT, private_targets_at_detachment="dropped")

    assert strict.refused("POST", DETACH, {"network": 5}) == (422, "service_error")
    assert len(balancer_of(strict)["targets"]) == 2
    lenient.done("POST", DETACH, {"network": 5})
    assert [found["type"] for found in balancer_of(lenient)["targets"]] == ["ip"]
    assert balancer_of(lenient)["targets"][0]["ip"] == ROBOT["ip"]


def test_failed_detachment_changes_nothing() -> None:
    """A detachment whose action fails leaves the network and the private targets."""
    api = api_with(PRIVATE, private_targets_at_detachment="dropped")
    api.simulator.set_faults([{"kind": "action_fails"}])
    api.done("POST", DETACH, {"network": 5})

    assert (len(balancer_of(api)["private_net"]), len(balancer_of(api)["targets"])) == (1, 1)
    assert api.get("/networks/5/members?type=load_balancer")["members"][0]["status"] == "ok"


def test_deleted_network_takes_its_private_targets() -> None:
    """Deleting a network detaches load balancers, and no target can use it any more."""
    api = api_with(PRIVATE, ROBOT)
    api.send("DELETE", "/networks/5")

    assert balancer_of(api)["private_net"] == []
    assert [target["type"] for target in balancer_of(api)["targets"]] == ["ip"]


def test_subnet_of_a_load_balancer_is_not_deleted() -> None:
    """A load balancer keeps its subnet."""
    api = api_with(attached=False)
    api.done("POST", ATTACH, {"network": 5})
    refused = api.send("POST", "/networks/5/actions/delete_subnet", {"ip_range": "10.0.2.0/29"})

    assert (refused.status, refused.body["error"]["code"]) == (422, "service_error")
    assert "network has attached resources" in refused.body["error"]["message"]


@pytest.mark.parametrize(
    ("targets", "attached", "expected"),
    [
        pytest.param([], True, None, id="no-target"),
        pytest.param([PRIVATE, VSWITCH, {**SELECTOR, "use_private_ip": True}], True, None, id="private-targets"),
        pytest.param([], False, (422, "load_balancer_not_attached_to_network"), id="no-network"),
        pytest.param([PUBLIC], True, (422, "targets_without_use_private_ip"), id="public-server"),
        pytest.param([PRIVATE, SELECTOR], True, (422, "targets_without_use_private_ip"), id="public-selector"),
        pytest.param([ROBOT], True, (422, "targets_without_use_private_ip"), id="public-address"),
    ],
)
def test_disabled_public_interface(
    targets: list[dict[str, Any]], attached: bool, expected: tuple[int, str] | None
) -> None:
    """It takes a network and no public target; the addresses stay reserved and visible."""
    api = api_with(*targets, attached=attached)
    before = balancer_of(api)["public_net"]
    if expected:
        assert api.refused("POST", DISABLE) == expected
        return
    assert api.done("POST", DISABLE)["command"] == "disable_public_interface"

    assert balancer_of(api)["public_net"] == {**before, "enabled": False}
    assert api.refused("POST", "/load_balancers/3/actions/add_target", {"type": "server", "server": {"id": 1}}) == (
        422,
        "load_balancer_public_interface_disabled",
    )
    api.done("POST", DISABLE)
    assert api.done("POST", ENABLE)["command"] == "enable_public_interface"
    assert balancer_of(api)["public_net"] == before


def test_enabled_public_interface_can_be_enabled() -> None:
    """Enabling what is enabled succeeds."""
    assert api_with().done("POST", ENABLE)["status"] == "success"


def test_created_without_public_interface() -> None:
    """A load balancer can start without public interface, also without a network."""
    body = {"name": "new", "load_balancer_type": "lb11", "location": "fsn1", "public_interface": False}
    public_net = api_with().accepted("POST", "/load_balancers", body)["load_balancer"]["public_net"]

    assert (public_net["enabled"], public_net["ipv4"]["ip"].startswith("198.18.")) == (False, True)
