"""The private network that is configured: found by id or name, with the ranges in which load balancers may be."""

from collections.abc import Callable
from ipaddress import IPv4Network
from typing import Any

import pytest

from actuators.errors import ApiError, Broken
from desired.section import Absent, Present, Unknown
from desired.snapshot import Network
from reconciler.observe.networks import observe_network
from tests.support.payloads import GONE, replaced
from tests.support.simulators import Simulation
from tests.support.trouble import HETZNER_TROUBLE

RANGE = IPv4Network("10.0.0.0/16")
SUBNETS = (IPv4Network("10.0.1.0/24"), IPv4Network("10.0.0.0/24"))
FOUND = Network(7, "net", SUBNETS, RANGE)


@pytest.fixture
def sim(simulate: Callable[..., Simulation]) -> Simulation:
    """Networks, one of which is named like another one's id."""
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
            ],
        }
    )


@pytest.mark.parametrize(
    ("wanted", "found", "requests"),
    [
        pytest.param(None, Present(None), 0, id="nothing wanted"),
        pytest.param("net", Present(FOUND), 1, id="by name"),
        pytest.param("7", Present(FOUND), 1, id="by id, which comes before a name"),
        pytest.param("123", Present(Network(9, "123", SUBNETS[1:], RANGE)), 2, id="a name that is a number"),
        pytest.param("a b/c&d", Present(Network(10, "a b/c&d", SUBNETS[1:], RANGE)), 1, id="a name that needs quoting"),
        pytest.param("4711", Absent(), 2, id="no such id"),
        pytest.param("nett", Absent(), 1, id="no such name"),
        pytest.param("Net", Absent(), 1, id="names are exact"),
        pytest.param("../servers/1", Absent(), 1, id="no path"),
    ],
)
def test_networks(sim: Simulation, wanted: str | None, found: object, requests: int) -> None:
    """The network is found by id or by name, and only a reading says that there is none."""
    assert observe_network(sim.hetzner_reader(), wanted) == (found, None)
    assert len(sim.sent_to_hetzner()) == requests


@pytest.mark.parametrize(
    ("fault", "expected"),
    [*HETZNER_TROUBLE, ({"code": 200, "body": {"networks": None}}, Broken), ({"code": 200, "body": {}}, Broken)],
)
@pytest.mark.parametrize("wanted", ["7", "net"])
def test_a_network_that_cannot_be_read(
    sim: Simulation, wanted: str, fault: dict[str, Any], expected: type[ApiError]
) -> None:
    """Trouble of any kind makes the network Unknown, never Absent."""
    sim.spoil_hetzner("status", **fault, count=None)

    found, error = observe_network(sim.hetzner_reader(), wanted)

    assert isinstance(found, Unknown)
    assert type(error) is expected
    assert found.why == f"network {wanted!r} could not be read: {error}"


PAYLOAD: dict[str, Any] = {
    "id": 7,
    "name": "net",
    "ip_range": "10.0.0.0/16",
    "subnets": [{"type": "cloud", "ip_range": "10.0.1.0/24"}, {"type": "vswitch", "ip_range": "10.0.0.0/24"}],
}


@pytest.mark.parametrize(
    ("path", "value", "found"),
    [
        pytest.param(("subnets",), GONE, Network(7, "net", (), RANGE), id="no subnets"),
        pytest.param(("subnets",), None, Network(7, "net", (), RANGE), id="null for subnets"),
        pytest.param(
            ("subnets", 0, "ip_range"), GONE, Network(7, "net", SUBNETS[1:], RANGE), id="no range of a subnet"
        ),
        pytest.param(("subnets", 0, "ip_range"), "fd00::/64", Network(7, "net", SUBNETS[1:], RANGE), id="of IPv6"),
        pytest.param(("subnets", 0, "ip_range"), "10.0.1.1/24", FOUND, id="with host bits"),
        pytest.param(("ip_range",), GONE, Network(7, "net", SUBNETS), id="no range"),
        pytest.param(("subnets", 0, "ip_range"), "nonsense", None, id="nonsense"),
        pytest.param(("ip_range",), "10.0.0.0/40", None, id="a range that is none"),
        pytest.param(("name",), GONE, None, id="no name"),
    ],
)
def test_ranges(sim: Simulation, path: tuple[Any, ...], value: Any, found: Network | None) -> None:
    """Nodes need the network and no range of it: it is there without any. What is no range makes it Unknown."""
    sim.spoil_hetzner("status", code=200, body={"network": replaced(PAYLOAD, path, value)}, count=None)

    read, error = observe_network(sim.hetzner_reader(), "7")

    if found is not None:
        assert (read, error) == (Present(found), None)
    else:
        assert isinstance(read, Unknown)
        assert type(error) is Broken
