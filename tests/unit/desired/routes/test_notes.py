"""What a person should know of routes although nothing is done about it."""

from dataclasses import replace
from typing import Any

from desired.model.route import UNROUTED, NetworkCondition, Route
from desired.model.snapshot import Node
from desired.plan.notes import NoteKind
from desired.section import Present
from desired.syntax.selector import parse_selector
from tests.builders import a_joining_node, nodes_of
from tests.routes import (
    ROUTING,
    WITHOUT_RANGE,
    a_pod_node,
    a_pod_server,
    a_route,
    a_routed_world,
    pods_of,
    routes_of,
)
from tests.support.route_decisions import noted
from tests.support.rows import rows

NETWORK, WEB_1 = "network/4", "node/web-1"
NOWHERE = "10.0.0.201"
ASTRAY, FULL = [a_route(1, NOWHERE)], [a_route(f"192.168.{n}.0/24", "10.0.0.77") for n in range(100)]
V6 = "fd00:1::/64"


@rows("node parts kind said", {
    "not-attached": (a_pod_node(), {"servers": [a_pod_server(private_ips=())]}, "unroutable", "is not attached to"),
    "an-owner-that-is-not-known": (a_pod_node(), {"routes": ASTRAY}, "unknown", "of 10.0.0.201 was not looked up"),
    "no-range": (a_pod_node(1, pods_of(1), "pods"), {"routes": [a_route(1)]}, "unroutable", "'pods' is not a range"),
    "outside": (a_pod_node(1, "10.245.1.0/24"), {}, "cluster-cidr", "10.245.1.0/24 is not contained within"),
    "over-the-limit": (a_pod_node(), {"routes": FULL}, "limit", "has 100 of 100 routes"),
})  # fmt: skip
def test_nodes_that_are_out_of_reach(node: Node, parts: dict[str, Any], kind: str, said: str) -> None:
    """The Node says what has to be mended; of pods outside of the cluster CIDR the network says it as well."""
    found = {key: (kind, text) for key, kind, text in noted(a_routed_world([node], **{"routes": []} | parts))}
    assert found[WEB_1][0] == kind
    assert said in found[WEB_1][1]
    assert (NETWORK in found) is (kind == "cluster-cidr")


HIDDEN = {"nodes_section": replace(nodes_of(a_pod_node()), unreadable={"web-5": "no uid"})}


@rows("route parts kind said", {
    "default": (a_route("0.0.0.0/0", "10.0.0.7"), {}, "foreign", "default route"),
    "outside": (a_route("192.168.0.0/24", 1), {}, "foreign", "within the cluster CIDR 10.244.0.0/16"),
    "alias": (a_route(5, "10.0.0.9"), {"servers": [a_pod_server(aliases=["10.0.0.9"])]}, "foreign", "of server 1"),
    "uncertain": (a_route(5, NOWHERE), {}, "unknown", "owner of 10.0.0.201 was not looked up"),
    "perhaps-a-hidden-nodes": (a_route(5, 1), HIDDEN, "unknown", "may belong to Node web-5 (unreadable)"),
})  # fmt: skip
def test_routes_that_are_left_alone(route: Route, parts: dict[str, Any], kind: str, said: str) -> None:
    """A route that is not touched is named with the reason."""
    notes = noted(a_routed_world(routes=[a_route(1), route], **parts))
    (found,) = [note for note in notes if note[0].startswith("route/")]
    assert found[:2] == (f"route/4/{route.destination}", kind)
    assert said in found[2]


@rows("routes", {"beside-others": [a_route(1)], "alone": []})
def test_routes_that_could_not_be_read(routes: list[Route]) -> None:
    """They are there, and nobody's business."""
    hidden = routes_of(*routes, unreadable={"fd00::/64": "an IPv6 destination"})
    assert noted(a_routed_world(routes=hidden)) == [
        ("route/4/fd00::/64", NoteKind.FOREIGN, "cannot read the route: an IPv6 destination")
    ]


@rows("route members", {
    "a-nodes-own": (a_route(1), None),
    "a-nodes-own-astray": (a_route(1, NOWHERE), []),
    "black-hole": (a_route(5, NOWHERE), []),
    "superfluous": (a_route(5, 1), None),
})  # fmt: skip
def test_a_change_needs_no_note(route: Route, members: list[Any] | None) -> None:
    """A change says itself why it is wanted."""
    assert noted(a_routed_world(routes=[route], members=members)) == []


