"""Who is in a network, as Hetzner says it: whole, with gaps, and one bad among many."""

import json
from collections.abc import Callable
from ipaddress import IPv4Address
from typing import Any

import pytest

from actuators.http.errors import ApiError, Broken, NotFound
from actuators.wire.network import decode_members
from desired.model.route import Member, MemberKind
from desired.section import Absent, Present, Unknown
from reconciler.observe.networks import observe_members
from tests.support.objects import server
from tests.support.payloads import GONE, every_path, replaced
from tests.support.simulators import Simulation
from tests.support.trouble import HETZNER_TROUBLE

REAL: dict[str, Any] = {
    "type": "server",
    "id": 42,
    "ip": "10.0.1.2",
    "status": "ok",
    "alias_ips": ["10.0.1.20"],
    "subnet": "10.0.1.0/24",
}
OTHER: dict[str, Any] = {**REAL, "type": "load_balancer", "ip": "10.0.1.3", "alias_ips": []}
"""With the same id: those of servers and load balancers have nothing to do with each other."""
NETWORK = {"id": 5, "name": "net", "ip_range": "10.0.0.0/16"}


def number(text: str) -> int:
    """An address as a key."""
    return int(IPv4Address(text))


def page(*members: Any) -> bytes:
    return json.dumps({"members": list(members), "meta": {}}).encode()


def test_real_members() -> None:
    decoded = decode_members(page(REAL, OTHER))

    assert decoded.items == {
        number("10.0.1.2"): Member(MemberKind.SERVER, 42, IPv4Address("10.0.1.2"), (IPv4Address("10.0.1.20"),)),
        number("10.0.1.3"): Member(MemberKind.LOAD_BALANCER, 42, IPv4Address("10.0.1.3")),
    }
    assert (decoded.unreadable, decoded.nameless) == ({}, 0)


@pytest.mark.parametrize(
    ("path", "value", "outcome"),
    [
        pytest.param(("status",), GONE, "read", id="no status"),
        pytest.param(("status",), "detaching", "read", id="on its way out"),
        pytest.param(("subnet",), GONE, "read", id="no subnet"),
        pytest.param(("type",), "router", "unreadable", id="a type of a later version"),
        pytest.param(("type",), GONE, "unreadable", id="no type"),
        pytest.param(("id",), GONE, "unreadable", id="no id"),
        pytest.param(("alias_ips",), GONE, "unreadable", id="no aliases"),
        pytest.param(("alias_ips",), None, "unreadable", id="null for aliases"),
        pytest.param(("alias_ips", 0), "10.0.1.256", "unreadable", id="an alias that is none"),
        pytest.param(("ip",), GONE, "nameless", id="no address"),
        pytest.param(("ip",), None, "nameless", id="null for the address"),
        pytest.param(("ip",), "", "nameless", id="an empty address"),
        pytest.param(("ip",), "fd00::1", "nameless", id="an address of IPv6"),
    ],
)
def test_one_field(path: tuple[Any, ...], value: Any, outcome: str) -> None:
    """What decides who has an address is needed; what cannot be told keeps its address, and hides no other member."""
    decoded = decode_members(page(replaced(REAL, path, value), OTHER))

    assert number("10.0.1.3") in decoded.items
    found = [len(decoded.items) - 1, len(decoded.unreadable), decoded.nameless]
    assert found == [int(outcome == word) for word in ("read", "unreadable", "nameless")]
    if outcome == "unreadable":
        assert decoded.unreadable[number("10.0.1.2")].startswith("member 10.0.1.2 could not be read: ")


@pytest.mark.parametrize("value", [GONE, None, 5, -1, "", [], {}, True, "999.0.0.1"], ids=repr)
def test_any_field_may_be_nonsense(value: Any) -> None:
    """Whatever one field holds, or when it is missing, decoding never raises, and another member is read."""
    for path in every_path(REAL):
        decoded = decode_members(page(replaced(REAL, path, value), OTHER))

        assert number("10.0.1.3") in decoded.items, path
        assert len(decoded.items) + len(decoded.unreadable) + decoded.nameless == 2, path


@pytest.mark.parametrize("body", [b"<html>", b"{}", b'{"members": null}', b'{"networks": []}'])
def test_answers_that_are_no_list(body: bytes) -> None:
    """What is no list of members is Broken: it must never look like an empty network."""
    with pytest.raises(Broken, match="the answer is no list of members"):
        decode_members(body)


@pytest.fixture
def sim(simulate: Callable[..., Simulation]) -> Simulation:
    """A network with 60 servers and a load balancer that has the id of one of them."""
    servers = [server(n, f"web-{n}", private_net=[{"network": 5, "ip": f"10.0.0.{n + 1}"}]) for n in range(1, 61)]
    balancer = {"id": 1, "name": "lb-1", "private_net": [{"network": 5, "ip": "10.0.0.100"}]}
    return simulate(project={"servers": servers, "networks": [NETWORK], "load_balancers": [balancer]})


def test_all_members(sim: Simulation) -> None:
    section, error = observe_members(sim.hetzner_reader(), 5)

    assert (section.complete, error, section.expected, len(section)) == (True, None, 61, 61)
    assert section.find(number("10.0.0.100")) == Present(Member(MemberKind.LOAD_BALANCER, 1, IPv4Address("10.0.0.100")))
    assert isinstance(section.find(number("10.0.0.101")), Absent)
    assert [entry.path for entry in sim.sent_to_hetzner()] == ["/v1/networks/5/members"] * 2


def test_a_network_that_is_gone(sim: Simulation) -> None:
    section, error = observe_members(sim.hetzner_reader(), 4711)

    assert isinstance(error, NotFound)
    assert isinstance(section.find(number("10.0.0.2")), Unknown)


@pytest.mark.parametrize("twice", [{}, {"type": "load_balancer"}, {"alias_ips": None}], ids=str)
def test_one_address_twice(sim: Simulation, twice: dict[str, Any]) -> None:
    """An address with two members is being handed over, and one hides the other: the list has a gap."""
    pagination = {"pagination": {"last_page": 1, "total_entries": 2}}
    sim.spoil_hetzner("status", code=200, body={"members": [REAL, REAL | twice], "meta": pagination}, count=None)

    section, error = observe_members(sim.hetzner_reader(), 5)

    assert (section.complete, error) == (False, None)


@pytest.mark.parametrize(("fault", "expected"), HETZNER_TROUBLE)
def test_members_that_cannot_be_read(sim: Simulation, fault: dict[str, Any], expected: type[ApiError]) -> None:
    sim.spoil_hetzner("status", **fault, count=None)

    section, error = observe_members(sim.hetzner_reader(), 5)

    assert type(error) is expected
    assert (section.complete, section.why_incomplete) == (False, str(error))
