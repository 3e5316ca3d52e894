"""Load balancers of the Hetzner simulator: renaming, changing and deleting them."""

from typing import Any

import pytest

from sandbox_support.hetzner_spec import HetznerApi

NEW = {"name": "new", "load_balancer_type": "lb11", "location": "fsn1"}
WORLD: dict[str, Any] = {
    "networks": [{"id": 5, "name": "net"}],
    "load_balancers": [{"id": 3, "name": "lb", "labels": {"a": "b"}}],
}
IPV4, IPV6 = "198.18.0.3", "2001:db8:0:2::1"


def test_update() -> None:
    """Name and labels change at once; what is left out stays, labels are replaced whole."""
    api = HetznerApi(WORLD)
    renamed = api.accepted("PUT", "/load_balancers/3", {"name": "renamed"})["load_balancer"]
    labelled = api.accepted("PUT", "/load_balancers/3", {"labels": {"c": "d"}})["load_balancer"]

    assert (renamed["name"], renamed["labels"]) == ("renamed", {"a": "b"})
    assert (labelled["name"], labelled["labels"]) == ("renamed", {"c": "d"})
    assert api.accepted("PUT", "/load_balancers/3", {"name": "renamed"})["load_balancer"] == labelled
    assert api.get("/load_balancers?label_selector=c%3Dd")["load_balancers"] == [labelled]


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        pytest.param({"name": "other"}, (409, "uniqueness_error"), id="name-taken"),
        pytest.param({"name": ""}, (422, "invalid_input"), id="empty-name"),
        pytest.param({"labels": {"a b": ""}}, (422, "invalid_input"), id="bad-label"),
    ],
)
def test_refused_updates(body: dict[str, Any], expected: tuple[int, str]) -> None:
    """Names stay unique and valid, labels within their grammar."""
    api = HetznerApi({"load_balancers": [{"id": 3, "name": "lb"}, {"id": 4, "name": "other"}]})

    assert api.refused("PUT", "/load_balancers/3", body) == expected


def test_deleted_load_balancer_is_gone_when_its_action_ends() -> None:
    """Deleting answers 201 with an action; until it ends the load balancer is there; its id stays used."""
    api = HetznerApi({**WORLD, "load_balancers": [{"id": 3, "private_net": [{"network": 5}]}]})
    response = api.send("DELETE", "/load_balancers/3")
    assert (response.status, response.body["action"]["command"]) == (201, "delete_load_balancer")
    assert api.get("/load_balancers/3")

    api.clock.advance(1)

    assert api.refused("GET", "/load_balancers/3") == (404, "not_found")
    assert api.get("/networks/5")["network"]["load_balancers"] == []
    assert api.get(f"/actions/{response.body['action']['id']}")["action"]["status"] == "success"
    assert api.accepted("POST", "/load_balancers", NEW)["load_balancer"]["id"] == 4


def test_protection() -> None:
    """A protected load balancer is not deleted, and can be changed."""
    api = HetznerApi(WORLD)
    api.done("POST", "/load_balancers/3/actions/change_protection", {"delete": True})
    refused = api.send("DELETE", "/load_balancers/3")

    assert (refused.status, refused.body["error"]["code"]) == (423, "protected")
    assert refused.body["error"]["message"] == "load balancer is delete protected"
    api.accepted("PUT", "/load_balancers/3", {"name": "renamed"})
    api.done("POST", "/load_balancers/3/actions/change_protection", {})
    assert api.get("/load_balancers/3")["load_balancer"]["protection"] == {"delete": True}
    api.done("POST", "/load_balancers/3/actions/change_protection", {"delete": False})
    api.done("DELETE", "/load_balancers/3")


@pytest.mark.parametrize("wanted", ["lb31", "3", "lb11"])
def test_changed_type(wanted: str) -> None:
    """The type changes up or down, by name or id, or stays what it is."""
    api = HetznerApi(WORLD)
    action = api.done("POST", "/load_balancers/3/actions/change_type", {"load_balancer_type": wanted})
    name = api.get("/load_balancers/3")["load_balancer"]["load_balancer_type"]["name"]

    assert (action["command"], action["status"]) == ("change_load_balancer_type", "success")
    assert name == {"3": "lb31"}.get(wanted, wanted)


@pytest.mark.parametrize(
    "balancer",
    [
        pytest.param({"services": [{"listen_port": port} for port in range(1, 7)]}, id="services"),
        pytest.param({"targets": [{"type": "ip", "ip": {"ip": f"203.0.113.{n}"}} for n in range(26)]}, id="targets"),
        pytest.param(
            {
                "services": [
                    {"protocol": "https", "listen_port": port, "http": {"certificates": [*range(port, port + 6)]}}
                    for port in (10, 20)
                ]
            },
            id="certificates",
        ),
    ],
)
def test_type_that_is_too_small(balancer: dict[str, Any]) -> None:
    """A type that does not hold the present services, targets and certificates is refused; a larger one is not."""
    api = HetznerApi({"load_balancers": [{"id": 3, "load_balancer_type": "lb31", **balancer}]})
    change = "/load_balancers/3/actions/change_type"

    assert api.refused("POST", change, {"load_balancer_type": "lb11"}) == (422, "invalid_load_balancer_type")
    api.done("POST", change, {"load_balancer_type": "lb21"})