KEPT_OUT = "keeps pods from being scheduled on Node web-2;"
CLOSED, OF_CILIUM = a_pod_node(2, says=UNROUTED), a_pod_node(1, says=NetworkCondition("True", "CiliumIsDown"))


@rows("nodes said", {
    "two": ([a_pod_node(1), a_pod_node(2)], ["pods are in 10.244.0.0/22)"]),
    "one-that-was-closed": ([a_pod_node(1), CLOSED], ["in 10.244.0.0/22)", KEPT_OUT]),
    "a-closed-one-without-pods": ([replace(CLOSED, pod_cidrs=())], [KEPT_OUT]),
    "one-that-another-closed": ([OF_CILIUM], ["pods are in 10.244.1.0/24)"]),
    "no-ipv4": ([a_pod_node(1, V6)], []),
})  # fmt: skip
def test_no_cluster_cidr(nodes: list[Node], said: list[str]) -> None:
    """One that is not given is told in one note, whatever is in the network: with what stays, with what the Nodes' pods
    say of it, and with both ways out."""
    found = noted(a_routed_world(nodes, routes=[a_route(7, NOWHERE)]), WITHOUT_RANGE)
    assert [note[:2] for note in found] == [(NETWORK, NoteKind.CLUSTER_CIDR)] * bool(said)
    assert all(part in note[2] for note in found for part in said)
    assert all(("pods are in" in note[2]) is any(each.pod_cidrs for each in nodes) for note in found)
    assert all((KEPT_OUT in note[2]) is (len(said) == 2 or not nodes[0].pod_cidrs) for note in found)


SPARED = replace(ROUTING, ignore_nodes=parse_selector("example.com/spare"))


def bare(*numbers: int, **overrides: Any) -> list[Node]:
    return [a_pod_node(number, pod_cidrs=(), **overrides) for number in numbers]


@rows("without expected", {
    "none": ([], None),
    "two": (bare(3, 2), "Nodes web-2, web-3"),
    "many": (bare(*range(2, 9)), "Nodes web-2, web-3, web-4 and 4 more"),
    "joining": ([a_joining_node("web-2")], "Node web-2"),
    "robot": (bare(2, provider_id="hrobot://2"), None),
    "ignored": (bare(2, labels={"example.com/spare": ""}), None),
})  # fmt: skip
def test_no_pod_cidr(without: list[Node], expected: str | None) -> None:
    """Nodes without a range are told, once for all; where none has one, the network plug-in hands addresses out."""
    of_some, of_none = (noted(a_routed_world([*others, *without]), SPARED) for others in ([a_pod_node(1)], []))
    found = [text for key, kind, text in of_some if (key, kind) == (NETWORK, NoteKind.NO_POD_CIDR)]
    assert found == ([] if expected is None else [f"no pod CIDR yet, no route: {expected}"])
    assert NoteKind.NO_POD_CIDR not in {kind for _, kind, _ in of_none}


@rows("nodes who", {
    "dual-stack": ([a_pod_node(1, pods_of(1), V6)], "Node web-1"),
    "ipv6-alone": ([a_pod_node(1, V6), a_pod_node(2, V6)], "Nodes web-1, web-2"),
    "anothers": ([a_pod_node(1, V6, provider_id="aws://1")], None),
})  # fmt: skip
def test_ipv6(nodes: list[Node], who: str | None) -> None:
    """IPv6 is noted, once for all Nodes, and never a failure."""
    text = f"IPv6 pod CIDRs get no routes (private networks have IPv4 only): {who}"
    of_network = [note for note in noted(a_routed_world(nodes)) if note[0] == NETWORK]
    assert of_network == ([] if who is None else [(NETWORK, NoteKind.UNSUPPORTED, text)])


def test_no_network() -> None:
    """A Node that an earlier run has closed stays so without HCLOUD_NETWORK, which is told on it; no other is."""
    nodes = [a_pod_node(1, says=UNROUTED), a_pod_node(2), a_pod_node(3, says=NetworkCondition("True", "CiliumIsDown"))]
    world = replace(a_routed_world(nodes), network=Present(None), routes=None)
    assert [note[:2] for note in noted(world, replace(ROUTING, network=None))] == [(WEB_1, NoteKind.CLUSTER_CIDR)]
