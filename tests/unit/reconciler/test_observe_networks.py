"""The private network that is configured: found by id or name, with the ranges in which load balancers may be, and its
routes."""

from collections.abc import Callable
from dataclasses import replace
from ipaddress import IPv4Address, IPv4Network
from typing import Any

import pytest

from actuators.http.errors import ApiError, Broken
from desired.model.route import Route
from desired.model.snapshot import Network
from desired.section import Absent, Present, Section, Unknown
from reconciler.observe.networks import observe_network
from tests.support.payloads import GONE, replaced
from tests.support.simulators import Simulation
from tests.support.trouble import HETZNER_TROUBLE

RANGE = IPv4Network("10.0.0.0/16")
SUBNETS = (IPv4Network("10.0.1.0/24"), IPv4Network("10.0.0.0/24"))
EUROPE: dict[str, Any] = {"zones": frozenset({"eu-central"}), "vswitches": ()}
FOUND = Network(7, "net", SUBNETS, RANGE, **EUROPE)
LATER = replace(FOUND, subnets=SUBNETS[1:])


@pytest.fixture
def sim(simulate: Callable[..., Simulation]) -> Simulation:
    ranges = {"ip_range": "10.0.0.0/16"}
    zone = {"network_zone": "eu-central"}
    subnets = [
        {"type": "server", "ip_range": "10.0.1.0/24", **zone},
        {"type": "cloud", "ip_range": "10.0.0.0/24", **zone},
    ]
    return simulate(
        project={
            "networks": [
                {"id": 7, "name": "net", "subnets": subnets, **ranges},
                {"id": 8, "name": "7", **ranges},
                {"id": 9, "name": "123", **ranges},
                {"id": 10, "name": "a b/c&d", **ranges},
            ]
        }
    )


@pytest.mark.parametrize(
    ("wanted", "found", "requests"),
    [
        pytest.param(None, Present(None), 0, id="nothing wanted"),
        pytest.param("net", Present(FOUND), 1, id="by name"),
        pytest.param("7", Present(FOUND), 1, id="by id, which comes before a name"),
        pytest.param("123", Present(replace(LATER, id=9, name="123")), 2, id="a name that is a number"),
        pytest.param("a b/c&d", Present(replace(LATER, id=10, name="a b/c&d")), 1, id="a name that needs quoting"),
    ],
)
def test_networks(sim: Simulation, wanted: str | None, found: object, requests: int) -> None:
    read = observe_network(sim.hetzner_reader(), wanted)

    assert (read.network, read.error) == (found, None)
    assert read.routes == (Section(expected=0) if isinstance(found, Present) and found.value else None)
    assert len(sim.sent_to_hetzner()) == requests


NAMES = "net (7), 7 (8), 123 (9), a b/c&d (10)"


@pytest.mark.parametrize(
    ("wanted", "requests"),
    [
        pytest.param("4711", 3, id="no such id"),
        pytest.param("nett", 2, id="no such name"),
        pytest.param("Net", 2, id="names are exact"),
        pytest.param("../servers/1", 2, id="no path"),
    ],
)
def test_a_network_that_is_not_there(sim: Simulation, wanted: str, requests: int) -> None:
    read = observe_network(sim.hetzner_reader(), wanted)

    assert (read.network, read.routes) == (Absent(), None)
    assert str(read.error) == (
        f"HCLOUD_NETWORK is {wanted!r}, and the project that HCLOUD_TOKEN belongs to has no network of that name or id:"
        f" it has {NAMES}; correct the name or the token"
    )
    assert len(sim.sent_to_hetzner()) == requests


@pytest.mark.parametrize(
    ("names", "told"),
    [
        pytest.param([], ": it has none", id="none"),
        pytest.param([f"n{n}" for n in range(9)], "n7 (8) and 1 more; correct", id="more than fit into a sentence"),
    ],
)
def test_what_networks_there_are(simulate: Callable[..., Simulation], names: list[str], told: str) -> None:
    networks = [{"id": n + 1, "name": name, "ip_range": "10.0.0.0/16"} for n, name in enumerate(names)]

    assert told in str(observe_network(simulate(project={"networks": networks}).hetzner_reader(), "nett").error)


