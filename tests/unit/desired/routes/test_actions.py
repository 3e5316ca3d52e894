"""What becomes of each route that is there."""

from dataclasses import replace
from ipaddress import IPv4Address
from typing import Any

from desired.model.load_balancer import Attachment
from desired.model.route import Route
from desired.model.settings import Settings
from desired.model.snapshot import Snapshot
from desired.routes.actions import GOING, RouteAction, RouteDecision
from desired.section import Section
from desired.syntax.selector import parse_selector
from tests.balancers import a_balancer
from tests.builders import a_lost_node, incomplete, nodes_of, servers_of
from tests.routes import ROUTING, a_pod_node, a_pod_server, a_route, a_routed_world, pods_of
from tests.support.route_decisions import decided
from tests.support.rows import rows

NODE, STRANGER = a_pod_node(), a_pod_server(8, aliases=["10.0.0.80"])
LOST = a_lost_node(pod_cidrs=(pods_of(),))
NAT, NOWHERE = "10.0.0.200", "10.0.0.201"
BALANCERS = Section(
    {
        42: a_balancer(cluster_uid=None, attachments=(Attachment(4, IPv4Address("10.0.0.60")),)),
        43: a_balancer(43, attachments=(Attachment(4, IPv4Address("10.0.0.61")),)),
    }
)
SPARED = replace(ROUTING, ignore_nodes=parse_selector("example.com/spare"))
SPARE = {"example.com/spare": ""}


def a_mixed_world(*routes: Route, **parts: Any) -> Snapshot:
    """Node web-1, a server 8 that is no Node, a NAT gateway, a load balancer, one of ours, and a free address."""
    whole: dict[str, Any] = {
        "nodes": [NODE],
        "servers": [a_pod_server(aliases=["10.0.0.50"]), STRANGER, a_pod_server(9, NAT, name="nat")],
        "members": [],
        "load_balancers": BALANCERS,
    }
    return a_routed_world(routes=routes, **whole | parts)


def fate_of(route: Route, snapshot: Snapshot, settings: Settings = ROUTING) -> RouteDecision:
    return decided(snapshot, settings)[str(route.destination)]


@rows("route expected", {
    "a-nodes-own": (a_route(1, 1), "claimed route-of-node"),
    "a-nodes-own-astray": (a_route(1, NOWHERE), "claimed route-of-node"),
    "black-hole-of-any-size": (a_route("10.244.5.0/28", NOWHERE), "dead route-to-no-owner"),
    "no-nodes-pods-by-a-node-of-any-size": (a_route("10.244.5.0/28", 1), "superfluous route-unneeded"),
    "hccm-deletes: by-nat": (a_route(200, NAT), "stranger route-unneeded"),
    "hccm-deletes: half-the-range-by-nat": (a_route("10.244.128.0/17", NAT), "foreign route-of-other-size"),
    "hccm-deletes: by-an-alias": (a_route(5, "10.0.0.50"), "foreign route-to-other"),
    "hccm-deletes: by-a-load-balancer": (a_route(5, "10.0.0.60"), "foreign route-to-other"),
    "by-our-load-balancer": (a_route(5, "10.0.0.61"), "dead route-to-our-balancer"),
})  # fmt: skip
def test_routes_within_the_cluster_cidr(route: Route, expected: str) -> None:
    """The owner of the gateway decides whose the route is. HCCM deletes all that a person routes inside the pod range;
    here a living gateway of another kind makes it theirs, and a living server's never goes by itself."""
    found = fate_of(route, a_mixed_world(route))
    assert (found.route, f"{found.action} {found.decided.rule.name}") == (route, expected)


@rows("gateway", {"a-node": 1, "a-stranger": 8, "nat": NAT, "nobody": NOWHERE})
@rows("destination row", {
    "one-around-both-ends": ("10.0.0.0/8", "route-outside"),
    "one-around-the-first-end": ("10.244.0.0/15", "route-outside"),
    "the-next-range": ("10.245.0.0/24", "route-outside"),
    "the-range-before": ("10.243.255.0/24", "route-outside"),
    "services-of-the-cluster": ("10.96.0.0/12", "route-outside"),
    "the-default-route": ("0.0.0.0/0", "default-route"),
})  # fmt: skip
def test_hccm_deletes_routes_outside(destination: str, row: str, gateway: str | int) -> None:
    """HCCM looks at the two end addresses alone, and deletes 10.244.0.0/15: only what is inside the range is ours, and
    the default route is a person's way out to the internet, whatever it leads to."""
    route = a_route(destination, gateway)
    found = fate_of(route, a_mixed_world(route))
    assert (found.action, found.decided.rule.name) == (RouteAction.FOREIGN, row)


