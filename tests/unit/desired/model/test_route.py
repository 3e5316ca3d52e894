"""Routes, their keys, and the Node condition as values."""

from ipaddress import IPv4Network

import pytest

from desired.model.route import ROUTED, UNROUTED, NetworkCondition, parse_route_key, route_key
from tests.routes import a_route


@pytest.mark.parametrize(
    ("network_id", "destination"), [(4711, "10.244.1.0/24"), (7, "0.0.0.0/0"), (1, "10.244.1.1/32")]
)
def test_keys(network_id: int, destination: str) -> None:
    """A key names the network and the destination, and both can be read from it."""
    key = route_key(network_id, IPv4Network(destination))
    assert key == f"route/{network_id}/{destination}"
    assert parse_route_key(key) == (network_id, IPv4Network(destination))


@pytest.mark.parametrize(
    "key",
    [
        pytest.param("node/4/10.244.1.0/24", id="another-kind"),
        pytest.param("route/4", id="no-destination"),
        pytest.param("route/four/10.244.1.0/24", id="no-id"),
        pytest.param("route/4/pods", id="no-range"),
        pytest.param("route/4/fd00::/64", id="another-family"),
        pytest.param("route/4/10.244.1.5/24", id="bits-of-hosts"),
    ],
)
def test_what_is_no_key(key: str) -> None:
    """What is no route's key is told as such."""
    with pytest.raises(ValueError, match=r"."):
        parse_route_key(key)


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
