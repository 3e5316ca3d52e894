"""World files of the Hetzner simulator: partial objects, round trips, and what is refused with which words."""

import json
import re
from typing import Any

import pytest

from hcloud_sandbox.hetzner.store import KINDS
from sandbox_support.hetzner_spec import HetznerApi

PARTIAL = {
    "servers": [
        {
            "id": 1,
            "name": "web-1",
            "server_type": "cpx32",
            "location": "fsn1",
            "public_net": {"ipv4": {"ip": "203.0.113.1"}, "ipv6": {"ip": "2001:db8:1::/64"}},
            "private_net": [{"network": 5, "ip": "10.0.0.2"}],
        },
        {"id": 7, "public_net": {"ipv4": None, "ipv6": None}, "status": "off", "labels": {"a": "b"}},
        {},
    ],
    "networks": [{"id": 5, "routes": [{"destination": "10.244.0.0/24", "gateway": "10.0.0.2"}]}],
    "load_balancers": [
        {
            "id": 3,
            "name": "lb",
            "private_net": [{"network": 5}],
            "services": [
                {"listen_port": 80, "destination_port": 30080},
                {"protocol": "http", "listen_port": 81, "health_check": {"protocol": "http"}},
                {"protocol": "https", "listen_port": 443, "destination_port": 30443, "http": {"certificates": [4]}},
            ],
            "targets": [
                {"type": "server", "server": {"id": 1}, "use_private_ip": True},
                {"type": "ip", "ip": {"ip": "203.0.113.99"}},
            ],
        }
    ],
    "certificates": [{"id": 4}, {"type": "managed", "domain_names": ["a.example.com"]}],
}
READS = ("/servers", "/networks", "/load_balancers", "/certificates", "/networks/5/members")


def test_partial_server_gets_valid_defaults() -> None:
    """Whatever a server leaves out is filled in; what it says stays."""
    server = HetznerApi(PARTIAL).get("/servers/1")["server"]

    assert server["public_net"]["ipv4"] == {"id": 1, "ip": "203.0.113.1", "blocked": False, "dns_ptr": "web-1"}
    assert server["public_net"]["ipv6"]["ip"] == "2001:db8:1::/64"
    assert server["private_net"][0] | {"mac_address": ""} == {
        "network": 5,
        "ip": "10.0.0.2",
        "alias_ips": [],
        "mac_address": "",
    }
    assert (server["server_type"]["name"], server["primary_disk_size"]) == ("cpx32", 160)
    assert (server["location"]["name"], server["status"], server["created"]) == (
        "fsn1",
        "running",
        "2026-01-01T00:00:00Z",
    )
    assert server["load_balancers"] == [3]


def test_public_addresses_are_null_only_when_said() -> None:
    """Explicit nulls stay; no public_net at all means both families."""
    api = HetznerApi(PARTIAL)
    nets = {server["id"]: server["public_net"] for server in api.get("/servers")["servers"]}

    assert (nets[7]["ipv4"], nets[7]["ipv6"]) == (None, None)
    assert nets[8]["ipv4"]["ip"].startswith("198.18.")
    assert nets[8]["ipv6"]["ip"].endswith("/64")


def test_everything_partial_is_answered_whole() -> None:
    """All lists and objects of a partial world are valid answers, services and targets included."""
    api = HetznerApi(PARTIAL)
    for path in READS:
        for found in api.get(path)[path.rpartition("/")[2]]:
            if "members" not in path:
                api.get(f"{path}/{found['id']}")
    balancer = api.get("/load_balancers/3")["load_balancer"]

    assert [target.get("server") for target in balancer["targets"]] == [{"id": 1, "ip": "10.0.0.2"}, None]
    assert [health["listen_port"] for health in balancer["targets"][0]["health_status"]] == [80, 81, 443]
    assert balancer["services"][1]["destination_port"] == 81
    assert balancer["services"][2]["http"]["certificates"] == [4]
    assert balancer["private_net"] == [{"network": 5, "ip": "10.0.0.3"}]
    assert api.get("/certificates?type=managed")["certificates"][0]["status"]["issuance"] == "completed"


