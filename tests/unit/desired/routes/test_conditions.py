"""What a Node's condition NetworkUnavailable should say."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from desired.model.route import CONDITION_NETWORK, ROUTED, UNROUTED, NetworkCondition, Route, route_key
from desired.model.settings import Controller, Settings
from desired.model.snapshot import Condition, Node, Snapshot
from desired.section import Unmanaged
from desired.syntax.selector import parse_selector
from tests.builders import a_joining_node, a_lost_node, a_node, incomplete, servers_of
from tests.routes import (
    ROUTING,
    WITHOUT_RANGE,
    a_pod_network,
    a_pod_node,
    a_pod_server,
    a_route,
    a_routed_world,
    pods_of,
)
from tests.support.route_decisions import routing

CILIUM = NetworkCondition("False", "CiliumIsUp")
KEY = "route/4/10.244.1.0/24"
SECOND = "route/4/10.244.9.0/24"
WHOLE = "there is a route for each of its IPv4 pod CIDRs"
COMING = "there will be a route for each of its IPv4 pod CIDRs"
NO_RANGE = "pod CIDR 'pods' is not a range, and gets no route"
SPARED = replace(ROUTING, ignore_nodes=parse_selector("example.com/spare"))
V6 = "fd00:1::/64"


def wanted(
    snapshot: Snapshot, settings: Settings = ROUTING, *refused: str
) -> Mapping[str, tuple[NetworkCondition | None, str]]:
    """Node → condition and why, of the Nodes whose condition is ours to say."""
    conditions = routing(snapshot, settings, *refused).conditions
    return {
        name: (found.decided.value, found.decided.says)
        for name, found in conditions.items()
        if not isinstance(found.decided.value, Unmanaged)
    }


@pytest.mark.parametrize(
    ("node", "expected"),
    [
        pytest.param(a_node(), None, id="not-written"),
        pytest.param(a_pod_node(), ROUTED, id="routed"),
        pytest.param(a_pod_node(says=UNROUTED), UNROUTED, id="unrouted"),
        pytest.param(a_pod_node(says=CILIUM), CILIUM, id="anothers"),
        pytest.param(
            a_node(conditions=(Condition("NetworkUnavailable", "True"),)), NetworkCondition("True", ""), id="no-reason"
        ),
    ],
)
def test_what_it_says_now(node: Node, expected: NetworkCondition | None) -> None:
    """Status and reason are all that is looked at."""
    assert node.network_condition == expected


@pytest.mark.parametrize(
    ("routes", "pod_cidrs", "after"),
    [
        pytest.param([a_route(1)], (pods_of(1),), (), id="its-route-is-there"),
        pytest.param([], (pods_of(1),), (KEY,), id="its-route-is-missing"),
        pytest.param([a_route(1, "10.0.0.201")], (pods_of(1),), (KEY,), id="its-route-leads-elsewhere"),
        pytest.param([a_route(1)], (pods_of(1), pods_of(9)), (SECOND,), id="one-of-two-is-missing"),
        pytest.param([], (pods_of(9), pods_of(1)), (KEY, SECOND), id="both-are-missing"),
        pytest.param([a_route(1)], (pods_of(1), V6), (), id="dual-stack"),
    ],
)
@pytest.mark.parametrize("says", [None, ROUTED, UNROUTED, CILIUM], ids=["unset", "routed", "unrouted", "anothers"])
def test_routed(
    routes: list[Route], pod_cidrs: tuple[str, ...], after: tuple[str, ...], says: NetworkCondition | None
) -> None:
    """A Node has its network once all its routes are there, whoever wrote what before: it waits for the missing ones,
    and is not taken out of service for them."""
    world = a_routed_world([a_pod_node(1, *pod_cidrs, says=says)], routes=routes, members=[])
    found = routing(world).conditions["web-1"]
    assert (found.decided.value, found.decided.says, found.after) == (ROUTED, COMING if after else WHOLE, after)


@pytest.mark.parametrize(
    ("node", "parts", "why"),
    [
        pytest.param(
            a_pod_node(),
            {"servers": [a_pod_server(private_ips=())]},
            "server 1 is not attached to network 4",
            id="not-attached",
        ),
        pytest.param(
            a_pod_node(1, "10.245.1.0/24"),
            {"routes": []},
            "route CIDR 10.245.1.0/24 is not contained within cluster CIDR 10.244.0.0/16",
            id="outside-the-cluster-cidr",
        ),
        pytest.param(
            a_pod_node(),
            {"network": a_pod_network("10.244.0.0/15"), "routes": []},
            "pod CIDR 10.244.1.0/24 overlaps with subnet 10.244.0.0/15 of network 4",
            id="a-subnet-in-the-way",
        ),
        pytest.param(
            a_pod_node(),
            {"routes": [a_route(f"192.168.{number}.0/24", "10.0.0.77") for number in range(100)]},
            "the network has 100 of 100 routes, and takes no more",
            id="over-the-limit",
        ),
        pytest.param(
            a_pod_node(1, pods_of(1), "10.245.1.0/24"),
            {"routes": [a_route(1)]},
            "route CIDR 10.245.1.0/24 is not contained within cluster CIDR 10.244.0.0/16",
            id="one-of-two",
        ),
        pytest.param(a_pod_node(1, "pods"), {}, NO_RANGE, id="no-range"),
        pytest.param(
            a_pod_node(1, pods_of(1), "pods"),
            {},
            "pod CIDR 'pods' is not a range, and gets no route",
            id="a-route-and-no-range",
        ),
        pytest.param(
            a_pod_node(),
            {"routes": [], "refused": (KEY,)},
            "the route to 10.244.1.0/24 was refused",
            id="refused",
        ),
        pytest.param(
            a_pod_node(),
            {"routes": [a_route(1, "10.0.0.201")], "members": [], "refused": (KEY,)},
            "the route to 10.244.1.0/24 was refused",
            id="a-swap-was-refused",
        ),
        pytest.param(
            a_pod_node(),
            {"routes": [a_route(1, "10.0.0.201")], "refused": (KEY,)},
            "the route to 10.244.1.0/24 was refused",
            id="refused-and-not-known-by-now",
        ),
    ],
)
@pytest.mark.parametrize("says", [None, ROUTED, UNROUTED, CILIUM], ids=["unset", "routed", "unrouted", "anothers"])
def test_unrouted(node: Node, parts: dict[str, Any], why: str, says: NetworkCondition | None) -> None:
    """Pods that nobody reaches keep others away from the Node, as soon as nothing will change that by itself."""
    there = () if says is None else (Condition(CONDITION_NETWORK, says.status, says.reason),)
    refused = parts.get("refused", ())
    parts = {name: part for name, part in parts.items() if name != "refused"}
    world = a_routed_world([replace(node, conditions=(node.conditions[0], *there))], **parts)
    assert wanted(world, ROUTING, *refused) == {"web-1": (UNROUTED, why)}


@pytest.mark.parametrize(
    ("node", "parts"),
    [
        pytest.param(a_pod_node(), {"routes": [a_route(1, "10.0.0.201")]}, id="who-has-the-gateway-is-not-known"),
        pytest.param(a_pod_node(), {"servers": []}, id="its-server-is-in-no-list"),
        pytest.param(
            a_pod_node(), {"servers_section": incomplete(servers_of()), "routes": []}, id="its-server-is-not-known"
        ),
        pytest.param(
            a_pod_node(), {"servers": [a_pod_server(missing=frozenset({"private_net"}))]}, id="its-address-is-not-known"
        ),
        pytest.param(a_lost_node(pod_cidrs=(pods_of(),)), {"servers": []}, id="its-server-is-gone"),
        pytest.param(
            a_joining_node(pod_cidrs=(pods_of(),)), {"servers": [a_pod_server(private_ips=())]}, id="not-attached-yet"
        ),
        pytest.param(a_joining_node(pod_cidrs=(pods_of(),)), {"servers": []}, id="not-initialized"),
        pytest.param(a_pod_node(pod_cidrs=()), {}, id="no-pod-cidr"),
        pytest.param(a_pod_node(pod_cidrs=()), {"routes": [a_route(1)]}, id="no-pod-cidr-and-a-route"),
        pytest.param(a_pod_node(provider_id="hrobot://1"), {}, id="robot"),
        pytest.param(a_pod_node(labels={"example.com/spare": ""}), {"servers": [a_pod_server()]}, id="ignored"),
        pytest.param(a_pod_node(1, "pods", provider_id="aws://1"), {}, id="another-clouds-with-no-range"),
        pytest.param(a_pod_node(1, V6, says=UNROUTED, provider_id="hrobot://1"), {}, id="robot-with-ipv6"),
        pytest.param(a_pod_node(1, V6, says=UNROUTED), {"servers": []}, id="ipv6-and-its-server-is-in-no-list"),
    ],
)
def test_what_says_nothing_yet(node: Node, parts: dict[str, Any]) -> None:
    """While too little is known, or the Node has no part in it, its condition stays what it is: no false alarm."""
    assert wanted(a_routed_world([node], **parts), SPARED) == {}


def test_what_failed_and_is_there_is_no_failure() -> None:
    """An answer that was lost on its way is none: the route is what counts."""
    assert wanted(a_routed_world(), ROUTING, KEY) == {"web-1": (ROUTED, WHOLE)}


def test_failures_of_other_routes_say_nothing() -> None:
    """A Node answers for its own routes."""
    nodes = [a_pod_node(1), a_pod_node(2)]
    found = wanted(a_routed_world(nodes, routes=[]), ROUTING, KEY, "route/7/10.244.2.0/24")
    assert {name: condition for name, (condition, _) in found.items()} == {"web-1": UNROUTED, "web-2": ROUTED}


@pytest.mark.parametrize(
    ("pod_cidrs", "says", "expected"),
    [
        pytest.param((V6,), UNROUTED, True, id="what-hccm-left"),
        pytest.param((V6,), ROUTED, False, id="in-service"),
        pytest.param((V6,), None, False, id="nothing"),
        pytest.param((V6,), CILIUM, False, id="anothers"),
        pytest.param((V6,), NetworkCondition("True", "NoRoute"), False, id="anothers-that-says-true"),
        pytest.param((), UNROUTED, False, id="no-pod-cidr-at-all"),
    ],
)
def test_ipv6_alone(pod_cidrs: tuple[str, ...], says: NetworkCondition | None, expected: bool) -> None:
    """HCCM leaves a Node with IPv6 pods unschedulable for ever: it needs no route, and no condition of ours."""
    world = a_routed_world([a_pod_node(pod_cidrs=pod_cidrs, says=says)])
    why = "its pods have IPv6 addresses alone, for which there are no routes"
    assert wanted(world) == ({"web-1": (None, why)} if expected else {})


OFF = replace(ROUTING, routes=False, ignore_nodes=parse_selector("example.com/spare"))


@pytest.mark.parametrize(
    ("node", "settings", "expected"),
    [
        pytest.param(a_pod_node(says=ROUTED), OFF, True, id="routed"),
        pytest.param(a_pod_node(says=UNROUTED), OFF, True, id="unrouted"),
        pytest.param(a_pod_node(says=NetworkCondition("Unknown", "RouteCreated")), OFF, True, id="ours-by-its-reason"),
        pytest.param(a_pod_node(says=CILIUM), OFF, False, id="anothers"),
        pytest.param(a_pod_node(says=NetworkCondition("True", "")), OFF, False, id="nobodys"),
        pytest.param(a_pod_node(says=None), OFF, False, id="nothing"),
        pytest.param(a_pod_node(provider_id="hrobot://1"), OFF, False, id="robot"),
        pytest.param(a_pod_node(provider_id=None), OFF, False, id="unclaimed"),
        pytest.param(a_pod_node(labels={"example.com/spare": ""}), OFF, False, id="ignored"),
        pytest.param(
            a_pod_node(), replace(OFF, controllers=frozenset({Controller.NODE})), False, id="left-to-another-controller"
        ),
    ],
)
def test_routes_switched_off(node: Node, settings: Settings, expected: bool) -> None:
    """What a route controller said of our Nodes goes when there are no routes any more; what others say stays."""
    found = wanted(a_routed_world([node], [a_pod_server()]), settings)
    assert found == ({"web-1": (None, "routes are switched off")} if expected else {})


@pytest.mark.parametrize("says", [ROUTED, UNROUTED], ids=str)
def test_what_is_not_given_switches_nothing_off(says: NetworkCondition) -> None:
    """Without HCLOUD_NETWORK or without --cluster-cidr conditions stay, as with HCCM: one of them may be forgotten."""
    bare = replace(a_routed_world([a_pod_node(says=says)]), routes=None)
    assert wanted(bare, Settings()) == wanted(bare, WITHOUT_RANGE) == {}


def test_keys_are_those_of_the_network() -> None:
    """What a condition waits for is named as the plan names it."""
    world = a_routed_world(
        servers=[a_pod_server(network_id=7)], routes=[], network=a_pod_network(network_id=7, name="private")
    )
    assert routing(world).conditions["web-1"].after == (route_key(7, a_route(1).destination),)
