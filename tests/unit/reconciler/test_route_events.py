"""Which events follow for Nodes whose pods no route leads to: HCCM's reasons, stable words, none while a Node joins."""

from collections.abc import Iterable
from ipaddress import IPv4Address, IPv4Network
from typing import Any

import pytest

from actuators.outcome import PREEMPTED, Applied, Failed, Outcome, Pending, Skipped
from desired.model.route import Route
from desired.model.settings import Settings
from desired.model.snapshot import Node, Server, Snapshot
from desired.plan.change import Plan
from desired.plan.notes import Note, NoteKind
from desired.planner import compute_plan
from desired.section import Present, Section
from reconciler.telemetry.announcements import on_outcome
from reconciler.telemetry.events import Event, EventType, subject_of
from tests.builders import (
    a_change,
    a_joining_node,
    a_network,
    a_server,
    a_settled_node,
    a_snapshot,
    incomplete,
    servers_of,
)
from tests.routes import a_route
from tests.support.judging import judge, warnings
from tests.support.keys import key_of
from tests.support.rows import rows

SETTINGS = Settings(network="private", routes=True, cluster_cidr=IPv4Network("10.244.0.0/16"))
ROUTE = "route/4/10.244.1.0/24"
ATTACHED = a_server(private_ips=((4, IPv4Address("10.0.0.2")),))
FULL = [Route(IPv4Network(f"172.16.{number}.0/24"), IPv4Address("10.0.0.9")) for number in range(100)]


def a_world(node: Node, server: Server = ATTACHED, routes: Iterable[Route] = (), **overrides: Any) -> Snapshot:
    """One Node on server 1, and a network with these routes."""
    section = Section({str(route.destination): route for route in routes})
    return a_snapshot([node], [server], network=Present(a_network()), routes=section, **overrides)


def with_pods(*cidrs: str) -> Node:
    """A settled Node with these pod CIDRs."""
    return a_settled_node(pod_cidrs=cidrs)


def said(world: Snapshot) -> list[tuple[str, str]]:
    """Reason and message of each warning after a pass, all of them on the one Node."""
    (node,) = world.nodes
    events = list(warnings(judge(compute_plan(world, SETTINGS), world, SETTINGS), world, SETTINGS))
    assert {(event.subject, event.type) for event in events} <= {(subject_of(node), EventType.WARNING)}
    return [(event.reason, event.message) for event in events]


@rows("world events", {
    "outside of the cluster CIDR": (a_world(with_pods("10.245.1.0/24")), [("ClusterCIDRMisconfigured",
        "route CIDR 10.245.1.0/24 is not contained within cluster CIDR 10.244.0.0/16")]),
    "not attached": (a_world(with_pods("10.244.1.0/24"), a_server()), [("FailedToCreateRoute",
        "server 1 is not attached to network 4")]),
    "no room": (a_world(with_pods("10.244.1.0/24"), routes=FULL), [("FailedToCreateRoute",
        "network has 100 of 100 routes")]),
    "no CIDR": (a_world(with_pods("pods")), [("FailedToCreateRoute", "pod CIDR 'pods' is not a range: no route")]),
    "about to be created": (a_world(with_pods("10.244.1.0/24")), []),
    "IPv6 alone": (a_world(with_pods("fd00:1::/64")), []),
    "no pod CIDR yet": (a_world(with_pods()), []),
    "servers that could not be read": (a_world(with_pods("10.244.1.0/24"), ATTACHED,
        servers_section=incomplete(servers_of())), []),
    "joins, not attached": (a_world(a_joining_node(pod_cidrs=("10.244.1.0/24",)), a_server()), []),
})  # fmt: skip
def test_warnings_after_a_pass(world: Snapshot, events: list[tuple[str, str]]) -> None:
    """A settled Node is told what somebody has to mend; one that joins or waits is not frightened."""
    assert said(world) == events


def test_another_project() -> None:
    """What a token of another project does not show is said of no Node."""
    note = Note(key_of("node/web-1"), NoteKind.UNROUTABLE, "the cause")
    world = a_world(with_pods())

    assert list(warnings(Plan(notes=(note, Note(key_of("project"), NoteKind.ANCHOR, "other"))), world, SETTINGS)) == []


@pytest.mark.parametrize("kind", ["route.create", "route.replace"])
@rows("outcome text", {
    "refused": (Failed("token_readonly"), "Could not create route 10.244.1.0/24 for node web-1: token_readonly"),
    "done": (Applied(), None),
    "another change of the network": (Pending("locked", 1.0), None),
    "gave way": (PREEMPTED, None),
    "not tried": (Skipped("stopped"), None),
})  # fmt: skip
def test_routes_that_were_tried(kind: str, outcome: Outcome, text: str | None) -> None:
    """A refused route is HCCM's event; what is only late is none, and the text has no uid and no duration."""
    node = with_pods("10.244.1.0/24")
    change = a_change(ROUTE, kind, owner=node.key, after=a_route())
    expected = Event(subject_of(node), EventType.WARNING, "FailedToCreateRoute", text) if text else None

    assert on_outcome(change, outcome, a_world(node)) == expected


@pytest.mark.parametrize(("node", "kind", "owner"), [
    pytest.param(a_joining_node(), "route.create", "node/web-1", id="of a Node that joins"),
    pytest.param(with_pods(), "route.delete", "node/web-1", id="that should go"),
    pytest.param(with_pods(), "route.create", "node/gone", id="of a Node that is gone"),
    pytest.param(with_pods(), "route.create", "network/4", id="of nobody"),
])  # fmt: skip
def test_refused_routes_without_an_event(node: Node, kind: str, owner: str) -> None:
    """HCCM knows no event for a route that stays, and none is said of a Node whose server has only just come."""
    change = a_change(ROUTE, kind, owner=owner, **{} if kind == "route.delete" else {"after": a_route()})
    assert on_outcome(change, Failed("refused"), a_world(node)) is None
