"""What each taint and condition of a Node means, and what becomes of the taints."""

from datetime import timedelta

import pytest

from desired.explain.fact import Fact
from desired.explain.node import explain_conditions, explain_taints
from desired.model.settings import Controller, Settings, Waits
from desired.model.snapshot import Condition, Node, Readiness, Server, ServerStatus, Taint
from desired.names import TAINT_CLUSTER_AUTOSCALER, TAINT_KARPENTER_DISRUPTED, TAINT_SHUTDOWN, TAINT_UNINITIALIZED
from desired.rules.rule import Basis
from tests.builders import NOW, UNINITIALIZED, a_joining_node, a_node, a_server, a_settled_node, a_snapshot
from tests.support.judging import planned

OFF, RUNNING = a_server(status=ServerStatus.OFF), a_server()
SHUTDOWN = Taint(TAINT_SHUTDOWN, "NoSchedule")
NO_LIFECYCLE = Settings(controllers=frozenset({Controller.NODE}))
NO_NODE = Settings(controllers=frozenset({Controller.LIFECYCLE}))


def tainted(*taints: Taint) -> Node:
    """A settled Node with these taints."""
    return a_settled_node(taints=taints)


@pytest.mark.parametrize(
    ("node", "server", "settings", "expected"),
    [
        pytest.param(tainted(), RUNNING, Settings(), [], id="none"),
        pytest.param(
            a_joining_node(),
            RUNNING,
            Settings(),
            [
                Fact(
                    TAINT_UNINITIALIZED,
                    "true:NoSchedule",
                    None,
                    Basis.UNINITIALISED,
                    "goes away as the Node is initialized",
                )
            ],
            id="joining",
        ),
        pytest.param(
            a_joining_node(taints=(UNINITIALIZED, Taint(TAINT_UNINITIALIZED, "NoExecute"))),
            RUNNING,
            Settings(),
            [
                Fact(TAINT_UNINITIALIZED, value, None, Basis.UNINITIALISED, "goes away as the Node is initialized")
                for value in ("true:NoSchedule", "NoExecute")
            ],
            id="joining-with-two-of-them",
        ),
        pytest.param(
            a_joining_node("web2"),
            RUNNING,
            Settings(),
            [
                Fact(
                    TAINT_UNINITIALIZED,
                    "true:NoSchedule",
                    "true:NoSchedule",
                    Basis.UNINITIALISED,
                    "not managed: the Node is unmatched",
                )
            ],
            id="a-node-without-a-server-cannot-join",
        ),
        pytest.param(
            a_joining_node(),
            RUNNING,
            NO_NODE,
            [
                Fact(
                    TAINT_UNINITIALIZED,
                    "true:NoSchedule",
                    "true:NoSchedule",
                    Basis.UNINITIALISED,
                    "not managed: --controllers leaves cloud-node out",
                )
            ],
            id="initializing-is-left-to-others",
        ),
        pytest.param(
            tainted(),
            OFF,
            Settings(),
            [Fact(TAINT_SHUTDOWN, None, "NoSchedule", Basis.SHUTDOWN, "server 1 is off")],
            id="the-server-is-off",
        ),
        pytest.param(
            tainted(SHUTDOWN),
            OFF,
            Settings(),
            [Fact(TAINT_SHUTDOWN, "NoSchedule", "NoSchedule", Basis.SHUTDOWN, "server 1 is off")],
            id="the-server-is-off-and-the-taint-is-there",
        ),
        pytest.param(
            tainted(Taint(TAINT_SHUTDOWN, "NoSchedule", "x")),
            OFF,
            Settings(),
            [Fact(TAINT_SHUTDOWN, "x:NoSchedule", "x:NoSchedule", Basis.SHUTDOWN, "server 1 is off")],
            id="the-server-is-off-and-the-taint-is-there-with-a-value",
        ),
        pytest.param(
            tainted(SHUTDOWN),
            RUNNING,
            Settings(),
            [Fact(TAINT_SHUTDOWN, "NoSchedule", None, Basis.SHUTDOWN, "server 1 is running")],
            id="the-server-runs-again",
        ),
        pytest.param(
            tainted(SHUTDOWN),
            a_server(status=ServerStatus.STARTING),
            Settings(),
            [
                Fact(
                    TAINT_SHUTDOWN,
                    "NoSchedule",
                    "NoSchedule",
                    Basis.SHUTDOWN,
                    "stays as it is: server 1 is starting",
                )
            ],
            id="the-server-is-on-its-way",
        ),
        pytest.param(
            tainted(SHUTDOWN),
            RUNNING,
            NO_LIFECYCLE,
            [
                Fact(
                    TAINT_SHUTDOWN,
                    "NoSchedule",
                    "NoSchedule",
                    Basis.SHUTDOWN,
                    "not managed: --controllers leaves cloud-node-lifecycle out",
                )
            ],
            id="the-shutdown-taint-is-left-to-others",
        ),
        pytest.param(
            a_joining_node(taints=(SHUTDOWN, UNINITIALIZED)),
            RUNNING,
            Settings(),
            [
                Fact(
                    TAINT_SHUTDOWN,
                    "NoSchedule",
                    None,
                    Basis.SHUTDOWN,
                    "server 1 is running",
                ),
                Fact(
                    TAINT_UNINITIALIZED,
                    "true:NoSchedule",
                    None,
                    Basis.UNINITIALISED,
                    "goes away as the Node is initialized",
                ),
            ],
            id="the-shutdown-taint-of-a-joining-node",
        ),
        pytest.param(
            tainted(Taint(TAINT_CLUSTER_AUTOSCALER, "NoSchedule", "1"), Taint(TAINT_KARPENTER_DISRUPTED, "NoSchedule")),
            RUNNING,
            Settings(),
            [
                Fact(key, value, value, Basis.ANNOUNCING, "announces that the Node goes away")
                for key, value in (
                    (TAINT_CLUSTER_AUTOSCALER, "1:NoSchedule"),
                    (TAINT_KARPENTER_DISRUPTED, "NoSchedule"),
                )
            ],
            id="announced-by-an-autoscaler",
        ),
        pytest.param(
            tainted(Taint("dedicated", "NoExecute", "db"), Taint(TAINT_SHUTDOWN, "NoExecute")),
            OFF,
            NO_LIFECYCLE,
            [
                Fact("dedicated", "db:NoExecute", "db:NoExecute", Basis.FOREIGN, "not ours, left alone"),
                Fact(TAINT_SHUTDOWN, "NoExecute", "NoExecute", Basis.FOREIGN, "not ours, left alone"),
            ],
            id="somebody-elses",
        ),
    ],
)
def test_taints(node: Node, server: Server, settings: Settings, expected: list[Fact]) -> None:
    """Each taint is told with what it means and whether it goes; one that comes stands last."""
    wanted, then = planned(node, a_snapshot([node], [server]), settings)

    assert list(explain_taints(node, then, wanted)) == expected


