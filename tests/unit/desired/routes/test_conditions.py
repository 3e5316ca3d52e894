"""What a Node's condition NetworkUnavailable should say."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from desired.model.route import CONDITION_NETWORK, ROUTED, UNROUTED, NetworkCondition, Route
from desired.model.settings import Controller, Settings
from desired.model.snapshot import Condition, Node, Snapshot
from desired.section import Unmanaged
from desired.syntax.selector import parse_selector
from tests.builders import a_joining_node, a_lost_node, a_node, incomplete, servers_of
from tests.routes import (
    ROUTING,
    WITHOUT_RANGE,
    a_pod_node,
    a_pod_server,
    a_route,
    a_routed_world,
    pods_of,
)
from tests.support.route_decisions import routing
from tests.support.rows import rows

CILIUM = NetworkCondition("False", "CiliumIsUp")
KEY = "route/4/10.244.1.0/24"
SECOND = "route/4/10.244.9.0/24"
WHOLE, COMING = "routes-there", "routes-coming"
SPARED = replace(ROUTING, ignore_nodes=parse_selector("example.com/spare"))
V6 = "fd00:1::/64"


def wanted(
    snapshot: Snapshot, settings: Settings = ROUTING, *refused: str
) -> Mapping[str, tuple[NetworkCondition | None, str]]:
    """Node → condition and rule, of the Nodes whose condition is ours to say."""
    conditions = routing(snapshot, settings, *refused).conditions
    return {
        name: (found.decided.value, found.decided.rule.name)
        for name, found in conditions.items()
        if not isinstance(found.decided.value, Unmanaged)
    }


@rows("node expected", {
    "not-written": (a_node(), None),
    "routed": (a_pod_node(), ROUTED),
    "no-reason": (a_node(conditions=(Condition("NetworkUnavailable", "True"),)), NetworkCondition("True", "")),
})  # fmt: skip
def test_the_condition_now(node: Node, expected: NetworkCondition | None) -> None:
    """Status and reason are all that is looked at."""
    assert node.network_condition == expected


@rows("routes pod_cidrs after", {
    "its-route-is-there": ([a_route(1)], (pods_of(1),), ()),
    "its-route-is-missing": ([], (pods_of(1),), (KEY,)),
    "its-route-leads-elsewhere": ([a_route(1, "10.0.0.201")], (pods_of(1),), (KEY,)),
    "both-are-missing": ([], (pods_of(9), pods_of(1)), (KEY, SECOND)),
    "dual-stack": ([a_route(1)], (pods_of(1), V6), ()),
})  # fmt: skip
@rows("says", {"unset": None, "routed": ROUTED, "unrouted": UNROUTED, "anothers": CILIUM})
def test_routed(
    routes: list[Route], pod_cidrs: tuple[str, ...], after: tuple[str, ...], says: NetworkCondition | None
) -> None:
    """A Node has its network once all its routes are there, whoever wrote what before: it waits for the missing ones,
    and is not taken out of service for them."""
    world = a_routed_world([a_pod_node(1, *pod_cidrs, says=says)], routes=routes, members=[])
    found = routing(world).conditions["web-1"]
    assert (found.decided.value, found.decided.rule.name, found.after) == (ROUTED, COMING if after else WHOLE, after)


LEAD_ASTRAY, FULL = [a_route(1, "10.0.0.201")], [a_route(f"192.168.{n}.0/24", "10.0.0.77") for n in range(100)]


@rows("node parts why", {
    "not-attached": (a_pod_node(), {"servers": [a_pod_server(private_ips=())]}, "unattached"),
    "outside-the-cluster-cidr": (a_pod_node(1, "10.245.1.0/24"), {"routes": []}, "pods-outside"),
    "over-the-limit": (a_pod_node(), {"routes": FULL}, "pods-over-limit"),
    "one-of-two": (a_pod_node(1, pods_of(1), "10.245.1.0/24"), {"routes": [a_route(1)]}, "pods-outside"),
    "a-route-and-no-range": (a_pod_node(1, pods_of(1), "pods"), {}, "pod-cidr-malformed"),
    "refused": (a_pod_node(), {"routes": [], "refused": (KEY,)}, "route-refused"),
    "a-swap": (a_pod_node(), {"routes": LEAD_ASTRAY, "members": [], "refused": (KEY,)}, "route-refused"),
    "refused-and-not-known-by-now": (a_pod_node(), {"routes": LEAD_ASTRAY, "refused": (KEY,)}, "route-refused"),
})  # fmt: skip
@rows("says", {"unset": None, "routed": ROUTED, "unrouted": UNROUTED, "anothers": CILIUM})
def test_unrouted(node: Node, parts: dict[str, Any], why: str, says: NetworkCondition | None) -> None:
    """Pods that are out of reach keep others away from the Node, as soon as nothing will change that by itself."""
    there = () if says is None else (Condition(CONDITION_NETWORK, says.status, says.reason),)
    parts = dict(parts)
    refused = parts.pop("refused", ())
    world = a_routed_world([replace(node, conditions=(node.conditions[0], *there))], **parts)
    assert wanted(world, ROUTING, *refused) == {"web-1": (UNROUTED, why)}


@rows("node parts", {
    "who-has-the-gateway-is-not-known": (a_pod_node(), {"routes": [a_route(1, "10.0.0.201")]}),
    "its-server-is-not-known": (a_pod_node(), {"servers_section": incomplete(servers_of()), "routes": []}),
    "its-address-is-not-known": (a_pod_node(), {"servers": [a_pod_server(missing=frozenset({"private_net"}))]}),
    "its-server-is-gone": (a_lost_node(pod_cidrs=(pods_of(),)), {"servers": []}),
    "not-attached-yet": (a_joining_node(pod_cidrs=(pods_of(),)), {"servers": [a_pod_server(private_ips=())]}),
    "not-initialized": (a_joining_node(pod_cidrs=(pods_of(),)), {"servers": []}),
    "no-pod-cidr": (a_pod_node(pod_cidrs=()), {}),
    "robot": (a_pod_node(provider_id="hrobot://1"), {}),
    "ignored": (a_pod_node(labels={"example.com/spare": ""}), {"servers": [a_pod_server()]}),
    "robot-with-ipv6": (a_pod_node(1, V6, says=UNROUTED, provider_id="hrobot://1"), {}),
    "ipv6-and-its-server-is-in-no-list": (a_pod_node(1, V6, says=UNROUTED), {"servers": []}),
})  # fmt: skip
def test_no_condition_yet(node: Node, parts: dict[str, Any]) -> None:
    """While too little is known, or the Node has no part in it, its condition stays what it is: no false alarm."""
    assert wanted(a_routed_world([node], **parts), SPARED) == {}


def test_a_failure_that_is_there_is_none() -> None:
    """An answer that was lost on its way is none: the route is what counts."""
    assert wanted(a_routed_world(), ROUTING, KEY) == {"web-1": (ROUTED, WHOLE)}


def test_failures_of_other_routes_say_nothing() -> None:
    """A Node answers for its own routes."""
    nodes = [a_pod_node(1), a_pod_node(2)]
    found = wanted(a_routed_world(nodes, routes=[]), ROUTING, KEY, "route/7/10.244.2.0/24")
    assert {name: condition for name, (condition, _) in found.items()} == {"web-1": UNROUTED, "web-2": ROUTED}


@rows("pod_cidrs says expected", {
    "what-hccm-left": ((V6,), UNROUTED, True),
    "in-service": ((V6,), ROUTED, False),
    "anothers-that-says-true": ((V6,), NetworkCondition("True", "NoRoute"), False),
    "no-pod-cidr-at-all": ((), UNROUTED, False),
})  # fmt: skip
def test_ipv6_alone(pod_cidrs: tuple[str, ...], says: NetworkCondition | None, expected: bool) -> None:
    """HCCM leaves a Node with IPv6 pods unschedulable for ever: it needs no route, and no condition of ours."""
    world = a_routed_world([a_pod_node(pod_cidrs=pod_cidrs, says=says)])
    assert wanted(world) == ({"web-1": (None, "pods-ipv6-only")} if expected else {})


OFF = replace(ROUTING, routes=False, ignore_nodes=parse_selector("example.com/spare"))


@rows("node settings expected", {
    "routed": (a_pod_node(says=ROUTED), OFF, True),
    "ours-by-its-reason": (a_pod_node(says=NetworkCondition("Unknown", "RouteCreated")), OFF, True),
    "anothers": (a_pod_node(says=CILIUM), OFF, False),
    "nothing": (a_pod_node(says=None), OFF, False),
    "robot": (a_pod_node(provider_id="hrobot://1"), OFF, False),
    "unclaimed": (a_pod_node(provider_id=None), OFF, False),
    "ignored": (a_pod_node(labels={"example.com/spare": ""}), OFF, False),
    "left-to-another-controller": (a_pod_node(), replace(OFF, controllers=frozenset({Controller.NODE})), False),
})  # fmt: skip
def test_routes_switched_off(node: Node, settings: Settings, expected: bool) -> None:
    """What a route controller said of our Nodes goes when there are no routes any more; what others say stays."""
    found = wanted(a_routed_world([node], [a_pod_server()]), settings)
    assert found == ({"web-1": (None, "condition-unneeded")} if expected else {})


@pytest.mark.parametrize("says", [ROUTED, UNROUTED], ids=str)
def test_a_missing_setting_switches_nothing_off(says: NetworkCondition) -> None:
    """Without HCLOUD_NETWORK or without --cluster-cidr conditions stay, as with HCCM: one of them may be forgotten."""
    bare = replace(a_routed_world([a_pod_node(says=says)]), routes=None)
    assert wanted(bare, Settings()) == wanted(bare, WITHOUT_RANGE) == {}


def test_routes_sort_by_number() -> None:
    """10.244.9.0 comes before 10.244.10.0, which it would not as text."""
    assert sorted([a_route(10), a_route(9), a_route(9, 1)]) == [a_route(9, 1), a_route(9), a_route(10)]


@rows("condition is_ours message", {
    "routed": (ROUTED, True, "RouteController created a route"),
    "unrouted": (UNROUTED, True, "RouteController failed to create a route"),
    "without-a-reason": (NetworkCondition("True", ""), False, ""),
    "ours-gone-stale": (NetworkCondition("Unknown", "RouteCreated"), True, "RouteController created a route"),
})  # fmt: skip
def test_conditions(condition: NetworkCondition, is_ours: bool, message: str) -> None:
    """A condition is ours by its reason, as HCCM's are, and then has HCCM's sentence."""
    assert condition.is_ours is is_ours
    assert condition.message == message
