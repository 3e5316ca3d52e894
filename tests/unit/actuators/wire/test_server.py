"""What Hetzner says, decoded: servers as they really come, with gaps, with nonsense, and one bad among many."""

import json
from dataclasses import replace
from ipaddress import IPv4Address, IPv6Network
from typing import Any

import pytest

from actuators.http.errors import ApiError, Broken, NotFound
from actuators.wire.server import SERVERS, selector_text
from desired.model.snapshot import Server, ServerStatus
from desired.syntax.selector import parse_selector
from tests.support.objects import server
from tests.support.payloads import GONE, every_path, replaced
from tests.support.rows import rows
from tests.support.simulators import Simulate, Simulation

REAL: dict[str, Any] = {
    "id": 42,
    "name": "web-1",
    "status": "running",
    "created": "2026-01-01T00:00:00Z",
    "public_net": {
        "ipv4": {"id": 1, "ip": "203.0.113.42", "blocked": False, "dns_ptr": "static.42.example.com"},
        "ipv6": {"id": 2, "ip": "2001:db8:1::/64", "blocked": False, "dns_ptr": []},
        "floating_ips": [],
        "firewalls": [{"id": 3, "status": "applied"}],
    },
    "private_net": [
        {
            "network": 7,
            "ip": "10.0.0.2",
            "alias_ips": ["10.0.0.9"],
            "mac_address": "86:00:ff:2a:7d:e1",
            "ip_range": "10.0.0.0/24",
        }
    ],
    "server_type": {"id": 22, "name": "cpx32", "cores": 4, "memory": 8.0, "architecture": "x86"},
    "location": {"id": 1, "name": "fsn1", "network_zone": "eu-central"},
    "datacenter": {"id": 4, "name": "fsn1-dc14", "location": {"id": 1, "name": "fsn1"}},
    "image": None,
    "iso": None,
    "rescue_enabled": False,
    "locked": False,
    "protection": {"delete": False, "rebuild": False},
    "labels": {"role": "worker"},
    "volumes": [],
    "load_balancers": [],
    "primary_disk_size": 160,
    "placement_group": None,
}
NEEDED: set[tuple[str | int, ...]] = {("id",), ("name",), ("status",), ("server_type",), ("server_type", "name")}
NEEDED |= {("location", "name"), ("private_net", 0, "network"), ("private_net", 0, "ip")}


def page(*servers: Any) -> bytes:
    return json.dumps({"servers": list(servers), "meta": {}}).encode()


def changed(path: tuple[Any, ...], value: Any = GONE, server_id: int = 42) -> dict[str, Any]:
    """The real server with one field dropped, or replaced."""
    return replaced(REAL | {"id": server_id}, path, value)


def test_a_real_server() -> None:
    decoded = SERVERS.decode(page(REAL))

    assert decoded.items == {
        42: Server(
            id=42,
            name="web-1",
            status=ServerStatus.RUNNING,
            type="cpx32",
            location="fsn1",
            ipv4=IPv4Address("203.0.113.42"),
            ipv6=IPv6Network("2001:db8:1::/64"),
            private_ips=((7, IPv4Address("10.0.0.2")),),
            alias_ips=((7, IPv4Address("10.0.0.9")),),
            labels={"role": "worker"},
            network_zone="eu-central",
        )
    }
    assert (decoded.unreadable, decoded.nameless) == ({}, 0)


@pytest.mark.parametrize("path", [path for path in every_path(REAL) if path not in NEEDED], ids=str)
def test_any_other_field_may_be_dropped(path: tuple[Any, ...]) -> None:
    decoded = SERVERS.decode(page(changed(path)))
    assert list(decoded.items) == [42]


@rows(
    "path missing",
    {
        "public_net": (("public_net",), {"public_net.ipv4", "public_net.ipv6"}),
        "ipv4": (("public_net", "ipv4"), {"public_net.ipv4"}),
        "ipv6": (("public_net", "ipv6"), {"public_net.ipv6"}),
        "ip of ipv4": (("public_net", "ipv4", "ip"), {"public_net.ipv4"}),
        "ip of ipv6": (("public_net", "ipv6", "ip"), {"public_net.ipv6"}),
        "private_net": (("private_net",), {"private_net"}),
        "labels": (("labels",), {"labels"}),
        "datacenter": (("datacenter",), set()),
        "location": (("location",), set()),
    },
)
def test_fields_that_did_not_arrive(path: tuple[Any, ...], missing: set[str]) -> None:
    """A field of which a loss could follow is noted when it is not there: nobody has said that there is none."""
    assert SERVERS.decode(page(changed(path))).items[42].missing == missing


@rows(
    "path none",
    {
        "ipv4": (("public_net", "ipv4"), {"ipv4": None}),
        "ipv6": (("public_net", "ipv6"), {"ipv6": None}),
        "labels": (("labels",), {"labels": {}}),
        "location": (("location",), {"location": "", "network_zone": ""}),
        "network zone": (("location", "network_zone"), {"network_zone": ""}),
        "datacenter": (("datacenter",), {}),
    },
)
def test_null_is_an_answer(path: tuple[Any, ...], none: dict[str, Any]) -> None:
    """Hetzner writes null for what a server does not have."""
    whole = SERVERS.decode(page(REAL)).items[42]
    assert SERVERS.decode(page(changed(path, None))).items == {42: replace(whole, **none)}