def test_round_trip() -> None:
    """A world that was read can be put back, and reads the same."""
    first = HetznerApi(PARTIAL)
    world = first.simulator.world()
    second = HetznerApi(json.loads(json.dumps(world)))

    assert second.simulator.world() == world
    assert [second.get(path) for path in READS] == [first.get(path) for path in READS]
    assert world["format_version"] == "1.0"
    assert list(world["hetzner"]) == list(KINDS)


def test_a_primary_ip_of_a_world_is_free_once_its_load_balancer_is_gone() -> None:
    """The load balancer says what it has, and the Primary IP says it after it, in a world as in an answer."""
    given = {"primary_ips": [{"id": 7, "name": "four"}]}
    balancers = [{"id": 3, "name": "lb", "public_net": {"ipv4": {"id": 7}}}]
    world = HetznerApi({**given, "load_balancers": balancers}).simulator.world()
    assert world["hetzner"]["primary_ips"][0]["assignee_id"] == 3
    api = HetznerApi(world)

    api.done("DELETE", "/load_balancers/3")

    assert api.get("/primary_ips/7")["primary_ip"]["assignee_id"] is None


def test_what_comes_into_a_world_gets_addresses_that_nobody_has() -> None:
    """A load balancer has one address of a /64, which is taken by that."""
    api = HetznerApi(HetznerApi({"load_balancers": [{"id": 3, "name": "lb"}]}).simulator.world())
    api.done("POST", "/load_balancers", {"name": "new", "load_balancer_type": "lb11", "location": "fsn1"})

    nets = [each["public_net"] for each in api.get("/load_balancers")["load_balancers"]]
    assert len({net[family]["ip"] for net in nets for family in ("ipv4", "ipv6")}) == 4


def test_world_shows_what_became_due() -> None:
    """The world is the true state: finished actions are in it, even those that readers see late."""
    api = HetznerApi(PARTIAL, visible_late_s=100.0)
    api.accepted("POST", "/servers/1/actions/poweroff")
    assert api.simulator.world()["hetzner"]["servers"][0]["status"] == "running"

    api.clock.advance(1)

    assert api.simulator.world()["hetzner"]["servers"][0]["status"] == "off"
    assert not api.simulator.world()["hetzner"]["servers"][0]["locked"]


@pytest.mark.parametrize(
    "world",
    [
        {"servers": [{"id": 1}]},
        {"hetzner": {"servers": [{"id": 1}]}},
        {"format_version": "1.0", "hetzner": {"servers": [{"id": 1}]}, "kubernetes": {"nodes": [{}]}, "robot": {}},
    ],
)
def test_forms_of_a_world(world: dict[str, Any]) -> None:
    """A world is the Hetzner part, or a file that has it; the other parts are nobody's business here."""
    assert [server["id"] for server in HetznerApi(world).get("/servers")["servers"]] == [1]


def test_file_without_hetzner_part_is_an_empty_world() -> None:
    """A file about Kubernetes only has no servers."""
    assert HetznerApi({"kubernetes": {"nodes": []}}).get("/servers")["servers"] == []


def test_replaced_world_forgets_everything_else() -> None:
    """A new world has no actions, locks and objects of the old one; a refused one changes nothing."""
    api = HetznerApi(PARTIAL)
    api.accepted("POST", "/servers/1/actions/reboot")
    with pytest.raises(ValueError, match="not known"):
        api.judged.replace_world({"servers": [{"colour": "red"}]})
    assert api.get("/servers/1")["server"]["locked"]

    api.judged.replace_world({"servers": [{"id": 1}]})

    assert not api.get("/servers/1")["server"]["locked"]
    assert api.get("/networks")["networks"] == []
    assert api.refused("GET", "/actions/1") == (404, "not_found")