def test_deprecated_types() -> None:
    """A deprecated type can be ordered until its end, and kept for ever."""
    ends = {"lb11": "2023-01-01T00:00:00Z", "lb21": "2024-01-01T00:00:00Z"}
    api = HetznerApi(WORLD, load_balancer_types_end=ends)
    listed = api.get("/load_balancer_types")["load_balancer_types"]
    change = "/load_balancers/3/actions/change_type"

    assert [kind["deprecation"] and kind["deprecation"]["unavailable_after"] for kind in listed] == [
        *ends.values(),
        None,
    ]
    assert api.get("/load_balancer_types/1")["load_balancer_type"] == listed[0]
    assert api.refused("POST", "/load_balancers", NEW) == (412, "resource_unavailable")
    api.done("POST", change, {"load_balancer_type": "lb11"})
    api.done("POST", change, {"load_balancer_type": "lb21"})
    assert api.refused("POST", change, {"load_balancer_type": "lb11"}) == (422, "invalid_load_balancer_type")
    api.accepted("POST", "/load_balancers", {**NEW, "load_balancer_type": "lb21"})


@pytest.mark.parametrize("algorithm", ["least_connections", "round_robin"])
def test_changed_algorithm(algorithm: str) -> None:
    """The algorithm changes, or stays what it is."""
    api = HetznerApi(WORLD)
    api.done("POST", "/load_balancers/3/actions/change_algorithm", {"type": algorithm})

    assert api.get("/load_balancers/3")["load_balancer"]["algorithm"] == {"type": algorithm}


def test_unknown_algorithm_message() -> None:
    """The message names the field."""
    refused = HetznerApi(WORLD).send("POST", "/load_balancers/3/actions/change_algorithm", {"type": "random"})

    assert refused.body["error"]["message"].startswith("invalid input in field 'type'")
    assert refused.body["error"]["details"]["fields"][0]["name"] == "type"


@pytest.mark.parametrize(
    ("ip", "name", "names"),
    [
        pytest.param(IPV4, "a.example.com", ("a.example.com", None), id="ipv4"),
        pytest.param(IPV6, "a.example.com", (None, "a.example.com"), id="ipv6"),
        pytest.param("2001:0db8::2:0:0:0:1", "a.example.com", (None, "a.example.com"), id="ipv6-spelled-out"),
        pytest.param(IPV4, None, ("static.3.0.18.198.clients.your-server.de", None), id="ipv4-reset"),
        pytest.param(IPV6, None, (None, None), id="ipv6-reset"),
    ],
)
def test_reverse_dns(ip: str, name: str | None, names: tuple[str | None, str | None]) -> None:
    """The name of one address changes; null resets it."""
    world = {**WORLD, "load_balancers": [{"id": 3, "public_net": {"ipv4": {"ip": IPV4}, "ipv6": {"ip": IPV6}}}]}
    api = HetznerApi(world)
    api.done("POST", "/load_balancers/3/actions/change_dns_ptr", {"ip": ip, "dns_ptr": name})
    public_net = api.get("/load_balancers/3")["load_balancer"]["public_net"]

    assert (public_net["ipv4"]["dns_ptr"], public_net["ipv6"]["dns_ptr"]) == names


@pytest.mark.parametrize(
    ("action", "body", "expected"),
    [
        ("change_dns_ptr", {"ip": IPV4}, (422, "invalid_input")),
        ("change_dns_ptr", {"dns_ptr": "a.example.com"}, (422, "invalid_input")),
        ("change_dns_ptr", {"ip": "lb", "dns_ptr": None}, (422, "invalid_input")),
        ("change_dns_ptr", {"ip": "203.0.113.1", "dns_ptr": None}, (404, "not_found")),
        ("change_algorithm", {}, (422, "invalid_input")),
        ("change_type", {}, (422, "invalid_input")),
        ("change_type", {"load_balancer_type": "lb99"}, (404, "not_found")),
        ("change_protection", {"delete": "yes"}, (422, "invalid_input")),
    ],
)
def test_refused_changes(action: str, body: dict[str, Any], expected: tuple[int, str]) -> None:
    """A refused change starts no action."""
    api = HetznerApi(WORLD)

    assert api.refused("POST", f"/load_balancers/3/actions/{action}", body) == expected
    assert api.get("/load_balancers/3/actions")["actions"] == []