@rows(
    "aliases found",
    {
        "two": (["10.0.0.9", "10.0.0.8"], ("10.0.0.9", "10.0.0.8")),
        "none": ([], ()),
        "null": (None, ()),
        "not told": (GONE, ()),
    },
)
def test_alias_addresses(aliases: Any, found: tuple[str, ...]) -> None:
    server_found = SERVERS.decode(page(changed(("private_net", 0, "alias_ips"), aliases))).items[42]
    assert server_found.alias_ips == tuple((7, IPv4Address(ip)) for ip in found)
    assert server_found.private_ips == ((7, IPv4Address("10.0.0.2")),)


@pytest.mark.parametrize("path", sorted(NEEDED - {("id",)}, key=str), ids=str)
def test_needed_fields(path: tuple[Any, ...]) -> None:
    decoded = SERVERS.decode(page(changed(path), changed(("labels",), server_id=43)))
    assert list(decoded.items) == [43]
    assert list(decoded.unreadable) == [42]
    assert decoded.unreadable[42].startswith("server 42 could not be read: ")


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("public_net", "ipv4", "ip"), "not an address"),
        (("public_net", "ipv6", "ip"), "2001:db8::/200"),
        (("private_net", 0, "ip"), "10.0.0.256"),
        (("private_net", 0, "alias_ips", 0), "fd00::9"),
    ],
    ids=str,
)
def test_addresses_that_are_none(path: tuple[Any, ...], value: str) -> None:
    assert list(SERVERS.decode(page(changed(path, value))).unreadable) == [42]


@rows(
    "change names",
    {
        "readable": ({"server_type": 5}, {42: "web-1"}),
        "not text": ({"name": 5}, {}),
        "null": ({"name": None}, {}),
        "empty": ({"name": "", "server_type": 5}, {}),
    },
)
def test_names_of_unreadable_servers(change: dict[str, Any], names: dict[int, str]) -> None:
    """The name of an unreadable server is kept where it can be read: only what looks for that name is in doubt."""
    decoded = SERVERS.decode(page({**REAL, "name": "web-1", **change}))
    assert (list(decoded.unreadable), decoded.names, decoded.nameless) == ([42], names, 0)


@pytest.mark.parametrize("status", [*ServerStatus, "shelved"])
def test_statuses(status: str) -> None:
    found = SERVERS.decode(page(changed(("status",), str(status)))).items[42].status
    assert found is (ServerStatus.OTHER if status == "shelved" else status)


@pytest.mark.parametrize(
    ("ipv4", "address"),
    [({"ip": "203.0.113.1"}, IPv4Address("203.0.113.1")), ({"ip": "0.0.0.0"}, None), ({"ip": ""}, None), (None, None)],
)
def test_public_ipv4(ipv4: Any, address: IPv4Address | None) -> None:
    assert SERVERS.decode(page(changed(("public_net", "ipv4"), ipv4))).items[42].ipv4 == address


@pytest.mark.parametrize(
    ("text", "network"), [("2001:db8:1::/64", "2001:db8:1::/64"), ("2001:db8:1::1/64", "2001:db8:1::/64"), (None, None)]
)
def test_public_ipv6(text: str | None, network: str | None) -> None:
    found = SERVERS.decode(page(changed(("public_net", "ipv6", "ip"), text))).items[42].ipv6
    assert found == (IPv6Network(network) if network else None)


@pytest.fixture
def sim(simulate: Simulate) -> Simulation:
    return simulate(project={"servers": [server(1, "web-1")]})


@pytest.mark.parametrize(
    ("fault", "expected"),
    [
        ({"code": 404, "body": {"error": {"code": "not_found", "message": "server not found"}}}, NotFound),
        ({"code": 200, "body": {"server": None}}, Broken),
        ({"code": 200, "body": {"server": {"id": 1, "name": "web-1"}}}, Broken),
        ({"code": 200, "body": {}}, Broken),
    ],
)
def test_a_server_that_cannot_be_read(sim: Simulation, fault: dict[str, Any], expected: type[ApiError]) -> None:
    sim.spoil_hetzner("status", **fault, count=None)
    with pytest.raises(ApiError) as raised:
        SERVERS.one(sim.hetzner_reader(), 1)
    assert type(raised.value) is expected


@pytest.mark.parametrize(
    ("text", "sent"),
    [
        ("cluster=prod", "cluster=prod"),
        ("cluster == prod , role", "cluster=prod,role"),
        ("!spare,cluster != x", "!spare,cluster!=x"),
        ("role in (worker, gpu)", "role in (gpu,worker)"),
        ("role notin (a,b)", "role notin (a,b)"),
        ("example.com/role in (a)", "example.com/role=a"),
        ("empty=", "empty="),
    ],
)
def test_selectors_are_sent_as_hetzner_reads_them(text: str, sent: str) -> None:
    """Without the spaces that Kubernetes allows around signs."""
    selector = parse_selector(text)

    assert selector_text(selector) == sent
    assert parse_selector(sent).requirements == selector.requirements