def test_replaced_world_is_not_emptied_by_mistake() -> None:
    """An object with nothing in it says neither what to replace nor by what; an empty section or part does."""
    api = HetznerApi({"servers": [{"id": 1}]})
    with pytest.raises(ValueError, match=r'the world has no key: use {"hetzner": {}} for an empty one'):
        api.judged.replace_world({})
    assert api.get("/servers/1")

    empty: Any
    for empty in ({"hetzner": {}}, {"servers": []}):
        api.judged.replace_world(empty)
        assert api.get("/servers")["servers"] == []


def test_servers_of_a_world_may_share_a_name() -> None:
    """The real API never lets it happen; what looks servers up by name has to cope with it all the same."""
    api = HetznerApi({"servers": [{"id": 1, "name": "web"}, {"id": 2, "name": "web"}, {"id": 3, "name": "db"}]})

    assert [server["id"] for server in api.get("/servers?name=web")["servers"]] == [1, 2]
    assert api.refused("POST", "/servers", {"name": "web", "server_type": "cpx32", "image": "debian-12"}) == (
        409,
        "uniqueness_error",
    )


def test_later_changes_of_the_caller_stay_outside() -> None:
    """The simulator does not share objects with the caller."""
    world = {"servers": [{"id": 1, "labels": {"a": "b"}}]}
    api = HetznerApi(world)
    world["servers"][0]["labels"] = {}
    api.simulator.world()["hetzner"]["servers"][0]["labels"].clear()

    assert api.get("/servers/1")["server"]["labels"] == {"a": "b"}


def test_types_and_places_can_be_objects() -> None:
    """A type or location may be an object, partial when its name is known, and new when it is not."""
    world = {
        "servers": [
            {"server_type": {"name": "cpx32", "memory": 9}, "location": {"name": "hel1"}, "image": None},
            {"server_type": {"id": 900, "name": "cxx9", "cores": 99}, "image": "debian-12"},
        ]
    }
    first, second = HetznerApi(world).get("/servers")["servers"]

    assert (first["server_type"]["memory"], first["server_type"]["cores"]) == (9, 4)
    assert (first["location"]["network_zone"], first["image"]) == ("eu-central", None)
    assert (second["server_type"]["id"], second["server_type"]["cores"]) == (900, 99)


def test_network_without_subnets_gets_those_it_needs() -> None:
    """Left-out subnets follow from the attached addresses; a network with nobody in it gets its first /24."""
    world = {
        "servers": [{"id": 1, "location": "ash", "private_net": [{"network": 5, "ip": "10.0.3.9"}, {"network": 6}]}],
        "networks": [{"id": 5}, {"id": 6, "ip_range": "10.6.0.0/16"}, {"id": 7, "subnets": []}],
    }
    networks = HetznerApi(world).get("/networks")["networks"]

    assert [[s["ip_range"] for s in network["subnets"]] for network in networks] == [
        ["10.0.3.0/24"],
        ["10.6.0.0/24"],
        [],
    ]
    assert networks[0]["subnets"][0]["network_zone"] == "us-east"


def test_members_may_be_named_by_the_network() -> None:
    """A server that only the network lists is attached."""
    world = {"servers": [{"id": 1}], "networks": [{"id": 5, "servers": [1]}]}

    assert HetznerApi(world).get("/servers/1")["server"]["private_net"][0]["ip"] == "10.0.0.2"


def test_world_may_exceed_the_limits_for_requests() -> None:
    """A captured or large world is taken as it is."""
    servers = [{"id": n, "private_net": [{"network": 5}]} for n in range(1, 301)]
    world = {"servers": servers, "networks": [{"id": 5, "subnets": [{"ip_range": "10.0.0.0/20"}]}]}

    assert len(HetznerApi(world).get("/networks/5")["network"]["servers"]) == 300