BEHIND, BY_NODE, BY_STRANGER, BY_BALANCER = (a_route(5, by) for by in (NOWHERE, 1, 8, "10.0.0.61"))
HIDDEN = {"nodes_section": replace(nodes_of(NODE), unreadable={"web-9": "no uid", "web-5": "no uid"})}


@rows("route parts expected", {
    "members-not-asked": (BEHIND, {"members": None}, "uncertain owner-unasked"),
    "no-member": (BY_NODE, {"servers_section": incomplete(servers_of(), "429")}, "dead route-to-no-owner"),
    "a-hidden-node-and-a-nodes-gateway": (BY_NODE, HIDDEN, "uncertain route-of-unreadable-node"),
    "hidden-nodes-and-a-strangers-gateway": (BY_STRANGER, HIDDEN, "uncertain route-of-unreadable-node"),
    "a-hidden-node-and-our-load-balancer": (BY_BALANCER, HIDDEN, "uncertain route-of-unreadable-node"),
    "a-hidden-node-and-nobody": (BEHIND, HIDDEN, "uncertain route-of-unreadable-node"),
    "no-node-says-what-the-mask-is": (BY_STRANGER, {"nodes": []}, "foreign route-of-other-size"),
    "where-no-node-has-pods": (BY_NODE, {"nodes": [a_pod_node(pod_cidrs=())]}, "foreign route-without-pods"),
})  # fmt: skip
def test_unknown_owners(route: Route, parts: dict[str, Any], expected: str) -> None:
    """Unknown is not absent: what could not be read may be the one whose route it is."""
    found = fate_of(route, a_mixed_world(route, **parts))
    assert f"{found.action} {found.decided.rule.name}" == expected


OWN, ASTRAY, OUTSIDE = a_route(1, 1), a_route(1, NOWHERE), a_route("10.245.1.0/24", NOWHERE)
LOST_OUTSIDE = replace(LOST, pod_cidrs=("10.245.1.0/24",))


@rows("route parts action node", {
    "its-server-is-gone": (OWN, {"nodes": [LOST], "servers": []}, "dead", "web-1"),
    "gone-and-led-elsewhere": (a_route(1, 8), {"nodes": [LOST], "servers": [STRANGER]}, "claimed", None),
    "gone-and-its-kubelet-reports": (OWN, {"nodes": [a_pod_node()], "servers": []}, "claimed", None),
    "its-server-left-the-network": (OWN, {"servers": [a_pod_server(private_ips=())]}, "claimed", None),
    "gone-but-another-has-the-pods": (OWN, {"nodes": [LOST, a_pod_node(2, pods_of(1))]}, "claimed", None),
    "a-robots": (ASTRAY, {"nodes": [a_pod_node(provider_id="hrobot://1")]}, "claimed", None),
    "an-ignored-nodes": (ASTRAY, {"nodes": [a_pod_node(labels=SPARE)]}, "claimed", None),
    "by-an-ignored-node": (a_route(5, 1), {"nodes": [a_pod_node(labels=SPARE), a_pod_node(2)]}, "foreign", None),
    "outside-of-a-lost-node": (OUTSIDE, {"nodes": [LOST_OUTSIDE], "servers": []}, "claimed", None),
})  # fmt: skip
def test_routes_of_nodes(route: Route, parts: dict[str, Any], action: str, node: str | None) -> None:
    """A Node keeps the route to its pods as long as anybody may reach them; then it is a black hole like others."""
    found = fate_of(route, a_mixed_world(route, **parts), SPARED)
    assert (found.action, found.node) == (action, node)


def test_every_route_has_its_fate() -> None:
    """All of them are decided, in the order of destinations, and only what is ours goes."""
    routes = [a_route("0.0.0.0/0", NAT), a_route(10, NOWHERE), a_route(9, 8), a_route(5, 1), a_route(1, 1)]
    actions = {name: found.action for name, found in decided(a_mixed_world(*routes)).items()}
    expected = {
        "0.0.0.0/0": RouteAction.FOREIGN,
        pods_of(1): RouteAction.CLAIMED,
        pods_of(5): RouteAction.SUPERFLUOUS,
        pods_of(9): RouteAction.STRANGER,
        pods_of(10): RouteAction.DEAD,
    }
    assert list(actions.items()) == list(expected.items())
    assert frozenset(RouteAction) - {RouteAction.CLAIMED, RouteAction.FOREIGN, RouteAction.UNCERTAIN} == GOING
