"""When orphans may be deleted on demand."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

from desired.guards.orphans import judge_deletions, why_no_orphans
from desired.load_balancers.lifecycle import Orphan
from desired.model.clocks import Clocks
from desired.model.remembered import Remembered
from desired.model.snapshot import Readiness, ServerStatus, Snapshot
from desired.plan.change import Plan
from desired.planner import compute_desired
from desired.rules.guards import (
    CLUSTER_UNREAD,
    HEARTBEATS_UNCERTAIN,
    LIST_INCOMPLETE,
    NONE_READY,
    PROJECT_EMPTY,
    PROJECT_MISMATCH,
    PROJECT_UNKNOWN,
    PROJECT_UNVERIFIED,
    REMOVALS_UNVERIFIED,
)
from desired.section import Section, Unknown
from tests.balancers import LOCATED, a_balancer, a_world
from tests.builders import NOW, a_server, a_settled_node, a_workload, incomplete
from tests.support.rows import rows
from tests.support.rules import saying

HOURS_AGO = NOW - timedelta(hours=2)
ORPHAN = a_balancer(service_uid="gone")
WORLD = a_world([], [ORPHAN])
NO_SERVICES = WORLD.services or Section()
BALANCERS = WORLD.load_balancers or Section()
ELSEWHERE = [a_settled_node("web-1", 98)]
SILENT = a_settled_node(ready=Readiness.UNKNOWN)


def judged(orphan: Orphan, world: Snapshot) -> Plan:
    return judge_deletions([orphan], world, LOCATED, compute_desired(world, LOCATED))


def why_none_may_go(world: Snapshot) -> str:
    (change,) = judged(Orphan(ORPHAN, saying("nobody wants it")), world).changes
    return change.decision.why


@rows("world", {
    "all is known": WORLD,
    "no Node is Ready, and its server is off": a_world([], [ORPHAN], nodes=[SILENT],
        servers=[a_server(status=ServerStatus.OFF)]),
    "a load balancer is remembered": replace(a_world([], [ORPHAN], nodes=[SILENT], servers=[]),
        remembered=Remembered(None, (42,))),
    "no Node at all": a_world([], [ORPHAN], nodes=[], servers=[]),
    "another one is unreadable": replace(WORLD, load_balancers=replace(BALANCERS, unreadable={9: "no"})),
})  # fmt: skip
def test_they_may_go(world: Snapshot) -> None:
    """Whole lists, and a project that is the cluster's own."""
    assert why_none_may_go(world) == ""


@rows("world why", {
    "Services with a gap": (replace(WORLD, services=incomplete(NO_SERVICES)),
        LIST_INCOMPLETE.text(list="services", error="page 2 timed out")),
    "no Services": (replace(WORLD, services=None), LIST_INCOMPLETE.text(list="services", error="not read")),
    "no identity": (replace(WORLD, cluster_uid=Unknown("forbidden")), CLUSTER_UNREAD.text(error="forbidden")),
    "load balancers with a gap": (replace(WORLD, load_balancers=incomplete(BALANCERS)),
        LIST_INCOMPLETE.text(list="load balancers", error="page 2 timed out")),
    "no load balancers": (replace(WORLD, load_balancers=None),
        LIST_INCOMPLETE.text(list="load balancers", error="not read")),
    "another project": (a_world([], [ORPHAN], nodes=ELSEWHERE), PROJECT_MISMATCH.text(found=0, most=1, needed=1)),
    "servers with a gap": (replace(WORLD, servers=incomplete(Section())),
        PROJECT_UNVERIFIED.text(project="the project of HCLOUD_TOKEN", found=0, needed=1, unread=1)),
    "nothing at all": (a_world([], [], nodes=[], servers=[]), PROJECT_EMPTY.text()),
    "only the label": (a_world([], [ORPHAN], nodes=[SILENT], servers=[]), PROJECT_UNKNOWN.text(most=1)),
    "a heartbeat that is too old by one clock": (replace(a_world([], [ORPHAN],
        nodes=[a_settled_node(ready_since=HOURS_AGO, heartbeat=HOURS_AGO)]),
        clocks=Clocks(hetzner=-timedelta(hours=1))), HEARTBEATS_UNCERTAIN.text(apart="about 1 minute")),
    "maybe a copy": (a_world([], [ORPHAN], nodes=[SILENT]), NONE_READY.text(nodes=1, running=1)),
    "unreadable Nodes": (replace(WORLD, nodes=replace(WORLD.nodes, unreadable={"a": "no", "b": "no"})),
        REMOVALS_UNVERIFIED.text(nodes="2 Nodes")),
})  # fmt: skip
def test_none_may_go(world: Snapshot, why: str) -> None:
    """The reason is said, and nothing goes."""
    assert why_none_may_go(world) == why


@rows("parts is_known", {
    "all is known": ({}, True),
    "no load balancers": ({"load_balancers": None}, True),
    "Services with a gap": ({"services": incomplete(NO_SERVICES)}, False),
    "an unreadable Service": ({"services": replace(NO_SERVICES, unreadable={"a/b": "no ports"})}, False),
    "no identity": ({"cluster_uid": Unknown("forbidden")}, False),
})  # fmt: skip
def test_whether_it_can_be_told(parts: dict[str, Any], is_known: bool) -> None:
    """The Services and the identity decide who is an orphan."""
    assert (why_no_orphans(replace(WORLD, **parts)) is None) is is_known


def test_more_servers_than_nodes_do_not_matter() -> None:
    """Half of the Ready Nodes are enough, as for every other removal."""
    nodes = [a_settled_node(), a_settled_node("web-2", 98)]
    assert why_none_may_go(a_world([], [ORPHAN], nodes=nodes, servers=[a_server()])) == ""


@rows("world rule", {
    "HCCM": (replace(WORLD, controllers=Section({"deployment/x": a_workload()})), "other-controller"),
})  # fmt: skip
def test_guards_of_a_pass_that_orphans_once_escaped(world: Snapshot, rule: str) -> None:
    """What withholds every removal of a pass withholds this one: there were rules of its own once."""
    (change,) = judged(Orphan(ORPHAN, saying("nobody wants it")), world).changes
    assert change.decision.rule == rule
