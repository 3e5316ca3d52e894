"""What each removal takes for gone, and what is asked for by id because of it (``absence-proof``)."""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

import pytest

from desired.guards.absence import missing_servers, servers_to_confirm
from desired.model.load_balancer import ServerTarget
from desired.model.settings import Controller, Settings
from desired.model.snapshot import AddressType, Node, NodeAddress, Snapshot
from desired.plan.change import Verdict
from desired.rules.guards import LOOKUP_FAILED, LOOKUP_PENDING, NEWCOMERS_UNCHECKED
from desired.section import Absent, Unknown
from tests.balancers import DEFAULT_NAME, LOCATED, a_balancer, a_served_service, a_world
from tests.builders import a_joining_node, a_lost_node, a_server, a_settled_node, incomplete
from tests.routes import (
    ROUTING,
    a_member,
    a_pod_network,
    a_pod_node,
    a_pod_server,
    a_route,
    a_routed_world,
    gateway_of,
    pods_of,
)
from tests.support.balancer_verdicts import judged

PROVEN = (Verdict.ALLOWED, None, "", None)
SOON = (Verdict.WAITING, "absence-proof", LOOKUP_PENDING.text(server="server 2"), 5.0)
IN_VAIN = (
    Verdict.WAITING,
    "absence-proof",
    LOOKUP_FAILED.text(server="server 2", error="500"),
    None,
)
TWO = (ServerTarget(1, use_private_ip=False), ServerTarget(2, use_private_ip=False))
GONE, FAILED = {2: Absent()}, {2: Unknown("500")}
SILENT = a_lost_node("web-2", 2)
WAITS_FOR_ANOTHER = (
    Verdict.WAITING,
    "target-health",
    NEWCOMERS_UNCHECKED.text(balancer=f"load balancer 42 {DEFAULT_NAME}"),
    15,
)


def rulings(snapshot: Snapshot, settings: Settings, prefix: str) -> list[Any]:
    """Verdict, rule, reason and due time of each change whose key begins like this."""
    found = [change.decision for change in judged(snapshot, settings).changes if change.key.startswith(prefix)]
    return [(decision.verdict, decision.rule, decision.why, decision.due_in_s) for decision in found]


def with_targets(nodes: Iterable[Node] = (), **overrides: Any) -> Snapshot:
    """Server 1 is there and server 2 is in no list; both are targets. Node web-1 is Ready, and so much else."""
    balancers = [a_balancer(targets=TWO)]
    return a_world([a_served_service()], balancers, nodes=[a_settled_node(), *nodes], **overrides)


@pytest.mark.parametrize(
    ("snapshot", "expected"),
    [
        pytest.param(with_targets([SILENT]), [SOON], id="a silent Node, and nobody asked"),
        pytest.param(with_targets(), [SOON], id="no Node, and nobody asked"),
        pytest.param(with_targets([SILENT], confirmations=GONE), [PROVEN], id="a silent Node, and it is gone"),
        pytest.param(with_targets(confirmations=GONE), [PROVEN], id="no Node, and it is gone"),
        pytest.param(with_targets([SILENT], confirmations=FAILED), [], id="the question failed: the target stays"),
        pytest.param(with_targets([a_settled_node("web-2", 2)]), [], id="a Ready Node: the target stays"),
        pytest.param(
            with_targets(
                [a_settled_node("web-3", 3)], servers=[a_server(), a_server(2, "web-2"), a_server(3, "web-3")]
            ),
            [WAITS_FOR_ANOTHER],
            id="a server that lives and that no Node is: nothing is presumed gone",
        ),
    ],
)
def test_targets(snapshot: Snapshot, expected: list[Any]) -> None:
    """A target of which the list lacks the server goes when the server is proven gone, whoever claims it."""
    assert rulings(snapshot, LOCATED, "load_balancer/default/web/target/server:2") == expected


def with_route(
    nodes: Iterable[Node] = (), gateway: int = 2, servers: Iterable[int] = (1,), **overrides: Any
) -> Snapshot:
    """A route to the pods of web-2 by the address of server 2, which no list shows. Node web-1 is in order."""
    there = [a_pod_server(number) for number in servers]
    nodes = [a_pod_node(1), *nodes]
    return a_routed_world(nodes, there, [a_route(1), a_route(2, gateway)], **{"members": []} | overrides)


LOST = a_pod_node(2, conditions=SILENT.conditions, created_at=SILENT.created_at)
MOVED = replace(LOST, pod_cidrs=())
STRANGE = replace(LOST, addresses=())
ELSEWHERE = replace(a_pod_node(3), addresses=(NodeAddress(AddressType.INTERNAL_IP, gateway_of(2)),))
SAYS_2 = replace(a_pod_network(), server_ids=frozenset({1, 2}))
SAYS_1 = replace(a_pod_network(), server_ids=frozenset({1}))