@pytest.mark.parametrize(
    ("world", "words"),
    [
        pytest.param(
            {"servers": [{"id": 1, "colour": "red"}]}, ("server 1", "'colour'", "remove it"), id="unknown-key"
        ),
        pytest.param(
            {"servers": [{"id": 1, "public_net": {"ipv4": {"address": "203.0.113.1"}}}]},
            ("server 1 public_net ipv4", "'address'"),
            id="unknown-nested-key",
        ),
        pytest.param({"servers": [{"id": 1}, {"id": 1}]}, ("server 1", "same id", "change"), id="same-id"),
        pytest.param(
            {"networks": [{"id": 1, "name": "net"}, {"id": 2, "name": "net"}]},
            ("network 2 (net) and 1", "same name", "rename"),
            id="same-name",
        ),
        pytest.param(
            {"servers": [{"id": 1, "name": "web", "private_net": [{"network": 5}]}]},
            ("server 1 (web)", "network 5", "add the network"),
            id="no-such-network",
        ),
        pytest.param(
            {"load_balancers": [{"id": 1, "name": "lb", "private_net": [{"network": 5}]}]},
            ("load balancer 1 (lb)", "network 5", "add the network"),
            id="no-such-network-of-a-load-balancer",
        ),
        pytest.param(
            {"networks": [{"id": 5, "servers": [1]}]}, ("network 5", "server 1", "add the server"), id="no-such-server"
        ),
        pytest.param(
            {"load_balancers": [{"id": 1, "targets": [{"server": {"id": 9}}]}]},
            ("load balancer 1", "server 9", "add the server"),
            id="no-such-target",
        ),
        pytest.param(
            {
                "servers": [{"id": 1}],
                "load_balancers": [{"id": 1, "targets": [{"server": {"id": 1}, "use_private_ip": True}]}],
            },
            ("share no network", "attach both"),
            id="private-target-without-network",
        ),
        pytest.param(
            {
                "servers": [{"id": n, "private_net": [{"network": 5, "ip": "10.0.0.2"}]} for n in (1, 2)],
                "networks": [{"id": 5}],
            },
            ("server 2", "server 1", "10.0.0.2", "change"),
            id="same-address",
        ),
        pytest.param(
            {
                "servers": [{"id": 1, "private_net": [{"network": 5, "ip": "10.0.9.2"}]}],
                "networks": [{"id": 5, "subnets": [{"ip_range": "10.0.0.0/24"}]}],
            },
            ("server 1", "10.0.9.2", "no subnet", "add a subnet"),
            id="address-in-no-subnet",
        ),
        pytest.param(
            {"servers": [{"id": 1, "private_net": [{"network": 5}]}], "networks": [{"id": 5, "subnets": []}]},
            ("server 1", "network 5", "add a subnet"),
            id="no-subnet-for-an-address",
        ),
        pytest.param(
            {"servers": [{"id": 1, "server_type": "cpx99"}]}, ("server 1", "'cpx99'", "cpx22"), id="unknown-type"
        ),
        pytest.param(
            {"servers": [{"id": 1, "location": "moon"}]}, ("server 1", "'moon'", "fsn1"), id="unknown-location"
        ),
        pytest.param(
            {"servers": [{"id": 1, "image": "amiga"}]}, ("server 1", "'amiga'", "debian-12"), id="unknown-image"
        ),
        pytest.param(
            {"servers": [{"id": 1, "status": "tired"}]}, ("server 1", "'tired'", "running"), id="unknown-status"
        ),
        pytest.param({"servers": [{"id": 0}]}, ("servers[0]", "from 1"), id="id-zero"),
        pytest.param({"servers": [{"id": "1"}]}, ("servers[0]", "id"), id="id-as-text"),
        pytest.param({"servers": ["web-1"]}, ("servers[0]", "an object"), id="no-object"),
        pytest.param({"servers": {"1": {}}}, ("servers", "a list"), id="no-list"),
        pytest.param({"servers": [{"id": 1, "labels": {"a": 1}}]}, ("server 1 labels[a]", "a text"), id="label-number"),
        pytest.param(
            {"networks": [{"id": 5, "ip_range": "10.0.0.1/16"}]}, ("network 5", "10.0.0.1/16"), id="host-bits"
        ),
        pytest.param({"server": []}, ("hetzner.server is", "servers"), id="unknown-section"),
        pytest.param({"hetzner": {"server": []}}, ("hetzner.server is", "servers"), id="unknown-section-of-a-file"),
        pytest.param({"hetzner": {}, "cloud": {}}, ("cloud is", "hetzner"), id="unknown-part-of-a-file"),
        pytest.param({"format_version": "2.0", "hetzner": {}}, ("'2.0'", "'1.0'"), id="other-format"),
    ],
)
def test_refused_worlds(world: dict[str, Any], words: tuple[str, ...]) -> None:
    """What is wrong is said with the object's name and the remedy."""
    with pytest.raises(ValueError, match=r".") as refused:
        HetznerApi(world)

    assert [word for word in words if word not in str(refused.value)] == []