def test_networks_that_cannot_be_listed(sim: Simulation) -> None:
    sim.spoil_hetzner("status", code=403, query="per_page", count=None)

    read = observe_network(sim.hetzner_reader(), "nett")

    assert (read.network, "no network of that name or id; correct" in str(read.error)) == (Absent(), True)


@pytest.mark.parametrize(
    ("fault", "expected"),
    [*HETZNER_TROUBLE, ({"code": 200, "body": {"networks": None}}, Broken), ({"code": 200, "body": {}}, Broken)],
)
@pytest.mark.parametrize("wanted", ["7", "net"])
def test_a_network_that_cannot_be_read(
    sim: Simulation, wanted: str, fault: dict[str, Any], expected: type[ApiError]
) -> None:
    sim.spoil_hetzner("status", **fault, count=None)

    found = observe_network(sim.hetzner_reader(), wanted)

    assert isinstance(found.network, Unknown)
    assert type(found.error) is expected
    assert found.network.why == f"network {wanted!r} could not be read: {found.error}"
    assert found.routes == Section.missing(found.network.why)


PAYLOAD: dict[str, Any] = {
    "id": 7,
    "name": "net",
    "ip_range": "10.0.0.0/16",
    "subnets": [
        {"type": "cloud", "ip_range": "10.0.1.0/24", "network_zone": "eu-central"},
        {"type": "vswitch", "ip_range": "10.0.0.0/24", "network_zone": "eu-central"},
    ],
}
COUPLED = replace(FOUND, vswitches=SUBNETS[1:])
HALF = replace(FOUND, subnets=SUBNETS[1:], vswitches=None)


@pytest.mark.parametrize(
    ("path", "value", "found"),
    [
        pytest.param(("subnets",), GONE, Network(7, "net", (), RANGE), id="no subnets"),
        pytest.param(("subnets",), None, Network(7, "net", (), RANGE), id="null for subnets"),
        pytest.param(("subnets", 0, "ip_range"), GONE, HALF, id="no range of a subnet"),
        pytest.param(("subnets", 0, "ip_range"), "fd00::/64", HALF, id="of IPv6"),
        pytest.param(("subnets", 0, "ip_range"), "10.0.1.1/24", COUPLED, id="with host bits"),
        pytest.param(("ip_range",), GONE, replace(COUPLED, ip_range=None), id="no range"),
        pytest.param(("subnets", 1, "type"), GONE, replace(COUPLED, vswitches=None), id="no type"),
        pytest.param(("subnets", 1, "type"), 7, replace(COUPLED, vswitches=None), id="a type that is none"),
        pytest.param(("subnets", 0, "network_zone"), GONE, replace(COUPLED, zones=None), id="no zone"),
        pytest.param(("subnets", 0, "network_zone"), 7, replace(COUPLED, zones=None), id="a zone that is none"),
        pytest.param(("subnets",), [], Network(7, "net", (), RANGE, zones=frozenset(), vswitches=()), id="none at all"),
        pytest.param(("subnets", 0, "ip_range"), "nonsense", None, id="nonsense"),
        pytest.param(("ip_range",), "10.0.0.0/40", None, id="a range that is none"),
        pytest.param(("name",), GONE, None, id="no name"),
    ],
)
def test_ranges(sim: Simulation, path: tuple[Any, ...], value: Any, found: Network | None) -> None:
    """Nodes need the network and no range of it: it is there without any. What is no range makes it Unknown."""
    sim.spoil_hetzner("status", code=200, body={"network": replaced(PAYLOAD, path, value)}, count=None)

    read = observe_network(sim.hetzner_reader(), "7")

    if found is not None:
        assert (read.network, read.error) == (Present(found), None)
    else:
        assert isinstance(read.network, Unknown)
        assert type(read.error) is Broken


def route(destination: Any, gateway: Any = "10.0.1.2") -> dict[str, Any]:
    """A route as the API writes it."""
    return {"destination": destination, "gateway": gateway}


def read_routes(sim: Simulation, routes: Any) -> Section[str, Route]:
    """What becomes of a network's routes; the network itself is whole whatever they are."""
    body = {"network": replaced({**PAYLOAD, "routes": []}, ("routes",), routes)}
    sim.spoil_hetzner("status", code=200, body=body, count=None)
    read = observe_network(sim.hetzner_reader(), "7")
    assert (read.network, read.error) == (Present(COUPLED), None)
    assert read.routes is not None
    return read.routes


