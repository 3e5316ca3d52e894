"""Which events follow for Nodes that should get traffic and cannot be targets."""

from dataclasses import replace
from typing import Any

from desired.model.load_balancer import CloudBalancer
from desired.model.settings import Settings
from desired.model.snapshot import Server, Snapshot
from desired.planner import compute_plan
from desired.section import Absent
from desired.syntax.selector import parse_selector
from tests.balancers import LB11, LOCATED, a_balancer, a_claim, a_served_service, a_world, annotated
from tests.builders import a_joining_node, a_lost_node, a_server, a_settled_node
from tests.support.judging import judge, warnings
from tests.support.rows import rows

TINY = replace(LB11, max_targets=1)
PAIR: dict[str, Any] = {
    "nodes": [a_settled_node(), a_settled_node("web-2", 2)],
    "servers": [a_server(), a_server(2, "web-2")],
}


def on_nodes(world: Snapshot, settings: Settings = LOCATED) -> list[tuple[str, str, str]]:
    """Node, reason and message of each event on a Node."""
    plan = judge(compute_plan(world, settings), world, settings)
    found = warnings(plan, world, settings)
    return [(event.subject.name, event.reason, event.message) for event in found if event.subject.kind == "Node"]


def test_a_full_load_balancer() -> None:
    """A Node for which the type has no room is told so, with HCCM's reason."""
    world = a_world([a_served_service()], [a_balancer(type=TINY)], **PAIR)

    ((name, reason, text),) = on_nodes(world)

    assert (name, reason) == ("web-2", "MaxTargetsReached")
    assert text.startswith("no target of the load balancer of Service default/web: ")


def test_a_node_without_an_address() -> None:
    """A Node whose server has no public address is told so: nothing else would show it there."""
    world = a_world([a_served_service()], [a_balancer()], **PAIR | {"servers": [a_server(), a_server(2, ipv4=None)]})

    assert [(name, reason) for name, reason, _ in on_nodes(world)] == [("web-2", "UnusableTarget")]


def test_one_event_for_all_services() -> None:
    """What is the same for several Services is said once, and names the first of them."""
    served = [
        (a_served_service(name, uid=f"uid-{name}"), a_balancer(number, service_uid=f"uid-{name}", type=TINY))
        for number, name in enumerate("abcde", 1)
    ]
    world = a_world([service for service, _ in served], [balancer for _, balancer in served], **PAIR)

    ((_, _, text),) = on_nodes(world)

    assert text.startswith("no target of the load balancer of Services default/a, default/b, default/c and 2 more: ")


MANY = range(1, 21)
CROWD: dict[str, Any] = {"nodes": [a_settled_node(f"web-{number:02}", number) for number in MANY]}


@rows("servers balancer nodes reason on_service", {
    "no room": ([a_server(number) for number in MANY], a_balancer(type=TINY), [f"web-{number:02}" for number in range(2,
        7)], "MaxTargetsReached", ("LimitReached",
        "no target for Nodes web-02, web-03, web-04, web-05, web-06 and 14 more: ")),
    "no address": ([a_server(number, ipv4=None) for number in MANY], a_balancer(targets=()),
        [f"web-{number:02}" for number in range(1, 6)], "UnusableTarget", ("UnusableTarget",
        "20 Nodes are no target: ")),
})  # fmt: skip
def test_the_first_of_many(
    servers: list[Server], balancer: CloudBalancer, nodes: list[str], reason: str, on_service: tuple[str, str]
) -> None:
    """Thousands of Nodes with one trouble do not make thousands of events: the Service says how many they are."""
    world = a_world([a_served_service()], [balancer], **CROWD, servers=servers)
    plan = judge(compute_plan(world, LOCATED), world, LOCATED)

    found = [event for event in warnings(plan, world, LOCATED) if event.subject.kind == "Service"]

    told = [(name, said) for name, said, _ in on_nodes(world) if said != "ChangeHeld"]  # of the lost addresses
    assert told == [(name, reason) for name in nodes]
    assert any((event.reason, event.message[: len(on_service[1])]) == on_service for event in found)


@rows("node", {
    "its server is gone": a_lost_node("web-2", 2),
    "ignored": a_settled_node("web-2", 2, labels={"example.com/edge": "true"}),
    "excluded": a_settled_node("web-2", 2, labels={"node.kubernetes.io/exclude-from-external-load-balancers": ""}),
})  # fmt: skip
def test_nodes_that_should_get_none(node: Any) -> None:
    """A Node that is leaving, or that somebody took out, is no trouble."""
    settings = replace(LOCATED, ignore_nodes=parse_selector("example.com/edge"))
    world = a_world([a_served_service()], [a_balancer()], nodes=[a_settled_node(), node], confirmations={2: Absent()})

    assert on_nodes(world, settings) == []


def test_a_node_that_joins() -> None:
    """A Node that is not initialized yet is told what keeps it from that, and not that it is no target."""
    world = a_world([a_served_service()], [a_balancer()], nodes=[a_settled_node(), a_joining_node("web-2")])

    assert [reason for _, reason, _ in on_nodes(world)] == ["ServerNotFound"]


def test_a_service_that_takes_no_such_node() -> None:
    """Whom the Service's own selector leaves out is none that should get traffic."""
    claim = a_claim(annotations=annotated(node_selector="example.com/web=true"))
    web = a_settled_node(labels={**a_settled_node().labels, "example.com/web": "true"})
    world = a_world(
        [a_served_service(claim=claim)], [a_balancer(type=TINY)], **PAIR | {"nodes": [web, PAIR["nodes"][1]]}
    )

    assert on_nodes(world) == []