def test_what_a_server_has_is_said_by_both() -> None:
    """A world may say it at the server or at what it has, and reads the same afterwards."""
    firewalls = [{"id": 4, "rules": [{"direction": "in", "protocol": "icmp", "source_ips": ["::/0"]}]}]
    parts = {"placement_groups": [{"id": 3}], "firewalls": firewalls, "volumes": [{"id": 5}], "images": [{"id": 6}]}
    has = {"placement_group": 3, "volumes": [5], "public_net": {"ipv4": None, "firewalls": [{"id": 4}]}}
    at_the_server = HetznerApi({"servers": [{"id": 1, **has}], **parts}).simulator.world()
    shown = at_the_server["hetzner"]
    again = HetznerApi(at_the_server).simulator.world()

    assert again == at_the_server
    assert (shown["volumes"][0]["server"], shown["placement_groups"][0]["servers"]) == (1, [1])
    assert shown["firewalls"][0]["applied_to"] == [{"type": "server", "server": {"id": 1}}]
    del shown["servers"][0]["volumes"], shown["servers"][0]["public_net"]["firewalls"]
    assert HetznerApi(at_the_server).simulator.world() == again


@pytest.mark.parametrize(
    ("world", "message"),
    [
        ({"servers": [{"id": 1, "placement_group": 3}]}, "is in placement group 3, which is not there"),
        ({"servers": [{"id": 1, "volumes": [5]}]}, "has volume 5, which is not there"),
        (
            {"servers": [{"id": 1, "public_net": {"firewalls": [{"id": 4}]}}]},
            "is behind firewall 4, which is not there",
        ),
        ({"servers": [{"id": 1, "public_net": {"firewalls": [4]}}]}, "give an object, not 4"),
        ({"volumes": [{"id": 5, "server": 1}]}, "is attached to server 1, which is not there"),
        ({"firewalls": [{"applied_to": [{"type": "server", "server": {"id": 1}}]}]}, "server 1, which is not there"),
        ({"firewalls": [{"rules": [{"direction": "in", "protocol": "tcp"}]}]}, "rules.port'"),
        ({"firewalls": [{"rules": [7]}]}, "give an object, not 7"),
        ({"ssh_keys": [{"public_key": "ssh-rsa AAAA"}]}, "no public key as in"),
        ({"ssh_keys": [{}]}, "public_key: give a text"),
        ({"placement_groups": [{"type": "pack"}]}, "'pack' is not known"),
        ({"images": [{"type": "system"}]}, "'system' is not known"),
        ({"images": [{"id": 161547269}]}, "a system image has this id"),
    ],
)
def test_wrong_parts_of_servers(world: dict[str, Any], message: str) -> None:
    """Each by its place, with the remedy."""
    with pytest.raises(ValueError, match=re.escape(message)):
        HetznerApi(world)


def test_an_address_was_given_an_id_that_a_later_server_names() -> None:
    """Then two addresses were one Primary IP, and the list of them ended with an error."""
    first = {"id": 1, "public_net": {"ipv4": {"ip": "198.18.0.9"}}}
    second = {"id": 2, "public_net": {"ipv6": {"id": 1, "ip": "2001:db8:7::/64"}}}
    listed = HetznerApi({"servers": [first, second]}).get("/primary_ips")["primary_ips"]

    assert [(found["id"], found["assignee_id"]) for found in listed] == [(1, 2), (2, 1)]
