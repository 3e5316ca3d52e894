"""When orphans may be deleted on demand."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from desired.guards.orphans import why_no_orphans, why_none_may_go
from desired.model.clocks import Clocks
from desired.model.remembered import Remembered
from desired.model.snapshot import Readiness, ServerStatus, Snapshot
from desired.section import Section, Unknown
from tests.balancers import LOCATED, a_balancer, a_world
from tests.builders import NOW, a_server, a_settled_node, incomplete

HOURS_AGO = NOW - timedelta(hours=2)
ORPHAN = a_balancer(service_uid="gone")
WORLD = a_world([], [ORPHAN])
NO_SERVICES = WORLD.services or Section()
BALANCERS = WORLD.load_balancers or Section()
ELSEWHERE = [a_settled_node("web-1", 98)]
SILENT = a_settled_node(ready=Readiness.UNKNOWN)


@pytest.mark.parametrize(
    "world",
    [
        pytest.param(WORLD, id="all is known"),
        pytest.param(
            a_world([], [ORPHAN], nodes=[SILENT], servers=[a_server(status=ServerStatus.OFF)]),
            id="no Node is Ready, and its server is off",
        ),
        pytest.param(
            replace(a_world([], [ORPHAN], nodes=[SILENT], servers=[]), remembered=Remembered(None, (42,))),
            id="a load balancer is remembered",
        ),
        pytest.param(a_world([], [ORPHAN], nodes=[], servers=[]), id="no Node at all"),
        pytest.param(
            replace(WORLD, load_balancers=replace(BALANCERS, unreadable={9: "no"})), id="another one is unreadable"
        ),
    ],
)
def test_they_may_go(world: Snapshot) -> None:
    """Whole lists, and a project that is the cluster's own."""
    assert why_none_may_go(world, LOCATED) is None


@pytest.mark.parametrize(
    ("world", "why"),
    [
        pytest.param(
            replace(WORLD, services=incomplete(NO_SERVICES)),
            "the Services could not all be read: page 2 timed out",
            id="Services with a gap",
        ),
        pytest.param(
            replace(WORLD, services=replace(NO_SERVICES, unreadable={"a/b": "no ports"})),
            "the Services could not all be read: no ports",
            id="an unreadable Service",
        ),
        pytest.param(replace(WORLD, services=None), "the Services were not read", id="no Services"),
        pytest.param(
            replace(WORLD, cluster_uid=Unknown("forbidden")),
            "the cluster's identity could not be read: forbidden",
            id="no identity",
        ),
        pytest.param(
            replace(WORLD, load_balancers=incomplete(BALANCERS)),
            "the list of load balancers is not whole: page 2 timed out",
            id="load balancers with a gap",
        ),
        pytest.param(
            replace(WORLD, load_balancers=None),
            "the list of load balancers is not whole: they were not read",
            id="no load balancers",
        ),
        pytest.param(
            a_world([], [ORPHAN], nodes=ELSEWHERE), "none of the servers behind the 1 Ready Node", id="another project"
        ),
        pytest.param(
            replace(WORLD, servers=incomplete(Section())), "too few servers could be read", id="servers with a gap"
        ),
        pytest.param(
            a_world([], [], nodes=[], servers=[]), "no Node is Ready and nothing of this cluster", id="nothing at all"
        ),
        pytest.param(
            a_world([], [ORPHAN], nodes=[SILENT], servers=[]), "no Node is Ready, no server behind", id="only the label"
        ),
        pytest.param(
            replace(
                a_world([], [ORPHAN], nodes=[a_settled_node(ready_since=HOURS_AGO, heartbeat=HOURS_AGO)]),
                clocks=Clocks(hetzner=-timedelta(hours=1)),
            ),
            "for 100 minutes nothing was heard of 1 Node that says Ready, and no other Node is while its server runs",
            id="a heartbeat that is too old by one clock",
        ),
        pytest.param(
            a_world([], [ORPHAN], nodes=[SILENT]),
            "no Node is Ready while its server runs: this may be a copy",
            id="maybe a copy",
        ),
        pytest.param(
            replace(WORLD, nodes=replace(WORLD.nodes, unreadable={"a": "no", "b": "no"})),
            "2 Nodes could not be read",
            id="unreadable Nodes",
        ),
    ],
)
def test_none_may_go(world: Snapshot, why: str) -> None:
    """The reason is said, and nothing goes."""
    assert (why_none_may_go(world, LOCATED) or "").startswith(why)


@pytest.mark.parametrize(
    ("parts", "is_known"),
    [
        pytest.param({}, True, id="all is known"),
        pytest.param({"load_balancers": None}, True, id="no load balancers"),
        pytest.param({"services": incomplete(NO_SERVICES)}, False, id="Services with a gap"),
        pytest.param({"cluster_uid": Unknown("forbidden")}, False, id="no identity"),
    ],
)
def test_whether_it_can_be_told(parts: dict[str, Any], is_known: bool) -> None:
    """The Services and the identity decide who is an orphan."""
    assert (why_no_orphans(replace(WORLD, **parts)) is None) is is_known


def test_more_servers_than_nodes_do_not_matter() -> None:
    """Half of the Ready Nodes are enough, as for every other removal."""
    nodes = [a_settled_node(), a_settled_node("web-2", 98)]

    assert why_none_may_go(a_world([], [ORPHAN], nodes=nodes, servers=[a_server()]), LOCATED) is None