SILENT = "without a server the Node is deleted after 20 s of it, and after 30 min of silence its loss counts as planned"
FIVE_AGO = NOW - timedelta(minutes=5)


@pytest.mark.parametrize(
    ("node", "deletable", "expected"),
    [
        pytest.param(
            a_node(ready_since=FIVE_AGO),
            True,
            [
                Fact(
                    "Ready",
                    "True",
                    "True",
                    Basis.READY,
                    "since 2026-07-01 11:55:00 UTC; the Node is not deleted while it says so",
                )
            ],
            id="ready",
        ),
        pytest.param(
            a_node(ready=Readiness.UNKNOWN, ready_since=FIVE_AGO, heartbeat=FIVE_AGO - timedelta(minutes=1)),
            True,
            [
                Fact(
                    "Ready",
                    "Unknown",
                    "Unknown",
                    Basis.READY,
                    f"since 2026-07-01 11:55:00 UTC, last heard of 2026-07-01 11:54:00 UTC; {SILENT}",
                )
            ],
            id="heard-of-before",
        ),
        pytest.param(
            a_node(ready=Readiness.UNKNOWN, ready_since=FIVE_AGO),
            True,
            [Fact("Ready", "Unknown", "Unknown", Basis.READY, f"since 2026-07-01 11:55:00 UTC; {SILENT}")],
            id="silent",
        ),
        pytest.param(
            a_node(ready=Readiness.MISSING),
            True,
            [
                Fact(
                    "Ready",
                    None,
                    None,
                    Basis.READY,
                    f"since the Node's creation, as none is written yet; {SILENT}",
                )
            ],
            id="not-written-yet",
        ),
        pytest.param(
            a_node(ready=Readiness.FALSE, ready_since=FIVE_AGO),
            False,
            [
                Fact(
                    "Ready",
                    "False",
                    "False",
                    Basis.READY,
                    "since 2026-07-01 11:55:00 UTC; no deletion depends on it",
                )
            ],
            id="a-node-that-is-never-deleted",
        ),
        pytest.param(
            a_node(conditions=(Condition("NetworkUnavailable", "True"), Condition("DiskPressure", "False"))),
            False,
            [
                Fact(
                    "Ready",
                    None,
                    None,
                    Basis.READY,
                    "since the Node's creation, as none is written yet; no deletion depends on it",
                ),
                Fact("NetworkUnavailable", "True", "True", Basis.FOREIGN, "not ours, left alone"),
                Fact("DiskPressure", "False", "False", Basis.FOREIGN, "not ours, left alone"),
            ],
            id="somebody-elses",
        ),
    ],
)
def test_conditions(node: Node, deletable: bool, expected: list[Fact]) -> None:
    """Ready is told with what depends on it, whether it is there or not; every other condition is somebody else's."""
    assert list(explain_conditions(node, Waits(), deletable=deletable)) == expected


def test_what_routes_decide_on_takes_its_place() -> None:
    """The condition that follows from routes stands where it is, and comes last where nobody has written it."""
    network = Fact("NetworkUnavailable", "True", "False (RouteCreated)", Basis.ROUTES, "why")
    node = a_node(conditions=(Condition("NetworkUnavailable", "True"), Condition("Ready", "True")))
    bare = a_node()

    there = explain_conditions(node, Waits(), deletable=True, network=network)
    comes = explain_conditions(bare, Waits(), deletable=True, network=network)

    assert [fact.subject for fact in there] == ["NetworkUnavailable", "Ready"]
    assert [fact.subject for fact in comes] == ["Ready", "NetworkUnavailable"]
    assert there[0] == comes[1] == network


def test_the_waits_are_those_that_were_set() -> None:
    """What depends on Ready is told with the operator's own waits."""
    waits = Waits(not_ready_for=timedelta(seconds=90), given_up_after=timedelta(hours=1))
    (fact,) = explain_conditions(a_node(ready=Readiness.FALSE), waits, deletable=True)

    assert "deleted after 90 s of it, and after 60 min" in fact.source
