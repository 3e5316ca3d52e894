"""Health of the targets of load balancers of the Hetzner simulator: what follows from servers, what a world says."""

import json
from typing import Any

import pytest

from sandbox_support.hetzner_spec import HetznerApi

TIMEOUT = {"status": "unhealthy", "detail": "layer4_timeout"}
SICK = {"listen_port": 80, "status": "unhealthy", "detail": "unexpected_http_status", "http_status_code": 503}


def api_with(*targets: dict[str, Any], status: str = "running", **fields: Any) -> HetznerApi:
    """A load balancer with ports 80 and 443 and these targets, and a server in its network."""
    server = {"id": 1, "labels": {"a": "b"}, "status": status, "private_net": [{"network": 5, "ip": "10.0.0.2"}]}
    balancer = {
        "id": 3,
        "services": [{"listen_port": 80}, {"listen_port": 443}],
        "targets": list(targets),
        "private_net": [{"network": 5}],
    }
    world = {"servers": [{**server, **fields}], "networks": [{"id": 5}], "load_balancers": [balancer]}
    return HetznerApi(world)


def health(api: HetznerApi) -> dict[int, dict[str, Any]]:
    """Listen port → health of the first target, or of the first that it found."""
    target = api.get("/load_balancers/3")["load_balancer"]["targets"][0]
    listed = target["targets"][0] if target["type"] == "label_selector" else target
    return {one["listen_port"]: {k: v for k, v in one.items() if k != "listen_port"} for one in listed["health_status"]}


BY_ID: dict[str, Any] = {"type": "server", "server": {"id": 1}}
BY_LABEL: dict[str, Any] = {"type": "label_selector", "label_selector": {"selector": "a=b"}}
BY_IP: dict[str, Any] = {"type": "ip", "ip": {"ip": "198.51.100.7"}}


@pytest.mark.parametrize("target", [BY_ID, BY_ID | {"use_private_ip": True}, BY_LABEL], ids=["id", "private", "label"])
@pytest.mark.parametrize(
    ("status", "expected"),
    [
        ("running", {"status": "healthy"}),
        ("off", TIMEOUT),
        ("starting", TIMEOUT),
        ("deleting", TIMEOUT),
        ("initializing", {"status": "unknown"}),
        ("unknown", {"status": "unknown"}),
    ],
)
def test_health_follows_the_server(target: dict[str, Any], status: str, expected: dict[str, Any]) -> None:
    """A target is as well as its server, on every port."""
    assert health(api_with(target, status=status)) == {80: expected, 443: expected}


def test_health_follows_changes() -> None:
    """A server that is stopped turns unhealthy, services that come and go change the list."""
    api = api_with(BY_ID)
    api.done("POST", "/servers/1/actions/poweroff")
    assert health(api) == {80: TIMEOUT, 443: TIMEOUT}

    api.done("POST", "/servers/1/actions/poweron")
    api.done("POST", "/load_balancers/3/actions/delete_service", {"listen_port": 80})
    service = {"protocol": "tcp", "listen_port": 22, "destination_port": 22}
    api.done("POST", "/load_balancers/3/actions/add_service", service)
    assert health(api) == {443: {"status": "healthy"}, 22: {"status": "healthy"}}


def test_private_target_needs_the_servers_address() -> None:
    """A server that left the network is not reached by its private address any more."""
    api = api_with(BY_ID | {"use_private_ip": True})
    api.done("POST", "/servers/1/actions/detach_from_network", {"network": 5})

    assert health(api) == {80: TIMEOUT, 443: TIMEOUT}


def test_public_target_needs_the_servers_address() -> None:
    """A server that does not have the address of the target is not reached."""
    target = {"type": "server", "server": {"id": 1, "ip": "203.0.113.9"}}
    api = api_with(target, public_net={"ipv4": {"ip": "203.0.113.1"}})

    assert health(api) == {80: TIMEOUT, 443: TIMEOUT}


def test_addresses_are_healthy() -> None:
    """Nothing is known of dedicated servers, so they are well."""
    assert health(api_with(BY_IP)) == {80: {"status": "healthy"}, 443: {"status": "healthy"}}


