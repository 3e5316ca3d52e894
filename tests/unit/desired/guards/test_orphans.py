"""When orphans may be deleted on demand."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

from desired.guards.orphans import judge_deletions, why_no_orphans
from desired.load_balancers.orphans import Orphan
from desired.model.clocks import Clocks
from desired.model.remembered import Remembered
from desired.model.snapshot import Readiness, ServerStatus, Snapshot
from desired.planner import compute_desired
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


OFF = a_server(status=ServerStatus.OFF)
STALE = a_settled_node(ready_since=HOURS_AGO, heartbeat=HOURS_AGO)
SKEWED = replace(a_world([], [ORPHAN], nodes=[STALE]), clocks=Clocks(hetzner=-timedelta(hours=1)))
NODES_UNREAD = replace(WORLD.nodes, unreadable={"a": "no", "b": "no"})


@rows("world rule", {
    "all is known": (WORLD, None),
    "no Node is Ready, and its server is off": (a_world([], [ORPHAN], nodes=[SILENT], servers=[OFF]), None),
    "it is remembered": (a_world([], [ORPHAN], nodes=[SILENT], servers=[], remembered=Remembered(None, (42,))), None),
    "no Node at all": (a_world([], [ORPHAN], nodes=[], servers=[]), None),
    "Services with a gap": (replace(WORLD, services=incomplete(NO_SERVICES)), "incomplete-snapshot"),
    "no identity": (replace(WORLD, cluster_uid=Unknown("forbidden")), "incomplete-snapshot"),
    "load balancers with a gap": (replace(WORLD, load_balancers=incomplete(BALANCERS)), "incomplete-snapshot"),
    "servers with a gap": (replace(WORLD, servers=incomplete(Section())), "incomplete-snapshot"),
    "unreadable Nodes": (replace(WORLD, nodes=NODES_UNREAD), "incomplete-snapshot"),
    "another project": (a_world([], [ORPHAN], nodes=ELSEWHERE), "project-anchor"),
    "nothing at all": (a_world([], [], nodes=[], servers=[]), "project-anchor"),
    "only the label": (a_world([], [ORPHAN], nodes=[SILENT], servers=[]), "project-anchor"),
    "a heartbeat that is too old by one clock": (SKEWED, "clock-skew"),
    "maybe a copy": (a_world([], [ORPHAN], nodes=[SILENT]), "silent-cluster"),
    "another controller": (replace(WORLD, controllers=Section({"deployment/x": a_workload()})), "other-controller"),
})  # fmt: skip
def test_deletions_on_demand(world: Snapshot, rule: str | None) -> None:
    """Rules that withhold every removal of a pass withhold these: there were rules of their own once."""
    orphan = Orphan(ORPHAN, saying("nobody wants it"))
    (change,) = judge_deletions([orphan], world, LOCATED, compute_desired(world, LOCATED)).changes
    assert change.decision.rule == rule


@rows("parts is_known", {
    "all is known": ({}, True),
    "no load balancers": ({"load_balancers": None}, True),
    "Services with a gap": ({"services": incomplete(NO_SERVICES)}, False),
    "an unreadable Service": ({"services": replace(NO_SERVICES, unreadable={"a/b": "no ports"})}, False),
    "no identity": ({"cluster_uid": Unknown("forbidden")}, False),
})  # fmt: skip
def test_whether_it_can_be_told(parts: dict[str, Any], is_known: bool) -> None:
    assert (why_no_orphans(replace(WORLD, **parts)) is None) is is_known
