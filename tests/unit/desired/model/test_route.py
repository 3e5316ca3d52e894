"""Routes, their keys, and the Node condition as values."""

from ipaddress import IPv4Network

import pytest

from desired.model.route import ROUTED, UNROUTED, NetworkCondition, route_key
from tests.routes import a_route


@pytest.mark.parametrize(
    ("network_id", "destination"), [(4711, "10.244.1.0/24"), (7, "0.0.0.0/0"), (1, "10.244.1.1/32")]
)
def test_keys(network_id: int, destination: str) -> None:
    """A key names the network and the destination."""
    key = route_key(network_id, IPv4Network(destination))
    assert key == f"route/{network_id}/{destination}"
    assert (key.name, key.parts) == (str(network_id), (destination,))


def test_routes_sort_by_number() -> None:
    """10.244.9.0 comes before 10.244.10.0, which it would not as text."""
    assert sorted([a_route(10), a_route(9), a_route(9, 1)]) == [a_route(9, 1), a_route(9), a_route(10)]


@pytest.mark.parametrize(
    ("condition", "is_ours", "message"),
    [
        pytest.param(ROUTED, True, "RouteController created a route", id="routed"),
        pytest.param(UNROUTED, True, "RouteController failed to create a route", id="unrouted"),
        pytest.param(NetworkCondition("False", "CiliumIsUp"), False, "", id="a-network-plug-ins"),
        pytest.param(NetworkCondition("True", ""), False, "", id="without-a-reason"),
        pytest.param(
            NetworkCondition("Unknown", "RouteCreated"), True, "RouteController created a route", id="ours-gone-stale"
        ),
    ],
)
def test_conditions(condition: NetworkCondition, is_ours: bool, message: str) -> None:
    """A condition is ours by its reason, as HCCM's are, and then has HCCM's sentence."""
    assert condition.is_ours is is_ours
    assert condition.message == message