@pytest.mark.parametrize(
    "target",
    [
        pytest.param({**BY_ID, "health_status": [SICK]}, id="server"),
        pytest.param({**BY_LABEL, "targets": [{**BY_ID, "health_status": [SICK]}]}, id="selector"),
        pytest.param({**BY_IP, "health_status": [SICK]}, id="ip"),
    ],
)
def test_world_says_otherwise(target: dict[str, Any]) -> None:
    """What a world says of a port stays, whatever the server does; other ports follow the server."""
    api = api_with(target)
    said = {name: value for name, value in SICK.items() if name != "listen_port"}
    assert health(api) == {80: said, 443: {"status": "healthy"}}
    if target["type"] != "ip":
        api.done("POST", "/servers/1/actions/poweroff")
        assert health(api) == {80: said, 443: TIMEOUT}

    again = HetznerApi(json.loads(json.dumps(api.simulator.world())))

    assert health(again) == health(api)
    assert again.simulator.world() == api.simulator.world()


def test_world_that_says_what_follows_anyway() -> None:
    """A health that a world only repeats goes on following the server, as in a captured world."""
    first = api_with(BY_ID, BY_LABEL)
    second = HetznerApi(json.loads(json.dumps(first.simulator.world())))
    second.done("POST", "/servers/1/actions/poweroff")

    assert health(second) == {80: TIMEOUT, 443: TIMEOUT}
    assert second.get("/load_balancers/3")["load_balancer"]["targets"][1]["targets"][0]["health_status"][0] == {
        "listen_port": 80,
        **TIMEOUT,
    }


def test_public_target_of_a_world_needs_an_address() -> None:
    """A server without public IPv4 is no public target; what a selector finds may lack one."""
    with pytest.raises(ValueError, match="no public IPv4; give it one"):
        api_with(BY_ID, public_net={})

    api = api_with({**BY_LABEL, "targets": [BY_ID]}, public_net={})

    assert api.get("/load_balancers/3")["load_balancer"]["targets"][0]["targets"] == []


@pytest.mark.parametrize(
    ("target", "words"),
    [
        pytest.param({**BY_ID, "health_status": [{"listen_port": 80, "status": "fine"}]}, ("'fine'",), id="status"),
        pytest.param({**BY_ID, "health_status": [{"status": "healthy"}]}, ("listen_port",), id="no-port"),
        pytest.param({**BY_ID, "health_status": [{**SICK, "detail": "flu"}]}, ("'flu'",), id="detail"),
        pytest.param({**BY_ID, "health_status": [{**SICK, "colour": "red"}]}, ("'colour'",), id="unknown-key"),
        pytest.param({**BY_LABEL, "targets": [BY_IP]}, ("finds servers only",), id="address-in-a-selector"),
        pytest.param({**BY_ID, "server": {"id": 1, "ip": "web"}}, ("'web'",), id="no-address"),
        pytest.param({"type": "dog"}, ("'dog'", "label_selector"), id="unknown-type"),
    ],
)
def test_refused_worlds(target: dict[str, Any], words: tuple[str, ...]) -> None:
    """What is wrong with a target is said with the load balancer and the remedy."""
    with pytest.raises(ValueError, match="load balancer 3") as refused:
        api_with(target)

    assert [word for word in words if word not in str(refused.value)] == []


@pytest.mark.parametrize(
    ("status", "expected"), [(None, TIMEOUT), ("unhealthy", TIMEOUT), ("unknown", {"status": "unknown"})]
)
def test_where_nothing_answers(status: str | None, expected: dict[str, Any]) -> None:
    """A firewall that drops what comes by private address: public ones answer, and a world file knows of no fault."""
    private, public = api_with(BY_ID | {"use_private_ip": True}), api_with(BY_ID)
    for api in (private, public):
        fault = {"kind": "no_answer", "ranges": ["10.0.0.0/8"], **({"status": status} if status else {})}
        api.simulator.set_faults([fault])
    assert health(private) == health(private) == {80: expected, 443: expected}
    assert health(public)[80] == {"status": "healthy"}
    world = private.simulator.world()["hetzner"]["load_balancers"][0]["targets"][0]
    assert {one["status"] for one in world["health_status"]} == {"healthy"}
    private.simulator.clear_faults()
    assert health(private)[80] == {"status": "healthy"}


def test_where_nothing_answers_at_a_port() -> None:
    """A program that does not run: the other port answers."""
    api = api_with(BY_ID)
    api.simulator.set_faults([{"kind": "no_answer", "ranges": ["0.0.0.0/0"], "ports": [443]}])
    assert health(api) == {80: {"status": "healthy"}, 443: TIMEOUT}