@pytest.mark.parametrize("wanted", ["7", "net"])
def test_routes(sim: Simulation, wanted: str) -> None:
    listed = [route("10.244.1.0/24"), route("0.0.0.0/0", "10.0.1.3"), route("10.244.0.0/24", "10.0.1.3")]
    sim.hetzner.replace_world({"networks": [{**PAYLOAD, "subnets": [], "routes": listed}]})

    found = observe_network(sim.hetzner_reader(), wanted).routes

    assert found is not None
    assert (found.complete, found.expected, found.unreadable) == (True, 3, {})
    assert dict(found.items) == {
        text: Route(IPv4Network(text), IPv4Address(gateway))
        for text, gateway in (("10.244.1.0/24", "10.0.1.2"), ("0.0.0.0/0", "10.0.1.3"), ("10.244.0.0/24", "10.0.1.3"))
    }
    assert len(sim.sent_to_hetzner()) == 1


@pytest.mark.parametrize(
    ("bad", "unreadable"),
    [
        pytest.param(route("fd00:244::/64", "fd00::1"), "fd00:244::/64", id="IPv6"),
        pytest.param(route("nonsense"), "nonsense", id="no range"),
        pytest.param(route("10.244.2.0/40"), "10.244.2.0/40", id="a range that is none"),
        pytest.param(route(""), "", id="empty"),
        pytest.param(route("10.244.2.0/24", "web-1"), "10.244.2.0/24", id="a gateway that is none"),
        pytest.param(route("10.244.2.0/24", None), "10.244.2.0/24", id="null for the gateway"),
        pytest.param({"destination": "10.244.2.0/24"}, "10.244.2.0/24", id="no gateway"),
        pytest.param(route("10.244.2.5/24", 5), "10.244.2.0/24", id="host bits, and a gateway that is none"),
    ],
)
def test_a_route_that_cannot_be_read(sim: Simulation, bad: Any, unreadable: str) -> None:
    found = read_routes(sim, [bad, route("10.244.1.0/24")])

    assert (found.complete, found.expected, list(found.items)) == (True, 2, ["10.244.1.0/24"])
    assert list(found.unreadable) == [unreadable]
    assert found.unreadable[unreadable].startswith("the route could not be read: ")


def test_host_bits_of_a_destination(sim: Simulation) -> None:
    found = read_routes(sim, [route("10.244.1.5/24")])

    assert dict(found.items) == {"10.244.1.0/24": Route(IPv4Network("10.244.1.0/24"), IPv4Address("10.0.1.2"))}


HIDDEN = "the network has two routes to one destination"
NAMELESS: tuple[Any, ...] = (None, 5, "10.244.1.0/24", [], {}, route(None), route(5))


@pytest.mark.parametrize(
    ("listed", "why", "readable"),
    [
        pytest.param(GONE, "the API did not say which routes the network has", 0, id="not told"),
        pytest.param(None, "the API did not say which routes the network has", 0, id="null"),
        pytest.param({}, "the API did not say which routes the network has", 0, id="no list"),
        pytest.param([route("10.244.1.0/24"), route("10.244.1.0/24", "10.0.1.3")], HIDDEN, 1, id="one twice"),
        pytest.param([route("10.244.1.0/24"), route("10.244.1.9/24")], HIDDEN, 1, id="one in two spellings"),
        pytest.param([route("10.244.1.0/24"), route("10.244.1.0/24", "x")], HIDDEN, 1, id="one of them unreadable"),
        pytest.param([route("x"), route("x")], HIDDEN, 0, id="both unreadable"),
        *(
            pytest.param(
                [bad, route("10.244.1.0/24")],
                "1 routes of the network could not be read, not even their destinations",
                1,
                id=f"nameless, {bad}",
            )
            for bad in NAMELESS
        ),
    ],
)
def test_routes_with_a_gap(sim: Simulation, listed: Any, why: str, readable: int) -> None:
    """Where a route may be hidden none is said to be absent."""
    found = read_routes(sim, listed)

    assert (found.complete, found.why_incomplete, len(found)) == (False, why, readable)