@pytest.mark.parametrize(
    ("snapshot", "expected"),
    [
        pytest.param(with_route([LOST]), [SOON], id="its Node is silent, and nobody asked"),
        pytest.param(with_route([LOST], confirmations=GONE), [PROVEN], id="its Node is silent, and it is gone"),
        pytest.param(with_route([LOST], confirmations=FAILED), [IN_VAIN], id="the question failed"),
        pytest.param(with_route([MOVED]), [SOON], id="a Node reports the gateway, and has other pods"),
        pytest.param(with_route([STRANGE]), [SOON], id="a Node has the pods, and reports no address"),
        pytest.param(with_route([STRANGE], network=None), [SOON], id="that, and the network says nothing"),
        pytest.param(with_route(), [PROVEN], id="no Node knows the gateway, nor does the network"),
        pytest.param(with_route(network=SAYS_1), [PROVEN], id="all in the network are listed"),
        pytest.param(with_route(network=SAYS_2), [SOON], id="one is in the network and in no list"),
        pytest.param(with_route(network=SAYS_2, confirmations=GONE), [PROVEN], id="and that one is gone"),
        pytest.param(
            with_route([ELSEWHERE], servers=(1, 3), network=SAYS_2),
            [PROVEN],
            id="a Node reports the gateway, and its server is listed with another address",
        ),
        pytest.param(with_route(members=[a_member(gateway_of(2), 2)]), [], id="a member has it: the route stays"),
    ],
)
def test_dead_routes(snapshot: Snapshot, expected: list[Any]) -> None:
    """A route that nobody seems to be behind goes when everybody who may have been is proven gone."""
    assert rulings(snapshot, ROUTING, f"route/4/{pods_of(2)}") == expected


REPLACED = a_pod_node(2, provider_id="hcloud://3", addresses=(NodeAddress(AddressType.INTERNAL_IP, gateway_of(3)),))


@pytest.mark.parametrize(
    ("overrides", "expected"),
    [
        pytest.param({}, PROVEN, id="nobody is known to have had the gateway"),
        pytest.param({"network": SAYS_2}, SOON, id="the network names a server that no list has"),
        pytest.param({"network": SAYS_2, "confirmations": GONE}, PROVEN, id="which is gone"),
    ],
)
def test_routes_that_get_another_gateway(overrides: Mapping[str, Any], expected: Any) -> None:
    """The Node of the pods is on server 3 by now: the old gateway is given up with the same proof."""
    snapshot = with_route([REPLACED], servers=(1, 3), **overrides)
    assert rulings(snapshot, ROUTING, f"route/4/{pods_of(2)}") == [expected]


def test_a_list_with_a_gap_proves_nothing_of_a_gateway() -> None:
    """What would be replaced because nobody has its gateway waits for the whole list."""
    snapshot = with_route([REPLACED], servers=(1, 3))
    (decision,) = rulings(replace(snapshot, servers=incomplete(snapshot.servers)), ROUTING, f"route/4/{pods_of(2)}")
    assert decision[:2] == (Verdict.WAITING, "absence-proof")


def dead_targets(*numbers: int, nodes: Iterable[Node] = (), **overrides: Any) -> Snapshot:
    """These servers are targets, and in no list."""
    targets = [ServerTarget(number, use_private_ip=False) for number in (1, *numbers)]
    return a_world([a_served_service()], [a_balancer(targets=targets)], nodes=[a_settled_node(), *nodes], **overrides)


@pytest.mark.parametrize(
    ("snapshot", "expected"),
    [
        pytest.param(dead_targets(), (), id="a world in order"),
        pytest.param(dead_targets(9, 7), (7, 9), id="targets of nobody"),
        pytest.param(dead_targets(9, confirmations={9: Absent()}), (9,), id="whether or not it was asked before"),
        pytest.param(
            dead_targets(9, nodes=[a_lost_node("a", 9), a_lost_node("b", 5)]), (9, 5), id="a Node's server is one"
        ),
        pytest.param(
            dead_targets(9, nodes=[a_lost_node("b", 5, unschedulable=True)]), (5, 9), id="announced Nodes come first"
        ),
        pytest.param(dead_targets(9, nodes=[a_settled_node("a", 9)]), (), id="its kubelet reports"),
        pytest.param(
            replace(dead_targets(9), load_balancers=dead_targets().load_balancers), (), id="no target, no question"
        ),
        pytest.param(dead_targets(9, nodes=[a_joining_node("new", provider_id="hcloud://9")]), (9,), id="it joins"),
    ],
)
def test_who_is_asked_for(snapshot: Snapshot, expected: tuple[int, ...]) -> None:
    """Each server once, whatever depends on it, and none on which nothing does."""
    assert servers_to_confirm(snapshot, LOCATED) == expected


def test_who_is_asked_for_because_of_a_route() -> None:
    """Routes ask as targets do, and only where somebody looks after them."""
    assert servers_to_confirm(with_route([LOST]), ROUTING) == (2,)
    others = frozenset(Controller) - {Controller.ROUTE, Controller.LIFECYCLE}
    assert servers_to_confirm(with_route([LOST]), replace(ROUTING, controllers=others)) == ()


def test_only_names_what_is_asked_first() -> None:
    """``--only`` of a Service, or of a part of its load balancer."""
    world = dead_targets(9, nodes=[a_lost_node("b", 5, unschedulable=True)])
    for key in ("service/default/web", "load_balancer/default/web", "load_balancer/default/web/target/server:9"):
        assert servers_to_confirm(world, replace(LOCATED, only=(key,))) == (9, 5)


def test_what_is_missing_whatever_the_settings() -> None:
    """For a capture: what load balancers and the network name, and the list lacks."""
    assert missing_servers(dead_targets(9)) == (9,)
    assert missing_servers(with_route(network=SAYS_2)) == (2,)
    assert missing_servers(with_route()) == ()


def test_a_route_of_somebody_else_has_no_question() -> None:
    """Outside the cluster CIDR nothing goes, so that nothing is presumed."""
    world = a_routed_world([a_pod_node(1)], [a_pod_server(1)], [a_route(1), a_route("192.168.0.0/24", "10.0.0.77")])
    assert servers_to_confirm(world, ROUTING) == ()
